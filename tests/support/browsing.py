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

THOROUGH = "SPANWISE_THOROUGH" in os.environ  # axe itself judges the contrast of every text of every page
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


# The contrast of a colour to the backgrounds of the elements that it lies in, by the definition of WCAG 2.
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
  const grounds = new Map();  // what lies below the text of an element, and how opaque it is
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
    """Texts whose contrast to their background is below 4.5, or below 3 where they are large.

    Axe takes seconds to find what lies behind each text; the backgrounds of the elements around it take none.
    Texts of charts and what overlaps by its place alone are left to axe.
    """
    return [(text, ratio) for text, ratio in page.evaluate(FAINT)]


def axe_violations(
    page: Page, impacts: tuple[str, ...] = (), *, contrast: bool = True, only: tuple[str, ...] = ()
) -> list[tuple[str, list[str]]]:
    """What axe objects to; it lists nothing else, which takes most of its time on a large page.

    `only` names the rules that are asked, all where it names none. Without `contrast` only faint texts
    in the backgrounds of their elements are found.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    options: dict[str, object] = {"resultTypes": ["violations"]}
    contrast = contrast or THOROUGH
    options |= {"runOnly": list(only)} if only else {"rules": {"color-contrast": {"enabled": contrast}}}
    faint = [] if contrast or only else [("faint texts", [text for text, _ in faint_texts(page)[:3]])]
    return [one for one in faint if one[1]] + [
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
