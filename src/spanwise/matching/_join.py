"""Positions of both sides on one line, and rows of both sides that are equal, by sorting packed keys."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Bools, Column, Ints, offsets, run_positions
from spanwise.corpus import Mentions, Parts, Pieces, joined_pieces

_LARGEST = 2**62  # packed keys must stay below, to fit int64
_FEW = 256  # rows that are sorted sooner by one column after the other than packed


class Line(Struct, frozen=True, eq=False):
    """The spans of one side with all sentences laid end to end, so that sharing a position means overlap.

    `size` is the number of positions covered; `shape` tells apart discontinuous mentions
    with the same outer borders and is 0 for all others. Mentions without a place are
    not `placed` and cover nothing. With pieces, mention `i` covers `piece_start[j]:piece_end[j]`
    for `j` in `at[i]:at[i + 1]`; without, all of `start[i]:end[i]`.
    """

    start: Ints
    end: Ints
    size: Ints
    placed: Bools | None  # None: all of them
    shape: Ints | None = None
    pieces: Parts | None = None


def lines(gold: Mentions, predicted: Mentions) -> tuple[Line, Line]:
    """Both sides on one line of positions."""
    sides = (gold, predicted)
    stride = max((int(side.end.max()) for side in sides if len(side)), default=0)
    stride = max(stride, 0) + 1
    if all(side.parts is None for side in sides):
        return _flat(gold, stride), _flat(predicted, stride)
    known: dict[Pieces, int] = {}
    return _with_pieces(gold, stride, known), _with_pieces(predicted, stride, known)


def _flat(side: Mentions, stride: int) -> Line:
    origin = side.sentence * stride
    placed = side.placed
    return Line(
        start=origin + side.start,
        end=origin + side.end,
        size=side.end - side.start,
        placed=None if placed.all() else placed,
    )


def _with_pieces(side: Mentions, stride: int, known: dict[Pieces, int]) -> Line:
    flat = _flat(side, stride)
    if side.parts is None:
        pieces = Parts(np.arange(len(side) + 1), flat.start, flat.end)
        return replace(flat, shape=np.zeros(len(side), np.int64), pieces=pieces)
    starts: list[int] = []
    ends: list[int] = []
    at = [0]
    shape = np.zeros(len(side), dtype=np.int64)
    size = np.zeros(len(side), dtype=np.int64)
    for row, (sentence, own) in enumerate(zip(side.sentence.tolist(), side.pieces(), strict=True)):
        cover = joined_pieces(own)
        size[row] = sum(end - start for start, end in cover)
        if len(cover) > 1:
            shape[row] = known.setdefault(cover, len(known) + 1)
        starts.extend(sentence * stride + start for start, _ in cover)
        ends.extend(sentence * stride + end for _, end in cover)
        at.append(len(starts))
    pieces = Parts(np.array(at, np.int64), np.array(starts, np.int64), np.array(ends, np.int64))
    return replace(flat, size=size, shape=shape, pieces=pieces)


def packed(*columns: tuple[Column, Column]) -> tuple[Ints, Ints]:
    """One number a row for several columns of both sides, equal where all columns are equal.

    Where the packed number would not fit, a column's values are replaced by their ranks.
    """
    gold, predicted = columns[0]
    top = _top(gold, predicted)
    for left, right in columns[1:]:
        width = _top(left, right) + 1
        if (top + 1) * width >= _LARGEST:
            gold, predicted, top = _ranked(gold, predicted)
        if (top + 1) * width >= _LARGEST:
            left, right, width = _ranked(left, right)
            width += 1
        gold, predicted, top = gold * width + left, predicted * width + right, (top + 1) * width
    return gold, predicted


def _top(left: Ints, right: Ints) -> int:
    return max(int(side.max()) if len(side) else 0 for side in (left, right))


def _ranked(left: Ints, right: Ints) -> tuple[Ints, Ints, int]:
    values, rank = np.unique(np.concatenate([left, right]), return_inverse=True)
    return rank[: len(left)], rank[len(left) :], len(values)


def equal(gold: Ints, predicted: Ints, ranks: tuple[Column, Column] | None = None) -> tuple[Ints, Ints, bool]:
    """Rows of both sides with equal keys, and whether a key repeats within a side.

    Where keys repeat, the first of one side goes with the first of the other, and so on: the first in
    the input, or by the `ranks` of each side's rows.
    A stable sort merges two runs that are sorted already, as most files are, in linear time.
    """
    both = np.concatenate([gold, predicted])
    order = np.argsort(both, kind="stable")
    ranked = both[order]
    follows = np.flatnonzero(ranked[1:] == ranked[:-1])
    first, second = order[follows], order[follows + 1]
    repeats = (first >= len(gold)) | (second < len(gold))
    if not repeats.any():
        return first, second - len(gold), False
    rank = None if ranks is None else np.concatenate(ranks)
    return (*_equal_in_order(order, follows, len(gold), rank), True)


def _equal_in_order(order: Ints, follows: Ints, split: int, rank: Column | None) -> tuple[Ints, Ints]:
    """Pairs of the i-th gold and the i-th predicted row of every group of equal keys.

    `follows` are the places in `order` after which the next one has the same key.
    """
    begins = np.ones(len(follows), dtype=bool)
    begins[1:] = follows[1:] > follows[:-1] + 1
    size = np.bincount(np.cumsum(begins) - 1) + 1
    row = order[run_positions(follows[begins], size)]
    start = offsets(size)[:-1]
    if rank is not None:
        row = row[np.lexsort((rank[row], row >= split, np.repeat(start, size)))]
    gold = np.add.reduceat(row < split, start, dtype=np.int64)  # they stand before the predicted rows
    pairs = np.minimum(gold, size - gold)
    return row[run_positions(start, pairs)], row[run_positions(start + gold, pairs)] - split


def equal_mentions(gold: Mentions, predicted: Mentions, left: Line, right: Line) -> tuple[Ints, Ints]:
    """Rows of gold and predicted mentions with the same span and label.

    Raises:
        InputError: a mention occurs twice in a sentence.
    """
    rows = _placed(left), _placed(right)
    first, second, repeats = equal(
        *packed(*span_columns(left, right, rows), (gold.label[_at(rows[0])], predicted.label[_at(rows[1])]))
    )
    if repeats:
        gold.sole(duplicates="error")
        predicted.sole(duplicates="error")
    return _chosen(rows[0], first), _chosen(rows[1], second)


def equal_spans(
    left: Line, right: Line, rows: tuple[Ints, Ints], ranks: tuple[Column, Column] | None = None
) -> tuple[Ints, Ints, bool]:
    """Pairs of the given rows with the same span, and whether a span repeats within a side.

    The first of one side goes with the first of the other: first in the input, or by the `ranks` of the rows.
    """
    placed = _are_placed(left, rows[0]), _are_placed(right, rows[1])
    rows = rows[0][placed[0]], rows[1][placed[1]]
    ours = None if ranks is None else (ranks[0][placed[0]], ranks[1][placed[1]])
    first, second, repeats = equal(*packed(*span_columns(left, right, rows)), ours)
    return rows[0][first], rows[1][second], repeats


Rows = tuple[Ints | None, Ints | None]  # None: all rows


def span_columns(left: Line, right: Line, rows: Rows) -> list[tuple[Ints, Ints]]:
    """What makes two spans equal: where they begin, how long they are and which positions they skip."""
    here, there = _at(rows[0]), _at(rows[1])
    columns = [
        (left.start[here], right.start[there]),
        (left.end[here] - left.start[here], right.end[there] - right.start[there]),
    ]
    if left.shape is not None and right.shape is not None:
        columns.append((left.shape[here], right.shape[there]))
    return columns


def _placed(line: Line) -> Ints | None:
    return None if line.placed is None else np.flatnonzero(line.placed)


def _are_placed(line: Line, rows: Ints) -> Bools | slice:
    return slice(None) if line.placed is None else line.placed[rows]


def _at(rows: Ints | None) -> Ints | slice:
    return slice(None) if rows is None else rows


def _chosen(rows: Ints | None, which: Ints) -> Ints:
    return which if rows is None else rows[which]


def packed_order(*columns: Column) -> Ints:
    """The order of rows by columns of numbers from 0 up, the most important first; ties keep theirs."""
    if len(columns[0]) <= _FEW:
        return np.lexsort(columns[::-1])
    key = np.zeros(len(columns[0]), dtype=np.int64)
    room = 1
    for column in columns:
        width = int(column.max(initial=0)) + 1
        room *= width
        if room >= _LARGEST:
            return np.lexsort(columns[::-1])
        key = key * width + column
    return np.argsort(key, kind="stable")
