"""Statistics of the workbench: runs, looking often, histories, saved slices and thresholds."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from benches import bench_of, client_of
from crafted import EACH, add_result, drawn, records, write
from scipy import stats
from starlette.testclient import TestClient

import spanwise
from spanwise.document.evaluation import Evaluation
from spanwise.document.loading import load
from spanwise.document.study import Study
from spanwise.workbench.looks import MOST_LOOKS, level_of, one_sided

DOCUMENTS = 40
# Mentions missed by the runs of each system: the first runs of a and b differ by 5 points, their means hardly
MISSED = {"a": (20, 60, 62), "b": (60, 22, 57), "c": (190, 205, 200)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three runs of three systems, with columns."""
    folder = tmp_path_factory.mktemp("runs")
    write(folder / "gold.jsonl", records(range(DOCUMENTS)))
    for system, numbers in MISSED.items():
        for seed, number in enumerate(numbers):
            gone = drawn(number, DOCUMENTS, seed + 10 * ord(system))
            add_result(folder, f"{system}{seed}", {system: gone}, columns=True, seed=str(seed))
    return folder


@pytest.fixture
def served(runs: Path, tmp_path: Path) -> Iterator[tuple[TestClient, str]]:
    """A client of a copy of that folder, and the gold's slug."""
    shutil.copytree(runs, tmp_path / "runs")
    with client_of(tmp_path / "runs") as client:
        yield client, client.get("/api/v1/golds").json()[0]["slug"]


def documents_of(folder: Path) -> dict[str, list[Evaluation]]:
    found: dict[str, list[Evaluation]] = {}
    for system in MISSED:
        for seed in range(3):
            document = load(folder / f"{system}{seed}.json")
            assert isinstance(document, Evaluation)
            found.setdefault(system, []).append(document)
    return found


def studied(runs: Path, systems: str) -> Study:
    """A study of the same files."""
    manifest = {
        "predictions": ".{system}{run}-{system}.jsonl",
        "attributes": "none",
        "datasets": {"all": {"test": "gold.jsonl"}},
        "systems": {system: {} for system in systems},
    }
    return spanwise.study(manifest, root=runs, cache=False, workers=1)


# ---- runs


def test_results_that_differ_only_in_their_seed_are_tested_over_runs(
    served: tuple[TestClient, str], runs: Path
) -> None:
    client, gold = served
    scores = {
        system: [document.systems[system].primary("f1") or 0.0 for document in documents]
        for system, documents in documents_of(runs).items()
    }
    first = spanwise.evaluate(
        runs / "gold.jsonl", {s: runs / f".{s}0-{s}.jsonl" for s in "ab"}, resamples=2000
    ).comparisons[0].primary  # fmt: skip
    assert first is not None and first.p is not None and first.p < 0.005  # what the first runs alone say
    welch = stats.ttest_ind(scores["a"], scores["b"], equal_var=False)
    assert welch.pvalue > 0.9
    board = client.get(f"/api/v1/golds/{gold}/leaderboard").json()
    pairs = {(row["a"], row["b"]): row for row in board["pairs"]}
    assert len(pairs) == 3 and board["tested"] == 3 and board["correction"] == "holm"
    row = pairs["a", "b"]
    assert row["difference"] == pytest.approx(np.mean(scores["a"]) - np.mean(scores["b"]))
    assert row["p"] > 0.9 and not row["significant"] and row["runs"] == [3, 3]
    assert row["interval"][0] < -0.02 and row["interval"][1] > 0.02
    by_name = {row["system"]: row for row in board["rows"]}
    assert by_name["a"]["cannot_be_told_apart_from"] == ["b"]
    page = client.get(f"/g/{gold}").text
    assert "cannot be told apart from b" in page and "tied" not in re.sub(r'class="[^"]*"', "", page)


def test_letters_are_the_same_on_the_page_in_the_api_and_in_a_study(
    served: tuple[TestClient, str], runs: Path
) -> None:
    client, gold = served
    board = client.get(f"/api/v1/golds/{gold}/leaderboard").json()
    study = studied(runs, "abc")
    own = {system: row["all"].letter for system, row in study.analyses.holistic.items()}
    beaten = study.analyses.letters["all"]
    assert {row["system"]: row["letters"] for row in board["rows"]} == beaten
    assert {row["system"]: row["letter"] for row in board["rows"]} == own
    assert beaten["c"] == "" and beaten["a"] == beaten["b"] == own["c"]
    page = client.get(f"/g/{gold}").text
    shown = re.findall(r'<b class="letter">(\w)</b>.*?data-name="better than">(\w*)</td>', page, re.S)
    assert dict(shown) == {own[name]: letters for name, letters in beaten.items()}
    significant = {(row["a"], row["b"]) for row in board["pairs"] if row["significant"]}
    assert significant == {("a", "c"), ("b", "c")}


def test_a_comparison_says_what_the_leaderboard_says(served: tuple[TestClient, str]) -> None:
    client, gold = served
    numbers = {row["system"]: row["id"] for row in client.get(f"/api/v1/golds/{gold}/results").json()}
    board = client.get(f"/api/v1/golds/{gold}/leaderboard").json()["pairs"]
    for row in board:
        path = f"compare/{numbers[row['a']]}/{numbers[row['b']]}"
        verdict = client.get(f"/g/{gold}/{path}.json").json()["verdict"]
        for key in ("difference", "interval", "p", "p_corrected", "significant"):
            assert verdict[key] == row[key], key
        assert verdict["pairs"] == 3 and verdict["level"] is None
        page = client.get(f"/g/{gold}/{path}").text
        assert ("cannot be told apart:" in page) != row["significant"]
        assert "corrected over the 3 pairs of the leaderboard" in page and "3 and 3 runs" in page
    back = client.get(f"/g/{gold}/compare/{numbers['b']}/{numbers['a']}.json").json()["verdict"]
    forth = next(row for row in board if (row["a"], row["b"]) == ("a", "b"))
    assert back["difference"] == -forth["difference"]
    assert back["interval"] == [-forth["interval"][1], -forth["interval"][0]]


def test_a_slice_is_tested_over_the_runs_of_its_two_systems(
    served: tuple[TestClient, str], runs: Path
) -> None:
    client, gold = served
    test = client.get(f"/api/v1/golds/{gold}/test?a=a&b=b").json()
    row = studied(runs, "ab").datasets["all"].comparisons[0].primary
    assert row is not None and test["runs"] == [3, 3]
    assert test["difference"] == pytest.approx(row.difference) and test["p"] == pytest.approx(row.p)


# ---- looking often


def test_looks_spend_their_level_in_batches() -> None:
    levels = [level_of(look) for look in range(1, MOST_LOOKS + 1)]
    assert [levels.count(0.0025 / 4**batch) for batch in range(4)] == [10, 20, 40, 80]
    assert sum(level or 1 for level in levels) <= 0.05
    assert level_of(MOST_LOOKS + 1) is None


def test_the_same_question_is_one_look_for_everyone_and_survives_a_restart(
    runs: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "runs"
    shutil.copytree(runs, folder)
    with client_of(folder) as client:
        gold = client.get("/api/v1/golds").json()[0]["slug"]
        path = f"/api/v1/golds/{gold}/test"
        first = client.get(f"{path}?a=a&b=b&label=A").json()
        assert (first["looks"], first["level"]) == (1, 0.0025)
        assert client.get(f"{path}?a=b&b=a&label=A").json()["looks"] == 1
        browser = {"cookie": "spanwise-7350=a-token-for-tests"}
        assert client.get(f"{path}?a=a&b=b&label=B", headers=browser).json()["looks"] == 2
        assert client.get(f"{path}?a=a&b=c&label=A").json()["looks"] == 3
        client.get(f"/api/v1/golds/{gold}/slice?label=A&intervals=1")  # scores are no test
    with client_of(folder) as client:
        assert client.get(f"{path}?a=a&b=b&label=B").json()["looks"] == 2
        again = client.get(f"/g/{gold}/tested?label=A").text
        assert re.search(r"Question [13] to this gold set, held against p ≤ 0.0025", again)
        search = client.get(f"/api/v1/golds/{gold}/weak?a=a").json()
        assert (search["looks"], search["level"]) == (4, 0.0025)
        assert client.get(f"/api/v1/golds/{gold}/weak?a=a").json()["looks"] == 4
        for number in range(7):
            client.get(f"{path}?a=a&b=b&text=w{number}*")
        later = client.get(f"{path}?a=b&b=c&label=A").json()
        assert (later["looks"], later["level"]) == (12, 0.000625)


def test_a_difference_is_called_significant_only_at_the_level_of_its_look(
    served: tuple[TestClient, str],
) -> None:
    client, gold = served
    path = f"/api/v1/golds/{gold}/test?a=a&b=c&label=A"
    assert client.get(path).json()["significant"]
    bench = bench_of(client.app)
    shelf_gold = bench.gold(gold)
    for number in range(MOST_LOOKS):
        bench.look(shelf_gold, "other", str(number))
    late = client.get(f"{path},B").json()
    assert late["p"] < 0.0025 and late["level"] is None and not late["significant"]
    page = client.get(f"/g/{gold}/tested?label=B").text
    assert "no further one can be significant" in page
    assert client.get(path).json()["significant"]  # it was asked before
    weak = client.get(f"/g/{gold}/weak?a=c").text
    assert "no further one can be significant" in weak and "was found among" in weak


def test_a_page_writes_nothing_but_the_count_of_looks(runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    shutil.copytree(runs, folder)
    with client_of(folder) as client:
        gold = client.get("/api/v1/golds").json()[0]["slug"]

    def dump() -> tuple[list[str], int]:
        with sqlite3.connect(folder / ".spanwise" / "workbench.sqlite") as db:
            lines = list(db.iterdump())
        looks = [line for line in lines if line.startswith('INSERT INTO "look"')]
        return [line for line in lines if line not in looks], len(looks)

    before, looks = dump()
    with client_of(folder) as client:
        for page in ("", "/history", "/compare/1/9", "/slices?label=A", "/tested?label=A", "/weak", "/gate"):
            assert client.get(f"/g/{gold}{page}").status_code == 200, page
    after, more = dump()
    assert after == before and more > looks
    with client_of(folder, read_only=True) as client:
        text = client.get(f"/g/{gold}/tested?label=B").text
        assert "counted only until the server stops" in text
        test = client.get(f"/api/v1/golds/{gold}/test?a=a&b=c&text=w*").json()
        assert test["looks"] == more + 2
    assert dump() == (after, more)


# ---- histories


@pytest.fixture
def releases(tmp_path: Path) -> Path:
    """Five results of one system: small losses that add up, then a large one."""
    write(tmp_path / "gold.jsonl", records(range(DOCUMENTS)))
    for at, number in enumerate((10, 18, 26, 34, 120)):
        add_result(tmp_path, f"r{at}", {"net": [37 * one % 400 for one in range(number)]}, commit=f"c{at}")
        os.utime(tmp_path / f"r{at}.json", (1_000_000 + at,) * 2)
    return tmp_path


def test_falls_are_marked_against_the_previous_result_and_the_reference(releases: Path) -> None:
    with client_of(releases) as client:
        gold = client.get("/api/v1/golds").json()[0]["slug"]
        page = client.get(f"/g/{gold}/history").text
        rows = re.findall(r"<td>(c\d)</td>(.*?)</tr>", page, re.S)
        fell = {name: re.findall(r'<b class="sminus">([^<]*)</b>', row) for name, row in rows}
        assert fell["c0"] == fell["c1"] == []
        assert fell["c3"] == ["fell since the reference"]
        assert fell["c4"] == ["fell", "fell since the reference"]
        assert "0.00125" in rows[1][1]  # half of 0.0025
        assert "evaluate several runs" in page and "reference</b>" in rows[0][1]
        assert "net fell by" in client.get(f"/g/{gold}").text
        numbers = [row["id"] for row in client.get(f"/api/v1/golds/{gold}/results").json()]
        path = f"/api/v1/golds/{gold}/reference"
        assert client.post(path, json={"result": numbers[2]}).json()["id"] == numbers[2]
        assert client.post(path, json={"result": 999}).status_code == 404
    with client_of(releases) as client:  # the choice survives a restart
        page = client.get(f"/g/{gold}/history").text
        rows = re.findall(r"<td>(c\d)</td>(.*?)</tr>", page, re.S)
        fell = {name: re.findall(r'<b class="sminus">([^<]*)</b>', row) for name, row in rows}
        assert fell["c3"] == [] and fell["c4"] == ["fell", "fell since the reference"]
        assert "reference</b>" in rows[2][1] and "reference</b>" not in rows[0][1]


def test_a_rise_is_never_a_fall() -> None:
    assert one_sided(0.001, 0.2) == pytest.approx(0.9995)


# ---- saved slices


@pytest.fixture
def weak(tmp_path: Path) -> Path:
    """A gold set on which a system misses most mentions of label A."""
    write(tmp_path / "gold.jsonl", records(range(60)))
    add_result(tmp_path, "first", {"net": misses(60)}, columns=True)
    return tmp_path


def misses(documents: int, *, seed: int = 0) -> list[int]:
    """Of label A, the even mentions, 60 % are missed, of the others 10 %."""
    draw = np.random.default_rng(seed).random(documents * EACH)
    limit = np.where(np.arange(documents * EACH) % 2 == 0, 0.6, 0.1)
    found: list[int] = np.flatnonzero(draw < limit).tolist()
    return found


def states(client: TestClient, gold: str) -> dict[str, tuple[str, int | None]]:
    rows = client.get(f"/api/v1/golds/{gold}/slices/as/history").json()
    return {row["path"]: (row["state"], row["documents"]) for row in rows}


def test_a_saved_slice_is_confirmed_only_by_new_documents(weak: Path) -> None:
    with client_of(weak) as client:
        gold = client.get("/api/v1/golds").json()[0]["slug"]
        body = {"name": "as", "where": "label=A"}
        assert client.post(f"/api/v1/golds/{gold}/slices", json=body).status_code == 201
        assert states(client, gold) == {"first.npz": ("weak", None)}
        add_result(weak, "later", {"net": misses(60, seed=1)}, columns=True)
        os.utime(weak / "later.npz", (time.time() + 60,) * 2)
        # The same documents in another file and order, half of them in pieces, with one more mention each.
        rows = records(range(59, -1, -1))
        write(
            weak / "again.jsonl",
            [{**row, "document": f"{row['document']}-{at % 7}"} for at, row in enumerate(rows)],
        )
        add_result(weak, "again", {"net": misses(60, seed=2)}, gold="again.jsonl", columns=True)
        # Forty new documents and twenty old ones.
        write(weak / "fresh.jsonl", records([*range(100, 140), *range(20)]))
        add_result(weak, "fresh", {"net": misses(60, seed=3)}, gold="fresh.jsonl", columns=True)
        # New documents on which nothing is weak.
        write(weak / "equal.jsonl", records(range(200, 260)))
        add_result(weak, "equal", {"net": drawn(200, 60, 4)}, gold="equal.jsonl", columns=True)
        bench_of(client.app).watcher.scan()
        assert states(client, gold) == {
            "first.npz": ("weak", None),
            "later.npz": ("seen again on the same data", None),
            "fresh.npz": ("confirmed", 40),
            "equal.npz": ("", 60),
        }
        page = client.get(f"/g/{gold}/slices/as").text
        assert "seen again on the same data</td>" in page and "40 new documents of fresh" in page
        point = client.get(f"/g/{gold}/slices/as.json").json()[-1]
        assert {"p", "level", "looks"} <= point.keys()


def test_the_test_of_a_saved_slice_is_that_of_a_search_for_this_slice_alone(weak: Path) -> None:
    from spanwise.conditions import parse
    from spanwise.evaluation.columns import MentionColumns
    from spanwise.slices._search import Facet, Items, search
    from spanwise.slices.index import SliceIndex
    from spanwise.workbench.weakness import weakness

    add_result(weak, "even", {"net": drawn(150, 60, 5)}, columns=True)
    index = SliceIndex.of(MentionColumns.load(weak / "even.npz"))
    lost = np.isin(np.arange(600), drawn(150, 60, 5))
    unit, label = np.repeat(np.arange(60), EACH), np.arange(600) % 2
    # Over F1: the gold mentions and the predicted ones, which are all right.
    both = np.concatenate([np.arange(600), np.flatnonzero(~lost)])
    inside = Facet.of_members("label", ["B"], (label[both] == 1)[:, None])
    items = Items(unit[both], 60, np.concatenate([lost.astype(float), np.zeros(450)]), (inside,))
    (found,) = search(items, depth=1, level=0.999999, flips=2000).listed
    own = weakness(index, "net", parse("label=B"))
    assert own.p == found.p and own.p is not None and own.p > 0.02
    assert own.value == pytest.approx(1 - found.mean)


# ---- thresholds


def test_every_threshold_is_passed_failed_or_not_checked_for_every_system(tmp_path: Path) -> None:
    write(tmp_path / "gold.jsonl", records(range(20)))
    add_result(tmp_path, "one", {"one": drawn(20, 20, 0)}, columns=True)
    add_result(tmp_path, "two", {"two": drawn(30, 20, 1)})
    (tmp_path / "gate.toml").write_text(
        'fail_under = 96\n[floors]\nA = 50\nZ = 50\n[slices.as]\nwhere = "label=A"\nf1 = 40\n'
        '[slices.odd]\nwhere = "colour=red"\nf1 = 40\n',
        encoding="utf-8",
    )
    with client_of(tmp_path) as client:
        gold = client.get("/api/v1/golds").json()[0]["slug"]
        answer = client.get(f"/api/v1/golds/{gold}/gate")
        assert answer.status_code == 200
        states = [(row["system"], row["state"]) for row in answer.json()["checks"]]
        assert states == [
            ("one", "failed"), ("one", "passed"), ("one", "not checked"),
            ("two", "failed"), ("two", "passed"), ("two", "not checked"),
            ("one", "passed"), ("two", "not checked"), ("one", "not checked"), ("two", "not checked"),
        ]  # fmt: skip
        page = client.get(f"/g/{gold}/gate").text
        assert "two: slice as (f1) of at least 40 was not checked: the folder has no mention columns" in page
        assert "colour" in page and "2 of 10 thresholds failed; 5 were not checked" in page
        # A newer result of a system whose columns are older is not checked by them.
        add_result(tmp_path, "three", {"one": drawn(60, 20, 2)})
        os.utime(tmp_path / "three.json", (time.time() + 60,) * 2)
        bench_of(client.app).watcher.scan()
        rows = client.get(f"/api/v1/golds/{gold}/gate").json()["checks"]
        assert any("another result" in (row["why"] or "") for row in rows if row["system"] == "one")


def test_a_gate_of_which_nothing_was_checked_is_not_passed(tmp_path: Path) -> None:
    write(tmp_path / "gold.jsonl", records(range(20)))
    add_result(tmp_path, "one", {"one": drawn(20, 20, 0)})
    (tmp_path / "gate.toml").write_text('[slices.as]\nwhere = "label=A"\nf1 = 40\n', encoding="utf-8")
    with client_of(tmp_path) as client:
        gold = client.get("/api/v1/golds").json()[0]["slug"]
        answer = client.get(f"/api/v1/golds/{gold}/gate").json()
        assert (answer["passed"], answer["checked"], len(answer["checks"])) == (None, 0, 1)
        assert "No threshold could be checked" in client.get(f"/g/{gold}/gate").text


def test_the_conditions_of_a_slice_are_checked_when_it_is_saved(served: tuple[TestClient, str]) -> None:
    client, gold = served
    path = f"/api/v1/golds/{gold}/slices"
    for where in ("colour=red", "label=Z"):
        answer = client.post(path, json={"name": "x", "where": where})
        assert answer.status_code == 400 and where.partition("=")[2] in answer.json()["detail"] + "red"
    assert client.get(path).json() == []


def test_two_results_that_are_not_on_the_leaderboard_are_a_question_of_their_own(releases: Path) -> None:
    with client_of(releases) as client:
        gold = client.get("/api/v1/golds").json()[0]["slug"]
        numbers = [row["id"] for row in client.get(f"/api/v1/golds/{gold}/results").json()]
        first, last = numbers[0], numbers[-1]
        answer = client.get(f"/api/v1/golds/{gold}/comparison?a={first}&b={last}").json()
        verdict = answer["verdict"]
        assert (verdict["looks"], verdict["level"], verdict["pairs"]) == (1, 0.0025, None)
        assert verdict["significant"] and verdict["p"] <= 0.0025
        (primary,) = [row for row in answer["scores"] if row["role"] == "primary"]
        assert (primary["p"], primary["significant"]) == (verdict["p"], True)
        page = client.get(f"/g/{gold}/compare/{last}/{first}").text
        assert "Question 1 to this gold set" in page and "is better than net" in page
        near = client.get(f"/api/v1/golds/{gold}/comparison?a={first}&b={numbers[1]}").json()["verdict"]
        assert near["looks"] == 2 and 0.0025 < near["p"] < 0.05 and not near["significant"]
