"""What several reports look up in a document: who is best, which test is meant, what all systems have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import UnsetType, convert

from spanwise.diagnosis import distinct, letter, lettering
from spanwise.document.scores import BucketEdges, SystemScores, WeakSlice
from spanwise.document.study import Analyses, AttributeWise, MainResult, ModelWise, RankedSlice
from spanwise.reports._wording import TOUGH, attribute, defined, plain, visible
from spanwise.statistics import LEVEL

Document = Mapping[str, Any]


def score_row(comparison: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any] | None:
    """The row of a comparison about one score, where it has one."""
    return next((row for row in comparison["scores"] if list(row["path"]) == list(path)), None)


def distinct_rows(
    rows: Iterable[Mapping[str, Any]], system: Mapping[str, Any]
) -> list[list[Mapping[str, Any]]]:
    """The slices of one system in groups that hold the same mentions or nearly so."""
    listed = list(rows)
    typed = [convert(row, WeakSlice) for row in listed]
    groups = distinct(typed, convert({"attributes": {}, **system, "slices": []}, SystemScores))
    return [[listed[typed.index(row)] for row in group] for group in groups]


def own_letters(document: Document) -> dict[str, str]:
    """The letter of every system, from the highest F1 to the lowest; those without one come last."""
    f1 = {name: system["exact"]["overall"]["f1"] for name, system in (document.get("systems") or {}).items()}
    return lettering({name: value if defined(value) else None for name, value in f1.items()})


def ranked(document: Document) -> list[str]:
    """The systems from the highest F1 to the lowest, in the order of their letters."""
    return list(own_letters(document))


def union(systems: Mapping[str, Mapping[str, Any]], part: str) -> dict[str, Any]:
    """What any of the systems has of one part; saved results that are compared may differ in it."""
    found: dict[str, Any] = {}
    for system in systems.values():
        for name, value in (system.get(part) or {}).items():
            found.setdefault(name, value)
    return found


def scored_labels(document: Document) -> list[str]:
    """The labels that some system has scores of, the most frequent gold ones first."""
    systems: Mapping[str, Any] = document.get("systems") or {}
    known = dict.fromkeys(label for system in systems.values() for label in system["exact"]["labels"])
    gold = (document.get("dataset") or {}).get("label_order") or ()
    return list(dict.fromkeys([*(label for label in gold if label in known), *known]))


K = TypeVar("K", bound=str)


def inner_keys(tree: Mapping[str, Mapping[K, Any]]) -> list[K]:
    """The names of the second level over all of the first, in the order they are met."""
    return list(dict.fromkeys(key for inner in tree.values() for key in inner))


def highest(values: Iterable[float | None]) -> float | None:
    """The highest of the defined values, where there is something to choose."""
    inside = [value for value in values if value is not None and defined(value)]
    return max(inside) if len(inside) > 1 else None


def compared(document: Document, one: str, other: str, path: Sequence[str]) -> dict[str, Any] | None:
    """The test of one score between two systems, with the sign of `one` less `other`."""
    for comparison in document.get("comparisons") or ():
        if set(comparison["systems"]) == {one, other}:
            row = score_row(comparison, path)
            if row is None:
                return None
            return dict(row) if comparison["systems"][0] == one else turned(row)
    return None


def turned(row: Mapping[str, Any]) -> dict[str, Any]:
    """A tested difference the other way round."""
    ends = row.get("interval")
    return {
        **row,
        "a": row.get("b"),
        "b": row.get("a"),
        "interval": [None if end is None else -end for end in reversed(ends)] if ends else ends,
        "difference": None if row["difference"] is None else -row["difference"],
    }


def score_path(analyses: Analyses) -> tuple[str, ...]:
    """Where comparisons have the score that a study is about."""
    score = analyses.score or "f1"
    return "fair" if score.startswith("fair_") else "exact", "overall", score.removeprefix("fair_")


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


TINY = 20  # mentions under which a recall is marked


def bucket_words(bucket: BucketEdges) -> str:
    """What a bucket holds, in words: its interval, its one value, or its category."""
    if bucket.label:
        return visible(bucket.label)
    if bucket.is_category:
        return visible(str(bucket.value))
    low, high = (None if isinstance(end, UnsetType) else end for end in (bucket.low, bucket.high))
    if low is None and high is None:
        return visible(bucket.name)
    if low is None:
        return f"up to {plain(high)}"
    if high is None:
        return f"over {plain(low)}"
    return plain(low) if low == high else f"({plain(low)}, {plain(high)}]"


def slice_words(row: RankedSlice) -> str:
    """A slice of a study in words, the bucket with what it holds."""
    name = visible(row.name)
    if row.kind == "label":
        return f"type is {name}"
    if row.kind == "tough" or not row.attribute:
        return TOUGH.get(name, name)
    held = visible(row.label or "")
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
    own = {system: letter(place) for place, system in enumerate(holistic)}
    beats: dict[tuple[str, str], str] = {}
    for dataset in inner_keys(holistic):
        cells = {system: row[dataset] for system, row in holistic.items() if dataset in row}
        of = {cell.letter: own[system] for system, cell in cells.items() if cell.letter}
        for system in holistic:
            letters = cells[system].letters if system in cells else ""
            beats[system, dataset] = "".join(sorted(of[sign] for sign in letters or "" if sign in of))
    return own, beats
