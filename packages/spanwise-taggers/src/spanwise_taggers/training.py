"""The training loop: several runs are interleaved on one device, each with the same result as if alone.

A run is a generator that yields after every update and whenever it waits for the device, so that several
runs can share a GPU in one process. On a GPU, updates use one CUDA graph per shape; the first updates of
a shape, rare shapes and all updates on a CPU run the same code eagerly.
"""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from msgspec import Struct
from torch import Tensor

from spanwise.columns import Ints, ints
from spanwise_taggers.building import Material, TaggerDefinition
from spanwise_taggers.encoding import mentions_of
from spanwise_taggers.network import Batch, Tagger
from spanwise_taggers.scoring import f1_of
from spanwise_taggers.settings import TaggerSettings

Result = TypeVar("Result")

EVALUATED = {"cuda": 4_096, "cpu": 2_048}  # tokens per batch when predicting


class Epoch(Struct, frozen=True):
    """The outcome of one pass over the training data."""

    loss: float
    dev_f1: float | None
    seconds: float


class TrainingOutcome(Struct, frozen=True, eq=False):
    """The outcome of a run: tags of every part, dev curve and cost. The network has the best weights."""

    network: Tagger
    curve: tuple[Epoch, ...]
    best: int
    updates: int
    seconds: float
    predictions: dict[str, Ints]  # tag numbers per token


def rounded(size: int) -> int:
    """The padded size of a window: a compromise between few shapes and little padding.

    Examples:
        >>> [rounded(size) for size in (1, 9, 33, 65, 300)]
        [4, 12, 40, 80, 320]
    """
    step = 4 if size <= 32 else 8 if size <= 64 else 16 if size <= 128 else 32
    return -(-size // step) * step


def rounded_pieces(size: int) -> int:
    """The padded size of a window with an encoder, whose graphs are expensive: fewer shapes, more padding.

    Examples:
        >>> [rounded_pieces(size) for size in (9, 65, 300)]
        [16, 96, 320]
    """
    step = 16 if size <= 64 else 32 if size <= 160 else 64
    return min(-(-size // step) * step, 512)


class Shapes(Struct, frozen=True, eq=False):
    """The windows of one part: their ranges on the device, and the number of tokens and pieces in each."""

    ranges: Tensor  # [windows + 1, 4]; the last one is empty
    tokens: Ints
    pieces: Ints

    @classmethod
    def of(cls, material: Material, part: int) -> Shapes:
        """The windows of one part of the material."""
        windows = material.windows[part]
        rows = np.stack([windows.start, windows.stop, windows.first, windows.last], axis=1)
        rows = np.concatenate([rows, np.zeros((1, 4), np.int64)])
        tokens = windows.stop - windows.start
        piece = material.piece
        pieces = np.zeros_like(tokens) if piece is None else piece[windows.stop] - piece[windows.start] + 2
        return cls(torch.from_numpy(rows).to(material.store.form.device), ints(tokens), ints(pieces))

    def shape(self, rows: Ints) -> tuple[int, int]:
        """The padded size of a batch, in tokens and in pieces."""
        tokens, pieces = int(self.tokens[rows].max()), int(self.pieces[rows].max())
        # With an encoder, one size is enough for both, since a token has at least one piece.
        return (rounded(tokens), 0) if not pieces else (rounded_pieces(pieces),) * 2


class Run:
    """The training of one network, with its optimiser and random numbers."""

    def __init__(
        self,
        definition: TaggerDefinition,
        material: Material,
        network: Tagger,
        seed: int,
        stream: torch.cuda.Stream | None = None,
    ) -> None:
        self.known, self.material, self.seed, self.stream = definition, material, seed, stream
        self.settings: TaggerSettings = definition.settings
        self.device = material.store.form.device
        self.network = network.to(self.device)
        self.network.generator = torch.Generator(self.device).manual_seed(seed)
        self.train_windows = Shapes.of(material, 0)
        windows, sentences = len(self.train_windows.tokens), max(len(material.annotations[0].corpus), 1)
        own = self.settings.batch * (windows / sentences if self.settings.mode == "concat" else 1)
        self.batch = max(1, round(own))
        self.updates_per_epoch = -(-windows // self.batch)
        self._on_gpu = self.device.type == "cuda"
        self._pool = torch.cuda.graph_pool_handle() if self._on_gpu else None
        self._graphs: dict[tuple[int, int], torch.cuda.CUDAGraph] = {}
        self._tagging: dict[int, tuple[torch.cuda.CUDAGraph, Tensor]] = {}
        self._tagged: Counter[int] = Counter()
        self._plans: dict[int, list[Planned]] = {}
        self._seen: set[tuple[int, int]] = set()
        self._prepare_optimiser()

    def _prepare_optimiser(self) -> None:
        settings = self.settings
        encoder, tables, others = [], [], []
        for name, parameter in self.network.named_parameters():
            if not parameter.requires_grad:
                continue
            if ".bert." in name:
                encoder.append(parameter)
            elif name.endswith("table") or parameter.ndim == 1:
                tables.append(parameter)
            else:
                others.append(parameter)
        groups = [
            (encoder, settings.encoder_rate, settings.weight_decay),
            (tables, settings.rate, 0.0),
            (others, settings.rate, settings.weight_decay),
        ]
        groups = [group for group in groups if group[0]]
        self.parameters = [parameter for group in groups for parameter in group[0]]
        total = self.updates_per_epoch * settings.epochs
        share = np.array([_share(step, total, settings) for step in range(total)])
        rates = share[:, None] * np.array([rate for _, rate, _ in groups])
        self._rates = torch.from_numpy(rates.astype(np.float32))
        if self._on_gpu:
            self._rates = self._rates.to(self.device)
            self._rate = torch.zeros(len(groups), device=self.device)
        listed = [
            {"params": parameters, "lr": self._rate[number] if self._on_gpu else rate, "weight_decay": decay}
            for number, (parameters, rate, decay) in enumerate(groups)
        ]
        if settings.optimiser == "sgd":
            self.optimiser: torch.optim.Optimizer = torch.optim.SGD(listed, fused=True)
        else:
            self.optimiser = torch.optim.AdamW(listed, fused=True, capturable=self._on_gpu)
        # A running average of the weights, which forgets early weights faster.
        self._average = [parameter.detach().clone() for parameter in self.parameters if settings.average]
        passed = np.arange(total)
        weights = 1 - np.minimum(settings.average, (1 + passed) / (10 + passed))
        self._weights = torch.from_numpy(weights.astype(np.float32)).to(self.device)
        self._weight = torch.zeros((), device=self.device)
        self._ranges = torch.zeros((self.batch, 4), dtype=torch.int64, device=self.device)
        self._loss = torch.zeros((), device=self.device)

    # ---- one update ----

    def _update(self, tokens: int, pieces: int) -> None:
        """One update on the batch in `_ranges`; the same code runs eagerly and in a graph."""
        self.optimiser.zero_grad(set_to_none=True)
        loss = (
            self.network.loss(Batch(self.material.store, self._ranges, tokens, pieces)) / self.settings.batch
        )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, self.settings.clip, foreach=True)
        self.optimiser.step()
        if self._average:
            moved = torch._foreach_sub([parameter.detach() for parameter in self.parameters], self._average)
            torch._foreach_mul_(moved, self._weight)
            torch._foreach_add_(self._average, moved)
        self._loss += loss.detach()

    def _exchange(self) -> None:
        """Swap the current weights with the averaged ones, or back."""
        if self._average:
            with torch.no_grad(), self._turned():
                present = [parameter.detach().clone() for parameter in self.parameters]
                torch._foreach_copy_([parameter.detach() for parameter in self.parameters], self._average)
                torch._foreach_copy_(self._average, present)

    def _turn(self, shape: tuple[int, int]) -> None:
        if shape not in self._graphs and shape in self._seen and self._on_gpu:
            self._graphs[shape] = self._captured(partial(self._update, *shape))[0]
        self._seen.add(shape)
        if shape in self._graphs:
            self._graphs[shape].replay()
        else:
            self._update(*shape)

    def _make_graphs(self, shapes: Sequence[tuple[int, int]]) -> None:
        """Capture a graph for every shape of the first epoch; the others reuse the memory of the largest."""
        self.optimiser.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()
        for shape in sorted(set(shapes), key=max, reverse=True):
            self._graphs[shape] = self._captured(partial(self._update, *shape))[0]

    def _captured(self, work: Callable[[], Result]) -> tuple[torch.cuda.CUDAGraph, Result]:
        """Capture work on the device as a graph; also returns its result, which each replay fills again."""
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self.network.generator)
        torch.cuda.synchronize()
        gc.disable()  # collecting an old graph would break the capture
        try:
            graph.capture_begin(pool=self._pool)
            result = work()
            graph.capture_end()
        finally:
            gc.enable()
        return graph, result

    def _set_rate(self, step: int) -> None:
        if self._average:
            self._weight.copy_(self._weights[step])
        if self._on_gpu:
            self._rate.copy_(self._rates[step])
        else:
            for group, rate in zip(self.optimiser.param_groups, self._rates[step].tolist(), strict=True):
                group["lr"] = rate

    # ---- the whole training ----

    def steps(self, parts: Sequence[str]) -> Iterator[TrainingOutcome | None]:
        """Train, yielding None after every update and finally the outcome.

        `parts` names the parts of the material after the training data: "dev" is evaluated after every epoch,
        and all parts are tagged at the end.
        """
        began = time.perf_counter()
        draw = np.random.default_rng(self.seed)
        curve: list[Epoch] = []
        best, best_f1 = 0, -1.0
        best_weights = [self._on_host(parameter) for parameter in self.parameters]
        step = 0
        for number in range(self.settings.epochs):
            epoch_began = time.perf_counter()
            self.network.train()
            rows, shapes = self._plan(draw)
            with self._turned():
                ranges = _to_device(rows, self.device)
                windows = self.train_windows.ranges[ranges]
            for batch, shape in enumerate(shapes):
                with self._turned():
                    self._ranges.copy_(windows[batch])
                    self._set_rate(step)
                    self._turn(shape)
                    if not step and self._on_gpu:
                        self._make_graphs(shapes)
                step += 1
                yield None
            f1 = None
            self.network.eval()
            self._exchange()
            if "dev" in parts:
                for predicted in self.predicted(1 + list(parts).index("dev")):
                    if predicted is None:
                        yield None
                    else:
                        f1 = self._f1(1 + list(parts).index("dev"), predicted)
            with self._turned():
                loss = float(self._loss) / self.updates_per_epoch
                self._loss.zero_()
                if f1 is None or f1 > best_f1:
                    best, best_f1 = number, -1.0 if f1 is None else f1
                    for parameter, value in zip(self.parameters, best_weights, strict=True):
                        value.copy_(parameter.detach(), non_blocking=True)
            self._exchange()
            curve.append(Epoch(loss, f1, time.perf_counter() - epoch_began))
            if self.settings.patience and f1 is not None and number - best >= self.settings.patience:
                break
        with self._turned(), torch.no_grad():
            for parameter, value in zip(self.parameters, best_weights, strict=True):
                parameter.copy_(value)
        self.network.eval()
        self.optimiser.zero_grad(set_to_none=True)  # gradients are in the memory of the graphs
        if self._on_gpu:
            torch.cuda.synchronize()
        self._graphs.clear()
        self._tagging.clear()
        self._tagged.clear()
        predictions = {}
        for number, part in enumerate(parts, start=1):
            for predicted in self.predicted(number):
                if predicted is None:
                    yield None
                else:
                    predictions[part] = predicted
        seconds = time.perf_counter() - began
        yield TrainingOutcome(self.network, tuple(curve), best, step, seconds, predictions)

    def _on_host(self, parameter: Tensor) -> Tensor:
        """A copy of a parameter in host memory, pinned so that the device can copy to it asynchronously."""
        copy = torch.empty(parameter.shape, dtype=parameter.dtype, pin_memory=self._on_gpu)
        with self._turned():
            return copy.copy_(parameter.detach())

    def _turned(self) -> torch.cuda.StreamContext:
        return torch.cuda.stream(self.stream)

    def _plan(self, draw: np.random.Generator) -> tuple[Ints, list[tuple[int, int]]]:
        """The batches of one epoch, with windows of similar length together, and the shape of each batch."""
        shapes = self.train_windows
        count = len(shapes.tokens)
        order = draw.permutation(count)
        size = shapes.pieces if shapes.pieces.any() else shapes.tokens
        blur = np.exp(draw.uniform(-self.settings.mixing, self.settings.mixing, count))
        order = order[np.argsort(size[order] * blur, kind="stable")]
        # The incomplete batch is placed at random, so that it does not always have the longest windows.
        padded = np.full(self.updates_per_epoch * self.batch, count, np.int64)
        lack = len(padded) - count
        at = int(draw.integers(self.updates_per_epoch)) * self.batch
        padded[:at] = order[:at]
        padded[at : at + self.batch - lack] = order[at : at + self.batch - lack]
        padded[at + self.batch :] = order[at + self.batch - lack :]
        rows = padded.reshape(-1, self.batch)[draw.permutation(self.updates_per_epoch)]
        return ints(rows), [shapes.shape(row[row < count]) for row in rows]

    def predicted(self, part: int) -> Iterator[Ints | None]:
        """Yield None while the device is busy, then the tag number of every token of a part."""
        with self._turned():
            tags = self._tags(part)
            if self._on_gpu:
                tags = _fetch(tags)
                event = torch.cuda.Event()
                event.record()
        while self._on_gpu and not event.query():
            yield None
        yield ints(tags.numpy())

    def _tags(self, part: int) -> Tensor:
        """The tags of a part; from the second call on by a graph, since best paths take many steps."""
        if part not in self._plans:
            self._plans[part] = planned(self.material, part)

        def work() -> Tensor:
            return predict(self.network, self.material, part, self._plans[part])

        self._tagged[part] += 1
        if not self._on_gpu or self._tagged[part] == 1:
            return work()
        if part not in self._tagging:
            self._tagging[part] = self._captured(work)
        graph, tags = self._tagging[part]
        graph.replay()
        return tags

    def _f1(self, part: int, codes: Ints) -> float:
        annotation = self.material.annotations[part]
        vocabulary = self.known.vocabulary
        mentions, _ = mentions_of(codes, vocabulary.tags, annotation.corpus, vocabulary.scheme)
        return f1_of(annotation, mentions)


def _fetch(tensor: Tensor) -> Tensor:
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    host.copy_(tensor, non_blocking=True)
    return host


def _to_device(rows: Ints, device: torch.device) -> Tensor:
    tensor = torch.from_numpy(np.array(rows))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


def _share(step: int, total: int, settings: TaggerSettings) -> float:
    """The factor of the learning rate at a step: it rises during warm-up, then falls linearly."""
    rise = settings.warmup * total
    if step < rise:
        return (step + 1) / rise
    return 1 - (1 - settings.decay) * (step - rise) / max(total - rise, 1)


class Planned(Struct, frozen=True, eq=False):
    """A batch to predict: its windows and its padded size."""

    ranges: Tensor
    tokens: int
    pieces: int


def planned(material: Material, part: int) -> list[Planned]:
    """The windows of a part in batches, with similar lengths together."""
    shapes = Shapes.of(material, part)
    device = material.store.form.device
    sizes = np.maximum(shapes.tokens, shapes.pieces)
    order = np.argsort(sizes, kind="stable")
    ordered = sizes[order].tolist()
    plan = []
    begin = 0
    while begin < len(order):
        end = begin + 1
        while end < len(order) and (end + 1 - begin) * ordered[end] <= EVALUATED[device.type]:
            end += 1
        rows = ints(order[begin:end])
        begin = end
        plan.append(Planned(shapes.ranges[_to_device(rows, device)], *shapes.shape(rows)))
    return plan


@torch.no_grad()
def predict(network: Tagger, material: Material, part: int, plan: Sequence[Planned] | None = None) -> Tensor:
    """The number of the best tag for every token of a part, on the device."""
    first, last = int(material.begins[part]), int(material.begins[part + 1])
    device = material.store.form.device
    best = torch.zeros(last - first + 1, dtype=torch.int64, device=device)
    for chunk in plan or planned(material, part):
        batch = Batch(material.store, chunk.ranges, chunk.tokens, chunk.pieces)
        tags, _ = network.decode(batch)
        position = chunk.ranges[:, 2, None] - first + torch.arange(chunk.tokens, device=device)
        best[torch.where(batch.answers, position, last - first)] = tags
    return best[:-1]


@torch.no_grad()
def probabilities(network: Tagger, material: Material, part: int, codes: Tensor) -> Tensor:
    """The probability of the given tag of every token of a part, on the device."""
    first, last = int(material.begins[part]), int(material.begins[part + 1])
    device = material.store.form.device
    chances = torch.zeros(last - first + 1, device=device)
    chosen = torch.cat([codes, codes.new_zeros(1)])
    for chunk in planned(material, part):
        batch = Batch(material.store, chunk.ranges, chunk.tokens, chunk.pieces)
        shares = network.decode(batch, scores=True)[1]
        position = chunk.ranges[:, 2, None] - first + torch.arange(chunk.tokens, device=device)
        target = torch.where(batch.answers, position, last - first)
        chances[target] = shares.gather(2, chosen[target][:, :, None]).squeeze(2)
    return chances[:-1]


def side_by_side(
    starts: Sequence[Callable[[torch.cuda.Stream | None], Iterator[TrainingOutcome | None]]],
    done: Callable[[int, TrainingOutcome | Exception], None],
    *,
    at_once: int,
) -> None:
    """Interleave several runs, at most `at_once` at a time; `done` is called with the outcome of each.

    Each of `starts` creates a run that works on the given stream, and returns its `steps`.
    """
    # Streams are reused, because libraries keep a workspace for each of them.
    free = [torch.cuda.Stream() if torch.cuda.is_available() else None for _ in range(at_once)]
    used: dict[int, torch.cuda.Stream | None] = {}
    waiting = list(range(len(starts)))[::-1]
    running: dict[int, Iterator[TrainingOutcome | None]] = {}
    while waiting or running:
        while waiting and len(running) < at_once:
            number = waiting.pop()
            try:
                used[number] = free.pop()
                running[number] = starts[number](used[number])
            except (
                Exception
            ) as error:  # a failing run must not stop the others; its error is passed to `done`
                free.append(used.pop(number))
                done(number, error)
        for number in list(running):
            ended: TrainingOutcome | Exception | None
            try:
                ended = next(running[number])
            except (
                Exception
            ) as error:  # a failing run must not stop the others; its error is passed to `done`
                ended = error
            if ended is not None:
                del running[number]
                free.append(used.pop(number))
                done(number, ended)
                # A graph keeps its memory until it is collected; later runs need it.
                del ended
                gc.collect()
                if torch.cuda.is_available():
                    torch.cuda.empty_cache()
