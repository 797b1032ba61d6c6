"""Relations, and choices per region, in Label Studio's exports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spanwise.errors import InputError, at
from spanwise.formats import File, json_of, whole
from spanwise.formats import Options as ReadOptions
from spanwise.formats.annotators import text_of_task
from spanwise.formats.label_studio import TaskLayer, recognise
from spanwise.relations.readers._records import (
    Given,
    Options,
    attribute,
    mention,
    relation,
    structure,
)
from spanwise.relations.records import TupleFormat, TupleRecord, UnitRecord


def read(file: File, options: Options) -> Iterator[UnitRecord]:
    """The tasks of an export; with the option `predicted`, their predictions, if they have any.

    A relation drawn to the left goes from its second region to its first. Choices per region are attributes.
    """
    tasks = json_of(file)
    if not isinstance(tasks, list):
        raise InputError(
            at(file.path, 1, "this is not a list of tasks.\nExport the project as JSON, not as JSON-MIN.")
        )
    predicted = options.get("predicted") and any(
        isinstance(task, Mapping) and task.get("predictions") for task in tasks
    )
    layer = TaskLayer(
        file.path,
        "predictions" if predicted else "annotations",
        ReadOptions(annotator=options.get("annotator")),
    )
    for number, task in enumerate(tasks, start=1):
        with structure(file.path, f"task {number}", "the structure of Label Studio's JSON export"):
            done = layer.done(task, number)
            record = _record(task, done[0].get("result", []) if done else [], number)
        yield record
    layer.check()


def _record(task: Given, results: Any, number: int) -> UnitRecord:
    text = text_of_task(task["data"], [result.get("value", {}) for result in results])
    if text is None:
        raise ValueError("it has no text field")
    mentions = [
        mention(f"{result['id']}{'' if index == 0 else f'.{index}'}", (_span(result),), str(label))
        for result in results
        for index, label in enumerate(result.get("value", {}).get("labels") or ())
    ]
    known = {str(given.id) for given in mentions}
    return UnitRecord(
        id=str(task.get("id", number)),
        text=text,
        mentions=mentions,
        tuples=[*_relations(results, known), *_choices(results, known)],
    )


def _span(result: Given) -> tuple[int, int]:
    return whole(result["value"]["start"]), whole(result["value"]["end"])


def _relations(results: Sequence[Given], known: set[str]) -> Iterator[TupleRecord]:
    for result in results:
        if result.get("type") == "relation":
            head, tail = str(result["from_id"]), str(result["to_id"])
            if missing := sorted({head, tail} - known):
                raise ValueError(f"a relation names the region {missing[0]!r}, which has no label")
            if result.get("direction") == "left":
                head, tail = tail, head
            for type in result.get("labels") or ["relation"]:
                yield relation(str(type), head, tail)


def _choices(results: Sequence[Given], known: set[str]) -> Iterator[TupleRecord]:
    for result in results:
        if result.get("type") == "choices" and str(result.get("id")) in known:
            for choice in result["value"]["choices"]:
                yield attribute(str(result.get("from_name", "choice")), str(result["id"]), str(choice))


def recognise_regions(file: File) -> str | None:
    """Recognise a JSON list of tasks with data and annotations."""
    return recognise(file) if b'"data"' in file.head else None


FORMAT = TupleFormat(
    name="label-studio",
    summary="Label Studio's JSON export: relations, and choices per region",
    read=read,
    recognise=recognise_regions,
    source="https://labelstud.io/guide/export",
)
