"""What several reports look up in a document: who is best, which test is meant, what all systems have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from spanwise.diagnosis import letter, lettering
from spanwise.document.evaluation import Evaluation
from spanwise.document.head import Interval, given
from spanwise.document.scores import ScoreTest
from spanwise.document.study import Analyses, AttributeWise, MainResult, ModelWise, RankedSlice
from spanwise.reports._wording import attribute, defined, tough, visible
from spanwise.statistics import LEVEL

Key = TypeVar("Key", bound=str)
Value = TypeVar("Value")


def own_letters(document: Evaluation) -> dict[str, str]:
    """The letter of every system, from the highest primary score to the lowest; undefined ones come last."""
    primary = document.settings.primary or "f1"
    return lettering({name: system.primary(primary) for name, system in document.systems.items()})


def ranked(document: Evaluation) -> list[str]:
    """The systems from the highest primary score to the lowest, in the order of their letters."""
    return list(own_letters(document))


def union(parts: Iterable[Mapping[Key, Value]]) -> dict[Key, Value]:
    """What any of the systems has of one part; saved results that are compared may differ in it."""
    merged: dict[Key, Value] = {}
    for part in parts:
        for name, value in part.items():
            merged.setdefault(name, value)
    return merged


def scored_labels(document: Evaluation) -> list[str]:
    """The labels that some system has scores of, the most frequent gold ones first."""
    scored = union(system.exact.labels for system in document.systems.values())
    gold = document.dataset.label_order or ()
    return list(dict.fromkeys([*(label for label in gold if label in scored), *scored]))


def label_order(document: Evaluation) -> list[str]:
    """Every label of gold or predictions, the most frequent gold ones first."""
    order = dict.fromkeys(document.dataset.labels_in_order)
    for system in document.systems.values():
        order |= dict.fromkeys(label for label in system.exact.labels if label not in order)
    return list(order)


def inner_keys(tree: Mapping[str, Mapping[Key, Value]]) -> list[Key]:
    """The names of the second level over all of the first, in the order they are met."""
    return list(dict.fromkeys(key for inner in tree.values() for key in inner))


def highest(values: Iterable[float | None]) -> float | None:
    """The highest of the defined values, where there is something to choose."""
    inside = [value for value in values if value is not None and defined(value)]
    return max(inside) if len(inside) > 1 else None


def compared(document: Evaluation, one: str, other: str, path: Sequence[str]) -> ScoreTest | None:
    """The test of one score between two systems, with the sign of `one` less `other`."""
    comparison = document.comparison(one, other)
    test = None if comparison is None else comparison.score(tuple(path))
    if comparison is None or test is None:
        return None
    return test if comparison.systems[0] == one else turned(test)


def turned(test: ScoreTest) -> ScoreTest:
    """A tested difference the other way round."""
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


def single_runs(holistic: Mapping[str, Mapping[str, MainResult]]) -> bool:
    """Whether some system has a single run, so that letters say nothing about training."""
    return any(cell.runs == 1 for row in holistic.values() for cell in row.values())


def differing(cell: ModelWise | AttributeWise) -> float | None:
    """p that buckets differ; of a document without that test, Friedman's over datasets × runs."""
    return cell.buckets_differ.p if cell.buckets_differ else cell.friedman.p


def greyed(cell: ModelWise | AttributeWise) -> bool:
    """Whether the buckets of an attribute cannot be told apart, or could not be tested."""
    p = differing(cell)
    return p is None or not p < LEVEL


def score_path(analyses: Analyses) -> tuple[str, ...]:
    """Where comparisons have the score that a study is about."""
    score = analyses.score or "f1"
    return "fair" if score.startswith("fair_") else "exact", "overall", score.removeprefix("fair_")


TINY = 20  # mentions under which a recall is marked


def slice_words(row: RankedSlice) -> str:
    """A slice of a study in words, the bucket with what it holds."""
    name = visible(row.name)
    if row.kind == "label":
        return f"label is {name}"
    if row.kind == "tough" or not row.attribute:
        return tough(row.name)
    held = visible(given(row.label) or "")
    if not held or held == name:
        return f"{attribute(row.attribute)} {name}"
    return f"{attribute(row.attribute)} {name} {held if held[0] in '([' else f'({held})'}"


def unbeaten(holistic: Mapping[str, Mapping[str, MainResult]], dataset: str) -> set[str]:
    """The systems that no other is significantly better than; the best ones where nothing was tested."""
    cells = {system: row[dataset] for system, row in holistic.items() if dataset in row}
    scored = {system: cell.mean for system, cell in cells.items() if cell.mean is not None}
    if len(scored) < 2:
        return set(scored)
    if not any(cell.letters for cell in cells.values()):
        top = max(scored.values())
        return {system for system, mean in scored.items() if mean == top}
    beaten = {sign for cell in cells.values() for sign in cell.letters or ""}
    return {system for system in scored if cells[system].letter not in beaten}


def common_letters(
    holistic: Mapping[str, Mapping[str, MainResult]],
) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """One letter per system for a whole table of datasets, and whom each beats in each of them.

    A study letters its systems anew in every dataset, by score; a table of all datasets needs
    one letter per row.
    """
    own = {system: letter(rank) for rank, system in enumerate(holistic)}
    beats: dict[tuple[str, str], str] = {}
    for dataset in inner_keys(holistic):
        cells = {system: row[dataset] for system, row in holistic.items() if dataset in row}
        of = {cell.letter: own[system] for system, cell in cells.items() if cell.letter}
        for system in holistic:
            letters = cells[system].letters if system in cells else ""
            beats[system, dataset] = "".join(sorted(of[sign] for sign in letters or "" if sign in of))
    return own, beats
