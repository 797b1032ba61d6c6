"""The gold side of an evaluation: attribute values, bucket edges, toughness; no system changes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
from spanwise.buckets import Bucketing, Strategy, default_strategy, fit
from spanwise.columns import Ints, ints
from spanwise.corpus import Mentions
from spanwise.errors import ChoiceError
from spanwise.evaluation._inputs import Inputs, Units
from spanwise.evaluation._measures import Side


@dataclass(frozen=True, eq=False)
class Dataset:
    """What is known of the test set alone; adding a system changes nothing in it."""

    inputs: Inputs
    units: Units
    context: Context
    toughness: Toughness | None
    bucketings: Mapping[str, Bucketing]
    attributes: Mapping[str, Attribute]
    gold_values: Mapping[str, Values]
    strategies: Mapping[str, str]
    absent: Mapping[str, str]  # attributes that cannot be computed, and why

    @property
    def gold(self) -> Mentions:
        """The gold mentions."""
        return self.context.gold

    def side(self, name: str, mentions: Mentions) -> Side:
        """The units of an attribute among `mentions`, each in its bucket."""
        if mentions is self.gold:
            found = self.gold_values[name]
        else:
            found = values(self.attributes[name], self.context, mentions)
        bucket = self.bucketings[name].assign(found)
        of = found.unit_mention
        mention = ints(np.arange(len(mentions))) if of is None else of
        return Side(mention, ints(bucket), found.position)


def dataset(
    inputs: Inputs,
    units: Units,
    *,
    attributes: str | Sequence[str | Attribute] | None,
    buckets: Mapping[str, str | Strategy] | None,
    edges: Mapping[str, Any] | None,
    vocabulary: frozenset[str] | None,
    lowercase: bool,
) -> Dataset:
    """Compute the attributes of the gold mentions and fix the buckets."""
    lexicon = Lexicon.of(inputs.train) if inputs.train else None
    context = Context(
        corpus=inputs.corpus,
        gold=inputs.gold.mentions,
        lexicon=lexicon,
        known=vocabulary,
        lowercase=lowercase,
        predicted=tuple(inputs.systems.values()),
    )
    chosen = _chosen(attributes, buckets, edges, context)
    absent = {name: why for name, one in chosen.items() if (why := why_absent(one, context)) is not None}
    there = {name: one for name, one in chosen.items() if name not in absent}
    gold_values = {name: values(one, context, context.gold) for name, one in there.items()}
    strategies: dict[str, str] = {}
    bucketings: dict[str, Bucketing] = {}
    for name, one in there.items():
        bucketings[name], strategies[name] = _bucketing(one, gold_values[name], buckets or {}, edges or {})
    tough = None
    if lexicon is not None and not inputs.corpus.without_text:
        tough = toughness(inputs.corpus, context.gold, lexicon)
    return Dataset(
        inputs, units, context, tough, bucketings, there, gold_values, strategies, absent
    )  # fmt: skip


def _chosen(
    attributes: str | Sequence[str | Attribute] | None,
    buckets: Mapping[str, Any] | None,
    edges: Mapping[str, Any] | None,
    context: Context,
) -> dict[str, Attribute]:
    """The attributes asked for by name, preset or object, and those that buckets were told for."""
    told = [*(buckets or {}), *(edges or {})]
    if attributes is None:
        default = choose(PRESETS["fu20"])
        # Without training data those that need it were not asked for, so nothing is said to be absent.
        if context.lexicon is None:
            default = [one for one in default if why_absent(one, context) is None]
        listed: list[str | Attribute] = [*default, *told]
    elif isinstance(attributes, str | Attribute):
        listed = [*choose([] if attributes == "none" else attributes), *told]
    else:
        listed = [*(one for one in attributes if one != "none"), *told]
    return {one.name: one for one in choose(listed)}


def _bucketing(
    attribute: Attribute, gold: Values, buckets: Mapping[str, Any], edges: Mapping[str, Any]
) -> tuple[Bucketing, str]:
    told = {_name(key): value for key, value in buckets.items()}
    kept = {_name(key): value for key, value in edges.items()}
    if attribute.name in told and attribute.name in kept:
        raise ChoiceError(
            f"the buckets of {attribute.name!r} are given twice, as a strategy and as saved edges.\n"
            "Leave one of them out."
        )
    if attribute.name in kept:
        return Bucketing.from_dict(kept[attribute.name]), "saved edges"
    bucketing = fit(told.get(attribute.name, default_strategy(attribute)), gold, attribute=attribute.name)
    return bucketing, bucketing.strategy


def _name(key: str) -> str:
    """The long name of an attribute that may be given by its alias."""
    return choose([key])[0].name


def label_sizes(mentions: Mentions) -> dict[str, int]:
    """How many mentions each label has, the most frequent first, ties by name."""
    sizes: Ints = np.bincount(mentions.label, minlength=len(mentions.labels))
    order = sorted(range(len(mentions.labels)), key=lambda code: (-sizes[code], mentions.labels[code]))
    return {mentions.labels[code]: int(sizes[code]) for code in order if sizes[code]}
