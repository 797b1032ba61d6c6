"""A small folder of results, and a client of the workbench that serves it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import spanwise
from spanwise.cli.main import main
from spanwise.evaluation.columns import mention_columns

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.testclient import TestClient

    from spanwise.workbench.bench import Bench

TOKEN = "a-token-for-tests"
PORT = 7350
ORIGIN = f"http://127.0.0.1:{PORT}"
HOSTILE = "<script>alert(1)</script>"


def make_folder(folder: Path, *, sentences: int = 120) -> Path:
    """A folder with the demo's files, a result with columns, a description of its gold, and a gate."""
    folder.mkdir(exist_ok=True)
    assert main(["demo", str(folder), "--sentences", str(sentences), "--only-files"]) == 0
    gold, train = str(folder / "gold.conll"), str(folder / "train.conll")
    named = [f"{name}={folder / name}.conll" for name in ("memoriser", "swapper")]
    call = ["evaluate", gold, *named, "--train", train, "--json", str(folder / "all.json"), "--quiet"]
    assert (
        main([*call, "--columns", str(folder / "all.npz"), "--tag", "commit=8c1f", "--resamples", "100"]) == 0
    )
    assert main(["describe", gold, "--json", str(folder / "gold.json")]) == 0
    (folder / "gate.toml").write_text(
        'fail_under = 20\n[slices.orgs]\nwhere = "label=ORG"\nf1 = 99.5\n', encoding="utf-8"
    )
    return folder


def hostile_folder(folder: Path) -> Path:
    """A folder whose names, labels, words and notes would run as scripts if they were not escaped."""
    folder.mkdir(exist_ok=True)
    words = [HOSTILE, "\u202egnp.exe", "{{7*7}}", '"><img src=x onerror=alert(1)>']
    lines = "".join(
        f"{word}\t{tag}\n" for word, tag in zip(words, [f"B-{HOSTILE}", "O", "B-X", "O"], strict=True)
    )
    (folder / "gold.conll").write_text(lines + "\nplain\tO\n\n", encoding="utf-8")
    name = f"{HOSTILE}'\"&"
    result = spanwise.evaluate(
        folder / "gold.conll",
        {name: folder / "gold.conll"},
        name=HOSTILE,
        tags={HOSTILE: HOSTILE},
        resamples=50,
    )
    result.to_json(folder / "run.json")
    mention_columns(result).save(folder / "run.npz")
    leaks = spanwise.leaks(folder / "gold.conll", {name: folder / "gold.conll"}, resamples=0)
    leaks.to_json(folder / f"{HOSTILE.replace('/', '')}.json")
    return folder


def behind(guard: object) -> Starlette:
    """The application behind its guard; a test client's `app` is the guard."""
    from starlette.applications import Starlette

    from spanwise.workbench.guard import Guard

    assert isinstance(guard, Guard)
    assert isinstance(guard.app, Starlette)
    return guard.app


def bench_of(guard: object) -> Bench:
    """The bench of the application behind a guard."""
    bench: Bench = behind(guard).state.bench
    return bench


@contextmanager
def client_of(folder: Path, *, read_only: bool = False, known: bool = True) -> Iterator[TestClient]:
    """A client of the workbench that serves a folder; it sends the token unless `known` is false."""
    from starlette.testclient import TestClient

    from spanwise.workbench import application
    from spanwise.workbench.guard import Door

    app = application(folder, Door.at(PORT, TOKEN), read_only=read_only)
    bench = bench_of(app)
    bench.lanes.clock = 60.0  # long enough on a busy machine
    headers = {"authorization": f"Bearer {TOKEN}"} if known else {}
    with TestClient(app, base_url=ORIGIN, headers=headers, follow_redirects=False) as client:
        if not read_only:
            assert bench.watcher.looked.wait(60)
        yield client


def copied(folder: Path, to: Path) -> Path:
    """A copy of the folder that a test may change."""
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns(".spanwise"))
    return to
