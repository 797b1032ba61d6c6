"""Sentences about tests of confidence scores and of systems beside annotators, for screens and pages."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, UnsetType

from spanwise.document import Interval
from spanwise.document.agreement import Agreement, SystemLevel
from spanwise.document.confidence import AtPrecision, Confidence, ConfidenceCell, Threshold
from spanwise.intervals import FEW_UNITS
from spanwise.statistics import LEVEL
from spanwise.views import wording

ENOUGH = 100  # the minimum number of predictions for showing a calibration error


def calibration(cell: ConfidenceCell, unit: str) -> str:
    """Whether the scores were found to be miscalibrated, and by which test."""
    chance = cell.chance_ece
    if cell.ece is None or cell.predicted < ENOUGH:
        return f"There are too few predictions to judge the calibration; at least {ENOUGH} are needed."
    if chance.high is None or chance.p is None:
        return f"ECE is {wording.points(cell.ece)}; whether that is more than chance was not tested."
    beside = f"ECE {wording.points(cell.ece)}, where chance explains up to {wording.points(chance.high)}"
    if chance.p > LEVEL and not chance.reachable:
        return f"The calibration cannot be judged: with so few {unit}s no test reaches .05; {beside}."
    if chance.p > LEVEL:
        return f"No miscalibration found: {beside} ({wording.format_p(chance.p)}, over {unit}s)."
    mean = sum(score_bin.score * score_bin.predicted for score_bin in cell.bins) / cell.predicted
    gap = mean - cell.correct / cell.predicted
    lean = ""
    if abs(gap) >= 0.005:
        lean = f"; on average they are {wording.points(abs(gap))} points too {'high' if gap > 0 else 'low'}"
    return f"The scores are not calibrated: {beside} ({wording.format_p(chance.p)}, over {unit}s){lean}."


def bound(intervals: Mapping[str, Interval | None] | UnsetType, name: str) -> Interval | None:
    """One of several intervals, or None if there is none."""
    return None if isinstance(intervals, UnsetType) else intervals.get(name)


def within(scored: Threshold | AtPrecision, name: str) -> str:
    """The interval of a score at a threshold, to stand after it; empty if there is none."""
    shown = wording.interval(bound(scored.interval, name))
    return f" ({shown})" if shown else ""


def daggers(document: Confidence) -> str:
    """What the daggers on a screen or page of confidence scores mean; empty if there are none."""
    settings = document.settings
    if not settings.resamples:
        return ""
    systems = document.systems.values()
    cells = [cell for system in systems for cell in (system.overall, *system.labels.values())]
    cells += [cell for system in systems for part in system.buckets.values() for cell in part.values()]
    parts = []
    if any(cell.few_units is not UNSET for cell in cells):
        parts.append(f"fewer than {FEW_UNITS} {settings.unit}s hold it")
    if settings.few_units:
        parts.append(f"a percentile interval over only {wording.plural(settings.number, settings.unit)}")
    return f"† {', or '.join(parts)}: unreliable" if parts else ""


THESE_ANNOTATORS = (
    "Both levels are those of these annotators, not of people in general. Above the human level does not "
    "mean better than each: a system may agree with each of them more than they agree with one another."
)


def level_sentences(document: Agreement) -> list[str]:
    """For every system, whether it was found above or below the human level, and by which test."""
    if document.levels is UNSET:
        return []
    systems = document.levels.systems
    return [_level(name, level, len(systems), document.settings.unit) for name, level in systems.items()]


def _level(name: str, level: SystemLevel, systems: int, unit: str) -> str:
    name = wording.visible(name)
    if level.difference is None:
        return f"{name} has no level: nothing was marked in the documents that it shares with annotators."
    ends = wording.signed_interval(level.difference_interval)
    apart = f"{wording.signed(level.difference)} F1" + (f" [{ends}]" if ends else "")
    correction = f", Holm over {systems} systems; the interval is not corrected" if systems > 1 else ""
    chance = wording.format_p(level.p_corrected)
    test = f"sign flips over {wording.plural(level.units, unit)}, {chance}{correction}"
    if level.significant:
        side = "above" if level.difference > 0 else "below"
        return f"{name} is {side} the human level: {apart} ({test})."
    why = f"; {level.why}" if level.why else ""
    return f"{name} cannot be told apart from the human level: {apart} ({test}{why})."
