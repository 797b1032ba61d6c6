"""Counts add up for any division into parts, and rows do not depend on the order of units."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spanwise.columns import Column
from spanwise.counts import Counts, EventGroup, EventUnits, distinct_rows, joint_numbers

matrices = st.integers(0, 12).flatmap(lambda units: arrays(np.int32, (units, 6), elements=st.integers(0, 3)))


def counts_of(matrix: Column) -> Counts:
    return Counts.of_matrix(["x", "y"], ["gold", "predicted", "correct"], matrix)


@settings(deadline=None, derandomize=True)
@given(matrices)
def test_every_unit_keeps_its_counts(matrix: Column) -> None:
    counts = counts_of(matrix)
    assert np.array_equal(counts.matrix(), matrix)
    assert np.array_equal(counts.total.reshape(-1), matrix.sum(axis=0))


@settings(deadline=None, derandomize=True)
@given(matrices, st.integers(0, 12))
def test_halves_add_up_to_the_whole(matrix: Column, cut: int) -> None:
    whole = counts_of(matrix)
    joined = counts_of(matrix[:cut]) + counts_of(matrix[cut:])
    assert np.array_equal(joined.matrix(), whole.matrix())
    assert np.array_equal(joined.rows[joined.times > 0], whole.rows[whole.times > 0])


@settings(deadline=None, derandomize=True)
@given(matrices.filter(len), st.randoms(use_true_random=False))
def test_distinct_rows_do_not_depend_on_the_order_of_units(matrix: Column, random: Random) -> None:
    order = list(range(len(matrix)))
    random.shuffle(order)
    assert np.array_equal(distinct_rows(matrix)[0], distinct_rows(matrix[order])[0])


@settings(deadline=None, derandomize=True)
@given(arrays(np.int32, st.tuples(st.integers(0, 30), st.integers(1, 3)), elements=st.integers(0, 2)))
def test_combinations_of_rows_are_the_sorted_distinct_ones_of_units(values: Column) -> None:
    # Many units of few kinds are counted in a dense table, few units of many kinds are not.
    tables = [Counts.of_matrix(["x"], ["gold"], column[:, None]) for column in values.T]
    units = np.stack([counts.row.astype(np.int32) for counts in tables], axis=1)
    ordered, number = distinct_rows(units)
    combinations, times = joint_numbers(tables)
    assert np.array_equal(combinations, ordered)
    assert times.tolist() == [int((number == at).sum()) for at in range(len(ordered))]


def test_a_hash_collision_only_costs_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("hashing", "counts"):
        ones = lambda width: np.ones(width, dtype=np.uint64)  # noqa: E731
        monkeypatch.setattr(f"spanwise.{module}.multipliers", ones)
    matrix = np.array([[1, 0], [0, 1], [1, 0]], dtype=np.int32)
    rows, number = distinct_rows(matrix)
    assert np.array_equal(rows[number], matrix)
    assert len(rows) == 2


def test_cells_that_only_one_part_has_are_zero_in_the_other() -> None:
    first = Counts.of_matrix(["PER"], ["gold"], np.array([[2]]))
    second = Counts.of_matrix(["LOC"], ["gold"], np.array([[3]]))
    both = first + second
    assert both.cells == ("PER", "LOC")
    assert both.matrix().tolist() == [[2, 0], [0, 3]]


def test_counts_of_nothing_are_zero() -> None:
    empty = counts_of(np.zeros((0, 6), dtype=np.int32))
    assert empty.total.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert empty.units == 0


def test_columns_are_read_only() -> None:
    counts = counts_of(np.ones((2, 6), dtype=np.int32))
    for column in (counts.rows, counts.row, counts.total):
        assert not column.flags.writeable


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 9), st.integers(1, 40), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 39))))
def test_events_are_counted_as_in_a_matrix(units: int, width: int, events: list[tuple[int, int]]) -> None:
    unit = np.array([index % units for index, _ in events], dtype=np.int64)
    cell = np.array([position % width for _, position in events], dtype=np.int64)
    names = [str(number) for number in range(width)]
    counts = Counts.of(names, ["times"], unit=unit, cell=cell, column=0, units=units)
    matrix = np.zeros((units, width), dtype=np.int32)
    np.add.at(matrix, (unit, cell), 1)
    assert np.array_equal(counts.matrix(), matrix)
    expected = Counts.of_matrix(names, ["times"], matrix)
    assert np.array_equal(counts.rows, expected.rows)
    assert np.array_equal(counts.row, expected.row)


places = st.lists(st.integers(-1, 99), min_size=1, max_size=9)
events = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 8)), max_size=30)


@settings(deadline=None, derandomize=True)
@given(
    st.integers(1, 7),
    st.integers(1, 100),
    st.lists(st.tuples(events, places, places, st.integers(1, 10**6)), max_size=3),
)
def test_an_event_is_counted_in_every_cell_of_its_kind(
    units: int, width: int, drawn: list[tuple[list[tuple[int, int]], list[int], list[int], int]]
) -> None:
    matrix = np.zeros((units, width), dtype=np.int32)
    groups = []
    for listed, first, second, more in drawn:
        kinds = min(len(first), len(second))
        columns = [
            np.array([position % width if position >= 0 else -1 for position in column[:kinds]])
            for column in (first, second)
        ]
        unit = np.array([column % units for column, _ in listed], dtype=np.int64)
        kind = np.array([column % kinds for _, column in listed], dtype=np.int8)
        for at, number in zip(unit, kind, strict=True):
            for column in columns:
                matrix[at, column[number]] += column[number] >= 0
        # If a unit may have more events, counts are packed in wider fields but stay the same.
        measured = EventUnits.of(unit)
        wide = EventUnits(unit, measured.most * more)
        groups.append(EventGroup(wide, None if kinds == 1 else kind, tuple(columns)))
    names = [str(number) for number in range(width)]
    counts = Counts.of_groups(names, ["times"], groups, units=units)
    expected = Counts.of_matrix(names, ["times"], matrix)
    assert np.array_equal(counts.matrix(), matrix)
    assert np.array_equal(counts.rows, expected.rows)
    assert np.array_equal(counts.row, expected.row)
    assert counts.row.dtype == expected.row.dtype


def test_many_labels_and_many_events_are_counted_in_blocks() -> None:
    random = np.random.default_rng(5)
    unit, cell = random.integers(0, 40, 600_000), random.integers(0, 70, 600_000)
    names = [str(number) for number in range(70)]
    counts = Counts.of(names, ["times"], unit=unit, cell=cell, column=0, units=40)
    matrix = np.bincount(unit * 70 + cell, minlength=2800).reshape(40, 70)
    assert np.array_equal(counts.matrix(), matrix)


def test_a_sum_comes_before_the_cells_and_cells_can_be_selected() -> None:
    counts = counts_of(np.array([[1, 2, 3, 4, 5, 6], [0, 1, 0, 0, 0, 1]], dtype=np.int32))
    assert counts.with_sum().total.tolist() == [[5, 8, 10], [1, 3, 3], [4, 5, 7]]
    assert counts.with_sum().select_cells([0, 2]).total.tolist() == [[5, 8, 10], [4, 5, 7]]
