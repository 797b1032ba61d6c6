"""The document of an assessment of confidence scores."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from spanwise.document import MOST, Count, Document, Interval


class ChanceError(Struct, frozen=True, kw_only=True):
    """The ECE of calibrated scores, its mean and 95 % point, and how often it reaches the observed one.

    Two null hypotheses: errors of a unit change sign together (`p_units`), outcomes are drawn independently
    (`p_outcomes`). Mean and 95 % point are the larger of the two, and so is `p`. With few units the first
    cannot reach .05; then `reachable` is false.
    """

    mean: float | None
    high: float | None
    p: float | None = None
    p_units: float | None = None
    p_outcomes: float | None = None
    reachable: bool = True


class Brier(Struct, frozen=True, kw_only=True):
    """The decomposition of the Brier score: reliability - resolution + uncertainty + within."""

    reliability: float
    resolution: float
    uncertainty: float
    within: float


class ReliabilityBin(Struct, frozen=True, kw_only=True):
    """The predictions whose scores fall into one bin: low < score <= high."""

    low: float | None
    high: float | None
    predicted: int
    correct: int
    score: float
    precision: float


class ConfidenceCell(Struct, frozen=True, kw_only=True):
    """The assessment of the scores of a group of predictions; undefined numbers are null."""

    predicted: int
    correct: int
    gold: int
    average_precision: float | None
    ap101: float | None
    aurc: float | None
    e_aurc: float | None
    ece: float | None
    ece_width: float | None
    mce: float | None
    brier: float | None
    chance_ece: ChanceError
    parts: Brier | None = None
    bins: tuple[ReliabilityBin, ...] = ()
    interval: dict[str, Interval | None] | UnsetType = UNSET
    no_interval: dict[str, str] | UnsetType = UNSET  # why a measure has no interval
    few_units: int | UnsetType = UNSET  # how many units hold the cell, if they are few
    why: str | UnsetType = UNSET


class CurvePoint(Struct, frozen=True, kw_only=True):
    """The number of predictions with at least this score, and how many of them are correct."""

    threshold: float
    predicted: Annotated[int, Meta(ge=1, le=MOST)]
    correct: Count


class RiskPoint(Struct, frozen=True, kw_only=True):
    """The share of errors (`risk`) among the most confident predictions, a share `coverage` of all."""

    coverage: float
    risk: float


class Macro(Struct, frozen=True, kw_only=True):
    """Means over the labels for which average precision is defined."""

    average_precision: float | None
    ap101: float | None
    labels: int


class Threshold(Struct, frozen=True, kw_only=True):
    """The threshold with the highest F1 on a development set, and its scores on the test set."""

    value: float | None
    dev_f1: float | None
    test_f1: float | None
    optimism: float | None
    test_precision: float | None = None
    test_recall: float | None = None
    best: float | None = None
    best_f1: float | None = None
    interval: dict[str, Interval | None] | UnsetType = UNSET
    why: str | UnsetType = UNSET


class AtPrecision(Struct, frozen=True, kw_only=True):
    """The highest recall with at least this precision, chosen on the development set if there is one."""

    precision: float
    threshold: float | None
    recall: float | None
    reached: float | None = None
    chosen_on: str = "test"
    interval: dict[str, Interval | None] | UnsetType = UNSET


class EqualScore(Struct, frozen=True, kw_only=True):
    """A score of two systems, each at its own threshold, and the difference, first minus second."""

    at: float | None  # the recall or precision that both have; None for the whole curve
    first: float | None
    second: float | None
    difference: float | None
    interval: tuple[float | None, float | None] | None = None
    thresholds: tuple[float | None, float | None] = (None, None)


class ConfidencePair(Struct, frozen=True, kw_only=True):
    """Two systems, compared by precision at equal recall, by recall at equal precision, and by AP."""

    systems: tuple[str, str]
    average_precision: EqualScore
    at_recall: EqualScore
    at_precision: EqualScore


class SystemConfidence(Struct, frozen=True, kw_only=True):
    """The assessment of one system's confidence scores."""

    overall: ConfidenceCell
    labels: dict[str, ConfidenceCell]
    buckets: dict[str, dict[str, ConfidenceCell]] = {}  # by attribute, if attributes were requested
    macro: Macro
    curve: tuple[CurvePoint, ...]
    risk: tuple[RiskPoint, ...]
    threshold: Threshold
    at_precision: AtPrecision
    missing: int
    thinned: bool = False


class ConfidenceSettings(Struct, frozen=True, kw_only=True):
    """The choices that affect the assessment of confidence scores."""

    resamples: int
    seed: int
    unit: str
    number: int
    few_units: bool
    groups: int | None
    missing: str
    tokens: str | None = None
    block: Count | UnsetType = UNSET  # the number of consecutive sentences per unit
    command: str | None = None


class Confidence(Document, frozen=True, kw_only=True):
    """The curves, average precision, thresholds and calibration of scored predictions."""

    kind: Literal["confidence"] = "confidence"
    settings: ConfidenceSettings
    systems: dict[str, SystemConfidence]
    pairs: tuple[ConfidencePair, ...] = ()
    notes: tuple[str, ...] = ()
