"""Scores of tag sequences, as in `seqeval.metrics.sequence_labeling`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from spanwise.compat._report import (
    WARN_FOR,
    Scores,
    Tags,
    accuracy,
    check_consistent_length,
    check_options,
    flat,
    lenient_report,
    scores,
    spans_of,
)
from spanwise.compat._tags import SchemeToken, chunk_ends, chunk_starts, tally
from spanwise.compat.seqeval.metrics import v1
from spanwise.compat.seqeval.metrics.v1 import Sentences


def precision_recall_fscore_support(
    y_true: Sentences,
    y_pred: Sentences,
    *,
    average: str | None = None,
    warn_for: Collection[str] = WARN_FOR,
    beta: float = 1.0,
    sample_weight: Sequence[int] | None = None,
    zero_division: str | float = "warn",
    suffix: bool = False,
) -> Scores:
    """Precision, recall, F and support of leniently read mentions, per label or averaged.

    As in seqeval, `sample_weight` is ignored.

    Examples:
        >>> y_true = [["O", "B-MISC", "I-MISC"], ["B-PER", "I-PER", "O"]]
        >>> y_pred = [["B-MISC", "I-MISC", "I-MISC"], ["B-PER", "I-PER", "O"]]
        >>> [score.tolist() for score in precision_recall_fscore_support(y_true, y_pred)]
        [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [1, 1]]
    """
    check_options(average, beta)
    check_consistent_length(y_true, y_pred)
    _, *counts = tally(spans_of(y_true, suffix), spans_of(y_pred, suffix))
    return scores(*counts, average=average, warn_for=warn_for, beta=beta, zero_division=zero_division)


def get_entities(seq: Tags, suffix: bool = False) -> list[tuple[str, int, int]]:
    """The mentions of a list of tags as (label, first token, last token).

    In a list of lists, positions count one extra token after every sentence.

    Examples:
        >>> get_entities(["B-PER", "I-PER", "O", "B-LOC"])
        [('PER', 0, 1), ('LOC', 3, 3)]
    """
    spans = spans_of(seq, suffix)
    return [
        (spans.types[code], start, end - 1)
        for code, start, end in zip(
            spans.type.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True
        )
    ]


def end_of_chunk(prev_tag: str, tag: str, prev_type: str, type_: str) -> bool:
    """Whether a mention ends between two tokens with these letters and types."""
    return chunk_ends(prev_tag, tag, same=prev_type == type_)


def start_of_chunk(prev_tag: str, tag: str, prev_type: str, type_: str) -> bool:
    """Whether a mention starts between two tokens with these letters and types."""
    return chunk_starts(prev_tag, tag, same=prev_type == type_)


def _score(
    number: int,
    name: str,
    y_true: Sentences,
    y_pred: Sentences,
    *,
    mode: str | None,
    scheme: type[SchemeToken] | None,
    **options: Any,
) -> Any:
    """One of precision, recall and F; strict only if both mode and scheme are given, as in seqeval."""
    if mode == "strict" and scheme:
        return v1.precision_recall_fscore_support(y_true, y_pred, scheme=scheme, warn_for=(name,), **options)[
            number
        ]
    return precision_recall_fscore_support(y_true, y_pred, warn_for=(name,), **options)[number]


def f1_score(
    y_true: Sentences,
    y_pred: Sentences,
    *,
    average: str | None = "micro",
    suffix: bool = False,
    mode: str | None = None,
    sample_weight: Sequence[int] | None = None,
    zero_division: str | float = "warn",
    scheme: type[SchemeToken] | None = None,
) -> Any:
    """The F1 of the mentions.

    Examples:
        >>> float(f1_score([["B-PER", "O"]], [["B-PER", "B-PER"]]))
        0.6666666666666666
    """
    return _score(
        2,
        "f-score",
        y_true,
        y_pred,
        average=average,
        suffix=suffix,
        mode=mode,
        sample_weight=sample_weight,
        zero_division=zero_division,
        scheme=scheme,
    )


def precision_score(
    y_true: Sentences,
    y_pred: Sentences,
    *,
    average: str | None = "micro",
    suffix: bool = False,
    mode: str | None = None,
    sample_weight: Sequence[int] | None = None,
    zero_division: str | float = "warn",
    scheme: type[SchemeToken] | None = None,
) -> Any:
    """The precision of the mentions.

    Examples:
        >>> float(precision_score([["B-PER", "O"]], [["B-PER", "B-PER"]]))
        0.5
    """
    return _score(
        0,
        "precision",
        y_true,
        y_pred,
        average=average,
        suffix=suffix,
        mode=mode,
        sample_weight=sample_weight,
        zero_division=zero_division,
        scheme=scheme,
    )


def recall_score(
    y_true: Sentences,
    y_pred: Sentences,
    *,
    average: str | None = "micro",
    suffix: bool = False,
    mode: str | None = None,
    sample_weight: Sequence[int] | None = None,
    zero_division: str | float = "warn",
    scheme: type[SchemeToken] | None = None,
) -> Any:
    """The recall of the mentions.

    Examples:
        >>> float(recall_score([["B-PER", "B-PER"]], [["B-PER", "O"]]))
        0.5
    """
    return _score(
        1,
        "recall",
        y_true,
        y_pred,
        average=average,
        suffix=suffix,
        mode=mode,
        sample_weight=sample_weight,
        zero_division=zero_division,
        scheme=scheme,
    )


def accuracy_score(y_true: Tags, y_pred: Tags) -> float:
    """The share of tags that are equal.

    Examples:
        >>> accuracy_score([["B-PER", "O"]], [["B-PER", "B-PER"]])
        0.5
    """
    return accuracy(y_true, y_pred)


def performance_measure(y_true: Tags, y_pred: Tags) -> dict[str, int]:
    """Counts of tags: TP equal and not O, FP a wrong tag other than O, FN an O instead of a tag, TN O for O.

    Examples:
        >>> performance_measure([["B-PER", "O", "B-LOC"]], [["B-PER", "B-LOC", "O"]])
        {'TP': 1, 'FP': 1, 'FN': 1, 'TN': 0}
    """
    totals = {"TP": 0, "FP": 0, "FN": 0, "TN": 0}
    for (true, predicted), number in Counter(zip(*flat(y_true, y_pred), strict=False)).items():
        if true == predicted:
            totals["TN" if true == "O" else "TP"] += number
        else:
            totals["FN" if predicted == "O" else "FP"] += number
    return totals


def classification_report(
    y_true: Sentences,
    y_pred: Sentences,
    digits: int = 2,
    suffix: bool = False,
    output_dict: bool = False,
    mode: str | None = None,
    sample_weight: Sequence[int] | None = None,
    zero_division: str | float = "warn",
    scheme: type[SchemeToken] | None = None,
) -> Any:
    """The scores of every label and their averages, as a table or a dict.

    In mode "strict" without a scheme, the scheme is detected from `y_true`.

    Examples:
        >>> print(classification_report([["B-PER", "B-LOC"]], [["B-PER", "B-PER"]], zero_division=0))
                      precision    recall  f1-score   support
        <BLANKLINE>
                 LOC       0.00      0.00      0.00         1
                 PER       0.50      1.00      0.67         1
        <BLANKLINE>
           micro avg       0.50      0.50      0.50         2
           macro avg       0.25      0.50      0.33         2
        weighted avg       0.25      0.50      0.33         2
        <BLANKLINE>
    """
    if mode == "strict":
        return v1.classification_report(
            y_true,
            y_pred,
            digits=digits,
            output_dict=output_dict,
            sample_weight=sample_weight,
            zero_division=zero_division,
            scheme=scheme,
            suffix=suffix,
        )
    return lenient_report(
        y_true, y_pred, digits=digits, suffix=suffix, output_dict=output_dict, zero_division=zero_division
    )
