"""Hashing: numbering equal rows, spreading keys, and content hashes that are the same on every machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from spanwise.columns import Bools, Column, Ints, Words, frozen, ints, offsets

if TYPE_CHECKING:
    from hashlib import _Hash

ODD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio: spreads nearby keys far apart
STIR = np.uint64(0xD6E8FEB86659FD93)
_STAFFORD = np.uint64(0xBF58476D1CE4E5B9)
PADDING = b"\x00" * 8  # appended to a buffer, so that eight bytes can be loaded from any position in it
MASKS = np.array([(1 << (8 * length)) - 1 for length in range(9)], dtype=np.uint64)
_ROUNDS = 20
_FEW = 16  # up to this many columns are compared one by one, which is faster


def sha256(data: bytes = b"") -> _Hash:
    """A SHA-256 hash that more bytes can be added to.

    Examples:
        >>> sha256(b"Rome").hexdigest()[:8]
        'd0d22019'
    """
    import hashlib  # lazy: it loads OpenSSL, which takes some milliseconds

    return hashlib.sha256(data)


def sha256_in(stream: IO[bytes]) -> str:
    """The SHA-256 hash of a stream's bytes; closes the stream."""
    import hashlib

    with stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]


def column_digest(column: Column) -> bytes:
    """A hash of a column's bytes, to find equal columns by.

    Examples:
        >>> column_digest(np.array([1, 2])) == column_digest(np.array([2, 1]))
        False
    """
    import hashlib

    return hashlib.blake2b(column.tobytes()).digest()


def windows(buffer: bytes | npt.NDArray[np.uint8]) -> Words:
    """The eight bytes at every position of a padded buffer as one number each, without a copy."""
    return np.ndarray((len(buffer) - 7,), dtype="<u8", buffer=buffer, strides=(1,))


def slots(keys: Column, bits: int) -> Ints:
    """A number below 2**bits for each 64-bit key: the high bits of a product."""
    product: Words = keys.view(np.uint64) * ODD
    product >>= np.uint64(64 - bits)
    return product.view(np.int64)


def slot(key: int, bits: int) -> int:
    """Like `slots`, for a single key.

    Examples:
        >>> slot(7, 6) == int(slots(np.array([7]), 6)[0])
        True
    """
    return key * int(ODD) % (1 << 64) >> (64 - bits)


def mixed_words(values: Column) -> Words:
    """Numbers spread over 64 bits (the finaliser of SplitMix64), the same on every machine.

    Examples:
        >>> hex(mixed_words(np.array([0]))[0])
        '0xe220a8397b1dcdaf'

    References:
        Steele, Lea and Flood (2014), Fast splittable pseudorandom number generators; the first number of
        the generator with seed 0.
    """
    words: Words = values.astype(np.uint64) + ODD
    words = (words ^ (words >> np.uint64(30))) * _STAFFORD
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(words ^ (words >> np.uint64(31)))


def byte_hashes(eights: Words, begin: Ints, size: Ints, factor: np.uint64 = STIR) -> Words:
    """A hash of each piece of a padded buffer, given the `windows` of the buffer."""
    key: Words = size.astype(np.uint64) * factor
    rest: Column = np.arange(len(begin))
    step = 0
    while len(rest):
        block = eights[begin[rest] + step] & MASKS[np.minimum(size[rest] - step, 8)]
        key[rest] = (key[rest] ^ (key[rest] >> np.uint64(29)) ^ block) * factor
        step += 8
        rest = rest[size[rest] > step]
    return key ^ (key >> np.uint64(32))


def word_hashes(words: Sequence[str]) -> Words:
    """A 128-bit hash of each word, in two columns; it is the same in every process and block.

    Examples:
        >>> word_hashes(["Rome", "Oslo", "Rome"])[:, 0].tolist().count(word_hashes(["Rome"])[0, 0])
        2
    """
    text = "\0".join(words).encode("utf-8", "surrogatepass")
    end = np.append(np.flatnonzero(np.frombuffer(text, np.uint8) == 0), len(text))
    if len(end) != len(words):  # a word contains NUL, or there are no words
        lengths = [len(word.encode("utf-8", "surrogatepass")) for word in words]
        end = offsets(np.array(lengths, dtype=np.int64) + 1)[1:] - 1
    begin = np.append(0, end[:-1] + 1)[: len(words)]
    eights, size = windows(text + PADDING), end - begin
    return np.stack([byte_hashes(eights, begin, size, factor) for factor in (STIR, ODD)], axis=1)


def sequence_hashes(hashes: Words, at: Ints) -> Words:
    """A 128-bit hash of each sequence of words: sequence `i` has the words `hashes[at[i]:at[i + 1]]`."""
    size = np.diff(at)
    position = np.arange(at[-1]) - np.repeat(at[:-1], size)
    factors = multipliers(int(size.max(initial=0))).take(position)
    result = np.zeros((len(size), 2), dtype=np.uint64)
    nonempty = size > 0
    for column in range(2):
        mixed = hashes[:, column] * factors
        if len(mixed):
            result[nonempty, column] = np.add.reduceat(mixed, at[:-1][nonempty])
    return result + size.astype(np.uint64)[:, None] * STIR


def ordered_hashes(hashes: Words) -> Words:
    """The distinct 128-bit hashes, sorted; each of the two columns is contiguous in memory.

    Examples:
        >>> len(ordered_hashes(word_hashes(["Rome", "Oslo", "Rome"])))
        2
    """
    rows = hashes.take(numbered(hashes)[0], axis=0) if len(hashes) else hashes
    order = np.argsort(rows[:, 0])
    if len(order) and (rows[order[1:], 0] == rows[order[:-1], 0]).any():
        order = np.lexsort((rows[:, 1], rows[:, 0]))
    return frozen(np.asfortranarray(rows[order]))


def find_hashes(ordered: Words, hashes: Words) -> Ints:
    """The position of each hash in the result of `ordered_hashes`; -1 if it is not there."""
    if not len(ordered):
        return ints(np.full(len(hashes), -1))
    high, low = ordered[:, 0], ordered[:, 1]
    first = np.minimum(np.searchsorted(high, hashes[:, 0]), len(ordered) - 1)
    same_half = high.take(first) == hashes[:, 0]
    position = np.where(same_half & (low.take(first) == hashes[:, 1]), first, -1)
    for row in np.flatnonzero(same_half & (position < 0)).tolist():  # almost never
        last = np.searchsorted(high, hashes[row, 0], side="right")
        same = np.flatnonzero(low[first[row] : last] == hashes[row, 1])
        position[row] = first[row] + same[0] if len(same) else -1
    return ints(position)


def distinct(keys: Ints) -> tuple[Ints, Ints]:
    """The distinct keys in ascending order, and the position of each key among them.

    Examples:
        >>> ordered, position = distinct(ints([7, 3, 7]))
        >>> ordered.tolist(), position.tolist()
        ([3, 7], [1, 0, 1])
    """
    first, number = numbered(np.ascontiguousarray(keys).view(np.uint64)[:, None])
    ordered = keys[first]
    order = np.argsort(ordered)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return ints(ordered[order]), ints(rank[number])


def numbered(words: Words) -> tuple[Ints, Ints]:
    """Number rows so that equal rows get the same number.

    Far cheaper than sorting if many rows are equal, and exact: rows with the same hash are compared.

    Returns:
        The index of one row with each number, and the number of each row.
    """
    if words.shape[1] <= _FEW:
        return numbered_columns([np.ascontiguousarray(column) for column in words.T])
    mixed = words @ multipliers(words.shape[1])
    by_hash = _number_by_hash(mixed, lambda first, second: (words[first] != words[second]).any(axis=1))
    return by_hash or _number_by_sorting(words)


def numbered_columns(columns: Sequence[Words]) -> tuple[Ints, Ints]:
    """Like `numbered`, but for a few columns that are given separately."""
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    for column, factor in zip(columns, multipliers(len(columns)), strict=True):
        mixed += column * factor

    def unlike(first: Column, second: Column | slice) -> Bools:
        differ = columns[0][first] != columns[0][second]
        for column in columns[1:]:
            differ |= column[first] != column[second]
        return np.asarray(differ)

    return _number_by_hash(mixed, unlike) or _number_by_sorting(np.stack(columns, axis=1))


def _number_by_hash(
    mixed: Words, unlike: Callable[[Column, Column | slice], Bools]
) -> tuple[Ints, Ints] | None:
    """Number rows as `numbered` does, by hashing and comparing them; None if too many hashes collide."""
    size = len(mixed)
    like = np.empty(size, dtype=np.int64)
    rows: Column = np.arange(size)
    pending = rows
    left: Column | slice = slice(None)
    bits = min(max(size.bit_length(), 8), 20)
    at_slot = np.empty(1 << bits, dtype=np.int64)
    for _ in range(_ROUNDS):
        # Rows with the same first bits share a slot; those that differ from the slot's row try again.
        slot = (mixed >> np.uint64(64 - bits)).view(np.int64)
        at_slot[slot] = pending
        holder = at_slot[slot]
        like[left] = holder
        differs = unlike(holder, left)
        if not differs.any():
            break
        left = pending = pending[differs]
        mixed = mixed[differs]
        mixed = (mixed ^ (mixed >> np.uint64(29))) * ODD
    else:
        # Millions of distinct rows, or different rows with the same 64-bit hash.
        return None
    first = np.flatnonzero(like == rows)
    number = np.empty(size, dtype=np.int64)
    number[first] = np.arange(len(first))
    return first, number[like]


def _number_by_sorting(words: Words) -> tuple[Ints, Ints]:
    _, first, number = np.unique(words, axis=0, return_index=True, return_inverse=True)
    return first, np.asarray(number, dtype=np.int64).reshape(-1)


def multipliers(width: int) -> Words:
    """Fixed odd 64-bit numbers (a mixed Weyl sequence), so that hashes are the same on every machine."""
    words = np.arange(1, width + 1, dtype=np.uint64) * ODD
    words ^= words >> np.uint64(29)
    words *= _STAFFORD
    words ^= words >> np.uint64(32)
    return words | np.uint64(1)
