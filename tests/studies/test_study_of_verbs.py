"""Leaks and tuples of every dataset of a manifest, with tests that are corrected together."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from typed import present

import spanwise
from spanwise.cli.main import main
from spanwise.document.datasets import LeakStudy, TupleStudy
from spanwise.errors import ChoiceError, InputError
from spanwise.statistics import holm

MANIFEST = """predictions = "{dataset}/{system}.{run}.conll"
resamples = 200
unit = "sentence"
[datasets.one]
test = "one/gold.conll"
[datasets.two]
test = "two/gold.conll"
only = "PER"
[systems.good]
[systems.poor]
[systems.worst]
"""


def write_tags(path: Path, sentences: list[list[str]]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        "".join("".join(f"w{at} {tag}\n" for at, tag in enumerate(tags)) + "\n" for tags in sentences),
        encoding="utf-8",
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two datasets, three systems that lose 5, 15 and 40 % of the mentions, and three runs of each."""
    for number, dataset in enumerate(("one", "two")):
        draw = random.Random(number)
        gold = [[draw.choice(["O", "B-PER", "B-LOC"]) for _ in range(8)] for _ in range(60)]
        write_tags(tmp_path / dataset / "gold.conll", gold)
        for system, lost in (("good", 0.05), ("poor", 0.15), ("worst", 0.4)):
            for run in (1, 2, 3):
                tags = [["O" if draw.random() < lost else tag for tag in sentence] for sentence in gold]
                write_tags(tmp_path / dataset / f"{system}.{run}.conll", tags)
    (tmp_path / "study.toml").write_text(MANIFEST, encoding="utf-8")
    return tmp_path


def test_every_dataset_is_asked_as_if_it_were_alone(folder: Path) -> None:
    whole = spanwise.study_of("leaks", folder / "study.toml")
    assert list(whole.datasets) == ["one", "two"]
    alone = spanwise.leaks(
        folder / "two/gold.conll",
        {name: f"{folder}/two/{name}.{{run}}.conll" for name in ("good", "poor", "worst")},
        resamples=200, unit="sentence", only="PER",
    )  # fmt: skip
    own = whole.datasets["two"]
    assert (own.systems, own.runs) == (alone.systems, alone.runs)
    assert {*own.systems["good.1"].labels} == {"PER"}
    assert {*whole.datasets["one"].systems["good.1"].labels} == {"LOC", "PER"}
    raw = [present(row.primary).p for row in own.comparisons]
    assert raw == [present(row.primary).p for row in alone.comparisons]


def test_the_primary_score_is_corrected_over_pairs_and_datasets(folder: Path) -> None:
    for family, groups in (("study", [["one", "two"]]), ("dataset", [["one"], ["two"]])):
        whole = spanwise.study_of("leaks", folder / "study.toml", family=family)
        assert whole.settings.tests == 6
        for group in groups:
            tests = [present(row.primary) for name in group for row in whole.datasets[name].comparisons]
            expected = holm([present(test.p) for test in tests])
            assert [test.p_corrected for test in tests] == pytest.approx(list(expected))
            assert all(test.significant == (present(test.p_corrected) < 0.05) for test in tests)


def test_means_are_study_of_and_runs_come_first(folder: Path) -> None:
    whole = spanwise.study_of("leaks", folder / "study.toml")
    rates = [
        sum(present(own.systems[f"poor.{run}"].overall.leak_rate) for run in (1, 2, 3)) / 3
        for own in whole.datasets.values()
    ]
    assert whole.systems["poor"].mean["leak_rate"] == pytest.approx(sum(rates) / 2)
    assert whole.systems["poor"].datasets["leak_rate"] == 2
    assert whole.systems["poor"].mean["identity_leak_rate"] is None


def test_only_the_pairs_of_the_manifest_are_compared(folder: Path) -> None:
    file = folder / "study.toml"
    asked = '[[compare]]\nsystems = ["good", "worst"]\ndatasets = ["two"]\n'
    file.write_text(MANIFEST + asked, encoding="utf-8")
    whole = spanwise.study_of("leaks", file)
    pairs = {name: [row.systems for row in own.comparisons] for name, own in whole.datasets.items()}
    assert pairs == {"one": [], "two": [("good", "worst")]}
    assert whole.settings.tests == 1


def test_a_label_that_only_some_datasets_have_is_noted(folder: Path) -> None:
    tags = [["B-ORG", "O"], ["O", "B-PER"]]
    write_tags(folder / "one" / "gold.conll", tags)
    for system in ("good", "poor", "worst"):
        for run in (1, 2, 3):
            write_tags(folder / "one" / f"{system}.{run}.conll", tags)
    file = folder / "study.toml"
    file.write_text(MANIFEST.replace('only = "PER"\n', ""), encoding="utf-8")
    whole = spanwise.study_of("leaks", file, without="ORG", resamples=0)
    assert {*whole.datasets["one"].systems["good.1"].labels} == {"PER"}
    assert "two: without names the label 'ORG', which no file of this dataset has." in whole.notes
    only = spanwise.study_of("leaks", file, only="ORG", resamples=0)
    assert only.datasets["two"].systems["good.1"].overall.mentions == 0
    with pytest.raises(ChoiceError, match="without names the label 'NONE', which no file has"):
        spanwise.study_of("leaks", file, without="NONE", resamples=0)


def test_a_system_may_be_missing_on_a_dataset(folder: Path) -> None:
    for run in (1, 2, 3):
        (folder / f"one/poor.{run}.conll").unlink()
    whole = spanwise.study_of("leaks", folder / "study.toml")
    assert whole.systems["poor"].datasets["leak_rate"] == 1
    assert [row["run"] for row in whole.plan.missing] == ["1", "2", "3"]
    assert "poor" in whole.to_text()


def test_the_screen_counts_datasets_by_direction_and_the_page_holds_each(folder: Path) -> None:
    whole = spanwise.study_of("leaks", folder / "study.toml", resamples=500)
    text = " ".join(whole.to_text(width=110).split())
    assert "good leaks less than worst on 2 of 2 datasets, worst on none." in text
    assert "Holm over 6 tests (pairs × datasets)" in text
    page = whole.to_html()
    assert "What stays readable" in page and "<bdi>good.1</bdi>" in page
    assert "by-leak-rate" in whole.tables()


def test_the_document_is_read_back(folder: Path, tmp_path: Path) -> None:
    whole = spanwise.study_of("leaks", folder / "study.toml", resamples=0)
    whole.to_json(tmp_path / "leaks.json")
    again = spanwise.load(tmp_path / "leaks.json")
    assert isinstance(again, LeakStudy)
    assert again.to_dict() == whole.to_dict()


def test_the_command_takes_a_manifest_and_its_limits_hold_on_every_dataset(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder / "leaks.json"
    call = ["leaks", str(folder / "study.toml"), "--quiet", "--json", str(out), "--resamples", "0"]
    assert main([*call, "--max-leak", "99", "--max-leak", "LOC=99"]) == 0
    said = capsys.readouterr().err
    assert said.count("of LOC") == 9  # the second dataset has no such label
    assert said.count("held: ") == 27
    assert main([*call, "--max-leak", "20"]) == 1
    assert "two: missed: worst.1" in capsys.readouterr().err
    assert json.loads(out.read_text(encoding="utf-8"))["kind"] == "leaks-study"
    assert main([*call, "--train", "x"]) == 2
    assert "--train is not for a manifest" in capsys.readouterr().err


def facts(draw: random.Random, lost: float) -> list[dict[str, Any]]:
    units = []
    for number in range(20):
        mentions = [{"id": f"m{at}", "start": at, "end": at + 1, "label": "PER"} for at in range(6)]
        tuples = [
            {"type": "knows", "roles": {"head": f"m{at}", "tail": f"m{(at + 1) % 6}"}}
            for at in range(6)
            if draw.random() >= lost
        ]
        units.append({"id": str(number), "tokens": list("abcdef"), "mentions": mentions, "tuples": tuples})
    return units


def test_tuples_take_a_manifest_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(3)
    for dataset in ("one", "two"):
        (tmp_path / dataset).mkdir()
        for name, lost in (("gold", 0.0), ("good", 0.1), ("poor", 0.5)):
            text = "".join(json.dumps(unit) + "\n" for unit in facts(draw, lost))
            (tmp_path / dataset / f"{name}.jsonl").write_text(text, encoding="utf-8")
    file = tmp_path / "study.toml"
    file.write_text(
        'predictions = "{dataset}/{system}.jsonl"\n[datasets.one]\ntest = "one/gold.jsonl"\n'
        '[datasets.two]\ntest = "two/gold.jsonl"\n[systems.good]\n[systems.poor]\n',
        encoding="utf-8",
    )
    whole = spanwise.study_of("tuples", file, criterion="boundaries")
    assert isinstance(whole, TupleStudy)
    assert {own.criterion for own in whole.datasets.values()} == {"boundaries"}
    assert "good is better than poor on 2 of 2 datasets, poor on none." in whole.to_text(width=120)
    scores = [own.systems["good"].criteria["strict"].overall.f1 for own in whole.datasets.values()]
    assert whole.systems["good"].mean["strict"] == pytest.approx(sum(map(present, scores)) / 2)
    assert main(["tuples", str(file), "--quiet", "--floor", "80"]) == 1
    assert "two: missed: poor" in capsys.readouterr().err
    with pytest.raises(ChoiceError, match="align"):
        spanwise.study_of("tuples", file, align="diff")


def test_what_a_manifest_cannot_do_here_is_refused(folder: Path) -> None:
    file = folder / "study.toml"
    with pytest.raises(ChoiceError, match="no verb of studies is called 'slices'"):
        spanwise.study_of("slices", file)
    with pytest.raises(ChoiceError, match="no family is called 'all'"):
        spanwise.study_of("leaks", file, family="all")
    file.write_text(MANIFEST + "[systems.new]\ntrain = {epochs = 1}\n", encoding="utf-8")
    with pytest.raises(ChoiceError, match="trained by the study"):
        spanwise.study_of("leaks", file)
    file.write_text(MANIFEST, encoding="utf-8")
    (folder / "two/good.2.conll").write_text("x B-PER\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"^two: "):
        spanwise.study_of("leaks", file)
