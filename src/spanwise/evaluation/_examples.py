"""The sentences of the result document: tokens, mentions, and what happened to each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from msgspec import UNSET

from spanwise.attributes import SUBSETS as SUBSET_NAMES
from spanwise.columns import Bools, Column, Ints
from spanwise.corpus import Corpus, Mentions
from spanwise.document.scores import Outcome, Subset
from spanwise.document.sentences import GoldMention, PredictedMention, Sentence
from spanwise.evaluation._dataset import Dataset
from spanwise.evaluation._measures import OUTCOME, Side
from spanwise.evaluation._system import Evaluated
from spanwise.matching import OUTCOMES as NAMES

OUTCOMES = cast("Sequence[Outcome]", NAMES)
SUBSETS = cast("Sequence[Subset]", SUBSET_NAMES)


def examples(
    data: Dataset, systems: Mapping[str, Evaluated], *, policy: str, cap: int, redact: bool
) -> tuple[list[Sentence], int]:
    """The sentences that the policy asks for, at most `cap` of them, and how many there are in all."""
    chosen = chosen_sentences(data, systems, policy)
    return written_sentences(data, systems, chosen[:cap], redact=redact), len(chosen)


def chosen_sentences(data: Dataset, systems: Mapping[str, Evaluated], policy: str) -> Ints:
    """The numbers of the sentences that the policy asks for, those with errors first."""
    if policy == "none":
        return np.zeros(0, dtype=np.int64)
    wrong = np.zeros(len(data.inputs.corpus), dtype=bool)
    for one in systems.values():
        gold, predicted = one.case.gold, one.case.predicted
        wrong[gold.sentence[one.matching.gold_outcome != OUTCOME["TP"]]] = True
        wrong[predicted.sentence[one.matching.predicted_outcome != OUTCOME["TP"]]] = True
    first, rest = np.flatnonzero(wrong), np.flatnonzero(~wrong)
    return {"errors": first, "correct": rest, "all": np.concatenate([first, rest])}[policy]


def written_sentences(
    data: Dataset, systems: Mapping[str, Evaluated], chosen: Ints, *, redact: bool
) -> list[Sentence]:
    """The sentences of these numbers, with what happened to each of their mentions."""
    return _Writer(data, systems, redact=redact).sentences(chosen.tolist())


class _Writer:
    """Writes sentences; columns become lists once, for the mentions of the chosen sentences only."""

    def __init__(self, data: Dataset, systems: Mapping[str, Evaluated], *, redact: bool) -> None:
        self._data = data
        self._systems = systems
        self._redact = redact
        self._attributes = [name for name, one in data.facts.attributes.items() if one.unit == "mention"]

    def sentences(self, chosen: Sequence[int]) -> list[Sentence]:
        """The sentences of these numbers."""
        corpus = self._data.inputs.corpus
        wanted = np.zeros(len(corpus), dtype=bool)
        wanted[list(chosen)] = True
        gold = self._gold(wanted)
        predicted = {name: self._predicted(one, wanted) for name, one in self._systems.items()}
        return [
            Sentence(
                **self._text(corpus, number),
                gold=gold.get(number, []),
                systems={name: rows.get(number, []) for name, rows in predicted.items()},
            )
            for number in chosen
        ]

    def _text(self, corpus: Corpus, number: int) -> dict[str, Any]:
        documents = corpus.document_of_sentence
        document = None
        if documents is not None:
            place = int(documents[number])
            document = self._named(corpus.document_ids, place)
        row: dict[str, Any] = {
            "id": self._named(corpus.ids, number),
            "source": corpus.place(number),
            "document": document,
        }
        if self._redact or corpus.without_text:
            row["length"] = int(corpus.lengths[number]) or None
        elif corpus.unit == "character" and corpus.texts is not None:
            row["text"] = corpus.texts[number]
        else:
            row["tokens"] = corpus.words(number)
        return row

    def _named(self, names: Sequence[str] | None, number: int) -> str:
        """The name of a sentence or document; names that the data give (a tuple) are text to redact."""
        if names is None or (self._redact and isinstance(names, tuple)):
            return str(number)
        return names[number]

    def _gold(self, wanted: Bools) -> dict[int, list[GoldMention]]:
        data, gold = self._data, self._data.gold
        chosen = np.flatnonzero(wanted[gold.sentence])
        spans = _spans(gold, chosen)
        buckets = self._buckets(chosen, data.gold_sides)
        inner = {
            name: _within(one.case.predicted.sentence, one.matching.gold_partner[chosen])
            for name, one in self._systems.items()
        }
        outcomes = {name: one.matching.gold_outcome[chosen].tolist() for name, one in self._systems.items()}
        tough = None if data.toughness is None else data.toughness.member[chosen]
        rows = [
            GoldMention(
                start=start,
                end=end,
                label=label,
                parts=parts,
                outcome={name: OUTCOMES[codes[i]] for name, codes in outcomes.items()},
                partner={name: places[i] for name, places in inner.items()},
                tough=UNSET if tough is None else [SUBSETS[at] for at in np.flatnonzero(tough[i]).tolist()],
                buckets=buckets[i],
            )
            for i, (start, end, label, parts) in enumerate(spans)
        ]
        return _grouped(gold.sentence[chosen], rows)

    def _predicted(self, one: Evaluated, wanted: Bools) -> dict[int, list[PredictedMention]]:
        predicted = one.case.predicted
        chosen = np.flatnonzero(wanted[predicted.sentence])
        buckets = self._buckets(chosen, one.predicted_sides)
        partner = _within(one.case.gold.sentence, one.matching.predicted_partner[chosen])
        outcome = one.matching.predicted_outcome[chosen].tolist()
        said = None if self._redact else predicted.fields.get("answer")
        rows = [
            PredictedMention(
                start=start,
                end=end,
                label=label,
                parts=parts,
                outcome=OUTCOMES[outcome[i]],
                partner=partner[i],
                buckets=buckets[i],
                answer=UNSET if said is None or start >= 0 else str(said[chosen[i]]),
            )
            for i, (start, end, label, parts) in enumerate(_spans(predicted, chosen))
        ]
        return _grouped(predicted.sentence[chosen], rows)

    def _buckets(self, chosen: Ints, sides: Mapping[str, Side]) -> list[dict[str, str]]:
        """The names of the buckets that each chosen mention lies in, by attribute of mentions."""
        result: list[dict[str, str]] = [{} for _ in range(len(chosen))]
        for name in self._attributes:
            names = [bucket.name for bucket in self._data.facts.bucketings[name].buckets]
            for row, number in zip(result, sides[name].bucket[chosen].tolist(), strict=True):
                row[name] = names[number]
        return result


_Span: TypeAlias = tuple[int, int, str, Sequence[tuple[int, int]]]


def _spans(mentions: Mentions, chosen: Ints) -> list[_Span]:
    """Start, end, label, and the parts of mentions that have several."""
    taken = mentions.take(chosen)
    rows = taken.rows()
    if taken.parts is None:
        return [(start, end, label, ()) for _, start, end, label in rows]
    return [
        (start, end, label, list(pieces) if len(pieces) > 1 else ())
        for (_, start, end, label), pieces in zip(rows, taken.pieces(), strict=True)
    ]


def _within(sentence: Ints, row: Ints) -> list[int | None]:
    """The place of rows among the mentions of their sentence; None for none (-1)."""
    if len(sentence) == 0:
        return [None] * len(row)
    first = np.searchsorted(sentence, sentence[row])
    return [int(a - b) if a >= 0 else None for a, b in zip(row.tolist(), first.tolist(), strict=True)]


T = TypeVar("T")


def _grouped(sentence: Column, rows: Sequence[T]) -> dict[int, list[T]]:
    groups: dict[int, list[T]] = {}
    for number, row in zip(sentence.tolist(), rows, strict=True):
        groups.setdefault(number, []).append(row)
    return groups
