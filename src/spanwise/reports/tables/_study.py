"""The tables of a study: scores, data, how scores vary over buckets, and where systems are weak."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from spanwise.document.scores import PRIMARY_SCORES, BucketLead
from spanwise.document.study import AttributeWise, BlockTest, ModelWise, PairedTest, Spread, Study
from spanwise.reports.tables._table import Table, paper
from spanwise.views import sentences as sentences
from spanwise.views import wording as say
from spanwise.views.cells import Number, count, p_value, points, signed
from spanwise.views.cells import PaperCell as Cell
from spanwise.views.dataset import TINY, mentions
from spanwise.views.lookups import differing, greyed, inner_keys, reversals, score_path, slice_words
from spanwise.views.parts import ranged
from spanwise.views.scores import in_words
from spanwise.views.standing import family_of, study_letters, tested_in, tested_on
from spanwise.views.systems import marked


def over_runs(spread: Spread | None) -> Number:
    """A mean over runs, with its standard deviation."""
    if spread is None:
        return Number(None, say.UNDEFINED)
    return Number(spread.mean, say.spread(spread.mean, spread.std), std=spread.std)


def holistic(document: Study, *, short: bool = False) -> Table | None:
    """Systems by datasets: mean F1 and its spread over runs, with letters if systems were tested."""
    table = document.analyses.holistic
    datasets = inner_keys(table)
    own = study_letters(document)
    columns = {}
    for dataset in datasets:
        tests = tested_on(document, dataset)
        cells = {name: table[name].get(dataset) for name in table}
        best = tests.bold({name: None if cell is None else cell.mean for name, cell in cells.items()})
        columns[dataset] = [
            replace(over_runs(cell), letters=tests.beats[name], best=name in best)
            for name, cell in cells.items()
        ]
    tests = tested_in(document)
    lettered = len(table) > 1 and tests.tested
    average = _average(document)
    rows = []
    for index, system in enumerate(table):
        signs = (own[system],) if lettered else ()
        # Means over datasets are not tested, so none of them is bold beside tested scores.
        mean = (replace(average[index], best=average[index].best and not lettered),) if average else ()
        rows.append((*signs, system, *(columns[dataset][index] for dataset in datasets), *mean))
    score = say.study_score(document.analyses)
    bold, notes = tests.captions(table)
    caption = (
        f"{'Exact-match F1' if score == 'F1' else score[0].upper() + score[1:]} in points: mean and sample"
        " standard deviation over runs."
    )
    if len(table) > 1:
        caption += f" Bold: {bold}."
    if lettered:
        test = sentences.named_test(tests.comparisons, document.settings, family_of(document))
        caption += (
            f" Raised letters: significantly better than the system with that letter ({test}, p < .05)."
        )
    if notes:
        caption += f" {say.capital(notes)}."
    header = (*(("letter",) if lettered else ()), "system", *datasets, *(("mean",) if average else ()))
    return Table("holistic", caption, header, tuple(rows))


def _average(document: Study) -> list[Number]:
    """The mean F1 of every system over datasets; empty if the document has none."""
    average = document.analyses.average
    systems = list(document.analyses.holistic)
    return marked([points(average[name].mean) for name in systems]) if set(systems) <= set(average) else []


SCORES = {
    name: say.STUDY_SCORES[name]
    for name in ("precision", "recall", "f1", "fair_precision", "fair_recall", "fair_f1")
}


def scores(document: Study, *, short: bool = False) -> Table | None:
    """Precision, recall and F1, counted traditionally and fairly, of every system on every dataset."""
    table = document.analyses.scores
    rows: list[tuple[Cell, ...]] = []
    for dataset in inner_keys(table):
        systems = [system for system in table if dataset in table[system]]
        tests, primary = tested_on(document, dataset), PRIMARY_SCORES[document.settings.primary or "f1"]
        columns = [[over_runs(table[system][dataset].get(name)) for system in systems] for name in SCORES]
        if primary in SCORES:
            at = list(SCORES).index(primary)
            best = tests.bold({name: cell.value for name, cell in zip(systems, columns[at], strict=True)})
            columns[at] = [
                replace(cell, best=name in best) for name, cell in zip(systems, columns[at], strict=True)
            ]
        rows += [
            (dataset, system, *(column[index] for column in columns)) for index, system in enumerate(systems)
        ]
    caption = (
        "Traditional and fair scores (Ortmann 2022) in points: mean and sample standard deviation over runs."
    )
    if len(table) > 1:
        score = say.PRIMARY_SCORES[document.settings.primary or "f1"]
        caption += f" Bold, for {score} alone: {tested_in(document).captions(table)[0]}."
    return Table("scores", caption, ("dataset", "system", *SCORES.values()), tuple(rows))


def datasets(document: Study, *, short: bool = False) -> Table | None:
    """The size of every dataset."""
    rows: list[tuple[Cell, ...]] = []
    for name, part in document.datasets.items():
        facts = part.dataset
        if facts is not None:
            sizes = [facts.documents, facts.sentences, facts.tokens, facts.mentions, len(facts.labels)]
            rows.append((name, *map(count, sizes)))
    header = ("dataset", "documents", "sentences", "tokens", "mentions", "labels")
    return Table("datasets", "The datasets.", header, tuple(rows))


def model_wise(document: Study, *, short: bool = False) -> Table | None:
    """Systems by attributes: mean F1, mean rank correlation with the bucket number, mean deviation."""
    average = _average(document)
    f1 = [[number] for number in average] or [[] for _ in document.analyses.model_wise]
    score = say.study_score(document.analyses)
    caption = (
        f"Model-wise: Spearman's correlation of {score} with the bucket number and standard deviation of"
        f" {score} over buckets, mean over datasets (Fu, Liu and Neubig 2020). {_grey(document)}"
    )
    header, rows = _model_wise(document, "mean", f1, short=short)
    return Table("model_wise", caption, ("system", *header), tuple(rows))


def _grey(document: Study) -> str:
    """What bold and grey mean; buckets are not tested by fair scores."""
    test = "test over units, datasets combined, p ≥ .05"
    if score_path(document.analyses)[0] == "fair":
        test = "no test by fair scores"
    return f"Bold: the largest of its column. Grey or in brackets: buckets cannot be told apart ({test})."


def model_wise_by_dataset(document: Study, *, short: bool = False) -> Table | None:
    """The numbers of `model_wise` for every dataset."""
    table = document.analyses.holistic
    rows: list[tuple[Cell, ...]] = []
    header: Sequence[str] = ()
    for dataset in document.datasets:
        f1 = [[number] for number in marked([over_runs(row.get(dataset)) for row in table.values()])]
        header, part = _model_wise(document, dataset, f1, short=short)
        rows += [(dataset, *row) for row in part]
    score = say.study_score(document.analyses)
    caption = (
        f"Model-wise by dataset: Spearman's correlation of {score} with the bucket number and standard"
        f" deviation of {score} over buckets (Fu, Liu and Neubig 2020). {_grey(document)}"
    )
    return Table("model_wise_by_dataset", caption, ("dataset", "system", *header), tuple(rows))


def _model_wise(
    document: Study, key: str, f1: Sequence[Sequence[Number]], *, short: bool
) -> tuple[list[str], list[tuple[Cell, ...]]]:
    """S^ρ and S^σ of every system on one dataset, or their means, after the system's score."""
    table = document.analyses.model_wise
    attributes = inner_keys(table)
    columns: list[list[Number]] = []
    header = [say.study_score(document.analyses)] if any(f1) else []
    for attribute in attributes:
        cells = [row.get(attribute) for row in table.values()]
        columns.append(_largest([_rho(cell, key) for cell in cells]))
        columns.append(_largest([_sigma(cell, key) for cell in cells]))
        name = say.attribute(attribute, short=short)
        header += [f"{name} Sρ", f"{name} Sσ"]
    return header, [
        (system, *f1[index], *(column[index] for column in columns)) for index, system in enumerate(table)
    ]


def _rho(cell: ModelWise | None, key: str) -> Number:
    value = None if cell is None else cell.spearman.get(key)
    return Number(value, say.correlation(value), weak=cell is None or _weak(cell, key))


def _sigma(cell: ModelWise | None, key: str) -> Number:
    value = None if cell is None else cell.std.get(key)
    return Number(value, say.points(value), weak=cell is None or _weak(cell, key))


def _weak(cell: ModelWise, key: str) -> bool:
    """Whether the buckets cannot be told apart: on the dataset if it has its own test, else overall."""
    if key != "mean" and cell.buckets_differ and key in cell.buckets_differ.datasets:
        p = cell.buckets_differ.datasets[key]
        return p is None or not p < 0.05
    return greyed(cell)


def _largest(numbers: Sequence[Number]) -> list[Number]:
    """The numbers, with the largest absolute value marked unless all are equal."""
    sizes = [abs(number.value) for number in numbers if number.value is not None]
    if len(set(sizes)) < 2:
        return list(numbers)
    return [
        replace(number, best=number.value is not None and abs(number.value) == max(sizes))
        for number in numbers
    ]


def attribute_wise(document: Study, *, short: bool = False) -> Table | None:
    """Datasets by attributes: mean value, rank correlation and deviation over models."""
    rows: list[tuple[Cell, ...]] = []
    for dataset, attributes in document.analyses.attribute_wise.items():
        for attribute, row in attributes.items():
            weak = greyed(row)
            numbers = [
                Number(row.zeta, say.plain(row.zeta)),
                Number(row.rho1, say.correlation(row.rho1).removeprefix("+"), weak=weak),
                Number(row.rho2, say.correlation(row.rho2), weak=weak),
                Number(row.sigma, say.points(row.sigma), weak=weak),
            ]
            name = say.attribute(attribute, short=short)
            rows.append((dataset, name, *numbers, p_value(differing(row))))
    score = say.study_score(document.analyses)
    caption = (
        f"Attribute-wise: mean value ζ, mean absolute (ρ¹) and signed (ρ²) rank correlation of {score} with"
        " the bucket number and mean deviation σ over models."
        " Grey or in brackets: the buckets cannot be told apart (test over units, p ≥ .05)."
    )
    header = ("dataset", "attribute", "ζ", "ρ¹", "ρ²", "σ", "p")
    return Table("attribute_wise", caption, header, tuple(rows))


def friedman(document: Study, *, short: bool = False) -> Table | None:
    """Fu20's Friedman tests over buckets, for every system and every dataset."""
    rows: list[tuple[Cell, ...]] = []
    tests: tuple[tuple[str, Mapping[str, Mapping[str, ModelWise | AttributeWise]]], ...] = (
        ("system", document.analyses.model_wise),
        ("dataset", document.analyses.attribute_wise),
    )
    for kind, table in tests:
        for name, attributes in table.items():
            for attribute, row in attributes.items():
                test = row.friedman
                statistic = Number(test.statistic, say.plain(test.statistic))
                blocks = count(None if test.blocks is UNSET else test.blocks)
                title = say.attribute(attribute, short=short)
                rows.append((kind, name, title, blocks, statistic, _small(test)))
    header = ("of", "name", "attribute", "blocks", "statistic", "p")
    caption = (
        "fu20-friedman: tests over buckets (Fu, Liu and Neubig 2020). Blocks: datasets × runs for a system,"
        f" models × runs for a dataset. {_DEPENDENT}"
    )
    return Table("friedman", caption, header, tuple(rows))


_DEPENDENT = "Runs on one test set are not independent, so p is too small."


def _small(test: BlockTest) -> Number:
    return Number(test.p, say.small_p(test.p), weak=test.p is None or not test.p < 0.05)


def _matrix(
    table: Mapping[str, Mapping[str, ModelWise]] | Mapping[str, Mapping[str, AttributeWise]], short: bool
) -> tuple[list[str], list[tuple[Cell, ...]]]:
    attributes = inner_keys(table)
    rows: list[tuple[Cell, ...]] = []
    for name, row in table.items():
        cells = [
            _small(row[key].friedman) if key in row else Number(None, say.UNDEFINED) for key in attributes
        ]
        rows.append((name, *cells))
    return [say.attribute(attribute, short=short) for attribute in attributes], rows


def friedman_systems(document: Study, *, short: bool = False) -> Table | None:
    """p of Fu20's Friedman tests, systems by attributes."""
    header, rows = _matrix(document.analyses.model_wise, short)
    caption = (
        "p of Friedman's test over buckets for every system, blocks being datasets × runs (Fu, Liu and Neubig"
        f" 2020). Grey or in brackets: p ≥ .05. {_DEPENDENT}"
    )
    return Table("friedman_systems", caption, ("system", *header), tuple(rows))


def friedman_datasets(document: Study, *, short: bool = False) -> Table | None:
    """p of Fu20's Friedman tests, datasets by attributes."""
    header, rows = _matrix(document.analyses.attribute_wise, short)
    caption = (
        "p of Friedman's test over buckets for every dataset, blocks being models × runs (Fu, Liu and Neubig"
        f" 2020). Grey or in brackets: p ≥ .05. {_DEPENDENT}"
    )
    return Table("friedman_datasets", caption, ("dataset", *header), tuple(rows))


def tough(document: Study, *, short: bool = False) -> Table | None:
    """Recall on all and on tough mentions: mean and spread over runs, and the range over systems."""
    table = document.analyses.tough
    rows: list[tuple[Cell, ...]] = []
    for dataset in inner_keys(table):
        parts = {system: row.get(dataset, {}) for system, row in table.items()}
        facts = document.datasets[dataset].dataset if dataset in document.datasets else None
        overall = [
            document.analyses.scores.get(system, {}).get(dataset, {}).get("recall") for system in table
        ]
        if any(spread is not None for spread in overall):
            cells = [over_runs(spread) for spread in overall]
            gold = facts.mentions if facts else None
            rows.append((dataset, "ALL", mentions(gold), *ranged(cells, gold)))
        for subset in inner_keys(parts):
            spreads = [part.get(subset) for part in parts.values()]
            sizes = [
                spread.mentions for spread in spreads if spread is not None and spread.mentions is not UNSET
            ]
            gold = max(sizes, default=None)
            cells = [over_runs(spread) for spread in spreads]
            rows.append((dataset, subset, mentions(gold), *ranged(cells, gold)))
    caption = (
        "Recall on all and on tough mentions (Tu and Lignos 2021): mean and sample standard deviation over"
        f" runs. Range: highest minus lowest system. † fewer than {TINY} mentions."
    )
    return Table("tough", caption, ("dataset", "subset", "gold", *table, "range"), tuple(rows))


TABLES: dict[str, Callable[..., Table | None]] = {
    maker.__name__: maker
    for maker in (
        holistic,
        scores,
        datasets,
        model_wise,
        model_wise_by_dataset,
        attribute_wise,
        friedman,
        friedman_systems,
        friedman_datasets,
        tough,
    )
}


# ---- where systems are weak, where one leads, where a choice pays ----------------------------------


def self_diagnosis(document: Study, *, short: bool = False) -> Table | None:
    """The worst and best bucket of every system, dataset and attribute."""
    rows: list[tuple[Cell, ...]] = []
    for system, datasets in document.analyses.bucket_wise.self_.items():
        for dataset, attributes in datasets.items():
            for attribute, row in attributes.items():
                p = row.wilcoxon.p if row.wilcoxon else None
                rows.append(
                    (
                        system, dataset, say.attribute(attribute, short=short),
                        row.worst or say.UNDEFINED, points(None if row.worst_f1 is UNSET else row.worst_f1),
                        row.best or say.UNDEFINED, points(None if row.best_f1 is UNSET else row.best_f1),
                        points(row.gap), p_value(p),
                    )
                )  # fmt: skip
    score = say.study_score(document.analyses)
    ends = ("worst", f"worst {score}", "best", f"best {score}")
    header = ("system", "dataset", "attribute", *ends, "gap", "p")
    caption = (
        f"Self-diagnosis: worst and best bucket, their {score} and the difference."
        " p: Wilcoxon of worst against best over runs, as in Fu, Liu and Neubig (2020);"
        " the buckets are chosen by the same scores."
    )
    return Table("self_diagnosis", caption, header, tuple(rows))


def worst_against_best(document: Study, *, short: bool = False) -> Table | None:
    """Fu20's signed-rank test of the worst against the best bucket of every system and attribute."""
    rows: list[tuple[Cell, ...]] = []
    for system, attributes in document.analyses.model_wise.items():
        for attribute, row in attributes.items():
            test = row.wilcoxon
            if isinstance(test, UnsetType):
                continue
            pairs = count(None if test.pairs is UNSET else test.pairs)
            statistic = Number(test.statistic, say.plain(test.statistic))
            small = Number(test.p, say.small_p(test.p), weak=test.p is None or not test.p < 0.05)
            rows.append((system, say.attribute(attribute, short=short), pairs, statistic, small))
    caption = (
        "fu20-wilcoxon: signed-rank tests of the worst against the best bucket over datasets × runs"
        " (Fu, Liu and Neubig 2020). The buckets are chosen by the same scores, and runs on one test set"
        " are not independent, so p is too small."
    )
    header = ("system", "attribute", "pairs", "statistic", "p")
    return Table("worst_against_best", caption, header, tuple(rows))


def comparative_diagnosis(document: Study, *, short: bool = False) -> Table | None:
    """Where the first system of every pair leads most and least."""
    rows: list[tuple[Cell, ...]] = []
    for pair in document.analyses.bucket_wise.comparative:
        for dataset, attributes in pair.datasets.items():
            for attribute, leads in attributes.items():
                name = say.attribute(attribute, short=short)
                ends = (*_lead(leads.best), *_lead(leads.worst))
                rows.append((*pair.systems, dataset, name, *ends, signed(leads.beta)))
    score = say.study_score(document.analyses)
    titles = (f"{score} first", f"{score} second")
    ends = ("leads most", "by", *titles, "leads least", "by", *titles)
    header = ("first", "second", "dataset", "attribute", *ends, "β")
    caption = (
        f"Comparative diagnosis: the buckets where the first leads the second most and least, in {score}."
    )
    return Table("comparative_diagnosis", caption, header, tuple(rows))


def _lead(lead: BucketLead | None) -> list[Cell]:
    if lead is None:
        return [say.UNDEFINED, *(Number(None, say.UNDEFINED) for _ in range(3))]
    values = [points(None if score is UNSET else score) for score in (lead.first, lead.second)]
    return [lead.bucket, signed(lead.difference), *values]


def wilcoxon(document: Study, *, short: bool = False) -> Table | None:
    """Fu20's signed-rank test of every pair in every bucket, and overall."""
    rows: list[tuple[Cell, ...]] = []
    for pair in document.analyses.bucket_wise.comparative:
        if pair.overall:
            rows.append((*pair.systems, "overall", "all", *_test(pair.overall)))
        for attribute, buckets in pair.wilcoxon.items():
            name = say.attribute(attribute, short=short)
            rows += [(*pair.systems, name, bucket, *_test(test)) for bucket, test in buckets.items()]
    numbers = ("difference", "pairs", "statistic", "p", "corrected p")
    caption = (
        "fu20-wilcoxon: signed-rank tests over datasets × runs of equal name (which are not independent)."
        " Bold: significant after correction, p < .05."
    )
    return Table("wilcoxon", caption, ("first", "second", "attribute", "bucket", *numbers), tuple(rows))


def _test(test: PairedTest) -> list[Cell]:
    difference = None if test.difference is UNSET else test.difference
    return [
        replace(signed(difference), best=bool(test.significant)),
        count(None if test.pairs is UNSET else test.pairs),
        Number(test.statistic, say.plain(test.statistic)),
        p_value(test.p),
        p_value(None if test.p_corrected is UNSET else test.p_corrected),
    ]


def pays(document: Study, *, short: bool = False) -> Table | None:
    """The gain of the first system of every pair on every dataset, beside ζ of the attributes."""
    zeta = document.analyses.attribute_wise
    attributes = inner_keys(zeta)
    rows: list[tuple[Cell, ...]] = []
    for pair in document.analyses.bucket_wise.comparative:
        for dataset, gain in pair.gains.items():
            cells = zeta.get(dataset, {})
            values = [cells[name].zeta if name in cells else None for name in attributes]
            numbers = [Number(value, say.plain(value)) for value in values]
            rows.append((*pair.systems, dataset, signed(gain), *numbers))
        if pair.pays:
            trends = [pair.pays[name].statistic if name in pair.pays else None for name in attributes]
            correlations = [Number(value, say.correlation(value)) for value in trends]
            rows.append((*pair.systems, "Spearman", Number(None, ""), *correlations))
    caption = (
        f"Where a choice pays: {say.study_score(document.analyses)} of the first system less that of the"
        " second on every dataset beside ζ, the mean value of every attribute, and Spearman's correlation of"
        " the two over datasets."
    )
    names = [f"ζ {say.attribute(name, short=short)}" for name in attributes]
    return Table("pays", caption, ("first", "second", "dataset", "gain", *names), tuple(rows))


def factors(document: Study, *, short: bool = False) -> Table | None:
    """The gain over the lowest value of a numeric factor, among systems equal in all others."""
    rows: list[tuple[Cell, ...]] = []
    datasets = list(document.datasets)
    for factor, line in document.analyses.factors.items():
        for group in line.groups:
            others = ", ".join(f"{key} = {value}" for key, value in group.factors.items())
            for step in group.steps:
                gains = [signed(step.gains.get(dataset)) for dataset in datasets]
                value = Number(step.value, say.plain(step.value))
                rows.append((factor, others, step.system, value, *gains, signed(step.gain)))
    caption = (
        f"Gain in {say.study_score(document.analyses)} over the lowest value of a factor, among systems that"
        " are equal in all other factors."
    )
    return Table("factors", caption, ("factor", "others", "system", "value", *datasets, "mean"), tuple(rows))


def statements(document: Study, *, short: bool = False) -> Table | None:
    """One sentence per question, ready for a paper."""
    return paper(in_words(document))


def rank_flips(document: Study, *, short: bool = False) -> Table | None:
    """The slices in which the order of two systems reverses."""
    rows = tuple(
        (
            flip.dataset, slice_words(flip), count(flip.gold),
            flip.overall, points(flip.lead), flip.here, points(flip.reversal),
        )
        for flip in document.analyses.bucket_wise.rank_flips
    )  # fmt: skip
    header = ("dataset", "slice", "gold", "leads overall", "by", "leads here", "by")
    sure = len(reversals(document))
    caption = (
        "Slices in which the scores of two systems are in the other order than overall. A description: both"
        f" directions are significant in {sure or 'none'} of them."
    )
    return Table("rank_flips", caption, header, rows)


DIAGNOSES: dict[str, Callable[..., Table | None]] = {
    maker.__name__: maker
    for maker in (
        self_diagnosis,
        worst_against_best,
        comparative_diagnosis,
        wilcoxon,
        pays,
        factors,
        rank_flips,
        statements,
    )
}
