"""Real and drawn corpora give the bytes of one machine on Spark, for any number of partitions."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sparking import session

import spanwise
from spanwise.corpus import Annotation, Mentions
from spanwise.demo import generate
from spanwise.engines.spark import SparkEngine
from spanwise.evaluation import _blocks

EVERYTHING: dict[str, Any] = {"attributes": "all", "resamples": 50}


def noisy(gold: Path, path: Path, seed: int) -> Path:
    """Predictions that leave out or rename one in ten gold mentions."""
    one, draw = spanwise.read(gold), random.Random(seed)
    rows = [
        (sentence, start, end, label if draw.random() > 0.1 else "ORG")
        for sentence, start, end, label in one.mentions.rows()
        if draw.random() > 0.1
    ]
    spanwise.write(Annotation(one.corpus, Mentions.of(rows)), path, format="conll")
    return path


def files_of(corpus: str, data: Path, folder: Path) -> tuple[Path, dict[str, Path], Path]:
    """Gold, two systems and training data of a corpus."""
    if corpus == "demo":
        demo = generate(folder)
        return demo.gold, dict(list(demo.systems.items())[:2]), demo.train
    where = data / corpus
    if corpus == "wnut16":
        return (
            where / "test.txt",
            {one: where / f"{one}.txt" for one in ("flair", "elmo")},
            where / "train.txt",
        )
    if corpus == "conll2002-es":
        gold = where / "test.txt"
        return (
            gold,
            {f"s{seed}": noisy(gold, folder / f"{seed}.txt", seed) for seed in (1, 2)},
            where / "train.txt",
        )
    systems = {one: where / "predictions" / f"{one}.1.txt" for one in ("mbert", "afroxlmr")}
    return where / "test.txt", systems, where / "train.txt"


@pytest.mark.parametrize(
    ("corpus", "partitions"),
    [("demo", 1), ("wnut16", 3), ("masakhaner/ewe", 7), ("conll2002-es", 32)],
)
def test_files_give_the_bytes_of_one_machine(
    corpus: str, partitions: int, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = SparkEngine(session(), partitions)
    gold, systems, train = files_of(corpus, data, tmp_path)
    expected = spanwise.evaluate(gold, systems, train=train, **EVERYTHING).to_json()
    monkeypatch.setattr(_blocks, "LEAST_TOKENS", 1500)
    monkeypatch.setattr(_blocks, "BYTES_PER_TOKEN", 1 << 60)
    monkeypatch.setattr(_blocks, "TRAINING_TOKENS", 10_000)
    found = spanwise.evaluate(gold, systems, train=train, engine=engine, **EVERYTHING)
    assert found.to_json() == expected


WORDS = st.sampled_from(["a", "b", "A", "B1", "7", "c-d"])
TAGS = st.sampled_from(["O", "O", "B-X", "I-X", "B-Y", "I-Y"])
SENTENCES = st.lists(st.lists(st.tuples(WORDS, TAGS, TAGS), min_size=1, max_size=6), min_size=1, max_size=8)


@settings(deadline=None, derandomize=True, max_examples=4, suppress_health_check=list(HealthCheck))
@given(SENTENCES, SENTENCES, st.booleans())
def test_drawn_corpora_give_the_bytes_of_one_machine(
    tmp_path_factory: pytest.TempPathFactory, test: Any, train: Any, lowercase: bool
) -> None:
    engine, folder = SparkEngine(session(), 3), tmp_path_factory.mktemp("drawn")
    for name, sentences, column in (("gold", test, 1), ("mine", test, 2), ("train", train, 1)):
        text = "\n".join("".join(f"{row[0]} {row[column]}\n" for row in one) for one in sentences)
        (folder / name).write_text(text, encoding="utf-8")
    options: dict[str, Any] = {
        "train": folder / "train",
        "lowercase": lowercase,
        "resamples": 10,
        "scheme": "IOB2",
    }
    call = (folder / "gold", {"mine": folder / "mine"})
    expected = spanwise.evaluate(*call, attributes="all", **options).to_json()
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(_blocks, "LEAST_TOKENS", 5)
        monkeypatch.setattr(_blocks, "BYTES_PER_TOKEN", 1 << 60)
        monkeypatch.setattr(_blocks, "TRAINING_TOKENS", 5)
        found = spanwise.evaluate(*call, attributes="all", engine=engine, **options)
    assert found.to_json() == expected
