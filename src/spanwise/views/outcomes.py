"""What happened to mentions: errors by kind and what they cost, fair and relaxed scores, and confusions."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET

from spanwise.document.scores import SystemScores
from spanwise.views import Section, cells, tabled, wording
from spanwise.views.cells import (
    PAPER,
    SHOWN,
    Block,
    Cell,
    Column,
    Flow,
    Grid,
    NamedNumbers,
    Phrase,
    Phrases,
    Room,
    ShareBar,
)
from spanwise.views.lookups import scored_labels
from spanwise.views.systems import Of, ShownSystems

RELAXED = ("strict", "exact", "partial", "type")
OUTCOMES = ("TP", "LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP")


# ---- errors by kind --------------------------------------------------------------------------------


def errors(measured: ShownSystems) -> Section:
    """One row per kind of error: their number, and what fixing all of them would add to F1."""
    systems = measured.of
    titles = ["error"]
    for name in systems:
        titles += ["errors", "F1 gain"] if len(systems) == 1 else [f"{name} errors", f"{name} F1 gain"]
    rows: list[list[Cell]] = [
        [
            wording.OUTCOMES[kind],
            *(cell for of in systems.values() for cell in (_number(of, kind), _gain(of, kind))),
        ]
        for kind in wording.ERRORS
    ]
    several = len(systems) > 1
    blocks = (_side_by_side(measured),) if several else tuple(
        block for of in systems.values() for block in _costly(of)
    )  # fmt: skip
    note = "what fixing every error of one kind would add"
    return Section(
        "errors",
        cells.words("Errors"),
        (*blocks, cells.table(titles, rows, PAPER)),
        "F1 that fixing all errors of a kind would add (errors)" if several else note,
        "Errors by kind, each counted once, and the F1 that fixing all errors of one kind would add.",
    )


def _number(of: Of, kind: str) -> cells.Number:
    return of.at(lambda system: system.fair.overall.count(kind)).number(wording.count)


def _gain(of: Of, kind: str, style: str = "") -> cells.Number:
    return of.at(lambda system: system.gains.of(kind).gain).number(wording.signed, style)


def _side_by_side(measured: ShownSystems) -> Grid:
    rows: list[list[Cell]] = []
    for kind in wording.ERRORS:
        row: list[Cell] = [wording.OUTCOMES[kind]]
        for of in measured.of.values():
            gain = _gain(of, kind)
            spread = [Phrase(f" ±{gain.spread}", "faint")] if gain.spread else []
            number = Phrase(f" ({wording.count(of.part.fair.overall.count(kind))})", "faint")
            row.append(Phrases((Phrase(gain.text, "strong"), *spread, number)))
        rows.append(row)
    room = Room(20, 20 if measured.over else 14, 16)
    return Grid([Column("kind"), *measured.columns()], rows, on=SHOWN, room=room)


def _costly(of: Of) -> list[Block]:
    """The errors of one system, the costliest first, and the sides on which boundaries are wrong."""
    system: SystemScores = of.part
    gains = {kind: _or_zero(system.gains.of(kind).gain) for kind in wording.ERRORS}
    top = max(gains.values())
    rows: list[list[Cell]] = [
        [
            wording.OUTCOMES[kind], ShareBar(gain / top if top else 0.0), _gain(of, kind, "strong"),
            cells.interval(system.gains.of(kind).ends("gain"), style="faint"),
            cells.count(system.fair.overall.count(kind)), _mostly(system, kind),
        ]
        for kind, gain in sorted(gains.items(), key=lambda item: -item[1])
    ]  # fmt: skip
    columns = [
        Column("kind"), Column(least=10, most=18), Column("F1", right=True), Column(rank=2),
        Column("count", right=True), Column("mostly", least=27, most=42),
    ]  # fmt: skip
    sides = system.fair.overall.sides
    named = (("left", sides.left), ("right", sides.right), ("on both sides", sides.both)) if sides else ()
    wrong = [[Phrase(f"{name} ", "faint"), Phrase(wording.count(number))] for name, number in named if number]
    line = [Flow([[Phrase("boundaries wrong", "faint")], *wrong])] if wrong else []
    return [Grid(columns, rows, on=SHOWN), *line]


def _or_zero(value: float | None) -> float:
    return value if value is not None and wording.defined(value) else 0.0


def _mostly(system: SystemScores, kind: str) -> NamedNumbers:
    """What the errors of one kind consist of, the largest parts first."""
    table = system.confusion
    match kind:
        case "BE":
            counts = system.fair.overall
            parts = [(wording.OUTCOMES[part], counts.count(part)) for part in ("BEs", "BEl", "BEo")]
        case "FN":
            parts = list(zip(table.labels, table.missed, strict=True))
        case "FP":
            parts = list(zip(table.labels, table.spurious, strict=True))
        case _:
            pairs = table.pairs.get(kind, ())
            parts = [(f"{gold}→{predicted}", number) for gold, predicted, number in pairs]
    ordered = sorted(parts, key=lambda part: -part[1])
    return NamedNumbers(
        tuple((name, wording.count(number)) for name, number in ordered if number), strong=True
    )


# ---- outcomes and scores that give credit for errors -----------------------------------------------


_FAIR = (*(wording.OUTCOMES[kind] for kind in OUTCOMES), "fair precision", "fair recall", "fair F1")


def _counts(of: Of, kinds: tuple[str, ...] = OUTCOMES) -> list[Cell]:
    return [of.at(lambda scores, key: scores.count(key), kind).number(wording.count) for kind in kinds]


def _parts(of: Of) -> dict[str, Of]:
    """The fair scores by label."""
    return {
        label: of.at(lambda system, key: system.fair.labels.get(key), label) for label in of.part.fair.labels
    }


def fair(measured: ShownSystems) -> Section:
    """Fair scores with the counts of each outcome."""
    rows: list[list[Cell]] = []
    for name, of in measured.of.items():
        scores = of.at(lambda system: system.fair.overall)
        rows.append([name, *_counts(scores), *scores.rates()])
    caption = "Outcomes of mentions and fair scores (Ortmann 2022)."
    return tabled("fair", "Fair scores", ("system", *_FAIR), rows, caption)


def fair_labels(measured: ShownSystems) -> Section:
    """Fair scores by label and overall with the counts of each outcome; boundary errors whole and by kind."""
    at = OUTCOMES.index("BEs")
    order = scored_labels(measured.document)
    rows: list[list[Cell]] = []
    for name, of in measured.of.items():
        parts = _parts(of)
        labels = dict.fromkeys([*(label for label in order if label in parts), *parts])
        scored = [*((label, parts[label]) for label in labels), ("Overall", of.at(lambda s: s.fair.overall))]
        for label, scores in scored:
            counts = _counts(scores, (*OUTCOMES[:at], "BE", *OUTCOMES[at:]))
            rows.append([name, label, *counts, *scores.rates()])
    caption = (
        "Outcomes of mentions and fair scores by label (Ortmann 2022, Table 2)."
        " Boundary (all): too short, too long and crossing together."
        f" Errors count under the {measured.document.settings.focus} label, spurious mentions under the"
        " predicted one."
    )
    header = ("system", "label", *_FAIR[:at], "boundary (all)", *_FAIR[at:])
    return tabled("fair_labels", "Fair scores by label", header, rows, caption)


def boundaries(measured: ShownSystems) -> Section:
    """Boundary errors by label: too short, too long, crossing, and the side on which they are wrong."""
    rows: list[list[Cell]] = []
    for name, of in measured.of.items():
        for label, scores in {"all": of.at(lambda system: system.fair.overall), **_parts(of)}.items():
            if scores.part.sides is not UNSET:
                kinds = _counts(scores, ("BE", "BEs", "BEl", "BEo"))
                sides = scores.at(lambda part: part.sides)
                rows.append([name, label, *kinds, *map(sides.count, ("left", "right", "both"))])
    caption = (
        "Boundary errors by label (Ortmann 2022): by how the predicted span relates to the gold one, and by"
        " the side on which it ends differently."
    )
    kinds_named = [wording.OUTCOMES[kind] for kind in ("BE", "BEs", "BEl", "BEo")]
    header = ("system", "label", *kinds_named, "left", "right", "both sides")
    return tabled("boundaries", "Boundary errors", header, rows, caption)


def credits(measured: ShownSystems) -> Section:
    """Scores under every requested credit, beside the exact and fair scores."""
    rows: list[list[Cell]] = []
    for name, of in measured.of.items():
        requested = of.part.credits or {}
        scores = {
            "exact": of.at(lambda system: system.exact.overall),
            "fair": of.at(lambda system: system.fair.overall),
            **{
                credit: of.at(lambda system, key: system.credits[key].overall, credit) for credit in requested
            },
        }
        rows += [[name, credit, *rates.rates()] for credit, rates in scores.items() if requested]
    caption = "Scores under several credits for errors (Ortmann 2022)."
    return tabled("credits", "Credits", ("system", "credit", "precision", "recall", "F1"), rows, caption)


def relaxed(measured: ShownSystems) -> Section:
    """The four matchings of MUC and SemEval-2013."""
    parts = ("correct", "incorrect", "partial", "missed", "spurious")
    rows: list[list[Cell]] = []
    for name, of in measured.of.items():
        for matching in RELAXED:
            scores = of.at(lambda system, key: (system.relaxed or {}).get(key), matching)
            if scores.part is not None:
                rows.append([name, matching, *map(scores.count, parts), *scores.rates()])
    header = ("system", "matching", *parts, "precision", "recall", "F1")
    return tabled(
        "relaxed", "Relaxed matchings", header, rows, "Relaxed matchings of MUC and SemEval-2013 task 9.1."
    )


def confusion(measured: ShownSystems) -> Section:
    """Errors only: gold labels as rows, predicted labels as columns, with missed and spurious mentions."""
    names = list(dict.fromkeys(label for of in measured.of.values() for label in of.part.confusion.labels))
    rows: list[list[Cell]] = []
    for name, of in measured.of.items():
        table = of.at(lambda system: system.confusion)
        at = {label: index for index, label in enumerate(table.part.labels)}
        for label, index in at.items():
            counts = table.at(lambda part, row: part.counts[row], index)
            missed = table.at(lambda part, row: part.missed[row], index).number(wording.count)
            rows.append([name, label, *_listed(counts, names, at), missed])
        if at:
            rows.append([name, "spurious", *_listed(table.at(lambda part: part.spurious), names, at), ""])
    caption = (
        "Errors only: gold labels as rows, predicted ones as columns; boundary errors are on the diagonal."
    )
    return tabled("confusion", "Confusions", ("system", "gold", *names, "missed"), rows, caption)


def _listed(counts: Of, names: list[str], at: Mapping[str, int]) -> list[Cell]:
    """The counts of the labels in one row; 0 for labels that the system's table lacks."""
    return [
        counts.at(lambda row, column: row[column], at[name]).number(wording.count)
        if name in at
        else cells.count(0)
        for name in names
    ]
