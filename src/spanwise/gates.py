"""Saved results: compared by their counts per unit, and checked against thresholds and an earlier result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import fsum
from pathlib import Path
from typing import TypeAlias, TypeVar, cast

from msgspec import UNSET, Struct, UnsetType, convert
from msgspec.structs import replace

from spanwise.attributes import ATTRIBUTES
from spanwise.columns import ratio
from spanwise.diagnosis import letters, with_leads
from spanwise.document import Document, Input
from spanwise.document.evaluation import Evaluation, ExampleCounts, UnitCounts
from spanwise.document.loading import as_document, load
from spanwise.document.scores import PRIMARY, Comparison, ScoreTest, SubsetScores, SystemScores
from spanwise.document.study import Study
from spanwise.errors import ChoiceError, InputError, many, unknown
from spanwise.evaluation import compared, packed_beside, unpacked, with_lead_intervals
from spanwise.evaluation.columns import mention_columns
from spanwise.findings import findings
from spanwise.scores import Measure
from spanwise.settings import CONFIDENCE, CORRECTION
from spanwise.slices.index import Check as Check
from spanwise.slices.index import GateFile, SliceIndex, least_check, read_gate, slice_checks
from spanwise.statistics import said_p
from spanwise.uncertainty import Resampling


class Change(Struct, frozen=True):
    """How one system's score changed since an earlier result; a system that is new is not tested.

    The score is the one that the gate is about: F1 unless another was chosen.
    """

    system: str
    before: float | None
    after: float | None
    difference: float | None = None
    interval: tuple[float | None, float | None] | None = None
    p: float | None = None
    new: bool = False
    score: str = "F1"


class Outcome(Struct, frozen=True):
    """All thresholds of a gate, and notes for the user."""

    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()  # since an earlier result
    said: tuple[str, ...] = ()  # the changes that no threshold is about, in words

    @property
    def passed(self) -> bool:
        """Whether every threshold was reached."""
        return all(check.passed for check in self.checks)

    @property
    def lines(self) -> list[str]:
        """One line per threshold, then the changes and the notes."""
        return [*(check.message for check in self.checks), *self.said, *self.notes]


def gate(
    document: Document | Mapping[str, object],
    *,
    fail_under: float | None = None,
    against: str | Path | Document | Mapping[str, object] | None = None,
    fail_drop: float | None = None,
    not_worse_than: float | None = None,
    floors: Sequence[str] | Mapping[str, float] = (),
    floor_bound: bool = False,
    file: str | Path | None = None,
    strict: bool = False,
    score: str | None = None,
) -> Outcome:
    """Whether every system of a result document reaches its thresholds, all of them in points (0–100).

    Over several runs, the mean over runs is held to them; it is undefined where the score of a run is.

    Args:
        fail_under: the least score.
        against: an earlier result document (or its file) over the same gold file. Keep the same one
            over several releases: if each is compared with the one before, small losses add up unnoticed.
        fail_drop: fails where the drop of the score is significantly larger than this, that is where the
            lower end of its interval exceeds it; 0 forbids every significant drop.
        not_worse_than: passes only where a drop of this size or more is excluded, that is where the upper
            end of the interval of the drop is below it (non-inferiority).
        floors: the least score of a label or slice: "PER=90", "tough/UNSEEN-ANY=70", "entity_length/XL=60",
            "fair/overall/f1=80". An undefined score reaches no floor.
        floor_bound: hold `fail_under` and floors against the lower ends of the scores' intervals.
        file: a TOML file with thresholds, also of named slices; these need the mentions of an evaluation.
        score: what `fail_under`, `fail_drop` and `not_worse_than` are about: "f1", "precision", "recall",
            "macro" or "fair"; by default the primary score of the result (F1 unless another was chosen).
        strict: whether a system that the earlier result does not have fails; else it is said to be untested.

    Raises:
        ChoiceError: a threshold is not in points, names no score, or asks for a test that is not made.
    """
    checks: list[Check] = []
    document = as_document(document)
    if not isinstance(document, Evaluation | Study):
        # Nothing to check must not pass for everything checked.
        raise InputError(
            f"thresholds are held against an evaluation or a study, but the document is a {document.kind}.\n"
            "Give the result of an evaluation or a study."
        )
    systems = _gated(document)
    if not systems:
        raise InputError("the document holds no systems.\nGive the result of an evaluation.")
    if score is not None and score not in PRIMARY:
        raise unknown("primary score", score, PRIMARY)
    score = score or document.settings.primary or "f1"
    if fail_under is not None:
        check_points("fail_under", fail_under)
        checks += [
            least_check(
                one.name, _PLACES[score], one.overall(score, bound=floor_bound), fail_under, bound=floor_bound
            )
            for one in systems
        ]
    for place, least in _floors(floors):
        check_points(f"the floor of {place}", least)
        checks += [
            least_check(one.name, place, one.held(place, bound=floor_bound), least, bound=floor_bound)
            for one in systems
        ]
    if file is not None:
        checks += _file_checks(document, read_gate(file), floor_bound=floor_bound)
    if against is None:
        for name, points in (("fail_drop", fail_drop), ("not_worse_than", not_worse_than)):
            if points is not None:
                raise ChoiceError(f"{name} needs an earlier result to compare with.\nPass against=.")
        if strict:
            raise ChoiceError("strict needs an earlier result to compare with.\nPass against=.")
        return Outcome(tuple(checks))
    if not isinstance(document, Evaluation):
        raise ChoiceError(
            "a study cannot be held against an earlier result.\nHold one run of each system against it."
        )
    for name, points in (("fail_drop", fail_drop), ("not_worse_than", not_worse_than)):
        if points is not None:
            _check_drop(name, points, document.settings.resamples)
    drops = _drops(document, against, fail_drop, not_worse_than, strict=strict, score=score)
    return replace(drops, checks=(*checks, *drops.checks))


# The name of the score in thresholds.
_PLACES = {"f1": "f1", "precision": "precision", "recall": "recall", "macro": "macro f1", "fair": "fair f1"}


class GatedSystem(Struct, frozen=True):
    """A system that is held to thresholds by the mean over its runs; that of one run is its score."""

    name: str
    runs: tuple[SystemScores, ...]
    interval: tuple[float | None, float | None] | None = None  # of the mean of the study's score over runs
    score: str | None = None  # that score

    def overall(self, score: str, *, bound: bool) -> float | None:
        """The score of the whole, or the lower end of its interval."""
        if not bound:
            return _mean([run.primary(score) for run in self.runs])
        if len(self.runs) == 1:
            return (self.runs[0].primary_ends(score) or (None, None))[0]
        if score != self.score:
            raise _no_bound(_PLACES[score])
        return (self.interval or (None, None))[0]

    def held(self, place: str, *, bound: bool) -> float | None:
        """The score at a place, or the lower end of its interval."""
        if bound and len(self.runs) > 1:
            raise _no_bound(place)
        return _mean([_held(run, place, bound=bound) for run in self.runs])


def _no_bound(place: str) -> ChoiceError:
    return ChoiceError(
        f"floor_bound needs intervals, and the mean of {place} over several runs has none.\n"
        "Leave it out, or evaluate one run of each system."
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean over runs; where one of them is undefined, so is the mean."""
    defined = [value for value in values if value is not None]
    return None if len(defined) < len(values) else float(ratio(fsum(defined), len(defined)))


def _gated(document: Document) -> list[GatedSystem]:
    """The systems of an evaluation, or of every dataset of a study."""
    if isinstance(document, Evaluation):
        return [GatedSystem(name, (one,)) for name, one in document.systems.items()]
    if not isinstance(document, Study):
        return []
    about = document.analyses.score or "f1"
    score = {"fair_f1": "fair"}.get(about, about)
    main = document.analyses.holistic
    return [
        GatedSystem(
            name if len(document.datasets) == 1 else f"{dataset} × {name}",
            tuple(runs.values()),
            main[name][dataset].ends("mean") if name in main and dataset in main[name] else None,
            score,
        )
        for dataset, held in document.datasets.items()
        for name, runs in held.runs.items()
        if runs
    ]


def _file_checks(document: Evaluation | Study, asked: GateFile, *, floor_bound: bool) -> list[Check]:
    """The checks that a file asks for."""
    inner = gate(
        document,
        fail_under=asked.fail_under,
        floors=asked.floors,
        floor_bound=floor_bound,
        score=asked.score,
    )
    if not asked.slices:
        return list(inner.checks)
    if not isinstance(document, Evaluation):
        raise ChoiceError(
            "named slices cannot be held to floors over several runs.\nEvaluate one run of each system."
        )
    return [*inner.checks, *slice_checks(SliceIndex.of(mention_columns(document)), asked.slices)]


def check_points(what: str, least: float) -> None:
    """Refuse thresholds that every score or none would reach, above all fractions in place of points."""
    if 0 < least <= 1:
        raise ChoiceError(
            f"{what} is {least:g}, but thresholds are points from 0 to 100.\nWrite {100 * least:g}."
        )
    if not 0 <= least <= 100:
        raise ChoiceError(f"{what} is {least:g}, but must be between 0 and 100, in points.")


def _check_drop(name: str, points: float, resamples: int) -> None:
    if not 0 <= points <= 100:
        raise ChoiceError(f"{name} is {points:g}, but must be between 0 and 100, in points.")
    if not resamples:  # a gate that cannot fail must not look as if it had been passed
        raise ChoiceError(
            f"{name} needs a paired test, which resamples=0 leaves out.\n"
            "Evaluate with resamples, 1000 for example."
        )


def _held(system: SystemScores, place: str, *, bound: bool) -> float | None:
    """What is compared with a floor: the score, or the lower end of its interval."""
    scores, name = _cell(system, place)
    if not bound:
        return _number(_follow(scores, [name]))
    bounds = getattr(scores, "interval", {}).get(name)
    return None if bounds is None else bounds[0]


def _floors(floors: Sequence[str] | Mapping[str, float]) -> list[tuple[str, float]]:
    if isinstance(floors, Mapping):
        return list(floors.items())
    checks = []
    for text in floors:
        place, _, number = text.rpartition("=")
        try:
            checks.append((place, float(number)))
        except ValueError:
            place = ""
        if not place:
            raise ChoiceError(
                f"the floor {text!r} is not of the form NAME=POINTS.\n"
                "Write it like PER=90 or tough/UNSEEN-ANY=70."
            )
    return checks


def _cell(system: SystemScores, place: str) -> tuple[object, str]:
    """The scores at a place such as "PER", "tough/SEEN", "entity_length/XL" or a whole path, and which."""
    parts = place.split("/")
    labels = system.exact.labels
    if place in labels:
        return labels[place], "f1"
    if len(parts) == 1:
        if place in ("precision", "recall", "f1"):
            return system.exact.overall, place
        raise unknown("label", place, [*labels, "precision", "recall", "f1"])
    if parts[0] == "tough" and len(parts) in (2, 3):
        if not system.tough:
            raise ChoiceError(f"the floor of {place} needs training data.\nEvaluate with train=.")
        subset = _entry("tough subset", cast("Mapping[str, SubsetScores]", system.tough), parts[1])
        return (subset.overall if len(parts) == 2 else _entry("label", subset.labels, parts[2])), "recall"
    tables = system.attributes
    name = ATTRIBUTES.find(parts[0]).name if parts[0] in ATTRIBUTES else parts[0]
    if name in tables and len(parts) == 2:
        buckets = {bucket.name: bucket for bucket in tables[name].buckets}
        return _entry("bucket", buckets, parts[1]), "f1"
    _follow(system, parts)  # names the part that is unknown
    return _follow(system, parts[:-1]), parts[-1]


def _follow(scores: object, parts: Sequence[str]) -> object:
    """The value at a path of keys, through objects and mappings."""
    node = scores
    for part in parts:
        keys = _keys(node)
        if part not in keys:
            more = list(scores.attributes) if isinstance(scores, SystemScores) and node is scores else []
            raise unknown("score", part, [*keys, *more])
        node = node[part] if isinstance(node, Mapping) else getattr(node, part)
    return node


def _keys(node: object) -> list[str]:
    if isinstance(node, Mapping):
        return list(map(str, node))
    return [key for key in getattr(node, "__struct_fields__", ()) if getattr(node, key) is not UNSET]


T = TypeVar("T")


def _entry(kind: str, table: Mapping[str, T], name: str) -> T:
    if name not in table:
        raise unknown(kind, name, table)
    return table[name]


def _number(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ChoiceError("a floor must name one score.\nAdd it to the path, such as fair/overall/f1=80.")
    return float(value)


# ---- against an earlier result --------------------------------------------------------------


def _drops(
    document: Evaluation,
    against: str | Path | Document | Mapping[str, object],
    fail_drop: float | None,
    not_worse_than: float | None,
    *,
    strict: bool,
    score: str,
) -> Outcome:
    name = str(against) if isinstance(against, str | Path) else "the earlier result"
    base = evaluation_of(load(against) if isinstance(against, str | Path) else as_document(against), name)
    check_same_gold([document, base], ["the new result", name])
    pairs, earlier = _pairs(document, base), name
    both = compare_documents(
        [document, base],
        names=["new", "old"],
        pairs=[(f"new {one}", f"old {other}") for one, other in pairs],
        resamples=document.settings.resamples,
        seed=document.settings.seed,
        primary=score,
    )
    about = _PLACES[score].replace("f1", "F1")
    checks: list[Check] = []
    notes: list[str] = []
    changes: list[Change] = []
    said: list[str] = []
    for (name, other), comparison in zip(pairs, both.comparisons, strict=True):
        row = comparison.primary
        before, after = base.systems[other].primary(score), document.systems[name].primary(score)
        change = Change(name, before, after, score=about)
        if row is not None:
            change = replace(change, difference=row.difference, interval=row.interval, p=row.p)
        changes.append(change)
        if row is None or row.difference is None or row.a is UNSET or row.b is UNSET:
            message = f"{name}: {about} is n/a in one of the results, so they cannot be compared."
            asked = (("drop", fail_drop), ("not worse", not_worse_than))
            failed = [Check(f"{name} {what}", False, message) for what, points in asked if points is not None]
            checks += failed
            notes += [] if failed else [message]
            continue
        values = f"{_points(row.b)} → {_points(row.a)} ({100 * row.difference:+.2f}, {_spoken(row)})"
        spoken = f"{name}: {about} {values}"
        if fail_drop is None and not_worse_than is None:
            said.append(f"{spoken}.")
        checks += _drop_checks(name, row, spoken, fail_drop, not_worse_than)
        least = comparison.detectable
        if least is not UNSET and least is not None:
            notes.append(
                f"{name}: a true difference of {100 * least:.2f} {about} would be detected four times in "
                "five on this test set."
            )
    held = {name for name, _ in pairs}
    for name in (name for name in document.systems if name not in held):
        message = f"{name}: untested, because {earlier} has no system of this name."
        changes.append(Change(name, None, document.systems[name].primary(score), new=True, score=about))
        if strict:
            checks.append(Check(f"{name} untested", False, message))
        else:
            notes.append(message)
    return Outcome(tuple(checks), (*notes, *(both.notes or ())), tuple(changes), tuple(said))


def _drop_checks(
    name: str, row: ScoreTest, spoken: str, fail_drop: float | None, not_worse_than: float | None
) -> list[Check]:
    """Both thresholds on the interval of the drop: its lower end above one, its upper end below the other."""
    low, high = row.interval or (None, None)
    drop = None if low is None or high is None else (-100 * high, -100 * low)
    checks = []
    if fail_drop is not None:
        failed = drop is not None and drop[0] > fail_drop
        verdict = f"{'a' if failed else 'no'} significant drop of more than {fail_drop:g}"
        checks.append(Check(f"{name} drop", not failed, f"{spoken}: {verdict}."))
    if not_worse_than is not None:
        # Where nothing varies and both are equal, there is no drop to exclude.
        passed = drop is not None and (drop[1] < not_worse_than or drop == (0.0, 0.0))
        verdict = f"a drop of {not_worse_than:g} or more is {'excluded' if passed else 'not excluded'}"
        checks.append(Check(f"{name} not worse", passed, f"{spoken}: {verdict}."))
    return checks


def _points(value: float | None) -> str:
    return "n/a" if value is None else f"{100 * value:.2f}"


def _spoken(row: ScoreTest) -> str:
    if row.p is None:
        return "not tested without resamples"
    bounds = row.interval
    within = f"[{100 * (bounds[0] or 0):+.2f}, {100 * (bounds[1] or 0):+.2f}], " if bounds else ""
    return f"{within}{said_p(row.p)}"


def _pairs(document: Evaluation, base: Evaluation) -> list[tuple[str, str]]:
    """The systems to set against each other: the only ones, else those of equal name."""
    new, old = list(document.systems), list(base.systems)
    if len(new) == len(old) == 1:
        return [(new[0], old[0])]
    pairs = [(name, name) for name in new if name in old]
    if not pairs:
        raise InputError(
            f"the two results share no system: {', '.join(new)} here, {', '.join(old)} there.\n"
            "Give the systems the same names, as in name=path."
        )
    return pairs


# ---- several result documents over the same gold file become one ----


def compare_documents(
    documents: Sequence[Document | Mapping[str, object]],
    *,
    names: Sequence[str],
    pairs: Sequence[tuple[str, str]] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    correction: str = CORRECTION,
    primary: str = "f1",
) -> Evaluation:
    """One result document of several over the same gold file, compared by their counts per unit.

    Systems keep their names; where two documents use the same, the document's name (a file's stem)
    goes in front. Slices that were bucketed differently are left out, and `notes` says which.

    Raises:
        InputError: the documents are not over the same gold file, or lack their counts per unit.
    """
    stems = [Path(name).stem for name in names]
    results = [
        evaluation_of(as_document(document), name) for document, name in zip(documents, names, strict=True)
    ]
    check_same_gold(results, names)
    renamed = _renamed(results, stems, always=pairs is not None)
    differing, notes = _differing(results)
    measures = _measures(results, names, renamed, differing, pairs)
    if not resamples:  # nothing but totals is asked for, and units need not be told apart
        measures = {name: [one.of_one_unit() for one in own] for name, own in measures.items()}
    tests = compared(
        {name: [own] for name, own in measures.items()},
        list(combinations(measures, 2)) if pairs is None else list(pairs),
        Resampling(_units(results[0]).number, resamples, seed),
        confidence=confidence,
        correction=correction,
        primary=PRIMARY[primary],
    )
    merged = _merged(results, stems, renamed)
    chosen = {"correction": correction, "primary": UNSET if primary == "f1" else primary}
    settings = replace(merged.settings, resamples=resamples, seed=seed, confidence=confidence, **chosen)
    scores = {name: system.primary(primary) for name, system in merged.systems.items()}
    comparisons = with_lead_intervals(
        with_leads(
            convert(tests, tuple[Comparison, ...]), {name: [one] for name, one in merged.systems.items()}
        ),
        {name: [own] for name, own in measures.items()},
        _units(results[0]).number if resamples else 0,
        confidence,
    )
    found = replace(
        merged,
        settings=settings,
        comparisons=comparisons,
        letters=letters(scores, comparisons, path=PRIMARY[primary]),
        notes=tuple(notes),
    )
    return replace(found, findings=findings(found))


def compare_two(
    documents: tuple[Evaluation, Evaluation], systems: tuple[str, str], *, resamples: int, primary: str
) -> tuple[Comparison, tuple[str, ...]]:
    """One system of each of two documents over the same gold file, and what the notes say of the comparison.

    The scores are those of `compare_documents` for this pair, without the parts of the lead and the findings.

    Raises:
        InputError: the documents are not over the same gold file, or lack their counts per unit.
    """
    names = ("a", "b")
    check_same_gold(documents, names)
    renamed = _renamed(documents, names, always=True)
    pair = (renamed["a", systems[0]], renamed["b", systems[1]])
    differing, notes = _differing(documents)
    measures = _measures(documents, names, renamed, differing, [pair])
    comparisons = compared(
        {name: [own] for name, own in measures.items()},
        [pair],
        Resampling(_units(documents[0]).number, resamples, 0),
        confidence=CONFIDENCE,
        correction=CORRECTION,
        primary=PRIMARY[primary],
    )
    return comparisons[0], tuple(notes)


def _measures(
    documents: Sequence[Evaluation],
    names: Sequence[str],
    renamed: Mapping[tuple[str, str], str],
    differing: set[str],
    pairs: Sequence[tuple[str, str]] | None,
) -> dict[str, list[Measure]]:
    """The counts per unit of the systems that are compared, by their new names; what differs is left out."""
    asked = None if pairs is None else {name for pair in pairs for name in pair}
    return {
        renamed[Path(name).stem, system]: [
            measure
            for measure in unpacked(_units(document).systems[system], place=name)
            if measure.name not in differing
        ]
        for document, name in zip(documents, names, strict=True)
        for system in document.systems
        if asked is None or renamed[Path(name).stem, system] in asked
    }


def _merged(
    documents: Sequence[Evaluation], stems: Sequence[str], renamed: Mapping[tuple[str, str], str]
) -> Evaluation:
    """One document with the systems of all under their new names; what a comparison finds is added to it."""
    first = documents[0]
    pairs = list(zip(stems, documents, strict=True))
    owned = [
        (renamed[stem, system], document, system) for stem, document in pairs for system in document.systems
    ]
    predicted = [
        replace(row, system=renamed[stem, row.system])
        for stem, document in pairs
        for row in document.inputs
        if row.role == "predicted" and row.system is not UNSET
    ]
    return replace(
        first,
        kind="comparison",
        inputs=(*(row for row in first.inputs if row.role != "predicted"), *predicted),
        settings=replace(first.settings, examples="none"),
        systems={new: document.systems[system] for new, document, system in owned},
        # Each document holds the sentences of its own systems, which cannot be set side by side.
        sentences=(),
        examples=ExampleCounts(policy="none", cap=0, shown=0, of=0),
        mentions=packed_beside(
            [document.mentions for document in documents],
            [{system: renamed[stem, system] for system in document.systems} for stem, document in pairs],
            place=stems[0],
        ),
        units=replace(
            _units(first),
            systems={new: _units(document).systems[system] for new, document, system in owned},
        ),
    )


def _renamed(
    documents: Sequence[Evaluation], stems: Sequence[str], *, always: bool
) -> dict[tuple[str, str], str]:
    """The name of each document's systems in the merged one, with the document's name where needed."""
    owners = [
        (stem, name) for stem, document in zip(stems, documents, strict=True) for name in document.systems
    ]
    if len(set(owners)) < len(owners):
        raise ChoiceError(
            "two of the documents have the same name and the same systems.\nRename one of the files."
        )
    if always or len({name for _, name in owners}) < len(owners):
        return {owner: f"{owner[0]} {owner[1]}" for owner in owners}
    return {owner: owner[1] for owner in owners}


def evaluation_of(document: Document, name: str) -> Evaluation:
    """The document of an evaluation; others cannot be compared."""
    if not isinstance(document, Evaluation):
        raise InputError(
            f"{name}: evaluations are compared, but the document is a {document.kind}.\n"
            "Make one with spanwise evaluate --json."
        )
    if not document.systems:
        raise InputError(f"{name}: the document holds no systems.\nMake one with spanwise evaluate --json.")
    return document


def _units(document: Evaluation) -> UnitCounts:
    assert document.units is not UNSET  # `check_same_gold` refuses documents without them
    return document.units


def _gold(document: Evaluation) -> Input:
    return next(row for row in document.inputs if row.role == "gold")


def check_same_gold(documents: Sequence[Evaluation], names: Sequence[str]) -> None:
    """Refuse documents that are not over the gold file of the first, or lack their counts per unit."""
    first = documents[0]
    for document, name in zip(documents, names, strict=True):
        if document.units is UNSET or not document.units.systems:
            raise InputError(
                f"{name}: the document lacks its counts per unit.\n"
                "Make it again with spanwise evaluate --json."
            )
        here, there = (
            (_gold(one).sha256, _units(one).kind, _units(one).number, one.dataset.mentions)
            for one in (document, first)
        )
        if here == there:
            continue
        if here[0] != there[0]:
            what = f"the gold data differ ({_gold(document).path} here, {_gold(first).path} there)"
        else:
            counted = f"{many(here[2], here[1])} here, {many(there[2], there[1])} there"
            what = f"the gold file was read differently ({counted})"
        raise InputError(
            f"{name}: {what}, so {names[0]} cannot be compared with it.\n"
            "A paired test needs two results over the same gold file."
        )


def _differing(documents: Sequence[Evaluation]) -> tuple[set[str], list[str]]:
    """The measures that were bucketed differently in some documents, and the notes on them."""
    left: set[str] = set()
    notes = []
    train = {tuple(row.sha256 for row in document.inputs if row.role == "train") for document in documents}
    if len(train) > 1:
        trained = [attribute.name for attribute in ATTRIBUTES if "train" in attribute.needs]
        left |= {"tough", *(f"attribute {name}" for name in trained)}
        notes.append("the results used different training data; what depends on it is not compared.")
    named = dict.fromkeys(name for document in documents for name in _cuts(document))
    if len({document.settings.lowercase for document in documents}) > 1:
        left |= {f"attribute {name}" for name in named}
        notes.append("only some of the results compare strings in lower case; attributes are not compared.")
    for name in named:
        cuts = [_cuts(document).get(name) for document in documents]
        if f"attribute {name}" not in left and any(cut != cuts[0] for cut in cuts):
            left.add(f"attribute {name}")
            notes.append(f"{name} was bucketed differently and is not compared.")
    return left, notes


_Cut: TypeAlias = list[tuple[str, float | UnsetType | None, float | UnsetType | None]]


def _cuts(document: Evaluation) -> dict[str, _Cut]:
    """The buckets of every attribute of a document; categories are told apart by their names."""
    system = next(iter(document.systems.values()))
    return {
        name: [(bucket.name, bucket.low, bucket.high) for bucket in table.buckets if bucket.low is not UNSET]
        for name, table in system.attributes.items()
    }
