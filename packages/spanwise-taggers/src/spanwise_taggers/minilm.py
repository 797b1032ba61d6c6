"""Vectors of a frozen BERT-type encoder: three of its layers, concatenated."""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from numpy.typing import NDArray

from spanwise.corpus import Corpus
from spanwise.windows import windows
from spanwise_taggers.bert import Pretrained, Splitter
from spanwise_taggers.encoding import Vocabulary, columns_of
from spanwise_taggers.network import Batch, DeviceStore, Dropping, piece_states
from spanwise_taggers.settings import TaggerSettings, encoder_folder

TOKENS = 8192  # word pieces per batch


def chosen_layers(layers: int) -> tuple[int, ...]:
    """The layers whose states are used: of six, the first, third and sixth, of others those in proportion.

    On the development data of CoNLL-2003 they are better than the last four or all six.

    Examples:
        >>> chosen_layers(6), chosen_layers(12), chosen_layers(1)
        ((1, 3, 6), (2, 6, 12), (1,))
    """
    return tuple(sorted({-(-layers // 6), -(-layers // 2), layers}))


def source(settings: TaggerSettings) -> str:
    """A description of the model, which is part of the key in the cache: a hash of its weights."""
    digest = hashlib.sha256()
    for file in sorted(encoder_folder(settings).iterdir()):
        if file.suffix in {".json", ".safetensors", ".txt"}:
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return f"{digest.hexdigest()} mean"


@torch.no_grad()
def vectors(corpus: Corpus, settings: TaggerSettings, device: torch.device) -> NDArray[np.float32]:
    """For every token, the mean of its pieces' vectors; each sentence is encoded separately."""
    folder = encoder_folder(settings)
    splitter = Splitter(folder)
    bert = Pretrained.read(folder, splitter).bert().to(device).eval()
    columns = columns_of(corpus, Vocabulary(("O",), "IOB2"), splitter)
    columns["tag"] = np.zeros_like(columns["form"])
    store = DeviceStore({name: torch.from_numpy(np.array(column)) for name, column in columns.items()}).to(
        device
    )
    piece = columns["piece"]
    parts = windows(corpus, limit=510, sizes=np.diff(piece))
    ranges = np.stack([parts.start, parts.stop, parts.first, parts.last], axis=1)
    size = piece[parts.stop] - piece[parts.start] + 2
    layers = chosen_layers(len(bert.layers))
    output = np.zeros((len(corpus.tokens) + 1, len(layers) * bert.width), np.float32)
    order = np.argsort(size, kind="stable")
    for rows in np.array_split(order, max(1, int(size.sum() * 1.2) // TOKENS)):
        selected = torch.from_numpy(ranges[rows]).to(device)
        tokens = int((parts.stop - parts.start)[rows].max())
        batch = Batch(store, selected, tokens, int(size[rows].max()))
        states = piece_states(bert, batch, Dropping(None), mean=True)
        index = batch.index.cpu().numpy()
        output[index] = torch.cat([states[layer] for layer in layers], dim=2).cpu().numpy()
    return output[:-1]
