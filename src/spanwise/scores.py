"""Scores: counts divided, once, at the end."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.buckets import UNPLACED
from spanwise.columns import Floats, ratio
from spanwise.counts import Counts
from spanwise.credits import Credit, credit_of
from spanwise.matching import relaxed_categories, relaxed_scores

Scores: TypeAlias = dict[str, Floats]

EXACT = ("gold", "predicted", "correct")
RECALL = ("mentions", "correct")
ACCURACY = ("tokens", "equal")
# How many errors of a kind were made in a first pass (a), and how many gold (b) and predicted (c)
# mentions they consumed alone.
GAIN_ROLES = {
    "LE": ("a",),
    "BE": ("a", "b", "c"),
    "LBE": ("a", "b", "c"),
    "FN": ("b",),
    "FP": ("c",),
}
_SUMMING = " with overall"  # the end of the name of a scorer that adds the sum over its cells
GAINS = (*EXACT, *(f"{kind}.{role}" for kind, roles in GAIN_ROLES.items() for role in roles))
_GAIN_PLACES = [  # by role the column of each kind, -1 where it has none
    [GAINS.index(f"{kind}.{role}") if role in roles else -1 for kind, roles in GAIN_ROLES.items()]
    for role in "abc"
]


class MeasureKey(Struct, frozen=True):
    """Which table of counts is meant: its kind, and the attribute, credit or error that it is about.

    Examples:
        >>> MeasureKey("attribute", "entity_length").name
        'attribute entity_length'
        >>> MeasureKey.of_name("attribute entity_length").attribute
        'entity_length'
    """

    kind: str
    attribute: str = ""

    @property
    def name(self) -> str:
        """The key as one string, as saved documents hold it and random numbers are seeded with it."""
        between = "/" if self.kind == "credits" else " "
        return f"{self.kind}{between}{self.attribute}" if self.attribute else self.kind

    @classmethod
    def of_name(cls, name: str) -> MeasureKey:
        """The key of a name in a saved document."""
        between = "/" if name.startswith("credits/") else " "
        kind, _, attribute = name.partition(between)
        return cls(kind, attribute)


class Measure(Struct, frozen=True, eq=False):
    """The scores of cells from one table of counts, and the place of each cell in the result.

    A scorer takes totals (… × counted cells × columns) and gives each score as
    (… × scored cells); it may add cells, such as the sum over labels. It is
    named, not held, so that a measure can be stored with its counts and read back.
    """

    key: MeasureKey
    counts: Counts
    scorer: str  # a name of `SCORERS`
    paths: tuple[tuple[str, ...], ...]  # of each scored cell
    family: str | None = None  # of tests; None: not tested
    tested: tuple[str, ...] = ()  # the scores that a comparison tests
    credit: str | None = None
    share: float = 1.0  # what one count is worth: 1/2 where events are halved between two labels
    unplaced: str = UNPLACED  # the bucket of an attribute that holds no values of it

    @property
    def name(self) -> str:
        """The key as one string."""
        return self.key.name

    def score(self, totals: Floats, only: Collection[str] = ()) -> Scores:
        """The scores of totals over the whole corpus or of many resamples at once; with `only`, those."""
        return SCORERS[self.scorer](totals, self, only)

    def sizes(self, totals: Floats, only: Collection[str] = ()) -> Scores:
        """The number of mentions that is the denominator of each score, 0 where the score is undefined."""
        return SIZES[self.scorer](totals, self, only)

    def values(self, only: Collection[str] = ()) -> Scores:
        """The scores over the whole corpus."""
        return self.score(self.counts.total.astype(np.float64), only)

    @property
    def cell_by_cell(self) -> Measure:
        """The same scores with the sum over all cells counted as a cell of its own, in front of them.

        Every cell is then scored by itself, except in averages, which need all of them.
        """
        if not self.scorer.endswith(_SUMMING):
            return self
        return replace(self, counts=self.counts.with_sum(), scorer=self.scorer.removesuffix(_SUMMING))

    def in_blocks(self, size: int) -> Measure:
        """The same scores from blocks of this many consecutive units."""
        return self if size == 1 else replace(self, counts=self.counts.in_blocks(size))

    def of_one_unit(self) -> Measure:
        """The same scores from totals alone."""
        return replace(self, counts=self.counts.as_one_unit())

    def of_paths(self, places: list[int]) -> Measure:
        """The scores at these places alone, of a measure with a cell for every path."""
        paths = tuple(self.paths[index] for index in places)
        return replace(self, counts=self.counts.of_cells(places), paths=paths)


def _chosen(parts: dict[str, Callable[[], Floats]], only: Collection[str]) -> Scores:
    """The parts of these names, or all; the others are not computed."""
    return {name: part() for name, part in parts.items() if not only or name in only}


def exact(totals: Floats, only: Collection[str] = ()) -> Scores:
    """Precision, recall and F1 of (gold, predicted, correct); undefined where the denominator is 0.

    Examples:
        >>> {name: value.tolist() for name, value in exact(np.array([[4, 2, 1]])).items()}
        {'precision': [0.5], 'recall': [0.25], 'f1': [0.3333333333333333]}
    """
    gold, predicted, correct = totals[..., 0], totals[..., 1], totals[..., 2]
    return _chosen(
        {
            "precision": lambda: ratio(correct, predicted),
            "recall": lambda: ratio(correct, gold),
            "f1": lambda: ratio(2 * correct, gold + predicted),
        },
        only,
    )


def with_overall(totals: Floats) -> Floats:
    """The totals with one more cell in front: all cells added up."""
    return np.concatenate([totals.sum(axis=-2, keepdims=True), totals], axis=-2)


def averages(totals: Floats, only: Collection[str] = ()) -> Scores:
    """Macro and support-weighted means over labels where a score is defined, as two cells.

    Labels that hold neither gold nor predicted mentions have no defined score and drop out.
    """
    support = totals[..., 0]
    scores = exact(totals, only)
    values = np.stack(list(scores.values()))
    defined = ~np.isnan(values)
    filled = np.where(defined, values, 0.0)
    macro = ratio(filled.sum(axis=-1), defined.sum(axis=-1))
    weights = np.where(defined, support, 0.0)
    weighted = ratio((filled * weights).sum(axis=-1), weights.sum(axis=-1))
    return dict(zip(scores, np.stack([macro, weighted], axis=-1), strict=True))


def accuracy(totals: Floats) -> Scores:
    """The share of tokens whose gold and predicted tags are equal."""
    return {"accuracy": ratio(totals[..., 1], totals[..., 0])}


def recall(totals: Floats) -> Scores:
    """The share of gold mentions that were found exactly."""
    return {"recall": ratio(totals[..., 1], totals[..., 0])}


def credited(totals: Floats, credit: Credit, *, share: float = 1.0, only: Collection[str] = ()) -> Scores:
    """Precision, recall and F1 after each outcome was credited as a share of TP, FP and FN."""
    right, false, missed = credit.apply(totals * share)
    return _chosen(
        {
            "precision": lambda: ratio(right, right + false),
            "recall": lambda: ratio(right, right + missed),
            "f1": lambda: ratio(2 * right, 2 * right + false + missed),
        },
        only,
    )


def gains(totals: Floats) -> Scores:
    """What exact F1 would gain if all errors of one kind were fixed, one cell per kind (definitions: gain).

    `2(TP+a+b)/(n+m+b-c) - 2TP/(n+m)`; columns as in `GAINS`, of a single cell.
    """
    # What a kind lacks is taken from a column of zeros after the others.
    padded = np.concatenate([totals[..., 0, :], np.zeros_like(totals[..., 0, :1])], axis=-1)
    gold, predicted, correct = (padded[..., index, None] for index in range(len(EXACT)))
    a, b, c = (padded[..., places] for places in _GAIN_PLACES)
    before = ratio(2 * correct, gold + predicted)
    return {"gain": ratio(2 * (correct + a + b), gold + predicted + b - c) - before}


def relaxed(totals: Floats) -> Scores:
    """Precision, recall and F1 under the schemes of MUC and SemEval-2013, one cell per scheme."""
    scores = relaxed_scores(relaxed_categories(totals[..., 0, :]))
    return {name: scores[name] for name in ("precision", "recall", "f1")}


def exact_sizes(totals: Floats, only: Collection[str] = ()) -> Scores:
    """The denominators of `exact` in mentions: half of gold and predicted together for F1."""
    gold, predicted = totals[..., 0], totals[..., 1]
    return _chosen(
        {"precision": lambda: predicted, "recall": lambda: gold, "f1": lambda: (gold + predicted) / 2}, only
    )


def average_sizes(totals: Floats, only: Collection[str] = ()) -> Scores:
    """The effective number of mentions of an average over labels: `1 / Σ(w² / n)` with the weights w of the
    labels.

    For the macro average of k labels that is `k² / Σ(1/n)`; labels without a defined score are ignored.
    """
    support = totals[..., 0]
    effective: Scores = {}
    for name, sizes in exact_sizes(totals, only).items():
        defined = sizes > 0
        inverse = np.where(defined, 1 / np.where(defined, sizes, 1.0), 0.0)
        alike = defined.astype(np.float64)
        # Labels with only predicted mentions have no support, but count in the score.
        supported = np.where(defined, support, 0.0).sum(axis=-1, keepdims=True) > 0
        both = [alike, np.where(supported, alike * support, alike)]
        worth = [ratio(weights.sum(axis=-1) ** 2, (weights**2 * inverse).sum(axis=-1)) for weights in both]
        effective[name] = np.nan_to_num(np.stack(worth, axis=-1))
    return effective


def credited_sizes(totals: Floats, credit: Credit, *, share: float = 1.0) -> Scores:
    """The denominators of `credited`, from the credited sums."""
    right, false, missed = credit.apply(totals * share)
    return {
        "precision": right + false,
        "recall": right + missed,
        "f1": right + (false + missed) / 2,
    }


def gain_sizes(totals: Floats) -> Scores:
    """Half of gold and predicted mentions, one cell per kind of error."""
    half = exact_sizes(totals)["f1"]
    return {"gain": np.broadcast_to(half, (*half.shape[:-1], len(GAIN_ROLES)))}


def relaxed_sizes(totals: Floats) -> Scores:
    """The denominators of `relaxed`."""
    scores = relaxed_scores(relaxed_categories(totals[..., 0, :]))
    actual, possible = scores["actual"], scores["possible"]
    return {"precision": actual, "recall": possible, "f1": (actual + possible) / 2}


class Fraction(Struct, frozen=True, eq=False):
    """A score as a fraction of weighted counts: weights of the columns above and below (columns × cells).

    With `less`, the score is the fraction minus that other one.
    """

    above: Floats
    below: Floats
    less: tuple[Floats, Floats] | None = None


def fraction(measure: Measure, score: str) -> Fraction:
    """How a score of one cell divides its counts; averages, which are not a single fraction, have none.

    Examples:
        >>> from spanwise.counts import Counts
        >>> none = Counts.of_matrix(["A"], EXACT, np.zeros((1, 3), int))
        >>> f1 = fraction(Measure(MeasureKey("exact"), none, "exact", ()), "f1")
        >>> f1.above[:, 0].tolist(), f1.below[:, 0].tolist()
        ([0.0, 0.0, 2.0], [1.0, 1.0, 0.0])
    """
    columns = measure.counts.columns
    each = np.eye(len(columns))
    if measure.scorer == "gains":
        gold, predicted, correct = (each[:, [index]] for index in range(len(EXACT)))
        padded = np.concatenate([each, np.zeros_like(gold)], axis=1)
        a, b, c = (padded[:, places] for places in _GAIN_PLACES)
        both = gold + predicted
        return Fraction(2 * (correct + a + b), both + b - c, (2 * correct, both))
    if measure.scorer.startswith("credited"):
        right, false, missed = credit_of(measure.credit or "fair").apply(each * measure.share)
        forms = {
            "precision": (right, right + false),
            "recall": (right, right + missed),
            "f1": (2 * right, 2 * right + false + missed),
        }
    elif measure.scorer in ("recall", "accuracy"):
        forms = {measure.scorer: (each[1], each[0])}
    else:
        forms = {
            "precision": (each[2], each[1]),
            "recall": (each[2], each[0]),
            "f1": (2 * each[2], each[0] + each[1]),
        }
    above, below = forms[score]
    return Fraction(above[:, None], below[:, None])


# By the name of a scorer: the number of mentions that each score is a share of.
SIZES: dict[str, Callable[[Floats, Measure, Collection[str]], Scores]] = {
    "exact": lambda totals, _, only: exact_sizes(totals, only),
    "exact with overall": lambda totals, _, only: exact_sizes(with_overall(totals), only),
    "averages": lambda totals, _, only: average_sizes(totals, only),
    "accuracy": lambda totals, _, only: {"accuracy": totals[..., 0]},
    "recall": lambda totals, _, only: {"recall": totals[..., 0]},
    "gains": lambda totals, _, only: gain_sizes(totals),
    "relaxed": lambda totals, _, only: relaxed_sizes(totals),
    "credited": lambda totals, measure, only: credited_sizes(
        totals, credit_of(measure.credit or "fair"), share=measure.share
    ),
    "credited with overall": lambda totals, measure, only: credited_sizes(
        with_overall(totals), credit_of(measure.credit or "fair"), share=measure.share
    ),
}

SCORERS: dict[str, Callable[[Floats, Measure, Collection[str]], Scores]] = {
    "exact": lambda totals, _, only: exact(totals, only),
    "exact with overall": lambda totals, _, only: exact(with_overall(totals), only),
    "averages": lambda totals, _, only: averages(totals, only),
    "accuracy": lambda totals, _, only: accuracy(totals),
    "recall": lambda totals, _, only: recall(totals),
    "gains": lambda totals, _, only: gains(totals),
    "relaxed": lambda totals, _, only: relaxed(totals),
    "credited": lambda totals, measure, only: credited(
        totals, credit_of(measure.credit or "fair"), share=measure.share, only=only
    ),
    "credited with overall": lambda totals, measure, only: credited(
        with_overall(totals), credit_of(measure.credit or "fair"), share=measure.share, only=only
    ),
}
