"""Saved taggers: a folder with weights in safetensors, predictions as CoNLL files, and the rest in JSON."""

from __future__ import annotations

import os
import shutil
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from spanwise.errors import InputError
from spanwise.formats.writing import lost_note, write_results
from spanwise_taggers.encoding import Vocabulary
from spanwise_taggers.naming import Model
from spanwise_taggers.settings import TaggerSettings

if TYPE_CHECKING:
    from spanwise_taggers.api import Trained
    from spanwise_taggers.building import TaggerDefinition
    from spanwise_taggers.network import Tagger

ABOUT, WEIGHTS, CRF = "tagger.json", "model.safetensors", "model.crfsuite"


class About(Struct, frozen=True):
    """The contents of `tagger.json`."""

    model: Model
    settings: TaggerSettings
    seed: int
    report: dict[str, Any]
    vocabulary: Vocabulary | None = None
    feature_width: int = 0
    pieces: int = 0
    word_size: int = 0


def check_folder(folder: Path) -> None:
    """Raise InputError if the folder exists, is not empty and does not contain a tagger."""
    if folder.exists() and not (folder / ABOUT).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            f"{folder}: this is not the folder of a tagger, and it would be replaced.\n"
            "Choose a new or empty folder."
        )


def save(trained: Trained, folder: Path) -> tuple[str, ...]:
    """Write the folder of a tagger, completely or not at all; it replaces an existing one.

    Returns:
        Notes on what the files of its predictions have no place for.
    """
    check_folder(folder)
    part = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        part.mkdir(parents=True)
    except OSError as error:
        raise InputError(
            f"{folder}: the folder cannot be written: {error.strerror}.\nChoose another place."
        ) from None
    try:
        lost = _fill(trained, part)
        if folder.exists():
            shutil.rmtree(folder)
        part.replace(folder)
        return lost
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _fill(trained: Trained, folder: Path) -> tuple[str, ...]:
    known = trained.definition
    if trained.network is not None and known is not None:
        from safetensors.torch import save_file

        weights = {
            name: value.detach().cpu().contiguous() for name, value in trained.network.state_dict().items()
        }
        save_file(weights, folder / WEIGHTS)
        words = next((value.shape[1] for name, value in weights.items() if name == "inputs.0.table"), 0)
        about = About(
            trained.model,
            trained.settings,
            trained.seed,
            dict(trained.report),
            known.vocabulary,
            known.feature_width,
            known.pieces,
            words,
        )
    else:
        about = About(trained.model, trained.settings, trained.seed, dict(trained.report))
    if trained.crf is not None:
        (folder / CRF).write_bytes(trained.crf)
    (folder / ABOUT).write_bytes(
        msgspec.json.format(msgspec.json.encode(about, order="deterministic"), indent=1) + b"\n"
    )
    (folder / "predictions").mkdir()
    names = {"dev": "dev"}
    for path in trained.predictions:
        if path not in names:
            stem = Path(path).name.split(".")[0]
            taken = sum(name == stem or name.startswith(f"{stem}-") for name in names.values())
            names[path] = f"{stem}-{taken + 1}" if taken else stem
    lost: list[str] = []
    for path, annotation in trained.predictions.items():
        file = Path("predictions", f"{names[path]}.conll")
        lost += lost_note(file, write_results(annotation, folder / file, format="conll"))
    return tuple(lost)


def load(folder: str | Path) -> Trained:
    """Load a tagger from a folder written by `save`.

    Raises:
        InputError: the folder has no tagger, or another version wrote it.
    """
    from spanwise_taggers.api import Trained, require_torch

    root = Path(folder)
    try:
        about = msgspec.json.decode((root / ABOUT).read_bytes(), type=About)
    except OSError:
        raise InputError(
            f"{folder}: there is no tagger in this folder.\n"
            f"Train one with: spanwise train MODEL … -o {folder}"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{root / ABOUT}: this is not a tagger of this version: {error}.\nTrain it again."
        ) from None
    if about.vocabulary is None:
        data = (root / CRF).read_bytes()
        return Trained(about.model, about.settings, about.seed, about.report, {}, crf=data)
    require_torch()
    from spanwise_taggers.building import TaggerDefinition

    known = TaggerDefinition(about.model, about.settings, about.vocabulary, about.feature_width, about.pieces)
    network = _network(known, about.word_size, root / WEIGHTS)
    return Trained(about.model, about.settings, about.seed, about.report, {}, known, network)


def _network(definition: TaggerDefinition, word_size: int, file: Path) -> Tagger:
    """The network with the weights of a file.

    The sizes in `tagger.json` are checked against the weights before memory is allocated, so that a forged
    file cannot exhaust it.
    """
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import load_file

    from spanwise_taggers.building import empty_network, shapes_of

    try:
        with safe_open(file, "pt") as weights:
            shapes = {name: tuple(weights.get_slice(name).get_shape()) for name in weights.keys()}  # noqa: SIM118
        most = sum(map(prod, shapes.values()))
        if definition.settings.layers > len(shapes) or not 0 <= word_size <= most:
            raise ValueError("their numbers differ")
        if shapes_of(definition, word_size) != shapes:
            raise ValueError("their shapes differ")
        network = empty_network(definition, word_size)
        network.load_state_dict(load_file(file))
    except (SafetensorError, RuntimeError, ValueError, TypeError, LookupError, OverflowError) as error:
        reason = str(error).partition("\n")[0][:200]
        raise InputError(
            f"{file}: the weights do not fit {ABOUT}: {reason}.\nTrain the tagger again."
        ) from None
    return network.eval()
