"""Folders and clients that mean harm: nothing outside the folder changes, and nothing stops the server."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from benches import ORIGIN, TOKEN, bench_of, client_of, copied
from starlette.testclient import TestClient

from spanwise.cli.main import main
from spanwise.document.loading import load_summary
from spanwise.errors import InputError
from spanwise.workbench import application, connections, serve
from spanwise.workbench.bench import Bench
from spanwise.workbench.connections import Server
from spanwise.workbench.guard import Door, Guard
from spanwise.workbench.store import MIGRATIONS, Store

DAYS_AGO = time.time() - 3 * 86400


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of files that belong to somebody else, some of them old, one of them a database."""
    folder = tmp_path / "outside"
    folder.mkdir()
    for name in ("thesis.txt", "half.conll.part", f"{'a' * 24}.conll", f"{'a' * 24}.json.part", "rc"):
        (folder / name).write_text("precious", encoding="utf-8")
        os.utime(folder / name, (DAYS_AGO, DAYS_AGO))
    database = sqlite3.connect(folder / "other.db")
    database.execute("CREATE TABLE bookmarks (address)")
    database.close()
    return folder


def content_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize(
    ("name", "to"),
    [
        (".spanwise", ""),
        (".spanwise/uploads", ""),
        (".spanwise/columns", ""),
        (".spanwise/server", "rc"),
        (".spanwise/token", "rc"),
        (".spanwise/workbench.sqlite", "other.db"),
        (".spanwise/workbench.sqlite", "new.db"),
        (".spanwise/workbench.sqlite-wal", "rc"),
        (".spanwise/workbench.sqlite-journal", "rc"),
    ],
)
def test_a_link_among_the_workbenchs_own_files_is_refused_and_what_it_leads_to_stays(
    name: str, to: str, folder: Path, outside: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    if name != ".spanwise":
        (workspace / ".spanwise").mkdir()
    (workspace / name).symlink_to(outside / to)
    before = content_of(outside)
    for call in (
        ["workbench", str(workspace)],
        ["workbench", str(workspace), "--bundle", str(tmp_path / "pages")],
    ):
        assert main(call) == 3
        error = capsys.readouterr().err
        assert error.startswith(f"spanwise: {workspace / name}: this is a link") and "Traceback" not in error
        assert "Move it away" in error
    assert content_of(outside) == before


def test_a_database_with_another_name_elsewhere_is_refused(
    folder: Path, outside: Path, tmp_path: Path
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    (workspace / ".spanwise").mkdir()
    os.link(outside / "other.db", workspace / ".spanwise" / "workbench.sqlite")
    before = content_of(outside)
    with pytest.raises(InputError, match="this is a link"):
        serve(workspace)
    assert content_of(outside) == before


@pytest.mark.parametrize("name", ["server", "token"])
def test_a_hard_link_is_replaced_not_written_through(
    name: str, folder: Path, outside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    (workspace / ".spanwise").mkdir()
    os.link(outside / "rc", workspace / ".spanwise" / name)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: None)
    serve(workspace, port=free_port())
    assert (outside / "rc").read_text(encoding="utf-8") == "precious"


def test_a_link_in_place_of_the_saved_slices_is_neither_read_nor_written(
    folder: Path, outside: Path, tmp_path: Path
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    (workspace / "slices.toml").symlink_to(outside / "rc")
    before = content_of(outside)
    with client_of(workspace) as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]
        answer = client.post(f"/api/v1/golds/{slug}/slices", json={"name": "people", "where": "label=PER"})
        assert answer.status_code == 422 and "this is a link" in answer.json()["detail"]
        assert client.get(f"/api/v1/golds/{slug}/slices").json() == []
        assert "slices.toml" in client.get(f"/g/{slug}").text
    assert content_of(outside) == before


def test_files_that_the_workbench_did_not_make_stay_among_the_uploads(folder: Path, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    uploads = workspace / ".spanwise" / "uploads"
    uploads.mkdir(parents=True)
    kept = ["thesis.txt", "half.conll.part", "A" * 24 + ".conll", "b" * 24, "b" * 24 + ".conll.gz.part.old"]
    made = ["a" * 24 + ".conll", "b" * 24 + ".conll.gz", "c" * 24 + ".jsonl.part", "d" * 24 + ".npz.part"]
    for name in (*kept, *made):
        (uploads / name).write_text("x", encoding="utf-8")
        os.utime(uploads / name, (DAYS_AGO, DAYS_AGO))
    (uploads / f"{'e' * 24}.conll").symlink_to(tmp_path)
    with client_of(workspace):
        assert {path.name for path in uploads.iterdir()} == {*kept, f"{'e' * 24}.conll"}


def upload(client: TestClient, workspace: Path, system: str) -> None:
    slug = client.get("/api/v1/golds").json()[0]["slug"]
    content = (workspace / "memoriser.conll").read_bytes()
    job = client.put(f"/api/v1/golds/{slug}/results?system={system}", content=content).json()["id"]
    for _ in range(600):
        state = client.get(f"/api/v1/jobs/{job}").json()
        if state["state"] in ("done", "failed"):
            assert state["state"] == "done", state
            return
        time.sleep(0.1)
    raise AssertionError("the evaluation does not end")


def test_an_upload_never_replaces_a_file_even_if_the_database_was_removed(
    folder: Path, outside: Path, tmp_path: Path
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    (workspace / "bert-1.json").write_text("my own notes", encoding="utf-8")
    (workspace / "bert-1-2.json").symlink_to(outside / "rc")
    columns = workspace / ".spanwise" / "columns"
    columns.mkdir(parents=True)
    (columns / "bert-1-3.npz").symlink_to(outside / "thesis.txt")
    before = content_of(outside)
    for _ in range(2):
        with client_of(workspace) as client:
            upload(client, workspace, "bert")
        for path in (workspace / ".spanwise").glob("workbench.sqlite*"):
            path.unlink()
    assert (workspace / "bert-1.json").read_text(encoding="utf-8") == "my own notes"
    assert content_of(outside) == before
    results = [workspace / "bert-1-4.json", workspace / "bert-1-5.json"]
    assert all('"systems":{"bert"' in path.read_text(encoding="utf-8").replace(" ", "") for path in results)
    assert (columns / "bert-1-4.npz").is_file() and (columns / "bert-1-5.npz").is_file()
    assert len(list((workspace / ".spanwise" / "uploads").iterdir())) == 2  # the uploads, and no partial file


def test_a_job_of_a_foreign_database_opens_no_file_elsewhere(folder: Path, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    (tmp_path / "secret.conll").write_text("secret B-PER\n", encoding="utf-8")
    with client_of(workspace) as client:
        upload(client, workspace, "bert")
    database = sqlite3.connect(workspace / ".spanwise" / "workbench.sqlite")
    with database:
        database.execute("UPDATE job SET body = json_set(body, '$.upload', '../../../secret.conll')")
    database.close()
    with client_of(workspace) as client:
        answer = client.post("/api/v1/jobs/1", json={})
        assert answer.status_code == 422 and "no longer exists" in answer.json()["detail"]


# ---- links, folders and pipes in place of files


def test_links_in_a_circle_pipes_and_odd_names_do_not_stop_the_watcher(folder: Path, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    (workspace / "x.json").symlink_to("x.json")
    (workspace / "a.json").symlink_to("b.json")
    (workspace / "b.json").symlink_to("a.json")
    (workspace / "gone.json").symlink_to("nowhere.json")
    (workspace / "out.json").symlink_to(tmp_path / "other.json")
    (tmp_path / "other.json").write_bytes((folder / "all.json").read_bytes())
    os.mkfifo(workspace / "pipe.json")
    os.mkfifo(workspace / "pipe.npz")
    for name in ("pipe.json", "pipe.npz"):
        os.utime(workspace / name, (DAYS_AGO, DAYS_AGO))  # looked at first
    (workspace / "folder.json").mkdir()
    with contextlib.suppress(OSError):
        Path(os.fsdecode(os.fsencode(workspace) + b"/\xff.json")).write_bytes(b"{}")
    with client_of(workspace) as client:
        bench = bench_of(client.app)
        assert set(bench.store.files()) == {"all.json", "all.npz", "gold.json"}
        shutil.copy(workspace / "all.json", workspace / "later.json")
        for _ in range(600):
            if "later.json" in bench.store.files():
                return
            time.sleep(0.1)
        raise AssertionError("the watcher has ended")


def test_whatever_a_file_causes_the_others_are_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    shutil.copy(workspace / "all.json", workspace / "bad.json")
    os.utime(workspace / "bad.json", (DAYS_AGO, DAYS_AGO))

    def failing(path: Path) -> object:
        if path.name == "bad.json":
            raise MemoryError
        return load_summary(path)

    monkeypatch.setattr("spanwise.workbench.watch.load_summary", failing)
    bench = Bench(workspace)
    try:
        bench.watcher.scan()
        files = bench.store.files()
        assert files["all.json"].kind == "result" and files["bad.json"].kind == "unreadable"
    finally:
        bench.stop()


# ---- a damaged folder of its own


def damaged_page(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for place in range(4096 * 2, len(data), 97):
        data[place] ^= 0x5A
    path.write_bytes(data)


def rewritten(sql: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        database = sqlite3.connect(path)
        with database:
            database.executescript(sql)
        database.close()

    return change


def folder_instead(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def file_instead(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    path.write_text("x", encoding="utf-8")


def pipe_instead(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


DAMAGE: list[tuple[str, str, Callable[[Path], None]]] = [
    ("garbage", "workbench.sqlite", lambda path: _write(path, os.urandom(20_000))),
    ("half", "workbench.sqlite", lambda path: _write(path, path.read_bytes()[:5000])),
    ("a header only", "workbench.sqlite", lambda path: _write(path, b"SQLite format 3\x00" + bytes(90))),
    ("folder", "workbench.sqlite", folder_instead),
    ("pipe", "workbench.sqlite", pipe_instead),
    ("negative version", "workbench.sqlite", rewritten("PRAGMA user_version=-1")),
    ("another's version", "workbench.sqlite", rewritten("PRAGMA user_version=3")),
    ("no tables", "workbench.sqlite", rewritten("DROP TABLE gold")),
    ("another column", "workbench.sqlite", rewritten("ALTER TABLE note RENAME COLUMN tag TO tags")),
    ("a view", "workbench.sqlite",
     rewritten("DROP TABLE gold; CREATE VIEW gold AS SELECT 1 AS slug, 2 AS body")),
    ("a trigger", "workbench.sqlite",
     rewritten("CREATE TRIGGER t AFTER INSERT ON note BEGIN DELETE FROM result; END")),
    ("a path for a gold", "workbench.sqlite",
     rewritten("UPDATE gold SET body=json_set(body, '$.slug', '../../x'), slug='../../x'")),
    ("text for JSON", "workbench.sqlite", rewritten("UPDATE result SET body='{'")),
    ("bytes for JSON", "workbench.sqlite", rewritten("UPDATE gold SET body=x'ff00'")),
    ("text for a number", "workbench.sqlite",
     rewritten("INSERT INTO slice VALUES ('g', 's', 'n', 'label=X', 'f1', 'much', 1, 0)")),
    ("flipped pages", "workbench.sqlite", damaged_page),
    ("file", "uploads", file_instead),
    ("file", "columns", file_instead),
    ("folder", "server", folder_instead),
    ("folder", "token", folder_instead),
    ("pipe", "server", pipe_instead),
]  # fmt: skip


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("what", "name", "damage"), DAMAGE, ids=[f"{what}: {name}" for what, name, _ in DAMAGE]
)
def test_a_damaged_file_of_the_workbench_is_named_with_what_is_lost_without_it(
    what: str, name: str, damage: Callable[[Path], None], folder: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    workspace = copied(folder, tmp_path / "runs")
    with client_of(workspace) as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]
        note = {"sentence": 0, "tag": "odd", "text": "x" * 3000}
        for _ in range(9):
            assert client.post(f"/api/v1/golds/{slug}/notes", json=note).status_code == 201
    path = workspace / ".spanwise" / name
    damage(path)
    assert main(["workbench", str(workspace)]) == 3
    error = capsys.readouterr().err
    assert str(path) in error and "Move it away" in error and "that loses" in error
    assert "Traceback" not in error and error.count("\n") == 2
    assert "this is a link" not in error


@pytest.mark.parametrize("packed", ["x'ff00'", "'{'", "'[{}]'"])
def test_damage_that_is_met_later_is_named_in_the_same_words(
    packed: str, folder: Path, tmp_path: Path
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    with client_of(workspace) as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]
    path = workspace / ".spanwise" / "workbench.sqlite"
    rewritten(f"UPDATE units SET packed={packed}")(path)
    with client_of(workspace) as client:
        for answer in (client.get(f"/g/{slug}"), client.get(f"/api/v1/golds/{slug}/leaderboard")):
            assert answer.status_code == 422
            assert str(path) in answer.text and "Move it away and start again; that loses" in answer.text


@pytest.mark.parametrize(
    "content",
    [b"9" * 10_000_000, b"\xff\xfe\x00", b"0 http://x 1", b"99999999999999 http://x", b"-1 x", b"", b"1"],
    ids=lambda content: repr(content[:12]),
)
def test_a_server_file_that_no_server_wrote_is_replaced(
    content: bytes, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    server = workspace / ".spanwise" / "server"
    server.parent.mkdir()
    server.write_bytes(content)
    seen: list[str] = []
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: seen.append(server.read_text(encoding="utf-8")))
    serve(workspace, port=free_port())
    assert seen[0].startswith(f"{os.getpid()} http://127.0.0.1:") and not server.exists()


@pytest.mark.parametrize("version", range(len(MIGRATIONS) + 1))
def test_databases_of_every_earlier_version_are_opened(version: int, tmp_path: Path) -> None:
    path = tmp_path / "workbench.sqlite"
    old = sqlite3.connect(path, isolation_level=None)
    for step in MIGRATIONS[:version]:
        old.executescript(step)
    old.execute(f"PRAGMA user_version = {version}")
    old.close()
    Store.opened(path).close()
    Store.opened(path, read_only=True).close()


# ---- clients without the token


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def test_cookies_of_other_programs_do_not_lock_a_browser_out(folder: Path) -> None:
    others = ['prefs={"a": [1, "x;y"]}', 'odd="unclosed', "=;;", "caf\u00e9=1", "a=b=c", "$Version=1"]
    with client_of(folder, known=False) as client:
        for before in others:
            for after in others:
                cookie = f"{before}; spanwise-7350={TOKEN}; {after}".encode("latin-1")
                assert client.get("/settings", headers={b"cookie": cookie}).status_code == 200
        wrong = f'prefs={{"spanwise-7350": "{TOKEN}"}}; xspanwise-7350={TOKEN}'
        assert client.get("/settings", headers={"cookie": wrong}).status_code == 401


@pytest.mark.parametrize("token", ["%C3%A9", "%00", "%ED%A0%80", "%FF", "", "a" * 5000])
def test_a_token_of_any_characters_is_refused(token: str, folder: Path) -> None:
    with client_of(folder, known=False) as client:
        answer = client.get(f"{ORIGIN}/?token={token}")
        assert answer.status_code == 401 and answer.headers["connection"] == "close"
        assert client.get("/", headers={b"cookie": b"spanwise-7350=\xe9"}).status_code == 401
        assert client.get("/", headers={b"authorization": b"Bearer \xe9\xff"}).status_code == 401


@pytest.mark.parametrize(
    "position",
    [
        {"start": 2**63, "end": 2**63 + 1}, {"start": 0, "end": 2**63}, {"start": -1, "end": 1},
        {"start": 1, "end": 1}, {"start": 0}, {"end": 1}, {"start": 0, "end": 10_000},
        {"start": 0, "end": 1, "label": "x" * 201}, {"label": "PER"}, {"sentence": 2**63}, {"sentence": -1},
        {"text": "x" * 4001}, {"by": "x" * 61}, {"tag": "x" * 61},
    ],
    ids=str,
)  # fmt: skip
def test_a_note_that_does_not_fit_its_sentence_is_refused(
    position: dict[str, object], client: TestClient, gold: str
) -> None:
    before = client.get(f"/api/v1/golds/{gold}/notes").json()
    answer = client.post(f"/api/v1/golds/{gold}/notes", json={"sentence": 0, "tag": "odd", **position})
    assert answer.status_code == 400
    assert client.get(f"/api/v1/golds/{gold}/notes").json() == before


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[int, Guard]]:
    """A real server of the folder, in a thread."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    port: int = listener.getsockname()[1]
    guard = application(folder, Door.at(port, TOKEN))
    listens = threading.Event()
    server = Server(guard, bench_of(guard).events.close, listens.set)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    assert listens.wait(60)
    try:
        yield port, guard
    finally:
        bench_of(guard).events.close()
        server.should_exit = True
        thread.join(60)
        listener.close()


def exchange(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(request)
        received = b""
        while piece := client.recv(65536):
            received += piece
        return received


def test_connections_without_a_request_are_closed_and_others_are_served(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 3.0)
    monkeypatch.setattr(connections, "MOST_WAITING", 50)
    with served(copied(folder, tmp_path / "runs")) as (port, _), contextlib.ExitStack() as stack:
        halves = [b"", b"GET / HT", b"GET / HTTP/1.1\r\nhost: x\r\n", b"POST /api/v1/golds HTTP/1.1\r\nx: "]
        clients = []
        for number in range(120):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            client.sendall(halves[number % len(halves)])
            clients.append(client)
        own = f"GET /settings HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {TOKEN}\r\n"
        answer = exchange(port, f"{own}connection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 200")
        assert len(connections.Connection._waiting) <= 50
        for client in clients:
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(1000) == b""  # closed by the server


def test_a_stranger_who_promises_a_body_is_answered_and_disconnected(folder: Path, tmp_path: Path) -> None:
    with served(copied(folder, tmp_path / "runs")) as (port, _):
        head = f"POST /api/v1/golds HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-length: 1000\r\n\r\n"
        assert exchange(port, head.encode()).startswith(b"HTTP/1.1 401")


def test_the_link_is_printed_when_it_can_be_opened_and_works_for_every_browser(
    folder: Path, tmp_path: Path
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    port = free_port()
    call = [sys.executable, "-m", "spanwise", "workbench", str(workspace), "--port", str(port)]
    server = subprocess.Popen(call, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        link = next(line.strip() for line in server.stderr if "token=" in line)
        path = link.removeprefix(f"http://127.0.0.1:{port}")
        for _ in range(3):
            answer = exchange(
                port, f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n".encode()
            )
            assert answer.startswith(b"HTTP/1.1 303") and b"set-cookie" in answer
    finally:
        server.terminate()
        server.wait(60)
        server.stderr.close()
