"""Drift between training and test data, on public files."""

from __future__ import annotations

from pathlib import Path

import pytest

import spanwise


def test_the_training_data_itself_has_not_drifted_in_labels_and_lengths(data: Path) -> None:
    train = data / "wnut16" / "train.txt"
    drift = spanwise.describe(train, train=train).dataset.drift
    assert drift is not None
    assert drift.label_distance == 0
    assert all(drifted.distance == 0 and drifted.train == drifted.test for drifted in drift.lengths.values())
    assert drift.unknown_tokens is not None and drift.unknown_tokens.test == 0
    assert drift.tough["SEEN"].test == 1


def test_wnut16_has_more_unseen_mentions_than_its_training_text_has_within_itself(data: Path) -> None:
    folder = data / "wnut16"
    drift = spanwise.describe(folder / "test.txt", train=folder / "train.txt").dataset.drift
    assert drift is not None
    unseen = drift.tough["UNSEEN-ANY"]
    assert (unseen.train, unseen.test) == pytest.approx((1086 / 1496, 3131 / 3473))


def test_span_files_have_only_drift_in_labels(tmp_path: Path) -> None:
    path = tmp_path / "gold.spans"
    path.write_text("PER\t1\t1\n\nLOC\t1\t2\n", encoding="utf-8")
    drift = spanwise.describe(path, train=path).dataset.drift
    assert drift is not None
    assert (drift.label_distance, dict(drift.lengths), drift.unknown_tokens) == (0, {}, None)
