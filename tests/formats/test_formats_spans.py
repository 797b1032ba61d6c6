"""Span files, lists, and writing files."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from spanwise import formats
from spanwise.corpus import Mentions
from spanwise.errors import ChoiceError, InputError
from spanwise.formats import writing


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_rows_count_tokens_from_one_and_include_both_ends(tmp_path: Path) -> None:
    path = write(
        tmp_path / "any.csv",
        "PER\t2\t3\t2, 3\nLOC\t3\t3\t3\n\nNONE\t999\t999\t999\n\nEMPTY\t0\t0\t0\n\nX\t1\t1\t1",
    )
    read = formats.read(path)
    assert read.reading.format == "spans"
    assert len(read.corpus) == 4
    assert read.mentions.rows() == [(0, 1, 3, "PER"), (0, 2, 3, "LOC"), (3, 0, 1, "X")]
    assert read.corpus.without_text
    assert read.corpus.place(3) == f"{path}:8"


def test_tokens_with_gaps_are_discontinuous_mentions(tmp_path: Path) -> None:
    read = formats.read(write(tmp_path / "f.spans", "X\t1\t5\t1, 2, 5\nY\t1\t1\t1\n"))
    assert read.mentions.parts is not None
    assert read.mentions.parts.at.tolist() == [0, 2, 3]
    assert read.mentions.parts.start.tolist() == [0, 4, 0]
    assert read.mentions.parts.end.tolist() == [2, 5, 1]


@pytest.mark.parametrize("row", ["X\t2\t4", "X\t2\t4\t2,3,4", "X\t02\t4\t2, 3, 4", "X\t2\t4\t 2, 3,  4 \t\r"])
def test_a_span_may_be_spelt_in_several_ways(row: str, tmp_path: Path) -> None:
    read = formats.read(write(tmp_path / "f.spans", f"Y\t1\t12\nX\t3\t3\t3\n{row}\n"))
    assert read.mentions.rows() == [(0, 0, 12, "Y"), (0, 2, 3, "X"), (0, 1, 4, "X")]
    assert read.mentions.parts is None


def test_positions_may_be_large(tmp_path: Path) -> None:
    rows = "X\t1\t2\t1, 2\nX\t123456789012\t123456789013\t123456789012, 123456789013\n"
    assert formats.read(write(tmp_path / "f.spans", rows)).mentions.end.tolist() == [2, 123456789013]


@pytest.mark.parametrize("far", [0, 2**40])
def test_duplicates_are_found_wherever_they_are(far: int) -> None:
    rows = [(0, 4, 5 + far, "X"), (0, 0, 1, "X"), (0, -1, -1, "X"), (0, 4, 5 + far, "X"), (0, -1, -1, "X")]
    rows += [(2**20, 4, 5 + far, "X"), (2**20, 4, 5 + far, "Y")]
    assert Mentions.of(rows).repeated.nonzero()[0].tolist() == [3]
    assert not Mentions.of(rows[3:]).repeated.any()


def test_real_span_files_are_read_and_written_byte_for_byte(data: Path, tmp_path: Path) -> None:
    for name, mentions in (("gold", 6178), ("predicted", 5953)):
        read = formats.read(data / "ortmann-ner" / f"{name}.spans")
        assert (len(read.corpus), len(read.mentions)) == (5100, mentions)
        writing.write(read, tmp_path / "out.spans")
        assert (tmp_path / "out.spans").read_bytes() == (data / "ortmann-ner" / f"{name}.spans").read_bytes()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("X\t1", "the row has 2 columns, but label, begin and end are needed"),
        ("X\ta\t2", "'a' and '2' should be the numbers of the first and the last token"),
        ("X\t3\t2", "the span 3 to 2 is empty or begins before 1"),
        ("X\t0\t2", "the span 0 to 2 is empty or begins before 1"),
        ("X\t1\t2\tx, y", "'x, y' should be the numbers of the tokens"),
        ("X\t1\t3\t1, 2", "the tokens '1, 2' do not run from 1 to 3"),
        ("\t1\t3", "the row has no label"),
        ("X\t1\t1\nX\t1\t1", "the mention X .0, 1. occurs twice in one sentence"),
    ],
)
def test_a_wrong_row_is_reported_with_its_line(tmp_path: Path, row: str, message: str) -> None:
    path = write(tmp_path / "f.spans", f"NONE\t9\t9\n\nPER\t1\t1\t1\n\n{row}\n")
    with pytest.raises(InputError, match=rf"(?s)f.spans:[56]: .*{message}.*\n."):
        formats.read(path, format="spans")


def test_duplicate_rows_are_dropped_on_request(tmp_path: Path) -> None:
    path = write(tmp_path / "f.spans", "X\t1\t1\t1\nX\t1\t1\t1\n")
    assert formats.read(path, duplicates="drop").mentions.rows() == [(0, 0, 1, "X")]


def test_an_empty_span_file_contains_no_spans(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the file has no spans.\nA sentence without spans"):
        formats.read(write(tmp_path / "f.spans", "\n\n"), format="spans")


def test_character_spans_and_unplaced_mentions_cannot_be_span_rows(tmp_path: Path) -> None:
    text = formats.read(write(tmp_path / "t.jsonl", '{"text": "ab", "spans": [[0, 1, "X"]]}\n'))
    with pytest.raises(
        InputError, match=r"t.jsonl:1: the mention X \[0, 1\), 'a', begins or ends inside a token"
    ):
        writing.write(text, tmp_path / "out.spans")
    from spanwise.corpus import Annotation, Mentions

    lost = Annotation(formats.from_tags([["O"]]).corpus, Mentions.of([(0, -1, -1, "X")]))
    with pytest.raises(InputError, match="a mention X of sentence 1 has no position in the text"):
        writing.write(lost, tmp_path / "out.spans")
    with pytest.raises(InputError, match=r"the annotation has no tokens to write in lines.\nWrite jsonl"):
        writing.write(formats.from_spans([[(0, 1, "X")]]), tmp_path / "out.conll")


def test_lists_of_tags_and_of_spans_are_annotations() -> None:
    tags = formats.read([["B-X", "I-X", "O"], []])
    assert tags.mentions.rows() == [(0, 0, 2, "X")]
    assert tags.corpus.lengths.tolist() == [3, 0]
    assert tags.corpus.without_text
    tokens = [["New", "York", "is"], []]
    assert formats.read([["B-X", "I-X", "O"], []], tokens=tokens).corpus.words(0) == tokens[0]
    spans = formats.read([[(0, 2, "X"), {"start": 1, "end": 2, "label": "Y"}], []], tokens=tokens)
    assert spans.mentions.rows() == [(0, 0, 2, "X"), (0, 1, 2, "Y")]
    assert formats.read([[], []], tokens=tokens).mentions.rows() == []
    assert formats.read(tags) is tags


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: formats.from_tags([["O"]], tokens=[["a", "b"]]), "sentence 1 has 1 tag, but 2 tokens"),
        (
            lambda: formats.from_tags([["O"]], tokens=[]),
            "the annotation has 1 sentence, but the tokens have 0",
        ),
        (
            lambda: formats.from_spans([[(0, 3, "X")]], tokens=[["a"]]),
            "ends after the sentence, which has 1 token",
        ),
        (lambda: formats.from_spans([[(2, 1, "X")]]), r"the span \[2, 1\) of X is empty"),
        (lambda: formats.from_spans([[(2, 3, "")]]), "has no label"),
        (lambda: formats.from_spans([["PER"]]), "'PER' is not a span"),  # type: ignore[list-item]
        (lambda: formats.from_spans([[(0, 1, "X"), (0, 1, "X")]]), "occurs twice"),
        (lambda: formats.from_tags([["O", "PER"]]), "<tags>: sentence 1, token 2: 'PER' is not a tag"),
    ],
)
def test_wrong_lists_are_reported(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.json"
    formats.write_atomically(target, "one")
    with pytest.raises(InputError, match="the file cannot be written"):
        formats.write_atomically(tmp_path / "missing" / "out.json", "two")

    def fail(self: Path, other: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(InputError, match=r"out.json: the file cannot be written \(No space left on device\)"):
        formats.write_atomically(target, "two")
    assert target.read_text() == "one"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_chunks_are_written_one_after_the_other_and_compressed_together(tmp_path: Path) -> None:
    for name in ("out.json", "out.json.gz"):
        formats.write_atomically(tmp_path / name, (piece for piece in ("ein", "s ", "zwö")))
        assert formats.read_text(tmp_path / name) == "eins zwö"


def test_a_pipe_is_written_to_and_a_link_is_followed(tmp_path: Path) -> None:
    pipe, link, file = tmp_path / "pipe", tmp_path / "link", tmp_path / "file"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        read = reader.submit(pipe.read_text)
        formats.write_atomically(pipe, "through")
        assert read.result(10) == "through"
    assert pipe.is_fifo()
    file.write_text("old")
    link.symlink_to(file)
    formats.write_atomically(link, "new")
    assert link.is_symlink() and file.read_text() == "new"


def test_the_format_to_write_follows_from_the_suffix(tmp_path: Path) -> None:
    read = formats.from_tags([["B-X"]], tokens=[["a"]])
    writing.write(read, tmp_path / "a.jsonl.gz")
    assert formats.read(tmp_path / "a.jsonl.gz").reading.format == "jsonl"
    with pytest.raises(ChoiceError, match=r"the suffix of .* does not name a format to write"):
        writing.write(read, tmp_path / "a.unknown")
    writing.write(read, tmp_path / "a.unknown", format="conll")
    with pytest.raises(ChoiceError, match=r"no format is called 'conl'. Did you mean 'conll'"):
        formats.read(tmp_path / "a.unknown", format="conl")


def test_text_is_written_as_tokens_if_its_mentions_allow(tmp_path: Path) -> None:
    lines = ['{"text": "a", "spans": []}', '{"text": "in New York.", "spans": [[3, 11, "LOC"], [0, 2, "X"]]}']
    read = formats.read(write(tmp_path / "t.jsonl", "\n".join(lines)))
    assert writing.write(read, tmp_path / "out.conll", lossy=True) == ("the white space of 1 text",)
    assert (tmp_path / "out.conll").read_text() == "a O\n\nin B-X\nNew B-LOC\nYork I-LOC\n. O\n\n"
    lost = writing.write(read, tmp_path / "out.spans", lossy=True)
    assert lost == ("5 words", "the white space of 1 text")
    assert formats.read(tmp_path / "out.spans").mentions.rows() == [(1, 1, 3, "LOC"), (1, 0, 1, "X")]
    lost = writing.write(read, tmp_path / "out.jsonl", scheme="IOB2", lossy=True)
    assert lost == ("the white space of 1 text",)
    assert formats.read(tmp_path / "out.jsonl").mentions.rows() == [(1, 0, 1, "X"), (1, 1, 3, "LOC")]
    odd = write(
        tmp_path / "odd.jsonl",
        '{"text": "ab", "spans": [{"start": 0, "end": 2, "label": "X", "parts": [[0, 1], [1, 2]]}]}',
    )
    with pytest.raises(InputError, match="cannot hold all of this: 1 discontinuous mention"):
        writing.write(formats.read(odd), tmp_path / "out.conll")


@pytest.mark.parametrize(
    ("tokens", "label", "message"),
    [
        (["a\nb"], "X", r"the token 'a\\nb' would break a line of columns"),
        (["a\tb"], "X", "would break a line of columns"),
        (["-DOCSTART-"], "X", "the token '-DOCSTART-' would break"),
        (["a"], "X\tY", "the label .* would break a line of columns"),
        (["a"], " X", "the label ' X' would break a line of columns"),
    ],
)
def test_what_lines_cannot_express_is_not_written(
    tmp_path: Path, tokens: list[str], label: str, message: str
) -> None:
    read = formats.from_spans([[(0, 1, label)]], tokens=[tokens])
    with pytest.raises(InputError, match=message):
        writing.write(read, tmp_path / "out.conll")
    assert list(tmp_path.iterdir()) == []


def test_empty_sentences_and_reserved_labels_are_not_lost(tmp_path: Path) -> None:
    read = formats.from_spans([[], [(0, 1, "NONE")]], tokens=[[], ["a"]])
    with pytest.raises(InputError, match="sentence 1 has no tokens, which blank lines cannot represent"):
        writing.write(read, tmp_path / "out.conll")
    with pytest.raises(InputError, match="the label 'NONE' means something else in a span file"):
        writing.write(read, tmp_path / "out.spans")
    writing.write(read, tmp_path / "out.jsonl")
    assert formats.read(tmp_path / "out.jsonl").mentions.rows() == [(1, 0, 1, "NONE")]


def test_a_label_with_a_blank_is_written_between_tabs(tmp_path: Path) -> None:
    read = formats.from_spans([[(0, 1, "work of art")]], tokens=[["a", "b"]])
    writing.write(read, tmp_path / "out.conll")
    assert formats.read(tmp_path / "out.conll").mentions.rows() == [(0, 0, 1, "work of art")]
