"""The network: concatenated inputs, a sentence encoder and a decoder; one class covers the whole grid.

A batch is a list of windows, which are ranges of tokens. Everything a network reads about a token is in
flat arrays on the device (`DeviceStore`), so a batch consists of just four numbers per window.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from spanwise_taggers import crf
from spanwise_taggers.bert import Bert

CASES = 6


class DeviceStore(nn.Module):
    """The arrays that networks read; the last token stands for padding.

    Per token: `form` (the number of its string), `tag`, `features` and `piece` (its first word piece; with
    one extra entry at the end). Per form: `word` (row of the word table), `chars` (0 for none), `size` (in
    characters) and `case`. Per row of the word table: `single`, whether it occurs once in training.
    """

    form: Tensor
    tag: Tensor
    word: Tensor
    single: Tensor
    chars: Tensor
    size: Tensor
    case: Tensor
    features: Tensor
    piece: Tensor
    pieces: Tensor

    def __init__(self, columns: dict[str, Tensor]) -> None:
        super().__init__()
        for name, column in columns.items():
            self.register_buffer(name, column, persistent=False)


class Batch:
    """The tokens of some windows as a matrix: `index` [windows, time] into the store, with masks."""

    def __init__(self, store: DeviceStore, ranges: Tensor, time: int, pieces: int) -> None:
        start, stop, first, last = ranges.unbind(1)
        padding = store.form.shape[0] - 1
        position = start[:, None] + torch.arange(time, device=ranges.device)
        self.store, self.ranges, self.pieces = store, ranges, pieces
        self.mask = position < stop[:, None]
        self.index = torch.where(self.mask, position, padding)
        self.form = store.form[self.index]
        # The tokens that the window predicts, shifted to the left.
        self.shift = first - start
        self.answers = torch.arange(time, device=ranges.device) < (last - first)[:, None]
        own = first[:, None] + torch.arange(time, device=ranges.device)
        self.tag = store.tag[torch.where(self.answers, own, padding)]
        self.length = self.mask.sum(1)


def rows_at(states: Tensor, index: Tensor) -> Tensor:
    """`states[b, place[b, t]]` for states of shape [batch, time, size], with a deterministic gradient."""
    batch, time, size = states.shape
    begin = torch.arange(batch, device=index.device)[:, None] * time
    return functional.embedding(begin + index, states.reshape(batch * time, size))


class Words(nn.Module):
    """Word vectors; in training, words that occur once are sometimes replaced by the unknown word."""

    def __init__(self, table: Tensor, unknown: float) -> None:
        super().__init__()
        self.table = nn.Parameter(table)
        self.unknown = unknown
        self.size = table.shape[1]

    def forward(self, batch: Batch, drop: Dropping) -> Tensor:
        row = batch.store.word[batch.form]
        if self.training and self.unknown:
            dropped = batch.store.single[row] & (drop.uniform(row.shape, row.device) < self.unknown)
            row = torch.where(dropped, 1, row)
        return functional.embedding(row, self.table)


class Characters(nn.Module):
    """A convolution over the characters of a word, followed by max pooling."""

    def __init__(self, characters: int, size: int, filters: int, dropout: float) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(characters, size).uniform_(-1, 1) * (3 / size) ** 0.5)
        self.filters = nn.Linear(3 * size, filters)
        self.dropout = dropout
        self.size = filters
        self.known: Tensor | None = None  # the output for every form, cached outside training

    def forward(self, batch: Batch, drop: Dropping) -> Tensor:
        if not self.training:
            if self.known is None:
                self.known = self._all(batch.store, drop)
            return functional.embedding(batch.form, self.known)
        form = batch.form.reshape(-1)
        encoded = self._encoded(batch.store.chars[form], batch.store.size[form], drop)
        return encoded.reshape(*batch.form.shape, -1)

    def _all(self, store: DeviceStore, drop: Dropping) -> Tensor:
        parts = zip(store.chars.split(1024), store.size.split(1024), strict=True)
        return torch.cat([self._encoded(chars, size, drop) for chars, size in parts])

    def _encoded(self, chars: Tensor, size: Tensor, drop: Dropping) -> Tensor:
        embedded = functional.embedding(chars, self.table) * (chars > 0)[:, :, None]
        embedded = functional.pad(drop(embedded, self.dropout), (0, 0, 1, 1))
        wide = torch.cat([embedded[:, :-2], embedded[:, 1:-1], embedded[:, 2:]], dim=2)
        filtered = self.filters(wide)
        beyond = torch.arange(chars.shape[1], device=chars.device) >= size[:, None].clamp(min=1)
        return filtered.masked_fill(beyond[:, :, None], -1e4).amax(dim=1)

    def train(self, mode: bool = True) -> Characters:
        self.known = None
        return super().train(mode)


class Features(nn.Module):
    """A projection of precomputed vectors."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, size)
        self.size = size

    def forward(self, batch: Batch, drop: Dropping) -> Tensor:
        return self.project(functional.embedding(batch.index, batch.store.features).float())


class Case(nn.Module):
    """An embedding of how a word is capitalised, for encoders that only see lower case."""

    def __init__(self, size: int = 16) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(CASES, size).normal_(std=0.3))
        self.size = size

    def forward(self, batch: Batch, drop: Dropping) -> Tensor:
        return functional.embedding(batch.store.case[batch.form], self.table)


class Pieces(nn.Module):
    """A fine-tuned BERT-type encoder: a word is its first piece, or the mean of its pieces."""

    def __init__(self, bert: Bert, *, mean: bool = False) -> None:
        super().__init__()
        self.bert = bert
        self.mean = mean
        self.size = bert.width

    def forward(self, batch: Batch, drop: Dropping) -> Tensor:
        return piece_states(self.bert, batch, drop, last=True, mean=self.mean)[0]


def piece_states(
    bert: Bert, batch: Batch, drop: Dropping, *, last: bool = False, mean: bool = False
) -> list[Tensor]:
    """The state of every token after each layer, or only after the last one.

    The state of a token is that of its first piece or, with `mean`, the mean over its pieces.
    """
    store, start, stop = batch.store, batch.ranges[:, 0], batch.ranges[:, 1]
    begin, end = store.piece[start], store.piece[stop]
    position = torch.arange(batch.pieces, device=begin.device)
    size = (end - begin)[:, None]
    inside = (position > 0) & (position <= size)
    source = torch.where(inside, begin[:, None] + position - 1, 0)
    piece = torch.where(inside, store.pieces[source], torch.where(position == 0, bert.first, bert.last))
    states = bert(piece, position <= size + 1, drop)[-1 if last else 0 :]
    own = torch.where(batch.mask, store.piece[batch.index] - begin[:, None] + 1, 0)
    if not mean:
        return [rows_at(state, own) for state in states]
    after = store.piece[torch.where(batch.mask, batch.index + 1, 0)]
    beyond = torch.where(batch.mask, after - begin[:, None] + 1, 1)
    sums = [functional.pad(state.cumsum(1), (0, 0, 1, 0)) for state in states]
    return [(rows_at(total, beyond) - rows_at(total, own)) / (beyond - own)[:, :, None] for total in sums]


class Lstm(nn.Module):
    """A bidirectional LSTM built from two LSTMs, so that both directions read padding after the words."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.onward = nn.LSTM(width, hidden)
        self.backward = nn.LSTM(width, hidden)
        self.size = 2 * hidden

    def forward(self, inputs: Tensor, batch: Batch, drop: Dropping) -> Tensor:
        time = torch.arange(inputs.shape[1], device=inputs.device)
        # Reverse each row within its own length; reversing it twice restores it.
        turned = torch.where(batch.mask, batch.length[:, None] - 1 - time, time)
        ahead = inputs.transpose(0, 1)
        behind = rows_at(inputs, turned).transpose(0, 1)
        left, right = self.onward(ahead)[0].transpose(0, 1), self.backward(behind)[0].transpose(0, 1)
        return torch.cat([left, rows_at(right, turned)], dim=2)


class Cnn(nn.Module):
    """Residual convolutions over the sentence, three words wide."""

    def __init__(self, width: int, size: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.project = nn.Linear(width, size)
        self.layers = nn.ModuleList(nn.Linear(3 * size, size) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(layers))
        self.dropout = dropout
        self.size = size

    def forward(self, inputs: Tensor, batch: Batch, drop: Dropping) -> Tensor:
        mask = batch.mask[:, :, None]
        state = self.project(inputs)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            padded = functional.pad(norm(state) * mask, (0, 0, 1, 1))
            wide = torch.cat([padded[:, :-2], padded[:, 1:-1], padded[:, 2:]], dim=2)
            state = state + drop(functional.relu(layer(wide)), self.dropout, locked=True)
        return state


class Dropping:
    """Dropout with its own generator, so that interleaved runs do not affect each other."""

    def __init__(self, generator: torch.Generator | None) -> None:
        self.generator = generator

    def uniform(self, shape: object, device: object) -> Tensor:
        """Uniform random numbers from 0 to 1."""
        return torch.rand(shape, device=device, generator=self.generator)

    def words(self, inputs: Tensor, rate: float) -> Tensor:
        """The inputs with all values of a share of the tokens set to 0."""
        if self.generator is None or not rate:
            return inputs
        return inputs * (self.uniform((*inputs.shape[:-1], 1), inputs.device) >= rate)

    def __call__(self, inputs: Tensor, rate: float, *, locked: bool = False) -> Tensor:
        """Set a share of the inputs to 0; if `locked`, the same ones at every position of a row."""
        if self.generator is None or not rate:
            return inputs
        shape = (
            (inputs.shape[0], *(1 for _ in inputs.shape[1:-1]), inputs.shape[-1]) if locked else inputs.shape
        )
        mask = self.uniform(shape, inputs.device) >= rate
        return inputs * (mask * (1 / (1 - rate)))


class Tagger(nn.Module):
    """Concatenated inputs, an encoder over the window, and scores for every tag."""

    def __init__(
        self,
        inputs: list[nn.Module],
        encoder: nn.Module | None,
        tags: int,
        *,
        decoder: str,
        dropout: float,
        locked: bool = False,
        word_dropout: float = 0.0,
        impossible: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.inputs = nn.ModuleList(inputs)
        self.encoder = encoder
        width = sum(part.size for part in self.inputs)
        self.emit = nn.Linear(encoder.size if encoder is not None else width, tags)
        self.chain = (
            nn.Parameter(torch.empty(tags + 2, tags).uniform_(-0.1, 0.1)) if decoder == "crf" else None
        )
        self.dropout, self.locked, self.word_dropout = dropout, locked, word_dropout
        self.generator: torch.Generator | None = None
        # Forbidden transitions; used only for decoding, not in training.
        self.register_buffer("impossible", impossible, persistent=False)

    def emissions(self, batch: Batch) -> Tensor:
        """The scores of all tags for the predicted tokens, [windows, time, tags]."""
        drop = Dropping(self.generator if self.training else None)
        state = torch.cat([part(batch, drop) for part in self.inputs], dim=2)
        state = drop(drop.words(state, self.word_dropout), self.dropout, locked=self.locked)
        if self.encoder is not None:
            state = drop(self.encoder(state, batch, drop), self.dropout, locked=self.locked)
        scores = self.emit(state).float()
        position = batch.shift[:, None] + torch.arange(scores.shape[1], device=scores.device)
        return rows_at(scores, torch.where(batch.answers, position, 0))

    def loss(self, batch: Batch) -> Tensor:
        """The negative log likelihood of the gold tags, summed over the batch."""
        scores = self.emissions(batch)
        if self.chain is None:
            chosen = functional.log_softmax(scores, dim=2).gather(2, batch.tag[:, :, None]).squeeze(2)
            return -(chosen * batch.answers).sum()
        chain = (self.chain[:-2], self.chain[-2], self.chain[-1])
        total = crf.log_partition(scores, *chain, batch.answers)
        return (total - crf.score(scores, *chain, batch.tag, batch.answers)).sum()

    def decode(self, batch: Batch, *, scores: bool = False) -> tuple[Tensor, Tensor]:
        """The best tags of the predicted tokens and, with `scores`, the probability of every tag."""
        emissions = self.emissions(batch)
        if self.chain is None:
            shares = functional.softmax(emissions, dim=2) if scores else emissions
            return emissions.argmax(dim=2) * batch.answers, shares
        chain = self.chain if self.impossible is None else self.chain - 1e4 * self.impossible
        path = crf.best_path(emissions, chain[:-2], chain[-2], chain[-1], batch.answers)
        if not scores:
            return path, emissions
        return path, crf.marginals(emissions, self.chain[:-2], self.chain[-2], self.chain[-1], batch.answers)
