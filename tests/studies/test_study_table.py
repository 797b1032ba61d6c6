"""The performance table: counts with named axes that add up, and tidy exports."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from documents import result
from study_documents import study

from spanwise.errors import ChoiceError
from spanwise.spreadsheet import to_csv
from spanwise.table import AXES, PerformanceTable


def test_a_result_document_becomes_a_table_of_one_dataset() -> None:
    table = PerformanceTable.of_document(result("crf", "bert"))
    whole = table.where(attribute="", label="")
    assert whole.column("model") == ["crf", "bert"] and whole.column("dataset") == ["gold", "gold"]


def test_scores_equal_those_of_the_document() -> None:
    document = result("crf")
    table = PerformanceTable.of_document(document)
    part = table.where(attribute="entity_length")
    expected = [b["f1"] for b in document["systems"]["crf"]["attributes"]["entity_length"]["buckets"]]
    assert part.scores("f1") == pytest.approx(expected)
    assert part.scores("recall")[0] <= 1 and part.scores("precision")[0] <= 1


def test_labels_and_buckets_add_up_to_the_whole() -> None:
    table = PerformanceTable.of_document(study())
    for model in ("crf", "bert"):
        part = table.where(dataset="news", model=model, run="2")
        whole = part.where(attribute="", label="").counts[0]
        labels = [row for row in part.rows() if row["label"] and not row["attribute"]]
        assert sum(row["gold"] for row in labels) == whole[0]
        assert part.where(attribute="entity_length").counts.sum(axis=0).tolist() == whole.tolist()


def test_tables_add_up_cell_by_cell() -> None:
    row = {"model": "crf", "gold": 4, "predicted": 2, "correct": 1}
    first, second = PerformanceTable.of([row]), PerformanceTable.of([row, {**row, "model": "bert"}])
    total = first + second
    assert total.column("model") == ["crf", "bert"]
    assert total.counts.tolist() == [[8, 4, 2], [4, 2, 1]]


NO_RATES = {"precision": None, "recall": None, "f1": None}


def test_crossed_labels_appear_on_both_axes() -> None:
    document = result("crf")
    document["systems"]["crf"]["cross"] = {
        "entity_length,label": {
            "attributes": ["entity_length", "label"],
            "cells": [
                {"buckets": ["XS", "PER"], "gold": 3, "predicted": 2, "correct": 1, **NO_RATES},
            ],
        },
        "entity_length,sentence_length": {"attributes": ["entity_length", "sentence_length"], "cells": []},
    }
    table = PerformanceTable.of_document(document)
    cell = table.where(attribute="entity_length", bucket="XS", label="PER")
    assert cell.counts.tolist() == [[3, 2, 1]]


def test_undefined_scores_are_none_in_rows_and_empty_in_csv() -> None:
    table = PerformanceTable.of([{"model": "crf", "gold": 0, "predicted": 0, "correct": 0}])
    assert np.isnan(table.scores()[0]) and table.rows()[0]["f1"] is None
    row = next(csv.DictReader(io.StringIO(table.to_csv())))
    assert row["f1"] == "" and row["gold"] == "0"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", " =", "＝"])
def test_no_name_in_the_csv_can_be_taken_for_a_formula(start: str) -> None:
    name = f"{start}cmd()"
    names = dict.fromkeys(AXES, name)
    table = PerformanceTable.of([{**names, "gold": 4, "predicted": 4, "correct": 3}])
    (row,) = csv.DictReader(io.StringIO(table.to_csv(), newline=""))
    assert [row[axis] for axis in AXES] == [f"'{name}"] * len(AXES)
    assert (row["gold"], row["f1"]) == ("4", "0.75")


def test_negative_numbers_stay_numbers_in_csv() -> None:
    assert to_csv([["-1", -1, -0.5, None]]) == "'-1,-1,-0.5,\n"


def test_a_carriage_return_begins_no_row_and_a_null_character_is_shown() -> None:
    assert to_csv([["a\rb", "c\x00"], ["d", "e"]]) == '"a\rb",c␀\nd,e\n'


def test_parquet_contains_the_same_rows() -> None:
    import pyarrow
    from pyarrow import parquet

    table = PerformanceTable.of_document(result("crf"))
    rows = parquet.read_table(pyarrow.BufferReader(table.to_parquet())).to_pylist()
    assert rows == [{key: row[key] for key in rows[0]} for row in table.rows()]
    assert set(AXES) < set(rows[0])


def test_unknown_axes_and_scores_are_reported() -> None:
    table = PerformanceTable.of([])
    assert len(table) == 0 and table.rows() == []
    with pytest.raises(ChoiceError, match=r"no axis is called 'modell'\. Did you mean 'model'"):
        table.where(modell="crf")
    with pytest.raises(ChoiceError, match="no score is called 'F1'"):
        table.scores("F1")
