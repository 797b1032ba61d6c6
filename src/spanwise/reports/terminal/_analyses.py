"""The screen of conventions of evaluation side by side."""

from __future__ import annotations

from textwrap import wrap

from spanwise.document.analyses import Explanation
from spanwise.reports.terminal._layout import ScreenLine, text
from spanwise.views.wording import visible


def explanation_lines(document: Explanation, width: int) -> list[ScreenLine]:
    """The rows in points; `change` is the difference in F1 from the first row."""
    name = max((len(row.name) for row in document.rows), default=0)
    screen = [f"{'convention':<{name}}      P      R     F1  change", ""]
    for index, row in enumerate(document.rows):
        numbers = " ".join(f"{_points(value):>6}" for value in (row.precision, row.recall, row.f1))
        change = _points(row.difference, signed=True) if index else ""
        screen.append(f"{row.name:<{name}} {numbers} {change:>7}".rstrip())
        screen += [f"    {line}" for line in wrap(f"{row.tools}: {row.why}.", width - 4)]
    if document.spread is not None and document.spread[0] is not None:
        low, high = document.spread
        words = (
            f"As strings without positions, one list per {document.prompt_unit}, your F1 lies between "
            f"{_points(low)} and {_points(high)}, depending on the policy."
        )
        screen += ["", *wrap(words, width)]
    return [text(visible(line)) for line in screen]


def _points(value: float | None, *, signed: bool = False) -> str:
    if value is None:
        return "n/a"
    return f"{100 * value:+.2f}".replace("-", "−") if signed else f"{100 * value:.2f}"
