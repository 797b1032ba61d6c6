"""A Spark job to be interrupted: a test runs it and sends the signal."""

from __future__ import annotations

import sys
import time
from pathlib import Path


def slow(marker: str, shared: int) -> int:
    """Signal that the task has started, then sleep until it is interrupted."""
    Path(marker).touch()
    time.sleep(shared)
    return 0


def command(arguments: list[str]) -> int:
    """Map a slow function over blocks, as a command does."""
    from spanwise.engines.spark import SparkEngine, spark_session

    session = spark_session("local[2]")
    try:
        return sum(SparkEngine(session).map(slow, arguments, 300))
    finally:
        print("jobs:", len(session.sparkContext.statusTracker().getActiveJobsIds()))
        session.stop()


if __name__ == "__main__":
    from spanwise.cli import main

    setattr(main, "_run", command)  # noqa: B010
    sys.exit(main.main(sys.argv[1:]))
