"""Parquet and Arrow files, datasets and frames give the same annotations as lists."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.corpus import Annotation
from spanwise.errors import ChoiceError, InputError, MissingExtra
from spanwise.formats import from_spans, from_tags, read
from spanwise.formats.tables import rows
from spanwise.formats.writing import write

TOKENS = [["Ann", "Lee", "left"], ["Rome"]]
TAGS = [["B-PER", "I-PER", "O"], ["B-LOC"]]
NAMES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
IDS = [[1, 2, 0], [3]]
ROWS = [(0, 0, 2, "PER"), (1, 0, 1, "LOC")]


def error(source: Any, **options: Any) -> str:
    with pytest.raises((InputError, ChoiceError)) as caught:
        read(source, **options)
    return str(caught.value)


def test_parquet_round_trips_tags_documents_and_ids(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    first = from_tags(TAGS, tokens=TOKENS, documents=[1, 1])
    write(first, tmp_path / "x.parquet", scheme="BIOES")
    again = read(tmp_path / "x.parquet")
    assert again.reading.format == "arrow" and again.reading.sha256
    assert again.mentions.rows() == ROWS
    assert again.corpus.words(0) == TOKENS[0]
    assert again.corpus.documents is not None and again.corpus.documents.tolist() == [0, 1, 2]


def test_parquet_round_trips_nested_spans_and_texts(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    nested = from_spans([[(0, 2, "PER"), (1, 2, "LAST")], []], tokens=TOKENS)
    write(nested, tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet").mentions.rows() == nested.mentions.rows()
    (tmp_path / "a.txt").write_text("Ann left")
    (tmp_path / "a.ann").write_text("T1\tPER 0 3\tAnn\n")
    text = read(tmp_path / "a.ann")
    write(text, tmp_path / "y.parquet")
    assert read(tmp_path / "y.parquet").mentions.rows() == [(0, 0, 3, "PER")]
    (tmp_path / "a.ann").write_text("T1\tPER 0 1;2 3\tA n\n")
    with pytest.raises(InputError, match="arrow cannot hold all of this: 1 discontinuous mention"):
        write(read(tmp_path / "a.ann"), tmp_path / "y.parquet")


def test_arrow_files_of_both_kinds_are_read(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"tokens": TOKENS, "ner_tags": TAGS})
    with (
        arrow.OSFile(str(tmp_path / "f.arrow"), "wb") as sink,
        arrow.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    with (
        arrow.OSFile(str(tmp_path / "s.arrow"), "wb") as sink,
        arrow.ipc.new_stream(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    for name in ("f.arrow", "s.arrow"):
        assert read(tmp_path / name).mentions.rows() == ROWS
    assert read(table).mentions.rows() == ROWS
    (tmp_path / "bad.parquet").write_text("no")
    assert "the file is neither Parquet nor Arrow" in error(tmp_path / "bad.parquet")


def test_a_dataset_is_read_with_the_names_of_its_class_labels(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    kind = datasets.Features(
        {
            "tokens": datasets.Sequence(datasets.Value("string")),
            "ner_tags": datasets.Sequence(datasets.ClassLabel(names=NAMES)),
        }
    )
    dataset = datasets.Dataset.from_dict({"tokens": TOKENS, "ner_tags": IDS}, features=kind)
    assert read(dataset).mentions.rows() == ROWS
    assert read(dataset.select([1])).mentions.rows() == [(0, 0, 1, "LOC")]
    dataset.to_parquet(str(tmp_path / "d.parquet"))
    assert read(tmp_path / "d.parquet").mentions.rows() == ROWS
    assert "Pass one of them: test" in error(datasets.DatasetDict({"test": dataset}))


def frames() -> list[Any]:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    return [pandas.DataFrame, polars.DataFrame]


def test_frames_with_one_row_per_sentence_are_read() -> None:
    for frame in frames():
        assert read(frame({"tokens": TOKENS, "tags": TAGS})).mentions.rows() == ROWS
        assert read(frame({"words": TOKENS, "ner_tags": IDS}), labels=NAMES).mentions.rows() == ROWS


def test_frames_with_one_row_per_token_are_read_and_made() -> None:
    annotation = from_tags(TAGS, tokens=TOKENS, documents=[1, 1])
    for frame in frames():
        again = read(frame(rows(annotation)))
        assert again.mentions.rows() == ROWS
        assert again.corpus.documents is not None and again.corpus.documents.tolist() == [0, 1, 2]
        assert again.reading.format == "frame"


def test_frames_of_texts_with_spans_are_read() -> None:
    for frame in frames():
        source = frame({"text": ["Ann left"], "spans": [[{"start": 0, "end": 3, "label": "PER"}]]})
        assert read(source).mentions.rows() == [(0, 0, 3, "PER")]


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"x": [1]}, {}, "no column holds tokens; looked for tokens, token"),
        ({"tokens": TOKENS}, {}, "no column holds tags; looked for ner_tags"),
        ({"tokens": TOKENS, "tags": IDS}, {}, "the tags are numbers.\nSay what they mean with labels="),
        (
            {"tokens": TOKENS, "tags": IDS},
            {"labels": ["O"]},
            "sentence 1: the tag 1 is outside the 1 labels that were given",
        ),
        ({"tokens": TOKENS, "tags": [["O"], ["O"]]}, {}, "sentence 1 has 1 tag, but 3 tokens"),
        (
            {"token": ["a"], "tag": ["O"]},
            {},
            "a row of the table is a token, but no column numbers the sentences",
        ),
        ({"text": ["a"], "spans": [[{"start": 0}]]}, {}, "row 1 has {'start': 0} among its spans"),
        ({"tokens": [], "tags": []}, {}, "the table has no row"),
    ],
)
def test_tables_report_what_is_wrong(columns: dict[str, Any], options: dict[str, Any], words: str) -> None:
    pandas = pytest.importorskip("pandas")
    assert words in error(pandas.DataFrame(columns), **options)


def test_a_path_is_not_a_frame() -> None:
    assert "reads a pandas or polars DataFrame, not a file" in error(__file__, format="frame")


def test_a_missing_pyarrow_is_answered_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'spanwise\[arrow\]'"):
        read(path)


def test_reading_gives_annotations() -> None:
    pandas = pytest.importorskip("pandas")
    assert isinstance(read(pandas.DataFrame({"tokens": TOKENS, "tags": TAGS})), Annotation)


def test_frames_serve_as_gold_predictions_and_training_data() -> None:
    lists = spanwise.evaluate(TAGS, TAGS, train=from_tags(TAGS, tokens=TOKENS), tokens=TOKENS, resamples=0)
    expected = lists.to_dict()["systems"]["predicted"]["exact"]
    for frame in frames():
        table = frame({"tokens": TOKENS, "tags": TAGS})
        result = spanwise.evaluate(table, table, train=table, resamples=0).to_dict()
        assert result["systems"]["predicted"]["exact"] == expected
        assert result["dataset"]["tough"]["SEEN"]["overall"]["mentions"] == result["dataset"]["mentions"]
        several = spanwise.evaluate(table, {"a": table, "b": table}, train=[table, table], resamples=0)
        assert [source["role"] for source in several.to_dict()["inputs"]] == [
            "gold", "predicted", "predicted", "train", "train",
        ]  # fmt: skip
        described = spanwise.describe(table, train=table)
        assert described.to_dict()["dataset"]["duplicates_with_train"] == len(TOKENS)


def test_frames_of_several_systems_need_names() -> None:
    for frame in frames():
        table = frame({"tokens": TOKENS, "tags": TAGS})
        with pytest.raises(ChoiceError, match=r'objects without a name\.\nName them: {"first"'):
            spanwise.evaluate(table, [table, table])
