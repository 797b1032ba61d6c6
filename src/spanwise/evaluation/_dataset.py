"""Sources opened as blocks with their engine; a first look at gold, and the facts that follow from it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.attributes import (
    Attribute,
    Carried,
    Confusable,
    Context,
    Kind,
    Labeled,
    Lexicon,
    SummedLexicon,
    Toughness,
    Values,
    choose,
    is_built_in,
    toughness,
    values_of,
    why_absent,
)
from spanwise.attributes import Side as AttributeSide
from spanwise.buckets import Bucketing, default_strategy, fit
from spanwise.columns import Column, Floats, Ints, floats, frozen, ints
from spanwise.composition import KnownSentences
from spanwise.corpus import Annotation, Mentions
from spanwise.engines import MOST_THREADS, Engine, at_once, local_engine, most_shared
from spanwise.errors import ChoiceError
from spanwise.evaluation._blocks import (
    BlockSource,
    LexiconPart,
    OneBlock,
    Progress,
    TrainingFacts,
    TrainingFiles,
    TrainingPlace,
    learnt,
    many_blocks,
    nothing,
)
from spanwise.evaluation._choices import (
    Block,
    Choices,
    Inputs,
    ResampledUnits,
    check_any,
    check_keywords,
    gather,
    gathered_alone,
    parts_of,
    unit_of,
)
from spanwise.evaluation._measures import BucketedSide
from spanwise.formats import listed_sources
from spanwise.formats._format import ReadKeywords
from spanwise.registry import reach
from spanwise.settings import unless_given

if TYPE_CHECKING:
    from spanwise.evaluation._frames import FrameColumns

T = TypeVar("T")


class Fitted(Struct, frozen=True, eq=False):
    """The buckets of an attribute, how they were found, and the mean ζ of the gold units."""

    bucketing: Bucketing
    strategy: str
    zeta: float

    @classmethod
    def of(cls, attribute: Attribute, gold: Values, choices: Choices) -> Fitted:
        """Fit the buckets to the gold values, unless they are given."""
        bucketing, strategy = _bucketing(attribute, gold, choices)
        # Attributes of our own count and compare; buckets of all others tell what is in the data.
        if choices.redact and not is_built_in(attribute):
            return cls(bucketing.redacted(), "redacted", math.nan)
        return cls(bucketing, strategy, gold.zeta)


class Facts(Struct, frozen=True, eq=False):
    """What is fixed before any system is counted: the attributes, their buckets and ζ."""

    attributes: Mapping[str, Attribute]
    bucketings: Mapping[str, Bucketing]
    strategies: Mapping[str, str]
    zeta: Mapping[str, float]
    absent: Mapping[str, str]  # attributes that cannot be computed, and why

    @classmethod
    def of(
        cls, attributes: Mapping[str, Attribute], fitted: Mapping[str, Fitted], absent: Mapping[str, str]
    ) -> Facts:
        """The facts of attributes that were fitted one by one."""
        return cls(
            attributes=dict(attributes),
            bucketings={name: one.bucketing for name, one in fitted.items()},
            strategies={name: one.strategy for name, one in fitted.items()},
            zeta={name: one.zeta for name, one in fitted.items()},
            absent=dict(absent),
        )


class DatasetBlock(Struct, frozen=True, eq=False):
    """One block of the test set; adding a system changes nothing in it."""

    inputs: Block
    units: ResampledUnits
    toughness: Toughness | None
    facts: Facts
    gold_sides: Mapping[str, BucketedSide]  # the gold units of every attribute, each in its bucket

    @property
    def gold(self) -> Mentions:
        """The gold mentions."""
        return self.inputs.gold.mentions

    def counted(self) -> DatasetBlock:
        """The same without units of tokens: they are many, and not needed once they are counted."""
        return replace(self, gold_sides=sides_of_mentions(self.gold_sides))


def sides_of_mentions(sides: Mapping[str, BucketedSide]) -> dict[str, BucketedSide]:
    """Those of attributes whose units are mentions."""
    return {name: side for name, side in sides.items() if side.position is None}


Valued = Callable[[Attribute, AttributeSide], Values]


def sides_of(facts: Facts, side: AttributeSide, valued: Valued = values_of) -> dict[str, BucketedSide]:
    """The units of every attribute among the mentions of a side, whose values are `valued` so, in buckets."""
    return {
        name: _side(valued(attribute, side), facts.bucketings[name])
        for name, attribute in facts.attributes.items()
    }


def buckets_of(facts: Facts, side: AttributeSide) -> Column:
    """The bucket of each mention of a side (mentions × attributes); all attributes are of mentions."""
    most = max((len(bucketing) for bucketing in facts.bucketings.values()), default=0)
    buckets = np.zeros((len(side.mentions), len(facts.attributes)), dtype=np.min_scalar_type(most))
    for index, (name, attribute) in enumerate(facts.attributes.items()):
        buckets[:, index] = facts.bucketings[name].assign(values_of(attribute, side))
    return frozen(buckets)


def _side(values: Values, bucketing: Bucketing) -> BucketedSide:
    bucket = bucketing.assign(values).astype(np.min_scalar_type(len(bucketing)))
    return BucketedSide(values.unit_mention, frozen(bucket), values.position)


class BlockContext(Struct, frozen=True, eq=False):
    """What the functions of a block need beside it: the same for all blocks, and it can be pickled."""

    source: BlockSource
    choices: Choices
    lexicon: Lexicon | SummedLexicon | None
    known: KnownSentences | None
    unit: str
    attributes: Mapping[str, Attribute] = {}
    facts: Facts | None = None
    confusable: Confusable | None = None
    threads: int = 1  # systems of a block that are counted at the same time
    parts: tuple[LexiconPart, ...] = ()  # of what training data know, for blocks one after the other
    always_tough: bool = False  # whether confusable mentions are of interest without training data too

    def mapped(
        self,
        engine: Engine,
        function: Callable[..., T],
        references: Iterable[Any],
        *,
        send: Callable[[BlockContext], Any] = lambda shared: shared,
    ) -> Iterator[T]:
        """`function(reference, shared)` for each block, with what training data know of it.

        `send` makes what the function needs beside a block, where that is more than this.
        """
        for own, blocks in self.portions(references):
            yield from engine.map(function, blocks, send(own))

    def portions(self, references: Iterable[Any]) -> Iterator[tuple[BlockContext, Iterable[Any]]]:
        """Blocks one after the other, each portion with the part of the lexicon that knows it."""
        if not self.parts:
            yield self, references
            return
        waiting = iter(references)
        for part in self.parts:
            own = replace(self, lexicon=part.lexicon, known=part.known, parts=())
            yield own, islice(waiting, part.blocks)

    @property
    def tough(self) -> bool:
        """Whether anybody asks for tough mentions."""
        return self.always_tough or self.lexicon is not None

    def toughness(self, block: Block, gold: AttributeSide) -> Toughness | None:
        """The tough subsets of the gold mentions of a block."""
        if not self.tough or block.corpus.without_text:
            return None
        side, mentions = as_written(gold), block.gold.mentions
        return toughness(block.corpus, mentions, self.lexicon, side=side, confusable=self.confusable)

    def context(self, gold: Annotation) -> Context:
        """The context of the mentions of one block."""
        return Context(
            corpus=gold.corpus,
            gold=gold.mentions,
            lexicon=self.lexicon,
            known=self.choices.vocabulary,
            lowercase=self.choices.lowercase,
        )

    def with_attributes(self) -> tuple[BlockContext, dict[str, str]]:
        """The attributes that can be computed, according to the first block, and why others cannot."""
        gold = self.source.open(next(self.source.references(gold_only=True)), gold_only=True).gold
        attributes, absent = possible_attributes(self.choices, self.context(gold))
        return replace(self, attributes=attributes), absent

    def sides(self, block: Block) -> list[AttributeSide]:
        """The mentions of a block as attributes see them: gold, then every system."""
        return self.context(block.gold).sides([block.gold.mentions, *block.systems.values()])


class Look(Struct, frozen=True, eq=False):
    """What the gold mentions of one block say of the whole."""

    numbers: Mapping[str, tuple[Floats, Ints]]
    names: Mapping[str, Mapping[str, int]]
    labeled: Labeled | None


Looking = Callable[[BlockContext], Iterator[Look]]


def look(reference: Any, shared: BlockContext) -> Look:
    """Look at the gold mentions of one block: distinct values, and labels of token sequences."""
    gold = shared.source.open(reference, gold_only=True).gold
    return looked(shared.context(gold).side(gold.mentions), shared)


def looked(side: AttributeSide, shared: BlockContext, valued: Valued = values_of) -> Look:
    """Look at the gold mentions of one block that is open, whose values are `valued` so."""
    numbers: dict[str, tuple[Floats, Ints]] = {}
    names: dict[str, dict[str, int]] = {}
    for name, attribute in shared.attributes.items():
        found = valued(attribute, side)
        if found.names is None:
            numbers[name] = found.distinct()
        else:
            names[name] = found.named()
    labeled = None
    if shared.tough and not side.context.corpus.without_text:
        labeled = Labeled.of(as_written(side))
    return Look(numbers, names, labeled)


def as_written(side: AttributeSide) -> AttributeSide:
    """The same mentions with strings compared as they are written, as tough mentions want it."""
    if not side.context.lowercase:
        return side
    return replace(side.context, lowercase=False).side(side.mentions)


def looking_by(engine: Engine) -> Looking:
    """A look at all blocks of a source, wherever the engine runs it."""
    return lambda shared: shared.mapped(engine, look, shared.source.references(gold_only=True))


def fixed(
    shared: BlockContext, looking: Looking, absent: Mapping[str, str], progress: Progress
) -> BlockContext:
    """Look at all blocks, and fix what follows from them: buckets, and which sequences are confusable."""
    looks: list[Look] = []
    carried = Carried()
    total = shared.source.blocks
    progress("look", 0, total)
    for one in looking(shared):
        if one.labeled is not None:
            carried.add(one.labeled)
        looks.append(replace(one, labeled=None))
        progress("look", len(looks), total)
    mixed = [
        name
        for name in shared.attributes
        if any(name in one.names for one in looks) and any(name in one.numbers for one in looks)
    ]
    if mixed:
        # Numbers in one block and names in another: the whole is of categories, as it would be as one block.
        categories = {name: replace(shared.attributes[name], kind="category") for name in mixed}
        again = replace(shared, attributes={**shared.attributes, **categories})
        return fixed(again, looking, absent, progress)
    attributes = {name: _of_kind(attribute, looks) for name, attribute in shared.attributes.items()}
    fitted = {
        name: Fitted.of(attribute, _values(attribute, looks), shared.choices)
        for name, attribute in attributes.items()
    }
    return replace(
        shared,
        attributes=attributes,
        facts=Facts.of(attributes, fitted, absent),
        confusable=carried.confusable() if shared.tough else None,
    )


def _of_kind(attribute: Attribute, looks: Sequence[Look]) -> Attribute:
    """The attribute with the kind that its gold values have in all blocks."""
    kind: Kind = "category" if any(attribute.name in look.names for look in looks) else "numeric"
    return attribute if attribute.kind == kind else replace(attribute, kind=kind)


def _values(attribute: Attribute, looks: Sequence[Look]) -> Values:
    """The values of all gold units, each once: buckets and ζ depend on nothing else."""
    name = attribute.name
    if attribute.kind == "category":
        counts: dict[str, int] = {}
        for look in looks:
            for key, number in look.names.get(name, {}).items():
                counts[key] = counts.get(key, 0) + number
        keys = tuple(sorted(counts))
        code, times = np.arange(len(keys)), ints([counts[key] for key in keys])
        return Values(code, np.ones(len(code), dtype=bool), name, keys, times=times)
    parts = [look.numbers[name] for look in looks]
    value = floats(np.concatenate([part[0] for part in parts]))
    return Values(
        value,
        np.ones(len(value), dtype=bool),
        name,
        bounds=attribute.bounds,
        whole=attribute.whole,
        times=ints(np.concatenate([part[1] for part in parts])),
    )


def possible_attributes(choices: Choices, context: Context) -> tuple[dict[str, Attribute], dict[str, str]]:
    """The attributes asked for that can be computed, and why the others cannot."""
    chosen = _chosen(choices, context)
    absent = {
        name: why for name, attribute in chosen.items() if (why := why_absent(attribute, context)) is not None
    }
    choices.check_crosses(absent)
    return {name: attribute for name, attribute in chosen.items() if name not in absent}, absent


def _chosen(choices: Choices, context: Context) -> dict[str, Attribute]:
    """The attributes asked for by name, preset or object, and those that buckets were given for."""
    asked, told = choices.attributes, [*choices.buckets, *choices.edges]
    if asked is None:
        default = choose(unless_given("attributes"))
        # Without training data those that need it were not asked for, so nothing is said to be absent.
        if context.lexicon is None:
            default = [attribute for attribute in default if why_absent(attribute, context) is None]
        listed: list[str | Attribute] = [*default, *told]
    elif isinstance(asked, str | Attribute):
        listed = [*choose([] if asked == "none" else asked), *told]
    else:
        listed = [*(attribute for attribute in asked if attribute != "none"), *told]
    return {attribute.name: attribute for attribute in choose(listed)}


def _bucketing(attribute: Attribute, gold: Values, choices: Choices) -> tuple[Bucketing, str]:
    told = {_name(key): value for key, value in choices.buckets.items()}
    kept = {_name(key): value for key, value in choices.edges.items()}
    if attribute.name in told and attribute.name in kept:
        raise ChoiceError(
            f"the buckets of {attribute.name!r} are given twice, as a strategy and as saved edges.\n"
            "Leave one of them out."
        )
    if attribute.name in kept:
        return Bucketing.from_dict(kept[attribute.name]), "saved edges"
    bucketing = fit(told.get(attribute.name, default_strategy(attribute)), gold, attribute=attribute.name)
    return bucketing, bucketing.strategy


def _name(key: str | Attribute) -> str:
    """The long name of an attribute that may be given by its alias or as itself."""
    return choose([key])[0].name


# ---- sources of any kind opened: what training data know of them, and the engine that runs them ----


def unheard(step: str, done: int, total: int) -> None:
    """Progress that is not shown."""


SPARK = ("pyspark.", "spanwise.engines.spark")  # where the types of Spark, and of our engines on it, live


class Unopened(Struct, frozen=True, eq=False):
    """Sources of any kind as a verb is given them, and how they are to be read and by whom."""

    gold: object  # or a frame that holds the predictions, too
    systems: object
    train: object
    choices: Choices
    columns: FrameColumns | None = None  # of a frame
    name: str | None = None
    engine: Engine | None = None
    alone: bool = False  # whether gold is asked for alone, beside training data with their documents
    predicted_reading: ReadKeywords | None = None  # what predictions alone are read with


class Opened(Struct, frozen=True, eq=False):
    """Blocks, what all of them share, the attributes that cannot be computed, and the training files."""

    shared: BlockContext
    absent: Mapping[str, str]
    training: Sequence[Mapping[str, object]]  # entries of the result document
    engine: Engine
    free: Callable[[], None] = nothing  # lets executors forget the blocks
    train: TrainingPlace | None = None  # training data themselves

    def fixed(self, progress: Progress = unheard) -> BlockContext:
        """Look at all blocks, and fix what follows from them."""
        return fixed(self.shared, looking_by(self.engine), self.absent, progress)


def of_spark(value: object) -> bool:
    """Whether a value is Spark's, or our engine on it, without loading either."""
    return any(kind.__module__.startswith(SPARK) for kind in type(value).__mro__)


def framed(
    source: object, gold: object, systems: object, reading: dict[str, Any]
) -> tuple[object, object, FrameColumns | None]:
    """A frame, its systems and its columns, whose names are taken out of `reading`; None of anything else."""
    if not of_spark(source):
        return source, systems, None
    result: tuple[object, object, FrameColumns | None]
    result = reach("evaluation.spark:framed")(source, gold, systems, reading)
    return result


def read_by_spark(gold: object, systems: object, train: object, engine: Engine | None) -> bool:
    """Whether the files are such that Spark, the engine, reads them itself."""
    return of_spark(engine) and reach("evaluation.spark:any_in_lake")(gold, systems, train)


def spark_opened(given: Unopened, progress: Progress) -> Opened | None:
    """A frame, or files that Spark reads, as blocks; None where this machine reads the files."""
    if given.columns is None and not of_spark(given.engine):
        return None
    opened: Opened | None = reach("evaluation.spark:spark_opened")(given, progress)
    return opened


def opened_elsewhere(
    given: Unopened,
    *,
    always_tough: bool = False,
    memory: int | str | None = None,
    workers: int | None = 1,
) -> Opened:
    """Sources of any kind, opened for a verb that asks less than `evaluate`."""
    reading = given.choices.reading
    check_keywords(reading)
    opened = spark_opened(given, unheard)
    if opened is None:
        beside = given.systems
        if given.alone:  # training data are as large as the test set
            files = [
                listed_source
                for listed_source in listed_sources(given.train)
                if isinstance(listed_source, str | os.PathLike)
            ]
            beside = dict(enumerate(files))
        bound, workers = parts_of(
            memory, workers, given.gold, beside, streamable=True, reading=reading,
            elsewhere=given.engine is not None,
        )  # fmt: skip
        opened = opened_here(given, unheard, memory=bound, workers=workers)
    return replace(opened, shared=replace(opened.shared, always_tough=always_tough))


def opened_inputs(inputs: Inputs, choices: Choices, *, always_tough: bool = False) -> Opened:
    """Data that were read already, as one block."""
    opened = opened_with(OneBlock(inputs), choices, TrainingFacts.of(inputs.train), local_engine(1))
    return replace(opened, shared=replace(opened.shared, always_tough=always_tough))


def opened_here(given: Unopened, progress: Progress, *, memory: int | None, workers: int) -> Opened:
    """Sources that this machine reads: in memory as one block, or in parts of about this much memory."""
    source: BlockSource
    choices, engine, name = given.choices, given.engine, given.name
    where = engine or local_engine(workers)
    if not given.alone:
        check_any(given.systems)
    if memory is None:
        progress("read", 0, 1)
        inputs = _held(given)
        progress("read", 1, 1)
        choices.check_systems(list(inputs.systems))
        source, training = OneBlock(inputs), TrainingFacts.of(inputs.train)
        asked_again = given.alone and inputs.train
        train = TrainingPlace(TrainingFiles.held(inputs.train), where) if asked_again else None
    else:
        keep = engine is None or not engine.elsewhere  # rows that are kept would travel with every block
        source, files = at_once(
            lambda: many_blocks(
                given.gold,
                given.systems,
                choices,
                name=name,
                memory=memory,
                keep=keep,
                progress=progress,
                predicted_reading=given.predicted_reading,
            ),
            lambda: TrainingFiles.of(
                given.train, choices.reading, keep=keep, held=memory if keep else 0, documents=given.alone
            ),
        )
        train = TrainingPlace(files, where) if files.files else None
        training = learnt(source, train, lowercase=choices.lowercase, engine=where, bound=most_shared(where))
    threads = MOST_THREADS if memory is None and engine is None else 1
    opened = opened_with(source, choices, training, where, threads=threads)
    return replace(opened, train=train) if given.alone else opened


def _held(given: Unopened) -> Inputs:
    """Sources read whole."""
    reading = given.choices.reading
    if given.alone:
        return gathered_alone(given.gold, given.train, reading=reading, name=given.name)
    return gather(
        given.gold, given.systems, given.train, align=given.choices.align, reading=reading, name=given.name,
        predicted_reading=given.predicted_reading,
    )  # fmt: skip


def opened_with(
    source: BlockSource, choices: Choices, training: TrainingFacts, engine: Engine, *, threads: int = 1,
    free: Callable[[], None] = nothing,
) -> Opened:  # fmt: skip
    """A source, with what training data know of it, and the engine that runs its blocks."""
    unit = unit_of(choices.unit, source.documents, source.path)
    shared = BlockContext(
        source, choices, training.lexicon, training.known, unit, threads=threads, parts=training.parts
    )
    with_attributes, absent = shared.with_attributes()
    return Opened(with_attributes, absent, training.entries, engine, free)
