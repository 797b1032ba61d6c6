"""Reading the mentions of CoNLL-U, HIPE, flair and WebAnno files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tagged_samples import CONLLU, FLAIR, HIPE, WEBANNO

from spanwise.corpus import Annotation
from spanwise.errors import ChoiceError, InputError
from spanwise.formats import from_spans, read, read_layers
from spanwise.formats.writing import write

PLUS = """\
# global.columns = ID FORM UPOS X:NE
1\tAnn\tPROPN\tB-PER
2\tLee\tPROPN\tI-PER
"""


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def error(path: Path, **options: Any) -> str:
    with pytest.raises((InputError, ChoiceError)) as caught:
        read(path, **options)
    return str(caught.value)


def same(first: Annotation, second: Annotation) -> None:
    assert first.mentions.rows() == second.mentions.rows()
    assert [first.corpus.words(i) for i in range(len(first.corpus))] == [
        second.corpus.words(i) for i in range(len(second.corpus))
    ]
    if first.corpus.documents is not None:
        assert second.corpus.documents is not None
        assert first.corpus.documents.tolist() == second.corpus.documents.tolist()


def test_conllu_reads_entities_from_misc_and_skips_ranges_and_empty_nodes(tmp_path: Path) -> None:
    annotation = read(put(tmp_path, "x.conllu", CONLLU))
    assert annotation.reading.format == "conllu"
    assert annotation.mentions.rows() == [(0, 0, 1, "PER"), (0, 3, 5, "LOC"), (1, 0, 1, "PER")]
    assert annotation.corpus.words(0) == ["Ann", "left", "it", "New", "York"]
    assert annotation.corpus.ids == ("s1", "s2")
    assert annotation.corpus.document_ids == ("d1", "document 2")
    assert annotation.corpus.place(0, 3).endswith("x.conllu:9")
    assert annotation.reading.evidence.startswith("the key of MISC NER; ")


def test_conllu_plus_reads_a_column_of_its_own(tmp_path: Path) -> None:
    path = put(tmp_path, "x.txt", PLUS)
    assert read(path).mentions.rows() == [(0, 0, 2, "PER")]
    assert read(path, tag_column=3).mentions.rows() == [(0, 0, 2, "PER")]


def test_conllu_round_trips(tmp_path: Path) -> None:
    first = read(put(tmp_path, "x.conllu", CONLLU))
    write(first, tmp_path / "y.conllu", scheme="BIOES")
    same(first, read(tmp_path / "y.conllu"))
    assert "NER=S-PER" in (tmp_path / "y.conllu").read_text()


def test_conllu_reports_missing_entities_and_short_lines(tmp_path: Path) -> None:
    words = "no column and no key of MISC holds entities; looked for Mention.\nName it"
    assert words in error(put(tmp_path, "x.conllu", CONLLU), tag_column="Mention")
    short = CONLLU.replace("2\tleft\t_", "2\tleft")
    assert "x.conllu:6: the line has 9 columns, but 10 are expected" in error(
        put(tmp_path, "x.conllu", short)
    )
    assert "the file has no tokens" in error(put(tmp_path, "x.conllu", PLUS.split("\n")[0]), tag_column=3)


def test_hipe_reads_coarse_literal_tags_documents_and_sentences(tmp_path: Path) -> None:
    path = put(tmp_path, "x.tsv", HIPE)
    annotation = read(path)
    assert annotation.reading.format == "hipe"
    assert annotation.mentions.rows() == [(0, 0, 1, "pers"), (1, 0, 1, "loc"), (2, 0, 1, "pers")]
    assert annotation.corpus.document_ids == ("d1", "d2")
    assert annotation.corpus.documents is not None and annotation.corpus.documents.tolist() == [0, 2, 3]
    assert read(path, tag_column="NE-COARSE-METO").mentions.rows() == [(1, 0, 1, "org")]
    write(annotation, tmp_path / "y.tsv", format="hipe")
    same(annotation, read(tmp_path / "y.tsv"))


def test_hipe_reports_which_columns_there_are_and_where_one_is_missing(tmp_path: Path) -> None:
    path = put(tmp_path, "x.tsv", HIPE)
    assert "x.tsv:1: the header has no column 'NE'.\nIt has: TOKEN, NE-COARSE-LIT" in error(
        path, tag_column="NE"
    )
    put(tmp_path, "x.tsv", HIPE.replace("left\tO", "left"))
    assert "x.tsv:4: the line has 9 columns, but the header has 10" in error(path)


def test_flair_reads_both_columns(tmp_path: Path) -> None:
    path = put(tmp_path, "test.tsv", FLAIR)
    layers = read_layers(path)
    assert layers["gold"].reading.format == "flair"
    assert layers["gold"].mentions.rows() == [(0, 0, 2, "PER"), (0, 2, 3, "LOC")]
    assert layers["predicted"].mentions.rows() == [(0, 0, 1, "PER"), (0, 2, 3, "LOC"), (1, 0, 1, "PER")]
    assert layers["gold"].corpus.words(0) == ["Ann", "Lee", "New York"]
    assert read(path).mentions.rows() == layers["predicted"].mentions.rows()
    assert read(path, tag_column="gold").mentions.rows() == layers["gold"].mentions.rows()


def test_flair_reports_what_is_wrong(tmp_path: Path) -> None:
    path = put(tmp_path, "test.tsv", "Ann B-PER\n")
    assert "test.tsv:1: 'Ann B-PER' has 2 columns" in error(path, format="flair")
    assert "has no column 'x'.\nThere are: gold, predicted." in error(path, format="flair", tag_column="x")


def test_webanno_reads_numbered_and_stacked_mentions(tmp_path: Path) -> None:
    annotation = read(put(tmp_path, "x.tsv", WEBANNO))
    assert annotation.reading.format == "webanno"
    assert annotation.mentions.rows() == [
        (0, 0, 2, "PER"),
        (0, 0, 1, "NAME"),
        (0, 2, 3, "ODD_ONE"),
        (0, 3, 5, "LOC"),
        (1, 1, 2, "*"),
    ]
    assert annotation.corpus.words(1) == ["a", "[b]"]
    assert read(tmp_path / "x.tsv", tag_column="POS").mentions.labels == ("N", "V")


def test_webanno_round_trips_nested_and_discontinuous_mentions(tmp_path: Path) -> None:
    tokens = [["Ann", "of", "New_York", "[x]"], ["a|b"]]
    spans = [[(0, 4, "A|B"), (2, 3, "LOC"), (2, 4, "LOC")], [(0, 1, "X_Y")]]
    first = from_spans(spans, tokens=tokens)
    write(first, tmp_path / "y.tsv", format="webanno")
    again = read(tmp_path / "y.tsv")
    same(first, again)
    pieces = put(
        tmp_path, "z.json", '[{"sentence": ["a", "b", "c"], "ner": [{"index": [0, 2], "type": "S"}]}]'
    )
    write(read(pieces), tmp_path / "z.tsv", format="webanno")
    parts = read(tmp_path / "z.tsv").mentions.parts
    assert parts is not None and parts.start.tolist() == [0, 2]


def test_webanno_reports_what_is_wrong(tmp_path: Path) -> None:
    path = put(tmp_path, "x.tsv", WEBANNO)
    words = "there is no span layer Event in the header.\nThe span layers are: POS.PosValue, NamedEntity."
    assert words in error(path, tag_column="Event")
    assert "'what' is not a token" in error(put(tmp_path, "y.tsv", WEBANNO + "\nwhat\n"))
