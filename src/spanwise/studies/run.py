"""Run a study: check all files, then compute every cell that is not in the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial, reduce
from itertools import groupby
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from spanwise import __version__
from spanwise.corpus import Annotation
from spanwise.document import Input, Settings
from spanwise.document.analyses import UsageTotals
from spanwise.document.dataset import DatasetFacts
from spanwise.document.evaluation import ExampleCounts, MentionCodes, Result, Sentence, UnitCounts
from spanwise.document.scores import Comparison, SystemScores
from spanwise.engines import Engine, release_freed_memory
from spanwise.errors import ChoiceError, InputError, SpanwiseError, at, many, unknown
from spanwise.evaluation import ignore_progress, parts_of
from spanwise.evaluation.blocks import ReadLabels
from spanwise.evaluation.choices import added_scores, betas, block_size, credits_of, crosses_of
from spanwise.evaluation.prepared import PartedDataset, PreparedDataset, ReadGold, ReadSystems
from spanwise.formats import File, Reader, ReadKeywords, read_words, refuse_merged, rules_of
from spanwise.labels import MissingLabel
from spanwise.settings import CORRECTION, SETTINGS, default_value
from spanwise.studies._family import FAMILIES, corrected
from spanwise.studies._kept import Cache, key_of
from spanwise.studies._manifest import Manifest, Options, StudyDataset
from spanwise.studies._paired import PairedTests, paired, shuffled_again
from spanwise.studies._plan import (
    DatasetFiles,
    Plan,
    StudyCell,
    StudyFile,
    found_cells,
    found_dataset,
    plan_of,
    shared_runs,
)
from spanwise.studies._scores import CHOOSABLE, SCORES, ScoreKind

if TYPE_CHECKING:
    from spanwise.attributes import Attribute

Progress = Callable[[str], None]
Steps = Callable[[str, int, int], None]  # called with the step, how much of it is done, and the total
# Settings of the tests between systems, on which no cell depends.
OF_PAIRS = ("correction", "primary", "shared_seeds", "score", "family")


class CellTask(Struct, frozen=True, eq=False):
    """One cell to evaluate; `key` is a hash of everything that its numbers depend on, but not of paths."""

    key: str
    dataset: str
    system: str
    runs: Mapping[str, StudyFile]
    answers: Mapping[str, Any] | None  # how to place answers without offsets
    cache: Path | None

    @property
    def name(self) -> str:
        """The name of the cell in progress messages."""
        return f"{self.dataset} × {self.system}"

    @property
    def size(self) -> int:
        """The number of bytes of its files that are in memory."""
        return sum(len(run.data or b"") for run in self.runs.values())

    def without_data(self) -> CellTask:
        """A copy without the bytes of its files, for use after they have been read."""
        return replace(self, runs={run: file.without_data() for run, file in self.runs.items()})


def check_settings(manifest: Manifest) -> None:
    """Check settings that name something, such as attributes, before any file is opened.

    Raises:
        InputError: one of them is unknown; the message names its location in the manifest.
    """
    from spanwise import buckets
    from spanwise.attributes import ATTRIBUTES, choose
    from spanwise.matching import MATCHERS

    settings = manifest.settings
    with _located(manifest, "attributes"):
        _attributes(manifest)
    with _located(manifest, "cross"):
        crosses_of(settings.get("cross", ()))
    with _located(manifest, "matcher"):
        MATCHERS.find(settings.get("matcher", "fair"))
    with _located(manifest, "weights"):
        credits_of(settings.get("weights", ()))
    with _located(manifest, "scores"):
        added_scores(settings.get("scores", ()), "f1")
    with _located(manifest, "unit"):
        block_size(settings.get("unit"))
    for key, noun, names in (
        ("score", "score of a study", CHOOSABLE),
        ("family", "family of tests", FAMILIES),
    ):
        with _located(manifest, key):
            if key in settings and settings[key] not in names:
                raise unknown(noun, settings[key], names)
    for name, how in settings.get("buckets", {}).items():
        with _located(manifest, "buckets", name):
            choose([name]) if ":" in name else ATTRIBUTES.find(name)
            buckets.parse(how)


@contextmanager
def _located(manifest: Manifest, *keys: str) -> Iterator[None]:
    """In this context, report a choice that does not exist as an error at its key in the manifest."""
    try:
        yield
    except ChoiceError as error:
        raise InputError(at(manifest.location(*keys), None, str(error))) from None


def _attributes(manifest: Manifest) -> list[Attribute]:
    from spanwise.attributes import choose

    names = manifest.settings.get("attributes", default_value("attributes"))
    return [] if names == "none" else choose(names.split(",") if isinstance(names, str) else names)


def can_be_kept(manifest: Manifest) -> bool:
    """Whether results can be cached; attributes, matchers and scores of others may change unnoticed."""
    from spanwise.attributes import is_built_in, is_given
    from spanwise.matching import MATCHERS

    matcher = MATCHERS.find(manifest.settings.get("matcher", "fair"))
    if matcher.function.__module__ != "spanwise.matching":
        return False
    if added_scores(manifest.settings.get("scores", ()), manifest.settings.get("primary", "f1")):
        return False
    return all(is_built_in(attribute) or is_given(attribute) for attribute in _attributes(manifest))


@lru_cache(maxsize=1)
def program() -> str:
    """A hash of the source files of spanwise, so that any change of the program invalidates the cache."""
    digest = hashlib.sha256(__version__.encode())
    folder = Path(__file__).parents[1]
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def options_of(manifest: Manifest, dataset: StudyDataset) -> Options:
    """The keywords of `evaluate` that all cells of a dataset share."""
    settings = {key: value for key, value in manifest.settings.items() if key not in OF_PAIRS}
    primary = manifest.settings.get("primary", "f1")
    beta = betas(manifest.settings.get("beta", ()), primary)
    added = [score.name for score in added_scores(manifest.settings.get("scores", ()), primary)]
    more = {"beta": beta, "scores": added}
    return {**settings, **{key: names for key, names in more.items() if names}, **dataset.reading}


def _task(manifest: Manifest, files: DatasetFiles, cell: StudyCell, cache: Path | None) -> CellTask:
    key = f"{cell.dataset}/{cell.system}"  # without a cache, no hash is needed
    if cache is not None:
        words = files.vocabulary
        key = key_of(
            program(),
            cell.dataset,
            files.test.sha256,
            [file.sha256 for file in files.train],
            words.sha256 if words else files.dataset.words,
            {run: file.sha256 for run, file in cell.runs.items()},
            {**options_of(manifest, files.dataset), "answers": cell.answers},
        )
    return CellTask(key, cell.dataset, cell.system, cell.runs, cell.answers, cache)


def _of_reading(key: str) -> bool:
    return key in SETTINGS and SETTINGS[key].per_dataset


# ---- in the workers -------------------------------------------------------------------------


def _read_dataset(opened: DatasetFiles, options: Options) -> ReadGold | str:
    """The gold and training annotations of a dataset, which its cells share; the message of any error."""
    reading, align = _reading(options), options.get("align", "strict")
    test = _gold(opened, reading)
    train = [file.source(reading) for file in opened.train]
    try:
        gold = ReadGold.of(opened.dataset.name, test, train, align=align, reading=reading)
    except SpanwiseError as error:
        return str(error)
    refuse_merged(test, **reading)
    return gold


def _reading(options: Options) -> ReadKeywords:
    """The keywords of `spanwise.read` among those of `evaluate`."""
    return {key: value for key, value in options.items() if _of_reading(key) and key != "align"}


def _gold(opened: DatasetFiles, reading: ReadKeywords) -> Annotation | File | Path:
    """The gold file of a dataset, or the annotation that replaces it."""
    return opened.test.source(reading) if opened.dataset.gold is None else opened.dataset.gold


class AboutAnswers(Struct, frozen=True):
    """What is to be known about the answers of a cell: which could not be used, and what each run cost."""

    hints: tuple[str, ...] = ()
    usage: Mapping[str, UsageTotals] = {}


def runs_of(
    task: CellTask, reading: ReadKeywords, gold: Annotation | None
) -> tuple[Mapping[str, object], AboutAnswers]:
    """The predictions of a cell by run, files or placed answers, and what is to be known about answers."""
    sources: dict[str, object] = {run: file.source(reading) for run, file in task.runs.items()}
    if task.answers is None or gold is None:
        return sources, AboutAnswers()
    from spanwise.placement import checked, placement

    placed: dict[str, object] = {}
    hints: list[str] = []
    usage: dict[str, UsageTotals] = {}
    for run, file in task.runs.items():
        sample = file.sample if file.sample is not None else task.answers.get("sample")
        choices = checked(**{**task.answers, "sample": sample}).under(rules_of(reading))
        answers = placement(gold, sources[run] if file.records is None else file.records, choices)
        placed[run] = answers.annotation
        if own := " ".join(answers.document.troubles):
            hints.append(f"run {run}: {own}" if len(task.runs) > 1 else own)
        if answers.document.usage:
            usage[run] = answers.document.usage
    return placed, AboutAnswers(tuple(hints), usage)


def read_cell(task: CellTask, datasets: Mapping[str, ReadGold | str]) -> ReadTask | str:
    """Read the predictions of a cell and align them to the gold text; return the message of any error."""
    gold = datasets[task.dataset]
    if isinstance(gold, str):
        return gold
    try:
        sources, about = runs_of(task, gold.reading, gold.gold)
        return ReadTask(task.without_data(), gold.read(sources), about)
    except SpanwiseError as error:
        return str(error)


class ReadTask(Struct, frozen=True, eq=False):
    """A cell whose files have been read."""

    task: CellTask
    systems: ReadSystems
    about: AboutAnswers


class CellResult(Struct, frozen=True):
    """The result of one cell: all runs of one system on one dataset."""

    inputs: tuple[Input, ...]
    settings: Settings
    dataset: DatasetFacts
    runs: Mapping[str, SystemScores]
    units: UnitCounts
    mentions: MentionCodes
    examples: ExampleCounts | UnsetType = UNSET
    hints: tuple[str, ...] = ()
    usage: Mapping[str, UsageTotals] = {}  # by run, for answers whose log records it
    sentences: tuple[Sentence, ...] = ()  # runs take the place of systems; sources are lines of the gold file
    labels: ReadLabels = ReadLabels()


def compute_cell(read: ReadTask, datasets: Mapping[str, PreparedDataset]) -> CellResult:
    """Evaluate all runs of a cell, and store the result in the cache if there is one."""
    dataset = datasets[read.task.dataset]
    labels = read.systems.labels | dataset.training_labels
    return _cell_of(read.task, dataset.result(read.systems), dataset.path, labels, read.about)


def _cell_of(
    task: CellTask, result: Result, gold: str, labels: ReadLabels, about: AboutAnswers
) -> CellResult:
    """Convert the result of a cell, and store it in the cache if there is one.

    The path `gold` is removed from the sources of sentences, so that the result does not depend on it.
    """
    assert result.units is not UNSET
    assert result.mentions is not UNSET
    cell = CellResult(
        inputs=result.inputs,
        settings=result.settings,
        dataset=result.dataset,
        runs={run: _of_one_run(scores) for run, scores in result.systems.items()},
        hints=(*about.hints, *(result.hints or ())),
        usage=about.usage,
        # Lazy values cannot be passed between processes, so they are computed now.
        units=replace(
            result.units, systems={name: tuple(system) for name, system in result.units.systems.items()}
        ),
        mentions=result.mentions.made(),
        examples=result.examples,
        sentences=tuple(
            replace(sentence, source=sentence.source and sentence.source.removeprefix(gold))
            for sentence in result.sentences
        ),
        labels=labels,
    )
    if task.cache is not None:
        Cache(task.cache).put(task.key, cell)
    return cell


def _of_one_run(scores: SystemScores) -> SystemScores:
    """The scores of a run without how often its siblings make the same errors: they are not other systems."""
    if scores.patterns is UNSET:
        return scores
    alone = tuple(replace(pattern, others={}) for pattern in scores.patterns.listed)
    return replace(scores, patterns=replace(scores.patterns, listed=alone))


# ---- in the main process --------------------------------------------------------------------


HELD = 32 << 20  # the size in bytes of the prediction files that are loaded before they are parsed
LEAST_MEMORY = 1 << 20  # the minimum memory in bytes for one dataset that is evaluated in parts


class RunStudy(Struct, frozen=True, eq=False):
    """The files of a study, and the results of its cells by key, in the order of the tasks."""

    plan: Plan
    tasks: Sequence[CellTask]
    cells: Mapping[str, CellResult]
    memory: int | None = None  # the memory for parts in bytes; None if cells were read whole


class CellsToDo(Protocol):
    """Cells to compute: all are added, and their files are checked, before the first is computed."""

    @property
    def datasets(self) -> Mapping[str, DatasetFiles]:
        """The opened files of every dataset, by name."""
        ...

    def add(self, task: CellTask) -> None: ...
    def total(self) -> Sequence[CellTask]:
        """All cells that were added, after checking that their files can be read.

        Raises:
            InputError: a file cannot be used; the first one, in the order of cells, is reported.
        """
        ...

    def computed(self) -> Iterator[CellResult]:
        """The results of these cells, in the same order."""
        ...


class InMemoryCells:
    """Cells that fit into memory; prediction files are read in groups, and only their mentions are kept."""

    def __init__(
        self, manifest: Manifest, datasets: Sequence[DatasetFiles], engine: Engine, *, group_bytes: int
    ) -> None:
        self._engine, self._limit = engine, group_bytes
        self._options = {dataset.name: options_of(manifest, dataset) for dataset in manifest.datasets}
        self._gold: dict[str, ReadGold | str] = {}
        self._waiting: list[CellTask] = []
        self._waiting_bytes = 0
        self._done: list[ReadTask] = []
        self._errors: list[str] = []
        self.datasets = {files.dataset.name: files.opened() for files in datasets}

    def add(self, task: CellTask) -> None:
        """Add a cell, and read all waiting cells if their files have reached the limit."""
        self._waiting.append(task)
        self._waiting_bytes += task.size
        if self._waiting_bytes >= self._limit:
            self._read()

    def _read(self) -> None:
        for task in self._waiting:
            if task.dataset not in self._gold:
                opened = self.datasets[task.dataset]
                self._gold[task.dataset] = _read_dataset(opened, self._options[task.dataset])
        outcomes = self._engine.map(read_cell, self._waiting, self._gold)
        for outcome in outcomes:
            if isinstance(outcome, str):
                self._errors.append(outcome)
            else:
                self._done.append(outcome)
        self._waiting, self._waiting_bytes = [], 0

    def total(self) -> list[CellTask]:
        """Read the remaining cells, and return all of them."""
        self._read()
        if self._errors:
            others = many(len(self._errors) - 1, "more cell")
            more = f"\nThere are files that cannot be used in {others}." if len(self._errors) > 1 else ""
            raise InputError(self._errors[0] + more)
        return [read.task for read in self._done]

    def computed(self) -> Iterator[CellResult]:
        """The results of these cells; each dataset is prepared only once."""
        prepared = {
            name: gold.prepared(**_settings(self.datasets[name], self._options[name]))
            for name, gold in self._gold.items()
            if isinstance(gold, ReadGold)
        }
        return self._engine.map(compute_cell, self._done, prepared)


class PartedCells:
    """Cells whose files are read and counted in parts by the engine; only the counts are kept.

    The datasets share the memory for parts and for the rows that are kept between passes.
    """

    def __init__(
        self, manifest: Manifest, datasets: Sequence[DatasetFiles], engine: Engine, *, memory: int
    ) -> None:
        self._engine = engine
        self._memory = max(memory // max(len(datasets), 1), LEAST_MEMORY)
        self._options = {dataset.name: options_of(manifest, dataset) for dataset in manifest.datasets}
        self._tasks: list[CellTask] = []
        self._opened: dict[str, PartedDataset] = {}
        self._about: dict[str, AboutAnswers] = {}
        self.datasets = {files.dataset.name: files.opened(hold=False) for files in datasets}

    def add(self, task: CellTask) -> None:
        """Add a cell."""
        self._tasks.append(task)

    def total(self) -> list[CellTask]:
        """Scan the files of all cells, and return the cells."""
        for name, tasks in self._by_dataset():
            self._opened[name] = self._parted(self.datasets[name], self._options[name], tasks)
        return self._tasks

    def computed(self) -> Iterator[CellResult]:
        """The results of these cells; the data of a dataset is freed after its last cell."""
        for name, tasks in self._by_dataset():
            dataset = self._opened.pop(name).fixed()
            for number, task in enumerate(tasks):
                runs = {run: _column(number, index) for index, run in enumerate(task.runs)}
                about = self._about[task.key]
                yield _cell_of(task, dataset.result(runs), dataset.path, dataset.read_labels, about)
                release_freed_memory()

    def _by_dataset(self) -> list[tuple[str, list[CellTask]]]:
        """The cells grouped by dataset; those of one dataset are consecutive."""
        return [(name, list(tasks)) for name, tasks in groupby(self._tasks, lambda task: task.dataset)]

    def _parted(self, opened: DatasetFiles, options: Options, tasks: Sequence[CellTask]) -> PartedDataset:
        """Scan the files of a dataset and of all runs of its cells once."""
        reading = _reading(options)
        gold = _gold(opened, reading)
        refuse_merged(gold, **reading)
        # Placing answers needs the whole text.
        whole = Reader(**reading).read(gold) if any(task.answers is not None for task in tasks) else None
        columns: dict[str, object] = {}
        for number, task in enumerate(tasks):
            sources, self._about[task.key] = runs_of(task, reading, whole)
            columns |= {_column(number, at): source for at, source in enumerate(sources.values())}
        return PartedDataset.of(
            opened.dataset.name, whole or gold, columns, [file.source(reading) for file in opened.train],
            memory=self._memory, engine=self._engine, reading=reading,
            align=options.get("align", "strict"), **_settings(opened, options),
        )  # fmt: skip


def _column(cell: int, run: int) -> str:
    """A name for a run that is unique among all cells of a dataset."""
    return f"{cell}.{run}"


def run_cells(
    manifest: Manifest,
    *,
    cache: Path | None,
    engine: Engine,
    progress: Progress,
    steps: Steps = ignore_progress,
    group_bytes: int = HELD,
    memory: int | None = None,
) -> RunStudy:
    """Open every file once, and evaluate every cell that is not in the cache.

    All files are read before the first cell is counted, in groups of cells of about `group_bytes` bytes. With
    `memory`, or if a cell would not fit into memory, files are only scanned first, and then read and counted
    in parts. The results do not depend on the engine. `steps` is called with the number of cells that have
    been read and counted.

    Raises:
        InputError: a file cannot be used; the first one, in the order of cells, is reported before any cell
            is computed.
    """
    datasets = [found_dataset(manifest, dataset) for dataset in manifest.datasets]
    all_cells = found_cells(manifest)
    bound = _bound(manifest, all_cells, memory)
    waiting: CellsToDo
    if bound is None:
        waiting = InMemoryCells(manifest, datasets, engine, group_bytes=group_bytes)
    else:
        waiting = PartedCells(manifest, datasets, engine, memory=bound)
    results: dict[str, CellResult] = {}
    cells: list[StudyCell] = []
    tasks: list[CellTask] = []
    for found_cell in all_cells:
        cell = found_cell.opened(hold=bound is None)
        cells.append(cell.without_data())
        if not cell.runs:
            continue
        task = _task(manifest, waiting.datasets[cell.dataset], cell, cache)
        tasks.append(task.without_data())
        cached = Cache(cache).get(task.key, CellResult) if cache is not None else None
        if cached is None:
            waiting.add(task)
        else:
            results[task.key] = cached
    plan = plan_of(list(waiting.datasets.values()), cells)
    report_plan(plan, progress)
    if results:
        progress(f"{len(results)} of {many(len(tasks), 'cell')} are taken from the cache")
    steps("read", 0, len(tasks) - len(results))
    fresh = waiting.total()
    steps("read", len(fresh), len(fresh))
    if fresh:
        progress(f"all files of {many(len(fresh), 'cell')} can be read")
        _prepare(cache, progress)
    score = SCORES[manifest.settings.get("score", "f1")]
    for number, (task, result) in enumerate(zip(fresh, waiting.computed(), strict=True), start=1):
        results[task.key] = result
        progress(f"{number}/{len(fresh)} {task.name}: {_scores_in_words(result, score)}")
        steps("count", number, len(fresh))
    checked = _with_notes_on_labels(manifest, tasks, results)
    return RunStudy(plan, tasks, {task.key: checked[task.key] for task in tasks}, bound)


def _with_notes_on_labels(
    manifest: Manifest, tasks: Sequence[CellTask], cells: Mapping[str, CellResult]
) -> Mapping[str, CellResult]:
    """Add notes to datasets without a label that a rule names.

    Raises:
        ChoiceError: no dataset with the rule has the label.
    """
    missing: dict[str, list[MissingLabel]] = {}
    asked: dict[tuple[str, str], int] = {}  # in how many datasets a rule names a label
    for dataset in manifest.datasets:
        rules = rules_of(dataset.reading)
        own = [cells[task.key].labels for task in tasks if task.dataset == dataset.name]
        if not rules or not own:
            continue
        labels = reduce(or_, own)
        missing[dataset.name] = rules.missing(labels.others, labels.predicted)
        for row in rules.missing((), ()):
            asked[row.option, row.name] = asked.get((row.option, row.name), 0) + 1
    for (option, name), number in asked.items():
        rows = [row for own in missing.values() for row in own if (row.option, row.name) == (option, name)]
        if len(rows) == number:
            there = tuple(sorted({label for row in rows for label in row.there}))
            unknown_label = replace(rows[0], there=there).error("which no file of the study has")
            raise unknown_label
    noted = dict(cells)
    for task in tasks:
        notes = tuple(row.note() for row in missing.get(task.dataset, ()))
        cell = cells[task.key]
        if notes:
            inputs = (
                replace(row, notes=(*row.notes, *notes)) if row.role == "gold" else row for row in cell.inputs
            )
            noted[task.key] = replace(cell, inputs=tuple(inputs))
    return noted


def _bound(manifest: Manifest, cells: Sequence[StudyCell], memory: int | None) -> int | None:
    """The memory for parts in bytes, if requested or if some cell would not fit into memory; else None."""
    if memory is not None:
        return memory
    datasets = {dataset.name: dataset for dataset in manifest.datasets}
    for cell in cells:
        dataset = datasets[cell.dataset]
        streamable = dataset.gold is None and cell.answers is None
        runs = {run: file.path for run, file in cell.runs.items()}
        reading = _reading(options_of(manifest, dataset))
        gold = manifest.root / dataset.test
        bound, _ = parts_of(None, 1, gold, runs, streamable=streamable, reading=reading)
        if bound is not None:
            return bound
    return None


def _settings(opened: DatasetFiles, options: Options) -> Options:
    """The keywords of `evaluate`, apart from those for reading, that all cells of a dataset share."""
    settings = {key: value for key, value in options.items() if not _of_reading(key)}
    file = opened.vocabulary
    vocabulary = opened.dataset.words if file is None else read_words(file.source({}))
    return {"examples": "none", **settings, "vocabulary": vocabulary, "pairs": []}


def report_plan(plan: Plan, progress: Progress) -> None:
    """Report which runs are missing, and which predictions are identical."""
    for row in plan.missing:
        progress(f"missing: {row['dataset']} × {row['system']}, run {row['run']}")
    for shared in plan.shared:
        progress(f"{shared.dataset}: {shared_runs(shared)} have the same predictions")
    for row in plan.identical:
        progress(
            f"{row['dataset']} × {row['system']}: run {row['run']} is the same file as run {row['same_as']} "
            "and is not counted again"
        )


def _prepare(cache: Path | None, progress: Progress) -> None:
    if cache is None:
        return
    try:
        Cache(cache).prepare()
    except OSError as error:
        progress(f"nothing will be cached: {cache} cannot be written to ({error.strerror})")


def _scores_in_words(result: CellResult, score: ScoreKind) -> str:
    values = [score.of_run(run) for run in result.runs.values()]
    return f"{score.words} " + ", ".join("n/a" if value is None else f"{100 * value:.1f}" for value in values)


class PairOptions(TypedDict):
    """The keywords of `paired` that all datasets of a study share."""

    resamples: int
    seed: int
    confidence: float
    correction: str
    primary: str
    shared_seeds: bool
    score: str
    others: int


def run_pairs(
    manifest: Manifest,
    tasks: Sequence[CellTask],
    cells: Mapping[str, CellResult],
    *,
    progress: Progress,
    cache: Path | None,
    memory: int | None = None,
) -> dict[str, PairedTests]:
    """The paired tests between systems, by dataset, corrected over the family they are in."""
    results: dict[str, PairedTests] = {}
    fresh: dict[str, tuple[str, Callable[[], PairedTests]]] = {}  # by dataset, with the key in the cache
    family = manifest.settings.get("family", FAMILIES[0])
    asked = _asked_pairs(manifest, tasks)
    all_options: dict[str, PairOptions] = {}
    for dataset in manifest.datasets:
        dataset_tasks = [task for task in tasks if task.dataset == dataset.name]
        if not dataset_tasks:
            continue
        pairs = asked[dataset.name]
        settings = cells[dataset_tasks[0].key].settings
        together = pairs if family == "dataset" else [pair for row in asked.values() for pair in row]
        options = all_options[dataset.name] = PairOptions(
            resamples=settings.resamples,
            seed=settings.seed,
            confidence=settings.confidence,
            correction=manifest.settings.get("correction", CORRECTION),
            primary=manifest.settings.get("primary", "f1"),
            shared_seeds=manifest.settings.get("shared_seeds", False),
            score=manifest.settings.get("score", "f1"),
            others=len(together) - len(pairs),
        )
        key, cached = dataset.name, None
        if cache is not None:
            cell_keys = {task.system: task.key for task in dataset_tasks}
            key = key_of("pairs", program(), cell_keys, pairs, options)
            cached = Cache(cache).get(key, PairedTests)
        if cached is not None:
            results[dataset.name] = cached
            continue
        units = {task.system: cells[task.key].units for task in dataset_tasks}
        scores = {task.system: list(cells[task.key].runs.values()) for task in dataset_tasks}
        compute = partial(paired, units, pairs, scores=scores, memory=memory, **options)
        fresh[dataset.name] = key, compute
    # In sequence: the shuffles of a dataset are held in memory, and two datasets at once would double that.
    for number, (name, (key, tests_of)) in enumerate(fresh.items(), start=1):
        results[name] = tests_of()
        if cache is not None:
            Cache(cache).put(key, results[name])
        progress(f"{number}/{len(fresh)} {name}: systems compared")

    def again(
        name: str, pairs: Sequence[tuple[str, str]], shuffles: int, others: Sequence[float]
    ) -> Sequence[Comparison]:
        """Test some pairs of a dataset again with more shuffles, unless the cache has the result."""
        progress(f"{name}: {many(len(pairs), 'pair')} tested again with {shuffles:,} shuffles")
        own = [task for task in tasks if task.dataset == name]
        given = all_options[name]
        key = key_of(
            "again", program(), {task.system: task.key for task in own}, pairs, shuffles, others, given
        )
        kept = Cache(cache).get(key, tuple[Comparison, ...]) if cache is not None else None
        if kept is None:
            kept = shuffled_again(
                {task.system: cells[task.key].units for task in own}, pairs, others, resamples=shuffles,
                seed=given["seed"], confidence=given["confidence"], correction=given["correction"],
                primary=given["primary"], memory=memory,
            )  # fmt: skip
            if cache is not None:
                Cache(cache).put(key, kept)
        return kept

    ordered = {
        dataset.name: results[dataset.name] for dataset in manifest.datasets if dataset.name in results
    }
    return corrected(
        ordered, correction=manifest.settings.get("correction", CORRECTION), family=family, again=again
    )


def _asked_pairs(manifest: Manifest, tasks: Sequence[CellTask]) -> dict[str, tuple[tuple[str, str], ...]]:
    """By dataset, the pairs to test of which both systems have runs there."""
    present: dict[str, set[str]] = {}
    for task in tasks:
        present.setdefault(task.dataset, set()).add(task.system)
    return {
        dataset: tuple(
            (pair.first, pair.second)
            for pair in manifest.pairs
            if (pair.datasets is None or dataset in pair.datasets) and {pair.first, pair.second} <= systems
        )
        for dataset, systems in present.items()
    }
