"""The laws of attributes and bucketings, checked for every one that is declared."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.attributes import (
    ATTRIBUTES,
    Attribute,
    Context,
    Lexicon,
    LexiconSums,
    SummedLexicon,
    Values,
    choose,
    collect_lexicon_queries,
    values_of,
)
from spanwise.buckets import BUCKETINGS, Bucketing, default_strategy, fit
from spanwise.corpus import Annotation, Corpus, Mentions

WORDS = ("Ann", "bo", "Cy-1", "7")
LABELS = ("X", "Y")
EVERY = choose(ATTRIBUTES.names())

Marked = tuple[list[str], list[tuple[int, int, str]]]  # the words of a sentence, and its mentions


@st.composite
def sentences(draw: st.DrawFn) -> Marked:
    """A sentence with distinct mentions, which may nest and cross."""
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
    marked: dict[tuple[int, int, str], None] = {}
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(words) - 1))
        marked[start, draw(st.integers(start + 1, len(words))), draw(st.sampled_from(LABELS))] = None
    return words, list(marked)


texts = st.lists(sentences(), min_size=1, max_size=5)
MARKED: Marked = (["Ann"], [(0, 1, "X")])
training = texts.map(lambda text: [*text, MARKED])  # training data contains at least one mention
law = settings(max_examples=30)


def annotation(text: list[Marked]) -> Annotation:
    """The text as an annotation."""
    rows = [(number, *span) for number, (_, spans) in enumerate(text) for span in spans]
    return Annotation(Corpus.of([words for words, _ in text]), Mentions.of(rows, labels=LABELS))


def values_in(attribute: Attribute, test: Annotation, lexicon: Lexicon | SummedLexicon) -> Values:
    """The values of the gold mentions."""
    return values_of(attribute, Context(test.corpus, test.mentions, lexicon).side(test.mentions))


def written(values: Values) -> list[object]:
    """The values as a list of numbers or names; None where undefined."""
    if values.names is None:
        return [None if np.isnan(number) else number for number in values.value.tolist()]
    return [None if code < 0 else values.names[code] for code in values.value.tolist()]


@law
@given(training, texts)
def test_every_unit_has_one_value_and_lies_in_one_bucket(train: list[Marked], test: list[Marked]) -> None:
    gold, lexicon = annotation(test), Lexicon.of([annotation(train)])
    for attribute in EVERY:
        values = values_in(attribute, gold, lexicon)
        if attribute.unit == "mention":
            assert len(values) == len(gold.mentions), attribute.name
        bucketing = fit(default_strategy(attribute), values)
        counts = np.bincount(bucketing.assign(values), minlength=len(bucketing))
        assert counts.sum() == len(values), attribute.name


@law
@given(training, texts, st.randoms(use_true_random=False))
def test_the_order_of_sentences_changes_no_value(
    train: list[Marked], test: list[Marked], chance: Random
) -> None:
    shuffled = [annotation(chance.sample(text, len(text))) for text in (train, test)]
    gold, lexicon = annotation(test), Lexicon.of([annotation(train)])
    for attribute in EVERY:
        before = written(values_in(attribute, gold, lexicon))
        after = written(values_in(attribute, shuffled[1], Lexicon.of([shuffled[0]])))
        assert Counter(before) == Counter(after), attribute.name


@law
@given(training, texts, texts)
def test_training_data_in_parts_gives_the_same_values_as_the_whole(
    first: list[Marked], second: list[Marked], test: list[Marked]
) -> None:
    gold = annotation(test)
    needs = collect_lexicon_queries(gold.corpus, [gold.mentions], lowercase=False)
    parts = [LexiconSums.of(Lexicon.of([annotation(part)]), needs) for part in (first, second)]
    summed = SummedLexicon(needs, LexiconSums.joined(parts))
    whole = Lexicon.of([annotation(first + second)])
    for attribute in EVERY:
        values = written(values_in(attribute, gold, summed))
        assert values == written(values_in(attribute, gold, whole)), attribute.name


# ---- bucketings ----

# Every bucketing with suitable numbers, and some after special values.
STRATEGIES = [
    *(f"{method.name}:1,2,3" for method in BUCKETINGS if method.many),
    *(method.name for method in BUCKETINGS if not method.many and method.name != "category"),
    *(f"{method.name}:7" for method in BUCKETINGS if method.numbers),
    *(f"special:0,1+{method.name}:3" for method in BUCKETINGS if method.numbers),
    "special:2+fixed:1,5",
]  # fmt: skip
NUMBERS = st.lists(st.sampled_from([0, 0.1, 0.25, 0.5, 1, 2, 3, 5, 8]), max_size=30)
law_of_buckets = settings(max_examples=150)


def numbers(values: list[float]) -> Values:
    """Values of an attribute of numbers."""
    return Values(np.array(values, dtype=float), np.ones(len(values), bool), attribute="size")


@law_of_buckets
@given(st.sampled_from(STRATEGIES), NUMBERS, NUMBERS)
def test_every_number_is_in_exactly_one_bucket(text: str, gold: list[float], predicted: list[float]) -> None:
    bucketing = fit(text, numbers(gold))
    for values in (gold, predicted):
        counts = np.bincount(bucketing.assign(numbers(values)), minlength=len(bucketing))
        assert counts.sum() == len(values)
        assert counts[len(bucketing.fitted) :].sum() == 0


@law_of_buckets
@given(st.sampled_from(STRATEGIES), NUMBERS)
def test_gold_values_lie_within_the_edges_of_their_bucket(text: str, gold: list[float]) -> None:
    bucketing = fit(text, numbers(gold))
    specials = {bucket.low for bucket in bucketing.fitted if bucket.special}
    for value, number in zip(gold, bucketing.assign(numbers(gold)).tolist(), strict=True):
        bucket = bucketing.buckets[number]
        assert bucket.special == (value in specials)
        assert bucket.low is None or bucket.low < value or bucket.special
        assert bucket.high is None or value <= bucket.high


@law_of_buckets
@given(st.sampled_from(STRATEGIES), NUMBERS)
def test_buckets_are_ordered_and_named_by_their_number(text: str, gold: list[float]) -> None:
    fitted = fit(text, numbers(gold)).fitted
    highs = [np.inf if bucket.high is None else bucket.high for bucket in fitted]
    assert highs == sorted(highs)
    expected = ["XS", "S", "L", "XL"] if len(fitted) == 4 else [f"B{i + 1}" for i in range(len(fitted))]
    assert [bucket.name for bucket in fitted] == expected


@law_of_buckets
@given(st.sampled_from(STRATEGIES), NUMBERS, NUMBERS)
def test_saved_edges_assign_the_same_buckets_as_fitted_ones(
    text: str, gold: list[float], predicted: list[float]
) -> None:
    bucketing = fit(text, numbers(gold))
    again = Bucketing.from_dict(json.loads(json.dumps(bucketing.to_dict())))
    assert again.to_dict() == bucketing.to_dict()
    assert again.assign(numbers(predicted)).tolist() == bucketing.assign(numbers(predicted)).tolist()


@law_of_buckets
@given(st.sampled_from(STRATEGIES), NUMBERS)
def test_the_order_of_gold_values_changes_no_edge(text: str, gold: list[float]) -> None:
    assert fit(text, numbers(gold)).to_dict() == fit(text, numbers(gold[::-1])).to_dict()
