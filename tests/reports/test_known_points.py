"""The findings and tasks under an answer: at most five, the same everywhere, each with what opens it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents import result as saved_result

import spanwise
from spanwise.document.loading import document_of
from spanwise.reports.notebook import notebook_table
from spanwise.reports.outlets import step_summary
from spanwise.reports.terminal import render
from spanwise.views.points import MOST, shown_points

WORDS = ["Port", "of", "Denby", "met", "Ann", "Lee", "in", "Oslo", "."]
GOLD = ["B-LOC", "I-LOC", "I-LOC", "O", "B-PER", "I-PER", "O", "B-LOC", "O"]
SHORT = ["B-LOC", "O", "O", "O", "B-PER", "O", "O", "B-ORG", "O"]


def evaluated() -> spanwise.Result:
    gold = [{"tokens": [*WORDS, str(at)], "tags": [*GOLD, "O"]} for at in range(30)]
    wrong = [{"tokens": [*WORDS, str(at)], "tags": [*(SHORT if at < 12 else GOLD), "O"]} for at in range(30)]
    return spanwise.evaluate(gold, {"crf": wrong}, train=gold[:3])


def test_findings_and_tasks_together_are_at_most_five() -> None:
    for document in (evaluated(), document_of(saved_result("bert", "crf"))):
        known = shown_points(document)
        assert 0 < len(known.findings) + len(known.tasks) <= MOST


def test_a_check_of_the_data_is_listed_once() -> None:
    screen = " ".join(evaluated().to_text().split())
    assert screen.count("3 test sentences are also in the training data") == 1
    assert "check the data:" not in screen


def test_the_same_tasks_are_on_the_screen_in_the_notebook_and_in_the_summary() -> None:
    document = evaluated()
    screen, notebook, summary = render(document), notebook_table(document), step_summary(document)
    for task in shown_points(document).tasks:
        for text in (screen, notebook, summary):
            assert task.title.replace("“", "").replace("”", "") in text.replace("“", "").replace("”", "")


def test_a_notebook_shows_code_that_opens_as_many_errors_as_the_task_says() -> None:
    result = evaluated()
    tasks = [task for task in shown_points(result).tasks if task.code.startswith("result.")]
    assert tasks and any("pattern=" in task.code for task in tasks)
    for task in tasks:
        assert task.code.replace("'", "&#x27;") in notebook_table(result)
        opened = eval(task.code, {"result": result})
        assert len({(id(row.sentence), id(row.gold)) for row in opened}) == task.number


def test_commands_read_files_as_the_evaluation_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from spanwise.cli.main import main

    for name, tags in (("gold", GOLD), ("pred", SHORT)):
        lines = [f"{word} {tag}" for word, tag in zip(WORDS, tags, strict=True)]
        (tmp_path / f"{name}.conll").write_text("\n".join([*lines, ""] * 12), encoding="utf-8")
    files = [str(tmp_path / "gold.conll"), str(tmp_path / "pred.conll")]
    assert main(["evaluate", *files, "--map", "PER=LOC", "--width", "400"]) == 0
    screen = " ".join(capsys.readouterr().out.replace("\\\n", " ").split())
    _, *commands = screen.split("spanwise errors ")
    assert commands and all("--map PER=LOC" in command.partition(" spanwise ")[0] for command in commands)


def test_a_study_says_where_no_winner_can_be_named() -> None:
    from study_documents import study

    document = document_of(study(names=("news", "tweets", "law")))
    known = shown_points(document)
    assert len(known.findings) + len(known.tasks) <= MOST


def test_a_page_names_files_without_the_folders_of_the_machine_that_made_it(tmp_path: Path) -> None:
    from spanwise.cli.main import main

    for name, tags in (("gold", GOLD), ("pred", SHORT)):
        lines = [f"{word} {tag}" for word, tag in zip(WORDS, tags, strict=True)]
        (tmp_path / f"{name}.conll").write_text("\n".join([*lines, ""] * 12), encoding="utf-8")
    files = [str(tmp_path / name) for name in ("gold.conll", "pred.conll", "page.html")]
    assert main(["evaluate", *files[:2], "--html", files[2], "--quiet"]) == 0
    page = Path(files[2]).read_text(encoding="utf-8")
    assert "<code>spanwise errors gold.conll pred.conll --pattern " in page
    run = re.search(r'id="command"[^>]*>[^<]*', page)  # the command that was run, as it was typed
    assert run is not None and str(tmp_path) not in page.replace(run[0], "")


def test_tasks_of_a_study_open_sentences_of_its_dataset_and_system() -> None:
    from study_documents import study

    tasks = shown_points(document_of(study(names=("news", "tweets")))).tasks
    for task in tasks:
        if task.gain:
            assert task.command.startswith("spanwise errors study.json --dataset ") and " on " in task.title
