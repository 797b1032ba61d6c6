"""Record annotation: brat (`.ann` files next to `.txt` files, or a folder of them) and PubTator."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from math import isfinite, nan
from pathlib import Path

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from spanwise.columns import codes, ints, offsets
from spanwise.corpus import Annotation, Mentions, Pieces, joined_mentions
from spanwise.errors import InputError, at, many
from spanwise.formats._columns import check_utf8
from spanwise.formats._format import Cutting, Format, Options, is_position
from spanwise.formats._opening import File, write_atomically
from spanwise.formats._sentences import (
    Origin,
    Record,
    annotation,
    check_characters,
    check_inside,
    check_labels,
    mentions_of,
    only_counting,
    only_piece,
    texts_of,
)
from spanwise.formats._surveying import (
    Batch,
    Before,
    RecordSurvey,
    Surveyor,
    after_blank_line,
    notes_on,
    survey_lines,
    whole_pieces,
)

_LINE = re.compile(r"T\S*\t(\S+) ([0-9]{1,18} [0-9]{1,18}(?:;[0-9]{1,18} [0-9]{1,18})*)(?:\t(.*))?$")


def read_brat(file: File, options: Options) -> Annotation:
    """Read an `.ann` file and its text, or all such pairs in a folder, each as a document."""
    if not file.is_folder:
        path, skipped = Path(file.path), _Skipped()
        unit = _pair(file, path.with_suffix(".txt"), path.stem, options, skipped)
        origin = Origin(file.path, "brat", ".ann with its .txt", file.sha256, skipped.notes())
        return annotation([unit], origin, options)
    paths = ann_files(file)
    skipped = _Skipped()
    units = _documents(file.path, paths, options, skipped)
    origin = Origin(file.path, "brat", f"{len(paths):,} .ann files with their .txt", None, skipped.notes())
    return annotation(units, origin, options)


def ann_files(file: File) -> list[Path]:
    """The `.ann` files in a folder, in the natural order of their names: 2 before 10."""
    top = Path(file.path)
    paths = sorted(top.rglob("*.ann"), key=lambda path: natural(str(path.relative_to(top).with_suffix(""))))
    if not paths:
        raise InputError(
            at(file.path, None, "there is no .ann file in the folder.\nName a folder of brat files.")
        )
    return paths


def natural(name: str) -> tuple[list[tuple[str, int]], str]:
    """A key that sorts names by their words and numbers.

    Examples:
        >>> sorted(["b10/1", "b2/10", "b2/9"], key=natural)
        ['b2/9', 'b2/10', 'b10/1']
    """
    return [(word, int(number or 0)) for word, number in _NUMBERED.findall(name)], name


_NUMBERED = re.compile(r"(\D*)([0-9]*)", re.ASCII)


class _Skipped(Struct):
    """Counts of lines that are not mentions, and the mentions whose quoted text differs from the file."""

    others: Counter[str] = field(default_factory=Counter)
    differing: list[str] = field(default_factory=list)

    def notes(self) -> list[str]:
        """The notes for the `Reading`."""
        notes = []
        if self.others:
            kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(self.others.items()))
            notes.append(f"lines that are not mentions were left out: {kinds}")
        if self.differing:
            notes.append(
                f"{len(self.differing):,} mentions quote text that differs from the file, "
                f"first {self.differing[0]}"
            )
        return notes


def _documents(folder: str, paths: Sequence[Path], options: Options, skipped: _Skipped) -> list[Record]:
    """Read some documents of a folder; adds to what was `skipped`."""
    units = []
    for path in paths:
        name = str(path.relative_to(folder).with_suffix(""))
        part = File(path, encoding=options.encoding)
        units.append(_pair(part, path.with_suffix(".txt"), name, options, skipped))
    return units


TOGETHER = 100  # documents of a folder to process at a time


def survey_brat(file: File, options: Options, cutting: Cutting) -> RecordSurvey | None:
    """Survey the documents of a folder; None if it must be read whole, as a single document is."""
    if cutting.merged or not file.is_folder:
        return None
    surveyor, skipped = Surveyor(file.path, options), _Skipped()
    try:
        paths = ann_files(file)
        for first in range(0, len(paths), TOGETHER):
            units = _documents(file.path, paths[first : first + TOGETHER], options, skipped)
            part = annotation(units, Origin(file.path, "brat"), options)
            numbers = ints(np.arange(first, first + len(units)))
            surveyor.take(Batch.of(part), numbers, numbers)
    except InputError:
        return None
    kinds, end = {"only": f"{len(paths):,} .ann files with their .txt"}, (0, len(paths))
    notes = skipped.notes()
    return surveyor.survey("brat", cutting, kinds, _brat_part, end=end, notes=notes, pieces=_brat_pieces)


def _brat_pieces(survey: RecordSurvey) -> Iterator[bytes]:
    """The paths of the documents in each part."""
    paths = ann_files(File(survey.path))
    for begin, end in pairwise(survey.cuts):
        yield "\n".join(map(str, paths[begin.sentence : end.sentence])).encode("utf-8", "surrogateescape")


def _brat_part(survey: RecordSurvey, data: bytes, number: int) -> Batch:
    """The content of the documents in one part."""
    paths = [Path(line) for line in data.decode("utf-8", "surrogateescape").split("\n")]
    units = _documents(survey.path, paths, survey.options, _Skipped())
    return Batch.of(annotation(units, Origin(survey.path, "brat"), survey.options))


def _pair(file: File, text_path: Path, name: str, options: Options, skipped: _Skipped) -> Record:
    lines = file.text.split("\n")
    if not text_path.exists():
        raise InputError(
            at(file.path, None, f"its text {text_path.name!r} is missing.\nKeep both in the same folder.")
        )
    text = File(text_path, encoding=options.encoding).text
    mentions: list[tuple[Pieces, str]] = []
    marks: list[str] = []  # the first field of each mention
    scores: dict[str, float] = {}
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r")
        if not line:
            continue
        if (note := _SCORE.match(line)) and isfinite(float(note[2])):
            scores[note[1]] = float(note[2])
            continue
        if not line.startswith("T"):
            skipped.others[_KINDS.get(line[0], "others")] += 1
            continue
        mentions.append(mention_of_line(line, text, file.path, number, skipped.differing))
        marks.append(line.partition("\t")[0])
    listed = [scores.get(mark, nan) for mark in marks] if scores else []
    return Record(text, mentions, name, scores=listed)


# A note of a mention's score, which other programs show as a comment.
_SCORE = re.compile(
    r"#\S*\tAnnotatorNotes (T\S*)\tscore: ([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]{1,3})?)$"
)


_KINDS = {"R": "relations", "E": "events", "A": "attributes", "M": "attributes", "N": "references",
          "#": "notes", "*": "equivalences"}  # fmt: skip


def mention_of_line(line: str, text: str, path: str, number: int, differing: list[str]) -> tuple[Pieces, str]:
    match = _LINE.match(line)
    if match is None:
        raise InputError(
            at(
                path,
                number,
                f"{line!r} is not a mention.\nExpected 'T1<tab>Label 0 5<tab>text', pieces separated by ';'.",
            )
        )
    label, offsets, quoted = match.groups()
    numbers = [piece.split(" ") for piece in offsets.split(";")]
    pieces = tuple((int(start), int(end)) for start, end in numbers)
    if max(end for _, end in pieces) > len(text) or any(start >= end for start, end in pieces):
        raise InputError(
            at(path, number, f"the mention {label} {offsets} is not inside the text, which has "
               f"{many(len(text), 'character')}.\n"
               "Positions count characters from 0, and the end is the first one after the mention.")
        )  # fmt: skip
    covered = " ".join(text[start:end] for start, end in pieces)
    if quoted is not None and quoted.split() != covered.split():
        differing.append(f"{path}:{number}")
    return pieces, label


def written_brat(unit: Record) -> str:
    """The content of the `.ann` file for one text."""
    text = str(unit.body)
    lines = []
    for number, (pieces, label) in enumerate(unit.mentions, start=1):
        offsets = ";".join(f"{start} {end}" for start, end in pieces)
        quoted = " ".join(" ".join(text[start:end].split()) for start, end in pieces)
        lines.append(f"T{number}\t{label} {offsets}\t{quoted}\n")
    for number, score in enumerate(unit.scores, start=1):
        if isfinite(score):
            lines.append(f"#{number}\tAnnotatorNotes T{number}\tscore: {score!r}\n")
    return "".join(lines)


def write_brat(annotation: Annotation, folder: str | os.PathLike[str]) -> list[Path]:
    """Write an `.ann` and a `.txt` file for each document; return the paths of the `.ann` files.

    Names that only count are padded with zeros, so that every program lists the files in their order.
    """
    check_labels(annotation, " \t\n\r", "brat")
    top = Path(folder)
    listed = list(texts_of(annotation))
    if only_counting([unit.id for unit in listed]) and listed[-1].id.isdecimal():
        width = len(listed[-1].id)
        listed = [replace(unit, id=unit.id.zfill(width)) for unit in listed]
    names = [unit.id for unit in listed]
    units = {_inside(top, unit.id): unit for unit in listed}
    if len(units) < len(listed):
        raise InputError(
            at(
                str(top),
                None,
                "two documents have the same name, so one would replace the other.\nRename one.",
            )
        )
    if names != sorted(names, key=natural):
        first = next(a for a, b in zip(names, sorted(names, key=natural), strict=True) if a != b)
        raise InputError(
            at(
                str(top),
                None,
                f"files are read in the order of their names, but {first!r} is not in its place among the "
                "documents.\nRename the documents in their order.",
            )
        )
    for path, unit in units.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path.with_name(f"{path.stem}.txt"), str(unit.body))
        write_atomically(path, written_brat(unit))
    return list(units)


def _inside(folder: Path, name: str) -> Path:
    """The path of a document's file; raises InputError if its name would lead outside the folder."""
    path = folder / f"{name}.ann"
    if not path.resolve().is_relative_to(folder.resolve()) or not name:
        raise InputError(
            at(
                str(folder),
                None,
                f"a document is called {name!r}, which is not the name of a file in the folder.\nRename it.",
            )
        )
    return path


def recognise_brat(file: File) -> str | None:
    """Recognise the suffix .ann, or a folder with such files."""
    if file.is_folder:
        return "a folder of .ann files" if any(Path(file.path).rglob("*.ann")) else None
    return "the suffix .ann" if file.suffix == ".ann" else None


BRAT = Format(
    name="brat",
    summary="brat standoff, .ann beside .txt, or a folder of them",
    read=read_brat,
    recognise=recognise_brat,
    write_folder=write_brat,
    suffixes=(".ann",),
    survey=survey_brat,
    holds=frozenset(
        ("words", "white space", "documents", "document names", "nested", "discontinuous", "scores")
    ),
    source="https://brat.nlplab.org/standoff.html",
)


# ---- PubTator: the title and abstract of each article, then its mentions in tab-separated rows ----


_ARTICLES = "'ID|t|' lines"
PASSAGE = re.compile(r"([^|\t]+)\|([a-z])\|(.*)$")


def read_pubtator(file: File, options: Options) -> Annotation:
    """Read the mentions of each article, in characters of its passages joined by line feeds."""
    reader = _PubtatorReader()
    parts: list[_Articles] = []
    line, name = 1, ""
    for chunk in whole_pieces(file, reader.border):
        check_utf8(file, chunk, line)
        part = reader.articles(File.of_bytes(file.path, chunk, first_line=line), name)
        parts.append(part)
        line += chunk.count(b"\n")
        name = part.last
    units = [unit for part in parts for unit in part.units]
    notes = notes_on({"relations": sum(part.relations for part in parts)})
    origin = Origin(file.path, "pubtator", _ARTICLES, file.sha256, notes)
    sentences = offsets([len(part.units) for part in parts])[:-1]
    mentions = joined_mentions([part.mentions for part in parts], sentences) if units else None
    return annotation(units, origin, options, mentions)


class _Articles(Struct, frozen=True, eq=False):
    """Some articles without their mentions, the mentions of all of them, and the number of relations."""

    units: list[Record]
    mentions: Mentions
    relations: int
    last: str  # the name of the last article


class _PubtatorReader(Struct, frozen=True):
    """Reads the articles of a whole file or of a part."""

    evidence: str = _ARTICLES

    def border(self, data: bytes) -> int:
        """The end of the last complete article."""
        return after_blank_line(data)

    def read(self, file: File, options: Options, before: Before) -> Batch | None:
        """The articles of a part, for surveys."""
        articles = self.articles(file)
        if not articles.units:
            return None
        part = annotation(articles.units, Origin(file.path, "pubtator"), options, articles.mentions)
        begins, left_out = ints([unit.line for unit in articles.units]), {"relations": articles.relations}
        return replace(Batch.of(part, begins), left_out=left_out)

    def articles(self, file: File, name: str = "") -> _Articles:
        """The articles of some lines; `name` is the article before them."""
        articles = _regular_articles(file)
        if articles is not None:
            return articles
        units, relations, last = articles_of(file, name)
        check_inside(units, Origin(file.path, "pubtator"))
        mentions = mentions_of([unit.mentions for unit in units])
        return _Articles([replace(unit, mentions=()) for unit in units], mentions, relations, last)


def _opened(file: File, options: Options) -> _PubtatorReader:
    return _PubtatorReader()


# A title, an abstract and mentions with the same ID, up to a blank line.
_ARTICLE = re.compile(
    r"([^|\t\n]+)\|t\|([^\n]*)\n\1\|a\|([^\n]*)\n"
    r"((?:\1\t[0-9]{1,18}\t[0-9]{1,18}\t[^\t\n]*\t[^\t\n]+(?:\t[^\n]*)?\n)*)(?:\n+|\Z)"
)
_ROW = re.compile(r"^[^\t]+\t([0-9]+)\t([0-9]+)\t[^\t]*\t([^\t\n]+)", re.MULTILINE)


def _regular_articles(file: File) -> _Articles | None:
    """The articles if all consist of a title, an abstract and mentions within them, else None."""
    text = file.text.replace("\r\n", "\n").lstrip("\n")
    if "\r" in text:
        return None
    line = file.first_line + file.text.count("\n") - text.count("\n")
    text = text if text.endswith("\n") else text + "\n"
    units: list[Record] = []
    rows: list[tuple[str, str, str]] = []
    sizes: list[int] = []
    end = 0
    while end < len(text):
        article = _ARTICLE.match(text, end)
        if article is None:
            return None
        name, title, abstract, listed = article.groups()
        own = _ROW.findall(listed)
        reach = max((int(row[1]) for row in own), default=0)
        units.append(Record(article_text([title, abstract], reach), (), name, line=line))
        sizes.append(len(own))
        rows += own
        line += text.count("\n", end, article.end())
        end = article.end()
    if not units:
        return None
    starts, ends, labels = zip(*rows, strict=True) if rows else ((), (), ())
    names = tuple(sorted(set(labels)))
    code = {label: number for number, label in enumerate(names)}
    mentions = Mentions(
        sentence=ints(np.repeat(np.arange(len(units)), sizes)),
        start=ints(np.array(starts, dtype=np.int64)),
        end=ints(np.array(ends, dtype=np.int64)),
        label=codes([code[label] for label in labels]),
        labels=names,
    )
    lengths = np.array([len(unit.body) for unit in units])[mentions.sentence]
    if not ((mentions.start < mentions.end) & (mentions.end <= lengths)).all():
        return None
    return _Articles(units, mentions, 0, units[-1].id)


def articles_of(file: File, name: str = "") -> tuple[list[Record], int, str]:
    """The articles, read line by line, the number of relations, and the name of the last article.

    `name` is the name of the article before them.
    """
    units: list[Record] = []
    passages: list[str] = []
    mentions: list[tuple[Pieces, str]] = []
    first, relations = 0, 0

    def close() -> None:
        if passages:
            reach = max((end for pieces, _ in mentions for _, end in pieces), default=0)
            units.append(Record(article_text(passages, reach), tuple(mentions), name, line=first))
        passages.clear()
        mentions.clear()

    for number, line in enumerate(file.text.split("\n"), start=file.first_line or 1):
        line = line.rstrip("\r")
        if not line:
            close()
            continue
        if passage := PASSAGE.match(line):
            if passages and passage[1] != name:
                close()
            if not passages:
                name, first = passage[1], number
            passages.append(passage[3])
            continue
        fields = line.split("\t")
        if len(fields) >= 5 and is_position(fields[1]) and is_position(fields[2]):
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
    return units, relations, name


def article_text(passages: Sequence[str], reach: int) -> str:
    """The passages joined by line feeds; an empty abstract is dropped unless a mention reaches into it."""
    text = "\n".join(passages)
    return text.removesuffix("\n") if not passages[-1] and reach < len(text) else text


def _check_article(article: str, name: str, begun: bool, path: str, number: int) -> None:
    if not begun or article != name:
        raise InputError(
            at(path, number, f"this mention of the article {article!r} does not follow its passages.\n"
               "Put each article's mentions after its title and abstract.")
        )  # fmt: skip


def write_pubtator(annotation: Annotation, scheme: str | None) -> bytes:
    """The bytes of a PubTator file; the first line of a text is its title, other line feeds become blanks."""
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


def recognise_pubtator(file: File) -> str | None:
    """Recognise a first line such as `12345|t|A title`."""
    first = file.head.lstrip().split(b"\n", 1)[0]
    return "'ID|t|' in the first line" if re.match(rb"[^|\t]+\|t\|", first) else None


PUBTATOR = Format(
    name="pubtator",
    summary="PubTator: ID|t|title, ID|a|abstract and rows of mentions",
    read=read_pubtator,
    write=write_pubtator,
    recognise=recognise_pubtator,
    suffixes=(".pubtator",),
    holds=frozenset(("words", "white space", "documents", "document names", "nested")),
    survey=partial(survey_lines, "pubtator", _opened),
    source="https://www.ncbi.nlm.nih.gov/research/pubtator3/",
)
