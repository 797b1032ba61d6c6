"""What each departure of the preset `interpreteval` does to the figures of a dataset."""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan, nan

from msgspec import Struct
from msgspec.structs import fields, replace

from spanwise.interpreteval import SHORT, WHAT, Departures, Figures, Tagged, Training, evaluate


class Effect(Struct, frozen=True):
    """One departure switched off alone: how many bucket scores change, the largest change, and where.

    `largest` is over buckets that have a score both times; a bucket that is new or gone counts as changed.
    """

    departure: str
    what: str
    changed: int
    cells: int
    largest: float
    attributes: tuple[str, ...]


def effects(
    gold: Tagged, predicted: Tagged, training: Tagged, vocabulary: Iterable[str] | None = None
) -> list[Effect]:
    """A row for every departure of the preset, in the order of `Departures`."""
    words = None if vocabulary is None else list(vocabulary)
    found: dict[tuple[bool, bool, str], list[int]] = {}  # a search is the same under most switches
    whole = evaluate(gold, predicted, Training(training, Departures(), found), vocabulary=words)
    cells = sum(len(attribute.buckets) for attribute in whole.attributes.values())
    rows = []
    for switch in fields(Departures):
        without = replace(Departures(), **{switch.name: False})
        trained = Training(training, without, found)
        changes = _changes(whole, evaluate(gold, predicted, trained, vocabulary=words))
        defined = [abs(change) for _, change in changes if not isnan(change)]
        names = tuple(dict.fromkeys(name for name, _ in changes))
        what = WHAT[switch.name]
        rows.append(Effect(switch.name, what, len(changes), cells, max(defined, default=0.0), names))
    return rows


def _changes(first: Figures, second: Figures) -> list[tuple[str, float]]:
    """The attribute and the change of every bucket score that differs, NaN where it is new or gone."""
    changes = []
    for name in SHORT:
        a, b = _keyed(first, name), _keyed(second, name)
        pairs = [(a.get(key, nan), b.get(key, nan)) for key in sorted({*a, *b})]
        changes += [(name, y - x) for x, y in pairs if x != y and not (isnan(x) and isnan(y))]
    return changes


def _keyed(figures: Figures, name: str) -> dict[str, float]:
    """The scores of an attribute by the place of the bucket, those of labels by the label."""
    rows = figures.attributes[name].buckets
    keys = [row.name if name == "label" else str(place) for place, row in enumerate(rows)]
    return dict(zip(keys, figures.scores(name), strict=True))
