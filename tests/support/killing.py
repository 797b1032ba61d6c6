"""Functions that kill their Spark worker on the first attempt of every stage, and a cluster to run them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any


def die_once() -> None:
    """Kill this worker on the first attempt of the first task of a stage."""
    from pyspark import TaskContext

    task = TaskContext.get()
    if task is not None and task.attemptNumber() == 0 and task.partitionId() == 0:
        os._exit(9)


def fragile(mention: Any) -> int:
    """The number of tokens of a mention; kills the worker on the first attempt of a stage's first task."""
    die_once()
    return len(mention.tokens)


def doomed(function: Callable[[Any, Any], Any], block: Any, shared: Any) -> Any:
    """Apply a function to a block, unless the worker dies first."""
    die_once()
    return function(block, shared)


class Fragile:
    """A Spark engine that loses a worker in every stage."""

    elsewhere = True

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.stages: list[str] = []

    def map(self, function: Callable[[Any, Any], Any], blocks: Iterable[Any], shared: Any) -> Iterator[Any]:
        """Run the blocks on Spark."""
        self.stages.append(function.__name__)
        yield from self._engine.map(partial(doomed, function), blocks, shared)


def main(folder: str) -> None:
    """Evaluate on two executors, each a Java process with its own Python workers."""
    from pathlib import Path

    import pyspark
    import pytest
    from parts import small_parts

    import spanwise
    from spanwise.attributes import own
    from spanwise.demo import generate
    from spanwise.engines.spark import LOCAL_JAVA, SparkEngine, spark_session

    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    small_parts(pytest.MonkeyPatch(), tokens=130)
    demo = generate(folder, sentences=40)
    options: dict[str, Any] = {"train": demo.train, "resamples": 20}
    expected = spanwise.evaluate(demo.gold, demo.systems, **options).to_json()
    started = {f"spark.{process}.defaultJavaOptions": LOCAL_JAVA for process in ("driver", "executor")}
    session = spark_session("local-cluster[2,1,1024]", started)
    engine = Fragile(SparkEngine(session))
    document = spanwise.evaluate(demo.gold, demo.systems, engine=engine, **options).to_json()
    print(*engine.stages)
    whole = spanwise.evaluate(demo.gold, demo.systems, attributes=[own(fragile)], resamples=0)
    pattern = f"{folder}/{Path(demo.gold).stem}*{Path(demo.gold).suffix}"
    read = spanwise.evaluate(
        pattern, demo.systems, attributes=[own(fragile)], resamples=0, engine=SparkEngine(session)
    )
    session.stop()
    same = document == expected and all(read[name].exact == whole[name].exact for name in demo.systems)
    print("the same bytes" if same else "other bytes")


if __name__ == "__main__":
    main(sys.argv[1])
