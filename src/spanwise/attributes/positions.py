"""Where in its document a mention is: truncated input shows as recall that drops after some token."""

from __future__ import annotations

import numpy as np

from spanwise.attributes._context import Attribute, Side
from spanwise.columns import Floats, Ints, ints, ratio


def position(side: Side) -> Floats:
    """The tokens of the document before the first token of the mention; NaN if the mention has no token.

    Without marked documents, the document of a mention is its sentence.
    """
    begin, _ = _documents(side)
    return np.asarray(_first_token(side) - side.of_sentence(begin))


def _first_token(side: Side) -> Floats:
    runs = side.runs
    first = np.full(len(side.mentions), np.nan)
    has_token = runs.size > 0
    first[has_token] = runs.position[runs.at[:-1][has_token]]
    return first


def sentence_position(side: Side) -> Floats:
    """The tokens of the sentence before the first token of the mention; NaN if the mention has no token."""
    return np.asarray(_first_token(side) - side.of_sentence(side.context.corpus.sentences[:-1]))


def relative_position(side: Side) -> Floats:
    """The position of the mention / tokens of its document."""
    begin, end = _documents(side)
    return ratio(position(side), side.of_sentence(end - begin))


def _documents(side: Side) -> tuple[Ints, Ints]:
    """The first token of the document of each sentence, and the first token after it."""
    corpus = side.context.corpus
    if corpus.document_of_sentence is None or corpus.documents is None:
        return corpus.sentences[:-1], corpus.sentences[1:]
    borders = corpus.sentences[corpus.documents]
    return ints(borders[corpus.document_of_sentence]), ints(borders[corpus.document_of_sentence + 1])


POSITION: tuple[Attribute, ...] = (
    Attribute(
        name="position",
        summary="tokens of the document before the mention (of the sentence if no documents are marked)",
        function=position,
        buckets="balanced:4",
        bounds=(0.0, float("inf")),
        whole=True,
    ),
    Attribute(
        name="relative_position",
        summary="tokens of the document before the mention / tokens of the document",
        function=relative_position,
        buckets="balanced:4",
        bounds=(0.0, 1.0),
    ),
)
