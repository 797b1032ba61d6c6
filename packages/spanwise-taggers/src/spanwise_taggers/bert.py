"""BERT-type encoders from a Hugging Face folder on disk: the encoder, and its word-piece tokeniser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import msgspec
import numpy as np
import torch
from msgspec import Meta, Struct
from msgspec.structs import replace
from torch import Tensor, nn
from torch.nn import functional

from spanwise.columns import Ints
from spanwise.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from spanwise_taggers.network import Dropping

MARKS = ("[CLS]", "[SEP]", "[UNK]")
MOST_PIECES = 12  # per word; a web address can have a hundred


class Layer(nn.Module):
    """Self-attention and a feed-forward layer, each with a residual connection and layer normalisation."""

    def __init__(self, width: int, inner: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.three = nn.Linear(width, 3 * width)  # queries, keys and values
        self.join = nn.Linear(width, width)
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.last = nn.LayerNorm(width, eps=1e-12)

    def forward(self, state: Tensor, hidden: Tensor, drop: Dropping) -> Tensor:
        batch, time, width = state.shape
        three = self.three(state).reshape(batch, time, 3, self.heads, width // self.heads)
        query, key, value = three.permute(2, 0, 3, 1, 4)
        # Not the fused attention: this gradient is deterministic, and the matrices are small.
        weight = query @ key.transpose(2, 3) * (width // self.heads) ** -0.5 + hidden
        heads = drop(functional.softmax(weight, dim=3), self.dropout) @ value
        state = self.norm(state + drop(self.join(heads.transpose(1, 2).reshape(state.shape)), self.dropout))
        return self.last(state + drop(self.down(functional.gelu(self.up(state))), self.dropout))


Size = Annotated[int, Meta(ge=1, le=1 << 20)]


class Config(Struct, frozen=True):
    """The fields of a Hugging Face `config.json` that define an encoder."""

    model_type: str
    hidden_size: Size
    intermediate_size: Size
    num_attention_heads: Size
    num_hidden_layers: Size
    max_position_embeddings: Size
    hidden_dropout_prob: Annotated[float, Meta(ge=0, lt=1)]


class Bert(nn.Module):
    """An encoder that returns the states after the embedding and after every layer."""

    def __init__(self, config: Config, pieces: int, first: int, last: int) -> None:
        super().__init__()
        self.width = config.hidden_size
        self.first, self.last, self.limit = first, last, config.max_position_embeddings - 2
        self.dropout = config.hidden_dropout_prob
        self.word = nn.Parameter(torch.zeros(pieces, self.width))
        self.position = nn.Parameter(torch.zeros(config.max_position_embeddings, self.width))
        self.kind = nn.Parameter(torch.zeros(self.width))
        self.norm = nn.LayerNorm(self.width, eps=1e-12)
        self.layers = nn.ModuleList(
            Layer(self.width, config.intermediate_size, config.num_attention_heads, self.dropout)
            for _ in range(config.num_hidden_layers)
        )

    def forward(self, piece: Tensor, mask: Tensor, drop: Dropping) -> list[Tensor]:
        state = functional.embedding(piece, self.word) + self.position[: piece.shape[1]] + self.kind
        states = [drop(self.norm(state), self.dropout)]
        hidden = torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, -1e9)[:, None, None, :]
        for layer in self.layers:
            states.append(layer(states[-1], hidden, drop))
        return states


class Pretrained(Struct, frozen=True, eq=False):
    """The weights in an encoder's folder, from which encoders are created."""

    file: Path
    config: Config
    state: dict[str, Tensor]
    first: int
    last: int

    @classmethod
    def read(cls, folder: Path, splitter: Splitter | None = None) -> Pretrained:
        """Read a Hugging Face folder with `config.json`, `model.safetensors` and `tokenizer.json`."""
        from safetensors import SafetensorError

        config = _config(folder / "config.json")
        splitter = splitter or Splitter(folder)
        file = folder / "model.safetensors"
        try:
            state = _state(file, config)
            # Take sizes from the weights, whatever the config says.
            config = replace(
                config,
                hidden_size=state["word"].shape[1],
                intermediate_size=state["layers.0.up.weight"].shape[0],
                max_position_embeddings=state["position"].shape[0],
            )
        except (SafetensorError, RuntimeError, ValueError, KeyError, IndexError) as error:
            _refuse(file, error)
        return cls(file, config, state, splitter.first, splitter.last)

    def bert(self, rows: Ints | None = None) -> Bert:
        """A new encoder; with `rows` (ascending), one that has only these pieces, renumbered from 0."""
        state, first, last = self.state, self.first, self.last
        try:
            if rows is not None:
                state = {**state, "word": state["word"][torch.from_numpy(np.array(rows))]}
                first, last = np.searchsorted(rows, [first, last]).tolist()
            encoder = Bert(self.config, len(state["word"]), first, last)
            encoder.load_state_dict(state)
        except (RuntimeError, ValueError, IndexError) as error:
            _refuse(self.file, error)
        return encoder

    def widen(self, bert: Bert, rows: Ints) -> None:
        """Restore all pieces of an encoder that had only some; the others get their original weights."""
        word = self.state["word"].clone()
        word[torch.from_numpy(np.array(rows))] = bert.word.detach().cpu()
        bert.word = nn.Parameter(word)
        bert.first, bert.last = self.first, self.last


def _refuse(file: Path, error: Exception) -> NoReturn:
    reason = str(error).partition("\n")[0][:200]
    raise InputError(
        f"{file}: the weights do not fit config.json: {reason}.\nName the folder of a complete encoder."
    ) from None


def _config(file: Path) -> Config:
    try:
        data = file.read_bytes()
        kind = msgspec.json.decode(data, type=dict[str, object]).get("model_type")
        if kind != "bert":
            raise InputError(
                f"{file.parent}: the encoder is of type {kind!r}, not 'bert'.\n"
                "Make features with its own tools and train a Cfeatures tagger."
            )
        return msgspec.json.decode(data, type=Config)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{file}: this does not describe a BERT-type encoder: {error}.\n"
            "Name a Hugging Face folder on disk."
        ) from None


def _state(file: Path, config: Config) -> dict[str, Tensor]:
    """The weights of a file, renamed for `Bert`."""
    from safetensors.torch import load_file

    # Weights converted from early checkpoints call the two vectors of a normalisation gamma and beta.
    weights = {
        name.removeprefix("bert.")
        .replace("Norm.gamma", "Norm.weight")
        .replace("Norm.beta", "Norm.bias"): value
        for name, value in ((name, value.float()) for name, value in load_file(file).items())
    }
    state = {
        "word": weights["embeddings.word_embeddings.weight"],
        "position": weights["embeddings.position_embeddings.weight"],
        "kind": weights["embeddings.token_type_embeddings.weight"][0],
    }
    _pair(state, "norm", weights, "embeddings.LayerNorm")
    for number in range(config.num_hidden_layers):
        own, theirs = f"layers.{number}.", f"encoder.layer.{number}."
        for kind in ("weight", "bias"):
            parts = [weights[f"{theirs}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            state[f"{own}three.{kind}"] = torch.cat(parts)
        _pair(state, own + "join", weights, theirs + "attention.output.dense")
        _pair(state, own + "norm", weights, theirs + "attention.output.LayerNorm")
        _pair(state, own + "up", weights, theirs + "intermediate.dense")
        _pair(state, own + "down", weights, theirs + "output.dense")
        _pair(state, own + "last", weights, theirs + "output.LayerNorm")
    return state


def _pair(state: dict[str, Tensor], own: str, weights: dict[str, Tensor], theirs: str) -> None:
    for kind in ("weight", "bias"):
        state[f"{own}.{kind}"] = weights[f"{theirs}.{kind}"]


def _lower(folder: Path) -> bool:
    """Whether the model knows lower case only, which is the default of BERT's tokenizer."""
    file = folder / "tokenizer_config.json"
    return msgspec.json.decode(file.read_bytes(), type=_Case).do_lower_case if file.is_file() else True


class _Case(Struct):
    do_lower_case: bool = True


class Splitter:
    """Splits words into the pieces of an encoder."""

    def __init__(self, folder: Path) -> None:
        try:
            from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
        except ImportError:
            raise MissingExtra.of("tokenizers", "zoo", "a BERT-type encoder") from None
        file, words = folder / "tokenizer.json", folder / "vocab.txt"  # older folders have only the second
        if not file.is_file() and not words.is_file():
            raise InputError(
                f"{folder}: there is no tokenizer.json and no vocab.txt.\n"
                "Name a Hugging Face folder of a BERT-type model."
            )
        try:
            if file.is_file():
                self._tokenizer = Tokenizer.from_file(str(file))
            else:
                file = words
                self._tokenizer = Tokenizer(models.WordPiece.from_file(str(words), unk_token=MARKS[2]))
                self._tokenizer.normalizer = normalizers.BertNormalizer(lowercase=_lower(folder))
                self._tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        except Exception as error:  # tokenizers raises plain exceptions
            raise InputError(
                f"{file}: this is not a tokenizer ({str(error)[:200]}).\n"
                "Name a Hugging Face folder of a BERT-type model."
            ) from None
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.first, self.last, self.unknown = (int(self._tokenizer.token_to_id(mark) or 0) for mark in MARKS)

    def pieces(self, forms: list[str]) -> list[list[int]]:
        """The pieces of every form; a form without pieces gets the unknown piece."""
        encoded = self._tokenizer.encode_batch_fast(forms, add_special_tokens=False)
        return [encoding.ids[:MOST_PIECES] or [self.unknown] for encoding in encoded]
