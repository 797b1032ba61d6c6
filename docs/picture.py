"""Draw the README's picture: the real screen of an evaluation of the demo corpus, as SVG.

Run it from the root of the project: python docs/picture.py
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

import spanwise
from spanwise.demo import generate
from spanwise.reports.terminal import render

WIDTH = 100
COMMAND = "spanwise evaluate gold.conll swapper.conll --train train.conll"
TARGET = Path(__file__).parent / "screen.svg"


def screen() -> str:
    """The screen of an evaluation of the demo corpus, in colour."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # so that the screen shows short paths
        try:
            demo = generate(".")
            files = demo.gold.name, demo.systems["swapper"].name
            result = spanwise.evaluate(*files, train=demo.train.name, command=COMMAND)
            return render(result, width=WIDTH, color=True)
        finally:
            os.chdir(here)


def drawn(shown: str) -> str:
    """A screen as SVG."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(shown))
    svg = console.export_svg(title=COMMAND)
    # Without these rules, the picture uses the reader's monospaced font and fetches nothing.
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code", "ui-monospace, Menlo, Consolas")


if __name__ == "__main__":
    TARGET.write_text(drawn(screen()), encoding="utf-8")
