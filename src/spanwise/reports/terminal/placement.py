"""The screen of answers that were placed on the gold text."""

from __future__ import annotations

from spanwise.document.analyses import Leftover, PlacementDocument, Score
from spanwise.reports import _wording as say
from spanwise.reports.terminal._frame import banner, files
from spanwise.reports.terminal._layout import (
    Cell,
    Column,
    Line,
    and_more,
    bar,
    flow,
    grid,
    heading,
    sentence,
    text,
)

MOST_LEFT = 8
_WHAT = {
    "first": "the first candidate",
    "all": "every candidate",
    "next": "the next candidate that is free",
    "ordered": "most tokens in output order, then next",
    "worst": "bound: fewest on gold",
    "best": "bound: most on gold",
}


def lines(document: PlacementDocument, width: int) -> list[Line]:
    """All sections: units, answers, policies, strings, what was left over."""
    return [
        *banner(document, None),
        *files(document.inputs, width),
        *_answers(document, width),
        *_policies(document, width),
        *_strings(document, width),
        *_left(document, width),
    ]


def _answers(document: PlacementDocument, width: int) -> list[Line]:
    units, answers = document.units, document.answers
    counts = {name: getattr(units, name) for name in units.__struct_fields__}
    levels = {name: getattr(answers.levels, name) for name in answers.levels.__struct_fields__}
    kind = document.settings.prompt_unit
    result = heading("Answers", f"{say.plural(sum(counts.values()), kind)}", width)
    rows: list[tuple[str, dict[str, int]]] = [
        (f"{kind}s", counts),
        (
            "answers",
            {
                "given": answers.given,
                "placed": answers.placed,
                "hallucinated": answers.hallucinated,
                "repeats": answers.repeats,
                "ambiguous": answers.ambiguous,
            },
        ),
        ("found at level", levels),
    ]
    for title, numbers in rows:
        parts = [[(f"{name} ", "faint"), (say.count(number), "strong")] for name, number in numbers.items()]
        result += flow([text(f"{title}:"), *parts], width, indent=2, join="  ")
    unknown = document.labels.unknown
    if unknown:
        names = ", ".join(f"{say.visible(name)} {number:,}" for name, number in list(unknown.items())[:6])
        result += sentence(f"Labels that gold does not have: {names}.", width, indent=2)
    if document.readable.gold != document.policies.first.gold:
        words = f"Over units that could be read, F1 is {say.points(document.readable.f1)}."
        result += sentence(words, width, indent=2)
    return result


def _policies(document: PlacementDocument, width: int) -> list[Line]:
    low, high = document.spread
    rows: list[list[Cell]] = []
    for name, what in _WHAT.items():
        score: Score = getattr(document.policies, name)
        chosen = name == document.settings.policy
        ceiling = getattr(document.ceilings, name, None)
        rows.append(
            [
                text(name, "strong" if chosen else ""),
                text(what, "faint"),
                *_numbers(score, strong=chosen),
                say.points(ceiling) if name in document.ceilings.__struct_fields__ else "",
                bar(score.f1 or 0.0),
            ]
        )
    columns = [
        Column("policy", least=8), Column("each answer takes", least=12, rank=2), *_score_columns(),
        Column("ceiling", right=True, rank=1), Column(least=8, most=30, rank=3),
    ]  # fmt: skip
    result = [*heading("Policies", "ceiling: F1 with gold as answers", width), *grid(columns, rows, width)]
    if low is not None and high is not None:
        words = f"F1 lies between {say.points(low)} and {say.points(high)}, depending on the rule alone."
        result += sentence(words, width, indent=2)
    return result


def _numbers(score: Score, *, strong: bool = False) -> list[Cell]:
    return [
        say.count(score.predicted), say.count(score.correct), say.points(score.precision),
        say.points(score.recall), [(say.points(score.f1), "score" if strong else "strong")],
    ]  # fmt: skip


def _score_columns() -> list[Column]:
    return [
        Column("predicted", right=True, rank=1), Column("correct", right=True, rank=1),
        Column("P", right=True), Column("R", right=True), Column("F1", right=True),
    ]  # fmt: skip


def _strings(document: PlacementDocument, width: int) -> list[Line]:
    both = {"as-written": document.strings, **document.normalised}
    rows: list[list[Cell]] = []
    for name, scores in both.items():
        for how in ("set", "multiset"):
            rows.append([text(f"{name}, {how}s"), *_numbers(getattr(scores, how))])
    rows += [[text(f"as {name} does"), *_numbers(score)] for name, score in document.presets.items()]
    columns = [Column("texts and labels", least=16), *_score_columns()]
    return [*heading("Without positions, and as others do", "", width), *grid(columns, rows, width)]


def _left(document: PlacementDocument, width: int) -> list[Line]:
    wrong = [one for one in document.unplaced if one.kind in ("hallucinated", "failed")]
    if not wrong:
        return []
    rows: list[list[Cell]] = [_row(one) for one in wrong[:MOST_LEFT]]
    columns = [Column(), Column("text", least=16), Column("label"), Column("where", least=12, rank=1)]
    result = heading("Answers that the text does not hold", "all of them: --report FILE", width)
    return [*result, *grid(columns, rows, width), *and_more(len(wrong) - MOST_LEFT, width)]


def _row(one: Leftover) -> list[Cell]:
    return [text(one.kind), text(one.text or one.why, "strong"), text(one.label), text(one.source, "faint")]
