"""What Spark costs beside local processes: `python -m benchmarks.spark --natural 1M,3M`.

Makes corpora of so many test tokens with the generator of the demo (`large` has 9 M test and 10 M training
tokens), evaluates two systems with training data in this machine's processes, on Spark from plain files, and
on Spark from folders of several files; checks that plain files give the same bytes everywhere; and writes
tables to `benchmarks/results/spark.md`, which the page on cost includes: what was measured, and what follows
from it for larger data. No run on Spark is the first of its kind, so its workers are warm.

Seconds are of CPU (user and system, of this process and all that it started), since others may use the
machine too; wall time is given beside them. Broadcast and returned bytes are those of plain files, shuffled
ones of folders. `--natural` takes sizes of corpora whose words are drawn as in natural text: the distinct
words and token sequences of mentions that the test set asks training data for are counted, and Heaps' law is
fitted to them.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

import spanwise
from benchmarks.data import SYSTEMS, make
from spanwise.attributes import SummedLexicon
from spanwise.engines import keep_freed_memory
from spanwise.engines.spark import Sent, SparkEngine, spark_session
from spanwise.evaluation._blocks import FORM, WORD
from spanwise.evaluation._dataset import BlockContext

RESULTS = Path(__file__).parent / "results" / "spark.md"
TICKS = os.sysconf("SC_CLK_TCK")


class Process(Struct, frozen=True):
    """One running process."""

    number: int
    name: str
    parent: int
    seconds: float  # user and system, with those of its children that have ended

    @property
    def peak(self) -> int:
        """The most memory that it has held, in MB."""
        status = Path(f"/proc/{self.number}/status").read_text("utf-8")
        return int(status.partition("VmHWM:")[2].split()[0]) >> 10


def family() -> list[Process]:
    """This process and all that it started."""
    found: dict[int, Process] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = path.read_text("utf-8").partition("(")[2].rpartition(")")
            values = list(map(int, rest.split()[1:15]))
            number = int(path.parent.name)
            found[number] = Process(number, name, values[0], sum(values[10:14]) / TICKS)
    ours = {os.getpid()}
    while more := {number for number, one in found.items() if one.parent in ours} - ours:
        ours |= more
    return [found[number] for number in ours]


def cpu_seconds() -> float:
    """User and system time of this process and all that it started, ended or not."""
    return sum(one.seconds for one in family())


class Weighed:
    """An engine that adds up the bytes of all that it sends and gets back."""

    elsewhere = True

    def __init__(self, engine: SparkEngine) -> None:
        self.engine = engine
        self.broadcast = self.sent = self.returned = self.blocks = 0
        self.lexicon: SummedLexicon | None = None

    def map(self, function: Callable[[Any, Any], Any], blocks: Iterable[Any], shared: Any) -> Iterator[Any]:
        """Run the blocks on the engine."""
        self.broadcast += _size(shared)
        if isinstance(shared, BlockContext) and isinstance(shared.lexicon, SummedLexicon):
            self.lexicon = shared.lexicon
        for outcome in self.engine.map(function, self._counted(blocks), shared):
            self.returned += _size(outcome)
            yield outcome

    def _counted(self, blocks: Iterable[Any]) -> Iterator[Any]:
        for block in blocks:
            self.blocks += 1
            self.sent += _size(block)
            yield block


def _size(value: Any) -> int:
    return len(Sent.of(value).data)


class Cost(Struct, frozen=True):
    """What one size costs."""

    size: str
    tokens: int
    sentences: int
    training: int
    blocks: int
    local: tuple[float, float]  # CPU and wall seconds
    files: tuple[float, float]
    folders: tuple[float, float]
    broadcast: int
    returned: int
    shuffled: int
    lexicon: int  # bytes
    driver: tuple[int, int]  # MB of this process and of Java at most, of all sizes until now


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="1M,3M,10M,large", help="1M, 3M, 10M, 30M, large, with commas")
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
        # Spark's threads forbid to fork, so that local processes come first.
        local = {
            size: _timed(*_files(where, size)[:3], workers=args.cores, memory=args.memory) for size in sizes
        }
        _forget_peak()
        session = spark_session(args.master)
        costs = [_measured(session, args, where, size, *local[size], cold=size == sizes[0]) for size in sizes]
        asked = [_asked(session, args, where, size) for size in args.natural.split(",") if size]
    session.stop()
    text = _tables(costs, asked, args)
    print(text)
    for goal, met in _goals(costs).items():
        print(f"{goal}: {'met' if met else 'NOT MET'}")
    if args.output != "-":
        Path(args.output).write_text(text, encoding="utf-8")


def _files(folder: Path, size: str) -> tuple[str, dict[str, str], str, dict[str, Any]]:
    """Gold, systems and training data of a corpus, and what is said of it."""
    made: Any = make(folder, size)
    files = made["files"]
    return files["gold"], {name: files[name] for name in SYSTEMS}, files["train"], made


def _timed(gold: Any, systems: Any, train: Any, **where: Any) -> tuple[str, tuple[float, float]]:
    """The document of one evaluation, and the CPU and wall seconds that it took."""
    began, used = time.perf_counter(), cpu_seconds()
    result = spanwise.evaluate(
        gold, systems, train=train, resamples=0, examples_cap=100, unit="sentence", **where
    )
    return result.to_json(), (cpu_seconds() - used, time.perf_counter() - began)


def _measured(
    session: Any,
    args: argparse.Namespace,
    folder: Path,
    size: str,
    expected: str,
    local: tuple[float, float],
    *,
    cold: bool,
) -> Cost:
    *plain, made = _files(folder, size)
    weighed = Weighed(SparkEngine(session))
    first, _ = _timed(*plain, engine=weighed, memory=args.memory)  # packs everything twice, to weigh it
    found, on_files = _timed(*plain, engine=SparkEngine(session), memory=args.memory)
    assert first == found == expected, "Spark and local processes differ"
    shares = 4 * args.cores
    several = {name: _split(Path(path), shares) for name, path in made["files"].items()}
    lake = (several["gold"], {name: several[name] for name in SYSTEMS}, several["train"])
    if cold:
        _timed(*lake, engine=SparkEngine(session))
    before = shuffled_bytes(session)
    _, on_folders = _timed(*lake, engine=SparkEngine(session))
    lexicon = weighed.lexicon
    assert lexicon is not None
    cost = Cost(
        size, made["tokens"], made["sentences"], made["training_tokens"], weighed.blocks, local, on_files,
        on_folders, weighed.broadcast, weighed.returned, shuffled_bytes(session) - before, _size(lexicon),
        _peaks(),
    )  # fmt: skip
    print(cost, f"load {os.getloadavg()[0]:.1f}", flush=True)
    return cost


def _forget_peak() -> None:
    """Let the peak of this process's memory be that from now on."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peaks() -> tuple[int, int]:
    """The most memory, in MB, that this process and the Java of Spark have held."""
    processes = family()
    ours = next(one.peak for one in processes if one.number == os.getpid())
    return ours, max((one.peak for one in processes if one.name == "java"), default=0)


def _split(path: Path, shares: int) -> str:
    """A CoNLL file in a folder of several, about equally long, cut between sentences."""
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
    """The bytes that executors have written for others to fetch."""
    time.sleep(1)  # the listener hears of the last tasks a little later
    executors = session.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(int(executors.apply(at).totalShuffleWrite()) for at in range(executors.size()))


def _goals(costs: Sequence[Cost]) -> dict[str, bool]:
    """What Spark should keep to, and whether it did."""
    last = costs[-1]
    growth = max(_per_token(one) for one in costs) / _per_token(costs[0])
    return {
        f"CPU time on files within 2 × of local processes at {last.size}": last.files[0] <= 2 * last.local[0],
        "driver within 1 GB": last.driver[0] <= 1000,
        "growth within 1.3 ×": growth <= 1.3,
    }


class Asked(Struct, frozen=True):
    """What a test set in natural text asks training data for."""

    tokens: int
    words: int
    forms: int  # token sequences of mentions


def _asked(session: Any, args: argparse.Namespace, folder: Path, size: str) -> Asked:
    made: Any = make(folder, f"{size}-natural")
    files = made["files"]
    weighed = Weighed(SparkEngine(session))
    spanwise.evaluate(
        files["gold"], {name: files[name] for name in SYSTEMS}, train=files["train"], resamples=0,
        unit="sentence", engine=weighed, memory=args.memory,
    )  # fmt: skip
    assert weighed.lexicon is not None
    wanted = weighed.lexicon.wanted
    return Asked(made["tokens"], len(wanted.words), len(wanted.forms))


def _heaps(sizes: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """K and β of V = K N^β, by least squares over logarithms."""
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
        f"{one.files[0] / one.local[0]:.2f} × ({one.files[1] / one.local[1]:.2f} ×)"
    ),
    "growth": lambda one, all_: f"{_per_token(one) / _per_token(all_[0]):.2f} ×",
    "broadcast": lambda one, all_: _per_million(one.broadcast, one),
    "returned": lambda one, all_: _per_million(one.returned, one),
    "shuffled": lambda one, all_: _per_million(one.shuffled, one),
    "lexicon": lambda one, all_: f"{one.lexicon / 1e6:.1f} MB",
    "driver": lambda one, all_: f"{one.driver[0]:,} MB + {one.driver[1]:,} MB",
}


def _seconds(both: tuple[float, float]) -> str:
    return f"{both[0]:.1f} ({both[1]:.1f})"


def _per_token(one: Cost) -> float:
    return one.files[0] / (one.tokens + one.training)


def _per_million(size: int, one: Cost) -> str:
    return f"{size / one.tokens:.2f} MB"


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (header, ["---:"] * len(header), *rows)]


def _tables(costs: Sequence[Cost], asked: Sequence[Asked], args: argparse.Namespace) -> str:
    """What was measured, and what follows from it for larger data."""
    lines = [
        f"CPU seconds (wall seconds) of two systems with training data on `{args.master}`, `--memory "
        f"{args.memory} --resamples 0 --unit sentence`, warm, load average {os.getloadavg()[0]:.1f}. Growth "
        "is CPU time per token, test and training, on files, against the first row. Bytes are per million "
        "test tokens. The driver's memory is the most of all rows until then, of Python and of Java, which "
        "here runs the executors too.",
        "",
        *_grid(list(COLUMNS), [[cell(one, costs) for cell in COLUMNS.values()] for one in costs]),
        "",
        *_time_model(costs[-1]),
    ]
    if len(asked) > 1:
        lines += ["", *_memory_model(costs[-1], asked)]
    return "\n".join(lines) + "\n"


LARGER = {"10⁹": 10**9, "10¹⁰": 10**10, "10¹²": 10**12}  # test tokens
CORES = (10, 100, 1000)


def _time_model(last: Cost) -> list[str]:
    """How long larger data take by the rate of the largest that were measured."""
    rate = last.tokens / last.folders[0]
    ratio = last.training / last.tokens
    rows = [[name, *(_duration(number / rate / cores) for cores in CORES)] for name, number in LARGER.items()]
    return [
        f"Of folders with {last.tokens:,} test tokens, a core evaluates {rate:,.0f} per second, with two "
        f"systems and {ratio:.1f} times as many training tokens. Scaled linearly, without the time in which "
        "Spark starts and schedules:",
        "",
        *_grid(["test tokens", *(f"{cores:,} cores" for cores in CORES)], rows),
    ]


def _memory_model(last: Cost, asked: Sequence[Asked]) -> list[str]:
    """What the driver and the workers hold of larger data, by Heaps' law."""
    words = _heaps([(one.tokens, one.words) for one in asked])
    forms = _heaps([(one.tokens, one.forms) for one in asked])
    met = ", ".join(
        f"{one.words:,} words and {one.forms:,} token sequences of mentions at {one.tokens:,} tokens"
        for one in asked
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
        f"In natural text a test set asks training data for {met}: V = {words[0]:.3g} N^{words[1]:.2f} words "
        f"and V = {forms[0]:.3g} N^{forms[1]:.2f} sequences (Heaps' law). A word takes about {WORD} bytes, a "
        f"sequence {FORM}, a distinct test sentence 16; counts take what blocks returned above. Nothing of "
        "this size was run:",
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
