"""Tough mentions: which gold mentions training data have seen, and which token sequences are confusable."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from spanwise.attributes._confusable import Confusable, shared_by_labels
from spanwise.attributes._context import Context, Side
from spanwise.attributes._lexicon import Lexicon
from spanwise.columns import Bools, frozen
from spanwise.corpus import Corpus, Mentions
from spanwise.errors import unknown

SUBSETS = ("SEEN", "UNSEEN-TYPE", "UNSEEN-TOKENS", "UNSEEN-ANY", "TCM-ALL", "TCM-SEEN", "TCM-UNSEEN")


class Toughness(Struct, frozen=True, eq=False):
    """Which gold mentions belong to which subsets: `member[i, j]` is mention `i` in `subsets[j]`.

    Without training data only TCM-ALL is there.
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
    lexicon: Lexicon | None,
    *,
    side: Side | None = None,
    confusable: Confusable | None = None,
) -> Toughness:
    """The tough subsets of every gold mention.

    SEEN: its (token sequence, label) is one of a training mention. UNSEEN-TYPE: its sequence is,
    with other labels only. UNSEEN-TOKENS: no training mention has its sequence. UNSEEN-ANY: not SEEN.
    TCM-ALL: its sequence carries two or more labels among the gold mentions; TCM-UNSEEN are those of it
    in UNSEEN-TOKENS, TCM-SEEN the others. Strings are compared as written.

    A `side` of the same mentions that compares strings as written is used where it is given,
    so that nothing is searched twice. Where the mentions are a part of the gold ones, `confusable` tells
    which sequences carry two labels or more in the whole.

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
    known = side.counts.mentions.total(side.form) > 0
    seen = side.counts.mentions.count(side.form, side.train_label) > 0
    columns = (
        seen,
        known & ~seen,
        ~known,
        ~seen,
        confused,
        confused & known,
        confused & ~known,
    )
    return Toughness(SUBSETS, frozen(np.stack(columns, axis=1)))
