"""The levels of a hierarchy of labels side by side, as screens, pages and tables show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from spanwise.document.scores import LevelScores, SystemScores


class LevelRow(Struct, frozen=True):
    """One level: its title, its gold mentions, the scores of each system, and the path of the test of F1."""

    title: str
    gold: int
    scores: Sequence[LevelScores | None]
    path: tuple[str, ...]


def level_rows(systems: Mapping[str, SystemScores]) -> list[LevelRow]:
    """A row per level, from one label for all mentions down to the labels themselves; none without levels."""
    levels = [system.hierarchy or {} for system in systems.values()]
    depth = max(map(len, levels), default=0) - 1
    return [
        LevelRow(
            _title(level, depth),
            next(of_system[str(level)].exact.overall.gold for of_system in levels if str(level) in of_system),
            [of_system.get(str(level)) for of_system in levels],
            # The deepest level is exact F1 itself, which is tested once.
            ("exact", "overall", "f1")
            if level == depth
            else ("hierarchy", str(level), "exact", "overall", "f1"),
        )
        for level in range(depth + 1)
    ]


def _title(level: int, depth: int) -> str:
    if not level:
        return "0 · spans, any label"
    if level == depth:
        return f"{level} · full labels"
    return f"{level} · first step" if level == 1 else f"{level} · first {level} steps"
