"""Run a study: check every file, then compute every cell or take it as it was kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from spanwise import __version__
from spanwise.corpus import Annotation
from spanwise.document import Input, Settings
from spanwise.document.dataset import DatasetFacts
from spanwise.document.evaluation import ExampleCounts, MentionCodes, Sentence, UnitCounts
from spanwise.document.scores import SystemScores
from spanwise.engines import Engine, release_freed_memory
from spanwise.errors import ChoiceError, InputError, SpanwiseError, at, many, unknown
from spanwise.evaluation import (
    PartedDataset,
    PreparedDataset,
    ReadGold,
    ReadSystems,
    Result,
    parts_of,
    unheard,
)
from spanwise.formats import File, Reader, read_words, refuse_merged
from spanwise.settings import CORRECTION, SETTINGS, unless_given
from spanwise.studies._kept import Cache, key_of
from spanwise.studies._manifest import Manifest, StudyDataset
from spanwise.studies._paired import PairedTests, paired
from spanwise.studies._plan import (
    FoundCell,
    FoundDataset,
    OpenedCell,
    OpenedDataset,
    OpenedFile,
    Plan,
    StudyCell,
    found_cells,
    found_dataset,
    plan_of,
    shared_runs,
)
from spanwise.studies._scores import CHOOSABLE, SCORES, ScoreKind

Progress = Callable[[str], None]
Steps = Callable[[str, int, int], None]  # the step, how much of it is done, and of how much
OF_PAIRS = (
    "correction",
    "primary",
    "shared_seeds",
    "score",
)  # settings of the tests between systems, which shape no cell


class CellTask(Struct, frozen=True, eq=False):
    """One cell with everything that its numbers depend on; `key` is a hash of that, not of paths."""

    key: str
    dataset: str
    system: str
    runs: Mapping[str, OpenedFile]
    answers: Mapping[str, Any] | None  # how answers without offsets are placed
    cache: Path | None

    @property
    def name(self) -> str:
        """The name of the cell in progress and errors."""
        return f"{self.dataset} × {self.system}"

    @property
    def size(self) -> int:
        """The bytes that are held of its files."""
        return sum(len(run.data or b"") for run in self.runs.values())

    def without_data(self) -> CellTask:
        """The same once its files have been read."""
        return replace(self, runs={run: OpenedFile(one.file, None) for run, one in self.runs.items()})


def check_settings(manifest: Manifest) -> None:
    """Refuse unknown attributes and bucketings before any file is opened, with their place."""
    from spanwise import buckets
    from spanwise.attributes import ATTRIBUTES, choose
    from spanwise.matching import MATCHERS

    try:
        _attributes(manifest)
    except ChoiceError as error:
        raise InputError(at(manifest.place("attributes"), None, str(error))) from None
    try:
        MATCHERS.find(manifest.settings.get("matcher", "fair"))
    except ChoiceError as error:
        raise InputError(at(manifest.place("matcher"), None, str(error))) from None
    score = manifest.settings.get("score", "f1")
    if score not in CHOOSABLE:
        wrong = unknown("score of a study", score, CHOOSABLE)
        raise InputError(at(manifest.place("score"), None, str(wrong)))
    for name, how in manifest.settings.get("buckets", {}).items():
        try:
            choose([name]) if ":" in name else ATTRIBUTES.find(name)
            buckets.parse(how)
        except ChoiceError as error:
            raise InputError(at(manifest.place("buckets", name), None, str(error))) from None


def _attributes(manifest: Manifest) -> list[Any]:
    from spanwise.attributes import choose

    asked = manifest.settings.get("attributes", unless_given("attributes"))
    return [] if asked == "none" else choose(asked.split(",") if isinstance(asked, str) else asked)


def can_be_kept(manifest: Manifest) -> bool:
    """Whether all attributes and the matcher are spanwise's own; others may change without a trace."""
    from spanwise.attributes import is_built_in, is_given
    from spanwise.matching import MATCHERS

    matcher = MATCHERS.find(manifest.settings.get("matcher", "fair"))
    if matcher.function.__module__ != "spanwise.matching":
        return False
    return all(is_built_in(attribute) or is_given(attribute) for attribute in _attributes(manifest))


@lru_cache(maxsize=1)
def program() -> str:
    """A hash of this program's own files: another program, another number."""
    digest = hashlib.sha256(__version__.encode())
    folder = Path(__file__).parents[1]
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def options_of(manifest: Manifest, dataset: StudyDataset) -> dict[str, Any]:
    """The keywords of `evaluate` that all cells of a dataset share."""
    settings = {key: value for key, value in manifest.settings.items() if key not in OF_PAIRS}
    return {**settings, **dataset.reading}


def _task(manifest: Manifest, dataset: OpenedDataset, opened: OpenedCell, cache: Path | None) -> CellTask:
    cell, words = opened.cell, dataset.vocabulary
    if cache is None:  # where nothing is kept, names will do
        return CellTask(
            f"{cell.dataset}/{cell.system}", cell.dataset, cell.system, opened.runs, cell.answers, None
        )
    key = key_of(
        program(),
        cell.dataset,
        dataset.test.file.sha256,
        [one.file.sha256 for one in dataset.train],
        words.file.sha256 if words else dataset.dataset.words,
        {run: file.sha256 for run, file in cell.runs.items()},
        {**options_of(manifest, dataset.dataset), "answers": cell.answers},
    )
    return CellTask(key, cell.dataset, cell.system, opened.runs, cell.answers, cache)


def _of_reading(key: str) -> bool:
    return key in SETTINGS and SETTINGS[key].per_dataset


# ---- in the workers -------------------------------------------------------------------------


class DatasetText(Struct, frozen=True, eq=False):
    """The gold and training annotations of a dataset, which its cells share, or what is wrong with them."""

    gold: ReadGold | None
    wrong: str | None = None

    @classmethod
    def of(cls, opened: OpenedDataset, options: Mapping[str, Any]) -> DatasetText:
        """Read the files of a dataset, each once."""
        reading, align = _reading(options), options.get("align", "strict")
        test = _gold(opened, reading)
        train = [one.source(reading) for one in opened.train]
        try:
            gold = ReadGold.of(opened.dataset.name, test, train, align=align, reading=reading)
        except SpanwiseError as error:
            return cls(None, str(error))
        refuse_merged(test, **reading)
        return cls(gold)


def _reading(options: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of `read` among those of `evaluate`."""
    return {key: value for key, value in options.items() if _of_reading(key) and key != "align"}


def _gold(opened: OpenedDataset, reading: Mapping[str, Any]) -> Annotation | File | Path:
    """The gold file of a dataset, or the annotation that stands for it."""
    return opened.test.source(reading) if opened.dataset.gold is None else opened.dataset.gold


def runs_of(task: CellTask, reading: Mapping[str, Any], gold: Annotation | None) -> dict[str, object]:
    """The predictions of a cell by run: files, or the answers in them placed on the gold text."""
    sources: dict[str, object] = {run: one.source(reading) for run, one in task.runs.items()}
    if task.answers is None or gold is None:
        return sources
    from spanwise.placement import checked, placement

    placed: dict[str, object] = {}
    for run, one in task.runs.items():
        sample = one.file.sample if one.file.sample is not None else task.answers.get("sample")
        choices = checked(**{**task.answers, "sample": sample})
        source = sources[run] if one.file.records is None else one.file.records
        placed[run] = placement(gold, source, choices).annotation
    return placed


def read_cell(task: CellTask, texts: Mapping[str, DatasetText]) -> ReadSystems | str:
    """Read the predictions of a cell and put them on the gold text; or the text of what is wrong."""
    text = texts[task.dataset]
    if text.gold is None:
        return str(text.wrong)
    try:
        return text.gold.read(runs_of(task, text.gold.reading, text.gold.gold))
    except SpanwiseError as error:
        return str(error)


class ReadTask(Struct, frozen=True, eq=False):
    """A cell whose files were read."""

    task: CellTask
    systems: ReadSystems


class CellResult(Struct, frozen=True):
    """What a study keeps of the evaluation of one cell: all runs of one system on one dataset."""

    inputs: tuple[Input, ...]
    settings: Settings
    dataset: DatasetFacts
    runs: Mapping[str, SystemScores]
    units: UnitCounts
    mentions: MentionCodes
    examples: ExampleCounts | UnsetType = UNSET
    sentences: tuple[Sentence, ...] = ()  # whose systems are the runs; places are lines of the gold file


def compute_cell(read: ReadTask, datasets: Mapping[str, PreparedDataset]) -> CellResult:
    """Evaluate all runs of a cell, and keep the result where a cache is given."""
    dataset = datasets[read.task.dataset]
    return _cell_of(read.task, dataset.result(read.systems), dataset.path)


def _cell_of(task: CellTask, result: Result, gold: str) -> CellResult:
    """What is kept of the result of a cell, in the cache where one is given; places are those of `gold`."""
    assert result.units is not UNSET
    assert result.mentions is not UNSET
    kept = CellResult(
        inputs=result.inputs,
        settings=result.settings,
        dataset=result.dataset,
        runs=result.systems,
        # Processes hand over plain values: what would be made later is made now.
        units=replace(
            result.units, systems={name: tuple(system) for name, system in result.units.systems.items()}
        ),
        mentions=result.mentions.made(),
        examples=result.examples,
        sentences=tuple(
            replace(sentence, source=sentence.source and sentence.source.removeprefix(gold))
            for sentence in result.sentences
        ),
    )
    if task.cache is not None:
        Cache(task.cache).put(task.key, kept)
    return kept


# ---- in the main process --------------------------------------------------------------------


HELD = 32 << 20  # bytes of predictions that are held at once, until they are read
LEAST_MEMORY = 1 << 20  # of one dataset in parts


class RunStudy(Struct, frozen=True, eq=False):
    """The files of a study and the results of its cells, by their keys, in the order of the tasks."""

    plan: Plan
    tasks: Sequence[CellTask]
    cells: Mapping[str, CellResult]
    memory: int | None = None  # of parts, in bytes


class CellsToDo(Protocol):
    """Cells to be computed: all of them are added and can be read before the first one is."""

    @property
    def datasets(self) -> Mapping[str, OpenedDataset]:
        """The files of every dataset."""
        ...

    def add(self, task: CellTask) -> None: ...
    def total(self) -> Sequence[CellTask]:
        """All cells, whose files can be read.

        Raises:
            InputError: a file cannot be used; the first in the order of cells is told.
        """
        ...

    def computed(self) -> Iterator[CellResult]:
        """The results of these cells, in their order."""
        ...


class HeldCells:
    """Cells in memory, whose predictions are read some at a time: of those read only mentions are held."""

    def __init__(
        self, manifest: Manifest, found: Sequence[FoundDataset], engine: Engine, *, held: int
    ) -> None:
        self._engine, self._most = engine, held
        self._options = {dataset.name: options_of(manifest, dataset) for dataset in manifest.datasets}
        self._texts: dict[str, DatasetText] = {}
        self._waiting: list[CellTask] = []
        self._held = 0
        self._done: list[ReadTask] = []
        self._wrong: list[str] = []
        self.datasets = {one.dataset.name: one.opened() for one in found}

    def add(self, task: CellTask) -> None:
        """Take the next cell, and read those that wait where they hold much."""
        self._waiting.append(task)
        self._held += task.size
        if self._held >= self._most:
            self._read()

    def _read(self) -> None:
        for task in self._waiting:
            if task.dataset not in self._texts:
                opened = self.datasets[task.dataset]
                self._texts[task.dataset] = DatasetText.of(opened, self._options[task.dataset])
        outcomes = self._engine.map(read_cell, self._waiting, self._texts)
        for task, outcome in zip(self._waiting, outcomes, strict=True):
            if isinstance(outcome, str):
                self._wrong.append(outcome)
            else:
                self._done.append(ReadTask(task.without_data(), outcome))
        self._waiting, self._held = [], 0

    def total(self) -> list[CellTask]:
        """All cells, read."""
        self._read()
        if self._wrong:
            others = many(len(self._wrong) - 1, "more cell")
            more = f"\nThere are files that cannot be used in {others}." if len(self._wrong) > 1 else ""
            raise InputError(self._wrong[0] + more)
        return [one.task for one in self._done]

    def computed(self) -> Iterator[CellResult]:
        """The results of these cells; each of their datasets is looked at once."""
        prepared = {
            name: text.gold.prepared(**_settings(self.datasets[name], self._options[name]))
            for name, text in self._texts.items()
            if text.gold is not None
        }
        return self._engine.map(compute_cell, self._done, prepared)


class PartedCells:
    """Cells whose files come in parts, which the engine counts; only what was counted is held.

    The datasets share the memory for parts and for the rows that stay between two goes.
    """

    def __init__(
        self, manifest: Manifest, found: Sequence[FoundDataset], engine: Engine, *, memory: int
    ) -> None:
        self._engine = engine
        self._memory = max(memory // max(len(found), 1), LEAST_MEMORY)
        self._options = {dataset.name: options_of(manifest, dataset) for dataset in manifest.datasets}
        self._tasks: list[CellTask] = []
        self._opened: dict[str, PartedDataset] = {}
        self.datasets = {one.dataset.name: one.opened(hold=False) for one in found}

    def add(self, task: CellTask) -> None:
        """Take the next cell."""
        self._tasks.append(task)

    def total(self) -> list[CellTask]:
        """All cells, whose files were looked at."""
        for name, tasks in self._by_dataset():
            self._opened[name] = self._parted(self.datasets[name], self._options[name], tasks)
        return self._tasks

    def computed(self) -> Iterator[CellResult]:
        """The results of these cells; what is known of a dataset is let go after its last cell."""
        for name, tasks in self._by_dataset():
            dataset = self._opened.pop(name).fixed()
            for number, task in enumerate(tasks):
                runs = {run: _column(number, index) for index, run in enumerate(task.runs)}
                yield _cell_of(task, dataset.result(runs), dataset.path)
                release_freed_memory()

    def _by_dataset(self) -> list[tuple[str, list[CellTask]]]:
        """The cells of every dataset, which follow each other."""
        return [(name, list(tasks)) for name, tasks in groupby(self._tasks, lambda task: task.dataset)]

    def _parted(
        self, opened: OpenedDataset, options: Mapping[str, Any], tasks: Sequence[CellTask]
    ) -> PartedDataset:
        """The files of a dataset and of the runs of all its cells, looked at once."""
        reading = _reading(options)
        gold = _gold(opened, reading)
        refuse_merged(gold, **reading)
        # Answers are placed on the whole text.
        whole = Reader(**reading).read(gold) if any(task.answers is not None for task in tasks) else None
        columns: dict[str, object] = {}
        for number, task in enumerate(tasks):
            runs = runs_of(task, reading, whole)
            columns |= {_column(number, index): source for index, source in enumerate(runs.values())}
        return PartedDataset.of(
            opened.dataset.name, whole or gold, columns, [one.source(reading) for one in opened.train],
            memory=self._memory, engine=self._engine, reading=reading,
            align=options.get("align", "strict"), **_settings(opened, options),
        )  # fmt: skip


def _column(cell: int, run: int) -> str:
    """The name of a run among those of all cells of a dataset."""
    return f"{cell}.{run}"


def run_cells(
    manifest: Manifest,
    *,
    cache: Path | None,
    engine: Engine,
    progress: Progress,
    steps: Steps = unheard,
    held: int = HELD,
    memory: int | None = None,
) -> RunStudy:
    """Open every file once, and evaluate every cell that is not kept; nothing depends on the engine.

    All files are read before the first cell is counted, in groups of cells of about `held` bytes; with
    `memory`, or where a cell would not fit into memory, they are looked at, and counted in parts. `steps`
    hears how many cells were read and counted.

    Raises:
        InputError: a file cannot be used; the first in the order of cells is reported, before any is
        computed.
    """
    datasets = [found_dataset(manifest, dataset) for dataset in manifest.datasets]
    every = found_cells(manifest)
    bound = _bound(manifest, every, memory)
    waiting: CellsToDo
    if bound is None:
        waiting = HeldCells(manifest, datasets, engine, held=held)
    else:
        waiting = PartedCells(manifest, datasets, engine, memory=bound)
    results: dict[str, CellResult] = {}
    cells: list[StudyCell] = []
    tasks: list[CellTask] = []
    for found in every:
        opened = found.opened(hold=bound is None)
        cells.append(opened.cell)
        if not opened.runs:
            continue
        task = _task(manifest, waiting.datasets[found.dataset], opened, cache)
        tasks.append(task.without_data())
        kept = Cache(cache).get(task.key, CellResult) if cache is not None else None
        if kept is None:
            waiting.add(task)
        else:
            results[task.key] = kept
    plan = plan_of(list(waiting.datasets.values()), cells)
    tell(plan, progress)
    if results:
        progress(f"{len(results)} of {len(tasks)} cells are taken from the cache")
    steps("read", 0, len(tasks) - len(results))
    fresh = waiting.total()
    steps("read", len(fresh), len(fresh))
    if fresh:
        progress(f"all files of {len(fresh)} cells can be read")
        _prepare(cache, progress)
    score = SCORES[manifest.settings.get("score", "f1")]
    for number, (task, result) in enumerate(zip(fresh, waiting.computed(), strict=True), start=1):
        results[task.key] = result
        progress(f"{number}/{len(fresh)} {task.name}: {_spoken(result, score)}")
        steps("count", number, len(fresh))
    return RunStudy(plan, tasks, {task.key: results[task.key] for task in tasks}, bound)


def _bound(manifest: Manifest, cells: Sequence[FoundCell], memory: int | None) -> int | None:
    """The memory for parts in bytes: as asked for, or where some cell would not fit; else None."""
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


def _settings(opened: OpenedDataset, options: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of `evaluate` that shape the numbers of a dataset, for all of its cells."""
    settings = {key: value for key, value in options.items() if not _of_reading(key)}
    file = opened.vocabulary
    vocabulary = opened.dataset.words if file is None else read_words(file.source({}))
    return {"examples": "none", **settings, "vocabulary": vocabulary, "pairs": []}


def tell(plan: Plan, progress: Progress) -> None:
    """Say which runs are missing, and which predictions are the same."""
    for row in plan.missing:
        progress(f"missing: {row['dataset']} × {row['system']}, run {row['run']}")
    for shared in plan.shared:
        progress(f"{shared['dataset']}: {shared_runs(shared)} have the same predictions")
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


def _spoken(result: CellResult, score: ScoreKind) -> str:
    values = [score.of_run(run) for run in result.runs.values()]
    return f"{score.words} " + ", ".join("n/a" if value is None else f"{100 * value:.1f}" for value in values)


class PairTask(Struct, frozen=True):
    """The tests between the systems of one dataset."""

    key: str
    name: str
    units: Mapping[str, UnitCounts]
    scores: Mapping[str, Sequence[SystemScores]]  # of every run
    pairs: tuple[tuple[str, str], ...]
    options: Mapping[str, Any]
    cache: Path | None
    memory: int | None  # that shuffles may take


def compute_pairs(task: PairTask) -> PairedTests:
    """Test the systems of one dataset against each other, and keep the result where a cache is given."""
    tests = paired(task.units, task.pairs, scores=task.scores, memory=task.memory, **task.options)
    if task.cache is not None:
        Cache(task.cache).put(task.key, tests)
    return tests


def run_pairs(
    manifest: Manifest,
    tasks: Sequence[CellTask],
    cells: Mapping[str, CellResult],
    *,
    progress: Progress,
    cache: Path | None,
    memory: int | None = None,
) -> dict[str, PairedTests]:
    """The paired tests of every dataset, by its name."""
    results: dict[str, PairedTests] = {}
    fresh = []
    for dataset in manifest.datasets:
        here = [task for task in tasks if task.dataset == dataset.name]
        if not here:
            continue
        pairs = tuple(
            (pair.first, pair.second)
            for pair in manifest.pairs
            if pair.datasets is None or dataset.name in pair.datasets
        )
        settings = cells[here[0].key].settings
        options: dict[str, object] = {
            key: getattr(settings, key) for key in ("resamples", "seed", "confidence")
        }
        options["correction"] = manifest.settings.get("correction", CORRECTION)
        options["primary"] = manifest.settings.get("primary", "f1")
        options["shared_seeds"] = manifest.settings.get("shared_seeds", False)
        options["score"] = manifest.settings.get("score", "f1")
        key, kept = dataset.name, None
        if cache is not None:
            key = key_of("pairs", program(), {task.system: task.key for task in here}, pairs, options)
            kept = Cache(cache).get(key, PairedTests)
        if kept is not None:
            results[dataset.name] = kept
            continue
        units = {task.system: cells[task.key].units for task in here}
        scores = {task.system: list(cells[task.key].runs.values()) for task in here}
        fresh.append(PairTask(key, dataset.name, units, scores, pairs, options, cache, memory))
    # One after the other: a pair's shuffles are held in memory, and two datasets' at once would double that.
    for number, task in enumerate(fresh, start=1):
        results[task.name] = compute_pairs(task)
        progress(f"{number}/{len(fresh)} {task.name}: systems compared")
    return {dataset.name: results[dataset.name] for dataset in manifest.datasets if dataset.name in results}
