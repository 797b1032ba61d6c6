"""How estimates from few gold units and a judge are worded, for every surface."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from spanwise.document import Interval
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import Comparison
from spanwise.document.silver import SilverScores
from spanwise.views import wording as words

ALONE = "judge alone"


class SilverRow(Struct, frozen=True):
    """One estimate of F1: where it comes from, its interval, and what to know about it."""

    title: str
    f1: float | None
    ends: Interval | None
    note: str


def judged(document: Evaluation) -> Mapping[str, SilverScores]:
    """The estimates by system; empty if there was no judge."""
    return {name: scores.silver for name, scores in document.systems.items() if scores.silver}


def rows(scores: SilverScores, unit: str) -> list[SilverRow]:
    """The three estimates of F1 side by side."""
    gold, silver, both = scores.gold_only, scores.silver_only, scores.combined
    bias = "" if silver.bias is None else f"bias {words.signed(silver.bias)}"
    known = scores.effective is not None
    worth = f"worth {words.plural(round(scores.effective or 0), f'gold {unit}')}" if known else ""
    return [
        SilverRow("gold only", gold.f1, gold.interval.get("f1"), words.plural(scores.units.gold, unit)),
        SilverRow(ALONE, silver.f1, None, bias),
        SilverRow("gold and judge", both.f1, both.interval.get("f1"), worth or both.why or ""),
    ]


def explained(document: Evaluation) -> str:
    """What the estimates are, in one sentence."""
    scores = next(iter(judged(document).values()))
    unit = document.settings.unit
    return (
        f"Estimates of F1 over all {words.plural(scores.units.all, unit)}, of which "
        f"{words.count(scores.units.gold)}, drawn at random, have gold; the judge annotated all of them "
        "and counts as much as it agrees with gold."
    )


def compared(row: Comparison) -> str:
    """Which of two systems is better, with the help of the judge; empty if that is unknown."""
    test = row.silver
    if not test or test.difference is None or test.p_corrected is None:
        return ""
    first, second = map(words.visible, row.systems)
    if test.difference < 0:
        first, second = second, first
    ends = test.interval
    if ends is not None and test.difference < 0 and ends[0] is not None and ends[1] is not None:
        ends = (-ends[1], -ends[0])
    size = f"{words.points(abs(test.difference))} F1 [{words.signed_interval(ends)}]"
    test_words = f"gold and judge, t-test, p = {words.small_p(test.p_corrected)}"
    if test.p_corrected < 0.05:
        return f"{first} is better than {second} by {size} ({test_words})."
    return f"{first} and {second} cannot be told apart: {size} ({test_words})."
