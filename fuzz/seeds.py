"""Small files of every format, and hostile pieces: what the fuzzer starts from and puts together."""

# ruff: noqa: E501

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import standoff_samples as standoff
import tagged_samples as tagged

TEXTS: dict[str, tuple[str, str]] = {  # by format: a file's name and what it holds
    "conll": ("a.conll", "-DOCSTART- O\n\nAnn B-PER\nLee I-PER\nleft O\n\nRome B-LOC\n"),
    "merged": ("m.txt", "Ann B-PER B-PER\nleft O O\n\nRome B-LOC O\n"),
    "columns": ("c.tsv", "token\tpos\tner\nAnn\tNNP\tB-PER\nleft\tVBD\tO\n"),
    "spans": ("a.spans", "PER\t1\t2\t1, 2\nLOC\t4\t9\t4, 8, 9\n\nNONE\t999\t999\t999\n"),
    "jsonl-tags": ("a.jsonl", '{"tokens": ["Ann", "left"], "tags": ["B-PER", "O"], "id": "1"}\n'),
    "jsonl-spans": (
        "b.jsonl",
        '{"tokens": ["Ann", "Lee"], "spans": [[0, 2, "PER"], [0, 1, "X"]], "id": 7}\n',
    ),
    "jsonl-text": ("c.jsonl", '{"text": "Ann left", "spans": [{"start": 0, "end": 3, "label": "PER"}]}\n'),
    "jsonl-alone": ("d.jsonl", '{"spans": [[0, 2, "PER", 0.5]]}\n{"spans": []}\n'),
    "w2ner": ("a.json", '[{"sentence": ["Ann", "Lee"], "ner": [{"index": [0, 1], "type": "PER"}]}]'),
    "spert": ("b.json", '[{"tokens": ["Ann"], "entities": [{"start": 0, "end": 1, "type": "PER"}]}]'),
    "label-studio": (
        "l.json",
        '[{"id": 1, "data": {"text": "Ann left"}, "annotations": [{"result": [{"type": "labels", "value": '
        '{"start": 0, "end": 3, "text": "Ann", "labels": ["PER"]}}]}]}]',
    ),
    "pubtator": ("a.pubtator", standoff.PUBTATOR),
    "xmi": ("a.xmi", standoff.XMI),
    "gate": ("g.xmi", standoff.GATE),
    "conllu": ("a.conllu", tagged.CONLLU),
    "hipe": ("h.tsv", tagged.HIPE),
    "flair": ("test.tsv", tagged.FLAIR),
    "webanno": ("w.tsv", tagged.WEBANNO),
    "brat": ("a.ann", "T1\tPER 0 7\tAnn Lee\nT2\tLOC 11 14;24 28\tNew Rome\n"),
}
BRAT_TEXT = standoff.TEXT
MANIFEST = """\
predictions = "{system}.{run}.conll"
attributes = "entity_length,label"
resamples = 10
seed = 3
[buckets]
entity_length = "1,2"
[datasets.d]
test = "gold.conll"
train = "gold.conll"
scheme = "IOB2"
[systems.a]
factors = {size = "base"}
[systems.b]
[[compare]]
systems = ["a", "b"]
"""
# What has broken something somewhere.
PIECES = [
    "", " ", "\t", "\n", "\r\n", "\r", "\x00", "\x0b", "\x1c", "\x85", "\u2028", "\ufeff", "\u200b", "\u202e",
    "\ud7ff", "\U0001f600", "e\u0301", "\x1b[31m", "::error::", "²", "٣", "½", "-1", "0", "1", "2.7", "1e9",
    "1e999", "NaN", "Infinity", "-Infinity", str(2**31), str(2**63), str(2**64), "9" * 5000, "null", "true",
    "O", "B-", "I-", "B-PER", "I-PER", "S-X", "E-X", "U-X", "-DOCSTART-", "NONE", "EMPTY", "_", "*", "|", "\\",
    "[1]", "\\[", "#", "# newdoc", "# global.columns = ID FORM NER", "=", ",", ";", "{", "}", "[", "]", '"',
    "<!DOCTYPE x [<!ENTITY a 'b'>]>", "&a;", "<a>", "</a>", 'encoding="utf-7"', 'encoding="utf-16"',
    "{dataset}", "{system}", "{run}", "{", "../../etc/passwd", "a" * 2000, "[[" * 600, "{'a':" * 50,
]  # fmt: skip
VALUES: list[object] = [
    None, True, False, 0, -1, 1, 2.7, 1e308, float("inf"), float("nan"), 2**31, 2**63, 2**70, -(2**63), "",
    "x", "²", "\ud800", "\x00", "\n", [], {}, [[]], [[[[]]]], [0, 1, "X"], {"start": 0, "end": 1, "label": "X"},
    {"text": "x", "start": 0, "end": 9}, [None], ["a", 5], {"a": None}, "a" * 500, 10**400,
]  # fmt: skip


@cache
def documents() -> tuple[bytes, ...]:
    """Result documents of several verbs, to be damaged."""
    import spanwise

    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC"]]
    system = [["B-PER", "O", "O", "B-LOC"], ["O", "B-PER"]]
    tokens = [["Ann", "Lee", "in", "Rome"], ["the", "Alps"]]
    result = spanwise.evaluate(gold, {"a": system, "b": gold}, tokens=tokens, resamples=20)
    found = [json.dumps(result.to_dict()).encode()]
    described = spanwise.describe(gold, tokens=tokens)
    found.append(json.dumps(described.to_dict() if hasattr(described, "to_dict") else described).encode())
    return tuple(found)


@cache
def spacy_file() -> bytes:
    """A file of spaCy documents."""
    from spanwise.formats import from_spans, to_bytes

    return to_bytes(from_spans([[(0, 2, "PER"), (0, 1, "X")]], tokens=[["Ann", "Lee"]]), "spacy")[0]


@cache
def parquet_file() -> bytes:
    """A Parquet file of sentences."""
    from spanwise.formats import from_tags, to_bytes

    return to_bytes(from_tags([["B-PER", "O"]] * 3, tokens=[["Ann", "left"]] * 3), "arrow")[0]
