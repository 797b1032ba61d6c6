"""Every pair of formats: a conversion keeps everything, is refused, or reports what is lost.

Random annotations have nested, crossing and discontinuous mentions, and words and labels with any character.
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typed import present
from units import Unit, annotated

from spanwise.corpus import Annotation, Pieces
from spanwise.errors import InputError
from spanwise.formats import FORMATS, File, Limits, Options, read
from spanwise.formats.writing import to_bytes, write

UNBOUNDED = Limits(*[2**62] * len(Limits.__struct_fields__))  # for files that a test wrote itself
NEEDED = {"arrow": "pyarrow", "spacy": "spacy"}
WRITTEN = sorted(
    format.name
    for format in FORMATS
    if (format.write or format.write_folder) and importlib.util.find_spec(NEEDED.get(format.name, "spanwise"))
)
ODD_WORDS = [
    "a b", "", " ", "\t", "\n", "\r", "\\", "|", "_", "*", "#", "# x = 1", "B-X", "-DOCSTART-", "\x00",
    "\ufeff", "\x0b", "[1]", "\x85", "\u2028", "\u202e", "1-1", "->", ";", "NER=B", '"', "ID|t|", "😀",
]  # fmt: skip
ODD_LABELS = [
    "X-Y", "O", "NONE", "EMPTY", "a b", "\\", "|", "_", "*", "[1]", "\ufeff", "é", "x\ty", "a;b", "X\\",
]  # fmt: skip


def mostly(plain: list[str], odd: list[str]) -> st.SearchStrategy[str]:
    """Plain words four times out of five, so that some annotations are kept and others refused."""
    anything = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
    return st.integers(0, 9).flatmap(
        lambda number: st.sampled_from(plain) if number < 8 else st.sampled_from(odd) | anything
    )


WORDS = mostly(["Ann", "東京", "left", "é"], ODD_WORDS)
LABELS = mostly(["PER", "LOC"], ODD_LABELS)
PLAIN = st.sampled_from(["Ann", "東京", "left"])


@st.composite
def sentences(draw: st.DrawFn, words: st.SearchStrategy[str], labels: st.SearchStrategy[str]) -> Unit:
    """A sentence or a text with mentions anywhere in it, some of them discontinuous."""
    body: list[str] | str = draw(st.lists(words, min_size=1, max_size=6))
    if draw(st.booleans()) and all(body):
        body = " ".join(body)
    mentions: dict[tuple[Pieces, str], None] = {}
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(body) - 1))
        end = draw(st.integers(start + 1, len(body)))
        pieces: Pieces = ((start, end),)
        if end + 1 < len(body) and draw(st.integers(0, 3)) == 0:
            pieces = (*pieces, (end + 1, draw(st.integers(end + 2, len(body)))))
        mentions[pieces, draw(labels)] = None
    return Unit(body, list(mentions))


@st.composite
def drawn_annotations(draw: st.DrawFn) -> Annotation:
    """Up to three sentences, or up to three texts; one in three consists of plain words only."""
    plain = draw(st.integers(0, 2)) == 0
    kind = sentences(PLAIN if plain else WORDS, st.just("PER") if plain else LABELS)
    units = draw(st.lists(kind, min_size=1, max_size=3))
    whole = isinstance(units[0].body, str)
    units = [unit for unit in units if isinstance(unit.body, str) == whole]
    return annotated(*units)


def through(
    annotation: Annotation, name: str, folder: Path, *, lossy: bool = False
) -> tuple[Annotation, bool]:
    """The annotation after writing and reading it, and whether a loss was reported."""
    format = FORMATS.find(name)
    if format.write_folder is not None:
        path = Path(tempfile.mkdtemp(dir=folder))
        lost = write(annotation, path, format=name, lossy=lossy)
        return read(path, format=name), bool(lost)
    data, lost = to_bytes(annotation, name, lossy=lossy)
    file = File.of_bytes(f"x.{name}", data)
    try:
        return format.read(file, Options(limits=UNBOUNDED)), bool(lost)
    except InputError:  # too few tags to detect the scheme
        return format.read(file, Options(scheme=annotation.reading.scheme, limits=UNBOUNDED)), bool(lost)


def ink(annotation: Annotation) -> tuple[str, list[tuple[str, tuple[tuple[int, int], ...]]]]:
    """All non-space characters, and the positions of the pieces of mentions among them."""
    corpus = annotation.corpus
    whole, begins = "", []
    bodies = [
        corpus.texts[number] if corpus.texts is not None else corpus.words(number)
        for number in range(len(corpus))
    ]
    for body in bodies:
        begins.append(len(whole))
        whole += bare(body)
    rows = []
    for sentence, pieces, label in rows_of(annotation):
        at, body = begins[sentence], bodies[sentence]
        positions = tuple((at + len(bare(body[:start])), at + len(bare(body[:end]))) for start, end in pieces)
        rows.append((label, positions))
    return whole, sorted(rows)


def bare(body: str | list[str]) -> str:
    return "".join("".join(body).split())


def rows_of(annotation: Annotation) -> list[tuple[int, Pieces, str]]:
    mentions = annotation.mentions
    return sorted(zip(mentions.sentence.tolist(), mentions.pieces(), mentions.names(), strict=True))


def token_rows_of(annotation: Annotation) -> list[tuple[int, Pieces, str]]:
    """The rows in token positions; every mention of a text begins and ends at a token boundary."""
    corpus = annotation.corpus
    if corpus.unit == "token":
        return rows_of(annotation)
    starts, ends = present(corpus.token_start).tolist(), present(corpus.token_end).tolist()
    rows = []
    for sentence, pieces, label in rows_of(annotation):
        first = int(corpus.sentences[sentence])
        positions = tuple(
            (starts.index(a, first) - first, ends.index(b, first) - first + 1) for a, b in pieces
        )
        rows.append((sentence, positions, label))
    return rows


def equal(first: Annotation, second: Annotation) -> bool:
    """Whether two annotations are the same: word for word, or by characters if one is running text."""
    if first.corpus.without_text or second.corpus.without_text:
        return token_rows_of(first) == token_rows_of(second) and len(first.corpus) == len(second.corpus)
    if first.corpus.unit == second.corpus.unit == "token":
        words = [
            [annotation.corpus.words(number) for number in range(len(annotation.corpus))]
            for annotation in (first, second)
        ]
        return words[0] == words[1] and rows_of(first) == rows_of(second)
    return ink(first) == ink(second)


@pytest.mark.parametrize("first", WRITTEN)
@given(source=drawn_annotations())
@settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
def test_a_pair_keeps_everything_or_refuses(first: str, source: Annotation) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            between, _ = through(source, first, folder)
        except InputError:
            return
        assert equal(source, between)
        for second in WRITTEN:
            try:
                last, _ = through(between, second, folder)
            except InputError:
                continue
            assert equal(between, last), second


@pytest.mark.parametrize("format", WRITTEN)
@given(source=drawn_annotations())
@settings(
    max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
def test_a_permitted_loss_is_reported(format: str, source: Annotation) -> None:
    with tempfile.TemporaryDirectory() as name:
        try:
            written, reported = through(source, format, Path(name), lossy=True)
        except InputError:
            return
        assert reported or equal(source, written)


def test_plain_annotations_are_kept_by_every_format() -> None:
    marked = Unit(["Ann", "left", "Rome"], [(((0, 1),), "PER"), (((2, 3),), "LOC")])
    with tempfile.TemporaryDirectory() as name:
        for format in WRITTEN:
            holds = present(FORMATS.find(format).holds)
            source = annotated(marked, *([Unit(["She", "left"])] if "sentences" in holds else []))
            again, reported = through(source, format, Path(name), lossy="words" not in holds)
            assert reported == ("words" not in holds) and equal(source, again), format
