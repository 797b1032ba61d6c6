"""Attributes built on request: columns and fields of the data, and shares of similar training mentions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.attributes._context import (
    Attribute,
    AttributeUnit,
    Context,
    Mention,
    PartCounts,
    Side,
    compute,
    mention_views,
    no_training,
)
from spanwise.attributes._lexicon import Lexicon
from spanwise.citations import FU19
from spanwise.columns import Column
from spanwise.errors import ChoiceError


# ---- columns and fields --------------------------------------------------------------------------
def given(text: str) -> Attribute:
    """The attribute for `NAME=column:C` or `NAME=field:F`; without `NAME=`, it is called C or F.

    A column gives the value of the mention's first token; a field gives that of the mention, or
    else of its sentence. Values are numeric if those of all gold mentions are, otherwise categories.

    Examples:
        >>> given("domain=column:3").name, given("field:source").name
        ('domain', 'source')
    """
    name, equals, source = text.partition("=")
    if not equals:
        name, source = "", text
    where, colon, key = source.partition(":")
    if where not in ("column", "field") or not colon or not key:
        raise ChoiceError(
            f"{text!r} does not say where the values of an attribute are.\n"
            "Write NAME=column:NUMBER for a column of the tokens or NAME=field:NAME for a field"
            " of the sentences or mentions, such as domain=column:3."
        )
    return Attribute(
        name=name or key,
        summary=f"{where} {key!r} of the data" + (" (of the first token)" if where == "column" else ""),
        function=GivenValues(where, key),
        kind=None,
        needs=frozenset({f"{where}:{key}"}),
        source="the data",
        of_sentence=where == "field",
    )


class GivenValues(Struct, frozen=True):
    """The function of an attribute whose values are a column or field of the data."""

    where: str  # "column" or "field"
    key: str

    def __call__(self, side: Side) -> Column:
        if self.where == "column":
            return _first_token(side, side.context.corpus.columns[self.key])
        return _field(side, self.key)


def is_given(attribute: Attribute) -> bool:
    """Whether the values of an attribute come with the data."""
    return isinstance(attribute.function, GivenValues)


def missing(need: str, context: Context) -> str | None:
    """The reason why a need such as `column:3` is not met, or None if it is."""
    where, _, key = need.partition(":")
    if where == "column":
        available = context.corpus.columns
        kind = "column of the tokens"
    else:
        available = {**context.corpus.fields, **context.gold.fields}
        kind = "field of the gold sentences or mentions"
    if key in available:
        return None
    listed = ", ".join(map(str, available)) or "none"
    return f"no {kind} is called {key!r} (there are: {listed})"


def _first_token(side: Side, column: Column) -> Column:
    """The value of each mention's first token, or None if it has no token."""
    size, begin = side.runs.size, side.runs.at[:-1]
    some = np.flatnonzero(size > 0)
    result = np.full(len(size), None, dtype=object)
    result[some] = column[side.runs.position[begin[some]]]
    return result


def _field(side: Side, key: str) -> Column:
    """The value of each mention, or of its sentence; None for predicted mentions without the field."""
    context, mentions = side.context, side.mentions
    if key in context.gold.fields:
        if key in mentions.fields:
            return mentions.fields[key]
        return np.full(len(mentions), None, dtype=object)
    return side.of_sentence(context.corpus.fields[key])


# ---- similar training mentions -------------------------------------------------------------------
# φ is any property of a mention in its sentence. Training mentions are counted by their φ, so any φ
# defines an attribute of familiarity or of consistency (Fu, Liu and Neubig 2020, equations 1 and 2),
# and any two define one of combined familiarity (the MF-buckets of Fu19).

NEEDS = ("text", "train", "train mentions")
Phi = Callable[[Mention], Hashable]
Aggregate = Literal["familiarity", "consistency"]
Phis = Sequence[tuple[Hashable] | None]  # one per unit, or None if it has no φ

# The properties that can be chosen by name, in addition to all attributes.
PHI: dict[str, tuple[str, Phi]] = {
    "entity": ("token sequence", lambda mention: mention.tokens),
    "label": ("label", lambda mention: mention.label),
    "entity_length": ("number of tokens", lambda mention: len(mention.tokens)),
    "first_token": ("first token", lambda mention: mention.tokens[0]),
    "last_token": ("last token", lambda mention: mention.tokens[-1]),
    "previous_token": (
        "token before the mention",
        lambda mention: mention.sentence[mention.start - 1] if mention.start else "",
    ),
    "next_token": (
        "token after the mention",
        lambda mention: mention.sentence[mention.end] if mention.end < len(mention.sentence) else "",
    ),
    "casing": ("casing of tokens", lambda mention: tuple(token[:1].isupper() for token in mention.tokens)),
}


class Property(Struct, frozen=True, eq=False):
    """A property by which mentions, or tokens of mentions, are compared."""

    words: str
    of_side: Callable[[Side], Phis]
    unit: AttributeUnit = "mention"
    needs: frozenset[str] = frozenset()

    def over(self, side: Side, unit: AttributeUnit) -> Phis:
        """φ of every unit; tokens have the φ of their mention if it is a property of mentions."""
        values = self.of_side(side)
        if unit == self.unit:
            return values
        return [values[mention] for mention in side.units[0].tolist()]


def by_function(phi: Phi, words: str = "") -> Property:
    """The property computed by a function of one mention."""

    def of_side(side: Side) -> Phis:
        lowercase = side.context.lowercase
        # A mention without tokens, such as one of white space alone, has no φ.
        return [
            None if view is None or not view.tokens else (phi(_lowered(view) if lowercase else view),)
            for view in mention_views(side)
        ]

    return Property(words, of_side)


def by_attribute(attribute: Attribute) -> Property:
    """The property given by an attribute: units with equal values are alike."""
    # An inferred kind could be numeric in one file and a category in another.
    fixed = attribute if attribute.kind is not None else replace(attribute, kind="category")
    if any(need.startswith(("column:", "field:")) for need in fixed.needs):
        raise ChoiceError(
            f"training mentions cannot be compared by {attribute.name!r}: columns and fields of training "
            "data are not read.\nCompare them by an attribute that is computed."
        )

    def of_side(side: Side) -> Phis:
        values = compute(fixed, side)
        numbers = values.value.tolist()
        return [
            (values.names[value] if values.names is not None else value,)
            if has and value == value and (values.names is None or value >= 0)
            else None
            for value, has in zip(numbers, values.defined.tolist(), strict=True)
        ]

    return Property(attribute.name, of_side, attribute.unit, attribute.needs)


LABEL = by_function(lambda mention: mention.label, "label")


def share(
    part: Property, whole: Property | None = None, *, unit: AttributeUnit = "mention"
) -> Callable[[Side], list[float | None]]:
    """A function over a side that gives, for each unit, a share of the units of training mentions.

    It is the share with the same `part`, among all of them or among those with the same `whole`;
    0 if there are none.
    """

    def keys(side: Side) -> list[tuple[Hashable, Hashable] | None]:
        parts = part.over(side, unit)
        wholes: Phis = [(None,)] * len(parts) if whole is None else whole.over(side, unit)
        return [None if a is None or b is None else (b[0], a[0]) for a, b in zip(parts, wholes, strict=True)]

    def counted(context: Context) -> PartCounts:
        if not isinstance(context.training, Lexicon):
            raise no_training()
        pairs: Counter[tuple[Hashable, Hashable]] = Counter()
        for training in context.of_training:
            phis = keys(training.side(training.gold))
            pairs.update(key for key in phis if key is not None)
        wholes: Counter[Hashable] = Counter()
        for key, times in pairs.items():
            wholes[key[0]] += times
        return wholes, pairs

    def values(side: Side) -> list[float | None]:
        tallies = side.context.tallies
        if values not in tallies:
            tallies[values] = counted(side.context)
        wholes, pairs = tallies[values]
        return [
            None if key is None else pairs[key] / wholes[key[0]] if wholes[key[0]] else 0.0
            for key in keys(side)
        ]

    return values


def compared(phi: Phi, aggregate: Aggregate) -> Callable[[Side], list[float | None]]:
    """A function over a side that compares its mentions with training mentions by a user-defined φ.

    "familiarity": the share of training mentions with the same φ. "consistency": of the training
    mentions with the same φ, the share with the same label.
    """
    own = by_function(phi)
    return share(own) if aggregate == "familiarity" else share(LABEL, own)


def _lowered(mention: Mention) -> Mention:
    tokens = tuple(token.lower() for token in mention.tokens)
    sentence = tuple(token.lower() for token in mention.sentence)
    return replace(mention, tokens=tokens, sentence=sentence, text=mention.text.lower())


def familiarity(text: str, find: Callable[[str], Attribute]) -> Attribute:
    """The attribute for `F:NAME` or `MF:NAME+NAME`.

    With two names, it is the share of the second given the first. A name is one of `PHI` or an attribute
    that `find` resolves. If one of them is an attribute of tokens, tokens of mentions are compared.

    Examples:
        >>> from spanwise.attributes import ATTRIBUTES
        >>> familiarity("MF:entity_length+label", ATTRIBUTES.find).summary
        'of the training mentions with the same number of tokens, the share with the same label'
    """
    kind, _, names = text.partition(":")
    parts = names.split("+")
    if len(parts) != {"F": 1, "MF": 2}.get(kind) or not all(parts):
        raise ChoiceError(
            f"{text!r} does not say what is compared with training mentions.\n"
            f"Write F:NAME or MF:NAME+NAME with names of attributes, or {', '.join(PHI)}."
        )
    *first, last = (
        by_function(PHI[name][1], PHI[name][0]) if name in PHI else by_attribute(find(name)) for name in parts
    )
    condition = first[0] if first else None
    properties = (*first, last)
    unit: AttributeUnit = "token" if any(phi.unit == "token" for phi in properties) else "mention"
    units = "training mentions" if unit == "mention" else "tokens of training mentions"
    like = f"of the {units} with the same {condition.words}, the share" if condition else f"share of {units}"
    return Attribute(
        name=text,
        summary=f"{like} with the same {last.words}",
        function=share(last, condition, unit=unit),
        unit=unit,
        needs=frozenset(NEEDS).union(*(phi.needs for phi in properties)),
        source=FU19,
        buckets="familiarity:5" if condition else "special:0+balanced:5",
        bounds=(0.0, 1.0),
    )
