"""How scores vary over buckets in a study: by model and attribute, where systems are weak, and what pays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from spanwise.document import given
from spanwise.document.scores import BucketLead
from spanwise.document.study import AttributeWise, BlockTest, ModelWise, PairedTest, SelfDiagnosis, Study
from spanwise.statistics import LEVEL
from spanwise.views import Section, cells, tabled, wording
from spanwise.views.buckets import BucketContents, bucket_contents, bucket_legend
from spanwise.views.cells import (
    EVERYWHERE,
    PAPER,
    SHOWN,
    Block,
    Cell,
    Column,
    Flow,
    Grid,
    Number,
    Phrase,
    Phrases,
    Surface,
)
from spanwise.views.lookups import differing, greyed, inner_keys, reversals, score_path, slice_words
from spanwise.views.scores import pair_names
from spanwise.views.systems import marked, over_runs

MOST_FLIPS = 8
DEPENDENT = "Runs on one test set are not independent, so p is too small."


def sections(document: Study, *, short: bool) -> Iterator[Section]:
    """All sections about buckets, and those about choices."""
    yield from by_model(document, short)
    yield from by_attribute(document, short)
    yield from self_diagnosis(document, short)
    yield from comparative_diagnosis(document, short)
    yield from buckets(document)
    yield from rank_flips(document)
    yield friedman(document, short)
    yield friedman_matrix(document, document.analyses.model_wise, "system", "datasets × runs", short)
    yield friedman_matrix(document, document.analyses.attribute_wise, "dataset", "models × runs", short)
    yield worst_against_best(document, short)
    yield wilcoxon(document, short)
    yield pays(document, short)
    yield factors(document)


def grouped(
    name: str,
    title: str,
    groups: Sequence[Sequence[Block]],
    paper: Grid,
    note: str,
    caption: str,
    on: tuple[Surface, ...] = EVERYWHERE,
) -> list[Section]:
    """Several tables under one title on screens and pages, which are one table in papers."""
    first, *others = groups or [()]
    shown = tuple(surface for surface in on if surface in SHOWN)
    return [
        Section(name, cells.words(title), (*first, paper), note, caption, on),
        *(
            Section(f"{name}-{at}", cells.words(""), tuple(blocks), on=shown)
            for at, blocks in enumerate(others, start=1)
        ),
    ]


def average(document: Study) -> list[Number]:
    """The mean score of every system over datasets; empty if the document has none."""
    means = document.analyses.average
    systems = list(document.analyses.holistic)
    return marked([cells.points(means[name].mean) for name in systems]) if set(systems) <= set(means) else []


# ---- by model and by attribute ---------------------------------------------------------------------


def by_model(document: Study, short: bool) -> Iterator[Section]:
    """Systems by attributes: rank correlation with the bucket number and deviation over buckets."""
    table = document.analyses.model_wise
    score = wording.study_score(document.analyses)
    rows: list[list[Cell]] = [
        [Phrase(wording.attribute(name), "strong"), *(_both(row.get(name)) for row in table.values())]
        for name in inner_keys(table)
    ]
    shown = cells.matrix("attribute", table, rows)
    header, means = _model_wise(document, "mean", average(document), short)
    about = f"Spearman's correlation of {score} with the bucket number and standard deviation of {score} over"
    yield Section(
        "model_wise",
        cells.words("By model"),
        (shown, cells.table(("system", *header), means, PAPER)),
        "S^ρ / S^σ over buckets · (…): buckets may not differ, p ≥ .05",
        f"Model-wise: {about} buckets, mean over datasets (Fu, Liu and Neubig 2020). {_grey(document)}",
    )
    of_datasets: list[list[Cell]] = []
    for dataset in document.datasets:
        scores = [cell.get(dataset) for cell in document.analyses.holistic.values()]
        header, part = _model_wise(document, dataset, marked([over_runs(one) for one in scores]), short)
        of_datasets += [[dataset, *row] for row in part]
    caption = f"Model-wise by dataset: {about} buckets (Fu, Liu and Neubig 2020). {_grey(document)}"
    titles = ("dataset", "system", *header)
    yield tabled("model_wise_by_dataset", "By model and dataset", titles, of_datasets, caption)


def _both(row: ModelWise | None) -> Cell:
    if row is None:
        return Phrase(wording.UNDEFINED, "faint")
    words = f"{wording.correlation(row.spearman.get('mean'))} / {wording.points(row.std.get('mean'))}"
    # Brackets mark without colour what grey marks with it.
    return Phrase(f"({words})", "faint") if greyed(row) else words


def _grey(document: Study) -> str:
    """What bold and grey mean; buckets are not tested by fair scores."""
    test = "test over units, datasets combined, p ≥ .05"
    if score_path(document.analyses)[0] == "fair":
        test = "no test by fair scores"
    return f"Bold: the largest of its column. Grey or in brackets: buckets cannot be told apart ({test})."


def _model_wise(
    document: Study, key: str, scores: Sequence[Number], short: bool
) -> tuple[list[str], list[list[Cell]]]:
    """S^ρ and S^σ of every system on one dataset, or their means, after the system's score if it is known."""
    table = document.analyses.model_wise
    columns: list[Sequence[Number]] = [scores] if scores else []
    header = [wording.study_score(document.analyses)] if scores else []
    for attribute in inner_keys(table):
        parts = [row.get(attribute) for row in table.values()]
        weak = [part is None or _weak(part, key) for part in parts]
        for sign, field, form in (("Sρ", "spearman", wording.correlation), ("Sσ", "std", wording.points)):
            values = [None if part is None else getattr(part, field).get(key) for part in parts]
            numbers = [
                Number(value, form(value), weak=grey) for value, grey in zip(values, weak, strict=True)
            ]
            columns.append(_largest(numbers))
            header.append(f"{wording.attribute(attribute, short=short)} {sign}")
    return header, [[system, *(column[at] for column in columns)] for at, system in enumerate(table)]


def _weak(cell: ModelWise, key: str) -> bool:
    """Whether the buckets cannot be told apart: on the dataset if it has its own test, else overall."""
    if key != "mean" and cell.buckets_differ and key in cell.buckets_differ.datasets:
        p = cell.buckets_differ.datasets[key]
        return p is None or not p < LEVEL
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


def by_attribute(document: Study, short: bool) -> Iterator[Section]:
    """Datasets by attributes: mean value, rank correlation and deviation over models."""
    rows: list[list[Cell]] = []
    for dataset, attributes in document.analyses.attribute_wise.items():
        for attribute, row in attributes.items():
            weak = greyed(row)
            style = "faint" if weak else ""
            rho = Number(row.rho1, wording.correlation(row.rho1).removeprefix("+"), weak=weak, style=style)
            rows.append(
                [
                    Phrase(dataset, "strong"), wording.attribute(attribute, short=short),
                    _plain(row.zeta), replace(rho, text=f"({rho.text})") if weak else rho, rho,
                    Number(row.rho2, wording.correlation(row.rho2), weak=weak, style=style),
                    Number(row.sigma, wording.points(row.sigma), weak=weak, style=style),
                    cells.p_value(differing(row)),
                ]
            )  # fmt: skip
    columns = [
        Column("dataset", least=8), Column("attribute", least=14), Column("ζ", right=True),
        Column("ρ¹", right=True, on=SHOWN), Column("ρ¹", on=PAPER), Column("ρ²", right=True),
        Column("σ", right=True), Column("p", right=True, rank=1),
    ]  # fmt: skip
    caption = (
        "Attribute-wise: mean value ζ, mean absolute (ρ¹) and signed (ρ²) rank correlation of "
        f"{wording.study_score(document.analyses)} with the bucket number and mean deviation σ over models."
        " Grey or in brackets: the buckets cannot be told apart (test over units, p ≥ .05)."
    )
    note = "what drives difficulty, mean over models · p: do buckets differ?"
    if rows:
        yield Section("attribute_wise", cells.words("By attribute"), (Grid(columns, rows),), note, caption)


def friedman(document: Study, short: bool) -> Section:
    """Fu20's Friedman tests over buckets, for every system and every dataset."""
    tests: tuple[tuple[str, Mapping[str, Mapping[str, ModelWise | AttributeWise]]], ...] = (
        ("system", document.analyses.model_wise),
        ("dataset", document.analyses.attribute_wise),
    )
    rows: list[list[Cell]] = [
        [
            kind, name, wording.attribute(attribute, short=short), cells.count(given(row.friedman.blocks)),
            _plain(row.friedman.statistic), _small(row.friedman),
        ]
        for kind, table in tests
        for name, attributes in table.items()
        for attribute, row in attributes.items()
    ]  # fmt: skip
    caption = (
        "fu20-friedman: tests over buckets (Fu, Liu and Neubig 2020). Blocks: datasets × runs for a system,"
        f" models × runs for a dataset. {DEPENDENT}"
    )
    header = ("of", "name", "attribute", "blocks", "statistic", "p")
    return tabled("friedman", "Friedman's tests", header, rows, caption)


def friedman_matrix(
    document: Study,
    table: Mapping[str, Mapping[str, ModelWise | AttributeWise]],
    kind: str,
    blocks: str,
    short: bool,
) -> Section:
    """p of Fu20's Friedman tests, systems or datasets by attributes."""
    attributes = inner_keys(table)
    rows: list[list[Cell]] = [
        [name, *(_small(row[key].friedman if key in row else None) for key in attributes)]
        for name, row in table.items()
    ]
    caption = (
        f"p of Friedman's test over buckets for every {kind}, blocks being {blocks} (Fu, Liu and Neubig"
        f" 2020). Grey or in brackets: p ≥ .05. {DEPENDENT}"
    )
    header = (kind, *(wording.attribute(name, short=short) for name in attributes))
    return tabled(f"friedman_{kind}s", f"Friedman's tests by {kind}", header, rows, caption)


def _small(test: BlockTest | PairedTest | None) -> Number:
    if test is None:
        return Number(None, wording.UNDEFINED)
    return Number(test.p, wording.small_p(test.p), weak=test.p is None or not test.p < LEVEL)


def _plain(value: float | None) -> Number:
    return Number(value, wording.plain(value))


# ---- where systems are weak, and where one leads ---------------------------------------------------


def self_diagnosis(document: Study, short: bool) -> Iterator[Section]:
    """The worst and best bucket of every system, dataset and attribute."""
    table = document.analyses.bucket_wise.self_
    rows: list[list[Cell]] = [
        [
            system, dataset, wording.attribute(attribute, short=short),
            row.worst or wording.UNDEFINED, cells.points(given(row.worst_f1)),
            row.best or wording.UNDEFINED, cells.points(given(row.best_f1)),
            cells.points(row.gap), cells.p_value(row.wilcoxon.p if row.wilcoxon else None),
        ]
        for system, datasets in table.items()
        for dataset, attributes in datasets.items()
        for attribute, row in attributes.items()
    ]  # fmt: skip
    score = wording.study_score(document.analyses)
    ends = ("worst", f"worst {score}", "best", f"best {score}")
    paper = cells.table(("system", "dataset", "attribute", *ends, "gap", "p"), rows, PAPER)
    caption = (
        f"Self-diagnosis: worst and best bucket, their {score} and the difference."
        " p: Wilcoxon of worst against best over runs, as in Fu, Liu and Neubig (2020);"
        " the buckets are chosen by the same scores."
    )
    groups = []
    for system, datasets in table.items():
        lines: list[list[Cell]] = [
            [Phrase(wording.attribute(name), "strong"), *(_gap(row.get(name)) for row in datasets.values())]
            for name in inner_keys(datasets)
        ]
        groups.append([cells.matrix(system, datasets, lines)])
    note = f"worst → best bucket and the {score} between them"
    yield from grouped("self_diagnosis", "Self-diagnosis", groups, paper, note, caption)


def _gap(row: SelfDiagnosis | None) -> Cell:
    if row is None:
        return Phrase(wording.UNDEFINED, "faint")
    ends = f"{row.worst or wording.UNDEFINED} → {row.best or wording.UNDEFINED} "
    return Phrases((Phrase(ends, "faint"), Phrase(wording.points(row.gap), "strong")))


def worst_against_best(document: Study, short: bool) -> Section:
    """Fu20's signed-rank test of the worst against the best bucket of every system and attribute."""
    rows: list[list[Cell]] = []
    for system, attributes in document.analyses.model_wise.items():
        for attribute, row in attributes.items():
            test = given(row.wilcoxon)
            if test is not None:
                name, pairs = wording.attribute(attribute, short=short), cells.count(given(test.pairs))
                rows.append([system, name, pairs, _plain(test.statistic), _small(test)])
    caption = (
        "fu20-wilcoxon: signed-rank tests of the worst against the best bucket over datasets × runs"
        " (Fu, Liu and Neubig 2020). The buckets are chosen by the same scores, and runs on one test set"
        " are not independent, so p is too small."
    )
    header = ("system", "attribute", "pairs", "statistic", "p")
    return tabled("worst_against_best", "Worst against best bucket", header, rows, caption)


def comparative_diagnosis(document: Study, short: bool) -> Iterator[Section]:
    """Where the first system of every pair leads most and least."""
    pairs = document.analyses.bucket_wise.comparative
    score = wording.study_score(document.analyses)
    rows: list[list[Cell]] = [
        [
            *pair.systems, dataset, wording.attribute(attribute, short=short), *_lead(leads.best),
            *_lead(leads.worst), cells.signed(leads.beta),
        ]
        for pair in pairs
        for dataset, attributes in pair.datasets.items()
        for attribute, leads in attributes.items()
    ]  # fmt: skip
    of_both = (f"{score} first", f"{score} second")
    ends = ("leads most", "by", *of_both, "leads least", "by", *of_both)
    paper = cells.table(("first", "second", "dataset", "attribute", *ends, "β"), rows, PAPER)
    caption = (
        f"Comparative diagnosis: the buckets where the first leads the second most and least, in {score}."
    )
    groups: list[list[Block]] = []
    for pair in pairs:
        names = inner_keys(pair.datasets)
        if not names:
            continue
        lines: list[list[Cell]] = []
        for name in names:
            leads = [attributes.get(name) for attributes in pair.datasets.values()]
            both = [
                Phrase(wording.UNDEFINED, "faint") if one is None
                else Phrases((*_end(one.best, "good"), Phrase("  "), *_end(one.worst, "bad")))
                for one in leads
            ]  # fmt: skip
            lines.append([Phrase(wording.attribute(name), "strong"), *both])
        title = Flow([pair_names(*pair.systems, "strong").parts])
        table = cells.matrix("attribute", pair.datasets, lines)
        groups.append([title, table, *_differing(pair.wilcoxon)])
    note = f"buckets where the first leads most and least, {score}"
    yield from grouped("comparative_diagnosis", "Comparative diagnosis", groups, paper, note, caption)


def _lead(lead: BucketLead | None) -> list[Cell]:
    if lead is None:
        return [wording.UNDEFINED, *(Number(None, wording.UNDEFINED) for _ in range(3))]
    values = [cells.points(given(score)) for score in (lead.first, lead.second)]
    return [lead.bucket, cells.signed(lead.difference), *values]


def _end(lead: BucketLead | None, style: str) -> tuple[Phrase, ...]:
    if lead is None:
        return (Phrase(wording.UNDEFINED, "faint"),)
    return Phrase(f"{lead.bucket} ", "faint"), Phrase(wording.signed(lead.difference), style)


def _differing(tests: Mapping[str, Mapping[str, PairedTest]]) -> list[Block]:
    """The buckets that differ significantly over datasets and runs, or why none does."""
    tested = [
        (p, f"{wording.attribute(name)} {bucket}", test)
        for name, buckets in tests.items()
        for bucket, test in buckets.items()
        for p in [test.p if test.p_corrected is UNSET else test.p_corrected]
        if p is not None
    ]
    real = [[Phrase(f"{words} ({wording.p_value(p)})")] for p, words, _ in tested if p < LEVEL]
    if real:
        return [Flow([[Phrase("fu20-wilcoxon, corrected p: ", "faint"), *real[0]], *real[1:]])]
    if not tested:
        return []
    p, _, test = min(tested, key=lambda row: row[0])
    why = f"; {test.note}" if test.note else f", smallest corrected p {wording.p_value(p)}"
    return [cells.note(f"fu20-wilcoxon: no bucket differs significantly{why}", "faint")]


def wilcoxon(document: Study, short: bool) -> Section:
    """Fu20's signed-rank test of every pair in every bucket, and overall."""
    rows: list[list[Cell]] = []
    for pair in document.analyses.bucket_wise.comparative:
        if pair.overall:
            rows.append([*pair.systems, "overall", "all", *_test(pair.overall)])
        for attribute, tests in pair.wilcoxon.items():
            name = wording.attribute(attribute, short=short)
            rows += [[*pair.systems, name, bucket, *_test(test)] for bucket, test in tests.items()]
    numbers = ("difference", "pairs", "statistic", "p", "corrected p")
    caption = (
        "fu20-wilcoxon: signed-rank tests over datasets × runs of equal name (which are not independent)."
        " Bold: significant after correction, p < .05."
    )
    header = ("first", "second", "attribute", "bucket", *numbers)
    return tabled("wilcoxon", "Wilcoxon's tests", header, rows, caption)


def _test(test: PairedTest) -> list[Cell]:
    return [
        replace(cells.signed(given(test.difference)), best=bool(test.significant)),
        cells.count(given(test.pairs)),
        _plain(test.statistic),
        cells.p_value(test.p),
        cells.p_value(given(test.p_corrected)),
    ]


def buckets(document: Study) -> Iterator[Section]:
    """What the buckets of each attribute contain: once if it is the same in all datasets, else for each."""
    tables: dict[str, dict[str, BucketContents]] = {}
    for dataset, part in document.datasets.items():
        for runs in part.runs.values():
            for run in runs.values():
                for name, table in run.attributes.items():
                    tables.setdefault(name, {}).setdefault(dataset, bucket_contents(table))
    rows: list[tuple[list[str], BucketContents]] = []
    for name, by_dataset in tables.items():
        parts = list(by_dataset.items())
        if len({tuple(contents) for contents in by_dataset.values()}) == 1 < len(parts):
            parts = [("all", parts[0][1])]
        rows += [([wording.attribute(name), dataset], contents) for dataset, contents in parts]
    titles = ["attribute", "dataset"]
    if len({dataset for (_, dataset), _ in rows}) == 1:
        titles, rows = titles[:1], [(names[:1], contents) for names, contents in rows]
    legend = bucket_legend(rows, titles)
    if legend is not None:
        note = "from the lowest values to the highest"
        yield Section("legend", cells.words("Buckets"), (legend,), note, on=SHOWN)


def rank_flips(document: Study) -> Iterator[Section]:
    """The slices in which the order of two systems reverses."""
    flips = document.analyses.bucket_wise.rank_flips
    rows: list[list[Cell]] = [
        [
            flip.dataset, slice_words(flip), cells.count(flip.gold),
            flip.overall, wording.signed(flip.lead), cells.points(flip.lead),
            Phrase(flip.here, "strong"), Phrase(wording.signed(flip.reversal), "strong"),
            cells.points(flip.reversal),
        ]
        for flip in flips
    ]  # fmt: skip
    columns = [
        Column("dataset", least=8), Column("slice", least=14), Column("gold", on=PAPER),
        Column("leads overall", least=8), Column(right=True, on=SHOWN), Column("by", on=PAPER),
        Column("leads here", least=8), Column(right=True, on=SHOWN), Column("by", on=PAPER),
    ]  # fmt: skip
    if rows:
        sure = len(reversals(document)) or "none"
        words = f"a description: both directions are significant in {sure} of {len(rows)}"
        yield Section(
            "rank_flips",
            cells.words("Rank flips"),
            (Grid(columns, rows, MOST_FLIPS), cells.note(words, "faint")),
            "slices where scores are in the other order than overall",
            "Slices in which the scores of two systems are in the other order than overall. A description:"
            f" both directions are significant in {sure} of them.",
        )


# ---- where a choice pays ---------------------------------------------------------------------------


def pays(document: Study, short: bool) -> Section:
    """The gain of the first system of every pair on every dataset, beside ζ of the attributes."""
    zeta = document.analyses.attribute_wise
    attributes = inner_keys(zeta)
    rows: list[list[Cell]] = []
    for pair in document.analyses.bucket_wise.comparative:
        for dataset, gain in pair.gains.items():
            of_dataset = zeta.get(dataset, {})
            values = [of_dataset[name].zeta if name in of_dataset else None for name in attributes]
            rows.append([*pair.systems, dataset, cells.signed(gain), *map(_plain, values)])
        if pair.pays:
            trends = [pair.pays[name].statistic if name in pair.pays else None for name in attributes]
            correlations = [Number(value, wording.correlation(value)) for value in trends]
            rows.append([*pair.systems, "Spearman", Number(None, ""), *correlations])
    caption = (
        f"Where a choice pays: {wording.study_score(document.analyses)} of the first system less that of the"
        " second on every dataset beside ζ, the mean value of every attribute, and Spearman's correlation of"
        " the two over datasets."
    )
    names = [f"ζ {wording.attribute(name, short=short)}" for name in attributes]
    header = ("first", "second", "dataset", "gain", *names)
    return tabled("pays", "Where a choice pays", header, rows, caption)


def factors(document: Study) -> Section:
    """The gain over the lowest value of a numeric factor, among systems equal in all others."""
    datasets = list(document.datasets)
    rows: list[list[Cell]] = [
        [
            factor, ", ".join(f"{key} = {value}" for key, value in group.factors.items()), step.system,
            _plain(step.value), *(cells.signed(step.gains.get(name)) for name in datasets),
            cells.signed(step.gain),
        ]
        for factor, line in document.analyses.factors.items()
        for group in line.groups
        for step in group.steps
    ]  # fmt: skip
    caption = (
        f"Gain in {wording.study_score(document.analyses)} over the lowest value of a factor, among systems"
        " that are equal in all other factors."
    )
    header = ("factor", "others", "system", "value", *datasets, "mean")
    return tabled("factors", "Factors", header, rows, caption)
