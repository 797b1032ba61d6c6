"""The majority of annotators, each annotator's agreement with the others' majority, and adjudicated gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.agreement._jackknife import logit_t
from spanwise.agreement._pairs import overlap
from spanwise.agreement._shared import Presence, Shared
from spanwise.columns import Bools, Floats, Ints, ints, offsets, plain, ratio
from spanwise.corpus import Corpus, Mentions, Parts
from spanwise.document import Interval
from spanwise.document.agreement import HumanCeiling, MajorityCounts, SystemBesideCeiling
from spanwise.errors import ChoiceError, InputError
from spanwise.formats import read_sheet
from spanwise.spreadsheet import original, same_cell, to_csv


class Votes(Struct, frozen=True, eq=False):
    """The number of votes for each distinct mention, and of annotators who have its document."""

    votes: Ints
    voters: Ints
    accepted: Bools
    tied: Bools


def check_votes(least: int | None, annotators: int) -> None:
    """Refuse a number of votes below 1 or above the number of annotators."""
    if least is not None and not 1 <= least <= annotators:
        raise ChoiceError(f"votes is {least}, but must be from 1 to {annotators}, the number of annotators.")


def count_votes(block: Shared, least: int | None) -> Votes:
    """Count the votes; a mention is accepted by more than half of them, or by at least `least` if given.

    Only documents that two or more annotators have count. Ties are not accepted.
    """
    n = len(block.annotators)
    distinct = block.distinct
    votes = ints(distinct.by[:n].sum(axis=0))
    voters = ints(block.present.sum(axis=0)[block.document[distinct.sentence]])
    shared = voters >= 2
    tied = shared & (2 * votes == voters)
    accepted = shared & (2 * votes > voters)
    if least is not None:
        accepted = shared & (votes >= least)
        tied = np.zeros(len(votes), dtype=bool)
    return Votes(votes, voters, np.asarray(accepted), np.asarray(tied))


class VoteSums(Struct, frozen=True, eq=False):
    """Sums over a block: the fates of mentions, and the agreement with majorities in each unit.

    Tables are (annotators × [both, own, majority] × units with a mention), for the annotators against the
    majority of the others, and for each system against the same majorities.
    """

    fates: Ints  # accepted, unanimous, tied, rejected
    annotators: Ints
    systems: tuple[Ints, ...]
    overlaps: Ints  # systems × [both, system, majority of all]

    @classmethod
    def of(cls, block: Shared, votes: Votes, *, by_document: bool) -> VoteSums:
        """Count a block."""
        n, distinct = len(block.annotators), block.distinct
        document = block.document[distinct.sentence]
        target = _targets(block, votes, by_document=by_document)
        shared = (votes.voters >= 2) & (votes.votes > 0)
        fates = (
            votes.accepted,
            shared & (votes.votes == votes.voters),
            votes.tied,
            shared & ~votes.accepted & ~votes.tied,
        )
        own = distinct.by[:n] & target.counts[:, document]
        tables, overlaps = [], []
        for number in range(len(block.systems)):
            in_document = block.system_present[number][document]
            predicted = distinct.by[n + number]
            mine = predicted & (votes.voters >= 2)
            gold = votes.accepted & in_document
            scored = predicted[None, :] & target.counts[:, document] & in_document[None, :]
            tables.append(_table(scored, target.majority & in_document[None, :], target))
            overlaps.append([(mine & gold).sum(), mine.sum(), gold.sum()])
        return cls(
            ints([mask.sum() for mask in fates]),
            _table(own, target.majority, target),
            tuple(tables),
            ints(np.reshape(overlaps, (-1, 3))),
        )

    @classmethod
    def joined(cls, parts: Sequence[VoteSums]) -> VoteSums:
        """Combine the sums of several blocks."""
        return cls(
            ints(sum(part.fates for part in parts)),
            ints(np.concatenate([part.annotators for part in parts], axis=2)),
            tuple(
                ints(np.concatenate(tables, axis=2))
                for tables in zip(*(part.systems for part in parts), strict=True)
            ),
            ints(sum(part.overlaps for part in parts)),
        )


def majority_counts(presence: Presence, sums: VoteSums, least: int | None) -> MajorityCounts:
    """The number of mentions by fate, over the documents that two or more annotators have."""
    accepted, unanimous, tied, rejected = sums.fates.tolist()
    return MajorityCounts(
        rule="more than half" if least is None else f"at least {least}",
        documents=int(presence.shared.sum()),
        accepted=accepted,
        unanimous=unanimous,
        tied=tied,
        rejected=rejected,
    )


class _Targets(Struct, frozen=True, eq=False):
    """For each annotator the majority of the others, and the units of intervals."""

    majority: Bools  # annotators × distinct mentions
    counts: Bools  # annotators × documents: whether the annotator shares the document with another
    unit: Ints  # of each distinct mention
    units: int


def _targets(block: Shared, votes: Votes, *, by_document: bool) -> _Targets:
    """For each annotator, the majority of the others in the documents shared with another."""
    n = len(block.annotators)
    distinct = block.distinct
    document = block.document[distinct.sentence]
    counts = block.present & (block.present.sum(axis=0) >= 2)
    others = votes.votes[None, :] - distinct.by[:n]
    majority = (2 * others > (votes.voters - 1)[None, :]) & counts[:, document]
    unit = document if by_document else distinct.sentence
    units = len(block.numbers) if by_document else len(block.corpus)
    return _Targets(majority, np.asarray(counts), ints(unit), units)


def beside_majority(block: Shared, votes: Votes) -> tuple[Bools, Bools]:
    """For each annotator, the accepted mentions of the documents that count, and the annotator's own there.

    Where only two annotators have a document, the other's mentions stand for the majority.
    """
    n, distinct = len(block.annotators), block.distinct
    counts = (block.present & (block.present.sum(axis=0) >= 2))[:, block.document[distinct.sentence]]
    own = distinct.by[:n]
    others = np.where(votes.voters[None, :] == 2, votes.votes[None, :] > own, votes.accepted[None, :])
    return np.asarray(others & counts), np.asarray(own & counts)


def ceiling(presence: Presence, sums: VoteSums) -> HumanCeiling:
    """The F1 of each annotator against the majority of the others, and the mean with its interval."""
    table = sums.annotators.astype(np.float64)
    values = _f1(table.sum(axis=2))
    mean, interval, why = _with_interval(table)
    return HumanCeiling(
        mean=mean,
        annotators={name: plain(value) for name, value in zip(presence.annotators, values, strict=True)},
        interval={"mean": interval},
        why=why,
    )


def score_systems(presence: Presence, sums: VoteSums) -> dict[str, SystemBesideCeiling]:
    """The scores of each system against the same majorities, in the documents that it has."""
    result = {}
    for number, name in enumerate(presence.systems):
        table = sums.systems[number].astype(np.float64)
        mean, interval, _ = _with_interval(table)
        missing = np.flatnonzero(presence.shared & ~presence.system_present[number])
        result[name] = SystemBesideCeiling(
            f1=mean,
            annotators=dict(zip(presence.annotators, map(plain, _f1(table.sum(axis=2))), strict=True)),
            majority=overlap(*sums.overlaps[number]),
            interval={"f1": interval},
            missing=tuple(presence.documents[document] for document in missing.tolist()),
        )
    return result


def _table(own: Bools, majority: Bools, target: _Targets) -> Ints:
    """Count mentions: a table of annotators × [both, own, majority] × units with a mention."""
    table = np.zeros((len(own), 3, target.units), dtype=np.int64)
    for row, (mine, theirs) in enumerate(zip(own, majority, strict=True)):
        for index, mask in enumerate((mine & theirs, mine, theirs)):
            table[row, index] = np.bincount(target.unit[mask], minlength=target.units)
    return ints(table[:, :, table[:, 1:].any(axis=(0, 1))])


def _f1(totals: Floats) -> Floats:
    return ratio(2 * totals[:, 0], totals[:, 1] + totals[:, 2])


def _mean(values: Floats) -> Floats:
    """The mean over the annotators (first axis) whose F1 is defined."""
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0.0).sum(axis=0), defined.sum(axis=0))


def _with_interval(table: Floats) -> tuple[float | None, Interval | None, str | None]:
    """The mean F1 over annotators and its logit-t interval, by a delete-one jackknife over units.

    The third value is the reason for a missing mean or interval.
    """
    whole = table.sum(axis=2)
    mean = plain(_mean(_f1(whole)))
    if mean is None:
        return None, None, "no one marked anything"
    if table.shape[2] < 2:
        return mean, None, "fewer than two units contain a mention"
    left = whole[:, :, None] - table
    values = _mean(ratio(2 * left[:, 0], left[:, 1] + left[:, 2]))
    size = float(np.nanmean((whole[:, 1] + whole[:, 2]) / 2))
    return mean, logit_t(mean, values[~np.isnan(values)], size), None


COLUMNS = (
    "document", "sentence", "start", "end", "label", "text", "votes", "annotators", "marked_by", "majority",
    "decision", "context", "source",
)  # fmt: skip
DECISIONS = {"yes": True, "y": True, "accept": True, "no": False, "n": False, "reject": False}

Row = tuple[int, int, int, str]  # sentence, start, end, label


class OpenRows(Struct, frozen=True, eq=False):
    """The rows of a worksheet, with the numbers of documents instead of their names."""

    tied: tuple[tuple[object, ...], ...] = ()
    others: tuple[tuple[object, ...], ...] = ()

    @classmethod
    def of(cls, block: Shared, votes: Votes, *, redact: bool) -> OpenRows:
        """One row per mention that some annotators of its document marked and others did not."""
        distinct = block.distinct
        disputed = (votes.voters >= 2) & (votes.votes > 0) & (votes.votes < votes.voters)
        sides: tuple[list[tuple[object, ...]], list[tuple[object, ...]]] = ([], [])
        for row in np.flatnonzero(disputed).tolist():
            sentence, start, end = (
                int(column[row]) for column in (distinct.sentence, distinct.start, distinct.end)
            )
            sides[0 if votes.tied[row] else 1].append(
                (
                    int(block.numbers[block.document[sentence]]),
                    block.sentence + sentence + 1,
                    start,
                    end,
                    block.labels[int(distinct.label[row])],
                    "" if redact else text_of(block, sentence, start, end),
                    int(votes.votes[row]),
                    int(votes.voters[row]),
                    " ".join(name for i, name in enumerate(block.annotators) if distinct.by[i, row]),
                    "tie" if votes.tied[row] else "yes" if votes.accepted[row] else "no",
                    "",
                    "" if redact else context_of(block, sentence, start, end),
                    block.corpus.place_of(sentence, start),
                )
            )
        return cls(tuple(sides[0]), tuple(sides[1]))

    @classmethod
    def joined(cls, parts: Sequence[OpenRows]) -> OpenRows:
        """Concatenate the rows of several blocks."""
        return cls(
            tuple(row for part in parts for row in part.tied),
            tuple(row for part in parts for row in part.others),
        )

    def sheet(self, presence: Presence) -> str:
        """Format the worksheet as CSV: ties first, since votes cannot settle them, and no decisions."""
        rows = [(presence.documents[int(str(row[0]))], *row[1:]) for row in (*self.tied, *self.others)]
        return to_csv([COLUMNS, *rows])


def text_of(block: Shared, sentence: int, start: int, end: int | None) -> str:
    """The text of part of a sentence; empty if there is no text."""
    corpus = block.corpus
    if corpus.without_text:
        return ""
    if corpus.texts is not None:
        return corpus.texts[sentence][start:end]
    return " ".join(corpus.words(sentence)[start:end])


AROUND = 60  # characters of context on each side of a mention


def context_of(block: Shared, sentence: int, start: int, end: int) -> str:
    """The line around a mention, at most 60 characters on each side; a cut is marked by …."""
    if block.corpus.without_text:
        return ""
    before, own, after = (
        text_of(block, sentence, first, last) for first, last in ((0, start), (start, end), (end, None))
    )
    blank = "" if block.corpus.texts is not None else " "
    left, right = before.split("\n")[-1], after.split("\n")[0]
    first = left if len(left) <= AROUND else "…" + left[-AROUND:]
    last = right if len(right) <= AROUND else right[:AROUND] + "…"
    return blank.join(part for part in (first, own, last) if part)


class Decision(Struct, frozen=True):
    """The decision on one mention, and where in the worksheet it is."""

    where: str
    row: Row
    accepted: bool
    text: str = ""  # the words of the mention and of its sentence, as the worksheet has them
    context: str = ""


def read_decisions(path: str | Path, sentences: int) -> list[Decision]:
    """Read the decisions in a completed worksheet, skipping rows without one.

    Added rows need a sentence, start, end, label and decision.
    """
    decided = []
    advice = "Give a worksheet that --worksheet wrote, with the column 'decision' filled in."
    for where, line in read_sheet(path, ("decision", "end", "label", "sentence", "start"), advice):
        answer = line["decision"].strip().lower()
        if not answer:
            continue
        if answer not in DECISIONS:
            raise InputError(f"{where}: the decision {line['decision']!r} is unknown.\nWrite yes or no.")
        words = (original(line.get(name, "")) for name in ("text", "context"))
        decided.append(Decision(where, _row(line, where, sentences), DECISIONS[answer], *words))
    return decided


def _row(line: Mapping[str, str], where: str, sentences: int) -> Row:
    try:
        sentence, start, end = int(line["sentence"]) - 1, int(line["start"]), int(line["end"])
    except (TypeError, ValueError):
        raise InputError(f"{where}: sentence, start and end must be whole numbers.") from None
    if not 0 <= sentence < sentences:
        raise InputError(
            f"{where}: there is no sentence {sentence + 1}; the files have {sentences:,}.\n"
            "Give the files that the worksheet was made from."
        )
    label = original(line["label"])
    if not label:
        raise InputError(f"{where}: the label is empty.\nWrite the label of the mention.")
    return sentence, start, end, label


def decided_here(block: Shared, decisions: Sequence[Decision]) -> dict[Row, bool]:
    """The decisions on mentions in a block, with sentences numbered within the block."""
    corpus, accepted_here = block.corpus, {}
    for decision in decisions:
        sentence, start, end, label = decision.row
        own = sentence - block.sentence
        if not 0 <= own < len(corpus):
            continue
        size = int(corpus.lengths[own]) if corpus.texts is None else len(corpus.texts[own])
        if not 0 <= start < end or (end > size and not corpus.without_text):
            raise InputError(
                f"{decision.where}: the mention [{start}, {end}) is not inside sentence {sentence + 1}.\n"
                "Positions are half-open and count from 0."
            )
        _check_words(block, decision, own)
        accepted_here[own, start, end, label] = decision.accepted
    return accepted_here


def _check_words(block: Shared, decision: Decision, own: int) -> None:
    """Refuse a decision if its mention or its sentence has other words in the annotators' files."""
    if block.corpus.without_text:
        return
    sentence, start, end, _ = decision.row
    whole = text_of(block, own, 0, None)
    for what, said, found, same in (
        # Earlier versions wrote the whole sentence as context.
        ("sentence", decision.context, context_of(block, own, start, end), (whole,)),
        ("mention", decision.text, text_of(block, own, start, end), ()),
    ):
        if said and not any(same_cell(said, text) for text in (found, *same)):
            said, found = (text if len(text) <= 60 else f"{text[:60]}…" for text in (said, found))
            raise InputError(
                f"{decision.where}: the worksheet says {said!r} for the {what}, but sentence {sentence + 1} "
                f"of the files has {found!r} there.\nGive the files that the worksheet was made from."
            )


class AcceptedMentions(Struct, frozen=True, eq=False):
    """The accepted mentions in the documents of a block that two or more annotators have."""

    mentions: Mentions
    sentences: int  # of these documents
    corpus: Corpus | None  # their text, if requested


def accepted(block: Shared, votes: Votes, decisions: Mapping[Row, bool], *, text: bool) -> AcceptedMentions:
    """The accepted mentions of a block, with decisions applied."""
    distinct = block.distinct
    taken = votes.accepted.copy()
    added: list[Row] = []
    row_index = _by_row(block) if decisions else {}
    for row, answer in decisions.items():
        if row in row_index:
            taken[row_index[row]] = answer
        elif answer:
            added.append(row)
    kept = block.present.sum(axis=0) >= 2
    sentence_kept = kept[block.document]
    rows = np.flatnonzero(taken & sentence_kept[distinct.sentence])
    listed = [
        (int(distinct.sentence[row]), int(distinct.start[row]), int(distinct.end[row]),
         block.labels[int(distinct.label[row])], pieces_of(block, row))
        for row in rows.tolist()
    ] + [(*row, ()) for row in added if sentence_kept[row[0]]]  # fmt: skip
    listed.sort()
    new_sentence = np.cumsum(sentence_kept) - 1
    mentions = Mentions.of([(int(new_sentence[row[0]]), *row[1:4]) for row in listed])
    if any(row[4] for row in listed):
        mentions = replace(mentions, parts=Parts.of([row[4] or ((row[1], row[2]),) for row in listed]))
    size = int(sentence_kept.sum())
    corpus = kept_text(block.corpus, block.document, np.asarray(kept)) if text else None
    return AcceptedMentions(mentions, size, corpus)


def pieces_of(block: Shared, row: int) -> tuple[tuple[int, int], ...]:
    """The pieces of a discontinuous mention; none if it is contiguous."""
    shape = int(block.distinct.shape[row])
    return block.distinct.pieces[shape - 1] if shape else ()


def _by_row(block: Shared) -> dict[Row, int]:
    distinct = block.distinct
    names = [block.labels[code] for code in distinct.label.tolist()]
    columns = (distinct.sentence.tolist(), distinct.start.tolist(), distinct.end.tolist(), names)
    return {row: number for number, row in enumerate(zip(*columns, strict=True))}


def kept_text(corpus: Corpus, document: Ints, documents: Bools) -> Corpus:
    """Keep only the documents for which `documents` is true."""
    sentences = documents[document]
    if sentences.all():
        return corpus
    tokens = np.repeat(sentences, corpus.lengths)
    sizes = np.bincount(document, minlength=len(documents))[documents]
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
