"""Whether an evaluation of the demo corpus finds what was planted in its systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from spanwise.demo._systems import SYSTEMS
from spanwise.document.head import Document, plain_of


class Verdict(Struct, frozen=True):
    """What was planted in a system, what the result document ranks first, and whether that is it.

    `slice` is the costliest slice, `gain` the kind of error whose fixing would gain most F1 and how much,
    `confused` the pairs of labels that are confused most, with their counts.
    """

    system: str
    weakness: str
    found: bool
    slice: Mapping[str, Any] | None
    gain: tuple[str, float]
    confused: tuple[tuple[str, str, int], ...]


def verdicts(document: Mapping[str, Any] | Document) -> list[Verdict]:
    """One verdict a system, from a result document over the demo corpus alone."""
    document = plain_of(document)
    return [
        _verdict(system.name, system.weakness, document["systems"][system.name])
        for system in SYSTEMS
        if system.name in document["systems"]
    ]


def _verdict(name: str, weakness: str, scores: Mapping[str, Any]) -> Verdict:
    costliest = next(iter(scores["slices"]), None)
    gains = {kind: row["gain"] or 0.0 for kind, row in scores["gains"].items()}
    kind = max(gains, key=lambda key: gains[key])
    confused = _confused(scores["confusion"])
    draft = Verdict(name, weakness, False, costliest, (kind, gains[kind]), confused)
    return Verdict(name, weakness, _SIGNS[name](draft), costliest, draft.gain, confused)


def _confused(confusion: Mapping[str, Any]) -> tuple[tuple[str, str, int], ...]:
    labels = confusion["labels"]
    pairs = [
        (gold, predicted, int(count))
        for gold, row in zip(labels, confusion["counts"], strict=True)
        for predicted, count in zip(labels, row, strict=True)
        if gold != predicted and count
    ]
    return tuple(sorted(pairs, key=lambda pair: -pair[2])[:2])


def _long(found: Verdict) -> bool:
    row = found.slice
    longest = row is not None and row["attribute"] == "entity_length" and row["name"] == "XL"
    return longest and found.gain[0] == "BE"


def _unseen(found: Verdict) -> bool:
    row = found.slice
    return row is not None and row["kind"] == "tough" and "UNSEEN" in row["name"] and found.gain[0] == "FN"


def _swapped(found: Verdict) -> bool:
    pairs = {(gold, predicted) for gold, predicted, _ in found.confused}
    return found.gain[0] == "LE" and pairs == {("LOC", "ORG"), ("ORG", "LOC")}


_SIGNS: dict[str, Callable[[Verdict], bool]] = {
    "shortsighted": _long,
    "memoriser": _unseen,
    "swapper": _swapped,
}
