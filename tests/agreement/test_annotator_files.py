"""Annotators are read from named files, patterns, folders, and files with several of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spanwise

TEXT = "Ada met Bo in Rome"
PER, LOC, ORG = (0, 3, "PER"), (14, 18, "LOC"), (14, 18, "ORG")


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def spans(*listed: tuple[int, int, str]) -> list[dict[str, object]]:
    return [{"start": start, "end": end, "label": label} for start, end, label in listed]


def test_prodigy_records_name_their_annotators(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "ner.jsonl",
        {
            "text": TEXT,
            "_input_hash": 7,
            "spans": spans(PER, LOC),
            "_annotator_id": "ner-ada",
            "answer": "accept",
        },
        {
            "text": TEXT,
            "_input_hash": 7,
            "spans": spans(PER, ORG),
            "_annotator_id": "ner-bo",
            "answer": "accept",
        },
        {"text": "More", "_input_hash": 8, "spans": [], "_annotator_id": "ner-bo", "answer": "accept"},
        {"text": "Odd", "_input_hash": 9, "spans": [], "_annotator_id": "ner-ada", "answer": "reject"},
    )
    agreement = spanwise.agree(path)
    assert agreement.annotators == ("ner-ada", "ner-bo")
    assert agreement.pairs[0].overall.f1 == pytest.approx(0.5)
    assert agreement.pairs[0].shared == 1
    assert "ner-ada did not annotate 8" in agreement.notes


def test_prodigy_sessions_stand_in_for_annotators(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "ner.jsonl",
        {"text": TEXT, "spans": spans(PER), "_session_id": "ada"},
        {"text": TEXT, "spans": spans(PER), "_session_id": "bo"},
    )
    assert spanwise.agree(path).mean.overall.f1 == 1.0


def test_doccano_annotations_name_their_users(tmp_path: Path) -> None:
    def user(number: int, start: int, end: int, label: str) -> dict[str, object]:
        return {"user": number, "start_offset": start, "end_offset": end, "label": label}

    path = lines(
        tmp_path / "doccano.jsonl",
        {"id": 1, "text": TEXT, "annotations": [user(1, *PER), user(1, *LOC), user(2, *PER)]},
    )
    agreement = spanwise.agree(path)
    assert agreement.annotators == ("1", "2")
    assert agreement.pairs[0].overall.f1 == pytest.approx(2 / 3)


def test_a_doccano_user_without_a_record_did_not_see_that_text(tmp_path: Path) -> None:
    def user(number: int, start: int, end: int, label: str) -> dict[str, object]:
        return {"user": number, "start_offset": start, "end_offset": end, "label": label}

    path = lines(
        tmp_path / "doccano.jsonl",
        {"id": 1, "text": TEXT, "annotations": [user(1, *PER), user(2, *PER), user(3, *LOC)]},
        {"id": 2, "text": TEXT + " again", "annotations": [user(1, *PER), user(2, *LOC)]},
    )
    agreement = spanwise.agree(path)
    overall = {pair.annotators: pair.overall for pair in agreement.pairs}
    assert (overall["1", "2"].both, overall["1", "2"].first, overall["1", "2"].second) == (1, 2, 2)
    assert (overall["1", "3"].both, overall["1", "3"].first, overall["1", "3"].second) == (0, 1, 1)


def test_label_studio_keeps_several_annotations_of_a_task(tmp_path: Path) -> None:
    def done(who: object, *listed: tuple[int, int, str]) -> dict[str, object]:
        results = [
            {"type": "labels", "value": {"start": a, "end": b, "text": TEXT[a:b], "labels": [label]}}
            for a, b, label in listed
        ]
        return {"completed_by": who, "result": results}

    task = {
        "id": 3,
        "data": {"text": TEXT},
        "annotations": [
            done({"id": 5, "email": "ada@example.org"}, PER, LOC),
            done({"id": 6, "email": "bo@example.org"}, PER),
            {**done({"id": 7, "email": "cy@example.org"}), "was_cancelled": True},
        ],
    }
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([task]), encoding="utf-8")
    agreement = spanwise.agree(path)
    assert agreement.annotators == ("ada@example.org", "bo@example.org")
    assert agreement.pairs[0].overall.f1 == pytest.approx(2 / 3)


def test_columns_of_tags_are_read_as_annotators(tmp_path: Path) -> None:
    path = tmp_path / "three.conll"
    path.write_text("Ada NNP B-PER B-PER O\nmet VBD O O O\nRome NNP B-LOC B-ORG B-LOC\n", encoding="utf-8")
    agreement = spanwise.agree(path)
    assert agreement.annotators == ("column 2", "column 3", "column 4")
    assert [pair.overall.both for pair in agreement.pairs] == [1, 1, 0]


def test_limits_apply_to_files_of_several_annotators(tmp_path: Path) -> None:
    records = [{"text": TEXT, "spans": spans(PER, LOC), "_session_id": who} for who in ("ada", "bo")]
    columns = tmp_path / "two.conll"
    columns.write_text("Ada B-PER B-PER\nmet O O\nRome B-LOC B-LOC\n", encoding="utf-8")
    for path in (lines(tmp_path / "ner.jsonl", *records), columns):
        assert spanwise.agree(path, limits={"labels": 2}).mean.overall.f1 == 1.0
        with pytest.raises(
            spanwise.InputError, match="there are 2 labels, more than the 1 that are accepted"
        ):
            spanwise.agree(path, limits={"labels": 1})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"text": ' + "[" * 100_000, "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
        ('{"text": ' + "1" * 5_000 + "}", "a number has too many digits"),
    ],
    ids=["record", "list", "number"],
)
def test_json_that_python_cannot_parse_is_refused_with_its_line(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "ner.jsonl"
    path.write_text(text + "\n", encoding="utf-8")
    with pytest.raises(spanwise.InputError, match=rf"ner.jsonl:1: the JSON cannot be read: .*{message}"):
        spanwise.agree(path)


def conll(path: Path, tags: str, word: str = "Rome") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"in O\n{word} {tags}\n", encoding="utf-8")


def test_a_pattern_finds_annotators_and_documents(tmp_path: Path) -> None:
    conll(tmp_path / "ada" / "one.conll", "B-LOC")
    conll(tmp_path / "ada" / "two.conll", "B-LOC", "Oslo")
    conll(tmp_path / "bo" / "two.conll", "B-ORG", "Oslo")
    agreement = spanwise.agree(str(tmp_path / "{annotator}" / "*.conll"))
    assert agreement.annotators == ("ada", "bo")
    assert set(agreement.mean.documents) == {"two"}
    assert "bo did not annotate one" in agreement.notes
    assert spanwise.agree(tmp_path).pairs == agreement.pairs


def test_documents_of_inception_are_folders_with_a_file_for_each_annotator(tmp_path: Path) -> None:
    for document in ("one.txt", "two.txt"):
        conll(tmp_path / document / "ada.conll", "B-LOC", document)
        conll(tmp_path / document / "bo.conll", "B-LOC", document)
    agreement = spanwise.agree(str(tmp_path / "*" / "{annotator}.conll"))
    assert agreement.annotators == ("ada", "bo")
    assert set(agreement.alpha_u.documents) == {"one.txt", "two.txt"}


def test_brat_folders_are_annotators(tmp_path: Path) -> None:
    for who, label in (("ada", "LOC"), ("bo", "ORG")):
        folder = tmp_path / who
        folder.mkdir()
        (folder / "d1.txt").write_text(TEXT, encoding="utf-8")
        (folder / "d1.ann").write_text(f"T1\tPER 0 3\tAda\nT2\t{label} 14 18\tRome\n", encoding="utf-8")
    agreement = spanwise.agree(str(tmp_path / "{annotator}"))
    assert agreement.annotators == ("ada", "bo")
    assert agreement.unit == "character"
    assert agreement.pairs[0].documents is not None
    assert agreement.pairs[0].documents["d1"].f1 == pytest.approx(0.5)
    assert agreement.tokens.cohen[0].kappa is not None


def test_documents_of_json_lines_keep_their_names(tmp_path: Path) -> None:
    for who in ("ada", "bo"):
        lines(
            tmp_path / f"{who}.jsonl",
            {"document": "d1", "tokens": ["Rome"], "spans": [[0, 1, "LOC"]]},
            {"document": "d2", "tokens": ["Oslo"], "spans": []},
        )
    agreement = spanwise.agree([tmp_path / "ada.jsonl", tmp_path / "bo.jsonl"])
    assert list(agreement.alpha_u.documents) == ["d1", "d2"]


def test_files_with_the_same_name_are_named_by_their_folders(tmp_path: Path) -> None:
    conll(tmp_path / "ada" / "test.conll", "B-LOC")
    conll(tmp_path / "bo" / "test.conll", "B-LOC")
    agreement = spanwise.agree([tmp_path / "ada" / "test.conll", tmp_path / "bo" / "test.conll"])
    assert agreement.annotators == ("ada", "bo")


def named(path: Path, *labels: tuple[str, str], **more: object) -> Path:
    """Records without text, each with an id and one mention of a label."""
    return lines(path, *({"id": name, "spans": [[0, 1, label]], **more} for name, label in labels))


def test_sentences_without_text_are_matched_by_their_ids(tmp_path: Path) -> None:
    rows = [("a", "PER"), ("b", "LOC"), ("c", "ORG")]
    for more in ({}, {"document": "d"}):
        first, second = (
            named(tmp_path / "x.jsonl", *rows, **more),
            named(tmp_path / "y.jsonl", *rows[::-1], **more),
        )
        assert spanwise.agree({"x": first, "y": second}).pairs[0].overall.f1 == 1
    numbered = [(str(number), label) for number, (_, label) in enumerate(rows)]
    later = [(str(number), label) for number, (_, label) in enumerate(rows, start=1)]
    counted = [named(tmp_path / f"{at}.jsonl", *listed) for at, listed in enumerate((numbered, later))]
    assert spanwise.agree(dict(zip("xy", counted, strict=True))).pairs[0].overall.f1 == 1


@pytest.mark.parametrize(("ids", "says"), [("xyz", "'x' is not in"), ("aab", "'a' occurs twice")])
def test_other_ids_without_text_are_refused(ids: str, says: str, tmp_path: Path) -> None:
    first = named(tmp_path / "x.jsonl", ("a", "PER"), ("b", "LOC"), ("c", "ORG"))
    second = named(tmp_path / "y.jsonl", *((name, "PER") for name in ids))
    with pytest.raises(spanwise.InputError, match=f"the id {says}"):
        spanwise.agree({"x": first, "y": second})


def test_equal_texts_in_another_order_are_matched_by_their_ids(tmp_path: Path) -> None:
    records = [{"id": f"s{at}", "tokens": ["a", "b", "c"], "spans": [[at, at + 1, "X"]]} for at in range(3)]
    first, second = lines(tmp_path / "x.jsonl", *records), lines(tmp_path / "y.jsonl", *records[::-1])
    assert spanwise.agree({"x": first, "y": second}).pairs[0].overall.f1 == 1
