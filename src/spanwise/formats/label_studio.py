"""Label Studio's JSON exports: tasks with annotations and predictions, or the simplified JSON-MIN."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from math import isfinite, isnan
from typing import Any, Literal

from msgspec import Struct

from spanwise.corpus import Annotation, Pieces
from spanwise.errors import InputError, at
from spanwise.formats._format import CutSource, Cutting, Format, JsonRecord, Options, whole
from spanwise.formats._opening import File
from spanwise.formats._sentences import (
    Origin,
    Record,
    annotation,
    json_of,
    only_piece,
    score_of,
    texts_of,
)
from spanwise.formats._surveying import Batch
from spanwise.formats.annotators import check_annotator, completed_by, refuse_shared, text_of_task


def read(file: File, options: Options) -> Annotation:
    """Read the annotation of each task; tasks without one, or with a cancelled one, have no mentions.

    If a task has several annotations, `options.annotator` chooses one.
    """
    return _read_layer(file, json_of(file), TaskLayer(file.path, "annotations", options))


def read_layers(file: File, options: Options) -> dict[str, Annotation]:
    """Read gold from `annotations` and predicted mentions from `predictions`."""
    tasks = json_of(file)
    return {
        name: _read_layer(file, tasks, layer)
        for name, layer in _Tasks.of(file.path, options, merged=True).layers.items()
    }


def _read_layer(file: File, tasks: object, layer: TaskLayer) -> Annotation:
    if not isinstance(tasks, list):
        raise InputError(
            at(file.path, 1, "this is not a list of tasks.\nExport the project as JSON or JSON-MIN.")
        )
    units = layer.units(tasks, 1)
    layer.check()
    return annotation(units, Origin(file.path, "label-studio", layer.evidence, file.sha256), layer.options)


class TaskLayer(Struct):
    """Reads the annotations or the predictions of tasks, all at once or some at a time."""

    path: str
    name: Literal["annotations", "predictions"]
    options: Options
    whose: dict[str, list[str]] = {}  # the tasks of each annotator or model
    given: bool = False  # whether any task has annotations or predictions

    @property
    def evidence(self) -> str:
        """A description of what is read from the tasks."""
        return f"tasks with {self.name}"

    def units(self, items: Sequence[Any], first: int) -> list[Record]:
        """The texts of tasks, which are numbered from `first`."""
        units = []
        for number, task in enumerate(items, start=first):
            try:
                units.append(_task(task, number, self.path, self.done(task, number)))
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise InputError(
                    at(
                        self.path,
                        None,
                        f"task {number} does not have the structure of Label Studio's exports "
                        f"({type(error).__name__}: {error}).\n"
                        "Export the project as JSON or JSON-MIN.",
                    )
                ) from None
        return units

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


class _Tasks(Struct, frozen=True):
    """Reads the layers of tasks: the annotations, and the predictions if the file is `merged`."""

    path: str
    options: Options
    layers: Mapping[str, TaskLayer]

    @classmethod
    def of(cls, path: str, options: Options, merged: bool) -> _Tasks:
        """A reader that has not read any task."""
        gold = TaskLayer(path, "annotations", options)
        both = {"gold": gold, "predicted": TaskLayer(path, "predictions", options)}
        return cls(path, options, both if merged else {"only": gold})

    @property
    def kinds(self) -> dict[str, str]:
        """A description of each layer."""
        return {name: layer.evidence for name, layer in self.layers.items()}

    def batch(self, items: Sequence[object], first: int) -> Batch | None:
        """The content of some tasks; None if the texts of the layers differ."""
        origin = Origin(self.path, "label-studio")
        parts = {
            name: annotation(layer.units(items, first), origin, self.options)
            for name, layer in self.layers.items()
        }
        corpora = [part.corpus for part in parts.values()]
        if any(corpus.texts != corpora[0].texts for corpus in corpora):
            return None
        return Batch(corpora[0], mentions={name: part.mentions for name, part in parts.items()})

    def check(self) -> None:
        """Refuse tasks that several people annotated."""
        for layer in self.layers.values():
            layer.check()


def survey(file: File, options: Options, cutting: Cutting) -> CutSource | None:
    """Scan the list of tasks and decide where to cut it."""
    from spanwise.formats._json_surveys import survey_items

    opened = partial(_Tasks.of, file.path, options, cutting.merged)
    return survey_items("label-studio", opened, file, options, cutting)


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
    listed = _mentions(results)
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


def _mentions(results: Sequence[JsonRecord]) -> list[tuple[JsonRecord, tuple[Pieces, str]]]:
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
    read=read,
    read_layers=read_layers,
    write=write,
    recognise=recognise,
    survey=survey,
    source="https://labelstud.io/guide/export",
    holds=frozenset(("words", "white space", "documents", "document names", "nested", "scores")),
)
