"""The gold side of an evaluation: attribute values, bucket edges, toughness; no system changes it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.attributes import (
    PRESETS,
    Attribute,
    Context,
    Lexicon,
    Toughness,
    Values,
    choose,
    toughness,
    values,
    why_absent,
)
from spanwise.buckets import Bucketing, default_strategy, fit
from spanwise.columns import frozen
from spanwise.corpus import Mentions
from spanwise.errors import ChoiceError
from spanwise.evaluation._choices import Choices
from spanwise.evaluation._inputs import Inputs, Units
from spanwise.evaluation._measures import Side


class Fitted(Struct, frozen=True, eq=False):
    """The buckets of an attribute, how they were found, and the mean ζ of the gold units."""

    bucketing: Bucketing
    strategy: str
    zeta: float

    @classmethod
    def of(cls, attribute: Attribute, gold: Values, choices: Choices) -> Fitted:
        """Fit the buckets to the gold values, unless they are given."""
        return cls(*_bucketing(attribute, gold, choices), gold.zeta)


class Facts(Struct, frozen=True, eq=False):
    """What is fixed before any system is counted: the attributes, their buckets and ζ."""

    attributes: Mapping[str, Attribute]
    bucketings: Mapping[str, Bucketing]
    strategies: Mapping[str, str]
    zeta: Mapping[str, float]
    absent: Mapping[str, str]  # attributes that cannot be computed, and why

    @classmethod
    def of(
        cls, attributes: Mapping[str, Attribute], fitted: Mapping[str, Fitted], absent: Mapping[str, str]
    ) -> Facts:
        """The facts of attributes that were fitted one by one."""
        return cls(
            attributes=dict(attributes),
            bucketings={name: one.bucketing for name, one in fitted.items()},
            strategies={name: one.strategy for name, one in fitted.items()},
            zeta={name: one.zeta for name, one in fitted.items()},
            absent=dict(absent),
        )


class Dataset(Struct, frozen=True, eq=False):
    """The test set, or a part of it; adding a system changes nothing in it."""

    inputs: Inputs
    units: Units
    toughness: Toughness | None
    facts: Facts
    gold_sides: Mapping[str, Side]  # the gold units of every attribute, each in its bucket

    @property
    def gold(self) -> Mentions:
        """The gold mentions."""
        return self.inputs.gold.mentions

    def counted(self) -> Dataset:
        """The same without units of tokens: they are many, and once they are counted nobody asks for them."""
        return replace(self, gold_sides=sides_of_mentions(self.gold_sides))


def sides_of_mentions(sides: Mapping[str, Side]) -> dict[str, Side]:
    """Those of attributes whose units are mentions."""
    return {name: side for name, side in sides.items() if side.position is None}


def predicted_sides(facts: Facts, context: Context, mentions: Mentions) -> dict[str, Side]:
    """The same of predicted mentions, of which nothing else will be asked."""
    found = sides_of(facts, context, mentions)
    context.forget(mentions)
    return found


def sides_of(facts: Facts, context: Context, mentions: Mentions) -> dict[str, Side]:
    """The units of every attribute among mentions, each in its bucket."""
    return {
        name: _side(values(one, context, mentions), facts.bucketings[name])
        for name, one in facts.attributes.items()
    }


def _side(found: Values, bucketing: Bucketing) -> Side:
    bucket = bucketing.assign(found).astype(np.min_scalar_type(len(bucketing)))
    return Side(found.unit_mention, frozen(bucket), found.position)


def dataset(
    inputs: Inputs,
    units: Units,
    choices: Choices,
) -> tuple[Dataset, Context]:
    """Compute the attributes of the gold mentions and fix the buckets; predictions need the context."""
    lexicon = Lexicon.of(inputs.train) if inputs.train else None
    context = Context(
        corpus=inputs.corpus,
        gold=inputs.gold.mentions,
        lexicon=lexicon,
        known=choices.vocabulary,
        lowercase=choices.lowercase,
        predicted=tuple(inputs.systems.values()),
    )
    there, absent = possible_attributes(choices, context)
    fitted, sides = {}, {}
    for name, one in there.items():  # one after the other: values are wide, buckets are narrow
        found = values(one, context, context.gold)
        fitted[name] = Fitted.of(one, found, choices)
        sides[name] = _side(found, fitted[name].bucketing)
    facts = Facts.of(there, fitted, absent)
    tough = None
    if lexicon is not None and not inputs.corpus.without_text:
        tough = toughness(inputs.corpus, context.gold, lexicon, context=context)
    context.forget(context.gold)
    return Dataset(inputs, units, tough, facts, sides), context


def possible_attributes(choices: Choices, context: Context) -> tuple[dict[str, Attribute], dict[str, str]]:
    """The attributes asked for that can be computed, and why the others cannot."""
    chosen = _chosen(choices, context)
    absent = {name: why for name, one in chosen.items() if (why := why_absent(one, context)) is not None}
    choices.check_crosses(absent)
    return {name: one for name, one in chosen.items() if name not in absent}, absent


def _chosen(choices: Choices, context: Context) -> dict[str, Attribute]:
    """The attributes asked for by name, preset or object, and those that buckets were told for."""
    asked, told = choices.attributes, [*choices.buckets, *choices.edges]
    if asked is None:
        default = choose(PRESETS["fu20"])
        # Without training data those that need it were not asked for, so nothing is said to be absent.
        if context.lexicon is None:
            default = [one for one in default if why_absent(one, context) is None]
        listed: list[str | Attribute] = [*default, *told]
    elif isinstance(asked, str | Attribute):
        listed = [*choose([] if asked == "none" else asked), *told]
    else:
        listed = [*(one for one in asked if one != "none"), *told]
    return {one.name: one for one in choose(listed)}


def _bucketing(attribute: Attribute, gold: Values, choices: Choices) -> tuple[Bucketing, str]:
    told = {_name(key): value for key, value in choices.buckets.items()}
    kept = {_name(key): value for key, value in choices.edges.items()}
    if attribute.name in told and attribute.name in kept:
        raise ChoiceError(
            f"the buckets of {attribute.name!r} are given twice, as a strategy and as saved edges.\n"
            "Leave one of them out."
        )
    if attribute.name in kept:
        return Bucketing.from_dict(kept[attribute.name]), "saved edges"
    bucketing = fit(told.get(attribute.name, default_strategy(attribute)), gold, attribute=attribute.name)
    return bucketing, bucketing.strategy


def _name(key: str | Attribute) -> str:
    """The long name of an attribute that may be given by its alias or as itself."""
    return choose([key])[0].name
