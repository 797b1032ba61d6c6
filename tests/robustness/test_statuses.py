"""Every command ends with a status from 0 to 3, whatever the streams, the locale and the home folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import spanwise
from spanwise.cli.main import COMMANDS

PROGRAM = Path(__file__).parents[1] / "support" / "statuses.py"
PLAIN = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
# The environment a process is started with, and the circumstances it then sets up for each call.
STARTS: list[tuple[dict[str, str], list[str]]] = [
    ({"LC_ALL": "C", **PLAIN}, ["the C locale+all"]),
    ({"PYTHONIOENCODING": "cp1252"}, ["cp1252+all+page+tagger"]),
    (
        {},
        [
            "a reader that leaves+help", "closed input", "closed output+all", "closed streams",
            "no terminal and no home+page", "a full device",
        ],
    ),
]  # fmt: skip
CIRCUMSTANCES = [name for _, names in STARTS for name in names]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("statuses")
    gold = "Zoë B-PER\nвидит O\n東京 B-LOC\n\nRome B-LOC\nis O\n"
    (path / "gold.conll").write_text(gold, encoding="utf-8")
    (path / "pred.conll").write_text(gold.replace("B-PER", "B-LOC"), encoding="utf-8")
    systems = {"é": str(path / "pred.conll")}
    spanwise.evaluate(path / "gold.conll", systems, resamples=20).to_json(path / "result.json")
    (path / "study.toml").write_text(
        "attributes = 'none'\nresamples = 20\n[datasets.d]\ntest = 'gold.conll'\n"
        "[systems.a]\npredictions = 'pred.conll'\n[systems.b]\npredictions = 'gold.conll'\n"
    )
    answers = [{"id": 0, "answers": [["Zoë", "PER"], ["Ōsaka", "LOC"]]}, {"id": 1, "answers": []}]
    (path / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    spans = [{"tokens": ["Zoë", "видит"], "spans": [[0, 1, "PER", 0.75], [1, 2, "LOC", 0.25]]}]
    (path / "scored.jsonl").write_text("\n".join(map(json.dumps, spans)), encoding="utf-8")
    (path / "gold.jsonl").write_text(
        '{"tokens": ["Zoë", "видит"], "spans": [[0, 1, "PER"]]}\n', encoding="utf-8"
    )
    head = "sentence,gold_start,gold_end,gold_label,start,end,label,decision\n"
    (path / "sheet.csv").write_text(head + "1,0,1,PER,0,1,LOC,accept\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def ended(folder: Path) -> dict[str, dict[str, tuple[int, str]]]:
    """The status and standard error of every call, by circumstance."""
    by_circumstance: dict[str, dict[str, tuple[int, str]]] = {}
    for more, names in STARTS:
        result = folder / "statuses.json"
        subprocess.run(
            [sys.executable, str(PROGRAM), str(folder), str(result), *names],
            env={**os.environ, **more},
            timeout=240,
            check=True,
        )
        for name, rows in json.loads(result.read_text()).items():
            by_circumstance[name] = {call: (status, stderr) for call, status, stderr in rows}
    return by_circumstance


@pytest.mark.parametrize("circumstance", CIRCUMSTANCES)
def test_every_command_ends_as_documented(
    circumstance: str, ended: dict[str, dict[str, tuple[int, str]]]
) -> None:
    calls = ended[circumstance.partition("+")[0]]
    assert {call.split()[0] for call in calls} >= set(COMMANDS)
    odd = {
        call: answer
        for call, answer in calls.items()
        if answer[0] not in (0, 1, 2, 3) or "Traceback" in answer[1]
    }
    assert not odd


def test_basic_commands_work_in_all_circumstances(ended: dict[str, dict[str, tuple[int, str]]]) -> None:
    calls = ["list formats", "describe gold.conll", "apply scored.jsonl --threshold 0.5 -o kept.jsonl"]
    for name in ("the C locale", "cp1252", "a reader that leaves", "closed input", "no terminal and no home"):
        assert [ended[name][call][0] for call in calls] == [0, 0, 0], name
    assert ended["closed output"]["evaluate gold.conll pred.conll --resamples 0 --json -"][0] == 3
    assert ended["a full device"]["describe gold.conll"][0] == 3
