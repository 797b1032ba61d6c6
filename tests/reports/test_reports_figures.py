"""Figures: every chart of a document, as Altair and as files, and the papers' figures by name."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from documents import description, result
from study_documents import study

pytest.importorskip("altair", reason="figures need the extra 'report'")
pytest.importorskip("vl_convert", reason="figures need the extra 'report'")

import spanwise
from spanwise.cli.main import main
from spanwise.errors import ChoiceError, InputError
from spanwise.reports.figures import figures, paper, papers, save
from spanwise.reports.tables import table


def with_factor() -> dict[str, Any]:
    """A study of three datasets whose systems have a numeric factor."""
    document = study(names=("news", "tweets", "law"))
    attributes = document["analyses"]["attribute_wise"]
    for number, rows in enumerate(attributes.values()):
        for at in range(4):
            cell = {
                "zeta": 1.0 + at,
                "zeta_relative": 0.4 + 0.1 * at + 0.1 * number,
                "rho1": 0.2 * at,
                "rho2": 0.1,
            }
            rows[f"own_{at}"] = {**cell, "sigma": 0.1, "friedman": {"statistic": 9.0, "p": 0.01, "blocks": 6}}
    steps = [
        {"value": value, "system": system, "gains": dict.fromkeys(document["datasets"], gain), "gain": gain}
        for value, system, gain in ((100, "crf", 0.0), (200, "bert", 0.1))
    ]
    groups = [{"factors": {"data": "news"}, "steps": steps}]
    document["analyses"]["factors"] = {"size": {"numeric": True, "values": {}, "pairs": [], "groups": groups}}
    return document


@pytest.fixture(scope="module")
def charts() -> dict[str, Any]:
    return figures(result("bert", "crf"))


@pytest.fixture(scope="module")
def of_study() -> dict[str, Any]:
    return figures(with_factor())


@pytest.fixture(scope="module")
def specifications(charts: dict[str, Any], of_study: dict[str, Any]) -> dict[str, str]:
    """The specification of each chart, which Altair validates against its schema."""
    every_chart = {**charts, **{f"study {name}": chart for name, chart in of_study.items()}}
    return {name: json.dumps(chart.to_dict(), ensure_ascii=False) for name, chart in every_chart.items()}


def test_an_evaluation_has_a_chart_for_everything_it_counts(charts: dict[str, Any]) -> None:
    assert {"score", "labels", "attribute-entity_length", "attribute-token_frequency"} <= set(charts)
    for kind in ("gains", "shares", "confusion", "tough", "slices", "diagnosis"):
        assert {f"{kind}-bert", f"{kind}-crf"} <= set(charts)


def test_charts_follow_the_schema_of_altair_and_contain_their_numbers(specifications: dict[str, str]) -> None:
    assert "Wrong boundary" in specifications["gains-crf"]


def test_bars_start_at_zero(specifications: dict[str, str]) -> None:
    domains = re.findall(r'"domain": \[(-?[\d.]+), ', specifications["gains-bert"])
    assert set(map(float, domains)) == {0.0}


def test_figures_have_no_links_and_no_variables_of_the_page(specifications: dict[str, str]) -> None:
    for text in specifications.values():
        assert "var(--" not in text and "#examples" not in text


def test_a_study_has_its_radars_heat_maps_and_lines(of_study: dict[str, Any]) -> None:
    named = {"holistic", "radar-zeta", "radar-rho", "drivers", "factor-size", "increase-crf-bert"}
    assert named <= set(of_study)


def test_a_description_has_no_figures() -> None:
    assert figures(description()) == {}


def test_files_match_their_suffixes_and_are_reproducible(tmp_path: Path) -> None:
    document = result("bert", "crf")
    chosen = ["score", "gains-bert"]
    written = save(document, tmp_path / "a", formats=["svg", "pdf", "png"], names=chosen)
    assert [path.name for path in written] == [
        "score.svg", "score.pdf", "score.png", "gains-bert.svg", "gains-bert.pdf", "gains-bert.png",
    ]  # fmt: skip
    heads = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG"}
    for folder in ("b", "c", "d"):
        again = save(document, tmp_path / folder, formats=["svg", "pdf", "png"], names=chosen)
        for first, second in zip(written, again, strict=True):
            assert first.read_bytes().startswith(heads[first.suffix])
            assert first.read_bytes() == second.read_bytes()
    text = (tmp_path / "a" / "score.svg").read_text(encoding="utf-8")
    assert 'font-size="-' not in text and ">bert<" in text


def test_pdf_files_embed_their_fonts(tmp_path: Path) -> None:
    (path,) = save(result("crf"), tmp_path, formats=["pdf"], names=["score"])
    assert re.search(rb"/FontFile\d?|/FontDescriptor", path.read_bytes())


def test_a_pdf_file_from_another_program_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = b"%PDF-1.7\n1 0 obj\n<< /Type /XRef >>\nendobj\nstartxref\n9\n%%EOF"
    monkeypatch.setattr("vl_convert.svg_to_pdf", lambda svg: packed)
    (path,) = save(result("crf"), tmp_path, formats=["pdf"], names=["score"])
    assert path.read_bytes() == packed


def test_every_object_of_a_pdf_file_is_where_its_table_says(tmp_path: Path) -> None:
    (path,) = save(result("crf"), tmp_path, formats=["pdf"], names=["score"])
    data = path.read_bytes()
    table = int(data.split()[-2])
    assert data[table:].startswith(b"xref\n0 ")
    offsets = [int(offset) for offset in re.findall(rb"(\d{10}) 00000 n\r\n", data[table:])]
    assert f"/Size {len(offsets) + 1}".encode() in data[table:]
    for number, offset in enumerate(offsets, start=1):
        assert data[offset:].startswith(b"%d 0 obj\n" % number)
    heads = re.sub(rb"\nstream\n.*?\nendstream", b"", data, flags=re.DOTALL)
    assert {int(number) for number in re.findall(rb"(\d+) 0 R", heads)} == {*range(1, len(offsets) + 1)}


def test_the_background_can_be_left_out(tmp_path: Path) -> None:
    white, clear = (
        save(result("crf"), tmp_path / name, names=["score"], background=name)[0].read_text(encoding="utf-8")
        for name in ("white", "transparent")
    )
    assert 'fill="white"' in white and 'fill="white"' not in clear


@pytest.mark.parametrize(
    "name",
    [
        "fu20-figure4", "fu20-table3", "fu20-table4", "fu20-figure5", "fu20-figure6", "fu19-rho2",
        "fu19-sigma", "fu19-beta", "ort22-figure1",
    ],
)  # fmt: skip
def test_the_figures_of_fu_are_drawn_from_a_study(name: str, tmp_path: Path) -> None:
    charts = paper(with_factor(), name)
    assert charts and all(key.startswith(name) for key in charts)
    first = next(iter(charts))
    assert save(with_factor(), tmp_path, papers=[name])[0].name == f"{first}.svg"


@pytest.mark.parametrize("name", ["ort22-figure2", "fu20-table3"])
def test_the_figures_of_one_result_are_drawn_for_every_system(name: str) -> None:
    charts = paper(result("bert", "crf"), name)
    assert any("bert" in key for key in charts) and any("crf" in key for key in charts)


def test_all_systems_share_one_figure_of_errors_with_every_share() -> None:
    (chart,) = paper(result("bert", "crf"), "ort22-figure1").values()
    written = str(chart.to_dict())
    assert "bert" in written and "crf" in written
    for kind in ("LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP"):
        assert len(re.findall(rf"'t': '{kind} \d+\.\d'", written)) >= 1


def test_a_confusion_matrix_can_show_some_labels_and_add_up_the_others() -> None:
    document = result("crf")
    table = document["systems"]["crf"]["confusion"]
    (chart,) = paper(document, "ort22-figure2", labels=["PER"]).values()
    written = str(chart.to_dict())
    assert "gold PER, predicted others" in written and "gold LOC" not in written
    at = table["labels"].index("PER")
    others = sum(count for index, count in enumerate(table["counts"][at]) if index != at)
    assert f"gold PER, predicted others: {others} error" in written
    with pytest.raises(ChoiceError, match=r"no label of this result is called 'PERS'\. Did you mean 'PER'"):
        paper(document, "ort22-figure2", labels=["PERS"])


def test_all_systems_are_in_one_panel_per_attribute() -> None:
    (chart,) = paper(result("bert", "crf"), "fu20-models").values()
    written = str(chart.to_dict())
    assert "bert, eLen XS" in written and "crf, eLen XL" in written


def test_panels_name_best_and_worst_buckets_and_the_scores_of_both_systems() -> None:
    charts = paper(with_factor(), "fu20-table4")
    written = str(next(iter(charts.values())).to_dict())
    assert "biggest win and biggest loss" in written and re.search(r"F1 \d+\.\d and \d+\.\d", written)
    assert "news" in written and "tweets" in written


def test_every_paper_figure_has_a_one_line_description() -> None:
    assert set(papers()) == {
        "fu20-figure4", "fu20-table3", "fu20-table4", "fu20-figure5", "fu20-figure6", "fu20-pays",
        "fu20-models",
        "fu19-rho2", "fu19-sigma", "fu19-beta", "ort22-figure1", "ort22-figure2",
    }  # fmt: skip
    assert all(papers().values())


def test_a_figure_without_numbers_in_the_document_says_what_it_needs() -> None:
    with pytest.raises(
        InputError, match=r"(?s)fu20-figure5 cannot be drawn.*a study document with a numeric"
    ):
        paper(result("crf"), "fu20-figure5")


def test_unknown_figures_are_answered_with_the_closest_one(tmp_path: Path) -> None:
    with pytest.raises(ChoiceError, match=r"no figure of a paper is called 'fu20-figure44'. Did you mean"):
        paper(result("crf"), "fu20-figure44")
    with pytest.raises(ChoiceError, match=r"no figure format is called 'jpeg'.\nThere are: pdf, png, svg."):
        save(result("crf"), tmp_path, formats=["jpeg"])
    with pytest.raises(
        ChoiceError, match=r"no figure of this result is called 'scores'. Did you mean 'score'"
    ):
        save(result("crf"), tmp_path, names=["scores"])
    with pytest.raises(ChoiceError, match=r"no background is called 'black'"):
        save(result("crf"), tmp_path, background="black")


def test_hostile_labels_make_safe_files(tmp_path: Path) -> None:
    plain = json.dumps(result("crf")).replace('"crf"', '"../<b>c\\u202e"').replace('"PER"', '"<i>&"')
    written = save(json.loads(plain), tmp_path, names=["score", "gains-../<b>c\u202e", "labels"])
    assert all(path.parent == tmp_path for path in written)
    for path in written:
        text = path.read_text(encoding="utf-8")
        assert "<b>" not in text and "<i>" not in text and "\u202e" not in text


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "spanwise.cli.main", *arguments], capture_output=True, text=True, check=False
    )


def test_the_commands_write_the_page_and_the_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "run.json"
    saved.write_text(json.dumps(result("bert", "crf")), encoding="utf-8")
    page = command("report", str(saved), "-o", str(tmp_path / "run.html"))
    assert page.returncode == 0, page.stderr
    assert (tmp_path / "run.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    drawn = command("figures", str(saved), "score", "-o", str(tmp_path / "f"), "--format", "svg,pdf")
    assert drawn.returncode == 0 and drawn.stderr == f"saved: 2 files in {tmp_path / 'f'}\n"
    assert main(["figures", str(saved)]) == 0
    listed = capsys.readouterr().out
    names = [line for line in listed.splitlines() if not line.startswith("--paper")]
    assert names == list(figures(result("bert", "crf"))) and "--paper fu20-figure4" in listed
    assert main(["figures", str(saved), "-o", str(tmp_path), "--format", "gif"]) == 2
    assert main(["figures", str(saved), "-o", str(tmp_path), "--paper", "fu20-figure4"]) == 3


def test_buckets_that_only_one_system_has_are_drawn_and_listed() -> None:
    """Mentions that cannot be placed once ended pages in an error if the better system had them."""
    tokens = ["Anna", "Lee", "in", "New", "York", "now"]
    gold = [{"tokens": tokens, "spans": [[0, 2, "PER"], [3, 5, "LOC"]]}] * 6
    torn = [
        {"tokens": [*tokens[:3], "NewY", "ork", "now"], "spans": [[0, 2, "PER"], [4, 5, "MISC"]]}
    ] * 6  # "ork" begins inside a token of gold
    silent = [{"tokens": tokens, "spans": []}] * 6
    for systems in ({"torn": torn, "silent": silent}, {"silent": silent, "torn": torn}):
        result = spanwise.evaluate(gold, systems, align="diff", resamples=0, attributes="entity_length")
        names = [bucket.name for bucket in result["torn"].attributes["entity_length"].buckets]
        assert names[-1] == "unplaced" != result["silent"].attributes["entity_length"].buckets[-1].name
        assert "unplaced" in result.to_html()
        assert "| unplaced | " in table(result, "buckets").to_markdown()
