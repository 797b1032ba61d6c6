"""What the buckets named XS to XL hold, for screens whose tables have room for their names only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from spanwise.reports import _wording as say
from spanwise.reports.terminal._layout import Cell, Column, Line, and_more, grid, packed, text

Held: TypeAlias = Sequence[tuple[str, str]]  # names of buckets, and what each holds in words

MOST = 24


def legend(tables: Iterable[tuple[Sequence[str], Held]], titles: Sequence[str], width: int) -> list[Line]:
    """One row per table of buckets behind the names it goes by: each bucket with what it holds.

    Buckets that are named by what they hold, such as categories, need no row.
    """
    rows: list[list[Cell]] = []
    for names, buckets in tables:
        held = [_held(name, words) for name, words in buckets if words != say.visible(name)]
        if held:
            rows.append([*(text(name) for name in names), packed(held, join="  ")])
    if not rows:
        return []
    columns = [Column(title, least=8) for title in titles]
    columns.append(Column("what its buckets hold", least=30, most=110))
    return [[], *grid(columns, rows[:MOST], width), *and_more(len(rows) - MOST, width)]


def _held(name: str, words: str) -> Line:
    return [(f"{say.visible(name)} ", "faint"), (say.upper_bound(words), "")]
