"""What a study will read: the files of every cell, which runs are there, missing or identical."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from spanwise.errors import InputError, at
from spanwise.formats import sha256_of
from spanwise.placement import records_digest, samples_of
from spanwise.studies._manifest import Dataset, Manifest, System

ONLY_RUN = "1"  # the name of the run where a pattern has no {run}


class File(Struct, frozen=True):
    """A file by its path as the manifest writes it, where it lies, and what it holds."""

    shown: str
    path: Path
    sha256: str
    sample: str | None = None  # the sample of a file of answers that is meant
    records: tuple[Any, ...] | None = None  # the answers, where no file holds them


class Cell(Struct, frozen=True):
    """One system on one dataset with all its runs: what is computed, kept and recomputed as a whole."""

    dataset: str
    system: str
    runs: Mapping[str, File]  # each content once
    identical: Mapping[str, str]  # a run whose file equals that of another, and that other
    missing: tuple[str, ...]  # runs that the system has on other datasets
    answers: Mapping[str, Any] | None = None  # how its answers without offsets are placed


class Plan(Struct, frozen=True):
    """All files of a study: gold and training files of each dataset, and its cells in sorted order."""

    test: Mapping[str, File]
    train: Mapping[str, tuple[File, ...]]
    vocabulary: Mapping[str, File]
    cells: tuple[Cell, ...]

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


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """A key that puts run 2 before run 10.

    Examples:
        >>> sorted(["10", "2", "a"], key=natural)
        ['2', '10', 'a']
    """
    parts = re.findall(r"\d+|\D+", name)
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in parts)


def make_plan(manifest: Manifest) -> Plan:
    """Find and hash every file of the study.

    Raises:
        InputError: where a gold or training file is missing, or a system has no predictions at all.
    """
    test, train, vocabulary = {}, {}, {}
    for dataset in manifest.datasets:
        test[dataset.name] = _test(manifest, dataset)
        train[dataset.name] = tuple(_file(manifest, dataset, "train", one) for one in dataset.train)
        if dataset.vocabulary is not None:
            vocabulary[dataset.name] = _file(manifest, dataset, "vocabulary", dataset.vocabulary)
    cells = _cells(manifest)
    return Plan(test, train, vocabulary, tuple(sorted(cells, key=lambda cell: (cell.dataset, cell.system))))


def _test(manifest: Manifest, dataset: Dataset) -> File:
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
    return File(dataset.test, Path(dataset.test), records_digest(held))


def _file(manifest: Manifest, dataset: Dataset, key: str, shown: str) -> File:
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
    return File(shown, path, sha256_of(path))


def _relative(manifest: Manifest) -> str:
    return f"Paths are relative to {str(manifest.root)!r}; pass root= for another folder."


def _cells(manifest: Manifest) -> list[Cell]:
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
            message = f"no file fits the pattern {one.predictions!r} for the system {one.name!r}."
            place = manifest.place("systems", one.name)
            raise InputError(at(place, None, f"{message}\n{_relative(manifest)}"))
        expected = one.runs or {run for there in runs.values() for run in there}
        ordered = sorted(expected, key=natural)
        for part in manifest.datasets:
            cells.append(_cell(part.name, one, runs.get(part.name, {}), ordered))
    return cells


def _found_runs(manifest: Manifest, system: System, dataset: Dataset) -> dict[str, str]:
    if system.records is not None:
        return {ONLY_RUN: system.predictions}
    return find_runs(manifest.root, system.predictions, dataset.name, system.name)


def _cell(dataset: str, system: System, runs: Mapping[str, File], expected: Iterable[str]) -> Cell:
    kept: dict[str, File] = {}
    identical: dict[str, str] = {}
    missing = []
    for run in expected:
        if run not in runs:
            missing.append(run)
            continue
        file = runs[run]
        same = next((name for name, other in kept.items() if other.sha256 == file.sha256), None)
        if same is None:
            kept[run] = file
        else:
            identical[run] = same
    return Cell(dataset, system.name, kept, identical, tuple(missing), system.answers)


def _files(manifest: Manifest, system: System, paths: Mapping[str, str]) -> dict[str, File]:
    """The files of runs; several samples in one file of answers are runs too."""
    files: dict[str, File] = {}
    for run, shown in paths.items():
        path = manifest.root / shown
        samples = {}
        if system.answers is not None and system.answers.get("sample") is None:
            samples = samples_of(path if system.records is None else system.records)
        if len(samples) < 2:
            digest = sha256_of(path) if system.records is None else records_digest(system.records)
            files[run] = File(shown, path, digest, records=system.records)
            continue
        alone = len(paths) == 1
        files |= {
            sample if alone else f"{run}.{sample}": File(shown, path, digest, sample, system.records)
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
