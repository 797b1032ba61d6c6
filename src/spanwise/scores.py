"""Scores, computed by dividing counts once, at the end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.buckets import UNPLACED
from spanwise.columns import Floats, ratio
from spanwise.counts import Counts
from spanwise.credits import Credit, credit_of
from spanwise.matching import relaxed_categories, relaxed_scores
from spanwise.rates import LEAK_COUNTS, LEAK_RATES, RATES, Rate, rate

Scores: TypeAlias = dict[str, Floats]
Addend: TypeAlias = Floats | float  # a number, or one per cell

EXACT = ("gold", "predicted", "correct")
RECALL = ("mentions", "correct")
ACCURACY = ("tokens", "equal")
# How many errors of a kind were made in a first pass (a), and how many gold (b) and predicted (c)
# mentions they used up on their own.
GAIN_ROLES = {
    "LE": ("a",),
    "BE": ("a", "b", "c"),
    "LBE": ("a", "b", "c"),
    "FN": ("b",),
    "FP": ("c",),
}
_SUMMING = " with overall"  # suffix of the scorers that add the sum over their cells
GAINS = (*EXACT, *(f"{kind}.{role}" for kind, roles in GAIN_ROLES.items() for role in roles))
_GAIN_COLUMNS = [  # for each role, the column of each kind of error; -1 where it has none
    [GAINS.index(f"{kind}.{role}") if role in roles else -1 for kind, roles in GAIN_ROLES.items()]
    for role in "abc"
]


class MeasureKey(Struct, frozen=True):
    """The key of a table of counts: its kind, and the attribute, credit or error it is about.

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
        """The key as one string, as used in saved documents and to seed random numbers."""
        separator = "/" if self.kind == "credits" else " "
        return f"{self.kind}{separator}{self.attribute}" if self.attribute else self.kind

    @classmethod
    def of_name(cls, name: str) -> MeasureKey:
        """Parse the name of a key in a saved document."""
        separator = "/" if name.startswith("credits/") else " "
        kind, _, attribute = name.partition(separator)
        return cls(kind, attribute)


class Measure(Struct, frozen=True, eq=False):
    """A table of counts, how its cells are scored, and where each scored cell goes in the result.

    A scorer takes totals (… × counted cells × columns) and returns each score as
    (… × scored cells); it may add cells, such as the sum over labels. It is referred to
    by name, so that a measure can be saved with its counts and loaded again.
    """

    key: MeasureKey
    counts: Counts
    scorer: str  # a key of `SCORERS`
    paths: tuple[tuple[str, ...], ...]  # where each scored cell goes in the document
    family: str | None = None  # the family of tests it belongs to; None: not tested
    tested: tuple[str, ...] = ()  # the scores that a comparison tests
    credit: str | None = None
    share: float = 1.0  # what one count is worth: 1/2 where events are halved between two labels
    unplaced: str = UNPLACED  # the name of the bucket for mentions without a value
    scores: tuple[str, ...] = tuple(RATES)  # those of exact and credited counts, and of their averages

    @property
    def name(self) -> str:
        """The key as one string."""
        return self.key.name

    def score(self, totals: Floats, only: Collection[str] = ()) -> Scores:
        """The scores for totals over the corpus or over many resamples; `only` limits which are computed."""
        return SCORERS[self.scorer](totals, self, only or self.scores)

    def sizes(self, totals: Floats, only: Collection[str] = ()) -> Scores:
        """The denominator of each score in mentions; 0 where the score is undefined."""
        return SIZES[self.scorer](totals, self, only or self.scores)

    def edge_sizes(self, totals: Floats) -> Scores:
        """The n of Wilson's interval of each score where it is 0 or 1: the denominator, if not of leaks."""
        return leak_edges(totals, self.scores) if self.scorer == "leaks" else self.sizes(totals)

    def values(self, only: Collection[str] = ()) -> Scores:
        """The scores over the whole corpus."""
        return self.score(self.counts.total.astype(np.float64), only)

    @property
    def cell_by_cell(self) -> Measure:
        """The same measure with the sum over all cells stored as an extra cell in front.

        Every cell is then scored on its own, except in averages, which need all cells.
        """
        if not self.scorer.endswith(_SUMMING):
            return self
        return replace(self, counts=self.counts.with_sum(), scorer=self.scorer.removesuffix(_SUMMING))

    def with_rates(self, names: tuple[str, ...]) -> Measure:
        """The same measure with further scores of exact counts, of which overall ones are tested."""
        if self.scorer.removesuffix(_SUMMING) not in ("exact", "averages"):
            return self
        tested = names if self.key.kind == "exact" else ()
        return replace(self, scores=(*self.scores, *names), tested=(*self.tested, *tested))

    def in_blocks(self, size: int) -> Measure:
        """The same measure over blocks of `size` consecutive units."""
        return self if size == 1 else replace(self, counts=self.counts.in_blocks(size))

    def of_one_unit(self) -> Measure:
        """The same measure with only the total counts, as a single unit."""
        return replace(self, counts=self.counts.as_one_unit())

    def select_paths(self, indices: list[int]) -> Measure:
        """Only the cells at these positions, for a measure with one counted cell per path."""
        paths = tuple(self.paths[index] for index in indices)
        return replace(self, counts=self.counts.select_cells(indices), paths=paths)


def _weights(score: Rate) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The weights of a score above and below the line, of the counts in `EXACT`.

    Missed mentions are gold ones that are not correct, false ones are predicted ones that are not correct.
    """

    def of_counts(weights: Sequence[float]) -> tuple[float, ...]:
        right, false, missed = weights
        return missed, false, right - false - missed

    return of_counts(score.above), of_counts(score.below)


def _weighted(counts: Sequence[Floats], weights: Sequence[float]) -> Floats:
    """The weighted sum of counts, in their order."""
    terms = [
        count if weight == 1 else weight * count
        for count, weight in zip(counts, weights, strict=True)
        if weight
    ]
    return np.asarray(sum(terms[1:], start=terms[0]))


def exact(totals: Floats, only: Collection[str] = ()) -> Scores:
    """Precision, recall and F1 of (gold, predicted, correct); undefined where the denominator is 0.

    Args:
        only: the names of the scores, which may also be other F-betas.

    Examples:
        >>> {name: value.tolist() for name, value in exact(np.array([[4, 2, 1]])).items()}
        {'precision': [0.5], 'recall': [0.25], 'f1': [0.3333333333333333]}
    """
    counts = [totals[..., column] for column in range(len(EXACT))]
    result = {}
    for name in only or RATES:
        above, below = _weights(rate(name))
        result[name] = ratio(_weighted(counts, above), _weighted(counts, below))
    return result


def with_overall(totals: Floats) -> Floats:
    """The totals with the sum over all cells added as a cell in front."""
    return np.concatenate([totals.sum(axis=-2, keepdims=True), totals], axis=-2)


def averages(totals: Floats, only: Collection[str] = ()) -> Scores:
    """Macro and support-weighted averages over the labels whose score is defined, as two cells.

    Labels with neither gold nor predicted mentions have no defined score and are left out.
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
    """Precision, recall and F1 with each outcome credited as shares of TP, FP and FN."""
    parts = credit.apply(totals * share)
    return {
        name: ratio(_weighted(parts, score.above), _weighted(parts, score.below))
        for name in only or RATES
        for score in [rate(name)]
    }


def gains(totals: Floats) -> Scores:
    """How much exact F1 would rise if all errors of a kind were fixed, one cell per kind (definitions: gain).

    `2(TP+a+b)/(n+m+b-c) - 2TP/(n+m)`; `totals` has the columns in `GAINS` and a single cell.
    """
    # Roles that a kind does not have are read from an extra column of zeros at the end.
    padded = np.concatenate([totals[..., 0, :], np.zeros_like(totals[..., 0, :1])], axis=-1)
    gold, predicted, correct = (padded[..., index, None] for index in range(len(EXACT)))
    a, b, c = (padded[..., columns] for columns in _GAIN_COLUMNS)
    return {"gain": gain(gold, predicted, correct, a, b, c)}


def gain(gold: Addend, predicted: Addend, correct: Addend, a: Addend, b: Addend, c: Addend) -> Floats:
    """How much exact F1 would rise if errors were fixed that play these roles (see `GAIN_ROLES`).

    Examples:
        >>> float(gain(4, 4, 2, 1, 0, 0))  # 3 of 4 right instead of 2
        0.25
    """
    return ratio(2 * (correct + a + b), gold + predicted + b - c) - ratio(2 * correct, gold + predicted)


def relaxed(totals: Floats) -> Scores:
    """Precision, recall and F1 under the schemes of MUC and SemEval-2013, one cell per scheme."""
    scores = relaxed_scores(relaxed_categories(totals[..., 0, :]))
    return {name: scores[name] for name in ("precision", "recall", "f1")}


def exact_sizes(totals: Floats, only: Collection[str] = ()) -> Scores:
    """The denominators of `exact` in mentions; for F1, half of gold plus predicted."""
    counts = [totals[..., column] for column in range(len(EXACT))]
    return {
        name: _per_right(_weighted(counts, _weights(score)[1]), score)
        for name in only or RATES
        for score in [rate(name)]
    }


def _per_right(below: Floats, score: Rate) -> Floats:
    """The mentions behind a score: the sum below the line, per weight of a right mention above it."""
    return below if score.above[0] == 1 else below / score.above[0]


def average_sizes(totals: Floats, only: Collection[str] = ()) -> Scores:
    """The effective number of mentions behind an average over labels: `1 / Σ(w² / n)`, w the weights.

    For the macro average of k labels this is `k² / Σ(1/n)`; labels without a defined score are ignored.
    """
    support = totals[..., 0]
    effective: Scores = {}
    for name, sizes in exact_sizes(totals, only).items():
        defined = sizes > 0
        inverse = np.where(defined, 1 / np.where(defined, sizes, 1.0), 0.0)
        equal = defined.astype(np.float64)
        # Labels with only predicted mentions have no support, but still count in the score.
        supported = np.where(defined, support, 0.0).sum(axis=-1, keepdims=True) > 0
        weightings = [equal, np.where(supported, equal * support, equal)]
        averaged = [
            ratio(weights.sum(axis=-1) ** 2, (weights**2 * inverse).sum(axis=-1)) for weights in weightings
        ]
        effective[name] = np.nan_to_num(np.stack(averaged, axis=-1))
    return effective


def credited_sizes(
    totals: Floats, credit: Credit, *, share: float = 1.0, only: Collection[str] = ()
) -> Scores:
    """The denominators of `credited`, in credited mentions."""
    parts = credit.apply(totals * share)
    return {
        name: _per_right(_weighted(parts, score.below), score)
        for name in only or RATES
        for score in [rate(name)]
    }


def gain_sizes(totals: Floats) -> Scores:
    """The denominator of gains: half of gold plus predicted mentions, one cell per kind of error."""
    half = exact_sizes(totals)["f1"]
    return {"gain": np.broadcast_to(half, (*half.shape[:-1], len(GAIN_ROLES)))}


def relaxed_sizes(totals: Floats) -> Scores:
    """The denominators of `relaxed`."""
    scores = relaxed_scores(relaxed_categories(totals[..., 0, :]))
    actual, possible = scores["actual"], scores["possible"]
    return {"precision": actual, "recall": possible, "f1": (actual + possible) / 2}


def _leak_sum(totals: Floats, *columns: str) -> Floats:
    """The sum of some columns of counts of leaks."""
    return np.asarray(sum(totals[..., LEAK_COUNTS.index(column)] for column in columns))


def leaks(totals: Floats, only: Collection[str] = ()) -> Scores:
    """The rates of leaks and of masking without need; `totals` has the columns in `LEAK_COUNTS`."""
    return {
        name: ratio(_leak_sum(totals, *LEAK_RATES[name].above), _leak_sum(totals, LEAK_RATES[name].below))
        for name in only or LEAK_RATES
    }


def leak_sizes(totals: Floats, only: Collection[str] = ()) -> Scores:
    """The denominators of `leaks`."""
    return {name: _leak_sum(totals, LEAK_RATES[name].below) for name in only or LEAK_RATES}


def leak_edges(totals: Floats, only: Collection[str] = ()) -> Scores:
    """What Wilson's interval counts for `leaks`: mentions rather than positions, spans, documents."""
    return {name: _leak_sum(totals, LEAK_RATES[name].size) for name in only or LEAK_RATES}


class Fraction(Struct, frozen=True, eq=False):
    """A score as a ratio of weighted counts: column weights above and below the line (columns × cells).

    With `less`, a second fraction is subtracted from the first.
    """

    above: Floats
    below: Floats
    less: tuple[Floats, Floats] | None = None


def fraction(measure: Measure, score: str) -> Fraction:
    """Express a score of one cell as a fraction.

    Raises:
        ValueError: the score is not a single fraction of counts of one cell, as averages and relaxed scores.

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
        a, b, c = (padded[:, columns_of_role] for columns_of_role in _GAIN_COLUMNS)
        mentions = gold + predicted
        return Fraction(2 * (correct + a + b), mentions + b - c, (2 * correct, mentions))
    scorer = measure.scorer.removesuffix(_SUMMING)
    if scorer in ("recall", "accuracy"):
        return Fraction(each[1][:, None], each[0][:, None])
    if scorer == "leaks":
        leak = LEAK_RATES[score]
        above = np.array([[float(name in leak.above)] for name in columns])
        return Fraction(above, np.array([[float(name == leak.below)] for name in columns]))
    if scorer not in ("credited", "exact"):
        raise ValueError(f"the scores of {measure.scorer!r} are not single fractions")
    declared = rate(score)
    if scorer == "exact":
        above, below = (np.array(side, dtype=np.float64)[:, None] for side in _weights(declared))
        return Fraction(above, below)
    parts = credit_of(measure.credit or "fair").apply(each * measure.share)
    return Fraction(_weighted(parts, declared.above)[:, None], _weighted(parts, declared.below)[:, None])


# For each scorer, the denominator of each of its scores, in mentions.
SIZES: dict[str, Callable[[Floats, Measure, Collection[str]], Scores]] = {
    "exact": lambda totals, _, only: exact_sizes(totals, only),
    "exact with overall": lambda totals, _, only: exact_sizes(with_overall(totals), only),
    "averages": lambda totals, _, only: average_sizes(totals, only),
    "accuracy": lambda totals, _, only: {"accuracy": totals[..., 0]},
    "recall": lambda totals, _, only: {"recall": totals[..., 0]},
    "gains": lambda totals, _, only: gain_sizes(totals),
    "relaxed": lambda totals, _, only: relaxed_sizes(totals),
    "leaks": lambda totals, _, only: leak_sizes(totals, only),
    "credited": lambda totals, measure, only: credited_sizes(
        totals, credit_of(measure.credit or "fair"), share=measure.share, only=only
    ),
    "credited with overall": lambda totals, measure, only: credited_sizes(
        with_overall(totals), credit_of(measure.credit or "fair"), share=measure.share, only=only
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
    "leaks": lambda totals, _, only: leaks(totals, only),
    "credited": lambda totals, measure, only: credited(
        totals, credit_of(measure.credit or "fair"), share=measure.share, only=only
    ),
    "credited with overall": lambda totals, measure, only: credited(
        with_overall(totals), credit_of(measure.credit or "fair"), share=measure.share, only=only
    ),
}
