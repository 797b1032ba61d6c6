"""What a few gold units and a judge's annotation of all units say of a score together."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, Struct, UnsetType, field

from spanwise.document import Count, DocumentPart, Fraction, Interval, Probability


class SilverUnits(Struct, frozen=True, kw_only=True):
    """The numbers of units with gold, and of all units."""

    gold: Count
    all: Count


class SilverRates(DocumentPart, frozen=True, kw_only=True):
    """Precision, recall and F1 with their intervals; None, with `why`, where there is no estimate."""

    precision: Fraction
    recall: Fraction
    f1: Fraction
    interval: Mapping[str, Interval | None] = field(default_factory=dict)
    why: str | UnsetType = UNSET


class SilverOnly(Struct, frozen=True, kw_only=True):
    """The scores by the judge alone over all units, and the bias of its F1, measured on the gold units."""

    precision: Fraction
    recall: Fraction
    f1: Fraction
    bias: float | None


class SilverScores(DocumentPart, frozen=True, kw_only=True):
    """The scores of one system, or of one of its labels: from gold, from the judge, and from both.

    `weight` (the key `lambda`) says how much the judge counts, from 0 to 1; `effective` is the number of
    gold units that would give the interval of F1 without the judge. `within` and `shared` are the parts of
    its variance, times the number of gold units and of all units, from which `plan` continues. `few_carry`
    marks an interval of F1 as unreliable: few gold units show where the judge errs.
    """

    units: SilverUnits
    gold_only: SilverRates
    silver_only: SilverOnly
    combined: SilverRates
    weight: float | None = field(name="lambda")
    effective: float | None
    within: float | None
    shared: float | None
    few_carry: bool | UnsetType = UNSET
    labels: Mapping[str, SilverScores] | UnsetType = UNSET


class SilverTest(DocumentPart, frozen=True, kw_only=True):
    """The difference in F1 between two systems, from gold and judge together.

    `within`, `shared` and `few_carry` are as in the scores of a system.
    """

    difference: float | None
    interval: Interval | None
    p: Probability | None
    p_corrected: Probability | None
    weight: float | None = field(name="lambda")
    effective: float | None
    within: float | UnsetType | None = UNSET
    shared: float | UnsetType | None = UNSET
    few_carry: bool | UnsetType = UNSET
