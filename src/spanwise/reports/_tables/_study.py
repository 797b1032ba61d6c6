"""The tables of a study document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from spanwise.reports import _wording as say
from spanwise.reports._document import (
    Document,
    bucket_of,
    common_letters,
    differing,
    greyed,
    inner_keys,
    single_runs,
)
from spanwise.reports._tables._result import count, marked, p_value, points, signed, statements
from spanwise.reports._tables._table import Cell, Number, Table


def _analysis(document: Document, *path: str) -> Any:
    node: Any = document.get("analyses") or {}
    for key in path:
        node = node.get(key) or {}
    return node


def _mean(found: Mapping[str, Any] | None) -> Number:
    row = found or {}
    mean, std = row.get("mean"), row.get("std")
    return Number(mean, say.spread(mean, std), std=std)


def holistic(document: Document) -> Table | None:
    """Systems by datasets: mean F1 and its spread over runs, with letters where they were tested."""
    table = _analysis(document, "holistic")
    datasets = inner_keys(table)
    own, beats = common_letters(table)
    lettered = any(beats.values())
    columns: dict[str, list[Number]] = {}
    for dataset in datasets:
        cells = [replace(_mean(table[one].get(dataset)), letters=beats[one, dataset]) for one in table]
        columns[dataset] = marked(cells)
    rows = []
    for at, system in enumerate(table):
        signs = (own[system],) if lettered else ()
        rows.append((*signs, system, *(columns[dataset][at] for dataset in datasets)))
    caption = (
        "Exact-match F1 in points: mean and sample standard deviation over runs. Bold: best of its dataset."
    )
    if lettered:
        test = say.named_test(document.get("settings") or {})
        caption += (
            f" Raised letters: significantly better than the system with that letter ({test}, p < .05)."
        )
    if lettered and single_runs(table):
        caption += " Where a system has one run: of these models; training seeds not considered."
    header = ("letter", "system", *datasets) if lettered else ("system", *datasets)
    return Table("holistic", caption, header, tuple(rows))


def model_wise(document: Document) -> Table | None:
    """Systems by attributes: mean rank correlation of F1 with the bucket number, and mean deviation."""
    table = _analysis(document, "model_wise")
    attributes = inner_keys(table)
    rows: list[tuple[Cell, ...]] = []
    for system, found in table.items():
        row: list[Cell] = [system]
        for attribute in attributes:
            cell = found.get(attribute) or {}
            weak = greyed(cell)
            rho, sigma = ((cell.get(key) or {}).get("mean") for key in ("spearman", "std"))
            row += [Number(rho, say.correlation(rho), weak=weak), Number(sigma, say.points(sigma), weak=weak)]
        rows.append(tuple(row))
    header = ["system"]
    for attribute in attributes:
        header += [f"{say.attribute(attribute)} Sρ", f"{say.attribute(attribute)} Sσ"]
    caption = (
        "Model-wise: Spearman's correlation of F1 with the bucket number and standard deviation of F1 over"
        " buckets, mean over datasets (Fu, Liu and Neubig 2020)."
        " Grey or in brackets: buckets cannot be told apart (test over units, datasets combined, p ≥ .05)."
    )
    return Table("model_wise", caption, tuple(header), tuple(rows))


def attribute_wise(document: Document) -> Table | None:
    """Datasets by attributes: mean value, rank correlation and deviation over models."""
    rows: list[tuple[Cell, ...]] = []
    for dataset, found in _analysis(document, "attribute_wise").items():
        for attribute, row in found.items():
            weak, p = greyed(row), differing(row)
            numbers = [
                Number(row.get("zeta"), say.plain(row.get("zeta"))),
                Number(row.get("rho1"), say.correlation(row.get("rho1")).removeprefix("+"), weak=weak),
                Number(row.get("rho2"), say.correlation(row.get("rho2")), weak=weak),
                Number(row.get("sigma"), say.points(row.get("sigma")), weak=weak),
            ]
            rows.append((dataset, say.attribute(attribute), *numbers, p_value(p)))
    caption = (
        "Attribute-wise: mean value ζ, mean absolute (ρ¹) and signed (ρ²) rank correlation of F1 with the"
        " bucket number and mean deviation σ over models."
        " Grey or in brackets: the buckets cannot be told apart (test over units, p ≥ .05)."
    )
    return Table(
        "attribute_wise", caption, ("dataset", "attribute", "ζ", "ρ¹", "ρ²", "σ", "Friedman p"), tuple(rows)
    )


def self_diagnosis(document: Document) -> Table | None:
    """Best and worst bucket of every system, dataset and attribute."""
    rows: list[tuple[Cell, ...]] = []
    for system, datasets in _analysis(document, "bucket_wise", "self").items():
        for dataset, attributes in datasets.items():
            for attribute, found in attributes.items():
                ends = [bucket_of(found.get(end)) or say.UNDEFINED for end in ("worst", "best")]
                rows.append((system, dataset, say.attribute(attribute), *ends, points(found.get("gap"))))
    header = ("system", "dataset", "attribute", "worst", "best", "gap")
    return Table(
        "self_diagnosis",
        "Self-diagnosis: worst and best bucket, and the F1 between them.",
        header,
        tuple(rows),
    )


def comparative_diagnosis(document: Document) -> Table | None:
    """Where the first system of every pair leads most and least."""
    rows: list[tuple[Cell, ...]] = []
    for pair in _analysis(document, "bucket_wise", "comparative") or ():
        one, other = pair["systems"]
        for dataset, attributes in pair["datasets"].items():
            for attribute, found in attributes.items():
                ends: list[Cell] = []
                for end in ("best", "worst"):
                    cell = found.get(end)
                    ends += [
                        bucket_of(cell) or say.UNDEFINED,
                        signed(cell.get("difference") if isinstance(cell, Mapping) else None),
                    ]
                rows.append((one, other, dataset, say.attribute(attribute), *ends, signed(found.get("beta"))))
    header = ("first", "second", "dataset", "attribute", "leads most", "by", "leads least", "by", "β")
    caption = "Comparative diagnosis: the buckets where the first leads the second most and least, in F1."
    return Table("comparative_diagnosis", caption, header, tuple(rows))


def wilcoxon(document: Document) -> Table | None:
    """The signed-rank test of every pair in every bucket, and overall."""
    rows: list[tuple[Cell, ...]] = []
    for pair in _analysis(document, "bucket_wise", "comparative") or ():
        whole = {"": {"all": pair["overall"]}} if pair.get("overall") else {}
        for attribute, buckets in {**whole, **(pair.get("wilcoxon") or {})}.items():
            for bucket, test in buckets.items():
                rows.append(
                    (*pair["systems"], say.attribute(attribute) or "overall", bucket, *_test(test, "pairs"))
                )
    header = (
        "first",
        "second",
        "attribute",
        "bucket",
        "difference",
        "pairs",
        "statistic",
        "p",
        "corrected p",
    )
    caption = (
        "fu20-wilcoxon: signed-rank tests over datasets × runs (which are not independent)."
        " Bold: significant after correction, p < .05."
    )
    return Table("wilcoxon", caption, header, tuple(rows))


def _test(test: Mapping[str, Any], size: str) -> list[Cell]:
    difference = replace(signed(test.get("difference")), best=bool(test.get("significant")))
    statistic = Number(test.get("statistic"), say.plain(test.get("statistic")))
    return [
        difference,
        count(test.get(size)),
        statistic,
        p_value(test.get("p")),
        p_value(test.get("p_corrected")),
    ]


def friedman(document: Document) -> Table | None:
    """The Friedman tests over buckets, of every system and of every dataset."""
    rows: list[tuple[Cell, ...]] = []
    for kind in ("model_wise", "attribute_wise"):
        for name, attributes in _analysis(document, kind).items():
            for attribute, row in attributes.items():
                test = row.get("friedman") or {}
                statistic = Number(test.get("statistic"), say.plain(test.get("statistic")))
                blocks, p = count(test.get("blocks")), p_value(test.get("p"))
                what = "system" if kind == "model_wise" else "dataset"
                rows.append((what, name, say.attribute(attribute), blocks, statistic, p))
    header = ("of", "name", "attribute", "blocks", "statistic", "p")
    caption = "fu20-friedman over buckets. Blocks: datasets × runs for a system, models × runs for a dataset."
    return Table("friedman", caption, header, tuple(rows))


def rank_flips(document: Document) -> Table | None:
    """The slices in which the order of two systems turns round."""
    rows: list[tuple[Cell, ...]] = []
    found: Sequence[Mapping[str, Any]] = _analysis(document, "bucket_wise", "rank_flips") or ()
    for row in found:
        numbers = count(row.get("gold")), points(row.get("lead")), points(row.get("reversal"))
        names = str(row.get("overall")), str(row.get("here"))
        rows.append(
            (
                str(row.get("dataset") or ""),
                say.place(row),
                numbers[0],
                names[0],
                numbers[1],
                names[1],
                numbers[2],
            )
        )
    header = ("dataset", "slice", "gold", "leads overall", "by", "leads here", "by")
    return Table("rank_flips", "Slices in which the order of two systems turns round.", header, tuple(rows))


def tough(document: Document) -> Table | None:
    """Recall on tough mentions: mean and spread over runs."""
    table = _analysis(document, "tough")
    rows: list[tuple[Cell, ...]] = []
    for dataset in inner_keys(table):
        for subset in inner_keys({system: found.get(dataset) or {} for system, found in table.items()}):
            cells = [_mean((found.get(dataset) or {}).get(subset)) for found in table.values()]
            rows.append((dataset, subset, *marked(cells)))
    caption = "Recall on tough mentions (Tu and Lignos 2021): mean and sample standard deviation over runs."
    return Table("tough", caption, ("dataset", "subset", *table), tuple(rows))


def datasets(document: Document) -> Table | None:
    """How much there is of what."""
    rows: list[tuple[Cell, ...]] = []
    for name, found in (document.get("datasets") or {}).items():
        facts = found.get("dataset") or {}
        sizes = [count(facts.get(key)) for key in ("documents", "sentences", "tokens", "mentions")]
        rows.append((name, *sizes, count(len(facts.get("labels") or ()))))
    header = ("dataset", "documents", "sentences", "tokens", "mentions", "types")
    return Table("datasets", "The datasets.", header, tuple(rows))


TABLES: dict[str, Callable[[Document], Table | None]] = {
    made.__name__: made
    for made in (
        holistic,
        datasets,
        model_wise,
        attribute_wise,
        self_diagnosis,
        comparative_diagnosis,
        wilcoxon,
        friedman,
        rank_flips,
        tough,
        statements,
    )
}
