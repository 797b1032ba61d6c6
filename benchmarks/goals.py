"""The performance goals, and whether the measurements of a run reach them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.tables import written


@dataclass(frozen=True)
class Goal:
    """A figure that must not exceed its limit (or, with `least`, fall below it), formatted like `column`."""

    work: str
    fact: str
    limit: float
    column: str
    least: bool = False
    reason: str = ""  # why the goal is missed, if it is

    def row(self, facts: Mapping[str, float]) -> dict[str, str]:
        """The goal, the measured value, and the distance if the goal was missed."""
        sign = "≥" if self.least else "≤"
        row = {"work": self.work, "goal": f"{sign} {written(self.column, self.limit)}"}
        if self.fact not in facts:
            return {**row, "measured": "", "verdict": "not measured in this run"}
        value = facts[self.fact]
        met = value >= self.limit if self.least else value <= self.limit
        distance = self.limit / value if self.least else value / self.limit
        verdict = "met" if met else f"missed by a factor of {distance:.2f}"
        if not met and self.reason:
            verdict += f": {self.reason}"
        return {**row, "measured": written(self.column, value), "verdict": verdict}


# Why some goals are missed.
_START = "half of it is the start of Python and NumPy and the loading of modules, before anything is read"
_SERIAL = "reading, the training text and resampling leave the second core idle for half of the time"
_WORDS = "a quarter is learning 65 k distinct words, a tenth hashing the bytes"
_LEAN = "this is the plain transcription in the tests; the reference program runs where its path is given"
_LEAST = (
    "the start of Python and NumPy alone takes two thirds of what the goal allows; reading both files takes"
    " as much again, and fair and relaxed scores and gains are computed besides"
)
_PAGE = (
    "four tenths are the search for weak slices of both systems and of their difference, with its tests, a"
    " fifth the sentences with their errors, an eighth the templates"
)
_TAGS = "looking up the number of each tag takes two thirds of the time, which Python alone would need"
_CAUSES = (
    "besides scores, causes of errors, copies of sentences and the effect of truncated inputs are looked for"
)
_SHUFFLES = (
    "shuffles of the other scores are doubled while one of them is undecided, up to 100 million scores in all"
)
_FIXED = "tiny test sets pay the fixed part of every call, large ones leave the caches of the processor"

_ALL = "CoNLL-2003 size, two systems, everything"
_LARGE = "10 M training and 9 M test tokens, two systems, everything"

GOALS = (
    Goal("`spanwise --help`, wall", "help wall", 0.040, "wall"),
    Goal("`from spanwise import evaluate`, wall", "import wall", 0.120, "wall"),
    Goal(f"{_ALL}, wall from the start of the process", "conll2003 wall", 0.30, "wall", reason=_START),
    Goal(f"{_ALL}, peak memory", "conll2003 peak", 100e6, "peak"),
    Goal(f"{_ALL}, without resampling, wall", "conll2003 plain wall", 0.22, "wall", reason=_START),
    Goal(f"{_ALL}: what a page adds, CPU", "page cpu", 0.20, "CPU", reason=_PAGE),
    Goal("small span files, exact and fair scores, CPU of the process", "small cpu", 0.12, "CPU"),
    Goal("`Metric.update` of one sentence, CPU", "update", 50e-6, "CPU"),
    Goal("an answer of a language model placed and counted, CPU", "sample", 1e-3, "CPU"),
    Goal(f"{_LARGE}, wall", "large wall", 6.0, "wall", reason=_SERIAL),
    Goal(f"{_LARGE}, peak memory", "large peak", 1e9, "peak"),
    Goal(f"{_LARGE}, out of core, peak memory", "streamed peak", 512e6, "peak"),
    Goal(
        "reading a CoNLL file of four columns into integer codes, MB/s",
        "read rate",
        150,
        "MB/s",
        least=True,
        reason=_WORDS,
    ),
    Goal("1000 resamples of all cells, 3.6 k sentences", "resample few", 0.060, "CPU"),
    Goal("1000 resamples of all cells, 700 k sentences", "resample many", 1.5, "CPU"),
    Goal("fair matching", "match rate", 8e6, "mentions/s", least=True),
    Goal(
        "fair matching beside a plain transcription",
        "match ratio",
        40,
        "times ours",
        least=True,
        reason=_LEAN,
    ),
    Goal("… beside the program of Ortmann (2022)", "fair match ratio", 40, "times ours", least=True),
    Goal(
        "fair evaluation, span files to tables, beside that program",
        "fair files ratio",
        25,
        "times ours",
        least=True,
    ),
    Goal("scores from lists of tags beside a loop that looks at each tag", "lists floor", 2.0, "times ours"),
    Goal("scores from lists of tags beside seqeval", "lists seqeval", 30, "times ours", least=True),
    Goal("… beside seqeval, strict", "lists seqeval, strict", 30, "times ours", least=True),
    Goal("… beside nervaluate", "lists nervaluate", 30, "times ours", least=True),
    Goal("… beside seqscore", "lists seqscore", 8, "times ours", least=True),
    Goal("report of the layer for seqeval, CoNLL-2003 size", "report seqeval", 25, "times ours", least=True),
    Goal("… strict", "report seqeval, strict", 40, "times ours", least=True, reason=_TAGS),
    Goal("whole process, file to scores, beside seqeval", "files seqeval", 20, "times ours", least=True),
    Goal("… beside seqeval, strict", "files seqeval, strict", 20, "times ours", least=True, reason=_CAUSES),
    Goal("… beside evaluate's computation", "files evaluate", 20, "times ours", least=True),
    Goal("… beside nervaluate", "files nervaluate", 20, "times ours", least=True, reason=_CAUSES),
    Goal("… beside seqscore", "files seqscore", 20, "times ours", least=True, reason=_LEAST),
    Goal(
        "… beside conlleval (Python)", "files conlleval (Python)", 20, "times ours", least=True, reason=_LEAST
    ),
    Goal(
        "growth: dearest by cheapest CPU a token, over all sizes", "growth", 1.5, "times ours", reason=_FIXED
    ),
    Goal("growth with the length of one document, the same", "growth of one", 1.5, "times ours"),
    Goal("study of 36 runs, all attributes, intervals and tests, wall", "study wall", 60, "wall"),
    Goal("study of 36 runs, peak memory of one process", "study peak", 300e6, "peak"),
    Goal("12 systems, 1,000 sentences, everything, wall", "systems 12 wall", 5.0, "wall"),
    Goal("12 systems, peak memory", "systems 12 peak", 300e6, "peak", reason=_SHUFFLES),
    Goal("40 systems, 1,000 sentences, everything, wall", "systems 40 wall", 5.0, "wall", reason=_SHUFFLES),
    Goal("40 systems, peak memory", "systems 40 peak", 600e6, "peak"),
)


def judged(facts: Mapping[str, float]) -> list[dict[str, Any]]:
    """One row per goal."""
    return [dict(goal.row(facts)) for goal in GOALS]
