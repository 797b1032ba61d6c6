"""Tables of mentions packed into documents, so that every filter can be scored from a document alone."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Literal, cast

import numpy as np
from msgspec import UNSET, UnsetType

from spanwise.columns import Column
from spanwise.document.evaluation import Later, MentionCodes, PackedColumn
from spanwise.document.scores import Subset
from spanwise.errors import InputError
from spanwise.mentions import MentionTable, MentionTables

MOST_MENTIONS = 1_000_000  # of gold and all systems together; a document grows by up to two bytes for each
NOT_FOUND, SAME, OTHER = range(3)  # whether a gold mention was found, and by a prediction with the same codes


def without_copies(tables: MentionTables, partners: Mapping[str, Column]) -> MentionTables:
    """The tables without the predictions that found a gold mention in the same buckets.

    The column `found.SYSTEM` of gold is SAME where such a prediction is left out, and OTHER or NOT_FOUND
    elsewhere; `right` marks the remaining predictions that found a gold mention.

    Args:
        partners: for each system, the prediction that found each gold mention, or -1.
    """
    gold = tables.gold
    found, others = {}, {}
    for system, predicted in tables.systems.items():
        rows = np.flatnonzero(partners[system] >= 0)
        partner = partners[system][rows]
        same = np.ones(len(rows), dtype=bool)
        for name, bucket in predicted.named("bucket").items():
            same &= gold[f"bucket.{name}"][rows] == bucket[partner]
        codes = np.zeros(len(gold), dtype=np.uint8)
        codes[rows] = np.where(same, SAME, OTHER)
        right = np.zeros(len(predicted), dtype=bool)
        right[partner] = True
        kept = np.concatenate([partner[~same], np.flatnonzero(~right)])
        found[f"found.{system}"] = codes
        others[system] = predicted.with_columns({"right": right}).take(kept)
    return MentionTables(gold.with_columns(found), others)


def number_of(tables: MentionTables) -> int:
    """The number of mentions of gold and of all systems, of tables without copies."""
    copies = sum(int((found == SAME).sum()) for found in tables.gold.named("found").values())
    return len(tables.gold) + copies + sum(map(len, tables.systems.values()))


def coded(table: MentionTable) -> dict[str, Column]:
    """The columns of a table as documents have them: tough subsets are the bits of one number."""
    columns = {"unit": table["unit"].astype(np.uint32), "label": table["label"]}
    columns |= {f"bucket {name}": bucket for name, bucket in table.named("bucket").items()}
    tough = [*table.named("tough").values()]
    if tough:
        columns["tough"] = np.packbits(np.stack(tough, axis=1), axis=1, bitorder="little")[:, 0]
    return columns


def tough_columns(bits: Column, subsets: Sequence[str]) -> dict[str, Column]:
    """The columns of tough subsets that are the bits of numbers."""
    return {f"tough.{name}": (bits >> bit & 1).astype(bool) for bit, name in enumerate(subsets)}


def in_order_of_gold(predicted: MentionTable) -> MentionTable:
    """The predictions that found a gold mention, which are in the order of gold, before all others."""
    return predicted.take(np.argsort(~predicted["right"], kind="stable"))


def pack_codes(
    make: Callable[[], MentionTables],
    systems: Iterable[str],
    *,
    number: int,
    labels: tuple[str, ...],
    subsets: tuple[Subset, ...],
    buckets: Mapping[str, tuple[str, ...]],
    block: int = 1,
) -> MentionCodes:
    """The mention codes of a document, whose columns are computed on first use.

    Args:
        make: makes the tables without copies.
        number: the number of mentions of gold and all systems; above a million, there are no columns.
        block: how many consecutive units are joined into one.
    """
    if number > MOST_MENTIONS:
        return MentionCodes(number=number, cap=MOST_MENTIONS)
    made = cache(make)

    def of_system(name: str) -> list[PackedColumn]:
        tables = made()
        others = _packed_side(in_order_of_gold(tables.systems[name]), block)
        return [_packed("found", tables.gold[f"found.{name}"]), *others]

    return MentionCodes(
        number=number,
        cap=MOST_MENTIONS,
        labels=labels,
        subsets=subsets,
        buckets=buckets,
        gold=Later(lambda: _packed_side(made().gold, block)),
        systems={name: Later(partial(of_system, name)) for name in systems},
    )


def _packed_side(table: MentionTable, block: int) -> list[PackedColumn]:
    """Pack the columns; each unit is stored as its difference from the one before (modulo 2³²)."""
    columns = coded(table)
    columns["unit"] = np.diff(columns["unit"] // np.uint32(block), prepend=np.uint32(0))
    return [_packed(name, column) for name, column in columns.items()]


def _packed(name: str, column: Column) -> PackedColumn:
    """Pack a column in the narrowest type that holds the largest of its numbers."""
    narrow = column.astype(np.min_scalar_type(int(column.max(initial=0))))
    width = cast("Literal[1, 2, 4]", narrow.dtype.itemsize)
    data = zlib.compress(narrow.astype(f"<u{width}").tobytes(), 6)
    return PackedColumn(name=name, width=width, codes=base64.b64encode(data).decode("ascii"))


def unpack_codes(codes: MentionCodes, *, location: str) -> MentionTables | None:
    """Unpack the mentions of a document, without copies; None if there were too many to store.

    Raises:
        InputError: the columns cannot be read, or do not fit together.
    """
    if not codes.gold:
        return None
    try:
        gold = _unpacked_side(codes, codes.gold)
        found, systems = {}, {}
        for name, columns in codes.systems.items():
            found[f"found.{name}"], systems[name] = _unpacked_system(codes, columns, len(gold))
        return MentionTables(gold.with_columns(found), systems)
    except (ValueError, KeyError, IndexError, zlib.error) as error:
        raise InputError(
            f"{location}: its mentions cannot be read ({error}).\n"
            "Make the result document again with spanwise evaluate --json."
        ) from error


def _unpacked_system(
    codes: MentionCodes, columns: Sequence[PackedColumn], number: int
) -> tuple[Column, MentionTable]:
    found = _unpacked(columns[0])  # the column `found` comes first
    others = _unpacked_side(codes, columns[1:])
    pairs = int((found == OTHER).sum())
    if len(found) != number or len(others) < pairs or int(found.max(initial=0)) > OTHER:
        raise ValueError("a system does not fit the gold mentions")
    return found, others.with_columns({"right": np.arange(len(others)) < pairs})


def _unpacked_side(codes: MentionCodes, columns: Sequence[PackedColumn]) -> MentionTable:
    unpacked = {column.name: _unpacked(column) for column in columns}
    unpacked["unit"] = np.cumsum(unpacked["unit"], dtype=np.uint32)
    limits = {
        "label": len(codes.labels),
        **{f"bucket {name}": len(cut) for name, cut in codes.buckets.items()},
    }
    if "tough" in unpacked:
        limits["tough"] = 1 << len(codes.subsets)
    for name, limit in limits.items():
        if len(unpacked[name]) != len(unpacked["unit"]) or int(unpacked[name].max(initial=0)) >= max(
            limit, 1
        ):
            raise ValueError(f"the column {name!r} does not fit the others")
    table = {"unit": unpacked["unit"], "label": unpacked["label"]}
    table |= {f"bucket.{name}": unpacked[f"bucket {name}"] for name in codes.buckets}
    if "tough" in unpacked:
        table |= tough_columns(unpacked["tough"], codes.subsets)
    return MentionTable(table, codes.labels, 0)


def _unpacked(column: PackedColumn) -> Column:
    # Unpack no more than a document may hold, however much the text would expand to.
    opened = zlib.decompressobj()
    data = opened.decompress(base64.b64decode(column.codes), column.width * MOST_MENTIONS + 1)
    return np.frombuffer(data, dtype=f"<u{column.width}")


def combine_codes(
    codes: Sequence[MentionCodes | UnsetType], names: Sequence[Mapping[str, str]], *, location: str
) -> MentionCodes | UnsetType:
    """Combine the mentions of several documents over the same gold file, and rename their systems.

    Attributes that were bucketed differently, and tough subsets that differ, are left out. The result is
    UNSET if gold mentions differ, if a document has no mentions, or if one of its systems has no new name.
    """
    present = [code for code in codes if code is not UNSET]
    if not present or len(present) < len(codes):
        return UNSET
    if any(set(entry.systems) - set(renamed) for entry, renamed in zip(present, names, strict=True)):
        return UNSET
    unpacked = [unpack_codes(entry, location=location) for entry in present]
    tables = [one for one in unpacked if one is not None]
    if len(tables) < len(present):
        return MentionCodes(number=max(entry.number for entry in present), cap=MOST_MENTIONS)
    labels = tuple(sorted({label for entry in present for label in entry.labels}))
    first, *others = golds = [one.gold.labelled(labels) for one in tables]

    def alike(column: str) -> bool:
        return all(
            column in other.columns and np.array_equal(other[column], first[column]) for other in others
        )

    if not (alike("unit") and alike("label")):
        return UNSET
    buckets = {
        name: cut
        for name, cut in present[0].buckets.items()
        if all(entry.buckets.get(name) == cut for entry in present) and alike(f"bucket.{name}")
    }
    subsets = present[0].subsets if first.named("tough") else ()
    if not all(entry.subsets == subsets and alike(f"tough.{name}") for entry in present for name in subsets):
        subsets = ()
    own = ["unit", "label", *(f"bucket.{name}" for name in buckets)]
    gold = first.only([*own, *(f"tough.{name}" for name in subsets)])
    systems: dict[str, MentionTable] = {}
    for table, one, renamed in zip(golds, tables, names, strict=True):
        gold = gold.with_columns({
            f"found.{renamed[name]}": found for name, found in table.named("found").items()
        })  # fmt: skip
        systems |= {
            renamed[name]: predicted.labelled(labels).only([*own, "right"])
            for name, predicted in one.systems.items()
        }
    joined = MentionTables(gold, systems)
    return pack_codes(
        lambda: joined, systems, number=number_of(joined), labels=labels, subsets=subsets, buckets=buckets
    )
