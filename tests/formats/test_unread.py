"""What a file says beside words and mentions is named when the file is converted."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.cli.main import main
from spanwise.errors import InputError
from spanwise.formats.unread import unread

CONLL = "-DOCSTART- -X- -X- O\n\nEU NNP I-NP B-ORG\nrejects VBZ I-VP O\n"
CONLLU = """# newdoc id = d
# sent_id = 1
# text = EU rejects
# translator = Ada
1-2\tEUx\t_\t_\t_\t_\t_\t_\t_\t_
1\tEU\tEU\tPROPN\t_\t_\t_\t_\t_\tNE=B-ORG|SpaceAfter=No
2\trejects\treject\t_\t_\t_\t_\t_\t_\tNE=O
"""
HIPE = """TOKEN\tNE-COARSE-LIT\tNE-COARSE-METO\tNE-FINE-LIT\tNEL-LIT\tMISC
# hipe2022:document_id = d1
# hipe2022:date = 1900
Ann\tB-pers\tO\tB-pers.ind\tQ1\t_
left\tO\tO\tO\t_\t_
"""
WEBANNO = """#FORMAT=WebAnno TSV 3.3
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue


#Text=Ann left
1-1\t0-3\tAnn\t*\tPER\tNN\t
1-2\t4-8\tleft\t_\t_\tVB\t
"""
PUBTATOR = "10|t|Ann in Rome\n10|a|\n10\t0\t3\tAnn\tPER\tQ1\n10\t7\t11\tRome\tLOC\n10\tCID\tQ1\tQ2\n"
XMI = """<?xml version="1.0"?>
<xmi:XMI xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore" xmlns:t="http:///t.ecore">
<t:NamedEntity xmi:id="3" sofa="1" begin="0" end="3" value="PER" identifier="Q1"/>
<t:Sentence xmi:id="4" sofa="1" begin="0" end="8"/>
<t:POS xmi:id="5" sofa="1" begin="0" end="3" PosValue="NN"/>
<t:POS xmi:id="6" sofa="1" begin="4" end="8" PosValue="VB"/>
<cas:Sofa xmi:id="1" sofaNum="1" sofaID="v" mimeType="text" sofaString="Ann left"/></xmi:XMI>
"""
SPERT = [
    {
        "orig_id": "a", "tokens": ["Ann"], "ltokens": ["x"],
        "relations": [{"head": 0, "tail": 0, "type": "r"}],
        "entities": [{"start": 0, "end": 1, "type": "PER", "kb": "Q"}],
    }
]  # fmt: skip
TASK = {
    "id": 7,
    "data": {"text": "Ann in Rome", "source": "web", "meta": {"x": 1}},
    "annotations": [{"result": [
        {"id": "r", "type": "labels", "value": {"start": 0, "end": 3, "labels": ["PER"]}},
        {"id": "c", "type": "choices", "value": {"choices": ["good"]}},
        {"type": "relation", "from_id": "r", "to_id": "c"},
    ]}],
    "predictions": [{"result": []}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("x.conll", CONLL, ("2 further columns",)),
        (
            "x.conllu",
            CONLLU,
            ("3 further columns (LEMMA, SpaceAfter, UPOS)", "1 multiword token", "1 comment"),
        ),
        ("x.tsv", HIPE, ("2 further columns (NE-FINE-LIT, NEL-LIT)", "1 comment")),
        ("x.tsv", WEBANNO, ("1 further feature (POS.PosValue)",)),
        ("x.txt", PUBTATOR, ("1 relation was left out", "1 identifier of mentions")),
        (
            "x.json",
            json.dumps([TASK]),
            (
                "2 further fields (source, meta) of tasks",
                "1 prediction",
                "2 results without a mention (1 choices, 1 relation)",
            ),
        ),
        (
            "x.xmi",
            XMI,
            ("3 annotations of other types (2 POS, 1 Sentence)", "1 further feature (identifier)"),
        ),
        (
            "x.json",
            json.dumps(SPERT),
            (
                "1 relation was left out",
                "1 further field (ltokens) of sentences",
                "1 further field (kb) of mentions",
            ),
        ),
        ("test.tsv", "Ann B-PER B-PER 0.9\nleft O O 0.8\n", ("1 further column (gold)",)),
        (
            "x.jsonl",
            '{"text": "Ann", "tokens": [{"text": "Ann", "start": 0, "end": 3, "pos": "N"}], "spans": []}\n',
            ("1 further field (pos) of tokens",),
        ),
        (
            "x.jsonl",
            '{"text": "Ann", "spans": [[0, 3, "PER"]]}\n{"text": "Bo", "spans": [], "answer": "reject"}\n',
            ("1 of 2 records were left out: 1 rejected",),
        ),
        ("x.jsonl", json.dumps({"tokens": ["Ann"], "tags": ["B-PER"], "more": 1}) + "\n", ()),
        ("y.conll", "Ann B-PER\nleft O\n", ()),
    ],
)
def test_what_is_not_read_is_named_with_its_number(
    name: str, content: str, expected: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert unread(path, spanwise.read(path)) == expected
    out = tmp_path / "out.jsonl"
    assert main(["convert", str(path), str(out)]) == (3 if expected else 0)
    said = capsys.readouterr().err
    assert (f"not everything in the file is read: {'; '.join(expected)}.\n" in said) == bool(expected)
    assert out.exists() == (not expected)
    assert main(["convert", str(path), str(out), "--lossy"]) == 0
    said = capsys.readouterr().err
    assert (f"lost: {'; '.join(expected)}" in said) if expected else ("lost" not in said)


def test_a_column_that_is_kept_is_not_missed(tmp_path: Path) -> None:
    path = tmp_path / "x.conll"
    path.write_text(CONLL, encoding="utf-8")
    assert unread(path, spanwise.read(path, columns={"pos": 2})) == ("1 further column",)
    assert unread(path, spanwise.read(path, tag_column=3), tag_column=3) == ("2 further columns",)


def test_what_a_format_writes_is_read_completely(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"tokens": ["Ann", "left"], "tags": ["B-PER", "O"]}) + "\n", encoding="utf-8")
    for name in ("conll", "conllu", "hipe", "webanno", "pubtator", "label-studio", "w2ner", "jsonl"):
        spanwise.write(spanwise.read(path), tmp_path / "y", format=name, lossy=True)
        again = spanwise.read(tmp_path / "y", format=name)
        assert unread(tmp_path / "y", again) == (), name


def test_what_standard_input_holds_and_is_not_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(CONLL.encode()), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", stream)
    assert main(["convert", "-", str(tmp_path / "out.jsonl")]) == 3
    assert "-: not everything in the file is read: 2 further columns." in capsys.readouterr().err


def test_what_a_project_holds_and_is_not_read_is_named(tmp_path: Path) -> None:
    for document, content in (("a", WEBANNO), ("b", WEBANNO.replace("NN", "*"))):
        folder = tmp_path / "project/curation" / document
        folder.mkdir(parents=True)
        (folder / "CURATION_USER.tsv").write_text(content, encoding="utf-8")
    project = tmp_path / "project"
    assert unread(project, spanwise.read(project)) == ("1 further feature (POS.PosValue)",)


def test_what_brat_holds_beside_mentions_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("Ann left", encoding="utf-8")
    (tmp_path / "a.ann").write_text("T1\tPER 0 3\tAnn\nR1\tr Arg1:T1 Arg2:T1\n", encoding="utf-8")
    assert main(["convert", str(tmp_path / "a.ann"), str(tmp_path / "a.jsonl")]) == 3
    assert "lines that are not mentions were left out: 1 relations" in capsys.readouterr().err


def test_what_documents_of_spacy_hold_beside_mentions_is_named(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    vocab = spacy.vocab.Vocab()
    doc = spacy.tokens.Doc(vocab, words=["Ann", "left", "."], spaces=[True, False, False], tags=list("abc"))
    doc.set_ents([spacy.tokens.Span(doc, 0, 1, label="PER", kb_id="Q1")])
    doc.spans["other"] = [doc[0:1], doc[1:2]]
    doc.cats = {"news": 1.0}
    doc.user_data["source"] = "web"
    spacy.tokens.DocBin(
        attrs=["ORTH", "SPACY", "TAG", "ENT_IOB", "ENT_TYPE", "ENT_KB_ID"], docs=[doc], store_user_data=True
    ).to_disk(tmp_path / "x.spacy")
    assert unread(tmp_path / "x.spacy", spanwise.read(tmp_path / "x.spacy")) == (
        "1 further layer (TAG) of tokens",
        "the white space of 1 text",
        "2 spans of the group 'other'",
        "1 identifier of mentions",
        "1 label of texts",
        "1 further field (source)",
    )


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_text_beside_tokens_and_classes_are_further_fields(suffix: str, tmp_path: Path) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    record = {"text": "Ann left.", "tokens": ["Ann", "left."], "tags": ["B-PER", "O"]}
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert main(["convert", str(path), str(tmp_path / f"y.{suffix}")]) == 0
    assert list(spanwise.read(tmp_path / f"y.{suffix}").corpus.fields["text"]) == ["Ann left."]
    classes = {"text": "Ann left.", "spans": [[0, 3, "PER"]], "labels": ["news", "short"]}
    path.write_text(json.dumps(classes) + "\n", encoding="utf-8")
    assert spanwise.read(path).corpus.fields["labels"][0] == ["news", "short"]
    with pytest.raises(InputError, match=r"cannot hold all of this: 1 further field \(labels\)"):
        spanwise.write(spanwise.read(path), tmp_path / f"z.{suffix}")


@pytest.mark.parametrize("others", [["Bo", "left"], ["Ann"]])
def test_different_tokens_in_one_record_are_refused(others: list[str]) -> None:
    record = {"tokens": ["Ann", "left"], "words": others, "tags": ["B-PER", "O"]}
    with pytest.raises(InputError, match="'tokens' and 'words' of the record hold different tokens"):
        spanwise.read([record])
    assert len(spanwise.read([{**record, "words": ["Ann", "left"]}]).mentions) == 1
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="'tokens' and 'words' of row 1 hold different tokens"):
        spanwise.read(pandas.DataFrame([record]))


@pytest.mark.parametrize("options", [{}, {"memory": "64MB"}], ids=["whole", "parts"])
def test_the_key_of_a_span_that_is_read_is_named_if_another_holds_something_else(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    span = {"start": 0, "begin": 0, "end": 1, "label": "PER", "type": "LOC"}
    path = tmp_path / "x.jsonl"
    path.write_text(
        json.dumps({"id": "a", "tokens": ["Ann", "left"], "spans": [span]}) + "\n", encoding="utf-8"
    )
    result = spanwise.evaluate(str(path), {"a": [["B-PER", "O"]]}, tokens=[["Ann", "left"]], resamples=0)
    assert result.inputs[0].notes == ("spans are read from 'label'; 'type' holds something else",)
    result = spanwise.evaluate(str(path), {"a": str(path)}, resamples=0, **options)
    assert result.inputs[1].notes == ("spans are read from 'label'; 'type' holds something else",)
