"""Compare pairs of annotators: the mentions, spans and labels they have in common, and how they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.agreement._jackknife import UnitPlan, added, merged, plain_t
from spanwise.agreement._shared import Cells, Presence, Shared
from spanwise.columns import Bools, Floats, Ints, codes, ints, plain, ratio
from spanwise.corpus import Mentions, Parts, joined_pieces
from spanwise.credits import credit_of
from spanwise.document import Interval
from spanwise.document.agreement import AgreementMeans, AgreementPair, LabelAgreement, Overlap, PairMean
from spanwise.matching import OUTCOMES, match

MOST_CELLS = 200_000  # pairs × documents up to which the result lists each document
_STACKED = 2_000_000  # number of mentions to match at once


def overlap(both: float, first: float, second: float) -> Overlap:
    """The counts of two annotators, with their F1."""
    return Overlap(
        both=int(both), first=int(first), second=int(second), f1=plain(ratio(2 * both, first + second))
    )


def kappa(diagonal: Floats, rows: Floats, columns: Floats) -> Floats:
    """Cohen's κ, for each row, from agreements and margins; NaN if nothing is counted, or chance is 1.

    Examples:
        >>> kappa(np.array([3.0]), np.array([[2.0, 2.0]]), np.array([[3.0, 1.0]])).tolist()
        [0.5]
    """
    whole = rows.sum(axis=1)
    observed = ratio(diagonal, whole)
    expected = (ratio(rows, whole[:, None]) * ratio(columns, whole[:, None])).sum(axis=1)
    return np.where(1 - expected > 1e-15, ratio(observed - expected, 1 - expected), np.nan)


def kappa_with_interval(cells: Cells, categories: int) -> tuple[float | None, Interval | None, str | None]:
    """Cohen's κ of cells of unit, first and second category, and its interval or the reason for none."""
    unit, first, second = cells.rows.T
    numbers, row = np.unique(unit, return_inverse=True)
    rows, columns = np.zeros((len(numbers), categories)), np.zeros((len(numbers), categories))
    np.add.at(rows, (row, first), cells.count)
    np.add.at(columns, (row, second), cells.count)
    same = first == second
    diagonal = np.bincount(row[same], weights=cells.count[same], minlength=len(numbers))
    value = plain(kappa(diagonal.sum(keepdims=True), rows.sum(axis=0)[None], columns.sum(axis=0)[None])[0])
    left = kappa(diagonal.sum() - diagonal, rows.sum(axis=0) - rows, columns.sum(axis=0) - columns)
    return value, *plain_t(value, left, most=1.0)


class PairSums(Struct, frozen=True, eq=False):
    """Sums over a block for pairs of annotators, in the order (0, 1), (0, 2) … (1, 2) …

    Fields named `…_theirs[i, j]` count the mentions of i in documents that j has.
    """

    document: Ints  # the number of each document of the block
    both: Ints  # documents × pairs
    sizes: Ints  # documents × annotators
    label_both: Ints  # labels × pairs
    label_theirs: Ints  # labels × annotators × annotators
    span_both: Ints  # pairs
    span_theirs: Ints  # annotators × annotators
    on_spans: Cells  # pair, unit, first label, second label, for spans that both marked exactly once
    outcomes: Ints  # ordered pairs × outcomes

    @classmethod
    def of(cls, block: Shared, plan: UnitPlan) -> PairSums:
        """Count a block."""
        n, distinct = len(block.annotators), block.distinct
        document, by = block.document[distinct.sentence], distinct.by[:n]
        present = block.present.astype(np.int64)
        both, sizes = _by_document(by, document, len(block.numbers))
        label_both, label_sizes = _by_label(by, document, distinct.label, block)
        span, span_document, labelled = _spans(block)
        spans = _by_document(span, span_document, len(block.numbers))
        return cls(
            block.numbers, both, sizes, label_both, ints(label_sizes @ present.T),
            ints(spans[0].sum(axis=0)), ints(spans[1].T @ present.T),
            _on_spans(labelled, plan.of_documents(block)[span_document]), _outcomes(block),
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: Sequence[PairSums]) -> PairSums:
        """Add up the sums of blocks with the same labels; a document may continue in the next block."""
        document, first = merged(ints(np.concatenate([part.document for part in parts])))
        return cls(
            document,
            added(ints(np.concatenate([part.both for part in parts])), first),
            added(ints(np.concatenate([part.sizes for part in parts])), first),
            ints(sum(part.label_both for part in parts)),
            ints(sum(part.label_theirs for part in parts)),
            ints(sum(part.span_both for part in parts)),
            ints(sum(part.span_theirs for part in parts)),
            Cells.joined([part.on_spans for part in parts]),
            ints(sum(part.outcomes for part in parts)),
        )

    def relabeled(self, new_code: Ints, labels: int) -> PairSums:
        """Replace each label code by `new_code[code]`, out of `labels` codes."""
        grown = []
        for column in (self.label_both, self.label_theirs):
            whole = np.zeros((labels, *column.shape[1:]), dtype=np.int64)
            whole[new_code] = column
            grown.append(ints(whole))
        cells = self.on_spans.renamed([2, 3], lambda code: new_code[code])
        return replace(self, label_both=grown[0], label_theirs=grown[1], on_spans=cells)


def _by_document(by: Bools, document: Ints, documents: int) -> tuple[Ints, Ints]:
    """By document: the mentions that each pair has in common, and those of each annotator."""
    n = len(by)
    columns = [
        np.bincount(document[by[i] & by[j]], minlength=documents) for i, j in combinations(range(n), 2)
    ]
    sizes = [np.bincount(document[own], minlength=documents) for own in by]
    return ints(np.stack(columns, axis=1)), ints(np.stack(sizes, axis=1))


def _by_label(by: Bools, document: Ints, label: Ints, block: Shared) -> tuple[Ints, Ints]:
    """By label: the mentions that each pair has in common, and those of each annotator by document."""
    n, labels, documents = len(by), len(block.labels), len(block.numbers)
    both = [np.bincount(label[by[i] & by[j]], minlength=labels) for i, j in combinations(range(n), 2)]
    cell = label * documents + document
    sizes = [np.bincount(cell[own], minlength=labels * documents).reshape(labels, documents) for own in by]
    return ints(np.stack(both, axis=1)), ints(np.stack(sizes, axis=1))


def pairs(
    presence: Presence,
    labels: Sequence[str],
    sums: PairSums,
    intervals: Sequence[Interval | None],
) -> tuple[AgreementPair, ...]:
    """The agreement of every pair of annotators, in the order given, with the intervals of their F1."""
    n = len(presence.annotators)
    present = presence.present
    theirs = sums.sizes.T @ present.T.astype(np.int64)
    fair = _fair(n, sums.outcomes)
    few = len(presence.documents) * n * (n - 1) / 2 <= MOST_CELLS
    marked = [code for code in range(len(labels)) if np.diagonal(sums.label_theirs[code]).any()]
    result = []
    for number, (i, j) in enumerate(combinations(range(n), 2)):
        common = present[i] & present[j]
        on_spans = sums.on_spans.where(number)
        label_kappa, ends, _ = kappa_with_interval(on_spans, len(labels))
        bounds = {"f1": intervals[number]} | ({"kappa": ends} if presence.by_document else {})
        documents = None
        if few:
            documents = {
                presence.documents[index]: overlap(sums.both[index, number], *sums.sizes[index, [i, j]])
                for index in np.flatnonzero(common).tolist()
            }
        result.append(
            AgreementPair(
                annotators=(presence.annotators[i], presence.annotators[j]),
                shared=int(common.sum()),
                overall=overlap(sums.both[:, number].sum(), theirs[i, j], theirs[j, i]),
                labels={
                    labels[code]: overlap(
                        sums.label_both[code, number],
                        sums.label_theirs[code, i, j],
                        sums.label_theirs[code, j, i],
                    )
                    for code in marked
                },
                documents=documents,
                spans=overlap(sums.span_both[number], sums.span_theirs[i, j], sums.span_theirs[j, i]),
                on_equal_spans=_on_equal_spans(on_spans, label_kappa),
                fair=fair[i, j],
                interval=bounds,
            )
        )
    return tuple(result)


def document_means(presence: Presence, sums: PairSums) -> dict[str, PairMean]:
    """For each document, the mean F1 over the pairs that have it."""
    first, second = np.triu_indices(len(presence.annotators), 1)
    result = {}
    for number, name in enumerate(presence.documents):
        has = presence.present[:, number]
        if has.sum() < 2:
            continue
        sizes = sums.sizes[number]
        chosen = has[first] & has[second]
        f1 = ratio(2 * sums.both[number], sizes[first] + sizes[second])
        result[name] = mean_of(f1[chosen])
    return result


def mean_of(values: Floats | Sequence[float | None]) -> PairMean:
    """Mean and population standard deviation of the defined values; a single value has none.

    Examples:
        >>> mean_of([0.5, None, 1.0]).std, mean_of([0.5]).std
        (0.25, None)
    """
    column = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    column = column[~np.isnan(column)]
    if not len(column):
        return PairMean(f1=None, std=None, pairs=0)
    return PairMean(
        f1=float(column.mean()), std=float(column.std()) if len(column) > 1 else None, pairs=len(column)
    )


def means(
    pairs: Sequence[AgreementPair], documents: Mapping[str, PairMean], interval: Interval | None
) -> AgreementMeans:
    """Means over pairs: for all mentions, with its interval, for spans, and for each label and document."""
    labels = pairs[0].labels
    return AgreementMeans(
        overall=replace(mean_of([pair.overall.f1 for pair in pairs]), interval={"f1": interval}),
        spans=mean_of([pair.spans.f1 for pair in pairs]),
        fair=mean_of([pair.fair for pair in pairs]),
        labels={name: mean_of([pair.labels[name].f1 for pair in pairs]) for name in labels},
        documents=dict(documents),
    )


def _spans(block: Shared) -> tuple[Bools, Ints, Ints]:
    """For each span: who marked it, its document, and each annotator's label (-1: none, -2: several)."""
    distinct, n = block.distinct, len(block.annotators)
    columns = (distinct.sentence, distinct.start, distinct.end, distinct.shape)
    new = np.ones(len(distinct), dtype=bool)
    if len(distinct):
        new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    number = np.cumsum(new) - 1
    size = int(new.sum())
    by = np.zeros((n, size), dtype=bool)
    label = np.full((n, size), -1, dtype=np.int64)
    for party in range(n):
        rows = np.flatnonzero(distinct.by[party])
        times = np.bincount(number[rows], minlength=size)
        by[party] = times > 0
        label[party, number[rows]] = distinct.label[rows]
        label[party, times > 1] = -2
    return by, block.document[distinct.sentence[new]], ints(label)


def _on_spans(labelled: Ints, unit: Ints) -> Cells:
    """The pairs of labels of the spans that both annotators of a pair marked exactly once, by unit."""
    parts = []
    for number, (i, j) in enumerate(combinations(range(len(labelled)), 2)):
        here = (labelled[i] >= 0) & (labelled[j] >= 0)
        first, second = labelled[i][here], labelled[j][here]
        parts.append(Cells.of(np.full(len(first), number), unit[here], first, second))
    return Cells.joined(parts)


def _on_equal_spans(cells: Cells, kappa: float | None) -> LabelAgreement:
    whole, equal = int(cells.count.sum()), int(cells.count[cells.rows[:, 1] == cells.rows[:, 2]].sum())
    return LabelAgreement(spans=whole, equal=equal, share=plain(ratio(equal, whole)), kappa=kappa)


def _outcomes(block: Shared) -> Ints:
    """The fair outcomes of each ordered pair.

    Equal mentions are always TP, so only the others need to be matched. Sentences are independent, so many
    pairs can be matched at once by giving each pair its own sentence numbers.
    """
    n = len(block.annotators)
    pair_number = {pair: number for number, pair in enumerate(_ordered(n))}
    counts = np.zeros((len(pair_number), len(OUTCOMES)), dtype=np.int64)
    numbers = _rows_of_distinct(block)
    batch: list[tuple[int, Mentions, Mentions]] = []
    size = 0
    for i, j in combinations(range(n), 2):
        both = block.present[i] & block.present[j]
        sides = []
        for own, other in ((i, j), (j, i)):
            mentions = block.mentions[own]
            here = both[block.document[mentions.sentence]]
            common = block.distinct.by[other, numbers[own]]
            counts[pair_number[own, other], 0] = (here & common).sum()
            sides.append(mentions.take(np.flatnonzero(here & ~common)))
        batch += [(pair_number[i, j], sides[0], sides[1]), (pair_number[j, i], sides[1], sides[0])]
        size += 2 * (len(sides[0]) + len(sides[1]))
        if size > _STACKED:
            counts += _matched(batch, len(block.corpus), len(pair_number))
            batch, size = [], 0
    return ints(counts + _matched(batch, len(block.corpus), len(pair_number)))


def _ordered(n: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(n) for j in range(n) if i != j]


def _fair(n: int, outcomes: Ints) -> dict[tuple[int, int], float | None]:
    """The fair F1 of each pair: the mean of both directions."""
    pair_number = {pair: number for number, pair in enumerate(_ordered(n))}
    right, false, missed = credit_of("fair").apply(outcomes.astype(np.float64))
    f1 = ratio(2 * right, 2 * right + false + missed)
    return {
        (i, j): plain((f1[pair_number[i, j]] + f1[pair_number[j, i]]) / 2)
        for i, j in combinations(range(n), 2)
    }


def pooled(outcomes: Ints) -> dict[str, int]:
    """The fair outcomes of all ordered pairs together."""
    counts = dict(zip(OUTCOMES, outcomes.sum(axis=0).tolist(), strict=True))
    counts["BE"] = counts["BEs"] + counts["BEl"] + counts["BEo"]
    return counts


def _rows_of_distinct(block: Shared) -> list[Ints]:
    """For each annotator, the index of each of their mentions among the distinct mentions."""
    distinct = block.distinct
    result = []
    for party, mentions in enumerate(block.mentions):
        rows = np.flatnonzero(distinct.by[party])
        # Distinct mentions are sorted by sentence, start, end, shape and label, so sort these alike.
        shape = np.zeros(len(mentions), dtype=np.int64)
        if mentions.parts is not None:
            shapes = {pieces: number for number, pieces in enumerate(distinct.pieces, start=1)}
            shape = ints([shapes.get(joined_pieces(own), 0) for own in mentions.pieces()])
        order = np.lexsort((mentions.label, shape, mentions.end, mentions.start, mentions.sentence))
        number = np.empty(len(mentions), dtype=np.int64)
        number[order] = rows
        result.append(ints(number))
    return result


def _matched(batch: Sequence[tuple[int, Mentions, Mentions]], sentences: int, pairs: int) -> Ints:
    """Match several ordered pairs at once, each with its own sentence numbers, and count outcomes."""
    result = np.zeros((pairs, len(OUTCOMES)), dtype=np.int64)
    if not batch:
        return ints(result)
    first = _stacked([mentions for _, mentions, _ in batch], sentences)
    second = _stacked([mentions for _, _, mentions in batch], sentences)
    events = match(first, second).events()
    sentence = np.where(
        events.gold >= 0,
        _at(first.sentence, events.gold),
        _at(second.sentence, events.predicted),
    )
    number = ints([number for number, _, _ in batch])[sentence // max(sentences, 1)]
    cell = number * len(OUTCOMES) + events.outcome
    return ints(result + np.bincount(cell, minlength=result.size).reshape(result.shape))


def _at(column: Ints, rows: Ints) -> Ints:
    return column[np.maximum(rows, 0)] if len(column) else np.zeros(len(rows), dtype=np.int64)


def _stacked(parts: Sequence[Mentions], sentences: int) -> Mentions:
    sizes = [len(part) for part in parts]
    shift = np.repeat(np.arange(len(parts)) * sentences, sizes)
    pieces = None
    if any(part.parts is not None for part in parts):
        pieces = Parts.of([own for part in parts for own in part.pieces()])
    whole = Mentions(
        sentence=np.concatenate([part.sentence for part in parts]) + shift,
        start=np.concatenate([part.start for part in parts]),
        end=np.concatenate([part.end for part in parts]),
        label=codes(np.concatenate([part.label for part in parts])),
        labels=parts[0].labels,
    )
    return whole if pieces is None else replace(whole, parts=pieces)
