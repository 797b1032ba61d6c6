"""Sentences as tables: a column for each token, rows for gold and systems, more rows where mentions nest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Ints
from spanwise.errors import unknown
from spanwise.evaluation import MentionColumns
from spanwise.matching import OUTCOMES
from spanwise.slices.index import SliceIndex, SystemBits, unpacked_bits
from spanwise.workbench.links import OUTCOME, RIGHT, SPLIT, TAGGED, WRONG, View
from spanwise.workbench.store import Note

LINE = 92  # characters of a line of text before it is broken
SPOKEN = {
    "TP": "right", "LE": "wrong label", "BEs": "too short", "BEl": "too long", "BEo": "overlapping",
    "LBE": "wrong label and boundary", "FN": "missed", "FP": "not in gold",
}  # fmt: skip


class Mark(Struct, frozen=True):
    """A cell of a row: a mention or a piece of one, or nothing where `label` is None."""

    width: int
    label: str | None = None
    kind: str = ""  # gold, right, wrong, missed
    said: str = ""


class Row(Struct, frozen=True):
    """One row of marks under the words."""

    name: str
    marks: tuple[Mark, ...]


class Line(Struct, frozen=True):
    """A part of a sentence that fits on a screen."""

    words: tuple[str, ...]
    bold: tuple[bool, ...]
    rows: tuple[Row, ...]


class GoldMark(Struct, frozen=True):
    """A gold mention as pages and answers name it."""

    row: int
    start: int
    end: int
    label: str
    text: str
    tough: tuple[str, ...]
    outcomes: Mapping[str, str]
    chosen: bool


class Drawn(Struct, frozen=True):
    """A sentence with everything that was said about it."""

    number: int
    place: str
    sha: str
    lines: tuple[Line, ...]
    gold: tuple[GoldMark, ...]
    notes: tuple[Note, ...] = ()


def sentence_sha(columns: MentionColumns, sentence: int) -> str:
    """What binds a note to the text of a sentence."""
    return hashlib.sha256("\x1f".join(columns.words(sentence)).encode("utf-8", "surrogatepass")).hexdigest()[
        :16
    ]


def chosen_rows(index: SliceIndex, view: View, notes: Sequence[Note] = ()) -> Ints:
    """The gold mentions that a view shows: those of the slice, chosen by outcome or tag."""
    inside = unpacked_bits(index.gold.mask(view.condition), index.gold.number)
    for one in view.shown:
        if one.kind == TAGGED:
            tagged = {(note.sentence, note.start, note.end) for note in notes if note.tag == one.value}
            spans = zip(
                *(index.columns.column("gold", n).tolist() for n in ("sentence", "start", "end")), strict=True
            )
            inside &= np.fromiter((span in tagged for span in spans), bool, index.gold.number)
        elif one.kind == OUTCOME:
            inside &= _by_outcome(index, one.value)
    return np.flatnonzero(inside)


def _by_outcome(index: SliceIndex, value: str) -> Bools:
    rights = {name: unpacked_bits(one.right, index.gold.number) for name, one in index.systems.items()}
    if value in (SPLIT, WRONG, RIGHT):
        every = np.stack(list(rights.values()))
        right = every.sum(axis=0)
        if value == SPLIT:
            return np.asarray((right > 0) & (right < len(every)))
        return np.asarray(right == (0 if value == WRONG else len(every)))
    name, _, state = value.rpartition(":")
    if name not in rights or state not in (WRONG, RIGHT):
        raise unknown("choice of outcomes", value, [f"{one}:{s}" for one in rights for s in (WRONG, RIGHT)])
    return rights[name] if state == RIGHT else ~rights[name]


def draw(
    index: SliceIndex, sentence: int, *, chosen: Sequence[int] = (), systems: Sequence[str] = (),
    notes: Sequence[Note] = (),
) -> Drawn:  # fmt: skip
    """One sentence with gold and the systems asked for, all where none is named."""
    columns = index.columns
    words = columns.words(sentence)
    sides: list[tuple[str, MentionColumns, str, SystemBits | None]] = [("gold", columns, "gold", None)]
    sides += [
        (name, one.columns, one.side, one)
        for name, one in index.systems.items()
        if not systems or name in systems
    ]
    spans = {name: _spans(index, where, side, system, sentence) for name, where, side, system in sides}
    number = len(words) or max(
        (end for found in spans.values() for one in found for _, end in one[0]), default=0
    )
    cells = _cells(words or [f"·{place}" for place in range(number)], columns.head.positions, spans)
    gold_rows = _rows_of(columns, "gold", sentence)
    picked = [
        (int(columns.column("gold", "start")[r]), int(columns.column("gold", "end")[r])) for r in chosen
    ]
    lines = tuple(_line(cells, first, last, spans, picked) for first, last in _breaks(cells))
    sha = sentence_sha(columns, sentence)
    return Drawn(
        number=sentence,
        place=columns.place(sentence),
        sha=sha,
        lines=lines,
        gold=tuple(_gold_mark(index, row, words, row in set(chosen)) for row in gold_rows),
        notes=tuple(note for note in notes if note.sentence == sentence and note.sentence_sha == sha),
    )


Span = tuple[list[tuple[int, int]], str, str, str]  # pieces, label, kind, said


def _rows_of(columns: MentionColumns, side: str, sentence: int) -> list[int]:
    first, last = np.searchsorted(columns.column(side, "sentence"), [sentence, sentence + 1])
    return list(range(int(first), int(last)))


def _spans(
    index: SliceIndex, columns: MentionColumns, side: str, system: SystemBits | None, sentence: int
) -> list[Span]:
    found: list[Span] = []
    at = columns.arrays.get(f"{side}.parts.at")
    for row in _rows_of(columns, side, sentence):
        start, end = int(columns.column(side, "start")[row]), int(columns.column(side, "end")[row])
        if start < 0:
            continue
        pieces = [(start, end)]
        if at is not None:
            places = range(int(at[row]), int(at[row + 1]))
            pieces = [
                (int(columns.column(side, "parts.start")[p]), int(columns.column(side, "parts.end")[p]))
                for p in places
            ]
        label = columns.head.labels[int(columns.column(side, "label")[row])]
        if system is None:
            found.append((pieces, label, "gold", "gold"))
            continue
        outcome = OUTCOMES[int(system.found[row])]
        found.append((pieces, label, "right" if outcome == "TP" else "wrong", SPOKEN[outcome]))
    if system is not None:
        gold = index.columns
        for row in _rows_of(gold, "gold", sentence):
            if OUTCOMES[int(system.outcome[row])] == "FN":
                span = int(gold.column("gold", "start")[row]), int(gold.column("gold", "end")[row])
                found.append(([span], "missed", "missed", "missed"))
    return found


def _cells(
    words: Sequence[str], positions: str, spans: Mapping[str, Sequence[Span]]
) -> list[tuple[int, int, str]]:
    """What stands in a column: a token; of a text a word, cut where a mention begins or ends."""
    if positions != "character":
        return [(place, place + 1, word) for place, word in enumerate(words)]
    cuts = {0, len(words)}
    cuts |= {border for found in spans.values() for one in found for piece in one[0] for border in piece}
    cuts |= {p + 1 for p, letter in enumerate(words) if letter.isspace()}
    order = sorted(cut for cut in cuts if cut <= len(words))
    return [(a, b, "".join(words[a:b])) for a, b in pairwise(order)]


def _breaks(cells: Sequence[tuple[int, int, str]]) -> list[tuple[int, int]]:
    """Where lines begin and end, by cell."""
    found, first, width = [], 0, 0
    for place, (_, _, text) in enumerate(cells):
        width += len(text) + 1
        if width > LINE and place > first:
            found.append((first, place))
            first, width = place, len(text) + 1
    return [*found, (first, len(cells))] if cells else []


def _line(
    cells: Sequence[tuple[int, int, str]], first: int, last: int, spans: Mapping[str, Sequence[Span]],
    picked: Sequence[tuple[int, int]],
) -> Line:  # fmt: skip
    part = cells[first:last]
    rows: list[Row] = []
    for name, found in spans.items():
        layers: list[list[tuple[int, int, Span]]] = []
        for one in sorted(found, key=lambda span: (span[0][0][0], -span[0][-1][1])):
            covered = [p for p, (a, b, _) in enumerate(part) if any(a < e and b > s for s, e in one[0])]
            for begin, end in _runs(covered):
                layer = next((row for row in layers if row[-1][1] <= begin), None)
                if layer is None:
                    layer = []
                    layers.append(layer)
                layer.append((begin, end, one))
        for number, layer in enumerate(layers or [[]]):
            rows.append(Row(name if number == 0 else "", tuple(_marks(layer, len(part)))))
    bold = tuple(any(a < e and b > s for s, e in picked) for a, b, _ in part)
    return Line(tuple(text for _, _, text in part), bold, tuple(rows))


def _runs(places: Sequence[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for place in places:
        if found and found[-1][1] == place:
            found[-1] = (found[-1][0], place + 1)
        else:
            found.append((place, place + 1))
    return found


def _marks(layer: Sequence[tuple[int, int, Span]], width: int) -> list[Mark]:
    marks, at = [], 0
    for begin, end, (pieces, label, kind, said) in layer:
        if begin > at:
            marks.append(Mark(begin - at))
        more = f", in {len(pieces)} pieces" if len(pieces) > 1 else ""
        marks.append(Mark(end - begin, label, kind, said + more))
        at = end
    return [*marks, Mark(width - at)] if at < width else marks


def _gold_mark(index: SliceIndex, row: int, words: Sequence[str], chosen: bool) -> GoldMark:
    columns, gold = index.columns, index.gold
    start, end = int(columns.column("gold", "start")[row]), int(columns.column("gold", "end")[row])
    between = "" if columns.head.positions == "character" else " "
    tough: tuple[str, ...] = ()
    if gold.tough is not None:
        tough = tuple(name for bit, name in enumerate(gold.subsets) if int(gold.tough[row]) >> bit & 1)
    return GoldMark(
        row=row,
        start=start,
        end=end,
        label=columns.head.labels[int(columns.column("gold", "label")[row])],
        text=between.join(words[max(start, 0) : max(end, 0)]),
        tough=tough,
        outcomes={name: OUTCOMES[int(one.outcome[row])] for name, one in index.systems.items()},
        chosen=chosen,
    )
