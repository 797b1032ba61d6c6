"""The CRF compared with enumeration of all paths, in values and gradients, and at its limits."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Literal, NamedTuple, TypeAlias

import pytest

pytest.importorskip("torch", reason="the extra 'zoo' is not installed")

import torch
from torch import Tensor

from spanwise_taggers import crf

Way: TypeAlias = Literal["chain", "tree"]
LENGTHS = (5, 3, 1, 0)
SCALES = [(1.0, 1.0), (60.0, 20.0)]


class Scores(NamedTuple):
    """The scores of a CRF, in the order of its arguments."""

    emissions: Tensor
    transitions: Tensor
    start: Tensor
    end: Tensor


def problem(scale: tuple[float, float]) -> tuple[Scores, Tensor]:
    """Random scores for rows of several lengths, and their mask."""
    drawn = torch.Generator().manual_seed(3)
    size, time = 3, max(LENGTHS)
    shapes = [(len(LENGTHS), time, size), (size, size), (size,), (size,)]
    factors = [scale[0], scale[1], 1.0, 1.0]
    scores = Scores._make(
        (torch.randn(shape, generator=drawn, dtype=torch.float64) * factor).requires_grad_()
        for shape, factor in zip(shapes, factors, strict=True)
    )
    return scores, torch.arange(time) < torch.tensor(LENGTHS)[:, None]


def paths(scores: Scores, row: int) -> tuple[list[tuple[int, ...]], Tensor]:
    """All paths of a row, and their scores."""
    emissions, transitions, start, end = scores
    listed = list(product(range(3), repeat=LENGTHS[row]))
    totals = []
    for path in listed:
        total = start[path[0]] + end[path[-1]]
        for position, tag in enumerate(path):
            total = total + emissions[row, position, tag]
        for before, after in pairwise(path):
            total = total + transitions[before, after]
        totals.append(total)
    return listed, torch.stack(totals)


def enumerated(scores: Scores) -> Tensor:
    """The log partition of every row by enumeration; 0 for an empty row."""
    return torch.stack(
        [
            torch.logsumexp(paths(scores, row)[1], 0) if length else torch.zeros((), dtype=torch.float64)
            for row, length in enumerate(LENGTHS)
        ]
    )


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("way", ["chain", "tree"])
def test_the_log_partition_and_its_gradient_equal_enumeration(scale: tuple[float, float], way: Way) -> None:
    scores, mask = problem(scale)
    weight = torch.tensor([1.0, -2.0, 3.0, 4.0], dtype=torch.float64)
    expected = enumerated(scores)
    expected_gradient = torch.autograd.grad((expected * weight).sum(), scores)
    partition = crf.log_partition(*scores, mask, way=way)
    gradient = torch.autograd.grad((partition * weight).sum(), scores)
    torch.testing.assert_close(partition, expected)
    for actual, expected_part in zip(gradient, expected_gradient, strict=True):
        torch.testing.assert_close(actual, expected_part, atol=1e-10, rtol=1e-8)


@pytest.mark.parametrize("scale", SCALES)
def test_the_best_path_is_the_best_of_all(scale: tuple[float, float]) -> None:
    scores, mask = problem(scale)
    best = crf.best_path(*scores, mask)
    for row, length in enumerate(LENGTHS):
        assert best[row, length:].tolist() == [0] * (max(LENGTHS) - length)
        if length:
            listed, totals = paths(scores, row)
            assert tuple(best[row, :length].tolist()) == listed[int(totals.argmax())]


def test_the_score_of_a_path_is_its_sum() -> None:
    scores, mask = problem((1.0, 1.0))
    listed, totals = paths(scores, 0)
    tags = torch.zeros((len(LENGTHS), max(LENGTHS)), dtype=torch.int64)
    tags[0] = torch.tensor(listed[100])
    path_score = crf.score(*scores, tags, mask)
    torch.testing.assert_close(path_score[0], totals[100])
    assert path_score[3] == 0


def test_marginals_add_up_to_one_and_are_the_shares_of_paths() -> None:
    scores, mask = problem((1.0, 1.0))
    marginals = crf.marginals(*scores, mask)
    torch.testing.assert_close(marginals.sum(2), mask.double())
    listed, totals = paths(scores, 1)
    share = torch.softmax(totals, 0)
    expected = sum(value for path, value in zip(listed, share, strict=True) if path[2] == 1)
    torch.testing.assert_close(marginals[1, 2, 1], expected)


@pytest.mark.parametrize("way", ["chain", "tree"])
def test_long_rows_in_single_precision_stay_close_to_double(way: Way) -> None:
    drawn = torch.Generator().manual_seed(1)
    shapes = [(2, 512, 9), (9, 9), (9,), (9,)]
    scores = Scores._make(torch.randn(shape, generator=drawn) * 5 for shape in shapes)
    mask = torch.ones(2, 512, dtype=torch.bool)
    exact = crf.log_partition(*Scores._make(part.double() for part in scores), mask)
    partition = crf.log_partition(*scores, mask, way=way)
    torch.testing.assert_close(partition.double(), exact, rtol=1e-5, atol=0)
