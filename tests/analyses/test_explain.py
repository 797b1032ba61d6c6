"""Every row of an explanation equals the number that the named tool reports."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from spanwise.cli.main import main
from spanwise.compat.seqeval import metrics, scheme
from spanwise.document.analyses import Explanation
from spanwise.errors import InputError
from spanwise.evaluation import evaluate
from spanwise.explanation import explain
from spanwise.formats import from_spans, from_tags, read

GOLD = [["B-PER", "I-PER", "O", "B-LOC"], ["B-ORG", "O", "O"]]
SAID = [["B-PER", "O", "O", "B-LOC"], ["B-LOC", "O", "I-PER"]]
TOKENS = [["Ann", "Lee", "in", "Rome"], ["Fiat", "is", "Bob"]]


Tags: TypeAlias = list[list[str]]


def tags(draw: random.Random, sizes: list[int], names: list[str]) -> Tags:
    return [[draw.choice(names) for _ in range(size)] for size in sizes]


def scores(explanation: Explanation, name: str) -> list[float]:
    row = explanation[name]
    return [np.nan if value is None else value for value in (row.precision, row.recall, row.f1)]


def quietly(function: Callable[..., tuple[float, ...]], *sides: Tags, **options: object) -> list[float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(function(*sides, **options)[:3])


def test_exact_averages_and_strict_tags_equal_seqeval_on_random_tags() -> None:
    draw = random.Random(0)
    cases = [("IOB2", "IOB2", "OOBI"), ("BIOES", "IOBES", "OOBIES")]
    for number in range(120):
        ours, theirs, letters = cases[number % 2]
        names = [
            letter if letter == "O" else f"{letter}-{label}" for letter in letters for label in ("A", "B")
        ]
        sizes = [draw.randint(1, 7) for _ in range(4)]
        gold, predicted = tags(draw, sizes, names), tags(draw, sizes, names)
        explanation = explain(gold, predicted, scheme=ours)
        lenient = metrics.sequence_labeling.precision_recall_fscore_support
        strict = metrics.v1.precision_recall_fscore_support
        for row, average in (
            ("exact, micro", "micro"),
            ("exact, macro, undefined as 0", "macro"),
            ("exact, weighted", "weighted"),
        ):
            expected = quietly(lenient, gold, predicted, average=average)
            assert np.nan_to_num(scores(explanation, row)) == pytest.approx(np.nan_to_num(expected))
        chosen = getattr(scheme, theirs)
        expected = quietly(strict, gold, predicted, average="micro", scheme=chosen)
        assert np.nan_to_num(scores(explanation, "impossible tags dropped")) == pytest.approx(expected)


def test_token_rows_equal_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    explanation = explain(GOLD, SAID)
    flat = [[tag for row in side for tag in row] for side in (GOLD, SAID)]
    flat[1] = ["B-PER" if tag == "I-PER" else tag for tag in flat[1]]
    names = sorted({tag for side in flat for tag in side} - {"O"})
    expected = sklearn.precision_recall_fscore_support(*flat, labels=names, average="micro")[:3]
    assert scores(explanation, "tokens with a tag") == pytest.approx(list(expected))
    plain = [[tag.rpartition("-")[2] for tag in side] for side in flat]
    names = sorted({tag for side in plain for tag in side} - {"O"})
    expected = sklearn.precision_recall_fscore_support(*plain, labels=names, average="micro")[:3]
    assert scores(explanation, "tokens with a label") == pytest.approx(list(expected))
    accuracy = sklearn.accuracy_score(*flat)
    assert scores(explanation, "token accuracy") == pytest.approx([accuracy] * 3)


def test_rows_of_one_small_corpus_are_as_computed_by_hand() -> None:
    """Three gold mentions, four predicted: LOC correct, PER too short, ORG labelled LOC, one PER too many."""
    explanation = explain(
        from_tags(GOLD, tokens=TOKENS, documents=[1, 1]), from_tags(SAID, tokens=TOKENS, documents=[1, 1])
    )
    assert scores(explanation, "exact, micro") == pytest.approx([1 / 4, 1 / 3, 2 / 7])
    assert scores(explanation, "exact, macro") == pytest.approx([0.25, 1 / 3, 2 / 9])
    assert scores(explanation, "exact, macro, undefined as 0") == pytest.approx([0.5 / 3, 1 / 3, 2 / 9])
    assert scores(explanation, "exact, weighted") == pytest.approx([0.5 / 3, 1 / 3, 2 / 9])
    assert scores(explanation, "boundaries, any label") == pytest.approx([2 / 4, 2 / 3, 4 / 7])
    assert scores(explanation, "boundaries, half for an overlap") == pytest.approx([2.5 / 4, 2.5 / 3, 5 / 7])
    assert scores(explanation, "type, any overlap") == pytest.approx([2 / 4, 2 / 3, 4 / 7])
    assert scores(explanation, "fair") == pytest.approx([1 / 3, 1 / 2, 2 / 5])
    assert scores(explanation, "mean over sentences") == pytest.approx([0.25, 0.25, 0.25])
    assert scores(explanation, "mean over documents") == pytest.approx([0.25, 0.25, 0.25])
    assert scores(explanation, "distinct strings") == pytest.approx([1 / 4, 1 / 3, 2 / 7])


def test_rows_equal_those_of_an_evaluation() -> None:
    explanation = explain(GOLD, SAID)
    result = evaluate(GOLD, {"a": SAID}, resamples=0)["a"]
    assert explanation["exact, micro"].f1 == result.exact.overall.f1
    assert explanation["exact, macro"].f1 == result.exact.macro.f1
    assert explanation["fair"].f1 == result.fair.overall.f1
    assert explanation["token accuracy"].f1 == result.exact.overall.accuracy


def test_reasons_say_what_the_numbers_are_based_on() -> None:
    explanation = explain(GOLD, SAID)
    assert "1 impossible tags were repaired as conlleval does" in explanation["exact, micro"].why
    assert explanation["impossible tags refused"].f1 is None
    assert explanation["impossible tags refused"].why.startswith("no score: <tags>")
    assert "the tag 'I-PER' is impossible in IOB2" in explanation["impossible tags refused"].why
    assert explanation["mean over documents"].why == "no score: the data mark no documents"
    assert explanation["distinct strings"].why == "no score: the data have no text"
    assert "1 label, 1 boundary and 0 label-and-boundary errors count once" in explanation["fair"].why
    assert "1 undefined precisions and recalls count as 0" in explanation["exact, macro, undefined as 0"].why
    assert "compare tags as written, here they are compared as read" in explanation["token accuracy"].why
    clean = explain(GOLD, GOLD)
    assert clean["token accuracy"].why == "tokens outside mentions count too: 3 of 7 are O"
    assert "no tag was impossible" in clean["exact, micro"].why
    assert "every reading of them is the same" in clean["impossible tags dropped"].why
    assert "no score is undefined here" in clean["exact, macro, undefined as 0"].why
    assert {row.f1 for row in clean.rows if row.f1 is not None} == {1.0}


def test_spans_have_no_tags_to_repair_and_nested_ones_no_accuracy() -> None:
    nested = from_spans([[(0, 2, "A"), (1, 2, "B")]], tokens=[["x", "y"]])
    explanation = explain(nested, nested)
    assert "impossible tags dropped" not in [row.name for row in explanation.rows]
    assert explanation["token accuracy"].why.startswith("no score: ")
    assert explanation["tokens with a label"].f1 == 1.0


def test_texts_are_compared_by_characters(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ann Lee left")
    (tmp_path / "a.ann").write_text("T1\tPER 0 7\tAnn Lee\n")
    (tmp_path / "b.txt").write_text("Ann Lee left")
    (tmp_path / "b.ann").write_text("T1\tPER 0 3\tAnn\n")
    explanation = explain(tmp_path / "a.ann", tmp_path / "b.ann")
    assert explanation["characters with a label"].recall == pytest.approx(3 / 7)
    assert explanation["distinct strings"].f1 == 0.0


def test_nothing_at_all_is_undefined() -> None:
    explanation = explain([["O"]], [["O"]])
    assert explanation["exact, micro"].f1 is None and explanation["mean over sentences"].f1 is None
    assert explanation["token accuracy"].f1 == 1.0


def merged(folder: Path) -> Path:
    path = folder / "merged.txt"
    rows = zip(GOLD, SAID, strict=True)
    path.write_text(
        "".join("".join(f"w {a} {b}\n" for a, b in zip(*pair, strict=True)) + "\n" for pair in rows)
    )
    return path


def test_the_command_shows_a_table_of_one_merged_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(merged(tmp_path)), "--width", "80"]) == 0
    screen = capsys.readouterr().out
    assert "exact, micro" in screen and "28.57" in screen and "+28.57" in screen and "n/a" in screen
    assert max(len(line) for line in screen.splitlines()) <= 80


def test_the_command_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = merged(tmp_path)
    assert main(["explain", str(path), "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rows"][0]["f1"] == pytest.approx(2 / 7)
    assert document["rows"][0]["difference"] == 0.0
    assert main(["explain", str(path), "--json", str(tmp_path / "out.json")]) == 0
    assert json.loads((tmp_path / "out.json").read_text()) == document


def test_files_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        explain([["O"]], [["O"], ["O"]])
    assert main(["explain", str(tmp_path / "none.txt")]) == 3


def test_a_real_corpus_is_explained(data: Path) -> None:
    folder = data / "masakhaner" / "ewe"
    explanation = explain(folder / "test.txt", folder / "predictions" / "mbert.1.txt")
    assert explanation["exact, micro"].f1 == pytest.approx(0.8521, abs=5e-5)
    assert all(row.tools and row.why for row in explanation.rows)


def test_explanations_and_annotations_print_readable_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = merged(tmp_path)
    assert main(["explain", str(path), "--width", "80"]) == 0
    assert str(explain(path)) == capsys.readouterr().out
    assert repr(explain(path)).startswith("<spanwise.Explanation ") and "\n" not in repr(explain(path))
    assert "exact, micro F1" in repr(explain(path))
    assert repr(read(path)).startswith(f"<spanwise.Annotation {path}: ") and "\n" not in repr(read(path))
