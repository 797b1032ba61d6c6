"""The fast and the plain way to read column files give the same rows, whatever the bytes."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from line_counts import lines_run
from typed import present

from spanwise import formats
from spanwise.errors import InputError
from spanwise.formats import _interning
from spanwise.formats._columns import Layout, Rows, parse_fast, parse_plain
from spanwise.formats._interning import Interner
from spanwise.hashing import PADDING

WORDS = [
    b"a",
    b"B-X",
    b"O",
    b'"quoted"',
    b"'",
    b"eightby8",
    b"nine-byte",
    b"sixteen-bytes-ok",
    b"seventeen-bytes-o",
    b"a-word-that-is-rather-longer-than-that-1",
    b"a-word-that-is-rather-longer-than-that-2",
    b"-DOCSTART-",
    b"-DOCSTARTX",
    "é\xa0é".encode(),
    "x\u2028y".encode(),
    b"\x0b",
    b"a\x0cb",
    b"\x1c\x1d",
    b"#",
    "\ufeff".encode(),
    "日本".encode(),
]


def _layout(separator: str = "blank", width: int = 2, comments: bytes | None = None) -> Layout:
    return Layout("f", separator, width, 1, (0, width - 1), (width - 1,), comments)


def _interners() -> tuple[Interner, ...]:
    tags = Interner()
    tags.codes_of([b"O"])
    return Interner(), tags


def _decoded(rows: Rows, interners: tuple[Interner, ...]) -> tuple[object, ...]:
    columns = [
        [interner.strings[code] for code in column.tolist()]
        for column, interner in zip(rows.columns, interners, strict=True)
    ]
    lines = None if rows.token_lines is None else rows.token_lines.tolist()
    return (
        columns,
        rows.begins.tolist(),
        rows.lines.tolist(),
        rows.marks.tolist(),
        rows.open,
        rows.line,
        lines,
    )


def _both(data: bytes, layout: Layout, *, open: bool = False) -> bool:
    """Compare the two ways; return whether the fast one could be used."""
    fast, plain = _interners(), _interners()
    quick = parse_fast(data, layout, fast, open=open, line=5)
    if quick is None:
        return False
    slow = parse_plain(data, layout, plain, open=open, line=5)
    assert _decoded(quick, fast) == _decoded(slow, plain)
    assert fast[0].strings == plain[0].strings  # in the order of their first occurrence
    return True


def _regular(generator: random.Random, separator: bytes, width: int, newline: bytes) -> bytes:
    lines = []
    for _ in range(generator.randrange(1, 30)):
        if generator.random() < 0.2:
            lines.append(b"")
        else:
            lines.append(separator.join(generator.choice(WORDS) for _ in range(width)))
    end = newline if generator.random() < 0.7 else b""
    return newline.join(lines) + end or b"\n"


@pytest.mark.parametrize("separator", ["blank", "tab"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_regular_lines_are_read_the_fast_way_with_the_same_result(separator: str, newline: bytes) -> None:
    generator = random.Random(f"{separator}{newline!r}")
    taken = 0
    for _ in range(300):
        width = generator.choice([2, 2, 3, 4])
        data = _regular(generator, b" " if separator == "blank" else b"\t", width, newline)
        taken += _both(data, _layout(separator, width), open=generator.random() < 0.5)
    assert taken > 250


@pytest.mark.parametrize("separator", ["blank", "tab"])
def test_random_bytes_are_read_identically_or_left_to_the_plain_way(separator: str) -> None:
    generator = random.Random(separator)
    pieces = [
        *WORDS,
        b" ",
        b" ",
        b"  ",
        b"\t",
        b"\t\t",
        b"\n",
        b"\n",
        b"\n\n",
        b"\r\n",
        b"\r",
        b" O\n",
        b"\tO\n",
    ]
    taken = 0
    for _ in range(3000):
        data = b"".join(generator.choices(pieces, k=generator.randrange(1, 12)))
        layout = _layout(separator, comments=generator.choice([None, None, b"#"]))
        try:
            taken += _both(data, layout, open=generator.random() < 0.5)
        except InputError:
            # The plain way refused the width of a line, so the fast one must not have accepted it.
            assert parse_fast(data, layout, _interners(), open=False, line=5) is None
    assert taken > 20


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.text(alphabet="aé\xa0\u2028\x0b \t\r\nO#-", min_size=1, max_size=40))
@example("a O\n\u2028 O\n")
def test_any_text_is_read_identically(text: str) -> None:
    data = text.encode()
    for separator in ("blank", "tab"):
        try:
            _both(data, _layout(separator))
        except InputError:
            assert parse_fast(data, _layout(separator), _interners(), open=False, line=5) is None


SAMPLE = (
    "-DOCSTART- -X- O\n\nNew B-1 B-LOC\nYork B-1 I-LOC\n\n\n"
    '" Q O\nword\xa0with Z O\n-DOCSTART- -X- O\nincomprehensibilities N B-MISC\nend E O'
)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_chunks_may_be_cut_at_every_byte(
    tmp_path: Path, cut_chunks: Callable[[int, int], None], newline: str
) -> None:
    path = tmp_path / "sample.conll"
    path.write_bytes(SAMPLE.replace("\n", newline).encode())
    whole = formats.read(path)
    for size in range(1, path.stat().st_size + 1):
        cut_chunks(size, size)
        cut = formats.read(path)
        assert cut.mentions.rows() == whole.mentions.rows()
        assert [cut.corpus.words(i) for i in range(len(cut.corpus))] == [
            whole.corpus.words(i) for i in range(len(whole.corpus))
        ]
        for in_chunks, in_whole in (
            (cut.corpus.source.lines, whole.corpus.source.lines),
            (cut.corpus.documents, whole.corpus.documents),
        ):
            assert present(in_chunks).tolist() == present(in_whole).tolist()
        assert cut.reading.sha256 == whole.reading.sha256


def test_only_an_irregular_chunk_is_read_the_plain_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut_chunks: Callable[[int, int], None]
) -> None:
    cut_chunks(1000, 1000)
    lines = ["word O"] * 1000
    lines[500] = "word O "
    path = tmp_path / "one.conll"
    path.write_text("\n".join(lines) + "\n")
    plain = Mock(wraps=parse_plain)
    monkeypatch.setattr("spanwise.formats._columns.parse_plain", plain)
    assert len(formats.read(path).corpus.tokens) == 1000
    assert plain.call_count == 1


def test_no_python_line_runs_once_per_token_on_the_fast_way(tmp_path: Path) -> None:
    def lines(tokens: int) -> int:
        path = tmp_path / f"{tokens}.conll"
        path.write_text(
            "\n".join(f"word{i % 50} {'B-X' if i % 9 == 0 else 'O'}" for i in range(tokens)) + "\n"
        )
        return lines_run(lambda: formats.read(path)).total()

    lines(100)
    assert lines(40_000) < lines(4_000) + 4_000


def test_words_of_every_length_are_distinguished() -> None:
    generator = random.Random(7)
    words = [bytes(generator.choices(b"ab", k=generator.randrange(1, 40))) for _ in range(5000)]
    words += [b"h" * 200, b"h" * 201, b"h" * 200]
    interner = Interner()
    codes = interner.codes_of(words)
    again = interner.codes_of(words)
    assert [interner.strings[code].encode() for code in codes.tolist()] == words
    assert again.tolist() == codes.tolist()
    assert sorted(set(words)) == sorted(string.encode() for string in interner.strings)


def test_words_that_share_a_hash_are_still_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_interning, "byte_hashes", lambda _, __, size: np.zeros(len(size), np.uint64))
    words = [b"first-long-word", b"other-long-word", b"first-long-word", b"a-third-one-of-them", b"short"]
    interner = Interner()
    for _ in range(2):
        codes = interner.codes_of([*words, *words])
        assert [interner.strings[code].encode() for code in codes.tolist()] == [*words, *words]
    assert sorted(interner.strings) == sorted({word.decode() for word in words})


def test_the_table_grows_beyond_its_first_size() -> None:
    interner = Interner()
    words = [b"w%d" % i for i in range(30_000)]
    assert interner.codes_of(words).tolist() == list(range(30_000))
    assert interner.codes_of(words[::-1]).tolist() == list(range(30_000))[::-1]


def test_a_word_at_the_very_end_of_the_buffer_is_loaded_whole() -> None:
    interner = Interner()
    buffer = b"abcdefghi" + PADDING
    assert interner.codes(buffer, np.array([8]), np.array([9])).tolist() == [0]
    assert interner.strings == ["i"]


def test_formats_are_recognised_from_the_head_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_bytes(b"a O\n" * 100_000)
    assert len(formats.File(path).head) == 1 << 16
