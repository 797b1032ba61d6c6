"""The tables of a study that name buckets: where systems are weak, where one leads, where a choice pays."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET
from msgspec.structs import replace

from spanwise.document.scores import BucketLead
from spanwise.document.study import PairedTest, Study
from spanwise.reports import _wording as say
from spanwise.reports._document import inner_keys, slice_words
from spanwise.reports._tables import _result
from spanwise.reports._tables._result import count, p_value, points, signed
from spanwise.reports._tables._table import Cell, Number, Table


def self_diagnosis(document: Study, *, short: bool = False) -> Table | None:
    """Best and worst bucket of every system, dataset and attribute."""
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
    both = (f"{score} first", f"{score} second")
    ends = ("leads most", "by", *both, "leads least", "by", *both)
    header = ("first", "second", "dataset", "attribute", *ends, "β")
    caption = (
        f"Comparative diagnosis: the buckets where the first leads the second most and least, in {score}."
    )
    return Table("comparative_diagnosis", caption, header, tuple(rows))


def _lead(lead: BucketLead | None) -> list[Cell]:
    if lead is None:
        return [say.UNDEFINED, *(Number(None, say.UNDEFINED) for _ in range(3))]
    both = [points(None if score is UNSET else score) for score in (lead.first, lead.second)]
    return [lead.bucket, signed(lead.difference), *both]


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
    """The gain of the first system of every pair on every dataset, beside ζ of its attributes."""
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
    """One sentence per question, as it can stand in a paper."""
    return _result.statements(document)


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
    return Table("rank_flips", "Slices in which the order of two systems reverses.", header, rows)


TABLES: dict[str, Callable[..., Table | None]] = {
    made.__name__: made
    for made in (self_diagnosis, comparative_diagnosis, wilcoxon, pays, factors, rank_flips, statements)
}
