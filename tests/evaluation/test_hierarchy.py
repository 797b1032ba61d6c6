"""Levels of a hierarchy of labels, beside a count by hand and beside files whose labels were rewritten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parts import small_parts

import spanwise
from spanwise.document.scores import LevelScores, SystemScores
from spanwise.errors import ChoiceError, InputError
from spanwise.labels import EVERY

PATHS = ("person/artist", "person/athlete", "place/city/port", "place", "work")
Span = tuple[int, int, str]
span = st.tuples(st.integers(0, 5), st.integers(1, 3), st.sampled_from(PATHS)).map(
    lambda row: (row[0], row[0] + row[1], row[2])
)
sides = st.lists(st.lists(span, max_size=5, unique=True), min_size=1, max_size=6)
WORDS = ["w"] * 9


def at(label: str, level: int) -> str:
    return "/".join(label.split("/")[:level]) if level else EVERY


def rewritten(sentences: Iterable[Iterable[Span]], level: int) -> list[list[Span]]:
    """The spans with the labels of a level; equal ones are one, in the order of their first."""
    return [
        list(dict.fromkeys((start, end, at(label, level)) for start, end, label in rows))
        for rows in sentences
    ]


def scored(gold: Any, system: Any, **more: Any) -> Any:
    tokens = [WORDS] * len(gold)
    return spanwise.evaluate(gold, {"a": system}, tokens=tokens, attributes="none", resamples=0, **more)["a"]


@settings(max_examples=60, deadline=None)
@given(sides, st.data())
def test_every_level_is_the_evaluation_of_rewritten_labels(gold: list[list[Span]], data: Any) -> None:
    system = data.draw(
        st.lists(st.lists(span, max_size=5, unique=True), min_size=len(gold), max_size=len(gold))
    )
    levels = scored(gold, system, hierarchy_separator="/").hierarchy
    labels = {label for side in (gold, system) for rows in side for _, _, label in rows}
    assert set(levels) == set(map(str, range(max((label.count("/") + 1 for label in labels), default=0) + 1)))
    for name, level in levels.items():
        own, other = rewritten(gold, int(name)), rewritten(system, int(name))
        pairs = [len(set(a) & set(b)) for a, b in zip(own, other, strict=True)]
        counts = sum(map(len, own)), sum(map(len, other)), sum(pairs)
        overall = level.exact.overall
        assert (overall.gold, overall.predicted, overall.correct) == counts
        expected = scored(own, other)
        assert overall.f1 == expected.exact.overall.f1
        assert level.fair.overall.f1 == expected.fair.overall.f1
        assert {key: cell.f1 for key, cell in level.exact.labels.items()} == {
            key: cell.f1 for key, cell in expected.exact.labels.items()
        }
        assert level.fair.overall.LE == expected.fair.overall.LE


GOLD = [["B-artist", "O", "B-city"], ["B-athlete", "I-athlete", "O"], ["B-artist", "O", "O"]] * 20
NEAR = [["B-athlete", "O", "B-city"], ["B-athlete", "O", "O"], ["B-artist", "O", "O"]] * 20
FAR = [["B-city", "O", "B-city"], ["B-athlete", "O", "O"], ["O", "O", "B-artist"]] * 20
KINDS = {"artist": "person/artist", "athlete": "person/athlete"}


def levels_of(system: SystemScores) -> Mapping[str, LevelScores]:
    """The levels of a system that has some."""
    assert system.hierarchy
    return system.hierarchy


def test_level_0_is_the_f1_after_mapping_all_labels_to_one() -> None:
    levels = levels_of(spanwise.evaluate(GOLD, {"a": FAR}, hierarchy=KINDS, resamples=0)["a"])
    one = spanwise.evaluate(
        GOLD, {"a": FAR}, map=dict.fromkeys(["artist", "athlete", "city"], "any"), resamples=0
    )
    assert levels["0"].exact.overall.f1 == one["a"].exact.overall.f1


def test_the_deepest_level_is_exact_f1_and_is_tested_once() -> None:
    result = spanwise.evaluate(GOLD, {"near": NEAR, "far": FAR}, hierarchy=KINDS, resamples=200)
    for system in result.systems.values():
        deepest = levels_of(system)["2"].exact.overall
        assert (deepest.f1, deepest.ends("f1")) == (system.exact.overall.f1, system.exact.overall.ends("f1"))
        assert levels_of(system)["2"].fair.overall.f1 == system.fair.overall.f1
    tested = {test.path for test in result.comparisons[0].scores if test.path[0] == "hierarchy"}
    assert tested == {
        ("hierarchy", level, kind, "overall", "f1") for level in ("0", "1") for kind in ("exact", "fair")
    }


def test_a_system_with_shallow_labels_has_all_levels() -> None:
    deep = [["B-a/b/c", "O"]] * 3
    result = spanwise.evaluate([["B-a", "O"]] * 3, {"flat": [["B-a", "O"]] * 3, "deep": deep},
                               hierarchy_separator="/", resamples=0)  # fmt: skip
    f1 = {
        name: [level.exact.overall.f1 for level in levels_of(result[name]).values()]
        for name in result.systems
    }
    assert f1 == {"flat": [1, 1, 1, 1], "deep": [1, 1, 0, 0]}


def files(folder: Path) -> tuple[str, str]:
    for name, tags in (("gold", GOLD), ("far", FAR)):
        lines = ["\n".join(f"w{at}\t{tag}" for at, tag in enumerate(row)) for row in tags]
        (folder / f"{name}.conll").write_text("\n\n".join(lines) + "\n\n", encoding="utf-8")
    (folder / "kinds.toml").write_text(
        'artist = "person/artist"\nathlete = "person/athlete"\n', encoding="utf-8"
    )
    return str(folder / "gold.conll"), str(folder / "far.conll")


def test_parts_and_processes_give_the_same_levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts in which no label is deep, or none occurs, have fewer levels than the whole."""
    gold, far = files(tmp_path)
    for name in (gold, far):
        path = Path(name)
        path.write_text(
            "w\tO\n\n" * 30 + "w\tB-city\n\n" * 30 + path.read_text(encoding="utf-8"), encoding="utf-8"
        )
    whole = spanwise.evaluate(gold, far, hierarchy=tmp_path / "kinds.toml")
    small_parts(monkeypatch, tokens=20)
    parts = spanwise.evaluate(gold, far, hierarchy=tmp_path / "kinds.toml", memory="1GB", workers=2)
    assert whole["far"].hierarchy == parts["far"].hierarchy
    assert whole.settings.hierarchy == KINDS
    assert "|hierarchy:/." in whole.signature


def test_levels_come_back_from_json_and_stand_in_screen_page_and_tables(tmp_path: Path) -> None:
    gold, far = files(tmp_path)
    result = spanwise.evaluate(gold, {"far": far, "same": gold}, hierarchy=KINDS, resamples=50)
    path = tmp_path / "r.json"
    path.write_text(result.to_json(), encoding="utf-8")
    loaded = spanwise.load(path)
    assert isinstance(loaded, spanwise.Result)
    assert loaded.systems["far"].hierarchy == result.systems["far"].hierarchy
    assert "By level of labels" in str(loaded)
    assert "0 · spans, any label" in loaded.to_html()
    assert "first step" in str(loaded.table("hierarchy"))


def test_a_study_scores_the_levels_of_its_systems(tmp_path: Path) -> None:
    files(tmp_path)
    (tmp_path / "study.toml").write_text(
        'hierarchy = "kinds.toml"\npredictions = "{system}.conll"\nresamples = 0\n'
        '[datasets.d]\ntest = "gold.conll"\n[systems.far]\n',
        encoding="utf-8",
    )
    run = spanwise.study(tmp_path / "study.toml").datasets["d"].runs["far"]
    (scores,) = run.values()
    assert set(levels_of(scores)) == {"0", "1", "2"}
    (tmp_path / "kinds.toml").write_text('artist = "person//artist"\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"study.toml:1: hierarchy gives the label 'artist' the path"):
        spanwise.study(tmp_path / "study.toml")


def test_labels_with_one_path_are_refused() -> None:
    with pytest.raises(ChoiceError, match="the same path 'city'"):
        spanwise.evaluate(GOLD, {"a": FAR}, hierarchy={"artist": "city"}, resamples=0)
