"""`evaluate` and `compare` accept several runs per system, in Python and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from study_files import make
from watching import entered

import spanwise
from spanwise.cli.main import main
from spanwise.document.study import Study
from spanwise.engines import InProcess
from spanwise.errors import ChoiceError, InputError
from spanwise.gates import gate

NAMES = ("large", "small")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs")
    make(path)
    return path / "north"


def systems(folder: Path, names: tuple[str, ...] = NAMES) -> dict[str, str]:
    return {name: f"{folder}/predictions/{name}.{{run}}.txt" for name in names}


def files(folder: Path) -> list[str]:
    """The files as arguments of the command line."""
    return [str(folder / "test.txt"), *(f"{name}={path}" for name, path in systems(folder).items())]


def evaluate(folder: Path, **options: Any) -> Any:
    return spanwise.evaluate(folder / "test.txt", systems(folder), resamples=50, **options)


def test_a_path_with_runs_gives_a_study_of_one_dataset(folder: Path) -> None:
    study = evaluate(folder, train=folder / "train.txt")
    assert isinstance(study, Study)
    (dataset,) = study.datasets.values()
    assert {name: list(runs) for name, runs in dataset.runs.items()} == {
        name: ["1", "2", "3"] for name in NAMES
    }
    single = spanwise.evaluate(
        folder / "test.txt", {"2": folder / "predictions" / "large.2.txt"}, train=folder / "train.txt",
        attributes="fu20", resamples=50,
    )  # fmt: skip
    assert dataset.runs["large"]["2"] == single.systems["2"]


def test_python_and_the_command_line_give_the_same_document(folder: Path, tmp_path: Path) -> None:
    written = tmp_path / "runs.json"
    train = ["--train", str(folder / "train.txt")]
    assert (
        main(["evaluate", *files(folder), *train, "--resamples", "50", "--quiet", "--json", str(written)])
        == 0
    )
    assert written.read_text(encoding="utf-8") == evaluate(folder, train=folder / "train.txt").to_json()


def test_a_comparison_of_runs_tests_over_runs(folder: Path) -> None:
    study = spanwise.compare(folder / "test.txt", systems(folder), resamples=50)
    assert isinstance(study, Study)
    assert [row.systems for row in study.datasets["test"].comparisons] == [NAMES]
    with pytest.raises(ChoiceError, match="needs at least two systems"):
        spanwise.compare(folder / "test.txt", systems(folder, ("large",)), resamples=50)


def test_pairs_vocabulary_and_gold_in_memory_are_accepted(folder: Path) -> None:
    gold = spanwise.read(folder / "test.txt")
    names = (*NAMES, "rules")
    study: Any = spanwise.evaluate(
        gold, systems(folder, names), pairs=[("small", "rules")], vocabulary=["the"], resamples=50
    )
    assert [row.systems for row in study.datasets["test"].comparisons] == [("small", "rules")]
    assert study.settings.vocabulary == 1


def test_edges_of_an_earlier_result_are_used(folder: Path) -> None:
    earlier = spanwise.evaluate(
        folder / "test.txt", folder / "predictions" / "large.1.txt", buckets={"entity_length": "1,2"},
        attributes="entity_length", resamples=0,
    )  # fmt: skip
    study = evaluate(folder, attributes="entity_length", edges=earlier.edges())
    assert study.settings.buckets == {"entity_length": "saved edges"}


def test_an_engine_runs_the_cells_and_progress_counts_them(folder: Path) -> None:
    ran: list[str] = []

    class Noting(InProcess, frozen=True):
        def map(self, function: Any, blocks: Any, shared: Any) -> Any:
            ran.append(function.__name__)
            return InProcess().map(function, blocks, shared)

    heard: list[tuple[str, int, int]] = []
    evaluate(folder, engine=Noting(), progress=lambda *step: heard.append(step))
    assert ran == ["read_cell", "compute_cell"]
    assert heard == [("read", 0, 2), ("read", 2, 2), ("count", 1, 2), ("count", 2, 2)]


def test_redacted_runs_contain_no_text(folder: Path) -> None:
    words = {word for number in range(5) for word in spanwise.read(folder / "test.txt").corpus.words(number)}
    plain, redacted = (evaluate(folder, redact=redact).to_json() for redact in (False, True))
    assert any(json.dumps(word) in plain for word in words)
    assert not any(json.dumps(word) in redacted for word in words)
    assert json.loads(redacted)["settings"]["redacted"] is True


@pytest.mark.parametrize("given", [{"preset": "interpreteval"}, {"switched_off": ["seen"]}])
def test_options_that_mean_nothing_over_runs_are_refused(folder: Path, given: dict[str, Any]) -> None:
    with (
        entered() as calls,
        pytest.raises(ChoiceError, match=f"^{next(iter(given))} needs one run per system"),
    ):
        evaluate(folder, **given)
    assert not any(file == "formats/_opening.py" for file, _ in calls)


def test_other_mistakes_are_reported_as_by_an_evaluation(folder: Path) -> None:
    with pytest.raises(InputError, match=r"nix\.\{run\}\.txt: no file matches this pattern"):
        spanwise.evaluate(folder / "test.txt", str(folder / "nix.{run}.txt"))
    with pytest.raises(InputError, match=r"nix\.txt: there is no such file"):
        spanwise.evaluate(folder / "nix.txt", systems(folder))
    with pytest.raises(ChoiceError, match=r"^no attribute is called 'nix'"):
        evaluate(folder, attributes="nix")
    with pytest.raises(ChoiceError, match=r"^no keyword is called 'nix'"):
        evaluate(folder, nix=1)
    with pytest.raises(ChoiceError, match="the predictions of 'b' must be a file"):
        spanwise.evaluate(folder / "test.txt", {**systems(folder), "b": [["O"]]})


def test_the_mean_over_runs_is_compared_with_thresholds(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = evaluate(folder)
    values = [run.exact.overall.f1 for run in study.datasets["test"].runs["small"].values()]
    mean = 100 * sum(values) / len(values)
    for least, passed in ((mean - 0.01, True), (mean + 0.01, False)):
        (check,) = [row for row in gate(study, fail_under=least).checks if row.name == "small f1"]
        assert check.passed is passed
    low = 100 * study.analyses.holistic["small"]["test"].interval["mean"][0]
    assert [row.passed for row in gate(study, fail_under=low - 0.01, floor_bound=True).checks][-1]
    assert not [row.passed for row in gate(study, fail_under=low + 0.01, floor_bound=True).checks][-1]
    label = next(iter(study.datasets["test"].runs["small"]["1"].exact.labels))
    report = tmp_path / "junit.xml"
    arguments = ["--floor", f"{label}=99", "--junit", str(report), "--resamples", "50", "--quiet"]
    assert main(["evaluate", *files(folder), *arguments]) == 1
    assert f"small: {label} is " in capsys.readouterr().err
    assert "<testsuite" in report.read_text(encoding="utf-8")


def test_thresholds_that_do_not_apply_to_runs_are_refused(folder: Path, tmp_path: Path) -> None:
    study = evaluate(folder)
    label = next(iter(study.datasets["test"].runs["small"]["1"].exact.labels))
    with pytest.raises(ChoiceError, match=f"the mean of {label} over several runs has none"):
        gate(study, floors={label: 50}, floor_bound=True)
    with pytest.raises(ChoiceError, match="the mean of recall over several runs has none"):
        gate(study, fail_under=50, floor_bound=True, score="recall")


@pytest.mark.parametrize("score", ["f1", "recall", "macro", "fair"])
@pytest.mark.parametrize("run", ["{run}", "1"])
def test_a_gate_tests_the_means_as_a_comparison_of_both_does(folder: Path, run: str, score: str) -> None:
    before = {"mine": f"{folder}/predictions/small.{run}.txt"}
    after = {"mine": f"{folder}/predictions/large.{{run}}.txt"}
    new, old = (spanwise.evaluate(folder / "test.txt", side, resamples=50) for side in (after, before))
    compared = spanwise.compare(
        folder / "test.txt", {"large": after["mine"], "small": before["mine"]}, resamples=50, primary=score
    )
    assert isinstance(compared, Study)
    (pair,) = compared["test"].comparisons
    row = pair.primary
    assert row is not None
    outcome = gate(new, against=old.to_dict(), fail_drop=0, score=score)
    (change,) = outcome.changes
    assert (change.difference, change.interval, change.p) == (row.difference, row.interval, row.p)
    assert outcome.passed and [check.name for check in outcome.checks] == ["mine drop"]
    back = gate(old, against=new, fail_drop=0, score=score)
    assert back.changes[0].before == change.after and back.passed == (not row.significant)


def test_a_study_is_compared_with_an_earlier_one_dataset_by_dataset(folder: Path) -> None:
    study = spanwise.study(folder.parent / "study.toml", workers=1, cache=False)
    outcome = gate(study, against=study, fail_drop=0, not_worse_than=50)
    names = [f"{dataset} × {name}" for dataset in ("north", "south") for name in ("large", "rules", "small")]
    assert [change.system for change in outcome.changes] == names
    assert outcome.passed and all(change.difference == 0 for change in outcome.changes)
    alone = evaluate(folder)
    with pytest.raises(InputError, match="the earlier result: it has no dataset 'north'"):
        gate(study, against=alone)
    without = {**study.to_dict()}
    for part in without["datasets"].values():
        del part["units"]
    with pytest.raises(InputError, match="lacks its counts per unit"):
        gate(study, against=without)


def test_the_command_tags_runs_and_compares_them_with_an_earlier_result(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "runs.json"
    command = ["evaluate", *files(folder), "--resamples", "50", "--quiet"]
    edges = tmp_path / "edges.json"
    outputs = ["--json", str(kept), "--save-edges", str(edges)]
    assert main([*command, "--tag", "commit=8c1f2e", *outputs]) == 0
    assert json.loads(edges.read_text(encoding="utf-8"))["entity_length"]["buckets"]
    assert json.loads(kept.read_text(encoding="utf-8"))["settings"]["tags"] == {"commit": "8c1f2e"}
    assert main([*command, "--against", str(kept), "--fail-drop", "0"]) == 0
    assert "large: F1 " in capsys.readouterr().err
    swapped = [text.replace("large", "rules") for text in command[2:3]]
    worse = [*command[:2], swapped[0].replace("rules=", "large=", 1), *command[3:]]
    assert main([*worse, "--against", str(kept), "--fail-drop", "0"]) == 1


def test_errors_of_every_run_are_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", *files(folder), "--as", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["system"] for row in rows} == {f"{name}.{run}" for name in NAMES for run in (1, 2, 3)}
    single = spanwise.evaluate(folder / "test.txt", folder / "predictions" / "small.2.txt", resamples=0)
    counts = single["small.2"].fair.overall
    wrong = sum(getattr(counts, kind) for kind in ("LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP"))
    assert sum(row["system"] == "small.2" for row in rows) == wrong


@pytest.mark.parametrize("command", ["slices", "confidence"])
def test_commands_for_a_single_run_say_what_to_pass(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert main([command, *files(folder)]) == 2
    message = capsys.readouterr().err
    assert f"{command} takes one run of each system" in message
    assert f"as in large={folder}/predictions/large.1.txt" in message


@pytest.mark.parametrize("option", ["--columns=x", "--preset=interpreteval"])
def test_options_for_a_single_run_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert main(["evaluate", *files(folder), option]) == 2
    assert f"{option.partition('=')[0]} cannot be used with runs" in capsys.readouterr().err


def test_a_study_may_be_about_f_beta_and_is_read_again(folder: Path, tmp_path: Path) -> None:
    systems = {name: f"{folder}/predictions/{name}.{{run}}.txt" for name in ("large", "small")}
    study = spanwise.compare(folder / "test.txt", systems, resamples=20, primary="f2")
    assert isinstance(study, Study)
    means = [run["exact"]["overall"]["f2"] for run in study["test"].runs["small"].values()]
    mean = study.analyses.scores["small"]["test"]["f2"].mean
    assert mean == pytest.approx(sum(means) / len(means))
    (tmp_path / "study.json").write_text(study.to_json())
    assert spanwise.load(tmp_path / "study.json") == study
