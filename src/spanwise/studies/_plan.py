"""The plan of a study: find, open and hash the files of every cell, and report missing or identical runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from spanwise.document.study import SharedRuns
from spanwise.errors import InputError, at
from spanwise.formats import File, ReadKeywords, file_of_bytes, sha256_of
from spanwise.placement import chosen_sample, records_digest, samples_of
from spanwise.studies._manifest import Manifest, StudyDataset, StudySystem, natural

ONLY_RUN = "1"  # the name of the run if a pattern has no {run}


class StudyFile(Struct, frozen=True):
    """A file of a study: its path as written in the manifest, where it is, and what is known of it."""

    shown: str
    path: Path
    sha256: str = ""  # a hash of its content; "" until it is opened
    sample: str | None = None  # which sample to use from a file of answers
    records: tuple[object, ...] | None = None  # the answers, if they are not in a file
    data: bytes | None = None  # its bytes, so that it need not be opened again

    def opened(self, *, hold: bool = True) -> StudyFile:
        """Hash the file and, if `hold`, keep its bytes, so that it is read only once."""
        if self.sha256:
            return self
        if not hold:
            return replace(self, sha256=sha256_of(self.path))
        file = File(self.path)
        data = file.stored
        return replace(self, sha256=str(file.sha256), data=data)

    def without_data(self) -> StudyFile:
        """The file without its bytes."""
        return self if self.data is None else replace(self, data=None)

    def source(self, reading: ReadKeywords) -> File | Path:
        """The source to pass to a reader: the file with its bytes, or its path."""
        if self.data is None:
            return self.path
        named = {key: reading[key] for key in ("encoding", "limits") if key in reading}
        return file_of_bytes(self.path, self.data, sha256=self.sha256, **named)


class StudyCell(Struct, frozen=True):
    """One system on one dataset with all its runs, which are computed and cached together."""

    dataset: str
    system: str
    runs: Mapping[str, StudyFile]  # once they are opened, without runs that are identical to another
    expected: tuple[str, ...]  # the runs that the system has on some dataset
    answers: Mapping[str, object] | None = None  # how to place answers without offsets
    identical: Mapping[str, str] = {}  # for each run with the same file as another run, that other run

    @property
    def missing(self) -> tuple[str, ...]:
        """The runs that the system has on other datasets."""
        return tuple(run for run in self.expected if run not in self.runs and run not in self.identical)

    def opened(self, *, hold: bool = True) -> StudyCell:
        """Open the files of the cell, and keep their bytes if `hold`; identical files are kept only once."""
        runs: dict[str, StudyFile] = {}
        identical: dict[str, str] = {}
        for run in self.expected:
            if run not in self.runs:
                continue
            file = self.runs[run].opened(hold=hold)
            same = next((name for name, other in runs.items() if other.sha256 == file.sha256), None)
            if same is None:
                runs[run] = file
            else:
                identical[run] = same
        return replace(self, runs=runs, identical=identical)

    def without_data(self) -> StudyCell:
        """The cell without the bytes of its files."""
        return replace(self, runs={run: file.without_data() for run, file in self.runs.items()})


class DatasetFiles(Struct, frozen=True, eq=False):
    """A dataset with its files."""

    dataset: StudyDataset
    test: StudyFile
    train: tuple[StudyFile, ...]
    vocabulary: StudyFile | None

    def opened(self, *, hold: bool = True) -> DatasetFiles:
        """Open the files of the dataset, and keep their bytes if `hold`; those of the vocabulary always."""
        return DatasetFiles(
            self.dataset,
            self.test.opened(hold=hold),
            tuple(file.opened(hold=hold) for file in self.train),
            None if self.vocabulary is None else self.vocabulary.opened(),
        )


class Plan(Struct, frozen=True):
    """All files of a study: the gold and training files of each dataset, and the cells in sorted order."""

    test: Mapping[str, StudyFile]
    train: Mapping[str, tuple[StudyFile, ...]]
    vocabulary: Mapping[str, StudyFile]
    cells: tuple[StudyCell, ...]

    @property
    def missing(self) -> list[dict[str, str]]:
        """The missing runs, as rows of the study document."""
        return [
            {"dataset": cell.dataset, "system": cell.system, "run": run}
            for cell in self.cells
            for run in cell.missing
        ]

    @property
    def identical(self) -> list[dict[str, str]]:
        """The runs that are copies of another run of the same system, which are not counted again."""
        return [
            {"dataset": cell.dataset, "system": cell.system, "run": run, "same_as": other}
            for cell in self.cells
            for run, other in sorted(cell.identical.items(), key=lambda item: natural(item[0]))
        ]

    @property
    def shared(self) -> list[SharedRuns]:
        """Prediction files that several systems share, so that their scores are trivially equal."""
        seen: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for cell in self.cells:
            for run, file in cell.runs.items():
                seen.setdefault((cell.dataset, file.sha256), []).append((cell.system, run))
        return [
            SharedRuns(dataset=dataset, runs=tuple(runs))
            for (dataset, _), runs in seen.items()
            if len(runs) > 1
        ]


def shared_runs(row: SharedRuns) -> str:
    """Describe the systems and runs of one row of `Plan.shared`.

    Examples:
        >>> shared_runs(SharedRuns(dataset="d", runs=(("a", "1"), ("b", "2"))))
        'a (run 1) and b (run 2)'
    """
    return " and ".join(f"{system} (run {run})" for system, run in row.runs)


def make_plan(manifest: Manifest) -> Plan:
    """Find and hash every file of the study.

    Raises:
        InputError: a gold or training file is missing, or a system has no predictions at all.
    """
    datasets = [found_dataset(manifest, dataset).opened(hold=False) for dataset in manifest.datasets]
    return plan_of(datasets, [cell.opened(hold=False) for cell in found_cells(manifest)])


def plan_of(datasets: Sequence[DatasetFiles], cells: Sequence[StudyCell]) -> Plan:
    """The plan of a study, given its opened files, whose bytes it does not keep."""
    return Plan(
        test={files.dataset.name: files.test.without_data() for files in datasets},
        train={files.dataset.name: tuple(file.without_data() for file in files.train) for files in datasets},
        vocabulary={
            files.dataset.name: files.vocabulary.without_data()
            for files in datasets
            if files.vocabulary is not None
        },
        cells=tuple(cell.without_data() for cell in cells),
    )


def found_dataset(manifest: Manifest, dataset: StudyDataset) -> DatasetFiles:
    """Find the files of a dataset, without opening them.

    Raises:
        InputError: one of them does not exist.
    """
    words = dataset.vocabulary
    return DatasetFiles(
        dataset,
        _test(manifest, dataset),
        tuple(_file(manifest, dataset, "train", path) for path in dataset.train),
        None if words is None else _file(manifest, dataset, "vocabulary", words),
    )


def _test(manifest: Manifest, dataset: StudyDataset) -> StudyFile:
    """The gold file; for an annotation in memory, one with a hash of its content."""
    gold = dataset.gold
    if gold is None:
        return _file(manifest, dataset, "test", dataset.test)
    texts = gold.corpus.texts
    words = [
        gold.corpus.words(number) if texts is None else texts[number] for number in range(len(gold.corpus))
    ]
    documents = gold.corpus.documents
    content = [*words, list(gold.mentions.rows()), None if documents is None else documents.tolist()]
    return StudyFile(dataset.test, Path(dataset.test), records_digest(content))


def _file(manifest: Manifest, dataset: StudyDataset, key: str, shown: str) -> StudyFile:
    path = manifest.root / shown
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "does not exist"
        location = manifest.location("datasets", dataset.key, key)
        raise InputError(
            at(
                location,
                None,
                f"the file {str(path)!r} of the dataset {dataset.name!r} {problem}.\n{_relative(manifest)}",
            )
        )
    return StudyFile(shown, path)


def _relative(manifest: Manifest) -> str:
    return f"Paths are relative to {str(manifest.root)!r}; pass root= for another folder."


def found_cells(manifest: Manifest) -> list[StudyCell]:
    """Find the files of every cell, in the order of datasets and systems.

    Only files of answers are opened, to look for samples.

    Raises:
        InputError: a system has no predictions at all.
    """
    claims = [
        (dataset.name, system.name, run, path)
        for system in manifest.systems
        for dataset in manifest.datasets
        for run, path in _found_runs(manifest, system, dataset).items()
    ]
    # bert.large.1.txt matches {system}.{run}.txt for "bert" too: the shortest run name is the right one.
    shortest: dict[str, int] = {}
    for _, _, run, path in claims:
        shortest[path] = min(len(run), shortest.get(path, len(run)))
    paths_by_system: dict[str, dict[str, dict[str, str]]] = {}
    for dataset_name, system_name, run, path in claims:
        if len(run) == shortest[path]:
            paths_by_system.setdefault(system_name, {}).setdefault(dataset_name, {})[run] = path
    cells = []
    for system in manifest.systems:
        runs = {
            dataset_name: _files(manifest, system, paths)
            for dataset_name, paths in paths_by_system.get(system.name, {}).items()
        }
        if not runs:
            message = f"no file matches the pattern {system.predictions!r} for the system {system.name!r}."
            location = manifest.location("systems", system.key)
            raise InputError(at(location, None, f"{message}\n{_relative(manifest)}"))
        expected = system.runs or {run for files in runs.values() for run in files}
        ordered = sorted(expected, key=natural)
        for dataset in manifest.datasets:
            files = runs.get(dataset.name, {})
            cells.append(StudyCell(dataset.name, system.name, files, tuple(ordered), system.answers))
    order = {dataset.name: at for at, dataset in enumerate(manifest.datasets)}
    return sorted(cells, key=lambda cell: order[cell.dataset])


def _found_runs(manifest: Manifest, system: StudySystem, dataset: StudyDataset) -> dict[str, str]:
    if system.records is not None:
        return {ONLY_RUN: system.predictions}
    return find_runs(manifest.root, system.predictions, dataset.key, system.key)


def _files(manifest: Manifest, system: StudySystem, paths: Mapping[str, str]) -> dict[str, StudyFile]:
    """The file of each run; if a file of answers has several samples, each of them is a run."""
    files: dict[str, StudyFile] = {}
    for run, shown in paths.items():
        path = manifest.root / shown
        samples, chosen = {}, None
        if system.answers is not None:
            source = path if system.records is None else system.records
            field = system.answers.get("response")
            response, how = (
                None if field is None else str(field),
                str(system.answers.get("answers_format", "auto")),
            )
            # The system of a log, or a single sample.
            chosen = chosen_sample(source, system.answers.get("sample"), response, how)
            samples = samples_of(source, response, how, chosen)
        if len(samples) < 2:
            digest = "" if system.records is None else records_digest(system.records)
            files[run] = StudyFile(shown, path, digest, records=system.records)
            continue
        only_file = len(paths) == 1
        files |= {
            sample if only_file else f"{run}.{sample}": StudyFile(
                shown, path, digest, sample if chosen is None else f"{chosen}/{sample}", system.records
            )
            for sample, digest in samples.items()
        }
    return files


def find_runs(root: Path, pattern: str, dataset: str, system: str) -> dict[str, str]:
    """The runs whose files match a pattern, with the path of each relative to `root`.

    `{run}` stands for one or more characters of a file or folder name; if it occurs several times, each
    occurrence must be the same.
    """
    filled = pattern.replace("{dataset}", dataset).replace("{system}", system)
    if "{run}" not in filled:
        return {ONLY_RUN: filled} if (root / filled).is_file() else {}
    candidates: list[tuple[str, str | None]] = [("/" if filled.startswith("/") else "", None)]
    for part in filled.strip("/").split("/"):
        candidates = [match for path, run in candidates for match in _step(root, path, part, run)]
    return {run: path for path, run in candidates if run is not None and (root / path).is_file()}


def _step(root: Path, path: str, part: str, run: str | None) -> list[tuple[str, str | None]]:
    """Extend a path by one part of the pattern: the part itself, or all names in the folder that match it."""
    if "{run}" not in part:
        return [(_joined(path, part), run)]
    if run is not None:
        return [(_joined(path, part.replace("{run}", run)), run)]
    first, *rest = part.split("{run}")
    matcher = re.compile(re.escape(first) + "(?P<run>.+)" + "(?P=run)".join(re.escape(text) for text in rest))
    folder = root / path
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    return [(_joined(path, name), match["run"]) for name in names if (match := matcher.fullmatch(name))]


def _joined(path: str, part: str) -> str:
    return f"{path}{'' if path.endswith('/') or not path else '/'}{part}"
