"""Hostile inputs by number: the same number gives the same bytes, on any machine and in any order."""

# ruff: noqa: E501

from __future__ import annotations

import json
import random
from typing import Any, NamedTuple

from fuzz import seeds


class Input(NamedTuple):
    """One input: its target, the name and bytes of its file, and the options it is used with."""

    target: str  # read, document, manifest, options, or one of `verbs.TARGETS`
    name: str
    data: bytes
    options: dict[str, Any]
    arguments: tuple[str, ...] = ()


def input_of(number: int) -> Input:
    """The input with this number."""
    draw = random.Random(number)
    kind = draw.random()
    if kind < 0.93:
        return _file(draw)
    if kind < 0.936:
        document = draw.choice(seeds.documents())
        damage = _damaged_json if draw.random() < 0.5 else _disturbed
        return Input("document", "result.json", damage(draw, document), {})
    if kind < 0.94:
        return Input("manifest", "study.toml", _damaged(draw, seeds.MANIFEST.encode()), {})
    if kind < 0.943:
        return Input("options", "a.conll", b"", {}, _arguments(draw))
    if kind < 0.9995:
        return _of_verb(draw)
    return _packed(draw)


def _of_verb(draw: random.Random) -> Input:
    """A file for a single command: answers, worksheets, scores, conditions, thresholds and more."""
    target = draw.choices(list(seeds.VERBS), [kind.weight for kind in seeds.VERBS.values()])[0]
    verb = seeds.VERBS[target]
    data = draw.choice(verb.files())
    if target == "paired" and draw.random() < 0.8:
        return Input(target, verb.name, _mispaired(draw, data), {})
    if verb.binary:
        return Input(target, verb.name, _bytes(draw, data), {})
    structured = verb.name.endswith((".json", ".jsonl")) and draw.random() < 0.7
    return Input(target, verb.name, _damaged_json(draw, data) if structured else _damaged(draw, data), {})


def _mispaired(draw: random.Random, data: bytes) -> bytes:
    """Predictions in another order, with other ids or under another name, with a key or an annotation twice."""
    rows = [json.loads(line) for line in data.decode().splitlines()]
    if draw.random() < 0.7:
        for row in rows:
            del row["tokens"]
    for key in ("id", "document"):
        if draw.random() < 0.4:
            for row in rows:
                del row[key]
    draw.shuffle(rows)
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        row, other = draw.choice(rows), draw.choice(rows)
        change = draw.randrange(7)
        if change == 0:
            row["id"] = draw.choice(["a", "b", "x", "", 1, None, True])
        elif change == 1:
            row["document"] = draw.choice(["d1", "d2", "x", 1])
        elif change == 2:
            row[draw.choice(["entities", "labels", "ner"])] = draw.choice([row["spans"], other["spans"], []])
        elif change == 3:
            row["tags"] = draw.choice([["O", "O", "O"], ["B-PER", "O", "B-LOC"], ["I-PER", "I-PER", "O"]])
        elif change == 4:
            row.pop("id", None)
        elif change == 5:
            rows.insert(draw.randrange(len(rows)), dict(row))
        elif len(rows) > 1:
            rows.remove(row)
    if draw.random() < 0.2:
        field = draw.choice(["sent_id", "sentence_id", "uid", "_id", "_input_hash", "name"])
        rows = [{field if key == "id" else key: value for key, value in row.items()} for row in rows]
    lines = [json.dumps(row) for row in rows]
    if draw.random() < 0.15:
        position, key = draw.randrange(len(lines)), draw.choice(["spans", "id", "tokens"])
        lines[position] = lines[position][:-1] + f', "{key}": []}}'
    return "".join(f"{line}\n" for line in lines).encode()


def _file(draw: random.Random) -> Input:
    form = draw.choice(list(seeds.TEXTS))
    name, text = seeds.TEXTS[form]
    structured = name.endswith((".json", ".jsonl")) and draw.random() < 0.6
    data = _damaged_json(draw, text.encode()) if structured else _damaged(draw, text.encode())
    return Input("read", name, data, _options(draw))


def _packed(draw: random.Random) -> Input:
    """A binary file, which costs more to read."""
    if draw.random() < 0.7:
        return Input("read", "a.spacy", _bytes(draw, seeds.spacy_file()), {})
    return Input("read", "a.parquet", _bytes(draw, seeds.parquet_file()), {})


def _options(draw: random.Random) -> dict[str, Any]:
    if draw.random() < 0.6:
        return {}
    choices: list[dict[str, Any]] = [
        {
            "format": draw.choice(
                ["conll", "jsonl", "spans", "w2ner", "webanno", "conllu", "hipe", "xmi", "flair"]
            )
        },
        {"tag_column": draw.choice([0, 1, -1, 99, "NER", "gold", "²", "sc"])},
        {"token_column": draw.choice([0, 5, -3, "FORM"])},
        {"scheme": draw.choice(["IOB1", "IOB2", "BIOES", "IO"])},
        {"repair": draw.choice(["conlleval", "discard", "none"])},
        {"duplicates": "drop"},
        {"documents": draw.choice(["none", "document", "id"])},
        {"encoding": draw.choice(["latin-1", "utf-16", "utf-7", "cp1252", "no such"])},
        {"labels": ["O", "B-PER"]},
        {"comments": "#"},
    ]
    return draw.choice(choices)


def _damaged(draw: random.Random, data: bytes) -> bytes:
    """Text with changed lines, columns and bytes."""
    for _ in range(draw.choice([1, 1, 2, 4, 8])):
        way = draw.random()
        if way < 0.25:
            data = _bytes(draw, data)
        elif way < 0.6:
            data = _columns(draw, data)
        else:
            data = _lines(draw, data)
    return data


def _bytes(draw: random.Random, data: bytes) -> bytes:
    if not data:
        return b"\x00"
    position = draw.randrange(len(data))
    way = draw.randrange(4)
    if way == 0:
        return data[:position]
    if way == 1:
        return data[:position] + bytes([draw.randrange(256)]) + data[position + 1 :]
    if way == 2:
        return (
            data[:position]
            + data[position : position + draw.randrange(1, 40)] * draw.randrange(2, 5)
            + data[position:]
        )
    return data[:position] + data[position + draw.randrange(1, 20) :]


def _columns(draw: random.Random, data: bytes) -> bytes:
    """Text in which a word of a line is replaced by a hostile piece."""
    piece = draw.choice(seeds.PIECES).encode("utf-8", "surrogatepass")
    lines = data.split(b"\n")
    position = draw.randrange(len(lines))
    for separator in draw.sample([b"\t", b" ", b",", b"=", b"|", b'"', b":"], 7):
        parts = lines[position].split(separator)
        if len(parts) > 1:
            parts[draw.randrange(len(parts))] = piece
            lines[position] = separator.join(parts)
            return b"\n".join(lines)
    lines[position] = piece
    return b"\n".join(lines)


def _lines(draw: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    position, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    way = draw.randrange(4)
    if way == 0:
        lines[position], lines[other] = lines[other], lines[position]
    elif way == 1:
        lines.insert(position, lines[other])
    elif way == 2:
        del lines[position]
    else:
        lines[position : position + 1] = [
            lines[position],
            draw.choice(seeds.PIECES).encode("utf-8", "surrogatepass"),
        ]
    return b"\n".join(lines)


def _damaged_json(draw: random.Random, data: bytes) -> bytes:
    """JSON in which some values are replaced by values of any type."""
    lines = data.decode().strip().split("\n")
    position = draw.randrange(len(lines))
    try:
        value = json.loads(lines[position])
    except ValueError:
        return _damaged(draw, data)
    for _ in range(draw.choice([1, 1, 2, 3])):
        value = _replaced(draw, value)
    lines[position] = json.dumps(value, ensure_ascii=draw.random() < 0.5 or _has_half(value))
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _disturbed(draw: random.Random, data: bytes) -> bytes:
    """JSON in which some numbers, names and lengths differ, but all values keep their types."""
    value = json.loads(data)
    for _ in range(draw.choice([1, 2, 4])):
        value = _nudged(draw, value)
    return json.dumps(value).encode()


def _nudged(draw: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value:
        key = draw.choice(list(value))
        if draw.random() < 0.05:
            return {f"{name}x" if name == key else name: inner for name, inner in value.items()}
        return {**value, key: _nudged(draw, value[key])}
    if isinstance(value, list) and value:
        position = draw.randrange(len(value))
        if draw.random() < 0.15:
            return value[:position]
        return [*value[:position], _nudged(draw, value[position]), *value[position + 1 :]]
    if isinstance(value, str):
        return draw.choice(["", "x", "PER", "LOC", f"{value}x", "\x1b[31m", "<script>"])
    if isinstance(value, int | float) and not isinstance(value, bool):
        return draw.choice([0, 1, -1, 2, 0.5, 10**6, value + 1])
    return draw.choice([None, True, False])


def _has_half(value: Any) -> bool:
    return "\\ud800" in json.dumps(value)


def _replaced(draw: random.Random, value: Any) -> Any:
    """The value with one change at any depth."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        key = draw.choice(list(value))
        way = draw.random()
        if way < 0.1:
            return {other: inner for other, inner in value.items() if other != key}
        if way < 0.2:
            return {**value, str(draw.choice(seeds.PIECES[:40])): draw.choice(seeds.VALUES)}
        return {**value, key: _replaced(draw, value[key])}
    if isinstance(value, list) and value and draw.random() < 0.8:
        position = draw.randrange(len(value))
        if draw.random() < 0.1:
            return [*value[:position], *value[position:], *value]
        return [*value[:position], _replaced(draw, value[position]), *value[position + 1 :]]
    return draw.choice(seeds.VALUES)


_FLAGS = [
    "--scheme", "--repair", "--tag-column", "--token-column", "--format", "--separator", "--labels", "--documents",
    "--encoding", "--limit", "--seed", "--resamples", "--confidence", "--attributes", "--attribute", "--buckets",
    "--cross", "--focus", "--weights", "--workers", "--memory", "--fail-under", "--floor", "--align", "--width",
    "--color", "--examples", "--examples-cap", "--redact", "--quiet", "--name", "--unit", "--to", "--most", "--json",
    "--policy", "--level", "--threshold", "--aliases", "--repeats", "--unknown", "--prompt-unit", "--response",
    "--sample", "--over", "--depth", "--least", "--flips", "--confirm", "--precision", "--missing", "--score-column",
    "--token-scores", "--dev", "--votes", "--tokens", "--decisions", "--top", "--apply", "--where", "--set",
    "--gate", "--edges", "--answers", "--against", "--figure", "--table", "--device", "--scores",
]  # fmt: skip
_WORDS = [
    "", "-", "-1", "0", "1", "1.5", "nan", "inf", "²", "1e999", str(2**63), "9" * 5000, "x", "a,b", "a=b", "=", "label",
    "entity_length", "entity_length=1,2", "entity_length=balanced:1000000000", "label=column:²", "w=column:0",
    "IOB2", "conll", "jsonl", "none", "all", "labels=5", "512MB", "100000", "BE = 0.5 TP", "BE = 9e999 TP", "PER=90",
    "utf-16", "\x1b[31m", "::error::", "{", "entity_length=1,,2", "entity_length=nan", "sentence", "fu20,fu20",
    "label=PER & entity_length>=1", "!label=PER", "entity_length>=nan", "uie", "fuzzy", "document", "a.conll", "s.jsonl",
    "{annotator}.conll", "a{run}.conll", "epochs=-1", "epochs=1e9", "hidden=0", "min", "cpu", "cuda:99", "1e-320",
]  # fmt: skip
_CALLS: dict[str, list[str]] = {
    "evaluate": ["a.conll", "a.conll"], "compare": ["a.conll", "x=a.conll", "y=a.conll"], "describe": ["a.conll"],
    "validate": ["a.conll"], "convert": ["a.conll", "-"], "explain": ["a.conll", "a.conll"],
    "errors": ["a.conll", "a.conll"], "list": [], "cite": [], "place": ["a.conll", "answers.jsonl"],
    "slices": ["a.conll", "a.conll", "--flips", "20"], "confidence": ["a.conll", "s.jsonl", "--resamples", "10"],
    "apply": ["s.jsonl", "-o", "out.jsonl", "--threshold", "0.5"], "agree": ["x=a.conll", "y=a.conll"],
    "suspects": ["a.conll", "x=a.conll", "y=a.conll"], "table": ["result.json"], "export": ["result.json"],
    "report": ["result.json"], "tag": ["tagger", "a.conll", "-o", "out.conll"],
}  # fmt: skip


def _arguments(draw: random.Random) -> tuple[str, ...]:
    """A command with random options."""
    command = draw.choice(list(_CALLS))
    words = [command, *_CALLS[command]]
    for _ in range(draw.choice([0, 1, 1, 2, 3])):
        words.append(draw.choice(_FLAGS))
        if draw.random() < 0.9:
            words.append(draw.choice(_WORDS))
    return tuple(words)
