"""What changed since an earlier result, on the page of the later one and in notebooks."""

from __future__ import annotations

import re
from pathlib import Path

import spanwise
from spanwise.cli.main import main
from spanwise.views.verdict import verdict

WORDS = ["Ann", "in", "Oslo"]
GOLD = [{"tokens": WORDS, "tags": tags} for tags in (["B-PER", "O", "B-LOC"], ["O", "O", "B-ORG"]) * 20]
WORSE = [{"tokens": WORDS, "tags": tags} for tags in (["B-PER", "O", "O"], ["O", "O", "B-LOC"]) * 20]


def results() -> tuple[spanwise.Result, spanwise.Result]:
    before, after = (spanwise.evaluate(GOLD, {"crf": tags}, resamples=200) for tags in (GOLD, WORSE))
    return before, after


def text_of(page: str) -> str:
    return " ".join(re.sub("<[^>]*>", "", page).replace("&lt;", "<").split())


def test_a_page_says_what_changed_since_an_earlier_result() -> None:
    before, after = results()
    changes = before.changes(after)
    page = after.to_html(against=before)
    assert str(verdict(changes).sentence) in text_of(page)
    assert "What broke: crf" in text_of(page) and 'id="changes"' in page
    assert 'id="changes"' not in after.to_html()


def test_report_takes_an_earlier_result(tmp_path: Path) -> None:
    before, after = results()
    before.to_json(tmp_path / "old.json")
    after.to_json(tmp_path / "new.json")
    page = tmp_path / "new.html"
    files = [str(tmp_path / "new.json"), "--against", str(tmp_path / "old.json"), "-o", str(page)]
    assert main(["report", *files]) == 0
    assert "Since the earlier result" in page.read_text(encoding="utf-8")


def test_changes_name_the_labels_that_changed() -> None:
    before, after = results()
    changes = before.changes(after)
    assert "By label, F1 is worse on " in changes.to_text(width=120)
    assert str(verdict(changes).sentence) in repr(changes)
    assert "worse by" in changes._repr_html_() and "<details>" in changes._repr_html_()
