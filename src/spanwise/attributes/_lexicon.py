"""The training lexicon: counts of tokens, token sequences and their labels, in memory or as sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.attributes.forms import Forms, PairCounts, distinct_units, mention_tokens, one_occurrence
from spanwise.columns import Bools, Codes, Column, Ints, Words, codes, frozen, ints
from spanwise.corpus import Annotation, Corpus, Mentions, with_one_vocabulary
from spanwise.hashing import distinct, find_hashes, ordered_hashes, word_hashes


class FormCounts(Struct, frozen=True, eq=False, dict=True):
    """Training counts for each token sequence of a tree of `Forms`."""

    exact: PairCounts  # occurrences in the text that are exactly one mention, by label
    mentions: PairCounts  # training mentions, by label
    search: Callable[[], Ints]

    @cached_property
    def occurrences(self) -> Ints:
        """How often each sequence occurs in the training text, whether as a mention or not."""
        return self.search()


class Lexicon(Struct, frozen=True, eq=False, dict=True):
    """Training data in memory, with codes from one vocabulary.

    For training data read in blocks, `SummedLexicon` takes its place.

    Examples:
        >>> corpus = Corpus.of([["Rome", "is", "Rome"]])
        >>> lexicon = Lexicon.of([Annotation(corpus, Mentions.of([(0, 0, 1, "LOC")]))])
        >>> lexicon.tokens, lexicon.frequency.tolist()
        (3, [2, 1])
    """

    vocabulary: Sequence[str]
    parts: tuple[Annotation, ...]

    @classmethod
    def of(cls, train: Sequence[Annotation]) -> Lexicon:
        """The lexicon of all training files together."""
        corpora = with_one_vocabulary([annotation.corpus for annotation in train])
        parts = (replace(part, corpus=corpus) for part, corpus in zip(train, corpora, strict=True))
        return cls(corpora[0].vocabulary, tuple(parts))

    @cached_property
    def lowering(self) -> tuple[Codes, Sequence[str]]:
        """For each code, the code of the lower-cased word, and the strings of the new codes."""
        return lowering(self.vocabulary)

    @cached_property
    def lowered(self) -> Lexicon:
        """A copy of the lexicon with every token in lower case."""
        table, strings = self.lowering
        parts = (replace(part, corpus=part.corpus.recoded(table, strings)) for part in self.parts)
        return Lexicon(strings, tuple(parts))

    @property
    def tokens(self) -> int:
        """The number of training tokens."""
        return sum(len(part.corpus.tokens) for part in self.parts)

    @cached_property
    def frequency(self) -> Ints:
        """How often each code of the vocabulary occurs in the training text."""
        counts = np.zeros(len(self.vocabulary), dtype=np.int64)
        for part in self.parts:
            counts += np.bincount(part.corpus.tokens, minlength=len(counts))
        return ints(counts)

    @cached_property
    def seen(self) -> Seen:
        """The counts of the training mentions."""
        parts = [Seen.of(part.corpus, part.mentions) for part in self.parts]
        return parts[0] if len(parts) == 1 else Seen.joined(parts)

    @property
    def labels(self) -> Sequence[str]:
        """The labels of the training mentions."""
        return self.seen.labels

    @property
    def per_label(self) -> Ints:
        """The number of training mentions of each label."""
        return self.seen.per_label

    @cached_property
    def mentions(self) -> int:
        """The number of training mentions."""
        return int(self.per_label.sum())

    @property
    def token_labels(self) -> PairCounts:
        """How often each code occurs in training mentions of each label; a (position, label) counts once."""
        return self.seen.tokens

    @cached_property
    def inside(self) -> int:
        """The number of tokens inside training mentions; a (position, label) counts once."""
        return int(self.token_labels.table.sum())

    def forms_seen(self) -> Iterator[tuple[tuple[str, ...], str, int]]:
        """The tokens and the label of each distinct training mention, and how often it occurs."""
        form, label, times = self.seen.mentions.occurring()
        flat, at = self.seen.forms.sequences(form)
        words = [self.vocabulary[code] for code in flat.tolist()]
        bounds = at.tolist()
        for i, (code, count) in enumerate(zip(label.tolist(), times.tolist(), strict=True)):
            yield tuple(words[bounds[i] : bounds[i + 1]]), self.seen.labels[code], count

    def codes_of(self, strings: Sequence[str]) -> Codes | None:
        """The code of each string in this lexicon, -1 if it has none; None if these are its own strings."""
        if strings is self.vocabulary:
            return None
        number = {word: code for code, word in enumerate(self.vocabulary)}
        return codes(np.fromiter((number.get(word, -1) for word in strings), np.int32, len(strings)))

    def count(self, forms: Forms, table: Codes | None) -> FormCounts:
        """Training counts of the token sequences of `forms`; `table` translates their codes to those here.

        The text is not searched until the occurrences are needed.
        """
        numbers = self.seen.forms.numbers_of(forms, table)
        search = partial(self._occurrences_of, forms, table)
        return FormCounts(self.seen.exact.at(numbers), self.seen.mentions.at(numbers), search)

    def _occurrences_of(self, forms: Forms, table: Codes | None) -> Ints:
        if table is None:
            return self.occurrences(forms)
        inner, (numbers,) = Forms.union([(forms, table)], len(self.vocabulary))
        return ints(np.append(self.occurrences(inner), 0)[numbers])

    def occurrences(self, forms: Forms, table: Codes | None = None) -> Ints:
        """How often each sequence occurs within a training sentence; occurrences may overlap.

        `table` translates the codes of this lexicon to those of the tree.
        """
        frequency = self.frequency
        if table is not None:
            weighted = np.bincount(table, weights=frequency, minlength=forms.width)
            frequency = weighted.astype(np.int64)  # sums of integers are exact in floats up to 2⁵³
        counts = np.zeros(len(forms), dtype=np.int64)
        counts[: forms.singles] = frequency[forms.heads]
        for part in self.parts:
            tokens = part.corpus.tokens
            counts += forms.occurrences(
                tokens if table is None else table[tokens], _last(part.corpus.sentences)
            )
        return ints(counts)


class TrainingCounts(Struct, frozen=True, eq=False, dict=True):
    """How often tokens, token sequences and mentions occur in the training data.

    Strings are compared as in the rest of the evaluation: as written, or in lower case.

    Examples:
        >>> corpus = Corpus.of([["New", "York", "is", "New"]])
        >>> train = Lexicon.of([Annotation(corpus, Mentions.of([(0, 0, 2, "LOC")]))])
        >>> counts = TrainingCounts(train)
        >>> counts.token("New"), counts.sequence(["New", "York"]), counts.mention(["New", "York"], "LOC")
        (2, 1, 1)
        >>> counts.tokens, counts.mentions, counts.label("LOC")
        (4, 1, 1)
    """

    lexicon: Lexicon
    lowercase: bool = False

    @property
    def tokens(self) -> int:
        """The number of training tokens."""
        return self.lexicon.tokens

    @property
    def mentions(self) -> int:
        """The number of training mentions."""
        return self.lexicon.mentions

    def token(self, token: str) -> int:
        """How often a token occurs in the training text."""
        code = self._codes.get(self._written(token), -1)
        return int(self.lexicon.frequency[code]) if code >= 0 else 0

    def sequence(self, tokens: Sequence[str]) -> int:
        """How often a token sequence occurs within a training sentence, whether as a mention or not."""
        codes = [self._codes.get(self._written(token), -1) for token in tokens]
        if not codes or -1 in codes:
            return 0
        text, order, begin = self._positions
        at = order[begin[codes[0]] : begin[codes[0] + 1]]
        for further, code in enumerate(codes[1:], start=1):
            at = at[text[at + further] == code]
        return len(at)

    def mention(self, tokens: Sequence[str], label: str | None = None) -> int:
        """How many training mentions have these tokens and, if given, this label."""
        return self._mentions[tuple(map(self._written, tokens)), label]

    def label(self, label: str) -> int:
        """How many training mentions have this label."""
        labels = list(self.lexicon.labels)
        return int(self.lexicon.per_label[labels.index(label)]) if label in labels else 0

    def _written(self, token: str) -> str:
        return token.lower() if self.lowercase else token

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {word: code for code, word in enumerate(self.lexicon.vocabulary)}

    @cached_property
    def _mentions(self) -> Counter[tuple[tuple[str, ...], str | None]]:
        counts: Counter[tuple[tuple[str, ...], str | None]] = Counter()
        for tokens, label, times in self.lexicon.forms_seen():
            counts[tokens, label] += times
            counts[tokens, None] += times
        return counts

    @cached_property
    def _positions(self) -> tuple[Ints, Ints, Ints]:
        """The text with -1 after each sentence, its positions by code, and where those of each code begin."""
        parts = [
            np.insert(part.corpus.tokens.astype(np.int64), part.corpus.sentences[1:], -1)
            for part in self.lexicon.parts
        ]
        text = ints(np.concatenate([*parts, [-1]]))
        order = np.argsort(text, kind="stable")
        return text, ints(order), ints(np.searchsorted(text[order], np.arange(len(self._codes) + 1)))


def lowering(vocabulary: Sequence[str]) -> tuple[Codes, Sequence[str]]:
    """For each code, the code of the lower-cased word, and the strings of the new codes."""
    merged: dict[str, int] = {}
    table = [merged.setdefault(word.lower(), len(merged)) for word in vocabulary]
    return codes(np.array(table, dtype=np.int32)), tuple(merged)


def _last(sentences: Ints) -> Bools:
    """Which tokens are the last of their sentence."""
    last = np.zeros(sentences[-1], dtype=bool)
    last[sentences[1:][np.diff(sentences) > 0] - 1] = True
    return last


class Seen(Struct, frozen=True, eq=False):
    """Counts of training mentions; the counts of parts that share a vocabulary can be added."""

    labels: tuple[str, ...]
    per_label: Ints  # mentions
    forms: Forms  # the token sequences of the mentions
    mentions: PairCounts  # sequences × labels
    exact: PairCounts  # the same, only for mentions that are one occurrence of their sequence in the text
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
        """The sum of the counts of all parts."""
        labels = tuple(sorted({label for part in parts for label in part.labels}))
        index = {label: number for number, label in enumerate(labels)}
        codes = [ints([index[label] for label in part.labels]) for part in parts]
        forms, form_numbers = Forms.union([(part.forms, None) for part in parts], parts[0].forms.width)
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
            mentions=joined("mentions", len(forms), form_numbers),
            exact=joined("exact", len(forms), form_numbers),
            tokens=joined("tokens", forms.width, same),
        )


# ---- sums over training blocks, by hashes of content ---------------------------------------------
class LexiconQueries(Struct, frozen=True, eq=False):
    """What to look up in training data: the words of a test set and the token sequences of its mentions.

    Words are numbered in the order of their hashes, so that independent blocks agree on the numbers;
    the last code of the tree stands for any other word. Those of several blocks can be joined.
    """

    words: Words  # two columns
    forms: Forms
    lowered: LexiconQueries | None = None  # the same in lower case, if strings are compared that way

    @classmethod
    def of(
        cls, strings: Sequence[str], forms: Forms, lowered: LexiconQueries | None = None
    ) -> LexiconQueries:
        """What to look up for a block whose sequences have the codes of `strings`."""
        hashes = word_hashes(strings)
        words = ordered_hashes(hashes)
        tree, _ = Forms.union([(forms, find_hashes(words, hashes))], len(words) + 1)
        return cls(words, tree, lowered)

    @classmethod
    def nothing(cls) -> LexiconQueries:
        """What to look up for a block without text: nothing."""
        none = ints([])
        return cls.of([], Forms(none, none, 0))

    @classmethod
    def joined(cls, parts: Sequence[LexiconQueries]) -> LexiconQueries:
        """What to look up for several blocks together."""
        if len(parts) == 1:
            return parts[0]
        words = ordered_hashes(np.concatenate([part.words for part in parts]))
        tables = [np.append(find_hashes(words, part.words), len(words)) for part in parts]
        pairs = [(part.forms, table) for part, table in zip(parts, tables, strict=True)]
        tree, _ = Forms.union(pairs, len(words) + 1)
        lowered = [part.lowered for part in parts if part.lowered is not None]
        return cls(words, tree, cls.joined(lowered) if lowered else None)

    def codes_of(self, strings: Sequence[str]) -> Codes:
        """The number of each string, -1 if it is not wanted."""
        return codes(find_hashes(self.words, word_hashes(strings)))


class LabelTally(Struct, frozen=True, eq=False):
    """How often each (item, label) pair occurs, in narrow integer columns; tallies can be added."""

    item: Column
    label: Column
    times: Column

    @classmethod
    def of(cls, item: Ints, label: Column, times: Ints) -> LabelTally:
        """Add up equal pairs; those with item -1 are left out."""
        met = np.flatnonzero((item >= 0) & (times > 0))
        labels = int(label.max(initial=0)) + 1
        key, number = distinct(ints(item[met] * labels + label[met]))
        item, label = np.divmod(key, labels)
        # Sums of integers are exact in floats up to 2⁵³.
        total = np.bincount(number, weights=times[met], minlength=len(key)).astype(np.int64)
        return cls(_narrow(item), _narrow(label), _narrow(total))

    @classmethod
    def joined(cls, parts: Sequence[LabelTally], labels: Sequence[Ints] | None = None) -> LabelTally:
        """The sum of several tallies; `labels` maps the label codes of each to common ones."""
        label = [
            part.label if labels is None else labels[index][part.label] for index, part in enumerate(parts)
        ]
        return cls.of(
            ints(np.concatenate([part.item for part in parts])),
            ints(np.concatenate(label)),
            ints(np.concatenate([part.times for part in parts])),
        )

    def column(self, items: int) -> Ints:
        """How often each of the `items` occurs with any label."""
        return ints(np.bincount(self.item, weights=self.times, minlength=items))

    def pairs(self, items: int, labels: int) -> PairCounts:
        """The tally as a table of items × labels."""
        return PairCounts.of(
            ints(self.item), ints(self.label), items=items, labels=labels, times=ints(self.times)
        )


def _narrow(column: Ints) -> Column:
    return frozen(column.astype(np.min_scalar_type(int(column.max(initial=0)))))


class LexiconSums(Struct, frozen=True, eq=False):
    """Counts from training blocks for the wanted words and sequences, and totals over all training data."""

    tokens: int
    inside: int  # tokens of mentions, each (position, label) once
    labels: tuple[str, ...]
    per_label: Ints
    words: LabelTally
    word_labels: LabelTally
    occurrences: LabelTally
    mentions: LabelTally
    exact: LabelTally
    lowered: LexiconSums | None = None

    @classmethod
    def of(cls, lexicon: Lexicon, wanted: LexiconQueries) -> LexiconSums:
        """The counts from one training block."""
        code = wanted.codes_of(lexicon.vocabulary)
        seen, width = lexicon.seen, len(wanted.words)
        form_numbers = wanted.forms.numbers_of(seen.forms, code)
        item, label, times = seen.tokens.occurring()
        counts = lexicon.occurrences(wanted.forms, codes(np.where(code < 0, width, code)))
        return cls(
            tokens=lexicon.tokens,
            inside=lexicon.inside,
            labels=tuple(lexicon.labels),
            per_label=lexicon.per_label,
            words=_counts(ints(code), lexicon.frequency),
            word_labels=LabelTally.of(ints(code[item]), label, times),
            occurrences=_counts(ints(np.arange(len(counts))), counts),
            mentions=_moved(seen.mentions, form_numbers),
            exact=_moved(seen.exact, form_numbers),
            lowered=None if wanted.lowered is None else cls.of(lexicon.lowered, wanted.lowered),
        )

    @classmethod
    def joined(cls, parts: Sequence[LexiconSums]) -> LexiconSums:
        """The sum of the counts from several blocks."""
        labels = tuple(sorted({label for part in parts for label in part.labels}))
        number = {label: index for index, label in enumerate(labels)}
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
            words=LabelTally.joined([part.words for part in parts]),
            word_labels=LabelTally.joined([part.word_labels for part in parts], table),
            occurrences=LabelTally.joined([part.occurrences for part in parts]),
            mentions=LabelTally.joined([part.mentions for part in parts], table),
            exact=LabelTally.joined([part.exact for part in parts], table),
            lowered=cls.joined(lowered) if lowered else None,
        )


def _counts(item: Ints, times: Ints) -> LabelTally:
    return LabelTally.of(item, np.zeros(len(item), dtype=np.int64), times)


def _moved(pairs: PairCounts, numbers: Ints) -> LabelTally:
    item, label, times = pairs.occurring()
    return LabelTally.of(ints(numbers[item]), label, times)


class SummedLexicon(Struct, frozen=True, eq=False, dict=True):
    """The training counts of a test set's words and sequences: like `Lexicon`, but sums without the text."""

    queries: LexiconQueries
    sums: LexiconSums

    @cached_property
    def lowered(self) -> SummedLexicon:
        """The lexicon with every token in lower case."""
        assert self.queries.lowered is not None and self.sums.lowered is not None
        return SummedLexicon(self.queries.lowered, self.sums.lowered)

    @property
    def tokens(self) -> int:
        """The number of training tokens."""
        return self.sums.tokens

    @cached_property
    def frequency(self) -> Ints:
        """How often each code occurs in the training text."""
        return self.sums.words.column(len(self.queries.words))

    @property
    def labels(self) -> Sequence[str]:
        """The labels of the training mentions."""
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
        """How often each code occurs in training mentions of each label; a (position, label) counts once."""
        return self.sums.word_labels.pairs(len(self.queries.words), len(self.labels))

    @property
    def inside(self) -> int:
        """The number of tokens inside training mentions; a (position, label) counts once."""
        return self.sums.inside

    def codes_of(self, strings: Sequence[str]) -> Codes:
        """The code of each string in this lexicon, -1 if it has none."""
        return self.queries.codes_of(strings)

    def count(self, forms: Forms, table: Codes | None) -> FormCounts:
        """Training counts of the token sequences of `forms`; `table` translates their codes to those here."""
        numbers = self.queries.forms.numbers_of(forms, table)
        exact, mentions, occurrences = self._of_forms
        return FormCounts(
            exact.at(numbers), mentions.at(numbers), lambda: ints(np.append(occurrences, 0)[numbers])
        )

    @cached_property
    def _of_forms(self) -> tuple[PairCounts, PairCounts, Ints]:
        forms, labels = len(self.queries.forms), len(self.labels)
        return (
            self.sums.exact.pairs(forms, labels),
            self.sums.mentions.pairs(forms, labels),
            self.sums.occurrences.column(forms),
        )
