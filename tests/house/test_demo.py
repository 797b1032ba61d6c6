"""The demo corpus is deterministic, has the requested size, and its planted weaknesses are found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spanwise
from spanwise.cli.main import main
from spanwise.demo import SYSTEMS, Demo, generate, verdicts
from spanwise.errors import ChoiceError


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return generate(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def result(demo: Demo) -> spanwise.Result:
    return spanwise.evaluate(demo.gold, dict(demo.systems), train=demo.train, resamples=50)


@pytest.mark.parametrize("system", [system.name for system in SYSTEMS])
def test_each_planted_weakness_is_found(result: spanwise.Result, system: str) -> None:
    verdict = next(verdict for verdict in verdicts(result.to_dict()) if verdict.system == system)
    assert verdict.found, verdict


@pytest.mark.parametrize("seed", [1, 2])
def test_the_weaknesses_are_found_with_other_seeds(tmp_path: Path, seed: int) -> None:
    demo = generate(tmp_path, seed=seed)
    result = spanwise.evaluate(demo.gold, dict(demo.systems), train=demo.train, resamples=0)
    assert [verdict.found for verdict in verdicts(result.to_dict())] == [True, True, True]


def test_a_perfect_system_in_place_of_a_flawed_one_shows_no_weakness(demo: Demo) -> None:
    systems = {system.name: demo.gold for system in SYSTEMS}
    document = spanwise.evaluate(demo.gold, systems, train=demo.train, resamples=0).to_dict()
    assert not any(verdict.found for verdict in verdicts(document))


def test_the_systems_score_about_the_same(result: spanwise.Result) -> None:
    scores = [row["exact"]["overall"]["f1"] for row in result.to_dict()["systems"].values()]
    assert max(scores) - min(scores) < 0.02


def test_the_corpus_is_interesting_to_evaluate(result: spanwise.Result) -> None:
    dataset = result.to_dict()["dataset"]
    tough = dataset["tough"]
    assert dataset["documents"] > 60
    assert tough["UNSEEN-ANY"]["overall"]["share"] > 0.25
    assert tough["TCM-ALL"]["overall"]["mentions"] > 50  # cities that are teams too
    lengths = result.to_dict()["systems"]["swapper"]["attributes"]["entity_length"]["buckets"]
    assert [bucket["gold"] > 100 for bucket in lengths] == [True] * 4


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    def everything(name: str, seed: int) -> list[bytes]:
        demo = generate(tmp_path / name, sentences=50, seed=seed)
        return [path.read_bytes() for path in (demo.train, demo.gold, *demo.systems.values())]

    first = everything("a", 3)
    assert everything("b", 3) == first
    assert everything("c", 4) != first


def test_no_file_has_an_impossible_tag(demo: Demo) -> None:
    for path in (demo.gold, demo.train, *demo.systems.values()):
        assert spanwise.read(path, scheme="IOB2").reading.repairs == 0


def test_every_kind_of_error_occurs(result: spanwise.Result) -> None:
    fair = [system["fair"]["overall"] for system in result.to_dict()["systems"].values()]
    for kind in ("LE", "BEs", "BEl", "LBE", "FN", "FP"):
        assert all(counts[kind] > 0 for counts in fair), kind


def test_the_number_of_sentences_is_the_requested_one(tmp_path: Path) -> None:
    for size in (1, 7, 500):
        demo = generate(tmp_path, sentences=size)
        assert len(spanwise.read(demo.gold).corpus) == size
        assert len(spanwise.read(demo.train).corpus) == 2 * size


def test_nested_mentions_are_generated_on_request(tmp_path: Path) -> None:
    demo = generate(tmp_path, sentences=200, nested=True)
    mentions = spanwise.read(demo.gold).mentions
    inside = 0
    for sentence in range(200):
        rows = mentions.take(mentions.sentence == sentence)
        wider = (rows.start[:, None] <= rows.start) & (rows.end[:, None] >= rows.end)
        inside += int((wider.sum(axis=0) > 1).sum())
    assert inside > 30
    first = json.loads(demo.gold.read_text(encoding="utf-8").splitlines()[0])
    assert set(first) == {"document", "tokens", "spans"}


def test_flat_and_nested_corpora_have_the_same_text(tmp_path: Path) -> None:
    flat = spanwise.read(generate(tmp_path, sentences=60).gold).corpus
    nested = spanwise.read(generate(tmp_path, sentences=60, nested=True).gold).corpus
    assert [flat.words(i) for i in range(60)] == [nested.words(i) for i in range(60)]
    assert flat.documents is not None and nested.documents is not None
    np.testing.assert_array_equal(flat.documents, nested.documents)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"sentences": 0}, "sentences=0 is not a size"), ({"seed": -1}, "seed=-1 is not a seed")],
)
def test_sizes_and_seeds_are_checked(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ChoiceError, match=message):
        generate(tmp_path, **options)


def test_the_command_shows_what_was_planted_and_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", str(tmp_path), "--color", "never"]) == 0
    screen = capsys.readouterr().out
    for system in SYSTEMS:
        assert f"planted  {system.weakness}" in screen
    assert "NOT found" not in screen
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["dataset"]["name"] == "demo"
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_what_is_found_or_not_is_in_line_with_what_was_planted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", str(tmp_path), "--sentences", "50", "--color", "never"]) == 0
    lines = capsys.readouterr().out.partition("Planted and found\n")[2].partition("\n\n")[0].splitlines()
    assert lines[:4] == [
        "  shortsighted",
        "    planted    cuts the ends off mentions of four or more tokens",
        "    NOT found  fixing wrong boundaries would add most, 17.4 points of F1",
        "               the costliest slice is: entity frequency = 0, F1 71.2",
    ]
    columns = {line[:15] for line in lines if line.startswith("    ")}
    assert columns == {f"    {word:11}" for word in ("planted", "found", "NOT found", "")}


def test_the_command_can_write_only_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", str(tmp_path), "--sentences", "30", "--only-files"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5
    assert not (tmp_path / "result.json").exists()
