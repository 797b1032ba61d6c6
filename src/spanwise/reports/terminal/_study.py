"""The screen of a study: datasets by models by runs, their differences, and the analyses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import UNSET, UnsetType
from rich.cells import cell_len

from spanwise.document import given
from spanwise.document.evaluation import DatasetRuns
from spanwise.document.scores import BucketLead, BucketLeads, Comparison, ScoreTest, Subset
from spanwise.document.study import (
    AttributeWise,
    ModelWise,
    PairDiagnosis,
    PairedTest,
    PlanNotes,
    SelfDiagnosis,
    Spread,
    Study,
    SubsetSpread,
)
from spanwise.reports.terminal._layout import (
    BucketContents,
    Column,
    ScreenCell,
    ScreenLine,
    and_more,
    flow,
    grid,
    heading,
    legend,
    sentence,
    size,
    text,
)
from spanwise.reports.terminal._view import sections_lines
from spanwise.statistics import LEVEL
from spanwise.views import sentences as sentences
from spanwise.views import wording as say
from spanwise.views.dataset import TINY
from spanwise.views.evaluation import evaluation_sections, left_out
from spanwise.views.lookups import differing, greyed, inner_keys, reversals, slice_words
from spanwise.views.shown import ShownDataset, study_shown
from spanwise.views.standing import alone, decides, family_of, study_letters, tested_in, tested_on
from spanwise.views.statements import out_of_reach
from spanwise.views.systems import ShownSystems

MOST_FLIPS = 8
MOST_DATASETS = 3  # the maximum number of datasets shown one by one


def inputs(document: Study, width: int, seconds: float | None) -> list[ScreenLine]:
    """The datasets with their sizes, runs that are missing, and notes."""
    took = "" if seconds is None else f" · evaluated in {seconds:.1f} s"
    return [
        *heading("Data", f"spanwise {say.visible(document.spanwise)}{took}", width),
        *_inputs(document.datasets, width),
        *_warnings(document.plan, width),
        *(line for note in document.notes or () for line in sentence(f"! {say.visible(note)}", width)),
    ]


def sections(document: Study, width: int) -> list[ScreenLine]:
    """Every table of a study."""
    analyses = document.analyses
    buckets, score = analyses.bucket_wise, say.study_score(analyses)
    primary = say.PRIMARY_SCORES[document.settings.primary or "f1"]
    shown = study_shown(document.without_sentences())
    several = len(document.datasets) > 1
    return [
        *(_holistic(document, primary, width) if several or score != primary else []),
        *(differences(document, primary, width) if several else []),
        *([] if several else _evaluated(shown, width)),
        *_model_wise(analyses.model_wise, width),
        *_attribute_wise(analyses.attribute_wise, width),
        *_self(buckets.self_, score, width),
        *_comparative(buckets.comparative, score, width),
        *_bucket_contents(document.datasets, width),
        *_flips(document, width),
        *(_tough(analyses.tough, width) if several else []),
        *(_by_dataset(shown, width) if several else []),
    ]


def main_sections(document: Study, width: int, room: int) -> list[ScreenLine]:
    """The main tables of a study, as many as fit into `room` lines."""
    analyses = document.analyses
    score = say.study_score(analyses)
    primary = say.PRIMARY_SCORES[document.settings.primary or "f1"]
    several = len(document.datasets) > 1
    tables: dict[str, list[ScreenLine]] = {}
    if several or score != primary:
        tables["systems"] = _holistic(document, primary, width)
    if several:
        tables["differences"] = differences(document, primary, width, brief=True)
        tables["tough mentions"] = _tough(analyses.tough, width)
        tables["rank flips"] = _flips(document, width)
    else:
        for dataset in study_shown(document.without_sentences()):
            evaluated = _evaluated([dataset], width, full=False)
            tables |= {f"table {at}": table for at, table in enumerate(_parted(evaluated))}
    tables["model"] = _model_wise(analyses.model_wise, width)
    result: list[ScreenLine] = []
    for table in tables.values():
        if table and (len(result) + len(table) <= room or not result):
            most = max(room, LEAST_ROOM)
            result += table if result or len(table) <= most else _cut_off(table, most)
    return result


LEAST_ROOM = 12  # lines that the first table has in any case


def _cut_off(table: list[ScreenLine], most: int) -> list[ScreenLine]:
    return [*table[: most - 1], [(f"  … {len(table) - most + 1} more lines; --full shows them", "faint")]]


def _parted(lines: Sequence[ScreenLine]) -> list[list[ScreenLine]]:
    """Lines split where a blank line begins a new section."""
    parts: list[list[ScreenLine]] = []
    for line in lines:
        if not line or not parts:
            parts.append([])
        parts[-1].append(line)
    return parts


def _evaluated(
    shown: Sequence[ShownDataset], width: int, *, brief: bool = False, full: bool = True
) -> list[ScreenLine]:
    """The sections about systems from the screen of an evaluation, with means over runs."""
    result: list[ScreenLine] = []
    for dataset in shown:
        sections = evaluation_sections(ShownSystems(dataset.averaged, dataset.deviations), notes=not brief)
        without = left_out(dataset.document, full=full, brief=brief)
        result += sections_lines(sections, width, without)
    return result


def _by_dataset(shown: Sequence[ShownDataset], width: int) -> list[ScreenLine]:
    """The first datasets one after the other, each as on the screen of an evaluation."""
    result: list[ScreenLine] = []
    for dataset in shown[:MOST_DATASETS]:
        rule = "─" * max(0, width - 5 - cell_len(say.visible(dataset.name)))
        result += [[], [(" ── ", "faint"), *text(dataset.name, "strong"), (f" {rule}", "faint")]]
        result += _evaluated([dataset], width, brief=True)
    return [*result, *and_more(len(shown) - MOST_DATASETS, width, "datasets")]


def _inputs(datasets: Mapping[str, DatasetRuns], width: int) -> list[ScreenLine]:
    rows: list[list[ScreenCell]] = []
    for name, part in datasets.items():
        facts = part.dataset
        sizes = (facts.sentences, facts.tokens, facts.mentions, len(facts.labels)) if facts else (None,) * 4
        runs = [len(system_runs) for system_runs in part.runs.values()]
        rows.append([text(name, "strong"), *map(say.count, sizes), say.count(len(runs)), _range(runs)])
    columns = [
        Column("dataset", least=10),
        *(
            Column(title, right=True, rank=rank)
            for title, rank in (("sentences", 0), ("tokens", 2), ("mentions", 0))
        ),
        *(Column(title, right=True, rank=1) for title in ("labels", "systems", "runs each")),
    ]
    return grid(columns, rows, width, indent=1)


def _range(numbers: Sequence[int]) -> str:
    if not numbers:
        return "0"
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}–{high}"


def _matrix(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cell: Callable[[str, str], ScreenLine],
    width: int,
    *,
    worded: bool = False,
) -> list[ScreenLine]:
    """A table with one row and one column per name, split into blocks of columns that fit the width."""
    shown = [say.attribute(name) if worded else say.visible(name) for name in rows]
    drawn = {column: [cell(name, column) for name in rows] for column in columns}
    room = width - 2 - min(26, max(map(cell_len, [title, *shown])))
    blocks: list[list[str]] = []
    left = 0
    for column, cells in drawn.items():
        need = 2 + max([min(cell_len(say.visible(column)), 12), *map(size, cells)])
        if not blocks or need > left:
            blocks.append([])
            left = room
        blocks[-1].append(column)
        left -= need
    result: list[ScreenLine] = []
    for block in blocks:
        table: list[list[ScreenCell]] = [
            [text(label, "strong"), *(drawn[column][index] for column in block)]
            for index, label in enumerate(shown)
        ]
        heads = [Column(say.visible(name), right=True, least=8) for name in block]
        result += [[], *grid([Column(title, least=12), *heads], table, width)]
    return result[1:]


def _holistic(document: Study, primary: str, width: int) -> list[ScreenLine]:
    analyses = document.analyses
    table = analyses.holistic
    if not table:
        return []
    datasets = inner_keys(table)
    on = {name: tested_on(document, name) for name in datasets}
    best = {
        name: tests.bold({system: _mean(row.get(name)) for system, row in table.items()})
        for name, tests in on.items()
    }
    beats = {name: tests.beats for name, tests in on.items()}
    own, tests = study_letters(document), tested_in(document)
    lettered = len(table) > 1 and tests.tested
    titles = {f"{own[system]}  {say.visible(system)}" if lettered else system: system for system in table}

    def cell(title: str, dataset: str) -> ScreenLine:
        system = titles[title]
        result = table[system].get(dataset)
        mean = _mean(result)
        top = system in best[dataset]
        std = result.std if result is not None else None
        words: ScreenLine = [(say.spread(mean, std), "strong" if top else "")]
        if lettered:
            # Pad missing letters with blanks, so that the numbers stay aligned.
            words.append((f" {beats[dataset][system]:<{len(table) - 1}}", "good"))
        return words

    note = f"{say.study_score(analyses)}, mean ± std over runs" + (
        " · letters: significantly better than" if lettered else ""
    )
    about = "" if primary == say.study_score(analyses) else f"letters: by {primary} · "
    bold, notes = tests.captions(table)
    test = sentences.named_test(tests.comparisons, document.settings, family_of(document))
    return [
        *heading("Systems", note, width),
        *_matrix("system", list(titles), datasets, cell, width),
        *(sentence(f"{about}bold: {bold} · {test}", width, style="faint") if lettered else []),
        *(sentence(notes, width, style="faint") if lettered and notes else []),
    ]


def _mean(spread: Spread | None) -> float | None:
    return None if spread is None else spread.mean


def _warnings(plan: PlanNotes | UnsetType, width: int) -> list[ScreenLine]:
    words = []
    if plan and plan.missing:
        words.append(f"{say.plural(len(plan.missing), 'run')} missing")
    if plan and plan.identical:
        words.append(f"{say.plural(len(plan.identical), 'file')} the same as another run, counted once")
    for row in plan.shared if plan else ():
        named = " and ".join(f"{say.visible(system)} (run {say.visible(run)})" for system, run in row.runs)
        words.append(f"{say.visible(row.dataset)}: {named} have the same predictions")
    return flow([[("! ", "warn"), *text(word)] for word in words], width)


def _model_wise(table: Mapping[str, Mapping[str, ModelWise]], width: int) -> list[ScreenLine]:
    attributes = inner_keys(table)
    if not attributes:
        return []

    def cell(attribute: str, system: str) -> ScreenLine:
        row = table[system].get(attribute)
        if row is None:
            return [(say.UNDEFINED, "faint")]
        words = f"{say.correlation(row.spearman.get('mean'))} / {say.points(row.std.get('mean'))}"
        # Brackets mark without colour what grey marks with it.
        return [(f"({words})", "faint")] if greyed(row) else [(words, "")]

    return [
        *heading("By model", "S^ρ / S^σ over buckets · (…): buckets may not differ, p ≥ .05", width),
        *_matrix("attribute", attributes, list(table), cell, width, worded=True),
    ]


def _attribute_wise(table: Mapping[str, Mapping[str, AttributeWise]], width: int) -> list[ScreenLine]:
    rows: list[list[ScreenCell]] = []
    for dataset, attributes in table.items():
        for name, row in attributes.items():
            weak = greyed(row)
            style = "faint" if weak else ""
            rho = say.correlation(row.rho1).removeprefix("+")
            rows.append(
                [
                    text(dataset, "strong"),
                    text(say.attribute(name)),
                    say.plain(row.zeta),
                    [(f"({rho})" if weak else rho, style)],
                    [(say.correlation(row.rho2), style)],
                    [(say.points(row.sigma), style)],
                    say.p_value(differing(row)),
                ]
            )
    columns = [
        Column("dataset", least=8),
        Column("attribute", least=14),
        Column("ζ", right=True),
        Column("ρ¹", right=True),
        Column("ρ²", right=True),
        Column("σ", right=True),
        Column("p", right=True, rank=1),
    ]
    note = "what drives difficulty, mean over models · p: do buckets differ?"
    return [*heading("By attribute", note, width), *grid(columns, rows, width)] if rows else []


def _self(
    table: Mapping[str, Mapping[str, Mapping[str, SelfDiagnosis]]], score: str, width: int
) -> list[ScreenLine]:
    result: list[ScreenLine] = []
    for system, datasets in table.items():
        attributes = inner_keys(datasets)

        def cell(
            attribute: str, dataset: str, datasets: Mapping[str, Mapping[str, SelfDiagnosis]] = datasets
        ) -> ScreenLine:
            row = datasets[dataset].get(attribute)
            if row is None:
                return [(say.UNDEFINED, "faint")]
            return [
                (f"{_bucket(row.worst)} → {_bucket(row.best)} ", "faint"),
                (say.points(row.gap), "strong"),
            ]

        if result:
            result.append([])
        result += _matrix(say.visible(system), attributes, list(datasets), cell, width, worded=True)
    note = f"worst → best bucket and the {score} between them"
    return [*heading("Self-diagnosis", note, width), *result] if result else []


def _bucket(name: str | None) -> str:
    return say.UNDEFINED if name is None else say.visible(name)


def _comparative(pairs: Sequence[PairDiagnosis], score: str, width: int) -> list[ScreenLine]:
    result: list[ScreenLine] = []
    for pair in pairs:
        first, second = pair.systems
        names = inner_keys(pair.datasets)
        if not names:
            continue

        def cell(
            attribute: str, dataset: str, datasets: Mapping[str, Mapping[str, BucketLeads]] = pair.datasets
        ) -> ScreenLine:
            leads = datasets[dataset].get(attribute)
            if leads is None:
                return [(say.UNDEFINED, "faint")]
            return [*_end(leads.best, "good"), ("  ", ""), *_end(leads.worst, "bad")]

        if result:
            result.append([])
        result.append([("  ", ""), *text(first, "strong"), (" − ", "faint"), *text(second, "strong")])
        result += _matrix("attribute", names, list(pair.datasets), cell, width, worded=True)
        result += _wilcoxon(pair.wilcoxon, width)
    note = f"buckets where the first leads most and least, {score}"
    return [*heading("Comparative diagnosis", note, width), *result] if result else []


def _end(lead: BucketLead | None, style: str) -> ScreenLine:
    if lead is None:
        return [(say.UNDEFINED, "faint")]
    return [(f"{_bucket(lead.bucket)} ", "faint"), (say.signed(lead.difference), style)]


def _wilcoxon(tests: Mapping[str, Mapping[str, PairedTest]], width: int) -> list[ScreenLine]:
    """The buckets that differ significantly over datasets and runs, or why none does."""
    tested: list[tuple[float, str, PairedTest]] = []
    for name, buckets in tests.items():
        for bucket, test in buckets.items():
            p = test.p if isinstance(test.p_corrected, UnsetType) else test.p_corrected
            if p is not None:
                tested.append((p, f"{say.attribute(name)} {say.visible(bucket)}", test))
    real = [[(f"{words} ({say.p_value(p)})", "")] for p, words, _ in tested if p < LEVEL]
    if real:
        return flow([[("fu20-wilcoxon, corrected p: ", "faint"), *real[0]], *real[1:]], width, indent=2)
    if not tested:
        return []
    p, _, test = min(tested, key=lambda row: row[0])
    why = f"; {test.note}" if test.note else f", smallest corrected p {say.p_value(p)}"
    return sentence(f"fu20-wilcoxon: no bucket differs significantly{why}", width, style="faint")


def _bucket_contents(datasets: Mapping[str, DatasetRuns], width: int) -> list[ScreenLine]:
    """What the buckets of each attribute contain: once if it is the same in all datasets, else for each."""
    tables: dict[str, dict[str, BucketContents]] = {}
    for dataset, part in datasets.items():
        for runs in part.runs.values():
            for run in runs.values():
                for name, table in run.attributes.items():
                    by_dataset = tables.setdefault(name, {})
                    if dataset not in by_dataset:
                        by_dataset[dataset] = [(bucket.name, say.bucket(bucket)) for bucket in table.buckets]
    rows: list[tuple[list[str], BucketContents]] = []
    for name, by_dataset in tables.items():
        parts = list(by_dataset.items())
        if len({tuple(buckets) for buckets in by_dataset.values()}) == 1 < len(parts):
            parts = [("all", parts[0][1])]
        rows += [([say.attribute(name), dataset], buckets) for dataset, buckets in parts]
    titles = ["attribute", "dataset"]
    if len({dataset for (_, dataset), _ in rows}) == 1:
        titles, rows = titles[:1], [(names[:1], buckets) for names, buckets in rows]
    shown = legend(rows, titles, width)
    return [*heading("Buckets", "from the lowest values to the highest", width), *shown[1:]] if shown else []


def _flips(document: Study, width: int) -> list[ScreenLine]:
    rows = document.analyses.bucket_wise.rank_flips
    table: list[list[ScreenCell]] = [
        [
            text(flip.dataset),
            text(slice_words(flip)),
            text(flip.overall),
            [(say.signed(flip.lead), "")],
            text(flip.here, "strong"),
            [(say.signed(flip.reversal), "strong")],
        ]
        for flip in rows[:MOST_FLIPS]
    ]
    columns = [
        Column("dataset", least=8),
        Column("slice", least=14),
        Column("leads overall", least=8),
        Column("", right=True),
        Column("leads here", least=8),
        Column("", right=True),
    ]
    if not table:
        return []
    sure = len(reversals(document))
    words = f"a description: both directions are significant in {sure or 'none'} of {len(rows)}"
    return [
        *heading("Rank flips", "slices where scores are in the other order than overall", width),
        *grid(columns, table, width),
        *and_more(len(rows) - MOST_FLIPS, width),
        *sentence(words, width, style="faint"),
    ]


def _tough(table: Mapping[str, Mapping[str, Mapping[Subset, SubsetSpread]]], width: int) -> list[ScreenLine]:
    result: list[ScreenLine] = []
    for dataset in inner_keys(table):
        parts = {
            system: {str(subset): spread for subset, spread in row.get(dataset, {}).items()}
            for system, row in table.items()
        }
        words = {
            say.tough(name): name
            for name in inner_keys(parts)
            if any(say.defined(_mean(part.get(name))) for part in parts.values())
        }

        def cell(
            word: str,
            system: str,
            parts: Mapping[str, Mapping[str, SubsetSpread]] = parts,
            words: Mapping[str, str] = words,
        ) -> ScreenLine:
            spread = parts[system].get(words[word])
            std = spread.std if spread is not None else None
            small = spread is not None and spread.mentions is not UNSET and spread.mentions < TINY
            return [(say.spread(_mean(spread), std), ""), ("†" if small else "", "warn")]

        if not words:
            continue
        if result:
            result.append([])
        result += _matrix(say.visible(dataset), list(words), list(table), cell, width)
    note = f"recall, mean ± std over runs · † under {TINY} mentions"
    return [*heading("Tough mentions", note, width), *result] if result else []


# ---- differences on each dataset, over datasets, over data and runs --------------------------------


MOST_PAIRS = 15


def differences(document: Study, score: str, width: int, *, brief: bool = False) -> list[ScreenLine]:
    """For every pair, the difference on each dataset with its paired test, and over all datasets.

    Args:
        brief: whether to leave out the intervals when both data and runs vary.
    """
    datasets, pairs = document.datasets, document.analyses.bucket_wise.comparative
    several = len(datasets) > 1
    tests: dict[tuple[str, str], dict[str, ScoreTest]] = {}
    for dataset, part in datasets.items():
        for comparison in part.comparisons:
            test = comparison.primary
            if test is not None:
                tests.setdefault(comparison.systems, {})[dataset] = test
    diagnosed = {pair.systems: pair for pair in pairs}
    shown = list(datasets)[: max(1, (width - 40) // 9)]
    keys = list(dict.fromkeys([*diagnosed, *tests]))
    rows: list[list[ScreenCell]] = []
    for key in keys[:MOST_PAIRS]:
        names = [*text(key[0]), (" − ", "faint"), *text(key[1])]
        each: list[ScreenCell] = [_marked(tests.get(key, {}).get(name)) for name in shown]
        summary = _over_all(document, diagnosed.get(key))
        rows.append([names, *each, *(summary if several else summary[-1:])])
    if not rows:
        return []
    blocks = [pair.over_datasets for pair in pairs if pair.over_datasets]
    columns = [
        Column("pair", least=14, names=True),
        *(Column(say.visible(name), right=True, least=6) for name in shown),
        *(
            Column(title, right=True, rank=rank)
            for title, rank in (("mean", 0), ("p", 1), ("better on", 2))
            if several
        ),
        Column("fu20-wilcoxon", right=True, rank=3),
    ]
    over = "datasets, all runs" if several else "all runs"
    notes = list(dict.fromkeys(test.note for test in blocks if test.note and several))
    return [
        *heading("Differences", f"{score} · mean over {over} · * significant, corrected", width),
        *grid(columns, rows, width),
        *and_more(len(keys) - MOST_PAIRS, width),
        *_cut(shown, datasets, width),
        *sentence(
            (
                "p: Wilcoxon over datasets, corrected · better on: datasets on which the first, and the"
                " second, is significantly better by itself · "
                if several
                else ""
            )
            + "fu20-wilcoxon: uncorrected, over datasets × runs; runs on one test set are not independent",
            width,
            style="faint",
        ),
        *(
            line
            for note in notes
            for line in sentence(f"Wilcoxon over datasets: {note}", width, style="faint")
        ),
        *([] if brief else _over_both(document, shown, width)),
    ]


def _over_all(document: Study, pair: PairDiagnosis | None) -> list[ScreenCell]:
    """The mean difference over datasets with its test, on how many each is better, and Fu20's p."""
    if pair is None or not pair.overall:
        return ["", "", "", ""]
    test = pair.over_datasets
    # Older documents only have the mean over the pairs of runs.
    overall = test or pair.overall
    p = given(test.p_corrected) if test and test.datasets > 1 else None
    tested: ScreenCell = ""
    if test and not decides(test):
        tested = [(out_of_reach(test), "faint")]
    elif test and p is not None:
        tested = [(say.p_value(p), ""), ("*" if test.significant else " ", "good")]
    first, second = alone(document, pair).values()
    return [
        [(say.signed(given(overall.difference)), "strong")],
        tested,
        f"{first} : {second} of {say.count(test.datasets)}" if test else "",
        [(say.p_value(pair.overall.p), "faint")],
    ]


def _over_both(document: Study, shown: Sequence[str], width: int) -> list[ScreenLine]:
    """The differences when both data and runs vary, if systems have several runs."""
    datasets = document.datasets
    rows: list[list[ScreenCell]] = []
    tested: list[Comparison] = []
    for dataset in shown:
        for comparison in datasets[dataset].comparisons:
            test = comparison.primary
            if test is None or test.interval is None or min(comparison.runs or (0,)) < 2:
                continue
            tested.append(comparison)
            rows.append(
                [
                    " − ".join(say.visible(name) for name in comparison.systems),
                    say.visible(dataset),
                    say.signed_interval(test.interval),
                    say.p_value(test.p_corrected),
                    [("*" if test.significant else " ", "good")],
                ]
            )
    if not rows:
        return []
    columns = [
        Column("pair", least=14, names=True),
        Column("dataset", least=6),
        Column("95% CI"),
        Column("p", right=True),
        Column(""),
    ]
    about = sentences.named_test(tested, document.settings, family_of(document))
    return [
        *heading("Over data and runs at once", "t-test · * significant, corrected", width),
        *grid(columns, rows[:MOST_PAIRS], width),
        *and_more(len(rows) - MOST_PAIRS, width),
        *sentence(f"{about} · intervals are not corrected", width, style="faint"),
    ]


def _cut(shown: Sequence[str], datasets: Mapping[str, DatasetRuns], width: int) -> list[ScreenLine]:
    if len(shown) == len(datasets):
        return []
    words = f"the first {len(shown)} of {len(datasets)} datasets; all are in the JSON"
    return flow([[(words, "faint")]], width, indent=2)


def _marked(test: ScoreTest | None) -> ScreenLine:
    if test is None:
        return []
    return [(say.signed(test.difference), "strong"), ("*" if test.significant else " ", "good")]
