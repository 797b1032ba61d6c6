"""Saving and searching: bundles, weak slices, histories of slices, worksheets, JSON of pages."""

from __future__ import annotations

import errno
import html
import io
import json
import re
import shutil
import time
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benches import bench_of, client_of, copied, make_folder
from starlette.testclient import TestClient
from typed import loaded, present

import spanwise
from spanwise.cli.main import main
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import PRIMARY
from spanwise.evaluation.columns import MentionColumns, mention_columns
from spanwise.slices.index import SliceIndex, weak_slices
from spanwise.spreadsheet import to_xlsx
from spanwise.workbench import bundle
from spanwise.workbench.bench import Bench
from spanwise.workbench.child import Task
from spanwise.workbench.store import JobOptions


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with enough sentences for significant differences."""
    return make_folder(tmp_path_factory.mktemp("larger") / "runs", sentences=400)


def numbers(text: str) -> list[str]:
    return re.findall(r"\d+\.\d", re.sub(r"<svg.*?</svg>|<[^>]*>", " ", text, flags=re.DOTALL))


def test_a_bundle_shows_the_numbers_of_the_server_and_links_within_itself(
    larger: Path, tmp_path: Path
) -> None:
    workspace = copied(larger, tmp_path / "runs")
    with client_of(workspace) as client:
        gold = client.get("/api/v1/golds").json()[0]["slug"]
        body = {"name": "orgs", "where": "label=ORG"}
        assert client.post(f"/api/v1/golds/{gold}/slices", json=body).status_code == 201
        served = {
            "index.html": client.get(f"/g/{gold}").text,
            "slice-orgs.html": client.get(f"/g/{gold}/slices/orgs").text,
        }
        pair = [row["id"] for row in client.get(f"/api/v1/golds/{gold}/results").json()]
        served["compare.html"] = client.get(f"/g/{gold}/compare", follow_redirects=True).text
    out = tmp_path / "pages"
    assert main(["workbench", str(workspace), "--bundle", str(out)]) == 0
    for name, text in served.items():
        saved = (out / "g" / gold / name).read_text(encoding="utf-8")
        assert numbers(saved)[:12] == numbers(text)[:12], name
        for link in re.findall(r'(?:href|src)="([^"#]+)', saved):
            assert (out / "g" / gold / link).resolve().is_file(), link
    assert "needs the server" in (out / "g" / gold / "slices.html").read_text(encoding="utf-8")
    assert {f"{number}.html" for number in pair} == {file.name for file in (out / "r").iterdir()}
    assert "<script" not in (out / "index.html").read_text(encoding="utf-8")


def test_a_bundle_is_written_completely_or_not_at_all(folder: Path, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    with pytest.raises(spanwise.SpanwiseError, match="no system is called 'nobody'"):
        bundle(workspace, tmp_path / "out", systems=["nobody"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(spanwise.SpanwiseError, match="contains no results"):
        bundle(tmp_path / "empty", tmp_path / "out")
    with pytest.raises(spanwise.SpanwiseError, match="already exists"):
        bundle(workspace, tmp_path / "empty")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "runs"]


def test_weak_slices_of_columns_equal_those_of_the_files(larger: Path) -> None:
    index = SliceIndex.of(MentionColumns.load(larger / "all.npz"))
    systems = {name: str(larger / f"{name}.conll") for name in index.systems}
    whole = spanwise.find_slices(
        str(larger / "gold.conll"), systems, train=str(larger / "train.conll"), flips=500
    )
    for name, expected in whole.systems.items():
        listed = weak_slices(index, name, flips=500)
        assert [(row.where, row.mentions, row.p) for row in listed.slices] == [
            (row.where, row.units, row.p) for row in expected.slices
        ]
        assert listed.tested == expected.tested
    first, second = whole.comparison[0].systems
    listed = weak_slices(index, first, second, flips=500)
    assert [(row.where, row.p) for row in listed.slices] == [
        (row.where, row.p) for row in whole.comparison[0].slices
    ]


def test_weak_slices_can_be_searched_with_one_button(larger: Path) -> None:
    with client_of(larger) as client:
        gold = client.get("/api/v1/golds").json()[0]["slug"]
        assert f"/g/{gold}/weak" in client.get(f"/g/{gold}/slices").text
        answer = client.get(f"/api/v1/golds/{gold}/weak?a=memoriser").json()
        assert answer["slices"]
        page = client.get(f"/g/{gold}/weak?a=memoriser").text
        assert "Where memoriser is weak" in page and "/slices?" in page
        assert "later" not in page.partition("<tbody>")[2]
        assert client.get(f"/g/{gold}/weak?a=nobody").status_code == 400


def test_slices_that_are_found_after_others_are_explained(
    larger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanwise.workbench.looks.FIRST_LEVEL", 0.05)
    with client_of(larger) as client:
        gold = client.get("/api/v1/golds").json()[0]["slug"]
        listed = client.get(f"/api/v1/golds/{gold}/weak?a=memoriser&b=swapper").json()["slices"]
        assert [row["p"] is None for row in listed] == [False, True, True]
        page = client.get(f"/g/{gold}/weak?a=memoriser&b=swapper").text
        assert page.count('<td class="num">–</td></tr>') == 2
        assert "–: found on the mentions that remain after removing the slices above" in page


def test_a_comparison_is_limited_to_a_slice(larger: Path) -> None:
    with client_of(larger) as client:
        gold = client.get("/api/v1/golds").json()[0]["slug"]
        a, b = client.get(f"/api/v1/golds/{gold}/results").json()
        whole = client.get(f"/api/v1/golds/{gold}/comparison?a={a['id']}&b={b['id']}").json()
        part = client.get(f"/api/v1/golds/{gold}/comparison?a={a['id']}&b={b['id']}&label=ORG").json()
        assert whole["slice"] is None
        tested = client.get(f"/api/v1/golds/{gold}/test?a={a['system']}&b={b['system']}&label=ORG").json()
        assert part["slice"]["difference"] == tested["difference"]
        page = client.get(f"/g/{gold}/compare/{a['id']}/{b['id']}?where=label%3DORG").text
        assert "On label is ORG" in page


@pytest.mark.parametrize(
    ("page", "answer"),
    [
        ("/index.json", "/golds"),
        ("/g/{gold}.json", "/golds/{gold}/leaderboard"),
        ("/g/{gold}/slices.json?label=ORG", "/golds/{gold}/slice?label=ORG&intervals=1"),
        ("/g/{gold}/sentences.json", "/golds/{gold}/mentions"),
        ("/g/{gold}/sentences/3.json", "/golds/{gold}/sentences/3"),
        ("/g/{gold}/gate.json", "/golds/{gold}/gate"),
        ("/g/{gold}/compare/1/2.json", "/golds/{gold}/comparison?a=1&b=2"),
        ("/r/1.json", "/results/1"),
    ],
)
def test_the_json_address_of_a_page_returns_its_answer(
    client: TestClient, gold: str, page: str, answer: str
) -> None:
    response = client.get(page.format(gold=gold))
    assert response.status_code == 200
    assert response.content == client.get("/api/v1" + answer.format(gold=gold)).content


@pytest.mark.parametrize(
    ("page", "answer"),
    [
        ("/settings", "/settings.json"),
        ("/g/{gold}?label=ORG&q=a%22b", "/g/{gold}.json?label=ORG&q=a%22b"),
        ("/g/{gold}/compare/1/2", "/g/{gold}/compare/1/2.json"),
        ("/g/{gold}/slices?label=ORG&text=of", "/g/{gold}/slices.json?label=ORG&text=of"),
        ("/g/{gold}/sentences/0", "/g/{gold}/sentences/0.json"),
        ("/g/{gold}/slices?label=", "/g/{gold}/slices.json?label="),
        ("/g/{gold}/slices?colour=red", None),  # an error page has nothing to export
    ],
)
def test_the_export_button_links_to_what_the_page_shows(
    client: TestClient, gold: str, page: str, answer: str | None
) -> None:
    text = client.get(page.format(gold=gold)).text
    assert '<button type="button" data-theme-button>Theme: auto</button>' in text
    links = [html.unescape(address) for address in re.findall(r'href="([^"]*)" download data-export', text)]
    assert links == ([] if answer is None else [answer.format(gold=gold)])
    for link in links:
        response = client.get(link)
        assert response.status_code == 200 and response.headers["content-type"] == "application/json"


def test_the_list_of_gold_files_is_exported_too(tmp_path: Path) -> None:
    with client_of(tmp_path) as client:
        assert 'href="/index.json" download data-export' in client.get("/").text
        assert client.get("/index.json").json() == []


def test_a_worksheet_is_available_in_three_formats(folder: Path, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    with client_of(workspace) as client:
        gold = client.get("/api/v1/golds").json()[0]["slug"]
        mark = client.get(f"/api/v1/golds/{gold}/mentions?limit=1").json()["sentences"][0]
        span = {name: mark["gold"][0][name] for name in ("start", "end", "label")}
        body = {"sentence": mark["number"], "tag": "=1+1", "text": "a <b> & \x0b", **span}
        assert client.post(f"/api/v1/golds/{gold}/notes", json=body).status_code == 201
        path = f"/api/v1/golds/{gold}/worksheet"
        line = client.get(f"{path}?format=jsonl").json()
        assert line["kind"] == "=1+1" and line["evidence"] == "a <b> & \x0b".strip()
        assert "'=1+1" in client.get(f"{path}?format=csv").text
        book = client.get(f"{path}?format=xlsx")
        assert client.get(f"{path}?format=doc").status_code == 400
    with zipfile.ZipFile(io.BytesIO(book.content)) as parts:
        sheet = ElementTree.fromstring(parts.read("sheet.xml"))
    texts = [node.text for node in sheet.iter() if node.tag.endswith("}t")]
    assert "=1+1" in texts and "decision" in texts
    assert not [node for node in sheet.iter() if node.tag.endswith("}f")]


def test_runs_of_one_system_are_pooled_on_the_board_and_in_the_history(folder: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "runs"
    workspace.mkdir()
    shutil.copy(folder / "gold.conll", workspace)
    scores = {}
    for name, system, tags in (
        ("a.json", "memoriser", {"seed": "1", "commit": "x"}),
        ("b.json", "swapper", {"seed": "2", "commit": "x"}),
        ("c.json", "swapper", {"commit": "y"}),
    ):
        result = spanwise.evaluate(
            workspace / "gold.conll", {"net": folder / f"{system}.conll"}, resamples=100, tags=tags
        )
        scores[name] = present(result["net"].exact.overall.f1)
        result.to_json(workspace / name)
    mean = 100 * (scores["a.json"] + scores["b.json"]) / 2
    with client_of(workspace) as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]
        board = client.get(f"/g/{slug}?tag=commit:y").text
        assert "mean of" not in board and f"{100 * scores['c.json']:.1f}" in board
        history = client.get(f"/g/{slug}/history?systems=net").text
        assert f"{mean:.1f} <small>mean of 2 runs</small>" in history
        assert "mean of" not in client.get(f"/g/{slug}?runs=each").text
        (workspace / "c.json").unlink()
        bench_of(client.app).watcher.scan()
        pooled = client.get(f"/g/{slug}").text
        assert f"{mean:.1f}<small>mean of 2 runs, sd " in pooled


def ranked(text: str) -> list[str]:
    """The systems of a leaderboard, in order."""
    return re.findall(r'aria-label="choose ([^"]+)"', text)


@pytest.mark.parametrize("score", ["f1", "precision", "recall", "macro", "fair"])
def test_the_board_ranks_and_tests_by_the_primary_score_of_the_results(
    folder: Path, tmp_path: Path, score: str
) -> None:
    workspace = tmp_path / "runs"
    workspace.mkdir()
    systems = {name: folder / f"{name}.conll" for name in ("memoriser", "swapper")}
    result = spanwise.evaluate(folder / "gold.conll", systems, resamples=50, primary=score)
    result.to_json(workspace / "all.json")
    values = {name: item.primary(score) or 0 for name, item in result.systems.items()}
    best = sorted(values, key=lambda name: -values[name])
    with client_of(workspace) as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]
        page = client.get(f"/g/{slug}").text
        assert ranked(page) == best and f"leads with {100 * values[best[0]]:.1f}" in page
        assert ranked(client.get(f"/g/{slug}?sort={score}").text) == best[::-1]
        row = client.get(f"/api/v1/golds/{slug}/results").json()[0]
        assert row["primary"] == score and row["scores"][score] == values[row["system"]]
        low, high = row["intervals"][score]
        assert low <= row["scores"][score] <= high
        answer = client.get(f"/api/v1/golds/{slug}/comparison?a=1&b=2").json()
        primary = [item for item in answer["scores"] if item["role"] == "primary"]
        assert [tuple(item["path"]) for item in primary] == [PRIMARY[score]]
        assert f"{100 * values[best[0]]:.1f}" in client.get(f"/g/{slug}/history").text
        by_f1 = sorted(result.systems, key=lambda name: -(result.systems[name].primary("f1") or 0))
        assert ranked(client.get(f"/g/{slug}?score=f1").text) == by_f1
        assert client.get(f"/g/{slug}?score=colour").status_code == 400


def test_columns_of_the_board_are_chosen_in_its_address(client: TestClient, gold: str, folder: Path) -> None:
    page = client.get(f"/g/{gold}?columns=recall,tough/SEEN&sort=-tough/SEEN").text
    assert "seen in training R" in page and "fair F1</th>" not in page
    document = loaded(folder / "all.json", Evaluation)
    seen = {name: present(system.tough["SEEN"].overall.recall) for name, system in document.systems.items()}
    assert ranked(page) == sorted(seen, key=lambda name: -seen[name])


def test_a_changed_gold_file_is_reported_and_its_results_are_separate(folder: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "runs"
    workspace.mkdir()
    for name in ("gold", "swapper"):
        shutil.copy(folder / f"{name}.conll", workspace)

    def evaluated(name: str) -> None:
        gold, systems = workspace / "gold.conll", {"swapper": workspace / "swapper.conll"}
        spanwise.evaluate(gold, systems, resamples=0).to_json(workspace / name)

    evaluated("old.json")
    with client_of(workspace) as client:
        old = client.get("/api/v1/golds").json()[0]["slug"]
        assert "has changed" not in client.get(f"/g/{old}").text
        lines = (workspace / "gold.conll").read_text(encoding="utf-8").replace("B-ORG", "B-LOC", 1)
        (workspace / "gold.conll").write_text(lines, encoding="utf-8")
        evaluated("new.json")
        bench_of(client.app).watcher.scan()
        page = client.get(f"/g/{old}").text
        assert "The gold file has changed" in page and "no test mixes the two" in page
        new = next(row["slug"] for row in client.get("/api/v1/golds").json() if row["slug"] != old)
        assert "has changed" not in client.get(f"/g/{new}").text
        ids = [client.get(f"/api/v1/golds/{slug}/results").json()[0]["id"] for slug in (old, new)]
        mixed = client.get(f"/api/v1/golds/{old}/comparison?a={ids[0]}&b={ids[1]}")
        assert mixed.status_code == 404


def test_a_note_survives_a_change_of_sentence_boundaries_in_gold(folder: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "runs"
    workspace.mkdir()
    text = (folder / "gold.conll").read_text(encoding="utf-8")

    def evaluated(name: str, text: str) -> str:
        gold = workspace / "gold.conll"
        gold.write_text(text, encoding="utf-8")
        result = spanwise.evaluate(gold, {"same": gold}, resamples=0)
        mention_columns(result).save(workspace / f"{name}.npz")
        result.to_json(workspace / f"{name}.json")
        return str(result.inputs[0].sha256)

    old = evaluated("old", text)
    with client_of(workspace) as client:
        first = client.get("/api/v1/golds").json()[0]["slug"]
        bodies = [{"sentence": number, "tag": "gold is wrong", "text": f"at {number}"} for number in (0, 5)]
        notes = [client.post(f"/api/v1/golds/{first}/notes", json=body).json() for body in bodies]
        sentences = re.split(r"\n\s*\n", text)
        assert old != evaluated("new", "\n\n".join(["Quite O\nnew O", *sentences[3:]]))
        bench_of(client.app).watcher.scan()
        second = next(row["slug"] for row in client.get("/api/v1/golds").json() if row["slug"] != first)
        by_text = {row["text"]: row for row in client.get(f"/api/v1/golds/{second}/notes").json()}
        words = client.get(f"/api/v1/golds/{second}/sentences/{by_text['at 5']['sentence']}").json()
        assert [row["text"] for row in words["notes"]] == ["at 5"]
        assert words["sha"] == notes[1]["sentence_sha"]
        assert "Loose notes" in client.get(f"/g/{second}/worksheet").text  # whose sentence is gone
        path = f"/api/v1/golds/{second}/notes/{notes[1]['id']}"
        answer = client.put(path, json={"tag": "fine"}, headers={"if-match": "1"})
        assert answer.status_code == 200
        assert client.get(f"/api/v1/golds/{first}/notes").json()[1]["tag"] == "fine"


def test_slices_edited_in_their_file_take_precedence(folder: Path, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    with client_of(workspace) as client:
        bench = bench_of(client.app)
        slug = client.get("/api/v1/golds").json()[0]["slug"]
        path = f"/api/v1/golds/{slug}/slices"
        for name in ("orgs", "people"):
            where = f"label={'ORG' if name == 'orgs' else 'PER'}"
            client.post(path, json={"name": name, "where": where, "score": "f1", "least": 50})
        file = workspace / "slices.toml"
        file.write_text(file.read_text(encoding="utf-8").replace("= 50", "= 60", 1), encoding="utf-8")
        with file.open("a", encoding="utf-8") as stream:
            stream.write('[slices."by hand"]\nwhere = "label=LOC"\n')
        bench.watcher.scan()
        by_slug = {row["slug"]: row for row in client.get(path).json()}
        assert {slug: (row["least"], row["version"]) for slug, row in by_slug.items()} == {
            "by-hand": (None, 1), "orgs": (60, 2), "people": (50, 1),
        }  # fmt: skip
        ids = [row["id"] for row in client.get(f"/api/v1/golds/{slug}/results").json()]
        pair = f"/api/v1/golds/{slug}/comparison?a={ids[0]}&b={ids[1]}"
        by_name, by_hand = client.get(f"{pair}&slice=orgs").json(), client.get(f"{pair}&label=ORG").json()
        assert by_name["slice"]["difference"] == by_hand["slice"]["difference"]
        assert client.get(f"{pair}&slice=org").status_code == 404
        file.write_text("[slices.orgs]\n", encoding="utf-8")
        bench.watcher.scan()
        assert "slices.toml" in client.get(f"/g/{slug}").text  # listed among unreadable files
        assert len(client.get(path).json()) == 3


def test_a_board_of_many_results_has_several_pages(folder: Path, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    document = json.loads((workspace / "all.json").read_text(encoding="utf-8"))
    scores = document["systems"]["swapper"]
    document["systems"] = {f"s{number:03}": scores for number in range(230)}
    del document["units"]
    document["sentences"] = document["comparisons"] = document["findings"] = []
    (workspace / "many.json").write_text(json.dumps(document), encoding="utf-8")
    with client_of(workspace) as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]
        address, listed = f"/g/{slug}?sort=system", []
        while address:
            page = client.get(address).text
            listed.append(re.findall(r'name="r" [^>]*data-system="([^"]*)"', page))
            further = re.search(r'href="([^"]*)">next page', page)
            address = further[1].replace("&amp;", "&") if further else ""
        assert [len(names) for names in listed] == [40, 40, 40, 40, 40, 32]
        assert sorted(name for names in listed for name in names) == sorted(
            ["memoriser", "swapper", *document["systems"]]
        )


def test_jobs_of_an_earlier_server_are_interrupted_and_their_uploads_kept(
    folder: Path, tmp_path: Path
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    bench = Bench(workspace)
    slug = "gold-x"
    bench.store.add_job(slug, "mine", JobOptions(upload="u.conll", name="mine.conll"))
    bench.store.close()
    again = Bench(workspace)
    again.jobs.start()
    assert [job.state for job in again.store.jobs()] == ["interrupted"]
    again.jobs.stop()
    again.store.close()


def test_a_job_of_a_stopped_server_is_marked_as_interrupted_by_the_next(folder: Path, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    bench = Bench(workspace)
    bench.watcher.scan()
    [gold] = bench.store.golds()
    bench.jobs.start()
    (bench.jobs.uploads / "u.conll").write_bytes((workspace / "gold.conll").read_bytes())
    bench.jobs.add(gold, "mine", JobOptions(upload="u.conll", name="mine.conll"))
    bench.jobs.stop()
    assert [job.state for job in bench.store.jobs()] in (["waiting"], ["running"])
    bench.store.close()
    again = Bench(workspace)
    again.jobs.start()
    assert [job.state for job in again.store.jobs()] == ["interrupted"]
    again.stop()


def test_a_full_disk_is_reported_as_such(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    with client_of(workspace) as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(bench_of(client.app).store, "add_note", full)
        answer = client.post(f"/api/v1/golds/{slug}/notes", json={"sentence": 0, "tag": "t"})
        assert answer.status_code == 507


def test_a_workbook_can_be_read_by_other_programs() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    rows = [("label", "n", "x"), ("=SUM(A1)", 3, None), ("\ud800\x00é", -0.5, "a\nb")]
    sheet = openpyxl.load_workbook(io.BytesIO(to_xlsx(rows))).active
    assert [[cell.value for cell in row] for row in sheet.iter_rows()] == [
        ["label", "n", "x"],
        ["=SUM(A1)", 3, None],
        ["\ufffd\ufffdé", -0.5, "a\nb"],
    ]
    assert to_xlsx(rows) == to_xlsx(rows)


def test_an_upload_that_needs_too_much_memory_fails_with_a_message(folder: Path, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    bench = Bench(workspace, memory=30_000_000)
    try:
        bench.watcher.scan()
        bench.jobs.start()
        gold = bench.store.golds()[0]
        (bench.jobs.uploads / "x.conll").write_bytes((workspace / "swapper.conll").read_bytes())
        job = bench.jobs.add(gold, "swapper", JobOptions(upload="x.conll", name="swapper.conll"))
        for _ in range(1200):
            state = bench.store.job(job.id)
            if state is not None and state.state == "failed":
                break
            time.sleep(0.1)
        assert state is not None and state.state == "failed" and state.error
        assert not list(workspace.glob("swapper-*.json"))
    finally:
        bench.stop()
    assert Task.__struct_fields__[-1] == "memory"
