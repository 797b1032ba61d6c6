"""Datasets that are read and looked at once, for groups of systems that are evaluated one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from spanwise.alignment import How
from spanwise.attributes import Context
from spanwise.corpus import Annotation, Mentions
from spanwise.engines import MOST_THREADS, Engine, InProcess
from spanwise.evaluation._blocks import ManyBlocks, OneBlock, TrainingFacts
from spanwise.evaluation._choices import Choices, Inputs, gathered, read_predicted, training_of
from spanwise.evaluation._counting import (
    GoldBlock,
    counted_block,
    counted_whole,
    fixed_alone,
    with_systems,
)
from spanwise.evaluation._dataset import BlockContext, Opened, Unopened, opened_here, opened_with, unheard
from spanwise.evaluation.result import Result, result_of
from spanwise.formats import Reader
from spanwise.formats._format import ReadKeywords


class ReadGold(Struct, frozen=True, eq=False):
    """The gold and training data of a dataset, read, on which the predictions of systems can be put."""

    name: str
    gold: Annotation
    train: tuple[Annotation, ...]
    align: How
    reading: ReadKeywords

    @classmethod
    def of(cls, name: str, gold: Any, train: object, *, align: How, reading: ReadKeywords) -> ReadGold:
        """Read each source once, with the words of both in one vocabulary."""
        reader = Reader(**reading)
        training = training_of(train, reader)
        block = gathered(reader.read(gold), {}, training, align=align, name=name)
        return cls(name, block.gold, block.train, align, reading)

    def read(self, systems: Mapping[str, object]) -> ReadSystems:
        """Read predictions, and put them on the gold text."""
        prefer = self.gold.reading.scheme
        predicted = read_predicted(systems, [Reader(**self.reading)], prefer=prefer)
        block = gathered(self.gold, predicted, align=self.align, name=self.name)
        return ReadSystems(
            block.systems, tuple(entry for entry in block.entries if entry["role"] == "predicted")
        )

    def prepared(self, **choices: Any) -> PreparedDataset:
        """Learn from the training data, look at gold, and fix what follows, by keywords of `evaluate`."""
        made = Choices.usual(**choices, align=self.align, reading=self.reading)
        block = gathered(self.gold, {}, align=self.align, name=self.name)
        training = TrainingFacts.of(self.train)
        opened = opened_with(OneBlock(block), made, training, InProcess(), threads=MOST_THREADS)
        context = opened.shared.context(block.gold)
        side = context.side(block.gold.mentions)
        known, gold = fixed_alone(block, side, opened.shared, opened.absent, unheard)
        return PreparedDataset(block, known, gold, tuple(opened.training))


class ReadSystems(Struct, frozen=True, eq=False):
    """The predictions of systems as mentions on the gold text, and how they were read."""

    mentions: Mapping[str, Mentions]
    entries: tuple[Mapping[str, Any], ...]  # of the result document


class PreparedDataset(Struct, frozen=True, eq=False, dict=True):
    """A dataset on which systems can be evaluated: nothing in it depends on them."""

    block: Inputs
    known: BlockContext
    gold: GoldBlock
    training: Sequence[Mapping[str, object]]  # entries of the result document

    @property
    def path(self) -> str:
        """The gold file, as places of sentences name it."""
        return self.block.gold.corpus.source.path

    @cached_property
    def context(self) -> Context:
        """What the mentions of all systems are seen in."""
        return self.known.context(self.block.gold)

    def result(self, systems: ReadSystems) -> Result:
        """Evaluate systems; what is said of one of them does not depend on those of other groups."""
        entries = (*self.block.entries, *(dict(entry) for entry in systems.entries))
        block = replace(self.block, systems=systems.mentions, entries=entries)
        shared = replace(self.known, source=OneBlock(block))
        one = with_systems(self.gold, block, self.context.sides(list(systems.mentions.values())), shared)
        whole = counted_block(one, shared)
        return result_of(shared.choices, whole, one, training=self.training, unit=shared.unit)


class PartedDataset(Struct, frozen=True, eq=False):
    """A dataset whose files, those of all systems among them, come in parts, for groups of systems."""

    source: ManyBlocks
    opened: Opened
    memory: int

    @classmethod
    def of(
        cls,
        name: str,
        gold: object,
        systems: Mapping[str, object],
        train: object,
        *,
        memory: int,
        engine: Engine,
        **choices: Any,
    ) -> PartedDataset:
        """Look at all files once, and learn from the training data, by keywords of `evaluate`."""
        given = Unopened(gold, systems, train, Choices.usual(**choices), name=name, engine=engine)
        opened = opened_here(given, unheard, memory=memory, workers=1)
        source = opened.shared.source
        assert isinstance(source, ManyBlocks)
        return cls(source, opened, memory)

    @property
    def path(self) -> str:
        """The gold file, as places of sentences name it."""
        return self.source.path

    def fixed(self) -> PartedDataset:
        """Look at the gold mentions of all parts, and fix what follows from them."""
        return replace(self, opened=replace(self.opened, shared=self.opened.fixed()))

    def result(self, systems: Mapping[str, str]) -> Result:
        """Evaluate some of the systems, each by its new name, part by part; other files stay closed."""
        opened = self.opened
        shared = replace(opened.shared, source=self.source.only(systems))
        whole = counted_whole(shared, opened.engine, unheard)
        return result_of(
            shared.choices, whole, whole, training=opened.training, unit=shared.unit, memory=self.memory
        )
