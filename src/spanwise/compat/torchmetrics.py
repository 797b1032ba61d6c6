"""`spanwise.Metric` as a torchmetrics metric, for Lightning and distributed training."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import torch
import torchmetrics

from spanwise.compat.evaluate import tagged
from spanwise.metric import Metric

MOST_KEPT = 64  # batches before their states are merged to one
_HEADER = 8  # bytes in front of a state: its length, since torchmetrics concatenates those of a process
SCORES = ("precision", "recall", "f1", "accuracy")


class SpanMetric(torchmetrics.Metric):
    """Exact scores of mentions; the states of all processes are merged before `compute`.

    Args:
        names: the tags in the order of their ids, for tensors of ids or logits. Positions whose target is
            -100 do not count. Without it, give lists of tags or spans.
        intervals: also return the ends of 95% intervals, as "f1_low" and "f1_high".
        per_label: also return "PER_f1" and so on.
        scheme, labels, beta, most_units: as in `spanwise.Metric`.

    Examples:
        >>> metric = SpanMetric(names=["O", "B-PER", "I-PER"])
        >>> metric.update(torch.tensor([[1, 2, 0]]), torch.tensor([[1, 2, -100]]))
        >>> metric.compute()["f1"]
        tensor(1., dtype=torch.float64)
        >>> metric.metric.compute()["gold"]
        1
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True
    states: list[torch.Tensor]

    def __init__(
        self,
        *,
        names: Sequence[str] | None = None,
        intervals: bool = False,
        per_label: bool = False,
        scheme: str = "IOB2",
        labels: Sequence[str] | None = None,
        beta: float | Sequence[float] | None = None,
        most_units: int = 100_000,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.names, self.intervals, self.per_label = names, intervals, per_label
        self._arguments: dict[str, Any] = {
            "scheme": scheme,
            "labels": labels,
            "beta": beta,
            "most_units": most_units,
        }
        self._batch = Metric(**self._arguments)
        self._more = [*SCORES, *self._batch.betas]
        self.add_state("states", default=[], dist_reduce_fx="cat")

    def update(self, preds: Any, target: Any) -> None:
        """Add a batch: tensors of ids or logits with `names`, otherwise lists as `spanwise.Metric` takes."""
        if self.names is not None:
            preds, target = tagged(_array(preds), _array(target), self.names)
        self._batch.reset()  # what it knows of tags stays
        self._batch.update(target, preds)
        self.states.append(_packed(self._batch, self.device))
        if len(self.states) > MOST_KEPT:
            self.states = [_packed(self.metric, self.device)]

    def sync(self, *args: Any, **options: Any) -> None:
        """Collect the states of all processes; one that has seen no batch takes part with an empty state."""
        if isinstance(self.states, list) and not self.states:
            self.states = [_packed(Metric(**self._arguments), self.device)]
        super().sync(*args, **options)

    @property
    def metric(self) -> Metric:
        """Everything counted so far, in all processes once they are synchronised, as a `spanwise.Metric`."""
        states = self.states if isinstance(self.states, list) else [self.states]
        return reduce(
            _merged, (state for each in states for state in _unpacked(each)), Metric(**self._arguments)
        )

    def compute(self) -> dict[str, torch.Tensor]:
        """The scores as scalars that `log_dict` takes; undefined ones are NaN."""
        scores = self.metric.compute(intervals=self.intervals)
        named = {"": scores}
        if self.per_label:
            named |= {f"{label}_": cell for label, cell in scores["labels"].items()}
        result: dict[str, float | None] = {}
        for before, cell in named.items():
            result |= {f"{before}{name}": cell[name] for name in self._more if name in cell}
            for name, ends in cell.get("interval", {}).items():
                low, high = ends or (None, None)
                result |= {f"{before}{name}_low": low, f"{before}{name}_high": high}
        nan = float("nan")
        return {
            name: torch.tensor(nan if value is None else value, dtype=torch.float64, device=self.device)
            for name, value in result.items()
        }


def _array(values: Any) -> Any:
    return values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else values


def _packed(metric: Metric, device: Any) -> torch.Tensor:
    data = metric.to_bytes()
    framed = bytearray(len(data).to_bytes(_HEADER, "little") + data)
    return torch.frombuffer(framed, dtype=torch.uint8).to(device)


def _unpacked(states: torch.Tensor) -> Iterable[Metric]:
    data = states.cpu().numpy().tobytes()
    while data:
        end = _HEADER + int.from_bytes(data[:_HEADER], "little")
        yield Metric.of_bytes(data[_HEADER:end])
        data = data[end:]


def _merged(one: Metric, other: Metric) -> Metric:
    one.merge(other)
    return one
