"""The screen of an evaluation of confidence scores."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from spanwise.document.analyses import Confidence, ConfidenceCell, ReliabilityBin, SystemConfidence
from spanwise.reports import _wording as say
from spanwise.reports.terminal._frame import banner, files
from spanwise.reports.terminal._layout import Cell, Column, Line, bar, grid, heading, sentence, text

ENOUGH = 100  # predictions from which on a calibration error is shown
MOST_LABELS = 20


def lines(document: Confidence, width: int) -> list[Line]:
    """All sections, system by system."""
    inputs = [replace(row, role="dev") if row.role.startswith("dev") else row for row in document.inputs]
    result = [*banner(document, None), *files(inputs, width, notes=document.notes)]
    for name, one in document.systems.items():
        result += _system(name, one, document, width)
    return [*result, *_pairs(document, width)]


def _pairs(document: Confidence, width: int) -> list[Line]:
    """Systems side by side where their curves can be compared."""
    if not document.pairs:
        return []
    rows: list[list[Cell]] = []
    for pair in document.pairs:
        names = " − ".join(map(say.visible, pair.systems))
        for title, one in (
            ("AP", pair.average_precision),
            (f"precision at recall {say.points(pair.at_recall.at)}", pair.at_recall),
            (f"recall at precision {say.points(pair.at_precision.at)}", pair.at_precision),
        ):
            ends = None if one.interval is None else list(one.interval)
            rows.append(
                [
                    text(names), text(title), say.points(one.first), say.points(one.second),
                    text(say.signed(one.difference), "strong"), text(say.signed_interval(ends), "faint"),
                ]
            )  # fmt: skip
            names = ""
    columns = [
        Column("pair", least=8), Column("score", least=14), Column("first", right=True),
        Column("second", right=True), Column("difference", right=True),
        Column("95% CI" if document.settings.resamples else "", rank=1),
    ]  # fmt: skip
    return [*heading("Side by side", "each system at a threshold of its own", width),
            *grid(columns, rows, width)]  # fmt: skip


def _buckets(one: SystemConfidence, width: int) -> list[Line]:
    """What the scores are worth in every bucket, where attributes were asked for."""
    rows: list[list[Cell]] = []
    for attribute, cells in one.buckets.items():
        title = say.attribute(attribute)
        for bucket, cell in cells.items():
            rows.append(
                [text(title), text(say.visible(bucket)), say.count(cell.predicted), *_row("", cell)[1:]]
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


def _system(name: str, one: SystemConfidence, document: Confidence, width: int) -> list[Line]:
    overall = one.overall
    note = f"{say.plural(overall.predicted, 'prediction')}, {overall.correct:,} right, {overall.gold:,} gold"
    rows: list[list[Cell]] = [_row("all", overall), *(_row(label, cell) for label, cell in _labels(one))]
    columns = [
        Column(least=8), Column("AP", right=True), Column(_interval(document), rank=2),
        Column("AP-101", right=True, rank=3), Column("AURC", right=True, rank=4),
        Column("ECE", right=True), Column("chance", right=True), Column("Brier", right=True, rank=1),
    ]  # fmt: skip
    result = [*heading(f"Scores of {say.visible(name)}", note, width), *grid(columns, rows, width)]
    left = len(one.labels) - MOST_LABELS
    if left > 0:
        result += sentence(f"… and {left} more labels, all in the JSON", width, style="faint")
    macro = one.macro
    if macro.labels > 1:
        result += sentence(
            f"Mean over {macro.labels} labels: AP {say.points(macro.average_precision)}, "
            f"AP-101 {say.points(macro.ap101)}.",
            width,
        )
    result += sentence(_calibrated(overall), width) if overall.ece is not None else []
    return [*result, *_thresholds(one, width), *_reliability(overall, width), *_buckets(one, width)]


def _labels(one: SystemConfidence) -> list[tuple[str, ConfidenceCell]]:
    return sorted(one.labels.items(), key=lambda item: (-item[1].gold, item[0]))[:MOST_LABELS]


def _interval(document: Confidence) -> str:
    return "95% CI" + ("†" if document.settings.few_units else "") if document.settings.resamples else ""


def _row(name: str, cell: ConfidenceCell) -> list[Cell]:
    shown = cell.predicted >= ENOUGH
    ends = None if cell.interval is UNSET else cell.interval.get("average_precision")
    chance = cell.chance_ece.high
    return [
        text(name),
        [(say.points(cell.average_precision), "strong")],
        text(say.interval(ends), "faint"),
        say.points(cell.ap101),
        say.points(cell.aurc),
        say.points(cell.ece) if shown else text("few", "faint"),
        text(f"≤ {say.points(chance)}" if shown and chance is not None else "", "faint"),
        say.points(cell.brier),
    ]


def _calibrated(cell: ConfidenceCell) -> str:
    high = cell.chance_ece.high
    if cell.ece is None or high is None or cell.predicted < ENOUGH:
        return f"There are too few predictions to judge the calibration; it is shown from {ENOUGH} on."
    if cell.ece <= high:
        return (
            f"The scores are calibrated as far as these data can tell: an ECE of {say.points(cell.ece)} "
            f"is within chance (up to {say.points(high)})."
        )
    mean = sum(one.score * one.predicted for one in cell.bins) / cell.predicted
    gap = mean - cell.correct / cell.predicted
    lean = ""
    if abs(gap) >= 0.005:
        lean = f"; on average they are {say.points(abs(gap))} points too {'high' if gap > 0 else 'low'}"
    return (
        f"The scores are not calibrated: ECE {say.points(cell.ece)}, where chance explains up to "
        f"{say.points(high)}{lean}."
    )


def _thresholds(one: SystemConfidence, width: int) -> list[Line]:
    result = heading("Thresholds", "", width)
    chosen, at = one.threshold, one.at_precision
    if chosen.value is not None:
        ends = None if chosen.interval is UNSET else chosen.interval.get("test_f1")
        result += sentence(
            f"Best F1 on dev at {chosen.value:.4g}: {say.points(chosen.dev_f1)} there, "
            f"{say.points(chosen.test_f1)} on test{_within(ends)}; choosing on test would have promised "
            f"{say.points(chosen.optimism)} more.",
            width,
        )
    elif chosen.best is not None:
        result += sentence(
            f"Best F1 on these data themselves: {say.points(chosen.best_f1)} at {chosen.best:.4g}. "
            "That is optimistic: choose the threshold on other data with --dev GOLD PRED.",
            width,
        )
    if at.threshold is None:
        words = f"No threshold reaches a precision of {say.points(at.precision)}."
    else:
        words = (
            f"Precision of at least {say.points(at.precision)} at {at.threshold:.4g}, chosen on "
            f"{at.chosen_on}: recall {say.points(at.recall)}, precision {say.points(at.reached)} on test."
        )
    return [*result, *sentence(words, width)]


def _within(ends: Sequence[float | None] | None) -> str:
    shown = say.interval(ends)
    return f" ({shown})" if shown else ""


def _reliability(cell: ConfidenceCell, width: int) -> list[Line]:
    if len(cell.bins) < 2:
        return []
    rows: list[list[Cell]] = [
        [
            _scores(one),
            say.count(one.predicted),
            say.points(one.score),
            [(say.points(one.precision), "strong")],
            say.signed(one.precision - one.score),
            bar(one.precision),
        ]
        for one in cell.bins
    ]
    columns = [
        Column("scores"), Column("predictions", right=True), Column("mean score", right=True),
        Column("precision", right=True), Column("gap", right=True), Column(least=10, most=30, rank=1),
    ]  # fmt: skip
    return [
        *heading("Calibration", "precision of predictions by their score", width),
        *grid(columns, rows, width),
    ]


def _scores(one: ReliabilityBin) -> str:
    if one.low is None:
        return "" if one.high is None else f"≤ {one.high:.3g}"
    return f"> {one.low:.3g}" if one.high is None else f"({one.low:.3g}, {one.high:.3g}]"
