"""One dataset as a page shows it: every system in one run, all runs beside it, and their sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct, convert, to_builtins
from msgspec.structs import replace

from spanwise.diagnosis import lettering, mean_of, or_nan
from spanwise.document.evaluation import Evaluation, ExampleCounts, GoldMention, PredictedMention, Sentence
from spanwise.document.head import Interval, Settings
from spanwise.document.scores import Bounded, BucketScores, SystemScores
from spanwise.document.study import DatasetRuns, MainResult, Study

Path = tuple[str, ...]
Runs = Mapping[str, Mapping[str, SystemScores]]


class Shown(Struct, frozen=True):
    """An evaluation, or one dataset of a study.

    `document` has every system once: in a study in the run whose F1 is nearest to the median. `runs` has
    all of them; sentences name them by `run_name`.
    """

    name: str
    document: Evaluation
    runs: Runs
    means: Mapping[str, MainResult]  # F1 over runs; empty where each system has one run
    sentences: Sequence[Sentence]
    examples: ExampleCounts

    @property
    def order(self) -> dict[str, str]:
        """The systems from the highest F1 (its mean over runs) to the lowest, each with its letter."""
        return lettering({name: self.f1(name) for name in self.document.systems})

    def f1(self, name: str) -> float | None:
        """F1 of a system, its mean over runs."""
        mean = self.means.get(name)
        return self.document.systems[name].exact.overall.f1 if mean is None else mean.mean

    def f1_interval(self, name: str) -> Interval | None:
        """The interval of that F1."""
        mean = self.means.get(name)
        if mean is None:
            return self.document.systems[name].exact.overall.interval.get("f1")
        return mean.interval.get("mean") if mean.interval else None

    def several(self, name: str) -> bool:
        """Whether a system has several runs."""
        return len(self.runs[name]) > 1

    @property
    def run_names(self) -> dict[str, tuple[str, str]]:
        """The name of every run in the sentences, with its system and its run."""
        return {
            run_name(name, run, self.runs[name]): (name, run)
            for name in self.order
            for run in self.runs[name]
        }

    def middle(self, name: str) -> str:
        """The name of the run that stands for a system."""
        return run_name(name, middle_run(self.runs[name]), self.runs[name])


def run_name(system: str, run: str, runs: Mapping[str, SystemScores]) -> str:
    """What a run is called among the systems of a page."""
    return f"{system} · {run}" if len(runs) > 1 else system


def middle_run(runs: Mapping[str, SystemScores]) -> str:
    """The run whose F1 is the (lower) median."""
    f1 = {run: scores.exact.overall.f1 for run, scores in runs.items()}
    ranked = sorted(runs, key=lambda run: (f1[run] is not None, f1[run] or 0.0))
    return ranked[(len(ranked) - 1) // 2]


def evaluation_shown(document: Evaluation) -> Shown:
    """An evaluation: one run of each system."""
    none = ExampleCounts(policy="none", cap=0, shown=0, of=0)
    return Shown(
        name=document.dataset.name,
        document=document,
        runs={name: {"": scores} for name, scores in document.systems.items()},
        means={},
        sentences=document.sentences,
        examples=document.examples or none,
    )


def study_shown(study: Study) -> list[Shown]:
    """The datasets of a study that have runs."""
    return [
        _dataset_shown(study, name, one) for name, one in study.datasets.items() if one.runs and one.dataset
    ]


def _dataset_shown(study: Study, name: str, dataset: DatasetRuns) -> Shown:
    assert dataset.dataset is not None
    systems = {system: runs[middle_run(runs)] for system, runs in dataset.runs.items()}
    inputs = tuple(row for row in study.inputs if row.dataset in (name, UNSET))
    document = Evaluation(
        spanwise=study.spanwise,
        inputs=inputs,
        settings=_settings(study),
        dataset=replace(dataset.dataset, name=name),
        systems=systems,
        comparisons=dataset.comparisons,
        letters=study.analyses.letters.get(name, {}),
        findings=dataset.findings,
    )
    sentences = _merged(dataset) if dataset.sentences else []
    counts = dataset.examples.values() if dataset.examples else ()
    complete = bool(dataset.sentences) and all(one.shown == one.of for one in counts)
    policy = next((one.policy for one in counts), "none")
    return Shown(
        name=name,
        document=document,
        runs=dataset.runs,
        means={system: row[name] for system, row in study.analyses.holistic.items() if name in row}
        if any(len(runs) > 1 for runs in dataset.runs.values())
        else {},
        sentences=sentences,
        examples=ExampleCounts(
            policy=policy,
            cap=max((one.cap for one in counts), default=0),
            shown=len(sentences),
            of=len(sentences) if complete else max((one.of for one in counts), default=0),
        ),
    )


def _settings(study: Study) -> Settings:
    """The settings of one dataset, the usual ones where datasets differ."""
    usual: dict[str, Any] = {
        "focus": "gold", "resamples": 0, "seed": 0, "confidence": 0.95, "correction": "holm",
        "align": "strict", "repair": "conlleval", "lowercase": False, "credits": {}, "vocabulary": None,
        "examples": "none", "examples_cap": 0, "redacted": False, "preset": None, "command": None,
        "unit": "sentence", "units": 0, "few_units": False, "attributes": [], "buckets": {},
    }  # fmt: skip
    return convert({**usual, **to_builtins(study.settings)}, Settings)


# ---- sentences of a study -----------------------------------------------------------------------


def _merged(dataset: DatasetRuns) -> list[Sentence]:
    """The sentences of all systems as one list whose systems are the runs.

    A system without a sentence got it right in every run: sentences without errors may be left out.
    """
    assert dataset.sentences
    known: dict[str, dict[str, Sentence]] = {}
    for system, rows in dataset.sentences.items():
        for row in rows:
            known.setdefault(f"{row.id}\n{row.source}", {})[system] = row
    return [_joined(dataset.runs, rows) for rows in known.values()]


def _joined(all_runs: Runs, rows: Mapping[str, Sentence]) -> Sentence:
    first = next(iter(rows.values()))
    gold = [_gold(all_runs, rows, first, at) for at in range(len(first.gold))]
    systems: dict[str, Sequence[PredictedMention]] = {}
    for system, runs in all_runs.items():
        for run in runs:
            row = rows.get(system)
            systems[run_name(system, run, runs)] = _right(first) if row is None else row.systems.get(run, ())
    return replace(first, gold=gold, systems=systems)


def _gold(all_runs: Runs, rows: Mapping[str, Sentence], first: Sentence, at: int) -> GoldMention:
    outcome: dict[str, Any] = {}
    partner: dict[str, int | None] = {}
    for system, runs in all_runs.items():
        row = rows.get(system)
        for run in runs:
            name = run_name(system, run, runs)
            outcome[name] = "TP" if row is None else row.gold[at].outcome[run]
            partner[name] = at if row is None else row.gold[at].partner.get(run)
    return replace(first.gold[at], outcome=outcome, partner=partner)


def _right(sentence: Sentence) -> list[PredictedMention]:
    """What a system that got a sentence right predicted in it."""
    return [
        PredictedMention(
            start=one.start, end=one.end, label=one.label, outcome="TP", partner=at, parts=one.parts,
            buckets=one.buckets,
        )
        for at, one in enumerate(sentence.gold)
    ]  # fmt: skip


# ---- single scores ---------------------------------------------------------------------------------


def score_at(system: SystemScores, path: Path) -> tuple[float | None, Interval | None]:
    """One score of a system with its interval."""
    cell: Bounded | BucketScores | None
    match path:
        case ("gains", kind, _):
            cell = system.gains.of(kind)
        case ("tough", subset, _, _):
            cell = next((row.overall for key, row in system.tough.items() if key == subset), None)
        case ("exact", "labels", label, _):
            cell = system.exact.labels.get(label)
        case ("attributes", attribute, bucket, _):
            table = system.attributes.get(attribute)
            cell = None if table is None else table.bucket(bucket)
        case ("exact", "macro", _):
            cell = system.exact.macro
        case ("fair", *_):
            cell = system.fair.overall
        case _:
            cell = system.exact.overall
    if cell is None:
        return None, None
    value: float | None = getattr(cell, path[-1])
    return value, cell.interval.get(path[-1])


def run_values(shown: Shown, name: str, path: Path) -> list[float | None]:
    """One score of every run of a system."""
    return [score_at(one, path)[0] for one in shown.runs[name].values()]


def mean_score(shown: Shown, name: str, path: Path) -> float | None:
    """The mean over the runs of a system in which a score is defined."""
    return mean_of(or_nan(value) for value in run_values(shown, name, path)).mean


def both_ends(pair: Interval | None) -> tuple[float, float] | None:
    """An interval whose ends are both defined."""
    if pair is None or pair[0] is None or pair[1] is None:
        return None
    return pair[0], pair[1]
