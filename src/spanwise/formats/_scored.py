"""Spans with scores, as taggers and pipelines give them."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, nan
from typing import Any

import numpy as np

from spanwise.errors import InputError

SCORES = ("score", "confidence", "probability")  # the keys under which a span says how confident it is
LABELS = ("label", "type", "entity", "entity_group", "tag", "name")


def score_of(span: Any, place: str) -> float:
    """How confident the system is of a span, an object or a list of four; NaN where it does not say."""
    given = None
    if isinstance(span, Mapping):
        given = next((span[key] for key in SCORES if span.get(key) is not None), None)
    elif len(span) > 3:
        given = span[3]
    if given is None:
        return nan
    try:
        score = nan if isinstance(given, bool | str) else float(given)
    except (TypeError, ValueError, OverflowError):
        score = nan
    if not isfinite(score):
        short = repr(span) if len(repr(span)) <= 60 else repr(span)[:60] + "…"
        raise InputError(
            f"{place}: the score {given!r} of {short} is not a finite number.\n"
            "Give a number, or leave the score out."
        )
    return score


def is_spans(record: Any) -> bool:
    """Whether a record is a list of spans alone, as pipelines of Hugging Face and GLiNER give it."""
    return isinstance(record, list | tuple) and all(
        isinstance(one, Mapping) and "end" in one and any(key in one for key in LABELS) for one in record
    )


def is_records(given: Any) -> bool:
    """Whether a list holds records as lines of JSON do, or what a pipeline of Hugging Face gives.

    Lists of spans alone count tokens, unless they are a pipeline's: those name the words they are.

    Examples:
        >>> is_records([{"tokens": ["Rome"], "tags": ["B-LOC"]}]), is_records([[(0, 1, "LOC")]])
        (True, False)
        >>> is_records([[], [{"entity_group": "LOC", "score": 0.9, "word": "Rome", "start": 0, "end": 4}]])
        True
    """
    if not isinstance(given, list | tuple) or not given:
        return False
    if all(isinstance(one, Mapping) for one in given) or all(map(_is_pair, given)):
        return True
    spans = [span for one in given if is_spans(one) for span in one]
    return all(map(is_spans, given)) and any(map(_is_of_pipeline, spans))


def _is_pair(one: Any) -> bool:
    """Whether this is spaCy's old form of a record: the text and {"entities": …}."""
    return (
        isinstance(one, list | tuple)
        and len(one) == 2
        and isinstance(one[0], str)
        and isinstance(one[1], Mapping)
    )


def _is_of_pipeline(span: Mapping[str, Any]) -> bool:
    return any(key in span for key in ("entity_group", "entity", "word", "text"))


def whole_spans(listed: list[Any]) -> list[Any]:
    """The spans, where those of a pipeline without aggregation, one per word piece, are joined to mentions.

    A piece `I-X` continues the piece before it of the same label; the score is the mean of the pieces.
    """
    if not all(
        isinstance(one, Mapping) and {"index", "entity", "start", "end"} <= one.keys() for one in listed
    ):
        return listed
    joined: list[list[Mapping[str, Any]]] = []
    for one in (one for one in listed if one["entity"] != "O"):
        mark, _, label = str(one["entity"]).partition("-")
        before = joined[-1][-1] if joined else None
        follows = before is not None and one["index"] == before["index"] + 1
        if (
            mark == "I"
            and follows
            and before is not None
            and str(before["entity"]).partition("-")[2] == label
        ):
            joined[-1].append(one)
        else:
            joined.append([one])
    return [
        {
            "start": pieces[0]["start"],
            "end": pieces[-1]["end"],
            "label": str(pieces[0]["entity"]).partition("-")[2] or str(pieces[0]["entity"]),
            "score": sum(float(one["score"]) for one in pieces) / len(pieces),
        }
        if all(isinstance(one.get("score"), int | float) for one in pieces)
        else pieces[0]
        for pieces in joined
    ]


def plain(value: Any) -> Any:
    """The value as JSON would hold it: tuples and arrays as lists, NumPy's numbers as Python's."""
    if isinstance(value, str | int | float) or value is None:
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return plain(value.tolist()) if isinstance(value, np.ndarray | np.generic) else value
