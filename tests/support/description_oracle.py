"""The description of a test set once more: plain and slow, from the definitions alone.

A corpus is sentences of words, the mentions of each sentence as (start, end, label), and the number of
sentences of each document, where documents are marked.
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
        places: list[Mention] = [
            (number, list(range(start, end)), label)
            for number, row in enumerate(self.rows)
            for start, end, label in row
        ]
        return Text(self.sentences, places)


def joined(texts: Sequence[Annotated]) -> Annotated:
    return Annotated([s for one in texts for s in one.sentences], [r for one in texts for r in one.rows])


def marked(train: Sequence[Annotated]) -> bool:
    return all(one.documents is not None and len(one.documents) > 1 for one in train)


def units(train: Sequence[Annotated]) -> list[Annotated]:
    """Documents where all texts mark two or more, else sentences."""
    found = []
    for one in train:
        first = 0
        for size in (one.documents or []) if marked(train) else [1] * len(one.sentences):
            found.append(Annotated(one.sentences[first : first + size], one.rows[first : first + size]))
            first += size
    return found


def description(test: Annotated, train: Sequence[Annotated], *, most: int) -> dict[str, Any]:
    """What `describe` says of a test set, but for names, places and buckets."""
    sizes = test.labels
    known = {tuple(words) for one in train for words in one.sentences}
    oracle = Oracle(joined(train).text, test.text)
    subsets = oracle.tough()
    result: dict[str, Any] = {
        "sentences": len(test.sentences),
        "tokens": len(test.words) or None,
        "mentions": len(test.mentions),
        "labels": dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0]))),
        "tough": {name: sum(name in own for own in subsets) for name in (SUBSETS if train else ("TCM-ALL",))},
        "duplicates": sum(tuple(words) in known for words in test.sentences if words) if train else None,
        "conflicts": conflicts(test, train, most),
    }
    if train:
        result["drift"] = drift(test, train, oracle)
    if train and oracle.tokens and oracle.trained:
        result["zeta"] = {
            name: mean([value for _, value in oracle.units(name, test.text.mentions)])
            for name in (*MENTION_UNITS, *TOKEN_UNITS)
            if name not in NAMES
        }
    return result


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def conflicts(test: Annotated, train: Sequence[Annotated], most: int) -> dict[str, Any]:
    """Sequences with two labels, equal sentences with two annotations, and words read in two ways."""
    carried: dict[str, Counter[str]] = {}
    for form, label in test.mentions:
        carried.setdefault(" ".join(form), Counter())[label] += 1
    doubtful = {text: labels for text, labels in carried.items() if len(labels) > 1}
    listed = sorted(doubtful, key=lambda text: (max(doubtful[text].values()) - doubtful[text].total(), text))
    groups = []
    for words in dict.fromkeys(map(tuple, test.sentences)):
        equal = [
            "; ".join(f"{label} [{start}, {end})" for start, end, label in sorted(row)) or "none"
            for one in [test, *train]
            for own, row in zip(one.sentences, one.rows, strict=True)
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
    """Places that are read otherwise elsewhere, the most doubtful first; a checksum decides ties."""
    more = [(one.sentences, one.rows) for one in train]
    found = all_suspects(test.sentences, test.rows, [], more)

    def order(item: tuple[tuple[int, Span | None, Span | None], tuple[float, int, int]]) -> tuple[Any, ...]:
        (sentence, own, proposal), (score, _, _) = item
        start, end, _ = proposal or own or (0, 0, "")
        lot = crc32(" ".join(test.sentences[sentence]).encode())
        return -round(score, 12), lot, sentence, start, end, "" if proposal is None else proposal[2]

    for (sentence, own, proposal), (score, _, _) in sorted(found.items(), key=order):
        start, end, _ = own or proposal or (0, 0, "")
        yield {
            "text": " ".join(test.sentences[sentence][start:end]),
            "label": "O" if own is None else own[2],
            "elsewhere": "O" if proposal is None else proposal[2],
            "score": score,
        }


def drift(test: Annotated, train: Sequence[Annotated], oracle: Oracle) -> dict[str, Any]:
    """Shares and means of the training data beside those of the test set."""
    whole = joined(train)
    both = {
        label: (
            share(whole.labels[label], len(whole.mentions)),
            share(test.labels[label], len(test.mentions)),
        )
        for label in {**whole.labels, **test.labels}
    }
    known = [abs(one - other) for one, other in both.values() if one is not None and other is not None]
    unknown, subsets = left_out(units(train))
    tough = oracle.tough()
    return {
        "labels": both,
        "label_distance": sum(known) / 2 if known else None,
        "lengths": {
            name: moved([x for one in train for x in values(one)], values(test))
            for name, values in LENGTHS.items()
            if all(values(one) for one in [test, *train])
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
    """Tokens that no other unit has, and the mentions of each tough subset: every unit beside the others."""
    unknown, subsets = 0, Counter[str]()
    for unit in parts:
        others = [one for one in parts if one is not unit]
        words = {word for one in others for word in one.words}
        pairs = {pair for one in others for pair in one.mentions}
        forms = {form for form, _ in pairs}
        unknown += sum(word not in words for word in unit.words)
        for form, label in unit.mentions:
            seen = (form, label) in pairs
            subsets["SEEN" if seen else "UNSEEN-ANY"] += 1
            if not seen:
                subsets["UNSEEN-TYPE" if form in forms else "UNSEEN-TOKENS"] += 1
    return unknown, subsets


LENGTHS: dict[str, Callable[[Annotated], list[int]]] = {
    "sentence_length": lambda one: [len(words) for words in one.sentences],
    "entity_length": lambda one: [len(form) for form, _ in one.mentions],
    "mentions_per_sentence": lambda one: [len(row) for row in one.rows],
}


def moved(train: Sequence[int], test: Sequence[int]) -> tuple[float, float, float]:
    """Both means, and the largest difference of the shares at or below any value."""
    distance = max(
        abs(sum(x <= at for x in train) / len(train) - sum(x <= at for x in test) / len(test))
        for at in {*train, *test}
    )
    return sum(train) / len(train), sum(test) / len(test), distance
