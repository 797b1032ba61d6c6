"""The charts of an evaluation: the scores of its systems, and where they are weak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, cast

from spanwise.diagnosis import distinct
from spanwise.document import Interval
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import (
    PRIMARY,
    BucketScores,
    Rates,
    ScoreTest,
    Subset,
    SubsetRecall,
    SubsetScores,
    SystemScores,
    WeakSlice,
)
from spanwise.document.study import Study
from spanwise.reports._charts import SERIES, Style, axis_range, ends, marks, points_pair, share, shortened
from spanwise.reports._charts.marks import ChartLayout, ChartRow, Dot, Drawing, Layer, draw
from spanwise.views import answers
from spanwise.views import silver as judge
from spanwise.views import wording as words
from spanwise.views.lookups import buckets_of, label_order
from spanwise.views.standing import compared, ranked

ScoredCell: TypeAlias = Rates | SubsetRecall | BucketScores
ChartScore: TypeAlias = Literal["f1", "recall"]


def shown(document: Evaluation, focus: str | None = None, *, most: int = SERIES) -> list[str]:
    """The systems that charts show, the one in focus first; at most six on a page, all in figures."""
    order = ranked(document)[:most]
    return order if focus is None else [focus, *(name for name in order if name != focus)][:most]


def places(document: Evaluation, names: Sequence[str]) -> list[int]:
    """The index of each system's colour: its rank, so that it is the same in every chart."""
    order = ranked(document)
    return [order.index(name) for name in names]


def score_of(cell: ScoredCell | None, score: ChartScore) -> float | None:
    """The score of a cell; None if it has none."""
    if cell is None:
        return None
    if score == "recall":
        return cell.recall
    return None if isinstance(cell, SubsetRecall) else cell.f1


def says(
    system: str, score: ChartScore, cell: ScoredCell | None, *, wrong: int | None = None,
    bounds: Interval | None = None,
) -> str:  # fmt: skip
    """The text alternative of a point, for screen readers and tooltips.

    `bounds` is an interval that is shown instead of the one of the cell.
    """
    pair = "" if cell is None else words.interval(bounds or cell.ends(score))
    text = f"{words.visible(system)}: {words.SCORES[score]} {words.points(score_of(cell, score))}"
    text += f" ({pair})" if pair else ""
    if pair and cell is not None and cell.few_units:
        text += f", based on {words.plural(cell.few_units, 'unit')}"
    return text if wrong is None else f"{text}, {words.count(wrong)} gold mentions not right"


def dagger(document: Evaluation, cell: ScoredCell | None) -> str:
    """A mark for a score based on few units, unless the whole document has few, which is noted once."""
    few = cell is not None and bool(cell.few_units)
    return "†" if few and not document.settings.few_units and document.settings.resamples else ""


# ---- score ----------------------------------------------------------------------------------


def score(document: Evaluation, style: Style) -> Drawing:
    """The primary score of every system with its interval, and the paired differences."""
    names = shown(document, most=style.most)
    primary = document.settings.primary or "f1"
    title = words.PRIMARY_SCORES[primary]
    systems = [document.systems[name] for name in names]
    bounds = [points_pair(system.primary_ends(primary)) for system in systems]
    differences = _differences(document, names)
    palette, plot, step, top = style.palette, 190.0, 36.0, 4.0
    split = top + step * len(names)
    height = split + (46 + 30 * len(differences) if differences else 0)
    values = [share(system.primary(primary)) for system in systems]
    reached = [v for v in values if v is not None]
    reached += [end for pair in bounds for end in pair or ()]
    low, high = axis_range(reached)
    at = split - height + 12
    x = marks.quantity("v", low, high, span=(0, plot), offset=at, grid=False, tickCount=4)
    layers: list[Layer] = []
    for index, (name, system, value) in enumerate(zip(names, systems, values, strict=True)):
        if value is None:
            continue
        y, colour = top + step * (index + 0.5), palette.series(index)
        pair = bounds[index]
        if pair:
            band = {"v": pair[0], "hi": pair[1], "y": y}
            layers.append(
                marks.bands([band], height, x, colour=colour, thick=13, cornerRadius=6.5, opacity=0.26)
            )
        within = words.interval(system.primary_ends(primary))
        text = f"{words.visible(name)}: {title} {words.points(system.primary(primary))}"
        point = {"v": value, "y": y, "d": text + (f" ({within})" if within else "")}
        fill = {"fill": palette["panel"]} if not marks.filled(index) else {}
        layers.append(marks.dots([point], height, x, colour=colour, index=index, size=110, **fill))
    names_shown = [{"y": top + step * (p + 0.5), "t": shortened(n, 20)} for p, n in enumerate(names)]
    numbers = [
        {"y": top + step * (p + 0.5), "t": words.points(system.primary(primary))}
        for p, system in enumerate(systems)
    ]
    layers.append(marks.texts(names_shown, height, at=-120, colour=palette["ink"], limit=116))
    layers.append(
        marks.texts(numbers, height, at=plot + 52, colour=palette["ink"], align="right", fontWeight="bold")
    )
    chart = marks.plot(*layers)
    if differences:
        chart = marks.apart(
            chart, marks.plot(*_difference_layers(differences, split + 34, height, plot, style, title))
        )
    return Drawing("score", f"{title} with intervals", chart, plot, height, 120, 60, 4, 22)


def silver(document: Evaluation, style: Style) -> Drawing | None:
    """F1 from gold, from the judge, and from both, below each other; None without a judge."""
    systems = judge.judged(document)
    rows, reached = [], []
    for name, scores in systems.items():
        for row in judge.rows(scores, document.settings.unit):
            bounds = points_pair(row.ends)
            title = f"{words.visible(name)}: {row.title}" if len(systems) > 1 else row.title
            text = f"{title} {words.points(row.f1)} {words.interval(row.ends)}".strip()
            dot = Dot(share(row.f1), bounds, text)
            reached += [value for value in (dot.value, *(bounds or ())) if value is not None]
            alone = row.title == judge.ALONE  # which is not an estimate to be quoted
            right = [words.points(row.f1)]
            rows.append(ChartRow(shortened(title, 26), row.note, [dot], right=right, faint=alone))
    if not reached:
        return None
    layout = ChartLayout(left=190, plot=190, columns=(52,), step=38, domain=axis_range(reached))
    return draw("silver", "F1 from few gold labels and a judge", rows, layout, style)


def cost_drawings(document: Evaluation | Study, style: Style) -> list[Drawing]:
    """F1 per dollar and per 1,000 tokens of each system whose log records them; none of a single one."""
    rows = answers.costs(document)[: style.most]
    datasets = len({row.dataset for row in rows}) > 1
    drawings = []
    for name, title, key in (
        ("cost-dollars", "F1 per dollar", "f1_per_dollar"),
        ("cost-tokens", "F1 per 1,000 tokens", "f1_per_1000_tokens"),
    ):
        numbers = {
            f"{row.system}, {row.dataset}" if datasets else row.system: row.number(key) for row in rows
        }
        known = [number.value for number in numbers.values() if number.value is not None]
        if not known or len(rows) < 2:
            continue
        lines = [
            ChartRow(
                shortened(system, 24), title,
                [Dot(number.value, says=f"{words.visible(system)}: {title} {number.text}")],
                right=[number.text],
            )
            for system, number in numbers.items()
        ]  # fmt: skip
        layout = ChartLayout(left=190, plot=190, columns=(64,), domain=(0.0, 1.06 * max(known) or 1.0))
        drawings.append(draw(name, title, lines, layout, style))
    return drawings


def _differences(document: Evaluation, names: Sequence[str]) -> list[tuple[str, ScoreTest]]:
    """The tests of the first system against each other one, whichever way round the document has them."""
    path = PRIMARY[document.settings.primary or "f1"]
    tests = [(other, compared(document, names[0], other, path)) for other in names[1:]]
    return [(other, test) for other, test in tests if test is not None and words.defined(test.difference)]


def _difference_layers(
    tests: Sequence[tuple[str, ScoreTest]], top: float, height: float, plot: float, style: Style, title: str
) -> list[Layer]:
    palette = style.palette
    pairs = [points_pair(test.interval) for _, test in tests]
    values = [share(test.difference) or 0.0 for _, test in tests]
    low, high = axis_range([0.0, *values, *(end for pair in pairs if pair for end in pair)])
    x = marks.quantity("v", low, high, span=(0, plot), grid=False, tickCount=4, format="+.2~f")
    layers = [
        marks.lines([{"v": 0, "y": top, "y2": height}], height, x, colour=palette["axis"]),
        marks.texts(
            [{"y": top - 8, "t": "difference"}], height, at=-120, colour=palette["muted"], fontSize=10.5
        ),
    ]
    for index, ((other, test), pair, value) in enumerate(zip(tests, pairs, values, strict=True)):
        y, colour = top + 18 + 30.0 * index, palette["s0"]
        text = (
            f"difference to {words.visible(other)}: {words.signed(test.difference)} {title} "
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


# ---- tough mentions, slices, buckets of attributes, labels -----------------------------------------


MOST_LABELS = 30  # a taller chart would be hard to read; the page says how many there are


def tough(document: Evaluation, focus: str, style: Style) -> Drawing | None:
    """Recall on mentions grouped by what was seen in training."""
    names = shown(document, focus, most=style.most)
    subsets = document.systems[focus].tough
    if not subsets:
        return None
    rows = [_recall_line(document, names, "All mentions", None, style)]
    for subset in _telling(subsets):
        rows.append(_recall_line(document, names, words.TOUGH[subset].capitalize(), subset, style))
    layout = ChartLayout(
        left=172, plot=140, columns=(44,), step=32, intervals=False, series=places(document, names)
    )
    return draw("tough", "Recall on tough mentions", rows, layout, style)


# A subset that holds the same mentions as one of these says nothing new.
_SAME: dict[Subset, Subset] = {
    "UNSEEN-ANY": "UNSEEN-TOKENS",
    "TCM-SEEN": "TCM-ALL",
    "TCM-UNSEEN": "TCM-ALL",
}


def _telling(subsets: Mapping[Subset, SubsetScores]) -> list[Subset]:
    """The subsets that hold mentions, without those that hold the same ones as another."""
    sizes = {subset: scores.overall.mentions for subset, scores in subsets.items()}
    return [
        subset
        for subset in words.TOUGH
        if sizes.get(subset) and (subset not in _SAME or sizes[subset] != sizes.get(_SAME[subset]))
    ]


def _point(
    system: str,
    score: ChartScore,
    cell: ScoredCell | None,
    wrong: int | None,
    href: str | None,
    *,
    interval: bool = True,
    bounds: Interval | None = None,
) -> Dot:
    text = says(system, score, cell, wrong=wrong, bounds=bounds)
    pair = ends(cell, score) if interval and cell is not None else None
    pair = points_pair(bounds) or pair
    return Dot(share(score_of(cell, score)), pair, text, href)


def _recall_line(
    document: Evaluation, names: Sequence[str], title: str, subset: Subset | None, style: Style
) -> ChartRow:
    points = []
    for name in names:
        cell, mentions, correct = _recall(document.systems[name], subset)
        wrong = mentions - correct
        href = style.link(wrong, unit="gold", system=name, outcome="wrong", tough=subset) if wrong else None
        points.append(_point(name, "recall", cell, wrong, href))
    cell, mentions, _ = _recall(document.systems[names[0]], subset)
    href = style.link(mentions, unit="gold", tough=subset) if mentions else None
    return ChartRow(
        title,
        words.plural(mentions, "mention"),
        points,
        href,
        [words.points(cell.recall) + dagger(document, cell)],
    )


def _recall(system: SystemScores, subset: Subset | None) -> tuple[ScoredCell, int, int]:
    """The scores of a subset or of all mentions, the number of gold mentions, and how many are right."""
    if subset is None:
        whole = system.exact.overall
        return whole, whole.gold, whole.correct
    part = system.tough[subset].overall
    return part, part.mentions, part.correct


def slices(document: Evaluation, focus: str, style: Style, *, most: int = 8) -> Drawing | None:
    """The costliest slices, with the interval of their score and the scores of the other systems."""
    system = document.systems[focus]
    groups = distinct((row for row in system.slices if row.cost > 0), system)[:most]
    if not groups:
        return None
    names = shown(document, focus, most=style.most)
    lines = [_slice_line(document, names, row, others, style) for row, *others in groups]
    overall = share(system.exact.overall.f1)
    layout = ChartLayout(
        left=190, plot=130, heads=("score", "costs"), columns=(46, 42), step=36, reference=overall,
        reference_says=f"F1 {overall:.1f}" if overall is not None else "", series=places(document, names),
        intervals=len(names) <= 2,
    )  # fmt: skip
    return draw("slices", "Costliest slices", lines, layout, style)


def _slice_line(
    document: Evaluation,
    names: Sequence[str],
    row: WeakSlice,
    others: Sequence[WeakSlice],
    style: Style,
) -> ChartRow:
    points = []
    unit = "mention"
    for name in names:
        cell, unit, wrong = _slice_cell(document.systems[name], row)
        href = style.link(wrong, unit="gold", system=name, outcome="wrong", **_chosen(row)) if wrong else None
        own = name == names[0]
        bounds = row.interval if own else None
        points.append(_point(name, row.score, cell, wrong, href, interval=own, bounds=bounds))
    better = None
    if len(names) > 1:
        test = compared(document, names[0], names[1], _path(row))
        if test and test.significant and (test.difference or 0) < 0:
            better = f"{words.visible(names[1])} is better here, p {words.p_value(test.p_corrected)}"
    href = style.link(row.gold, unit="gold", **_chosen(row)) if unit == "mention" else None
    title = _title(row)
    under = words.plural(row.gold, unit) + (", recall" if row.score == "recall" else "")
    if others:
        under += f"; also {', '.join(map(_title, others))}"
    return ChartRow(
        words.capital(title), under, points, href,
        [words.points(row.value), words.points(row.cost)], flag=better,
    )  # fmt: skip


def _title(row: WeakSlice) -> str:
    return words.slice_title(row.kind, row.name, row.title)


def _chosen(row: WeakSlice) -> dict[str, str | None]:
    match row.kind:
        case "label":
            return {"gold": row.name}
        case "tough":
            return {"tough": row.name}
        case "bucket":
            return {"attribute": row.attribute, "bucket": row.name}


def _path(row: WeakSlice) -> tuple[str, ...]:
    """The path of a slice's score within a system."""
    match row.kind:
        case "label":
            return "exact", "labels", row.name, row.score
        case "tough":
            return "tough", row.name, "overall", row.score
        case "bucket":
            return "attributes", str(row.attribute), row.name, row.score


def _slice_cell(system: SystemScores, row: WeakSlice) -> tuple[ScoredCell | None, str, int | None]:
    """The scores of a slice in one system, the unit they count, and how many mentions are wrong."""
    match row.kind:
        case "label":
            label = system.exact.labels.get(row.name)
            return label, "mention", None if label is None else label.gold - label.correct
        case "tough":
            scores = system.tough.get(cast("Subset", row.name))
            if scores is None:
                return None, "mention", None
            return scores.overall, "mention", scores.overall.mentions - scores.overall.correct
        case "bucket":
            table = system.attributes.get(str(row.attribute))
            if table is None:
                return None, "mention", None
            bucket = table.bucket(row.name)
            if bucket is None or table.unit != "mention":
                return bucket, table.unit, None
            return bucket, table.unit, bucket.gold - bucket.correct


def attribute(document: Evaluation, name: str, style: Style, *, drawing: str | None = None) -> Drawing:
    """F1 in every bucket of one attribute, with intervals, for every system."""
    names = [
        system for system in shown(document, most=style.most) if name in document.systems[system].attributes
    ]
    tables = [document.systems[system].attributes[name] for system in names]
    unit = tables[0].unit
    lines = []
    for first in buckets_of(tables):
        points = []
        for system, table in zip(names, tables, strict=True):
            cell = table.bucket(first.name)
            wrong = cell.gold - cell.correct if cell is not None and unit == "mention" else None
            chosen = {"attribute": name, "bucket": first.name}
            href = style.link(wrong, unit="gold", system=system, outcome="wrong", **chosen) if wrong else None
            points.append(_point(system, "f1", cell, wrong, href))
        href = None
        if unit == "mention" and first.gold:
            href = style.link(first.gold, unit="gold", attribute=name, bucket=first.name)
        shown_name, interval = shortened(first.name, 16), words.bucket(first)
        title = shown_name if interval == shown_name else f"{shown_name}   {interval}"
        lines.append(
            ChartRow(
                title,
                words.plural(first.gold, unit) + (", few" if first.small else ""),
                points,
                href,
                [words.points(first.f1) + dagger(document, first)],
                faint=bool(first.small),
            )
        )
    overall = share(document.systems[names[0]].exact.overall.f1) if unit == "mention" else None
    layout = ChartLayout(
        left=172, plot=150, columns=(44,), step=34, series=places(document, names), reference=overall,
        reference_says=f"overall {overall:.1f}" if overall is not None else "", intervals=len(names) <= 3,
    )  # fmt: skip
    return draw(drawing or f"attribute-{name}", f"F1 by {words.attribute(name)}", lines, layout, style)


def labels(document: Evaluation, style: Style) -> Drawing:
    """F1 of every label, most frequent first."""
    names = shown(document, most=style.most)
    order = label_order(document)
    lines = []
    for label in order[:MOST_LABELS]:
        points = []
        for name in names:
            cell = document.systems[name].exact.labels.get(label)
            if cell is None:
                points.append(Dot(None))
                continue
            wrong = cell.gold - cell.correct
            href = style.link(wrong, unit="gold", system=name, outcome="wrong", gold=label) if wrong else None
            points.append(_point(name, "f1", cell, wrong, href))
        number = document.dataset.labels.get(label, 0)
        first = document.systems[names[0]].exact.labels.get(label)
        href = style.link(number, unit="gold", gold=label) if number else None
        lines.append(
            ChartRow(
                shortened(label, 22),
                words.plural(number, "mention"),
                points,
                href,
                [words.points(score_of(first, "f1")) + dagger(document, first)],
            )
        )
    overall = share(document.systems[names[0]].exact.overall.f1)
    layout = ChartLayout(
        left=130, plot=220, columns=(44,), step=34, series=places(document, names), reference=overall,
        reference_says=f"overall {overall:.1f}" if overall is not None else "", intervals=len(names) <= 3,
    )  # fmt: skip
    return draw("labels", "F1 by label", lines, layout, style)
