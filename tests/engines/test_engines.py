"""Evaluations give the same result in memory, in blocks and in several processes."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from parts import small_parts

import spanwise
from spanwise.calibration import TokenScores
from spanwise.columns import floats
from spanwise.demo import Demo
from spanwise.engines import InProcess, Processes, local_engine
from spanwise.errors import InputError

Engine = Callable[[], dict[str, Any]]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"unit": "sentence", "attributes": "all", "lowercase": True},
        {"cross": [("entity_length", "label")], "weights": ["ortmann-eq7"], "examples": "all"},
        {"examples_cap": 7, "redact": True},
    ],
)
def test_every_engine_gives_the_same_bytes(demo: Demo, engine: Engine, options: dict[str, Any]) -> None:
    given = {"train": demo.train, "resamples": 20, **options}
    expected = spanwise.evaluate(demo.gold, demo.systems, **given).to_json()
    assert spanwise.evaluate(demo.gold, demo.systems, **given, **engine()).to_json() == expected


def test_a_system_that_cannot_fork_gives_the_same_bytes(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, where blocks run one after the other however many workers are asked for."""
    small_parts(monkeypatch, training=90)
    manifest = {
        "predictions": "{system}.conll", "resamples": 20, "attributes": "fu20",
        "datasets": {"demo": {"test": demo.gold.name, "train": demo.train.name}},
        "systems": {name: {} for name in demo.systems},
    }  # fmt: skip

    def made(workers: int) -> list[str]:
        result = spanwise.evaluate(demo.gold, demo.systems, train=demo.train, resamples=20, workers=workers)
        study = spanwise.study(manifest, root=demo.gold.parent, cache=False, workers=workers)
        return [result.to_json(), study.to_json()]

    expected = made(2)
    monkeypatch.delattr("os.fork")
    assert made(2) == expected


@pytest.mark.parametrize("options", [{}, {"documents": "none", "lowercase": True, "examples": 2}])
def test_every_engine_gives_the_same_description(
    demo: Any, engine: Engine, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    small_parts(monkeypatch, training=90)
    for train in (None, [demo.train, next(iter(demo.systems.values()))]):  # the system contradicts gold
        expected = spanwise.describe(demo.gold, train=train, **options).to_json()
        assert spanwise.describe(demo.gold, train=train, **options, **engine()).to_json() == expected


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"over": "f1", "confirm": True, "depth": 3},
        {"over": "f1", "unit": "sentence", "attributes": "all", "lowercase": True, "redact": True},
    ],
)
def test_every_engine_gives_the_same_slices(demo: Demo, engine: Engine, options: dict[str, Any]) -> None:
    for train in (None, demo.train):
        given = {"train": train, "least": 5, "flips": 99, "level": 0.5, **options}
        expected = spanwise.find_slices(demo.gold, demo.systems, **given).to_json()
        assert spanwise.find_slices(demo.gold, demo.systems, **given, **engine()).to_json() == expected


@pytest.fixture(scope="module")
def scored(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Gold, and predictions with a score for every span or (in a column) for every token."""
    folder = tmp_path_factory.mktemp("scored")
    paths = {"gold": folder / "gold.jsonl"}
    spanwise.write(spanwise.read(demo.gold), paths["gold"])
    draw = random.Random(3)
    for name, path in demo.systems.items():
        annotation = spanwise.read(path)
        scores = [draw.choice([0.25, 0.5, 0.75, 0.9]) for _ in range(len(annotation.mentions))]
        paths[name] = folder / f"{name}.jsonl"
        spanwise.write(
            replace(annotation, mentions=replace(annotation.mentions, score=floats(scores))), paths[name]
        )
        lines = path.read_text(encoding="utf-8").splitlines()
        columns = [
            f"{line} {draw.random():.2f}" if " " in line and "DOC" not in line else line for line in lines
        ]
        paths[f"{name}-tokens"] = folder / f"{name}.conll"
        paths[f"{name}-tokens"].write_text("\n".join(columns) + "\n", encoding="utf-8")
    return paths


@pytest.mark.parametrize(
    "options",
    [
        {"resamples": 20},
        {"resamples": 0, "attributes": "fu20,label", "unit": "sentence"},
        {"resamples": 0, "missing": "lowest", "recall": 0.3},
    ],
)
def test_every_engine_gives_the_same_confidence(
    demo: Demo, scored: dict[str, Path], engine: Engine, options: dict[str, Any]
) -> None:
    spans = {name: scored[name] for name in demo.systems}
    weighed = partial(
        spanwise.confidence, scored["gold"], spans, train=demo.train, dev=(scored["gold"], spans), **options
    )
    assert weighed(**engine()).to_json() == weighed().to_json()


@pytest.mark.parametrize("token_scores", ["product", "mean", "min"])
def test_every_engine_makes_the_same_scores_from_tokens(
    demo: Demo, scored: dict[str, Path], engine: Engine, token_scores: TokenScores
) -> None:
    tokens = {name: scored[f"{name}-tokens"] for name in demo.systems}
    weighed = partial(
        spanwise.confidence, demo.gold, tokens, score_column=2, tag_column=1, token_scores=token_scores,
        resamples=0,
    )  # fmt: skip
    assert weighed(**engine()).to_json() == weighed().to_json()


@pytest.mark.parametrize("options", [{"top": None}, {"top": 3, "redact": True}])
def test_every_engine_gives_the_same_suspects(
    demo: Demo,
    scored: dict[str, Path],
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
) -> None:
    small_parts(monkeypatch, training=90)
    first, second, third = (scored[name] for name in demo.systems)
    voters: dict[str, Any] = {"runs": [first, second, third], "two": second, "three": third}
    for systems in ({}, {"two": second}, {"two": second, "three": third}, voters):
        suspects = partial(
            spanwise.suspects, scored["gold"], systems, train=demo.train, dev=[demo.gold, first], **options
        )
        assert suspects(**engine()).to_json() == suspects().to_json()


def test_every_engine_finds_suspects_by_votes_alone_if_a_text_is_missing(
    demo: Demo, scored: dict[str, Path], engine: Engine, tmp_path: Path
) -> None:
    spans = tmp_path / "train.spans"
    spanwise.write(spanwise.read(demo.train), spans, lossy=True)
    systems = {name: scored[name] for name in demo.systems}
    find = partial(spanwise.suspects, scored["gold"], systems, train=spans)
    assert find(**engine()).to_json() == find().to_json()
    assert "variation needs text; suspects rest only on votes" in find().notes


def test_the_first_mention_without_a_score_is_named_wherever_blocks_run(
    demo: Demo, scored: dict[str, Path], engine: Engine, tmp_path: Path
) -> None:
    predicted = spanwise.read(scored["memoriser"])
    score = np.array(predicted.mentions.score)
    score[len(score) // 2 :: 3] = np.nan
    some = tmp_path / "some.jsonl"
    spanwise.write(replace(predicted, mentions=replace(predicted.mentions, score=floats(score))), some)
    messages = []
    for options in ({}, engine()):
        with pytest.raises(InputError, match=r"has no score \(\d+ of \d+ mentions\)") as caught:
            spanwise.confidence(scored["gold"], some, resamples=0, **options)
        messages.append(str(caught.value))
    assert messages[0] == messages[1] and "some.jsonl:" in messages[0]


@pytest.mark.parametrize("suffix", [".jsonl", ".spans"])
def test_every_format_gives_the_same_bytes(demo: Demo, engine: Engine, tmp_path: Path, suffix: str) -> None:
    paths = {}
    for name, path in {"gold": demo.gold, **demo.systems}.items():
        paths[name] = tmp_path / f"{name}{suffix}"
        spanwise.write(spanwise.read(path), paths[name], lossy=suffix == ".spans")
    gold = paths.pop("gold")
    expected = spanwise.evaluate(gold, paths, train=demo.train, resamples=0).to_json()
    result = spanwise.evaluate(gold, paths, train=demo.train, resamples=0, **engine())
    assert result.to_json() == expected
    slices = partial(spanwise.find_slices, gold, paths, train=demo.train, least=5, flips=19)
    assert slices(**engine()).to_json() == slices().to_json()


def test_progress_reports_every_step_until_it_is_done(demo: Demo, engine: Engine) -> None:
    reports: list[tuple[str, int, int]] = []

    def report(step: str, done: int, total: int) -> None:
        reports.append((step, done, total))

    spanwise.evaluate(demo.gold, demo.systems, resamples=0, progress=report, **engine())
    assert list(dict.fromkeys(step for step, _, _ in reports)) == ["read", "look", "count"]
    for step in ("read", "look", "count"):
        done = [number for name, number, _ in reports if name == step]
        total = {number for name, _, number in reports if name == step}
        assert done == sorted(done) and len(total) == 1 and done[-1] == total.pop()


class Pickling:
    """An engine that pickles everything, as if blocks ran on another machine."""

    elsewhere = True

    def map(self, function: Any, blocks: Iterable[Any], shared: Any) -> Iterator[Any]:
        sent = pickle.dumps(shared)
        for block in blocks:
            received, received_shared = pickle.loads(pickle.dumps(block)), pickle.loads(sent)
            yield pickle.loads(pickle.dumps(function(received, received_shared)))


@pytest.mark.parametrize("options", [{}, {"memory": "1GB"}])
def test_functions_blocks_and_shared_facts_can_be_sent_elsewhere(
    demo: Demo, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    small_parts(monkeypatch, tokens=60)
    keywords: dict[str, Any] = {"train": demo.train, "resamples": 20, "attributes": "all"}
    expected = spanwise.evaluate(demo.gold, demo.systems, **keywords).to_json()
    result = spanwise.evaluate(demo.gold, demo.systems, engine=Pickling(), **keywords, **options)
    assert result.to_json() == expected


def square(number: int, shared: int) -> int:
    return number**2 + shared


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_the_order_of_the_blocks(workers: int) -> None:
    engine = local_engine(workers)
    assert isinstance(engine, InProcess if workers == 1 else Processes)
    assert list(engine.map(square, range(20), 1)) == [number**2 + 1 for number in range(20)]
