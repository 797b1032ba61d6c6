"""The API: its description, its answers, what it stores, and what it never opens."""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from benches import HOSTILE, behind, bench_of, client_of, copied, hostile_folder
from starlette.routing import Route
from starlette.testclient import TestClient

from spanwise.cli.main import main
from spanwise.document.evaluation import Evaluation
from spanwise.errors import InputError
from spanwise.workbench import child, serve
from spanwise.workbench.child import ChildMessage, Task
from spanwise.workbench.drawing import ShownJob
from spanwise.workbench.openapi import OPERATIONS, PREFIX, Operation
from spanwise.workbench.pages import PAGES, PATHS
from spanwise.workbench.store import MIGRATIONS, JobOptions, Note, Store
from spanwise.workbench.watch import BenchEvents

if TYPE_CHECKING:
    import uvicorn


def filled(path: str, gold: str) -> str:
    return path.format(
        gold=gold,
        result="1",
        slug="orgs",
        note="1",
        job="1",
        a="1",
        b="2",
        number="0",
        name="page.css",
        document="1",
    )


def test_the_description_names_every_route_and_no_other(client: TestClient) -> None:
    described = client.get("/api/v1/openapi.json").json()
    described_routes = {
        (method.upper(), path) for path, verbs in described["paths"].items() for method in verbs
    }
    routes = [route for route in behind(client.app).routes if isinstance(route, Route)]
    assert len(routes) == len(behind(client.app).routes)
    served = {
        (method, route.path)
        for route in routes
        for method in (route.methods or set()) - {"HEAD"}
        if route.path.startswith(PREFIX)
    }
    assert (
        described_routes
        == served
        == {(operation.method, PREFIX + operation.path) for operation in OPERATIONS}
    )
    assert {route.path for route in routes if not route.path.startswith(PREFIX)} == set(PATHS)


QUERIES = {
    "comparison": "?a=1&b=latest:swapper",
    "slice": "?label=ORG",
    "test": "?a=swapper&b=memoriser&label=ORG",
}


@pytest.mark.parametrize(
    "operation",
    [
        operation
        for operation in OPERATIONS
        if operation.method == "GET" and operation.name not in ("events", "worksheet", "job", "slice_history")
    ],
    ids=lambda operation: operation.name,
)
def test_every_answer_has_its_type(client: TestClient, gold: str, operation: Operation) -> None:
    answer = client.get(PREFIX + filled(operation.path, gold) + QUERIES.get(operation.name, ""))
    assert answer.status_code == 200, answer.text
    msgspec.json.decode(answer.content, type=operation.answer)


def test_a_document_is_served_unchanged(client: TestClient, folder: Path) -> None:
    answer = client.get("/api/v1/results/1")
    assert answer.content == (folder / "all.json").read_bytes()
    msgspec.json.decode(answer.content, type=Evaluation)


def test_swapping_two_results_negates_the_difference(client: TestClient, gold: str) -> None:
    forwards, backwards = (
        client.get(f"/api/v1/golds/{gold}/comparison?a={a}&b={b}").json() for a, b in ((1, 2), (2, 1))
    )
    rows = {tuple(row["path"]): row["difference"] for row in backwards["scores"]}
    for row in forwards["scores"]:
        if row["difference"] is not None:
            assert row["difference"] == pytest.approx(-rows[tuple(row["path"])])


@pytest.mark.parametrize(
    "query",
    [
        "label",
        "colour=red",
        "label=ORG&after=x",
        "label=%22",
        "show.colour=red",
        "show.outcome=x:wrong",
        "limit=0",
        "limit=-1",
        f"after={'9' * 5000}",
    ],
)
def test_a_wrong_request_is_answered_with_a_sentence(client: TestClient, gold: str, query: str) -> None:
    answer = client.get(f"/api/v1/golds/{gold}/mentions?{query}")
    if query == "label":  # an empty value is not a condition
        assert answer.status_code == 200
        return
    assert answer.status_code == 400 and answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"]


def test_a_problem_names_its_position_and_when_to_try_again(
    folder: Path, gold: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    (workspace / "bad.conll").write_text("Ann X-PER\n\n", encoding="utf-8")
    with client_of(workspace) as client:
        answer = client.post("/api/v1/golds", json={"path": "bad.conll"})
        assert answer.status_code == 422 and answer.json()["where"]["line"] == 1
        bench = bench_of(client.app)
        monkeypatch.setattr(bench, "store", Store(bench.store.path, patience=0.01))
        other = sqlite3.connect(bench.store.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        answer = client.post(f"/api/v1/golds/{gold}/notes", json={"sentence": 0, "tag": "x"})
        assert answer.status_code == 503 and int(answer.headers["retry-after"]) > 0
        assert "locked" in answer.json()["detail"] and "read only for now" in client.get(f"/g/{gold}").text
        other.execute("ROLLBACK")
        answer = client.post(f"/api/v1/golds/{gold}/notes", json={"sentence": 0, "tag": "x"})
        assert answer.status_code == 201 and "read and write" in client.get(f"/g/{gold}").text


def test_an_unknown_address_is_answered_with_a_page_or_a_problem(client: TestClient) -> None:
    page, verb = client.get("/nothing"), client.post("/settings")
    assert (page.status_code, verb.status_code) == (404, 405)
    assert "<h1>Not found</h1>" in page.text and "nothing at this address" in page.text
    answer = client.get(f"{PREFIX}/nothing")
    assert answer.status_code == 404 and answer.headers["content-type"] == "application/problem+json"


def test_the_counts_of_a_result_are_served_separately(client: TestClient, folder: Path) -> None:
    row = client.get("/api/v1/results/2/units").json()
    (system,) = row["systems"]
    document = msgspec.json.decode((folder / "all.json").read_bytes())
    assert row == {**document["units"], "systems": {system: document["units"]["systems"][system]}}


def test_get_never_writes(folder: Path, gold: str, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    with client_of(workspace):
        pass  # the first scan fills the store
    before = (workspace / ".spanwise" / "workbench.sqlite").read_bytes()
    paths = [
        PREFIX + route.path + QUERIES.get(route.name, "")
        for route in OPERATIONS
        if route.method == "GET" and route.name != "events"
    ]
    with client_of(workspace, read_only=True) as client:
        for path in [*paths, *(route for route in PATHS if route not in ("/r/{result}", "/d/{document}"))]:
            assert client.get(filled(path, gold)).status_code in (200, 303, 404), path
        answer = client.post(f"/api/v1/golds/{gold}/notes", json={"sentence": 0, "tag": "x"})
        assert answer.status_code == 503
    assert (workspace / ".spanwise" / "workbench.sqlite").read_bytes() == before
    assert not (workspace / "slices.toml").exists()


@pytest.mark.parametrize("kind", ["..", "absolute", "sibling", "link", "encoded", "nul"])
def test_files_outside_the_folder_are_never_opened(folder: Path, tmp_path: Path, kind: str) -> None:
    workspace = copied(folder, tmp_path / "runs")
    beside = tmp_path / "runs-secret"
    beside.mkdir()
    shutil.copy(folder / "gold.conll", beside / "other.conll")
    (workspace / "link.conll").symlink_to(beside / "other.conll")
    path = {
        "..": "../runs-secret/other.conll", "absolute": str(beside / "other.conll"),
        "sibling": str(workspace) + "-secret/other.conll", "link": "link.conll",
        "encoded": "%2e%2e/runs-secret/other.conll", "nul": "gold.conll\x00.txt",
    }[kind]  # fmt: skip
    with client_of(workspace) as client:
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
def test_manipulated_addresses_find_nothing(client: TestClient, path: str) -> None:
    assert client.get(path).status_code in (404, 405)


def test_notes_are_stored_changed_one_at_a_time_and_exported_as_a_worksheet(
    folder: Path, gold: str, tmp_path: Path
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    with client_of(workspace) as client:
        sentence = client.get(f"/api/v1/golds/{gold}/mentions?limit=1").json()["sentences"][0]
        mark = sentence["gold"][0]
        body = {
            "sentence": sentence["number"],
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
        main(
            [
                "suspects",
                "--apply",
                str(tmp_path / "sheet.csv"),
                str(workspace / "gold.conll"),
                "-o",
                str(new),
            ]
        )
        == 0
    )
    assert new.read_bytes() != (workspace / "gold.conll").read_bytes()


def test_a_note_about_a_system_names_it_and_does_not_correct_gold(
    folder: Path, gold: str, tmp_path: Path
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    with client_of(workspace) as client:
        sentence = client.get(f"/api/v1/golds/{gold}/mentions?limit=1").json()["sentences"][0]
        span = {name: sentence["gold"][0][name] for name in ("start", "end", "label")}
        path = f"/api/v1/golds/{gold}/notes"
        for text, system in (("of gold", None), ("of swapper", "swapper")):
            body = {"sentence": sentence["number"], "tag": "odd", "text": text, "system": system, **span}
            assert client.post(path, json=body).status_code == 201
        assert [note["system"] for note in client.get(path).json()] == [None, "swapper"]
        wrong = client.post(path, json={"sentence": 0, "tag": "odd", "system": "swaper"})
        assert wrong.status_code == 400 and "swapper" in wrong.json()["detail"]
        shown = client.get(f"/g/{gold}/sentences/{sentence['number']}").text
        assert '<span class="chip">swapper</span>of swapper' in shown
        assert "<td>swapper</td>" in client.get(f"/g/{gold}/worksheet").text
        sheet = client.get(f"{path.removesuffix('notes')}worksheet?format=jsonl").text
        assert [msgspec.json.decode(line)["evidence"] for line in sheet.splitlines()] == ["of gold"]
        kept = client.put(f"{path}/2", json={"tag": "even"}, headers={"if-match": "1"}).json()
        assert (kept["tag"], kept["system"]) == ("even", "swapper")


def test_a_slice_is_saved_shown_gated_and_deleted(folder: Path, gold: str, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    with client_of(workspace) as client:
        body = {
            "name": "new orgs",
            "where": "toughness=UNSEEN-ANY & label=ORG",
            "score": "recall",
            "least": 99.9,
        }
        path = f"/api/v1/golds/{gold}/slices"
        assert client.post(path, json=body).status_code == 201
        again = client.post(path, json=body)
        assert again.status_code == 409 and "already a slice 'new orgs'" in again.json()["detail"]
        assert "new orgs" in client.get(f"/g/{gold}/slices/new-orgs").text
        gate = client.get(f"/api/v1/golds/{gold}/gate").json()
        assert any(
            "slice new orgs (recall)" in check["name"] and not check["passed"] for check in gate["checks"]
        )
        call = [
            "evaluate",
            str(workspace / "gold.conll"),
            str(workspace / "swapper.conll"),
            "--train",
            str(workspace / "train.conll"),
            "--quiet",
        ]
        assert main([*call, "--gate", str(workspace / "slices.toml"), "--resamples", "0"]) == 1
        assert client.delete(f"{path}/new-orgs").status_code == 428
        change = client.put(f"{path}/new-orgs", json={**body, "least": 50}, headers={"if-match": "1"})
        assert change.json()["version"] == 2
        assert client.delete(f"{path}/new-orgs", headers={"if-match": "1"}).status_code == 412
        assert client.delete(f"{path}/new-orgs", headers={"if-match": "2"}).status_code == 204
        assert client.get(f"/g/{gold}/slices/new-orgs").status_code == 404


def finished(client: TestClient, number: int) -> ShownJob:
    for _ in range(600):
        job = msgspec.json.decode(client.get(f"/api/v1/jobs/{number}").content, type=ShownJob)
        if job.state not in ("waiting", "running"):
            return job
        time.sleep(0.2)
    raise AssertionError(job)


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_an_upload_that_decompresses_to_far_more_than_its_size_is_refused(
    folder: Path, gold: str, tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    bomb = pack(b"word O\n" * 10_000_000)
    assert len(bomb) < 700_000
    with client_of(copied(folder, tmp_path / "runs")) as client:
        sent = client.put(f"/api/v1/golds/{gold}/results?system=a&name=a.conll.{ending}", content=bomb)
        job = finished(client, sent.json()["id"])
        assert job.state == "failed"
        assert f"a.conll.{ending}: the file unpacks to more than 67,108,864 bytes" in job.error


def test_an_upload_is_evaluated_and_a_bad_one_is_answered_with_solutions(
    folder: Path, gold: str, tmp_path: Path
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    with client_of(workspace) as client:
        path = f"/api/v1/golds/{gold}/results"
        name = "../../x/swapper.conll"
        good = client.put(
            f"{path}?system=mine&name={name}&commit=abc", content=(workspace / "swapper.conll").read_bytes()
        )
        assert good.status_code == 202
        job = finished(client, good.json()["id"])
        assert job.state == "done", job
        bad = client.put(f"{path}?system=bad&name=bad.conll", content=b"other O\nwords O\n\n")
        job = finished(client, bad.json()["id"])
        assert job.state == "failed"
        assert job.error.startswith("bad.conll") and str(workspace) not in job.error
        assert client.put(f"{path}?system=none", content=b"").status_code == 422
        assert client.put(f"{path}?system=a&align=magic", content=b"x").status_code == 400
        bench_of(client.app).watcher.scan()
        names = {row["system"]: row for row in client.get(path).json()}
        assert names["mine"]["scores"]["f1"] == names["swapper"]["scores"]["f1"]
        assert names["mine"]["tags"] == {"commit": "abc"}
        assert "mine" in client.get(f"/api/v1/golds/{gold}/slice").json()["systems"]
    assert not list((workspace / ".spanwise" / "uploads").glob("*.part")) and not (tmp_path / "x").exists()
    assert [file.name for file in (workspace / ".spanwise" / "columns").iterdir()] == ["mine-1.npz"]
    assert not list(workspace.glob("mine-*.npz"))


def test_labels_of_an_upload_are_mapped_to_those_of_gold(folder: Path, gold: str, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    other = (workspace / "swapper.conll").read_bytes().replace(b"-LOC", b"-place")
    with client_of(workspace) as client:
        path = f"/api/v1/golds/{gold}/results"
        sent = client.put(f"{path}?system=mine&name=a.conll&predicted_map=place=LOC", content=other)
        assert finished(client, sent.json()["id"]).state == "done"
        wrong = client.put(f"{path}?system=typo&name=a.conll&predicted_map=plice=LOC", content=other)
        assert "names the label 'plice'" in finished(client, wrong.json()["id"]).error
        assert client.put(f"{path}?system=bad&map=A", content=other).status_code == 400
        level = client.put(
            f"{path}?system=level&name=a.conll&hierarchy_level=1&hierarchy=LOC=a/b", content=other
        )
        assert finished(client, level.json()["id"]).state == "done"
        assert client.put(f"{path}?system=bad&hierarchy_level=x", content=other).status_code == 400
        # Under a map of all labels gold is another one, whose results are not compared with others.
        merged = client.put(f"{path}?system=merged&name=a.conll&map=LOC=place", content=other)
        assert finished(client, merged.json()["id"]).state == "done"
        bench_of(client.app).watcher.scan()
        names = {row["system"]: row["scores"]["f1"] for row in client.get(path).json()}
        assert names["mine"] == names["swapper"] and "merged" not in names
        golds = [row["slug"] for row in client.get("/api/v1/golds").json()]
        (row,) = client.get(f"/api/v1/golds/{next(slug for slug in golds if slug != gold)}/results").json()
        assert (row["system"], row["scores"]["f1"]) == ("merged", names["mine"])


@pytest.mark.parametrize(
    "text",
    [
        "Ann B-PER\nleft O\nRo B-LOC\nme I-LOC\n\nBob B-PER\n\n",
        "Ann B-PER\nleft O\n\n",
        "Ann X-PER\nleft O\nRome B-LOC\n\nBob B-PER\n\n",
        "Ann\nleft\n",
        '{"a": 1}\n',
        "\x00\x01\x02",
    ],
)
def test_an_upload_is_answered_in_the_words_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.nice", lambda step: 0)
    (tmp_path / "gold.conll").write_text("Ann B-PER\nleft O\nRome B-LOC\n\nBob B-PER\n\n", encoding="utf-8")
    (tmp_path / "pred.conll").write_text(text, encoding="utf-8")
    status = main(["evaluate", "gold.conll", "x=pred.conll", "--quiet", "--resamples", "0"])
    expected = capsys.readouterr().err.removeprefix("spanwise: ").strip()
    task = Task(gold="gold.conll", train=(), system="x", upload="pred.conll", folder=".", stem="x")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(msgspec.json.encode(task))))
    assert child.main() == status == 3
    answer = msgspec.json.decode(capsys.readouterr().out.splitlines()[-1], type=ChildMessage)
    assert answer.error == expected
    assert not (tmp_path / "x.json").exists() and not (tmp_path / "x.npz").exists()


def test_a_job_has_the_position_of_its_error_and_possible_solutions(
    folder: Path, gold: str, tmp_path: Path
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    with client_of(workspace) as client:
        bench = bench_of(client.app)
        body = JobOptions(upload="u.conll", name="a: b.conll")
        for error in (
            "a: b.conll:3: 'X-PER' is not a tag.\nFix it.",
            "gold.conll: the tokens differ.\nUse --align characters.",
            "somewhere: the evaluation ended.",
            "",
        ):
            added = bench.store.add_job(gold, "mine", body)
            bench.store.set_job(added.id, "failed" if error else "done", error=error)
        positions = [{"file": "a: b.conll", "line": 3}, {"file": "gold.conll", "line": None}, None, None]
        jobs = [client.get(f"/api/v1/jobs/{number}").json() for number in (1, 2, 3, 4)]
        assert [job["where"] for job in jobs] == positions
        ways = [[way["set"] for way in job["ways"]] for job in jobs]
        assert ways == [[], [{"align": name} for name in ("characters", "diff", "position")], [], []]
        assert client.get("/api/v1/jobs").json() == jobs[::-1]
        assert client.get(f"/g/{gold}/evaluate").text.count("Align by ") == 3
        schema = client.get("/api/v1/openapi.json").json()["components"]["schemas"]["ShownJob"]
        assert {"where", "ways", "state"} <= set(schema["properties"])


def test_a_user_sends_one_file_at_a_time_and_old_leftovers_are_removed(
    folder: Path, gold: str, tmp_path: Path
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    uploads = workspace / ".spanwise" / "uploads"
    uploads.mkdir(parents=True)
    foreign = {"thesis.txt", "old.conll", "half.conll.part"}  # names that the workbench never makes
    half, old, young = f"{'a' * 24}.conll.part", f"{'b' * 24}.conll", f"{'c' * 24}.conll"
    for name, age in {half: 0, old: 2 * 86400, young: 60, **dict.fromkeys(foreign, 3 * 86400)}.items():
        (uploads / name).write_bytes(b"x")
        os.utime(uploads / name, (time.time() - age,) * 2)
    with client_of(workspace) as client:
        assert {file.name for file in uploads.iterdir()} == {young, *foreign}
        path = f"/api/v1/golds/{gold}/results?system=mine"
        with bench_of(client.app).uploading("script"):
            answer = client.put(path, content=b"x")
            assert answer.status_code == 409 and "still in progress" in answer.json()["detail"]
        assert client.put(path, content=b"x").status_code == 202


def test_results_are_ordered_by_arrival_whatever_their_names_and_times(folder: Path, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    shutil.copy(workspace / "all.json", workspace / "a-later.json")
    os.utime(workspace / "all.json", (1_000_000, 1_000_000))
    with client_of(workspace) as client:
        bench = bench_of(client.app)
        slug = bench.store.golds()[0].slug
        text = (workspace / "all.json").read_bytes() + b" "
        (workspace / "b-clock-back.json").write_bytes(text)
        os.utime(workspace / "b-clock-back.json", (500_000, 500_000))
        bench.watcher.scan()
        paths = list(dict.fromkeys(result.path for result in bench.store.results(slug)))
        assert paths == ["all.json", "a-later.json", "b-clock-back.json"]
        assert bench.result("latest:swapper", bench.gold(slug)).path == "b-clock-back.json"


def test_a_page_of_an_earlier_server_receives_later_events(folder: Path, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    first, second = BenchEvents(), BenchEvents()
    first.add("job", None, "before")
    second.last = max(second.last, first.last)
    second.add("job", None, "after")
    assert [event.text for event in second.after(first.last)] == ["after"]
    with client_of(workspace) as client:
        bench = bench_of(client.app)
        bench.events.closed = True  # answers end after the known events
        for query in ("?after=0", f"?after={bench.events.last + 10**9}"):
            assert client.get(f"/api/v1/events{query}").status_code == 200


def test_added_changed_and_removed_files_are_noticed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    with client_of(workspace) as client:
        bench = bench_of(client.app)
        slug = bench.store.golds()[0].slug
        shutil.copy(workspace / "all.json", workspace / "again.json")
        bench.watcher.scan()
        assert len(bench.store.results(slug)) == 4
        assert bench.events.after(0)[-1].kind == "result"
        (workspace / "again.json").unlink()
        bench.watcher.scan()
        assert [result.gone for result in bench.store.results(slug)] == [False, False, True, True]
        (workspace / "half.json").write_bytes((workspace / "all.json").read_bytes()[:5000])
        bench.watcher.scan()
        assert "half.json" not in bench.store.files()  # it may still be growing
        monkeypatch.setattr("spanwise.workbench.watch.PATIENCE", 0.0)
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
        assert " style=" not in answer.text or path in ("/r/{result}", "/d/{document}", "/static/{name}")


def test_a_store_of_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "workbench.sqlite"
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version={len(MIGRATIONS) + 1}")
    with pytest.raises(InputError, match="a newer workbench wrote this file"):
        Store(path)


def start_of(number: int) -> str:
    """The start time of a process: field 22 of its line in /proc."""
    line = Path(f"/proc/{number}/stat").read_text(encoding="utf-8")
    return line[line.rindex(") ") + 2 :].split(" ")[22 - 3]


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="the system does not tell of processes")
def test_a_second_server_is_refused_but_not_a_reused_process_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("uvicorn")
    file = tmp_path / ".spanwise" / "server"
    parent, address = os.getppid(), "http://127.0.0.1:7000"
    with socket.socket() as other:  # so that a server that is not refused fails at the next check
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        file.parent.mkdir()
        for written, expected in (
            (f"{parent} {address} {start_of(parent)}\n", f"already serves this folder at {address}.\n"),
            (
                f"{parent} {address}\n",
                f"already serves this folder at {address}.\n",
            ),  # written by an older version
            (f"{parent} {address} {int(start_of(parent)) + 1}\n", "cannot listen"),
            ("", "cannot listen"),
        ):
            file.write_text(written, encoding="utf-8")
            with pytest.raises(InputError, match=expected):
                serve(tmp_path, port=port)
    kept: list[str] = []

    def run(server: uvicorn.Server, sockets: object) -> None:
        kept.append(file.read_text(encoding="utf-8"))
        bench_of(server.config.app).store.close()

    monkeypatch.setattr("uvicorn.Server.run", run)
    serve(tmp_path, port=0)
    assert kept == [f"{os.getpid()} http://127.0.0.1:0 {start_of(os.getpid())}\n"]
    assert not file.exists()


@pytest.mark.parametrize("read_only", [False, True])
def test_a_store_of_an_earlier_version_keeps_its_notes(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "workbench.sqlite"
    with sqlite3.connect(path) as db:
        for step in MIGRATIONS[:3]:
            db.executescript(step)
        db.execute("INSERT INTO note VALUES (7, 'g', 2, 'sha', 0, 1, 'ORG', 'odd', 'text', 'Ann', 3, 1.5)")
        db.execute("PRAGMA user_version=3")
    db.close()
    before = path.read_bytes()
    store = Store(path, read_only=read_only)
    expected = Note(7, "g", 2, "sha", 0, 1, "ORG", "odd", "text", "Ann", 3, 1.5, None)
    assert store.notes("g") == [expected]
    if read_only:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            store.add_note(expected)
        assert path.read_bytes() == before
    else:
        assert store.add_note(msgspec.structs.replace(expected, system="mine")).system == "mine"
    store.close()


KILLED = """
import sys
from collections.abc import Callable
from pathlib import Path
from spanwise.workbench.store import Note, Store
store = Store(Path(sys.argv[1]))
for number in range(10_000):
    note = store.add_note(Note(0, "g", number, "s", 0, 1, "X", "t", "x" * 500, "", 1, 0.0))
    print(note.id, flush=True)
"""


def test_acknowledged_writes_survive_a_kill(tmp_path: Path) -> None:
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
