"""The parts of a lead add up to it, however the mentions are divided."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from statistics import mean, variance

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typed import present

import spanwise
from spanwise.diagnosis import F1, parts_of_lead
from spanwise.document.study import Study
from spanwise.findings import lead_finding

TAGS = st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG"]), min_size=6, max_size=6)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
@given(gold=st.lists(TAGS, min_size=3, max_size=3), first=st.lists(TAGS, min_size=3, max_size=3),
       second=st.lists(TAGS, min_size=3, max_size=3))  # fmt: skip
def test_contributions_add_up_to_the_difference_and_change_sign_when_swapped(
    gold: list[list[str]], first: list[list[str]], second: list[list[str]]
) -> None:
    result = spanwise.evaluate(gold, {"a": first, "b": second}, resamples=0, repair="conlleval")
    a, b = result.systems["a"], result.systems["b"]
    leads, turned = parts_of_lead(a, b), parts_of_lead(b, a)
    first_f1, second_f1 = a.exact.overall.f1, b.exact.overall.f1
    if first_f1 is None or second_f1 is None:
        assert leads == {}
        return
    assert "labels" in leads
    for division, parts in leads.items():
        assert sum(part.contribution for part in parts) == pytest.approx(first_f1 - second_f1, abs=1e-12)
        back = {part.name: -part.contribution for part in turned[division]}
        assert {part.name: part.contribution for part in parts} == pytest.approx(back, abs=1e-12)


def one_token(*labels: str) -> list[list[str]]:
    return [[f"B-{label}" if label else "O"] for label in labels]


def test_two_systems_that_are_even_overall_but_not_in_their_parts() -> None:
    """Each finds one label and misses the other; this finding comes before all others."""
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
    assert first.value == pytest.approx(-present(first.loss)) and first.value > 0.3
    comparison = result.comparison("places", "people")
    assert comparison is not None and comparison.score(F1) is not None
    turned = lead_finding(comparison, "places")
    assert turned is not None and turned.value == pytest.approx(first.value)
    parts = {part.name: part.contribution for part in comparison.lead["labels"]}
    assert parts["PER"] == pytest.approx(-parts["LOC"]) and parts["PER"] != 0
    words = (
        "On parts of the data they differ: people is better on the label PER (+33.3 F1), places on the label"
    )
    assert words in " ".join(result.to_text().split())
    assert words in re.sub("<[^>]*>", "", result.to_html())


# ---- several runs: the mean over all pairs of runs, with variance from data and training ------------


def drawn(seed: int, sentences: int = 14) -> list[list[str]]:
    random = Random(seed)
    return [[random.choice(["O", "B-PER", "B-LOC", "B-ORG"]) for _ in range(5)] for _ in range(sentences)]


def worse(gold: list[list[str]], share: float, seed: int) -> list[list[str]]:
    random = Random(seed)
    return [
        [tag if random.random() > share else random.choice(["O", "B-PER", "B-LOC"]) for tag in row]
        for row in gold
    ]


def lead_of(
    gold: list[list[str]], first: list[list[list[str]]], second: list[list[list[str]]], at: int | None = None
) -> list[list[dict[str, float]]]:
    """The contribution of each label by pair of runs, without sentence `at`, from single evaluations."""

    def kept(rows: list[list[str]]) -> list[list[str]]:
        return [row for index, row in enumerate(rows) if index != at]

    named = {
        f"{side}{run}": kept(tags)
        for side, runs in (("a", first), ("b", second))
        for run, tags in enumerate(runs)
    }
    result = spanwise.evaluate(kept(gold), named, resamples=0, attributes="none")
    return [
        [
            {
                part.name: part.contribution
                for part in parts_of_lead(result.systems[f"a{i}"], result.systems[f"b{j}"])["labels"]
            }
            for j in range(len(second))
        ]
        for i in range(len(first))
    ]


@pytest.mark.parametrize("shared", [False, True])
def test_intervals_over_runs_equal_those_of_leaving_out_each_sentence(tmp_path: Path, shared: bool) -> None:
    from scipy.stats import t

    gold = drawn(0)
    runs = {"a": [worse(gold, 0.2, 1), worse(gold, 0.25, 2)], "b": [worse(gold, 0.4, 3), worse(gold, 0.5, 4)]}

    def write(name: str, tags: list[list[str]]) -> str:
        text = "".join("".join(f"w{at} {tag}\n" for at, tag in enumerate(row)) + "\n" for row in tags)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    for system, predictions in runs.items():
        for run, tags in enumerate(predictions):
            write(f"{system}.{run}.txt", tags)
    document = spanwise.study(
        {
            "predictions": "{system}.{run}.txt", "resamples": 50, "attributes": "none", "unit": "sentence",
            "shared_seeds": shared, "datasets": {"d": {"test": write("gold.txt", gold)}},
            "systems": {"a": {}, "b": {}}, "compare": [{"systems": ["a", "b"]}],
        },
        root=tmp_path, cache=False, workers=1,
    )  # fmt: skip
    assert isinstance(document, Study)
    by_label = {part.name: part for part in document.datasets["d"].comparisons[0].lead["labels"]}
    whole = lead_of(gold, runs["a"], runs["b"])
    left = [lead_of(gold, runs["a"], runs["b"], at) for at in range(len(gold))]
    assert by_label.keys() == {"PER", "LOC", "ORG"}
    for name, part in by_label.items():
        cells = [[cell.get(name, 0.0) for cell in row] for row in whole]
        value = mean(mean(row) for row in cells)
        assert part.contribution == pytest.approx(value, abs=1e-12)
        without = [mean(cell.get(name, 0.0) for row in rows for cell in row) for rows in left]
        n = len(without)
        # The variance is around the mean of the leave-one-out values, scaled by (n − 1)² / n.
        terms: list[tuple[float, float]] = [((n - 1) ** 2 / n * variance(without), n - 1)]
        ours, theirs = [mean(row) for row in cells], [mean(row[j] for row in cells) for j in range(2)]
        if shared:
            terms.append((variance([x + y for x, y in zip(ours, theirs, strict=True)]) / 2, 1))
        else:
            a, b = variance(ours) / 2, variance(theirs) / 2
            terms.append((a + b, min((a + b) ** 2 / (a**2 + b**2), 2) if a + b else 1))
        reach = sum(t.ppf(0.975, degrees) ** 2 * term for term, degrees in terms) ** 0.5
        assert part.interval == pytest.approx((value - reach, value + reach), abs=1e-9)
    difference = document.datasets["d"].comparisons[0].score(F1)
    assert difference is not None
    assert sum(part.contribution for part in by_label.values()) == pytest.approx(
        difference.difference, abs=1e-12
    )
