"""Every pair of formats keeps all that an annotation holds, or names what it loses.

Random annotations have scores, ids, documents with names, sentences, tokens, further fields, and nested and
discontinuous mentions. What is kept is judged by views that know nothing of how losses are found.
"""

from __future__ import annotations

import importlib.util
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from typed import present

from spanwise.corpus import Annotation
from spanwise.errors import InputError
from spanwise.formats import FORMATS, read
from spanwise.formats.holding import ASPECTS
from spanwise.formats.unread import unread
from spanwise.formats.writing import write

NEEDED = {"arrow": "pyarrow", "spacy": "spacy"}
WRITTEN = sorted(
    format.name
    for format in FORMATS
    if (format.write or format.write_folder) and importlib.util.find_spec(NEEDED.get(format.name, "spanwise"))
)
# The words that name each aspect in the report of a loss.
NAMED = {
    "words": "word",
    "white space": "white space",
    "tokens": "token",
    "sentences": "sentence boundar",
    "sentence ids": "sentence id",
    "documents": "document boundar",
    "document names": "document name",
    "nested": "nested",
    "discontinuous": "discontinuous",
    "scores": "score",
    "fields": "further field",
    "mention fields": "of mentions",
    "columns": "of tokens",
}


# ---- random annotations ----

WORDS = st.sampled_from(["Ann", "left", "Rome", "東京", "U.S.", "well-known", "é"])
NAMES = st.sampled_from(["a", "b", "doc-7", "news 3", "x.1"])
VALUES = st.sampled_from(["web", 1999, 0.5, True, None, ["a", 1], {"k": "v"}])


@st.composite
def drawn(draw: st.DrawFn) -> Annotation:
    """Up to four sentences or texts, with everything that a record can have."""
    whole, scored, named = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    fields = draw(st.lists(st.sampled_from(["source", "year", "meta"]), max_size=2, unique=True))
    documents = sorted(draw(st.lists(NAMES, min_size=4, max_size=4))) if draw(st.booleans()) else None
    records: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 4))):
        words = draw(st.lists(WORDS, min_size=2, max_size=5))
        body: Sequence[str] = draw(st.sampled_from([" ", "  "])).join(words) if whole else words
        borders = [0, 1, 2, len(words)] if not whole else [0, len(words[0]), len(body)]
        record: dict[str, Any] = {"text" if whole else "tokens": body, "spans": []}
        for label in draw(st.lists(st.sampled_from(["PER", "LOC", "ORG"]), max_size=2, unique=True)):
            start, end = sorted(draw(st.lists(st.sampled_from(borders), min_size=2, max_size=2, unique=True)))
            span: dict[str, Any] = {"start": start, "end": end, "label": label}
            if not whole and len(words) > 3 and draw(st.integers(0, 4)) == 0:
                span |= {"start": 0, "end": 3, "parts": [[0, 1], [2, 3]]}
            if scored and draw(st.booleans()):
                span["score"] = draw(st.floats(0, 1))
            if draw(st.integers(0, 5)) == 0:
                span["note"] = draw(st.sampled_from(["sure", 3]))
            record["spans"].append(span)
        if named:
            record["id"] = f"s{draw(st.integers(0, 9))}-{number}"
        if documents is not None:
            record["document"] = documents[number]
        records.append(record | {name: draw(VALUES) for name in fields})
    return read(records)


# ---- what an annotation holds, in positions among all its characters that are not blank ----


def views(annotation: Annotation) -> dict[str, Any]:
    corpus, mentions = annotation.corpus, annotation.mentions
    bodies = [corpus.texts[i] if corpus.texts is not None else corpus.words(i) for i in range(len(corpus))]
    begins = np.cumsum([0, *(len(bare(body)) for body in bodies)]).tolist()
    held: dict[str, Any] = {
        "words": "".join(map(bare, bodies)),
        "sentences": begins[1:-1],
        "sentence ids": unless_counting(corpus.ids),
        "documents": None if corpus.documents is None else [begins[i] for i in corpus.documents[1:-1]],
        "document names": unless_counting(corpus.document_ids),
        "fields": {name: list(map(json.dumps, column)) for name, column in corpus.fields.items()},
        "tokens": tokens(annotation, begins),
    }
    if corpus.texts is not None:
        held["white space"] = list(corpus.texts)
    rows = []
    for sentence, pieces, label in zip(
        mentions.sentence.tolist(), mentions.pieces(), mentions.names(), strict=True
    ):
        body, at = bodies[sentence], begins[sentence]
        if corpus.without_text:
            body = ["x"] * 99
        rows.append((sentence * corpus.without_text, label, tuple(
            (at + len(bare(body[:start])), at + len(bare(body[:end]))) for start, end in pieces
        )))  # fmt: skip
    held["mentions"] = sorted(rows)
    if mentions.score is not None:
        scored = [(row, s) for row, s in zip(rows, mentions.score.tolist(), strict=True) if s == s]
        held["scores"] = sorted(scored)
    held["mention fields"] = {
        name: sorted((row, str(v)) for row, v in zip(rows, column, strict=True) if v is not None)
        for name, column in mentions.fields.items()
    }
    return held


def bare(body: Sequence[str]) -> str:
    return "".join("".join(body).split())


def unless_counting(names: Sequence[str] | None) -> list[str] | None:
    """The names, unless they are those that a reader gives to what has none."""
    counted = [str(name).removeprefix("document ").lstrip("0") or "0" for name in names or ()]
    numbers = [[str(first + i) for i in range(len(counted))] for first in (0, 1)]
    return None if counted in numbers else list(names or ())


def tokens(annotation: Annotation, begins: list[int]) -> list[tuple[int, int]]:
    corpus, spans = annotation.corpus, []
    for number in range(len(corpus)):
        position = begins[number]
        for word in corpus.words(number):
            spans.append((position, position + len(word)))
            position += len(word)
    return spans


def differing(first: Annotation, second: Annotation) -> set[str]:
    """The aspects in which the second annotation lacks what the first has."""
    own, other = views(first), views(second)
    found = {
        aspect
        for aspect in ("sentence ids", "documents", "document names", "scores", "fields", "mention fields")
        if own.get(aspect) and own[aspect] != other.get(aspect)
    }
    if own["sentence ids"] == own["document names"]:  # each text is a document, so its name says the same
        found -= {"sentence ids"}
    if second.corpus.without_text and not first.corpus.without_text:
        return (found - {"scores", "mention fields", "documents"}) | {"words"}
    found |= {
        aspect for aspect in ("words", "sentences", "tokens", "mentions") if own[aspect] != other[aspect]
    }
    spaced = [" ".join(first.corpus.words(number)) for number in range(len(first.corpus))]
    if own.get("white space", spaced) != other.get("white space", spaced) and "white space" in own:
        found.add("white space")
    return found


def through(annotation: Annotation, name: str, folder: str, *, lossy: bool) -> tuple[Annotation, str]:
    """The annotation after writing and reading it, and the report of what was lost."""
    path = Path(tempfile.mkdtemp(dir=folder)) / ("x.parquet" if name == "arrow" else "x")
    lost = write(annotation, path, format=name, lossy=lossy)
    try:
        again = read(path, format=name, limits={"values": 2**62} if name != "arrow" else None)
    except InputError:  # too few tags to detect the scheme
        again = read(path, format=name, scheme="IOB2")
    assert unread(path, again) == ()
    return again, "; ".join(lost)


def check(source: Annotation, name: str, folder: str) -> Annotation | None:
    """The annotation read back from a format, after checking that it is equal or that the loss is named."""
    try:
        again, lost = through(source, name, folder, lossy=False)
        assert not lost
        assert differing(source, again) == set(), name
    except InputError as error:
        refused = str(error)
        try:
            again, lost = through(source, name, folder, lossy=True)
        except InputError:
            return None  # there is nothing that this format could hold, such as words
        assert lost
        assert lost in refused or "cannot hold" not in refused, (lost, refused)
        for aspect in differing(source, again):
            words = ("mention", "nested", "discontinuous") if aspect == "mentions" else (NAMED[aspect],)
            if aspect in ("scores", "mention fields"):  # which are lost with their mentions
                words = (*words, "nested", "discontinuous", "mention")
            assert any(word in lost for word in words), (name, aspect, lost)
    return again


@pytest.mark.parametrize("first", WRITTEN)
@given(source=drawn())
@settings(
    max_examples=6, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
def test_a_pair_of_formats_keeps_all_that_an_annotation_holds_or_names_it(
    first: str, source: Annotation
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        between = check(source, first, folder)
        for second in WRITTEN:
            if between is not None and second != "arrow":  # each of its files is read by a process of its own
                check(between, second, folder)


# ---- the declarations ----

ANN = {"tokens": ["Ann", "left"], "spans": [{"start": 0, "end": 1, "label": "PER"}]}
BO = {"tokens": ["Bo", "went"], "spans": []}
NESTED = [{"start": 0, "end": 2, "label": "X"}, {"start": 1, "end": 2, "label": "Y"}]
GAP = [{"start": 0, "end": 3, "label": "X", "parts": [[0, 1], [2, 3]]}]
HOLDING: dict[str, list[dict[str, Any]]] = {
    "words": [ANN],
    "white space": [{"text": "Ann  left.", "spans": []}],
    "tokens": [{"tokens": ["well-known", "(x)"], "spans": []}],
    "sentences": [ANN, BO],
    "sentence ids": [{**ANN, "id": "s7"}, {**BO, "id": "s3"}],
    "documents": [{**ANN, "document": "a"}, {**BO, "document": "b"}],
    "document names": [{**ANN, "document": "a"}, {**BO, "document": "b"}],
    "nested": [{"tokens": ["a", "b"], "spans": NESTED}],
    "discontinuous": [{"tokens": ["a", "b", "c"], "spans": GAP}],
    "scores": [{"tokens": ["a"], "spans": [[0, 1, "X", 0.25]]}],
    "fields": [{**ANN, "year": 1999}],
    "mention fields": [{"tokens": ["a"], "spans": [{"start": 0, "end": 1, "label": "X", "note": "n"}]}],
    "columns": [ANN],
}


@pytest.mark.parametrize("aspect", ASPECTS)
@pytest.mark.parametrize("name", WRITTEN)
def test_a_format_holds_what_it_declares_and_nothing_else(name: str, aspect: str, tmp_path: Path) -> None:
    source = read(HOLDING[aspect])
    if aspect == "columns":
        source = replace(source, corpus=replace(source.corpus, columns={"pos": np.array(["N", "V"])}))
    again, lost = through(source, name, str(tmp_path), lossy=True)
    declared = aspect in present(FORMATS.find(name).holds)
    without_words = aspect == "tokens" and again.corpus.without_text
    assert (NAMED[aspect] in lost or without_words) == (not declared), lost
    if declared:
        kind = "mentions" if aspect in ("nested", "discontinuous") else aspect
        assert kind not in differing(source, again)


def test_every_format_that_is_written_declares_what_it_holds() -> None:
    for name in WRITTEN:
        assert present(FORMATS.find(name).holds) <= set(ASPECTS)
    assert HOLDING.keys() == NAMED.keys() == ASPECTS.keys()


RICH = [
    {
        "id": f"s{number * 7}",
        "document": f"doc {number // 4}",
        "tokens": ["Ann", "of", "Old", "Rome", "(x)"],
        "spans": [
            {"start": 0, "end": 4, "label": "PER", "score": 0.25, "note": "sure"},
            *([{"start": 2, "end": 4, "label": "LOC"}] if number % 3 else []),
            *([{"start": 1, "end": 5, "label": "X", "parts": [[1, 2], [4, 5]]}] if number % 4 == 1 else []),
        ],
        "year": 1990 + number,
    }
    for number in range(12)
]


@pytest.mark.skipif("arrow" not in WRITTEN, reason="pyarrow is not installed")
@pytest.mark.parametrize("first", WRITTEN)
def test_arrow_keeps_what_another_format_left_of_a_rich_annotation(first: str, tmp_path: Path) -> None:
    between = check(read(RICH), first, str(tmp_path))
    if between is not None:
        check(between, "arrow", str(tmp_path))


@pytest.mark.parametrize("name", ["brat", "pubtator", "label-studio"])
@pytest.mark.parametrize("key", ["id", "document"])
def test_the_name_of_a_text_is_kept_where_each_text_is_a_document(
    name: str, key: str, tmp_path: Path
) -> None:
    """Ids and document names have one place in these formats, such as the name of a file."""
    records = [{key: f"n{number}", "text": f"Ann {number}", "spans": [[0, 3, "PER"]]} for number in range(12)]
    again, lost = through(read(records), name, str(tmp_path), lossy=False)
    assert not lost
    assert list(again.corpus.document_ids or again.corpus.ids or ()) == [f"n{at}" for at in range(12)]
