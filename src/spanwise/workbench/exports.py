"""Downloads: the rows of the leaderboard, and the mentions of a view."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from spanwise.columns import Ints
from spanwise.slices.index import SliceIndex
from spanwise.spreadsheet import to_csv
from spanwise.workbench.bench import Bench
from spanwise.workbench.board import board, board_query
from spanwise.workbench.drawing import chosen_rows, gold_mark, view_of
from spanwise.workbench.store import Gold

CSV, LINES = "text/csv; charset=utf-8", "application/x-ndjson"
EVERY = 1_000_000  # more rows than any leaderboard has
PIECE = 500  # mentions sent per chunk


def leaderboard_csv(bench: Bench, request: Request) -> Response:
    """All rows of the leaderboard as CSV, with scores as fractions."""
    gold = bench.gold(request.path_params["gold"])
    query = board_query(bench, gold, request.query_params)
    rows, _, _ = board(bench, gold, msgspec.structs.replace(query, after=0), most=EVERY, changes=False)
    score_column = f"f1/{query.label}" if query.label else query.score
    columns = () if query.label else query.columns
    head = (
        "system",
        score_column,
        "low",
        "high",
        *columns,
        "runs",
        "letter",
        "letters",
        "cannot_be_told_apart_from",
        "costs",
        "tags",
        "made",
        "result",
        "path",
    )
    listed = [
        (
            row.result.system, row.values.get(query.score), row.low, row.high,
            *(row.values.get(column) for column in columns), row.runs,
            row.letter, row.letters, "; ".join(row.tied), row.result.board.costs,
            "; ".join(f"{name}={value}" for name, value in row.result.board.tags.items()),
            _written(row.result.board.made_at),
            row.result.id, row.result.path,
        )
        for row in rows
    ]  # fmt: skip
    return Response(to_csv([head, *listed]), media_type=CSV, headers=_saved_as(gold, "leaderboard.csv"))


def _written(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC).isoformat(timespec="seconds")


HEAD = ("sentence", "source", "start", "end", "label", "text", "toughness", "context")


def mentions_csv(bench: Bench, request: Request) -> Response:
    """The gold mentions of a view as CSV, one per line, with a column for each system's outcome."""
    gold, index, rows = _chosen(bench, request)

    def lines() -> Iterator[str]:
        yield to_csv([(*HEAD, *index.systems)])
        for piece in _pieces(rows):
            yield to_csv((*cells, *outcomes.values()) for cells, outcomes in _mentions(index, piece))

    return StreamingResponse(lines(), media_type=CSV, headers=_saved_as(gold, "mentions.csv"))


def mentions_lines(bench: Bench, request: Request) -> Response:
    """The gold mentions of a view as JSON lines, with each system's outcome under `outcomes`."""
    gold, index, rows = _chosen(bench, request)

    def lines() -> Iterator[bytes]:
        for piece in _pieces(rows):
            records = (
                dict(zip(HEAD, cells, strict=True)) | {"outcomes": outcomes}
                for cells, outcomes in _mentions(index, piece)
            )
            yield b"".join(msgspec.json.encode(record) + b"\n" for record in records)

    return StreamingResponse(lines(), media_type=LINES, headers=_saved_as(gold, "mentions.jsonl"))


def _chosen(bench: Bench, request: Request) -> tuple[Gold, SliceIndex, Ints]:
    gold = bench.gold(request.path_params["gold"])
    index = bench.indexed(gold).index
    view = view_of(request.query_params.multi_items())
    return gold, index, chosen_rows(index, view, bench.notes(gold))


def _pieces(rows: Ints) -> Iterator[list[int]]:
    for first in range(0, len(rows), PIECE):
        yield rows[first : first + PIECE].tolist()


def _mentions(index: SliceIndex, rows: list[int]) -> Iterator[tuple[tuple[object, ...], Mapping[str, str]]]:
    """For each of the gold mentions, the values of the columns in `HEAD` and its outcomes by system."""
    columns = index.columns
    between = "" if columns.head.positions == "character" else " "
    for row in rows:
        sentence = int(columns.column("gold", "sentence")[row])
        words = columns.words(sentence)
        mark = gold_mark(index, row, words, chosen=True)
        cells = (
            sentence, columns.location(sentence), mark.start, mark.end, mark.label, mark.text,
            ",".join(mark.tough), between.join(words),
        )  # fmt: skip
        yield cells, mark.outcomes


def _saved_as(gold: Gold, name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{gold.slug}.{name}"'}
