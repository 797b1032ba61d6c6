"""The screen of one system: scores, errors, types, tough mentions, slices, attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from spanwise.reports import _wording as say
from spanwise.reports._document import Document, distinct_rows, scored_labels
from spanwise.reports.terminal._frame import (
    banner,
    few_units,
    files,
    interval_title,
    mark,
    next_steps,
)
from spanwise.reports.terminal._layout import (
    Cell,
    Column,
    Drawing,
    Line,
    Scale,
    and_more,
    bar,
    flow,
    grid,
    heading,
    packed,
    sentence,
    text,
)

# A name, its count, the scored object, the other scores shown, and the score drawn.
ScoredRow: TypeAlias = tuple[str, float | None, Mapping[str, Any], Sequence[str], str]

MOST_LABELS = 20
MOST_SLICES = 6
FEW = 30


def lines(document: Document, width: int, seconds: float | None, saved: Sequence[str]) -> list[Line]:
    """All sections of a document with one system."""
    ((name, system),) = document["systems"].items()
    return [
        *banner(document, seconds),
        *files(document, width),
        *_scores(document, system, width),
        *findings(document, width),
        *_errors(system, width),
        *_types(document, system, width),
        *_tough(document, system, width),
        *slices({name: system}, width),
        *_attributes(document, system, width),
        *few_units(document, width),
        *next_steps(document, width, saved),
    ]


def _scores(document: Document, system: Mapping[str, Any], width: int) -> list[Line]:
    exact, fair = system["exact"]["overall"], (system.get("fair") or {}).get("overall") or {}
    ends = say.interval((exact.get("interval") or {}).get("f1"))
    dagger = "†" if ends and document["settings"].get("few_units") else ""
    main: list[Line] = [
        [
            ("F1 ", "strong"),
            (say.points(exact["f1"]), "score"),
            (f"  {ends}{dagger}" if ends else "", "faint"),
        ],
        [("precision ", ""), (say.points(exact["precision"]), "strong")],
        [("recall ", ""), (say.points(exact["recall"]), "strong")],
    ]
    if fair:
        main.append(
            [("fair F1 ", ""), (say.points(fair["f1"]), "strong"), ("  each error counted once", "faint")]
        )
    more: list[Line] = []
    for kind in ("macro", "weighted"):
        means = system["exact"].get(kind)
        if means:
            more.append([(f"{kind} F1 {say.points(means['f1'])}", "faint")])
    for name, credit in (system.get("credits") or {}).items():
        more.append(text(f"{name} F1 {say.points(credit['overall']['f1'])}", "faint"))
    if say.defined(exact.get("accuracy")):
        more.append([(f"token accuracy {say.points(exact['accuracy'])}", "faint")])
    more.append([(f"{say.count(exact['correct'])} right of {say.count(exact['gold'])} gold", "faint")])
    if exact.get("why"):
        more.append(text(exact["why"], "faint"))
    return [[], *flow(main, width, indent=2, join="    "), *flow(more, width, indent=2)]


def findings(document: Document, width: int) -> list[Line]:
    """The findings as sentences."""
    found = document.get("findings") or []
    result: list[Line] = [[]] if found else []
    for row in found:
        first, *rest = sentence(say.finding(row), width - 1, indent=4)
        result += [[("  • ", "mark"), *first[1:]], *rest]
    return result


def _errors(system: Mapping[str, Any], width: int) -> list[Line]:
    gains, counts = system.get("gains") or {}, (system.get("fair") or {}).get("overall") or {}
    kinds = sorted(
        (kind for kind in say.ERRORS if kind in gains), key=lambda kind: -_or_zero(gains[kind]["gain"])
    )
    top = max((_or_zero(gains[kind]["gain"]) for kind in kinds), default=0.0)
    rows: list[list[Cell]] = []
    for kind in kinds:
        gain = _or_zero(gains[kind]["gain"])
        ends = say.interval((gains[kind].get("interval") or {}).get("gain"))
        rows.append(
            [
                say.OUTCOMES[kind],
                bar(gain / top if top else 0.0),
                [(say.signed(gains[kind]["gain"]), "strong")],
                [(ends, "faint")],
                say.count(counts.get(kind)),
                mostly(system, kind),
            ]
        )
    columns = [
        Column("kind"),
        Column(least=10, most=18),
        Column("F1", right=True),
        Column("", rank=2),
        Column("count", right=True),
        Column("mostly", least=27, most=42),
    ]
    note = "what fixing every error of one kind would add"
    if not rows:
        return []
    return [*heading("Errors", note, width), *grid(columns, rows, width), *_sides(counts, width)]


def _sides(counts: Mapping[str, Any], width: int) -> list[Line]:
    """On which side boundaries are wrong; nothing where none is."""
    sides = counts.get("sides") or {}
    parts = [
        [(f"{name} ", "faint"), (say.count(sides[side]), "")]
        for side, name in (("left", "left"), ("right", "right"), ("both", "on both sides"))
        if sides.get(side)
    ]
    return flow([[("boundaries wrong", "faint")], *parts], width, indent=2) if parts else []


def mostly(system: Mapping[str, Any], kind: str) -> Drawing:
    """What the errors of one kind are made of, the largest parts first, as many as there is room for."""
    parts = sorted(_parts(system, kind), key=lambda part: -part[1])
    return packed([[(f"{name} ", ""), (say.count(number), "strong")] for name, number in parts if number])


def _parts(system: Mapping[str, Any], kind: str) -> list[tuple[str, float]]:
    table = system.get("confusion") or {}
    labels = [say.visible(label) for label in table.get("labels") or ()]
    if kind == "BE":
        counts = system["fair"]["overall"]
        return [(say.OUTCOMES[part], counts.get(part, 0)) for part in ("BEs", "BEl", "BEo")]
    if kind == "FN":
        return list(zip(labels, table.get("missed") or (), strict=False))
    if kind == "FP":
        return list(zip(labels, table.get("spurious") or (), strict=False))
    pairs = table.get("pairs", {}).get(kind)
    if pairs is not None:
        return [
            (f"{say.visible(gold)}→{say.visible(predicted)}", number) for gold, predicted, number in pairs
        ]
    return []


def _types(document: Document, system: Mapping[str, Any], width: int) -> list[Line]:
    labels: Mapping[str, Any] = system["exact"]["labels"]
    order = scored_labels(document)
    shown = order[:MOST_LABELS]
    overall = system["exact"]["overall"]["f1"]
    rows = [(label, labels[label]["gold"], labels[label], ["precision", "recall"], "f1") for label in shown]
    return [
        *heading("By type", "exact span and label", width),
        *scored("type", "gold", ["P", "R"], "F1", rows, overall, document, width),
        *and_more(len(order) - len(shown), width, "types"),
    ]


def scored(
    title: str,
    number: str,
    others: Sequence[str],
    score: str,
    rows: Sequence[ScoredRow],
    overall: float | None,
    document: Document,
    width: int,
) -> list[Line]:
    """Rows of (name, count, scored object, other scores, main score) with their intervals as a strip."""
    reach: list[float] = [overall] if overall is not None else []
    for _, number_of, cell, _, key in rows:
        if (number_of or 0) < FEW and any((row[1] or 0) >= FEW for row in rows):
            continue  # a handful of mentions must not stretch the scale of all others
        ends = (cell.get("interval") or {}).get(key) or ()
        reach += [value for value in (cell[key], *ends) if value is not None]
    scale = Scale.around(reach)
    table: list[list[Cell]] = []
    for name, gold, cell, more, key in rows:
        ends = (cell.get("interval") or {}).get(key)
        table.append(
            [
                text(name),
                say.count(gold),
                *(say.points(cell[other]) for other in more),
                [(say.points(cell[key]), "strong")],
                [(say.interval(ends) + mark(document, cell), "faint")],
                scale.strip(cell[key], ends, mark=overall),
            ]
        )
    columns = [
        Column(title, least=10),
        Column(number, right=True),
        *(Column(other, right=True, rank=2) for other in others),
        Column(score, right=True),
        Column(interval_title(document)),
        Column(scale.axis, least=20, most=44, rank=1),
    ]
    return grid(columns, table, width)


def _tough(document: Document, system: Mapping[str, Any], width: int) -> list[Line]:
    tough = system.get("tough") or {}
    rows: list[ScoredRow] = [
        (say.TOUGH.get(subset, subset), cell["overall"]["mentions"], cell["overall"], [], "recall")
        for subset, cell in tough.items()
        if isinstance(cell, Mapping) and cell.get("overall") and cell["overall"]["mentions"]
    ]
    if not rows:
        return []
    recall = system["exact"]["overall"]["recall"]
    return [
        *heading("Tough mentions", "recall by what training showed", width),
        *scored("mentions", "gold", [], "R", rows, recall, document, width),
        *none_of(tough, width),
    ]


def none_of(tough: Mapping[str, Any], width: int) -> list[Line]:
    """The subsets without a mention, whose recall is undefined."""
    empty = [
        text(say.TOUGH.get(subset, subset), "faint")
        for subset, cell in tough.items()
        if isinstance(cell, Mapping) and cell.get("overall") and not cell["overall"]["mentions"]
    ]
    return flow([[("no mention is ", "faint"), *empty[0]], *empty[1:]], width, indent=2) if empty else []


def slices(systems: Mapping[str, Mapping[str, Any]], width: int, *, most: int = MOST_SLICES) -> list[Line]:
    """The slices that cost most, of one system or of several."""
    rows: list[list[Cell]] = []
    same: list[list[Line]] = []
    for name, system in systems.items():
        costly = [row for row in system.get("slices") or () if _or_zero(row["cost"]) > 0]
        for row, *others in distinct_rows(costly, system)[:most]:
            same.append(_also(others, width))
            value, ends = say.points(row["value"]), say.interval(row.get("interval"))
            rows.append(
                [
                    text(name),
                    text(say.slice_title(row)),
                    say.count(row["gold"]),
                    [(value, "strong")],
                    [(say.SCORES.get(row["score"], row["score"]), "faint")],
                    [(ends, "faint")],
                    [("costs ", "faint"), (say.points(row["cost"]), "strong")],
                ]
            )
    if not rows:
        return []
    columns = [
        Column("system" if len(systems) > 1 else "", least=8),
        Column("slice", least=28),
        Column("gold", right=True),
        Column("", right=True),
        Column(""),
        Column("", rank=1),
        Column("", right=True),
    ]
    if len(systems) == 1:
        columns, rows = columns[1:], [row[1:] for row in rows]
    note = "ranked by score lost overall · under 50 mentions hidden"
    head, *table = grid(columns, rows, width)
    listed = [line for first, others in zip(table, same, strict=True) for line in (first, *others)]
    return [*heading("Weakest slices", note, width), head, *listed]


def _also(others: Sequence[Mapping[str, Any]], width: int) -> list[Line]:
    """The other names under which a slice's mentions, or nearly all of them, cost something."""
    if not others:
        return []
    names = [[(say.slice_title(row), "faint")] for row in others]
    return flow([[("also ", "faint"), *names[0]], *names[1:]], width, indent=4)


def _attributes(document: Document, system: Mapping[str, Any], width: int) -> list[Line]:
    shown: list[Mapping[str, Any]] = []
    rows: list[list[Cell]] = []
    for name, found in (system.get("attributes") or {}).items():
        buckets = {bucket["name"]: bucket for bucket in found.get("buckets") or ()}
        shown += [buckets[found[end]] for end in ("worst", "best") if found.get(end) in buckets]
        rows.append(
            [
                text(say.attribute(name)),
                *_end(buckets.get(found.get("worst"))),
                *_end(buckets.get(found.get("best"))),
                [(say.points(found.get("gap")), "strong")],
                say.correlation(found.get("spearman")),
            ]
        )
    columns = [
        Column("attribute", least=24),
        Column("worst", least=10),
        Column("F1", right=True),
        Column("gold", right=True, style="faint", rank=2),
        Column("best", least=10),
        Column("F1", right=True),
        Column("gold", right=True, style="faint", rank=2),
        Column("gap", right=True),
        Column("ρ", right=True, rank=1),
    ]
    result = [*heading("By attribute", "worst and best bucket · ρ of F1 with value", width)] if rows else []
    result += grid(columns, rows, width)
    if any(bucket.get("small") for bucket in shown):
        result.append([("  ~ ", "warn"), ("fewer than 30 gold units", "faint")])
    return [*result, *absent(document["dataset"], width)] if rows else []


def absent(dataset: Mapping[str, Any], width: int) -> list[Line]:
    """The attributes that could not be computed, grouped by the reason."""
    reasons: dict[str, list[str]] = {}
    for name, why in (dataset.get("absent") or {}).items():
        reasons.setdefault(say.visible(why), []).append(say.attribute(name))
    return [
        line
        for why, names in reasons.items()
        for line in sentence(f"left out: {', '.join(names)} ({why})", width, style="faint")
    ]


def _end(bucket: Mapping[str, Any] | None) -> list[Cell]:
    if bucket is None:
        return [say.UNDEFINED, say.UNDEFINED, ""]
    name, words = say.visible(bucket["name"]), say.bucket(bucket)
    # The mark stands in front, since long words are cut at the end.
    mark: Line = [("~", "warn")] if bucket.get("small") else []
    shown: Line = [*mark, (name, ""), (f" {words}" if words != name else "", "faint")]
    return [shown, say.points(bucket["f1"]), say.count(bucket["gold"])]


def _or_zero(value: float | None) -> float:
    return value if value is not None and say.defined(value) else 0.0
