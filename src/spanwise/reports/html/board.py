"""Three systems or more on one page: who leads whom, and which of them cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from spanwise.diagnosis import F1
from spanwise.document.evaluation import Evaluation
from spanwise.document.head import Interval
from spanwise.document.scores import ScoreTest, SystemScores
from spanwise.reports import _wording as words
from spanwise.reports._charts.style import reach, shortened
from spanwise.reports.html.shown import Path, Shown, both_ends, mean_score, run_values


class Standing(Struct, frozen=True):
    """One row of the leaderboard; the places of its band and its dots are percents of the axis."""

    place: int
    letter: str
    name: str
    short: str
    brief: str  # for the narrowest places
    system: SystemScores
    scores: Mapping[str, float | None]  # f1, precision, recall, macro, fair: the mean where there are runs
    spread: float | None  # of F1 over runs
    beats: str
    dot: float | None
    band: tuple[float, float] | None
    interval: Interval | None
    runs: Sequence[float]  # where the runs lie
    ties: Sequence[str]  # for each group of systems that cannot be told apart: how its bracket runs here


class MatrixCell(Struct, frozen=True):
    """One cell of the significance matrix: row less column."""

    text: str
    says: str
    shade: str
    place: tuple[int, int]


# ---- the leaderboard --------------------------------------------------------------------------

COLUMNS: Mapping[str, Path] = {
    "precision": ("exact", "overall", "precision"),
    "recall": ("exact", "overall", "recall"),
    "macro": ("exact", "macro", "f1"),
    "fair": ("fair", "overall", "f1"),
}


def standings(shown: Shown) -> list[Standing]:
    """Every system with its rank, its place on a common axis and the brackets that it stands in."""
    order, document = shown.order, shown.document
    ends = {name: both_ends(shown.f1_interval(name)) for name in order}
    runs = {name: run_values(shown, name, F1) for name in order}
    values = [value for name in order for value in (shown.f1(name), *runs[name]) if value is not None]
    low, high = reach([100 * v for v in (*values, *(end for pair in ends.values() if pair for end in pair))])

    def at(value: float) -> float:
        return round(100 * (100 * value - low) / (high - low), 2)

    groups = ties(document, list(order))
    rows = []
    for place, (name, letter) in enumerate(order.items()):
        pair, f1 = ends[name], shown.f1(name)
        rows.append(
            Standing(
                place=place,
                letter=letter,
                name=name,
                short=shortened(name, 30),
                brief=shortened(name, 18),
                system=document.systems[name],
                scores={key: mean_score(shown, name, path) for key, path in COLUMNS.items()} | {"f1": f1},
                spread=shown.means[name].std if shown.several(name) and name in shown.means else None,
                beats=document.letters.get(name, ""),
                dot=None if f1 is None else at(f1),
                band=None if pair is None else (at(pair[0]), at(pair[1])),
                interval=shown.f1_interval(name),
                runs=[at(value) for value in runs[name] if value is not None] if shown.several(name) else [],
                ties=[_bracket(place, group) for group in groups],
            )
        )
    return rows


def _bracket(place: int, group: tuple[int, int]) -> str:
    first, last = group
    if not first <= place <= last:
        return ""
    return " ".join(["on", *(["first"] if place == first else []), *(["last"] if place == last else [])])


def ties(document: Evaluation, order: Sequence[str]) -> list[tuple[int, int]]:
    """The runs of ranks in which no pair differs significantly, from first to last; none lies in another."""
    differ = {
        frozenset(row.systems)
        for row in document.comparisons
        for test in [row.score(F1)]
        if test is None or test.significant
    }
    tested = {frozenset(row.systems) for row in document.comparisons}
    runs: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and all(
            (pair := frozenset((order[last + 1], order[at]))) in tested and pair not in differ
            for at in range(first, last + 1)
        ):
            last += 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def matrix(shown: Shown) -> list[list[MatrixCell | None]]:
    """For each system against each other one the difference of F1, shaded where it is significant."""
    order, document = list(shown.order), shown.document
    tests = _tests_by_pair(document, F1)
    most = max((abs(test.difference or 0.0) for test in tests.values()), default=0.0)
    return [
        [None if one == other else _cell(order, i, j, tests, most) for j, other in enumerate(order)]
        for i, one in enumerate(order)
    ]


def _cell(
    order: Sequence[str], row: int, column: int, tests: Mapping[tuple[str, str], ScoreTest], most: float
) -> MatrixCell:
    one, other = order[row], order[column]
    test, sign = tests.get((one, other)), 1
    if test is None:
        test, sign = tests.get((other, one)), -1
    names = f"{words.visible(one)} − {words.visible(other)}"
    if test is None or test.difference is None:
        return MatrixCell("", f"{names}: not tested", "", (row, column))
    difference = sign * test.difference
    p = words.p_value(test.p_corrected)
    shade = ""
    if test.significant and most:
        shade = f"h{max(1, round(10 * (abs(difference) / most) ** 0.5))}" + (" neg" if difference < 0 else "")
    p_said = p if p.startswith("<") else f"= {p}"
    return MatrixCell(words.signed(difference), f"{names}: {words.signed(difference)} F1, p {p_said}", shade,
                (row, column))  # fmt: skip


def _tests_by_pair(document: Evaluation, path: Path) -> dict[tuple[str, str], ScoreTest]:
    return {row.systems: test for row in document.comparisons for test in [row.score(path)] if test}


def brackets(rows: Iterable[Standing]) -> int:
    """How many groups of systems cannot be told apart."""
    return max((len(row.ties) for row in rows), default=0)
