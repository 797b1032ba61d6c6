"""The home page with several gold sets: every system on every gold set, and who leads where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from starlette.datastructures import QueryParams

from spanwise.averages import spread
from spanwise.diagnosis import lettering
from spanwise.views import wording as words
from spanwise.views.sentences import NOT_APART
from spanwise.workbench.bench import Bench
from spanwise.workbench.board import SHAPES, BoardRow, board, board_query
from spanwise.workbench.store import Gold
from spanwise.workbench.thresholds import GateAnswer, gate_answer

MOST_SYSTEMS = 40
MOST_STEPS = 80  # cells up to which each one is compared with its reference, which takes time


class SystemOnGold(Struct, frozen=True):
    """The latest result of a system on one gold set."""

    row: BoardRow
    score: float | None
    letters: str  # of the systems there that it is significantly better than


class SystemLine(Struct, frozen=True):
    """A system on every gold set; its letter and its shape are the same on all of them."""

    name: str
    letter: str
    shape: int
    cells: Sequence[SystemOnGold | None]
    average: float | None  # over the gold sets, if it has a score on all


class GoldColumn(Struct, frozen=True):
    """A gold set: who leads there, and whether the leader passes the thresholds of the folder."""

    gold: Gold
    title: str
    leader: str
    said: str  # what the tests say about the leader, after its name
    alone: bool  # it is better than all others
    gate: GateAnswer | None


class Overview(Struct, frozen=True):
    """What the home page shows."""

    columns: Sequence[GoldColumn]
    lines: Sequence[SystemLine]
    left: int  # systems that are not shown
    headline: str


def overview(bench: Bench) -> Overview:
    """The board of systems and gold sets, the system with the highest average first."""
    golds = bench.store.golds()
    boards = {gold.slug: _rows(bench, gold, changes=False) for gold in golds}
    if sum(map(len, boards.values())) <= MOST_STEPS:
        boards = {gold.slug: _rows(bench, gold, changes=True) for gold in golds}
    scored = {gold.slug: bench.score(gold) for gold in golds}
    systems = list(dict.fromkeys(name for rows in boards.values() for name in rows))
    averages = {name: _average(boards, scored, name) for name in systems}
    first = {name: number for number, name in enumerate(systems)}
    order = sorted(systems, key=lambda name: (averages[name] is None, -(averages[name] or 0.0), first[name]))
    signs = lettering({name: float(-place) for place, name in enumerate(order)})
    titles = bench.titles()
    lines = [
        SystemLine(
            name=name,
            letter=signs[name] if len(order) > 1 else "",
            shape=first[name] % SHAPES,
            cells=[_cell(boards[gold.slug], name, scored[gold.slug], signs) for gold in golds],
            average=averages[name],
        )
        for name in order[:MOST_SYSTEMS]
    ]
    columns = [_column(bench, gold, titles, boards[gold.slug], scored[gold.slug]) for gold in golds]
    return Overview(columns, lines, max(len(order) - MOST_SYSTEMS, 0), headline(columns))


def _rows(bench: Bench, gold: Gold, *, changes: bool) -> dict[str, BoardRow]:
    """The latest row of every system for one gold set, the best first."""
    rows, _, _ = board(bench, gold, board_query(bench, gold, QueryParams("")), changes=changes)
    return {row.result.system: row for row in rows}


def _average(
    boards: Mapping[str, Mapping[str, BoardRow]], scored: Mapping[str, str], name: str
) -> float | None:
    scores = [rows[name].values.get(scored[slug]) if name in rows else None for slug, rows in boards.items()]
    return None if None in scores else spread(scores).mean


def _cell(
    rows: Mapping[str, BoardRow], name: str, score: str, signs: Mapping[str, str]
) -> SystemOnGold | None:
    row = rows.get(name)
    if row is None:
        return None
    # The leaderboard of a gold set has letters of its own.
    named = {other.letter: signs[other.result.system] for other in rows.values() if other.letter}
    letters = "".join(sorted(named[sign] for sign in row.letters if sign in named))
    return SystemOnGold(row, row.values.get(score), letters)


def _column(
    bench: Bench, gold: Gold, titles: Mapping[str, str], rows: Mapping[str, BoardRow], score: str
) -> GoldColumn:
    title = titles[gold.slug]
    lead = next(iter(rows.values()), None)
    if lead is None or lead.values.get(score) is None:
        return GoldColumn(gold, title, "", "no scores", alone=False, gate=None)
    leader = lead.result.system
    alone = len(rows) > 1 and len(lead.letters) == len(rows) - 1
    answer = gate_answer(bench, gold, [lead.result])
    return GoldColumn(
        gold, title, leader, _standing(lead, len(rows), alone=alone), alone, answer if answer.checks else None
    )


def _standing(lead: BoardRow, systems: int, *, alone: bool) -> str:
    """What the tests say about the system with the highest score."""
    if systems == 1:
        return " is the only system"
    if alone:
        return " is better than all others"
    if not lead.tied:
        return " has the highest score"
    tied = [words.visible(name) for name in lead.tied]
    named = words.either(tied, "and") if len(tied) < 3 else f"{len(tied)} others"
    return f"{', ' if len(tied) == 2 else ' and '}{named} {NOT_APART}"


def headline(columns: Sequence[GoldColumn]) -> str:
    """Who is better than all others on which gold sets, and where nobody is.

    Examples:
        >>> gold = Gold(slug="a", name="a", sha256="", sentences=1, mentions=1, unit="sentence", units=1)
        >>> sets = [GoldColumn(gold, "news", "bert", "", True, None)]
        >>> sets.append(GoldColumn(gold, "mail", "crf", "", False, None))
        >>> headline(sets)
        'bert is better than all others on news. On mail no system is.'
        >>> headline(sets[1:])
        'No system is better than all others: crf has the highest score on mail.'
    """
    led = [column for column in columns if column.leader]
    if not led:
        return ""
    best: dict[str, list[str]] = {}
    for column in led:
        if column.alone:
            best.setdefault(words.visible(column.leader), []).append(column.title)
    if best:
        parts = [f"{name} is better than all others on {_sets(titles, led)}" for name, titles in best.items()]
        rest = [column.title for column in led if not column.alone]
        return f"{words.either(parts, 'and')}.{f' On {_sets(rest, led)} no system is.' if rest else ''}"
    highest: dict[str, list[str]] = {}
    for column in led:
        highest.setdefault(words.visible(column.leader), []).append(column.title)
    has = "has the highest score "
    named = [
        f"{name} {'' if at else has}on {_sets(titles, led)}"
        for at, (name, titles) in enumerate(highest.items())
    ]
    return f"No system is better than all others: {', '.join(named)}."


def _sets(titles: Sequence[str], led: Sequence[GoldColumn]) -> str:
    if len(titles) == len(led) > 1:
        return f"all {len(led)} gold sets"
    return (
        words.either(list(map(words.visible, titles)), "and")
        if len(titles) < 4
        else f"{len(titles)} gold sets"
    )
