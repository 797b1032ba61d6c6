"""Answers without offsets in evaluations, studies, error lists, explanations and pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typed import loaded, present

import spanwise
from spanwise.cli.main import main
from spanwise.document.evaluation import Evaluation

GOLD = "Ann B-PER\nmet O\nAnn B-PER\nin O\nRome B-LOC\n\nBo B-PER\nleft O\nOslo B-LOC\n"
SAID = [
    {"id": 0, "answers": [["Ann", "PER"], ["ann", "PER"], ["Paris <b>", "LOC"]]},
    {"id": 1, "response": "no idea"},
]


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.conll"
    path.write_text(GOLD, encoding="utf-8")
    return path


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in SAID), encoding="utf-8")
    return path


def evaluated(gold: Path, answers: Path, redact: bool = False) -> Evaluation:
    return spanwise.evaluate(gold, {"gpt": answers}, answers="ordered", resamples=0, redact=redact)


def test_a_result_reports_how_answers_were_read_and_placed(gold: Path, answers: Path) -> None:
    summary = present(evaluated(gold, answers).answers)["gpt"]
    assert (summary.units.read, summary.units.failed) == (1, 1)
    counts = summary.answers
    assert counts.given == counts.placed + counts.hallucinated + counts.repeats == 3
    assert [(row.kind, row.text, row.sentence) for row in summary.unplaced if row.kind == "hallucinated"] == [
        ("hallucinated", "Paris <b>", "Ann met Ann in Rome")
    ]
    assert [(row.text, row.candidates, row.start) for row in summary.ambiguous] == [
        ("Ann", 2, 0),
        ("ann", 2, 2),
    ]
    assert [(row.level, row.surface) for row in summary.inexact] == [("case", "Ann")]


def test_the_document_is_loaded_with_its_answers(gold: Path, answers: Path, tmp_path: Path) -> None:
    result = evaluated(gold, answers)
    result.to_json(tmp_path / "run.json")
    assert loaded(tmp_path / "run.json", Evaluation).answers == result.answers


def test_redaction_leaves_out_the_text_of_answers(gold: Path, answers: Path) -> None:
    text = evaluated(gold, answers, redact=True).to_json()
    assert "Paris" not in text and "Rome" not in text


def test_pages_list_answers_and_escape_them(gold: Path, answers: Path) -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("altair")
    for page in (evaluated(gold, answers).to_html(), spanwise.place(gold, answers).to_html()):
        assert "Paris &lt;b&gt;" in page and "Paris <b>" not in page
        for kind in ("failed", "hallucinated", "ambiguous", "inexact"):
            assert f'data-only="{kind}"' in page and f'data-kind="{kind}"' in page


def test_errors_show_unplaced_answers(gold: Path, answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", str(gold), f"gpt={answers}", "--answers", "ordered", "--outcome", "FP"]) == 0
    assert "predicted LOC “Paris <b>”, which has no place" in capsys.readouterr().out


def sampled(tmp_path: Path) -> Path:
    path = tmp_path / "samples.jsonl"
    rows = [
        {"id": 0, "sample": name, "answers": [["Ann", "PER"]] * number}
        for name, number in (("a", 1), ("b", 2), ("c", 2))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_samples_are_runs_of_a_study_and_equal_ones_count_once(gold: Path, tmp_path: Path) -> None:
    tree = {
        "datasets": {"d": {"test": str(gold)}},
        "systems": {"gpt": {"predictions": str(sampled(tmp_path)), "answers": "ordered"}},
        "resamples": 0,
    }
    document = spanwise.study(tree, cache=False, workers=1)
    runs = document.datasets["d"].runs["gpt"]
    assert {name: scores.exact.overall.correct for name, scores in runs.items()} == {"a": 1, "b": 2}
    assert "answers[ordered, fuzzy 0.85, repeats drop, unknown keep, per sentence]" in document.signature


def test_the_command_line_accepts_samples_as_runs(
    gold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = sampled(tmp_path)
    assert main(["evaluate", str(gold), f"gpt={path}", "--answers", "ordered", "--resamples", "0"]) == 0
    assert "mean ± std over runs" in capsys.readouterr().out


def test_explain_removes_offsets_of_ordinary_predictions() -> None:
    tokens = [["Ann", "met", "Ann"], ["Ann"]]
    gold = spanwise.read([["O", "O", "B-PER"], ["B-PER"]], tokens=tokens)
    predicted = spanwise.read([["O", "O", "B-PER"], ["O"]], tokens=tokens)
    rows = spanwise.explain(gold, predicted)
    assert rows["exact, micro"].f1 == pytest.approx(2 / 3)
    assert rows["answers placed by first"].f1 == 0
    assert rows["sets of strings"].f1 == pytest.approx(2 / 3)
    assert present(rows.spread) == pytest.approx((0, 2 / 3)) and rows.prompt_unit == "sentence"
    assert "your F1 lies between 0.00 and 66.67" in " ".join(rows.to_text().split())


def test_spacy_llm_finds_the_same_positions_as_its_preset(data: Path) -> None:
    parsing = pytest.importorskip("spacy_llm.tasks.util.parsing")
    from spanwise.placement import checked, placement, without_offsets

    gold = spanwise.read(data / "wnut17" / "test.conll")
    placed = placement(gold, without_offsets(gold, "sentence"), checked(policy="spacy-llm"))
    ours, theirs = set(placed.annotation.mentions.rows()), set()
    rows: dict[int, list[tuple[int, int, str]]] = {}
    for sentence, start, end, label in gold.mentions.rows():
        rows.setdefault(sentence, []).append((start, end, label))
    for sentence, own in rows.items():
        words = gold.corpus.words(sentence)
        begins = {sum(map(len, words[:at])) + at: at for at in range(len(words))}
        ends = {sum(map(len, words[: at + 1])) + at: at + 1 for at in range(len(words))}
        for label in {label for _, _, label in own}:
            texts = [" ".join(words[start:end]) for start, end, name in own if name == label]
            for low, high in parsing.find_substrings(" ".join(words), texts, case_sensitive=True):
                if low in begins and high in ends:
                    theirs.add((sentence, begins[low], ends[high], label))
    assert ours == theirs and len(ours) > len(gold.mentions)
