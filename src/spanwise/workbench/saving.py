"""Static pages: save a folder of results so that it can be read without a server."""

from __future__ import annotations

import html
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from urllib.parse import urlencode

from msgspec import Struct
from starlette.requests import Request

from spanwise.errors import ChoiceError, InputError, unknown
from spanwise.views import VIEWS
from spanwise.workbench import pages
from spanwise.workbench.bench import Bench
from spanwise.workbench.store import Gold, Result

PAIRED = 6  # systems compared with each other
REPORTED = 24  # results of a gold set, and documents of other verbs, whose reports are saved

_ADDRESS = re.compile(r'\b(href|src)="(/[^"#]*)(#[^"]*)?"')


class Saved(Struct, frozen=True):
    """One page: its address on the server, its file in the bundle, and its text."""

    address: str
    file: str
    text: bytes


def bundle(folder: str | Path, to: str | Path, *, systems: Sequence[str] = ()) -> int:
    """Save the pages of a folder of results as static files, and return the number of pages.

    The pages are leaderboards, histories, comparisons of the best systems, saved slices, gates and reports,
    rendered by the same functions as on the server. `systems` limits them to some of the systems.

    Raises:
        InputError: the folder contains no results, or `to` already exists.
        ChoiceError: a system is unknown.
    """
    root, target = Path(folder), Path(to)
    if not root.is_dir():
        raise InputError(f"{folder}: there is no such folder.\nName the folder that holds result documents.")
    if target.exists():
        raise InputError(f"{target}: this already exists.\nName a folder that does not exist yet.")
    if not target.absolute().parent.is_dir():
        raise InputError(f"{target}: the parent folder does not exist.\nCreate {target.parent} first.")
    if not os.access(root, os.W_OK):
        raise ChoiceError(f"{root}: the folder is read-only, so it cannot be indexed.\nCopy it first.")
    bench = Bench(root, bundled=True)
    try:
        bench.watcher.scan()
        saved = list(_pages(bench, systems))
        if not bench.store.golds() and not bench.store.documents():
            raise InputError(f"{root}: the folder contains no results.\nAdd documents written with --json.")
        saved += [
            Saved(f"/static/{name}", f"static/{name}", _text(bench, "/static/{name}", name=name))
            for name in pages.STATIC
            if not name.endswith(".js")
        ]
    finally:
        bench.store.close()
    files = {page.address: page.file for page in saved}
    staging = Path(tempfile.mkdtemp(prefix=".spanwise-", dir=target.absolute().parent))
    try:
        for page in saved:
            file = staging / page.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(_linked(page, files) if page.file.endswith(".html") else page.text)
        staging.chmod(0o755)
        staging.rename(target)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    return sum(page.file.endswith(".html") for page in saved)


def _pages(bench: Bench, systems: Sequence[str]) -> Iterator[Saved]:
    golds = bench.store.golds()
    names = {result.system for gold in golds for result in bench.store.results(gold.slug)}
    for name in systems:
        if name not in names:
            raise unknown("system", name, sorted(names))
    yield Saved("/", "index.html", _text(bench, "/", query={"all": ""}))
    for gold in golds:
        chosen = [result for result in bench.latest(gold) if not systems or result.system in systems]
        yield from _of_gold(bench, gold, chosen)
    for stored in [stored for stored in bench.store.documents() if stored.kind in VIEWS][:REPORTED]:
        text = _text(bench, "/d/{document}", document=str(stored.id))
        yield Saved(f"/d/{stored.id}", f"d/{stored.id}.html", text)


def _of_gold(bench: Bench, gold: Gold, chosen: Sequence[Result]) -> Iterator[Saved]:
    home, at = f"/g/{gold.slug}", f"g/{gold.slug}"
    yield Saved(home, f"{at}/index.html", _text(bench, "/g/{gold}", gold=gold.slug))
    listed = {"systems": ",".join(result.system for result in chosen)}
    yield Saved(
        f"{home}/history", f"{at}/history.html", _text(bench, "/g/{gold}/history", listed, gold=gold.slug)
    )
    for a, b in combinations(chosen[:PAIRED], 2):
        address = f"{home}/compare/{a.id}/{b.id}"
        text = _text(bench, "/g/{gold}/compare/{a}/{b}", gold=gold.slug, a=str(a.id), b=str(b.id))
        yield Saved(address, f"{at}/compare-{a.id}-{b.id}.html", text)
        if (a, b) == tuple(chosen[:2]):
            yield Saved(f"{home}/compare", f"{at}/compare.html", text)
    if bench.shelf.indexed(gold) is not None:
        for name, page in (("slices", "/g/{gold}/slices"), ("weak", "/g/{gold}/weak")):
            yield Saved(f"{home}/{name}", f"{at}/{name}.html", _text(bench, page, gold=gold.slug))
        for saved in bench.store.slices(gold.slug):
            text = _text(bench, "/g/{gold}/slices/{slug}", gold=gold.slug, slug=saved.slug)
            yield Saved(f"{home}/slices/{saved.slug}", f"{at}/slice-{saved.slug}.html", text)
    for name in ("worksheet", "gate"):
        yield Saved(
            f"{home}/{name}", f"{at}/{name}.html", _text(bench, f"/g/{{gold}}/{name}", gold=gold.slug)
        )
    for result in chosen[:REPORTED]:
        address = f"/r/{result.id}"
        yield Saved(address, f"r/{result.id}.html", _text(bench, "/r/{result}", result=str(result.id)))


def _text(bench: Bench, path: str, query: dict[str, str] | None = None, **named: str) -> bytes:
    """The page that the server would send."""
    scope = {
        "type": "http", "method": "GET", "path": path, "headers": [], "path_params": named,
        "query_string": urlencode(query or {}).encode(), "server": ("127.0.0.1", 0), "scheme": "http",
    }  # fmt: skip
    return bytes(pages.PAGES[path](bench, Request(scope)).body)


def _linked(page: Saved, files: dict[str, str]) -> bytes:
    """The page with links changed to relative paths within the bundle; other links are removed."""
    folder = Path(page.file).parent

    def relative(match: re.Match[str]) -> str:
        name, address, part = match[1], html.unescape(match[2]), match[3] or ""
        file = files.get(address) or files.get(address.partition("?")[0] if address == "/?all" else address)
        if file is None:
            return ""
        return f'{name}="{os.path.relpath(file, folder)}{part}"'

    if page.file.startswith(("r/", "d/")):
        return page.text
    return _ADDRESS.sub(relative, page.text.decode()).encode()
