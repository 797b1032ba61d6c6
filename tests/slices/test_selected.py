"""What is said of slices that were selected: simultaneous intervals, and tests on documents of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import special, stats

import spanwise
from spanwise.bitmaps import MentionRuns, packed
from spanwise.conditions import parse
from spanwise.evaluation.columns import mention_columns
from spanwise.intervals import jackknife
from spanwise.slices._search import Facet, Items, confirm, search, simultaneous
from spanwise.slices.index import SliceIndex, weak_slices
from spanwise.uncertainty import halves

RIGHT = [4, 3, 5, 4, 5, 3, 5, 3, 4, 4, 2, 5]  # of five items in each of twelve units


def logit_t(right: Sequence[int], each: int, tested: int) -> tuple[float, float]:
    """The definition, unit by unit: units of equal size, so that the degrees of freedom are units − 1."""
    units, items = len(right), each * len(right)
    share = sum(right) / items
    without = np.array([(sum(right) - own) / (items - each) for own in right])
    error = np.sqrt((units - 1) / units * ((without - without.mean()) ** 2).sum())
    q = 1 - (1 - 0.95 ** (1 / tested)) / 2
    reach = stats.t.ppf(q, units - 1) * error / (share * (1 - share))
    low, high = special.expit(special.logit(share) + np.array([-reach, reach]))
    return float(low), float(high)


@pytest.mark.parametrize("tested", [1, 2, 38, 277])
def test_the_interval_of_a_selected_slice_holds_for_all_tested_slices(tested: int) -> None:
    interval = simultaneous(np.full(12, 5.0), np.array(RIGHT, float), tested)
    assert interval == pytest.approx(logit_t(RIGHT, 5, tested), abs=1e-6)


def test_units_without_the_slice_do_not_change_its_interval() -> None:
    number, right = np.zeros(40), np.zeros(40)
    number[::3][:12], right[::3][:12] = 5.0, RIGHT
    assert simultaneous(number, right, 10) == pytest.approx(logit_t(RIGHT, 5, 10), abs=1e-6)


@pytest.mark.parametrize(("right", "end"), [(5.0, 1), (0.0, 0)])
def test_at_0_and_1_the_interval_is_wilsons_with_the_same_t(right: float, end: int) -> None:
    t = stats.t.ppf(1 - (1 - 0.95 ** (1 / 20)) / 2, 7)
    reach = t * t / (40 + t * t)  # Wilson's interval of 40 of 40 is [1 - reach, 1]
    expected = (1 - reach, 1.0) if end else (0.0, reach)
    assert simultaneous(np.full(8, 5.0), np.full(8, right), 20) == pytest.approx(expected, abs=1e-6)


def test_a_slice_of_a_single_unit_may_have_any_score() -> None:
    assert simultaneous(np.array([0.0, 60.0, 0.0]), np.array([0.0, 30.0, 0.0]), 5) == (0.0, 1.0)


def documents(weak: Sequence[int], units: int = 40) -> Items:
    """Twenty items a unit, half of them in slice x: all of these are lost in `weak` units, else 1 in 5."""
    unit = np.repeat(np.arange(units), 20)
    within = np.tile(np.arange(20), units)
    inside = within < 10
    lost = np.where(inside & np.isin(unit, weak), 1.0, (within % 5 == 0).astype(float))
    return Items(unit, units, lost, (Facet.of_codes("a", ["x", "y"], (~inside).astype(int)),))


def test_a_slice_is_confirmed_on_the_half_in_which_it_was_not_found() -> None:
    first = halves(40, 7)
    only_first = documents(np.flatnonzero(first).tolist())
    found, tested, (best, *_) = confirm(only_first, depth=1, least=20, flips=999, seed=7)
    assert (found, tested) == (int(first.sum()), int((~first).sum()))
    # On the other half every slice loses exactly 1 in 5, so that nothing is left of the weakness.
    assert best.key == ((0, 0),)
    assert best.units == 10 * tested and best.mean == pytest.approx(0.2)
    assert best.p is not None and best.p > 0.5
    *_, (best, *_) = confirm(documents(range(40)), depth=1, least=20, flips=999, seed=7)
    assert best.mean == 1.0 and best.p == pytest.approx(1 / 1000)


def test_a_slice_to_confirm_is_found_without_the_half_that_tests_it() -> None:
    first = halves(40, 7)
    items = documents([])
    x, found_here = items.mask(((0, 0),)), first[items.unit]
    loses = (np.tile(np.arange(20), 40) % 10 < 4) & x & found_here  # x is weak in the first half only
    lost = np.where(loses | (~x & ~found_here), 1.0, items.weight)  # all of y is lost in the other half
    *_, (best,) = confirm(replace(items, weight=lost), depth=1, least=20, flips=99, seed=7, best=1)
    assert best.key == ((0, 0),)


def test_intervals_of_confirmed_slices_are_for_those_few_on_the_other_half() -> None:
    items = documents([])
    rng = np.random.default_rng(1)
    items = Items(items.unit, 40, (rng.random(800) < 0.3).astype(float), items.facets)
    *_, slices = confirm(items, depth=1, least=20, flips=99, seed=7)
    other = ~halves(40, 7)[items.unit]
    for row in slices:
        chosen = other & items.mask(row.key)
        number = np.bincount(items.unit[chosen], minlength=40).astype(float)
        lost = np.bincount(items.unit[chosen], weights=items.weight[chosen], minlength=40)
        right = np.asarray(number - lost, dtype=np.float64)
        assert row.interval == simultaneous(number, right, len(slices))
    assert len(slices) == 1


def test_the_search_gives_one_system_intervals_and_two_systems_none() -> None:
    one = documents(range(10))
    found = search(one, depth=1, least=20, flips=99)
    (row,) = found.listed
    number = np.full(40, 10.0)
    assert row.interval == simultaneous(number, np.where(np.arange(40) < 10, 0.0, 8.0), found.tested)
    two = Items(one.unit, one.units, one.weight, one.facets, paired=True)
    listed = search(two, depth=1, least=20, flips=99).listed
    assert listed and all(difference.interval is None for difference in listed)


def test_slices_of_documents_and_of_columns_have_the_same_intervals() -> None:
    rng = np.random.default_rng(0)
    gold, predicted = [], []
    for at in range(60):
        labels = rng.choice(["A", "B"], 6)
        hit = rng.random(6) > np.where(labels == "A", 0.6, 0.1)
        spans = [{"start": 2 * i, "end": 2 * i + 1, "label": str(labels[i])} for i in range(6)]
        record = {"document": f"d{at // 2}", "tokens": [f"w{i}" for i in range(12)]}
        gold.append({**record, "spans": spans})
        predicted.append({**record, "spans": [row for row, ok in zip(spans, hit, strict=True) if ok]})
    found = spanwise.find_slices(gold, {"s": predicted}, attributes="label", flips=199, depth=1)
    (row,) = found.systems["s"].slices
    index = SliceIndex.of(mention_columns(spanwise.evaluate(gold, {"s": predicted}, attributes="label")))
    (other,) = weak_slices(index, "s", flips=199, depth=1).slices
    assert (row.where, row.units, row.interval) == (other.where, other.mentions, other.interval)
    assert row.interval is not None and row.loss is not None
    assert row.interval[0] < 1 - row.loss < row.interval[1]


def test_partners_outside_a_slice_do_not_count_as_correct_in_it() -> None:
    record = {"tokens": ["a", "b", "c", "d"], "document": "d"}
    spans = [{"start": i, "end": i + 1, "label": "X"} for i in range(4)]
    lines = [{**record, "spans": spans}, {**record, "document": "e", "spans": spans}]
    columns = mention_columns(spanwise.evaluate(lines, {"s": lines}, attributes="entity_length"))
    name = "system0.bucket.entity_length"
    moved = np.array(columns.arrays[name])
    moved[[1, 6]] = len(columns.head.buckets["entity_length"]) - 1
    columns.arrays[name] = moved  # type: ignore[index]
    index = SliceIndex.of(columns)
    condition = parse("entity_length=1")
    cell = index.counted(condition)["s"]
    assert (cell.gold, cell.predicted, cell.correct) == (8, 6, 6)
    assert index.measure("s", condition).counts.total.tolist() == [[8, 6, 6]]


@pytest.mark.parametrize("lengths", [[300], [1, 500, 64, 129, 3], [64, 128, 192, 1], [700, 700]])
def test_runs_over_several_words_are_reached_by_any_of_their_bits(lengths: list[int]) -> None:
    run = np.repeat(np.arange(len(lengths)), lengths)
    runs = MentionRuns.along(run)
    for at in range(len(run)):
        mask = np.zeros(len(run), dtype=bool)
        mask[at] = True
        assert runs.reached(packed(mask)) == 1
    begins = np.cumsum([0, *lengths])[:-1]
    mask = np.zeros(len(run), dtype=bool)
    mask[begins] = True
    assert runs.reached(packed(mask)) == len(lengths)


def test_weak_slices_of_an_evaluation_have_intervals_for_all_slices_at_once() -> None:
    rng = np.random.default_rng(3)
    gold, predicted = [], []
    for at in range(30):
        spans = [{"start": 2 * i, "end": 2 * i + 1, "label": "ABC"[i % 3]} for i in range(9)]
        record = {"document": f"d{at}", "tokens": [f"w{i}" for i in range(18)]}
        gold.append({**record, "spans": spans})
        hit = rng.random(9) > np.where(np.arange(9) % 3 == 0, 0.5, 0.1)
        predicted.append({**record, "spans": [row for row, ok in zip(spans, hit, strict=True) if ok]})
    result = spanwise.evaluate(gold, {"s": predicted}, attributes="label", resamples=200)
    index = SliceIndex.of(mention_columns(result))
    rows = [row for row in result.systems["s"].slices if row.kind == "label"]
    assert [row.among for row in rows] == [3, 3, 3]
    for row in rows:
        own = jackknife(index.measure("s", parse(f"label={row.name}")))["f1"]
        assert row.interval == pytest.approx(own.interval(0.95 ** (1 / 3))[0].tolist(), abs=1e-6)
