"""The sentences of the result document: tokens, mentions, and what happened to each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spanwise.attributes import SUBSETS
from spanwise.columns import Bools, Column, Ints
from spanwise.corpus import Corpus, Mentions
from spanwise.evaluation._dataset import Dataset
from spanwise.evaluation._measures import OUTCOME, Side
from spanwise.evaluation._system import Evaluated
from spanwise.matching import OUTCOMES


def examples(
    data: Dataset, systems: Mapping[str, Evaluated], *, policy: str, cap: int, redact: bool
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The sentences that the policy asks for, at most `cap` of them, those with errors first."""
    chosen = _chosen(data, systems, policy)
    shown = chosen[:cap]
    sentences = _Writer(data, systems, redact=redact).sentences(shown)
    return sentences, {"policy": policy, "cap": cap, "shown": len(shown), "of": len(chosen)}


def _chosen(data: Dataset, systems: Mapping[str, Evaluated], policy: str) -> list[int]:
    wrong = np.zeros(len(data.inputs.corpus), dtype=bool)
    for one in systems.values():
        gold, predicted = one.case.gold, one.case.predicted
        wrong[gold.sentence[one.matching.gold_outcome != OUTCOME["TP"]]] = True
        wrong[predicted.sentence[one.matching.predicted_outcome != OUTCOME["TP"]]] = True
    if policy == "none":
        return []
    first: list[int] = np.flatnonzero(wrong).tolist()
    rest: list[int] = np.flatnonzero(~wrong).tolist()
    return {"errors": first, "correct": rest, "all": first + rest}[policy]


class _Writer:
    """Writes sentences; columns become lists once, for the mentions of the chosen sentences only."""

    def __init__(self, data: Dataset, systems: Mapping[str, Evaluated], *, redact: bool) -> None:
        self._data = data
        self._systems = systems
        self._redact = redact
        self._attributes = [name for name, one in data.facts.attributes.items() if one.unit == "mention"]

    def sentences(self, chosen: Sequence[int]) -> list[dict[str, Any]]:
        """The sentences of these numbers."""
        corpus = self._data.inputs.corpus
        wanted = np.zeros(len(corpus), dtype=bool)
        wanted[list(chosen)] = True
        gold = self._gold(wanted)
        predicted = {name: self._predicted(one, wanted) for name, one in self._systems.items()}
        return [
            {
                **self._text(corpus, number),
                "gold": gold.get(number, []),
                "systems": {name: rows.get(number, []) for name, rows in predicted.items()},
            }
            for number in chosen
        ]

    def _text(self, corpus: Corpus, number: int) -> dict[str, Any]:
        documents = corpus.document_of_sentence
        document = None
        if documents is not None:
            place = int(documents[number])
            document = corpus.document_ids[place] if corpus.document_ids is not None else str(place)
        row: dict[str, Any] = {
            "id": corpus.ids[number] if corpus.ids is not None else str(number),
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

    def _gold(self, wanted: Bools) -> dict[int, list[dict[str, Any]]]:
        data, gold = self._data, self._data.gold
        chosen = np.flatnonzero(wanted[gold.sentence])
        rows = _spans(gold, chosen)
        buckets = self._buckets(chosen, data.gold_sides)
        inner = {
            name: _within(one.case.predicted.sentence, one.matching.gold_partner[chosen])
            for name, one in self._systems.items()
        }
        outcomes = {name: one.matching.gold_outcome[chosen].tolist() for name, one in self._systems.items()}
        for i, row in enumerate(rows):
            row["outcome"] = {name: OUTCOMES[codes[i]] for name, codes in outcomes.items()}
            row["partner"] = {name: places[i] for name, places in inner.items()}
            if data.toughness is not None:
                member = data.toughness.member[chosen[i]]
                row["tough"] = [SUBSETS[place] for place in np.flatnonzero(member).tolist()]
            row["buckets"] = buckets[i]
        return _grouped(gold.sentence[chosen], rows)

    def _predicted(self, one: Evaluated, wanted: Bools) -> dict[int, list[dict[str, Any]]]:
        predicted = one.case.predicted
        chosen = np.flatnonzero(wanted[predicted.sentence])
        rows = _spans(predicted, chosen)
        buckets = self._buckets(chosen, one.predicted_sides)
        partner = _within(one.case.gold.sentence, one.matching.predicted_partner[chosen])
        outcome = one.matching.predicted_outcome[chosen].tolist()
        for i, row in enumerate(rows):
            row.update(outcome=OUTCOMES[outcome[i]], partner=partner[i], buckets=buckets[i])
        return _grouped(predicted.sentence[chosen], rows)

    def _buckets(self, chosen: Ints, sides: Mapping[str, Side]) -> list[dict[str, str]]:
        """The names of the buckets that each chosen mention lies in, by attribute of mentions."""
        result: list[dict[str, str]] = [{} for _ in range(len(chosen))]
        for name in self._attributes:
            names = [bucket.name for bucket in self._data.facts.bucketings[name].buckets]
            for row, number in zip(result, sides[name].bucket[chosen].tolist(), strict=True):
                row[name] = names[number]
        return result


def _spans(mentions: Mentions, chosen: Ints) -> list[dict[str, Any]]:
    taken = mentions.take(chosen)
    rows: list[dict[str, Any]] = [
        {"start": start, "end": end, "label": label} for _, start, end, label in taken.rows()
    ]
    if taken.parts is not None:
        for row, pieces in zip(rows, taken.pieces(), strict=True):
            if len(pieces) > 1:
                row["parts"] = [list(piece) for piece in pieces]
    return rows


def _within(sentence: Ints, row: Ints) -> list[int | None]:
    """The place of rows among the mentions of their sentence; None for none (-1)."""
    if len(sentence) == 0:
        return [None] * len(row)
    first = np.searchsorted(sentence, sentence[row])
    return [int(a - b) if a >= 0 else None for a, b in zip(row.tolist(), first.tolist(), strict=True)]


def _grouped(sentence: Column, rows: Sequence[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    groups: dict[int, list[dict[str, Any]]] = {}
    for number, row in zip(sentence.tolist(), rows, strict=True):
        groups.setdefault(number, []).append(row)
    return groups
