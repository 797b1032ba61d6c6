"""The published schema: valid itself, kept by every document, and strict enough to refuse broken ones."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import documents
import pytest
import study_documents

from spanwise.cli.main import main
from spanwise.reports.schema import schema
from spanwise.reports.terminal import render

jsonschema = pytest.importorskip("jsonschema")
VALIDATOR = jsonschema.Draft202012Validator(schema())


def test_the_schema_is_a_schema_and_has_the_documents_version() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    from spanwise.evaluation.result import SCHEMA

    assert schema()["$defs"]["result"]["properties"]["schema"] == {
        "description": "The version of this schema.",
        "const": SCHEMA,
    }


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()


@pytest.mark.parametrize(
    "document",
    [documents.result(), documents.result("a", "b", "c"), documents.description(), study_documents.study()],
)
def test_the_documents_of_these_tests_keep_it(document: dict[str, Any]) -> None:
    VALIDATOR.validate(document)


def _system(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["systems"]["a"]
    return found


BROKEN: dict[str, Callable[[dict[str, Any]], object]] = {
    "no systems": lambda d: d["systems"].clear(),
    "points in place of fractions": lambda d: _system(d)["exact"]["overall"].update(f1=72.0),
    "a negative count": lambda d: _system(d)["exact"]["overall"].update(gold=-1),
    "a score as text": lambda d: _system(d)["exact"]["overall"].update(recall="0.5"),
    "a missing score": lambda d: _system(d)["exact"]["labels"]["PER"].pop("f1"),
    "an interval with one end": lambda d: _system(d)["exact"]["overall"]["interval"].update(f1=[0.1]),
    "an unknown kind of error": lambda d: _system(d)["gains"].update(XX={"gain": 0.1}),
    "a missing kind of error": lambda d: _system(d)["gains"].pop("LE"),
    "an unknown tough subset": lambda d: _system(d)["tough"].update(RARE=_system(d)["tough"]["SEEN"]),
    "a bucket without edges or value": lambda d: [
        _system(d)["attributes"]["entity_length"]["buckets"][0].pop(key) for key in ("low", "high")
    ],
    "an unknown outcome": lambda d: d["sentences"][0]["gold"][0]["outcome"].update(a="WRONG"),
    "a third of an error": lambda d: _system(d)["fair"]["overall"].update(LE=1 / 3),
    "a slice under fifty mentions": lambda d: _system(d)["slices"][0].update(gold=49),
    "a p-value above one": lambda d: d["comparisons"][0]["scores"][0].update(p=1.2),
    "a comparison of one": lambda d: d["comparisons"][0].update(systems=["a"]),
    "a comparison with itself": lambda d: d["comparisons"][0].update(systems=["a", "a"]),
    "a hash that is none": lambda d: d["inputs"][0].update(sha256="xyz"),
    "predictions without a system": lambda d: d["inputs"][1].pop("system"),
    "an unknown role": lambda d: d["inputs"][0].update(role="silver"),
    "another schema": lambda d: d.update(schema=2),
    "no signature": lambda d: d.pop("signature"),
    "five findings": lambda d: d.update(findings=d["findings"] * 2),
    "an unknown focus": lambda d: d["settings"].update(focus="neither"),
    "an unknown policy": lambda d: d["examples"].update(policy="some"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_document_is_refused(kind: str) -> None:
    document = copy.deepcopy(documents.result("a", "b"))
    assert VALIDATOR.is_valid(document)
    BROKEN[kind](document)
    assert not VALIDATOR.is_valid(document)


def test_keys_may_be_added() -> None:
    document = documents.result("a", "b")
    document["new"] = {"anything": 1}
    _system(document)["exact"]["overall"]["new"] = "anything"
    assert VALIDATOR.is_valid(document)


def test_a_study_without_its_analyses_is_refused() -> None:
    document = study_documents.study()
    document["analyses"]["model_wise"]["crf"]["entity_length"].pop("friedman")
    assert not VALIDATOR.is_valid(document)


def _through_json(document: dict[str, Any]) -> Any:
    return json.loads(json.dumps(document, allow_nan=False))


def test_results_from_lists_keep_it() -> None:
    from spanwise.evaluation import evaluate

    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-ORG", "O", "O"]]
    near = [["B-PER", "O", "O", "B-LOC"], ["O", "B-LOC", "O", "B-PER"]]
    for options in ({"resamples": 0}, {"focus": "both"}, {"weights": "ortmann-eq7"}, {"examples": "all"}):
        result = evaluate(gold, {"near": near, "none": [["O"] * 4] * 2}, **options)
        VALIDATOR.validate(_through_json(result.to_dict()))


def test_a_study_keeps_it(tmp_path: Path) -> None:
    from spanwise.studies import study

    gold = "Ann B-PER\nin O\nRome B-LOC\n. O\n\nNew B-LOC\nYork I-LOC\nwon O\n\n"
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "test.txt").write_text(gold * 6)
        (folder / "train.txt").write_text(gold * 2)
        for run in ("1", "2"):
            (folder / f"crf.{run}.txt").write_text(gold.replace("B-PER", "B-LOC" if run == "1" else "O") * 6)
            (folder / f"bert.{run}.txt").write_text(gold.replace("I-LOC", "O") * 5 + gold)
    (tmp_path / "study.toml").write_text(
        'predictions = "{dataset}/{system}.{run}.txt"\nresamples = 20\n'
        '[datasets.one]\ntest = "one/test.txt"\ntrain = "one/train.txt"\n'
        '[datasets.two]\ntest = "two/test.txt"\ntrain = "two/train.txt"\n[systems.crf]\n[systems.bert]\n'
    )
    document = _through_json(study(tmp_path / "study.toml", workers=1, cache=False))
    VALIDATOR.validate(document)
    screen = render(document, width=80, color=False)
    assert max(map(len, screen.splitlines())) <= 80


def test_a_result_without_any_mention_keeps_it() -> None:
    from spanwise.evaluation import evaluate

    VALIDATOR.validate(_through_json(evaluate([["O"]], {"x": [["O"]]}).to_dict()))


def test_real_results_and_descriptions_keep_it(data: Any) -> None:
    from spanwise.description import describe
    from spanwise.evaluation import evaluate

    folder = data / "masakhaner" / "ewe"
    systems = {name: folder / "predictions" / f"{name}.1.txt" for name in ("mbert", "rembert")}
    result = evaluate(
        folder / "test.txt", systems, train=folder / "train.txt", resamples=50, attributes="all",
        cross=[("entity_length", "label")],
    )  # fmt: skip
    VALIDATOR.validate(_through_json(result.to_dict()))
    described = describe(folder / "test.txt", train=folder / "train.txt")
    VALIDATOR.validate(_through_json(described if isinstance(described, dict) else described.to_dict()))
