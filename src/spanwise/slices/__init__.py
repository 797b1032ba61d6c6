"""Find where a system is weak, or where two systems differ: conjunctions of conditions, tested at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
from msgspec import UNSET, Struct

from spanwise import __version__
from spanwise.attributes import Attribute
from spanwise.buckets import Bucketing, Strategy
from spanwise.columns import Bools, Floats, Ints, floats, ints, on_grid, plain, ratio
from spanwise.conditions import DEFAULT, TOUGHNESS, Condition, Sides, describe_sides
from spanwise.corpus import Corpus, Mentions, with_one_labelling
from spanwise.document.analyses import (
    DifferentConfirmation,
    DifferentSlice,
    ItemsOverall,
    PairSlices,
    SearchedSlice,
    SliceCondition,
    Slices,
    SliceSettings,
    SystemSlices,
    WeakConfirmation,
)
from spanwise.errors import ChoiceError, unknown
from spanwise.evaluation._choices import Inputs, Units, gather
from spanwise.matching import MATCHERS
from spanwise.settings import MOST_DRAWS
from spanwise.slices._search import Facet, Items, Key, Search, Slice, confirm, search

__all__ = ["describe_sides", "find_slices", "slices_of"]

Over = Literal["recall", "f1"]
OVERS: tuple[Over, ...] = ("recall", "f1")
FEW_UNITS = 60  # documents under which the test carries a mark


def find_slices(
    gold: Any,
    systems: Any = None,
    *,
    train: Any = None,
    over: Over = "recall",
    depth: int = 2,
    least: int = 50,
    level: float = 0.05,
    flips: int = 2000,
    seed: int = 0,
    confirm: bool = False,
    unit: str | None = None,
    attributes: str | Attribute | Iterable[str | Attribute] = DEFAULT,
    buckets: Mapping[str, str | Strategy] | None = None,
    vocabulary: Iterable[str] | None = None,
    lowercase: bool = False,
    align: Any = "strict",
    name: str | None = None,
    command: str | None = None,
    **reading: Any,
) -> Slices:
    """Find conjunctions of conditions on which a system does worse, or on which two systems differ.

    Every conjunction of at most `depth` conditions on different attributes of mentions is tested, and the
    error rate holds for all of them together: documents change sign at random, and a slice must reach the
    highest statistic of all slices in at most `level` of the flips.

    Args:
        gold: as in `evaluate`; without `systems` a file that holds gold and predicted tags.
        systems: one system, or several, of which every pair is compared.
        train: training data; without it nothing is said of seen and unseen mentions.
        over: "recall" (gold mentions; loss: missed) or "f1" (gold and predicted; loss: missed or wrong).
        depth: the most conditions of a slice.
        least: the fewest mentions inside and outside a slice.
        level: the chance of listing anything where nothing is weak.
        flips: how often the documents change signs.
        confirm: also find slices on one half of the documents and test the best five on the other.
        unit: what changes sign: "document" where the data mark at least two, else "sentence".
        attributes: names or a preset; attributes of tokens are left out.
        buckets: how to cut attributes, as in `evaluate`.
        reading: keywords of `spanwise.read`.

    References:
        Westfall and Young (1993), Resampling-Based Multiple Testing.
    """
    asked = Looking(
        over=over, depth=depth, least=least, level=level, flips=flips, seed=seed, confirm=confirm, unit=unit,
        attributes=attributes, buckets=buckets, vocabulary=vocabulary, lowercase=lowercase, command=command,
    )  # fmt: skip
    return _found(gather(gold, systems, train, align=align, reading=reading, name=name), asked)


class Looking(Struct, frozen=True, kw_only=True):
    """What to look for: the keywords of `find_slices`, checked."""

    over: Over = "recall"
    depth: int = 2
    least: int = 50
    level: float = 0.05
    flips: int = 2000
    seed: int = 0
    confirm: bool = False
    unit: str | None = None
    attributes: str | Attribute | Iterable[str | Attribute] = DEFAULT
    buckets: Mapping[str, str | Strategy] | None = None
    vocabulary: Iterable[str] | None = None
    lowercase: bool = False
    command: str | None = None

    def __post_init__(self) -> None:
        if self.over not in OVERS:
            raise unknown("kind of items", self.over, OVERS)
        for name, low in (("depth", 1), ("least", 1), ("flips", 19), ("seed", 0)):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or number < low:
                raise ChoiceError(f"{name} is {number!r}, but must be a whole number of {low} or more.")
        if self.flips > MOST_DRAWS:
            raise ChoiceError(f"flips is {self.flips}, but must be at most {MOST_DRAWS:,}.")
        if not 0 < self.level < 1:
            raise ChoiceError(f"level is {self.level!r}, but must be between 0 and 1.")

    @property
    def search(self) -> dict[str, Any]:
        """The keywords of a search."""
        return {name: getattr(self, name) for name in ("depth", "least", "level", "flips", "seed")}


def slices_of(inputs: Inputs, **options: Any) -> Slices:
    """The same of data that were read already, under the keywords of `find_slices`."""
    return _found(inputs, Looking(**options))


def _found(inputs: Inputs, asked: Looking) -> Slices:
    sides = describe_sides(
        inputs,
        attributes=asked.attributes,
        buckets=asked.buckets,
        vocabulary=asked.vocabulary,
        lowercase=asked.lowercase,
    )
    units = Units.of(inputs.corpus, asked.unit)
    kind, number = units.kind, units.number
    case = _Case(inputs.gold.mentions, inputs.systems, sides, units.of_sentence, number, asked.over)
    systems = {
        system: _one_system(case, system, confirmed=asked.confirm, options=asked.search)
        for system in case.systems
    }
    pairs = [
        _one_pair(case, first, second, confirmed=asked.confirm, options=asked.search)
        for first, second in combinations(case.systems, 2)
    ]
    names = (
        *sides.gold.attributes,
        *((TOUGHNESS,) if asked.over == "recall" and sides.gold.toughness else ()),
    )
    tested = [one.tested for one in systems.values()]
    return Slices(
        spanwise=__version__,
        kind="slices",
        signature=_signature(inputs, asked.over, asked.search, kind, names, sides),
        inputs=inputs.documented(),
        settings=SliceSettings(
            depth=asked.depth,
            least=asked.least,
            level=asked.level,
            seed=asked.seed,
            unit=kind,
            number=number,
            few_units=number < FEW_UNITS,
            attributes=names,
            absent=dict(sides.absent),
            command=asked.command,
        ),
        over=asked.over,
        tested=max(tested, default=0),
        flips=asked.flips,
        systems=systems,
        comparison=tuple(pairs),
        notes=_notes(kind, number, inputs.corpus, [*systems.values(), *pairs]),
    )


class _Case(Struct, frozen=True, eq=False):
    """Gold, systems and what is known of their mentions."""

    gold: Mentions
    systems: Mapping[str, Mentions]
    sides: Sides
    unit_of_sentence: Ints
    units: int
    over: Over

    def right(self, system: str) -> tuple[Bools, Bools]:
        """Which gold mentions were found exactly, and which predicted ones are right."""
        gold, predicted = with_one_labelling([self.gold, self.systems[system]])
        matching = MATCHERS.find("exact").function(gold, predicted)
        return np.asarray(matching.gold_partner >= 0), np.asarray(matching.predicted_partner >= 0)

    def items(self, weights: Sequence[Floats], systems: Sequence[str], *, paired: bool) -> Items:
        """Gold mentions, and over F1 the predicted ones of the systems behind them."""
        listed = [self.gold, *(self.systems[system] for system in systems if self.over == "f1")]
        described = [
            self.sides.gold,
            *(self.sides.predicted[system] for system in systems if self.over == "f1"),
        ]
        sentence = np.concatenate([mentions.sentence for mentions in listed])
        facets = []
        for name, told in self.sides.gold.attributes.items():
            code = np.concatenate([side.attributes[name].bucket for side in described])
            names = [bucket.name for bucket in told.bucketing.buckets]
            facets.append(Facet.of_codes(name, names, code))
        tough = self.sides.gold.toughness
        if tough is not None and self.over == "recall":
            facets.append(Facet.of_members(TOUGHNESS, tough.subsets, tough.member))
        return Items(
            ints(self.unit_of_sentence[sentence]),
            self.units,
            floats(np.concatenate(weights)),
            tuple(facets),
            paired,
        )

    def named(self, items: Items, key: Key) -> tuple[tuple[SliceCondition, ...], str]:
        """The conditions of a slice, and its text."""
        conditions = []
        for facet, value in key:
            attribute, name = items.facets[facet].attribute, items.facets[facet].values[value]
            told = self.sides.gold.attributes.get(attribute)
            label = _label(told.bucketing, value) if told is not None else name
            conditions.append(
                SliceCondition(attribute=attribute, value=name, label=UNSET if label == name else label)
            )
        return tuple(conditions), str(Condition.equal({one.attribute: one.value for one in conditions}))


def _label(bucketing: Bucketing, number: int) -> str:
    return bucketing.buckets[number].label


def _one_system(case: _Case, system: str, *, confirmed: bool, options: Mapping[str, Any]) -> SystemSlices:
    found, right = case.right(system)
    weights = [floats(~side) for side in ((found, right) if case.over == "f1" else (found,))]
    items = case.items(weights, [system], paired=False)
    result = search(items, **options)
    overall = ItemsOverall(units=len(items), loss=plain(ratio(items.weight.sum(), len(items))))

    def weak(slices: Sequence[Slice]) -> tuple[SearchedSlice, ...]:
        rows = []
        for place, one in enumerate(slices):
            conditions, where = case.named(items, one.key)
            rows.append(
                SearchedSlice(
                    conditions=conditions,
                    where=where,
                    units=one.units,
                    loss=plain(one.mean),
                    t=one.t,
                    p=one.p,
                    after=0 if one.p is not None else place,
                    rest_units=one.rest_units,
                    rest_loss=plain(one.rest_mean),
                )
            )
        return tuple(rows)

    second = None
    if confirmed:
        first_half, other_half, slices = confirm(items, **options)
        second = WeakConfirmation(found_on=first_half, tested_on=other_half, slices=weak(slices))
    return SystemSlices(
        overall=overall,
        tested=result.tested,
        significant=result.significant,
        critical=result.critical,
        groups=result.groups,
        slices=weak(result.listed),
        confirmed=UNSET if second is None else second,
    )


def _one_pair(
    case: _Case, first: str, second: str, *, confirmed: bool, options: Mapping[str, Any]
) -> PairSlices:
    weights, overall = _differences(case, first, second)
    items = case.items(weights, [first, second], paired=True)
    result: Search = search(items, **options)
    recall = case.over == "recall"

    def different(slices: Sequence[Slice]) -> tuple[DifferentSlice, ...]:
        rows = []
        for place, one in enumerate(slices):
            conditions, where = case.named(items, one.key)
            # Over recall the weights are losses, over F1 they are contributions to the first one's lead.
            whole, rest = (one.mean, one.rest_mean) if recall else (
                one.mean * one.units, one.rest_mean * one.rest_units
            )  # fmt: skip
            rows.append(
                DifferentSlice(
                    conditions=conditions,
                    where=where,
                    units=one.units,
                    difference=plain(whole),
                    t=one.t,
                    p=one.p,
                    better=second if (one.t > 0) == recall else first,
                    after=0 if one.p is not None else place,
                    rest_units=one.rest_units,
                    rest_difference=plain(rest),
                )
            )
        return tuple(rows)

    checked = None
    if confirmed:
        first_half, other_half, slices = confirm(items, **options)
        checked = DifferentConfirmation(found_on=first_half, tested_on=other_half, slices=different(slices))
    return PairSlices(
        systems=(first, second),
        overall=overall,
        tested=result.tested,
        significant=result.significant,
        critical=result.critical,
        groups=result.groups,
        slices=different(result.listed),
        confirmed=UNSET if checked is None else checked,
    )


def _differences(case: _Case, first: str, second: str) -> tuple[list[Floats], dict[str, float | None]]:
    """What each item adds to the difference of two systems."""
    (found_a, right_a), (found_b, right_b) = case.right(first), case.right(second)
    n, sizes = len(case.gold), (len(right_a), len(right_b))
    gain = found_a.astype(np.float64) - found_b
    if case.over == "recall":
        return [-gain], {"units": n, "difference": plain(ratio(-gain.sum(), n))}
    f1_a = float(ratio(2 * found_a.sum(), n + sizes[0]))
    f1_b = float(ratio(2 * found_b.sum(), n + sizes[1]))
    # The mean of the decomposition and of its mirror image, in which the systems are exchanged.
    over_a, over_b = (float(ratio(1, n + size)) for size in sizes)
    gold = gain * (over_a + over_b)
    charge = (f1_b * over_a + f1_a * over_b) / 2
    weights = [gold, np.full(sizes[0], -charge), np.full(sizes[1], charge)]
    most = sum(float(np.abs(one).sum()) for one in weights)
    weights = [on_grid(one, most) for one in weights]
    return weights, {"units": n + sum(sizes), "difference": plain(f1_a - f1_b)}


def _signature(
    inputs: Inputs, over: str, options: Mapping[str, Any], kind: str, names: Sequence[str], sides: Sides
) -> str:
    cuts = [
        f"{name}[{sides.gold.attributes[name].bucketing.strategy}]" if name in sides.gold.attributes else name
        for name in names
    ]
    parts = [
        "spanwise",
        f"v:{__version__}",
        "match:exact",
        f"over:{over}",
        f"depth:{options['depth']}",
        f"least:{options['least']}",
        f"test:signflip.maxT.{kind}.{options['flips']}",
        f"level:{options['level']}",
        f"seed:{options['seed']}",
        "attributes:" + "+".join(cuts),
    ]
    digest = inputs.gold.reading.sha256
    return "|".join([*parts, f"gold:{digest[:8]}"] if digest else parts).replace("\n", " ")


def _notes(
    kind: str, number: int, corpus: Corpus, searches: Sequence[SystemSlices | PairSlices]
) -> tuple[str, ...]:
    notes = []
    if kind == "sentence" and corpus.document_of_sentence is None:
        notes.append(
            "The data mark no documents, so sentences change sign; errors that cluster in documents make "
            "this test too ready to reject. Mark documents if you can."
        )
    if number < FEW_UNITS:
        notes.append(f"Only {number} {kind}s change sign; the test is rough below {FEW_UNITS}.")
    groups = next((one.groups for one in searches if one.groups is not None), None)
    if groups is not None:
        notes.append(f"The {number:,} {kind}s were joined at random into {groups:,} groups that change sign.")
    return tuple(notes)
