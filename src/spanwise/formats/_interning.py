"""Words in a buffer of bytes become codes, and only new words touch Python objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from spanwise.columns import Bools, Codes, Ints

Words64 = npt.NDArray[np.uint64]

PADDING = b"\x00" * 8  # a buffer ends with these, so that eight bytes can be loaded from any word
_MASKS = np.array([(1 << (8 * length)) - 1 for length in range(9)], dtype=np.uint64)
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio: spreads close keys far apart
_STIR = np.uint64(0xD6E8FEB86659FD93)


def windows(buffer: bytes | npt.NDArray[np.uint8]) -> Words64:
    """The eight bytes from every position of a padded buffer, as one number each, without a copy."""
    return np.ndarray((len(buffer) - 7,), dtype="<u8", buffer=buffer, strides=(1,))


class _Table:
    """An open-addressing table from 64-bit keys to codes, looked up a column at a time."""

    def __init__(self) -> None:
        self._grow(1 << 12)
        self._used = 0

    def _grow(self, size: int) -> None:
        self._shift = np.uint64(64 - size.bit_length() + 1)
        self._mask = size - 1
        self.keys = np.zeros(size, dtype=np.uint64)
        self.codes = np.full(size, -1, dtype=np.int32)

    def find(self, keys: Words64) -> Codes:
        """The code of each key, -1 where it is new."""
        slot = self._slots(keys)
        found = self.codes[slot]
        astray = np.flatnonzero((self.keys[slot] != keys) & (found >= 0))
        while len(astray):
            slot[astray] = (slot[astray] + 1) & self._mask
            at = slot[astray]
            found[astray] = self.codes[at]
            astray = astray[(self.keys[at] != keys[astray]) & (found[astray] >= 0)]
        return found

    def add(self, keys: Words64, codes: Codes) -> None:
        """Store new keys, all different, with their codes."""
        self._used += len(keys)
        if 2 * self._used > len(self.keys):
            filled = self.codes >= 0
            keys = np.concatenate([self.keys[filled], keys])
            codes = np.concatenate([self.codes[filled], codes])
            self._grow(1 << (4 * self._used).bit_length())
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

    def _slots(self, keys: Words64) -> Ints:
        return ((keys * _ODD) >> self._shift).view(np.int64)


class Interner:
    """Distinct words numbered in the order in which they first occur.

    Words of up to eight bytes are their own key, zeros behind (no word holds a NUL),
    and so cannot be confused. Longer ones are found by a hash of all their bytes and
    then compared with the word that was stored, byte by byte; should two ever share a
    hash, the second is kept in a plain dictionary.
    """

    def __init__(self) -> None:
        self.strings: list[str] = []
        self._short, self._long = _Table(), _Table()
        self._length = np.zeros(1 << 10, dtype=np.int64)
        self._at = np.zeros(1 << 10, dtype=np.int64)  # where in _store a long word begins
        self._store = np.zeros(1 << 16, dtype=np.uint8)  # the bytes of all long words, padded
        self._stored = 0
        self._clashing: dict[bytes, int] = {}

    def codes(self, buffer: bytes, begin: Ints, end: Ints) -> Codes:
        """The codes of the words `buffer[begin:end]`; the buffer is padded and UTF-8."""
        eights = windows(buffer)
        size = end - begin
        first = eights[begin]
        long = np.flatnonzero(size > 8)
        if not len(long):
            first &= _MASKS[size]
            return self._coded(self._short, first, buffer, begin, end)
        first &= _MASKS[np.minimum(size, 8)]
        keys = first
        result = self._short.find(keys)
        long_keys = _hashed(eights, begin[long], size[long], first[long])
        result[long] = self._long.find(long_keys)
        new = np.flatnonzero(result < 0)
        if len(new):
            keys[long] = long_keys
            self._learn(new, keys, size, buffer, begin, end, result)
        return self._verified(result, long, buffer, eights, begin, end)

    def codes_of(self, words: list[bytes]) -> Codes:
        """The codes of a list of words."""
        sizes = np.fromiter(map(len, words), np.int64, len(words))
        end = np.cumsum(sizes)
        return self.codes(b"".join(words) + PADDING, end - sizes, end)

    def _coded(self, table: _Table, keys: Words64, buffer: bytes, begin: Ints, end: Ints) -> Codes:
        result = table.find(keys)
        new = np.flatnonzero(result < 0)
        if len(new):
            self._learn(new, keys, end - begin, buffer, begin, end, result)
        return result

    def _learn(
        self, new: Ints, keys: Words64, size: Ints, buffer: bytes, begin: Ints, end: Ints, result: Codes
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
        spans = zip(begin[rows].tolist(), end[rows].tolist(), strict=True)
        self.strings.extend([buffer[a:b].decode("utf-8") for a, b in spans])
        self._remember(rows, buffer, begin, end, known)
        long_ones = size[firsts] > 8
        for table, mask in ((self._short, ~long_ones), (self._long, long_ones)):
            if mask.any():
                table.add(keys[firsts[mask]], code[mask])
        result[new[order]] = code[np.cumsum(fresh) - 1]

    def _remember(self, rows: Ints, buffer: bytes, begin: Ints, end: Ints, known: int) -> None:
        """Keep length and, for long words, the bytes of new words, to compare later ones with."""
        total = known + len(rows)
        if total > len(self._length):
            grown = 1 << total.bit_length()
            self._length, self._at = _extended(self._length, grown), _extended(self._at, grown)
        size = end[rows] - begin[rows]
        self._length[known:total] = size
        long = np.flatnonzero(size > 8)
        if not len(long):
            return
        joined = b"".join([buffer[begin[row] : end[row]] for row in rows[long].tolist()])
        self._at[known + long] = self._stored + np.cumsum(size[long]) - size[long]
        until = self._stored + len(joined)
        if until + len(PADDING) > len(self._store):
            longer = np.zeros(1 << (until + len(PADDING)).bit_length(), dtype=np.uint8)
            longer[: self._stored] = self._store[: self._stored]
            self._store = longer
        self._store[self._stored : until] = np.frombuffer(joined, dtype=np.uint8)
        self._stored = until

    def _verified(
        self, result: Codes, long: Ints, buffer: bytes, eights: Words64, begin: Ints, end: Ints
    ) -> Codes:
        """The codes, once the long words have been compared with the words stored under them."""
        stored = windows(self._store)
        code = result[long]
        at, here, left = self._at[code], begin[long], end[long] - begin[long]
        differs: Bools = self._length[code] != left
        at, rest = np.where(differs, 0, at), np.flatnonzero(~differs)
        step = 0
        while len(rest):
            mask = _MASKS[np.minimum(left[rest] - step, 8)]
            unequal = ((stored[at[rest] + step] ^ eights[here[rest] + step]) & mask) != 0
            differs[rest[unequal]] = True
            step += 8
            rest = rest[~unequal]
            rest = rest[left[rest] > step]
        for i in long[differs].tolist():
            result[i] = self._clash(buffer[begin[i] : end[i]])
        return result

    def _clash(self, word: bytes) -> int:
        if word not in self._clashing:
            self._clashing[word] = len(self.strings)
            self.strings.append(word.decode("utf-8"))
            self._length = _extended(self._length, max(len(self._length), 2 * len(self.strings)))
            self._at = _extended(self._at, len(self._length))
        return self._clashing[word]


def _extended(column: Ints, size: int) -> Ints:
    result = np.zeros(size, dtype=np.int64)
    result[: len(column)] = column
    return result


def _hashed(eights: Words64, begin: Ints, size: Ints, first: Words64) -> Words64:
    """A number from all bytes of each word, which are more than eight."""
    key: Any = (first ^ size.view(np.uint64)) * _STIR
    rest = np.arange(len(size))
    step = 8
    while len(rest):
        block = eights[begin[rest] + step] & _MASKS[np.minimum(size[rest] - step, 8)]
        key[rest] = (key[rest] ^ (key[rest] >> np.uint64(29)) ^ block) * _STIR
        step += 8
        rest = rest[size[rest] > step]
    return key ^ (key >> np.uint64(32))  # type: ignore[no-any-return]
