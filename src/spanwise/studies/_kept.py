"""What a study keeps: results named by a hash of their inputs, and predictions of taggers that it trains.

What was trained is kept beside the manifest with a hash of what it was made from: data, settings and
version. It is trained again only where that changed, and a study that was interrupted goes on with what is
missing. Trainers run in other processes, so the core never loads them, and one that dies does not end the
study.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from spanwise import __version__
from spanwise.document import written_out
from spanwise.errors import ChoiceError, InputError, many
from spanwise.formats import make_folder, sha256_of, write_atomically
from spanwise.studies._manifest import Manifest, StudyDataset, StudySystem

SUFFIX = ".json.z"
_SEAL = 32  # bytes of a keyed hash, and of its key

RESOURCES = ("vectors", "encoder", "features", "flair")  # options of taggers that name files or folders

T = TypeVar("T")


def key_of(*parts: object) -> str:
    """The name of a result: a hash of everything it depends on, as canonical JSON.

    Examples:
        >>> key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
        True
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class Cache(Struct, frozen=True):
    """A folder of results; a file is there whole or not at all, and a damaged one counts as missing."""

    folder: Path

    def get(self, key: str, kind: type[T]) -> T | None:
        """What was kept under `key`, or None; an entry that this user's spanwise did not write is ignored."""
        try:
            kept = self._path(key).read_bytes()
            seal, data = kept[:_SEAL], kept[_SEAL:]
            if not hmac.compare_digest(seal, _seal(self._secret.read_bytes(), key, data)):
                return None
            return msgspec.json.decode(zlib.decompress(data), type=kind)
        except (OSError, zlib.error, ValueError, RecursionError):
            return None

    def put(self, key: str, value: Struct) -> bool:
        """Keep `value` under `key`; False where the folder cannot be written to, which is not an error."""
        data = zlib.compress(msgspec.json.encode(value, enc_hook=written_out), 6)
        try:
            self.prepare()
            write_atomically(self._path(key), _seal(self._secret.read_bytes(), key, data) + data)
        except (OSError, InputError):
            return False
        return True

    def prepare(self) -> None:
        """Make the folder and the key of its seals, before several processes would each make one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            handle = os.open(self._secret, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as stream:
                stream.write(secrets.token_bytes(_SEAL))

    @property
    def _secret(self) -> Path:
        """The file with the key of the seals, which only this user can read."""
        return self.folder / ".key"

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{SUFFIX}"


def _seal(secret: bytes, key: str, data: bytes) -> bytes:
    """A keyed hash of an entry and its name."""
    return hmac.digest(secret, key.encode("ascii") + data, "sha256")


def default_folder(of: str = "studies") -> Path:
    """Where results are kept unless told otherwise: the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "spanwise" / of


Progress = Callable[[str], None]


class TrainingRun(Struct, frozen=True):
    """One run to be trained: what it is made from, and the file that it leaves."""

    dataset: str
    system: str
    run: str
    key: str
    files: dict[str, str]  # train, dev, test
    output: Path
    job: dict[str, Any]
    command: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The run in words."""
        return f"{self.dataset} × {self.system}, run {self.run}"

    @property
    def note(self) -> Path:
        """The file that says what the predictions were made from."""
        return self.output.with_suffix(".json")

    def is_done(self) -> bool:
        """Whether the predictions are there and were made from the same data, settings and version."""
        try:
            held = json.loads(self.note.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return self.output.is_file() and held.get("key") == self.key


def train_systems(manifest: Manifest, *, progress: Progress, allow_commands: bool) -> Manifest:
    """Train what is missing; the manifest without systems of which no run could be trained.

    Raises:
        ChoiceError: a system names a command, and commands are not allowed.
        InputError: a dataset has no training or dev file.
    """
    systems = [system for system in manifest.systems if system.is_trained]
    if not systems:
        return manifest
    foreign = next((system for system in systems if system.command), None)
    if foreign is not None and not allow_commands:
        raise ChoiceError(
            f"{manifest.place('systems', foreign.name)}: the system {foreign.name!r} is trained by a command "
            f"({foreign.command[0]}).\nIf you trust the manifest, allow it with --allow-commands."
        )
    contents = _Contents()
    wanted = [
        training
        for system in systems
        for dataset in manifest.datasets
        for training in _trainings(manifest, system, dataset, contents)
    ]
    missing = [one for one in wanted if not one.is_done()]
    if len(missing) < len(wanted):
        progress(f"{len(wanted) - len(missing)} of {len(wanted)} runs are trained already")
    _train_taggers([one for one in missing if not one.command], progress)
    for one in missing:
        if one.command:
            _run_command(one, manifest.root, progress)
    there = {one.system for one in wanted if one.output.is_file() and one.is_done()}
    lost = [system.name for system in systems if system.name not in there]
    for name in lost:
        progress(f"no run of {name} could be trained; it is left out")
    kept = tuple(system for system in manifest.systems if system.name not in lost)
    if not kept:
        raise InputError(f"{manifest.path}: no system could be trained.\nSee the messages above.")
    pairs = tuple(pair for pair in manifest.pairs if not {pair.first, pair.second} & set(lost))
    return replace(manifest, systems=kept, pairs=pairs)


class _Contents:
    """The hashes of files and folders, each read once for all runs of a study."""

    def __init__(self) -> None:
        self._held: dict[Path, list[tuple[str, str]]] = {}

    def of(self, path: Path) -> list[tuple[str, str]]:
        """Name and hash of a file, or of every file in a folder; nothing where there is neither."""
        if path not in self._held:
            try:
                files = sorted(path.iterdir()) if path.is_dir() else [path]
                self._held[path] = [(file.name, sha256_of(file)) for file in files if file.is_file()]
            except OSError:
                self._held[path] = []
        return self._held[path]

    def code(self, system: StudySystem, root: Path) -> list[tuple[str, str]]:
        """What trains a system: the files that its command names, or our own taggers."""
        if system.command:
            return [one for part in system.command for one in self.of(root / part) if (root / part).is_file()]
        return [one for one in self.of(Path(__file__).parents[1] / "taggers") if one[0].endswith(".py")]


def _trainings(
    manifest: Manifest, system: StudySystem, dataset: StudyDataset, contents: _Contents
) -> list[TrainingRun]:
    files = {}
    for role, listed in (("train", dataset.train[:1]), ("dev", (dataset.dev,)), ("test", (dataset.test,))):
        if not listed or listed[0] is None:
            place = manifest.place("datasets", dataset.name)
            raise InputError(
                f"{place}: the dataset {dataset.name!r} has no {role} file, but {system.name!r} is trained.\n"
                f'Add: {role} = "PATH"'
            )
        path = manifest.root / listed[0]
        if not path.is_file():
            raise InputError(
                f"{manifest.place('datasets', dataset.name, role)}: there is no file {str(path)!r}.\n"
                "Check the path."
            )
        files[role] = str(path)
    options = {key: value for key, value in (system.train or {}).items() if key != "model"}
    model = str((system.train or {}).get("model", system.name))
    named = {
        key: manifest.root / value
        for key, value in options.items()
        if key in RESOURCES and isinstance(value, str) and (manifest.root / value).exists()
    }
    made_from = {
        "code": contents.code(system, manifest.root),
        **{role: contents.of(Path(path)) for role, path in files.items()},
        **{key: contents.of(path) for key, path in named.items()},
    }
    placed = {**options, **{key: str(path.absolute()) for key, path in named.items()}}
    reading = {key: value for key, value in dataset.reading.items() if key != "align"}
    runs = system.runs or ("1",)
    if model == "crf" and options.get("algorithm") == "lbfgs":
        runs = runs[:1]  # deterministic: one run, whatever the seed
    made = []
    for run in runs:
        if not run.isdecimal():
            raise InputError(
                f"{manifest.place('runs')}: the run {run!r} of {system.name!r} is not a number.\n"
                "Runs that are trained are named by their seeds."
            )
        key = key_of("trained", __version__, model, options, list(system.command), reading, made_from, run)
        pattern = system.predictions.replace("{dataset}", dataset.name).replace("{system}", system.name)
        output = manifest.root / pattern.replace("{run}", run)
        job = {"model": model, "seed": int(run), "options": placed, "reading": reading}
        made.append(TrainingRun(dataset.name, system.name, run, key, files, output, job, system.command))
    return made


def _train_taggers(missing: list[TrainingRun], progress: Progress) -> None:
    """Train taggers in one other process, which shares data between runs; each is kept as it ends."""
    left = missing
    while left:
        progress(f"{many(len(left), 'run')} to train")
        _train_in_process(left, progress)
        rest = [one for one in left if not one.is_done() and not one.note.with_suffix(".failed").is_file()]
        if rest and len(rest) == len(left):
            # The process died before its first run ended: leave that run out and go on with the others.
            progress(f"{rest[0].name}: the trainer died")
            rest = rest[1:]
        left = rest
    for one in missing:
        one.note.with_suffix(".failed").unlink(missing_ok=True)


def _train_in_process(trainings: list[TrainingRun], progress: Progress) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "jobs.json"
        jobs = []
        for training in trainings:
            make_folder(training.output.parent)
            training.note.with_suffix(".failed").unlink(missing_ok=True)
            place = {"output": str(training.output.absolute()), "key": training.key, "name": training.name}
            paths = {role: str(Path(path).absolute()) for role, path in training.files.items()}
            jobs.append({**training.job, **paths, **place})
        file.write_text(json.dumps(jobs), encoding="utf-8")
        command = [sys.executable, "-P", "-m", "spanwise.taggers", str(file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
            for line in process.stdout or ():
                progress(line.rstrip())


def _run_command(training: TrainingRun, root: Path, progress: Progress) -> None:
    """Run an external trainer, without a shell; a failure is reported, and the study goes on."""
    make_folder(training.output.parent)
    part = training.output.with_name(f".{training.output.name}")
    values = {**training.files, "seed": training.run, "run": training.run, "dataset": training.dataset}
    values = {
        name: str(Path(text).absolute()) if name in training.files else text for name, text in values.items()
    }
    values["out"] = str(part.absolute())
    filled = []
    for text in training.command:
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
        filled.append(text)
    try:
        ended = subprocess.run(
            filled, cwd=root, capture_output=True, text=True, errors="replace", check=False
        )
        said = ended.stderr.strip().splitlines()[-1:] if ended.returncode else []
        wrong = f"exit status {ended.returncode}" if ended.returncode else ""
    except OSError as error:
        said, wrong = [], error.strerror or "it cannot be run"
    if not wrong and not part.is_file():
        wrong = "it wrote no file {out}"
    if wrong:
        part.unlink(missing_ok=True)
        progress(f"{training.name}: the command failed, {': '.join([wrong, *said])}")
        return
    part.replace(training.output)
    write_atomically(training.note, json.dumps({"key": training.key}) + "\n")
    progress(f"{training.name}: trained")
