"""One Spark session for all tests of this process, and data to read with it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

import spanwise
from spanwise.schemes import encode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Table: TypeAlias = dict[str, list[Any]]  # columns, each of values of one type
SOURCES = str(Path(__file__).parents[2] / "src")


@cache
def session() -> SparkSession:
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


def table(path: Path, tags: str = "tags") -> Table:
    """The sentences of a file as columns of a table."""
    annotation = spanwise.read(path)
    owner = annotation.corpus.document_of_sentence
    assert owner is not None
    return {
        "tokens": [annotation.corpus.words(number) for number in range(len(annotation.corpus))],
        tags: encode(annotation.mentions, annotation.corpus.lengths, "IOB2").lists(),
        "doc_id": [f"{number:05}" for number in owner.tolist()],
        "place": list(range(len(annotation.corpus))),
    }


def frame(path: Path, table: Mapping[str, Sequence[object]]) -> DataFrame:
    """A frame of a Parquet file with these columns."""
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    parquet.write_table(pyarrow.table(table), path)
    return session().read.parquet(str(path))


def split(path: Path, folder: Path, before: Sequence[int]) -> str:
    """Split a CoNLL file into several before the given sentences; documents may continue across files."""
    folder.mkdir(parents=True)
    sentences = path.read_text("utf-8").strip("\n").split("\n\n")
    borders = [0, *before, len(sentences)]
    for number, (begin, end) in enumerate(pairwise(borders)):
        whole = "\n\n".join(sentences[begin:end]) + "\n\n"
        (folder / f"part-{number:03}.conll").write_text(whole, encoding="utf-8")
    return str(folder)


def starts(path: Path) -> list[int]:
    """The indices of the blocks between empty lines that mark the start of a document."""
    pieces = path.read_text("utf-8").strip("\n").split("\n\n")
    return [index for index, piece in enumerate(pieces) if piece.startswith("-DOCSTART-")]


@contextmanager
def small_splits() -> Iterator[None]:
    """Make Spark read about one row group of a Parquet file per split, in batches of a few rows."""
    chosen = {
        "spark.sql.files.maxPartitionBytes": "4000",
        "spark.sql.files.openCostInBytes": "0",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "7",
    }
    before = {name: session().conf.get(name) for name in chosen}
    for name, value in chosen.items():
        session().conf.set(name, value)
    yield
    for name, value in before.items():
        session().conf.set(name, value)


class Outliving:
    """A session that ignores `stop`, so that it outlives the command."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def __getattr__(self, name: str) -> object:
        return (lambda: None) if name == "stop" else getattr(self._session, name)
