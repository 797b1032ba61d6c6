"""Edit files in place or extract parts of them, leaving everything else unchanged byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spanwise.columns import Ints
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.errors import InputError, at
from spanwise.formats import options_of
from spanwise.formats._columns import Layout, layout_of, tag_columns
from spanwise.formats._opening import MAGIC, File
from spanwise.formats._sentences import ENDS, LABELS, STARTS
from spanwise.formats.jsonl import SPANS, tags_key
from spanwise.schemes import encode

Row = tuple[int, int, int, str]
Change = tuple[list[Row], list[Row]]  # the mentions removed from a sentence, and those added

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_EMPTY = re.compile(rb"(?:NONE|EMPTY)(?:[\t\r ]|$)")


def changed_rows(annotation: Annotation, rows: Sequence[Row]) -> dict[int, Change]:
    """The mentions to remove and to add, by sentence."""
    before, after = set(annotation.mentions.rows()), set(rows)
    changes: dict[int, Change] = {}
    for row in sorted(before - after):
        changes.setdefault(row[0], ([], []))[0].append(row)
    for row in sorted(after - before):
        changes.setdefault(row[0], ([], []))[1].append(row)
    return changes


def edited_json(annotation: Annotation, changes: Mapping[int, Change], raw: bytes) -> bytes:
    """The bytes of a JSON lines file after changing some of its spans."""
    path, where = annotation.reading.path, _lines_of(annotation)
    lines = raw.split(b"\n")
    for sentence, change in changes.items():
        line = int(where[sentence])
        text = lines[line - 1].decode("utf-8")
        lines[line - 1] = _with_spans(text, change, f"{path}:{line}").encode("utf-8")
    return b"\n".join(lines)


def edited_tags(
    annotation: Annotation, changes: Mapping[tuple[int, int], str], labels: Sequence[str] | None, raw: bytes
) -> bytes:
    """The bytes of a JSON lines file after changing some of its tags; numeric tags stay numeric."""
    path, where = annotation.reading.path, _lines_of(annotation)
    by_sentence: dict[int, dict[int, str]] = {}
    for (sentence, token), tag in changes.items():
        by_sentence.setdefault(sentence, {})[token] = tag
    lines = raw.split(b"\n")
    for sentence, tags in by_sentence.items():
        line = int(where[sentence])
        text = lines[line - 1].decode("utf-8")
        lines[line - 1] = _with_tags(text, tags, labels, f"{path}:{line}").encode("utf-8")
    return b"\n".join(lines)


def _with_tags(text: str, tags: Mapping[int, str], labels: Sequence[str] | None, location: str) -> str:
    """A line with new tags for some tokens; everything else stays as it is written."""
    chosen = tags_key(json.loads(text))
    begin = next(start for key, start, _ in _members(text, text.index("{")) if key == chosen)
    for token, (start, end) in reversed(list(enumerate(_items(text, begin)))):
        if token not in tags:
            continue
        tag = tags[token]
        new = json.dumps(tag, ensure_ascii=False)
        if not isinstance(json.loads(text[start:end]), str):
            if labels is None or tag not in labels:
                raise InputError(f"{location}: no number stands for the tag {tag!r}.\nAdd it to labels.")
            new = str(list(labels).index(tag))
        text = text[:start] + new + text[end:]
    return text


def _lines_of(annotation: Annotation) -> Ints:
    """The line number of each record."""
    where = annotation.corpus.source.lines
    if where is None or (len(where) > 1 and int(where[0]) == int(where[-1])):
        raise InputError(
            f"{annotation.reading.path}: a file that is one JSON list cannot be changed in place.\n"
            "Write one object per line first: spanwise convert FILE gold.jsonl"
        )
    return where


def _with_spans(text: str, change: Change, location: str) -> str:
    """A line with changed spans; everything else stays as it is written."""
    spans = next(span for span in _members(text, text.index("{")) if _are_spans(text, span))
    items = list(_items(text, spans[1]))
    removed, added = list(change[0]), list(change[1])
    pairs: dict[tuple[int, int], Row | None] = {}
    for row in removed:
        item = next(
            (
                borders
                for borders in items
                if borders not in pairs and _reads(text[slice(*borders)]) == row[1:]
            ),
            None,
        )
        if item is None:
            raise InputError(
                f"{location}: the mention {row[3]} [{row[1]}, {row[2]}) is not written as one span.\n"
                "Change it by hand."
            )
        near = next((new for new in added if new[1] < row[2] and row[1] < new[2]), None)
        if near is not None:
            added.remove(near)
        pairs[item] = near
    kept = [
        text[slice(*borders)] if borders not in pairs else _rewritten(text[slice(*borders)], new)
        for borders in items
        if borders not in pairs or (new := pairs[borders]) is not None
    ]
    pattern = text[slice(*items[0])] if items else '{"start": 0, "end": 0, "label": ""}'
    kept += [_rewritten(pattern, row, alone=True) for row in added]
    between = text[items[0][1] : items[1][0]] if len(items) > 1 else ", "
    first = text[spans[1] + 1 : items[0][0]] if items else ""
    last = text[items[-1][1] : spans[2] - 1] if items else ""
    return text[: spans[1]] + "[" + first + between.join(kept) + last + "]" + text[spans[2] :]


def _members(text: str, begin: int) -> Iterator[tuple[str, int, int]]:
    """The keys of an object, with the start and end of each value."""
    position = _skip(text, begin + 1)
    while text[position] == '"':
        key, position = _DECODER.raw_decode(text, position)
        start = _skip(text, _skip(text, position) + 1)
        end = _DECODER.raw_decode(text, start)[1]
        yield key, start, end
        position = _skip(text, end)
        position = _skip(text, position + 1) if text[position] == "," else position


def _items(text: str, begin: int) -> Iterator[tuple[int, int]]:
    """The start and end of each item of a list."""
    position = _skip(text, begin + 1)
    while text[position] != "]":
        end = _DECODER.raw_decode(text, position)[1]
        yield position, end
        position = _skip(text, end)
        position = _skip(text, position + 1) if text[position] == "," else position


def _skip(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return position if match is None else match.end()


def _are_spans(text: str, member: tuple[str, int, int]) -> bool:
    key, start, _ = member
    return key in SPANS and text[start] == "["


def _key(span: Mapping[str, object], keys: Sequence[str]) -> str | None:
    return next((key for key in keys if key in span), None)


def _reads(text: str) -> tuple[int, int, str] | None:
    """Start, end and label of a span written as JSON; None if it is not a span."""
    span = json.loads(text)
    if isinstance(span, list) and len(span) >= 3:
        return span[0], span[1], span[2]
    if not isinstance(span, dict):
        return None
    keys = [_key(span, names) for names in (STARTS, ENDS, LABELS)]
    if None in keys:
        return None
    start, end, label = (span[str(key)] for key in keys)
    return start, end, label[0] if isinstance(label, list) and len(label) == 1 else label


def _rewritten(text: str, row: Row | None, *, alone: bool = False) -> str:
    """A written span with a new position and label; with `alone`, its other fields are dropped."""
    assert row is not None
    _, start, end, label = row
    span = json.loads(text)
    if isinstance(span, list):
        return json.dumps([start, end, label, *([] if alone else span[3:])], ensure_ascii=False)
    names = [_key(span, keys) or keys[0] for keys in (STARTS, ENDS, LABELS)]
    new: object = [label] if isinstance(span.get(names[2]), list) else label
    values = dict(zip(names, (start, end, new), strict=True))
    if alone or "parts" in span or "text" in span:
        # The text and pieces of the old mention do not apply to the new one.
        rest = {} if alone else {key: value for key, value in span.items() if key not in ("parts", "text")}
        return json.dumps({**rest, **values}, ensure_ascii=False)
    written = text
    for key, begin, stop in sorted(_members(text, text.index("{")), key=lambda member: -member[1]):
        if key in values and json.loads(text[begin:stop]) != values[key]:
            written = written[:begin] + json.dumps(values[key], ensure_ascii=False) + written[stop:]
    return written


def edited_spans(annotation: Annotation, changes: Mapping[int, Change], raw: bytes) -> bytes:
    """The bytes of a span file after changing, removing and adding rows."""
    where = annotation.corpus.source.lines
    assert where is not None
    lines: list[bytes | None] = list(raw.split(b"\n"))
    for sentence, (removed, added) in changes.items():
        first = int(where[sentence]) - 1
        last = first
        while last + 1 < len(lines) and (lines[last + 1] or b"").strip():
            last += 1
        tail = b"\r" if (lines[first] or b"").endswith(b"\r") else b""
        left = list(added)
        for row in removed:
            index = _row_of(lines, first, last, row, annotation.reading.path)
            near = next((new for new in left if new[1] < row[2] and row[1] < new[2]), None)
            lines[index] = None if near is None else _span_row(near) + tail
            if near is not None:
                left.remove(near)
        block = [
            written
            for written in lines[first : last + 1]
            if written is not None and not _EMPTY.match(written)
        ]
        block += [_span_row(row) + tail for row in left]
        block = block or [b"NONE\t999\t999\t999" + tail]
        # The block keeps its number of list items, so that the indices of other sentences stay valid.
        whole: bytes | None = b"\n".join(block)
        lines[first : last + 1] = [whole, *([None] * (last - first))]
    return b"\n".join(line for line in lines if line is not None)


def _row_of(lines: Sequence[bytes | None], first: int, last: int, row: Row, path: str) -> int:
    wanted = [row[3].encode("utf-8"), str(row[1] + 1).encode(), str(row[2]).encode()]
    for index in range(first, last + 1):
        line = lines[index]
        if line is not None and line.rstrip(b" \t\r").split(b"\t")[:3] == wanted:
            return index
    raise InputError(at(path, first + 1, f"no row says {row[3]} {row[1] + 1} {row[2]}.\nChange it by hand."))


def _span_row(row: Row) -> bytes:
    _, start, end, label = row
    tokens = ", ".join(str(token) for token in range(start + 1, end + 1))
    return f"{label}\t{start + 1}\t{end}\t{tokens}".encode()


_FIELD = re.compile(rb"[^ \t]+")


def edited(annotation: Annotation, mentions: Mentions, **reading: Any) -> bytes:
    """The bytes of the CoNLL, JSON lines or span file that `annotation` was read from, with new mentions.

    Only the tags or records that change are rewritten, in the scheme of the file; line endings, separators,
    other columns and fields, and comments stay as they are.
    """
    path, kind = annotation.reading.path, annotation.reading.format
    if kind not in ("conll", "jsonl", "spans") or not Path(path).is_file():
        raise InputError(
            f"{path}: only CoNLL, JSON-lines and span files can be changed in place.\n"
            "Convert the file first, which the worksheet then fits: spanwise convert FILE gold.jsonl"
        )
    raw = Path(path).read_bytes()
    if raw.startswith(tuple(MAGIC)) or b"\x00" in raw:
        raise InputError(f"{path}: a compressed file cannot be changed in place.\nUnpack it first.")
    if kind != "conll":
        if annotation.reading.scheme is not None:
            return edited_tags(annotation, _changes(annotation, mentions), reading.get("labels"), raw)
        edit = edited_spans if kind == "spans" else edited_json
        return edit(annotation, changed_rows(annotation, mentions.rows()), raw)
    changes = _changes(annotation, mentions)
    options = options_of(**{key: value for key, value in reading.items() if key not in ("format", "prefer")})
    where = tuple(tag_columns(options, merged=False).values())
    layout, _ = layout_of(path, File(path, encoding=options.encoding).data, options, where, 1)
    if layout is None:
        return raw
    _check_labels(mentions, layout)
    lines = raw.split(b"\n")
    for (sentence, token), tag in changes.items():
        first = int(annotation.corpus.sentences[sentence])
        line = annotation.corpus.source.line(sentence, token, first_token=first)
        if line is None:
            continue
        lines[line - 1] = _with_tag(lines[line - 1], layout, tag.encode(options.encoding or "utf-8"))
    return b"\n".join(lines)


def _changes(annotation: Annotation, mentions: Mentions) -> dict[tuple[int, int], str]:
    """The tokens whose tags differ between the old and the new mentions, with their new tags.

    If tags were repaired on reading, the neighbours of a change are also written, as they were understood:
    next to a changed tag they might be read differently.
    """
    corpus, scheme = annotation.corpus, annotation.reading.scheme or "IOB2"
    names = tuple(sorted({*annotation.mentions.labels, *mentions.labels}))
    before = encode(annotation.mentions.relabeled(names), corpus.lengths, scheme)
    after = encode(mentions.relabeled(names), corpus.lengths, scheme)
    old = np.array(before.names, dtype=object)[before.codes]
    new = np.array(after.names, dtype=object)[after.codes]
    changed = np.flatnonzero(old != new)
    touched = set(changed.tolist())
    if annotation.reading.repairs:
        touched |= {token + step for token in changed.tolist() for step in (-1, 1)}
    result = {}
    for token in sorted(touched):
        if 0 <= token < len(new):
            sentence = int(np.searchsorted(corpus.sentences, token, "right")) - 1
            result[sentence, token - int(corpus.sentences[sentence])] = str(new[token])
    return result


def _check_labels(mentions: Mentions, layout: Layout) -> None:
    """Refuse labels that would not be read back as one field."""
    for label in mentions.labels:
        if set(label) & set("\t\r\n" if layout.separator == "tab" else " \t\r\n"):
            raise InputError(
                f"{layout.path}: the label {label!r} would break a line of columns separated by "
                f"{layout.between}.\nChoose a label without blanks."
            )


def _with_tag(line: bytes, layout: Layout, tag: bytes) -> bytes:
    """The line with a new tag in the tag column, keeping the blanks around it."""
    column = layout.tags[0]
    if layout.separator == "tab":
        body = line.rstrip(b" \t\r")
        fields = body.split(b"\t")
        cell = fields[column]
        bare = cell.strip(b" ")
        fields[column] = cell.replace(bare, tag, 1) if bare else tag
        return b"\t".join(fields) + line[len(body) :]
    field = list(_FIELD.finditer(line.rstrip(b" \t\r")))[column]
    return line[: field.start()] + tag + line[field.end() :]


def excerpt(parts: Sequence[tuple[Annotation, Ints]], **reading: Any) -> tuple[bytes, Annotation] | None:
    """Extract sentences from CoNLL files: their lines, unchanged, and the annotation read from these lines.

    The lines before a sentence, such as comments and document marks, are included. None if an
    annotation was not read from a CoNLL file.
    """
    from spanwise.formats import read

    pieces: list[bytes] = []
    for annotation, sentences in parts:
        path, lines = annotation.reading.path, annotation.corpus.source.lines
        if annotation.reading.format != "conll" or lines is None or not Path(path).is_file():
            return None
        text = File(path, encoding=reading.get("encoding")).data.split(b"\n")
        pieces += _with_lines_before(annotation, sentences, text)
    data = b"\n".join([*pieces, b""])
    options = {key: value for key, value in reading.items() if key != "encoding"}
    return data, read(File.of_bytes("excerpt.conll", data), **options, format="conll")


def _with_lines_before(annotation: Annotation, sentences: Ints, text: list[bytes]) -> list[bytes]:
    """The lines of each sentence, including those since the previous sentence, and a final blank line."""
    corpus = annotation.corpus
    taken: list[bytes] = []
    for sentence in sentences.tolist():
        begin = _last_line(corpus, sentence - 1) if sentence else 0
        taken += text[begin : _last_line(corpus, sentence)]
    return [*taken, b""] if taken else []


def _last_line(corpus: Corpus, sentence: int) -> int:
    """The line number, from 1, of the last token of a sentence."""
    last = max(int(corpus.lengths[sentence]) - 1, 0)
    return corpus.source.line(sentence, last, first_token=int(corpus.sentences[sentence])) or 0
