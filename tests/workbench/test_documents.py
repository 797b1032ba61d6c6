"""Documents of other verbs in the folder of a workbench: listed with their answers, and opened as reports."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path

import pytest
from benches import HOSTILE, TOKEN, bench_of, client_of, copied

import spanwise
from spanwise.cli.main import main
from spanwise.document.loading import KINDS
from spanwise.errors import InputError
from spanwise.views.verdict import verdict
from spanwise.views.wording import DOCUMENTS
from spanwise.workbench import bundle
from spanwise.workbench.bench import Bench
from spanwise.workbench.store import MIGRATIONS, Store
from spanwise.workbench.watch import Watcher

GOLD = [["B-PER", "O"], ["B-LOC", "O"]] * 10
WORSE = [["O", "O"], ["B-LOC", "O"]] * 10


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents of tuples, leaks and conventions, and no evaluation."""
    files = tmp_path_factory.mktemp("facts")
    assert main(["demo", str(files), "--tuples", "--sentences", "30", "--only-files"]) == 0
    folder = tmp_path_factory.mktemp("documents") / "runs"
    folder.mkdir()
    systems = {name: str(files / f"{name}.jsonl") for name in ("backwards", "nearsighted")}
    spanwise.tuples(str(files / "gold.jsonl"), systems, resamples=50).to_json(folder / "tuples.json")
    spanwise.leaks(GOLD, {"crf": WORSE}, resamples=0).to_json(folder / "leaks.json")
    spanwise.explain(GOLD, WORSE).to_json(folder / "conventions.json")
    return folder


def test_every_kind_of_document_is_called_something() -> None:
    assert DOCUMENTS.keys() == KINDS.keys()


def test_a_folder_of_other_documents_lists_them_with_their_answers(documents: Path, tmp_path: Path) -> None:
    with client_of(copied(documents, tmp_path / "runs")) as client:
        rows = {row["path"]: row for row in client.get("/api/v1/documents").json()}
        assert rows.keys() == {"tuples.json", "leaks.json", "conventions.json"}
        page = client.get("/").text
        assert "No results" not in page and "3 documents in runs/" in page
        for name, row in rows.items():
            document = spanwise.load(documents / name)
            assert (row["kind"], row["answer"]) == (document.kind, str(verdict(document).answer))
            assert row["title"] == DOCUMENTS[row["kind"]] and row["title"] in page
            assert (row["answer"] or "It has no page") in page.replace("&#39;", "'")
            assert (f'href="/d/{row["id"]}"' in page) is row["page"] is (name != "conventions.json")
            at = f"/api/v1/documents/{row['id']}"
            assert client.get(at).content == (documents / name).read_bytes()
            assert client.get(f"/d/{row['id']}.json").content == (documents / name).read_bytes()
            opened = client.get(f"/d/{row['id']}")
            if row["page"]:
                assert opened.text == document.to_html()
                policy = opened.headers["content-security-policy"]
                assert "frame-ancestors 'none'" in policy and "unsafe" not in policy
            else:
                assert opened.status_code == 400 and "export FILE terminal" in opened.text


def test_the_leaderboard_lists_them_where_it_is_the_start_page(
    folder: Path, documents: Path, tmp_path: Path
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    (workspace / "tuples.json").write_bytes((documents / "tuples.json").read_bytes())
    with client_of(workspace) as client:
        page = client.get("/", follow_redirects=True).text
        assert '<h2 id="board">' in page and 'href="/d/1"' in page
        assert client.get("/d/1").status_code == 200
        mail = spanwise.evaluate(GOLD, {"crf": WORSE}, name="mail", resamples=0)
        mail.to_json(workspace / "mail.json")
        bench_of(client.app).watcher.scan()
        first, second = (row["slug"] for row in client.get("/api/v1/golds").json())
        assert 'href="/d/1"' in client.get("/").text
        assert not [slug for slug in (first, second) if "/d/1" in client.get(f"/g/{slug}").text]


def test_a_changed_or_removed_document_is_answered_with_a_sentence(documents: Path, tmp_path: Path) -> None:
    workspace = copied(documents, tmp_path / "runs")
    with client_of(workspace) as client:
        bench = bench_of(client.app)
        bench.watcher.stop()
        watcher = Watcher(bench.folder, bench.store, bench.events)
        (row,) = (row for row in client.get("/api/v1/documents").json() if row["path"] == "leaks.json")
        for address in (f"/d/{row['id']}", f"/api/v1/documents/{row['id']}"):
            assert client.get(address).status_code == 200
        spanwise.leaks(GOLD, {"crf": GOLD}, resamples=0).to_json(workspace / "leaks.json")
        for address in (f"/d/{row['id']}", f"/api/v1/documents/{row['id']}"):
            answer = client.get(address)
            assert answer.status_code == 422 and "leaks.json: this file has changed." in answer.text
        watcher.scan()
        (new,) = (one for one in client.get("/api/v1/documents").json() if one["path"] == "leaks.json")
        assert new["id"] > row["id"] and new["answer"] != row["answer"]
        answer = client.get(f"/d/{row['id']}")
        assert answer.status_code == 404 and f"no document &#39;{row['id']}&#39; here" in answer.text
        (workspace / "leaks.json").unlink()
        assert "leaks.json: there is no such file in the folder." in client.get(f"/d/{new['id']}").text
        watcher.scan()
        assert client.get(f"/d/{new['id']}").status_code == 404
        assert "leaks.json" not in client.get("/").text


@pytest.mark.parametrize("number", ["0", "01", "x", "1.5", "-1", "9" * 30, "tuples.json", "%2e%2e"])
def test_a_document_is_found_by_its_number_alone(documents: Path, tmp_path: Path, number: str) -> None:
    with client_of(copied(documents, tmp_path / "runs")) as client:
        for address in (f"/d/{number}", f"/api/v1/documents/{number}"):
            assert client.get(address).status_code in (303, 404), address


def test_a_link_out_of_the_folder_is_not_followed(documents: Path, tmp_path: Path) -> None:
    workspace = copied(documents, tmp_path / "runs")
    with client_of(workspace) as client:
        bench_of(client.app).watcher.stop()
        rows = {row["path"]: row["id"] for row in client.get("/api/v1/documents").json()}
        (workspace / "tuples.json").unlink()
        (workspace / "tuples.json").symlink_to(documents / "tuples.json")  # the same bytes, elsewhere
        for address in ("/d/{}", "/api/v1/documents/{}"):
            answer = client.get(address.format(rows["tuples.json"]))
            assert answer.status_code == 422 and "no such file in the folder" in answer.text


def test_open_pages_hear_of_new_and_removed_documents(documents: Path, tmp_path: Path) -> None:
    workspace = copied(documents, tmp_path / "runs")
    bench = Bench(workspace)
    bench.watcher.scan()
    assert [event.kind for event in bench.events.after(0)] == ["document"] * 3
    (workspace / "leaks.json").unlink()
    last = bench.events.last
    bench.watcher.scan()
    (event,) = bench.events.after(last)
    assert (event.kind, event.text) == ("document", "leaks.json is gone")
    bench.store.close()


def test_the_number_stays_while_the_content_does(documents: Path, tmp_path: Path) -> None:
    workspace = copied(documents, tmp_path / "runs")
    with client_of(workspace) as client:
        before = client.get("/api/v1/documents").json()
        for file in workspace.glob("*.json"):
            os.utime(file)
        bench_of(client.app).watcher.scan()
        assert client.get("/api/v1/documents").json() == before


def test_hostile_names_in_documents_are_shown_and_never_run(tmp_path: Path) -> None:
    workspace = tmp_path / "runs"
    workspace.mkdir()
    name = f"{HOSTILE}'\"&\u202e"
    spanwise.leaks(GOLD, {name: WORSE}, resamples=0).to_json(workspace / "<img src=x onerror=alert(1)>.json")
    with client_of(workspace) as client:
        (row,) = client.get("/api/v1/documents").json()
        assert HOSTILE in row["answer"]
        for address in ("/", f"/d/{row['id']}", f"/d/{row['id'] + 1}"):
            answer = client.get(address)
            assert HOSTILE not in answer.text and "<img src=x" not in answer.text
            assert "\u202e" not in answer.text
            assert "unsafe" not in answer.headers["content-security-policy"]
        assert "&lt;script&gt;" in client.get("/").text


def test_a_damaged_document_is_named_with_the_reason_and_hides_no_other(
    documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanwise.workbench.watch.PATIENCE", 0.0)
    workspace = copied(documents, tmp_path / "runs")
    text = (workspace / "leaks.json").read_text(encoding="utf-8")
    (workspace / "half.json").write_text(text[: len(text) // 2], encoding="utf-8")
    (workspace / "wrong.json").write_text(re.sub(r'"systems": *\{', '"systems": [', text), encoding="utf-8")
    with client_of(workspace) as client:
        bench_of(client.app).watcher.scan()
        page = client.get("/").text
        assert "half.json</b> cannot be read: it ends in the middle" in page
        assert "wrong.json</b> cannot be read" in page and "/leaks.json" not in page
        listed = {row["path"] for row in client.get("/api/v1/documents").json()}
        assert listed == {"tuples.json", "leaks.json", "conventions.json"}
        (workspace / "tuples.json").write_text("{", encoding="utf-8")
        for _ in range(2):
            bench_of(client.app).watcher.scan()
        assert "tuples.json" not in {row["path"] for row in client.get("/api/v1/documents").json()}


def test_a_store_of_version_8_reads_its_other_documents_again(documents: Path, tmp_path: Path) -> None:
    workspace = copied(documents, tmp_path / "runs")
    (workspace / ".spanwise").mkdir()
    path = workspace / ".spanwise" / "workbench.sqlite"
    stat = (workspace / "tuples.json").stat()
    with sqlite3.connect(path) as db:
        for step in MIGRATIONS[:8]:
            db.executescript(step)
        row = ("tuples.json", stat.st_size, stat.st_mtime_ns, "other", None, None)
        db.execute("INSERT INTO file VALUES (?, ?, ?, ?, ?, ?)", row)
        db.execute("INSERT INTO file VALUES ('all.npz', 1, 1, 'columns', 'g', NULL)")
        db.execute("PRAGMA user_version=8")
    db.close()
    store = Store(path)
    assert list(store.files()) == ["all.npz"]  # columns need not be read again
    store.close()
    bench = Bench(workspace)
    bench.watcher.scan()
    assert {stored.path for stored in bench.store.documents()} >= {"tuples.json"}
    bench.store.close()


def test_saved_pages_include_them(documents: Path, tmp_path: Path) -> None:
    workspace, out = copied(documents, tmp_path / "runs"), tmp_path / "pages"
    assert bundle(workspace, out) == 3
    page = (out / "index.html").read_text(encoding="utf-8")
    links = re.findall(r'href="(d/\d+\.html)"', page)
    saved = {(out / link).read_text(encoding="utf-8") for link in links}
    assert saved == {spanwise.load(documents / f"{name}.json").to_html() for name in ("tuples", "leaks")}
    (workspace / "tuples.json").unlink()
    (workspace / "leaks.json").unlink()
    (workspace / "conventions.json").unlink()
    with pytest.raises(InputError, match="contains no results"):
        bundle(workspace, tmp_path / "none")


def test_listing_needs_the_token(documents: Path, tmp_path: Path) -> None:
    with client_of(copied(documents, tmp_path / "runs"), known=False) as client:
        for address in ("/d/1", "/d/1.json", "/api/v1/documents", "/api/v1/documents/1"):
            assert client.get(address).status_code == 401
            assert client.get(address, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_a_result_whose_file_was_overwritten_is_not_shown_as_the_new_one(
    documents: Path, tmp_path: Path
) -> None:
    workspace = copied(documents, tmp_path / "runs")
    spanwise.evaluate(GOLD, {"crf": WORSE}, resamples=0).to_json(workspace / "result.json")
    with client_of(workspace) as client:
        bench = bench_of(client.app)
        bench.watcher.stop()
        (gold,) = bench.store.golds()
        (row,) = bench.store.results(gold.slug)
        addresses = (f"/r/{row.id}", f"/api/v1/results/{row.id}", f"/api/v1/results/{row.id}/units")
        spanwise.evaluate(GOLD, {"crf": GOLD}, resamples=0).to_json(workspace / "result.json")
        for address in addresses:
            answer = client.get(address)
            assert answer.status_code == 422 and "result.json: this file has changed." in answer.text
