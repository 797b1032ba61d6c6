"""Run many commands one after the other, each in a process of its own, and write down how they ended.

A program, so that a test can start it under any environment: `python statuses.py FOLDER RESULT [help]`.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path

CALLS = [
    ["--version"], ["help"], ["no-such-command"], ["list"], ["list", "formats"], ["cite"],
    ["evaluate", "gold.conll", "pred.conll", "--train", "gold.conll", "--resamples", "20"],
    ["evaluate", "gold.conll", "pred.conll", "--resamples", "0", "--json", "-"],
    ["evaluate", "-", "pred.conll", "--resamples", "0"],
    ["evaluate", "gold.conll", "pred.conll", "--fail-under", "99", "--quiet"],
    ["evaluate", "gold.conll", "missing-é.conll"],
    ["compare", "gold.conll", "a=pred.conll", "b=gold.conll", "--resamples", "20"],
    ["describe", "gold.conll"], ["explain", "gold.conll", "pred.conll"],
    ["errors", "gold.conll", "pred.conll"],
    ["validate", "gold.conll", "pred.conll"], ["convert", "gold.conll", "-", "--to", "jsonl"],
    ["slices", "gold.conll", "pred.conll"], ["agree", "gold.conll", "pred.conll"],
    ["suspects", "gold.conll", "a=pred.conll", "b=gold.conll"],
    ["table", "result.json"], ["export", "result.json"],
    ["figures", "result.json"], ["study", "study.toml", "--workers", "1"],
]  # fmt: skip


def main() -> int:
    """Run every call, and the help of every command."""
    folder, result = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    with_help = sys.argv[3:] == ["help"]
    os.chdir(folder)
    import scipy.stats  # noqa: F401

    import spanwise.evaluation
    import spanwise.reports.terminal  # noqa: F401 - once, and not in every process
    from spanwise.cli.main import COMMANDS
    from spanwise.cli.main import main as command

    found = []
    helps = [[name, "--help"] for name in COMMANDS] if with_help else []
    for call in [*CALLS, *helps]:
        process = os.fork()
        if process == 0:
            os._exit(_status(command, call))
        found.append((" ".join(call), os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])))
    result.write_text(json.dumps(found))
    return 0


def _status(command: object, call: list[str]) -> int:
    try:
        return command(call)  # type: ignore[operator, no-any-return]
    except SystemExit as leaving:
        return int(leaving.code or 0)
    except BaseException:
        Path("traceback.txt").write_text(traceback.format_exc())
        return 99


if __name__ == "__main__":
    sys.exit(main())
