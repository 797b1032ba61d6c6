"""How the memory of columns is handed out, and whether there is room for what reserves much."""

from __future__ import annotations

import ctypes

from spanwise.errors import InputError

# Numbers of malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_NEVER = (1 << 31) - 1

DRAWING = 66 << 30  # bytes of address space that the renderer of charts reserves, though it uses few


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


def check_room_for_drawing() -> None:
    """Refuse to draw where the process may not reserve what the renderer of charts reserves.

    It ends the whole process otherwise, without a word.
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    if allowed != resource.RLIM_INFINITY and allowed < DRAWING:
        raise InputError(
            f"charts cannot be drawn under a limit of {allowed >> 20:,} MB of address space (ulimit -v).\n"
            "Raise the limit, or leave the page and the figures out."
        )
