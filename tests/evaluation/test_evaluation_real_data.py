"""Real corpora and system outputs have the same F1 as in seqeval, seqscore and the published figures."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path

import pytest
from typed import present

import spanwise
from spanwise.document.evaluation import SystemResult

MASAKHANER = [
    (language, system, run)
    for language in ("ewe", "kin", "pcm")
    for system in ("afroxlmr", "mbert", "mdeberta", "rembert")
    for run in (1, 2, 3)
]
WNUT17 = ("arcada", "drexel_cci", "flytxt", "mic-cis", "sjtu_adapt", "spinningbytes", "uh_ritual")
evaluate = partial(spanwise.evaluate, resamples=0, attributes="none", examples="none")


def tags_of(path: Path, column: int = -1) -> list[list[str]]:
    """The tags of a file, read in the simplest way: one line per token, a blank line after each sentence."""
    sentences: list[list[str]] = [[]]
    for line in path.read_bytes().decode("utf-8").replace("\r\n", "\n").split("\n"):
        cells = line.split("\t") if "\t" in line else line.split(" ")
        cells = [cell for cell in cells if cell]
        if not cells:
            sentences.append([])
        else:
            sentences[-1].append(cells[column])
    return [sentence for sentence in sentences if sentence]


def seqeval_scores(gold: list[list[str]], predicted: list[list[str]]) -> dict[str, dict[str, float]]:
    from seqeval.metrics import classification_report

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report: dict[str, dict[str, float]] = classification_report(gold, predicted, output_dict=True)
    return report


def assert_equal_to_seqeval(scores: SystemResult, gold: list[list[str]], predicted: list[list[str]]) -> None:
    report = seqeval_scores(gold, predicted)
    rows = {"micro avg": scores.exact.overall, **scores.exact.labels}
    for name, cell in rows.items():
        theirs = report[name]
        for ours, key in (("precision", "precision"), ("recall", "recall"), ("f1", "f1-score")):
            # seqeval prints 0 for 0/0, which is undefined here.
            assert (cell[ours] or 0.0) == pytest.approx(theirs[key], abs=1e-12), (name, ours)
        assert cell["gold"] == theirs["support"]


@pytest.mark.parametrize(("language", "system", "run"), MASAKHANER)
def test_masakhaner_agrees_with_seqeval(data: Path, language: str, system: str, run: int) -> None:
    gold = data / "masakhaner" / language / "test.txt"
    predicted = data / "masakhaner" / language / "predictions" / f"{system}.{run}.txt"
    scores = evaluate(gold, {"it": predicted})["it"]
    assert_equal_to_seqeval(scores, tags_of(gold), tags_of(predicted))


@pytest.mark.parametrize(("system", "points"), [("flair", 45.96), ("elmo", 45.33)])
def test_wnut16_has_the_published_f1(data: Path, system: str, points: float) -> None:
    path = data / "wnut16" / f"{system}.txt"
    scores = evaluate(path)[system]
    assert round(100 * present(scores.exact.overall.f1), 2) == points
    assert_equal_to_seqeval(scores, tags_of(path, -2), tags_of(path, -1))


@pytest.mark.parametrize("system", WNUT17)
def test_wnut17_submissions_agree_with_seqeval(data: Path, system: str) -> None:
    gold = data / "wnut17" / "test.conll"
    predicted = data / "wnut17" / "predictions" / f"{system}.conll"
    result = evaluate(gold, {"it": predicted}, align="position", scheme="IOB2")
    assert_equal_to_seqeval(result["it"], tags_of(gold), tags_of(predicted))


def test_rewritten_tokens_are_counted(data: Path) -> None:
    gold = data / "wnut17" / "test.conll"
    predicted = data / "wnut17" / "predictions" / "mic-cis.conll"
    with pytest.raises(spanwise.InputError, match=r"mic-cis\.conll:\d+"):
        evaluate(gold, {"it": predicted})
    result = evaluate(gold, {"it": predicted}, align="position")
    report = next(entry for entry in result.inputs if entry.role == "predicted").alignment
    assert report is not None and (report.changed_tokens, report.changed_sentences) == (1283, 827)


def test_hausa_is_aligned_and_no_mention_is_lost(data: Path) -> None:
    folder = data / "masakhaner" / "hau"
    result = evaluate(folder / "test.txt", {"it": folder / "predictions" / "mbert.1.txt"}, align="diff")
    entry = next(entry for entry in result.inputs if entry.role == "predicted")
    read = spanwise.read(folder / "predictions" / "mbert.1.txt")
    assert result["it"].exact.overall.predicted == len(read.mentions) == entry.mentions
    assert entry.alignment is not None and 0 < entry.alignment.unplaced < 0.01 * len(read.mentions)


@pytest.mark.parametrize("name", ["ewe", "kin", "pcm", "hau"])
def test_gold_files_against_themselves_score_1(data: Path, name: str) -> None:
    gold = data / "masakhaner" / name / "test.txt"
    scores = evaluate(gold, {"gold": gold})["gold"]
    assert scores.exact.overall.f1 == scores.fair.overall.f1 == scores.exact.overall.accuracy == 1


def test_spanish_files_agree_with_seqeval(data: Path) -> None:
    path = data / "conll2002-es" / "test.txt"
    scores = evaluate(path, {"gold": path})["gold"]
    assert_equal_to_seqeval(scores, tags_of(path), tags_of(path))


@pytest.mark.parametrize("system", ["afroxlmr", "mbert", "mdeberta", "rembert"])
def test_seqscore_agrees_on_kinyarwanda(data: Path, system: str) -> None:
    from seqscore.scoring import score_label_sequences

    gold = data / "masakhaner" / "kin" / "test.txt"
    predicted = data / "masakhaner" / "kin" / "predictions" / f"{system}.1.txt"
    theirs, _ = score_label_sequences(tags_of(predicted), tags_of(gold), "BIO", repair="conlleval")
    ours = evaluate(gold, {"it": predicted})["it"].exact
    assert ours.overall.f1 == pytest.approx(theirs.f1, abs=1e-12)
    for label, cell in ours.labels.items():
        assert cell["f1"] == pytest.approx(theirs.type_scores[label].f1, abs=1e-12)
