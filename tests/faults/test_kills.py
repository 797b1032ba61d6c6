"""Processes that are killed leave no orphan, no hang and no lost cell: a few kills of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz import faults
from spanwise.engines.local import Processes
from spanwise.errors import InputError, WorkerLost

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@pytest.mark.parametrize("kind", faults.KINDS)
def test_a_kill_does_no_harm(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / "faults"
    folder.mkdir(exist_ok=True)
    assert faults.KINDS[kind](folder, 0) == []


def _die(block: int, shared: None) -> int:
    import os
    import signal

    if block == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def _fail(block: int, shared: None) -> int:
    raise InputError(f"block {block}")


def test_a_lost_worker_is_told_in_one_sentence() -> None:
    with pytest.raises(WorkerLost, match="a worker process was ended by signal 9"):
        list(Processes(2).map(_die, range(8), None))


def test_an_error_of_a_worker_is_raised_as_it_is() -> None:
    with pytest.raises(InputError, match="block 0"):
        list(Processes(2).map(_fail, range(8), None))


def test_outcomes_keep_the_order_of_blocks_for_any_number_of_workers() -> None:
    for workers in (2, 3, 100_000):
        assert list(Processes(workers).map(_double, range(50), 2)) == [2 * block for block in range(50)]


def _double(block: int, shared: int) -> int:
    return shared * block
