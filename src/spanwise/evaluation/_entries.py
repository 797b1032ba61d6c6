"""The entry in `inputs` of a file that was read in parts, as it is for a file that was read whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.description import input_entry
from spanwise.formats.parts import Survey, reading_of_survey


def survey_entry(
    role: str, one: Survey, *, layer: str, repairs: int, mentions: int, labels: Iterable[str]
) -> dict[str, Any]:
    """What was read, how, and what was mended on the way, from sums over the parts."""
    reading = reading_of_survey(one, layer, repairs=repairs, labels=sorted(set(labels)))
    return {
        **input_entry(role, Annotation(Corpus.of([]), Mentions.of([]), reading)),
        "sentences": one.sentences,
        "tokens": one.tokens,
        "mentions": mentions,
    }
