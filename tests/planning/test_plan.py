"""Plans: their laws, their figures by hand, and their power against simulated comparisons."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from simulated_judge import JUDGES, population, sample_of

import spanwise
from spanwise.document.evaluation import Evaluation
from spanwise.document.planning import PlanDocument
from spanwise.errors import ChoiceError, InputError
from spanwise.planning import plan
from spanwise.silver import difference
from spanwise.silver._estimate import Combined

UNITS, ALL = 60, 400


def tags(draw: np.random.Generator, sentences: int, errors: float) -> list[list[str]]:
    """Sentences of four tokens, of which some mentions are not found."""
    return [["O" if draw.random() < errors else "B-X", "O", "B-Y", "O"] for _ in range(sentences)]


def evaluated(seed: int = 0, *, judge: bool = False, systems: int = 2) -> Evaluation:
    draw = np.random.default_rng(seed)
    number = ALL if judge else UNITS
    tokens = [[f"{at}-{word}" for word in range(4)] for at in range(number)]
    gold = [["B-X", "O", "B-Y", "O"]] * number
    predicted = {
        name: spanwise.read(tags(draw, number, share), tokens=tokens)
        for name, share in (("a", 0.2), ("b", 0.4), ("c", 0.5))[:systems]
    }
    if not judge:
        return spanwise.evaluate(spanwise.read(gold, tokens=tokens), predicted, resamples=200)
    chosen = np.sort(draw.choice(ALL, UNITS, replace=False)).tolist()
    part = spanwise.read([gold[at] for at in chosen], tokens=[tokens[at] for at in chosen])
    silver = spanwise.read(tags(draw, number, 0.1), tokens=tokens)
    return spanwise.evaluate(part, predicted, silver=silver, random_sample=True, resamples=200)


def width(ends: tuple[float | None, float | None] | None) -> float:
    assert ends is not None and ends[0] is not None and ends[1] is not None
    return ends[1] - ends[0]


def test_the_first_row_is_what_the_result_says() -> None:
    result = evaluated(judge=True)
    planned = plan(result)
    scores = result.systems["a"].silver
    assert scores and planned.settings.units == UNITS and planned.settings.all == ALL
    now = planned.systems["a"].rows[0]
    assert now.units == UNITS and now.width == pytest.approx(width(scores.gold_only.interval["f1"]))
    assert now.width_judge == pytest.approx(width(scores.combined.interval["f1"]))
    assert planned.pairs[0].rows[0].detectable == pytest.approx(result.comparisons[0].detectable)
    test = result.comparisons[0].silver
    assert test and test.interval is not None
    error = width(test.interval) / 2 / 2.000995  # t with 59 degrees of freedom
    assert planned.pairs[0].rows[0].detectable_judge == pytest.approx(2.801585 * error, rel=1e-5)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), points=st.floats(0.005, 0.3))
def test_more_units_never_hurt(seed: int, points: float) -> None:
    planned = plan(evaluated(seed), difference=points)
    for own in planned.systems.values():
        widths = [row.width for row in own.rows if row.width is not None]
        assert widths == sorted(widths, reverse=True)
    pair = planned.pairs[0]
    found = [row.detectable for row in pair.rows if row.detectable is not None]
    power = [row.power for row in pair.rows if row.power is not None]
    assert found == sorted(found, reverse=True) and power == sorted(power)
    for row in pair.rows:
        if row.detectable is not None and row.power is not None:
            assert (row.power >= 0.8) == (row.detectable <= points * (1 + 1e-9))


def test_errors_shrink_with_the_root_of_the_number_of_units() -> None:
    planned = plan(evaluated(3))
    rows = {row.units: row.detectable for row in planned.pairs[0].rows}
    first, fourfold = rows[UNITS], rows[4 * UNITS]
    assert first is not None and fourfold == pytest.approx(first / 2)


def test_the_needed_number_is_the_least_that_finds_the_difference() -> None:
    result = evaluated(1)
    now = result.comparisons[0].detectable
    assert isinstance(now, float)
    asked = now / sqrt(3.3)
    needed = plan(result, difference=asked).pairs[0].needed
    assert needed is not None and now * sqrt(UNITS / needed) <= asked < now * sqrt(UNITS / (needed - 1))
    assert plan(result, difference=now * 1.01).pairs[0].needed == UNITS
    assert plan(result, difference=now / 4.1).pairs[0].needed is None  # beyond 16 times as many


def test_with_a_judge_only_the_first_part_of_the_variance_shrinks() -> None:
    result = evaluated(2, judge=True)
    test = result.comparisons[0].silver
    assert test and isinstance(test.within, float) and isinstance(test.shared, float)
    rows = {row.units: row.detectable_judge for row in plan(result).pairs[0].rows}
    reach = norm.ppf(0.975) + norm.ppf(0.8)
    assert rows[240] == pytest.approx(reach * sqrt(test.within / 240 + test.shared / ALL))
    assert rows[480] is None  # the judge annotated 400 units


def test_the_level_is_corrected_over_pairs() -> None:
    planned = plan(evaluated(4, systems=3))
    assert planned.settings.pairs == 3 and len(planned.pairs) == 3
    result = evaluated(4, systems=3)
    for pair, row in zip(planned.pairs, result.comparisons, strict=True):
        assert pair.rows[0].detectable == pytest.approx(row.detectable)


def test_a_test_that_cannot_reach_its_level_finds_nothing_until_enough_units_differ() -> None:
    gold = [["B-X", "O"]] * 40
    other = [["O", "O"]] * 4 + gold[4:]
    result = spanwise.evaluate(gold, {"a": gold, "b": other})
    rows = plan(result).pairs[0].rows
    assert result.comparisons[0].unreachable and rows[0].detectable is None and rows[0].power is None
    assert rows[1].units == 60 and rows[1].detectable is not None  # six units would differ


def test_a_single_system_has_widths_alone() -> None:
    planned = plan(evaluated(5, systems=1))
    assert planned.pairs == () and planned.systems["a"].rows[0].width is not None
    assert "180 more sentences narrow the interval of a from" in planned.to_text(width=100)


def test_systems_that_are_equal_have_nothing_to_plan() -> None:
    gold = [["B-X", "O"]] * 30
    other = [["B-X", "O"]] * 25 + [["O", "O"]] * 5
    pair = plan(spanwise.evaluate(gold, {"a": other, "b": other})).pairs[0]
    assert pair.rows == () and pair.why and pair.needed is None


def test_every_surface_says_how_many_more(tmp_path: Path) -> None:
    result = evaluated(6, judge=True)
    saved = tmp_path / "few.json"
    saved.write_text(result.to_json(), encoding="utf-8")
    planned = spanwise.plan(saved, difference=0.05)
    pair = planned.pairs[0]
    assert pair.needed is not None and pair.needed_judge is not None
    sentence = f"{pair.needed - UNITS} more sentences make a difference of 5 F1 between a and b detectable"
    page = planned.to_html()
    assert sentence in " ".join(planned.to_text(width=120).split())
    assert sentence in page.replace("<bdi>", "").replace("</bdi>", "")
    assert page.count("<svg") >= 2
    again = tmp_path / "plan.json"
    again.write_text(planned.to_json(), encoding="utf-8")
    loaded = spanwise.load(again)
    assert isinstance(loaded, PlanDocument) and loaded == planned
    assert "detectable with judge" in planned.table("power").to_markdown()


@pytest.mark.parametrize("difference", [0, 1, 2.0, -0.1, True, float("nan")])
def test_a_difference_must_be_a_fraction(difference: float) -> None:
    with pytest.raises(ChoiceError, match="between 0 and 1"):
        plan(evaluated(), difference=difference)


def test_results_without_intervals_are_refused() -> None:
    with pytest.raises(InputError, match="no intervals"):
        plan(spanwise.evaluate([["B-X"]], {"a": [["O"]]}, resamples=0))


# ---- power that was predicted, and power that was found ------------------------------------------


@pytest.mark.parametrize("judge", ["good", "useless"])
def test_the_predicted_power_is_the_power_of_simulated_comparisons(judge: str) -> None:
    """From pilots of 60 units: the mean predicted power at 240 units, and how often the difference is found.

    The tests are those of gold alone and of gold with the judge, on fresh corpora with known truth.
    """
    trials, pilots, later = 400, 40, 240
    truth = float(np.mean([_difference(seed) for seed in range(40)]))
    predicted = np.zeros((pilots, 2))
    for seed in range(pilots):
        found = _estimate(seed, UNITS, JUDGES[judge])
        gold, both = found.gold_se * sqrt(UNITS / later), sqrt(found.within / later + found.shared / 1000)
        predicted[seed] = [_power(truth, gold), _power(truth, both)]
    rejected = np.zeros((trials, 2))
    for seed in range(trials):
        found = _estimate(10_000 + seed, later, JUDGES[judge])
        rejected[seed] = [abs(found.gold) > 1.97 * found.gold_se, found.p < 0.05]
    error = 2 * sqrt(0.25 / trials)
    assert predicted.mean(axis=0) == pytest.approx(rejected.mean(axis=0), abs=error + 0.02)


def _power(size: float, error: float) -> float:
    return float(norm.cdf(size / error - 1.96) + norm.cdf(-size / error - 1.96))


def _estimate(seed: int, drawn: int, agreement: float) -> Combined:
    draw = np.random.default_rng([seed, 11])
    first, second = population(draw, 1000, agreement, systems=2)
    rows = np.sort(draw.choice(1000, drawn, replace=False))
    found = difference(sample_of(first, rows), sample_of(second, rows))
    assert found is not None
    return found


def _difference(seed: int) -> float:
    """F1 of the first system minus that of the second in a large corpus."""
    sums = [
        table[0].sum(axis=0) for table in population(np.random.default_rng([seed, 99]), 1000, 1.0, systems=2)
    ]
    first, second = (2 * right / (2 * right + false + missed) for right, false, missed in sums)
    return float(first - second)
