"""Who leads, and what the tests of a document allow to be said about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from spanwise.averages import letters_over
from spanwise.diagnosis import beaten_letters, letter, lettering, significant_pairs
from spanwise.document import Interval
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import Comparison, ScoreTest
from spanwise.views import sentences, wording

if TYPE_CHECKING:
    from spanwise.document.study import DatasetTest, PairDiagnosis, Study


def own_letters(document: Evaluation) -> dict[str, str]:
    """The letter of every system.

    A document with letters lists the systems in the order of their letters: the systems of a study keep
    theirs on all datasets. Otherwise they go from the highest primary score to the lowest.
    """
    if set(document.systems) <= set(document.letters):
        listed = {name: letter(index) for index, name in enumerate(document.letters)}
        return {name: sign for name, sign in listed.items() if name in document.systems}
    return lettering(_primary_scores(document))


def ranked(document: Evaluation) -> list[str]:
    """The systems from the highest primary score to the lowest, undefined ones last."""
    return list(lettering(_primary_scores(document)))


def _primary_scores(document: Evaluation) -> dict[str, float | None]:
    primary = document.settings.primary or "f1"
    return {name: system.primary(primary) for name, system in document.systems.items()}


class Tested(Struct, frozen=True):
    """The tests between the systems of one dataset, behind its letters, stars, bold numbers and brackets."""

    own: Mapping[str, str]  # the letter of every system
    comparisons: Sequence[Comparison]

    @property
    def better(self) -> frozenset[tuple[str, str]]:
        """The pairs that differ significantly after correction, the better system first."""
        return significant_pairs(self.comparisons)

    @property
    def beats(self) -> dict[str, str]:
        """For every system, the letters of the systems that it is significantly better than."""
        return beaten_letters(self.own, self.better)

    @property
    def decided(self) -> dict[frozenset[str], ScoreTest]:
        """The tests that could have found a difference, by pair."""
        return {
            frozenset(row.systems): row.primary
            for row in self.comparisons
            if row.primary is not None and row.primary.p_corrected is not None and not row.unreachable
        }

    @property
    def tested(self) -> bool:
        """Whether any pair was tested."""
        return any(
            row.primary is not None and row.primary.p_corrected is not None for row in self.comparisons
        )

    @property
    def unreachable(self) -> list[str]:
        """Why tests cannot reach their level, each reason once."""
        return list(dict.fromkeys(row.unreachable for row in self.comparisons if row.unreachable))

    def untested(self, systems: Iterable[str]) -> list[tuple[str, str]]:
        """The pairs of these systems for which there is no test."""
        pairs = {frozenset(row.systems) for row in self.comparisons}
        return [pair for pair in combinations(systems, 2) if frozenset(pair) not in pairs]

    def bold(self, scores: Mapping[str, float | None]) -> set[str]:
        """The systems that no system is significantly better than, given the scores that are shown.

        Every system that scores higher must have been tested against it, by a test that could have found a
        difference. If nothing was tested, the systems with the highest score.
        """
        scored = {
            name: score for name, score in scores.items() if score is not None and wording.defined(score)
        }
        if len(scored) < 2:
            return set()
        if not self.tested:
            top = max(scored.values())
            return {name for name, score in scored.items() if score == top}
        decided, better = self.decided, self.better
        losers = {loser for _, loser in better}
        return {
            name
            for name in scored
            if name not in losers
            and any(name in pair for pair in decided)
            and all(frozenset((name, other)) in decided for other in scored if scored[other] > scored[name])
        }

    def captions(self, systems: Iterable[str]) -> tuple[str, str]:
        """What bold means, and what else must be said about the tests of these systems."""
        if not self.tested:
            return "highest score, not tested", ""
        bold, notes = "no system is significantly better", sentences.of_runs(self.comparisons)
        if any(row.silver for row in self.comparisons):
            notes.append("scores and tests are those of the gold units alone")
        names = [name for name in systems if name in self.own]
        untested = self.untested(names)
        if untested:
            bold += ", and every system that scores higher was tested against it"
            pairs = sorted("–".join(sorted(self.own[name] for name in pair)) for pair in untested)
            shown = ", ".join(pairs[:MOST_UNTESTED])
            more = f" and {len(pairs) - MOST_UNTESTED} more" if len(pairs) > MOST_UNTESTED else ""
            notes.append(f"not tested: {shown}{more}")
        return bold, "; ".join([*notes, *self.unreachable])


MOST_UNTESTED = 6  # pairs that are listed as untested


def tested(document: Evaluation) -> Tested:
    """The tests between the systems of an evaluation."""
    return Tested(own_letters(document), document.comparisons)


def tested_on(study: Study, dataset: str) -> Tested:
    """The tests between the systems of a study on one dataset; letters are the same on all datasets."""
    part = study.datasets.get(dataset)
    return Tested(study_letters(study), () if part is None else part.comparisons)


def tested_in(study: Study) -> Tested:
    """The tests between the systems of a study on all datasets, for captions."""
    return Tested(study_letters(study), [row for part in study.datasets.values() for row in part.comparisons])


def study_letters(study: Study) -> dict[str, str]:
    """The letter of every system of a study, the same on all datasets."""
    return letters_over(study.analyses.holistic)


def family_of(study: Study) -> str:
    """What is corrected together if there are several datasets: "study" or "dataset"."""
    if len(study.datasets) < 2:
        return ""
    return study.analyses.family.by if study.analyses.family else "dataset"


def compared(document: Evaluation, one: str, other: str, path: Sequence[str]) -> ScoreTest | None:
    """The test of one score between two systems, with the difference as `one` minus `other`."""
    comparison = document.comparison(one, other)
    test = None if comparison is None else comparison.score(tuple(path))
    if comparison is None or test is None:
        return None
    return test if comparison.systems[0] == one else turned(test)


def turned(test: ScoreTest) -> ScoreTest:
    """A tested difference with the two systems swapped."""
    return replace(
        test,
        a=test.b,
        b=test.a,
        interval=_turned_interval(test.interval),
        difference=None if test.difference is None else -test.difference,
    )


def _turned_interval(interval: Interval | None) -> Interval | None:
    if interval is None:
        return None
    low, high = interval
    return None if high is None else -high, None if low is None else -low


def decides(test: DatasetTest) -> bool:
    """Whether a test over datasets could find a difference: with few blocks, no p falls below the level."""
    return test.p is not None and test.datasets > 1 and not test.note


def alone(study: Study, pair: PairDiagnosis) -> dict[str, int]:
    """For each system of a pair, the number of datasets on which it is significantly better by itself."""
    significant = [tested_on(study, dataset).better for dataset in pair.datasets]
    first, second = pair.systems
    return {
        name: sum((name, other) in better for better in significant)
        for name, other in ((first, second), (second, first))
    }


def alone_words(study: Study, pair: PairDiagnosis, datasets: int) -> str:
    """On how many datasets each system of a pair is significantly better, in words."""
    counts = alone(study, pair)
    if not any(counts.values()):
        return f"neither is significantly better on any of {datasets} datasets"
    (first, most), (second, least) = sorted(counts.items(), key=lambda row: -row[1])
    words = f"{wording.visible(first)} is better on {most} of {datasets} datasets"
    return f"{words}, {wording.visible(second)} on {least or 'none'}"
