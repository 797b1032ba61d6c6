"""The report of counts per type, in the layout of seqeval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spanwise.columns import Ints
from spanwise.compat.seqeval._scores import scores
from spanwise.compat.seqeval.reporters import DictReporter, StringReporter


def reporter_for(names: Sequence[str], *, digits: int, output_dict: bool) -> DictReporter | StringReporter:
    """A reporter wide enough for the names; without any name a text report is a ValueError, as in seqeval."""
    if output_dict:
        return DictReporter()
    width = max(max(map(len, names)), len("weighted avg"), digits)
    return StringReporter(width=width, digits=digits)


def fill(
    reporter: DictReporter | StringReporter,
    names: Sequence[str],
    counts: tuple[Ints, Ints, Ints],
    *,
    zero_division: Any,
) -> Any:
    """The report with a row a type and one for each average."""
    for row in zip(names, *scores(*counts, average=None, zero_division=zero_division), strict=True):
        reporter.write(*row)
    reporter.write_blank()
    for average in ("micro", "macro", "weighted"):
        reporter.write(f"{average} avg", *scores(*counts, average=average, zero_division=zero_division))
    reporter.write_blank()
    return reporter.report()
