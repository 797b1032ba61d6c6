"""Tasks: what to do, in words, with a command that opens the errors behind each number."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.cli.main import main
from spanwise.demo import generate
from spanwise.document.evaluation import Evaluation
from spanwise.reports.errors import listing
from spanwise.reports.terminal._layout import command_lines
from spanwise.tasks import tasks
from spanwise.views.tasks import TaskWords, shown_tasks

WNUT = Path(os.environ.get("SPANWISE_DATA", "../shared/data")) / "wnut17"


def rows(tags: list[list[str]], tokens: list[str]) -> list[dict[str, Any]]:
    return [{"tokens": tokens, "tags": row} for row in tags]


def titles(document: Evaluation, **options: Any) -> list[str]:
    return [task.title for task in shown_tasks(document, **options)]


def test_an_unknown_label_comes_first_whatever_its_gain() -> None:
    tokens = ["Port", "of", "Denby", "Oslo"]
    gold = [["B-LOC", "I-LOC", "I-LOC", "O"]] * 30 + [["O", "O", "O", "B-LOC"]] * 6
    mine = [["B-LOC", "O", "O", "O"]] * 30 + [["O", "O", "O", "B-PLACE"]] * 6
    result = spanwise.evaluate(rows(gold, tokens), {"mine": rows(mine, tokens)}, resamples=0)
    first, second, *_ = shown_tasks(result)
    assert first.title == "Map PLACE to LOC."
    assert first.reason == (
        "6 predictions of mine are labeled PLACE, which gold does not have; 6 of them are exactly a gold LOC."
    )
    assert (first.gain, second.gain) == ("up to +16.7 F1", "up to +83.3 F1")  # 2·6/72 and 2·30/72
    assert second.title == "Teach mine where names with “of” end."


def test_one_task_names_every_system_with_the_same_unknown_label() -> None:
    tokens = ["Port", "of", "Denby", "Oslo"]
    gold = [["B-LOC", "I-LOC", "I-LOC", "O"]] * 30 + [["O", "O", "O", "B-LOC"]] * 6
    mine = [["B-LOC", "O", "O", "O"]] * 30 + [["O", "O", "O", "B-PLACE"]] * 6
    yours = [["B-LOC", "I-LOC", "I-LOC", "O"]] * 31 + [["O", "O", "O", "B-PLACE"]] * 5
    systems = {name: rows(tags, tokens) for name, tags in (("mine", mine), ("yours", yours))}
    result = spanwise.evaluate(rows(gold, tokens), systems, resamples=0)
    about = [task for task in shown_tasks(result) if "PLACE" in task.title]
    assert [task.title for task in about] == ["Map PLACE to LOC."]
    assert about[0].reason == (
        "6 predictions of mine and 5 of yours are labeled PLACE, which gold does not have; "
        "6 of those of mine are exactly a gold LOC."
    )


def test_tasks_about_errors_are_ordered_by_gain(tmp_path: Path) -> None:
    demo = generate(tmp_path, sentences=400)
    result = spanwise.evaluate(demo.gold, demo.systems, train=demo.train, resamples=0)
    for name in demo.systems:
        gains = [task.gain for task in tasks(result, name) if task.kind in ("pattern", "label")]
        assert gains
        assert gains == sorted(gains, key=lambda gain: -(gain or 0.0))
    assert result.tasks == tasks(result)


def test_the_weakest_label_has_its_training_mentions_and_those_never_seen(tmp_path: Path) -> None:
    demo = generate(tmp_path, sentences=400)
    result = spanwise.evaluate(demo.gold, demo.systems, train=demo.train, resamples=0)
    name = next(iter(demo.systems))
    scores = result[name]
    (task,) = [task for task in tasks(result, name) if task.kind == "label"]
    (label,) = task.names
    scored = {one: cell.f1 for one, cell in scores.exact.labels.items() if cell.gold >= 50}
    assert scored[label] == min(scored.values(), key=lambda value: value or 0.0)
    assert task.gain == scores.label_gains[label]
    train = spanwise.read(demo.train)
    assert result.dataset.train_labels == {
        one: train.mentions.names().count(one) for one in sorted(set(train.mentions.names()))
    }
    never = scores.tough["UNSEEN-TOKENS"].labels[label].mentions
    (worded,) = [row for row in shown_tasks(result, name) if row.title.startswith(f"Teach {name} more")]
    assert f"training has {train.mentions.names().count(label)} of them and {never} of the" in worded.reason


def test_the_gain_of_a_label_is_that_of_fixing_its_errors() -> None:
    gold = [["B-A", "I-A", "O"], ["B-A", "O", "B-B"], ["O", "B-B", "O"]]
    mine = [["B-A", "O", "O"], ["O", "O", "B-A"], ["O", "B-B", "O"]]
    scores = spanwise.evaluate(gold, {"mine": mine}, resamples=0)["mine"]
    assert scores.exact.overall.f1 == pytest.approx(2 / 7)
    # A: a wrong boundary and a missed mention, 2·(1 + 2) / (4 + 3 + 1); B: one wrong label, 2·(1 + 1) / 7.
    assert scores.label_gains == pytest.approx({"A": 6 / 8 - 2 / 7, "B": 4 / 7 - 2 / 7})


def test_labels_with_few_mentions_are_to_be_annotated() -> None:
    gold = [["B-A"]] * 25 + [["B-B"], ["B-C"], ["B-C"]]
    result = spanwise.evaluate(gold, {"mine": gold}, resamples=0)
    (task,) = shown_tasks(result)
    assert task.title == "Annotate more test data."
    assert task.reason == "2 labels have fewer than 20 test mentions: B, C."
    assert (task.gain, task.command, task.number) == ("", "", 0)


@pytest.mark.parametrize("data", ["demo", "wnut17"])
@pytest.mark.parametrize("saved", [True, False])
def test_every_command_opens_as_many_errors_as_its_task_says(
    data: str,
    saved: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if data == "demo":
        demo = generate(tmp_path, sentences=400)
        gold, systems, train = demo.gold, list(demo.systems.values()), demo.train
    elif not WNUT.is_dir():
        pytest.skip(f"there is no {WNUT}; SPANWISE_DATA names the folder of the corpora")
    else:
        folder = WNUT.resolve()
        gold, train = folder / "test.conll", folder / "train.conll"
        systems = [folder / "predictions" / f"{name}.conll" for name in ("uh_ritual", "mic-cis")]
    monkeypatch.chdir(tmp_path)
    files = [str(gold), *map(str, systems), "--train", str(train), "--align", "diff", "--resamples", "0"]
    assert main(["evaluate", *files, "--json", "run.json", "--quiet"]) == 0
    result = spanwise.load(tmp_path / "run.json")
    assert isinstance(result, Evaluation)
    number = 0
    for name in result.systems:
        for task in shown_tasks(result, name, "run.json" if saved else None):
            number += 1
            _works(task, result, capsys)
    assert number > 4


def _works(task: TaskWords, result: Evaluation, capsys: pytest.CaptureFixture[str]) -> None:
    assert task.command.startswith("spanwise "), task
    capsys.readouterr()
    assert main(shlex.split(task.command)[1:]) in (0, 1), task.command  # validate ends with 1 if it finds any
    shown = capsys.readouterr()
    assert shown.out
    if task.filter:
        errors = listing(result, **dict(task.filter))  # type: ignore[arg-type]
        gold = {id(error.gold) for error in errors if error.gold is not None}
        assert task.number in (len(errors), len(gold))
        assert shown.err.splitlines()[-1] == f"{len(errors):,} errors"


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_wrapped_command_is_the_same_to_a_shell(width: int) -> None:
    words = [
        "spanwise",
        "errors",
        "r.json",
        "--pattern",
        "missed: precedes .",
        "--system",
        'it\'s "b"',
        "x" * 90,
    ]
    screen = "".join(
        "".join(piece for piece, _ in line) + "\n" for line in command_lines(shlex.join(words), width)
    )
    run = subprocess.run(
        ["bash", "-c", f"spanwise() {{ printf '%s\\n' \"$@\"; }}\n{screen}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout.splitlines() == words[1:]


def test_in_memory_a_task_has_no_command() -> None:
    tokens = ["Port", "of", "Denby"]
    gold, mine = [["B-LOC", "I-LOC", "I-LOC"]] * 6, [["B-LOC", "O", "O"]] * 6
    result = spanwise.evaluate(rows(gold, tokens), {"mine": rows(mine, tokens)}, resamples=0)
    assert [task.command for task in shown_tasks(result)] == ["", ""]


def test_an_unknown_pattern_is_an_error_that_lists_those_there_are(tmp_path: Path) -> None:
    demo = generate(tmp_path, sentences=400)
    result = spanwise.evaluate(demo.gold, demo.systems, resamples=0)
    with pytest.raises(spanwise.ChoiceError, match=r"no pattern of errors is called 'stops befor of'"):
        listing(result, pattern="stops befor of")
