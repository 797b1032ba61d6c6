"""The column types that everything is made of, which of their rows are equal, and the only division."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Codes: TypeAlias = npt.NDArray[np.int32]
Small: TypeAlias = npt.NDArray[np.int8]
Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Column: TypeAlias = npt.NDArray[Any]

Words: TypeAlias = npt.NDArray[np.uint64]

D = TypeVar("D", bound=np.generic)

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio: spreads close keys far apart
_ROUNDS = 20
_FEW = 16  # columns that are compared one by one, which is faster


def ints(values: Any) -> Ints:
    """A read-only int64 column of `values`; a column that is one already is not copied."""
    return frozen(np.asarray(values, dtype=np.int64))


def codes(values: Any) -> Codes:
    """A read-only int32 column of `values`."""
    return frozen(np.asarray(values, dtype=np.int32))


def floats(values: Any) -> Floats:
    """A read-only float64 column of `values`."""
    return frozen(np.asarray(values, dtype=np.float64))


def frozen(column: npt.NDArray[D]) -> npt.NDArray[D]:
    """The same column, read-only; the one passed stays as it was."""
    view = column.view()
    view.flags.writeable = False
    return view


def offsets(sizes: Any) -> Ints:
    """Where each of several runs of the given sizes begins, and where the last one ends.

    Examples:
        >>> offsets([2, 0, 3]).tolist()
        [0, 2, 2, 5]
    """
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return ints(starts)


def run_positions(first: Any, sizes: Any) -> Ints:
    """The positions of several runs, one run after the other, that begin at `first` and have these sizes.

    Examples:
        >>> run_positions([4, 0], [2, 1]).tolist()
        [4, 5, 0]
    """
    starts = offsets(sizes)
    return ints(np.repeat(first - starts[:-1], sizes) + np.arange(starts[-1]))


def plain(value: Any) -> float | None:
    """A number as documents hold it: a Python float, and None where it is undefined.

    Examples:
        >>> plain(ratio(1, 4)), plain(ratio(0, 0))
        (0.25, None)
    """
    number = float(value)
    return number if number == number else None  # only NaN differs from itself


def ratio(numerator: Any, denominator: Any) -> Floats:
    """`numerator / denominator`, and NaN where the denominator is 0.

    Examples:
        >>> ratio([1, 0], [4, 0]).tolist()
        [0.25, nan]
    """
    top, bottom = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    # Dividing by NaN is faster than leaving places out, and says nothing. In the order C a later sum
    # over the last axis has the same last bits however the arguments lay in memory.
    return np.asarray(np.divide(top, np.where(bottom == 0, np.nan, bottom), order="C"))


def distinct(keys: Ints) -> tuple[Ints, Ints]:
    """The distinct keys in ascending order, and the place of each key among them.

    Examples:
        >>> ordered, place = distinct(ints([7, 3, 7]))
        >>> ordered.tolist(), place.tolist()
        ([3, 7], [1, 0, 1])
    """
    first, number = numbered(np.ascontiguousarray(keys).view(np.uint64)[:, None])
    found = keys[first]
    order = np.argsort(found)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return ints(found[order]), ints(rank[number])


def numbered(words: Words) -> tuple[Ints, Ints]:
    """Equal rows of words numbered alike: one place of each number, and the number of each place.

    Far cheaper than sorting where many rows are equal, and exact: rows that meet are compared.
    """
    few = words.shape[1] <= _FEW
    columns = [np.ascontiguousarray(column) for column in words.T] if few else []
    factors = multipliers(words.shape[1])
    mixed = np.zeros(len(words), dtype=np.uint64) if few else words @ factors
    for column, factor in zip(columns, factors, strict=False):
        mixed += column * factor
    like = np.empty(len(words), dtype=np.int64)
    everyone: Column = np.arange(len(words))
    place = everyone
    left: Column | slice = slice(None)
    bits = min(max(len(words).bit_length(), 8), 20)
    at_slot = np.empty(1 << bits, dtype=np.int64)
    for _ in range(_ROUNDS):
        # Rows whose first bits are the same meet in one slot; those unlike the one that has it go on.
        slot = (mixed >> np.uint64(64 - bits)).view(np.int64)
        at_slot[slot] = place
        found = at_slot[slot]
        like[left] = found
        unlike = np.zeros(len(found), dtype=bool) if few else (words[found] != words[left]).any(axis=1)
        for column in columns:
            unlike |= column[found] != column[left]
        if not unlike.any():
            break
        left = place = place[unlike]
        mixed = mixed[unlike]
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _ODD
    else:
        # Millions of distinct rows, or some that are mixed to the same 64 bits.
        return _sorted_places(words)
    first = np.flatnonzero(like == everyone)
    number = np.empty(len(words), dtype=np.int64)
    number[first] = np.arange(len(first))
    return first, number[like]


def _sorted_places(words: Words) -> tuple[Ints, Ints]:
    _, first, number = np.unique(words, axis=0, return_index=True, return_inverse=True)
    return first, np.asarray(number, dtype=np.int64).reshape(-1)


def multipliers(width: int) -> Words:
    """Fixed odd 64-bit numbers (a Weyl sequence, mixed), so that hashes are the same everywhere."""
    mixed = np.arange(1, width + 1, dtype=np.uint64) * _ODD
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    return mixed | np.uint64(1)
