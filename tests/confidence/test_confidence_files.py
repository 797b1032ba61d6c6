"""Scores in files of every kind, with the public functions and the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typed import present

import spanwise
from spanwise.cli.main import main

TEXT = "Anna Smith left Oslo"
GOLD = {
    "text": TEXT,
    "spans": [{"start": 0, "end": 10, "label": "PER"}, {"start": 16, "end": 20, "label": "LOC"}],
}


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def thresholds(gold: Path, predicted: Path, **options: Any) -> list[tuple[float, int]]:
    """The scores in descending order, each with the number of correct mentions so far."""
    document = spanwise.confidence(gold, {"m": predicted}, resamples=0, **options)
    return [(round(point.threshold, 6), point.correct) for point in document.systems["m"].curve]


@pytest.mark.parametrize("key", ["score", "confidence", "probability"])
def test_spans_of_json_lines(tmp_path: Path, key: str) -> None:
    gold = lines(tmp_path / "gold.jsonl", GOLD)
    spans = [
        {"start": 16, "end": 20, "label": "LOC", key: 0.7},
        {"start": 0, "end": 4, "label": "PER", key: 0.9},
    ]
    predicted = lines(tmp_path / "p.jsonl", {"text": TEXT, "spans": spans})
    assert thresholds(gold, predicted) == [(0.9, 0), (0.7, 1)]


def test_spans_of_prodigy(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", GOLD)
    span = {"start": 16, "end": 20, "token_start": 3, "token_end": 3, "label": "LOC", "score": 0.7}
    record = {"text": TEXT, "spans": [span], "meta": {"score": 0.1}, "answer": "accept", "_task_hash": 1}
    assert thresholds(gold, lines(tmp_path / "p.jsonl", record)) == [(0.7, 1)]


def test_lists_of_four_are_spans_with_a_score(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", GOLD)
    predicted = lines(tmp_path / "p.jsonl", {"text": TEXT, "spans": [[0, 10, "PER", 0.8]]})
    assert thresholds(gold, predicted) == [(0.8, 1)]


def test_output_of_hugging_face_pipelines_and_gliner(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", GOLD)
    grouped = [{"entity_group": "PER", "score": 0.99, "word": "Anna Smith", "start": 0, "end": 10}]
    with_text = lines(tmp_path / "a.jsonl", {"text": TEXT, "entities": grouped})
    assert thresholds(gold, with_text) == [(0.99, 1)]
    alone = lines(tmp_path / "b.jsonl", grouped)
    assert thresholds(gold, alone) == [(0.99, 1)]
    gliner = lines(
        tmp_path / "c.jsonl", [{"start": 16, "end": 20, "text": "Oslo", "label": "LOC", "score": 0.6}]
    )
    assert thresholds(gold, gliner) == [(0.6, 1)]


def test_word_pieces_of_a_pipeline_are_joined(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", GOLD)
    pieces = [
        {"entity": "B-PER", "score": 0.9, "index": 1, "word": "Anna", "start": 0, "end": 4},
        {"entity": "I-PER", "score": 0.7, "index": 2, "word": "Sm", "start": 5, "end": 7},
        {"entity": "I-PER", "score": 0.8, "index": 3, "word": "##ith", "start": 7, "end": 10},
        {"entity": "B-LOC", "score": 0.5, "index": 5, "word": "Oslo", "start": 16, "end": 20},
    ]
    predicted = lines(tmp_path / "p.jsonl", {"text": TEXT, "entities": pieces})
    assert thresholds(gold, predicted) == [(0.8, 1), (0.5, 2)]


def test_flair_and_columns(tmp_path: Path) -> None:
    flair = tmp_path / "test.tsv"
    flair.write_text(
        "Anna B-PER B-PER 0.9\nSmith I-PER I-PER 0.5\nleft O O 0.99\nOslo B-LOC B-LOC 0.8\n\n",
        encoding="utf-8",
    )
    scores = {}
    for how in ("mean", "product", "min"):
        document = spanwise.confidence(flair, token_scores=how, resamples=0)
        (system,) = document.systems.values()
        scores[how] = [(round(point.threshold, 6), point.correct) for point in system.curve]
        assert f"tokens:{how}" in document.signature
    assert scores == {
        "mean": [(0.8, 1), (0.7, 2)],
        "product": [(0.8, 1), (0.45, 2)],
        "min": [(0.8, 1), (0.5, 2)],
    }
    gold, predicted = tmp_path / "gold.conll", tmp_path / "p.conll"
    gold.write_text("Anna B-PER\nSmith I-PER\nleft O\nOslo B-LOC\n\n", encoding="utf-8")
    predicted.write_text(
        "Anna\tB-PER\t.9\nSmith\tI-PER\t.5\nleft\tO\t1\nOslo\tB-ORG\t.8\n\n", encoding="utf-8"
    )
    read = thresholds(gold, predicted, score_column=2, tag_column=1, token_scores="min")
    assert read == [(0.8, 0), (0.5, 1)]


def test_spacy_groups_of_spans_with_scores(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    doc = spacy.blank("en")(TEXT)
    doc.spans["sc"] = [doc[0:2], doc[3:4]]
    spans = [spacy.tokens.Span(doc, 0, 2, label="PER"), spacy.tokens.Span(doc, 3, 4, label="LOC")]
    doc.spans["sc"] = spacy.tokens.SpanGroup(doc, name="sc", spans=spans, attrs={"scores": [0.25, 0.75]})
    read = spanwise.read([doc], tag_column="sc")
    assert read.mentions.score is not None and read.mentions.score.tolist() == [0.25, 0.75]


def test_scores_are_written_and_kept_through_take_and_alignment(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", GOLD)
    spans = [{"start": 0, "end": 10, "label": "PER", "score": 0.4}, {"start": 16, "end": 20, "label": "LOC"}]
    annotation = spanwise.read(lines(tmp_path / "p.jsonl", {"text": TEXT, "spans": spans}))
    spanwise.write(annotation, tmp_path / "q.jsonl")
    assert present(spanwise.read(tmp_path / "q.jsonl").mentions.score).tolist()[0] == 0.4
    assert thresholds(gold, tmp_path / "q.jsonl", missing="lowest", align="diff") == [(0.4, 2)]


def test_apply_keeps_what_reaches_the_threshold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spans = [
        {"start": 0, "end": 10, "label": "PER", "score": 0.4},
        {"start": 16, "end": 20, "label": "LOC", "score": 0.6},
    ]
    predicted = lines(tmp_path / "p.jsonl", {"text": TEXT, "spans": spans})
    out = tmp_path / "kept.jsonl"
    assert main(["apply", "--threshold", "0.6", str(predicted), "-o", str(out)]) == 0
    assert capsys.readouterr().err == "kept 1 of 2 mentions\n"
    assert [row[3] for row in spanwise.read(out).mentions.rows()] == ["LOC"]
    assert len(spanwise.apply_threshold(predicted, 0.4).mentions) == 2
    with pytest.raises(spanwise.ChoiceError, match="no way to treat missing scores is called 'keep'"):
        spanwise.apply_threshold(predicted, 0.4, missing="keep")  # type: ignore[arg-type]


def test_the_command_writes_the_document_and_shows_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = lines(tmp_path / "gold.jsonl", *[GOLD] * 30)
    spans = [[0, 10, "PER", 0.8], [16, 20, "LOC", 0.6], [5, 10, "LOC", 0.1]]
    predicted = lines(tmp_path / "p.jsonl", *[{"text": TEXT, "spans": spans}] * 30)
    call = ["confidence", str(gold), f"mine={predicted}", "--dev", str(gold), f"mine={predicted}"]
    assert main([*call, "--json", "-", "--resamples", "50"]) == 0
    document = json.loads(capsys.readouterr().out)
    mine = document["systems"]["mine"]
    assert document["kind"] == "confidence" and mine["threshold"]["value"] == 0.6
    assert (
        mine["threshold"]["dev_f1"] == mine["threshold"]["test_f1"] == 1.0
        and mine["threshold"]["optimism"] == 0
    )
    # Recall 1 of 60 mentions in 30 units: Wilson's interval with t(29) = 2.0452, 1 / (1 + t²/60).
    ends = mine["at_precision"].pop("interval")["recall"]
    assert ends == pytest.approx([1 / (1 + 2.0452296**2 / 60), 1.0])
    assert mine["at_precision"] == {
        "precision": 0.95, "threshold": 0.6, "recall": 1.0, "reached": 1.0, "chosen_on": "dev",
    }  # fmt: skip
    assert main([*call, "--resamples", "50"]) == 0
    screen = capsys.readouterr().out
    assert "Best F1 on dev at 0.6" in screen and "Calibration" in screen


def test_predictions_without_scores_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = lines(tmp_path / "gold.jsonl", GOLD)
    assert main(["confidence", str(gold), str(gold)]) == 3
    assert "the predictions have no scores" in capsys.readouterr().err


def test_documents_are_read_back_and_a_result_has_its_scores(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", *[GOLD] * 30)
    spans = [[0, 10, "PER", 0.8], [16, 20, "LOC", 0.6], [5, 10, "LOC", 0.1]]
    predicted = lines(tmp_path / "p.jsonl", *[{"text": TEXT, "spans": spans}] * 30)
    document = spanwise.confidence(gold, {"m": predicted}, dev=(gold, {"m": predicted}), resamples=20)
    (tmp_path / "c.json").write_text(document.to_json(), encoding="utf-8")
    assert spanwise.load(tmp_path / "c.json") == document
    result = spanwise.evaluate(gold, {"m": predicted}, resamples=0)
    assert result.confidence(resamples=20).systems["m"].overall == document.systems["m"].overall
    slices = result.find_slices(least=10, attributes="label", confirm=True)
    (tmp_path / "s.json").write_text(slices.to_json(), encoding="utf-8")
    assert spanwise.load(tmp_path / "s.json") == slices
