"""What pages show: rows of the leaderboard with their ties, points of the history, rows of a comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import UNSET, Struct
from msgspec.structs import replace
from starlette.datastructures import QueryParams

from spanwise.diagnosis import PREDICTED, parts_of_lead
from spanwise.document.scores import PRIMARY, LeadPart, ScoreTest
from spanwise.reports import _wording as words
from spanwise.statistics import LEVEL
from spanwise.workbench.bench import Bench
from spanwise.workbench.index import TESTED
from spanwise.workbench.store import Gold, PooledRuns, Result, pooled

SHAPES = 6
BOARD_ROWS = 40  # of a page, which stays below 120 KB
POINTS = 240  # of a history
HEIGHT = 14.0  # of the name of a track
FEW_MENTIONS = 30  # in a slice, below which its interval does not set the scale of a drawing
SHORT = {"f1": "F1", "precision": "P", "recall": "R", "macro": "macro F1", "fair": "fair F1"}
COLUMNS = ("precision", "recall", "fair", "tough/UNSEEN-ANY")  # beside the score by which systems are ranked


class Axis(Struct, frozen=True):
    """A scale of scores, from low to high, drawn over 0 to 100."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Axis:
        """A scale that holds some values, with a little room."""
        known = [value for value in values if value is not None]
        if not known:
            return cls(0.0, 1.0)
        low, high = min(known), max(known)
        room = max((high - low) * 0.08, 0.005)
        return cls(low - room, high + room)

    @classmethod
    def around(cls, rows: Sequence[ScoreTest]) -> Axis:
        """A scale of differences around 0; the intervals of slices with few mentions may reach beyond it."""
        many = [row for row in rows if (mentions_of(row) or 0) >= FEW_MENTIONS] or rows
        ends = [end for row in many for end in (*(row.interval or ()), row.difference)]
        return cls.of([0.0, *ends])

    def at(self, value: float | None) -> float:
        """Where a value is, from 0 to 100; what is beyond the scale is at its end."""
        if value is None:
            return 0.0
        return min(max(round(100 * (value - self.low) / (self.high - self.low), 2), 0.0), 100.0)

    def ticks(self, number: int = 3) -> list[float]:
        """Round values on the scale."""
        span = self.high - self.low
        step = next((s for s in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if span / s <= number + 1), 1.0)
        first = -(-self.low // step)
        return [
            round((first + index) * step, 6)
            for index in range(number + 2)
            if (first + index) * step <= self.high
        ]


class BoardRow(Struct, frozen=True):
    """A row of the leaderboard."""

    result: Result  # the newest run
    runs: int
    deviation: float | None  # of the score over runs
    shape: int
    values: Mapping[str, float | None]
    low: float | None
    high: float | None
    tied: tuple[str, ...]
    brackets: tuple[str, ...]  # for each bracket "", "start", "mid" or "end"
    line: str  # the points of the history, for a small drawing
    change: float | None
    significant: bool
    results: int


class BoardQuery(Struct, frozen=True, kw_only=True):
    """What an address asks of the leaderboard."""

    score: str
    sort: str
    q: str = ""
    tag: str = ""
    label: str = ""
    each: bool = False
    columns: tuple[str, ...] = ()
    known: tuple[str, ...] = ()  # columns to choose from
    after: int = 0


def board_query(bench: Bench, gold: Gold, asked: QueryParams) -> BoardQuery:
    """The leaderboard that the parameters of an address ask for; what it does not have is left out."""
    score = bench.score(gold, asked.get("score", ""))
    every = bench.store.results(gold.slug)
    known = tuple(dict.fromkeys([*PRIMARY, *(name for one in every for name in one.board.scores)]))
    sort, label, after = (asked.get(name, "") for name in ("sort", "label", "after"))
    named = [one for text in asked.getlist("columns") for one in text.split(",") if one in known]
    columns = named or [one for one in COLUMNS if one in known]
    return BoardQuery(
        score=score,
        sort=sort if sort.lstrip("-") in (*known, "system", "made_at") else f"-{score}",
        q=asked.get("q", ""),
        tag=asked.get("tag", ""),
        label=label if label in gold.labels else "",
        each=asked.get("runs") == "each",
        columns=tuple(dict.fromkeys(column for column in columns if column != score)),
        known=known,
        after=int(after) if re.fullmatch(r"\d{1,9}", after) else 0,
    )


def board(
    bench: Bench, gold: Gold, query: BoardQuery, *, most: int = BOARD_ROWS, changes: bool = True
) -> tuple[list[BoardRow], Axis, int]:
    """At most `most` rows of the leaderboard, sorted and filtered, with ties; how many there are.

    Systems are ranked by a score, of one label by its F1. The twenty best are tested against each other,
    and with `changes` every row against the result before it.
    """
    label, each, score, after = query.label, query.each, query.score, query.after
    here = [result for result in bench.store.results(gold.slug) if not result.gone]
    every = [PooledRuns((one,)) for one in here] if each else pooled(here)
    newest = {pool.result.system: pool for pool in every}
    rows = list(reversed(every)) if each else list(newest.values())
    rows = [row for row in rows if _is_asked_for(row, query)]
    ranked = {row.id: _value(row, label, score) for row in rows}
    rows = _sorted(rows, ranked, query)
    number, best = len(rows), sorted(rows, key=lambda one: -(ranked[one.id] or 0))[:TESTED]
    rows = rows[after : after + most]
    tests = (
        bench.shelf.ties(gold, sorted(best, key=lambda one: one.id), score) if not label and not each else {}
    )
    brackets = _brackets([row.id for row in rows], tests)
    shapes = shapes_of(bench, gold)
    bounds = [
        (bench.shelf.interval(row, score) or (None, None)) if not label else (None, None) for row in rows
    ]
    axis = Axis.of([*(bound for pair in bounds for bound in pair), *(ranked[row.id] for row in rows)])
    named = {one.id: one.result.system for one in (*rows, *best)}
    history_of: dict[str, list[PooledRuns]] = {}
    for one in every:
        history_of.setdefault(one.result.system, []).append(one)
    board_rows = []
    for index, one in enumerate(rows):
        own = history_of[one.result.system]
        test = _test_of_change(bench, gold, one, own, score) if changes and not label else None
        tied = tuple(
            named[b if a == one.id else a]
            for (a, b), test in tests.items()
            if one.id in (a, b) and is_tie(test)
        )
        board_rows.append(
            BoardRow(
                result=one.result,
                runs=len(one.runs),
                deviation=one.deviation(score),
                shape=shapes[one.result.system],
                values={score: ranked[one.id]} if label else one.scores,
                low=bounds[index][0],
                high=bounds[index][1],
                tied=tied,
                brackets=tuple(column[index] for column in brackets),
                line=_sparkline([other.score(score) for other in own]),
                change=None if test is None else test.difference,
                significant=test is not None and test.p is not None and test.p < LEVEL,
                results=sum(len(other.runs) for other in own),
            )
        )
    return board_rows, axis, number


def _is_asked_for(one: PooledRuns, query: BoardQuery) -> bool:
    """Whether a row holds the words and the tag that were asked for."""
    name, _, value = query.tag.partition(":")
    return (not query.q or query.q.casefold() in _words(one).casefold()) and (
        not query.tag or any(run.board.tags.get(name) == value for run in one.runs)
    )


def _sorted(
    rows: Sequence[PooledRuns], ranked: Mapping[int, float | None], query: BoardQuery
) -> list[PooledRuns]:
    """The rows in the order asked for; by a score, those that have none come last or first."""
    key, falling = query.sort.lstrip("-"), query.sort.startswith("-")
    if key == "system":
        return sorted(rows, key=lambda one: one.result.system, reverse=falling)
    if key == "made_at":
        return sorted(rows, key=lambda one: one.id, reverse=falling)
    by = ranked if key == query.score or query.label else {row.id: row.score(key) for row in rows}
    return sorted(
        rows, key=lambda one: (by[one.id] is None, -(by[one.id] or 0), one.result.system), reverse=not falling
    )


def _test_of_change(
    bench: Bench, gold: Gold, one: PooledRuns, own: Sequence[PooledRuns], score: str
) -> ScoreTest | None:
    """The test of a row against the result before it of the same system; None where it is the first."""
    before = next((other for other in reversed(own) if other.id < one.id), None)
    if before is None:
        return None
    pair = (one.id, before.id)
    return bench.shelf.tests(gold, [one, before], [pair], score).get(pair)


def shapes_of(bench: Bench, gold: Gold) -> dict[str, int]:
    """The colour and shape of each system: the same on every page."""
    names = dict.fromkeys(result.system for result in bench.store.results(gold.slug))
    indexed = bench.shelf.indexed(gold)
    names |= dict.fromkeys(indexed.index.systems if indexed is not None else ())
    return {name: index % SHAPES for index, name in enumerate(names)}


def is_tie(test: ScoreTest) -> bool:
    """Whether a paired test does not tell two systems apart."""
    return not test.significant


def _value(one: PooledRuns, label: str, score: str) -> float | None:
    """What ranks a row: a score, or the F1 of a label."""
    return one.mean([run.board.labels.get(label) for run in one.runs]) if label else one.score(score)


def column_name(column: str) -> str:
    """The heading of a column of the leaderboard."""
    if column == "tough/UNSEEN-ANY":
        return "new names R"
    return SHORT.get(column) or f"{words.tough(column.removeprefix('tough/'))} R"


def _words(one: PooledRuns) -> str:
    """What the search field of the board looks into."""
    return " ".join([one.result.system, *(value for run in one.runs for value in run.board.tags.values())])


def _brackets(order: Sequence[int], tests: Mapping[tuple[int, int], ScoreTest]) -> list[list[str]]:
    """Runs of neighbours of which no two are told apart, the longest that there are, one column each."""
    tied = {pair for (a, b), test in tests.items() if is_tie(test) for pair in ((a, b), (b, a))}
    runs: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and all(
            (one, order[last + 1]) in tied for one in order[first : last + 1]
        ):
            last += 1
        if last > first and not any(a <= first and last <= b for a, b in runs):
            runs.append((first, last))
    columns: list[list[str]] = []
    for first, last in runs[:6]:
        column = next((column for column in columns if not any(column[first : last + 1])), None)
        if column is None:
            column = [""] * len(order)
            columns.append(column)
        column[first : last + 1] = ["start", *["mid"] * (last - first - 1), "end"]
    return columns


def _sparkline(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None][-20:]
    if len(known) < 2:
        return ""
    low, high = min(known), max(known)
    span = (high - low) or 1.0
    return " ".join(
        f"{round(2 + 86 * index / (len(known) - 1), 1)},{round(20 - 16 * (value - low) / span, 1)}"
        for index, value in enumerate(known)
    )


class Point(Struct, frozen=True):
    """One result in the history of a system."""

    x: float
    y: float
    low: float
    high: float
    result: Result  # the newest run
    runs: int
    value: float | None
    interval: tuple[float | None, float | None] | None
    name: str  # what the axis shows
    change: float | None
    p: float | None
    fell: bool


class Track(Struct, frozen=True):
    """The history of one system."""

    system: str
    shape: int
    points: tuple[Point, ...]

    label: float  # where its name is drawn, clear of the others

    @property
    def path(self) -> str:
        """The corners of the line."""
        return " ".join(f"{point.x},{point.y}" for point in self.points)

    @property
    def band(self) -> str:
        """The corners of the band of the intervals."""
        there = [f"{point.x},{point.high}" for point in self.points]
        return " ".join([*there, *(f"{point.x},{point.low}" for point in reversed(self.points))])


def history(
    bench: Bench, gold: Gold, systems: Sequence[str], by: str, score: str
) -> tuple[list[Track], Axis, list[str]]:
    """The history of a score of some systems; a drop is marked only where the paired test says so.

    Of each system the latest points are given, at most `POINTS` of all systems together.
    """
    every = bench.store.results(gold.slug)
    of: dict[str, list[PooledRuns]] = {name: [] for name in systems}
    for one in pooled([one for one in every if one.system in of]):
        of[one.result.system].append(one)
    most = max(POINTS // max(len(of), 1), 2)
    chosen = sorted((one for own in of.values() for one in own[-most:]), key=lambda one: one.id)
    names = list(dict.fromkeys(_step(one.result, by) for one in chosen))
    if by == "epoch":
        names.sort(key=lambda text: (not text.isdecimal(), int(text) if text.isdecimal() else 0, text))
    bounds = [bound for one in chosen for bound in (bench.shelf.interval(one, score) or ())]
    axis = Axis.of([*bounds, *(one.score(score) for one in chosen)])
    shapes = shapes_of(bench, gold)
    tracks = []
    for system in systems:
        own = sorted(
            (one for one in chosen if one.result.system == system),
            key=lambda one: names.index(_step(one.result, by)),
        )
        points: list[Point] = []
        for index, one in enumerate(own):
            value, interval = one.score(score), bench.shelf.interval(one, score)
            low, high = interval or (value, value)
            test = None
            if index:
                pair = (one.id, own[index - 1].id)
                test = bench.shelf.tests(gold, [one, own[index - 1]], [pair], score).get(pair)
            fell = test is not None and (test.difference or 0) < 0 and test.p is not None and test.p < LEVEL
            x = 40 + 880 * (names.index(_step(one.result, by)) + 0.5) / max(len(names), 1)
            value_at, low_at, high_at = (
                round(250 - 2.3 * axis.at(number), 1) for number in (value, low, high)
            )
            points.append(
                Point(
                    x=round(x, 1),
                    y=value_at,
                    low=low_at,
                    high=high_at,
                    result=one.result,
                    runs=len(one.runs),
                    value=value,
                    interval=interval,
                    name=_step(one.result, by),
                    change=None if test is None else test.difference,
                    p=None if test is None else test.p,
                    fell=fell,
                )
            )
        if points:
            tracks.append(Track(system, shapes[system], tuple(points), points[-1].y))
    return _labelled(tracks), axis, names


def _labelled(tracks: Sequence[Track]) -> list[Track]:
    """The tracks with their names one below the other where they end at nearly the same height."""
    place: dict[str, float] = {}
    lowest: dict[float, float] = {}  # by the step at which tracks end
    for one in sorted(tracks, key=lambda track: track.label):
        x = one.points[-1].x
        place[one.system] = lowest[x] = max(one.label, lowest.get(x, -HEIGHT) + HEIGHT)
    return [replace(track, label=round(place[track.system], 1)) for track in tracks]


def _step(one: Result, by: str) -> str:
    import datetime

    if by in one.board.tags:
        return one.board.tags[by]
    moment = datetime.datetime.fromtimestamp(one.board.made_at, tz=datetime.UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S" if by == "date" else "%m-%d %H:%M:%S")


def tested_rows(scores: Sequence[ScoreTest]) -> list[ScoreTest]:
    """The slices of a comparison, the widest difference first."""
    rows = [row for row in scores if row.difference is not None and _of_slice(row)]
    return sorted(rows, key=lambda row: -(row.difference or 0))[:200]


def _of_slice(row: ScoreTest) -> bool:
    return row.path[0] in ("attributes", "tough") or "labels" in row.path


def slice_name(buckets: Mapping[tuple[str, str], str], row: ScoreTest) -> str:
    """A slice as a comparison names it, with the words of `buckets` for what a bucket holds."""
    match row.path:
        case ("tough", subset, *_):
            return words.tough(subset)
        case ("attributes", attribute, bucket, *_):
            held = buckets.get((attribute, bucket))
            named = f"{words.attribute(attribute)} {bucket}"
            return f"{named}: {held}" if held and held != bucket else named
    return " ".join(part for part in row.path[:-1] if part not in ("exact", "labels", "overall"))


def mentions_of(row: ScoreTest) -> int | None:
    """The gold mentions of a tested score."""
    return None if row.mentions is UNSET else row.mentions


class LeadStep(Struct, frozen=True):
    """A part of a lead, drawn from where the parts before it end."""

    name: str
    contribution: float
    start: float
    end: float


def lead_divisions(bench: Bench, a: Result, b: Result) -> dict[str, tuple[LeadPart, ...]]:
    """By label, tough subset and attribute the parts whose contributions add up to the difference of F1."""
    first, second = (bench.shelf.document(one).systems[one.system] for one in (a, b))
    return parts_of_lead(first, second)


def lead_steps(
    parts: Sequence[LeadPart], division: str, buckets: Mapping[tuple[str, str], str]
) -> tuple[list[LeadStep], Axis]:
    """The parts of a lead, the largest first, one after the other; and the scale they are drawn on."""
    steps: list[LeadStep] = []
    for part in sorted(parts, key=lambda one: -one.contribution):
        start = steps[-1].end if steps else 0.0
        name = _part_name(division, part.name, buckets)
        steps.append(LeadStep(name, part.contribution, start, start + part.contribution))
    return steps, Axis.of([0.0, *(step.end for step in steps)])


def _part_name(division: str, name: str, buckets: Mapping[tuple[str, str], str]) -> str:
    if division == "tough":
        return "predicted mentions" if name == PREDICTED else words.tough(name)
    held = buckets.get((division, name))
    return f"{name}: {held}" if held and held != name else name
