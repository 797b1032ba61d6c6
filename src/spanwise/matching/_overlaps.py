"""Building blocks of matchers: equal spans, overlapping pairs, the outcomes of pairs, events to count."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr, replace

from spanwise.columns import Bools, Codes, Column, Ints, Small, frozen, ints, offsets, run_positions
from spanwise.corpus import Mentions, Parts, Pieces, joined_pieces

_LARGEST = 2**62  # packed keys must stay below this to fit int64
_FEW = 256  # up to this many rows are sorted faster column by column than by packed keys


class SpanLine(Struct, frozen=True, eq=False):
    """The spans of one side with all sentences laid end to end: spans overlap if they share a position.

    `size` is the number of positions covered; `shape` distinguishes discontinuous mentions
    with the same outer borders and is 0 for all others. Unplaced mentions cover nothing.
    With `pieces`, mention `i` covers `pieces.start[j]:pieces.end[j]` for each `j` from
    `pieces.at[i]` up to `pieces.at[i + 1]`; without, all of `start[i]:end[i]`.
    """

    start: Ints
    end: Ints
    size: Ints
    placed: Bools | None  # None: all mentions are placed
    shape: Ints | None = None
    pieces: Parts | None = None


def lines(gold: Mentions, predicted: Mentions) -> tuple[SpanLine, SpanLine]:
    """Lay the spans of both sides out on one line of positions."""
    sides = (gold, predicted)
    stride = max((int(side.end.max()) for side in sides if len(side)), default=0)
    stride = max(stride, 0) + 1
    if all(side.parts is None for side in sides):
        return _flat(gold, stride), _flat(predicted, stride)
    shapes: dict[Pieces, int] = {}
    return _with_pieces(gold, stride, shapes), _with_pieces(predicted, stride, shapes)


def _flat(side: Mentions, stride: int) -> SpanLine:
    origin = side.sentence * stride
    placed = side.placed
    return SpanLine(
        start=origin + side.start,
        end=origin + side.end,
        size=side.end - side.start,
        placed=None if placed.all() else placed,
    )


def _with_pieces(side: Mentions, stride: int, shapes: dict[Pieces, int]) -> SpanLine:
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
            shape[row] = shapes.setdefault(cover, len(shapes) + 1)
        starts.extend(sentence * stride + start for start, _ in cover)
        ends.extend(sentence * stride + end for _, end in cover)
        at.append(len(starts))
    pieces = Parts(np.array(at, np.int64), np.array(starts, np.int64), np.array(ends, np.int64))
    return replace(flat, size=size, shape=shape, pieces=pieces)


def packed(*columns: tuple[Column, Column]) -> tuple[Ints, Ints]:
    """Pack several columns of both sides into one integer per row, equal exactly where all columns are.

    If an integer would overflow, the values of a column are replaced by their ranks.
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
    """Pair the rows of both sides that have equal keys; also return whether a key repeats within a side.

    If keys repeat, the first row of one side is paired with the first of the other, and so on, in
    input order or in the order of `ranks`.
    """
    # A stable sort merges two sorted runs in linear time, and most files are sorted.
    keys = np.concatenate([gold, predicted])
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    follows = np.flatnonzero(ranked[1:] == ranked[:-1])
    first, second = order[follows], order[follows + 1]
    repeats = (first >= len(gold)) | (second < len(gold))
    if not repeats.any():
        return first, second - len(gold), False
    rank = None if ranks is None else np.concatenate(ranks)
    return (*_equal_in_order(order, follows, len(gold), rank), True)


def _equal_in_order(order: Ints, follows: Ints, split: int, rank: Column | None) -> tuple[Ints, Ints]:
    """Pair the i-th gold row with the i-th predicted row in each group of equal keys.

    `follows` are the positions in `order` whose successor has the same key.
    """
    begins = np.ones(len(follows), dtype=bool)
    begins[1:] = follows[1:] > follows[:-1] + 1
    size = np.bincount(np.cumsum(begins) - 1) + 1
    row = order[run_positions(follows[begins], size)]
    start = offsets(size)[:-1]
    if rank is not None:
        row = row[np.lexsort((rank[row], row >= split, np.repeat(start, size)))]
    gold = np.add.reduceat(row < split, start, dtype=np.int64)  # gold rows come before predicted ones
    pairs = np.minimum(gold, size - gold)
    return row[run_positions(start, pairs)], row[run_positions(start + gold, pairs)] - split


def equal_mentions(gold: Mentions, predicted: Mentions, left: SpanLine, right: SpanLine) -> tuple[Ints, Ints]:
    """The rows of gold and predicted mentions that have the same span and label.

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
    left: SpanLine, right: SpanLine, rows: tuple[Ints, Ints], ranks: tuple[Column, Column] | None = None
) -> tuple[Ints, Ints, bool]:
    """Pair the given rows that have the same span; also return whether a span repeats within a side.

    Repeated spans are paired in input order, or in the order of the `ranks` of the rows.
    """
    placed = _are_placed(left, rows[0]), _are_placed(right, rows[1])
    rows = rows[0][placed[0]], rows[1][placed[1]]
    placed_ranks = None if ranks is None else (ranks[0][placed[0]], ranks[1][placed[1]])
    first, second, repeats = equal(*packed(*span_columns(left, right, rows)), placed_ranks)
    return rows[0][first], rows[1][second], repeats


Rows = tuple[Ints | None, Ints | None]  # None: all rows


def span_columns(left: SpanLine, right: SpanLine, rows: Rows) -> list[tuple[Ints, Ints]]:
    """The columns that identify a span: where it begins, how long it is and which positions it skips."""
    first, second = _at(rows[0]), _at(rows[1])
    columns = [
        (left.start[first], right.start[second]),
        (left.end[first] - left.start[first], right.end[second] - right.start[second]),
    ]
    if left.shape is not None and right.shape is not None:
        columns.append((left.shape[first], right.shape[second]))
    return columns


def _placed(line: SpanLine) -> Ints | None:
    return None if line.placed is None else np.flatnonzero(line.placed)


def _are_placed(line: SpanLine, rows: Ints) -> Bools | slice:
    return slice(None) if line.placed is None else line.placed[rows]


def _at(rows: Ints | None) -> Ints | slice:
    return slice(None) if rows is None else rows


def _chosen(rows: Ints | None, which: Ints) -> Ints:
    return which if rows is None else rows[which]


def packed_order(*columns: Column) -> Ints:
    """The stable sort order of rows by columns of non-negative integers, the most significant first."""
    if len(columns[0]) <= _FEW:
        return np.lexsort(columns[::-1])
    key = np.zeros(len(columns[0]), dtype=np.int64)
    combinations = 1
    for column in columns:
        width = int(column.max(initial=0)) + 1
        combinations *= width
        if combinations >= _LARGEST:
            return np.lexsort(columns[::-1])
        key = key * width + column
    return np.argsort(key, kind="stable")


OUTCOMES = ("TP", "LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP")
TP, LE, BES, BEL, BEO, LBE, FN, FP = range(len(OUTCOMES))


def small(values: object) -> Small:
    """A read-only int8 column of `values`."""
    return frozen(np.asarray(values, dtype=np.int8))


class Events(Struct, frozen=True, eq=False):
    """The events to count, one per row: a pair of mentions, or a mention without a partner (-1).

    `turn` is the pass of Ortmann's algorithm that made the pair: 1 if both mentions were
    free (including label errors), 2 if the predicted mention belonged to an earlier
    event, 3 if the gold one did, and 0 for TP, FN and FP.
    Every gold and every predicted mention is consumed by exactly one event.

    Examples:
        >>> from spanwise.matching import match
        >>> predicted = Mentions.of([(0, 0, 1, "PER"), (0, 4, 5, "PER")])
        >>> events = match(Mentions.of([(0, 0, 2, "PER")]), predicted).events()
        >>> events.names(), events.rows()
        (['BEs', 'FP'], [(0, 0, 'BEs', 1), (-1, 1, 'FP', 0)])
    """

    gold: Ints
    predicted: Ints
    outcome: Small
    turn: Small

    def __post_init__(self) -> None:
        force_setattr(self, "gold", ints(self.gold))
        force_setattr(self, "predicted", ints(self.predicted))
        force_setattr(self, "outcome", small(self.outcome))
        force_setattr(self, "turn", small(self.turn))

    def __len__(self) -> int:
        return len(self.gold)

    def names(self) -> list[str]:
        """The outcome of each event by name."""
        return [OUTCOMES[code] for code in self.outcome.tolist()]

    def rows(self) -> list[tuple[int, int, str, int]]:
        """The events as (gold row, predicted row, outcome, turn)."""
        columns = (self.gold.tolist(), self.predicted.tolist(), self.names(), self.turn.tolist())
        return list(zip(*columns, strict=True))


class Matching(Struct, frozen=True, eq=False, dict=True):
    """The outcome and the partner (-1: none) of each gold and each predicted mention.

    The partner of a mention may itself have another partner, if it was already matched
    when the mention joined it. Every event can therefore be recovered exactly once.

    Examples:
        >>> from spanwise.matching import match
        >>> gold, predicted = Mentions.of([(0, 0, 2, "PER")]), Mentions.of([(0, 0, 1, "PER")])
        >>> matching = match(gold, predicted)
        >>> matching.gold_partner.tolist(), len(matching.events())
        ([0], 1)
    """

    gold_outcome: Small
    gold_partner: Ints
    predicted_outcome: Small
    predicted_partner: Ints

    def __post_init__(self) -> None:
        for side in ("gold", "predicted"):
            force_setattr(self, f"{side}_outcome", small(getattr(self, f"{side}_outcome")))
            force_setattr(self, f"{side}_partner", ints(getattr(self, f"{side}_partner")))

    def events(self) -> Events:
        """The events that consume a gold mention, in gold order, then those of predicted mentions alone."""
        return self._events

    @cached_property
    def _events(self) -> Events:
        gold_turn = _turns(self.gold_outcome, self.gold_partner, self.predicted_partner, taken=2)
        predicted_turn = _turns(self.predicted_outcome, self.predicted_partner, self.gold_partner, taken=3)
        alone = np.flatnonzero((predicted_turn == 3) | (self.predicted_outcome == FP))
        return Events(
            gold=np.concatenate([np.arange(len(self.gold_partner)), self.predicted_partner[alone]]),
            predicted=np.concatenate([self.gold_partner, alone]),
            outcome=np.concatenate([self.gold_outcome, self.predicted_outcome[alone]]),
            turn=np.concatenate([gold_turn, predicted_turn[alone]]),
        )


def _turns(outcome: Small, partner: Ints, back: Ints, *, taken: int) -> Small:
    """0 for TP or without a partner, 1 if the partner's partner is the mention itself, otherwise `taken`."""
    turn = np.zeros(len(partner), dtype=np.int8)
    rows = np.flatnonzero(outcome != TP)
    rows = rows[partner[rows] >= 0]
    turn[rows] = np.where(back[partner[rows]] == rows, 1, taken)
    return turn


class Pairing(Struct, frozen=True, eq=False):
    """A matching under construction: writeable columns, where all mentions start as missed or spurious."""

    gold_outcome: Small
    gold_partner: Ints
    predicted_outcome: Small
    predicted_partner: Ints

    @classmethod
    def none(cls, gold: int, predicted: int) -> Pairing:
        """A pairing of this many mentions without any pair."""
        return cls(
            np.full(gold, FN, np.int8),
            np.full(gold, -1, np.int64),
            np.full(predicted, FP, np.int8),
            np.full(predicted, -1, np.int64),
        )

    def copy(self) -> Pairing:
        """An independent copy of the pairing."""
        return Pairing(
            self.gold_outcome.copy(),
            self.gold_partner.copy(),
            self.predicted_outcome.copy(),
            self.predicted_partner.copy(),
        )

    def both(self, gold: Ints, predicted: Ints, outcome: int | Small) -> None:
        """Pair rows that were free on both sides."""
        self.first(gold, predicted, outcome)
        self.second(predicted, gold, outcome)

    def first(self, gold: Ints, predicted: Ints, outcome: int | Small) -> None:
        """Give free gold rows a partner, which keeps its own partner."""
        self.gold_outcome[gold] = outcome
        self.gold_partner[gold] = predicted

    def second(self, predicted: Ints, gold: Ints, outcome: int | Small) -> None:
        """Give free predicted rows a partner, which keeps its own partner."""
        self.predicted_outcome[predicted] = outcome
        self.predicted_partner[predicted] = gold

    def matching(self) -> Matching:
        """The finished matching."""
        return Matching(self.gold_outcome, self.gold_partner, self.predicted_outcome, self.predicted_partner)


class FreeSide(Struct, frozen=True, eq=False):
    """The mentions of one side that are still free and cover at least one position.

    Mention `i` is row `row[i]` of the input. Its intervals are those whose `owner` is `i`.
    """

    row: Ints
    size: Ints
    label: Codes
    start: Ints
    end: Ints
    owner: Ints
    contiguous: bool  # each mention is one interval, so interval `i` is mention `i`

    @classmethod
    def of(cls, line: SpanLine, mentions: Mentions, free: Ints) -> FreeSide:
        """The mentions in the given free rows of a line."""
        rows = free[line.size[free] > 0]
        size, label, own = line.size[rows], mentions.label[rows], np.arange(len(rows))
        if line.pieces is None:
            return cls(rows, size, label, line.start[rows], line.end[rows], own, contiguous=True)
        at = line.pieces.at
        number = at[rows + 1] - at[rows]
        which = run_positions(at[rows], number)
        start, end = line.pieces.start[which], line.pieces.end[which]
        return cls(rows, size, label, start, end, np.repeat(own, number), contiguous=False)

    def __len__(self) -> int:
        return len(self.row)

    def take(self, which: Bools) -> FreeSide:
        """The mentions selected by a mask."""
        number = np.cumsum(which) - 1
        inner = which[self.owner]
        return FreeSide(
            self.row[which],
            self.size[which],
            self.label[which],
            self.start[inner],
            self.end[inner],
            number[self.owner[inner]],
            self.contiguous,
        )


class Overlaps(Struct, frozen=True, eq=False):
    """Pairs of mentions of two sides that share positions, and how many they share."""

    gold: Ints
    predicted: Ints
    shared: Ints

    def __len__(self) -> int:
        return len(self.gold)

    def take(self, which: Column) -> Overlaps:
        """The pairs selected by a mask or by indices."""
        return Overlaps(self.gold[which], self.predicted[which], self.shared[which])


class Reach(Struct, frozen=True, eq=False):
    """For each interval of one side, a range of overlapping intervals of the other side, sorted by start.

    Of two overlapping intervals, one begins within the other. The ranges of gold intervals contain
    the predicted ones that begin within them; those of predicted intervals contain the gold ones
    that begin within them but later than they do. Every pair is therefore found once.
    """

    gold_low: Ints
    gold_size: Ints
    gold_order: Ints
    predicted_low: Ints
    predicted_size: Ints
    predicted_order: Ints

    @classmethod
    def of(cls, gold: FreeSide, predicted: FreeSide) -> Reach:
        """Find which intervals of the two sides overlap."""
        gold_order = np.argsort(gold.start, kind="stable")
        predicted_order = np.argsort(predicted.start, kind="stable")
        gold_starts, predicted_starts = gold.start[gold_order], predicted.start[predicted_order]
        within = np.searchsorted(predicted_starts, gold.start, "left")
        later = np.searchsorted(gold_starts, predicted.start, "right")
        return cls(
            within,
            np.searchsorted(predicted_starts, gold.end, "left") - within,
            gold_order,
            later,
            np.searchsorted(gold_starts, predicted.end, "left") - later,
            predicted_order,
        )

    @property
    def total(self) -> int:
        """The number of overlapping pairs of intervals."""
        return int(self.gold_size.sum() + self.predicted_size.sum())

    def pairs(self) -> tuple[Ints, Ints]:
        """The gold and predicted intervals of each overlapping pair."""
        gold, second = _expanded(self.gold_low, self.gold_size, self.predicted_order)
        predicted, first = _expanded(self.predicted_low, self.predicted_size, self.gold_order)
        return np.concatenate([gold, first]), np.concatenate([second, predicted])


def _expanded(low: Ints, size: Ints, order: Ints) -> tuple[Ints, Ints]:
    """Repeat each row once per position in its run, beside the values of `order` at these positions."""
    return np.repeat(np.arange(len(size)), size), order[run_positions(low, size)]


def overlaps(gold: FreeSide, predicted: FreeSide, reach: Reach) -> Overlaps:
    """The pairs of mentions that overlap, with the number of positions they share."""
    first, second = reach.pairs()
    begin = np.maximum(gold.start[first], predicted.start[second])
    shared = np.minimum(gold.end[first], predicted.end[second]) - begin
    if gold.contiguous and predicted.contiguous:
        return Overlaps(first, second, shared)
    # Several pieces of two mentions may overlap: add up the positions they share.
    key = gold.owner[first] * len(predicted) + predicted.owner[second]
    pair, inverse = np.unique(key, return_inverse=True)
    total = np.bincount(inverse, weights=shared, minlength=len(pair)).astype(np.int64)
    return Overlaps(pair // max(len(predicted), 1), pair % max(len(predicted), 1), total)


def relation(pairs: Overlaps, gold: FreeSide, predicted: FreeSide, same: Bools | bool) -> Small:
    """The outcome of overlapping pairs: BEs (inside), BEl (around), BEo (crossing); LBE if labels differ."""
    inside = pairs.shared == predicted.size[pairs.predicted]
    around = pairs.shared == gold.size[pairs.gold]
    boundary = np.where(inside, BES, np.where(around, BEL, BEO))
    return np.where(same, boundary, LBE).astype(np.int8)


def greedy(gold: Ints, predicted: Ints) -> Ints:
    """The indices of the pairs accepted when pairs are offered in order and no mention is used twice.

    Examples:
        >>> greedy(np.array([0, 0, 1]), np.array([5, 6, 5])).tolist()
        [0]
    """
    # Most pairs have no rival on either side: they are accepted whatever the order.
    accepted = (np.bincount(gold)[gold] == 1) & (np.bincount(predicted)[predicted] == 1)
    rivals = np.flatnonzero(~accepted)
    used_gold: set[int] = set()
    used_predicted: set[int] = set()
    pairs = zip(rivals.tolist(), gold[rivals].tolist(), predicted[rivals].tolist(), strict=True)
    for number, first, second in pairs:
        if first not in used_gold and second not in used_predicted:
            used_gold.add(first)
            used_predicted.add(second)
            accepted[number] = True
    return np.flatnonzero(accepted)


def components(gold: FreeSide, predicted: FreeSide) -> tuple[Ints, Ints]:
    """A number for each contiguous mention, equal for mentions connected by a chain of overlaps."""
    start = np.concatenate([gold.start, predicted.start])
    end = np.concatenate([gold.end, predicted.end])
    order = np.argsort(start, kind="stable")
    reached = np.maximum.accumulate(end[order])
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.concatenate([[0], np.cumsum(start[order][1:] >= reached[:-1])])
    return number[: len(gold)], number[len(gold) :]
