"""Floors of scores and of named slices, and the TOML file that holds them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from spanwise.conditions import Condition, parse
from spanwise.errors import InputError, many
from spanwise.formats import read_toml
from spanwise.slices.index import SliceIndex

SCORES = ("precision", "recall", "f1")


class Check(Struct, frozen=True):
    """One threshold: what it asks, whether it was reached, and one line that says so."""

    name: str
    passed: bool
    message: str


class NamedSlice(Struct, frozen=True, forbid_unknown_fields=True):
    """A slice as it stands in a file: its conditions, and the least scores asked of it, in points."""

    where: str
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    mentions: int = 0  # gold mentions under which nothing is asked


class GateFile(Struct, frozen=True, forbid_unknown_fields=True):
    """What a file asks of every system."""

    fail_under: float | None = None
    floors: Mapping[str, float] = field(default_factory=dict)
    named: Mapping[str, NamedSlice] = field(default_factory=dict, name="slices")

    @property
    def slices(self) -> tuple[SliceFloor, ...]:
        """One floor for each slice and score."""
        return tuple(
            SliceFloor(name, parse(one.where), score, least, one.mentions)
            for name, one in self.named.items()
            for score in SCORES
            if (least := getattr(one, score)) is not None
        )


class SliceFloor(Struct, frozen=True):
    """The least score of one named slice, in points."""

    name: str
    condition: Condition
    score: str
    least: float
    mentions: int = 0


def read_gate(path: str | Path) -> GateFile:
    """The thresholds in a file.

    Raises:
        InputError: the file is not TOML, or names something unknown.
    """
    try:
        found = msgspec.convert(read_toml(path, _EXAMPLE), GateFile, strict=True)
        for floor in found.slices:
            if not 1 < floor.least <= 100:
                raise InputError(
                    f"{path}: the floor of slice {floor.name!r} is {floor.least:g}, "
                    "but must be points from 1 to 100."
                )
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {_plainly(str(error))}.\n{_EXAMPLE}") from error
    return found


def _plainly(message: str) -> str:
    """What the decoder says, in our words."""
    found = re.fullmatch(r"Object contains unknown field `(.+?)`(?: - at `(.+)`)?", message)
    return f"there is no key {found[1]!r} here" if found else message[0].lower() + message[1:]


_EXAMPLE = (
    'Write fail_under = 90, [floors] with PER = 90, or [slices.NAME] with where = "label=ORG" and f1 = 80.'
)


def written_slices(slices: Mapping[str, NamedSlice]) -> str:
    """Named slices as TOML; what `read_gate` reads back is the same."""
    lines: list[str] = []
    for name, one in slices.items():
        lines += [f"[slices.{_quoted(name)}]", f"where = {_quoted(one.where)}"]
        lines += [f"{score} = {value:g}" for score in SCORES if (value := getattr(one, score)) is not None]
        lines += [f"mentions = {one.mentions}"] if one.mentions else []
        lines.append("")
    return "\n".join(lines)


def _quoted(text: Any) -> str:
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")


def least_check(system: str, place: str, value: float | None, least: float, *, bound: bool) -> Check:
    """Whether a score reaches a floor, in points."""
    shown = "n/a" if value is None else f"{100 * value:.2f}"
    # A score written as 90.00 is not below 90, whatever its last bits say.
    passed = value is not None and 100 * value >= least - 1e-9
    relation = "reaches" if passed else "is below"
    what = f"the lower bound of {place}" if bound else place
    return Check(f"{system} {place}", passed, f"{system}: {what} is {shown}, which {relation} {least:g}.")


def slice_checks(index: SliceIndex, floors: Sequence[SliceFloor]) -> list[Check]:
    """Whether every system reaches the floors of named slices; few mentions are not held to them."""
    checks = []
    for floor in floors:
        place = f"slice {floor.name} ({floor.score})"
        for system, cell in index.counted(floor.condition).items():
            if cell.gold < floor.mentions:
                few = many(cell.gold, "mention")
                said = f"{system}: {place} has {few}, too few to be held to {floor.least:g}."
                checks.append(Check(f"{system} {place}", passed=True, message=said))
                continue
            checks.append(least_check(system, place, cell.score(floor.score), floor.least, bound=False))
    return checks
