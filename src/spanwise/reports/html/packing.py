"""The sentences of a document, packed for the page: short rows, deflated, in base64."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from spanwise.reports import _wording as words
from spanwise.reports._charts.evaluation import label_order
from spanwise.reports._document import ranked

OUTCOMES = ("TP", "LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP")
_CODE = {outcome: code for code, outcome in enumerate(OUTCOMES)}
_WORD = re.compile(r"\w+|[^\w\s]")


def packed(value: Mapping[str, Any]) -> str:
    """Anything for the page's script: base64 of deflated JSON."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Halves of surrogate pairs have no UTF-8; the page shows them as what they are not: a mark.
    data = text.encode("utf-8", "replace")
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def contents(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the script needs to show examples: names once, then columns of numbers that point to them."""
    systems = ranked(document)
    sentences = document.get("sentences") or []
    labels = label_order(document)
    tough = list(words.TOUGH)
    attributes = _attributes(document)
    packer = _Packer(systems, labels, tough, attributes)
    settings = document.get("settings") or {}
    return {
        "systems": systems, "labels": labels, "tough": tough, "toughWords": words.TOUGH,
        "outcomes": words.OUTCOMES, "attributes": attributes, "redacted": bool(settings.get("redacted")),
        "known": _known(document, systems),
        "examples": document.get("examples") or {"policy": "none", "cap": 0, "shown": 0, "of": 0},
        "sentences": _columns([packer.sentence(row) for row in sentences]),
    }  # fmt: skip


def _known(document: Mapping[str, Any], systems: Sequence[str]) -> dict[str, list[list[Any]]]:
    """Gold, predicted and correct of every system, and an interval, for each single filter."""
    found: dict[str, list[list[Any]]] = {}

    def add(key: str, place: int, cell: Mapping[str, Any], gold: str = "gold", score: str = "f1") -> None:
        rows = found.setdefault(key, [[0, 0 if gold == "gold" else None, 0] for _ in systems])
        ends = (cell.get("interval") or {}).get(score) or ()
        rows[place] = [cell[gold], cell["predicted"] if gold == "gold" else None, cell["correct"], *ends]

    for place, name in enumerate(systems):
        system = document["systems"][name]
        add("", place, system["exact"]["overall"])
        for label, cell in system["exact"]["labels"].items():
            add(f"gold\n{label}", place, cell)
        for subset, table in (system.get("tough") or {}).items():
            add(f"tough\n{subset}", place, table["overall"], "mentions", "recall")
        for attribute, table in (system.get("attributes") or {}).items():
            if table["unit"] == "mention":
                for cell in table["buckets"]:
                    add(f"bucket\n{attribute}\n{cell['name']}", place, cell)
    return found


def _columns(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The rows turned: texts beside texts and numbers beside numbers deflate a sixth better."""
    return [[row[at] if at < len(row) else 0 for row in rows] for at in range(6)]


def _attributes(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The attributes of mentions with the names and intervals of their buckets, as any system has them."""
    found: dict[str, dict[str, Any]] = {}
    for system in (document.get("systems") or {}).values():
        for name, table in (system.get("attributes") or {}).items():
            if table["unit"] != "mention":
                continue
            row = found.setdefault(
                name,
                {"name": name, "title": words.attribute(name), "buckets": [], "titles": [], "bounds": []},
            )
            for bucket in table["buckets"]:
                if bucket["name"] not in row["buckets"]:
                    row["buckets"].append(bucket["name"])
                    row["titles"].append(words.bucket(bucket))
                    ends = (bucket.get("low"), bucket.get("high"))
                    row["bounds"].append([*ends, bool(bucket.get("special"))])
    return list(found.values())


class _Packer:
    """Turns sentences of the document into rows; unknown labels and buckets join their lists."""

    def __init__(
        self, systems: Sequence[str], labels: list[str], tough: list[str], attributes: list[dict[str, Any]]
    ) -> None:
        self._systems = systems
        self._labels = labels
        self._label = {label: code for code, label in enumerate(labels)}
        self._tough = {name: bit for bit, name in enumerate(tough)}
        self._attributes = [
            (row["name"], {name: code for code, name in enumerate(row["buckets"])}) for row in attributes
        ]

    def sentence(self, row: Mapping[str, Any]) -> list[Any]:
        """One sentence: id, source, tokens, gold mentions, mentions of each system, offsets of pieces."""
        tokens, where, offsets = _text(row)
        gold = [
            [
                *where(mention), self._code(mention["label"]),
                [_CODE[mention["outcome"][name]] for name in self._systems],
                [_or_none(mention["partner"].get(name)) for name in self._systems],
                sum(1 << self._tough[name] for name in mention.get("tough") or () if name in self._tough),
                self._buckets(mention), *_parts(mention, where),
            ]
            for mention in row["gold"]
        ]  # fmt: skip
        systems = [
            [
                [
                    *where(mention), self._code(mention["label"]), _CODE[mention["outcome"]],
                    _or_none(mention.get("partner")), self._buckets(mention), *_rest(mention, where),
                ]
                for mention in row["systems"].get(name) or ()
            ]
            for name in self._systems
        ]  # fmt: skip
        packed_row = [str(row.get("id") or ""), str(row.get("source") or ""), tokens, gold, systems]
        return [*packed_row, offsets] if offsets else packed_row

    def _code(self, label: str) -> int:
        if label not in self._label:
            self._label[label] = len(self._labels)
            self._labels.append(label)
        return self._label[label]

    def _buckets(self, mention: Mapping[str, Any]) -> list[int]:
        own = mention.get("buckets") or {}
        return [codes.get(own.get(name), -1) for name, codes in self._attributes]


def _or_none(place: int | None) -> int:
    return -1 if place is None else place


def _parts(mention: Mapping[str, Any], where: Any) -> list[Any]:
    parts = mention.get("parts")
    if not parts:
        return []
    return [[list(where({"start": start, "end": end})) for start, end in parts]]


def _rest(mention: Mapping[str, Any], where: Any) -> list[Any]:
    """The parts of a mention that has several, and what was said of one that has no place."""
    parts = list(_parts(mention, where))
    return [*(parts or [None]), mention["answer"]] if mention.get("answer") else parts


def _text(row: Mapping[str, Any]) -> tuple[Any, Any, list[int]]:
    """The tokens to show, how positions of mentions map to them, and where they lie in the text."""
    tokens = row.get("tokens")
    if tokens is not None:
        plain = all(token and not re.search(r"\s", token) for token in tokens)
        return (" ".join(tokens) if plain and tokens else list(tokens)), _span, []
    mentions = [*row["gold"], *(m for rows in row["systems"].values() for m in rows)]
    if row.get("text") is None:
        # Redacted: as many blanks as there were tokens.
        length = row.get("length") or max((m["end"] for m in mentions), default=0)
        return int(length), _span, []
    return _pieces(row["text"], mentions)


def _span(mention: Mapping[str, Any]) -> tuple[int, int]:
    return mention["start"], mention["end"]


def _pieces(text: str, mentions: Sequence[Mapping[str, Any]]) -> tuple[list[str], Any, list[int]]:
    """Words and signs of a text, cut wherever a mention begins or ends, so that spans fall on pieces."""
    cuts = {m[key] for m in mentions for key in ("start", "end")}
    cuts |= {end for m in mentions for part in m.get("parts") or () for end in part}
    pieces: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        inner = sorted({match.start(), match.end(), *(c for c in cuts if match.start() < c < match.end())})
        pieces += pairwise(inner)
    starts = [start for start, _ in pieces]

    def where(mention: Mapping[str, Any]) -> tuple[int, int]:
        if mention["start"] < 0:
            return -1, -1
        inside = [
            place
            for place, (start, end) in enumerate(pieces)
            if start < mention["end"] and end > mention["start"]
        ]
        if inside:
            return inside[0], inside[-1] + 1
        # A mention of blanks alone has no piece; it stands at the next one.
        place = min(sum(start < mention["start"] for start in starts), max(len(pieces) - 1, 0))
        return place, place + 1

    return [text[a:b] for a, b in pieces], where, [end for piece in pieces for end in piece]
