"""What Spark costs beside local processes: `python -m benchmarks.spark --sizes 1M,3M,10M,large`.

Makes corpora of so many test tokens with the generator of the demo (`large` has 9 M test and 10 M training
tokens), evaluates two systems with training data in this machine's processes, on Spark from plain files, and
on Spark from folders of several files; checks that plain files give the same bytes everywhere; and writes a
table to `benchmarks/results/spark.md`. Each run on Spark is the second of its kind, so its workers are warm.

Seconds are of CPU (user and system, of this process and all that it started), since others may use the
machine too; wall time is given beside them. Broadcast and returned bytes are those of plain files, shuffled
ones of folders. `--natural` takes sizes of corpora whose words are drawn as in natural text: the distinct
words that the test set asks training data for are counted, and Heaps' law is fitted to them.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
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
from spanwise.evaluation._dataset import BlockContext

RESULTS = Path(__file__).parent / "results" / "spark.md"
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """User and system time of this process and all that it started, ended or not."""
    times: dict[int, tuple[int, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            rest = path.read_text("utf-8").rpartition(")")[2].split()
            times[int(path.parent.name)] = int(rest[1]), sum(map(int, rest[11:15])) / TICKS
    ours = {os.getpid()}
    while more := {process for process, (parent, _) in times.items() if parent in ours} - ours:
        ours |= more
    return sum(times[process][1] for process in ours)


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
    training: int
    blocks: int
    local: tuple[float, float]  # CPU and wall seconds
    files: tuple[float, float]
    folders: tuple[float, float]
    broadcast: int
    returned: int
    shuffled: int
    words: int  # that the lexicon asks for
    forms: int  # token sequences of mentions
    lexicon: int  # bytes
    driver: int  # MB at most, of all sizes until now


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
        session = spark_session(args.master)
        costs = [_measured(session, args, where, size, *local[size]) for size in sizes]
        words = [_words(session, args, where, size) for size in args.natural.split(",") if size]
    session.stop()
    text = _table(costs, words, args)
    print(text)
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
    session: Any, args: argparse.Namespace, folder: Path, size: str, expected: str, local: tuple[float, float]
) -> Cost:
    *plain, made = _files(folder, size)
    weighed = Weighed(SparkEngine(session))
    first, _ = _timed(*plain, engine=weighed, memory=args.memory)  # packs everything twice, to weigh it
    found, on_files = _timed(*plain, engine=SparkEngine(session), memory=args.memory)
    assert first == found == expected, "Spark and local processes differ"
    shares = 4 * args.cores
    several = {name: _split(Path(path), shares) for name, path in made["files"].items()}
    lake = (several["gold"], {name: several[name] for name in SYSTEMS}, several["train"])
    _timed(*lake, engine=SparkEngine(session))
    before = shuffled_bytes(session)
    _, on_folders = _timed(*lake, engine=SparkEngine(session))
    lexicon = weighed.lexicon
    assert lexicon is not None
    cost = Cost(
        size, made["tokens"], made["training_tokens"], weighed.blocks, local, on_files, on_folders,
        weighed.broadcast, weighed.returned, shuffled_bytes(session) - before,
        len(lexicon.wanted.words), len(lexicon.wanted.forms), _size(lexicon),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    )  # fmt: skip
    print(cost, f"load {os.getloadavg()[0]:.1f}", flush=True)
    return cost


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


def _words(session: Any, args: argparse.Namespace, folder: Path, size: str) -> tuple[int, int]:
    """The tokens of a test set in natural text, and the distinct words that it asks training data for."""
    made: Any = make(folder, f"{size}-natural")
    files = made["files"]
    weighed = Weighed(SparkEngine(session))
    spanwise.evaluate(
        files["gold"], {name: files[name] for name in SYSTEMS}, train=files["train"], resamples=0,
        unit="sentence", engine=weighed, memory=args.memory,
    )  # fmt: skip
    assert weighed.lexicon is not None
    return made["tokens"], len(weighed.lexicon.wanted.words)


def _heaps(words: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """K and β of V = K N^β, by least squares over logarithms."""
    x, y = ([math.log(pair[at]) for pair in words] for at in (0, 1))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum(
        (a - mean_x) ** 2 for a in x
    )
    return math.exp(mean_y - slope * mean_x), slope


COLUMNS: Mapping[str, Callable[[Cost, Sequence[Cost], int], str]] = {
    "test tokens": lambda one, all_, cores: f"{one.tokens:,}",
    "training tokens": lambda one, all_, cores: f"{one.training:,}",
    "local": lambda one, all_, cores: _seconds(one.local),
    "Spark, files": lambda one, all_, cores: _seconds(one.files),
    "Spark, folders": lambda one, all_, cores: _seconds(one.folders),
    "files / local": lambda one, all_, cores: (
        f"{one.files[0] / one.local[0]:.2f} × ({one.files[1] / one.local[1]:.2f} ×)"
    ),
    "growth": lambda one, all_, cores: f"{_per_token(one) / _per_token(all_[0]):.2f} ×",
    "test tokens per core-second": lambda one, all_, cores: f"{one.tokens / one.files[0]:,.0f}",
    "broadcast": lambda one, all_, cores: _per_million(one.broadcast, one),
    "returned": lambda one, all_, cores: _per_million(one.returned, one),
    "shuffled": lambda one, all_, cores: _per_million(one.shuffled, one),
    "lexicon": lambda one, all_, cores: f"{one.lexicon / 1e6:.1f} MB",
    "driver": lambda one, all_, cores: f"{one.driver:,} MB",
}


def _seconds(both: tuple[float, float]) -> str:
    return f"{both[0]:.1f} ({both[1]:.1f})"


def _per_token(one: Cost) -> float:
    return one.files[0] / (one.tokens + one.training)


def _per_million(size: int, one: Cost) -> str:
    return f"{size / one.tokens:.2f} MB"


def _table(costs: Sequence[Cost], words: Sequence[tuple[int, int]], args: argparse.Namespace) -> str:
    lines = [
        f"CPU seconds (wall seconds) of two systems with training data on {args.master}, `--memory "
        f"{args.memory} --resamples 0 --unit sentence`, warm. Growth is CPU time per token, test and "
        "training, on files, against the first row. Bytes are per million test tokens; the driver's "
        "memory is the most of all rows until then.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"|{'---:|' * len(COLUMNS)}",
        *(f"| {' | '.join(cell(one, costs, args.cores) for cell in COLUMNS.values())} |" for one in costs),
    ]
    if len(words) > 1:
        k, slope = _heaps(words)
        met = ", ".join(f"{number:,} at {tokens:,} tokens" for tokens, number in words)
        lines += ["", f"Words of the test set in natural text: {met}; V = {k:.1f} N^{slope:.2f}."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
