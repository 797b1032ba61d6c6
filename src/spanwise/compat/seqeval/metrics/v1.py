"""Strict scores, as in `seqeval.metrics.v1`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

from spanwise.compat._report import (
    WARN_FOR,
    DictReporter,
    Scores,
    StringReporter,
    UndefinedMetricWarning,
    check_consistent_length,
    check_options,
    scores,
    strict_report,
)
from spanwise.compat._tags import Entities, auto_detect, tally
from spanwise.compat._tags import SchemeToken as Token

PER_CLASS_SCORES: TypeAlias = tuple[list[float], list[float], list[float], list[int]]
AVERAGE_SCORES: TypeAlias = tuple[float, float, float, int]
SCORES: TypeAlias = PER_CLASS_SCORES | AVERAGE_SCORES
Sentences: TypeAlias = Sequence[Sequence[str]]

__all__ = [
    "AVERAGE_SCORES",
    "PER_CLASS_SCORES",
    "SCORES",
    "DictReporter",
    "Entities",
    "StringReporter",
    "Token",
    "UndefinedMetricWarning",
    "auto_detect",
    "check_consistent_length",
    "classification_report",
    "precision_recall_fscore_support",
    "unique_labels",
]


def unique_labels(
    y_true: Sentences, y_pred: Sentences, scheme: type[Token], suffix: bool = False
) -> list[str]:
    """The labels of both sides, sorted."""
    sides = (Entities(side, scheme, suffix) for side in (y_true, y_pred))
    return sorted(set().union(*(side.unique_tags for side in sides)))


def precision_recall_fscore_support(
    y_true: Sentences,
    y_pred: Sentences,
    *,
    average: str | None = None,
    warn_for: Collection[str] = WARN_FOR,
    beta: float = 1.0,
    sample_weight: Sequence[int] | None = None,
    zero_division: str | float = "warn",
    scheme: type[Token] | None = None,
    suffix: bool = False,
    **kwargs: Entities,
) -> Scores:
    """Precision, recall, F and support of mentions that are valid in `scheme`, per label or averaged.

    As in seqeval, `sample_weight` is ignored, and a scheme must be given.

    Examples:
        >>> from spanwise.compat._tags import IOB2
        >>> y_true, y_pred = [["B-PER", "I-PER", "O"]], [["I-PER", "I-PER", "O"]]
        >>> p, r, f, support = precision_recall_fscore_support(y_true, y_pred, scheme=IOB2, zero_division=0)
        >>> r.tolist(), support.tolist()
        ([0.0], [1])
    """
    check_options(average, beta)
    check_consistent_length(y_true, y_pred)
    given: Any = scheme
    true, predicted = (
        kwargs.get(name) or Entities(side, given, suffix)
        for name, side in (("entities_true", y_true), ("entities_pred", y_pred))
    )
    _, *counts = tally(true.spans, predicted.spans)
    return scores(*counts, average=average, warn_for=warn_for, beta=beta, zero_division=zero_division)


def classification_report(
    y_true: Sentences,
    y_pred: Sentences,
    *,
    sample_weight: Sequence[int] | None = None,
    digits: int = 2,
    output_dict: bool = False,
    zero_division: str | float = "warn",
    suffix: bool = False,
    scheme: type[Token] | None = None,
) -> Any:
    """The report in strict mode; without a scheme, `auto_detect` finds it in `y_true`."""
    return strict_report(
        y_true,
        y_pred,
        digits=digits,
        suffix=suffix,
        output_dict=output_dict,
        zero_division=zero_division,
        scheme=scheme,
    )
