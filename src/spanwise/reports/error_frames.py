"""The table of errors as a frame of Spark, to be written wherever Spark writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from spanwise.reports.errors import COLUMNS, Listed, cells_of


def to_frame(errors: Iterable[Listed], session: Any) -> Any:
    """One row per error, with the columns of the CSV."""
    whole = {"turn", *(name for name in COLUMNS if name.endswith(("_start", "_end")))}
    schema = ", ".join(f"`{name}` {'int' if name in whole else 'string'}" for name in COLUMNS)
    return session.createDataFrame([tuple(cells_of(error)) for error in errors], schema)
