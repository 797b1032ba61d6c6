"""Logging to trackers: scores, intervals, signature and page, under unambiguous names."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np
import pytest

import spanwise
from spanwise.compat.evaluate import make_compute_metrics
from spanwise.errors import ChoiceError, MissingExtra

GOLD = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "O"], ["B-PER", "O"]] * 10
ONE = [["B-PER", "I-PER", "O", "O"], ["B-LOC", "O"], ["B-PER", "O"]] * 10
TWO = [["B-PER", "O", "O", "B-LOC"], ["B-LOC", "O"], ["O", "O"]] * 10


@pytest.fixture(scope="module")
def result() -> spanwise.Result:
    return spanwise.evaluate(GOLD, {"crf": ONE}, resamples=100)


@pytest.fixture(scope="module")
def compared() -> spanwise.Result:
    return spanwise.compare(GOLD, {"crf": ONE, "bert": TWO}, resamples=100)


class Fake:
    """A stand-in for the four trackers that records what is logged."""

    def __init__(self) -> None:
        self.logged: dict[str, float] = {}
        self.said: dict[str, str] = {}
        self.files: dict[str, str] = {}
        self.calls = 0
        self.steps: set[int | None] = set()

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.calls += 1
        self.steps.add(step)
        self.logged |= metrics

    log = log_metrics

    @property
    def summary(self) -> dict[str, str]:
        return self.said

    def set_tag(self, key: str, value: str) -> None:
        self.said[key] = value

    log_other = set_tag

    def log_text(self, text: str, name: str) -> None:
        self.files[name] = text

    def log_asset_data(self, text: str, name: str, step: int | None = None) -> None:
        self.files[name] = text

    def log_artifact(self, artifact: Fake) -> None:
        self.files |= artifact.files

    @contextmanager
    def new_file(self, name: str, encoding: str | None = None) -> Iterator[TextIO]:
        import io

        stream = io.StringIO()
        yield stream
        self.files[name] = stream.getvalue()


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a temporary folder, because trackers create folders where they run."""
    monkeypatch.chdir(tmp_path)


def assert_complete(logged: dict[str, float], result: spanwise.Result) -> None:
    """Check that scores equal those of the result, lie in their intervals and are defined."""
    overall = result["crf"].exact.overall
    assert logged["f1"] == pytest.approx(overall.f1)
    assert logged["accuracy"] == pytest.approx(overall.accuracy)
    assert logged["f1_low"] < logged["f1"] < logged["f1_high"]
    assert logged["label/PER/recall_low"] <= logged["label/PER/recall"]
    assert all(math.isfinite(value) for value in logged.values())


@pytest.mark.parametrize("tracker", ["mlflow", "comet"])
def test_scores_intervals_signature_and_page_are_logged(tracker: str, result: spanwise.Result) -> None:
    fake = Fake()
    result.log(tracker, to=fake, step=3)
    assert_complete(fake.logged, result)
    assert fake.steps == {3}
    assert result.signature in fake.said.values()
    assert fake.files["spanwise/report.html"] == result.to_html()
    assert fake.files["spanwise/result.json"] == result.to_json()


def test_weights_and_biases_keeps_the_page_as_an_artifact(
    result: spanwise.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys
    from types import SimpleNamespace

    fake = Fake()
    made: list[Fake] = []

    def artifact(name: str, type: str) -> Fake:
        made.append(Fake())
        return made[-1]

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(run=fake, Artifact=artifact))
    result.log("wandb")
    assert_complete(fake.logged, result)
    assert fake.said["spanwise/signature"] == result.signature
    assert fake.files["report.html"] == result.to_html()


def test_mlflow_accepts_what_is_logged(
    result: spanwise.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    with mlflow.start_run() as run:
        result.log("mlflow", step=1)
    kept = mlflow.get_run(run.info.run_id)
    assert_complete(kept.data.metrics, result)
    assert kept.data.tags["spanwise.signature"] == result.signature
    pages = list(tmp_path.rglob("spanwise/report.html"))
    assert len(pages) == 1
    assert pages[0].read_text(encoding="utf-8") == result.to_html()


def test_tensorboard_can_read_what_was_written(result: spanwise.Result, tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    result.log("tensorboard", to=tmp_path, step=2)
    events = accumulator.EventAccumulator(str(tmp_path)).Reload()
    scalars = {name: events.Scalars(name)[0] for name in events.Tags()["scalars"]}
    assert scalars["f1"].value == pytest.approx(result["crf"].exact.overall.f1)
    assert scalars["f1"].step == 2
    assert {"f1_low", "f1_high", "accuracy"} <= scalars.keys()
    assert (tmp_path / "spanwise" / "report.html").is_file()


def test_differences_of_systems_are_logged_with_interval_and_p(compared: spanwise.Result) -> None:
    fake = Fake()
    compared.log("mlflow", to=fake, page=False)
    row = compared.comparisons[0]
    name = f"difference/{row.systems[0]}/{row.systems[1]}/f1"
    assert fake.logged[f"{name}_low"] <= fake.logged[name] <= fake.logged[f"{name}_high"]
    assert 0 <= fake.logged[f"{name}_p"] <= 1
    assert "crf/f1" in fake.logged
    assert not fake.files


def test_names_and_numbers_are_acceptable_to_mlflow() -> None:
    labels = [f"L{number}" for number in range(400)]
    gold = [[f"B-{label}"] for label in [*labels, "B&B(x)"]]
    fake = Fake()
    spanwise.evaluate(gold, {"a": gold}, resamples=0).log("mlflow", to=fake, page=False, prefix="test/")
    assert "test/label/B_B_x_/f1" in fake.logged
    assert fake.calls > 1, "a request takes a thousand metrics"


def test_the_accuracy_of_a_trainer_equals_that_of_a_result() -> None:
    names = ["O", "B-PER", "I-PER"]
    gold, predicted = np.array([[1, 2, 0, 0]]), np.array([[2, 2, 0, 2]])
    metrics = make_compute_metrics(names)((predicted, gold))
    tags = [[[names[code] for code in row] for row in side] for side in (gold, predicted)]
    overall = spanwise.evaluate(tags[0], {"a": tags[1]}, resamples=0)["a"].exact.overall
    assert metrics["accuracy"] == overall.accuracy == 0.75


def test_an_unknown_tracker_is_answered_with_the_available_ones(result: spanwise.Result) -> None:
    with pytest.raises(ChoiceError, match="Did you mean 'wandb'"):
        result.log("wandbs")


@pytest.mark.parametrize(
    ("tracker", "package", "extra"),
    [("mlflow", "mlflow", "mlflow"), ("wandb", "wandb", "wandb"), ("comet", "comet_ml", "comet")],
)
def test_a_missing_package_is_answered_with_its_extra(
    tracker: str, package: str, extra: str, result: spanwise.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"needs the package '{package}'.*\n.*spanwise\[{extra}\]"):
        result.log(tracker, page=False)


def test_a_study_and_a_loaded_result_can_be_logged(result: spanwise.Result, tmp_path: Path) -> None:
    result.to_json(tmp_path / "run.json")
    loaded = spanwise.load(tmp_path / "run.json")
    fake = Fake()
    loaded.log("comet", to=fake, page=False)
    assert_complete(fake.logged, result)
