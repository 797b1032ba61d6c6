"""Routes → pages: every view of the workbench, rendered here and never in the browser."""

from __future__ import annotations

import datetime
import mimetypes
import re
import time
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache, partial
from importlib.resources import files
from urllib.parse import quote, urlencode

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from spanwise import __version__
from spanwise.columns import Ints
from spanwise.conditions import SENTENCE, TEXT, TOUGHNESS, Condition, parse
from spanwise.document.scores import PRIMARY
from spanwise.matching import OUTCOMES
from spanwise.reports import _wording as words
from spanwise.slices.index import SliceIndex, unpacked_bits
from spanwise.statistics import LEVEL
from spanwise.workbench.api import (
    answering,
    compared_view,
    in_lane,
    number_of,
    problem,
    retry,
    sentences_of,
    sliced_pair,
    status_of,
    weak,
    words_of,
)
from spanwise.workbench.bench import Bench, NotHere, asker_of, sentence_sha
from spanwise.workbench.board import (
    COLUMNS,
    Axis,
    board,
    board_query,
    column_name,
    history,
    lead_divisions,
    lead_steps,
    mentions_of,
    shapes_of,
    slice_name,
    tested_rows,
)
from spanwise.workbench.drawing import (
    OUTCOME,
    RIGHT,
    WRONG,
    Shown,
    View,
    draw,
    shown_job,
    token_columns,
    view_of,
)
from spanwise.workbench.exports import leaderboard_csv, mentions_csv, mentions_lines
from spanwise.workbench.guard import MOST_ROWS, Refused
from spanwise.workbench.index import TESTED, SliceAnswer
from spanwise.workbench.jobs import OPTIONS
from spanwise.workbench.openapi import OPERATIONS, PREFIX
from spanwise.workbench.store import Gold, Note, Result, Slice, pooled

STATIC = {
    "page.css": ("spanwise.reports.html", ""),
    "workbench.css": ("spanwise.workbench", "static"),
    "icon.svg": ("spanwise.workbench", "static"),
    "workbench.js": ("spanwise.workbench", "static"),
}
FEW = 5  # sentences under a slice
PAGE = 80  # rows of marks that a page of sentences has about
DRAWN = 6  # systems under a sentence unless others are asked for
CHOICES = 60  # results to compare with
LISTED = 24  # systems to choose from
ROWS = 16  # slices of a comparison before the rest is asked for
TRACKS = 12  # systems in one history
SOME = 4  # notes of a kind above the leaderboard


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("spanwise.workbench"), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined,
    )  # fmt: skip
    environment.filters.update(
        points=words.points, signed=words.signed, count=words.count, visible=words.visible,
        interval=words.interval, p=words.p_value, said_p=words.said_p, signed_interval=words.signed_interval,
        attribute=words.attribute, moment=_moment, day=_day, capitalised=words.capital,
    )  # fmt: skip
    environment.globals.update(
        version=__version__, LEVEL=LEVEL, Shown=Shown, SCORES=words.PRIMARY_SCORES, SCORED=words.SCORED
    )
    return environment


def _moment(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC).strftime("%d %b %Y, %H:%M UTC")


def _day(seconds: float) -> str:
    """A moment as short as a table has room for: this year with its hour, before that with its year."""
    at, now = (datetime.datetime.fromtimestamp(one, tz=datetime.UTC) for one in (seconds, time.time()))
    return at.strftime("%d %b, %H:%M" if at.year == now.year else "%d %b %Y")


def routes(bench: Bench) -> list[BaseRoute]:
    """The pages and what they are drawn with; `.json` after the address of a page gives its answer."""
    named = {one.name: one for one in OPERATIONS}
    plain: list[BaseRoute] = [
        Route(path, answering(bench, named[name]), methods=["GET"]) for path, name in JSON_PATHS.items()
    ]
    drawn = [
        Route(path, _page(bench, path, function), methods=["GET"])
        for path, function in (*FILES.items(), *PAGES.items())
    ]
    return [*plain, *drawn]


def _page(
    bench: Bench, path: str, function: Callable[[Bench, Request], Response]
) -> Callable[[Request], object]:
    lane = COSTLY_PAGES.get(path, "")

    async def answer(request: Request) -> Response:
        request.state.pattern = "/index" if path == "/" else path
        try:
            return await in_lane(bench, request, lane, lambda: function(bench, request))
        except Exception as error:  # every error becomes a page with its status
            status = status_of(error)
            slug = request.path_params.get("gold")
            gold = bench.store.gold(slug) if slug else None
            text = words_of(bench, error)
            page = _render(bench, request, "error", gold, status=status, error=text, code=status)
            page.headers.update(retry(status))
            return page

    return answer


def missing(bench: Bench) -> Callable[[Request, Exception], Awaitable[Response]]:
    """The answer at an unknown address, or to an unknown verb."""

    async def answer(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 404)
        text = (
            "there is nothing at this address."
            if status == 404
            else "this address does not support the method."
        )
        if request.url.path.startswith(PREFIX):
            return problem(bench, Refused(status, text))
        return _render(bench, request, "error", None, status=status, error=text, code=status)

    return answer


def _render(
    bench: Bench, request: Request, template: str, gold: Gold | None, *, status: int = 200, **values: object
) -> Response:
    text = (
        _environment()
        .get_template(f"{template}.html.jinja")
        .render(
            page=template,
            gold=gold,
            golds=bench.store.golds(),
            folder=bench.folder.name,
            read_only=bench.read_only,
            stuck=bench.store.stuck,
            event=bench.events.last,
            bundled=bench.bundled,
            answer_at="" if template == "error" else _answer_at(request),
            **values,
        )
    )
    return Response(text, status, media_type="text/html; charset=utf-8")


def _answer_at(request: Request) -> str:
    """The address of what a page shows as JSON; empty where there is none."""
    pattern = getattr(request.state, "pattern", "")
    if f"{pattern}.json" not in JSON_PATHS:
        return ""
    path = "/index" if pattern == "/index" else quote(request.scope["path"])
    return f"{path}.json?{request.url.query}" if request.url.query else f"{path}.json"


def home(bench: Bench, request: Request) -> Response:
    """The choice of gold, or straight to the only one."""
    golds = bench.store.golds()
    if len(golds) == 1 and not bench.bundled:
        return RedirectResponse(f"/g/{golds[0].slug}", 303)
    counts = {gold.slug: len({result.system for result in bench.store.results(gold.slug)}) for gold in golds}
    return _render(bench, request, "home", None, counts=counts, unreadable=_unreadable(bench))


def _unreadable(bench: Bench) -> dict[str, str]:
    """What cannot be read, and why."""
    files = bench.store.files().values()
    return {file.path: file.why or "" for file in files if file.kind == "unreadable"} | bench.faults


def leaderboard(bench: Bench, request: Request) -> Response:
    """All systems over one gold."""
    gold, asked = bench.gold(request.path_params["gold"]), request.query_params
    query = board_query(bench, gold, asked)
    rows, axis, listed = board(bench, gold, query)
    every = bench.store.results(gold.slug)
    further = urlencode(
        [*((k, v) for k, v in asked.multi_items() if k != "after"), ("after", query.after + len(rows))]
    )
    tags = sorted({f"{name}:{value}" for one in every for name, value in one.board.tags.items()})
    here = {one.system for one in every if not one.gone}
    gone = {one.system: one for one in every if one.gone and one.system not in here}
    # The best one of all, whichever the page shows.
    best = replace(query, after=0, sort=f"-{query.score}")
    lead = next(iter(board(bench, gold, best, most=1, changes=False)[0]), None)
    usual = ",".join(one for one in COLUMNS if one in query.known and one != query.score)
    return _render(
        bench, request, "board", gold, rows=rows, axis=axis, query=query, own=bench.score(gold),
        column_name=column_name, tags=tags[:MOST_ROWS], number=len(every), systems=len(here),
        gone=list(gone.values()), lead=lead, unreadable=_unreadable(bench), changed=bench.gold_changed(gold),
        others=bench.other_golds(gold), usual=usual, listed=listed, further=further, some=SOME,
        tested=listed <= TESTED, address=_csv_at(request),
    )  # fmt: skip


def _csv_at(request: Request) -> str:
    """The address of what a page lists as a file with one line per row."""
    kept = [(name, value) for name, value in request.query_params.multi_items() if name != "after"]
    query = f"?{urlencode(kept)}" if kept else ""
    return f"{quote(request.scope['path'])}.csv{query}"


def history_page(bench: Bench, request: Request) -> Response:
    """How systems changed."""
    gold, asked = bench.gold(request.path_params["gold"]), request.query_params
    score = bench.score(gold, asked.get("score", ""))
    best = [one.system for one in bench.latest(gold)]
    known = set(best) | {result.system for result in bench.store.results(gold.slug)}
    wanted = [name for text in asked.getlist("systems") for name in text.split(",") if name in known]
    wanted = list(dict.fromkeys(wanted))[:TRACKS] or _followed(bench, gold, best)
    by = asked.get("by", "commit") if asked.get("by", "commit") in ("commit", "date", "epoch") else "commit"
    q = asked.get("q", "").strip()
    matching = [name for name in best if q.casefold() in name.casefold()]
    tracks, axis, steps = history(bench, gold, wanted, by, score)
    return _render(
        bench, request, "history", gold, tracks=tracks, axis=axis, steps=steps, by=by, score=score, q=q,
        own=bench.score(gold), names=list(dict.fromkeys([*wanted, *matching[:LISTED]])), wanted=wanted,
        left=max(len(known) - LISTED, 0), most=TRACKS,
    )  # fmt: skip


def _followed(bench: Bench, gold: Gold, best: Sequence[str]) -> list[str]:
    """The systems whose history is shown first: the best of those with several results, then the others."""
    several = Counter(one.result.system for one in pooled(bench.store.results(gold.slug)))
    return sorted(best[:MOST_ROWS], key=lambda name: several[name] < 2)[:6]


def choose_pair(bench: Bench, request: Request) -> Response:
    """Two results to be compared: those asked for, or the best two."""
    gold, asked = bench.gold(request.path_params["gold"]), request.query_params.getlist("r")
    rows = bench.latest(gold)
    if len(asked) >= 2:
        return RedirectResponse(
            f"/g/{gold.slug}/compare/{bench.result(asked[0], gold).id}/{bench.result(asked[1], gold).id}", 303
        )
    if len(rows) < 2:
        raise NotHere("there is only one system for this gold file.\nPut another result into the folder.")
    return RedirectResponse(f"/g/{gold.slug}/compare/{rows[0].id}/{rows[1].id}", 303)


def compare_page(bench: Bench, request: Request) -> Response:
    """Two results over one gold."""
    gold = bench.gold(request.path_params["gold"])
    a, b = (bench.result(request.path_params[name], gold) for name in ("a", "b"))
    view = compared_view(bench, request, gold)
    score = bench.score(gold, request.query_params.get("score", ""))
    compared, notes = bench.shelf.comparison(a, b, score)
    rows = tested_rows(compared.scores)
    widest = sorted(rows, key=lambda row: (not row.significant, -abs(row.difference or 0)))[:ROWS]
    table, won = None, None
    indexed = bench.shelf.indexed(gold)
    if indexed is not None and a.system in indexed.index.systems and b.system in indexed.index.systems:
        one, two = (indexed.index.systems[name].outcome for name in (a.system, b.system))
        counts = np.bincount(one.astype(np.int64) * len(OUTCOMES) + two, minlength=len(OUTCOMES) ** 2)
        table = counts.reshape(len(OUTCOMES), -1)
        won = View(
            view.condition, (Shown(OUTCOME, f"{a.system}:{RIGHT}"), Shown(OUTCOME, f"{b.system}:{WRONG}"))
        )
    buckets = bench.shelf.buckets(a)
    divisions = lead_divisions(bench, a, b)
    division = request.query_params.get("parts", "")
    division = (
        division if division in divisions else next((d for d in ("tough", *divisions) if d in divisions), "")
    )
    steps, scale = lead_steps(divisions.get(division, ()), division, buckets)
    main = {name: compared.score(path) for name, path in PRIMARY.items()}
    return _render(
        bench, request, "compare", gold, a=a, b=b, main=main, axis=Axis.around(rows),
        shown=[row for row in rows if row in widest], rest=[row for row in rows if row not in widest],
        test=compared,
        notes=notes, slice_name=partial(slice_name, buckets), mentions_of=mentions_of,
        score=score, shapes=shapes_of(bench, gold), steps=steps, scale=scale, division=division,
        divisions=list(divisions), right=None if table is None else _who_is_right(table),
        results=_to_choose_from(bench, gold, a, b), outcomes=_outcome_table(table), view=view, won=won,
        limited=sliced_pair(bench, request, gold, view, a, b),
        found=won and sentences_of(bench, gold, won, -1, SOME, systems=(a.system, b.system)),
    )  # fmt: skip


def _to_choose_from(bench: Bench, gold: Gold, *chosen: Result) -> list[Result]:
    """The latest results, the newest first, and those that are chosen."""
    newest = [result for result in reversed(bench.store.results(gold.slug)) if not result.gone][:CHOICES]
    return [*(one for one in chosen if one not in newest), *newest]


def _who_is_right(table: Ints) -> dict[str, int]:
    """How many gold mentions both systems get right, only the first, only the second, and neither."""
    both = int(table[0, 0])
    won, lost = int(table[0].sum()) - both, int(table[:, 0].sum()) - both
    return {"both": both, "won": won, "lost": lost, "neither": int(table.sum()) - both - won - lost}


_KINDS = {
    "right": ("TP",),
    "label": ("LE",),
    "boundary": ("BEs", "BEl", "BEo"),
    "both": ("LBE",),
    "missed": ("FN",),
}


def _outcome_table(table: Ints | None) -> dict[str, dict[str, int]] | None:
    if table is None:
        return None
    at = {name: [OUTCOMES.index(one) for one in listed] for name, listed in _KINDS.items()}
    return {one: {two: int(table[np.ix_(at[one], at[two])].sum()) for two in _KINDS} for one in _KINDS}


def slices_page(
    bench: Bench, request: Request, condition: Condition | None = None, saved: Slice | None = None
) -> Response:
    """The slice builder."""
    gold = bench.gold(request.path_params["gold"])
    view = view_of(request.query_params.multi_items())
    if condition is not None:
        view = View(condition, view.shown)
    indexed = bench.indexed(gold)
    answer = bench.shelf.slice(indexed, view.condition)
    looked = bench.look(gold, str(view.condition or ""), asker_of(request))
    order = _best(answer)
    # The test comes as a second request once the scores are on the screen; saved pages have it at once.
    testable, test = len(order) > 1 and answer.mentions > 0, None
    if testable and bench.bundled:
        test = bench.shelf.slice_test(indexed, view.condition, order[0], order[1], looked)
    bounds = [end for system in answer.systems.values() for end in (*(system.interval or ()), system.overall)]
    after = number_of(request, "after", -1, least=-1)
    drawn = _drawn_systems(bench, gold, indexed.index, request)
    points = [] if saved is None else bench.shelf.slice_history(gold, parse(saved.conditions), saved.at)
    page = f"/g/{gold.slug}/slices" if saved is None else f"/g/{gold.slug}/slices/{saved.slug}"
    own = view if saved is None else View(None, view.shown)
    kinds = {name: _kinds(system.outcomes) for name, system in answer.systems.items()}
    return _render(
        bench, request, "slices", gold, address=own.address(page, after), view=view, answer=answer,
        order=order, testable=testable, test=test, looked=looked, points=points, axis=Axis.of(bounds),
        shapes=shapes_of(bench, gold), facets=_facets(indexed.index, answer, view),
        saved=bench.store.slices(gold.slug), current=saved,
        tested_at=View(view.condition).address(f"/g/{gold.slug}/tested"),
        kinds=kinds, most=max((sum(n for _, n in row) for row in kinds.values()), default=0) or 1,
        left=indexed.left,
        found=sentences_of(bench, gold, view, after, FEW, systems=drawn), systems=drawn,
        choices=_choices(drawn),
        typed={name: _words_of(view, name) for name in (TEXT, SENTENCE)},
    )  # fmt: skip


def _kinds(outcomes: Mapping[str, int]) -> list[tuple[str, int]]:
    """How many gold mentions are wrong in each way."""
    said = {"label": "wrong label", "boundary": "wrong boundary", "both": "both", "missed": "missed"}
    return [(words, sum(outcomes.get(one, 0) for one in _KINDS[kind])) for kind, words in said.items()]


def tested_part(bench: Bench, request: Request) -> Response:
    """What the paired test says of the two best systems in a slice: a part of a page, fetched after it."""
    gold = bench.gold(request.path_params["gold"])
    condition = view_of(request.query_params.multi_items()).condition
    indexed = bench.indexed(gold)
    pair = _best(bench.shelf.slice(indexed, condition))[:2]
    looked = bench.look(gold, str(condition or ""), asker_of(request))
    test = bench.shelf.slice_test(indexed, condition, pair[0], pair[1], looked) if len(pair) == 2 else None
    return _render(bench, request, "tested", gold, test=test)


def _best(answer: SliceAnswer) -> list[str]:
    """The systems of a slice, the best first."""
    return sorted(
        answer.systems, key=lambda name: (-(getattr(answer.systems[name], answer.score) or 0), name)
    )


def _words_of(view: View, attribute: str) -> str:
    comparisons = view.condition.comparisons(attribute) if view.condition else ()
    return ",".join(comparisons[0].values) if comparisons and comparisons[0].operator == "=" else ""


class FacetValue(Struct, frozen=True):
    """A value of an attribute, and how many gold mentions have it under all other conditions."""

    name: str
    label: str
    count: int
    share: int  # of the most frequent value, in percent
    checked: bool


class ShownFacet(Struct, frozen=True):
    """An attribute with its values."""

    name: str
    values: tuple[FacetValue, ...]
    open: bool


def _facets(index: SliceIndex, answer: SliceAnswer, view: View) -> list[ShownFacet]:
    """Every attribute with its values, their counts and whether they are chosen."""
    facets = []
    for attribute, counts in answer.facets.items():
        chosen = view.condition.comparisons(attribute) if view.condition else ()
        labels = {name: name for name in counts}
        if attribute != TOUGHNESS:
            labels = {bucket.name: bucket.label or bucket.name for bucket in index.gold.buckets[attribute]}
        most = max([*counts.values(), 1])
        values = tuple(
            FacetValue(
                name,
                labels[name],
                number,
                round(100 * number / most),
                any(name in one.values for one in chosen if one.operator == "="),
            )
            for name, number in counts.items()
            if number or any(name in one.values for one in chosen)
        )
        facets.append(ShownFacet(attribute, values, bool(chosen) or attribute in ("label", TOUGHNESS)))
    return facets


def _choices(systems: list[str]) -> list[tuple[str, str]]:
    """What can choose sentences."""
    return [
        *((f"{name}:wrong", f"{name} wrong") for name in systems),
        ("split", "some right, some wrong"),
        ("wrong", "all wrong"),
    ]


def weak_page(bench: Bench, request: Request) -> Response:
    """The slices on which a system misses most, or on which two systems differ."""
    gold = bench.gold(request.path_params["gold"])
    indexed = bench.indexed(gold)
    found = weak(bench, request, None)
    links = {one.where: View(parse(one.where)).query() for one in found.slices}
    return _render(
        bench, request, "weak", gold, found=found, links=links, names=list(indexed.index.systems),
        shapes=shapes_of(bench, gold),
    )  # fmt: skip


def saved_slice(bench: Bench, request: Request) -> Response:
    """A saved slice."""
    gold = bench.gold(request.path_params["gold"])
    saved = bench.slice(gold, request.path_params["slug"])
    return slices_page(bench, request, parse(saved.conditions), saved)


def sentences_page(bench: Bench, request: Request) -> Response:
    """Sentences of a view, one after the other."""
    gold = bench.gold(request.path_params["gold"])
    view = view_of(request.query_params.multi_items())
    after = number_of(request, "after", -1, least=-1)
    indexed = bench.indexed(gold)
    systems = _drawn_systems(bench, gold, indexed.index, request)
    listed = sentences_of(bench, gold, view, after, PAGE // (len(systems) + 2), systems=systems)
    kept = ",".join(systems) if request.query_params.get("systems") else ""
    return _render(
        bench, request, "sentences", gold, kept=f"&systems={quote(kept, safe=',')}" if kept else "",
        address=view.address(f"/g/{gold.slug}/sentences", after, kept), view=view, found=listed,
        shapes=shapes_of(bench, gold), choices=_choices(systems), systems=systems,
        every=list(indexed.index.systems),
    )  # fmt: skip


def _drawn_systems(bench: Bench, gold: Gold, index: SliceIndex, request: Request) -> list[str]:
    """The systems under a sentence: those asked for, or the best."""
    asked = [name for text in request.query_params.getlist("systems") for name in text.split(",")]
    best = [one.system for one in bench.latest(gold) if one.system in index.systems]
    best += [name for name in index.systems if name not in best]
    return [name for name in asked if name in index.systems][:TRACKS] or best[:DRAWN]


def sentence_page(bench: Bench, request: Request) -> Response:
    """One sentence in its document, with its notes."""
    gold = bench.gold(request.path_params["gold"])
    index = bench.indexed(gold).index
    text = request.path_params["number"]
    if not text.isdecimal() or len(text) > 9 or int(text) >= index.columns.head.sentences:
        raise NotHere(f"there is no sentence {text!r} in this gold file.")
    number, documents = int(text), index.columns.arrays.get("document_of_sentence")
    around = range(max(number - 3, 0), min(number + 4, index.columns.head.sentences))
    if documents is not None:
        own = documents[number]
        around = range(bisect_left(documents, own), bisect_right(documents, own))[:200]
    notes = bench.notes(gold)
    drawn = [draw(index, one, notes=notes) if one == number else None for one in around]
    plain = [" ".join(index.columns.words(one)) for one in around]
    return _render(
        bench, request, "sentence", gold, number=number, around=list(zip(around, plain, drawn, strict=True)),
        shapes=shapes_of(bench, gold), last=index.columns.head.sentences - 1,
    )  # fmt: skip


def worksheet_page(bench: Bench, request: Request) -> Response:
    """All notes, and the scores without the flagged mentions."""
    gold = bench.gold(request.path_params["gold"])
    notes = bench.notes(gold)
    indexed = bench.shelf.indexed(gold)
    loose, texts, without = [], {}, []
    if indexed is not None:
        columns = indexed.index.columns
        for note in notes:
            there = note.sentence < columns.head.sentences
            if not there or sentence_sha(columns, note.sentence) != note.sentence_sha:
                loose.append(note)
                continue
            said = columns.words(note.sentence)
            texts[note.id] = " ".join(said if note.start is None else said[note.start : note.end])
        without = _without(
            indexed.index,
            [note for note in notes if note.id in texts and note.start is not None and note.system is None],
        )
    return _render(
        bench, request, "worksheet", gold, notes=[note for note in notes if note not in loose], loose=loose,
        texts=texts, without=without,
    )  # fmt: skip


def _without(index: SliceIndex, notes: Sequence[Note]) -> list[tuple[str, float | None, float | None]]:
    """Recall of every system, with and without the mentions that notes name."""
    flagged = {(note.sentence, note.start, note.end) for note in notes}
    spans = zip(
        *(index.columns.column("gold", name).tolist() for name in ("sentence", "start", "end")), strict=True
    )
    kept = np.fromiter((span not in flagged for span in spans), bool, index.gold.number)
    rows = []
    for name, system in index.systems.items():
        right = unpacked_bits(system.right, index.gold.number)
        whole = index.counted(None)[name].score("recall")
        rest = float(right[kept].mean()) if kept.any() else None
        rows.append((name, whole, rest))
    return rows


def gate_page(bench: Bench, request: Request) -> Response:
    """What gate.toml and saved slices ask of the latest results."""
    gold = bench.gold(request.path_params["gold"])
    outcome = bench.gate(gold)
    return _render(bench, request, "gate", gold, outcome=outcome)


def evaluate_page(bench: Bench, request: Request) -> Response:
    """Upload and evaluate."""
    gold = bench.gold(request.path_params["gold"])
    jobs = [shown_job(job, gold) for job in bench.store.jobs() if job.gold == gold.slug]
    states = Counter("needs you" if job.ways else job.state for job in jobs)
    made = {
        number[1]: result
        for result in bench.store.results(gold.slug)
        if not result.gone and (number := re.search(r"-(\d+)\.json$", result.path))
    }
    done = {job.id: made[str(job.id)] for job in jobs if job.state == "done" and str(job.id) in made}
    waiting = [job.id for job in reversed(jobs) if job.state == "waiting"]
    return _render(
        bench, request, "evaluate", gold, jobs=jobs, options=OPTIONS, states=states, done=done,
        waiting=waiting, score=bench.score(gold), token_columns=token_columns,
        origin=str(request.base_url).rstrip("/"), where=f"{bench.folder}/",
    )  # fmt: skip


def report_page(bench: Bench, request: Request) -> Response:
    """The report of one result, as it is; it brings its own policy."""
    from spanwise.reports.html.page import policy_of

    one = bench.result(request.path_params["result"])
    text = bench.shelf.report(one)
    headers = {"content-security-policy": f"{policy_of(text)}; frame-ancestors 'none'"}
    return Response(text, media_type="text/html; charset=utf-8", headers=headers)


def settings_page(bench: Bench, request: Request) -> Response:
    """What is set, and how scripts ask."""
    return _render(
        bench, request, "settings", None, origin=str(request.base_url).rstrip("/"), path=str(bench.folder)
    )


def static(bench: Bench, request: Request) -> Response:
    """A stylesheet or script, by name."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise NotHere("there is no such file.")
    text = files(STATIC[name][0]).joinpath(STATIC[name][1], name).read_bytes()
    return Response(text, media_type=mimetypes.guess_type(name)[0] or "text/plain")


PAGES: dict[str, Callable[[Bench, Request], Response]] = {
    "/": home,
    "/g/{gold}": leaderboard,
    "/g/{gold}/history": history_page,
    "/g/{gold}/compare": choose_pair,
    "/g/{gold}/compare/{a}/{b}": compare_page,
    "/g/{gold}/slices": slices_page,
    "/g/{gold}/slices/{slug}": saved_slice,
    "/g/{gold}/tested": tested_part,
    "/g/{gold}/weak": weak_page,
    "/g/{gold}/sentences": sentences_page,
    "/g/{gold}/sentences/{number}": sentence_page,
    "/g/{gold}/worksheet": worksheet_page,
    "/g/{gold}/gate": gate_page,
    "/g/{gold}/evaluate": evaluate_page,
    "/r/{result}": report_page,
    "/settings": settings_page,
    "/static/{name}": static,
}
FILES: dict[str, Callable[[Bench, Request], Response]] = {  # what pages list, to be saved
    "/g/{gold}/sentences.csv": mentions_csv,
    "/g/{gold}/sentences.jsonl": mentions_lines,
    "/g/{gold}.csv": leaderboard_csv,
}
COSTLY_PAGES = {  # pages that are as costly as an answer of the API
    "/g/{gold}": "comparison",
    "/g/{gold}/history": "comparison",
    "/g/{gold}/compare/{a}/{b}": "comparison",
    "/g/{gold}/slices/{slug}": "slice_history",
    "/g/{gold}/tested": "test",
    "/g/{gold}/weak": "weak",
    "/g/{gold}/gate": "gate",
    "/g/{gold}/worksheet": "worksheet",
    "/g/{gold}/sentences.csv": "worksheet",
    "/g/{gold}/sentences.jsonl": "worksheet",
    "/r/{result}": "weak",
}
JSON_PATHS = {  # the answer of the API behind each page
    "/index.json": "golds",
    "/g/{gold}/history.json": "results",
    "/g/{gold}/compare/{a}/{b}.json": "comparison",
    "/g/{gold}/slices.json": "slice",
    "/g/{gold}/slices/{slug}.json": "slice_history",
    "/g/{gold}/weak.json": "weak",
    "/g/{gold}/sentences.json": "mentions",
    "/g/{gold}/sentences/{number}.json": "sentence",
    "/g/{gold}/worksheet.json": "notes",
    "/g/{gold}/gate.json": "gate",
    "/g/{gold}/evaluate.json": "jobs",
    "/g/{gold}.json": "results",
    "/r/{result}.json": "result",
    "/settings.json": "health",
}
PATHS = (*JSON_PATHS, *FILES, *PAGES)  # of all pages
