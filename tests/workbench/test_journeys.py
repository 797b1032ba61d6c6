"""User journeys in a browser from end to end, without policy violations or accessibility problems."""

from __future__ import annotations

import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benches import TOKEN, bench_of, copied
from browsing import THOROUGH, axe_violations, faint_texts

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
uvicorn = pytest.importorskip("uvicorn")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def running(workspace: Path, port: int) -> Iterator[None]:
    """Run a server for a folder until the end of the block."""
    from spanwise.workbench import application
    from spanwise.workbench.guard import Door

    app = application(workspace, Door.at(port, TOKEN))
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield
    bench_of(app).events.closed = True
    server.should_exit = True
    thread.join(timeout=60)


@pytest.fixture(scope="module")
def served(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a running server for a copy of the folder, and the copy."""
    workspace, port = copied(folder, tmp_path_factory.mktemp("served") / "runs"), free_port()
    with running(workspace, port):
        yield f"http://127.0.0.1:{port}", workspace


@pytest.fixture
def page(browser: Browser, served: tuple[str, Path]) -> Iterator[Page]:
    """A page with the token; errors on the console fail the test."""
    with page_of(browser, served[0]) as opened:
        yield opened


@contextmanager
def page_of(browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_cookies([{"name": f"spanwise-{address.rpartition(':')[2]}", "value": TOKEN, "url": address}])
    context.set_default_timeout(60_000)
    opened = context.new_page()
    errors: list[str] = []
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    assert [text for text in errors if "ERR_" not in text] == []
    context.close()


def follow(page: Page, link: str) -> None:
    """Follow a link, and wait until the script of the new page is ready."""
    with page.expect_navigation():
        page.get_by_role("navigation").get_by_role("link", name=link).click()


def test_a_result_added_to_the_folder_appears(page: Page, served: tuple[str, Path]) -> None:
    address, workspace = served
    page.goto(address)
    text = (workspace / "all.json").read_text(encoding="utf-8").replace('"swapper"', '"newcomer"')
    (workspace / ".half").write_text(text, encoding="utf-8")
    (workspace / ".half").rename(workspace / "late.json")
    page.get_by_role("button", name="new result").click()
    page.get_by_role("row", name="newcomer").first.wait_for()


def test_a_page_says_that_the_server_stopped_stays_readable_and_resumes(
    browser: Browser, folder: Path, tmp_path: Path
) -> None:
    workspace, port = copied(folder, tmp_path / "runs"), free_port()
    address = f"http://127.0.0.1:{port}"
    with page_of(browser, address) as page:
        with running(workspace, port):
            page.goto(address)
            live = page.locator("[data-live-text]")
            page.locator("tbody tr").first.wait_for()
            assert live.text_content() != "stopped"
            shown = page.locator("main").inner_text()
        page.locator(".stopped [data-live-text]", has_text="stopped").wait_for()
        assert page.locator("main").inner_text() == shown and "memoriser" in shown
        with running(workspace, port):
            page.locator(":not(.stopped) > [data-live-text]").wait_for()
            assert live.text_content() != "stopped"
            shutil.copy(workspace / "all.json", workspace / "another.json")
            page.get_by_role("button", name="new result").wait_for()  # events continue


def test_two_systems_are_chosen_and_compared(page: Page, served: tuple[str, Path]) -> None:
    page.goto(served[0])
    for name in ("choose swapper", "choose memoriser"):
        page.get_by_label(name).check()
    page.locator(".columns summary").click()
    page.get_by_role("checkbox", name="macro F1").click()
    page.get_by_role("columnheader", name="macro F1").wait_for()
    assert "columns=precision,recall,macro," in page.url
    playwright.expect(page.locator("[name=columns]:focus")).to_have_value("macro")  # still open
    page.get_by_role("button", name="Compare the two chosen").click()
    page.get_by_role("heading", name="Who gets what right").wait_for()
    page.get_by_role("link", name="swap", exact=False).first.click()
    page.get_by_role("heading", name="Where the difference comes from").wait_for()


def test_the_keyboard_compares_two_systems_and_shortcuts_can_be_disabled(
    page: Page, served: tuple[str, Path]
) -> None:
    def tab_to(selector: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate(f"document.activeElement.matches({selector!r})"):
                return
        raise AssertionError(f"sixty stops do not reach {selector}")

    page.goto(served[0])
    page.keyboard.press("/")
    playwright.expect(page.locator("input[name=q]")).to_be_focused()
    for name in ("swapper", "memoriser"):
        page.locator("main").focus()
        tab_to(f"[data-system={name}]")
        page.keyboard.press("Space")
    playwright.expect(page.locator("[data-chosen]")).to_contain_text(" and ")
    tab_to(".act button")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.get_by_role("heading", name="What the difference is made of").wait_for()
    page.goto(f"{served[0]}/settings")
    page.get_by_label("shortcuts j, k").uncheck()
    page.go_back()
    page.locator("main").focus()
    page.keyboard.press("j")
    playwright.expect(page.locator("main")).to_be_focused()


def test_a_slice_is_built_saved_and_back_restores_the_view(page: Page, served: tuple[str, Path]) -> None:
    page.goto(served[0])
    follow(page, "Slices")
    page.get_by_role("checkbox", name="ORG").check()
    page.wait_for_url("**label=ORG**")
    page.get_by_role("heading", name="label is ORG").wait_for()
    page.get_by_role("checkbox", name="unseen with this label").check()
    page.wait_for_url("**toughness=UNSEEN-ANY**")
    page.get_by_role("heading", name="unseen with this label").first.wait_for()
    page.go_back()
    page.get_by_role("heading", name="label is ORG", exact=True).wait_for()
    playwright.expect(page.get_by_role("checkbox", name="unseen with this label")).not_to_be_checked()
    page.get_by_text("held against p ≤").wait_for()  # the test is loaded after the scores
    page.reload()
    page.get_by_role("heading", name="label is ORG", exact=True).wait_for()
    playwright.expect(page.get_by_role("checkbox", name="ORG")).to_be_checked()
    page.get_by_label("name", exact=True).fill("our orgs")
    page.get_by_label("require at least").fill("75")
    page.get_by_role("button", name="Save slice").click()
    page.wait_for_url("**/slices/our-orgs", wait_until="commit")
    assert "our orgs" in (served[1] / "slices.toml").read_text(encoding="utf-8")


def test_a_theme_is_kept_and_export_follows_the_view(page: Page, served: tuple[str, Path]) -> None:
    page.goto(served[0])
    follow(page, "Slices")
    page.get_by_role("button", name="Theme: auto").click()
    playwright.expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("checkbox", name="ORG").check()
    page.get_by_role("heading", name="label is ORG").wait_for()
    export = page.get_by_role("link", name="Export as JSON")
    playwright.expect(export).to_have_attribute("href", re.compile(r"/slices\.json\?label=ORG$"))
    page.reload()
    page.get_by_role("button", name="Theme: dark").click()
    playwright.expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="Theme: light").click()
    playwright.expect(page.locator("html")).not_to_have_attribute("data-theme", re.compile("."))


def test_a_mention_is_flagged_by_the_keyboard_and_exported(page: Page, served: tuple[str, Path]) -> None:
    page.goto(served[0])
    follow(page, "Sentences")
    page.get_by_role("heading", name="Sentences").wait_for()
    page.wait_for_load_state()  # before it, the last sentence so far is not the last one
    page.locator("main").focus()
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Keys").wait_for(state="hidden")
    page.locator("main").focus()
    page.keyboard.press("j")
    playwright.expect(page.locator("[data-sentence]").first).to_be_focused()
    page.keyboard.press("g")
    page.locator("[data-sentence]:focus .said", has_text="gold is wrong").wait_for()
    page.keyboard.press("n")
    playwright.expect(page.locator("input[name=text]:focus")).to_have_count(1)
    page.keyboard.type("ends too early")
    page.keyboard.press("Enter")
    page.get_by_text("ends too early").first.wait_for()
    follow(page, "Worksheet")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert "ends too early" in Path(download.value.path()).read_text(encoding="utf-8")


def test_editing_a_note_in_two_tabs_loses_nothing(page: Page, served: tuple[str, Path]) -> None:
    def change(tab: Page, text: str) -> None:
        tab.locator(".said input[name=text]:visible").fill(text)
        tab.locator(".said button:visible").click()

    page.goto(served[0])
    follow(page, "Sentences")
    page.get_by_role("heading", name="Sentences").wait_for()
    page.wait_for_load_state()  # before it, the last sentence so far is not the last one
    noting = page.locator("[data-sentence] > .noting").last
    noting.locator("summary").click()
    noting.locator("input[name=text]").fill("first words")
    noting.get_by_role("button", name="Save note").click()
    page.get_by_text("first words").first.wait_for()
    other = page.context.new_page()
    other.goto(page.url)
    for tab in (page, other):
        tab.locator(".said", has_text="first words").locator("summary").click()
    change(page, "of the first tab")
    page.get_by_text("of the first tab").first.wait_for()
    change(other, "of the second tab")
    alert = other.get_by_role("alert").filter(has_text="of the first tab")
    alert.wait_for()
    playwright.expect(other.locator(".said input[name=text]:visible")).to_have_value("of the second tab")
    other.reload()
    playwright.expect(other.locator(".said", has_text="of the first tab")).to_have_count(1)
    other.locator(".said", has_text="of the first tab").locator("summary").click()
    change(other, "both have a point")
    other.get_by_text("both have a point").first.wait_for()


def test_a_bad_file_is_answered_with_a_solution_that_works(
    page: Page, served: tuple[str, Path], tmp_path: Path
) -> None:
    address, workspace = served
    lines = (workspace / "swapper.conll").read_text(encoding="utf-8").split("\n")
    words = [n for n, line in enumerate(lines) if line.strip() and "DOCSTART" not in line]
    at = next(n for n in words if len(lines[n].split()[0]) > 4 and lines[n].endswith("O"))
    word, tag = lines[at].split()
    lines[at : at + 1] = [f"{word[:2]} {tag}", f"{word[2:]} {tag}"]
    (tmp_path / "cut.conll").write_text("\n".join(lines), encoding="utf-8")
    page.goto(address)
    follow(page, "Evaluate")
    page.locator("[data-files]").set_input_files(tmp_path / "cut.conll")
    page.get_by_role("button", name="Align by characters").wait_for()
    assert page.locator(".tokens .off").all_text_contents() == [word, "–", word[:2], word[2:]]
    assert page.get_by_role("button", name="Align by position").count() == 0  # it cannot help here
    page.get_by_role("button", name="Align by characters").click()
    page.get_by_text("as cut · done").wait_for()


# Checking the contrast of every word is slow, so keep only the last sentences and the first five of similar
# rows.
FEWER = """for (const one of document.querySelectorAll("tbody tr:nth-child(n+6), .facet:nth-of-type(n+6)"))
one.remove();"""
WIDE = """[...document.querySelectorAll(".sentence .scroll")].filter(
(one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)"""
PLACES = (
    "", "/history", "/compare", "/slices?label=ORG&after=112", "/weak",
    "/sentences?after=115", "/sentences/3", "/worksheet", "/gate", "/evaluate", "/nothing",
)  # fmt: skip


@pytest.mark.parametrize("width", [1440, 390])
def test_pages_are_accessible_in_every_theme_and_do_not_scroll_sideways(
    browser: Browser, served: tuple[str, Path], width: int
) -> None:
    address = served[0]
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="light")
    context.add_cookies([{"name": f"spanwise-{address.rpartition(':')[2]}", "value": TOKEN, "url": address}])
    page = context.new_page()
    by_axe = THOROUGH or width == 1440
    page.goto(address)
    base = page.url
    for path in (*(base + view for view in PLACES), f"{address}/?all", f"{address}/settings"):
        while (answer := page.goto(path)) is not None and answer.status == 503:
            pass  # retry here; the page would reload itself while axe reads it
        page.get_by_role("heading", level=1).wait_for()
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path
        assert page.evaluate(WIDE) == [], path
        page.evaluate(FEWER)
        assert axe_violations(page, contrast=by_axe) == [], path
        page.emulate_media(color_scheme="dark")
        assert faint_texts(page) == [], path
        assert not by_axe or axe_violations(page, only=("color-contrast",)) == [], path
        page.emulate_media(color_scheme="light")
    context.close()
