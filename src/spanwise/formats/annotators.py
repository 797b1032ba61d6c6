"""Records of several annotators: exports of Prodigy, doccano and Label Studio."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from spanwise.corpus import Annotation, Source
from spanwise.errors import InputError, at, unknown
from spanwise.formats._format import JsonRecord, Options
from spanwise.formats._opening import File
from spanwise.registry import resolve

# Fields that may name a record's annotator; Prodigy writes the first two.
_WHO = ("_annotator_id", "_session_id", "annotator", "username", "user")
_SPANS = ("spans", "entities", "label", "labels")
_REFUSED = ("reject", "ignore")  # Prodigy's answers other than "accept"

Version = tuple[str, str, JsonRecord]  # an annotator, the name of a text, and its record


def by_annotator(file: File, options: Options) -> dict[str, Annotation] | None:
    """The annotation of each annotator of a JSON file; None if it names no annotators.

    Each has the last of their versions of a text, as in the tools, read as any other record.
    """
    from spanwise.formats.jsonl import annotation_of, gather_records, records

    numbered = list(records(file))
    versions = _versions(file.path, [record for _, record in numbered], [line for line, _ in numbered])
    if versions is None:
        return None
    kind, own = versions
    options = replace(options, annotator=None)
    result = {}
    for who, texts in sorted(own.items()):
        read = annotation_of(gather_records(file.path, texts.values(), options), options, file.sha256)
        reading = replace(read.reading, format=kind, evidence=f"records of {who}")
        corpus = replace(read.corpus, source=Source(file.path))
        result[who] = replace(read, corpus=corpus, reading=reading)
    return result


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


def refuse_several(path: str, records: Sequence[JsonRecord]) -> None:
    """Refuse records in which several annotators annotated the same text: one of them must be chosen."""
    versions = _versions(path, records, [0] * len(records))
    if versions is not None:
        refuse_shared(path, {who: [*own] for who, own in versions[1].items()})


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


def _versions(
    path: str, records: Sequence[JsonRecord], lines: Sequence[int]
) -> tuple[str, dict[str, dict[str, tuple[int, JsonRecord]]]] | None:
    """The tool that wrote records, and each annotator's record of each text, with its line, by its name.

    None if they name no annotators.
    """
    reader = _reader(records)
    if reader is None:
        return None
    kind, read = reader
    versions: dict[str, dict[str, tuple[int, JsonRecord]]] = {}
    for number, (line, record) in enumerate(zip(lines, records, strict=True), start=1):
        try:
            for who, name, own in read(record, number):
                versions.setdefault(who, {})[name] = line, {**own, "id": name, "document": name}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                at(path, None, f"record {number} does not have the structure of {kind} exports "
                   f"({type(error).__name__}: {error}).\nExport the project again.")
            ) from None  # fmt: skip
    return kind, versions


def _reader(records: Sequence[object]) -> tuple[str, Callable[[JsonRecord, int], Iterator[Version]]] | None:
    """The tool that wrote the file, and the function that reads its records; None if it is unknown."""
    objects = [record for record in records if isinstance(record, Mapping)]
    if not objects or len(objects) < len(records):
        return None
    if any("data" in item and isinstance(item.get("annotations"), list) for item in objects):
        return "label-studio", resolve("formats.label_studio:by_person")
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


def _prodigy(record: JsonRecord, number: int) -> Iterator[Version]:
    """A record, which holds one annotator's spans on one text, unless it was rejected or ignored."""
    who = _who(record)
    if who is not None and not refused(record):
        name = next((str(record[key]) for key in ("id", "_input_hash") if key in record), record["text"])
        unmarked = not any(isinstance(record.get(key), list) for key in _SPANS)
        yield who, name, {**record, "spans": []} if unmarked else record


def _doccano(record: JsonRecord, number: int) -> Iterator[Version]:
    """A text whose spans name their users; a user without spans counts as not having annotated it."""
    key = _signed(record)
    listed = record[key] if key is not None else ()
    for who in dict.fromkeys(str(span["user"]) for span in listed):
        own = [span for span in listed if str(span["user"]) == who]
        yield who, str(record.get("id", number)), {**record, str(key): own}


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
