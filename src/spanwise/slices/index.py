"""Bitmaps of mentions, one bit per mention and value, to count conditions, check floors and find slices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from msgspec import Struct, field

from spanwise.buckets import Bucket
from spanwise.columns import Bools, Column, Floats, Ints, Words, floats, ints, offsets, plain, ratio
from spanwise.conditions import (
    SEARCHABLE,
    TOUGHNESS,
    Condition,
    Criterion,
    Recent,
    Search,
    WordSearch,
    bucket_meets,
    parse,
    unsearchable_error,
    words_of,
)
from spanwise.counts import Counts
from spanwise.document.loading import wrong_part
from spanwise.errors import ChoiceError, InputError, many, unknown
from spanwise.evaluation.columns import MentionColumns
from spanwise.formats import read_toml
from spanwise.matching import OUTCOMES
from spanwise.scores import EXACT, RECALL, Measure, MeasureKey, exact
from spanwise.slices._search import Facet, Items, p_among_all, search

LABEL = "label"
OVERALL = ("exact", "overall")


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


class SliceCell(Struct, frozen=True):
    """The counts of one system in a slice; `predicted` is None if the slice exists only for gold."""

    gold: int
    predicted: int | None
    correct: int

    def score(self, name: str) -> float | None:
        """Precision, recall or F1; None where it is undefined."""
        if self.predicted is None and name != "recall":
            return None
        totals = np.array([self.gold, self.predicted or 0, self.correct], dtype=np.float64)
        return plain(exact(totals, (name,))[name])


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


Decided = Recent[Criterion, tuple[int, ...]]


class Bits(Struct, frozen=True, eq=False, dict=True):
    """The mentions of one side: for each value of each attribute, a bitmap of the mentions that have it."""

    number: int
    code: Callable[[str], Column]  # the bucket of each mention, by attribute
    buckets: Mapping[str, Sequence[Bucket]]
    decided: Decided  # the buckets that meet a comparison; shared by all sides
    subsets: Sequence[str] = ()
    tough: Column | None = None
    words: Mapping[str, Search] = {}  # finds mentions by their words or by those of their sentence
    kept: dict[str, Words] = field(default_factory=dict)  # cached bitmaps of the values, by attribute
    searched: Recent[Criterion, Words] = field(default_factory=lambda: Recent(SEARCHED))

    @cached_property
    def all(self) -> Words:
        """A bitmap of all mentions."""
        return packed(np.ones(self.number, dtype=bool))

    def values(self, attribute: str) -> Words:
        """The bitmaps of the values of an attribute, one per row, built on first use."""
        if attribute not in self.kept:
            if attribute == TOUGHNESS and self.tough is not None:
                tough = self.tough
                masks = [(tough >> bit & 1).astype(bool) for bit in range(len(self.subsets))]
                self.kept[attribute] = self._rows([packed(mask) for mask in masks])
            else:
                code = self.code(attribute)
                indices = range(len(self.buckets[attribute]))
                self.kept[attribute] = self._rows([packed(code == index) for index in indices])
        return self.kept[attribute]

    def _rows(self, kinds: Sequence[Words]) -> Words:
        return np.stack(kinds) if kinds else np.zeros((0, len(self.all)), dtype=np.uint64)

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
            return self.all & ~self.compare(criterion.opposite())
        if criterion.attribute in SEARCHABLE:
            return self.searched.get(criterion, lambda: self._with_text(criterion))
        if criterion.attribute == TOUGHNESS:
            return self._tough(criterion)
        return self._in_buckets(criterion)

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
        answers = [bucket_meets(bucket, criterion) for bucket in self.buckets[criterion.attribute]]
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
        if self.tough is None:
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


class SystemBits(Struct, frozen=True, eq=False, dict=True):
    """The predictions of one system, and the outcomes of the gold mentions."""

    predicted: Bits
    right: Words  # the gold mentions found exactly
    partners: Bits  # for each gold mention that was found, the values of its partner
    outcome: Column  # of each gold mention
    units: MentionRuns  # of predicted mentions
    predicted_outcome: Column  # the outcome of each predicted mention
    side: str  # the name of its mentions in the columns
    columns: MentionColumns

    @cached_property
    def outcomes(self) -> Words:
        """The gold mentions of each outcome, one bitmap per row."""
        return np.stack([packed(self.outcome == index) for index in range(len(OUTCOMES))])

    @cached_property
    def _alike(self) -> dict[str, bool]:
        return dict.fromkeys(SEARCHABLE, True)  # an exact match has the same words

    def alike(self, attribute: str, gold: Bits) -> bool:
        """Whether every gold mention that was found has the same value as its partner."""
        if attribute not in self._alike:
            own_code, partner_code = gold.code(attribute), self.partners.code(attribute)
            right = unpacked_bits(self.right, gold.number)
            self._alike[attribute] = bool(np.array_equal(own_code[right], partner_code[right]))
        return self._alike[attribute]

    def found_in(self, gold: Bits, inside: Words, condition: Condition | None) -> Words:
        """The gold mentions in a slice (the bitmap `inside`) whose partners are in it as well."""
        result = inside & self.right
        for clause in condition.clauses if condition is not None else ():
            if not all(self.alike(criterion.attribute, gold) for criterion in clause):
                result &= self.partners.meeting(clause)
        return result


class SliceIndex(Struct, frozen=True, eq=False, dict=True):
    """Bitmaps of the mentions of gold and all systems, over the same gold."""

    columns: MentionColumns
    gold: Bits
    units: MentionRuns  # of gold mentions
    systems: Mapping[str, SystemBits]

    @classmethod
    def of(cls, columns: MentionColumns, *others: MentionColumns, left: Sequence[str] = ()) -> SliceIndex:
        """Index one or more column files over the same gold, leaving out the attributes in `left`."""
        buckets = {name: cut for name, cut in columns.head.buckets.items() if name not in left}
        search = _search(columns)
        decided: Decided = Recent(DECIDED)
        gold = _bits(columns, "gold", buckets, search, decided)
        systems: dict[str, SystemBits] = {}
        for file in (columns, *others):
            for name in file.head.systems:
                if name not in systems:
                    systems[name] = _system(file, name, buckets, gold, search, columns.unit_of_sentence)
        unit = columns.unit_of_sentence[columns.column("gold", "sentence")]
        return cls(columns, gold, MentionRuns.along(unit), systems)

    @cached_property
    def whole(self) -> dict[str, SliceCell]:
        """The counts of every system on all mentions."""
        return self.counted(None)

    @cached_property
    def _sentences(self) -> MentionRuns:
        return MentionRuns.along(self.columns.column("gold", "sentence"))

    def sentences(self, inside: Words) -> int:
        """The number of sentences with gold mentions of a slice."""
        return self._sentences.reached(inside)

    def defined(self, condition: Condition | None) -> bool:
        """Whether the condition applies to predictions as well as to gold mentions."""
        return condition is None or TOUGHNESS not in condition.attributes

    def counted(self, condition: Condition | None) -> dict[str, SliceCell]:
        """The counts of every system, as in an evaluation of only the mentions that meet the condition."""
        inside = self.gold.mask(condition)
        number = ones(inside)
        counts = {}
        for name, system in self.systems.items():
            both = self.defined(condition)
            right = system.found_in(self.gold, inside, condition) if both else inside & system.right
            predicted = ones(system.predicted.mask(condition)) if both else None
            counts[name] = SliceCell(number, predicted, ones(right))
        return counts

    def facets(self, condition: Condition | None) -> dict[str, dict[str, int]]:
        """For each value of each attribute, how many gold mentions meet all clauses on other attributes."""
        values: dict[str, dict[str, int]] = {}
        attributes = [*self.gold.buckets, *([TOUGHNESS] if self.gold.tough is not None else [])]
        clauses = condition.clauses if condition is not None else ()
        bitmaps = [(clause, self.gold.meeting(clause)) for clause in clauses]
        for attribute in attributes:
            inside = self.gold.all
            for clause, words in bitmaps:
                if any(criterion.attribute != attribute for criterion in clause):
                    inside = inside & words
            names = (
                list(self.gold.subsets)
                if attribute == TOUGHNESS
                else [bucket.name for bucket in self.gold.buckets[attribute]]
            )
            counts = ones_of_each(self.gold.values(attribute), inside)
            values[attribute] = dict(zip(names, counts, strict=True))
        return values

    def outcomes(self, name: str, inside: Words) -> dict[str, int]:
        """The number of gold mentions of a slice by outcome, without zeros."""
        counts = ones_of_each(self.systems[name].outcomes, inside)
        return {outcome: number for outcome, number in zip(OUTCOMES, counts, strict=True) if number}

    def measure(self, name: str, condition: Condition | None) -> Measure:
        """The counts of a system in a slice by unit, as intervals and tests need them."""
        system, units = self.systems[name], self.columns.head.units
        inside = self.gold.mask(condition)
        both = self.defined(condition)
        right = system.found_in(self.gold, inside, condition) if both else inside & system.right
        gold, correct = (self.units.totals(words, units) for words in (inside, right))
        if not both:
            matrix = np.stack([gold, correct], axis=1)
            counts = Counts.of_matrix(["slice"], RECALL, matrix)
            return Measure(MeasureKey("slice"), counts, "recall", (OVERALL,), "exact", ("recall",))
        predicted = system.units.totals(system.predicted.mask(condition), units)
        counts = Counts.of_matrix(["slice"], EXACT, np.stack([gold, predicted, correct], axis=1))
        return Measure(MeasureKey("exact"), counts, "exact", (OVERALL,), "exact", ("f1",))


def _label_buckets(labels: Sequence[str]) -> tuple[Bucket, ...]:
    return tuple(Bucket(label, value=label, label=label) for label in labels)


def _all_buckets(
    columns: MentionColumns, buckets: Mapping[str, Sequence[Bucket]]
) -> dict[str, Sequence[Bucket]]:
    return {LABEL: _label_buckets(columns.head.labels), **{k: v for k, v in buckets.items() if k != LABEL}}


def _search(columns: MentionColumns) -> WordSearch | None:
    if columns.head.redacted or not columns.vocabulary:
        return None
    if columns.head.positions == "character":
        return WordSearch.of_texts(columns.vocabulary)
    return WordSearch.of_tokens(columns.arrays["tokens"], columns.vocabulary, columns.arrays["sentences"])


def _bits(
    columns: MentionColumns,
    side: str,
    buckets: Mapping[str, Sequence[Bucket]],
    search: WordSearch | None,
    decided: Decided,
) -> Bits:
    head = columns.head
    return Bits(
        number=len(columns.column(side, "sentence")),
        code=lambda name: columns.column(side, LABEL if name == LABEL else f"bucket.{name}"),
        buckets=_all_buckets(columns, buckets),
        decided=decided,
        subsets=head.subsets if side == "gold" else (),
        tough=columns.arrays.get("gold.tough") if side == "gold" else None,
        words=words_of(search, partial(columns.column, side)),
    )


def _system(
    columns: MentionColumns,
    name: str,
    buckets: Mapping[str, Sequence[Bucket]],
    gold: Bits,
    search: WordSearch | None,
    unit_of_sentence: Ints,
) -> SystemBits:
    side = columns.side(name)
    predicted = _bits(columns, side, buckets, search, gold.decided)
    partner = columns.column(side, "partner")

    def partner_code(attribute: str) -> Column:
        # Gold mentions without a partner get the code after the last bucket.
        code = np.append(predicted.code(attribute).astype(np.int32), len(predicted.buckets[attribute]))
        return code[partner]

    return SystemBits(
        predicted=predicted,
        right=packed(partner >= 0),
        partners=Bits(gold.number, partner_code, predicted.buckets, gold.decided, words=gold.words),
        outcome=columns.column(side, "outcome"),
        units=MentionRuns.along(unit_of_sentence[columns.column(side, "sentence")]),
        predicted_outcome=columns.column(side, "found"),
        side=side,
        columns=columns,
    )


class FoundSlice(Struct, frozen=True, kw_only=True):
    """A slice on which a system misses more, or on which two systems differ."""

    where: str
    mentions: int
    loss: float | None  # the share missed; for two systems, the difference of their shares
    p: float | None  # corrected for all slices tested
    # Of the recall, simultaneous for all slices tested; None for two systems.
    interval: tuple[float, float] | None = None


class FoundSlices(Struct, frozen=True, kw_only=True):
    """The result of a search over all conjunctions."""

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
    """Find conjunctions on which a system misses more mentions than elsewhere, or two systems differ."""
    items = _items(index, system, other)
    search_result = search(items, depth=depth, least=least, level=level, flips=flips, seed=seed)
    rows = []
    for listed in search_result.listed:
        values = {
            items.facets[facet].attribute: items.facets[facet].values[value] for facet, value in listed.key
        }
        rows.append(
            FoundSlice(
                where=str(Condition.equal(values)),
                mentions=listed.units,
                loss=plain(listed.mean),
                p=listed.p,
                interval=listed.interval,
            )
        )
    return FoundSlices(
        system=system,
        other=other,
        depth=depth,
        least=least,
        tested=search_result.tested,
        flips=flips,
        loss=plain(ratio(items.weight.sum(), len(items))),
        slices=tuple(rows),
    )


def slice_p(index: SliceIndex, system: str, condition: Condition, *, flips: int = 2000) -> float:
    """The p-value that a slice is weak, as one of all conjunctions, since a search may have found it."""
    inside = unpacked_bits(index.gold.mask(condition), index.gold.number)
    return p_among_all(_items(index, system), inside, flips=flips)


def _items(index: SliceIndex, system: str, other: str | None = None) -> Items:
    """The gold mentions, with what a system misses, or misses more than another."""
    gold = index.gold

    def missed(name: str) -> Floats:
        return floats(~unpacked_bits(index.systems[name].right, gold.number))

    weight = missed(system) if other is None else floats(missed(system) - missed(other))
    facets = [
        Facet.of_codes(name, [bucket.name for bucket in gold.buckets[name]], ints(gold.code(name)))
        for name in gold.buckets
    ]
    if gold.tough is not None:
        member = (gold.tough[:, None] >> np.arange(len(gold.subsets)) & 1).astype(bool)
        facets.append(Facet.of_members(TOUGHNESS, gold.subsets, member))
    unit = ints(index.columns.unit_of_sentence[index.columns.column("gold", "sentence")])
    return Items(unit, index.columns.head.units, weight, tuple(facets), other is not None)


SCORES = ("precision", "recall", "f1")


class Check(Struct, frozen=True):
    """The result of checking one threshold: its name, whether it was met, and a one-line message.

    The state of a drop is "passed", "failed", "cannot decide" or "too few units".
    """

    name: str
    passed: bool
    message: str
    state: str = ""


class NamedSlice(Struct, frozen=True, forbid_unknown_fields=True):
    """A slice as written in a file: its conditions and its minimum scores, in points."""

    where: str
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    mentions: int = 0  # with fewer gold mentions, the slice is not checked


class GateFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The thresholds in a file that apply to every system."""

    fail_under: float | None = None
    score: Literal["f1", "precision", "recall", "macro", "fair"] | None = (
        None  # the score fail_under applies to
    )
    floors: Mapping[str, float] = field(default_factory=dict)
    named: Mapping[str, NamedSlice] = field(default_factory=dict, name="slices")
    leak: Mapping[str, float] = field(default_factory=dict)  # the most that may leak, by label, in points

    @property
    def slices(self) -> tuple[SliceFloor, ...]:
        """One floor for each slice and score."""
        return tuple(
            SliceFloor(name, parse(named_slice.where), score, least, named_slice.mentions)
            for name, named_slice in self.named.items()
            for score in SCORES
            if (least := getattr(named_slice, score)) is not None
        )


class SliceFloor(Struct, frozen=True):
    """The minimum score of one named slice, in points."""

    name: str
    condition: Condition
    score: str
    least: float
    mentions: int = 0


def read_gate(path: str | Path) -> GateFile:
    """Read the thresholds in a file.

    Raises:
        InputError: the file is not TOML, or names something unknown.
    """
    content = read_toml(path, _EXAMPLE)
    try:
        gate = msgspec.convert(content, GateFile, strict=True)
    except msgspec.ValidationError as error:
        raise wrong_part(error, content, GateFile, str(path), _EXAMPLE) from None
    for floor in gate.slices:
        if not 1 < floor.least <= 100:
            raise InputError(
                f"{path}: the floor of slice {floor.name!r} is {floor.least:g}, "
                "but must be points from 1 to 100."
            )
    return gate


_EXAMPLE = (
    'Write fail_under = 90, [floors] with PER = 90, or [slices.NAME] with where = "label=ORG" and f1 = 80.'
)


def written_slices(slices: Mapping[str, NamedSlice]) -> str:
    """Format named slices as TOML that `read_gate` reads back unchanged."""
    lines: list[str] = []
    for name, named_slice in slices.items():
        lines += [f"[slices.{_quoted(name)}]", f"where = {_quoted(named_slice.where)}"]
        lines += [
            f"{score} = {value:g}" for score in SCORES if (value := getattr(named_slice, score)) is not None
        ]
        lines += [f"mentions = {named_slice.mentions}"] if named_slice.mentions else []
        lines.append("")
    return "\n".join(lines)


def _quoted(text: object) -> str:
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")


def least_check(system: str, path: str, value: float | None, least: float, *, bound: bool) -> Check:
    """Check whether a score reaches a floor, in points."""
    shown = "n/a" if value is None else f"{100 * value:.2f}"
    # Tolerate rounding errors: a score of 90 must not fall below a floor of 90.
    passed = value is not None and 100 * value >= least - 1e-9
    relation = "reaches" if passed else "is below"
    what = f"the lower bound of {path}" if bound else path
    return Check(f"{system} {path}", passed, f"{system}: {what} is {shown}, which {relation} {least:g}.")


def slice_checks(index: SliceIndex, floors: Sequence[SliceFloor]) -> list[Check]:
    """Check every system against the floors of named slices; slices with too few mentions pass."""
    checks = []
    for floor in floors:
        subject = f"slice {floor.name} ({floor.score})"
        for system, cell in index.counted(floor.condition).items():
            if cell.gold < floor.mentions:
                few = many(cell.gold, "mention")
                message = f"{system}: {subject} has {few}, too few to be checked against {floor.least:g}."
                checks.append(Check(f"{system} {subject}", passed=True, message=message))
                continue
            checks.append(least_check(system, subject, cell.score(floor.score), floor.least, bound=False))
    return checks
