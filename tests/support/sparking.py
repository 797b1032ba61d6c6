"""One Spark session for all tests of this process, and why there is none."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SOURCES = str(Path(__file__).parents[2] / "src")


@cache
def session() -> Any:
    """A session with two cores; tests that need it are skipped where Spark or Java is missing."""
    pytest.importorskip("pyspark", reason="Spark is not installed; pip install 'spanwise[spark]'")
    from spanwise.engines.spark import spark_session
    from spanwise.errors import MissingExtra

    os.environ["PYTHONPATH"] = os.pathsep.join(
        [SOURCES, str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    )
    try:
        return spark_session("local[2]", {"spark.sql.shuffle.partitions": "3"})
    except MissingExtra as error:
        return pytest.skip(str(error).splitlines()[0])
