"""Saved pages: a folder that shows chosen results to people without a server."""

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
from spanwise.workbench import pages
from spanwise.workbench.bench import Bench
from spanwise.workbench.store import Gold, Result

PAIRED = 6  # systems that are compared with each other
REPORTED = 24  # results whose reports are saved

_ADDRESS = re.compile(r'\b(href|src)="(/[^"#]*)(#[^"]*)?"')


class Saved(Struct, frozen=True):
    """One page: its address on the server, its file in the bundle, and its text."""

    address: str
    file: str
    text: bytes


def bundle(folder: str | Path, to: str | Path, *, systems: Sequence[str] = ()) -> int:
    """Save the pages of a folder of results, and give back how many there are.

    Leaderboards, histories, comparisons of the best systems, saved slices, gates and reports, with the
    numbers of the server: its own functions draw them. `systems` chooses some of the systems.

    Raises:
        InputError: the folder holds no results, or `to` is already there.
        ChoiceError: a system is unknown.
    """
    root, target = Path(folder), Path(to)
    if not root.is_dir():
        raise InputError(f"{folder}: there is no such folder.\nName the folder that holds result documents.")
    if target.exists():
        raise InputError(f"{target}: this is already there.\nName a folder that does not exist yet.")
    if not target.absolute().parent.is_dir():
        raise InputError(f"{target}: there is no folder to write it in.\nMake {target.parent} first.")
    if not os.access(root, os.W_OK):
        raise ChoiceError(f"{root}: the folder is read-only, so it cannot be indexed.\nCopy it first.")
    bench = Bench(root, bundled=True)
    try:
        bench.watcher.scan()
        saved = list(_pages(bench, systems))
        if len(saved) < 2:
            raise InputError(f"{root}: the folder holds no results.\nPut documents of --json there.")
        saved += [
            Saved(f"/static/{name}", f"static/{name}", _text(bench, "/static/{name}", name=name))
            for name in pages.STATIC
            if not name.endswith(".js")
        ]
    finally:
        bench.store.close()
    files = {one.address: one.file for one in saved}
    half = Path(tempfile.mkdtemp(prefix=".spanwise-", dir=target.absolute().parent))
    try:
        for one in saved:
            file = half / one.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(_linked(one, files) if one.file.endswith(".html") else one.text)
        half.chmod(0o755)
        half.rename(target)
    except BaseException:
        shutil.rmtree(half, ignore_errors=True)
        raise
    return sum(one.file.endswith(".html") for one in saved)


def _pages(bench: Bench, systems: Sequence[str]) -> Iterator[Saved]:
    golds = bench.store.golds()
    names = {result.system for gold in golds for result in bench.store.results(gold.slug)}
    for name in systems:
        if name not in names:
            raise unknown("system", name, sorted(names))
    yield Saved("/", "index.html", _text(bench, "/", query={"all": ""}))
    for gold in golds:
        chosen = [one for one in bench.latest(gold) if not systems or one.system in systems]
        yield from _of_gold(bench, gold, chosen)


def _of_gold(bench: Bench, gold: Gold, chosen: Sequence[Result]) -> Iterator[Saved]:
    home, at = f"/g/{gold.slug}", f"g/{gold.slug}"
    yield Saved(home, f"{at}/index.html", _text(bench, "/g/{gold}", gold=gold.slug))
    listed = {"systems": ",".join(one.system for one in chosen)}
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
        for one in bench.store.slices(gold.slug):
            text = _text(bench, "/g/{gold}/slices/{slug}", gold=gold.slug, slug=one.slug)
            yield Saved(f"{home}/slices/{one.slug}", f"{at}/slice-{one.slug}.html", text)
    for name in ("worksheet", "gate"):
        yield Saved(
            f"{home}/{name}", f"{at}/{name}.html", _text(bench, f"/g/{{gold}}/{name}", gold=gold.slug)
        )
    for result in chosen[:REPORTED]:
        address = f"/r/{result.id}"
        yield Saved(address, f"r/{result.id}.html", _text(bench, "/r/{result}", result=str(result.id)))


def _text(bench: Bench, path: str, query: dict[str, str] | None = None, **named: str) -> bytes:
    """What the server would answer."""
    scope = {
        "type": "http", "method": "GET", "path": path, "headers": [], "path_params": named,
        "query_string": urlencode(query or {}).encode(), "server": ("127.0.0.1", 0), "scheme": "http",
    }  # fmt: skip
    return bytes(pages.PAGES[path](bench, Request(scope)).body)


def _linked(one: Saved, files: dict[str, str]) -> bytes:
    """The page with addresses of other files of the bundle; links that lead to no file are removed."""
    here = Path(one.file).parent

    def there(match: re.Match[str]) -> str:
        name, address, part = match[1], html.unescape(match[2]), match[3] or ""
        file = files.get(address) or files.get(address.partition("?")[0] if address == "/?all" else address)
        if file is None:
            return ""
        return f'{name}="{os.path.relpath(file, here)}{part}"'

    if one.file.startswith("r/"):
        return one.text
    return _ADDRESS.sub(there, one.text.decode()).encode()
