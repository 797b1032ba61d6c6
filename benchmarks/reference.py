"""The program of Ortmann (2022), imported from a given folder, and the same work in spanwise.

Matching is timed on its own, from mentions in memory to counted outcomes. Tables are timed from two span
files to all counts and scores, overall and per label.
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
Sentence = tuple[list[Any], list[Any]]  # gold and predicted mentions as the program represents them

_CHOICES: dict[str, Any] = {
    "labels": ["all"],
    "exclude": ["NONE", "EMPTY"],
    "eval_method": ["traditional", "fair"],
    "focus": "target",
}
# Our names of outcomes, and the program's.
_NAMES = {name: name.upper() for name in ("TP", "LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP")}
_NOBODY = "_"  # the label of an absent mention
_TIMES = 3  # how often a matching is timed in one process


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
    """All tables of two span files, whose format is given or detected."""
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
        totals: dict[str, Any] = {}
        for target, system in _sentences(program, gold, predicted):
            program.annotation_stats(target, **choices)
            program.add_dict(totals, program.compare_spans(target, system, choices["focus"]))
        return {"outcomes": _ours(program.calculate_results(totals, **choices)["overall"]["fair"])}

    return work


def differences(folder: str, gold: str, predicted: str) -> Prepared:
    """The number of sentences that the two count differently, and how many of these have no crossing spans.

    For crossing spans, the program breaks ties by the order in which mentions were matched, whereas the
    definition uses the order of the input.
    """
    program = _program(folder)

    def work() -> dict[str, int]:
        sides = mentions_of(gold, predicted)
        ours = _by_sentence(sides)
        different = unexplained = 0
        for number, (target, system) in enumerate(_sentences(program, gold, predicted)):
            spans = [(begin, end) for _, begin, end, *_ in (*target, *system)]
            result = program.compare_spans(target, system, _CHOICES["focus"])
            if _named(result) != ours.get(number, Counter()):
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


def _shortest(prepare: Callable[[], Any], match: Callable[[Any], Mapping[str, int]]) -> dict[str, Any]:
    """The shortest of several times, and the counts; the program consumes its input."""
    times = []
    for _ in range(_TIMES):
        seconds: dict[str, float] = {}
        outcomes = clocked(seconds, "match", partial(match, prepare()))
        times.append(seconds["match"])
    return {"seconds": {"match": min(times)}, "outcomes": {name: outcomes[name] for name in _NAMES}}


def _their_outcomes(program: Any, sentences: list[Sentence]) -> Counter[str]:
    total: Counter[str] = Counter()
    for target, system in sentences:
        total.update(_ours(program.compare_spans(target, system, _CHOICES["focus"])["overall"]["fair"]))
    return total


def _ours(counts: dict[str, int]) -> dict[str, int]:
    return {ours: counts[theirs] for ours, theirs in _NAMES.items()}


def _named(result: dict[str, Any]) -> Counter[Any]:
    """The outcomes of a sentence, and the pairs of labels of its errors."""
    pairs = {(gold, other): number for gold, row in result["conf"].items() for other, number in row.items()}
    return +Counter(_ours(result["overall"]["fair"])) + Counter(pairs)


def _by_sentence(sides: Any) -> dict[int, Counter[Any]]:
    """The outcomes and pairs of labels as matched by spanwise, for every sentence with mentions."""
    from spanwise.matching import match

    gold, predicted = sides
    labels = [*gold.labels, _NOBODY]
    by_sentence: dict[int, Counter[Any]] = {}
    for first, second, outcome, _ in match(gold, predicted).events().rows():
        sentence = int(gold.sentence[first] if first >= 0 else predicted.sentence[second])
        counted = by_sentence.setdefault(sentence, Counter())
        counted[outcome] += 1
        if outcome != "TP":
            gold_label = labels[gold.label[first] if first >= 0 else -1]
            predicted_label = labels[predicted.label[second] if second >= 0 else -1]
            counted[gold_label, predicted_label] += 1
    return by_sentence


def _cross(spans: list[tuple[int, int]]) -> bool:
    """Whether two spans overlap and neither contains the other."""
    return any(a < b <= c < d for a, c in spans for b, d in spans)


WORK: dict[str, Callable[..., Prepared]] = {
    "fair match": our_matching,
    "fair match, theirs": their_matching,
    "fair tables": our_tables,
    "fair tables, theirs": their_tables,
    "fair differences": differences,
}
