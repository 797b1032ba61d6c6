"""Coroutines run in a thread of their own: a browser of other tests keeps a loop running in the main one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def finished(work: Coroutine[Any, Any, T]) -> T:
    """What ``work`` returns, or the error it raises."""
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(asyncio.run, work).result()
