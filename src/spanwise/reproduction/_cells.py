"""A published figure next to the one computed here, and the reason if they differ."""

from __future__ import annotations

from msgspec import Struct

Number = float | int | str | None


class Cell(Struct, frozen=True):
    """One published figure: its location, the paper's value, the computed value, and why they differ.

    `why` is empty if both are equal or the reason is unknown.
    """

    source: str  # abbreviation of the paper
    table: str
    name: str
    paper: Number
    computed: Number
    equal: bool
    why: str = ""

    @property
    def status(self) -> str:
        """Whether the cell is "equal", "explained" or "unexplained"."""
        if self.equal:
            return "equal"
        return "explained" if self.why else "unexplained"


class Missing(Struct, frozen=True):
    """A published figure that cannot be recomputed here, and why."""

    source: str
    claim: str
    why: str


def exactly(source: str, table: str, name: str, paper: Number, computed: Number) -> Cell:
    """A cell of counts, which must be equal."""
    return Cell(source, table, name, paper, computed, paper == computed)


def closely(
    source: str,
    table: str,
    name: str,
    paper: float | None,
    computed: float | None,
    *,
    within: float = 1e-9,
    why: str = "",
) -> Cell:
    """A cell of scores, equal if they differ by no more than `within`, or if both are undefined."""
    if paper is None or computed is None:
        return Cell(source, table, name, paper, computed, paper is computed, why)
    return Cell(source, table, name, paper, computed, abs(paper - computed) <= within, why)
