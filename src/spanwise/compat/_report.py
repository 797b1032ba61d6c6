"""seqeval's report of gold and predicted tags, lenient and strict."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import eq
from typing import Any

from spanwise.columns import Ints
from spanwise.compat._reporters import DictReporter, StringReporter
from spanwise.compat._schemes import Entities, Token, auto_detect
from spanwise.compat._scores import check_consistent_length, scores
from spanwise.compat._tags import Spans, lenient, tally


def lenient_report(
    y_true: Any, y_pred: Any, *, digits: int, suffix: bool, output_dict: bool, zero_division: Any
) -> Any:
    """The report of mentions that any tag may begin."""
    true, predicted = spans_of(y_true, suffix), spans_of(y_pred, suffix)
    reporter = _reporter(sorted(true.used | predicted.used), digits=digits, output_dict=output_dict)
    check_consistent_length(y_true, y_pred)
    return _filled(reporter, *tally(true, predicted), zero_division=zero_division)


def strict_report(
    y_true: Any,
    y_pred: Any,
    *,
    digits: int,
    suffix: bool,
    output_dict: bool,
    zero_division: Any,
    scheme: type[Token] | None,
) -> Any:
    """The report of mentions that the scheme allows; without one, `auto_detect` finds it in `y_true`."""
    check_consistent_length(y_true, y_pred)
    if scheme is None or not issubclass(scheme, Token):
        scheme = auto_detect(y_true, suffix)
    true, predicted = (Entities(side, scheme, suffix).spans for side in (y_true, y_pred))
    counted = tally(true, predicted)
    reporter = _reporter(counted[0], digits=digits, output_dict=output_dict)
    return _filled(reporter, *counted, zero_division=zero_division)


def spans_of(seq: Any, suffix: bool) -> Spans:
    """The lenient mentions of a list of tags, or of lists of them."""
    nested = any(isinstance(part, list) for part in seq)
    return lenient(seq if nested else [seq], suffix=suffix)


def flat(y_true: Any, y_pred: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """The tags of all sentences one behind the other."""
    if any(isinstance(part, list) for part in y_true):
        return list(chain.from_iterable(y_true)), list(chain.from_iterable(y_pred))
    return y_true, y_pred


def accuracy(y_true: Any, y_pred: Any) -> float:
    """The share of tags that are equal; without any tag a ZeroDivisionError, as in seqeval."""
    true, predicted = flat(y_true, y_pred)
    correct: int = sum(map(eq, true, predicted))
    return correct / len(true)


def _reporter(names: Sequence[str], *, digits: int, output_dict: bool) -> DictReporter | StringReporter:
    """A reporter wide enough for the names; without any name a text report is a ValueError, as in seqeval."""
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
    zero_division: Any,
) -> Any:
    """The report with a row for every type and one for each average."""
    counts = predicted, right, true
    for row in zip(names, *scores(*counts, average=None, zero_division=zero_division), strict=True):
        reporter.write(*row)
    reporter.write_blank()
    for average in ("micro", "macro", "weighted"):
        reporter.write(f"{average} avg", *scores(*counts, average=average, zero_division=zero_division))
    reporter.write_blank()
    return reporter.report()
