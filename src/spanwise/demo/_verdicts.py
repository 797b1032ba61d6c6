"""Whether an evaluation of the demo corpus finds what was planted in its systems."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from spanwise.demo._systems import SYSTEMS
from spanwise.document.evaluation import Evaluation
from spanwise.document.head import DocumentLike
from spanwise.document.loading import as_document
from spanwise.document.scores import Confusion, SystemScores, WeakSlice


class Verdict(Struct, frozen=True):
    """What was planted in a system, what the result document ranks first, and whether that is it.

    `slice` is the costliest slice, `gain` the kind of error whose fixing would gain most F1 and how much,
    `confused` the pairs of labels that are confused most, with their counts.
    """

    system: str
    weakness: str
    found: bool
    slice: WeakSlice | None
    gain: tuple[str, float]
    confused: tuple[tuple[str, str, int], ...]


def verdicts(document: DocumentLike) -> list[Verdict]:
    """One verdict per system, from a result document over the demo corpus alone."""
    typed = as_document(document)
    scores = typed.systems if isinstance(typed, Evaluation) else {}
    return [
        _verdict(system.name, system.weakness, scores[system.name])
        for system in SYSTEMS
        if system.name in scores
    ]


def _verdict(name: str, weakness: str, scores: SystemScores) -> Verdict:
    costliest = next(iter(scores.slices), None)
    gains = {kind: gain.gain or 0.0 for kind, gain in scores.gains.items()}
    kind = max(gains, key=lambda key: gains[key])
    confused = _confused(scores.confusion)
    draft = Verdict(name, weakness, False, costliest, (kind, gains[kind]), confused)
    return Verdict(name, weakness, _SIGNS[name](draft), costliest, draft.gain, confused)


def _confused(confusion: Confusion) -> tuple[tuple[str, str, int], ...]:
    pairs = [
        (gold, predicted, count)
        for gold, row in zip(confusion.labels, confusion.counts, strict=True)
        for predicted, count in zip(confusion.labels, row, strict=True)
        if gold != predicted and count
    ]
    return tuple(sorted(pairs, key=lambda pair: -pair[2])[:2])


def _long(verdict: Verdict) -> bool:
    row = verdict.slice
    longest = row is not None and row.attribute == "entity_length" and row.name == "XL"
    return longest and verdict.gain[0] == "BE"


def _unseen(verdict: Verdict) -> bool:
    row = verdict.slice
    return row is not None and row.kind == "tough" and "UNSEEN" in row.name and verdict.gain[0] == "FN"


def _swapped(verdict: Verdict) -> bool:
    pairs = {(gold, predicted) for gold, predicted, _ in verdict.confused}
    return verdict.gain[0] == "LE" and pairs == {("LOC", "ORG"), ("ORG", "LOC")}


_SIGNS: dict[str, Callable[[Verdict], bool]] = {
    "shortsighted": _long,
    "memoriser": _unseen,
    "swapper": _swapped,
}
