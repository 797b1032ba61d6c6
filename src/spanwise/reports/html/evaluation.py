"""Template values of pages with charts: evaluation, study and confidence scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from spanwise.document import Interval
from spanwise.document.analyses import DifferentSlice, SearchedSlice
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import PRIMARY, Confusion, ScoreTest, SystemScores
from spanwise.document.study import PairDiagnosis, Study
from spanwise.reports._charts import PAGE, Style, axis_range, errors, evaluation, marks, shortened, titled
from spanwise.reports._charts.svg import svg
from spanwise.reports._document import examples
from spanwise.reports.html.opening import opening, study_sentences
from spanwise.reports.html.packing import contents
from spanwise.reports.html.standings import leads, place, ranked_systems, scales
from spanwise.reports.html.verdicts import (
    answered,
    averages,
    findings,
    oddities,
    packed_pairs,
    verdicts,
)
from spanwise.reports.html.views import Card, cards_of, drawn, isolated
from spanwise.views import PAGE as ON_PAGES
from spanwise.views import Section
from spanwise.views import sentences as sentences
from spanwise.views import wording as words
from spanwise.views.cells import Block, Chart, literal
from spanwise.views.lookups import inner_keys, label_order, reversals, scored_labels
from spanwise.views.parts import by_level
from spanwise.views.placement import of_systems
from spanwise.views.points import shown_points
from spanwise.views.scores import costs
from spanwise.views.shown import (
    ShownDataset,
    both_ends,
    evaluation_shown,
    mean_score,
    middle_run,
    run_values,
    study_shown,
)
from spanwise.views.slices import different_slices, pair_title, weak_slices
from spanwise.views.standing import compared, family_of, study_letters, tested, tested_in, tested_on
from spanwise.views.statements import over_datasets
from spanwise.views.suspects import doubted
from spanwise.views.systems import ShownSystems
from spanwise.views.tasks import OVERLAPPING
from spanwise.views.verdict import selected

# ---- three systems or more: who leads whom, and which of them cannot be told apart -----------------


class Standing(Struct, frozen=True):
    """One row of the leaderboard; the positions of its band and its dots are in percent of the axis."""

    rank: int
    letter: str
    name: str
    short: str
    brief: str  # for narrow columns
    system: SystemScores
    score: float | None  # the primary score; with several runs, its mean
    scores: Mapping[str, float | None]  # f1, precision, recall, macro, fair
    spread: float | None  # of F1 over runs
    beats: str
    bold: bool  # no system is significantly better
    dot: float | None
    band: tuple[float, float] | None
    interval: Interval | None
    runs: Sequence[float]  # the positions of the runs on the axis
    ties: Sequence[str]  # per group of systems that cannot be told apart: the classes of its bracket


class MatrixCell(Struct, frozen=True):
    """One cell of the significance matrix: the row's score minus the column's."""

    text: str
    tooltip: str
    shade: str
    position: tuple[int, int]


# ---- the leaderboard --------------------------------------------------------------------------

# The short names of the scores shown beside the primary one.
COLUMNS = {"f1": "F1", "precision": "P", "recall": "R", "macro": "macro", "fair": "fair"}


def standings_of(shown: ShownDataset) -> list[Standing]:
    """Every system with its rank, its position on a common axis and its brackets."""
    order, document = shown.order, shown.document
    ends = {name: both_ends(shown.score_interval(name)) for name in order}
    runs = {name: run_values(shown, name, PRIMARY[shown.primary]) for name in order}
    values = [value for name in order for value in (shown.score(name), *runs[name]) if value is not None]
    low, high = axis_range(
        [100 * v for v in (*values, *(end for pair in ends.values() if pair for end in pair))]
    )

    def at(value: float) -> float:
        return round(100 * (100 * value - low) / (high - low), 2)

    groups, tests = ties(document, list(order)), tested(document)
    beats, bold = tests.beats, tests.bold({name: shown.score(name) for name in order})
    rows = []
    for index, (name, letter) in enumerate(order.items()):
        pair, score = ends[name], shown.score(name)
        rows.append(
            Standing(
                rank=index,
                letter=letter,
                name=name,
                short=shortened(name, 30),
                brief=shortened(name, 18),
                system=document.systems[name],
                score=score,
                scores={key: mean_score(shown, name, path) for key, path in PRIMARY.items()},
                spread=shown.means[name].std if shown.several(name) and name in shown.means else None,
                beats=beats[name],
                bold=name in bold,
                dot=None if score is None else at(score),
                band=None if pair is None else (at(pair[0]), at(pair[1])),
                interval=shown.score_interval(name),
                runs=[at(value) for value in runs[name] if value is not None] if shown.several(name) else [],
                ties=[_bracket(index, group) for group in groups],
            )
        )
    return rows


def _bracket(rank: int, group: tuple[int, int]) -> str:
    first, last = group
    if not first <= rank <= last:
        return ""
    return " ".join(["on", *(["first"] if rank == first else []), *(["last"] if rank == last else [])])


def ties(document: Evaluation, order: Sequence[str]) -> list[tuple[int, int]]:
    """The longest ranges of ranks, first to last, within which all pairs were tested and none differs."""
    tests = tested(document)
    differ, decided = {frozenset(pair) for pair in tests.better}, tests.decided
    runs: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and all(
            (pair := frozenset((order[last + 1], order[at]))) in decided and pair not in differ
            for at in range(first, last + 1)
        ):
            last += 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def matrix(shown: ShownDataset) -> list[list[MatrixCell | None]]:
    """The difference in the primary score between any two systems, shaded if significant."""
    order, document = list(shown.order), shown.document
    tests = {row.systems: test for row in document.comparisons if (test := row.primary) is not None}
    about = words.PRIMARY_SCORES[shown.primary]
    most = max((abs(test.difference or 0.0) for test in tests.values()), default=0.0)
    return [
        [None if system == other else _cell(order, i, j, tests, most, about) for j, other in enumerate(order)]
        for i, system in enumerate(order)
    ]


def _cell(
    order: Sequence[str],
    row: int,
    column: int,
    tests: Mapping[tuple[str, str], ScoreTest],
    most: float,
    about: str,
) -> MatrixCell:
    system, other = order[row], order[column]
    test, sign = tests.get((system, other)), 1
    if test is None:
        test, sign = tests.get((other, system)), -1
    names = f"{words.visible(system)} − {words.visible(other)}"
    if test is None or test.difference is None:
        return MatrixCell("", f"{names}: not tested", "", (row, column))
    difference = sign * test.difference
    p = words.p_value(test.p_corrected)
    shade = ""
    if test.significant and most:
        shade = f"h{max(1, round(10 * (abs(difference) / most) ** 0.5))}" + (" neg" if difference < 0 else "")
    p_text = p if p.startswith("<") else f"= {p}"
    says = f"{names}: {words.signed(difference)} {about}, p {p_text}"
    return MatrixCell(words.signed(difference), says, shade, (row, column))


def brackets(rows: Iterable[Standing]) -> int:
    """The number of groups of systems that cannot be told apart."""
    return max((len(row.ties) for row in rows), default=0)


# ---- the confusion matrix: the labels with most errors, and all others merged ----------------------


MOST_LABELS = 16  # a wider matrix would be hard to read


class ConfusionView(Struct, frozen=True):
    """A confusion matrix as it is shown; the last label may be `others`, which has no links."""

    labels: Sequence[str]
    counts: Sequence[Sequence[int]]
    missed: Sequence[int]
    spurious: Sequence[int]
    merged: int  # how many labels the last one stands for; 0 if none

    @property
    def total(self) -> int:
        """The number of errors in all cells."""
        return sum(map(sum, self.counts)) + sum(self.missed) + sum(self.spurious)

    @property
    def most(self) -> int:
        """The largest number in a cell."""
        return max(
            (number for row in (*self.counts, self.missed, self.spurious) for number in row), default=0
        )

    def linked(self, *places: int) -> bool:
        """Whether examples can be filtered by the labels of a cell."""
        return not self.merged or all(index < len(self.labels) - 1 for index in places)


def confusion_view(confusion: Confusion, most: int = MOST_LABELS) -> ConfusionView:
    """The labels ordered by their errors; those beyond `most` are merged.

    Examples:
        >>> table = Confusion(labels=("A", "B", "C"), counts=((0, 0, 0), (0, 0, 2), (0, 1, 0)),
        ...                   missed=(1, 0, 0), spurious=(0, 0, 4))
        >>> view = confusion_view(table, most=2)
        >>> view.labels, view.merged, view.counts, view.missed
        (['C', 'others'], 2, [[0, 1], [2, 0]], [0, 1])
    """
    size = len(confusion.labels)
    inside = [sum(confusion.counts[at]) + sum(row[at] for row in confusion.counts) for at in range(size)]
    errors = [sum(each) for each in zip(inside, confusion.missed, confusion.spurious, strict=True)]
    order = sorted(range(size), key=lambda at: (-errors[at], at))
    groups = [[at] for at in order]
    if size > most:
        groups = [*groups[: most - 1], order[most - 1 :]]
    merged = len(groups[-1]) if size > most else 0
    return ConfusionView(
        labels=[confusion.labels[group[0]] for group in groups[: -1 if merged else None]]
        + (["others"] if merged else []),
        counts=[
            [sum(confusion.counts[g][p] for g in gold for p in predicted) for predicted in groups]
            for gold in groups
        ],
        missed=[sum(confusion.missed[at] for at in group) for group in groups],
        spurious=[sum(confusion.spurious[at] for at in group) for group in groups],
        merged=merged,
    )  # fmt: skip


# ---- the page of an evaluation ---------------------------------------------------------------------


WeakParts: TypeAlias = tuple[dict[int, Markup], list[tuple[Markup, Markup]]]
FEWEST_ON_BOARD = 3  # a page with fewer systems has no leaderboard


class DatasetView(Struct, frozen=True):
    """What the templates show for one dataset: the leaderboard, and each system alone."""

    name: str
    document: Evaluation
    order: Sequence[str]
    labels: Sequence[str]
    attributes: Sequence[str]
    confusions: Mapping[str, ConfusionView]
    standings: Sequence[Standing]
    tied: int
    matrix: Sequence[Sequence[MatrixCell | None]]
    about: str  # the primary score
    beside: Sequence[tuple[str, str]]  # the other scores and their short names
    charts: Mapping[str, Markup]
    middle: Mapping[str, str]  # the run that represents a system with several, in words
    untested: str  # why some pairs have no test, in words
    how: str  # the test behind letters and brackets, in words
    bold: str  # what a bold score means
    notes: str  # what else must be said about the tests


def _untested(shown: ShownDataset) -> str:
    """Why some pairs of systems were not tested, in words; empty if all were."""
    systems = len(shown.order)
    if len(shown.document.comparisons) >= systems * (systems - 1) // 2:
        return ""
    if any(len(runs) > 1 for runs in shown.runs.values()):
        return "a study tests the pairs that it names under compare and those that differ in only one factor"
    return "the document holds no test of that pair"


def view_of(shown: ShownDataset, drawn: Mapping[str, str]) -> DatasetView:
    """What the templates show for one dataset, including its charts."""
    standings, captions = standings_of(shown), tested(shown.document).captions(shown.order)
    return DatasetView(
        name=shown.name,
        document=shown.document,
        order=list(shown.order),
        labels=scored_labels(shown.document),
        attributes=_attributes(shown),
        confusions={name: confusion_view(shown.document.systems[name].confusion) for name in shown.order},
        standings=standings,
        tied=brackets(standings),
        matrix=matrix(shown),
        about=words.PRIMARY_SCORES[shown.primary],
        beside=[(key, title) for key, title in COLUMNS.items() if key != shown.primary],
        charts={name: Markup(chart) for name, chart in drawn.items()},
        untested=_untested(shown),
        how=sentences.named_test(shown.document.comparisons, shown.document.settings, shown.family),
        bold=captions[0],
        notes=captions[1],
        middle={name: _worded_run(shown, name) for name in shown.order if shown.several(name)},
    )


def evaluation_parts(document: Evaluation) -> dict[str, object]:
    """The values that the template of an evaluation needs."""
    shown = evaluation_shown(document)
    few = len(shown.order) < FEWEST_ON_BOARD
    drawings = evaluation_drawings(document, _attributes(shown)) if few else own_drawings(shown)
    view = view_of(shown, svg(drawings))
    return {
        "document": document,
        "title": _title(document),
        "view": view,
        "weak": document.weak,
        "weak_parts": _weak(document, view.order),
        "suspects": document.suspects,
        "further": _further(document, view.order),
        "answers": [
            (name, cards_of([replace(section, name=f"{section.name}-{at}") for section in sections], {}, []))
            for at, (name, sections) in enumerate(of_systems(document.answers or {}))
        ],
        "data": {"sets": [packed_set(shown)]},
        "answer": answered(document, view.order),
        "openings": [
            opening(document, name, [other for other in view.order if other != name]) for name in view.order
        ],
        "overlapping": OVERLAPPING,
        **(_few(document, view) if few else {"template": "many.html.jinja", "sets": [view]}),
    }


def _weak(document: Evaluation, order: Sequence[str]) -> WeakParts:
    """Where systems are weak, by their places, and where the first two differ, with its title."""
    weak = document.weak
    if not weak:
        return {}, []

    def link(row: SearchedSlice | DifferentSlice, **system: str) -> str:
        return examples(row.units, unit="gold", where=row.where, **system)

    own = {}
    for at, name in enumerate(order):
        if name in weak.systems:
            blocks = weak_slices(weak, weak.systems[name], partial(link, system=name))
            own[at] = drawn(_slices(blocks, f"weak slices of {name}"))
    pairs = []
    for pair in weak.comparison:
        if pair.slices and set(pair.systems) <= set(order[:2]):
            title = pair_title(pair)
            blocks = different_slices(weak, pair, link)
            pairs.append((isolated(title), drawn(_slices(blocks, str(title)))))
    return own, pairs


def _slices(blocks: Sequence[Block], title: str) -> Section:
    return Section("weak", literal(title), tuple(blocks), on=ON_PAGES)


def _further(document: Evaluation, order: Sequence[str]) -> list[Card]:
    """The sections that few evaluations have: levels of labels, what answers cost, and doubts about gold."""
    suspects = doubted(document.suspects) if document.suspects else None
    present = [section for section in (by_level(ShownSystems(document)), suspects) if section is not None]
    return [*cards_of(present, {}, order), *_costs(document, order)]


def _costs(document: Evaluation | Study, order: Sequence[str]) -> list[Card]:
    """What answers cost, as a table and in charts."""
    priced = costs(document)
    if priced is None:
        return []
    charts = svg(evaluation.cost_drawings(document, Style(PAGE)))
    drawn_below = Section("cost-charts", literal(""), tuple(map(Chart, charts)), on=ON_PAGES)
    return cards_of([priced, drawn_below], {name: Markup(chart) for name, chart in charts.items()}, order)


def packed_set(shown: ShownDataset) -> dict[str, object]:
    """The data of one dataset for the scripts; with two or more systems, also that of every pair."""
    packed = contents(shown)
    return {**packed, "board": packed_pairs(shown)} if len(shown.order) > 1 else packed


def _few(document: Evaluation, view: DatasetView) -> dict[str, object]:
    """The template values for one or two systems, which are compared in every chart."""
    return {
        "template": "evaluation.html.jinja",
        "order": view.order,
        "labels": view.labels,
        "attributes": view.attributes,
        "primary": document.settings.primary or "f1",
        "primary_path": PRIMARY[document.settings.primary or "f1"],
        "findings": findings(document),
        "selected": selected(document.findings),
        "most_labels": evaluation.MOST_LABELS,
        "charts": view.charts,
        "compared": compared,
        "comparison": next(iter(document.comparisons), None),
    }


def own_drawings(shown: ShownDataset) -> list[marks.Drawing]:
    """The charts of each system alone; comparisons are drawn by the script for the chosen pair.

    Their numbers link to sentences, so of several runs only one is drawn, and the titles name it.
    """
    style = Style(PAGE, linked=True)
    document = shown.document
    drawings = []
    for index, name in enumerate(shown.order):
        alone = replace(document, systems={name: document.systems[name]}, comparisons=())
        of_run = f", {_worded_run(shown, name)}" if shown.several(name) else ""
        for make in (errors.gains, errors.shares, evaluation.slices, errors.diagnosis):
            drawing = make(alone, name, style)
            if drawing is not None:
                title = f"{drawing.title}{of_run}"
                drawings.append(replace(drawing, name=f"{drawing.name}-{index}", title=title))
    return drawings


def _worded_run(shown: ShownDataset, name: str) -> str:
    """The run that represents a system with several, in words."""
    runs = shown.runs[name]
    return f"run {words.visible(middle_run(runs))}, the median of {len(runs)} by F1"


def _title(document: Evaluation) -> str:
    names = ", ".join(words.visible(name) for name in document.systems)
    data = words.visible(document.dataset.name or "data")
    return f"{names} on {data}" if names else data


def _attributes(shown: ShownDataset) -> list[str]:
    """The attributes of all systems, ordered by the gap of the best system, widest first."""
    gaps: dict[str, float] = {}
    for name in shown.order:
        for attribute, table in shown.document.systems[name].attributes.items():
            gaps.setdefault(attribute, float(table.gap or 0.0))
    return sorted(gaps, key=lambda name: (-gaps[name], titled(name)))


def evaluation_drawings(document: Evaluation, attributes: Sequence[str]) -> list[marks.Drawing]:
    """The charts of an evaluation."""
    style = Style(PAGE, linked=True)
    drawings: list[marks.Drawing | None] = [
        evaluation.score(document, style),
        evaluation.silver(document, style),
    ]
    for index, focus in enumerate(evaluation.shown(document)):
        per_system = (
            errors.gains(document, focus, style),
            errors.shares(document, focus, style),
            evaluation.tough(document, focus, style),
            evaluation.slices(document, focus, style),
            errors.diagnosis(document, focus, style),
        )
        drawings += [replace(drawing, name=f"{drawing.name}-{index}") for drawing in per_system if drawing]
    drawings += [evaluation.attribute(document, name, style) for name in attributes]
    if label_order(document):
        drawings.append(evaluation.labels(document, style))
    return [drawing for drawing in drawings if drawing is not None]


# ---- the page of a study ---------------------------------------------------------------------------


class IncreaseTable(Struct, frozen=True):
    """The relative increase in F1 of one system over another, by dataset, attribute and bucket."""

    columns: list[tuple[str, list[str]]]
    rows: Mapping[str, Mapping[tuple[str, str], float | None]]
    most: float


def study_parts(document: Study) -> dict[str, object]:
    """The values that the template of a study needs."""
    from spanwise.reports._charts import study

    analyses = document.analyses
    datasets = list(document.datasets)
    tests = tested_in(document)
    results = [cell for row in analyses.holistic.values() for cell in row.values()]
    subsets = {name for row in analyses.tough.values() for part in row.values() for name in part}
    shown = study_shown(document)
    drawn = svg(
        [
            *_study_drawings(document),
            *(
                replace(drawing, name=f"{at}/{drawing.name}")
                for at, dataset in enumerate(shown)
                for drawing in own_drawings(dataset)
            ),
        ]
    )
    charts = {name: chart for name, chart in drawn.items() if "/" not in name}
    sets = [
        view_of(dataset, {n.partition("/")[2]: c for n, c in drawn.items() if n.startswith(f"{at}/")})
        for at, dataset in enumerate(shown)
    ]
    return {
        "document": document,
        "template": "study.html.jinja",
        "title": words.visible(document.name or "study"),
        "sets": sets,
        "data": {"sets": [packed_set(dataset) for dataset in shown]} if sets else None,
        "names": study.systems(document),
        "score": words.study_score(analyses),
        "answer": answered(document, study.systems(document)),
        "verdicts": verdicts(document, study.systems(document)),
        "odd": oddities(document),
        "known": shown_points(document),
        "telling": study_sentences(document),
        "overlapping": OVERLAPPING,
        "leads": leads(document),
        "ranked": ranked_systems(document),
        "scales": scales(document),
        "place": place,
        "averages": averages(document),
        "datasets": datasets,
        "tests": {dataset: _cells(document, dataset) for dataset in datasets},
        "letters": study_letters(document) if tests.tested else {},
        "how": sentences.named_test(tests.comparisons, document.settings, family_of(document)),
        "bold": tests.captions(analyses.holistic)[0],
        "notes": tests.captions(analyses.holistic)[1],
        "reversals": reversals(document),
        "over_datasets": over_datasets(document),
        "runs": max((cell.runs for cell in results), default=0),
        "attributes": inner_keys(analyses.model_wise),
        "alias": study.alias,
        "costs": _costs(document, study.systems(document)),
        "pairs": [(pair, _increase(pair)) for pair in analyses.bucket_wise.comparative],
        "factors": [name for name, row in analyses.factors.items() if row.line],
        "charts": {name: Markup(chart) for name, chart in charts.items()},
        "subsets": [subset for subset in words.TOUGH if subset in subsets],
    }


def _cells(document: Study, dataset: str) -> dict[str, object]:
    """What the main results of a dataset show: the systems in bold, and the letters that each one beats."""
    tests = tested_on(document, dataset)
    means = {
        name: row[dataset].mean if dataset in row else None
        for name, row in document.analyses.holistic.items()
    }
    return {"bold": tests.bold(means), "beats": tests.beats}


def _increase(pair: PairDiagnosis) -> IncreaseTable:
    from spanwise.reports._charts import study

    values = {
        dataset: {(attribute, bucket): value for attribute, bucket, value in study.heat_row(pair, dataset)}
        for dataset in pair.datasets
    }
    most = max((abs(v) for row in values.values() for v in row.values() if v is not None), default=0.0)
    return IncreaseTable(study.heat_columns(pair), values, most)


def _study_drawings(document: Study) -> list[marks.Drawing]:
    from spanwise.reports._charts import study

    style = Style(PAGE)
    drawings: list[marks.Drawing | None] = [
        study.holistic(document, style), study.radar(document, "zeta", style),
        study.radar(document, "rho1", style), study.drivers(document, style),
    ]  # fmt: skip
    for index, name in enumerate(document.analyses.factors):
        drawing = study.factor(document, name, style)
        drawings.append(replace(drawing, name=f"factor-{index}") if drawing else None)
    return [drawing for drawing in drawings if drawing is not None]


# ---- the page of confidence scores -----------------------------------------------------------------
