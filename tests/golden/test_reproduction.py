"""Published figures, recomputed from the data they were made from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import fields

from spanwise.cli.main import main
from spanwise.errors import InputError
from spanwise.interpreteval import Departures
from spanwise.reproduction import Cell, Missing, Reproduction, departure_effects, printed, reproduce


@pytest.fixture(scope="module")
def found(data: Path) -> Reproduction:
    return reproduce(data)


def test_no_cell_is_unexplained(found: Reproduction) -> None:
    assert [cell for cell in found.cells if cell.status == "unexplained"] == []
    assert found.counts()["equal"] > 500


def test_only_the_known_cells_differ(found: Reproduction) -> None:
    different = {
        (cell.source, cell.name) for cell in found.cells if not cell.equal and cell.computed is not None
    }
    assert different == {
        ("Tu21", "UNSEEN-ANY PER"),
        ("Ort22", "labeling errors, share of all errors"),
        ("Fu20", "mean F1 of CcnnWgloveCnnCrf"),
    }


def test_only_what_is_divided_by_nothing_is_undefined() -> None:
    undefined = [cell for cell in printed.cells() if cell.computed is None]
    assert len(undefined) == 8
    assert all(cell.paper == 0 and cell.name.endswith("precision") for cell in undefined)


def test_a_mean_that_leaves_a_dataset_out_is_told_by_which() -> None:
    (cell,) = (cell for cell in printed.cells() if cell.source == "Fu20")
    assert (cell.paper, round(float(cell.computed or 0), 2)) == (75.52, 71.12)
    assert cell.why == "it is the mean of the datasets without notewb (49.1)"


@pytest.mark.parametrize(
    ("source", "table", "cells"),
    [
        ("Ort22", "Table 1, focus gold", 24),
        ("Ort22", "Table 2, focus gold", 96),
        ("Ort22", "Table 2, focus predicted", 96),
        ("Ort22", "Figure 1", 7),
        ("Ort22", "Figure 2", 24),
        ("Tu21", "Table 3", 35),
        ("Fu20", "buckets", 2 * 2 * 38),
        ("Ort22", "released results, chunks", 17 * 10 + 10),
        ("Ort22", "released results, fields", 14 * 10 + 10),
    ],
)
def test_every_table_is_there_whole(found: Reproduction, source: str, table: str, cells: int) -> None:
    assert sum((cell.source, cell.table) == (source, table) for cell in found.cells) == cells


def test_what_cannot_be_computed_is_named(found: Reproduction) -> None:
    assert all(missing.claim and missing.why for missing in found.missing)
    assert {missing.source for missing in found.missing} == {"Fu20", "Tu21", "Ort22"}


def test_a_difference_without_a_reason_is_unexplained() -> None:
    assert Cell("a", "b", "c", 1, 2, equal=False).status == "unexplained"
    assert Cell("a", "b", "c", 1, 2, equal=False, why="rounded").status == "explained"


def test_parts_that_are_missing_are_not_computed(data: Path, tmp_path: Path) -> None:
    (tmp_path / "conll2002-es").symlink_to(data / "conll2002-es")
    found = reproduce(tmp_path)
    assert {cell.source for cell in found.cells if cell not in printed.cells()} == {"Tu21"}
    assert (
        Missing("Fu20", "everything from wnut16", f"there is no folder {tmp_path / 'wnut16'}")
        in found.missing
    )


def test_a_folder_without_data_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="there is no data to reproduce figures from"):
        reproduce(tmp_path)
    with pytest.raises(InputError, match="there is no such folder"):
        departure_effects(tmp_path)
    assert main(["reproduce", str(tmp_path)]) == 3
    assert "Give the folder that holds ortmann-ner" in capsys.readouterr().err


def test_the_command_ends_with_the_counts(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", str(data), "--different", "--json", str(tmp_path / "cells.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].endswith("equal · 11 explained · 0 unexplained")
    assert any("sum of its rounded parts, 67.1 + 1.8" in line for line in lines)
    document = json.loads((tmp_path / "cells.json").read_text(encoding="utf-8"))
    assert document["counts"]["unexplained"] == 0


def test_each_departure_has_a_row_in_the_documented_table(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "departures.json"
    assert main(["reproduce", str(data), "--departures", "--json", str(written)]) == 0
    page = Path(__file__).parents[2] / "docs" / "definitions" / "interpreteval.md"
    assert capsys.readouterr().out.strip() in page.read_text(encoding="utf-8")
    rows = json.loads(written.read_text(encoding="utf-8"))
    assert [row["departure"] for row in rows] == [switch.name for switch in fields(Departures)]
    changed = {row["departure"] for row in rows if row["changed"]}
    assert changed >= {"lower_case", "token_density", "word_list", "greedy", "six_labels", "inherited"}
    assert next(row for row in rows if row["departure"] == "six_labels")["attributes"] == ["label"]


def test_the_documented_counts_are_what_the_command_prints(found: Reproduction) -> None:
    counts = " · ".join(f"{number} {status}" for status, number in found.counts().items())
    page = Path(__file__).parents[2] / "docs" / "reproduction.md"
    assert counts in page.read_text(encoding="utf-8")
