"""Results for other tools: scalars, frames, experiment trackers, CI and model cards."""

from __future__ import annotations

from spanwise.reports.outlets._card import model_index
from spanwise.reports.outlets._ci import Gate, failed, gates_of, junit, step_summary
from spanwise.reports.outlets._flat import flat, flat_json
from spanwise.reports.outlets._frames import rows, to_pandas, to_polars
from spanwise.reports.outlets._trackers import log_mlflow, log_wandb

__all__ = [
    "Gate",
    "failed",
    "flat",
    "flat_json",
    "gates_of",
    "junit",
    "log_mlflow",
    "log_wandb",
    "model_index",
    "rows",
    "step_summary",
    "to_pandas",
    "to_polars",
]
