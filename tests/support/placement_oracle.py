"""Answers placed by the definitions word by word: every run of tokens, every placement, no shortcuts."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, product

Run = tuple[int, int]
Said = tuple[str, str]  # text and label


def fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def bare(text: str) -> str:
    return "".join(char for char in fold(text) if unicodedata.category(char)[0] in "LNM")


def edits(one: str, two: str) -> int:
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, start=1):
        last, row[0] = row[0], i
        for j, b in enumerate(two, start=1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def similarity(one: str, two: str) -> float:
    longer = max(len(one), len(two))
    return 1 - edits(one, two) / longer if longer else 1.0


def runs_of(sentences: Sequence[Sequence[str]]) -> list[tuple[Run, list[str]]]:
    """Every run of tokens inside one sentence, in tokens of the whole unit."""
    found: list[tuple[Run, list[str]]] = []
    first = 0
    for tokens in sentences:
        for start in range(len(tokens)):
            for end in range(start + 1, len(tokens) + 1):
                found.append(((first + start, first + end), list(tokens[start:end])))
        first += len(tokens)
    return sorted(found, key=lambda one: one[0])


def candidates(
    sentences: Sequence[Sequence[str]], text: str, *, threshold: float = 0.85, level: str = "fuzzy"
) -> tuple[str | None, list[Run]]:
    """The first level with a candidate, and the candidates."""
    runs = runs_of(sentences)
    order = ["exact", "case", "bare", "article", "fuzzy"]
    allowed = order[: order.index(level) + 1]

    def plain(said: str, name: str) -> list[Run]:
        if name == "exact":
            return [run for run, words in runs if " ".join(" ".join(words).split()) == " ".join(said.split())]
        if name == "case":
            return [run for run, words in runs if fold(" ".join(words)) == fold(said)]
        return [
            run
            for run, words in runs
            if bare(said) and bare(words[0]) and bare(words[-1]) and bare("".join(words)) == bare(said)
        ]

    for name in ("exact", "case", "bare"):
        if name in allowed and (found := plain(text, name)):
            return name, found
    head, *rest = text.split() or [""]
    if "article" in allowed and head.casefold() in ("a", "an", "the") and rest:
        for name in ("exact", "case", "bare"):
            if found := plain(" ".join(rest), name):
                return "article", found
    if "fuzzy" in allowed and bare(text):
        found = _fuzzy(runs, text, threshold)
        if found:
            return "fuzzy", found
    return None, []


def _fuzzy(runs: list[tuple[Run, list[str]]], text: str, threshold: float) -> list[Run]:
    said = fold(text).split()

    def fits(token: str) -> bool:
        return any(similarity(fold(token), word) >= 0.5 for word in said)

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
    said: Sequence[Said], found: Sequence[list[Run]], start: Sequence[Run | None] = ()
) -> list[Run | None]:
    placed: list[Run | None] = list(start) or [None] * len(said)
    taken = {(label, run) for (_, label), run in zip(said, placed, strict=True) if run is not None}
    for row, ((_, label), options) in enumerate(zip(said, found, strict=True)):
        if placed[row] is None:
            placed[row] = next((run for run in options if (label, run) not in taken), None)
            taken.add((label, placed[row] or (-1, -1)))
    return placed


def place_ordered(said: Sequence[Said], found: Sequence[list[Run]]) -> list[Run | None]:
    """The best of all placements that are disjoint and in output order, then as by next."""

    def rank(choice: Sequence[Run | None]) -> tuple[int, list[tuple[int, int]]]:
        tokens = sum(run[1] - run[0] for run in choice if run is not None)
        # Of equal totals the earlier answer is placed, and at its earliest position.
        return -tokens, [(0, run[0]) if run is not None else (1, 0) for run in choice]

    def allowed(choice: Sequence[Run | None]) -> bool:
        runs = [run for run in choice if run is not None]
        return all(a[1] <= b[0] for a, b in pairwise(runs))

    choices = product(*([None, *options] for options in found))
    best = min(filter(allowed, choices), key=rank)
    return place_next(said, found, best)


def bounds(
    said: Sequence[Said], found: Sequence[list[Run]], gold: set[tuple[Run, str]]
) -> tuple[int, int, int]:
    """The most answers placed one-to-one within a label, and the fewest and most of them on gold."""
    best: Counter[int] = Counter()
    results: list[tuple[int, int]] = []
    for choice in product(*([None, *options] for options in found)):
        claims = [(run, label) for (_, label), run in zip(said, choice, strict=True) if run is not None]
        if len(set(claims)) == len(claims):
            results.append((len(claims), len(set(claims) & gold)))
    del best
    most = max(number for number, _ in results)
    right = [hits for number, hits in results if number == most]
    return most, min(right), max(right)


def counts(
    said: Sequence[Said], placed: Sequence[list[Run]], gold: set[tuple[Run, str]], *, repeats: str = "drop"
) -> tuple[int, int]:
    """Predicted and correct mentions, given the places of each answer."""
    claims = {(run, label) for (_, label), runs in zip(said, placed, strict=True) for run in runs}
    wrong = 0
    seen: set[Said] = set()
    for (text, label), runs in zip(said, placed, strict=True):
        key = (fold(text), label)
        if not runs and (repeats == "keep" or key not in seen):
            wrong += 1
        seen.add(key)
    return len(claims) + wrong, len(claims & gold)
