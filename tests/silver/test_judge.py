"""Evaluations with a judge: how gold units are found, what is refused, and what every surface shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from judged_by_hand import compare_by_hand, judged_files
from msgspec import UNSET

import spanwise
from spanwise.errors import ChoiceError, InputError
from spanwise.views.verdict import verdict

TAGS = [["B-PER", "O", "B-LOC"], ["O", "B-LOC", "O"], ["B-PER", "O", "O"]]
ALL = 120


def written(path: Path, rows: list[tuple[str, list[str]]], document: bool = False) -> Path:
    """Records with ids; the words name the unit, so that texts differ."""
    lines = []
    for name, tags in rows:
        tokens = [f"{name}{at}" for at in range(len(tags))]
        record: dict[str, object] = {"id": name, "tokens": tokens, "tags": tags}
        if document:
            record["document"] = f"d{int(name) // 3}"
        lines.append(json.dumps(record))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def corrupted(tags: list[str], draw: np.random.Generator, share: float) -> list[str]:
    return ["O" if tag != "O" and draw.random() < share else tag for tag in tags]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Gold for everything, two systems, a judge, and a random part of gold in another order."""
    draw = np.random.default_rng(5)
    gold = [(str(number), TAGS[number % 3]) for number in range(ALL)]
    sides = {
        name: [(key, corrupted(tags, draw, share)) for key, tags in gold]
        for name, share in (("a", 0.2), ("b", 0.4), ("judge", 0.1))
    }
    part = [gold[number] for number in draw.permutation(ALL)[:40]]
    rows = {"gold": gold, "part": part, **sides}
    return {name: written(tmp_path / f"{name}.jsonl", some) for name, some in rows.items()}


def test_gold_units_are_found_by_their_ids(files: dict[str, Path]) -> None:
    result = spanwise.evaluate(
        files["part"], {"a": files["a"], "b": files["b"]}, silver=files["judge"], random_sample=True
    )
    ids = [json.loads(line)["id"] for line in files["part"].read_text().splitlines()]
    chosen = {line["id"]: line for line in map(json.loads, files["a"].read_text().splitlines())}
    by_hand = spanwise.evaluate(
        files["part"], {"a": [chosen[name]["tags"] for name in ids]}, align="position", resamples=0
    )
    scores = result.systems["a"].silver
    assert scores and (scores.units.gold, scores.units.all) == (40, ALL)
    assert result.systems["a"].exact.overall.f1 == by_hand["a"].exact.overall.f1 == scores.gold_only.f1
    judged = spanwise.evaluate(files["judge"], {"a": files["a"]}, resamples=0)
    assert scores.silver_only.f1 == judged["a"].exact.overall.f1
    assert scores.combined.interval["f1"] is not None and scores.effective is not None
    test = result.comparisons[0].silver
    assert test and test.p is not None and test.p_corrected == test.p and test.difference is not None
    assert [entry.role for entry in result.inputs] == ["gold", "predicted", "predicted", "silver"]


def test_units_without_ids_are_found_by_their_text(files: dict[str, Path], tmp_path: Path) -> None:
    paths = {}
    for name in ("part", "a", "judge"):
        paths[name] = tmp_path / f"{name}.conll"
        spanwise.write(spanwise.read(files[name]), paths[name], lossy=True)
    options: dict[str, Any] = {"silver": paths["judge"], "random_sample": True, "resamples": 0}
    by_text = spanwise.evaluate(paths["part"], {"a": paths["a"]}, **options)
    by_id = spanwise.evaluate(
        files["part"], {"a": files["a"]}, silver=files["judge"], random_sample=True, resamples=0
    )
    assert by_text.systems["a"].silver == by_id.systems["a"].silver


def test_documents_are_units_if_they_were_drawn_whole(tmp_path: Path) -> None:
    draw = np.random.default_rng(6)
    gold = [(str(number), TAGS[number % 3]) for number in range(ALL)]
    whole = [row for row in gold if int(row[0]) // 3 < 25]
    a, judge = ([(key, corrupted(tags, draw, share)) for key, tags in gold] for share in (0.3, 0.2))
    paths = {
        name: written(tmp_path / f"{name}.jsonl", rows, document=True)
        for name, rows in (("whole", whole), ("cut", gold[:50]), ("a", a), ("judge", judge))
    }

    def units_of(part: str) -> tuple[str, int, int]:
        result = spanwise.evaluate(
            paths[part], {"a": paths["a"]}, silver=paths["judge"], random_sample=True, documents="document"
        )
        scores = result.systems["a"].silver
        assert scores
        return result.settings.unit, scores.units.gold, scores.units.all

    assert units_of("whole") == ("document", 25, 40)
    assert units_of("cut") == ("sentence", 50, ALL)


def no_options_and(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return {}, options


def test_labels_are_mapped_once_on_all_sides(files: dict[str, Path]) -> None:
    swap = {"PER": "LOC", "LOC": "PER"}
    plain, mapped = (
        spanwise.evaluate(
            files["part"], {"a": files["a"]}, silver=files["judge"], random_sample=True, resamples=0, **more
        )
        .systems["a"]
        .silver
        for more in no_options_and({"map": swap})
    )
    assert plain and mapped and plain.combined == mapped.combined
    assert plain.labels and mapped.labels and plain.labels["PER"].gold_only == mapped.labels["LOC"].gold_only


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"random_sample": False}, "random sample"),
        ({"unit": "block:3"}, "block:3"),
        ({"memory": "1GB"}, "memory"),
    ],
)
def test_what_cannot_be_estimated_is_refused(
    files: dict[str, Path], change: dict[str, Any], words: str
) -> None:
    options: dict[str, Any] = {"silver": files["judge"], "random_sample": True, **change}
    with pytest.raises(ChoiceError, match=words):
        spanwise.evaluate(files["part"], {"a": files["a"]}, **options)


def test_silver_must_hold_every_gold_unit(files: dict[str, Path], tmp_path: Path) -> None:
    for name in ("a", "judge"):
        lines = files[name].read_text().splitlines()[:60]
        files[name] = tmp_path / f"short-{name}.jsonl"
        files[name].write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match="is not among the units"):
        spanwise.evaluate(files["part"], {"a": files["a"]}, silver=files["judge"], random_sample=True)


def test_few_units_are_refused(files: dict[str, Path], tmp_path: Path) -> None:
    few = tmp_path / "few.jsonl"
    few.write_text("\n".join(files["part"].read_text().splitlines()[:10]) + "\n")
    with pytest.raises(InputError, match="at least 20"):
        spanwise.evaluate(few, {"a": files["a"]}, silver=files["judge"], random_sample=True)


def test_units_without_mentions_count_overall_but_not_for_a_label(
    files: dict[str, Path], tmp_path: Path
) -> None:
    lines = files["part"].read_text().splitlines(keepends=True)
    some = [line for line in lines if "B-PER" in line][:9]
    empty = [(str(ALL + number), ["O", "O", "O"]) for number in range(14)]
    part = tmp_path / "sparse.jsonl"
    written(part, empty)
    part.write_text(part.read_text() + "".join(some), encoding="utf-8")
    for name in ("a", "judge"):
        more = written(tmp_path / "more.jsonl", empty).read_text()
        files[name].write_text(files[name].read_text() + more, encoding="utf-8")
    result = spanwise.evaluate(
        part, {"a": files["a"]}, silver=files["judge"], random_sample=True, resamples=0
    )
    scores = result.systems["a"].silver
    assert scores and scores.units.gold == 23
    assert scores.combined.f1 is not None and scores.combined.why is UNSET and scores.labels is not UNSET
    assert scores.labels["PER"].combined.f1 is None
    assert scores.labels["PER"].combined.why == "fewer than 20 gold units hold the label"


def test_every_surface_shows_the_three_estimates(files: dict[str, Path], tmp_path: Path) -> None:
    result = spanwise.evaluate(
        files["part"], {"a": files["a"], "b": files["b"]}, silver=files["judge"], random_sample=True
    )
    scores = result.systems["a"].silver
    assert scores and scores.combined.f1 is not None and scores.silver_only.f1 is not None
    page = tmp_path / "page.html"
    result.to_html(page)
    saved = tmp_path / "result.json"
    saved.write_text(result.to_json(), encoding="utf-8")
    loaded = spanwise.load(saved)
    assert isinstance(loaded, spanwise.Result) and loaded.systems["a"].silver == scores
    table = result.table("silver").to_markdown()
    for shown in (str(result), page.read_text(encoding="utf-8"), table):
        for number in (scores.gold_only.f1, scores.silver_only.f1, scores.combined.f1):
            assert number is not None and f"{100 * number:.1f}" in shown
        assert "gold and judge" in shown
    assert "those of the gold units alone" in page.read_text(encoding="utf-8")


def test_the_answer_has_the_help_of_the_judge_and_names_gold_alone(files: dict[str, Path]) -> None:
    result = spanwise.evaluate(
        files["part"], {"a": files["a"], "b": files["b"]}, silver=files["judge"], random_sample=True
    )
    test = result.comparisons[0].silver
    assert test and test.difference is not None
    found = verdict(result)
    leader, other = ("a", "b") if test.difference > 0 else ("b", "a")
    sentence = str(found.sentence)
    if test.p_corrected is not None and test.p_corrected < 0.05:
        assert sentence.startswith(f"{leader} is better than {other} by {100 * abs(test.difference):.1f} F1")
    else:
        assert f"{leader} is ahead by {100 * abs(test.difference):.1f} F1" in sentence
    assert "corrected by the judge" in found.test and "gold alone:" in found.test
    alone = spanwise.evaluate(files["part"], {"a": files["a"]}, silver=files["judge"], random_sample=True)
    scores = alone.systems["a"].silver
    assert scores and scores.combined.f1 is not None
    assert f"a scores {100 * scores.combined.f1:.1f} F1" in str(verdict(alone).sentence)


def test_silver_that_is_not_complete_is_named_as_silver(files: dict[str, Path], tmp_path: Path) -> None:
    short = tmp_path / "short.jsonl"
    short.write_text("\n".join(files["judge"].read_text().splitlines()[:60]) + "\n")
    with pytest.raises(InputError, match=r"in the silver file .*short\.jsonl") as caught:
        spanwise.evaluate(files["part"], {"a": files["a"]}, silver=short, random_sample=True)
    assert "gold file" not in str(caught.value)


@pytest.mark.parametrize("strata", [None, "length", "label", "system-disagreement"])
def test_estimates_on_real_systems_equal_the_definition(
    data: Path, tmp_path: Path, strata: str | None
) -> None:
    """Precision, recall and F1, overall and by label, and the difference, from the files alone."""
    test, systems, judge = judged_files(data / "masakhaner")
    drawn = spanwise.sample(
        test, 150, strata=strata, systems=list(systems.values()) if strata == "system-disagreement" else ()
    )
    part = tmp_path / "part.jsonl"
    spanwise.write(drawn, part)
    result = spanwise.evaluate(part, systems, silver=judge, random_sample=True, resamples=0)
    compared = compare_by_hand(result, part, systems, judge)
    assert compared == 2 * 5 * 3  # systems × (overall and four labels) × scores
