"""Calls in the style of Hugging Face's evaluate and Trainer get the structure and numbers they expect."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spanwise.compat.evaluate import load, make_compute_metrics, tagged
from spanwise.errors import ChoiceError, InputError
from spanwise.evaluation import evaluate
from spanwise.formats import from_tags

NAMES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
REFERENCES = [["O", "O", "O", "B-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]
PREDICTIONS = [["O", "O", "B-MISC", "I-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]


def expected(references: Any, predictions: Any, **options: Any) -> dict[str, Any]:
    """The result that evaluate's metric documents, computed from seqeval's own report."""
    metrics = pytest.importorskip("seqeval.metrics", reason="the peer seqeval is not installed")
    report = metrics.classification_report(references, predictions, output_dict=True, **options)
    overall = report["micro avg"]
    labels = {name: row for name, row in report.items() if not name.endswith(" avg")}
    return {
        **{
            label: {
                "precision": row["precision"],
                "recall": row["recall"],
                "f1": row["f1-score"],
                "number": row["support"],
            }
            for label, row in labels.items()
        },
        "overall_precision": overall["precision"],
        "overall_recall": overall["recall"],
        "overall_f1": overall["f1-score"],
        "overall_accuracy": metrics.accuracy_score(references, predictions),
    }


def test_compute_has_the_keys_of_the_documented_example_in_their_order() -> None:
    results = load("seqeval").compute(predictions=PREDICTIONS, references=REFERENCES)
    overall = ["overall_precision", "overall_recall", "overall_f1", "overall_accuracy"]
    assert list(results) == ["MISC", "PER", *overall]
    assert results["overall_f1"] == 0.5
    assert results["PER"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0, "number": 1}
    assert results["overall_accuracy"] == 0.8


@pytest.mark.filterwarnings("ignore")
def test_compute_equals_the_metric_on_random_tags() -> None:
    scheme = pytest.importorskip("seqeval.scheme")
    draw = random.Random(0)
    for number in range(150):
        sizes = [draw.randint(1, 6) for _ in range(3)]
        gold, predicted = ([[draw.choice(NAMES) for _ in range(size)] for size in sizes] for _ in range(2))
        strict = number % 2 == 0
        mine = load().compute(
            predictions=predicted, references=gold, **({"mode": "strict", "scheme": "IOB2"} if strict else {})
        )
        options = {"mode": "strict", "scheme": scheme.IOB2} if strict else {}
        assert mine == expected(gold, predicted, **options)


def test_add_and_add_batch_collect_until_compute() -> None:
    metric = load()
    metric.add(prediction=PREDICTIONS[0], reference=REFERENCES[0])
    metric.add_batch(predictions=PREDICTIONS[1:], references=REFERENCES[1:])
    assert metric.compute() == load().compute(predictions=PREDICTIONS, references=REFERENCES)
    with pytest.raises(InputError, match="there is nothing to compute"):
        metric.compute()


def test_unknown_metric_names_are_refused() -> None:
    with pytest.raises(ChoiceError, match="no metric is called 'rouge'"):
        load("rouge")
    with pytest.raises(ValueError, match=r"Scheme should be one of \[IOB1, IOB2, .*BILOU\], got IOB3"):
        load().compute(predictions=PREDICTIONS, references=REFERENCES, scheme="IOB3")


LABELS = np.array([[-100, 1, 2, -100, 0, -100], [-100, 3, 0, 0, -100, -100]])
SAID = np.array([[4, 1, 2, 0, 3, 0], [0, 3, 0, 0, 0, 0]])


def test_a_trainer_gets_scores_of_ids_and_of_logits() -> None:
    compute = make_compute_metrics(NAMES)
    scores = compute((SAID, LABELS))
    assert scores == {"precision": 2 / 3, "recall": 1.0, "f1": 0.8, "accuracy": pytest.approx(5 / 6)}
    logits = np.eye(len(NAMES))[SAID]
    assert compute((logits, LABELS)) == scores
    assert compute(SimpleNamespace(predictions=(logits, None), label_ids=LABELS)) == scores


def test_a_trainer_gets_scores_of_every_label() -> None:
    scores = make_compute_metrics(NAMES, entity_level=True)((SAID, LABELS))
    assert scores["PER_f1"] == 1.0 and scores["LOC_number"] == 1.0


def test_only_the_first_subword_counts_if_all_are_labelled() -> None:
    labels = np.array([[1, 2, 2, 0]])
    predicted = np.array([[1, 0, 2, 0]])
    words = [[0, 0, 1, 2]]
    assert make_compute_metrics(NAMES)((predicted, labels))["f1"] == 0.0
    assert make_compute_metrics(NAMES, word_ids=words)((predicted, labels))["f1"] == 1.0


def test_a_trainer_gets_the_reasons_behind_the_score() -> None:
    tokens = [["Ann", "Lee", "left"], ["Rome", "is", "old"]]
    train = from_tags([["B-PER", "O"], ["B-LOC"]], tokens=[["Bob", "left"], ["Rome"]])
    compute = make_compute_metrics(NAMES, fair=True, tokens=tokens, train=train, attributes=["entity_length"])
    scores = compute((np.array([[0, 1, 0, 0, 0, 0], [0, 3, 0, 0, 0, 0]]), LABELS))
    result = evaluate(
        from_tags([["B-PER", "I-PER", "O"], ["B-LOC", "O", "O"]], tokens=tokens),
        {"system": from_tags([["B-PER", "O", "O"], ["B-LOC", "O", "O"]], tokens=tokens)},
        train=train,
        resamples=0,
    )["system"]
    assert scores["fair_f1"] == result.fair.overall.f1 and scores["fair_BE"] == 1.0
    assert scores["tough_SEEN_recall"] == 1.0 and scores["tough_UNSEEN-TOKENS_recall"] == 0.0
    assert scores["entity_length_XS_f1"] == pytest.approx(2 / 3)
    assert all(isinstance(value, float) for value in scores.values())


def test_a_trainer_gets_the_intervals_of_a_result() -> None:
    drawn = np.random.default_rng(0)
    labels, ids = drawn.integers(0, len(NAMES), (40, 12)), drawn.integers(0, len(NAMES), (40, 12))
    ids = np.where(drawn.random(labels.shape) < 0.7, labels, ids)
    scores = make_compute_metrics(NAMES, entity_level=True, fair=True, intervals=True)((ids, labels))
    predicted, gold = tagged(ids, labels, NAMES)
    result = evaluate(gold, {"mine": predicted}, attributes="none")["mine"]
    for score in ("precision", "recall", "f1", "accuracy"):
        interval = scores[f"{score}_low"], scores[f"{score}_high"]
        assert interval == result.exact.overall.interval[score]
        assert interval[0] < scores[score] < interval[1]
    assert (scores["PER_f1_low"], scores["PER_f1_high"]) == result.exact.labels["PER"].interval["f1"]
    assert (scores["fair_f1_low"], scores["fair_f1_high"]) == result.fair.overall.interval["f1"]
    plain = make_compute_metrics(NAMES, entity_level=True, fair=True)((ids, labels))
    ends = ("_low", "_high")
    assert {name: value for name, value in scores.items() if not name.endswith(ends)} == plain


def test_an_undefined_interval_is_left_out() -> None:
    scores = make_compute_metrics(NAMES, intervals=True)((np.zeros_like(LABELS), LABELS))
    assert "recall_high" in scores and "precision_low" not in scores


def test_wrong_calls_of_the_trainer_are_refused() -> None:
    with pytest.raises(ChoiceError, match="intervals cannot be computed for scores with mode, scheme"):
        make_compute_metrics(NAMES, intervals=True, mode="strict", scheme="IOB2")
    with pytest.raises(ChoiceError, match="tough mentions and buckets need the words"):
        make_compute_metrics(NAMES, train="train.conll")
    with pytest.raises(InputError, match=r"predictions have the shape \(2, 5\), but labels \(2, 6\)"):
        make_compute_metrics(NAMES)((SAID[:, :5], LABELS))
    with pytest.raises(InputError, match="there is a label id 3, but label_list has 2 labels"):
        make_compute_metrics(NAMES[:2])((SAID, LABELS))
    with pytest.raises(InputError, match="word_ids are given for 1 sentence, but labels for 2"):
        make_compute_metrics(NAMES, word_ids=[[0]])((SAID, LABELS))
