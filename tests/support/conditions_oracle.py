"""A second implementation of conditions, from attribute values, that slices must agree with."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import partial

import numpy as np
from msgspec import Struct

from spanwise.attributes import (
    Context,
    Lexicon,
    Toughness,
    Values,
    choose,
    toughness,
    values_of,
    why_absent,
)
from spanwise.buckets import Bucketing, default_strategy, fit
from spanwise.columns import Bools, Ints
from spanwise.conditions import DEFAULT, TOUGHNESS, Condition, Criterion, Search, WordSearch, parse, words_of
from spanwise.errors import ChoiceError, unknown
from spanwise.evaluation import Inputs

ORDER = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


class AttributeValues(Struct, frozen=True, eq=False):
    """The bucket and the value of each mention for one attribute."""

    bucketing: Bucketing
    bucket: Ints
    values: Values

    def equal(self, value: str) -> Bools:
        """The mentions in the bucket with this name, or with this label or number."""
        for number, bucket in enumerate(self.bucketing.buckets):
            if value in (bucket.name, bucket.value) or value.replace(" ", "") == bucket.label.replace(
                " ", ""
            ):
                return np.asarray(self.bucket == number)
        if self.values.names is None and value.replace(".", "", 1).isdigit():
            return np.asarray((self.values.value == float(value)) & self.values.defined)
        raise unknown("value", value, [bucket.name for bucket in self.bucketing.buckets])


class DescribedMentions(Struct, frozen=True, eq=False):
    """What conditions can test about the mentions of one side; toughness exists only for gold."""

    attributes: Mapping[str, AttributeValues]
    toughness: Toughness | None
    words: Mapping[str, Search]

    def mask(self, condition: str | Condition) -> Bools:
        """Which mentions meet a condition."""
        clauses = (parse(condition) if isinstance(condition, str) else condition).clauses
        met = [np.logical_or.reduce([self.compare(one) for one in clause]) for clause in clauses]
        return np.asarray(np.logical_and.reduce(met))

    def compare(self, criterion: Criterion) -> Bools:
        """Which mentions meet one comparison; a mention without a value meets only `!=`."""
        name, how = criterion.attribute, criterion.operator
        if how == "!=":
            return ~self.compare(criterion.opposite())
        if name == TOUGHNESS and self.toughness is None:
            raise ChoiceError("only gold mentions are tough")
        if how == "=":
            equal: Search
            if name == TOUGHNESS and self.toughness is not None:
                equal = self.toughness.of
            elif name in self.words:
                equal = self.words[name]
            else:
                equal = self._described(name).equal
            return np.asarray(np.logical_or.reduce([equal(value) for value in criterion.values]))
        values = self._described(name).values
        if values.names is not None:
            raise ChoiceError("names have no order")
        with np.errstate(invalid="ignore"):
            return np.asarray(ORDER[how](values.value, float(criterion.values[0])) & values.defined)

    def _described(self, name: str) -> AttributeValues:
        if name not in self.attributes:
            raise unknown("attribute", name, self.attributes)
        return self.attributes[name]


class DescribedSides(Struct, frozen=True, eq=False):
    """What conditions can test about gold and predicted mentions, in the same buckets."""

    gold: DescribedMentions
    predicted: Mapping[str, DescribedMentions]


def described_sides(inputs: Inputs, attributes: tuple[str, ...] = DEFAULT) -> DescribedSides:
    """Describe both sides by attributes (in buckets fitted on gold), toughness and words."""
    lexicon = Lexicon.of(inputs.train) if inputs.train else None
    corpus, gold = inputs.corpus, inputs.gold.mentions
    context = Context(corpus=corpus, gold=gold, lexicon=lexicon, known=None, lowercase=False)
    gold_side, *others = context.sides([gold, *inputs.systems.values()])
    by_system: dict[str, dict[str, AttributeValues]] = {"": {}, **{system: {} for system in inputs.systems}}
    for attribute in choose([*attributes]):
        if attribute.unit != "mention" or why_absent(attribute, context) is not None:
            continue
        bucketing = fit(
            default_strategy(attribute), values_of(attribute, gold_side), attribute=attribute.name
        )
        for system, side in zip(by_system, [gold_side, *others], strict=True):
            values = values_of(attribute, side)
            by_system[system][attribute.name] = AttributeValues(bucketing, bucketing.assign(values), values)
    search = WordSearch.of_tokens(corpus.tokens, corpus.vocabulary, corpus.sentences)
    tough = toughness(corpus, gold, lexicon, side=gold_side)
    sides = {
        system: DescribedMentions(
            by_system[system], tough if system == "" else None, words_of(search, partial(getattr, mentions))
        )
        for system, mentions in {"": gold, **inputs.systems}.items()
    }
    return DescribedSides(sides.pop(""), sides)
