"""The column types used throughout, and `ratio`, the division behind every score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsFloat, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Codes: TypeAlias = npt.NDArray[np.int32]
Small: TypeAlias = npt.NDArray[np.int8]
Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Column: TypeAlias = npt.NDArray[Any]

Words: TypeAlias = npt.NDArray[np.uint64]

_TOGETHER = 1 << 20  # values checked at a time
MOST_IN_SINGLE = 2**22  # below it, multiples of 1/4 are exact in single precision

D = TypeVar("D", bound=np.generic)


def ints(values: object) -> Ints:
    """A read-only int64 column of `values`; an int64 array is not copied."""
    return frozen(np.asarray(values, dtype=np.int64))


def codes(values: npt.ArrayLike) -> Codes:
    """A read-only int32 column of `values`."""
    return frozen(np.asarray(values, dtype=np.int32))


def floats(values: object) -> Floats:
    """A read-only float64 column of `values`."""
    return frozen(np.asarray(values, dtype=np.float64))


def frozen(column: npt.NDArray[D]) -> npt.NDArray[D]:
    """A read-only view of a column; the column itself is left as it was."""
    view = column.view()
    view.flags.writeable = False
    return view


def offsets(sizes: Sequence[int] | Column) -> Ints:
    """Where each of several runs of the given sizes begins, and where the last one ends.

    Examples:
        >>> offsets([2, 0, 3]).tolist()
        [0, 2, 2, 5]
    """
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return ints(starts)


def distinct(values: npt.NDArray[D]) -> npt.NDArray[D]:
    """The distinct values in ascending order; undefined ones stay apart.

    As `numpy.unique`, which loads a module for masked arrays that takes longer than a small evaluation.

    Examples:
        >>> distinct(np.array([3, 1, 3])).tolist()
        [1, 3]
    """
    ordered = np.sort(values, axis=None)
    new = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered[new]


def run_positions(first: Column, sizes: Sequence[int] | Column) -> Ints:
    """The positions in several runs, concatenated; run `i` begins at `first[i]` and has `sizes[i]` positions.

    Examples:
        >>> run_positions([4, 0], [2, 1]).tolist()
        [4, 5, 0]
    """
    starts = offsets(sizes)
    return ints(np.repeat(first - starts[:-1], sizes) + np.arange(starts[-1]))


def on_grid(values: object, most: float) -> Floats:
    """`values` rounded to multiples of a power of two, so that sums up to `most` are exact in any order.

    Matrix products are summed in an order that depends on the processor and its threads; with these
    values every order gives the same bits. Whole numbers are not changed.

    Examples:
        >>> thirds = on_grid([1 / 3, 1 / 3, 1 / 3], 2)
        >>> float((thirds[0] + thirds[1]) + thirds[2]) == float(thirds[2] + thirds[1] + thirds[0])
        True
    """
    if not most > 0:
        return np.asarray(values, np.float64)
    grid = 2.0 ** (np.ceil(np.log2(most)) - 52)
    return np.asarray(np.rint(np.asarray(values, np.float64) / grid) * grid)


def compact(matrix: Column) -> Column:
    """The matrix made exact for column sums in any order, in single precision where that is enough."""
    step = max(1, _TOGETHER // max(len(matrix), 1))  # columns at a time, so that copies stay small
    parts = [matrix[:, at : at + step] for at in range(0, matrix.shape[1], step)]
    if all(map(is_exact_in_single, parts)):
        return matrix.astype(np.float32, copy=False)
    return on_grid(matrix, max(map(_largest_sum, parts)))


def is_exact_in_single(values: Column) -> bool:
    """Whether values, and any sums of them along the first axis, are exact in single precision."""
    return _largest_sum(values) < MOST_IN_SINGLE and are_quarters(values)


def are_quarters(values: Column) -> bool:
    """Whether all values are multiples of 1/4.

    Examples:
        >>> are_quarters(np.array([1, 0.75])), are_quarters(np.array([0.3]))
        (True, False)
    """
    quarters = 4 * values
    return bool((quarters == np.rint(quarters)).all())


def _largest_sum(values: Column) -> float:
    return float(np.abs(values).sum(axis=0, dtype=np.float64).max(initial=0))


def plain(value: SupportsFloat) -> float | None:
    """A number as stored in documents: a Python float, or None where it is undefined.

    Examples:
        >>> plain(ratio(1, 4)), plain(ratio(0, 0))
        (0.25, None)
    """
    number = float(value)
    return number if number == number else None  # only NaN differs from itself


def ratio(numerator: object, denominator: object) -> Floats:
    """`numerator / denominator`, or NaN where the denominator is 0.

    Examples:
        >>> ratio([1, 0], [4, 0]).tolist()
        [0.25, nan]
    """
    top, bottom = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    # Dividing by NaN is faster than masking, and gives no warning. In C order, later sums over the
    # last axis have the same last bits whatever the memory layout of the arguments.
    return np.asarray(np.divide(top, np.where(bottom == 0, np.nan, bottom), order="C"))
