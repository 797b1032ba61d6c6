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
from spanwise.document import given
from spanwise.document.evaluation import Evaluation, GoldMention, PredictedMention, Sentence
from spanwise.document.scores import BucketScores, ExactScores, SubsetRecall, SystemScores
from spanwise.reports import _wording as words
from spanwise.reports._shown import ShownDataset

# ---- sentences in short rows, deflated, in base64 --------------------------------------------------


OUTCOMES = ("TP", "LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP")
_CODE = {outcome: code for code, outcome in enumerate(OUTCOMES)}
_WORD = re.compile(r"\w+|[^\w\s]")

Mention: TypeAlias = GoldMention | PredictedMention
Where: TypeAlias = Callable[[int, int], tuple[int, int]]  # where a span lies among the tokens that are shown


def packed(value: Mapping[str, object]) -> str:
    """Anything for the page's script: base64 of deflated JSON."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Halves of surrogate pairs have no UTF-8; the page shows them as what they are not: a mark.
    data = text.encode("utf-8", "replace")
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def contents(shown: ShownDataset) -> dict[str, object]:
    """What the script needs to show examples: names once, then columns of numbers that point to them."""
    document = shown.document
    systems = list(shown.run_names)
    labels = labels_of(document)
    tough = list(words.TOUGH)
    attributes = _attributes(document)
    packer = _Packer(systems, labels, tough, attributes)
    rows = [packer.sentence(row) for row in shown.sentences]
    place = {name: at for at, name in enumerate(systems)}
    return {
        "name": shown.name, "names": list(shown.order), "systems": systems, "labels": labels, "tough": tough,
        "middle": [place[shown.middle(name)] for name in shown.order],
        "owner": [list(shown.order).index(name) for name, _ in shown.run_names.values()],
        "toughWords": words.TOUGH, "outcomes": words.OUTCOMES, "attributes": attributes,
        "redacted": document.settings.redacted, "known": _known(shown, systems),
        "confidence": document.settings.confidence,
        "z": NormalDist().inv_cdf((1 + document.settings.confidence) / 2),
        "examples": to_builtins(shown.examples), "units": _units(document, shown.sentences),
        "codes": _codes(document, systems, packer),
        "sentences": _columns(rows),
    }  # fmt: skip


def labels_of(document: Evaluation) -> list[str]:
    """The labels that some system has scores of, the most frequent gold ones first."""
    known = dict.fromkeys(label for system in document.systems.values() for label in system.exact.labels)
    return list(dict.fromkeys([*(one for one in document.dataset.labels_in_order if one in known), *known]))


def _units(document: Evaluation, sentences: Sequence[Sentence]) -> list[int] | str:
    """The unit of each sentence that intervals rest on; in words where the page cannot know it."""
    if document.settings.unit == "sentence":
        return list(range(len(sentences)))
    if document.settings.unit != "document" or any(row.document in (None, UNSET) for row in sentences):
        return document.settings.unit
    number: dict[object, int] = {}
    return [number.setdefault(row.document, len(number)) for row in sentences]


def _codes(document: Evaluation, systems: Sequence[str], packer: _Packer) -> dict[str, object] | None:
    """Every mention as numbers of the page's own lists; None where the document has none of this."""
    if document.mentions is UNSET or (
        document.mentions.gold and not set(systems) <= set(document.mentions.systems)
    ):
        return None
    from spanwise.evaluation import CodedSystem, unpacked_codes  # heavy, and not every page needs it

    about: dict[str, object] = {"number": document.mentions.number, "cap": document.mentions.cap}
    coded = unpacked_codes(document.mentions, place="the document")
    if coded is None:
        return about
    labels = [packer.code(label) for label in coded.labels]
    subsets = [packer.tough.get(name, -1) for name in coded.subsets]
    masks = [
        sum(1 << to for at, to in enumerate(subsets) if to >= 0 and mask >> at & 1) for mask in range(256)
    ]
    buckets = {
        name: [codes.get(bucket, -1) for bucket in coded.buckets[name]]
        for name, codes in packer.attributes
        if name in coded.buckets
    }

    def side(parts: Sequence[Mapping[str, Column]]) -> list[object]:
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
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

    def system(one: CodedSystem) -> list[object]:
        return [_characters(one.found), *side([one.paired, one.alone])]

    return {**about, "gold": side([coded.gold]), "systems": [system(coded.systems[name]) for name in systems]}


FIRST = 40  # the character that stands for 0: those from it on need no escape but one


def _characters(column: Column) -> str | list[int]:
    """Numbers from -1 on, each as one character; as they are where one is too large for that."""
    if int(column.max(initial=0)) >= 0xD800 - FIRST:
        return [int(value) for value in column]
    return (column.astype(np.int64) + FIRST).astype("<u4").tobytes().decode("utf-32-le")


def _recoded(column: Column, table: Sequence[int]) -> str | list[int]:
    return _characters(np.asarray(table or [0])[column])


def _known(shown: ShownDataset, names: Sequence[str]) -> dict[str, list[list[object]]]:
    """Gold, predicted and correct of every run, and an interval, for each single filter."""
    known: dict[str, list[list[object]]] = {}

    def add(key: str, place: int, cell: ExactScores | BucketScores) -> None:
        rows = known.setdefault(key, [[0, 0, 0] for _ in names])
        rows[place] = [cell.gold, cell.predicted, cell.correct, *(cell.ends("f1") or ())]

    def add_subset(key: str, place: int, cell: SubsetRecall) -> None:
        rows = known.setdefault(key, [[0, None, 0] for _ in names])
        rows[place] = [cell.mentions, None, cell.correct, *(cell.ends("recall") or ())]

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
    return known


def _columns(rows: Sequence[Sequence[object]]) -> list[list[object]]:
    """The rows turned: texts beside texts and numbers beside numbers deflate a sixth better."""
    return [[row[at] if at < len(row) else 0 for row in rows] for at in range(6)]


class PackedAttribute(TypedDict):
    """An attribute of mentions with the names and intervals of its buckets."""

    name: str
    title: str
    buckets: list[str]
    titles: list[str]
    bounds: list[list[float | bool | None]]


def _attributes(document: Evaluation) -> list[PackedAttribute]:
    """The attributes of mentions, as any system has them."""
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
    """Turns sentences of the document into rows; unknown labels and buckets join their lists."""

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
        """One sentence: id, source, tokens, gold mentions, mentions of each system, offsets of pieces."""
        tokens, where, offsets = _text(row)
        gold = [
            [
                *where(one.start, one.end), self.code(one.label),
                [_CODE[one.outcome[name]] for name in self._systems],
                [_or_none(one.partner.get(name)) for name in self._systems],
                sum(1 << self.tough[name] for name in one.tough or () if name in self.tough),
                self._buckets(one), *_parts(one, where),
            ]
            for one in row.gold
        ]  # fmt: skip
        systems = [
            [self._predicted(one, where, gold) for one in row.systems.get(name) or ()]
            for name in self._systems
        ]
        packed_row = [str(row.id), row.source or "", tokens, gold, systems]
        return [*packed_row, offsets] if offsets else packed_row

    def _predicted(
        self, one: PredictedMention, where: Where, gold: Sequence[Sequence[object]]
    ) -> list[object] | int:
        """A predicted mention; of a right one the place of its gold mention, which says all of it."""
        start, end = where(one.start, one.end)
        label, buckets, rest = self.code(one.label), self._buckets(one), _rest(one, where)
        if one.outcome == "TP" and one.partner is not None:
            partner = gold[one.partner]
            if [start, end, label, buckets, *rest] == [*partner[:3], *partner[6:]]:
                return one.partner
        return [start, end, label, _CODE[one.outcome], _or_none(one.partner), buckets, *rest]

    def code(self, label: str) -> int:
        """The number of a label."""
        if label not in self._label:
            self._label[label] = len(self._labels)
            self._labels.append(label)
        return self._label[label]

    def _buckets(self, mention: Mention) -> list[int]:
        own = mention.buckets or {}
        return [codes.get(own.get(name) or "", -1) for name, codes in self.attributes]


def _or_none(place: int | None) -> int:
    return -1 if place is None else place


def _parts(mention: Mention, where: Where) -> list[object]:
    return [[list(where(start, end)) for start, end in mention.parts]] if mention.parts else []


def _rest(mention: PredictedMention, where: Where) -> list[object]:
    """The parts of a mention that has several, and what was said of one that has no place."""
    parts = _parts(mention, where)
    return [*(parts or [None]), mention.answer] if mention.answer else parts


def _text(row: Sentence) -> tuple[object, Where, list[int]]:
    """The tokens to show, how positions of mentions map to them, and where they lie in the text."""
    if row.tokens is not UNSET:
        plain = all(token and not re.search(r"\s", token) for token in row.tokens)
        return (" ".join(row.tokens) if plain and row.tokens else list(row.tokens)), _span, []
    mentions: list[Mention] = [*row.gold, *(one for rows in row.systems.values() for one in rows)]
    if row.text is UNSET:
        # Redacted: as many blanks as there were tokens.
        length = row.length or max((mention.end for mention in mentions), default=0)
        return int(length), _span, []
    return _pieces(row.text, mentions)


def _span(start: int, end: int) -> tuple[int, int]:
    return start, end


def _pieces(text: str, mentions: Sequence[Mention]) -> tuple[list[str], Where, list[int]]:
    """Words and signs of a text, cut wherever a mention begins or ends, so that spans fall on pieces."""
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
        # A mention of nothing but blanks has no piece; it is put at the next one.
        place = min(bisect_left(starts, start), max(len(pieces) - 1, 0))
        return place, place + 1

    return [text[a:b] for a, b in pieces], where, [end for piece in pieces for end in piece]
