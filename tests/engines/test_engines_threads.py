"""Calls that run at the same time give the same results as calls that run one after the other."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from spanwise import engines


@pytest.mark.parametrize("cores", [1, 2, 8])
def test_results_come_in_the_order_of_the_calls(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr(engines, "cores", lambda: cores)
    assert engines.together([partial(pow, number, 2) for number in range(20)]) == [
        number**2 for number in range(20)
    ]
    assert engines.together([]) == []


def test_two_calls_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "cores", lambda: 2)
    meeting = threading.Barrier(2, timeout=10)
    assert sorted(engines.at_once(meeting.wait, meeting.wait)) == [0, 1]


@pytest.mark.parametrize("cores", [1, 2])
def test_the_error_of_the_first_call_that_fails_is_raised(
    monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr(engines, "cores", lambda: cores)

    def fail(text: str) -> None:
        raise ValueError(text)

    before = threading.active_count()
    with pytest.raises(ValueError, match="first"):
        engines.together([lambda: None, lambda: fail("first"), lambda: fail("second")])
    assert threading.active_count() == before


def test_of_two_simultaneous_errors_the_one_of_the_first_call_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engines, "cores", lambda: 2)
    meeting = threading.Barrier(2, timeout=10)

    def fail(text: str) -> None:
        meeting.wait()
        raise ValueError(text)

    with pytest.raises(ValueError, match="first"):
        engines.at_once(lambda: fail("first"), lambda: fail("second"))


def test_there_is_at_least_one_processor() -> None:
    assert engines.cores() >= 1
