"""Measurements as rows of named values, and how each kind of value is written in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Section:
    """One table: what it shows, in which columns, and the single figures that goals are held against."""

    name: str
    title: str
    note: str
    columns: tuple[str, ...]
    rows: Sequence[Row]
    facts: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The section as plain data."""
        return {
            "name": self.name,
            "title": self.title,
            "note": self.note,
            "columns": list(self.columns),
            "rows": [dict(row) for row in self.rows],
            "facts": dict(self.facts),
        }


# How the values of a column are written; a column that is not named here holds words.
_UNITS = {
    "wall": "seconds",
    "CPU": "seconds",
    "peak": "bytes",
    "tokens": "number",
    "training tokens": "number",
    "sentences": "number",
    "mentions": "number",
    "words": "number",
    "times ours": "ratio",
    "ratio": "quotient",
    "ours": "seconds",
    "F1": "score",
    "our F1": "score",
    "codes": "seconds",
    "codes MB/s": "rate",
    "MB/s": "rate",
    "ns/token": "rate",
    "mentions/s": "millions",
    **dict.fromkeys(("read", "decode", "match", "attributes", "count", "resample"), "seconds"),
    **dict.fromkeys(("spanwise", "seqeval", "seqeval, strict", "nervaluate"), "seconds"),
}


def markdown(section: Mapping[str, Any]) -> str:
    """The table of a section."""
    columns = section["columns"]
    lines = [f"## {section['title']}", ""]
    if section["note"]:
        lines += [section["note"], ""]
    lines.append("| " + " | ".join(columns) + " |")
    lines.append("|" + "|".join("---:" if column in _UNITS else "---" for column in columns) + "|")
    for row in section["rows"]:
        lines.append("| " + " | ".join(written(column, row.get(column)) for column in columns) + " |")
    return "\n".join(lines) + "\n"


def written(column: str, value: Any) -> str:
    """A value as the column writes it; nothing where there is none."""
    if value is None:
        return ""
    unit = _UNITS.get(column)
    if unit is None or isinstance(value, str):
        return str(value)
    return _WRITTEN[unit](value)


def seconds(value: float) -> str:
    """Seconds from a minute up without digits, below one second in milliseconds."""
    if value < 0.0995:
        return f"{1000 * value:.1f} ms" if value < 0.00995 else f"{1000 * value:.0f} ms"
    return f"{value:.2f} s" if value < 9.95 else f"{value:.1f} s" if value < 60 else f"{value:,.0f} s"


_WRITTEN: dict[str, Callable[[Any], str]] = {
    "seconds": seconds,
    "bytes": lambda value: f"{value / 1e6:,.0f} MB",
    "number": lambda value: f"{value:,}",
    "ratio": lambda value: f"{value:,.1f} ×" if value < 9.95 else f"{value:,.0f} ×",
    "quotient": lambda value: f"{value:.2f}",
    "score": lambda value: f"{100 * value:.2f}",
    "rate": lambda value: f"{value:,.0f}" if value >= 10 else f"{value:.1f}",
    "millions": lambda value: f"{value / 1e6:.2f} M",
}
