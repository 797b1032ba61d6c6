"""`spanwise.Metric`: forms of input, units, merging across processes, and what it refuses."""

from __future__ import annotations

import random
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from spanwise import InputError, Metric, evaluate
from spanwise.compat.evaluate import load

GOLD = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-ORG"], ["O", "O"]]
PREDICTED = [["B-PER", "I-PER", "O", "O"], ["O", "B-LOC"], ["O", "O"]]


def spans(sentences: list[list[str]]) -> list[list[tuple[int, int, str]]]:
    metric = Metric()
    return [list(mentions) for mentions, _ in metric._read(sentences, "gold")[0]]  # type: ignore[arg-type]


def test_tags_spans_and_records_give_the_same_scores() -> None:
    forms: list[tuple[Any, Any]] = [
        (GOLD, PREDICTED),
        (spans(GOLD), spans(PREDICTED)),
        *[
            (
                [{"tokens": list("abcd")[: len(row)], "tags": row} for row in GOLD],
                [{"tokens": list("abcd")[: len(row)], "tags": row} for row in PREDICTED],
            )
        ],
    ]
    computed = []
    for gold, predicted in forms:
        metric = Metric()
        metric.update(gold, predicted)
        computed.append({key: value for key, value in metric.compute().items() if key != "accuracy"})
    assert computed[0] == computed[1] == computed[2]
    assert (computed[0]["gold"], computed[0]["predicted"], computed[0]["correct"]) == (3, 2, 1)


def test_scores_of_nothing_are_undefined() -> None:
    scores = Metric().compute(intervals=True)
    assert scores["f1"] is scores["accuracy"] is scores["macro"]["f1"] is None
    assert scores["labels"] == {} and scores["units"] == 0


def test_nothing_predicted_is_f1_zero_and_precision_undefined() -> None:
    metric = Metric()
    metric.update([["B-PER"]], [["O"]])
    assert metric.compute()["f1"] == 0.0 and metric.compute()["precision"] is None


def test_reset_forgets_everything() -> None:
    metric = Metric()
    metric.update(GOLD, PREDICTED, unit=["a", "a", "b"])
    metric.reset()
    assert metric.compute() == Metric().compute()


def test_only_the_labels_asked_for_are_scored() -> None:
    metric = Metric(labels=["PER", "LOC"])
    metric.update(GOLD, PREDICTED)
    chosen = evaluate(GOLD, {"m": PREDICTED}, only=["PER", "LOC"], resamples=0)["m"].exact
    assert metric.compute()["f1"] == chosen.overall.f1
    assert list(metric.compute()["labels"]) == ["LOC", "PER"]


def test_an_update_that_is_refused_adds_nothing() -> None:
    metric = Metric()
    metric.update(GOLD, PREDICTED)
    before = metric.compute()
    with pytest.raises(InputError):
        metric.update([["B-PER"], ["O"]], [["B-PER"], ["nonsense"]])
    assert metric.compute() == before


def test_every_tag_is_a_mention_of_one_token_if_the_scheme_says_so() -> None:
    metric = Metric(scheme="token")
    metric.update([["DT", "NN", "NN"]], [["DT", "NN", "VB"]])
    assert (metric.compute()["correct"], metric.compute()["accuracy"]) == (2, 2 / 3)


def test_repairs_are_counted_in_the_scheme() -> None:
    metric = Metric(scheme="BIOES")
    metric.update([["S-PER", "B-LOC"]], [["S-PER", "O"]])
    assert metric.compute()["repairs"] == 1


def test_units_with_equal_names_are_one_after_merging() -> None:
    first, second = Metric(), Metric()
    first.update(GOLD[:1], PREDICTED[:1], unit=["d1"])
    second.update(GOLD[1:], PREDICTED[1:], unit=["d1", "d2"])
    first.merge(second)
    assert first.compute()["units"] == 2


def test_merging_with_itself_doubles_the_counts() -> None:
    metric = Metric()
    metric.update(GOLD, PREDICTED)
    metric.merge(metric)
    assert metric.compute()["gold"] == 6 and metric.compute()["units"] == 6


def counted(sentences: list[tuple[list[str], list[str]]]) -> bytes:
    """What one process counts, in batches of three."""
    metric = Metric(beta=2)
    for at in range(0, len(sentences), 3):
        batch = sentences[at : at + 3]
        metric.update([gold for gold, _ in batch], [predicted for _, predicted in batch])
    return metric.to_bytes()


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_four_processes_give_the_scores_of_one(start: str) -> None:
    draw = random.Random(3)
    kinds = ["O", "O", "B-PER", "I-PER", "B-LOC"]
    pairs = [
        ([draw.choice(kinds) for _ in range(8)], [draw.choice(kinds) for _ in range(8)]) for _ in "x" * 90
    ]
    with ProcessPoolExecutor(4, mp_context=get_context(start)) as pool:
        parts = list(pool.map(counted, [pairs[worker::4] for worker in range(4)]))
    whole = Metric(beta=2)
    for part in parts:
        whole.merge(Metric.of_bytes(part))
    alone = evaluate([gold for gold, _ in pairs], {"m": [predicted for _, predicted in pairs]}, scheme="IOB2")
    scores, exact = whole.compute(intervals=True), alone["m"].exact.overall
    assert (scores["precision"], scores["recall"], scores["f1"]) == (exact.precision, exact.recall, exact.f1)
    assert scores["interval"]["f1"] == pytest.approx(exact.interval["f1"], abs=1e-12)


def test_bytes_keep_the_names_of_units() -> None:
    metric = Metric(labels=["PER", "LOC", "ORG"])
    metric.update(GOLD, PREDICTED, unit=["a", 7, "a"])
    again = Metric.of_bytes(metric.to_bytes())
    again.update(GOLD[:1], PREDICTED[:1], unit=["a"])
    assert again.compute()["units"] == 2
    assert metric.compute(intervals=True) == Metric.of_bytes(metric.to_bytes()).compute(intervals=True)


def test_the_metric_of_evaluate_adds_batches() -> None:
    metric = load("spanwise", beta=2)
    metric.add_batch(predictions=PREDICTED[:2], references=GOLD[:2])
    metric.add(prediction=PREDICTED[2], reference=GOLD[2])
    scores = metric.compute(intervals=True)
    direct = Metric(beta=2)
    direct.update(GOLD, PREDICTED)
    assert scores == direct.compute(intervals=True)
    assert metric.compute(predictions=PREDICTED, references=GOLD)["gold"] == 3


def test_the_metric_of_torchmetrics_gives_the_same_scores() -> None:
    pytest.importorskip("torchmetrics", reason="torchmetrics is not installed")
    import torch

    from spanwise.compat.torchmetrics import SpanMetric

    names = ["O", "B-PER", "I-PER", "B-LOC", "B-ORG"]
    metric = SpanMetric(names=names, intervals=True, per_label=True, beta=2)
    for gold, predicted in zip(GOLD, PREDICTED, strict=True):
        ids = [torch.tensor([[names.index(tag) for tag in tags] + [-100]]) for tags in (gold, predicted)]
        ids[1][0, -1] = 0
        metric(ids[1], ids[0])
    direct = Metric(beta=2)
    direct.update(GOLD, PREDICTED)
    scores, expected = metric.compute(), direct.compute(intervals=True)
    assert float(scores["f2"]) == expected["f2"] and float(scores["PER_f1"]) == 1.0
    assert [float(scores["f1_low"]), float(scores["f1_high"])] == expected["interval"]["f1"]
    metric.reset()
    assert metric.metric.compute()["units"] == 0


def in_a_rank(rank: int, folder: str) -> None:
    """What one of three processes of torch computes, of which the first has seen no batch."""
    import torch.distributed

    from spanwise.compat.torchmetrics import SpanMetric

    torch.distributed.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=3)
    metric = SpanMetric()
    for gold, predicted in list(zip(GOLD, PREDICTED, strict=True))[:rank]:
        metric.update([predicted], [gold])
    Path(folder, f"{rank}.txt").write_text(str(float(metric.compute()["recall"])))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def test_processes_of_torch_merge_even_if_one_has_seen_no_batch(tmp_path: Path) -> None:
    pytest.importorskip("torchmetrics", reason="torchmetrics is not installed")
    import torch.multiprocessing

    torch.multiprocessing.spawn(in_a_rank, (str(tmp_path),), nprocs=3)
    direct = Metric()
    for rank in range(3):
        direct.update(GOLD[:rank], PREDICTED[:rank])
    assert {float((tmp_path / f"{rank}.txt").read_text()) for rank in range(3)} == {
        direct.compute()["recall"]
    }


def test_the_keras_callback_adds_scores_to_the_logs() -> None:
    pytest.importorskip("keras", reason="keras is not installed")
    import numpy as np

    from spanwise.compat.keras import SpanScores

    names = ["O", "B-PER", "I-PER", "B-LOC", "B-ORG"]

    class Model:
        def predict_on_batch(self, inputs: object) -> object:
            return np.eye(len(names))[np.asarray(inputs)]

    ids = [[np.array([[names.index(tag) for tag in row]]) for row in side] for side in (GOLD, PREDICTED)]
    callback = SpanScores(list(zip(ids[1], ids[0], strict=True)), names)
    callback.set_model(Model())
    logs: dict[str, float] = {}
    callback.on_epoch_end(0, logs)
    direct = Metric()
    direct.update(GOLD, PREDICTED)
    assert logs["val_span_f1"] == direct.compute()["f1"]
