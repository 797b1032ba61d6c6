"""Tables on disk read in parts give the same bytes as tables read whole."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.demo import Demo
from spanwise.errors import InputError
from spanwise.formats import Limits
from spanwise.formats.parts import Cutting, surveyed
from spanwise.formats.tables import batch_of, stored_batches
from spanwise.schemes import encode

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def small_parts(cut_records: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function that makes records be read in parts of a few sentences from then on."""

    def begin() -> None:
        cut_records(250)
        monkeypatch.setattr("spanwise.formats._table_surveys.ROWS", 7)

    return begin


def columns_of(source: Any, kind: str) -> dict[str, list[Any]]:
    """The sentences of a file as the columns of a table, in one of the supported layouts."""
    annotation = spanwise.read(source)
    corpus = annotation.corpus
    words = [corpus.words(number) for number in range(len(corpus))]
    tags = encode(annotation.mentions, corpus.lengths, "BIOES" if kind == "bioes" else "IOB2").lists()
    spans: list[list[dict[str, Any]]] = [[] for _ in words]
    for sentence, start, end, label in annotation.mentions.rows():
        spans[sentence].append({"start": start, "end": end, "label": label})
    if kind == "numbers":
        tag_names = ["O", *sorted({tag for some in tags for tag in some} - {"O"})]
        return {"tokens": words, "ner_tags": [[tag_names.index(tag) for tag in some] for some in tags]}
    if kind == "rows":
        flat = [(f"s{at}", at // 9, word, tag) for at, some in enumerate(words)
                for word, tag in zip(some, tags[at], strict=True)]  # fmt: skip
        names = ("sentence", "document", "token", "tag")
        return {name: list(column) for name, column in zip(names, zip(*flat, strict=True), strict=True)}
    if kind == "spans":
        named: dict[str, list[Any]] = {
            "id": [f"x{at}" for at in range(len(words))],
            "doc_id": [at // 9 for at in range(len(words))],
        }
        return {"tokens": words, "spans": spans, **named}
    if kind == "text":
        starts = [[0, *accumulate(len(word) + 1 for word in some)] for some in words]
        moved = [
            [
                {"start": at[span["start"]], "end": at[span["end"]] - 1, "label": span["label"]}
                for span in some
            ]
            for at, some in zip(starts, spans, strict=True)
        ]
        return {"text": [" ".join(some) for some in words], "spans": moved}
    return {"tokens": words, "tags": tags}


def write_table(columns: dict[str, list[Any]], path: Path, *, group: int = 23) -> Path:
    table = arrow.table(columns)
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=group)
    else:
        with arrow.OSFile(str(path), "wb") as sink, arrow.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=11)
    return path


def same_in_parts(
    gold: Path, systems: dict[str, Path], small_parts: Callable[[], None], **options: Any
) -> None:
    """Check that a result has the same bytes whether files are read whole or in parts."""
    options = {"resamples": 10, **options}
    whole = spanwise.evaluate(gold, systems, **options).to_json()
    small_parts()
    survey = surveyed(gold, {key: options[key] for key in ("labels",) if key in options}, Cutting(tokens=250))
    assert survey is not None and survey.parts > 1
    assert spanwise.evaluate(gold, systems, memory="1GB", **options).to_json() == whole


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [
        ("tags", "arrow"),
        ("bioes", "parquet"),
        ("rows", "parquet"),
        ("rows", "arrow"),
        ("spans", "parquet"),
        ("text", "parquet"),
    ],
)
def test_tables_give_the_same_bytes_in_parts_as_whole(
    demo: Demo, tmp_path: Path, small_parts: Callable[[], None], kind: str, suffix: str
) -> None:
    named = {"gold": demo.gold, "mine": demo.systems["swapper"], "train": demo.train}
    files = {
        name: write_table(columns_of(path, kind), tmp_path / f"{name}.{suffix}")
        for name, path in named.items()
    }
    same_in_parts(files["gold"], {"mine": files["mine"]}, small_parts, train=files["train"], attributes="all")


def test_numbers_of_tags_mean_the_same_in_every_part(
    demo: Demo, tmp_path: Path, small_parts: Callable[[], None]
) -> None:
    gold = write_table(columns_of(demo.gold, "numbers"), tmp_path / "gold.parquet")
    gold_annotation = spanwise.read(demo.gold)
    tags = {
        tag
        for some in encode(gold_annotation.mentions, gold_annotation.corpus.lengths, "IOB2").lists()
        for tag in some
    }
    same_in_parts(gold, {"mine": gold}, small_parts, labels=["O", *sorted(tags - {"O"})])


@pytest.mark.parametrize(
    ("column", "row"),
    [
        ("tags", ["O"]),
        ("tags", ["PER", "O"]),
        ("spans", [{"start": 1, "end": 9, "label": "PER"}]),
        ("spans", [{"start": 0, "end": 1, "label": None}]),
    ],
)
def test_a_wrong_row_of_a_table_is_reported_in_parts_as_whole(
    tmp_path: Path, small_parts: Callable[[], None], column: str, row: list[Any]
) -> None:
    good: list[Any] = ["B-PER", "O"] if column == "tags" else [{"start": 0, "end": 1, "label": "PER"}]
    table = {"tokens": [["a", "b"]] * 101, column: [good] * 60 + [row] + [good] * 40}
    path = write_table(table, tmp_path / "gold.parquet")
    with pytest.raises(InputError) as whole:
        spanwise.evaluate(path, {"mine": path})
    small_parts()
    with pytest.raises(InputError) as parts:
        spanwise.evaluate(path, {"mine": path}, memory="1GB")
    assert str(parts.value) == str(whole.value)


def test_a_damaged_table_is_refused_in_parts_as_whole(
    demo: Demo, tmp_path: Path, small_parts: Callable[[], None]
) -> None:
    path = write_table(columns_of(demo.gold, "tags"), tmp_path / "gold.parquet")
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 40] = b"\xff" * 40
    path.write_bytes(bytes(data[:-20]))
    with pytest.raises(InputError) as whole:
        spanwise.evaluate(path, {"mine": path})
    small_parts()
    with pytest.raises(InputError) as parts:
        spanwise.evaluate(path, {"mine": path}, memory="1GB")
    assert str(parts.value) == str(whole.value) and "neither Parquet nor Arrow" in str(whole.value)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("sizes", [[7], [60], [100], [1, 22, 24, 13], [30, 30]])
def test_batches_contain_the_requested_rows(tmp_path: Path, suffix: str, sizes: list[int]) -> None:
    path = write_table({"number": list(range(60))}, tmp_path / f"some.{suffix}")
    batches = [
        batch_of(batch, str(path))[1]["number"] for batch in stored_batches(str(path), Limits(), 9, sizes)
    ]
    assert [number for some in batches for number in some] == list(range(60))
    assert [len(some) for some in batches[: len(sizes)]] == [min(size, 60) for size in sizes]


def test_several_processes_can_cut_one_group_of_rows(
    demo: Demo, tmp_path: Path, small_parts: Callable[[], None]
) -> None:
    gold, mine = (
        write_table(columns_of(path, "tags"), tmp_path / f"{name}.parquet", group=1 << 20)
        for name, path in {"gold": demo.gold, "mine": demo.systems["swapper"]}.items()
    )
    same_in_parts(gold, {"mine": mine}, small_parts, workers=2)
    assert not decoding()


def test_class_names_of_parts_equal_those_of_the_whole(
    demo: Demo, tmp_path: Path, small_parts: Callable[[], None]
) -> None:
    annotation = spanwise.read(demo.gold)
    tags = {
        tag for some in encode(annotation.mentions, annotation.corpus.lengths, "IOB2").lists() for tag in some
    }
    feature = {"feature": {"names": ["O", *sorted(tags - {"O"})], "_type": "ClassLabel"}, "_type": "List"}
    about = {b"huggingface": json.dumps({"info": {"features": {"ner_tags": feature}}}).encode()}
    table = arrow.table(columns_of(demo.gold, "numbers")).replace_schema_metadata(about)
    gold = tmp_path / "gold.parquet"
    parquet.write_table(table, gold, row_group_size=23)
    same_in_parts(gold, {"mine": gold}, small_parts)


def decoding() -> list[str]:
    """The child processes that are decoding tables."""
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if parent == str(os.getpid()) and b"_arrow_child" in (folder / "cmdline").read_bytes():
                processes.append(folder.name)
    return processes


@pytest.fixture
def large(tmp_path: Path) -> str:
    """A table much larger than a pipe's buffer."""
    return str(write_table({"number": list(range(300_000))}, tmp_path / "large.parquet", group=1 << 20))


def test_stopping_to_read_ends_the_decoding_process(large: str) -> None:
    batches = stored_batches(large, Limits(), 100_000)
    next(batches)
    assert len(decoding()) == 1
    batches.close()
    assert not decoding()


def test_a_forked_copy_of_a_half_read_table_ends_without_ending_ours(large: str) -> None:
    batches = stored_batches(large, Limits(), 100_000)
    next(batches)
    copy = os.fork()
    if copy == 0:
        batches.close()
        os._exit(0)
    os.waitpid(copy, 0)
    assert len(list(batches)) == 2
    assert not decoding()


def test_a_process_killed_while_decoding_is_reported(large: str, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    begin = subprocess.Popen

    def noted(*given: Any, **named: Any) -> Any:
        started.append(begin(*given, **named))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    batches = stored_batches(large, Limits(), 100_000)
    next(batches)
    started[0].kill()
    with pytest.raises(InputError, match="pyarrow ended with signal 9"):
        list(batches)
    assert started[0].returncode == -9


def test_a_survey_reads_rows_by_their_size_in_bytes(tmp_path: Path) -> None:
    path = write_table({"text": ["x" * 100_000] * 200}, tmp_path / "long.parquet", group=1 << 20)
    sizes = [
        len(batch_of(batch, str(path))[1]["text"]) for batch in stored_batches(str(path), Limits(), 1 << 13)
    ]
    assert sum(sizes) == 200 and max(sizes) < 200


def test_a_table_that_lacks_a_token_is_read_whole(tmp_path: Path) -> None:
    rows: dict[str, list[Any]] = {"sentence": [0, 0, 1, 1], "token": ["a", None, "b", "c"], "tag": ["O"] * 4}
    path = write_table(rows, tmp_path / "gold.parquet")
    assert surveyed(path, {}, Cutting(tokens=1)) is None
