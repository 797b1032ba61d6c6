"""Buckets: each strategy computed by hand, defaults, names and labels, saved edges, errors and laws."""

from __future__ import annotations

import numpy as np
import pytest

from spanwise import buckets
from spanwise.attributes import ATTRIBUTES, Values
from spanwise.buckets import (
    Bucketing,
    Strategy,
    default_strategy,
    fit,
    parse,
    parse_choice,
    range_text,
)
from spanwise.errors import ChoiceError, InputError
from spanwise.registry import Registry


def numbers(*values: float, whole: bool = False, bounds: tuple[float, float] = (-np.inf, np.inf)) -> Values:
    return Values(
        np.array(values, dtype=float),
        np.ones(len(values), bool),
        attribute="size",
        whole=whole,
        bounds=bounds,
    )


def names(*values: str) -> Values:
    distinct = tuple(dict.fromkeys(values))
    return Values(
        np.array([distinct.index(v) for v in values], dtype=np.int64),
        np.ones(len(values), bool),
        attribute="domain",
        names=distinct,
    )


def ends(bucketing: Bucketing) -> list[tuple[float | None, float | None]]:
    return [(bucket.low, bucket.high) for bucket in bucketing.fitted]


def buckets_of(bucketing: Bucketing, *values: float) -> list[str]:
    return [bucketing.buckets[i].name for i in bucketing.assign(numbers(*values))]


# --- strategies by hand -------------------------------------------------------------------------


def test_balanced_cuts_after_the_value_nearest_to_an_equal_share() -> None:
    # 10 values, m = 2: the cumulative counts are 3, 4, 9, 10, and 4 is nearest to 5.
    assert ends(fit("balanced:2", numbers(1, 1, 1, 2, 3, 3, 3, 3, 3, 4))) == [(None, 2), (2, None)]


def test_balanced_uses_the_lower_of_two_equally_near_cuts() -> None:
    # 4 values, m = 2: the cumulative counts 1 and 3 are equally near to 2.
    assert ends(fit("balanced:2", numbers(1, 2, 2, 3))) == [(None, 1), (1, None)]


def test_balanced_cuts_that_meet_collapse() -> None:
    assert ends(fit("balanced:4", numbers(1, 1, 1, 1, 1, 1, 1, 9))) == [(None, 1), (1, None)]


def test_balanced_of_no_gold_units_is_one_open_bucket() -> None:
    assert ends(fit("balanced:4", numbers())) == [(None, None)]


def test_special_values_are_tested_first_and_bound_the_rest() -> None:
    bucketing = fit("special:0,1+balanced:2", numbers(0, 0.2, 0.4, 0.6, 1, 1))
    assert ends(bucketing) == [(0, 0), (0, 0.2), (0.2, 1), (1, 1)]
    assert [bucket.name for bucket in bucketing.fitted] == ["XS", "S", "L", "XL"]
    assert [bucket.label for bucket in bucketing.fitted] == ["0", "(0, 0.2]", "(0.2, 1)", "1"]
    assert buckets_of(bucketing, 0, 0.1, 0.2, 0.3, 0.99, 1) == ["XS", "S", "S", "L", "L", "XL"]


def test_special_values_stay_when_no_gold_unit_has_them() -> None:
    assert ends(fit("special:0+balanced:2", numbers(2, 3))) == [(0, 0), (0, 2), (2, None)]


@pytest.mark.parametrize(
    ("attribute", "gold", "expected"),
    [
        ("entity_label_consistency", [0, 1, 1], [(0, 0), (0, 1), (1, 1)]),
        ("entity_length", [1, 2], [(1, 1), (2, 2), (3, 3), (3, None)]),
        ("oov_density", [0, 0], [(0, 0), (0, None)]),
    ],
)
def test_without_gold_units_the_rest_covers_the_range_of_possible_values(
    attribute: str, gold: list[float], expected: list[tuple[float | None, float | None]]
) -> None:
    definition = ATTRIBUTES.find(attribute)
    values = numbers(*gold, bounds=definition.bounds)
    assert ends(fit(default_strategy(attribute), values)) == expected


def test_a_special_value_inside_a_bucket_of_the_rest_comes_before_it() -> None:
    bucketing = fit("special:5+balanced:2", numbers(1, 2, 6, 9))
    assert ends(bucketing) == [(None, 2), (5, 5), (2, None)]
    assert buckets_of(bucketing, 1, 4, 5, 6) == ["B1", "B3", "B2", "B3"]


def test_a_prediction_beyond_a_bounding_special_value_joins_the_nearest_bucket() -> None:
    bucketing = fit("special:5+balanced:2", numbers(6, 7, 8))
    assert ends(bucketing) == [(5, 5), (5, 6), (6, None)]
    assert buckets_of(bucketing, 3) == ["B2"]


def test_even_range_has_equal_widths() -> None:
    assert ends(fit("even_range:4", numbers(0, 1, 8))) == [(None, 2), (2, 4), (4, 6), (6, None)]


def test_even_range_of_one_value_is_one_bucket() -> None:
    assert ends(fit("even_range:4", numbers(3, 3))) == [(None, None)]


def test_fixed_edges_stay_when_empty() -> None:
    bucketing = fit("1,2,3", numbers(7))
    assert ends(bucketing) == [(None, 1), (1, 2), (2, 3), (3, None)]
    assert buckets_of(bucketing, 1, 1.5, 3, 4) == ["XS", "S", "L", "XL"]


def test_discrete_gives_each_gold_value_a_bucket_and_joins_the_highest() -> None:
    assert ends(fit("discrete:10", numbers(1, 2, 5))) == [(None, 1), (1, 2), (2, None)]
    assert ends(fit("discrete:2", numbers(1, 2, 5))) == [(None, 1), (1, None)]


def test_familiarity_divides_zero_to_one_and_zero_joins_the_first() -> None:
    bucketing = fit("familiarity:5", numbers(0.5))
    assert ends(bucketing) == [(None, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, None)]
    assert buckets_of(bucketing, 0, 1 / 5, 3 / 5, 6 / 10, 1) == ["B1", "B1", "B3", "B3", "B5"]


def test_categories_are_ordered_by_frequency_then_name() -> None:
    bucketing = fit("category", names("web", "news", "web", "books"))
    assert [bucket.name for bucket in bucketing.fitted] == ["web", "books", "news"]


def test_a_category_found_only_in_predictions_is_other() -> None:
    bucketing = fit("category", names("web", "news"))
    assert [bucketing.buckets[i].name for i in bucketing.assign(names("blog", "web"))] == ["other", "web"]


def test_a_category_called_other_is_not_mixed_with_the_rest() -> None:
    bucketing = fit("category", names("other", "web"))
    assert [bucket.name for bucket in bucketing.buckets] == ["other", "web", "other values", "unplaced"]
    assert bucketing.assign(names("blog", "other")).tolist() == [2, 0]


def test_categories_can_be_limited_to_the_most_frequent() -> None:
    bucketing = fit("category:1", names("web", "news", "web"))
    assert [bucketing.buckets[i].name for i in bucketing.assign(names("web", "news"))] == ["web", "other"]


def test_undefined_units_are_unplaced() -> None:
    bucketing = fit("balanced:2", numbers(1, 2))
    values = Values(np.array([1.0, 0.0, np.nan]), np.array([True, False, True]))
    assert [bucketing.buckets[i].name for i in bucketing.assign(values)] == ["B1", "unplaced", "other"]


def test_automatic_follows_the_values() -> None:
    assert fit("automatic", numbers(1, 2)).strategy == "balanced(4)"
    assert fit("automatic", names("web")).strategy == "category"


# --- defaults -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("eCon tCon", "special(0, 1), balanced(2)"),
        ("eFre tFre oDen", "special(0), balanced(3)"),
        ("sLen eDen", "balanced(4)"),
        ("eLen", "special(1, 2, 3), balanced(1)"),
        ("R-eDen", "balanced(5)"),
        ("R-sLen", "fixed(5, 10, 15, 20, 25, 30)"),
        ("R-eLen", "fixed(1, 2)"),
        ("R-oov", "special(0), balanced(3)"),
        ("F-ent F-tok", "special(0), balanced(5)"),
        ("F-tag MF-et MF-tt", "familiarity(5)"),
        ("R-mor label", "category"),
    ],
)
def test_defaults_are_those_of_the_papers(attributes: str, expected: str) -> None:
    assert {str(default_strategy(name)) for name in attributes.split()} == {expected}


def test_whole_numbers_are_written_as_such() -> None:
    assert [bucket.label for bucket in fit("special:1,2,3", numbers(1, 5, whole=True)).fitted] == [
        "1",
        "2",
        "3",
        "≥ 4",
    ]
    assert [bucket.label for bucket in fit("2,3,7", numbers(1, whole=True)).fitted] == [
        "≤ 2",
        "3",
        "4–7",
        "≥ 8",
    ]


@pytest.mark.parametrize(
    ("low", "high", "specials", "text"),
    [
        (None, None, (), "all"),
        (None, None, (1,), "any other"),
        (None, 0.5, (), "≤ 0.5"),
        (None, 1, (1,), "< 1"),
        (0.5, None, (), "> 0.5"),
    ],
)
def test_open_ends_are_written_as_bounds(
    low: float | None, high: float | None, specials: tuple[float, ...], text: str
) -> None:
    assert range_text(low, high, False, specials) == text


# --- texts and errors ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("balanced", "balanced(4)"),
        ("balanced:6", "balanced(6)"),
        ("1,2,3", "fixed(1, 2, 3)"),
        ("-1,0.5", "fixed(-1, 0.5)"),
        ("special:1,0+balanced:2", "special(0, 1), balanced(2)"),
        ("special:0", "special(0), balanced(1)"),
        ("discrete", "discrete(10)"),
        ("familiarity:3", "familiarity(3)"),
        ("category", "category"),
    ],
)
def test_strategies_are_parsed_from_text(text: str, expected: str) -> None:
    assert str(parse(text)) == expected


def test_a_choice_names_attribute_and_strategy() -> None:
    name, strategy = parse_choice("eLen=1,2,3")
    assert (name, str(strategy)) == ("entity_length", "fixed(1, 2, 3)")
    assert parse_choice("domain=category")[0] == "domain"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("balancd:4", "no bucketing is called 'balancd'. Did you mean 'balanced'?"),
        ("balanced:x", "expected numbers separated by commas, such as 1,2,3, not 'x'"),
        ("balanced:2.5", "balanced takes one whole number of buckets"),
        ("balanced:0", "balanced takes one whole number of buckets"),
        ("balanced:1,2", "balanced takes one whole number of buckets"),
        ("1,1", "a value is given twice"),
        ("1,nan", "edges must be finite"),
        ("special", "special needs values, such as special:0,1"),
        ("fixed", "fixed needs values"),
        ("balanced:2+balanced:2", "only special values can be followed"),
        ("special:0+category", "the rest cannot go to category"),
    ],
)
def test_an_error_about_a_strategy_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ChoiceError) as error:
        parse(text)
    assert message in str(error.value)


def test_an_error_about_a_missing_strategy_says_how_to_write_one() -> None:
    with pytest.raises(ChoiceError, match="Write ATTRIBUTE=STRATEGY, such as entity_length=1,2,3"):
        parse_choice("entity_length")


def test_numbers_and_categories_are_not_mixed_up() -> None:
    with pytest.raises(ChoiceError, match="the values of 'size' are numbers: category cannot bucket them"):
        fit("category", numbers(1))
    with pytest.raises(ChoiceError, match="the values of 'domain' are categories: balanced"):
        fit("balanced:2", names("web"))
    with pytest.raises(InputError, match="are categories, but its buckets were made for numbers"):
        fit("balanced:2", numbers(1)).assign(names("web"))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_numbers_are_refused(value: float) -> None:
    with pytest.raises(InputError, match="'size' has values that are not finite numbers"):
        fit("balanced:2", numbers(1, value))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "this is not a bucketing (KeyError"),
        ({"attribute": "a", "kind": "odd", "buckets": [{"name": "x"}]}, "have the kind 'odd'"),
        ({"attribute": "a", "kind": "category", "buckets": [{"name": "x"}]}, "one of them has no value"),
        ({"attribute": "a", "kind": "numeric", "buckets": []}, "only special values"),
        (
            {
                "attribute": "a",
                "kind": "numeric",
                "buckets": [{"name": "x", "high": 3}, {"name": "y", "high": 2}, {"name": "z"}],
            },
            "are not in order of value",
        ),
        (
            {"attribute": "a", "kind": "numeric", "buckets": [{"name": "x", "high": "wide"}]},
            "this is not a bucketing (ValueError",
        ),
        (
            {"attribute": "a", "kind": "numeric", "buckets": [{"name": "x", "high": 10**400}]},
            "this is not a bucketing (OverflowError",
        ),
    ],
)
def test_saved_edges_that_cannot_be_used_say_why(data: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as error:
        Bucketing.from_dict(data)
    assert message in str(error.value)


def test_a_user_defined_strategy_is_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    halves = Strategy("median", "two halves", lambda values, given: [float(np.median(values))])
    fresh: Registry[Strategy] = Registry("bucketing")
    fresh.add(halves)
    monkeypatch.setattr(buckets, "BUCKETINGS", fresh)
    assert ends(fit("median", numbers(1, 2, 3))) == [(None, 2), (2, None)]
    assert ends(fit(halves, numbers(1, 2, 3))) == [(None, 2), (2, None)]
