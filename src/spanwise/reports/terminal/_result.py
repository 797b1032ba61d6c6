"""The screen of one system: scores, errors, labels, tough mentions, slices, attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET, Struct

from spanwise.diagnosis import distinct, slice_path
from spanwise.document import Interval, Settings, given
from spanwise.document.analyses import PlacementDocument
from spanwise.document.dataset import DatasetFacts
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import (
    BoundarySides,
    BucketScores,
    Subset,
    SubsetScores,
    SystemScores,
    WeakSlice,
)
from spanwise.reports._levels import level_rows
from spanwise.reports.terminal._layout import (
    AxisColumn,
    Column,
    Scale,
    ScreenCell,
    ScreenLine,
    Stretch,
    and_more,
    around,
    bar,
    flow,
    grid,
    heading,
    interval_title,
    mark,
    packed,
    sentence,
    text,
)
from spanwise.views import answers, silver
from spanwise.views import wording as say
from spanwise.views.description import left_out
from spanwise.views.lookups import scored_labels


class ScoredRow(Struct, frozen=True):
    """A row of a table: its name, its gold mentions, the other scores shown, and the score that is drawn."""

    name: str
    gold: int
    others: Sequence[float | None]
    score: float | None
    interval: Interval | None
    mark: str = ""
    std: float | None = None  # of the score, over runs


MOST_LABELS = 20
MOST_SLICES = 6
FEW = 30


def sections(
    document: Evaluation,
    width: int,
    over: Mapping[str, SystemScores],
    *,
    brief: bool = False,
    full: bool = True,
) -> list[ScreenLine]:
    """Scores, errors, labels, tough mentions, weak slices and attributes of the one system.

    Args:
        over: the standard deviations over runs, if the scores are means over runs.
        brief: whether to leave out tough mentions and attributes, which a study shows for all datasets.
        full: has no effect on one system, whose tables are few.
    """
    ((name, system),) = document.systems.items()
    deviation = over.get(name)
    return [
        *_scores(system, document.settings, width, deviation),
        *judged(document, width),
        *costs(document, width),
        *_errors(system, width, deviation),
        *_levels(system, document.settings, width, deviation),
        *_labels(document, system, width, deviation),
        *([] if brief else _tough(system, document.settings, width, deviation)),
        *slices({name: system}, width, over),
        *([] if brief else _attributes(document.dataset, system, width)),
    ]


def _scores(
    system: SystemScores, settings: Settings, width: int, deviation: SystemScores | None
) -> list[ScreenLine]:
    exact = system.exact.overall

    def spread(name: str) -> ScreenLine:
        return around(None if deviation is None else deviation.primary(name))

    primary = settings.primary or "f1"
    ends = say.interval(system.primary_ends(primary))
    dagger = "†" if ends and settings.few_units else ""
    main: list[ScreenLine] = [
        [
            (f"{say.PRIMARY_SCORES[primary]} ", "strong"),
            (say.points(system.primary(primary)), "score"),
            *spread(primary),
            (f"  {ends}{dagger}" if ends else "", "faint"),
        ],
        *(
            [
                (f"{say.PRIMARY_SCORES[name]} ", ""),
                (say.points(system.primary(name)), "strong"),
                *spread(name),
            ]
            for name in ("f1", *settings.more_scores, "precision", "recall")
            if name != primary
        ),
    ]
    if primary != "fair":
        main.append(
            [
                ("fair F1 ", ""),
                (say.points(system.fair.overall.f1), "strong"),
                *spread("fair"),
                ("  each error counted once", "faint"),
            ]
        )
    more: list[ScreenLine] = [
        *([] if primary == "macro" else [[(f"macro F1 {say.points(system.exact.macro.f1)}", "faint")]]),
        [(f"weighted F1 {say.points(system.exact.weighted.f1)}", "faint")],
    ]
    for name, credit in (system.credits or {}).items():
        more.append(text(f"{name} F1 {say.points(credit.overall.f1)}", "faint"))
    accuracy = given(exact.accuracy)
    if accuracy is not None:
        more.append([(f"token accuracy {say.points(accuracy)}", "faint")])
    more.append([(f"{say.count(exact.correct)} right of {say.count(exact.gold)} gold", "faint")])
    if deviation is not None:
        more.append(text("mean ± std over runs", "faint"))
    if exact.why:
        more.append(text(exact.why, "faint"))
    return [[], *flow(main, width, indent=2, join="    "), *flow(more, width, indent=2)]


def judged(document: Evaluation, width: int) -> list[ScreenLine]:
    """The estimates from few gold units and a judge, if there is one."""
    systems = silver.judged(document)
    if not systems:
        return []
    rows: list[list[ScreenCell]] = []
    for name, scores in systems.items():
        for number, row in enumerate(silver.rows(scores, document.settings.unit)):
            shown = say.visible(name) if len(systems) > 1 and number == 0 else ""
            rows.append(
                [text(shown), text(row.title), [(say.points(row.f1), "strong")],
                 text(say.interval(row.ends), "faint"), text(row.note, "faint")]
            )  # fmt: skip
    columns = [
        Column(least=8 if len(systems) > 1 else 0), Column(), Column("F1", right=True),
        Column("95% CI", rank=1), Column(rank=2, least=10),
    ]  # fmt: skip
    statements = [words for row in document.comparisons if (words := silver.compared(row))]
    return [
        *heading("Few gold labels and a judge", "", width),
        *grid(columns, rows, width),
        *(line for statement in statements for line in sentence(statement, width)),
        *sentence(silver.explained(document), width, style="faint"),
    ]


def costs(document: Evaluation | PlacementDocument, width: int) -> list[ScreenLine]:
    """What the answers of each system cost, if its log says so."""
    rows: list[list[ScreenCell]] = [
        [
            text(say.visible(row.system)), [(say.points(row.f1), "strong")], text(say.count(row.tokens)),
            text(row.dollars), text(row.per_dollar), text(row.per_1000_tokens),
        ]
        for row in answers.costs(document)
    ]  # fmt: skip
    columns = [
        Column("system", least=8), Column("F1", right=True), Column("tokens", right=True),
        Column("dollars", right=True), Column("F1 per dollar", right=True),
        Column("per 1,000 tokens", right=True),
    ]  # fmt: skip
    return [*heading(answers.TITLE, answers.NOTE, width), *grid(columns, rows, width)] if rows else []


def _errors(system: SystemScores, width: int, deviation: SystemScores | None) -> list[ScreenLine]:
    gains, counts = dict(system.gains.items()), system.fair.overall
    kinds = sorted(say.ERRORS, key=lambda kind: -_or_zero(gains[kind].gain))
    top = max(_or_zero(gains[kind].gain) for kind in kinds)
    rows: list[list[ScreenCell]] = []
    for kind in kinds:
        gain = _or_zero(gains[kind].gain)
        std = deviation.gains.of(kind).gain if deviation is not None and counts.count(kind) else None
        rows.append(
            [
                say.OUTCOMES[kind],
                bar(gain / top if top else 0.0),
                [(say.signed(gains[kind].gain), "strong"), *around(std)],
                [(say.interval(gains[kind].ends("gain")), "faint")],
                say.count(counts.count(kind)),
                mostly(system, kind),
            ]
        )
    columns = [
        Column("kind"),
        Column(least=10, most=18),
        Column("F1", right=True),
        Column("", rank=2),
        Column("count", right=True),
        Column("mostly", least=27, most=42),
    ]
    note = "what fixing every error of one kind would add"
    sides = [] if counts.sides is UNSET else _sides(counts.sides, width)
    return [*heading("Errors", note, width), *grid(columns, rows, width), *sides]


def _sides(sides: BoundarySides, width: int) -> list[ScreenLine]:
    """The sides on which boundaries are wrong; empty if none are."""
    numbers = (("left", sides.left), ("right", sides.right), ("on both sides", sides.both))
    parts = [[(f"{name} ", "faint"), (say.count(number), "")] for name, number in numbers if number]
    return flow([[("boundaries wrong", "faint")], *parts], width, indent=2) if parts else []


def mostly(system: SystemScores, kind: str) -> Stretch:
    """What the errors of one kind consist of: the largest parts first, as many as fit."""
    parts = sorted(_parts(system, kind), key=lambda part: -part[1])
    return packed([[(f"{name} ", ""), (say.count(number), "strong")] for name, number in parts if number])


def _parts(system: SystemScores, kind: str) -> list[tuple[str, float]]:
    table = system.confusion
    labels = [say.visible(label) for label in table.labels]
    if kind == "BE":
        counts = system.fair.overall
        return [(say.OUTCOMES[part], counts.count(part)) for part in ("BEs", "BEl", "BEo")]
    if kind == "FN":
        return list(zip(labels, table.missed, strict=True))
    if kind == "FP":
        return list(zip(labels, table.spurious, strict=True))
    return [
        (f"{say.visible(gold)}→{say.visible(predicted)}", number)
        for gold, predicted, number in table.pairs.get(kind, ())
    ]


def _levels(
    system: SystemScores, settings: Settings, width: int, deviation: SystemScores | None
) -> list[ScreenLine]:
    levels = level_rows({"": system})
    stds = (
        [None] * len(levels) if deviation is None else [row.scores[0] for row in level_rows({"": deviation})]
    )
    rows = [
        ScoredRow(
            row.title,
            row.gold,
            (cell.precision, cell.recall, scores.fair.overall.f1),
            cell.f1,
            cell.ends("f1"),
            mark(settings, cell),
            None if std is None else std.exact.overall.f1,
        )
        for row, std in zip(levels, stds, strict=False)
        for scores in row.scores
        if scores is not None
        for cell in [scores.exact.overall]
    ]
    if not rows:
        return []
    return [
        *heading("By level of labels", "exact span and label at that level", width),
        *_scored("level", ["P", "R", "fair F1"], "F1", rows, system.exact.overall.f1, settings, width),
    ]


def _labels(
    document: Evaluation, system: SystemScores, width: int, deviation: SystemScores | None
) -> list[ScreenLine]:
    order = scored_labels(document)
    shown = order[:MOST_LABELS]
    rows = [
        ScoredRow(
            label,
            cell.gold,
            (cell.precision, cell.recall),
            cell.f1,
            cell.ends("f1"),
            mark(document.settings, cell),
            None if deviation is None else deviation.exact.labels[label].f1,
        )
        for label in shown
        for cell in [system.exact.labels[label]]
    ]
    return [
        *heading("By label", "exact span and label", width),
        *_scored("label", ["P", "R"], "F1", rows, system.exact.overall.f1, document.settings, width),
        *and_more(len(order) - len(shown), width, "labels"),
    ]


def _scored(
    title: str,
    others: Sequence[str],
    score: str,
    rows: Sequence[ScoredRow],
    overall: float | None,
    settings: Settings,
    width: int,
) -> list[ScreenLine]:
    """The rows with their intervals drawn as strips; `others` and `score` are column titles."""
    reach: list[float] = [overall] if overall is not None else []
    for row in rows:
        if row.gold < FEW and any(other.gold >= FEW for other in rows):
            continue  # a handful of mentions must not stretch the scale of all others
        reach += [value for value in (row.score, *(row.interval or ())) if value is not None]
    scale = Scale.around(reach)
    # Means over runs have a deviation instead of an interval.
    bounded = any(row.interval for row in rows) or all(row.std is None for row in rows)
    table: list[list[ScreenCell]] = [
        [
            text(row.name),
            say.count(row.gold),
            *map(say.points, row.others),
            [(say.points(row.score), "strong"), *around(row.std)],
            *([[(say.interval(row.interval) + row.mark, "faint")]] if bounded else []),
            scale.strip(row.score, row.interval, mark=overall),
        ]
        for row in rows
    ]
    columns = [
        Column(title, least=10),
        Column("gold", right=True),
        *(Column(other, right=True, rank=2) for other in others),
        Column(score, right=True),
        *([Column(interval_title(settings))] if bounded else []),
        AxisColumn(axis=scale.axis, least=20, most=44, rank=1),
    ]
    return grid(columns, table, width)


def _tough(
    system: SystemScores, settings: Settings, width: int, deviation: SystemScores | None
) -> list[ScreenLine]:
    rows = [
        ScoredRow(
            say.TOUGH[subset],
            cell.mentions,
            (),
            cell.recall,
            cell.ends("recall"),
            mark(settings, cell),
            None if deviation is None else deviation.tough[subset].overall.recall,
        )
        for subset, scores in system.tough.items()
        for cell in [scores.overall]
        if cell.mentions
    ]
    if not rows:
        return []
    return [
        *heading("Tough mentions", "recall by what was seen in training", width),
        *_scored("mentions", [], "R", rows, system.exact.overall.recall, settings, width),
        *none_of(system.tough, width),
    ]


def none_of(tough: Mapping[Subset, SubsetScores], width: int) -> list[ScreenLine]:
    """The subsets without mentions, whose recall is undefined."""
    empty = [
        text(say.TOUGH[subset], "faint") for subset, scores in tough.items() if not scores.overall.mentions
    ]
    return flow([[("no mention is ", "faint"), *empty[0]], *empty[1:]], width, indent=2) if empty else []


def slices(
    systems: Mapping[str, SystemScores],
    width: int,
    over: Mapping[str, SystemScores],
    *,
    most: int = MOST_SLICES,
) -> list[ScreenLine]:
    """The most costly slices of one or several systems; `over` has the deviations over runs."""
    rows: list[list[ScreenCell]] = []
    same: list[list[ScreenLine]] = []
    for name, system in systems.items():
        costly = [row for row in system.slices if _or_zero(row.cost) > 0]
        spreads = {slice_path(row): row.value for row in over[name].slices} if name in over else {}
        for row, *others in distinct(costly, system)[:most]:
            same.append(_also(others, width))
            rows.append(
                [
                    text(name),
                    text(say.slice_title(row.kind, row.name, row.title)),
                    say.count(row.gold),
                    [(say.points(row.value), "strong"), *around(spreads.get(slice_path(row)))],
                    [(say.slice_score(row, system), "faint")],
                    [(say.interval(row.interval), "faint")],
                    [("costs ", "faint"), (say.points(row.cost), "strong")],
                ]
            )
    if not rows:
        return []
    columns = [
        Column("system" if len(systems) > 1 else "", least=8, names=True),
        Column("slice", least=28),
        Column("gold", right=True),
        Column("", right=True),
        Column(""),
        Column("", rank=1),
        Column("", right=True),
    ]
    if len(systems) == 1:
        columns, rows = columns[1:], [row[1:] for row in rows]
    note = "by score lost · intervals for all at once · ≥ 50 mentions"
    head, *table = grid(columns, rows, width)
    listed = [line for first, others in zip(table, same, strict=True) for line in (first, *others)]
    return [*heading("Costliest slices", note, width), head, *listed]


def _also(others: Sequence[WeakSlice], width: int) -> list[ScreenLine]:
    """The other costly slices that consist of nearly the same mentions."""
    if not others:
        return []
    names = [[(say.slice_title(row.kind, row.name, row.title), "faint")] for row in others]
    return flow([[("also ", "faint"), *names[0]], *names[1:]], width, indent=4)


def _attributes(dataset: DatasetFacts, system: SystemScores, width: int) -> list[ScreenLine]:
    small = False
    rows: list[list[ScreenCell]] = []
    for name, table in system.attributes.items():
        worst, best = table.bucket(table.worst), table.bucket(table.best)
        small = small or any(bucket is not None and bool(bucket.small) for bucket in (worst, best))
        rows.append(
            [
                text(say.attribute(name)),
                *_end(worst),
                *_end(best),
                [(say.points(table.gap), "strong")],
                say.correlation(table.spearman),
            ]
        )
    columns = [
        Column("attribute", least=24),
        Column("worst", least=10),
        Column("F1", right=True),
        Column("gold", right=True, style="faint", rank=2),
        Column("best", least=10),
        Column("F1", right=True),
        Column("gold", right=True, style="faint", rank=2),
        Column("gap", right=True),
        Column("ρ", right=True, rank=1),
    ]
    result = [*heading("By attribute", "worst and best bucket · ρ of F1 with value", width)] if rows else []
    result += grid(columns, rows, width)
    if small:
        result.append([("  ~ ", "warn"), ("fewer than 30 gold units", "faint")])
    return [*result, *absent(dataset, width)] if rows else []


def absent(dataset: DatasetFacts, width: int) -> list[ScreenLine]:
    """The attributes that could not be computed, grouped by reason."""
    return [line for words in left_out(dataset) for line in sentence(words, width, style="faint")]


def _end(bucket: BucketScores | None) -> list[ScreenCell]:
    if bucket is None:
        return [say.UNDEFINED, say.UNDEFINED, ""]
    name, words = say.visible(bucket.name), say.bucket(bucket)
    # The mark comes first, because long text is cut at the end.
    mark: ScreenLine = [("~", "warn")] if bucket.small else []
    shown: ScreenLine = [*mark, (name, ""), (f" {words}" if words != name else "", "faint")]
    return [shown, say.points(bucket.f1), say.count(bucket.gold)]


def _or_zero(value: float | None) -> float:
    return value if value is not None and say.defined(value) else 0.0
