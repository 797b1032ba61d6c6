"""What more than half of the annotators marked, and how near each annotator and each system comes to it."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from spanwise.agreement._pairs import overlap
from spanwise.agreement._shared import Shared
from spanwise.columns import Bools, Floats, Ints, floats, ints, plain, ratio
from spanwise.document.dataset import HumanCeiling, MajorityCounts, SystemBesideCeiling
from spanwise.document.head import Interval
from spanwise.errors import ChoiceError
from spanwise.intervals import Jackknife


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
