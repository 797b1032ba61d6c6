"""Pages of three or more systems in a browser: any pair can be chosen, and a filter shows its score."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from browsing import Opened
from documents import result

import spanwise

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("altair", reason="the page needs the extra 'report'")

NAMES = ("bert", "crf", "a,b&c=d", "llm")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from spanwise.reports.html import render

    path = tmp_path_factory.mktemp("many") / "four.html"
    path.write_text(render(result(*NAMES)), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Browser, page: Path) -> Iterator[Opened]:
    opened_page = Opened(browser, page)
    yield opened_page
    assert opened_page.said == [] and len(opened_page.asked) == 1
    opened_page.context.close()


def assert_pair(opened: Opened, names: list[str]) -> None:
    opened.see("#pair bdi").to_have_text(names)


def test_headline_findings_and_tests_follow_the_chosen_pair(opened: Opened) -> None:
    page = opened.page
    order = page.locator(".board tbody th").all_text_contents()
    assert sorted(order) == sorted(NAMES)
    assert_pair(opened, order[:2])
    page.select_option("#choose-a", "2")
    page.select_option("#choose-b", "3")
    assert_pair(opened, [order[2], order[3]])
    assert all(name in page.inner_text("#headline") for name in order[2:])
    assert not any(name in page.inner_text("#findings") for name in order[:2])
    assert f"a={quote(order[2], safe='')},b={quote(order[3], safe='')}" in opened.address()
    assert page.locator("#confusions [data-view]:visible").get_attribute("data-view") == "2"
    page.click("#swap")
    assert_pair(opened, [order[3], order[2]])
    page.go_back()
    assert_pair(opened, [order[2], order[3]])


def test_a_cell_of_the_matrix_opens_its_pair_and_examples_keep_it(opened: Opened) -> None:
    page = opened.page
    order = page.locator(".board tbody th").all_text_contents()
    page.click("#significance tbody tr:nth-child(4) td:nth-of-type(2) a")
    assert_pair(opened, [order[3], order[1]])
    page.click("#pair-groups a.n >> nth=0")
    assert_pair(opened, [order[3], order[1]])
    opened.until("location.hash.includes('a=')")
    address = opened.address()
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("html[data-ready][data-filled]", state="attached")
    assert_pair(opened, [order[3], order[1]])
    opened.asked.clear()
    opened.asked.append(address)


def test_parts_add_up_and_cells_of_the_two_by_two_table_show_their_mentions(opened: Opened) -> None:
    page = opened.page
    rows = page.locator("#pair-lead section").first.locator("table").first.locator("a")
    for at in range(rows.count()):
        number = int(rows.nth(at).locator("b").inner_text().replace(",", ""))
        rows.nth(at).click()
        opened.follows()
        summary = page.inner_text("#summary")
        assert opened.count() == number or (at == 0 and "every system got right are left out" in summary)


def test_no_width_is_too_narrow(browser: Browser, page: Path) -> None:
    opened = Opened(browser, page, width=390, scheme="dark")
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
    opened.context.close()


def test_the_score_of_a_filter_equals_that_of_evaluating_its_mentions(
    browser: Browser, tmp_path: Path
) -> None:
    """Filters by label and text, compared with brute force over all sentences."""
    labels = ("PER", "LOC", "ORG")
    words = [[f"w{(7 * row + at) % 11}" for at in range(5)] for row in range(60)]

    def tags(salt: int) -> list[list[str]]:
        return [
            [f"B-{labels[(row + at) % 3]}" if (row * 5 + at * salt) % 4 < 2 else "O" for at in range(5)]
            for row in range(60)
        ]

    def records(salt: int) -> str:
        rows = zip(words, tags(salt), strict=True)
        return "".join("".join(f"{w} {t}\n" for w, t in zip(*row, strict=True)) + "\n" for row in rows)

    for name, salt in (("gold", 3), ("a", 3), ("b", 5), ("c", 2)):
        (tmp_path / f"{name}.conll").write_text(records(salt), encoding="utf-8")
    result = spanwise.evaluate(
        str(tmp_path / "gold.conll"), {name: str(tmp_path / f"{name}.conll") for name in "abc"},
        resamples=0, examples="all",
    )  # fmt: skip
    path = tmp_path / "all.html"
    result.to_html(path)
    for chosen in ("gold=LOC,q=w3", "q=w3", "gold=LOC"):
        filters = dict(part.split("=") for part in chosen.split(","))
        opened = Opened(browser, path, at=f"#examples?{chosen}")
        rows = opened.page.locator("#filter-score tbody tr")
        assert rows.count() == 2
        for at in range(2):
            row = {
                key: rows.nth(at).get_attribute(f"data-{key}")
                for key in ("system", "gold", "predicted", "correct")
            }
            gold = predicted = correct = 0
            for sentence in result.sentences:
                if "q" in filters and filters["q"] not in " ".join(sentence.tokens or ()):
                    continue
                fits = [m for m in sentence.gold if m.label == filters.get("gold", m.label)]
                gold += len(fits)
                correct += sum(m.outcome[str(row["system"])] == "TP" for m in fits)
                theirs = sentence.systems[str(row["system"])]
                predicted += sum(m.label == filters.get("gold", m.label) for m in theirs)
            assert [row["gold"], row["predicted"], row["correct"]] == [
                str(gold),
                str(predicted),
                str(correct),
            ]
        opened.context.close()
