"""Tables for papers, pages and spreadsheets contain the document's numbers, and labels cannot inject code."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import documents
import pytest
import study_documents
from hypothesis import given, settings
from hypothesis import strategies as st
from typed import present

import spanwise
from spanwise.cli.main import main
from spanwise.corpus import Annotation, Corpus, Mentions, Reading
from spanwise.errors import ChoiceError
from spanwise.reports import tables as rooms
from spanwise.reports.tables import Interval, Number, Table, latex, markdown, table, tables, text_of

TWO = documents.result("crf", "bert")
STUDY = study_documents.study()
HOSTILE = [
    '=HYPERLINK("http://x","y")', "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "＝1+1", " =1",
    "</script><img src=x onerror=alert(1)>", "{{7*7}}", "a|b", "$x^2$ \\input{/etc/passwd} %", "a\nb\x1b[31m",
    "\u202eevil", "[link](javascript:alert(1))", "`code`", "![x](http://x/y.png)", "@octocat",
    "www.example.org",
]  # fmt: skip


def parsed(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_all_tables_of_a_result_are_available() -> None:
    assert list(tables(TWO)) == [
        "holistic", "labels", "errors", "fair", "fair_labels", "tough", "attributes", "buckets", "slices",
        "comparisons", "statements", "confusion", "composition",
    ]  # fmt: skip


def test_all_tables_of_a_study_are_available() -> None:
    own = [
        "holistic", "datasets", "model_wise", "model_wise_by_dataset", "attribute_wise", "friedman",
        "friedman_systems", "friedman_datasets", "tough", "self_diagnosis", "comparative_diagnosis",
        "wilcoxon", "rank_flips", "statements",
    ]  # fmt: skip
    evaluated = [name for name in tables(TWO) if name not in own]
    of_datasets = [f"{name}/{dataset}" for name in evaluated for dataset in ("news", "tweets")]
    assert list(tables(STUDY)) == [*own, *of_datasets]


@pytest.mark.parametrize("document", [documents.result(), TWO, documents.description(), STUDY])
def test_rows_are_as_long_as_the_header_in_every_form(document: dict[str, Any]) -> None:
    for each in tables(document).values():
        assert all(len(row) == len(each.header) for row in each.rows)
        lines = parsed(each.to_csv())
        assert len({len(line) for line in lines}) == 1
        assert len(lines) == len(each.rows) + 1
        piped = [line for line in each.to_markdown().splitlines() if line.startswith("|")]
        assert len(piped) == len(each.rows) + 2
        text = each.to_latex()
        panels = text.count(r"\begin{tabular}")
        set_rows = [row for row in text.splitlines() if row.endswith(r"\\")]
        headings = sum(row.startswith(r"\multicolumn") for row in set_rows)
        assert len(set_rows) - headings == panels * (len(each._with_numbers().rows) + 1)


def test_the_holistic_table_has_bold_letters_intervals_and_names_the_test() -> None:
    text = table(TWO, "holistic").to_latex()
    assert r"a & crf & \textbf{72.0}$^{\mathrm{b}}$ & 70.0--74.0 & 72.3" in text
    assert r"b & bert & 70.1 & 68.1--72.1" in text
    assert r"\toprule" in text
    assert r"\midrule" in text
    assert r"\bottomrule" in text
    assert "(paired randomisation over documents, p \\textless{} .05)" in text
    assert "jackknife over documents" in text


def test_the_rows_of_the_holistic_table_are_ordered_by_f1() -> None:
    document = documents.result("bert", "crf", "flair")
    rows = table(document, "holistic").rows
    values = [present(row[2].value) for row in rows if isinstance(row[2], Number)]
    assert len(values) == 3
    assert values == sorted(values, reverse=True)


def test_markdown_marks_the_best_and_the_letters() -> None:
    assert "| a | crf | **72.0**<sup>b</sup> | 70.0–74.0 |" in table(TWO, "holistic").to_markdown()


def test_csv_has_full_precision_with_intervals_and_letters_in_columns() -> None:
    header, first, _ = parsed(table(TWO, "holistic").to_csv())
    row = dict(zip(header, first, strict=True))
    overall = TWO["systems"]["crf"]["exact"]["overall"]
    assert float(row["F1"]) == overall["f1"]
    assert [float(row["interval low"]), float(row["interval high"])] == overall["interval"]["f1"]
    assert row["F1 letters"] == "b"


def test_systems_with_different_attributes_share_a_table() -> None:
    document = copy.deepcopy(TWO)
    document["systems"]["crf"].pop("tough")
    document["systems"]["crf"]["attributes"] = {}
    for each in tables(document).values():
        assert all(len(row) == len(each.header) for row in each.rows)
    rows = {row[0]: row for row in parsed(table(document, "tough").to_csv())}
    assert rows["SEEN"][3] == "n/a" != rows["ALL"][3]


def test_requested_credits_have_a_table() -> None:
    document = copy.deepcopy(TWO)
    cell = {"precision": 0.9, "recall": 0.8, "f1": 0.847}
    document["systems"]["crf"]["credits"] = {"ortmann-eq7": {"overall": cell, "labels": {}}}
    rows = parsed(table(document, "credits").to_csv())
    assert [row[1] for row in rows[1:]] == ["exact", "fair", "ortmann-eq7"]
    assert rows[3][4] == "0.847"


def test_undefined_numbers_are_na_in_every_form() -> None:
    grid = Table("t", "", ("x", "y"), ((Number(None, "n/a"), Interval((None, None), "")),))
    assert parsed(grid.to_csv())[1] == ["n/a", "n/a", "n/a"]
    assert "| n/a |" in grid.to_markdown()
    assert "n/a" in grid.to_latex()


def test_negative_numbers_are_not_formulas() -> None:
    grid = Table("t", "", ("x",), ((Number(-0.5, "−50.0"),),))
    assert parsed(grid.to_csv())[1] == ["-0.5"]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_cell_of_csv_is_a_formula(text: str) -> None:
    for row in parsed(Table(text, text, (text,), ((text,),)).to_csv()):
        assert not row[0].lstrip().startswith(("=", "+", "-", "@", "\t", "\r", "＝"))


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_contains_no_html_link_image_code_or_mention(text: str) -> None:
    shown = markdown(text)
    assert not re.search(r"<[a-z/!]", shown)
    assert not re.search(r"(?<!\\)[\[\]`|*]", shown)
    assert "://" not in shown
    assert "@" not in shown
    assert "\n" not in shown


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.text(max_size=40))
def test_latex_escapes_every_special_character(text: str) -> None:
    shown = latex(text)
    # Remove the commands we write ourselves; nothing that TeX would execute may be left.
    words = "backslash|asciicircum|asciitilde|asciigrave|less|greater|bar"
    ours = rf"\\(text({words})|ldots)\{{\}}|\\texttt\{{\\symbol\{{34\}}\}}"
    left = re.sub(ours, "", shown)
    left = re.sub(r"\$(-|\\[a-z]+|\^\{[-0-9]\})\$", "", left)
    left = re.sub(r"\{[\[\]*]\}", "", left)
    left = re.sub(r"\\[{}$&#%_]", "", left)
    left = re.sub(r"(?<=[-',])\{\}(?=[-',])", "", left)
    assert not set(left) & set("\\{}$&#%_^~\n\r")


def test_hostile_labels_stay_inert_in_all_tables() -> None:
    evil = '=cmd|"/c calc"!A1</script>\x1b[31m\u202e\\end{tabular}\n'

    def renamed(part: Any) -> Any:
        """A part of the document in which the label PER has the hostile name, as a key and as a value."""
        if isinstance(part, dict):
            return {evil if key == "PER" else key: renamed(value) for key, value in part.items()}
        if isinstance(part, list):
            return [renamed(value) for value in part]
        return evil if part == "PER" else part

    document = renamed(TWO)
    assert evil in document["systems"]["crf"]["exact"]["labels"]
    for each in tables(document).values():
        for text in (each.to_csv(), each.to_markdown(), each.to_latex()):
            assert not set(text) & set("\x1b\u202e\r")
        assert not any(cell.startswith("=") for row in parsed(each.to_csv()) for cell in row)
        assert "</script>" not in each.to_markdown()
        assert each.to_latex().count(r"\end{tabular}") == each.to_latex().count(r"\begin{tabular}")


def test_grey_cells_are_marked_in_latex_and_markdown() -> None:
    grid = table(STUDY, "model_wise")
    assert r"\textcolor{gray}{+0.60}" in grid.to_latex()
    assert "(+0.60)" in grid.to_markdown()
    assert r"\textcolor{gray}{$-$0.80" not in grid.to_latex()
    assert r"$-$0.80 & " in grid.to_latex()


def test_a_study_has_mean_spread_and_letters() -> None:
    header, first, second = parsed(table(STUDY, "holistic").to_csv())
    row = dict(zip(header, first, strict=True))
    cell = STUDY["analyses"]["holistic"]["crf"]["news"]
    assert float(row["news"]) == cell["mean"]
    assert float(row["news std"]) == cell["std"]
    rows = [row, dict(zip(header, second, strict=True))]
    assert sorted(row["news letters"] for row in rows) == [
        "",
        next(iter({"a", "b"} - {_best(rows)["letter"]})),
    ]


def _best(rows: list[dict[str, str]]) -> dict[str, str]:
    return max(rows, key=lambda row: float(row["news"]))


def test_the_same_document_gives_the_same_bytes() -> None:
    again = copy.deepcopy(TWO)
    for name, grid in tables(TWO).items():
        assert grid.to_latex() == tables(again)[name].to_latex()
    assert again == TWO


def test_an_unknown_table_is_answered_with_the_available_ones() -> None:
    with pytest.raises(
        ChoiceError, match=r"no table of this document is called 'holistc'. Did you mean 'holistic'"
    ):
        table(TWO, "holistc")


def test_two_signs_in_latex_stay_two() -> None:
    assert latex("a--b ''c'' ,,d") == "a-{}-b '{}'c'{}' ,{},d"
    assert latex("1\u20132") == "1--2"


def test_a_row_that_begins_with_a_star_or_a_bracket_keeps_it() -> None:
    latex = Table("t", "", ("label",), (("PER",), ("*",), ("[x]",))).to_latex()
    assert "\n{*} \\\\\n{[}x{]} \\\\\n" in latex


def numbers(columns: int, title: str = "n", text: str = "1") -> Table:
    titles = tuple(f"{title} {at}" for at in range(columns))
    return Table("t", "", ("x", *titles), (("PER", *[Number(1, text)] * columns),))


def test_latex_fits_a_column_of_a_paper_in_type_of_seven_points_or_more() -> None:
    narrow, full, both, panels = (numbers(at, text="92.2").to_latex() for at in (2, 9, 16, 60))
    assert "% needs \\usepackage{booktabs,xcolor}\n" in narrow
    assert "\\begin{table}" in narrow and "\\fontsize{10}{12}" in narrow
    assert "\\begin{table}" in full and "\\fontsize{7}{8.4}" in full
    assert "\\begin{table*}" in both and both.count("\\begin{tabular}") == 1
    assert "\\begin{table*}" in panels and panels.count("\\begin{tabular}") > 1
    for text in (narrow, full, both, panels):
        assert "resizebox" not in text
        assert all(float(size) >= 7 for size in re.findall(r"\\fontsize\{([\d.]+)\}", text))


def test_latex_uses_both_columns_on_request() -> None:
    assert "\\begin{table*}[t]" in numbers(2).to_latex(wide=True)
    assert "\\begin{table}[t]" in numbers(2).to_latex()


def test_long_titles_of_numbers_are_broken_into_lines() -> None:
    latex = Table("t", "", ("x", "entity label consistency"), (("PER", Number(1, "1")),)).to_latex()
    assert "x & \\shortstack[r]{entity\\\\label\\\\consistency} \\\\\n" in latex


def test_repeated_names_become_headings_with_lines_between() -> None:
    rows = tuple((data, system, Number(0.5, "50.0")) for data in ("EWE", "WNUT") for system in ("a", "b"))
    grid = Table("t", "", ("dataset", "system", "F1"), rows)
    body = grid.to_latex().partition("\\midrule\n")[2].partition("\\bottomrule")[0]
    assert body == (
        "\\multicolumn{2}{l}{\\emph{EWE}} \\\\\na & 50.0 \\\\\nb & 50.0 \\\\\n\\midrule\n"
        "\\multicolumn{2}{l}{\\emph{WNUT}} \\\\\na & 50.0 \\\\\nb & 50.0 \\\\\n"
    )
    assert "multicolumn" not in Table("t", "", grid.header, rows[::2]).to_latex()
    assert [row[0] for row in parsed(grid.to_csv())[1:]] == ["EWE", "EWE", "WNUT", "WNUT"]


def test_rows_without_numbers_are_left_out_of_papers_and_kept_in_csv() -> None:
    grid = Table("t", "", ("x", "y"), (("a", Number(None, "n/a")), ("b", Number(0.5, "50.0"))))
    assert "n/a" not in grid.to_latex() and "n/a" not in grid.to_markdown()
    assert parsed(grid.to_csv())[1] == ["a", "n/a"]


def test_scores_can_be_rounded_to_two_decimals() -> None:
    row = (
        Number(0.92163, "92.2"), Number(0.92163, "92.2 ±0.4", std=0.00449), Number(-0.01236, "−1.2"),
        Number(0.0131, "+1.3"), Number(12, "12"), Number(0.6, "+0.60"), Number(0.031, "0.031"),
        Number(None, "n/a"), Interval((0.91, 0.93), "91.0–93.0"), Interval((-0.01, 0.02), "−1.0 to +2.0"),
        "1.0",
    )  # fmt: skip
    (shown,) = Table("t", "", tuple("abcdefghijk"), (row,)).rounded(2).rows
    assert [text_of(cell) for cell in shown] == [
        "92.16", "92.16 ±0.45", "−1.24", "+1.31", "12", "+0.60", "0.031", "n/a", "91.00–93.00",
        "−1.00 to +2.00", "1.0",
    ]  # fmt: skip
    assert Table("t", "", tuple("abcdefghijk"), (row,)).rounded(1).rows == (row,)


def test_latex_spreads_a_long_table_over_several_pages() -> None:
    latex = Table("t", "All.", ("x", "n"), (("PER", Number(1, "1")),) * 41).to_latex()
    assert "% needs \\usepackage{booktabs,longtable,xcolor}\n" in latex
    assert "\\begin{longtable}{lr}\n\\caption{All.}\\label{tab:t}\\\\\n" in latex and "{table}" not in latex


def test_latex_breaks_the_longest_text_of_a_long_table_that_is_too_wide() -> None:
    latex = Table("t", "", ("x", "text"), (("PER", "a word " * 40),) * 41).to_latex()
    assert re.search(r"\\begin\{longtable\}\{lp\{\d+pt\}\}", latex)
    assert latex.splitlines()[1].startswith("\\begingroup\\makeatletter") and "\\if@twocolumn" in latex


def test_latex_names_the_letters_that_need_a_font() -> None:
    assert "fontenc" not in Table("t", "≤ ≥ × →", ("é",), (("ü",),)).to_latex()
    latex = Table("t", "", ("x",), (("\u4eba",), ("\u0105",))).to_latex()
    assert latex.splitlines()[1] == (
        "% \u0105 \u4eba need a font that has them: \\usepackage[T1]{fontenc}, or LuaLaTeX with fontspec"
    )


def renamed(value: Any, labels: Mapping[str, str]) -> Any:
    """The document with its labels replaced everywhere."""
    if isinstance(value, str):
        return labels.get(value, value)
    if isinstance(value, list):
        return [renamed(item, labels) for item in value]
    if isinstance(value, dict):
        return {renamed(key, labels): renamed(item, labels) for key, item in value.items()}
    return value


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex to typeset with")
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_latex_typesets_every_table_whatever_its_labels_are(tmp_path: Path, columns: str) -> None:
    evil = {
        "PER": "_ & % $ # { } ~ ^ \\ < > | \" ' ` -- ?` !` *",
        "LOC": "→ × ≥ ≤ ± … – — \u202e \u200f é ü ø",
        "ORG": "*[2pt] \\end{tabular} \n \x1b[31m",
    }
    hostile = tuple((text, Number(1, "1")) for text in [*HOSTILE, *evil.values()] if "＝" not in text)
    document = [
        Table("hostile", evil["PER"], (evil["PER"], "n"), hostile),
        Table("long", evil["LOC"], (evil["ORG"], "n"), hostile * 3),
        *tables(renamed(TWO, evil)).values(),
        *tables(renamed(STUDY, evil)).values(),
    ]
    (tmp_path / "t.tex").write_text(
        f"\\documentclass[{columns}]{{article}}"
        "\\usepackage{booktabs,longtable,xcolor}\\begin{document}\n"
        + "\\clearpage\n".join(table.to_latex() for table in document)
        + "\\end{document}\n"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
    log = (tmp_path / "t.log").read_text(errors="replace")
    assert done.returncode == 0, [line for line in log.splitlines() if line.startswith(("!", "l."))]
    assert "Float too large" not in log and "Missing character" not in log


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(TWO))
    return path


def test_the_command_prints_one_table(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", str(saved), "holistic", "--latex"]) == 0
    assert capsys.readouterr().out == table(TWO, "holistic").to_latex()
    assert main(["table", str(saved), "labels"]) == 0
    assert capsys.readouterr().out == table(TWO, "labels").to_markdown()


def test_the_command_lists_the_tables(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", str(saved)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == rooms.names(TWO)
    assert all(len(line) <= 100 for line in lines)


def test_the_command_writes_to_a_file(saved: Path, tmp_path: Path) -> None:
    target = tmp_path / "labels.csv"
    assert main(["table", str(saved), "labels", "--csv", "-o", str(target)]) == 0
    assert target.read_text() == table(TWO, "labels").to_csv()


def test_the_command_prints_all_tables(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", str(saved), "all", "--latex"]) == 0
    written = capsys.readouterr().out
    assert written.count(r"\begin{table}") + written.count(r"\begin{table*}") == len(rooms.names(TWO))


def test_the_command_refuses_choices_of_another_form(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", str(saved), "labels", "--csv", "--decimals", "2"]) == 2
    assert "CSV is not rounded" in capsys.readouterr().err
    assert main(["table", str(saved), "labels", "--wide"]) == 2
    assert "--latex" in capsys.readouterr().err


def test_the_command_refuses_an_unknown_table(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", str(saved), "nothing"]) == 2
    assert "no table of this document is called 'nothing'" in capsys.readouterr().err


def test_the_command_refuses_a_file_that_is_not_a_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.json").write_text("[]")
    assert main(["table", str(tmp_path / "x.json"), "holistic"]) == 3
    assert "not a result document" in capsys.readouterr().err


def test_fair_scores_by_label_end_with_all_labels_and_add_up_boundary_errors() -> None:
    gold = [["B-PER", "I-PER", "O"], ["B-LOC", "O", "O"]]
    predicted = [["B-PER", "O", "O"], ["B-LOC", "I-LOC", "O"]]
    result = spanwise.evaluate(gold, {"a": predicted}, resamples=0)
    made = table(result, "fair_labels")
    by_label = {str(row[1]): dict(zip(made.header, row, strict=True)) for row in made.rows}
    assert list(by_label)[-1] == "Overall"
    assert [value_of(by_label["Overall"][name]) for name in ("boundary (all)", "too short", "too long")] == [
        2,
        1,
        1,
    ]
    assert value_of(by_label["PER"]["boundary (all)"]) == 1


def test_the_composition_starts_with_all_mentions_and_marks_rare_subsets() -> None:
    words = [["Ann"], *([f"w{at}"] for at in range(150))]
    train = Annotation(Corpus.of([["Ann"]]), Mentions.of([(0, 0, 1, "PER")]), Reading("train"))
    mentions = Mentions.of([(at, 0, 1, "PER") for at in range(len(words))])
    test = Annotation(Corpus.of(words), mentions, Reading("test"))
    result = spanwise.evaluate(test, {"same": test}, train=train, attributes="none", resamples=0)
    for name in ("composition", "tough"):
        shown = table(result, name)
        assert shown.rows[0][0] == "ALL"
        # Marks follow numbers, so that names and CSV stay as they are.
        seen = next(line for line in shown.to_markdown().splitlines() if line.startswith("| SEEN |"))
        assert "| 1†‡ |" in seen
        assert "†" not in shown.to_csv() and "‡" not in shown.to_csv()
    # SEEN and two subsets without mentions are left out; so is SEEN of the recalls.
    for name in ("composition", "tough"):
        kept = [str(row[0]) for row in table(result, name).without_rare(0.01).rows]
        assert kept == ["ALL", "UNSEEN-TOKENS", "UNSEEN-ANY"]
    assert table(result, "labels").without_rare(0.5) == table(result, "labels")


def test_the_worst_bucket_is_tested_against_the_best_over_datasets_and_runs() -> None:
    document = copy.deepcopy(STUDY)
    model_wise = document["analyses"]["model_wise"]
    system = next(iter(model_wise))
    attribute = next(iter(model_wise[system]))
    model_wise[system][attribute]["wilcoxon"] = {"pairs": 6, "statistic": 0.0, "p": 0.03125}
    (row,) = table(document, "worst_against_best").rows
    assert row[0] == system
    assert [value_of(cell) for cell in row[2:]] == [6, 0, 0.03125]


def value_of(cell: object) -> float | None:
    assert isinstance(cell, Number)
    return cell.value


def test_bold_cells_take_more_room() -> None:
    """Five columns of ten characters fill a column of the page at 7 points, but not in bold."""
    cells = [Number(0.897, "89.7 ±0.53", best=best) for best in (False, True)]
    plain, bold = (Table("t", "", tuple("abcde"), ((cell,) * 5,)).to_latex() for cell in cells)
    assert "\\begin{table}" in plain and "\\begin{table*}" in bold
