"""Score every level of a hierarchy of labels: one label for all mentions, then one step more at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from spanwise.corpus import with_one_labelling
from spanwise.document.scores import ExactScores, FairScores, LevelExact, LevelFair, LevelScores
from spanwise.evaluation._measures import MatchedSystem, exact_counts, labeled_paths, outcome_counts
from spanwise.evaluation.choices import Choices
from spanwise.evaluation.scoring import Cell, ScoredSystem
from spanwise.labels import Hierarchy
from spanwise.matching import OUTCOMES, fair_and_overlap, match
from spanwise.scores import Measure, MeasureKey, with_overall

FAMILY = "hierarchy"
LEVEL_EXACT, LEVEL_FAIR = "level-exact", "level-fair"  # the kinds of the measures of a level


def level_measures(case: MatchedSystem, choices: Choices) -> list[Measure]:
    """The exact and fair measures of every level of the labels in a block; none without a hierarchy."""
    hierarchy = choices.levels
    if hierarchy is None:
        return []
    hierarchy.check(case.labels)
    return [
        measure
        for level in range(hierarchy.depth(case.labels) + 1)
        for measure in _of_level(case, choices, hierarchy, level)
    ]


def _of_level(case: MatchedSystem, choices: Choices, hierarchy: Hierarchy, level: int) -> Iterator[Measure]:
    gold, predicted = with_one_labelling(
        [hierarchy.apply(mentions, level) for mentions in (case.gold, case.predicted)]
    )
    fair, _ = fair_and_overlap(gold, predicted)
    chosen = choices.matcher
    matching = fair if chosen.name == "fair" else match(gold, predicted, matcher=chosen)
    at_level = MatchedSystem(case.corpus, case.units, gold, predicted, matching, fair)
    outcomes, share = outcome_counts(at_level, matching.events(), choices.focus)
    for kind, counts, scorer, worth in (
        (LEVEL_EXACT, exact_counts(at_level), "exact with overall", 1.0),
        (LEVEL_FAIR, outcomes, "credited with overall", share),
    ):
        yield Measure(
            MeasureKey(kind, str(level)),
            counts,
            scorer,
            labeled_paths((FAMILY, str(level), kind.removeprefix("level-")), gold.labels),
            FAMILY,
            ("f1",),
            credit="fair" if kind == LEVEL_FAIR else None,
            share=worth,
        )


def with_levels(measures: Sequence[Measure], depth: int) -> list[Measure]:
    """The measures with all levels down to `depth`.

    Where no label has so many steps, a deeper level is the same as the last one there is.
    """
    rest = [measure for measure in measures if measure.family != FAMILY]
    levels = {measure.key: measure for measure in measures if measure.family == FAMILY}
    for kind in (LEVEL_EXACT, LEVEL_FAIR) if levels else ():
        last = levels[MeasureKey(kind, "0")]
        for level in range(depth + 1):
            last = levels.get(MeasureKey(kind, str(level)), last)
            paths = tuple((FAMILY, str(level), *path[2:]) for path in last.paths)
            rest.append(replace(last, key=MeasureKey(kind, str(level)), paths=paths))
    return rest


def depth_of(measures: Sequence[Measure]) -> int:
    """The number of the deepest level among some measures."""
    return max((int(measure.key.attribute) for measure in measures if measure.family == FAMILY), default=0)


def all_levels(systems: Mapping[str, Sequence[Measure]]) -> dict[str, Sequence[Measure]]:
    """The measures of every system, down to the same level.

    The deepest level is not tested: it is exact and fair F1 themselves, whose tests are in the result.
    """
    depth = max(map(depth_of, systems.values()), default=0)
    deepest = str(depth)
    return {
        name: [
            replace(measure, tested=())
            if measure.family == FAMILY and measure.key.attribute == deepest
            else measure
            for measure in with_levels(measures, depth)
        ]
        for name, measures in systems.items()
    }


def level_scores(
    measures: Mapping[MeasureKey, Measure], scored: ScoredSystem
) -> dict[str, LevelScores] | UnsetType:
    """The scores of every level by its number."""
    depth = depth_of([*measures.values()])
    levels = {
        str(level): LevelScores(
            exact=_exact(measures[MeasureKey(LEVEL_EXACT, str(level))], scored),
            fair=_fair(measures[MeasureKey(LEVEL_FAIR, str(level))], scored),
        )
        for level in range(depth + 1)
        if MeasureKey(LEVEL_EXACT, str(level)) in measures
    }
    return levels or UNSET


def _exact(measure: Measure, scored: ScoredSystem) -> LevelExact:
    overall, *labels = (
        ExactScores(gold=int(gold), predicted=int(predicted), correct=int(correct), **scored.cells[path])
        for path, (gold, predicted, correct) in _rows(measure)
    )
    return LevelExact(overall=overall, labels=dict(zip(measure.counts.cells, labels, strict=True)))


def _fair(measure: Measure, scored: ScoredSystem) -> LevelFair:
    overall, *labels = (FairScores(**_outcomes(row), **scored.cells[path]) for path, row in _rows(measure))
    return LevelFair(overall=overall, labels=dict(zip(measure.counts.cells, labels, strict=True)))


def _rows(measure: Measure) -> Iterator[tuple[tuple[str, ...], list[float]]]:
    """The path and the counts of all mentions, then of every label."""
    totals = with_overall(measure.counts.total.astype(float)) * measure.share
    return zip(measure.paths, totals.tolist(), strict=True)


def _outcomes(row: Sequence[float]) -> Cell:
    counts = dict(zip(OUTCOMES, row, strict=True))
    counts["BE"] = counts["BEs"] + counts["BEl"] + counts["BEo"]
    return {name: int(number) if number.is_integer() else number for name, number in counts.items()}
