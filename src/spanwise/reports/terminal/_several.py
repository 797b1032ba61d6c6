"""The screen of several systems side by side: scores with letters, tests, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spanwise.diagnosis import F1
from spanwise.reports import _wording as say
from spanwise.reports._document import (
    Document,
    highest,
    own_letters,
    ranked,
    score_row,
    scored_labels,
    turned,
    union,
)
from spanwise.reports.terminal._buckets import legend
from spanwise.reports.terminal._frame import (
    banner,
    few_units,
    files,
    in_words,
    interval_title,
    mark,
    next_steps,
)
from spanwise.reports.terminal._layout import (
    Cell,
    Column,
    Line,
    Scale,
    and_more,
    fit,
    flow,
    grid,
    heading,
    text,
)
from spanwise.reports.terminal._result import MOST_LABELS, findings, none_of, slices

MOST_PAIRS = 10
MOST_PLACES = 8
MOST_SLICES = 9


def lines(document: Document, width: int, seconds: float | None, saved: Sequence[str]) -> list[Line]:
    """All sections of a document with several systems, the best first."""
    systems = {name: document["systems"][name] for name in ranked(document)}
    return [
        *banner(document, seconds),
        *files(document, width),
        *_scores(document, systems, width),
        *_pairs(document, width),
        *findings(document, width),
        *_places(document, width),
        *_errors(systems, width),
        *_types(document, systems, width),
        *_tough(document, systems, width),
        *slices(systems, width, most=max(1, MOST_SLICES // len(systems))),
        *_attributes(systems, width),
        *in_words(document, width),
        *few_units(document, width),
        *next_steps(document, width, saved),
    ]


def _scores(document: Document, systems: Mapping[str, Mapping[str, Any]], width: int) -> list[Line]:
    own, letters = own_letters(document), document.get("letters") or {}
    exact = {name: system["exact"]["overall"] for name, system in systems.items()}
    scale = Scale.around(_reach(exact.values(), "f1"))
    credits = list(union(systems, "credits"))
    rows: list[list[Cell]] = []
    for name, system in systems.items():
        one, ends = exact[name], (exact[name].get("interval") or {}).get("f1")
        better = letters.get(name) or ""
        rows.append(
            [
                [(own[name], "faint")],
                text(name, "strong"),
                [(say.points(one["f1"]), "score")],
                [(say.interval(ends), "faint")],
                say.points(one["precision"]),
                say.points(one["recall"]),
                say.points(((system.get("fair") or {}).get("overall") or {}).get("f1")),
                *(_credited(system, credit) for credit in credits),
                say.points((system["exact"].get("macro") or {}).get("f1")),
                [(" ".join(better) or "–", "good" if better else "faint")],
                scale.strip(one["f1"], ends),
            ]
        )
    columns = [
        Column(),
        Column("system", least=8),
        Column("F1", right=True),
        Column(interval_title(document)),
        Column("P", right=True),
        Column("R", right=True),
        Column("fair F1", right=True),
        *(Column(say.visible(name), right=True, least=7, rank=1) for name in credits),
        Column("macro", right=True, rank=1),
        Column("beats", least=5),
        Column(scale.axis, least=18, most=36, rank=2),
    ]
    note = "beats: significantly better than the system with that letter"
    return [*heading("Systems", note if document.get("letters") else "", width), *grid(columns, rows, width)]


def _credited(system: Mapping[str, Any], credit: str) -> str:
    found = (system.get("credits") or {}).get(credit) or {}
    return say.points((found.get("overall") or {}).get("f1"))


def _reach(cells: Any, score: str) -> list[float]:
    values: list[float] = []
    for cell in cells:
        ends = (cell.get("interval") or {}).get(score) or ()
        values += [value for value in (cell[score], *ends) if value is not None]
    return values


def facing(document: Document) -> list[Mapping[str, Any]]:
    """The comparisons with the better system of each pair first, so that differences read along the order."""
    place = {name: at for at, name in enumerate(ranked(document))}
    found = []
    for comparison in document.get("comparisons") or ():
        one, other = comparison["systems"]
        if place.get(one, 0) > place.get(other, 0):
            scores = [turned(row) for row in comparison["scores"]]
            comparison = {**comparison, "systems": [other, one], "scores": scores}
        found.append(comparison)
    return sorted(found, key=lambda one: [place.get(name, 0) for name in one["systems"]])


def _pairs(document: Document, width: int) -> list[Line]:
    comparisons = facing(document)
    rows: list[list[Cell]] = []
    for comparison in comparisons[:MOST_PAIRS]:
        one, other = comparison["systems"]
        row = score_row(comparison, F1)
        if row is not None:
            detectable = comparison.get("detectable")
            names = [*text(one), (" − ", "faint"), *text(other)]
            rows.append([names, *_difference(document, row), [(_at_least(detectable), "faint")]])
    if not rows:
        return []
    columns = [
        Column("pair", least=16),
        Column("F1", right=True),
        Column(interval_title(document)),
        Column("p", right=True),
        Column("", least=1),
        Column("detectable", right=True, rank=1),
    ]
    return [
        *heading("Differences", say.named_test(document["settings"]), width),
        *grid(columns, rows, width),
        *and_more(len(comparisons) - MOST_PAIRS, width, "pairs"),
    ]


def _known(number: int | None) -> str:
    return "" if number is None else say.count(number)


def _at_least(value: float | None) -> str:
    return f"{say.points(value)} or more" if say.defined(value) else ""


def _difference(document: Document, row: Mapping[str, Any]) -> list[Cell]:
    significant = bool(row.get("significant"))
    p = row.get("p_corrected") if row.get("p_corrected") is not None else row.get("p")
    return [
        [(say.signed(row["difference"]), "strong")],
        [
            (
                say.signed_interval(row.get("interval"))
                + (mark(document, row) if row.get("interval") else ""),
                "faint",
            )
        ],
        say.p_value(p),
        [("*", "good")] if significant else "",
    ]


def _places(document: Document, width: int) -> list[Line]:
    """Where a pair differs beyond the whole: the largest significant differences of parts."""
    pairs = facing(document)
    letter = own_letters(document)
    parts = []
    for comparison in pairs:
        found = [
            (comparison["systems"], row)
            for row in comparison["scores"]
            if row.get("significant") and row["path"][1] != "overall" and say.defined(row["difference"])
        ]
        parts += found
    parts.sort(key=lambda part: abs(part[1]["difference"]))
    # Each place once, by the pair that differs most there: one weak system must not fill the list.
    parts = sorted(
        {tuple(part[1]["path"]): part for part in parts}.values(),
        key=lambda part: -abs(part[1]["difference"]),
    )
    held = say.held_by_buckets(document.get("systems") or {})
    rows: list[list[Cell]] = []
    for (one, other), row in parts[:MOST_PLACES]:
        names = [*text(letter[one], "strong"), (" − ", "faint"), *text(letter[other], "strong")]
        where = text(say.path_title(row["path"], held))
        rows.append([names, where, _known(row.get("mentions")), *_difference(document, row)])
    if not any(row.get("p") is not None for pair in pairs for row in pair["scores"]):
        return []  # nothing was tested
    title = heading("Where they differ", "significant after correction, largest first", width)
    if not rows:
        return [*title, [("  nowhere: no part differs significantly after correction", "faint")]]
    columns = [
        Column("pair"),
        Column("where", least=18),
        Column("gold", right=True, rank=2),
        Column("", right=True),
        Column(interval_title(document), rank=1),
        Column("p", right=True),
        Column(""),
    ]
    if len(pairs) == 1:
        columns, rows = columns[1:], [row[1:] for row in rows]
    return [*title, *grid(columns, rows, width)]


def _names(systems: Mapping[str, Any], width: int, first: int, each: int) -> list[str]:
    """As many systems as fit side by side, each with a column of `each` cells."""
    return list(systems)[: max(1, (width - first) // each)]


def _left_out(systems: Mapping[str, Any], shown: Sequence[str], width: int) -> list[Line]:
    if len(shown) == len(systems):
        return []
    return flow(
        [[(f"the best {len(shown)} of {len(systems)} systems; all are in the JSON", "faint")]],
        width,
        indent=2,
    )


def _titles(names: Sequence[str], most: int) -> list[Column]:
    return [
        Column("".join(piece for piece, _ in fit(text(name), most)), right=True, least=5) for name in names
    ]


def _valued(values: Sequence[float | None]) -> list[Cell]:
    best = highest(values)
    return [[(say.points(value), "strong" if value == best else "")] for value in values]


def _errors(systems: Mapping[str, Mapping[str, Any]], width: int) -> list[Line]:
    shown = _names(systems, width, 20, 14)
    rows: list[list[Cell]] = []
    for kind in say.ERRORS:
        row: list[Cell] = [say.OUTCOMES[kind]]
        for name in shown:
            gain = (systems[name].get("gains") or {}).get(kind) or {}
            number = ((systems[name].get("fair") or {}).get("overall") or {}).get(kind)
            row.append([(say.signed(gain.get("gain")), "strong"), (f" ({say.count(number)})", "faint")])
        rows.append(row)
    note = "F1 that fixing all errors of a kind would add (errors)"
    table = grid([Column("kind"), *_titles(shown, 16)], rows, width)
    return [*heading("Errors", note, width), *table, *_left_out(systems, shown, width)]


def _compared(document: Document, paths: Sequence[Sequence[str]], width: int) -> list[list[Cell]] | None:
    """For two systems: difference, interval, p and mark of each path, blank where it was not tested."""
    pairs = facing(document)
    if len(pairs) != 1 or len(document["systems"]) != 2 or width < 72:
        return None
    found = {tuple(row["path"]): row for row in pairs[0]["scores"]}
    return [
        _difference(document, found[tuple(path)]) if tuple(path) in found else ["", "", "", ""]
        for path in paths
    ]


def _difference_columns(document: Document) -> list[Column]:
    return [
        Column("diff", right=True),
        Column(interval_title(document), rank=1),
        Column("p", right=True),
        Column(""),
    ]


def _side_by_side(
    document: Document,
    systems: Mapping[str, Mapping[str, Any]],
    rows: Sequence[tuple[str, float | None, list[float | None], Sequence[str]]],
    first: str,
    width: int,
) -> list[Line]:
    """Rows of (title, count, a value a system, path), with differences where two systems are compared."""
    shown = _names(systems, width, 34, 9)
    tested = _compared(document, [row[3] for row in rows], width)
    table: list[list[Cell]] = []
    for at, (title, number, values, _) in enumerate(rows):
        table.append(
            [text(title), say.count(number), *_valued(values[: len(shown)]), *(tested[at] if tested else ())]
        )
    columns = [Column(first, least=22), Column("gold", right=True), *_titles(shown, 12)]
    return [
        *grid([*columns, *(_difference_columns(document) if tested else ())], table, width),
        *_left_out(systems, shown, width),
    ]


def _types(document: Document, systems: Mapping[str, Mapping[str, Any]], width: int) -> list[Line]:
    known = {label: cell for system in systems.values() for label, cell in system["exact"]["labels"].items()}
    order = scored_labels(document)
    rows = []
    for label in order[:MOST_LABELS]:
        cells = [system["exact"]["labels"].get(label) or {} for system in systems.values()]
        values = [cell.get("f1") for cell in cells]
        rows.append((label, known[label].get("gold"), values, ["exact", "labels", label, "f1"]))
    return [
        *heading("By type", "F1, exact span and label", width),
        *_side_by_side(document, systems, rows, "type", width),
        *and_more(len(order) - MOST_LABELS, width, "types"),
    ]


def _tough(document: Document, systems: Mapping[str, Mapping[str, Any]], width: int) -> list[Line]:
    first = union(systems, "tough")
    rows = []
    for subset, cell in first.items():
        if not isinstance(cell, Mapping) or not (cell.get("overall") or {}).get("mentions"):
            continue
        values = [_recall(system, subset) for system in systems.values()]
        title = say.TOUGH.get(subset, subset)
        rows.append((title, cell["overall"]["mentions"], values, ["tough", subset, "overall", "recall"]))
    if not rows:
        return []
    note = "recall by what training showed"
    return [
        *heading("Tough mentions", note, width),
        *_side_by_side(document, systems, rows, "mentions", width),
        *none_of(first, width),
    ]


def _recall(system: Mapping[str, Any], subset: str) -> float | None:
    value: float | None = (((system.get("tough") or {}).get(subset) or {}).get("overall") or {}).get("recall")
    return value


def _attributes(systems: Mapping[str, Mapping[str, Any]], width: int) -> list[Line]:
    shown = _names(systems, width, 24, 22)
    rows: list[list[Cell]] = []
    tables = union(systems, "attributes")
    for name in tables:
        row: list[Cell] = [text(say.attribute(name))]
        for system in shown:
            row.append(_ends((systems[system].get("attributes") or {}).get(name) or {}))
        rows.append(row)
    columns = [Column("attribute", least=14), *_titles(shown, 20)]
    if not rows:
        return []
    table = grid(columns, rows, width)
    return [
        *heading("By attribute", "F1 of worst → best bucket", width),
        *table,
        *_left_out(systems, shown, width),
        *legend(
            (
                ([say.attribute(name)], [(one["name"], say.bucket(one)) for one in found["buckets"]])
                for name, found in tables.items()
            ),
            ["attribute"],
            width,
        ),
    ]


def _ends(found: Mapping[str, Any]) -> Line:
    buckets = {bucket["name"]: bucket for bucket in found.get("buckets") or ()}
    ends = [buckets.get(found.get(end)) for end in ("worst", "best")]
    if ends[0] is None or ends[1] is None:
        return [(say.UNDEFINED, "faint")]
    if ends[0] is ends[1]:
        return [(f"{say.visible(ends[0]['name'])} ", "faint"), (say.points(ends[0]["f1"]), "strong")]
    worst, best = [(say.visible(end["name"]), say.points(end["f1"])) for end in ends if end]
    return [(f"{worst[0]} ", "faint"), (worst[1], "strong"), (f" → {best[0]} ", "faint"), (best[1], "")]
