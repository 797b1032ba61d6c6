"""Intervals and tests of confidence scores over units, compared with plain loops that leave units out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typed import present

import spanwise
from spanwise.calibration._cells import cell_of
from spanwise.calibration._resampling import FLIPS, Draws, chance, intervals, resampled
from spanwise.calibration.measures import Calibration, Scored
from spanwise.columns import floats, ints
from spanwise.document.confidence import Confidence

Unit = tuple[list[tuple[float, bool]], int]  # scored predictions, and gold mentions


def joined(units: list[Unit]) -> Scored:
    """The predictions of several units."""
    rows = [(score, right, at) for at, (own, _) in enumerate(units) for score, right in own]
    return Scored(
        floats([score for score, _, _ in rows]),
        np.array([right for _, right, _ in rows], dtype=bool),
        ints([at for _, _, at in rows]),
        ints([gold for _, gold in units]),
    )


@st.composite
def cases(draw: st.DrawFn) -> list[Unit]:
    """Two to twelve units of up to six predictions, with ties, and missed gold mentions."""
    grid = st.integers(0, 10).map(lambda step: step / 10)
    units = []
    for _ in range(draw(st.integers(2, 12))):
        rows = draw(st.lists(st.tuples(grid, st.booleans()), max_size=6))
        units.append((rows, sum(right for _, right in rows) + draw(st.integers(0, 2))))
    return units


def plain_measures(units: list[Unit]) -> dict[str, float]:
    """AP, AURC and Brier by their definitions; NaN where undefined."""
    rows = [row for own, _ in units for row in own]
    gold = sum(number for _, number in units)
    area, before, risks, taken, lost = 0.0, 0, [], 0, 0.0
    for threshold in sorted({score for score, _ in rows}, reverse=True):
        tied = [right for score, right in rows if score == threshold]
        wrong = len(tied) - sum(tied)
        risks += [(lost + wrong * at / len(tied)) / (taken + at) for at in range(1, len(tied) + 1)]
        taken, lost = taken + len(tied), lost + wrong
        right = taken - lost
        area += (right - before) * right / taken
        before = int(right)
    nan = float("nan")
    return {
        "average_precision": area / gold if gold else nan,
        "aurc": sum(risks) / len(risks) if risks else nan,
        "brier": sum((score - right) ** 2 for score, right in rows) / len(rows) if rows else nan,
    }


def plain_interval(units: list[Unit], name: str) -> tuple[float, float] | None:
    """The logit-t interval by leaving out one unit after the other; None where it is undefined."""
    from scipy import stats

    value = plain_measures(units)[name]
    held = [at for at, (rows, gold) in enumerate(units) if rows or gold]
    left = [plain_measures([*units[:at], *units[at + 1 :]])[name] for at in held]
    if math.isnan(value) or len(held) < 2 or any(map(math.isnan, left)):
        return None
    u, mean = len(held), sum(left) / len(left)
    apart = [one - mean for one in left]
    error = math.sqrt((u - 1) / u * sum(r**2 for r in apart))
    sizes = [len(units[at][0]) + units[at][1] for at in held]
    freedom = min(u - 1, sum(sizes) ** 2 / sum(size**2 for size in sizes) - 1)
    if 0 < value < 1 and error >= 1e-12:
        kurtosis = u * sum(r**4 for r in apart) / sum(r**2 for r in apart) ** 2
        if kurtosis > 1:
            freedom = min(freedom, 2 * u / (kurtosis - 1))
        reach = stats.t.ppf(0.975, max(freedom, 1)) * error / (value * (1 - value))
        odds = math.log(value / (1 - value))
        low, high = (1 / (1 + math.exp(-(odds + sign * reach))) for sign in (-1, 1))
        return low, high
    t = stats.t.ppf(0.975, max(freedom, 1))
    rows, gold = sum(len(own) for own, _ in units), sum(number for _, number in units)
    n = gold if name == "average_precision" else rows
    centre = (value + t * t / (2 * n)) / (1 + t * t / n)
    half = t * math.sqrt(value * (1 - value) / n + t * t / (4 * n * n)) / (1 + t * t / n)
    return max(centre - half, 0.0), min(centre + half, 1.0)


@given(cases())
@settings(max_examples=120, deadline=None)
def test_intervals_equal_those_of_a_loop_that_leaves_out_each_unit(units: list[Unit]) -> None:
    scored = joined(units)
    if not len(scored.score):
        return
    bounds = intervals(scored, Draws.of(len(units), 10, 0), calibrated=True)
    for name, found in bounds.interval.items():
        expected = plain_interval(units, name)
        if expected is None:
            assert found is None and bounds.why[name]
        else:
            assert found == pytest.approx(expected, abs=1e-9), name


@given(cases(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_order_of_units_changes_no_interval(units: list[Unit], random: object) -> None:
    scored = joined(units)
    if not len(scored.score):
        return
    order = list(units)
    random.shuffle(order)  # type: ignore[attr-defined]
    draws = Draws.of(len(units), 10, 0)
    one, other = (intervals(joined(row), draws, calibrated=True).interval for row in (units, order))
    for name, found in one.items():
        assert other[name] is None if found is None else other[name] == pytest.approx(found, abs=1e-12)


def made(documents: int, size: int, *, icc: float, seed: int, slope: float = 0.0) -> list[Unit]:
    """Documents of calibrated scores whose errors depend on each other: with probability `icc` shared luck.

    An outcome is right where a uniform number is below its score; a document shares that number among some of
    its predictions, so that every outcome still has its score as its probability. `slope` is added to scores.
    """
    rng = np.random.default_rng(seed)
    units: list[Unit] = []
    for _ in range(documents):
        score = rng.beta(4, 1, size)
        luck = np.where(rng.random(size) < np.sqrt(icc), rng.random(), rng.random(size))
        right = luck < score
        shown = np.clip(score + slope, 0, 1)
        units.append((list(zip(shown.tolist(), right.tolist(), strict=True)), int(right.sum()) + 2))
    return units


def test_chance_equals_that_of_plain_loops_over_flips_and_outcomes() -> None:
    units = made(9, 15, icc=0.2, seed=5)
    scored = joined(units)
    calibration = Calibration.balanced(scored.score, scored.right)
    draws = Draws.of(9, 10, 3)
    found = chance(scored, calibration, draws)
    number, bins = len(scored.score), len(calibration.number)
    gaps = [[0.0] * bins for _ in units]
    for score, right, unit, at in zip(scored.score, scored.right, scored.unit, calibration.bins, strict=True):
        gaps[unit][at] += float(right) - float(score)
    assert sum(abs(sum(row[b] for row in gaps)) for b in range(bins)) / number == pytest.approx(
        calibration.ece()
    )
    flipped = [
        sum(abs(sum(sign * row[b] for sign, row in zip(signs, gaps, strict=True))) for b in range(bins))
        / number
        for signs in draws.signs.tolist()
    ]
    assert len(flipped) == FLIPS == 2000
    reached = sum(value >= calibration.ece() - 1e-12 for value in flipped)
    assert found.p_units == pytest.approx((1 + reached) / 2001)
    assert found.mean >= np.mean(flipped) - 1e-12 and found.high >= sorted(flipped)[1900] - 1e-12
    assert found.reachable


@pytest.mark.parametrize("slope", [0.0, 0.03, 0.06, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_the_95_percent_point_is_exceeded_exactly_where_both_p_values_are_at_most_5_percent(
    slope: float, seed: int
) -> None:
    scored = joined(made(30, 12, icc=0.1, seed=seed, slope=slope))
    calibration = Calibration.balanced(scored.score, scored.right)
    found = chance(scored, calibration, Draws.of(30, 10, seed))
    assert (calibration.ece() > found.high) == (max(found.p_units, found.p_outcomes) <= 0.05)


def test_calibrated_scores_with_clustered_errors_are_seldom_called_miscalibrated() -> None:
    trials = 300
    called = {"both": 0, "outcomes": 0}
    for trial in range(trials):
        scored = joined(made(20, 14, icc=0.3, seed=trial))
        calibration = Calibration.balanced(scored.score, scored.right)
        found = chance(scored, calibration, Draws.of(20, 1, trial))
        called["both"] += max(found.p_units, found.p_outcomes) <= 0.05
        called["outcomes"] += found.p_outcomes <= 0.05
    assert called["both"] / trials <= 0.06 + 2 * math.sqrt(0.06 * 0.94 / trials)
    # Independent outcomes alone are no null hypothesis for documents whose errors depend on each other.
    assert called["outcomes"] / trials > 0.1


def test_overconfident_scores_are_called_miscalibrated() -> None:
    cell = cell_of(joined(made(60, 14, icc=0.1, seed=1, slope=0.12)), Draws.of(60, 10, 0))
    assert present(cell.chance_ece.p) <= 0.05 and present(cell.ece) > present(cell.chance_ece.high)


def test_too_few_units_cannot_show_a_miscalibration_and_the_screen_says_so() -> None:
    document = sentences(made(4, 60, icc=0.0, seed=1, slope=0.3))
    cell = document.systems["m"].overall
    assert not cell.chance_ece.reachable and present(cell.chance_ece.p) > 0.05
    assert "cannot be judged: with so few sentences no test reaches .05" in flat(document)


def sentences(units: list[Unit], *, precision: float = 0.95) -> Confidence:
    """The assessment of units that are sentences, through the public function."""
    gold, mine = [], []
    for rows, number in units:
        right = [at for at, (_, correct) in enumerate(rows) if correct]
        missed = range(len(rows), len(rows) + number - len(right))
        gold.append([(at, at + 1, "A") for at in (*right, *missed)])
        mine.append([(at, at + 1, "A", score) for at, (score, _) in enumerate(rows)])
    return spanwise.confidence(gold, {"m": mine}, resamples=100, precision=precision)


def flat(document: Confidence) -> str:
    return " ".join(document.to_text().split())


def test_the_public_function_has_the_same_intervals_and_marks_few_units() -> None:
    units = made(12, 9, icc=0.1, seed=2)
    document = sentences(units)
    cell = document.systems["m"].overall
    for name in ("average_precision", "aurc", "brier"):
        assert present(cell.interval)[name] == pytest.approx(plain_interval(units, name), abs=1e-9)
    assert cell.few_units == 12 and "†" in document.to_text()
    assert "fewer than 20 sentences hold it" in flat(document)


def test_words_of_calibration_are_the_same_on_screen_and_page() -> None:
    pytest.importorskip("jinja2")
    calm, off = sentences(made(40, 10, icc=0, seed=3)), sentences(made(40, 10, icc=0, seed=3, slope=0.15))
    for document, words in (
        (calm, "No miscalibration found: ECE"),
        (off, "The scores are not calibrated: ECE"),
    ):
        assert words in flat(document) and words in document.to_html()
    few = sentences(made(10, 9, icc=0, seed=3))
    assert few.systems["m"].overall.ece is not None
    assert "too few predictions to judge the calibration" in flat(few)


def test_many_units_are_joined_in_groups_which_changes_intervals_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    units = made(600, 5, icc=0.1, seed=4)
    exact = sentences(units)
    monkeypatch.setattr("spanwise.calibration._resampling.MOST_UNITS", 500)
    monkeypatch.setattr("spanwise.calibration._resampling.GROUPS", 300)
    grouped = sentences(units)
    assert exact.settings.groups is None and grouped.settings.groups == 300
    assert "joined at random into 300 groups" in grouped.notes[0]
    for name in ("average_precision", "aurc", "brier"):
        ends = [present(one.systems["m"].overall.interval)[name] for one in (exact, grouped)]
        assert present(ends[0]) == pytest.approx(present(ends[1]), abs=0.006)
    assert sentences(units) == grouped


def test_recall_at_a_precision_has_the_percentiles_of_resampled_units() -> None:
    units = made(25, 8, icc=0.0, seed=6)
    scored, draws = joined(units), Draws.of(25, 40, 0)
    found = resampled(scored, draws).recall_at(0.9)
    for weights, value in zip(draws.weights.astype(int).tolist(), found.tolist(), strict=True):
        drawn = [unit for unit, times in zip(units, weights, strict=True) for _ in range(times)]
        rows, gold = [row for own, _ in drawn for row in own], sum(number for _, number in drawn)
        best = -1.0
        for threshold in {score for score, _ in rows}:
            kept = [right for score, right in rows if score >= threshold]
            if sum(kept) >= 0.9 * len(kept) - 1e-9:
                best = max(best, sum(kept) / gold)
        assert value == pytest.approx(best) if best >= 0 else math.isnan(value)
    document = sentences(units, precision=0.9)
    at = document.systems["m"].at_precision
    low, high = present(present(at.interval)["recall"])
    assert present(low) <= present(at.recall) <= present(high)
    assert "a percentile interval over only 25 sentences" in flat(document)


def test_a_label_in_one_unit_has_no_interval_and_says_why() -> None:
    gold = [[(0, 1, "A"), (1, 2, "B")], [(0, 1, "A")], [(0, 1, "A")]]
    mine = [[(0, 1, "A", 0.9), (1, 2, "B", 0.8)], [(0, 1, "A", 0.7)], [(0, 1, "A", 0.3)]]
    label = spanwise.confidence(gold, {"m": mine}).systems["m"].labels["B"]
    assert present(label.interval)["average_precision"] is None
    assert present(label.no_interval)["average_precision"] == "fewer than two units hold it"
