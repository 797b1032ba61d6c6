"""A generated corpus of relations with two simulated systems, each with a planted weakness."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from spanwise.demo import Demo, SimulatedSystem
from spanwise.document.tuples import Tuples, WeakTuples
from spanwise.errors import ChoiceError
from spanwise.formats import make_folder, write_atomically

UNDIRECTED = "sibling_of"  # the type whose arguments have no order
FAR = 12  # tokens between the arguments of a relation that the second system tends to miss

SYSTEMS = (
    SimulatedSystem("backwards", "swaps the arguments of relations whose tail comes first in the text", 0.55),
    SimulatedSystem("nearsighted", f"misses relations with {FAR} or more tokens between the arguments", 0.6),
)

_STEMS = {
    "person": ("Ida Alma Bero Cyra Dorn Elke Falk Gesa Hask Inka", "Fenwick Reyes Marsh Tolland Quist Venn"),
    "group": ("Marrow Tidewell Brack Cobalt Heron Larch Orrin", "Brothers Wharf Press Mills Radio Timber"),
    "place": ("Port Upper Old Lake", "Denby Skarvik Harlow Westrey Orm Calder Pell Tarn"),
    "ship": ("Northern Silver Grey Summer", "Petrel Lantern Otter Gull Star"),
}  # fmt: skip

# By type: the kinds of its head and tail, and a sentence with the head first and one with the tail first.
_RELATIONS = {
    "leads": ("person", "group", "{h} {gap} runs {t} .", "{t} {gap} is run by {h} ."),
    "founded": ("person", "group", "{h} {gap} founded {t} .", "{t} {gap} was founded by {h} ."),
    "based_in": ("group", "place", "{h} {gap} has its office in {t} .", "{t} {gap} has the office of {h} ."),
    "lives_in": ("person", "place", "{h} {gap} lives in {t} .", "To {t} {gap} came {h} and stayed ."),
    "sold_to": ("ship", "group", "The {h} {gap} was sold to {t} .", "{t} {gap} bought the {h} ."),
    "sibling_of": ("person", "person", "{h} {gap} has a sister , {t} .", "{t} {gap} has a brother , {h} ."),
}  # fmt: skip
_GAPS = (
    "",
    ", they say ,",
    ", after two hard winters ,",
    ", as the harbour paper wrote in spring ,",
    ", once the flood was over and the roads were open again ,",
    ", of whom nobody in the office had heard a word since the storm in March ,",
    ", although the letters of that year were lost when the old mill by the river burned down ,",
)  # fmt: skip
_OTHERS = (
    "{person} spent a week in {place} .",
    "The {ship} waited off {place} for the tide .",
    "{group} said nothing about {person} .",
)

_CONFUSED = {"leads": "founded", "founded": "leads"}
_LABELS = tuple(_STEMS)


class _Fact(Struct, frozen=True):
    """A relation in a document: its type, the numbers of its mentions, and what a system may find hard."""

    type: str
    head: int
    tail: int
    backward: bool
    distance: int  # tokens between the arguments


class _Drawn(Struct, frozen=True):
    """A document: tokens, the first token of each sentence, mentions and facts."""

    tokens: list[str]
    sentences: list[int]
    mentions: list[tuple[int, int, str]]
    facts: list[_Fact]


def generate_tuples(folder: str | Path, *, documents: int = 1000, seed: int = 0) -> Demo:
    """Write gold and training relations and the predictions of two simulated systems to `folder`.

    The names are invented, and the same arguments always give the same bytes. The training file has as many
    documents as gold; some facts occur in both. Both systems also make mistakes of every kind at random.
    """
    if documents < 1:
        raise ChoiceError(
            f"documents={documents!r} is not a size.\nGive the number of test documents, from 1."
        )
    if seed < 0:
        raise ChoiceError(f"seed={seed!r} is not a seed.\nGive a whole number from 0.")
    target = make_folder(folder)
    demo = Demo(
        gold=target / "gold.jsonl",
        train=target / "train.jsonl",
        systems={system.name: target / f"{system.name}.jsonl" for system in SYSTEMS},
    )
    _write(demo.train, _draw(documents, np.random.default_rng([seed, 1])))
    drawn = _draw(documents, np.random.default_rng([seed, 2]))
    _write(demo.gold, drawn)
    for number, system in enumerate(SYSTEMS):
        random = np.random.default_rng([seed, 3 + number])
        _write(demo.systems[system.name], [_predicted(document, system, random) for document in drawn])
    return demo


class PlantedInTuples(Struct, frozen=True):
    """The weakness planted in a system of the demo, the part where it is weakest, and whether they match."""

    system: str
    weakness: str
    found: bool
    part: WeakTuples | None


def tuple_verdicts(document: Tuples) -> list[PlantedInTuples]:
    """One verdict per system, using only a result document for the demo of tuples."""
    verdicts = []
    for system in SYSTEMS:
        if system.name in document.systems:
            part = next(iter(document.systems[system.name].weak), None)
            found = part is not None and part.attribute == _SIGNS[system.name]
            if found and part is not None and part.attribute == "direction":
                found = part.value == "tail first"
            verdicts.append(PlantedInTuples(system.name, system.weakness, found, part))
    return verdicts


_SIGNS = {"backwards": "direction", "nearsighted": "distance"}  # the attribute in which a system is weak


def _draw(documents: int, random: np.random.Generator) -> list[_Drawn]:
    return [_document(random) for _ in range(documents)]


def _document(random: np.random.Generator) -> _Drawn:
    """A document of three to six sentences with a relation each, and one or two without."""
    document = _Drawn([], [], [], [])
    for _ in range(int(random.integers(3, 7))):
        type = [*_RELATIONS][int(len(_RELATIONS) * random.random() ** 1.5)]
        head, tail, forward, backward = _RELATIONS[type]
        first = random.random() < 0.6
        gap = _GAPS[int(len(_GAPS) * random.random())]
        before = len(document.mentions)
        _say(document, forward if first else backward, {"h": head, "t": tail, "gap": gap}, random)
        one, other = (before, before + 1) if first else (before + 1, before)
        between = document.mentions[before + 1][0] - document.mentions[before][1]
        document.facts.append(_Fact(type, one, other, not first, between))
    for _ in range(int(random.integers(1, 3))):
        _say(document, _OTHERS[int(len(_OTHERS) * random.random())], {}, random)
    return document


def _say(document: _Drawn, pattern: str, slots: Mapping[str, str], random: np.random.Generator) -> None:
    """Add a sentence, filling slots with names of their kinds and the gap with its words."""
    document.sentences.append(len(document.tokens))
    for word in pattern.split():
        if word == "{gap}":
            document.tokens.extend(slots["gap"].split())
        elif word.startswith("{"):
            kind = slots.get(word[1:-1], word[1:-1])
            name = _name(kind, random)
            start = len(document.tokens)
            document.tokens.extend(name)
            document.mentions.append((start, start + len(name), kind))
        else:
            document.tokens.append(word)


def _name(kind: str, random: np.random.Generator) -> list[str]:
    """A name of two words; some are much more frequent than others."""
    firsts, lasts = (part.split() for part in _STEMS[kind])
    return [firsts[int(len(firsts) * random.random() ** 2)], lasts[int(len(lasts) * random.random() ** 2)]]


def _predicted(document: _Drawn, system: SimulatedSystem, random: np.random.Generator) -> _Drawn:
    """What a system finds: its weakness, and mistakes of every kind at random."""
    mentions: list[tuple[int, int, str]] = []
    lost: set[int] = set()
    for number, (start, end, label) in enumerate(document.mentions):
        chance = random.random()
        if chance < 0.02:
            lost.add(number)
        elif chance < 0.05:
            label = _LABELS[(_LABELS.index(label) + 1) % len(_LABELS)]
        elif chance < 0.07:
            start += 1
        mentions.append((start, end, label))
    facts = []
    for fact in document.facts:
        weak, careless = random.random() < system.rate, random.random()
        head, tail, type = fact.head, fact.tail, fact.type
        if weak and system.name == "backwards" and fact.backward and type != UNDIRECTED:
            head, tail = tail, head
        if (weak and system.name == "nearsighted" and fact.distance >= FAR) or careless < 0.05:
            continue
        if careless < 0.1:
            type = _CONFUSED.get(type, type)
        if not {head, tail} & lost:
            facts.append(_Fact(type, head, tail, fact.backward, fact.distance))
    if random.random() < 0.25:  # a relation between mentions that have none
        one, other = random.choice(len(mentions), 2, replace=False).tolist()
        if not {one, other} & lost:
            facts.append(_Fact("lives_in", one, other, one > other, 0))
    kept = [number for number in range(len(mentions)) if number not in lost]
    new = {number: index for index, number in enumerate(kept)}
    return _Drawn(
        document.tokens,
        document.sentences,
        [mentions[number] for number in kept],
        [_Fact(fact.type, new[fact.head], new[fact.tail], fact.backward, fact.distance) for fact in facts],
    )


def _write(path: Path, documents: Sequence[_Drawn]) -> None:
    lines = (
        json.dumps(_record(document, number)) + "\n" for number, document in enumerate(documents, start=1)
    )
    write_atomically(path, lines)


def _record(document: _Drawn, number: int) -> dict[str, Any]:
    return {
        "id": f"d{number}",
        "tokens": document.tokens,
        "sentences": document.sentences,
        "mentions": [
            {"id": f"m{index}", "start": start, "end": end, "label": label}
            for index, (start, end, label) in enumerate(document.mentions)
        ],
        "tuples": [
            {"type": fact.type, "roles": {"head": f"m{fact.head}", "tail": f"m{fact.tail}"}}
            for fact in document.facts
        ],
    }
