"""Every command ends with a status from 0 to 3, whatever the streams, the locale and the home are like."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import spanwise

PROGRAM = Path(__file__).parents[1] / "support" / "statuses.py"
PLAIN = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
CONDITIONS: dict[str, tuple[dict[str, str], str]] = {
    "the C locale": ({"LC_ALL": "C", **PLAIN}, ""),
    "cp1252": ({"PYTHONIOENCODING": "cp1252"}, ""),
    "closed output": ({}, ">&-"),
    "closed streams": ({}, "<&- >&- 2>&-"),
    "no terminal and no home": ({"TERM": "", "HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none"}, ""),
    "a full device": ({}, ">/dev/full"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("statuses")
    gold = "Zoë B-PER\nвидит O\n東京 B-LOC\n\nRome B-LOC\nis O\n"
    (made / "gold.conll").write_text(gold, encoding="utf-8")
    (made / "pred.conll").write_text(gold.replace("B-PER", "B-LOC"), encoding="utf-8")
    systems = {"é": str(made / "pred.conll")}
    spanwise.evaluate(made / "gold.conll", systems, resamples=20).to_json(made / "result.json")
    (made / "study.toml").write_text(
        "attributes = 'none'\nresamples = 20\n[datasets.d]\ntest = 'gold.conll'\n"
        "[systems.a]\npredictions = 'pred.conll'\n[systems.b]\npredictions = 'gold.conll'\n"
    )
    return made


def ended(folder: Path, more: dict[str, str], streams: str, *arguments: str) -> dict[str, int]:
    result = folder / "statuses.json"
    result.unlink(missing_ok=True)
    call = [sys.executable, str(PROGRAM), str(folder), str(result), *arguments]
    given = "" if "<" in streams else f"< {shlex.quote(str(folder / 'gold.conll'))}"
    said = "" if "2>" in streams else "2> " + shlex.quote(str(folder / "stderr.txt"))
    shown = "" if ">" in streams or "|" in streams else "> /dev/null"
    subprocess.run(
        ["bash", "-c", f"{shlex.join(call)} {given} {said} {shown} {streams}"],
        env={**os.environ, **more},
        timeout=240,
        check=False,
    )
    return dict(json.loads(result.read_text()))


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_command_ends_as_documented(condition: str, folder: Path) -> None:
    odd = {
        call: status
        for call, status in ended(folder, *CONDITIONS[condition]).items()
        if status not in (0, 1, 2, 3)
    }
    assert not odd


def test_a_reader_that_leaves_is_no_error(folder: Path) -> None:
    found = ended(folder, {}, "| true", "help")
    assert {call for call, status in found.items() if status not in (0, 1, 2, 3)} == set()
    assert found["list formats"] == 0
