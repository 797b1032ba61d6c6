"""The one maker of sentences about a test between two systems, for screens, pages, tables and papers.

Every sentence names the better system, the unit, the test, the correction, and whether the interval is
corrected. What is not significant cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import UnsetType

from spanwise.document import Interval, Settings, given, usual_settings
from spanwise.document.scores import Comparison, ScoreTest
from spanwise.views.wording import count, plural, points, visible

if TYPE_CHECKING:
    from spanwise.document.leaks import Leaks
    from spanwise.document.study import StudySettings
    from spanwise.document.tuples import Tuples

CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg", "benjamini-hochberg": "Benjamini-Hochberg"}
THESE_MODELS = "of these models; training seeds not considered"
NOT_APART = "cannot be told apart"
WITH_JUDGE = "t-test, gold and judge"  # how `Comparison.test` names it in an answer


def tested_as(document: Leaks | Tuples) -> Settings:
    """The settings that sentences about the tests of leaks and tuples name."""
    return usual_settings(unit=document.settings.unit, correction=document.settings.correction)


def compared_sentence(
    comparison: Comparison,
    settings: Settings | StudySettings,
    score: str,
    family: str = "",
    *,
    places: int = 1,
) -> str:
    """Which of two systems is better, by how much, and how it was tested; empty if it was not.

    `score` is the primary score after its number; `family` is what is corrected together, see `corrected`.

    Examples:
        >>> from spanwise.document import usual_settings
        >>> from spanwise.document.scores import PRIMARY
        >>> test = ScoreTest(path=PRIMARY["f1"], difference=0.027, interval=(0.011, 0.043), p=0.0007,
        ...     p_corrected=0.002, significant=True, units=107)
        >>> comparison = Comparison(systems=("a", "b"), scores=(test,), test="t-test over runs", runs=(5, 5),
        ...     pairs=3, correction="holm")
        >>> compared_sentence(comparison, usual_settings(unit="document"), "F1")
        ... # doctest: +NORMALIZE_WHITESPACE
        'a is better than b by 2.7 F1 [1.1, 4.3], t-test over 5 runs and 107 documents,
        Holm over 3 pairs, p = .002; the interval is not corrected.'
    """
    test = comparison.primary
    if test is None or test.difference is None or test.p_corrected is None:
        return ""
    if comparison.identical:
        return f"{_both(comparison.systems)} give the same predictions."
    worded = better_by(
        comparison.systems, test.difference, test.interval, score, significant=test.significant,
        places=places,
    )  # fmt: skip
    bounds = "; the interval is not corrected" if test.interval and (comparison.pairs or 1) > 1 else ""
    return f"{worded}, {how_tested(comparison, settings, family)}{bounds}."


def better_by(
    systems: Sequence[str],
    difference: float,
    bounds: Interval | None,
    score: str,
    *,
    significant: bool,
    places: int = 1,
) -> str:
    """Which system is better and by how much, or that the two cannot be told apart.

    Examples:
        >>> better_by(("a", "b"), -0.004, (-0.011, 0.003), "F1", significant=False)
        'b and a cannot be told apart: b is ahead by 0.4 F1 [−0.3, 1.1]'
    """
    ends = None if bounds is None or bounds[0] is None or bounds[1] is None else (bounds[0], bounds[1])
    first, second = (visible(name) for name in systems)
    if difference < 0:
        first, second, difference = second, first, -difference
        ends = None if ends is None else (-ends[1], -ends[0])
    within = f" [{points(ends[0], places)}, {points(ends[1], places)}]" if ends else ""
    by = points(difference, places)
    if significant:
        return f"{first} is better than {second} by {by} {score}{within}"
    ahead = f"{first} is ahead by {by}" if difference else f"the difference is {by}"
    return f"{first} and {second} {NOT_APART}: {ahead} {score}{within}"


def better_in(systems: Sequence[str], test: ScoreTest, score: str) -> str:
    """Which system is better in a score that differs significantly; of what errors cost, less is better.

    Examples:
        >>> test = ScoreTest(path=("gains", "FN", "gain"), difference=0.088, interval=(0.063, 0.113), p=0.001,
        ...     p_corrected=0.001, significant=True, units=786)
        >>> better_in(("a", "b"), test, "F1 lost to missed")
        'b is better than a by 8.8 points (F1 lost to missed) [6.3, 11.3]'
    """
    first, second = systems
    if test.path[0] == "gains":
        first, second = second, first
    return better_by(
        (first, second), test.difference or 0.0, test.interval, f"points ({score})", significant=True
    )


def how_tested(comparison: Comparison, settings: Settings | StudySettings, family: str = "") -> str:
    """The test of the primary score, its correction and its p-value, and what keeps it from deciding."""
    test = comparison.primary
    if test is None:
        return ""
    parts = [
        worded_test(comparison, test, settings),
        corrected(comparison.correction or settings.correction, comparison.pairs or 1, family),
        f"p {sentence_p(test.p_corrected)}",
    ]
    end = "; more shuffles would be needed to decide" if comparison.undecided else ""
    if comparison.unreachable:
        end = f"; {comparison.unreachable}"
    return ", ".join(part for part in parts if part) + end


def told_apart(comparison: Comparison | None) -> str:
    """In a few words, what the test says about two systems."""
    test = None if comparison is None else comparison.primary
    if comparison is None or test is None or test.p_corrected is None:
        return "not tested"
    if comparison.unreachable:
        return str(comparison.unreachable)
    return f"{'significant' if test.significant else NOT_APART}, p {sentence_p(test.p_corrected)}"


def worded_test(comparison: Comparison, test: ScoreTest, settings: Settings | StudySettings) -> str:
    """The test with its units and runs; a system with a single run beside one with several is named."""
    unit = settings.unit or "unit"
    over = f"{plural(test.units, unit)}{blocks(settings)}" if test.units else f"{unit}s"
    name, runs = comparison.test or "", comparison.runs
    if name == WITH_JUDGE:
        return f"t-test over {plural(settings.units or 0, unit)} with gold, corrected by the judge"
    if name.startswith("t-test"):
        number = str(runs[0]) if len(set(runs)) == 1 else " and ".join(map(str, runs))
        return f"t-test over {number} runs and {over}"
    drawn = f" ({count(given(comparison.shuffles))} shuffles)" if comparison.shuffles else ""
    kind = "exact" if name.startswith("exact") else "paired"
    return f"{kind} randomisation over {over}{drawn}{single_run(comparison)}"


def single_run(comparison: Comparison) -> str:
    """That one of two systems has a single run, by name; empty if both or neither have."""
    if not comparison.runs or (min(comparison.runs) > 1 or max(comparison.runs) == 1):
        return ""
    at = 0 if comparison.runs[0] == 1 else 1
    one, other = (visible(comparison.systems[index]) for index in (at, 1 - at))
    return (
        f" of the single run of {one}, whose training seed is not considered, and the"
        f" {comparison.runs[1 - at]} runs of {other}"
    )


def blocks(settings: Settings | StudySettings) -> str:
    """The size of the blocks that are units, after the word for a unit; empty if there are none."""
    return f" of {settings.block} sentences" if settings.block else ""


def corrected(correction: str | UnsetType | None, tests: int, family: str = "", *, of: str = "pairs") -> str:
    """The correction and the tests that it is over; empty for a single test.

    Args:
        family: what is corrected together in a study of several datasets: "study" or "dataset".
        of: what is tested.

    Examples:
        >>> corrected("holm", 12, "study"), corrected("holm", 3, "dataset")
        ('Holm over 12 tests (pairs × datasets)', 'Holm over 3 pairs, each dataset at 5 %')
    """
    named = CORRECTIONS.get(correction or "", visible(correction or ""))
    if family == "dataset" and (tests < 2 or not named):
        return "each dataset at 5 %"
    if tests < 2 or not named or named == "none":
        return ""
    if family == "study":
        return f"{named} over {tests} tests (pairs × datasets)"
    return f"{named} over {tests} {of}" + (", each dataset at 5 %" if family == "dataset" else "")


def sentence_p(p: float | None) -> str:
    """A p-value with its sign, as written in papers; one below the level does not round up to it.

    Examples:
        >>> sentence_p(0.0312), sentence_p(0.0004), sentence_p(0.04996)
        ('= .031', '< .001', '= .0500')
    """
    if p is None:
        return "n/a"
    digits = 4 if 0.0495 <= p < 0.05 else 3
    return "< .001" if p < 0.001 else f"= {p:.{digits}f}".replace("0.", ".", 1)


def named_test(
    comparisons: Iterable[Comparison], settings: Settings | StudySettings, family: str = ""
) -> str:
    """The tests and the correction behind letters, stars and bold numbers, for captions."""
    rows = [row for row in comparisons if row.primary is not None and row.primary.p is not None]
    unit = f"{settings.unit or 'unit'}s"
    several = [(row.test or "").startswith("t-test") for row in rows]
    tests = [f"paired randomisation over {unit}"] if not all(several) or not rows else []
    tests += [f"t-test over runs and {unit}"] if any(several) else []
    most = max((row.pairs or 1 for row in rows), default=1)
    correction = next((row.correction for row in rows if row.correction), settings.correction)
    return ", ".join(part for part in (" or ".join(tests), corrected(correction, most, family)) if part)


def corrected_beside(comparison: Comparison, settings: Settings | StudySettings) -> str:
    """How all scores but the primary one are corrected together."""
    if (comparison.correction or settings.correction) == "bh":
        return CORRECTIONS["bh"]
    return "Holm" if (comparison.test or "").startswith("t-test") else "Westfall-Young"


def of_runs(comparisons: Iterable[Comparison]) -> list[str]:
    """What the numbers of runs mean for the tests: single runs, and runs that are too few."""
    runs = {
        name: number
        for row in comparisons
        for name, number in zip(row.systems, row.runs or (1, 1), strict=True)
    }
    single = [visible(name) for name, number in runs.items() if number == 1]
    two = [visible(name) for name, number in runs.items() if number == 2]
    notes = []
    if single:
        one = "" if len(single) == len(runs) else f"a single run of {', '.join(single)}: "
        notes.append(one + THESE_MODELS)
    if two:
        notes.append(
            "two runs each: run three"
            if len(two) == len(runs)
            else f"two runs of {', '.join(two)}: run three"
        )
    return notes


def _both(systems: Sequence[str]) -> str:
    return " and ".join(map(visible, systems))
