"""Vectors per token, computed before training and cached by content."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from spanwise.corpus import Annotation, Corpus
from spanwise.errors import InputError
from spanwise.studies import default_folder
from spanwise_taggers.settings import TaggerSettings

Halves = NDArray[np.float16]
VERSION = 1  # of the computation; increase it to invalidate cached features


def features_of(kind: str, annotation: Annotation, settings: TaggerSettings, device: torch.device) -> Halves:
    """The vectors of all tokens of a corpus, in half precision, as [tokens, width].

    `features` and `elmo` are read from a file; `flair`, `minilm` and `bert` are computed once and stored in
    the cache folder under a hash of the tokens and the provider.
    """
    corpus = annotation.corpus
    if kind in {"features", "elmo"}:
        return _from_file(annotation, settings)
    from spanwise_taggers import flair, minilm

    provider = flair if kind == "flair" else minilm
    source = provider.source(settings)
    file = default_folder("features") / f"{kind}-{digest(corpus, f'{kind} {VERSION} {source}')}.npy"
    if file.exists():
        return np.asarray(np.load(file, mmap_mode="r", allow_pickle=False))
    vectors: Halves = provider.vectors(corpus, settings, device).astype(np.float16)
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{os.getpid()}.npy")
    np.save(part, vectors, allow_pickle=False)
    part.replace(file)
    metadata = {
        "provider": kind,
        "version": VERSION,
        "source": source,
        "tokens": len(vectors),
        "width": vectors.shape[1],
    }
    file.with_suffix(".json").write_text(json.dumps(metadata) + "\n", encoding="utf-8")
    return vectors


def digest(corpus: Corpus, provider: str) -> str:
    """A hash of the sentences of a corpus and of the provider of their vectors."""
    text = "\n".join(" ".join(corpus.words(number)) for number in range(len(corpus)))
    return hashlib.sha256(f"{provider}\n{text}".encode()).hexdigest()[:32]


def _from_file(annotation: Annotation, settings: TaggerSettings) -> Halves:
    """The vectors in the given file, or in the file named after the corpus in the given folder."""
    if settings.features is None:
        raise InputError(
            "the tagger reads features, but no file of them was given.\n"
            "Give features = FOLDER with one NAME.npy, NAME.npz or NAME.safetensors per data file NAME.conll."
        )
    path = Path(settings.features)
    stem = Path(annotation.reading.path).stem
    candidates = (
        [path] if path.is_file() else [path / f"{stem}{end}" for end in (".npy", ".npz", ".safetensors")]
    )
    file = next((candidate for candidate in candidates if candidate.is_file()), None)
    if file is None:
        raise InputError(
            f"{path}: there are no features for {annotation.reading.path}.\n"
            f"Expected a file {stem}.npy, {stem}.npz or {stem}.safetensors with one row per token."
        )
    rows = _array(file)
    if rows.ndim != 2 or len(rows) != len(annotation.corpus.tokens):
        raise InputError(
            f"{file}: the features have the shape {rows.shape}, "
            f"but the data have {len(annotation.corpus.tokens):,} tokens.\n"
            "Expected one row per token, in the order of the file."
        )
    return rows.astype(np.float16)


def _array(file: Path) -> NDArray[np.floating]:
    if file.suffix == ".safetensors":
        from safetensors.numpy import load_file

        arrays = load_file(file)
        return np.asarray(next(iter(arrays.values())))
    try:
        array = np.load(file, allow_pickle=False)
    except ValueError:
        raise InputError(
            f"{file}: the file does not contain an array of numbers.\nExpected one row per token."
        ) from None
    return np.asarray(array if isinstance(array, np.ndarray) else array[array.files[0]])
