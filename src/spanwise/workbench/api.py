"""The JSON API: the functions that answer the operations of `openapi.OPERATIONS`."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import re
import shutil
import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec
from msgspec import UNSET
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from spanwise import __version__
from spanwise.conditions import SEARCHABLE, Condition, parse
from spanwise.document import to_encodable
from spanwise.document.evaluation import UnitCounts
from spanwise.errors import ChoiceError, SpanwiseError, unknown
from spanwise.evaluation.columns import MentionColumns
from spanwise.formats import read
from spanwise.spreadsheet import to_csv, to_xlsx
from spanwise.workbench.bench import (
    JSON,
    READ_ONLY,
    Bench,
    NotFound,
    asker_of,
    checked_options,
    events,
    sentence_sha,
    upload,
)
from spanwise.workbench.board import Leaderboard, board_query, leaderboard_of
from spanwise.workbench.drawing import (
    WHERE,
    ChosenView,
    DocumentSummary,
    Drawn,
    GoldRequest,
    Health,
    NoteChange,
    NoteRequest,
    ReferenceRequest,
    ResultComparison,
    ResultSummary,
    Sentences,
    ShownJob,
    SliceRequest,
    chosen_rows,
    draw,
    place_of,
    remedies_for,
    shown_document,
    shown_job,
    view_of,
)
from spanwise.workbench.guard import (
    IDLE,
    MOST_END,
    MOST_LABEL,
    MOST_NOTE,
    MOST_ROWS,
    PROBLEM,
    ProblemDetails,
    Refused,
)
from spanwise.workbench.index import Indexed, Searched, SliceTest
from spanwise.workbench.jobs import inside
from spanwise.workbench.openapi import OPERATIONS, PREFIX, Operation, description
from spanwise.workbench.private import damaged_database
from spanwise.workbench.standings import verdict_of, with_verdict
from spanwise.workbench.store import Changed, EvaluationJob, Exists, Gold, Note, Result
from spanwise.workbench.thresholds import GateAnswer, gate_answer
from spanwise.workbench.watch import slug_of
from spanwise.workbench.weakness import SlicePoint, slice_points

T = TypeVar("T")


WORKSHEET = (
    "rank", "tied", "score", "kind", "source", "sentence", "gold_start", "gold_end", "gold_label",
    "gold_text", "start", "end", "label", "text", "votes_for", "votes_against", "evidence", "context",
    "decision",
)  # fmt: skip


WORKSHEETS = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def routes(bench: Bench) -> list[BaseRoute]:
    """One route for each operation."""
    return [
        Route(
            PREFIX + operation.path,
            answering(bench, operation),
            methods=[operation.method],
            name=operation.name,
        )
        for operation in OPERATIONS
    ]


def answering(bench: Bench, operation: Operation) -> Callable[[Request], Awaitable[Response]]:
    """The request handler of an operation; errors become problem documents."""

    async def answer(request: Request) -> Response:
        try:
            if operation.name in LONG:
                answered: Response = await LONG[operation.name](bench, request)
                return answered
            body, work = None, SHORT[operation.name]
            if operation.body is not None:
                if bench.read_only:
                    raise Refused(503, READ_ONLY)
                if request.headers.get("content-type", "").partition(";")[0] != JSON:
                    raise Refused(415, f"the body must be sent as {JSON}.")
                sent = await asyncio.wait_for(request.body(), IDLE)
                body = msgspec.json.decode(sent, type=operation.body)
            elif operation.method == "DELETE" and bench.read_only:
                raise Refused(503, READ_ONLY)
            value = await in_lane(bench, request, operation.name, lambda: work(bench, request, body))
        except Exception as error:  # every error becomes a response with its status
            return problem(bench, error)
        if isinstance(value, Response):
            return value if operation.method != "GET" else tagged(request, value)
        if operation.answer is None:
            return Response(status_code=operation.status)
        encoded = msgspec.json.encode(value, enc_hook=to_encodable)
        response = Response(encoded, operation.status, media_type=JSON)
        return response if operation.method != "GET" else tagged(request, response)

    return answer


def tagged(request: Request, answer: Response) -> Response:
    """Add an ETag to a response; answer 304 if the client already has this content."""
    tag = f'"{hashlib.sha256(bytes(answer.body)).hexdigest()[:32]}"'
    if answer.status_code == 200 and request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"etag": tag})
    answer.headers["etag"] = tag
    return answer


COSTLY = {  # answered one at a time: tests, searches, and what reads documents or many files
    "comparison", "gate", "leaderboard", "slice_history", "test", "units", "weak", "worksheet",
}  # fmt: skip


SEARCHED = 100_000  # gold mentions above which a search for words is costly


async def in_lane(bench: Bench, request: Request, name: str, work: Callable[[], T]) -> T:
    """Do the work of a route at once, or queue it if it is costly.

    Of the slice tests that a browser is waiting for, only the newest is computed: the others belong to views
    that are no longer shown.
    """
    if name not in COSTLY and not _searches(bench, request):
        return await bench.lanes.quick(work)
    asker, path = asker_of(request), request.url.path
    topic = (name, path) if name == "test" and asker == "browser" else None
    return await bench.lanes.costly((asker, path, request.url.query), work, topic=topic)


def _searches(bench: Bench, request: Request) -> bool:
    """Whether the request searches the text of many mentions."""
    attributes = {name for text in request.query_params.getlist(WHERE) for name in parse(text).attributes}
    if not {*SEARCHABLE} & {*attributes, *request.query_params} or "gold" not in request.path_params:
        return False
    gold = bench.store.gold(request.path_params["gold"])
    return gold is not None and gold.mentions > SEARCHED


def status_of(error: Exception) -> int:
    """The HTTP status of an error; unexpected errors are raised again."""
    if isinstance(error, Refused):
        return error.status
    if isinstance(error, NotFound):
        return 404
    if isinstance(error, Changed):
        return 412
    if isinstance(error, ChoiceError | msgspec.DecodeError | UnicodeDecodeError | RecursionError):
        return 400
    if isinstance(error, SpanwiseError):
        return 422
    if isinstance(error, Exists):
        return 409
    if isinstance(error, TimeoutError):  # the body was not sent completely
        return 408
    if isinstance(error, OSError):
        return 507 if error.errno == errno.ENOSPC else 503
    if isinstance(error, sqlite3.DatabaseError):  # full, locked by another program, not writable or damaged
        return 507 if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL else 503
    raise error


def words_of(bench: Bench, error: Exception) -> str:
    """The message that users see for an error."""
    if status_of(error) == 507:
        left = shutil.disk_usage(bench.folder).free
        return (
            f"{bench.folder}: the disk is full ({left / 1e6:,.0f} MB are left), so nothing was saved.\n"
            "Free some space, then try again."
        )
    if isinstance(error, sqlite3.OperationalError):
        return f"{bench.store.path}: the file cannot be written ({error}).\nTry again in a moment."
    if isinstance(error, sqlite3.DatabaseError):
        return str(damaged_database(bench.store.path, str(error)))
    return str(error)


def problem(bench: Bench, error: Exception) -> Response:
    """An error as a problem document, worded as on the command line."""
    status, text = status_of(error), words_of(bench, error)
    where = place_of(text) if status in (400, 422) else None
    title = text.partition("\n")[0]
    body = ProblemDetails(title=title, status=status, detail=text, where=where, ways=remedies_for(text))
    return Response(msgspec.json.encode(body), status, media_type=PROBLEM, headers=retry(status))


def retry(status: int) -> dict[str, str]:
    """Headers that say when to retry; browsers then reload the page themselves."""
    return {"retry-after": "2", "refresh": "2"} if status == 503 else {}


# ---- golds and results


def health(bench: Bench, request: Request, _: object) -> Health:
    return Health(__version__, bench.read_only)


def openapi(bench: Bench, request: Request, _: object) -> dict[str, object]:
    return description()


def golds(bench: Bench, request: Request, _: object) -> list[Gold]:
    return bench.store.golds()


def add_gold(bench: Bench, request: Request, body: GoldRequest) -> Gold:
    """Register a gold file inside the folder."""
    path = inside(bench.folder, body.path)
    train = tuple(inside(bench.folder, file).relative_to(bench.folder).as_posix() for file in body.train)
    annotation = read(path)
    documents = annotation.corpus.documents
    by_document = documents is not None and len(documents) > 2
    digest = annotation.reading.sha256 or hashlib.sha256(path.read_bytes()).hexdigest()
    name = body.name or path.stem
    gold = Gold(
        slug=slug_of(name, digest),
        name=name,
        sha256=digest,
        path=path.relative_to(bench.folder).as_posix(),
        train=train,
        sentences=len(annotation.corpus),
        mentions=len(annotation.mentions),
        labels=tuple(annotation.mentions.labels),
        unit="document" if by_document else "sentence",
        units=len(documents) - 1 if documents is not None and by_document else len(annotation.corpus),
    )
    bench.store.put_gold(gold)
    bench.events.add("gold", gold.slug, f"{name} registered")
    return gold


def summary_of(result: Result) -> ResultSummary:
    """The API's representation of a result."""
    board = result.board
    return ResultSummary(
        id=result.id, system=result.system, path=result.path, gone=result.gone, scores=board.scores,
        intervals=board.intervals, primary=board.primary, tags=board.tags, made_at=board.made_at,
        signature=board.signature,
    )  # fmt: skip


def results(bench: Bench, request: Request, _: object) -> list[ResultSummary]:
    gold = bench.gold(request.path_params["gold"])
    return [summary_of(result) for result in bench.store.results(gold.slug)]


def leaderboard(bench: Bench, request: Request, _: object) -> Leaderboard:
    gold = bench.gold(request.path_params["gold"])
    return leaderboard_of(bench, gold, board_query(bench, gold, request.query_params))


def set_reference(bench: Bench, request: Request, body: ReferenceRequest) -> ResultSummary:
    """Compare the history of a system with another of its results, which is moved on purpose only."""
    gold = bench.gold(request.path_params["gold"])
    chosen = bench.result(str(body.result), gold)
    bench.store.put_reference(gold.slug, chosen.system, chosen.id)
    bench.events.add("result", gold.slug, f"the history of {chosen.system} has another reference")
    return summary_of(chosen)


def result(bench: Bench, request: Request, _: object) -> Response:
    stored = bench.result(request.path_params["result"])
    return Response(bench.shelf.file_of(stored).read_bytes(), media_type=JSON)


def documents(bench: Bench, request: Request, _: object) -> list[DocumentSummary]:
    return [shown_document(stored) for stored in bench.store.documents()]


def document(bench: Bench, request: Request, _: object) -> Response:
    stored = bench.document(request.path_params["document"])
    return Response(bench.shelf.file_of(stored).read_bytes(), media_type=JSON)


def units(bench: Bench, request: Request, _: object) -> UnitCounts:
    result = bench.result(request.path_params["result"])
    counts = bench.shelf.document(result).units
    if counts is UNSET:
        raise NotFound(f"{result.path}: the document lacks its counts per unit.\nEvaluate again.")
    return replace(counts, systems={result.system: counts.systems[result.system]})


def comparison(bench: Bench, request: Request, _: object) -> ResultComparison:
    gold = bench.gold(request.path_params["gold"])
    parameters = {**request.query_params, **request.path_params}
    a, b = (bench.result(parameters.get(name, ""), gold) for name in ("a", "b"))
    pools, score = bench.pools(gold, a, b), bench.score(gold, parameters.get("score", ""))
    compared, notes = bench.shelf.comparison(*pools, score)
    verdict = verdict_of(bench, gold, *pools, score)
    limited = sliced_pair(bench, gold, compared_view(bench, request, gold), a, b)
    return ResultComparison(
        a=a.id, b=b.id, scores=with_verdict(compared.scores, verdict), notes=notes, verdict=verdict,
        slice=limited,
    )  # fmt: skip


def compared_view(bench: Bench, request: Request, gold: Gold) -> ChosenView:
    """The view that a comparison is limited to: its conditions, or those of a saved slice (`slice=NAME`)."""
    view = view_of(request.query_params.multi_items())
    slug = request.query_params.get("slice")
    return ChosenView(parse(bench.slice(gold, slug).conditions), view.shown) if slug else view


def sliced_pair(bench: Bench, gold: Gold, view: ChosenView, a: Result, b: Result) -> SliceTest | None:
    """The test of two results on the mentions of a view; None if the view has no condition."""
    if view.condition is None:
        return None
    indexed = bench.indexed(gold)
    for result in (a, b):
        if result.system not in indexed.index.systems:
            raise unknown("system with mention columns", result.system, indexed.index.systems)
    return tested_slice(bench, gold, indexed, view.condition, a.system, b.system)


def tested_slice(
    bench: Bench, gold: Gold, indexed: Indexed, condition: Condition | None, a: str, b: str
) -> SliceTest:
    """The test of two systems in a slice, as a question to the gold set."""
    predictions = sorted(bench.shelf.predictions(gold, indexed, name) for name in (a, b))
    look = bench.look(gold, "slice", str(condition or ""), *predictions)
    return bench.shelf.slice_test(gold, indexed, condition, a, b, look)


# ---- slices and sentences


def slice(bench: Bench, request: Request, _: object) -> object:
    gold = bench.gold(request.path_params["gold"])
    view = view_of(request.query_params.multi_items())
    page = request.url.path.endswith(".json")  # pages show intervals
    intervals = page or "intervals" in request.query_params
    return bench.shelf.slice(bench.indexed(gold), view.condition, intervals=intervals)


def test(bench: Bench, request: Request, _: object) -> SliceTest:
    gold = bench.gold(request.path_params["gold"])
    view = view_of(request.query_params.multi_items())
    indexed = bench.indexed(gold)
    names = [request.query_params.get(name, "") for name in ("a", "b")]
    for name in names:
        if name not in indexed.index.systems:
            raise unknown("system", name, indexed.index.systems)
    return tested_slice(bench, gold, indexed, view.condition, names[0], names[1])


def weak(bench: Bench, request: Request, _: object) -> Searched:
    gold = bench.gold(request.path_params["gold"])
    indexed = bench.indexed(gold)
    names = [request.query_params.get(name, "") for name in ("a", "b")]
    names[0] = names[0] or next(iter(indexed.index.systems))
    for name in filter(None, names):
        if name not in indexed.index.systems:
            raise unknown("system", name, indexed.index.systems)
    predictions = sorted(bench.shelf.predictions_in(indexed, name) for name in names if name)
    look = bench.look(gold, "search", *predictions)
    return bench.shelf.weak(indexed, names[0], names[1] or None, look)


def slice_history(bench: Bench, request: Request, _: object) -> list[SlicePoint]:
    gold = bench.gold(request.path_params["gold"])
    saved = bench.slice(gold, request.path_params["slug"])
    return slice_points(bench, gold, saved)


def sentence(bench: Bench, request: Request, _: object) -> Drawn:
    gold = bench.gold(request.path_params["gold"])
    index = bench.indexed(gold).index
    text = request.path_params["number"]
    if not text.isdecimal() or len(text) > 9 or int(text) >= index.columns.head.sentences:
        raise NotFound(f"there is no sentence {text!r} in this gold file.")
    return draw(index, int(text), notes=bench.notes(gold))


def mentions(bench: Bench, request: Request, _: object) -> Sentences:
    gold = bench.gold(request.path_params["gold"])
    view = view_of(request.query_params.multi_items())
    after, limit = number_of(request, "after", -1, least=-1), number_of(request, "limit", 20, least=1)
    return sentences_of(bench, gold, view, after, limit)


def sentences_of(
    bench: Bench, gold: Gold, view: ChosenView, after: int, limit: int, *, systems: Sequence[str] = ()
) -> Sentences:
    """The next sentences with mentions in a view, after sentence `after`; for all or some systems."""
    index = bench.indexed(gold).index
    notes = bench.notes(gold)
    rows = chosen_rows(index, view, notes)
    sentence = index.columns.column("gold", "sentence")  # in ascending order
    begin = bisect_left(rows, bisect_right(sentence, after))
    chosen: dict[int, list[int]] = {}
    for position in range(begin, len(rows)):
        row = int(rows[position])
        number = int(sentence[row])
        if number not in chosen and len(chosen) == min(limit, MOST_ROWS):
            break
        chosen.setdefault(number, []).append(row)
    drawn = tuple(
        draw(index, number, chosen=mentions, systems=systems, notes=notes)
        for number, mentions in chosen.items()
    )
    last = drawn[-1].number if drawn else after
    more = bool(len(rows)) and int(sentence[rows[-1]]) > last
    return Sentences(mentions=len(rows), sentences=drawn, next=last if more else None)


def number_of(request: Request, name: str, otherwise: int, *, least: int) -> int:
    """An integer query parameter."""
    text = request.query_params.get(name, "")
    if not text:
        return otherwise
    if not re.fullmatch(r"-?\d{1,9}", text) or int(text) < least:
        raise ChoiceError(f"{name} is {text!r}, but must be a whole number of at least {least}.")
    return int(text)


def slices(bench: Bench, request: Request, _: object) -> object:
    return bench.store.slices(bench.gold(request.path_params["gold"]).slug)


def add_slice(bench: Bench, request: Request, body: SliceRequest) -> object:
    gold = bench.gold(request.path_params["gold"])
    return bench.save_slice(gold, body.name, body.where, score=body.score, least=body.least, version=0)


def change_slice(bench: Bench, request: Request, body: SliceRequest) -> object:
    gold = bench.gold(request.path_params["gold"])
    saved = bench.slice(gold, request.path_params["slug"])
    return bench.save_slice(
        gold, saved.name, body.where, score=body.score, least=body.least, version=_version(request)
    )


def remove_slice(bench: Bench, request: Request, _: object) -> None:
    gold = bench.gold(request.path_params["gold"])
    slug = bench.slice(gold, request.path_params["slug"]).slug
    bench.remove_slice(gold, slug, _version(request))


def _version(request: Request) -> int:
    text = request.headers.get("if-match", "").strip('"')
    if not text.isdecimal() or len(text) > 9:
        raise Refused(428, "the If-Match header must name the version to change.")
    return int(text)


# ---- notes


def notes(bench: Bench, request: Request, _: object) -> list[Note]:
    return bench.notes(bench.gold(request.path_params["gold"]))


def add_note(bench: Bench, request: Request, body: NoteRequest) -> Note:
    gold = bench.gold(request.path_params["gold"])
    index = bench.indexed(gold).index
    columns = index.columns
    if not 0 <= body.sentence < columns.head.sentences:
        raise ChoiceError(
            f"there is no sentence {body.sentence} in this gold file.\nSentences are numbered from 0."
        )
    systems = {*index.systems, *(result.system for result in bench.store.results(gold.slug))}
    if body.system is not None and body.system not in systems:
        raise unknown("system", body.system, sorted(systems))
    _check_note(body.tag, body.text, body.by)
    _check_position(columns, body)
    sha = sentence_sha(columns, body.sentence)
    note = Note(
        0, gold.slug, body.sentence, sha, body.start, body.end, body.label, body.tag.strip(),
        body.text.strip(), body.by.strip(), 1, 0.0, body.system,
    )  # fmt: skip
    added = bench.store.add_note(note)
    bench.events.add("note", gold.slug, f"note on sentence {body.sentence + 1}")
    return added


def change_note(bench: Bench, request: Request, body: NoteChange) -> Note:
    bench.gold(request.path_params["gold"])
    _check_note(body.tag, body.text, body.by)
    return bench.store.change_note(
        _note(bench, request).id, _version(request), tag=body.tag, text=body.text, by=body.by
    )


def remove_note(bench: Bench, request: Request, _: object) -> None:
    bench.store.remove_note(_note(bench, request).id, _version(request))


def _note(bench: Bench, request: Request) -> Note:
    text = request.path_params["note"]
    note = bench.store.note(int(text)) if text.isdecimal() and len(text) < 12 else None
    gold = bench.gold(request.path_params["gold"])
    if note is None or note.gold not in (gold.slug, *(other.slug for other in bench.other_golds(gold))):
        raise NotFound(f"there is no note {text!r} here.")
    return note


def _check_note(tag: str, text: str, by: str) -> None:
    if not tag.strip() and not text.strip():
        raise ChoiceError("a note needs a tag or a text.\nWrite one of them.")
    if len(tag) > 60 or len(by) > 60 or len(text) > MOST_NOTE:
        raise ChoiceError(
            f"a note can have up to {MOST_NOTE:,} characters, its tag and author up to 60 each.\nShorten it."
        )


def _check_position(columns: MentionColumns, body: NoteRequest) -> None:
    """Refuse a note on a mention that is not in its sentence."""
    if columns.head.positions == "token":  # also if the text was left out
        first, last = columns.arrays["sentences"][body.sentence : body.sentence + 2].tolist()
        length = last - first
    else:
        length = len(columns.words(body.sentence)) or MOST_END
    start, end = body.start, body.end
    if (start is None) != (end is None):
        raise ChoiceError("a note on a mention has both a start and an end.\nGive both, or neither.")
    if start is not None and end is not None and not 0 <= start < end <= length:
        raise ChoiceError(
            f"the sentence has {length:,} positions, so a mention from {start} to {end} is not in it.\n"
            "Positions are counted from 0, and the end is not included."
        )
    if body.label is not None and (start is None or len(body.label) > MOST_LABEL):
        raise ChoiceError(
            f"the label of a note is that of a mention, with up to {MOST_LABEL} characters.\nShorten it."
        )


def worksheet(bench: Bench, request: Request, _: object) -> Response:
    """Notes on gold mentions as a `spanwise suspects` worksheet; accepting a row deletes the mention."""
    gold = bench.gold(request.path_params["gold"])
    columns = bench.indexed(gold).index.columns
    rows: list[tuple[object, ...]] = []
    for rank, note in enumerate(bench.notes(gold), 1):
        if (
            note.system is not None
            or note.start is None
            or note.end is None
            or sentence_sha(columns, note.sentence) != note.sentence_sha
        ):
            continue
        words = columns.words(note.sentence)
        between = "" if columns.head.positions == "character" else " "
        rows.append(
            (rank, "", "", note.tag, columns.location(note.sentence), note.sentence + 1, note.start, note.end,
             note.label, between.join(words[note.start : note.end]), "", "", "", "", "", "", note.text,
             between.join(words), ""),
        )  # fmt: skip
    form = request.query_params.get("format", "csv")
    if form not in WORKSHEETS:
        raise unknown("format of a worksheet", form, WORKSHEETS)
    headers = {"content-disposition": f'attachment; filename="{gold.slug}.worksheet.{form}"'}
    content: str | bytes
    if form == "csv":
        content = to_csv([WORKSHEET, *rows])
    elif form == "xlsx":
        content = to_xlsx([WORKSHEET, *rows])
    else:
        lines = (dict(zip(WORKSHEET, row, strict=True)) for row in rows)
        content = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    return Response(content, media_type=WORKSHEETS[form], headers=headers)


def gate(bench: Bench, request: Request, _: object) -> GateAnswer:
    gold = bench.gold(request.path_params["gold"])
    number = request.query_params.get("result")
    return gate_answer(bench, gold, [bench.result(number, gold)] if number else None)


# ---- jobs


async def send_upload(bench: Bench, request: Request) -> Response:
    added = await upload(bench, request)
    return Response(msgspec.json.encode(_shown(bench, added)), 202, media_type=JSON)


def jobs(bench: Bench, request: Request, _: object) -> list[ShownJob]:
    return [_shown(bench, job) for job in bench.store.jobs()]


def job(bench: Bench, request: Request, _: object) -> ShownJob:
    return _shown(bench, _job(bench, request))


def again(bench: Bench, request: Request, body: dict[str, str]) -> ShownJob:
    return _shown(bench, bench.jobs.again(_job(bench, request), checked_options(body)))


def cancel(bench: Bench, request: Request, _: object) -> None:
    bench.jobs.cancel(_job(bench, request))


def _job(bench: Bench, request: Request) -> EvaluationJob:
    text = request.path_params["job"]
    job = bench.store.job(int(text)) if text.isdecimal() and len(text) < 12 else None
    if job is None:
        raise NotFound(f"there is no job {text!r} here.")
    return job


def _shown(bench: Bench, job: EvaluationJob) -> ShownJob:
    return shown_job(job, bench.store.gold(job.gold))


LONG: dict[str, Callable[[Bench, Request], Awaitable[Response]]] = {"upload": send_upload, "events": events}
SHORT: dict[str, Callable[..., object]] = {
    one.__name__: one
    for one in (
        health, openapi, golds, add_gold, results, leaderboard, set_reference, result, units, comparison,
        slice, test, weak, slice_history, sentence, mentions, slices,
        add_slice, change_slice, remove_slice, notes, add_note, change_note, remove_note, worksheet, gate,
        jobs, job, again, cancel, documents, document,
    )
}  # fmt: skip
