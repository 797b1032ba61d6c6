"""What two annotators have in common: mentions, spans, labels on equal spans, and kinds of disagreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from msgspec.structs import replace

from spanwise.agreement._shared import Shared
from spanwise.columns import Bools, Floats, Ints, codes, ints, plain, ratio
from spanwise.corpus import Mentions, Parts
from spanwise.credits import credit_of
from spanwise.document.dataset import AgreementMeans, AgreementPair, LabelAgreement, Overlap, PairMean
from spanwise.matching import OUTCOMES, match

MOST_CELLS = 200_000  # pairs × documents that the document lists one by one
_STACKED = 2_000_000  # mentions that are matched at once


def overlap(both: float, first: float, second: float) -> Overlap:
    """Counts of two annotators with their F1."""
    return Overlap(
        both=int(both), first=int(first), second=int(second), f1=plain(ratio(2 * both, first + second))
    )


def kappa(table: Floats) -> float | None:
    """Cohen's κ of a square table of counts; None where chance alone would agree always, or it is empty.

    Examples:
        >>> kappa(np.array([[2.0, 0.0], [1.0, 1.0]]))
        0.5
    """
    whole = table.sum()
    if not whole:
        return None
    observed = np.trace(table) / whole
    expected = float(((table.sum(axis=0) / whole) * (table.sum(axis=1) / whole)).sum())
    return plain(ratio(observed - expected, 1 - expected)) if 1 - expected > 1e-15 else None


def pairs(ground: Shared, fair: Mapping[tuple[int, int], float | None]) -> tuple[AgreementPair, ...]:
    """Every pair of annotators, in the order in which they were given."""
    n, distinct = len(ground.annotators), ground.distinct
    document = ground.document[distinct.sentence]
    by = distinct.by[:n]
    present = ground.present.astype(np.float64)
    overall = _Counts(by, document, present)
    labels = {
        name: _Counts(by[:, distinct.label == code], document[distinct.label == code], present)
        for code, name in enumerate(ground.labels)
        if (by[:, distinct.label == code]).any()
    }
    span, span_document, labelled = _spans(ground)
    spans = _Counts(span, span_document, present)
    listed = [
        (name, *overall.of_document(number)) for number, name in enumerate(ground.documents)
    ] if len(ground.documents) * n * (n - 1) / 2 <= MOST_CELLS else None  # fmt: skip
    result = []
    for i, j in combinations(range(n), 2):
        documents = None
        if listed is not None:
            documents = {
                name: overlap(both[i, j], sizes[i], sizes[j])
                for number, (name, both, sizes) in enumerate(listed)
                if ground.present[i, number] and ground.present[j, number]
            }
        result.append(
            AgreementPair(
                annotators=(ground.annotators[i], ground.annotators[j]),
                shared=int((ground.present[i] & ground.present[j]).sum()),
                overall=overall.pair(i, j),
                labels={name: counts.pair(i, j) for name, counts in labels.items()},
                documents=documents,
                spans=spans.pair(i, j),
                on_equal_spans=_on_equal_spans(labelled[i], labelled[j], len(ground.labels)),
                fair=fair.get((i, j)),
            )
        )
    return tuple(result)


class _Counts:
    """Mentions that pairs have in common, and those of each in the documents of the other."""

    def __init__(self, by: Bools, document: Ints, present: Floats) -> None:
        n, number = present.shape
        self.by, self.document = by.astype(np.float64), document
        cell = np.arange(n)[:, None] * number + document[None, :]
        sizes = np.bincount(cell[by], minlength=n * number).reshape(n, number)
        self.both = self.by @ self.by.T
        self.sizes = sizes.astype(np.float64)
        self.theirs = self.sizes @ present.T  # [i, j]: mentions of i in documents that j has

    def pair(self, i: int, j: int) -> Overlap:
        return overlap(self.both[i, j], self.theirs[i, j], self.theirs[j, i])

    def of_document(self, number: int) -> tuple[Floats, Floats]:
        """Common mentions of all pairs in one document, and everybody's own."""
        begin, end = np.searchsorted(self.document, [number, number + 1])
        here = self.by[:, begin:end]
        return here @ here.T, self.sizes[:, number]


def document_means(ground: Shared) -> dict[str, PairMean]:
    """Mean F1 over the pairs that have each document."""
    distinct, n = ground.distinct, len(ground.annotators)
    counts = _Counts(distinct.by[:n], ground.document[distinct.sentence], ground.present.astype(np.float64))
    upper = np.triu(np.ones((n, n), dtype=bool), 1)
    result = {}
    for number, name in enumerate(ground.documents):
        has = ground.present[:, number]
        if has.sum() < 2:
            continue
        both, sizes = counts.of_document(number)
        chosen = upper & has[:, None] & has[None, :]
        result[name] = mean_of(ratio(2 * both, sizes[:, None] + sizes[None, :])[chosen])
    return result


def mean_of(values: Floats | Sequence[float | None]) -> PairMean:
    """Mean and population standard deviation of the defined values.

    Examples:
        >>> mean_of([0.5, None, 1.0])
        PairMean(f1=0.75, std=0.25, pairs=2)
    """
    column = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    column = column[~np.isnan(column)]
    if not len(column):
        return PairMean(f1=None, std=None, pairs=0)
    return PairMean(f1=float(column.mean()), std=float(column.std()), pairs=len(column))


def means(found: Sequence[AgreementPair], documents: Mapping[str, PairMean]) -> AgreementMeans:
    """Means over pairs: of all mentions, of spans, of each label and document."""
    labels = found[0].labels
    return AgreementMeans(
        overall=mean_of([pair.overall.f1 for pair in found]),
        spans=mean_of([pair.spans.f1 for pair in found]),
        fair=mean_of([pair.fair for pair in found]),
        labels={name: mean_of([pair.labels[name].f1 for pair in found]) for name in labels},
        documents=dict(documents),
    )


def _spans(ground: Shared) -> tuple[Bools, Ints, Ints]:
    """Who marked each span with any label, its document, and everyone's label (-1: none, -2: several)."""
    distinct, n = ground.distinct, len(ground.annotators)
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
    return by, ground.document[distinct.sentence[new]], ints(label)


def _on_equal_spans(first: Ints, second: Ints, labels: int) -> LabelAgreement:
    here = (first >= 0) & (second >= 0)
    counts = np.bincount(first[here] * labels + second[here], minlength=labels * labels)
    table = counts.reshape(labels, labels).astype(np.float64)
    whole, equal = int(table.sum()), int(np.trace(table))
    return LabelAgreement(spans=whole, equal=equal, share=plain(ratio(equal, whole)), kappa=kappa(table))


def fair_outcomes(ground: Shared) -> tuple[dict[tuple[int, int], float | None], dict[str, int]]:
    """Fair F1 of each pair, the mean of both directions, and fair outcomes pooled over ordered pairs.

    Equal mentions are TP whatever else there is, so that only the others are matched; sentences share no
    position, so that many pairs are matched at once, each with sentences of its own.
    """
    n = len(ground.annotators)
    ordered = [(i, j) for i in range(n) for j in range(n) if i != j]
    place = {pair: number for number, pair in enumerate(ordered)}
    counts = np.zeros((len(ordered), len(OUTCOMES)))
    numbers = _rows_of_distinct(ground)
    batch: list[tuple[int, Mentions, Mentions]] = []
    size = 0
    for i, j in combinations(range(n), 2):
        both = ground.present[i] & ground.present[j]
        sides = []
        for own, other in ((i, j), (j, i)):
            mentions = ground.mentions[own]
            here = both[ground.document[mentions.sentence]]
            common = ground.distinct.by[other, numbers[own]]
            counts[place[own, other], 0] = (here & common).sum()
            sides.append(mentions.take(np.flatnonzero(here & ~common)))
        batch += [(place[i, j], sides[0], sides[1]), (place[j, i], sides[1], sides[0])]
        size += 2 * (len(sides[0]) + len(sides[1]))
        if size > _STACKED:
            counts += _matched(batch, len(ground.corpus), len(ordered))
            batch, size = [], 0
    counts += _matched(batch, len(ground.corpus), len(ordered))
    right, false, missed = credit_of("fair").apply(counts)
    f1 = ratio(2 * right, 2 * right + false + missed)
    fair = {(i, j): plain((f1[place[i, j]] + f1[place[j, i]]) / 2) for i, j in combinations(range(n), 2)}
    pooled = dict(zip(OUTCOMES, counts.sum(axis=0).astype(int).tolist(), strict=True))
    pooled["BE"] = pooled["BEs"] + pooled["BEl"] + pooled["BEo"]
    return fair, pooled


def _rows_of_distinct(ground: Shared) -> list[Ints]:
    """By annotator: the number among the distinct mentions of each of their mentions."""
    distinct = ground.distinct
    result = []
    for party, mentions in enumerate(ground.mentions):
        rows = np.flatnonzero(distinct.by[party])
        # Distinct mentions stand by sentence, start, end, shape and label; so are ours ranked here.
        shape = np.zeros(len(mentions), dtype=np.int64)
        if mentions.parts is not None:
            known = {pieces: number for number, pieces in enumerate(distinct.pieces, start=1)}
            shape = ints([known.get(_cover(own), 0) for own in mentions.pieces()])
        order = np.lexsort((mentions.label, shape, mentions.end, mentions.start, mentions.sentence))
        number = np.empty(len(mentions), dtype=np.int64)
        number[order] = rows
        result.append(ints(number))
    return result


def _cover(pieces: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    from spanwise.corpus import joined_pieces

    return joined_pieces(pieces)


def _matched(batch: Sequence[tuple[int, Mentions, Mentions]], sentences: int, pairs: int) -> Floats:
    """Outcomes of several ordered pairs, matched as if each had sentences of its own."""
    result = np.zeros((pairs, len(OUTCOMES)))
    if not batch:
        return result
    first = _stacked([one for _, one, _ in batch], sentences)
    second = _stacked([other for _, _, other in batch], sentences)
    events = match(first, second).events()
    sentence = np.where(
        events.gold >= 0,
        _at(first.sentence, events.gold),
        _at(second.sentence, events.predicted),
    )
    number = ints([number for number, _, _ in batch])[sentence // max(sentences, 1)]
    cell = number * len(OUTCOMES) + events.outcome
    return result + np.bincount(cell, minlength=result.size).reshape(result.shape)


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
