"""A slow search for suspects: every rule of the definition as a loop over sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Span = tuple[int, int, str]
Rows = list[list[Span]]
# sentence, gold mention or None, proposal or None: score, votes for, votes against
Found = dict[tuple[int, Span | None, Span | None], tuple[float, int, int]]


def overlap(first: Span, second: Span) -> bool:
    return first[0] < second[1] and second[0] < first[1]


def majority(runs: Sequence[Rows]) -> Rows:
    """The mentions that more than half of the runs predict."""
    result = []
    for sentence in range(len(runs[0])):
        votes = Counter(span for run in runs for span in set(run[sentence]))
        result.append(sorted(span for span, number in votes.items() if 2 * number > len(runs)))
    return result


def reading(spans: Sequence[Span], start: int, end: int) -> str | None:
    exact = [span for span in spans if span[:2] == (start, end)]
    if len(exact) == 1:
        return exact[0][2]
    return None if exact or any(overlap(span, (start, end, "")) for span in spans) else "O"


def variation(
    texts: Sequence[tuple[list[list[str]], Rows]],
) -> dict[tuple[int, int, int], tuple[float, str]]:
    """The score and the majority reading of each span of the first text that is read differently there."""
    nuclei = {
        tuple(words[a:b])
        for tokens, rows in texts
        for words, row in zip(tokens, rows, strict=True)
        for a, b, _ in row
    }
    seen: dict[tuple[str | None, tuple[str, ...], str | None], list[tuple[int, int, int, int, str]]] = {}
    for number, (tokens, rows) in enumerate(texts):
        for sentence, (words, row) in enumerate(zip(tokens, rows, strict=True)):
            for a in range(len(words)):
                for b in range(a + 1, len(words) + 1):
                    nucleus = tuple(words[a:b])
                    read = reading(row, a, b) if nucleus in nuclei else None
                    if read is not None:
                        left = words[a - 1] if a else None
                        right = words[b] if b < len(words) else None
                        seen.setdefault((left, nucleus, right), []).append((number, sentence, a, b, read))
    result = {}
    for occurrences in seen.values():
        counts = Counter(occurrence[4] for occurrence in occurrences)
        most = max(counts.values())
        leading = sorted(
            (name for name in counts if counts[name] == most), key=lambda name: (name == "O", name)
        )
        for number, sentence, a, b, read in occurrences:
            others = [name for name in leading if name != read]
            if number == 0 and others:
                n = len(occurrences)
                result[sentence, a, b] = (most / n * (1 - 1 / n), others[0])
    return result


def suspects(
    tokens: list[list[str]],
    gold: Rows,
    systems: Sequence[Rows],
    more: Sequence[tuple[list[list[str]], Rows]] = (),
) -> Found:
    """All suspects, keyed by sentence, gold mention and proposal."""
    n = len(systems)
    varied = variation([(tokens, gold), *more])
    scored: Found = {}
    for sentence, row in enumerate(gold):
        predicted = [set(system[sentence]) for system in systems]
        votes = Counter(span for own in predicted for span in own)
        silent = {g: sum(not any(overlap(g, span) for span in own) for own in predicted) for g in row}
        proposals = sorted(span for span in votes if span not in row and votes[span] >= 2)
        under: dict[Span, list[Span]] = {g: [] for g in row}
        free: dict[Span, float] = {}
        for p in proposals:
            touching = sorted((g for g in row if overlap(g, p)), key=lambda g: (-votes[g], g))
            if touching:
                under[touching[0]].append(p)
            elif n >= 2:
                free[p] = votes[p] / n
        for g in sorted(row):
            options: list[tuple[float, int, Span | None]] = []
            if n >= 2:
                options = [((votes[p] - votes[g]) / n, votes[p], p) for p in under[g]]
                options.append(((silent[g] - votes[g]) / n, silent[g], None))
            best: tuple[float, int, Span | None] = (0.0, 0, None)
            for option in options:
                if option[:2] > best[:2] and option[0] > 0:
                    best = option
            if (sentence, g[0], g[1]) in varied and sum(other[:2] == g[:2] for other in row) == 1:
                score, read = varied[sentence, g[0], g[1]]
                if score > best[0]:
                    other_reading = None if read == "O" else (g[0], g[1], read)
                    best = (
                        score,
                        silent[g] if other_reading is None else votes[other_reading],
                        other_reading,
                    )
            if best[0] > 0:
                scored[sentence, g, best[2]] = (best[0], best[1], votes[g])
        for (where, a, b), (score, read) in varied.items():
            if where == sentence and reading(row, a, b) == "O":
                free[a, b, read] = max(score, free.get((a, b, read), 0.0))
        taken: list[Span] = []
        for p in sorted(free, key=lambda p: (-round(free[p], 12), -votes[p], p)):
            if not any(overlap(p, other) for other in taken):
                taken.append(p)
                scored[sentence, None, p] = (free[p], votes[p], 0)
    return scored
