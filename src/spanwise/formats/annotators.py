"""Sources with several annotators: Prodigy, doccano, Label Studio, CoNLL columns and projects."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from spanwise.corpus import Annotation, Pieces
from spanwise.errors import InputError, at, unknown
from spanwise.formats._columns import DOCSTART
from spanwise.formats._format import FORMATS, JsonRecord, Options
from spanwise.formats._opening import File
from spanwise.formats._sentences import Origin, Record, annotation, json_line
from spanwise.schemes import malformed

# Fields that may name a record's annotator; Prodigy writes the first two.
_WHO = ("_annotator_id", "_session_id", "annotator", "username", "user")
_SPANS = ("spans", "entities", "label", "labels")
_REFUSED = ("reject", "ignore")  # Prodigy's answers other than "accept"
_STARTS, _ENDS = ("start", "start_offset"), ("end", "end_offset")

Units = dict[str, dict[str, Record]]  # by annotator and text


def by_annotator(path: str | os.PathLike[str], options: Options) -> dict[str, Annotation] | None:
    """The annotation of each annotator of a JSON file or a project; None if it names no annotators."""
    file = File(path, encoding=options.encoding, unpacked=options.limits.unpacked)
    for form in FORMATS:
        if form.read_annotators is not None and form.recognise(file) is not None:
            return form.read_annotators(file, options)
    if file.is_folder or file.head.lstrip()[:1] not in (b"{", b"["):
        return None
    records = list(_records(file))
    reader = _reader(records)
    if reader is None:
        return None
    kind, read = reader
    units: Units = {}
    for number, record in enumerate(records, start=1):
        try:
            read(units, number, record)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                at(file.path, None, f"record {number} does not have the structure of {kind} exports "
                   f"({type(error).__name__}: {error}).\nExport the project again.")
            ) from None  # fmt: skip
    return {
        who: annotation(
            list(own.values()), Origin(file.path, kind, f"records of {who}", file.sha256), options
        )
        for who, own in sorted(units.items())
    }


def refused(record: Mapping[str, object]) -> str | None:
    """A Prodigy record's answer if it was not accepted, so that its spans are not gold, else None."""
    answer = record.get("answer")
    return answer if answer in _REFUSED else None


def refused_note(counts: Mapping[str, int], records: int) -> str:
    """A note on how many records were left out, by answer.

    Examples:
        >>> refused_note({"reject": 2, "ignore": 1}, 10)
        '3 of 10 records were left out: 2 rejected, 1 ignored'
    """
    listed = ", ".join(
        f"{counts[kind]:,} {kind.removesuffix('e')}ed" for kind in _REFUSED if counts.get(kind)
    )
    return f"{sum(counts.values()):,} of {records:,} records were left out: {listed}"


def names_annotators(records: Sequence[object]) -> bool:
    """Whether records name their annotators, so that they cannot be read in parts."""
    return _reader(records) is not None


def refuse_several(path: str, records: Sequence[object]) -> None:
    """Refuse records in which several annotators annotated the same text: one of them must be chosen."""
    reader = _reader(records)
    if reader is None:
        return
    units: Units = {}
    for number, record in enumerate(records, start=1):
        reader[1](units, number, record)
    refuse_shared(path, {who: [*own] for who, own in units.items()})


def refuse_shared(path: str, texts: Mapping[str, Sequence[str]]) -> None:
    """Refuse if two annotators annotated the same text; `texts` lists the texts of each annotator."""
    seen: dict[str, str] = {}
    for who, names in texts.items():
        for name in names:
            if seen.setdefault(name, who) != who:
                listed = ", ".join(sorted(texts))
                raise InputError(
                    at(path, None, f"{len(texts)} annotators marked the same texts: {listed}.\nChoose one "
                       f"with annotator={min(texts)!r}, or measure agreement with: spanwise agree {path}")
                )  # fmt: skip


def chosen_records(records: Sequence[object], annotator: str) -> list[Any]:
    """The records of one annotator, or all records reduced to this annotator's spans."""
    kept: list[object] = []
    annotators: set[str] = set()
    for record in records:
        if isinstance(record, Mapping) and (key := _signed(record)) is not None:
            annotators.update(str(span.get("user")) for span in record[key])
            spans = [span for span in record[key] if str(span.get("user")) == annotator]
            kept.append({**record, key: spans})
        elif isinstance(record, Mapping) and (who := _who(record)) is not None:
            annotators.add(who)
            kept += [record] if who == annotator else []
    check_annotator(annotator, annotators)
    return kept if annotators else list(records)


def check_annotator(annotator: str, names: Collection[str]) -> None:
    """Refuse an unknown annotator, unless the file names none at all, as is usual for predictions."""
    if names and annotator not in names:
        raise unknown("annotator", annotator, names)


def tag_columns(path: str | os.PathLike[str], options: Options) -> list[int]:
    """The numbers of the last columns of a CoNLL file, as far as they hold tags, in order."""
    file = File(path, encoding=options.encoding, unpacked=options.limits.unpacked)
    rows = [line.split() for line in file.head.split(b"\n")[:-1]]
    mark = None if options.comments is None else options.comments.encode()
    rows = [row for row in rows if row and row[0] != DOCSTART and not (mark and row[0].startswith(mark))]
    width = min(map(len, rows), default=0)
    columns: list[int] = []
    for column in range(width - 1, 0, -1):
        values = {row[column].decode("utf-8", "replace") for row in rows}
        if any(malformed(value) for value in values) or not any(value == "O" for value in values):
            break
        columns.append(column)
    return columns[::-1]


def _records(file: File) -> Iterator[object]:
    text = file.text
    if text.lstrip().startswith("["):
        try:
            whole = json.loads(text)
        except (ValueError, RecursionError):
            whole = None  # one list per line, which names no annotators, or a file that reading will refuse
        yield from whole if isinstance(whole, list) else ()
        return
    for line, row in enumerate(text.split("\n"), start=1):
        if row.strip():
            yield json_line(file.path, line, row)


def _reader(records: Sequence[object]) -> tuple[str, Callable[[Units, int, Any], None]] | None:
    """The tool that wrote the file, and the function that reads its records; None if it is unknown."""
    objects = [record for record in records if isinstance(record, Mapping)]
    if not objects or len(objects) < len(records):
        return None
    if any("data" in item and isinstance(item.get("annotations"), list) for item in objects):
        return "label-studio", _label_studio
    if any(_signed(item) is not None for item in objects):
        return "doccano", _doccano
    if all("text" in item for item in objects) and any(_who(item) is not None for item in objects):
        kind = (
            "prodigy"
            if any("_session_id" in item or "_annotator_id" in item for item in objects)
            else "jsonl"
        )
        return kind, _prodigy
    return None


def _who(record: Mapping[str, object]) -> str | None:
    return next((str(record[key]) for key in _WHO if record.get(key) is not None), None)


def _signed(record: Mapping[str, object]) -> str | None:
    """The key of the list of spans that name their users; None if there is none."""
    for key in ("annotations", *_SPANS):
        listed = record.get(key)
        if isinstance(listed, list) and any(isinstance(span, Mapping) and "user" in span for span in listed):
            return key
    return None


def _add(units: Units, who: str, key: str, unit: Record) -> None:
    """Add an annotator's version of a text; as in the tools, the last version counts."""
    units.setdefault(who, {})[key] = unit


def _prodigy(units: Units, number: int, record: JsonRecord) -> None:
    """Add a record, which holds one annotator's spans on one text, unless it was rejected or ignored."""
    who = _who(record)
    if who is None or refused(record):
        return
    text = record["text"]
    spans: list[object] = next((record[key] for key in _SPANS if isinstance(record.get(key), list)), [])
    name = next((str(record[key]) for key in ("id", "_input_hash") if key in record), text)
    _add(units, who, name, Record(text, [_span(span) for span in spans], name))


def _doccano(units: Units, number: int, record: JsonRecord) -> None:
    """Add a text whose spans name their users; a user without spans counts as not having annotated it."""
    text, name = record["text"], str(record.get("id", number))
    users: dict[str, list[tuple[Pieces, str]]] = {}
    key = _signed(record)
    for span in record[key] if key is not None else ():
        users.setdefault(str(span["user"]), []).append(_span(span))
    for who, spans in users.items():
        _add(units, who, name, Record(text, spans, name))


def _span(span: Any) -> tuple[Pieces, str]:
    start: Any
    end: Any
    if isinstance(span, Sequence) and not isinstance(span, str):
        start, end, label = span[:3]
    else:
        start = next((span[key] for key in _STARTS if key in span), None)
        end = next((span[key] for key in _ENDS if key in span), None)
        label = span["label"]
    return ((int(start), int(end)),), str(label)


def _label_studio(units: Units, number: int, task: JsonRecord) -> None:
    """Add each annotation of a task that was not cancelled, under the annotator who completed it."""
    name = str(task.get("id", number))
    for index, work in enumerate(task.get("annotations") or (), start=1):
        if work.get("was_cancelled"):
            continue
        results = [result.get("value", {}) for result in work.get("result", [])]
        labeled = [value for value in results if "labels" in value]
        spans = [
            (((int(value["start"]), int(value["end"])),), str(label))
            for value in labeled
            for label in value["labels"]
        ]
        text = text_of_task(task["data"], labeled)
        if text is None:
            raise ValueError(f"no field holds the text; there are {sorted(task['data'])}")
        _add(units, completed_by(work, index), name, Record(text, spans, name))


def completed_by(annotation: Mapping[str, object], index: int) -> str:
    """The annotator who completed a Label Studio annotation; if none is named, its number in the task."""
    who = annotation.get("completed_by")
    if isinstance(who, Mapping):
        who = who.get("email") or who.get("username") or who.get("id")
    return f"annotation {index}" if who is None else str(who)


def text_of_task(data: JsonRecord, spans: Sequence[JsonRecord]) -> str | None:
    """The text of a Label Studio task to which spans refer; None if no field can be it.

    It is the field `text`, the field that contains the quotes of all spans, or the only field with text.
    """
    strings = {key: value for key, value in data.items() if isinstance(value, str)}
    if "text" in strings:
        return strings["text"]
    quoted = [span for span in spans if "text" in span]
    for value in strings.values():
        if quoted and all(value[int(span["start"]) : int(span["end"])] == span["text"] for span in quoted):
            return value
    return next(iter(strings.values())) if len(strings) == 1 else None
