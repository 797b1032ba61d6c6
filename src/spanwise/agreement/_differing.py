"""How each annotator differs from the majority: kinds, labels, and differences that repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from spanwise.agreement._majority import Votes, beside_majority, pieces_of, text_of
from spanwise.agreement._shared import Presence, Shared
from spanwise.columns import Ints, codes, ints
from spanwise.corpus import Mentions, Parts
from spanwise.document.agreement import AnnotatorDifferences, ConfusedLabels, RepeatedDifference
from spanwise.matching import OUTCOMES, match

# The kind of each fair outcome of an annotator's mention, or of a mention of the majority that is missed.
KINDS = {
    "BEl": "longer", "BEs": "shorter", "BEo": "crossing", "LE": "label", "LBE": "label and boundary",
    "FN": "missed", "FP": "extra",
}  # fmt: skip
_MOST = 5  # confused labels and repeated differences that are listed for each annotator
_LONGEST = 80  # characters of a text that may repeat


class DifferenceSums(Struct, frozen=True, eq=False):
    """Sums over a block: differences by annotator and kind, and how often each confusion and text occurs."""

    kinds: Ints  # annotators × kinds
    joins: Ints  # of each annotator: mentions that hold several of the majority
    labels: Mapping[tuple[int, str, str], int]  # annotator, own label, label of the majority
    texts: Mapping[tuple[int, str, str, str], int]  # annotator, kind, own text, text of the majority

    @classmethod
    def of(cls, block: Shared, votes: Votes, *, redact: bool) -> DifferenceSums:
        """Count a block."""
        n = len(block.annotators)
        kinds, joins = np.zeros((n, len(KINDS)), dtype=np.int64), np.zeros(n, dtype=np.int64)
        labels: Counter[tuple[int, str, str]] = Counter()
        texts: Counter[tuple[int, str, str, str]] = Counter()
        majority, marked = beside_majority(block, votes)
        shown = not redact and not block.corpus.without_text
        for number in range(n):
            theirs, own = majority[number], marked[number]
            # Equal mentions are always paired with each other, so only the others need to be matched.
            others, mine = np.flatnonzero(theirs & ~own), np.flatnonzero(own & ~theirs)
            for kind, gold, predicted in _events(block, others, mine):
                kinds[number, list(KINDS.values()).index(kind)] += 1
                if gold is not None and predicted is not None and kind.startswith("label"):
                    labels[number, _label(block, predicted), _label(block, gold)] += 1
                if shown:
                    found = (_text(block, predicted), _text(block, gold))
                    if max(map(len, found)) <= _LONGEST:
                        texts[number, kind, *found] += 1
            joins[number] = _joining(block, np.flatnonzero(theirs), mine)
        return cls(ints(kinds), ints(joins), labels, texts)

    @classmethod
    def joined(cls, parts: Sequence[DifferenceSums]) -> DifferenceSums:
        """Add up the sums of blocks."""
        labels: Counter[tuple[int, str, str]] = Counter()
        texts: Counter[tuple[int, str, str, str]] = Counter()
        for part in parts:
            labels.update(part.labels)
            texts.update(part.texts)
        return cls(
            ints(sum(part.kinds for part in parts)), ints(sum(part.joins for part in parts)), labels, texts
        )


def differences(presence: Presence, sums: DifferenceSums) -> dict[str, AnnotatorDifferences]:
    """How each annotator differs from the majority."""
    result = {}
    for number, name in enumerate(presence.annotators):
        labels = [(key[1:], count) for key, count in sums.labels.items() if key[0] == number]
        texts = [(key[1:], count) for key, count in sums.texts.items() if key[0] == number and count > 1]
        result[name] = AnnotatorDifferences(
            kinds=dict(zip(KINDS.values(), sums.kinds[number].tolist(), strict=True)),
            joins=int(sums.joins[number]),
            labels=tuple(
                ConfusedLabels(own=own, majority=majority, count=count)
                for (own, majority), count in sorted(labels, key=lambda row: (-row[1], row[0]))[:_MOST]
            ),
            repeated=tuple(
                RepeatedDifference(kind=kind, own=own, majority=majority, count=count)
                for (kind, own, majority), count in sorted(texts, key=lambda row: (-row[1], row[0]))[:_MOST]
            ),
        )
    return result


def _events(block: Shared, gold: Ints, own: Ints) -> Iterator[tuple[str, int | None, int | None]]:
    """Every difference: its kind, the row of the majority's mention, and that of the annotator's.

    A mention of the annotator counts once, with its best partner; one of the majority only if it is missed.
    """
    matching = match(_mentions(block, gold), _mentions(block, own))
    for row, (outcome, partner) in enumerate(
        zip(matching.predicted_outcome.tolist(), matching.predicted_partner.tolist(), strict=True)
    ):
        yield KINDS[OUTCOMES[outcome]], None if partner < 0 else int(gold[partner]), int(own[row])
    for row in np.flatnonzero(matching.gold_partner < 0).tolist():
        yield KINDS["FN"], int(gold[row]), None


def _mentions(block: Shared, rows: Ints) -> Mentions:
    distinct = block.distinct
    pieces = [
        pieces_of(block, row) or ((int(distinct.start[row]), int(distinct.end[row])),)
        for row in rows.tolist()
    ]
    return Mentions(
        sentence=ints(distinct.sentence[rows]),
        start=ints(distinct.start[rows]),
        end=ints(distinct.end[rows]),
        label=codes(distinct.label[rows]),
        labels=block.labels,
        parts=Parts.of(pieces) if bool(distinct.shape[rows].any()) else None,
    )


def _joining(block: Shared, gold: Ints, own: Ints) -> int:
    """How many mentions of an annotator hold at least two separate mentions of the majority."""
    distinct, joins = block.distinct, 0
    by_sentence: dict[int, list[tuple[int, int]]] = {}
    for row in gold.tolist():
        by_sentence.setdefault(int(distinct.sentence[row]), []).append(
            (int(distinct.start[row]), int(distinct.end[row]))
        )
    for row in own.tolist():
        start, end = int(distinct.start[row]), int(distinct.end[row])
        inside = sorted(
            span
            for span in by_sentence.get(int(distinct.sentence[row]), ())
            if start <= span[0] and span[1] <= end and span != (start, end)
        )
        joins += len(inside) > 1 and inside[0][1] <= inside[-1][0]
    return joins


def _label(block: Shared, row: int) -> str:
    return block.labels[int(block.distinct.label[row])]


def _text(block: Shared, row: int | None) -> str:
    if row is None:
        return ""
    distinct = block.distinct
    return text_of(block, int(distinct.sentence[row]), int(distinct.start[row]), int(distinct.end[row]))
