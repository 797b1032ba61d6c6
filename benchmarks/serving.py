"""Tools for measuring the workbench: a server process, random requests, and folders of any size."""

from __future__ import annotations

import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from msgspec.structs import replace

from benchmarks.data import SYSTEMS, make
from spanwise.cli.main import main as spanwise
from spanwise.columns import Column
from spanwise.evaluation.columns import MentionColumns

PATIENCE = 10  # how often a client retries when told to


class Memory(NamedTuple):
    """The memory of a server, in MB."""

    now: float
    most: float
    children: float

    def __str__(self) -> str:
        return f"{self.now:.0f} MB" + (f" + {self.children:.0f} in processes" if self.children else "")


def _kept(process: int) -> dict[str, float]:
    """The memory statistics of a process in MB; empty if it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {}
    fields = [line.split() for line in lines if line.startswith(("VmRSS", "VmHWM"))]
    return {name.rstrip(":"): int(number) / 1024 for name, number, _ in fields}


class Server:
    """A workbench in a separate process."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = folder
        (folder / ".spanwise" / "token").unlink(missing_ok=True)
        call = [sys.executable, "-m", "spanwise", "workbench", str(folder), "--port", str(self.port)]
        self.process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.token = ""

    def wait(self) -> None:
        """Wait until the server answers and has a result."""
        while True:
            try:
                self.token = (self.folder / ".spanwise" / "token").read_text().strip()
                if json.loads(self.ask("GET", "/api/v1/golds")[1]):
                    return
            except OSError:
                if self.process.poll() is not None:
                    raise SystemExit("the workbench did not start") from None
            time.sleep(0.02)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Send one request on a new connection; return the status and the body."""
        status, answered, _ = self.told(method, path, body)
        return status, answered

    def patiently(self, path: str) -> tuple[int, int]:
        """Retry like a browser, as long as the server says; return the status and the number of tries."""
        for again in range(PATIENCE):
            status, _, wait = self.told("GET", path)
            if not wait:
                return status, again
            time.sleep(float(wait))
        return status, PATIENCE

    def told(self, method: str, path: str, body: Any = None) -> tuple[int, bytes, str | None]:
        """Send one request; return the status, the body, and after how many seconds to retry."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"authorization": f"Bearer {self.token}", "host": f"127.0.0.1:{self.port}"}
        if isinstance(body, dict):
            headers["content-type"] = "application/json"
            body = json.dumps(body).encode()
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.getheader("retry-after")
        finally:
            connection.close()

    def memory(self) -> Memory:
        """The current and peak memory of the server, and the memory of its child processes, in MB."""
        own = _kept(self.process.pid)
        return Memory(
            own["VmRSS"], own["VmHWM"], sum(_kept(one).get("VmRSS", 0.0) for one in self.children())
        )

    def cpu(self) -> float:
        """The CPU seconds that the server has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def children(self) -> list[int]:
        """The child processes of the server."""
        processes: list[int] = []
        for path in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            try:
                processes += map(int, path.read_text().split())
            except OSError:  # the thread has ended
                continue
        return processes

    def end(self, how: int = signal.SIGTERM) -> None:
        """Stop the server; with SIGKILL, also its child processes."""
        started = self.children() if how == signal.SIGKILL else []
        self.process.send_signal(how)
        self.process.wait()
        for number in started:
            try:
                os.kill(number, how)
            except ProcessLookupError:
                continue


@contextmanager
def served(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    try:
        server.wait()
        yield server
    finally:
        if server.process.poll() is None:
            server.end()


def timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)


class Questions:
    """Random slices of three or four conditions, with values that occur in the gold file."""

    def __init__(self, server: Server, gold: str) -> None:
        self.path = f"/api/v1/golds/{gold}"
        facets = json.loads(server.ask("GET", f"{self.path}/slice")[1])["facets"]
        self.values = {name: list(counts) for name, counts in facets.items()}

    def draw(self, chance: random.Random, what: str = "slice") -> str:
        """The address of a slice that was probably never requested before."""
        names = chance.sample(sorted(self.values), min(4, len(self.values)))
        parts = []
        for name in names:
            listed = self.values[name]
            some = chance.sample(listed, chance.randint(1, max(1, len(listed) - 1)))
            parts.append(f"{name}={quote(','.join(some))}")
        return f"{self.path}/{what}?{'&'.join(parts)}"


def prepared(folder: Path, tokens: str) -> Path:
    """A folder with one document of five systems and their columns."""
    runs = folder / f"runs-{tokens}"
    if (runs / "all.json").exists():
        return runs
    corpus = make(folder, tokens)
    files = corpus["files"]
    runs.mkdir(parents=True, exist_ok=True)
    for name in ("gold", "train", *SYSTEMS):
        shutil.copy(files[name], runs / f"{name}.conll")
    named = [f"s{number}={runs / f'{SYSTEMS[number % len(SYSTEMS)]}.conll'}" for number in range(5)]
    call = ["evaluate", str(runs / "gold.conll"), *named, "--train", str(runs / "train.conll"), "--quiet"]
    call += ["--resamples", "0", "--examples", "none", "--workers", "1"]
    assert spanwise([*call, "--json", str(runs / "all.json"), "--columns", str(runs / "all.npz")]) == 0
    return runs


def enlarged(folder: Path, mentions: int) -> Path:
    """A folder with columns of about so many gold mentions and five systems, and a small document.

    The columns are those of an evaluation, with its sentences repeated; nothing is evaluated at that size,
    and nothing can be uploaded, because there is no gold file.
    """
    runs = folder / f"mentions-{mentions}"
    if (runs / "all.npz").exists():
        return runs
    small = prepared(folder, "100k")
    columns = MentionColumns.load(small / "all.npz")
    times = -(-mentions // len(columns.column("gold", "sentence")))
    larger = repeated(columns, times)
    document = json.loads((small / "all.json").read_bytes())
    for name in ("sentences", "mentions"):
        document["dataset"][name] *= times
    runs.mkdir(parents=True, exist_ok=True)
    (runs / "all.json").write_text(json.dumps(document), encoding="utf-8")
    larger.save(runs / "all.npz")
    return runs


def repeated(columns: MentionColumns, times: int) -> MentionColumns:
    """The sentences repeated, as columns of one larger gold file."""
    sizes = {
        name: len(columns.column(name, "sentence"))
        for name in ("gold", *map(columns.side, columns.head.systems))
    }
    steps = {"unit_of_sentence": columns.head.units, "lines": int(columns.arrays["lines"][-1]) + 20}
    if "document_of_sentence" in columns.arrays:
        steps["document_of_sentence"] = int(columns.arrays["document_of_sentence"][-1]) + 1
    for side, size in sizes.items():
        steps[f"{side}.sentence"] = columns.head.sentences
        if side != "gold":
            steps[f"{side}.partner"] = size

    def many(name: str, array: Column) -> Column:
        if name.startswith("vocabulary"):
            return array
        if name == "sentences":
            return np.concatenate([[0], np.cumsum(np.tile(np.diff(array), times))]).astype(np.int32)
        rows = np.tile(array, (times, 1))
        if name in steps:
            further = steps[name] * np.arange(times, dtype=array.dtype)[:, None]
            rows = np.where(rows >= 0, rows + further, rows)
        return rows.reshape(-1).astype(array.dtype)

    head = replace(columns.head, sentences=columns.head.sentences * times, units=columns.head.units * times)
    return MentionColumns(head, {name: many(name, array) for name, array in columns.arrays.items()})
