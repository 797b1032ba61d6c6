"""The sentences and mentions of a dataset, packed for the script of the page."""

from __future__ import annotations

import base64
import json
import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import TypeAlias, TypedDict

import numpy as np
from msgspec import UNSET, to_builtins

from spanwise.columns import Column
from spanwise.corpus import in_text
from spanwise.document import given
from spanwise.document.evaluation import Evaluation, GoldMention, PredictedMention, Sentence
from spanwise.document.scores import BucketScores, ExactScores, SubsetRecall, SystemScores
from spanwise.mentions import MentionTable
from spanwise.reports.errors import places_of_patterns
from spanwise.student import t_polynomial
from spanwise.views import wording as words
from spanwise.views.lookups import scored_labels
from spanwise.views.shown import ShownDataset

# ---- sentences in short rows, deflated, in base64 --------------------------------------------------


OUTCOMES = ("TP", "LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP")
_CODE = {outcome: code for code, outcome in enumerate(OUTCOMES)}
_WORD = re.compile(r"\w+|[^\w\s]")

Mention: TypeAlias = GoldMention | PredictedMention
Where: TypeAlias = Callable[[int, int], tuple[int, int]]  # maps a span to the tokens that are shown


def packed(value: Mapping[str, object]) -> str:
    """A value for the script of the page: JSON, deflated, in base64."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Unpaired surrogates cannot be encoded as UTF-8; the page shows a question mark instead.
    data = text.encode("utf-8", "replace")
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def contents(shown: ShownDataset) -> dict[str, object]:
    """The data the script needs to show examples: lists of names, and columns of indices into them."""
    document = shown.document
    systems = list(shown.run_names)
    labels = scored_labels(document)
    tough = list(words.TOUGH)
    attributes = _attributes(document)
    packer = _Packer(systems, labels, tough, attributes)
    rows = [packer.sentence(row) for row in shown.sentences]
    position = {name: index for index, name in enumerate(systems)}
    return {
        "name": shown.name, "names": list(shown.order), "systems": systems, "labels": labels, "tough": tough,
        "middle": [position[shown.middle(name)] for name in shown.order],
        "owner": [list(shown.order).index(name) for name, _ in shown.run_names.values()],
        "toughWords": words.TOUGH, "outcomes": words.OUTCOMES, "attributes": attributes,
        "redacted": document.settings.redacted, "known": _filter_counts(shown, systems),
        "confidence": document.settings.confidence,
        "z": NormalDist().inv_cdf((1 + document.settings.confidence) / 2),
        "t": t_polynomial(document.settings.confidence),
        "examples": to_builtins(shown.examples), "units": _units(document, shown.sentences),
        "codes": _codes(document, systems, packer),
        "patterns": [places_of_patterns(shown, *owner) for owner in shown.run_names.values()],
        "sentences": _columns(rows),
    }  # fmt: skip


def _units(document: Evaluation, sentences: Sequence[Sentence]) -> list[int] | str:
    """The resampling unit of each sentence; only its name if the units are not in the document."""
    if document.settings.unit == "sentence":
        return list(range(len(sentences)))
    if document.settings.unit != "document" or any(row.document in (None, UNSET) for row in sentences):
        return document.settings.unit
    number: dict[object, int] = {}
    return [number.setdefault(row.document, len(number)) for row in sentences]


def _codes(document: Evaluation, systems: Sequence[str], packer: _Packer) -> dict[str, object] | None:
    """Every mention as indices into the lists of the page; None if the document does not have them."""
    if document.mentions is UNSET or (
        document.mentions.gold and not set(systems) <= set(document.mentions.systems)
    ):
        return None
    from spanwise.mentions.packing import coded, in_order_of_gold, unpack_codes  # not always needed

    about: dict[str, object] = {"number": document.mentions.number, "cap": document.mentions.cap}
    codes = document.mentions
    tables = unpack_codes(codes, location="the document")
    if tables is None:
        return about
    labels = [packer.code(label) for label in codes.labels]
    subsets = [packer.tough.get(name, -1) for name in codes.subsets]
    masks = [
        sum(1 << to for at, to in enumerate(subsets) if to >= 0 and mask >> at & 1) for mask in range(256)
    ]
    buckets = {
        name: [shown.get(bucket, -1) for bucket in codes.buckets[name]]
        for name, shown in packer.attributes
        if name in codes.buckets
    }

    def side(table: MentionTable) -> list[object]:
        columns = coded(table)
        unit = columns["unit"].astype(np.int64)
        steps = np.diff(unit, prepend=0)
        return [
            _characters(steps) if len(steps) == 0 or steps.min() >= 0 else unit.tolist(),
            _recoded(columns["label"], labels),
            [
                _recoded(columns[f"bucket {name}"], buckets[name]) if name in buckets else None
                for name, _ in packer.attributes
            ],
            _recoded(columns["tough"], masks) if "tough" in columns else None,
        ]

    def system(name: str) -> list[object]:
        return [_characters(tables.gold[f"found.{name}"]), *side(in_order_of_gold(tables.systems[name]))]

    return {**about, "gold": side(tables.gold), "systems": [system(name) for name in systems]}


FIRST = 40  # the code of the character for 0; of those that follow, only the backslash needs escaping


def _characters(column: Column) -> str | list[int]:
    """Numbers from -1 up as one character each; unchanged if one of them is too large."""
    if int(column.max(initial=0)) >= 0xD800 - FIRST:
        return [int(value) for value in column]
    return (column.astype(np.int64) + FIRST).astype("<u4").tobytes().decode("utf-32-le")


def _recoded(column: Column, table: Sequence[int]) -> str | list[int]:
    return _characters(np.asarray(table or [0])[column])


def _filter_counts(shown: ShownDataset, names: Sequence[str]) -> dict[str, list[list[object]]]:
    """For each single filter: gold, predicted and correct counts of every run, with an interval."""
    counts: dict[str, list[list[object]]] = {}

    def add(key: str, index: int, cell: ExactScores | BucketScores) -> None:
        rows = counts.setdefault(key, [[0, 0, 0] for _ in names])
        rows[index] = [cell.gold, cell.predicted, cell.correct, *(cell.ends("f1") or ())]

    def add_subset(key: str, index: int, cell: SubsetRecall) -> None:
        rows = counts.setdefault(key, [[0, None, 0] for _ in names])
        rows[index] = [cell.mentions, None, cell.correct, *(cell.ends("recall") or ())]

    for index, (name, run) in enumerate(shown.run_names.values()):
        system: SystemScores = shown.runs[name][run]
        add("", index, system.exact.overall)
        for label, cell in system.exact.labels.items():
            add(f"gold\n{label}", index, cell)
        for subset, table in system.tough.items():
            add_subset(f"tough\n{subset}", index, table.overall)
        for attribute, buckets in system.attributes.items():
            if buckets.unit == "mention":
                for bucket in buckets.buckets:
                    add(f"bucket\n{attribute}\n{bucket.name}", index, bucket)
    return counts


def _columns(rows: Sequence[Sequence[object]]) -> list[list[object]]:
    """Transpose the rows: with texts next to texts, and numbers to numbers, they deflate a sixth better."""
    return [[row[at] if at < len(row) else 0 for row in rows] for at in range(7)]


class PackedAttribute(TypedDict):
    """An attribute of mentions with the names and intervals of its buckets."""

    name: str
    title: str
    buckets: list[str]
    titles: list[str]
    bounds: list[list[float | bool | None]]


def _attributes(document: Evaluation) -> list[PackedAttribute]:
    """The attributes of mentions, with the buckets that any system has."""
    attributes: dict[str, PackedAttribute] = {}
    for system in document.systems.values():
        for name, table in system.attributes.items():
            if table.unit != "mention":
                continue
            row = attributes.setdefault(
                name,
                {"name": name, "title": words.attribute(name), "buckets": [], "titles": [], "bounds": []},
            )
            for bucket in table.buckets:
                if bucket.name not in row["buckets"]:
                    row["buckets"].append(bucket.name)
                    row["titles"].append(words.bucket(bucket))
                    row["bounds"].append(_bounds(bucket))
    return list(attributes.values())


def _bounds(bucket: BucketScores) -> list[float | bool | None]:
    """Both ends of a bucket, and whether it holds one special value."""
    ends = [given(bucket.low), given(bucket.high)]
    return [*ends, bool(bucket.special)]


class _Packer:
    """Turns sentences of the document into rows; labels without scores are added to the list of labels."""

    def __init__(
        self,
        systems: Sequence[str],
        labels: list[str],
        tough: Sequence[str],
        attributes: list[PackedAttribute],
    ) -> None:
        self._systems = systems
        self._labels = labels
        self._label = {label: code for code, label in enumerate(labels)}
        self.tough = {name: bit for bit, name in enumerate(tough)}
        self.attributes = [
            (row["name"], {name: code for code, name in enumerate(row["buckets"])}) for row in attributes
        ]

    def sentence(self, row: Sentence) -> list[object]:
        """One sentence: id, source, tokens, gold mentions, mentions of each system, offsets of pieces.

        A text in several lines has them as well: the first piece and the number of each, one after another.
        """
        tokens, where, offsets, lines = _text(row)
        gold = [
            [
                *where(mention.start, mention.end), self.code(mention.label),
                [_CODE[mention.outcome[name]] for name in self._systems],
                [_or_minus_one(mention.partner.get(name)) for name in self._systems],
                sum(1 << self.tough[name] for name in mention.tough or () if name in self.tough),
                self._buckets(mention), *_parts(mention, where),
            ]
            for mention in row.gold
        ]  # fmt: skip
        systems = [
            [self._predicted(mention, where, gold) for mention in row.systems.get(name) or ()]
            for name in self._systems
        ]
        packed_row = [str(row.id), row.source or "", tokens, gold, systems]
        return [*packed_row, offsets, lines or 0] if offsets else packed_row

    def _predicted(
        self, mention: PredictedMention, where: Where, gold: Sequence[Sequence[object]]
    ) -> list[object] | int:
        """A predicted mention; only the index of its gold mention if the two are identical."""
        start, end = where(mention.start, mention.end)
        label, buckets, rest = self.code(mention.label), self._buckets(mention), _rest(mention, where)
        if mention.outcome == "TP" and mention.partner is not None:
            partner = gold[mention.partner]
            if [start, end, label, buckets, *rest] == [*partner[:3], *partner[6:]]:
                return mention.partner
        return [start, end, label, _CODE[mention.outcome], _or_minus_one(mention.partner), buckets, *rest]

    def code(self, label: str) -> int:
        """The index of a label, which is added if it is new."""
        if label not in self._label:
            self._label[label] = len(self._labels)
            self._labels.append(label)
        return self._label[label]

    def _buckets(self, mention: Mention) -> list[int]:
        own = mention.buckets or {}
        return [codes.get(own.get(name) or "", -1) for name, codes in self.attributes]


def _or_minus_one(index: int | None) -> int:
    return -1 if index is None else index


def _parts(mention: Mention, where: Where) -> list[object]:
    return [[list(where(start, end)) for start, end in mention.parts]] if mention.parts else []


def _rest(mention: PredictedMention, where: Where) -> list[object]:
    """The parts of a mention that has several, and the answer behind one without a position."""
    parts = _parts(mention, where)
    return [*(parts or [None]), mention.answer] if mention.answer else parts


def _text(row: Sentence) -> tuple[object, Where, list[int], list[int]]:
    """The tokens to show, the mapping from spans to them, and their offsets and lines in the text."""
    if row.tokens is not UNSET:
        plain = all(token and not re.search(r"\s", token) for token in row.tokens)
        return (" ".join(row.tokens) if plain and row.tokens else list(row.tokens)), _span, [], []
    mentions: list[Mention] = [*row.gold, *(mention for rows in row.systems.values() for mention in rows)]
    if row.text is UNSET:
        # Redacted: show as many blanks as there were tokens.
        length = row.length or max((mention.end for mention in mentions), default=0)
        return int(length), _span, [], []
    pieces, where, offsets = _pieces(row.text, mentions)
    lines = _lines(row.text, offsets) if in_text(row.source, given(row.document)) else []
    return pieces, where, offsets, lines


def _lines(text: str, offsets: Sequence[int]) -> list[int]:
    """The first piece of every line that has one, and the number of the line, one after another."""
    lines: list[int] = []
    line, seen = 1, 0
    for at, start in enumerate(offsets[::2]):
        line += text.count("\n", seen, start)
        seen = start
        if not lines or lines[-1] != line:
            lines += [at, line]
    return lines if len(lines) > 2 else []


def _span(start: int, end: int) -> tuple[int, int]:
    return start, end


def _pieces(text: str, mentions: Sequence[Mention]) -> tuple[list[str], Where, list[int]]:
    """Words and signs of a text, cut wherever a mention begins or ends, so that spans align with pieces."""
    cuts = {end for mention in mentions for end in (mention.start, mention.end)}
    cuts |= {end for mention in mentions for part in mention.parts or () for end in part}
    pieces: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        inner = sorted({match.start(), match.end(), *(c for c in cuts if match.start() < c < match.end())})
        pieces += pairwise(inner)
    starts, stops = [start for start, _ in pieces], [stop for _, stop in pieces]

    def where(start: int, end: int) -> tuple[int, int]:
        if start < 0:
            return -1, -1
        first, last = bisect_right(stops, start), bisect_left(starts, end)
        if first < last:
            return first, last
        # A mention of nothing but whitespace covers no piece; show it at the next one.
        index = min(bisect_left(starts, start), max(len(pieces) - 1, 0))
        return index, index + 1

    return [text[a:b] for a, b in pieces], where, [end for piece in pieces for end in piece]
