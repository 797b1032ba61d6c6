"""Damaged files of every format are refused with an error of ours, never with a traceback."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from standoff_samples import GATE, PUBTATOR, TEXT, W2NER, XMI, label_studio
from tagged_samples import CONLLU, FLAIR, HIPE, WEBANNO

from spanwise.errors import SpanwiseError
from spanwise.formats import read

SAMPLES = {
    "pubtator": (PUBTATOR, "x.txt"),
    "label-studio": ("", "x.json"),
    "w2ner": (json.dumps(W2NER), "x.json"),
    "xmi": (XMI, "x.xmi"),
    "gate": (GATE, "x.xml"),
    "conllu": (CONLLU, "x.conllu"),
    "hipe": (HIPE, "x.tsv"),
    "flair": (FLAIR, "test.tsv"),
    "webanno": (WEBANNO, "x.tsv"),
    "brat": ("T1\tPER 0 7\tAnn Lee\nT2\tLOC 11 14;24 28\tNew Rome\n#1\tNote T1\tok\n", "a.ann"),
}


def damaged(draw: random.Random, text: str) -> str:
    """The text truncated, or with a character, the order of lines or some numbers changed."""
    position = draw.randrange(len(text))
    lines = text.split("\n")
    kind = draw.randrange(5)
    if kind == 0:
        return text[:position] or " "
    if kind == 1:
        return (
            text[:position]
            + draw.choice(["\t", "\n", '"', "[", "{", "-", "9", "\\", "|", "😀"])
            + text[position + 1 :]
        )
    if kind == 2:
        draw.shuffle(lines)
        return "\n".join(lines)
    if kind == 3:
        return text[:position] + text[position + draw.randint(1, 30) :] or " "
    other = ["-1", "0", "5", "99999", "1" + "0" * 20]
    return re.sub(r"\d+", lambda match: draw.choice(other) if draw.random() < 0.3 else match.group(), text)


def bent(draw: random.Random, value: Any) -> Any:
    """JSON with some values of another type, and some keys missing."""
    if draw.random() < 0.08:
        return draw.choice([None, 1, "x", [], {}, [None], {"a": 1}, True, 1.5, -1])
    if isinstance(value, dict):
        return {key: bent(draw, part) for key, part in value.items() if draw.random() > 0.03}
    return [bent(draw, part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", SAMPLES)
def test_a_damaged_file_is_read_or_refused(tmp_path: Path, name: str) -> None:
    text, file = SAMPLES[name]
    if name == "label-studio":
        text = json.dumps(label_studio(tmp_path / file))
    (tmp_path / "a.txt").write_text(TEXT)
    draw = random.Random(name)
    refused = 0
    for number in range(120):
        broken = damaged(draw, text)
        if text.startswith("[") and number % 2:
            broken = json.dumps(bent(draw, json.loads(text)))
        (tmp_path / file).write_text(broken, encoding="utf-8")
        try:
            read(tmp_path / file, format="xmi" if name == "gate" else name)
        except SpanwiseError as error:
            refused += 1
            assert str(tmp_path) in str(error), "an error says where"
    assert refused
