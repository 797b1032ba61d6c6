"""With --redact, no value of the data appears in any output, including packed parts; labels stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from unpacking import everything

import spanwise
from spanwise.attributes import Attribute, Mention, own
from spanwise.cli.main import main
from spanwise.document.analyses import Slices
from spanwise.document.dataset import Description
from spanwise.document.evaluation import Evaluation

SECRETS = ("Zanzibar", "Quetzal", "Quokka", "visited", "Nnpx", "Secretid", "Secretdoc", "Fieldval", "4711")
ROWS = [
    {"id": "Secretid1", "document": "Secretdoc1", "field": "Fieldval1", "age": 4711.25,
     "tokens": ["Zanzibar", "visited", "Quetzal"], "spans": [[0, 1, "LOC"], [2, 3, "PER"]]},
    {"id": "Secretid2", "document": "Secretdoc2", "field": "Fieldval2", "age": 4711.75,
     "tokens": ["Quokka", "visited", "Zanzibar"], "spans": [[0, 1, "PER"], [2, 3, "LOC"]]},
]  # fmt: skip
GOLD = "Zanzibar Nnpx B-LOC\nvisited Nnpx O\nQuetzal Nnpx B-PER\n\nQuokka Nnpx B-PER\nvisited Nnpx O\n"


def outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str], call: list[str]) -> dict[str, str]:
    names = {
        "--json": tmp_path / "o.json",
        "--html": tmp_path / "o.html",
        "--save-edges": tmp_path / "edges.json",
    }
    for option, path in names.items():
        call += [option, str(path)]
    assert main([*call, "--redact"]) == 0
    shown = capsys.readouterr()
    return {"screen": shown.out + shown.err, **{name: path.read_text() for name, path in names.items()}}


def check(texts: dict[str, str]) -> None:
    for name, text in texts.items():
        whole = everything(text)
        leaked = [secret for secret in SECRETS if secret in whole]
        assert not leaked, f"{name} holds {leaked}"


def test_columns_of_tokens_are_redacted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold, other = tmp_path / "gold.conll", tmp_path / "other.conll"
    gold.write_text(GOLD)
    other.write_text(GOLD.replace("B-PER", "B-LOC"))
    call = ["evaluate", str(gold), str(other), "--resamples", "10", "--examples", "all"]
    call += ["--attribute", "w=column:0", "--attribute", "pos=column:1", "--cross", "w,label"]
    check(outputs(tmp_path, capsys, call))


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_names_and_fields_are_redacted(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, other = tmp_path / "gold.jsonl", tmp_path / "other.jsonl"
    gold.write_text("\n".join(map(json.dumps, ROWS)))
    wrong: list[dict[str, Any]] = [{**row, "spans": [[0, 1, "PER"]]} for row in ROWS]
    other.write_text("\n".join(map(json.dumps, wrong)))
    call = [command, str(gold), f"a={other}", f"b={gold}", "--resamples", "10", "--examples", "all"]
    call += ["--attribute", "field:field", "--attribute", "field:age"]
    check(outputs(tmp_path, capsys, call))


@own
def initials(mention: Mention) -> str:
    """The words themselves, as a user-defined attribute could reveal them."""
    return mention.text


def documents(gold: Path, *, redact: bool) -> tuple[Description, Slices, Evaluation]:
    """A description, slices, and an evaluation with its analyses, with a user-defined attribute."""
    reading: dict[str, Any] = {"tag_column": 2, "token_column": 0, "redact": redact}
    attributes: list[str | Attribute] = ["label", initials]
    few: dict[str, Any] = {"least": 5, "flips": 19, "level": 0.9}
    result = spanwise.evaluate(gold, gold, attributes=attributes, resamples=0, **reading)
    return (
        spanwise.describe(gold, attributes=attributes, **reading),
        spanwise.find_slices(gold, gold, attributes=attributes, **few, **reading),
        result.with_analyses(slices={"attributes": attributes, **few}),
    )


def test_values_of_user_defined_attributes_are_redacted_in_every_document(tmp_path: Path) -> None:
    gold = tmp_path / "gold.conll"
    gold.write_text(GOLD * 40)
    shown, hidden = documents(gold, redact=False), documents(gold, redact=True)
    assert any("Zanzibar" in document.to_json() for document in shown)
    check({document.kind: document.to_json() for document in hidden})
    before, after = (document[0].dataset.attributes["initials"] for document in (shown, hidden))
    assert after.strategy == "redacted" and after.zeta is None
    assert [bucket.name for bucket in after.buckets] == ["value 1", "value 2", "value 3"]
    assert [bucket.gold for bucket in after.buckets] == [bucket.gold for bucket in before.buckets]
