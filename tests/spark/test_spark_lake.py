"""Folders, patterns and Parquet on Spark give the numbers of one file, for any files and partitions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from parts import small_parts
from sparking import Outliving, Table, session, small_splits, split, starts, table

import spanwise
from spanwise.cli.main import main
from spanwise.corpus import Annotation
from spanwise.demo import Demo, generate
from spanwise.document.evaluation import Evaluation
from spanwise.engines.spark import SparkEngine
from spanwise.errors import InputError
from spanwise.formats.parts import InMemorySource, PartBytes, read_piece

evaluate = partial(spanwise.evaluate, resamples=20, attributes="all", name="demo")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return generate(tmp_path_factory.mktemp("demo"), sentences=60)


def numbers(text: str) -> object:
    """A document without the parts that differ between one file and several."""
    document = json.loads(text)
    for key in ("inputs", "signature", "command", "settings"):
        document.pop(key, None)
    for sentence in document["sentences"]:
        del sentence["source"], sentence["document"], sentence["id"]
    return document


def test_folders_cut_in_any_way_give_the_numbers_of_one_file(
    demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_parts(monkeypatch, sentences=9)
    borders = starts(demo.gold)
    gold = split(demo.gold, tmp_path / "gold", [borders[3], borders[7]])
    train = split(demo.train, tmp_path / "train", [30, 55])
    systems = {
        name: split(path, tmp_path / name, [5 * number + 3, 40])
        for number, (name, path) in enumerate(demo.systems.items())
    }
    documents = [
        evaluate(gold, systems, train=f"{train}/*.conll", engine=SparkEngine(session(), partitions)).to_json()
        for partitions in (1, 7)
    ]
    assert documents[0] == documents[1]
    expected = evaluate(demo.gold, demo.systems, train=demo.train).to_json()
    assert numbers(documents[0]) == numbers(expected)
    inputs = json.loads(documents[0])["inputs"]
    assert [source["path"] for source in inputs] == [gold, *systems.values(), f"{train}/*.conll"]
    assert inputs[0]["evidence"].startswith("3 files read by Spark; ")


def parts_of(path: Path, sentences: Sequence[int]) -> list[Annotation]:
    whole = InMemorySource.of({"only": spanwise.read(path)}, sentences=sentences)
    return [read_piece(whole, PartBytes(number))["only"] for number in range(whole.parts)]


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_other_formats_give_the_numbers_of_one_file(demo: Demo, tmp_path: Path, form: str) -> None:
    name, predicted = next(iter(demo.systems.items()))
    starts = spanwise.read(demo.gold).corpus.documents
    assert starts is not None and len(starts) > 3
    middle = int(starts[len(starts) // 2])  # a file of gold ends a document, where positions begin anew
    for role, path, cuts in (("gold", demo.gold, [middle]), ("mine", predicted, [11, 33])):
        (tmp_path / role).mkdir()
        for number, part in enumerate(parts_of(path, cuts)):
            spanwise.write(part, tmp_path / role / f"{number}.{form}")
    by_sentence = partial(evaluate, train=demo.train, unit="sentence")
    result = by_sentence(str(tmp_path / "gold"), {name: str(tmp_path / "mine")}, engine=session())
    expected = by_sentence(demo.gold, {name: predicted})
    assert result[name].exact == expected[name].exact and result[name].tough == expected[name].tough
    assert result[name].attributes == expected[name].attributes


@pytest.fixture(name="small_splits")
def in_small_splits() -> Iterator[None]:
    with small_splits():
        yield


def write_rows(columns: Table, path: Path, *, row_group_size: int) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), path, row_group_size=row_group_size)


def test_a_parquet_file_is_split_by_its_row_groups(
    demo: Demo, tmp_path: Path, small_splits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_parts(monkeypatch, sentences=9)
    name, path = next(iter(demo.systems.items()))
    for role, source in (("gold", demo.gold), ("mine", path), ("train", demo.train)):
        columns = table(source, "ner_tags")
        rows = {"tokens": columns["tokens"], "ner_tags": columns["ner_tags"], "document": columns["doc_id"]}
        (tmp_path / role).mkdir()
        write_rows(rows, tmp_path / role / "all.parquet", row_group_size=20)
    gold, mine, train = (str(tmp_path / role) for role in ("gold", "mine", "train"))
    assert session().read.parquet(gold).rdd.getNumPartitions() > 1
    result = evaluate(gold, {name: mine}, train=train, engine=SparkEngine(session(), 3))
    expected = evaluate(demo.gold, {name: path}, train=demo.train)
    assert numbers(result.to_json()) == numbers(expected.to_json())
    assert json.loads(result.to_json())["inputs"][0]["evidence"].startswith("1 file read by Spark; a table")


def test_a_wrong_row_late_in_a_parquet_file_is_reported(tmp_path: Path, small_splits: None) -> None:
    for folder, tag in (("gold", "PER"), ("mine", "O")):
        (tmp_path / folder).mkdir()
        tags = [["O"]] * 123 + [["B-PER"], [tag], ["O"]]
        rows: Table = {"tokens": [["a"]] * len(tags), "ner_tags": tags}
        write_rows(rows, tmp_path / folder / "all.parquet", row_group_size=40)
    with pytest.raises(InputError) as caught:
        spanwise.evaluate(str(tmp_path / "gold"), {"mine": str(tmp_path / "mine")}, engine=session())
    assert str(caught.value).startswith(f"{tmp_path}/gold/all.parquet:125: token 1: 'PER' is ")


def test_a_wrong_line_late_in_json_lines_is_reported(tmp_path: Path) -> None:
    (tmp_path / "gold").mkdir()
    lines = [json.dumps({"tokens": ["a"], "tags": [tag]}) for tag in ["O"] * 40 + ["PER"]]
    (tmp_path / "gold" / "all.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        spanwise.evaluate(f"file://{tmp_path}/gold", {"mine": f"file://{tmp_path}/gold"}, engine=session())
    assert str(caught.value).startswith(f"{tmp_path}/gold/all.jsonl:41: ")


def test_a_malformed_tag_is_named_by_its_file_and_row_or_line(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    for folder in ("gold", "mine"):
        (tmp_path / folder).mkdir()
        tags = [["B-PER"], ["O"], ["PER" if folder == "gold" else "O"], ["O"]]
        table = pyarrow.table({"tokens": [["a"]] * 4, "ner_tags": tags})
        parquet.write_table(table, tmp_path / folder / "some.parquet")
    with pytest.raises(InputError) as caught:
        spanwise.evaluate(str(tmp_path / "gold"), {"mine": str(tmp_path / "mine")}, engine=session())
    assert str(caught.value).startswith(f"{tmp_path}/gold/some.parquet:3: token 1: 'PER' is ")
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "a.conll").write_text("a B-PER\n\nb O\nc PER\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        spanwise.evaluate(f"{tmp_path}/lines/*", {"mine": f"{tmp_path}/lines/*"}, engine=session())
    assert str(caught.value).startswith(f"{tmp_path}/lines/a.conll:4: ")


def test_missing_files_and_different_numbers_of_sentences_are_reported(tmp_path: Path) -> None:
    (tmp_path / "gold").mkdir()
    (tmp_path / "gold" / "a.conll").write_text("a B-PER\n\nb O\n", encoding="utf-8")
    (tmp_path / "mine.conll").write_text("a B-PER\n", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"there is 1 sentence|there are 1 sentences, but 2 in the gold files"
    ):
        spanwise.evaluate(tmp_path / "gold", {"mine": tmp_path / "mine.conll"}, engine=session())
    with pytest.raises(InputError, match="Spark cannot read this"):
        spanwise.evaluate(tmp_path / "gold", {"mine": f"{tmp_path}/none/*.conll"}, engine=session())


def test_the_command_line_accepts_folders_and_runs_the_cells_of_a_study(
    demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Outliving(session())
    monkeypatch.setattr("spanwise.engines.spark.spark_session", lambda *_: kept)
    gold = split(demo.gold, tmp_path / "gold", [starts(demo.gold)[2]])
    name, path = next(iter(demo.systems.items()))
    call = ["evaluate", gold, f"{name}={path}", "--train", str(demo.train), "--resamples", "0", "--quiet"]
    assert main([*call, "--engine", "spark", "--json", str(tmp_path / "a.json")]) == 0
    document = spanwise.load(tmp_path / "a.json")
    assert isinstance(document, Evaluation)
    expected = spanwise.evaluate(demo.gold, {name: path}, resamples=0)
    assert document.systems[name].exact == expected[name].exact


def test_a_cell_of_a_study_is_a_task(demo: Demo, tmp_path: Path) -> None:
    manifest = {
        "datasets": {"demo": {"train": str(demo.train), "test": str(demo.gold)}},
        "systems": {name: {"predictions": str(path)} for name, path in demo.systems.items()},
        "resamples": 20,
    }
    study = spanwise.study(manifest, root=tmp_path, cache=False, engine=session())
    expected = spanwise.study(manifest, root=tmp_path, cache=False, workers=1)
    assert study.to_json() == expected.to_json()
