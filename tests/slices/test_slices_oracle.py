"""Slices compared with plain enumeration: every conjunction on its own, every statistic by definition."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from math import sqrt

import numpy as np
import pytest

import spanwise
from spanwise.attributes import Mention, own
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.document.analyses import Slices
from spanwise.slices import Over

Conditions = tuple[tuple[str, str], ...]
LEAST = 8


def data(seed: int, *, documents: int = 12) -> tuple[Annotation, Annotation, Annotation, Annotation]:
    """Gold, two systems and training data over documents of a few sentences."""
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(12)]

    def sentences(number: int) -> list[list[str]]:
        return [[str(rng.choice(words)) for _ in range(rng.integers(3, 9))] for _ in range(number)]

    def mentions(text: list[list[str]]) -> list[tuple[int, int, int, str]]:
        rows = []
        for at, tokens in enumerate(text):
            for start in range(0, len(tokens) - 1, 2):
                if rng.random() < 0.7:
                    end = start + int(rng.integers(1, 3))
                    rows.append((at, start, end, str(rng.choice(["LOC", "ORG", "PER"]))))
        return rows

    sizes = [int(rng.integers(1, 4)) for _ in range(documents)]
    text = sentences(sum(sizes))
    gold = mentions(text)
    corpus = Corpus.of(text, documents=sizes)

    def system() -> Annotation:
        rows = []
        for sentence, start, end, label in gold:
            draw = rng.random() + (0.25 if label == "ORG" else 0)
            if draw < 0.7:
                rows.append((sentence, start, end, label))
            elif draw < 0.95:
                rows.append((sentence, start, end, "PER" if label != "PER" else "LOC"))
        return Annotation(corpus, Mentions.of(rows))

    learnt = sentences(10)
    train = Annotation(Corpus.of(learnt), Mentions.of(mentions(learnt)))
    return Annotation(corpus, Mentions.of(gold)), system(), system(), train


class Item:
    """One mention with its document, its loss and all its facts."""

    def __init__(self, document: int, facts: dict[str, set[str]]) -> None:
        self.document = document
        self.facts = facts
        self.loss = 0.0

    def meets(self, conditions: Conditions) -> bool:
        return all(value in self.facts[name] for name, value in conditions)


def items_of(gold: Annotation, systems: dict[str, Annotation], train: Annotation, over: Over) -> list[Item]:
    """The items of the systems, from an evaluation document, with labels, buckets and subsets by name."""
    result = spanwise.evaluate(
        gold,
        systems,
        train=train,
        attributes="entity_length,sentence_length,label",
        examples="all",
        resamples=0,
    )
    listed = []
    for sentence in result.to_dict()["sentences"]:
        for mention in sentence["gold"]:
            facts = {name: {value} for name, value in mention["buckets"].items()}
            if over == "recall":
                facts["toughness"] = set(mention["tough"])
            item = Item(int(sentence["document"]), facts)
            missed = {name: outcome != "TP" for name, outcome in mention["outcome"].items()}
            item.loss = float(missed["a"]) - (float(missed["b"]) if "b" in missed else 0.0)
            listed.append(item)
    if over == "f1":
        for sentence in result.to_dict()["sentences"]:
            for mention in sentence["systems"]["a"]:
                item = Item(int(sentence["document"]), {name: {v} for name, v in mention["buckets"].items()})
                item.loss = float(mention["outcome"] != "TP")
                listed.append(item)
    return listed


def conjunctions(items: list[Item], depth: int) -> Iterator[Conditions]:
    names = list(items[0].facts)
    values = {name: sorted({value for item in items for value in item.facts[name]}) for name in names}
    for length in range(1, depth + 1):
        for chosen in combinations(names, length):
            for picked in product(*(values[name] for name in chosen)):
                yield tuple(zip(chosen, picked, strict=True))


def statistic(items: list[Item], inside: list[bool], *, paired: bool) -> float:
    n, size = len(items), sum(inside)
    mean = sum(item.loss for item in items) / n
    sums: dict[int, float] = {}
    for item, selected in zip(items, inside, strict=True):
        term = item.loss * selected if paired else (selected - size / n) * (item.loss - mean)
        sums[item.document] = sums.get(item.document, 0.0) + term
    square = sum(value**2 for value in sums.values())
    return sum(sums.values()) / sqrt(square) if square > 1e-18 else 0.0


def all_slices(
    items: list[Item], depth: int, *, paired: bool
) -> dict[frozenset[int], tuple[Conditions, float]]:
    """Every slice with enough items, keyed by its items, with its shortest description."""
    slices: dict[frozenset[int], tuple[Conditions, float]] = {}
    for conditions in conjunctions(items, depth):
        inside = [item.meets(conditions) for item in items]
        members = frozenset(index for index, selected in enumerate(inside) if selected)
        if LEAST <= len(members) <= len(items) - LEAST and members not in slices:
            slices[members] = conditions, statistic(items, inside, paired=paired)
    return slices


def find(
    gold: Annotation,
    systems: dict[str, Annotation],
    train: Annotation,
    *,
    over: Over = "recall",
    depth: int = 2,
    confirm: bool = False,
) -> Slices:
    return spanwise.find_slices(
        gold, systems, train=train, least=LEAST, level=0.9, attributes="entity_length,sentence_length,label",
        over=over, depth=depth, confirm=confirm,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("over", "depth"), [("recall", 2), ("recall", 3), ("f1", 2)])
def test_one_system_equals_plain_enumeration(seed: int, over: Over, depth: int) -> None:
    gold, first, _, train = data(seed)
    items = items_of(gold, {"a": first}, train, over)
    expected = all_slices(items, depth, paired=False)
    result = find(gold, {"a": first}, train, over=over, depth=depth)
    own_slices = result.systems["a"]
    assert result.tested == own_slices.tested == len(expected)
    assert own_slices.overall.units == len(items)
    assert own_slices.overall.loss == pytest.approx(sum(item.loss for item in items) / len(items))
    highest = max(t for _, t in expected.values())
    assert own_slices.slices, "at level 0.9 the highest is listed"
    assert own_slices.slices[0].t == pytest.approx(highest)
    left = list(items)
    for row in own_slices.slices:
        conditions = tuple((part.attribute, part.value) for part in row.conditions)
        members = [item for item in items if item.meets(conditions)]
        assert row.units == len(members)
        assert row.loss == pytest.approx(sum(item.loss for item in members) / len(members))
        inside = [item.meets(conditions) for item in left]
        assert row.t == pytest.approx(statistic(left, inside, paired=False))
        assert row.rest_units == sum(inside) >= LEAST
        left = [item for item, selected in zip(left, inside, strict=True) if not selected]


@pytest.mark.parametrize("seed", range(4))
def test_two_systems_equal_plain_enumeration(seed: int) -> None:
    gold, first, second, train = data(seed)
    items = items_of(gold, {"a": first, "b": second}, train, "recall")
    expected = all_slices(items, 2, paired=True)
    pair = find(gold, {"a": first, "b": second}, train).comparison[0]
    assert pair.tested == len(expected)
    assert pair.overall["difference"] == pytest.approx(sum(item.loss for item in items) / len(items))
    if pair.slices:
        assert abs(pair.slices[0].t) == pytest.approx(max(abs(t) for _, t in expected.values()))
        conditions = tuple((part.attribute, part.value) for part in pair.slices[0].conditions)
        members = [item.loss for item in items if item.meets(conditions)]
        assert pair.slices[0].difference == pytest.approx(sum(members) / len(members))
        assert pair.slices[0].better == ("b" if pair.slices[0].t > 0 else "a")


def test_contributions_of_two_systems_add_up_to_the_difference_of_f1() -> None:
    gold, first, second, train = data(3)
    result = find(gold, {"a": first, "b": second}, train, over="f1")
    scores = spanwise.evaluate(gold, {"a": first, "b": second}, resamples=0)
    f1 = {name: scores[name].exact.overall.f1 for name in "ab"}
    assert f1["a"] is not None and f1["b"] is not None
    difference = f1["a"] - f1["b"]
    assert result.comparison[0].overall["difference"] == pytest.approx(difference)
    whole = spanwise.find_slices(
        gold, {"a": first, "b": second}, over="f1", depth=1, least=1, level=0.999, attributes="label"
    )
    by_label = {row.conditions[0].value: row.difference for row in whole.comparison[0].slices}
    if len(by_label) == 3:
        assert sum(value or 0.0 for value in by_label.values()) == pytest.approx(difference)


def test_p_counts_the_flips_that_reach_it() -> None:
    """With few units, all sign vectors can be tried, and the p-value is close to the exact one."""
    rng = np.random.default_rng(1)
    unit = np.repeat(np.arange(10), 6)
    loss = (rng.random(60) < 0.3).astype(float)
    codes = rng.integers(0, 2, (2, 60))
    text = [["xy"[a] + "xy"[b]] for a, b in codes.T]
    mentions = [(sentence, 0, 1, "PER") for sentence in range(60)]
    corpus = Corpus.of(text, documents=[6] * 10)

    def first(mention: Mention) -> str:
        return mention.tokens[0][0]

    def second(mention: Mention) -> str:
        return mention.tokens[0][1]

    kept = [row for row, lost in zip(mentions, loss, strict=True) if not lost]
    result = spanwise.find_slices(
        Annotation(corpus, Mentions.of(mentions)), Annotation(corpus, Mentions.of(kept)),
        attributes=[own(first), own(second)], least=5, level=0.999, flips=4000,
    )  # fmt: skip
    rows = []
    for length in (1, 2):
        for chosen in combinations(range(2), length):
            for values in product(range(2), repeat=length):
                mask = (np.array(values) == codes[list(chosen)].T).all(axis=1)
                if 5 <= mask.sum() <= 55:
                    term = (mask - mask.mean()) * (loss - loss.mean())
                    rows.append(np.bincount(unit, weights=term))
    table = np.array(rows, dtype=np.float64)
    table /= np.sqrt((table**2).sum(axis=1))[:, None]
    signs = np.array(list(product([-1, 1], repeat=10)))
    maxima = (signs @ table.T).max(axis=1)
    exact = float((maxima >= table.sum(axis=1).max() - 1e-9).mean())
    assert result.tested == len(rows)
    (system,) = result.systems.values()
    assert system.slices[0].p == pytest.approx(exact, abs=0.03)


def test_slices_with_the_same_items_are_merged_under_the_shortest_description() -> None:
    gold, first, _, _ = data(0)

    def label_again(mention: Mention) -> str:
        return mention.label.lower()

    once = spanwise.find_slices(gold, {"a": first}, attributes="label", least=LEAST, level=0.99)
    twice = spanwise.find_slices(
        gold, {"a": first}, attributes=["label", own(label_again)], least=LEAST, level=0.99
    )
    assert twice.tested == once.tested
    listed = [row.where for row in twice.systems["a"].slices]
    assert listed == [row.where for row in once.systems["a"].slices]
    assert all("label_again" not in where for where in listed)


def test_the_same_call_gives_the_same_bytes() -> None:
    gold, first, second, train = data(2)
    calls = [find(gold, {"a": first, "b": second}, train, confirm=True).to_json() for _ in range(2)]
    assert calls[0] == calls[1]


def test_a_result_can_find_its_slices() -> None:
    gold, first, _, train = data(1)
    result = spanwise.evaluate(gold, {"a": first}, train=train, resamples=0)
    assert (
        result.find_slices(least=LEAST).systems
        == spanwise.find_slices(gold, {"a": first}, train=train, least=LEAST).systems
    )
