"""A plain transcription of Ortmann's Algorithm 2, which the fast matching must reproduce event by event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Span = tuple[int, int, str]
Event = tuple[int, int, str, int]
Entry = tuple[int, set[int], str]  # number, positions that are left, label


def events_of(
    gold: Sequence[Any],
    predicted: Sequence[Any],
    *,
    tokens: Callable[[Any], set[int]] = lambda span: set(range(span[0], span[1])),
) -> list[Event]:
    """Events (gold index, predicted index, outcome, turn); -1 where a side is absent.

    `tokens` returns the set of positions of a mention; a mention is any sequence
    whose last item is its label.
    """
    events: list[Event] = []
    target: list[Entry] = [(i, tokens(span), span[-1]) for i, span in enumerate(gold)]
    system: list[Entry] = [(j, tokens(span), span[-1]) for j, span in enumerate(predicted)]
    for outcome, turn in (("TP", 0), ("LE", 1)):
        for t in list(target):
            for s in list(system):
                if t[1] == s[1] and t[1] and (outcome == "LE" or t[2] == s[2]):
                    events.append((t[0], s[0], outcome, turn))
                    target.remove(t)
                    system.remove(s)
                    break
    full = {("t", t[0]): frozenset(t[1]) for t in target} | {("s", s[0]): frozenset(s[1]) for s in system}
    target.sort(key=lambda t: len(t[1]))  # a stable sort keeps the input order among equals
    system.sort(key=lambda s: len(s[1]))
    matched_target: list[Entry] = []
    matched_system: list[Entry] = []

    def best(entry: Entry, others: list[Entry], side: str, same: bool) -> Entry | None:
        ranked = []
        for other in others:
            shared = len(entry[1] & other[1])
            if shared and (entry[2] == other[2]) == same:
                differing = len(entry[1] ^ other[1])
                ranked.append((-shared, differing, len(full[side, other[0]]), other[0], other))
        return min(ranked, key=lambda row: row[:4])[4] if ranked else None

    def record(t: Entry, s: Entry, same: bool, turn: int) -> None:
        outer, inner = full["t", t[0]], full["s", s[0]]
        name = "LBE" if not same else "BEs" if inner < outer else "BEl" if inner > outer else "BEo"
        events.append((t[0], s[0], name, turn))
        common = t[1] & s[1]
        t[1].difference_update(common)
        s[1].difference_update(common)

    for same in (True, False):
        for t in list(target):
            if partner := best(t, system, "s", same):
                record(t, partner, same, 1)
                target.remove(t)
                system.remove(partner)
                matched_target.append(t)
                matched_system.append(partner)
        for t in list(target):
            if partner := best(t, matched_system, "s", same):
                record(t, partner, same, 2)
                target.remove(t)
                matched_target.append(t)
        for s in list(system):
            if partner := best(s, matched_target, "t", same):
                record(partner, s, same, 3)
                system.remove(s)
                matched_system.append(s)
    events += [(t[0], -1, "FN", 0) for t in target]
    events += [(-1, s[0], "FP", 0) for s in system]
    return sorted(events)
