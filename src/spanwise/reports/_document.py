"""Lookups that several reports share: rankings, links, short signatures, and sentences for a paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from msgspec import UnsetType
from msgspec.structs import replace

from spanwise.diagnosis import letter, lettering
from spanwise.document import Document, Interval, Settings, given, usual_settings
from spanwise.document.evaluation import Evaluation, ScoreGrid
from spanwise.document.scores import PRIMARY, SCORE_PATHS, Comparison, ScoreTest, SystemScores
from spanwise.reports import _wording as say
from spanwise.reports._wording import attribute, defined, tough, visible
from spanwise.settings import SETTINGS, default_value
from spanwise.statistics import LEVEL

if TYPE_CHECKING:
    from spanwise.document.study import (
        Analyses,
        AttributeWise,
        DatasetTest,
        MainResult,
        ModelWise,
        PairDiagnosis,
        RankedSlice,
        Study,
        StudySettings,
    )

Key = TypeVar("Key", bound=str)
Value = TypeVar("Value")


def own_letters(document: Evaluation) -> dict[str, str]:
    """The letter of every system, from the highest primary score to the lowest, undefined ones last."""
    primary = document.settings.primary or "f1"
    return lettering({name: system.primary(primary) for name, system in document.systems.items()})


def ranked(document: Evaluation) -> list[str]:
    """The systems from the highest primary score to the lowest, in the order of their letters."""
    return list(own_letters(document))


def union(parts: Iterable[Mapping[Key, Value]]) -> dict[Key, Value]:
    """Merge mappings, keeping the first value of each key.

    Saved results that are compared need not have the same keys.
    """
    merged: dict[Key, Value] = {}
    for part in parts:
        for name, value in part.items():
            merged.setdefault(name, value)
    return merged


def scored_labels(document: Evaluation) -> list[str]:
    """The labels for which some system has scores, the most frequent gold labels first."""
    scored = union(system.exact.labels for system in document.systems.values())
    gold = (label for label in document.dataset.labels_in_order if label in scored)
    return list(dict.fromkeys([*gold, *scored]))


def label_order(document: Evaluation) -> list[str]:
    """Every label in gold or predictions, the most frequent gold labels first."""
    order = dict.fromkeys(document.dataset.labels_in_order)
    for system in document.systems.values():
        order |= dict.fromkeys(label for label in system.exact.labels if label not in order)
    return list(order)


def inner_keys(tree: Mapping[str, Mapping[Key, Value]]) -> list[Key]:
    """The keys of all inner mappings, in order of first appearance."""
    return list(dict.fromkeys(key for inner in tree.values() for key in inner))


def highest(values: Iterable[float | None]) -> float | None:
    """The highest defined value; None if there are fewer than two to choose from."""
    inside = [value for value in values if value is not None and defined(value)]
    return max(inside) if len(inside) > 1 else None


def compared(document: Evaluation, one: str, other: str, path: Sequence[str]) -> ScoreTest | None:
    """The test of one score between two systems, with the difference as `one` minus `other`."""
    comparison = document.comparison(one, other)
    test = None if comparison is None else comparison.score(tuple(path))
    if comparison is None or test is None:
        return None
    return test if comparison.systems[0] == one else turned(test)


def turned(test: ScoreTest) -> ScoreTest:
    """A tested difference with the two systems swapped."""
    return replace(
        test,
        a=test.b,
        b=test.a,
        interval=_turned_interval(test.interval),
        difference=None if test.difference is None else -test.difference,
    )


def _turned_interval(interval: Interval | None) -> Interval | None:
    if interval is None:
        return None
    low, high = interval
    return None if high is None else -high, None if low is None else -low


def single_runs(holistic: Mapping[str, Mapping[str, MainResult]]) -> bool:
    """Whether some system has a single run, so that letters say nothing about the variance of training."""
    return any(cell.runs == 1 for row in holistic.values() for cell in row.values())


def differing(cell: ModelWise | AttributeWise) -> float | None:
    """The p-value of the test that buckets differ; without that test, Friedman's over datasets × runs."""
    return cell.buckets_differ.p if cell.buckets_differ else cell.friedman.p


def greyed(cell: ModelWise | AttributeWise) -> bool:
    """Whether the buckets of an attribute cannot be told apart, or could not be tested."""
    p = differing(cell)
    return p is None or not p < LEVEL


def decides(test: DatasetTest) -> bool:
    """Whether a test over datasets could find a difference: with few blocks, no p falls below the level."""
    return test.p is not None and test.datasets > 1 and not test.note


def score_path(analyses: Analyses) -> tuple[str, ...]:
    """The path, in comparisons, of the score that a study is about."""
    return SCORE_PATHS[analyses.score or "f1"]


TINY = 20  # a recall over fewer mentions is marked


def slice_words(row: RankedSlice) -> str:
    """A slice of a study in words; a bucket is followed by what it holds."""
    name = visible(row.name)
    if row.kind == "label":
        return f"label is {name}"
    if row.kind == "tough" or not row.attribute:
        return tough(row.name)
    contents = visible(given(row.label) or "")
    if not contents or contents == name:
        return f"{attribute(row.attribute)} {name}"
    return f"{attribute(row.attribute)} {name} {contents if contents[0] in '([' else f'({contents})'}"


def unbeaten(holistic: Mapping[str, Mapping[str, MainResult]], dataset: str) -> set[str]:
    """The systems that no other system significantly beats; without tests, those with the best score."""
    cells = {system: row[dataset] for system, row in holistic.items() if dataset in row}
    scored = {system: cell.mean for system, cell in cells.items() if cell.mean is not None}
    if len(scored) < 2:
        return set(scored)
    if not any(cell.letters for cell in cells.values()):
        top = max(scored.values())
        return {system for system, mean in scored.items() if mean == top}
    beaten = {sign for cell in cells.values() for sign in cell.letters or ""}
    return {system for system in scored if cells[system].letter not in beaten}


def common_letters(
    holistic: Mapping[str, Mapping[str, MainResult]],
) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """One letter per system for a whole table of datasets, and which letters each system beats on each.

    A study assigns letters anew in every dataset, by score; a table of all datasets needs
    one letter per row.
    """
    own = {system: letter(rank) for rank, system in enumerate(holistic)}
    beats: dict[tuple[str, str], str] = {}
    for dataset in inner_keys(holistic):
        cells = {system: row[dataset] for system, row in holistic.items() if dataset in row}
        common = {cell.letter: own[system] for system, cell in cells.items() if cell.letter}
        for system in holistic:
            letters = cells[system].letters if system in cells else ""
            beats[system, dataset] = "".join(sorted(common[sign] for sign in letters or "" if sign in common))
    return own, beats


# ---- links from a number to the mentions it counts, which the script of the page parses ------------


# What examples can be filtered by, in the order of the address; `of` is the number that was clicked.
KEYS = (
    "unit", "system", "outcome", "gold", "predicted", "attribute", "bucket", "tough", "where", "over", "of",
)  # fmt: skip


def examples(of: float | None = None, **choices: str | None) -> str:
    """The address of the examples behind a number: which mentions, and how many there are.

    `unit` is what is counted: `gold` mentions, `predicted` mentions, or each `error`, where a gold
    and a predicted mention that were paired count once.

    Examples:
        >>> examples(47, unit="error", system="crf", gold="B-PER/x")
        '#examples?unit=error,system=crf,gold=B-PER%2Fx,of=47'
    """
    values = {**choices, "of": None if of is None else f"{of:g}" if of != int(of) else str(int(of))}
    unknown = set(values) - set(KEYS)
    if unknown:
        raise TypeError(f"examples cannot be filtered by {sorted(unknown)}")
    parts = [f"{key}={quote(str(values[key]), safe='')}" for key in KEYS if values.get(key) is not None]
    # Joined with commas, which need no escaping in HTML: a page has a thousand links.
    return "#examples?" + ",".join(parts)


def pair_link(one: str, other: str) -> str:
    """The address at which the page compares two systems.

    Examples:
        >>> pair_link("crf", "bert,large")
        '#pair?a=crf,b=bert%2Clarge'
    """
    return f"#pair?a={quote(one, safe='')},b={quote(other, safe='')}"


# ---- signatures without their usual parts ----------------------------------------------------------


_ATTRIBUTES = "attributes:"


@cache
def _usual_parts() -> frozenset[str]:
    """The parts of a signature whose settings have their usual values."""
    usual = usual_settings()
    # A setting without a usual value depends on the data and is always shown.
    fixed = [
        setting
        for setting in SETTINGS.values()
        if setting.signed is not None and setting.default_value is not None
    ]
    return frozenset(setting.signed(usual) for setting in fixed if setting.signed is not None)


@cache
def _usual_cuts() -> frozenset[str]:
    """The attributes that are computed by default, each with its usual buckets."""
    from spanwise.attributes import choose
    from spanwise.buckets import parse

    return frozenset(f"{usual.name}[{parse(usual.buckets)}]" for usual in choose(default_value("attributes")))


def short_signature(signature: str) -> str:
    """A signature without the parts that have their usual values.

    Examples:
        >>> short_signature("spanwise|v:0.2.0|match:exact+fair|focus:predicted|seed:0|gold:3d30d341")
        'spanwise|v:0.2.0|focus:predicted|gold:3d30d341'
    """
    parts = [part for part in signature.split("|") if part not in _usual_parts()]
    return "|".join(part for part in map(_attributes, parts) if part)


def _attributes(part: str) -> str:
    """Reduce the attributes part to attributes with unusual buckets; leave other parts unchanged."""
    if not part.startswith(_ATTRIBUTES):
        return part
    unusual = [
        cut
        for cut in part.removeprefix(_ATTRIBUTES).split("]+")
        if f"{cut.rstrip(']')}]" not in _usual_cuts()
    ]
    return f"{_ATTRIBUTES}{']+'.join(unusual)}" if unusual else ""


def worded_findings(document: Document) -> list[str]:
    """The findings in words, each prefixed with its dataset if there are several."""
    datasets = document.datasets if isinstance(document, ScoreGrid) else {}
    return [
        f"{say.visible(name)}: {say.finding(row)}" if len(datasets) > 1 else say.finding(row)
        for name, part in datasets.items()
        for row in part.findings
    ]


# ---- one sentence per question, ready for a paper --------------------------------------------------


# The wording of the primary score in sentences.
_SCORES = {
    PRIMARY["f1"]: "F1",
    PRIMARY["precision"]: "points of precision",
    PRIMARY["recall"]: "points of recall",
    PRIMARY["macro"]: "macro F1",
    PRIMARY["fair"]: "fair F1",
}


def statements(document: Document, *, every: bool = False) -> list[str]:
    """The primary difference of every pair of systems, per dataset and over datasets, in words.

    Without pairs, the primary score of each system. With `every`, the scores of all systems as well, and
    all other scores that differ significantly.
    """
    if isinstance(document, Evaluation):
        sentences = _of_evaluation(document, every=every)
    else:
        from spanwise.document.study import Study

        sentences = _of_study(document, every=every) if isinstance(document, Study) else []
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
    score = say.study_score(analyses)
    for dataset, part in document.datasets.items():
        worded = [compared_statement(row, settings) for row in part.comparisons]
        if every:
            results = analyses.holistic.items()
            worded += [_over_runs(name, row[dataset], score) for name, row in results if dataset in row]
            worded += [text for row in part.comparisons for text in _others(row, settings)]
        sentences += [f"{say.visible(dataset)}: {text}" for text in worded if text]
    pairs = analyses.bucket_wise.comparative
    sentences += [_over_datasets(pair, len(pairs), settings) for pair in pairs]
    return [*sentences, _all_systems(analyses)]


def _scored(name: str, system: SystemScores, settings: Settings) -> str:
    """The primary score of one system with its interval."""
    primary = settings.primary or "f1"
    value, bounds = system.primary(primary), system.primary_ends(primary)
    if value is None or not bounds:
        return ""
    units = say.plural(settings.units, settings.unit)
    level = f"{100 * settings.confidence:g} %"
    within = f"[{_points(bounds[0])}, {_points(bounds[1])}]"
    return (
        f"{say.visible(name)} scores {_points(value)} {say.SCORED[primary]} {within}, "
        f"{level} logit-t interval over {units}{_blocks(settings)}."
    )


def _over_runs(name: str, result: MainResult, score: str) -> str:
    """The mean score of one system over its runs, with its interval and spread."""
    if result.mean is None:
        return ""
    bounds = result.ends("mean")
    within = f" [{_points(bounds[0])}, {_points(bounds[1])}]" if bounds else ""
    spread = f" (s = {_points(result.std)})" if result.std is not None else ""
    runs = f", mean over {result.runs} runs{spread}" if result.runs > 1 else ", one run"
    return f"{say.visible(name)} scores {_points(result.mean)} {score}{within}{runs}."


def _all_systems(analyses: Analyses) -> str:
    """Friedman's test of all systems over datasets."""
    test = analyses.over_datasets
    if not test or test.p is None:
        return ""
    systems, datasets = f"the {len(analyses.holistic)} systems", say.plural(test.datasets, "dataset")
    if not decides(test):
        return f"{say.capital(datasets)} are too few to tell {systems} apart by Friedman's test."
    verb = "differ" if test.significant else "cannot be told apart"
    return f"{say.capital(systems)} {verb}, Friedman's test over {datasets}, p {_p(test.p)}."


def _others(comparison: Comparison, settings: Settings | StudySettings) -> list[str]:
    """The non-primary scores of one pair that differ significantly, in words."""
    corrected = "Holm" if (comparison.test or "").startswith("t-test") else "Westfall-Young"
    if (comparison.correction or settings.correction) == "bh":
        corrected = "Benjamini-Hochberg"
    sentences = []
    for test in comparison.scores:
        if test.role == "primary" or not test.significant or test.difference is None:
            continue
        if test.path[:2] == ("attributes", "label"):  # repeats the scores of the labels
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
    """The difference in the primary score between two systems and how it was tested; empty if it was not.

    Examples:
        >>> test = ScoreTest(path=PRIMARY["f1"], difference=0.027, interval=(0.011, 0.043), p=0.0007,
        ...     p_corrected=0.002, significant=True, units=107)
        >>> comparison = Comparison(systems=("a", "b"), scores=(test,), test="t-test over runs", runs=(5, 5),
        ...     pairs=3, correction="holm")
        >>> compared_statement(comparison, usual_settings(unit="document"))
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
    """The difference in words, the better system first."""
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
    named = say.CORRECTIONS.get(correction or "", "")
    return f"{named} over {tests} pairs" if named and tests > 1 else ""


def _p(p: float) -> str:
    digits = 4 if 0.0495 <= p < 0.05 else 3  # a p-value below the level must not round up to it
    return "< .001" if p < 0.001 else f"= {p:.{digits}f}".replace("0.", ".", 1)


def _over_datasets(pair: PairDiagnosis, tests: int, settings: StudySettings) -> str:
    """The difference tested over datasets, and on how many of them it holds by itself."""
    test = pair.over_datasets
    difference = given(test.difference) if test else None
    if not test or difference is None or test.datasets < 2:
        return ""
    score = _SCORES[PRIMARY[settings.primary or "f1"]]
    alone = f"it holds by itself on {test.holds or 0} of {test.datasets} datasets"
    p = given(test.p_corrected)
    if p is None or not decides(test):
        return f"{_difference(pair.systems, difference, None, score, significant=True)} on average; {alone}."
    worded = _difference(pair.systems, difference, None, score, significant=bool(test.significant))
    parts = [
        f"{worded} on average",
        f"Wilcoxon over {test.datasets} datasets",
        _corrected(settings.correction, tests),
        f"p {_p(p)}",
    ]
    return ", ".join(part for part in parts if part) + f"; {alone}."
