"""One sentence per question, as it can stand in a paper: difference, interval, test, unit, correction, p."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spanwise.document.comparison import PRIMARY
from spanwise.reports import _wording as say

_CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg"}


# How sentences call the score that the primary question is about.
_SCORES = {
    PRIMARY["f1"]: "F1",
    PRIMARY["precision"]: "points of precision",
    PRIMARY["recall"]: "points of recall",
    PRIMARY["macro"]: "macro F1",
    PRIMARY["fair"]: "fair F1",
}


def statements(document: Mapping[str, Any], *, every: bool = False) -> list[str]:
    """The primary question of every pair of systems, dataset by dataset and over datasets, in words.

    Where there is no pair, the F1 of the system. With `every` the F1 of all systems as well, and all other
    scores that differ significantly.

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
    analyses = document.get("analyses") or {}
    comparisons = document.get("comparisons") or ()
    found = [_compared(one, settings) for one in comparisons]
    if every or not comparisons:
        found += [_scored(name, one, settings) for name, one in (document.get("systems") or {}).items()]
    for dataset, part in (document.get("datasets") or {}).items():
        about = f"{say.visible(dataset)}: "
        here = [_compared(one, settings) for one in part.get("comparisons") or ()]
        if every:
            rows = (analyses.get("holistic") or {}).items()
            here += [_over_runs(name, row.get(dataset) or {}) for name, row in rows]
            here += [text for one in part.get("comparisons") or () for text in _others(one, settings)]
        found += [about + text for text in here if text]
    pairs = (analyses.get("bucket_wise") or {}).get("comparative") or ()
    found += [_over_datasets(one, len(pairs), settings) for one in pairs]
    found += [_all_systems(analyses)]
    if every:
        found += [text for one in comparisons for text in _others(one, settings)]
    return [text for text in found if text]


def _scored(name: str, system: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """F1 of one system with its interval."""
    overall = system["exact"]["overall"]
    bounds = (overall.get("interval") or {}).get("f1")
    if overall["f1"] is None or not bounds:
        return ""
    units = say.plural(settings.get("units") or 0, str(settings.get("unit") or "unit"))
    level = f"{100 * (settings.get('confidence') or 0.95):g} %"
    within = f"[{_points(bounds[0])}, {_points(bounds[1])}]"
    return (
        f"{say.visible(name)} scores {_points(overall['f1'])} F1 {within}, "
        f"{level} logit-t interval over {units}{_blocks(settings)}."
    )


def _over_runs(name: str, row: Mapping[str, Any]) -> str:
    """Mean F1 of one system over its runs, with its interval and spread."""
    if row.get("mean") is None:
        return ""
    bounds = (row.get("interval") or {}).get("mean")
    within = f" [{_points(bounds[0])}, {_points(bounds[1])}]" if bounds else ""
    spread = f" (s = {_points(row['std'])})" if row.get("std") is not None else ""
    runs = f", mean over {row['runs']} runs{spread}" if (row.get("runs") or 0) > 1 else ", one run"
    return f"{say.visible(name)} scores {_points(row['mean'])} F1{within}{runs}."


def _all_systems(analyses: Mapping[str, Any]) -> str:
    """Friedman's test of all systems over datasets."""
    test = analyses.get("over_datasets") or {}
    if not test or test.get("p") is None:
        return ""
    number = len(analyses.get("holistic") or {})
    verb = "differ" if test.get("significant") else "cannot be told apart"
    over = f"Friedman's test over {say.plural(test['datasets'], 'dataset')}"
    note = f" ({test['note']})" if test.get("note") else ""
    return f"The {number} systems {verb}, {over}, p {_p(test['p'])}{note}."


def _others(comparison: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """All other scores of one pair that differ significantly."""
    corrected = "Holm" if str(comparison.get("test")).startswith("t-test") else "Westfall-Young"
    if (comparison.get("correction") or settings.get("correction")) == "bh":
        corrected = "Benjamini-Hochberg"
    found = []
    for row in comparison["scores"]:
        if row.get("role") == "primary" or not row["significant"] or row.get("difference") is None:
            continue
        if list(row["path"][:2]) == ["attributes", "label"]:  # the same as the labels' own scores
            continue
        title = say.path_title(row["path"])
        parts = [
            _difference(comparison["systems"], row, f"points ({title})"),
            _test({**comparison, "shuffles": settings.get("resamples")}, row, settings),
            f"{corrected} over {say.count(comparison.get('tests') or 1)} scores",
            f"p {_p(row['p_corrected'])}",
        ]
        found.append(", ".join(parts) + ".")
    return found


def _compared(comparison: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    rows = comparison["scores"]
    row = next(
        (one for one in rows if one.get("role") == "primary"),
        next((one for one in rows if tuple(one["path"]) == PRIMARY["f1"]), None),
    )
    if row is None or row.get("difference") is None or row.get("p_corrected") is None:
        return ""
    if comparison.get("identical"):
        return f"{_names(comparison['systems'])} give the same predictions."
    parts = [
        _difference(comparison["systems"], row, _SCORES.get(tuple(row["path"]), "F1")),
        _test(comparison, row, settings),
        _corrected(comparison.get("correction") or settings.get("correction"), comparison.get("pairs") or 1),
        f"p {_p(row['p_corrected'])}",
    ]
    undecided = "; more shuffles would be needed to decide" if comparison.get("undecided") else ""
    return ", ".join(part for part in parts if part) + undecided + "."


def _difference(systems: Sequence[str], row: Mapping[str, Any], score: str = "F1") -> str:
    """The difference, the better system first."""
    difference, bounds = 100 * row["difference"], row.get("interval")
    if difference < 0:
        systems, difference = list(reversed(systems)), -difference
        bounds = [-bounds[1], -bounds[0]] if bounds else None
    within = f" [{_points(bounds[0])}, {_points(bounds[1])}]" if bounds else ""
    verb = "differ by" if row["significant"] else "cannot be told apart: they differ by"
    return f"{_names(systems)} {verb} {difference:.1f} {score}{within}"


def _points(value: float) -> str:
    return f"{100 * value:.1f}".replace("-", "−")


def _names(systems: Sequence[str]) -> str:
    return " and ".join(say.visible(name) for name in systems)


def _test(comparison: Mapping[str, Any], row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    unit = str(settings.get("unit") or "unit")
    over = f"{say.plural(row['units'], unit)}{_blocks(settings)}" if row.get("units") else f"{unit}s"
    test, runs = str(comparison.get("test") or ""), list(comparison.get("runs") or [])
    if test.startswith("t-test"):
        number = str(runs[0]) if len(set(runs)) == 1 else " and ".join(map(str, runs))
        return f"t-test over {number} runs and {over}"
    if test.startswith("exact"):
        return f"exact randomisation over {over}"
    return f"paired randomisation over {over} ({say.count(comparison.get('shuffles'))} shuffles)"


def _blocks(settings: Mapping[str, Any]) -> str:
    return f" of {settings['block']} sentences" if settings.get("block") else ""


def _corrected(correction: str | None, tests: int) -> str:
    named = _CORRECTIONS.get(str(correction), "")
    return f"{named} over {tests} pairs" if named and tests > 1 else ""


def _p(p: float) -> str:
    digits = 4 if 0.0495 <= p < 0.05 else 3  # what is below the level must not be rounded to it
    return "< .001" if p < 0.001 else f"= {p:.{digits}f}".replace("0.", ".", 1)


def _over_datasets(pair: Mapping[str, Any], tests: int, settings: Mapping[str, Any]) -> str:
    """The difference over datasets as blocks, and on how many it holds by itself."""
    test = pair.get("over_datasets") or {}
    if not test or test.get("difference") is None or (test.get("datasets") or 0) < 2:
        return ""
    number, holds = test["datasets"], test.get("holds") or 0
    row = {"difference": test["difference"], "significant": bool(test.get("significant"))}
    score = _SCORES[PRIMARY[settings.get("primary") or "f1"]]
    alone = f"it holds by itself on {holds} of {number} datasets"
    if test.get("note") or test.get("p_corrected") is None:
        return f"{_difference(pair['systems'], {**row, 'significant': True}, score)} on average; {alone}."
    parts = [
        f"{_difference(pair['systems'], row, score)} on average",
        f"Wilcoxon over {number} datasets",
        _corrected(settings.get("correction"), tests),
        f"p {_p(test['p_corrected'])}",
    ]
    return ", ".join(part for part in parts if part) + f"; {alone}."
