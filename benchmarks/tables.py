"""Tables of measurements, and how each kind of value is formatted in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Section:
    """One table: what it shows, its columns, and the figures that goals are compared with."""

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


# How the values of each column are formatted; columns that are not listed contain text.
_UNITS = {
    "wall": "seconds",
    "CPU": "seconds",
    "each": "seconds",
    "calls": "number",
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
    """Format a section as a Markdown table."""
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
    """Format a value as its column requires; empty if there is none."""
    if value is None:
        return ""
    unit = _UNITS.get(column)
    if unit is None or isinstance(value, str):
        return str(value)
    return _WRITTEN[unit](value)


def seconds(value: float) -> str:
    """Format seconds: without decimals from a minute up, in milliseconds or microseconds if they are few."""
    if value < 0.00095:
        return f"{1e6 * value:.0f} µs"
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
