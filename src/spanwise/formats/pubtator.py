"""PubTator: title and abstract of an article, then its mentions as rows of tabs."""

from __future__ import annotations

import re

from spanwise.corpus import Annotation, Pieces
from spanwise.errors import InputError, at
from spanwise.formats._format import Format, Options
from spanwise.formats._opening import File
from spanwise.formats._sentences import (
    Origin,
    Standoff,
    annotation,
    check_characters,
    check_labels,
    only_piece,
    texts_of,
)

_PASSAGE = re.compile(r"([^|\t]+)\|([a-z])\|(.*)$")


def read(file: File, options: Options) -> Annotation:
    """The mentions of every article, in characters of its passages joined by one character each."""
    units: list[Standoff] = []
    passages: list[str] = []
    mentions: list[tuple[Pieces, str]] = []
    name, first, relations = "", 0, 0

    def close() -> None:
        if passages:
            units.append(Standoff(_text(passages, mentions), tuple(mentions), name, line=first))
        passages.clear()
        mentions.clear()

    for number, line in enumerate(file.text.split("\n"), start=1):
        line = line.rstrip("\r")
        if not line:
            close()
            continue
        if found := _PASSAGE.match(line):
            if passages and found[1] != name:
                close()
            if not passages:
                name, first = found[1], number
            passages.append(found[3])
            continue
        fields = line.split("\t")
        if len(fields) >= 5 and _is_position(fields[1]) and _is_position(fields[2]):
            _check_article(fields[0], name, bool(passages), file.path, number)
            mentions.append((((int(fields[1]), int(fields[2])),), fields[4]))
        elif len(fields) == 4 and fields[0] == name:
            relations += 1
        else:
            raise InputError(
                at(
                    file.path,
                    number,
                    f"{line[:60]!r} is neither a passage nor a mention.\n"
                    "Expected 'ID|t|title', 'ID|a|abstract' or 'ID<tab>start<tab>end<tab>text<tab>label'.",
                )
            )
    close()
    notes = [f"{relations:,} relations were left out"] if relations else []
    return annotation(units, Origin(file.path, "pubtator", "'ID|t|' lines", file.sha256, notes), options)


def _is_position(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19


def _text(passages: list[str], mentions: list[tuple[Pieces, str]]) -> str:
    """The passages on lines of their own; an empty abstract is no line, unless a mention reaches into it."""
    text = "\n".join(passages)
    reach = max((end for pieces, _ in mentions for _, end in pieces), default=0)
    return text.removesuffix("\n") if not passages[-1] and reach < len(text) else text


def _check_article(given: str, name: str, begun: bool, path: str, number: int) -> None:
    if not begun or given != name:
        raise InputError(
            at(path, number, f"this mention of the article {given!r} does not stand behind its passages.\n"
               "Put each article's mentions behind its title and abstract.")
        )  # fmt: skip


def write(annotation: Annotation, scheme: str | None) -> bytes:
    """Articles whose title is the first line of the text; further line ends become blanks."""
    check_labels(annotation, "\t\n\r", "pubtator")
    units = list(texts_of(annotation))
    check_characters([unit.id for unit in units], "|\t\n\r", "name", annotation.reading.path, "pubtator")
    check_characters([str(unit.body) for unit in units], "\r", "text", annotation.reading.path, "pubtator")
    parts = []
    for unit in units:
        title, _, abstract = str(unit.body).partition("\n")
        abstract = abstract.replace("\n", " ")
        lines = [f"{unit.id}|t|{title}", f"{unit.id}|a|{abstract}"]
        text = f"{title}\n{abstract}"
        for pieces, label in unit.mentions:
            start, end = only_piece(pieces, label, unit, "pubtator")
            quoted = " ".join(text[start:end].split())
            lines.append(f"{unit.id}\t{start}\t{end}\t{quoted}\t{label}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts).encode("utf-8")


def recognise(file: File) -> str | None:
    """A first line such as `12345|t|A title`."""
    first = file.head.lstrip().split(b"\n", 1)[0]
    return "'ID|t|' in the first line" if re.match(rb"[^|\t]+\|t\|", first) else None


FORMAT = Format(
    name="pubtator",
    summary="PubTator: ID|t|title, ID|a|abstract and rows of mentions",
    read=read,
    write=write,
    recognise=recognise,
    suffixes=(".pubtator",),
    source="https://www.ncbi.nlm.nih.gov/research/pubtator3/",
)
