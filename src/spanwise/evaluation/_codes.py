"""Mentions as columns of integer codes: made in blocks, packed into documents, joined over documents."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Literal, TypeAlias, cast

import numpy as np
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from spanwise.columns import Column, offsets
from spanwise.corpus import Mentions
from spanwise.document.evaluation import Later, MentionCodes, PackedColumn
from spanwise.document.scores import Subset
from spanwise.errors import InputError
from spanwise.evaluation._measures import BucketedSide
from spanwise.evaluation._system import Evaluated
from spanwise.evaluation.dataset import DatasetBlock, Facts

MOST_MENTIONS = 1_000_000  # of gold and all systems together; a document grows by up to two bytes for each
NOT_FOUND, SAME, OTHER = range(3)  # whether a gold mention was found, and by a prediction with the same codes

Coded: TypeAlias = Mapping[str, Column]  # columns of equal length by name


class CodedSystem(Struct, frozen=True, eq=False):
    """Which gold mentions a system found, and those of its predictions whose codes are not those of gold."""

    found: Column  # NOT_FOUND, SAME or OTHER for each gold mention
    paired: Coded  # predictions that found a gold mention, in the order of gold
    alone: Coded  # predictions that found none


class CodedMentions(Struct, frozen=True, eq=False):
    """The mentions of consecutive sentences as codes: their units, labels, buckets and tough subsets."""

    units: int
    labels: tuple[str, ...]
    subsets: tuple[Subset, ...]
    buckets: Mapping[str, tuple[str, ...]]
    gold: Coded
    systems: Mapping[str, CodedSystem]

    @classmethod
    def of(cls, data: DatasetBlock, systems: Mapping[str, Evaluated]) -> CodedMentions:
        """Code the mentions of one block."""
        labels = used_labels(data, systems)
        names = buckets_of(data.facts)

        def coded(mentions: Mentions, sides: Mapping[str, BucketedSide]) -> dict[str, Column]:
            code_of = {label: code for code, label in enumerate(labels)}
            table = np.array([code_of.get(label, 0) for label in mentions.labels] or [0])
            return {
                "unit": data.units.of_sentence[mentions.sentence].astype(np.uint32),
                "label": _narrow(table[mentions.label]),
                **{f"bucket {name}": _narrow(sides[name].bucket) for name in names},
            }

        gold = coded(data.gold, data.gold_sides)
        if data.toughness is not None:
            gold["tough"] = np.packbits(data.toughness.member, axis=1, bitorder="little")[:, 0]
        return cls(
            units=data.units.number,
            labels=labels,
            subsets=subsets_of(data),
            buckets=names,
            gold=gold,
            systems={
                name: _coded_system(gold, coded(system.case.predicted, system.predicted_sides), system)
                for name, system in systems.items()
            },
        )

    @classmethod
    def joined(cls, parts: Sequence[CodedMentions]) -> CodedMentions:
        """Join the mentions of consecutive parts of a corpus."""
        if len(parts) == 1:
            return parts[0]
        labels = tuple(sorted({label for part in parts for label in part.labels}))
        begins = offsets([part.units for part in parts])
        recoded = [part.recoded(labels, int(begin)) for part, begin in zip(parts, begins[:-1], strict=True)]
        systems = {
            name: CodedSystem(
                np.concatenate([part.systems[name].found for part in recoded]),
                _concatenated(part.systems[name].paired for part in recoded),
                _concatenated(part.systems[name].alone for part in recoded),
            )
            for name in parts[0].systems
        }
        gold = _concatenated(part.gold for part in recoded)
        return replace(recoded[0], units=int(begins[-1]), gold=gold, systems=systems)

    @classmethod
    def beside(cls, parts: Sequence[CodedMentions]) -> CodedMentions | None:
        """Combine the systems of several results over the same gold mentions; None if these differ.

        Attributes that were bucketed differently, and tough subsets that differ, are left out.
        """
        labels = tuple(sorted({label for part in parts for label in part.labels}))
        first, *others = recoded = [part.recoded(labels) for part in parts]
        if any(not _equal(first.gold[key], other.gold[key]) for other in others for key in ("unit", "label")):
            return None
        buckets = {
            name: cut
            for name, cut in first.buckets.items()
            if all(
                other.buckets.get(name) == cut
                and _equal(other.gold[f"bucket {name}"], first.gold[f"bucket {name}"])
                for other in others
            )
        }
        tough = bool(first.subsets) and all(
            other.subsets == first.subsets and _equal(other.gold["tough"], first.gold["tough"])
            for other in others
        )
        columns = ["unit", "label", *(f"bucket {name}" for name in buckets), *(["tough"] if tough else [])]
        return replace(
            first,
            subsets=first.subsets if tough else (),
            buckets=buckets,
            gold=_only(first.gold, columns),
            systems={
                name: replace(
                    system, paired=_only(system.paired, columns), alone=_only(system.alone, columns)
                )
                for part in recoded
                for name, system in part.systems.items()
            },
        )

    def recoded(self, labels: Sequence[str], begin: int = 0) -> CodedMentions:
        """The same mentions with other codes for labels, and with units numbered from `begin` on."""
        code_of = {label: code for code, label in enumerate(labels)}
        table = np.array([code_of[label] for label in self.labels] or [0])

        def moved(coded: Coded) -> Coded:
            return {
                **coded,
                "label": _narrow(table[coded["label"]]),
                "unit": coded["unit"] + np.uint32(begin),
            }

        return replace(
            self,
            labels=tuple(labels),
            gold=moved(self.gold),
            systems={
                name: replace(system, paired=moved(system.paired), alone=moved(system.alone))
                for name, system in self.systems.items()
            },
        )

    def named(self, names: Mapping[str, str]) -> CodedMentions:
        """The same mentions with other names for the systems."""
        return replace(self, systems={names[name]: system for name, system in self.systems.items()})

    @property
    def number(self) -> int:
        """The number of mentions of gold and of all systems."""
        return len(self.gold["unit"]) + sum(
            int((system.found == SAME).sum()) + len(system.paired["unit"]) + len(system.alone["unit"])
            for system in self.systems.values()
        )


def used_labels(data: DatasetBlock, systems: Mapping[str, Evaluated]) -> tuple[str, ...]:
    """The labels that occur among the mentions, sorted."""
    sides = [data.gold, *(system.case.predicted for system in systems.values())]
    return tuple(
        sorted(
            {side.labels[code] for side in sides for code in np.flatnonzero(np.bincount(side.label)).tolist()}
        )
    )


def subsets_of(data: DatasetBlock) -> tuple[Subset, ...]:
    """The tough subsets that mentions can be in."""
    return () if data.toughness is None else cast("tuple[Subset, ...]", data.toughness.subsets)


def buckets_of(facts: Facts) -> dict[str, tuple[str, ...]]:
    """The names of the buckets of each attribute of mentions."""
    return {
        name: tuple(bucket.name for bucket in facts.bucketings[name].buckets)
        for name, attribute in facts.attributes.items()
        if attribute.unit == "mention"
    }


def _coded_system(gold: Coded, predicted: Coded, system: Evaluated) -> CodedSystem:
    rows, partner = system.case.found_pairs
    same = np.ones(len(rows), dtype=bool)
    for name in predicted:
        if name.startswith("bucket "):
            same &= gold[name][rows] == predicted[name][partner]
    codes = np.zeros(len(system.case.gold), dtype=np.uint8)
    codes[rows] = np.where(same, SAME, OTHER)
    alone = np.ones(len(system.case.predicted), dtype=bool)
    alone[partner] = False
    return CodedSystem(
        codes,
        {name: column[partner[~same]] for name, column in predicted.items()},
        {name: column[alone] for name, column in predicted.items()},
    )


def _narrow(column: Column) -> Column:
    """The same integers in the narrowest type that holds the largest of them."""
    return column.astype(np.min_scalar_type(int(column.max(initial=0))))


def _equal(first: Column, second: Column) -> bool:
    return len(first) == len(second) and bool((first == second).all())


def _only(coded: Coded, names: Sequence[str]) -> Coded:
    return {name: coded[name] for name in names if name in coded}


def _concatenated(parts: Iterable[Coded]) -> Coded:
    listed = list(parts)
    return {name: np.concatenate([part[name] for part in listed]) for name in listed[0]}


# ---- packed into documents ------------------------------------------------------------------------


def pack_codes(
    make: Callable[[], CodedMentions],
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
        number: the number of mentions of gold and all systems; above a million, there are no columns.
        block: how many consecutive units are joined into one.
    """
    if number > MOST_MENTIONS:
        return MentionCodes(number=number, cap=MOST_MENTIONS)
    coded = cache(make)

    def of_system(name: str) -> Later[PackedColumn]:
        return Later(lambda: _packed_system(coded().systems[name], block))

    return MentionCodes(
        number=number,
        cap=MOST_MENTIONS,
        labels=labels,
        subsets=subsets,
        buckets=buckets,
        gold=Later(lambda: _packed_side(coded().gold, block)),
        systems={name: of_system(name) for name in systems},
    )


def _packed_system(system: CodedSystem, block: int) -> list[PackedColumn]:
    others = _concatenated([system.paired, system.alone])
    return [_packed("found", system.found), *_packed_side(others, block)]


def _packed_side(coded: Coded, block: int) -> list[PackedColumn]:
    """Pack the columns; each unit is stored as its difference from the one before (modulo 2³²)."""
    unit = coded["unit"] // np.uint32(block)
    return [
        _packed(name, np.diff(unit, prepend=np.uint32(0)) if name == "unit" else column)
        for name, column in coded.items()
    ]


def _packed(name: str, column: Column) -> PackedColumn:
    narrow = _narrow(column)
    width = cast("Literal[1, 2, 4]", narrow.dtype.itemsize)
    data = zlib.compress(narrow.astype(f"<u{width}").tobytes(), 6)
    return PackedColumn(name=name, width=width, codes=base64.b64encode(data).decode("ascii"))


def unpack_codes(codes: MentionCodes, *, location: str) -> CodedMentions | None:
    """Unpack the mentions of a document; None if there were too many to store.

    Raises:
        InputError: the columns cannot be read, or do not fit together.
    """
    if not codes.gold:
        return None
    try:
        gold = _unpacked_side(codes, codes.gold)
        systems = {
            name: _unpacked_system(codes, columns, len(gold["unit"]))
            for name, columns in codes.systems.items()
        }
        return CodedMentions(0, codes.labels, codes.subsets, codes.buckets, gold, systems)
    except (ValueError, KeyError, IndexError, zlib.error) as error:
        raise InputError(
            f"{location}: its mentions cannot be read ({error}).\n"
            "Make the result document again with spanwise evaluate --json."
        ) from error


def combine_codes(
    codes: Sequence[MentionCodes | UnsetType], names: Sequence[Mapping[str, str]], *, location: str
) -> MentionCodes | UnsetType:
    """Combine the mentions of several documents over the same gold file, and rename their systems.

    The result is UNSET if a document has no mentions, or mentions of systems without a new name.
    """
    present = [code for code in codes if code is not UNSET]
    if not present or len(present) < len(codes):
        return UNSET
    if any(set(entry.systems) - set(renamed) for entry, renamed in zip(present, names, strict=True)):
        return UNSET
    coded = [unpack_codes(entry, location=location) for entry in present]
    parts = [part.named(renamed) for part, renamed in zip(coded, names, strict=True) if part is not None]
    if len(parts) < len(present):
        return MentionCodes(number=max(entry.number for entry in present), cap=MOST_MENTIONS)
    joined = CodedMentions.beside(parts)
    return UNSET if joined is None else pack_codes(
        lambda: joined, joined.systems, number=joined.number, labels=joined.labels, subsets=joined.subsets,
        buckets=joined.buckets,
    )  # fmt: skip


def _unpacked_system(codes: MentionCodes, columns: Sequence[PackedColumn], number: int) -> CodedSystem:
    found_codes = _unpacked(columns[0])  # the column `found` comes first
    others = _unpacked_side(codes, columns[1:])
    pairs = int((found_codes == OTHER).sum())
    if len(found_codes) != number or len(others["unit"]) < pairs or int(found_codes.max(initial=0)) > OTHER:
        raise ValueError("a system does not fit the gold mentions")
    return CodedSystem(
        found_codes,
        {name: column[:pairs] for name, column in others.items()},
        {name: column[pairs:] for name, column in others.items()},
    )


def _unpacked_side(codes: MentionCodes, columns: Sequence[PackedColumn]) -> Coded:
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
    return unpacked


def _unpacked(column: PackedColumn) -> Column:
    # Unpack no more than a document may hold, however much the text would expand to.
    opened = zlib.decompressobj()
    data = opened.decompress(base64.b64decode(column.codes), column.width * MOST_MENTIONS + 1)
    return np.frombuffer(data, dtype=f"<u{column.width}")
