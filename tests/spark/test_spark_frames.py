"""Spark frames give the same results as files, for any number of partitions; errors name file and row."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sparking import Table, frame, session, table

import spanwise
from spanwise.demo import Demo, generate
from spanwise.engines import spark
from spanwise.engines.spark import SparkEngine
from spanwise.errors import InputError

evaluate = partial(spanwise.evaluate, resamples=20, attributes="all", name="demo")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return generate(tmp_path_factory.mktemp("demo"), sentences=40)


def spans(path: Path) -> list[list[dict[str, object]]]:
    """The mentions of each sentence, as structs."""
    annotation = spanwise.read(path)
    by_sentence: list[list[dict[str, object]]] = [[] for _ in range(len(annotation.corpus))]
    for sentence, start, end, label in annotation.mentions.rows():
        by_sentence[sentence].append({"start": start, "end": end, "label": label})
    return by_sentence


def numbers(text: str) -> object:
    """A document without the parts that differ between files and frames."""
    document = json.loads(text)
    for key in ("inputs", "signature", "command"):
        document.pop(key, None)
    for sentence in document["sentences"]:
        del sentence["source"], sentence["document"]
    return document


def test_a_frame_gives_the_same_numbers_as_files_for_any_number_of_partitions(
    demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "ROWS", 7)
    rows = table(demo.gold)
    for name, path in demo.systems.items():
        rows[name] = table(path, name)[name]
    gold, train = (
        frame(tmp_path / "gold.parquet", rows),
        frame(tmp_path / "train.parquet", table(demo.train)),
    )
    documents = [
        evaluate(
            gold, gold="tags", systems={name: name for name in demo.systems}, tokens="tokens",
            document="doc_id", sentence="place", train=train, engine=SparkEngine(session(), partitions),
        ).to_json()
        for partitions in (1, 7)
    ]  # fmt: skip
    assert documents[0] == documents[1]
    expected = evaluate(demo.gold, demo.systems, train=demo.train).to_json()
    assert numbers(documents[0]) == numbers(expected)


def test_columns_of_spans_give_the_same_numbers(demo: Demo, tmp_path: Path) -> None:
    name, path = next(iter(demo.systems.items()))
    rows = {**table(demo.gold), "gold": spans(demo.gold), "found": spans(path)}
    rows_frame = frame(tmp_path / "gold.parquet", rows)
    result = evaluate(
        rows_frame,
        gold="gold",
        systems={name: "found"},
        document="doc_id",
        sentence="place",
        engine=session(),
    )
    assert numbers(result.to_json()) == numbers(evaluate(demo.gold, {name: path}).to_json())


def test_a_malformed_tag_is_named_by_its_file_and_row(tmp_path: Path) -> None:
    tags = [["B-PER"], ["O"], ["PER"], ["O"]]
    rows = {"tokens": [["a"]] * 4, "tags": tags, "predicted": [["O"]] * 4}
    given = frame(tmp_path / "some.parquet", rows)
    with pytest.raises(InputError) as caught:
        spanwise.evaluate(given, gold="tags", systems={"mine": "predicted"})
    assert str(caught.value).startswith(f"{tmp_path}/some.parquet:3: token 1: 'PER' is ")


def test_separate_frames_are_joined_and_rows_without_a_partner_are_reported(tmp_path: Path) -> None:
    gold: Table = {
        "id": [1, 2, 3],
        "tokens": [["a"], ["b"], ["c"]],
        "tags": [["B-X"], ["O"], ["B-Y"]],
    }
    gold_frame = frame(tmp_path / "gold.parquet", gold)
    tags = [["B-X"], ["O"], ["B-X"]]
    predicted = frame(tmp_path / "predicted.parquet", {"id": [3, 2, 1], "tags": tags[::-1]})
    evaluate = partial(spanwise.evaluate, gold="tags", tokens="tokens", sentence="id", resamples=0)
    result = evaluate(gold_frame, systems={"mine": predicted})
    expected = spanwise.evaluate(gold["tags"], {"mine": tags}, resamples=0)
    assert result["mine"].exact == expected["mine"].exact
    fewer = predicted.where("id != 2")
    with pytest.raises(InputError, match=r"1 sentence that gold has, but .*; the first is 2"):
        evaluate(gold_frame, systems={"mine": fewer})
    with pytest.raises(InputError, match=r"2 sentences that these predictions have, .* is 1"):
        evaluate(gold_frame.where("id = 3"), systems={"mine": predicted})


class Row:
    """A random sentence: its id, its words, and the spans of gold and of two systems."""

    def __init__(self, number: int, words: list[str], layers: list[list[tuple[int, int, str]]]) -> None:
        self.number, self.words, self.layers = number, words, layers

    def tags(self, layer: int) -> list[str]:
        tags = ["O"] * len(self.words)
        for start, end, label in self.layers[layer]:
            tags[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
        return tags

    def structs(self, layer: int) -> list[dict[str, object]]:
        return [{"start": start, "end": end, "label": label} for start, end, label in self.layers[layer]]


@st.composite
def rows_of_sentences(draw: st.DrawFn) -> list[Row]:
    """Sentences in random order, each with mentions that do not overlap."""
    rows = []
    for number in draw(st.lists(st.integers(0, 99), min_size=1, max_size=9, unique=True)):
        words = draw(st.lists(st.sampled_from(["a", "b", "A", "B1", "7"]), min_size=1, max_size=6))
        layers = []
        for _ in range(3):
            borders = sorted(draw(st.sets(st.integers(0, len(words)))))
            pairs = zip(borders[::2], borders[1::2], strict=False)
            layers.append([(start, end, draw(st.sampled_from("XY"))) for start, end in pairs])
        rows.append(Row(number, words, layers))
    return rows


@settings(deadline=None, derandomize=True, max_examples=5, suppress_health_check=list(HealthCheck))
@given(rows_of_sentences(), st.sampled_from([(0, ()), (0, ()), (1, ()), (2, ()), (0, (105, 103))]))
def test_random_frames_give_the_numbers_of_lists_and_report_rows_without_a_partner(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], fault: tuple[int, tuple[int, ...]]
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    whole, text = pyarrow.int64(), pyarrow.string()
    span = pyarrow.struct([("start", whole), ("end", whole), ("label", text)])
    folder, fewer, more = tmp_path_factory.mktemp("drawn"), min(fault[0], len(rows) - 1), fault[1]
    gold = frame(
        folder / "gold.parquet",
        {
            "id": [row.number for row in rows],
            "words": [row.words for row in rows],
            "tags": [row.tags(0) for row in rows],
            "spans": pyarrow.array([row.structs(1) for row in rows], pyarrow.list_(span)),
        },
    )
    ordered = sorted(rows, key=lambda row: row.number)
    lacking = {row.number for row in rows[:fewer]}
    others = [*reversed(rows[fewer:]), *(Row(number, ["a"], [[], [], []]) for number in more)]
    predicted = frame(
        folder / "predicted.parquet",
        {"id": [row.number for row in others], "tags": [row.tags(2) for row in others]},
    )
    evaluate = partial(spanwise.evaluate, resamples=10, attributes="all", name="drawn", scheme="IOB2")
    on_frames = partial(
        evaluate, gold, systems={"a": "spans", "b": predicted}, gold="tags", tokens="words", sentence="id"
    )
    alone = {"gold has, but not these predictions": lacking, "these predictions have, but not gold": more}
    for trouble, numbers_alone in alone.items():
        if numbers_alone:
            sentences = "1 sentence" if len(numbers_alone) == 1 else f"{len(numbers_alone)} sentences"
            message = rf"{sentences} that {trouble}; the first is {min(numbers_alone)}\."
            with pytest.raises(InputError, match=message):
                on_frames(engine=session())
            return
    result = on_frames(engine=SparkEngine(session(), 2))
    tokens = [row.words for row in ordered]
    lists = {"a": [row.layers[1] for row in ordered], "b": [row.tags(2) for row in ordered]}
    expected = evaluate([row.tags(0) for row in ordered], lists, tokens=tokens)
    documents = [json.loads(document.to_json()) for document in (result, expected)]
    assert (
        documents[0]["systems"] == documents[1]["systems"]
        and documents[0]["comparisons"] == documents[1]["comparisons"]
    )
    assert documents[0]["dataset"] == documents[1]["dataset"]
