"""The tables of a result document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from spanwise.diagnosis import letter
from spanwise.reports import _wording as say
from spanwise.reports._document import Document, scored_labels, union
from spanwise.reports._statements import statements as worded
from spanwise.reports._tables._table import Cell, Interval, Number, Table

RELAXED = ("strict", "exact", "partial", "type")
PARTS = ("correct", "incorrect", "partial", "missed", "spurious")


def points(value: float | None) -> Number:
    """A score in points."""
    return Number(value, say.points(value))


def signed(value: float | None) -> Number:
    """A difference in points."""
    return Number(value, say.signed(value))


def interval(ends: Sequence[float | None] | None, *, differs: bool = False) -> Interval:
    """An interval of a score, or of a difference."""
    low, high = ends or (None, None)
    return Interval((low, high), say.signed_interval(ends) if differs else say.interval(ends))


def count(value: float | None) -> Number:
    """A number of mentions."""
    return Number(value, say.count(value))


def p_value(value: float | None) -> Number:
    """A p-value."""
    return Number(value, say.p_value(value))


def marked(numbers: Sequence[Number]) -> list[Number]:
    """The same numbers, the highest marked as best where there is something to choose."""
    inside = [number.value for number in numbers if number.value is not None and say.defined(number.value)]
    if len(inside) < 2:
        return list(numbers)
    return [replace(number, best=number.value == max(inside)) for number in numbers]


def _systems(document: Document) -> Mapping[str, Any]:
    found: Mapping[str, Any] = document.get("systems") or {}
    return found


def _settings(document: Document) -> Mapping[str, Any]:
    found: Mapping[str, Any] = document.get("settings") or {}
    return found


def _resampling(document: Document) -> str:
    settings = _settings(document)
    if not settings.get("resamples"):
        return ""
    level = 100 * (settings.get("confidence") or 0.95)
    few = " (few units)" if settings.get("few_units") else ""
    return f" Intervals: {level:.0f}% logit-t, jackknife over {settings.get('unit', 'sentence')}s{few}."


def _tested(document: Document) -> str:
    return f"{say.named_test(_settings(document))}, p < .05"


def holistic(document: Document) -> Table | None:
    """One row a system: F1 with interval and letters, precision, recall, fair and macro F1."""
    given = _systems(document)
    letters: Mapping[str, str] = document.get("letters") or {}
    # The letters stand in order of F1, and so do the rows.
    systems = {name: given[name] for name in dict.fromkeys([*letters, *given]) if name in given}
    exact = {name: system["exact"]["overall"] for name, system in systems.items()}
    columns = [
        [replace(points(exact[name]["f1"]), letters=letters.get(name) or "") for name in systems],
        [points(exact[name]["precision"]) for name in systems],
        [points(exact[name]["recall"]) for name in systems],
        [points(((system.get("fair") or {}).get("overall") or {}).get("f1")) for system in systems.values()],
        [points((system["exact"].get("macro") or {}).get("f1")) for system in systems.values()],
    ]
    f1, *others = [marked(column) for column in columns]
    rows: list[tuple[Cell, ...]] = []
    for at, name in enumerate(systems):
        ends = (exact[name].get("interval") or {}).get("f1")
        signs = [letter(at)] if letters else []
        rows.append((*signs, name, f1[at], interval(ends), *(column[at] for column in others)))
    caption = "Exact-match F1, precision and recall, fair F1 and macro F1 in points." + _resampling(document)
    if len(systems) > 1:
        caption += " Bold: best."
    if any(letters.values()):
        caption += (
            f" Raised letters: significantly better than the system with that letter ({_tested(document)})."
        )
    header = ("system", "F1", "interval", "precision", "recall", "fair F1", "macro F1")
    return Table("holistic", caption, (("letter", *header) if letters else header), tuple(rows))


def labels(document: Document) -> Table | None:
    """One row a label: precision, recall and F1 of one system, or the F1 of several."""
    systems = _systems(document)
    tables = {name: system["exact"]["labels"] for name, system in systems.items()}
    order = scored_labels(document)
    rows: list[tuple[Cell, ...]] = []
    for label in order:
        cells = {name: table.get(label) or {} for name, table in tables.items()}
        gold = next((cell["gold"] for cell in cells.values() if cell), None)
        if len(systems) == 1:
            (one,) = cells.values()
            scores: list[Number] = [points(one.get(score)) for score in ("precision", "recall", "f1")]
            ends = interval((one.get("interval") or {}).get("f1"))
            rows.append((label, count(gold), *scores, ends))
        else:
            rows.append((label, count(gold), *marked([points(cell.get("f1")) for cell in cells.values()])))
    if len(systems) == 1:
        header: tuple[str, ...] = ("type", "gold", "precision", "recall", "F1", "interval")
        return Table("labels", "Exact-match scores by type." + _resampling(document), header, tuple(rows))
    return Table("labels", "Exact-match F1 by type. Bold: best.", ("type", "gold", *systems), tuple(rows))


def errors(document: Document) -> Table | None:
    """One row a kind of error: how many, and what mending all of them would add to F1."""
    systems = _systems(document)
    if not systems:
        return None
    header = ["error"]
    for name in systems:
        header += ["errors", "F1 gain"] if len(systems) == 1 else [f"{name} errors", f"{name} F1 gain"]
    rows: list[tuple[Cell, ...]] = []
    for kind in say.ERRORS:
        row: list[Cell] = [say.OUTCOMES[kind]]
        for system in systems.values():
            row.append(count(((system.get("fair") or {}).get("overall") or {}).get(kind)))
            row.append(signed(((system.get("gains") or {}).get(kind) or {}).get("gain")))
        rows.append(tuple(row))
    caption = "Errors by kind, each counted once, and the F1 that mending all errors of one kind would add."
    return Table("errors", caption, tuple(header), tuple(rows))


def fair(document: Document) -> Table | None:
    """Traditional and fair scores side by side, with the counts of each outcome."""
    outcomes = ("TP", "LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP")
    rows: list[tuple[Cell, ...]] = []
    for name, system in _systems(document).items():
        overall = (system.get("fair") or {}).get("overall")
        if overall:
            scores = [points(overall[score]) for score in ("precision", "recall", "f1")]
            rows.append((name, *(count(overall.get(kind)) for kind in outcomes), *scores))
    header = (
        "system",
        *(say.OUTCOMES[kind] for kind in outcomes),
        "fair precision",
        "fair recall",
        "fair F1",
    )
    return Table("fair", "Outcomes of mentions and fair scores (Ortmann 2022).", header, tuple(rows))


def credits(document: Document) -> Table | None:
    """Scores under every credit that was asked for, beside the exact and the fair ones."""
    rows: list[tuple[Cell, ...]] = []
    for name, system in _systems(document).items():
        found = {"exact": system["exact"]["overall"], "fair": (system.get("fair") or {}).get("overall") or {}}
        asked = {credit: part["overall"] for credit, part in (system.get("credits") or {}).items()}
        for credit, cell in {**found, **asked}.items() if asked else ():
            rows.append((name, credit, *(points(cell.get(score)) for score in ("precision", "recall", "f1"))))
    header = ("system", "credit", "precision", "recall", "F1")
    return Table("credits", "Scores under several credits for errors (Ortmann 2022).", header, tuple(rows))


def relaxed(document: Document) -> Table | None:
    """The four matchings of MUC and SemEval-2013."""
    rows: list[tuple[Cell, ...]] = []
    for name, system in _systems(document).items():
        for scheme in RELAXED:
            found = (system.get("relaxed") or {}).get(scheme)
            if found:
                parts = [count(found.get(part)) for part in PARTS]
                scores = [points(found[score]) for score in ("precision", "recall", "f1")]
                rows.append((name, scheme, *parts, *scores))
    header = ("system", "matching", *PARTS, "precision", "recall", "F1")
    return Table("relaxed", "Relaxed matchings of MUC and SemEval-2013 task 9.1.", header, tuple(rows))


def tough(document: Document) -> Table | None:
    """Recall on mentions by what training showed of them."""
    systems = _systems(document)
    first = union(systems, "tough")
    rows: list[tuple[Cell, ...]] = []
    for subset in first:
        cells = [
            (system.get("tough") or {}).get(subset, {}).get("overall") or {} for system in systems.values()
        ]
        recalls = marked([points(cell.get("recall")) for cell in cells])
        rows.append(
            (subset, say.TOUGH.get(subset, subset), count(first[subset]["overall"]["mentions"]), *recalls)
        )
    caption = "Recall on tough mentions (Tu and Lignos 2021)."
    names = ["recall"] if len(systems) == 1 else list(systems)
    return Table("tough", caption, ("subset", "mentions", "gold", *names), tuple(rows))


def attributes(document: Document) -> Table | None:
    """One row a system and attribute: worst and best bucket, their gap, and the trend over buckets."""
    rows: list[tuple[Cell, ...]] = []
    for name, system in _systems(document).items():
        for attribute, found in (system.get("attributes") or {}).items():
            buckets = {bucket["name"]: bucket for bucket in found["buckets"]}
            ends: list[Cell] = []
            for end in ("worst", "best"):
                bucket = buckets.get(found.get(end))
                ends += [_bucket(bucket), points(bucket["f1"] if bucket else None)]
            trend = Number(found.get("spearman"), say.correlation(found.get("spearman")))
            rows.append(
                (
                    name,
                    say.attribute(attribute),
                    *ends,
                    points(found.get("gap")),
                    trend,
                    points(found.get("std")),
                )
            )
    header = ("system", "attribute", "worst", "F1", "best", "F1", "gap", "Sρ", "Sσ")
    caption = (
        "Self-diagnosis by attribute: worst and best bucket, the F1 between them, Spearman's correlation of"
        " F1 with the bucket number and the standard deviation over buckets (Fu, Liu and Neubig 2020)."
    )
    return Table("attributes", caption, header, tuple(rows))


def _bucket(bucket: Mapping[str, Any] | None) -> str:
    if bucket is None:
        return say.UNDEFINED
    words = say.bucket(bucket)
    return bucket["name"] if words == bucket["name"] else f"{bucket['name']} {words}"


def buckets(document: Document) -> Table | None:
    """One row a bucket: its gold units and the F1 of every system."""
    systems = _systems(document)
    rows: list[tuple[Cell, ...]] = []
    first = union(systems, "attributes")
    for attribute, found in first.items():
        for bucket in found["buckets"]:
            cells = [_same_bucket(system, attribute, bucket["name"]) for system in systems.values()]
            scores = marked([points(cell.get("f1")) for cell in cells])
            rows.append(
                (say.attribute(attribute), bucket["name"], say.bucket(bucket), count(bucket["gold"]), *scores)
            )
    names = ["F1"] if len(systems) == 1 else list(systems)
    return Table("buckets", "F1 by bucket.", ("attribute", "bucket", "values", "gold", *names), tuple(rows))


def _same_bucket(system: Mapping[str, Any], attribute: str, name: str) -> Mapping[str, Any]:
    found = (system.get("attributes") or {}).get(attribute) or {}
    return next((bucket for bucket in found.get("buckets") or () if bucket["name"] == name), {})


def slices(document: Document) -> Table | None:
    """The slices of every system, the costliest first."""
    rows: list[tuple[Cell, ...]] = []
    for name, system in _systems(document).items():
        for row in system.get("slices") or ():
            score = say.SCORES.get(row["score"], row["score"])
            ends = interval(row.get("interval"))
            rows.append(
                (
                    name,
                    say.slice_title(row),
                    count(row["gold"]),
                    score,
                    points(row["value"]),
                    ends,
                    points(row["cost"]),
                )
            )
    header = ("system", "slice", "gold", "score", "value", "interval", "cost")
    caption = (
        "Slices by cost: share of gold units times how far the score lies below the overall one;"
        " slices under 50 gold units are left out."
    )
    return Table("slices", caption, header, tuple(rows))


def comparisons(document: Document) -> Table | None:
    """Every tested difference of every pair of systems."""
    held = say.held_by_buckets(document.get("systems") or {})
    rows: list[tuple[Cell, ...]] = []
    for comparison in document.get("comparisons") or ():
        one, other = comparison["systems"]
        for row in comparison["scores"]:
            rows.append(
                (
                    one, other, say.path_title(row["path"], held), count(row.get("mentions")),
                    points(row.get("a")), points(row.get("b")),
                    replace(signed(row["difference"]), best=bool(row.get("significant"))),
                    interval(row.get("interval"), differs=True),
                    p_value(row.get("p")), p_value(row.get("p_corrected")),
                )
            )  # fmt: skip
    header = (
        "first",
        "second",
        "score",
        "gold",
        "of first",
        "of second",
        "difference",
        "interval",
        "p",
        "corrected p",
    )
    caption = f"Differences between systems. Bold: significant ({_tested(document)})."
    return Table("comparisons", caption, header, tuple(rows))


def statements(document: Document) -> Table | None:
    """One sentence per question, as it can stand in a paper."""
    caption = "Each pair of systems in words. Intervals of differences are not corrected for many pairs."
    return Table("statements", caption, ("statement",), tuple((text,) for text in worded(document)))


def confusion(document: Document) -> Table | None:
    """Errors only: gold labels as rows, predicted ones as columns, what was missed and what is spurious."""
    systems = _systems(document)
    names = list(
        dict.fromkeys(
            w for system in systems.values() for w in (system.get("confusion") or {}).get("labels", ())
        )
    )
    rows: list[tuple[Cell, ...]] = []
    for name, system in systems.items():
        found = system.get("confusion")
        if not found:
            continue
        at = {label: place for place, label in enumerate(found["labels"])}
        for label in found["labels"]:
            counts = found["counts"][at[label]]
            cells = [count(counts[at[other]]) if other in at else count(0) for other in names]
            rows.append((name, label, *cells, count(found["missed"][at[label]])))
        spurious = [count(found["spurious"][at[other]]) if other in at else count(0) for other in names]
        rows.append((name, "spurious", *spurious, ""))
    caption = (
        "Errors only: gold types as rows, predicted types as columns; boundary errors stand on the diagonal."
    )
    return Table("confusion", caption, ("system", "gold", *names, "missed"), tuple(rows))


def composition(document: Document) -> Table | None:
    """What share of each label's gold mentions lies in each tough subset."""
    dataset = document.get("dataset") or {}
    order = list(dataset.get("label_order") or dataset.get("labels") or ())
    rows: list[tuple[Cell, ...]] = []
    for subset, found in (dataset.get("tough") or {}).items():
        shares = [points((found["labels"].get(label) or {}).get("share")) for label in order]
        rows.append((subset, count(found["overall"]["mentions"]), points(found["overall"]["share"]), *shares))
    caption = "Share of gold mentions in each tough subset, in percent, overall and by type."
    return Table("composition", caption, ("subset", "gold", "all", *order), tuple(rows))


TABLES: dict[str, Callable[[Document], Table | None]] = {
    made.__name__: made
    for made in (
        holistic,
        labels,
        errors,
        fair,
        credits,
        relaxed,
        tough,
        attributes,
        buckets,
        slices,
        comparisons,
        statements,
        confusion,
        composition,
    )
}
