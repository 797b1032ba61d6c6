"""The laws of matching, checked for every matcher that is declared.

A matcher that breaks a law by design is listed below with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from matching_sentences import LABELS, Event, Sentence, Span, events_by_sentence, spans

from spanwise.credits import credit_of
from spanwise.matching import MATCHERS, OUTCOMES

EVERY = MATCHERS.names()
# Between equally good partners, Ortmann's algorithm takes the first in the input.
BY_INPUT = {"fair"}
# Between equally good pairs, the relaxed matching takes the one whose labels sort first.
BY_LABELS = {"overlap"}

law = settings(max_examples=200)


def named(sides: Sentence, events: Sequence[Event]) -> Counter[tuple[Span | None, Span | None, str]]:
    """Events with the mentions they concern, regardless of order."""
    return Counter(
        (sides[0][g] if g >= 0 else None, sides[1][p] if p >= 0 else None, outcome)
        for g, p, outcome, _ in events
    )


def moved(side: Sequence[Span], shift: int) -> list[Span]:
    """The mentions with their positions shifted."""
    return [(start + shift, end + shift, label) for start, end, label in side]


@law
@given(spans(), spans())
def test_every_mention_is_consumed_once(gold: list[Span], predicted: list[Span]) -> None:
    for matcher in EVERY:
        events = events_by_sentence([(gold, predicted)], matcher)[0]
        assert max(len(gold), len(predicted)) <= len(events) <= len(gold) + len(predicted)
        assert sorted(g for g, _, _, turn in events if g >= 0 and turn != 3) == list(range(len(gold)))
        assert sorted(p for _, p, _, turn in events if p >= 0 and turn != 2) == list(range(len(predicted)))


@law
@given(spans(), spans())
def test_equal_mentions_and_no_others_are_true_positives(gold: list[Span], predicted: list[Span]) -> None:
    for matcher in EVERY:
        events = events_by_sentence([(gold, predicted)], matcher)[0]
        right = [(gold[g], predicted[p]) for g, p, outcome, _ in events if outcome == "TP"]
        assert sorted(right) == sorted((span, span) for span in {*gold} & {*predicted})


@law
@given(spans(), spans())
def test_every_outcome_is_a_known_one(gold: list[Span], predicted: list[Span]) -> None:
    for matcher in EVERY:
        for g, p, outcome, _ in events_by_sentence([(gold, predicted)], matcher)[0]:
            assert outcome in OUTCOMES
            assert (outcome == "FN") == (p < 0) and (outcome == "FP") == (g < 0)


@law
@given(spans())
def test_gold_against_itself_has_no_error(gold: list[Span]) -> None:
    for matcher in EVERY:
        assert all(outcome == "TP" for _, _, outcome, _ in events_by_sentence([(gold, gold)], matcher)[0])


@law
@given(spans(), spans(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_changes_nothing(
    gold: list[Span], predicted: list[Span], chance: Random
) -> None:
    sides = (gold, predicted)
    other = chance.sample(gold, len(gold)), chance.sample(predicted, len(predicted))
    for matcher in sorted({*EVERY} - BY_INPUT):
        first, second = events_by_sentence([sides, other], matcher)
        assert named(sides, first) == named(other, second)


@law
@given(spans(), spans(), st.integers(0, 1000))
def test_shifting_positions_changes_nothing(gold: list[Span], predicted: list[Span], shift: int) -> None:
    shifted = moved(gold, shift), moved(predicted, shift)
    for matcher in EVERY:
        before, after = events_by_sentence([(gold, predicted), shifted], matcher)
        assert before == after


@law
@given(spans(), spans(), st.permutations(LABELS))
def test_renaming_labels_changes_nothing(gold: list[Span], predicted: list[Span], names: list[str]) -> None:
    new = dict(zip(LABELS, names, strict=True))
    renamed = [[(start, end, new[label]) for start, end, label in side] for side in (gold, predicted)]
    for matcher in sorted({*EVERY} - BY_LABELS):
        before, after = events_by_sentence([(gold, predicted), (renamed[0], renamed[1])], matcher)
        assert before == after


@law
@given(st.lists(st.tuples(spans(), spans()), max_size=4))
def test_laying_sentences_end_to_end_changes_nothing(sentences: list[Sentence]) -> None:
    joined: Sentence = ([], [])
    for number, sides in enumerate(sentences):
        for whole, side in zip(joined, sides, strict=True):
            whole += moved(side, 20 * number)
    for matcher in EVERY:
        apart = Counter(
            outcome for events in events_by_sentence(sentences, matcher) for _, _, outcome, _ in events
        )
        assert apart == Counter(outcome for _, _, outcome, _ in events_by_sentence([joined], matcher)[0])


@law
@given(spans(), spans())
def test_overall_fair_f1_is_at_least_the_exact_one(gold: list[Span], predicted: list[Span]) -> None:
    for matcher in EVERY:
        counts = Counter(outcome for _, _, outcome, _ in events_by_sentence([(gold, predicted)], matcher)[0])
        right, false, missed = credit_of("fair").apply(np.array([counts[name] for name in OUTCOMES]))
        if gold or predicted:
            fair = 2 * right / (2 * right + false + missed)
            assert fair >= 2 * counts["TP"] / (len(gold) + len(predicted)) - 1e-12
