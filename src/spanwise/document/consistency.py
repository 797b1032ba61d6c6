"""Whether the parts of a loaded document fit together: lists of equal length, names and indices that exist.

The decoder checks each value by its type; what is checked here is what several values say together, so that
reports may rely on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import UNSET, Struct

from spanwise.document import MOST, Document
from spanwise.document.dataset import SuspectEvidence
from spanwise.document.evaluation import (
    DatasetRuns,
    Evaluation,
    GoldMention,
    ScoreGrid,
    Sentence,
    UnitCounts,
)
from spanwise.document.scores import BucketLeads, Comparison, Confusion, SystemScores
from spanwise.settings import SETTINGS

Fault = tuple[str, str]  # the path inside the document, and what is wrong there

_is_level, _LEVELS = SETTINGS["confidence"].bounds or (bool, "")  # levels of intervals
_APART = ("sentences", "units", "mentions")  # checked by their own rules


def contradiction(document: Document) -> Fault | None:
    """The path of the first part that contradicts another, and what is wrong; None if all is consistent."""
    own = document.inconsistent()
    return own if own is not None else next(_faults(document), None)


def _faults(document: Document) -> Iterator[Fault]:
    yield from _of_parts(document, "$")
    if isinstance(document, Evaluation):
        tough = {name: set(system.tough) for name, system in document.systems.items() if system.tough}
        for (
            name,
            subsets,
        ) in tough.items():  # results without training data, which have none, stand beside others
            if subsets != next(iter(tough.values())):
                yield f"$.systems{_key(name)}.tough", "the subsets are not those of the other systems"
        yield from _of_systems(document.systems, document, "$")
    elif isinstance(document, ScoreGrid):
        for name, runs in document.datasets.items():
            yield from _of_runs(runs, f"$.datasets{_key(name)}")
            for other, scores in runs.runs.items():
                yield from _of_systems(scores, _Apart(runs, other), f"$.datasets{_key(name)}", _key(other))


def _of_runs(runs: DatasetRuns, path: str) -> Iterator[Fault]:
    """Systems of a dataset of a study that have scores, but no counts although others have them."""
    for system, scores in runs.runs.items():
        if runs.units and scores and system not in runs.units:
            yield f"{path}.units", f"the system {system!r} is missing"


class _Apart:
    """The sentences and counts of one system of a study."""

    def __init__(self, runs: DatasetRuns, system: str) -> None:
        self.sentences: Sequence[Sentence] = (runs.sentences or {}).get(system, ())
        units = (runs.units or {}).get(system)
        self.units = UNSET if units is None else units


def _of_systems(
    systems: Iterable[str], document: Evaluation | _Apart, path: str, inside: str = ""
) -> Iterator[Fault]:
    """What is wrong with the sentences and counts of some systems."""
    names = list(systems)
    if isinstance(document.units, UnitCounts):
        yield from _of_units(document.units, names, f"{path}.units{inside}")
    for number, sentence in enumerate(document.sentences):
        yield from _of_sentence(sentence, names, f"{path}.sentences{inside}[{number}]")


def _of_units(units: UnitCounts, systems: Sequence[str], path: str) -> Iterator[Fault]:
    for name in systems:
        if name not in units.systems:
            yield f"{path}.systems", f"the system {name!r} is missing"
    measures = {name: [measure.name for measure in own] for name, own in units.systems.items()}
    for name, own in measures.items():
        if own != next(iter(measures.values())):
            yield f"{path}.systems{_key(name)}", "the measures are not those of the other systems"
    for name, listed in units.systems.items():
        for number, measure in enumerate(listed):
            where, known = f"{path}.systems{_key(name)}[{number}]", {*measure.paths}
            if len(known) < len(measure.paths):
                yield f"{where}.paths", "a path occurs twice"
            if measure.name in ("exact", "fair") and (measure.name, "overall") not in known:
                yield f"{where}.paths", "the overall score is missing"
            if measure.name == "exact" and "f1" not in measure.tested:
                yield f"{where}.tested", "F1 is missing"


def _of_sentence(sentence: Sentence, systems: Sequence[str], path: str) -> Iterator[Fault]:
    for system in systems:
        if system not in sentence.systems:
            yield f"{path}.systems", f"the system {system!r} is missing"
    for number, mention in enumerate(sentence.gold):
        where = f"{path}.gold[{number}]"
        yield from _of_span(mention.start, mention.end, where)
        for system in systems:
            if system not in mention.outcome:
                yield f"{where}.outcome", f"the system {system!r} is missing"
        yield from _of_partners(mention, sentence, where)
    for system, predicted in sentence.systems.items():
        for number, one in enumerate(predicted):
            where = f"{path}.systems{_key(system)}[{number}]"
            yield from _of_span(one.start, one.end, where)
            if one.partner is not None and not 0 <= one.partner < len(sentence.gold):
                yield f"{where}.partner", f"there is no gold mention {one.partner} in this sentence"


def _of_partners(mention: GoldMention, sentence: Sentence, path: str) -> Iterator[Fault]:
    for system, partner in mention.partner.items():
        if partner is not None and not 0 <= partner < len(sentence.systems.get(system, ())):
            where = f"{path}.partner{_key(system)}"
            yield where, f"there is no mention {partner} of the system in this sentence"


def _of_span(start: int, end: int, path: str) -> Iterator[Fault]:
    unplaced = start == end == -1  # on the gold text
    if not unplaced and not 0 <= start <= end <= MOST:
        yield path, f"a mention cannot reach from {start} to {end}"


def _of_parts(value: object, path: str) -> Iterator[Fault]:
    """What is wrong with the scores, at any depth."""
    if isinstance(value, float):
        if not -MOST <= value <= MOST:
            yield path, f"{value:g} is too large a number"
    elif isinstance(value, Struct):
        if isinstance(value, Confusion):
            yield from _of_confusion(value, path)
        elif isinstance(value, BucketLeads):
            yield from _of_leads(value, path)
        elif isinstance(value, Comparison):
            if len(value.runs) not in (0, len(value.systems)):
                yield path, _differ("runs", value.runs, "systems", value.systems)
        elif isinstance(value, SystemScores):
            for kind, rows in value.confusion.pairs.items():
                for label in sorted({label for row in rows for label in row[:2]} - {*value.exact.labels}):
                    yield f"{path}.confusion.pairs.{kind}", f"the label {label!r} has no scores"
        for field in value.__struct_fields__:
            inner = getattr(value, field)
            if field == "path" and inner == ():
                yield f"{path}.path", "the path of a score is empty"
            is_level = field == "confidence" and not isinstance(value, SuspectEvidence)
            if is_level and isinstance(inner, float) and not _is_level(inner):
                yield f"{path}.confidence", f"{inner:g} must be {_LEVELS}"
            if inner is not UNSET and field not in _APART:
                yield from _of_parts(inner, f"{path}.{field}")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _of_parts(inner, f"{path}{_key(str(key))}")
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            if not isinstance(inner, str):
                yield from _of_parts(inner, f"{path}[{number}]")


def _of_confusion(confusion: Confusion, path: str) -> Iterator[Fault]:
    labels = confusion.labels
    if len(set(labels)) != len(labels):
        yield f"{path}.labels", "a label occurs twice"
    for name in ("counts", "missed", "spurious"):
        if len(getattr(confusion, name)) != len(labels):
            yield path, _differ(name, getattr(confusion, name), "labels", labels)
    for number, row in enumerate(confusion.counts):
        if len(row) != len(labels):
            yield path, _differ(f"counts[{number}]", row, "labels", labels)


def _of_leads(leads: BucketLeads, path: str) -> Iterator[Fault]:
    for name in ("differences", "relative"):
        values = getattr(leads, name)
        if leads.buckets and len(values) != len(leads.buckets):
            yield path, _differ(name, values, "buckets", leads.buckets)


def _differ(name: str, values: Sequence[object], other: str, others: Sequence[object]) -> str:
    return f"{name} has {len(values)} entries, but {other} has {len(others)}"


def _key(key: str) -> str:
    return f"[{key!r}]" if set(".[]") & set(key) else f".{key}"
