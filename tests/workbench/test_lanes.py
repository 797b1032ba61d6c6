"""Quick requests never wait for costly ones, and the cache stays within its budget."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from awaited import finished
from benches import TOKEN, bench_of, client_of, copied
from starlette.testclient import TestClient

from spanwise.errors import InputError
from spanwise.workbench.child import ReportTask
from spanwise.workbench.guard import Refused
from spanwise.workbench.jobs import Child
from spanwise.workbench.lanes import NEWER, STILL, AnswerCache, Lanes

T = TypeVar("T")


def test_the_least_recently_used_value_is_dropped_first() -> None:
    computed: list[int] = []
    kept = AnswerCache(100)

    def make(number: int) -> int:
        computed.append(number)
        return number

    for number in (60, 30, 50, 30, 60):
        kept.get("number", number, partial(make, number), int)
    assert computed == [60, 30, 50, 60] and kept.size == 90


def test_the_latest_of_every_kind_stays_whatever_its_size() -> None:
    kept = AnswerCache(100)
    kept.put("index", "a", "large", 500)
    for number in range(20):
        kept.put("answer", number, number, 10)
    assert kept.peek("index", "a") == "large" and kept.peek("answer", 19) == 19
    assert kept.peek("answer", 18) is None and kept.size == 510


def test_a_replaced_value_is_counted_once() -> None:
    kept = AnswerCache(100)
    for size in (40, 60, 20):
        kept.put("index", "a", size, size)
    assert kept.size == 20 and kept.peek("index", "a") == 20


def test_a_value_requested_many_times_at_once_is_computed_once() -> None:
    kept, computed, together = AnswerCache(100), [], threading.Barrier(8)

    def make() -> str:
        computed.append(1)
        return "answer"

    def ask(_: int) -> str:
        together.wait()
        return kept.get("answer", "a", make, len)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(8))) == {"answer"}
    assert computed == [1]


def test_an_answer_that_failed_is_tried_again() -> None:
    kept = AnswerCache(100)

    def fail() -> str:
        raise InputError("no")

    with pytest.raises(InputError):
        kept.get("answer", "a", fail, len)
    assert kept.get("answer", "a", lambda: "yes", len) == "yes"


class Line:
    """Lanes in which a costly request waits until it is released."""

    def __init__(self, clock: float = 60.0) -> None:
        self.lanes, self.go, self.begun = Lanes(clock), threading.Event(), threading.Event()
        self.done: list[str] = []

    def slow(self, name: str) -> str:
        self.begun.set()
        assert self.go.wait(60)
        self.done.append(name)
        return name

    def costly(self, name: str, topic: Hashable = None) -> Awaitable[str]:
        asked = self.lanes.costly(name, lambda: self.slow(name), topic=topic)
        return asyncio.ensure_future(asked)

    def run(self, work: Awaitable[T]) -> T:
        async def whole() -> T:
            return await work

        try:
            return finished(whole())
        finally:
            self.go.set()
            self.lanes.stop()


def test_quick_requests_do_not_wait_for_costly_ones() -> None:
    line = Line()

    async def ask() -> None:
        first = line.costly("costly")
        assert await line.lanes.quick(lambda: line.begun.wait(60))
        assert [await line.lanes.quick(lambda: "quick") for _ in range(5)] == ["quick"] * 5
        line.go.set()
        assert await first == "costly"

    line.run(ask())


def test_after_a_timeout_the_work_continues_and_its_result_can_be_fetched() -> None:
    line = Line(clock=0.05)

    async def ask() -> None:
        with pytest.raises(Refused, match="still being computed") as caught:
            await line.costly("costly")
        assert caught.value.status == 503 and str(caught.value) == STILL
        line.go.set()
        line.lanes.clock = 60.0
        assert await line.costly("costly") == "costly"
        assert line.done == ["costly"]  # computed once

    line.run(ask())


def test_of_waiting_requests_on_one_topic_only_the_newest_is_answered() -> None:
    line = Line()

    async def ask() -> None:
        running = line.costly("running")
        assert await line.lanes.quick(lambda: line.begun.wait(60))
        first, second, other = line.costly("a", "test"), line.costly("b", "test"), line.costly("c")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        third = line.costly("d", "test")
        await asyncio.sleep(0)
        line.go.set()
        for stale in (first, second):
            with pytest.raises(Refused) as caught:
                await stale
            assert caught.value.status == 503 and str(caught.value) == NEWER
        assert [await running, await other, await third] == ["running", "c", "d"]
        assert line.done == ["running", "c", "d"]

    line.run(ask())


def test_a_costly_answer_says_when_to_try_again(folder: Path, gold: str, tmp_path: Path) -> None:
    with client_of(copied(folder, tmp_path / "runs")) as client:
        lanes = bench_of(client.app).lanes
        lanes.clock = 0.0
        answer = client.get(f"/api/v1/golds/{gold}/weak")
        assert answer.status_code == 503 and answer.headers["retry-after"] == "2"
        assert answer.json()["detail"] == STILL
        page = client.get("/r/1")
        assert page.status_code == 503 and page.headers["refresh"] == "2"
        assert "still being computed" in page.text
        lanes.clock = 60.0
        assert client.get("/r/1").status_code == 200
        assert client.get(f"/api/v1/golds/{gold}/weak").json()["system"]


def test_a_failed_or_killed_child_is_reported_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        Child(0).ask(ReportTask(path=str(tmp_path / "none.json")))
    stopped = Child(0)
    stopped.stop()
    with pytest.raises(InputError, match="killed"):
        stopped.ask(ReportTask(path=str(tmp_path / "none.json")))


def test_a_report_of_the_child_equals_that_of_the_document(client: TestClient, folder: Path) -> None:
    from spanwise import load

    assert (
        client.get("/r/1", headers={"authorization": f"Bearer {TOKEN}"}).text
        == load(folder / "all.json").to_html()
    )


def test_a_search_for_words_among_many_mentions_is_costly(
    client: TestClient, gold: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[object] = []
    lanes = bench_of(client.app).lanes
    costly = lanes.costly

    def noticed(key: Hashable, work: Callable[[], T], *, topic: Hashable = None) -> Awaitable[T]:
        requested.append(key)
        return costly(key, work, topic=topic)

    monkeypatch.setattr(lanes, "costly", noticed)
    views = ("slice?text=of", "slice?where=sentence%3Dof", "mentions?sentence=of", "slice?label=ORG")
    before = [client.get(f"/api/v1/golds/{gold}/{view}").json() for view in views]
    assert requested == []
    monkeypatch.setattr("spanwise.workbench.api.SEARCHED", 0)
    assert [client.get(f"/api/v1/golds/{gold}/{view}").json() for view in views] == before
    assert len(requested) == 3
    assert client.get(f"/api/v1/golds/{gold}/slice?where=text").status_code == 400
