"""What Windows and macOS lack or do otherwise, forced here: no fork, few signals, spawned processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import spanwise
from spanwise.demo import generate

# What Python on Windows does not have, taken away before anything of spanwise is imported.
WINDOWS = """
import os, signal, sys
for name in ("fork", "sched_getaffinity", "nice", "getuid", "geteuid", "killpg", "mkfifo", "fchmod"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGPIPE", "SIGHUP", "SIGALRM", "SIGUSR1"):
    delattr(signal, name)
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
from spanwise.cli.main import main
sys.exit(main(sys.argv[1:]))
"""

SPAWNED = """
import sys
from multiprocessing import get_context

import spanwise


def score(name):
    result = spanwise.evaluate("gold.conll", {name: f"{name}.conll"}, resamples=0, workers=2, memory="1MB")
    return result[name].exact.overall.f1


if __name__ == "__main__":
    with get_context("spawn").Pool(2) as pool:
        print(dict(zip(sys.argv[1:], pool.map(score, sys.argv[1:]), strict=True)))
"""


def run(folder: Path, program: str, *words: str) -> str:
    """What a program prints in a folder, with text in an encoding of Windows."""
    environment = {**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program, *words], cwd=folder, env=environment, capture_output=True,
        encoding="cp1252",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_commands_work_without_what_windows_lacks(tmp_path: Path) -> None:
    folder = tmp_path / "my data – ünïcode"
    folder.mkdir()
    run(folder, WINDOWS, "demo", ".", "--only-files")
    for name in ("gold", "swapper"):  # line endings and byte order mark as Windows writes them
        path = folder / f"{name}.conll"
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    files = ["gold.conll", "mine=swapper.conll"]
    run(folder, WINDOWS, "evaluate", *files, "--json", "one.json", "--html", "page.html", "--resamples", "50")
    parts = ["--workers", "2", "--memory", "1MB", "--resamples", "50"]
    run(folder, WINDOWS, "evaluate", *files, "--json", "parts.json", *parts)
    one, parted = (json.loads((folder / f"{name}.json").read_text("utf-8")) for name in ("one", "parts"))
    assert one["systems"]["mine"]["exact"] == parted["systems"]["mine"]["exact"]
    assert "| PER |" in run(folder, WINDOWS, "table", "one.json", "labels")
    for words in (
        ["errors", *files],
        ["describe", "gold.conll"],
        ["validate", "gold.conll"],
        ["slices", *files],
    ):
        assert run(folder, WINDOWS, *words)
    run(folder, WINDOWS, "convert", "gold.conll", "gold.jsonl")
    assert len(spanwise.read(folder / "gold.jsonl").corpus) == 1000


def test_spawned_processes_score_as_this_one(tmp_path: Path) -> None:
    demo = generate(tmp_path, sentences=60)
    program = tmp_path / "program.py"
    program.write_text(SPAWNED, encoding="utf-8")
    command = [sys.executable, str(program), *demo.systems]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    result = spanwise.evaluate(demo.gold, dict(demo.systems), resamples=0)
    assert done.stdout.strip() == str({name: result[name].exact.overall.f1 for name in result}), done.stderr
