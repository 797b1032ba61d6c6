"""What every report says about leaks: the levels of counting, their price, and how systems compare."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from spanwise.document import Interval
from spanwise.document.leaks import LeakCell, Leaks
from spanwise.document.scores import Comparison
from spanwise.reports import _wording as words
from spanwise.reports._sentences import sentence_p

NONE_IS_NOT_NONE = "None found is not none: 0 of n still allows the upper end of its interval."


class LeakRow(Struct, frozen=True):
    """A rate with the counts behind it and its interval."""

    title: str
    under: str
    above: int | None
    below: int | None
    rate: float | None
    ends: Interval | None

    @property
    def counts(self) -> str:
        """The counts behind the rate, as in `3 of 412`."""
        return "" if self.below is None else f"{words.count(self.above)} of {words.count(self.below)}"

    @property
    def within(self) -> str:
        """The interval, or where nothing was found the most that there may be."""
        if self.ends is None or self.ends[0] is None or self.ends[1] is None:
            return ""
        if self.rate == 0:
            return f"at most {percent(self.ends[1])}"
        return f"{percent(self.ends[0])[:-2]}–{percent(self.ends[1])}"


def percent(value: float | None) -> str:
    """A share with about two digits: small shares are what matters here.

    Examples:
        >>> percent(0.00728), percent(0.0461), percent(0.123), percent(0.0), percent(1.0), percent(None)
        ('0.73 %', '4.6 %', '12.3 %', '0 %', '100 %', 'n/a')
    """
    if value is None or not words.defined(value):
        return words.UNDEFINED
    points = 100 * value
    if points in (0, 100):
        return f"{points:.0f} %"
    return f"{points:.2g} %" if points < 0.095 else f"{points:.{2 if points < 0.995 else 1}f} %"


def levels(document: Leaks, cell: LeakCell) -> list[LeakRow]:
    """What leaks, at each level that is counted: documents first, positions last."""
    document_, positions = f"{document.settings.documents}s", f"{document.positions}s"
    people = cell.identities_leaking, cell.identities
    rows = [
        (document_, "still show a mention", cell.documents_leaking, cell.documents, "document_leak_rate"),
        ("identities", "with a readable mention", *people, "identity_leak_rate"),
        ("mentions", "not wholly masked", cell.leaks, cell.mentions, "leak_rate"),
        ("exposed", "not masked at all", cell.exposed, cell.mentions, "exposure_rate"),
        (positions, "of mentions left readable", cell.leaked, cell.positions, "leaked_share"),
    ]  # fmt: skip
    return [_row(cell, *row) for row in rows if row[3] is not None]


def price(document: Leaks, cell: LeakCell) -> list[LeakRow]:
    """What masking costs."""
    return [
        _row(cell, "over-masking", "masked, yet harmless", cell.outside, cell.masked, "over_masking"),
        _row(cell, "lost text", "harmless, yet masked", cell.outside, cell.text, "lost_text"),
    ]


def mention_row(cell: LeakCell, title: str) -> LeakRow:
    """The leak rate of a label, bucket or subset."""
    return _row(cell, title, "", cell.leaks, cell.mentions, "leak_rate")


def _row(cell: LeakCell, title: str, under: str, above: int | None, below: int | None, rate: str) -> LeakRow:
    return LeakRow(title, under, above, below, getattr(cell, rate), cell.ends(rate))


def how(cell: LeakCell) -> str:
    """How mentions leak: `2 exposed, 3 partly`."""
    parts = [f"{words.count(cell.exposed)} exposed"] if cell.exposed else []
    parts += [f"{words.count(cell.partly)} partly"] if cell.partly else []
    return ", ".join(parts) or "none found"


def parts_of(document: Leaks, system: str) -> Iterator[tuple[str, str, LeakCell]]:
    """The buckets and tough subsets of a system: what they divide by, their names and their cells."""
    own = document.systems[system]
    for attribute, buckets in own.buckets.items():
        yield from ((words.attribute(attribute), bucket, cell) for bucket, cell in buckets.items())
    yield from (("tough", words.tough(subset), cell) for subset, cell in own.tough.items())


def compared(document: Leaks, comparison: Comparison) -> str:
    """Which of two systems leaks less, and whether that can be chance; empty if it was not tested."""
    test = comparison.score(("overall", "leak_rate"))
    if test is None or test.difference is None or test.p_corrected is None:
        return ""
    first, second = comparison.systems if test.difference <= 0 else comparison.systems[::-1]
    by = f"{100 * abs(test.difference):.2g}"
    over = f"paired randomisation over {document.settings.unit}s, p {sentence_p(test.p_corrected)}"
    if not test.difference:
        return f"{first} and {second} leak the same share of mentions."
    if not test.significant:
        return f"{first} leaks {by} points less than {second}, which can be chance ({over})."
    return f"{first} leaks {by} points less than {second} ({over})."
