"""Three systems or more on one page: who leads whom, and everything that a chosen pair is compared by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from markupsafe import Markup
from msgspec import Struct, to_builtins

from spanwise.diagnosis import F1, PREDICTED, lettering
from spanwise.document.comparison import Comparison, ScoreTest
from spanwise.document.evaluation import Evaluation
from spanwise.document.head import Interval
from spanwise.document.scores import Bounded, BucketScores, SystemScores
from spanwise.findings import findings_of, lead_finding
from spanwise.reports import _wording as words
from spanwise.reports._charts.style import reach, shortened, titled
from spanwise.reports.html.verdict import Finding, worded

Path = tuple[str, ...]
SIGNS = {"−": "sminus", "+": "splus", "!": "scheck"}


class Standing(Struct, frozen=True):
    """One row of the leaderboard; the places of its band and its dot are percents of the axis."""

    place: int
    letter: str
    name: str
    short: str
    brief: str  # for the narrowest places
    system: SystemScores
    beats: str
    dot: float | None
    band: tuple[float, float] | None
    ties: Sequence[str]  # for each group of systems that cannot be told apart: how its bracket runs here


class Cell(Struct, frozen=True):
    """One cell of the significance matrix: row less column."""

    text: str
    says: str
    shade: str
    place: tuple[int, int]


class Measured(Struct, frozen=True):
    """A score that a pair is compared by: its name, where it stands, and which mentions it is about."""

    title: str
    path: Path
    count: int | None = None
    choose: Mapping[str, str] = {}
    under: str = ""


class Group(Struct, frozen=True):
    """Scores that are compared in one table."""

    title: str
    note: str
    rows: Sequence[Measured]


def order_of(document: Evaluation) -> dict[str, str]:
    """The systems from the highest F1 to the lowest, each with its letter."""
    return lettering({name: system.exact.overall.f1 for name, system in document.systems.items()})


# ---- the leaderboard --------------------------------------------------------------------------


def standings(document: Evaluation) -> list[Standing]:
    """Every system with its rank, its place on a common axis and the brackets that it stands in."""
    order = order_of(document)
    cells = {name: document.systems[name].exact.overall for name in order}
    ends = {name: _both(cell.interval.get("f1")) for name, cell in cells.items()}
    values = [cell.f1 for cell in cells.values() if cell.f1 is not None]
    low, high = reach([100 * v for v in (*values, *(end for pair in ends.values() if pair for end in pair))])

    def at(value: float) -> float:
        return round(100 * (100 * value - low) / (high - low), 2)

    groups = ties(document, list(order))
    rows = []
    for place, (name, letter) in enumerate(order.items()):
        pair, f1 = ends[name], cells[name].f1
        rows.append(
            Standing(
                place=place,
                letter=letter,
                name=name,
                short=shortened(name, 30),
                brief=shortened(name, 18),
                system=document.systems[name],
                beats=document.letters.get(name, ""),
                dot=None if f1 is None else at(f1),
                band=None if pair is None else (at(pair[0]), at(pair[1])),
                ties=[_bracket(place, group) for group in groups],
            )
        )
    return rows


def _both(pair: Interval | None) -> tuple[float, float] | None:
    if pair is None or pair[0] is None or pair[1] is None:
        return None
    return pair[0], pair[1]


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


def matrix(document: Evaluation) -> list[list[Cell | None]]:
    """For each system against each other one the difference of F1, shaded where it is significant."""
    order = list(order_of(document))
    tests = _tests_by_pair(document, F1)
    most = max((abs(test.difference or 0.0) for test in tests.values()), default=0.0)
    return [
        [None if one == other else _cell(order, i, j, tests, most) for j, other in enumerate(order)]
        for i, one in enumerate(order)
    ]


def _cell(
    order: Sequence[str], row: int, column: int, tests: Mapping[tuple[str, str], ScoreTest], most: float
) -> Cell:
    one, other = order[row], order[column]
    test, sign = tests.get((one, other)), 1
    if test is None:
        test, sign = tests.get((other, one)), -1
    names = f"{words.visible(one)} − {words.visible(other)}"
    if test is None or test.difference is None:
        return Cell("", f"{names}: not tested", "", (row, column))
    difference = sign * test.difference
    p = words.p_value(test.p_corrected)
    shade = ""
    if test.significant and most:
        shade = f"h{max(1, round(10 * (abs(difference) / most) ** 0.5))}" + (" neg" if difference < 0 else "")
    p_said = p if p.startswith("<") else f"= {p}"
    return Cell(words.signed(difference), f"{names}: {words.signed(difference)} F1, p {p_said}", shade,
                (row, column))  # fmt: skip


def _tests_by_pair(document: Evaluation, path: Path) -> dict[tuple[str, str], ScoreTest]:
    return {row.systems: test for row in document.comparisons for test in [row.score(path)] if test}


# ---- what a pair is compared by -----------------------------------------------------------------


def groups(document: Evaluation) -> list[Group]:
    """Every score that two systems can be compared by: overall, errors, tough subsets, labels, attributes."""
    systems = list(document.systems.values())
    found = [_overall(), _gains(), _tough(systems), _labels(document), *_attributes(systems)]
    return [group for group in found if group.rows]


def _overall() -> Group:
    rows = [
        Measured("F1", F1),
        Measured("precision", ("exact", "overall", "precision")),
        Measured("recall", ("exact", "overall", "recall")),
        Measured("macro F1", ("exact", "macro", "f1")),
        Measured("fair F1", ("fair", "overall", "f1")),
    ]
    return Group("Overall", "Exact span and label; fair scores count each error once.", rows)


def _gains() -> Group:
    rows = [
        Measured(words.OUTCOMES[kind], ("gains", kind, "gain"), choose={"unit": "error", "outcome": kind})
        for kind in words.ERRORS
    ]
    return Group("What fixing each kind of error would add", "Points of F1.", rows)


def _tough(systems: Sequence[SystemScores]) -> Group:
    rows = []
    for subset, title in words.TOUGH.items():
        cell = next((row for one in systems for key, row in one.tough.items() if key == subset), None)
        if cell is not None:
            rows.append(
                Measured(
                    title, ("tough", subset, "overall", "recall"), cell.overall.mentions, {"tough": subset}
                )
            )
    return Group("Tough mentions", "Recall, by what training showed.", rows)


def _labels(document: Evaluation) -> Group:
    known: dict[str, int] = {}
    for system in document.systems.values():
        for label, row in system.exact.labels.items():
            known.setdefault(label, row.gold)
    rows = [
        Measured(words.visible(label), ("exact", "labels", label, "f1"), gold, {"gold": label})
        for label, gold in sorted(known.items(), key=lambda item: -item[1])
    ]
    return Group("Labels", "F1, the most frequent label first.", rows)


def _attributes(systems: Sequence[SystemScores]) -> list[Group]:
    tables = {name: table for one in reversed(systems) for name, table in one.attributes.items()}
    return [
        Group(
            titled(name),
            f"F1 over {table.unit}s.",
            [_bucket(name, bucket, table.unit) for bucket in table.buckets],
        )
        for name, table in tables.items()
    ]


def _bucket(attribute: str, bucket: BucketScores, unit: str) -> Measured:
    choose = {"attribute": attribute, "bucket": bucket.name} if unit == "mention" else {}
    under = words.bucket(to_builtins(bucket))
    return Measured(
        words.visible(bucket.name), ("attributes", attribute, bucket.name, "f1"), bucket.gold, choose,
        "" if under == bucket.name else under,
    )  # fmt: skip


def _score(system: SystemScores, path: Path) -> tuple[float | None, Interval | None]:
    """One score of a system with its interval."""
    cell: Bounded | BucketScores | None
    match path:
        case ("gains", kind, _):
            cell = system.gains.of(kind)
        case ("tough", subset, _, _):
            cell = next((row.overall for key, row in system.tough.items() if key == subset), None)
        case ("exact", "labels", label, _):
            cell = system.exact.labels.get(label)
        case ("attributes", attribute, bucket, _):
            table = system.attributes.get(attribute)
            cell = None if table is None else table.bucket(bucket)
        case ("exact", "macro", _):
            cell = system.exact.macro
        case ("fair", *_):
            cell = system.fair.overall
        case _:
            cell = system.exact.overall
    if cell is None:
        return None, None
    value: float | None = getattr(cell, path[-1])
    return value, cell.interval.get(path[-1])


# ---- what the script is given -------------------------------------------------------------------


def packed_board(document: Evaluation, plain: Mapping[str, Any]) -> dict[str, Any]:
    """What the script draws a pair from: the scores of every system, and the tests of every pair."""
    order = order_of(document)
    names, place = list(order), {name: at for at, name in enumerate(order)}
    shown = groups(document)
    paths = [row.path for group in shown for row in group.rows]
    row_of = {path: at for at, path in enumerate(paths)}
    comparisons = {
        (min(at), max(at)): row
        for row in document.comparisons
        for at in [[place[name] for name in row.systems]]
    }
    return {
        "short": [shortened(name, 26) for name in names],
        "letters": list(order.values()),
        "mentions": document.dataset.mentions,
        "groups": [to_builtins(group) for group in shown],
        "scores": [[_numbers(*_score(document.systems[name], path)) for path in paths] for name in names],
        "pairs": {
            f"{i},{j}": {
                "head": headline(document, names, i, j, comparisons.get((i, j))),
                **_pair(document, plain, names, i, j, comparisons.get((i, j)), row_of),
            }
            for i, j in combinations(range(len(names)), 2)
        },
        "own": [
            [_item(worded(plain, to_builtins(row))) for row in findings_of(document, name, None)]
            for name in names
        ],
    }  # fmt: skip


def _numbers(value: float | None, ends: Interval | None) -> list[float | None] | None:
    if value is None:
        return None
    both = _both(ends)
    return [_points(value), *(map(_points, both) if both else ())]


def _points(value: float) -> float:
    return round(100 * value, 3)


def _pair(
    document: Evaluation, plain: Mapping[str, Any], names: Sequence[str], i: int, j: int,
    comparison: Comparison | None, row_of: Mapping[Path, int],
) -> dict[str, Any]:  # fmt: skip
    """The finding, the tests and the parts of the lead of the system at `i` over that at `j`."""
    if comparison is None:
        return {"lead": "", "tests": {}, "parts": {}}
    sign = 1 if comparison.systems[0] == names[i] else -1
    lead = lead_finding(comparison, names[i])
    return {
        "lead": "" if lead is None else _item(worded(plain, to_builtins(lead))),
        "tests": {row_of[row.path]: _test(row, sign) for row in comparison.scores if row.path in row_of},
        "parts": {
            division: [[_part(division, part.name), _points(sign * part.contribution)] for part in parts]
            for division, parts in comparison.lead.items()
        },
    }


def _part(division: str, name: str) -> str:
    if division == "tough":
        return "predicted mentions" if name == PREDICTED else words.TOUGH.get(name, name)
    return words.visible(name)


def _test(row: ScoreTest, sign: int) -> list[Any]:
    """Difference, both ends of its interval, p and whether it is significant."""
    both = _both(row.interval)
    ends = [None, None] if both is None else sorted(_points(sign * end) for end in both)
    difference = None if row.difference is None else _points(sign * row.difference)
    return [difference, *ends, words.p_value(row.p_corrected), int(row.significant)]


def headline(
    document: Evaluation, names: Sequence[str], i: int, j: int, comparison: Comparison | None
) -> Markup:
    """Who of two systems scores what, and whether the lead is real; the better one stands at `i`."""
    first, second = (Markup('<span class="{}"><bdi>{}</bdi></span>').format(colour, words.visible(names[at]))
                     for at, colour in ((i, "c0"), (j, "c1")))  # fmt: skip
    scores = [words.points(document.systems[names[at]].exact.overall.f1) for at in (i, j)]
    test = None if comparison is None else comparison.score(F1)
    if test is None or test.difference is None:
        return Markup("{} scores {} F1, {} {}.").format(first, scores[0], second, scores[1])
    lead = words.signed(abs(test.difference)).lstrip("+")
    if lead == "0.0":
        return Markup("{} scores {} F1, the same as {}.").format(first, scores[0], second)
    if comparison is not None and test.p_corrected is None:
        end = ""
    elif test.significant:
        end = " The lead holds when the data are resampled."
    else:
        p = words.p_value(test.p_corrected)
        end = f" A lead this small can be chance (p {p if p.startswith('<') else '= ' + p})."
    return Markup("{} scores {} F1, {} above {}.{}").format(first, scores[0], lead, second, end)


def _item(finding: Finding) -> Markup:
    """A finding as an item of the list."""
    link = Markup()
    if finding.link and finding.href:
        link = Markup('<a href="{}">{}</a>').format(finding.href, finding.link)
    elif finding.link:
        link = Markup('<span class="muted">{}</span>').format(finding.link)
    item = '<li><span class="sign {}" aria-hidden="true">{}</span><span><strong>{}</strong> {}</span>{}</li>'
    sign = SIGNS.get(finding.sign, "")
    return Markup(item).format(sign, finding.sign, finding.strong, finding.rest, link)


def brackets(rows: Iterable[Standing]) -> int:
    """How many groups of systems cannot be told apart."""
    return max((len(row.ties) for row in rows), default=0)
