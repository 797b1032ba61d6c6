"""Labels read at one level of a hierarchy: every function gives what it gives for labels mapped to it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.cli.main import main
from spanwise.errors import ChoiceError, InputError
from spanwise.labels import EVERY, Hierarchy

PATHS = {
    "artist": "person/artist", "athlete": "person/athlete", "port": "place/city/port", "city": "place/city"
}  # fmt: skip
LABELS = (*PATHS, "work")
HIERARCHY = Hierarchy(PATHS)
Verb = Callable[..., Any]


def records(seed: int, *, scored: bool = False) -> list[dict[str, Any]]:
    """Forty sentences in eight documents with mentions of all labels."""
    chance = random.Random(seed)
    rows = []
    for number in range(40):
        spans: list[list[Any]] = []
        for start in range(0, 9, 3):
            if chance.random() < 0.8:
                label = chance.choice(LABELS) if chance.random() < 0.4 else LABELS[(number + start) % 5]
                spans.append([start, start + chance.choice((1, 2)), label])
                spans[-1] += [round(chance.random(), 3)] if scored else []
        tokens = [f"w{(number * 7 + at) % 50}" for at in range(10)]
        rows.append({"id": f"s{number}", "document": f"d{number // 5}", "tokens": tokens, "spans": spans})
    return rows


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    paths = {}
    for name, seed in (("gold", 1), ("a", 2), ("b", 3), ("train", 4)):
        path = tmp_path / f"{name}.jsonl"
        rows = records(seed, scored=name in "ab")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        paths[name] = str(path)
    return paths


def systems(files: dict[str, str]) -> dict[str, str]:
    return {"a": files["a"], "b": files["b"]}


VERBS: dict[str, Verb] = {
    "evaluate": lambda files, **rules: spanwise.evaluate(
        files["gold"], systems(files), train=files["train"], resamples=200, **rules
    ),
    "slices": lambda files, **rules: spanwise.find_slices(
        files["gold"], systems(files), train=files["train"], flips=200, least=10, **rules
    ),
    "confidence": lambda files, **rules: spanwise.confidence(files["gold"], {"a": files["a"]}, **rules),
    "agree": lambda files, **rules: spanwise.agree({"x": files["gold"], "y": files["train"]}, **rules),
    "suspects": lambda files, **rules: spanwise.suspects(files["gold"], systems(files), **rules),
    "leaks": lambda files, **rules: spanwise.leaks(files["gold"], systems(files), same_label=True, **rules),
    "describe": lambda files, **rules: spanwise.describe(files["gold"], train=files["train"], **rules),
    "explain": lambda files, **rules: spanwise.explain(files["gold"], files["a"], **rules),
    "place": lambda files, **rules: spanwise.place(
        files["gold"], [{"id": row["id"], "answers": [["w0", "artist"], [row["tokens"][0], "port"]]}
                        for row in records(1)], **rules
    ),
    "open": lambda files, **rules: spanwise.open(files["gold"], systems(files), **rules).leaks(),
    "study": lambda files, **rules: spanwise.study(
        {"datasets": {"t": {"test": files["gold"], **rules}}, "systems": {
            name: {"predictions": path} for name, path in systems(files).items()}},
        cache=False, workers=1,
    ),
    "study_of": lambda files, **rules: spanwise.study_of(
        "leaks", {"datasets": {"t": {"test": files["gold"]}}, **rules, "systems": {
            name: {"predictions": path} for name, path in systems(files).items()}},
    ),
}  # fmt: skip


def numbers(document: Any) -> Any:
    """Everything in a document but its settings, signature and files."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: bare(inner) for key, inner in value.items() if key not in LEFT_OUT}
        return list(map(bare, value)) if isinstance(value, list) else value

    return bare(json.loads(document.to_json()))


LEFT_OUT = {"settings", "signature", "label_rules", "hierarchy"}


@pytest.mark.parametrize("level", [0, 1, 2, 3, 9])
@pytest.mark.parametrize("verb", VERBS)
def test_labels_at_a_level_are_labels_mapped_to_it(verb: str, level: int, files: dict[str, str]) -> None:
    mapped = {label: HIERARCHY.at(label, level) for label in LABELS}
    asked = VERBS[verb](files, hierarchy=PATHS, hierarchy_level=level)
    changed = {label: other for label, other in mapped.items() if other != label}
    levels = {"hierarchy_separator": "/"} if verb in ("evaluate", "study") else {}  # which score every level
    expected = VERBS[verb](files, map=changed, **levels)
    assert numbers(asked) == numbers(expected)
    assert asked.signature != VERBS[verb](files, hierarchy=PATHS).signature


@pytest.mark.parametrize("verb", sorted(VERBS.keys() - {"evaluate", "study"}))  # which score every level
def test_without_a_level_labels_stay_as_they_are(verb: str, files: dict[str, str]) -> None:
    assert numbers(VERBS[verb](files, hierarchy=PATHS)) == numbers(VERBS[verb](files))


def test_an_evaluation_at_a_level_scores_the_levels_above_it(files: dict[str, str]) -> None:
    every = VERBS["evaluate"](files, hierarchy=PATHS)["a"].hierarchy
    at_two = VERBS["evaluate"](files, hierarchy=PATHS, hierarchy_level=2)["a"]
    assert list(every) == ["0", "1", "2", "3"] and list(at_two.hierarchy) == ["0", "1", "2"]
    for name, scores in at_two.hierarchy.items():
        assert scores.exact.overall.f1 == every[name].exact.overall.f1
    assert at_two.exact.overall.f1 == every["2"].exact.overall.f1
    assert set(at_two.exact.labels) == {"person/artist", "person/athlete", "place/city", "work"}


def test_labels_that_are_paths_need_a_separator_only() -> None:
    gold = [[(0, 1, "person/artist"), (2, 3, "place")]]
    tokens = [["Ann", "in", "Oslo"]]
    read = spanwise.read(gold, tokens=tokens, hierarchy_separator="/", hierarchy_level=1)
    assert [row[3] for row in read.mentions.rows()] == ["person", "place"]
    everything = spanwise.read(gold, tokens=tokens, hierarchy_separator="/", hierarchy_level=0)
    assert everything.mentions.labels == (EVERY,)


def test_levels_come_after_all_other_rules(files: dict[str, str]) -> None:
    read = spanwise.read(
        files["gold"], map={"work": "athlete"}, without=["artist"], hierarchy=PATHS, hierarchy_level=1
    )
    assert set(read.mentions.names()) == {"person", "place"}
    with pytest.raises(ChoiceError, match="only names the label 'person', which no file has"):
        spanwise.read(files["gold"], only=["person"], hierarchy=PATHS, hierarchy_level=1)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"hierarchy_level": 1}, "hierarchy_level needs a hierarchy of labels"),
        ({"hierarchy": PATHS, "hierarchy_level": -1}, "hierarchy_level is -1"),
        ({"hierarchy": PATHS, "hierarchy_level": 1.5}, "hierarchy_level.* 1.5"),
        ({"hierarchy": {"artist": "person//artist"}}, "which has an empty step"),
        ({"hierarchy": "nowhere.toml", "hierarchy_level": 1}, "neither a file nor a map"),
    ],
)
@pytest.mark.parametrize("verb", ["evaluate", "leaks", "describe", "study"])
def test_a_level_that_makes_no_sense_is_refused(
    verb: str, rules: dict[str, Any], message: str, files: dict[str, str]
) -> None:
    with pytest.raises((ChoiceError, InputError), match=message):
        VERBS[verb](files, **rules)


COMMANDS = {
    "evaluate": ["gold", "a"], "compare": ["gold", "a", "b"], "errors": ["gold", "a"],
    "slices": ["gold", "a"], "confidence": ["gold", "a"], "agree": ["gold", "train"],
    "suspects": ["gold", "a", "b"], "leaks": ["gold", "a"], "describe": ["gold"], "explain": ["gold", "a"],
    "convert": ["gold"],
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_labels_at_a_level(
    command: str, files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = tmp_path / "paths.toml"
    paths.write_text("".join(f'{label} = "{path}"\n' for label, path in PATHS.items()), encoding="utf-8")
    named = [files[name] for name in COMMANDS[command]]
    target = [str(tmp_path / "out.jsonl")] if command == "convert" else []
    level = ["--hierarchy", str(paths), "--hierarchy-level", "1"]
    assert main([command, *named, *target, *level]) == 0
    shown = capsys.readouterr().out
    if command == "convert":
        shown = (tmp_path / "out.jsonl").read_text(encoding="utf-8")
    assert "athlete" not in shown.replace(str(paths), "")
    assert main([command, *named, *target, "--hierarchy-level", "1"]) == 2
    assert "--hierarchy-level needs a hierarchy" in capsys.readouterr().err
