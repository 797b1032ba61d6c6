"""The cost of Spark compared with local processes: `python -m benchmarks.spark --natural 1M,3M`.

Makes corpora of the given numbers of test tokens with the generator of the demo, each with 1.3 times as many
training tokens (`large` has 9 M test and 10 M training tokens). Evaluates two systems with training data in
local processes, on Spark from plain files, and on Spark from folders of several files; checks that plain
files give the same bytes everywhere; and writes tables to `benchmarks/results/spark.md`, which the page on
cost includes: the measurements, and extrapolations to larger data. Every run on Spark follows a warm-up run.
Sizes above `--beside` run only on Spark from plain files.

Seconds are CPU time (user and system, of this process and its descendants), because others may use the
machine too; wall time is given in addition. Broadcast and returned bytes are those of plain files, shuffled
bytes those of folders. `--natural` takes sizes of corpora whose words are drawn as in natural text: the
distinct words and token sequences of mentions that the test set looks up in the training data are counted,
and Heaps' law is fitted to them.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from msgspec import Struct

import spanwise
from benchmarks.data import SYSTEMS, Described, make, size_of
from spanwise.attributes import SummedLexicon
from spanwise.engines import keep_freed_memory, spark
from spanwise.engines.spark import Sent, SparkEngine, spark_session
from spanwise.evaluation.blocks import FORM, WORD
from spanwise.evaluation.dataset import BlockContext

RESULTS = Path(__file__).parent / "results" / "spark.md"
TICKS = os.sysconf("SC_CLK_TCK")
FILE_TOKENS = 2_000_000  # at most, per file in a folder


class Process(Struct, frozen=True):
    """One running process."""

    number: int
    name: str
    parent: int
    seconds: float  # user and system, including children that have ended and were waited for
    began: int  # distinguishes processes that reuse a process id

    @property
    def peak(self) -> int:
        """The peak memory of the process, in MB."""
        return int(_status(self.number, "VmHWM:").split()[0]) >> 10

    @property
    def forgets(self) -> bool:
        """Whether the CPU time of its children is lost when they end, because it ignores SIGCHLD.

        Spark's daemon for Python workers does.
        """
        return bool(int(_status(self.number, "SigIgn:"), 16) >> (signal.SIGCHLD - 1) & 1)


def _status(number: int, field: str) -> str:
    return Path(f"/proc/{number}/status").read_text("utf-8").partition(field)[2].partition("\n")[0]


def family() -> dict[int, Process]:
    """This process and its descendants, by process id."""
    processes: dict[int, Process] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = path.read_text("utf-8").partition("(")[2].rpartition(")")
            values = list(map(int, rest.split()[1:20]))
            number = int(path.parent.name)
            processes[number] = Process(number, name, values[0], sum(values[10:14]) / TICKS, values[18])
    ours = {os.getpid()}
    while more := {number for number, process in processes.items() if process.parent in ours} - ours:
        ours |= more
    return {number: processes[number] for number in ours}


class Clock:
    """The CPU time of this process and its descendants, including those that have ended.

    The time of a process includes its children that have ended, unless it forgets them: children of such
    parents are polled, and their last known times are kept.
    """

    EVERY = 0.05  # seconds between polls, which is what is missed of a child that ends

    def __init__(self) -> None:
        self._forgotten: dict[tuple[int, int], float] = {}  # children of such parents, by id and start time
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            self.seconds()
            time.sleep(self.EVERY)

    def seconds(self) -> float:
        """User and system time so far."""
        with self._lock:
            running = family()
            forgetting = set()
            for number, process in running.items():
                with suppress(OSError):
                    if process.name.startswith("python") and number != os.getpid() and process.forgets:
                        forgetting.add(number)
            total = 0.0
            for process in running.values():
                if process.parent in forgetting:
                    self._forgotten[process.number, process.began] = process.seconds
                else:
                    total += process.seconds
            return total + sum(self._forgotten.values())


class Scale:
    """The bytes that Spark broadcasts and returns for blocks of plain files, and the training lexicon.

    Values are packed once, and the packed size is measured.
    """

    def __init__(self) -> None:
        self.broadcast = self.returned = 0
        self.lexicon: SummedLexicon | None = None

    @contextmanager
    def weighing(self) -> Iterator[None]:
        """Measure everything that `SparkEngine.map` sends and returns."""
        sent, collected = spark.Sent, spark.collected

        class Weighed:
            @staticmethod
            def of(value: object) -> Sent:
                if isinstance(value, BlockContext) and isinstance(value.lexicon, SummedLexicon):
                    self.lexicon = value.lexicon
                packed = sent.of(value)
                self.broadcast += len(packed.data)
                return packed

        def weighed(context: Any, job: Callable[[], Sequence[bytes]]) -> Sequence[bytes]:
            results = collected(context, job)
            self.returned += sum(map(len, results))
            return results

        with patch.object(spark, "Sent", Weighed), patch.object(spark, "collected", weighed):
            yield


def _size(value: Any) -> int:
    return len(Sent.of(value).data)


Seconds = tuple[float, float]  # CPU time and wall time


class Cost(Struct, frozen=True):
    """The cost at one size."""

    size: str
    tokens: int
    sentences: int
    training: int
    local: Seconds | None  # None: not run at this size
    files: Seconds
    folders: Seconds | None
    broadcast: int
    returned: int
    shuffled: int | None
    lexicon: int  # bytes
    driver: tuple[int, int]  # peak MB of this process and of Java, over all sizes so far


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="1M,3M,10M,large", help="1M, 3M, 10M, 100M, large, with commas")
    parser.add_argument("--beside", default="30M", help="the largest size for local processes and folders")
    parser.add_argument("--natural", default="", help="sizes in natural text, for Heaps' law")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="256MB", help="of a part, which decides how many there are")
    parser.add_argument("--folder", help="where corpora are kept; by default they are made and removed")
    parser.add_argument("--output", default=str(RESULTS), help="the table (- for none)")
    args = parser.parse_args()
    keep_freed_memory()
    sizes = [size for size in args.sizes.split(",") if size]
    with tempfile.TemporaryDirectory() as folder:
        where = Path(args.folder or folder)
        # Processes with threads must not fork, so local runs come before Spark and the clock's thread.
        local = {size: _locally(args, where, size) for size in sizes if _beside(args, size)}
        _forget_peak()
        session = spark_session(args.master)
        clock = Clock()
        warm = Warm(session, clock, args, where)
        warm.files(sizes[0])
        if sizes[0] in local:
            warm.folders(sizes[0])
        costs = [_measured(warm, size, local.get(size)) for size in sizes]
        lookups = [_asked(session, args, where, size) for size in args.natural.split(",") if size]
    session.stop()
    text = _tables(costs, lookups, args)
    print(text)
    for goal, met in _goals(costs).items():
        print(f"{goal}: {'met' if met else 'NOT MET'}")
    if args.output != "-":
        Path(args.output).write_text(text, encoding="utf-8")


def _beside(args: argparse.Namespace, size: str) -> bool:
    """Whether local processes and folders are also measured at this size."""
    return size_of(size)[0] <= size_of(args.beside)[0]


def _made(folder: Path, size: str) -> Described:
    """A corpus of this size, with the same ratio of training to test tokens as other sizes."""
    return make(folder, size if size == "large" else f"{size}-even")


def _sources(files: Mapping[str, str]) -> tuple[str, dict[str, str], str]:
    """Gold, systems and training data."""
    return files["gold"], {name: files[name] for name in SYSTEMS}, files["train"]


def _document(files: Mapping[str, str], **where: Any) -> str:
    gold, systems, train = _sources(files)
    result = spanwise.evaluate(
        gold, systems, train=train, resamples=0, examples_cap=100, unit="sentence", **where
    )
    return result.to_json()


def _locally(args: argparse.Namespace, folder: Path, size: str) -> tuple[str, Seconds]:
    """The document computed by local processes, and the time they take."""
    files = _made(folder, size)["files"]
    began, used = time.perf_counter(), _waited_for()
    document = _document(files, workers=args.cores, memory=args.memory)
    return document, (_waited_for() - used, time.perf_counter() - began)


def _waited_for() -> float:
    """The CPU seconds of this process and of the children it waited for, as the engine does."""
    return sum(os.times()[:4])


class Warm(Struct, frozen=True):
    """A session whose workers are warm, and the evaluations to run on it."""

    session: Any
    clock: Clock
    args: argparse.Namespace
    folder: Path

    def _timed(self, files: Mapping[str, str], **where: Any) -> tuple[str, Seconds]:
        began, used = time.perf_counter(), self.clock.seconds()
        document = _document(files, engine=SparkEngine(self.session), **where)
        return document, (self.clock.seconds() - used, time.perf_counter() - began)

    def files(self, size: str) -> tuple[str, Seconds]:
        """Evaluate plain files."""
        return self._timed(_made(self.folder, size)["files"], memory=self.args.memory)

    def folders(self, size: str) -> Seconds:
        """Evaluate folders of several files."""
        corpus = _made(self.folder, size)
        shares = max(4 * self.args.cores, math.ceil(corpus["tokens"] / FILE_TOKENS))
        several = {name: _split(Path(path), shares) for name, path in corpus["files"].items()}
        return self._timed(several)[1]


def _measured(warm: Warm, size: str, local: tuple[str, Seconds] | None) -> Cost:
    scale, corpus = Scale(), _made(warm.folder, size)
    with scale.weighing():
        document, on_files = warm.files(size)
    assert local is None or document == local[0], "Spark and local processes differ"
    folders = shuffled = None
    if local is not None:
        before = shuffled_bytes(warm.session)
        folders = warm.folders(size)
        shuffled = shuffled_bytes(warm.session) - before
    assert scale.lexicon is not None
    cost = Cost(
        size, corpus["tokens"], corpus["sentences"], corpus["training_tokens"], local and local[1], on_files,
        folders, scale.broadcast, scale.returned, shuffled, _size(scale.lexicon), _peaks(),
    )  # fmt: skip
    print(cost, f"load {os.getloadavg()[0]:.1f}", flush=True)
    return cost


def _forget_peak() -> None:
    """Reset the peak memory of this process."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peaks() -> tuple[int, int]:
    """The peak memory of this process and of Spark's Java process, in MB."""
    processes = list(family().values())
    ours = next(process.peak for process in processes if process.number == os.getpid())
    return ours, max((process.peak for process in processes if process.name == "java"), default=0)


def _split(path: Path, shares: int) -> str:
    """Split a CoNLL file between sentences into files of about equal size in a folder."""
    folder = path.parent / f"{path.stem}.{shares}"
    if not folder.exists():
        folder.mkdir()
        most, number = math.ceil(path.stat().st_size / shares), 0
        target = (folder / f"part-{number:03}.conll").open("wb")
        with path.open("rb") as lines:
            for line in lines:
                target.write(line)
                if line == b"\n" and target.tell() >= most:
                    target.close()
                    number += 1
                    target = (folder / f"part-{number:03}.conll").open("wb")
        target.close()
    return str(folder)


def shuffled_bytes(session: Any) -> int:
    """The shuffle bytes that executors have written."""
    time.sleep(1)  # the listener is notified of the last tasks with a delay
    executors = session.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(int(executors.apply(at).totalShuffleWrite()) for at in range(executors.size()))


def _goals(costs: Sequence[Cost]) -> dict[str, bool]:
    """The goals for Spark, and whether they were met."""
    last = _largest_beside(costs)
    growth = max(_per_token(cost) for cost in costs) / _per_token(costs[0])
    return {
        f"CPU time on files within 2 × of local processes at {last.size}": last.local is not None
        and last.files[0] <= 2 * last.local[0],
        f"driver within 1 GB at {last.size}": last.driver[0] <= 1000,
        "growth within 1.3 ×": growth <= 1.3,
    }


def _largest_beside(costs: Sequence[Cost]) -> Cost:
    """The last size at which local processes and folders were also measured, or else the last."""
    return next((cost for cost in reversed(costs) if cost.folders is not None), costs[-1])


class Asked(Struct, frozen=True):
    """The numbers of items that a test set in natural text looks up in the training data."""

    tokens: int
    words: int
    forms: int  # token sequences of mentions


def _asked(session: Any, args: argparse.Namespace, folder: Path, size: str) -> Asked:
    corpus = make(folder, f"{size}-natural")
    files = corpus["files"]
    scale = Scale()
    with scale.weighing():
        _document(files, engine=SparkEngine(session), memory=args.memory)
    assert scale.lexicon is not None
    wanted = scale.lexicon.queries
    return Asked(corpus["tokens"], len(wanted.words), len(wanted.forms))


def _heaps(sizes: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """K and β of V = K N^β, by least squares on logarithms."""
    x, y = ([math.log(pair[at]) for pair in sizes] for at in (0, 1))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum(
        (a - mean_x) ** 2 for a in x
    )
    return math.exp(mean_y - slope * mean_x), slope


COLUMNS: Mapping[str, Callable[[Cost, Sequence[Cost]], str]] = {
    "test tokens": lambda one, all_: f"{one.tokens:,}",
    "training tokens": lambda one, all_: f"{one.training:,}",
    "local": lambda one, all_: _seconds(one.local),
    "Spark, files": lambda one, all_: _seconds(one.files),
    "Spark, folders": lambda one, all_: _seconds(one.folders),
    "files / local": lambda one, all_: (
        ""
        if one.local is None
        else f"{one.files[0] / one.local[0]:.2f} × ({one.files[1] / one.local[1]:.2f} ×)"
    ),
    "growth": lambda one, all_: f"{_per_token(one) / _per_token(all_[0]):.2f} ×",
    "broadcast": lambda one, all_: _per_million(one.broadcast, one),
    "returned": lambda one, all_: _per_million(one.returned, one),
    "shuffled": lambda one, all_: "" if one.shuffled is None else _per_million(one.shuffled, one),
    "lexicon": lambda one, all_: f"{one.lexicon / 1e6:.1f} MB",
    "driver": lambda one, all_: f"{one.driver[0]:,} MB + {one.driver[1]:,} MB",
}


def _seconds(both: Seconds | None) -> str:
    return "" if both is None else f"{both[0]:.1f} ({both[1]:.1f})"


def _per_token(cost: Cost) -> float:
    return cost.files[0] / (cost.tokens + cost.training)


def _per_million(size: int, cost: Cost) -> str:
    return f"{size / cost.tokens:.2f} MB"


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (header, ["---:"] * len(header), *rows)]


def _tables(costs: Sequence[Cost], lookups: Sequence[Asked], args: argparse.Namespace) -> str:
    """The tables of the measurements, and of extrapolations to larger data."""
    lines = [
        f"CPU seconds (wall seconds in parentheses) for two systems with training data on `{args.master}`, "
        f"with `--memory {args.memory} --resamples 0 --unit sentence`, after a warm-up, at a load average of "
        f"{os.getloadavg()[0]:.1f}. Growth is CPU time per token (test and training) on files, relative to "
        "the first row. Bytes are per million test tokens. The driver's memory is the peak up to that row, "
        "for Python and for Java, which also runs the executors here.",
        "",
        *_grid(list(COLUMNS), [[cell(cost, costs) for cell in COLUMNS.values()] for cost in costs]),
        "",
        *_time_model(_largest_beside(costs)),
    ]
    if len(lookups) > 1:
        lines += ["", *_memory_model(costs[-1], lookups)]
    return "\n".join(lines) + "\n"


LARGER = {"10⁹": 10**9, "10¹⁰": 10**10, "10¹²": 10**12}  # test tokens
CORES = (10, 100, 1000)


def _time_model(last: Cost) -> list[str]:
    """The time that larger data takes, at the rate of the largest measured size."""
    rate = last.tokens / (last.folders or last.files)[0]
    ratio = last.training / last.tokens
    rows = [[name, *(_duration(number / rate / cores) for cores in CORES)] for name, number in LARGER.items()]
    return [
        f"On folders with {last.tokens:,} test tokens, a core evaluates {rate:,.0f} tokens per second, with "
        f"two systems and {ratio:.1f} times as many training tokens. Scaled linearly, without the time that "
        "Spark needs for start-up and scheduling, this gives:",
        "",
        *_grid(["test tokens", *(f"{cores:,} cores" for cores in CORES)], rows),
    ]


def _memory_model(last: Cost, lookups: Sequence[Asked]) -> list[str]:
    """The memory that larger data takes in the driver and the workers, by Heaps' law."""
    words = _heaps([(row.tokens, row.words) for row in lookups])
    forms = _heaps([(row.tokens, row.forms) for row in lookups])
    counts = ", ".join(
        f"{row.words:,} words and {row.forms:,} token sequences of mentions at {row.tokens:,} tokens"
        for row in lookups
    )
    rows = []
    for name, number in LARGER.items():
        distinct = [k * number**slope for k, slope in (words, forms)]
        sentences = number * last.sentences / last.tokens
        sizes = [
            WORD * distinct[0] + FORM * distinct[1],
            16 * sentences,
            last.returned / last.tokens * number,
        ]
        rows.append([name, *map(_rounded, distinct), *map(_bytes, sizes)])
    return [
        f"In natural text, a test set has {counts}: V = {words[0]:.3g} N^{words[1]:.2f} words and "
        f"V = {forms[0]:.3g} N^{forms[1]:.2f} sequences (Heaps' law). A word takes about {WORD} bytes, a "
        f"sequence {FORM} and a distinct test sentence 16; counts take as many bytes per token as the blocks "
        "returned above. These sizes are extrapolated and were not run:",
        "",
        *_grid(
            ["test tokens", "words", "sequences", "lexicon", "test sentences", "counts in the driver"], rows
        ),
    ]


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"


def _rounded(number: float) -> str:
    return f"{number / 1e6:,.1f} M"


def _bytes(size: float) -> str:
    return f"{size / 1e9:,.1f} GB"


if __name__ == "__main__":
    main()
