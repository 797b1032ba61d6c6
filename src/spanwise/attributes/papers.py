"""The attributes of Fu19 and Fu20, computed from the shape of mentions and from training data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spanwise.attributes._context import Attribute, AttributeUnit, Side, no_training
from spanwise.attributes._lexicon import Lexicon, SummedLexicon
from spanwise.citations import FU19, FU20
from spanwise.columns import Codes, Column, Floats, Ints, ints, ratio

# ---- shape ---------------------------------------------------------------------------------------
MORPHOLOGY = ("digit", "upper", "lower", "capitalised", "other")
_BESIDE_DIGITS = frozenset(".,:/-%+$€")


def entity_length(side: Side) -> Ints:
    """The number of tokens in a mention; its width if the file has positions but no text."""
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
    """The number of tokens in the sentence of a mention."""
    return side.of_sentence(side.context.corpus.lengths)


def entity_density(side: Side) -> Column:
    """Gold mentions in the sentence / tokens in the sentence."""
    corpus = side.context.corpus
    mentions = np.bincount(side.context.gold.sentence, minlength=len(corpus))
    return side.of_sentence(ratio(mentions, corpus.lengths))


def entity_token_density(side: Side) -> Column:
    """Tokens of the sentence inside gold mentions, each counted once / tokens in the sentence."""
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
    """The shape of a token: the first of digit, upper, lower, capitalised and other that fits."""
    code = side.unit_code
    vocabulary, shapes = side.context.corpus.vocabulary, np.full(len(code), -1, dtype=np.int64)
    # Always as written, even with `lowercase`: in lower case there would be no shape.
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

    Digit: at least one digit, and otherwise only `. , : / - % + $ €`. Upper and lower: there is a
    cased character, and all of them are upper or lower. Capitalised: the first character is upper.

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

# Attributes of a sentence are defined for every mention in it, including unplaced ones.
SHAPE: tuple[Attribute, ...] = (
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
        summary="tokens of the sentence the mention is in",
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
    # Fu19 does not print its bucket edges; these reproduce its columns R-sLen and R-eLen (Tables 4 and 7).
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
        summary="tokens of the sentence the mention is in, in the buckets of Fu19",
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


# ---- training data -------------------------------------------------------------------------------
def entity_frequency(side: Side) -> Floats:
    """Occurrences of the token sequence in the training text, with any label or none / training tokens."""
    return ratio(_of_form(side, side.counts.occurrences), _lexicon(side).tokens)


def entity_label_consistency(side: Side) -> Floats:
    """Occurrences of the token sequence that are exactly a training mention of the label / all occurrences.

    0 if the sequence never occurs in the training text.
    """
    labeled = side.counts.exact.count(side.form, side.train_label)
    return _share(labeled, _of_form(side, side.counts.occurrences))


def entity_familiarity(side: Side) -> Floats:
    """Training mentions with the same token sequence / training mentions."""
    return ratio(side.counts.mentions.total(side.form), _lexicon(side).mentions)


def label_familiarity(side: Side) -> Floats:
    """Training mentions with the mention's label / training mentions."""
    lexicon = _lexicon(side)
    per_label = np.append(lexicon.per_label, 0)  # the last entry is for labels not in the training data
    return ratio(per_label[side.train_label], lexicon.mentions)


def entity_label_familiarity(side: Side) -> Floats:
    """Training mentions with the token sequence and the label / those with the sequence; 0 if none."""
    mentions = side.counts.mentions
    return _share(mentions.count(side.form, side.train_label), mentions.total(side.form))


def token_frequency(side: Side) -> Floats:
    """Occurrences of the token in the training text / training tokens."""
    return ratio(_occurrences(side), _lexicon(side).tokens)


def token_label_consistency(side: Side) -> Floats:
    """Occurrences of the token inside training mentions of the label / all occurrences; 0 if unseen."""
    return _share(_labeled(side), _occurrences(side))


def token_familiarity(side: Side) -> Floats:
    """Training-mention tokens with the same string / training-mention tokens, each (position, label) once."""
    lexicon = _lexicon(side)
    return ratio(lexicon.token_labels.total(side.unit_train_code), lexicon.inside)


def token_label_familiarity(side: Side) -> Floats:
    """Training-mention tokens with the string and label / those with the string; 0 if there are none."""
    return _share(_labeled(side), _lexicon(side).token_labels.total(side.unit_train_code))


def _lexicon(side: Side) -> Lexicon | SummedLexicon:
    if side.context.training is None:
        raise no_training()
    return side.context.training


def _share(part: Column, whole: Column) -> Floats:
    """`part / whole`, or 0 if `whole` is 0."""
    return ratio(part, np.maximum(whole, 1))


def _of_form(side: Side, per_form: Column) -> Column:
    """The value of each mention's token sequence, or 0 for a mention without tokens."""
    return np.append(per_form, 0)[side.form]


def _occurrences(side: Side) -> Column:
    """How often the token of each unit occurs in the training text."""
    return np.append(_lexicon(side).frequency, 0)[side.unit_train_code]


def _labeled(side: Side) -> Column:
    """How often the token of each unit occurs in a training mention of the unit's label."""
    label = side.train_label[side.units[0]]
    return _lexicon(side).token_labels.count(side.unit_train_code, label)


def _trained(
    name: str,
    alias: str,
    summary: str,
    function: Callable[[Side], object],
    buckets: str,
    source: str,
    *,
    unit: AttributeUnit = "mention",
) -> Attribute:
    """An attribute that needs text and training data and is between 0 and 1."""
    return Attribute(
        name=name,
        alias=alias,
        summary=summary,
        function=function,
        unit=unit,
        needs=frozenset({"text", "train"}),
        source=source,
        buckets=buckets,
        bounds=(0.0, 1.0),
        # The label is known even if the mention could not be placed.
        of_sentence=function is label_familiarity,
    )


TRAINING: tuple[Attribute, ...] = (
    _trained(
        "entity_frequency",
        "eFre",
        "occurrences of its token sequence in the training text, any label or none / training tokens",
        entity_frequency,
        "special:0+balanced:3",
        f"{FU20}, §3.1",
    ),
    _trained(
        "token_frequency",
        "tFre",
        "occurrences of the token in the training text / training tokens",
        token_frequency,
        "special:0+balanced:3",
        f"{FU20}, §3.1",
        unit="token",
    ),
    _trained(
        "entity_label_consistency",
        "eCon",
        "occurrences of its token sequence in the training text that are exactly a mention with its label"
        " / all its occurrences (0: it never occurs)",
        entity_label_consistency,
        "special:0,1+balanced:2",
        f"{FU20}, §3.1",
    ),
    _trained(
        "token_label_consistency",
        "tCon",
        "occurrences of the token inside training mentions of its label / all its occurrences (0: unseen)",
        token_label_consistency,
        "special:0,1+balanced:2",
        f"{FU20}, §3.1",
        unit="token",
    ),
    _trained(
        "entity_familiarity",
        "F-ent",
        "training mentions with its token sequence / training mentions",
        entity_familiarity,
        "special:0+balanced:5",
        f"{FU19}, F-ent",
    ),
    _trained(
        "token_familiarity",
        "F-tok",
        "tokens of training mentions with the same string / tokens of training mentions",
        token_familiarity,
        "special:0+balanced:5",
        f"{FU19}, F-tok",
        unit="token",
    ),
    _trained(
        "label_familiarity",
        "F-tag",
        "training mentions with its label / training mentions",
        label_familiarity,
        "familiarity:5",
        f"{FU19}, F-tag",
    ),
    _trained(
        "entity_label_familiarity",
        "MF-et",
        "training mentions with its token sequence and label / those with its token sequence (0: none)",
        entity_label_familiarity,
        "familiarity:5",
        f"{FU19}, MF-et",
    ),
    _trained(
        "token_label_familiarity",
        "MF-tt",
        "tokens of training mentions with its string and label / those with its string (0: none)",
        token_label_familiarity,
        "familiarity:5",
        f"{FU19}, MF-tt",
        unit="token",
    ),
)
