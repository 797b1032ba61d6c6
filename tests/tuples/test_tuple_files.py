"""Files of tuples are checked and converted on the command line, and the demo makes some."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spanwise
from spanwise.cli.main import main
from spanwise.demo.tuples import FAR, SYSTEMS, UNDIRECTED, generate_tuples, tuple_verdicts
from spanwise.relations.records import UnitRecord, read_records


def facts(records: list[UnitRecord]) -> set[tuple[object, ...]]:
    """The relations of all units with their spans and labels."""
    found: set[tuple[object, ...]] = set()
    for one in records:
        mentions = {it.id: (it.start, it.end, it.label) for it in one.mentions or ()}
        for it in one.tuples:
            ends = [mentions[str(it.roles[role])] for role in ("head", "tail")]
            found.add((one.id, it.type, *(sorted(ends) if it.type == UNDIRECTED else ends)))
    return found


def test_the_demo_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    def everything(name: str, seed: int) -> list[bytes]:
        demo = generate_tuples(tmp_path / name, documents=40, seed=seed)
        return [path.read_bytes() for path in (demo.train, demo.gold, *demo.systems.values())]

    assert everything("a", 3) == everything("b", 3) != everything("c", 4)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_systems_of_the_demo_are_about_as_good_and_weak_where_they_say(tmp_path: Path, seed: int) -> None:
    demo = generate_tuples(tmp_path, documents=1000, seed=seed)
    gold = list(read_records(demo.gold))
    assert len(gold) == 1000
    wanted = facts(gold)
    share: dict[str, float] = {}
    for name, path in demo.systems.items():
        found = facts(list(read_records(path)))
        share[name] = 2 * len(wanted & found) / (len(wanted) + len(found))
        far = {fact for fact in wanted if _far(fact)}
        backward = {fact for fact in wanted - far if fact[1] != UNDIRECTED and fact[2] > fact[3]}  # type: ignore[operator]
        rest = wanted - far - backward
        weak = {"backwards": backward, "nearsighted": far}[name]
        recall = {key: len(part & found) / len(part) for key, part in (("weak", weak), ("rest", rest))}
        assert recall["weak"] < recall["rest"] - 0.3
    assert abs(share["backwards"] - share["nearsighted"]) < 0.03
    assert set(share) == {system.name for system in SYSTEMS}


def _far(fact: tuple[object, ...]) -> bool:
    starts: list[int] = [end[0] for end in fact[2:] if isinstance(end, tuple)]
    return max(starts) - min(starts) - 2 >= FAR


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_each_planted_weakness_is_found(tmp_path: Path, seed: int) -> None:
    demo = generate_tuples(tmp_path, seed=seed)
    document = spanwise.tuples(demo.gold, dict(demo.systems), undirected=[UNDIRECTED], resamples=200)
    assert [(one.system, one.found) for one in tuple_verdicts(document)] == [
        ("backwards", True),
        ("nearsighted", True),
    ]


def test_the_demo_shows_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", str(tmp_path), "--tuples", "--color", "never"]) == 0
    shown = capsys.readouterr().out
    assert "found      it is weakest in direction: tail first, F1" in shown
    assert "found      it is weakest in tokens between arguments: ≥ 19, F1" in shown
    assert "NOT found" not in shown
    assert {"result.json", "report.html"} <= {path.name for path in tmp_path.iterdir()}


def test_files_are_converted_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "facts")
    assert main(["demo", folder, "--tuples", "--only-files", "--sentences", "12"]) == 0
    assert capsys.readouterr().out.split() == [
        f"{folder}/{name}.jsonl" for name in ("train", "gold", "backwards", "nearsighted")
    ]
    assert main(["convert", f"{folder}/gold.jsonl", str(tmp_path / "brat"), "--tuples"]) == 0
    assert "read as jsonl (JSON lines with tuples and mentions): 12 units" in capsys.readouterr().err
    assert main(["convert", str(tmp_path / "brat"), str(tmp_path / "back.jsonl"), "--tuples"]) == 0
    assert main(["validate", str(tmp_path / "back.jsonl"), str(tmp_path / "brat"), "--tuples"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.partition("): ")[2] == second.partition("): ")[2]
    (tmp_path / "brat" / "d1.ann").write_text("R1\tleads Arg1:T1 Arg2:T2\n")
    assert main(["validate", str(tmp_path / "brat"), "--tuples"]) == 3
    assert "d1.ann:1: R1 refers to T1, which is not a mention of the file." in capsys.readouterr().out


def test_describe_counts_tuples_by_type_and_what_fills_their_roles(tmp_path: Path) -> None:
    mentions = [
        {"id": "a", "start": 0, "end": 1, "label": "PER"},
        {"id": "b", "start": 2, "end": 3, "label": "ORG"},
    ]
    tuples = [
        {"type": "leads", "roles": {"head": "a", "tail": "b"}},
        {"type": "leads", "roles": {"head": "b", "tail": "b"}},
        {"type": "link", "roles": {"mention": "a", "link": {"link": ["Q1"]}}},
        {"type": "Run", "trigger": "b", "roles": {"who": ["a", "b"]}},
    ]
    path = tmp_path / "gold.jsonl"
    unit = {"tokens": ["Ida", "runs", "Marrow"], "mentions": mentions, "tuples": tuples}
    path.write_text(json.dumps(unit) + "\n", encoding="utf-8")
    found = spanwise.describe(path)
    assert found.to_dict()["tuples"] == {
        "leads": {"tuples": 2, "roles": {"head": {"PER": 1, "ORG": 1}, "tail": {"ORG": 2}}},
        "link": {"tuples": 1, "roles": {"mention": {"PER": 1}, "link": {"link": 1}}},
        "Run": {"tuples": 1, "roles": {"trigger": {"ORG": 1}, "who": {"PER": 1, "ORG": 1}}},
    }
    assert "head: PER 1, ORG 1; tail: ORG 2" in found.to_text(width=100)
    mapped = spanwise.describe(path, map="PER=person", without="ORG").to_dict()["tuples"]
    assert mapped == {"link": {"tuples": 1, "roles": {"mention": {"person": 1}, "link": {"link": 1}}}}
    path.write_text(json.dumps({**unit, "tuples": []}) + "\n", encoding="utf-8")
    assert "tuples" not in spanwise.describe(path).to_dict()
