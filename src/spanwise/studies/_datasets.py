"""Tests over datasets: each is one block, its runs averaged first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from spanwise.columns import plain
from spanwise.diagnosis import mean_of, or_nan
from spanwise.document.study import DatasetTest, Ranking
from spanwise.statistics import LEVEL, correct, friedman, ranks, wilcoxon

# Mean scores of two systems by dataset, and on how many datasets their difference holds by itself.
Blocks: TypeAlias = tuple[Sequence[float | None], Sequence[float | None], int]


def dataset_tests(pairs: Sequence[Blocks], correction: str) -> list[DatasetTest]:
    """Wilcoxon's test over datasets for every pair of systems, corrected over pairs.

    Below six datasets no p can fall below .05, and the note says so; then the number of datasets on
    which the difference holds by itself is what can be said.

    References:
        Demšar (2006), Statistical comparisons of classifiers over multiple data sets.
    """
    tests = [_test(*pair) for pair in pairs]
    corrected = correct([or_nan(test.p) for test in tests], correction).tolist()
    return [
        replace(test, p_corrected=plain(p), significant=bool(p < LEVEL))
        for test, p in zip(tests, corrected, strict=True)
    ]


def friedman_over_datasets(means: Mapping[str, Sequence[float | None]]) -> DatasetTest:
    """Friedman's test that all systems score alike over datasets.

    Args:
        means: of each system the mean score over runs by dataset; a dataset without one of some system
            takes no part.

    References:
        Demšar (2006), Statistical comparisons of classifiers over multiple data sets.
    """
    whole = [[value for value in row if value is not None] for row in zip(*means.values(), strict=True)]
    test = friedman([row for row in whole if len(row) == len(means)], of="system")
    return DatasetTest(**test.to_dict("datasets"), significant=bool(test.p < LEVEL))


def ranking_over_datasets(means: Mapping[str, Sequence[float | None]]) -> Ranking | UnsetType:
    """Mean ranks over the datasets that all systems have a score on; 1 is the best, ties share their mean.

    Two systems can be told apart where their mean ranks differ by the critical difference of Nemenyi's test
    or more: q √(k (k + 1) / 6N) with k systems, N datasets and q of the studentized range over √2.

    References:
        Demšar (2006), Statistical comparisons of classifiers over multiple data sets.
    """
    from scipy.stats import studentized_range

    rows = [row for row in zip(*means.values(), strict=True) if None not in row]
    if not rows:
        return UNSET
    ranked = np.mean([ranks([-(value or 0.0) for value in row]) for row in rows], axis=0)
    found = {name: float(rank) for name, rank in zip(means, ranked, strict=True)}
    count = len(found)
    q = float(studentized_range.ppf(1 - LEVEL, count, np.inf)) / np.sqrt(2)
    critical = float(q * np.sqrt(count * (count + 1) / (6 * len(rows))))
    order = sorted(found, key=lambda name: (found[name], name))
    groups: list[tuple[str, ...]] = []
    for first in range(count):
        last = max(at for at in range(first, count) if found[order[at]] - found[order[first]] < critical)
        if last > first and (not groups or order[last] != groups[-1][-1]):
            groups.append(tuple(order[first : last + 1]))
    return Ranking(datasets=len(rows), ranks=found, critical=critical, groups=tuple(groups))


def _test(first: Sequence[float | None], second: Sequence[float | None], holds: int) -> DatasetTest:
    both = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    test = wilcoxon([a for a, _ in both], [b for _, b in both]).to_dict("datasets")
    return DatasetTest(
        **{**test, "datasets": len(both)}, difference=mean_of(a - b for a, b in both).mean, holds=holds
    )
