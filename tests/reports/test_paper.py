"""The LaTeX document of a paper's results: what it holds, that it compiles, and that it fits its columns."""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

import spanwise
from spanwise.cli.main import main
from spanwise.demo import generate
from spanwise.document.evaluation import DatasetRuns
from spanwise.document.study import Study
from spanwise.errors import ChoiceError, InputError
from spanwise.reports._charts.marks import _levels
from spanwise.studies import manifest_of, study

NAMES = {"swapper": "Swapper & Söhne", "memoriser": "mem_50%", "shortsighted": "Shortsighted (large)"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three systems with two runs each on two datasets."""
    root = tmp_path_factory.mktemp("paper")
    for data, seed in (("b", 0), ("a", 1)):
        made = generate(root / data, seed=seed, sentences=120)
        for name, path in made.systems.items():
            text = Path(path).read_text(encoding="utf-8")
            (root / f"{data}.{name}.1.conll").write_text(text, encoding="utf-8")
            (root / f"{data}.{name}.2.conll").write_text(text.replace("B-ORG", "B-LOC", 9), encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def document(folder: Path) -> Study:
    """A study whose manifest names its datasets and systems, in the order in which it has them."""
    manifest = {
        "predictions": "{dataset}.{system}.{run}.conll",
        "attributes": "none",
        "resamples": 50,
        "order": "manifest",
        "datasets": {
            "b": {"test": "b/gold.conll", "name": "Second"},
            "a": {"test": "a/gold.conll", "name": "First"},
        },
        "systems": {key: {"name": name} for key, name in NAMES.items()},
        "compare": [{"systems": ["swapper", "memoriser"]}, {"systems": ["shortsighted", "memoriser"]}],
    }
    return study(manifest_of(manifest, root=folder), workers=1, cache=False)


@pytest.fixture(scope="module")
def saved(document: Study, folder: Path) -> Path:
    path = folder / "study.json"
    document.to_json(path)
    return path


def test_names_and_order_of_a_manifest_are_those_of_every_result(document: Study) -> None:
    assert list(document.datasets) == ["Second", "First"]
    assert list(document.analyses.holistic) == list(NAMES.values())
    pairs = {row.systems for part in document.datasets.values() for row in part.comparisons}
    assert {frozenset(pair) for pair in pairs} == {
        frozenset(("Swapper & Söhne", "mem_50%")), frozenset(("Shortsighted (large)", "mem_50%")),
    }  # fmt: skip


def test_without_an_order_datasets_and_systems_are_sorted_by_name(folder: Path) -> None:
    manifest = manifest_of(
        {
            "predictions": "{dataset}.{system}.{run}.conll",
            "datasets": {"b": {"test": "b/gold.conll", "name": "Z"}, "a": {"test": "a/gold.conll"}},
            "systems": {"swapper": {"name": "a10"}, "memoriser": {"name": "a9"}},
        },
        root=folder,
    )
    assert [part.name for part in manifest.datasets] == ["Z", "a"]
    assert [(part.name, part.key) for part in manifest.systems] == [("a9", "memoriser"), ("a10", "swapper")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": "f1"}, "no order is called 'f1'"),
        (
            {"systems": {"swapper": {"name": "x"}, "memoriser": {"name": "x"}}},
            "'swapper' and 'memoriser' are both called 'x'",
        ),
        ({"systems": {"swapper": {"name": "a/b"}}}, "'a/b' cannot be a name"),
    ],
)
def test_wrong_names_and_orders_are_refused(change: dict[str, object], message: str) -> None:
    manifest = {"predictions": "{system}.{run}", "datasets": {"d": {"test": "t"}}, "systems": {"a": {}}}
    with pytest.raises(InputError, match=re.escape(message)):
        manifest_of({**manifest, **change})


def test_a_paper_has_the_main_table_a_figure_the_tests_and_an_appendix(
    document: Study, tmp_path: Path
) -> None:
    tex, figure = spanwise.paper(document, tmp_path / "paper", decimals=2)
    assert [tex.name, figure.name] == ["paper.tex", "holistic.pdf"]
    assert figure.read_bytes().startswith(b"%PDF")
    text = tex.read_text(encoding="utf-8")
    holistic = document.analyses.holistic["mem_50%"]["First"]
    assert holistic.mean is not None
    assert f"{100 * holistic.mean:.2f} $\\pm${100 * (holistic.std or 0):.2f}" in text
    assert "Swapper \\& Söhne" in text and "mem\\_50\\%" in text
    for name in ("tab:holistic", "fig:main", "tab:datasets", "tab:scores"):
        assert text.count(f"\\label{{{name}}}") == 1
    assert "Differences are tested by t-test over runs and" in text
    assert text.index("tab:holistic") < text.index("\\appendix") < text.index("tab:scores")
    assert "resizebox" not in text
    assert all(float(size) >= 7 for size in re.findall(r"\\fontsize\{([\d.]+)\}", text))


def test_the_paragraph_is_short_and_every_test_is_in_a_table(document: Study, tmp_path: Path) -> None:
    tex, _ = spanwise.paper(document, tmp_path)
    text = tex.read_text(encoding="utf-8")
    paragraph = text[text.index("\\section{Results}") : text.index("\\begin{table")]
    assert len(paragraph.split()) < 90
    assert "n = " in paragraph and "Raised letters" in paragraph and "bold" in paragraph
    tests = text[: text.index("\\label{tab:tests}")].rpartition("\\begin{tabular}")[2]
    for part in document.datasets.values():
        for row in part.comparisons:
            assert row.primary is not None and row.primary.difference is not None
            assert f"{100 * abs(row.primary.difference):.1f}" in tests


def _without_documents(part: DatasetRuns) -> DatasetRuns:
    assert part.dataset is not None
    return replace(part, dataset=replace(part.dataset, documents=None))


def test_a_paper_has_no_column_without_a_number_and_no_codes(document: Study, tmp_path: Path) -> None:
    tex, _ = spanwise.paper(document, tmp_path)
    text = tex.read_text(encoding="utf-8")
    data = replace(
        document, datasets={name: _without_documents(part) for name, part in document.datasets.items()}
    )
    tex, _ = spanwise.paper(data, tmp_path)
    shown = (
        tex.read_text(encoding="utf-8")
        .partition("\\label{tab:datasets}")[0]
        .rpartition("\\begin{tabular}")[2]
    )
    assert "sentences" in shown and "documents" not in shown and "n/a" not in shown
    assert "UNSEEN" not in text and "TCM" not in text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("wide", [False, True])
def test_the_paper_compiles_and_nothing_is_wider_than_its_column(
    document: Study, tmp_path: Path, wide: bool
) -> None:
    tex, _ = spanwise.paper(
        document, tmp_path, decimals=2, wide=wide, appendix=["scores", "tough", "labels/First", "statements"]
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", tex.name]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
    log = (tmp_path / "paper.log").read_text(errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert not [line for line in log.splitlines() if "Missing character" in line]
    wider = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", log)]
    assert max(wider, default=0) < 1


def test_an_evaluation_makes_a_paper_too(folder: Path, tmp_path: Path) -> None:
    result = spanwise.evaluate(
        folder / "a/gold.conll", {"s": folder / "a.swapper.1.conll", "m": folder / "a.memoriser.1.conll"},
        resamples=50, attributes="none",
    )  # fmt: skip
    tex, figure = spanwise.paper(result, tmp_path, appendix=[])
    assert figure.name == "score.pdf"
    assert "\\appendix" not in tex.read_text(encoding="utf-8")


def test_the_command_writes_the_paper(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "p"
    assert main(["paper", str(saved), "-o", str(out), "--decimals", "2", "--appendix", "scores"]) == 0
    assert "saved:" in capsys.readouterr().err
    assert sorted(path.name for path in out.iterdir()) == ["holistic.pdf", "paper.tex"]
    assert main(["paper", str(saved), "-o", str(out), "--appendix", "scroes"]) == 2
    assert "no table of this document is called 'scroes'" in capsys.readouterr().err


def test_documents_without_scores_are_refused(document: Study, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a paper is made from a study or an evaluation"):
        spanwise.paper(spanwise.describe(folder / "a/gold.conll"), tmp_path)
    with pytest.raises(ChoiceError, match="decimals is 3"):
        spanwise.paper(document, tmp_path, decimals=3)


def test_dots_of_runs_do_not_overlap() -> None:
    runs = [0.5, 0.501, 0.502, 0.9, 0.5]
    levels = _levels(runs, 100.0)
    places = sorted(zip(levels, (100 * run for run in runs), strict=True))
    assert all(b[1] - a[1] >= 4 for a, b in pairwise(places) if a[0] == b[0])
    assert _levels([], 1.0) == []
