"""A second implementation of the description of a test set: plain, slow, from the definitions alone.

A corpus consists of sentences of words, the mentions of each sentence as (start, end, label) and, if
documents are marked, the number of sentences in each document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from attribute_oracle import MENTION_UNITS, TOKEN_UNITS, Mention, Oracle, Text
from suspects_oracle import Rows, Span
from suspects_oracle import suspects as all_suspects

SUBSETS = ("SEEN", "UNSEEN-TYPE", "UNSEEN-TOKENS", "UNSEEN-ANY", "TCM-ALL", "TCM-SEEN", "TCM-UNSEEN")
NAMES = ("label", "morphology")  # attributes whose values are names


@dataclass
class Annotated:
    """One annotated text."""

    sentences: list[list[str]]
    rows: Rows
    documents: list[int] | None = None

    @property
    def words(self) -> list[str]:
        return [word for words in self.sentences for word in words]

    @property
    def mentions(self) -> list[tuple[tuple[str, ...], str]]:
        """The token sequence and the label of each mention."""
        return [
            (tuple(words[start:end]), label)
            for words, row in zip(self.sentences, self.rows, strict=True)
            for start, end, label in row
        ]

    @property
    def labels(self) -> Counter[str]:
        return Counter(label for _, label in self.mentions)

    @property
    def text(self) -> Text:
        mentions: list[Mention] = [
            (number, list(range(start, end)), label)
            for number, row in enumerate(self.rows)
            for start, end, label in row
        ]
        return Text(self.sentences, mentions)


def joined(texts: Sequence[Annotated]) -> Annotated:
    return Annotated([s for text in texts for s in text.sentences], [r for text in texts for r in text.rows])


def marked(train: Sequence[Annotated]) -> bool:
    return all(text.documents is not None and len(text.documents) > 1 for text in train)


def units(train: Sequence[Annotated]) -> list[Annotated]:
    """The documents if every text marks at least two, otherwise the sentences."""
    parts = []
    for text in train:
        first = 0
        for size in (text.documents or []) if marked(train) else [1] * len(text.sentences):
            parts.append(Annotated(text.sentences[first : first + size], text.rows[first : first + size]))
            first += size
    return parts


def description(test: Annotated, train: Sequence[Annotated], *, most: int) -> dict[str, Any]:
    """The description of a test set as `describe` gives it, without names, positions and buckets."""
    sizes = test.labels
    train_sentences = {tuple(words) for part in train for words in part.sentences}
    oracle = Oracle(joined(train).text, test.text)
    subsets = oracle.tough()
    result: dict[str, Any] = {
        "sentences": len(test.sentences),
        "tokens": len(test.words) or None,
        "mentions": len(test.mentions),
        "labels": dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0]))),
        "tough": {name: sum(name in own for own in subsets) for name in (SUBSETS if train else ("TCM-ALL",))},
        "duplicates": sum(tuple(words) in train_sentences for words in test.sentences if words)
        if train
        else None,
        "conflicts": conflicts(test, train, most),
    }
    if train:
        result["drift"] = drift(test, train, oracle)
    if train and oracle.tokens and oracle.trained:
        result["zeta"] = {
            name: mean([value for _, value in oracle.units(name, test.text.mentions)])
            for name in (*MENTION_UNITS, *TOKEN_UNITS)
            if name not in NAMES
        } | positions(test)
    return result


def positions(test: Annotated) -> dict[str, float | None]:
    """The mean position of mentions in their documents, and relative to the length of the document."""
    sizes = test.documents or [1] * len(test.sentences)
    first, values = 0, []
    for size in sizes:
        inside = range(first, first + size)
        length, before = sum(len(test.sentences[number]) for number in inside), 0
        for number in inside:
            values += [(before + row[0], (before + row[0]) / length) for row in test.rows[number]]
            before += len(test.sentences[number])
        first += size
    return {"position": mean([at for at, _ in values]), "relative_position": mean([at for _, at in values])}


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def conflicts(test: Annotated, train: Sequence[Annotated], most: int) -> dict[str, Any]:
    """Token sequences with two labels, equal sentences annotated differently, and variation in context."""
    carried: dict[str, Counter[str]] = {}
    for form, label in test.mentions:
        carried.setdefault(" ".join(form), Counter())[label] += 1
    doubtful = {text: labels for text, labels in carried.items() if len(labels) > 1}
    listed = sorted(doubtful, key=lambda text: (max(doubtful[text].values()) - doubtful[text].total(), text))
    groups = []
    for words in dict.fromkeys(map(tuple, test.sentences)):
        equal = [
            "; ".join(f"{label} [{start}, {end})" for start, end, label in sorted(row)) or "none"
            for part in [test, *train]
            for own, row in zip(part.sentences, part.rows, strict=True)
            if tuple(own) == words
        ]
        if words and len(set(equal)) > 1:
            groups.append(equal)
    places = list(variation(test, train))
    return {
        "labels": {
            "sequences": len(doubtful),
            "mentions": sum(labels.total() for labels in doubtful.values()),
            "examples": [
                {"text": text, "labels": dict(doubtful[text].most_common())} for text in listed[:most]
            ],
        },
        "sentences": {"groups": len(groups), "examples": groups[:most]},
        "variation": {"places": len(places), "examples": places[:most]},
    }


def variation(test: Annotated, train: Sequence[Annotated]) -> Iterator[dict[str, Any]]:
    """Spans that are annotated differently elsewhere, the most doubtful first; a checksum breaks ties."""
    more = [(text.sentences, text.rows) for text in train]
    suspects = all_suspects(test.sentences, test.rows, [], more)

    def order(item: tuple[tuple[int, Span | None, Span | None], tuple[float, int, int]]) -> tuple[Any, ...]:
        (sentence, own, proposal), (score, _, _) = item
        start, end, _ = proposal or own or (0, 0, "")
        lot = crc32(" ".join(test.sentences[sentence]).encode())
        return -round(score, 12), lot, sentence, start, end, "" if proposal is None else proposal[2]

    for (sentence, own, proposal), (score, _, _) in sorted(suspects.items(), key=order):
        start, end, _ = own or proposal or (0, 0, "")
        yield {
            "text": " ".join(test.sentences[sentence][start:end]),
            "label": "O" if own is None else own[2],
            "elsewhere": "O" if proposal is None else proposal[2],
            "score": score,
        }


def drift(test: Annotated, train: Sequence[Annotated], oracle: Oracle) -> dict[str, Any]:
    """Shares and means of the training data, each paired with that of the test set."""
    whole = joined(train)
    shares = {
        label: (
            share(whole.labels[label], len(whole.mentions)),
            share(test.labels[label], len(test.mentions)),
        )
        for label in {**whole.labels, **test.labels}
    }
    distances = [abs(a - b) for a, b in shares.values() if a is not None and b is not None]
    unknown, subsets = left_out(units(train))
    tough = oracle.tough()
    return {
        "labels": shares,
        "label_distance": sum(distances) / 2 if distances else None,
        "lengths": {
            name: moved([x for text in train for x in values(text)], values(test))
            for name, values in LENGTHS.items()
            if all(values(text) for text in [test, *train])
        },
        "left_out": "document" if marked(train) else "sentence",
        "unknown": (
            share(unknown, len(whole.words)),
            share(sum(word not in oracle.vocabulary for word in test.words), len(test.words)),
        ),
        "tough": {
            name: (
                share(subsets[name], len(whole.mentions)),
                share(sum(name in own for own in tough), len(test.mentions)),
            )
            for name in SUBSETS[:4]
        },
    }


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def left_out(parts: Sequence[Annotated]) -> tuple[int, Mapping[str, int]]:
    """Unknown tokens, and mentions of each tough subset, of every unit when compared with all others."""
    unknown, subsets = 0, Counter[str]()
    for unit in parts:
        others = [other for other in parts if other is not unit]
        words = {word for other in others for word in other.words}
        pairs = {pair for other in others for pair in other.mentions}
        forms = {form for form, _ in pairs}
        unknown += sum(word not in words for word in unit.words)
        for form, label in unit.mentions:
            seen = (form, label) in pairs
            subsets["SEEN" if seen else "UNSEEN-ANY"] += 1
            if not seen:
                subsets["UNSEEN-TYPE" if form in forms else "UNSEEN-TOKENS"] += 1
    return unknown, subsets


LENGTHS: dict[str, Callable[[Annotated], list[int]]] = {
    "sentence_length": lambda text: [len(words) for words in text.sentences],
    "entity_length": lambda text: [len(form) for form, _ in text.mentions],
    "mentions_per_sentence": lambda text: [len(row) for row in text.rows],
}


def moved(train: Sequence[int], test: Sequence[int]) -> tuple[float, float, float]:
    """Both means, and the largest difference between the two cumulative distributions."""
    distance = max(
        abs(sum(x <= at for x in train) / len(train) - sum(x <= at for x in test) / len(test))
        for at in {*train, *test}
    )
    return sum(train) / len(train), sum(test) / len(test), distance
