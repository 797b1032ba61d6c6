"""A metric for lm-evaluation-harness: `span_f1` for `process_results`, and aggregations over the corpus.

In the YAML file of a task, whose documents have the fields `text` and `entities` (the gold mentions):

    process_results: !function spanwise.scorers.lm_eval.span_f1
    metric_list:
      - {metric: f1, aggregation: !function spanwise.scorers.lm_eval.corpus_f1, higher_is_better: true}
      - {metric: recall, aggregation: !function spanwise.scorers.lm_eval.corpus_recall}
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from spanwise.scorers import corpus_score, count_sample

Row = tuple[int, int, int]  # gold, predicted, correct


def span_f1(
    document: Mapping[str, Any], results: Sequence[str | Sequence[str]], **options: Any
) -> dict[str, Row]:
    """The counts of a document under the metric `f1`, as a task's `process_results` returns them.

    Args:
        document: with the fields `text` and `entities`, the gold mentions.
        results: the responses, of which the first is scored. Where a filter keeps several of each request,
            as `take_first_k` does, their counts are added up: gold counts once for each.
        options: keywords of `spanwise.scorers.count_sample`.

    Examples:
        >>> span_f1({"text": "Ann left", "entities": [["Ann", "PER"]]}, ['{"PER": ["Ann"]}'])
        {'f1': (1, 1, 1)}
    """
    first = results[0]
    several = first if isinstance(first, list | tuple) else [first]
    rows = [count_sample(document["text"], document["entities"], said, **options).row for said in several]
    gold, predicted, correct, _ = map(sum, zip(*rows, strict=True))
    return {"f1": (gold, predicted, correct)}


def span_scores(
    document: Mapping[str, Any], results: Sequence[str | Sequence[str]], **options: Any
) -> dict[str, Row]:
    """Like `span_f1`, for tasks that list the metrics `f1`, `precision` and `recall`.

    Examples:
        >>> span_scores({"text": "Ann left", "entities": [["Ann", "PER"]]}, ['{"PER": []}'])["recall"]
        (1, 0, 0)
    """
    return dict.fromkeys(("f1", "precision", "recall"), span_f1(document, results, **options)["f1"])


def _corpus(items: Sequence[Row], name: str) -> float:
    value = getattr(corpus_score(items), name)
    return math.nan if value is None else float(value)


def corpus_f1(items: Sequence[Row]) -> float:
    """The F1 of all documents together; NaN where undefined.

    Examples:
        >>> round(corpus_f1([(2, 1, 1), (2, 2, 1)]), 3)  # the mean of the documents' F1 is 0.583
        0.571
    """
    return _corpus(items, "f1")


def corpus_precision(items: Sequence[Row]) -> float:
    """The precision of all documents together; NaN where undefined.

    Examples:
        >>> corpus_precision([(2, 1, 1), (2, 2, 1)])
        0.6666666666666666
    """
    return _corpus(items, "precision")


def corpus_recall(items: Sequence[Row]) -> float:
    """The recall of all documents together; NaN where undefined.

    Examples:
        >>> corpus_recall([(2, 1, 1), (2, 2, 1)])
        0.5
    """
    return _corpus(items, "recall")
