"""What training mentions are: how often each token sequence, and each token, carries each label."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from spanwise.attributes._forms import Forms
from spanwise.attributes._pairs import PairCounts
from spanwise.attributes._tokens import distinct_units, mention_tokens, one_occurrence
from spanwise.columns import Column, Ints, ints
from spanwise.corpus import Corpus, Mentions


class Seen(Struct, frozen=True, eq=False):
    """Counts of training mentions; those of parts that share a vocabulary add up."""

    labels: tuple[str, ...]
    per_label: Ints  # mentions
    forms: Forms  # the token sequences of the mentions
    mentions: PairCounts  # sequences × labels
    exact: PairCounts  # the same for mentions that are one occurrence of their sequence in the text
    tokens: PairCounts  # codes × labels: tokens inside mentions, each (position, label) once

    @classmethod
    def of(cls, corpus: Corpus, mentions: Mentions) -> Seen:
        """Count the mentions of one training corpus."""
        width, labels = len(corpus.vocabulary), len(mentions.labels)
        runs = mention_tokens(corpus, mentions)
        forms, number = Forms.of(corpus.tokens, runs, width=width)
        every = PairCounts.of(number, mentions.label, items=len(forms), labels=labels)
        whole = one_occurrence(corpus, mentions, runs)
        exact = every
        if not whole.all():
            exact = PairCounts.of(number[whole], mentions.label[whole], items=len(forms), labels=labels)
        position, label = runs.position, np.repeat(mentions.label, runs.size)
        kept = distinct_units(position, label, labels)
        if kept is not None:
            position, label = position[kept], label[kept]
        return cls(
            labels=tuple(mentions.labels),
            per_label=ints(np.bincount(mentions.label, minlength=labels)),
            forms=forms,
            mentions=every,
            exact=exact,
            tokens=PairCounts.of(ints(corpus.tokens[position]), label, items=width, labels=labels),
        )

    @classmethod
    def joined(cls, parts: Sequence[Seen]) -> Seen:
        """The counts of all parts together."""
        labels = tuple(sorted({label for part in parts for label in part.labels}))
        place = {label: number for number, label in enumerate(labels)}
        codes = [ints([place[label] for label in part.labels]) for part in parts]
        forms, places = _joined_forms([part.forms for part in parts])
        per_label = np.zeros(len(labels), dtype=np.int64)
        for part, code in zip(parts, codes, strict=True):
            per_label[code] += part.per_label
        same = [ints(np.arange(part.forms.width)) for part in parts]

        def joined(name: str, items: int, numbers: Sequence[Ints]) -> PairCounts:
            tables = [getattr(part, name) for part in parts]
            return PairCounts.joined(
                list(zip(tables, numbers, codes, strict=True)), items=items, labels=len(labels)
            )

        return cls(
            labels=labels,
            per_label=ints(per_label),
            forms=forms,
            mentions=joined("mentions", len(forms), places),
            exact=joined("exact", len(forms), places),
            tokens=joined("tokens", forms.width, same),
        )

    def recoded(self, table: Column, width: int) -> Seen:
        """The same counts for tokens with the codes `table[code]`, which lie below `width`."""
        forms, place = self.forms.recoded(table, width)
        every = ints(np.arange(len(self.labels)))

        def moved(pairs: PairCounts, items: int, number: Ints) -> PairCounts:
            return PairCounts.joined([(pairs, number, every)], items=items, labels=len(self.labels))

        return Seen(
            labels=self.labels,
            per_label=self.per_label,
            forms=forms,
            mentions=moved(self.mentions, len(forms), place),
            exact=moved(self.exact, len(forms), place),
            tokens=moved(self.tokens, width, ints(table)),
        )


def _joined_forms(trees: Sequence[Forms]) -> tuple[Forms, list[Ints]]:
    """One tree of the sequences of all, and the numbers that those of each have in it."""
    union, places = trees[0], [ints(np.arange(len(trees[0])))]
    for tree in trees[1:]:
        union, before, now = union.joined(tree)
        places = [ints(before[place]) for place in places] + [now]
    return union, places
