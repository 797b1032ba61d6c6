"""Cards of weak slices and suspects on the page, and examples filtered by conditions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import pytest
from browsing import Opened
from typed import present

import spanwise
from spanwise.demo import generate
from spanwise.document.evaluation import Evaluation
from spanwise.reports.errors import listing

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CONDITIONS = (
    "label=ORG",
    "label!=ORG & entity_length>=2",
    "!label=PER,LOC",
    "toughness=SEEN & label=PER",
    "entity_length=1, label=WORK",
    'label="ORG"',
)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    files = generate(tmp_path_factory.mktemp("demo"))
    systems = dict(list(files.systems.items())[:2])
    evaluation = spanwise.evaluate(files.gold, systems, train=files.train, resamples=100, examples="all")
    return evaluation.with_analyses(slices={"flips": 199})


def test_the_document_keeps_its_analyses(result: Evaluation, tmp_path: Path) -> None:
    result.to_json(tmp_path / "run.json")
    again = spanwise.load(tmp_path / "run.json")
    assert isinstance(again, Evaluation)
    assert again.weak == result.weak and again.suspects == result.suspects
    assert again.weak and again.weak.systems.keys() == result.systems.keys()


def test_cards_on_the_page_open_the_mentions_of_their_slices(
    result: Evaluation, tmp_path: Path, browser: Browser
) -> None:
    path = tmp_path / "page.html"
    result.to_html(path)
    opened = Opened(browser, path)
    assert opened.page.is_visible("#weak") and opened.page.is_visible("#suspects")
    assert result.weak
    slices = {row.where: row.units for system in result.weak.systems.values() for row in system.slices}
    link = opened.page.locator("#weak [data-view]:not([hidden]) a").first
    query = present(link.get_attribute("href")).split("?")[1]
    chosen = {name: value for name, _, value in (part.partition("=") for part in query.split(","))}
    link.click()
    where = unquote(chosen["where"])
    opened.follows()
    assert opened.page.input_value("#where") == where
    assert opened.count() == slices[where] == int(chosen["of"])
    for condition in CONDITIONS:
        for system in result.systems:
            listed = listing(result, system=system, where=condition)
            opened.page.evaluate(
                f"location.hash = '#examples?unit=error,system={quote(system)},where={quote(condition)}'"
            )
            opened.follows()
            assert opened.count() == len(listed), (condition, system)
    opened.page.evaluate("location.hash = '#examples?where=nothing%3D1'")
    opened.follows()
    assert "no attribute of this page" in opened.page.inner_text("#summary")
    assert opened.said == []
