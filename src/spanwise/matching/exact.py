"""Exact matching, and the mentions of several parties, each once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Ints, ints
from spanwise.corpus import Mentions, Pieces, joined_pieces
from spanwise.matching._join import equal_mentions, lines
from spanwise.matching._overlaps import TP, Matching, Pairing


def match_exact(gold: Mentions, predicted: Mentions) -> Matching:
    """Equal span and label: TP; every other gold mention is FN, every other predicted one FP.

    Examples:
        >>> gold = Mentions.of([(0, 0, 2, "PER"), (0, 4, 5, "LOC")])
        >>> predicted = Mentions.of([(0, 0, 2, "PER"), (0, 4, 6, "LOC")])
        >>> match_exact(gold, predicted).events().rows()
        [(0, 0, 'TP', 0), (1, -1, 'FN', 0), (-1, 1, 'FP', 0)]
    """
    pairing = Pairing.none(len(gold), len(predicted))
    pairing.both(*equal_mentions(gold, predicted, *lines(gold, predicted)), TP)
    return pairing.matching()


class DistinctMentions(Struct, frozen=True, eq=False):
    """Each mention of anyone once, by sentence, start, end and label, and who has it (parties × mentions)."""

    sentence: Ints
    start: Ints
    end: Ints
    shape: Ints  # tells apart discontinuous mentions with the same borders; 0: in one piece
    label: Ints
    by: Bools
    pieces: tuple[Pieces, ...]  # by shape, from 1

    def __len__(self) -> int:
        return len(self.sentence)


def distinct_mentions(parties: Sequence[Mentions]) -> DistinctMentions:
    """The mentions of several parties, each once, in order; their label codes are from one list.

    Examples:
        >>> one = Mentions.of([(0, 0, 1, "PER")], labels=("PER",))
        >>> both = Mentions.of([(0, 0, 1, "PER"), (0, 2, 3, "PER")], labels=("PER",))
        >>> distinct_mentions([one, both]).by.tolist()
        [[True, False], [True, True]]
    """
    shapes: dict[Pieces, int] = {}
    columns = []
    for mentions in parties:
        shape = np.zeros(len(mentions), dtype=np.int64)
        if mentions.parts is not None:
            covers = (joined_pieces(own) for own in mentions.pieces())
            shape = ints([shapes.setdefault(own, len(shapes) + 1) if len(own) > 1 else 0 for own in covers])
        columns.append(
            (mentions.sentence, mentions.start, mentions.end, shape, mentions.label.astype(np.int64))
        )
    joined = [np.concatenate(column) for column in zip(*columns, strict=True)]
    order = np.lexsort(joined[::-1])
    ranked = [column[order] for column in joined]
    new = np.ones(len(order), dtype=bool)
    if len(order):
        new[1:] = np.any([column[1:] != column[:-1] for column in ranked], axis=0)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(new) - 1
    by = np.zeros((len(parties), int(new.sum())), dtype=bool)
    by[np.repeat(np.arange(len(parties)), [len(mentions) for mentions in parties]), number] = True
    sentence, start, end, shape, label = (ints(column[new]) for column in ranked)
    return DistinctMentions(sentence, start, end, shape, label, by, tuple(shapes))
