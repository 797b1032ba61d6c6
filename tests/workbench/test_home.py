"""The workbench's home with several gold sets, and the pages that open without a choice."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from benches import client_of, make_folder

import spanwise

GOLD = [["B-PER", "O"], ["B-LOC", "O"]] * 10


def saved(path: Path, name: str, gold: list[list[str]], systems: dict[str, list[list[str]]]) -> None:
    result = spanwise.evaluate(gold, systems, name=name, resamples=100)
    path.write_text(result.to_json(), encoding="utf-8")


def test_home_is_a_board_of_systems_and_gold_sets(tmp_path: Path) -> None:
    worse = [["O", "O"], ["B-LOC", "O"]] * 10
    saved(tmp_path / "news.json", "news", GOLD, {"crf": worse, "bert": GOLD})
    saved(tmp_path / "mail.json", "mail", GOLD[:10], {"bert": GOLD[:10]})
    with client_of(tmp_path) as client:
        page = client.get("/").text
        assert "2 gold sets, 2 systems" in page
        assert "bert is better than all others on news. On mail no system is." in page
        assert "<b>bert</b> is better than all others" in page and "<b>bert</b> is the only system" in page
        assert page.count("not evaluated") == 1  # crf on mail
        assert "66.7" in page


def test_compare_opens_on_systems_that_differ(tmp_path: Path) -> None:
    worse = [["O", "O"], ["B-LOC", "O"]] * 10
    saved(tmp_path / "news.json", "news", GOLD, {"bert": GOLD, "twin": GOLD, "crf": worse})
    with client_of(tmp_path) as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]
        results = {row["id"]: row["system"] for row in client.get(f"/api/v1/golds/{slug}/results").json()}
        opened = client.get(f"/g/{slug}/compare", follow_redirects=False).headers["location"]
        assert [results[int(number)] for number in opened.split("/")[-2:]] == ["bert", "crf"]


def test_a_folder_without_thresholds_shows_an_example(tmp_path: Path) -> None:
    saved(tmp_path / "news.json", "news", GOLD, {"bert": GOLD})
    with client_of(tmp_path) as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]
        assert "[floors]" in client.get(f"/g/{slug}/gate").text


def test_the_board_has_a_column_of_leak_rates_of_the_same_predictions(tmp_path: Path) -> None:
    names = ("memoriser", "swapper")
    make_folder(tmp_path / "runs", sentences=60)
    files = {name: str(tmp_path / "runs" / f"{name}.conll") for name in names}
    gold = str(tmp_path / "runs" / "gold.conll")
    leaks = spanwise.leaks(gold, files, resamples=0)
    with client_of(tmp_path / "runs") as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]
        assert "leak rate" not in client.get(f"/g/{slug}").text
    strict = spanwise.leaks(gold, files, resamples=0, same_label=True)
    strict.to_json(tmp_path / "runs" / "strict.json")  # another question, and no column
    leaks.to_json(tmp_path / "runs" / "leaks.json")
    with client_of(tmp_path / "runs") as client:
        rows = client.get(f"/api/v1/golds/{slug}/leaderboard").json()["rows"]
        rates = {row["system"]: row["scores"]["leak_rate"] for row in rows}
        assert rates == {name: leaks.systems[name].overall.leak_rate for name in names}
        page = client.get(f"/g/{slug}?sort=leak_rate").text
        assert '<option value="leak_rate" selected>leak rate</option>' in page
        assert page.index(">swapper<") < page.index(">memoriser<")
        (tmp_path / "runs" / "leaks.json").unlink()
    with client_of(tmp_path / "runs") as client:
        assert "leak rate" not in client.get(f"/g/{slug}").text


def test_without_mention_columns_the_pages_say_which_command_writes_them(tmp_path: Path) -> None:
    made = make_folder(tmp_path / "runs", sentences=60)
    for path in made.glob("*.npz"):
        path.unlink()
    with client_of(made) as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]
        for name in ("slices", "sentences"):
            answer = client.get(f"/g/{slug}/{name}")
            assert answer.status_code == 404
            assert "Not found" not in answer.text and "<h1>No mention columns yet</h1>" in answer.text
            assert "spanwise evaluate" in answer.text and "--columns" in answer.text
        api = client.get(f"/api/v1/golds/{slug}/slice?label=PER").json()
        assert "no mention columns" in api["detail"]
