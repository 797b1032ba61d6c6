"""Results for other tools: scalars, frames, experiment trackers, CI and model cards."""

from __future__ import annotations

from spanwise.reports.outlets._card import model_index
from spanwise.reports.outlets._ci import junit, step_summary, to_junit
from spanwise.reports.outlets._flat import flat, flat_json
from spanwise.reports.outlets._frames import rows, rows_csv, to_pandas, to_polars
from spanwise.reports.outlets._trackers import TRACKERS, log, scalars

__all__ = [
    "TRACKERS",
    "flat",
    "flat_json",
    "junit",
    "log",
    "model_index",
    "rows",
    "rows_csv",
    "scalars",
    "step_summary",
    "to_junit",
    "to_pandas",
    "to_polars",
]
