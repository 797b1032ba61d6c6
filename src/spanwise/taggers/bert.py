"""BERT-type encoders from a Hugging Face folder on disk: the encoder, and the pieces of words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from spanwise.errors import InputError, MissingExtra

MARKS = ("[CLS]", "[SEP]", "[UNK]")
MOST_PIECES = 12  # of one word; a web address can have a hundred


class Layer(nn.Module):
    """Self-attention and a wide layer, each added to what came in, then normed."""

    def __init__(self, width: int, inner: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.three = nn.Linear(width, 3 * width)  # queries, keys and values
        self.join = nn.Linear(width, width)
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.last = nn.LayerNorm(width, eps=1e-12)

    def forward(self, state: Tensor, hidden: Tensor, drop: Any) -> Tensor:
        batch, time, width = state.shape
        three = self.three(state).reshape(batch, time, 3, self.heads, width // self.heads)
        query, key, value = three.permute(2, 0, 3, 1, 4)
        # Written out, not fused: its gradient is the same in every run, and the matrices are small.
        weight = query @ key.transpose(2, 3) * (width // self.heads) ** -0.5 + hidden
        heads = drop(functional.softmax(weight, dim=3), self.dropout) @ value
        state = self.norm(state + drop(self.join(heads.transpose(1, 2).reshape(state.shape)), self.dropout))
        return self.last(state + drop(self.down(functional.gelu(self.up(state))), self.dropout))


class Bert(nn.Module):
    """The encoder; gives the states after the embedding and after every layer."""

    def __init__(self, config: dict[str, Any], pieces: int, first: int, last: int) -> None:
        super().__init__()
        self.width: int = config["hidden_size"]
        self.first, self.last, self.limit = first, last, config["max_position_embeddings"] - 2
        self.dropout: float = config["hidden_dropout_prob"]
        self.word = nn.Parameter(torch.zeros(pieces, self.width))
        self.position = nn.Parameter(torch.zeros(config["max_position_embeddings"], self.width))
        self.kind = nn.Parameter(torch.zeros(self.width))
        self.norm = nn.LayerNorm(self.width, eps=1e-12)
        self.layers = nn.ModuleList(
            Layer(self.width, config["intermediate_size"], config["num_attention_heads"], self.dropout)
            for _ in range(config["num_hidden_layers"])
        )

    def forward(self, piece: Tensor, mask: Tensor, drop: Any) -> list[Tensor]:
        state = functional.embedding(piece, self.word) + self.position[: piece.shape[1]] + self.kind
        states = [drop(self.norm(state), self.dropout)]
        hidden = torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, -1e9)[:, None, None, :]
        for layer in self.layers:
            states.append(layer(states[-1], hidden, drop))
        return states


def read_bert(folder: Path) -> Bert:
    """The encoder of a Hugging Face folder with `config.json`, `model.safetensors` and `tokenizer.json`."""
    from safetensors.torch import load_file

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config.get("model_type") != "bert":
        raise InputError(
            f"{folder}: the encoder is of type {config.get('model_type')!r}, not 'bert'.\n"
            "Make features with its own tools and train a Cfeatures tagger."
        )
    weights = {
        name.removeprefix("bert."): value.float()
        for name, value in load_file(folder / "model.safetensors").items()
    }
    splitter = Splitter(folder)
    bert = Bert(config, weights["embeddings.word_embeddings.weight"].shape[0], splitter.first, splitter.last)
    state = {
        "word": weights["embeddings.word_embeddings.weight"],
        "position": weights["embeddings.position_embeddings.weight"],
        "kind": weights["embeddings.token_type_embeddings.weight"][0],
    }
    _pair(state, "norm", weights, "embeddings.LayerNorm")
    for number in range(config["num_hidden_layers"]):
        own, theirs = f"layers.{number}.", f"encoder.layer.{number}."
        for kind in ("weight", "bias"):
            parts = [weights[f"{theirs}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            state[f"{own}three.{kind}"] = torch.cat(parts)
        _pair(state, own + "join", weights, theirs + "attention.output.dense")
        _pair(state, own + "norm", weights, theirs + "attention.output.LayerNorm")
        _pair(state, own + "up", weights, theirs + "intermediate.dense")
        _pair(state, own + "down", weights, theirs + "output.dense")
        _pair(state, own + "last", weights, theirs + "output.LayerNorm")
    bert.load_state_dict(state)
    return bert


def _pair(state: dict[str, Tensor], own: str, weights: dict[str, Tensor], theirs: str) -> None:
    for kind in ("weight", "bias"):
        state[f"{own}.{kind}"] = weights[f"{theirs}.{kind}"]


class Splitter:
    """Words cut into the pieces that an encoder knows."""

    def __init__(self, folder: Path) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingExtra.of("tokenizers", "zoo", "a BERT-type encoder") from None
        file = folder / "tokenizer.json"
        if not file.is_file():
            raise InputError(
                f"{folder}: there is no tokenizer.json.\nName a Hugging Face folder with a fast tokenizer."
            )
        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.first, self.last, self.unknown = (int(self._tokenizer.token_to_id(mark) or 0) for mark in MARKS)

    def pieces(self, forms: list[str]) -> list[list[int]]:
        """The pieces of every form; a form that the tokenizer leaves empty is the unknown piece."""
        encoded = self._tokenizer.encode_batch_fast(forms, add_special_tokens=False)
        return [one.ids[:MOST_PIECES] or [self.unknown] for one in encoded]
