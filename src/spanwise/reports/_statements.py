"""One sentence per question, as it can stand in a paper: difference, interval, test, unit, correction, p."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spanwise.diagnosis import F1
from spanwise.reports import _wording as say

_CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg"}


def statements(document: Mapping[str, Any]) -> list[str]:
    """The primary question of every pair of systems, dataset by dataset and over datasets, in words.

    Examples:
        >>> row = {"path": ["exact", "overall", "f1"], "difference": 0.027, "interval": [0.011, 0.043],
        ...     "p": 0.0007, "p_corrected": 0.002, "significant": True, "units": 107}
        >>> comparison = {"systems": ["a", "b"], "scores": [row], "test": "t-test over runs", "runs": [5, 5],
        ...     "pairs": 3, "correction": "holm"}
        >>> statements({"comparisons": [comparison], "settings": {"unit": "document"}})[0]
        ... # doctest: +NORMALIZE_WHITESPACE
        'a and b differ by 2.7 F1 [1.1, 4.3], t-test over 5 runs and 107 documents,
        Holm over 3 pairs, p = .002.'
    """
    settings = document.get("settings") or {}
    found = [_compared(one, settings) for one in document.get("comparisons") or ()]
    for dataset, part in (document.get("datasets") or {}).items():
        about = f"{say.visible(dataset)}: "
        found += [about + text for one in part.get("comparisons") or () if (text := _compared(one, settings))]
    pairs = ((document.get("analyses") or {}).get("bucket_wise") or {}).get("comparative") or ()
    found += [_over_datasets(one, len(pairs), settings) for one in pairs]
    return [text for text in found if text]


def _compared(comparison: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    row = next((one for one in comparison["scores"] if tuple(one["path"]) == F1), None)
    if row is None or row.get("difference") is None or row.get("p_corrected") is None:
        return ""
    if comparison.get("identical"):
        return f"{_names(comparison['systems'])} give the same predictions."
    parts = [
        _difference(comparison["systems"], row),
        _test(comparison, row, settings),
        _corrected(comparison.get("correction") or settings.get("correction"), comparison.get("pairs") or 1),
        f"p {_p(row['p_corrected'])}",
    ]
    undecided = "; more shuffles would be needed to decide" if comparison.get("undecided") else ""
    return ", ".join(part for part in parts if part) + undecided + "."


def _difference(systems: Sequence[str], row: Mapping[str, Any]) -> str:
    """The difference, the better system first."""
    difference, bounds = 100 * row["difference"], row.get("interval")
    if difference < 0:
        systems, difference = list(reversed(systems)), -difference
        bounds = [-bounds[1], -bounds[0]] if bounds else None
    within = f" [{_points(bounds[0])}, {_points(bounds[1])}]" if bounds else ""
    verb = "differ by" if row["significant"] else "cannot be told apart: they differ by"
    return f"{_names(systems)} {verb} {difference:.1f} F1{within}"


def _points(value: float) -> str:
    return f"{100 * value:.1f}".replace("-", "−")


def _names(systems: Sequence[str]) -> str:
    return " and ".join(say.visible(name) for name in systems)


def _test(comparison: Mapping[str, Any], row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    unit = str(settings.get("unit") or "unit")
    size = f" of {settings['block']} sentences" if settings.get("block") else ""
    over = f"{say.plural(row['units'], unit)}{size}" if row.get("units") else f"{unit}s"
    test, runs = str(comparison.get("test") or ""), list(comparison.get("runs") or [])
    if test.startswith("t-test"):
        number = str(runs[0]) if len(set(runs)) == 1 else " and ".join(map(str, runs))
        return f"t-test over {number} runs and {over}"
    if test.startswith("exact"):
        return f"exact randomisation over {over}"
    return f"paired randomisation over {over} ({say.count(comparison.get('shuffles'))} shuffles)"


def _corrected(correction: str | None, tests: int) -> str:
    named = _CORRECTIONS.get(str(correction), "")
    return f"{named} over {tests} pairs" if named and tests > 1 else ""


def _p(p: float) -> str:
    return "< .001" if p < 0.001 else f"= {p:.3f}".replace("0.", ".", 1)


def _over_datasets(pair: Mapping[str, Any], tests: int, settings: Mapping[str, Any]) -> str:
    """The difference over datasets as blocks, and on how many it holds by itself."""
    test = pair.get("over_datasets") or {}
    if not test or test.get("difference") is None or (test.get("datasets") or 0) < 2:
        return ""
    number, holds = test["datasets"], test.get("holds") or 0
    row = {"difference": test["difference"], "significant": bool(test.get("significant"))}
    alone = f"it holds by itself on {holds} of {number} datasets"
    if test.get("note") or test.get("p_corrected") is None:
        return f"{_difference(pair['systems'], {**row, 'significant': True})} on average; {alone}."
    parts = [
        f"{_difference(pair['systems'], row)} on average",
        f"Wilcoxon over {number} datasets",
        _corrected(settings.get("correction"), tests),
        f"p {_p(test['p_corrected'])}",
    ]
    return ", ".join(part for part in parts if part) + f"; {alone}."
