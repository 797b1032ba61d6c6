"""What is said of answers without positions on every surface: what they cost in tokens and dollars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import asdict

from spanwise.document.analyses import PlacementDocument
from spanwise.document.evaluation import Evaluation
from spanwise.document.study import Study
from spanwise.views import wording as words
from spanwise.views.cells import Number, count, points
from spanwise.views.systems import Of, over_runs

TITLE = "What the answers cost"
NOTE = "as the log says; F1 in points"
ABOUT = (
    "Tokens and dollars of all responses, as the log records them, and F1 in points divided by them. "
    "Tokens are those of the input and of the output."
)
OF_RUNS = " Of several runs, the mean and the standard deviation; the last columns are the sum of all."

Spent = Mapping[str, float | None]


class CostRow(Struct, frozen=True):
    """What the answers of one system on one dataset cost, and its F1 for it; of several runs, the means."""

    system: str
    f1: Number
    usage: Spent
    std: Spent = {}
    sum: Spent = {}  # of several runs
    dataset: str = ""

    def number(self, key: str) -> Number:
        """Dollars or F1 for them, with three significant digits, and the deviation over runs."""
        return Of(self.usage.get(key), self.std.get(key)).number(rate)

    @property
    def tokens(self) -> Number:
        """The tokens of input and output together."""
        return count(_tokens(self.usage))

    @property
    def all_tokens(self) -> Number:
        """The tokens of all runs."""
        return count(_tokens(self.sum or self.usage))

    @property
    def all_dollars(self) -> Number:
        """The dollars of all runs."""
        value = (self.sum or self.usage).get("cost")
        return Number(value, rate(value))


def _tokens(usage: Spent) -> float | None:
    given = [part for key in ("input_tokens", "output_tokens") if (part := usage.get(key)) is not None]
    return sum(given) if given else None


def costs(document: Evaluation | PlacementDocument | Study) -> list[CostRow]:
    """A row for each system, on each dataset, whose log records what its answers cost."""
    if isinstance(document, Study):
        return list(_over_runs(document))
    return [
        CostRow(name, points(placed.score.f1, "strong"), asdict(placed.usage))
        for name, placed in _placed(document).items()
        if placed.usage
    ]


def _over_runs(document: Study) -> Iterator[CostRow]:
    scores = document.analyses.scores
    for system, row in document.analyses.holistic.items():
        for dataset, result in row.items():
            if usage := result.usage:
                f1 = over_runs(scores.get(system, {}).get(dataset, {}).get("f1"))
                several = usage.sum if len(usage.runs) > 1 else {}
                yield CostRow(system, f1, usage.mean, usage.std, several, dataset)


def _placed(document: Evaluation | PlacementDocument) -> Mapping[str, PlacementDocument]:
    if isinstance(document, PlacementDocument):
        given = next((row for row in document.inputs if row.role == "answers"), None)
        path = given.path if given else None
        return {(given and given.system) or PurePath(path or "answers").stem: document}
    return document.answers or {}


def rate(value: float | None) -> str:
    """Dollars, or F1 per dollar or per 1,000 tokens, with three significant digits.

    Examples:
        >>> rate(12345.6), rate(0.01234), rate(None)
        ('12,300', '0.0123', 'n/a')
    """
    if value is None:
        return words.UNDEFINED
    return f"{float(f'{value:.3g}'):,.0f}" if abs(value) >= 100 else f"{value:.3g}"
