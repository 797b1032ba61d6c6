"""Two systems compared where their curves allow it: at equal recall, at equal precision, and over all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spanwise.calibration._cells import Draws
from spanwise.calibration._kernel import Curve, Resampled, Scored, average_precision, resampled
from spanwise.columns import Floats, floats, plain, ratio
from spanwise.document.analyses import ConfidencePair, EqualScore
from spanwise.uncertainty import interval


def pair_of(
    names: tuple[str, str],
    one: Scored,
    other: Scored,
    draws: Draws,
    *,
    precision: float,
    recall: float | None,
) -> ConfidencePair:
    """The differences of two systems; the interval is over the same resampled units for both.

    Args:
        precision: at which recalls are compared.
        recall: at which precisions are compared; by default the highest that both reach.
    """
    curves = one.curve, other.curve
    asked = recall
    if asked is None:
        asked = min((float(curve.correct[-1]) / curve.gold if len(curve.correct) and curve.gold else 0.0)
                    for curve in curves)  # fmt: skip
    sides: list[Resampled] = []
    if len(draws.weights) and len(one.score) and len(other.score):
        sides = [resampled(side, draws.weights, draws.group) for side in (one, other)]

    def both(make: Callable[[Resampled], Floats]) -> tuple[float, float] | None:
        """The percentile interval of the resampled differences."""
        if not sides:
            return None
        differences = make(sides[0]) - make(sides[1])
        defined = differences[np.isfinite(differences)]
        if len(defined) < 0.95 * len(differences) or not len(defined):
            return None
        low, high = interval(floats(defined), 0.95).tolist()
        return low, high

    def lower_recall(side: Resampled) -> Floats:
        reached = np.minimum(sides[0].recall, sides[1].recall)
        return side.precision_at(floats(reached if recall is None else np.full(len(reached), recall)))

    places = [_at_recall(curve, asked) for curve in curves]
    precisions = [None if at is None else plain(ratio(curve.correct[at], curve.predicted[at]))
                  for curve, at in zip(curves, places, strict=True)]  # fmt: skip
    found = [curve.at_precision(precision) for curve in curves]
    recalls = [None if at is None else plain(ratio(curve.correct[at], curve.gold))
               for curve, at in zip(curves, found, strict=True)]  # fmt: skip
    areas = [plain(average_precision(curve)) for curve in curves]
    return ConfidencePair(
        systems=names,
        average_precision=_score(None, areas, [None, None], both(lambda side: side.average_precision)),
        at_recall=_score(asked, precisions, _thresholds(curves, places), both(lower_recall)),
        at_precision=_score(
            precision, recalls, _thresholds(curves, found), both(lambda side: side.recall_at(precision))
        ),
    )


def _at_recall(curve: Curve, recall: float) -> int | None:
    """The place of the highest threshold that reaches a recall."""
    reached = np.flatnonzero(curve.correct >= recall * curve.gold - 1e-9)
    return int(reached[0]) if len(reached) and curve.gold else None


def _thresholds(curves: tuple[Curve, Curve], places: list[int | None]) -> list[float | None]:
    return [
        None if at is None else float(curve.threshold[at]) for curve, at in zip(curves, places, strict=True)
    ]


def _score(
    at: float | None,
    values: list[float | None],
    thresholds: list[float | None],
    ends: tuple[float, float] | None,
) -> EqualScore:
    first, second = values
    difference = None if first is None or second is None else first - second
    return EqualScore(
        at=at,
        first=first,
        second=second,
        difference=difference,
        interval=None if difference is None or ends is None else (plain(ends[0]), plain(ends[1])),
        thresholds=(thresholds[0], thresholds[1]),
    )
