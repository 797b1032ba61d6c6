"""Run every command under unusual circumstances, each call in its own process, and record how it ended.

This is a script, so that a test can start it in any locale:
`python statuses.py FOLDER RESULT CIRCUMSTANCE…`.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

ROOMS = [
    "scipy.stats", "spanwise_taggers.api", *(f"spanwise.{room}" for room in (
        "agreement", "calibration", "changing", "curves", "description", "evaluation", "explanation",
        "placement", "planning", "sampling", "reports.outlets", "reports.tables", "reports.terminal",
        "slices", "leakage", "studies", "suspicion",
    )),
    "spanwise.reports.terminal._analyses",
]  # fmt: skip
CALLS: dict[str, list[list[str]]] = {
    "all": [  # the last call of each command is made under every circumstance
        ["--version"], ["help"], ["no-such-command"], ["list"], ["list", "formats"], ["cite"],
        ["completion", "bash"],
        ["demo", "demo", "--only-files", "--sentences", "20"],
        ["evaluate", "gold.conll", "pred.conll", "--train", "gold.conll", "--resamples", "20"],
        ["evaluate", "gold.conll", "pred.conll", "--fail-under", "99", "--quiet"],
        ["evaluate", "gold.conll", "missing-é.conll"],
        ["evaluate", "gold.conll", "pred.conll", "--resamples", "0", "--json", "-"],
        ["evaluate", "-", "pred.conll", "--resamples", "0"],
        ["compare", "gold.conll", "a=pred.conll", "b=gold.conll", "--resamples", "20"],
        ["describe", "gold.conll"], ["split", "gold.conll", "--unseen", "50"],
        ["explain", "gold.conll", "pred.conll"],
        ["errors", "gold.conll", "pred.conll"],
        ["errors", "gold.conll", "pred.conll", "--where", "label=LOC & entity_length>=1"],
        ["validate", "gold.conll", "pred.conll"], ["convert", "gold.conll", "-", "--to", "jsonl"],
        ["place", "gold.conll", "answers.jsonl"], ["place", "gold.conll", "answers.jsonl", "--json", "-"],
        ["slices", "gold.conll", "pred.conll", "--flips", "20", "--least", "1"],
        ["leaks", "gold.conll", "pred.conll"],
        ["tuples", "gold.conll", "pred.conll"],
        ["sample", "gold.conll", "-n", "1", "-o", "sample.conll"], ["plan", "result.json"],
        ["curve", "result.json"], ["changes", "result.json", "result.json"],
        ["confidence", "gold.jsonl", "scored.jsonl", "--resamples", "10"],
        ["apply", "scored.jsonl", "--threshold", "0.5", "-o", "kept.jsonl"],
        ["agree", "gold.conll", "pred.conll"], ["agree", "gold.conll", "pred.conll", "--json", "-"],
        ["suspects", "gold.conll", "a=pred.conll", "b=pred.conll"],
        ["suspects", "gold.conll", "a=pred.conll", "b=pred.conll", "-o", "-", "--quiet"],
        ["suspects", "--apply", "sheet.csv", "gold.conll", "-o", "corrected.conll"],
        ["table", "result.json", "overall"], ["table", "result.json"], ["export", "result.json", "rows"],
        ["export", "result.json", "terminal"], ["study", "study.toml", "--workers", "1"],
        ["reproduce", "nowhere"], ["workbench", "nowhere"], ["workbench", "--host", "0.0.0.0"],
        ["tag", "nowhere", "gold.conll", "-o", "tagged.conll"],
        ["train", "lstm", "--train", "gold.conll", "--dev", "gold.conll", "-o", "tagger"],
        ["report", "missing.json"], ["figures", "missing.json"],
        ["paper", "missing.json", "-o", "paper"],
    ],
    "page": [["report", "result.json", "-o", "page.html"], ["figures", "result.json", "-o", "figures"]],
    "tagger": [
        ["train", "crf", "--train", "gold.conll", "--dev", "gold.conll", "-o", "tagger"],
        ["tag", "tagger", "gold.conll", "-o", "tagged.conll"],
    ],
    "help": [],  # filled in below, for every command
}  # fmt: skip


def main() -> int:
    """Run the calls under each circumstance."""
    folder, result = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    os.chdir(folder)
    for room in ROOMS:
        import_module(room)  # once, before forking, rather than in every process
    from spanwise.cli.main import COMMANDS
    from spanwise.cli.main import main as command

    CALLS["help"] = [[name, "--help"] for name in COMMANDS]
    endings: dict[str, list[tuple[str, int, str]]] = {}
    for circumstance in sys.argv[3:]:
        name, *more = circumstance.split("+")
        calls = CALLS["all"] if "all" in more else list({call[0]: call for call in CALLS["all"]}.values())
        calls = [*calls, *(call for kind in more if kind != "all" for call in CALLS[kind])]
        endings[name] = [(" ".join(call), *_ended(command, call, name)) for call in calls]
    result.write_text(json.dumps(endings))
    return 0


def _ended(command: Callable[[list[str]], int], call: list[str], name: str) -> tuple[int, str]:
    """The exit status of a call, and what it wrote to standard error."""
    stderr = os.open("stderr.txt", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    ours, theirs = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(ours)
        os._exit(_status(command, call, name, stderr, theirs))
    os.close(theirs)
    if name == "a reader that leaves":
        os.read(ours, 1)
    else:
        while os.read(ours, 1 << 16):
            pass
    os.close(ours)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    messages = os.pread(stderr, 1 << 20, 0).decode("utf-8", "replace")
    os.close(stderr)
    return status, messages


def _status(command: Callable[[list[str]], int], call: list[str], name: str, stderr: int, out: int) -> int:
    stdin = os.open("gold.conll", os.O_RDONLY)
    for number, descriptor in enumerate((stdin, out, stderr)):
        os.dup2(descriptor, number)
    os.closerange(3, 64)
    if name == "a full device":
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    closed = {"closed output": [1], "closed streams": [0, 1, 2], "closed input": [0]}.get(name, [])
    for number in closed:
        os.close(number)
        setattr(sys, ("stdin", "stdout", "stderr")[number], None)
    if name == "no terminal and no home":
        os.environ.pop("TERM", None)
        os.environ |= {"HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none", "COLUMNS": "0"}
    try:
        return command(call)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    except BaseException:
        os.write(stderr if 2 in closed else 2, traceback.format_exc().encode())
        return 99


if __name__ == "__main__":
    sys.exit(main())
