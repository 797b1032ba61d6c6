"""The mentions of a document that holds all of its sentences, as an evaluation in memory has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct, UnsetType
from msgspec.structs import replace

from spanwise.columns import Ints, ints
from spanwise.corpus import Mentions, Parts
from spanwise.document.evaluation import Evaluation, GoldMention, PredictedMention, Sentence, files_command
from spanwise.errors import ChoiceError
from spanwise.matching import OUTCOMES, Matching

Saved: TypeAlias = GoldMention | PredictedMention


class SavedSystem(Struct, frozen=True):
    """The mentions of gold and of one system, and how they were matched."""

    matching: Matching
    gold: Mentions
    predicted: Mentions


def saved_system(document: Evaluation, name: str) -> SavedSystem:
    """The mentions of a system as the sentences of the document have them.

    Raises:
        ChoiceError: the document does not hold every sentence.
    """
    sentences = all_sentences(document)
    gold = [row.gold for row in sentences]
    predicted = [row.systems[name] for row in sentences]
    every: list[Saved] = [mention for side in (gold, predicted) for row in side for mention in row]
    labels = sorted({mention.label for mention in every})
    return SavedSystem(
        Matching(
            np.array([OUTCOMES.index(mention.outcome[name]) for row in gold for mention in row], np.int8),
            _partners([[mention.partner[name] for mention in row] for row in gold], predicted),
            np.array([OUTCOMES.index(mention.outcome) for row in predicted for mention in row], np.int8),
            _partners([[mention.partner for mention in row] for row in predicted], gold),
        ),
        _mentions(gold, labels),
        _mentions(predicted, labels),
    )


def quotes(document: Evaluation) -> Callable[[int, int, int], str | None]:
    """A function that returns the text of a sentence from one position to another; None if it is left out."""
    live = document.in_memory
    if live is None or live.inputs is None:
        saved = all_sentences(document)
        texts = [None if isinstance(row.text, UnsetType) else row.text for row in saved]
        words = [() if isinstance(row.tokens, UnsetType) else row.tokens for row in saved]
    else:
        corpus, hidden = live.inputs.corpus, document.settings.redacted or live.inputs.corpus.without_text
        in_characters = corpus.unit == "character" and corpus.texts is not None
        texts = [*(corpus.texts or ())] if in_characters and not hidden else [None] * len(corpus)
        words = [() if hidden or in_characters else corpus.words(at) for at in range(len(corpus))]

    def quote(sentence: int, start: int, end: int) -> str | None:
        text = texts[sentence]
        return (" ".join(words[sentence][start:end]) if text is None else text[start:end]) or None

    return quote


def all_sentences(document: Evaluation) -> list[Sentence]:
    """The sentences of a document in the order of the data, if it holds all of them."""
    rows, size = document.sentences, document.dataset.sentences or 0
    if len(rows) < size:
        cap = f" --examples-cap {size}" if size > document.settings.examples_cap else ""
        raise ChoiceError(
            f"the document holds {len(rows):,} of {size:,} sentences, but every mention is needed.\nWrite it "
            f"with all of them: {files_command(document, 'evaluate')} --examples all{cap} --json FILE"
        )
    # Those with errors stand first. Lines of one file say the order, and so do numbers that stand for ids.
    places = [(row.source or "").rpartition(":") for row in rows]
    for numbers in ([place[2] for place in places], [str(row.id) for row in rows]):
        distinct = len(set(numbers)) == len(rows) and all(number.isdecimal() for number in numbers)
        if distinct and (len({place[0] for place in places}) == 1 or numbers[0] == str(rows[0].id)):
            order = sorted(range(len(rows)), key=lambda at: int(numbers[at]))
            return [rows[at] for at in order]
    return list(rows)


def _mentions(side: Sequence[Sequence[Saved]], labels: Sequence[str]) -> Mentions:
    listed = [(number, mention) for number, row in enumerate(side) for mention in row]
    mentions = Mentions.of(
        [(number, mention.start, mention.end, mention.label) for number, mention in listed], labels=labels
    )
    if not any(mention.parts for _, mention in listed):
        return mentions
    pieces = [mention.parts or ((mention.start, mention.end),) for _, mention in listed]
    return replace(mentions, parts=Parts.of(pieces))


def _partners(partners: Sequence[Sequence[int | None]], others: Sequence[Sequence[object]]) -> Ints:
    """Partners counted over all sentences instead of within their own; -1 where there is none."""
    before = np.cumsum([0, *(len(row) for row in others)]).tolist()
    return ints(
        [-1 if at is None else first + at for first, row in zip(before, partners, strict=False) for at in row]
    )
