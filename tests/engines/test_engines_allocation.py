"""Asking the C library to keep or release memory is optional and changes no result."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

from spanwise.engines import keep_freed_memory, release_freed_memory


def test_the_library_is_asked_to_keep_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, int]] = []

    class Library:
        def mallopt(self, what: int, value: int) -> int:
            calls.append((what, value))
            return 1

    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library())
    keep_freed_memory()
    assert [what for what, _ in calls] == [-3, -1, -8]


@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_a_system_without_that_library_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(name: object) -> None:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", fail)
    keep_freed_memory()
    release_freed_memory()


def test_memory_is_reused_and_allocated_as_before() -> None:
    program = (
        "from spanwise.engines import keep_freed_memory\nkeep_freed_memory()\n"
        "import numpy as np\nprint(sum(int((np.ones(1 << 20) + 1)[-1]) for _ in range(20)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "40\n"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="asks the GNU C library")
def test_memory_that_was_kept_can_be_released() -> None:
    program = (
        "from spanwise.engines import keep_freed_memory, release_freed_memory\nkeep_freed_memory()\n"
        "import numpy as np\n"
        "def held():\n    return int(open('/proc/self/statm').read().split()[1]) * 4096 >> 20\n"
        "columns = [np.ones(1 << 17) for _ in range(100)]\nlast = columns[-1]\ndel columns\n"
        "kept = held()\nrelease_freed_memory()\nprint(kept - held() > 80, last.sum())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True 131072.0\n"
