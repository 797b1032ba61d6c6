"""Killing processes leaves no orphans, hangs or lost cells: a few kills of each kind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz import faults
from spanwise.engines import Processes
from spanwise.errors import InputError

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@pytest.mark.parametrize("kind", faults.KINDS)
def test_a_kill_does_no_harm(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / "faults"
    folder.mkdir(exist_ok=True)
    assert faults.KINDS[kind](folder, 0) == []


def _fail(block: int, shared: None) -> int:
    raise InputError(f"block {block}")


def test_a_lost_worker_is_reported_in_one_sentence() -> None:
    # In a separate process: one with threads never forks, and the test would kill itself here.
    code = (
        "import os\n"
        "from spanwise.engines import Processes\n"
        "from spanwise.errors import WorkerLost\n"
        "die = lambda block, shared: os.kill(os.getpid(), 9) if block == 3 else block\n"
        "try: list(Processes(2).map(die, range(8), None))\n"
        "except WorkerLost as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert "a worker process was killed by signal 9" in done.stdout


def test_an_error_in_a_worker_is_raised_unchanged() -> None:
    with pytest.raises(InputError, match="block 0"):
        list(Processes(2).map(_fail, range(8), None))


def test_results_keep_the_order_of_blocks_for_any_number_of_workers() -> None:
    for workers in (2, 3, 100_000):
        assert list(Processes(workers).map(_double, range(50), 2)) == [2 * block for block in range(50)]


def _double(block: int, shared: int) -> int:
    return shared * block
