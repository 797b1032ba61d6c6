"""How edges and intervals are written for people."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor


def number_text(number: float) -> str:
    """A number for people, in at most four digits.

    Examples:
        >>> number_text(4.0), number_text(1 / 3), number_text(0.00002501)
        ('4', '0.3333', '2.501e-05')
    """
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else f"{number:.4g}"


def range_text(
    low: float | None,
    high: float | None,
    special: bool = False,
    specials: Sequence[float] = (),
    *,
    whole: bool = False,
) -> str:
    """A bucket's values for people: an interval, or whole numbers where only those can be.

    Examples:
        >>> range_text(0.0, 0.5), range_text(0.5, 1.0, False, [0.0, 1.0]), range_text(3, None, whole=True)
        ('(0, 0.5]', '(0.5, 1)', '≥ 4')
    """
    if special and low is not None:
        return number_text(low)
    if low is None and high is None:
        return "any other" if specials else "all"
    shut = high not in specials
    if whole:
        first = None if low is None else floor(low) + 1
        last = None if high is None else floor(high) if shut else floor(high) - (high == floor(high))
        if first is None or last is None:
            return f"≤ {last}" if first is None else f"≥ {first}"
        if first <= last:
            return str(first) if first == last else f"{first}–{last}"
    if high is None:
        return f"> {number_text(low or 0)}"
    if low is None:
        return f"{'≤' if shut else '<'} {number_text(high)}"
    return f"({number_text(low)}, {number_text(high)}{']' if shut else ')'}"
