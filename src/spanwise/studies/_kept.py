"""The cache of a study's results, by a hash of their inputs, and the training of taggers for a study.

Predictions of trained taggers are stored next to the manifest, with a hash of everything they depend on:
data, settings and version. A tagger is trained again only if one of these changed, so an interrupted study
resumes with what is missing. Trainers run in other processes: the core never imports them, and a crash does
not end the study.
"""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import json
import os
import secrets
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from spanwise import __version__
from spanwise.document import to_encodable
from spanwise.errors import ChoiceError, InputError, MissingExtra, many
from spanwise.formats import make_folder, sha256_of, write_atomically
from spanwise.studies._manifest import Manifest, StudyDataset, StudySystem

SUFFIX = ".json.z"
_SEAL = 32  # the size in bytes of a keyed hash and of its key

RESOURCES = ("vectors", "encoder", "features", "flair")  # tagger options that may name files or folders

T = TypeVar("T")


def key_of(*parts: object) -> str:
    """The cache key of a result: a hash of everything it depends on, as canonical JSON.

    Examples:
        >>> key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
        True
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class Cache(Struct, frozen=True):
    """A folder of results; files are written atomically, and a damaged file counts as missing."""

    folder: Path

    def get(self, key: str, kind: type[T]) -> T | None:
        """The value stored under `key`, or None; entries that were not written by this user are ignored."""
        try:
            entry = self._path(key).read_bytes()
            seal, data = entry[:_SEAL], entry[_SEAL:]
            if not hmac.compare_digest(seal, _seal(self._secret.read_bytes(), key, data)):
                return None
            return msgspec.json.decode(zlib.decompress(data), type=kind)
        except (OSError, zlib.error, ValueError, RecursionError):
            return None

    def put(self, key: str, value: object) -> bool:
        """Store `value` under `key`; return False, without an error, if the folder is not writable."""
        data = zlib.compress(msgspec.json.encode(value, enc_hook=to_encodable), 6)
        try:
            self.prepare()
            write_atomically(self._path(key), _seal(self._secret.read_bytes(), key, data) + data)
        except (OSError, InputError):
            return False
        return True

    def prepare(self) -> None:
        """Create the folder and its secret key, before several processes try to do so at once."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            handle = os.open(self._secret, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as stream:
                stream.write(secrets.token_bytes(_SEAL))

    @property
    def _secret(self) -> Path:
        """The file with the secret key, which only this user can read."""
        return self.folder / ".key"

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{SUFFIX}"


def _seal(secret: bytes, key: str, data: bytes) -> bytes:
    """A keyed hash of an entry and its key."""
    return hmac.digest(secret, key.encode("ascii") + data, "sha256")


def default_folder(of: str = "studies") -> Path:
    """The default cache folder, in the user's cache directory."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "spanwise" / of


Progress = Callable[[str], None]


class TrainingRun(Struct, frozen=True):
    """A run to train: the data and settings it depends on, and the file to write its predictions to."""

    dataset: str
    system: str
    run: str
    key: str
    files: dict[str, str]  # train, dev, test
    output: Path
    job: Mapping[str, object]
    command: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The run, as shown in messages."""
        return f"{self.dataset} × {self.system}, run {self.run}"

    @property
    def note(self) -> Path:
        """The file with the hash of everything that the predictions depend on."""
        return self.output.with_suffix(".json")

    def is_done(self) -> bool:
        """Whether the predictions exist and were made from the same data, settings and version."""
        try:
            note = json.loads(self.note.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return self.output.is_file() and note.get("key") == self.key


def train_systems(manifest: Manifest, *, progress: Progress, allow_commands: bool) -> Manifest:
    """Train all missing runs, and return the manifest without systems for which no run could be trained.

    Raises:
        ChoiceError: a system is trained by a command, and commands are not allowed.
        InputError: a dataset has no training or development file, or no system could be trained.
    """
    systems = [system for system in manifest.systems if system.is_trained]
    if not systems:
        return manifest
    external = next((system for system in systems if system.command), None)
    if external is not None and not allow_commands:
        raise ChoiceError(
            f"{manifest.location('systems', external.key)}: the system {external.name!r} is trained by "
            f"a command ({external.command[0]}).\nIf you trust the manifest, allow it with --allow-commands."
        )
    contents = _Contents()
    trainings = [
        training
        for system in systems
        for dataset in manifest.datasets
        for training in _trainings(manifest, system, dataset, contents)
    ]
    missing = [training for training in trainings if not training.is_done()]
    if len(missing) < len(trainings):
        progress(f"{len(trainings) - len(missing)} of {len(trainings)} runs are trained already")
    _train_taggers([training for training in missing if not training.command], progress)
    for training in missing:
        if training.command:
            _run_command(training, manifest.root, progress)
    trained = {training.system for training in trainings if training.output.is_file() and training.is_done()}
    failed = [system.name for system in systems if system.name not in trained]
    for name in failed:
        progress(f"no run of {name} could be trained; it is left out")
    usable = tuple(system for system in manifest.systems if system.name not in failed)
    if not usable:
        raise InputError(f"{manifest.path}: no system could be trained.\nSee the messages above.")
    pairs = tuple(pair for pair in manifest.pairs if not {pair.first, pair.second} & set(failed))
    return replace(manifest, systems=usable, pairs=pairs)


class _Contents:
    """The hashes of files and folders, each of which is read only once per study."""

    def __init__(self) -> None:
        self._hashes: dict[Path, list[tuple[str, str]]] = {}

    def of(self, path: Path) -> list[tuple[str, str]]:
        """The name and hash of a file, or of every file in a folder; empty if the path does not exist."""
        if path not in self._hashes:
            try:
                files = sorted(path.iterdir()) if path.is_dir() else [path]
                self._hashes[path] = [(file.name, sha256_of(file)) for file in files if file.is_file()]
            except OSError:
                self._hashes[path] = []
        return self._hashes[path]

    def code(self, system: StudySystem, root: Path) -> list[tuple[str, str]]:
        """The code that trains a system: the files in its command, or the built-in taggers."""
        if system.command:
            return [
                entry for part in system.command for entry in self.of(root / part) if (root / part).is_file()
            ]
        return [entry for entry in self.of(_taggers()) if entry[0].endswith(".py")]


def _taggers() -> Path:
    """The folder with the code of the taggers, which are a package of their own."""
    found = importlib.util.find_spec("spanwise_taggers")
    if found is None or found.origin is None:
        raise MissingExtra.package("a study that trains taggers", "spanwise-taggers")
    return Path(found.origin).parent


def _trainings(
    manifest: Manifest, system: StudySystem, dataset: StudyDataset, contents: _Contents
) -> list[TrainingRun]:
    files = {}
    for role, listed in (("train", dataset.train[:1]), ("dev", (dataset.dev,)), ("test", (dataset.test,))):
        if not listed or listed[0] is None:
            location = manifest.location("datasets", dataset.key)
            raise InputError(
                f"{location}: the dataset {dataset.name!r} has no {role} file, "
                f"but {system.name!r} is trained.\n"
                f'Add: {role} = "PATH"'
            )
        path = manifest.root / listed[0]
        if not path.is_file():
            raise InputError(
                f"{manifest.location('datasets', dataset.key, role)}: there is no file {str(path)!r}.\n"
                "Check the path."
            )
        files[role] = str(path)
    options = {key: value for key, value in (system.train or {}).items() if key != "model"}
    model = str((system.train or {}).get("model", system.key))
    resources = {
        key: manifest.root / value
        for key, value in options.items()
        if key in RESOURCES and isinstance(value, str) and (manifest.root / value).exists()
    }
    hashes = {
        "code": contents.code(system, manifest.root),
        **{role: contents.of(Path(path)) for role, path in files.items()},
        **{key: contents.of(path) for key, path in resources.items()},
    }
    resolved = {**options, **{key: str(path.absolute()) for key, path in resources.items()}}
    reading = {key: value for key, value in dataset.reading.items() if key != "align"}
    runs = system.runs or ("1",)
    if model == "crf" and options.get("algorithm") == "lbfgs":
        runs = runs[:1]  # training is deterministic, so the seed makes no difference
    trainings = []
    for run in runs:
        if not run.isdecimal():
            raise InputError(
                f"{manifest.location('runs')}: the run {run!r} of {system.name!r} is not a number.\n"
                "Runs that are trained are named by their seeds."
            )
        key = key_of("trained", __version__, model, options, list(system.command), reading, hashes, run)
        pattern = system.predictions.replace("{dataset}", dataset.key).replace("{system}", system.key)
        output = manifest.root / pattern.replace("{run}", run)
        job = {"model": model, "seed": int(run), "options": resolved, "reading": reading}
        trainings.append(TrainingRun(dataset.name, system.name, run, key, files, output, job, system.command))
    return trainings


def _train_taggers(missing: list[TrainingRun], progress: Progress) -> None:
    """Train taggers in a single subprocess, which shares data between runs and saves each run as it ends."""
    pending = missing
    while pending:
        progress(f"{many(len(pending), 'run')} to train")
        _train_in_process(pending, progress)
        rest = [
            training
            for training in pending
            if not training.is_done() and not training.note.with_suffix(".failed").is_file()
        ]
        if rest and len(rest) == len(pending):
            # The process died during its first run: skip that run and continue with the others.
            progress(f"{rest[0].name}: the trainer died")
            rest = rest[1:]
        pending = rest
    for training in missing:
        training.note.with_suffix(".failed").unlink(missing_ok=True)


def _train_in_process(trainings: list[TrainingRun], progress: Progress) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "jobs.json"
        jobs = []
        for training in trainings:
            make_folder(training.output.parent)
            training.note.with_suffix(".failed").unlink(missing_ok=True)
            target = {"output": str(training.output.absolute()), "key": training.key, "name": training.name}
            paths = {role: str(Path(path).absolute()) for role, path in training.files.items()}
            jobs.append({**training.job, **paths, **target})
        file.write_text(json.dumps(jobs), encoding="utf-8")
        command = [sys.executable, "-P", "-m", "spanwise_taggers", str(file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
            for line in process.stdout or ():
                progress(line.rstrip())


def _run_command(training: TrainingRun, root: Path, progress: Progress) -> None:
    """Run an external trainer without a shell; a failure is reported, and the study continues."""
    make_folder(training.output.parent)
    part = training.output.with_name(f".{training.output.name}")
    values = {**training.files, "seed": training.run, "run": training.run, "dataset": training.dataset}
    values = {
        name: str(Path(text).absolute()) if name in training.files else text for name, text in values.items()
    }
    values["out"] = str(part.absolute())
    arguments = []
    for text in training.command:
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
        arguments.append(text)
    try:
        completed = subprocess.run(
            arguments, cwd=root, capture_output=True, text=True, errors="replace", check=False
        )
        last_line = completed.stderr.strip().splitlines()[-1:] if completed.returncode else []
        problem = f"exit status {completed.returncode}" if completed.returncode else ""
    except OSError as error:
        last_line, problem = [], error.strerror or "it cannot be run"
    if not problem and not part.is_file():
        problem = "it wrote no file {out}"
    if problem:
        part.unlink(missing_ok=True)
        progress(f"{training.name}: the command failed, {': '.join([problem, *last_line])}")
        return
    part.replace(training.output)
    write_atomically(training.note, json.dumps({"key": training.key}) + "\n")
    progress(f"{training.name}: trained")
