"""Stand-off formats are read, and written so that they read back the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from standoff_samples import GATE, PUBTATOR, TEXT, W2NER, XMI, label_studio
from units import Unit, annotated

from spanwise.corpus import Annotation, Mentions
from spanwise.errors import InputError
from spanwise.formats import from_spans, read, read_layers
from spanwise.formats.standoff import write_brat
from spanwise.formats.writing import write
from spanwise.matching import match


def brat(folder: Path, name: str = "a", text: str = TEXT, ann: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    (folder / f"{name}.ann").write_text(ann, encoding="utf-8")
    return folder / f"{name}.ann"


def shown(annotation: Annotation) -> list[tuple[str, list[Any]]]:
    """The mentions as (label, the strings of their pieces)."""
    mentions, corpus = annotation.mentions, annotation.corpus
    result = []
    for sentence, pieces, label in zip(mentions.sentence, mentions.pieces(), mentions.names(), strict=True):
        body: Any = corpus.texts[sentence] if corpus.texts else corpus.words(int(sentence))
        result.append((label, [body[start:end] for start, end in pieces]))
    return result


def same(first: Annotation, second: Annotation) -> None:
    assert shown(first) == shown(second)
    assert first.mentions.rows() == second.mentions.rows()


def error(source: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(source, **options)
    return str(caught.value)


def test_brat_reads_discontinuous_mentions_and_reports_what_it_left_out(tmp_path: Path) -> None:
    path = brat(
        tmp_path,
        ann="T1\tPER 0 7\tAnn Lee\nT2\tLOC 11 14;24 28\tNew Rome\nR1\tIn Arg1:T1 Arg2:T2\n#1\tNote T1\tok\n",
    )
    annotation = read(path)
    assert annotation.reading.format == "brat"
    assert shown(annotation) == [("PER", ["Ann Lee"]), ("LOC", ["New", "Rome"])]
    assert annotation.corpus.unit == "character"
    assert annotation.corpus.words(0)[:3] == ["Ann", "Lee", "of"]
    assert annotation.reading.notes == ("lines that are not mentions were left out: 1 notes, 1 relations",)


def test_brat_reads_a_folder_with_a_document_for_every_file(tmp_path: Path) -> None:
    brat(tmp_path / "b", "two", ann="T1\tPER 0 3\tAnn\n")
    brat(tmp_path / "b", "one", ann="")
    annotation = read(tmp_path / "b")
    assert annotation.corpus.document_ids == ("one", "two")
    assert annotation.mentions.rows() == [(1, 0, 3, "PER")]


def test_brat_notes_a_quotation_that_differs_from_the_text(tmp_path: Path) -> None:
    annotation = read(brat(tmp_path, ann="T1\tPER 0 3\tBob\n"))
    assert "1 mentions quote text that differs from the file" in annotation.reading.notes[0]


def test_brat_round_trips_through_a_folder(tmp_path: Path) -> None:
    first = read(brat(tmp_path, ann="T1\tPER 0 7\tAnn Lee\nT2\tLOC 11 14;24 28\tNew Rome\n"))
    paths = write_brat(first, tmp_path / "out")
    same(first, read(paths[0]))
    write(first, tmp_path / "folder", format="brat")
    same(first, read(tmp_path / "folder"))


def test_brat_writes_tokens_as_a_text(tmp_path: Path) -> None:
    tokens = [["Ann", "Lee", "left"], ["Rome"]]
    annotation = from_spans([[(0, 2, "PER")], [(0, 1, "LOC")]], tokens=tokens)
    again = read(write_brat(annotation, tmp_path)[0])
    assert shown(again) == [("PER", ["Ann Lee"]), ("LOC", ["Rome"])]


@pytest.mark.parametrize(
    ("ann", "words"),
    [
        ("T1 PER 0 3\n", "a.ann:1: 'T1 PER 0 3' is not a mention.\nExpected 'T1<tab>Label 0 5<tab>text'"),
        (
            "T1\tPER 0 99\tAnn\n",
            "a.ann:1: the mention PER 0 99 is not inside the text, which has 39 characters",
        ),
        ("T1\tPER 3 3\t\n", "a.ann:1: the mention PER 3 3 is not inside the text"),
        ("T1\tPER 0 3\tAnn\nT2\tPER 0 3\tAnn\n", "the mention PER [0, 3) occurs twice in one sentence"),
    ],
)
def test_brat_reports_the_position_of_an_error(tmp_path: Path, ann: str, words: str) -> None:
    assert words in error(brat(tmp_path, ann=ann))


def test_brat_reports_a_missing_text_and_an_empty_folder(tmp_path: Path) -> None:
    path = brat(tmp_path)
    path.with_suffix(".txt").unlink()
    assert "its text 'a.txt' is missing.\nKeep both in the same folder." in error(path)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "there is no .ann file in the folder" in error(empty, format="brat")


def test_discontinuous_mentions_overlap_only_if_they_share_a_token(tmp_path: Path) -> None:
    gold = read(brat(tmp_path / "g", ann="T1\tLOC 0 3;24 28\tAnn Rome\n")).mentions
    apart = read(brat(tmp_path / "p", ann="T1\tLOC 11 14\tNew\n")).mentions
    inside = read(brat(tmp_path / "q", ann="T1\tLOC 24 28\tRome\n")).mentions
    assert sorted(match(gold, apart).events().names()) == ["FN", "FP"]
    assert match(gold, inside).events().names() == ["BEs"]


def test_pubtator_reads_articles_with_offsets_over_title_and_abstract(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(PUBTATOR)
    annotation = read(path)
    assert annotation.reading.format == "pubtator"
    assert shown(annotation) == [("Disease", ["flu"]), ("Chemical", ["Aspirin"])]
    assert annotation.corpus.document_ids == ("12", "13")
    assert annotation.reading.notes == ("1 relation was left out",)
    write(annotation, tmp_path / "y.pubtator")
    same(annotation, read(tmp_path / "y.pubtator"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("12|t|A\nwhat\n", "x.txt:2: 'what' is neither a passage nor a mention"),
        (
            "12|t|A\n13\t0\t1\tA\tX\n",
            "x.txt:2: this mention of the article '13' does not follow its passages",
        ),
        (
            "12|t|A\n12|a|\n12\t0\t9\tA\tX\n",
            "the mention X [0, 9) is not inside text '12', which has 2",
        ),
    ],
)
def test_pubtator_reports_the_position_of_an_error(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "x.txt"
    path.write_text(text)
    assert words in error(path)


IN_PIECES = Unit("ab cd ef", [(((0, 2), (6, 8)), "X")], "1")


@pytest.mark.parametrize("name", ["pubtator", "label-studio"])
def test_formats_without_pieces_refuse_discontinuous_mentions(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"{name} cannot hold all of this: 1 discontinuous mention"):
        write(annotated(IN_PIECES), tmp_path / "x", format=name)


def test_label_studio_reads_annotations_and_predictions(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    label_studio(path)
    annotation = read(path)
    assert annotation.reading.format == "label-studio"
    assert shown(annotation) == [("PER", ["Ann Lee"])]
    assert annotation.corpus.ids == ("7", "8")
    layers = read_layers(path)
    assert shown(layers["predicted"]) == [("LOC", ["New York"]), ("GPE", ["New York"])]
    write(annotation, tmp_path / "again.json", format="label-studio")
    same(annotation, read(tmp_path / "again.json"))


def test_label_studio_reads_the_short_export(tmp_path: Path) -> None:
    path = tmp_path / "min.json"
    rows = [{"id": 1, "review": TEXT, "label": [{"start": 24, "end": 28, "text": "Rome", "labels": ["LOC"]}]}]
    path.write_text(json.dumps(rows))
    assert shown(read(path)) == [("LOC", ["Rome"])]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"data": 1}', "this is not a list of tasks.\nExport the project as JSON or JSON-MIN."),
        ("[3]", "task 1 does not have the structure of Label Studio's exports (AttributeError: "),
        ("[" * 100_000, "it is nested too deeply"),
        ('[{"data": {"a": "x", "b": "y"}}]', "task 1 has no text: its fields are ['a', 'b']"),
        (
            '[{"data": {"text": "x"}, "annotations": [{"result": [{"value": {"labels": ["A"]}}]}]}]',
            "task 1 does not have the structure of Label Studio's exports (KeyError: 'start')",
        ),
        ("[", "export.json:1: this is not JSON"),
    ],
)
def test_label_studio_reports_what_is_wrong(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "export.json"
    path.write_text(content)
    assert words in error(path, format="label-studio")


def test_w2ner_reads_nested_and_discontinuous_mentions_and_round_trips(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(W2NER))
    annotation = read(path)
    assert annotation.reading.format == "w2ner"
    assert shown(annotation) == [
        ("S", [["pain", "in", "left"], ["arm"]]),
        ("S", [["pain", "in"], ["right", "arm"]]),
        ("B", [["arm"]]),
    ]
    write(annotation, tmp_path / "y.json", format="w2ner")
    same(annotation, read(tmp_path / "y.json"))
    assert json.loads((tmp_path / "y.json").read_text()) == W2NER


def test_spert_spans_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"tokens": ["a", "b"], "entities": [{"start": 0, "end": 2, "type": "X"}]}]))
    assert shown(read(path)) == [("X", [["a", "b"]])]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{}", "this is not a list of sentences"),
        ('[{"sentence": ["a"]}]', "sentence 1 cannot be read (KeyError: 'entities')"),
        ('[{"sentence": ["a"], "ner": [{"index": [], "type": "X"}]}]', "a mention without tokens"),
        (
            '[{"sentence": ["a"], "ner": [{"index": [4], "type": "X"}]}]',
            "not inside sentence 1, which has 1",
        ),
    ],
)
def test_w2ner_reports_what_is_wrong(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    assert words in error(path, format="w2ner")


def test_xmi_reads_named_entities_with_java_offsets(tmp_path: Path) -> None:
    path = tmp_path / "doc.xmi"
    path.write_text(XMI, encoding="utf-8")
    annotation = read(path)
    assert annotation.reading.format == "xmi"
    assert shown(annotation) == [("PER", ["Ann"]), ("Q220", ["Rome"])]
    assert shown(read(path, tag_column="Custom")) == [("emoji", ["\U0001f600"])]
    assert shown(read(path, tag_column="NamedEntity.value"))[1][0] == "NamedEntity"


def test_gate_documents_are_read_with_their_types_as_labels(tmp_path: Path) -> None:
    path = tmp_path / "doc.xml"
    path.write_text(GATE, encoding="utf-8")
    assert shown(read(path)) == [("Person", ["Ann"]), ("Location", ["Rome"])]
    assert shown(read(path, tag_column="Location.kind")) == [("city", ["Rome"])]


def test_xmi_expands_no_entities(tmp_path: Path) -> None:
    path = tmp_path / "bomb.xmi"
    path.write_text('<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY a "aaaa">]>\n<xmi:XMI>&a;</xmi:XMI>')
    assert "bomb.xmi:2: the file declares a document type or entities, which are not expanded" in error(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (XMI.replace("sofaString", "other"), "the file has no text"),
        (XMI[:300], "this is not XML"),
        (XMI.replace("UTF-8", "UTF-5"), "doc.xmi:1: the encoding that the file declares is not known"),
        (XMI.replace('begin="3" end="6" value', 'begin="x" end="6" value'), "has no valid offsets"),
        (
            XMI.replace("NamedEntity", "Lemma").replace("Custom", "POS"),
            "no annotation has the type",
        ),
    ],
)
def test_xmi_reports_what_is_wrong(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "doc.xmi"
    path.write_text(content, encoding="utf-8")
    assert words in error(path, format="xmi")


def test_an_empty_list_of_texts_and_texts_without_tokens_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("[]")
    assert "the file has neither sentences nor text" in error(path, format="w2ner")
    with pytest.raises(
        InputError, match="some mentions are discontinuous, which cannot be written by tokens"
    ):
        write(annotated(IN_PIECES), tmp_path / "y.json", format="w2ner")
    textless = from_spans([[(0, 1, "X")]])
    with pytest.raises(InputError, match="the sentences have no text that could be written"):
        write_brat(textless, tmp_path)


def test_duplicate_mentions_of_a_text_are_refused(tmp_path: Path) -> None:
    assert isinstance(read(brat(tmp_path, ann="T1\tPER 0 3\tAnn\n")).mentions, Mentions)


@pytest.mark.parametrize(
    ("name", "token", "label", "words"),
    [
        ("conllu", "a\tb", "X", "the token 'a\\tb' holds '\\t', which conllu cannot hold"),
        ("conllu", "a", "X|Y", "the label 'X|Y' holds '|', which conllu cannot hold"),
        ("hipe", "a\n", "X", "which hipe cannot hold"),
        ("webanno", "a\tb", "X", "which webanno cannot hold"),
        ("webanno", "", "X", "an empty token or sentence cannot be written as webanno"),
        ("brat", "a", "X Y", "the label 'X Y' holds ' ', which brat cannot hold"),
        ("pubtator", "a", "X\tY", "the label 'X\\tY' holds '\\t', which pubtator cannot hold"),
    ],
)
def test_what_a_format_could_not_read_back_is_not_written(
    tmp_path: Path, name: str, token: str, label: str, words: str
) -> None:
    annotation = from_spans([[(0, 1, label)]], tokens=[[token]])
    with pytest.raises(InputError) as caught:
        write(annotation, tmp_path / "x", format=name)
    assert words in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_token_formats_need_words_and_write_texts_as_tokens(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the sentences have no words to be written as hipe"):
        write(from_spans([[(0, 1, "X")]]), tmp_path / "x", format="hipe")
    text = read(brat(tmp_path, ann="T1\tPER 0 7\tAnn Lee\n"))
    lost = write(text, tmp_path / "x.json", format="w2ner", lossy=True)
    assert lost == ("the white space of 1 text", "1 document name")
    assert shown(read(tmp_path / "x.json")) == [("PER", [["Ann", "Lee"]])]


def test_brat_documents_stay_in_their_folder_and_do_not_replace_each_other(tmp_path: Path) -> None:
    def named(*names: str) -> Annotation:
        return annotated(*(Unit("a", document=name) for name in names))

    with pytest.raises(
        InputError, match=r"a document is called '\.\./x', which is not the name of a file in the folder"
    ):
        write(named("../x"), tmp_path / "in", format="brat")
    with pytest.raises(InputError, match="two documents have the same name"):
        write(named("x", "y", "x"), tmp_path / "in", format="brat")
    write(named("sub/x", "y.1"), tmp_path / "in", format="brat")
    assert read(tmp_path / "in").corpus.document_ids == ("sub/x", "y.1")
