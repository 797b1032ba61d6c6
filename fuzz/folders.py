"""Folders whose `.spanwise` somebody else filled: they are served or refused, and nothing outside changes."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import tempfile
from pathlib import Path

from fuzz import seeds
from spanwise.errors import SpanwiseError

NAMES = (
    "", "uploads", "columns", "server", "token", "workbench.sqlite", "workbench.sqlite-wal",
    "workbench.sqlite-shm", "workbench.sqlite-journal",
)  # fmt: skip
TABLES = {
    "gold": "body", "file": "path", "result": "body", "slice": "conditions", "note": "start", "job": "body",
    "units": "packed",
}  # fmt: skip
VALUES = ("", "x", "{", "../../outside/thesis.txt", "/etc/passwd", -1, 2**62, 1.5, None, b"\xff\x00")


def run(inputs: int, first: int = 0) -> dict[int, str]:
    """What went wrong with so many folders, by their numbers."""
    failures: dict[int, str] = {}
    with tempfile.TemporaryDirectory() as name:
        served = _served(Path(name) / "served")
        for number in range(first, first + inputs):
            wrong = _attempt(served, Path(name) / "case", random.Random(f"folder {number}"))
            if wrong is not None:
                failures[number] = wrong
    return failures


def _served(folder: Path) -> Path:
    """A folder that the workbench has served, with a note and a saved slice."""
    from benches import client_of

    from spanwise.evaluation.columns import mention_columns

    folder.mkdir()
    (folder / "gold.conll").write_text(seeds.TEXTS["conll"][1], encoding="utf-8")
    seeds.evaluated().to_json(folder / "a.json")
    mention_columns(seeds.evaluated()).save(folder / "a.npz")
    with client_of(folder) as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]
        client.post(f"/api/v1/golds/{slug}/notes", json={"sentence": 0, "tag": "odd", "text": "x"})
        client.post(f"/api/v1/golds/{slug}/slices", json={"name": "people", "where": "label=PER"})
    return folder


def _attempt(served: Path, case: Path, draw: random.Random) -> str | None:
    from benches import client_of

    shutil.rmtree(case, ignore_errors=True)
    outside, folder = case / "outside", case / "folder"
    outside.mkdir(parents=True)
    for name in ("thesis.txt", f"{'a' * 24}.conll", "half.part"):
        (outside / name).write_text("precious", encoding="utf-8")
        os.utime(outside / name, (0, 0))
    shutil.copytree(served, folder)
    for _ in range(draw.choice([1, 1, 2])):
        _spoil(draw, folder, outside)
    before = _content(outside)
    try:
        with client_of(folder) as client:
            for gold in client.get("/api/v1/golds").json():
                at = f"/api/v1/golds/{gold['slug']}"
                client.post(f"{at}/slices", json={"name": "more", "where": "label=LOC"})
                answers = [client.get(path) for path in (f"/g/{gold['slug']}", f"{at}/notes", "/api/v1/jobs")]
                if any(answer.status_code >= 500 for answer in answers):
                    return f"status {[answer.status_code for answer in answers]}"
    except SpanwiseError:
        pass
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None if _content(outside) == before else "a file outside the folder has changed"


def _content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _spoil(draw: random.Random, folder: Path, outside: Path) -> None:
    private = folder / ".spanwise"
    way = draw.randrange(5)
    if way == 0:
        _rewrite(draw, private / "workbench.sqlite")
        return
    if way == 1:
        database = private / "workbench.sqlite"
        if database.is_file() and not database.is_symlink():
            data = bytearray(database.read_bytes())
            for _ in range(draw.choice([1, 8, 200]) if data else 0):
                data[draw.randrange(len(data))] = draw.randrange(256)
            database.write_bytes(data[: draw.choice([len(data), len(data) // 2, 100])])
        return
    path = draw.choice([private / draw.choice(NAMES), folder / "slices.toml", folder / "b.json"])
    if not path.parent.is_dir():
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    if way == 2:
        path.symlink_to(draw.choice([outside, outside / "thesis.txt", outside / "new", path]))
    elif way == 3:
        os.mkfifo(path) if draw.random() < 0.5 else path.mkdir()
    else:
        path.write_bytes(draw.randbytes(draw.choice([0, 10, 5000])))


def _rewrite(draw: random.Random, path: Path) -> None:
    """Change the database in its own format: a value, a table or its version."""
    if not all(name.is_file() and not name.is_symlink() for name in path.parent.glob("workbench.sqlite*")):
        return
    table, column = draw.choice(list(TABLES.items()))
    try:
        with sqlite3.connect(path) as database:
            way = draw.randrange(4)
            if way == 0:
                database.execute(f"UPDATE {table} SET {column}=?", (draw.choice(VALUES),))
            elif way == 1:
                database.execute(f"DROP TABLE {table}")
            elif way == 2:
                database.execute(f"PRAGMA user_version={draw.choice([-1, 0, 1, 5, 99, 2**31 - 1])}")
            else:
                database.execute(f"CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM result; END")
        database.close()
    except (sqlite3.Error, UnicodeDecodeError):
        return  # damaged before, perhaps so that not even the message can be read
