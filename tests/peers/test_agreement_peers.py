"""Token measures equal those of krippendorff, nltk, statsmodels and scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from annotators import Case, by_annotator, campaign

import spanwise

SEEDS = range(15)


def table(case: Case, names: list[str]) -> list[list[str | None]]:
    """The label of every token by annotator; None where the annotator did not get the document."""
    text, work = case
    rows: list[list[str | None]] = []
    for name in names:
        row: list[str | None] = []
        for document, spans in zip(text, work[name], strict=True):
            for number, sentence in enumerate(document):
                labels: list[str | None] = [None if spans is None else "O"] * len(sentence)
                for start, end, label in spans[number] if spans is not None else ():
                    labels[start:end] = [label] * (end - start)
                row += labels
        rows.append(row)
    return rows


def prepared(seed: int, missing: float) -> tuple[Any, list[str], list[list[str | None]]]:
    case = campaign(seed, annotators=4, documents=6, missing=missing)
    given = by_annotator(case)
    if len(given) < 2:
        pytest.skip("nobody to compare")
    return spanwise.agree(given), list(given), table(case, list(given))


@pytest.mark.parametrize("seed", SEEDS)
def test_alpha_equals_that_of_krippendorff_with_missing_data(seed: int) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    agreement, _, rows = prepared(seed, 0.3)
    codes = {"O": 0, "LOC": 1, "ORG": 2, "PER": 3}
    data = np.array([[np.nan if value is None else codes[value] for value in row] for row in rows])
    assert agreement.tokens.alpha == pytest.approx(
        krippendorff.alpha(reliability_data=data, level_of_measurement="nominal"), abs=1e-12
    )
    marked = np.nanmax(np.where(np.isnan(data), -1, data), axis=0) > 0
    assert agreement.tokens.alpha_marked == pytest.approx(
        krippendorff.alpha(reliability_data=data[:, marked], level_of_measurement="nominal"), abs=1e-12
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_alpha_equals_that_of_nltk(seed: int) -> None:
    agreement = pytest.importorskip("nltk.metrics.agreement")
    result, names, rows = prepared(seed, 0.0)
    data = [(name, at, value) for name, row in zip(names, rows, strict=True) for at, value in enumerate(row)]
    assert result.tokens.alpha == pytest.approx(agreement.AnnotationTask(data=data).alpha(), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_fleiss_equals_that_of_statsmodels(seed: int) -> None:
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    agreement, _, rows = prepared(seed, 0.3)
    whole = [column for column in zip(*rows, strict=True) if None not in column]
    if not whole:
        assert agreement.tokens.fleiss is None
        return
    labels = sorted({value for column in whole for value in column if value})
    counts = np.array([[column.count(label) for label in labels] for column in whole])
    assert agreement.tokens.fleiss == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_cohen_equals_that_of_scikit_learn(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    agreement, names, rows = prepared(seed, 0.3)
    by_name = dict(zip(names, rows, strict=True))
    for pair in agreement.tokens.cohen:
        first, second = (by_name[name] for name in pair.annotators)
        pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
        if not pairs:
            assert pair.kappa is None
            continue
        expected = metrics.cohen_kappa_score([a for a, _ in pairs], [b for _, b in pairs])
        assert pair.kappa == pytest.approx(expected, abs=1e-12)


def test_gamma_equals_that_of_pygamma_agreement() -> None:
    package = pytest.importorskip("pygamma_agreement")
    core = pytest.importorskip("pyannote.core")
    text = [["x"] * 40]
    rows = {
        "a": [(0, 3, "PER"), (10, 12, "LOC"), (20, 25, "ORG")],
        "b": [(0, 3, "PER"), (11, 12, "LOC"), (30, 33, "ORG")],
    }
    agreement = spanwise.agree(
        {name: spanwise.read([spans], tokens=text) for name, spans in rows.items()}, gamma=True
    ).gamma
    continuum = package.Continuum()
    for name, spans in rows.items():
        for start, end, label in spans:
            continuum.add(name, core.Segment(start, end), label)
    np.random.seed(0)
    value = continuum.compute_gamma(package.CombinedCategoricalDissimilarity()).gamma
    assert agreement is not None and list(agreement.values()) == [pytest.approx(value, abs=1e-12)]
    assert 0 < value < 1
