"""The screen of several systems side by side: scores with letters, tests, and where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from spanwise.document import Settings, given
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import AttributeScores, Comparison, ScoreTest, SystemScores
from spanwise.reports._levels import level_rows
from spanwise.reports.terminal._layout import (
    AxisColumn,
    Column,
    Scale,
    ScreenCell,
    ScreenLine,
    and_more,
    around,
    flow,
    grid,
    heading,
    interval_title,
    legend,
    mark,
    sentence,
    size,
    text,
)
from spanwise.reports.terminal._result import MOST_LABELS, costs, judged, none_of, slices
from spanwise.views import sentences as sentences
from spanwise.views import wording as say
from spanwise.views.lookups import highest, scored_labels, union
from spanwise.views.standing import own_letters, ranked, tested, turned

MOST_PAIRS = 10
MOST_PARTS = 8
MOST_SLICES = 9


class ComparedRow(Struct, frozen=True):
    """A row of a table of all systems: its title, its gold mentions, a value per system, and their path."""

    title: str
    gold: int
    values: Sequence[float | None]
    stds: Sequence[float | None]  # over runs
    path: tuple[str, ...]


Deviations: TypeAlias = Mapping[str, SystemScores]  # of systems whose scores are means over runs


def sections(
    document: Evaluation, width: int, over: Deviations, *, brief: bool = False, full: bool = True
) -> list[ScreenLine]:
    """Scores, differences, errors, labels, tough mentions, weak slices and attributes, the best system first.

    Args:
        over: the standard deviations over runs, for systems whose scores are means over runs.
        brief: whether to leave out differences and tough mentions, which a study shows for all datasets.
        full: whether to show weak slices and attributes as well.
    """
    systems = {name: document.systems[name] for name in ranked(document)}
    return [
        *_scores(document, systems, width, over, brief=brief),
        *judged(document, width),
        *costs(document, width),
        *([] if brief else _pairs(document, width)),
        *_parts(document, width),
        *_errors(document, systems, width, over),
        *_levels(document, systems, width, over),
        *_labels(document, systems, width, over),
        *([] if brief else _tough(document, systems, width, over)),
        *(slices(systems, width, over, most=max(1, MOST_SLICES // len(systems))) if full else []),
        *(_attributes(document, systems, width) if full and not brief else []),
    ]


def _scores(
    document: Evaluation, systems: Mapping[str, SystemScores], width: int, over: Deviations, *, brief: bool
) -> list[ScreenLine]:
    tests = tested(document)
    own, beats = tests.own, tests.beats
    primary = document.settings.primary or "f1"
    scale = Scale.around(_reach(systems.values(), primary))
    every = ("f1", *document.settings.more_scores, "precision", "recall", "fair")
    others = [name for name in every if name != primary]
    credits = list(union(system.credits or {} for system in systems.values()))
    rows: list[list[ScreenCell]] = []
    for name, system in systems.items():
        value, ends = system.primary(primary), system.primary_ends(primary)
        better = beats[name]
        std = over.get(name)

        def spread(score: str, std: SystemScores | None = std) -> ScreenLine:
            return around(None if std is None else std.primary(score))

        rows.append(
            [
                [(own[name], "faint")],
                text(name, "strong"),
                [(say.points(value), "score"), *spread(primary)],
                [(say.interval(ends), "faint")],
                *([(say.points(system.primary(score)), ""), *spread(score)] for score in others),
                *(_credited(system, credit) for credit in credits),
                *(
                    []
                    if primary == "macro"
                    else [[(say.points(system.exact.macro.f1), ""), *spread("macro")]]
                ),
                [(" ".join(better) or "–", "good" if better else "faint")],
                scale.strip(value, ends),
            ]
        )
    columns = [
        Column(),
        Column("system", least=8, names=True),
        Column(say.PRIMARY_SCORES[primary], right=True),
        Column(interval_title(document.settings)),
        *(Column(_SHORT.get(name) or say.PRIMARY_SCORES[name], right=True) for name in others),
        *(Column(say.visible(name), right=True, least=7, rank=1) for name in credits),
        *([] if primary == "macro" else [Column("macro", right=True, rank=1)]),
        Column("beats", least=5),
        AxisColumn(axis=scale.axis, least=18, most=36, rank=2),
    ]
    by = f" by {say.PRIMARY_SCORES[primary]}" if primary != "f1" else ""
    note = f"beats: significantly better{by} than the system with that letter" if tests.tested else ""
    if over:
        note = "mean ± std over runs" + (f" · beats: significantly better{by}" if tests.tested else "")
    about = "" if brief else tests.captions(systems)[1]
    return [
        *heading("Systems", note, width),
        *grid(columns, rows, width),
        *(sentence(about, width, style="faint") if about else []),
    ]


_SHORT = {"f1": "F1", "precision": "P", "recall": "R", "fair": "fair F1"}


def _credited(system: SystemScores, credit: str) -> str:
    scores = (system.credits or {}).get(credit)
    return say.points(scores.overall.f1 if scores is not None else None)


def _reach(systems: Iterable[SystemScores], primary: str) -> list[float]:
    groups = ((system.primary(primary), *(system.primary_ends(primary) or ())) for system in systems)
    return [value for values in groups for value in values if value is not None]


def _ordered_comparisons(document: Evaluation) -> list[Comparison]:
    """The comparisons in the order of the ranking, with the better system of each pair first."""
    rank = {name: index for index, name in enumerate(ranked(document))}
    comparisons = []
    for comparison in document.comparisons:
        first, second = comparison.systems
        if rank.get(first, 0) > rank.get(second, 0):
            tests = tuple(map(turned, comparison.scores))
            comparison = replace(comparison, systems=(second, first), scores=tests)
        comparisons.append(comparison)
    return sorted(comparisons, key=lambda comparison: [rank.get(name, 0) for name in comparison.systems])


def _pairs(document: Evaluation, width: int) -> list[ScreenLine]:
    comparisons = _ordered_comparisons(document)
    rows: list[list[ScreenCell]] = []
    for comparison in comparisons[:MOST_PAIRS]:
        first, second = comparison.systems
        test = comparison.primary
        if test is not None:
            names = [*text(first), (" − ", "faint"), *text(second)]
            rows.append(
                [
                    names,
                    *_difference(test, document.settings),
                    [(_at_least(given(comparison.detectable)), "faint")],
                ]
            )
    if not rows:
        return []
    columns = [
        Column("pair", least=16, names=True),
        Column(say.PRIMARY_SCORES[document.settings.primary or "f1"], right=True),
        Column(interval_title(document.settings)),
        Column("p", right=True),
        Column("", least=1),
        Column("detectable", right=True, rank=1),
    ]
    return [
        *heading("Differences", sentences.named_test(document.comparisons, document.settings), width),
        *grid(columns, rows, width),
        *and_more(len(comparisons) - MOST_PAIRS, width, "pairs"),
        *(
            line
            for note in _pair_notes(comparisons[:MOST_PAIRS])
            for line in sentence(note, width, style="faint")
        ),
    ]


def _pair_notes(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """What the table of pairs does not say by itself."""
    if any(test is not None and test.interval for test in (row.primary for row in comparisons)):
        yield "Intervals are not corrected for several tests; p is."
    for comparison in comparisons:
        if comparison.unreachable:
            yield f"{' − '.join(comparison.systems)}: {comparison.unreachable}."


def _at_least(value: float | None) -> str:
    return f"{say.points(value)} or more" if say.defined(value) else ""


def _difference(test: ScoreTest, settings: Settings) -> list[ScreenCell]:
    dagger = mark(settings, test) if test.interval else ""
    return [
        [(say.signed(test.difference), "strong")],
        [(say.signed_interval(test.interval) + dagger, "faint")],
        say.p_value(test.p if test.p_corrected is None else test.p_corrected),
        [("*", "good")] if test.significant else "",
    ]


def _parts(document: Evaluation, width: int) -> list[ScreenLine]:
    """Where systems differ: the largest significant differences on labels, subsets and buckets."""
    pairs = _ordered_comparisons(document)
    if not any(test.p is not None for pair in pairs for test in pair.scores):
        return []  # nothing was tested
    differing = [
        (abs(test.difference), pair.systems, test)
        for pair in pairs
        for test in pair.scores
        if test.significant and test.path[1] != "overall" and test.difference is not None
    ]
    differing.sort(key=lambda part: part[0])
    # List each part once, for the pair that differs most, so that one weak system does not fill the list.
    once = sorted({part[2].path: part for part in differing}.values(), key=lambda part: -part[0])
    contents = say.bucket_contents(document.systems.values())
    letter = own_letters(document)
    rows: list[list[ScreenCell]] = []
    for _, (first, second), test in once[:MOST_PARTS]:
        names = [*text(letter[first], "strong"), (" − ", "faint"), *text(letter[second], "strong")]
        mentions = given(test.mentions)
        number = "" if mentions is None else say.count(mentions)
        rows.append(
            [names, text(say.path_title(test.path, contents)), number, *_difference(test, document.settings)]
        )
    title = heading("Where they differ", "significant after correction, largest first", width)
    if not rows:
        return [*title, [("  nowhere: no part differs significantly after correction", "faint")]]
    columns = [
        Column("pair"),
        Column("where", least=18),
        Column("gold", right=True, rank=2),
        Column("", right=True),
        Column(interval_title(document.settings), rank=1),
        Column("p", right=True),
        Column(""),
    ]
    if len(pairs) == 1:
        columns, rows = columns[1:], [row[1:] for row in rows]
    return [*title, *grid(columns, rows, width)]


def _names(systems: Mapping[str, SystemScores], width: int, first: int, each: int) -> list[str]:
    """As many systems as fit side by side, in columns of `each` cells."""
    return list(systems)[: max(1, (width - first) // each)]


def _left_out(systems: Mapping[str, SystemScores], shown: Sequence[str], width: int) -> list[ScreenLine]:
    if len(shown) == len(systems):
        return []
    return flow(
        [[(f"the best {len(shown)} of {len(systems)} systems; all are in the JSON", "faint")]],
        width,
        indent=2,
    )


def _titles(document: Evaluation, names: Sequence[str], most: int) -> list[Column]:
    """The names of systems as column titles, or their letters if a name does not fit."""
    letters = own_letters(document)
    fitting = all(size(text(name)) <= most for name in names)
    return [Column(say.visible(name) if fitting else letters[name], right=True, least=5) for name in names]


def _valued(values: Sequence[float | None], stds: Sequence[float | None]) -> list[ScreenCell]:
    best = highest(values)
    return [
        [(say.points(value), "strong" if value == best else ""), *around(std)]
        for value, std in zip(values, stds, strict=True)
    ]


def _errors(
    document: Evaluation, systems: Mapping[str, SystemScores], width: int, over: Deviations
) -> list[ScreenLine]:
    shown = _names(systems, width, 20, 20 if over else 14)
    rows: list[list[ScreenCell]] = []
    for kind in say.ERRORS:
        row: list[ScreenCell] = [say.OUTCOMES[kind]]
        for name in shown:
            gain, number = systems[name].gains.of(kind).gain, systems[name].fair.overall.count(kind)
            std = over[name].gains.of(kind).gain if name in over and number else None
            row.append([(say.signed(gain), "strong"), *around(std), (f" ({say.count(number)})", "faint")])
        rows.append(row)
    note = "F1 that fixing all errors of a kind would add (errors)"
    table = grid([Column("kind"), *_titles(document, shown, 16)], rows, width)
    return [*heading("Errors", note, width), *table, *_left_out(systems, shown, width)]


def _compared(document: Evaluation, rows: Sequence[ComparedRow], width: int) -> list[list[ScreenCell]] | None:
    """For two systems: the difference, interval, p and mark of each row, blank if it was not tested."""
    pairs = _ordered_comparisons(document)
    if len(pairs) != 1 or len(document.systems) != 2 or width < 72:
        return None
    tests = {test.path: test for test in pairs[0].scores}
    return [
        _difference(tests[row.path], document.settings) if row.path in tests else ["", "", "", ""]
        for row in rows
    ]


def _difference_columns(settings: Settings) -> list[Column]:
    return [
        Column("diff", right=True),
        Column(interval_title(settings), rank=1),
        Column("p", right=True),
        Column(""),
    ]


def _side_by_side(
    document: Evaluation,
    systems: Mapping[str, SystemScores],
    rows: Sequence[ComparedRow],
    first: str,
    width: int,
) -> list[ScreenLine]:
    """The rows, with differences if two systems are compared."""
    shown = _names(systems, width, 34, 12 if any(std is not None for row in rows for std in row.stds) else 9)
    tested = _compared(document, rows, width)
    table: list[list[ScreenCell]] = []
    for index, row in enumerate(rows):
        values = _valued(row.values[: len(shown)], row.stds[: len(shown)])
        table.append([text(row.title), say.count(row.gold), *values, *(tested[index] if tested else ())])
    columns = [Column(first, least=22), Column("gold", right=True), *_titles(document, shown, 12)]
    return [
        *grid([*columns, *(_difference_columns(document.settings) if tested else ())], table, width),
        *_left_out(systems, shown, width),
    ]


def _levels(
    document: Evaluation, systems: Mapping[str, SystemScores], width: int, over: Deviations
) -> list[ScreenLine]:
    spreads = {name: over[name].hierarchy or {} if name in over else {} for name in systems}
    rows = [
        ComparedRow(
            row.title,
            row.gold,
            [None if cell is None else cell.exact.overall.f1 for cell in row.scores],
            [of[str(level)].exact.overall.f1 if str(level) in of else None for of in spreads.values()],
            row.path,
        )
        for level, row in enumerate(level_rows(systems))
    ]
    if not rows:
        return []
    return [
        *heading("By level of labels", "F1, exact span and label at that level", width),
        *_side_by_side(document, systems, rows, "level", width),
    ]


def _labels(
    document: Evaluation, systems: Mapping[str, SystemScores], width: int, over: Deviations
) -> list[ScreenLine]:
    order = scored_labels(document)
    rows = []
    for label in order[:MOST_LABELS]:
        cells = [system.exact.labels.get(label) for system in systems.values()]
        gold = next(cell.gold for cell in reversed(cells) if cell is not None)
        values = [None if cell is None else cell.f1 for cell in cells]
        spreads = [over[name].exact.labels.get(label) if name in over else None for name in systems]
        stds = [None if spread is None else spread.f1 for spread in spreads]
        rows.append(ComparedRow(label, gold, values, stds, ("exact", "labels", label, "f1")))
    return [
        *heading("By label", "F1, exact span and label", width),
        *_side_by_side(document, systems, rows, "label", width),
        *and_more(len(order) - MOST_LABELS, width, "labels"),
    ]


def _tough(
    document: Evaluation, systems: Mapping[str, SystemScores], width: int, over: Deviations
) -> list[ScreenLine]:
    tough = union(system.tough for system in systems.values())
    rows = []
    for subset, scores in tough.items():
        if scores.overall.mentions:
            cells = [system.tough.get(subset) for system in systems.values()]
            values = [None if cell is None else cell.overall.recall for cell in cells]
            spreads = [over[name].tough.get(subset) if name in over else None for name in systems]
            stds = [None if spread is None else spread.overall.recall for spread in spreads]
            path = ("tough", subset, "overall", "recall")
            rows.append(ComparedRow(say.TOUGH[subset], scores.overall.mentions, values, stds, path))
    if not rows:
        return []
    note = "recall by what was seen in training"
    return [
        *heading("Tough mentions", note, width),
        *_side_by_side(document, systems, rows, "mentions", width),
        *none_of(tough, width),
    ]


def _attributes(document: Evaluation, systems: Mapping[str, SystemScores], width: int) -> list[ScreenLine]:
    shown = _names(systems, width, 24, 22)
    tables = union(system.attributes for system in systems.values())
    rows: list[list[ScreenCell]] = [
        [text(say.attribute(name)), *(_ends(systems[system].attributes.get(name)) for system in shown)]
        for name in tables
    ]
    columns = [Column("attribute", least=14), *_titles(document, shown, 20)]
    if not rows:
        return []
    return [
        *heading("By attribute", "F1 of worst → best bucket", width),
        *grid(columns, rows, width),
        *_left_out(systems, shown, width),
        *legend(
            (
                ([say.attribute(name)], [(bucket.name, say.bucket(bucket)) for bucket in table.buckets])
                for name, table in tables.items()
            ),
            ["attribute"],
            width,
        ),
    ]


def _ends(table: AttributeScores | None) -> ScreenLine:
    worst = None if table is None else table.bucket(table.worst)
    best = None if table is None else table.bucket(table.best)
    if worst is None or best is None:
        return [(say.UNDEFINED, "faint")]
    low: ScreenLine = [(f"{say.visible(worst.name)} ", "faint"), (say.points(worst.f1), "strong")]
    return (
        low
        if worst is best
        else [
            *low,
            (f" → {say.visible(best.name)} ", "faint"),
            (say.points(best.f1), ""),
        ]
    )
