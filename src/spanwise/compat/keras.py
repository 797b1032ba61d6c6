"""A Keras callback that scores mentions on validation data at the end of every epoch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np

from spanwise.compat.evaluate import tagged
from spanwise.metric import Metric


class SpanScores(keras.callbacks.Callback):
    """Predict the validation data after every epoch, and add `val_span_f1` and so on to its logs.

    Place it before callbacks that read these logs, such as `EarlyStopping(monitor="val_span_f1")`.

    Args:
        batches: the validation data, read anew after every epoch: a list or dataset of (inputs, ids), where
            ids are those of tags and -100 marks positions that do not count.
        names: the tags in the order of their ids.
        prefix: what the names of the logs begin with.
        options: the arguments of `spanwise.Metric`.

    Examples:
        >>> model = keras.Sequential([keras.layers.Embedding(4, 3)])
        >>> scores = SpanScores([(np.array([[1, 2]]), np.array([[1, 0]]))], ["O", "B-PER", "I-PER"])
        >>> scores.set_model(model)
        >>> logs = {}
        >>> scores.on_epoch_end(0, logs)
        >>> sorted(logs)[-1]
        'val_span_recall'
    """

    def __init__(
        self, batches: Iterable[Any], names: Sequence[str], *, prefix: str = "val_span_", **options: Any
    ) -> None:
        super().__init__()
        self.batches, self.names, self.prefix = batches, names, prefix
        self.metric = Metric(**options)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Score the validation data; an undefined score is left out."""
        self.metric.reset()
        for inputs, ids, *_ in self.batches:
            predicted, gold = tagged(
                np.asarray(self.model.predict_on_batch(inputs)), np.asarray(ids), self.names
            )
            self.metric.update(gold, predicted)
        scores = self.metric.compute()
        for name in ("precision", "recall", "f1", *self.metric.betas):
            if logs is not None and scores[name] is not None:
                logs[f"{self.prefix}{name}"] = scores[name]
