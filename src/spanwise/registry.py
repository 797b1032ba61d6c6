"""Registries of what users can add: formats, attributes, bucketings, matchers, credits, reports."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Generic, Protocol, TypeVar

from spanwise.errors import ChoiceError, unknown


class Named(Protocol):
    """Anything with a name and a one-line summary."""

    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...


T = TypeVar("T", bound=Named)


class Registry(Generic[T]):
    """Objects of one kind, found by name or alias; other packages can add theirs by entry point.

    Whatever takes a name also takes the object itself, so `find` returns anything but a string unchanged.
    """

    def __init__(self, kind: str, *, group: str | None = None) -> None:
        self.kind = kind
        self._group = group
        self._loaded = group is None
        self._values: dict[str, T] = {}
        self._aliases: dict[str, str] = {}

    def add(self, value: T, *, aliases: tuple[str, ...] = (), replace: bool = False) -> T:
        """Register `value` under its name and `aliases`; a taken name is an error unless `replace`."""
        for name in (value.name, *aliases):
            if not replace and (name in self._values or name in self._aliases):
                raise ChoiceError(
                    f"the {self.kind} {name!r} already exists.\nChoose another name, or pass replace=True."
                )
        self._values[value.name] = value
        self._aliases.update(dict.fromkeys(aliases, value.name))
        return value

    def remove(self, name: str) -> None:
        """Remove the value called `name`, and its aliases."""
        self._aliases = {alias: target for alias, target in self._aliases.items() if target != name}
        del self._values[name]

    def find(self, name: str | T) -> T:
        """The value called `name`, or `name` itself if it is such a value.

        Raises:
            ChoiceError: nothing has this name.
        """
        if not isinstance(name, str):
            if not hasattr(name, "name"):  # a number, a list or a table of a manifest
                raise unknown(self.kind, str(name), self._values)
            return name
        # Looking up entry points takes milliseconds: done only for names that are not built in.
        if name not in self._values and name not in self._aliases:
            self._load()
        key = self._aliases.get(name, name)
        if key not in self._values:
            raise unknown(self.kind, name, self._values)
        return self._values[key]

    def names(self) -> list[str]:
        """All names, in the order they were added."""
        self._load()
        return list(self._values)

    def aliases(self, name: str) -> list[str]:
        """The other names of the value called `name`."""
        return [alias for alias, target in self._aliases.items() if target == name]

    def __iter__(self) -> Iterator[T]:
        self._load()
        return iter(list(self._values.values()))

    def __contains__(self, name: str) -> bool:
        self._load()
        return name in self._values or name in self._aliases

    def _load(self) -> None:
        if self._loaded or self._group is None:
            return
        self._loaded = True
        from importlib.metadata import entry_points  # takes 30 ms, so only imported when needed

        for point in sorted(entry_points(group=self._group), key=lambda point: point.name):
            if point.name not in self:
                self.add(point.load())


def resolve(path: str) -> Any:
    """The object at `module:name`, imported on demand.

    A result is displayed by modules above it (reports, compat layers); referring to them by name
    keeps lower modules from importing higher ones.
    """
    room, _, name = path.partition(":")
    return getattr(import_module(f"spanwise.{room}"), name)
