"""The figures of the program released with Fu, Liu and Neubig (2020), with its departures from the paper.

The program computes some attributes and buckets otherwise than the paper defines them. `evaluate` follows
the program; every departure is a switch of `Departures`, and with all of them off the figures
are those of `spanwise.evaluate`. Never the default: it exists to check published figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from spanwise.buckets import FOUR
from spanwise.columns import plain, ratio
from spanwise.diagnosis import comparative_diagnosis, or_nan, self_diagnosis
from spanwise.document.scores import AttributeScores, BucketLead, BucketLeads, BucketScores
from spanwise.interpreteval._attributes import Attributes
from spanwise.interpreteval._buckets import M, cut, members
from spanwise.interpreteval._reading import WHAT, Departures, Mention, Tagged, Training, Unit

__all__ = ["SHORT", "WHAT", "Departures", "Figures", "Tagged", "Training", "compare", "evaluate"]

SHORT = {
    "entity_label_consistency": "eCon",
    "token_label_consistency": "tCon",
    "entity_frequency": "eFre",
    "token_frequency": "tFre",
    "entity_length": "eLen",
    "sentence_length": "sLen",
    "entity_density": "eDen",
    "oov_density": "oDen",
    "label": "tag",
}


class Figures(Struct, frozen=True):
    """The buckets of every attribute, in the form that attributes have in a result document."""

    attributes: Mapping[str, AttributeScores]
    departures: Departures

    def scores(self, name: str) -> list[float]:
        """The F1 of each bucket of an attribute, NaN where it is undefined."""
        return [or_nan(bucket.f1) for bucket in self.attributes[name].buckets]


def evaluate(
    gold: Tagged,
    predicted: Tagged,
    train: Tagged | Training,
    *,
    vocabulary: Iterable[str] | None = None,
    departures: Departures = Departures(),
) -> Figures:
    """The F1 of every bucket of the eight attributes and of the labels, as the released program has it.

    A bucket holds gold and predicted units (mentions, or positions with a label); correct are those of both
    sides that are equal and in that bucket, and F1 is 2·correct / (gold + predicted).
    `vocabulary` is the list of known words behind the density of unknown ones.

    Examples:
        >>> tokens = [["Ann", "left", "Rome"]]
        >>> gold, predicted = Tagged(tokens, [["B-PER", "O", "B-LOC"]]), Tagged(tokens, [["B-PER", "O", "O"]])
        >>> figures = evaluate(gold, predicted, Tagged([["Rome"]], [["B-LOC"]]), vocabulary=["left"])
        >>> [(bucket.gold, bucket.f1) for bucket in figures.attributes["entity_length"].buckets]
        [(2, 0.6666666666666666)]
    """
    training = train if isinstance(train, Training) else Training(train, departures)
    departures = training.departures
    attributes = Attributes(gold, training, vocabulary)
    found = predicted.mentions(departures)
    result = {}
    for name in SHORT:
        if name == "label":
            rows = _label_rows(attributes.mentions, found, departures)
        else:
            rows = _rows(
                name, attributes.of(name, attributes.mentions), attributes.of(name, found), departures
            )
        result[name] = AttributeScores(
            unit="token" if name.startswith("token_") else "mention",
            buckets=rows,
            **asdict(self_diagnosis(rows)),
        )
    return Figures(result, departures)


def _rows(
    name: str, gold: Mapping[Unit, float], predicted: Mapping[Unit, float], departures: Departures
) -> tuple[BucketScores, ...]:
    buckets = cut(name, gold.values(), departures)
    ours = members(gold, buckets, departures, predicted=False)
    theirs = members(predicted, buckets, departures, predicted=True)
    names = FOUR if len(buckets) == M else [f"B{n + 1}" for n in range(len(buckets))]
    return tuple(
        BucketScores(name=name, low=bucket.low, high=bucket.high, special=bucket.special, **_score(a, b))
        for name, bucket, a, b in zip(names, buckets, ours, theirs, strict=True)
    )


def _label_rows(
    gold: Sequence[Mention], predicted: Sequence[Mention], departures: Departures
) -> tuple[BucketScores, ...]:
    counts = Counter(label for *_, label in gold)
    chosen = counts.most_common(6 if departures.six_labels else None)
    sides = {label: [{m for m in side if m[2] == label} for side in (gold, predicted)] for label, _ in chosen}
    return tuple(BucketScores(name=label, value=label, **_score(*sides[label])) for label in sorted(sides))


def _score(gold: set[Any], predicted: set[Any]) -> dict[str, Any]:
    correct = len(gold & predicted)
    return {
        "gold": len(gold),
        "predicted": len(predicted),
        "correct": correct,
        "precision": plain(ratio(correct, len(predicted))),
        "recall": plain(ratio(correct, len(gold))),
        "f1": plain(ratio(2 * correct, len(gold) + len(predicted))),
    }


def compare(first: Figures, second: Figures) -> dict[str, BucketLeads]:
    """Comparative diagnosis of two systems on one file: best and worst lead, and relative differences.

    The program starts its search for the largest lead and the largest lag at 0 and the first bucket, so a
    lead or a lag that is none is given as 0 there.
    """
    result = {}
    for name, attribute in first.attributes.items():
        names = [bucket.name for bucket in attribute.buckets]
        leads = comparative_diagnosis(first.scores(name), second.scores(name), names)
        if first.departures.clamped:
            none = BucketLead(bucket=names[0], difference=0.0)
            if leads.best is not None and (leads.best.difference or 0.0) < 0:
                leads = replace(leads, best=none)
            if leads.worst is not None and (leads.worst.difference or 0.0) > 0:
                leads = replace(leads, worst=none)
        result[name] = leads
    return result
