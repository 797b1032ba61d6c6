"""The parts of a lead add up to it, and their intervals come from the jackknife over units."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from typed import present

import spanwise
from spanwise.student import t_quantile

Tags = list[list[str]]


def made(seed: int, sentences: int) -> Tags:
    random = Random(seed)
    return [[random.choice(["O", "O", "B-A", "B-B", "B-C"]) for _ in range(5)] for _ in range(sentences)]


def parts(gold: Tags, first: Tags, second: Tags, *, resamples: int = 0) -> spanwise.Result:
    return spanwise.evaluate(
        gold, {"one": first, "other": second}, resamples=resamples, pairs=[("one", "other")]
    )


def contributions(result: spanwise.Result) -> dict[str, float]:
    return {part.name: part.contribution for part in result.comparisons[0].lead["labels"]}


def test_intervals_equal_those_of_leaving_out_each_unit() -> None:
    number = 14
    gold, first, second = made(0, number), made(1, number), made(2, number)
    for row in range(number):  # half of the tags are correct
        first[row][:3], second[row][1:4] = gold[row][:3], gold[row][1:4]
    whole = parts(gold, first, second, resamples=20)
    difference = present(whole["one"].exact.overall.f1) - present(whole["other"].exact.overall.f1)
    for rows in whole.comparisons[0].lead.values():
        assert sum(part.contribution for part in rows) == pytest.approx(difference)
    without = []
    for left in range(number):
        kept = [tags[:left] + tags[left + 1 :] for tags in (gold, first, second)]
        without.append(contributions(parts(*kept)))
    for part in whole.comparisons[0].lead["labels"]:
        values = np.array([row.get(part.name, 0.0) for row in without])
        error = np.sqrt((number - 1) / number * ((values - values.mean()) ** 2).sum())
        reach = float(t_quantile(number - 1)) * error
        expected = (part.contribution - reach, part.contribution + reach)
        assert part.interval == pytest.approx(expected, abs=1e-12)
