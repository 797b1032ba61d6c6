"""Bitmaps of mentions, one bit per mention and value: which mentions of a table meet a condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct, field

from spanwise.buckets import Bucket
from spanwise.columns import Bools, Column, Ints, Words, ints, offsets
from spanwise.conditions import (
    SEARCHABLE,
    TOUGHNESS,
    Condition,
    Criterion,
    Recent,
    Search,
    bucket_meets,
    prints,
    unsearchable_error,
)
from spanwise.errors import ChoiceError, unknown
from spanwise.mentions import MentionTable

LABEL = "label"
SEARCHED, DECIDED = 8, 4096  # cache sizes: text searches, and buckets that meet a comparison


def packed(mask: Bools) -> Words:
    """Pack a boolean column into 64-bit words."""
    words = np.zeros(-(-len(mask) // 64), dtype=np.uint64)
    bits = np.packbits(mask, bitorder="little")
    words.view(np.uint8)[: len(bits)] = bits
    return words


def unpacked_bits(words: Words, number: int) -> Bools:
    """Unpack the first `number` bits into a boolean column."""
    return np.unpackbits(words.view(np.uint8), count=number, bitorder="little").astype(bool)


def ones(words: Words) -> int:
    """The number of set bits."""
    if hasattr(np, "bitwise_count"):
        return int(np.bitwise_count(words).sum(dtype=np.uint32))  # four times as fast as with a 64-bit sum
    return int(np.unpackbits(words.view(np.uint8)).sum(dtype=np.int64))


def ones_of_each(rows: Words, inside: Words) -> list[int]:
    """For each row, the number of bits that are also set in `inside`."""
    if not hasattr(np, "bitwise_count"):
        return [ones(row & inside) for row in rows]
    numbers: list[int] = np.bitwise_count(rows & inside).sum(axis=1, dtype=np.uint32).tolist()
    return numbers


def column_of(attribute: str) -> str:
    """The column of a table of mentions that holds the bucket of an attribute."""
    return LABEL if attribute == LABEL else f"bucket.{attribute}"


def with_labels(
    labels: Sequence[str], buckets: Mapping[str, Sequence[Bucket]]
) -> dict[str, Sequence[Bucket]]:
    """The buckets of all attributes, of which labels are the first."""
    own = tuple(Bucket(label, value=label, label=label) for label in labels)
    return {LABEL: own, **{name: cut for name, cut in buckets.items() if name != LABEL}}


class MentionRuns(Struct, frozen=True, eq=False, dict=True):
    """Runs of consecutive mentions in the same sentence or unit."""

    at: Ints  # where each run begins, and where the last one ends
    of: Ints  # the sentence or unit of each run

    @classmethod
    def along(cls, column: Column) -> MentionRuns:
        """The runs of equal numbers in a column."""
        begins = np.flatnonzero(np.diff(column, prepend=-1))
        return cls(ints(np.append(begins, len(column))), ints(column[begins]))

    def counts(self, words: Words) -> Ints:
        """The number of set bits in each run."""
        number = int(self.at[-1])
        if 8 * len(self.at) < number and hasattr(np, "bitwise_count"):  # few long runs
            word, bit = self.at >> 6, (self.at & 63).astype(np.uint64)
            behind = np.append(words, np.uint64(0))[word] & ((np.uint64(1) << bit) - np.uint64(1))
            whole = offsets(np.bitwise_count(words))
            return ints(np.diff(whole[word] + np.bitwise_count(behind)))
        before = np.zeros(number + 1, dtype=np.int32)
        np.cumsum(np.unpackbits(words.view(np.uint8), count=number, bitorder="little"), out=before[1:])
        return ints(np.diff(before[self.at]))

    @cached_property
    def _last(self) -> Words:
        """A bitmap of the last mention of each run."""
        last = np.zeros(int(self.at[-1]), dtype=bool)
        last[self.at[1:] - 1] = True
        return packed(last)

    def reached(self, words: Words) -> int:
        """The number of runs with at least one set bit."""
        # Treat each run as a number whose highest bit is clear: adding ones to all lower bits carries into
        # the highest bit if any lower bit is set, and never beyond. Then propagate carries between words.
        below = ~self._last
        total = (words & below) + below
        carried = total < below
        while carried[:-1].any():
            total[1:] += carried[:-1]
            carried[1:] = carried[:-1] & (total[1:] == 0)
            carried[0] = False
        return ones((total | words) & self._last)

    def totals(self, words: Words, size: int) -> Ints:
        """The number of set bits for each of the `size` sentences or units."""
        return ints(np.bincount(self.of, weights=self.counts(words), minlength=size))


class Bitmaps(Struct, frozen=True, eq=False, dict=True):
    """An index of a table of mentions: for each value of each attribute, a bitmap of those that have it.

    Examples:
        >>> from spanwise.conditions import parse
        >>> table = MentionTable.of(unit=[0, 0, 1], label=[0, 1, 1], labels=("LOC", "PER"), units=2)
        >>> bitmaps = Bitmaps(table, with_labels(table.labels, {}))
        >>> unpacked_bits(bitmaps.mask(parse("label=PER")), len(table)).tolist()
        [False, True, True]
    """

    table: MentionTable
    buckets: Mapping[str, Sequence[Bucket]]  # of each attribute, to which its column refers
    decided: Recent[Criterion, tuple[int, ...]] = field(default_factory=lambda: Recent(DECIDED))
    words: Mapping[str, Search] = {}  # finds mentions by their words or by those of their sentence
    kept: dict[str, Words] = field(default_factory=dict)  # cached bitmaps of the values, by attribute
    cached: dict[str, MentionRuns] = field(default_factory=dict)  # by column
    searched: Recent[Criterion, Words] = field(default_factory=lambda: Recent(SEARCHED))

    def over(self, table: MentionTable, words: Mapping[str, Search]) -> Bitmaps:
        """An index of another table with the same buckets."""
        return Bitmaps(table, self.buckets, self.decided, words)

    def runs(self, column: str) -> MentionRuns:
        """The runs of mentions of one unit, or of one sentence."""
        if column not in self.cached:
            self.cached[column] = MentionRuns.along(self.table[column])
        return self.cached[column]

    def by_unit(self, words: Words) -> Ints:
        """The number of set bits in each unit."""
        return self.runs("unit").totals(words, self.table.units)

    @property
    def number(self) -> int:
        """The number of mentions."""
        return len(self.table)

    @cached_property
    def subsets(self) -> tuple[str, ...]:
        """The tough subsets that mentions may be in."""
        return tuple(self.table.named("tough"))

    @cached_property
    def all(self) -> Words:
        """A bitmap of all mentions."""
        return packed(np.ones(self.number, dtype=bool))

    def values(self, attribute: str) -> Words:
        """The bitmaps of the values of an attribute, one per row, built on first use."""
        if attribute not in self.kept:
            if attribute == TOUGHNESS:
                masks = [packed(mask) for mask in self.table.named("tough").values()]
            else:
                code = self.table[column_of(attribute)]
                masks = [packed(code == index) for index in range(len(self.buckets[attribute]))]
            empty = np.zeros((0, len(self.all)), dtype=np.uint64)
            self.kept[attribute] = np.stack(masks) if masks else empty
        return self.kept[attribute]

    def mask(self, condition: Condition | None) -> Words:
        """The mentions that meet a condition; all mentions if it is None."""
        result = self.all
        for clause in condition.clauses if condition is not None else ():
            result = result & self.meeting(clause)
        return result

    def meeting(self, clause: Sequence[Criterion]) -> Words:
        """The mentions that meet at least one of the comparisons."""
        result = self.compare(clause[0])
        for criterion in clause[1:]:
            result = result | self.compare(criterion)
        return result

    def compare(self, criterion: Criterion) -> Words:
        """The mentions that meet one comparison."""
        if criterion.operator == "!=":
            rows = self._classified if criterion.attribute == TOUGHNESS else self.all
            return rows & ~self.compare(criterion.opposite())
        if criterion.attribute in SEARCHABLE:
            return self.searched.get(criterion, lambda: self._with_text(criterion))
        if criterion.attribute == TOUGHNESS:
            return self._tough(criterion)
        return self._in_buckets(criterion)

    @cached_property
    def _classified(self) -> Words:
        """The mentions that are in tough subsets or in none: all, or, of a mixture, those of gold."""
        return packed(self.table["of_gold"]) if "of_gold" in self.table.columns else self.all

    def _in_buckets(self, criterion: Criterion) -> Words:
        if criterion.attribute not in self.buckets:
            raise unknown(
                "attribute of these mentions", criterion.attribute, [*self.buckets, TOUGHNESS, *SEARCHABLE]
            )
        indices = self.decided.get(criterion, lambda: self._buckets_of(criterion))
        return self._either([self.values(criterion.attribute)[number] for number in indices])

    def _either(self, several: Sequence[Words]) -> Words:
        """The union of several bitmaps."""
        if len(several) == 1:
            return several[0]
        if not several:
            return np.zeros_like(self.all)
        result = several[0] | several[1]
        for words in several[2:]:
            np.bitwise_or(result, words, out=result)
        return result

    def _buckets_of(self, criterion: Criterion) -> tuple[int, ...]:
        """The buckets that meet a comparison.

        Raises:
            ChoiceError: the comparison cuts through a bucket, or names an unknown value.
        """
        buckets = self.buckets[criterion.attribute]
        printed = [prints(bucket, criterion) for bucket in buckets]
        # An edge as printed is rounded, so it may lie beside the real one.
        answers = printed if any(printed) else [bucket_meets(bucket, criterion) for bucket in buckets]
        names = [bucket.name for bucket in self.buckets[criterion.attribute] if not bucket.rest]
        if None in answers:
            raise ChoiceError(
                f"{str(criterion)!r} cuts through a bucket of {criterion.attribute}, "
                "and only buckets are known here.\n"
                f"Ask for whole buckets ({', '.join(names)}), "
                f"or evaluate with --buckets {criterion.attribute}=…."
            )
        if criterion.operator == "=":
            for value in criterion.values:
                if not any(
                    bucket_meets(b, Criterion(criterion.attribute, "=", (value,)))
                    for b in self.buckets[criterion.attribute]
                ):
                    raise unknown(f"value of {criterion.attribute}", value, names)
        return tuple(number for number, meets in enumerate(answers) if meets)

    def _tough(self, criterion: Criterion) -> Words:
        if not self.subsets:
            raise ChoiceError(
                f"{str(criterion)!r} asks for tough subsets, "
                "which need training data and exist only for gold mentions.\n"
                "Leave it out, or give train= to tell seen mentions from unseen ones."
            )
        for value in criterion.values:
            if value not in self.subsets:
                raise unknown("tough subset", value, self.subsets)
        return self._either([self.values(TOUGHNESS)[self.subsets.index(value)] for value in criterion.values])

    def _with_text(self, criterion: Criterion) -> Words:
        if criterion.attribute not in self.words or criterion.operator != "=":
            raise unsearchable_error(criterion)
        return self._either([packed(self.words[criterion.attribute](value)) for value in criterion.values])
