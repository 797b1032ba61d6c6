"""What a choice brings: scores against a factor of the systems, and where on the datasets it pays."""

from __future__ import annotations

from typing import Any

from spanwise.columns import plain
from spanwise.diagnosis import mean_of, or_nan
from spanwise.document.study import (
    DatasetRuns,
    FactorGroup,
    FactorLine,
    FactorPoint,
    FactorStep,
    ZetaTrend,
)
from spanwise.statistics import spearman
from spanwise.studies._manifest import Manifest, Pair, System
from spanwise.studies._scores import StudyScores, over_runs


def factors(scores: StudyScores, manifest: Manifest) -> dict[str, FactorLine]:
    """For each factor the pairs that differ in it alone and, where it is a number, scores against it."""
    known = sorted({key for system in manifest.systems for key in system.factors})
    return {factor: _factor(scores, manifest, factor) for factor in known}


def _factor(scores: StudyScores, manifest: Manifest, factor: str) -> FactorLine:
    having = [system for system in manifest.systems if factor in system.factors]
    numeric = all(isinstance(system.factors[factor], int | float) for system in having)
    points = [_point(scores, system.name, system.factors[factor]) for system in having]
    return FactorLine(
        numeric=numeric,
        values={system.name: system.factors[factor] for system in having},
        pairs=tuple((pair.first, pair.second) for pair in manifest.pairs if pair.factor == factor),
        line=tuple(sorted(points, key=lambda point: (point.value, point.system))) if numeric else None,
        groups=_groups(scores, having, factor) if numeric else (),
    )


def _point(scores: StudyScores, system: str, value: Any) -> FactorPoint:
    spreads = {
        dataset: over_runs(scores.over(system, dataset, scores.overall)) for dataset in scores.datasets
    }
    mean = mean_of(or_nan(spread.mean) for spread in spreads.values())
    return FactorPoint(value=value, system=system, datasets=spreads, mean=mean.mean, used=mean.used)


def _groups(scores: StudyScores, having: list[System], factor: str) -> tuple[FactorGroup, ...]:
    """Systems that differ in this factor alone, as gain over the one with its lowest value.

    References:
        Fu, Liu and Neubig (2020), Figure 5.
    """
    groups: dict[tuple[tuple[str, Any], ...], list[System]] = {}
    for system in having:
        others = tuple((key, value) for key, value in system.factors.items() if key != factor)
        groups.setdefault(others, []).append(system)
    made = []
    for others, systems in groups.items():
        ordered = sorted(systems, key=lambda system: (system.factors[factor], system.name))
        if len({system.factors[factor] for system in ordered}) < 2:
            continue
        made.append(
            FactorGroup(
                factors=dict(others),
                steps=tuple(_step(scores, system, ordered[0], factor) for system in ordered),
            )
        )
    return tuple(made)


def _step(scores: StudyScores, system: System, lowest: System, factor: str) -> FactorStep:
    gains = gains_of(scores, system.name, lowest.name)
    return FactorStep(
        value=system.factors[factor],
        system=system.name,
        gains=gains,
        gain=mean_of(map(or_nan, gains.values())).mean,
    )


def gains_of(scores: StudyScores, first: str, second: str) -> dict[str, float | None]:
    """Mean score over all runs of the first system less that of the second, by dataset."""
    return {
        dataset: plain(
            or_nan(over_runs(scores.over(first, dataset, scores.overall)).mean)
            - or_nan(over_runs(scores.over(second, dataset, scores.overall)).mean)
        )
        for dataset in scores.datasets
    }


def where_it_pays(scores: StudyScores, pair: Pair) -> dict[str, ZetaTrend]:
    """For each attribute, Spearman's test of the gain on a dataset against its ζ.

    References:
        Fu, Liu and Neubig (2020): which datasets profit from a choice.
    """
    gains = gains_of(scores, pair.first, pair.second)
    trends = {}
    for attribute in scores.attributes():
        zeta = {dataset: zeta_of(part, attribute) for dataset, part in scores.datasets.items()}
        both = [
            (zeta[dataset], gain)
            for dataset, gain in gains.items()
            if gain is not None and zeta[dataset] is not None
        ]
        test = spearman([or_nan(value) for value, _ in both], [gain for _, gain in both])
        trends[attribute] = ZetaTrend(**{**test.to_dict("datasets"), "datasets": len(both)})
    return trends


def zeta_of(part: DatasetRuns, attribute: str) -> float | None:
    """ζ of an attribute on a dataset; None where it is not known."""
    return None if part.dataset is None else part.dataset.zeta.get(attribute)
