"""Real and random corpora give the same bytes on Spark as on one machine, for any number of partitions."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parts import small_parts
from sparking import session

import spanwise
from spanwise.corpus import Annotation, Mentions
from spanwise.demo import generate
from spanwise.engines.spark import SparkEngine

evaluate = partial(spanwise.evaluate, attributes="all", resamples=50)


def noisy(gold: Path, path: Path, seed: int) -> Path:
    """Predictions that drop one in ten gold mentions and relabel another."""
    annotation, draw = spanwise.read(gold), random.Random(seed)
    rows = [
        (sentence, start, end, label if draw.random() > 0.1 else "ORG")
        for sentence, start, end, label in annotation.mentions.rows()
        if draw.random() > 0.1
    ]
    spanwise.write(Annotation(annotation.corpus, Mentions.of(rows)), path, format="conll")
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
            {system: where / f"{system}.txt" for system in ("flair", "elmo")},
            where / "train.txt",
        )
    if corpus == "conll2002-es":
        gold = where / "test.txt"
        return (
            gold,
            {f"s{seed}": noisy(gold, folder / f"{seed}.txt", seed) for seed in (1, 2)},
            where / "train.txt",
        )
    systems = {system: where / "predictions" / f"{system}.1.txt" for system in ("mbert", "afroxlmr")}
    return where / "test.txt", systems, where / "train.txt"


@pytest.mark.parametrize(
    ("corpus", "partitions"),
    [("demo", 1), ("wnut16", 3), ("masakhaner/ewe", 7), ("conll2002-es", 32)],
)
def test_files_give_the_same_bytes_on_spark_as_on_one_machine(
    corpus: str, partitions: int, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = SparkEngine(session(), partitions)
    gold, systems, train = files_of(corpus, data, tmp_path)
    expected = evaluate(gold, systems, train=train).to_json()
    small_parts(monkeypatch, tokens=1500, training=10_000)
    result = evaluate(gold, systems, train=train, engine=engine)
    assert result.to_json() == expected


Sentences: TypeAlias = list[list[tuple[str, str, str]]]  # word, gold tag, predicted tag
WORDS = st.sampled_from(["a", "b", "A", "B1", "7", "c-d"])
TAGS = st.sampled_from(["O", "O", "B-X", "I-X", "B-Y", "I-Y"])
SENTENCES = st.lists(st.lists(st.tuples(WORDS, TAGS, TAGS), min_size=1, max_size=6), min_size=1, max_size=8)


@settings(deadline=None, derandomize=True, max_examples=4, suppress_health_check=list(HealthCheck))
@given(SENTENCES, SENTENCES, st.booleans())
def test_random_corpora_give_the_same_bytes_on_spark_as_on_one_machine(
    tmp_path_factory: pytest.TempPathFactory, test: Sentences, train: Sentences, lowercase: bool
) -> None:
    engine, folder = SparkEngine(session(), 3), tmp_path_factory.mktemp("drawn")
    for name, sentences, column in (("gold", test, 1), ("mine", test, 2), ("train", train, 1)):
        text = "\n".join("".join(f"{row[0]} {row[column]}\n" for row in sentence) for sentence in sentences)
        (folder / name).write_text(text, encoding="utf-8")
    evaluate = partial(
        spanwise.evaluate, folder / "gold", {"mine": folder / "mine"}, train=folder / "train",
        attributes="all", lowercase=lowercase, resamples=10, scheme="IOB2",
    )  # fmt: skip
    expected = evaluate().to_json()
    with pytest.MonkeyPatch.context() as monkeypatch:
        small_parts(monkeypatch, tokens=5, training=5)
        result = evaluate(engine=engine)
    assert result.to_json() == expected
