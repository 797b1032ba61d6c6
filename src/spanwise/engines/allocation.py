"""How the memory of columns is handed out."""

from __future__ import annotations

import ctypes

# Numbers of malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_NEVER = (1 << 31) - 1


def keep_freed_memory() -> None:
    """Let this process keep the memory of columns it no longer needs for the next ones.

    By default the C library gives large pieces back to the system, which then hands out each of their
    pages anew: a quarter of the time of a large evaluation. This changes the whole process, so only
    programs call it that are ours; without the GNU C library it does nothing.
    """
    try:
        choose = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    choose(_MMAP_THRESHOLD, _NEVER)
    choose(_TRIM_THRESHOLD, _NEVER)
    choose(_ARENA_MAX, 1)  # threads of columns ask rarely, and can share what was freed
