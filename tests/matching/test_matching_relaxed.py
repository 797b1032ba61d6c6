"""The one-to-one matching behind relaxed scores, compared with a slow version and with nervaluate."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from matching_sentences import (
    LABELS,
    Sentence,
    Span,
    events_by_sentence,
    mentions_of,
    random_sentences,
    spans,
)
from nervaluate import Evaluator
from nervaluate.entities import EvaluationResult
from relaxed_oracle import pairs_of

from spanwise.matching import (
    CATEGORIES,
    OUTCOMES,
    SCHEMES,
    fair_and_overlap,
    match,
    relaxed,
    relaxed_counts,
    relaxed_scores,
)

law = settings(deadline=None, derandomize=True, max_examples=200)


def check_pairs(sentences: list[Sentence]) -> None:
    for (gold, predicted), events in zip(sentences, events_by_sentence(sentences, "overlap"), strict=True):
        assert {g: p for g, p, *_ in events if g >= 0 and p >= 0} == pairs_of(gold, predicted)


@pytest.mark.parametrize("kind", ["flat", "nested", "crossing"])
def test_pairs_equal_those_of_the_plain_greedy_matching(kind: str) -> None:
    check_pairs(random_sentences(3_000, kind=kind, seed=4))


@pytest.mark.parametrize("kind", ["flat", "nested", "crossing"])
def test_clusters_are_paired_as_by_the_plain_greedy_matching(
    kind: str, clusters: Callable[[int], Mock]
) -> None:
    clusters(0)
    check_pairs(random_sentences(300, kind=kind, seed=5))


@pytest.mark.parametrize("kind", ["flat", "nested", "crossing"])
@pytest.mark.parametrize("dense", [False, True])
def test_both_matchings_computed_together_equal_those_computed_separately(
    kind: str, dense: bool, clusters: Callable[[int], Mock]
) -> None:
    if dense:
        clusters(0)
    sentences = random_sentences(200, kind=kind, seed=6)
    for some in (sentences, *([sentence] for sentence in sentences)):
        gold, predicted = (mentions_of([sentence[side] for sentence in some]) for side in (0, 1))
        for matcher, matching in zip(("fair", "overlap"), fair_and_overlap(gold, predicted), strict=True):
            assert matching.events().rows() == match(gold, predicted, matcher=matcher).events().rows()


@law
@given(spans(), spans())
def test_possible_is_gold_and_actual_is_predicted_in_every_scheme(
    gold: list[Span], predicted: list[Span]
) -> None:
    for scheme in relaxed(mentions_of([gold]), mentions_of([predicted])).values():
        assert (scheme["possible"], scheme["actual"]) == (len(gold), len(predicted))
        paired = scheme["correct"] + scheme["incorrect"] + scheme["partial"]
        assert paired + scheme["missed"] == len(gold)
        assert paired + scheme["spurious"] == len(predicted)


@law
@given(spans(), spans())
def test_strict_is_the_exact_match_and_no_scheme_counts_fewer_correct(
    gold: list[Span], predicted: list[Span]
) -> None:
    scores = relaxed(mentions_of([gold]), mentions_of([predicted]))
    assert scores["strict"]["correct"] == len(set(gold) & set(predicted))
    for scheme in ("exact", "partial", "type"):
        assert scores[scheme]["correct"] >= scores["strict"]["correct"]


def test_the_exact_scheme_counts_every_equal_span() -> None:
    gold, predicted = mentions_of([[(0, 2, "A"), (4, 5, "B")]]), mentions_of([[(0, 2, "B"), (4, 5, "B")]])
    scores = relaxed(gold, predicted)
    assert scores["exact"]["f1"] == 1
    assert scores["type"]["correct"] == scores["type"]["incorrect"] == 1


def test_scores_of_nothing_are_undefined() -> None:
    scores = relaxed_scores(np.zeros(5))
    assert all(np.isnan(scores[name]) for name in ("precision", "recall", "f1"))


def test_counts_of_labels_add_up_to_the_whole() -> None:
    chance = np.random.default_rng(0)
    by_label = chance.integers(0, 9, (4, len(OUTCOMES)))
    whole = relaxed_counts(by_label.sum(axis=0))
    for scheme, counts in relaxed_counts(by_label).items():
        assert counts.shape == (4, len(CATEGORIES))
        assert np.array_equal(counts.sum(axis=0), whole[scheme])


def test_relaxed_scores_handle_unplaced_and_discontinuous_mentions() -> None:
    gold = mentions_of([[(0, 2, "A")]])
    lost = mentions_of([[(-1, -1, "A"), (1, 3, "A")]])
    assert match(gold, lost, matcher="overlap").events().rows() == [(0, 1, "BEo", 1), (-1, 0, "FP", 0)]


# nervaluate

NAMES = {"strict": "strict", "exact": "exact", "partial": "partial", "type": "ent_type"}


def by_nervaluate(sentences: list[Sentence]) -> dict[str, EvaluationResult]:
    """The counts of nervaluate, whose ends are inclusive."""

    def entities(side: list[list[Span]]) -> list[list[dict[str, str | int]]]:
        return [[{"label": c, "start": a, "end": b - 1} for a, b, c in spans] for spans in side]

    gold, predicted = ([sentence[i] for sentence in sentences] for i in (0, 1))
    results = Evaluator(entities(gold), entities(predicted), tags=list(LABELS), loader="dict").evaluate()
    return {ours: results["overall"][theirs] for ours, theirs in NAMES.items()}


def by_us(sentences: list[Sentence]) -> dict[str, dict[str, float]]:
    return relaxed(
        mentions_of([first for first, _ in sentences]), mentions_of([second for _, second in sentences])
    )


def without_rivals(sentences: list[Sentence]) -> list[Sentence]:
    """The sentences in which no mention overlaps two of the other side, so that only one matching exists."""

    def lonely(mention: Span, others: list[Span]) -> bool:
        return sum(min(mention[1], other[1]) > max(mention[0], other[0]) for other in others) <= 1

    return [
        (gold, predicted)
        for gold, predicted in sentences
        if all(lonely(span, predicted) for span in gold) and all(lonely(span, gold) for span in predicted)
    ]


@pytest.mark.parametrize("kind", ["flat", "nested", "crossing"])
def test_nervaluate_agrees_if_there_is_only_one_matching(kind: str) -> None:
    sentences = without_rivals(random_sentences(2_000, kind=kind, seed=6))
    assert len(sentences) > 100
    ours, theirs = by_us(sentences), by_nervaluate(sentences)
    for scheme, counts in ours.items():
        for name in (*CATEGORIES, "possible", "actual"):
            assert counts[name] == getattr(theirs[scheme], name), (scheme, name)
        for name in ("precision", "recall", "f1"):
            assert counts[name] == pytest.approx(getattr(theirs[scheme], name), abs=1e-9), (scheme, name)


def test_nervaluate_gives_a_gold_mention_to_the_first_that_overlaps_it() -> None:
    # The second prediction is correct, but nervaluate has already paired its gold mention with the first.
    gold: list[Span] = [(0, 3, "A")]
    predicted: list[Span] = [(0, 1, "A"), (0, 3, "A")]
    assert by_us([(gold, predicted)])["strict"]["correct"] == 1
    assert by_nervaluate([(gold, predicted)])["strict"].correct == 0


def test_nervaluate_depends_on_the_order_of_predictions() -> None:
    gold: list[Span] = [(0, 3, "A")]
    predicted: list[Span] = [(0, 1, "A"), (0, 3, "A")]
    orders = [(gold, predicted), (gold, predicted[::-1])]
    assert [by_nervaluate([sides])["exact"].correct for sides in orders] == [0, 1]
    assert [by_us([sides])["exact"]["correct"] for sides in orders] == [1, 1]


def test_nervaluate_leaves_out_an_overlap_below_one_percent_of_the_gold_mention() -> None:
    gold, predicted = [(0, 201, "A")], [(200, 203, "A")]
    assert by_us([(gold, predicted)])["partial"]["partial"] == 1
    assert by_nervaluate([(gold, predicted)])["partial"].partial == 0


def test_every_outcome_is_counted_in_every_scheme() -> None:
    for names in SCHEMES.values():
        assert set(names) == {"TP", "LE", "BE", "LBE"}
        assert set(names.values()) <= set(CATEGORIES)
