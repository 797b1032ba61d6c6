"""The table of what formats hold is that of the program."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

from spanwise.cli.main import main
from spanwise.formats import FORMATS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_on_formats_shows_the_table_of_what_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    monkeypatch.delitem(sys.modules, "_generate", raising=False)
    table = "\n".join(importlib.import_module("_generate").holdings())
    assert table in (DOCS / "formats.md").read_text(encoding="utf-8")


def test_the_list_of_formats_says_which_are_written_and_what_they_hold(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["list", "formats", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    for form in FORMATS:
        assert rows[form.name]["writes"] == (form.write is not None or form.write_folder is not None)
        assert set(rows[form.name].get("holds", ())) == set(form.holds or ())
    assert main(["list", "formats"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "read and written, with --scores also scores; holds words, tokens, sentences, documents" in shown
    assert "without scores" not in shown
