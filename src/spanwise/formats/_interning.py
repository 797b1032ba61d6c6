"""Words in a buffer of bytes become codes, and only new words touch Python objects."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spanwise.columns import Bools, Codes, Column, Ints, Words
from spanwise.hashing import MASKS, PADDING, byte_hashes, slots, windows

_MANY = 1 << 16  # words
_HUGE = 128  # bytes; longer words would take a step for every eight of them


class _CodeTable:
    """An open-addressing table from 64-bit keys to codes, looked up a column at a time."""

    def __init__(self) -> None:
        self._grow(1 << 12)
        self._used = 0

    def _grow(self, size: int) -> None:
        self._bits = size.bit_length() - 1
        self._mask = size - 1
        self.keys = np.zeros(size, dtype=np.uint64)
        self.codes = np.full(size, -1, dtype=np.int32)

    def find(self, keys: Words) -> Codes:
        """The code of each key, -1 where it is new."""
        slot = self._slots(keys)
        code = self.codes[slot]
        astray = np.flatnonzero(self.keys[slot] != keys)
        astray = astray[code[astray] >= 0]
        while len(astray):
            slot[astray] = (slot[astray] + 1) & self._mask
            at = slot[astray]
            code[astray] = self.codes[at]
            astray = astray[(self.keys[at] != keys[astray]) & (code[astray] >= 0)]
        return code

    def add(self, keys: Words, codes: Codes) -> None:
        """Store new keys, all different, with their codes."""
        self._used += len(keys)
        if 2 * self._used > len(self.keys):
            filled = self.codes >= 0
            keys = np.concatenate([self.keys[filled], keys])
            codes = np.concatenate([self.codes[filled], codes])
            # Growing costs as much as all words until then; many words are not worth the memory.
            self._grow(1 << ((8 if self._used < _MANY else 3) * self._used).bit_length())
        slot = self._slots(keys)
        waiting = np.arange(len(keys))
        while len(waiting):
            free = self.codes[slot[waiting]] < 0
            chosen = waiting[free]
            # Several keys may want one slot: the last one written has it, the others go on.
            self.codes[slot[chosen]] = codes[chosen]
            self.keys[slot[chosen]] = keys[chosen]
            waiting = waiting[self.codes[slot[waiting]] != codes[waiting]]
            slot[waiting] = (slot[waiting] + 1) & self._mask

    def _slots(self, keys: Words) -> Ints:
        return slots(keys, self._bits)


class Interner:
    """Distinct words numbered in the order in which they first occur.

    Words of up to eight bytes are their own key, padded with zeros (no word holds a NUL),
    and so cannot be confused. Longer ones are found by a hash of all their bytes and
    then compared with the word that was stored, byte by byte; should two ever share a
    hash, the second is kept in a plain dictionary, as are words of absurd length.
    """

    def __init__(self) -> None:
        self.strings: list[str] = []
        self._short, self._long = _CodeTable(), _CodeTable()
        self._length = np.zeros(1 << 10, dtype=np.int64)
        self._first = np.zeros(1 << 10, dtype=np.uint64)  # its first eight bytes, and the next
        self._second = np.zeros(1 << 10, dtype=np.uint64)
        self._at = np.zeros(1 << 10, dtype=np.int64)  # where in _store it begins
        self._store = np.zeros(1 << 16, dtype=np.uint8)  # the bytes of all words, in lines, padded
        self._stored = 0
        self._others: dict[bytes, int] = {}

    def codes(self, buffer: bytes, begin: Ints, end: Ints) -> Codes:
        """The codes of the words `buffer[begin:end]`; the buffer is padded and UTF-8."""
        eights = windows(buffer)
        size = end - begin
        keys = eights[begin]
        keys &= MASKS[np.minimum(size, 8)]
        result = self._short.find(keys)
        rows = np.flatnonzero(size > 8)
        huge = rows[:0]
        if len(rows) and size[rows].max() > _HUGE:
            huge, rows = rows[size[rows] > _HUGE], rows[size[rows] <= _HUGE]
            result[huge] = 0  # known for now; they have a dictionary of their own
        long = None
        if len(rows):
            long = _Long(rows, eights, begin[rows], size[rows], keys[rows])
            keys[rows] = long.key
            result[rows] = self._long.find(long.key)
        new = np.flatnonzero(result < 0)
        if len(new):
            self._learn(new, keys, size, buffer, begin, end, result)
        if long is not None:
            huge = np.concatenate([huge, self._unlike(result, long)])
        for row in huge.tolist():
            result[row] = self._apart(buffer[begin[row] : end[row]])
        return result

    def codes_of(self, words: list[bytes]) -> Codes:
        """The codes of a list of words."""
        sizes = np.fromiter(map(len, words), np.int64, len(words))
        end = np.cumsum(sizes)
        return self.codes(b"".join(words) + PADDING, end - sizes, end)

    def _learn(
        self, new: Ints, keys: Words, size: Ints, buffer: bytes, begin: Ints, end: Ints, result: Codes
    ) -> None:
        """Number the `new` words in the order of their first occurrence, and put their codes in `result`."""
        is_long = size[new] > 8
        order = np.lexsort((new, keys[new], is_long))
        sorted_keys, sorted_long = keys[new][order], is_long[order]
        fresh = np.ones(len(new), dtype=bool)
        fresh[1:] = (sorted_keys[1:] != sorted_keys[:-1]) | (sorted_long[1:] != sorted_long[:-1])
        firsts = new[order[fresh]]  # lexsort is stable in `new`, so these are first occurrences
        by_place = np.argsort(firsts, kind="stable")
        known = len(self.strings)
        code = np.empty(len(firsts), dtype=np.int32)
        code[by_place] = np.arange(known, known + len(firsts), dtype=np.int32)
        rows = firsts[by_place]
        self._remember(buffer, begin[rows], end[rows])
        long_ones = size[firsts] > 8
        for table, mask in ((self._short, ~long_ones), (self._long, long_ones)):
            if mask.any():
                table.add(keys[firsts[mask]], code[mask])
        result[new[order]] = code[np.cumsum(fresh) - 1]

    def _remember(self, buffer: bytes, begin: Ints, end: Ints) -> None:
        """Keep new words as strings, with their lengths and bytes to compare later ones with."""
        known, size = len(self.strings), end - begin
        total = known + len(size)
        if total > len(self._length):
            self._lengthen(1 << total.bit_length())
        letters = in_lines(buffer, begin, size)
        self.strings.extend(letters[:-1].tobytes().decode("utf-8").split("\n"))
        self._length[known:total] = size
        self._at[known:total] = self._stored + np.cumsum(size + 1) - size - 1
        long = np.flatnonzero(size > 8)
        eights, start = windows(buffer), begin[long]
        self._first[known + long] = eights[start]
        self._second[known + long] = eights[start + 8] & MASKS[np.minimum(size[long] - 8, 8)]
        until = self._stored + len(letters)
        if until + len(PADDING) > len(self._store):
            self._store = _extended(self._store, 1 << (until + len(PADDING)).bit_length())
        self._store[self._stored : until] = letters
        self._stored = until

    def _lengthen(self, size: int) -> None:
        for name in ("_length", "_first", "_second", "_at"):
            setattr(self, name, _extended(getattr(self, name), size))

    def _unlike(self, result: Codes, long: _Long) -> Ints:
        """The rows of long words that are not the words stored under their codes."""
        code = result[long.rows]
        differs: Bools = self._length[code] != long.size
        differs |= self._first[code] != long.first
        differs |= self._second[code] != long.second
        stored = windows(self._store)
        rest = np.flatnonzero((long.size > 16) & ~differs)
        step = 16
        while len(rest):
            mask = MASKS[np.minimum(long.size[rest] - step, 8)]
            there, here = self._at[code[rest]] + step, long.begin[rest] + step
            unequal = ((stored[there] ^ long.eights[here]) & mask) != 0
            differs[rest[unequal]] = True
            step += 8
            rest = rest[~unequal]
            rest = rest[long.size[rest] > step]
        return long.rows[differs]

    def _apart(self, word: bytes) -> int:
        if word not in self._others:
            self._others[word] = len(self.strings)
            self.strings.append(word.decode("utf-8"))
            self._lengthen(max(len(self._length), 2 * len(self.strings)))
        return self._others[word]


def in_lines(buffer: bytes, begin: Ints, size: Ints) -> npt.NDArray[np.uint8]:
    """The bytes of words one after the other, each with a line end after it, which no word holds."""
    until = np.cumsum(size + 1)
    source = np.repeat(begin - (until - size - 1), size + 1) + np.arange(until[-1])
    letters: npt.NDArray[np.uint8] = np.frombuffer(buffer, dtype=np.uint8)[source]
    letters[until - 1] = ord("\n")
    return letters


def _extended(column: Column, size: int) -> Column:
    result = np.zeros(size, dtype=column.dtype)
    result[: len(column)] = column
    return result


class _Long:
    """Words of more than eight bytes: where they are, their first two blocks of eight, and a hash of all."""

    def __init__(self, rows: Ints, eights: Words, begin: Ints, size: Ints, first: Words) -> None:
        self.rows, self.eights, self.begin, self.size, self.first = rows, eights, begin, size, first
        self.second = eights[begin + 8] & MASKS[np.minimum(size - 8, 8)]
        self.key = byte_hashes(eights, begin, size)
