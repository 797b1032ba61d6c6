"""One dataset as all reports show it: an evaluation, or one dataset of a study with all its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET, Struct, UnsetType, to_builtins
from msgspec.structs import replace

from spanwise.averages import averaged, deviations
from spanwise.diagnosis import lettering, mean_of, or_nan
from spanwise.document import Document, Interval, Settings, usual_settings
from spanwise.document.evaluation import (
    DatasetRuns,
    Evaluation,
    ExampleCounts,
    GoldMention,
    MentionCodes,
    PredictedMention,
    Sentence,
)
from spanwise.document.scores import (
    PRIMARY,
    PRIMARY_OF,
    Bounded,
    BucketScores,
    Outcome,
    SystemScores,
)
from spanwise.document.study import MainResult, Study
from spanwise.views.standing import family_of, own_letters, tested_on

Path = tuple[str, ...]
Runs = Mapping[str, Mapping[str, SystemScores]]


class ShownDataset(Struct, frozen=True):
    """An evaluation, or one dataset of a study.

    `document` has every system once; in a study, it shows the run with the median F1. `runs` has every
    run; sentences name runs by `run_name`. `averaged` has the means over runs in the same form.
    """

    name: str
    document: Evaluation
    runs: Runs
    means: Mapping[str, MainResult]  # over runs; empty if each system has one run
    sentences: Sequence[Sentence]
    examples: ExampleCounts
    about: str = "f1"  # the score of the means
    family: str = ""  # what is corrected together in a study of several datasets: "study" or "dataset"

    @property
    def order(self) -> dict[str, str]:
        """The systems from the highest primary score to the lowest, each with its letter."""
        letters = own_letters(self.document)
        return {name: letters[name] for name in lettering({name: self.score(name) for name in letters})}

    @property
    def primary(self) -> str:
        """The score that systems are ranked and tested by: "f1" unless another was chosen."""
        return self.document.settings.primary or "f1"

    def score(self, name: str) -> float | None:
        """The primary score of a system, averaged over its runs."""
        mean = self._mean(name)
        return mean_score(self, name, PRIMARY[self.primary]) if mean is None else mean.mean

    def score_interval(self, name: str) -> Interval | None:
        """The interval of `score`; with several runs, only known for the score the study is about."""
        mean = self._mean(name)
        if mean is not None:
            return mean.interval.get("mean") if mean.interval else None
        return None if self.several(name) else self.document.systems[name].primary_ends(self.primary)

    def _mean(self, name: str) -> MainResult | None:
        """The mean over runs, if it is a mean of the primary score."""
        return self.means.get(name) if self.about == self.primary else None

    def several(self, name: str) -> bool:
        """Whether a system has several runs."""
        return len(self.runs[name]) > 1

    @property
    def averaged(self) -> Evaluation:
        """The document with the scores of every system averaged over its runs."""
        return replace(self.document, systems={name: self._averaged(name) for name in self.document.systems})

    def _averaged(self, name: str) -> SystemScores:
        system = averaged(list(self.runs[name].values()))
        ends = self.score_interval(name)
        if not self.several(name) or ends is None:
            return system
        bounds = {PRIMARY[self.primary][-1]: ends}
        match self.primary:
            case "macro":
                return replace(
                    system, exact=replace(system.exact, macro=replace(system.exact.macro, interval=bounds))
                )
            case "fair":
                return replace(
                    system, fair=replace(system.fair, overall=replace(system.fair.overall, interval=bounds))
                )
        overall = replace(system.exact.overall, interval=bounds)
        return replace(system, exact=replace(system.exact, overall=overall))

    @property
    def deviations(self) -> dict[str, SystemScores]:
        """The standard deviations over runs, for systems with several."""
        return {
            name: deviations(list(runs.values())) for name, runs in self.runs.items() if self.several(name)
        }

    @property
    def run_names(self) -> dict[str, tuple[str, str]]:
        """The system and the run behind every name used in the sentences."""
        return {
            run_name(name, run, self.runs[name]): (name, run)
            for name in self.order
            for run in self.runs[name]
        }

    def middle(self, name: str) -> str:
        """The name of the run that represents a system."""
        return run_name(name, middle_run(self.runs[name]), self.runs[name])


def run_name(system: str, run: str, runs: Mapping[str, SystemScores]) -> str:
    """The name of a run among the systems of a page."""
    return f"{system} · {run}" if len(runs) > 1 else system


def middle_run(runs: Mapping[str, SystemScores]) -> str:
    """The run whose F1 is the (lower) median."""
    f1 = {run: scores.exact.overall.f1 for run, scores in runs.items()}
    ranked = sorted(runs, key=lambda run: (f1[run] is not None, f1[run] or 0.0))
    return ranked[(len(ranked) - 1) // 2]


def evaluation_shown(document: Evaluation) -> ShownDataset:
    """An evaluation as a dataset to show, with one run per system."""
    none = ExampleCounts(policy="none", cap=0, shown=0, of=0)
    return ShownDataset(
        name=document.dataset.name,
        document=document,
        runs={name: {"": scores} for name, scores in document.systems.items()},
        means={},
        sentences=document.sentences,
        examples=document.examples or none,
    )


def study_shown(study: Study) -> list[ShownDataset]:
    """The datasets of a study that have runs, ready to show."""
    return [
        _dataset_shown(study, name, dataset)
        for name, dataset in study.datasets.items()
        if dataset.runs and dataset.dataset
    ]


def shown_datasets(document: Document) -> list[ShownDataset]:
    """The datasets of an evaluation or a study; other documents have none."""
    match document:
        case Evaluation():
            return [evaluation_shown(document)]
        case Study():
            return study_shown(document)
    return []


def _dataset_shown(study: Study, name: str, dataset: DatasetRuns) -> ShownDataset:
    assert dataset.dataset is not None
    systems = {system: runs[middle_run(runs)] for system, runs in dataset.runs.items() if runs}
    inputs = tuple(row for row in study.inputs if row.dataset in (name, UNSET))
    document = Evaluation(
        spanwise=study.spanwise,
        inputs=inputs,
        settings=study_settings(study),
        dataset=replace(dataset.dataset, name=name),
        systems=systems,
        comparisons=dataset.comparisons,
        letters=tested_on(study, name).beats,
        findings=dataset.findings,
        mentions=_study_mentions(name, dataset),
    )
    sentences = _merged(dataset) if dataset.sentences else []
    score = study.analyses.score or "f1"
    counts = dataset.examples.values() if dataset.examples else ()
    complete = bool(dataset.sentences) and all(count.shown == count.of for count in counts)
    policy = next((count.policy for count in counts), "none")
    return ShownDataset(
        name=name,
        document=document,
        runs=dataset.runs,
        means={system: row[name] for system, row in study.analyses.holistic.items() if name in row}
        if any(len(runs) > 1 for runs in dataset.runs.values())
        else {},
        sentences=sentences,
        examples=ExampleCounts(
            policy=policy,
            cap=max((count.cap for count in counts), default=0),
            shown=len(sentences),
            of=len(sentences) if complete else max((count.of for count in counts), default=0),
        ),
        about=PRIMARY_OF.get(score, score),
        family=family_of(study),
    )


def study_settings(study: Study) -> Settings:
    """The settings of one dataset; those that a study does not record get neutral values."""
    unknown = {"resamples": 0, "examples": "none", "examples_cap": 0}
    return usual_settings(**{**unknown, **to_builtins(study.settings)})


def _study_mentions(name: str, dataset: DatasetRuns) -> MentionCodes | UnsetType:
    """The mentions of all systems, with each run under its name on the page."""
    if not dataset.mentions or set(dataset.mentions) != set(dataset.runs):
        return UNSET
    from spanwise.mentions.packing import combine_codes

    return combine_codes(
        [dataset.mentions[system] for system in dataset.runs],
        [{run: run_name(system, run, runs) for run in runs} for system, runs in dataset.runs.items()],
        location=name,
    )


# ---- sentences of a study -----------------------------------------------------------------------


def _merged(dataset: DatasetRuns) -> list[Sentence]:
    """The sentences of all systems in one list, in which every run counts as a system.

    If a system lacks a sentence, all its runs got it right: sentences without errors may be left out.
    """
    assert dataset.sentences
    by_sentence: dict[str, dict[str, Sentence]] = {}
    for system, rows in dataset.sentences.items():
        for row in rows:
            by_sentence.setdefault(f"{row.id}\n{row.source}", {})[system] = row
    return [_joined(dataset.runs, rows) for rows in by_sentence.values()]


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
    outcome: dict[str, Outcome] = {}
    partner: dict[str, int | None] = {}
    for system, runs in all_runs.items():
        row = rows.get(system)
        for run in runs:
            name = run_name(system, run, runs)
            outcome[name] = "TP" if row is None else row.gold[at].outcome[run]
            partner[name] = at if row is None else row.gold[at].partner.get(run)
    return replace(first.gold[at], outcome=outcome, partner=partner)


def _right(sentence: Sentence) -> list[PredictedMention]:
    """The predictions of a system that got the sentence right."""
    return [
        PredictedMention(
            start=mention.start, end=mention.end, label=mention.label, outcome="TP", partner=index,
            parts=mention.parts, buckets=mention.buckets,
        )
        for index, mention in enumerate(sentence.gold)
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


def run_values(shown: ShownDataset, name: str, path: Path) -> list[float | None]:
    """One score for every run of a system."""
    return [score_at(scores, path)[0] for scores in shown.runs[name].values()]


def mean_score(shown: ShownDataset, name: str, path: Path) -> float | None:
    """The mean of a score over the runs of a system in which it is defined."""
    return mean_of(or_nan(value) for value in run_values(shown, name, path)).mean


def both_ends(pair: Interval | None) -> tuple[float, float] | None:
    """The interval if both its ends are defined, else None."""
    if pair is None or pair[0] is None or pair[1] is None:
        return None
    return pair[0], pair[1]
