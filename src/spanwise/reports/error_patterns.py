"""Which errors of a document belong to which pattern."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spanwise.columns import Ints, ints
from spanwise.corpus import Corpus, Mentions, Parts
from spanwise.document.evaluation import GoldMention, PredictedMention, Sentence
from spanwise.document.scores import Pattern
from spanwise.formats import read
from spanwise.matching import OUTCOMES, Events
from spanwise.patterns import KINDS, Kind, causes_of_errors

ErrorOfSentence = tuple[Sentence, str, GoldMention | None, PredictedMention | None]


def pattern_of_each(errors: Sequence[ErrorOfSentence], listed: Sequence[Pattern]) -> list[Pattern | None]:
    """The pattern that each error counts in: the first of those listed whose cause it has.

    An error is its sentence, its outcome, its gold and its predicted mention.
    """
    result: list[Pattern | None] = [None] * len(errors)
    if not errors or not listed:
        return result
    corpus = _corpus([sentence for sentence, *_ in errors])
    labels = sorted(
        {mention.label for *_, gold, predicted in errors for mention in (gold, predicted) if mention}
    )
    gold, first = _side([mention for *_, mention, _ in errors], labels)
    predicted, second = _side([mention for *_, mention in errors], labels)
    outcomes = np.array([OUTCOMES.index(outcome) for _, outcome, _, _ in errors], dtype=np.int8)
    events = Events(first, second, outcomes, np.zeros(len(errors), dtype=np.int8))
    names, rows, kinds, _, causes = causes_of_errors(corpus, gold, predicted, events)
    for row, kind, cause in zip(rows.tolist(), kinds.tolist(), causes.tolist(), strict=True):
        own = {names[index] for index in cause if index >= 0}
        result[row] = next(
            (pattern for pattern in listed if pattern.kind == _kind(kind) and _cause(pattern) in own), None
        )
    return result


def _kind(number: int) -> Kind:
    return KINDS[number]


def _cause(pattern: Pattern) -> tuple[str, str, str, str]:
    return pattern.cause, pattern.text, pattern.gold or "", pattern.predicted or ""


def _corpus(sentences: Sequence[Sentence]) -> Corpus:
    """A corpus with the sentence of each error."""
    if sentences[0].text:
        return read([{"text": sentence.text or "", "spans": []} for sentence in sentences]).corpus
    return Corpus.of([sentence.tokens or () for sentence in sentences])


def _side(
    mentions: Sequence[GoldMention | None] | Sequence[PredictedMention | None], labels: Sequence[str]
) -> tuple[Mentions, Ints]:
    """The mentions of one side of the errors, and the number of each error's mention, or -1."""
    present = [(row, mention) for row, mention in enumerate(mentions) if mention is not None]
    taken = Mentions.of(
        [(row, mention.start, mention.end, mention.label) for row, mention in present], labels=labels
    )
    if any(mention.parts for _, mention in present):
        pieces = [tuple(mention.parts or ((mention.start, mention.end),)) for _, mention in present]
        taken = Mentions(taken.sentence, taken.start, taken.end, taken.label, labels, Parts.of(pieces))
    number = np.full(len(mentions), -1)
    number[[row for row, _ in present]] = np.arange(len(present))
    return taken, ints(number)
