"""Windows of sentences: the tokens that a model sees together, and those of them that it predicts."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Ints, distinct, ints
from spanwise.corpus import Annotation, Corpus
from spanwise.errors import ChoiceError, InputError

Mode = Literal["concat", "context"]


def checked_mode(mode: object) -> Mode:
    """Return the mode of windows; raise ChoiceError if it is unknown."""
    if mode == "concat" or mode == "context":
        return mode
    raise ChoiceError(f"the mode of windows is {mode!r}, but must be 'concat' or 'context'.")


class Windows(Struct, frozen=True, eq=False):
    """Ranges of tokens: window `i` sees `start[i]:stop[i]` and predicts `first[i]:last[i]`.

    Every token is predicted by exactly one window, so predictions are on the same tokens whatever
    the number of sentences in a window. `cut` counts the sentences longer than the limit.
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
    """Windows of at most `sentences` sentences from one document.

    With "concat", windows do not overlap, as in Fu et al. (2020), section 6; with "context", every
    sentence has its own window, with its neighbours on both sides. A window ends early if the next
    sentence would exceed `limit` (in units of `sizes` per token, by default 1 each). Nothing is
    left out: a sentence longer than the limit is split between tokens.

    Args:
        cross: whether windows may contain sentences of several documents, or of a corpus without documents.

    Raises:
        InputError: `sentences` is more than one, and documents are not marked.
    """
    if sentences < 1:
        raise ChoiceError(f"a window cannot have {sentences} sentences.\nGive 1 or more.")
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
    """The boundaries of non-empty sentences, with sentences longer than the limit split."""
    bounds = distinct(bounds)
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
    count, size = 0, 0
    lengths = np.diff(reach[bounds]).tolist()
    for row, (length, own) in enumerate(zip(lengths, document.tolist(), strict=True)):
        new = count == sentences or row == 0 or own != document[row - 1]
        if new or (limit is not None and size + length > limit):
            opens.append(row)
            count, size = 0, 0
        count, size = count + 1, size + length
    start = bounds[:-1][opens]
    stop = np.append(start[1:], bounds[-1]) if len(start) else start
    return start, stop, start, stop


def _with_context(bounds: Ints, document: Ints, reach: Ints, sentences: int, limit: int | None) -> Ranges:
    first, last = bounds[:-1], bounds[1:]
    left, right = np.arange(len(first)), np.arange(len(first))
    for turn in range(sentences - 1):
        # Alternate between a sentence before and one after; if one side has no more, use the other.
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
    """Join up to `sentences` sentences of a document into one; tokens and mentions stay the same.

    For trainers without windows: predictions on the joined sentences are on the same tokens.
    """
    corpus, mentions = annotation.corpus, annotation.mentions
    parts = windows(corpus, sentences, cross=cross)
    bounds = np.append(parts.start, len(corpus.tokens))
    position = corpus.sentences[mentions.sentence] + mentions.start
    window = np.searchsorted(bounds, position, side="right") - 1
    start = position - bounds[window]
    documents = None
    if corpus.documents is not None and not cross:
        documents = ints(np.searchsorted(bounds, corpus.sentences[corpus.documents]))
    text = Corpus(corpus.tokens, corpus.vocabulary, ints(bounds), documents)
    moved = replace(
        mentions, sentence=ints(window), start=ints(start), end=ints(start + mentions.end - mentions.start)
    )
    return Annotation(text, moved, annotation.reading)
