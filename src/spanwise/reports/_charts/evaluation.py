"""The systems of an evaluation in the order of charts, and the chart of their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from spanwise.diagnosis import F1
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import BucketScores, Rates, ScoreTest, SubsetRecall
from spanwise.reports import _wording as words
from spanwise.reports._charts import marks
from spanwise.reports._charts.marks import Drawing, Layer
from spanwise.reports._charts.style import Style, ends, points_pair, reach, share, shortened
from spanwise.reports._document import compared, ranked

MOST_SYSTEMS = 6  # as many as there are colours; the page's tables show all

ScoredCell: TypeAlias = Rates | SubsetRecall | BucketScores
ChartScore: TypeAlias = Literal["f1", "recall"]


def shown(document: Evaluation, focus: str | None = None, *, most: int = MOST_SYSTEMS) -> list[str]:
    """The systems that charts draw, the one in focus first; at most six on a page, all in figures."""
    order = ranked(document)[:most]
    return order if focus is None else [focus, *(name for name in order if name != focus)][:most]


def places(document: Evaluation, names: Sequence[str]) -> list[int]:
    """The colour of each system: by its rank, so that it is the same in every chart."""
    order = ranked(document)
    return [order.index(name) for name in names]


def score_of(cell: ScoredCell | None, score: ChartScore) -> float | None:
    """The score of a cell, where it has one."""
    if cell is None:
        return None
    if score == "recall":
        return cell.recall
    return None if isinstance(cell, SubsetRecall) else cell.f1


def says(system: str, score: ChartScore, cell: ScoredCell | None, *, wrong: int | None = None) -> str:
    """What a point tells a reader who cannot see it."""
    pair = "" if cell is None else words.interval(cell.ends(score))
    text = f"{words.visible(system)}: {words.SCORES[score]} {words.points(score_of(cell, score))}"
    text += f" ({pair})" if pair else ""
    return text if wrong is None else f"{text}, {words.count(wrong)} gold mentions not right"


# ---- score ----------------------------------------------------------------------------------


def score(document: Evaluation, style: Style) -> Drawing:
    """F1 of every system with its interval, and the paired differences."""
    names = shown(document, most=style.most)
    cells = [document.systems[name].exact.overall for name in names]
    differences = _differences(document, names)
    palette, plot, step, top = style.palette, 190.0, 36.0, 4.0
    split = top + step * len(names)
    height = split + (46 + 30 * len(differences) if differences else 0)
    values = [share(cell.f1) for cell in cells]
    reached = [v for v in values if v is not None]
    reached += [end for cell in cells for end in (ends(cell, "f1") or ())]
    low, high = reach(reached)
    at = split - height + 12
    x = marks.quantity("v", low, high, span=(0, plot), offset=at, grid=False, tickCount=4)
    layers: list[Layer] = []
    for place, (name, cell, value) in enumerate(zip(names, cells, values, strict=True)):
        if value is None:
            continue
        y, colour = top + step * (place + 0.5), palette.series(place)
        pair = ends(cell, "f1")
        if pair:
            band = {"v": pair[0], "hi": pair[1], "y": y}
            layers.append(
                marks.bands([band], height, x, colour=colour, thick=13, cornerRadius=6.5, opacity=0.26)
            )
        point = {"v": value, "y": y, "d": says(name, "f1", cell)}
        fill = {"fill": palette["panel"]} if place == 1 else {}
        layers.append(marks.dots([point], height, x, colour=colour, place=place, size=110, **fill))
    names_shown = [{"y": top + step * (p + 0.5), "t": shortened(n, 20)} for p, n in enumerate(names)]
    numbers = [{"y": top + step * (p + 0.5), "t": words.points(c.f1)} for p, c in enumerate(cells)]
    layers.append(marks.texts(names_shown, height, at=-120, colour=palette["ink"], limit=116))
    layers.append(
        marks.texts(numbers, height, at=plot + 52, colour=palette["ink"], align="right", fontWeight="bold")
    )
    chart = marks.plot(*layers)
    if differences:
        chart = marks.apart(
            chart, marks.plot(*_difference_layers(differences, split + 34, height, plot, style))
        )
    return Drawing("score", "F1 with intervals", chart, plot, height, 120, 60, 4, 22)


def _differences(document: Evaluation, names: Sequence[str]) -> list[tuple[str, ScoreTest]]:
    """The first system against each other one, whichever way round the document tested them."""
    tests = [(other, compared(document, names[0], other, F1)) for other in names[1:]]
    return [(other, test) for other, test in tests if test is not None and words.defined(test.difference)]


def _difference_layers(
    tests: Sequence[tuple[str, ScoreTest]], top: float, height: float, plot: float, style: Style
) -> list[Layer]:
    palette = style.palette
    pairs = [points_pair(test.interval) for _, test in tests]
    values = [share(test.difference) or 0.0 for _, test in tests]
    low, high = reach([0.0, *values, *(end for pair in pairs if pair for end in pair)])
    x = marks.quantity("v", low, high, span=(0, plot), grid=False, tickCount=4, format="+.2~f")
    layers = [
        marks.lines([{"v": 0, "y": top, "y2": height}], height, x, colour=palette["axis"]),
        marks.texts(
            [{"y": top - 8, "t": "difference"}], height, at=-120, colour=palette["muted"], fontSize=10.5
        ),
    ]
    for place, ((other, test), pair, value) in enumerate(zip(tests, pairs, values, strict=True)):
        y, colour = top + 18 + 30.0 * place, palette["s0"]
        text = (
            f"difference to {words.visible(other)}: {words.signed(test.difference)} F1 "
            f"({words.signed_interval(test.interval)}), p {words.p_value(test.p_corrected)}"
        )
        if pair:
            band = {"v": pair[0], "hi": pair[1], "y": y}
            layers.append(
                marks.bands([band], height, x, colour=colour, thick=9, cornerRadius=4.5, opacity=0.26)
            )
        layers.append(marks.dots([{"v": value, "y": y, "d": text}], height, x, colour=colour, size=70))
        layers.append(
            marks.texts(
                [{"y": y, "t": f"to {shortened(other, 18)}"}],
                height,
                at=-120,
                colour=palette["ink"],
                limit=116,
            )
        )
        number = [{"y": y, "t": words.signed(test.difference)}]
        layers.append(
            marks.texts(number, height, at=plot + 52, colour=palette["ink"], align="right", fontWeight="bold")
        )
    return layers
