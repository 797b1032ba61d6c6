"""The scores of systems part by part: at each level of labels, by label, and on tough mentions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from spanwise.document.scores import LevelScores, SystemScores
from spanwise.views import Section, cells, wording
from spanwise.views.cells import (
    EVERYWHERE,
    PAPER,
    SHOWN,
    Block,
    Cell,
    Column,
    Flow,
    Grid,
    Number,
    Phrase,
    Room,
    Strip,
    StripAxis,
    Surface,
)
from spanwise.views.dataset import MARKS, TINY, mentions
from spanwise.views.lookups import scored_labels, union
from spanwise.views.scores import first_comparison
from spanwise.views.systems import (
    Of,
    ShownSystems,
    difference,
    difference_columns,
    few_mark,
    interval_title,
    marked,
    resampling,
    uncorrected,
)

MOST_LABELS = 20
FEW = 30  # fewer mentions do not stretch the scale of intervals
NARROW = 72  # narrower screens have no room for differences
SHORT = {"precision": "P", "recall": "R"}


class PartRow(Struct, frozen=True):
    """A part of the data: its name, its gold mentions, its scores by system, and the path of their test.

    `others` are the scores beside the tested one, which are shown for a single system.
    """

    title: str
    gold: int | None
    of: Sequence[Of]
    path: tuple[str, ...]
    others: Sequence[Number] = ()


def _part_table(
    measured: ShownSystems,
    title: str,
    rows: Sequence[PartRow],
    others: Sequence[str] = (),
    on: tuple[Surface, ...] = SHOWN,
    most: int | None = None,
) -> tuple[Block, ...]:
    """The parts of one system with their intervals drawn, or of several systems side by side.

    Args:
        others: the names of the other scores of the rows.
    """
    if len(measured.of) == 1:
        return (_alone(measured, title, rows, others, on, most),)
    return _side_by_side(measured, title, rows, on, most)


def _alone(
    measured: ShownSystems,
    title: str,
    rows: Sequence[PartRow],
    others: Sequence[str],
    on: tuple[Surface, ...],
    most: int | None,
) -> Grid:
    ((system,), settings) = measured.document.systems.values(), measured.document.settings
    shown = [(row, row.of[0].part) for row in rows[:most] if row.of[0].part is not None]
    score = rows[0].path[-1] if rows else "f1"
    overall: float | None = getattr(system.exact.overall, score)
    reach = [] if overall is None else [overall]
    for row, part in shown:
        if (row.gold or 0) < FEW and any((other.gold or 0) >= FEW for other, _ in shown):
            continue  # a handful of mentions must not stretch the scale of all others
        reach += [value for value in (getattr(part, score), *(part.ends(score) or ())) if value is not None]
    # Means over runs have a deviation instead of an interval.
    bounded = any(part.ends(score) for _, part in shown) or not measured.over
    table: list[list[Cell]] = []
    for row in rows:
        part = row.of[0].part
        ends = None if part is None else part.ends(score)
        mark = "" if part is None else few_mark(settings, part)
        table.append(
            [
                row.title, cells.count(row.gold), *row.others,
                row.of[0].points(score, "strong"), cells.interval(ends, style="faint", mark=mark),
                Strip(None if part is None else getattr(part, score), ends),
            ]
        )  # fmt: skip
    columns = [
        Column(title, least=10),
        Column("gold", right=True),
        *(Column(SHORT.get(name, name), right=True, rank=2, bare=True, paper=name) for name in others),
        Column("F1" if score == "f1" else "R", right=True),
        Column(interval_title(settings), paper="interval", on=EVERYWHERE if bounded else PAPER),
        Column(least=20, most=44, rank=1, axis=StripAxis(tuple(reach), overall)),
    ]
    return Grid(columns, table, most, title + "s", on=on)


def _side_by_side(
    measured: ShownSystems, title: str, rows: Sequence[PartRow], on: tuple[Surface, ...], most: int | None
) -> tuple[Block, ...]:
    settings = measured.document.settings
    pair = first_comparison(measured.document)
    tests = {} if pair is None else {test.path: test for test in pair.scores}
    table: list[list[Cell]] = []
    for row in rows:
        scores = marked([of.points(row.path[-1]) for of in row.of])
        test = tests.get(row.path)
        tested = ["", "", "", ""] if test is None else difference(test, settings)
        table.append([row.title, cells.count(row.gold), *scores, *(tested if pair else ())])
    columns = [Column(title, least=22), Column("gold", right=True), *measured.columns()]
    if pair is not None:
        columns += difference_columns(settings, wide=NARROW)
    spread = any(isinstance(cell, Number) and cell.spread for row in table[:most] for cell in row)
    grid = Grid(columns, table, most, title + "s", on=on, room=Room(34, 12 if spread else 9, 12))
    return grid, *uncorrected(tests[row.path] for row in rows[:most] if row.path in tests)


# ---- by label --------------------------------------------------------------------------------------


def by_label(measured: ShownSystems) -> Section:
    """One row per label: precision, recall and F1 of one system, or the F1 of several."""
    rows = []
    for label in scored_labels(measured.document):
        scores = measured.each(lambda system, key: system.exact.labels.get(key), label)
        gold = next((of.part.gold for of in scores if of.part is not None), None)
        path = ("exact", "labels", label, "f1")
        rows.append(PartRow(label, gold, scores, path, scores[0].rates()[:2]))
    alone = len(measured.of) == 1
    caption = "Exact-match F1 by label. Bold: highest, not tested."
    if alone:
        caption = "Exact-match scores by label." + resampling(measured.document.settings)
    return Section(
        "labels",
        cells.words("By label"),
        _part_table(measured, "label", rows, ("precision", "recall"), EVERYWHERE, MOST_LABELS),
        "exact span and label" if alone else "F1, exact span and label",
        caption,
    )


# ---- by level of a hierarchy of labels -------------------------------------------------------------


class LevelRow(Struct, frozen=True):
    """One level: its title, its gold mentions, the scores of each system, and the path of the test of F1."""

    title: str
    gold: int
    scores: Sequence[LevelScores | None]
    path: tuple[str, ...]


def level_rows(systems: Mapping[str, SystemScores]) -> list[LevelRow]:
    """A row per level, from one label for all mentions down to the labels themselves; none without levels."""
    levels = [system.hierarchy or {} for system in systems.values()]
    depth = max(map(len, levels), default=0) - 1
    return [
        LevelRow(
            _level_title(level, depth),
            next(of_system[str(level)].exact.overall.gold for of_system in levels if str(level) in of_system),
            [of_system.get(str(level)) for of_system in levels],
            # The deepest level is exact F1 itself, which is tested once.
            ("exact", "overall", "f1")
            if level == depth
            else ("hierarchy", str(level), "exact", "overall", "f1"),
        )
        for level in range(depth + 1)
    ]


def _level_title(level: int, depth: int) -> str:
    if not level:
        return "0 · spans, any label"
    if level == depth:
        return f"{level} · full labels"
    return f"{level} · first step" if level == 1 else f"{level} · first {level} steps"


def by_level(measured: ShownSystems) -> Section | None:
    """The scores at each level of a hierarchy of labels: exact ones and fair F1."""
    rows: list[PartRow] = []
    table: list[list[Cell]] = []
    for level, row in enumerate(level_rows(measured.document.systems)):
        scores = measured.each(lambda system, key: (system.hierarchy or {}).get(key), str(level))
        exact = [of.at(lambda level: level.exact.overall) for of in scores]
        fair = [of.at(lambda level: level.fair.overall.f1).number() for of in scores]
        rows.append(PartRow(row.title, row.gold, exact, row.path, [*exact[0].rates()[:2], fair[0]]))
        table += [
            [
                row.title, name, of.count("gold"), *of.rates(),
                cells.interval(of.part.ends("f1")), fair_f1,
            ]
            for name, of, fair_f1 in zip(measured.of, exact, fair, strict=True)
            if of.part is not None
        ]  # fmt: skip
    if not rows:
        return None
    shown = _part_table(measured, "level", rows, ("precision", "recall", "fair F1"))
    titles = ("level", "system", "gold", "precision", "recall", "F1", "interval", "fair F1")
    note = "exact span and label at that level"
    caption = (
        "Scores at each level of the labels: 0 is one label for all mentions, level k the first k steps of "
        "each label." + resampling(measured.document.settings)
    )
    return Section(
        "hierarchy",
        cells.words("By level of labels"),
        (*shown, cells.table(titles, table, PAPER)),
        note if len(measured.of) == 1 else f"F1, {note}",
        caption,
    )


# ---- tough mentions --------------------------------------------------------------------------------


def on_tough(measured: ShownSystems) -> Section:
    """Recall on all mentions and on each tough subset, with the range over systems."""
    subsets = union(of.part.tough for of in measured.ranked.values())
    rows = [
        PartRow(
            wording.TOUGH[subset],
            scores.overall.mentions,
            measured.each(_overall, subset),
            ("tough", subset, "overall", "recall"),
        )
        for subset, scores in subsets.items()
        if scores.overall.mentions
    ]
    empty = [wording.TOUGH[subset] for subset, scores in subsets.items() if not scores.overall.mentions]
    blocks: list[Block] = [*_part_table(measured, "mentions", rows)] if rows else []
    if rows and empty:
        names = [[Phrase(name, "faint")] for name in empty]
        blocks.append(Flow([[Phrase("no mention is ", "faint"), *names[0]], *names[1:]]))
    return Section(
        "tough",
        cells.words("Tough mentions"),
        (*blocks, _tough_table(measured)),
        "recall by what was seen in training",
        f"Recall on tough mentions (Tu and Lignos 2021). {MARKS}"
        + (" Range: highest minus lowest system." if len(measured.of) > 1 else ""),
    )


def _overall(system: SystemScores, subset: str) -> object:
    return next((scores.overall for name, scores in system.tough.items() if name == subset), None)


def _tough_table(measured: ShownSystems) -> Grid:
    """Every subset, and all mentions before them."""
    subsets = union(system.tough for system in measured.document.systems.values())
    parts = [("ALL", "all mentions", measured.each(lambda system: system.exact.overall))] if subsets else []
    parts += [
        (subset, wording.TOUGH.get(subset, subset), measured.each(_overall, subset)) for subset in subsets
    ]
    rows: list[list[Cell]] = []
    for name, title, of in parts:
        number = next((one.part.mentions for one in of if one.part is not None), None) if rows else None
        gold = number if rows else measured.document.dataset.mentions
        cells_of = ranged([one.points("recall") for one in of], gold)
        counted = mentions(gold, measured.document.dataset.mentions)
        rows.append([name, title, counted, *(cells_of if len(of) > 1 else cells_of[:-1])])
    names = ["recall"] if len(measured.of) == 1 else [*measured.of, "range"]
    return cells.table(("subset", "mentions", "gold", *names), rows, PAPER)


def ranged(numbers: Sequence[Number], gold: int | None) -> list[Number]:
    """Recalls and their range; the best is marked unless there are too few mentions."""
    values = [number.value for number in numbers if number.value is not None]
    tiny = gold is not None and gold < TINY
    spread = cells.points(max(values) - min(values) if len(values) > 1 else None)
    return [*(numbers if tiny else marked(numbers)), spread]
