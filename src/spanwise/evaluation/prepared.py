"""Datasets that are read and surveyed once, and on which groups of systems are then evaluated in turn."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from spanwise.alignment import How
from spanwise.attributes import Context
from spanwise.corpus import Annotation, Mentions
from spanwise.document import Input
from spanwise.document.evaluation import Result
from spanwise.engines import MOST_THREADS, Engine, InProcess
from spanwise.evaluation.blocks import ManyBlocks, OneBlock, ReadLabels, TrainingFacts
from spanwise.evaluation.choices import Choices, Inputs, combine_inputs, read_predicted, training_of
from spanwise.evaluation.counting import (
    GoldBlock,
    count_blocks,
    count_one_block,
    fix_facts_of_one_block,
    match_systems,
)
from spanwise.evaluation.dataset import (
    BlockContext,
    OpenedSources,
    UnopenedSources,
    ignore_progress,
    open_locally,
    prepare_source,
)
from spanwise.evaluation.result import result_of
from spanwise.formats import Reader, ReadKeywords


class ReadGold(Struct, frozen=True, eq=False):
    """The gold and training data of a dataset, to which the predictions of systems can be aligned."""

    name: str
    gold: Annotation
    train: tuple[Annotation, ...]
    align: How
    reading: ReadKeywords

    @classmethod
    def of(cls, name: str, gold: object, train: object, *, align: How, reading: ReadKeywords) -> ReadGold:
        """Read the gold and training sources once each, with one vocabulary for the words of both."""
        reader = Reader(**reading)
        training = training_of(train, reader)
        block = combine_inputs(reader.read(gold), {}, training, align=align, name=name)
        return cls(name, block.gold, block.train, align, reading)

    def read(self, systems: Mapping[str, object]) -> ReadSystems:
        """Read the predictions of systems and align them to the gold text."""
        prefer = self.gold.reading.scheme
        predicted = read_predicted(systems, [Reader(**self.reading)], prefer=prefer)
        block = combine_inputs(self.gold, predicted, align=self.align, name=self.name)
        return ReadSystems(
            block.systems,
            tuple(entry for entry in block.entries if entry.role == "predicted"),
            OneBlock(block).read_labels,
        )

    def prepared(self, **choices: Any) -> PreparedDataset:
        """Compute everything that does not depend on a system; `choices` are keywords of `evaluate`.

        Collects facts from the training data, surveys gold, and fixes the buckets.
        """
        all_choices = Choices.usual(**choices, align=self.align, reading=self.reading)
        block = combine_inputs(self.gold, {}, align=self.align, name=self.name)
        training = TrainingFacts.of(self.train)
        opened = prepare_source(OneBlock(block), all_choices, training, InProcess(), threads=MOST_THREADS)
        context = opened.shared.context(block.gold)
        side = context.side(block.gold.mentions)
        shared, gold = fix_facts_of_one_block(block, side, opened.shared, opened.absent, ignore_progress)
        return PreparedDataset(block, shared, gold, ReadLabels(training.labels))


class ReadSystems(Struct, frozen=True, eq=False):
    """The predictions of systems as mentions in the gold text, and a record of how they were read."""

    mentions: Mapping[str, Mentions]
    entries: tuple[Input, ...]  # the entries of the files in the result document
    labels: ReadLabels  # of gold and of the predictions


class PreparedDataset(Struct, frozen=True, eq=False, dict=True):
    """A dataset that is ready for systems to be evaluated on; nothing in it depends on a system."""

    block: Inputs
    shared: BlockContext
    gold: GoldBlock
    training_labels: ReadLabels

    @property
    def path(self) -> str:
        """The path of the gold file, as it appears in the sources of sentences."""
        return self.block.gold.corpus.source.path

    @cached_property
    def context(self) -> Context:
        """The context in which the attributes of all systems' mentions are computed."""
        return self.shared.context(self.block.gold)

    def result(self, systems: ReadSystems) -> Result:
        """Evaluate a group of systems; their results do not depend on the systems of other groups."""
        entries = (*self.block.entries, *systems.entries)
        block = replace(self.block, systems=systems.mentions, entries=entries)
        shared = replace(self.shared, source=OneBlock(block))
        evaluated = match_systems(
            self.gold, block, self.context.sides(list(systems.mentions.values())), shared
        )
        whole = count_one_block(evaluated, shared)
        return result_of(shared.choices, whole)


class PartedDataset(Struct, frozen=True, eq=False):
    """A dataset whose files, including those of all systems, are evaluated in parts, one group at a time."""

    source: ManyBlocks
    opened: OpenedSources
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
        """Scan all files and collect facts from the training data; `choices` are keywords of `evaluate`."""
        given = UnopenedSources(
            gold, systems, train, Choices.usual(**choices), name=name, engine=engine, all_labels=False
        )
        opened = open_locally(given, ignore_progress, memory=memory, workers=1)
        source = opened.shared.source
        assert isinstance(source, ManyBlocks)
        return cls(source, opened, memory)

    @property
    def path(self) -> str:
        """The path of the gold file, as it appears in the sources of sentences."""
        return self.source.path

    @property
    def read_labels(self) -> ReadLabels:
        """The labels as read, of all systems."""
        return self.source.read_labels | self.opened.training_labels

    def fixed(self) -> PartedDataset:
        """Survey the gold mentions of all parts, and fix the buckets and other facts based on them."""
        return replace(self, opened=replace(self.opened, shared=self.opened.fix_facts()))

    def result(self, systems: Mapping[str, str]) -> Result:
        """Evaluate some of the systems part by part; the files of the others are not opened.

        Args:
            systems: the name of each system in the files, by its name in the result.
        """
        opened = self.opened
        shared = replace(opened.shared, source=self.source.only(systems))
        whole = count_blocks(shared, opened.engine, ignore_progress)
        return result_of(shared.choices, whole, memory=self.memory)
