"""Open sources as blocks, and take a first look at gold, from which buckets and other facts follow."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.attributes import (
    Attribute,
    Confusable,
    Context,
    Kind,
    LabelCollector,
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
from spanwise.composition import SentenceHashes
from spanwise.corpus import Annotation, Mentions
from spanwise.document import Input
from spanwise.engines import MOST_THREADS, Engine, at_once, local_engine, most_shared
from spanwise.errors import ChoiceError
from spanwise.evaluation._measures import BucketedSide
from spanwise.evaluation.blocks import (
    BlockSource,
    BlockSums,
    LexiconPart,
    OneBlock,
    Progress,
    ReadLabels,
    TrainingData,
    TrainingFacts,
    TrainingFiles,
    do_nothing,
    learn_facts,
    many_blocks,
)
from spanwise.evaluation.choices import (
    Block,
    Choices,
    Inputs,
    ResampledUnits,
    check_any,
    check_keywords,
    parts_of,
    read_gold_inputs,
    read_inputs,
    unit_of,
)
from spanwise.formats import ReadKeywords, listed_sources
from spanwise.mentions import MentionTable
from spanwise.registry import resolve
from spanwise.settings import default_value

if TYPE_CHECKING:
    from spanwise.evaluation.frames import FrameColumns

T = TypeVar("T")


class Facts(Struct, frozen=True, eq=False):
    """What is fixed before any system is counted: the attributes, their buckets and ζ."""

    attributes: Mapping[str, Attribute]
    bucketings: Mapping[str, Bucketing]
    strategies: Mapping[str, str]
    zeta: Mapping[str, float]
    absent: Mapping[str, str]  # attributes that cannot be computed, and why

    @classmethod
    def of(
        cls,
        attributes: Mapping[str, Attribute],
        gold: Mapping[str, Values],
        choices: Choices,
        absent: Mapping[str, str],
    ) -> Facts:
        """Fit buckets to the gold values of each attribute, unless they are given."""
        bucketings, strategies, zeta = dict[str, Bucketing](), dict[str, str](), dict[str, float]()
        for name, attribute in attributes.items():
            bucketings[name], strategies[name] = _bucketing(attribute, gold[name], choices)
            zeta[name] = gold[name].zeta
            # Built-in attributes only count and compare; buckets of any others may reveal the data.
            if choices.redact and not is_built_in(attribute):
                bucketings[name], strategies[name] = bucketings[name].redacted(), "redacted"
                zeta[name] = math.nan
        return cls(dict(attributes), bucketings, strategies, zeta, dict(absent))


class DatasetBlock(Struct, frozen=True, eq=False):
    """The gold side of one block, which does not depend on the systems that are evaluated."""

    inputs: Block
    units: ResampledUnits
    toughness: Toughness | None
    facts: Facts
    table: MentionTable  # of gold, with the buckets of attributes of mentions
    gold_sides: Mapping[str, BucketedSide]  # the gold units of every attribute, while systems are counted
    positions: Mapping[str, Floats]  # of the gold mentions, where inputs may have been truncated

    @property
    def gold(self) -> Mentions:
        """The gold mentions."""
        return self.inputs.gold.mentions

    def counted(self) -> DatasetBlock:
        """A copy without the token units, which are numerous and no longer needed after counting."""
        return replace(self, gold_sides={})


def mention_table(
    mentions: Mentions,
    units: ResampledUnits,
    sides: Mapping[str, BucketedSide],
    toughness: Toughness | None = None,
) -> MentionTable:
    """The table of one side: unit, label, buckets and, if they are known, tough subsets of each mention."""
    columns: dict[str, Column] = {"unit": ints(units.of_sentence[mentions.sentence]), "label": mentions.label}
    columns |= {f"bucket.{name}": side.bucket for name, side in sides.items() if side.position is None}
    if toughness is not None:
        columns |= {f"tough.{subset}": toughness.of(subset) for subset in toughness.subsets}
    return MentionTable({}, tuple(mentions.labels), units.number).with_columns(columns)


ComputeValues = Callable[[Attribute, AttributeSide], Values]  # computes the values of an attribute


def sides_of(
    facts: Facts, side: AttributeSide, compute_values: ComputeValues = values_of
) -> dict[str, BucketedSide]:
    """Assign the units of every attribute on one side to buckets; `compute_values` computes their values."""
    return {
        name: _side(compute_values(attribute, side), facts.bucketings[name])
        for name, attribute in facts.attributes.items()
    }


def _side(values: Values, bucketing: Bucketing) -> BucketedSide:
    bucket = bucketing.assign(values).astype(np.min_scalar_type(len(bucketing)))
    return BucketedSide(values.unit_mention, frozen(bucket), values.position)


class BlockContext(Struct, frozen=True, eq=False):
    """What all blocks share: the second argument of the functions that run over blocks. It can be pickled."""

    source: BlockSource
    choices: Choices
    lexicon: Lexicon | SummedLexicon | None
    training_sentences: SentenceHashes | None
    unit: str
    attributes: Mapping[str, Attribute] = {}
    facts: Facts | None = None
    confusable: Confusable | None = None
    threads: int = 1  # the number of systems of a block that are counted at the same time
    parts: tuple[LexiconPart, ...] = ()  # of the training facts, for consecutive blocks
    always_tough: bool = False  # whether confusable mentions are needed without training data too
    training: Sequence[Input] = ()  # the entries of training data in the document

    def entries(self, sums: Mapping[str, BlockSums]) -> tuple[Input, ...]:
        """The entries of all sources in the document, from the sums over their blocks."""
        return *self.source.entries(sums), *self.training

    def mapped(
        self,
        engine: Engine,
        function: Callable[..., T],
        references: Iterable[object],
        *,
        send: Callable[[BlockContext], object] = lambda shared: shared,
    ) -> Iterator[T]:
        """Yield `function(reference, shared)` for each block, where `shared` holds the training facts for it.

        `send` makes the second argument of functions that need more than this context.
        """
        for context, blocks in self.portions(references):
            yield from engine.map(function, blocks, send(context))

    def portions(self, references: Iterable[T]) -> Iterator[tuple[BlockContext, Iterable[T]]]:
        """Yield consecutive blocks together with the context that holds the training facts for them."""
        if not self.parts:
            yield self, references
            return
        waiting = iter(references)
        for part in self.parts:
            context = replace(
                self, lexicon=part.lexicon, training_sentences=part.training_sentences, parts=()
            )
            yield context, islice(waiting, part.blocks)

    @property
    def tough(self) -> bool:
        """Whether tough mentions are needed."""
        return self.always_tough or self.lexicon is not None

    def toughness(self, block: Block, gold: AttributeSide) -> Toughness | None:
        """The tough subsets of the gold mentions of a block."""
        if not self.tough or block.corpus.without_text:
            return None
        side, mentions = with_original_case(gold), block.gold.mentions
        return toughness(block.corpus, mentions, self.lexicon, side=side, confusable=self.confusable)

    def context(self, gold: Annotation) -> Context:
        """The context in which attributes of the mentions of one block are computed."""
        return Context(
            corpus=gold.corpus,
            gold=gold.mentions,
            lexicon=self.lexicon,
            known=self.choices.vocabulary,
            lowercase=self.choices.lowercase,
        )

    def with_attributes(self) -> tuple[BlockContext, dict[str, str]]:
        """Add the attributes that can be computed, judging by the first block, and say why others cannot."""
        gold = self.source.open(next(self.source.references(gold_only=True)), gold_only=True).gold
        attributes, absent = possible_attributes(self.choices, self.context(gold))
        return replace(self, attributes=attributes), absent

    def sides(self, block: Block) -> list[AttributeSide]:
        """The mentions of a block in the form that attributes take: gold, then every system."""
        return self.context(block.gold).sides([block.gold.mentions, *block.systems.values()])


class Look(Struct, frozen=True, eq=False):
    """What one block contributes to the facts: values of its gold mentions, and labels of token sequences."""

    numbers: Mapping[str, tuple[Floats, Ints]]
    names: Mapping[str, Mapping[str, int]]
    labeled: Labeled | None


LookAll = Callable[[BlockContext], Iterator[Look]]  # looks at all blocks


def look(reference: object, shared: BlockContext) -> Look:
    """Collect the distinct values of the gold mentions of one block, and the labels of token sequences."""
    gold = shared.source.open(reference, gold_only=True).gold
    return look_at(shared.context(gold).side(gold.mentions), shared)


def look_at(side: AttributeSide, shared: BlockContext, compute_values: ComputeValues = values_of) -> Look:
    """Like `look`, for a block that is already open; `compute_values` computes the values of attributes."""
    numbers: dict[str, tuple[Floats, Ints]] = {}
    names: dict[str, dict[str, int]] = {}
    for name, attribute in shared.attributes.items():
        values = compute_values(attribute, side)
        if values.names is None:
            numbers[name] = values.distinct()
        else:
            names[name] = values.named()
    labeled = None
    if shared.tough and not side.context.corpus.without_text:
        labeled = Labeled.of(with_original_case(side))
    return Look(numbers, names, labeled)


def with_original_case(side: AttributeSide) -> AttributeSide:
    """The same mentions with case kept: toughness compares strings as they are written."""
    if not side.context.lowercase:
        return side
    return replace(side.context, lowercase=False).side(side.mentions)


def look_all_on(engine: Engine) -> LookAll:
    """Return a function that looks at all blocks of a source on this engine."""
    return lambda shared: shared.mapped(engine, look, shared.source.references(gold_only=True))


def fix_facts(
    shared: BlockContext, look_all: LookAll, absent: Mapping[str, str], progress: Progress
) -> BlockContext:
    """Look at all blocks, and add the facts that follow: buckets, and which sequences are confusable."""
    looks: list[Look] = []
    carried = LabelCollector()
    total = shared.source.blocks
    progress("look", 0, total)
    for look in look_all(shared):
        if look.labeled is not None:
            carried.add(look.labeled)
        looks.append(replace(look, labeled=None))
        progress("look", len(looks), total)
    mixed = [
        name
        for name in shared.attributes
        if any(name in look.names for look in looks) and any(name in look.numbers for look in looks)
    ]
    if mixed:
        # Numbers in one block, names in another: all are categories, as they would be in a single block.
        categories = {name: replace(shared.attributes[name], kind="category") for name in mixed}
        recast = replace(shared, attributes={**shared.attributes, **categories})
        return fix_facts(recast, look_all, absent, progress)
    attributes = {name: _of_kind(attribute, looks) for name, attribute in shared.attributes.items()}
    gold = {name: _values(attribute, looks) for name, attribute in attributes.items()}
    return replace(
        shared,
        attributes=attributes,
        facts=Facts.of(attributes, gold, shared.choices, absent),
        confusable=carried.confusable() if shared.tough else None,
    )


def _of_kind(attribute: Attribute, looks: Sequence[Look]) -> Attribute:
    """The attribute with the kind of its gold values over all blocks."""
    kind: Kind = "category" if any(attribute.name in look.names for look in looks) else "numeric"
    return attribute if attribute.kind == kind else replace(attribute, kind=kind)


def _values(attribute: Attribute, looks: Sequence[Look]) -> Values:
    """The distinct values of the gold units and how often each occurs: all that buckets and ζ depend on."""
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
    """The chosen attributes that can be computed, and why the others cannot."""
    chosen = _chosen(choices, context)
    absent = {
        name: why for name, attribute in chosen.items() if (why := why_absent(attribute, context)) is not None
    }
    choices.check_crosses(absent)
    return {name: attribute for name, attribute in chosen.items() if name not in absent}, absent


def _chosen(choices: Choices, context: Context) -> dict[str, Attribute]:
    """The attributes chosen by name, preset or object, and those for which buckets were given."""
    requested, bucketed = choices.attributes, [*choices.buckets, *choices.edges]
    if requested is None:
        default = choose(default_value("attributes"))
        # Without training data, defaults that need it are dropped silently: nobody asked for them.
        if context.lexicon is None:
            default = [attribute for attribute in default if why_absent(attribute, context) is None]
        listed: list[str | Attribute] = [*default, *bucketed]
    elif isinstance(requested, str | Attribute):
        listed = [*choose([] if requested == "none" else requested), *bucketed]
    else:
        listed = [*(attribute for attribute in requested if attribute != "none"), *bucketed]
    return {attribute.name: attribute for attribute in choose(listed)}


def _bucketing(attribute: Attribute, gold: Values, choices: Choices) -> tuple[Bucketing, str]:
    strategies = {_name(key): value for key, value in choices.buckets.items()}
    edges = {_name(key): value for key, value in choices.edges.items()}
    if attribute.name in strategies and attribute.name in edges:
        raise ChoiceError(
            f"the buckets of {attribute.name!r} are given twice, as a strategy and as saved edges.\n"
            "Leave one of them out."
        )
    if attribute.name in edges:
        return Bucketing.from_dict(edges[attribute.name]), "saved edges"
    bucketing = fit(
        strategies.get(attribute.name, default_strategy(attribute)), gold, attribute=attribute.name
    )
    return bucketing, bucketing.strategy


def _name(key: str | Attribute) -> str:
    """The full name of an attribute that is given by name, by alias or as an object."""
    return choose([key])[0].name


# ---- opening sources -----------------------------------------------------------------------------


def ignore_progress(step: str, done: int, total: int) -> None:
    """Ignore progress."""


SPARK = ("pyspark.", "spanwise.engines.spark")  # the modules of Spark's types, and of our engines on it


class OpenedInputs(Inputs, frozen=True, eq=False):
    """Sources that were read for several questions, which functions take in place of gold."""

    training: TrainingFacts

    @classmethod
    def of(cls, inputs: Inputs) -> OpenedInputs:
        """Collect the facts from the training data."""
        keys = {key: getattr(inputs, key) for key in inputs.__struct_fields__}
        return cls(**keys, training=TrainingFacts.of(inputs.train))

    def without_systems(self) -> OpenedInputs:
        """Gold and training data alone."""
        entries = tuple(entry for entry in self.entries if entry.role == "gold")
        return replace(self, systems={}, predicted={}, alignment={}, entries=entries)


def training_facts(inputs: Inputs) -> TrainingFacts:
    """What is known from the training data of sources in memory."""
    return inputs.training if isinstance(inputs, OpenedInputs) else TrainingFacts.of(inputs.train)


class UnopenedSources(Struct, frozen=True, eq=False):
    """The sources that a verb was given, and how to read them."""

    gold: object  # or a frame that holds the predictions too
    systems: object
    train: object
    choices: Choices
    columns: FrameColumns | None = None  # of a frame
    name: str | None = None
    engine: Engine | None = None
    alone: bool = False  # whether only gold is read, and training data with their documents
    predicted_reading: ReadKeywords | None = None  # keywords for reading predictions
    all_labels: bool = True  # whether rules on labels must name labels of these sources


class OpenedSources(Struct, frozen=True, eq=False):
    """A source of blocks that is ready to run, with its engine and its training data."""

    shared: BlockContext
    absent: Mapping[str, str]  # attributes that cannot be computed, and why
    engine: Engine
    free: Callable[[], None] = do_nothing  # lets executors drop the blocks
    train: TrainingData | None = None  # training data themselves
    training_labels: ReadLabels = ReadLabels()

    def fix_facts(self, progress: Progress = ignore_progress) -> BlockContext:
        """Look at all blocks, and add the facts that follow."""
        return fix_facts(self.shared, look_all_on(self.engine), self.absent, progress)

    def walk(
        self,
        function: Callable[..., T],
        *,
        send: Callable[[BlockContext], object] = lambda shared: shared,
        tough: bool | None = None,
    ) -> tuple[list[T], BlockContext]:
        """Fix the facts if there are any to fix, and run a function over all blocks, which are freed then.

        Args:
            send: as in `mapped`.
            tough: whether tough mentions are needed; by default, if there are training data to tell.
        """
        try:
            needed = self.shared.attributes or (self.shared.tough if tough is None else tough)
            context = self.fix_facts() if needed else self.shared
            return list(
                context.mapped(self.engine, function, context.source.references(), send=send)
            ), context
        finally:
            self.free()


def is_spark(value: object) -> bool:
    """Whether a value is an object of Spark, or one of our engines on it; imports neither."""
    return any(kind.__module__.startswith(SPARK) for kind in type(value).__mro__)


def resolve_frame(
    source: object, gold: object, systems: object, reading: dict[str, object]
) -> tuple[object, object, FrameColumns | None]:
    """A frame, its systems and its columns, which are taken out of `reading`; other sources have none."""
    if not is_spark(source):
        return source, systems, None
    result: tuple[object, object, FrameColumns | None]
    result = resolve("evaluation.spark:resolve_frame")(source, gold, systems, reading)
    return result


def read_by_spark(gold: object, systems: object, train: object, engine: Engine | None) -> bool:
    """Whether the engine is Spark, and the files are such that Spark reads them itself."""
    return is_spark(engine) and resolve("evaluation.spark:any_in_lake")(gold, systems, train)


def open_with_spark(sources: UnopenedSources, progress: Progress) -> OpenedSources | None:
    """Open a frame, or files that Spark reads, as blocks; None if this machine reads the files."""
    if sources.columns is None and not is_spark(sources.engine):
        return None
    opened: OpenedSources | None = resolve("evaluation.spark:open_with_spark")(sources, progress)
    return opened


def open_sources(
    sources: UnopenedSources,
    *,
    always_tough: bool = False,
    memory: int | str | None = None,
    workers: int | None = 1,
) -> OpenedSources:
    """Open sources of any kind, for verbs with fewer options than `evaluate`."""
    reading = sources.choices.reading
    check_keywords(reading)
    opened = open_with_spark(sources, ignore_progress)
    if opened is None:
        others = sources.systems
        if sources.alone:  # the size of training files counts as well
            files = [
                listed_source
                for listed_source in listed_sources(sources.train)
                if isinstance(listed_source, str | os.PathLike)
            ]
            others = dict(enumerate(files))
        bound, workers = parts_of(
            memory, workers, sources.gold, others, streamable=True, reading=reading,
            elsewhere=sources.engine is not None,
        )  # fmt: skip
        opened = open_locally(sources, ignore_progress, memory=bound, workers=workers)
    return replace(opened, shared=replace(opened.shared, always_tough=always_tough))


def open_locally(
    sources: UnopenedSources, progress: Progress, *, memory: int | None, workers: int
) -> OpenedSources:
    """Open sources that this machine reads: in memory as one block, or in parts of about `memory` bytes."""
    source: BlockSource
    choices, engine, name = sources.choices, sources.engine, sources.name
    block_engine = engine or local_engine(workers)
    if not sources.alone:
        check_any(sources.systems)
    if memory is None:
        progress("read", 0, 1)
        inputs = _read_whole(sources)
        progress("read", 1, 1)
        choices.check_systems(list(inputs.systems))
        source, training = OneBlock(inputs), training_facts(inputs)
        needs_training = sources.alone and inputs.train
        train = TrainingData(TrainingFiles.in_memory(inputs.train), block_engine) if needs_training else None
    else:
        keep = engine is None or not engine.elsewhere  # kept rows would be sent along with every block
        source, files = at_once(
            lambda: many_blocks(
                sources.gold,
                sources.systems,
                choices,
                name=name,
                memory=memory,
                keep=keep,
                progress=progress,
                predicted_reading=sources.predicted_reading,
            ),
            lambda: TrainingFiles.of(
                sources.train,
                choices.reading,
                keep=keep,
                hold_up_to=memory if keep else 0,
                documents=sources.alone,
            ),
        )
        train = TrainingData(files, block_engine) if files.files else None
        training = learn_facts(
            source, train, lowercase=choices.lowercase, engine=block_engine, bound=most_shared(block_engine)
        )
    if sources.all_labels:
        (source.read_labels | ReadLabels(training.labels)).check(choices.reading)
    threads = MOST_THREADS if memory is None and engine is None else 1
    opened = prepare_source(source, choices, training, block_engine, threads=threads)
    return replace(opened, train=train) if sources.alone else opened


def _read_whole(sources: UnopenedSources) -> Inputs:
    """Read the sources whole, unless they were read for several questions."""
    if isinstance(sources.gold, OpenedInputs) and sources.alone:
        return sources.gold.without_systems()
    if isinstance(sources.gold, Inputs):
        return sources.gold
    reading = sources.choices.reading
    if sources.alone:
        return read_gold_inputs(sources.gold, sources.train, reading=reading, name=sources.name)
    return read_inputs(
        sources.gold, sources.systems, sources.train, align=sources.choices.align, reading=reading,
        name=sources.name,
        predicted_reading=sources.predicted_reading,
    )  # fmt: skip


def prepare_source(
    source: BlockSource, choices: Choices, training: TrainingFacts, engine: Engine, *, threads: int = 1,
    free: Callable[[], None] = do_nothing,
) -> OpenedSources:  # fmt: skip
    """Combine a source, its training facts and the engine that runs its blocks."""
    unit = unit_of(choices.unit, source.documents, source.path)
    shared = BlockContext(
        source,
        choices,
        training.lexicon,
        training.training_sentences,
        unit,
        threads=threads,
        parts=training.parts,
        training=training.entries,
    )
    with_attributes, absent = shared.with_attributes()
    labels = ReadLabels(training.labels)
    return OpenedSources(with_attributes, absent, engine, free, training_labels=labels)
