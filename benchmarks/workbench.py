"""Measure how fast the workbench answers, how it handles sixteen clients, and what survives a kill.

    python -m benchmarks.workbench FOLDER [PART …] [--tokens 6M | --mentions 1e7] [--seconds 60]
        [--documents 1000] [--kills 50]

Parts: start, slices, compare, new, load, paint, index, kills; by default all. FOLDER keeps the corpus (6M
test tokens contain about a million gold mentions) and its result documents. Five systems are shown: the
generator's predictions under several names. With `--mentions`, the columns of a small evaluation are repeated
to reach that number, and nothing is evaluated at that size. Wall time is what users wait for, so measure on a
quiet machine; the CPU seconds of the server are given in addition.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import signal
import sqlite3
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.data import SYSTEMS
from benchmarks.serving import Questions, Server, enlarged, prepared, served, timed

PARTS = ("start", "slices", "compare", "new", "load", "paint", "index", "kills")


def answers(folder: Path, parts: Sequence[str], seconds: float) -> None:
    """Measure one user, sixteen clients, a comparison and a new file."""
    with served(folder):
        pass  # so that the results are indexed
    began = time.perf_counter()
    server = Server(folder)
    server.wait()
    gold = json.loads(server.ask("GET", "/api/v1/golds")[1])[0]
    slug = gold["slug"]
    server.ask("GET", f"/g/{slug}")
    if "start" in parts:
        print(f"start to first page: {time.perf_counter() - began:.2f} s, {server.cpu():.2f} s CPU")
    if "compare" in parts:
        ids = [result["id"] for result in json.loads(server.ask("GET", f"/api/v1/golds/{slug}/results")[1])][
            :2
        ]
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
        before_copy = len(json.loads(server.ask("GET", f"/api/v1/golds/{slug}/results")[1]))
        began = time.perf_counter()
        shutil.copy(folder / "all.json", folder / "new.json")
        while len(json.loads(server.ask("GET", f"/api/v1/golds/{slug}/results")[1])) <= before_copy:
            time.sleep(0.05)
        print(f"new file on the board: {time.perf_counter() - began:.2f} s")
        (folder / "new.json").unlink()
    print(f"memory: {server.memory()}, at most {server.memory().most:.0f} MB")
    server.end()


def slices(server: Server, questions: Questions) -> None:
    """Measure one user who requests new slices and searches for words."""
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
    """Measure how soon a local browser paints a page, and the size of the page without fonts."""
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
                # Poll, because the page's policy lets no browser tool wait inside it.
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
    """Measure how long it takes to index new documents of 0.3 MB, while the page is being requested."""
    many = folder / "many"
    many.mkdir(exist_ok=True)
    document = json.loads((prepared(folder, "10k") / "all.json").read_bytes())
    name, scores = next(iter(document["systems"].items()))
    units = document["units"]["systems"][name]
    document |= {"comparisons": [], "findings": [], "inputs": document["inputs"][:1]}
    for serial in range(number):
        document["systems"] = {f"s{serial}": scores}
        document["units"]["systems"] = {f"s{serial}": units}
        text = json.dumps(document)
        text = text[:-1] + f', "notes": ["{"x" * max(0, 300_000 - len(text))}"]}}'
        (many / f"{serial}.json").write_text(text, encoding="utf-8")
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


class Load:
    """Sixteen clients that send one request after the other, and the time of each kind of answer."""

    def __init__(
        self, server: Server, seconds: float, draw: Callable[[random.Random], tuple[str, str]]
    ) -> None:
        self.server, self.draw = server, draw
        self.taken: dict[str, list[float]] = {}
        self.wrong: Counter[int] = Counter()
        self.again = 0  # retries of requests that were told to come back later
        self.memory = [server.memory()]
        self._seconds, self._ending = seconds, time.monotonic() + seconds
        self._cpu = server.cpu()

    def run(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Send requests until the time is over, and call `meanwhile` once."""
        threads = [threading.Thread(target=self._client, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        meanwhile()
        while (left := self._ending - self._seconds / 2 - time.monotonic()) > 0:
            time.sleep(left)
        self.memory.append(self.server.memory())
        for thread in threads:
            thread.join()
        self.memory.append(self.server.memory())

    def _client(self, number: int) -> None:
        chance = random.Random(number)
        while time.monotonic() < self._ending:
            kind, path = self.draw(chance)
            began = time.perf_counter()
            status, again = self.server.patiently(path)
            self.taken.setdefault(kind, []).append(1000 * (time.perf_counter() - began))
            self.again += again
            if status != 200:
                self.wrong[status] += 1

    def tell(self, name: str) -> None:
        """Print the results."""
        every = [duration for taken in self.taken.values() for duration in taken]
        start, middle, end = self.memory
        wrong = ", ".join(f"{number} with status {status}" for status, number in self.wrong.items())
        print(
            f"{name}, 16 clients for {self._seconds:.0f} s: {len(every):,} answers, {wrong or 'no errors'}, "
            f"{self.again} asked for again, "
            f"{self.server.cpu() - self._cpu:.0f} s CPU; memory {start}, in the middle {middle}, "
            f"at the end {end}, at most {end.most:.0f} MB"
        )
        for kind, taken in sorted({**self.taken, "all": every}.items()):
            taken.sort()
            p99 = taken[int(0.99 * (len(taken) - 1))]
            print(
                f"  {kind:<12}{len(taken):>8,}  p50 {statistics.median(taken):>6.0f} ms  p99 {p99:>6.0f} ms  "
                f"at most {taken[-1]:.0f} ms"
            )


def load(server: Server, slug: str, questions: Questions, seconds: float) -> None:
    """Measure sixteen clients: only slices, then mixed requests and one upload."""
    alone = Load(server, seconds, lambda chance: ("slice", questions.draw(chance)))
    alone.run()
    alone.tell("slices")
    results = [result["id"] for result in json.loads(server.ask("GET", f"/api/v1/golds/{slug}/results")[1])]
    others = {
        "board": lambda chance: f"/g/{slug}",
        "history": lambda chance: f"/g/{slug}/history",
        "comparison": lambda chance: "{}/comparison?a={}&b={}".format(
            questions.path, *chance.sample(results, 2)
        ),
        "slices page": lambda chance: questions.draw(chance).replace("/api/v1/golds/", "/g/").replace(
            "/slice?", "/slices?"
        ),
        "test": lambda chance: questions.draw(chance, "test") + "&a=s0&b=s1",
        "mentions": lambda chance: questions.draw(chance, "mentions"),
    }  # fmt: skip

    def draw(chance: random.Random) -> tuple[str, str]:
        kind = chance.choices(
            ["slice", "mentions", "board", "slices page", "test", "history", "comparison"],
            [60, 15, 8, 8, 5, 2, 2],
        )[0]
        return kind, questions.draw(chance) if kind == "slice" else others[kind](chance)

    def upload() -> None:
        if not (server.folder / "gold.conll").exists():
            return
        sent = (server.folder / f"{SYSTEMS[0]}.conll").read_bytes()
        path = f"/api/v1/golds/{slug}/results?system=sent&name=sent.conll"
        wait = timed(lambda: status.append(server.ask("PUT", path, sent)[0]))
        print(f"upload of {len(sent) / 1e6:.0f} MB under load: status {status[0]} after {wait:.0f} ms")

    status: list[int] = []
    mixed = Load(server, seconds, draw)
    mixed.run(upload)
    mixed.tell("mixed questions" + (" and one upload" if status else ""))


def kills(folder: Path, number: int) -> None:
    """Kill the server at random moments during start-up, uploads, evaluations and notes.

    Every fourth server starts with a database of an earlier version and is killed during start-up. Nothing
    that was acknowledged may be lost.
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
        kept = {item["id"] for item in json.loads(server.ask("GET", f"/api/v1/golds/{slug}/notes")[1])}
    uploads = {item.name for item in (folder / ".spanwise" / "uploads").iterdir()}
    database = sqlite3.connect(folder / ".spanwise" / "workbench.sqlite")
    whole = database.execute("PRAGMA integrity_check").fetchone()[0]
    halves = [name for name in uploads if name.endswith(".part")]
    torn = [item.name for item in folder.glob("*.json") if not _reads(item)]
    print(
        f"{number} kills: {len(noted)} notes and {len(sent)} uploads acknowledged, {len(noted - kept)} and "
        f"{len(sent - uploads)} lost; database {whole}; {len(halves)} half files; {len(torn)} torn documents"
    )
    if noted - kept or sent - uploads or whole != "ok" or halves or torn:
        raise SystemExit(1)


def _step_back(folder: Path) -> None:
    """Make the next server repeat the last two migrations."""
    database = sqlite3.connect(folder / ".spanwise" / "workbench.sqlite", isolation_level=None)
    if "difference" in {row[1] for row in database.execute("PRAGMA table_info(job)")}:
        database.execute("ALTER TABLE job DROP COLUMN difference")
    database.execute("PRAGMA user_version = 4")
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
    parser.add_argument("--mentions", type=lambda text: int(float(text)), help="made directly, such as 1e7")
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
        prepared_folder = (
            enlarged(args.folder, args.mentions) if args.mentions else prepared(args.folder, args.tokens)
        )
        answers(prepared_folder, chosen, args.seconds)
    if "kills" in chosen:
        kills(prepared(args.folder, "10k"), args.kills)


if __name__ == "__main__":
    main()
