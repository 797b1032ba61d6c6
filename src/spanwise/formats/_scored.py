"""Spans with scores, as taggers and pipelines give them."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, nan
from typing import Any

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
    return isinstance(record, list) and all(
        isinstance(one, Mapping) and "end" in one and any(key in one for key in LABELS) for one in record
    )


def whole_spans(listed: list[Any]) -> list[Any]:
    """The spans, where those of a pipeline without aggregation, one per word piece, are joined to mentions.

    A piece `I-X` continues the piece before it of the same label; the score is the mean of the pieces.
    """
    if not all(
        isinstance(one, Mapping) and {"index", "entity", "start", "end"} <= one.keys() for one in listed
    ):
        return listed
    joined: list[list[Mapping[str, Any]]] = []
    for one in listed:
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
