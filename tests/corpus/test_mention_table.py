"""The table of mentions: rows can be chosen, tables of consecutive parts concatenated."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spanwise.mentions import MentionTable, MentionTables

LABELS = ("PER", "LOC", "ORG")
Parts = list[tuple[int, list[tuple[int, str]]]]  # the number of units, and the unit and label of mentions


@st.composite
def parts_of_corpora(draw: st.DrawFn) -> Parts:
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        units = draw(st.integers(1, 3))
        rows = draw(st.lists(st.tuples(st.integers(0, units - 1), st.sampled_from(LABELS)), max_size=6))
        parts.append((units, rows))
    return parts


def table_of(units: int, rows: list[tuple[int, str]]) -> MentionTable:
    labels = tuple(dict.fromkeys(label for _, label in rows))  # in the order in which they occur
    return MentionTable(
        {
            "unit": np.array([unit for unit, _ in rows], dtype=np.int64),
            "label": np.array([labels.index(label) for _, label in rows], dtype=np.int32),
            "bucket.length": np.arange(len(rows), dtype=np.uint8),
        },
        labels,
        units,
    )


@given(parts_of_corpora())
def test_concatenated_parts_count_what_a_plain_loop_counts(parts: Parts) -> None:
    whole = MentionTable.concat([table_of(units, rows) for units, rows in parts])
    assert whole.units == sum(units for units, _ in parts)
    assert len(whole) == sum(len(rows) for _, rows in parts)
    assert whole.used_labels == {label for _, rows in parts for _, label in rows}
    for label in LABELS:
        expected = [
            sum(found == (unit, label) for found in rows) for units, rows in parts for unit in range(units)
        ]
        assert whole.by_unit(whole.where(label=label)).tolist() == expected
    assert whole["bucket.length"].tolist() == [row for _, rows in parts for row in range(len(rows))]


@given(parts_of_corpora(), st.data())
def test_rows_can_be_chosen_by_number_and_by_mark(parts: Parts, data: st.DataObject) -> None:
    whole = MentionTable.concat([table_of(units, rows) for units, rows in parts])
    marked = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(whole), max_size=len(whole))), dtype=bool
    )
    by_mark, by_number = whole.take(marked), whole.take(np.flatnonzero(marked))
    for name in whole.columns:
        assert by_mark[name].tolist() == by_number[name].tolist() == whole[name][marked].tolist()
    assert by_mark.units == whole.units


def test_columns_are_read_only_and_tables_are_not_changed() -> None:
    table = table_of(2, [(0, "PER"), (1, "LOC")])
    scored = table.with_columns({"score": np.array([0.5, 0.25])})
    assert "score" not in table.columns
    assert not scored["score"].flags.writeable
    assert not MentionTable.concat([table, table])["unit"].flags.writeable


def test_the_whole_has_the_columns_that_all_parts_have() -> None:
    table = table_of(1, [(0, "PER")])
    both = MentionTable.concat([table.with_columns({"tough.SEEN": np.array([True])}), table])
    assert both.named("tough") == {}
    assert list(both.named("bucket")) == ["length"]


def test_tables_of_gold_and_systems_share_the_numbers_of_units() -> None:
    tables = MentionTables(table_of(2, [(1, "PER")]), {"mine": table_of(2, [])})
    whole = MentionTables.concat([tables, tables])
    assert whole.gold["unit"].tolist() == [1, 3]
    assert whole.systems["mine"].units == 4
