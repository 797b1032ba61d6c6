"""Every pair of formats: what is converted is equal, or it is refused."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from spanwise.corpus import Annotation
from spanwise.errors import InputError
from spanwise.formats import FORMATS, Options, from_spans, to_bytes
from spanwise.formats._losses import losses
from spanwise.formats._opening import File

NAMES = ["conll", "jsonl", "spans", "w2ner", "webanno", "conllu", "hipe", "pubtator", "label-studio"]
WORDS = ["Ann", "東京", "a b", "", " ", "\t", "\n", "\\", "|", "_", "*", "#", "B-X", "-DOCSTART-"]
WORDS += ["\ufeff", "\x0b", "é", "[1]", "\x85"]
LABELS = ["PER", "X-Y", "O", "NONE", "a b", "\\", "|", "_", "*", "[1]", "\ufeff", "é"]


def drawn(number: int) -> Annotation:
    """Random sentences with nested and crossing mentions; every other one is of plain words alone."""
    draw = random.Random(number)
    plain = number % 2 == 0
    tokens, spans = [], []
    for _ in range(draw.randrange(1, 4)):
        words = [draw.choice(WORDS[:2] if plain else WORDS) for _ in range(draw.randrange(1, 6))]
        chosen = set()
        for _ in range(draw.randrange(4)):
            start = draw.randrange(len(words))
            chosen.add(
                (start, draw.randrange(start, len(words)) + 1, draw.choice(LABELS[:2] if plain else LABELS))
            )
        tokens.append(words)
        spans.append(sorted(chosen))
    return from_spans(spans, tokens=tokens)


@pytest.mark.parametrize(("first", "second"), list(permutations(NAMES, 2)))
def test_a_pair_keeps_everything_or_refuses(first: str, second: str) -> None:
    for number in range(12):
        source = drawn(number)
        try:
            between = _through(source, first)
            last = _through(between, second)
        except InputError:
            continue
        assert losses(source, between) == []
        assert losses(between, last) == []


def _through(annotation: Annotation, name: str) -> Annotation:
    data, lost = to_bytes(annotation, name)
    assert lost == ()
    return FORMATS.find(name).read(File.of_bytes(f"x.{name}", data), Options(scheme=None))
