"""Common mistakes are answered with one clear message and the right exit status, and write nothing."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.cli.main import main
from spanwise.errors import ChoiceError, InputError
from spanwise.formats import looks_merged

GOLD = "Ann B-PER\nleft O\nRome B-LOC\n. O\n\nBob B-PER\nsaw O\nOslo B-LOC\n\n"
PRED = GOLD.replace("Oslo B-LOC", "Oslo B-ORG")
MERGED = "Ann B-PER B-PER\nleft O O\nRome B-LOC B-LOC\n. O O\n\nBob B-PER O\nsaw O O\nOslo B-LOC B-LOC\n\n"
OTHER = MERGED.replace("Bob B-PER O", "Bob B-PER B-PER").replace("B-LOC B-LOC", "B-LOC O")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    texts = {
        "gold.conll": GOLD,
        "pred.conll": PRED,
        "merged.txt": MERGED,
        "other.txt": OTHER,
        "edges.json": '{"a": 1}',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "latin.txt").write_bytes(b"Zo\xeb\n")
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("call", "status", "message"),
    [
        ("evaluate gold.conll", 2, "gold.conll:1: the line has 2 columns, but a file given alone must hold"),
        ("evaluate gold.conll pred.conll --trian x", 2, "no option --trian; did you mean --train?"),
        ("evaluate gold.conll pred.conll --zzz", 2, "no option --zzz.\nSee spanwise evaluate"),
        ("evaluate", 2, "the following arguments are required: GOLD"),
        ("evaluate gold.conll pred.conll --resamples many", 2, "--resamples must be a whole number, not"),
        ("report run.json other.json", 2, "'other.json' is an unexpected argument."),
        ("report run.json -o page.html other.json", 2, "'other.json' is an unexpected argument."),
        ("evaluate gold.conll --resamples 0 pred.conll --trian x", 2, "did you mean --train?"),
        ("--colour", 2, "there is no option --colour.\nSee spanwise --help."),
        ("evaluate folder pred.conll", 3, "folder: this is a folder, not a file.\nName the file in it."),
        ("evaluate gold.conll pred.conll --tag-column ner", 2, "gold.conll: no column is called 'ner'."),
        ("evaluate gold.conll pred.conll --tag-column 0", 2, "would both be in column 0.\nName another"),
        ("evaluate gold.conll pred.conll --json folder", 3, "this is a folder, but --json writes a file."),
        ("evaluate gold.conll pred.conll --html no/x.html", 3, "there is no folder 'no' to write to."),
        ("evaluate gold.conll pred.conll --json pred.conll", 2, "pred.conll would overwrite an input."),
        ("compare gold.conll a=pred.conll b=gold.conll --json pred.conll", 2, "would overwrite an input."),
        ("evaluate gold.conll pred.conll --edges edges.json", 3, "was not written by --save-edges."),
        ("evaluate gold.conll pred.conll --vocabulary latin.txt", 3, "the byte 0xeb is not UTF-8."),
        ("evaluate gold.conll pred.conll --examples-cap -1", 2, "--examples-cap is -1, but must be 0"),
        ("evaluate gold.conll pred.conll --switch-off x", 2, "Add --preset interpreteval."),
        ("evaluate gold.conll pred.conll --quiet --resamples 0 --fail-under 0.9", 2, "Write 90."),
        ("explain merged.txt pred.conll", 2, "merged.txt: the last two columns hold tags of the same types"),
        ("evaluate merged.txt pred.conll", 2, "merged.txt: the last two columns hold tags of the same types"),
    ],
)  # fmt: skip
def test_a_mistake_is_answered_with_one_message(
    files: Path, capsys: pytest.CaptureFixture[str], call: str, status: int, message: str
) -> None:
    before = {path.name: path.read_bytes() for path in files.iterdir() if path.is_file()}
    assert main(shlex.split(call)) == status
    shown = capsys.readouterr()
    assert shown.err.startswith("spanwise: ") and message in shown.err
    assert len(shown.err.splitlines()) <= 4 and "usage" not in shown.err
    assert shown.out == ""
    assert {path.name: path.read_bytes() for path in files.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    "call",
    [
        "evaluate gold.conll --resamples 0 a=pred.conll b=gold.conll --json out.json",
        "evaluate gold.conll a=pred.conll --json out.json b=gold.conll --resamples 0",
        "evaluate --resamples 0 gold.conll --json out.json a=pred.conll --examples none b=gold.conll",
    ],
)
def test_files_stand_before_between_and_after_options(files: Path, call: str) -> None:
    assert main(shlex.split(call)) == 0
    assert set(spanwise.load("out.json").to_dict()["systems"]) == {"a", "b"}


def test_files_with_gold_and_predictions_can_be_compared(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "merged.txt", "other.txt", "--resamples", "0", "--json", "both.json"]) == 0
    systems = spanwise.load("both.json").to_dict()["systems"]
    assert {name: part["exact"]["overall"]["correct"] for name, part in systems.items()} == {
        "merged": 3,
        "other": 2,
    }
    assert main(["evaluate", "merged.txt", "merged.txt", "other.txt", "--resamples", "0", "--json", "-"]) == 0
    assert capsys.readouterr().out.endswith((files / "both.json").read_text()[-200:])


def test_an_explicit_column_is_used_without_a_warning(files: Path) -> None:
    result = spanwise.evaluate("merged.txt", {"a": "pred.conll"}, tag_column=-1, resamples=0)
    assert result.dataset.mentions == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MERGED, True),
        (GOLD, False),
        ("Ann NNP B-NP B-PER\nleft VBD B-VP O\nRome NNP B-NP B-LOC\n\n", False),
        ("Ann B-PER O\nof O O\nRome B-ORG O\nUniversity I-ORG O\nin O O\nOslo I-ORG B-LOC\n\n", False),
        ("Ann O O\nleft O O\n\n", False),
    ],
)  # fmt: skip
def test_only_two_columns_that_mostly_agree_look_like_gold_and_predictions(
    tmp_path: Path, text: str, expected: bool
) -> None:
    path = tmp_path / "some.conll"
    path.write_text(text)
    assert looks_merged(path) is expected


def test_the_next_step_reads_the_files_as_the_evaluation_did(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "merged.txt", "--resamples", "0"]) == 0
    words = next(line for line in capsys.readouterr().out.splitlines() if "spanwise errors" in line).split()
    assert words[:3] == ["spanwise", "errors", "merged.txt"] and "merged.txt" not in words[3:]
    (files / "cut.conll").write_text(PRED.replace("Rome", "Roma"))
    call = [
        "evaluate",
        "gold.conll",
        "cut.conll",
        "--align",
        "position",
        "--repair=discard",
        "--resamples",
        "0",
    ]
    assert main(call) == 0
    expected = (
        "spanwise errors gold.conll cut.conll --align position --repair=discard --gold LOC --predicted ORG"
    )
    assert expected in " ".join(capsys.readouterr().out.replace("\\\n", " ").split())
    assert main(shlex.split(expected)[1:]) == 0
    assert "1 error" in capsys.readouterr().err
    (files / "answers.jsonl").write_text('{"id": 0, "answers": [["Rome", "ORG"]]}\n')
    assert (
        main(["evaluate", "gold.conll", "gpt=answers.jsonl", "--answers", "first", "--resamples", "0"]) == 0
    )
    shown = " ".join(capsys.readouterr().out.replace("\\\n", " ").split())
    assert "spanwise errors gold.conll answers.jsonl --answers first" in shown


@pytest.mark.parametrize(
    ("gold", "options", "error", "message"),
    [
        (["B-PER", "O"], {}, InputError, "list of strings, beginning with 'B-PER'.\nGive a list for each"),
        (None, {}, ChoiceError, "there is no gold to evaluate against."),
        ([[1, 0]], {}, InputError, "<tags>: the tags are numbers.\nSay what they mean with labels="),
        ([[2, 0]], {"labels": ["O", "B-PER"]}, InputError, "sentence 1: the tag 2 is outside the 2 labels"),
        ([["O"]], {"resample": 3}, ChoiceError, "no keyword is called 'resample'. Did you mean 'resamples'?"),
        ([["O"], ["O", "O"]], {}, InputError, "sentence 2 has 1 token, but 2 in the gold file"),
    ],
)  # fmt: skip
def test_a_mistake_in_python_is_reported_too(
    gold: object, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        spanwise.evaluate(gold, {"a": [["O"], ["O"]]}, **options)
    assert message in str(caught.value)


def test_tag_numbers_are_read_with_their_labels() -> None:
    result = spanwise.evaluate([[1, 0]], {"a": [[1, 0]]}, labels=["O", "B-PER"], resamples=0)
    assert result["a"].exact.overall.f1 == 1


def test_an_attribute_needs_a_name() -> None:
    with pytest.raises(ChoiceError, match="a function without a name cannot be an attribute"):
        spanwise.attribute(lambda mention: 1, summary="one")


def test_labels_missing_from_gold_are_reported(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "names.conll").write_text(GOLD.replace("-PER", "-PERSON").replace("-LOC", "-PLACE"))
    assert main(["evaluate", "gold.conll", "names.conll", "--resamples", "0"]) == 0
    assert "! 4 mentions of labels not in gold: PERSON, PLACE" in " ".join(capsys.readouterr().out.split())
    assert main(["evaluate", "gold.conll", "gold.conll", "--resamples", "0"]) == 0
    assert "labels not in gold" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "shown"), [(["help"], "usage: spanwise COMMAND"), (["help", "table"], "usage: spanwise table")]
)
def test_help_is_also_a_command(capsys: pytest.CaptureFixture[str], call: list[str], shown: str) -> None:
    assert main(call) == 0
    assert shown in capsys.readouterr().out
