"""How fast the workbench answers, how it bears sixteen clients, and what outlives a kill.

    python -m benchmarks.workbench FOLDER [PART …] [--tokens 6M] [--seconds 60] [--documents 1000]
        [--kills 50]

Parts: start, slices, compare, new, load, paint, index, kills; by default all. FOLDER keeps the corpus that is
made (6M test tokens hold about a million gold mentions) and its result documents. Five systems are shown: the
generator's predictions under several names. Wall time is what a person waits for, so measure on a quiet
machine; CPU seconds of the server stand beside it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.data import SYSTEMS, make
from spanwise.cli.main import main as spanwise
from spanwise.workbench.store import MIGRATIONS

PARTS = ("start", "slices", "compare", "new", "load", "paint", "index", "kills")


class Server:
    """A workbench in a process of its own."""

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
        """Until it answers, and knows a result."""
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
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"authorization": f"Bearer {self.token}", "host": f"127.0.0.1:{self.port}"}
        if isinstance(body, dict):
            headers["content-type"] = "application/json"
            body = json.dumps(body).encode()
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def memory(self) -> float:
        """The most memory it had, in MB."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
        return float("nan")

    def cpu(self) -> float:
        """The CPU seconds that it took so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def children(self) -> list[int]:
        """The processes that it started."""
        found: list[int] = []
        for path in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            try:
                found += map(int, path.read_text().split())
            except OSError:  # the thread has ended
                continue
        return found

    def end(self, how: int = signal.SIGTERM) -> None:
        """End it, and with SIGKILL the processes that it started."""
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
    """Random slices of three or four conditions, with values that the gold file has."""

    def __init__(self, server: Server, gold: str) -> None:
        self.path = f"/api/v1/golds/{gold}"
        told = json.loads(server.ask("GET", f"{self.path}/slice")[1])["facets"]
        self.values = {name: list(counts) for name, counts in told.items()}

    def draw(self, chance: random.Random, what: str = "slice") -> str:
        """One that was probably never asked for."""
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
    files = {name: str(path) for name, path in corpus["files"].items()}  # type: ignore[attr-defined]
    runs.mkdir(parents=True, exist_ok=True)
    for name in ("gold", "train", *SYSTEMS):
        shutil.copy(files[name], runs / f"{name}.conll")
    named = [f"s{number}={runs / f'{SYSTEMS[number % len(SYSTEMS)]}.conll'}" for number in range(5)]
    call = ["evaluate", str(runs / "gold.conll"), *named, "--train", str(runs / "train.conll"), "--quiet"]
    call += ["--resamples", "0", "--examples", "none", "--workers", "1"]
    assert spanwise([*call, "--json", str(runs / "all.json"), "--columns", str(runs / "all.npz")]) == 0
    return runs


def answers(folder: Path, parts: Sequence[str], seconds: float) -> None:
    """One person, sixteen clients, a comparison, a new file."""
    with served(folder):
        pass  # so that the results are known
    began = time.perf_counter()
    server = Server(folder)
    server.wait()
    gold = json.loads(server.ask("GET", "/api/v1/golds")[1])[0]
    slug = gold["slug"]
    server.ask("GET", f"/g/{slug}")
    if "start" in parts:
        print(f"start to first page: {time.perf_counter() - began:.2f} s, {server.cpu():.2f} s CPU")
    if "compare" in parts:
        ids = [one["id"] for one in json.loads(server.ask("GET", f"/api/v1/golds/{slug}/results")[1])][:2]
        pair = f"/api/v1/golds/{slug}/comparison?a={ids[0]}&b={ids[1]}"
        before = server.cpu()
        first = timed(lambda: server.ask("GET", pair))
        cpu = 1000 * (server.cpu() - before)
        again = timed(lambda: server.ask("GET", pair))
        print(f"compare: first {first:.0f} ms ({cpu:.0f} ms CPU), again {again:.0f} ms")
    if "slices" in parts or "load" in parts:
        began = time.perf_counter()
        questions = Questions(server, slug)
        wait = 1000 * (time.perf_counter() - began)
        print(f"first slice of {gold['mentions']:,} mentions: {wait:.0f} ms")
    if "slices" in parts:
        slices(server, questions)
    if "load" in parts:
        load(server, slug, questions, seconds)
    if "paint" in parts:
        paint(server, slug)
    if "new" in parts:
        known = len(json.loads(server.ask("GET", f"/api/v1/golds/{slug}/results")[1]))
        began = time.perf_counter()
        shutil.copy(folder / "all.json", folder / "new.json")
        while len(json.loads(server.ask("GET", f"/api/v1/golds/{slug}/results")[1])) <= known:
            time.sleep(0.05)
        print(f"new file on the board: {time.perf_counter() - began:.2f} s")
        (folder / "new.json").unlink()
    print(f"memory: {server.memory():.0f} MB")
    server.end()


def slices(server: Server, questions: Questions) -> None:
    """One person: slices that were never asked for, and words of sentences."""
    chance = random.Random(0)
    before = server.cpu()
    taken = sorted(timed(lambda: server.ask("GET", questions.draw(chance))) for _ in range(200))
    cpu = 1000 * (server.cpu() - before) / 200
    print(f"slice, one client: p50 {taken[100]:.0f} ms, p99 {taken[197]:.0f} ms, {cpu:.0f} ms CPU each")
    before = server.cpu()
    taken = sorted(timed(lambda: server.ask("GET", f"{questions.draw(chance)}&intervals")) for _ in range(50))
    cpu = 1000 * (server.cpu() - before) / 50
    print(f"the same with intervals: p50 {taken[25]:.0f} ms, {cpu:.0f} ms CPU each")
    for words in ("text=of", "text=the*", "sentence=of", 'sentence="of the"'):
        path = f"{questions.path}/slice?{words.replace(' ', '%20')}"
        before = server.cpu()
        wait = timed(partial(server.ask, "GET", path))
        print(f"{words}: {wait:.0f} ms, {1000 * (server.cpu() - before):.0f} ms CPU")


def paint(server: Server, slug: str, times: int = 7) -> None:
    """How soon a browser on this machine paints a page, and what the page weighs without fonts."""
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("SPANWISE_CHROMIUM") or shutil.which("chromium")
    address = f"http://127.0.0.1:{server.port}"
    pages = {"leaderboard": f"/g/{slug}", "compare": f"/g/{slug}/compare", "slice": f"/g/{slug}/slices"}
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.add_cookies([{"name": f"spanwise-{server.port}", "value": server.token, "url": address}])
        page = context.new_page()
        for name, path in pages.items():
            painted, weights = [], []
            for _ in range(times):
                page.goto(address + path)
                # Asked again and again: the page's policy lets no browser tool wait inside it.
                while not page.evaluate("performance.getEntriesByName('first-contentful-paint').length"):
                    page.wait_for_timeout(5)
                painted.append(
                    page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
                )
                weights.append(
                    page.evaluate(
                        "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType("
                        "'resource')].reduce((sum, one) => sum + one.decodedBodySize, 0)"
                    )
                )
            print(
                f"{name}: first paint {statistics.median(painted):.0f} ms at the median of {times}, "
                f"{painted[0]:.0f} ms the first time; {max(weights) / 1000:.0f} KB"
            )
        browser.close()


def index(folder: Path, number: int) -> None:
    """New documents of 0.3 MB and one system each: until all are known, with the page asked for meanwhile."""
    many = folder / "many"
    many.mkdir(exist_ok=True)
    document = json.loads((prepared(folder, "10k") / "all.json").read_bytes())
    name, scores = next(iter(document["systems"].items()))
    units = document["units"]["systems"][name]
    document |= {"comparisons": [], "findings": [], "inputs": document["inputs"][:1]}
    for place in range(number):
        document["systems"] = {f"s{place}": scores}
        document["units"]["systems"] = {f"s{place}": units}
        text = json.dumps(document)
        text = text[:-1] + f', "notes": ["{"x" * max(0, 300_000 - len(text))}"]}}'
        (many / f"{place}.json").write_text(text, encoding="utf-8")
    began = time.perf_counter()
    pages = []
    with served(many) as server:
        while True:
            golds = json.loads(server.ask("GET", "/api/v1/golds")[1])
            if golds:
                slug = golds[0]["slug"]
                pages.append(timed(partial(server.ask, "GET", f"/g/{slug}")))
                if len(json.loads(server.ask("GET", f"/api/v1/golds/{slug}/results")[1])) >= number:
                    break
            time.sleep(0.5)
        seconds, cpu = time.perf_counter() - began, server.cpu()
        print(
            f"{number:,} new documents: {seconds:.0f} s, {cpu:.0f} s CPU; the board meanwhile "
            f"{statistics.median(pages):.0f} ms at the median, {max(pages):.0f} ms at most"
        )
    shutil.rmtree(many)


def load(server: Server, slug: str, questions: Questions, seconds: float) -> None:
    """Sixteen clients with mixed questions, and one upload."""
    taken: list[float] = []
    wrong: list[int] = []
    ending = time.monotonic() + seconds

    def client(number: int) -> None:
        chance = random.Random(number)
        while time.monotonic() < ending:
            path = questions.draw(chance, chance.choice(("slice", "slice", "slice", "mentions")))
            if chance.random() < 0.1:
                path = f"/g/{slug}"
            began = time.perf_counter()
            status, _ = server.ask("GET", path)
            taken.append(1000 * (time.perf_counter() - began))
            if status != 200:
                wrong.append(status)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(16)]
    before = server.memory()
    for thread in threads:
        thread.start()
    upload = (server.folder / f"{SYSTEMS[0]}.conll").read_bytes()
    if len(upload) < 50_000_000:
        status, _ = server.ask("PUT", f"/api/v1/golds/{slug}/results?system=sent&name=sent.conll", upload)
        print(f"upload of {len(upload) / 1e6:.0f} MB under load: status {status}")
    for thread in threads:
        thread.join()
    taken.sort()
    p99 = taken[int(0.99 * (len(taken) - 1))]
    print(
        f"16 clients for {seconds:.0f} s: {len(taken)} answers, p50 {statistics.median(taken):.0f} ms, "
        f"p99 {p99:.0f} ms, {len(wrong)} errors; memory {before:.0f} → {server.memory():.0f} MB"
    )


def kills(folder: Path, number: int) -> None:
    """Kill the server at random moments of its start, of uploads, evaluations and notes.

    Every fourth one starts with a database of an earlier version and is killed while it starts. Nothing
    that was acknowledged is lost.
    """
    chance = random.Random(0)
    noted: set[int] = set()
    sent: set[str] = set()
    for attempt in range(number):
        if attempt % 4 == 3:
            _step_back(folder)
            server = Server(folder)
            time.sleep(chance.uniform(0.1, 1.2))
            server.end(signal.SIGKILL)
            continue
        server = Server(folder)
        server.wait()
        slug = json.loads(server.ask("GET", "/api/v1/golds")[1])[0]["slug"]
        stop = threading.Event()

        def write(server: Server = server, slug: str = slug, stop: threading.Event = stop) -> None:
            body = {"sentence": 0, "tag": "t", "text": "x" * 300}
            while not stop.is_set():
                try:
                    status, text = server.ask("POST", f"/api/v1/golds/{slug}/notes", body)
                except (OSError, http.client.HTTPException):
                    return
                if status == 201:
                    noted.add(json.loads(text)["id"])

        def send(server: Server = server, slug: str = slug, stop: threading.Event = stop) -> None:
            data = (server.folder / f"{SYSTEMS[0]}.conll").read_bytes()
            while not stop.is_set():
                path = f"/api/v1/golds/{slug}/results?system=sent&name=sent.conll"
                try:
                    status, text = server.ask("PUT", path, data)
                except (OSError, http.client.HTTPException):
                    return
                if status == 202:
                    sent.add(json.loads(text)["body"]["upload"])

        threads = [threading.Thread(target=work) for work in (write, write, send)]
        for thread in threads:
            thread.start()
        time.sleep(chance.uniform(0.05, 1.5))
        server.end(signal.SIGKILL)
        stop.set()
        for thread in threads:
            thread.join()
        print(f"{attempt + 1}/{number}: {len(noted)} notes, {len(sent)} uploads", end="\r", file=sys.stderr)
    with served(folder) as server:
        slug = json.loads(server.ask("GET", "/api/v1/golds")[1])[0]["slug"]
        kept = {one["id"] for one in json.loads(server.ask("GET", f"/api/v1/golds/{slug}/notes")[1])}
    uploads = {one.name for one in (folder / ".spanwise" / "uploads").iterdir()}
    database = sqlite3.connect(folder / ".spanwise" / "workbench.sqlite")
    whole = database.execute("PRAGMA integrity_check").fetchone()[0]
    halves = [name for name in uploads if name.endswith(".part")]
    torn = [one.name for one in folder.glob("*.json") if not _reads(one)]
    print(
        f"{number} kills: {len(noted)} notes and {len(sent)} uploads acknowledged, {len(noted - kept)} and "
        f"{len(sent - uploads)} lost; database {whole}; {len(halves)} half files; {len(torn)} torn documents"
    )
    if noted - kept or sent - uploads or whole != "ok" or halves or torn:
        raise SystemExit(1)


def _step_back(folder: Path) -> None:
    """Let the next server migrate the database again."""
    database = sqlite3.connect(folder / ".spanwise" / "workbench.sqlite", isolation_level=None)
    database.execute(f"PRAGMA user_version = {len(MIGRATIONS) - 1}")
    database.close()


def _reads(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--tokens", default="6M")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=50)
    args = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    chosen = args.parts or PARTS
    if unknown := set(chosen) - set(PARTS):
        parser.error(f"no part is called {sorted(unknown)[0]!r}; there are: {', '.join(PARTS)}")
    if "index" in chosen:
        index(args.folder, args.documents)
    if set(chosen) - {"kills", "index"}:
        answers(prepared(args.folder, args.tokens), chosen, args.seconds)
    if "kills" in chosen:
        kills(prepared(args.folder, "10k"), args.kills)


if __name__ == "__main__":
    main()
