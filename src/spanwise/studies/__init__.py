"""Studies of datasets × models × runs: read the manifest, plan, evaluate, cache and analyse."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from spanwise import __version__
from spanwise.averages import letters_over, spread
from spanwise.corpus import Annotation
from spanwise.diagnosis import beaten_letters, significant_pairs
from spanwise.document import Input
from spanwise.document.analyses import SPENT, UsageTotals
from spanwise.document.evaluation import DatasetRuns, UnitCounts
from spanwise.document.scores import PRIMARY, Comparison
from spanwise.document.study import MainResult, PairFamily, PlanNotes, Study, StudySettings, UsageOverRuns
from spanwise.engines import Engine, cores, engine_of, local_engine
from spanwise.errors import ChoiceError, InputError, at
from spanwise.evaluation import ignore_progress, parse_memory
from spanwise.evaluation.choices import RUN, Choices, check_keywords, named_sources
from spanwise.findings import findings_over_runs
from spanwise.formats import listed_sources, opened, stem_of
from spanwise.settings import CORRECTION, SETTINGS, default_value
from spanwise.studies._kept import default_folder, train_systems
from spanwise.studies._manifest import (
    Manifest,
    Pair,
    StudyDataset,
    StudySystem,
    manifest_of,
    natural,
    read_manifest,
)
from spanwise.studies._plan import ONLY_RUN, Plan, find_runs, make_plan
from spanwise.studies._plan import StudyCell as PlannedCell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spanwise.studies._paired import PairedTests
    from spanwise.studies.run import CellResult, CellTask, Steps

__all__ = [
    "Manifest",
    "Pair",
    "Plan",
    "StudyDataset",
    "StudySystem",
    "default_folder",
    "make_plan",
    "manifest_of",
    "of_runs",
    "read_manifest",
    "runs_of_pattern",
    "study",
]


def study(
    manifest: str | Path | Mapping[str, object] | Manifest,
    *,
    root: str | Path | None = None,
    memory: int | str | None = None,
    workers: int | None = None,
    cache: str | Path | bool = True,
    progress: Callable[[str], None] | None = None,
    allow_commands: bool = False,
    engine: Engine | SparkSession | None = None,
    family: str | None = None,
) -> Study:
    """Run a study: score every run of every system on every dataset, and analyse all of them together.

    Examples:
        >>> import tempfile
        >>> from spanwise.demo import generate
        >>> manifest = {
        ...     "predictions": "{system}.conll", "resamples": 0,
        ...     "datasets": {"demo": {"test": "gold.conll"}}, "systems": {"swapper": {}},
        ... }
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = generate(folder, sentences=60)
        ...     result = study(manifest, root=folder, cache=False, workers=1)
        >>> round(result.analyses.scores["swapper"]["demo"]["f1"].mean, 3)
        0.855

    Args:
        manifest: the TOML file, a dict with its keys, or the value returned by `read_manifest`.
        root: the folder that paths in the manifest are relative to; by default, the folder of the manifest.
        memory: evaluate files in parts that need about this much memory ("1GB"); by default, only if the
            files of a system would not fit into memory. It does not change the document.
        workers: the number of processes; by default, one per core. It does not change the document.
        cache: the folder in which to cache results; True for the user's cache folder, False for no cache.
        progress: called with one line of text after every step.
        allow_commands: whether to run the training commands in the manifest; only allow those you trust.
        engine: where cells are computed, instead of in processes on this machine: a Spark session (each cell,
            or part of its files, is a task; files must have the same path everywhere), or any `Engine`.
        family: the tests between systems that are corrected together: "study" for those of all pairs on all
            datasets, "dataset" for the pairs of each dataset; by default, as the manifest says, else "study".

    Raises:
        InputError: the manifest or a file cannot be used; raised before anything is computed.
    """
    from spanwise.studies.run import can_be_kept, check_settings

    bound = None if memory is None else parse_memory(memory)
    checked = _read(manifest, root)
    if family is not None:
        checked = replace(checked, settings={**checked.settings, "family": family})
    report = progress or (lambda text: None)
    check_settings(checked)
    folder = default_folder() if cache is True else Path(cache).absolute() if cache else None
    if not can_be_kept(checked):
        folder = None
    checked = train_systems(checked, progress=report, allow_commands=allow_commands)
    return _studied(
        checked, _engine(engine, workers), cache=folder, progress=report, steps=ignore_progress, memory=bound
    )


def _engine(engine: Engine | SparkSession | None, workers: int | None) -> Engine:
    return engine_of(engine) or local_engine(max(1, workers if workers is not None else cores()))


# Keywords of `evaluate` that are not supported for several runs.
NOT_OF_RUNS = ("preset", "switched_off")


def of_runs(
    source: object = None,
    systems: object = None,
    *,
    gold: object = None,
    train: object = None,
    name: str | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
    vocabulary: Sequence[str] | None = None,
    memory: int | str | None = None,
    workers: int | None = 1,
    engine: Engine | SparkSession | None = None,
    progress: Steps | None = None,
    answers: str | Mapping[str, object] | None = None,
    command: str | None = None,
    tags: Mapping[str, str] | None = None,
    **options: Any,
) -> Study:
    """Run a study of one dataset, given the keywords of `spanwise.evaluate`.

    Args:
        systems: prediction files by system; {run} in a path stands for one or more characters.
        memory: evaluate files in parts that need about this much memory.
        workers: the number of processes, each of which handles one system or one part at a time; None for
            one per core.
        progress: called as `progress(step, done, total)` as systems are read and counted.
        command: ignored; it is not recorded in a study.
        options: other keywords of `evaluate`.

    Raises:
        ChoiceError: a keyword is not supported for several runs, or a source is not a file.
        InputError: no file matches a pattern, or a file cannot be used.
    """
    given = gold if source is None else source
    for keyword in NOT_OF_RUNS:
        if options.pop(keyword, None):
            raise ChoiceError(
                f"{keyword} needs one run per system.\nLeave it out, or give one file for each system."
            )
    bound = None if memory is None else parse_memory(memory)
    per_dataset = [key for key in options if key not in SETTINGS or SETTINGS[key].per_dataset]
    reading = {key: options.pop(key) for key in per_dataset}
    check_keywords({key: value for key, value in reading.items() if key != "align"})
    Choices.usual(**options, reading=reading)  # raises for invalid options before any file is opened
    named = _patterns(named_sources(systems))
    files = [opened(_path(entry, "training data")).path for entry in listed_sources(train)]
    test = given if isinstance(given, Annotation) else opened(_path(given, "gold")).path
    title = name or stem_of(test if isinstance(test, str) else test.reading.path)
    read = manifest_of(
        {
            "datasets": {title: {"test": test}},
            "systems": {
                system: entry
                for name, path in named.items()
                for system, entry in _of_system(name, path, answers, alone=len(named) == 1).items()
            },
            "compare": [{"systems": list(pair)} for pair in pairs or ()],
        }
    )
    words = None if vocabulary is None else tuple(vocabulary)
    dataset = replace(read.datasets[0], train=tuple(files), reading=reading, words=words)
    usual = {name: default_value(name) for name in ("attributes", "examples")}
    settings = usual | {key: value for key, value in options.items() if value is not None}
    if tags:
        settings["tags"] = tags
    manifest = replace(read, datasets=(dataset,), settings=settings)
    return _studied(
        manifest, _engine(engine, workers), cache=None, progress=_silent, steps=progress or ignore_progress,
        memory=bound,
    )  # fmt: skip


def _silent(text: str) -> None:
    """Ignore progress messages."""


def _patterns(systems: Mapping[str, object]) -> dict[str, str]:
    """The path or pattern of each system, after checking that at least one file matches it."""
    patterns = {}
    for name, system in systems.items():
        patterns[name] = _path(system, f"the predictions of {name!r}")
        runs_of_pattern(patterns[name])
    return patterns


def runs_of_pattern(pattern: str) -> dict[str, str]:
    """The files that match a path with {run} in it, by run, in natural order; otherwise the file itself.

    Raises:
        InputError: no file matches.
    """
    if RUN not in pattern:
        return {ONLY_RUN: opened(pattern).path}
    runs = find_runs(Path(), pattern, "", "")
    if not runs:
        message = (
            f"no file matches this pattern.\n{RUN} stands for what tells the runs apart, such as 1, 2 and 3."
        )
        raise InputError(at(pattern, None, message))
    return {run: runs[run] for run in sorted(runs, key=natural)}


def _path(source: object, what: str) -> str:
    """The path of a source; an error if it is not a file."""
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    raise ChoiceError(f"{what} must be a file where a system has several runs.\nGive its path.")


def _of_system(
    name: str, path: str, answers: str | Mapping[str, object] | None, *, alone: bool
) -> dict[str, dict[str, object]]:
    """The manifest entry of a system, or of each system of a log, whose answers are placed."""
    if answers is None:
        return {name: {"predictions": path}}
    from spanwise.placement import chosen_sample, has_answers, name_of_system, place_keywords, systems_of

    options = place_keywords(answers)
    how, response = str(options.get("answers_format", "auto")), options.get("response")
    placed = all(
        has_answers(file, response, files=True, answers_format=how) for file in runs_of_pattern(path).values()
    )
    if not placed:
        return {name: {"predictions": path}}
    one = RUN in path or chosen_sample(path, options.get("sample"), response, how) is not None
    several = () if one else systems_of(path, how, response)
    if not several:
        return {name: {"predictions": path, "answers": answers}}
    return {
        name_of_system(name, system, alone=alone): {
            "predictions": path,
            "answers": {**options, "sample": system},
        }
        for system in several
    }


def _studied(
    read: Manifest,
    engine: Engine,
    *,
    cache: Path | None,
    progress: Callable[[str], None],
    steps: Steps,
    memory: int | None,
) -> Study:
    """Run a study whose manifest has been checked, and build its document."""
    from spanwise.studies.analyses import analyses
    from spanwise.studies.run import run_cells, run_pairs

    ran = run_cells(read, cache=cache, engine=engine, progress=progress, steps=steps, memory=memory)
    plan, tasks, cells = ran.plan, ran.tasks, ran.cells
    tested = run_pairs(read, tasks, cells, progress=progress, cache=cache, memory=ran.memory)
    datasets = {
        dataset.name: _dataset(
            {task.system: cells[task.key] for task in tasks if task.dataset == dataset.name},
            tested[dataset.name].comparisons if dataset.name in tested else (),
            plan.test[dataset.name].shown,
        )
        for dataset in read.datasets
    }
    differ = {dataset: tests.buckets_differ for dataset, tests in tested.items()}
    about = {dataset: tests.letters_about for dataset, tests in tested.items() if tests.letters_about}
    analysed = analyses(
        datasets,
        read,
        correction=read.settings.get("correction", CORRECTION),
        primary=read.settings.get("primary", "f1"),
        differ=differ,
    )
    own = letters_over(analysed.holistic)
    letters = {
        dataset: beaten_letters(own, significant_pairs(tests.comparisons))
        for dataset, tests in tested.items()
    }
    return Study(
        spanwise=__version__,
        signature=_signature(read, cells, tasks, tested),
        name=read.name,
        inputs=tuple(_inputs(plan, tasks, cells)),
        settings=_settings(read, cells),
        plan=PlanNotes(
            missing=tuple(plan.missing),
            identical=tuple(plan.identical),
            shared=tuple(plan.shared),
        ),
        systems_factors={system.name: dict(system.factors) for system in read.systems},
        datasets=datasets,
        analyses=replace(
            analysed,
            holistic=_with_tests(
                analysed.holistic,
                tested,
                own,
                letters,
                plan,
                {(task.system, task.dataset): cells[task.key].usage for task in tasks},
            ),
            letters=letters,
            letters_about=about or UNSET,
            family=_corrected_together(read),
        ),
        notes=_notes(read, tasks, cells),
        hints=_hints(tasks, cells) or UNSET,
    )


def _notes(
    manifest: Manifest, tasks: Sequence[CellTask], cells: Mapping[str, CellResult]
) -> tuple[str, ...] | UnsetType:
    """A note if sentences count as independent for want of documents."""
    from spanwise.evaluation.result import UNMARKED

    settings = {task.dataset: cells[task.key].settings for task in tasks}
    unmarked = [
        name for name, setting in settings.items() if setting.unit == "sentence" and setting.resamples
    ]
    if manifest.settings.get("unit") is not None or not unmarked:
        return UNSET
    advice = UNMARKED.format(
        documents="documents in a manifest, else --documents", unit='unit = "block:20", else --unit block:20'
    )
    return (f"{', '.join(unmarked)}: {advice}",)


def _hints(tasks: Sequence[CellTask], cells: Mapping[str, CellResult]) -> tuple[str, ...]:
    """The hints of all cells, with their systems; a hint of all systems is about the data, and given once."""
    datasets: dict[str, list[CellTask]] = {}
    for task in tasks:
        datasets.setdefault(task.dataset, []).append(task)
    found: dict[str, None] = {}
    for dataset, own in datasets.items():
        said = Counter(hint for task in own for hint in {*cells[task.key].hints})
        where = f"{dataset}: " if len(datasets) > 1 else ""
        for task in own:
            for hint in cells[task.key].hints:
                shared = len(own) > 1 and said[hint] == len(own)
                found[f"{where}{hint}" if shared else f"{where}{task.system}: {hint}"] = None
    return tuple(found)


def _dataset(cells: Mapping[str, CellResult], comparisons: tuple[Comparison, ...], path: str) -> DatasetRuns:
    """The part of the document about one dataset: the results of its systems, and the findings."""
    if not cells:
        return DatasetRuns(dataset=None, runs={})
    first, *others = cells.values()
    runs = {system: cell.runs for system, cell in cells.items()}
    predicted = [row for cell in others for row in cell.inputs if row.role == "predicted"]
    with_examples = first.settings.examples != "none"
    return DatasetRuns(
        dataset=first.dataset,
        runs=runs,
        comparisons=comparisons,
        findings=findings_over_runs(
            runs, comparisons, [*first.inputs, *predicted], first.dataset, first.settings
        ),
        examples={name: cell.examples for name, cell in cells.items() if cell.examples}
        if with_examples
        else UNSET,
        units={name: _of_primary_scores(cell.units) for name, cell in cells.items()},
        mentions={name: cell.mentions for name, cell in cells.items()},
        sentences={
            name: [replace(row, source=row.source and path + row.source) for row in cell.sentences]
            for name, cell in cells.items()
        }
        if with_examples
        else UNSET,
    )


def _of_primary_scores(units: UnitCounts) -> UnitCounts:
    """Only the counts behind scores that can be the primary score, and hence be tested by a gate."""
    names = {path[0] for path in PRIMARY.values()}
    return replace(
        units,
        systems={
            run: [count for count in counts if count.name in names] for run, counts in units.systems.items()
        },
    )


def _read(manifest: str | Path | Mapping[str, object] | Manifest, root: str | Path | None) -> Manifest:
    if isinstance(manifest, Manifest):
        return manifest
    if isinstance(manifest, Mapping):
        return manifest_of(manifest, root=root)
    return read_manifest(manifest, root=root)


def _corrected_together(manifest: Manifest) -> PairFamily:
    """Which tests between systems are corrected together, and which pairs are not tested at all."""
    asked = {frozenset((pair.first, pair.second)) for pair in manifest.pairs}
    names = [system.name for system in manifest.systems]
    return PairFamily(
        by=manifest.settings.get("family", "study"),
        pairs=tuple((pair.first, pair.second) for pair in manifest.pairs),
        untested=tuple(pair for pair in combinations(names, 2) if frozenset(pair) not in asked),
    )


def _with_tests(
    holistic: Mapping[str, Mapping[str, MainResult]],
    tested: Mapping[str, PairedTests],
    own: Mapping[str, str],
    letters: Mapping[str, Mapping[str, str]],
    plan: Plan,
    usage: Mapping[tuple[str, str], Mapping[str, UsageTotals]],
) -> dict[str, dict[str, MainResult]]:
    """Add intervals, letters, missing or identical runs, and what answers cost to the main results."""
    planned = {(cell.system, cell.dataset): cell for cell in plan.cells}
    return {
        system: {
            dataset: replace(
                _with_test(result, system, tested.get(dataset), planned[system, dataset]),
                letter=own[system],
                letters=letters.get(dataset, {}).get(system, ""),
                usage=_usage_over_runs(usage.get((system, dataset), {})),
            )
            for dataset, result in row.items()
        }
        for system, row in holistic.items()
    }


def _with_test(result: MainResult, system: str, tests: PairedTests | None, cell: PlannedCell) -> MainResult:
    bounds = None if tests is None else tests.interval.get(system)
    return replace(
        result,
        interval={} if bounds is None else {"mean": bounds},
        missing=tuple(cell.missing),
        identical=dict(cell.identical),
    )


def _usage_over_runs(runs: Mapping[str, UsageTotals]) -> UsageOverRuns | UnsetType:
    """What the runs of a system cost on average and in all; UNSET if no log says."""
    if not runs:
        return UNSET
    values = {
        key: [value for usage in runs.values() if (value := getattr(usage, key)) is not None]
        for key in UsageTotals.__struct_fields__
    }
    over = {key: spread(numbers) for key, numbers in values.items() if numbers}
    return UsageOverRuns(
        runs=runs,
        mean={key: one.mean for key, one in over.items() if one.mean is not None},
        std={key: one.std for key, one in over.items() if one.std is not None},
        sum={key: sum(values[key]) for key in SPENT if key in over},
    )


def _inputs(plan: Plan, tasks: Sequence[CellTask], cells: Mapping[str, CellResult]) -> Iterator[Input]:
    """Each input file once, gold and training files first; paths are as written in the manifest."""
    planned = {(cell.dataset, cell.system): cell for cell in plan.cells}
    seen: set[str] = set()
    for task in tasks:
        entries = cells[task.key].inputs
        if task.dataset not in seen:
            seen.add(task.dataset)
            shared = [entry for entry in entries if entry.role != "predicted"]
            shown = [plan.test[task.dataset].shown, *(file.shown for file in plan.train[task.dataset])]
            for entry, path in zip(shared, shown, strict=True):
                yield replace(entry, path=path, dataset=task.dataset)
        for entry in entries:
            if entry.role == "predicted" and entry.system:
                path = planned[task.dataset, task.system].runs[entry.system].shown
                yield replace(entry, path=path, dataset=task.dataset, system=task.system, run=entry.system)


def _settings(manifest: Manifest, cells: Mapping[str, CellResult]) -> StudySettings:
    """The settings that all cells share, and the unit of resampling if it is the same for all."""
    parts = [cell.settings for cell in cells.values()]
    if not parts:
        return StudySettings(command=None)
    shared = {
        key: getattr(parts[0], key)
        for key in StudySettings.__struct_fields__
        if all(getattr(part, key) == getattr(parts[0], key) for part in parts)
    }
    units = sorted({part.unit for part in parts})
    primary = manifest.settings.get("primary", "f1")
    return StudySettings(
        **{
            **shared,
            "correction": manifest.settings.get("correction", CORRECTION),
            "primary": UNSET if primary == "f1" else primary,
            "unit": units[0] if len(units) == 1 else "sentence or document",
            "few_units": any(part.few_units for part in parts),
            "tags": parts[0].tags or UNSET,
            # The document must not depend on the name of the manifest or the number of workers.
            "command": None,
        }
    )


def _signature(
    manifest: Manifest,
    cells: Mapping[str, CellResult],
    tasks: Sequence[CellTask],
    tested: Mapping[str, PairedTests],
) -> str:
    """The signature: the settings of the first cell that affect numbers, the tests, and the size."""
    from spanwise.evaluation.result import signature_of, signature_parts

    if not tasks:
        return signature_of([f"v:{__version__}", "study"])
    first = cells[tasks[0].key]
    parts = signature_parts(first.settings, first.inputs)
    runs = sum(len(task.runs) for task in tasks)
    size = f"study:{len(manifest.datasets)}x{len(manifest.systems)}.{runs}runs"
    names = sorted({name for paired in tested.values() for name in paired.tests})
    tests = [f"test:{'+'.join(names)}.{manifest.settings.get('correction', CORRECTION)}"] if names else []
    primary = manifest.settings.get("primary", "f1")
    score = manifest.settings.get("score", "f1")
    about = [f"{key}:{value}" for key, value in (("primary", primary), ("score", score)) if value != "f1"]
    if manifest.settings.get("family") == "dataset":
        about.append("family:dataset")
    return signature_of([*parts, *about, *tests, size])
