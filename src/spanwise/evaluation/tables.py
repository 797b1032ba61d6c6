"""The mentions of a block as tables, matched and bucketed: what slices and confidence are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from spanwise.attributes import Side as AttributeSide
from spanwise.columns import Column, ints
from spanwise.corpus import with_one_labelling
from spanwise.evaluation._blocks import BlockSums
from spanwise.evaluation._choices import Block, ResampledUnits
from spanwise.evaluation._dataset import BlockContext, sides_of
from spanwise.matching import MATCHERS
from spanwise.mentions import MentionTable, MentionTables


class TalliedBlock(Struct, frozen=True, eq=False):
    """The mentions of a block, and its share of the sums over the input files."""

    tables: MentionTables
    sums: Mapping[str, BlockSums]

    @classmethod
    def concat(cls, parts: Sequence[TalliedBlock]) -> TalliedBlock:
        """The mentions of consecutive blocks."""
        return cls(
            MentionTables.concat([part.tables for part in parts]),
            BlockSums.added([part.sums for part in parts]),
        )


def tally(
    block: Block, context: BlockContext, *, predicted: bool = True, tough: bool = False
) -> TalliedBlock:
    """The mentions of one block, in the buckets that all blocks share.

    Args:
        predicted: whether there are tables of predictions, not only of gold.
        tough: whether tough gold mentions are marked.
    """
    gold, *others = context.sides(block)
    units = ResampledUnits.of(block.corpus, context.unit)
    exact = MATCHERS.find("exact").function
    columns = _columns(gold, units, context)
    toughness = context.toughness(block, gold) if tough else None
    if toughness is not None:
        columns |= {f"tough.{subset}": toughness.of(subset) for subset in toughness.subsets}
    systems = {}
    for system, side in zip(block.systems, others, strict=True):
        matching = exact(*with_one_labelling([gold.mentions, side.mentions]))
        columns[f"found.{system}"] = matching.gold_partner >= 0
        if predicted:
            right = {"right": matching.predicted_partner >= 0}
            systems[system] = _table(side, units, {**_columns(side, units, context), **right})
    return TalliedBlock(MentionTables(_table(gold, units, columns), systems), BlockSums.of_block(block))


def _table(side: AttributeSide, units: ResampledUnits, columns: Mapping[str, Column]) -> MentionTable:
    return MentionTable({}, tuple(side.mentions.labels), units.number).with_columns(columns)


def _columns(side: AttributeSide, units: ResampledUnits, context: BlockContext) -> dict[str, Column]:
    """The unit and the label of each mention and, if facts are fixed, its buckets."""
    mentions = side.mentions
    columns: dict[str, Column] = {
        "unit": ints(units.of_sentence[mentions.sentence]),
        "label": mentions.label,
    }
    if context.facts is not None:
        buckets = sides_of(context.facts, side)
        columns |= {f"bucket.{name}": bucketed.bucket for name, bucketed in buckets.items()}
    return columns
