"""Where a command computes: the options of engines, a Spark session, and what Spark reads."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from spanwise.errors import ChoiceError


def add_engine(parser: argparse.ArgumentParser) -> None:
    """The options that say where parts are evaluated."""
    group = parser.add_argument_group("where to compute (changes no number)")
    group.add_argument(
        "--engine", default="local", choices=["local", "spark"],
        help="this machine's processes (default), or Apache Spark (needs Java and the extra 'spark')",
    )  # fmt: skip
    group.add_argument(
        "--master", metavar="URL", help="of Spark: local[2], spark://host:7077 (default: local[*])"
    )
    group.add_argument(
        "--partitions", type=int, metavar="N", help="tasks of one Spark job (default: one for each part)"
    )
    group.add_argument(
        "--conf", metavar="KEY=VALUE", action="append", default=[],
        help="a setting of Spark, such as spark.executor.memory=4g; may be repeated",
    )  # fmt: skip


@contextmanager
def engine_of(args: argparse.Namespace) -> Iterator[Any]:
    """The engine that was asked for; a Spark session lasts as long as it is needed."""
    given = [name for name in ("master", "partitions", "conf") if getattr(args, name)]
    if args.engine == "local":
        if given:
            raise ChoiceError(f"--{given[0]} is an option of Spark.\nAdd --engine spark, or leave it out.")
        yield None
        return
    if args.partitions is not None and args.partitions < 1:
        raise ChoiceError(f"--partitions is {args.partitions}, but must be 1 or more.")
    from spanwise.cli.evaluating import parted
    from spanwise.engines.spark import SparkEngine, spark_session

    conf = dict(parted(text, "--conf spark.executor.memory=4g") for text in args.conf)
    session = spark_session(args.master, conf)
    try:
        yield SparkEngine(session, args.partitions)
    finally:
        session.stop()


@contextmanager
def gathering(args: argparse.Namespace, reading: Mapping[str, Any]) -> Iterator[Callable[[Any], Any]]:
    """A function that has Spark read folders, patterns and addresses; what else is given stays as it is."""
    with engine_of(args) as engine:
        from spanwise.evaluation import collected, in_lake

        def gathered(source: Any) -> Any:
            if isinstance(source, list):
                return [gathered(one) for one in source]
            if isinstance(source, dict):
                return {name: gathered(one) for name, one in source.items()}
            return collected(engine, source, reading) if engine is not None and in_lake(source) else source

        yield gathered


def spark_reads(args: argparse.Namespace, systems: Mapping[str, str] | None) -> bool:
    """Whether Spark reads the files itself, so that folders, patterns and addresses stay as they are."""
    if getattr(args, "engine", "local") != "spark":
        return False
    from spanwise.evaluation import any_in_lake

    return any_in_lake(args.gold, systems, args.train)
