"""The published schema: generated from the types, valid for every document, and strict with broken ones.

With SPANWISE_REFRESH=1, the published file is updated.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import documents
import pytest
import study_documents

import spanwise
from spanwise.cli.main import main
from spanwise.document import Document
from spanwise.document.loading import document_of, schema

jsonschema = pytest.importorskip("jsonschema")
PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "schema.json"
VALIDATOR = jsonschema.Draft202012Validator(schema())


def test_the_schema_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


def test_the_command_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()


def test_the_published_schema_matches_the_types(capsys: pytest.CaptureFixture[str]) -> None:
    """Keys that are added, removed or change their type show up in the history of the published file."""
    main(["export", "--schema"])
    printed = capsys.readouterr().out
    if os.environ.get("SPANWISE_REFRESH"):
        PUBLISHED.write_text(printed, encoding="utf-8")
    # Compared as documents first, so that a failure names the key.
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == json.loads(printed)
    assert PUBLISHED.read_text(encoding="utf-8") == printed


@pytest.mark.parametrize(
    "document",
    [documents.result(), documents.result("a", "b", "c"), documents.description(), study_documents.study()],
)
def test_the_documents_of_these_tests_are_valid(document: dict[str, Any]) -> None:
    VALIDATOR.validate(document_of(document).to_dict())


def _system(document: dict[str, Any]) -> dict[str, Any]:
    system: dict[str, Any] = document["systems"]["a"]
    return system


BROKEN: dict[str, Callable[[dict[str, Any]], object]] = {
    "points in place of fractions": lambda d: _system(d)["exact"]["overall"].update(f1=72.0),
    "a negative count": lambda d: _system(d)["exact"]["overall"].update(gold=-1),
    "a score as text": lambda d: _system(d)["exact"]["overall"].update(recall="0.5"),
    "a missing score": lambda d: _system(d)["exact"]["labels"]["PER"].pop("f1"),
    "an interval with one end": lambda d: _system(d)["exact"]["overall"]["interval"].update(f1=[0.1]),
    "an unknown kind of error": lambda d: _system(d)["gains"].update(XX={"gain": 0.1}),
    "a missing kind of error": lambda d: _system(d)["gains"].pop("LE"),
    "an unknown tough subset": lambda d: _system(d)["tough"].update(RARE=_system(d)["tough"]["SEEN"]),
    "an unknown outcome": lambda d: d["sentences"][0]["gold"][0]["outcome"].update(a="WRONG"),
    "a third of an error": lambda d: _system(d)["fair"]["overall"].update(LE=1 / 3),
    "a slice under fifty mentions": lambda d: _system(d)["slices"][0].update(gold=49),
    "a p-value above one": lambda d: d["comparisons"][0]["scores"][0].update(p=1.2),
    "a comparison of one": lambda d: d["comparisons"][0].update(systems=["a"]),
    "a hash that is none": lambda d: d["inputs"][0].update(sha256="xyz"),
    "no dataset": lambda d: d.pop("dataset"),
    "five findings": lambda d: d.update(findings=d["findings"] * 2),
    "an unknown focus": lambda d: d["settings"].update(focus="neither"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_document_is_refused_by_the_schema_and_by_load(kind: str, tmp_path: Path) -> None:
    document = document_of(copy.deepcopy(documents.result("a", "b"))).to_dict()
    VALIDATOR.validate(document)
    BROKEN[kind](document)
    if kind != "an unknown tough subset":  # the schema does not restrict the keys of objects
        assert not VALIDATOR.is_valid(document)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(spanwise.InputError, match=r"run\.json: \$"):
        spanwise.load(path)


def test_a_wrong_value_in_a_document_is_reported_with_its_position(tmp_path: Path) -> None:
    document = document_of(documents.result("b", "a")).to_dict()
    document["systems"]["a"]["exact"]["labels"]["LOC"]["f1"] = "high"
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(spanwise.InputError) as caught:
        spanwise.load(path)
    first = str(caught.value).split("\n", 1)[0]
    position = "$.systems.a.exact.labels.LOC.f1"
    assert first == f"{path}: {position}: expected a number or null, but this is text."


def test_keys_may_be_added() -> None:
    document = document_of(documents.result("a", "b")).to_dict()
    document["new"] = {"anything": 1}
    _system(document)["exact"]["overall"]["new"] = "anything"
    VALIDATOR.validate(document)
    document_of(document)


def test_a_study_without_its_analyses_is_refused() -> None:
    document = document_of(study_documents.study()).to_dict()
    document["analyses"]["model_wise"]["crf"]["entity_length"].pop("friedman")
    assert not VALIDATOR.is_valid(document)


def _kept(document: Document, tmp_path: Path) -> None:
    """Check that a document is valid and is loaded unchanged from its JSON."""
    VALIDATOR.validate(document.to_dict())
    document.to_json(tmp_path / "document.json")
    loaded = spanwise.load(tmp_path / "document.json")
    assert loaded == document
    assert loaded.to_json() == document.to_json()
    assert loaded.to_text(width=80) == document.to_text(width=80)


def test_results_from_lists_are_valid(tmp_path: Path) -> None:
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-ORG", "O", "O"]]
    near = [["B-PER", "O", "O", "B-LOC"], ["O", "B-LOC", "O", "B-PER"]]
    for options in ({"resamples": 0}, {"focus": "both"}, {"weights": "ortmann-eq7"}, {"examples": "all"}):
        _kept(spanwise.evaluate(gold, {"near": near, "none": [["O"] * 4] * 2}, **options), tmp_path)
    _kept(spanwise.evaluate([["O"]], {"x": [["O"]]}), tmp_path)
    _kept(spanwise.explain(gold, near), tmp_path)


def test_a_study_is_valid(tmp_path: Path) -> None:
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
    study = spanwise.study(tmp_path / "study.toml", workers=1, cache=False)
    _kept(study, tmp_path)
    assert max(map(len, study.to_text(width=80).splitlines())) <= 80


def test_real_results_and_descriptions_are_valid(data: Path, tmp_path: Path) -> None:
    folder = data / "masakhaner" / "ewe"
    systems = {name: folder / "predictions" / f"{name}.1.txt" for name in ("mbert", "rembert")}
    result = spanwise.evaluate(
        folder / "test.txt", systems, train=folder / "train.txt", resamples=50, attributes="all",
        cross=[("entity_length", "label")],
    )  # fmt: skip
    _kept(result, tmp_path)
    _kept(spanwise.describe(folder / "test.txt", train=folder / "train.txt"), tmp_path)


def test_a_document_of_the_first_schema_still_loads(tmp_path: Path) -> None:
    document = documents.result("a", "b")
    assert document["schema"] == 1
    document["comparisons"][0]["detectable"] = {"f1": 0.021}
    path = tmp_path / "old.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    loaded = spanwise.load(path)
    assert isinstance(loaded, spanwise.Result)
    assert loaded.schema == 2 and loaded.comparisons[0].detectable == 0.021


def test_inconsistent_documents_are_refused_with_the_position(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"

    def refused(document: dict[str, Any]) -> str:
        path.write_text(json.dumps(document), encoding="utf-8")
        with pytest.raises(spanwise.InputError) as read:
            spanwise.load(path)
        with pytest.raises(spanwise.InputError) as converted:
            document_of(document, location=str(path))
        (message,) = {str(error.value).splitlines()[0] for error in (read, converted)}
        return message.removeprefix(f"{path}: ")

    evaluation = document_of(documents.result()).to_dict()
    assert refused({**evaluation, "systems": {}}) == "$.systems: an evaluation has at least one system."
    study = document_of(study_documents.study()).to_dict()
    without = {name: row for name, row in study["analyses"]["holistic"].items() if name != "crf"}
    analyses = {**study["analyses"], "holistic": without}
    assert refused({**study, "analyses": analyses}) == "$.analyses.holistic: the system 'crf' is missing."
    more = {**study["analyses"]["model_wise"], "new": study["analyses"]["model_wise"]["crf"]}
    assert refused({**study, "analyses": {**study["analyses"], "model_wise": more}}) == (
        "$.analyses.model_wise: the system 'new' is not in analyses.holistic."
    )
    assert refused({**study, "plan": {"shared": [3]}}) == (
        "$.plan.shared[0]: expected an object, but this is a whole number."
    )


def test_the_same_predictions_under_two_systems_are_kept_and_shown(tmp_path: Path) -> None:
    document = document_of(
        {
            **document_of(study_documents.study()).to_dict(),
            "plan": {"shared": [{"dataset": "news", "runs": [["crf", "1"], ["bert", "2"]]}]},
        }
    )
    assert "news: crf (run 1) and bert (run 2) have the same predictions" in document.to_text(width=100)
    _kept(document, tmp_path)


def test_a_wrong_value_below_a_key_with_dots_is_named_by_its_path() -> None:
    result = spanwise.evaluate([["B-PER", "O"]], {"my.model[1]": [["B-PER", "O"]]}, resamples=0)
    content = result.to_dict()
    content["systems"]["my.model[1]"]["exact"]["labels"]["PER"]["f1"] = "high"
    path = r"\$\.systems\['my\.model\[1\]'\]\.exact\.labels\.PER\.f1: expected a number or null"
    with pytest.raises(spanwise.InputError, match=path):
        document_of(content)
