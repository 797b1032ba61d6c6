"""The screens of single analyses: confidence scores, slices, placed answers and conventions."""

from __future__ import annotations

from textwrap import wrap

from msgspec import UNSET
from msgspec.structs import replace

from spanwise.document.analyses import (
    Explanation,
    Leftover,
    PlacementDocument,
    Score,
)
from spanwise.document.confidence import Confidence, ConfidenceCell, ReliabilityBin, SystemConfidence
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
from spanwise.views import wording as say
from spanwise.views.judging import ENOUGH, calibration, daggers, within
from spanwise.views.wording import visible

# ---- confidence ------------------------------------------------------------------------------------


MOST_LABELS = 20


def confidence_lines(document: Confidence, width: int) -> list[ScreenLine]:
    """All sections, system by system."""
    inputs = [replace(row, role="dev") if row.role.startswith("dev") else row for row in document.inputs]
    result = [*banner(document, None), *files(inputs, width, notes=document.notes)]
    for name, system in document.systems.items():
        result += _scored_system(name, system, document, width)
    marks = daggers(document)
    notes = [[], *sentence(marks, width, style="faint")] if marks else []
    return [*result, *_pairs(document, width), *notes]


def _pairs(document: Confidence, width: int) -> list[ScreenLine]:
    """Pairs of systems side by side, if their curves can be compared."""
    if not document.pairs:
        return []
    rows: list[list[ScreenCell]] = []
    for pair in document.pairs:
        names = " − ".join(map(say.visible, pair.systems))
        for title, score in (
            ("AP", pair.average_precision),
            (f"precision at recall {say.points(pair.at_recall.at)}", pair.at_recall),
            (f"recall at precision {say.points(pair.at_precision.at)}", pair.at_precision),
        ):
            ends = None if score.interval is None else list(score.interval)
            rows.append(
                [
                    text(names), text(title), say.points(score.first), say.points(score.second),
                    text(say.signed(score.difference), "strong"), text(say.signed_interval(ends), "faint"),
                ]
            )  # fmt: skip
            names = ""
    columns = [
        Column("pair", least=8, names=True), Column("score", least=14), Column("first", right=True),
        Column("second", right=True), Column("difference", right=True),
        Column(_resampled_title(document), rank=1),
    ]  # fmt: skip
    return [*heading("Side by side", "each system at its own threshold", width),
            *grid(columns, rows, width)]  # fmt: skip


def _buckets(system: SystemConfidence, width: int) -> list[ScreenLine]:
    """The assessment of the scores in every bucket, if attributes were requested."""
    rows: list[list[ScreenCell]] = []
    for attribute, cells in system.buckets.items():
        title = say.attribute(attribute)
        for bucket, cell in cells.items():
            rows.append(
                [
                    text(title),
                    text(say.visible(bucket)),
                    say.count(cell.predicted),
                    *_confidence_row("", cell)[1:],
                ]
            )
            title = ""
    if not rows:
        return []
    columns = [
        Column("attribute", least=8), Column("bucket", least=5), Column("predictions", right=True, rank=3),
        Column("AP", right=True), Column("", rank=2), Column("AP-101", right=True, rank=4),
        Column("AURC", right=True, rank=5), Column("ECE", right=True), Column("chance", right=True),
        Column("Brier", right=True, rank=1),
    ]  # fmt: skip
    return [*heading("By bucket", "predictions against the gold mentions in the bucket", width),
            *grid(columns, rows, width)]  # fmt: skip


def _scored_system(name: str, system: SystemConfidence, document: Confidence, width: int) -> list[ScreenLine]:
    overall = system.overall
    note = f"{say.plural(overall.predicted, 'prediction')}, {overall.correct:,} right, {overall.gold:,} gold"
    rows: list[list[ScreenCell]] = [
        _confidence_row("all", overall),
        *(_confidence_row(label, cell) for label, cell in _labels(system)),
    ]
    columns = [
        Column(least=8), Column("AP", right=True), Column(_interval(document), rank=2),
        Column("AP-101", right=True, rank=3), Column("AURC", right=True, rank=4),
        Column("ECE", right=True), Column("chance", right=True), Column("Brier", right=True, rank=1),
    ]  # fmt: skip
    result = [*heading(f"Scores of {say.visible(name)}", note, width), *grid(columns, rows, width)]
    left = len(system.labels) - MOST_LABELS
    if left > 0:
        result += sentence(f"… and {left} more labels, all in the JSON", width, style="faint")
    macro = system.macro
    if macro.labels > 1:
        result += sentence(
            f"Mean over {macro.labels} labels: AP {say.points(macro.average_precision)}, "
            f"AP-101 {say.points(macro.ap101)}.",
            width,
        )
    if overall.ece is not None:
        result += sentence(calibration(overall, document.settings.unit), width)
    return [
        *result,
        *_thresholds(system, document, width),
        *_reliability(overall, width),
        *_buckets(system, width),
    ]


def _labels(system: SystemConfidence) -> list[tuple[str, ConfidenceCell]]:
    return sorted(system.labels.items(), key=lambda item: (-item[1].gold, item[0]))[:MOST_LABELS]


def _interval(document: Confidence) -> str:
    return "95% CI" if document.settings.resamples else ""


def _resampled_title(document: Confidence) -> str:
    """The title of percentile intervals, with a dagger if there are few units."""
    return _interval(document) and "95% CI" + _few(document)


def _few(document: Confidence) -> str:
    return "†" if document.settings.few_units else ""


def _confidence_row(name: str, cell: ConfidenceCell) -> list[ScreenCell]:
    shown = cell.predicted >= ENOUGH
    ends = None if cell.interval is UNSET else cell.interval.get("average_precision")
    chance = cell.chance_ece.high
    return [
        text(name),
        [(say.points(cell.average_precision), "strong")],
        text(_marked(say.interval(ends), cell), "faint"),
        say.points(cell.ap101),
        say.points(cell.aurc),
        say.points(cell.ece) if shown else text("few", "faint"),
        text(f"≤ {say.points(chance)}" if shown and chance is not None else "", "faint"),
        say.points(cell.brier),
    ]


def _marked(shown: str, cell: ConfidenceCell) -> str:
    """An interval, with a dagger if few units hold the cell."""
    return f"{shown}†" if shown and cell.few_units is not UNSET else shown


def _thresholds(system: SystemConfidence, document: Confidence, width: int) -> list[ScreenLine]:
    result = heading("Thresholds", "", width)
    chosen, target = system.threshold, system.at_precision
    if chosen.value is not None:
        result += sentence(
            f"Best F1 on dev at {chosen.value:.4g}: {say.points(chosen.dev_f1)} there, "
            f"{say.points(chosen.test_f1)} on test{within(chosen, 'test_f1')}; choosing on test would have "
            f"promised {say.points(chosen.optimism)} more.",
            width,
        )
    elif chosen.best is not None:
        result += sentence(
            f"Best F1 on these data themselves: {say.points(chosen.best_f1)} at {chosen.best:.4g}. "
            "That is optimistic: choose the threshold on other data with --dev GOLD PRED.",
            width,
        )
    if target.threshold is None:
        words = f"No threshold reaches a precision of {say.points(target.precision)}."
    else:
        ends = within(target, "recall")
        few = _few(document) if ends and target.chosen_on == "test" else ""
        words = (
            f"Precision of at least {say.points(target.precision)} at {target.threshold:.4g}, chosen on "
            f"{target.chosen_on}: recall {say.points(target.recall)}{ends}{few}, "
            f"precision {say.points(target.reached)} on test."
        )
    return [*result, *sentence(words, width)]


def _reliability(cell: ConfidenceCell, width: int) -> list[ScreenLine]:
    if len(cell.bins) < 2:
        return []
    rows: list[list[ScreenCell]] = [
        [
            _scores(score_bin),
            say.count(score_bin.predicted),
            say.points(score_bin.score),
            [(say.points(score_bin.precision), "strong")],
            say.signed(score_bin.precision - score_bin.score),
            bar(score_bin.precision),
        ]
        for score_bin in cell.bins
    ]
    columns = [
        Column("scores"), Column("predictions", right=True), Column("mean score", right=True),
        Column("precision", right=True), Column("gap", right=True), Column(least=10, most=30, rank=1),
    ]  # fmt: skip
    return [
        *heading("Calibration", "precision of predictions by their score", width),
        *grid(columns, rows, width),
    ]


def _scores(score_bin: ReliabilityBin) -> str:
    if score_bin.low is None:
        return "" if score_bin.high is None else f"≤ {score_bin.high:.3g}"
    return (
        f"> {score_bin.low:.3g}" if score_bin.high is None else f"({score_bin.low:.3g}, {score_bin.high:.3g}]"
    )


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
    name = max(len(row.name) for row in document.rows)
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
