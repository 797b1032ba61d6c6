"""Place tuples without offsets, as language models give them, on the text of gold.

An answer names the texts of its fillers: `{"head": "Ida", "type": "leads", "tail": "Marrow"}`, or a type with
`roles` and, for events, a `trigger`. Responses are parsed, and texts are placed, as `spanwise place` does:
each different text of a unit is one mention, and a text without a place is a filler that no mention equals.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from spanwise.corpus import Annotation
from spanwise.errors import InputError, at, many
from spanwise.formats import File, json_line, read
from spanwise.placement import checked, placement
from spanwise.placement.answers import fold, label_key
from spanwise.placement.parsing import STATUSES, Json, Status, loaded, repaired_json
from spanwise.relations.readers._records import entity
from spanwise.relations.records import Filler, FillerRecord, MentionRecord, TupleRecord, UnitRecord

_TYPES = ("type", "relation", "predicate", "label", "relation_type", "event_type")
_HEADS = ("head", "subject", "source", "arg1")
_TAILS = ("tail", "object", "target", "arg2")
_LABELS = ("type", "label", "entity_type")
_LISTS = ("tuples", "relations", "triples", "events", "answers", "output", "result", "results", "response")
_RESPONSES = ("response", "completion", "generated_text", "raw", "output")


class AnsweredText(Struct, frozen=True):
    """The text of a filler, and its label if the answer gives one."""

    text: str
    label: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What is the same for all spellings of a text and its label."""
        return fold(self.text), label_key(self.label)


class AnsweredTuple(Struct, frozen=True):
    """A tuple as a model gives it: fillers by role are texts."""

    type: str
    roles: tuple[tuple[str, AnsweredText], ...]
    trigger: AnsweredText | None = None

    @property
    def texts(self) -> list[AnsweredText]:
        """The texts of the trigger and of all fillers."""
        return [*([] if self.trigger is None else [self.trigger]), *(text for _, text in self.roles)]


class PlacedTuples(Struct, frozen=True):
    """The records of a model, and how its responses were read and its texts placed."""

    records: list[UnitRecord]
    statuses: dict[str, int]  # units by status, as `spanwise place` counts them
    texts: int  # different texts of all units
    unplaced: int  # those without a place

    def note(self, name: str) -> str:
        """How the answers of a system were read and placed, as a sentence."""
        listed = ", ".join(f"{number:,} {status}" for status, number in self.statuses.items() if number)
        where = f"{self.unplaced:,} of {many(self.texts, 'text')} without a place"
        return f"Answers of {name}: {listed or 'none'}; {where}."


def place_tuples(
    gold: Sequence[UnitRecord],
    source: object,
    *,
    policy: str = "first",
    level: str | None = None,
    threshold: float = 0.85,
    response: str | None = None,
) -> PlacedTuples:
    """Place the tuples of a file with one JSON value per line, or of a list with one item per unit.

    Args:
        gold: the records of gold, whose tokens or text the answers are placed on.
        source: a file or list of records; a record has an `id` of gold (else records are in gold's order) and
            its tuples under `relations`, `tuples` or `response`, or is a list of tuples.
        policy: "first", "all", "next" or "ordered", as in `spanwise.place`. As each different text is one
            mention, "first" is the default: a text stands for its first occurrence, wherever others stand.
            With "all", any of its occurrences is right.
        level: the last level at which to look for a text.
        threshold: the minimum similarity at the level "fuzzy".
        response: the field with the raw response of the model.

    Raises:
        InputError: a record has no tuples, or its id is not gold's.

    Examples:
        >>> from spanwise.relations.records import records_of
        >>> gold = records_of([{"id": "s", "tokens": ["Ida", "runs", "Marrow"]}], "gold")
        >>> placed = place_tuples(gold, [[{"head": "Ida", "type": "leads", "tail": "marrow"}]])
        >>> [(one.start, one.end) for one in placed.records[0].mentions]
        [(0, 1), (2, 3)]
    """
    choices = checked(policy=policy, level=level, threshold=threshold).with_places()
    statuses: dict[str, int] = dict.fromkeys(STATUSES, 0)
    answered: list[list[AnsweredTuple]] = [[] for _ in gold]
    read_units: set[int] = set()
    for unit, payload in _joined(gold, source, response):
        read_units.add(unit)
        status, answered[unit] = _parsed(payload)
        statuses[status] += 1
    statuses["absent"] = len(gold) - len(read_units)
    asked = [_texts(unit) for unit in answered]
    answers = [[{"text": text.text, "label": text.label} for text in unit.values()] for unit in asked]
    placed = placement(_annotation(gold), answers, choices)
    mentions, renamed = placed.annotation.mentions, placed.document.labels.renamed
    places: dict[tuple[int, str, str], list[tuple[int, int]]] = {}
    for (unit, start, end, label), text in zip(mentions.rows(), mentions.fields["answer"], strict=True):
        if start >= 0:
            places.setdefault((unit, str(text), label), []).append((start, end))
    records = []
    for unit, own in enumerate(gold):
        found = {
            key: (label, places.get((unit, text.text, label), []))
            for key, text in asked[unit].items()
            if (label := renamed.get(text.label, text.label)) is not None
        }
        records.append(_record(own, answered[unit], found))
    total = sum(map(len, asked))
    return PlacedTuples(records, dict(statuses), total, total - len(places))


def _texts(answered: Sequence[AnsweredTuple]) -> dict[tuple[str, str], AnsweredText]:
    """The different texts of a unit in order, each as it is first written."""
    texts: dict[tuple[str, str], AnsweredText] = {}
    for one in answered:
        for text in one.texts:
            texts.setdefault(text.key, text)
    return texts


def _annotation(gold: Sequence[UnitRecord]) -> Annotation:
    """The units of gold as an annotation to place answers on, with the labels that its mentions have."""
    units = []
    for one in gold:
        body = {"tokens": one.tokens} if one.tokens is not None else {"text": one.text or ""}
        spans = dict.fromkeys((it.start, it.end, it.label) for it in one.mentions or () if it.label)
        units.append({**body, "spans": [[*span] for span in spans]})
    return read(units)


def _record(
    own: UnitRecord,
    answered: Sequence[AnsweredTuple],
    found: Mapping[tuple[str, str], tuple[str, Sequence[tuple[int, int]]]],
) -> UnitRecord:
    """The record of one unit: a mention for each place, and the tuples between them.

    `found` holds the label and the places of each text.
    """
    mentions: list[MentionRecord] = []
    fillers: dict[tuple[str, str], Filler] = {}
    for key, (label, places) in found.items():
        names = [f"m{len(mentions) + number}" for number in range(1, len(places) + 1)]
        mentions += [
            MentionRecord(id=name, start=start, end=end, label=label)
            for name, (start, end) in zip(names, places, strict=True)
        ]
        if names:
            fillers[key] = entity(names)
    tuples = []
    for one in answered:
        if one.trigger is not None and one.trigger.key not in fillers:
            continue  # an event without a place for its trigger is not an event of the text
        roles: dict[str, list[Filler]] = {}
        for role, text in one.roles:
            roles.setdefault(role, []).append(fillers.get(text.key, FillerRecord(value=text.text)))
        shown = {role: listed[0] if len(listed) == 1 else listed for role, listed in roles.items()}
        trigger = None if one.trigger is None else fillers[one.trigger.key]
        tuples.append(TupleRecord(type=one.type, trigger=_mention(trigger), roles=shown))
    return UnitRecord(
        id=own.id, document=own.document, tokens=own.tokens, text=own.text, mentions=mentions, tuples=tuples
    )


def _mention(filler: Filler | None) -> Filler | None:
    """One mention for a trigger, which cannot be any of several."""
    return filler.any[0] if isinstance(filler, FillerRecord) and filler.any else filler


# ---- records and responses ----


def looks_answered(file: File) -> bool:
    """Whether the first line of a file holds tuples of texts without positions."""
    line = next((line for line in file.head.split(b"\n") if line.strip()), b"")
    try:
        value = loaded(line.decode("utf-8"))
    except ValueError:
        return False
    if isinstance(value, Mapping):
        if not {"mentions", "entities", "ner"}.isdisjoint(value):
            return False
        value = next((value[key] for key in (*_LISTS, *_RESPONSES) if key in value), None)
    if isinstance(value, list) and any(isinstance(one, Mapping) and "roles" in one for one in value):
        return False  # of ids of mentions
    return bool(_parsed(value)[1])


def _joined(gold: Sequence[UnitRecord], source: object, response: str | None) -> Iterable[tuple[int, Json]]:
    """The unit of each record, by id or else by order, and what holds its tuples."""
    if isinstance(source, str | os.PathLike):
        file = File(source)
        path = file.path
        lines = enumerate(file.text.split("\n"), start=1)
        values = [(number, json_line(path, number, line)) for number, line in lines if line.strip()]
    else:
        if not isinstance(source, Iterable) or isinstance(source, Mapping):
            raise InputError(f"answers are {type(source).__name__}, but must be a file or a list of records.")
        path, values = "<answers>", [*enumerate(source, start=1)]
    named = {str(one.id): number for number, one in enumerate(gold) if one.id is not None}
    ids = [str(value.get("id")) if isinstance(value, Mapping) else "" for _, value in values]
    by_id = bool(ids) and all(name in named for name in ids)
    if not by_id and len(values) != len(gold):
        raise InputError(
            at(path, None, f"{many(len(values), 'record')} without ids of gold cannot be joined with "
               f"{many(len(gold), 'unit')}.\nGive each record the id of its unit, or one record per unit in "
               "order.")
        )  # fmt: skip
    for order, (number, value) in enumerate(values):
        unit = named[ids[order]] if by_id else order
        yield unit, _payload(value, response, path, number)


def _payload(value: Json, response: str | None, path: str, number: int) -> Json:
    """The part of a record that holds the tuples."""
    if not isinstance(value, Mapping) or (_is_tuple(value) and response is None):
        return value
    keys = (response,) if response is not None else (*_LISTS, *_RESPONSES)
    key = next((key for key in keys if key in value), None)
    if key is None:
        raise InputError(
            at(path, number, f"the record has no field {response or 'relations'!r}: its fields are "
               f"{', '.join(map(str, value))}.\nGive the tuples as 'relations', or name their field.")
        )  # fmt: skip
    return value[key]


def _parsed(payload: Json) -> tuple[Status, list[AnsweredTuple]]:
    """The status of a unit and its tuples; truncated and fenced JSON is repaired as for mentions."""
    try:
        if not isinstance(payload, str):
            found = tuples_of(payload)
        else:
            final = payload.rpartition("</think>")[2].strip()
            try:
                found = tuples_of(loaded(final))
            except ValueError:
                repaired = repaired_json(final, tuples_of)
                return ("failed", []) if repaired is None else ("repaired", repaired.found)
    except (ValueError, RecursionError):
        return "failed", []
    return ("read" if found else "empty"), found


def tuples_of(value: Json) -> list[AnsweredTuple]:
    """The tuples in a JSON value: a list of objects or of triples, one object, or a wrapper.

    Raises:
        ValueError: the value has another shape.

    Examples:
        >>> [one.type for one in tuples_of({"relations": [["Ida", "leads", "Marrow"]]})]
        ['leads']
    """
    if isinstance(value, Mapping):
        if _is_tuple(value):
            return [_of_mapping(value)]
        lists = [value[key] for key in _LISTS if isinstance(value.get(key), list | Mapping)]
        if lists:
            return [one for listed in lists for one in tuples_of(listed)]
    if isinstance(value, list):
        return [_of_mapping(item) if isinstance(item, Mapping) else _of_triple(item) for item in value]
    raise ValueError("this is not a list of tuples")


def _is_tuple(value: Mapping[str, Json]) -> bool:
    return _first(value, _HEADS) is not None or "roles" in value or "trigger" in value


def _of_mapping(value: Mapping[str, Json]) -> AnsweredTuple:
    type = _first(value, _TYPES)
    if not isinstance(type, str):
        raise ValueError("a tuple has no type")
    given = value.get("roles", value.get("arguments"))
    trigger = value.get("trigger")
    if isinstance(given, Mapping):
        roles = [
            (str(role), _text(one))
            for role, listed in given.items()
            for one in (listed if isinstance(listed, list) else [listed])
        ]
    else:
        roles = [
            ("head", _text(_first(value, _HEADS), value.get("head_type", value.get("subject_type")))),
            ("tail", _text(_first(value, _TAILS), value.get("tail_type", value.get("object_type")))),
        ]
    return AnsweredTuple(type, tuple(roles), None if trigger is None else _text(trigger))


def _of_triple(item: Json) -> AnsweredTuple:
    """A triple of head, type and tail."""
    if not isinstance(item, list) or len(item) != 3 or not isinstance(item[1], str):
        raise ValueError("an item is not a tuple")
    return AnsweredTuple(item[1], (("head", _text(item[0])), ("tail", _text(item[2]))))


def _text(value: Json, label: Json = None) -> AnsweredText:
    """A filler: a text, or an object with a text and a label."""
    if isinstance(value, Mapping):
        value, label = _first(value, ("text", "name", "mention", "span")), _first(value, _LABELS) or label
    if not isinstance(value, str):
        raise ValueError("a filler is not a text")
    return AnsweredText(value, label if isinstance(label, str) else "")


def _first(value: Mapping[str, Json], keys: Sequence[str]) -> Json:
    return next((value[key] for key in keys if value.get(key) is not None), None)
