"""Every format reads back what it writes, and refuses to write what it could not read back."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from units import Unit, annotated

from spanwise.corpus import Annotation, Pieces
from spanwise.errors import SpanwiseError
from spanwise.formats import FORMATS, File, Limits, Options, read
from spanwise.formats.writing import write

WORDS = ["#", "# x = 1", "_", "-", "O", "B-PER", "[x]", "a|b", "a b", "*", "\\", "->", ";", "1", "😀", "\t",
         "\n", "", "\u00a0", "\u2028", "NER=B", "x\r", '"', "TOKEN", "1-1", "ID|t|", " a"]  # fmt: skip
LABELS = ["A|B", "X_Y", "a b", "*", "[1]", "A-B", "_", "O", "x\ty", "a;b", "a=b"]
OF_TOKENS = {"conllu": "x.conllu", "hipe": "x.tsv", "webanno": "x.tsv", "w2ner": "x.json", "spacy": "x.spacy",
             "arrow": "x.parquet"}  # fmt: skip
OF_TEXTS = {"brat": "folder", "pubtator": "x.pubtator", "label-studio": "x.json", "arrow": "x.parquet"}


def label(draw: random.Random) -> str:
    return draw.choice(["PER", "LOC"]) if draw.random() < 0.8 else draw.choice(LABELS)


def tokens(draw: random.Random) -> Annotation:
    """Up to four sentences with some unusual words, and with some mentions nested or discontinuous."""
    overlapping = draw.random() < 0.3
    units = []
    for number in range(draw.randint(1, 4)):
        size = draw.randint(1, 6)
        words = [
            draw.choice(["a", "Ann"]) if draw.random() < 0.8 else draw.choice(WORDS) for _ in range(size)
        ]
        mentions: list[tuple[Pieces, str]] = []
        position = 0
        while position < size:
            length = draw.randint(1, 3)
            if draw.random() < 0.4 and position + length <= size:
                mentions.append((((position, position + length),), label(draw)))
            position += length
        if overlapping and size > 3:
            mentions += [(((0, size),), "ALL"), (((0, 1), (2, 3)), "PIECES")][: draw.randint(1, 2)]
        units.append(Unit(words, mentions, f"d{number // 2}"))
    return annotated(*units)


def texts(draw: random.Random) -> Annotation:
    """Up to three texts with mentions anywhere in them."""
    units = []
    for number in range(draw.randint(1, 3)):
        text = "".join(draw.choice("ab \n.😀é|\t") for _ in range(draw.randint(7, 25)))
        mentions: dict[tuple[Pieces, str], None] = {}
        for _ in range(draw.randint(0, 3)):
            start = draw.randrange(len(text))
            mentions[((start, draw.randint(start + 1, len(text))),), label(draw)] = None
        if draw.random() < 0.2:
            mentions[((0, 1), (4, 6)), "PIECES"] = None
        units.append(Unit(text, list(mentions), str(number + 1)))
    return annotated(*units)


def content(annotation: Annotation, name: str) -> tuple[list[object], list[tuple[int, Pieces, str]]]:
    corpus, rows = annotation.corpus, annotation.mentions
    body: list[object] = [corpus.words(i) for i in range(len(corpus))]
    if corpus.texts is not None:
        body = list(corpus.texts)
    if name == "pubtator":  # splits a text over two lines, and replaces other line ends by spaces
        body = [str(text).replace("\n", " ").rstrip(" ") for text in body]
    return body, sorted(zip(rows.sentence.tolist(), rows.pieces(), rows.names(), strict=True))


def peers(name: str) -> None:
    for package in {"spacy": ["spacy"], "arrow": ["pyarrow"]}.get(name, []):
        pytest.importorskip(package, reason=f"{package} is not installed")


@pytest.mark.parametrize(
    ("name", "file", "make"),
    [(*item, tokens) for item in OF_TOKENS.items()] + [(*item, texts) for item in OF_TEXTS.items()],
)
def test_random_annotations_read_back_as_they_were(
    tmp_path: Path, name: str, file: str, make: Callable[[random.Random], Annotation]
) -> None:
    peers(name)
    draw = random.Random(name)
    path = tmp_path / file
    same = 0
    scheme = "IOB2" if name in ("conllu", "hipe") else None
    for number in range(60):
        first = make(draw)
        if "documents" not in (FORMATS.find(name).holds or ()):
            first = replace(first, corpus=replace(first.corpus, documents=None, document_ids=None))
        if path.is_dir():
            shutil.rmtree(path)
        try:
            write(first, path, format=name)
        except SpanwiseError:
            continue
        if name == "arrow" and number % 12:  # the decoding process takes half a second to start
            again = FORMATS.find(name).read(
                File.of_bytes(path, path.read_bytes()), Options(limits=Limits(values=2**62))
            )
        else:
            again = read(path, format=name, scheme=scheme)
        if name == "spacy" and content(again, name) != content(first, name):
            again = read(path, format=name, tag_column="sc")
        assert content(again, name) == content(first, name)
        same += 1
    assert same > 10
