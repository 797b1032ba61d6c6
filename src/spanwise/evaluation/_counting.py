"""Count every block: matching and all tables of each system, and the sums over blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from spanwise.attributes import Side as AttributeSide
from spanwise.attributes import is_built_in, toughness
from spanwise.description import DatasetPart, dataset_entry
from spanwise.document.sentences import ExampleCounts, Later, Sentence
from spanwise.document.settings import Settings
from spanwise.engines import Engine
from spanwise.engines.threads import MOST, together
from spanwise.evaluation._blocks import BlockSums, Joining, Progress
from spanwise.evaluation._choices import Choices
from spanwise.evaluation._dataset import Dataset, Facts, Shared, as_written, sides_of
from spanwise.evaluation._examples import chosen_sentences, examples, written_sentences
from spanwise.evaluation._inputs import Block, Inputs, Units
from spanwise.evaluation._system import Counted, Evaluated, evaluate_system

Sentences = list[Sentence]
LONG = 500_000  # tokens, from which on NumPy works longer than Python between two of its calls


class Task(Struct, frozen=True, eq=False):
    """One block, and how many of its sentences can still be shown, by policy."""

    reference: Any
    room: Mapping[str, int]

    @property
    def number(self) -> int:
        """The number of a block whose data lie elsewhere."""
        return int(self.reference.number)

    def with_data(self, data: bytes) -> Task:
        """The same task where the data of its block are."""
        return replace(self, reference=self.reference.with_data(data))


class CountedBlock(Struct, frozen=True, eq=False):
    """One block, counted: nothing in it is longer than its lists of labels, buckets and distinct rows."""

    counted: Mapping[str, Counted]
    described: DatasetPart
    units: int
    sums: Mapping[str, BlockSums]  # of the gold file, "", and of each system's
    chosen: Mapping[str, Sentences]  # by policy
    choosable: int


class EvaluatedBlock(Struct, frozen=True, eq=False):
    """One block, evaluated mention by mention."""

    data: Dataset
    systems: Mapping[str, Evaluated]
    described: DatasetPart

    @property
    def counted(self) -> Mapping[str, Counted]:
        """The counts of every system."""
        return {name: one.counted for name, one in self.systems.items()}

    @property
    def inputs(self) -> Inputs | None:
        """What was read, where the block is the whole."""
        return self.data.inputs if isinstance(self.data.inputs, Inputs) else None

    def evaluated(self, name: str) -> Evaluated | None:
        """One system with its mentions."""
        return self.systems[name]

    def examples(self, settings: Settings) -> tuple[Later[Sentence], ExampleCounts]:
        """The sentences that the settings ask for, and how many of how many they are."""
        policy, cap = settings.examples, settings.examples_cap
        chosen = chosen_sentences(self.data, self.systems, policy)
        shown = chosen[:cap]
        return (
            Later(lambda: written_sentences(self.data, self.systems, shown, redact=settings.redacted)),
            ExampleCounts(policy=policy, cap=cap, shown=len(shown), of=len(chosen)),
        )

    def summed(self, room: Mapping[str, int], *, redact: bool) -> CountedBlock:
        """What is needed of the block for the whole, with up to so many sentences by policy."""
        shown = {
            policy: examples(self.data, self.systems, policy=policy, cap=most, redact=redact)
            for policy, most in room.items()
        }
        block = self.data.inputs
        sums = {name: BlockSums.of(one, block.alignment[name]) for name, one in block.predicted.items()}
        return CountedBlock(
            counted=self.counted,
            described=self.described,
            units=self.data.units.number,
            sums={"": BlockSums.of(block.gold), **sums},
            chosen={policy: sentences for policy, (sentences, _) in shown.items()},
            choosable=sum(number for _, number in shown.values()),
        )


def count(task: Task, shared: Shared) -> CountedBlock:
    """Count one block: everything that the result document says is a sum over this."""
    block = shared.source.open(task.reference)
    return evaluated(block, shared.sides(block), shared).summed(task.room, redact=shared.choices.redact)


def evaluated(block: Block, sides: Sequence[AttributeSide], shared: Shared) -> EvaluatedBlock:
    """Match the mentions of every system in one block, and count them into all tables."""
    facts = shared.facts
    assert facts is not None
    gold, *others = sides
    tough = None
    if shared.lexicon is not None and not block.corpus.without_text:
        tough = toughness(
            block.corpus,
            block.gold.mentions,
            shared.lexicon,
            side=as_written(gold),
            confusable=shared.confusable,
        )
    data = Dataset(block, Units.of(block.corpus, shared.unit), tough, facts, sides_of(facts, gold))
    ours = all(is_built_in(attribute) for attribute in facts.attributes.values())
    long = len(block.corpus.tokens) >= LONG
    # User functions may not be thread-safe.
    threads = min(shared.threads, MOST) if ours and long else 1
    calls = [partial(evaluate_system, data, side, shared.choices) for side in others]
    systems = dict(zip(block.systems, together(calls, threads=threads), strict=True))
    return EvaluatedBlock(data.counted(), systems, DatasetPart.of(block.gold, shared.known, tough))


class Whole(Struct, frozen=True, eq=False):
    """What all blocks together say, from which everything else is made; mentions are not kept."""

    counted: Mapping[str, Counted]
    described: dict[str, Any]
    entries: list[dict[str, Any]]  # of gold and predictions in `inputs`
    units: int
    facts: Facts
    sentences: Sentences
    about: ExampleCounts

    @property
    def inputs(self) -> Inputs | None:
        """What was read is not kept."""
        return None

    def evaluated(self, name: str) -> Evaluated | None:
        """Mentions are not kept."""
        return None

    def examples(self, settings: Settings) -> tuple[Sentences, ExampleCounts]:
        """The sentences that were chosen on the way."""
        return self.sentences, self.about


class Adding:
    """Adds up counted blocks, and keeps the sentences that are to be shown."""

    def __init__(self, choices: Choices, systems: Iterable[str]) -> None:
        self._counts = {system: Joining(Counted.joined) for system in systems}
        self._sums: dict[str, BlockSums] = {}
        self._described: list[DatasetPart] = []
        self._units = self._choosable = 0
        self._choices = choices
        # Sentences with errors stand before all others.
        policies = {"errors": ["errors"], "all": ["errors", "correct"], "none": []}[choices.examples]
        self._chosen: dict[str, Sentences] = {policy: [] for policy in policies}

    def tasks(self, references: Iterable[Any]) -> Iterator[Task]:
        """The blocks; they are asked for one by one, so that they know how much room is left."""
        for reference in references:
            yield Task(reference, self._room())

    def add(self, block: CountedBlock) -> None:
        """Take the next block."""
        room = self._room()
        for policy, sentences in block.chosen.items():
            self._chosen[policy] += sentences[: room[policy]]
        for system, counted in block.counted.items():
            self._counts[system].add(counted)
        for name, sums in block.sums.items():
            self._sums[name] = self._sums[name] + sums if name in self._sums else sums
        self._described.append(block.described)
        self._units += block.units
        self._choosable += block.choosable

    def _room(self) -> dict[str, int]:
        return {policy: self._choices.examples_cap - len(kept) for policy, kept in self._chosen.items()}

    def total(self, shared: Shared) -> Whole:
        """The sums over all blocks."""
        assert shared.facts is not None
        cap = self._choices.examples_cap
        shown = [row for kept in self._chosen.values() for row in kept][:cap]
        return Whole(
            counted={system: sums.total() for system, sums in self._counts.items()},
            described=dataset_entry(
                shared.source.name,
                self._described,
                documents=shared.source.documents,
                zeta=shared.facts.zeta,
                absent=shared.facts.absent,
            ),
            entries=shared.source.entries(self._sums),
            units=self._units,
            facts=shared.facts,
            sentences=shown,
            about=ExampleCounts(policy=self._choices.examples, cap=cap, shown=len(shown), of=self._choosable),
        )


def counted_whole(shared: Shared, engine: Engine, progress: Progress) -> Whole:
    """Count every block, wherever the engine runs it, and add up.

    The first of several is counted here: the others need not write sentences where it has filled the
    room for them.
    """
    adding = Adding(shared.choices, shared.source.systems)
    tasks = adding.tasks(shared.source.references())
    total = shared.source.blocks
    progress("count", 0, total)
    adding.add(count(next(tasks), shared))
    progress("count", 1, total)
    for done, block in enumerate(engine.map(count, tasks, shared), start=2):
        adding.add(block)
        progress("count", done, total)
    return adding.total(shared)


def counted_block(
    block: Block, sides: Sequence[AttributeSide], shared: Shared, progress: Progress
) -> tuple[Whole, EvaluatedBlock]:
    """The same of a source that is one block, with its mentions; sentences are written when asked for."""
    progress("count", 0, 1)
    one = evaluated(block, sides, shared)
    adding = Adding(replace(shared.choices, examples="none"), shared.source.systems)
    adding.add(one.summed({}, redact=shared.choices.redact))
    progress("count", 1, 1)
    return adding.total(shared), one
