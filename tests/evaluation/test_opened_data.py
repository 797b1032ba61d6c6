"""Data that are opened once answer as the functions do for the same files, and read no file twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from watching import entered, opens

import spanwise

WORDS = ("Ida", "Rome", "Oslo", "the", "saw", "of", "May", "Bank")
TAGS = ("O", "O", "O", "B-PER", "B-LOC")


def text(texts: int, errors: int, *, wrong: float) -> str:
    """Sentences with a score and an id of each token, in documents; `texts` is the seed of words and tags."""
    words, noise = Random(texts), Random(errors)
    lines = []
    for number in range(120):
        if number % 4 == 0:
            lines += ["-DOCSTART- 0.5 c0 O", ""]
        for _ in range(words.randint(3, 9)):
            word, tag, person = words.choice(WORDS), words.choice(TAGS), words.randint(0, 30)
            if noise.random() < wrong:
                tag = noise.choice(("O", "B-PER", "B-LOC"))
            lines.append(f"{word} {noise.random():.3f} c{person} {tag}")
        lines.append("")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("opened")
    (path / "gold.conll").write_text(text(5, 1, wrong=0))
    (path / "a.conll").write_text(text(5, 2, wrong=0.2))
    (path / "b.conll").write_text(text(5, 3, wrong=0.3))
    (path / "train.conll").write_text(text(9, 4, wrong=0))
    return path


class Files:
    """The sources of a call."""

    def __init__(self, folder: Path) -> None:
        self.gold = str(folder / "gold.conll")
        self.systems = {name: str(folder / f"{name}.conll") for name in ("a", "b")}
        self.train = str(folder / "train.conll")

    def opened(self, **options: Any) -> spanwise.Data:
        return spanwise.open(self.gold, self.systems, train=self.train, **options)

    def ask(self, function: Callable[..., Any], **options: Any) -> str:
        document: str = function(self.gold, self.systems, train=self.train, **options).to_json()
        return document


@pytest.fixture
def files(folder: Path) -> Files:
    return Files(folder)


def test_each_file_is_opened_once_and_training_words_are_looked_up_once(folder: Path, files: Files) -> None:
    with opens(folder) as seen, entered() as calls:
        data = files.opened(resamples=20, score_column=1, identity=2)
        data.evaluate()
        data.slices(flips=99, least=5)
        data.confidence()
        data.leaks()
        data.describe()
        data.errors("a")
    assert seen == {f"{name}.conll": 1 for name in ("gold", "a", "b", "train")}
    assert calls["attributes/_lexicon.py", "Lexicon.of"] == 1
    assert calls["matching/__init__.py", "fair_and_overlap"] == 2  # once for each system
    assert calls["matching/__init__.py", "match_exact"] == 0


READING: list[dict[str, Any]] = [
    {},
    {"map": {"PER": "LOC", "LOC": "PER"}},  # applied twice, it would change nothing
    {"map": {"PER": "X"}, "without": "LOC"},
    {"scheme": "IOB1", "documents": "none"},
    {"name": "news"},
]


@pytest.mark.parametrize("reading", READING)
@pytest.mark.parametrize("evaluated", [True, False])
def test_answers_are_those_of_the_functions(files: Files, reading: dict[str, Any], evaluated: bool) -> None:
    data = files.opened(score_column=1, identity=2, **reading)
    flips = {"flips": 99, "least": 5}
    if evaluated:
        expected = files.ask(spanwise.evaluate, resamples=20, **reading)
        assert data.evaluate(resamples=20).to_json() == expected
    for over in ("recall", "f1", "hidden"):
        expected = files.ask(spanwise.find_slices, over=over, **flips, **reading)
        assert data.slices(over=over, **flips).to_json() == expected
    expected = files.ask(spanwise.confidence, resamples=20, score_column=1, **reading)
    assert data.confidence(resamples=20).to_json() == expected
    expected = files.ask(spanwise.leaks, resamples=20, identity=2, **reading)
    assert data.leaks(resamples=20).to_json() == expected
    described = spanwise.describe(files.gold, train=files.train, **reading)
    assert data.describe().to_json() == described.to_json()
    result = spanwise.evaluate(files.gold, files.systems, train=files.train, resamples=0, **reading)
    label = sorted(result["b"].exact.labels)[0]
    assert data.errors("b", gold=label, kind="missed") == result.errors("b", gold=label, kind="missed")


def test_options_of_opening_hold_for_all_questions(files: Files) -> None:
    options: dict[str, Any] = {"unit": "sentence", "seed": 3, "buckets": {"entity_length": "1,2"}}
    cut = {**options, "attributes": iter(["entity_length", "label"])}
    data = files.opened(**cut, resamples=20, redact=True)
    cut = {**options, "attributes": ["entity_length", "label"]}
    both = {**cut, "resamples": 20, "redact": True}
    assert data.evaluate().to_json() == files.ask(spanwise.evaluate, **both)
    assert data.leaks().to_json() == files.ask(spanwise.leaks, **both)
    found = files.ask(spanwise.find_slices, flips=99, redact=True, **cut)
    assert data.slices(flips=99).to_json() == found
    own = files.ask(spanwise.evaluate, **{**both, "unit": "document"})
    assert data.evaluate(unit="document").to_json() == own
    assert data.slices(flips=99).to_json() == found  # the evaluation of another unit is not used
    described = spanwise.describe(
        files.gold, train=files.train, attributes=["entity_length", "label"], redact=True
    )
    assert data.describe().to_json() == described.to_json()


def test_gold_alone_is_only_described(files: Files) -> None:
    data = spanwise.open(files.gold)
    assert data.describe().to_json() == spanwise.describe(files.gold).to_json()
    with pytest.raises(spanwise.ChoiceError, match="leaks needs predictions"):
        data.leaks()


def test_a_file_may_hold_gold_and_predictions(folder: Path, tmp_path: Path) -> None:
    gold, mine = ((folder / f"{name}.conll").read_text().splitlines() for name in ("gold", "a"))
    rows = [f"{one} {other.split()[-1]}" if one else "" for one, other in zip(gold, mine, strict=True)]
    merged = tmp_path / "both.conll"
    merged.write_text("\n".join(rows) + "\n")
    data = spanwise.open(merged, resamples=0)
    assert data.evaluate().to_json() == spanwise.evaluate(merged, resamples=0).to_json()


def test_data_in_memory_can_be_opened() -> None:
    gold = [{"tokens": ["Ann", "saw", "Rome"], "tags": ["B-PER", "O", "B-LOC"]}]
    said = [{"tokens": ["Ann", "saw", "Rome"], "tags": ["B-PER", "O", "O"]}]
    data = spanwise.open(gold, {"mine": said}, resamples=0)
    assert repr(data) == "<data '<records>': mine>"
    assert data.evaluate().to_json() == spanwise.evaluate(gold, {"mine": said}, resamples=0).to_json()


def test_columns_of_a_frame_can_be_opened() -> None:
    pandas = pytest.importorskip("pandas")
    columns = {"sentence": [0, 0], "token": ["Ann", "saw"], "expert": ["B-PER", "O"], "crf": ["O", "O"]}
    frame = pandas.DataFrame(columns)
    data = spanwise.open(frame, ["crf"], tag_column="expert", resamples=0)
    expected = spanwise.evaluate(frame, gold="expert", systems=["crf"], resamples=0)
    assert data.evaluate().to_json() == expected.to_json()


def test_a_file_of_tuples_answers_about_mentions_and_tuples(tmp_path: Path) -> None:
    def line(tail: int) -> str:
        mentions = [
            {"id": "m1", "start": 0, "end": 1, "label": "PER"},
            {"id": "m2", "start": tail, "end": 3, "label": "ORG"},
        ]
        fact = {"type": "leads", "roles": {"head": "m1", "tail": "m2"}}
        unit = {"tokens": ["Ida", "runs", "Marrow"], "mentions": mentions, "tuples": [fact]}
        return json.dumps(unit) + "\n"

    gold, mine, train = (tmp_path / f"{name}.jsonl" for name in ("gold", "mine", "train"))
    gold.write_text(line(2) * 6)
    mine.write_text(line(2) * 2 + line(1) * 4)
    train.write_text(line(2))
    with opens(tmp_path) as seen:
        data = spanwise.open(gold, mine, train=train, resamples=20)
        strict, head = data.tuples(), data.tuples(criterion="head")
        evaluated = data.evaluate()
    assert seen == {"gold.jsonl": 1, "mine.jsonl": 1, "train.jsonl": 1}
    assert strict.to_json() == spanwise.tuples(gold, mine, train=train, resamples=20).to_json()
    again = spanwise.tuples(gold, mine, train=train, resamples=20, criterion="head")
    assert head.to_json() == again.to_json()
    assert evaluated.to_json() == spanwise.evaluate(gold, mine, train=train, resamples=20).to_json()
