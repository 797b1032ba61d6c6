"""The gold side of an evaluation: attribute values, bucket edges, toughness; no system changes it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

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
from spanwise.records import record


@record(eq=False)
class Facts:
    """What is fixed before any system is counted: the attributes, their buckets and ζ."""

    attributes: Mapping[str, Attribute]
    bucketings: Mapping[str, Bucketing]
    strategies: Mapping[str, str]
    zeta: Mapping[str, float]
    absent: Mapping[str, str]  # attributes that cannot be computed, and why


@record(eq=False)
class Dataset:
    """The test set, or a part of it; adding a system changes nothing in it."""

    inputs: Inputs
    units: Units
    context: Context
    toughness: Toughness | None
    facts: Facts
    gold_values: Mapping[str, Values]

    @property
    def gold(self) -> Mentions:
        """The gold mentions."""
        return self.context.gold

    @cached_property
    def gold_sides(self) -> dict[str, Side]:
        """The gold units of every attribute, each in its bucket."""
        return {name: self._side(name, found) for name, found in self.gold_values.items()}

    def sides(self, mentions: Mentions) -> dict[str, Side]:
        """The units of every attribute among predicted mentions, each in its bucket."""
        found = {
            name: self._side(name, values(one, self.context, mentions))
            for name, one in self.facts.attributes.items()
        }
        self.context.forget(mentions)
        return found

    def _side(self, name: str, found: Values) -> Side:
        bucketing = self.facts.bucketings[name]
        bucket = bucketing.assign(found).astype(np.min_scalar_type(len(bucketing)))
        return Side(found.unit_mention, frozen(bucket), found.position)


def dataset(
    inputs: Inputs,
    units: Units,
    choices: Choices,
) -> Dataset:
    """Compute the attributes of the gold mentions and fix the buckets."""
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
    gold_values = {name: values(one, context, context.gold) for name, one in there.items()}
    facts = fixed_facts(there, gold_values, absent, choices)
    tough = None
    if lexicon is not None and not inputs.corpus.without_text:
        tough = toughness(inputs.corpus, context.gold, lexicon, context=context)
    return Dataset(inputs, units, context, tough, facts, gold_values)


def fixed_facts(
    attributes: Mapping[str, Attribute],
    gold: Mapping[str, Values],
    absent: Mapping[str, str],
    choices: Choices,
) -> Facts:
    """Fit the buckets of every attribute to the gold values."""
    found = {name: _bucketing(one, gold[name], choices) for name, one in attributes.items()}
    return Facts(
        attributes=dict(attributes),
        bucketings={name: bucketing for name, (bucketing, _) in found.items()},
        strategies={name: strategy for name, (_, strategy) in found.items()},
        zeta={name: gold[name].zeta for name in attributes},
        absent=dict(absent),
    )


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
