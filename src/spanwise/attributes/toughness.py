"""Tough mentions: which gold mentions are seen in training data, and which token sequences are confusable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from spanwise.attributes._context import Context, Side
from spanwise.attributes._lexicon import Lexicon, SummedLexicon
from spanwise.columns import Bools, Column, Ints, Words, frozen, ints
from spanwise.corpus import Corpus, Mentions
from spanwise.errors import unknown
from spanwise.hashing import numbered, sequence_hashes, word_hashes

_WAITING = 1 << 20  # pairs to collect before merging them with the others

SUBSETS = ("SEEN", "UNSEEN-TYPE", "UNSEEN-TOKENS", "UNSEEN-ANY", "TCM-ALL", "TCM-SEEN", "TCM-UNSEEN")


class Toughness(Struct, frozen=True, eq=False):
    """Which gold mentions are in which subsets: `member[i, j]` is True if mention `i` is in `subsets[j]`.

    Without training data, TCM-ALL is the only subset.
    """

    subsets: tuple[str, ...]
    member: Bools

    def of(self, subset: str) -> Bools:
        """Which mentions are in one subset."""
        if subset not in self.subsets:
            raise unknown("tough subset", subset, self.subsets)
        return np.asarray(self.member[:, self.subsets.index(subset)])

    def names(self, mention: int) -> list[str]:
        """The subsets of one mention."""
        return [
            name for name, inside in zip(self.subsets, self.member[mention].tolist(), strict=True) if inside
        ]


def toughness(
    corpus: Corpus,
    gold: Mentions,
    lexicon: Lexicon | SummedLexicon | None,
    *,
    side: Side | None = None,
    confusable: Confusable | None = None,
) -> Toughness:
    """The tough subsets of each gold mention.

    SEEN: a training mention has its token sequence and label. UNSEEN-TYPE: training mentions have its
    sequence, but only with other labels. UNSEEN-TOKENS: no training mention has its sequence.
    UNSEEN-ANY: not SEEN. TCM-ALL: its sequence has two or more labels among the gold mentions; TCM-UNSEEN
    are those of them in UNSEEN-TOKENS, TCM-SEEN the others. Strings are compared as written.

    Pass a `side` of the same mentions that compares strings as written, if there is one, to avoid
    a second search. If the mentions are only part of the gold ones, `confusable` holds the sequences
    with two or more labels among all of them.

    Examples:
        >>> from spanwise.corpus import Annotation
        >>> seen = Mentions.of([(0, 0, 1, "LOC"), (0, 1, 2, "PER")])
        >>> train = Annotation(Corpus.of([["Rome", "Ford"]]), seen)
        >>> test = Corpus.of([["Rome", "Ford", "Oslo"]])
        >>> gold = Mentions.of([(0, 0, 1, "LOC"), (0, 1, 2, "ORG"), (0, 2, 3, "LOC")])
        >>> tough = toughness(test, gold, Lexicon.of([train]))
        >>> [tough.names(i)[0] for i in range(3)]
        ['SEEN', 'UNSEEN-TYPE', 'UNSEEN-TOKENS']

    References:
        Tu and Lignos (2021).
    """
    if side is None or side.context.lowercase:
        side = Context(corpus, gold, lexicon).side(gold)
    if confusable is None:
        shared = shared_by_labels(side.form, gold.label, side.forms)
    else:
        shared = confusable.among(side)
    confused = np.append(shared, False)[side.form]
    if lexicon is None:
        return Toughness(("TCM-ALL",), frozen(confused[:, None]))
    in_training = side.counts.mentions.total(side.form) > 0
    seen = side.counts.mentions.count(side.form, side.train_label) > 0
    columns = (
        seen,
        in_training & ~seen,
        ~in_training,
        ~seen,
        confused,
        confused & in_training,
        confused & ~in_training,
    )
    return Toughness(SUBSETS, frozen(np.stack(columns, axis=1)))


def shared_by_labels(form: Ints, label: Column, forms: int) -> Bools:
    """Which of the token sequences, numbered below `forms`, have two or more labels; -1 is ignored."""
    # A sequence is shared if one of its labels differs from the last one written for it.
    last_label = np.full(forms + 1, -1, dtype=np.int64)
    last_label[form] = label
    shared = np.zeros(forms + 1, dtype=bool)
    shared[form[label != last_label[form]]] = True
    return shared[:-1]


def form_hashes(side: Side, forms: Ints) -> Words:
    """Hashes of 128 bits for token sequences of a side, which depend on their strings, not their codes."""
    tokens, at = side.tree.sequences(forms)
    used = np.zeros(side.tree.width, dtype=bool)
    used[tokens] = True
    index = np.cumsum(used) - 1
    words = word_hashes([side.context.strings[code] for code in np.flatnonzero(used).tolist()])
    return sequence_hashes(words[index[tokens]], at)


class Labeled(Struct, frozen=True, eq=False):
    """Distinct pairs of a token sequence, given by its hash, and a label."""

    hashes: Words
    label: Ints
    labels: tuple[str, ...]

    @classmethod
    def of(cls, side: Side) -> Labeled:
        """The pairs among the mentions of a side that compares strings as written."""
        labels = side.mentions.labels
        rows = np.flatnonzero(side.form >= 0)
        pair = side.form[rows] * len(labels) + side.mentions.label[rows]
        present = np.zeros(side.forms * len(labels), dtype=bool)
        present[pair] = True
        form, label = np.divmod(np.flatnonzero(present), max(len(labels), 1))
        return cls(frozen(form_hashes(side, ints(form))), ints(label), tuple(labels))


class Confusable(Struct, frozen=True, eq=False):
    """The token sequences that have two or more labels, given by their hashes."""

    hashes: Words

    def among(self, side: Side) -> Bools:
        """Which sequences of a side's tree are both mentions of the side and confusable."""
        used = np.zeros(side.forms, dtype=bool)
        used[side.form[side.form >= 0]] = True
        forms = np.flatnonzero(used)
        _, number = numbered(np.concatenate([self.hashes, form_hashes(side, ints(forms))]))
        shared = np.zeros(len(number), dtype=bool)
        shared[number[: len(self.hashes)]] = True
        used[forms] = shared[number[len(self.hashes) :]]
        return used


class LabelCollector:
    """The labels of token sequences, collected from the mentions of several blocks."""

    def __init__(self) -> None:
        self._labels: dict[str, int] = {}
        self._pairs: list[Words] = []  # hashes and label; the first is merged, the others wait

    def add(self, part: Labeled) -> None:
        """Add the sequences of one more block."""
        table = ints([self._labels.setdefault(label, len(self._labels)) for label in part.labels])
        self._pairs.append(np.column_stack([part.hashes, table[part.label].astype(np.uint64)]))
        if sum(map(len, self._pairs[1:])) > max(_WAITING, len(self._pairs[0])):
            self._pairs = [_distinct(self._pairs)]

    def confusable(self) -> Confusable:
        """The sequences that have two or more labels over all blocks."""
        pairs = _distinct(self._pairs)
        first, number = numbered(np.ascontiguousarray(pairs[:, :2]))
        shared = shared_by_labels(ints(number), pairs[:, 2].astype(np.int64), len(first))
        return Confusable(frozen(pairs[first[shared], :2]))


def _distinct(pairs: Sequence[Words]) -> Words:
    rows = np.concatenate([np.zeros((0, 3), dtype=np.uint64), *pairs])
    return np.asarray(rows[numbered(rows)[0]])
