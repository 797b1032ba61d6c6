"""Intervals of agreement from values without one unit, and the units that are left out."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from spanwise.agreement._shared import Presence, Shared
from spanwise.columns import Floats, Ints, floats, ints
from spanwise.document import Interval
from spanwise.intervals import NO_SPREAD, Jackknife
from spanwise.student import t_quantile

MOST_UNITS = 5000  # more documents or sentences than this are joined with their neighbours
MOST_CONTINUA = 100  # the same for α_u, which is computed anew without each


class UnitPlan(Struct, frozen=True):
    """The units of intervals: documents, or sentences if the data do not mark at least two documents.

    If there are many, neighbours are joined, so that tables by unit stay small.
    """

    by_document: bool
    items: int  # documents or sentences

    @classmethod
    def of(cls, presence: Presence, sentences: int) -> UnitPlan:
        """The units of all documents, or of this many sentences."""
        return cls(presence.by_document, len(presence.documents) if presence.by_document else sentences)

    @property
    def joined(self) -> bool:
        """Whether neighbours are joined."""
        return self.items > MOST_UNITS

    def of_documents(self, block: Shared, most: int = MOST_UNITS) -> Ints:
        """The unit of each document of a block; the same for all if units are sentences."""
        return self._units(block.numbers, most) if self.by_document else ints(np.zeros(len(block.numbers)))

    def of_sentences(self, block: Shared) -> Ints:
        """The unit of each sentence of a block."""
        if self.by_document:
            return ints(self.of_documents(block)[block.document])
        return self._units(ints(block.sentence + np.arange(len(block.corpus))), MOST_UNITS)

    def _units(self, item: Ints, most: int) -> Ints:
        return ints(item if self.items <= most else item * most // self.items)


def logit_t(score: float, left_out: Floats, size: float) -> Interval | None:
    """The logit-t interval of a score in [0, 1] from its values without each unit; None below two units."""
    error = _error(left_out)
    if error is None:
        return None
    units = len(left_out)
    cell = Jackknife(floats([score]), floats([size]), ints([units]), floats([error]), floats([units - 1]))
    low, high = cell.interval()[0].tolist()
    return low, high


def plain_t(
    value: float | None, left_out: Floats, *, most: float = np.inf
) -> tuple[Interval | None, str | None]:
    """`value ± t·SE` from values without each unit, at most `most`, or None with the reason.

    Examples:
        >>> [round(end, 3) for end in plain_t(0.5, floats([0.45, 0.5, 0.55]), most=0.7)[0]]
        [0.252, 0.7]
        >>> plain_t(1.0, floats([1.0, 1.0]))
        (None, 'it does not vary between units')
    """
    if value is None:
        return None, "it is undefined"
    error = _error(left_out)
    if error is None:
        few = len(left_out) < 2
        return None, "fewer than two units hold it" if few else "it is undefined without one of the units"
    if error < NO_SPREAD:
        return None, "it does not vary between units"
    reach = float(t_quantile(len(left_out) - 1)) * error
    return (value - reach, min(value + reach, most)), None


def _error(left_out: Floats) -> float | None:
    """The jackknife standard error; None below two units, or if a value is undefined."""
    units = len(left_out)
    if units < 2 or np.isnan(left_out).any():
        return None
    return float(np.sqrt((units - 1) / units * ((left_out - left_out.mean()) ** 2).sum()))


def merged(number: Ints) -> tuple[Ints, Ints]:
    """Distinct numbers of sorted ones, and the index of the first of each."""
    first = np.flatnonzero(np.diff(number, prepend=-1))
    return ints(number[first]), ints(first)


def added(rows: Ints, first: Ints) -> Ints:
    """Add up consecutive rows in groups, each beginning at an index in `first`."""
    return ints(np.add.reduceat(rows, first, axis=0) if len(first) else rows)
