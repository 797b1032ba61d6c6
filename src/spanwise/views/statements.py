"""One sentence per question, ready for a paper, and the names of the tests behind a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from spanwise.document import Document, Settings, given
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import Comparison, ScoreTest, SystemScores, primary_name
from spanwise.views import sentences, wording
from spanwise.views.standing import alone_words, decides, family_of, tested_in

if TYPE_CHECKING:
    from spanwise.document.study import (
        Analyses,
        DatasetTest,
        MainResult,
        PairDiagnosis,
        Study,
        StudySettings,
    )


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


def compared_statement(comparison: Comparison, settings: Settings | StudySettings, family: str = "") -> str:
    """Which of two systems is better in the primary score, and how that was tested; empty if it was not."""
    return sentences.compared_sentence(comparison, settings, score_tested(comparison.primary), family)


def score_tested(test: ScoreTest | None) -> str:
    """The primary score of a test in words, as they follow a number."""
    return "F1" if test is None else wording.DIFFERENCES[primary_name(test.path)]


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
    score = wording.study_score(analyses)
    for dataset, part in document.datasets.items():
        worded = [compared_statement(row, settings, family) for row in part.comparisons]
        if every:
            results = analyses.holistic.items()
            worded += [_over_runs(name, row[dataset], score) for name, row in results if dataset in row]
            worded += [text for row in part.comparisons for text in _others(row, settings)]
        result += [f"{wording.visible(dataset)}: {text}" for text in worded if text]
    result += over_datasets(document).values()
    untested = analyses.family.untested if analyses.family else ()
    if untested:
        names = ", ".join(
            f"{wording.visible(first)} and {wording.visible(second)}" for first, second in untested
        )
        result.append(f"Not tested: {names}.")
    return [*result, _all_systems(analyses)]


def _scored(name: str, system: SystemScores, settings: Settings) -> str:
    """The primary score of one system with its interval."""
    primary = settings.primary or "f1"
    value, bounds = system.primary(primary), system.primary_ends(primary)
    if value is None or not bounds:
        return ""
    units = wording.plural(settings.units, settings.unit)
    level = f"{100 * settings.confidence:g} %"
    within = f"[{_points(bounds[0])}, {_points(bounds[1])}]"
    return (
        f"{wording.visible(name)} scores {_points(value)} {wording.SCORED[primary]} {within}, "
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
    return f"{wording.visible(name)} scores {_points(result.mean)} {score}{within}{runs}."


def _all_systems(analyses: Analyses) -> str:
    """Friedman's test of all systems over datasets."""
    test = analyses.over_datasets
    if not test or test.p is None:
        return ""
    systems, datasets = f"the {len(analyses.holistic)} systems", wording.plural(test.datasets, "dataset")
    if not decides(test):
        return f"{wording.capital(datasets)} are too few to tell {systems} apart by Friedman's test."
    verb = "differ" if test.significant else "cannot be told apart"
    chance = sentences.sentence_p(test.p)
    return f"{wording.capital(systems)} {verb}, Friedman's test over {datasets}, p {chance}."


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
            sentences.better_in(comparison.systems, test, wording.path_title(test.path)),
            sentences.worded_test(shared, test, settings),
            f"{corrected} over {wording.count(comparison.tests or 1)} scores",
            f"p {sentences.sentence_p(test.p_corrected)}",
        ]
        result.append(", ".join(parts) + "; the interval is not corrected.")
    return result


def _points(value: float | None) -> str:
    return wording.points(value or 0.0)


def out_of_reach(test: DatasetTest) -> str:
    """That a test over datasets cannot decide, with the number of datasets; empty if it can."""
    return "" if decides(test) else f"n/a ({wording.plural(test.datasets, 'dataset')})"


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
    score = wording.DIFFERENCES[settings.primary or "f1"]
    by_itself = alone_words(study, pair, test.datasets)
    p = given(test.p_corrected)
    names = " and ".join(map(wording.visible, pair.systems))
    if p is None or not decides(test):
        ahead = wording.visible(pair.systems[0 if difference > 0 else 1])
        by = wording.points(abs(difference), places)
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
