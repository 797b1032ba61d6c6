"""Rules on labels in tuples: mapped tuples are those of rewritten files; events and links by hand."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.cli.main import main
from spanwise.errors import ChoiceError

Record = dict[str, Any]
MAP = {"PLACE": "GROUP", "JUNK": None}


def rewritten(unit: Record) -> Record:
    """The unit as if its file had been written with the labels of `MAP`: one mention per span and label."""
    mentions: list[Record] = []
    now: dict[str, str] = {}
    for one in unit["mentions"]:
        label = MAP.get(one["label"], one["label"])
        if label is None:
            continue
        equal = [
            m for m in mentions if (m["start"], m["end"], m["label"]) == (one["start"], one["end"], label)
        ]
        now[one["id"]] = equal[0]["id"] if equal else one["id"]
        mentions += [] if equal else [{**one, "label": label}]
    tuples = []
    for one in unit["tuples"]:
        if "trigger" in one:
            roles = {
                role: [now[name] for name in names if name in now] for role, names in one["roles"].items()
            }
            if one["trigger"] in now:
                tuples.append({**one, "trigger": now[one["trigger"]], "roles": roles})
        elif all(name in now for name in one["roles"].values()):
            tuples.append({**one, "roles": {role: now[name] for role, name in one["roles"].items()}})
    return {**unit, "mentions": mentions, "tuples": tuples}


def units(seed: int) -> list[Record]:
    draw = random.Random(seed)
    made = []
    for number in range(30):
        spans = {(draw.randrange(8), draw.choice(["PER", "GROUP", "PLACE", "JUNK"])) for _ in range(5)}
        mentions = [
            {"id": f"m{at}", "start": start, "end": start + 2, "label": label}
            for at, (start, label) in enumerate(sorted(spans))
        ]
        names = [one["id"] for one in mentions]
        tuples: list[Record] = [
            {
                "type": draw.choice(["leads", "near"]),
                "roles": {"head": draw.choice(names), "tail": draw.choice(names)},
            }
            for _ in range(4)
        ]
        tuples.append(
            {"type": "Hire", "trigger": draw.choice(names), "roles": {"who": draw.sample(names, 2)}}
        )
        made.append({"id": str(number), "tokens": list("abcdefghij"), "mentions": mentions, "tuples": tuples})
    return made


def test_mapped_tuples_are_those_of_rewritten_files(tmp_path: Path) -> None:
    given = {"gold": units(1), "one": units(2), "two": units(3), "train": units(4)}
    plain: dict[str, Any] = {}
    for folder, change in (("as_read", None), ("rewritten", rewritten)):
        (tmp_path / folder).mkdir()
        for name, own in given.items():
            lines = [json.dumps(change(one) if change else one) for one in own]
            (tmp_path / folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
        files = {name: tmp_path / folder / f"{name}.jsonl" for name in given}
        document = spanwise.tuples(
            files["gold"], {"one": files["one"], "two": files["two"]}, train=files["train"],
            map=None if change else MAP, resamples=200,
        )  # fmt: skip
        tree = document.to_dict()
        if not change:
            dropped = [one.dropped for one in document.inputs]
            assert dropped == [
                sum(m["label"] == "JUNK" for u in own for m in u["mentions"]) for own in given.values()
            ]
            assert all(one.merged for one in document.inputs)
            assert "Tuples left out with a mention whose label is left out: " in document.notes[-1]
            assert "|labels:" in document.signature
        for key in ("inputs", "signature", "label_rules"):
            tree.pop(key, None)
        tree["notes"] = tree["notes"][: -1 if not change else None]
        for system in tree["systems"].values():
            for sentence in system["sentences"]:
                del sentence["source"]
        plain[folder] = tree
    assert plain["as_read"] == plain["rewritten"]


def test_rules_of_predictions_and_unknown_labels(tmp_path: Path) -> None:
    gold = units(1)
    other = [
        {**one, "mentions": [{**m, "label": m["label"].lower()} for m in one["mentions"]]} for one in gold
    ]
    lower = {name.lower(): name for name in ("PER", "GROUP", "PLACE", "JUNK")}
    found = spanwise.tuples(gold, {"mine": other}, predicted_map=lower, resamples=0)
    assert found.systems["mine"].criteria["strict"].overall.f1 == 1
    # Predictions without mentions take over those of gold, which predicted_map does not touch.
    taken = [{"id": one["id"], "tuples": one["tuples"]} for one in gold]
    both = {"mine": taken, "other": other}
    found = spanwise.tuples(gold, both, predicted_map=lower, without=["JUNK"], resamples=0)
    assert [one.criteria["strict"].overall.f1 for one in found.systems.values()] == [1, 1]
    for options, message in (
        ({"only": ["PRE"]}, "only names the label 'PRE', which no file has.\nThere are: GROUP, JUNK"),
        ({"mpa": {}}, "no keyword of spanwise.tuples is called 'mpa'. Did you mean 'map'?"),
    ):  # fmt: skip
        with pytest.raises(ChoiceError) as caught:
            spanwise.tuples(gold, {"mine": gold}, **options)
        assert message in str(caught.value)


def test_labels_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, seed in (("gold", 1), ("mine", 2)):
        lines = [json.dumps(one) for one in units(seed)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    gold, mine = (str(tmp_path / f"{name}.jsonl") for name in ("gold", "mine"))
    call = ["tuples", gold, mine, "--map", "PLACE=GROUP", "--without", "JUNK", "--resamples", "0"]
    assert main(call) == 0
    assert "mentions left out by label" in capsys.readouterr().out
    data = spanwise.open(gold, {"mine": mine}, map={"PLACE": "GROUP"}, without=["JUNK"])
    assert data.tuples(resamples=0).inputs[1].dropped == spanwise.read(mine, without=["JUNK"]).reading.dropped


def test_any_mention_of_an_entity_is_right_for_its_own_argument_alone() -> None:
    mentions = [{"id": name, "start": at, "end": at + 1, "label": "PER"} for at, name in enumerate("abct")]
    gold = {
        "id": "1", "tokens": list("abct"), "mentions": mentions,
        "tuples": [
            {"type": "Hire", "trigger": "t", "roles": {"who": [{"any": ["a", "b"]}]}},
            {"type": "Fire", "trigger": "t", "roles": {"who": ["a"]}},
        ],
    }  # fmt: skip
    fire = {"type": "Fire", "trigger": "t", "roles": {"who": ["b"]}}
    hire = {"type": "Hire", "trigger": "t", "roles": {"who": ["b"]}}
    events = spanwise.tuples([gold], {"mine": [{**gold, "tuples": [hire, fire]}]}, resamples=0)
    scores = events.systems["mine"].events
    assert isinstance(scores, dict)
    assert (scores["argument_classified"].gold, scores["argument_classified"].correct) == (2, 1)
    # Two of the mentions of one entity are two predictions, of which one is right.
    both = {"type": "Hire", "trigger": "t", "roles": {"who": ["a", "b"]}}
    cell = spanwise.tuples([gold], {"mine": [{**gold, "tuples": [both]}]}, resamples=0).systems["mine"]
    assert isinstance(cell.events, dict)
    found = cell.events["argument_identified"]
    assert (found.gold, found.predicted, found.correct) == (2, 2, 1)


def test_links_of_mentions_that_differ_only_in_their_label_count_one_by_one() -> None:
    mentions = [{"id": name, "start": 0, "end": 1, "label": name} for name in ("A", "B")]
    links = [
        {"type": "link", "roles": {"mention": name, "link": {"link": ["Q1", "NIL"]}}} for name in ("A", "B")
    ]
    gold = {"id": "1", "tokens": ["Rome"], "mentions": mentions, "tuples": links}
    predicted = {"id": "1", "tokens": ["Rome"], "mentions": mentions[:1], "tuples": links[:1]}
    own = spanwise.tuples([gold], {"mine": [predicted]}, resamples=0).systems["mine"].links
    assert own
    assert (own.found.mentions, own.found.right) == (2, 2)
    assert (own.strict.gold, own.strict.correct) == (2, 1)
