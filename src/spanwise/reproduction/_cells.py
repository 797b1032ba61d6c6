"""A published figure next to the one computed here, and the reason if they differ."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

Number = float | int | str | None


class Cell(Struct, frozen=True):
    """One published figure: its location, its value, the computed value, and why they differ.

    `why` is empty if nothing is known about the difference. `reason` says how well it is known: "shown" if
    the computed figure is printed elsewhere or follows from a definition, "guess" if the explanation fits
    the numbers but the text of the paper does not state it, and "none" if `why` only says what was tried.
    """

    source: str  # abbreviation of the paper
    table: str
    name: str
    published: Number
    computed: Number
    equal: bool
    why: str = ""
    reason: Literal["shown", "guess", "none"] = "shown"
    origin: Literal["paper", "released"] = "paper"  # "released": with the paper's program, not printed in it
    basis: Literal["mentions", "printed"] = "mentions"  # what the computed figure is computed from

    @property
    def status(self) -> str:
        """Whether the cell is "equal", "explained", "guessed" or "unexplained"."""
        if self.equal:
            return "equal"
        if not self.why or self.reason == "none":
            return "unexplained"
        return "explained" if self.reason == "shown" else "guessed"


class Missing(Struct, frozen=True):
    """A published figure that cannot be recomputed here, and why."""

    source: str
    claim: str
    why: str


def exactly(source: str, table: str, name: str, published: Number, computed: Number) -> Cell:
    """A cell of counts, which must be equal."""
    return Cell(source, table, name, published, computed, published == computed)


def closely(
    source: str,
    table: str,
    name: str,
    published: float | None,
    computed: float | None,
    *,
    within: float = 1e-9,
    why: str = "",
    reason: Literal["shown", "guess", "none"] = "shown",
) -> Cell:
    """A cell of scores, equal if they differ by no more than `within`, or if both are undefined."""
    if published is None or computed is None:
        equal = published is computed
    else:
        equal = abs(published - computed) <= within
    return Cell(source, table, name, published, computed, equal, why, reason)


def released(cells: Iterable[Cell]) -> list[Cell]:
    """Mark cells as figures that were released with a program and are not printed in its paper."""
    return [replace(cell, origin="released") for cell in cells]


def among_printed(cells: Iterable[Cell]) -> list[Cell]:
    """Mark cells as published figures that are checked against other published figures."""
    return [replace(cell, basis="printed") for cell in cells]
