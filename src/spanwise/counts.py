"""Counts of mentions in named cells, unit by unit; over parts of a corpus they add up."""

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
_BLOCK = 1 << 18  # events looked at together, so that they stay in the processor's cache
_EXACT = 53  # bits of whole numbers that a float64 holds exactly
_WORD = 64
_FEW = 2  # sections that are summed one by one, which is faster


class EventUnits(Struct, frozen=True, eq=False):
    """The unit of each of several events, and a number of events that no unit has more of."""

    unit: Ints
    most: int

    @classmethod
    def of(cls, unit: Ints) -> EventUnits:
        """The units of events, whose numbers are given."""
        return cls(unit, int(np.bincount(unit).max(initial=0)))

    def take(self, rows: Column) -> EventUnits:
        """Those of some of the events."""
        return EventUnits(self.unit[rows], self.most)


class EventGroup(Struct, frozen=True, eq=False):
    """Events of a few kinds; an event counts at all places of its kind, or all are of the only one.

    A place is a cell and a column: cell · columns + column.
    """

    units: EventUnits
    kind: Column | None  # of each event; None: 0
    places: tuple[Ints, ...]  # each has a place for every kind, -1 for none


class Counts(Struct, frozen=True, eq=False, dict=True):
    """How many mentions fell into each cell and column, in every unit (sentence or document).

    Units with the same counts share a row: `rows[row[u]]` are the counts of unit `u`,
    its cells one after the other. The order of rows depends only on their contents.
    Counts over two halves of a corpus add up to the counts over
    the whole: every engine, every bucket and every resample relies on that.
    """

    cells: tuple[str, ...]
    columns: tuple[str, ...]
    rows: Matrix  # distinct rows × (cells · columns)
    row: Column  # of each unit, in the narrowest numbers: units are many, and stay until the end

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
        """Count events: one row each of `unit`, `cell` and `column` (their numbers).

        Examples:
            >>> counts = Counts.of(["PER"], ["gold", "correct"], unit=np.array([0, 2, 2]),
            ...     cell=np.array([0, 0, 0]), column=np.array([0, 0, 1]), units=3)
            >>> counts.total.tolist()
            [[2, 1]]
        """
        place = cell * np.int64(len(columns)) + column
        every = np.arange(len(cells) * len(columns))
        return cls.of_groups(cells, columns, [EventGroup(EventUnits.of(unit), place, (every,))], units=units)

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
        """Counts of a matrix with one row per unit."""
        rows, row = distinct_rows(np.asarray(matrix, dtype=np.int32))
        return cls(tuple(cells), tuple(columns), frozen(rows), _narrow(row, len(rows)))

    @property
    def units(self) -> int:
        """The number of units."""
        return len(self.row)

    @cached_property
    def times(self) -> Ints:
        """How many units have each of the distinct rows."""
        return frozen(np.bincount(self.row, minlength=len(self.rows)))

    @cached_property
    def total(self) -> Ints:
        """The counts over all units, cells × columns."""
        summed = self.times @ self.rows.astype(np.int64)
        return frozen(summed.reshape(len(self.cells), len(self.columns)))

    def matrix(self) -> Matrix:
        """One row per unit."""
        return np.asarray(self.rows[self.row])

    def __add__(self, other: Counts) -> Counts:
        """The counts over the units of both, those of `other` last; cells that only one of them has join."""
        return Counts.joined([self, other])

    @classmethod
    def joined(cls, parts: Sequence[Counts]) -> Counts:
        """The counts over the units of all parts, one part after the other."""
        cells = tuple(dict.fromkeys(cell for part in parts for cell in part.cells))
        same = [part.with_cells(cells) for part in parts]
        rows, number = distinct_rows(np.concatenate([part.rows for part in same]))
        places = np.split(_narrow(number, len(rows)), np.cumsum([len(part.rows) for part in same])[:-1])
        row = np.concatenate([place[part.row] for place, part in zip(places, same, strict=True)])
        return cls(cells, parts[0].columns, frozen(rows), frozen(row))

    def with_cells(self, cells: Sequence[str]) -> Counts:
        """The counts in the cells of these names, in their order; a cell that is not there is 0."""
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
        """The counts with one more cell in front: all cells added up.

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
        """The counts in new cells, each the sum of the cells at some places; units stay apart.

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
        """The counts of blocks of this many consecutive units; the last one may be smaller.

        Examples:
            >>> Counts.of_matrix(["x"], ["gold"], np.array([[1], [2], [3]])).in_blocks(2).matrix().tolist()
            [[3], [3]]
        """
        parts = []
        step = size * max(1, _BLOCK // size)
        for at in range(0, self.units, step):
            rows = self.rows[self.row[at : at + step]]
            parts.append(np.add.reduceat(rows, np.arange(0, len(rows), size), axis=0))
        whole = np.concatenate(parts) if parts else self.matrix()
        return Counts.of_matrix(self.cells, self.columns, whole)

    def as_one_unit(self) -> Counts:
        """The counts over all units as those of a single one."""
        rows = self.total.reshape(1, -1).astype(np.int32)
        return Counts(self.cells, self.columns, frozen(rows), frozen(np.zeros(1, dtype=np.uint8)))

    def of_cells(self, places: Sequence[int]) -> Counts:
        """The counts in the cells at these places; units stay apart even if only other cells differ."""
        wide = len(self.columns)
        taken = np.concatenate([np.arange(index * wide, (index + 1) * wide) for index in places])
        cells = tuple(self.cells[index] for index in places)
        return Counts(cells, self.columns, frozen(self.rows[:, taken]), self.row)


class CrossTable(Struct, frozen=True, eq=False):
    """How many mentions fell into each pair of a named row and a named column; tables of parts add up."""

    rows: tuple[str | None, ...]
    columns: tuple[str | None, ...]
    counts: Ints

    @classmethod
    def of(
        cls, rows: Sequence[str | None], columns: Sequence[str | None], *, row: Ints, column: Ints
    ) -> CrossTable:
        """Count pairs of numbers of a row and a column.

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
        """The counts in rows and columns of these names, 0 where there is none."""
        row_at = {name: index for index, name in enumerate(self.rows)}
        column_at = {name: index for index, name in enumerate(self.columns)}
        padded = np.zeros((len(self.rows) + 1, len(self.columns) + 1), dtype=np.int64)
        padded[:-1, :-1] = self.counts
        take_rows = [row_at.get(name, len(self.rows)) for name in rows]
        take_columns = [column_at.get(name, len(self.columns)) for name in columns]
        return np.asarray(padded[np.ix_(take_rows, take_columns)])


def _rows_of_events(groups: Sequence[EventGroup], units: int, width: int) -> tuple[Matrix, Column]:
    """The distinct rows of the matrix units × places that counts the events, and each unit's row.

    The matrix itself, mostly zeros, is never made: the counts of a unit are packed into as few 64-bit words
    as hold them, and units are told apart by their words.
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
    held = np.stack([word[first] for word in words], axis=1)
    rows = (held[:, layout.word] >> layout.shift & layout.mask).astype(np.int32)
    order, rank = _ordered(rows)
    return rows[order], _narrow(rank, len(rank))[number]


def _add_total(total: Matrix, group: EventGroup) -> None:
    """Add the events of a group, whatever their units."""
    if group.kind is None:
        times = np.full(1, len(group.units.unit))
    else:
        times = np.bincount(group.kind, minlength=len(group.places[0]))
    for places in group.places:
        there = places >= 0
        np.add.at(total, places[there], times[there].astype(np.int32))


class _Layout(Struct, frozen=True, eq=False):
    """Where the counts of a unit are in its words; those of a group are together, so that few sums do.

    Sums of floating-point numbers are faster than those of integers, and exact below 2**53: counts are
    summed in sections of at most so many bits, and sections are joined to words.
    """

    section: Ints  # of each place, -1 where nothing is counted
    factor: Floats  # of each place: what one event adds to its section
    at: Sequence[tuple[int, int]]  # the word of each section, and by how many bits it is shifted there
    word: Ints  # of each place
    shift: Words
    mask: Words

    @classmethod
    def of(cls, groups: Sequence[EventGroup], width: int) -> _Layout:
        """Give every place bits for as many events as a unit can have there."""
        most = [0] * width
        listed = [[places.tolist() for places in group.places] for group in groups]
        for group, columns in zip(groups, listed, strict=True):
            for place in chain.from_iterable(map(set, columns)):
                if place >= 0:
                    most[place] += group.units.most
        section = [-1] * width
        word, shift, size, inner = ([0] * width for _ in range(4))
        at: list[tuple[int, int]] = []
        last, used = 0, 0
        for columns in listed:
            new = sorted(place for place in {*chain(*columns)} if place >= 0 and section[place] < 0)
            bits = max((most[place] for place in new), default=1).bit_length()
            # Places of one kind stay in one section where they can.
            number = max(_EXACT // bits // len(columns) * len(columns), 1)
            for begin in range(0, len(new), number):
                here = new[begin : begin + number]
                if used + len(here) * bits > _WORD:
                    last, used = last + 1, 0
                for step, place in enumerate(here):
                    section[place], size[place], inner[place] = len(at), bits, step * bits
                    word[place], shift[place] = last, used + step * bits
                at.append((last, used))
                used += len(here) * bits
        return cls(
            section=np.array(section),
            factor=np.ldexp(1.0, inner),
            at=at,
            word=np.array(word),
            shift=np.array(shift, dtype=np.uint64),
            mask=np.array([(1 << bits) - 1 for bits in size], dtype=np.uint64),
        )

    def words(self, groups: Sequence[EventGroup], units: int) -> list[Words]:
        """The counts of all units, packed; each word as a column."""
        sums: dict[int, Floats] = {}
        for group in groups:
            for section, added in self._sums(group, units):
                sums[section] = sums[section] + added if section in sums else added
        words: dict[int, Words] = {}
        for section, (word, shift) in enumerate(self.at):
            held = sums[section].astype(np.uint64) << np.uint64(shift)
            words[word] = words[word] | held if word in words else held
        return list(words.values())

    def _sums(self, group: EventGroup, units: int) -> Iterator[tuple[int, Floats]]:
        """The sections that a group counts in, and what it adds to that of each unit."""
        amounts = np.zeros((len(self.at), len(group.places[0])))
        for places in group.places:
            kinds = np.flatnonzero(places >= 0)
            amounts[self.section[places[kinds]], kinds] += self.factor[places[kinds]]
        sections = np.flatnonzero(amounts.any(axis=1))
        amounts = amounts[sections]
        if len(sections) <= _FEW or group.kind is None or (amounts > 0).sum(axis=0).max() > 1:
            for section, amount in zip(sections.tolist(), amounts, strict=True):
                yield section, _summed(group.units.unit, group.kind, amount, units)
            return
        # Many labels: one sum over the pairs of a unit and a section.
        slot = group.units.unit * len(sections) + amounts.argmax(axis=0)[group.kind]
        wide = _summed(slot, group.kind, amounts.max(axis=0), units * len(sections))
        yield from zip(sections.tolist(), wide.reshape(units, -1).T, strict=True)


def _summed(slot: Ints, kind: Column | None, amount: Floats, slots: int) -> Floats:
    """The sum over the events in each slot of the amounts of their kinds."""
    if kind is None:
        return np.asarray(np.bincount(slot, minlength=slots) * amount[0])
    if len(slot) > _BLOCK:
        middle = len(slot) // 2
        return _summed(slot[:middle], kind[:middle], amount, slots) + _summed(
            slot[middle:], kind[middle:], amount, slots
        )
    weights = amount.take(kind.astype(np.intp, copy=False))
    return np.bincount(slot, weights=weights, minlength=slots).astype(np.float64, copy=False)  # of none: int


def _narrow(number: Ints, size: int) -> Column:
    """Numbers below `size` in the narrowest type that holds them."""
    return frozen(number.astype(np.min_scalar_type(max(size - 1, 0))))


def _ordered(rows: Matrix) -> tuple[Ints, Ints]:
    """The order of distinct rows by their contents, and the place of each in it."""
    order = _order(rows)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return order, rank


def _order(rows: Matrix) -> Ints:
    """The order of distinct rows, which depends only on their contents: by a linear hash of them."""
    hashed = rows.astype(np.uint64) @ multipliers(rows.shape[1])
    order = np.argsort(hashed)
    if (hashed[order[1:]] == hashed[order[:-1]]).any():
        return np.lexsort(rows.T[::-1])
    return order


def distinct_rows(matrix: Matrix) -> tuple[Matrix, Ints]:
    """The distinct rows of a matrix in an order of their own, and for each row its number among them."""
    if len(matrix) == 0:
        return matrix, np.zeros(0, dtype=np.int64)
    words = np.zeros((len(matrix), (matrix.shape[1] + 1) // 2), dtype=np.uint64)
    words.view(np.int32)[:, : matrix.shape[1]] = matrix
    first, number = numbered(words)
    rows = matrix[first]
    order, rank = _ordered(rows)
    return rows[order], rank[number]


def joint_numbers(tables: Sequence[Counts]) -> tuple[Matrix, Ints]:
    """The distinct combinations of rows of several tables over the same units, and how many units have each.

    Examples:
        >>> one, other = (Counts.of_matrix(["x"], ["gold"], np.array([[1], [1], [size]])) for size in (1, 2))
        >>> sorted(joint_numbers([one, other])[1].tolist())
        [1, 2]
    """
    ways = prod(len(table.rows) for table in tables)
    if not 0 < ways <= 2 * tables[0].units:
        distinct, number = distinct_rows(np.stack([table.row.astype(np.int32) for table in tables], axis=1))
        return distinct, np.bincount(number, minlength=len(distinct))
    # So few that each has its own slot to be counted in.
    code = np.zeros(tables[0].units, dtype=np.int64)
    for table in tables:
        code = code * len(table.rows) + table.row
    times = np.bincount(code, minlength=ways)
    there = np.flatnonzero(times)
    places = np.unravel_index(there, [len(table.rows) for table in tables])
    distinct = np.stack(places, axis=1).astype(np.int32)
    order = _order(distinct)
    return distinct[order], times[there][order]


def grouped(table: Counts, groups: int) -> Matrix:
    """The counts of this many groups of consecutive units, added up without a matrix of all units.

    Examples:
        >>> table = Counts.of_matrix(["x"], ["gold"], np.array([[1], [2], [3], [4], [5]]))
        >>> grouped(table, 2).tolist()
        [[3], [12]]
    """
    starts = np.arange(groups, dtype=np.int64) * table.units // groups
    size = np.diff(starts, append=table.units)
    whole = np.zeros((groups, table.rows.shape[1]), dtype=table.rows.dtype)
    for at in range(int(size.min())):  # the unit at this place of every group
        whole += table.rows[table.row[starts + at]]
    larger = size > size.min()  # by one unit
    whole[larger] += table.rows[table.row[(starts + size - 1)[larger]]]
    return whole
