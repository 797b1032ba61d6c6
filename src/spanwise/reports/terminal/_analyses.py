"""The screens of single analyses: confidence scores, slices, placed answers and conventions."""

from __future__ import annotations

from textwrap import wrap

from spanwise.document.analyses import (
    Explanation,
    Leftover,
    PlacementDocument,
    Score,
)
from spanwise.reports.terminal._layout import (
    Column,
    ScreenCell,
    ScreenLine,
    and_more,
    banner,
    bar,
    files,
    flow,
    grid,
    heading,
    sentence,
    text,
)
from spanwise.reports.terminal._view import sections_lines
from spanwise.views import wording as say
from spanwise.views.scores import costs
from spanwise.views.wording import visible

# ---- placement -------------------------------------------------------------------------------------


MOST_LEFT = 8
_POLICIES = {
    "first": "the first candidate",
    "all": "every candidate",
    "next": "the next candidate that is free",
    "ordered": "most tokens in output order, then next",
    "worst": "bound: fewest on gold",
    "best": "bound: most on gold",
}


def placement_lines(document: PlacementDocument, width: int) -> list[ScreenLine]:
    """All sections: units, answers, policies, strings and leftovers."""
    return [
        *banner(document, None),
        *files(document.inputs, width),
        *_answers(document, width),
        *sections_lines(filter(None, [costs(document)]), width),
        *_policies(document, width),
        *_strings(document, width),
        *_left(document, width),
    ]


def _answers(document: PlacementDocument, width: int) -> list[ScreenLine]:
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
    for trouble in document.troubles:
        result += sentence(trouble, width, indent=2)
    if document.readable.gold != document.score.gold:
        words = f"Over units that could be read, F1 is {say.points(document.readable.f1)}."
        result += sentence(words, width, indent=2)
    return result


def _policies(document: PlacementDocument, width: int) -> list[ScreenLine]:
    low, high = document.spread
    rows: list[list[ScreenCell]] = []
    for name, description in _POLICIES.items():
        score: Score = getattr(document.policies, name)
        chosen = name == document.chosen
        ceiling = getattr(document.ceilings, name, None)
        rows.append(
            [
                text(name, "strong" if chosen else ""),
                text(description, "faint"),
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
        words = f"F1 lies between {say.points(low)} and {say.points(high)}, depending only on the rule."
        result += sentence(words, width, indent=2)
    if document.settings.rule is not None:
        words = (
            f"{document.chosen} compares strings: its F1 is {say.points(document.score.f1)}, below. Answers "
            f"are counted as placed, hallucinated or repeated by {document.settings.policy}."
        )
        result += sentence(words, width, indent=2)
    return result


def _numbers(score: Score, *, strong: bool = False) -> list[ScreenCell]:
    return [
        say.count(score.predicted), say.count(score.correct), say.points(score.precision),
        say.points(score.recall), [(say.points(score.f1), "score" if strong else "strong")],
    ]  # fmt: skip


def _score_columns() -> list[Column]:
    return [
        Column("predicted", right=True, rank=1), Column("correct", right=True, rank=1),
        Column("P", right=True), Column("R", right=True), Column("F1", right=True),
    ]  # fmt: skip


def _strings(document: PlacementDocument, width: int) -> list[ScreenLine]:
    scores_by_name = {"as-written": document.strings, **document.normalised}
    rows: list[list[ScreenCell]] = []
    for name, scores in scores_by_name.items():
        for how in ("set", "multiset"):
            rows.append([text(f"{name}, {how}s"), *_numbers(getattr(scores, how))])
    for name, score in document.presets.items():
        chosen = name == document.chosen
        title = text(f"as {name} does", "strong" if chosen else "")
        rows.append([title, *_numbers(score, strong=chosen)])
    columns = [Column("texts and labels", least=16), *_score_columns()]
    return [*heading("Without positions, and as others do", "", width), *grid(columns, rows, width)]


def _left(document: PlacementDocument, width: int) -> list[ScreenLine]:
    wrong = [leftover for leftover in document.unplaced if leftover.kind in ("hallucinated", "failed")]
    if not wrong:
        return []
    rows: list[list[ScreenCell]] = [_leftover_row(leftover) for leftover in wrong[:MOST_LEFT]]
    columns = [Column(), Column("text", least=16), Column("label"), Column("where", least=12, rank=1)]
    result = heading("Answers not found in the text", "all of them: --report FILE", width)
    return [*result, *grid(columns, rows, width), *and_more(len(wrong) - MOST_LEFT, width)]


def _leftover_row(leftover: Leftover) -> list[ScreenCell]:
    return [
        text(leftover.kind),
        text(leftover.text or leftover.why, "strong"),
        text(leftover.label),
        text(leftover.source, "faint"),
    ]


# ---- explanation -----------------------------------------------------------------------------------


def explanation_lines(document: Explanation, width: int) -> list[ScreenLine]:
    """The rows in points; `change` is the difference in F1 from the first row."""
    name = max((len(row.name) for row in document.rows), default=0)
    screen = [f"{'convention':<{name}}      P      R     F1  change", ""]
    for index, row in enumerate(document.rows):
        numbers = " ".join(f"{_points(value):>6}" for value in (row.precision, row.recall, row.f1))
        change = _points(row.difference, signed=True) if index else ""
        screen.append(f"{row.name:<{name}} {numbers} {change:>7}".rstrip())
        screen += [f"    {line}" for line in wrap(f"{row.tools}: {row.why}.", width - 4)]
    if document.spread is not None and document.spread[0] is not None:
        low, high = document.spread
        words = (
            f"As strings without positions, one list per {document.prompt_unit}, your F1 lies between "
            f"{_points(low)} and {_points(high)}, depending on the policy."
        )
        screen += ["", *wrap(words, width)]
    return [text(visible(line)) for line in screen]


def _points(value: float | None, *, signed: bool = False) -> str:
    if value is None:
        return "n/a"
    return f"{100 * value:+.2f}".replace("-", "−") if signed else f"{100 * value:.2f}"
