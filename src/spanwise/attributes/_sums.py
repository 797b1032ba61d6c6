"""What a test set asks of training data, and the answers: sums over training blocks, by hashes of content."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from spanwise.attributes._forms import Forms
from spanwise.attributes._lexicon import FormCounts, Lexicon, PairCounts
from spanwise.columns import Codes, Column, Ints, Words, codes, frozen, ints
from spanwise.hashing import distinct, find_hashes, ordered_hashes, word_hashes


class Wanted(Struct, frozen=True, eq=False):
    """The words of a test set, and the token sequences of its mentions, gold and predicted.

    Words are numbered by the order of their hashes, so that blocks that know nothing of each other agree;
    the last code of the tree is that of any other word. Those of blocks can be joined.
    """

    words: Words  # two columns
    forms: Forms
    lowered: Wanted | None = None  # the same in lower case, where strings are compared in it

    @classmethod
    def of(cls, strings: Sequence[str], forms: Forms, lowered: Wanted | None = None) -> Wanted:
        """What a block asks, whose sequences have the codes of `strings`."""
        hashes = word_hashes(strings)
        words = ordered_hashes(hashes)
        tree, _ = Forms.union([(forms, find_hashes(words, hashes))], len(words) + 1)
        return cls(words, tree, lowered)

    @classmethod
    def nothing(cls) -> Wanted:
        """What a block without text asks."""
        none = ints([])
        return cls.of([], Forms(none, none, 0))

    @classmethod
    def joined(cls, parts: Sequence[Wanted]) -> Wanted:
        """What several blocks ask."""
        if len(parts) == 1:
            return parts[0]
        words = ordered_hashes(np.concatenate([part.words for part in parts]))
        tables = [np.append(find_hashes(words, part.words), len(words)) for part in parts]
        pairs = [(part.forms, table) for part, table in zip(parts, tables, strict=True)]
        tree, _ = Forms.union(pairs, len(words) + 1)
        lowered = [part.lowered for part in parts if part.lowered is not None]
        return cls(words, tree, cls.joined(lowered) if lowered else None)

    def codes_of(self, strings: Sequence[str]) -> Codes:
        """The number of each string, -1 where it is not asked for."""
        return codes(find_hashes(self.words, word_hashes(strings)))


class Tally(Struct, frozen=True, eq=False):
    """How often each of some pairs of an item and a label was met: narrow columns, which add up."""

    item: Column
    label: Column
    times: Column

    @classmethod
    def of(cls, item: Ints, label: Column, times: Ints) -> Tally:
        """The pairs whose item is not -1, each once."""
        met = np.flatnonzero((item >= 0) & (times > 0))
        labels = int(label.max(initial=0)) + 1
        key, number = distinct(ints(item[met] * labels + label[met]))
        item, label = np.divmod(key, labels)
        # Sums of whole numbers are exact in floats up to 2⁵³.
        total = np.bincount(number, weights=times[met], minlength=len(key)).astype(np.int64)
        return cls(_narrow(item), _narrow(label), _narrow(total))

    @classmethod
    def joined(cls, parts: Sequence[Tally], labels: Sequence[Ints] | None = None) -> Tally:
        """The sum of several, whose labels may have other numbers in it."""
        label = [
            part.label if labels is None else labels[place][part.label] for place, part in enumerate(parts)
        ]
        return cls.of(
            ints(np.concatenate([part.item for part in parts])),
            ints(np.concatenate(label)),
            ints(np.concatenate([part.times for part in parts])),
        )

    def column(self, items: int) -> Ints:
        """How often each of so many items was met."""
        return ints(np.bincount(self.item, weights=self.times, minlength=items))

    def pairs(self, items: int, labels: int) -> PairCounts:
        """The same as a table."""
        return PairCounts.of(
            ints(self.item), ints(self.label), items=items, labels=labels, times=ints(self.times)
        )


def _narrow(column: Ints) -> Column:
    return frozen(column.astype(np.min_scalar_type(int(column.max(initial=0)))))


class LexiconSums(Struct, frozen=True, eq=False):
    """What training blocks answer: counts of the words and sequences that are wanted, and totals of all."""

    tokens: int
    inside: int  # tokens of mentions, each (position, label) once
    labels: tuple[str, ...]
    per_label: Ints
    words: Tally
    word_labels: Tally
    occurrences: Tally
    mentions: Tally
    exact: Tally
    lowered: LexiconSums | None = None

    @classmethod
    def of(cls, lexicon: Lexicon, wanted: Wanted) -> LexiconSums:
        """What one training block answers."""
        code = wanted.codes_of(lexicon.vocabulary)
        seen, width = lexicon.seen, len(wanted.words)
        place = wanted.forms.places(seen.forms, code)
        item, label, times = seen.tokens.met()
        found = lexicon.occurrences(wanted.forms, codes(np.where(code < 0, width, code)))
        return cls(
            tokens=lexicon.tokens,
            inside=lexicon.inside,
            labels=tuple(lexicon.labels),
            per_label=lexicon.per_label,
            words=_counts(ints(code), lexicon.frequency),
            word_labels=Tally.of(ints(code[item]), label, times),
            occurrences=_counts(ints(np.arange(len(found))), found),
            mentions=_moved(seen.mentions, place),
            exact=_moved(seen.exact, place),
            lowered=None if wanted.lowered is None else cls.of(lexicon.lowered, wanted.lowered),
        )

    @classmethod
    def joined(cls, parts: Sequence[LexiconSums]) -> LexiconSums:
        """What several blocks answer."""
        labels = tuple(sorted({label for part in parts for label in part.labels}))
        number = {label: place for place, label in enumerate(labels)}
        table = [ints([number[label] for label in part.labels]) for part in parts]
        per_label = np.zeros(len(labels), dtype=np.int64)
        for part, code in zip(parts, table, strict=True):
            per_label[code] += part.per_label
        lowered = [part.lowered for part in parts if part.lowered is not None]
        return cls(
            tokens=sum(part.tokens for part in parts),
            inside=sum(part.inside for part in parts),
            labels=labels,
            per_label=ints(per_label),
            words=Tally.joined([part.words for part in parts]),
            word_labels=Tally.joined([part.word_labels for part in parts], table),
            occurrences=Tally.joined([part.occurrences for part in parts]),
            mentions=Tally.joined([part.mentions for part in parts], table),
            exact=Tally.joined([part.exact for part in parts], table),
            lowered=cls.joined(lowered) if lowered else None,
        )


def _counts(item: Ints, times: Ints) -> Tally:
    return Tally.of(item, np.zeros(len(item), dtype=np.int64), times)


def _moved(pairs: PairCounts, place: Ints) -> Tally:
    item, label, times = pairs.met()
    return Tally.of(ints(place[item]), label, times)


class SummedLexicon(Struct, frozen=True, eq=False, dict=True):
    """What training data know of a test set, told by sums: the counterpart of `Lexicon`, without the text."""

    wanted: Wanted
    sums: LexiconSums

    @cached_property
    def lowered(self) -> SummedLexicon:
        """The same lexicon with every token in lower case."""
        assert self.wanted.lowered is not None and self.sums.lowered is not None
        return SummedLexicon(self.wanted.lowered, self.sums.lowered)

    @property
    def tokens(self) -> int:
        """The number of training tokens."""
        return self.sums.tokens

    @cached_property
    def frequency(self) -> Ints:
        """How often each code occurs in the training text."""
        return self.sums.words.column(len(self.wanted.words))

    @property
    def labels(self) -> Sequence[str]:
        """The labels of training mentions."""
        return self.sums.labels

    @property
    def per_label(self) -> Ints:
        """The number of training mentions of each label."""
        return self.sums.per_label

    @cached_property
    def mentions(self) -> int:
        """The number of training mentions."""
        return int(self.per_label.sum())

    @cached_property
    def token_labels(self) -> PairCounts:
        """How often each code stands inside a training mention of each label, each (position, label) once."""
        return self.sums.word_labels.pairs(len(self.wanted.words), len(self.labels))

    @property
    def inside(self) -> int:
        """The tokens of training mentions, each (position, label) once."""
        return self.sums.inside

    def codes_of(self, strings: Sequence[str]) -> Codes:
        """Which code here each of these strings has, -1 where none."""
        return self.wanted.codes_of(strings)

    def count(self, forms: Forms, table: Codes | None) -> FormCounts:
        """What the training data say of the token sequences of `forms`, whose codes here a table tells."""
        place = self.wanted.forms.places(forms, table)
        exact, mentions, occurrences = self._of_forms
        return FormCounts(exact.at(place), mentions.at(place), lambda: ints(np.append(occurrences, 0)[place]))

    @cached_property
    def _of_forms(self) -> tuple[PairCounts, PairCounts, Ints]:
        forms, labels = len(self.wanted.forms), len(self.labels)
        return (
            self.sums.exact.pairs(forms, labels),
            self.sums.mentions.pairs(forms, labels),
            self.sums.occurrences.column(forms),
        )
