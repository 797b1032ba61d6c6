"""What Spark costs beside local processes: `python -m benchmarks.spark --sizes 1M,large`.

Makes corpora of so many test tokens with the generator of the demo (`large` has 9 M test and 10 M training
tokens), evaluates two systems with training data in this machine's processes and on Spark (`--master
local[2]` unless named), checks that both give the same bytes, and prints seconds, tokens per core-second, and
the bytes that cross the network per million test tokens. The first run on Spark starts its workers; the
second is warm.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import spanwise
from benchmarks.data import SYSTEMS, make
from spanwise.engines import keep_freed_memory
from spanwise.engines.spark import Sent, SparkEngine, spark_session


class Weighed:
    """An engine that adds up the bytes of all that it sends and gets back."""

    elsewhere = True

    def __init__(self, engine: SparkEngine) -> None:
        self.engine = engine
        self.broadcast = self.sent = self.returned = self.blocks = 0

    def map(self, function: Callable[[Any, Any], Any], blocks: Iterable[Any], shared: Any) -> Iterator[Any]:
        """Run the blocks on the engine."""
        self.broadcast += _size(shared)
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="1M,large", help="1M, 10M, 30M, large, with commas")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="256MB", help="of a part, which decides how many there are")
    parser.add_argument("--folder", help="where corpora are kept; by default they are made and removed")
    args = parser.parse_args()
    keep_freed_memory()
    began = time.perf_counter()
    session = spark_session(args.master)
    print(f"start of Spark: {time.perf_counter() - began:.1f} s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for size in args.sizes.split(","):
            _measure(session, args, Path(args.folder or folder), size)
    session.stop()


def _measure(session: Any, args: argparse.Namespace, folder: Path, size: str) -> None:
    made: Any = make(folder, size)
    files, tokens = made["files"], made["tokens"]
    systems = {name: files[name] for name in SYSTEMS}
    given: dict[str, Any] = {
        "train": files["train"], "resamples": 0, "memory": args.memory, "examples_cap": 100,
        "unit": "sentence",
    }  # fmt: skip
    seconds, documents = {}, set()

    def timed(name: str, **where: Any) -> None:
        began = time.perf_counter()
        result = spanwise.evaluate(files["gold"], systems, **given, **where)
        seconds[name] = time.perf_counter() - began
        documents.add(result.to_json())

    engine = Weighed(SparkEngine(session))
    timed("Spark, cold", engine=engine)  # packs everything twice, to weigh it
    timed("local", workers=args.cores)
    timed("Spark, warm", engine=SparkEngine(session))
    assert len(documents) == 1, "Spark and local processes differ"
    million = tokens / 1e6
    print(
        f"\n{size}: {tokens:,} test and {made['training_tokens']:,} training tokens, 2 systems, "
        f"{engine.blocks} tasks, load {os.getloadavg()[0]:.1f}"
    )
    for name in ("local", "Spark, cold", "Spark, warm"):
        rate = tokens * len(systems) / args.cores / seconds[name]
        print(f"{name:<12}{seconds[name]:8.1f} s {rate:10,.0f} tokens of a system per core-second")
    print(f"warm/local  {seconds['Spark, warm'] / seconds['local']:8.2f} ×")
    for name in ("broadcast", "sent", "returned"):
        print(f"{name:<12}{getattr(engine, name) / million / 1024:8.1f} KB per million test tokens")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"driver      {peak:8.0f} MB at most, of all sizes until now", flush=True)


if __name__ == "__main__":
    main()
