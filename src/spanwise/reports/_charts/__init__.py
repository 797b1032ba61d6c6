"""Charts shared by the page and figure files, drawn from documents alone: palettes, styles and helpers."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from spanwise.document.scores import Bounded, BucketScores
from spanwise.reports._document import examples
from spanwise.views import wording as words

# The CSS variables of the page, with the values of the light theme, which figure files use. The series
# are blue, orange, green … after Okabe and Ito, darkened until text in them is readable on white.
LIGHT = {
    "ink": "#15171c",
    "muted": "#5f6573",
    "grid": "#e6e7e4",
    "axis": "#9a9fa8",
    "panel": "#ffffff",
    "s0": "#0a6ebd",
    "s1": "#b35a00",
    "s2": "#0b7a5b",
    "s3": "#8c4a86",
    "s4": "#6b6100",
    "s5": "#2f7391",
    "on": "#ffffff",
    "wrong": "#b4123f",
    "none": "#6d7583",
}
SERIES = 6  # as many colours, and as many systems in a chart of the page; tables show all


class Palette(Struct, frozen=True):
    """A colour for each role; hue only distinguishes systems (or datasets)."""

    name: str
    colours: dict[str, str]

    def __getitem__(self, role: str) -> str:
        return self.colours[role]

    def series(self, index: int) -> str:
        """The colour of the system or dataset at `index`; after six, colours repeat and shapes differ."""
        return self.colours[f"s{index % SERIES}"]


PAGE = Palette("page", {role: f"var(--{role})" for role in LIGHT})
PRINT = Palette("print", LIGHT)


class Style(Struct, frozen=True):
    """The colours of charts, and whether they link to the examples of the page."""

    palette: Palette = PRINT
    linked: bool = False
    most: int = SERIES  # the most systems in a chart

    def link(self, of: float | None = None, **choices: str | None) -> str | None:
        """The link to the mentions behind a number, or None if charts are not linked."""
        return examples(of, **choices) if self.linked else None


def share(value: float | None) -> float | None:
    """A fraction from the document in points; None if it is undefined."""
    return 100 * float(value) if value is not None and words.defined(value) else None


def ends(cell: Bounded | BucketScores, score: str) -> tuple[float, float] | None:
    """The interval of a score in points; None if it has none."""
    return points_pair(cell.ends(score))


def points_pair(pair: Sequence[float | None] | None) -> tuple[float, float] | None:
    """Both ends of an interval in points; None unless both are defined."""
    if not pair or not all(words.defined(end) for end in pair):
        return None
    low, high = pair
    return 100 * float(low or 0), 100 * float(high or 0)


def axis_range(values: Sequence[float], *, zero: bool = False, pad: float = 0.06) -> tuple[float, float]:
    """The range of an axis that fits the values with some padding; with `zero`, it includes zero."""
    if not values:
        return (0.0, 100.0)
    low, high = (min(0.0, *values) if zero else min(values)), max(values)
    room = max((high - low) * pad, 0.5)
    return (low if zero and low == 0 else low - room, high + room)


def width_of(text: str, size: float) -> float:
    """The approximate width of a text in pixels, for a plain sans-serif font."""
    narrow = sum(character in "iljt.,:;|!'()[] ·" for character in text)
    wide = sum(character.isupper() or character in "mwMW→" for character in text)
    return size * (0.56 * len(text) - 0.26 * narrow + 0.12 * wide)


def titled(attribute: str) -> str:
    """The name of an attribute in words, capitalised for a heading."""
    return words.capital(words.attribute(attribute))


def fitted(text: str, size: float, room: float) -> str:
    """The text, cut in the middle to fit about `room` pixels; the beginning is never the shorter part.

    Examples:
        >>> fitted("experiment-with-a-long-name-07", 11, 100)
        'experime…name-07'
    """
    if width_of(text, size) <= room:
        return text
    most = len(text)
    while most > 3 and width_of(shortened(text, most), size) > room:
        most -= 1
    return shortened(text, most)


def shortened(text: object, most: int) -> str:
    """The text, made visible and cut to `most` characters in the middle, since names differ at their ends.

    Examples:
        >>> shortened("bert-base-multilingual-cased", 15)
        'bert-ba…l-cased'
    """
    shown = words.visible(text)
    if len(shown) <= most:
        return shown
    end = (most - 1) // 2
    return f"{shown[: most - 1 - end]}…{shown[-end:]}"
