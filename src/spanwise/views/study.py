"""The view of a study: its data, the scores of its systems on every dataset, and the tests between them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from spanwise.document import given
from spanwise.document.scores import PRIMARY_SCORES, Comparison, ScoreTest
from spanwise.document.study import PairDiagnosis, Study, SubsetSpread
from spanwise.rates import is_rate
from spanwise.views import Section, View, cells, sentences, tabled, variation, wording
from spanwise.views.cells import (
    EVERYWHERE,
    PAPER,
    SHOWN,
    Cell,
    Column,
    Grid,
    Number,
    Phrase,
    Phrases,
    Room,
)
from spanwise.views.dataset import MARKS, TINY, mentions
from spanwise.views.lookups import inner_keys
from spanwise.views.parts import ranged
from spanwise.views.points import shown_points
from spanwise.views.runs import by_dataset
from spanwise.views.scores import costs, in_words, pair_names
from spanwise.views.standing import alone, decides, family_of, study_letters, tested_in, tested_on
from spanwise.views.statements import out_of_reach
from spanwise.views.systems import over_runs
from spanwise.views.verdict import verdict

# The order of tables in papers; those of each dataset follow.
TABLES = (
    "holistic", "costs", "scores", "datasets", "model_wise", "model_wise_by_dataset", "attribute_wise",
    "friedman", "friedman_systems", "friedman_datasets", "tough", "self_diagnosis", "worst_against_best",
    "comparative_diagnosis", "wilcoxon", "pays", "factors", "rank_flips", "statements",
)  # fmt: skip
MOST_PAIRS = 15


def study_view(document: Study, *, short: bool = False) -> View:
    """The answer, all sections of a study, and the tables of an evaluation for each dataset.

    Args:
        short: whether papers name attributes as eLen, eCon.
    """
    found, parts = verdict(document), tuple(by_dataset(document))
    return View(
        title="study",
        about=cells.literal(found.test),
        verdict=found.answer,
        sections=(*study_sections(document, short=short), *parts),
        statements=tuple(map(cells.literal, shown_points(document).findings)),
        notes=found.checks,
        inputs=document.inputs,
        systems=tuple(document.analyses.holistic),
        tables=(*TABLES, *(section.name for section in parts)),
    )


def study_sections(document: Study, *, short: bool = False) -> list[Section]:
    """The sections about all datasets together."""
    sections = [
        holistic(document),
        costs(document),
        differences(document),
        over_data_and_runs(document),
        *variation.sections(document, short=short),
        *on_tough(document),
        data(document),
        scores(document),
        in_words(document),
    ]
    return [section for section in sections if section is not None]


def primary_of(document: Study) -> str:
    """The score that systems are ranked and tested by, in words."""
    return wording.PRIMARY_SCORES[document.settings.primary or "f1"]


def data(document: Study) -> Section:
    """The size of every dataset, and how many systems and runs it has."""
    rows: list[list[Cell]] = []
    for name, part in document.datasets.items():
        facts = part.dataset
        sizes = (
            (facts.documents, facts.sentences, facts.tokens, facts.mentions, len(facts.labels))
            if facts
            else (None,) * 5
        )
        runs = [len(of_system) for of_system in part.runs.values()]
        rows.append([Phrase(name, "strong"), *map(cells.count, sizes), cells.count(len(runs)), _range(runs)])
    columns = [
        Column("dataset", least=10), Column("documents", on=PAPER), Column("sentences", right=True),
        Column("tokens", right=True, rank=2), Column("mentions", right=True),
        Column("labels", right=True, rank=1), Column("systems", right=True, rank=1, on=SHOWN),
        Column("runs each", right=True, rank=1, on=SHOWN),
    ]  # fmt: skip
    return Section("datasets", cells.words("Data"), (Grid(columns, rows, indent=1),), caption="The datasets.")


def _range(numbers: Sequence[int]) -> str:
    if not numbers:
        return "0"
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}–{high}"


# ---- scores ----------------------------------------------------------------------------------------


def holistic(document: Study) -> Section | None:
    """Systems by datasets: the mean score and its spread over runs, with letters if systems were tested."""
    table = document.analyses.holistic
    if not table:
        return None
    own, tests = study_letters(document), tested_in(document)
    lettered = len(table) > 1 and tests.tested
    columns = {dataset: _of_dataset(document, dataset) for dataset in inner_keys(table)}
    average = variation.average(document)
    rows: list[list[Cell]] = []
    for at, system in enumerate(table):
        # Means over datasets are not tested, so none of them is bold beside tested scores.
        mean = [replace(average[at], best=average[at].best and not lettered)] if average else []
        title = f"{own[system]}  {system}" if lettered else system
        scored = [numbers[at] for numbers in columns.values()]
        rows.append([Phrase(title, "strong"), own[system], system, *scored, *mean])
    score, primary = wording.study_score(document.analyses), primary_of(document)
    bold, about = tests.captions(table)
    test = sentences.named_test(tests.comparisons, document.settings, family_of(document))
    letters = len(table) - 1 if lettered else 0
    grid = Grid(
        [
            Column("system", least=12, on=SHOWN), Column("letter", on=PAPER if lettered else ()),
            Column("system", on=PAPER),
            *(Column(name, right=True, least=8, letters=letters) for name in columns),
            *([Column("mean", right=True, on=PAPER)] if average else []),
        ],
        rows,
        split=True,
    )  # fmt: skip
    by = "" if primary == score else f"letters: by {primary} · "
    notes = [f"{by}bold: {bold} · {test}", *([about] if about else [])] if lettered else []
    means = "Exact-match F1" if score == "F1" else score[0].upper() + score[1:]
    caption = f"{means} in points: mean and sample standard deviation over runs."
    if len(table) > 1:
        caption += f" Bold: {bold}."
    if lettered:
        caption += (
            f" Raised letters: significantly better than the system with that letter ({test}, p < .05)."
        )
    if about:
        caption += f" {wording.capital(about)}."
    return Section(
        "holistic",
        cells.words("Systems"),
        (grid, *(cells.note(text, "faint") for text in notes)),
        f"{score}, mean ± std over runs" + (" · letters: significantly better than" if lettered else ""),
        caption,
        EVERYWHERE if len(document.datasets) > 1 or score != primary else PAPER,
    )


def _of_dataset(document: Study, dataset: str) -> list[Number]:
    """The score of every system on one dataset."""
    tests = tested_on(document, dataset)
    parts = {name: row.get(dataset) for name, row in document.analyses.holistic.items()}
    best = tests.bold({name: None if cell is None else cell.mean for name, cell in parts.items()})
    return [
        replace(over_runs(cell), letters=tests.beats[name], best=name in best) for name, cell in parts.items()
    ]


SCORES = {
    name: wording.STUDY_SCORES[name]
    for name in ("precision", "recall", "f1", "fair_precision", "fair_recall", "fair_f1")
}


def scores(document: Study) -> Section:
    """Precision, recall and F1, counted traditionally and fairly, of every system on every dataset."""
    table = document.analyses.scores
    primary = PRIMARY_SCORES[document.settings.primary or "f1"]
    own = {primary: primary_of(document)} if is_rate(primary) and primary not in SCORES else {}
    rows: list[list[Cell]] = []
    for dataset in inner_keys(table):
        systems = [system for system in table if dataset in table[system]]
        tests = tested_on(document, dataset)
        parts = [table[system][dataset] for system in systems]
        columns = {name: [over_runs(part.get(name)) for part in parts] for name in SCORES | own}
        if primary in columns:
            numbers = dict(zip(systems, columns[primary], strict=True))
            best = tests.bold({name: number.value for name, number in numbers.items()})
            columns[primary] = [replace(number, best=name in best) for name, number in numbers.items()]
        rows += [
            [dataset, system, *(numbers[at] for numbers in columns.values())]
            for at, system in enumerate(systems)
        ]
    caption = (
        "Traditional and fair scores (Ortmann 2022) in points: mean and sample standard deviation over runs."
    )
    if len(table) > 1:
        caption += f" Bold, for {primary_of(document)} alone: {tested_in(document).captions(table)[0]}."
    return tabled("scores", "Scores", ("dataset", "system", *SCORES.values(), *own.values()), rows, caption)


def on_tough(document: Study) -> list[Section]:
    """Recall on all and on tough mentions: mean and spread over runs, and the range over systems."""
    table = document.analyses.tough
    shown: list[Grid] = []
    rows: list[list[Cell]] = []
    for dataset in inner_keys(table):
        parts = {system: row.get(dataset, {}) for system, row in table.items()}
        facts = document.datasets[dataset].dataset if dataset in document.datasets else None
        of_all = document.analyses.scores
        overall = [of_all.get(system, {}).get(dataset, {}).get("recall") for system in table]
        if any(spread is not None for spread in overall):
            gold = facts.mentions if facts else None
            rows.append([dataset, "ALL", mentions(gold), *ranged([over_runs(one) for one in overall], gold)])
        lines: list[list[Cell]] = []
        for subset in inner_keys(parts):
            spreads = [part.get(subset) for part in parts.values()]
            sizes = [given(spread.mentions) for spread in spreads if spread is not None]
            gold = max((size for size in sizes if size is not None), default=None)
            numbers = [over_runs(spread) for spread in spreads]
            counted = mentions(gold, facts.mentions if facts else None)
            rows.append([dataset, subset, counted, *ranged(numbers, gold)])
            if any(wording.defined(number.value) for number in numbers):
                lines.append([Phrase(wording.tough(subset), "strong"), *map(_with_mark, spreads)])
        shown += [cells.matrix(dataset, table, lines)] if lines else []
    caption = (
        "Recall on all and on tough mentions (Tu and Lignos 2021): mean and sample standard deviation over"
        f" runs. Range: highest minus lowest system. {MARKS}"
    )
    paper = cells.table(("dataset", "subset", "gold", *table, "range"), rows, PAPER)
    note = f"recall, mean ± std over runs · † under {TINY} mentions"
    on = EVERYWHERE if len(document.datasets) > 1 else PAPER
    return variation.grouped("tough", "Tough mentions", [(grid,) for grid in shown], paper, note, caption, on)


def _with_mark(spread: SubsetSpread | None) -> Phrases:
    few = spread is not None and spread.mentions is not UNSET and spread.mentions < TINY
    return Phrases((Phrase(over_runs(spread).text), Phrase("†" if few else "", "warn")))


# ---- differences on each dataset, over datasets, over data and runs --------------------------------


def differences(document: Study) -> Section | None:
    """For every pair, the difference on each dataset with its paired test, and over all datasets."""
    datasets, pairs = document.datasets, document.analyses.bucket_wise.comparative
    tests: dict[tuple[str, str], dict[str, ScoreTest]] = {}
    for dataset, part in datasets.items():
        for comparison in part.comparisons:
            if comparison.primary is not None:
                tests.setdefault(comparison.systems, {})[dataset] = comparison.primary
    diagnosed = {pair.systems: pair for pair in pairs}
    keys = list(dict.fromkeys([*diagnosed, *tests]))
    rows: list[list[Cell]] = [
        [
            pair_names(*key), *(_starred(tests.get(key, {}).get(name)) for name in datasets),
            *_over_all(document, diagnosed.get(key)),
        ]
        for key in keys
    ]  # fmt: skip
    if not rows or len(datasets) < 2:
        return None
    columns = [
        Column("pair", least=14, names=True),
        *(Column(name, right=True, least=6, place=at) for at, name in enumerate(datasets)),
        Column("mean", right=True),
        Column("p", right=True, rank=1),
        Column("better on", right=True, rank=2),
        Column("fu20-wilcoxon", right=True, rank=3),
    ]
    blocks = [pair.over_datasets for pair in pairs if pair.over_datasets]
    notes = [
        "p: Wilcoxon over datasets, corrected · better on: datasets on which the first, and the second, is "
        "significantly better by itself · fu20-wilcoxon: uncorrected, over datasets × runs; runs on one test "
        "set are not independent",
        *dict.fromkeys(f"Wilcoxon over datasets: {test.note}" for test in blocks if test.note),
    ]
    return Section(
        "differences",
        cells.words("Differences"),
        (
            Grid(columns, rows, MOST_PAIRS, room=Room(40, 9, 99, "first", "datasets")),
            *(cells.note(text, "faint") for text in notes),
        ),
        f"{primary_of(document)} · mean over datasets, all runs · * significant, corrected",
        on=SHOWN,
    )


def _starred(test: ScoreTest | None) -> Phrases:
    if test is None:
        return Phrases(())
    star = Phrase("*" if test.significant else " ", "good")
    return Phrases((Phrase(wording.signed(test.difference), "strong"), star))


def _over_all(document: Study, pair: PairDiagnosis | None) -> list[Cell]:
    """The mean difference over datasets with its test, on how many each is better, and Fu20's p."""
    if pair is None or not pair.overall:
        return ["", "", "", ""]
    test = pair.over_datasets
    # Older documents only have the mean over the pairs of runs.
    overall = test or pair.overall
    p = given(test.p_corrected) if test and test.datasets > 1 else None
    tested: Cell = ""
    if test and not decides(test):
        tested = Phrase(out_of_reach(test), "faint")
    elif test and p is not None:
        tested = Phrases((Phrase(wording.p_value(p)), Phrase("*" if test.significant else " ", "good")))
    first, second = alone(document, pair).values()
    return [
        cells.signed(given(overall.difference), "strong"),
        tested,
        f"{first} : {second} of {wording.count(test.datasets)}" if test else "",
        Phrase(wording.p_value(pair.overall.p), "faint"),
    ]


def over_data_and_runs(document: Study) -> Section | None:
    """The differences when both data and runs vary, if systems have several runs."""
    tested: list[Comparison] = []
    rows: list[list[Cell]] = []
    for dataset, part in document.datasets.items():
        for comparison in part.comparisons:
            test = comparison.primary
            if test is None or test.interval is None or min(comparison.runs or (0,)) < 2:
                continue
            tested.append(comparison)
            rows.append(
                [
                    " − ".join(comparison.systems), dataset, cells.interval(test.interval, differs=True),
                    wording.p_value(test.p_corrected), Phrase("*" if test.significant else " ", "good"),
                ]
            )  # fmt: skip
    if not rows or len(document.datasets) < 2:
        return None
    columns = [
        Column("pair", least=14, names=True), Column("dataset", least=6), Column("95% CI"),
        Column("p", right=True), Column(),
    ]  # fmt: skip
    about = sentences.named_test(tested, document.settings, family_of(document))
    note = cells.note(f"{about} · intervals are not corrected", "faint")
    title = cells.words("Over data and runs at once")
    table = Grid(columns, rows, MOST_PAIRS)
    return Section("data and runs", title, (table, note), "t-test · * significant, corrected", on=SHOWN)
