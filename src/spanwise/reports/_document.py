"""Lookups that several reports share: rankings, links, short signatures, and sentences for a paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from msgspec import UNSET
from msgspec.structs import replace

from spanwise.document import Document, Settings, given, usual_settings
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import SCORE_PATHS, Comparison, ScoreTest, SystemScores, primary_name
from spanwise.settings import SETTINGS, default_value
from spanwise.statistics import LEVEL
from spanwise.views import sentences as sentences
from spanwise.views import wording as say
from spanwise.views.standing import alone_words, decides, family_of, tested_in, tested_on
from spanwise.views.wording import attribute, defined, tough, visible

if TYPE_CHECKING:
    from spanwise.document.study import (
        Analyses,
        AttributeWise,
        DatasetTest,
        MainResult,
        ModelWise,
        PairDiagnosis,
        RankedSlice,
        RankFlip,
        Study,
        StudySettings,
    )

Key = TypeVar("Key", bound=str)
Value = TypeVar("Value")


# ---- what the tests of one dataset allow to be said ------------------------------------------------


def named_test(document: Document) -> str:
    """The tests and the correction behind the letters of a document; empty if there are none."""
    if isinstance(document, Evaluation):
        return sentences.named_test(document.comparisons, document.settings) if document.comparisons else ""
    from spanwise.document.study import Study

    if not isinstance(document, Study):
        return ""
    return sentences.named_test(tested_in(document).comparisons, document.settings, family_of(document))


def others_corrected(document: Document) -> str:
    """How all scores but the primary one are corrected, where systems were compared; else empty."""
    from spanwise.document.study import Study

    if not isinstance(document, Evaluation | Study):
        return ""
    tests = [row for part in document.datasets.values() for row in part.comparisons]
    return " or ".join(dict.fromkeys(sentences.corrected_beside(row, document.settings) for row in tests))


def reversals(study: Study) -> list[RankFlip]:
    """The slices in which the order of two systems reverses, if both directions are significant.

    A slice's p-value is corrected over all other scores of its dataset, and by the number of datasets.
    """
    datasets = len(study.datasets) if family_of(study) == "study" else 1
    flips = []
    for flip in study.analyses.bucket_wise.rank_flips:
        tests = tested_on(study, flip.dataset)
        if (flip.overall, flip.here) not in tests.better:
            continue
        path = _slice_path(flip)
        for row in tests.comparisons:
            test = row.score(path) if set(row.systems) == {flip.overall, flip.here} else None
            if test is None or test.p_corrected is None or not test.difference or not test.significant:
                continue
            winner = row.systems[0 if test.difference > 0 else 1]
            if winner == flip.here and test.p_corrected * datasets < LEVEL:
                flips.append(flip)
    return flips


def _slice_path(row: RankedSlice) -> tuple[str, ...]:
    """The path, in comparisons, of the score of a slice."""
    score = row.score.removeprefix("fair_")
    if row.kind == "label":
        return ("fair" if score != row.score else "exact", "labels", row.name, score)
    if row.kind == "tough":
        return ("tough", row.name, "overall", "recall")
    return ("attributes", row.attribute or "", row.name, score)


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


def differing(cell: ModelWise | AttributeWise) -> float | None:
    """The p-value of the test that buckets differ, over units; None if they could not be tested."""
    return cell.buckets_differ.p if cell.buckets_differ else None


def greyed(cell: ModelWise | AttributeWise) -> bool:
    """Whether the buckets of an attribute cannot be told apart, or could not be tested."""
    p = differing(cell)
    return p is None or not p < LEVEL


def score_path(analyses: Analyses) -> tuple[str, ...]:
    """The path, in comparisons, of the score that a study is about."""
    return SCORE_PATHS[analyses.score or "f1"]


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


# ---- links from a number to the mentions it counts, which the script of the page parses ------------


# What examples can be filtered by, in the order of the address; `of` is the number that was clicked.
KEYS = (
    "unit", "system", "outcome", "gold", "predicted", "attribute", "bucket", "tough", "where", "pattern",
    "over", "of",
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


# ---- one sentence per question, ready for a paper --------------------------------------------------


def compared_statement(comparison: Comparison, settings: Settings | StudySettings, family: str = "") -> str:
    """Which of two systems is better in the primary score, and how that was tested; empty if it was not."""
    return sentences.compared_sentence(comparison, settings, score_tested(comparison.primary), family)


def score_tested(test: ScoreTest | None) -> str:
    """The primary score of a test in words, as they follow a number."""
    return "F1" if test is None else say.DIFFERENCES[primary_name(test.path)]


def statements(document: Document, *, every: bool = False) -> list[str]:
    """The primary difference of every pair of systems, per dataset and over datasets, in words.

    Without pairs, the primary score of each system. With `every`, the scores of all systems as well, and
    all other scores that differ significantly.
    """
    if isinstance(document, Evaluation):
        worded = _of_evaluation(document, every=every)
    else:
        from spanwise.document.study import Study

        worded = _of_study(document, every=every) if isinstance(document, Study) else []
    return [text for text in worded if text]


def _of_evaluation(document: Evaluation, *, every: bool) -> list[str]:
    settings, comparisons = document.settings, document.comparisons
    worded = [compared_statement(row, settings) for row in comparisons]
    if every or not comparisons:
        worded += [_scored(name, system, settings) for name, system in document.systems.items()]
    if every:
        worded += [text for row in comparisons for text in _others(row, settings)]
    return worded


def _of_study(document: Study, *, every: bool) -> list[str]:
    settings, analyses, family = document.settings, document.analyses, family_of(document)
    result = []
    score = say.study_score(analyses)
    for dataset, part in document.datasets.items():
        worded = [compared_statement(row, settings, family) for row in part.comparisons]
        if every:
            results = analyses.holistic.items()
            worded += [_over_runs(name, row[dataset], score) for name, row in results if dataset in row]
            worded += [text for row in part.comparisons for text in _others(row, settings)]
        result += [f"{say.visible(dataset)}: {text}" for text in worded if text]
    result += over_datasets(document).values()
    untested = analyses.family.untested if analyses.family else ()
    if untested:
        names = ", ".join(f"{say.visible(first)} and {say.visible(second)}" for first, second in untested)
        result.append(f"Not tested: {names}.")
    return [*result, _all_systems(analyses)]


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
        f"{level} logit-t interval over {units}{sentences.blocks(settings)}."
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
    return (
        f"{say.capital(systems)} {verb}, Friedman's test over {datasets}, p {sentences.sentence_p(test.p)}."
    )


def _others(comparison: Comparison, settings: Settings | StudySettings) -> list[str]:
    """The non-primary scores of one pair that differ significantly, in words."""
    over_runs = (comparison.test or "").startswith("t-test")
    corrected = sentences.corrected_beside(comparison, settings)
    # These scores are never tested by all swaps, and how many shuffles they share is not recorded.
    shared = comparison if over_runs else replace(comparison, test=UNSET, shuffles=UNSET)
    result = []
    for test in comparison.scores:
        if test.role == "primary" or not test.significant or test.difference is None:
            continue
        if test.path[:2] == ("attributes", "label"):  # repeats the scores of the labels
            continue
        parts = [
            sentences.better_in(comparison.systems, test, say.path_title(test.path)),
            sentences.worded_test(shared, test, settings),
            f"{corrected} over {say.count(comparison.tests or 1)} scores",
            f"p {sentences.sentence_p(test.p_corrected)}",
        ]
        result.append(", ".join(parts) + "; the interval is not corrected.")
    return result


def _points(value: float | None) -> str:
    return say.points(value or 0.0)


def out_of_reach(test: DatasetTest) -> str:
    """That a test over datasets cannot decide, with the number of datasets; empty if it can."""
    return "" if decides(test) else f"n/a ({say.plural(test.datasets, 'dataset')})"


def over_datasets(study: Study, *, places: int = 1) -> dict[tuple[str, str], str]:
    """For every pair, the sentence about its difference over datasets; empty if there is none."""
    pairs = study.analyses.bucket_wise.comparative
    return {pair.systems: _over_datasets(study, pair, len(pairs), places) for pair in pairs}


def _over_datasets(study: Study, pair: PairDiagnosis, tests: int, places: int) -> str:
    """The difference tested over datasets, and on how many of them each system is better by itself."""
    test, settings = pair.over_datasets, study.settings
    difference = given(test.difference) if test else None
    if not test or difference is None or test.datasets < 2:
        return ""
    score = say.DIFFERENCES[settings.primary or "f1"]
    by_itself = alone_words(study, pair, test.datasets)
    p = given(test.p_corrected)
    names = " and ".join(map(say.visible, pair.systems))
    if p is None or not decides(test):
        ahead = say.visible(pair.systems[0 if difference > 0 else 1])
        by = say.points(abs(difference), places)
        return (
            f"Over datasets, {names}: {ahead} is ahead by {by} {score} on average;"
            f" {test.datasets} datasets are too few for Wilcoxon's test; {by_itself}."
        )
    worded = sentences.better_by(
        pair.systems, difference, None, score, significant=bool(test.significant), places=places
    )
    parts = [
        f"Over datasets, {worded} on average",
        f"Wilcoxon over {test.datasets} datasets",
        sentences.corrected(settings.correction, tests),
        f"p {sentences.sentence_p(p)}",
    ]
    return ", ".join(part for part in parts if part) + f"; {by_itself}."
