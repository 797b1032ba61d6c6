"""The errors that a bucket or a condition chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spanwise.buckets import Bucket
from spanwise.conditions import TOUGHNESS, Comparison, Condition, bucket_holds
from spanwise.document.head import given
from spanwise.document.scores import BucketEdges, SystemScores
from spanwise.errors import ChoiceError, unknown

if TYPE_CHECKING:
    from spanwise.reports.errors import Listed


def bucket_name(systems: Sequence[SystemScores], attribute: str, asked: str) -> str:
    """The name of a bucket that is given by its name or by what it holds, as the screen shows it."""
    tables = [scores.attributes for scores in systems]
    of_mentions = {name for table in tables for name, scores in table.items() if scores.unit == "mention"}
    if attribute not in of_mentions:
        raise unknown("attribute of mentions in this result", attribute, of_mentions)
    buckets = [bucket for table in tables if attribute in table for bucket in table[attribute].buckets]
    names = {bucket.name for bucket in buckets}
    held = {"".join(str(given(bucket.label)).split()): bucket.name for bucket in buckets}
    if asked in names:
        return asked
    name = held.get("".join(asked.split()))
    if name is None:
        raise unknown(f"bucket of {attribute}", asked, names)
    return name


def meeting(systems: Sequence[SystemScores], condition: Condition) -> Callable[[Listed], bool]:
    """Whether the mention of an error meets a condition, by its label, subsets and buckets."""
    buckets: dict[str, dict[str, Bucket]] = {}
    for scores in systems:
        for name, table in scores.attributes.items():
            if table.unit == "mention":
                rows = buckets.setdefault(name, {})
                rows |= {edges.name: _bucket_of(edges) for edges in table.buckets}
    subsets: set[str] = {name for scores in systems for name in scores.tough}
    for name in condition.attributes:
        if name not in ("label", TOUGHNESS) and name not in buckets:
            raise unknown("attribute of mentions in this result", name, {*buckets, "label", TOUGHNESS})
    for value in (value for one in condition.comparisons(TOUGHNESS) for value in one.values):
        if value not in subsets:
            raise unknown("tough subset", value, subsets)

    def holds(one: Comparison, error: Listed) -> bool:
        mention = error.consumed
        if one.attribute == TOUGHNESS:
            if mention is not error.gold:
                return False  # predicted mentions are in no subset
            return bool(set(one.values) & set(error.subsets)) == (one.operator == "=")
        if one.attribute == "label":
            return (mention.label in one.values) == (one.operator == "=")
        name = (mention.buckets or {}).get(one.attribute)
        bucket = None if name is None else buckets[one.attribute].get(name)
        held = None if bucket is None else bucket_holds(bucket, one)
        if held is None:
            raise ChoiceError(
                f"{str(one)!r} cannot be decided by the bucket {name} of {one.attribute}.\n"
                "Ask for a bucket, or cut the attribute there with buckets=."
            )
        return held

    def meets(error: Listed) -> bool:
        return bool(condition.mask(lambda one: np.asarray(holds(one, error))))

    return meets


def _bucket_of(edges: BucketEdges) -> Bucket:
    value = given(edges.value)
    return Bucket(
        name=edges.name,
        low=given(edges.low),
        high=given(edges.high),
        value=None if value is None else str(value),
        special=bool(edges.special),
        label=edges.label or "",
        rest=edges.rest,
    )
