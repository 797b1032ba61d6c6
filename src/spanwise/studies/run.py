"""Run a study: check every file, then compute every cell or take it as it was kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from spanwise import __version__
from spanwise.corpus import Annotation
from spanwise.document import Input, Settings
from spanwise.document.dataset import DatasetFacts
from spanwise.document.evaluation import ExampleCounts, MentionCodes, Sentence, UnitCounts
from spanwise.document.scores import SystemScores
from spanwise.engines import Engine
from spanwise.errors import ChoiceError, InputError, SpanwiseError, at, many, unknown
from spanwise.settings import CORRECTION, unless_given
from spanwise.studies._kept import Cache, key_of
from spanwise.studies._manifest import READING, Manifest, Plan, StudyCell, StudyDataset
from spanwise.studies._paired import PairedTests, paired
from spanwise.studies._scores import CHOOSABLE, SCORES, ScoreKind

Progress = Callable[[str], None]
OF_PAIRS = (
    "correction",
    "primary",
    "shared_seeds",
    "score",
)  # settings of the tests between systems, which shape no cell


class CellTask(Struct, frozen=True):
    """One cell with everything that its numbers depend on; `key` is a hash of that, not of paths."""

    key: str
    dataset: str
    system: str
    test: str
    train: tuple[str, ...]
    vocabulary: str | None
    runs: Mapping[str, str]
    samples: Mapping[str, str]  # of runs that are samples in a file of answers
    answers: Mapping[str, Any] | None  # how answers without offsets are placed
    records: Mapping[str, tuple[Any, ...]]  # of runs whose answers no file holds
    gold: Annotation | None  # in place of the file
    options: Mapping[str, Any]
    cache: Path | None

    @property
    def name(self) -> str:
        """The cell as progress and errors call it."""
        return f"{self.dataset} × {self.system}"


def tasks_of(manifest: Manifest, plan: Plan, *, cache: Path | None) -> list[CellTask]:
    """The cells that have at least one run, in sorted order."""
    datasets = {dataset.name: dataset for dataset in manifest.datasets}
    return [_task(manifest, plan, datasets[cell.dataset], cell, cache) for cell in plan.cells if cell.runs]


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
    return all(is_built_in(one) or is_given(one) for one in _attributes(manifest))


@lru_cache(maxsize=1)
def program() -> str:
    """A hash of this program's own files: another program, another number."""
    digest = hashlib.sha256(__version__.encode())
    folder = Path(__file__).parents[1]
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _task(
    manifest: Manifest, plan: Plan, dataset: StudyDataset, cell: StudyCell, cache: Path | None
) -> CellTask:
    test, train = plan.test[dataset.name], plan.train[dataset.name]
    words = plan.vocabulary.get(dataset.name)
    settings = {key: value for key, value in manifest.settings.items() if key not in OF_PAIRS}
    options = {**settings, **dataset.reading}
    key = key_of(
        program(),
        dataset.name,
        test.sha256,
        [file.sha256 for file in train],
        words.sha256 if words else None,
        {run: file.sha256 for run, file in cell.runs.items()},
        {**options, "answers": cell.answers},
    )
    return CellTask(
        key=key,
        dataset=dataset.name,
        system=cell.system,
        test=str(test.path),
        train=tuple(str(file.path) for file in train),
        vocabulary=str(words.path) if words else None,
        runs={run: str(file.path) for run, file in cell.runs.items()},
        samples={run: file.sample for run, file in cell.runs.items() if file.sample is not None},
        answers=cell.answers,
        gold=dataset.gold,
        records={run: file.records for run, file in cell.runs.items() if file.records is not None},
        options=options,
        cache=cache,
    )


# ---- in the workers -------------------------------------------------------------------------


class DatasetText(Struct, frozen=True, eq=False):
    """The gold and training annotations of a dataset, which its cells share, or what is wrong with them."""

    gold: Annotation | None
    train: tuple[Annotation, ...] = ()
    wrong: str | None = None

    @classmethod
    def of(cls, task: CellTask) -> DatasetText:
        """Open the files of a cell's dataset, each once."""
        from spanwise.formats import Reader, opened, refuse_merged

        reading = {key: value for key, value in task.options.items() if key in READING and key != "align"}
        reader = Reader(**reading)
        try:
            train = tuple(reader.read(path, extras=False) for path in task.train)
            if task.gold is not None:
                return cls(task.gold, train)
            test = opened(task.test, encoding=reading.get("encoding"), limits=reading.get("limits"))
            gold = reader.read(test)
        except SpanwiseError as error:
            return cls(None, (), str(error))
        refuse_merged(test, **reading)
        return cls(gold, train)


def runs_of(task: CellTask, gold: Annotation | None) -> dict[str, object]:
    """The predictions of a cell by run: files, or the answers in them placed on the gold text."""
    if task.answers is None or gold is None:
        return dict(task.runs)
    from spanwise.placement import checked, placement

    choices = {
        run: checked(**{**task.answers, "sample": task.samples.get(run, task.answers.get("sample"))})
        for run in task.runs
    }
    return {
        run: placement(gold, task.records.get(run, path), choices[run]).annotation
        for run, path in task.runs.items()
    }


def check_cell(task: CellTask, texts: Mapping[str, DatasetText]) -> str | None:
    """Read the predictions of a cell and align them with gold: the text of what is wrong, or None."""
    from spanwise.evaluation import gather

    text = texts[task.dataset]
    if text.wrong is not None:
        return text.wrong
    reading = {key: value for key, value in task.options.items() if key in READING}
    align = reading.pop("align", "strict")
    try:
        gather(
            text.gold,
            runs_of(task, text.gold),
            list(text.train) or None,
            align=align,
            reading=reading,
            name=task.dataset,
        )
    except SpanwiseError as error:
        return str(error)
    return None


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


def compute_cell(task: CellTask, texts: Mapping[str, DatasetText]) -> CellResult:
    """Evaluate all runs of a cell, and keep the result where a cache is given."""
    from spanwise.evaluation import evaluate
    from spanwise.formats import read_words

    text = texts[task.dataset]
    result = evaluate(
        text.gold,
        runs_of(task, text.gold),
        train=list(text.train) or None,
        name=task.dataset,
        vocabulary=None if task.vocabulary is None else read_words(task.vocabulary),
        pairs=[],
        **{"examples": "none", **task.options},
    )
    assert result.units is not UNSET
    assert result.mentions is not UNSET
    kept = CellResult(
        inputs=result.inputs,
        settings=result.settings,
        dataset=result.dataset,
        runs=result.systems,
        # Processes hand over plain values: what would be made later is made now.
        units=replace(result.units, systems={name: tuple(one) for name, one in result.units.systems.items()}),
        mentions=result.mentions.made(),
        examples=result.examples,
        sentences=tuple(
            replace(one, source=one.source and one.source.removeprefix(task.test)) for one in result.sentences
        ),
    )
    if task.cache is not None:
        Cache(task.cache).put(task.key, kept)
    return kept


# ---- in the main process --------------------------------------------------------------------


def run_cells(
    tasks: Sequence[CellTask], *, engine: Engine, progress: Progress, score: str = "f1"
) -> dict[str, CellResult]:
    """The result of every task by its key, kept ones as they are; nothing depends on the engine.

    Progress tells the `score` that the study is about.

    Raises:
        InputError: a file cannot be used; the first in the order of cells is told, before any is computed.
    """
    results: dict[str, CellResult] = {}
    for task in tasks:
        kept = Cache(task.cache).get(task.key, CellResult) if task.cache is not None else None
        if kept is not None:
            results[task.key] = kept
    fresh = [task for task in tasks if task.key not in results]
    if len(fresh) < len(tasks):
        progress(f"{len(tasks) - len(fresh)} of {len(tasks)} cells are kept from before")
    # A gold file is opened once, however many systems and runs there are on it.
    texts = {task.dataset: DatasetText.of(task) for task in {one.dataset: one for one in fresh}.values()}
    wrong = [text for text in engine.map(check_cell, fresh, texts) if text is not None]
    if wrong:
        others = many(len(wrong) - 1, "more cell")
        more = f"\nThere are files that cannot be used in {others}." if len(wrong) > 1 else ""
        raise InputError(wrong[0] + more)
    if fresh:
        progress(f"all files of {len(fresh)} cells can be read")
        _prepare(fresh[0].cache, progress)
    computed = engine.map(compute_cell, fresh, texts)
    for number, (task, result) in enumerate(zip(fresh, computed, strict=True), start=1):
        results[task.key] = result
        progress(f"{number}/{len(fresh)} {task.name}: {_spoken(result, SCORES[score])}")
    return {task.key: results[task.key] for task in tasks}


def _prepare(cache: Path | None, progress: Progress) -> None:
    if cache is None:
        return
    try:
        Cache(cache).prepare()
    except OSError as error:
        progress(f"nothing will be kept: {cache} cannot be written to ({error.strerror})")


def _spoken(result: CellResult, score: ScoreKind) -> str:
    values = [score.of_run(run) for run in result.runs.values()]
    return f"{score.words} " + ", ".join("n/a" if one is None else f"{100 * one:.1f}" for one in values)


class PairTask(Struct, frozen=True):
    """The tests between the systems of one dataset."""

    key: str
    name: str
    units: Mapping[str, UnitCounts]
    scores: Mapping[str, Sequence[SystemScores]]  # of every run
    pairs: tuple[tuple[str, str], ...]
    options: Mapping[str, Any]
    cache: Path | None


def compute_pairs(task: PairTask) -> PairedTests:
    """Test the systems of one dataset against each other, and keep the result where a cache is given."""
    found = paired(task.units, task.pairs, scores=task.scores, **task.options)
    if task.cache is not None:
        Cache(task.cache).put(task.key, found)
    return found


def run_pairs(
    manifest: Manifest,
    tasks: Sequence[CellTask],
    cells: Mapping[str, CellResult],
    *,
    progress: Progress,
    cache: Path | None,
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
        key = key_of("pairs", program(), {task.system: task.key for task in here}, pairs, options)
        kept = Cache(cache).get(key, PairedTests) if cache is not None else None
        if kept is not None:
            results[dataset.name] = kept
            continue
        units = {task.system: cells[task.key].units for task in here}
        scores = {task.system: list(cells[task.key].runs.values()) for task in here}
        fresh.append(PairTask(key, dataset.name, units, scores, pairs, options, cache))
    # One after the other: a pair's shuffles are held in memory, and two datasets' at once would double that.
    for number, task in enumerate(fresh, start=1):
        results[task.name] = compute_pairs(task)
        progress(f"{number}/{len(fresh)} {task.name}: systems compared")
    return {dataset.name: results[dataset.name] for dataset in manifest.datasets if dataset.name in results}
