"""Fu, Liu and Neubig (2020): the figures released with their program, and the effect of its departures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from math import isnan, nan
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import fields, replace

from spanwise.evaluation import evaluate
from spanwise.formats import JsonRecord, read
from spanwise.interpreteval import SHORT, WHAT, Departures, Figures, Tagged, Training, compare
from spanwise.interpreteval import evaluate as follow
from spanwise.reproduction._cells import Cell, closely, exactly, released

FOLDER = "wnut16"
SOURCE = "Fu20"
_MODEL_WISE = "model-wise, from the released buckets"
_FILES = {"Flair": "flair.txt", "ELMo": "elmo.txt"}


def sides(folder: Path, model: str) -> tuple[Tagged, Tagged]:
    """The gold and predicted tags of one system, as written in its file."""
    annotation = read(folder / _FILES[model], columns={"gold": 1, "predicted": 2})
    return Tagged.of(annotation, column="gold"), Tagged.of(annotation, column="predicted")


def training(folder: Path) -> Tagged:
    """The training file, with its tags as written."""
    return Tagged.of(read(folder / "train.txt", columns={"tag": 1}), column="tag")


def known_words(folder: Path) -> list[str]:
    """The word list used for the released densities of unknown words."""
    return (folder / "known_words.txt").read_text(encoding="utf-8").split("\n")


def cells(folder: Path) -> list[Cell]:
    """All released figures of the dataset, recomputed from its files."""
    published = json.loads((folder / "released-figures.json").read_text(encoding="utf-8"))
    trained, vocabulary = Training(training(folder), Departures()), known_words(folder)
    figures = {model: follow(*sides(folder, model), trained, vocabulary=vocabulary) for model in _FILES}
    cells: list[Cell] = []
    for model, ours in figures.items():
        theirs = published["models"][model]
        cells += [_holistic(folder, model, theirs["holistic_f1"]), *_buckets(model, ours, theirs)]
    return released([*cells, *_comparison(figures, published)])


# The columns of Fu19's Table 7 whose buckets are known, and the corresponding attributes.
_FU19 = {
    "R-sLen": "sentence_length_fu19",
    "R-eLen": "entity_length_fu19",
    "F-ent": "entity_familiarity",
    "F-tag": "label",  # one bucket per class: classes of equal frequency must not share one
    "R-mor": "morphology",
}
_ROWS = {"Flair": "CflairWgloveLstmCrf", "ELMo": "CelmWgloveLstmCrf"}
# The paper prints no edges for this column; these buckets are ours.
_CHOSEN = {"F-ent": " (buckets chosen here)"}
_EXCHANGED = {"CflairWgloveLstmCrf": "CflairWnoneLstmCrf"}


def fu19_cells(folder: Path, printed: Path) -> list[Cell]:
    """Fu19's Table 7 (WNUT-16) recomputed from the released outputs, for columns with known buckets."""
    rows = json.loads((printed / "fu19.json").read_text(encoding="utf-8"))["tables"]["7"]["rows"]
    cells: list[Cell] = []
    for model, row in _ROWS.items():
        result = evaluate(
            folder / _FILES[model], train=folder / "train.txt", attributes=list(_FU19.values()),
            resamples=0, examples="none",
        )  # fmt: skip
        (system,) = result.systems.values()
        for column, name in _FU19.items():
            for half, ours in (("spearman", "spearman"), ("std", "std")):
                if column in rows[row][half]:
                    value = 100 * getattr(system.attributes[name], ours)
                    cells.append(_fu19_cell(rows, row, column, half, value))
    return cells


def _fu19_cell(rows: JsonRecord, row: str, column: str, half: str, computed: float) -> Cell:
    def equal(model: str) -> bool:
        text: str = rows[model][half][column]
        return abs(float(text) - computed) <= 0.5 * 10.0 ** -len(text.partition(".")[2]) + 1e-9

    why = ""
    reason: Literal["shown", "guess"] = "shown"
    other = _EXCHANGED.get(row)
    if other is not None and equal(other):
        why = f"the row of {other} has it: Table 7 exchanges the two Flair rows"
    elif column == "R-mor":
        why = "section 4.1 names five shapes; some words, such as U.S. or 1,5%, may belong to others there"
        reason = "guess"
    name = f"{row} {half} {column}{_CHOSEN.get(column, '')}"
    return Cell("Fu19", "Table 7", name, float(rows[row][half][column]), computed, equal(row), why, reason)


def _holistic(folder: Path, model: str, paper: float) -> Cell:
    result = evaluate(folder / _FILES[model], attributes="none", resamples=0, examples="none")
    (system,) = result.systems.values()
    f1 = 100 * (system.exact.overall.f1 or 0.0)
    return closely(SOURCE, "overall", f"{model} F1", paper, f1, within=0.005 + 1e-9)


def _buckets(model: str, ours: Figures, theirs: JsonRecord) -> Iterator[Cell]:
    for name, short in SHORT.items():
        attribute = ours.attributes[name]
        for row, cell in zip(attribute.buckets, theirs["buckets"][short], strict=True):
            prefix = f"{model} {short} {row.name}"
            yield closely(SOURCE, "buckets", f"{prefix} F1", cell["f1"], row.f1)
            yield exactly(SOURCE, "buckets", f"{prefix} gold", cell["gold"], row.gold)
        diagnosis, derived = theirs["self_diagnosis"][short], theirs["derived_from_buckets"][short]
        prefix = f"{model} {short}"
        for which in ("best", "worst"):
            bucket = attribute.buckets[diagnosis[which]].name
            yield exactly(SOURCE, "self-diagnosis", f"{prefix} {which}", bucket, getattr(attribute, which))
        yield closely(SOURCE, "self-diagnosis", f"{prefix} gap", diagnosis["gap"], attribute.gap)
        yield closely(
            SOURCE,
            _MODEL_WISE,
            f"{prefix} S^rho",
            derived["rho"],
            attribute.spearman,
        )
        yield closely(
            SOURCE,
            _MODEL_WISE,
            f"{prefix} S^sigma",
            derived["sigma"],
            attribute.std,
        )


def _comparison(figures: Mapping[str, Figures], published: JsonRecord) -> Iterator[Cell]:
    first, second = figures.values()
    comparison = compare(first, second)
    for name, short in SHORT.items():
        rows = first.attributes[name].buckets
        theirs, relative = published["comparative"][short], published["heatmap_relative"][short]
        for which in ("best", "worst"):
            bucket = rows[theirs[which]].name
            ours = getattr(comparison[name], which)
            yield exactly(SOURCE, "comparative diagnosis", f"{short} {which}", bucket, ours.bucket)
            gap = theirs[f"{which}_gap"]
            yield closely(SOURCE, "comparative diagnosis", f"{short} {which} lead", gap, ours.difference)
        for row, paper, ours in zip(rows, relative, comparison[name].relative, strict=True):
            yield closely(SOURCE, "relative differences", f"{short} {row.name}", paper, ours)


# ---- the effect of each departure of the preset `interpreteval` on the figures of a dataset ----


class Effect(Struct, frozen=True):
    """The effect of switching off one departure: how many bucket scores change, by how much, and where.

    `largest` only considers buckets scored both times; buckets that appear or disappear count as changed.
    """

    departure: str
    what: str
    changed: int
    cells: int
    largest: float
    attributes: tuple[str, ...]


def effects(
    gold: Tagged,
    predicted: Tagged,
    training: Tagged,
    vocabulary: Iterable[str] | None = None,
) -> list[Effect]:
    """The effect of every departure of the preset, in the order of `Departures`."""
    words = None if vocabulary is None else list(vocabulary)
    positions: dict[
        tuple[bool, bool, str], list[int]
    ] = {}  # shared, since most switches do not affect searches
    whole = follow(gold, predicted, Training(training, Departures(), positions), vocabulary=words)
    cells = sum(len(attribute.buckets) for attribute in whole.attributes.values())
    rows = []
    for switch in fields(Departures):
        without = replace(Departures(), **{switch.name: False})
        trained = Training(training, without, positions)
        changes = _changes(whole, follow(gold, predicted, trained, vocabulary=words))
        defined = [abs(change) for _, change in changes if not isnan(change)]
        names = tuple(dict.fromkeys(name for name, _ in changes))
        what = WHAT[switch.name]
        rows.append(Effect(switch.name, what, len(changes), cells, max(defined, default=0.0), names))
    return rows


def _changes(first: Figures, second: Figures) -> list[tuple[str, float]]:
    """The attribute and change of each differing bucket score; NaN for buckets that appear or disappear."""
    changes = []
    for name in SHORT:
        a, b = _keyed(first, name), _keyed(second, name)
        pairs = [(a.get(key, nan), b.get(key, nan)) for key in sorted({*a, *b})]
        changes += [(name, y - x) for x, y in pairs if x != y and not (isnan(x) and isnan(y))]
    return changes


def _keyed(figures: Figures, name: str) -> dict[str, float]:
    """The scores of an attribute, keyed by the position of the bucket or, for labels, by the label."""
    rows = figures.attributes[name].buckets
    keys = [row.name if name == "label" else str(index) for index, row in enumerate(rows)]
    return dict(zip(keys, figures.scores(name), strict=True))
