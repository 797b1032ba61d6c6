"""The screen of a study: datasets by models by runs, and what its analyses say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.cells import cell_len

from spanwise.diagnosis import F1
from spanwise.reports import _wording as say
from spanwise.reports._document import (
    Document,
    bucket_of,
    common_letters,
    differing,
    greyed,
    highest,
    inner_keys,
    score_row,
    single_runs,
    union,
)
from spanwise.reports.terminal._buckets import legend
from spanwise.reports.terminal._frame import banner, in_words
from spanwise.reports.terminal._layout import (
    Cell,
    Column,
    Line,
    and_more,
    flow,
    grid,
    heading,
    sentence,
    size,
    text,
)
from spanwise.statistics import LEVEL

MOST_FLIPS = 8
MOST_PAIRS = 15


def lines(document: Document, width: int, seconds: float | None) -> list[Line]:
    """All sections of a study."""
    analyses: Mapping[str, Any] = document.get("analyses") or {}
    buckets: Mapping[str, Any] = analyses.get("bucket_wise") or {}
    return [
        *banner(document, seconds),
        *_inputs(document, width),
        *_warnings(document, width),
        *_holistic(analyses.get("holistic") or {}, width),
        *_differences(document, buckets.get("comparative") or [], width),
        *_model_wise(analyses.get("model_wise") or {}, width),
        *_attribute_wise(analyses.get("attribute_wise") or {}, width),
        *_self(buckets.get("self") or {}, width),
        *_comparative(buckets.get("comparative") or [], width),
        *_held(document.get("datasets") or {}, width),
        *_flips(buckets.get("rank_flips") or [], width),
        *_tough(analyses.get("tough") or {}, width),
        *in_words(document, width),
    ]


def _inputs(document: Document, width: int) -> list[Line]:
    datasets: Mapping[str, Any] = document.get("datasets") or {}
    rows: list[list[Cell]] = []
    for name, found in datasets.items():
        facts: Mapping[str, Any] = found.get("dataset") or {}
        runs = {system: len(them) for system, them in (found.get("runs") or {}).items()}
        rows.append(
            [
                text(name, "strong"),
                say.count(facts.get("sentences")),
                say.count(facts.get("tokens")),
                say.count(facts.get("mentions")),
                say.count(len(facts.get("labels") or ())),
                say.count(len(runs)),
                _range(list(runs.values())),
            ]
        )
    columns = [
        Column("dataset", least=10),
        *(
            Column(title, right=True, rank=rank)
            for title, rank in (("sentences", 0), ("tokens", 2), ("mentions", 0))
        ),
        *(Column(title, right=True, rank=1) for title in ("types", "systems", "runs each")),
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
    cell: Callable[[str, str], Line],
    width: int,
    *,
    worded: bool = False,
) -> list[Line]:
    """One row and one column a name, in as many blocks below each other as the width asks for."""
    shown = [say.attribute(name) if worded else say.visible(name) for name in rows]
    made = {column: [cell(name, column) for name in rows] for column in columns}
    room = width - 2 - min(26, max(map(cell_len, [title, *shown])))
    blocks: list[list[str]] = []
    left = 0
    for column, cells in made.items():
        need = 2 + max([min(cell_len(say.visible(column)), 12), *map(size, cells)])
        if not blocks or need > left:
            blocks.append([])
            left = room
        blocks[-1].append(column)
        left -= need
    result: list[Line] = []
    for block in blocks:
        table: list[list[Cell]] = [
            [text(label, "strong"), *(made[column][at] for column in block)] for at, label in enumerate(shown)
        ]
        heads = [Column(say.visible(name), right=True, least=8) for name in block]
        result += [[], *grid([Column(title, least=12), *heads], table, width)]
    return result[1:]


def _holistic(table: Mapping[str, Mapping[str, Any]], width: int) -> list[Line]:
    if not table:
        return []
    datasets = inner_keys(table)
    best = {name: highest([_value(table[system], name, "mean") for system in table]) for name in datasets}
    own, beats = common_letters(table)
    lettered = any(beats.values())
    titles = {f"{own[system]}  {say.visible(system)}" if lettered else system: system for system in table}

    def cell(title: str, dataset: str) -> Line:
        found = table[titles[title]].get(dataset) or {}
        mean = found.get("mean")
        top = mean is not None and mean == best[dataset]
        words: Line = [(say.spread(mean, found.get("std")), "strong" if top else "")]
        if lettered:
            # Blanks stand for missing letters, so that the numbers stay in line.
            words.append((f" {beats[titles[title], dataset]:<{len(table) - 1}}", "good"))
        return words

    note = "F1, mean ± std over runs" + (" · letters: significantly better than" if lettered else "")
    fixed = "letters where a system has one run: of these models; training seeds not considered"
    return [
        *heading("Systems", note, width),
        *_matrix("system", list(titles), datasets, cell, width),
        *(sentence(fixed, width, style="faint") if lettered and single_runs(table) else []),
    ]


def _warnings(document: Document, width: int) -> list[Line]:
    plan: Mapping[str, Any] = document.get("plan") or {}
    words = []
    if plan.get("missing"):
        words.append(f"{say.plural(len(plan['missing']), 'run')} missing")
    if plan.get("identical"):
        words.append(f"{say.plural(len(plan['identical']), 'file')} the same as another run, counted once")
    return flow([[("! ", "warn"), *text(word)] for word in words], width)


def _differences(document: Document, pairs: Sequence[Mapping[str, Any]], width: int) -> list[Line]:
    """Every pair: the difference on each dataset with its paired test, and over all of them."""
    datasets: Mapping[str, Any] = document.get("datasets") or {}
    found: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for dataset, part in datasets.items():
        for comparison in part.get("comparisons") or ():
            one, other = comparison["systems"]
            row = score_row(comparison, F1)
            if row is not None:
                found.setdefault((one, other), {})[dataset] = row
    whole = {tuple(pair["systems"]): pair.get("overall") or {} for pair in pairs}
    shown = list(datasets)[: max(1, (width - 40) // 9)]
    rows: list[list[Cell]] = []
    for key in list(dict.fromkeys([*whole, *found]))[:MOST_PAIRS]:
        test = whole.get(key) or {}
        names = [*text(key[0]), (" − ", "faint"), *text(key[1])]
        each: list[Cell] = [_marked(found.get((key[0], key[1]), {}).get(name)) for name in shown]
        overall: list[Cell] = [
            _marked(test), say.count(test.get("pairs")) if test else "",
            say.p_value(test.get("p")) if test else "", say.p_value(test.get("p_corrected")) if test else "",
        ]  # fmt: skip
        rows.append([names, *each, *overall])
    if not rows:
        return []
    columns = [
        Column("pair", least=14),
        *(Column(say.visible(name), right=True, least=6) for name in shown),
        Column("mean", right=True),
        Column("pairs", right=True, rank=2),
        Column("p", right=True, rank=3),
        Column("corrected", right=True, rank=1),
    ]
    notes = list(dict.fromkeys(str(test["note"]) for test in whole.values() if test.get("note")))
    return [
        *heading("Differences", "F1 · * significant · p: fu20-wilcoxon over datasets × runs", width),
        *grid(columns, rows, width),
        *_cut(shown, datasets, width),
        *(line for note in notes for line in sentence(f"fu20-wilcoxon: {note}", width, style="faint")),
        *_over_both(datasets, shown, width),
    ]


def _over_both(datasets: Mapping[str, Any], shown: Sequence[str], width: int) -> list[Line]:
    """The differences when data and runs are both drawn anew, where systems have several runs."""
    rows: list[list[Cell]] = []
    for dataset in shown:
        for comparison in datasets[dataset].get("comparisons") or ():
            test = score_row(comparison, F1)
            if test is None or test["interval"] is None or min(comparison.get("runs") or [0]) < 2:
                continue
            rows.append(
                [
                    " − ".join(say.visible(name) for name in comparison["systems"]),
                    say.visible(dataset),
                    say.signed_interval(test["interval"]),
                    say.p_value(test["p_corrected"]),
                    [("*" if test["significant"] else " ", "good")],
                ]
            )
    if not rows:
        return []
    columns = [
        Column("pair", least=14),
        Column("dataset", least=6),
        Column("95% CI"),
        Column("p", right=True),
        Column(""),
    ]
    about = "t-test over runs and units · p corrected over pairs · * significant"
    return [*heading("Over data and runs at once", about, width), *grid(columns, rows[:MOST_PAIRS], width)]


def _cut(shown: Sequence[str], datasets: Mapping[str, Any], width: int) -> list[Line]:
    if len(shown) == len(datasets):
        return []
    words = f"the first {len(shown)} of {len(datasets)} datasets; all are in the JSON"
    return flow([[(words, "faint")]], width, indent=2)


def _marked(row: Mapping[str, Any] | None) -> Line:
    if not row:
        return []
    return [(say.signed(row.get("difference")), "strong"), ("*" if row.get("significant") else " ", "good")]


def _value(row: Mapping[str, Any], name: str, key: str) -> float | None:
    found = row.get(name) or {}
    value: float | None = found.get(key)
    return value


def _model_wise(table: Mapping[str, Mapping[str, Any]], width: int) -> list[Line]:
    if not table:
        return []
    attributes = inner_keys(table)

    def cell(attribute: str, system: str) -> Line:
        found = table[system].get(attribute) or {}
        rho = (found.get("spearman") or {}).get("mean")
        sigma = (found.get("std") or {}).get("mean")
        words = f"{say.correlation(rho)} / {say.points(sigma)}"
        # Brackets say without colour what grey says with it.
        return [(f"({words})", "faint")] if greyed(found) else [(words, "")]

    return [
        *heading(
            "By model", "S^ρ / S^σ over buckets · (in brackets): buckets may not differ, p ≥ .05", width
        ),
        *_matrix("attribute", attributes, list(table), cell, width, worded=True),
    ]


def _attribute_wise(table: Mapping[str, Mapping[str, Any]], width: int) -> list[Line]:
    rows: list[list[Cell]] = []
    for dataset, found in table.items():
        for name, row in found.items():
            weak = greyed(row)
            style = "faint" if weak else ""
            rho = say.correlation(row.get("rho1")).removeprefix("+")
            p = say.p_value(differing(row))
            rows.append(
                [
                    text(dataset, "strong"),
                    text(say.attribute(name)),
                    say.plain(row.get("zeta")),
                    [(f"({rho})" if weak else rho, style)],
                    [(say.correlation(row.get("rho2")), style)],
                    [(say.points(row.get("sigma")), style)],
                    p,
                ]
            )
    columns = [
        Column("dataset", least=8),
        Column("attribute", least=14),
        Column("ζ", right=True),
        Column("ρ¹", right=True),
        Column("ρ²", right=True),
        Column("σ", right=True),
        Column("Friedman p", right=True, rank=1),
    ]
    note = "what drives difficulty, mean over models"
    return [*heading("By attribute", note, width), *grid(columns, rows, width)] if rows else []


def _self(table: Mapping[str, Mapping[str, Mapping[str, Any]]], width: int) -> list[Line]:
    result: list[Line] = []
    for system, datasets in table.items():
        attributes = inner_keys(datasets)

        def cell(attribute: str, dataset: str, datasets: Mapping[str, Any] = datasets) -> Line:
            found = datasets[dataset].get(attribute) or {}
            worst, best = _bucket(found.get("worst")), _bucket(found.get("best"))
            return [(f"{worst} → {best} ", "faint"), (say.points(found.get("gap")), "strong")]

        if result:
            result.append([])
        result += _matrix(say.visible(system), attributes, list(datasets), cell, width, worded=True)
    note = "worst → best bucket and the F1 between them"
    return [*heading("Self-diagnosis", note, width), *result] if result else []


def _bucket(value: Any) -> str:
    """A bucket's name, given as such or as an object that also carries its score."""
    name = bucket_of(value)
    return say.UNDEFINED if name is None else say.visible(name)


def _comparative(pairs: Sequence[Mapping[str, Any]], width: int) -> list[Line]:
    result: list[Line] = []
    for pair in pairs:
        one, other = pair["systems"]
        datasets: Mapping[str, Mapping[str, Any]] = pair.get("datasets") or {}
        tests: Mapping[str, Mapping[str, Any]] = pair.get("wilcoxon") or {}

        def cell(attribute: str, dataset: str, datasets: Mapping[str, Any] = datasets) -> Line:
            found = datasets[dataset].get(attribute) or {}
            return [*_end(found.get("best"), "good"), ("  ", ""), *_end(found.get("worst"), "bad")]

        if result:
            result.append([])
        result.append([("  ", ""), *text(one, "strong"), (" − ", "faint"), *text(other, "strong")])
        result += _matrix("attribute", inner_keys(datasets), list(datasets), cell, width, worded=True)
        result += _wilcoxon(tests, width)
    note = "buckets where the first leads most and least, F1"
    return [*heading("Comparative diagnosis", note, width), *result] if result else []


def _end(value: Any, style: str) -> Line:
    if not isinstance(value, Mapping):
        return [(_bucket(value), "faint")]
    return [(f"{_bucket(value)} ", "faint"), (say.signed(value.get("difference")), style)]


def _wilcoxon(tests: Mapping[str, Mapping[str, Any]], width: int) -> list[Line]:
    """The buckets that differ over datasets and runs, or why none can be said to."""
    found = [
        (test.get("p_corrected", test.get("p")), f"{say.attribute(name)} {say.visible(bucket)}", test)
        for name, buckets in tests.items()
        for bucket, test in buckets.items()
        if isinstance(test, Mapping)
    ]
    tested = [row for row in found if row[0] is not None]
    real = [[(f"{words} (p {say.p_value(p)})", "")] for p, words, _ in tested if p < LEVEL]
    if real:
        return flow([[("fu20-wilcoxon: ", "faint"), *real[0]], *real[1:]], width, indent=2)
    if not tested:
        return []
    p, _, test = min(tested, key=lambda row: row[0])
    why = f"; {test['note']}" if test.get("note") else f", smallest p {say.p_value(p)}"
    return sentence(f"fu20-wilcoxon: no bucket differs significantly{why}", width, style="faint")


def _held(datasets: Mapping[str, Mapping[str, Any]], width: int) -> list[Line]:
    """What the buckets of each attribute hold: in all datasets where it is the same, else in each."""
    tables: dict[str, dict[str, Sequence[Mapping[str, Any]]]] = {}
    for dataset, part in datasets.items():
        for runs in (part.get("runs") or {}).values():
            for name, found in union(runs, "attributes").items():
                tables.setdefault(name, {}).setdefault(dataset, found.get("buckets") or ())
    rows: list[tuple[list[str], Sequence[Mapping[str, Any]]]] = []
    for name, found in tables.items():
        parts = list(found.items())
        if len({tuple(map(say.bucket, buckets)) for buckets in found.values()}) == 1 < len(parts):
            parts = [("all", parts[0][1])]
        rows += [([say.attribute(name), dataset], buckets) for dataset, buckets in parts]
    titles = ["attribute", "dataset"]
    if len({dataset for (_, dataset), _ in rows}) == 1:
        titles, rows = titles[:1], [(names[:1], buckets) for names, buckets in rows]
    shown = legend(rows, titles, width)
    return [*heading("Buckets", "from the lowest values to the highest", width), *shown[1:]] if shown else []


def _flips(rows: Sequence[Mapping[str, Any]], width: int) -> list[Line]:
    table: list[list[Cell]] = []
    for row in rows[:MOST_FLIPS]:
        table.append(
            [
                text(row.get("dataset") or ""),
                text(say.place(row)),
                text(row.get("overall")),
                [(say.signed(row.get("lead")), "")],
                text(row.get("here"), "strong"),
                [(say.signed(row.get("reversal")), "strong")],
            ]
        )
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
    return [
        *heading("Rank flips", "slices where the order of two systems turns round", width),
        *grid(columns, table, width),
        *and_more(len(rows) - MOST_FLIPS, width),
    ]


def _tough(table: Mapping[str, Mapping[str, Mapping[str, Any]]], width: int) -> list[Line]:
    result: list[Line] = []
    for dataset in inner_keys(table):
        parts = {system: found.get(dataset) or {} for system, found in table.items()}
        words = {
            say.TOUGH.get(name, name): name
            for name in inner_keys(parts)
            if any(say.defined((part.get(name) or {}).get("mean")) for part in parts.values())
        }

        def cell(
            word: str, system: str, parts: Mapping[str, Any] = parts, words: Mapping[str, str] = words
        ) -> Line:
            found = parts[system].get(words[word]) or {}
            return [(say.spread(found.get("mean"), found.get("std")), "")]

        if not words:
            continue
        if result:
            result.append([])
        result += _matrix(say.visible(dataset), list(words), list(table), cell, width)
    note = "recall, mean ± standard deviation over runs"
    return [*heading("Tough mentions", note, width), *result] if result else []
