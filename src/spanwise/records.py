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

_NEEDED = object()  # in place of a default


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
    shared = {**_ALWAYS, "__defaults__": _defaults(cls), **(_COMPARING if eq else {})}
    for name, attribute in shared.items():
        if name not in cls.__dict__:
            setattr(cls, name, attribute)
    return cls


def _init(self: Any, *values: Any, **named: Any) -> None:
    names, own = self.__match_args__, self.__dict__
    if len(values) > len(names):
        raise TypeError(f"{type(self).__name__} takes {len(names)} values, but {len(values)} were given")
    own.update(zip(names, values, strict=False))
    if named:
        for name in named:
            if name in own or name not in names:
                raise TypeError(f"{type(self).__name__} takes no {name!r}, or has it already")
        own.update(named)
    if len(own) < len(self.__dataclass_fields__):
        for name, default, made in self.__defaults__:
            if name not in own:
                if default is _NEEDED:
                    raise TypeError(f"{type(self).__name__} needs {name!r}")
                own[name] = default() if made else default
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _defaults(cls: type) -> tuple[tuple[str, Any, bool], ...]:
    """What each field is where it is not given: its name, and a value, or what makes one."""
    found: list[tuple[str, Any, bool]] = []
    for one in fields(cls):
        if one.default_factory is not MISSING:
            found.append((one.name, one.default_factory, True))
        elif one.default is not MISSING or one.init:  # others are set by the class itself
            found.append((one.name, _NEEDED if one.default is MISSING else one.default, False))
    return tuple(found)


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
