"""Counts per unit, packed for the result document, so that two documents can be compared."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from spanwise.columns import codes
from spanwise.counts import Counts
from spanwise.document.sentences import PackedMeasure
from spanwise.errors import InputError
from spanwise.scores import SCORERS, Measure, MeasureKey


def packed(measures: Sequence[Measure]) -> tuple[PackedMeasure, ...]:
    """The tested measures with their counts: distinct rows, and the row of every unit, compressed."""
    return tuple(
        PackedMeasure(
            name=measure.name,
            scorer=measure.scorer,
            family=measure.family,
            tested=measure.tested,
            credit=measure.credit,
            share=measure.share,
            paths=measure.paths,
            cells=measure.counts.cells,
            columns=measure.counts.columns,
            rows=_pack(np.asarray(measure.counts.rows)),
            row=_pack(np.asarray(measure.counts.row)),
        )
        for measure in measures
        if measure.tested
    )


def unpacked(entries: Sequence[PackedMeasure], *, place: str) -> list[Measure]:
    """The measures of a result document, as they were before they were packed."""
    try:
        return [_measure(entry) for entry in entries]
    except (ValueError, TypeError, zlib.error) as error:
        raise InputError(
            f"{place}: its counts per unit cannot be read ({error}).\n"
            "Make the result document again with spanwise evaluate --json."
        ) from error


def _measure(entry: PackedMeasure) -> Measure:
    if entry.scorer not in SCORERS:
        raise ValueError(f"no scorer is called {entry.scorer!r}")
    width = len(entry.cells) * len(entry.columns)
    rows = _unpack(entry.rows).reshape(-1, width)
    row = _unpack(entry.row)
    if len(row) and not 0 <= int(row.min()) <= int(row.max()) < len(rows):
        raise ValueError("a unit names a row that is not there")
    return Measure(
        key=MeasureKey.of_name(entry.name),
        counts=Counts(entry.cells, entry.columns, rows, codes(row)),
        scorer=entry.scorer,
        paths=entry.paths,
        family=entry.family,
        tested=entry.tested,
        credit=entry.credit,
        share=entry.share,
    )


def _pack(column: np.ndarray[Any, Any]) -> str:
    little = np.ascontiguousarray(column, dtype="<i4")
    return base64.b64encode(zlib.compress(little.tobytes(), 6)).decode("ascii")


def _unpack(text: str) -> np.ndarray[Any, Any]:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<i4").astype(np.int32)
