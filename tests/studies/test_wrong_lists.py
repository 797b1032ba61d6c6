"""Manifests whose lists hold something else than names: one sentence, whatever the key."""

from __future__ import annotations

from pathlib import Path

import pytest

import spanwise
from spanwise.cli.main import main
from spanwise.errors import ChoiceError, InputError

WRONG = ["[1]", "['a']", "[['a']]", "[[1]]", "[{a = 1}]", "[[]]", "[1.5]", "[true]", "[['a', 'b', 'c']]", "1"]
TOP = ("cross", "weights", "attributes", "labels", "runs", "compare", "context", "buckets", "matcher")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    for name in ("gold", "a", "b"):
        (tmp_path / f"{name}.conll").write_text("Ann B-PER\nleft O\n\nRome B-LOC\n", encoding="utf-8")
    return tmp_path / "study.toml"


def run(study: Path, top: str = "", dataset: str = "", system: str = "") -> int:
    study.write_text(
        f"predictions = '{{system}}.conll'\nresamples = 0\n{top}\n"
        f"[datasets.x]\ntest = 'gold.conll'\n{dataset}\n[systems.a]\n{system}\n[systems.b]\n",
        encoding="utf-8",
    )
    return main(["study", str(study), "--no-cache", "--quiet"])


@pytest.mark.parametrize("value", WRONG)
@pytest.mark.parametrize("key", TOP)
def test_a_list_of_the_wrong_content_above_all_tables_is_answered_in_words(
    key: str, value: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(study, f"{key} = {value}") in (0, 2, 3)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("value", WRONG)
@pytest.mark.parametrize("key", ["train", "labels", "columns"])
def test_a_list_of_the_wrong_content_in_a_dataset_is_answered_in_words(
    key: str, value: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(study, dataset=f"{key} = {value}") in (0, 2, 3)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("value", WRONG)
@pytest.mark.parametrize("key", ["runs", "predictions", "answers", "factors", "command"])
def test_a_list_of_the_wrong_content_in_a_system_is_answered_in_words(
    key: str, value: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(study, system=f"{key} = {value}") in (0, 2, 3)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "top", ["cross = [1]", "cross = ['a']", "cross = [['a']]", "weights = [1]", "attributes = [1]"]
)
def test_the_wrong_content_is_refused(top: str, study: Path) -> None:
    assert run(study, top) in (2, 3)


def test_crossed_attributes_may_be_written_as_on_the_command_line(study: Path) -> None:
    assert run(study, "cross = ['entity_length,label']") == 0
    gold = [["B-PER", "O", "B-LOC"]]
    one, other = (
        spanwise.evaluate(gold, {"a": gold}, resamples=0, cross=cross)["a"].cross  # type: ignore[arg-type]
        for cross in (["entity_length, label"], [("entity_length", "label")])
    )
    assert one == other and one


@pytest.mark.parametrize(
    "keywords", [{"cross": [1]}, {"cross": ["label"]}, {"cross": [["a"]]}, {"cross": [{"a": 1}]},
                 {"weights": [1]}, {"weights": [[1]]}, {"attributes": [1]}, {"attributes": [[1]]}],
    ids=str,
)  # fmt: skip
def test_the_wrong_content_is_refused_in_python(keywords: dict[str, object]) -> None:
    gold = [["B-PER"]]
    with pytest.raises((ChoiceError, InputError)):
        spanwise.evaluate(gold, {"a": gold}, resamples=0, **keywords)  # type: ignore[arg-type]
