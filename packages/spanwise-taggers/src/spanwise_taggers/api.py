"""Train taggers and tag text: the functions that the command line and studies call."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import Struct, field

from spanwise import __version__
from spanwise.columns import Ints
from spanwise.corpus import Annotation, Mentions
from spanwise.errors import ChoiceError, InputError, MissingExtra
from spanwise.formats import ReadKeywords, read
from spanwise_taggers.encoding import check_corpus, mentions_of
from spanwise_taggers.naming import Model, parse
from spanwise_taggers.scoring import f1_of, with_scores
from spanwise_taggers.settings import TaggerSettings, settings_for

if TYPE_CHECKING:
    import torch

    from spanwise_taggers.building import Material, TaggerDefinition
    from spanwise_taggers.network import Tagger
    from spanwise_taggers.training import TrainingOutcome
    from spanwise_taggers.vectors import Matrix

AT_ONCE = {"cuda": 12, "cpu": 1}  # runs that are interleaved
WINDOWS = (
    "context",
    "test_context",
    "mode",
    "cross",
)  # settings that do not affect the arrays of the data


class TimeLeft:
    """How many jobs have ended, and an estimate of the time left for the others."""

    def __init__(self, jobs: int) -> None:
        self.jobs, self.ended, self.began = jobs, 0, time.perf_counter()

    def after_one(self) -> str:
        """The progress message after another job has ended; empty after the last one."""
        self.ended += 1
        if self.ended == self.jobs:
            return ""
        rest = (time.perf_counter() - self.began) / self.ended * (self.jobs - self.ended)
        return f"; {self.ended} of {self.jobs}, about {rest:.0f} s left"


class Job(Struct, frozen=True):
    """A tagger to train: a model, its data and its seed. Jobs with equal data and options share arrays."""

    model: str
    train: str
    dev: str
    tests: tuple[str, ...] = ()
    seed: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    reading: ReadKeywords = field(default_factory=dict)


class Trained(Struct, frozen=True, eq=False):
    """A trained tagger, a report on its training, and its predictions for dev and test data."""

    model: Model
    settings: TaggerSettings
    seed: int
    report: Mapping[str, Any]  # versions, inputs, dev curve, seconds, F1 of every part
    predictions: Mapping[str, Annotation]  # by path
    definition: TaggerDefinition | None = None
    network: Tagger | None = None
    crf: bytes | None = None  # a linear-chain model in CRFsuite's format
    codes: Mapping[str, Ints] = field(default_factory=dict)

    def save(self, folder: str | Path) -> tuple[str, ...]:
        """Write the folder that `load` and `spanwise tag` read; it is written completely or not at all.

        Returns:
            Notes on what the files of its predictions have no place for.
        """
        from spanwise_taggers.saving import save

        return save(self, Path(folder))

    def predict(
        self, source: object, *, scores: bool = False, device: str = "auto", **reading: object
    ) -> Annotation:
        """Return the text of a file or annotation with the mentions that this tagger finds in it."""
        return predict(self, source, scores=scores, device=device, **reading)


def require_torch() -> None:
    """Raise MissingExtra if PyTorch or safetensors is not installed."""
    try:
        import safetensors
        import torch
    except ImportError as error:
        raise MissingExtra.of(error.name or "torch", "zoo", "a tagger") from None
    del safetensors, torch


def train(
    model: str,
    train: str | Path,
    dev: str | Path,
    *,
    tests: Sequence[str | Path] = (),
    seed: int = 1,
    device: str = "auto",
    progress: Callable[[str], None] | None = None,
    reading: ReadKeywords | None = None,
    **options: Any,
) -> Trained:
    """Train a tagger on one file, choose its best epoch on another, and tag the test files.

    The same seed, data, options and device always give the same predictions.

    Args:
        model: a name such as "CcnnWgloveLstmCrf" (characters, words, encoder, decoder), or "crf".
        options: settings that replace the model's defaults, such as `epochs=5` or `context=6`.

    Raises:
        ChoiceError: the model or an option is unknown.
        InputError: a file cannot be used, or word vectors are missing; the message says how to get them.
    """
    job = Job(model, str(train), str(dev), tuple(map(str, tests)), seed, options, reading or {})
    ended: list[Trained | Exception] = []
    train_all([job], lambda _, outcome: ended.append(outcome), device=device, progress=progress)
    if isinstance(ended[0], Exception):
        raise ended[0]
    return ended[0]


def train_all(
    jobs: Sequence[Job],
    done: Callable[[int, Trained | Exception], None],
    *,
    device: str = "auto",
    at_once: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> None:
    """Train several taggers in one process, interleaved on a GPU; `done` is called with each outcome.

    If one job fails, the others continue.
    """
    show = progress or (lambda text: None)
    files: dict[tuple[str, str], Annotation] = {}
    networks = []
    for number, job in enumerate(jobs):
        try:
            if parse(job.model).is_network:
                networks.append(number)
            else:
                done(number, _train_crf(job, files, show))
        except Exception as error:  # a failing job must not stop the others; its error is passed to `done`
            done(number, error)
    if networks:
        require_torch()
        _train_networks(jobs, networks, files, done, device, at_once, show)


def _read(job: Job, path: str, files: dict[tuple[str, str], Annotation]) -> Annotation:
    key = (path, repr(sorted(job.reading.items())))
    if key not in files:
        files[key] = read(path, **job.reading)
    return files[key]


def _parts(job: Job, files: dict[tuple[str, str], Annotation]) -> dict[str, Annotation]:
    """The annotations of a job: "training", "dev", then each test file under its path."""
    parts = {"training": _read(job, job.train, files), "dev": _read(job, job.dev, files)}
    for path in job.tests:
        parts[path] = _read(job, path, files)
    for role, annotation in parts.items():
        check_corpus(annotation, role if role in {"training", "dev"} else "test")
    return parts


def _train_crf(job: Job, files: dict[tuple[str, str], Annotation], show: Callable[[str], None]) -> Trained:
    from spanwise_taggers import crfsuite

    parts = _parts(job, files)
    settings = settings_for(parse("crf"), len(parts["training"].corpus), job.options)
    began, cpu = time.perf_counter(), time.process_time()
    data = crfsuite.train(parts["training"], settings, job.seed)
    predictions, f1 = {}, {}
    for role, annotation in list(parts.items())[1:]:
        mentions = crfsuite.predict(data, annotation.corpus)
        predictions[role] = _annotated(annotation, mentions)
        f1[role] = _f1(annotation, mentions)
    report = {
        **_head(job, parse("crf"), settings, parts),
        "device": "cpu",
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - cpu,
        "f1": f1,
    }
    show(f"crf, seed {job.seed}: {_spoken(f1)}")
    return Trained(parse("crf"), settings, job.seed, report, predictions, crf=data)


def _train_networks(
    jobs: Sequence[Job],
    networks: Sequence[int],
    files: dict[tuple[str, str], Annotation],
    done: Callable[[int, Trained | Exception], None],
    device: str,
    at_once: int | None,
    show: Callable[[str], None],
) -> None:
    import torch

    from spanwise_taggers.building import choose_device
    from spanwise_taggers.training import side_by_side

    # Must be set before the device is first used; otherwise only eight streams run concurrently.
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")
    chosen = choose_device(device)
    if chosen.type == "cpu":
        torch.set_num_threads(1)  # for networks this small, a second thread costs more than it gains
    else:
        _make_repeatable()
    prepared = _Prepared([jobs[number] for number in networks], files, chosen)
    starts = [prepared.starter(jobs[number]) for number in networks]
    left = TimeLeft(len(networks))

    def ended(position: int, outcome: TrainingOutcome | Exception) -> None:
        number = networks[position]
        more = left.after_one()
        result: Trained | Exception
        try:
            result = outcome if isinstance(outcome, Exception) else prepared.trained(jobs[number], outcome)
        except Exception as error:  # a failing job must not stop the others; its error is passed to `done`
            result = error
        result = _plainly(result) if isinstance(result, Exception) else result
        if isinstance(result, Trained):
            cost = f"{result.report['seconds']:.1f} s{more}"
            show(f"{result.model.name}, seed {result.seed}: {_spoken(result.report['f1'])}, {cost}")
        done(number, result)
        prepared.release(jobs[number])

    side_by_side(starts, ended, at_once=at_once or AT_ONCE[chosen.type])


def _make_repeatable() -> None:
    """Make results on a GPU reproducible for a seed; matrix products use TF32."""
    import torch

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.set_float32_matmul_precision("high")


def _plainly(error: Exception) -> Exception:
    import torch

    if isinstance(error, torch.cuda.OutOfMemoryError):
        return InputError(
            "the GPU has too little memory for this tagger.\n"
            "Use a smaller batch, fewer runs at once, or device 'cpu'."
        )
    return error


class _Prepared:
    """The arrays on the device that several runs share; they are released after the last run."""

    def __init__(
        self, jobs: Sequence[Job], files: dict[tuple[str, str], Annotation], device: torch.device
    ) -> None:
        self.files, self.device = files, device
        self.held: dict[bytes, tuple[TaggerDefinition, Matrix | None, Material]] = {}
        self.uses = Counter(map(self._key, jobs))

    def _key(self, job: Job) -> bytes:
        """A key that is equal for jobs with the same arrays: everything but the seed and the windows."""
        options = {name: value for name, value in job.options.items() if name not in WINDOWS}
        return msgspec.json.encode(msgspec.structs.replace(job, seed=0, options=options), order="sorted")

    def material(self, job: Job) -> tuple[TaggerDefinition, Matrix | None, Material]:
        """The vocabulary, word vectors and arrays of a job; the first job that needs them builds them."""
        from spanwise_taggers.building import in_windows, lay_out, learn

        parts = _parts(job, self.files)
        model = parse(job.model)
        settings = settings_for(model, len(parts["training"].corpus), job.options)
        key = self._key(job)
        if key not in self.held:
            known, table = learn(model, settings, parts["training"], list(parts.values())[1:])
            roles = [role if role in {"training", "dev"} else "test" for role in parts]
            self.held[key] = (known, table, lay_out(known, list(parts.values()), roles, self.device))
        known, table, arrays = self.held[key]
        return msgspec.structs.replace(known, settings=settings), table, in_windows(arrays, settings)

    def starter(self, job: Job) -> Callable[[torch.cuda.Stream | None], Iterator[TrainingOutcome | None]]:
        """A function that starts the run of a job."""

        def start(stream: torch.cuda.Stream | None) -> Iterator[TrainingOutcome | None]:
            from spanwise_taggers.building import first_network
            from spanwise_taggers.training import Run

            known, table, material = self.material(job)
            run = Run(known, material, first_network(known, table, material, job.seed), job.seed, stream)
            return run.steps(["dev", *job.tests])

        return start

    def trained(self, job: Job, outcome: TrainingOutcome) -> Trained:
        """The tagger that results from a finished run."""
        from spanwise_taggers.building import widen

        known, _, material = self.material(job)
        parts = _parts(job, self.files)
        predictions, f1, cut = {}, {}, {}
        for part, codes in outcome.predictions.items():
            annotation = parts[part]
            mentions, _ = mentions_of(
                codes, known.vocabulary.tags, annotation.corpus, known.vocabulary.scheme
            )
            predictions[part] = _annotated(annotation, mentions)
            f1[part] = _f1(annotation, mentions)
            cut[part] = _cut(codes, known.vocabulary.tags, annotation)
        report = {
            **_head(job, known.model, known.settings, parts),
            "device": self.device.type,
            "curve": [msgspec.to_builtins(epoch) for epoch in outcome.curve],
            "best_epoch": outcome.best + 1,
            "updates": outcome.updates,
            "windows": len(material.windows[0]),
            "sentences_cut": sum(window.cut for window in material.windows),
            "mentions_cut": cut,
            "seconds": outcome.seconds,
            "f1": f1,
        }
        return Trained(
            known.model,
            known.settings,
            job.seed,
            report,
            predictions,
            known,
            widen(outcome.network, material),
            codes=outcome.predictions,
        )

    def release(self, job: Job) -> None:
        """Release the arrays after the last run that uses them."""
        key = self._key(job)
        self.uses[key] -= 1
        if not self.uses[key]:
            self.held.pop(key, None)


def _head(
    job: Job, model: Model, settings: TaggerSettings, parts: Mapping[str, Annotation]
) -> dict[str, object]:
    import platform
    from importlib import metadata

    versions = {"spanwise": __version__, "python": platform.python_version(), "numpy": np.__version__}
    for package in ("torch", "python-crfsuite", "safetensors", "tokenizers"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    inputs = [
        {
            "role": role if role in {"training", "dev"} else "test",
            "path": part.reading.path,
            "sha256": part.reading.sha256,
        }
        for role, part in parts.items()
    ]
    return {
        "model": model.name,
        "seed": job.seed,
        "settings": msgspec.to_builtins(settings),
        "versions": versions,
        "inputs": inputs,
    }


def _annotated(annotation: Annotation, mentions: Mentions) -> Annotation:
    return Annotation(annotation.corpus, mentions)


def _f1(gold: Annotation, predicted: Mentions) -> float | None:
    """The F1; None if the file has no gold mentions."""
    return f1_of(gold, predicted) if len(gold.mentions) else None


def _cut(codes: Ints, tags: Sequence[str], annotation: Annotation) -> int:
    """The number of predicted mentions that crossed the end of a sentence and were cut there."""
    inside = np.array([tag[0] in "IE" for tag in tags])
    starts = np.unique(annotation.corpus.sentences[:-1])
    return int(inside[codes[starts[starts < len(codes)]]].sum())


def _spoken(f1: Mapping[str, float | None]) -> str:
    scores = [
        f"{'test' if part != 'dev' else part} {100 * score:.2f}"
        for part, score in f1.items()
        if score is not None
    ]
    return "F1 " + ", ".join(scores) if scores else "trained"


def predict(
    tagger: Trained | str | Path,
    source: object,
    *,
    scores: bool = False,
    device: str = "auto",
    **reading: Any,
) -> Annotation:
    """Return the text of `source` with the mentions that a tagger finds in it.

    With `scores`, every mention has a score: the lowest probability of the chosen tag among its tokens.

    Args:
        tagger: a trained tagger, or the folder it was saved in.
        source: a file in any format with tokens, or an annotation.
    """
    from spanwise_taggers.saving import load

    loaded = load(tagger) if isinstance(tagger, str | Path) else tagger
    annotation = source if isinstance(source, Annotation) else read(source, **reading)
    check_corpus(annotation, "test")
    if loaded.crf is not None:
        from spanwise_taggers import crfsuite

        mentions = crfsuite.predict_apart(loaded.crf, annotation.corpus, scores=scores)
        return _annotated(annotation, mentions)
    if loaded.definition is None or loaded.network is None:
        raise ChoiceError(
            "this tagger was trained elsewhere and has no weights.\nLoad the folder it was saved in."
        )
    require_torch()
    import torch

    from spanwise_taggers.building import choose_device, extended, in_windows, lay_out
    from spanwise_taggers.training import predict as tags_of
    from spanwise_taggers.training import probabilities

    chosen = choose_device(device)
    if chosen.type == "cpu":
        torch.set_num_threads(1)
    known, network = extended(loaded.definition, loaded.network, annotation)
    material = in_windows(lay_out(known, [annotation], ["test"], chosen), known.settings)
    network = network.to(chosen).eval()
    codes = tags_of(network, material, 0).cpu().numpy()
    mentions, _ = mentions_of(codes, known.vocabulary.tags, annotation.corpus, known.vocabulary.scheme)
    if scores:
        confidence = probabilities(network, material, 0, torch.from_numpy(codes).to(chosen)).cpu().numpy()
        mentions = with_scores(mentions, annotation.corpus, confidence)
    return _annotated(annotation, mentions)
