"""Fair matching, compared with a slow transcription of the algorithm; laws that hold, and some that don't."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from line_counts import lines_run, most_bytes
from matching_oracle import events_of
from matching_sentences import (
    LABELS,
    Event,
    Sentence,
    Span,
    events_by_sentence,
    mentions_of,
    random_sentences,
    spans,
)
from msgspec.structs import replace

import spanwise.matching
from spanwise.columns import codes, ints
from spanwise.corpus import Mentions, Parts, Pieces
from spanwise.credits import credit_of
from spanwise.errors import ChoiceError, InputError
from spanwise.matching import MATCHERS, OUTCOMES, match

FAR = 600  # factor on positions; mentions become so long that boundaries are stored instead of bits

law = settings(deadline=None, derandomize=True, max_examples=200)


def check_events(sentences: list[Sentence], events: list[list[Event]]) -> None:
    for (gold, predicted), own in zip(sentences, events, strict=True):
        assert own == events_of(gold, predicted), (gold, predicted)


@pytest.mark.parametrize("kind", ["flat", "nested", "crossing"])
def test_every_event_equals_the_one_of_the_plain_algorithm(kind: str) -> None:
    sentences = random_sentences(8_000, kind=kind, seed=1)
    check_events(sentences, events_by_sentence(sentences))


def stretched(spans: list[Span]) -> list[Span]:
    return [(start * FAR, end * FAR, label) for start, end, label in spans]


@pytest.mark.parametrize("kind", ["flat", "nested", "crossing"])
def test_long_mentions_are_matched_like_short_ones(kind: str) -> None:
    sentences = random_sentences(1_500, kind=kind, seed=3)
    check_events(sentences, events_by_sentence([(stretched(a), stretched(b)) for a, b in sentences]))


@pytest.mark.parametrize("kind", ["flat", "nested", "crossing"])
def test_clusters_are_matched_as_by_the_plain_algorithm(kind: str, clusters: Callable[[int], Mock]) -> None:
    clusters(0)
    sentences = random_sentences(300, kind=kind, seed=2)
    check_events(sentences, events_by_sentence(sentences))


def cluster(number: int, seed: int) -> Mentions:
    chance = np.random.default_rng(seed)
    borders = np.sort(chance.integers(0, 400, (number, 2)), axis=1)
    label = chance.integers(0, 3, number)
    side = Mentions(ints(np.zeros(number)), borders[:, 0], borders[:, 1] + 1, codes(label), LABELS)
    return side.sole(duplicates="drop")


def test_a_real_cluster_is_matched_as_by_the_plain_algorithm(clusters: Callable[[int], Mock]) -> None:
    gold, predicted = cluster(600, 1), cluster(200, 2)
    played = clusters(64)
    expected = events_of([row[1:] for row in gold.rows()], [row[1:] for row in predicted.rows()])
    assert sorted(match(gold, predicted).events().rows()) == expected
    expected = events_of([row[1:] for row in predicted.rows()], [row[1:] for row in gold.rows()])
    assert sorted(match(predicted, gold).events().rows()) == expected
    assert played.call_count == 2


Discontinuous: TypeAlias = tuple[Pieces, str]


def with_parts(sentences: list[list[Discontinuous]]) -> Mentions:
    """Mentions of rows (pieces, label), where pieces are pairs (start, end)."""
    rows = [(number, *span) for number, spans in enumerate(sentences) for span in spans]
    outer = [(number, pieces[0][0], pieces[-1][1], label) for number, pieces, label in rows]
    return replace(Mentions.of(outer, labels=LABELS), parts=Parts.of([pieces for _, pieces, _ in rows]))


def tokens_of(span: Discontinuous) -> set[int]:
    return {position for start, end in span[0] for position in range(start, end)}


def random_pieces(chance: np.random.Generator) -> list[Discontinuous]:
    spans: dict[tuple[frozenset[int], str], Discontinuous] = {}
    for _ in range(chance.integers(0, 6)):
        size = int(chance.choice([2, 2, 2, 4, 6]))
        borders = np.sort(chance.choice(16, size, replace=False)).tolist()
        span = tuple(zip(borders[::2], borders[1::2], strict=True)), LABELS[chance.integers(3)]
        spans.setdefault((frozenset(tokens_of(span)), span[1]), span)
    return list(spans.values())


@pytest.mark.parametrize("length", [1, FAR])
def test_discontinuous_mentions_are_matched_by_their_tokens(length: int) -> None:
    chance = np.random.default_rng(3)
    sides = [[random_pieces(chance) for _ in range(1_500)] for _ in range(2)]
    for number in range(0, 1_500, 3):  # make some equal
        sides[1][number] = list(dict.fromkeys(sides[0][number][:2]))
    gold, predicted = (
        with_parts(
            [
                [(tuple((a * length, b * length) for a, b in pieces), label) for pieces, label in spans]
                for spans in side
            ]
        )
        for side in sides
    )
    first = [np.searchsorted(side.sentence, np.arange(1_500)) for side in (gold, predicted)]
    by_sentence: list[list[Event]] = [[] for _ in range(1_500)]
    for g, p, outcome, turn in match(gold, predicted).events().rows():
        number = int(gold.sentence[g] if g >= 0 else predicted.sentence[p])
        gold_row = int(g - first[0][number]) if g >= 0 else -1
        predicted_row = int(p - first[1][number]) if p >= 0 else -1
        by_sentence[number].append((gold_row, predicted_row, outcome, turn))
    assert any(outcome == "TP" for events in by_sentence for *_, outcome, _ in events)
    for number in range(1_500):
        expected = events_of(sides[0][number], sides[1][number], tokens=tokens_of)
        assert sorted(by_sentence[number]) == expected, (sides[0][number], sides[1][number])


def test_pieces_on_one_side_only_are_matched_too() -> None:
    gold = with_parts([[(((0, 2), (4, 6)), "A")]])
    whole = mentions_of([[(0, 6, "A")]])
    inner = mentions_of([[(2, 4, "A")]])
    assert match(gold, whole).events().names() == ["BEl"]
    assert match(whole, gold).events().names() == ["BEs"]
    assert match(gold, inner).events().names() == ["FN", "FP"]  # it lies in the gap between the pieces


def test_touching_pieces_are_one_span() -> None:
    gold = with_parts([[(((0, 2), (2, 4)), "A")]])
    assert match(gold, mentions_of([[(0, 4, "A")]])).events().names() == ["TP"]


# The worked examples of the definitions


def names(gold: list[Span], predicted: list[Span]) -> list[tuple[int, int, str]]:
    return [(g, p, outcome) for g, p, outcome, _ in events_by_sentence([(gold, predicted)])[0]]


@pytest.mark.parametrize(
    ("predicted", "outcome"),
    [
        ([(2, 5, "A")], "TP"),
        ([(2, 5, "B")], "LE"),
        ([(3, 5, "A")], "BEs"),
        ([(2, 6, "A")], "BEl"),
        ([(4, 7, "A")], "BEo"),
        ([(4, 7, "B")], "LBE"),
    ],
)
def test_each_kind_of_error_has_its_name(predicted: list[Span], outcome: str) -> None:
    assert names([(2, 5, "A")], predicted) == [(0, 0, outcome)]


def test_touching_mentions_do_not_overlap() -> None:
    assert names([(2, 5, "A")], [(5, 7, "A")]) == [(-1, 0, "FP"), (0, -1, "FN")]


def test_the_same_label_is_preferred_to_the_better_overlap() -> None:
    assert names([(0, 4, "A")], [(0, 1, "A"), (1, 4, "B")]) == [(0, 0, "BEs"), (0, 1, "LBE")]


def test_a_mention_joins_an_already_matched_one_only_by_unused_tokens() -> None:
    events = events_by_sentence([([(0, 4, "A")], [(0, 2, "A"), (1, 2, "A"), (2, 4, "A")])])[0]
    assert events == [(-1, 1, "FP", 0), (0, 0, "BEs", 1), (0, 2, "BEs", 3)]


def test_a_partner_in_a_second_pass_keeps_its_first_partner() -> None:
    gold, predicted = mentions_of([[(0, 2, "A"), (2, 4, "A")]]), mentions_of([[(0, 4, "A")]])
    matching = match(gold, predicted)
    assert matching.gold_partner.tolist() == [0, 0]
    assert matching.predicted_partner.tolist() == [0]
    assert matching.events().rows() == [(0, 0, "BEl", 1), (1, 0, "BEl", 2)]


# Laws


def by_label(
    gold: list[Span], predicted: list[Span], events: list[Event], side: str
) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for g, p, outcome, _ in events:
        chosen = gold[g] if (side == "gold" and g >= 0) or p < 0 else predicted[p]
        counts[chosen[2], outcome] += 1
    return counts


@law
@given(spans(), spans())
def test_margins_of_the_confusion_are_the_errors_of_a_label(gold: list[Span], predicted: list[Span]) -> None:
    events = events_by_sentence([(gold, predicted)])[0]
    pairs = ("LE", "BEs", "BEl", "BEo", "LBE")
    cells = Counter(
        (gold[g][2] if g >= 0 else "_", predicted[p][2] if p >= 0 else "_")
        for g, p, outcome, _ in events
        if outcome != "TP"
    )
    for label in LABELS:
        row = sum(count for (first, _), count in cells.items() if first == label)
        column = sum(count for (_, second), count in cells.items() if second == label)
        under_gold = by_label(gold, predicted, events, "gold")
        under_predicted = by_label(gold, predicted, events, "predicted")
        assert row == sum(under_gold[label, kind] for kind in (*pairs, "FN"))
        assert column == sum(under_predicted[label, kind] for kind in (*pairs, "FP"))


# What is not a law


def test_per_label_fair_f1_may_be_below_the_exact_one() -> None:
    gold = [(0, 4, "A"), (6, 8, "A")]
    predicted = [(0, 2, "B"), (2, 4, "B"), (6, 8, "A")]
    counts = by_label(gold, predicted, events_by_sentence([(gold, predicted)])[0], "gold")
    assert counts == {("A", "TP"): 1, ("A", "LBE"): 2}
    right, false, missed = credit_of("fair").apply(np.array([counts["A", name] for name in OUTCOMES]))
    exact = 2 * 1 / (2 + 1)  # two gold A, one predicted A, which is correct
    assert 2 * right / (2 * right + false + missed) == 0.5 < exact


def test_swapping_the_sides_changes_the_number_of_errors() -> None:
    gold, predicted = [(2, 5, "A"), (5, 9, "A")], [(2, 3, "A"), (3, 6, "A")]
    straight, swapped = events_by_sentence([(gold, predicted), (predicted, gold)])
    assert (len(straight), len(swapped)) == (3, 2)


def test_the_order_of_the_input_decides_ties() -> None:
    gold = [(0, 4, "A")]
    forwards, backwards = [(0, 2, "B"), (2, 4, "C")], [(2, 4, "C"), (0, 2, "B")]
    first, second = events_by_sentence([(gold, forwards), (gold, backwards)])
    labels = [
        next(side[p][2] for g, p, _, turn in events if turn == 1)
        for side, events in ((forwards, first), (backwards, second))
    ]
    assert labels == ["B", "C"]


# Inputs


def test_a_duplicate_mention_is_refused() -> None:
    gold = mentions_of([[(0, 2, "A"), (0, 2, "A")]])
    once = mentions_of([[(0, 2, "A")]])
    for matcher in MATCHERS.names():
        for sides in ((gold, once), (once, gold)):
            with pytest.raises(InputError, match=r"the mention A \[0, 2\) occurs twice in one sentence"):
                match(*sides, matcher=matcher)


def test_a_duplicate_mention_may_be_dropped_beforehand() -> None:
    gold = mentions_of([[(0, 2, "A"), (0, 2, "A")]]).sole(duplicates="drop")
    assert match(gold, mentions_of([[(0, 2, "A")]])).events().names() == ["TP"]


def test_a_mention_without_a_position_is_spurious() -> None:
    gold = mentions_of([[(0, 2, "A")], [(0, 9, "A")]])
    lost = mentions_of([[(-1, -1, "A")], [(-1, -1, "A"), (-1, -1, "A"), (0, 9, "A")]])
    for matcher in MATCHERS.names():
        events = match(gold, lost, matcher=matcher).events().rows()
        assert events == [(0, -1, "FN", 0), (1, 3, "TP", 0), *((-1, p, "FP", 0) for p in (0, 1, 2))]


def test_an_empty_mention_overlaps_nothing() -> None:
    assert names([(3, 3, "A")], [(0, 9, "A")]) == [(-1, 0, "FP"), (0, -1, "FN")]
    assert names([(3, 3, "A")], [(3, 3, "A")]) == [(0, 0, "TP")]


def test_nothing_against_nothing_has_no_events() -> None:
    empty = mentions_of([])
    for matcher in MATCHERS.names():
        assert len(match(empty, empty, matcher=matcher).events()) == 0


def test_positions_of_long_texts_do_not_overflow() -> None:
    far = 2**40
    gold = Mentions.of([(0, far, far + 9, "A"), (3_000_000, 5, far, "C")], labels=LABELS)
    predicted = Mentions.of([(0, far, far + 8, "A"), (3_000_000, 5, far, "C")], labels=LABELS)
    assert match(gold, predicted).events().names() == ["BEs", "TP"]


def test_inputs_are_left_as_they_were() -> None:
    gold, predicted = mentions_of([[(0, 3, "A"), (4, 6, "B")]]), mentions_of([[(0, 2, "A"), (5, 7, "A")]])
    before = gold.rows(), predicted.rows()
    matching = match(gold, predicted)
    assert (gold.rows(), predicted.rows()) == before
    for column in (matching.gold_outcome, matching.gold_partner, matching.events().outcome):
        assert not column.flags.writeable


def test_sides_with_different_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="use with_one_labelling"):
        match(Mentions.of([(0, 0, 1, "A")]), Mentions.of([(0, 0, 1, "B")]))


def test_an_unknown_matcher_is_refused() -> None:
    with pytest.raises(ChoiceError, match=r"no matcher is called 'fare'\. Did you mean 'fair'"):
        match(mentions_of([]), mentions_of([]), matcher="fare")


# Cost: lines of Python run and bytes allocated, which are the same on every machine


ROOM = str(Path(spanwise.matching.__file__).parent)


def lines_and_bytes(work: Callable[[], object]) -> tuple[int, int]:
    return lines_run(work, within=ROOM).total(), most_bytes(work)


def test_no_line_runs_for_each_of_many_mentions_in_one_sentence() -> None:
    number = 50_000
    chance = np.random.default_rng(5)
    start = np.arange(number) * 6
    end = start + chance.integers(1, 5, number)
    label = codes(chance.integers(0, 3, number))
    moved = np.where(chance.random(number) < 0.1, start + 1, start)
    zeros = ints(np.zeros(number))
    gold = Mentions(zeros, start, end, label, LABELS)
    predicted = Mentions(zeros, moved, end + (moved > start), label, LABELS)
    lines, allocated = lines_and_bytes(lambda: match(gold, predicted))
    assert lines < 1000 and allocated < 400 * number


def long_and_short(number: int) -> tuple[Mentions, Mentions]:
    """One long mention, and many inside it."""
    each = np.arange(number)
    short = Mentions(each * 0, each * 3, each * 3 + 2, codes(each * 0), LABELS)
    return mentions_of([[(0, 3 * number, "A")]]), short


def test_one_long_mention_over_thousands_of_others_is_not_quadratic() -> None:
    long, short = long_and_short(20_000)
    assert set(match(long, short).events().names()) == {"BEs"}
    assert set(match(short, long).events().names()) == {"BEl"}
    for turned in (False, True):
        some, twice = (
            lines_and_bytes(partial(match, *(sides[::-1] if turned else sides)))
            for sides in (long_and_short(1000), long_and_short(2000))
        )
        assert all(doubled < 3 * cost for cost, doubled in zip(some, twice, strict=True))


def chain(number: int) -> tuple[Mentions, Mentions]:
    """Mentions that each cross the previous and the next one of the other side."""
    each = np.arange(number)
    first, second = ((each * 2 + shift, each * 2 + shift + 3) for shift in (0, 1))
    return (
        Mentions(each * 0, *first, codes(each * 0), LABELS),
        Mentions(each * 0, *second, codes(each * 0), LABELS),
    )


def test_a_chain_of_crossing_mentions_is_not_quadratic() -> None:
    assert len(match(*chain(20_000)).events()) == 20_000
    some, twice = (lines_and_bytes(partial(match, *chain(number))) for number in (1000, 2000))
    assert all(doubled < 3 * cost for cost, doubled in zip(some, twice, strict=True))


@pytest.mark.parametrize("matcher", ["fair", "overlap"])
def test_a_deep_nest_is_matched_without_listing_its_pairs(matcher: str) -> None:
    each = np.arange(2_000)
    gold = Mentions(each * 0, each, 10_000 - each, codes(each % 3), LABELS)
    predicted = Mentions(each * 0, each, 10_001 - each, codes(each % 2), LABELS)
    assert most_bytes(lambda: match(gold, predicted, matcher=matcher)) < len(each) ** 2
