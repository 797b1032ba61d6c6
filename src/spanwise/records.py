"""Frozen dataclasses whose methods all classes share.

The standard decorator compiles a set of methods for every class, which takes half a millisecond. A command
loads seventy such classes before it does anything, so that this was a sixth of a short evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from inspect import Parameter, Signature
from typing import Any, TypeVar, dataclass_transform, overload

Class = TypeVar("Class", bound=type)

_set = object.__setattr__


@overload
def record(cls: Class, /) -> Class: ...
@overload
def record(*, eq: bool = True) -> Callable[[Class], Class]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: Class | None = None, /, *, eq: bool = True) -> Any:
    """Make a class an immutable record of its annotated fields: what `dataclass(frozen=True, eq=eq)` makes.

    `fields`, `replace`, `asdict` and `match` take it as one; `eq=False` compares by identity, which is
    for classes that hold columns.

    Examples:
        >>> @record
        ... class Place:
        ...     line: int
        ...     column: int = 0
        >>> Place(3)
        Place(line=3, column=0)
        >>> Place(3) == Place(line=3, column=0)
        True
    """
    if cls is None:
        return lambda decorated: _recorded(decorated, eq)
    return _recorded(cls, eq)


def _recorded(cls: Class, eq: bool) -> Class:
    dataclass(init=False, repr=False, eq=False)(cls)
    for name, attribute in {**_ALWAYS, **(_COMPARING if eq else {})}.items():
        if name not in cls.__dict__:
            setattr(cls, name, attribute)
    return cls


def _init(self: Any, *values: Any, **named: Any) -> None:
    names = self.__match_args__
    if len(values) > len(names):
        raise TypeError(f"{type(self).__name__} takes {len(names)} values, but {len(values)} were given")
    own = self.__dict__  # written to as it is: setting attributes takes three times as long
    for name, value in zip(names, values, strict=False):
        own[name] = value
    for name, value in named.items():
        if name not in names or name in names[: len(values)]:
            raise TypeError(f"{type(self).__name__} takes no {name!r}, or has it already")
        own[name] = value
    if len(values) + len(named) < len(self.__dataclass_fields__):
        _fill(self)
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _fill(self: Any) -> None:
    """Set the fields that were not given to their defaults."""
    for one in fields(self):
        if one.name in self.__dict__:
            continue
        if one.default_factory is not MISSING:
            _set(self, one.name, one.default_factory())
        elif one.default is not MISSING:
            _set(self, one.name, one.default)
        elif one.init:
            raise TypeError(f"{type(self).__name__} needs {one.name!r}")


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _repr(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _eq(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    names = [one.name for one in fields(self) if one.compare]
    return [getattr(self, name) for name in names] == [getattr(other, name) for name in names]


def _hash(self: Any) -> int:
    return hash(tuple(getattr(self, one.name) for one in fields(self) if _is_hashed(one)))


def _is_hashed(one: Field[Any]) -> bool:
    return one.compare if one.hash is None else one.hash


class _Signature:
    """The signature of a record, for `help` and the documentation, made when it is asked for."""

    def __get__(self, instance: Any, owner: type) -> Signature:
        return Signature([_parameter(one) for one in fields(owner) if one.init])


def _parameter(one: Field[Any]) -> Parameter:
    default = one.default if one.default is not MISSING else Parameter.empty
    if one.default_factory is not MISSING:
        default = one.default_factory()
    return Parameter(one.name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=one.type)


_ALWAYS = {
    "__init__": _init,
    "__repr__": _repr,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__signature__": _Signature(),
}
_COMPARING = {"__eq__": _eq, "__hash__": _hash}
