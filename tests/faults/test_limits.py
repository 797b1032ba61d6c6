"""Termination and memory limits leave no partial files and are reported in one sentence."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals and limits")

# Terminates itself when the file it writes is complete but not yet renamed.
PROGRAM = """
import os, pathlib, signal, sys
rename = pathlib.Path.replace
def late(self, target):
    if self.name.startswith(".out"):
        os.kill(os.getpid(), signal.SIGTERM)
    return rename(self, target)
pathlib.Path.replace = late
from spanwise.cli.main import main
sys.exit(main())
"""


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.conll"
    path.write_text("Ann B-PER\nleft O\n\nRome B-LOC\n")
    return path


@pytest.mark.parametrize(
    "call",
    [
        ["evaluate", "gold.conll", "gold.conll", "--quiet", "--resamples", "0", "--json", "out.json"],
        ["convert", "gold.conll", "out.jsonl"],
        ["place", "gold.conll", "answers.jsonl", "--quiet", "-o", "out.jsonl"],
    ],
    ids=lambda call: call[0],
)
def test_termination_leaves_no_file_behind(call: list[str], gold: Path, tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text(
        '{"id": 0, "answers": [["Ann", "PER"]]}\n{"id": 1, "answers": []}\n'
    )
    before = sorted(path.name for path in tmp_path.iterdir())
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *call], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == -15
    assert done.stderr == "spanwise: terminated; nothing was left half-written.\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_figures_under_a_memory_limit_are_refused_in_one_sentence(gold: Path, tmp_path: Path) -> None:
    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    document, page, figures = (tmp_path / name for name in ("out.json", "out.html", "figures"))
    evaluated = ["evaluate", str(gold), str(gold), "--quiet", "--resamples", "0"]
    calls = (
        [*evaluated, "--json", str(document), "--html", str(page)],
        ["figures", str(document), "-o", str(figures)],
    )
    evaluated_run, refused = (
        subprocess.run(
            [sys.executable, "-m", "spanwise", *call],
            preexec_fn=bounded,
            capture_output=True,
            text=True,
            check=False,
        )
        for call in calls
    )
    assert evaluated_run.returncode == 0 and page.exists()  # the page of an evaluation needs no renderer
    assert refused.returncode == 3
    assert refused.stderr.startswith(
        "spanwise: charts cannot be drawn under a limit of 1,024 MB of address space"
    )
    assert not figures.exists()


def test_a_small_compressed_file_costs_little_memory(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "bomb.conll.gz"
    path.write_bytes(gzip.compress(b"a O\n" * 30_000_000, 1))
    call = [sys.executable, "-m", "spanwise", "evaluate", str(path), str(path)]

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (500 << 20, 500 << 20))

    done = subprocess.run(call, preexec_fn=bounded, capture_output=True, text=True, check=False)
    assert done.returncode == 3 and "over a hundred times its own size" in done.stderr
