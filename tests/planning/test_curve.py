"""Learning curves: the fit against SciPy, the band by hand and in simulations, sizes, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

import spanwise
from spanwise.columns import Floats, floats
from spanwise.curves import band, fit
from spanwise.document.evaluation import Evaluation
from spanwise.document.planning import LearningCurve
from spanwise.errors import ChoiceError, InputError

GOLD = [["B-PER", "O"]] * 200


def scored(missing: int, *, name: str = "crf", gold: list[list[str]] = GOLD, **tags: str) -> Evaluation:
    predicted = [["O", "O"]] * missing + gold[missing:]
    return spanwise.evaluate(gold, {name: predicted}, resamples=0, tags=tags)


def results(name: str = "crf") -> dict[int, Evaluation]:
    return {
        size: scored(missing, name=name) for size, missing in ((100, 90), (200, 60), (400, 40), (800, 30))
    }


def oracle(sizes: Floats, scores: Floats) -> Floats:
    """The best of many constrained fits by SciPy, as a, b·n₁^(−c) and c."""

    def residuals(law: Floats) -> Floats:
        return floats(law[0] - law[1] * (sizes / sizes[0]) ** -law[2] - scores)

    bounds = ([-np.inf, 0, 1e-3], [1, np.inf, 30])
    starts = [[limit, 0.3, c] for limit in (0.5, 0.99) for c in (0.01, 0.1, 0.5, 1, 3)]
    fits = [
        optimize.least_squares(residuals, start, bounds=bounds, xtol=1e-15, ftol=1e-15, gtol=1e-15)
        for start in starts
    ]
    return floats(min(fits, key=lambda one: one.cost).x)


@settings(max_examples=25, deadline=None)
@given(
    scores=st.lists(st.floats(0.01, 1), min_size=4, max_size=7),
    growing=st.booleans(),
)
def test_no_constrained_fit_is_better(scores: list[float], growing: bool) -> None:
    means = floats(sorted(scores) if growing else scores)
    sizes = floats([100 * 2**at for at in range(len(means))])
    law, (limit, drop, exponent) = fit(sizes, means), oracle(sizes, means)
    assert law.limit <= 1 and law.drop >= 0 and law.exponent > 0
    best = ((limit - drop * (sizes / sizes[0]) ** -exponent - means) ** 2).sum()
    own = ((law.limit - law.drop * (sizes / sizes[0]) ** -law.exponent - means) ** 2).sum()
    assert own <= best + 1e-9


@pytest.mark.parametrize(
    ("a", "b", "c"), [(0.9, 20.0, 1.0), (0.95, 3.0, 0.4), (1.0, 1.5, 0.2), (0.5, 0.2, 0.1)]
)
def test_a_power_law_is_recovered(a: float, b: float, c: float) -> None:
    sizes = floats([100, 250, 700, 1500, 4000])
    law = fit(sizes, floats(a - b * sizes**-c))
    assert (law.limit, law.drop * 100**c, law.exponent) == pytest.approx((a, b, c), rel=1e-4)


def test_scores_that_fall_are_fitted_by_their_mean() -> None:
    law = fit(floats([1, 2, 3, 4]), floats([0.8, 0.7, 0.7, 0.6]))
    assert law.drop == 0 and law.limit == pytest.approx(0.7)


def test_the_band_is_the_jackknife_over_sizes() -> None:
    sizes, scores = floats([100, 200, 400, 800, 1600]), floats([0.5, 0.62, 0.68, 0.74, 0.75])
    others = []
    for left_out in range(5):
        kept = [at for at in range(5) if at != left_out]
        limit, drop, exponent = oracle(sizes[kept], scores[kept])
        others.append(limit - drop * (2000 / sizes[kept][0]) ** -exponent)
    error = np.sqrt(4 / 5 * ((np.asarray(others) - np.mean(others)) ** 2).sum())
    limit, drop, exponent = oracle(sizes, scores)
    middle = limit - drop * (2000 / 100) ** -exponent
    half = stats.t.ppf(0.975, 2) * error
    assert band(sizes, scores, floats([2000]))[0] == pytest.approx((middle - half, middle + half), abs=1e-5)


@pytest.mark.parametrize("number", [4, 5, 6, 8])
def test_the_band_holds_the_curve_at_twice_the_largest_size(number: int) -> None:
    """F1 with noise of 0.8 points around a power law; 60 draws, so that 95 % means at least 51."""
    draw = np.random.default_rng(number)
    sizes = floats([100 * 2**at for at in range(number)])
    ends = floats([sizes[-1], 2 * sizes[-1]])
    truth = 0.9 - 2 * ends**-0.3
    held = np.zeros(2)
    for _ in range(60):
        bands = np.asarray(band(sizes, floats(0.9 - 2 * sizes**-0.3 + draw.normal(0, 0.008, number)), ends))
        held += (bands[:, 0] <= truth) & (truth <= bands[:, 1])
    assert (held >= 51).all()


def test_results_of_one_size_are_averaged() -> None:
    several: dict[int, Evaluation | list[Evaluation]] = {**results(), 100: [scored(80), scored(100)]}
    first = spanwise.curve(several).systems["crf"].points[0]
    f1 = [scored(missing)["crf"].exact.overall.f1 or 0 for missing in (80, 100)]
    assert first.results == 2 and first.f1 == pytest.approx(sum(f1) / 2)


def test_nothing_is_predicted_beyond_twice_the_largest_size() -> None:
    points = spanwise.curve(results(), at=[900, 1600]).systems["crf"].points
    assert [point.size for point in points] == [100, 200, 400, 800, 900, 1200, 1600]
    assert [point.f1 is None for point in points] == [False] * 4 + [True] * 3
    for number in (99, 1601, 0, -1):
        with pytest.raises(ChoiceError, match=r"100 to 1600"):
            spanwise.curve(results(), at=[number])


def test_sizes_are_read_from_tags_and_from_names(tmp_path: Path) -> None:
    for size, missing in ((100, 90), (200, 60), (400, 40), (800, 30)):
        scored(missing, size=str(size), amount=str(10 * size)).to_json(tmp_path / f"crf-{size}-a.json")
    (tmp_path / "other.json").write_text(spanwise.describe(GOLD).to_json(), encoding="utf-8")
    by_tag = spanwise.curve(tmp_path).systems["crf"]
    assert spanwise.curve(tmp_path, size="crf-{size}-*.json").systems["crf"] == by_tag
    assert spanwise.curve(sorted(tmp_path.glob("crf*"))).systems["crf"] == by_tag
    assert spanwise.curve(results()).systems["crf"] == by_tag
    other = spanwise.curve(tmp_path, size="amount").systems["crf"]
    assert [point.size for point in other.points] == [10 * point.size for point in by_tag.points]
    assert [point.f1 for point in other.points] == [point.f1 for point in by_tag.points]
    fitted = [point.fitted or 0 for point in by_tag.points]
    assert [point.fitted or 0 for point in other.points] == pytest.approx(fitted)


def test_every_surface_shows_the_curve(tmp_path: Path) -> None:
    document = spanwise.curve(results())
    text = " ".join(document.to_text(width=100).split())
    assert "Twice the training data (1,600) would give crf" in text and "predicted" in text
    page = document.to_html()
    assert page.count("<svg") >= 1 and "Twice the training data" in page
    saved = tmp_path / "curve.json"
    document.to_json(saved)
    loaded = spanwise.load(saved)
    assert isinstance(loaded, LearningCurve) and loaded == document
    assert document.table("curve").to_markdown().count("crf") == 6
    assert list(document.figures()) == ["curve"]


def test_scores_that_do_not_grow_are_said_not_to() -> None:
    same = {size: scored(50) for size in (1, 2, 3, 4)}
    document = spanwise.curve(same)
    assert document.systems["crf"].c is None
    assert "does not grow with the training data" in " ".join(document.to_text(width=100).split())


def test_three_sizes_are_too_few() -> None:
    with pytest.raises(InputError, match="at least 4"):
        spanwise.curve({size: result for size, result in results().items() if size < 800})


def test_results_over_other_gold_data_are_refused() -> None:
    other = scored(1, gold=[["B-ORG", "O"]] * 200)
    with pytest.raises(InputError, match="gold data differ"):
        spanwise.curve({**results(), 1600: other})
