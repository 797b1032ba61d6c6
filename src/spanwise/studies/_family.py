"""The one family of tests of a study: every pair on every dataset, corrected together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Bools, Floats
from spanwise.document.scores import Comparison, ScoreTest
from spanwise.evaluation.comparisons import corrected_together
from spanwise.statistics import LEVEL, levels
from spanwise.studies._paired import PairedTests
from spanwise.uncertainty import MOST_SHUFFLES, is_close

FAMILIES = ("study", "dataset")  # what is corrected together; the first is used unless chosen

# Tests some pairs of a dataset again, given the least number of shuffles and the p-values of all other tests.
Again = Callable[[str, Sequence[tuple[str, str]], int, Sequence[float]], Sequence[Comparison]]
Cell = tuple[str, tuple[str, str]]  # a dataset and a pair


def corrected(
    tested: Mapping[str, PairedTests], *, correction: str, family: str, again: Again
) -> dict[str, PairedTests]:
    """The tests of all datasets, with the primary question corrected over each family.

    The family is all pairs on all datasets, or with `family="dataset"` the pairs of one dataset. While some
    p is too close to its level in the family, the pair is tested again with more shuffles. Pairs of systems
    with the same predictions, or whose difference never varies, are not in a family.
    """
    groups = [[name] for name in tested] if family == "dataset" else [list(tested)]
    cells: dict[Cell, Comparison] = {}
    for group in groups:
        own = {(name, row.systems): row for name in group for row in tested[name].comparisons}
        units = {name: tested[name].unit for name in group}
        cells |= _corrected(_decided(own, correction, again), correction, units)
    return {
        name: replace(tests, comparisons=tuple(cells[name, row.systems] for row in tests.comparisons))
        for name, tests in tested.items()
    }


def _members(cells: Mapping[Cell, Comparison]) -> dict[Cell, ScoreTest]:
    """The tests of a family: those with a p-value, of systems that do not have the same predictions."""
    return {
        cell: row.primary
        for cell, row in cells.items()
        if row.primary is not None and row.primary.p is not None and not row.identical
    }


class _Standing(Struct, frozen=True, eq=False):
    """The p-values of a family, and which of them are too close to the level that they are compared with."""

    cells: Sequence[Cell]
    p: Floats
    shuffles: Sequence[int]
    close: Bools

    @classmethod
    def of(cls, cells: Mapping[Cell, Comparison], correction: str) -> _Standing:
        members = _members(cells)
        p = np.array([row.p for row in members.values()], dtype=np.float64)
        shuffles = [cells[cell].shuffles or 0 for cell in members]
        drawn = np.array(shuffles, dtype=np.int64)
        close = is_close(p, levels(p, LEVEL, correction), np.maximum(drawn, 1)) & (drawn > 0)
        return cls(list(members), p, shuffles, close)

    def open(self) -> Iterator[tuple[str, list[tuple[str, str]], int, list[float]]]:
        """By dataset, the pairs that need more shuffles, how many, and the p-values of all other tests."""
        for name in dict.fromkeys(dataset for dataset, _ in self.cells):
            at = [
                index
                for index, (dataset, _) in enumerate(self.cells)
                if dataset == name and self.close[index] and self.shuffles[index] < MOST_SHUFFLES
            ]
            if at:
                more = min(2 * max(self.shuffles[index] for index in at), MOST_SHUFFLES)
                others = [float(value) for index, value in enumerate(self.p) if index not in at]
                yield name, [self.cells[index][1] for index in at], more, others


def _decided(cells: Mapping[Cell, Comparison], correction: str, again: Again) -> dict[Cell, Comparison]:
    """The comparisons, tested again until every p can be told from its level or shuffles run out."""
    result = dict(cells)
    while True:
        waiting = list(_Standing.of(result, correction).open())
        if not waiting:
            return result
        for name, pairs, shuffles, others in waiting:
            for row in again(name, pairs, shuffles, others):
                result[name, row.systems] = _with_test(result[name, row.systems], row)


def _with_test(comparison: Comparison, repeated: Comparison) -> Comparison:
    """The comparison with the p-value of its primary score from a repeated test."""
    test = repeated.primary
    assert test is not None
    rows = tuple(replace(row, p=test.p) if row.role == "primary" else row for row in comparison.scores)
    return replace(comparison, scores=rows, shuffles=repeated.shuffles)


def _corrected(
    cells: Mapping[Cell, Comparison], correction: str, units: Mapping[str, str]
) -> dict[Cell, Comparison]:
    """The comparisons with the primary question corrected over all of them; `units` is by dataset."""
    standing = _Standing.of(cells, correction)
    close = dict(zip(standing.cells, standing.close, strict=True))
    rows = corrected_together(
        list(cells.values()),
        [bool(close.get(cell)) for cell in cells],
        correction,
        units=[units[name] for name, _ in cells],
        of="test" if len(units) > 1 else "pair",
    )
    return dict(zip(cells, rows, strict=True))
