"""The metric's law: any split into batches, workers and orders gives what `evaluate` gives."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import Metric, evaluate
from spanwise.formats import from_tags

TAGS = ("O", "O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC", "E-LOC", "S-ORG", "B-ORG", "I-ORG")
CLOSE = 1e-12


def tags(size: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(TAGS), min_size=size, max_size=size)


sentences = st.lists(
    st.integers(0, 6).flatmap(lambda size: st.tuples(tags(size), tags(size))), min_size=1, max_size=12
)
Pair = tuple[list[str], list[str]]


def same(scores: dict[str, Any], cell: Any, *, more: tuple[str, ...] = ()) -> None:
    for name in ("precision", "recall", "f1", *more):
        assert scores[name] == (cell.more[name] if name in more else getattr(cell, name)), name
        for mine, theirs in zip(
            scores["interval"].get(name) or [], (cell.interval or {}).get(name) or [], strict=True
        ):
            assert abs(mine - theirs) <= CLOSE, name


def agrees(metric: Metric, exact: Any) -> None:
    """The metric's scores are those of `evaluate` to the last bit, its intervals up to rounding."""
    scores = metric.compute(intervals=True)
    same(scores, exact.overall, more=("f2",))
    same(scores["macro"], exact.macro, more=("f2",))
    same(scores["weighted"], exact.weighted, more=("f2",))
    assert scores["accuracy"] == exact.overall.accuracy
    assert list(scores["labels"]) == list(exact.labels)
    for label, cell in exact.labels.items():
        same(scores["labels"][label], cell, more=("f2",))
        for count in ("gold", "predicted", "correct"):
            assert scores["labels"][label][count] == getattr(cell, count)
    plain = metric.compute()
    assert [plain[name] for name in ("precision", "recall", "f1", "f2", "accuracy")] == [
        scores[name] for name in ("precision", "recall", "f1", "f2", "accuracy")
    ]


def in_batches(pairs: list[Pair], draw: random.Random, scheme: str, units: list[int] | None) -> Metric:
    """The pairs in any order, in batches of any size, by up to four workers, merged in any order."""
    order = list(range(len(pairs)))
    draw.shuffle(order)
    workers = [Metric(scheme=scheme, beta=2) for _ in range(draw.randint(1, 4))]
    while order:
        size = draw.randint(1, 4)
        batch, order = order[:size], order[size:]
        worker = draw.choice(workers)
        worker.update(
            [pairs[number][0] for number in batch],
            [pairs[number][1] for number in batch],
            unit=None if units is None else [units[number] for number in batch],
        )
    draw.shuffle(workers)
    whole = Metric(scheme=scheme, beta=2)
    for worker in workers:
        whole.merge(worker)
    return whole


@settings(max_examples=60, deadline=None)
@given(sentences, st.randoms(use_true_random=False), st.sampled_from(["IOB2", "IOB1", "BIOES"]))
def test_any_split_into_batches_workers_and_orders_gives_the_scores_of_evaluate(
    pairs: list[Pair], draw: random.Random, scheme: str
) -> None:
    gold, predicted = ([pair[side] for pair in pairs] for side in (0, 1))
    result = evaluate(gold, {"m": predicted}, scheme=scheme, beta=2, examples="none", attributes="none")
    agrees(in_batches(pairs, draw, scheme, None), result["m"].exact)


@settings(max_examples=40, deadline=None)
@given(sentences, st.randoms(use_true_random=False), st.integers(1, 4))
def test_named_units_are_the_documents_of_evaluate(
    pairs: list[Pair], draw: random.Random, documents: int
) -> None:
    sizes = [len(pairs) // documents] * documents
    sizes[-1] += len(pairs) - sum(sizes)
    sizes = [size for size in sizes if size]
    units = [number for number, size in enumerate(sizes) for _ in range(size)]
    gold, predicted = (
        from_tags([pair[side] for pair in pairs], documents=sizes, scheme="IOB2") for side in (0, 1)
    )
    result = evaluate(gold, {"m": predicted}, unit="document", beta=2, examples="none", attributes="none")
    agrees(in_batches(pairs, draw, "IOB2", units), result["m"].exact)


@settings(max_examples=40, deadline=None)
@given(sentences, st.integers(2, 5), st.randoms(use_true_random=False))
def test_a_bound_on_units_changes_intervals_but_no_score(
    pairs: list[Pair], most: int, draw: random.Random
) -> None:
    whole, bounded, other = Metric(), Metric(most_units=most), Metric(most_units=most)
    for gold, predicted in pairs:
        whole.update([gold], [predicted])
        draw.choice([bounded, other]).update([gold], [predicted])
    bounded.merge(other)
    full, joined = whole.compute(), bounded.compute()
    assert joined["units"] <= most
    assert ("joined" in joined) == (bounded.note is not None)
    for key in full.keys() - {"units", "joined"}:
        assert joined[key] == full[key]
