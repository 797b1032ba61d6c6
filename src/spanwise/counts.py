"""Counts of mentions per unit in named cells; the counts of parts of a corpus add up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from math import prod

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.columns import Column, Floats, Ints, Words, frozen, ints
from spanwise.hashing import multipliers, numbered, numbered_columns

Matrix = npt.NDArray[np.int32]
_BLOCK = 1 << 18  # events processed together, so that they stay in the processor's cache
_EXACT = 53  # bits of whole numbers that a float64 holds exactly
_WORD = 64
_FEW = 2  # up to this many sections are summed one by one, which is faster


class EventUnits(Struct, frozen=True, eq=False):
    """The unit number of each event, and an upper bound on the number of events in any unit."""

    unit: Ints
    most: int

    @classmethod
    def of(cls, unit: Ints) -> EventUnits:
        """The given unit numbers, with the bound computed from them."""
        return cls(unit, int(np.bincount(unit).max(initial=0)))

    def take(self, rows: Column) -> EventUnits:
        """The units of the events at these positions; the bound still holds."""
        return EventUnits(self.unit[rows], self.most)


class EventGroup(Struct, frozen=True, eq=False):
    """Events of a few kinds, where each event counts at all places of its kind.

    A place is the position of a count in a unit's row: cell · columns + column.
    """

    units: EventUnits
    kind: Column | None  # of each event; None: all events are of kind 0
    positions: tuple[Ints, ...]  # each array has a place for every kind; -1: not counted


class Counts(Struct, frozen=True, eq=False, dict=True):
    """How many mentions each unit (sentence or document) has in each cell and column.

    Units with the same counts share a row: `rows[row[u]]` are the counts of unit `u`,
    its cells one after the other. The order of rows depends only on their contents.
    Counts over two halves of a corpus add up to the counts over the whole: every engine,
    every bucket and every resample relies on that.
    """

    cells: tuple[str, ...]
    columns: tuple[str, ...]
    rows: Matrix  # distinct rows × (cells · columns)
    row: Column  # of each unit, in the narrowest type: there are many units, and they are kept to the end

    @classmethod
    def of(
        cls,
        cells: Sequence[str],
        columns: Sequence[str],
        *,
        unit: Ints,
        cell: Ints,
        column: Ints | int,
        units: int,
    ) -> Counts:
        """Count events, given the number of the unit, cell and column of each.

        Examples:
            >>> counts = Counts.of(["PER"], ["gold", "correct"], unit=np.array([0, 2, 2]),
            ...     cell=np.array([0, 0, 0]), column=np.array([0, 0, 1]), units=3)
            >>> counts.total.tolist()
            [[2, 1]]
        """
        position = cell * np.int64(len(columns)) + column
        positions = np.arange(len(cells) * len(columns))
        return cls.of_groups(
            cells, columns, [EventGroup(EventUnits.of(unit), position, (positions,))], units=units
        )

    @classmethod
    def of_groups(
        cls,
        cells: Sequence[str],
        columns: Sequence[str],
        groups: Sequence[EventGroup],
        *,
        units: int,
    ) -> Counts:
        """Count events in several groups."""
        rows, row = _rows_of_events(groups, units, len(cells) * len(columns))
        return cls(tuple(cells), tuple(columns), frozen(rows), frozen(row))

    @classmethod
    def of_matrix(
        cls, cells: Sequence[str], columns: Sequence[str], matrix: npt.NDArray[np.integer]
    ) -> Counts:
        """The counts in a matrix with one row per unit."""
        rows, row = distinct_rows(np.asarray(matrix, dtype=np.int32))
        return cls(tuple(cells), tuple(columns), frozen(rows), _narrow(row, len(rows)))

    @property
    def units(self) -> int:
        """The number of units."""
        return len(self.row)

    @cached_property
    def times(self) -> Ints:
        """How many units have each distinct row."""
        return frozen(np.bincount(self.row, minlength=len(self.rows)))

    @cached_property
    def total(self) -> Ints:
        """The counts over all units, cells × columns."""
        summed = self.times @ self.rows.astype(np.int64)
        return frozen(summed.reshape(len(self.cells), len(self.columns)))

    def matrix(self) -> Matrix:
        """The counts as a matrix with one row per unit."""
        return self.rows.take(self.row, axis=0)  # several times faster than indexing

    def __add__(self, other: Counts) -> Counts:
        """The counts over the units of both, those of `other` last, with the cells of either."""
        return Counts.joined([self, other])

    @classmethod
    def joined(cls, parts: Sequence[Counts]) -> Counts:
        """The counts over the units of all parts, one part after the other."""
        cells = tuple(dict.fromkeys(cell for part in parts for cell in part.cells))
        same = [part.with_cells(cells) for part in parts]
        rows, number = distinct_rows(np.concatenate([part.rows for part in same]))
        new_rows = np.split(_narrow(number, len(rows)), np.cumsum([len(part.rows) for part in same])[:-1])
        row = np.concatenate([new_row[part.row] for new_row, part in zip(new_rows, same, strict=True)])
        return cls(cells, parts[0].columns, frozen(rows), frozen(row))

    def with_cells(self, cells: Sequence[str]) -> Counts:
        """The counts in the named cells, in the order given; 0 in cells that are missing."""
        if tuple(cells) == self.cells:
            return self
        number = {name: index for index, name in enumerate(self.cells)}
        wide = len(self.columns)
        rows = np.zeros((len(self.rows), len(cells) * wide), dtype=np.int32)
        for index, name in enumerate(cells):
            if name in number:
                source = number[name] * wide
                rows[:, index * wide : (index + 1) * wide] = self.rows[:, source : source + wide]
        merged, row = distinct_rows(rows)
        return Counts(tuple(cells), self.columns, frozen(merged), frozen(_narrow(row, len(merged))[self.row]))

    def with_sum(self) -> Counts:
        """The counts with the sum over all cells added as a cell in front.

        Examples:
            >>> Counts.of_matrix(["PER", "LOC"], ["gold"], np.array([[2, 1]])).with_sum().total.tolist()
            [[3], [2], [1]]
        """
        wide = len(self.columns)
        summed = self.rows.reshape(len(self.rows), -1, wide).sum(axis=1, dtype=np.int32)
        # Distinct rows stay distinct, so they keep their numbers.
        rows = np.concatenate([summed, self.rows], axis=1)
        return Counts(("all", *self.cells), self.columns, frozen(rows), self.row)

    def summed(self, cells: Sequence[str], parts: Sequence[Sequence[int]]) -> Counts:
        """The counts in new cells, each the sum of the cells at the given positions.

        Examples:
            >>> two = Counts.of_matrix(["x", "y"], ["gold"], np.array([[2, 1]]))
            >>> two.summed(["both", "x"], [[0, 1], [0]]).total.tolist()
            [[3], [2]]
        """
        by_cell = self.rows.reshape(len(self.rows), len(self.cells), len(self.columns))
        sums = [by_cell[:, list(part)].sum(axis=1, dtype=np.int32) for part in parts]
        rows = np.concatenate(sums, axis=1)
        order, rank = _ordered(rows)
        return Counts(
            tuple(cells), self.columns, frozen(rows[order]), frozen(_narrow(rank, len(rank))[self.row])
        )

    def in_blocks(self, size: int) -> Counts:
        """The counts of blocks of `size` consecutive units; the last block may be smaller.

        Examples:
            >>> Counts.of_matrix(["x"], ["gold"], np.array([[1], [2], [3]])).in_blocks(2).matrix().tolist()
            [[3], [3]]
        """
        parts = []
        step = size * max(1, _BLOCK // size)
        for at in range(0, self.units, step):
            rows = self.rows.take(self.row[at : at + step], axis=0)
            parts.append(np.add.reduceat(rows, np.arange(0, len(rows), size), axis=0))
        matrix = np.concatenate(parts) if parts else self.matrix()
        return Counts.of_matrix(self.cells, self.columns, matrix)

    def as_one_unit(self) -> Counts:
        """The total counts, as those of a single unit."""
        rows = self.total.reshape(1, -1).astype(np.int32)
        return Counts(self.cells, self.columns, frozen(rows), frozen(np.zeros(1, dtype=np.uint8)))

    def select_cells(self, indices: Sequence[int]) -> Counts:
        """The counts in the cells at these positions; rows that become equal are not merged."""
        wide = len(self.columns)
        positions = np.concatenate([np.arange(index * wide, (index + 1) * wide) for index in indices])
        cells = tuple(self.cells[index] for index in indices)
        return Counts(cells, self.columns, frozen(self.rows[:, positions]), self.row)

    def select_columns(self, indices: Sequence[int]) -> Counts:
        """The counts in the columns at these positions of every cell; rows that become equal are not merged.

        Examples:
            >>> two = Counts.of_matrix(["x"], ["gold", "correct"], np.array([[3, 2]]))
            >>> two.select_columns([1]).total.tolist()
            [[2]]
        """
        by_cell = self.rows.reshape(len(self.rows), len(self.cells), len(self.columns))
        rows = by_cell[..., list(indices)].reshape(len(self.rows), -1)
        columns = tuple(self.columns[index] for index in indices)
        return Counts(self.cells, columns, frozen(np.ascontiguousarray(rows)), self.row)


class CrossTable(Struct, frozen=True, eq=False):
    """How many mentions fall into each pair of a named row and a named column; tables of parts add up."""

    rows: tuple[str | None, ...]
    columns: tuple[str | None, ...]
    counts: Ints

    @classmethod
    def of(
        cls, rows: Sequence[str | None], columns: Sequence[str | None], *, row: Ints, column: Ints
    ) -> CrossTable:
        """Count pairs of row and column numbers.

        Examples:
            >>> CrossTable.of("ab", "x", row=np.array([0, 1, 1]), column=np.array([0, 0, 0])).counts.tolist()
            [[1], [2]]
        """
        flat = np.asarray(row, dtype=np.int64) * len(columns) + column
        counts = np.bincount(flat, minlength=len(rows) * len(columns))
        return cls(tuple(rows), tuple(columns), ints(counts.reshape(len(rows), len(columns))))

    def __add__(self, other: CrossTable) -> CrossTable:
        if self.rows == other.rows and self.columns == other.columns:
            return CrossTable(self.rows, self.columns, ints(self.counts + other.counts))
        rows = tuple(dict.fromkeys((*self.rows, *other.rows)))
        columns = tuple(dict.fromkeys((*self.columns, *other.columns)))
        return CrossTable(rows, columns, ints(self.chosen(rows, columns) + other.chosen(rows, columns)))

    def chosen(self, rows: Sequence[str | None], columns: Sequence[str | None]) -> Ints:
        """The counts in the named rows and columns, 0 for names that are missing."""
        row_at = {name: index for index, name in enumerate(self.rows)}
        column_at = {name: index for index, name in enumerate(self.columns)}
        padded = np.zeros((len(self.rows) + 1, len(self.columns) + 1), dtype=np.int64)
        padded[:-1, :-1] = self.counts
        take_rows = [row_at.get(name, len(self.rows)) for name in rows]
        take_columns = [column_at.get(name, len(self.columns)) for name in columns]
        return np.asarray(padded[np.ix_(take_rows, take_columns)])


def _rows_of_events(groups: Sequence[EventGroup], units: int, width: int) -> tuple[Matrix, Column]:
    """The distinct rows of the matrix units × places that counts the events, and each unit's row.

    The matrix is mostly zeros and never built: the counts of a unit are packed into as few 64-bit words as
    possible, and units are compared by these words.
    """
    groups = [group for group in groups if group.units.most]
    if units <= 1 or not groups:
        total = np.zeros(width, dtype=np.int32)
        for group in groups:
            _add_total(total, group)
        return total[None][:units], np.zeros(units, dtype=np.uint8)
    layout = _Layout.of(groups, width)
    words = layout.words(groups, units)
    first, number = numbered_columns(words)
    packed = np.stack([word[first] for word in words], axis=1)
    rows = (packed[:, layout.word] >> layout.shift & layout.mask).astype(np.int32)
    order, rank = _ordered(rows)
    return rows[order], _narrow(rank, len(rank))[number]


def _add_total(total: Matrix, group: EventGroup) -> None:
    """Add the events of a group to `total`, ignoring their units."""
    if group.kind is None:
        times = np.full(1, len(group.units.unit))
    else:
        times = np.bincount(group.kind, minlength=len(group.positions[0]))
    for places in group.positions:
        counted = places >= 0
        np.add.at(total, places[counted], times[counted].astype(np.int32))


class _Layout(Struct, frozen=True, eq=False):
    """Where the counts of a unit are stored in its words; those of a group are adjacent, which saves sums.

    Floating-point sums are faster than integer sums, and exact below 2**53: counts are summed in
    sections of at most 53 bits, and sections are combined into words.
    """

    section: Ints  # of each place, -1 where nothing is counted
    factor: Floats  # of each place: how much one event adds to its section
    at: Sequence[tuple[int, int]]  # the word of each section, and its shift in bits within that word
    word: Ints  # of each place
    shift: Words
    mask: Words

    @classmethod
    def of(cls, groups: Sequence[EventGroup], width: int) -> _Layout:
        """Give every place enough bits for the most events that a unit can have there."""
        most = [0] * width
        listed = [[places.tolist() for places in group.positions] for group in groups]
        for group, columns in zip(groups, listed, strict=True):
            for position in chain.from_iterable(map(set, columns)):
                if position >= 0:
                    most[position] += group.units.most
        section = [-1] * width
        word, shift, size, inner = ([0] * width for _ in range(4))
        at: list[tuple[int, int]] = []
        last, used = 0, 0
        for columns in listed:
            new = sorted(
                position for position in {*chain(*columns)} if position >= 0 and section[position] < 0
            )
            bits = max((most[position] for position in new), default=1).bit_length()
            # Keep the places of one kind in one section where possible.
            number = max(_EXACT // bits // len(columns) * len(columns), 1)
            for begin in range(0, len(new), number):
                chunk = new[begin : begin + number]
                if used + len(chunk) * bits > _WORD:
                    last, used = last + 1, 0
                for step, position in enumerate(chunk):
                    section[position], size[position], inner[position] = len(at), bits, step * bits
                    word[position], shift[position] = last, used + step * bits
                at.append((last, used))
                used += len(chunk) * bits
        return cls(
            section=np.array(section),
            factor=np.ldexp(1.0, inner),
            at=at,
            word=np.array(word),
            shift=np.array(shift, dtype=np.uint64),
            mask=np.array([(1 << bits) - 1 for bits in size], dtype=np.uint64),
        )

    def words(self, groups: Sequence[EventGroup], units: int) -> list[Words]:
        """The packed counts of all units, one column per word."""
        sums: dict[int, Floats] = {}
        for group in groups:
            for section, added in self._sums(group, units):
                sums[section] = sums[section] + added if section in sums else added
        words: dict[int, Words] = {}
        for section, (word, shift) in enumerate(self.at):
            shifted = sums[section].astype(np.uint64) << np.uint64(shift)
            words[word] = words[word] | shifted if word in words else shifted
        return list(words.values())

    def _sums(self, group: EventGroup, units: int) -> Iterator[tuple[int, Floats]]:
        """Each section that a group counts in, with what the group adds to it in every unit."""
        amounts = np.zeros((len(self.at), len(group.positions[0])))
        for places in group.positions:
            kinds = np.flatnonzero(places >= 0)
            amounts[self.section[places[kinds]], kinds] += self.factor[places[kinds]]
        sections = np.flatnonzero(amounts.any(axis=1))
        amounts = amounts[sections]
        if len(sections) <= _FEW or group.kind is None or (amounts > 0).sum(axis=0).max() > 1:
            for section, amount in zip(sections.tolist(), amounts, strict=True):
                yield section, _summed(group.units.unit, group.kind, amount, units)
            return
        # Many labels: a single sum over all pairs of a unit and a section.
        slot = group.units.unit * len(sections) + amounts.argmax(axis=0)[group.kind]
        wide = _summed(slot, group.kind, amounts.max(axis=0), units * len(sections))
        yield from zip(sections.tolist(), wide.reshape(units, -1).T, strict=True)


def _summed(slot: Ints, kind: Column | None, amount: Floats, slots: int) -> Floats:
    """The sum over the events in each slot of the amount for their kind."""
    if kind is None:
        return np.asarray(np.bincount(slot, minlength=slots) * amount[0])
    if len(slot) > _BLOCK:
        middle = len(slot) // 2
        return _summed(slot[:middle], kind[:middle], amount, slots) + _summed(
            slot[middle:], kind[middle:], amount, slots
        )
    weights = amount.take(kind.astype(np.intp, copy=False))
    return np.bincount(slot, weights=weights, minlength=slots).astype(
        np.float64, copy=False
    )  # int if there are no events


def _narrow(number: Ints, size: int) -> Column:
    """Numbers below `size` in the narrowest type that can hold them."""
    return frozen(number.astype(np.min_scalar_type(max(size - 1, 0))))


def _ordered(rows: Matrix) -> tuple[Ints, Ints]:
    """The order of distinct rows by their contents, and the rank of each row in it."""
    order = _order(rows)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return order, rank


def _order(rows: Matrix) -> Ints:
    """An order of distinct rows that depends only on their contents: that of a linear hash."""
    hashed = rows.astype(np.uint64) @ multipliers(rows.shape[1])
    order = np.argsort(hashed)
    if (hashed[order[1:]] == hashed[order[:-1]]).any():
        return np.lexsort(rows.T[::-1])
    return order


def distinct_rows(matrix: Matrix) -> tuple[Matrix, Ints]:
    """The distinct rows of a matrix, ordered by their contents, and the number of each row among them."""
    if matrix.size == 0:  # no rows, or no columns, in which case all rows are equal
        return matrix[:1], np.zeros(len(matrix), dtype=np.int64)
    words = np.zeros((len(matrix), (matrix.shape[1] + 1) // 2), dtype=np.uint64)
    words.view(np.int32)[:, : matrix.shape[1]] = matrix
    first, number = numbered(words)
    rows = matrix[first]
    order, rank = _ordered(rows)
    return rows[order], rank[number]


def joint_numbers(tables: Sequence[Counts]) -> tuple[Matrix, Ints]:
    """The distinct combinations of rows of several tables over the same units, and how many units have each.

    Examples:
        >>> first, second = (Counts.of_matrix(["x"], ["gold"], np.array([[1], [1], [n]])) for n in (1, 2))
        >>> sorted(joint_numbers([first, second])[1].tolist())
        [1, 2]
    """
    ways = prod(len(table.rows) for table in tables)
    if not 0 < ways <= 2 * tables[0].units:
        distinct, number = distinct_rows(np.stack([table.row.astype(np.int32) for table in tables], axis=1))
        return distinct, np.bincount(number, minlength=len(distinct))
    # Few enough combinations to give each its own slot.
    code = np.zeros(tables[0].units, dtype=np.int64)
    for table in tables:
        code = code * len(table.rows) + table.row
    times = np.bincount(code, minlength=ways)
    present = np.flatnonzero(times)
    numbers = np.unravel_index(present, [len(table.rows) for table in tables])
    distinct = np.stack(numbers, axis=1).astype(np.int32)
    order = _order(distinct)
    return distinct[order], times[present][order]


def grouped(table: Counts, groups: int) -> Matrix:
    """The counts of this many groups of consecutive units, without a matrix of all units.

    Examples:
        >>> table = Counts.of_matrix(["x"], ["gold"], np.array([[1], [2], [3], [4], [5]]))
        >>> grouped(table, 2).tolist()
        [[3], [12]]
    """
    starts = np.arange(groups, dtype=np.int64) * table.units // groups
    size = np.diff(starts, append=table.units)
    sums = np.zeros((groups, table.rows.shape[1]), dtype=table.rows.dtype)
    for at in range(int(size.min())):  # the unit at this position of every group
        sums += table.rows.take(table.row[starts + at], axis=0)
    larger = size > size.min()  # by one unit
    sums[larger] += table.rows[table.row[(starts + size - 1)[larger]]]
    return sums
