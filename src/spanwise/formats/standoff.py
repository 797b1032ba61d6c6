"""Record annotation: brat (`.ann` files next to `.txt` files, or a folder of them) and PubTator."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite, nan
from pathlib import Path

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from spanwise.columns import codes, ints
from spanwise.corpus import Annotation, Corpus, Mentions, Pieces
from spanwise.errors import InputError, at, many
from spanwise.formats._format import Before, Format, Options, Problem, is_position
from spanwise.formats._opening import File, sha256_of, write_atomically
from spanwise.formats._sentences import (
    Origin,
    Part,
    Record,
    check_characters,
    check_labels,
    content,
    only_counting,
    only_piece,
    texts_of,
)
from spanwise.formats._surveying import Batch

_LINE = re.compile(r"T\S*\t(\S+) ([0-9]{1,18} [0-9]{1,18}(?:;[0-9]{1,18} [0-9]{1,18})*)(?:\t(.*))?$")


def read_brat(part: Part, options: Options) -> Iterator[Record | Problem]:
    """The text of each `.ann` file with its mentions, as a document."""
    for path, name in part.items:
        yield from _pair(File(path, encoding=options.encoding), name, options, part.head)


class BratFiles(Struct):
    """The `.ann` files to read, and what has been left out of those that were read.

    Counts the lines that are not mentions, and lists mentions whose quoted text differs from the file.
    """

    units: list[tuple[str, str]]  # the path and the name of each document
    evidence: str
    sha256: str | None
    others: Counter[str] = field(default_factory=Counter)
    differing: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, file: File, options: Options) -> BratFiles:
        """An `.ann` file with its text, or all such pairs in a folder."""
        if not file.is_folder:
            name = Path(file.path).stem
            return cls([(file.path, name)], ".ann with its .txt", sha256_of(file.path))
        paths = ann_files(file)
        units = [(str(path), str(path.relative_to(file.path).with_suffix(""))) for path in paths]
        return cls(units, f"{len(paths):,} .ann files with their .txt", None)

    @property
    def left_out(self) -> list[str]:
        """The note on lines that are not mentions."""
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(self.others.items()))
        return [f"lines that are not mentions were left out: {kinds}"] if kinds else []

    @property
    def notes(self) -> list[str]:
        """The other notes for the `Reading`."""
        if not self.differing:
            return []
        return [
            f"{len(self.differing):,} mentions quote text that differs from the file, "
            f"first {self.differing[0]}"
        ]


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


def _pair(file: File, name: str, options: Options, head: BratFiles) -> Iterator[Record | Problem]:
    text_path = Path(file.path).with_suffix(".txt")
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
            head.others[_KINDS.get(line[0], "others")] += 1
            continue
        mentions.append(mention_of_line(line, text, file.path, number, head.differing))
        marks.append(line.partition("\t")[0])
    listed = [scores.get(mark, nan) for mark in marks] if scores else []
    yield Record(text, mentions, name, scores=listed)


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
    recognise=recognise_brat,
    records=read_brat,
    opened=BratFiles.of,
    write_folder=write_brat,
    suffixes=(".ann",),
    holds=frozenset(
        ("words", "white space", "documents", "document names", "nested", "discontinuous", "scores")
    ),
    source="https://brat.nlplab.org/standoff.html",
)


# ---- PubTator: the title and abstract of each article, then its mentions in tab-separated rows ----


PASSAGE = re.compile(r"([^|\t]+)\|([a-z])\|(.*)$")


def read_pubtator(part: Part, options: Options) -> Iterator[Batch | Record | Problem]:
    """The mentions of each article, in characters of its passages joined by line feeds."""
    regular = _regular_articles(part, options)
    if regular is not None:
        yield regular
    else:
        yield from articles_of(part)


# A title, an abstract and mentions with the same ID, up to a blank line.
_ARTICLE = re.compile(
    r"([^|\t\n]+)\|t\|([^\n]*)\n\1\|a\|([^\n]*)\n"
    r"((?:\1\t[0-9]{1,18}\t[0-9]{1,18}\t[^\t\n]*\t[^\t\n]+(?:\t[^\n]*)?\n)*)(?:\n+|\Z)"
)
_ROW = re.compile(r"^[^\t]+\t([0-9]+)\t([0-9]+)\t[^\t]*\t([^\t\n]+)", re.MULTILINE)


def _regular_articles(part: Part, options: Options) -> Batch | None:
    """The articles if all consist of a title, an abstract and mentions within them, else None."""
    whole = part.text
    text = whole.replace("\r\n", "\n").lstrip("\n")
    if "\r" in text:
        return None
    line = part.first + whole.count("\n") - text.count("\n")
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
    corpus, _ = content(units, Origin(part.path, "pubtator"), options)
    begins = ints([unit.line for unit in units])
    return Batch(corpus, begins, mentions={"gold": mentions}, after=Before(units[-1].id))


def articles_of(part: Part) -> Iterator[Batch | Record | Problem]:
    """The articles of a part, read line by line."""
    passages: list[str] = []
    mentions: list[tuple[Pieces, str]] = []
    name, first, relations = part.before.document or "", 0, 0
    for number, line in [*part.lines(), (0, "")]:
        passage = PASSAGE.match(line)
        if passages and (not line or (passage and passage[1] != name)):
            reach = max((end for pieces, _ in mentions for _, end in pieces), default=0)
            yield Record(article_text(passages, reach), mentions, name, line=first)
        if not line or (passage and passage[1] != name):
            passages, mentions = [], []
        if not line:
            continue
        fields = line.split("\t")
        if passage:
            if not passages:
                name, first = passage[1], number
            passages.append(passage[3])
        elif len(fields) >= 5 and is_position(fields[1]) and is_position(fields[2]):
            if passages and fields[0] == name:
                mentions.append((((int(fields[1]), int(fields[2])),), fields[4]))
            else:
                yield Problem(
                    number,
                    f"this mention of the article {fields[0]!r} does not follow its passages.\n"
                    "Put each article's mentions after its title and abstract.",
                )
        elif len(fields) == 4 and fields[0] == name:
            relations += 1
        else:
            yield Problem(
                number,
                f"{line[:60]!r} is neither a passage nor a mention.\n"
                "Expected 'ID|t|title', 'ID|a|abstract' or 'ID<tab>start<tab>end<tab>text<tab>label'.",
            )
    # Relations may follow a blank line.
    none, after = Mentions.of([]), Before(name)
    yield Batch(Corpus.of([]), mentions={"gold": none}, after=after, left_out={"relations": relations})


def article_text(passages: Sequence[str], reach: int) -> str:
    """The passages joined by line feeds; an empty abstract is dropped unless a mention reaches into it."""
    text = "\n".join(passages)
    return text.removesuffix("\n") if not passages[-1] and reach < len(text) else text


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
    recognise=recognise_pubtator,
    records=read_pubtator,
    evidence="'ID|t|' lines",
    write=write_pubtator,
    suffixes=(".pubtator",),
    holds=frozenset(("words", "white space", "documents", "document names", "nested")),
    source="https://www.ncbi.nlm.nih.gov/research/pubtator3/",
)
