"""The one-to-one matching behind relaxed scores, pair by pair: slow, but easy to verify by reading."""

from __future__ import annotations


def pairs_of(gold: list[tuple[int, int, str]], predicted: list[tuple[int, int, str]]) -> dict[int, int]:
    """Map gold index to predicted index, for mentions (start, end, label) of one sentence."""
    ranked = []
    for i, (gs, ge, gl) in enumerate(gold):
        for j, (ps, pe, pl) in enumerate(predicted):
            shared = min(ge, pe) - max(gs, ps)
            if shared > 0:
                span, label = (gs, ge) == (ps, pe), gl == pl
                differing = (ge - gs) + (pe - ps) - 2 * shared
                preference = (not (span and label), not span, not label, -shared, differing)
                ranked.append((preference, (gs, ge, gl), (ps, pe, pl), i, j))
    pairs: dict[int, int] = {}
    for *_, i, j in sorted(ranked):
        if i not in pairs and j not in pairs.values():
            pairs[i] = j
    return pairs
