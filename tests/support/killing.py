"""An attribute that kills its Spark worker at the first attempt, and a cluster to try it on."""

from __future__ import annotations

import os
import sys
from typing import Any


def fragile(mention: Any) -> int:
    """The tokens of a mention; the first attempt of the first task of every stage does not survive it."""
    from pyspark import TaskContext

    task = TaskContext.get()
    if task is not None and task.attemptNumber() == 0 and task.partitionId() == 0:
        os._exit(9)
    return len(mention.tokens)


def main(folder: str) -> None:
    """Evaluate on two executors, each a Java process with Python workers of its own."""
    from pathlib import Path

    import pyspark

    import spanwise
    from spanwise.attributes import own
    from spanwise.demo import generate
    from spanwise.engines.spark import SparkEngine, spark_session
    from spanwise.evaluation import _blocks

    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    _blocks.LEAST_TOKENS, _blocks.BYTES_PER_TOKEN = 60, 1 << 60
    demo = generate(folder, sentences=40)
    options: dict[str, Any] = {"attributes": [own(fragile)], "train": demo.train, "resamples": 20}
    expected = spanwise.evaluate(demo.gold, demo.systems, **options).to_json()
    session = spark_session("local-cluster[2,1,1024]")
    found = spanwise.evaluate(demo.gold, demo.systems, engine=SparkEngine(session), **options).to_json()
    session.stop()
    print("the same bytes" if found == expected else "other bytes")


if __name__ == "__main__":
    main(sys.argv[1])
