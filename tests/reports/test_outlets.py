"""Exports for other tools: numbers are those of the document, names are stable, hostile text is inert."""

from __future__ import annotations

import copy
import csv
import io
import json
import math
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import documents
import pytest
import study_documents

import spanwise
from spanwise.cli.main import main
from spanwise.demo import generate
from spanwise.document.evaluation import Evaluation
from spanwise.document.loading import document_of
from spanwise.errors import ChoiceError, MissingExtra
from spanwise.gates import Check, gate
from spanwise.reports import REPORTS, outlets, render, save
from spanwise.reports.notebook import notebook_table

ONE, TWO, STUDY = documents.result(), documents.result("crf", "bert"), study_documents.study()
EVIL = "</script><img src=x onerror=y>\x1b[31m\u202e]]>&\x00\n- injected: true"


def test_flat_names_are_stable() -> None:
    names = list(outlets.flat(ONE))
    assert names[:4] == ["precision", "recall", "f1", "accuracy"]
    for name in (
        "macro/f1", "weighted/recall", "fair/f1", "gain/LE", "label/PER/f1", "tough/SEEN/recall",
        "attribute/entity_length/XL/f1",
    ):  # fmt: skip
        assert name in names


def test_flat_values_equal_those_of_the_document() -> None:
    flat, system = outlets.flat(ONE), ONE["systems"]["crf"]
    assert flat["f1"] == system["exact"]["overall"]["f1"]
    assert flat["label/ORG/recall"] == system["exact"]["labels"]["ORG"]["recall"]
    assert flat["gain/BE"] == system["gains"]["BE"]["gain"]
    assert flat["tough/UNSEEN-ANY/recall"] == system["tough"]["UNSEEN-ANY"]["overall"]["recall"]


def test_flat_names_of_several_systems_begin_with_the_system() -> None:
    assert outlets.flat(TWO)["bert/f1"] == TWO["systems"]["bert"]["exact"]["overall"]["f1"]


def test_flat_of_a_study_has_means_and_spreads() -> None:
    assert outlets.flat(STUDY)["news/crf/f1/mean"] == STUDY["analyses"]["holistic"]["crf"]["news"]["mean"]


def test_undefined_scalars_are_nan_and_null_in_json() -> None:
    document = copy.deepcopy(ONE)
    document["systems"]["crf"]["exact"]["overall"]["accuracy"] = None
    assert math.isnan(outlets.flat(document)["accuracy"])
    assert json.loads(outlets.flat_json(document))["accuracy"] is None


def test_every_score_is_one_row() -> None:
    rows = outlets.rows(TWO)
    selected = [
        row for row in rows if row["kind"] == "label" and row["name"] == "PER" and row["system"] == "bert"
    ]
    cell = TWO["systems"]["bert"]["exact"]["labels"]["PER"]
    f1 = next(row for row in selected if row["score"] == "f1")
    assert (f1["value"], [f1["low"], f1["high"]], f1["gold"]) == (
        cell["f1"],
        cell["interval"]["f1"],
        cell["gold"],
    )
    assert len(
        {tuple(row[key] for key in ("system", "kind", "name", "part", "score")) for row in rows}
    ) == len(rows)


def test_credits_are_rows_overall_and_by_label() -> None:
    result = spanwise.evaluate(
        [["B-PER", "B-LOC"]], {"crf": [["B-PER", "O"]]}, weights="ortmann-eq7", resamples=0
    )
    rows = {
        (row["name"], row["part"]): row["value"]
        for row in outlets.rows(result)
        if row["kind"] == "credit" and row["score"] == "recall"
    }
    assert rows == {("ortmann-eq7", None): 0.5, ("ortmann-eq7", "LOC"): 0.0, ("ortmann-eq7", "PER"): 1.0}
    credits = result["crf"].credits or {}
    assert outlets.flat(result)["credit/ortmann-eq7/f1"] == credits["ortmann-eq7"].overall.f1
    assert not any(name.startswith("credit/ortmann-eq7/PER") for name in outlets.flat(result))


def test_rows_of_a_study_name_dataset_and_run() -> None:
    row = outlets.rows(STUDY)[0]
    assert (row["dataset"], row["system"], row["run"]) == ("news", "crf", "1")


def test_pandas_and_polars_frames_contain_the_same_rows() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pandas_frame, polars_frame = outlets.to_pandas(TWO), outlets.to_polars(TWO)
    assert isinstance(pandas_frame, pandas.DataFrame)
    assert isinstance(polars_frame, polars.DataFrame)
    assert list(pandas_frame.columns) == polars_frame.columns
    assert pandas_frame["value"].dropna().tolist() == polars_frame["value"].drop_nulls().to_list()
    assert len(pandas_frame) == len(polars_frame) == len(outlets.rows(TWO))


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_missing_package_is_answered_with_what_to_install(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, package, None)
    call = {
        "pandas": outlets.to_pandas, "polars": outlets.to_polars,
    }[package]  # fmt: skip
    with pytest.raises(MissingExtra, match=rf"needs the package '{package}'.*\n.*pip install {package}"):
        call(ONE)


def test_rows_as_csv_contain_no_formulas() -> None:
    document = copy.deepcopy(ONE)
    labels = document["systems"]["crf"]["exact"]["labels"]
    labels["=1+1"] = labels.pop("PER")
    document["systems"]["crf"]["confusion"]["pairs"] = {}  # which name the label too
    rows = list(csv.reader(io.StringIO(outlets.rows_csv(document))))
    assert rows[0] == [
        "dataset", "system", "run", "kind", "name", "part", "score", "value", "low", "high", "gold",
    ]  # fmt: skip
    assert any("'=1+1" in row for row in rows)
    assert not any(cell.startswith("=") for row in rows for cell in row)
    f1 = next(row for row in rows if row[3] == "overall" and row[6] == "f1")
    assert float(f1[7]) == ONE["systems"]["crf"]["exact"]["overall"]["f1"]


def test_junit_has_one_case_per_threshold() -> None:
    root = ElementTree.fromstring(outlets.junit(TWO, fail_under=71, floors=["PER=75"]))
    suite = root[0]
    assert (suite.get("tests"), suite.get("failures")) == ("4", "2")
    names = [case.get("name") for case in suite]
    assert names == ["crf f1", "bert f1", "crf PER", "bert PER"]
    failure = suite[1].find("failure")
    assert failure is not None
    assert failure.get("message") == "bert: f1 is 70.10, which is below 71."
    assert suite[0].find("failure") is None


def test_junit_of_hostile_names_is_well_formed() -> None:
    text = outlets.to_junit([Check(EVIL, False, EVIL)], suite=EVIL, details=EVIL)
    case = ElementTree.fromstring(text)[0][0]
    assert case.get("name", "").startswith("</script><img")
    assert not set(text) & set("\x1b\x00\u202e")


def test_the_step_summary_shows_thresholds_scores_and_findings() -> None:
    checks = gate(TWO, fail_under=71).checks
    text = outlets.step_summary(TWO, checks=checks)
    assert "- ✅ crf: f1 is 71.97, which reaches 71." in text
    assert "- ❌ bert: f1 is 70.10, which is below 71." in text
    assert "| a | crf | **72.0**<sup>b</sup> |" in text
    assert "wrong boundaries cost crf the most: 12.6 F1 in 30 errors." in text
    assert text.count("<details>") == text.count("</details>") > 0


def test_a_study_has_a_step_summary() -> None:
    assert "70.6 ±1.2" in outlets.step_summary(STUDY)


def _without_other_names(document: dict[str, Any]) -> None:
    """Leave out the parts that name systems, which were renamed."""
    document["inputs"] = [row for row in document["inputs"] if row["role"] == "gold"]
    document["sentences"] = document["comparisons"] = []


def test_hostile_names_stay_inert_in_the_step_summary_and_the_notebook() -> None:
    document = copy.deepcopy(TWO)
    document["systems"] = {EVIL: document["systems"]["crf"], "b": document["systems"]["bert"]}
    _without_other_names(document)
    document["letters"] = {EVIL: "b", "b": ""}
    document["dataset"]["name"] = document["signature"] = EVIL
    document["findings"][0]["system"] = EVIL
    for text in (outlets.step_summary(document), notebook_table(document)):
        assert "<img" not in text
        assert "</script" not in text
        assert not set(text) & set("\x1b\x00\u202e")


def test_the_notebook_table_has_the_scores_and_no_script() -> None:
    text = notebook_table(TWO)
    assert "<td><b>72.0</b><sup>b</sup></td>" in text
    assert "script" not in text
    assert "style" not in text


def test_the_model_index_is_yaml_that_hugging_face_reads() -> None:
    yaml = pytest.importorskip("yaml")
    read = yaml.safe_load(outlets.model_index(TWO, dataset="conll2003"))
    assert [model["name"] for model in read["model-index"]] == ["crf", "bert"]
    (result,) = read["model-index"][0]["results"]
    assert result["task"]["type"] == "token-classification"
    assert result["dataset"]["type"] == "conll2003"
    metrics = {metric["name"]: metric["value"] for metric in result["metrics"]}
    assert metrics["F1"] == TWO["systems"]["crf"]["exact"]["overall"]["f1"]
    cards = pytest.importorskip("huggingface_hub.repocard_data")
    index = yaml.safe_load(outlets.model_index(ONE, name="me/mine"))
    name, results = cards.model_index_to_eval_results(index["model-index"])
    assert name == "me/mine"
    assert {evaluation.metric_type for evaluation in results} == {"f1", "precision", "recall", "accuracy"}


def test_the_model_index_of_hostile_names_stays_data() -> None:
    yaml = pytest.importorskip("yaml")
    document = copy.deepcopy(ONE)
    document["systems"] = {EVIL: document["systems"]["crf"]}
    _without_other_names(document)
    document["dataset"]["name"] = document["signature"] = EVIL
    read = yaml.safe_load(outlets.model_index(document))
    assert list(read) == ["model-index"]
    assert list(read["model-index"][0]) == ["name", "results"]


def test_undefined_scores_are_left_out_of_the_model_index() -> None:
    document = copy.deepcopy(ONE)
    document["systems"]["crf"]["exact"]["overall"].update(f1=None, accuracy=None)
    text = outlets.model_index(document)
    assert '"Accuracy"' not in text
    assert "null" not in text
    assert "nan" not in text


def test_every_report_is_found_by_name_and_gives_the_same_bytes_twice() -> None:
    for name in ("terminal", "flat", "summary", "model-index"):
        choices: dict[str, Any] = {"width": 80, "color": False} if name == "terminal" else {}
        assert render(TWO, name, **choices) == render(copy.deepcopy(TWO), name, **choices)
        assert REPORTS.find(name).summary


def test_a_report_is_saved_completely(tmp_path: Path) -> None:
    save(TWO, tmp_path / "flat.json", "flat")
    assert json.loads((tmp_path / "flat.json").read_text()) == json.loads(outlets.flat_json(TWO))
    assert [path.name for path in tmp_path.iterdir()] == ["flat.json"]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(TWO))
    return path


def test_the_command_exports_every_form(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = {
        "flat": outlets.flat_json(TWO), "rows": outlets.rows_csv(TWO), "summary": outlets.step_summary(TWO),
        "model-index": outlets.model_index(TWO),
    }  # fmt: skip
    for form, text in expected.items():
        assert main(["export", str(saved), form]) == 0
        assert capsys.readouterr().out == text


def test_the_command_fails_if_a_threshold_is_missed(saved: Path, tmp_path: Path) -> None:
    target = tmp_path / "gate.xml"
    assert main(["export", str(saved), "junit", "--fail-under", "71", "-o", str(target)]) == 1
    assert ElementTree.parse(target).getroot().get("failures") == "1"
    assert main(["export", str(saved), "junit", "--fail-under", "60", "-o", str(target)]) == 0


def test_the_command_reads_thresholds_from_a_file(saved: Path, tmp_path: Path) -> None:
    target, file = tmp_path / "gate.xml", tmp_path / "gate.toml"
    for points, missed in ((60, 0), (71, 1)):
        file.write_text(f"fail_under = {points}\n")
        assert main(["export", str(saved), "junit", "--gate", str(file), "-o", str(target)]) == missed
        assert ElementTree.parse(target).getroot().get("failures") == str(missed)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["junit"],
            "junit needs a threshold.\n"
            "Add --fail-under POINTS, --floor PATH=POINTS, --gate FILE or --against FILE.",
        ),
        (["flatt"], "no report is called 'flatt'. Did you mean 'flat'?"),
        ([], "export needs a result document and a form."),
    ],
)
def test_the_export_command_refuses_wrong_calls(
    saved: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(saved), *arguments]) == 2
    assert words in capsys.readouterr().err


def test_arrow_tables_hold_the_scores_and_the_mentions() -> None:
    pytest.importorskip("pyarrow")
    tokens = [["Ann", "Lee", "met", "Bo"]]
    gold = spanwise.read([["B-PER", "I-PER", "O", "B-PER"]], tokens=tokens)
    found = spanwise.read([["B-PER", "O", "O", "B-LOC"]], tokens=tokens)
    result = spanwise.evaluate(gold, {"crf": found}, resamples=0)
    scores = result.to_arrow()
    assert scores.num_rows == len(outlets.rows(result)) and scores["value"].to_pylist()[0] == 0.0
    mentions = result.to_arrow("mentions").to_pylist()
    assert [tuple(row.values())[1:] for row in mentions] == [
        ("gold", 0, 0, 2, "PER", "Ann Lee", "BEs"), ("gold", 0, 3, 4, "PER", "Bo", "LE"),
        ("predicted", 0, 0, 1, "PER", "Ann", "BEs"), ("predicted", 0, 3, 4, "LOC", "Bo", "LE"),
    ]  # fmt: skip
    assert {row["system"] for row in mentions} == {"crf"}


@pytest.mark.parametrize("redact", [False, True])
def test_a_saved_document_with_all_sentences_has_the_mentions_of_the_one_in_memory(
    tmp_path: Path, redact: bool
) -> None:
    pytest.importorskip("pyarrow")
    demo = generate(tmp_path, sentences=60)
    options: dict[str, Any] = {"resamples": 0, "redact": redact}
    live = spanwise.evaluate(demo.gold, dict(demo.systems), examples="all", **options)
    live.to_json(tmp_path / "all.json")
    loaded = spanwise.load(tmp_path / "all.json")
    assert isinstance(loaded, Evaluation)
    assert loaded.to_arrow("mentions").equals(live.to_arrow("mentions"))
    assert loaded.to_pandas("mentions").equals(live.to_pandas("mentions"))
    assert loaded["swapper"].events() == live["swapper"].events()
    spanwise.evaluate(demo.gold, dict(demo.systems), **options).to_json(tmp_path / "errors.json")
    errors = spanwise.load(tmp_path / "errors.json")
    assert isinstance(errors, Evaluation)
    with pytest.raises(ChoiceError, match=r"of 60 sentences(.|\n)*--examples all --json FILE$"):
        errors.to_arrow("mentions")


def test_saved_mentions_with_gaps_or_in_characters_are_those_in_memory(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    texts = [
        {"id": "b", "text": "Ann Lee left.", "spans": [{"start": 0, "end": 7, "label": "PER"}]},
        {"id": "a", "text": "Bo left.", "spans": [{"start": 0, "end": 2, "label": "PER"}]},
    ]
    wrong = [texts[0], {**texts[1], "spans": []}]  # an error in the second, which is written first
    gaps = [
        {
            "tokens": ["a", "b", "c"],
            "spans": [{"start": 0, "end": 3, "parts": [[0, 1], [2, 3]], "label": "X"}],
        }
    ]
    for name, gold, predicted in (("texts", texts, wrong), ("gaps", gaps, gaps)):
        for side, rows in (("gold", gold), ("mine", predicted)):
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            (tmp_path / f"{name}.{side}.jsonl").write_text(lines, encoding="utf-8")
        files = [tmp_path / f"{name}.{side}.jsonl" for side in ("gold", "mine")]
        live = spanwise.evaluate(files[0], {"mine": files[1]}, examples="all", resamples=0)
        loaded = document_of(live.to_dict())
        assert isinstance(loaded, Evaluation)
        assert loaded.to_arrow("mentions").equals(live.to_arrow("mentions"))
        assert loaded["mine"].gold.pieces() == live["mine"].gold.pieces()


def test_the_card_of_a_dataset_counts_its_labels(tmp_path: Path) -> None:
    (tmp_path / "gold.conll").write_text("Ann B-PER\nmet O\nOslo B-LOC\n", encoding="utf-8")
    described = spanwise.describe(str(tmp_path / "gold.conll"))
    card = json.loads(outlets.dataset_card(described, dataset="news"))
    measured = {row["name"]: row["value"] for row in card["variableMeasured"]}
    assert card["name"] == "news" and card["@type"] == "sc:Dataset"
    assert (measured["tokens"], measured["mentions of PER"], measured["mentions of LOC"]) == (3, 1, 1)
    (file,) = card["distribution"]
    assert file["sha256"] == sha256((tmp_path / "gold.conll").read_bytes()).hexdigest()
