"""Registries of what users can add: formats, attributes, bucketings, matchers, credits, reports."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from spanwise.errors import ChoiceError, InputError, unknown


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

    Examples:
        >>> from spanwise.citations import Citation
        >>> papers = Registry("paper")
        >>> _ = papers.add(Citation("a", "the first", ("Doe, Jo",), "On A", 2020, "ACL"), aliases=("first",))
        >>> papers.find("first").year, papers.names(), papers.aliases("a")
        (2020, ['a'], ['first'])
        >>> papers.remove("a")
    """

    def __init__(self, kind: str, *, group: str | None = None) -> None:
        self.kind = kind
        self._group = group
        self._loaded = group is None
        self._values: dict[str, T] = {}
        self.broken: dict[str, InputError] = {}  # what packages register and cannot be imported, by name
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
        # What others register is looked up only for names that are not built in.
        if name not in self._values and name not in self._aliases:
            self._load()
        key = self._aliases.get(name, name)
        if key in self.broken:
            raise self.broken[key]
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
        for name, entry in sorted(registered(self._group).items()):
            if name in self._values or name in self._aliases:
                continue
            try:
                self.add(entry.load())
            except InputError as error:
                self.broken[name] = error


# ---- what packages register ---------------------------------------------------------------------------

OWN = "spanwise"


class Entry(NamedTuple):
    """An object that a package registers, as `module:name`."""

    group: str
    name: str
    value: str

    @property
    def package(self) -> str:
        """The name under which the package is imported."""
        return self.value.partition(":")[0].partition(".")[0].strip()

    def load(self) -> Any:
        """Import the object; InputError if it cannot be imported."""
        module, _, name = self.value.partition("[")[0].partition(":")
        try:
            return getattr(import_module(module.strip()), name.strip())
        except Exception as error:  # whatever the code of the package raises
            raise InputError(
                f"{self.name!r} of the package {self.package} cannot be imported: "
                f"{type(error).__name__}: {error}.\nInstall a version that works, or remove the package."
            ) from error


def registered(group: str) -> dict[str, Entry]:
    """What packages register in a group of entry points, by name; the project's own come first and stay."""
    found: dict[str, Entry] = {}
    for entry in (*_own(), *_installed(tuple(sys.path))):
        if entry.group == group:
            found.setdefault(entry.name, entry)
    return found


def foreign_packages() -> set[str]:
    """The packages of others that register something."""
    return {entry.package for entry in _installed(tuple(sys.path))} - {OWN}


@lru_cache(maxsize=1)
def _own() -> list[Entry]:
    """The project's own entry points, from the file that its package is built from."""
    text = Path(__file__).with_name("entry_points.txt").read_text(encoding="utf-8")
    return [entry for entry in _entries(text) if entry.group.startswith(f"{OWN}.")]


@lru_cache(maxsize=1)
def _installed(path: tuple[str, ...]) -> list[Entry]:
    """The entry points of all installed packages in groups of this project.

    To import and ask `importlib.metadata` takes 70 ms, to read the folders 3 ms. It is asked where packages
    may be elsewhere: in archives, or where a program finds them by means of its own.
    """
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    if len(finders) > 1 or any(folder.endswith(".egg") or Path(folder).is_file() for folder in path):
        from importlib.metadata import entry_points

        points = entry_points()
        return [
            Entry(group, point.name, point.value)
            for group in sorted(points.groups)
            if group.startswith(f"{OWN}.")
            for point in points.select(group=group)
        ]
    return [entry for text in _metadata(path) if f"[{OWN}." in text for entry in _entries(text)]


def _metadata(path: Iterable[str]) -> Iterator[str]:
    """The texts of the entry points of all packages in these folders; of two versions, the first one's."""
    seen = set()
    for folder in path:
        try:
            with os.scandir(folder or ".") as files:
                names = sorted(file.name for file in files)
        except OSError:
            continue
        for name in names:
            package = name.partition("-")[0].lower()
            if not name.endswith((".dist-info", ".egg-info")) or package in seen:
                continue
            seen.add(package)
            try:
                yield Path(folder, name, "entry_points.txt").read_text(encoding="utf-8")
            except (OSError, UnicodeError):
                continue


def _entries(text: str) -> Iterator[Entry]:
    """What a file of entry points lists: `name = module:object` below `[group]`."""
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line[1:-1].strip()
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield Entry(group, name.strip(), value.strip())


def resolve(path: str) -> Any:
    """The object at `module:name`, imported on demand.

    A result is displayed by modules above it (reports, compat layers); referring to them by name
    keeps lower modules from importing higher ones.
    """
    room, _, name = path.partition(":")
    return getattr(import_module(f"spanwise.{room}"), name)
