"""Credits: presets, formulas, and errors for formulas that cannot be parsed."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.credits import CREDITS, Credit, Weights, credit_of, parse
from spanwise.errors import ChoiceError
from spanwise.matching import OUTCOMES


def test_fair_credit_halves_every_error_of_a_pair() -> None:
    fair = credit_of("fair")
    assert [fair.weights[name] for name in OUTCOMES] == [
        (1, 0, 0), *[(0, 0.5, 0.5)] * 5, (0, 0, 1), (0, 1, 0),
    ]  # fmt: skip


def test_equation_6_counts_every_boundary_error_as_half_right() -> None:
    credit = credit_of("ortmann-eq6")
    assert {credit.weights[name] for name in ("BEs", "BEl", "BEo")} == {(0.5, 0.25, 0.25)}
    assert credit.weights["LBE"] == (0, 0.5, 0.5)


def test_equation_7_distinguishes_too_short_from_too_long() -> None:
    credit = credit_of("ortmann-eq7")
    assert credit.weights["BEs"] == (0.5, 0, 0.5)
    assert credit.weights["BEl"] == (0.5, 0.5, 0)
    assert credit.weights["BEo"] == (0.5, 0.25, 0.25)


def test_a_formula_sets_the_group_and_leaves_the_rest_fair() -> None:
    credit = parse("BE = 0.5 TP + 0.25 FP + 0.25 FN")
    assert dict(credit.weights) == dict(credit_of("ortmann-eq6").weights)


def test_a_statement_about_one_kind_overrides_the_group_in_any_order() -> None:
    for formula in ("BEs = TP; BE = 0.5 TP + 0.5 FN", "BE = .5 TP + 0.5*FN, bes = 1 tp"):
        credit = parse(formula)
        assert credit.weights["BEs"] == (1, 0, 0)
        assert credit.weights["BEl"] == credit.weights["BEo"] == (0.5, 0, 0.5)


def test_an_error_may_be_worth_nothing() -> None:
    assert parse("LE = 0").weights["LE"] == (0, 0, 0)


def test_apply_adds_over_any_shape() -> None:
    counts = np.arange(48).reshape(2, 3, 8)
    for credit in CREDITS:
        right, false, missed = credit.apply(counts)
        assert right.shape == false.shape == missed.shape == (2, 3)
        expected = sum(counts[1, 2, i] * np.array(credit.weights[name]) for i, name in enumerate(OUTCOMES))
        assert np.allclose([right[1, 2], false[1, 2], missed[1, 2]], expected)


def test_the_weights_of_presets_add_up_to_one_per_error() -> None:
    for credit in CREDITS:
        assert all(sum(weights) == 1 for weights in credit.weights.values())


weight = st.integers(0, 8).map(lambda eighths: eighths / 8)
shares = st.tuples(weight, weight, weight).filter(lambda three: sum(three) <= 1)


@settings(deadline=None, derandomize=True)
@given(st.dictionaries(st.sampled_from(OUTCOMES), shares, min_size=1))
def test_a_credit_written_as_a_formula_reads_back_the_same(
    weights: dict[str, Weights],
) -> None:
    credit = Credit("mine", "for a test", weights)
    formula = credit.formula()
    if formula:
        assert dict(parse(formula).weights) == dict(credit.weights)
    else:
        assert dict(credit.weights) == dict(credit_of("fair").weights)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("BE 0.5 TP", "no credit is called 'BE 0.5 TP'."),
        ("BE == TP", "in the credit 'BE == TP' there must be one '=' between an outcome and its worth."),
        ("BX = 0.5 TP", "the credit 'BX = 0.5 TP' begins with 'BX', which is not an outcome."),
        ("BE = 0.5 TQ", "in the credit 'BE = 0.5 TQ' the term '0.5 TQ' cannot be read"),
        ("BE = 0.5 TP + ", "the term '' cannot be read; expected a number and one of TP, FP, FN"),
        ("BE = 0.5", "the term '0.5' cannot be read"),
        ("BE = -0.5 TP", "the term '-0.5 TP' cannot be read"),
        ("BE = 0.5 TP - 0.5 FN", "the term '0.5 TP - 0.5 FN' cannot be read"),
        ("BE = nan TP", "the term 'nan TP' cannot be read"),
        ("BE = TP; be = FN", "sets BE twice.\nKeep one of the two."),
        ("LE = TP; LE = FN", "sets LE twice."),
    ],
)
def test_an_error_about_a_formula_says_what_was_expected(formula: str, message: str) -> None:
    with pytest.raises(ChoiceError) as caught:
        credit_of(formula)
    assert message in str(caught.value)


def test_an_empty_formula_is_refused() -> None:
    with pytest.raises(ChoiceError, match=r"says nothing\.\nWrite it as in 'BE = 0\.5 TP"):
        parse(" ; ")


def test_an_unknown_preset_is_answered_with_the_closest_one() -> None:
    with pytest.raises(ChoiceError, match="Did you mean 'ortmann-eq7'"):
        credit_of("ortman-eq7")


@pytest.mark.parametrize("value", [(1, 0), (1, 0, -1), (float("nan"), 0, 0), (float("inf"), 0, 0)])
def test_weights_other_than_three_non_negative_numbers_are_refused(value: tuple[float, ...]) -> None:
    with pytest.raises(ChoiceError, match="expected three numbers from 0 up"):
        Credit("mine", "for a test", {"LE": cast("Weights", value)})


def test_weights_of_an_unknown_outcome_are_refused() -> None:
    with pytest.raises(ChoiceError, match="but not to 'BE'"):
        Credit("mine", "for a test", {"BE": (1, 0, 0)})


def test_a_credit_is_accepted_in_place_of_a_name() -> None:
    credit = Credit("mine", "for a test", {"LE": (1, 0, 0)})
    assert credit_of(credit) is credit


def test_a_credit_whose_shares_add_up_to_more_than_one_is_refused() -> None:
    with pytest.raises(ChoiceError, match=r"the shares add up to 1\.5"):
        parse("LE = 0.5 TP + 0.5 FP + 0.5 FN")
    assert parse("LE = FP + FN").weights["LE"] == (0, 1, 1)
