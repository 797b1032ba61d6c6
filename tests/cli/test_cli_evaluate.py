"""The commands evaluate, compare and list: what they print, write and refuse."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from standoff_samples import XMI

from spanwise.cli.main import COMMANDS, main

GOLD = "Ann B-PER\nLee I-PER\nin O\nOslo B-LOC\n\nOslo B-ORG\nwon O\n\n"
GOOD = "Ann B-PER\nLee I-PER\nin O\nOslo B-LOC\n\nOslo B-ORG\nwon O\n\n"
POOR = "Ann B-PER\nLee O\nin O\nOslo B-LOC\n\nOslo B-LOC\nwon O\n\n"
TRAIN = "Oslo B-LOC\nwon O\n\nAnn B-PER\nran O\n\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"gold": GOLD, "good": GOOD, "poor": POOR, "train": TRAIN}.items():
        (tmp_path / f"{name}.conll").write_text(text, encoding="utf-8")
    merged = [
        f"{a} {b.split()[-1]}" if a else "" for a, b in zip(GOLD.split("\n"), POOR.split("\n"), strict=True)
    ]
    (tmp_path / "merged.txt").write_text("\n".join(merged), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_evaluate_shows_the_score_and_writes_the_document(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["evaluate", "gold.conll", "poor.conll", "--train", "train.conll", "--json", "run.json"])
    shown = capsys.readouterr()
    assert status == 0
    assert shown.err == ""
    assert "F1 33.3" in shown.out
    assert "saved run.json" in shown.out
    document = json.loads((files / "run.json").read_text())
    assert document["systems"]["poor"]["exact"]["overall"]["f1"] == pytest.approx(1 / 3)
    assert document["systems"]["poor"]["tough"]["SEEN"]["overall"]["mentions"] == 1
    assert document["settings"]["command"].startswith("spanwise evaluate gold.conll poor.conll")


def test_a_dash_writes_the_document_to_standard_output(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "gold.conll", "first=poor.conll", "--json", "-"]) == 0
    assert list(json.loads(capsys.readouterr().out)["systems"]) == ["first"]


def test_a_merged_file_contains_both_sides(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "merged.txt", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["systems"]["merged"]["exact"]["overall"]["f1"] == pytest.approx(1 / 3)


def test_a_missed_threshold_gives_status_one(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "gold.conll", "poor.conll", "--quiet", "--fail-under", "33"]) == 0
    assert main(["evaluate", "gold.conll", "poor.conll", "--quiet", "--fail-under", "90"]) == 1
    assert "33.3" in capsys.readouterr().err


def test_a_gate_against_an_earlier_result(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "gold.conll", "good.conll", "--quiet", "--json", "base.json"]) == 0
    call = ["evaluate", "gold.conll", "good=poor.conll", "--quiet", "--against", "base.json"]
    # Two sentences cannot show that a drop is significant, however large it is.
    assert main([*call, "--fail-drop", "0.5"]) == 0
    assert main([*call, "--floor", "ORG=50", "--junit", "gate.xml"]) == 1
    assert "ORG" in capsys.readouterr().err
    assert "<testsuite" in (files / "gate.xml").read_text()


def test_compare_names_the_better_system(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "gold.conll", "good.conll", "poor.conll"]) == 0
    assert "good" in capsys.readouterr().out


def test_results_can_be_compared_without_their_files(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("good", "poor"):
        assert main(["evaluate", "gold.conll", f"{name}.conll", "--quiet", "--json", f"{name}.json"]) == 0
    (files / "gold.conll").unlink()
    assert main(["compare", "good.json", "poor.json", "--json", "-"]) == 0
    (comparison,) = json.loads(capsys.readouterr().out)["comparisons"]
    row = next(row for row in comparison["scores"] if row["path"] == ["exact", "overall", "f1"])
    assert row["difference"] == pytest.approx(1 - 1 / 3)


def test_runs_are_compared_with_their_spread(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for run, text in (("1", GOOD), ("2", POOR)):
        (files / f"a.{run}.conll").write_text(text)
    for run in ("1", "2"):
        (files / f"b.{run}.conll").write_text(
            POOR.replace("Oslo B-LOC", f"Oslo {'O' if run == '2' else 'B-LOC'}")
        )
    call = ["compare", "gold.conll", "a=a.{run}.conll", "b=b.{run}.conll", "--train", "train.conll"]
    assert main([*call, "--json", "-"]) == 0
    analyses = json.loads(capsys.readouterr().out)["analyses"]
    cell = analyses["holistic"]["a"]["gold"]
    assert cell["mean"] == pytest.approx((1 + 1 / 3) / 2)
    assert cell["std"] == pytest.approx((1 - 1 / 3) / 2**0.5)
    assert cell["runs"] == 2
    assert main(call) == 0
    shown = capsys.readouterr().out
    assert "±" in shown
    assert "t-test over runs and sentences" in shown
    assert main([*call, "--memory", "1GB", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["analyses"] == analyses


def test_saved_edges_are_reused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["evaluate", "gold.conll", "poor.conll", "--attributes", "entity_length", "--quiet"]
    assert main([*call, "--buckets", "entity_length=1", "--save-edges", "edges.json"]) == 0
    assert main([*call, "--edges", "edges.json", "--json", "run.json"]) == 0
    buckets = json.loads((files / "run.json").read_text())["systems"]["poor"]["attributes"]["entity_length"]
    assert [bucket["gold"] for bucket in buckets["buckets"]] == [2, 1]


def test_a_column_of_the_data_can_be_an_attribute(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "domain.conll").write_text("Ann news B-PER\n\nOslo web B-LOC\n\n")
    call = ["evaluate", "domain.conll", "domain.conll", "--attribute", "domain=column:1", "--json", "-"]
    assert main(call) == 0
    document = json.loads(capsys.readouterr().out)
    buckets = document["systems"]["domain"]["attributes"]["domain"]["buckets"]
    assert {bucket["name"] for bucket in buckets} == {"news", "web"}


def test_crossed_attributes_count_every_mention_once(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["evaluate", "gold.conll", "poor.conll", "--cross", "entity_length,label", "--json", "-"]) == 0
    )
    cross = json.loads(capsys.readouterr().out)["systems"]["poor"]["cross"]["entity_length,label"]
    assert sum(cell["gold"] for cell in cross["cells"]) == 3


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["evaluate", "nowhere.conll", "good.conll"], 3, "nowhere.conll"),
        (["evaluate", "gold.conll", "."], 3, "spanwise: "),
        (["evaluate", "gold.conll", "good.conll", "--weights", "BE = 2 XY"], 2, "XY"),
        (["evaluate", "gold.conll", "good.conll", "--attributes", "entity_lenght"], 2, "entity_length"),
        (
            ["evaluate", "gold.conll", "good.conll", "--buckets", "entity_length"],
            2,
            "is not of the form NAME=VALUE",
        ),
        (["evaluate", "gold.conll", "good.conll", "--cross", "label"], 2, "--cross takes two attributes"),
        (
            ["evaluate", "gold.conll", "good.conll", "--edges", "gold.conll"],
            3,
            "was not written by --save-edges",
        ),
        (["evaluate", "gold.conll", "a=good.conll", "a=poor.conll"], 2, "two systems are called 'a'"),
        (["evaluate", "gold.conll", "good.conll", "--fail-drop", "1"], 2, "--against"),
        (["evaluate", "gold.conll", "good.conll", "--junit", "x.xml"], 2, "--fail-under"),
        (
            ["evaluate", "gold.conll", "good.conll", "--switch-off", "clamped"],
            2,
            "only a preset has switches",
        ),
        (["evaluate", "gold.conll", "good.conll", "--preset", "interpreteval"], 2, "needs training data"),
        (["evaluate", "gold.conll", "good.conll", "poor.conll", "--format", "conlleval"], 2, "one system"),
        (["compare", "gold.conll", "good.conll"], 2, "needs at least two systems"),
        (["compare", "gold.json"], 2, "two result documents"),
        (["compare", "gold.json", "good.json"], 3, "gold.json"),
        (["list", "colours"], 2, "no kind is called 'colours'"),
        (["evalute"], 2, "Did you mean 'evaluate'?"),
    ],
)
def test_wrong_calls_are_answered_with_one_message(
    files: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, message: str
) -> None:
    assert main(arguments) == status
    shown = capsys.readouterr()
    assert message in shown.err
    assert "Traceback" not in shown.err
    assert shown.out == ""


def test_an_unwritable_output_leaves_nothing_behind(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "gold.conll", "good.conll", "--json", "nowhere/run.json"]) == 3
    assert "nowhere" in capsys.readouterr().err
    assert not (files / "nowhere").exists()


@pytest.mark.parametrize("kind", ["formats", "schemes", "attributes", "bucketings", "matchers", "weights"])
def test_names_can_be_listed(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    assert main(["list", kind]) == 0
    text = capsys.readouterr().out
    assert main(["list", kind, "--json"]) == 0
    for row in json.loads(capsys.readouterr().out):
        assert row["name"] in text
        assert row["summary"]


def test_every_command_has_a_help_text(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        assert main([name, "--help"]) == 0
        assert "usage: spanwise" in capsys.readouterr().out, name


def test_a_reader_that_closes_the_pipe_early_is_not_an_error(files: Path) -> None:
    call = f"{sys.executable} -m spanwise evaluate gold.conll good.conll | head -1"
    done = subprocess.run(["bash", "-c", call], capture_output=True, text=True, check=False, cwd=files)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize("train", ["parts", "parts/*.conll"])
def test_training_files_may_be_given_as_a_folder_or_a_pattern(tmp_path: Path, train: str) -> None:
    (tmp_path / "parts").mkdir()
    for name in ("a.conll", "b.conll", "_SUCCESS"):
        (tmp_path / "parts" / name).write_text("Rome B-LOC\n")
    gold = tmp_path / "gold.conll"
    gold.write_text("Rome B-LOC\n")
    written = tmp_path / "out.json"
    call = ["evaluate", str(gold), f"it={gold}", "--train", str(tmp_path / train), "--quiet"]
    assert main([*call, "--json", str(written)]) == 0
    read = [
        source["path"] for source in json.loads(written.read_text())["inputs"] if source["role"] == "train"
    ]
    assert [Path(path).name for path in read] == ["a.conll", "b.conll"]


def test_a_file_that_cannot_be_read_in_parts_is_reported_to_exceed_the_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gold, own = tmp_path / "gold.xmi", tmp_path / "own.jsonl"
    gold.write_text(XMI, "utf-8")
    own.write_text('{"text": "\U0001f600 Ann Rome", "spans": []}\n', "utf-8")
    monkeypatch.setattr("spanwise.evaluation.choices.BYTES_PER_BYTE", 1 << 20)
    assert main(["evaluate", str(gold), str(own), "--memory", "4MB"]) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "read whole" in line]
    assert len(notes) == 1 and notes[0].startswith(
        f"{gold}: files of the format xmi are read whole, which may take 524 MB, more than --memory 4MB; "
    )
    assert main(["evaluate", str(gold), str(own), "--memory", "4MB", "--quiet"]) == 0
    assert not capsys.readouterr().err


def test_a_page_of_files_read_in_parts_says_what_it_leaves_out(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["evaluate", "gold.conll", "poor.conll", "--html", "page.html", "--json", "run.json"]
    assert main([*call, "--memory", "1GB"]) == 0
    note = "The files were read in parts, so weak slices are left out; spanwise slices finds them."
    assert note in " ".join(capsys.readouterr().out.split())
    assert note in json.loads((files / "run.json").read_text())["notes"]
    assert note in (files / "page.html").read_text()
    assert main(call) == 0
    assert "weak" in json.loads((files / "run.json").read_text())
    assert note not in (files / "page.html").read_text()
