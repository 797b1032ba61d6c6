"""The document of an explanation: the same predictions under every convention in use."""

from __future__ import annotations

from typing import Literal

from spanwise.document.head import Document, Fraction, Part
from spanwise.errors import UnknownKey, unknown


class Convention(Part, frozen=True, kw_only=True, omit_defaults=False):
    """The scores of one convention, what reports them, and why they differ from the first row.

    Scores that are undefined, or that these data cannot give, are None; `why` then says so.
    """

    name: str
    tools: str
    why: str
    precision: Fraction = None
    recall: Fraction = None
    f1: Fraction = None
    difference: float | None = None


class Explanation(Document, frozen=True, kw_only=True):
    """The rows; the first one is the exact micro F1 that spanwise, conlleval and seqeval report."""

    kind: Literal["explanation"] = "explanation"
    gold: str
    predicted: str
    scheme: str | None
    rows: tuple[Convention, ...]
    spread: tuple[float | None, float | None] | None = None  # F1 over policies, where positions are lost
    prompt_unit: str | None = None  # the unit that policies look for strings in

    def __getitem__(self, name: str) -> Convention:
        for row in self.rows:
            if row.name == name:
                return row
        raise UnknownKey(str(unknown("convention", name, [row.name for row in self.rows])))

    def __repr__(self) -> str:
        first = self.rows[0]
        points = "n/a" if first.f1 is None else f"{100 * first.f1:.2f}"
        shown = f"{first.name} F1 {points} and {len(self.rows) - 1} other conventions"
        return f"<spanwise.Explanation {self.predicted}: {shown}>"
