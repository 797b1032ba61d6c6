"""The API: its description, its answers, what it keeps, and what it never opens."""

from __future__ import annotations

import csv
import io
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from benches import HOSTILE, client_of, copied, hostile_folder

from spanwise.cli.main import main
from spanwise.document.evaluation import Evaluation
from spanwise.errors import InputError
from spanwise.workbench.api import OPERATIONS, PREFIX
from spanwise.workbench.pages import PAGES, PATHS
from spanwise.workbench.store import MIGRATIONS, Store


def filled(path: str, gold: str) -> str:
    return path.format(
        gold=gold, result="1", slug="orgs", note="1", job="1", a="1", b="2", number="0", name="page.css"
    )


def test_the_description_names_every_route_and_no_other(client: Any) -> None:
    described = client.get("/api/v1/openapi.json").json()
    told = {(method.upper(), path) for path, verbs in described["paths"].items() for method in verbs}
    served = {
        (method, route.path)
        for route in client.app.app.routes
        for method in route.methods - {"HEAD"}
        if route.path.startswith(PREFIX)
    }
    assert told == served == {(one.method, PREFIX + one.path) for one in OPERATIONS}
    assert {route.path for route in client.app.app.routes if not route.path.startswith(PREFIX)} == set(PATHS)


QUERIES = {
    "comparison": "?a=1&b=latest:swapper",
    "slice": "?label=ORG",
    "test": "?a=swapper&b=memoriser&label=ORG",
}


@pytest.mark.parametrize(
    "operation",
    [
        one
        for one in OPERATIONS
        if one.method == "GET" and one.name not in ("events", "worksheet", "job", "slice_history")
    ],
    ids=lambda one: one.name,
)
def test_every_answer_has_its_type(client: Any, gold: str, operation: Any) -> None:
    answer = client.get(PREFIX + filled(operation.path, gold) + QUERIES.get(operation.name, ""))
    assert answer.status_code == 200, answer.text
    msgspec.json.decode(answer.content, type=operation.answer)


def test_a_document_is_served_unchanged(client: Any, folder: Path) -> None:
    answer = client.get("/api/v1/results/1")
    assert answer.content == (folder / "all.json").read_bytes()
    msgspec.json.decode(answer.content, type=Evaluation)


def test_exchanging_two_results_turns_the_difference(client: Any, gold: str) -> None:
    one, other = (
        client.get(f"/api/v1/golds/{gold}/comparison?a={a}&b={b}").json() for a, b in ((1, 2), (2, 1))
    )
    rows = {tuple(row["path"]): row["difference"] for row in other["scores"]}
    for row in one["scores"]:
        if row["difference"] is not None:
            assert row["difference"] == pytest.approx(-rows[tuple(row["path"])])


def test_looking_at_more_slices_raises_the_corrected_p(client: Any, gold: str) -> None:
    path = f"/api/v1/golds/{gold}/test?a=swapper&b=memoriser"
    first = client.get(f"{path}&label=PER").json()
    second = client.get(f"{path}&label=LOC").json()
    assert second["looked_at"] > first["looked_at"] or second["looked_at"] >= 2
    assert second["p_corrected"] == pytest.approx(min(1, second["p"] * second["looked_at"]))


@pytest.mark.parametrize(
    "query",
    ["label", "colour=red", "label=ORG&after=x", "label=%22", "show.colour=red", "show.outcome=x:wrong"],
)
def test_a_wrong_question_is_answered_with_a_sentence(client: Any, gold: str, query: str) -> None:
    answer = client.get(f"/api/v1/golds/{gold}/mentions?{query}")
    if query == "label":  # an empty value is no condition
        assert answer.status_code == 200
        return
    assert answer.status_code == 400 and answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"]


def test_get_never_writes(folder: Path, gold: str, tmp_path: Path) -> None:
    there = copied(folder, tmp_path / "runs")
    with client_of(there):
        pass  # the first scan fills the store
    before = (there / ".spanwise" / "workbench.sqlite").read_bytes()
    paths = [
        PREFIX + one.path + QUERIES.get(one.name, "")
        for one in OPERATIONS
        if one.method == "GET" and one.name != "events"
    ]
    with client_of(there, read_only=True) as client:
        for path in [*paths, *(one for one in PATHS if one != "/r/{result}")]:
            assert client.get(filled(path, gold)).status_code in (200, 303, 404), path
        answer = client.post(f"/api/v1/golds/{gold}/notes", json={"sentence": 0, "tag": "x"})
        assert answer.status_code == 503
    assert (there / ".spanwise" / "workbench.sqlite").read_bytes() == before
    assert not (there / "slices.toml").exists()


@pytest.mark.parametrize("kind", ["..", "absolute", "sibling", "link", "encoded", "nul"])
def test_files_outside_the_folder_are_never_opened(folder: Path, tmp_path: Path, kind: str) -> None:
    there = copied(folder, tmp_path / "runs")
    beside = tmp_path / "runs-secret"
    beside.mkdir()
    shutil.copy(folder / "gold.conll", beside / "other.conll")
    (there / "link.conll").symlink_to(beside / "other.conll")
    path = {
        "..": "../runs-secret/other.conll", "absolute": str(beside / "other.conll"),
        "sibling": str(there) + "-secret/other.conll", "link": "link.conll",
        "encoded": "%2e%2e/runs-secret/other.conll", "nul": "gold.conll\x00.txt",
    }[kind]  # fmt: skip
    with client_of(there) as client:
        for body in ({"path": path}, {"path": "gold.conll", "train": ["train.conll", path]}):
            answer = client.post("/api/v1/golds", json=body)
            assert answer.status_code == 422 and "no such file in the folder" in answer.json()["detail"]


@pytest.mark.parametrize(
    "path",
    [
        "/static/../store.py",
        "/static/%2e%2e/store.py",
        "/static/..%2fstore.py",
        "/r/../../etc/passwd",
        "/r/%00",
        "/g/%2e%2e/slices",
    ],
)
def test_tricks_with_addresses_find_nothing(client: Any, path: str) -> None:
    assert client.get(path).status_code in (404, 405)


def test_notes_are_kept_changed_by_one_and_given_as_a_worksheet(
    folder: Path, gold: str, tmp_path: Path
) -> None:
    there = copied(folder, tmp_path / "runs")
    with client_of(there) as client:
        found = client.get(f"/api/v1/golds/{gold}/mentions?limit=1").json()["sentences"][0]
        mark = found["gold"][0]
        body = {
            "sentence": found["number"],
            "start": mark["start"],
            "end": mark["end"],
            "label": mark["label"],
            "tag": "gold is wrong",
            "text": "=cmd()",
        }
        note = client.post(f"/api/v1/golds/{gold}/notes", json=body).json()
        path = f"/api/v1/golds/{gold}/notes/{note['id']}"
        change = {"tag": "gold is wrong", "text": "second"}
        assert client.put(path, json=change).status_code == 428
        assert client.put(path, json=change, headers={"if-match": "1"}).json()["version"] == 2
        late = client.put(path, json=change, headers={"if-match": "1"})
        assert late.status_code == 412 and "second" in late.json()["detail"]
        assert client.delete(path).status_code == 428
        assert client.delete(path, headers={"if-match": "1"}).status_code == 412
        assert client.get(f"/api/v1/golds/{gold}/notes").json()[0]["text"] == "second"
        sheet = client.get(f"/api/v1/golds/{gold}/worksheet").text
        assert "gold is wrong" in client.get(f"/g/{gold}/worksheet").text
    rows = list(csv.DictReader(io.StringIO(sheet)))
    rows[0]["decision"] = "accept"
    with (tmp_path / "sheet.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    new = tmp_path / "gold2.conll"
    assert (
        main(["suspects", "--apply", str(tmp_path / "sheet.csv"), str(there / "gold.conll"), "-o", str(new)])
        == 0
    )
    assert new.read_bytes() != (there / "gold.conll").read_bytes()


def test_a_slice_is_saved_shown_gated_and_forgotten(folder: Path, gold: str, tmp_path: Path) -> None:
    there = copied(folder, tmp_path / "runs")
    with client_of(there) as client:
        body = {
            "name": "new orgs",
            "where": "toughness=UNSEEN-ANY & label=ORG",
            "score": "recall",
            "least": 99.9,
        }
        path = f"/api/v1/golds/{gold}/slices"
        assert client.post(path, json=body).status_code == 201
        assert client.post(path, json=body).status_code == 412
        assert "new orgs" in client.get(f"/g/{gold}/slices/new-orgs").text
        gate = client.get(f"/api/v1/golds/{gold}/gate").json()
        assert any(
            "slice new orgs (recall)" in check["name"] and not check["passed"] for check in gate["checks"]
        )
        call = [
            "evaluate",
            str(there / "gold.conll"),
            str(there / "swapper.conll"),
            "--train",
            str(there / "train.conll"),
            "--quiet",
        ]
        assert main([*call, "--gate", str(there / "slices.toml"), "--resamples", "0"]) == 1
        assert client.delete(f"{path}/new-orgs").status_code == 204
        assert client.get(f"/g/{gold}/slices/new-orgs").status_code == 404


def finished(client: Any, number: int) -> dict[str, Any]:
    for _ in range(300):
        job: dict[str, Any] = client.get(f"/api/v1/jobs/{number}").json()
        if job["state"] not in ("waiting", "running"):
            return job
        time.sleep(0.2)
    raise AssertionError(job)


def test_an_upload_is_evaluated_and_a_bad_one_is_answered_with_ways_out(
    folder: Path, gold: str, tmp_path: Path
) -> None:
    there = copied(folder, tmp_path / "runs")
    with client_of(there) as client:
        path = f"/api/v1/golds/{gold}/results"
        name = "../../x/swapper.conll"
        good = client.put(
            f"{path}?system=mine&name={name}&commit=abc", content=(there / "swapper.conll").read_bytes()
        )
        assert good.status_code == 202
        job = finished(client, good.json()["id"])
        assert job["state"] == "done", job
        bad = client.put(f"{path}?system=bad&name=bad.conll", content=b"other O\nwords O\n\n")
        job = finished(client, bad.json()["id"])
        assert (
            job["state"] == "failed"
            and job["error"].startswith("bad.conll")
            and str(there) not in job["error"]
        )
        assert client.put(f"{path}?system=none", content=b"").status_code == 422
        assert client.put(f"{path}?system=a&align=magic", content=b"x").status_code == 400
        for _ in range(40):
            names = {row["system"]: row for row in client.get(path).json()}
            if "mine" in names:
                break
            time.sleep(0.1)
        assert names["mine"]["scores"]["f1"] == names["swapper"]["scores"]["f1"]
        assert names["mine"]["tags"] == {"commit": "abc"}
        assert "mine" in client.get(f"/api/v1/golds/{gold}/slice").json()["systems"]
    assert not list((there / ".spanwise" / "uploads").glob("*.part")) and not (tmp_path / "x").exists()


def test_files_come_change_and_go(folder: Path, tmp_path: Path) -> None:
    there = copied(folder, tmp_path / "runs")
    with client_of(there) as client:
        bench = client.app.app.state.bench
        slug = bench.store.golds()[0].slug
        shutil.copy(there / "all.json", there / "again.json")
        bench.watcher.scan()
        assert len(bench.store.results(slug)) == 4
        assert bench.events.after(0)[-1].kind == "result"
        (there / "again.json").unlink()
        bench.watcher.scan()
        assert [one.gone for one in bench.store.results(slug)] == [False, False, True, True]
        (there / "half.json").write_bytes((there / "all.json").read_bytes()[:5000])
        bench.watcher.scan()
        assert "half.json" not in bench.store.files()  # it may still grow
        bench.watcher._doubtful["half.json"] = (5000, time.monotonic() - 60)
        bench.watcher.scan()
        assert bench.store.files()["half.json"].kind == "unreadable"
        assert "half.json" in client.get(f"/g/{slug}").text


@pytest.mark.parametrize("path", PAGES)
def test_hostile_text_is_shown_and_never_runs(tmp_path: Path, path: str) -> None:
    with client_of(hostile_folder(tmp_path / "runs")) as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]
        client.post(
            f"/api/v1/golds/{slug}/notes",
            json={"sentence": 0, "tag": HOSTILE, "text": HOSTILE, "by": HOSTILE},
        )
        client.post(f"/api/v1/golds/{slug}/slices", json={"name": HOSTILE, "where": "label=X"})
        answer = client.get(
            filled(path, slug).replace("/1/2", "/1/1").replace("/orgs", "/script-alert-1-script")
        )
        assert answer.status_code in (200, 303, 404)
        assert HOSTILE not in answer.text and "<img src=x" not in answer.text and "\u202e" not in answer.text
        policy = answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert " style=" not in answer.text or path in ("/r/{result}", "/static/{name}")


def test_a_store_of_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "workbench.sqlite"
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version={len(MIGRATIONS) + 1}")
    with pytest.raises(InputError, match="a newer workbench wrote this file"):
        Store(path)


KILLED = """
import sys
from pathlib import Path
from spanwise.workbench.store import Note, Store
store = Store(Path(sys.argv[1]))
for number in range(10_000):
    note = store.add_note(Note(0, "g", number, "s", 0, 1, "X", "t", "x" * 500, "", 1, 0.0))
    print(note.id, flush=True)
"""


def test_what_was_acknowledged_outlives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "workbench.sqlite"
    acknowledged: list[int] = []
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        for _ in range(15):
            acknowledged.append(int(child.stdout.readline()))
        os.kill(child.pid, signal.SIGKILL)
        acknowledged += [int(line) for line in child.stdout.read().splitlines() if line.isdecimal()]
        child.wait()
    store = Store(path)
    assert {note.id for note in store.notes("g")} >= set(acknowledged)
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)
