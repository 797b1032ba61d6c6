"""What is said of answers without positions on every surface: what they cost in tokens and dollars."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from msgspec import Struct

from spanwise.document.analyses import PlacementDocument, UsageTotals
from spanwise.document.evaluation import Evaluation
from spanwise.views import wording as words

TITLE = "What the answers cost"
NOTE = "as the log says; F1 in points"
ABOUT = (
    "Tokens and dollars of all responses, as the log records them, and F1 in points divided by them. "
    "Tokens are those of the input and of the output."
)


class CostRow(Struct, frozen=True):
    """What the answers of one system cost, and its F1 for it."""

    system: str
    f1: float | None
    usage: UsageTotals

    @property
    def tokens(self) -> int | None:
        """The tokens of input and output together."""
        given = [part for part in (self.usage.input_tokens, self.usage.output_tokens) if part is not None]
        return sum(given) if given else None

    @property
    def per_dollar(self) -> str:
        """F1 per dollar."""
        return rate(self.usage.f1_per_dollar)

    @property
    def per_1000_tokens(self) -> str:
        """F1 per 1,000 tokens."""
        return rate(self.usage.f1_per_1000_tokens)

    @property
    def dollars(self) -> str:
        """The cost with three significant digits."""
        return words.UNDEFINED if self.usage.cost is None else f"{self.usage.cost:.3g}"


def costs(document: Evaluation | PlacementDocument) -> list[CostRow]:
    """A row for each system whose log records what its answers cost."""
    return [
        CostRow(name, placed.score.f1, placed.usage)
        for name, placed in _placed(document).items()
        if placed.usage
    ]


def _placed(document: Evaluation | PlacementDocument) -> Mapping[str, PlacementDocument]:
    if isinstance(document, PlacementDocument):
        path = document.inputs[-1].path if document.inputs else None
        return {PurePath(path or "answers").stem: document}
    return document.answers or {}


def rate(value: float | None) -> str:
    """F1 per dollar or per 1,000 tokens, with three significant digits.

    Examples:
        >>> rate(12345.6), rate(0.01234), rate(None)
        ('12,300', '0.0123', 'n/a')
    """
    if value is None:
        return words.UNDEFINED
    return f"{float(f'{value:.3g}'):,.0f}" if abs(value) >= 100 else f"{value:.3g}"
