"""The HTML pages of the workbench and their routes; everything is rendered on the server."""

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
from jinja2 import Environment
from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from spanwise import __version__
from spanwise.bitmaps import unpacked_bits
from spanwise.columns import Ints, ints
from spanwise.conditions import SENTENCE, TEXT, TOUGHNESS, Condition, parse
from spanwise.document.scores import PRIMARY
from spanwise.matching import OUTCOMES
from spanwise.reports.templates import compact_style, environment_of
from spanwise.slices.index import SliceIndex
from spanwise.views import wording as words
from spanwise.views.lookups import clause_words, condition_words
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
    tested_slice,
    weak,
    words_of,
)
from spanwise.workbench.bench import Bench, NoColumns, NotFound, sentence_sha
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
    ChosenView,
    Shown,
    draw,
    shown_document,
    shown_job,
    token_columns,
    view_of,
)
from spanwise.workbench.exports import leaderboard_csv, mentions_csv, mentions_lines
from spanwise.workbench.guard import MOST_ROWS, Refused
from spanwise.workbench.index import TESTED, Indexed, SliceAnswer
from spanwise.workbench.jobs import OPTIONS
from spanwise.workbench.looks import plain_level
from spanwise.workbench.openapi import OPERATIONS, PREFIX
from spanwise.workbench.overview import overview
from spanwise.workbench.standings import verdict_of, with_verdict
from spanwise.workbench.store import Gold, Note, Result, Slice, StoredDocument, pooled
from spanwise.workbench.thresholds import gate_answer
from spanwise.workbench.weakness import slice_points

STATIC = {
    "page.css": ("spanwise.reports.html", ""),
    "workbench.css": ("spanwise.workbench", "static"),
    "icon.svg": ("spanwise.workbench", "static"),
    "workbench.js": ("spanwise.workbench", "static"),
}
FEW = 5  # sentences shown under a slice
PAGE = 80  # approximate rows of marks on a page of sentences
DRAWN = 6  # systems shown under a sentence by default
CHOICES = 60  # results offered for comparison
LISTED = 24  # systems offered in a history
ROWS = 16  # slices of a comparison shown before the rest is expanded
TRACKS = 12  # systems in one history
SOME = 4  # notices of each kind above the leaderboard


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = environment_of("spanwise.workbench")
    environment.filters.update(
        points=words.points, signed=words.signed, count=words.count, visible=words.visible,
        interval=words.interval, p=words.p_value, format_p=words.format_p,
        signed_interval=words.signed_interval, attribute=words.attribute, moment=_moment, day=_day,
        capitalised=words.capital, later_note=words.later_note, listed_p=words.listed_p,
        small_p=words.small_p, plain_level=plain_level,
    )  # fmt: skip
    environment.globals.update(
        version=__version__,
        SELECTED=words.SELECTED,
        clause_words=clause_words,
        condition_words=condition_words,
        Shown=Shown,
        SCORES=words.PRIMARY_SCORES,
        SCORED=words.SCORED,
    )
    return environment


def _moment(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC).strftime("%d %b %Y, %H:%M UTC")


def _day(seconds: float) -> str:
    """Format a time for a table: with the hour if it is in this year, otherwise with the year."""
    at, now = (
        datetime.datetime.fromtimestamp(instant, tz=datetime.UTC) for instant in (seconds, time.time())
    )
    return at.strftime("%d %b, %H:%M" if at.year == now.year else "%d %b %Y")


def routes(bench: Bench) -> list[BaseRoute]:
    """The routes of all pages, and of their data: append `.json` to the address of a page."""
    operations = {operation.name: operation for operation in OPERATIONS}
    plain: list[BaseRoute] = [
        Route(path, answering(bench, operations[name]), methods=["GET"]) for path, name in JSON_PATHS.items()
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
            columns = error.commands if isinstance(error, NoColumns) else None
            page = _render(
                bench, request, "error", gold, status=status, error=text, code=status, columns=columns
            )
            page.headers.update(retry(status))
            return page

    return answer


def missing(bench: Bench) -> Callable[[Request, Exception], Awaitable[Response]]:
    """The handler for unknown addresses and unsupported methods."""

    async def answer(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 404)
        text = (
            "there is nothing at this address."
            if status == 404
            else "this address does not support the method."
        )
        if request.url.path.startswith(PREFIX):
            return problem(bench, Refused(status, text))
        return _render(bench, request, "error", None, status=status, error=text, code=status, columns=None)

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
            titles=bench.titles(),
            folder=bench.folder.name,
            read_only=bench.read_only,
            stuck=bench.store.stuck,
            event=bench.events.last,
            bundled=bench.bundled,
            documents=[shown_document(stored) for stored in bench.store.documents()],
            most_rows=MOST_ROWS,
            answer_at="" if template == "error" else _answer_at(request),
            **values,
        )
    )
    return Response(text, status, media_type="text/html; charset=utf-8")


def _answer_at(request: Request) -> str:
    """The address of a page's data as JSON; empty if there is none."""
    pattern = getattr(request.state, "pattern", "")
    if f"{pattern}.json" not in JSON_PATHS:
        return ""
    path = "/index" if pattern == "/index" else quote(request.scope["path"])
    return f"{path}.json?{request.url.query}" if request.url.query else f"{path}.json"


def home(bench: Bench, request: Request) -> Response:
    """The board of systems × golds; redirects to the leaderboard if there is only one gold."""
    golds = bench.store.golds()
    if len(golds) == 1 and not bench.bundled:
        return RedirectResponse(f"/g/{golds[0].slug}", 303)
    return _render(bench, request, "home", None, shown=overview(bench), unreadable=_unreadable(bench))


def _unreadable(bench: Bench) -> dict[str, str]:
    """The files that cannot be read, and why."""
    files = bench.store.files().values()
    return {file.path: file.why or "" for file in files if file.kind == "unreadable"} | bench.faults


def leaderboard(bench: Bench, request: Request) -> Response:
    """The leaderboard: all systems for one gold."""
    gold, params = bench.gold(request.path_params["gold"]), request.query_params
    query = board_query(bench, gold, params)
    rows, axis, listed = board(bench, gold, query)
    results = bench.store.results(gold.slug)
    further = urlencode(
        [*((k, v) for k, v in params.multi_items() if k != "after"), ("after", query.after + len(rows))]
    )
    tags = sorted({f"{name}:{value}" for result in results for name, value in result.board.tags.items()})
    present = {result.system for result in results if not result.gone}
    gone = {result.system: result for result in results if result.gone and result.system not in present}
    # The best result overall, whichever page is shown.
    best = replace(query, after=0, sort=f"-{query.score}")
    lead = next(iter(board(bench, gold, best, most=1, changes=False)[0]), None)
    usual = ",".join(column for column in COLUMNS if column in query.available and column != query.score)
    return _render(
        bench, request, "board", gold, rows=rows, axis=axis, query=query, own=bench.score(gold),
        column_name=column_name, tags=tags[:MOST_ROWS], number=len(results), systems=len(present),
        gone=list(gone.values()), lead=lead, unreadable=_unreadable(bench), changed=bench.gold_changed(gold),
        others=bench.other_golds(gold), usual=usual, listed=listed, further=further, some=SOME,
        tested=listed <= TESTED, address=_csv_at(request),
    )  # fmt: skip


def _csv_at(request: Request) -> str:
    """The address of a page's rows as a CSV file."""
    params = [(name, value) for name, value in request.query_params.multi_items() if name != "after"]
    query = f"?{urlencode(params)}" if params else ""
    return f"{quote(request.scope['path'])}.csv{query}"


def history_page(bench: Bench, request: Request) -> Response:
    """How the scores of systems changed over time."""
    gold, params = bench.gold(request.path_params["gold"]), request.query_params
    score = bench.score(gold, params.get("score", ""))
    best = [result.system for result in bench.latest(gold)]
    names = set(best) | {result.system for result in bench.store.results(gold.slug)}
    chosen = [name for text in params.getlist("systems") for name in text.split(",") if name in names]
    chosen = list(dict.fromkeys(chosen))[:TRACKS] or _followed(bench, gold, best)
    by = params.get("by", "commit") if params.get("by", "commit") in ("commit", "date", "epoch") else "commit"
    q = params.get("q", "").strip()
    matching = [name for name in best if q.casefold() in name.casefold()]
    tracks, axis, steps = history(bench, gold, chosen, by, score)
    return _render(
        bench, request, "history", gold, tracks=tracks, axis=axis, steps=steps, by=by, score=score, q=q,
        own=bench.score(gold), names=list(dict.fromkeys([*chosen, *matching[:LISTED]])), wanted=chosen,
        left=max(len(names) - LISTED, 0), most=TRACKS,
    )  # fmt: skip


def _followed(bench: Bench, gold: Gold, best: Sequence[str]) -> list[str]:
    """The systems shown by default: the best with several results, then the best of the others."""
    several = Counter(pool.result.system for pool in pooled(bench.store.results(gold.slug)))
    return sorted(best[:MOST_ROWS], key=lambda name: several[name] < 2)[:6]


def choose_pair(bench: Bench, request: Request) -> Response:
    """Redirect to the comparison of the two requested results, or of the best two."""
    gold, numbers = bench.gold(request.path_params["gold"]), request.query_params.getlist("r")
    rows = bench.latest(gold)
    if len(numbers) >= 2:
        return RedirectResponse(
            f"/g/{gold.slug}/compare/{bench.result(numbers[0], gold).id}/{bench.result(numbers[1], gold).id}",
            303,
        )
    if len(rows) < 2:
        raise NotFound("there is only one system for this gold file.\nPut another result into the folder.")
    # Two systems with the same scores have nothing to compare: take the next one that differs.
    second = next((row for row in rows[1:] if row.board.scores != rows[0].board.scores), rows[1])
    return RedirectResponse(f"/g/{gold.slug}/compare/{rows[0].id}/{second.id}", 303)


def compare_page(bench: Bench, request: Request) -> Response:
    """The comparison of two results for one gold."""
    gold = bench.gold(request.path_params["gold"])
    a, b = (bench.result(request.path_params[name], gold) for name in ("a", "b"))
    view = compared_view(bench, request, gold)
    score = bench.score(gold, request.query_params.get("score", ""))
    pools = bench.pools(gold, a, b)
    compared, notes = bench.shelf.comparison(*pools, score)
    verdict = verdict_of(bench, gold, *pools, score)
    rows = tested_rows(compared.scores)
    widest = sorted(rows, key=lambda row: (not row.significant, -abs(row.difference or 0)))[:ROWS]
    table, won, changed = None, None, []
    indexed = bench.shelf.indexed(gold)
    if indexed is not None and a.system in indexed.index.systems and b.system in indexed.index.systems:
        first, second = (indexed.index.systems[name].outcome for name in (a.system, b.system))
        counts = np.bincount(first.astype(np.int64) * len(OUTCOMES) + second, minlength=len(OUTCOMES) ** 2)
        table = counts.reshape(len(OUTCOMES), -1)
        changed = _changed(indexed.index, first, second)
        won = ChosenView(
            view.condition, (Shown(OUTCOME, f"{a.system}:{RIGHT}"), Shown(OUTCOME, f"{b.system}:{WRONG}"))
        )
    buckets = bench.shelf.buckets(a)
    divisions = lead_divisions(bench, *pools)
    division = request.query_params.get("parts", "")
    division = (
        division if division in divisions else next((d for d in ("tough", *divisions) if d in divisions), "")
    )
    steps, scale = lead_steps(divisions.get(division, ()), division, buckets)
    scores = {row.path: row for row in with_verdict(compared.scores, verdict)}
    main = {name: scores.get(path) for name, path in PRIMARY.items()}
    return _render(
        bench, request, "compare", gold, a=a, b=b, main=main, axis=Axis.around(rows),
        shown=[row for row in rows if row in widest], rest=[row for row in rows if row not in widest],
        test=compared, verdict=verdict, notes=notes,
        slice_name=partial(slice_name, buckets), mentions_of=mentions_of,
        score=score, shapes=shapes_of(bench, gold), steps=steps, scale=scale, division=division,
        divisions=list(divisions), right=None if table is None else _who_is_right(table),
        results=_to_choose_from(bench, gold, a, b), outcomes=_outcome_table(table), view=view, won=won,
        changed=changed,
        limited=sliced_pair(bench, gold, view, a, b),
        found=won and sentences_of(bench, gold, won, -1, SOME, systems=(a.system, b.system)),
        contents=_contents(indexed),
    )  # fmt: skip


def _to_choose_from(bench: Bench, gold: Gold, *chosen: Result) -> list[Result]:
    """The chosen results and the latest ones, newest first."""
    newest = [result for result in reversed(bench.store.results(gold.slug)) if not result.gone][:CHOICES]
    return [*(result for result in chosen if result not in newest), *newest]


def _changed(index: SliceIndex, first: Ints, second: Ints) -> list[tuple[str, int, int]]:
    """How many mentions of every label the second system has right and the first has not, and the reverse."""
    table = index.gold.table
    codes, labels = ints(table["label"]), list(map(str, table.labels))
    broken, fixed = (
        np.bincount(codes[mask], minlength=len(labels)).tolist()
        for mask in ((first != 0) & (second == 0), (first == 0) & (second != 0))
    )
    rows = [row for row in zip(labels, broken, fixed, strict=True) if row[1] or row[2]]
    return sorted(rows, key=lambda row: (-row[1] - row[2], row[0]))


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
    at = {name: [OUTCOMES.index(outcome) for outcome in listed] for name, listed in _KINDS.items()}
    return {a: {b: int(table[np.ix_(at[a], at[b])].sum()) for b in _KINDS} for a in _KINDS}


def slices_page(
    bench: Bench, request: Request, condition: Condition | None = None, saved: Slice | None = None
) -> Response:
    """The slice builder."""
    gold = bench.gold(request.path_params["gold"])
    view = view_of(request.query_params.multi_items())
    if condition is not None:
        view = ChosenView(condition, view.shown)
    indexed = bench.indexed(gold)
    answer = bench.shelf.slice(indexed, view.condition)
    order = _best(answer)
    # The browser requests the test after showing the scores; saved pages include it from the start.
    testable, test = len(order) > 1 and answer.mentions > 0, None
    if testable and bench.bundled:
        test = tested_slice(bench, gold, indexed, view.condition, order[0], order[1])
    bounds = [end for system in answer.systems.values() for end in (*(system.interval or ()), system.overall)]
    after = number_of(request, "after", -1, least=-1)
    drawn = _drawn_systems(bench, gold, indexed.index, request)
    points = [] if saved is None else slice_points(bench, gold, saved)
    page = f"/g/{gold.slug}/slices" if saved is None else f"/g/{gold.slug}/slices/{saved.slug}"
    own = view if saved is None else ChosenView(None, view.shown)
    kinds = {name: _kinds(system.outcomes) for name, system in answer.systems.items()}
    return _render(
        bench, request, "slices", gold, address=own.address(page, after), view=view, answer=answer,
        order=order, testable=testable, test=test, points=points, axis=Axis.of(bounds),
        shapes=shapes_of(bench, gold), facets=_facets(indexed.index, answer, view),
        contents=_contents(indexed),
        saved=bench.store.slices(gold.slug), current=saved,
        tested_at=ChosenView(view.condition).address(f"/g/{gold.slug}/tested"),
        kinds=kinds, most=max((sum(n for _, n in row) for row in kinds.values()), default=0) or 1,
        left=indexed.left,
        found=sentences_of(bench, gold, view, after, FEW, systems=drawn), systems=drawn,
        choices=_choices(drawn),
        typed={name: _words_of(view, name) for name in (TEXT, SENTENCE)},
    )  # fmt: skip


def _contents(indexed: Indexed | None) -> dict[str, dict[str, str]]:
    """What the buckets of every attribute hold."""
    if indexed is None:
        return {}
    cut = indexed.index.gold.buckets
    return {name: {bucket.name: bucket.label for bucket in buckets} for name, buckets in cut.items()}


def _kinds(outcomes: Mapping[str, int]) -> list[tuple[str, int]]:
    """The number of gold mentions with each kind of error."""
    titles = {"label": "wrong label", "boundary": "wrong boundary", "both": "both", "missed": "missed"}
    return [
        (title, sum(outcomes.get(outcome, 0) for outcome in _KINDS[kind])) for kind, title in titles.items()
    ]


def tested_part(bench: Bench, request: Request) -> Response:
    """The paired test of the two best systems in a slice: part of a page, fetched after the rest."""
    gold = bench.gold(request.path_params["gold"])
    condition = view_of(request.query_params.multi_items()).condition
    indexed = bench.indexed(gold)
    pair = _best(bench.shelf.slice(indexed, condition))[:2]
    test = tested_slice(bench, gold, indexed, condition, pair[0], pair[1]) if len(pair) == 2 else None
    return _render(bench, request, "tested", gold, test=test)


def _best(answer: SliceAnswer) -> list[str]:
    """The systems of a slice, best first."""
    return sorted(
        answer.systems, key=lambda name: (-(getattr(answer.systems[name], answer.score) or 0), name)
    )


def _words_of(view: ChosenView, attribute: str) -> str:
    comparisons = view.condition.comparisons(attribute) if view.condition else ()
    return ",".join(comparisons[0].values) if comparisons and comparisons[0].operator == "=" else ""


class FacetValue(Struct, frozen=True):
    """A value of an attribute, and how many gold mentions have it given all other conditions."""

    name: str
    label: str
    count: int
    share: int  # of the count of the most frequent value, in percent
    checked: bool


class ShownFacet(Struct, frozen=True):
    """An attribute with its values."""

    name: str
    values: tuple[FacetValue, ...]
    open: bool


def _facets(index: SliceIndex, answer: SliceAnswer, view: ChosenView) -> list[ShownFacet]:
    """Every attribute with its values, their counts and whether they are selected."""
    facets = []
    for attribute, counts in answer.facets.items():
        chosen = view.condition.comparisons(attribute) if view.condition else ()
        labels = {name: words.tough(name) for name in counts}
        if attribute != TOUGHNESS:
            labels = {bucket.name: bucket.label or bucket.name for bucket in index.gold.buckets[attribute]}
        most = max([*counts.values(), 1])
        values = tuple(
            FacetValue(
                name,
                labels[name],
                number,
                round(100 * number / most),
                any(name in comparison.values for comparison in chosen if comparison.operator == "="),
            )
            for name, number in counts.items()
            if number or any(name in comparison.values for comparison in chosen)
        )
        facets.append(ShownFacet(attribute, values, bool(chosen) or attribute in ("label", TOUGHNESS)))
    return facets


def _choices(systems: list[str]) -> list[tuple[str, str]]:
    """The options for filtering sentences by outcome: a value and its title."""
    return [
        *((f"{name}:wrong", f"{name} wrong") for name in systems),
        ("split", "some right, some wrong"),
        ("wrong", "all wrong"),
    ]


def weak_page(bench: Bench, request: Request) -> Response:
    """The slices where a system misses the most, or where two systems differ."""
    gold = bench.gold(request.path_params["gold"])
    indexed = bench.indexed(gold)
    search = weak(bench, request, None)
    conditions = {weak_slice.where: parse(weak_slice.where) for weak_slice in search.slices}
    links = {where: ChosenView(condition).query() for where, condition in conditions.items()}
    return _render(
        bench, request, "weak", gold, found=search, links=links, conditions=conditions,
        contents=_contents(indexed), names=list(indexed.index.systems),
        shapes=shapes_of(bench, gold),
    )  # fmt: skip


def saved_slice(bench: Bench, request: Request) -> Response:
    """The page of a saved slice."""
    gold = bench.gold(request.path_params["gold"])
    saved = bench.slice(gold, request.path_params["slug"])
    return slices_page(bench, request, parse(saved.conditions), saved)


def sentences_page(bench: Bench, request: Request) -> Response:
    """The sentences of a view, page by page."""
    gold = bench.gold(request.path_params["gold"])
    view = view_of(request.query_params.multi_items())
    after = number_of(request, "after", -1, least=-1)
    indexed = bench.indexed(gold)
    systems = _drawn_systems(bench, gold, indexed.index, request)
    listed = sentences_of(bench, gold, view, after, PAGE // (len(systems) + 2), systems=systems)
    chosen = ",".join(systems) if request.query_params.get("systems") else ""
    return _render(
        bench, request, "sentences", gold, kept=f"&systems={quote(chosen, safe=',')}" if chosen else "",
        address=view.address(f"/g/{gold.slug}/sentences", after, chosen), view=view, found=listed,
        shapes=shapes_of(bench, gold), choices=_choices(systems), systems=systems,
        every=list(indexed.index.systems), contents=_contents(indexed),
    )  # fmt: skip


def _drawn_systems(bench: Bench, gold: Gold, index: SliceIndex, request: Request) -> list[str]:
    """The systems shown under a sentence: the requested ones, or the best."""
    requested = [name for text in request.query_params.getlist("systems") for name in text.split(",")]
    best = [result.system for result in bench.latest(gold) if result.system in index.systems]
    best += [name for name in index.systems if name not in best]
    return [name for name in requested if name in index.systems][:TRACKS] or best[:DRAWN]


def sentence_page(bench: Bench, request: Request) -> Response:
    """One sentence in the context of its document, with its notes."""
    gold = bench.gold(request.path_params["gold"])
    index = bench.indexed(gold).index
    text = request.path_params["number"]
    if not text.isdecimal() or len(text) > 9 or int(text) >= index.columns.head.sentences:
        raise NotFound(f"there is no sentence {text!r} in this gold file.")
    number, documents = int(text), index.columns.arrays.get("document_of_sentence")
    around = range(max(number - 3, 0), min(number + 4, index.columns.head.sentences))
    if documents is not None:
        own = documents[number]
        around = range(bisect_left(documents, own), bisect_right(documents, own))[:200]
    notes = bench.notes(gold)
    drawn = [draw(index, position, notes=notes) if position == number else None for position in around]
    plain = [" ".join(index.columns.words(position)) for position in around]
    return _render(
        bench, request, "sentence", gold, number=number, around=list(zip(around, plain, drawn, strict=True)),
        shapes=shapes_of(bench, gold), last=index.columns.head.sentences - 1,
    )  # fmt: skip


def worksheet_page(bench: Bench, request: Request) -> Response:
    """All notes, and each system's recall without the mentions they flag."""
    gold = bench.gold(request.path_params["gold"])
    notes = bench.notes(gold)
    indexed = bench.shelf.indexed(gold)
    loose, texts, without = [], {}, []
    if indexed is not None:
        columns = indexed.index.columns
        for note in notes:
            exists = note.sentence < columns.head.sentences
            if not exists or sentence_sha(columns, note.sentence) != note.sentence_sha:
                loose.append(note)
                continue
            tokens = columns.words(note.sentence)
            texts[note.id] = " ".join(tokens if note.start is None else tokens[note.start : note.end])
        without = _without(
            indexed.index,
            [note for note in notes if note.id in texts and note.start is not None and note.system is None],
        )
    return _render(
        bench, request, "worksheet", gold, notes=[note for note in notes if note not in loose], loose=loose,
        texts=texts, without=without,
    )  # fmt: skip


def _without(index: SliceIndex, notes: Sequence[Note]) -> list[tuple[str, float | None, float | None]]:
    """The recall of every system, with and without the mentions that have notes."""
    flagged = {(note.sentence, note.start, note.end) for note in notes}
    spans = zip(
        *(index.columns.column("gold", name).tolist() for name in ("sentence", "start", "end")), strict=True
    )
    unflagged = np.fromiter((span not in flagged for span in spans), bool, index.gold.number)
    rows = []
    for name, system in index.systems.items():
        right = unpacked_bits(system.right, index.gold.number)
        whole = index.counted(None)[name].score("recall")
        rest = float(right[unflagged].mean()) if unflagged.any() else None
        rows.append((name, whole, rest))
    return rows


def gate_page(bench: Bench, request: Request) -> Response:
    """Whether the latest results pass gate.toml and the floors of saved slices."""
    gold = bench.gold(request.path_params["gold"])
    return _render(bench, request, "gate", gold, answer=gate_answer(bench, gold))


def evaluate_page(bench: Bench, request: Request) -> Response:
    """The form for uploading predictions, and the list of evaluations."""
    gold = bench.gold(request.path_params["gold"])
    jobs = [shown_job(job, gold) for job in bench.store.jobs() if job.gold == gold.slug]
    states = Counter("needs you" if job.ways else job.state for job in jobs)
    results = {
        number[1]: result
        for result in bench.store.results(gold.slug)
        if not result.gone and (number := re.search(r"-(\d+)\.json$", result.path))
    }
    done = {job.id: results[str(job.id)] for job in jobs if job.state == "done" and str(job.id) in results}
    waiting = [job.id for job in reversed(jobs) if job.state == "waiting"]
    return _render(
        bench, request, "evaluate", gold, jobs=jobs, options=OPTIONS, states=states, done=done,
        waiting=waiting, score=bench.score(gold), token_columns=token_columns,
        origin=str(request.base_url).rstrip("/"), where=f"{bench.folder}/",
    )  # fmt: skip


def report_page(bench: Bench, request: Request) -> Response:
    """The HTML report of one result."""
    return _report(bench, bench.result(request.path_params["result"]))


def document_page(bench: Bench, request: Request) -> Response:
    """The HTML report of a document of another verb."""
    return _report(bench, bench.document(request.path_params["document"]))


def _report(bench: Bench, stored: Result | StoredDocument) -> Response:
    """The report of a document that the store knows, with the content security policy it needs."""
    from spanwise.reports.html.page import policy_of

    text = bench.shelf.report(stored)
    headers = {"content-security-policy": f"{policy_of(text)}; frame-ancestors 'none'"}
    return Response(text, media_type="text/html; charset=utf-8", headers=headers)


def settings_page(bench: Bench, request: Request) -> Response:
    """The settings of the server, and how scripts connect to it."""
    return _render(
        bench, request, "settings", None, origin=str(request.base_url).rstrip("/"), path=str(bench.folder)
    )


def static(bench: Bench, request: Request) -> Response:
    """A static file, by name."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise NotFound("there is no such file.")
    text = files(STATIC[name][0]).joinpath(STATIC[name][1], name).read_text(encoding="utf-8")
    text = compact_style(text) if name.endswith(".css") else text
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
    "/d/{document}": document_page,
    "/settings": settings_page,
    "/static/{name}": static,
}
FILES: dict[str, Callable[[Bench, Request], Response]] = {  # downloads
    "/g/{gold}/sentences.csv": mentions_csv,
    "/g/{gold}/sentences.jsonl": mentions_lines,
    "/g/{gold}.csv": leaderboard_csv,
}
COSTLY_PAGES = {  # pages scheduled like this costly API operation
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
    "/d/{document}": "weak",
}
JSON_PATHS = {  # the API operation behind each page
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
    "/g/{gold}.json": "leaderboard",
    "/r/{result}.json": "result",
    "/d/{document}.json": "document",
    "/settings.json": "health",
}
PATHS = (*JSON_PATHS, *FILES, *PAGES)
