"""Help that fits a screen, and the completion of shells."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from spanwise.cli.arguments import MOST, Parser
from spanwise.cli.main import COMMANDS, GROUPS, main, parser_of

SPARK = ("--engine", "--master", "--partitions", "--conf")


def lines_of(text: str) -> int:
    """How many lines a text takes on a terminal of 80 columns."""
    return sum(max(1, len(textwrap.wrap(line, 80))) for line in text.splitlines())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_screen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    parser = parser_of(name)
    assert lines_of(parser.format_help()) <= 60
    assert len(parser.most_used) <= MOST
    assert parser.most_used or not parser.options
    assert {action.dest for action in parser.options if action.required} <= {
        action.dest for action in parser.most_used
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_all_options_are_a_flag_away(name: str) -> None:
    parser = parser_of(name)
    few, everything = parser.format_help(), parser.format_help(everything=True)
    for action in parser.options:
        declared = re.compile(rf"^  {action.option_strings[0]}(?=[ ,\n])", re.MULTILINE)
        assert declared.search(everything)
        assert bool(declared.search(few)) == (action in parser.most_used)
    hidden = len(parser.options) - len(parser.most_used)
    assert (f"{hidden} more options: spanwise {name} --help-all" in few) == (hidden > 0)


@pytest.mark.parametrize("name", COMMANDS)
def test_options_of_spark_are_in_the_whole_help_only(name: str) -> None:
    few = parser_of(name).format_help()
    assert not any(f"  {flag} " in few for flag in SPARK)


def test_help_all_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--help-all"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("usage: spanwise evaluate [options] GOLD [PRED ...]\n")
    assert all(flag in shown for flag in SPARK)


def test_the_usage_names_what_is_required() -> None:
    assert (
        parser_of("apply")
        .format_help()
        .startswith("usage: spanwise apply [options] --threshold THRESHOLD -o FILE PRED\n")
    )


def test_commands_are_grouped_and_the_list_fits_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    places = [shown.index(f"\n{title}:\n") for title in ("every day", "data", "papers", "expert")]
    assert places == sorted(places)
    assert list(GROUPS) == ["every day", "data", "papers", "expert"]
    assert sum(map(len, GROUPS.values())) == len(COMMANDS)
    assert max(map(len, shown.splitlines())) <= 80
    assert len(shown.splitlines()) <= 60


def script(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", shell]) == 0
    path = folder / f"spanwise.{shell}"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("spanwise eval", {"evaluate"}),
        ("spanwise co", {"compare", "convert", "confidence", "completion"}),
        ("spanwise evaluate gold.conll --resam", {"--resamples"}),
        ("spanwise evaluate --focus ", {"gold", "predicted", "both"}),
        ("spanwise completion ", {"bash", "zsh", "fish"}),
        ("spanwise help tabl", {"table"}),
        ("spanwise evaluate gol", {"gold.conll"}),
        ("spanwise nonsense --", set()),
    ],
)
def test_bash_completes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, offered: set[str]
) -> None:
    path = script("bash", tmp_path, capsys)
    (tmp_path / "gold.conll").touch()
    words = line.split(" ")
    call = (
        f"source {path.name}; COMP_WORDS=({' '.join(repr(word) for word in words)}); "
        f'COMP_CWORD={len(words) - 1}; _spanwise; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", call], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert set(done.stdout.split()) == offered
    assert not done.stderr


def test_fish_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = script("fish", tmp_path, capsys)
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")

    def offered(line: str) -> set[str]:
        call = ["fish", "--no-config", "-c", f"source {path.name}; complete -C {line!r}"]
        done = subprocess.run(call, capture_output=True, text=True, check=True, cwd=tmp_path)
        assert not done.stderr
        return {row.partition("\t")[0] for row in done.stdout.splitlines()}

    assert offered("spanwise eval") == {"evaluate"}
    assert offered("spanwise evaluate --resam") == {"--resamples"}
    assert offered("spanwise evaluate --focus ") == {"gold", "predicted", "both"}
    assert offered("spanwise completion ") == {"bash", "zsh", "fish"}


def test_zsh_can_read_its_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = script("zsh", tmp_path, capsys)
    text = path.read_text()
    assert text.startswith("#compdef spanwise\n")
    assert "'*--focus[" in text
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    subprocess.run(["zsh", "-n", str(path)], check=True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_offers_every_command_and_option(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    shown = capsys.readouterr().out
    for name in COMMANDS:
        assert name in shown
        for action in parser_of(name).options:
            assert any(flag.lstrip("-") in shown for flag in action.option_strings)


def test_few_options_are_all_shown() -> None:
    parser = Parser(prog="spanwise x", description="Do it.", add_help=False)
    parser.add_argument("--only", help="the only option")
    assert parser.format_help() == parser.format_help(everything=True)
    assert [action.dest for action in parser.most_used] == ["only"]


def test_often_is_declared_with_the_option() -> None:
    parser = Parser(prog="spanwise x", add_help=False)
    group: argparse._ActionsContainer = parser.add_argument_group("numbers")
    for number in range(MOST + 1):
        group.add_argument(f"--n{number}", often=number == 3)
    assert [action.dest for action in parser.most_used] == ["n3"]
