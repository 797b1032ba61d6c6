"""Counts to scores as seqeval divides and averages them, with its warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from spanwise.columns import Floats, Ints, ratio

AVERAGES = (None, "micro", "macro", "weighted")
WARN_FOR = ("precision", "recall", "f-score")


class UndefinedMetricWarning(UserWarning):
    """A score has nothing to divide by and was set to 0."""


@lru_cache(maxsize=2)
def _also(theirs: type[Warning] | None) -> type[Warning]:
    if theirs is None:
        return UndefinedMetricWarning
    return type("UndefinedMetricWarning", (UndefinedMetricWarning, theirs), {})


def _category() -> type[Warning]:
    """Our warning, which is scikit-learn's too once that is imported, so that filters for either one work."""
    module = sys.modules.get("sklearn.exceptions")
    return _also(getattr(module, "UndefinedMetricWarning", None))


def check_options(average: Any, beta: float) -> None:
    """A ValueError where `beta` is negative or `average` is none of seqeval's."""
    if beta < 0:
        raise ValueError("beta should be >=0 in the F-beta score")
    if average not in AVERAGES:
        raise ValueError(f"average has to be one of {AVERAGES}")


def check_consistent_length(y_true: Sequence[Any], y_pred: Sequence[Any]) -> None:
    """A TypeError where the input is no list of lists, a ValueError where the lengths of the sides differ."""
    if {*map(type, y_true), *map(type, y_pred)} != {list}:
        raise TypeError("Found input variables without list of list.")
    len_true, len_pred = list(map(len, y_true)), list(map(len, y_pred))
    if len_true != len_pred:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples:\n{len_true}\n{len_pred}"
        )


def scores(
    pred_sum: Ints,
    tp_sum: Ints,
    true_sum: Ints,
    *,
    average: str | None,
    warn_for: Collection[str] = WARN_FOR,
    beta: float = 1.0,
    zero_division: Any = "warn",
) -> tuple[Any, Any, Any, Any]:
    """Precision, recall, F and support per type, or averaged.

    A score without a denominator is 0 (`zero_division` "warn" or 0) or 1. F is made from
    precision and recall as they then are, and the averages are means of these numbers.
    """
    if average == "micro":
        pred_sum, tp_sum, true_sum = (np.array([side.sum()]) for side in (pred_sum, tp_sum, true_sum))
    options = {"warn_for": warn_for, "zero_division": zero_division}
    precision = _divide(tp_sum, pred_sum, metric="precision", modifier="predicted", **options)
    recall = _divide(tp_sum, true_sum, metric="recall", modifier="true", **options)
    if zero_division == "warn" and warn_for == ("f-score",) and ((pred_sum == 0) & (true_sum == 0)).any():
        _warn("F-score is", "true nor predicted", len(true_sum))
    f_score = _f(precision, recall, beta)
    if average is None:
        return precision, recall, f_score, true_sum
    support = sum(true_sum)
    weights = None
    if average == "weighted":
        if not true_sum.sum():
            value = _filling(zero_division)
            unless_predicted = value if pred_sum.sum() == 0 else 0.0
            return unless_predicted, value, unless_predicted, support
        weights = true_sum
    means = (np.average(column, weights=weights) for column in (precision, recall, f_score))
    return (*means, support)  # type: ignore[return-value]


def _f(precision: Floats, recall: Floats, beta: float) -> Floats:
    if np.isposinf(beta):
        return recall
    denominator = beta**2 * precision + recall
    denominator[denominator == 0] = 1
    return ratio((1 + beta**2) * precision * recall, denominator)


def _filling(zero_division: Any) -> float:
    return 0.0 if zero_division in ["warn", 0] else 1.0


def _divide(
    numerator: Ints,
    denominator: Ints,
    *,
    metric: str,
    modifier: str,
    warn_for: Collection[str],
    zero_division: Any,
) -> Floats:
    result = ratio(numerator, denominator)
    empty = np.isnan(result)
    if not empty.any():
        return result
    result[empty] = _filling(zero_division)
    if zero_division == "warn" and metric in warn_for:
        subject = f"{metric.title()} and F-score are" if "f-score" in warn_for else f"{metric.title()} is"
        _warn(subject, modifier, len(result))
    return result


def _warn(subject: str, modifier: str, size: int) -> None:
    where = "due to" if size == 1 else "in labels with"
    text = (
        f"{subject} ill-defined and being set to 0.0 {where} no {modifier} samples."
        " Use `zero_division` parameter to control this behavior."
    )
    warnings.warn(text, _category(), stacklevel=2)
