"""The view of confidence scores: how well they rank and are calibrated, thresholds, buckets, and pairs."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET
from msgspec.structs import replace

from spanwise.document.confidence import (
    Confidence,
    ConfidenceCell,
    ConfidencePair,
    EqualScore,
    ReliabilityBin,
    SystemConfidence,
)
from spanwise.views import PAGE, PAPER, SHOWN, Section, View, cells, wording
from spanwise.views.cells import Block, Cell, Chart, Column, Grid, Paragraphs, Phrase, ShareBar
from spanwise.views.inputs import pairing
from spanwise.views.judging import ENOUGH, calibration, daggers, within

MOST_LABELS = 20
CHARTS = {
    "reliability": ("Reliability", "precision of ten groups of predictions against their mean score"),
    "precision-recall": ("Precision and recall", "over all thresholds; recall over all gold mentions"),
    "risk-coverage": ("Risk and coverage", "share of errors among the most confident predictions"),
}


def confidence_view(document: Confidence) -> View:
    """The scores of each system, and pairs of systems side by side."""
    sections: list[Section] = []
    for at, name in enumerate(document.systems):
        sections += _system(document, name, at)
    marks = daggers(document)
    if document.pairs:
        sections.append(_side_by_side(document))
    if marks:
        sections.append(Section("daggers", cells.words(""), (cells.note(marks, "faint"),), on=SHOWN))
    return View(
        title="confidence",
        about=cells.words("confidence"),
        verdict=cells.joined(
            [
                cells.words(
                    "{}: average precision " + f"{wording.points(one.overall.average_precision)}.", name
                )
                for name, one in document.systems.items()
            ]
        ),
        sections=(*sections, _scores_of_all(document), _equal_of_all(document)),
        notes=(*document.notes, *pairing(document.inputs)),
        inputs=tuple(
            replace(row, role="dev") if row.role.startswith("dev") else row for row in document.inputs
        ),
        systems=tuple(document.systems),
    )


def _system(document: Confidence, name: str, at: int) -> Iterator[Section]:
    system = document.systems[name]
    for kind, (title, about) in CHARTS.items():
        yield Section(
            f"{kind}-{at}", cells.words(title + " of {}", name), (Chart(f"{kind}-{at}"),), about, on=PAGE
        )
    overall = system.overall
    labels = sorted(system.labels.items(), key=lambda item: (-item[1].gold, item[0]))
    rows: list[list[Cell]] = [["all", *_row(overall)], *([label, *_row(cell)] for label, cell in labels)]
    columns = [
        Column(least=8), Column("AP", right=True), Column(_interval_title(document), rank=2),
        Column("AP-101", right=True, rank=3), Column("AURC", right=True, rank=4),
        Column("ECE", right=True), Column("chance", right=True), Column("Brier", right=True, rank=1),
    ]  # fmt: skip
    blocks: list[Block] = [Grid(columns, rows, MOST_LABELS + 1, "labels")]
    macro = system.macro
    if macro.labels > 1:
        mean = f"AP {wording.points(macro.average_precision)}, AP-101 {wording.points(macro.ap101)}"
        blocks.append(cells.note(f"Mean over {macro.labels} labels: {mean}."))
    if overall.ece is not None:
        blocks.append(cells.note(calibration(overall, document.settings.unit)))
    right = f"{overall.correct:,} right, {overall.gold:,} gold"
    counted = f"{wording.plural(overall.predicted, 'prediction')}, {right}"
    yield Section(f"scores-{at}", cells.words("Scores of {}", name), tuple(blocks), counted, on=SHOWN)
    thresholds = Paragraphs(tuple(map(cells.literal, _thresholds(system, document))))
    yield Section(f"thresholds-{at}", cells.words("Thresholds"), (thresholds,), on=SHOWN)
    if len(overall.bins) >= 2:
        yield _reliability(overall, at)
    if system.buckets:
        yield _buckets(system, at)


def _interval_title(document: Confidence) -> str:
    return "95% CI" if document.settings.resamples else ""


def _few(document: Confidence) -> str:
    return "†" if document.settings.few_units else ""


def _row(cell: ConfidenceCell) -> list[Cell]:
    shown = cell.predicted >= ENOUGH
    ends = None if cell.interval is UNSET else cell.interval.get("average_precision")
    chance = cell.chance_ece.high
    within = cells.interval(ends, style="faint")
    if within.text and cell.few_units is not UNSET:
        within = replace(within, text=f"{within.text}†")
    return [
        cells.points(cell.average_precision, "strong"),
        within,
        cells.points(cell.ap101),
        cells.points(cell.aurc),
        cells.points(cell.ece) if shown else Phrase("few", "faint"),
        Phrase(f"≤ {wording.points(chance)}" if shown and chance is not None else "", "faint"),
        cells.points(cell.brier),
    ]


def _thresholds(system: SystemConfidence, document: Confidence) -> Iterator[str]:
    chosen, target = system.threshold, system.at_precision
    if chosen.value is not None:
        yield (
            f"Best F1 on dev at {chosen.value:.4g}: {wording.points(chosen.dev_f1)} there, "
            f"{wording.points(chosen.test_f1)} on test{within(chosen, 'test_f1')}; choosing on test would "
            f"have promised {wording.points(chosen.optimism)} more."
        )
    elif chosen.best is not None:
        yield (
            f"Best F1 on these data themselves: {wording.points(chosen.best_f1)} at {chosen.best:.4g}. "
            "That is optimistic: choose the threshold on other data with --dev GOLD PRED."
        )
    if target.threshold is None:
        yield f"No threshold reaches a precision of {wording.points(target.precision)}."
        return
    ends = within(target, "recall")
    few = _few(document) if ends and target.chosen_on == "test" else ""
    yield (
        f"Precision of at least {wording.points(target.precision)} at {target.threshold:.4g}, chosen on "
        f"{target.chosen_on}: recall {wording.points(target.recall)}{ends}{few}, "
        f"precision {wording.points(target.reached)} on test."
    )


def _reliability(cell: ConfidenceCell, at: int) -> Section:
    rows: list[list[Cell]] = [
        [
            _scores(score_bin), cells.count(score_bin.predicted), cells.points(score_bin.score),
            cells.points(score_bin.precision, "strong"),
            cells.signed(score_bin.precision - score_bin.score), ShareBar(score_bin.precision),
        ]
        for score_bin in cell.bins
    ]  # fmt: skip
    columns = [
        Column("scores"), Column("predictions", right=True), Column("mean score", right=True),
        Column("precision", right=True), Column("gap", right=True), Column(least=10, most=30, rank=1),
    ]  # fmt: skip
    note = "precision of predictions by their score"
    return Section(f"calibration-{at}", cells.words("Calibration"), (Grid(columns, rows),), note, on=SHOWN)


def _scores(score_bin: ReliabilityBin) -> str:
    low, high = score_bin.low, score_bin.high
    if low is None:
        return "" if high is None else f"≤ {high:.3g}"
    return f"> {low:.3g}" if high is None else f"({low:.3g}, {high:.3g}]"


def _buckets(system: SystemConfidence, at: int) -> Section:
    """The assessment of the scores in every bucket, if attributes were requested."""
    rows: list[list[Cell]] = []
    for attribute, parts in system.buckets.items():
        title = wording.attribute(attribute)
        for bucket, cell in parts.items():
            rows.append([title, bucket, cells.count(cell.predicted), *_row(cell)])
            title = ""
    columns = [
        Column("attribute", least=8), Column("bucket", least=5), Column("predictions", right=True, rank=3),
        Column("AP", right=True), Column("", rank=2), Column("AP-101", right=True, rank=4),
        Column("AURC", right=True, rank=5), Column("ECE", right=True), Column("chance", right=True),
        Column("Brier", right=True, rank=1),
    ]  # fmt: skip
    note = "predictions against the gold mentions in the bucket"
    return Section(f"buckets-{at}", cells.words("By bucket"), (Grid(columns, rows),), note, on=SHOWN)


def _equal(pair: ConfidencePair) -> list[tuple[str, EqualScore]]:
    """The three scores by which two systems are put side by side."""
    return [
        ("AP", pair.average_precision),
        (f"precision at recall {wording.points(pair.at_recall.at)}", pair.at_recall),
        (f"recall at precision {wording.points(pair.at_precision.at)}", pair.at_precision),
    ]


def _side_by_side(document: Confidence) -> Section:
    rows: list[list[Cell]] = []
    for pair in document.pairs:
        names = " − ".join(map(wording.visible, pair.systems))
        for title, score in _equal(pair):
            rows.append(
                [
                    names, title, cells.points(score.first), cells.points(score.second),
                    cells.signed(score.difference, "strong"),
                    cells.interval(score.interval, differs=True, style="faint"),
                ]
            )  # fmt: skip
            names = ""
    columns = [
        Column("pair", least=8, names=True), Column("score", least=14), Column("first", right=True),
        Column("second", right=True), Column("difference", right=True),
        Column(_interval_title(document) and _interval_title(document) + _few(document), rank=1),
    ]  # fmt: skip
    note = "each system at its own threshold"
    return Section("pairs", cells.words("Side by side"), (Grid(columns, rows),), note, on=SHOWN)


# ---- one table over all systems, for papers --------------------------------------------------------


def _scores_of_all(document: Confidence) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for name, system in document.systems.items():
        rows.append((name, "all", *_counted(system.overall)))
        rows += [(name, label, *_counted(cell)) for label, cell in system.labels.items()]
        for attribute, parts in system.buckets.items():
            rows += [(name, f"{attribute}={bucket}", *_counted(cell)) for bucket, cell in parts.items()]
    titles = (
        "system", "predictions of", "predicted", "right", "gold", "AP", "interval", "AP-101", "AURC", "ECE",
        "chance ECE", "p", "Brier", "AURC interval", "Brier interval",
    )  # fmt: skip
    caption = (
        "Average precision, area under the risk-coverage curve, and calibration error in points, with the "
        "95 % point of that of calibrated scores; scores are not calibrated where p is at most .05. "
        f"Intervals: 95 % logit-t, jackknife over {document.settings.unit}s."
    )
    return Section("scores", cells.words("Scores"), (cells.table(titles, rows),), caption=caption, on=PAPER)


def _counted(cell: ConfidenceCell) -> tuple[Cell, ...]:
    ends = {} if cell.interval is UNSET else cell.interval
    return (
        cells.count(cell.predicted), cells.count(cell.correct), cells.count(cell.gold),
        cells.points(cell.average_precision), cells.interval(ends.get("average_precision")),
        cells.points(cell.ap101), cells.points(cell.aurc), cells.points(cell.ece),
        cells.points(cell.chance_ece.high), cells.p_value(cell.chance_ece.p), cells.points(cell.brier),
        cells.interval(ends.get("aurc")), cells.interval(ends.get("brier")),
    )  # fmt: skip


def _equal_of_all(document: Confidence) -> Section:
    rows: list[tuple[Cell, ...]] = [
        (
            *pair.systems, title, cells.points(score.first), cells.points(score.second),
            cells.signed(score.difference), cells.interval(score.interval, differs=True),
        )
        for pair in document.pairs
        for title, score in _equal(pair)
    ]  # fmt: skip
    titles = ("first", "second", "score", "of first", "of second", "difference", "interval")
    caption = "Systems compared, each at its own threshold."
    return Section("equal", cells.words("Equal"), (cells.table(titles, rows),), caption=caption, on=PAPER)
