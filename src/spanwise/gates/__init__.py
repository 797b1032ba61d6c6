"""Check saved results against thresholds and an earlier result, and compare them by counts per unit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from math import fsum
from pathlib import Path
from typing import TypeVar, cast

from msgspec import UNSET, Struct
from msgspec.structs import replace

from spanwise.attributes import ATTRIBUTES
from spanwise.columns import ratio
from spanwise.document import Document, Settings, given, gold_input
from spanwise.document.evaluation import DatasetRuns, Evaluation, PackedMeasure
from spanwise.document.loading import as_document, load
from spanwise.document.scores import PRIMARY, Comparison, ScoreTest, SubsetScores, SystemScores
from spanwise.document.study import Study, StudySettings
from spanwise.errors import ChoiceError, InputError, unknown
from spanwise.evaluation.columns import mention_columns
from spanwise.evaluation.comparisons import compare_runs, corrected_together
from spanwise.evaluation.scoring import unpack_measures
from spanwise.gates._drops import TestedDrop, UnitDrops, drop_checks, not_worse_checks
from spanwise.gates.merging import (
    CountedGold,
    check_gold,
    check_same_gold,
    compare_documents,
    compare_two,
    differing,
    evaluation_of,
)
from spanwise.rates import RATES, ByScore, is_rate
from spanwise.scores import Measure
from spanwise.settings import CONFIDENCE, CORRECTION
from spanwise.slices.index import Check as Check
from spanwise.slices.index import GateFile, SliceIndex, least_check, read_gate, slice_checks
from spanwise.statistics import format_p
from spanwise.uncertainty import Resampling

__all__ = [
    "Change",
    "Check",
    "ComparedData",
    "Outcome",
    "check_points",
    "check_same_gold",
    "compare_documents",
    "compare_two",
    "compared_data",
    "differing",
    "evaluation_of",
    "gate",
]


class Change(Struct, frozen=True):
    """How one system's score changed since an earlier result; a new system is not tested.

    The score is the one the gate checks: F1 unless another was chosen.

    Examples:
        >>> Change("mine", before=0.8, after=0.7, difference=-0.1).score
        'F1'
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
    """The checks of a gate, and notes for the user.

    Examples:
        >>> outcome = Outcome((Check("mine", False, "mine: F1 is 66.7, which is below 70."),))
        >>> outcome.passed, outcome.lines
        (False, ['mine: F1 is 66.7, which is below 70.'])
    """

    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()  # since an earlier result
    descriptions: tuple[str, ...] = ()  # descriptions of changes to which no threshold applies

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def lines(self) -> list[str]:
        """One line per check, then the changes and the notes."""
        return [*(check.message for check in self.checks), *self.descriptions, *self.notes]


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
    """Check whether every system of a result document reaches its thresholds, all in points (0–100).

    With several runs, their mean is checked; it is undefined if the score of any run is. Against an earlier
    result, the difference of the means is tested over data and runs or, if a system has a single run in one
    of them, over data alone. A study is compared dataset by dataset.

    Args:
        fail_under: the minimum score.
        against: an earlier result document (or its file) over the same gold file. Keep the same one
            over several releases: if each is compared with the one before, small losses add up unnoticed.
        fail_drop: fail if the score drops by significantly more than this: the lower end of the interval of
            the drop exceeds it, and one-sided sign flips of units agree at 2.5 %, by Holm's method over
            systems; 0 forbids every significant drop.
        not_worse_than: pass only if a drop of this size or more is excluded: the upper end of the interval
            of the drop is below it, and one-sided sign flips agree at 2.5 % (non-inferiority).
        floors: the minimum score of a label or slice: "PER=90", "tough/UNSEEN-ANY=70",
            "entity_length/XL=60", "fair/overall/f1=80". An undefined score reaches no floor.
        floor_bound: compare `fail_under` and floors with the lower ends of the scores' intervals.
        file: a TOML file with thresholds; those for named slices need the mentions of an evaluation.
        score: the score that `fail_under`, `fail_drop` and `not_worse_than` apply to: "f1", "precision",
            "recall", "macro" or "fair"; by default, the primary score of the result (F1 unless another was
            chosen).
        strict: fail if the earlier result lacks a system, or if there are too few units to test a drop;
            otherwise the outcome only says so.

    Raises:
        ChoiceError: a threshold is not in points, does not name a score, or needs a test that was not made.

    Examples:
        >>> import spanwise
        >>> result = spanwise.evaluate([["B-PER", "O"]], {"mine": [["B-PER", "B-LOC"]]}, resamples=0)
        >>> gate(result, fail_under=60, floors={"PER": 90}).lines
        ['mine: f1 is 66.67, which reaches 60.', 'mine: PER is 100.00, which reaches 90.']
    """
    checks: list[Check] = []
    document = as_document(document)
    if not isinstance(document, Evaluation | Study):
        # A document with nothing to check must not pass.
        raise InputError(
            f"thresholds apply to an evaluation or a study, but the document is of kind {document.kind!r}.\n"
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
                system.name,
                _PLACES[score],
                system.overall(score, bound=floor_bound),
                fail_under,
                bound=floor_bound,
            )
            for system in systems
        ]
    for path, least in _floors(floors):
        check_points(f"the floor of {path}", least)
        checks += [
            least_check(system.name, path, system.score_at(path, bound=floor_bound), least, bound=floor_bound)
            for system in systems
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
    for name, points in (("fail_drop", fail_drop), ("not_worse_than", not_worse_than)):
        if points is not None:
            _check_drop(name, points, document.settings.resamples or 0)
    drops = _drops(document, against, fail_drop, not_worse_than, strict=strict, score=score)
    return replace(drops, checks=(*checks, *drops.checks))


# The names of scores in messages.
_PLACES = ByScore(
    {"f1": "f1", "precision": "precision", "recall": "recall", "macro": "macro f1", "fair": "fair f1"},
    lambda score: score.name,
)


class GatedSystem(Struct, frozen=True):
    """A system to check: the mean over its runs is compared with thresholds."""

    name: str
    runs: tuple[SystemScores, ...]
    interval: tuple[float | None, float | None] | None = None  # of the mean over runs of `score`
    score: str | None = None  # the main score of the study

    def overall(self, score: str, *, bound: bool) -> float | None:
        """The overall score, or the lower end of its interval."""
        if not bound:
            return _mean([run.primary(score) for run in self.runs])
        if len(self.runs) == 1:
            return (self.runs[0].primary_ends(score) or (None, None))[0]
        if score != self.score:
            raise _no_bound(_PLACES[score])
        return (self.interval or (None, None))[0]

    def score_at(self, path: str, *, bound: bool) -> float | None:
        """The score at a path such as "tough/SEEN", or the lower end of its interval."""
        if bound and len(self.runs) > 1:
            raise _no_bound(path)
        return _mean([_score_at(run, path, bound=bound) for run in self.runs])


def _no_bound(path: str) -> ChoiceError:
    return ChoiceError(
        f"floor_bound needs intervals, and the mean of {path} over several runs has none.\n"
        "Leave it out, or evaluate one run of each system."
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean over runs; undefined (None) if the score of any run is."""
    defined = [value for value in values if value is not None]
    return None if len(defined) < len(values) else float(ratio(fsum(defined), len(defined)))


def _gated(document: Document) -> list[GatedSystem]:
    """The systems of an evaluation, or of every dataset of a study."""
    if isinstance(document, Evaluation):
        return [GatedSystem(name, (system,)) for name, system in document.systems.items()]
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
        for dataset, part in document.datasets.items()
        for name, runs in part.runs.items()
        if runs
    ]


def _file_checks(document: Evaluation | Study, thresholds: GateFile, *, floor_bound: bool) -> list[Check]:
    """Check the thresholds in a file; those of leaks are for another document."""
    if thresholds.leak and thresholds == GateFile(leak=thresholds.leak):
        raise ChoiceError(
            "the file only limits leaks, which an evaluation does not count.\n"
            "Check it with: spanwise leaks GOLD PRED --gate FILE"
        )
    inner = gate(
        document,
        fail_under=thresholds.fail_under,
        floors=thresholds.floors,
        floor_bound=floor_bound,
        score=thresholds.score,
    )
    if not thresholds.slices:
        return list(inner.checks)
    if not isinstance(document, Evaluation):
        raise ChoiceError(
            "the floors of named slices cannot be checked over several runs.\n"
            "Evaluate one run of each system."
        )
    if document.in_memory is None:
        raise ChoiceError(
            "a saved result does not keep the place of every mention, which floors of named slices need.\n"
            "Check them while evaluating: spanwise evaluate GOLD PRED --gate FILE"
        )
    return [*inner.checks, *slice_checks(SliceIndex.of(mention_columns(document)), thresholds.slices)]


def check_points(what: str, least: float) -> None:
    """Refuse thresholds that are not points from 0 to 100, above all fractions."""
    if 0 < least <= 1:
        raise ChoiceError(
            f"{what} is {least:g}, but thresholds are points from 0 to 100.\nWrite {100 * least:g}."
        )
    if not 0 <= least <= 100:
        raise ChoiceError(f"{what} is {least:g}, but must be between 0 and 100, in points.")


def _check_drop(name: str, points: float, resamples: int) -> None:
    if not 0 <= points <= 100:
        raise ChoiceError(f"{name} is {points:g}, but must be between 0 and 100, in points.")
    if not resamples:  # a gate that cannot fail must not appear to pass
        raise ChoiceError(
            f"{name} needs a paired test, which resamples=0 leaves out.\n"
            "Evaluate with resamples, 1000 for example."
        )


def _score_at(system: SystemScores, path: str, *, bound: bool) -> float | None:
    """The value to compare with a floor: the score, or the lower end of its interval."""
    scores, name = _cell(system, path)
    if not bound:
        return _number(_follow(scores, [name]))
    bounds = getattr(scores, "interval", {}).get(name)
    return None if bounds is None else bounds[0]


def _floors(floors: Sequence[str] | Mapping[str, float]) -> list[tuple[str, float]]:
    if isinstance(floors, Mapping):
        return list(floors.items())
    checks = []
    for text in floors:
        path, _, number = text.rpartition("=")
        try:
            checks.append((path, float(number)))
        except ValueError:
            path = ""
        if not path:
            raise ChoiceError(
                f"the floor {text!r} is not of the form NAME=POINTS.\n"
                "Write it like PER=90 or tough/UNSEEN-ANY=70."
            )
    return checks


def _cell(system: SystemScores, path: str) -> tuple[object, str]:
    """The scores at "PER", "tough/SEEN", "entity_length/XL" or a full path, and the name of the score."""
    parts = path.split("/")
    labels = system.exact.labels
    if path in labels:
        return labels[path], "f1"
    if len(parts) == 1:
        if path in ("precision", "recall", "f1"):
            return system.exact.overall, path
        raise unknown("label", path, [*labels, "precision", "recall", "f1"])
    if parts[0] == "tough" and len(parts) in (2, 3):
        if not system.tough:
            raise ChoiceError(f"the floor of {path} needs training data.\nEvaluate with train=.")
        subset = _entry("tough subset", cast("Mapping[str, SubsetScores]", system.tough), parts[1])
        return (subset.overall if len(parts) == 2 else _entry("label", subset.labels, parts[2])), "recall"
    tables = system.attributes
    name = ATTRIBUTES.find(parts[0]).name if parts[0] in ATTRIBUTES else parts[0]
    if name in tables and len(parts) == 2:
        buckets = {bucket.name: bucket for bucket in tables[name].buckets}
        return _entry("bucket", buckets, parts[1]), "f1"
    _follow(system, parts)  # raises an error that names the unknown part
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
    document: Evaluation | Study,
    against: str | Path | Document | Mapping[str, object],
    fail_drop: float | None,
    not_worse_than: float | None,
    *,
    strict: bool,
    score: str,
) -> Outcome:
    earlier = str(against) if isinstance(against, str | Path) else "the earlier result"
    base = load(against) if isinstance(against, str | Path) else as_document(against)
    new, old = _over_gold(document, "the new result"), _over_gold(base, earlier)
    about = re.sub(r"\bf(?=\d)", "F", _PLACES[score])
    checks: list[Check] = []
    notes: list[str] = []
    changes: list[Change] = []
    descriptions: list[str] = []
    tested: list[TestedDrop] = []
    for now, then in _datasets(new, old, earlier):
        check_gold([now.counted, then.counted], ["the new result", earlier])
        pairs = _pairs(now, then)
        counted = _Compared.of(now, then, pairs, document.settings, score)
        for (system, before), comparison in zip(pairs, counted.comparisons(), strict=True):
            name, row = now.title(system), comparison.primary
            change = Change(name, then.score(before, score), now.score(system, score), score=about)
            if row is not None:
                change = replace(change, difference=row.difference, interval=row.interval, p=row.p)
            changes.append(change)
            if row is None or row.difference is None or row.a is UNSET or row.b is UNSET:
                message = f"{name}: {about} is n/a in one of the results, so they cannot be compared."
                thresholds = (("drop", fail_drop), ("not worse", not_worse_than))
                failed = [
                    Check(f"{name} {what}", False, message, "failed")
                    for what, points in thresholds
                    if points is not None
                ]
                checks += failed
                notes += [] if failed else [message]
                continue
            values = f"{_points(row.b)} → {_points(row.a)} ({100 * row.difference:+.2f}, {_spoken(row)})"
            spoken = f"{name}: {about} {values}"
            if fail_drop is None and not_worse_than is None:
                descriptions.append(f"{spoken}.")
            else:
                tested.append(counted.tested(name, spoken, (system, before), comparison, row))
            least = comparison.detectable
            if least is not UNSET and least is not None:
                notes.append(
                    f"{name}: a true difference of about {100 * least:.2f} {about} would be detected four "
                    "times in five on this test set."
                )
            if comparison.unreachable is not UNSET:
                notes.append(f"{name}: {comparison.unreachable}.")
        compared = {name for name, _ in pairs}
        for system in (name for name in now.systems if name not in compared):
            name = now.title(system)
            message = f"{name}: untested, because {earlier} has no system of this name."
            changes.append(Change(name, None, now.score(system, score), new=True, score=about))
            if strict:
                checks.append(Check(f"{name} untested", False, message))
            else:
                notes.append(message)
    of_drop = [] if fail_drop is None else drop_checks(tested, fail_drop, strict=strict)
    of_both = [] if not_worse_than is None else not_worse_checks(tested, not_worse_than, strict=strict)
    order = {row.name: index for index, row in enumerate(tested)}
    several = sorted(
        [*zip(order, of_drop, strict=False), *zip(order, of_both, strict=False)],
        key=lambda named: order[named[0]],
    )
    checks = [*(check for _, check in several), *checks]
    if isinstance(document, Evaluation) and isinstance(base, Evaluation):
        notes += differing([document, base])[1]
    return Outcome(tuple(checks), tuple(notes), tuple(changes), tuple(descriptions))


class OverGold(Struct, frozen=True):
    """The systems of an evaluation, or of one dataset of a study, with all their runs."""

    dataset: str
    counted: CountedGold
    systems: Mapping[str, tuple[SystemScores, ...]]
    runs: Mapping[str, Sequence[Sequence[PackedMeasure]]]  # counts per unit
    alone: bool = True  # whether the document has no other dataset

    def title(self, system: str) -> str:
        """The name of a system in messages."""
        return system if self.alone else f"{self.dataset} × {system}"

    def score(self, system: str, score: str) -> float | None:
        """The mean score over the runs of a system."""
        return _mean([run.primary(score) for run in self.systems[system]])


def _over_gold(document: Document, name: str) -> list[OverGold]:
    """Divide a document into datasets; an evaluation has one, with one run of each system."""
    if isinstance(document, Study):
        return [
            _of_study(document, name, dataset, part)
            for dataset, part in document.datasets.items()
            if part.runs
        ]
    result = evaluation_of(document, name)
    gold = gold_input(result.inputs, name)
    units = given(result.units)
    return [
        OverGold(
            result.dataset.name or "",
            CountedGold(gold, result.dataset.mentions, units, result.settings.gold_rules),
            {system: (scores,) for system, scores in result.systems.items()},
            {} if units is None else {system: [counts] for system, counts in units.systems.items()},
        )
    ]


def _of_study(study: Study, name: str, dataset: str, part: DatasetRuns) -> OverGold:
    gold = gold_input(study.inputs, name, dataset)
    units = given(part.units) or {}
    return OverGold(
        dataset,
        CountedGold(
            gold, 0 if part.dataset is None else part.dataset.mentions, next(iter(units.values()), None)
        ),
        {system: tuple(runs.values()) for system, runs in part.runs.items() if runs},
        {system: list(unit.systems.values()) for system, unit in units.items()},
        alone=len(study.datasets) == 1,
    )


def _datasets(
    new: Sequence[OverGold], old: Sequence[OverGold], earlier: str
) -> list[tuple[OverGold, OverGold]]:
    """The pairs of datasets to compare: the only ones, or else those with the same name."""
    if len(new) == len(old) == 1:
        return [(new[0], old[0])]
    before = {dataset.dataset: dataset for dataset in old}
    pairs = [(dataset, before[dataset.dataset]) for dataset in new if dataset.dataset in before]
    if len(pairs) < len(new):
        missing = next(dataset.dataset for dataset in new if dataset.dataset not in before)
        raise InputError(
            f"{earlier}: it has no dataset {missing!r}, so the new result cannot be compared with it.\n"
            "Compare it with a study of the same datasets."
        )
    return pairs


class _Compared(Struct, frozen=True, eq=False):
    """The counts of the systems of two results over the same gold data, and how they are compared."""

    runs: Mapping[str, Sequence[Sequence[Measure]]]
    pairs: Sequence[tuple[str, str]]
    resampling: Resampling
    path: tuple[str, ...]
    unit: str

    @classmethod
    def of(
        cls,
        new: OverGold,
        old: OverGold,
        pairs: Sequence[tuple[str, str]],
        settings: Settings | StudySettings,
        score: str,
    ) -> _Compared:
        """Unpack the counts of the given score, new systems first."""
        path = PRIMARY[score]
        more = (score,) if is_rate(score) and score not in RATES else ()  # packed counts know no F-beta
        sides = {"new": (new, {name for name, _ in pairs}), "old": (old, {name for _, name in pairs})}
        measures = {
            f"{side} {system}": [
                [
                    measure.with_rates(more)
                    for measure in unpack_measures(counts, location=system)
                    if measure.name == path[0]
                ]
                for counts in results.runs[system]
            ]
            for side, (results, names) in sides.items()
            for system in results.runs
            if system in names
        }
        units = new.counted.units
        assert units is not None  # `check_gold` refuses documents without them
        resampling = Resampling(units.number, settings.resamples or 0, settings.seed or 0)
        return cls(measures, pairs, resampling, path, units.kind)

    def comparisons(
        self, confidence: float = CONFIDENCE, *, only_primary: bool = True, others: tuple[float, ...] = ()
    ) -> tuple[Comparison, ...]:
        """Test the given score, or all of its measure, new system first; both data and runs vary.

        `others` are p-values of further tests of the same family.
        """
        return compare_runs(
            self.runs,
            [(f"new {name}", f"old {before}") for name, before in self.pairs],
            replace(self.resampling, others=others),
            confidence=confidence,
            correction=CORRECTION,
            primary=self.path,
            only_primary=only_primary,
            unit=self.unit,
        )

    def tested(
        self, name: str, spoken: str, pair: tuple[str, str], comparison: Comparison, row: ScoreTest
    ) -> TestedDrop:
        """One system, ready to be held against thresholds of its drop."""
        new, old = self.runs[f"new {pair[0]}"], self.runs[f"old {pair[1]}"]
        several = min(len(new), len(old)) > 1

        def interval_at(confidence: float) -> tuple[float | None, float | None] | None:
            again = self.comparisons(confidence)[self.pairs.index(pair)].primary
            return None if again is None else again.interval

        return TestedDrop(
            name,
            spoken,
            self.unit,
            self.resampling.units,
            comparison,
            row,
            None if several else UnitDrops.of(new, old, self.path),
            self.resampling,
            interval_at,
        )


class ComparedPair(Struct, frozen=True):
    """A system, the one that it is compared with, and the tests of the difference, later minus earlier."""

    title: str
    system: str
    earlier: str
    comparison: Comparison


class ComparedData(Struct, frozen=True):
    """Two results on one dataset: the pairs of their systems, with the tests of all exact scores."""

    datasets: tuple[str, str]  # the names in the later and in the earlier result
    pairs: tuple[ComparedPair, ...]
    unit: str
    units: int


def compared_data(
    later: Document, earlier: Document, names: Sequence[str], *, system: str | None = None
) -> list[ComparedData]:
    """Compare the systems of two results, dataset by dataset, by all exact scores.

    The differences in F1 are one family: all systems on all datasets.

    Args:
        names: what messages call the later and the earlier result.
        system: only this system of the later result.

    Raises:
        InputError: the results are not over the same gold data, lack their counts or share no system.
        ChoiceError: the later result has no such system.
    """
    new, old = (_over_gold(document, name) for document, name in zip((later, earlier), names, strict=True))
    assert isinstance(later, Evaluation | Study)
    found = []
    for now, then in _datasets(new, old, names[1]):
        check_gold([now.counted, then.counted], names)
        if system is not None and system not in now.systems:
            raise unknown("system", system, now.systems)
        pairs = [pair for pair in _pairs(now, then) if system in (None, pair[0])]
        if not pairs:
            raise InputError(
                f"{names[1]}: it has no system {system!r}, so there is nothing to compare it with.\n"
                "Give the systems the same names, as in name=path."
            )
        found.append((now, then, _Compared.of(now, then, pairs, later.settings, "f1")))
    tests = _corrected([counted for *_, counted in found], later.settings.confidence or CONFIDENCE)
    return [
        ComparedData(
            (now.dataset, then.dataset),
            tuple(
                ComparedPair(now.title(pair[0]), *pair, row)
                for pair, row in zip(counted.pairs, rows, strict=True)
            ),
            counted.unit,
            counted.resampling.units,
        )
        for (now, then, counted), rows in zip(found, tests, strict=True)
    ]


def _corrected(found: Sequence[_Compared], confidence: float) -> list[tuple[Comparison, ...]]:
    """The tests of each dataset, with the primary question corrected over all of them."""
    tests = [counted.comparisons(confidence, only_primary=False) for counted in found]
    if len(found) == 1:
        return tests
    p = [[row.primary.p for row in rows if row.primary and row.primary.p is not None] for rows in tests]
    rows: list[Comparison] = []
    for at, counted in enumerate(found):  # again: what is close to its level depends on all tests
        others = tuple(value for other, values in enumerate(p) if other != at for value in values)
        rows += counted.comparisons(confidence, only_primary=False, others=others)
    undecided = [bool(given(row.undecided)) for row in rows]
    units = [counted.unit for counted in found for _ in counted.pairs]
    corrected = iter(corrected_together(rows, undecided, CORRECTION, units=units, of="test"))
    return [tuple(islice(corrected, len(counted.pairs))) for counted in found]


def _points(value: float | None) -> str:
    return "n/a" if value is None else f"{100 * value:.2f}"


def _spoken(row: ScoreTest) -> str:
    if row.p is None:
        return "not tested without resamples"
    bounds = row.interval
    within = f"[{100 * (bounds[0] or 0):+.2f}, {100 * (bounds[1] or 0):+.2f}], " if bounds else ""
    return f"{within}{format_p(row.p)}"


def _pairs(document: OverGold, base: OverGold) -> list[tuple[str, str]]:
    """The pairs of systems to compare: the only ones, or else those with the same name."""
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
