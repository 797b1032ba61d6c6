"""Windows of sentences: which tokens a tagger sees together, and for which of them it answers."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Ints, ints
from spanwise.corpus import Annotation, Corpus
from spanwise.errors import ChoiceError, InputError

Mode = Literal["concat", "context"]


def checked_mode(mode: object) -> Mode:
    """The mode of windows that was asked for; ChoiceError where there is none of this name."""
    if mode == "concat" or mode == "context":
        return mode
    raise ChoiceError(f"the mode of windows is {mode!r}, but must be 'concat' or 'context'.")


class Windows(Struct, frozen=True, eq=False):
    """Ranges of tokens: window `i` sees `start[i]:stop[i]` and answers for `first[i]:last[i]` of them.

    Every token is answered for by exactly one window, so predictions for any number of
    sentences in a window lie on the same tokens. `cut` counts sentences longer than the limit.
    """

    start: Ints
    stop: Ints
    first: Ints
    last: Ints
    cut: int = 0

    def __len__(self) -> int:
        return len(self.start)


def windows(
    corpus: Corpus,
    sentences: int = 1,
    *,
    mode: Mode = "concat",
    limit: int | None = None,
    sizes: Ints | None = None,
    cross: bool = False,
) -> Windows:
    """Windows of at most `sentences` sentences of one document.

    With "concat" they do not overlap, as in Fu et al. (2020), section 6; with "context" every
    sentence has a window of its own, with its neighbours on both sides. A window is closed early
    where the next sentence would pass `limit` (of `sizes` per token, by default 1 each). Nothing is
    left out: a sentence longer than the limit is split between tokens.

    Args:
        cross: whether windows may hold sentences of several documents, or of a corpus without documents.

    Raises:
        InputError: more than one sentence is asked for, and documents are not marked.
    """
    if sentences < 1:
        raise ChoiceError(f"a window of {sentences} sentences cannot be made.\nGive 1 or more.")
    checked_mode(mode)
    if sentences > 1 and corpus.documents is None and not cross:
        raise InputError(
            f"{corpus.source.path}: documents are not marked, "
            f"so {sentences} sentences may not belong together.\n"
            "Mark documents (-DOCSTART-), or allow windows to cross them on purpose with cross = true "
            "(convert: --cross-documents)."
        )
    weight = np.ones(len(corpus.tokens), np.int64) if sizes is None else np.asarray(sizes)
    reach = np.concatenate([[0], np.cumsum(weight)])
    bounds, cut = _split(np.asarray(corpus.sentences), reach, limit)
    document = np.zeros(len(bounds) - 1, np.int64)
    if corpus.documents is not None and not cross:
        borders = np.asarray(corpus.sentences)[np.asarray(corpus.documents)]
        document = np.searchsorted(borders, bounds[:-1], side="right")
    make = _concatenated if mode == "concat" else _with_context
    start, stop, first, last = make(bounds, document, reach, sentences, limit)
    return Windows(ints(start), ints(stop), ints(first), ints(last), cut)


def _split(bounds: Ints, reach: Ints, limit: int | None) -> tuple[Ints, int]:
    """The borders of sentences, without empty ones, with those longer than the limit split."""
    bounds = np.unique(bounds)
    if limit is None or not len(bounds) or (np.diff(reach[bounds]) <= limit).all():
        return bounds, 0
    pieces, cut = [int(bounds[0])], 0
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if reach[end] - reach[begin] > limit:
            cut += 1
            while reach[end] - reach[begin] > limit:
                begin = max(int(np.searchsorted(reach, reach[begin] + limit, side="right")) - 1, begin + 1)
                pieces.append(begin)
        if pieces[-1] != end:
            pieces.append(end)
    return ints(pieces), cut


Ranges = tuple[Ints, Ints, Ints, Ints]


def _concatenated(bounds: Ints, document: Ints, reach: Ints, sentences: int, limit: int | None) -> Ranges:
    opens: list[int] = []
    held, size = 0, 0
    lengths = np.diff(reach[bounds]).tolist()
    for row, (length, own) in enumerate(zip(lengths, document.tolist(), strict=True)):
        new = held == sentences or row == 0 or own != document[row - 1]
        if new or (limit is not None and size + length > limit):
            opens.append(row)
            held, size = 0, 0
        held, size = held + 1, size + length
    start = bounds[:-1][opens]
    stop = np.append(start[1:], bounds[-1]) if len(start) else start
    return start, stop, start, stop


def _with_context(bounds: Ints, document: Ints, reach: Ints, sentences: int, limit: int | None) -> Ranges:
    first, last = bounds[:-1], bounds[1:]
    left, right = np.arange(len(first)), np.arange(len(first))
    for turn in range(sentences - 1):
        # By turns a sentence before and one after; where one side has no more, the other goes on.
        for before in (turn % 2 == 0, turn % 2 == 1):
            next_left, next_right = (left - 1, right) if before else (left, right + 1)
            possible = (next_left >= 0) & (next_right < len(first))
            safe_left, safe_right = np.maximum(next_left, 0), np.minimum(next_right, len(first) - 1)
            possible &= document[safe_left] == document[safe_right]
            if limit is not None:
                possible &= reach[last[safe_right]] - reach[first[safe_left]] <= limit
            possible &= (right - left) <= turn
            left, right = np.where(possible, next_left, left), np.where(possible, next_right, right)
    return first[left], last[right], first, last


def joined(annotation: Annotation, sentences: int, *, cross: bool = False) -> Annotation:
    """The same tokens and mentions with up to `sentences` sentences of one document made one.

    For trainers that know no windows: predictions made on these sentences lie on the same tokens.
    """
    corpus, mentions = annotation.corpus, annotation.mentions
    made = windows(corpus, sentences, cross=cross)
    bounds = np.append(made.start, len(corpus.tokens))
    place = corpus.sentences[mentions.sentence] + mentions.start
    window = np.searchsorted(bounds, place, side="right") - 1
    start = place - bounds[window]
    documents = None
    if corpus.documents is not None and not cross:
        documents = ints(np.searchsorted(bounds, corpus.sentences[corpus.documents]))
    text = Corpus(corpus.tokens, corpus.vocabulary, ints(bounds), documents)
    moved = replace(
        mentions, sentence=ints(window), start=ints(start), end=ints(start + mentions.end - mentions.start)
    )
    return Annotation(text, moved, annotation.reading)
