"""Attributes that the test data alone decide: lengths, densities, morphology, the label."""

from __future__ import annotations

import numpy as np

from spanwise.attributes._context import Attribute, Side
from spanwise.citations import FU19, FU20
from spanwise.columns import Codes, Column, Ints, ints, ratio

MORPHOLOGY = ("digit", "upper", "lower", "capitalised", "other")
_BESIDE_DIGITS = frozenset(".,:/-%+$€")


def entity_length(side: Side) -> Ints:
    """The number of tokens of a mention; its width where a file holds positions alone."""
    if side.context.corpus.without_text:
        parts = side.mentions.parts
        if parts is None:
            return side.mentions.length
        owner = np.repeat(np.arange(len(side.mentions)), np.diff(parts.at))
        return ints(
            np.bincount(owner, weights=parts.end - parts.start, minlength=len(side.mentions)).astype(int)
        )
    return side.runs.size


def sentence_length(side: Side) -> Column:
    """The number of tokens of the sentence that a mention stands in."""
    return side.of_sentence(side.context.corpus.lengths)


def entity_density(side: Side) -> Column:
    """Gold mentions of the sentence / its tokens."""
    corpus = side.context.corpus
    mentions = np.bincount(side.context.gold.sentence, minlength=len(corpus))
    return side.of_sentence(ratio(mentions, corpus.lengths))


def entity_token_density(side: Side) -> Column:
    """Tokens of the sentence inside gold mentions, each once / its tokens."""
    context = side.context
    inside = np.zeros(len(context.corpus.tokens), dtype=bool)
    inside[context.runs.position] = True
    return side.of_sentence(ratio(context.per_sentence(inside), context.corpus.lengths))


def oov_density(side: Side) -> Column:
    """Tokens of the sentence that are not in the training vocabulary (or a given word list) / its tokens."""
    return side.of_sentence(ratio(side.context.unknown, side.context.corpus.lengths))


def label(side: Side) -> tuple[Codes, tuple[str, ...]]:
    """The label of a mention."""
    return side.mentions.label, tuple(side.mentions.labels)


def morphology(side: Side) -> tuple[Column, tuple[str, ...]]:
    """The shape of a token: the first that fits of digit, upper, lower, capitalised, other."""
    code = side.unit_code
    vocabulary, shapes = side.context.corpus.vocabulary, np.full(len(code), -1, dtype=np.int64)
    # As written, whatever `lowercase` says: in lower case there would be no shape.
    written = side.context.corpus.tokens
    position = side.units[1]
    placed = position >= 0
    used = np.zeros(len(vocabulary), dtype=bool)
    used[written[position[placed]]] = True
    shape = np.zeros(len(vocabulary), dtype=np.int64)
    for word in np.flatnonzero(used).tolist():
        shape[word] = MORPHOLOGY.index(shape_of(vocabulary[word]))
    shapes[placed] = shape[written[position[placed]]]
    return shapes, MORPHOLOGY


def shape_of(token: str) -> str:
    """The morphology of one token.

    Digit: at least one digit, otherwise only `. , : / - % + $ €`. Upper and lower: there is a
    cased character, and all cased ones are upper or lower. Capitalised: the first character is upper.

    Examples:
        >>> [shape_of(token) for token in ("1,5%", "U.S.", "iPhone", "Rome", "x-1", "--")]
        ['digit', 'upper', 'other', 'capitalised', 'lower', 'other']
    """
    if any(c.isdigit() for c in token) and all(c.isdigit() or c in _BESIDE_DIGITS for c in token):
        return "digit"
    if token.isupper():
        return "upper"
    if token.islower():
        return "lower"
    return "capitalised" if token[:1].isupper() else "other"


_TEXT = frozenset({"text"})
_MANY = (0.0, float("inf"))  # nested mentions can outnumber the tokens
_SHARE = (0.0, 1.0)

# What is said of a sentence holds for every mention in it, also for one that could not be placed.
ATTRIBUTES: tuple[Attribute, ...] = (
    Attribute(
        name="entity_length",
        alias="eLen",
        summary="tokens of the mention",
        function=entity_length,
        needs=frozenset(),
        source=f"{FU20}, §3.1",
        buckets="special:1,2,3+balanced:1",
        bounds=(1.0, float("inf")),
        whole=True,
    ),
    Attribute(
        name="sentence_length",
        alias="sLen",
        summary="tokens of the sentence the mention stands in",
        function=sentence_length,
        needs=_TEXT,
        source=f"{FU20}, §3.1",
        buckets="balanced:4",
        bounds=(1.0, float("inf")),
        whole=True,
        of_sentence=True,
    ),
    Attribute(
        name="entity_density",
        alias="eDen",
        summary="gold mentions of the sentence / tokens of the sentence",
        function=entity_density,
        needs=_TEXT,
        source=f"{FU20}, §3.1",
        buckets="balanced:4",
        bounds=_MANY,
        of_sentence=True,
    ),
    Attribute(
        name="oov_density",
        alias="oDen",
        summary="tokens of the sentence not in the training vocabulary (or a word list) / its tokens",
        function=oov_density,
        needs=frozenset({"text", "vocabulary"}),
        source=f"{FU20}, §3.1",
        buckets="special:0+balanced:3",
        bounds=_SHARE,
        of_sentence=True,
    ),
    Attribute(
        name="label",
        alias="tag",
        summary="the label of the mention",
        function=label,
        kind="category",
        needs=frozenset(),
        source=f"{FU20}, §3.1",
        buckets="category",
        of_sentence=True,
    ),
    Attribute(
        name="entity_token_density",
        alias="R-eDen",
        summary="tokens of the sentence inside gold mentions / tokens of the sentence",
        function=entity_token_density,
        needs=_TEXT,
        source=f"{FU19}, R-eDen",
        buckets="balanced:5",
        bounds=_SHARE,
        of_sentence=True,
    ),
    # Fu19 prints no edges; with these its columns R-sLen and R-eLen come out (Tables 4 and 7).
    Attribute(
        name="entity_length_fu19",
        alias="R-eLen",
        summary="tokens of the mention, in the buckets of Fu19",
        function=entity_length,
        needs=frozenset(),
        source=f"{FU19}, R-eLen",
        buckets="fixed:1,2",
        bounds=(1.0, float("inf")),
        whole=True,
    ),
    Attribute(
        name="sentence_length_fu19",
        alias="R-sLen",
        summary="tokens of the sentence the mention stands in, in the buckets of Fu19",
        function=sentence_length,
        needs=_TEXT,
        source=f"{FU19}, R-sLen",
        buckets="fixed:5,10,15,20,25,30",
        bounds=(1.0, float("inf")),
        whole=True,
        of_sentence=True,
    ),
    Attribute(
        name="oov_density_fu19",
        alias="R-oov",
        summary="tokens of the sentence not in the training vocabulary / its tokens, under its name in Fu19",
        function=oov_density,
        needs=frozenset({"text", "vocabulary"}),
        source=f"{FU19}, R-oov",
        buckets="special:0+balanced:3",
        bounds=_SHARE,
        of_sentence=True,
    ),
    Attribute(
        name="morphology",
        alias="R-mor",
        summary="shape of a token of the mention: digit, upper, lower, capitalised or other",
        function=morphology,
        unit="token",
        kind="category",
        needs=_TEXT,
        source=f"{FU19}, R-mor",
        buckets="category",
    ),
)
