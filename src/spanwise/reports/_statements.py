"""One sentence per question, as it can stand in a paper: difference, interval, test, unit, correction, p."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UnsetType
from msgspec.structs import replace

from spanwise.document.evaluation import Evaluation
from spanwise.document.head import Document, Interval, Settings, StudySettings, given
from spanwise.document.scores import PRIMARY, Comparison, ScoreTest, SystemScores
from spanwise.document.study import Analyses, MainResult, PairDiagnosis, Study
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


def statements(document: Document, *, every: bool = False) -> list[str]:
    """The primary question of every pair of systems, dataset by dataset and over datasets, in words.

    Where there is no pair, the F1 of the system. With `every` the F1 of all systems as well, and all other
    scores that differ significantly.
    """
    match document:
        case Evaluation():
            sentences = _of_evaluation(document, every=every)
        case Study():
            sentences = _of_study(document, every=every)
        case _:
            sentences = []
    return [text for text in sentences if text]


def _of_evaluation(document: Evaluation, *, every: bool) -> list[str]:
    settings, comparisons = document.settings, document.comparisons
    sentences = [compared_statement(row, settings) for row in comparisons]
    if every or not comparisons:
        sentences += [_scored(name, system, settings) for name, system in document.systems.items()]
    if every:
        sentences += [text for row in comparisons for text in _others(row, settings)]
    return sentences


def _of_study(document: Study, *, every: bool) -> list[str]:
    settings, analyses = document.settings, document.analyses
    sentences = []
    for dataset, part in document.datasets.items():
        here = [compared_statement(row, settings) for row in part.comparisons]
        if every:
            results = analyses.holistic.items()
            here += [_over_runs(name, row[dataset]) for name, row in results if dataset in row]
            here += [text for row in part.comparisons for text in _others(row, settings)]
        sentences += [f"{say.visible(dataset)}: {text}" for text in here if text]
    pairs = analyses.bucket_wise.comparative
    sentences += [_over_datasets(pair, len(pairs), settings) for pair in pairs]
    return [*sentences, _all_systems(analyses)]


def _scored(name: str, system: SystemScores, settings: Settings) -> str:
    """F1 of one system with its interval."""
    overall = system.exact.overall
    bounds = overall.ends("f1")
    if overall.f1 is None or not bounds:
        return ""
    units = say.plural(settings.units, settings.unit)
    level = f"{100 * settings.confidence:g} %"
    within = f"[{_points(bounds[0])}, {_points(bounds[1])}]"
    return (
        f"{say.visible(name)} scores {_points(overall.f1)} F1 {within}, "
        f"{level} logit-t interval over {units}{_blocks(settings)}."
    )


def _over_runs(name: str, result: MainResult) -> str:
    """Mean F1 of one system over its runs, with its interval and spread."""
    if result.mean is None:
        return ""
    bounds = result.ends("mean")
    within = f" [{_points(bounds[0])}, {_points(bounds[1])}]" if bounds else ""
    spread = f" (s = {_points(result.std)})" if result.std is not None else ""
    runs = f", mean over {result.runs} runs{spread}" if result.runs > 1 else ", one run"
    return f"{say.visible(name)} scores {_points(result.mean)} F1{within}{runs}."


def _all_systems(analyses: Analyses) -> str:
    """Friedman's test of all systems over datasets."""
    test = analyses.over_datasets
    if not test or test.p is None:
        return ""
    verb = "differ" if test.significant else "cannot be told apart"
    over = f"Friedman's test over {say.plural(test.datasets, 'dataset')}"
    note = f" ({test.note})" if test.note else ""
    return f"The {len(analyses.holistic)} systems {verb}, {over}, p {_p(test.p)}{note}."


def _others(comparison: Comparison, settings: Settings | StudySettings) -> list[str]:
    """All other scores of one pair that differ significantly."""
    corrected = "Holm" if (comparison.test or "").startswith("t-test") else "Westfall-Young"
    if (comparison.correction or settings.correction) == "bh":
        corrected = "Benjamini-Hochberg"
    sentences = []
    for test in comparison.scores:
        if test.role == "primary" or not test.significant or test.difference is None:
            continue
        if test.path[:2] == ("attributes", "label"):  # the same as the labels' own scores
            continue
        score = f"points ({say.path_title(test.path)})"
        parts = [
            _difference(comparison.systems, test.difference, test.interval, score, significant=True),
            _test(replace(comparison, shuffles=settings.resamples), test, settings),
            f"{corrected} over {say.count(comparison.tests or 1)} scores",
            f"p {_p(test.p_corrected or 0.0)}",
        ]
        sentences.append(", ".join(parts) + ".")
    return sentences


def compared_statement(comparison: Comparison, settings: Settings | StudySettings) -> str:
    """The difference of F1 between two systems, and how it was tested; empty where it was not.

    Examples:
        >>> test = ScoreTest(path=PRIMARY["f1"], difference=0.027, interval=(0.011, 0.043), p=0.0007,
        ...     p_corrected=0.002, significant=True, units=107)
        >>> comparison = Comparison(systems=("a", "b"), scores=(test,), test="t-test over runs", runs=(5, 5),
        ...     pairs=3, correction="holm")
        >>> compared_statement(comparison, StudySettings(command=None, unit="document"))
        ... # doctest: +NORMALIZE_WHITESPACE
        'a and b differ by 2.7 F1 [1.1, 4.3], t-test over 5 runs and 107 documents,
        Holm over 3 pairs, p = .002.'
    """
    test = comparison.primary
    if test is None or test.difference is None or test.p_corrected is None:
        return ""
    if comparison.identical:
        return f"{_names(comparison.systems)} give the same predictions."
    parts = [
        _difference(
            comparison.systems,
            test.difference,
            test.interval,
            _SCORES.get(test.path, "F1"),
            significant=test.significant,
        ),
        _test(comparison, test, settings),
        _corrected(comparison.correction or settings.correction, comparison.pairs or 1),
        f"p {_p(test.p_corrected)}",
    ]
    undecided = "; more shuffles would be needed to decide" if comparison.undecided else ""
    return ", ".join(part for part in parts if part) + undecided + "."


def _difference(
    systems: Sequence[str], difference: float, interval: Interval | None, score: str, *, significant: bool
) -> str:
    """The difference, the better system first."""
    bounds = None if interval is None or None in interval else interval
    if difference < 0:
        systems, difference = list(reversed(systems)), -difference
        bounds = None if bounds is None else (-_number(bounds[1]), -_number(bounds[0]))
    within = f" [{_points(bounds[0])}, {_points(bounds[1])}]" if bounds else ""
    verb = "differ by" if significant else "cannot be told apart: they differ by"
    return f"{_names(systems)} {verb} {100 * difference:.1f} {score}{within}"


def _number(value: float | None) -> float:
    return 0.0 if value is None else value


def _points(value: float | None) -> str:
    return f"{100 * _number(value):.1f}".replace("-", "−")


def _names(systems: Sequence[str]) -> str:
    return " and ".join(say.visible(name) for name in systems)


def _test(comparison: Comparison, test: ScoreTest, settings: Settings | StudySettings) -> str:
    unit = settings.unit or "unit"
    over = f"{say.plural(test.units, unit)}{_blocks(settings)}" if test.units else f"{unit}s"
    name, runs = comparison.test or "", comparison.runs
    if name.startswith("t-test"):
        number = str(runs[0]) if len(set(runs)) == 1 else " and ".join(map(str, runs))
        return f"t-test over {number} runs and {over}"
    if name.startswith("exact"):
        return f"exact randomisation over {over}"
    return f"paired randomisation over {over} ({say.count(given(comparison.shuffles))} shuffles)"


def _blocks(settings: Settings | StudySettings) -> str:
    return f" of {settings.block} sentences" if settings.block else ""


def _corrected(correction: str | UnsetType, tests: int) -> str:
    named = _CORRECTIONS.get(correction or "", "")
    return f"{named} over {tests} pairs" if named and tests > 1 else ""


def _p(p: float) -> str:
    digits = 4 if 0.0495 <= p < 0.05 else 3  # what is below the level must not be rounded to it
    return "< .001" if p < 0.001 else f"= {p:.{digits}f}".replace("0.", ".", 1)


def _over_datasets(pair: PairDiagnosis, tests: int, settings: StudySettings) -> str:
    """The difference over datasets as blocks, and on how many it holds by itself."""
    test = pair.over_datasets
    difference = given(test.difference) if test else None
    if not test or difference is None or test.datasets < 2:
        return ""
    score = _SCORES[PRIMARY[settings.primary or "f1"]]
    alone = f"it holds by itself on {test.holds or 0} of {test.datasets} datasets"
    p = given(test.p_corrected)
    if test.note or p is None:
        return f"{_difference(pair.systems, difference, None, score, significant=True)} on average; {alone}."
    said = _difference(pair.systems, difference, None, score, significant=bool(test.significant))
    parts = [
        f"{said} on average",
        f"Wilcoxon over {test.datasets} datasets",
        _corrected(settings.correction, tests),
        f"p {_p(p)}",
    ]
    return ", ".join(part for part in parts if part) + f"; {alone}."
