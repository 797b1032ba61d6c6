"""Weak slices of an index of mention columns: what `find_slices` finds, without reading the files again."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from spanwise.columns import Floats, floats, ints, plain, ratio
from spanwise.conditions import TOUGHNESS, Condition
from spanwise.slices._search import Facet, Items, search
from spanwise.slices.index import SliceIndex, unpacked_bits


class FoundSlice(Struct, frozen=True, kw_only=True):
    """A slice on which a system misses more, or on which two systems differ."""

    where: str
    mentions: int
    loss: float | None  # the share that is missed; of two systems the difference of both shares
    p: float | None  # holds for all slices that were tested


class FoundSlices(Struct, frozen=True, kw_only=True):
    """What a search over all conjunctions found."""

    system: str
    other: str | None
    depth: int
    least: int
    tested: int
    flips: int
    loss: float | None  # of all mentions
    slices: tuple[FoundSlice, ...]


def weak_slices(
    index: SliceIndex,
    system: str,
    other: str | None = None,
    *,
    depth: int = 2,
    least: int = 50,
    level: float = 0.05,
    flips: int = 2000,
    seed: int = 0,
) -> FoundSlices:
    """Conjunctions on which a system misses more mentions than elsewhere, or on which two systems differ."""
    gold = index.gold

    def missed(name: str) -> Floats:
        return floats(~unpacked_bits(index.systems[name].right, gold.number))

    weight = missed(system) if other is None else floats(missed(system) - missed(other))
    facets = [
        Facet.of_codes(name, [bucket.name for bucket in gold.buckets[name]], ints(code))
        for name, code in gold.codes.items()
    ]
    if gold.tough is not None:
        member = (gold.tough[:, None] >> np.arange(len(gold.subsets)) & 1).astype(bool)
        facets.append(Facet.of_members(TOUGHNESS, gold.subsets, member))
    items = Items(index.unit, index.columns.head.units, weight, tuple(facets), other is not None)
    found = search(items, depth=depth, least=least, level=level, flips=flips, seed=seed)
    rows = []
    for one in found.listed:
        values = {
            items.facets[facet].attribute: items.facets[facet].values[value] for facet, value in one.key
        }
        rows.append(
            FoundSlice(where=str(Condition.equal(values)), mentions=one.units, loss=plain(one.mean), p=one.p)
        )
    return FoundSlices(
        system=system,
        other=other,
        depth=depth,
        least=least,
        tested=found.tested,
        flips=flips,
        loss=plain(ratio(weight.sum(), len(weight))),
        slices=tuple(rows),
    )
