"""Results for other tools: scalars, frames, experiment trackers, CI and model cards."""

from __future__ import annotations

from spanwise.reports.outlets._card import model_index
from spanwise.reports.outlets._ci import junit, step_summary, to_junit
from spanwise.reports.outlets._flat import flat, flat_json
from spanwise.reports.outlets._frames import rows, rows_csv, to_pandas, to_polars
from spanwise.reports.outlets._trackers import log_mlflow, log_wandb

__all__ = [
    "flat",
    "flat_json",
    "junit",
    "log_mlflow",
    "log_wandb",
    "model_index",
    "rows",
    "rows_csv",
    "step_summary",
    "to_junit",
    "to_pandas",
    "to_polars",
]
