"""The mentions of a dataset as tables, matched and bucketed: what slices and confidence are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from spanwise.attributes import Side as AttributeSide
from spanwise.attributes import choose
from spanwise.buckets import Bucketing
from spanwise.composition import input_entry
from spanwise.corpus import with_one_labelling
from spanwise.document import Input
from spanwise.engines import InProcess
from spanwise.evaluation.blocks import BlockSums, OneBlock, TrainingFacts
from spanwise.evaluation.choices import Block, Choices, ResampledUnits, block_size
from spanwise.evaluation.counting import EvaluatedBlock, Whole
from spanwise.evaluation.dataset import BlockContext, Facts, mention_table, prepare_source, sides_of
from spanwise.evaluation.hints import Sides
from spanwise.matching import MATCHERS
from spanwise.mentions import MentionTable, MentionTables

T = TypeVar("T")


class TalliedBlock(Struct, frozen=True, eq=False):
    """The mentions of a block, and its share of the sums over the input files."""

    tables: MentionTables
    sums: Mapping[str, BlockSums]
    sides: Mapping[str, Sides]  # by system


class Walked(Struct, frozen=True, eq=False):
    """The mentions of all blocks, and what was found out about the data on the way."""

    tables: MentionTables
    facts: Facts | None  # None without attributes
    unit: str
    inputs: tuple[Input, ...]
    marked: bool  # whether the data mark documents
    block: int | UnsetType  # the number of consecutive sentences per unit, where units are blocks
    sides: Mapping[str, Sides] = {}  # by system; not known of a saved result

    @classmethod
    def of(cls, parts: Sequence[TalliedBlock], context: BlockContext) -> Walked:
        """Concatenate the mentions of all blocks of a source."""
        entries = context.entries(BlockSums.added([part.sums for part in parts]))
        size = block_size(context.choices.unit)
        tables = MentionTables.concat([part.tables for part in parts])
        return cls(
            tables if size == 1 else tables.in_blocks(size),
            context.facts,
            context.unit if size == 1 else "block",
            tuple(entries),
            marked=context.source.documents is not None,
            block=UNSET if size == 1 else size,
            sides=Sides.added([part.sides for part in parts]),
        )

    @property
    def signed_unit(self) -> str:
        """The unit, as written in a signature."""
        return f"{self.unit}{self.block or ''}"

    @property
    def bucketings(self) -> Mapping[str, Bucketing]:
        """The buckets of each attribute."""
        return {} if self.facts is None else self.facts.bucketings


def tally(
    block: Block,
    context: BlockContext,
    *,
    predicted: bool = True,
    tough: bool = False,
    evaluated: EvaluatedBlock | None = None,
) -> TalliedBlock:
    """The mentions of one block, in the buckets that all blocks share.

    Args:
        predicted: whether there are tables of predictions, not only of gold.
        tough: whether tough gold mentions are marked.
        evaluated: the same block after its evaluation, whose matching and buckets are then used.
    """
    gold, *others = context.sides(block)
    units = ResampledUnits.of(block.corpus, context.unit)
    toughness = None
    if tough:
        toughness = None if evaluated is None else evaluated.data.toughness
        toughness = toughness or context.toughness(block, gold)

    def table(side: AttributeSide, known: MentionTable | None) -> MentionTable:
        """The mentions in the buckets of all attributes, of which some are known."""
        facts = context.facts
        if facts is None:
            return mention_table(side.mentions, units, {})
        own = {} if known is None else known.named("bucket")
        others = {name: one for name, one in facts.attributes.items() if name not in own}
        new = mention_table(side.mentions, units, sides_of(replace(facts, attributes=others), side))
        return new.with_columns({f"bucket.{name}": own[name] for name in facts.attributes if name in own})

    marked, systems = table(gold, None if evaluated is None else evaluated.data.table), {}
    if toughness is not None:
        marked = marked.with_columns({f"tough.{name}": toughness.of(name) for name in toughness.subsets})
    for system, side in zip(block.systems, others, strict=True):
        if evaluated is None:
            exact = MATCHERS.find("exact").function
            matching = exact(*with_one_labelling([gold.mentions, side.mentions]))
            known, found, right = None, matching.gold_partner >= 0, matching.predicted_partner >= 0
        else:
            known, found = evaluated.systems[system].predicted, evaluated.systems[system].case.right
            right = known["right"]
        marked = marked.with_columns({f"found.{system}": found})
        if predicted:
            systems[system] = table(side, known).with_columns({"right": right})
    return TalliedBlock(MentionTables(marked, systems), BlockSums.of_block(block), Sides.of_block(block))


# ---- after an evaluation ---------------------------------------------------------------------------


_OF_TRAINING = frozenset({"train", "train mentions", "vocabulary"})  # what an attribute may need


def walk_again(
    gold: object, choices: Choices, *, predicted: bool = True, tough: bool = False
) -> tuple[Walked | None, object]:
    """The tables of an evaluation that stands in place of gold, and its data, from which others are made.

    Attributes that the evaluation lacks are computed now, if they need no training data.

    Returns:
        No tables if gold is something else, if its mentions were not kept, or if attributes would be computed
        or cut in another way.
    """
    if not isinstance(gold, Whole):
        return None, gold
    inputs, evaluated = gold.inputs, gold.block
    if inputs is None or evaluated is None or not _alike(evaluated.choices, choices):
        return None, inputs
    facts = evaluated.data.facts
    asked = {
        one.name: one
        for one in choose([] if isinstance(choices.attributes, str) else choices.attributes or [])
    }
    others = [one for name, one in asked.items() if name not in facts.attributes]
    redefined = any(
        one.function is not asked.get(name, one).function for name, one in facts.attributes.items()
    )
    if redefined or (inputs.train and any(one.needs & _OF_TRAINING for one in others)):
        return None, inputs
    training = TrainingFacts(entries=[input_entry("train", annotation) for annotation in inputs.train])
    opened = prepare_source(
        OneBlock(inputs), replace(choices, attributes=others or "none"), training, InProcess()
    )
    unmarked = tough and evaluated.data.toughness is None
    context = replace(opened, shared=replace(opened.shared, always_tough=unmarked)).fix_facts()
    assert context.facts is not None
    context = replace(context, facts=_together(facts, context.facts, list(asked)))
    tallied = tally(inputs, context, predicted=predicted, tough=tough, evaluated=evaluated)
    return Walked.of([tallied], context), inputs


def _alike(before: Choices, now: Choices) -> bool:
    """Whether attributes are computed and cut in the same way."""
    return all(
        getattr(before, name) == getattr(now, name)
        for name in ("lowercase", "vocabulary", "buckets", "edges", "redact")
    )


def _together(known: Facts, new: Facts, names: Sequence[str]) -> Facts:
    """The facts about these attributes, most of them known."""

    def both(known: Mapping[str, T], new: Mapping[str, T]) -> dict[str, T]:
        merged = {**known, **new}
        return {name: merged[name] for name in names if name in merged}

    return Facts(
        both(known.attributes, new.attributes),
        both(known.bucketings, new.bucketings),
        both(known.strategies, new.strategies),
        both(known.zeta, new.zeta),
        new.absent,
    )
