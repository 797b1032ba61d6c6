"""The program of Ortmann (2022), imported from a folder that is given, and the same work in spanwise.

Matching is timed alone: mentions are there before the clock starts, and counted outcomes are its end.
Tables are timed from two span files to all counts and scores, overall and per label.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.stages import clocked, mentions_of

Prepared = Callable[[], Any]
Sentence = tuple[list[Any], list[Any]]  # what the program knows of the gold and the predicted mentions

_CHOICES: dict[str, Any] = {
    "labels": ["all"],
    "exclude": ["NONE", "EMPTY"],
    "eval_method": ["traditional", "fair"],
    "focus": "target",
}
# Our names of outcomes, and how the program spells them.
_NAMES = {name: name.upper() for name in ("TP", "LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP")}
_NOBODY = "_"  # the label of a mention that is not there
_TIMES = 3  # that a matching is timed in one process


def our_matching(gold: str, predicted: str) -> Prepared:
    """Match fairly and count the outcomes."""
    import numpy as np

    from spanwise.matching import OUTCOMES, match

    def work(sides: Any) -> dict[str, int]:
        counts = np.bincount(match(*sides).events().outcome, minlength=len(OUTCOMES))
        return dict(zip(OUTCOMES, counts.tolist(), strict=True))

    sides = mentions_of(gold, predicted)
    return partial(_shortest, lambda: sides, work)


def their_matching(folder: str, gold: str, predicted: str) -> Prepared:
    """The same by the program."""
    program = _program(folder)
    return partial(
        _shortest, lambda: list(_sentences(program, gold, predicted)), partial(_their_outcomes, program)
    )


def our_tables(gold: str, predicted: str, *format: str) -> Prepared:
    """All tables of two span files, their format named or to be recognised."""
    from spanwise import evaluate

    reading = {"format": format[0]} if format else {}

    def work() -> dict[str, Any]:
        options: dict[str, Any] = {"resamples": 0, "attributes": "none", "examples": "none", **reading}
        fair = evaluate(gold, {"it": predicted}, **options)["it"].fair.overall
        return {"outcomes": {name: fair[name] for name in _NAMES}}

    return work


def their_tables(folder: str, gold: str, predicted: str) -> Prepared:
    """The same by the program."""
    program = _program(folder)

    def work() -> dict[str, Any]:
        choices = {**_CHOICES, "data_stats": {}}
        found: dict[str, Any] = {}
        for target, system in _sentences(program, gold, predicted):
            program.annotation_stats(target, **choices)
            program.add_dict(found, program.compare_spans(target, system, choices["focus"]))
        return {"outcomes": _ours(program.calculate_results(found, **choices)["overall"]["fair"])}

    return work


def differences(folder: str, gold: str, predicted: str) -> Prepared:
    """In how many sentences the two count differently, and in how many of them no spans cross.

    Among crossing spans the program breaks a tie by the order in which mentions were matched, where the
    definition asks for the order of the input.
    """
    program = _program(folder)

    def work() -> dict[str, int]:
        sides = mentions_of(gold, predicted)
        ours = _by_sentence(sides)
        different = unexplained = 0
        for number, (target, system) in enumerate(_sentences(program, gold, predicted)):
            spans = [(begin, end) for _, begin, end, *_ in (*target, *system)]
            found = program.compare_spans(target, system, _CHOICES["focus"])
            if _named(found) != ours.get(number, Counter()):
                different += 1
                unexplained += not _cross(spans)
        return {"mentions": sum(map(len, sides)), "different": different, "unexplained": unexplained}

    return work


def _program(folder: str) -> Any:
    sys.path.insert(0, folder)
    return import_module("FairEval")


def _sentences(program: Any, gold: str, predicted: str) -> Iterator[Sentence]:
    for pair in zip(program.get_sentences(gold), program.get_sentences(predicted), strict=True):
        target, system = (program.get_spans(lines, **_CHOICES) for lines in pair)
        yield target, system


def _shortest(given: Callable[[], Any], match: Callable[[Any], Mapping[str, int]]) -> dict[str, Any]:
    """The shortest of several times, and what was counted; the program uses up what it is given."""
    times = []
    for _ in range(_TIMES):
        seconds: dict[str, float] = {}
        outcomes = clocked(seconds, "match", partial(match, given()))
        times.append(seconds["match"])
    return {"seconds": {"match": min(times)}, "outcomes": {name: outcomes[name] for name in _NAMES}}


def _their_outcomes(program: Any, sentences: list[Sentence]) -> Counter[str]:
    total: Counter[str] = Counter()
    for target, system in sentences:
        total.update(_ours(program.compare_spans(target, system, _CHOICES["focus"])["overall"]["fair"]))
    return total


def _ours(counts: dict[str, int]) -> dict[str, int]:
    return {ours: counts[theirs] for ours, theirs in _NAMES.items()}


def _named(found: dict[str, Any]) -> Counter[Any]:
    """The outcomes of a sentence, and the pairs of labels of its errors."""
    pairs = {(gold, other): number for gold, row in found["conf"].items() for other, number in row.items()}
    return +Counter(_ours(found["overall"]["fair"])) + Counter(pairs)


def _by_sentence(sides: Any) -> dict[int, Counter[Any]]:
    """The same as matched by spanwise, for every sentence with mentions."""
    from spanwise.matching import match

    gold, predicted = sides
    labels = [*gold.labels, _NOBODY]
    found: dict[int, Counter[Any]] = {}
    for first, second, outcome, _ in match(gold, predicted).events().rows():
        sentence = int(gold.sentence[first] if first >= 0 else predicted.sentence[second])
        counted = found.setdefault(sentence, Counter())
        counted[outcome] += 1
        if outcome != "TP":
            one = labels[gold.label[first] if first >= 0 else -1]
            other = labels[predicted.label[second] if second >= 0 else -1]
            counted[one, other] += 1
    return found


def _cross(spans: list[tuple[int, int]]) -> bool:
    """Whether two spans share some tokens, and each has others."""
    return any(a < b <= c < d for a, c in spans for b, d in spans)


WORK: dict[str, Callable[..., Prepared]] = {
    "fair match": our_matching,
    "fair match, theirs": their_matching,
    "fair tables": our_tables,
    "fair tables, theirs": their_tables,
    "fair differences": differences,
}
