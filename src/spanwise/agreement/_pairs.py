"""Pairs of annotators, the majority of several, and the gold that follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.agreement._shared import Shared
from spanwise.columns import Bools, Floats, Ints, codes, floats, ints, offsets, plain, ratio
from spanwise.corpus import Annotation, Corpus, Mentions, Parts, Reading
from spanwise.credits import credit_of
from spanwise.document.dataset import (
    AgreementMeans,
    AgreementPair,
    HumanCeiling,
    LabelAgreement,
    MajorityCounts,
    Overlap,
    PairMean,
    SystemBesideCeiling,
)
from spanwise.document.head import Interval
from spanwise.errors import ChoiceError, InputError
from spanwise.formats import read_sheet
from spanwise.intervals import Jackknife
from spanwise.matching import OUTCOMES, match
from spanwise.spreadsheet import to_csv

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


class Votes(Struct, frozen=True, eq=False):
    """The votes for each distinct mention, and how many annotators have its document."""

    votes: Ints
    voters: Ints
    accepted: Bools
    tied: Bools


def count_votes(ground: Shared, least: int | None) -> Votes:
    """More than half of the votes accept a mention, or at least `least` where it is given.

    Only documents that two annotators or more have count. Ties are not accepted.
    """
    n = len(ground.annotators)
    if least is not None and not 1 <= least <= n:
        raise ChoiceError(f"votes is {least}, but must be from 1 to {n}, the number of annotators.")
    distinct = ground.distinct
    votes = ints(distinct.by[:n].sum(axis=0))
    voters = ints(ground.present.sum(axis=0)[ground.document[distinct.sentence]])
    shared = voters >= 2
    tied = shared & (2 * votes == voters)
    accepted = shared & (2 * votes > voters)
    if least is not None:
        accepted = shared & (votes >= least)
        tied = np.zeros(len(votes), dtype=bool)
    return Votes(votes, voters, np.asarray(accepted), np.asarray(tied))


def majority_counts(ground: Shared, votes: Votes, least: int | None) -> MajorityCounts:
    """How many mentions each fate has, over the documents that two annotators or more have."""
    shared = (votes.voters >= 2) & (votes.votes > 0)
    return MajorityCounts(
        rule="more than half" if least is None else f"at least {least}",
        documents=int((ground.present.sum(axis=0) >= 2).sum()),
        accepted=int(votes.accepted.sum()),
        unanimous=int((shared & (votes.votes == votes.voters)).sum()),
        tied=int(votes.tied.sum()),
        rejected=int((shared & ~votes.accepted & ~votes.tied).sum()),
    )


class _Targets(Struct, frozen=True, eq=False):
    """For each annotator the majority of the others, and the units that intervals rest on."""

    majority: Bools  # annotators × distinct mentions
    counts: Bools  # annotators × documents: those an annotator shares with another
    unit: Ints  # of each distinct mention
    units: int


def targets(ground: Shared, votes: Votes) -> _Targets:
    """The majority of the other annotators, for each annotator, in the documents shared with another."""
    n = len(ground.annotators)
    distinct = ground.distinct
    document = ground.document[distinct.sentence]
    counts = ground.present & (ground.present.sum(axis=0) >= 2)
    others = votes.votes[None, :] - distinct.by[:n]
    majority = (2 * others > (votes.voters - 1)[None, :]) & counts[:, document]
    by_document = ground.marked and int((ground.present.sum(axis=0) >= 2).sum()) >= 2
    unit = document if by_document else distinct.sentence
    units = len(ground.documents) if by_document else len(ground.corpus)
    return _Targets(majority, np.asarray(counts), ints(unit), units)


def ceiling(ground: Shared, target: _Targets) -> HumanCeiling:
    """F1 of each annotator against the majority of the others, and the mean with its interval."""
    n = len(ground.annotators)
    document = ground.document[ground.distinct.sentence]
    own = ground.distinct.by[:n] & target.counts[:, document]
    table = _table(own, target.majority, target)
    values = _f1(table.sum(axis=2))
    mean, interval, why = _with_interval(table)
    return HumanCeiling(
        mean=mean,
        annotators={name: plain(value) for name, value in zip(ground.annotators, values, strict=True)},
        interval={"mean": interval},
        why=why,
    )


def beside(ground: Shared, target: _Targets, votes: Votes) -> dict[str, SystemBesideCeiling]:
    """Each system against the same majorities, in the documents that it has."""
    n = len(ground.annotators)
    document = ground.document[ground.distinct.sentence]
    shared = ground.present.sum(axis=0) >= 2
    result = {}
    for number, name in enumerate(ground.systems):
        has = ground.system_present[number]
        here = has[document]
        predicted = ground.distinct.by[n + number]
        own = predicted[None, :] & target.counts[:, document] & here[None, :]
        table = _table(own, target.majority & here[None, :], target)
        mean, interval, _ = _with_interval(table)
        mine = predicted & shared[document]
        gold = votes.accepted & here
        result[name] = SystemBesideCeiling(
            f1=mean,
            annotators=dict(zip(ground.annotators, map(plain, _f1(table.sum(axis=2))), strict=True)),
            majority=overlap((mine & gold).sum(), mine.sum(), gold.sum()),
            interval={"f1": interval},
            missing=tuple(ground.documents[d] for d in np.flatnonzero(shared & ~has).tolist()),
        )
    return result


def _table(own: Bools, majority: Bools, target: _Targets) -> Floats:
    """(annotators × [both, own, majority] × units)."""
    table = np.zeros((len(own), 3, target.units))
    for row, (mine, theirs) in enumerate(zip(own, majority, strict=True)):
        for place, mask in enumerate((mine & theirs, mine, theirs)):
            table[row, place] = np.bincount(target.unit[mask], minlength=target.units)
    return table


def _f1(totals: Floats) -> Floats:
    return ratio(2 * totals[:, 0], totals[:, 1] + totals[:, 2])


def _mean(values: Floats) -> Floats:
    """The mean over annotators (the first axis) where F1 is defined."""
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0.0).sum(axis=0), defined.sum(axis=0))


def _with_interval(table: Floats) -> tuple[float | None, Interval | None, str | None]:
    """The mean F1 over annotators and its logit-t interval: a delete-one jackknife over units."""
    whole = table.sum(axis=2)
    mean = plain(_mean(_f1(whole)))
    held = np.flatnonzero(table[:, 1:].any(axis=(0, 1)))
    if mean is None:
        return None, None, "nobody marked anything"
    if len(held) < 2:
        return mean, None, "fewer than two units hold a mention"
    left = whole[:, :, None] - table[:, :, held]
    values = _mean(ratio(2 * left[:, 0], left[:, 1] + left[:, 2]))
    size = float(np.nanmean((whole[:, 1] + whole[:, 2]) / 2))
    return mean, _interval(mean, values[~np.isnan(values)], size), None


def _interval(score: float, left_out: Floats, size: float) -> Interval | None:
    """The logit-t interval of a score from its values with one unit left out each."""
    units = len(left_out)
    if units < 2:
        return None
    error = np.sqrt((units - 1) / units * ((left_out - left_out.mean()) ** 2).sum())
    known = Jackknife(floats([score]), floats([size]), ints([units]), floats([error]), floats([units - 1]))
    low, high = known.interval()[0].tolist()
    return low, high


COLUMNS = (
    "document", "sentence", "start", "end", "label", "text", "votes", "annotators", "marked_by", "majority",
    "decision", "context",
)  # fmt: skip
DECISIONS = {"yes": True, "y": True, "accept": True, "no": False, "n": False, "reject": False}

Row = tuple[int, int, int, str]  # sentence, start, end, label


def worksheet(ground: Shared, votes: Votes, *, redact: bool = False) -> str:
    """One row per mention that some annotators of its document marked and others did not.

    The column `decision` is left empty for `yes` or `no`. Ties come first, since votes cannot settle them.
    With `redact` the columns of text are empty.
    """
    n, distinct = len(ground.annotators), ground.distinct
    disputed = (votes.voters >= 2) & (votes.votes > 0) & (votes.votes < votes.voters)
    rows = np.flatnonzero(disputed)
    rows = rows[np.argsort(~votes.tied[rows], kind="stable")]
    lines: list[tuple[object, ...]] = [COLUMNS]
    for row in rows.tolist():
        sentence, start, end = (
            int(column[row]) for column in (distinct.sentence, distinct.start, distinct.end)
        )
        document = int(ground.document[sentence])
        lines.append(
            (
                ground.documents[document],
                sentence + 1,
                start,
                end,
                ground.labels[int(distinct.label[row])],
                "" if redact else text_of(ground, sentence, start, end),
                int(votes.votes[row]),
                int(votes.voters[row]),
                " ".join(name for i, name in enumerate(ground.annotators[:n]) if distinct.by[i, row]),
                "tie" if votes.tied[row] else "yes" if votes.accepted[row] else "no",
                "",
                "" if redact else text_of(ground, sentence, 0, None),
            )
        )
    return to_csv(lines)


def text_of(ground: Shared, sentence: int, start: int, end: int | None) -> str:
    """The words or characters of a stretch of a sentence."""
    corpus = ground.corpus
    if corpus.without_text:
        return ""
    if corpus.texts is not None:
        return corpus.texts[sentence][start:end]
    return " ".join(corpus.words(sentence)[start:end])


def read_decisions(path: str | Path, ground: Shared) -> dict[Row, bool]:
    """The decided rows of a worksheet that was filled in; rows without a decision are left out.

    A row that people added needs sentence, start, end, label and decision.
    """
    decided: dict[Row, bool] = {}
    advice = "Give a worksheet that --worksheet wrote, with the column 'decision' filled in."
    for where, line in read_sheet(path, ("decision", "end", "label", "sentence", "start"), advice):
        answer = line["decision"].strip().lower()
        if not answer:
            continue
        if answer not in DECISIONS:
            raise InputError(f"{where}: the decision {line['decision']!r} is unknown.\nWrite yes or no.")
        decided[_row(line, where, ground)] = DECISIONS[answer]
    return decided


def _row(line: Mapping[str, str], where: str, ground: Shared) -> Row:
    try:
        sentence, start, end = int(line["sentence"]) - 1, int(line["start"]), int(line["end"])
    except (TypeError, ValueError):
        raise InputError(f"{where}: sentence, start and end must be whole numbers.") from None
    if not 0 <= sentence < len(ground.corpus):
        raise InputError(
            f"{where}: there is no sentence {sentence + 1}; the files have {len(ground.corpus):,}.\n"
            "Give the files that the worksheet was made of."
        )
    size = int(ground.corpus.lengths[sentence])
    if ground.corpus.texts is not None:
        size = len(ground.corpus.texts[sentence])
    if not 0 <= start < end or (end > size and not ground.corpus.without_text):
        raise InputError(
            f"{where}: the mention [{start}, {end}) is not inside sentence {sentence + 1}.\n"
            "Positions are half-open and count from 0."
        )
    label = line["label"].removeprefix("'") if line["label"].startswith("'") else line["label"]
    if not label:
        raise InputError(f"{where}: the label is empty.\nWrite the label of the mention.")
    return sentence, start, end, label


def majority(ground: Shared, votes: Votes, decisions: Mapping[Row, bool]) -> Annotation:
    """The accepted mentions of the documents that two annotators or more have, decisions applied."""
    distinct = ground.distinct
    accepted = votes.accepted.copy()
    added: list[Row] = []
    known = _by_row(ground) if decisions else {}
    for row, answer in decisions.items():
        if row in known:
            accepted[known[row]] = answer
        elif answer:
            added.append(row)
    kept = ground.present.sum(axis=0) >= 2
    sentence_kept = kept[ground.document]
    rows = np.flatnonzero(accepted & sentence_kept[distinct.sentence])
    names = tuple(sorted({*ground.labels, *(row[3] for row in added)}))
    listed = [
        (int(distinct.sentence[row]), int(distinct.start[row]), int(distinct.end[row]),
         ground.labels[int(distinct.label[row])], int(distinct.shape[row]))
        for row in rows.tolist()
    ] + [(*row, 0) for row in added if sentence_kept[row[0]]]  # fmt: skip
    listed.sort()
    place = np.cumsum(sentence_kept) - 1
    mentions = Mentions.of([(int(place[row[0]]), *row[1:4]) for row in listed], labels=names)
    if any(row[4] for row in listed):
        pieces = [distinct.pieces[row[4] - 1] if row[4] else ((row[1], row[2]),) for row in listed]
        mentions = replace(mentions, parts=Parts.of(pieces))
    return Annotation(_kept(ground, kept, sentence_kept), mentions, Reading(path="<majority>"))


def _by_row(ground: Shared) -> dict[Row, int]:
    distinct = ground.distinct
    names = [ground.labels[code] for code in distinct.label.tolist()]
    columns = (distinct.sentence.tolist(), distinct.start.tolist(), distinct.end.tolist(), names)
    return {row: number for number, row in enumerate(zip(*columns, strict=True))}


def _kept(ground: Shared, documents: Bools, sentences: Bools) -> Corpus:
    """The corpus without the documents that one annotator alone has."""
    corpus = ground.corpus
    if sentences.all():
        return corpus
    tokens = np.repeat(sentences, corpus.lengths)
    sizes = np.bincount(ground.document, minlength=len(ground.documents))[documents]
    return replace(
        corpus,
        tokens=corpus.tokens[tokens],
        sentences=offsets(corpus.lengths[sentences]),
        documents=offsets(sizes),
        texts=None
        if corpus.texts is None
        else tuple(text for text, keep in zip(corpus.texts, sentences, strict=True) if keep),
        token_start=None if corpus.token_start is None else ints(corpus.token_start[tokens]),
        token_end=None if corpus.token_end is None else ints(corpus.token_end[tokens]),
        ids=None,
        document_ids=None,
        columns={},
        fields={},
    )
