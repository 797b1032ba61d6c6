"""Reading a span file at once gives the same mentions and errors as reading it line by line."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import formats
from spanwise.corpus import Mentions, Parts
from spanwise.errors import InputError
from spanwise.formats import spans
from spanwise.formats.spans import SpanLines

Duplicates: TypeAlias = Literal["error", "drop"]

EMPTY = ("NONE", "EMPTY")


@dataclass
class Read:
    """A span file as read line by line."""

    lines: list[int]  # of the sentences
    mentions: Mentions
    pieces: list[list[tuple[int, int]]]


def read_line_by_line(path: Path, *, duplicates: Duplicates) -> Read:
    """Read a span file as its documentation describes."""
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = 1 + data[: error.start].count(b"\n")
        raise InputError(
            f"{path}:{line}: the byte {data[error.start]:#04x} is not UTF-8.\n"
            'Convert the file to UTF-8, or name its encoding, such as encoding="latin-1".'
        ) from None
    lines: list[int] = []
    rows, pieces, line_numbers = [], [], []
    inside = False
    for number, row in enumerate(text.split("\n"), start=1):
        fields = row.rstrip(" \t\r").split("\t")
        if fields == [""]:
            inside = False
            continue
        if not inside:
            lines.append(number)
        inside = True
        if fields[0] not in EMPTY:
            span = spans._span(fields)
            if isinstance(span, str):
                raise InputError(f"{path}:{number}: {span}")
            start, end, own_pieces = span
            rows.append((len(lines) - 1, start, end, fields[0]))
            pieces.append(own_pieces)
            line_numbers.append(number)
    if not lines:
        raise InputError(
            f"{path}: the file has no spans.\nA sentence without spans is a row that begins with NONE."
        )
    plain = Mentions.of(rows)
    parts = Parts.of(pieces) if any(len(own_pieces) > 1 for own_pieces in pieces) else None
    mentions = Mentions(plain.sentence, plain.start, plain.end, plain.label, plain.labels, parts)
    mentions = mentions.sole(duplicates=duplicates, place=lambda which: f"{path}:{line_numbers[which]}")
    return Read(lines, mentions, [list(own_pieces) for own_pieces in mentions.pieces()])


def assert_read_alike(path: Path, *, duplicates: Duplicates) -> None:
    """Check that the actual reader gives the same result as the slow one, or the same error."""
    try:
        expected = read_line_by_line(path, duplicates=duplicates)
    except InputError as error:
        with pytest.raises(InputError) as caught:
            formats.read(path, format="spans", duplicates=duplicates)
        assert str(caught.value) == str(error)
        return
    annotation = formats.read(path, format="spans", duplicates=duplicates)
    assert annotation.corpus.source.lines is not None
    assert annotation.corpus.source.lines.tolist() == expected.lines
    assert annotation.mentions.rows() == expected.mentions.rows()
    assert annotation.mentions.labels == expected.mentions.labels
    assert (annotation.mentions.parts is None) == (expected.mentions.parts is None)
    assert [list(pieces) for pieces in annotation.mentions.pieces()] == expected.pieces


LABELS = ["PER", "LOC", "NONE", "EMPTY", "NONE ", " PER", "x y", "Ä", "no\xa0break", "\x01", "\x0b", "'\"",
          "biology-gene", "biology-cell", "a-label-of-thirty-two-bytes-long", "l" * 33, "", "  "]  # fmt: skip
NUMBERS = ["0", "01", "9", "10", "99", "100", "99999", "100000", "-1", "+1", "1 ", " 1", "１", "1_0", "x", ""]
ENDS = ["\n"] * 6 + ["\r\n", "\r\r\n", " \n", "\t\n", "\n\n", "\n \n", "\n\t\r\n", "\r"]


@st.composite
def rows(draw: st.DrawFn, *, odd: bool) -> str:
    """A line of a span file, almost always a valid one; if `odd`, one with anything in it."""
    first = draw(st.integers(1, 30))
    last = first + draw(st.integers(0, 12))
    columns = [draw(st.sampled_from(LABELS[:5] if not odd else LABELS)), str(first), str(last)]
    tokens = [str(token) for token in range(first, last + 1)]
    spelling = draw(st.integers(0, 9 if odd else 6))
    if odd and draw(st.integers(0, 3)) == 0:
        columns[draw(st.integers(1, 2))] = draw(st.sampled_from(NUMBERS))
    if spelling == 1:
        tokens = [token for index, token in enumerate(tokens) if index in (0, len(tokens) - 1) or index % 3]
    elif spelling == 7:
        tokens[draw(st.integers(0, len(tokens) - 1))] = draw(st.sampled_from(NUMBERS))
    elif spelling == 8:
        return "\t".join(columns[: draw(st.integers(0, 2))])
    comma = "," if spelling == 2 else ",  " if spelling == 3 else ", "
    columns += {4: [], 5: [""], 6: [" "], 9: [comma.join(tokens), "more"]}.get(spelling, [comma.join(tokens)])
    return "\t".join(columns)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """The bytes of a span file, with or without lines that are difficult or impossible to read."""
    odd = draw(st.booleans())
    lines = draw(st.lists(st.one_of(rows(odd=False), rows(odd=False), rows(odd=odd)), max_size=14))
    text = "".join(line + draw(st.sampled_from(ENDS)) for line in lines)
    if draw(st.booleans()):
        text = text.rstrip("\n")
    data = (b"\xef\xbb\xbf" if draw(st.integers(0, 5)) == 0 else b"") + text.encode()
    if odd and draw(st.integers(0, 5)) == 0:
        data += draw(st.sampled_from([b"\xff", b"PER\t1\t1\t1\nX\xc3", b"\n\xe2\x82\t1\t1"]))
    return data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spans")


@settings(deadline=None, derandomize=True, max_examples=700)
@given(data=files(), block=st.sampled_from([1, 40, 1 << 18]), duplicates=st.sampled_from(["error", "drop"]))
def test_a_file_read_at_once_equals_one_read_line_by_line(
    folder: Path, data: bytes, block: int, duplicates: Duplicates
) -> None:
    path = folder / "any.spans"
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spans, "_BLOCK", block)
        assert_read_alike(path, duplicates=duplicates)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(data=st.text(alphabet="PERNO 0123,\t\n\r.Ä\x0b", max_size=60).map(str.encode))
def test_any_characters_are_read_or_refused_as_when_read_line_by_line(folder: Path, data: bytes) -> None:
    path = folder / "any.spans"
    path.write_bytes(data)
    assert_read_alike(path, duplicates="drop")


def test_real_span_files_are_read_as_when_read_line_by_line(data: Path) -> None:
    for name in ("gold", "predicted"):
        assert_read_alike(data / "ortmann-ner" / f"{name}.spans", duplicates="error")


def test_many_labels_and_long_lists_are_read_as_when_read_line_by_line(tmp_path: Path) -> None:
    draw = random.Random(4)
    lines = []
    for _ in range(3000):
        first = draw.choice([1, 7, 98, 990, 9_990, 99_000])
        last = first + draw.randrange(draw.choice([1, 3, 40, 300]))
        label = f"{'long-and-' * draw.randrange(3)}label-{draw.randrange(300)}"
        tokens = ", ".join(map(str, range(first, last + 1)))
        lines.append(f"{label}\t{first}\t{last}\t{tokens}\n" + "\n" * draw.randrange(2))
    path = tmp_path / "many.spans"
    path.write_text("".join(lines))
    assert_read_alike(path, duplicates="drop")


def test_a_wrong_token_is_found_anywhere_in_a_list(tmp_path: Path) -> None:
    right = [str(token) for token in range(95, 112)]
    for position in range(len(right)):
        for wrong in ("9", "94", "113", "103", "1O3"):
            listed = [*right[:position], wrong, *right[position + 1 :]]
            path = tmp_path / "f.spans"
            path.write_text(f"X\t1\t2\t1, 2\nX\t95\t111\t{', '.join(listed)}\n")
            assert_read_alike(path, duplicates="error")


def test_lines_as_usually_written_are_plain(tmp_path: Path) -> None:
    data = b"PER\t3\t5\t3, 4, 5\nLOC\t10\t12\n\nNONE\t999\t999\t999\n"
    lines = SpanLines.of(data, empty=EMPTY)
    assert lines.plain.tolist() == [True] * 3
    assert lines.number.tolist() == [1, 2, 4]
    assert [lines.labels[label] for label in lines.label] == ["PER", "LOC", "NONE"]
    assert list(zip(lines.start, lines.end, strict=True))[:2] == [(2, 5), (9, 12)]


@pytest.mark.parametrize(
    "line",
    [
        b"PER\t1\t3\t1, 3",
        b"PER\t1\t2\t1,2",
        b"PER\t2\t1",
        b"PER\t1",
        b" ",
        b"X\t1\t1\t1\t1",
        b"\t1\t1",
        b"l" * 33 + b"\t1\t1",
    ],
)
def test_other_lines_are_left_to_be_read_one_by_one(line: bytes) -> None:
    lines = SpanLines.of(b"PER\t1\t1\t1\n" + line + b"\n", empty=EMPTY)
    assert lines.plain.tolist() == [True, False]
