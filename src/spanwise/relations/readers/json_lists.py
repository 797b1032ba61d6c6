"""Tuples in JSON of other programs: SpERT's sentences, DocRED's documents, DyGIE++'s and PURE's lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any

from spanwise.errors import InputError, at
from spanwise.formats import File, json_line, json_of, whole
from spanwise.relations.readers._records import Given, Options, entity, mention, relation, structure, within
from spanwise.relations.records import (
    Filler,
    FillerRecord,
    MentionRecord,
    TupleFormat,
    TupleRecord,
    UnitRecord,
)


def _listed(file: File) -> Sequence[Any]:
    """The JSON list in a file."""
    rows = json_of(file)
    if not isinstance(rows, list):
        raise InputError(at(file.path, 1, "this is not a list of records.\nExpected [{…}, {…}]."))
    return rows


# ---- SpERT: tokens, entities and relations between the entities' numbers ----

_SPERT = (
    "'tokens', 'entities' with 'type', 'start' and 'end', and 'relations' with 'type' and the numbers of "
    "entities as 'head' and 'tail'"
)


def read_spert(file: File, options: Options) -> Iterator[UnitRecord]:
    """The sentences of a list in SpERT's format."""
    for number, row in enumerate(_listed(file), start=1):
        with structure(file.path, f"sentence {number}", _SPERT):
            record = _spert(row, number)
        yield record


def _spert(row: Given, number: int) -> UnitRecord:
    names = [f"m{index}" for index in range(1, len(row["entities"]) + 1)]
    mentions = [
        mention(name, ((whole(given["start"]), whole(given["end"])),), str(given["type"]))
        for name, given in zip(names, row["entities"], strict=True)
    ]
    tuples = [
        relation(
            str(given["type"]), within(names, given["head"], "entity"), within(names, given["tail"], "entity")
        )
        for given in row["relations"]
    ]
    tokens = [str(token) for token in row["tokens"]]
    return UnitRecord(id=str(row.get("orig_id", number)), tokens=tokens, mentions=mentions, tuples=tuples)


def _recognise_spert(file: File) -> str | None:
    head = file.head.lstrip()
    if head.startswith(b"[") and all(key in head for key in (b'"tokens"', b'"entities"', b'"relations"')):
        return "a JSON list with 'tokens', 'entities' and 'relations'"
    return None


SPERT = TupleFormat(
    name="spert",
    summary="SpERT's JSON: tokens, entities and relations between numbers of entities",
    read=read_spert,
    recognise=_recognise_spert,
    source="https://github.com/lavis-nlp/spert",
)


# ---- DocRED: documents whose entities have several mentions; relations hold between entities ----


def read_docred(file: File, options: Options) -> Iterator[UnitRecord]:
    """The documents of DocRED, or the answers of a submission, which refer to the entities of gold."""
    rows = _listed(file)
    if any(isinstance(row, Mapping) and "h_idx" in row for row in rows):
        yield from _submitted(file, rows)
        return
    for number, row in enumerate(rows, start=1):
        with structure(
            file.path, f"document {number}", "'title', 'sents', 'vertexSet' and 'labels', as in DocRED"
        ):
            record = _docred(row)
        yield record


def _docred(row: Given) -> UnitRecord:
    firsts = [0, *accumulate(len(sentence) for sentence in row["sents"])]
    mentions: list[MentionRecord] = []
    entities: list[list[str]] = []
    for number, vertex in enumerate(row["vertexSet"]):
        entities.append([_name(number, index) for index in range(len(vertex))])
        for name, given in zip(entities[-1], vertex, strict=True):
            first = firsts[given["sent_id"]]
            start, end = (first + whole(position) for position in given["pos"])
            mentions.append(mention(name, ((start, end),), str(given["type"])))

    def filler(index: object) -> str | FillerRecord:
        within([""] * len(entities), index, "entity")
        return entity(entities[whole(index)])

    return UnitRecord(
        id=str(row["title"]),
        tokens=[str(token) for sentence in row["sents"] for token in sentence],
        sentences=firsts[:-1],
        mentions=mentions,
        tuples=[
            relation(str(given["r"]), filler(given["h"]), filler(given["t"]))
            for given in row.get("labels") or ()
        ],
    )


def _name(entity: int, mention: int) -> str:
    """The name of a mention of an entity; submissions refer to the first."""
    return f"e{entity}.{mention}"


def _submitted(file: File, rows: Sequence[Any]) -> Iterator[UnitRecord]:
    """The answers by title; an entity stands for itself by its first mention, as any of them is right."""
    answers: dict[str, list[TupleRecord]] = {}
    for number, row in enumerate(rows, start=1):
        with structure(file.path, f"answer {number}", "'title', 'h_idx', 't_idx' and 'r'"):
            head, tail = (_name(whole(row[key]), 0) for key in ("h_idx", "t_idx"))
            answers.setdefault(str(row["title"]), []).append(relation(str(row["r"]), head, tail))
    for title, tuples in answers.items():
        yield UnitRecord(id=title, tuples=tuples)


def _recognise_docred(file: File) -> str | None:
    head = file.head.lstrip()
    if not head.startswith(b"["):
        return None
    if b'"vertexSet"' in head:
        return "a JSON list with 'vertexSet'"
    return "a JSON list with 'h_idx' and 't_idx'" if b'"h_idx"' in head and b'"t_idx"' in head else None


DOCRED = TupleFormat(
    name="docred",
    summary="DocRED: entities with several mentions in a document, and submissions by entity number",
    read=read_docred,
    recognise=_recognise_docred,
    source="https://github.com/thunlp/DocRED",
)


# ---- DyGIE++ and PURE: one document per line, with inclusive ends that count through the document ----

_DYGIE = (
    "'sentences', 'ner' with [start, end, label], and 'relations' with [start, end, start, end, type] or "
    "'events' with [[trigger, type], [start, end, role]]"
)


def read_dygie(file: File, options: Options) -> Iterator[UnitRecord]:
    """The documents of DyGIE++ or PURE; with the option `predicted`, what the keys `predicted_…` hold.

    A file of predictions holds gold as well, so it can be given twice.
    """
    prefix = "predicted_" if options.get("predicted") else ""
    for number, line in enumerate(file.text.split("\n"), start=1):
        if line.strip():
            row = json_line(file.path, number, line)
            with structure(file.path, "the document", _DYGIE, number):
                record = _dygie(row, prefix, number)
            yield record


def _dygie(row: Any, prefix: str, number: int) -> UnitRecord:
    prefix = prefix if f"{prefix}relations" in row or f"{prefix}events" in row else ""
    labels = {(given[0], given[1]): str(given[2]) for given in chain.from_iterable(row[f"{prefix}ner"])}
    relations = [
        ((given[0], given[1]), (given[2], given[3]), str(given[4]))
        for given in chain.from_iterable(row.get(f"{prefix}relations", ()))
    ]
    # A trigger is one token; predictions have a probability after what gold has.
    events = [
        (whole(trigger[0]), str(trigger[1]), [((one[0], one[1]), str(one[2])) for one in arguments])
        for trigger, *arguments in chain.from_iterable(row.get(f"{prefix}events", ()))
    ]
    related = [span for head, tail, _ in relations for span in (head, tail)]
    filling = [span for _, _, arguments in events for span, _ in arguments]
    spans = dict.fromkeys([*labels, *related, *filling])
    names = {span: f"m{index}" for index, span in enumerate(spans, start=1)}
    triggers = {(at, kind): f"t{index}" for index, (at, kind, _) in enumerate(events, start=1)}
    return UnitRecord(
        id=str(row.get("doc_key", number)),
        tokens=[str(token) for sentence in row["sentences"] for token in sentence],
        sentences=[0, *accumulate(len(sentence) for sentence in row["sentences"])][:-1],
        mentions=[
            mention(name, ((whole(span[0]), whole(span[1]) + 1),), labels.get(span, ""))
            for span, name in names.items()
        ]
        + [mention(name, ((at, at + 1),), kind) for (at, kind), name in triggers.items()],
        tuples=[
            *(relation(type, names[head], names[tail]) for head, tail, type in relations),
            *(
                TupleRecord(type=kind, trigger=triggers[at, kind], roles=_by_role(arguments, names))
                for at, kind, arguments in events
            ),
        ],
        line=number,
    )


def _by_role(
    arguments: Sequence[tuple[tuple[int, int], str]], names: Mapping[tuple[int, int], str]
) -> dict[str, Filler | list[Filler]]:
    """The mentions that fill each role of an event."""
    roles: dict[str, Filler | list[Filler]] = {}
    for role in dict.fromkeys(role for _, role in arguments):
        roles[role] = [names[span] for span, own in arguments if own == role]
    return roles


def _recognise_dygie(file: File) -> str | None:
    head = file.head.lstrip()
    keys = [key for key in ("relations", "events") if f'"{key}"'.encode() in head]
    known = b'"sentences"' in head and b'"ner"' in head and keys
    return f"JSON lines with 'sentences', 'ner' and '{keys[0]}'" if head.startswith(b"{") and known else None


DYGIE = TupleFormat(
    name="dygie",
    summary="DyGIE++'s and PURE's JSON lines: documents with sentences, ner, relations and events",
    read=read_dygie,
    recognise=_recognise_dygie,
    source="https://github.com/dwadden/dygiepp",
)
