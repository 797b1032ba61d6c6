"""What one block of documents adds to all measures of agreement, and the sums of several blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.agreement._majority import (
    AcceptedMentions,
    Decision,
    OpenRows,
    Votes,
    VoteSums,
    accepted,
    count_votes,
    decided_here,
)
from spanwise.agreement._pairs import PairSums
from spanwise.agreement._shared import GroundSource, Shared
from spanwise.agreement._tokens import TokenSums, TokenUnits
from spanwise.agreement._unitizing import UnitSums, gamma_of
from spanwise.columns import Ints, ints
from spanwise.document.dataset import DisagreementExample, DisagreementMention


class AgreementAsked(Struct, frozen=True, eq=False):
    """What `block_sums` needs beside a block; it can be pickled."""

    source: GroundSource
    votes: int | None
    tokens: TokenUnits
    by_document: bool
    examples: int
    redact: bool
    gamma: bool
    worksheet: bool
    majority: bool
    decisions: Sequence[Decision]
    text: bool  # whether the text of the majority comes back with it


class Example(Struct, frozen=True, eq=False):
    """A sentence with disagreement, in how many mentions, and the number of its document."""

    disputed: int
    document: int
    shown: DisagreementExample


class AgreementSums(Struct, frozen=True, eq=False):
    """What blocks add up to."""

    labels: tuple[str, ...]
    mentions: Ints  # of each annotator
    pairs: PairSums
    votes: VoteSums
    tokens: TokenSums
    units: UnitSums
    gamma: Mapping[int, float | None]
    examples: tuple[Example, ...]  # the most disputed sentences, first those with most
    rows: OpenRows
    majority: tuple[AcceptedMentions, ...]

    def relabeled(self, labels: tuple[str, ...], units: TokenUnits) -> AgreementSums:
        """The same with codes from a list of labels that holds all of theirs."""
        if labels == self.labels:
            return self
        place = ints([labels.index(label) for label in self.labels])
        return replace(
            self,
            labels=labels,
            pairs=self.pairs.relabeled(place, len(labels)),
            tokens=self.tokens.relabeled(place, units),
            units=self.units.relabeled(place, len(labels)),
        )


def joined_sums(parts: Sequence[AgreementSums], asked: AgreementAsked) -> AgreementSums:
    """The sums of consecutive blocks."""
    labels = tuple(sorted({label for part in parts for label in part.labels}))
    parts = [part.relabeled(labels, asked.tokens) for part in parts]
    examples = [one for part in parts for one in part.examples]
    return AgreementSums(
        labels=labels,
        mentions=ints(sum(part.mentions for part in parts)),
        pairs=PairSums.joined([part.pairs for part in parts]),
        votes=VoteSums.joined([part.votes for part in parts]),
        tokens=TokenSums.joined([part.tokens for part in parts]),
        units=UnitSums.joined([part.units for part in parts]),
        gamma={number: value for part in parts for number, value in part.gamma.items()},
        examples=tuple(sorted(examples, key=lambda one: -one.disputed)[: asked.examples]),
        rows=OpenRows.joined([part.rows for part in parts]),
        majority=tuple(one for part in parts for one in part.majority),
    )


def block_sums(reference: Any, asked: AgreementAsked) -> AgreementSums:
    """Count one block."""
    ground = asked.source.open(reference)
    votes = count_votes(ground, asked.votes)
    decided = decided_here(ground, asked.decisions)
    return AgreementSums(
        labels=ground.labels,
        mentions=ints([len(mentions) for mentions in ground.mentions]),
        pairs=PairSums.of(ground),
        votes=VoteSums.of(ground, votes, by_document=asked.by_document),
        tokens=TokenSums.of(ground, asked.tokens),
        units=UnitSums.of(ground),
        gamma=gamma_of(ground) if asked.gamma else {},
        examples=() if asked.redact else _examples(ground, votes, asked.examples),
        rows=OpenRows.of(ground, votes, redact=asked.redact) if asked.worksheet else OpenRows(),
        majority=(accepted(ground, votes, decided, text=asked.text),) if asked.majority else (),
    )


def _examples(ground: Shared, votes: Votes, most: int) -> tuple[Example, ...]:
    """The sentences with the most mentions that not all of their annotators marked."""
    distinct, corpus = ground.distinct, ground.corpus
    if corpus.without_text:
        return ()
    disputed = (votes.voters >= 2) & (votes.votes > 0) & (votes.votes < votes.voters)
    number = np.bincount(distinct.sentence[disputed], minlength=len(corpus))
    order = np.argsort(-number, kind="stable")[:most]
    result = []
    for sentence in order[number[order] > 0].tolist():
        first, last = np.searchsorted(distinct.sentence, [sentence, sentence + 1])
        document = int(ground.document[sentence])
        shown = DisagreementExample(
            document="",
            source=corpus.place(sentence),
            text=tuple(corpus.words(sentence)) if corpus.texts is None else (corpus.texts[sentence],),
            annotators=tuple(name for i, name in enumerate(ground.annotators) if ground.present[i, document]),
            mentions=tuple(
                DisagreementMention(
                    start=int(distinct.start[row]),
                    end=int(distinct.end[row]),
                    label=ground.labels[int(distinct.label[row])],
                    annotators=tuple(name for i, name in enumerate(ground.annotators) if distinct.by[i, row]),
                )
                for row in range(int(first), int(last))
                if votes.votes[row]
            ),
        )
        result.append(Example(int(number[sentence]), int(ground.numbers[document]), shown))
    return tuple(result)
