"""F-beta is what its definition says, wherever exact scores stand, and documents keep it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import fbeta_score

import spanwise
from spanwise.demo import generate
from spanwise.document.evaluation import Evaluation
from spanwise.document.loading import document_of, load
from spanwise.errors import ChoiceError
from spanwise.rates import Rate, f_beta, is_rate, rate
from spanwise.scores import exact, exact_sizes

COUNT = st.integers(0, 50)


@settings(derandomize=True, deadline=None)
@given(COUNT, COUNT, COUNT, st.sampled_from([1e-300, 1e-6, 0.5, 1, 1.5, 2, 3, 999, 1e3, 1e6, 1e300]))
def test_f_beta_equals_its_definition(right: int, false: int, missed: int, beta: float) -> None:
    gold, predicted = right + missed, right + false
    name = f_beta(beta).name
    value = exact(np.array([[gold, predicted, right]], dtype=np.float64), [name])[name][0]
    square = Fraction(beta) ** 2
    below = square * gold + predicted
    if below == 0:
        assert np.isnan(value)
        return
    assert value == pytest.approx(float((1 + square) * right / below), rel=1e-15, abs=1e-300)
    sizes = exact_sizes(np.array([[gold, predicted, right]], dtype=np.float64), [name])
    assert sizes[name][0] == pytest.approx(float(below / (1 + square)), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    ("beta", "name"),
    [(1e6, "f1000000"), (1e-5, "f0.00001"), (1234.5, "f1234.5"), (2, "f2"), (1e15, "f1" + 15 * "0")],
)
def test_f_beta_has_a_plain_name_by_which_it_is_found(beta: float, name: str) -> None:
    assert f_beta(beta).name == name and is_rate(name) and rate(name) == f_beta(beta)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40), st.sampled_from([0.5, 2]))
def test_f_beta_equals_that_of_scikit_learn(pairs: list[tuple[bool, bool]], beta: float) -> None:
    gold, predicted = zip(*pairs, strict=True)
    if not any(gold) and not any(predicted):
        return
    counts = [[sum(gold), sum(predicted), sum(g and p for g, p in pairs)]]
    name = f_beta(beta).name
    ours = exact(np.array(counts, dtype=np.float64), [name])[name][0]
    assert ours == pytest.approx(fbeta_score(gold, predicted, beta=beta, zero_division=0.0))


def test_f_beta_stands_beside_f1_in_every_exact_score_and_survives_saving(tmp_path: Path) -> None:
    generate(tmp_path)
    files = tmp_path / "gold.conll", [tmp_path / "swapper.conll", tmp_path / "memoriser.conll"]
    result = spanwise.evaluate(*files, beta=[2, 0.5], resamples=100)
    document = result.to_dict()
    assert document["settings"]["beta"] == [0.5, 2.0]
    system = document["systems"]["swapper"]
    cells = [system["exact"]["overall"], *system["exact"]["labels"].values()]
    cells += [bucket for table in system["attributes"].values() for bucket in table["buckets"]]
    for cell in cells:
        if cell["gold"] + cell["predicted"]:
            expected = 5 * cell["correct"] / (4 * cell["gold"] + cell["predicted"])
            assert cell["f2"] == pytest.approx(expected, rel=1e-15)
            assert "f0.5" in cell
            assert "more" not in cell
    assert "f2" in system["exact"]["macro"]
    assert {row["path"][-1] for row in document["comparisons"][0]["scores"]} >= {"f2", "f0.5"}
    path = tmp_path / "result.json"
    result.to_json(path)
    loaded = load(path)
    assert loaded.encoded() == path.read_bytes()
    assert document_of(document).to_dict() == document
    assert isinstance(loaded, Evaluation)
    assert loaded.systems["swapper"].exact.overall["f2"] == system["exact"]["overall"]["f2"]


def test_a_primary_f_beta_needs_no_other_option(tmp_path: Path) -> None:
    generate(tmp_path)
    files = tmp_path / "gold.conll", [tmp_path / "swapper.conll", tmp_path / "memoriser.conll"]
    result = spanwise.evaluate(*files, primary="f2", resamples=100)
    assert result.settings.beta == (2.0,)
    primary = result.comparisons[0].primary
    assert primary is not None
    assert primary.path == ("exact", "overall", "f2")
    difference = [system.exact.overall["f2"] for system in result.systems.values()]
    assert primary.difference == pytest.approx(difference[0] - difference[1])
    one = spanwise.evaluate(*files, primary="f1", beta=1)
    assert "beta" not in one.to_dict()["settings"]


@pytest.mark.parametrize("beta", [0, -1, "2", True, float("nan"), float("inf")])
def test_a_beta_must_be_a_number_above_zero(beta: object) -> None:
    with pytest.raises(ChoiceError, match="must be a finite number above 0"):
        f_beta(beta)  # type: ignore[arg-type]


@pytest.mark.parametrize("above", [(0.0, 0.0, 1.0), (1.0, 1.0, 0.0), (0.0, 0.0, 0.0)])
def test_a_score_that_is_higher_for_more_errors_is_refused(above: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="must count right mentions above the line, and no errors"):
        Rate("miss_rate", "miss rate", above=above, below=(1.0, 0.0, 1.0))
