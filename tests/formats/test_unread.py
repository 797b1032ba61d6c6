"""What a file says beside words and mentions is named when the file is converted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spanwise
from spanwise.cli.main import main
from spanwise.formats.unread import unread

CONLL = "-DOCSTART- -X- -X- O\n\nEU NNP I-NP B-ORG\nrejects VBZ I-VP O\n"
CONLLU = """# newdoc id = d
# sent_id = 1
# text = EU rejects
# translator = Ada
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
PUBTATOR = "10|t|Ann in Rome\n10|a|\n10\t0\t3\tAnn\tPER\tQ1\n10\t7\t11\tRome\tLOC\n"
TASK = {
    "id": 7,
    "data": {"text": "Ann in Rome", "source": "web", "meta": {"x": 1}},
    "annotations": [{"result": [
        {"id": "r", "type": "labels", "value": {"start": 0, "end": 3, "labels": ["PER"]}},
        {"id": "c", "type": "choices", "value": {"choices": ["good"]}},
        {"type": "relation", "from_id": "r", "to_id": "c"},
    ]}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("x.conll", CONLL, ("2 further columns",)),
        ("x.conllu", CONLLU, ("3 further columns (LEMMA, SpaceAfter, UPOS)", "1 comment")),
        ("x.tsv", HIPE, ("2 further columns (NE-FINE-LIT, NEL-LIT)", "1 comment")),
        ("x.tsv", WEBANNO, ("1 further feature (POS.PosValue)",)),
        ("x.txt", PUBTATOR, ("1 identifier of mentions",)),
        (
            "x.json",
            json.dumps([TASK]),
            (
                "2 further fields (source, meta) of tasks",
                "2 results without a mention (1 of type choices, 1 of type relation)",
            ),
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
    assert main(["convert", str(path), str(tmp_path / "out.jsonl")]) == 0
    said = capsys.readouterr().err
    assert (f"not read: {'; '.join(expected)}\n" in said) if expected else ("not read" not in said)


def test_a_column_that_is_kept_is_not_missed(tmp_path: Path) -> None:
    path = tmp_path / "x.conll"
    path.write_text(CONLL, encoding="utf-8")
    assert unread(path, spanwise.read(path, columns={"pos": 2})) == ("1 further column",)
    assert unread(path, spanwise.read(path, tag_column=3), tag_column=3) == ("2 further columns",)


def test_what_a_format_writes_is_read_completely(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"tokens": ["Ann", "left"], "tags": ["B-PER", "O"]}) + "\n", encoding="utf-8")
    for name in ("conll", "conllu", "hipe", "webanno", "pubtator", "label-studio"):
        spanwise.write(spanwise.read(path), tmp_path / "y", format=name, lossy=True)
        again = spanwise.read(tmp_path / "y", format=name)
        assert unread(tmp_path / "y", again) == (), name
