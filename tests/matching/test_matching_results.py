"""What evaluation makes of the matching: Ortmann's tables from her files, gains fixed by hand, halves."""

from __future__ import annotations

import json

import pytest
from matching_sentences import random_sentences

from spanwise.evaluation import evaluate
from spanwise.formats import from_spans

ORTMANN = {"BES": "BEs", "BEL": "BEl", "BEO": "BEo"}


@pytest.mark.parametrize(("key", "focus"), [("focus_target", "gold"), ("focus_system", "predicted")])
def test_ortmanns_tables_come_out_of_her_files(data, key, focus):
    folder = data / "ortmann-ner"
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))[key]
    result = evaluate(
        folder / "gold.spans", {"stanza": folder / "predicted.spans"},
        focus=focus, weights=["ortmann-eq6", "ortmann-eq7"], resamples=0, attributes="none",
    )  # fmt: skip
    found = result.to_dict()["systems"]["stanza"]
    cells = {"overall": expected["overall"], **expected["per_label"]}
    for name, entry in cells.items():
        tables = {
            "fair": found["fair"],
            "weighted_eq6": found["credits"]["ortmann-eq6"],
            "weighted_eq7": found["credits"]["ortmann-eq7"],
            "traditional": found["exact"],
        }
        for kind, table in tables.items():
            cell = table["overall"] if name == "overall" else table["labels"][name]
            for score, value in entry[kind]["scores"].items():
                assert cell[score] == pytest.approx(value, abs=1e-9), (name, kind, score)
            if kind == "fair":
                for outcome, number in entry[kind]["counts"].items():
                    assert cell[ORTMANN.get(outcome, outcome)] == number, (name, outcome)
    confusion = found["confusion"]
    labels = confusion["labels"]
    for i, gold in enumerate(labels):
        row = expected["confusion"][gold]
        assert [row.get(label, 0) for label in labels] == confusion["counts"][i]
        assert row["_"] == confusion["missed"][i]
        assert expected["confusion"]["_"][gold] == confusion["spurious"][i]


def test_the_shares_of_errors_are_those_of_her_figure(data):
    folder = data / "ortmann-ner"
    result = evaluate(
        folder / "gold.spans", {"x": folder / "predicted.spans"}, resamples=0, attributes="none"
    )
    shares = result["x"].fair["shares"]
    assert shares["traditional"]["FP"] == pytest.approx(794 / 1813)
    assert shares["traditional"]["FN"] == pytest.approx(1019 / 1813)
    counts = {"LE": 252, "BE": 180, "LBE": 155, "FN": 462, "FP": 253}
    assert dict(shares["fair"]) == pytest.approx({kind: number / 1302 for kind, number in counts.items()})


@pytest.fixture(scope="module")
def nested():
    """Nested and crossing sentences as annotations, with the matching of one system."""
    sentences = random_sentences(400, kind="nested", seed=8) + random_sentences(400, kind="crossing", seed=8)
    return sentences, *(from_spans([sides[i] for sides in sentences]) for i in (0, 1))


def f1(gold: set, predicted: set) -> float:
    return 2 * len(gold & predicted) / (len(gold) + len(predicted))


@pytest.mark.parametrize("kind", ["LE", "BE", "LBE", "FN", "FP"])
def test_a_gain_is_what_fixing_the_predictions_by_hand_adds(nested, kind):
    _, one, other = nested
    result = evaluate(one, {"mine": other}, resamples=0, attributes="none")["mine"]
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


def test_gold_against_itself_gains_nothing(nested):
    _, one, _ = nested
    found = evaluate(one, {"mine": one}, resamples=0, attributes="none")["mine"]
    assert all(found.gains[kind].gain == 0 for kind in ("LE", "BE", "LBE", "FN", "FP"))
    assert found.fair.overall.f1 == 1


def test_halves_for_both_labels_add_up_to_the_whole(nested):
    _, one, other = nested
    tables = {
        focus: evaluate(one, {"mine": other}, focus=focus, resamples=0, attributes="none")["mine"].fair
        for focus in ("gold", "predicted", "both")
    }
    kinds = ("TP", "FP", "FN", "LE", "BE", "BEs", "BEl", "BEo", "LBE")
    for kind in kinds:
        assert len({table.overall[kind] for table in tables.values()}) == 1
        for table in tables.values():
            assert sum(row[kind] for row in table["labels"].values()) == table.overall[kind]
        for label in tables["both"]["labels"]:
            halves = [tables[focus]["labels"][label][kind] for focus in ("gold", "predicted")]
            assert tables["both"]["labels"][label][kind] == sum(halves) / 2
