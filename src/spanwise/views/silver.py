"""How estimates from few gold units and a judge are worded, for every surface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from spanwise.document import Interval, Settings
from spanwise.document.evaluation import DatasetRuns, Evaluation
from spanwise.document.scores import PRIMARY, Comparison, ScoreTest, SystemScores
from spanwise.document.silver import SilverScores, SilverTest
from spanwise.statistics import LEVEL
from spanwise.views import sentences
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
    if scores.few_carry:
        worth += f"; unreliable: few {unit}s show the judge's errors"
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


def compared(row: Comparison, settings: Settings) -> str:
    """Which of two systems is better, with the help of the judge; empty if that is unknown."""
    if judged_test(row) is None:
        return ""
    sentence = sentences.compared_sentence(_retested(row), settings, "F1")
    if row.silver and row.silver.few_carry:
        return sentence.removesuffix(".") + "; unreliable: few units show the judge's errors."
    return sentence


def judged_test(row: Comparison) -> ScoreTest | None:
    """The test of the difference in F1 with the help of the judge; None if there is none."""
    found = row.silver
    if not found or found.difference is None or found.p_corrected is None:
        return None
    return ScoreTest(
        path=PRIMARY["f1"],
        difference=found.difference,
        interval=found.interval,
        p=found.p,
        p_corrected=found.p_corrected,
        significant=found.p_corrected < LEVEL,
        role="primary",
    )


def with_judge(part: DatasetRuns) -> DatasetRuns:
    """The scores and tests of F1 from gold and judge in place of those from gold alone, where there are such.

    The answer of an evaluation with a judge is about these.
    """
    return replace(
        part,
        runs={
            name: {run: _estimated(scores) for run, scores in runs.items()}
            for name, runs in part.runs.items()
        },
        comparisons=tuple(map(_retested, part.comparisons)),
    )


def unreliable(found: SilverScores | SilverTest | UnsetType, unit: str | UnsetType | None) -> str:
    """A further part of a sentence about a test if few gold units show where the judge errs; else empty."""
    if not found or not found.few_carry:
        return ""
    return f" · few {unit or 'unit'}s show the judge's errors: the interval is unreliable"


def helped(part: DatasetRuns, names: Sequence[str]) -> bool:
    """Whether the answer about one system, or two, has the help of the judge."""
    if len(names) == 2:
        row = part.comparison(*names)
        return row is not None and judged_test(row) is not None
    return all(scores is not _estimated(scores) for scores in part.runs[names[0]].values())


def _estimated(scores: SystemScores) -> SystemScores:
    both = scores.silver.combined if scores.silver else None
    if both is None or both.f1 is None:
        return scores
    overall = scores.exact.overall
    interval = {**(overall.interval or {}), "f1": both.interval.get("f1")}
    return replace(
        scores, exact=replace(scores.exact, overall=replace(overall, f1=both.f1, interval=interval))
    )


def _retested(row: Comparison) -> Comparison:
    test = judged_test(row)
    if test is None:
        return row
    others = tuple(score for score in row.scores if score is not row.primary)
    return replace(
        row,
        scores=(test, *others),
        test=sentences.WITH_JUDGE,
        undecided=UNSET,
        unreachable=UNSET,
        shuffles=UNSET,
    )


def alone(part: DatasetRuns, names: Sequence[str]) -> str:
    """What gold alone says of one or two systems, beside the answer with the help of the judge."""
    row = part.comparison(*names) if len(names) == 2 else None
    test = None if row is None else row.primary
    if row is not None and test is not None and test.difference is not None:
        worded = sentences.better_by(row.systems, test.difference, None, "F1", significant=test.significant)
        return f"gold alone: {worded}, p {sentences.sentence_p(test.p_corrected)}"
    (scores,) = part.runs[names[0]].values()
    overall = scores.exact.overall
    return f"gold alone: {words.points(overall.f1)} F1, {words.interval(overall.ends('f1'))}"
