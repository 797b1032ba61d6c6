"""The data shown on pages: leaderboard rows with their ties, points of a history, rows of a comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import UNSET, Struct
from msgspec.structs import replace
from starlette.datastructures import QueryParams

from spanwise.diagnosis import PREDICTED, lead_over_runs, lettering, letters
from spanwise.document.scores import PRIMARY, Comparison, LeadPart, ScoreTest
from spanwise.rates import LEAK_RATES
from spanwise.settings import CORRECTION
from spanwise.views import wording as words
from spanwise.workbench.bench import Bench
from spanwise.workbench.standings import Step, is_tie, newest_pools, reference_of, standing, step_of
from spanwise.workbench.store import LEAK_RATE, Bounds, Gold, PooledRuns, Result, pooled

SHAPES = 6
BOARD_ROWS = 40  # per page, which keeps a page below 120 KB
POINTS = 240  # drawn in a history
HEIGHT = 14.0  # of a track's name
FEW_MENTIONS = 30  # slices with fewer mentions do not influence the scale of a plot
SHORT = {"f1": "F1", "precision": "P", "recall": "R", "macro": "macro F1", "fair": "fair F1"} | {
    LEAK_RATE: LEAK_RATES[LEAK_RATE].words
}
COLUMNS = (
    "precision",
    "recall",
    "fair",
    "tough/UNSEEN-ANY",
    LEAK_RATE,
)  # shown next to the score that ranks systems


class Axis(Struct, frozen=True):
    """A scale from `low` to `high`, mapped to positions from 0 to 100."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Axis:
        """A scale that covers the values, with a small margin."""
        defined = [value for value in values if value is not None]
        if not defined:
            return cls(0.0, 1.0)
        low, high = min(defined), max(defined)
        room = max((high - low) * 0.08, 0.005)
        return cls(low - room, high + room)

    @classmethod
    def around(cls, rows: Sequence[ScoreTest]) -> Axis:
        """A scale of differences that includes 0; intervals of slices with few mentions may exceed it."""
        many = [row for row in rows if (mentions_of(row) or 0) >= FEW_MENTIONS] or rows
        ends = [end for row in many for end in (*(row.interval or ()), row.difference)]
        return cls.of([0.0, *ends])

    def at(self, value: float | None) -> float:
        """The position of a value, clipped to 0 to 100."""
        if value is None:
            return 0.0
        return min(max(round(100 * (value - self.low) / (self.high - self.low), 2), 0.0), 100.0)

    def ticks(self, number: int = 3) -> list[float]:
        """Round values on the scale, for its tick marks."""
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
    tied: tuple[str, ...]  # the systems that it cannot be told apart from
    letter: str  # of the system; empty if it was not tested
    letters: str  # of the systems that it is significantly better than
    brackets: tuple[str, ...]  # "", "start", "mid" or "end" for each bracket
    line: str  # the points of the history, for a sparkline
    change: float | None  # from the previous result of the system
    since: float | None  # from the reference of its history
    fall: Step | None  # the latest step of its history, if the score fell significantly
    results: int


class BoardQuery(Struct, frozen=True, kw_only=True):
    """The query parameters of the leaderboard."""

    score: str
    sort: str
    q: str = ""
    tag: str = ""
    label: str = ""
    each: bool = False
    columns: tuple[str, ...] = ()
    available: tuple[str, ...] = ()  # available columns
    after: int = 0


def board_query(bench: Bench, gold: Gold, params: QueryParams) -> BoardQuery:
    """Parse the query parameters of the leaderboard; unknown columns and labels are ignored."""
    score = bench.score(gold, params.get("score", ""))
    results = bench.store.results(gold.slug)
    available = tuple(
        dict.fromkeys([*PRIMARY, *(name for result in results for name in result.board.scores)])
    )
    sort, label, after = (params.get(name, "") for name in ("sort", "label", "after"))
    requested = [name for text in params.getlist("columns") for name in text.split(",") if name in available]
    columns = requested or [name for name in COLUMNS if name in available]
    return BoardQuery(
        score=score,
        sort=sort if sort.lstrip("-") in (*available, "system", "made_at") else f"-{score}",
        q=params.get("q", ""),
        tag=params.get("tag", ""),
        label=label if label in gold.labels else "",
        each=params.get("runs") == "each",
        columns=tuple(dict.fromkeys(column for column in columns if column != score)),
        available=available,
        after=int(after) if re.fullmatch(r"\d{1,9}", after) else 0,
    )


def board(
    bench: Bench, gold: Gold, query: BoardQuery, *, most: int = BOARD_ROWS, changes: bool = True
) -> tuple[list[BoardRow], Axis, int]:
    """Return up to `most` sorted and filtered rows of the leaderboard, their axis and the total row count.

    Systems are ranked by a score, or by the F1 of a label. The twenty best are tested against each other, as
    one family whichever rows a filter shows, and with `changes` each row is the latest step of the history of
    its system.
    """
    label, each, score, after = query.label, query.each, query.score, query.after
    current = [result for result in bench.store.results(gold.slug) if not result.gone]
    pools = [PooledRuns((result,)) for result in current] if each else pooled(current)
    newest = {pool.result.system: pool for pool in pools}
    rows = list(reversed(pools)) if each else list(newest.values())
    rows = [row for row in rows if _matches(row, query)]
    ranked = {row.id: _value(row, label, score) for row in rows}
    rows = _sorted(rows, ranked, query)
    number = len(rows)
    rows = rows[after : after + most]
    tests = standing(bench, gold, score) if not label and not each else {}
    tested = {pool.id: pool for pool in newest.values()}
    ids = dict.fromkeys(one for pair in tests for one in pair)
    means = {str(one): tested[one].score(score) for one in ids}
    letter, better = lettering(means), letters(means, tests.values(), path=PRIMARY[score])
    brackets = _brackets([row.id for row in rows], tests)
    shapes = shapes_of(bench, gold)
    bounds = [
        (bench.shelf.interval(row, score) or (None, None)) if not label else (None, None) for row in rows
    ]
    axis = Axis.of([*(bound for pair in bounds for bound in pair), *(ranked[row.id] for row in rows)])
    names = {pool.id: pool.result.system for pool in (*rows, *newest.values())}
    history_of: dict[str, list[PooledRuns]] = {}
    for pool in pooled(bench.store.results(gold.slug)):
        history_of.setdefault(pool.result.system, []).append(pool)
    board_rows = []
    for index, pool in enumerate(rows):
        own = history_of[pool.result.system]
        at = [other.id for other in own].index(pool.id) if not each else 0
        step = step_of(bench, gold, own, at, score) if changes and not label else None
        tied = tuple(
            names[b if a == pool.id else a]
            for (a, b), test in tests.items()
            if pool.id in (a, b) and is_tie(test)
        )
        board_rows.append(
            BoardRow(
                result=pool.result,
                runs=len(pool.runs),
                deviation=pool.deviation(score),
                shape=shapes[pool.result.system],
                values={score: ranked[pool.id]} if label else pool.scores,
                low=bounds[index][0],
                high=bounds[index][1],
                tied=tied,
                letter=letter.get(str(pool.id), ""),
                letters=better.get(str(pool.id), ""),
                brackets=tuple(column[index] for column in brackets),
                line=_sparkline([other.score(score) for other in own]),
                change=None if step is None else step.change,
                since=None if step is None else step.since,
                fall=step if step is not None and (step.fell or step.fell_since) else None,
                results=sum(len(other.runs) for other in own),
            )
        )
    return board_rows, axis, number


def _matches(pool: PooledRuns, query: BoardQuery) -> bool:
    """Whether a row matches the search words and the tag of a query."""
    name, _, value = query.tag.partition(":")
    return (not query.q or query.q.casefold() in _words(pool).casefold()) and (
        not query.tag or any(run.board.tags.get(name) == value for run in pool.runs)
    )


def _sorted(
    rows: Sequence[PooledRuns], ranked: Mapping[int, float | None], query: BoardQuery
) -> list[PooledRuns]:
    """The rows in the requested order; rows without the score come last, or first if ascending."""
    key, falling = query.sort.lstrip("-"), query.sort.startswith("-")
    if key == "system":
        return sorted(rows, key=lambda row: row.result.system, reverse=falling)
    if key == "made_at":
        return sorted(rows, key=lambda row: row.id, reverse=falling)
    by = ranked if key == query.score or query.label else {row.id: row.score(key) for row in rows}
    return sorted(
        rows, key=lambda row: (by[row.id] is None, -(by[row.id] or 0), row.result.system), reverse=not falling
    )


class LeaderboardRow(Struct, frozen=True, kw_only=True):
    """A system on the leaderboard, with the mean scores of its runs.

    `letters` are the letters of the systems that it is significantly better than.
    """

    id: int
    system: str
    runs: int
    scores: Mapping[str, float | None]
    interval: Bounds | None
    deviation: float | None
    letter: str
    letters: str
    cannot_be_told_apart_from: tuple[str, ...]


class TestedPair(Struct, frozen=True, kw_only=True):
    """The test of two systems: the difference of their means, `a` minus `b`, p corrected over all pairs."""

    a: str
    b: str
    difference: float | None
    interval: tuple[float | None, float | None] | None
    p: float | None
    p_corrected: float | None
    significant: bool
    test: str | None
    runs: tuple[int, ...]


class Leaderboard(Struct, frozen=True, kw_only=True):
    """The systems of one gold set, best first, and the tests of all pairs of the best twenty.

    `tested` is the number of systems in these pairs; systems beyond them have no letter. Scores are means
    over runs, and intervals are of the score that ranks the systems.
    """

    gold: str
    score: str
    unit: str
    units: int
    correction: str
    tested: int  # systems that were tested against each other
    rows: tuple[LeaderboardRow, ...]
    pairs: tuple[TestedPair, ...]


def leaderboard_of(bench: Bench, gold: Gold, query: BoardQuery) -> Leaderboard:
    """The leaderboard as the page shows it, with the tests behind its letters."""
    rows, _, _ = board(bench, gold, query, changes=False)
    shown = {row.result.id: row.result.system for row in rows}
    tests: Mapping[tuple[int, int], Comparison] = {}
    if not query.label and not query.each:
        shown |= {pool.id: pool.result.system for pool in newest_pools(bench, gold)}
        tests = standing(bench, gold, query.score)
    return Leaderboard(
        gold=gold.slug,
        score=query.score,
        unit=gold.unit,
        units=gold.units,
        correction=CORRECTION,
        tested=len({number for pair in tests for number in pair}),
        rows=tuple(
            LeaderboardRow(
                id=row.result.id,
                system=row.result.system,
                runs=row.runs,
                scores=row.values,
                interval=None if row.low is None else (row.low, row.high),
                deviation=row.deviation,
                letter=row.letter,
                letters=row.letters,
                cannot_be_told_apart_from=row.tied,
            )
            for row in rows
        ),
        pairs=tuple(
            TestedPair(
                a=shown[a],
                b=shown[b],
                difference=row.difference,
                interval=row.interval,
                p=row.p,
                p_corrected=row.p_corrected,
                significant=row.significant,
                test=comparison.test or None,
                runs=comparison.runs,
            )
            for (a, b), comparison in tests.items()
            for row in [comparison.primary]
            if row is not None
        ),
    )


def shapes_of(bench: Bench, gold: Gold) -> dict[str, int]:
    """The colour and shape of each system, which are the same on every page."""
    names = dict.fromkeys(result.system for result in bench.store.results(gold.slug))
    indexed = bench.shelf.indexed(gold)
    names |= dict.fromkeys(indexed.index.systems if indexed is not None else ())
    return {name: index % SHAPES for index, name in enumerate(names)}


def _value(pool: PooledRuns, label: str, score: str) -> float | None:
    """The value that ranks a row: a score, or the F1 of a label."""
    return pool.mean([run.board.labels.get(label) for run in pool.runs]) if label else pool.score(score)


def column_name(column: str) -> str:
    """The heading of a column of the leaderboard."""
    if column == "tough/UNSEEN-ANY":
        return "new names R"
    return SHORT.get(column) or f"{words.tough(column.removeprefix('tough/'))} R"


def _words(pool: PooledRuns) -> str:
    """The text that the search field of the leaderboard matches."""
    return " ".join([pool.result.system, *(value for run in pool.runs for value in run.board.tags.values())])


def _brackets(order: Sequence[int], tests: Mapping[tuple[int, int], Comparison]) -> list[list[str]]:
    """The maximal runs of adjacent rows that are all tied with each other, packed into columns."""
    tied = {pair for (a, b), test in tests.items() if is_tie(test) for pair in ((a, b), (b, a))}
    runs: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and all(
            (row, order[last + 1]) in tied for row in order[first : last + 1]
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
    defined = [value for value in values if value is not None][-20:]
    if len(defined) < 2:
        return ""
    low, high = min(defined), max(defined)
    span = (high - low) or 1.0
    return " ".join(
        f"{round(2 + 86 * index / (len(defined) - 1), 1)},{round(20 - 16 * (value - low) / span, 1)}"
        for index, value in enumerate(defined)
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
    name: str  # the label on the axis
    step: Step
    reference: bool  # whether it is the result that the others are compared with


class Track(Struct, frozen=True):
    """The history of one system."""

    system: str
    shape: int
    points: tuple[Point, ...]

    label: float  # the height of its name, placed so that names do not overlap

    @property
    def path(self) -> str:
        """The SVG points of the line."""
        return " ".join(f"{point.x},{point.y}" for point in self.points)

    @property
    def band(self) -> str:
        """The SVG points of the band that the intervals form."""
        upper = [f"{point.x},{point.high}" for point in self.points]
        return " ".join([*upper, *(f"{point.x},{point.low}" for point in reversed(self.points))])


def history(
    bench: Bench, gold: Gold, systems: Sequence[str], by: str, score: str
) -> tuple[list[Track], Axis, list[str]]:
    """The history of a score for several systems; only falls that are significant are marked.

    Each system is limited to its latest points, about `POINTS` in total.
    """
    results = bench.store.results(gold.slug)
    pools_of: dict[str, list[PooledRuns]] = {name: [] for name in systems}
    for pool in pooled([result for result in results if result.system in pools_of]):
        pools_of[pool.result.system].append(pool)
    most = max(POINTS // max(len(pools_of), 1), 2)
    every = sorted((pool for own in pools_of.values() for pool in own), key=lambda pool: pool.id)
    order = list(dict.fromkeys(_step(pool.result, by) for pool in every))
    if by == "epoch":
        order.sort(key=lambda text: (not text.isdecimal(), int(text) if text.isdecimal() else 0, text))
    for own in pools_of.values():
        own.sort(key=lambda pool: order.index(_step(pool.result, by)))
    chosen = [pool for own in pools_of.values() for pool in own[-most:]]
    drawn = {_step(pool.result, by) for pool in chosen}
    names = [name for name in order if name in drawn]
    bounds = [bound for pool in chosen for bound in (bench.shelf.interval(pool, score) or ())]
    axis = Axis.of([*bounds, *(pool.score(score) for pool in chosen)])
    shapes = shapes_of(bench, gold)
    tracks = []
    for system in systems:
        own = pools_of[system]
        base = reference_of(bench, gold, own) if own else 0
        points: list[Point] = []
        for index, pool in list(enumerate(own))[-most:]:
            value, interval = pool.score(score), bench.shelf.interval(pool, score)
            low, high = interval or (value, value)
            x = 40 + 880 * (names.index(_step(pool.result, by)) + 0.5) / max(len(names), 1)
            value_at, low_at, high_at = (
                round(250 - 2.3 * axis.at(number), 1) for number in (value, low, high)
            )
            points.append(
                Point(
                    x=round(x, 1),
                    y=value_at,
                    low=low_at,
                    high=high_at,
                    result=pool.result,
                    runs=len(pool.runs),
                    value=value,
                    interval=interval,
                    name=_step(pool.result, by),
                    step=step_of(bench, gold, own, index, score),
                    reference=index == base and len(own) > 1,
                )
            )
        if points:
            tracks.append(Track(system, shapes[system], tuple(points), points[-1].y))
    return _labelled(tracks), axis, names


def _labelled(tracks: Sequence[Track]) -> list[Track]:
    """Move the names of tracks that end at nearly the same height so that they do not overlap."""
    heights: dict[str, float] = {}
    lowest: dict[float, float] = {}  # by the x position where tracks end
    for track in sorted(tracks, key=lambda track: track.label):
        x = track.points[-1].x
        heights[track.system] = lowest[x] = max(track.label, lowest.get(x, -HEIGHT) + HEIGHT)
    return [replace(track, label=round(heights[track.system], 1)) for track in tracks]


def _step(result: Result, by: str) -> str:
    import datetime

    if by in result.board.tags:
        return result.board.tags[by]
    moment = datetime.datetime.fromtimestamp(result.board.made_at, tz=datetime.UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S" if by == "date" else "%m-%d %H:%M:%S")


def tested_rows(scores: Sequence[ScoreTest]) -> list[ScoreTest]:
    """The slices of a comparison, ordered from the first system's largest lead to the second's."""
    rows = [row for row in scores if row.difference is not None and _of_slice(row)]
    return sorted(rows, key=lambda row: -(row.difference or 0))[:200]


def _of_slice(row: ScoreTest) -> bool:
    return row.path[0] in ("attributes", "tough") or "labels" in row.path


def slice_name(buckets: Mapping[tuple[str, str], str], row: ScoreTest) -> str:
    """The title of a slice in a comparison, with the bucket's description from `buckets`."""
    match row.path:
        case ("tough", subset, *_):
            return words.tough(subset)
        case ("attributes", attribute, bucket, *_):
            description = buckets.get((attribute, bucket))
            title = f"{words.attribute(attribute)} {bucket}"
            return f"{title}: {description}" if description and description != bucket else title
    return " ".join(part for part in row.path[:-1] if part not in ("exact", "labels", "overall"))


def mentions_of(row: ScoreTest) -> int | None:
    """The number of gold mentions behind a tested score, or None if it is unknown."""
    return None if row.mentions is UNSET else row.mentions


class LeadStep(Struct, frozen=True):
    """A part of a lead, drawn from the end of the part before it."""

    name: str
    contribution: float
    start: float
    end: float


def lead_divisions(bench: Bench, a: PooledRuns, b: PooledRuns) -> dict[str, tuple[LeadPart, ...]]:
    """The parts whose contributions sum to the difference in F1: by label, tough subset and attribute."""
    first, second = ([bench.shelf.document(run).systems[run.system] for run in pool.runs] for pool in (a, b))
    return lead_over_runs(first, second)


def lead_steps(
    parts: Sequence[LeadPart], division: str, buckets: Mapping[tuple[str, str], str]
) -> tuple[list[LeadStep], Axis]:
    """The parts of a lead as consecutive steps, largest first, and the scale they are drawn on."""
    steps: list[LeadStep] = []
    for part in sorted(parts, key=lambda part: -part.contribution):
        start = steps[-1].end if steps else 0.0
        name = _part_name(division, part.name, buckets)
        steps.append(LeadStep(name, part.contribution, start, start + part.contribution))
    return steps, Axis.of([0.0, *(step.end for step in steps)])


def _part_name(division: str, name: str, buckets: Mapping[tuple[str, str], str]) -> str:
    if division == "tough":
        return "predicted mentions" if name == PREDICTED else words.tough(name)
    description = buckets.get((division, name))
    return f"{name}: {description}" if description and description != name else name
