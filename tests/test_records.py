"""Records are frozen dataclasses in everything but the time they take to be made."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any

import pytest

from spanwise.records import record


class Fields:
    """What both kinds of classes below hold."""

    name: str
    size: int = 1
    notes: list[str] = field(default_factory=list, compare=False)
    hidden: int = field(default=0, repr=False)
    made: dict[str, int] = field(default_factory=dict, init=False, compare=False)


def like_fields(decorate: Any) -> Any:
    """A class of these fields made by a decorator."""
    body = {name: value for name, value in vars(Fields).items() if name not in ("__dict__", "__weakref__")}
    return decorate(type("Made", (), {**body, "__qualname__": "Made"}))


RECORD, FROZEN = like_fields(record), like_fields(dataclass(frozen=True))
CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("a",), {}),
    (("a", 2), {"hidden": 3}),
    ((), {"name": "a", "size": 2, "notes": ["x"]}),
    (("a", 2, ["x"], 4), {}),
]
WRONG: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    (("a", 1, [], 0, {}), {}),
    (("a",), {"name": "b"}),
    (("a",), {"unknown": 1}),
    (("a",), {"made": {}}),
]


@pytest.mark.parametrize(("values", "named"), CALLS)
def test_a_record_holds_shows_and_compares_what_a_frozen_dataclass_does(values: Any, named: Any) -> None:
    one, other = RECORD(*values, **named), FROZEN(*values, **named)
    assert asdict(one) == asdict(other)
    assert repr(one) == repr(other)
    assert one == RECORD(*values, **named)
    assert hash(one) == hash(other)
    assert (one == replace(one, name="b")) is (other == replace(other, name="b")) is False
    assert one != other
    assert [item.name for item in fields(one)] == [item.name for item in fields(other)]


@pytest.mark.parametrize(("values", "named"), WRONG)
def test_a_wrong_call_is_refused_by_both(values: Any, named: Any) -> None:
    for made in (RECORD, FROZEN):
        with pytest.raises(TypeError):
            made(*values, **named)


@pytest.mark.parametrize("made", [RECORD, FROZEN])
def test_nothing_of_a_record_can_be_changed(made: Any) -> None:
    one = made("a")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        one.name = "b"
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
        del one.name
    assert one.name == "a"


def test_defaults_that_can_change_are_not_shared() -> None:
    assert RECORD("a").notes is not RECORD("a").notes


def test_the_signature_names_the_fields_and_their_defaults() -> None:
    assert list(inspect.signature(RECORD).parameters) == list(inspect.signature(FROZEN).parameters)
    assert inspect.signature(RECORD).parameters["size"].default == 1


@record(eq=False)
class Base:
    """A record that is compared by identity, and checks what it is given."""

    first: int

    def __post_init__(self) -> None:
        if self.first < 0:
            raise ValueError("negative")


@record(eq=False)
class Longer(Base):
    """One with a field more."""

    second: int = 2


def test_a_record_inherits_fields_and_its_check() -> None:
    assert repr(Longer(1)) == "Longer(first=1, second=2)"
    with pytest.raises(ValueError, match="negative"):
        Longer(-1)


def test_records_without_equality_are_equal_to_themselves_alone() -> None:
    one = Longer(1)
    assert one == one
    assert one != Longer(1)
    assert len({one, Longer(1)}) == 2


def test_a_record_travels_between_processes() -> None:
    copy = pickle.loads(pickle.dumps(Longer(1, 3)))
    assert (copy.first, copy.second) == (1, 3)
