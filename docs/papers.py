"""Update docs/papers.md: run the command of every block and insert its output.

A block starts with `<!-- run: COMMAND -->` and ends with `<!-- end -->`. COMMAND is a `spanwise` command;
words after ` | ` select some of the figures that it draws. The commands read documents that the commands in
`SETUP` create from the published data in the folder SPANWISE_DATA. Figures are written to docs/papers/.

    SPANWISE_DATA=PATH python docs/papers.py [--check]

With --check, nothing is written; the exit status is 1 if any table would change.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from spanwise.cli.main import main

DOCS = Path(__file__).parent
PAGE = DOCS / "papers.md"
MARK = re.compile(r"<!-- run: (?P<command>.*?)(?: \| (?P<chosen>.*?))? -->\n.*?<!-- end -->", re.DOTALL)
SETUP = (
    "study masakhaner.toml --root {data}/masakhaner --no-cache --workers 1 --quiet --json study.json",
    "study fu19.toml --root {data}/masakhaner --no-cache --workers 1 --quiet --json fu19.json",
    "evaluate {data}/ortmann-ner/gold.spans stanza={data}/ortmann-ner/predicted.spans"
    " --weights ortmann-eq6 --weights ortmann-eq7 --quiet --json germeval.json",
    "evaluate {data}/wnut16/test.txt elmo={data}/wnut16/elmo.txt flair={data}/wnut16/flair.txt"
    " --train {data}/wnut16/train.txt --attributes fu20 --quiet --json wnut16.json",
    "describe {data}/conll2002-es/test.txt --train {data}/conll2002-es/train.txt --quiet --json spanish.json",
)


def run(command: str) -> str:
    """Run a command and return its standard output; messages still go to standard error."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = main(shlex.split(command))
    if status:
        raise SystemExit(f"spanwise {command} ended with status {status}")
    return output.getvalue()


def prepared(data: Path) -> None:
    """Create the documents in the current folder."""
    manifest = (DOCS.parent / "examples" / "masakhaner.toml").read_text(encoding="utf-8")
    Path("masakhaner.toml").write_text(manifest, encoding="utf-8")
    other = manifest.replace('attributes = "fu20"', 'attributes = "fu19"').replace("= 1000", "= 200")
    Path("fu19.toml").write_text(other, encoding="utf-8")
    for command in SETUP:
        run(command.format(data=data))


def shown(command: str, chosen: str | None, *, check: bool) -> str:
    """The command as the reader would type it, followed by its table or figures."""
    typed = f"```text\n$ spanwise {command}\n```\n"
    if not command.startswith("figures"):
        text = run(command)
        return (
            f"{typed}\n{text.strip()}\n"
            if command.startswith("table")
            else f"{typed}\n```text\n{text.rstrip()}\n```\n"
        )
    if not check:
        run(f"{command.removesuffix(' -o figures')} -o figures")
    wanted = chosen.split() if chosen else [re.findall(r"--paper (\S+)", command)[0]]
    for name in [] if check else wanted:
        target = DOCS / "papers" / f"{name}.svg"
        target.parent.mkdir(exist_ok=True)
        target.write_text(Path("figures", f"{name}.svg").read_text(encoding="utf-8"), encoding="utf-8")
    pictures = "\n\n".join(f"![{name}](papers/{name}.svg)" for name in wanted)
    return f"{typed}\n{pictures}\n"


def refreshed(page: str, *, check: bool) -> str:
    """The page with the content of every block updated."""

    def again(mark: re.Match[str]) -> str:
        about = f" | {mark['chosen']}" if mark["chosen"] else ""
        content = shown(mark["command"], mark["chosen"], check=check)
        return f"<!-- run: {mark['command']}{about} -->\n{content}<!-- end -->"

    return MARK.sub(again, page)


def refresh(data: Path, *, check: bool) -> int:
    """Update the page, or check whether it is up to date; return the exit status."""
    before = PAGE.read_text(encoding="utf-8")
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            prepared(data.resolve() if data.is_absolute() else (here / data).resolve())
            after = refreshed(before, check=check)
        finally:
            os.chdir(here)
    if check:
        return int(after != before)
    PAGE.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    folder = os.environ.get("SPANWISE_DATA")
    if not folder:
        raise SystemExit("Set SPANWISE_DATA to the folder with the published data.")
    sys.exit(refresh(Path(folder), check="--check" in sys.argv))
