"""Pages and figures of slices and of confidence scores."""

from __future__ import annotations

from pathlib import Path

import pytest

import spanwise
from spanwise.reports.figures import figures

pytest.importorskip("altair")
EVIL = "<script>alert(1)</script>"


def sentences(number: int) -> tuple[list[object], list[object]]:
    gold: list[object] = []
    mine: list[object] = []
    for at in range(number):
        label = "ORG" if at % 2 else EVIL
        gold.append([(0, 1, label)])
        right = label != "ORG" or at % 4 == 1
        mine.append([(0, 1, label, 0.9)] if right else [(1, 2, label, 0.3 + at / 1000)])
    return gold, mine


def test_the_page_of_confidence_scores(tmp_path: Path) -> None:
    gold, mine = sentences(200)
    document = spanwise.confidence(gold, {EVIL: mine}, resamples=50)
    page = document.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert page.count('<div class="chart">') == 3 and EVIL not in page
    assert "Reliability" in page and "Risk and coverage" in page
    charts = figures(document.to_dict())
    assert sorted(name.removesuffix(f"-{EVIL}") for name in charts) == [
        "precision-recall", "reliability", "risk-coverage",
    ]  # fmt: skip
    assert "Scores of" in document.to_text(width=80)


def test_the_page_and_the_screen_of_slices() -> None:
    gold, mine = sentences(400)
    document = spanwise.find_slices(gold, {EVIL: mine, "b": gold}, attributes="label")
    page = document.to_html()
    assert EVIL not in page and "Where" in page
    assert "differ" in page
    assert document.systems[EVIL].slices[0].where == "label=ORG"
    screen = document.to_text(width=80)
    assert "label ORG" in screen and max(map(len, screen.splitlines())) <= 80


def test_a_slice_found_after_others_is_explained_below_the_list() -> None:
    labels = ("ORG", "PER", "LOC")
    gold: list[object] = [[(0, 1, labels[at % 3])] for at in range(900)]
    # In tenths of the mentions, how many are missed.
    rate = {"ORG": 7, "PER": 6, "LOC": 1}
    mine: list[object] = [
        [] if at // 3 % 10 < rate[labels[at % 3]] else sentence for at, sentence in enumerate(gold)
    ]
    document = spanwise.find_slices(gold, {"mine": mine, "gold": gold}, attributes="label")
    assert [row.p is None for row in document.systems["mine"].slices] == [False, True]
    note = "later: found on the mentions that remain after removing the slices above, without its own p-value"
    listed = 1 + sum(row.p is None for row in document.comparison[0].slices)
    page, screen = document.to_html(), " ".join(document.to_text(width=80).split())
    assert page.count(">later<") == listed and page.count(note) == 2
    assert screen.count(" later ") == listed and screen.count(note) == 2
    alone = spanwise.find_slices(gold, {"gold": gold}, attributes="label")
    assert "later" not in alone.to_html().partition("<main")[2].partition("</main>")[0]
    assert "later" not in alone.to_text()
