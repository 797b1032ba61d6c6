"""Unusable files are refused with one clear message that names the position and says what to do."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest

from spanwise import formats
from spanwise.cli.main import main
from spanwise.errors import InputError
from spanwise.formats.writing import write

OK = b"a B-X\nb I-X\n\nc O\n"
JSON = b'{"tokens": ["a"], "tags": ["O"]}\n'
# The file's name and bytes, the position that the message begins with, and a part of the message.
HOSTILE: list[tuple[str, bytes, str, str]] = [
    # nothing in it
    ("empty.conll", b"", "", "the file has no tokens"),
    ("blank-lines.conll", b"\n\n\n", "", "the file has no tokens"),
    ("only-spaces.conll", b"   \n \t \n", "", "the file has no tokens"),
    ("only-crlf.conll", b"\r\n\r\n", "", "the file has no tokens"),
    ("only-bom.conll", b"\xef\xbb\xbf", "", "the file has no tokens"),
    ("only-docstart.conll", b"-DOCSTART- O\n\n-DOCSTART- O\n", "", "the file has no tokens"),
    # not text
    ("nul.conll", b"a O\nb\x00 O\n", ":2", "holds a NUL byte, so this is not a text file"),
    ("binary.conll", bytes(range(256)) * 20, ":1", "holds a NUL byte"),
    ("png.conll", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", ":3", "holds a NUL byte"),
    ("zip.conll", b"PK\x03\x04rest", ":1", "this is a zip archive, not text"),
    ("bzip2.conll", b"BZh91AY&SY", ":1", "this is a bzip2 file, not text"),
    ("pdf.conll", b"%PDF-1.7\n", ":1", "this is a PDF document, not text"),
    ("utf16.conll", "a O\n".encode("utf-16-le").join([b"\xff\xfe", b""]), ":1", "is in UTF-16"),
    ("utf16be.conll", b"\xfe\xff" + "a O\n".encode("utf-16-be"), ":1", "is in UTF-16"),
    # not UTF-8
    ("latin1.conll", OK + "caf\xe9 O\n".encode("latin-1"), ":5", "the byte 0xe9 is not UTF-8"),
    ("cut-character.conll", OK + "日".encode()[:2] + b" O\n", ":5", "the byte 0xe6 is not UTF-8"),
    ("surrogate.conll", b"a O\n\xed\xa0\x80 O\n", ":2", "the byte 0xed is not UTF-8"),
    ("bad-tag-bytes.conll", b"a O\nb \xff\n", ":2", "the byte 0xff is not UTF-8"),
    ("overlong.conll", b"\xc0\x80 O\n", ":1", "the byte 0xc0 is not UTF-8"),
    ("late.conll", b"word O\n" * 70_000 + b"\xff O\n", ":70001", "the byte 0xff is not UTF-8"),
    # columns
    ("one-column.conll", b"a\nb\n", ":1", "the line has only one column, 'a'"),
    ("prose.conll", b"It was a dark night.\nThe end.\n", ":2", "the line has 2 columns, but there are 5"),
    ("missing-tag.conll", b"a O\nb\nc O\n", ":2", "the line has 1 column, but there are 2 from line 1 on"),
    ("extra-column.conll", b"a O\nb O O\n", ":2", "the line has 3 columns, but there are 2"),
    ("late-width.conll", b"word O\n" * 70_000 + b"word\n", ":70001", "the line has 1 column"),
    ("tab-then-blank.conll", b"a\tO\n" * 20_000 + b"b O\n", ":20001", "the line has 1 column"),
    ("tab-empty-tag.conll", b"a\tO\nb\t\n", ":2", "the line has 1 column"),
    ("comment.conll", b"# a comment of mine\na O\n", ":2", "name the comment mark"),
    ("csv.conll", b"token,tag\na,O\n", ":1", "the line has only one column, 'token,tag'"),
    ("megabyte.conll", b"x" * (1 << 20), ":1", "the line has only one column, 'xxxxxxxxxx"),
    ("megabyte-line.conll", b"a O\n" + b"y" * (1 << 20) + b"\nb O\n", ":2", "the line has 1 column"),
    ("mac.conll", b"a O\rb O\rc O\r", ":1", "the lines end with lone carriage returns"),
    ("nbsp-between.conll", "a\xa0O\n".encode(), ":1", "the line has only one column, 'a\\xa0O'"),
    # tags
    ("small-o.conll", b"a o\nb B-X\n", ":1", "'o' is not a tag; outside mentions the tag is 'O'"),
    ("zero.conll", b"a B-X\nb 0\n", ":2", "'0' (the digit) is not a tag"),
    ("lone-b.conll", b"a B-\nb O\n", ":1", "'B-' has no label after the hyphen"),
    ("b-alone.conll", b"a O\nb B\n", ":2", "'B' has no label"),
    ("bare-label.conll", b"a PER\nb O\n", ":1", "Is this the tag column?"),
    ("small-b.conll", b"a O\n\nb b-PER\n", ":3", "write 'B-PER'"),
    ("unknown-letter.conll", b"a X-PER\n", ":1", "begins with 'X', which no scheme uses"),
    ("hyphen.conll", b"a -\n", ":1", "'-' has no label after the hyphen"),
    ("underscore.conll", b"a _\n", ":1", "'_' is not a tag"),
    ("nbsp-o.conll", "a O\nb O\xa0\n".encode(), ":2", "contains white space; write 'O'"),
    ("underlined-prefix.conll", b"a B_PER\n", ":1", "'B_PER' is not a tag"),
    ("swapped.conll", b"B-PER Jane\n", ":1", "'Jane' is not a tag"),
    ("header.conll", b"token tag\na O\n", ":1", "'tag' is not a tag"),
    ("zero-width.conll", "a \u200bO\n".encode(), ":1", "is not a tag"),
    ("cyrillic.conll", "a В-PER\n".encode(), ":1", "which no scheme uses"),
    # packed
    ("cut.conll.gz", gzip.compress(OK * 5000)[:-20], "", "cannot be read to its end"),
    ("broken.conll.gz", b"\x1f\x8b\x08\x00broken", "", "cannot be read to its end"),
    ("cut.conll.xz", lzma.compress(OK * 5000)[:-20], "", "cannot be read to its end"),
    ("packed-binary.conll.gz", gzip.compress(b"a O\n\x00"), ":2", "holds a NUL byte"),
    # JSON lines
    ("cut.jsonl", JSON + JSON[:-10], ":2", "this is not JSON"),
    ("quotes.jsonl", b"{'tokens': ['a']}\n", ":1", "this is not JSON"),
    ("trailing-comma.jsonl", JSON + b'{"tokens": ["a"],}\n', ":2", "this is not JSON"),
    ("number.jsonl", b"17\n", ":1", "a JSON object is expected, not int"),
    ("null.jsonl", JSON + b"null\n", ":2", "a JSON object is expected, not NoneType"),
    ("keys.jsonl", b'{"sentence_text": "a"}\n', ":1", "its keys are: 'sentence_text'"),
    ("lengths.jsonl", JSON + b'{"tokens": ["a"], "tags": []}\n', ":2", "the record has 0 tags, but 1 token"),
    ("deep.jsonl", b'{"a": ' * 50_000 + b"\n", ":1", "JSON"),
    ("empty.jsonl", b"\n\n", "", "the file has no records"),
    ("latin1.jsonl", JSON + b'{"tokens": ["\xe9"], "tags": ["O"]}\n', ":2", "the byte 0xe9 is not UTF-8"),
    ("behind.jsonl", b'{"text": "ab", "spans": [[0, 9, "X"]]}\n', ":1", "ends after the sentence"),
    ("backwards.jsonl", b'{"text": "ab", "spans": [[2, 1, "X"]]}\n', ":1", "is empty or begins before"),
    ("twice.jsonl", b'{"text": "a", "spans": [[0, 1, "X"], [0, 1, "X"]]}\n', ":1", "occurs twice"),
    ("no-label.jsonl", b'{"text": "ab", "spans": [{"start": 0, "end": 1}]}\n', ":1", "is not a span"),
    ("parts.jsonl", b'{"spans": [{"start": 0, "end": 2,"label": "X", "parts": 3}]}\n', ":1", "is not a span"),
    ("pieces.jsonl", b'{"spans": [{"start": 0, "end": 2, "label": "X", "parts": [[1]]}]}\n', ":1", "a span"),
    # span files
    ("words.spans", b"PER\t1\t1\t1\n\nPER\tone\ttwo\n", ":3", "should be the numbers"),
    ("zero.spans", b"PER\t0\t1\t1\n", ":1", "is empty or begins before 1"),
    ("short.spans", b"PER\t1\t1\t1\nPER\t2\n", ":2", "the row has 2 columns"),
]  # fmt: skip


def test_there_are_at_least_sixty_hostile_files() -> None:
    assert len(HOSTILE) >= 60
    assert len({name for name, *_ in HOSTILE}) == len(HOSTILE)


@pytest.mark.parametrize(
    ("name", "content", "position", "message"), HOSTILE, ids=[case[0] for case in HOSTILE]
)
def test_a_hostile_file_is_refused_with_one_clear_message(
    tmp_path: Path, name: str, content: bytes, position: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    format = "spans" if name.endswith(".spans") else None
    with pytest.raises(InputError) as caught:
        formats.read(path, format=format)
    text = str(caught.value)
    assert text.startswith(f"{path}{position}: ")
    assert message in text
    assert len(text) < 500

    out = tmp_path / "out.jsonl"
    flags = [] if format is None else ["--format", format]
    assert main(["convert", str(path), str(out), *flags]) == 3
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert "Traceback" not in shown.err
    assert sorted(file.name for file in tmp_path.iterdir()) == [name]


def test_a_missing_file_is_answered_with_a_similar_name(tmp_path: Path) -> None:
    (tmp_path / "gold.conll").write_bytes(OK)
    with pytest.raises(InputError, match=r"glod.conll: there is no such file.\nDid you mean '.*gold.conll'"):
        formats.read(tmp_path / "glod.conll")
    with pytest.raises(InputError, match="There is no folder"):
        formats.read(tmp_path / "nowhere" / "gold.conll")
    with pytest.raises(InputError, match=r"there is no such file.\nCheck the path"):
        formats.read(tmp_path / "qqq")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is a folder, not a file"):
        formats.read(tmp_path, format="conll")
    with pytest.raises(InputError, match="this is a folder, not a file"):
        formats.read(tmp_path)


def test_even_a_very_long_token_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long.conll"
    path.write_bytes(b"x" * (1 << 20) + b" B-X\nb O\n")
    assert len(formats.read(path).corpus.words(0)[0]) == 1 << 20


@pytest.mark.parametrize("key", ["tokens", "words", "sentence"])
def test_a_sentence_that_is_not_split_into_tokens_is_not_read_without_its_text(key: str) -> None:
    with pytest.raises(InputError, match=rf"the '{key}' of the record is a string, not a list of tokens"):
        formats.read([{key: "Ann Lee", "spans": [[0, 2, "PER"]]}])


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_half_a_character_in_a_further_field_is_refused_when_it_is_written(name: str, tmp_path: Path) -> None:
    record = {"tokens": ["Ann"], "spans": [], "note": "\ud800"}
    annotation = formats.read([record])
    with pytest.raises(InputError, match="a further field holds half of a surrogate pair"):
        write(annotation, tmp_path / name)
