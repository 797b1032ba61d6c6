"""Experiments on counts per document: several runs, detectable differences, and documents of unequal size.

These trials go through `compare_runs` and `jackknife`, the functions behind studies and results, without
files and matching, so that there can be many of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulated_counts import Documents, detected, letters, mean_of_runs

from benchmarks.experiments import Experiment, reported

ORDINARY = Documents()
# Documents of very unequal size; those in which the large ones are harder, or a few hopeless, are hard to
# cover for every method that was tried, and are reported only.
UNEQUAL, VERY_UNEQUAL = Documents(sizes=0.8), Documents(sizes=1.2)
LARGE_HARDER, MUCH_LARGER_HARDER = Documents(sizes=0.8, large=0.6), Documents(sizes=1.2, large=0.6)
HOPELESS = Documents(hopeless=0.05)


def experiments() -> Iterator[Experiment]:
    """All experiments of this module."""
    yield from _letters()
    yield from _means()
    yield from _heavy_tails()
    yield from _power()


def _size(what: str) -> str:
    return "coverage" if what.startswith("interval") else "size of runs"


def _covered(what: str) -> str:
    return "coverage" if what.startswith("interval") else "reported"


def _letters() -> Iterator[Experiment]:
    for what, options, before in (
        ("two equal methods, 2 runs, vary by 1.8 F1", {"runs": (2, 2), "seeds": (1.8, 1.8)}, "7 to 9"),
        (
            "two equal methods, 2 runs, vary by 0.9 and 3.7 F1",
            {"runs": (2, 2), "seeds": (0.9, 3.7)},
            "11 to 15",
        ),
        ("two equal methods, 3 runs, vary by 0.9 and 3.7 F1", {"runs": (3, 3), "seeds": (0.9, 3.7)}, ""),
        (
            "two equal methods, 2 against 5 runs, vary by 3.7 and 0.9 F1",
            {"runs": (2, 5), "seeds": (3.7, 0.9)},
            "",
        ),
        ("two equal methods, 2 runs, vary by 3.7 F1", {"runs": (2, 2), "seeds": (3.7, 3.7)}, ""),
        ("two equal methods, 2 runs, vary by 6 F1", {"runs": (2, 2), "seeds": (6.0, 6.0)}, ""),
        ("two equal methods, 2 runs, vary by 0.5 and 6 F1", {"runs": (2, 2), "seeds": (0.5, 6.0)}, ""),
        ("two equal methods, 3 runs, vary by 0.5 and 6 F1", {"runs": (3, 3), "seeds": (0.5, 6.0)}, ""),
        ("five equal methods, 2 runs, vary by 1.8 F1", {"runs": (2,) * 5, "seeds": (1.8,) * 5}, "14"),
        ("five equal methods, 3 runs, vary by 1.8 F1", {"runs": (3,) * 5, "seeds": (1.8,) * 5}, ""),
        (
            "five equal methods, 3 runs, four vary by 0.9 F1 and one by 3.7",
            {"runs": (3,) * 5, "seeds": (0.9,) * 4 + (3.7,)},
            "",
        ),
        (
            "two equal methods, 2 runs that are said to share seeds but share nothing",
            {"runs": (2, 2), "seeds": (3.7, 3.7), "shared": 0.0, "declared": True},
            "12",
        ),
        (
            "two equal methods, 3 runs that are said to share seeds but share nothing",
            {"runs": (3, 3), "seeds": (3.7, 3.7), "shared": 0.0, "declared": True},
            "7",
        ),
        (
            "two equal methods, 3 runs that share most of their luck",
            {"runs": (3, 3), "seeds": (3.7, 3.7), "shared": 0.8, "declared": True},
            "",
        ),
    ):
        options = {"world": ORDINARY, "documents": 60, **options}
        trials = 600 if what.startswith("two ") else 400
        yield Experiment("runs", what, "60 documents, counts", letters, options, trials, _size, before)
    for number, documents in ((2, 200), (3, 200), (3, 20)):
        what = f"two equal methods, {number} runs, vary by 0.5 and 6 F1"
        options = {"world": ORDINARY, "documents": documents, "runs": (number,) * 2, "seeds": (0.5, 6.0)}
        yield Experiment("runs", what, f"{documents} documents, counts", letters, options, 600, _size)


def _means() -> Iterator[Experiment]:
    for number, seeds in ((2, 1.8), (2, 3.7), (3, 1.8), (3, 3.7), (5, 3.7)):
        what = f"interval of a mean over {number} runs that vary by {seeds} F1"
        options = {"world": ORDINARY, "documents": 60, "runs": number, "seeds": seeds}
        yield Experiment("runs", what, "60 documents, counts", mean_of_runs, options, 600, _covered)


def _heavy_tails() -> Iterator[Experiment]:
    for what, world, asked in (
        ("documents of equal size", ORDINARY, _covered),
        ("sizes log-normal, sd .8", UNEQUAL, _covered),
        ("sizes log-normal, sd 1.2", VERY_UNEQUAL, _covered),
        ("sizes log-normal, sd .8, large ones harder", LARGE_HARDER, reported),
        ("sizes log-normal, sd 1.2, large ones harder", MUCH_LARGER_HARDER, reported),
        ("one document in twenty hopeless", HOPELESS, reported),
    ):
        for documents in (20, 60, 200):
            options = {"world": world, "documents": documents, "runs": 1, "seeds": 0.0}
            yield Experiment(
                "tails", what, f"{documents} documents, counts", mean_of_runs, options, 1000, asked
            )


def _power() -> Iterator[Experiment]:
    for number in (2, 3, 5):
        options = {"world": ORDINARY, "documents": 60, "number": number, "seeds": 1.8}
        what = (
            f"a difference of the size that is usually printed as detectable, {number} runs, vary by 1.8 F1"
        )
        yield Experiment(
            "power", what, "60 documents, counts", detected, options, 400, reported, PRINTED[number]
        )


PRINTED = {2: "56", 3: "75", 5: ""}  # the power in version 0.2
