"""A browser for tests of pages, and a page opened in it."""

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

THOROUGH = "SPANWISE_THOROUGH" in os.environ  # have axe check the contrast of all text on every page
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
    """Wait up to a minute until an expression is true in a page."""
    for _ in range(2400):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(25)
    raise AssertionError(f"still not true after a minute: {expression}")


# The contrast of text against the backgrounds of its enclosing elements, as WCAG 2 defines it.
FAINT = """() => {
  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 })
    .getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const colour = (text) => {
    if (!known.has(text)) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = text;
      pen.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
      known.set(text, [r, g, b, a / 255]);
    }
    return known.get(text);
  };
  const over = ([r, g, b, a], opacity, below) => [r, g, b].map(
    (value, at) => value * a * opacity + below[at] * (1 - a * opacity));
  const light = (rgb) => rgb.map((value) => value / 255)
    .map((share) => share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4)
    .reduce((sum, share, at) => sum + share * [0.2126, 0.7152, 0.0722][at], 0);
  const grounds = new Map();  // the colour behind an element's text, and its opacity
  const ground = (one) => {
    if (!one) return [[255, 255, 255], 1];
    if (!grounds.has(one)) {
      const [below, around] = ground(one.parentElement), style = getComputedStyle(one);
      const opacity = around * Number(style.opacity);
      grounds.set(one, [over(colour(style.backgroundColor), opacity, below), opacity]);
    }
    return grounds.get(one);
  };
  const found = [];
  for (const one of document.body.querySelectorAll(":not(svg, svg *, option, script, style, :disabled)")) {
    const own = [...one.childNodes].some((part) => part.nodeType === Node.TEXT_NODE && part.data.trim());
    if (!own && !one.matches("input, select, textarea")) continue;
    if (!one.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const style = getComputedStyle(one), [below, opacity] = ground(one);
    const written = light(over(colour(style.color), opacity, below)), behind = light(below);
    const size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700;
    const ratio = (Math.max(written, behind) + 0.05) / (Math.min(written, behind) + 0.05);
    if (ratio < (size >= 24 || (bold && size >= 18.66) ? 3 : 4.5))
      found.push([one.outerHTML.slice(0, 120), Math.round(ratio * 100) / 100]);
  }
  return found;
}"""


def faint_texts(page: Page) -> list[tuple[str, float]]:
    """Texts whose contrast with their background is below 4.5, or below 3 for large text.

    Axe takes seconds to work out what lies behind each text; looking only at the enclosing elements is fast.
    Text in charts, and elements that overlap without enclosing each other, are left to axe.
    """
    return [(text, ratio) for text, ratio in page.evaluate(FAINT)]


def axe_violations(
    page: Page, impacts: tuple[str, ...] = (), *, contrast: bool = True, only: tuple[str, ...] = ()
) -> list[tuple[str, list[str]]]:
    """The violations that axe reports, as (rule, examples).

    Only violations are collected: listing what passes takes most of axe's time on a large page. `only`
    names the rules to check; by default, all. Without `contrast`, `faint_texts` checks contrast instead.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    options: dict[str, object] = {"resultTypes": ["violations"]}
    contrast = contrast or THOROUGH
    options |= {"runOnly": list(only)} if only else {"rules": {"color-contrast": {"enabled": contrast}}}
    faint = [] if contrast or only else [("faint texts", [text for text, _ in faint_texts(page)[:3]])]
    return [row for row in faint if row[1]] + [
        (violation["id"], [node["html"][:120] for node in violation["nodes"]][:3])
        for violation in axe.Axe().run(page, options=options).response["violations"]
        if not impacts or violation["impact"] in impacts
    ]


def box_of(part: Locator) -> FloatRect:
    """The bounding box of a visible part of the page."""
    box = part.bounding_box()
    assert box is not None
    return box


class Opened:
    """An open page, with its requests (`asked`) and its console messages and errors (`said`).

    Its folded parts are open, unless it is opened `folded`.
    """

    def __init__(
        self, browser: Browser, path: Path, *, width: int = 1440, scheme: Scheme = "light", at: str = "",
        folded: bool = False,
    ) -> None:  # fmt: skip
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True
        )
        self.context.set_default_timeout(60_000)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        # Browsers may deny clipboard access to file:// pages, so record what is copied.
        self.page.add_init_script(
            "Object.defineProperty(navigator, 'clipboard', { value: "
            "{ writeText: async (text) => { window.copied = text; } } })"
        )
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(f"file://{path}{at}")
        self.page.wait_for_selector("html[data-ready][data-filled]", state="attached")
        if not folded:
            self.page.evaluate("document.querySelectorAll('.part').forEach((part) => { part.open = true; })")

    def until(self, expression: str) -> None:
        """Wait until an expression is true.

        Unlike `wait_for_function`, which evaluates text from its second try on, this works under the page's
        content security policy.
        """
        until(self.page, expression)

    def follows(self) -> None:
        """Wait until the examples shown match the address."""
        self.until("document.getElementById('summary').dataset.shows === location.hash")

    def see(self, selector: str) -> LocatorAssertions:
        """Playwright's assertions about a part of the page, which wait until they hold."""
        from playwright.sync_api import expect

        return expect(self.page.locator(selector))

    def address(self) -> str:
        """The page's current address."""
        href: str = self.page.evaluate("location.href")
        return href

    def count(self) -> int:
        return int(self.page.get_attribute("#summary", "data-count") or "")

    def drawn(self) -> int:
        """The number of mentions marked in the list once all of it is drawn."""
        while self.page.is_visible("#more"):
            self.page.click("#more")
        total: int = self.page.evaluate(
            "[...document.querySelectorAll('.example')]"
            ".reduce((sum, card) => sum + Number(card.dataset.hits), 0)"
        )
        return total

    def overflow(self) -> int:
        """The number of pixels by which the page is wider than the window."""
        wide: int = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return wide

    def turn(self, scheme: Scheme) -> None:
        """Switch the page to a theme, which changes only its colours."""
        self.page.emulate_media(color_scheme=scheme)

    def violations(self, *, contrast: bool = True, only: tuple[str, ...] = ()) -> list[tuple[str, list[str]]]:
        """The serious violations that axe reports, after opening every folded section."""
        self.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        # The page's content security policy would block axe.
        self.context.new_cdp_session(self.page).send("Page.setBypassCSP", {"enabled": True})
        return axe_violations(self.page, ("serious", "critical"), contrast=contrast, only=only)
