"""The systems of an evaluation as views show them: ranked, lettered, and with deviations over runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from spanwise.document import Interval, Settings
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import Bounded, ScoreTest, SystemScores
from spanwise.document.study import Spread
from spanwise.intervals import FEW_UNITS
from spanwise.views import cells, wording
from spanwise.views.cells import SHOWN, Cell, Column, Number, Paragraphs, Phrase
from spanwise.views.lookups import highest
from spanwise.views.standing import own_letters, ranked


class Of(Struct, frozen=True):
    """A part of a system's scores, and the same part of their deviations over runs, if there are any.

    Examples:
        >>> cells.text_of(Of(0.921, 0.004).number())
        '92.1 ±0.4'
    """

    part: Any
    over: Any = None

    def at(self, get: Callable[..., Any], *keys: str | int) -> Of:
        """A part of this part, found with keys; None where a system lacks it."""
        return Of(*(None if part is None else get(part, *keys) for part in (self.part, self.over)))

    def number(self, form: Callable[[float | None], str] = wording.points, style: str = "") -> Number:
        """The number with its deviation, unless it is the same in all runs."""
        if not self.over:
            return Number(self.part, form(self.part), style=style)
        spread = form(self.over).removeprefix("+")
        return Number(self.part, form(self.part), std=self.over, style=style, spread=spread)

    def points(self, name: str, style: str = "") -> Number:
        """One of its scores in points."""
        return self.at(attrgetter(name)).number(style=style)

    def count(self, name: str) -> Number:
        """One of its numbers of mentions."""
        return self.at(attrgetter(name)).number(wording.count)

    def rates(self) -> list[Number]:
        """Precision, recall and F1."""
        return [self.points(name) for name in ("precision", "recall", "f1")]


class ShownSystems(Struct, frozen=True):
    """An evaluation, and the deviations over runs of systems whose scores are means over runs."""

    document: Evaluation
    over: Mapping[str, SystemScores] = {}

    @property
    def of(self) -> dict[str, Of]:
        """The scores of every system, in the order of the document."""
        return {name: Of(scores, self.over.get(name)) for name, scores in self.document.systems.items()}

    @property
    def ranked(self) -> dict[str, Of]:
        """The scores of every system, the best first."""
        return {name: self.of[name] for name in ranked(self.document)}

    def each(self, get: Callable[..., Any], *keys: str | int) -> list[Of]:
        """A part of the scores of every system, found with keys."""
        return [of.at(get, *keys) for of in self.of.values()]

    def columns(self, least: int = 5) -> list[Column]:
        """A column for each system, of which screens show the best."""
        places, letters = list(ranked(self.document)), own_letters(self.document)
        return [
            Column(name, right=True, least=least, place=places.index(name), letter=letters[name])
            for name in self.document.systems
        ]


def marked(numbers: Sequence[Number]) -> list[Number]:
    """The numbers, with the highest marked as best if at least two are defined."""
    top = highest(number.value for number in numbers)
    return [replace(number, best=top is not None and number.value == top) for number in numbers]


def over_runs(spread: Spread | None) -> Number:
    """A mean over runs, with its standard deviation."""
    if spread is None:
        return Number(None, wording.UNDEFINED)
    return Number(spread.mean, wording.spread(spread.mean, spread.std), std=spread.std)


# ---- intervals and tests ---------------------------------------------------------------------------


def interval_title(settings: Settings) -> str:
    """`95% CI`, with a dagger if there are few units."""
    return f"{100 * settings.confidence:.0f}% CI" + ("†" if settings.few_units else "")


def few_mark(settings: Settings, cell: Bounded | ScoreTest) -> str:
    """A dagger if few units contain the cell, unless there are few overall and the column title has one."""
    if isinstance(cell, ScoreTest):
        few = (cell.units or FEW_UNITS) < FEW_UNITS
    else:
        few = cell.few_units is not UNSET
    return "†" if few and not settings.few_units and settings.resamples else ""


def resampling(settings: Settings) -> str:
    """What intervals are, for captions; empty if there are none."""
    if not settings.resamples:
        return ""
    few = " (few units)" if settings.few_units else ""
    return f" Intervals: {100 * settings.confidence:.0f}% logit-t, jackknife over {settings.unit}s{few}."


def difference(test: ScoreTest, settings: Settings) -> list[Cell]:
    """A tested difference with its interval, its p-value and a star if it is significant."""
    return [
        cells.signed(test.difference, "strong"),
        cells.interval(
            test.interval,
            differs=True,
            style="faint",
            mark=few_mark(settings, test) if test.interval else "",
        ),
        wording.p_value(test.p if test.p_corrected is None else test.p_corrected),
        Phrase("*", "good") if test.significant else "",
    ]


def uncorrected(tests: Iterable[ScoreTest]) -> tuple[Paragraphs, ...]:
    """That p is corrected and intervals are not, if one of them excludes 0 and nothing is significant."""
    if not any(excludes_zero(test.interval) and not test.significant for test in tests):
        return ()
    return (cells.note("Intervals are not corrected for the number of scores; p and * are.", "faint"),)


def excludes_zero(ends: Interval | None) -> bool:
    """Whether both ends of an interval lie on the same side of 0."""
    low, high = ends or (None, None)
    return low is not None and high is not None and low * high > 0


def difference_columns(settings: Settings, title: str = "diff", wide: int = 0) -> list[Column]:
    """The columns of tested differences."""
    return [
        Column(title, right=True, wide=wide, on=SHOWN),
        Column(interval_title(settings), rank=1, wide=wide, on=SHOWN),
        Column("p", right=True, wide=wide, on=SHOWN),
        Column("", wide=wide, on=SHOWN),
    ]
