"""Files in parts: rows kept in memory are the same as those from parsing a part again."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise.formats import read
from spanwise.formats.parts import (
    InMemorySource,
    KeptRows,
    Parted,
    Survey,
    pieces,
    read_piece,
    streamed_format,
    survey_layers,
)

MUCH = 1 << 30


def lines_of(
    seed: int, sentences: int = 300, *, tags: int | None = None, comments: bool = False
) -> list[str]:
    words, drawn = random.Random(seed), random.Random(seed if tags is None else tags)
    lines = []
    for number in range(sentences):
        if number % 37 == 5:
            lines += ["-DOCSTART- x O", ""]
        if comments and number % 11 == 3:
            lines.append("# a comment")
        for _ in range(words.randrange(1, 9)):
            word = f"w{int(words.paretovariate(0.6))}" if words.random() < 0.9 else "a-word-of-many-letters"
            lines.append(f"{word} x{len(lines) % 3} {drawn.choice(['O', 'O', 'B-A', 'I-A', 'I-b'])}")
        lines += [""] * words.randrange(1, 3)
    return lines


def write(path: Path, lines: list[str], end: str = "\n") -> Path:
    path.write_bytes(end.join([*lines, ""]).encode())
    return path


def look(path: Path, *, keep: KeptRows | None = None, **options: Any) -> Survey:
    cuts = options.pop("sentences", ())
    tokens = 0 if cuts else options.pop("tokens", 40)
    return survey_layers(path, options, merged=False, tokens=tokens, sentences=cuts, keep=keep)


def contents(survey: Parted) -> list[Any]:
    """The contents of all parts of a file."""
    result = []
    for piece in pieces(survey):
        part = read_piece(survey, piece)["only"]
        corpus = part.corpus
        sentences = range(len(corpus))
        result.append(
            (
                [corpus.words(i) for i in sentences],
                [corpus.place(i, int(corpus.lengths[i]) - 1) for i in sentences],
                [str(name) for name in corpus.ids or ()],
                None if corpus.documents is None else corpus.documents.tolist(),
                {name: column.tolist() for name, column in corpus.columns.items()},
                part.mentions.rows(),
                part.reading.repairs,
            )
        )
    return result


@pytest.fixture
def small_chunks(cut_chunks: Callable[[int, int], None]) -> None:
    """Chunks of a few sentences each, so that parts and chunks have different boundaries."""
    cut_chunks(256, 1024)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("documents", [None, "none"])
@pytest.mark.parametrize("tokens", [1, 40, 10_000])
def test_kept_rows_equal_those_of_the_file(
    tmp_path: Path, end: str, documents: str | None, tokens: int
) -> None:
    path = write(tmp_path / "a.conll", lines_of(1), end)
    options: dict[str, Any] = {"documents": documents, "tokens": tokens, "columns": {"1": 1}}
    kept = look(path, keep=KeptRows(MUCH), **options)
    parsed = look(path, **options)
    assert kept.kept is not None and parsed.kept is None
    assert contents(kept) == contents(parsed)
    whole = read(path)
    parts = contents(kept)
    assert [words for part in parts for words in part[0]] == [whole.corpus.words(i) for i in range(300)]
    assert sum(len(part[5]) for part in parts) == len(whole.mentions)


@pytest.mark.usefixtures("small_chunks")
def test_rows_of_a_compressed_file_with_a_byte_order_mark_are_kept_too(tmp_path: Path) -> None:
    path = tmp_path / "a.conll.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + "\n".join(lines_of(2)).encode(), mtime=0))
    assert contents(look(path, keep=KeptRows(MUCH))) == contents(look(path))


@pytest.mark.parametrize("documents", [None, "none"])
def test_a_source_that_was_read_whole_is_cut_like_one_that_is_streamed(
    tmp_path: Path, documents: str | None
) -> None:
    path = write(tmp_path / "a.conll", lines_of(1))
    streamed = look(path, documents=documents)
    cut = InMemorySource.of({"only": read(path, documents=documents)}, tokens=40)
    whole, parts = contents(cut), contents(streamed)
    assert [part[:-1] for part in whole] == [part[:-1] for part in parts]
    # When a source is read whole, all its repairs are counted with the first part.
    assert sum(part[-1] for part in whole) == sum(part[-1] for part in parts)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("changed", [False, True])
def test_the_tokens_of_predictions_are_kept_only_if_they_differ_from_those_of_gold(
    tmp_path: Path, changed: bool
) -> None:
    other = lines_of(3, tags=4)
    if changed:
        other[400] = f"another{other[400][other[400].index(' ') :]}"
    paths = [write(tmp_path / "gold", lines_of(3)), write(tmp_path / "other", other)]
    first = survey_layers(paths[0], {}, merged=False, tokens=50, keep=KeptRows(MUCH))
    cuts = [cut.sentence for cut in first.cuts[1:-1]]
    sizes = []
    for like in (first.kept, None):
        keep = KeptRows(MUCH, like=like)
        survey = survey_layers(paths[1], {}, merged=False, sentences=cuts, keep=keep)
        sizes.append(MUCH - keep.left)
        parsed = survey_layers(paths[1], {}, merged=False, sentences=cuts)
        assert survey.kept is keep
        assert contents(survey) == contents(parsed)
    assert sizes[0] < sizes[1]


def test_rows_are_not_kept_if_there_is_no_room_or_comments_skip_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conll", lines_of(5))
    survey = look(path, keep=KeptRows(1000))
    assert survey.kept is None
    assert contents(survey) == contents(look(path))
    path = write(tmp_path / "b.conll", lines_of(5, comments=True))
    survey = look(path, keep=KeptRows(MUCH), comments="#")
    assert survey.kept is None and survey.comments > 0
    assert contents(survey) == contents(look(path, comments="#"))


@pytest.mark.usefixtures("small_chunks")
def test_rows_after_forgotten_ones_can_still_be_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conll", lines_of(6))
    survey = look(path, keep=KeptRows(MUCH))
    expected = contents(survey)
    by_part = []
    assert survey.kept is not None
    for number, piece in enumerate(pieces(survey)):
        by_part.append(read_piece(survey, piece)["only"].mentions.rows())
        survey.kept.forget(survey.cuts[number + 1].token)
    assert by_part == [part[5] for part in expected]


@pytest.mark.parametrize(
    ("name", "reading", "can"),
    [
        ("a.conll", {}, True),
        ("a.conll", {"format": "jsonl"}, True),
        ("a.conll", {"format": "xmi"}, False),
        ("a.conll", {"encoding": "latin-1"}, False),
        ("-", {}, False),
        ([["O"]], {}, False),
    ],
)
def test_only_some_sources_can_be_streamed(
    tmp_path: Path, name: Any, reading: dict[str, Any], can: bool
) -> None:
    write(tmp_path / "a.conll", lines_of(7, 3))
    format = streamed_format(tmp_path / name if name == "a.conll" else name, reading)
    assert (format is not None) is can
