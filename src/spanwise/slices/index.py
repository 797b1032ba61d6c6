"""An index of the mentions of gold and all systems, to count conditions, check floors and find slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from msgspec import Struct, field

from spanwise.bitmaps import (
    Bitmaps,
    column_of,
    ones,
    ones_of_each,
    packed,
    unpacked_bits,
    with_labels,
)
from spanwise.columns import Column, Floats, Words, floats, ints, plain, ratio
from spanwise.conditions import (
    SEARCHABLE,
    TOUGHNESS,
    Condition,
    WordSearch,
    parse,
    words_of,
)
from spanwise.counts import Counts
from spanwise.document.loading import wrong_part
from spanwise.errors import InputError, many
from spanwise.evaluation.columns import MentionColumns
from spanwise.formats import read_toml
from spanwise.matching import OUTCOMES
from spanwise.mentions import MentionTable
from spanwise.scores import EXACT, RECALL, Measure, MeasureKey, exact
from spanwise.slices._search import Facet, Items, p_among_all, search

OVERALL = ("exact", "overall")


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


class SystemBits(Struct, frozen=True, eq=False, dict=True):
    """The predictions of one system, and the outcomes of the gold mentions."""

    predicted: Bitmaps
    right: Words  # the gold mentions found exactly
    partners: Bitmaps  # gold mentions, those that were found with the values of their partners
    outcome: Column  # of each gold mention
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

    def alike(self, attribute: str, gold: Bitmaps) -> bool:
        """Whether every gold mention that was found has the same value as its partner."""
        if attribute not in self._alike:
            name = column_of(attribute)
            self._alike[attribute] = bool(np.array_equal(gold.table[name], self.partners.table[name]))
        return self._alike[attribute]

    def found_in(self, gold: Bitmaps, inside: Words, condition: Condition | None) -> Words:
        """The gold mentions in a slice (the bitmap `inside`) whose partners are in it as well."""
        result = inside & self.right
        for clause in condition.clauses if condition is not None else ():
            if not all(self.alike(criterion.attribute, gold) for criterion in clause):
                result &= self.partners.meeting(clause)
        return result


class SliceIndex(Struct, frozen=True, eq=False, dict=True):
    """Bitmaps of the mentions of gold and all systems, over the same gold."""

    columns: MentionColumns
    gold: Bitmaps
    systems: Mapping[str, SystemBits]

    @classmethod
    def of(cls, columns: MentionColumns, *others: MentionColumns, left: Sequence[str] = ()) -> SliceIndex:
        """Index one or more column files over the same gold, leaving out the attributes in `left`."""
        buckets = {name: cut for name, cut in columns.head.buckets.items() if name not in left}
        search = _search(columns)
        unit_of_sentence = columns.arrays["unit_of_sentence"]
        table = columns.table("gold", unit_of_sentence)
        gold = Bitmaps(table, with_labels(table.labels, buckets), words=words_of(search, table.__getitem__))
        systems: dict[str, SystemBits] = {}
        for file in (columns, *others):
            for name in file.head.systems:
                if name not in systems:
                    systems[name] = _system(file, name, gold, search, unit_of_sentence)
        return cls(columns, gold, systems)

    @cached_property
    def whole(self) -> dict[str, SliceCell]:
        """The counts of every system on all mentions."""
        return self.counted(None)

    def sentences(self, inside: Words) -> int:
        """The number of sentences with gold mentions of a slice."""
        return self.gold.runs("sentence").reached(inside)

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
        attributes = [*self.gold.buckets, *([TOUGHNESS] if self.gold.subsets else [])]
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
        system = self.systems[name]
        inside = self.gold.mask(condition)
        both = self.defined(condition)
        right = system.found_in(self.gold, inside, condition) if both else inside & system.right
        gold, correct = map(self.gold.by_unit, (inside, right))
        if not both:
            matrix = np.stack([gold, correct], axis=1)
            counts = Counts.of_matrix(["slice"], RECALL, matrix)
            return Measure(MeasureKey("slice"), counts, "recall", (OVERALL,), "exact", ("recall",))
        predicted = system.predicted.by_unit(system.predicted.mask(condition))
        counts = Counts.of_matrix(["slice"], EXACT, np.stack([gold, predicted, correct], axis=1))
        return Measure(MeasureKey("exact"), counts, "exact", (OVERALL,), "exact", ("f1",))


def _search(columns: MentionColumns) -> WordSearch | None:
    if columns.head.redacted or not columns.vocabulary:
        return None
    if columns.head.positions == "character":
        return WordSearch.of_texts(columns.vocabulary)
    return WordSearch.of_tokens(columns.arrays["tokens"], columns.vocabulary, columns.arrays["sentences"])


def _system(
    columns: MentionColumns, name: str, gold: Bitmaps, search: WordSearch | None, unit_of_sentence: Column
) -> SystemBits:
    side = columns.side(name)
    table = columns.table(side, unit_of_sentence)
    partner = columns.column(side, "partner")
    return SystemBits(
        predicted=gold.over(table, words_of(search, table.__getitem__)),
        right=packed(partner >= 0),
        partners=gold.over(_with_partners(gold, table, partner), gold.words),
        outcome=columns.column(side, "outcome"),
        predicted_outcome=columns.column(side, "found"),
        side=side,
        columns=columns,
    )


def _with_partners(gold: Bitmaps, predicted: MentionTable, partner: Column) -> MentionTable:
    """The gold mentions, with the values of the predictions that found them."""
    found, values = partner >= 0, {}
    for name in map(column_of, gold.buckets):
        own, others = gold.table[name], predicted[name]
        values[name] = own.astype(np.promote_types(own.dtype, others.dtype))
        values[name][found] = others[partner[found]]
    return gold.table.with_columns(values)


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
        Facet.of_codes(name, [bucket.name for bucket in cut], ints(gold.table[column_of(name)]))
        for name, cut in gold.buckets.items()
    ]
    if gold.subsets:
        member = np.stack([*gold.table.named("tough").values()], axis=1)
        facets.append(Facet.of_members(TOUGHNESS, gold.subsets, member))
    return Items(ints(gold.table["unit"]), index.columns.head.units, weight, tuple(facets), other is not None)


SCORES = ("precision", "recall", "f1")


class Check(Struct, frozen=True):
    """The result of checking one threshold: its name, whether it was met, and a one-line message.

    The state of a drop is "passed", "failed", "cannot decide" or "too few units".

    Examples:
        >>> Check("mine", False, "mine: F1 is 66.7, which is below 70.").passed
        False
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
