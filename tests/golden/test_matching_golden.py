"""Ortmann's figures for GermEval 2014, and the counts of her three datasets."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from ortmann_tables import OURS, Cell, Table, ortmann_tables

from spanwise.corpus import Mentions, with_one_labelling
from spanwise.credits import credit_of
from spanwise.matching import OUTCOMES, Events, Matching, match

KINDS = {name: OURS.get(name, name) for name in ("TP", "FP", "FN", "LE", "LBE", *OURS)}


Matched: TypeAlias = tuple[Mentions, Mentions, Matching, dict[str, Table]]


def spans_of(path: Path) -> Mentions:
    """Read rows of label, first and last token; blank lines end sentences, NONE or EMPTY means no spans."""
    rows, sentence, open_ = [], 0, False
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if not line.strip():
            sentence += open_
            open_ = False
            continue
        open_ = True
        if fields[0] not in ("NONE", "EMPTY"):
            rows.append((sentence, int(fields[1]) - 1, int(fields[2]), fields[0]))
    return Mentions.of(rows)


@pytest.fixture(scope="module")
def matched(data: Path) -> Matched:
    folder = data / "ortmann-ner"
    gold, predicted = with_one_labelling(
        [spans_of(folder / "gold.spans"), spans_of(folder / "predicted.spans")]
    )
    return gold, predicted, match(gold, predicted), ortmann_tables(data)


def counts_by_label(
    gold: Mentions, predicted: Mentions, events: Events, focus: str
) -> dict[str, Counter[str]]:
    """Outcomes by label, using the label of one side, or of the only side that the event has."""
    counts: dict[str, Counter[str]] = {label: Counter() for label in gold.labels}
    for g, p, outcome, _ in events.rows():
        first, second = (g, p) if focus == "gold" else (p, g)
        side, other = (gold, predicted) if focus == "gold" else (predicted, gold)
        code = side.label[first] if first >= 0 else other.label[second]
        counts[gold.labels[code]][outcome] += 1
    return counts


def check_scores(expected: dict[str, float], right: float, false: float, missed: float) -> None:
    assert right / (right + false) == pytest.approx(expected["precision"], abs=1e-9)
    assert right / (right + missed) == pytest.approx(expected["recall"], abs=1e-9)
    assert 2 * right / (2 * right + false + missed) == pytest.approx(expected["f1"], abs=1e-9)


def check(expected: dict[str, Cell], counts: Counter[str]) -> None:
    fair = expected["fair"].counts
    assert {name: fair[name] for name in KINDS} == {name: counts[kind] for name, kind in KINDS.items()}
    assert fair["BE"] == counts["BEs"] + counts["BEl"] + counts["BEo"]
    vector = np.array([counts[name] for name in OUTCOMES])
    for key, credit in (("fair", "fair"), ("weighted_eq6", "ortmann-eq6"), ("weighted_eq7", "ortmann-eq7")):
        check_scores(expected[key].scores, *map(float, credit_of(credit).apply(vector)))


@pytest.mark.parametrize(("key", "focus"), [("focus_target", "gold"), ("focus_system", "predicted")])
def test_ortmanns_tables_are_reproduced_overall_and_for_each_label(
    matched: Matched, key: str, focus: str
) -> None:
    gold, predicted, matching, expected = matched
    table = expected[key]
    by_label = counts_by_label(gold, predicted, matching.events(), focus)
    assert (len(gold), len(predicted)) == (table.target_spans, table.system_spans)
    check(table.overall, sum(by_label.values(), Counter()))
    assert set(by_label) == set(table.per_label)
    for label, counts in by_label.items():
        check(table.per_label[label], counts)


def test_the_traditional_figures_follow_from_the_same_matching(matched: Matched) -> None:
    gold, predicted, matching, expected = matched
    right = np.flatnonzero(matching.gold_outcome == 0)
    table = expected["focus_target"]
    for name, cells in [("overall", table.overall), *table.per_label.items()]:
        code = None if name == "overall" else gold.labels.index(name)
        n, m, correct = (
            len(rows) if code is None else int((rows == code).sum())
            for rows in (gold.label, predicted.label, gold.label[right])
        )
        traditional = cells["traditional"]
        assert traditional.counts == {"TP": correct, "FP": m - correct, "FN": n - correct}
        check_scores(traditional.scores, correct, m - correct, n - correct)


def test_ortmanns_confusion_of_labels_is_reproduced(matched: Matched) -> None:
    gold, predicted, matching, expected = matched
    cells: Counter[tuple[str, str]] = Counter()
    for g, p, outcome, _ in matching.events().rows():
        if outcome != "TP":
            row = gold.labels[gold.label[g]] if g >= 0 else "_"
            column = predicted.labels[predicted.label[p]] if p >= 0 else "_"
            cells[row, column] += 1
    for focus in ("focus_target", "focus_system"):
        confusion = expected[focus].confusion
        assert cells == {
            (row, column): n for row, line in confusion.items() for column, n in line.items() if n
        }


def test_fair_counting_names_1302_errors_where_traditional_counting_has_1813(matched: Matched) -> None:
    gold, predicted, matching, _ = matched
    correct = int((matching.gold_outcome == 0).sum())
    assert len(matching.events()) - correct == 1302
    assert len(gold) + len(predicted) - 2 * correct == 1813
