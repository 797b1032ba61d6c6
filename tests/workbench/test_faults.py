"""Faults around the workbench: nothing is left half-done, and nothing leaks to others."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest
from awaited import finished
from benches import client_of, copied
from msgspec.structs import replace
from starlette.requests import Request
from starlette.testclient import TestClient
from starlette.types import Message

import spanwise
from spanwise.document.evaluation import Evaluation, PackedMeasure
from spanwise.document.loading import load_summary
from spanwise.evaluation.columns import MentionColumns, mention_columns
from spanwise.workbench import bench as benches
from spanwise.workbench import index as indexes
from spanwise.workbench.bench import Bench
from spanwise.workbench.guard import Refused
from spanwise.workbench.index import FileKey, Indexed
from spanwise.workbench.store import MIGRATIONS, Store


def uploads_in(folder: Path) -> list[str]:
    return [path.name for path in (folder / ".spanwise" / "uploads").iterdir()]


def test_an_upload_onto_a_full_disk_leaves_nothing_behind(
    folder: Path, gold: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    with client_of(workspace) as client:

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        answer = client.put(f"/api/v1/golds/{gold}/results?system=a", content=b"x" * 5000)
        assert answer.status_code == 507 and str(workspace) in answer.json()["detail"]
        assert not uploads_in(workspace)


def test_an_upload_that_grows_beyond_the_limit_leaves_nothing_behind(
    folder: Path, gold: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    monkeypatch.setattr(benches, "MOST_UPLOAD", 10_000)

    def pieces() -> Iterator[bytes]:  # sent without a content length
        yield from [b"x" * 4000] * 5

    with client_of(workspace) as client:
        answer = client.put(f"/api/v1/golds/{gold}/results?system=a", content=pieces())
        assert answer.status_code == 413 and not uploads_in(workspace)


def test_an_upload_that_stalls_is_abandoned(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    monkeypatch.setattr(benches, "IDLE", 0.05)
    bench = Bench(workspace)
    bench.jobs.uploads.mkdir()

    pieces = iter([b"x"])

    async def receive() -> Message:
        for piece in pieces:
            return {"type": "http.request", "body": piece, "more_body": True}
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    try:
        with pytest.raises(Refused, match="interrupted") as caught:
            finished(benches._receive(bench, Request({"type": "http"}, receive), "a.conll", "kept.conll"))
        assert caught.value.status == 408 and not uploads_in(workspace)
    finally:
        bench.store.close()


def test_a_database_that_stays_locked_is_opened_for_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "workbench.sqlite"
    Store(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA journal_mode=DELETE")
    other.execute("BEGIN EXCLUSIVE")
    opened: list[bool] = []
    whole = Store.__init__

    def impatient(self: Store, path: Path, *, read_only: bool = False) -> None:
        opened.append(read_only)
        if read_only:
            other.execute("ROLLBACK")  # the other program has finished
        whole(self, path, read_only=read_only, patience=0.01)

    monkeypatch.setattr(Store, "__init__", impatient)
    store = Store.opened(path)
    assert opened == [False, True] and store.read_only
    store.close()
    other.close()


def test_attributes_with_different_edges_are_left_out_and_named(folder: Path, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    result = spanwise.evaluate(
        workspace / "gold.conll", {"other": workspace / "memoriser.conll"}, train=workspace / "train.conll",
        buckets={"entity_length": "balanced:2"}, resamples=0,
    )  # fmt: skip
    result.to_json(workspace / "other.json")
    mention_columns(result).save(workspace / "other.npz")
    with client_of(workspace) as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]
        comparison = client.get(f"/api/v1/golds/{slug}/comparison?a=latest:other&b=latest:swapper").json()
        assert any("entity_length" in note for note in comparison["notes"])
        assert not [row for row in comparison["scores"] if "entity_length" in str(row["path"])]
        facets = client.get(f"/api/v1/golds/{slug}/slice").json()["facets"]
        assert "label" in facets and "entity_length" not in facets
        assert "entity_length" in client.get(f"/g/{slug}/slices").text


def test_a_new_file_of_columns_is_added_to_those_that_were_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    bench = Bench(workspace)
    read: list[str] = []
    load = MentionColumns.load
    try:
        bench.watcher.scan()
        [gold] = bench.store.golds()
        before = bench.shelf.indexed(gold)
        assert before is not None and bench.shelf.indexed(gold) is before
        result = spanwise.evaluate(
            workspace / "gold.conll",
            {"later": workspace / "swapper.conll"},
            train=workspace / "train.conll",
            resamples=0,
        )
        mention_columns(result).save(workspace / "later.npz")
        os.utime(workspace / "later.npz", (time.time() + 60,) * 2)
        bench.watcher.scan()

        def noticed(path: Path) -> MentionColumns:
            read.append(path.name)
            return load(path)

        monkeypatch.setattr(MentionColumns, "load", noticed)
        after = bench.shelf.indexed(gold)
        assert after is not None and read == ["later.npz"]
        assert set(after.index.systems) == {"memoriser", "swapper", "later"}
        assert after.index.counted(None)["later"] == after.index.counted(None)["swapper"]
        assert after.index.counted(None)["memoriser"] == before.index.counted(None)["memoriser"]
        assert not [name for name in after.parts[before.files[0]].arrays if not name.startswith("system")]
    finally:
        bench.stop()


def test_while_columns_are_merged_others_get_the_previous_ones(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    bench = Bench(workspace)
    begun, go = threading.Event(), threading.Event()
    whole = indexes.combine_columns

    def slowly(folder: Path, files: tuple[FileKey, ...], known: Mapping[FileKey, MentionColumns]) -> Indexed:
        begun.set()
        assert go.wait(60)
        return whole(folder, files, known)

    try:
        bench.watcher.scan()
        [gold] = bench.store.golds()
        before = bench.shelf.indexed(gold)
        os.utime(workspace / "all.npz", (time.time() + 60,) * 2)
        bench.watcher.scan()
        monkeypatch.setattr(indexes, "combine_columns", slowly)
        built: list[object] = []
        builder = threading.Thread(target=lambda: built.append(bench.shelf.indexed(gold)))
        builder.start()
        assert begun.wait(60)
        assert bench.shelf.indexed(gold) is before
        go.set()
        builder.join()
        assert built[0] is not before and bench.shelf.indexed(gold) is built[0]
    finally:
        go.set()
        bench.stop()


def test_counts_of_an_earlier_version_are_stored_apart_from_their_results(tmp_path: Path) -> None:
    path = tmp_path / "workbench.sqlite"
    old = sqlite3.connect(path, isolation_level=None)
    for step in MIGRATIONS[:4]:
        old.executescript(step)
    old.execute("PRAGMA user_version = 4")
    packed = {
        name: PackedMeasure(
            name=name, scorer=name, family=None, tested=(), credit=None, share=1, paths=(), cells=(),
            columns=(), rows="", row="",
        )
        for name in ("exact", "fair")
    }  # fmt: skip
    texts = {name: msgspec.json.encode([row]).decode() for name, row in packed.items()}
    for number, counts in enumerate((texts, {}), 1):
        body = msgspec.json.encode({"scores": {"f1": 0.5}, "counts": counts}).decode()
        old.execute("INSERT INTO result VALUES (?, ?, 'a', 'g', 's', 0, ?)", (number, f"{number}.json", body))
    old.close()
    store = Store(path)
    first, second = store.results("g")
    assert set(first.board.counted) == {"exact", "fair"} and second.board.counted == ()
    assert {name: store.counts(1, name) for name in packed} == {name: [row] for name, row in packed.items()}
    assert first.board.scores == {"f1": 0.5}
    store.close()


def test_a_summary_is_the_document_without_its_sentences(folder: Path) -> None:
    whole, summary = spanwise.load(folder / "all.json"), load_summary(folder / "all.json")
    assert isinstance(whole, Evaluation) and isinstance(summary, Evaluation)
    assert whole.sentences and not summary.sentences
    assert summary.systems == whole.systems and summary.units == whole.units
    assert summary.settings == whole.settings


def test_an_unchanged_answer_is_not_sent_again(client: TestClient, gold: str) -> None:
    for path in (
        f"/api/v1/golds/{gold}/slice?label=ORG",
        "/api/v1/results/1",
        f"/api/v1/golds/{gold}/results",
    ):
        first = client.get(path)
        again = client.get(path, headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert client.get(path, headers={"if-none-match": '"other"'}).content == first.content


def test_at_most_two_hundred_sentences_are_returned(client: TestClient, gold: str) -> None:
    answer = client.get(f"/api/v1/golds/{gold}/mentions?limit=1000").json()
    numbers = [sentence["number"] for sentence in answer["sentences"]]
    assert 0 < len(numbers) <= 200 and numbers == sorted(set(numbers))


def test_sentences_follow_each_other_without_a_gap(client: TestClient, gold: str) -> None:
    path = f"/api/v1/golds/{gold}/mentions?label=ORG"
    whole = [sentence["number"] for sentence in client.get(f"{path}&limit=200").json()["sentences"]]
    seen: list[int] = []
    after: int | None = -1
    while after is not None:
        part = client.get(f"{path}&limit=3&after={after}").json()
        seen += [sentence["number"] for sentence in part["sentences"]]
        after = part["next"]
    assert seen == whole and len(whole) > 3


def test_the_token_is_shown_only_to_its_owner(folder: Path, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    output = tmp_path / "output"
    with output.open("wb") as stream:
        call = [sys.executable, "-m", "spanwise", "workbench", str(workspace), "--port", str(port)]
        server = subprocess.Popen(call, stdout=stream, stderr=stream)
    try:
        secret = workspace / ".spanwise" / "token"
        address = f"http://127.0.0.1:{port}/settings"
        for _ in range(600):
            try:
                token = secret.read_text(encoding="utf-8").strip()
                request = urllib.request.Request(address, headers={"authorization": f"Bearer {token}"})
                assert urllib.request.urlopen(request, timeout=30).status == 200
                break
            except OSError:
                time.sleep(0.1)
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{address}?token=guessed-secret", timeout=30)
        if os.name == "posix":
            assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)
    text = output.read_text(encoding="utf-8")
    assert token not in text and "guessed-secret" not in text and "GET" not in text
    assert len(re.findall(r"token=", text)) <= 1  # in the link


def test_columns_of_another_gold_are_left_out(folder: Path, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    columns = MentionColumns.load(workspace / "all.npz")
    arrays = {**columns.arrays, "gold.label": np.zeros_like(columns.arrays["gold.label"])}
    MentionColumns(replace(columns.head, systems=("third", "fourth")), arrays).save(workspace / "other.npz")
    os.utime(workspace / "all.npz", (time.time() + 60,) * 2)
    bench = Bench(workspace)
    try:
        bench.watcher.scan()
        [gold] = bench.store.golds()
        indexed = bench.shelf.indexed(gold)
        assert indexed is not None and set(indexed.index.systems) == {"memoriser", "swapper"}
    finally:
        bench.stop()
