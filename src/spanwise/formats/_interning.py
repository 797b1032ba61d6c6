"""Map words in a buffer of bytes to integer codes, creating Python strings only for new words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spanwise.columns import Bools, Codes, Column, Ints, Words
from spanwise.hashing import MASKS, PADDING, byte_hashes, slots, windows

_MANY = 1 << 16  # words
_HUGE = 128  # bytes; longer words go to a dictionary, as comparing them takes a step per eight bytes


class _CodeTable:
    """An open-addressing hash table from 64-bit keys to codes, with vectorised lookups."""

    def __init__(self) -> None:
        self._grow(1 << 12)
        self._used = 0

    def _grow(self, size: int) -> None:
        self._bits = size.bit_length() - 1
        self._mask = size - 1
        self.keys = np.zeros(size, dtype=np.uint64)
        self.codes = np.full(size, -1, dtype=np.int32)

    def find(self, keys: Words) -> Codes:
        """The code of each key, or -1 if the key is new."""
        slot = self._slots(keys)
        code = self.codes[slot]
        collided = np.flatnonzero(self.keys[slot] != keys)
        collided = collided[code[collided] >= 0]
        while len(collided):
            slot[collided] = (slot[collided] + 1) & self._mask
            at = slot[collided]
            code[collided] = self.codes[at]
            collided = collided[(self.keys[at] != keys[collided]) & (code[collided] >= 0)]
        return code

    def add(self, keys: Words, codes: Codes) -> None:
        """Store new, distinct keys with their codes."""
        self._used += len(keys)
        if 2 * self._used > len(self.keys):
            filled = self.codes >= 0
            keys = np.concatenate([self.keys[filled], keys])
            codes = np.concatenate([self.codes[filled], codes])
            # Growing rehashes all keys, so small tables grow a lot; large ones grow less to save memory.
            self._grow(1 << ((8 if self._used < _MANY else 3) * self._used).bit_length())
        slot = self._slots(keys)
        waiting = np.arange(len(keys))
        while len(waiting):
            free = self.codes[slot[waiting]] < 0
            chosen = waiting[free]
            # If several keys compete for a slot, the last one written gets it and the others move on.
            self.codes[slot[chosen]] = codes[chosen]
            self.keys[slot[chosen]] = keys[chosen]
            waiting = waiting[self.codes[slot[waiting]] != codes[waiting]]
            slot[waiting] = (slot[waiting] + 1) & self._mask

    def _slots(self, keys: Words) -> Ints:
        return slots(keys, self._bits)


class Interner:
    """Numbers distinct words in order of their first occurrence.

    Words of up to eight bytes are their own key, padded with zeros (no word contains a NUL),
    so they cannot collide. Longer words are looked up by a hash of all their bytes and
    then compared with the stored word, byte by byte. If two of them share a
    hash, the second is kept in a plain dictionary, as are extremely long words.
    """

    def __init__(self) -> None:
        self.strings: list[str] = []
        self._short, self._long = _CodeTable(), _CodeTable()
        self._length = np.zeros(1 << 10, dtype=np.int64)
        self._first = np.zeros(1 << 10, dtype=np.uint64)  # the first and the next eight bytes of a word
        self._second = np.zeros(1 << 10, dtype=np.uint64)
        self._at = np.zeros(1 << 10, dtype=np.int64)  # where a word begins in _store
        self._store = np.zeros(1 << 16, dtype=np.uint8)  # the bytes of all words, one per line, with padding
        self._stored = 0
        self._others: dict[bytes, int] = {}

    def codes(self, buffer: bytes, begin: Ints, end: Ints) -> Codes:
        """The codes of the words `buffer[begin:end]`; the buffer must be UTF-8 and end with `PADDING`."""
        eights = windows(buffer)
        size = end - begin
        keys = eights[begin]
        keys &= MASKS[np.minimum(size, 8)]
        result = self._short.find(keys)
        rows = np.flatnonzero(size > 8)
        huge = rows[:0]
        if len(rows) and size[rows].max() > _HUGE:
            huge, rows = rows[size[rows] > _HUGE], rows[size[rows] <= _HUGE]
            result[huge] = 0  # a placeholder, so that they do not count as new
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
        """Number the `new` words in order of their first occurrence, and store their codes in `result`."""
        is_long = size[new] > 8
        order = np.lexsort((new, keys[new], is_long))
        sorted_keys, sorted_long = keys[new][order], is_long[order]
        fresh = np.ones(len(new), dtype=bool)
        fresh[1:] = (sorted_keys[1:] != sorted_keys[:-1]) | (sorted_long[1:] != sorted_long[:-1])
        firsts = new[order[fresh]]  # ties are sorted by `new`, so these are first occurrences
        by_occurrence = np.argsort(firsts, kind="stable")
        first_code = len(self.strings)
        code = np.empty(len(firsts), dtype=np.int32)
        code[by_occurrence] = np.arange(first_code, first_code + len(firsts), dtype=np.int32)
        rows = firsts[by_occurrence]
        self._remember(buffer, begin[rows], end[rows])
        long = size[firsts] > 8
        for table, mask in ((self._short, ~long), (self._long, long)):
            if mask.any():
                table.add(keys[firsts[mask]], code[mask])
        result[new[order]] = code[np.cumsum(fresh) - 1]

    def _remember(self, buffer: bytes, begin: Ints, end: Ints) -> None:
        """Store new words as strings, with their lengths and bytes for later comparisons."""
        first_code, size = len(self.strings), end - begin
        total = first_code + len(size)
        if total > len(self._length):
            self._lengthen(1 << total.bit_length())
        letters = in_lines(buffer, begin, size)
        self.strings.extend(letters[:-1].tobytes().decode("utf-8").split("\n"))
        self._length[first_code:total] = size
        self._at[first_code:total] = self._stored + np.cumsum(size + 1) - size - 1
        long = np.flatnonzero(size > 8)
        eights, start = windows(buffer), begin[long]
        self._first[first_code + long] = eights[start]
        self._second[first_code + long] = eights[start + 8] & MASKS[np.minimum(size[long] - 8, 8)]
        until = self._stored + len(letters)
        if until + len(PADDING) > len(self._store):
            self._store = _extended(self._store, 1 << (until + len(PADDING)).bit_length())
        self._store[self._stored : until] = letters
        self._stored = until

    def _lengthen(self, size: int) -> None:
        for name in ("_length", "_first", "_second", "_at"):
            setattr(self, name, _extended(getattr(self, name), size))

    def _unlike(self, result: Codes, long: _Long) -> Ints:
        """The rows of long words that differ from the words stored under their codes."""
        code = result[long.rows]
        differs: Bools = self._length[code] != long.size
        differs |= self._first[code] != long.first
        differs |= self._second[code] != long.second
        stored = windows(self._store)
        rest = np.flatnonzero((long.size > 16) & ~differs)
        step = 16
        while len(rest):
            mask = MASKS[np.minimum(long.size[rest] - step, 8)]
            stored_at, buffer_at = self._at[code[rest]] + step, long.begin[rest] + step
            unequal = ((stored[stored_at] ^ long.eights[buffer_at]) & mask) != 0
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
    """The bytes of all words, each followed by a line feed, which no word contains."""
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
    """Words of more than eight bytes: their positions, their first two blocks of eight, and their hashes."""

    def __init__(self, rows: Ints, eights: Words, begin: Ints, size: Ints, first: Words) -> None:
        self.rows, self.eights, self.begin, self.size, self.first = rows, eights, begin, size, first
        self.second = eights[begin + 8] & MASKS[np.minimum(size - 8, 8)]
        self.key = byte_hashes(eights, begin, size)
