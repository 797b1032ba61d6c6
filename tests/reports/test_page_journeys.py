"""User journeys on pages of every size: 1 to 40 systems, 2 to 40 labels, a study and a description."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from browsing import Opened, Scheme, box_of
from msgspec.structs import replace
from parts import small_parts
from study_documents import study
from typed import present

import spanwise
from spanwise.document import Document
from spanwise.document.evaluation import MentionCodes
from spanwise.document.loading import document_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("altair", reason="the page needs the extra 'report'")

Tags = list[list[str]]


def gold_tags(labels: int, sentences: int, seed: int = 0) -> Tags:
    """Sentences with mentions of one to four tokens; earlier labels are more frequent."""
    random = Random(seed)
    tags = []
    for _ in range(sentences):
        row: list[str] = []
        for _ in range(random.randint(1, 3)):
            label = f"LABEL_{min(int(random.expovariate(4 / labels)), labels - 1):02d}"
            row += ["O", f"B-{label}", *[f"I-{label}"] * random.choice([0, 0, 1, 2, 3])]
        tags.append([*row, "O"])
    return tags


def noisy(tags: Tags, labels: int, seed: int) -> Tags:
    """The tags with some mentions missed, some relabelled and some too short."""
    random = Random(seed)
    result = []
    for row in tags:
        out = list(row)
        for at, tag in enumerate(row):
            draw = random.random()
            if not tag.startswith("B-") or draw > 0.25 + 0.004 * seed:
                continue
            end = next(index for index in range(at + 1, len(row)) if not row[index].startswith("I-"))
            if draw < 0.1:
                other = f"LABEL_{random.randrange(labels):02d}"
                out[at:end] = [f"B-{other}", *[f"I-{other}"] * (end - at - 1)]
            elif draw < 0.18 and end - at > 1:
                out[end - 1] = "O"
            else:
                out[at:end] = ["O"] * (end - at)
        result.append(out)
    return result


def evaluated(systems: int, labels: int) -> spanwise.Result:
    gold = gold_tags(labels, 120)
    named = {f"experiment-with-a-long-name-{at:02d}-base": noisy(gold, labels, at) for at in range(systems)}
    return spanwise.evaluate(gold, named, resamples=60)


SCHEMES: tuple[Scheme, ...] = ("light", "dark")
SIZES = [(1, 6), (2, 2), (2, 6), (2, 40), (3, 6), (12, 6), (40, 6)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journeys")


def page_of(folder: Path, systems: int, labels: int) -> Path:
    path = folder / f"{systems}-{labels}.html"
    if not path.exists():
        evaluated(systems, labels).to_html(path)
    return path


@pytest.fixture(scope="module")
def study_page(folder: Path) -> Path:
    """Three datasets, four systems, five runs; each dataset with its own sentences."""
    path = folder / "study.html"
    models, names = ("crf", "bert", "flair", "llm"), ("news", "tweets", "law")
    document_of(study(models, names, ("1", "2", "3", "4", "5"))).to_html(path)
    return path


@pytest.fixture
def two(browser: Browser, folder: Path) -> Iterator[Opened]:
    opened = Opened(browser, page_of(folder, 2, 6))
    yield opened
    assert opened.said == []
    opened.context.close()


@pytest.mark.parametrize(("systems", "labels"), SIZES)
def test_a_page_of_any_size_fits_every_width_and_is_accessible(
    browser: Browser, folder: Path, systems: int, labels: int
) -> None:
    path = page_of(folder, systems, labels)
    sizes: list[tuple[int, Scheme]] = [(1440, "light"), (900, "dark"), (390, "light")]
    for width, scheme in sizes:
        opened = Opened(browser, path, width=width, scheme=scheme)
        assert opened.overflow() <= 0, width
        if width == 390:
            opened.turn("dark")
            assert opened.overflow() <= 0, width
        if width != 900:
            # Forty systems use the colours of twelve, and axe needs a minute to check contrast there.
            assert opened.violations(contrast=systems == 12 and width == 1440) == []
        assert opened.said == [] and len(opened.asked) == 1
        opened.context.close()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (900, "dark"), (390, "dark")])
def test_a_study_fits_every_width_and_is_accessible(
    browser: Browser, study_page: Path, width: int, scheme: Scheme
) -> None:
    opened = Opened(browser, study_page, width=width, scheme=scheme)
    # Checking contrast with axe is slow; another test checks a study in both themes.
    assert opened.overflow() <= 0 and opened.violations(contrast=False) == [] and opened.said == []
    opened.context.close()


def test_a_description_fits_every_width_and_is_accessible(browser: Browser, folder: Path) -> None:
    path = folder / "described.html"
    spanwise.describe(gold_tags(40, 80)).to_html(path)
    sizes: list[tuple[int, Scheme]] = [(1440, "dark"), (900, "light"), (390, "dark")]
    for width, scheme in sizes:
        opened = Opened(browser, path, width=width, scheme=scheme)
        assert (
            opened.overflow() <= 0 and opened.violations(contrast=width == 1440) == [] and opened.said == []
        )
        opened.context.close()


def test_a_confusion_matrix_shows_all_of_six_labels_and_others_of_forty(
    browser: Browser, folder: Path
) -> None:
    for labels, shown in ((6, 6), (40, 16)):
        opened = Opened(browser, page_of(folder, 2, labels))
        heads = opened.page.locator("#confusions table.matrix:visible thead th[scope=col]").all_inner_texts()
        assert len(heads) == shown + 1  # plus a column for missed mentions
        assert ("others" in heads) == (labels > shown)
        opened.context.close()


def test_a_clicked_element_stays_visible_next_to_its_sentences(two: Opened) -> None:
    page = two.page
    cell = page.locator("#confusions table.matrix:visible td a").first
    cell.scroll_into_view_if_needed()
    cell.click()
    page.wait_for_selector("html[data-beside]", state="attached")
    assert cell.is_visible() and page.locator("#list .example").first.is_visible()
    boxes = [box_of(page.locator(name)) for name in ("#confusions", "#examples")]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"] and boxes[1]["y"] < 100
    page.keyboard.press("Escape")
    page.wait_for_selector("html[data-beside]", state="detached")


def test_a_key_acts_on_the_result_of_the_key_before_it(two: Opened) -> None:
    """Keys pressed within one turn of the event loop, before the browser reports the changed address."""
    page = two.page
    page.locator(".matrix.two a").nth(1).focus()
    states = page.evaluate(
        """() => {
          const press = (key) => document.activeElement.dispatchEvent(
            new KeyboardEvent("keydown", { key, bubbles: true }));
          const shown = () => [
            [...document.querySelectorAll(".example")].indexOf(document.activeElement),
            document.querySelector("#chips").children.length,
          ];
          document.activeElement.click();
          press("j");
          const inside = shown();
          press("Escape");
          press("j");
          return [inside, shown(), location.hash.split("?")[0]];
        }"""
    )
    assert states == [[0, 3], [0, 1], "#examples"]


def test_the_keyboard_leads_from_a_cell_to_its_sentences_and_back(two: Opened) -> None:
    page = two.page
    page.keyboard.press("Tab")
    two.see(":focus").to_have_text("Skip to content")
    page.locator(".matrix.two a").nth(1).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-beside]", state="attached")
    page.keyboard.press("j")
    page.keyboard.press("j")
    two.until("[...document.querySelectorAll('.example')].indexOf(document.activeElement) === 1")
    page.keyboard.press("Escape")
    two.see("#chips button").to_have_count(1)


def test_the_keyboard_can_choose_another_pair_and_its_sentences(browser: Browser, folder: Path) -> None:
    opened = Opened(browser, page_of(folder, 3, 6), width=900)
    page, before = opened.page, opened.page.inner_text("#pair")
    page.locator("#choose-b").focus()
    page.keyboard.press("ArrowDown")
    opened.see("#pair").not_to_have_text(before)
    page.locator("#significance td a").first.focus()
    page.keyboard.press("Enter")
    opened.see("#pair").to_have_text(before, use_inner_text=True)
    names = page.locator("#choose-a option").all_inner_texts()
    assert all(
        f"0{at}-base" in "".join(names) for at in range(3)
    )  # the distinguishing part of long names is visible
    assert opened.said == []
    opened.context.close()


def test_the_page_can_switch_to_the_other_system(two: Opened) -> None:
    page = two.page
    before, parts = page.inner_text("#pair"), str(page.locator("#pair-lead svg text").last.text_content())
    page.locator("[data-system='1']").click()
    two.see("#pair").not_to_have_text(before)
    after = str(page.locator("#pair-lead svg text").last.text_content())
    assert {parts[0], after[0]} == {"+", "−"} and parts[1:] == after[1:]
    assert "a=" in two.address() and "b=" in two.address()


def test_parts_of_a_lead_add_up_to_it(two: Opened) -> None:
    page = two.page
    for at in range(page.locator("#pair-lead select option").count()):
        page.locator("#pair-lead select").select_option(index=at)
        rows = page.evaluate("document.querySelector('#pair-lead .chart').rows")
        *parts, total = rows[1:]
        assert sum(row[1] for row in parts) == pytest.approx(total[1])
        assert all(row[2] <= row[1] <= row[3] for row in parts if row[0] and "others" not in row[0])


def test_a_named_filter_is_kept_in_the_link(two: Opened) -> None:
    page = two.page
    page.evaluate("location.hash = '#examples?unit=gold,gold=LABEL_01'")
    two.follows()
    number = two.count()
    page.fill("#filter-name", "second label, all")
    page.keyboard.press("Enter")
    two.see("#named a").to_have_text(["second label, all"])
    page.click("#clear")
    page.wait_for_selector("#chips >> text=gold LABEL_01", state="detached")
    address = two.address()
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("html[data-ready][data-filled]", state="attached")
    page.click("#named >> text=second label, all")
    page.wait_for_selector("#chips >> text=gold LABEL_01")
    two.follows()
    assert two.count() == number


def test_tables_are_sorted_and_charts_copied(two: Opened) -> None:
    page = two.page
    table = page.locator("#labels table:visible").first
    table.locator("button.sort", has_text="F1").first.click()
    column = [float(text.strip("†")) for text in table.locator("tbody td:nth-child(7)").all_inner_texts()]
    assert column == sorted(column, reverse=True) and len(column) == 6
    card = page.locator("#errors")
    card.hover()
    card.locator(".take summary").click()
    for button, begins in (("SVG", "<svg"), ("Table", "mark\t"), ("LaTeX", "% needs")):
        card.locator(".take button", has_text=button).click()
        two.until(f"window.copied?.startsWith({json.dumps(begins)})")
        copied = page.evaluate("window.copied")
        assert "var(--" not in copied
    assert "\\toprule" in copied and "Wrong label" in copied


@pytest.mark.parametrize("width", [1440, 900, 390])
def test_a_page_opens_with_its_cards_and_the_rest_is_one_click_away(
    browser: Browser, folder: Path, study_page: Path, width: int
) -> None:
    for path in (page_of(folder, 1, 6), page_of(folder, 2, 6), page_of(folder, 3, 6), study_page):
        opened = Opened(browser, path, width=width, folded=True)
        page = opened.page
        for card in ("verdict", "tasks", *(["telling"] if path != study_page else [])):
            opened.see(f"#{card}").to_be_visible()
        assert page.locator("details.part[open]").count() == 0
        assert page.locator("details.part").count() >= 4
        for scheme in SCHEMES:
            opened.turn(scheme)
            assert opened.overflow() <= 0
        summary = page.locator("details.part > summary").first
        summary.focus()
        page.keyboard.press("Enter")
        assert page.locator("details.part[open]").count() == 1
        page.click("#unfold")
        assert page.locator("details.part:not([open])").count() == 0
        opened.see("#unfold").to_have_text("Close all")
        assert opened.said == []
        opened.context.close()


def test_addresses_links_and_keys_open_the_part_that_they_lead_to(browser: Browser, folder: Path) -> None:
    opened = Opened(browser, page_of(folder, 2, 6), at="#confusions", folded=True)
    page = opened.page
    assert page.locator("details.part[open]").count() == 1
    opened.see("#errors").to_be_visible()
    page.click("nav >> text=Labels")
    opened.see("#labels table:visible").to_have_count(1)
    page.locator(".part[open] > summary").last.click()
    page.click("nav >> text=Labels")  # the address stays the same
    opened.see("#labels table:visible").to_have_count(1)
    page.keyboard.press("/")
    opened.see("#q").to_be_focused()
    page.locator("#tasks a").first.click()
    opened.follows()
    opened.see(".example").not_to_have_count(0)
    assert opened.said == []
    opened.context.close()


def test_without_scripts_every_part_can_be_opened(browser: Browser, folder: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"file://{page_of(folder, 2, 6)}#confusions")
    assert page.locator("#confusions table").first.is_visible()
    page.locator("summary", has_text="Method").click()
    assert page.locator("text=Precision = correct / predicted").is_visible()
    context.close()


def test_printing_opens_every_fold(two: Opened) -> None:
    two.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert two.page.locator("details:not([open]):not(.take)").count() == 0
    two.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert two.page.locator("details:not([open]):not(.take)").count() > 0


def test_the_signature_is_short_until_it_is_expanded(two: Opened) -> None:
    page = two.page
    assert "seed:0" not in page.inner_text("footer") and "attributes:" not in page.inner_text("footer")
    page.click("#long")
    two.see("#signature").to_be_visible()
    assert "seed:0" in page.inner_text("footer") and "attributes:entity_length" in page.inner_text("footer")


def test_another_dataset_of_a_study_is_shown_and_kept_in_the_link(browser: Browser, study_page: Path) -> None:
    opened = Opened(browser, study_page)
    page = opened.page
    assert page.inner_text("#dataset-view .about").startswith("news")
    page.select_option("#choose-data", label="law")
    opened.see("#dataset-view .about").to_have_text(re.compile("^law"))
    assert "data=law" in opened.address()
    before = page.inner_text("#pair")
    page.click("#swap")
    opened.see("#pair").not_to_have_text(before)
    address, pair = opened.address(), page.inner_text("#pair")
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("html[data-ready][data-filled]", state="attached")
    opened.see("#pair").to_have_text(pair, use_inner_text=True)
    opened.see("#dataset-view .about").to_have_text(re.compile("^law"))
    assert opened.said == []
    opened.context.close()


# ---- the score of a filter equals that of evaluating its mentions --------------------------------


def kept(tags: Tags, label: str | None, lengths: range) -> Tags:
    """The tags of only the mentions with this label and these lengths."""
    result = []
    for row in tags:
        out = ["O"] * len(row)
        for at, tag in enumerate(row):
            if tag.startswith("B-"):
                end = at + 1
                while end < len(row) and row[end].startswith("I-"):
                    end += 1
                if label in (None, tag[2:]) and end - at in lengths:
                    out[at:end] = row[at:end]
        result.append(out)
    return result


def written(path: Path, tags: Tags) -> str:
    rows = ["".join(f"w{at % 7} {tag}\n" for at, tag in enumerate(row)) for row in tags]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


def filtered_page(folder: Path, source: str, gold: Tags, systems: dict[str, Tags]) -> Path:
    """The page of two systems, made from memory, a saved document, files in parts or a study."""
    path = folder / f"filtered-{source}.html"
    if source == "study":
        for name, tags in {"gold": gold, **systems}.items():
            written(folder / f"{name}.conll", tags)
        manifest = {
            "resamples": 60,
            "examples": "errors",
            "datasets": {"one": {"test": "gold.conll"}},
            "systems": {name: {"predictions": f"{name}.conll"} for name in systems},
        }
        spanwise.study(manifest, root=folder, workers=1, cache=False).to_html(path)
    elif source == "parts":
        files = {name: written(folder / f"{name}.conll", tags) for name, tags in systems.items()}
        truth = written(folder / "gold.conll", gold)
        spanwise.evaluate(truth, files, resamples=60, memory="1GB", examples="none").to_html(path)
    else:
        result: Document = spanwise.evaluate(gold, systems, resamples=60)
        if source == "saved":
            result.to_json(folder / "saved.json")
            result = spanwise.load(folder / "saved.json")
        result.to_html(path)
    return path


ALL = range(1, 99)
FILTERS: dict[str, tuple[str | None, range]] = {
    "gold=LABEL_00": ("LABEL_00", ALL),
    "gold=LABEL_01,attribute=entity_length,bucket=XS": ("LABEL_01", range(1, 2)),
    "attribute=entity_length,bucket=S": (None, range(2, 3)),
    "gold=LABEL_00,attribute=entity_length,bucket=S": ("LABEL_00", range(2, 3)),
    "where=label%3DLABEL_00%20%26%20entity_length%3E%3D3": ("LABEL_00", range(3, 99)),
}


@pytest.mark.parametrize("source", ["memory", "saved", "parts", "study"])
def test_the_score_and_interval_of_a_filter_equal_those_of_evaluating_its_mentions(
    browser: Browser, tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_parts(monkeypatch, tokens=60)
    gold = gold_tags(6, 120)
    systems = {f"system-{at}": noisy(gold, 6, at) for at in range(2)}
    opened = Opened(browser, filtered_page(tmp_path, source, gold, systems))
    for chosen, (label, lengths) in FILTERS.items():
        opened.page.evaluate(f"location.hash = '#examples?unit=gold,{chosen}'")
        opened.follows()
        expected = spanwise.evaluate(
            kept(gold, label, lengths),
            {name: kept(tags, label, lengths) for name, tags in systems.items()},
            resamples=60,
        )
        for name in systems:
            row = opened.page.locator(f"#filter-score tr[data-system='{name}']")
            overall = expected[name].exact.overall
            counts = [
                int(present(row.get_attribute(f"data-{key}"))) for key in ("gold", "predicted", "correct")
            ]
            assert counts == [overall.gold, overall.predicted, overall.correct], chosen
            for score in ("precision", "recall", "f1"):
                ends = [float(end) for end in present(row.get_attribute(f"data-{score}")).split()]
                assert ends == pytest.approx(overall.interval[score], abs=1e-9), chosen
    assert opened.said == []
    opened.context.close()


def test_a_page_whose_document_has_too_many_mentions_says_so(browser: Browser, folder: Path) -> None:
    result = evaluated(2, 2)
    assert isinstance(result.mentions, MentionCodes)
    path = folder / "capped.html"
    replace(result, mentions=MentionCodes(number=1_200_000, cap=1_000_000)).to_html(path)
    chosen = "gold=LABEL_00,attribute=entity_length,bucket=S"
    opened = Opened(browser, path, at=f"#examples?unit=gold,{chosen}")
    opened.see("#filter-score").to_contain_text("a document keeps at most 1,000,000 mentions")
    opened.context.close()


def test_named_filters_in_a_link_stay_text(browser: Browser, folder: Path) -> None:
    named = json.dumps([["<img src=x onerror=alert(1)>", "unit=error"]])
    opened = Opened(browser, page_of(folder, 2, 6), at=f"#examples?unit=error,named={quote(named, safe='')}")
    assert opened.page.locator("#named img").count() == 0
    assert "<img" in opened.page.inner_text("#named")
    assert opened.said == []
    opened.context.close()
