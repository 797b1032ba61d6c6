"""The ranks of systems in the slices of a dataset, and where their order reverses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import UNSET, Struct

from spanwise.diagnosis import LEAST_GOLD, on_scale, or_nan, rank_flips
from spanwise.document.scores import SystemScores
from spanwise.document.study import RankFlip, SliceRanks
from spanwise.studies._scores import StudyScores, over_runs


class ScoredSlice(Struct, frozen=True):
    """A slice of one run, with its score."""

    kind: Literal["bucket", "label", "tough"]
    attribute: str | None
    name: str
    gold: int
    label: str | None
    value: float
    score: str

    def about(self, dataset: str) -> dict[str, Any]:
        """What is known of the slice, whatever the system."""
        return {
            "dataset": dataset,
            "kind": self.kind,
            "attribute": self.attribute,
            "name": self.name,
            "gold": self.gold,
            "score": self.score,
            "label": self.label,
        }


def ranked(scores: StudyScores) -> tuple[tuple[SliceRanks, ...], tuple[RankFlip, ...]]:
    """The rank of every system in every slice with 50 gold units or more, and where the order reverses."""
    ranks: list[SliceRanks] = []
    flips: list[RankFlip] = []
    for dataset in scores.datasets:
        means = {s: over_runs(scores.over(s, dataset, scores.overall)).mean for s in scores.systems}
        whole = {name: value for name, value in means.items() if value is not None}
        slices = _slices(scores, dataset)
        ranks += [
            SliceRanks(**one.about(dataset), scores=values, ranks=_ranks(values)) for one, values in slices
        ]
        flips += [
            RankFlip(
                **slices[flip.slice][0].about(dataset),
                overall=flip.overall,
                here=flip.here,
                lead=flip.lead,
                reversal=flip.reversal,
            )
            for flip in rank_flips(whole, [values for _, values in slices])
        ]
    return tuple(ranks), tuple(sorted(flips, key=lambda flip: -flip.reversal))


def _ranks(values: Mapping[str, float]) -> dict[str, int]:
    return {name: 1 + sum(other > value for other in values.values()) for name, value in values.items()}


def _slices(scores: StudyScores, dataset: str) -> list[tuple[ScoredSlice, dict[str, float]]]:
    """What is known of each slice of a dataset, and its mean score over runs of every system that has one."""
    first: dict[tuple[str, str, str], ScoredSlice] = {}
    values: dict[tuple[str, str, str], dict[str, dict[str, float]]] = {}
    for system in scores.systems:
        for run, scored in scores.runs(system, dataset).items():
            for one in _scored_slices(scored, scores):
                key = (one.kind, one.attribute or "", one.name)
                first.setdefault(key, one)
                values.setdefault(key, {}).setdefault(system, {})[run] = one.value
    slices = []
    for place, one in first.items():
        means = {system: over_runs(runs).mean for system, runs in values[place].items()}
        defined = {system: mean for system, mean in means.items() if mean is not None}
        if one.gold >= LEAST_GOLD and len(defined) > 1:
            slices.append((one, defined))
    return slices


def _scored_slices(run: SystemScores, scores: StudyScores) -> Iterator[ScoredSlice]:
    for label, exact in run.exact.labels.items():
        fair = run.fair.labels.get(label)
        part = fair if scores.is_fair else exact
        value = None if part is None else part[scores.score.removeprefix("fair_")]
        yield ScoredSlice("label", None, label, exact.gold, None, or_nan(value), scores.score)
    for attribute, table in run.attributes.items():
        for bucket in on_scale(table.buckets) if attribute != "label" else ():
            shown = None if bucket.label is UNSET else bucket.label
            value = scores.of_bucket(bucket)
            yield ScoredSlice("bucket", attribute, bucket.name, bucket.gold, shown, value, scores.score)
    for subset, found in run.tough.items():
        recall = found.overall
        yield ScoredSlice("tough", None, subset, recall.mentions, None, or_nan(recall.recall), "recall")
