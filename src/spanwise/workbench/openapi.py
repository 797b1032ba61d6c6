"""The operations of the API, and their description as OpenAPI."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from spanwise import __version__
from spanwise.document.evaluation import Evaluation, UnitCounts
from spanwise.workbench.bench import UPLOAD_TAGS
from spanwise.workbench.board import Leaderboard
from spanwise.workbench.drawing import (
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
)
from spanwise.workbench.index import Searched, SliceAnswer, SliceTest
from spanwise.workbench.jobs import OPTIONS
from spanwise.workbench.store import Gold, Note, Slice
from spanwise.workbench.thresholds import GateAnswer
from spanwise.workbench.weakness import SlicePoint

PREFIX = "/api/v1"


class Operation(Struct, frozen=True):
    """An HTTP method on a path."""

    method: str
    path: str  # after the prefix
    name: str  # of the function in `api` that answers
    summary: str
    answer: object = None  # the type of the response body; None if it has none
    body: object = None  # the type of the request body
    query: tuple[str, ...] = ()
    status: int = 200
    conditions: bool = False  # whether query parameters may be conditions on mentions


OPERATIONS = (
    Operation("GET", "/health", "health", "whether the server is up", Health),
    Operation("GET", "/openapi.json", "openapi", "this description", dict[str, Any]),
    Operation("GET", "/golds", "golds", "the gold files that have results", list[Gold]),
    Operation(
        "POST", "/golds", "add_gold", "register a gold file in the folder", Gold, GoldRequest, status=201,
    ),
    Operation(
        "GET", "/golds/{gold}/results", "results", "the results for a gold file", list[ResultSummary],
    ),
    Operation(
        "GET", "/golds/{gold}/leaderboard", "leaderboard",
        "the systems in order, the tests of all pairs, and the letters of those that each is better than",
        Leaderboard, query=("score", "label", "q", "tag", "runs", "sort", "after"),
    ),
    Operation(
        "POST", "/golds/{gold}/reference", "set_reference",
        "choose the result that the history of its system is compared with", ResultSummary,
        ReferenceRequest,
    ),
    Operation(
        "PUT", "/golds/{gold}/results", "upload", "send predictions as the body; they are evaluated",
        ShownJob, bytes, ("system", "name", *OPTIONS, *UPLOAD_TAGS), 202,
    ),
    Operation("GET", "/results/{result}", "result", "the document, unchanged", Evaluation),
    Operation("GET", "/results/{result}/units", "units", "its counts per document or sentence", UnitCounts),
    Operation(
        "GET", "/golds/{gold}/comparison", "comparison", "two results, by number or latest:NAME",
        ResultComparison, query=("a", "b", "score", "slice"), conditions=True,
    ),
    Operation(
        "GET", "/golds/{gold}/weak", "weak",
        "slices where a system misses the most, or where two systems differ; one look", Searched,
        query=("a", "b"),
    ),
    Operation(
        "GET", "/golds/{gold}/slices/{slug}/history", "slice_history",
        "a saved slice in every result: whether it is weak, and confirmed by new documents",
        list[SlicePoint],
    ),
    Operation(
        "GET", "/golds/{gold}/slice", "slice",
        "counts and scores of every system on the selected mentions; with intervals on request",
        SliceAnswer, query=("intervals",), conditions=True,
    ),
    Operation(
        "GET", "/golds/{gold}/test", "test",
        "the paired test of two systems on the selected mentions, and the level it is held against",
        SliceTest, query=("a", "b"), conditions=True,
    ),
    Operation(
        "GET", "/golds/{gold}/mentions", "mentions", "sentences with the selected mentions", Sentences,
        query=("after", "limit"), conditions=True,
    ),
    Operation("GET", "/golds/{gold}/sentences/{number}", "sentence", "one sentence with its marks", Drawn),
    Operation("GET", "/golds/{gold}/slices", "slices", "the saved slices", list[Slice]),
    Operation("POST", "/golds/{gold}/slices", "add_slice", "save a slice", Slice, SliceRequest, status=201),
    Operation(
        "PUT", "/golds/{gold}/slices/{slug}", "change_slice", "change a slice; If-Match names its version",
        Slice, SliceRequest,
    ),
    Operation(
        "DELETE", "/golds/{gold}/slices/{slug}", "remove_slice",
        "delete a slice; If-Match names its version", status=204,
    ),
    Operation("GET", "/golds/{gold}/notes", "notes", "the notes on mentions", list[Note]),
    Operation(
        "POST", "/golds/{gold}/notes", "add_note", "add a note on a mention", Note, NoteRequest,
        status=201,
    ),
    Operation(
        "PUT", "/golds/{gold}/notes/{note}", "change_note", "change a note; If-Match names its version",
        Note, NoteChange,
    ),
    Operation(
        "DELETE", "/golds/{gold}/notes/{note}", "remove_note", "remove a note; If-Match names its version",
        status=204,
    ),
    Operation(
        "GET", "/golds/{gold}/worksheet", "worksheet",
        "the notes as a worksheet (csv, jsonl or xlsx) for spanwise suspects --apply", str,
        query=("format",),
    ),
    Operation(
        "GET", "/golds/{gold}/gate", "gate",
        "each threshold for the latest result of each system: passed, failed or not checked", GateAnswer,
        query=("result",),
    ),
    Operation(
        "GET", "/documents", "documents", "the documents of other verbs in the folder, and their answers",
        list[DocumentSummary],
    ),
    Operation("GET", "/documents/{document}", "document", "the document, unchanged", dict[str, Any]),
    Operation("GET", "/jobs", "jobs", "the latest evaluations of uploads", list[ShownJob]),
    Operation("GET", "/jobs/{job}", "job", "the progress of an evaluation", ShownJob),
    Operation(
        "POST", "/jobs/{job}", "again", "evaluate the same upload with other options", ShownJob,
        dict[str, str], status=202,
    ),
    Operation("DELETE", "/jobs/{job}", "cancel", "cancel an evaluation", status=204),
    Operation("GET", "/events", "events", "events as text/event-stream; Last-Event-ID resumes", str),
)  # fmt: skip


def description() -> dict[str, object]:
    """The description of the API as an OpenAPI 3.1 document."""
    types = [
        kind for operation in OPERATIONS for kind in (operation.answer, operation.body) if _has_schema(kind)
    ]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    schema_of = {repr(kind): schema for kind, schema in zip(types, schemas, strict=True)}
    paths: dict[str, dict[str, object]] = {}
    for operation in OPERATIONS:
        entry: dict[str, object] = {
            "operationId": operation.name,
            "summary": operation.summary,
            "parameters": _parameters(operation),
            "responses": {
                str(operation.status): {
                    "description": operation.summary,
                    **_content(operation.answer, schema_of),
                },
                "default": {"description": "what is wrong", "content": {"application/problem+json": {}}},
            },
        }
        if operation.body is not None:
            entry["requestBody"] = {"required": True, **_content(operation.body, schema_of)}
        paths.setdefault(PREFIX + operation.path, {})[operation.method.lower()] = entry
    document = {
        "openapi": "3.1.0",
        "info": {"title": "spanwise workbench", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }
    plain: dict[str, object] = msgspec.json.decode(msgspec.json.encode(document))
    return plain


def _has_schema(kind: object) -> bool:
    return kind not in (None, bytes, str)


def _content(kind: object, schema_of: Mapping[str, object]) -> dict[str, object]:
    if kind is None:
        return {}
    if kind is bytes:
        return {"content": {"application/octet-stream": {}}}
    if kind is str:
        return {"content": {"text/plain": {"schema": {"type": "string"}}}}
    return {"content": {"application/json": {"schema": schema_of[repr(kind)]}}}


def _parameters(operation: Operation) -> list[dict[str, object]]:
    parameters: list[dict[str, object]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    parameters += [{"name": name, "in": "query", "schema": {"type": "string"}} for name in operation.query]
    if operation.conditions:
        free = {"type": "object", "additionalProperties": {"type": "string"}}
        parameters.append(
            {"name": "conditions", "in": "query", "style": "form", "explode": True, "schema": free}
        )
    return parameters
