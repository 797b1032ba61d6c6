"""Exports of pages, the parts of a lead, and the size of pages."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from benches import bench_of, client_of, copied, hostile_folder
from msgspec.structs import replace
from starlette.testclient import TestClient
from typed import present

from spanwise.alignment import TokenDifference
from spanwise.workbench.board import lead_divisions, lead_steps
from spanwise.workbench.drawing import token_columns
from spanwise.workbench.pages import STATIC
from spanwise.workbench.store import JobOptions

MOST = 120_000  # bytes of a page including its stylesheets and script


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def static_bytes(client: TestClient) -> int:
    return sum(len(client.get(f"/static/{name}").content) for name in STATIC)


def test_the_leaderboard_as_csv_has_the_rows_of_the_page(client: TestClient, gold: str) -> None:
    answer = client.get(f"/g/{gold}.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"] == f'attachment; filename="{gold}.leaderboard.csv"'
    listed = {result["system"]: result for result in client.get(f"/api/v1/golds/{gold}/results").json()}
    rows = table(answer.text)
    assert [row["system"] for row in rows] == sorted(listed, key=lambda name: -listed[name]["scores"]["f1"])
    for row in rows:
        result = listed[row["system"]]
        assert float(row["f1"]) == result["scores"]["f1"]
        assert [float(row["low"]), float(row["high"])] == result["intervals"]["f1"]
        assert row["tags"] == "commit=8c1f" and row["path"] == "all.json"
    assert len(table(client.get(f"/g/{gold}.csv?q=memor").text)) == 1
    labelled = table(client.get(f"/g/{gold}.csv?label=ORG").text)
    assert labelled[0].keys() >= {"f1/ORG"}


def test_the_mentions_of_a_view_are_exported_as_csv_and_json_lines(client: TestClient, gold: str) -> None:
    view = "label=ORG&show.outcome=memoriser:wrong"
    rows = table(client.get(f"/g/{gold}/sentences.csv?{view}").text)
    lines = [json.loads(line) for line in client.get(f"/g/{gold}/sentences.jsonl?{view}").text.splitlines()]
    expected = client.get(f"/api/v1/golds/{gold}/mentions?{view}&limit=200").json()
    marks = [
        (sentence["number"], mark)
        for sentence in expected["sentences"]
        for mark in sentence["gold"]
        if mark["chosen"]
    ]
    assert len(rows) == len(lines) == expected["mentions"] == len(marks) > 0
    for row, line, (number, mark) in zip(rows, lines, marks, strict=True):
        assert line["outcomes"] == mark["outcomes"]
        assert {name: row[name] for name in mark["outcomes"]} == mark["outcomes"]
        assert (line["sentence"], line["start"], line["end"]) == (number, mark["start"], mark["end"])
        assert (row["text"], row["label"]) == (mark["text"], "ORG")
    assert client.get(f"/g/{gold}/sentences.csv?label=NONE").status_code == 400


def test_files_are_inert_in_a_spreadsheet(tmp_path: Path) -> None:
    with client_of(hostile_folder(tmp_path / "runs")) as client:
        gold = client.get("/api/v1/golds").json()[0]["slug"]
        for path in (f"/g/{gold}.csv", f"/g/{gold}/sentences.csv"):
            cells = [cell for row in csv.reader(io.StringIO(client.get(path).text)) for cell in row]
            assert not [cell for cell in cells if cell.lstrip().startswith(("=", "+", "@"))]


def test_the_parts_of_a_lead_add_up_and_are_negated_when_systems_are_swapped(
    client: TestClient, gold: str
) -> None:
    bench = bench_of(client.app)
    a, b = bench.store.results(gold)
    pools = bench.pools(bench.gold(gold), a, b)
    divisions = lead_divisions(bench, *pools)
    mirrored = lead_divisions(bench, *reversed(pools))
    assert {"labels", "tough"} <= divisions.keys() == mirrored.keys()
    difference = present(a.board.scores["f1"]) - present(b.board.scores["f1"])
    for division, parts in divisions.items():
        steps, axis = lead_steps(parts, division, {})
        assert steps[-1].end == pytest.approx(difference)
        assert [part.contribution for part in steps] == sorted((p.contribution for p in parts), reverse=True)
        assert all(axis.low <= part.end <= axis.high for part in steps)
        turned = {part.name: -part.contribution for part in mirrored[division]}
        assert {part.name: part.contribution for part in parts} == pytest.approx(turned)
    page = client.get(f"/g/{gold}/compare/{a.id}/{b.id}?parts=labels").text
    assert "What the difference is made of" in page and '<option value="labels" selected>' in page


def test_the_test_of_a_slice_is_loaded_after_its_page(client: TestClient, gold: str) -> None:
    page = client.get(f"/g/{gold}/slices?label=ORG").text
    later = re.findall(r'data-later="([^"]*)"', page)
    assert later == [f"/g/{gold}/tested?label=ORG"] and "testing…" in page and "held against" not in page
    part = client.get(later[0]).text
    assert "held against p ≤" in part and "<html" not in part


def test_pages_stay_small_with_very_many_systems(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = copied(folder, tmp_path / "runs")
    with client_of(workspace) as client:
        bench = bench_of(client.app)
        gold = bench.store.golds()[0].slug
        result = bench.store.results(gold)[0]
        many = [
            replace(
                result, id=result.id + n, system=f"system-{n:05}", board=replace(result.board, counted=())
            )
            for n in range(2, 5000)
        ]
        monkeypatch.setattr(bench.store, "results", lambda slug: [result, *many])
        shared = static_bytes(client)
        pages = (
            "/history",
            "/history?q=system-049",
            f"/compare/{result.id}/{result.id}",
            "/sentences",
            "/slices",
        )
        for path in ("", "?after=40", "?sort=system", *pages):
            page = client.get(f"/g/{gold}{path}")
            assert page.status_code == 200, path
            assert len(page.content) + shared < MOST, path
        assert "system-04999" in client.get(f"/g/{gold}/history?q=system-04999").text
        assert len(table(client.get(f"/g/{gold}.csv").text)) == 4999
        first, second = (client.get(f"/g/{gold}{path}").text for path in ("", "?after=40"))
        assert first.count('type="checkbox" name="r"') == second.count('type="checkbox" name="r"') == 40
        assert "41 to 80 of 4,999" in second and "after=80" in second
        led = [re.search(r"<h1>(.*?) leads", page, re.S) for page in (first, second)]
        assert led[0] is not None and led[1] is not None and led[0][1] == led[1][1]
        assert "Every other system can be told apart" not in first  # only the twenty best are tested


def test_tokens_of_both_files_are_aligned_in_columns() -> None:
    def columns(gold: str, predicted: str) -> list[tuple[int | None, str | None, str | None]]:
        difference = TokenDifference(
            gold_place="g:1", predicted_place="p:1", first=3, gold=tuple(gold.split()),
            predicted=tuple(predicted.split()), differing=1, sentences=2,
        )  # fmt: skip
        return [(column.number, column.gold, column.predicted) for column in token_columns(difference)]

    assert columns("the U.S. embassy in Skarvik", "the U.S . embassy in") == [
        (4, "the", "the"),
        (5, "U.S.", "U.S"),
        (None, None, "."),
        (6, "embassy", "embassy"),
        (7, "in", "in"),
    ]
    assert columns("a b", "a") == [(4, "a", "a"), (5, "b", None)]
    assert columns("a", "c") == [(4, "a", "c")]


def test_an_upload_with_other_tokens_shows_them_next_to_those_of_gold(folder: Path, tmp_path: Path) -> None:
    workspace = copied(folder, tmp_path / "runs")
    with client_of(workspace) as client:
        bench = bench_of(client.app)
        gold = bench.store.golds()[0].slug
        difference = TokenDifference(
            gold_place="gold.conll:7", predicted_place="mine.conll:7", first=0, gold=("U.S.",),
            predicted=("U.S", "."), differing=2, sentences=120,
        )  # fmt: skip
        job = bench.store.add_job(gold, "mine", JobOptions(upload="u.conll", name="mine.conll"))
        bench.store.set_job(job.id, "failed", error="mine.conll:7: align them.", difference=difference)
        assert client.get(f"/api/v1/jobs/{job.id}").json()["difference"]["predicted"] == ["U.S", "."]
        page = client.get(f"/g/{gold}/evaluate").text
        assert "2 of 120 sentences differ." in page and "gold.conll:7" in page
