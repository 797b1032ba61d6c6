"""The plan of a study: the files of every cell, opened and hashed once, and what is missing or equal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from spanwise.errors import InputError, at
from spanwise.formats import File, held, sha256_of
from spanwise.formats._format import ReadKeywords
from spanwise.placement import records_digest, samples_of
from spanwise.studies._manifest import Manifest, StudyDataset, StudySystem, natural

ONLY_RUN = "1"  # the name of the run where a pattern has no {run}


class FoundFile(Struct, frozen=True):
    """A file that is there, by its path as the manifest writes it and where it lies."""

    shown: str
    path: Path
    digest: str | None = None  # a hash of the answers that are meant, where they are known already
    sample: str | None = None  # the sample of a file of answers that is meant
    records: tuple[object, ...] | None = None  # the answers, where no file holds them

    def opened(self, *, hold: bool = True) -> OpenedFile:
        """The file with its bytes, which are read once and hashed; or hashed alone."""
        if self.digest is not None:
            return OpenedFile(StudyFile(self.shown, self.path, self.digest, self.sample, self.records), None)
        if not hold:
            return OpenedFile(StudyFile(self.shown, self.path, sha256_of(self.path)), None)
        file = File(self.path)
        data = file.stored
        return OpenedFile(StudyFile(self.shown, self.path, str(file.sha256)), data)


class StudyFile(Struct, frozen=True):
    """A file by its path as the manifest writes it, where it lies, and what it holds."""

    shown: str
    path: Path
    sha256: str
    sample: str | None = None  # the sample of a file of answers that is meant
    records: tuple[object, ...] | None = None  # the answers, where no file holds them


class OpenedFile(Struct, frozen=True, eq=False):
    """A file and its bytes, to be read without opening it again; None where it is read by its path."""

    file: StudyFile
    data: bytes | None

    def source(self, reading: ReadKeywords) -> File | Path:
        """What readers take."""
        file = self.file
        if self.data is None:
            return file.path
        named = {key: reading[key] for key in ("encoding", "limits") if key in reading}
        return held(file.path, self.data, sha256=file.sha256, **named)


class FoundCell(Struct, frozen=True):
    """One system on one dataset: the files of its runs, and the runs that it should have."""

    dataset: str
    system: str
    runs: Mapping[str, FoundFile]
    expected: tuple[str, ...]
    answers: Mapping[str, object] | None = None

    def opened(self, *, hold: bool = True) -> OpenedCell:
        """The cell with the bytes of its files, where they are to be held, each content once."""
        runs: dict[str, StudyFile] = {}
        data: dict[str, bytes | None] = {}
        identical: dict[str, str] = {}
        missing = []
        for run in self.expected:
            if run not in self.runs:
                missing.append(run)
                continue
            one = self.runs[run].opened(hold=hold)
            same = next((name for name, other in runs.items() if other.sha256 == one.file.sha256), None)
            if same is None:
                runs[run], data[run] = one.file, one.data
            else:
                identical[run] = same
        cell = StudyCell(self.dataset, self.system, runs, identical, tuple(missing), self.answers)
        return OpenedCell(cell, {run: OpenedFile(file, data[run]) for run, file in runs.items()})


class StudyCell(Struct, frozen=True):
    """One system on one dataset with all its runs: what is computed, kept and recomputed as a whole."""

    dataset: str
    system: str
    runs: Mapping[str, StudyFile]  # each content once
    identical: Mapping[str, str]  # a run whose file equals that of another, and that other
    missing: tuple[str, ...]  # runs that the system has on other datasets
    answers: Mapping[str, object] | None = None  # how its answers without offsets are placed


class OpenedCell(Struct, frozen=True, eq=False):
    """A cell with the bytes of its files."""

    cell: StudyCell
    runs: Mapping[str, OpenedFile]


class OpenedDataset(Struct, frozen=True, eq=False):
    """A dataset with the bytes of its files, where they are held."""

    dataset: StudyDataset
    test: OpenedFile
    train: tuple[OpenedFile, ...]
    vocabulary: OpenedFile | None


class FoundDataset(Struct, frozen=True, eq=False):
    """A dataset and its files."""

    dataset: StudyDataset
    test: FoundFile
    train: tuple[FoundFile, ...]
    vocabulary: FoundFile | None

    def opened(self, *, hold: bool = True) -> OpenedDataset:
        """The dataset with the bytes of its files, where they are to be held; known words always are."""
        return OpenedDataset(
            self.dataset,
            self.test.opened(hold=hold),
            tuple(one.opened(hold=hold) for one in self.train),
            None if self.vocabulary is None else self.vocabulary.opened(),
        )


class Plan(Struct, frozen=True):
    """All files of a study: gold and training files of each dataset, and its cells in sorted order."""

    test: Mapping[str, StudyFile]
    train: Mapping[str, tuple[StudyFile, ...]]
    vocabulary: Mapping[str, StudyFile]
    cells: tuple[StudyCell, ...]

    @property
    def missing(self) -> list[dict[str, str]]:
        """The runs that are not there, as rows of the study document."""
        return [
            {"dataset": cell.dataset, "system": cell.system, "run": run}
            for cell in self.cells
            for run in cell.missing
        ]

    @property
    def identical(self) -> list[dict[str, str]]:
        """The runs that are copies of another run of the same system and are not counted again."""
        return [
            {"dataset": cell.dataset, "system": cell.system, "run": run, "same_as": other}
            for cell in self.cells
            for run, other in sorted(cell.identical.items(), key=lambda item: natural(item[0]))
        ]

    @property
    def shared(self) -> list[dict[str, object]]:
        """Prediction files that two systems have in common, which makes their scores equal by copying."""
        seen: dict[tuple[str, str], list[list[str]]] = {}
        for cell in self.cells:
            for run, file in cell.runs.items():
                seen.setdefault((cell.dataset, file.sha256), []).append([cell.system, run])
        return [{"dataset": dataset, "runs": runs} for (dataset, _), runs in seen.items() if len(runs) > 1]


def shared_runs(row: Mapping[str, Any]) -> str:
    """The systems and runs of one row of `Plan.shared`, in words.

    Examples:
        >>> shared_runs({"dataset": "d", "runs": [["a", "1"], ["b", "2"]]})
        'a (run 1) and b (run 2)'
    """
    return " and ".join(f"{system} (run {run})" for system, run in row["runs"])


def make_plan(manifest: Manifest) -> Plan:
    """Find and hash every file of the study.

    Raises:
        InputError: where a gold or training file is missing, or a system has no predictions at all.
    """
    datasets = [found_dataset(manifest, dataset).opened(hold=False) for dataset in manifest.datasets]
    return plan_of(datasets, [one.opened(hold=False).cell for one in found_cells(manifest)])


def plan_of(datasets: Sequence[OpenedDataset], cells: Sequence[StudyCell]) -> Plan:
    """The plan of a study whose files were opened."""
    return Plan(
        test={dataset.dataset.name: dataset.test.file for dataset in datasets},
        train={dataset.dataset.name: tuple(file.file for file in dataset.train) for dataset in datasets},
        vocabulary={
            dataset.dataset.name: dataset.vocabulary.file
            for dataset in datasets
            if dataset.vocabulary is not None
        },
        cells=tuple(cells),
    )


def found_dataset(manifest: Manifest, dataset: StudyDataset) -> FoundDataset:
    """The files of a dataset, which stay closed.

    Raises:
        InputError: one of them does not exist.
    """
    words = dataset.vocabulary
    return FoundDataset(
        dataset,
        _test(manifest, dataset),
        tuple(_file(manifest, dataset, "train", one) for one in dataset.train),
        None if words is None else _file(manifest, dataset, "vocabulary", words),
    )


def _test(manifest: Manifest, dataset: StudyDataset) -> FoundFile:
    """The gold file, or a gold annotation in memory by what it holds."""
    gold = dataset.gold
    if gold is None:
        return _file(manifest, dataset, "test", dataset.test)
    texts = gold.corpus.texts
    words = [
        gold.corpus.words(number) if texts is None else texts[number] for number in range(len(gold.corpus))
    ]
    documents = gold.corpus.documents
    held = [*words, list(gold.mentions.rows()), None if documents is None else documents.tolist()]
    return FoundFile(dataset.test, Path(dataset.test), records_digest(held))


def _file(manifest: Manifest, dataset: StudyDataset, key: str, shown: str) -> FoundFile:
    path = manifest.root / shown
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        place = manifest.place("datasets", dataset.name, key)
        raise InputError(
            at(
                place,
                None,
                f"the file {str(path)!r} of the dataset {dataset.name!r} {what}.\n{_relative(manifest)}",
            )
        )
    return FoundFile(shown, path)


def _relative(manifest: Manifest) -> str:
    return f"Paths are relative to {str(manifest.root)!r}; pass root= for another folder."


def found_cells(manifest: Manifest) -> list[FoundCell]:
    """The files of every cell, in the order of datasets and systems; files of annotations stay closed.

    Raises:
        InputError: a system has no predictions at all.
    """
    claims = [
        (dataset.name, system.name, run, path)
        for system in manifest.systems
        for dataset in manifest.datasets
        for run, path in _found_runs(manifest, system, dataset).items()
    ]
    # bert.large.1.txt fits {system}.{run}.txt for "bert" too: the shortest name of a run is the right one.
    shortest: dict[str, int] = {}
    for _, _, run, path in claims:
        shortest[path] = min(len(run), shortest.get(path, len(run)))
    found: dict[str, dict[str, dict[str, str]]] = {}
    for dataset, system, run, path in claims:
        if len(run) == shortest[path]:
            found.setdefault(system, {}).setdefault(dataset, {})[run] = path
    cells = []
    for one in manifest.systems:
        runs = {dataset: _files(manifest, one, paths) for dataset, paths in found.get(one.name, {}).items()}
        if not runs:
            message = f"no file matches the pattern {one.predictions!r} for the system {one.name!r}."
            place = manifest.place("systems", one.name)
            raise InputError(at(place, None, f"{message}\n{_relative(manifest)}"))
        expected = one.runs or {run for there in runs.values() for run in there}
        ordered = sorted(expected, key=natural)
        for part in manifest.datasets:
            there = runs.get(part.name, {})
            cells.append(FoundCell(part.name, one.name, there, tuple(ordered), one.answers))
    return sorted(cells, key=lambda cell: (natural(cell.dataset), natural(cell.system)))


def _found_runs(manifest: Manifest, system: StudySystem, dataset: StudyDataset) -> dict[str, str]:
    if system.records is not None:
        return {ONLY_RUN: system.predictions}
    return find_runs(manifest.root, system.predictions, dataset.name, system.name)


def _files(manifest: Manifest, system: StudySystem, paths: Mapping[str, str]) -> dict[str, FoundFile]:
    """The files of runs; several samples in one file of answers are runs too."""
    files: dict[str, FoundFile] = {}
    for run, shown in paths.items():
        path = manifest.root / shown
        samples = {}
        if system.answers is not None and system.answers.get("sample") is None:
            samples = samples_of(path if system.records is None else system.records)
        if len(samples) < 2:
            digest = None if system.records is None else records_digest(system.records)
            files[run] = FoundFile(shown, path, digest, records=system.records)
            continue
        alone = len(paths) == 1
        files |= {
            sample if alone else f"{run}.{sample}": FoundFile(shown, path, digest, sample, system.records)
            for sample, digest in samples.items()
        }
    return files


def find_runs(root: Path, pattern: str, dataset: str, system: str) -> dict[str, str]:
    """The runs whose files fit a pattern, and the path of each relative to `root`.

    `{run}` stands for one or more characters of a file or folder name; the same run everywhere.
    """
    filled = pattern.replace("{dataset}", dataset).replace("{system}", system)
    if "{run}" not in filled:
        return {ONLY_RUN: filled} if (root / filled).is_file() else {}
    candidates: list[tuple[str, str | None]] = [("/" if filled.startswith("/") else "", None)]
    for part in filled.strip("/").split("/"):
        candidates = [found for place, run in candidates for found in _step(root, place, part, run)]
    return {run: path for path, run in candidates if run is not None and (root / path).is_file()}


def _step(root: Path, place: str, part: str, run: str | None) -> list[tuple[str, str | None]]:
    """One part of a path further: itself, or all names that fit it."""
    if "{run}" not in part:
        return [(_joined(place, part), run)]
    if run is not None:
        return [(_joined(place, part.replace("{run}", run)), run)]
    first, *rest = part.split("{run}")
    fits = re.compile(re.escape(first) + "(?P<run>.+)" + "(?P=run)".join(re.escape(text) for text in rest))
    folder = root / place
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    return [(_joined(place, name), match["run"]) for name in names if (match := fits.fullmatch(name))]


def _joined(place: str, part: str) -> str:
    return f"{place}{'' if place.endswith('/') or not place else '/'}{part}"
