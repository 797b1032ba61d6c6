"""Hugging Face interfaces: the metric `evaluate.load("seqeval")`, and `compute_metrics` for a Trainer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from spanwise.columns import Bools, Ints, offsets
from spanwise.compat import _tags as schemes
from spanwise.compat._report import accuracy, lenient_report, strict_report
from spanwise.document.scores import SystemScores
from spanwise.errors import ChoiceError, InputError, many, unknown
from spanwise.formats import from_tags
from spanwise.metric import Metric
from spanwise.schemes import encode

IGNORED = -100  # the label of positions that do not count, as in PyTorch's loss
_SCHEMES = ("IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU")


class Seqeval:
    """The seqeval metric of `evaluate`: collect sentences with `add` and `add_batch`, then call `compute`.

    Examples:
        >>> metric = load("seqeval")
        >>> scores = metric.compute(predictions=[["B-PER", "O"]], references=[["B-PER", "B-PER"]])
        >>> sorted(scores)
        ['PER', 'overall_accuracy', 'overall_f1', 'overall_precision', 'overall_recall']
        >>> metric.add(prediction=["O"], reference=["B-PER"])
        >>> metric.add_batch(predictions=[["B-PER"]], references=[["B-PER"]])
        >>> float(scores["overall_recall"]), float(metric.compute()["overall_recall"])
        (0.5, 0.5)
    """

    name = "seqeval"

    def __init__(self, **options: object) -> None:
        self._options = options
        self._predictions: list[list[str]] = []
        self._references: list[list[str]] = []

    def add(self, *, prediction: Sequence[str], reference: Sequence[str]) -> None:
        """Add one sentence."""
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: Iterable[Sequence[str]], references: Iterable[Sequence[str]]) -> None:
        """Add several sentences."""
        self._predictions.extend(list(row) for row in predictions)
        self._references.extend(list(row) for row in references)

    def compute(
        self,
        *,
        predictions: Iterable[Sequence[str]] | None = None,
        references: Iterable[Sequence[str]] | None = None,
        **options: Any,
    ) -> dict[str, float | dict[str, float]]:
        """Return the scores over the sentences added before and those passed here, then reset.

        The result has `precision`, `recall`, `f1` and `number` for every label, and `overall_precision`,
        `overall_recall`, `overall_f1` and `overall_accuracy`. The options are `suffix`, `scheme` (a name),
        `mode`, `sample_weight` and `zero_division`, as in seqeval.
        """
        if predictions is not None or references is not None:
            self.add_batch(predictions=predictions or (), references=references or ())
        predicted, gold = self._predictions, self._references
        self._predictions, self._references = [], []
        if not gold and not predicted:
            raise InputError(
                "there is nothing to compute.\nPass predictions and references, or add them first."
            )
        return scores(gold, predicted, **{**self._options, **options})


class Spanwise:
    """A `spanwise.Metric` with the methods of evaluate's metrics: `add`, `add_batch` and `compute`.

    Unlike "seqeval", it keeps counts rather than sentences, returns None for undefined scores, and can
    return intervals.

    Examples:
        >>> metric = load("spanwise")
        >>> metric.add(prediction=["O"], reference=["O"])
        >>> metric.add_batch(predictions=[["B-PER", "O"]], references=[["B-PER", "B-PER"]])
        >>> metric.compute()["recall"]
        0.5
    """

    name = "spanwise"

    def __init__(self, **options: Any) -> None:
        self.metric = Metric(**options)

    def add(self, *, prediction: Any, reference: Any) -> None:
        """Add one sentence."""
        self.metric.update([reference], [prediction])

    def add_batch(self, *, predictions: Iterable[Any], references: Iterable[Any]) -> None:
        """Add several sentences: lists of tags, lists of spans, or records."""
        self.metric.update(references, predictions)

    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        intervals: bool = False,
    ) -> dict[str, Any]:
        """Return the scores over the sentences added before and those passed here, then reset."""
        if predictions is not None or references is not None:
            self.metric.update(references or (), predictions or ())
        result = self.metric.compute(intervals=intervals)
        self.metric.reset()
        return result


@overload
def load(path: Literal["seqeval"] = "seqeval", **options: Any) -> Seqeval: ...


@overload
def load(path: Literal["spanwise"], **options: Any) -> Spanwise: ...


@overload
def load(path: str, **options: Any) -> Seqeval | Spanwise: ...


def load(path: str = "seqeval", **options: Any) -> Seqeval | Spanwise:
    """Load a metric by name, as `evaluate.load` does: "seqeval", or "spanwise" for `spanwise.Metric`.

    Examples:
        >>> metric = load("seqeval")
        >>> float(metric.compute(predictions=[["B-PER"]], references=[["B-PER"]])["overall_f1"])
        1.0
    """
    if path not in ("seqeval", "spanwise"):
        raise unknown("metric", path, ["seqeval", "spanwise"])
    return Seqeval(**options) if path == "seqeval" else Spanwise(**options)


def scores(
    references: list[list[str]],
    predictions: list[list[str]],
    *,
    suffix: bool = False,
    scheme: str | None = None,
    mode: str | None = None,
    sample_weight: Sequence[int] | None = None,
    zero_division: str | float = "warn",
) -> dict[str, float | dict[str, float]]:
    """The scores of evaluate's seqeval metric, in its structure; `sample_weight` is ignored."""
    if scheme is not None and scheme not in _SCHEMES:
        raise ValueError(f"Scheme should be one of [{', '.join(_SCHEMES)}], got {scheme}")
    chosen = getattr(schemes, scheme) if scheme is not None else None
    if mode == "strict":
        report = strict_report(
            references,
            predictions,
            digits=2,
            suffix=suffix,
            output_dict=True,
            zero_division=zero_division,
            scheme=chosen,
        )
    else:
        report = lenient_report(
            references, predictions, digits=2, suffix=suffix, output_dict=True, zero_division=zero_division
        )
    assert isinstance(report, dict)
    overall = report.pop("micro avg")
    del report["macro avg"], report["weighted avg"]
    result: dict[str, float | dict[str, float]] = {
        label: {
            "precision": row["precision"],
            "recall": row["recall"],
            "f1": row["f1-score"],
            "number": row["support"],
        }
        for label, row in report.items()
    }
    result |= {
        "overall_precision": overall["precision"],
        "overall_recall": overall["recall"],
        "overall_f1": overall["f1-score"],
        "overall_accuracy": accuracy(references, predictions),
    }
    return result


def make_compute_metrics(
    label_list: Sequence[str],
    *,
    entity_level: bool = False,
    word_ids: Sequence[Sequence[int | None]] | None = None,
    fair: bool = False,
    tokens: Sequence[Sequence[str]] | None = None,
    train: object = None,
    attributes: str | Sequence[str] = "none",
    intervals: bool = False,
    **options: Any,
) -> Callable[[Any], dict[str, float]]:
    """Make a `compute_metrics` function for `transformers.Trainer`.

    It takes logits or label ids and returns `precision`, `recall`, `f1` and `accuracy`, as in the token
    classification example of transformers. `accuracy` is spanwise's token accuracy, so that the name always
    means the same in a tracker: unlike in evaluate's metric, impossible tags are repaired first.

    Args:
        label_list: the tags in the order of their ids.
        entity_level: also return `PER_precision`, `PER_f1`, `PER_number` … for every label.
        word_ids: the word of every sub-word, for data in which all sub-words are labelled: only the first
            sub-word of each word counts. Without it, every position whose label is not -100 counts.
        fair: also return `fair_precision`, `fair_recall`, `fair_f1` and the number of errors of each kind.
        tokens: the words of the evaluation set, one for each label; required by the following options.
        train: the training data, a file or anything that can be read, for `tough_SEEN_recall` and so on.
        attributes: attributes whose buckets to score, as `entity_length_XS_f1`.
        intervals: also return the bounds of the 95% intervals of all returned scores, as `f1_low` and
            `f1_high`; they equal those of `spanwise.evaluate`, and undefined ones are left out.
        options: `suffix`, `scheme`, `mode` and `zero_division` of seqeval.

    Examples:
        >>> compute_metrics = make_compute_metrics(["O", "B-PER"])
        >>> compute_metrics((np.array([[0, 1, 1]]), np.array([[0, 1, -100]])))["f1"]
        1.0
    """
    settings = {"zero_division": 0, **options}
    if tokens is None and (train is not None or attributes != "none"):
        raise ChoiceError(
            "tough mentions and buckets need the words.\nPass tokens=, one list of words per sentence."
        )

    if intervals and (other := sorted(options.keys() - {"zero_division"})):
        raise ChoiceError(
            f"intervals cannot be computed for scores with {', '.join(other)}.\n"
            "Leave out intervals=, or these options."
        )

    def compute_metrics(prediction: Any) -> dict[str, float]:
        outputs = getattr(prediction, "predictions", None)
        predicted, labels = (outputs, prediction.label_ids) if outputs is not None else tuple(prediction)[:2]
        predicted_tags, gold = tagged(predicted, labels, label_list, word_ids=word_ids)
        metrics = scores(gold, predicted_tags, **settings)
        result = {
            key.removeprefix("overall_"): float(value)
            for key, value in metrics.items()
            if not isinstance(value, dict)
        }
        result["accuracy"] = _accuracy(gold, predicted_tags)
        if entity_level:
            result |= {
                f"{label}_{key}": float(value)
                for label, row in metrics.items()
                if isinstance(row, dict)
                for key, value in row.items()
            }
        if fair or intervals or tokens is not None:
            system = _evaluated(gold, predicted_tags, tokens, train, attributes, intervals=intervals)
            result |= _reasons(system, fair=fair)
            if intervals:
                result |= _ends(system, labels=entity_level, fair=fair)
        return result

    return compute_metrics


def _accuracy(gold: list[list[str]], predictions: list[list[str]]) -> float:
    """Token accuracy as defined in spanwise: computed on tags after decoding and encoding them again."""
    true = from_tags(gold)
    predicted = from_tags(predictions, prefer=true.reading.scheme)
    sides = [
        encode(annotation.mentions, annotation.corpus.lengths, "IOB2") for annotation in (true, predicted)
    ]
    names = [np.array(side.names, dtype=object)[side.codes] for side in sides]
    return float(np.mean(names[0] == names[1])) if len(names[0]) else 0.0


def tagged(
    predictions: object,
    labels: object,
    label_list: Sequence[str],
    *,
    word_ids: Sequence[Sequence[int | None]] | None = None,
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the predicted and gold tags of every sentence, without ignored positions.

    Examples:
        >>> tagged([[0, 1, 0]], [[-100, 1, 0]], ["O", "B-PER"])
        ([['B-PER', 'O']], [['B-PER', 'O']])
    """
    names = np.array(list(label_list), dtype=object)
    predicted = np.asarray(predictions[0] if isinstance(predictions, tuple) else predictions)
    gold = np.asarray(labels)
    if predicted.ndim == gold.ndim + 1:
        predicted = predicted.argmax(axis=-1)
    if predicted.shape != gold.shape:
        raise InputError(
            f"predictions have the shape {predicted.shape}, but labels {gold.shape}.\n"
            "Both need one row per sentence and one column per sub-word; logits need one more axis."
        )
    counts = gold != IGNORED
    if word_ids is not None:
        counts &= _first_of_word(word_ids, gold.shape)
    beyond = int(max(gold[counts].max(initial=0), predicted[counts].max(initial=0)))
    if beyond >= len(names):
        raise InputError(
            f"there is a label id {beyond}, but label_list has {len(names)} labels.\n"
            "Pass all labels, in order."
        )
    borders = offsets(counts.sum(axis=1))
    return _split(names[predicted[counts]], borders), _split(names[gold[counts]], borders)


def _split(flat: npt.NDArray[np.object_], borders: Ints) -> list[list[str]]:
    listed = flat.tolist()
    return [listed[begin:end] for begin, end in pairwise(borders.tolist())]


def _first_of_word(word_ids: Sequence[Sequence[int | None]], shape: tuple[int, ...]) -> Bools:
    if len(word_ids) != shape[0]:
        raise InputError(
            f"word_ids are given for {many(len(word_ids), 'sentence')}, but labels for {shape[0]}.\n"
            "Pass one list for each sentence."
        )
    first = np.zeros(shape, dtype=bool)
    for row, words in enumerate(word_ids):
        before: int | None = None
        for column, word in enumerate(words[: shape[1]]):
            first[row, column] = word is not None and word != before
            before = word
    return first


def _evaluated(
    gold: list[list[str]],
    predictions: list[list[str]],
    tokens: Sequence[Sequence[str]] | None,
    train: object,
    attributes: str | Sequence[str],
    *,
    intervals: bool,
) -> SystemScores:
    from spanwise.evaluation import evaluate

    true = from_tags(gold, tokens=tokens)
    predicted = from_tags(predictions, tokens=tokens, prefer=true.reading.scheme)
    return evaluate(
        true,
        {"system": predicted},
        train=train,
        attributes=attributes,
        resamples=int(intervals),  # intervals do not depend on the number of resamples
        examples="none",
    )["system"]


def _reasons(scores: SystemScores, *, fair: bool) -> dict[str, float]:
    """Fair scores, recall of tough mentions and F1 of buckets as scalars, without undefined ones."""
    result: dict[str, float | None] = {}
    if fair:
        keys = ("precision", "recall", "f1", "LE", "BE", "LBE", "FN", "FP")
        result |= {f"fair_{key}": getattr(scores.fair.overall, key) for key in keys}
    result |= {f"tough_{subset}_recall": scored.overall.recall for subset, scored in scores.tough.items()}
    for name, attribute in scores.attributes.items():
        result |= {f"{name}_{bucket.name}_f1": bucket.f1 for bucket in attribute.buckets}
    return {key: float(value) for key, value in result.items() if value is not None}


def _ends(scores: SystemScores, *, labels: bool, fair: bool) -> dict[str, float]:
    """The bounds of intervals, named after their scores, without undefined ones."""
    scored = [("", "", scores.exact.overall.interval)]
    if labels:
        scored += [(f"{label}_", "", row.interval) for label, row in scores.exact.labels.items()]
    if fair:
        scored.append(("fair_", "", scores.fair.overall.interval))
    scored += [(f"tough_{subset}_", "recall", row.overall.interval) for subset, row in scores.tough.items()]
    for name, attribute in scores.attributes.items():
        scored += [(f"{name}_{bucket.name}_", "f1", bucket.interval) for bucket in attribute.buckets]
    ends = {
        f"{before}{score}_{side}": end
        for before, only, intervals in scored
        for score, bounds in intervals.items()
        if bounds is not None and only in ("", score)
        for side, end in zip(("low", "high"), bounds, strict=True)
    }
    return {name: end for name, end in ends.items() if end is not None}
