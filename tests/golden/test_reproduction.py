"""Published figures, recomputed from the original data."""

from __future__ import annotations

import json
from collections import Counter
from itertools import permutations
from pathlib import Path

import pytest
from msgspec.structs import fields
from scipy.stats import friedmanchisquare

import spanwise
from spanwise.cli.main import main
from spanwise.corpus import Annotation, Corpus, Mentions, Reading
from spanwise.errors import InputError
from spanwise.interpreteval import Departures
from spanwise.reproduction import BASES, Cell, Missing, Reproduction, departure_effects, ortmann, reproduce
from spanwise.reproduction.tables import FITTED, friedman_values, number_of, one_direction


@pytest.fixture(scope="module")
def reproduced(data: Path) -> Reproduction:
    return reproduce(data)


def test_only_known_cells_are_unexplained(reproduced: Reproduction) -> None:
    unexplained = [cell.name for cell in reproduced.cells if cell.status == "unexplained"]
    assert unexplained == [
        "CRF++ F1, mean of Table 1",
        "self-diagnosis of eCon",
        "self-diagnosis of tCon",
        "self-diagnosis of eFre",
    ]
    assert reproduced.counts()["mentions"] == {"equal": 633, "explained": 5, "guessed": 3, "unexplained": 0}


def test_every_cell_counts_once(reproduced: Reproduction) -> None:
    places = Counter((cell.source, cell.table, cell.name) for cell in reproduced.cells)
    assert [place for place, number in places.items() if number > 1] == []


def test_figures_that_are_not_printed_are_called_released(reproduced: Reproduction) -> None:
    tables = {(cell.source, cell.table) for cell in reproduced.cells if cell.origin == "released"}
    assert tables == {
        ("Ort22", "as Table 1, focus predicted"),
        ("Ort22", "as Table 2, focus predicted"),
        ("Ort22", "as Table 1, equation 6"),
        ("Ort22", "as Table 2, equation 6"),
        ("Ort22", "released results, chunks"),
        ("Ort22", "released results, fields"),
        ("Fu20", "overall"),
        ("Fu20", "buckets"),
        ("Fu20", "self-diagnosis"),
        ("Fu20", "model-wise, from the released buckets"),
        ("Fu20", "comparative diagnosis"),
        ("Fu20", "relative differences"),
    }


@pytest.mark.parametrize(("claim", "text", "pairs"), FITTED)
def test_a_fitted_number_of_pairs_gives_the_printed_p(claim: str, text: str, pairs: int) -> None:
    assert f"{one_direction(pairs, 'approx'):.1e}" == f"{number_of(text):.1e}", claim


def test_a_p_value_of_the_fifth_table_may_be_rounded_twice(reproduced: Reproduction) -> None:
    twice = [cell for cell in reproduced.cells if "rounded twice" in cell.why]
    assert [cell.name.partition(",")[0] for cell in twice] == ["conll03 eLen", "wnut16 eLen", "notewb eLen"]
    assert {cell.status for cell in twice} == {"guessed"}


def test_only_the_known_cells_differ(reproduced: Reproduction) -> None:
    different = Counter(
        (cell.source, cell.table) for cell in reproduced.cells if not cell.equal and cell.computed is not None
    )
    assert different == {
        ("Tu21", "Table 3"): 1,
        ("Tu21", "Table 6"): 1,
        ("Tu21", "Table 16"): 1,
        ("Tu21", "text"): 4,
        ("Fu20", "Table 2"): 4 + 48,
        ("Fu20", "Table 5"): 39,
        ("Fu20", "Table 6"): 2,
        ("Fu20", "text"): 4,
        ("Fu19", "Table 7"): 7,
    }


def test_only_divisions_by_zero_are_undefined() -> None:
    undefined = [cell for cell in ortmann.released_cells() if cell.computed is None]
    assert len(undefined) == 8
    assert all(cell.published == 0 and cell.name.endswith("precision") for cell in undefined)


def test_an_incomplete_mean_names_the_dataset_left_out(reproduced: Reproduction) -> None:
    cell = next(cell for cell in reproduced.cells if cell.name.startswith("CcnnWgloveCnnCrf F1, mean"))
    assert (cell.published, round(float(cell.computed or 0), 2)) == (75.52, 71.12)
    assert cell.why == "it is the mean without WB"


def test_the_means_of_the_second_table_were_taken_by_position(reproduced: Reproduction) -> None:
    means = [
        cell
        for cell in reproduced.cells
        if (cell.source, cell.table) == ("Fu20", "Table 2") and "mean of Table" not in cell.name
    ]
    assert len(means) == 192
    moved = [cell for cell in means if not cell.equal]
    assert len(moved) == 48
    assert all("mean by position" in cell.why and cell.status == "explained" for cell in moved)


def test_the_smallest_p_value_of_a_friedman_test_comes_from_equal_orders() -> None:
    orders = [[1, 2, 3, 4]] * 6
    least = friedmanchisquare(*zip(*orders, strict=True)).pvalue
    assert friedman_values(6, 4)[0] == pytest.approx(least)
    assert friedman_values(2, 3) == pytest.approx(sorted({
        round(float(friedmanchisquare(*zip((1, 2, 3), order, strict=True)).pvalue), 12)
        for order in permutations((1, 2, 3))
    }), abs=1e-9)  # fmt: skip


def test_the_example_of_tough_mentions_is_classified_as_in_the_paper() -> None:
    """Tu21, Table 1."""
    train = Annotation(
        Corpus.of([["Newcastle", "is", "a", "city", "in", "the", "UK", "."]]),
        Mentions.of([(0, 0, 1, "LOC"), (0, 6, 7, "LOC")]),
        Reading("train"),
    )
    test = Annotation(
        Corpus.of([["John", "Brown", ",", "the", "Newcastle", "star", "from", "the", "UK", ",", "has"]]),
        Mentions.of([(0, 0, 2, "PER"), (0, 4, 5, "ORG"), (0, 8, 9, "LOC")]),
        Reading("test"),
    )
    result = spanwise.evaluate(
        test, {"same": test}, train=train, attributes="none", resamples=0, examples="all"
    )
    gold = result.to_dict()["sentences"][0]["gold"]
    assert [mention["tough"] for mention in gold] == [
        ["UNSEEN-TOKENS", "UNSEEN-ANY"], ["UNSEEN-TYPE", "UNSEEN-ANY"], ["SEEN"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "table", "cells"),
    [
        ("Ort22", "Table 1", 21),
        ("Ort22", "Table 2", 84),
        ("Ort22", "as Table 2, equation 6", 12),
        ("Ort22", "as Table 2, focus predicted", 96),
        ("Ort22", "Figure 1", 7),
        ("Ort22", "Figure 2", 24),
        ("Tu21", "Table 3", 35 + 11),
        ("Fu20", "buckets", 2 * 2 * 38),
        ("Ort22", "released results, chunks", 17 * 10 + 10),
        ("Ort22", "released results, fields", 14 * 10 + 10),
    ],
)
def test_every_table_is_complete(reproduced: Reproduction, source: str, table: str, cells: int) -> None:
    assert sum((cell.source, cell.table) == (source, table) for cell in reproduced.cells) == cells


def test_claims_that_cannot_be_computed_are_named(reproduced: Reproduction) -> None:
    assert all(missing.claim and missing.why for missing in reproduced.missing)
    assert {missing.source for missing in reproduced.missing} == {"Fu19", "Fu20", "Tu21", "Ort22"}


def test_a_difference_without_a_reason_is_unexplained() -> None:
    assert Cell("a", "b", "c", 1, 2, equal=False).status == "unexplained"
    assert Cell("a", "b", "c", 1, 2, equal=False, why="rounded").status == "explained"
    assert Cell("a", "b", "c", 1, 2, equal=False, why="rounded", reason="guess").status == "guessed"
    assert Cell("a", "b", "c", 1, 2, equal=False, why="no sum", reason="none").status == "unexplained"


def test_parts_that_are_missing_are_not_computed(data: Path, tmp_path: Path) -> None:
    (tmp_path / "conll2002-es").symlink_to(data / "conll2002-es")
    reproduced = reproduce(tmp_path)
    assert {cell.source for cell in reproduced.cells if cell.basis == "mentions"} == {"Tu21"}
    assert (
        Missing("Fu20", "everything from wnut16", f"there is no folder {tmp_path / 'wnut16'}")
        in reproduced.missing
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
    assert lines[-2] == "computed from mentions: 633 equal · 5 explained · 3 guessed · 0 unexplained"
    assert lines[-1].startswith(
        "published figures against each other, each cell once: 715 equal · 60 explained"
    )
    assert any("sum of its rounded parts, 67.1 + 1.8" in line for line in lines)
    document = json.loads((tmp_path / "cells.json").read_text(encoding="utf-8"))
    assert document["counts"]["mentions"]["unexplained"] == 0


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


def test_the_documented_counts_equal_those_the_command_prints(reproduced: Reproduction) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text(encoding="utf-8")
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    for basis, counts in reproduced.counts().items():
        numbers = " · ".join(f"{number} {status}" for status, number in counts.items())
        assert f"{BASES[basis]}: {numbers}" in page
    mentions, printed = (
        (counts["equal"], counts["explained"] + counts["guessed"], counts["unexplained"])
        for counts in reproduced.counts().values()
    )
    assert "From mentions: {} equal, {} explained or guessed, {} unexplained".format(*mentions) in readme
    assert "published figures against each other: {}, {}, {}.".format(*printed) in readme
