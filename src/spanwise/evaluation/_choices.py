"""What a caller may choose, and how much memory that may take: checked before any file is opened."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct

from spanwise.alignment import How
from spanwise.attributes import Attribute, choose
from spanwise.buckets import Strategy
from spanwise.credits import Credit, credit_of
from spanwise.document.head import Settings
from spanwise.engines.machine import cores
from spanwise.errors import ChoiceError, unknown
from spanwise.evaluation._inputs import named_sources
from spanwise.formats import PACKED
from spanwise.matching import MATCHERS, Matcher
from spanwise.settings import SETTINGS


class Choices(Struct, frozen=True, eq=False):
    """The keywords of `evaluate` that shape its numbers or what is shown of them."""

    matcher: Matcher
    focus: str
    credits: Mapping[str, Credit]
    attributes: Any
    buckets: Mapping[str | Attribute, str | Strategy]
    edges: Mapping[str | Attribute, Any]
    crosses: Sequence[tuple[str, str]]
    vocabulary: frozenset[str] | None
    lowercase: bool
    resamples: int
    seed: int
    confidence: float
    unit: str | None
    pairs: Sequence[tuple[str, str]] | None
    correction: str
    primary: str
    align: How
    examples: str
    examples_cap: int
    redact: bool
    command: str | None
    tags: Mapping[str, str]
    reading: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        *,
        matcher: str | Matcher,
        weights: str | Credit | Sequence[str | Credit],
        attributes: str | Sequence[str | Attribute] | None,
        buckets: Mapping[str, str | Strategy] | None,
        edges: Mapping[str, Any] | None,
        cross: Sequence[tuple[str, str]],
        vocabulary: Sequence[str] | None,
        **others: Any,
    ) -> Choices:
        """The choices in the form that the stages use."""
        if buckets is not None and not isinstance(buckets, Mapping):
            raise ChoiceError(
                f"buckets is {buckets!r}, but must say how to cut each attribute.\n"
                'Write it like {"entity_length": "1,2,3"}.'
            )
        own = _without_entry(_listed(attributes))
        crosses = _crosses(cross, own)
        return cls(
            matcher=MATCHERS.find(matcher),
            credits=_credits(weights),
            attributes=_with_crossed(attributes, [own.get(name, name) for pair in crosses for name in pair]),
            buckets={own.get(name, name): how for name, how in (buckets or {}).items()},
            edges={own.get(name, name): kept for name, kept in (edges or {}).items()},
            crosses=crosses,
            vocabulary=None if vocabulary is None else frozenset(vocabulary),
            **others,
        )

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if name in SETTINGS:
                SETTINGS[name].check(getattr(self, name))

    def check_systems(self, names: Sequence[str]) -> None:
        """Refuse pairs of systems that there are not."""
        for pair in self.pairs or ():
            for system in pair:
                if system not in names:
                    raise unknown("system", system, names)

    def pairs_of(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """The pairs of systems to test: those asked for, or all."""
        if self.pairs is not None:
            return [(one, other) for one, other in self.pairs]
        return list(combinations(names, 2))

    def check_crosses(self, absent: Mapping[str, str]) -> None:
        """Refuse to cross attributes that cannot be computed."""
        for pair in self.crosses:
            for name in pair:
                if name in absent:
                    raise ChoiceError(
                        f"{name!r} cannot be crossed: {absent[name]}.\nGive what it needs, or cross another."
                    )

    def to_dict(self) -> dict[str, Any]:
        """The choices as the settings of a result document."""
        same = {name: getattr(self, name) for name in Settings.__struct_fields__ if hasattr(self, name)}
        return {
            name: value for name, value in same.items() if name not in ("attributes", "buckets", "unit")
        } | {
            "primary": UNSET if self.primary == "f1" else self.primary,
            "matcher": UNSET if self.matcher.name == "fair" else self.matcher.name,
            "repair": self.reading.get("repair", "conlleval"),
            "credits": {name: credit.formula() for name, credit in self.credits.items()},
            "vocabulary": None if self.vocabulary is None else len(self.vocabulary),
            "redacted": self.redact,
            "preset": None,
        }


def _credits(weights: str | Credit | Sequence[str | Credit]) -> dict[str, Credit]:
    listed = [weights] if isinstance(weights, str | Credit) else list(weights)
    found = {}
    for one in listed:
        credit = credit_of(one)
        found[credit.name] = credit
    found.pop("fair", None)  # it is always there
    return found


def _listed(attributes: str | Attribute | Sequence[str | Attribute] | None) -> list[str | Attribute]:
    if attributes is None or isinstance(attributes, Attribute):
        return [] if attributes is None else [attributes]
    return [*(attributes.split(",") if isinstance(attributes, str) else attributes)]


def _without_entry(asked: Sequence[str | Attribute]) -> dict[str, str | Attribute]:
    """By name those asked for that no registry knows: `NAME=column:3` and attributes themselves."""
    own = [one for one in asked if isinstance(one, Attribute) or ":" in one]
    return {choose([one])[0].name: one for one in own}


def _crosses(cross: Sequence[tuple[str, str]], own: Mapping[str, str | Attribute]) -> list[tuple[str, str]]:
    found = []
    for one, two in cross:
        first, second = (choose([own.get(name, name)])[0] for name in (one, two))
        if "token" in (first.unit, second.unit):
            named = first if first.unit == "token" else second
            raise ChoiceError(
                f"{named.name!r} is an attribute of tokens and cannot be crossed.\n"
                "Cross two attributes of mentions; spanwise list attributes shows their units."
            )
        found.append((first.name, second.name))
    return found


def _with_crossed(attributes: Any, crossed: Sequence[str | Attribute]) -> Any:
    """The attributes asked for and those that are crossed."""
    if not crossed:
        return attributes
    if attributes is None:
        return ["fu20", *crossed]
    return [*_listed(attributes), *crossed]


# What a byte of a file may cost when all files are held at once, and a file's growth when it is unpacked.
BYTES_PER_BYTE = 12
UNPACKED = 4
DEFAULT_PART = 256 << 20  # the memory for parts where only workers were asked for
# Of gold and predictions together, from which on two processes are faster with parts than one with all.
LARGE = 128 << 20
AMPLE = 1 << 30  # memory for parts that nobody bounded
MOST_WORKERS = 4

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parts_of(
    memory: int | str | None,
    workers: int | None,
    gold: Any,
    systems: Any,
    *,
    streamable: bool,
    reading: Mapping[str, Any],
    elsewhere: bool = False,
) -> tuple[int | None, int]:
    """The memory that parts may take in bytes, or None to hold all files at once; and the processes for them.

    Where neither is said, files so large that parts pay are evaluated in parts, by several processes,
    if they can be read in parts; all files are, where blocks run `elsewhere`.
    """
    if workers is not None and workers < 1:
        raise ChoiceError(f"workers is {workers!r}, but must be 1 or more.")
    if memory is not None:
        if not streamable:
            raise ChoiceError("a preset needs all files at once.\nLeave memory out.")
        return parse_memory(memory), workers or 1
    paths = _paths(gold, systems)
    if paths is None or not streamable:
        return None, 1
    if elsewhere or (workers is not None and workers > 1):
        return DEFAULT_PART, workers or 1
    size, have = sum(map(_size, paths)), _physical()
    large = workers is None and size >= LARGE
    beyond = have is not None and BYTES_PER_BYTE * size > have
    if not (large or beyond) or not _can_be_streamed(paths, reading, lines=beyond):
        return None, 1
    if large:
        return AMPLE if have is None else min(AMPLE, have // 2), min(cores(), MOST_WORKERS)
    return (have or AMPLE) // 2, 1


def _can_be_streamed(paths: Sequence[Path], reading: Mapping[str, Any], *, lines: bool) -> bool:
    """Whether all files can be read in parts; JSON lines only where they must, as that takes longer."""
    from spanwise.formats.parts import can_be_streamed, is_in_lines  # an import that small files need not pay

    return all(can_be_streamed(path, reading) or (lines and is_in_lines(path, reading)) for path in paths)


def needs(source: Any) -> int:
    """What a file may need when it is held in memory, in bytes; 0 of what is no file."""
    if not isinstance(source, str | os.PathLike) or str(source) == "-":
        return 0
    return BYTES_PER_BYTE * _size(Path(source))


def parse_memory(memory: int | str) -> int:
    """A number of bytes, such as 536870912, "512MB" or "1.5 GB".

    Examples:
        >>> parse_memory("1.5 GB") == 3 << 29
        True
    """
    if isinstance(memory, int):
        found = memory
    else:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", memory, re.IGNORECASE)
        if match is None:
            raise ChoiceError(f"memory is {memory!r}, but must be a size such as '512MB' or '1GB'.")
        found = int(min(float(match[1]) * _UNITS[match[2].upper()], 1 << 62))
    if found < 1 << 20:
        raise ChoiceError(f"memory is {memory!r}, but must be at least 1MB.")
    return found


def _paths(gold: Any, systems: Any) -> list[Path] | None:
    """The files, or None where a source is none."""
    sources = [gold, *(named_sources(systems).values() if systems is not None else ())]
    if not all(isinstance(source, str | os.PathLike) and str(source) != "-" for source in sources):
        return None
    return [Path(source) for source in sources]


def _size(path: Path) -> int:
    if not path.is_file():
        return 0  # reading says what is wrong with it
    return path.stat().st_size * (UNPACKED if path.suffix in PACKED else 1)


def _physical() -> int | None:
    """The memory of this machine in bytes, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
