"""Random swaps and sign flips over units, from a seed; the only room that draws random numbers."""

from __future__ import annotations

from spanwise.uncertainty._flips import (
    Flips,
    bernoulli_sums,
    drawn_numbers,
    drawn_weights,
    halves,
    interval,
    joined_units,
)
from spanwise.uncertainty._swaps import (
    BLOCK_COUNTS,
    FEWEST_GROUPS,
    Family,
    Hypotheses,
    Pairs,
    Randomised,
    Resampling,
    compact,
    grouped,
    randomised,
    stepped_down,
)

__all__ = [
    "BLOCK_COUNTS",
    "FEWEST_GROUPS",
    "Family",
    "Flips",
    "Hypotheses",
    "Pairs",
    "Randomised",
    "Resampling",
    "bernoulli_sums",
    "compact",
    "drawn_numbers",
    "drawn_weights",
    "grouped",
    "halves",
    "interval",
    "joined_units",
    "randomised",
    "stepped_down",
]
