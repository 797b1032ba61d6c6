"""Predictions are paired with gold by id or by document in any order; what has no partner is refused."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spanwise
from spanwise.columns import ints
from spanwise.corpus import Annotation, Corpus
from spanwise.errors import InputError
from spanwise.formats import from_spans, read
from spanwise.pairing import pair

TOKENS = [["Anna", "lives", "in", "Rome"], ["Bob", "likes", "New", "York"], ["It", "is", "so", "now"]]
SPANS: list[list[list[Any]]] = [[[0, 1, "PER"], [3, 4, "LOC"]], [[0, 1, "PER"], [2, 4, "LOC"]], []]
ORDER = [1, 2, 0]


def _records(ids: list[str] | None, *, text: bool, **more: list[Any]) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for number, spans in enumerate(SPANS):
        record: dict[str, Any] = {} if ids is None else {"id": ids[number]}
        record |= {key: values[number] for key, values in more.items()}
        records.append(record | ({"tokens": TOKENS[number]} if text else {}) | {"spans": spans})
    return records


def _permuted(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [records[number] for number in ORDER]


def _written(path: Path, records: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def _scored(gold: object, predicted: object, **options: Any) -> tuple[float | None, object]:
    result = spanwise.evaluate(gold, {"a": predicted}, resamples=0, **options)
    return result["a"].exact.overall.f1, result.inputs[1].paired


@pytest.mark.parametrize("text", [False, True], ids=["without text", "with text"])
@pytest.mark.parametrize(
    "options", [{}, {"memory": "64MB"}, {"workers": 2}], ids=["whole", "parts", "workers"]
)
def test_a_perfect_prediction_in_another_order_scores_100(
    tmp_path: Path, text: bool, options: dict[str, Any]
) -> None:
    gold = _written(tmp_path / "gold.jsonl", _records(["a", "b", "c"], text=True))
    predicted = _written(tmp_path / "p.jsonl", _permuted(_records(["a", "b", "c"], text=text)))
    assert _scored(gold, predicted, **options) == (1.0, "by id")


@pytest.mark.parametrize("library", ["records", "pandas", "polars", "pyarrow"])
def test_records_and_frames_are_paired_by_id(library: str) -> None:
    gold = _records(["a", "b", "c"], text=True)
    module = None if library == "records" else pytest.importorskip(library)

    def made(records: list[dict[str, Any]]) -> object:
        if module is None:
            return records
        columns = {key: [row[key] for row in records] for key in records[0]}
        columns["spans"] = [
            [{"start": start, "end": end, "label": label} for start, end, label in spans]
            for spans in columns["spans"]
        ]
        return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)

    assert _scored(made(gold), made(_permuted(gold))) == (1.0, "by id")


def test_a_parquet_file_is_paired_by_id(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = _records(["a", "b", "c"], text=True)
    for row in rows:
        row["spans"] = [{"start": a, "end": b, "label": label} for a, b, label in row["spans"]]
    paths = [tmp_path / "gold.parquet", tmp_path / "p.parquet"]
    for path, records in zip(paths, [rows, _permuted(rows)], strict=True):
        parquet.write_table(pyarrow.Table.from_pylist(records), path)
    assert _scored(paths[0], paths[1]) == (1.0, "by id")


def test_conllu_is_paired_by_sent_id(tmp_path: Path) -> None:
    blocks = []
    for name, words, spans in zip("abc", TOKENS, SPANS, strict=True):
        tags = ["O"] * len(words)
        for start, end, label in spans:
            tags[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
        lines = [
            f"{i}\t{w}\t_\t_\t_\t_\t_\t_\t_\tner={t}"
            for i, (w, t) in enumerate(zip(words, tags, strict=True), 1)
        ]
        blocks.append(f"# sent_id = {name}\n" + "\n".join(lines) + "\n\n")
    gold, predicted = tmp_path / "gold.conllu", tmp_path / "p.conllu"
    gold.write_text("".join(blocks), encoding="utf-8")
    predicted.write_text("".join(blocks[number] for number in ORDER), encoding="utf-8")
    assert read(gold).corpus.ids == ("a", "b", "c")
    assert _scored(gold, predicted) == (1.0, "by id")


def _text_records() -> list[dict[str, Any]]:
    texts = [" ".join(words) for words in TOKENS]
    spans = [[[0, 4, "PER"], [14, 18, "LOC"]], [[0, 3, "PER"], [10, 18, "LOC"]], []]
    return [
        {"id": name, "text": text, "label": marks}
        for name, text, marks in zip("abc", texts, spans, strict=True)
    ]


def test_doccano_is_paired_by_id(tmp_path: Path) -> None:
    rows = _text_records()
    gold, predicted = _written(tmp_path / "g.jsonl", rows), _written(tmp_path / "p.jsonl", _permuted(rows))
    assert _scored(gold, predicted) == (1.0, "by id")


def test_label_studio_is_paired_by_id(tmp_path: Path) -> None:
    tasks = [
        {
            "id": f"t{number}",
            "data": {"text": row["text"]},
            "annotations": [{"result": [
                {"type": "labels", "from_name": "l", "to_name": "t",
                 "value": {"start": a, "end": b, "labels": [label]}} for a, b, label in row["label"]
            ]}],
        }
        for number, row in enumerate(_text_records())
    ]  # fmt: skip
    gold, predicted = tmp_path / "g.json", tmp_path / "p.json"
    gold.write_text(json.dumps(tasks), encoding="utf-8")
    predicted.write_text(json.dumps(_permuted(tasks)), encoding="utf-8")
    assert _scored(gold, predicted) == (1.0, "by id")


def test_pubtator_is_paired_by_id(tmp_path: Path) -> None:
    articles = []
    for number, row in enumerate(_text_records()):
        lines = [f"9{number}7|t|{row['text']}", f"9{number}7|a|"]
        lines += [f"9{number}7\t{a}\t{b}\t{row['text'][a:b]}\t{label}\tX" for a, b, label in row["label"]]
        articles.append("\n".join(lines) + "\n\n")
    gold, predicted = tmp_path / "g.pubtator", tmp_path / "p.pubtator"
    gold.write_text("".join(articles), encoding="utf-8")
    predicted.write_text("".join(articles[number] for number in ORDER), encoding="utf-8")
    assert _scored(gold, predicted) == (1.0, "by id")


def test_ids_that_are_all_wrong_are_refused_with_the_first(tmp_path: Path) -> None:
    gold = _written(tmp_path / "gold.jsonl", _records(["a", "b", "c"], text=True))
    predicted = _written(tmp_path / "p.jsonl", _records(["x", "y", "z"], text=False))
    for options in ({}, {"memory": "64MB"}):
        with pytest.raises(InputError, match=r"p\.jsonl:1: the id 'x' has no partner in the gold file"):
            _scored(gold, predicted, **options)


@pytest.mark.parametrize("ids", [["a", "a", "c"], ["a", "b", "b"]])
def test_an_id_that_occurs_twice_is_refused(ids: list[str]) -> None:
    gold = _records(["a", "b", "c"], text=True)
    with pytest.raises(InputError, match="occurs twice"):
        _scored(gold, _records(ids, text=False))
    with pytest.raises(InputError, match="occurs twice"):
        _scored(_records(ids, text=True), _records(["a", "b", "c"], text=False))


def test_one_wrong_id_is_refused_although_the_text_is_equal() -> None:
    gold = _records(["a", "b", "c"], text=True)
    with pytest.raises(InputError, match="the id 'x' has no partner"):
        _scored(gold, _records(["a", "b", "x"], text=True))


def test_ids_of_another_kind_are_no_obstacle_if_every_text_is_equal() -> None:
    gold = _records(["a", "b", "c"], text=True)
    assert _scored(gold, _records(["x", "y", "z"], text=True)) == (1.0, "by text")
    with pytest.raises(InputError, match="the id 'y' has no partner"):
        _scored(gold, _permuted(_records(["x", "y", "z"], text=True)))


def test_a_missing_sentence_is_named_by_its_id() -> None:
    with pytest.raises(InputError, match="The id 'c' is missing here"):
        _scored(_records(["a", "b", "c"], text=True), _records(["a", "b", "c"], text=False)[:2])


@pytest.mark.parametrize("ids", [["0", "1", "2"], None])
def test_numbers_from_0_beside_numbers_from_1_say_nothing_that_the_order_does_not(
    ids: list[str] | None,
) -> None:
    gold = _records(["1", "2", "3"], text=True)
    assert _scored(gold, _records(ids, text=False)) == (1.0, "in order")


def test_the_next_numbers_are_other_sentences_unless_the_texts_are_equal() -> None:
    gold = _records(["1", "2", "3"], text=True)
    assert _scored(gold, _records(["4", "5", "6"], text=True)) == (1.0, "in order")
    for ids, alone in ((["4", "5", "6"], "4"), (["2", "3", "4"], "4")):
        with pytest.raises(InputError, match=f"the id '{alone}' has no partner in the gold file"):
            _scored(gold, _records(ids, text=False))


def test_numbers_in_another_order_are_ids() -> None:
    gold = _records(["1", "2", "3"], text=True)
    assert _scored(gold, _permuted(_records(["1", "2", "3"], text=False))) == (1.0, "by id")


def test_documents_are_paired_by_name_and_their_sentences_in_order() -> None:
    gold = _records(None, text=True, document=["d1", "d2", "d2"])
    predicted = _records(None, text=False, document=["d1", "d2", "d2"])
    assert _scored(gold, [predicted[1], predicted[2], predicted[0]]) == (1.0, "by document")
    with pytest.raises(InputError, match="the document 'd3' has no partner"):
        _scored(gold, _records(None, text=False, document=["d1", "d2", "d3"]))
    with pytest.raises(InputError, match="the document 'd2' occurs twice"):
        _scored(gold, [predicted[1], predicted[0], predicted[2]])


def test_sentence_numbers_that_start_again_in_each_document_are_paired_with_it() -> None:
    more = {"document": ["d1", "d2", "d2"]}
    gold = _records(["1", "1", "2"], text=True, **more)
    predicted = _records(["1", "1", "2"], text=False, **more)
    assert _scored(gold, predicted)[0] == 1.0
    assert _scored(gold, [predicted[2], predicted[1], predicted[0]]) == (1.0, "by id")


def test_ids_that_only_some_records_have_must_not_contradict_the_order() -> None:
    gold = _records(["a", "", "c"], text=True)
    assert _scored(gold, _records(["a", "b", "c"], text=False)) == (1.0, "in order")
    with pytest.raises(InputError, match="the id is 'b', but 'a' in the gold file"):
        _scored(gold, _permuted(_records(["a", "b", "c"], text=False)))

    with pytest.raises(InputError, match="the id is 'c', which is that of sentence 3 in the gold file"):
        _scored(gold, _records(["a", "c", ""], text=False))


@pytest.mark.parametrize("options", [{}, {"memory": "64MB"}], ids=["whole", "parts"])
@pytest.mark.parametrize(
    "field", ["sent_id", "sentence_id", "example_id", "guid", "uid", "_id", "_input_hash"]
)
def test_ids_may_have_other_names(field: str, options: dict[str, Any], tmp_path: Path) -> None:
    def renamed(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{field if key == "id" else key: value for key, value in row.items()} for row in records]

    gold = _written(tmp_path / "gold.jsonl", renamed(_records(["a", "b", "c"], text=True)))
    predicted = renamed(_permuted(_records(["a", "b", "c"], text=False)))
    assert _scored(gold, _written(tmp_path / "p.jsonl", predicted), **options) == (1.0, "by id")
    with pytest.raises(InputError, match="the id 'x' has no partner"):
        _scored(gold, renamed(_records(["x", "y", "z"], text=False)))


@pytest.mark.parametrize(
    "ids", [[1.0, 5.0, 3.0], [True, False, 3], [{"page": 1}, {"page": 2}, {}], [[1], [2], [1, 2]]]
)
def test_ids_of_any_kind_name_their_sentences(ids: list[Any]) -> None:
    gold = _records(ids, text=True)
    assert _scored(gold, _permuted(_records(ids, text=False))) == (1.0, "by id")


def test_a_whole_number_is_the_same_id_however_it_is_written() -> None:
    gold = _records([1, 5, 3], text=True)  # type: ignore[list-item]
    assert _scored(gold, _permuted(_records([1.0, 5.0, 3.0], text=False))) == (1.0, "by id")  # type: ignore[list-item]
    assert _scored(gold, _permuted(_records(["1", "5", "3"], text=False))) == (1.0, "by id")


def test_ids_that_repeat_in_both_files_are_refused_unless_texts_tell_the_sentences_apart() -> None:
    gold = _records(["a", "a", "c"], text=True)
    with pytest.raises(InputError, match="the id 'a' occurs twice, first for sentence 1, then for"):
        _scored(gold, _records(["a", "a", "c"], text=False))
    assert _scored(gold, _records(["a", "a", "c"], text=True)) == (1.0, "in order")


def test_other_documents_are_not_paired_by_the_numbers_of_their_sentences() -> None:
    gold = _records(["1", "1", "1"], text=True, document=["d1", "d2", "d3"])
    predicted = _records(["1", "1", "1"], text=False, document=["d2", "d1", "d3"])
    assert _scored(gold, [predicted[1], predicted[0], predicted[2]])[1] == "by id"
    with pytest.raises(InputError, match="the id '1' of document 'x' has no partner"):
        _scored(gold, _records(["1", "1", "1"], text=False, document=["x", "y", "z"]))


def test_webanno_is_paired_by_the_ids_of_its_sentences(tmp_path: Path) -> None:
    gold, predicted = tmp_path / "gold.tsv", tmp_path / "p.tsv"
    rows = _records(["s-1", "s|2", "s 3"], text=True)
    for path, records in ((gold, rows), (predicted, _permuted(rows))):
        spanwise.write(read(records), path, format="webanno")
    assert read(gold).corpus.ids == ("s-1", "s|2", "s 3")
    assert _scored(gold, predicted) == (1.0, "by id")
    assert _scored(gold, predicted, memory="64MB") == (1.0, "by id")


@pytest.mark.parametrize("key", ["id", "qid"])
def test_parts_of_files_in_another_order_are_refused_with_advice(tmp_path: Path, key: str) -> None:
    number = 9000
    tokens = [[f"word{n % 97}", "Rome", "x"] for n in range(number)]
    rows = [{key: f"s{n}", "tokens": words, "spans": [[1, 2, "LOC"]]} for n, words in enumerate(tokens)]
    gold = _written(tmp_path / "gold.jsonl", rows)
    if key == "qid":  # a field that names sentences on both sides, where no text does
        for row in rows:
            del row["tokens"]
    assert _scored(gold, _written(tmp_path / "same.jsonl", rows), memory="1MB") == (1.0, "by id")
    random.Random(3).shuffle(rows)
    predicted = _written(tmp_path / "p.jsonl", rows)
    with pytest.raises(InputError, match="has no partner") as caught:
        _scored(gold, predicted, memory="1MB")
    assert "sort this one like the gold file" in str(caught.value)
    assert _scored(gold, predicted) == (1.0, "by id")


def test_scores_of_confidence_follow_their_sentences() -> None:
    gold = _records(["a", "b", "c"], text=True)
    predicted = _records(["a", "b", "c"], text=False)
    for number, record in enumerate(predicted):
        record["spans"] = [[*span, (number + 1) / 10 + at / 100] for at, span in enumerate(record["spans"])]
    predicted[0]["spans"][0][2] = "LOC"  # a wrong label, with the lowest score
    straight = spanwise.confidence(gold, {"a": predicted}, resamples=0)
    permuted = spanwise.confidence(gold, {"a": _permuted(predicted)}, resamples=0)
    assert straight.systems == permuted.systems


@given(st.permutations(range(6)), st.data())
def test_any_permutation_is_undone(order: list[int], data: st.DataObject) -> None:
    spans = [[(at, at + 1, "X") for at in data.draw(st.sets(st.integers(0, 2)))] for _ in range(6)]
    whole = from_spans(spans, tokens=[[f"{n}a", f"{n}b", f"{n}c"] for n in range(6)])
    named = Annotation(_with_ids(whole.corpus, tuple("uvwxyz")), whole.mentions)
    shuffled = named.take(ints(order))
    paired = pair(named.corpus, shuffled, align="strict")
    assert paired.predicted.mentions.rows() == named.mentions.rows()
    assert [paired.predicted.corpus.words(n) for n in range(6)] == [named.corpus.words(n) for n in range(6)]
    assert paired.how == "by id"


def _with_ids(corpus: Corpus, ids: tuple[str, ...]) -> Corpus:
    from msgspec.structs import replace

    return replace(corpus, ids=ids)


@pytest.mark.parametrize("where", ["both", "gold has ids", "predictions have ids", "meta"])
def test_a_field_whose_values_are_the_same_on_both_sides_names_the_sentences(where: str) -> None:
    names = ["q7", "q3", "q9"]
    gold, predicted = (_records(None, text=text, qid=names, n=[1, 1, 2]) for text in (True, False))
    for side, records in (("gold has ids", gold), ("predictions have ids", predicted)):
        for record in records:
            if where == side:
                record["id"] = record.pop("qid")
            elif where == "meta":
                record["meta"] = {"key": record.pop("qid", record.get("meta", {}).get("key"))}
    assert _scored(gold, _permuted(predicted)) == (1.0, "by id")
    result = spanwise.evaluate(gold, {"a": _permuted(predicted)}, resamples=0)
    key = "meta.key" if where == "meta" else "qid"
    assert result.inputs[1].notes == (f"sentences are paired by '{key}', which names them in both files",)


def test_fields_that_are_not_the_same_on_both_sides_name_nothing() -> None:
    gold, predicted = (
        _records(None, text=True, n=["a", "b", "c"]),
        _records(None, text=False, n=["c", "x", "y"]),
    )
    assert _scored(gold, predicted) == (1.0, "in order")
    counted = [_records(None, text=text, line=[1, 2, 3]) for text in (True, False)]
    assert _scored(*counted) == (1.0, "in order")


def test_a_missing_partner_and_contradicting_fields_are_refused() -> None:
    gold = _records(None, text=True, qid=["a", "b", "c"], url=["u", "v", "w"])
    other = _records(None, text=False, qid=["a", "b", "x"])
    with pytest.raises(InputError, match="the id 'x' has no partner in the gold file"):
        _scored(gold, other)
    other = _records(None, text=False, qid=["a", "b", "c"], url=["v", "u", "w"])
    with pytest.raises(InputError, match="'qid' and 'url' name different sentences of the gold file"):
        _scored(gold, other)


@pytest.mark.parametrize(
    "options", [{}, {"memory": "64MB"}, {"workers": 2}], ids=["whole", "parts", "workers"]
)
@pytest.mark.parametrize("order", [1, -1], ids=["in order", "reversed"])
def test_hipe_is_paired_by_document_however_it_is_read(
    tmp_path: Path, order: int, options: dict[str, Any]
) -> None:
    documents = [f"# hipe2022:document_id = d{number}\nAnn\tB-pers\nleft{number}\tO\n" for number in range(4)]
    (tmp_path / "gold.tsv").write_text("TOKEN\tNE-COARSE-LIT\n" + "".join(documents), encoding="utf-8")
    (tmp_path / "p.tsv").write_text("TOKEN\tNE-COARSE-LIT\n" + "".join(documents[::order]), encoding="utf-8")
    files = str(tmp_path / "gold.tsv"), str(tmp_path / "p.tsv")
    assert _scored(*files, **options) == (1.0, "by document")
