"""JSON lines of every convention can be read, checked and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

import pytest
from typed import present

from spanwise import formats
from spanwise.corpus import Annotation
from spanwise.errors import InputError
from spanwise.formats import writing


class Read(Protocol):
    def __call__(self, *records: object, name: str = "f.jsonl", **options: Any) -> Annotation: ...


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def reader(*records: object, name: str = "f.jsonl", **options: Any) -> Annotation:
        path = tmp_path / name
        path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
        return formats.read(path, **options)

    return reader


NESTED = [(0, 0, 8, "LOC"), (0, 4, 8, "X")]


def test_tokens_with_tags(read: Read) -> None:
    annotation = read({"tokens": ["New", "York"], "tags": ["B-LOC", "I-LOC"]}, {"tokens": [], "tags": []})
    assert annotation.mentions.rows() == [(0, 0, 2, "LOC")]
    assert annotation.corpus.lengths.tolist() == [2, 0]
    assert annotation.reading.evidence.startswith("tokens with tags; IOB2")


def test_tag_numbers_need_their_labels(read: Read) -> None:
    record = {"id": "7", "tokens": ["New", "York"], "ner_tags": [1, 2]}
    annotation = read(record, labels=["O", "B-LOC", "I-LOC"])
    assert annotation.mentions.rows() == [(0, 0, 2, "LOC")]
    assert annotation.corpus.ids == ("7",)
    with pytest.raises(InputError, match=r"f.jsonl:1: the tag 1 is a number.\nSay what the numbers mean"):
        read(record)
    with pytest.raises(InputError, match="the tag 2 is outside the 2 labels that were given"):
        read(record, labels=["O", "B-LOC"])


def test_tokens_with_spans_may_nest(read: Read) -> None:
    annotation = read(
        {"tokens": ["New", "York", "City"], "spans": [[0, 3, "LOC"], {"start": 0, "end": 2, "label": "X"}]},
        {"tokens": ["a"], "spans": []},
    )
    assert annotation.mentions.rows() == [(0, 0, 3, "LOC"), (0, 0, 2, "X")]
    assert annotation.corpus.unit == "token"


@pytest.mark.parametrize(
    "record",
    [
        {
            "text": "New York.",
            "spans": [{"start": 0, "end": 8, "label": "LOC"}, {"start": 4, "end": 8, "label": "X"}],
        },
        {"text": "New York.", "label": [[0, 8, "LOC"], [4, 8, "X"]]},
        {"text": "New York.", "labels": [[0, 8, "LOC"], [4, 8, "X"]]},
        {
            "text": "New York.",
            "entities": [
                {"id": 1, "label": "LOC", "start_offset": 0, "end_offset": 8},
                {"id": 2, "label": "X", "start_offset": 4, "end_offset": 8},
            ],
        },
        {"text": "New York.", "entities": [[0, 8, "LOC"], [4, 8, "X"]]},
        ["New York.", {"entities": [[0, 8, "LOC"], [4, 8, "X"]]}],
        {
            "text": "New York.",
            "ents": [{"start": 0, "end": 8, "label": "LOC"}, {"start": 4, "end": 8, "label": "X"}],
        },
    ],
)
def test_text_with_character_spans(read: Read, record: object) -> None:
    annotation = read(record)
    assert annotation.mentions.rows() == NESTED
    assert annotation.corpus.unit == "character"
    assert annotation.corpus.texts == ("New York.",)
    assert annotation.corpus.words(0) == ["New", "York", "."]
    assert present(annotation.corpus.token_start).tolist() == [0, 4, 8]
    assert present(annotation.corpus.token_end).tolist() == [3, 8, 9]


def test_tokens_given_with_a_text_are_used(read: Read) -> None:
    tokens = [
        {"text": "New York", "start": 0, "end": 8, "id": 0},
        {"text": " ", "start": 8, "end": 9, "id": 1},
    ]
    annotation = read(
        {"text": "New York ", "tokens": tokens, "spans": [{"start": 0, "end": 8, "label": "LOC"}]}
    )
    assert annotation.corpus.words(0) == ["New York"]
    with pytest.raises(InputError, match="a token ends after the text, which has 3 characters"):
        read({"text": "New", "tokens": tokens, "spans": []})


def test_spans_without_text_are_a_corpus_without_text(read: Read) -> None:
    annotation = read({"spans": [[0, 2, "X"]]}, {"spans": []})
    assert annotation.corpus.without_text
    assert len(annotation.corpus) == 2
    assert annotation.mentions.rows() == [(0, 0, 2, "X")]


def test_documents_are_adjacent_records_with_the_same_value(read: Read) -> None:
    records = [
        {"tokens": ["a"], "tags": ["O"], "doc_id": n, "meta": {"source": s}}
        for n, s in [(1, "p"), (1, "q"), (2, "q")]
    ]
    assert present(read(*records).corpus.documents).tolist() == [0, 2, 3]
    assert present(read(*records, documents="source").corpus.documents).tolist() == [0, 1, 3]
    assert read(*records, documents="none").corpus.documents is None
    assert read(*records, fields={"where": "source"}).corpus.fields["where"].tolist() == ["p", "q", "q"]
    with pytest.raises(
        InputError, match=r"f.jsonl:1: no record has a field 'domain'.\nThere are: doc_id, meta"
    ):
        read(*records, fields={"where": "domain"})


def test_a_list_of_objects_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_text(
        json.dumps([{"tokens": ["a"], "tags": ["B-X"]}, {"tokens": ["b"], "tags": ["O"]}], indent=1)
    )
    assert formats.read(path).mentions.rows() == [(0, 0, 1, "X")]
    path.write_text('[{"tokens": ["a"],\n "tags": ["B-X"]\n')
    with pytest.raises(InputError, match=r"list.json:3: this is not JSON"):
        formats.read(path)


def test_every_sentence_and_token_has_the_line_number_of_its_record(read: Read) -> None:
    annotation = read({"tokens": ["a", "b"], "tags": ["O", "O"]}, {"tokens": ["c", "d"], "tags": ["O", "O"]})
    assert annotation.corpus.place(1, 1).endswith("f.jsonl:2")
    with pytest.raises(InputError, match=r"f.jsonl:2: 'o' is not a tag"):
        read({"tokens": ["a"], "tags": ["O"]}, {"tokens": ["c", "d"], "tags": ["O", "o"]})


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"tokens": ["a"], "tags": ["O", "O"]}, "the record has 2 tags, but 1 token"),
        ({"tokens": ["a", 3], "tags": ["O", "O"]}, "the token 3 is not a string"),
        ({"tokens": ["a"]}, "the record needs 'tokens' with 'tags' or 'spans', or 'text' with 'spans'"),
        ({}, "its keys are: none"),
        ({"text": "a"}, "its keys are: 'text'"),
        ({"tokens": ["a"], "spans": [[0, 2, "X"]]}, "ends after the sentence, which has 1 token"),
        (
            {"text": "ab", "spans": [[0, 3, "X"]]},
            "ends after the sentence, which has 2 characters",
        ),
        ({"tokens": ["a"], "spans": [[0, 0, "X"]]}, r"the span \[0, 0\) of X is empty"),
        ({"tokens": ["a"], "spans": [[-1, 1, "X"]]}, "begins before the sentence"),
        ({"tokens": ["a"], "spans": [[0, 1]]}, r"\[0, 1\] is not a span"),
        ({"tokens": ["a"], "spans": [[0, 1, "X", 0, 1, "X"]]}, "is not a span"),
        ({"tokens": ["a"], "spans": [[0, 1, 5]]}, "is not a span"),
        ({"tokens": ["a"], "spans": [{"start": 0, "end": 1}]}, "'end': 1} is not a span"),
        ({"tokens": ["a"], "spans": [[0, 1.5, "X"]]}, "is not a span"),
        ({"tokens": ["a"], "spans": [[0, True, "X"]]}, "is not a span"),
        ({"tokens": ["a"], "spans": ["x" * 99]}, "xxx… is not a span"),
        ({"tokens": ["a"], "spans": [[0, 1, "X"], [0, 1, "X"]]}, "occurs twice in one sentence"),
        (3, "a JSON object is expected, not int"),
        (["a", "b", "c"], "a JSON object is expected, not list"),
    ],
)
def test_a_wrong_record_is_reported_with_its_line(read: Read, record: object, message: str) -> None:
    with pytest.raises(InputError, match=rf"(?s)f.jsonl:1: .*{message}.*\n."):
        read(record)


def test_duplicates_are_dropped_on_request(read: Read) -> None:
    annotation = read({"text": "abc", "spans": [[0, 1, "X"], [0, 1, "X"], [0, 1, "Y"]]}, duplicates="drop")
    assert annotation.mentions.rows() == [(0, 0, 1, "X"), (0, 0, 1, "Y")]


def test_records_of_two_kinds_do_not_mix(read: Read) -> None:
    with pytest.raises(
        InputError, match=r"f.jsonl:2: the record needs tokens with tags, as in the records before"
    ):
        read({"tokens": ["a"], "tags": ["O"]}, {"text": "a", "spans": []})


@pytest.mark.parametrize(
    "records",
    [
        [
            {"tokens": ["New", "York"], "spans": [[0, 2, "LOC"], [0, 1, "X"]], "doc_id": "d"},
            {"tokens": ["a"], "spans": []},
        ],
        [{"text": "New York", "spans": [[0, 8, "LOC"]], "id": "s1"}, {"text": "", "spans": [], "id": "s2"}],
        [{"spans": [[0, 8, "LOC"]]}, {"spans": []}],
        [
            {
                "tokens": ["a", "b", "c"],
                "spans": [{"start": 0, "end": 3, "label": "X", "parts": [[0, 1], [2, 3]]}],
            }
        ],
    ],
)
def test_written_json_lines_are_read_back(read: Read, records: list[object], tmp_path: Path) -> None:
    annotation = read(*records)
    writing.write(annotation, tmp_path / "out.jsonl")
    back = formats.read(tmp_path / "out.jsonl")
    assert back.mentions.rows() == annotation.mentions.rows()
    assert back.corpus.texts == annotation.corpus.texts
    assert back.corpus.ids == annotation.corpus.ids
    assert [back.corpus.words(i) for i in range(len(back.corpus))] == [
        annotation.corpus.words(i) for i in range(len(annotation.corpus))
    ]
    if annotation.mentions.parts is not None:
        assert back.mentions.parts is not None
        assert back.mentions.parts.start.tolist() == annotation.mentions.parts.start.tolist()


def test_with_a_scheme_tags_are_written(read: Read, tmp_path: Path) -> None:
    annotation = read({"tokens": ["New", "York"], "spans": [[0, 2, "LOC"]]})
    writing.write(annotation, tmp_path / "out.jsonl", scheme="BIOES")
    assert json.loads((tmp_path / "out.jsonl").read_text()) == {
        "tokens": ["New", "York"],
        "tags": ["B-LOC", "E-LOC"],
    }
    with pytest.raises(InputError, match="the annotation has no tokens to tag"):
        writing.write(read({"spans": [[0, 2, "X"]]}), tmp_path / "out.jsonl", scheme="BIOES")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("U.S. dollars", ["U", ".", "S", ".", "dollars"]),
        ("naïve naïve", ["naïve", "naïve"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("a_1 b", ["a_1", "b"]),
        ("x\u2028y—z", ["x", "y", "—", "z"]),
        ("\u0301a", ["\u0301a"]),
        ("日本。", ["日本", "。"]),
    ],
)
def test_the_tokens_of_a_text_are_runs_of_word_characters_and_single_others(
    text: str, tokens: list[str]
) -> None:
    assert formats.read([{"text": text, "spans": []}]).corpus.words(0) == tokens


def test_second_names_that_hold_something_else_are_kept_with_the_mention(tmp_path: Path) -> None:
    spans = [
        {"start": 0, "end": 4, "label": "PER", "type": "LOC", "begin": 0, "confidence": 0.9, "score": 0.5}
    ]
    path, again = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_text(json.dumps({"text": "Anna", "spans": spans}) + "\n", encoding="utf-8")
    writing.write(formats.read(path), again)
    (written,) = json.loads(again.read_text(encoding="utf-8"))["spans"]
    assert written == {"start": 0, "end": 4, "label": "PER", "score": 0.5, "type": "LOC", "confidence": 0.9}
    with pytest.raises(InputError, match=r"2 further fields \(type, confidence\) of mentions"):
        writing.write(formats.read(path), tmp_path / "c.conll")
