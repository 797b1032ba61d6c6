"""A system with one run against one with several: the mean over runs, swapped unit by unit in all runs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from simulated_counts import counted

from spanwise.evaluation.comparisons import compare_runs
from spanwise.scores import Measure
from spanwise.uncertainty import MATRIX_UNITS, Resampling

F1 = ("exact", "overall", "f1")


def drawn(units: int, runs: int, seed: int) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    gold = np.random.default_rng(units).integers(1, 6, units)
    tables = []
    for _ in range(runs):
        correct = generator.binomial(gold, 0.7)
        tables.append(np.stack([gold, correct + generator.integers(0, 3, units), correct], axis=1))
    return tables


def compared(tables: dict[str, list[np.ndarray]], pairs: list[tuple[str, str]], shuffles: int = 1000):  # type: ignore[no-untyped-def]
    runs: dict[str, list[list[Measure]]] = {
        name: [[counted(table)] for table in own] for name, own in tables.items()
    }
    units = len(next(iter(tables.values()))[0])
    return compare_runs(
        runs, pairs, Resampling(units, shuffles, 0), confidence=0.95, correction="holm", primary=F1
    )


def f1(table: np.ndarray) -> float:
    gold, predicted, correct = table.sum(axis=0)
    return float(2 * correct / (gold + predicted))


def swapped(one: np.ndarray, runs: list[np.ndarray], units: np.ndarray) -> float:
    """The mean over runs of the difference, after one and each run have exchanged these units."""
    chosen = units[:, None].astype(bool)
    return float(np.mean([f1(np.where(chosen, run, one)) - f1(np.where(chosen, one, run)) for run in runs]))


@pytest.mark.parametrize("order", [("one", "three"), ("three", "one")])
def test_all_swaps_of_few_units_are_enumerated_for_all_runs_at_once(order: tuple[str, str]) -> None:
    tables = {"one": drawn(9, 1, 1), "three": drawn(9, 3, 2)}
    (comparison,) = compared(tables, [order])
    row = comparison.primary
    seen = f1(tables["one"][0]) - np.mean([f1(run) for run in tables["three"]])
    differences = [
        swapped(tables["one"][0], tables["three"], np.array(units)) for units in product((0, 1), repeat=9)
    ]
    assert row is not None and comparison.test == "exact randomisation"
    assert row.difference == pytest.approx(seen if order[0] == "one" else -seen)
    assert row.p == np.mean(np.abs(differences) >= abs(seen) - 1e-12)


def test_scores_beside_a_single_run_are_means_over_runs() -> None:
    tables = {"one": drawn(40, 1, 3), "three": drawn(40, 3, 4), "two": drawn(40, 2, 5)}
    tables["three"][1][:, 1] += 40  # a run with many spurious mentions, which would dominate added-up counts
    comparisons = compared(tables, [("one", "three"), ("one", "two"), ("two", "three")])
    for comparison in comparisons[:2]:
        row = comparison.primary
        other = tables[comparison.systems[1]]
        assert row is not None and row.b == pytest.approx(np.mean([f1(run) for run in other]))
        assert comparison.test == "randomisation" and row.mentions == int(other[0][:, 0].sum())
        drawn_p = [
            abs(swapped(tables["one"][0], other, units)) >= abs(row.difference or 0) - 1e-12
            for units in np.random.default_rng(0).integers(0, 2, (1000, 40))
        ]
        assert row.p == pytest.approx(np.mean(drawn_p), abs=0.06)
    assert comparisons[2].test == "t-test over runs"


def test_secondary_scores_beside_a_single_run_are_those_of_the_mean() -> None:
    tables = {"one": drawn(40, 1, 6), "same": drawn(40, 1, 7) * 3}
    (three,) = compared(tables, [("one", "same")])
    (once,) = compared({"one": tables["one"], "same": tables["same"][:1]}, [("one", "same")])
    for row, single in zip(three.scores, once.scores, strict=True):
        assert (row.path, row.p, row.p_corrected) == (single.path, single.p, single.p_corrected)
        assert row.difference == pytest.approx(single.difference)


def test_many_units_with_equal_counts_are_drawn_together_in_all_runs() -> None:
    units = MATRIX_UNITS + 1000
    tables = {"one": drawn(units, 1, 8), "two": drawn(units, 2, 9)}
    (comparison,) = compared(tables, [("one", "two")], shuffles=400)
    differences = [
        swapped(tables["one"][0], tables["two"], units)
        for units in np.random.default_rng(1).integers(0, 2, (200, units))
    ]
    row = comparison.primary
    assert row is not None and row.p == pytest.approx(
        np.mean(np.abs(differences) >= abs(row.difference or 0)), abs=0.12
    )
