"""Which tokens of a corpus mentions hold."""

from __future__ import annotations

import numpy as np

from spanwise.attributes._forms import Runs
from spanwise.columns import Bools, Column, Ints, ints, offsets
from spanwise.corpus import Corpus, Mentions, Parts


def mention_tokens(corpus: Corpus, mentions: Mentions) -> Runs:
    """The positions, in the whole corpus, of the tokens of each mention.

    In a text of characters a mention has the tokens it touches; a discontinuous
    mention has those of all its pieces; one that could not be placed has none.
    """
    if mentions.parts is not None:
        return _tokens_of_parts(corpus, mentions, mentions.parts)
    first, end = _borders(corpus, mentions.sentence, mentions.start, mentions.end)
    size = np.where(mentions.start >= 0, np.maximum(end - first, 0), 0)
    return Runs.spanning(first, size)


def _borders(corpus: Corpus, sentence: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """The positions in the corpus of the first token of each span and of the one behind its last."""
    base = corpus.sentences[sentence]
    if corpus.unit == "token":
        return base + start, base + end
    if corpus.token_start is None or corpus.token_end is None:
        raise ValueError("a corpus of characters needs token_start and token_end")
    # Tokens lie one behind another, so (sentence, character) is in order over the
    # whole corpus, and one search finds the tokens a span touches.
    stride = int(max(corpus.token_end.max(initial=0), end.max(initial=0))) + 1
    owner = np.repeat(np.arange(len(corpus)), corpus.lengths) * stride
    first = np.searchsorted(owner + corpus.token_end, sentence * stride + start, side="right")
    behind = np.searchsorted(owner + corpus.token_start, sentence * stride + end, side="left")
    return ints(first), ints(behind)


def _tokens_of_parts(corpus: Corpus, mentions: Mentions, parts: Parts) -> Runs:
    pieces = np.diff(parts.at)
    owner = np.repeat(np.arange(len(mentions)), pieces)
    first, end = _borders(corpus, mentions.sentence[owner], parts.start, parts.end)
    size = np.where(mentions.start[owner] >= 0, np.maximum(end - first, 0), 0)
    if len(size) and corpus.unit == "character":
        # Two pieces may touch one token; it is the mention's once.
        same = np.zeros(len(size), dtype=bool)
        same[1:] = (owner[1:] == owner[:-1]) & (first[1:] < end[:-1]) & (size[1:] > 0)
        first, size = first + same, size - same
    runs = Runs.spanning(first, size)
    per_mention = np.bincount(owner, weights=size, minlength=len(mentions)).astype(np.int64)
    return Runs(offsets(per_mention), runs.position)


def distinct_units(position: Ints, label: Column, labels: int) -> Ints | None:
    """Which of the (position, label) pairs to keep so that each is there once; None keeps all.

    The first of equal pairs is kept, and the order stays; a position of -1 is never equal to another.
    """
    if len(position) < 2 or bool((position[1:] > position[:-1]).all()):
        return None
    key = position * max(labels, 1) + label
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    fresh = np.ones(len(key), dtype=bool)
    fresh[1:] = (ordered[1:] != ordered[:-1]) | (position[order][1:] < 0)
    return ints(np.sort(order[fresh]))


def one_occurrence(corpus: Corpus, mentions: Mentions, runs: Runs) -> Bools:
    """Which mentions are an occurrence of their tokens in the text, each (occurrence, label) once.

    A discontinuous mention is none, as its tokens do not follow one another;
    of two mentions of characters that touch the same tokens one is counted.
    """
    if mentions.parts is None and corpus.unit == "token":
        return np.ones(len(mentions), dtype=bool)
    size, at = runs.size, runs.at
    some = np.flatnonzero(size > 0)
    first, final = runs.position[at[some]], runs.position[at[some + 1] - 1]
    whole = some[final - first + 1 == size[some]]
    columns = (mentions.label[whole], size[whole], runs.position[at[whole]])
    order = np.lexsort(columns)
    fresh = np.zeros(len(whole), dtype=bool)
    fresh[:1] = True
    for column in columns:
        fresh[1:] |= column[order][1:] != column[order][:-1]
    mask = np.zeros(len(mentions), dtype=bool)
    mask[whole[order[fresh]]] = True
    return mask
