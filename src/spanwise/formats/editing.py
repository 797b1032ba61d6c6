"""Files changed in place, or cut into parts: what is not asked for keeps every byte."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spanwise.columns import Ints
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.errors import InputError
from spanwise.formats._columns import layout_of, tag_columns
from spanwise.formats._edited_lines import changed_rows, edited_json, edited_spans
from spanwise.formats._format import Options
from spanwise.formats._opening import MAGIC, File
from spanwise.formats._rows import Layout
from spanwise.schemes import encode

_FIELD = re.compile(rb"[^ \t]+")


def edited(annotation: Annotation, mentions: Mentions, **reading: Any) -> bytes:
    """The bytes of the CoNLL, JSON-lines or span file that `annotation` was read from, with other mentions.

    Only tags or records that change are written anew, in the scheme of the file; line ends, separators,
    other columns and fields, and comments stay as they are.
    """
    path, kind = annotation.reading.path, annotation.reading.format
    if kind not in ("conll", "jsonl", "spans") or not Path(path).is_file():
        raise InputError(
            f"{path}: only CoNLL, JSON-lines and span files can be changed in place.\n"
            "Convert the file first: spanwise convert FILE gold.conll"
        )
    raw = Path(path).read_bytes()
    if raw.startswith(tuple(MAGIC)) or b"\x00" in raw:
        raise InputError(f"{path}: a packed file cannot be changed in place.\nUnpack it first.")
    if kind != "conll":
        rows = changed_rows(annotation, mentions.rows())
        edit = edited_spans if kind == "spans" else edited_json
        if annotation.reading.scheme is not None:
            raise InputError(
                f"{path}: tags in JSON lines cannot be changed in place.\n"
                "Convert the file first: spanwise convert FILE gold.conll"
            )
        return edit(annotation, rows, raw)
    changes = _changes(annotation, mentions)
    options = Options(**{**reading, "prefer": None})
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
    """The tokens whose tags differ between both sets of mentions, with their new tags.

    Tags beside a change that were repaired on the way in are written as they were understood, since a
    changed neighbour might give them another meaning.
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
        touched |= {place + step for place in changed.tolist() for step in (-1, 1)}
    result = {}
    for place in sorted(touched):
        if 0 <= place < len(new):
            sentence = int(np.searchsorted(corpus.sentences, place, "right")) - 1
            result[sentence, place - int(corpus.sentences[sentence])] = str(new[place])
    return result


def _check_labels(mentions: Mentions, layout: Layout) -> None:
    """Refuse labels that would not be read back as one cell."""
    for label in mentions.labels:
        if set(label) & set("\t\r\n" if layout.separator == "tab" else " \t\r\n"):
            raise InputError(
                f"{layout.path}: the label {label!r} would break a line of columns separated by "
                f"{layout.between}.\nChoose a label without blanks."
            )


def _with_tag(line: bytes, layout: Layout, tag: bytes) -> bytes:
    """The line with another tag in the column of tags; blanks around it stay."""
    column = layout.tags[0]
    if layout.separator == "tab":
        body = line.rstrip(b" \t\r")
        fields = body.split(b"\t")
        held = fields[column]
        bare = held.strip(b" ")
        fields[column] = held.replace(bare, tag, 1) if bare else tag
        return b"\t".join(fields) + line[len(body) :]
    found = list(_FIELD.finditer(line.rstrip(b" \t\r")))[column]
    return line[: found.start()] + tag + line[found.end() :]


def excerpt(parts: Sequence[tuple[Annotation, Ints]], **reading: Any) -> tuple[bytes, Annotation] | None:
    """Some sentences of CoNLL files, line by line as they stand there, and what is read from these lines.

    The lines before a sentence, such as comments and the mark of a document, come with it. None where an
    annotation was not read from the lines of a CoNLL file.
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
    """The lines of each sentence with those between it and the one before, and a blank line at the end."""
    corpus = annotation.corpus
    taken: list[bytes] = []
    for sentence in sentences.tolist():
        begin = _last_line(corpus, sentence - 1) if sentence else 0
        taken += text[begin : _last_line(corpus, sentence)]
    return [*taken, b""] if taken else []


def _last_line(corpus: Corpus, sentence: int) -> int:
    """The line of the last token of a sentence, from 1."""
    last = max(int(corpus.lengths[sentence]) - 1, 0)
    return corpus.source.line(sentence, last, first_token=int(corpus.sentences[sentence])) or 0
