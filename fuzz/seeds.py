"""The seeds of the fuzzer: small files of every format, and hostile pieces."""

# ruff: noqa: E501

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from spanwise import Result as Evaluation
    from spanwise.corpus import Annotation

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import standoff_samples as standoff
import tagged_samples as tagged

TEXTS: dict[str, tuple[str, str]] = {  # by format: the name and the content of a file
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
# Strings that have broken some program.
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


GOLD = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC"]]
SYSTEM = [["B-PER", "O", "O", "B-LOC"], ["O", "B-PER"]]
TOKENS = [["Ann", "Lee", "in", "Rome"], ["the", "Alps"]]
SCORED = """\
{"tokens": ["Ann", "Lee", "in", "Rome"], "spans": [[0, 2, "PER", 0.9], [3, 4, "LOC", 0.25]]}
{"tokens": ["the", "Alps"], "spans": [[1, 2, "PER", 0.5]]}
"""
ANSWERS = (
    '{"id": "0", "answers": [{"text": "Ann Lee", "label": "PER"}, {"text": "rome", "label": "LOC"}]}\n'
    '{"id": "1", "answers": [["the Alps", "LOC"]]}\n',
    '{"tokens": ["Ann", "Lee", "in", "Rome"], "PER": ["Ann"], "LOC": ["Rome", "Paris"]}\n'
    '{"tokens": ["the", "Alps"], "PER": [], "LOC": ["Alps"]}\n',
    '{"id": 0, "response": "PER: Ann Lee\\nLOC: Rome"}\n{"id": 1, "response": "```json\\n[]\\n```"}\n',
    '{"id": 0, "response": "@@Ann Lee## in Rome"}\n{"id": 1, "response": "the <LOC>Alps</LOC>"}\n',
)
GATE = """\
fail_under = 20
[floors]
PER = 10
"fair/overall/f1" = 5
[slices.long]
where = "label=PER & entity_length>=2"
f1 = 50
mentions = 1
"""
# Requests to the workbench; {gold} is the only gold file in its folder.
REQUESTS = (
    '{"method": "GET", "path": "/api/v1/golds/{gold}/slice", "query": {"label": "PER", "entity_length": ">=1"}}',
    '{"method": "GET", "path": "/api/v1/golds/{gold}/mentions", "query": {"where": "label=PER", "after": "0"}}',
    '{"method": "GET", "path": "/api/v1/golds/{gold}/comparison", "query": {"a": "1", "b": "2"}}',
    '{"method": "POST", "path": "/api/v1/golds/{gold}/notes", "body": {"sentence": 0, "start": 0, "end": 1, '
    '"label": "PER", "tag": "odd", "text": "look", "by": "me"}}',
    '{"method": "POST", "path": "/api/v1/golds/{gold}/slices", "body": {"name": "s", "where": "label=PER", '
    '"score": "f1", "least": 50}}',
    '{"method": "POST", "path": "/api/v1/golds", "body": {"path": "gold.conll", "train": ["gold.conll"]}}',
    '{"method": "PUT", "path": "/api/v1/golds/{gold}/results", "query": {"system": "c"}, "body": "Ann B-PER"}',
    '{"method": "GET", "path": "/golds/{gold}/slice", "query": {"label": "PER", "sort": "f1", "q": "x"}}',
    '{"method": "GET", "path": "/golds/{gold}", "query": {"systems": "a", "by": "label", "intervals": "1"}}',
    '{"method": "DELETE", "path": "/api/v1/golds/{gold}/notes/1", "headers": {"if-match": "1"}}',
)
CONDITIONS = (
    "label=PER & entity_length>=2", "!label=PER,LOC & sLen<10", 'label="a,b", label!=LOC & tough=UNSEEN-ANY',
    "entity_length<=1, sentence_length>3", "eLen=XS",
)  # fmt: skip


class Verb(NamedTuple):
    """The input of one command: the name of its file, files to be damaged, and its weight."""

    name: str
    files: Callable[[], Sequence[bytes]]
    weight: float
    binary: bool = False


def _plain(*texts: str) -> Callable[[], Sequence[bytes]]:
    return lambda: [text.encode() for text in texts]


@cache
def gold() -> Annotation:
    """The gold annotation that the input files refer to."""
    import spanwise

    return spanwise.read(GOLD, tokens=TOKENS)


@cache
def evaluated() -> Evaluation:
    """A small evaluation with everything that conditions can test."""
    import spanwise

    return spanwise.evaluate(GOLD, {"a": SYSTEM, "b": GOLD}, tokens=TOKENS, train=gold(), resamples=20)


@cache
def documents() -> tuple[bytes, ...]:
    """A result document of every kind."""
    import spanwise

    system = spanwise.read(SYSTEM, tokens=TOKENS)
    with tempfile.TemporaryDirectory() as folder:
        scored = Path(folder) / "s.jsonl"
        scored.write_text(SCORED, encoding="utf-8")
        results = [
            evaluated(),
            spanwise.compare(GOLD, {"a": SYSTEM, "b": GOLD}, tokens=TOKENS, resamples=20),
            spanwise.describe(GOLD, tokens=TOKENS),
            spanwise.explain(GOLD, SYSTEM, tokens=TOKENS),
            spanwise.place(gold(), [{"id": "0", "answers": [["Ann", "PER"]]}, {"id": "1", "answers": []}]),
            spanwise.agree({"a": gold(), "b": system}),
            spanwise.confidence(gold(), {"a": str(scored)}, resamples=10),
            spanwise.suspects(gold(), {"a": system, "b": system}),
            spanwise.find_slices(gold(), {"a": system}, least=1, flips=20),
            spanwise.leaks(gold(), {"a": system, "b": gold()}, attributes="entity_length", resamples=20),
        ]
    return tuple(document.to_json().encode() for document in results)


@cache
def tuples() -> tuple[list[dict[str, object]], ...]:
    """Gold tuples and predictions of them, with an event, an attribute and a link among relations."""
    tokens = ["Ida", "Fenwick", "runs", "Petrel", "in", "Oslo"]
    spans = [("a", 0, 2, "PER"), ("b", 3, 4, "ORG"), ("c", 5, 6, "LOC"), ("d", 2, 3, "EVT")]
    mentions = [{"id": name, "start": start, "end": end, "label": label} for name, start, end, label in spans]
    gold = [
        {"type": "leads", "roles": {"head": "a", "tail": "b"}},
        {"type": "in", "roles": {"head": "b", "tail": "c"}},
        {"type": "Run", "trigger": "d", "roles": {"Agent": ["a"], "Place": ["c"]}},
        {"type": "negation", "roles": {"mention": "a", "value": {"value": "no"}}},
        {"type": "link", "roles": {"mention": "b", "link": {"link": ["Q1", "NIL"]}}},
    ]
    predicted = [
        {"type": "in", "roles": {"head": "a", "tail": "b"}},
        {"type": "in", "roles": {"head": "b", "tail": "a"}},
        {"type": "Run", "trigger": "d", "roles": {"Agent": ["b"]}},
        {"type": "negation", "roles": {"mention": "a", "value": {"value": "yes"}}},
        {"type": "link", "roles": {"mention": "b", "link": {"link": "NIL"}}},
    ]
    return tuple(
        [{"id": str(number), "tokens": tokens, "mentions": mentions, "tuples": rows} for number in range(3)]
        for rows in (gold, predicted)
    )


@cache
def worksheets() -> tuple[bytes, ...]:
    """Completed worksheets."""
    import spanwise
    from spanwise.suspicion import worksheet

    system = spanwise.read(SYSTEM, tokens=TOKENS)
    lines = worksheet(spanwise.suspects(gold(), {"a": system, "b": system})).splitlines()
    accepted = "\n".join([lines[0], *(f"{line}accept" for line in lines[1:])]) + "\n"
    return (
        accepted.encode(),
        b"sentence,start,end,label,decision\n1,0,2,PER,yes\n2,1,2,LOC,no\n1,2,3,X,yes\n",
    )


@cache
def edges() -> tuple[bytes, ...]:
    """A file written by --save-edges."""
    return (json.dumps(evaluated().edges()).encode(),)


@cache
def columns() -> tuple[bytes, ...]:
    """A file written by --columns."""
    from spanwise.evaluation.columns import mention_columns

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.npz"
        mention_columns(evaluated()).save(path)
        return (path.read_bytes(),)


@cache
def taggers() -> tuple[bytes, ...]:
    """The description and the weights of a small tagger."""
    import spanwise_taggers

    with tempfile.TemporaryDirectory() as folder:
        train = Path(folder) / "train.conll"
        train.write_text(TEXTS["conll"][1] * 3, encoding="utf-8")
        spanwise_taggers.train("crf", train, train).save(Path(folder) / "crf")
        return tuple((Path(folder) / "crf" / name).read_bytes() for name in ("tagger.json", "model.crfsuite"))


PAIRED: list[dict[str, Any]] = [  # gold of the target "paired"; predictions begin as the same without tokens
    {"id": "a", "document": "d1", "tokens": ["Ann", "left", "Rome"], "spans": [[0, 1, "PER"], [2, 3, "LOC"]]},
    {"id": "b", "document": "d1", "tokens": ["Bob", "Lee", "ran"], "spans": [[0, 2, "PER"]]},
    {"id": "c", "document": "d2", "tokens": ["It", "rains", "now"], "spans": []},
    {"id": "d", "document": "d3", "tokens": ["Rome", "is", "far"], "spans": [[0, 1, "LOC"]]},
]


VERBS = {
    "paired": Verb("p.jsonl", _plain("".join(json.dumps(row) + "\n" for row in PAIRED)), 12),
    "answers": Verb("answers.jsonl", _plain(*ANSWERS), 20),
    "scores": Verb("s.jsonl", _plain(SCORED), 8),
    "condition": Verb("condition.txt", _plain(*CONDITIONS), 10),
    "worksheet": Verb("sheet.csv", worksheets, 10),
    "gate": Verb("gate.toml", _plain(GATE), 4),
    "aliases": Verb("aliases.toml", _plain('person = "PER"\n[labels]\nplace = "LOC"\n'), 1),
    "edges": Verb("edges.json", edges, 1.5),
    "columns": Verb("a.npz", columns, 2, binary=True),
    "request": Verb("request.json", _plain(*REQUESTS), 1.5),
    "tagger": Verb("tagger.json", taggers, 0.2, binary=True),
}
if find_spec("pycrfsuite") is None:  # the extra zoo is not installed
    del VERBS["tagger"]


@cache
def spacy_file() -> bytes:
    """A file of spaCy documents."""
    from spanwise.formats import from_spans
    from spanwise.formats.writing import to_bytes

    return to_bytes(from_spans([[(0, 2, "PER"), (0, 1, "X")]], tokens=[["Ann", "Lee"]]), "spacy")[0]


@cache
def parquet_file() -> bytes:
    """A Parquet file of sentences."""
    from spanwise.formats import from_tags
    from spanwise.formats.writing import to_bytes

    return to_bytes(from_tags([["B-PER", "O"]] * 3, tokens=[["Ann", "left"]] * 3), "arrow")[0]
