"""Count every block: all tables of each system, the sums over blocks, and the sentences to show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import TypeAlias, TypeVar, cast

import numpy as np
from msgspec import UNSET, Struct
from msgspec.structs import replace

from spanwise.attributes import SUBSETS as SUBSET_NAMES
from spanwise.attributes import Attribute, Lexicon, SummedLexicon, Values, is_built_in, values_of
from spanwise.attributes import Side as AttributeSide
from spanwise.columns import Bools, Column, Ints
from spanwise.composition import DatasetPart, copies_in, dataset_entry
from spanwise.corpus import Corpus, Mentions
from spanwise.document import Input, Settings
from spanwise.document.evaluation import (
    ExampleCounts,
    GoldMention,
    Later,
    MentionCodes,
    PredictedMention,
    Sentence,
)
from spanwise.document.scores import Outcome, Subset
from spanwise.engines import MOST_THREADS, Engine, Joining, together
from spanwise.evaluation._measures import OUTCOME, MatchedSystem
from spanwise.evaluation._system import Counted, Evaluated, evaluate_system
from spanwise.evaluation._truncation import positions
from spanwise.evaluation.blocks import BlockSums, OneBlock, Progress, Reference
from spanwise.evaluation.choices import Block, Choices, Inputs, ResampledUnits
from spanwise.evaluation.dataset import (
    BlockContext,
    ComputeValues,
    DatasetBlock,
    Facts,
    fix_facts,
    look_at,
    mention_table,
    sides_of,
)
from spanwise.evaluation.hints import Signs
from spanwise.matching import OUTCOMES as NAMES
from spanwise.mentions import MentionTable, MentionTables
from spanwise.mentions.packing import MOST_MENTIONS, pack_codes, without_copies

OUTCOMES = cast("Sequence[Outcome]", NAMES)
SUBSETS = cast("Sequence[Subset]", SUBSET_NAMES)


def examples(
    data: DatasetBlock, systems: Mapping[str, Evaluated], *, policy: str, cap: int, redact: bool
) -> tuple[list[Sentence], int]:
    """The sentences that the policy selects, at most `cap` of them, and how many it selects in all."""
    chosen = chosen_sentences(data, systems, policy)
    return written_sentences(data, systems, chosen[:cap], redact=redact), len(chosen)


def chosen_sentences(data: DatasetBlock, systems: Mapping[str, Evaluated], policy: str) -> Ints:
    """The numbers of the sentences that the policy selects, those with errors first."""
    if policy == "none":
        return np.zeros(0, dtype=np.int64)
    wrong = np.zeros(len(data.inputs.corpus), dtype=bool)
    for system in systems.values():
        gold, predicted, matching = system.case.gold, system.case.predicted, system.case.matching
        wrong[gold.sentence[matching.gold_outcome != OUTCOME["TP"]]] = True
        wrong[predicted.sentence[matching.predicted_outcome != OUTCOME["TP"]]] = True
    first, rest = np.flatnonzero(wrong), np.flatnonzero(~wrong)
    return {"errors": first, "correct": rest, "all": np.concatenate([first, rest])}[policy]


def written_sentences(
    data: DatasetBlock, systems: Mapping[str, Evaluated], chosen: Ints, *, redact: bool
) -> list[Sentence]:
    """The sentences with these numbers, with the outcome of each of their mentions."""
    return _Writer(data, systems, redact=redact).sentences(chosen.tolist())


class _Writer:
    """Builds sentences of the document; columns become lists only for the mentions of chosen sentences."""

    def __init__(self, data: DatasetBlock, systems: Mapping[str, Evaluated], *, redact: bool) -> None:
        self._data = data
        self._systems = systems
        self._redact = redact
        self._attributes = [
            name for name, attribute in data.facts.attributes.items() if attribute.unit == "mention"
        ]

    def sentences(self, chosen: Sequence[int]) -> list[Sentence]:
        """The sentences with these numbers."""
        corpus = self._data.inputs.corpus
        wanted = np.zeros(len(corpus), dtype=bool)
        wanted[list(chosen)] = True
        gold = self._gold(wanted)
        predicted = {name: self._predicted(system, wanted) for name, system in self._systems.items()}
        return [
            replace(
                self._text(corpus, number),
                gold=gold.get(number, []),
                systems={name: rows.get(number, []) for name, rows in predicted.items()},
            )
            for number in chosen
        ]

    def _text(self, corpus: Corpus, number: int) -> Sentence:
        """A sentence without its mentions."""
        documents = corpus.document_of_sentence
        document = None
        if documents is not None:
            document_number = int(documents[number])
            document = self.named(corpus.document_ids, document_number)
        sentence = Sentence(
            id=self.named(corpus.ids, number),
            source=corpus.place(number),
            document=document,
            gold=(),
            systems={},
        )
        if self._redact or corpus.without_text:
            return replace(sentence, length=int(corpus.lengths[number]) or None)
        if corpus.unit == "character" and corpus.texts is not None:
            return replace(sentence, text=corpus.texts[number])
        return replace(sentence, tokens=corpus.words(number))

    def named(self, names: Sequence[str] | None, number: int) -> str:
        """The name of a sentence or document; names from the data, which come as a tuple, may be redacted."""
        if names is None or (self._redact and isinstance(names, tuple)):
            return str(number)
        return names[number]

    def _gold(self, wanted: Bools) -> dict[int, list[GoldMention]]:
        data, gold = self._data, self._data.gold
        chosen = np.flatnonzero(wanted[gold.sentence])
        spans = _spans(gold, chosen)
        buckets = self._buckets(chosen, data.table)
        inner = {
            name: _within(system.case.predicted.sentence, system.case.matching.gold_partner[chosen])
            for name, system in self._systems.items()
        }
        outcomes = {
            name: system.case.matching.gold_outcome[chosen].tolist() for name, system in self._systems.items()
        }
        tough = None if data.toughness is None else data.toughness.member[chosen].tolist()
        rows = [
            GoldMention(
                start=start,
                end=end,
                label=label,
                parts=parts,
                outcome={name: OUTCOMES[codes[i]] for name, codes in outcomes.items()},
                partner={name: positions[i] for name, positions in inner.items()},
                tough=UNSET if tough is None else list(compress(SUBSETS, tough[i])),
                buckets=buckets[i],
            )
            for i, (start, end, label, parts) in enumerate(spans)
        ]
        return _grouped(gold.sentence[chosen], rows)

    def _predicted(self, system: Evaluated, wanted: Bools) -> dict[int, list[PredictedMention]]:
        predicted, matching = system.case.predicted, system.case.matching
        chosen = np.flatnonzero(wanted[predicted.sentence])
        buckets = self._buckets(chosen, system.predicted)
        partner = _within(system.case.gold.sentence, matching.predicted_partner[chosen])
        outcome = matching.predicted_outcome[chosen].tolist()
        answers = None if self._redact else predicted.fields.get("answer")
        rows = [
            PredictedMention(
                start=start,
                end=end,
                label=label,
                parts=parts,
                outcome=OUTCOMES[outcome[i]],
                partner=partner[i],
                buckets=buckets[i],
                answer=UNSET if answers is None or start >= 0 else str(answers[chosen[i]]),
            )
            for i, (start, end, label, parts) in enumerate(_spans(predicted, chosen))
        ]
        return _grouped(predicted.sentence[chosen], rows)

    def _buckets(self, chosen: Ints, table: MentionTable) -> list[dict[str, str]]:
        """The bucket names of each chosen mention, by attribute."""
        result: list[dict[str, str]] = [{} for _ in range(len(chosen))]
        for name in self._attributes:
            names = [bucket.name for bucket in self._data.facts.bucketings[name].buckets]
            for row, number in zip(result, table[f"bucket.{name}"][chosen].tolist(), strict=True):
                row[name] = names[number]
        return result


_Span: TypeAlias = tuple[int, int, str, Sequence[tuple[int, int]]]


def _spans(mentions: Mentions, chosen: Ints) -> list[_Span]:
    """The start, end and label of each mention, and its parts if it has several."""
    taken = mentions.take(chosen)
    rows = taken.rows()
    if taken.parts is None:
        return [(start, end, label, ()) for _, start, end, label in rows]
    return [
        (start, end, label, list(pieces) if len(pieces) > 1 else ())
        for (_, start, end, label), pieces in zip(rows, taken.pieces(), strict=True)
    ]


def _within(sentence: Ints, row: Ints) -> list[int | None]:
    """The position of each row among the mentions of its sentence; None for row -1."""
    if len(sentence) == 0:
        return [None] * len(row)
    first = np.searchsorted(sentence, sentence[row])
    return [int(a - b) if a >= 0 else None for a, b in zip(row.tolist(), first.tolist(), strict=True)]


T = TypeVar("T")


def _grouped(sentence: Column, rows: Sequence[T]) -> dict[int, list[T]]:
    groups: dict[int, list[T]] = {}
    for number, row in zip(sentence.tolist(), rows, strict=True):
        groups.setdefault(number, []).append(row)
    return groups


Sentences = list[Sentence]
LONG = 500_000  # tokens from which threads pay off: NumPy then works longer than Python between its calls


class CountTask(Struct, frozen=True, eq=False):
    """One block to count, and how many of its sentences (by policy) and mentions may still be kept."""

    reference: Reference
    room: Mapping[str, int]
    mentions: int

    @property
    def number(self) -> int:
        """The number of the block, by which executors find its data."""
        return int(self.reference.number)

    def with_data(self, data: bytes) -> CountTask:
        """The same task with the data of its block."""
        return replace(self, reference=self.reference.with_data(data))


class CountedBlock(Struct, frozen=True, eq=False):
    """The counts of one block, the sentences to show, and the codes of mentions if there are not too many."""

    counted: Mapping[str, Counted]
    described: DatasetPart
    units: int
    sums: Mapping[str, BlockSums]  # by system; "" stands for gold
    chosen: Mapping[str, Sentences]  # by policy
    choosable: int
    mentions: int
    tables: MentionTables | None  # without copies, if there is room for them
    signs: Mapping[str, Signs] = {}  # by system


class EvaluatedBlock(Struct, frozen=True, eq=False):
    """One block, evaluated mention by mention."""

    data: DatasetBlock
    systems: Mapping[str, Evaluated]
    described: DatasetPart
    choices: Choices

    @property
    def mentions(self) -> int:
        """The number of mentions of gold and of all systems."""
        return len(self.data.table) + sum(len(system.predicted) for system in self.systems.values())

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that occur among the mentions, sorted."""
        tables = [self.data.table, *(system.predicted for system in self.systems.values())]
        return tuple(sorted(set().union(*(table.used_labels for table in tables))))

    def tables(self) -> MentionTables:
        """The mentions of gold and of all systems, with the same labels."""
        labels = self.labels
        systems = {name: system.predicted.labelled(labels) for name, system in self.systems.items()}
        return MentionTables(self.data.table.labelled(labels), systems)

    def tables_without_copies(self) -> MentionTables:
        """The same tables as documents store them."""
        partners = {name: system.case.partner for name, system in self.systems.items()}
        return without_copies(self.tables(), partners)

    def codes(self, block: int) -> MentionCodes:
        """The codes of all mentions; `block` consecutive units are joined into one."""
        tough = self.data.toughness
        return pack_codes(
            self.tables_without_copies,
            self.systems,
            number=self.mentions,
            labels=self.labels,
            subsets=() if tough is None else cast("tuple[Subset, ...]", tough.subsets),
            buckets=_buckets_of(self.data.facts),
            block=block,
        )

    def examples(self, settings: Settings) -> tuple[Later[Sentence], ExampleCounts]:
        """The sentences that the settings select, and how many of them are shown."""
        policy, cap = settings.examples, settings.examples_cap
        chosen = chosen_sentences(self.data, self.systems, policy)
        shown = chosen[:cap]
        return (
            Later(lambda: written_sentences(self.data, self.systems, shown, redact=settings.redacted)),
            ExampleCounts(policy=policy, cap=cap, shown=len(shown), of=len(chosen)),
        )

    def summed(self, room: Mapping[str, int], mentions: int, *, redact: bool) -> CountedBlock:
        """What the whole needs from this block; at most `room` sentences and `mentions` mentions are kept."""
        shown = {
            policy: examples(self.data, self.systems, policy=policy, cap=most, redact=redact)
            for policy, most in room.items()
        }
        block = self.data.inputs
        return CountedBlock(
            counted={name: system.counted for name, system in self.systems.items()},
            described=self.described,
            units=self.data.units.number,
            sums=BlockSums.of_block(block),
            chosen={policy: sentences for policy, (sentences, _) in shown.items()},
            choosable=sum(number for _, number in shown.values()),
            mentions=self.mentions,
            tables=self.tables_without_copies() if self.mentions <= mentions else None,
            signs={name: _signs_of(block.corpus, system) for name, system in self.systems.items()},
        )


def _buckets_of(facts: Facts) -> dict[str, tuple[str, ...]]:
    """The names of the buckets of each attribute of mentions."""
    return {
        name: tuple(bucket.name for bucket in facts.bucketings[name].buckets)
        for name, attribute in facts.attributes.items()
        if attribute.unit == "mention"
    }


def _signs_of(corpus: Corpus, system: Evaluated) -> Signs:
    """How many predicted mentions of a block lie where gold has one."""
    case = system.case
    right, labels = (
        int(np.count_nonzero(case.exact.predicted_outcome == OUTCOME[name])) for name in ("TP", "LE")
    )
    return Signs.of(corpus, case.gold, case.predicted, right + labels, right)


def count(task: CountTask, shared: BlockContext) -> CountedBlock:
    """Count one block: the result document is made from the sum of all blocks."""
    block = shared.source.open(task.reference)
    evaluated_block = evaluate_block(block, shared.sides(block), shared)
    return evaluated_block.summed(task.room, task.mentions, redact=shared.choices.redact)


def sentences_with_errors(reference: object, shared: BlockContext) -> Sentences:
    """The sentences of one block in which at least one system makes an error."""
    block = shared.source.open(reference)
    evaluated_block = evaluate_block(block, shared.sides(block), shared)
    chosen = chosen_sentences(evaluated_block.data, evaluated_block.systems, "errors")
    return written_sentences(
        evaluated_block.data, evaluated_block.systems, chosen, redact=shared.choices.redact
    )


def evaluate_block(block: Block, sides: Sequence[AttributeSide], shared: BlockContext) -> EvaluatedBlock:
    """Match the mentions of every system in one block, and count them into all tables."""
    gold, *others = sides
    return match_systems(GoldBlock.of(block, gold, shared), block, others, shared)


class GoldBlock(Struct, frozen=True, eq=False):
    """What is known of a block without any system: its gold mentions in buckets, and its composition."""

    data: DatasetBlock
    described: DatasetPart

    @classmethod
    def of(
        cls,
        block: Block,
        gold: AttributeSide,
        shared: BlockContext,
        compute_values: ComputeValues = values_of,
    ) -> GoldBlock:
        """The gold side of an open block; `compute_values` computes the values of attributes."""
        facts = shared.facts
        assert facts is not None
        tough = shared.toughness(block, gold)
        units = ResampledUnits.of(block.corpus, shared.unit)
        sides = sides_of(facts, gold, compute_values)
        table = mention_table(gold.mentions, units, sides, tough)
        data = DatasetBlock(block, units, tough, facts, table, sides, positions(gold))
        return cls(data, DatasetPart.of(block.gold, shared.training_sentences, tough))


def fix_facts_of_one_block(
    block: Block, gold: AttributeSide, shared: BlockContext, absent: Mapping[str, str], progress: Progress
) -> tuple[BlockContext, GoldBlock]:
    """Fix the facts of a dataset that is a single block, and assign its gold mentions to buckets.

    The values of attributes are computed once for both.
    """
    values = {name: values_of(attribute, gold) for name, attribute in shared.attributes.items()}

    def valued(attribute: Attribute, _: AttributeSide) -> Values:
        return values[attribute.name]

    context = fix_facts(shared, lambda current: iter([look_at(gold, current, valued)]), absent, progress)
    return context, GoldBlock.of(block, gold, context, valued)


def match_systems(
    gold: GoldBlock, block: Block, sides: Sequence[AttributeSide], shared: BlockContext
) -> EvaluatedBlock:
    """Match every system of a block with its gold mentions, and count the outcomes."""
    data = replace(gold.data, inputs=block)
    built_in = all(is_built_in(attribute) for attribute in data.facts.attributes.values())
    long = len(block.corpus.tokens) >= LONG
    # User functions may not be thread-safe.
    threads = min(shared.threads, MOST_THREADS) if built_in and long else 1
    calls = [partial(evaluate_system, data, side, shared.choices) for side in sides]
    systems = dict(zip(block.systems, together(calls, threads=threads), strict=True))
    return EvaluatedBlock(data.counted(), systems, gold.described, shared.choices)


class Whole(Struct, frozen=True, eq=False):
    """The sums over all blocks, from which the result is made, and its mentions if they are in memory."""

    counted: Mapping[str, Counted]
    described: dict[str, object]
    entries: tuple[Input, ...]  # of all sources in the document
    unit: str
    units: int
    facts: Facts
    sentences: Sentences
    about: ExampleCounts
    mentions: int
    tables: MentionTables | None  # without copies
    copies: Bools | None  # which sentences repeat an earlier one, if that is known
    signs: Mapping[str, Signs] = {}
    inputs: Inputs | None = None  # the data, if they were read whole
    block: EvaluatedBlock | None = None  # the only one, if its mentions are kept

    def system(self, name: str) -> MatchedSystem | None:
        """One system with its mentions; None if they were not kept."""
        return None if self.block is None else self.block.systems[name].case

    def examples(self, settings: Settings) -> tuple[Sequence[Sentence], ExampleCounts]:
        """The sentences to show, which are written on demand if all mentions are kept."""
        return (self.sentences, self.about) if self.block is None else self.block.examples(settings)

    def codes(self, block: int) -> MentionCodes:
        """The codes of all mentions, if there were not too many to keep."""
        if self.block is not None:
            return self.block.codes(block)
        if self.tables is None:
            return MentionCodes(number=self.mentions, cap=MOST_MENTIONS)
        tables = self.tables
        return pack_codes(
            lambda: tables,
            tables.systems,
            number=self.mentions,
            labels=tables.gold.labels,
            subsets=cast("tuple[Subset, ...]", tuple(tables.gold.named("tough"))),
            buckets=_buckets_of(self.facts),
            block=block,
        )


class Adding:
    """Adds up counted blocks, and keeps the sentences to show."""

    def __init__(self, choices: Choices, systems: Iterable[str]) -> None:
        self._counts = {system: Joining(Counted.joined) for system in systems}
        self._sums: dict[str, BlockSums] = {}
        self._described: list[DatasetPart] = []
        self._signs: dict[str, Signs] = {}
        self._units = self._choosable = self._mentions = 0
        self._tables: list[MentionTables] | None = []  # None: there are too many mentions
        self._choices = choices
        # Sentences with errors come before all others.
        policies = {"errors": ["errors"], "all": ["errors", "correct"], "none": []}[choices.examples]
        self._chosen: dict[str, Sentences] = {policy: [] for policy in policies}

    def tasks(self, references: Iterable[object]) -> Iterator[CountTask]:
        """Yield a task per block; each is made when it is needed, and says how much room is left by then."""
        for reference in references:
            yield CountTask(reference, self._room(), MOST_MENTIONS - self._mentions)

    def add(self, block: CountedBlock) -> None:
        """Add the next block."""
        room = self._room()
        for policy, sentences in block.chosen.items():
            self._chosen[policy] += sentences[: room[policy]]
        for system, counted in block.counted.items():
            self._counts[system].add(counted)
        for name, sums in block.sums.items():
            self._sums[name] = self._sums[name] + sums if name in self._sums else sums
        for name, signs in block.signs.items():
            self._signs[name] = self._signs[name] + signs if name in self._signs else signs
        self._described.append(block.described)
        self._units += block.units
        self._choosable += block.choosable
        self._mentions += block.mentions
        if block.tables is None or self._mentions > MOST_MENTIONS:
            self._tables = None
        elif self._tables is not None:
            self._tables.append(block.tables)

    def _room(self) -> dict[str, int]:
        return {
            policy: self._choices.examples_cap - len(sentences) for policy, sentences in self._chosen.items()
        }

    def total(self, shared: BlockContext) -> Whole:
        """The sums over all blocks."""
        assert shared.facts is not None
        cap = self._choices.examples_cap
        shown = [sentence for sentences in self._chosen.values() for sentence in sentences][:cap]
        return Whole(
            counted={system: sums.total() for system, sums in self._counts.items()},
            described=dataset_entry(
                shared.source.name,
                self._described,
                documents=shared.source.documents,
                zeta=shared.facts.zeta,
                absent=shared.facts.absent,
            )
            | _of_training(shared.lexicon),
            entries=shared.entries(self._sums),
            unit=shared.unit,
            units=self._units,
            facts=shared.facts,
            sentences=shown,
            about=ExampleCounts(policy=self._choices.examples, cap=cap, shown=len(shown), of=self._choosable),
            mentions=self._mentions,
            tables=MentionTables.concat(self._tables) if self._tables else None,
            copies=copies_in(self._described),
            signs=self._signs,
            inputs=shared.source.inputs if isinstance(shared.source, OneBlock) else None,
        )


def _of_training(lexicon: Lexicon | SummedLexicon | None) -> dict[str, object]:
    """How many training mentions each label has; nothing without training data."""
    if lexicon is None:
        return {}
    return {"train_labels": dict(zip(lexicon.labels, lexicon.per_label.tolist(), strict=True))}


def count_blocks(shared: BlockContext, engine: Engine, progress: Progress) -> Whole:
    """Count every block on the engine, and add up the counts.

    If blocks stay on this machine, the first one is counted before any other starts: where it provides all
    the sentences to show, the others need not write any.
    """
    adding = Adding(shared.choices, shared.source.systems)
    tasks = adding.tasks(shared.source.references())
    total = shared.source.blocks
    progress("count", 0, total)
    first = 1
    if not engine.elsewhere:
        adding.add(count(next(tasks), shared))
        progress("count", 1, total)
        first = 2
    for done, block in enumerate(shared.mapped(engine, count, tasks), start=first):
        adding.add(block)
        progress("count", done, total)
    return adding.total(shared)


def count_one_block(block: EvaluatedBlock, shared: BlockContext) -> Whole:
    """Like `count_blocks`, for a single block that is already evaluated; sentences are written on demand."""
    adding = Adding(replace(shared.choices, examples="none"), shared.source.systems)
    adding.add(block.summed({}, 0, redact=shared.choices.redact))
    return replace(adding.total(shared), block=block)
