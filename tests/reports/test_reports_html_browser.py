"""The page in a browser: every number links to exactly its mentions, from a file, without requests."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from browsing import Opened, box_of, faint_texts
from documents import result
from study_documents import study
from typed import present

pytest.importorskip("altair", reason="the page needs the extra 'report'")

from spanwise.reports.html import render

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("pages")
    (where / "two.html").write_text(render(result("bert", "crf")), encoding="utf-8")
    return where


@pytest.fixture
def opened(browser: Browser, folder: Path) -> Iterator[Opened]:
    page = Opened(browser, folder / "two.html")
    yield page
    page.context.close()


def test_it_opens_from_a_file_and_makes_no_requests(opened: Opened) -> None:
    assert len(opened.asked) == 1 and opened.asked[0].startswith("file://")
    assert opened.said == []


WALK = """async (step) => {
  const summary = document.getElementById("summary"), found = [];
  const links = [...document.querySelectorAll('a[href^="#examples?"]')].map((a) => a.getAttribute("href"));
  for (const link of [...new Set(links)].filter((_, place) => place % step === 0)) {
    location.hash = link;
    for (let turn = 0; turn < 5000 && summary.dataset.shows !== link; turn++) {
      await new Promise((go) => setTimeout(go, 1));
    }
    found.push([link, Number(summary.dataset.count), summary.textContent]);
  }
  return found;
}"""


def walked(opened: Opened, *, step: int = 1) -> list[tuple[str, int | None, int, str]]:
    """The links to examples, or every `step`-th: address, stated number, number shown, and summary."""
    rows = opened.page.evaluate(WALK, step)
    numbers = [re.search(r"of=(\d+)$", link) for link, _, _ in rows]
    return [
        (link, int(match[1]) if match else None, count, summary)
        for (link, count, summary), match in zip(rows, numbers, strict=True)
    ]


def test_every_link_shows_as_many_as_its_number_says(opened: Opened) -> None:
    """Check all links of the page, in charts, tables and findings."""
    rows = walked(opened)
    assert len(rows) > 150
    for link, number, count, summary in rows:
        if number is None or count == number:
            continue
        # Correct mentions in sentences without errors are left out, and the page says so.
        assert summary.startswith(f"{count} of {number} ") and "left out" in summary, link
        assert "outcome=wrong" not in link and "unit=error" not in link


def test_every_number_of_a_real_evaluation_links_to_its_mentions(
    browser: Browser, data: Path, tmp_path: Path
) -> None:
    from spanwise.evaluation import evaluate

    folder = data / "masakhaner" / "pcm"
    systems = {name: str(folder / "predictions" / f"{name}.1.txt") for name in ("mbert", "rembert")}
    result = evaluate(
        str(folder / "test.txt"), systems, train=str(folder / "train.txt"), resamples=0, examples="all"
    )
    path = tmp_path / "real.html"
    path.write_text(render(result.to_dict()), encoding="utf-8")
    opened = Opened(browser, path)
    try:
        rows = walked(opened, step=4)
        assert len(rows) > 70 and opened.said == []
        assert [(link, number, count) for link, number, count, _ in rows if number not in (None, count)] == []
    finally:
        opened.context.close()


def expected(kind: str) -> int:
    overall: int = result("bert", "crf")["systems"]["bert"]["fair"]["overall"][kind]
    return overall


def test_a_bar_a_cell_a_bucket_and_a_finding_link_to_their_mentions(opened: Opened) -> None:
    page = opened.page
    page.locator("#errors .chart:visible a[aria-label^='Wrong boundary'] rect").first.click(force=True)
    opened.until("location.hash.includes('outcome=')")
    opened.follows()
    assert opened.count() == opened.drawn() == expected("BE") and "in " in page.inner_text("#summary")
    cell = page.locator("#confusions table.matrix:visible td a").first
    number = int(cell.inner_text())
    cell.click()
    opened.until("location.hash.includes('predicted=')")
    opened.follows()
    assert opened.count() == opened.drawn() == number
    bucket = page.locator("#attributes .chart a[aria-label*='not right']").first
    match = re.search(r"([\d,]+) gold mentions not right", present(bucket.get_attribute("aria-label")))
    number = int(present(match)[1])
    bucket.dispatch_event("click")
    opened.until("location.hash.includes('attribute=')")
    opened.follows()
    assert opened.count() == opened.drawn() == number
    finding = page.locator(".findings a[href*='outcome=wrong']").first
    number = int(finding.inner_text().split()[0])
    finding.click()
    opened.until("location.hash.includes('tough=')")
    opened.follows()
    assert opened.count() == opened.drawn() == number


def test_the_back_button_restores_the_previous_choice(opened: Opened) -> None:
    page = opened.page
    page.evaluate("location.hash = '#examples?unit=error,system=bert,outcome=LE'")
    page.wait_for_selector("#chips >> text=wrong label")
    first = opened.count()
    page.select_option("#by-outcome", "FN")
    page.wait_for_selector("#chips >> text=missed")
    assert opened.count() == expected("FN") != first
    page.go_back()
    page.wait_for_selector("#chips >> text=wrong label")
    assert opened.count() == first == expected("LE")


def test_filters_narrow_the_list_and_can_be_removed(opened: Opened) -> None:
    page = opened.page
    page.select_option("#by-outcome", "wrong")
    page.select_option("#by-gold", "PER")
    page.wait_for_selector("#chips >> text=gold PER")
    narrowed = opened.count()
    page.select_option("#by-attribute", "entity_length")
    page.wait_for_selector("#chips >> text=entity length")
    assert 0 < opened.count() < narrowed
    page.click("#chips button:has-text('gold PER')")
    page.wait_for_selector("#chips >> text=gold PER", state="detached")
    page.select_option("#by-over", '["bert","crf"]')
    page.wait_for_selector("#chips >> text=crf wrong")
    assert "unit=gold" in page.evaluate("location.hash")
    assert page.locator("#list .m.right").count() > 0


def test_mentions_that_only_one_system_got_right_can_be_selected(opened: Opened) -> None:
    opened.page.evaluate("location.hash = '#examples?unit=gold,system=bert,outcome=TP,over=crf'")
    opened.page.wait_for_selector("#chips >> text=crf wrong")
    both = [m["outcome"] for row in result("bert", "crf")["sentences"] for m in row["gold"]]
    assert opened.drawn() == sum(o["bert"] == "TP" and o["crf"] != "TP" for o in both)


def test_keys_move_search_and_clear(opened: Opened) -> None:
    page = opened.page
    page.evaluate("location.hash = '#examples?unit=error,system=bert,outcome=LE'")
    page.wait_for_selector("#chips >> text=wrong label")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    opened.until("[...document.querySelectorAll('.example')].indexOf(document.activeElement) === 1")
    page.keyboard.press("/")
    opened.see("#q").to_be_focused()
    page.keyboard.type("river")
    page.wait_for_selector("#chips >> text=river")
    page.keyboard.press("Escape")
    page.wait_for_selector("#chips >> text=river", state="detached")
    page.keyboard.press("Escape")
    opened.until("location.hash === '#examples'")
    opened.follows()
    page.locator("table.matrix:visible td a").first.focus()
    before = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("ArrowRight")
    opened.until(f"document.activeElement.getAttribute('href') !== {json.dumps(before)}")


def test_the_page_can_show_the_other_system(opened: Opened) -> None:
    page = opened.page
    first = page.inner_text(".headline:visible .big")
    page.click("button[data-system]:has-text('crf')")
    page.wait_for_selector("button[data-system][aria-pressed=true]:has-text('crf')")
    opened.see(".headline:visible .big").not_to_have_text(first, use_inner_text=True)
    assert page.locator("#errors .chart:visible svg").count() == 2
    page.go_back()


def test_filtered_mentions_can_be_exported(opened: Opened) -> None:
    page = opened.page
    page.evaluate("location.hash = '#examples?unit=error,system=bert,outcome=LE'")
    page.wait_for_selector("#chips >> text=wrong label")
    with page.expect_download() as saved:
        page.click("#csv")
    rows = list(csv.DictReader(io.StringIO(Path(saved.value.path()).read_text(encoding="utf-8"))))
    assert len(rows) == expected("LE") and {row["outcome"] for row in rows} == {"LE"}
    with page.expect_download() as saved:
        page.click("#jsonl")
    lines = Path(saved.value.path()).read_text(encoding="utf-8").splitlines()
    assert len(lines) == expected("LE")
    assert json.loads(lines[0])["gold_text"].startswith("Per")


def test_marks_describe_what_they_show(opened: Opened) -> None:
    opened.page.locator("#score .chart a, #score .chart [role=img]").first.hover(force=True)
    opened.see("#tip").to_contain_text("F1")


@pytest.mark.parametrize("width", [1440, 900, 390])
def test_no_width_and_no_theme_breaks_it(browser: Browser, folder: Path, width: int) -> None:
    opened = Opened(browser, folder / "two.html", width=width)
    try:
        for scheme in ("light", "dark"):
            opened.turn(scheme)
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
            boxes = opened.page.evaluate(
                "[...document.querySelectorAll('.chart svg')].map((svg) => [svg, svg.closest('.card')]"
                ".map((part) => part.getBoundingClientRect().right)).filter(([right]) => right > 0)"
            )
            assert len(boxes) >= 9 and all(right <= card for right, card in boxes)
        assert opened.said == []
    finally:
        opened.context.close()


def test_the_theme_can_be_chosen(opened: Opened) -> None:
    page = opened.page
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.click("#theme")
    opened.see("#theme").to_have_text("Theme: dark")
    opened.until(f"{colour} !== {json.dumps(light)}")
    page.click("#theme")
    opened.see("#theme").to_have_text("Theme: light")
    opened.until(f"{colour} === {json.dumps(light)}")


def test_axe_finds_no_serious_violation_in_any_theme(browser: Browser, folder: Path) -> None:
    (folder / "study.html").write_text(render(study(names=("news", "tweets", "law"))), encoding="utf-8")
    for name in ("two.html", "study.html"):
        opened = Opened(browser, folder / name, at="#examples?unit=error,system=bert,outcome=LBE")
        try:
            assert opened.violations() == []
            opened.turn("dark")
            assert opened.violations(only=("color-contrast",)) == []
        finally:
            opened.context.close()


def test_faint_text_is_found_by_us_and_by_axe(opened: Opened) -> None:
    assert faint_texts(opened.page) == [] and opened.violations(only=("color-contrast",)) == []
    opened.page.evaluate("document.querySelector('h1').style.color = '#aaa'")
    ((text, ratio),) = faint_texts(opened.page)
    ((rule, texts),) = opened.violations(only=("color-contrast",))
    assert text == texts[0] and text.startswith("<h1") and 1 < ratio < 3 and rule == "color-contrast"


def hostile_document() -> dict[str, Any]:
    text = json.dumps("</script><img src=x onerror=alert(1)>{{7*7}}\u202e")[1:-1]
    plain = json.dumps(result("bert", "crf"))
    for word in ("PER", "bert", "the", "Per0"):
        plain = plain.replace(f'"{word}"', f'"{word}{text}"')
    document: dict[str, Any] = json.loads(plain)
    document["sentences"][0]["tokens"][0] = '=HYPERLINK("http://x")'
    document["sentences"][0]["tokens"][2] = "=1+1"
    return document


def test_hostile_tokens_and_labels_stay_text(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(render(hostile_document()), encoding="utf-8")
    opened = Opened(browser, path)
    try:
        assert opened.page.locator("img").count() == 0 and opened.said == [] and len(opened.asked) == 1
        assert "<img src=x onerror=alert(1)>{{7*7}}" in opened.page.inner_text("#list")
        link = opened.page.locator("table.matrix:visible td a").first
        number = int(link.inner_text())
        link.click()
        opened.until("location.hash.startsWith('#examples?')")
        opened.follows()
        assert opened.drawn() == number
        assert "</script>" in unquote(opened.page.evaluate("location.hash"))
        opened.page.evaluate("location.hash = '#examples'")
        opened.until("document.querySelector('#chips').children.length === 1")
        with opened.page.expect_download() as saved:
            opened.page.click("#csv")
        text = Path(saved.value.path()).read_text(encoding="utf-8")
        rows = list(csv.reader(io.StringIO(text)))
        assert not any(cell[:1] in "=+@" and cell for row in rows for cell in row)
    finally:
        opened.context.close()


def long_document() -> dict[str, Any]:
    """A document with a sentence of 5,000 tokens, a right-to-left one, and one with overlapping mentions."""
    document = result("crf")
    first = document["sentences"][0]
    first["tokens"] = [f"w{at}" for at in range(5000)]
    other = json.loads(json.dumps(document["sentences"][1]))
    arabic = "ذهب أحمد محمد علي إلى القاهرة و بيروت ثم دمشق و بغداد و عمان و صنعاء ."
    other["tokens"] = arabic.split()
    document["sentences"][1] = other
    nested = document["sentences"][2]
    for start, end in ((1, 6), (2, 9), (3, 4)):
        missed = {"outcome": {"crf": "FN"}, "partner": {"crf": None}, "tough": [], "buckets": {}}
        nested["gold"].append({"start": start, "end": end, "label": "ORG", **missed})
    return document


def test_long_right_to_left_and_overlapping_sentences_behave(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "long.html"
    path.write_text(render(long_document()), encoding="utf-8")
    opened = Opened(browser, path, width=900)
    try:
        page = opened.page
        opened.drawn()
        assert page.evaluate("document.documentElement.scrollWidth") <= 900
        assert page.locator("#list .t").count() < 4000
        page.click("button:has-text('Show all 5,000 tokens')")
        opened.until("document.querySelectorAll('#list .t').length > 5000")
        assert page.evaluate("document.documentElement.scrollWidth") <= 900
        assert page.locator(".grid[dir=rtl]").count() >= 1
        tokens = page.locator(".grid[dir=rtl] .t")
        assert box_of(tokens.nth(0))["x"] > box_of(tokens.nth(1))["x"]
        rows = page.evaluate(
            "Math.max(...[...document.querySelectorAll('.example')].map((card) =>"
            " new Set([...card.querySelectorAll('.m.gold')].map((m) => m.style.gridRow)).size))"
        )
        assert rows >= 3
    finally:
        opened.context.close()


def test_redacted_and_capped_pages_say_what_is_not_shown(browser: Browser, tmp_path: Path) -> None:
    document = result("bert", "crf")
    kept = document["sentences"][:10]
    capped = {**document, "sentences": kept, "examples": {**document["examples"], "shown": 10, "cap": 10}}
    none = {**document, "sentences": [], "examples": {"policy": "none", "cap": 0, "shown": 0, "of": 0}}
    for name, content, message in (
        ("capped", capped, f"the page holds 10 of {len(document['sentences'])} sentences"),
        ("none", none, "examples were left out (--examples none)"),
    ):
        path = tmp_path / f"{name}.html"
        path.write_text(render(content), encoding="utf-8")
        opened = Opened(browser, path)
        try:
            opened.page.locator(".findings a[href*='of=']").first.click()
            opened.until("location.hash.startsWith('#examples?')")
            opened.follows()
            text = opened.page.inner_text("#summary")
            assert message in text and re.search(r"^\d+ of \d+ ", text)
        finally:
            opened.context.close()
