"""The buckets as the program cuts them, and which units it puts into each."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from spanwise.buckets import BUCKETINGS
from spanwise.columns import ratio
from spanwise.interpreteval._reading import Departures, Unit

M = 4  # buckets of an attribute
_SPECIAL = {
    "entity_label_consistency": (0.0, 1.0),
    "token_label_consistency": (0.0, 1.0),
    "entity_frequency": (0.0,),
    "token_frequency": (0.0,),
    "oov_density": (0.0,),
    "entity_length": (1.0, 2.0, 3.0),
}


class Bucket(NamedTuple):
    """A bucket: the point `high`, or the values above `low` up to `high`."""

    low: float
    high: float
    point: bool
    special: bool = False


def cut(name: str, values: Iterable[float], departures: Departures) -> list[Bucket]:
    """The buckets of an attribute in ascending order, from the values of the gold units."""
    if departures.fixed_edges and name.endswith("_consistency"):
        inner = Bucket(0.0, 0.5, False), Bucket(0.5, 0.999, False)
        return [Bucket(0.0, 0.0, True, True), *inner, Bucket(1.0, 1.0, True, True)]
    counts = Counter(values)
    special = [v for v in _SPECIAL.get(name, ()) if v in counts or not departures.greedy]
    rest = sorted((value, count) for value, count in counts.items() if value not in special)
    grouped = _greedy if departures.greedy else _balanced
    groups = grouped(rest, max(M - len(special), 1))
    buckets = [Bucket(value, value, True, True) for value in special]
    below = max((value for value in special if not rest or value < rest[0][0]), default=None)
    for group in groups:
        point = departures.dropped and len(group) == 1
        low = group[0] if point or (below is None and departures.dropped) else below
        below = group[-1]
        buckets.append(Bucket(-inf if low is None else low, below, point))
    if not rest and not departures.greedy:
        buckets.append(Bucket(-inf if below is None else below, inf, False))
    return sorted(buckets, key=lambda bucket: bucket.high)


def _greedy(values: Sequence[tuple[float, int]], most: int) -> list[list[float]]:
    """Groups of distinct values, each filled until it holds more than its share; the last takes the rest."""
    share = ratio(sum(count for _, count in values), most)
    groups: list[list[float]] = [[]]
    held = 0
    for value, count in values:
        if held > share and len(groups) < most:
            groups.append([])
            held = 0
        groups[-1].append(value)
        held += count
    return [group for group in groups if group]


def _balanced(values: Sequence[tuple[float, int]], most: int) -> list[list[float]]:
    """Distinct values in groups, as the definition of balanced buckets cuts them."""
    units = np.repeat([value for value, _ in values], [count for _, count in values])
    edges = BUCKETINGS.find("balanced").function(units, (most,)) if values else ()
    groups: dict[int, list[float]] = defaultdict(list)
    for value, _ in values:
        groups[bisect_left(edges, value)].append(value)
    return list(groups.values())


def members(
    units: Mapping[Unit, float], buckets: Sequence[Bucket], departures: Departures, *, predicted: bool
) -> list[set[Unit]]:
    """The units in each bucket; a gold unit may stand on the lower end of the first one."""
    ranged = [number for number, bucket in enumerate(buckets) if not bucket.special]

    def place(value: float) -> int | None:
        for number, (low, high, point, _) in enumerate(buckets):
            on_edge = number == 0 and not predicted and value == low
            if value == high if point else (low < value <= high or on_edge):
                return number
        if departures.dropped or not ranged:
            return None
        return next((number for number in ranged if value <= buckets[number].high), ranged[-1])

    places = {value: place(value) for value in set(units.values())}
    groups: list[set[Unit]] = [set() for _ in buckets]
    for unit, value in units.items():
        number = places[value]
        if number is not None:
            groups[number].add(unit)
    return groups
