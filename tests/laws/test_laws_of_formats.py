"""Every pair of formats: what is converted is equal, or it is refused, or it is said what is lost.

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

UNBOUNDED = Limits(*[2**62] * len(Limits.__struct_fields__))  # for what a test wrote itself
NEEDED = {"arrow": "pyarrow", "spacy": "spacy"}
WRITTEN = sorted(
    known.name
    for known in FORMATS
    if (known.write or known.write_folder) and importlib.util.find_spec(NEEDED.get(known.name, "spanwise"))
)
ODD_WORDS = [
    "a b", "", " ", "\t", "\n", "\r", "\\", "|", "_", "*", "#", "# x = 1", "B-X", "-DOCSTART-", "\x00",
    "\ufeff", "\x0b", "[1]", "\x85", "\u2028", "\u202e", "1-1", "->", ";", "NER=B", '"', "ID|t|", "😀",
]  # fmt: skip
ODD_LABELS = [
    "X-Y", "O", "NONE", "EMPTY", "a b", "\\", "|", "_", "*", "[1]", "\ufeff", "é", "x\ty", "a;b", "X\\",
]  # fmt: skip


def mostly(plain: list[str], odd: list[str]) -> st.SearchStrategy[str]:
    """Plain words four times out of five, so that annotations are kept as well as refused."""
    anything = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
    return st.integers(0, 9).flatmap(
        lambda number: st.sampled_from(plain) if number < 8 else st.sampled_from(odd) | anything
    )


WORDS = mostly(["Ann", "東京", "left", "é"], ODD_WORDS)
LABELS = mostly(["PER", "LOC"], ODD_LABELS)
PLAIN = st.sampled_from(["Ann", "東京", "left"])


@st.composite
def sentences(draw: st.DrawFn, words: st.SearchStrategy[str], labels: st.SearchStrategy[str]) -> Unit:
    """A sentence or a text with mentions anywhere in it, some of them in pieces."""
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
    """Up to three sentences, or as many texts; one in three of plain words alone."""
    plain = draw(st.integers(0, 2)) == 0
    kind = sentences(PLAIN if plain else WORDS, st.just("PER") if plain else LABELS)
    units = draw(st.lists(kind, min_size=1, max_size=3))
    whole = isinstance(units[0].body, str)
    units = [unit for unit in units if isinstance(unit.body, str) == whole]
    return annotated(*units)


def through(given: Annotation, name: str, folder: Path, *, lossy: bool = False) -> tuple[Annotation, bool]:
    """The annotation after it was written and read, and whether it was said that something is lost."""
    format = FORMATS.find(name)
    if format.write_folder is not None:
        place = Path(tempfile.mkdtemp(dir=folder))
        lost = write(given, place, format=name, lossy=lossy)
        return read(place, format=name), bool(lost)
    data, lost = to_bytes(given, name, lossy=lossy)
    file = File.of_bytes(f"x.{name}", data)
    try:
        return format.read(file, Options(limits=UNBOUNDED)), bool(lost)
    except InputError:  # a scheme that too few tags tell
        return format.read(file, Options(scheme=given.reading.scheme, limits=UNBOUNDED)), bool(lost)


def ink(given: Annotation) -> tuple[str, list[tuple[str, tuple[tuple[int, int], ...]]]]:
    """All characters but white space, and where the pieces of mentions lie among them: computed by hand."""
    corpus = given.corpus
    whole, begins = "", []
    bodies = [
        corpus.texts[number] if corpus.texts is not None else corpus.words(number)
        for number in range(len(corpus))
    ]
    for body in bodies:
        begins.append(len(whole))
        whole += bare(body)
    rows = []
    for sentence, pieces, label in rows_of(given):
        at, body = begins[sentence], bodies[sentence]
        places = tuple((at + len(bare(body[:start])), at + len(bare(body[:end]))) for start, end in pieces)
        rows.append((label, places))
    return whole, sorted(rows)


def bare(body: str | list[str]) -> str:
    return "".join("".join(body).split())


def rows_of(given: Annotation) -> list[tuple[int, Pieces, str]]:
    mentions = given.mentions
    return sorted(zip(mentions.sentence.tolist(), mentions.pieces(), mentions.names(), strict=True))


def token_rows_of(given: Annotation) -> list[tuple[int, Pieces, str]]:
    """The same rows in positions of tokens: every mention of a text begins and ends with one."""
    corpus = given.corpus
    if corpus.unit == "token":
        return rows_of(given)
    starts, ends = present(corpus.token_start).tolist(), present(corpus.token_end).tolist()
    rows = []
    for sentence, pieces, label in rows_of(given):
        first = int(corpus.sentences[sentence])
        places = tuple((starts.index(a, first) - first, ends.index(b, first) - first + 1) for a, b in pieces)
        rows.append((sentence, places, label))
    return rows


def equal(one: Annotation, other: Annotation) -> bool:
    """Whether two annotations say the same: word for word, or in characters where one is a running text."""
    if one.corpus.without_text or other.corpus.without_text:
        return token_rows_of(one) == token_rows_of(other) and len(one.corpus) == len(other.corpus)
    if one.corpus.unit == other.corpus.unit == "token":
        words = [[made.corpus.words(number) for number in range(len(made.corpus))] for made in (one, other)]
        return words[0] == words[1] and rows_of(one) == rows_of(other)
    return ink(one) == ink(other)


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
def test_what_is_lost_on_purpose_is_told(format: str, source: Annotation) -> None:
    with tempfile.TemporaryDirectory() as name:
        try:
            written, told = through(source, format, Path(name), lossy=True)
        except InputError:
            return
        assert told or equal(source, written)


def test_plain_annotations_are_kept_by_every_format() -> None:
    marked = Unit(["Ann", "left", "Rome"], [(((0, 1),), "PER"), (((2, 3),), "LOC")])
    source = annotated(marked, Unit(["She", "left"]))
    with tempfile.TemporaryDirectory() as name:
        for format in WRITTEN:
            again, told = through(source, format, Path(name))
            assert not told and equal(source, again), format
