"""Counts of single samples equal those of `place`, and corpus scores those of `evaluate` and brute force."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spanwise
from spanwise.columns import codes, ints
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.errors import InputError
from spanwise.formats.text_tokens import words
from spanwise.placement import LEVELS, POLICIES
from spanwise.scorers import SampleCounts, corpus_score, count_sample
from spanwise.scorers.dspy import SpanF1
from spanwise.scorers.lm_eval import corpus_f1, span_f1

PIECES = ["Ann", "ann", "Anna", "The", "the", "Bank", "bank", "of", "New", "York", "york", "U.S.", "U", "S",
          ".", "-", "Cöln", "CÖLN", "Bankes", "Hamburg", "Hamburgs", "Straße", "strasse"]  # fmt: skip
LABELS = ("LOC", "PER")
Row = tuple[int, int, int]


def annotated(texts: list[str], gold: list[list[tuple[int, int, str]]]) -> Annotation:
    """Texts with gold mentions in characters."""
    spans = [words(text) for text in texts]
    tokens = [text[low:high] for text, some in zip(texts, spans, strict=True) for low, high in some]
    vocabulary = list(dict.fromkeys(tokens))
    corpus = Corpus(
        codes([vocabulary.index(token) for token in tokens]), vocabulary,
        ints(np.cumsum([0, *map(len, spans)])), unit="character", texts=tuple(texts),
        token_start=ints([low for some in spans for low, _ in some]),
        token_end=ints([high for some in spans for _, high in some]),
    )  # fmt: skip
    rows = [(at, low, high, label) for at, some in enumerate(gold) for low, high, label in some]
    return Annotation(corpus, Mentions.of(rows))


def as_answers(text: str, gold: list[tuple[int, int, str]]) -> list[dict[str, Any]]:
    """Gold mentions in the shape of answers with positions."""
    return [{"text": text[low:high], "label": name, "start": low, "end": high} for low, high, name in gold]


def sample(rng: random.Random) -> tuple[str, list[tuple[int, int, str]], list[dict[str, Any]]]:
    """A text, gold mentions, and answers: runs of tokens, some damaged, repeated, numbered or in pieces."""
    text = "".join(rng.choice(PIECES) + rng.choice([" ", " ", "", "  "]) for _ in range(rng.randint(1, 9)))
    spans = words(text)

    def run() -> tuple[int, int]:
        first = rng.randrange(len(spans))
        return spans[first][0], spans[rng.randrange(first, min(len(spans), first + 3))][1]

    gold = {(*run(), rng.choice(LABELS)) for _ in range(rng.randint(0, 3))}
    answers: list[dict[str, Any]] = []
    for _ in range(rng.randint(0, 5)):
        low, high = run()
        own = text[low:high]
        at = rng.randrange(len(own))
        damaged = rng.choice(
            [own, own, own.upper(), "the " + own, own[:at] + rng.choice("xa ") + own[at + 1 :], "Zürich", ""]
        )
        answer: dict[str, Any] = {"text": damaged, "label": rng.choice(["PER", "LOC", "per", "ORG"])}
        kind = rng.randrange(12)
        if kind == 0:
            answer["occurrence"] = rng.randint(1, 3)
        elif kind == 1:
            answer["text"] = [own, text[slice(*run())]]
        elif kind == 2:
            answer |= {"text": own, "start": low, "end": high}
        answers.append(answer)
    return text, sorted(gold), answers


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("level", LEVELS)
def test_a_sample_is_counted_as_place_counts_it(policy: str, level: str) -> None:
    rng = random.Random(f"{policy} {level}")
    for _ in range(60):
        text, gold, answers = sample(rng)
        document = spanwise.place(annotated([text], [gold]), [answers], policy=policy, level=level)
        expected = getattr(document.policies, policy)
        mentions = as_answers(text, gold)
        options: dict[str, Any] = {"policy": policy, "level": level}
        counts = count_sample(text, mentions, json.dumps(answers), **options)
        assert counts.row[:3] == (expected.gold, expected.predicted, expected.correct), (text, gold, answers)


def test_answers_given_by_markup_are_placed_by_position() -> None:
    counts = count_sample("Ann met Ann", [{"text": "Ann", "label": "PER", "start": 8, "end": 11}],
                          "Ann met <PER>Ann</PER>")  # fmt: skip
    assert counts == SampleCounts(1, 1, 1, "read")


def test_gold_without_positions_takes_one_occurrence_each() -> None:
    gold = {"PER": ["Ann", "Ann"]}
    assert count_sample("Ann met Ann", gold, gold) == SampleCounts(2, 2, 2, "read")


def test_gold_may_be_json_or_part_of_a_token() -> None:
    assert count_sample("Annual", '{"PER": ["Ann"]}', "[]") == SampleCounts(1, 0, 0, "empty")


def test_a_response_that_cannot_be_read_predicts_nothing() -> None:
    assert count_sample("Ann", {"PER": ["Ann"]}, "no idea what") == SampleCounts(1, 0, 0, "failed")


def test_labels_are_mapped_by_aliases() -> None:
    options: dict[str, Any] = {"aliases": {"human": "PER"}}
    assert count_sample("Ann", {"PER": ["Ann"]}, [["Ann", "human"]], **options).correct == 1


def test_gold_that_is_not_in_the_text_is_refused() -> None:
    with pytest.raises(InputError, match="the gold mention 'Bo' is not in the text"):
        count_sample("Ann", {"PER": ["Bo"]}, "[]")


def test_gold_that_is_no_list_of_mentions_is_refused() -> None:
    with pytest.raises(InputError, match="gold is not a list of mentions"):
        count_sample("Ann", "Ann", "[]")


counts = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)).map(
    lambda row: (*row[:2], min(row))
)


@given(st.lists(counts, max_size=12))
def test_the_corpus_score_is_that_of_the_sums_and_its_error_that_of_the_jackknife(rows: list[Row]) -> None:
    def f1(some: list[Row]) -> float | None:
        gold, predicted, correct = (sum(row[at] for row in some) for at in range(3))
        return 2 * correct / (gold + predicted) if gold + predicted else None

    score = corpus_score(rows)
    assert score.f1 == (None if (whole := f1(rows)) is None else pytest.approx(whole))
    held = [row for row in rows if row[0] + row[1]]
    without = [f1(held[:at] + held[at + 1 :]) for at in range(len(held))]
    if len(held) < 2:
        assert score.stderr is None
        return
    values = [value for value in without if value is not None]
    mean = sum(values) / len(values)
    variance = (len(held) - 1) / len(held) * sum((value - mean) ** 2 for value in values)
    assert score.stderr == pytest.approx(variance**0.5, abs=1e-7)


@given(st.lists(counts, min_size=1, max_size=8), st.randoms())
def test_the_order_of_samples_does_not_matter(rows: list[Row], rng: random.Random) -> None:
    shuffled = rng.sample(rows, len(rows))
    one, other = corpus_score(rows), corpus_score(shuffled)
    assert (one.f1, one.gold) == (other.f1, other.gold)
    assert one.stderr == (None if other.stderr is None else pytest.approx(other.stderr, abs=1e-12))


def test_the_corpus_score_and_interval_are_those_of_evaluate() -> None:
    rng = random.Random(5)
    samples = [sample(rng) for _ in range(60)]
    gold = annotated([text for text, _, _ in samples], [mentions for _, mentions, _ in samples])
    answers = [given for _, _, given in samples]
    result = spanwise.evaluate(gold, {"model": answers}, answers="ordered", unit="sentence", resamples=100)
    rows = [
        count_sample(text, as_answers(text, mentions), given, labels=LABELS)
        for text, mentions, given in samples
    ]
    score, overall = corpus_score(rows), result["model"].exact.overall
    assert (score.gold, score.predicted, score.correct) == (overall.gold, overall.predicted, overall.correct)
    assert score.f1 == overall.f1
    interval = result["model"].exact.overall.interval["f1"]
    assert interval is not None
    assert (score.low, score.high) == pytest.approx(tuple(interval))


def test_no_samples_have_no_score() -> None:
    score = corpus_score([])
    assert (score.samples, score.f1, score.stderr, score.low) == (0, None, None, None)


def test_unread_samples_are_counted() -> None:
    rows = [count_sample("Ann", {"PER": ["Ann"]}, response) for response in ("?!", '{"PER": ["Ann"]}')]
    score = corpus_score(rows)
    assert (score.samples, score.unread, score.recall) == (2, 1, 0.5)


class Example:
    """What the metric for DSPy needs of an example or a prediction: fields."""

    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)


def test_the_mean_of_samples_is_not_the_corpus_score() -> None:
    metric = SpanF1()
    both = Example(text="Ann met Bo", entities={"PER": ["Ann", "Bo"]})
    values = [
        metric(both, Example(entities={"PER": ["Ann"]})),
        metric(both, Example(entities={"PER": ["Ann", "Cy"]})),
    ]
    corpus = metric.corpus().f1
    assert corpus is not None
    assert (round(sum(values) / 2, 3), round(corpus, 3)) == (0.583, 0.571)
    metric.reset()
    assert metric.corpus().samples == 0


def test_an_example_without_mentions_has_the_value_one_and_no_corpus_score() -> None:
    metric = SpanF1()
    assert metric(Example(text="so", entities=[]), Example(entities=[])) == 1.0
    assert metric.corpus().f1 is None


def test_the_aggregation_of_lm_eval_adds_counts() -> None:
    document = {"text": "Ann met Bo", "entities": {"PER": ["Ann", "Bo"]}}
    rows = [span_f1(document, [json.dumps({"PER": names})])["f1"] for names in (["Ann"], ["Ann", "Cy"])]
    assert round(corpus_f1(rows), 3) == 0.571
    assert np.isnan(corpus_f1([]))


def test_several_responses_of_a_request_are_counted_together() -> None:
    document = {"text": "Ann met Bo", "entities": {"PER": ["Ann", "Bo"]}}
    said = ['{"PER": ["Ann"]}', '{"PER": ["Ann", "Bo"]}', "no idea"]
    assert span_f1(document, [said]) == {"f1": (6, 3, 3)}
