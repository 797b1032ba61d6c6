"""Answers placed exactly as defined: try every run of tokens and every placement, without shortcuts."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise, product

Run = tuple[int, int]
Said = tuple[str, str]  # text and label


def fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def bare(text: str) -> str:
    return "".join(char for char in fold(text) if unicodedata.category(char)[0] in "LNM")


def edits(first: str, second: str) -> int:
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        last, row[0] = row[0], i
        for j, b in enumerate(second, start=1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def similarity(first: str, second: str) -> float:
    longer = max(len(first), len(second))
    return 1 - edits(first, second) / longer if longer else 1.0


def runs_of(sentences: Sequence[Sequence[str]]) -> list[tuple[Run, list[str]]]:
    """Every run of tokens within a sentence, with positions relative to the whole unit."""
    runs: list[tuple[Run, list[str]]] = []
    first = 0
    for tokens in sentences:
        for start in range(len(tokens)):
            for end in range(start + 1, len(tokens) + 1):
                runs.append(((first + start, first + end), list(tokens[start:end])))
        first += len(tokens)
    return sorted(runs, key=lambda row: row[0])


def candidates(
    sentences: Sequence[Sequence[str]], text: str, *, threshold: float = 0.85, level: str = "fuzzy"
) -> tuple[str | None, list[Run]]:
    """The first level that has candidates, and its candidates."""
    runs = runs_of(sentences)
    order = ["exact", "case", "bare", "article", "fuzzy"]
    allowed = order[: order.index(level) + 1]

    def plain(answer: str, name: str) -> list[Run]:
        if name == "exact":
            return [
                run for run, words in runs if " ".join(" ".join(words).split()) == " ".join(answer.split())
            ]
        if name == "case":
            return [run for run, words in runs if fold(" ".join(words)) == fold(answer)]
        return [
            run
            for run, words in runs
            if bare(answer) and bare(words[0]) and bare(words[-1]) and bare("".join(words)) == bare(answer)
        ]

    for name in ("exact", "case", "bare"):
        if name in allowed and (matches := plain(text, name)):
            return name, matches
    head, *rest = text.split() or [""]
    if "article" in allowed and head.casefold() in ("a", "an", "the") and rest:
        for name in ("exact", "case", "bare"):
            if matches := plain(" ".join(rest), name):
                return "article", matches
    if "fuzzy" in allowed and bare(text):
        matches = _fuzzy(runs, text, threshold)
        if matches:
            return "fuzzy", matches
    return None, []


def _fuzzy(runs: list[tuple[Run, list[str]]], text: str, threshold: float) -> list[Run]:
    answer_words = fold(text).split()

    def fits(token: str) -> bool:
        return any(similarity(fold(token), word) >= 0.5 for word in answer_words)

    scored = [
        (similarity(fold(" ".join(words)), fold(text)), run)
        for run, words in runs
        if fits(words[0]) and fits(words[-1])
    ]
    best = max((value for value, _ in scored), default=0.0)
    if best < threshold - 1e-9:
        return []
    tied = sorted((run for value, run in scored if value == best), key=lambda run: (run[1] - run[0], run[0]))
    kept: list[Run] = []
    for run in tied:
        if all(run[1] <= other[0] or other[1] <= run[0] for other in kept):
            kept.append(run)
    return sorted(kept)


def place_next(
    answers: Sequence[Said], candidate_runs: Sequence[list[Run]], start: Sequence[Run | None] = ()
) -> list[Run | None]:
    placed: list[Run | None] = list(start) or [None] * len(answers)
    taken = {(label, run) for (_, label), run in zip(answers, placed, strict=True) if run is not None}
    for row, ((_, label), options) in enumerate(zip(answers, candidate_runs, strict=True)):
        if placed[row] is None:
            placed[row] = next((run for run in options if (label, run) not in taken), None)
            taken.add((label, placed[row] or (-1, -1)))
    return placed


def place_ordered(answers: Sequence[Said], candidate_runs: Sequence[list[Run]]) -> list[Run | None]:
    """The best placement that is disjoint and in output order; `place_next` places the remaining answers."""

    def rank(choice: Sequence[Run | None]) -> tuple[int, list[tuple[int, int]]]:
        tokens = sum(run[1] - run[0] for run in choice if run is not None)
        # Among equal totals, prefer placing the earlier answer, at its earliest position.
        return -tokens, [(0, run[0]) if run is not None else (1, 0) for run in choice]

    def allowed(choice: Sequence[Run | None]) -> bool:
        runs = [run for run in choice if run is not None]
        return all(a[1] <= b[0] for a, b in pairwise(runs))

    choices = product(*([None, *options] for options in candidate_runs))
    best = min(filter(allowed, choices), key=rank)
    return place_next(answers, candidate_runs, best)


def bounds(
    answers: Sequence[Said], candidate_runs: Sequence[list[Run]], gold: set[tuple[Run, str]]
) -> tuple[int, int, int]:
    """The most answers that can be placed one-to-one per label, and the fewest and most of them correct."""
    results: list[tuple[int, int]] = []
    for choice in product(*([None, *options] for options in candidate_runs)):
        claims = [(run, label) for (_, label), run in zip(answers, choice, strict=True) if run is not None]
        if len(set(claims)) == len(claims):
            results.append((len(claims), len(set(claims) & gold)))
    most = max(number for number, _ in results)
    right = [hits for number, hits in results if number == most]
    return most, min(right), max(right)


def counts(
    answers: Sequence[Said], placed: Sequence[list[Run]], gold: set[tuple[Run, str]], *, repeats: str = "drop"
) -> tuple[int, int]:
    """The numbers of predicted and correct mentions, given where each answer was placed."""
    claims = {(run, label) for (_, label), runs in zip(answers, placed, strict=True) for run in runs}
    wrong = 0
    seen: set[Said] = set()
    for (text, label), runs in zip(answers, placed, strict=True):
        key = (fold(text), label)
        if not runs and (repeats == "keep" or key not in seen):
            wrong += 1
        seen.add(key)
    return len(claims) + wrong, len(claims & gold)
