"""With --redact no value of the data is in any output, packed parts included; labels stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from unpacking import everything

from spanwise.cli.main import main

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


def check(found: dict[str, str]) -> None:
    for name, text in found.items():
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
