"""Label Studio's JSON exports: tasks with annotations and predictions, or the simplified JSON-MIN."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, isnan
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from spanwise.corpus import Annotation, Pieces
from spanwise.errors import InputError, at
from spanwise.formats._format import Format, JsonRecord, Options, Problem, whole
from spanwise.formats._opening import File
from spanwise.formats._sentences import Part, Record, only_piece, score_of, texts_of
from spanwise.formats.annotators import (
    Version,
    by_annotator,
    check_annotator,
    completed_by,
    refuse_shared,
    text_of_task,
)


class TaskLayer(Struct):
    """Reads the annotations or the predictions of tasks, all at once or some at a time."""

    path: str
    name: Literal["annotations", "predictions"]
    options: Options
    whose: dict[str, list[str]] = {}  # the tasks of each annotator or model
    given: bool = False  # whether any task has annotations or predictions

    def done(self, task: JsonRecord, number: int) -> list[Mapping[str, object]]:
        """The results of a task that were not cancelled, by the chosen annotator or by all."""
        listed = task.get(self.name) or ()
        self.given |= bool(listed)
        done = [work for work in listed if not work.get("was_cancelled")]
        people = [_who(work, index, self.name) for index, work in enumerate(done, start=1)]
        for who in people:
            self.whose.setdefault(who, []).append(str(task.get("id", number)))
        if self.name == "predictions" or self.options.annotator is None:
            return done
        return [work for work, who in zip(done, people, strict=True) if who == self.options.annotator]

    def check(self) -> None:
        """Refuse tasks with results of several annotators or models, unless one was chosen."""
        if self.name == "predictions":
            if not self.given:
                raise InputError(
                    at(self.path, None, "no task has predictions.\nExport them with the project, or give the "
                       "predictions as another file.")
                )  # fmt: skip
            _refuse_models(self.path, self.whose)
        elif self.options.annotator is None:
            refuse_shared(self.path, self.whose)
        else:
            check_annotator(self.options.annotator, self.whose)


class Tasks(Struct):
    """The annotations and the predictions of a file's tasks."""

    gold: TaskLayer
    predicted: TaskLayer
    merged: bool = False  # whether the predictions are wanted, too

    @classmethod
    def of(cls, file: File, options: Options) -> Tasks:
        """Both layers, of which no task has been read."""
        return cls(TaskLayer(file.path, "annotations", options), TaskLayer(file.path, "predictions", options))

    def check(self) -> None:
        """Refuse tasks that several people annotated."""
        self.gold.check()
        if self.merged:
            self.predicted.check()


def records(part: Part, options: Options) -> Iterator[Record | Problem]:
    """The text of each task; tasks without an annotation, or with a cancelled one, have no mentions.

    If a task has several annotations, `options.annotator` chooses one.
    """
    head: Tasks = part.head
    head.merged |= part.merged
    for number, task in enumerate(part.items, start=part.first):
        try:
            record = _task(task, number, part.path, head.gold.done(task, number))
            if part.merged:
                predicted = _task(task, number, part.path, head.predicted.done(task, number))
                record = replace(record, predicted=predicted)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            yield Problem(
                None,
                f"task {number} does not have the structure of Label Studio's exports "
                f"({type(error).__name__}: {error}).\nExport the project as JSON or JSON-MIN.",
            )
        else:
            yield record


def _who(annotation: Mapping[str, object], index: int, layer: str) -> str:
    """The annotator of an annotation, or the model version of a prediction."""
    if layer == "annotations":
        return completed_by(annotation, index)
    return str(annotation.get("model_version") or f"prediction {index}")


def _refuse_models(path: str, whose: Mapping[str, Sequence[str]]) -> None:
    """Refuse tasks with predictions of several models, of which only the first would be read."""
    if len(whose) > 1 and sum(map(len, whose.values())) > len(
        {task for own in whose.values() for task in own}
    ):
        raise InputError(
            at(path, None, f"tasks have predictions of {len(whose)} models: {', '.join(sorted(whose))}.\n"
               "Keep those of one in the export, or give the predictions as files of their own.")
        )  # fmt: skip


def _task(task: JsonRecord, number: int, path: str, done: Sequence[JsonRecord]) -> Record:
    name = str(task.get("id", number))
    if "data" in task:
        results = done[0].get("result", []) if done else []
        text = _text(task["data"], results, path, number)
        return _standoff(text, results, name, f"{path}: task {number}")
    values = [value for key, value in task.items() if isinstance(value, list) and _are_spans(value)]
    results = [{"value": span} for value in values for span in value]
    return _standoff(_text(task, results, path, number), results, name, f"{path}: task {number}")


def _standoff(text: str, results: Sequence[JsonRecord], name: str, where: str) -> Record:
    listed = mentions_in(results)
    scores = [score_of(result, where) for result, _ in listed]
    mentions = [mention for _, mention in listed]
    return Record(text, mentions, name, scores=scores if any(map(isfinite, scores)) else ())


def _are_spans(value: Sequence[object]) -> bool:
    return bool(value) and all(isinstance(span, dict) and "start" in span and "end" in span for span in value)


def _text(data: JsonRecord, results: Sequence[JsonRecord], path: str, number: int) -> str:
    text = text_of_task(data, [result.get("value", {}) for result in results])
    if text is None:
        raise InputError(
            at(
                path,
                None,
                f"task {number} has no text: its fields are {sorted(data)}.\nName the text field 'text'.",
            )
        )
    return text


def mentions_in(results: Sequence[JsonRecord]) -> list[tuple[JsonRecord, tuple[Pieces, str]]]:
    """The mentions, each with the result that holds it."""
    mentions: list[tuple[JsonRecord, tuple[Pieces, str]]] = []
    for result in results:
        value = result.get("value", {})
        labels = value.get("labels")
        if labels is None:
            continue  # relations, choices and other results are not mentions
        span = (whole(value["start"]), whole(value["end"]))
        mentions.extend((result, ((span,), str(label))) for label in labels)
    return mentions


def by_person(task: JsonRecord, number: int) -> Iterator[Version]:
    """Each annotation of a task that was not cancelled, under the annotator who completed it."""
    for index, work in enumerate(task.get("annotations") or (), start=1):
        if work.get("was_cancelled"):
            continue
        results = work.get("result", [])
        text = text_of_task(
            task["data"], [value for one in results if "labels" in (value := one.get("value", {}))]
        )
        if text is None:
            raise ValueError(f"no field holds the text; there are {sorted(task['data'])}")
        spans = [[*pieces[0], label] for _, (pieces, label) in mentions_in(results)]
        yield completed_by(work, index), str(task.get("id", number)), {"text": text, "spans": spans}


def write(annotation: Annotation, scheme: str | None) -> bytes:
    """The bytes of a JSON export with one annotation per task."""
    tasks = []
    for unit in texts_of(annotation):
        text = str(unit.body)
        results = []
        for number, (pieces, label) in enumerate(unit.mentions):
            start, end = only_piece(pieces, label, unit, "label-studio")
            value = {"start": start, "end": end, "text": text[start:end], "labels": [label]}
            result: dict[str, object] = {
                "id": f"m{number}",
                "from_name": "label",
                "to_name": "text",
                "type": "labels",
                "value": value,
            }
            if unit.scores and not isnan(unit.scores[number]):
                result["score"] = unit.scores[number]
            results.append(result)
        tasks.append({"id": unit.id, "data": {"text": text}, "annotations": [{"result": results}]})
    return (json.dumps(tasks, ensure_ascii=False, indent=1) + "\n").encode("utf-8")


def recognise(file: File) -> str | None:
    """Recognise a JSON list of tasks with data and annotations, or with labels, starts and ends."""
    head = file.head.lstrip()
    if not head.startswith(b"["):
        return None
    if b'"data"' in head and (b'"annotations"' in head or b'"predictions"' in head):
        return "a list of tasks with 'data' and 'annotations'"
    return "a list with 'labels' at 'start' and 'end'" if _is_short(head) else None


def _is_short(head: bytes) -> bool:
    return all(key in head for key in (b'"labels"', b'"start"', b'"end"'))


FORMAT = Format(
    name="label-studio",
    summary="Label Studio's JSON and JSON-MIN exports",
    recognise=recognise,
    records=records,
    no_list="this is not a list of tasks.\nExport the project as JSON or JSON-MIN.",
    opened=Tasks.of,
    layers={"gold": "tasks with annotations", "predicted": "tasks with predictions"},
    write=write,
    read_annotators=by_annotator,
    source="https://labelstud.io/guide/export",
    holds=frozenset(("words", "white space", "documents", "document names", "nested", "scores")),
)
