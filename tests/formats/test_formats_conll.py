"""Reading CoNLL files: columns, separators, documents, comments and line numbers."""

from __future__ import annotations

import gzip
import hashlib
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest
from typed import present

from spanwise import formats
from spanwise.corpus import Annotation
from spanwise.errors import ChoiceError, InputError
from spanwise.formats import writing


class Write(Protocol):
    def __call__(self, text: str | bytes, name: str = "f.conll") -> Path: ...


@pytest.fixture
def file(tmp_path: Path) -> Write:
    def write(text: str | bytes, name: str = "f.conll") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def sentences(annotation: Annotation) -> list[list[str]]:
    return [annotation.corpus.words(i) for i in range(len(annotation.corpus))]


def test_one_line_per_token_and_a_blank_line_after_each_sentence(file: Write) -> None:
    read = formats.read(file("New B-LOC\nYork I-LOC\n\nis O\n"))
    assert sentences(read) == [["New", "York"], ["is"]]
    assert read.mentions.rows() == [(0, 0, 2, "LOC")]
    assert read.reading.format == "conll"
    assert read.reading.evidence == "2 columns separated by blanks; IOB2, because 1 mention starts with B-"


@pytest.mark.parametrize(
    "text",
    [
        "a O\nb B-X\n\nc O\n",
        "a O\r\nb B-X\r\n\r\nc O\r\n",
        "\ufeffa O\nb B-X\n\nc O",
        "a O\nb B-X\n\n\n\n\nc O\n\n\n",
        "\n\na O\nb B-X\n\nc O",
        "a  O \nb\tB-X\t\n \t \nc O  \n",
        "  a O\n b B-X\n\n c O\n",
        "a\tO\nb\tB-X\n\nc\tO\n",
        "a\tO\nb\tB-X\n\t\nc\tO\n",
        "a O\r\nb B-X\n\r\nc O",
    ],
)
def test_line_endings_spaces_and_blank_lines_do_not_matter(file: Write, text: str) -> None:
    read = formats.read(file(text))
    assert sentences(read) == [["a", "b"], ["c"]]
    assert read.mentions.rows() == [(0, 1, 2, "X")]


def test_quotes_and_unicode_line_separators_are_ordinary_characters(file: Write) -> None:
    words = ['"', "'s", "a\xa0b", "x\u2028y", "\u2029", "v\x0bt", "f\x0cf", "\x1c", "\x85"]
    read = formats.read(file("".join(f"{word} O\n" for word in words)))
    assert sentences(read) == [words]


def test_with_tabs_a_token_may_contain_spaces_or_be_empty(file: Write) -> None:
    read = formats.read(file("New York\tB-LOC\n\tO\n . \tO\n"))
    assert sentences(read) == [["New York", "", " . "]]
    assert "separated by tabs" in read.reading.evidence


def test_the_separator_can_be_named(file: Write) -> None:
    path = file("a\tb O\nc\td O\n")
    with pytest.raises(InputError, match="'b O' is not a tag"):
        formats.read(path)
    assert sentences(formats.read(path, separator="blank")) == [["a", "c"]]
    with pytest.raises(ChoiceError, match=r"no separator is called 'tabs'. Did you mean 'tab'"):
        formats.read(path, separator="tabs")  # type: ignore[arg-type]


def test_columns_are_chosen_by_number_from_either_end(file: Write) -> None:
    path = file("1 New NNP B-LOC x\n2 York NNP I-LOC y\n")
    read = formats.read(path, token_column=1, tag_column=-2, columns={"part": 2, "last": "-1"})
    assert sentences(read) == [["New", "York"]]
    assert read.mentions.rows() == [(0, 0, 2, "LOC")]
    assert read.corpus.columns["part"].tolist() == ["NNP", "NNP"]
    assert read.corpus.columns["last"].tolist() == ["x", "y"]


def test_columns_are_chosen_by_name(file: Write) -> None:
    header = file("# global.columns = ID FORM TAG\n1 New B-LOC\n")
    assert sentences(formats.read(header, format="conll", token_column="FORM", tag_column="TAG")) == [["New"]]
    first = file("TOKEN\tNE\tX\nNew\tB-LOC\tx\n", "g.conll")
    read = formats.read(first, format="conll", token_column="TOKEN", tag_column="NE")
    assert read.mentions.rows() == [(0, 0, 1, "LOC")]
    assert read.corpus.place(0) == f"{first}:2"
    with pytest.raises(ChoiceError, match=r"no column is called 'TOKENS'. Did you mean 'TOKEN'"):
        formats.read(first, format="conll", token_column="TOKENS", tag_column="NE")


def test_a_missing_column_is_reported(file: Write) -> None:
    path = file("a O\n")
    with pytest.raises(InputError, match=r"f.conll:1: there is no column 5: the columns are 0 to 1"):
        formats.read(path, tag_column=5)
    with pytest.raises(ChoiceError, match="the tokens and the tags would both be in column 0"):
        formats.read(path, tag_column=0)


def test_none_means_no_extra_columns(file: Write) -> None:
    path = file("a B-X\nb O\n")
    assert not formats.validate(path, columns=None, fields=None).problems
    assert formats.read(path, columns=None, fields=None).mentions.rows() == [(0, 0, 1, "X")]


def test_docstart_lines_mark_documents_and_are_not_tokens(file: Write) -> None:
    text = "a O\n\n-DOCSTART- O\n\nb O\n\nc O\n-DOCSTART-\n-DOCSTART- -X- -X- O\nd O\n\n-DOCSTART- O\n"
    read = formats.read(file(text))
    assert sentences(read) == [["a"], ["b"], ["c"], ["d"]]
    assert read.corpus.documents is not None
    assert read.corpus.documents.tolist() == [0, 1, 3, 4]
    assert formats.read(file(text), documents="none").corpus.documents is None
    assert formats.read(file("a O\n")).corpus.documents is None


def test_comment_lines_are_left_out_on_request_and_counted(file: Write) -> None:
    path = file("# id 1\na O\n#b O\n# note\nc B-X\n\n# id 2\nd O\n")
    read = formats.read(path, format="conll", comments="# ")
    assert sentences(read) == [["a", "#b", "c"], ["d"]]
    assert read.reading.notes == ("3 comment lines were left out",)
    assert [read.corpus.place(0, i) for i in range(3)] == [f"{path}:2", f"{path}:3", f"{path}:5"]
    assert read.corpus.place(1) == f"{path}:8"
    assert sentences(formats.read(path, format="conll", comments="#")) == [["a", "c"], ["d"]]
    with pytest.raises(ChoiceError, match="would leave out every line"):
        formats.read(path, comments="")


def test_every_token_has_its_line_number(file: Write) -> None:
    path = file("\n-DOCSTART- O\n\na O\nb O\n\n\nc O\n")
    read = formats.read(path)
    positions = [read.corpus.place(s, t) for s, t in [(0, 0), (0, 1), (1, 0)]]
    assert positions == [f"{path}:4", f"{path}:5", f"{path}:8"]


def test_a_no_break_space_belongs_to_the_label_and_is_noted(file: Write) -> None:
    read = formats.read(file("a B-PER\nb B-PER\xa0\nc\xa0d O\n"))
    assert read.mentions.labels == ("PER", "PER\xa0")
    assert read.reading.notes == ("the label 'PER\\xa0' holds a no-break space; without it there is 'PER'",)
    assert sentences(read) == [["a", "b", "c\xa0d"]]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_compressed_files_are_recognised_by_their_content(
    file: Write, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(b"a B-X\n" * 50_000)
    path = file(packed, "any.name")
    read = formats.read(path)
    assert len(read.corpus.tokens) == 50_000
    assert read.reading.sha256 == hashlib.sha256(packed).hexdigest()


def test_zstd_files_are_read(file: Write) -> None:
    zstandard = pytest.importorskip("zstandard")
    packed = zstandard.ZstdCompressor().compress(b"a B-X\n" * 1000)
    assert len(formats.read(file(packed, "f.conll.zst")).corpus.tokens) == 1000


def test_the_hash_is_computed_from_the_file(file: Write) -> None:
    path = file("a O\n" * 100_000)
    assert formats.read(path).reading.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_standard_input_is_written_as_a_minus(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    class Standard:
        buffer = io.BytesIO(b"a B-X\n")

    monkeypatch.setattr(sys, "stdin", Standard())
    read = formats.read("-")
    assert read.mentions.rows() == [(0, 0, 1, "X")]
    assert read.reading.sha256 == hashlib.sha256(b"a B-X\n").hexdigest()


def test_other_encodings_are_read_when_named(file: Write) -> None:
    path = file("Café B-LOC\n".encode("latin-1"))
    assert sentences(formats.read(path, encoding="latin-1")) == [["Café"]]
    wide = file("Café B-LOC\n".encode("utf-16"), "wide.conll")
    assert sentences(formats.read(wide, encoding="utf-16")) == [["Café"]]
    with pytest.raises(InputError, match="no encoding is called 'latin-99'"):
        formats.read(path, encoding="latin-99")
    with pytest.raises(InputError, match="the file is not in utf-32"):
        formats.read(path, encoding="utf-32")


def test_a_merged_file_contains_two_annotations_of_one_corpus(file: Write) -> None:
    layers = formats.read_layers(file("New NNP B-LOC O\nYork NNP I-LOC I-LOC\n"))
    assert layers["gold"].mentions.rows() == [(0, 0, 2, "LOC")]
    assert layers["predicted"].mentions.rows() == [(0, 1, 2, "LOC")]
    assert layers["gold"].corpus is layers["predicted"].corpus
    other = formats.read_layers(file("New B-LOC O NNP\n"), tag_column=1)
    assert [len(layer.mentions) for layer in other.values()] == [1, 0]
    with pytest.raises(ChoiceError, match="names one column, but a merged file has two"):
        formats.read_layers(file("a O O\n"), tag_column="gold")
    with pytest.raises(ChoiceError, match="of the format 'pubtator' holds one annotation"):
        formats.read_layers(file("1|t|Ann left\n"), format="pubtator")


def test_predictions_use_the_preferred_scheme(file: Write) -> None:
    path = file("a I-X\n")
    assert formats.read(path).reading.scheme == "IOB1"
    assert formats.read(path, prefer="IO").reading.scheme == "IO"
    declared = formats.read(path, scheme="IOB2")
    assert declared.reading.scheme == "IOB2"
    assert declared.reading.evidence.endswith("IOB2, as declared")
    assert formats.read(path, scheme="bio").reading.scheme == "IOB2"
    with pytest.raises(ChoiceError, match="no scheme is called 'BIX'"):
        formats.read(path, scheme="BIX")
    assert declared.reading.repairs == 1
    assert declared.reading.tags_fit == ("IOB1", "IO", "IOE1")
    with pytest.raises(InputError, match=r"f.conll:1: the tag 'I-X' is impossible in IOB2"):
        formats.read(path, scheme="IOB2", repair="none")


def test_written_conll_files_are_read_back(file: Write, tmp_path: Path) -> None:
    read = formats.read(file("-DOCSTART- O\n\na B-X\nb I-X\nc B-X\n\n-DOCSTART- O\n\nd O\n"))
    for name in ("out.conll", "out.conll.gz", "out.txt.xz"):
        for scheme in (None, "BIOES", "IOB1", "BILOU", "IOE2"):
            writing.write(read, tmp_path / name, scheme=scheme)
            back = formats.read(tmp_path / name, scheme=scheme or "IOB2", repair="none")
            assert back.mentions.rows() == read.mentions.rows()
            assert sentences(back) == sentences(read)
            assert present(back.corpus.documents).tolist() == [0, 1, 2]
    tabs = formats.read(file("New York\tB-X\n", "t.conll"))
    writing.write(tabs, tmp_path / "tabs.conll")
    assert (tmp_path / "tabs.conll").read_text() == "New York\tB-X\n\n"


def test_real_files_are_read_whole(data: Path) -> None:
    expected = {
        "wnut16/train.txt": (2394, 46469, 1496),
        "wnut17/test.conll": (1287, 23394, 1079),
        "wnut17/train.conll": (3394, 62730, 1975),
        "wnut17/predictions/arcada.conll": (1287, 23394, 787),
        "conll2002-es/test.txt": (1517, 51533, 3559),
        "masakhaner/hau/test.txt": (1633, 44848, 4109),
    }
    for name, (number, tokens, mentions) in expected.items():
        read = formats.read(data / name)
        assert (len(read.corpus), len(read.corpus.tokens), len(read.mentions)) == (number, tokens, mentions)
    layers = formats.read_layers(data / "wnut16" / "flair.txt")
    assert [len(layer.mentions) for layer in layers.values()] == [3473, 3081]
