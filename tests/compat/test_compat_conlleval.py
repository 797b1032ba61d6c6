"""The output of conlleval, character for character."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from spanwise.cli.main import main
from spanwise.compat.conlleval import conlleval, screen
from spanwise.errors import InputError
from spanwise.formats import from_spans, from_tags

GOLD = [["B-PER", "I-PER", "O", "B-LOC"], ["I-LOC", "I-LOC", "O", "O", "B-PER"]]
SAID = [["B-PER", "I-PER", "O", "I-ORG"], ["B-LOC", "I-LOC", "O", "B-LOC", "O"]]
# Printed by conlleval.pl, version 2004-01-26, for these tags.
SCREEN = """\
processed 9 tokens with 4 phrases; found: 4 phrases; correct: 2.
accuracy:  55.56%; precision:  50.00%; recall:  50.00%; FB1:  50.00
              LOC: precision:  50.00%; recall:  50.00%; FB1:  50.00  2
              ORG: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
              PER: precision: 100.00%; recall:  50.00%; FB1:  66.67  1
"""

REAL = [
    "processed 20442 tokens with 2344 phrases; found: 2430 phrases; correct: 2034.",
    "accuracy:  96.66%; precision:  83.70%; recall:  86.77%; FB1:  85.21",
]


def merged(gold: list[list[str]], predicted: list[list[str]]) -> str:
    rows = zip(gold, predicted, strict=True)
    return "".join("".join(f"w {a} {b}\n" for a, b in zip(*pair, strict=True)) + "\n" for pair in rows)


def test_the_output_equals_that_of_the_program() -> None:
    assert screen(GOLD, SAID) == SCREEN
    assert conlleval(GOLD, SAID) == SCREEN


def test_files_are_evaluated_by_their_tags_as_written(tmp_path: Path) -> None:
    combined = tmp_path / "merged.txt"
    combined.write_text(merged(GOLD, SAID))
    gold, predicted = tmp_path / "gold.txt", tmp_path / "said.txt"
    for path, tags in ((gold, GOLD), (predicted, SAID)):
        path.write_text("".join("".join(f"w {tag}\n" for tag in row) + "\n" for row in tags))
    assert conlleval(combined) == SCREEN
    assert conlleval(gold, predicted) == SCREEN


def test_annotations_are_evaluated_as_iob2() -> None:
    gold, predicted = from_tags(GOLD), from_tags(SAID)
    shown = conlleval(gold, predicted)
    assert shown.splitlines()[0] == SCREEN.splitlines()[0]
    assert shown.splitlines()[1].startswith("accuracy:  66.67%")


def test_without_mentions_or_tokens_the_scores_are_zero() -> None:
    assert screen([["O"]], [["O"]]) == (
        "processed 1 tokens with 0 phrases; found: 0 phrases; correct: 0.\n"
        "accuracy: 100.00%; precision:   0.00%; recall:   0.00%; FB1:   0.00\n"
    )
    assert screen([], []) == "processed 0 tokens with 0 phrases; found: 0 phrases; correct: 0.\n"


def test_different_lengths_and_character_spans_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gold and predicted tags have different numbers of tokens"):
        screen([["O"]], [["O", "O"]])
    (tmp_path / "a.txt").write_text("Ann")
    (tmp_path / "a.ann").write_text("T1\tPER 0 3\tAnn\n")
    with pytest.raises(InputError, match="the mentions are on characters, but conlleval counts tokens"):
        conlleval(tmp_path / "a.ann", tmp_path / "a.ann")


def test_overlapping_mentions_have_no_tags() -> None:
    nested = from_spans([[(0, 2, "A"), (1, 2, "B")]], tokens=[["x", "y"]])
    with pytest.raises(InputError):
        conlleval(nested, nested)


def test_the_program_itself_prints_the_same_on_random_tags() -> None:
    script = os.environ.get("SPANWISE_CONLLEVAL")
    if not script or shutil.which("perl") is None:
        pytest.skip("set SPANWISE_CONLLEVAL to conlleval.pl, and install Perl, to compare with the program")
    draw = random.Random(0)
    for _ in range(200):
        alphabet = draw.choice(["BIO", "IOE", "BIOE", "BIO[]", ".BIO", "BIOS"])
        labels = draw.choice([["PER", "LOC"], ["A-B", "X"], [""]])

        def tag(alphabet: str = alphabet, labels: list[str] = labels) -> str:
            letter, label = draw.choice(alphabet), draw.choice(labels)
            return "O" if letter == "O" else f"{letter}-{label}" if label else letter

        gold = [[tag() for _ in range(draw.randint(1, 7))] for _ in range(draw.randint(1, 6))]
        predicted = [[gold_tag if draw.random() < 0.6 else tag() for gold_tag in row] for row in gold]
        printed = subprocess.run(
            ["perl", script], input=merged(gold, predicted), capture_output=True, text=True, check=True
        )
        assert screen(gold, predicted) == printed.stdout


def test_the_command_line_prints_the_output_of_conlleval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = tmp_path / "merged.txt"
    both.write_text(merged(GOLD, SAID))
    assert main(["evaluate", str(both), "--format", "conlleval"]) == 0
    assert capsys.readouterr().out == SCREEN


def test_the_output_for_a_real_file_equals_that_of_the_program(data: Path) -> None:
    """Compare with the first lines that conlleval.pl prints for the same two files."""
    folder = data / "masakhaner" / "ewe"
    shown = conlleval(folder / "test.txt", folder / "predictions" / "mbert.1.txt").splitlines()
    assert shown[:2] == REAL
