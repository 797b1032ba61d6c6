"""What Spark costs beside local processes: `python -m benchmarks.spark --sentences 100000`.

Makes a corpus with the generator of the demo, evaluates two systems in this machine's processes and on Spark
(`--master local[2]` unless named) by turns, and prints seconds, tokens per core-second, and the bytes that
cross the network per million test tokens. The first run on Spark starts its workers; the last is warm.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import spanwise
from spanwise.demo import generate
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
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="64MB", help="of a part, which decides how many there are")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _measure(args, folder)


def _measure(args: argparse.Namespace, folder: str) -> None:
    demo = generate(folder, sentences=args.sentences)
    systems = dict(list(demo.systems.items())[:2])
    given: dict[str, Any] = {"train": demo.train, "resamples": 0, "memory": args.memory, "examples_cap": 100}
    began = time.perf_counter()
    local = spanwise.evaluate(demo.gold, systems, workers=args.cores, **given)
    seconds = {"local": time.perf_counter() - began}
    tokens = local.to_dict()["inputs"][0]["tokens"]
    began = time.perf_counter()
    session = spark_session(args.master)
    seconds["start of Spark"] = time.perf_counter() - began
    for run in ("Spark, cold", "Spark, warm"):
        engine = Weighed(SparkEngine(session))
        began = time.perf_counter()
        result = spanwise.evaluate(demo.gold, systems, engine=engine, **given)
        seconds[run] = time.perf_counter() - began
        assert result.to_json() == local.to_json()
    session.stop()
    million = tokens / 1e6
    print(f"{tokens:,} test tokens, load {os.getloadavg()[0]:.1f}, {engine.blocks} tasks")
    for name, value in seconds.items():
        print(f"{name:<16}{value:8.1f} s")
    rate = tokens * len(systems) / args.cores
    for name in ("local", "Spark, warm"):
        print(f"{name:<16}{rate / seconds[name]:10,.0f} tokens of a system per core-second")
    for name in ("broadcast", "sent", "returned"):
        print(f"{name:<16}{getattr(engine, name) / million / 1024:8.1f} KB per million test tokens")
    print(f"driver          {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MB at most")


if __name__ == "__main__":
    main()
