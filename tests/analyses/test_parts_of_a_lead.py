"""The parts of a lead add up to it, whichever way the mentions are divided."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import spanwise
from spanwise.diagnosis import F1, parts_of_lead
from spanwise.findings import lead_finding

TAGS = st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG"]), min_size=6, max_size=6)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
@given(gold=st.lists(TAGS, min_size=3, max_size=3), first=st.lists(TAGS, min_size=3, max_size=3),
       second=st.lists(TAGS, min_size=3, max_size=3))  # fmt: skip
def test_contributions_add_up_to_the_difference_and_turn_their_sign(
    gold: list[list[str]], first: list[list[str]], second: list[list[str]]
) -> None:
    result = spanwise.evaluate(gold, {"a": first, "b": second}, resamples=0, repair="conlleval")
    a, b = result.systems["a"], result.systems["b"]
    leads, turned = parts_of_lead(a, b), parts_of_lead(b, a)
    one, other = a.exact.overall.f1, b.exact.overall.f1
    if one is None or other is None:
        assert leads == {}
        return
    assert "labels" in leads
    for division, parts in leads.items():
        assert sum(part.contribution for part in parts) == pytest.approx(one - other, abs=1e-12)
        back = {part.name: -part.contribution for part in turned[division]}
        assert {part.name: part.contribution for part in parts} == pytest.approx(back, abs=1e-12)


def one_token(*labels: str) -> list[list[str]]:
    return [[f"B-{label}" if label else "O"] for label in labels]


def test_two_systems_that_are_even_overall_but_not_in_their_parts() -> None:
    """Each finds one label and misses the other; the finding says so before all others."""
    gold = one_token(*(["PER"] * 80 + ["LOC"] * 80))
    result = spanwise.evaluate(
        gold,
        {
            "people": one_token(*(["PER"] * 80 + ["LOC"] * 40 + [""] * 40)),
            "places": one_token(*(["PER"] * 40 + [""] * 40 + ["LOC"] * 80)),
        },
        resamples=300,
    )
    first = result.findings[0]
    assert first.kind == "lead" and first.even
    assert {first.path, first.loses} == {("exact", "labels", "PER", "f1"), ("exact", "labels", "LOC", "f1")}
    assert first.value == pytest.approx(-first.loss) and first.value > 0.3
    comparison = result.comparison("places", "people")
    assert comparison is not None and comparison.score(F1) is not None
    turned = lead_finding(comparison, "places")
    assert turned is not None and turned.value == pytest.approx(first.value)
    parts = {part.name: part.contribution for part in comparison.lead["labels"]}
    assert parts["PER"] == pytest.approx(-parts["LOC"]) and parts["PER"] != 0
    assert "even overall" in result.to_text() and "gains on some mentions what it loses" in result.to_html()
