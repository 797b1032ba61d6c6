"""Slices after an evaluation use its matching and buckets, and equal those found from the sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spanwise
from spanwise.cli.main import main
from spanwise.demo import generate
from spanwise.document.evaluation import Evaluation
from spanwise.evaluation import tables
from spanwise.evaluation.choices import Choices
from spanwise.evaluation.counting import Whole
from spanwise.evaluation.dataset import UnopenedSources, open_sources
from spanwise.evaluation.tables import Walked

WORDS = st.sampled_from(["Rome", "Oslo", "May", "the"])
SPANS = st.tuples(st.integers(0, 2), st.integers(1, 2), st.sampled_from(["LOC", "PER"]))
TEXTS = st.lists(WORDS, min_size=4, max_size=4)
MENTIONS = st.lists(SPANS, max_size=4, unique=True)
SENTENCES = st.lists(st.tuples(TEXTS, MENTIONS, MENTIONS), min_size=1, max_size=5)
Sentence = tuple[list[str], list[tuple[int, int, str]], list[tuple[int, int, str]]]


def spans_of(sentences: list[Sentence], side: int) -> list[dict[str, Any]]:
    """Records with tokens and spans, some of them overlapping."""
    return [
        {
            "tokens": sentence[0],
            "spans": [
                {"start": start, "end": start + size, "label": label}
                for start, size, label in (sentence[1], sentence[2])[side]
            ],
        }
        for sentence in sentences
    ]


TRAIN = spans_of([(["Rome", "the", "May", "Oslo"], [(0, 1, "LOC"), (2, 1, "PER"), (2, 2, "LOC")], [])], 0)


def whole_of(result: spanwise.Result) -> Whole:
    live = result.in_memory
    assert isinstance(live, Whole)
    return live


@pytest.mark.parametrize("matcher", ["fair", "exact"])
@given(SENTENCES)
@settings(max_examples=60)
def test_the_columns_of_an_evaluation_are_those_of_a_walk_of_its_own(
    matcher: str, sentences: list[Sentence]
) -> None:
    gold, mine = (spans_of(sentences, side) for side in (0, 1))
    result = spanwise.evaluate(gold, {"mine": mine}, matcher=matcher, train=TRAIN, resamples=0)
    whole = whole_of(result)
    choices = Choices.of_mentions(attributes=["fu20", "label"], buckets=None, reading={})
    again, _ = tables.walk_again(whole, choices, tough=True)
    assert again is not None
    assert whole.inputs is not None
    opened = open_sources(UnopenedSources(whole.inputs, None, None, choices), always_tough=True)
    context = opened.fix_facts()
    parts = [
        tables.tally(context.source.open(reference), context, tough=True)
        for reference in context.source.references()
    ]
    assert written(again) == written(Walked.of(parts, context))


def written(walked: Walked) -> dict[str, Any]:
    assert walked.facts is not None
    return {
        "gold": {name: column.tolist() for name, column in walked.tables.gold.columns.items()},
        "predicted": {
            name: column.tolist() for name, column in walked.tables.systems["mine"].columns.items()
        },
        "buckets": {name: cut.to_dict() for name, cut in walked.bucketings.items()},
        "strategies": dict(walked.facts.strategies),
        "absent": dict(walked.facts.absent),
        "inputs": walked.inputs,
        "unit": walked.unit,
    }


OPTIONS: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    ({}, {}, True),
    ({"attributes": "none"}, {}, False),
    ({"buckets": {"entity_length": "1,2"}}, {}, False),
    ({}, {"buckets": {"entity_length": "1,2"}}, False),
    ({"lowercase": True}, {}, False),
    ({}, {"attributes": ["entity_length", "label"]}, True),
    ({}, {"over": "f1"}, True),
    ({}, {"over": "hidden"}, True),
    ({"unit": "block:2"}, {}, True),
]


@pytest.mark.parametrize(("evaluating", "slicing", "reused"), OPTIONS)
@pytest.mark.parametrize("trained", [True, False])
def test_slices_after_an_evaluation_equal_those_from_the_sources(
    evaluating: dict[str, Any], slicing: dict[str, Any], reused: bool, trained: bool
) -> None:
    sentences: list[Sentence] = [
        (["Rome", "saw", "Oslo", "May"], [(0, 1, "LOC"), (2, 2, "PER")], [(0, 1, "LOC"), (2, 1, "PER")]),
        (["May", "the", "Rome", "Oslo"], [(0, 1, "PER")], [(0, 1, "LOC"), (2, 2, "PER")]),
    ] * 12
    gold, mine = (spans_of(sentences, side) for side in (0, 1))
    train = gold[:1] if trained else None
    options = {"flips": 99, "least": 2, **slicing}
    result = spanwise.evaluate(gold, {"mine": mine}, train=train, resamples=0, **evaluating)
    assert result.find_slices(**options) == spanwise.find_slices(gold, {"mine": mine}, train=train, **options)
    attributes = slicing.get("attributes", ["fu20", "label"])
    choices = Choices.of_mentions(attributes=attributes, buckets=slicing.get("buckets"), reading={})
    again, _ = tables.walk_again(whole_of(result), choices, tough=True)
    # Without training data, no attribute needs another look at them.
    if reused or (not trained and evaluating == {"attributes": "none"}):
        assert again is not None
    else:
        assert again is None


@pytest.mark.parametrize("over", ["recall", "f1"])
def test_a_saved_result_has_the_slices_of_its_files(over: str, tmp_path: Path) -> None:
    demo = generate(tmp_path, sentences=400)
    systems = {name: demo.systems[name] for name in ("shortsighted", "memoriser")}
    spanwise.evaluate(demo.gold, systems, train=demo.train, resamples=0).to_json(tmp_path / "r.json")
    saved = spanwise.load(tmp_path / "r.json")
    assert isinstance(saved, Evaluation)
    own = saved.find_slices(over=over, confirm=True, flips=200).to_dict()
    options: dict[str, Any] = {"over": over, "confirm": True, "flips": 200}
    whole = spanwise.find_slices(demo.gold, systems, train=demo.train, **options).to_dict()
    assert whole["systems"]["memoriser"]["slices"]
    assert {**own, "inputs": ()} == {**whole, "inputs": ()}
    assert [row["sha256"] for row in own["inputs"]] == [row["sha256"] for row in whole["inputs"]]


def test_labels_that_gold_lacks_are_one_bucket_of_a_saved_result(tmp_path: Path) -> None:
    demo = generate(tmp_path, sentences=300)
    other = tmp_path / "other.conll"
    other.write_text(demo.systems["swapper"].read_text(encoding="utf-8").replace("-PER", "-HUMAN"), "utf-8")
    spanwise.evaluate(demo.gold, {"mine": other}, train=demo.train, resamples=0).to_json(tmp_path / "r.json")
    saved = spanwise.load(tmp_path / "r.json")
    assert isinstance(saved, Evaluation)
    options: dict[str, Any] = {"over": "f1", "flips": 99, "least": 5}
    own = saved.find_slices(**options).to_dict()
    whole = spanwise.find_slices(demo.gold, {"mine": other}, train=demo.train, **options).to_dict()
    assert {**own, "inputs": ()} == {**whole, "inputs": ()}


def test_the_commands_read_saved_results_or_name_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demo = generate(tmp_path, sentences=300)
    result = tmp_path / "r.json"
    swapper = str(demo.systems["swapper"])
    assert main(["evaluate", str(demo.gold), f"s={swapper}", "--quiet", "--json", str(result)]) == 0
    assert main(["slices", str(result), "--flips", "99", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == "slices" and found["settings"]["command"].endswith("--json -")
    assert main(["confidence", str(result)]) == 2
    assert f"spanwise confidence {demo.gold} s={swapper}" in capsys.readouterr().err
    assert main(["slices", str(result), "--over", "hidden"]) == 2
    assert f"spanwise slices {demo.gold} s={swapper}" in capsys.readouterr().err
    assert main(["slices", str(result), "--attributes", "entity_length"]) == 2
    assert main(["slices", str(result), "--train", str(demo.train)]) == 2
