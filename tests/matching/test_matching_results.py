"""Evaluation based on the matching: Ortmann's tables from her files, gains fixed by hand, halves."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import pytest
from matching_sentences import random_sentences
from ortmann_tables import OURS, ortmann_tables
from typed import present

from spanwise.corpus import Annotation
from spanwise.document.scores import CreditScores, Exact, Fair
from spanwise.evaluation import evaluate
from spanwise.formats import from_spans


@pytest.mark.parametrize(("key", "focus"), [("focus_target", "gold"), ("focus_system", "predicted")])
def test_ortmanns_tables_are_reproduced_from_her_files(data: Path, key: str, focus: str) -> None:
    folder, expected = data / "ortmann-ner", ortmann_tables(data)[key]
    result = evaluate(
        folder / "gold.spans", {"stanza": folder / "predicted.spans"},
        focus=focus, weights=["ortmann-eq6", "ortmann-eq7"], resamples=0, attributes="none",
    )["stanza"]  # fmt: skip
    tables: dict[str, Fair | CreditScores | Exact] = {
        "fair": result.fair,
        "weighted_eq6": present(result.credits)["ortmann-eq6"],
        "weighted_eq7": present(result.credits)["ortmann-eq7"],
        "traditional": result.exact,
    }
    for name, cells in {"overall": expected.overall, **expected.per_label}.items():
        for kind, table in tables.items():
            cell = table.overall if name == "overall" else table.labels[name]
            for score, value in cells[kind].scores.items():
                assert cell[score] == pytest.approx(value, abs=1e-9), (name, kind, score)
        fair = result.fair.overall if name == "overall" else result.fair.labels[name]
        for outcome, number in cells["fair"].counts.items():
            assert fair[OURS.get(outcome, outcome)] == number, (name, outcome)
    labels = result.confusion.labels
    for i, gold in enumerate(labels):
        row = expected.confusion[gold]
        assert [row.get(label, 0) for label in labels] == list(result.confusion.counts[i])
        assert row["_"] == result.confusion.missed[i]
        assert expected.confusion["_"][gold] == result.confusion.spurious[i]


def test_the_shares_of_errors_equal_those_of_her_figure(data: Path) -> None:
    folder = data / "ortmann-ner"
    result = evaluate(
        folder / "gold.spans", {"x": folder / "predicted.spans"}, resamples=0, attributes="none"
    )
    shares = present(result["x"].fair.shares)
    assert shares.traditional["FP"] == pytest.approx(794 / 1813)
    assert shares.traditional["FN"] == pytest.approx(1019 / 1813)
    counts = {"LE": 252, "BE": 180, "LBE": 155, "FN": 462, "FP": 253}
    assert dict(shares.fair) == pytest.approx({kind: number / 1302 for kind, number in counts.items()})


Pair: TypeAlias = tuple[Annotation, Annotation]
Row: TypeAlias = tuple[int, int, int, str]


@pytest.fixture(scope="module")
def nested() -> Pair:
    """Gold and predictions of nested and crossing sentences."""
    sentences = random_sentences(400, kind="nested", seed=8) + random_sentences(400, kind="crossing", seed=8)
    return from_spans([gold for gold, _ in sentences]), from_spans([predicted for _, predicted in sentences])


def f1(gold: set[Row], predicted: set[Row]) -> float:
    return 2 * len(gold & predicted) / (len(gold) + len(predicted))


@pytest.mark.parametrize("kind", ["LE", "BE", "LBE", "FN", "FP"])
def test_a_gain_equals_the_effect_of_fixing_predictions_by_hand(nested: Pair, kind: str) -> None:
    gold_side, predicted_side = nested
    result = evaluate(gold_side, {"mine": predicted_side}, resamples=0, attributes="none")["mine"]
    gold, predicted = result.gold.rows(), result.predicted.rows()
    fixed = set(predicted)
    for g, p, outcome, turn in result.matching.events().rows():
        if (outcome[:2] if outcome != "LBE" else outcome) != kind:
            continue
        if turn in (1, 3) or outcome == "FP":
            fixed.discard(predicted[p])
        if turn in (1, 2) or outcome == "FN":
            fixed.add(gold[g])
    gain = f1(set(gold), fixed) - f1(set(gold), set(predicted))
    assert result.gains[kind].gain == pytest.approx(gain, abs=1e-12)


def test_gold_against_itself_gains_nothing(nested: Pair) -> None:
    gold, _ = nested
    result = evaluate(gold, {"mine": gold}, resamples=0, attributes="none")["mine"]
    assert all(result.gains[kind].gain == 0 for kind in ("LE", "BE", "LBE", "FN", "FP"))
    assert result.fair.overall.f1 == 1


def test_with_focus_both_half_of_each_label_is_counted(nested: Pair) -> None:
    gold, predicted = nested
    tables = {
        focus: evaluate(gold, {"mine": predicted}, focus=focus, resamples=0, attributes="none")["mine"].fair
        for focus in ("gold", "predicted", "both")
    }
    kinds = ("TP", "FP", "FN", "LE", "BE", "BEs", "BEl", "BEo", "LBE")
    for kind in kinds:
        assert len({table.overall[kind] for table in tables.values()}) == 1
        for table in tables.values():
            assert sum(row[kind] for row in table.labels.values()) == table.overall[kind]
        for label in tables["both"].labels:
            halves = [tables[focus].labels[label][kind] for focus in ("gold", "predicted")]
            assert tables["both"].labels[label][kind] == sum(halves) / 2
