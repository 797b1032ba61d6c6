"""The mentions of a dataset as tables, matched and bucketed: what slices and confidence are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from spanwise.attributes import Attribute, choose
from spanwise.attributes import Side as AttributeSide
from spanwise.buckets import Bucketing
from spanwise.columns import Bools
from spanwise.composition import input_entry
from spanwise.corpus import with_one_labelling
from spanwise.document import Input
from spanwise.engines import InProcess
from spanwise.evaluation._measures import OUTCOME, BucketedSide
from spanwise.evaluation.blocks import BlockSums, OneBlock, TrainingFacts
from spanwise.evaluation.choices import Block, Choices, ResampledUnits, block_size, documented
from spanwise.evaluation.counting import EvaluatedBlock
from spanwise.evaluation.dataset import (
    BlockContext,
    Facts,
    OpenedSources,
    mention_table,
    prepare_source,
    sides_of,
)
from spanwise.matching import MATCHERS
from spanwise.mentions import MentionTables

T = TypeVar("T")


class TalliedBlock(Struct, frozen=True, eq=False):
    """The mentions of a block, and its share of the sums over the input files."""

    tables: MentionTables
    sums: Mapping[str, BlockSums]


class Walked(Struct, frozen=True, eq=False):
    """The mentions of all blocks, and what was found out about the data on the way."""

    tables: MentionTables
    facts: Facts | None  # None without attributes
    unit: str
    inputs: tuple[Input, ...]
    marked: bool  # whether the data mark documents
    block: int | UnsetType  # the number of consecutive sentences per unit, where units are blocks

    @classmethod
    def of(cls, parts: Sequence[TalliedBlock], context: BlockContext, opened: OpenedSources) -> Walked:
        """Concatenate the mentions of all blocks of a source."""
        source = context.source
        entries = [*source.entries(BlockSums.added([part.sums for part in parts])), *opened.training]
        size = block_size(context.choices.unit)
        tables = MentionTables.concat([part.tables for part in parts])
        return cls(
            tables if size == 1 else tables.in_blocks(size),
            context.facts,
            context.unit if size == 1 else "block",
            tuple(map(documented, entries)),
            marked=source.documents is not None,
            block=UNSET if size == 1 else size,
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
    found, systems = {}, {}
    for system, side in zip(block.systems, others, strict=True):
        found[f"found.{system}"], right = (
            _matched(gold, side) if evaluated is None else _exact(evaluated, system)
        )
        if predicted:
            own = {} if evaluated is None else evaluated.systems[system].predicted_sides
            table = mention_table(side.mentions, units, _sides(side, context.facts, own))
            systems[system] = table.with_columns({"right": right})
    own = {} if evaluated is None else evaluated.data.gold_sides
    table = mention_table(gold.mentions, units, _sides(gold, context.facts, own), toughness)
    return TalliedBlock(MentionTables(table.with_columns(found), systems), BlockSums.of_block(block))


def _matched(gold: AttributeSide, predicted: AttributeSide) -> tuple[Bools, Bools]:
    """Which gold mentions were found, and which predictions are right."""
    exact = MATCHERS.find("exact").function
    matching = exact(*with_one_labelling([gold.mentions, predicted.mentions]))
    return matching.gold_partner >= 0, matching.predicted_partner >= 0


def _exact(evaluated: EvaluatedBlock, system: str) -> tuple[Bools, Bools]:
    """The same, from the matching of an evaluation, whatever its matcher is."""
    case = evaluated.systems[system].case
    return case.right, np.asarray(case.exact.predicted_outcome == OUTCOME["TP"])


def _sides(
    side: AttributeSide, facts: Facts | None, known: Mapping[str, BucketedSide]
) -> Mapping[str, BucketedSide]:
    """The buckets of each mention, if facts are fixed; some of them are `known`."""
    if facts is None:
        return {}
    others = {name: one for name, one in facts.attributes.items() if name not in known}
    sides = {**known, **sides_of(replace(facts, attributes=others), side)}
    return {name: sides[name] for name in facts.attributes}


# ---- after an evaluation ---------------------------------------------------------------------------


_OF_TRAINING = frozenset({"train", "train mentions", "vocabulary"})  # what an attribute may need


def walk_again(
    evaluated: EvaluatedBlock, choices: Choices, *, predicted: bool = True, tough: bool = False
) -> Walked | None:
    """The tables of a dataset that was evaluated as one block, from the columns of its evaluation.

    Attributes that the evaluation lacks are computed now, since they need no training data.

    Returns:
        None if that is not so, or if attributes would be computed or cut in another way.
    """
    inputs, facts = evaluated.inputs, evaluated.data.facts
    if inputs is None or not _alike(evaluated.choices, choices):
        return None
    asked = {
        one.name: one
        for one in choose([] if isinstance(choices.attributes, str) else choices.attributes or [])
    }
    others = [one for name, one in asked.items() if name not in facts.attributes]
    redefined = any(
        one.function is not asked.get(name, one).function for name, one in facts.attributes.items()
    )
    if redefined or (inputs.train and any(one.needs & _OF_TRAINING for one in others)):
        return None
    training = TrainingFacts(entries=[input_entry("train", annotation) for annotation in inputs.train])
    opened = prepare_source(
        OneBlock(inputs), replace(choices, attributes=others or "none"), training, InProcess()
    )
    unmarked = tough and evaluated.data.toughness is None
    context = replace(opened, shared=replace(opened.shared, always_tough=unmarked)).fix_facts()
    assert context.facts is not None
    context = replace(context, facts=_together(facts, context.facts, list(asked)))
    tallied = tally(inputs, context, predicted=predicted, tough=tough, evaluated=evaluated)
    return Walked.of([tallied], context, opened)


def _alike(before: Choices, now: Choices) -> bool:
    """Whether attributes are computed and cut in the same way."""
    return all(
        getattr(before, name) == getattr(now, name)
        for name in ("lowercase", "vocabulary", "buckets", "edges", "redact")
    )


def _same(known: Attribute, asked: Attribute) -> bool:
    """Whether attributes of one name have the same values and buckets; the kind of a known one is fixed."""
    fitting = asked.kind is None or asked.kind == known.kind
    names = [name for name in Attribute.__struct_fields__ if name != "kind"]
    return fitting and all(getattr(asked, name) == getattr(known, name) for name in names)


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
