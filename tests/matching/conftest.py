"""A fixture that lowers the number of overlaps from which mentions are matched as a cluster."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import Mock

import pytest

from spanwise.matching import _choosing


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Mock]:
    """A function that sets the number of overlaps above which mentions are matched as a cluster.

    It returns a mock that counts the clusters of fair matching.
    """

    def begin(degree: int) -> Mock:
        monkeypatch.setattr(_choosing, "_DEGREE", degree)
        monkeypatch.setattr(_choosing, "_SMALL", 0)
        played = Mock(wraps=_choosing.match_cluster)
        monkeypatch.setattr("spanwise.matching.match_cluster", played)
        return played

    return begin
