"""What few gold units and a judge say of real systems: loops over the files, NumPy and SciPy."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pytest import approx
from scipy import stats

import spanwise

Spans = list[set[tuple[int, int, str]]]


def judged_files(masakhaner: Path) -> tuple[Path, dict[str, Path], Path]:
    """The test set of a language, two systems, and a third one that is the judge."""
    folder = masakhaner / "pcm"
    paths = {name: folder / "predictions" / f"{name}.1.txt" for name in ("afroxlmr", "mbert", "rembert")}
    return folder / "test.txt", {name: paths[name] for name in ("afroxlmr", "mbert")}, paths["rembert"]


def _read(path: Path) -> tuple[list[tuple[str, ...]], Spans, Any]:
    read = spanwise.read(path)
    spans: Spans = [set() for _ in range(len(read.corpus))]
    for sentence, start, end, label in read.mentions.rows():
        spans[sentence].add((start, end, label))
    return [tuple(read.corpus.words(number)) for number in range(len(read.corpus))], spans, read.corpus.fields


def _counts(gold: Spans, predicted: Spans, label: str | None) -> np.ndarray:
    rows = []
    for one, other in zip(gold, predicted, strict=True):
        wanted, found = ({m for m in spans if label in (None, m[2])} for spans in (one, other))
        rows.append((len(wanted & found), len(wanted), len(found)))
    return np.asarray(rows, float)


def _score(rows: np.ndarray, name: str) -> float:
    right, gold, predicted = rows.sum(axis=0)
    above, below = {
        "f1": (2 * right, gold + predicted), "precision": (right, predicted), "recall": (right, gold),
    }[name]  # fmt: skip
    return float(above / below) if below else math.nan


class _ByHand:
    """The estimates for one sample with the weights and strata of its units."""

    def __init__(self, weight: np.ndarray, stratum: np.ndarray, everything: int) -> None:
        self.weight, self.everything, self.number = weight, everything, len(weight)
        self.strata = [np.flatnonzero(stratum == code) for code in np.unique(stratum)]
        self.shares = [weight[rows].sum() / everything for rows in self.strata]

    def influences(self, rows: np.ndarray, name: str) -> tuple[float, np.ndarray]:
        weighted = rows * self.weight[:, None]
        score, n = _score(weighted, name), self.number
        effects = [(n - 1) * (score - _score(np.delete(weighted, i, 0), name)) for i in range(n)]
        return score, np.asarray(effects) * (self.everything / n) / self.weight

    def combined(self, h: np.ndarray, g: np.ndarray) -> tuple[float, float, float]:
        """λ, the standard error, and the effective number of gold units."""
        parts = list(zip(self.shares, self.strata, strict=True))
        c = sum(share * np.cov(h[rows], g[rows], ddof=1)[0, 1] for share, rows in parts)
        v = sum(share * np.var(g[rows], ddof=1) for share, rows in parts)
        weight = min(max(c / v, 0.0), 1.0) if v else 0.0

        def within(values: np.ndarray, lost: int) -> float:
            total = 0.0
            for share, rows in parts:
                squares = ((values[rows] - values[rows].mean()) ** 2).sum()
                total += share**2 * squares / ((len(rows) - lost) * len(rows))
            return float(total)

        shared = max(2 * weight * c - weight**2 * v, 0) / self.everything
        se = math.sqrt(within(h - weight * g, 2) + shared)
        return weight, se, self.number * within(h, 1) / se**2 if se else math.nan


def compare_by_hand(result: Any, part: Path, systems: Mapping[str, Path], judge: Path) -> int:
    """Compare every estimate with the one computed here; the number of scores that were compared."""
    everything, silver, _ = _read(judge)
    sentences, gold, fields = _read(part)
    places = defaultdict(list)
    for number, sentence in enumerate(everything):
        places[sentence].append(number)
    drawn = [places[sentence].pop(0) for sentence in sentences]
    weight = np.asarray(fields.get("weight", [len(everything) / len(drawn)] * len(drawn)), float)
    by_hand = _ByHand(weight, np.asarray(fields.get("stratum", [0] * len(drawn))), len(everything))
    number, overall = 0, {}
    for name, path in systems.items():
        predicted = _read(path)[1]
        scores = result.systems[name].silver
        for label, found in ((None, scores), *scores.labels.items()):
            sides = [
                _counts(gold, [predicted[at] for at in drawn], label),
                _counts([silver[at] for at in drawn], [predicted[at] for at in drawn], label),
            ]
            for rate in ("f1", "precision", "recall"):
                (f, h), (fn, g) = (by_hand.influences(rows, rate) for rows in sides)
                alone = _score(_counts(silver, predicted, label), rate)
                assert getattr(found.gold_only, rate) == approx(f)
                assert getattr(found.silver_only, rate) == approx(alone)
                number += 1
                value = getattr(found.combined, rate)
                if label is None:
                    overall[name, rate] = f, h, fn, g, alone
                if value is None:
                    continue
                lam, se, effective = by_hand.combined(h, g)
                expected = f + lam * (alone - fn)
                half = stats.t.ppf(0.975, len(drawn) - 1) * se / (expected * (1 - expected))
                odds = math.log(expected / (1 - expected))
                assert value == approx(expected)
                assert found.combined.interval[rate] == approx(
                    [1 / (1 + math.exp(-(odds + sign * half))) for sign in (-1, 1)]
                )
                if rate == "f1":
                    assert [found.weight, found.effective] == approx([lam, effective])
                    assert found.silver_only.bias == approx(fn - f)
    (row,) = result.comparisons
    (f, h, fn, g, alone), (f2, h2, fn2, g2, alone2) = (overall[name, "f1"] for name in row.systems)
    lam, se, _ = by_hand.combined(h - h2, g - g2)
    difference = f - f2 + lam * (alone - alone2 - fn + fn2)
    assert row.silver.difference == approx(difference)
    assert row.silver.p == approx(2 * stats.t.sf(abs(difference / se), len(drawn) - 1))
    return number
