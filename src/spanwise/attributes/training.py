"""Attributes that training data decide: frequencies, label consistencies, familiarities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spanwise.attributes._context import Attribute, AttributeUnit, Side, no_training
from spanwise.attributes._lexicon import Lexicon
from spanwise.attributes._sums import SummedLexicon
from spanwise.citations import FU19, FU20
from spanwise.columns import Column, Floats, ratio


def entity_frequency(side: Side) -> Floats:
    """Occurrences of the token sequence in the training text, any label or none / training tokens."""
    return ratio(_of_form(side, side.counts.occurrences), _lexicon(side).tokens)


def entity_label_consistency(side: Side) -> Floats:
    """Occurrences of the token sequence that are exactly a training mention of the label / all occurrences.

    0 where the sequence never occurs in the training text.
    """
    labeled = side.counts.exact.count(side.form, side.train_label)
    return _share(labeled, _of_form(side, side.counts.occurrences))


def entity_familiarity(side: Side) -> Floats:
    """Training mentions with the same token sequence / training mentions."""
    return ratio(side.counts.mentions.total(side.form), _lexicon(side).mentions)


def label_familiarity(side: Side) -> Floats:
    """Training mentions with the mention's label / training mentions."""
    lexicon = _lexicon(side)
    per_label = np.append(lexicon.per_label, 0)  # the last place serves labels training does not have
    return ratio(per_label[side.train_label], lexicon.mentions)


def entity_label_familiarity(side: Side) -> Floats:
    """Training mentions with the token sequence and the label / those with the sequence; 0 where none."""
    mentions = side.counts.mentions
    return _share(mentions.count(side.form, side.train_label), mentions.total(side.form))


def token_frequency(side: Side) -> Floats:
    """Occurrences of the token in the training text / training tokens."""
    return ratio(_occurrences(side), _lexicon(side).tokens)


def token_label_consistency(side: Side) -> Floats:
    """Occurrences of the token inside training mentions of the label / all occurrences; 0 where unseen."""
    return _share(_labeled(side), _occurrences(side))


def token_familiarity(side: Side) -> Floats:
    """Training-mention tokens with the same string / training-mention tokens, each (position, label) once."""
    lexicon = _lexicon(side)
    return ratio(lexicon.token_labels.total(side.unit_train_code), lexicon.inside)


def token_label_familiarity(side: Side) -> Floats:
    """Training-mention tokens with the string and label / those with the string; 0 where there are none."""
    return _share(_labeled(side), _lexicon(side).token_labels.total(side.unit_train_code))


def _lexicon(side: Side) -> Lexicon | SummedLexicon:
    if side.context.training is None:
        raise no_training()
    return side.context.training


def _share(part: Column, whole: Column) -> Floats:
    """`part / whole`, and 0 where there is nothing to share."""
    return ratio(part, np.maximum(whole, 1))


def _of_form(side: Side, per_form: Column) -> Column:
    """The value of each mention's token sequence, 0 for a mention of no token."""
    return np.append(per_form, 0)[side.form]


def _occurrences(side: Side) -> Column:
    """How often the token of each unit occurs in the training text."""
    return np.append(_lexicon(side).frequency, 0)[side.unit_train_code]


def _labeled(side: Side) -> Column:
    """How often the token of each unit stands in a training mention of the unit's label."""
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
    """An attribute that needs text and training data and lies between 0 and 1."""
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
        # A label is known although the mention could not be placed.
        of_sentence=function is label_familiarity,
    )


ATTRIBUTES: tuple[Attribute, ...] = (
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
