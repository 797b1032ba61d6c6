"""A fixture that lowers the number of overlaps from which mentions are matched as a crowd."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import Mock

import pytest

from spanwise.matching import _choosing


@pytest.fixture
def crowds(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Mock]:
    """A function that sets the number of overlaps above which mentions are matched as a crowd.

    It returns a mock that counts the crowds of fair matching.
    """

    def begin(degree: int) -> Mock:
        monkeypatch.setattr(_choosing, "_DEGREE", degree)
        monkeypatch.setattr(_choosing, "_SMALL", 0)
        played = Mock(wraps=_choosing.play_crowd)
        monkeypatch.setattr("spanwise.matching.play_crowd", played)
        return played

    return begin
