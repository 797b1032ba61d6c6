"""The numbers of confidence scores, compared with plain definitions, laws and peers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from typed import present

import spanwise
from spanwise.calibration.measures import Calibration, Scored, ap101, average_precision, brier, risk_area
from spanwise.columns import floats, ints
from spanwise.document.confidence import SystemConfidence

Rows = list[tuple[float, bool]]


def scored(rows: Rows, gold: int) -> Scored:
    """The predictions of one unit."""
    return Scored(
        floats([score for score, _ in rows]),
        np.array([right for _, right in rows], dtype=bool),
        ints(np.zeros(len(rows))),
        ints([gold]),
    )


def evaluated(rows: Rows, gold: int, *, resamples: int = 0, precision: float = 0.95) -> SystemConfidence:
    """Evaluate predictions with the public function: one sentence each, without gold if wrong."""
    right = [i for i, (_, correct) in enumerate(rows) if correct]
    assert gold >= len(right)
    truth = [[(0, 1, "A")] if correct else [] for _, correct in rows]
    truth += [[(0, 1, "A")] for _ in range(gold - len(right))]
    mine = [[{"start": 0, "end": 1, "label": "A", "score": score}] for score, _ in rows]
    mine += [[] for _ in range(gold - len(right))]
    document = spanwise.confidence(truth, {"mine": mine}, resamples=resamples, precision=precision)
    return document.systems["mine"]


@st.composite
def predictions(draw: st.DrawFn) -> tuple[Rows, int]:
    """Some predictions with many ties, and at least as many gold mentions as correct predictions."""
    grid = st.integers(0, 8).map(lambda step: step / 8)
    rows = draw(st.lists(st.tuples(grid, st.booleans()), min_size=1, max_size=40))
    return rows, sum(right for _, right in rows) + draw(st.integers(0, 5))


def plain_average_precision(rows: Rows, gold: int) -> float:
    total, before = 0.0, 0.0
    for threshold in sorted({score for score, _ in rows}, reverse=True):
        chosen = [right for score, right in rows if score >= threshold]
        recall = sum(chosen) / gold
        total += (recall - before) * sum(chosen) / len(chosen)
        before = recall
    return total


def plain_risk_area(rows: Rows) -> float:
    """The mean over all orders of ties, computed by spreading the errors of a tie evenly."""
    risks, taken, lost = [], 0, 0.0
    for threshold in sorted({score for score, _ in rows}, reverse=True):
        tied = [right for score, right in rows if score == threshold]
        wrong = len(tied) - sum(tied)
        for at in range(1, len(tied) + 1):
            risks.append((lost + wrong * at / len(tied)) / (taken + at))
        taken, lost = taken + len(tied), lost + wrong
    return sum(risks) / len(risks)


@given(predictions())
@settings(max_examples=150, deadline=None)
def test_average_precision_and_risk_equal_their_definitions(case: tuple[Rows, int]) -> None:
    rows, gold = case
    sample = scored(rows, gold)
    if gold:
        assert average_precision(sample.curve) == pytest.approx(plain_average_precision(rows, gold))
    else:
        assert math.isnan(average_precision(sample.curve))
    area, excess = risk_area(sample.curve)
    assert area == pytest.approx(plain_risk_area(rows))
    ordered = sorted((right for _, right in rows), reverse=True)
    perfect = plain_risk_area([(-float(rank), right) for rank, right in enumerate(ordered)])
    assert excess == pytest.approx(area - perfect)
    assert excess >= -1e-12


@given(predictions())
@settings(max_examples=100, deadline=None)
def test_the_parts_of_the_brier_score_add_up(case: tuple[Rows, int]) -> None:
    rows, gold = case
    sample = scored(rows, gold)
    for calibration in (
        Calibration.balanced(sample.score, sample.right),
        Calibration.even(sample.score, sample.right),
    ):
        reliability, resolution, uncertainty, within = calibration.parts(sample.score, sample.right)
        whole = reliability - resolution + uncertainty + within
        assert whole == pytest.approx(brier(sample.score, sample.right), abs=1e-12)


@given(predictions())
@settings(max_examples=30, deadline=None)
def test_average_precision_equals_that_of_scikit_learn_times_recall(
    case: tuple[Rows, int],
) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rows, gold = case
    right = [correct for _, correct in rows]
    if not any(right):
        return
    peer = metrics.average_precision_score(right, [score for score, _ in rows])
    assert average_precision(scored(rows, gold).curve) == pytest.approx(peer * sum(right) / gold)


def calibration_error(right: NDArray[np.bool_], score: NDArray[np.float64], strategy: str) -> float:
    """The expected calibration error from the bins of scikit-learn, which leaves out empty ones."""
    calibration = pytest.importorskip("sklearn.calibration")
    true, mean = calibration.calibration_curve(right, score, n_bins=10, strategy=strategy)
    edges = np.linspace(0, 1, 11) if strategy == "uniform" else np.percentile(score, np.linspace(0, 100, 11))
    number = np.bincount(np.searchsorted(edges[1:-1], score), minlength=10)
    return float((np.abs(true - mean) * number[number > 0]).sum() / len(score))


@pytest.mark.parametrize("seed", range(5))
def test_calibration_errors_equal_those_from_the_bins_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    score = rng.permutation(np.linspace(0.001, 0.999, 230))  # no ties, and a multiple of ten
    right = rng.random(230) < score**2
    even, balanced = Calibration.even(score, right), Calibration.balanced(score, right)
    assert even.ece() == pytest.approx(calibration_error(right, score, "uniform"))
    assert balanced.ece() == pytest.approx(calibration_error(right, score, "quantile"))
    tied = np.round(score, 1)
    assert Calibration.even(tied, right).ece() == pytest.approx(calibration_error(right, tied, "uniform"))


@pytest.mark.parametrize("seed", range(6))
def test_ap101_equals_that_of_pycocotools(seed: int) -> None:
    coco_module = pytest.importorskip("pycocotools.coco")
    evaluation = pytest.importorskip("pycocotools.cocoeval")
    rng = np.random.default_rng(seed)
    rows = [(round(float(rng.random()), 1 + seed % 2), bool(rng.random() < 0.6)) for _ in range(60)]
    missed = int(rng.integers(0, 20))
    boxes: list[object] = []
    detections: list[object] = []
    for image, (score, right) in enumerate(rows):
        if right:
            boxes.append(box(len(boxes) + 1, image + 1, 0))
        detections.append({"image_id": image + 1, "category_id": 1, "bbox": [0, 0, 10, 10], "score": score})
    for extra in range(missed):
        boxes.append(box(len(boxes) + 1, len(rows) + extra + 1, 0))
    coco = coco_module.COCO()
    coco.dataset = {
        "info": {},
        "images": [{"id": i + 1} for i in range(len(rows) + missed)],
        "annotations": boxes,
        "categories": [{"id": 1}],
    }
    coco.createIndex()
    evaluator = evaluation.COCOeval(coco, coco.loadRes(detections), "bbox")
    evaluator.params.iouThrs = np.array([0.5])
    evaluator.evaluate()
    evaluator.accumulate()
    precision = evaluator.eval["precision"][0, :, 0, 0, -1]
    assert ap101(scored(rows, len(boxes))) == pytest.approx(float(precision.mean()))


def box(number: int, image: int, at: int) -> dict[str, object]:
    area = {"bbox": [at, 0, 10, 10], "area": 100, "iscrowd": 0}
    return {"id": number, "image_id": image, "category_id": 1, **area}


def test_many_outcomes_are_drawn_as_normal_sums_with_the_same_chance_level() -> None:
    from spanwise.uncertainty import bernoulli_sums

    rng = np.random.default_rng(0)
    score = rng.beta(4, 1, 20_000)
    calibration = Calibration.balanced(score, rng.random(len(score)) < score)
    exact = bernoulli_sums(score, calibration.bins, 10, 500, 1)
    normal = bernoulli_sums(score, calibration.bins, 10, 500, 1, most=1)
    errors = [np.abs(calibration.score - sums).sum(axis=1) / len(score) for sums in (exact, normal)]
    assert errors[0].mean() == pytest.approx(errors[1].mean(), rel=0.06)
    assert np.quantile(errors[0], 0.95) == pytest.approx(np.quantile(errors[1], 0.95), rel=0.1)


def test_a_worked_example() -> None:
    system = evaluated([(0.9, True), (0.8, False), (0.8, True), (0.3, False)], gold=4)
    assert [(point.threshold, point.predicted, point.correct) for point in system.curve] == [
        (0.9, 1, 1),
        (0.8, 3, 2),
        (0.3, 4, 2),
    ]
    assert system.overall.average_precision == pytest.approx(1 / 4 * 1 + 1 / 4 * 2 / 3)
    assert system.threshold.best == 0.8
    assert system.threshold.best_f1 == pytest.approx(4 / 7)
    assert system.threshold.value is None and system.threshold.why == "no dev set was given"
    assert system.overall.ece == pytest.approx((0.1 + 0.6 + 0.3) / 4)


def test_the_threshold_comes_from_dev_and_its_optimism_from_test() -> None:
    def data(rows: Rows) -> tuple[list[object], list[object]]:
        gold: list[object] = [[(0, 1, "A")] if right else [] for _, right in rows]
        mine: list[object] = [[(0, 1, "A", score)] for score, _ in rows]
        return gold, mine

    test = data([(0.9, True), (0.7, True), (0.6, False), (0.5, True), (0.2, False)])
    dev = data([(0.9, True), (0.65, True), (0.6, False), (0.5, False)])
    document = spanwise.confidence(test[0], {"m": test[1]}, dev=(dev[0], {"m": dev[1]}), resamples=0)
    chosen = document.systems["m"].threshold
    assert chosen.value == 0.65 and chosen.dev_f1 == 1.0
    assert chosen.test_f1 == pytest.approx(2 * 2 / (3 + 2))
    assert chosen.best_f1 == pytest.approx(2 * 3 / (3 + 4))
    assert chosen.optimism == pytest.approx(6 / 7 - 4 / 5)


def test_among_equal_f1_the_highest_threshold_is_chosen() -> None:
    system = evaluated([(0.9, True), (0.5, False), (0.4, True)], gold=2)
    # F1 is 2/3 at 0.9, 1/2 at 0.5, 4/5 at 0.4
    assert system.threshold.best == 0.4
    tied = evaluated([(0.9, True), (0.8, False), (0.7, False), (0.6, True), (0.5, True)], gold=4)
    # 2/5, 2/6, 2/7, 4/8, 6/9
    assert tied.threshold.best == 0.5
    equal = evaluated([(0.9, True), (0.8, False), (0.7, True)], gold=3)
    # 1/2, 2/5, 2/3
    assert equal.threshold.best == 0.7


def test_the_highest_recall_at_a_precision() -> None:
    rows = [(0.9, True), (0.8, True), (0.7, False), (0.6, True), (0.5, True), (0.4, False)]
    system = evaluated(rows, gold=5, precision=0.75)
    assert system.at_precision.threshold == 0.5
    assert system.at_precision.recall == pytest.approx(4 / 5)
    none = evaluated([(0.9, False), (0.5, True)], gold=1, precision=0.9).at_precision
    assert none.threshold is None and none.recall is None


def test_scores_outside_0_and_1_leave_out_calibration_only() -> None:
    overall = evaluated([(3.5, True), (-2.0, False)], gold=2).overall
    assert overall.average_precision == pytest.approx(0.5)
    assert overall.ece is None and overall.brier is None and overall.why == "scores are outside [0, 1]"


def test_missing_scores_are_an_error_or_the_lowest() -> None:
    gold = [[(0, 1, "A"), (1, 2, "A")]]
    mine = [[{"start": 0, "end": 1, "label": "A", "score": 0.4}, {"start": 1, "end": 2, "label": "A"}]]
    with pytest.raises(spanwise.InputError, match="has no score"):
        spanwise.confidence(gold, {"m": mine})
    document = spanwise.confidence(gold, {"m": mine}, missing="lowest", resamples=0)
    assert document.systems["m"].missing == 1
    assert [point.threshold for point in document.systems["m"].curve] == [0.4]
    assert "1 mention without a score" in document.notes[0]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "high", True])
def test_scores_that_are_not_finite_numbers_are_refused(bad: object) -> None:
    gold = [[(0, 1, "A")]]
    with pytest.raises(spanwise.InputError, match="not a finite number"):
        spanwise.confidence(gold, {"m": [[{"start": 0, "end": 1, "label": "A", "score": bad}]]})


def test_labels_and_macro() -> None:
    gold = [[(0, 1, "A"), (1, 2, "B")], [(0, 1, "A")]]
    mine = [[(0, 1, "A", 0.9), (1, 2, "A", 0.8)], [(0, 1, "A", 0.7)]]
    system = spanwise.confidence(gold, {"m": mine}, resamples=0).systems["m"]
    assert system.labels["A"].average_precision == pytest.approx(0.5 + 0.5 * 2 / 3)
    assert system.labels["B"].average_precision == 0.0
    assert system.macro.average_precision == pytest.approx((0.5 + 1 / 3) / 2)


def test_intervals_contain_the_scores_and_the_same_seed_gives_the_same_bytes() -> None:
    rng = np.random.default_rng(4)
    rows = [(round(float(p), 3), bool(rng.random() < p)) for p in rng.beta(3, 1, 400)]
    gold = sum(right for _, right in rows) + 50
    overall = evaluated(rows, gold, resamples=200).overall
    assert present(overall.interval)["ece"] is None and "ece" in present(overall.no_interval)
    for name in ("average_precision", "aurc", "brier"):
        low, high = present(present(overall.interval)[name])
        assert low is not None and high is not None
        assert low <= getattr(overall, name) <= high and high - low < 0.2, name
    assert evaluated(rows, gold, resamples=200) == evaluated(rows, gold, resamples=200)


def test_joined_scores_change_intervals_little(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    rows = [(float(p), bool(rng.random() < p)) for p in rng.beta(3, 1, 1500)]
    gold = sum(right for _, right in rows) + 100
    exact = evaluated(rows, gold, resamples=100).overall.interval
    monkeypatch.setattr("spanwise.calibration._resampling.POINTS", 200)
    monkeypatch.setattr("spanwise.calibration._resampling.LEFT_OUT", 1)
    joined = evaluated(rows, gold, resamples=100).overall.interval
    for name in ("average_precision", "aurc"):
        assert present(joined)[name] == pytest.approx(present(exact)[name], abs=0.001)
