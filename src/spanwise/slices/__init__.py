"""Find slices (conjunctions of conditions) on which a system is weak or two systems differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from msgspec import UNSET, Struct
from msgspec.structs import replace

from spanwise import __version__
from spanwise.alignment import How
from spanwise.attributes import Attribute
from spanwise.buckets import Bucketing, Strategy
from spanwise.columns import Bools, Column, floats, ints, on_grid, plain, ratio
from spanwise.conditions import DEFAULT, TOUGHNESS, Condition
from spanwise.covering import Covered, GoldPositions, PositionAxis
from spanwise.document import gold_input
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
from spanwise.document.evaluation import Evaluation, files_command
from spanwise.engines import Engine, engine_of
from spanwise.errors import ChoiceError
from spanwise.evaluation import tables
from spanwise.evaluation.choices import Block, Choices, Inputs
from spanwise.evaluation.dataset import (
    BlockContext,
    UnopenedSources,
    open_sources,
    resolve_frame,
)
from spanwise.evaluation.hints import hints_of
from spanwise.evaluation.tables import TalliedBlock, Walked
from spanwise.formats import ReadKeywords, says_label_rules
from spanwise.mentions import MentionTables
from spanwise.options import CheckedOptions
from spanwise.slices._saved import walked_of
from spanwise.slices._search import Facet, Items, Key, ListedSlice, Search, confirm, search

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Facet", "Items", "find_slices", "search", "slices_in"]

Over = Literal["recall", "f1", "hidden"]
FEW_UNITS = 60  # with fewer documents, the test is reported as rough


@says_label_rules
def find_slices(
    source: object = None,
    systems: object = None,
    *,
    gold: object = None,
    train: object = None,
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
    align: How = "strict",
    name: str | None = None,
    redact: bool = False,
    command: str | None = None,
    memory: int | str | None = None,
    workers: int | None = 1,
    engine: Engine | SparkSession | None = None,
    **reading: Any,
) -> Slices:
    """Find conjunctions of conditions on which a system is weaker, or on which two systems differ.

    Every conjunction of at most `depth` conditions on different attributes of mentions is tested. The error
    rate is controlled over all of them together: documents change sign at random, and a slice is significant
    if the highest statistic of all slices reaches its own in at most `level` of the flips.

    Examples:
        >>> gold = [["B-PER", "O"], ["B-LOC", "I-LOC"]] * 60
        >>> predicted = [["B-PER", "O"], ["B-LOC", "O"]] * 60
        >>> found = find_slices(gold, {"mine": predicted}, attributes=["label"], flips=200)
        >>> [(one.where, one.units, one.loss) for one in found.systems["mine"].slices]
        [('label=LOC', 60, 1.0)]

    Args:
        source: gold, as in `evaluate`; without `systems`, a file with both gold and predicted tags.
        gold: the same as a keyword, or the gold column of a Spark frame.
        systems: one system, or several; every pair of systems is compared.
        train: training data; without it, seen and unseen mentions are not distinguished.
        over: "recall" (gold mentions; loss: missed), "f1" (gold and predicted; loss: missed or wrong), or
            "hidden" (gold mentions; loss: some of it is not masked by predictions of any label).
        depth: the maximum number of conditions in a slice.
        least: the minimum number of mentions inside and outside a slice.
        level: the probability of listing any slice when there are no real weaknesses.
        flips: the number of random sign flips.
        confirm: also find slices on one half of the documents and test the best five on the other.
        unit: what changes sign: "document" if the data mark at least two, "sentence", or "block:20".
        attributes: names or a preset; token attributes are ignored.
        buckets: how to cut attributes, as in `evaluate`.
        redact: hide the values of attributes that are not built in.
        memory: read files in parts that fit in about this much memory ("1GB"), as in `evaluate`.
        workers: the number of processes; it does not affect the result.
        engine: where mentions are counted, as in `evaluate`: a Spark session, or any `Engine`.
        reading: keywords of `spanwise.read`.

    References:
        Westfall and Young (1993), Resampling-Based Multiple Testing.
    """
    options = SliceOptions.of(locals())
    runner = engine_of(engine)
    source, systems, columns = resolve_frame(source, gold, systems, reading)
    gold = gold if source is None else source
    if gold is None:
        raise ChoiceError("there is no gold to find slices in.\nGive a file or lists as the first argument.")
    choices = options.choices(align=align, reading=reading)
    walked, gold = tables.walk_again(gold, choices, predicted=over == "f1", tough=True)
    if walked is None:
        unopened = UnopenedSources(gold, systems, train, choices, columns, name, runner)
        opened = open_sources(unopened, always_tough=True, memory=memory, workers=workers)
        walked = Walked.of(*opened.walk(partial(tally, over=over)))
    elif over == "hidden":
        assert isinstance(gold, Inputs)
        walked = replace(walked, tables=_with_hidden(gold, walked.tables))
    return _searched(walked, options)


class SliceOptions(CheckedOptions, frozen=True, kw_only=True):
    """The checked options of `find_slices`."""

    verb = "slices"

    over: Over
    depth: int
    least: int
    level: float
    flips: int
    seed: int
    confirm: bool
    unit: str | None
    attributes: str | Attribute | Iterable[str | Attribute]
    buckets: Mapping[str, str | Strategy] | None
    vocabulary: Iterable[str] | None
    lowercase: bool
    redact: bool
    command: str | None

    def choices(self, *, align: How = "strict", reading: ReadKeywords) -> Choices:
        """The options for evaluating blocks: attributes of mentions, with their buckets."""
        return Choices.of_mentions(
            **self.chosen("attributes", "buckets", "lowercase", "unit", "redact"),
            vocabulary=None if self.vocabulary is None else [*self.vocabulary],
            align=align,
            reading=reading,
        )

    @property
    def search(self) -> dict[str, Any]:
        """The keyword arguments of `search` and `confirm`."""
        return self.chosen("depth", "least", "level", "flips", "seed")


def slices_in(document: Evaluation, **options: Any) -> Slices:
    """Like `find_slices`, but in a saved result, with the attributes, buckets and units that it has.

    Raises:
        ChoiceError: the document keeps no mentions, or an option needs the files.
    """
    settings, usual = SliceOptions.like(find_slices, **options), SliceOptions.like(find_slices)
    fixed = ("attributes", "buckets", "vocabulary", "lowercase")
    changed = [name for name in fixed if getattr(settings, name) != getattr(usual, name)]
    if settings.unit not in (None, document.settings.unit):
        changed.append("unit")
    if settings.over == "hidden":
        changed.append("over='hidden'")
    if changed:
        raise ChoiceError(
            f"{', '.join(changed)} cannot be chosen for a saved result, whose mentions are counted already.\n"
            f"Give the files: {files_command(document, 'slices')}"
        )
    return _searched(walked_of(document), settings)


def _searched(walked: Walked, settings: SliceOptions) -> Slices:
    assert walked.facts is not None
    case = _Case(walked.tables, walked.bucketings, settings.over)
    kind, number = walked.unit, case.tables.gold.units
    systems = {
        system: _one_system(case, system, confirmed=settings.confirm, options=settings.search)
        for system in case.systems
    }
    pairs = [
        _one_pair(case, first, second, confirmed=settings.confirm, options=settings.search)
        for first, second in combinations(case.systems, 2)
    ]
    tough = settings.over != "f1" and bool(case.tables.gold.named("tough"))
    names = (*case.cuts, *((TOUGHNESS,) if tough else ()))
    tested = [system.tested for system in systems.values()]
    return Slices(
        spanwise=__version__,
        kind="slices",
        signature=_signature(walked, settings, names),
        inputs=walked.inputs,
        settings=SliceSettings(
            **settings.kept_by(SliceSettings) | {"unit": kind, "attributes": names},
            number=number,
            block=walked.block,
            few_units=number < FEW_UNITS,
            absent=dict(walked.facts.absent),
        ),
        over=settings.over,
        tested=max(tested, default=0),
        flips=settings.flips,
        systems=systems,
        comparison=tuple(pairs),
        notes=(
            *hints_of(walked.inputs, walked.sides, labels=settings.over != "hidden"),
            *_notes(walked, number, [*systems.values(), *pairs]),
        ),
    )


def tally(reference: object, context: BlockContext, *, over: Over) -> TalliedBlock:
    """The mentions of one block; only over F1 those of systems, too."""
    block = context.source.open(reference)
    tallied = tables.tally(block, context, predicted=over == "f1", tough=True)
    return tallied if over != "hidden" else replace(tallied, tables=_with_hidden(block, tallied.tables))


def _with_hidden(block: Block, mentions: MentionTables) -> MentionTables:
    """The tables in which a gold mention is found where predictions of any label mask all of it."""
    axis = PositionAxis.of(block.corpus, [block.gold.mentions, *block.systems.values()])
    sentences = ints(np.arange(len(block.corpus)))
    gold = GoldPositions(axis, block.gold.mentions, len(block.corpus), sentences, sentences)
    hidden = {
        f"found.{system}": Covered.of(gold, predicted, same_label=False).hidden
        for system, predicted in block.systems.items()
    }
    return replace(mentions, gold=mentions.gold.with_columns(hidden))


class _Case(Struct, frozen=True, eq=False):
    """The tables of gold and predicted mentions, and the bucketing of each attribute."""

    tables: MentionTables
    cuts: Mapping[str, Bucketing]
    over: Over

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems."""
        return tuple(self.tables.gold.named("found"))

    def found(self, system: str) -> Bools:
        """Which gold mentions a system found exactly."""
        return self.tables.gold[f"found.{system}"]

    def items(
        self,
        weights: Sequence[Column],
        systems: Sequence[str],
        *,
        paired: bool,
    ) -> Items:
        """The gold mentions, followed over F1 by the predictions of the given systems."""
        gold = self.tables.gold
        listed = [gold]
        if self.over == "f1":
            listed += [self.tables.systems[system] for system in systems]
        facets = []
        for name, bucketing in self.cuts.items():
            code = np.concatenate([table[f"bucket.{name}"] for table in listed])
            facets.append(Facet.of_codes(name, [bucket.name for bucket in bucketing.buckets], ints(code)))
        tough = gold.named("tough")
        if tough and self.over != "f1":
            facets.append(Facet.of_members(TOUGHNESS, tuple(tough), np.stack([*tough.values()], axis=1)))
        return Items(
            ints(np.concatenate([table["unit"] for table in listed])),
            gold.units,
            floats(np.concatenate(weights)),
            tuple(facets),
            paired,
        )

    def named(self, items: Items, key: Key) -> tuple[tuple[SliceCondition, ...], str]:
        """The conditions of a slice, and their text."""
        conditions = []
        for facet, value in key:
            attribute, name = items.facets[facet].attribute, items.facets[facet].values[value]
            cut = self.cuts.get(attribute)
            label = cut.buckets[value].label if cut is not None else name
            conditions.append(
                SliceCondition(attribute=attribute, value=name, label=UNSET if label == name else label)
            )
        return tuple(conditions), str(
            Condition.equal({condition.attribute: condition.value for condition in conditions})
        )


def _one_system(case: _Case, system: str, *, confirmed: bool, options: Mapping[str, Any]) -> SystemSlices:
    weights = [ints(~case.found(system))]
    if case.over == "f1":
        weights.append(ints(~case.tables.systems[system]["right"]))
    items = case.items(weights, [system], paired=False)
    result = search(items, **options)
    overall = ItemsOverall(units=len(items), loss=plain(ratio(items.total, len(items))))

    def weak(slices: Sequence[ListedSlice]) -> tuple[SearchedSlice, ...]:
        rows = []
        for index, listed in enumerate(slices):
            conditions, where = case.named(items, listed.key)
            rows.append(
                SearchedSlice(
                    conditions=conditions,
                    where=where,
                    units=listed.units,
                    loss=plain(listed.mean),
                    interval=listed.interval,
                    t=listed.t,
                    p=listed.p,
                    after=0 if listed.p is not None else index,
                    rest_units=listed.rest_units,
                    rest_loss=plain(listed.rest_mean),
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
    items, overall = _differences(case, first, second)
    result: Search = search(items, **options)
    recall = case.over != "f1"

    def different(slices: Sequence[ListedSlice]) -> tuple[DifferentSlice, ...]:
        rows = []
        for index, listed in enumerate(slices):
            conditions, where = case.named(items, listed.key)
            # Over recall, weights are losses; over F1, they are contributions to the first system's lead.
            whole, rest = (listed.mean, listed.rest_mean) if recall else (
                listed.mean * listed.units, listed.rest_mean * listed.rest_units
            )  # fmt: skip
            rows.append(
                DifferentSlice(
                    conditions=conditions,
                    where=where,
                    units=listed.units,
                    difference=plain(whole),
                    t=listed.t,
                    p=listed.p,
                    better=second if (listed.t > 0) == recall else first,
                    after=0 if listed.p is not None else index,
                    rest_units=listed.rest_units,
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


def _differences(case: _Case, first: str, second: str) -> tuple[Items, dict[str, float | None]]:
    """Each item's contribution to the difference between two systems, and the difference itself."""
    found_a, found_b = case.found(first), case.found(second)
    gain = ints(found_a.astype(np.int64) - found_b)
    n = len(case.tables.gold)
    if case.over != "f1":
        items = case.items([ints(-gain)], [first, second], paired=True)
        return items, {"units": n, "difference": plain(ratio(items.total, n))}
    predicted = case.tables.systems[first], case.tables.systems[second]
    sizes = [len(table) for table in predicted]
    f1_a = float(ratio(2 * np.count_nonzero(found_a), n + sizes[0]))
    f1_b = float(ratio(2 * np.count_nonzero(found_b), n + sizes[1]))
    # The mean of the decomposition and of its mirror image, with the two systems swapped.
    over_a, over_b = (float(ratio(1, n + size)) for size in sizes)
    scale, charge = over_a + over_b, (f1_b * over_a + f1_a * over_b) / 2
    most = scale * np.count_nonzero(gain) + charge * sum(sizes)
    weights = [on_grid(gain * scale, most)]
    weights += [
        on_grid(np.full(size, sign * charge), most) for size, sign in zip(sizes, (-1, 1), strict=True)
    ]
    items = case.items(weights, [first, second], paired=True)
    return items, {"units": n + sum(sizes), "difference": plain(f1_a - f1_b)}


def _signature(walked: Walked, settings: SliceOptions, names: Sequence[str]) -> str:
    strategies = {} if walked.facts is None else walked.facts.strategies
    cuts = [f"{name}[{strategies[name]}]" if name in strategies else name for name in names]
    parts = [
        "spanwise",
        f"v:{__version__}",
        "match:exact",
        *settings.signed("over", "depth", "least"),
        f"test:signflip.maxT.{walked.signed_unit}.{settings.flips}",
        *settings.signed("level", "seed"),
        "attributes:" + "+".join(cuts),
    ]
    digest = gold_input(walked.inputs).sha256
    return "|".join([*parts, f"gold:{digest[:8]}"] if digest else parts).replace("\n", " ")


def _notes(walked: Walked, number: int, searches: Sequence[SystemSlices | PairSlices]) -> tuple[str, ...]:
    notes, kind = [], walked.unit
    if kind == "sentence" and not walked.marked:
        notes.append(
            "The data mark no documents, so sentences change sign; errors that cluster in documents make "
            "this test reject too often. Mark documents if you can."
        )
    if number < FEW_UNITS:
        notes.append(f"Only {number} {kind}s change sign; the test is rough below {FEW_UNITS}.")
    groups = next((result.groups for result in searches if result.groups is not None), None)
    if groups is not None:
        notes.append(f"The {number:,} {kind}s were joined at random into {groups:,} groups that change sign.")
    return tuple(notes)
