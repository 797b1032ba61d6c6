"""Result documents whose parts contradict each other: refused with the place, never a traceback."""

from __future__ import annotations

import contextlib
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spanwise
from fuzz import documents, folders, seeds
from spanwise.cli.main import main
from spanwise.document.loading import KINDS
from spanwise.errors import InputError, SpanwiseError
from spanwise.reports import REPORTS

CHANGES: dict[str, tuple[Callable[[Any], object], str]] = {
    "a count of spurious mentions is missing": (
        lambda d: d["systems"]["a"]["confusion"]["spurious"].pop(),
        "$.systems.a.confusion: spurious has 1 entries, but labels has 2",
    ),
    "a label too many": (
        lambda d: d["systems"]["a"]["confusion"]["labels"].append("X"),
        "$.systems.a.confusion: counts has 2 entries, but labels has 3",
    ),
    "a row too short": (
        lambda d: d["systems"]["b"]["confusion"]["counts"][1].pop(),
        "$.systems.b.confusion: counts[1] has 1 entries, but labels has 2",
    ),
    "an end beyond all numbers": (
        lambda d: d["systems"]["a"]["exact"]["labels"]["PER"]["interval"]["f1"].__setitem__(1, 1e308),
        "$.systems.a.exact.labels.PER.interval.f1[1]: 1e+308 is too large a number",
    ),
    "no outcome": (
        lambda d: d["sentences"][0]["gold"][0]["outcome"].clear(),
        "$.sentences[0].gold[0].outcome: the system 'a' is missing",
    ),
    "a partner that does not exist": (
        lambda d: d["sentences"][0]["gold"][0]["partner"].__setitem__("a", 7),
        "$.sentences[0].gold[0].partner.a: there is no mention 7",
    ),
    "a gold partner that does not exist": (
        lambda d: d["sentences"][0]["systems"]["a"][0].__setitem__("partner", -2),
        "$.sentences[0].systems.a[0].partner: there is no gold mention -2",
    ),
    "a system without counts": (
        lambda d: d["units"]["systems"].pop("b"),
        "$.units.systems: the system 'b' is missing",
    ),
    "a score without a path": (
        lambda d: d["comparisons"][0]["scores"][1]["path"].clear(),
        "$.comparisons[0].scores[1].path: the path of a score is empty",
    ),
    "a confidence above 1": (
        lambda d: d["settings"].__setitem__("confidence", 1.95),
        "$.settings.confidence: 1.95 must be at least 0.5 and below 1",
    ),
    "a confidence that no interval has": (
        lambda d: d["settings"].__setitem__("confidence", 1e-308),
        "$.settings.confidence: 1e-308 must be at least 0.5 and below 1",
    ),
    "a mention that ends before it starts": (
        lambda d: d["sentences"][0]["gold"][0].__setitem__("end", -1),
        "$.sentences[0].gold[0]: a mention cannot reach from 0 to -1",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_contradiction_is_named_with_its_place(change: str, tmp_path: Path) -> None:
    document = json.loads(seeds.documents()[0])
    damage, expected = CHANGES[change]
    damage(document)
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        spanwise.load(path)
    assert str(caught.value).startswith(f"{path}: {expected}")
    for call in (["report", str(path), "-o", str(tmp_path / "x.html")], ["table", str(path), "all"]):
        assert main(call) == 3


def test_a_comparison_of_something_that_is_no_rate_of_leaks_is_refused(tmp_path: Path) -> None:
    kinds = {json.loads(data)["kind"]: data for data in documents.originals()}
    document = json.loads(kinds["leaks"])
    document["comparisons"][0]["scores"][0]["path"] = ["overall"]
    (tmp_path / "t.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        spanwise.load(tmp_path / "t.json")
    assert "$.comparisons[0].scores[0].path: there is no rate of leaks called 'overall'" in str(caught.value)


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_systems_that_are_sure_of_a_suspect_are_no_contradiction(score: float, tmp_path: Path) -> None:
    """The confidence of evidence is no level: a score of 1 for the proposal makes it 0."""
    kinds = {json.loads(data)["kind"]: data for data in documents.originals()}
    document = json.loads(kinds["suspects"])
    document["suspects"][0]["evidence"]["confidence"] = score
    (tmp_path / "t.json").write_text(json.dumps(document), encoding="utf-8")
    assert spanwise.load(tmp_path / "t.json").to_dict()["suspects"][0]["evidence"]["confidence"] == score


Keys = tuple[str | int, ...]


@pytest.mark.parametrize(
    ("kind", "removed", "expected"),
    [
        ("plan", ("systems", "a", "rows", 0), "$.systems.b.rows: the numbers of units are not those of the"),
        ("plan", ("systems",), "$.systems: there is no system"),
        ("plan", ("pairs", 0, "rows"), "$.pairs[0].rows: there is no number of units, and no reason"),
        ("curve", ("systems", "a", "points"), "$.systems.a.points: there is no point of the largest size"),
        ("curve", ("systems",), "$.systems: there is no system"),
        ("tuples", ("systems",), "$.systems: there is no system"),
        ("leaks", ("systems",), "$.systems: there is no system"),
        ("tuples", ("systems", "a", "criteria", "head"), "$.systems.a.criteria: 'head' is missing"),
        ("tuples", ("systems", "a", "gains", "spurious"), "$.systems.a.gains: 'spurious' is missing"),
        ("tuples", ("systems", "a", "outcomes", "gold", "type"), "$.systems.a.outcomes.gold: 'type' is miss"),
        ("tuples", ("systems", "a", "events", "trigger_identified"), "$.systems.a.events: 'trigger_identif"),
        ("tuples", ("systems", "a", "sentences", 0, "gold", "mentions"), "[0].gold: there is no mention 0"),
        ("tuples", ("systems", "a", "sentences", 0, "gold", "tuples"), "the other side has no tuple 0"),
        ("evaluation", ("units", "systems", "a", 0), "$.units.systems.b: the measures are not those of the"),
        ("evaluation", ("units", "systems", "a", 0, "paths", 0), "[0].paths: the overall score is missing"),
        ("evaluation", ("units", "systems", "a", 0, "tested"), "$.units.systems.a[0].tested: F1 is missing"),
    ],
)
def test_parts_of_other_documents_fit_together(
    kind: str, removed: Keys, expected: str, tmp_path: Path
) -> None:
    *way, last = removed
    for data in documents.originals():
        document = inner = json.loads(data)
        if document["kind"] == kind and (kind != "evaluation" or "b" in document["systems"]):
            for key in way:
                inner = inner[key]
            break
    if isinstance(last, int) or last in ("head", "spurious", "type", "trigger_identified"):
        del inner[last]
    else:
        inner[last] = type(inner[last])()
    (tmp_path / "t.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        spanwise.load(tmp_path / "t.json")
    assert expected in str(caught.value)


def test_identities_are_counted_for_all_systems_or_for_none(tmp_path: Path) -> None:
    kinds = {json.loads(data)["kind"]: data for data in documents.originals()}
    document = json.loads(kinds["leaks"])
    document["systems"]["a"]["overall"]["identities"] = 1
    (tmp_path / "t.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        spanwise.load(tmp_path / "t.json")
    assert "$.systems: identities are counted for some systems only" in str(caught.value)


@pytest.mark.parametrize("part", ["points", "line"])
def test_sizes_of_a_curve_are_above_0(part: str, tmp_path: Path) -> None:
    kinds = {json.loads(data)["kind"]: data for data in documents.originals()}
    document = json.loads(kinds["curve"])
    document["systems"]["a"][part][0]["size"] = 0
    (tmp_path / "t.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        spanwise.load(tmp_path / "t.json")
    assert f"$.systems.a.{part}[0].size: 0 is not above 0" in str(caught.value)


def test_slices_of_a_result_without_gold_data_are_refused(tmp_path: Path) -> None:
    document = json.loads(next(data for data in documents.originals() if b'"evaluation"' in data[:200]))
    (tmp_path / "t.json").write_text(json.dumps({**document, "inputs": []}), encoding="utf-8")
    with pytest.raises(InputError, match="the gold data are not among the inputs"):
        spanwise.load(tmp_path / "t.json").find_slices(least=1)  # type: ignore[attr-defined]


def test_a_run_belongs_to_one_system(tmp_path: Path) -> None:
    for document in map(json.loads, documents.originals()):
        if document["kind"] == "leaks-study":
            (inner,) = document["datasets"].values()
            inner["runs"]["another"] = next(iter(inner["runs"].values()))
            break
    (tmp_path / "t.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match="a run belongs to two systems"):
        spanwise.load(tmp_path / "t.json")


def test_a_plan_is_for_one_unit_at_least(tmp_path: Path) -> None:
    kinds = {json.loads(data)["kind"]: data for data in documents.originals()}
    document = json.loads(kinds["plan"])
    for system in document["systems"].values():
        system["rows"][0]["units"] = 0
    (tmp_path / "t.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        spanwise.load(tmp_path / "t.json")
    assert "rows[0].units: 0 is not above 0" in str(caught.value)


@pytest.mark.parametrize("kind", ["leaks-study", "tuples-study"])
def test_a_mean_over_datasets_says_over_how_many(kind: str, tmp_path: Path) -> None:
    kinds = {json.loads(data)["kind"]: data for data in documents.originals()}
    document = json.loads(kinds[kind])
    document["systems"]["a"]["datasets"].popitem()
    (tmp_path / "t.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        spanwise.load(tmp_path / "t.json")
    assert "$.systems.a: the scores of 'mean' and of 'datasets' are not the same" in str(caught.value)


@pytest.mark.parametrize("kind", ["leaks", "leaks-study"])
def test_leaks_of_all_systems_have_the_same_parts(kind: str, tmp_path: Path) -> None:
    kinds = {json.loads(data)["kind"]: data for data in documents.originals()}
    document = json.loads(kinds[kind])
    leaks = document if kind == "leaks" else document["datasets"]["d"]
    first, *others = leaks["systems"]
    assert others
    leaks["systems"][first]["labels"].popitem()
    (tmp_path / "t.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        spanwise.load(tmp_path / "t.json")
    assert "the labels, buckets or subsets are not those of the other systems" in str(caught.value)


def test_a_point_of_a_curve_without_predictions_is_refused(tmp_path: Path) -> None:
    """Its precision would be 0/0; the figures of the document once ended in a traceback."""
    kinds = {json.loads(data)["kind"]: data for data in documents.originals()}
    document = json.loads(kinds["confidence"])
    document["systems"]["a"]["curve"][0]["predicted"] = 0
    (tmp_path / "t.json").write_text(json.dumps(document), encoding="utf-8")
    assert main(["figures", str(tmp_path / "t.json"), "-o", str(tmp_path / "figures")]) == 3


def test_documents_of_every_kind_are_damaged() -> None:
    assert {json.loads(data)["kind"] for data in documents.originals()} == set(KINDS)


def test_every_document_is_consistent_as_it_was_written(tmp_path: Path) -> None:
    for number, data in enumerate(documents.originals()):
        (tmp_path / f"{number}.json").write_bytes(data)
        spanwise.load(tmp_path / f"{number}.json")


def test_every_export_takes_or_refuses_every_kind_of_document(tmp_path: Path) -> None:
    for number, data in enumerate(documents.originals()):
        path = tmp_path / f"{number}.json"
        path.write_bytes(data)
        for name in REPORTS.names():
            assert main(["export", str(path), name, "-o", str(tmp_path / "x")]) in (0, 2, 3), (number, name)


@pytest.mark.parametrize(
    ("place", "damage", "expected"),
    [
        ("tough", lambda d: d["systems"]["b"]["tough"].popitem(), "$.systems.b.tough: the subsets are not"),
        ("runs", lambda d: d["comparisons"][0].update(runs=[1]), "$.comparisons[0]: runs has 1 entries"),
    ],
)
def test_systems_and_comparisons_have_the_same_parts(
    place: str, damage: Callable[[Any], object], expected: str, tmp_path: Path
) -> None:
    for data in documents.originals():
        document = json.loads(data)
        if document["kind"] == "evaluation" and document["comparisons"]:
            break
    damage(document)
    (tmp_path / "t.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        spanwise.load(tmp_path / "t.json")
    assert expected in str(caught.value), place


@pytest.mark.parametrize("number", range(40))
def test_damaged_documents_give_a_result_or_a_sentence(number: int, tmp_path: Path) -> None:
    attack = documents.input_of(number)
    (tmp_path / attack.name).write_bytes(attack.data)
    with contextlib.suppress(SpanwiseError):
        documents.use(tmp_path / attack.name, random.Random(number))


# Each of these once ended in a traceback.
@pytest.mark.parametrize("number", [1300, 1541, 1850, 2396, 2735, 4004, 4253, 4373, 6293, 7316, 14255, 24983])
def test_documents_that_once_broke_something_are_refused_in_words(number: int, tmp_path: Path) -> None:
    test_damaged_documents_give_a_result_or_a_sentence(number, tmp_path)


def test_hostile_folders_are_served_or_refused() -> None:
    assert folders.run(12, first=20) == {}


def test_a_document_without_its_gold_file_is_shown_but_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(documents.originals()[0])
    document["inputs"] = [row for row in document["inputs"] if row["role"] != "gold"]
    whole, without = tmp_path / "whole.json", tmp_path / "without.json"
    whole.write_bytes(documents.originals()[0])
    without.write_text(json.dumps(document), encoding="utf-8")
    assert main(["report", str(without), "-o", str(tmp_path / "x.html")]) == 0
    assert main(["table", str(without), "all"]) == 0
    for call in (
        ["compare", str(whole), str(without)],
        ["export", str(whole), "summary", "--against", str(without)],
    ):
        assert main(call) == 3
        assert f"{without}: the gold data are not among the inputs" in capsys.readouterr().err


@pytest.mark.parametrize("beta", [False, True])
@pytest.mark.parametrize("number", range(len(documents.originals())))
def test_a_number_that_no_float_holds_is_refused_wherever_it_stands(
    number: int, beta: bool, tmp_path: Path
) -> None:
    """The decoder reports it only where the value is read, not in what is skipped."""
    text = documents.originals()[number].decode()
    if beta:
        text = re.sub(r'"settings": ?\{', r'\g<0>"beta": 1, ', text, count=1)
    path = tmp_path / "t.json"
    for key in dict.fromkeys(re.findall(r'"(\w+)": ?["\d]', text)):
        changed = re.sub(rf'"{key}": ?("[^"]*"|[-\w.]+)', f'"{key}": 1e999', text, count=1)
        path.write_text(changed, encoding="utf-8")
        with contextlib.suppress(InputError):  # parts that are not read may hold it
            spanwise.load(path)
