"""seqeval's scores and reports for gold and predicted tags, lenient and strict, as text or as a dict."""

from __future__ import annotations

import abc
import sys
import warnings
from collections.abc import Collection, Sequence
from functools import lru_cache, partial
from itertools import chain
from operator import eq
from typing import Any, TypeAlias

import numpy as np

from spanwise.columns import Floats, Ints, ratio
from spanwise.compat._tags import Entities, SchemeToken, Spans, auto_detect, lenient, tally

AVERAGES = (None, "micro", "macro", "weighted")
WARN_FOR = ("precision", "recall", "f-score")

Tags: TypeAlias = Sequence[Sequence[object]]
Scores: TypeAlias = tuple[Any, Any, Any, Any]  # four columns without an average, otherwise four numbers
Report: TypeAlias = str | dict[str, dict[str, float]]


class UndefinedMetricWarning(UserWarning):
    """A score has a denominator of zero and was set to 0."""


@lru_cache(maxsize=2)
def _also(base: type[Warning] | None) -> type[Warning]:
    if base is None:
        return UndefinedMetricWarning
    return type("UndefinedMetricWarning", (UndefinedMetricWarning, base), {})


def _category() -> type[Warning]:
    """Our warning class, derived from scikit-learn's if that is imported, so that filters for either work."""
    module = sys.modules.get("sklearn.exceptions")
    return _also(getattr(module, "UndefinedMetricWarning", None))


def check_options(average: str | None, beta: float) -> None:
    """Raise ValueError if `beta` is negative or `average` is not one that seqeval supports."""
    if beta < 0:
        raise ValueError("beta should be >=0 in the F-beta score")
    if average not in AVERAGES:
        raise ValueError(f"average has to be one of {AVERAGES}")


def check_consistent_length(y_true: Tags, y_pred: Tags) -> None:
    """Raise TypeError unless the input is lists of lists, and ValueError if the sides differ in length."""
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
    zero_division: str | float = "warn",
) -> Scores:
    """Return precision, recall, F and support, per type or averaged.

    A score with a denominator of zero is 0 (`zero_division` "warn" or 0) or 1. F is computed from
    the resulting precision and recall, and averages are means of these numbers.
    """
    if average == "micro":
        pred_sum, tp_sum, true_sum = (np.array([side.sum()]) for side in (pred_sum, tp_sum, true_sum))
    divide = partial(_divide, warn_for=warn_for, zero_division=zero_division)
    precision = divide(tp_sum, pred_sum, metric="precision", modifier="predicted")
    recall = divide(tp_sum, true_sum, metric="recall", modifier="true")
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


def _filling(zero_division: str | float) -> float:
    return 0.0 if zero_division in ["warn", 0] else 1.0


def _divide(
    numerator: Ints,
    denominator: Ints,
    *,
    metric: str,
    modifier: str,
    warn_for: Collection[str],
    zero_division: str | float,
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


class Reporter(abc.ABC):
    """Collects the rows of a report."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()

    @abc.abstractmethod
    def report(self) -> Report:
        """Return the report of the rows written so far."""
        raise NotImplementedError

    @abc.abstractmethod
    def write(self, row_name: str, precision: float, recall: float, f1: float, support: int) -> None:
        """Add a row."""
        raise NotImplementedError


class DictReporter(Reporter):
    """A report as a dict of rows by name."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()
        self.report_dict: dict[str, dict[str, float]] = {}

    def report(self) -> dict[str, dict[str, float]]:
        """Return the rows by name."""
        return self.report_dict

    def write(self, row_name: str, precision: float, recall: float, f1: float, support: int) -> None:
        """Add a row."""
        scores = {"precision": precision, "recall": recall, "f1-score": f1, "support": support}
        self.report_dict[row_name] = scores

    def write_blank(self) -> None:
        """Do nothing: a dict has no blank rows."""


class StringReporter(Reporter):
    """A report as text: a name of `width` characters, then columns of nine characters, right-aligned."""

    def __init__(self, *args: object, width: int = 10, digits: int = 4, **kwargs: object) -> None:
        super().__init__()
        self.buffer: list[str] = []
        self.width = width
        self.digits = digits
        self.row_fmt = "{:>{width}s}  {:>9.{digits}f} {:>9.{digits}f} {:>9.{digits}f} {:>9}"

    def report(self) -> str:
        """Return the header and the rows."""
        return self.write_header() + "\n".join(self.buffer)

    def write(self, row_name: str, precision: float, recall: float, f1: float, support: int) -> None:
        """Add a row."""
        row = self.row_fmt.format(
            row_name, precision, recall, f1, support, width=self.width, digits=self.digits
        )
        self.buffer.append(row)

    def write_header(self) -> str:
        """Return the names of the columns and a blank row."""
        names = "".join(f" {name:>9}" for name in ("precision", "recall", "f1-score", "support"))
        return f"{'':>{self.width}s} {names}\n\n"

    def write_blank(self) -> None:
        """Add a blank row."""
        self.buffer.append("")


def lenient_report(
    y_true: Tags,
    y_pred: Tags,
    *,
    digits: int,
    suffix: bool,
    output_dict: bool,
    zero_division: str | float,
) -> Report:
    """The report in seqeval's default mode, in which any tag may begin a mention."""
    true, predicted = spans_of(y_true, suffix), spans_of(y_pred, suffix)
    reporter = _reporter(sorted(true.used | predicted.used), digits=digits, output_dict=output_dict)
    check_consistent_length(y_true, y_pred)
    return _filled(reporter, *tally(true, predicted), zero_division=zero_division)


def strict_report(
    y_true: Sequence[Sequence[str]],
    y_pred: Sequence[Sequence[str]],
    *,
    digits: int,
    suffix: bool,
    output_dict: bool,
    zero_division: str | float,
    scheme: type[SchemeToken] | None,
) -> Report:
    """The report in strict mode; without a scheme, `auto_detect` finds it in `y_true`."""
    check_consistent_length(y_true, y_pred)
    if scheme is None or not issubclass(scheme, SchemeToken):
        scheme = auto_detect(y_true, suffix)
    true, predicted = (Entities(side, scheme, suffix).spans for side in (y_true, y_pred))
    counted = tally(true, predicted)
    reporter = _reporter(counted[0], digits=digits, output_dict=output_dict)
    return _filled(reporter, *counted, zero_division=zero_division)


def spans_of(seq: Tags, suffix: bool) -> Spans:
    """The lenient mentions in a list of tags, or in a list of such lists."""
    nested = any(isinstance(part, list) for part in seq)
    return lenient(seq if nested else [seq], suffix=suffix)


def flat(y_true: Tags, y_pred: Tags) -> tuple[Sequence[object], Sequence[object]]:
    """Concatenate the tags of all sentences."""
    if any(isinstance(part, list) for part in y_true):
        return list(chain.from_iterable(y_true)), list(chain.from_iterable(y_pred))
    return y_true, y_pred


def accuracy(y_true: Tags, y_pred: Tags) -> float:
    """The share of tags that are equal; raises ZeroDivisionError without any tags, as in seqeval."""
    true, predicted = flat(y_true, y_pred)
    correct: int = sum(map(eq, true, predicted))
    return correct / len(true)


def _reporter(names: Sequence[str], *, digits: int, output_dict: bool) -> DictReporter | StringReporter:
    """A reporter wide enough for the names; raises ValueError for text without any names, as in seqeval."""
    if output_dict:
        return DictReporter()
    width = max(max(map(len, names)), len("weighted avg"), digits)
    return StringReporter(width=width, digits=digits)


def _filled(
    reporter: DictReporter | StringReporter,
    names: Sequence[str],
    predicted: Ints,
    right: Ints,
    true: Ints,
    *,
    zero_division: str | float,
) -> Report:
    """Fill the report with a row for every type and for each average."""
    counts = predicted, right, true
    for row in zip(names, *scores(*counts, average=None, zero_division=zero_division), strict=True):
        reporter.write(*row)
    reporter.write_blank()
    for average in ("micro", "macro", "weighted"):
        reporter.write(f"{average} avg", *scores(*counts, average=average, zero_division=zero_division))
    reporter.write_blank()
    return reporter.report()
