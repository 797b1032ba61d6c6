"""Killed workers are replaced and change no byte; errors on workers are raised unchanged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from killing import Fragile
from parts import small_parts
from sparking import SOURCES, session

import spanwise
from spanwise.columns import Column
from spanwise.demo import generate
from spanwise.engines import spark
from spanwise.engines.spark import SparkEngine
from spanwise.errors import InputError, WorkerLost


def square(number: int, shared: int) -> int:
    return number**2 + shared


def refuse(number: int, shared: int) -> int:
    if number > shared:
        raise InputError(f"rows.parquet:{number}: this cannot be read.\nRepair it.")
    return number


def die(number: int, shared: int) -> int:
    os._exit(9)


@pytest.mark.parametrize("partitions", [None, 1, 3, 7, 32])
def test_results_come_in_the_order_of_the_blocks(partitions: int | None) -> None:
    results = list(SparkEngine(session(), partitions).map(square, range(40), 1))
    assert results == [number**2 + 1 for number in range(40)]


def test_jobs_with_large_results_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "RETURNED", 1)
    assert list(SparkEngine(session()).map(square, range(7), 1)) == [number**2 + 1 for number in range(7)]


def test_columns_are_sent_in_narrow_integers_and_restored_unchanged() -> None:
    pytest.importorskip("pyspark")
    columns: list[Column] = [
        np.arange(-100, 900),
        np.arange(1200, dtype=np.int32).reshape(300, 4)[:, ::2],
        np.full(300, 2**63, dtype=np.uint64),
        np.array([0, 2**63, 3] * 100, dtype=np.uint64),
        np.linspace(0, 1, 300),
        np.zeros(0, dtype=np.int64),
    ]
    for column in columns:
        unpacked = spark.unpacked(spark.packed((column, column)))
        assert unpacked[0] is unpacked[1] and unpacked[0].dtype == column.dtype
        assert np.array_equal(unpacked[0], column)
    assert len(spark.packed(columns[0])) < columns[0].nbytes // 3


def test_the_first_error_is_raised_unchanged() -> None:
    with pytest.raises(InputError, match=r"rows\.parquet:6: this cannot be read"):
        list(SparkEngine(session(), 3).map(refuse, range(12), 5))


def test_a_worker_that_dies_at_every_attempt_ends_the_job_with_one_sentence() -> None:
    with pytest.raises(WorkerLost, match="Spark failed to run a job") as caught:
        list(SparkEngine(session()).map(die, [1], 0))
    assert len(str(caught.value).splitlines()) == 2


def test_a_worker_that_dies_once_in_every_stage_changes_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_parts(monkeypatch, tokens=60)
    engine = Fragile(SparkEngine(session(), 2))
    demo = generate(tmp_path, sentences=40)
    evaluate = partial(spanwise.evaluate, demo.gold, demo.systems, train=demo.train, resamples=20)
    assert evaluate(engine=engine).to_json() == evaluate().to_json()
    assert engine.stages == ["collect_queries", "learn", "look", "count"]


@pytest.mark.parametrize("partitions", [1, 7, 32])
def test_files_give_the_same_bytes_for_any_number_of_partitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partitions: int
) -> None:
    small_parts(monkeypatch, tokens=25)
    demo = generate(tmp_path, sentences=60)
    evaluate = partial(
        spanwise.evaluate, demo.gold, demo.systems, attributes="all", train=demo.train, resamples=20
    )
    assert evaluate(engine=SparkEngine(session(), partitions)).to_json() == evaluate().to_json()


@pytest.mark.skipif("SPANWISE_CLUSTER" not in os.environ, reason="set SPANWISE_CLUSTER=1 to start a cluster")
def test_a_cluster_of_two_executors_loses_workers_and_changes_no_byte(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    support = Path(__file__).parents[1] / "support"
    done = subprocess.run(
        [sys.executable, str(support / "killing.py"), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([SOURCES, str(support)])},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[-2:] == ["collect_queries learn look count", "the same bytes"], (
        done.stderr[-3000:]
    )


def session_members(session: int) -> list[str]:
    """The names of the processes in a session."""
    names = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = path.read_text("utf-8").partition("(")[2].rpartition(")")
            if int(rest.split()[3]) == session and rest.split()[0] != "Z":
                names.append(name)
    return names


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are counted in /proc")
def test_an_interrupt_cancels_the_jobs_and_leaves_no_process_behind(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    marker, support = tmp_path / "begun", Path(__file__).parents[1] / "support"
    running = subprocess.Popen(
        [sys.executable, str(support / "interrupted.py"), str(marker), str(marker)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([SOURCES, str(support)])},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        wait_until(lambda: marker.exists() or running.poll() is not None)
        running.send_signal(signal.SIGINT)
        stdout, stderr = running.communicate(timeout=100)
        assert running.returncode == 130, stderr[-2000:]
        assert stderr.splitlines()[-1] == "spanwise: interrupted; nothing was left half-written."
        assert "Traceback" not in stderr and stdout == "jobs: 0\n"
        wait_until(lambda: not session_members(running.pid))
        assert session_members(running.pid) == []
    finally:
        running.kill()


def wait_until(done: Callable[[], bool], seconds: float = 100) -> None:
    """Wait until `done()` is true, or until the time has run out."""
    until = time.monotonic() + seconds
    while not done() and time.monotonic() < until:
        time.sleep(0.1)


@pytest.mark.parametrize("number", range(4))
def test_damaged_folders_and_unusual_rows_give_results_or_errors_of_ours(number: int, tmp_path: Path) -> None:
    from fuzz.lake import attempt

    assert attempt(number, tmp_path, session()) is None
