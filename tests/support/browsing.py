"""A browser for tests of pages, and a page that is opened in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FloatRect, Locator, Page
    from playwright.sync_api._generated import LocatorAssertions

Scheme: TypeAlias = Literal["light", "dark"]
CHROMIUM = os.environ.get("SPANWISE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("no chromium found; install Debian's, or set SPANWISE_CHROMIUM to one")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    playwright.expect.set_options(timeout=60_000)
    with playwright.sync_playwright() as tool:
        try:
            opened = tool.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        except playwright.Error as error:
            pytest.skip(f"{CHROMIUM} does not start: {str(error).splitlines()[0]}")
        yield opened
        opened.close()


def until(page: Page, expression: str) -> None:
    """Wait until an expression holds in a page, however slow the machine."""
    for _ in range(2400):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(25)
    raise AssertionError(f"after a minute this does not hold: {expression}")


def axe_violations(
    page: Page, impacts: tuple[str, ...] = (), *, contrast: bool = True, only: tuple[str, ...] = ()
) -> list[tuple[str, list[str]]]:
    """What axe objects to; it lists nothing else, which takes most of its time on a large page.

    `only` names the rules that are asked, all where it names none.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    options: dict[str, object] = {"resultTypes": ["violations"]}
    options |= {"runOnly": list(only)} if only else {"rules": {"color-contrast": {"enabled": contrast}}}
    return [
        (one["id"], [node["html"][:120] for node in one["nodes"]][:3])
        for one in axe.Axe().run(page, options=options).response["violations"]
        if not impacts or one["impact"] in impacts
    ]


def box_of(part: Locator) -> FloatRect:
    """Where a part of the page is drawn."""
    box = part.bounding_box()
    assert box is not None
    return box


class Opened:
    """A page with everything it asked for or complained of."""

    def __init__(
        self, browser: Browser, path: Path, *, width: int = 1440, scheme: Scheme = "light", at: str = ""
    ) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True
        )
        self.context.set_default_timeout(60_000)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        # What is copied can be read back, whatever the browser allows a file to do.
        self.page.add_init_script(
            "Object.defineProperty(navigator, 'clipboard', { value: "
            "{ writeText: async (text) => { window.copied = text; } } })"
        )
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(f"file://{path}{at}")
        self.page.wait_for_selector("html[data-ready][data-filled]", state="attached")

    def until(self, expression: str) -> None:
        """Wait until an expression holds.

        The page's policy forbids to evaluate text, which `wait_for_function` does from its second try on.
        """
        until(self.page, expression)

    def follows(self) -> None:
        """Wait until the examples are those that the address asks for."""
        self.until("document.getElementById('summary').dataset.shows === location.hash")

    def see(self, selector: str) -> LocatorAssertions:
        """Playwright's assertions on a part of the page, which wait until they hold."""
        from playwright.sync_api import expect

        return expect(self.page.locator(selector))

    def address(self) -> str:
        """The address as the page itself has it."""
        found: str = self.page.evaluate("location.href")
        return found

    def count(self) -> int:
        return int(self.page.get_attribute("#summary", "data-count") or "")

    def drawn(self) -> int:
        """How many mentions are marked in the list once all of it is drawn."""
        while self.page.is_visible("#more"):
            self.page.click("#more")
        total: int = self.page.evaluate(
            "[...document.querySelectorAll('.example')]"
            ".reduce((sum, card) => sum + Number(card.dataset.hits), 0)"
        )
        return total

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        wide: int = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return wide

    def turn(self, scheme: Scheme) -> None:
        """Show the same page in the other theme: all that a theme changes are colours."""
        self.page.emulate_media(color_scheme=scheme)

    def violations(self, *, contrast: bool = True, only: tuple[str, ...] = ()) -> list[tuple[str, list[str]]]:
        """What axe finds serious; everything that is folded is opened first."""
        self.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        # Axe is put in from outside, which the page's own policy would not let it do itself.
        self.context.new_cdp_session(self.page).send("Page.setBypassCSP", {"enabled": True})
        return axe_violations(self.page, ("serious", "critical"), contrast=contrast, only=only)
