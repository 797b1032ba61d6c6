"""The rows of a file in narrow columns, so that its parts need not be parsed a second time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from spanwise.columns import Column, Ints, codes, ints
from spanwise.formats._rows import Rows

_Chunk = tuple[Column | None, ...]  # the columns of one chunk; None: the tokens of the file it is `like`


class Kept:
    """Chunks of rows, added in their order, from which the rows between any two sentences can be had.

    Tags are few and take a byte each. Tokens that are those of the file it is `like`, as predictions have
    the tokens of gold, are not kept again. Rows that skip lines are not kept at all.
    """

    def __init__(self, room: int, like: Kept | None = None) -> None:
        self._like = like
        self._left = room
        self._chunks: list[_Chunk] = []
        self._tokens = [0]  # how many there are before each chunk, and in all
        self._sentences = [0]
        self._firsts: list[Column] = []  # the first token of each sentence of a chunk
        self._lines: list[Column] = []

    def add(self, rows: Rows, strings: Sequence[int]) -> bool:
        """Keep one more chunk, whose columns have so many strings each; False where there is no room."""
        if rows.token_lines is not None:
            return False
        begin, end = self._tokens[-1], self._tokens[-1] + len(rows.columns[0])
        columns: list[Column | None] = [
            column.astype(np.min_scalar_type(max(number - 1, 0)))
            for column, number in zip(rows.columns, strings, strict=True)
        ]
        if self._like is not None and np.array_equal(self._like.column(0, begin, end), rows.columns[0]):
            columns[0] = None
        firsts = (rows.begins + begin).astype(np.uint32)
        lines = rows.lines.astype(np.uint32)
        self._left -= sum(column.nbytes for column in (*columns, firsts, lines) if column is not None)
        if self._left < 0 or max(end, rows.line) > np.iinfo(np.uint32).max:
            return False
        self._chunks.append(tuple(columns))
        self._tokens.append(end)
        self._sentences.append(self._sentences[-1] + len(firsts))
        self._firsts.append(firsts)
        self._lines.append(lines)
        return True

    def forget(self, token: int) -> None:
        """Let go of the chunks before a token, when nobody will ask for their rows again."""
        for number in range(bisect_right(self._tokens, token) - 1):
            self._chunks[number] = ()
            self._firsts[number] = self._lines[number] = np.zeros(0, dtype=np.uint32)

    @property
    def left(self) -> int:
        """How many more bytes may be kept."""
        return self._left

    def column(self, place: int, begin: int, end: int) -> Column:
        """A column from token `begin` up to token `end`, or up to the last one."""
        found = [
            self._of_chunk(place, number)[max(begin - first, 0) : end - first]
            for number, first in self._among(self._tokens, begin, end)
        ]
        return np.concatenate(found) if found else np.zeros(0, dtype=np.uint8)

    def _of_chunk(self, place: int, number: int) -> Column:
        column = self._chunks[number][place]
        if column is not None:
            return column
        assert self._like is not None
        return self._like.column(place, self._tokens[number], self._tokens[number + 1])

    def rows(self, tokens: tuple[int, int], sentences: tuple[int, int], line: int) -> Rows:
        """The rows of these tokens and sentences, as if a file that begins at `line` held them alone."""
        begin, end = tokens
        wide = len(self._chunks[-1])
        return Rows(
            columns=tuple(codes(self.column(place, begin, end)) for place in range(wide)),
            begins=ints(self._by_sentence(self._firsts, *sentences) - begin),
            lines=ints(self._by_sentence(self._lines, *sentences) - (line - 1)),
            marks=ints([]),
            open=False,
            line=0,
        )

    def _by_sentence(self, column: Sequence[Column], begin: int, end: int) -> Ints:
        found = [
            column[number][max(begin - first, 0) : end - first]
            for number, first in self._among(self._sentences, begin, end)
        ]
        return np.concatenate(found).astype(np.int64)

    @staticmethod
    def _among(starts: Sequence[int], begin: int, end: int) -> list[tuple[int, int]]:
        """The chunks that hold something between two places, and the place of their first."""
        number = max(bisect_right(starts, begin) - 1, 0)
        found = []
        while number < len(starts) - 1 and starts[number] < end:
            found.append((number, starts[number]))
            number += 1
        return found
