"""What training data know: how often tokens, token sequences and their labels occur."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from spanwise.attributes._asked import Asked
from spanwise.attributes._forms import Forms, PairCounts, Runs
from spanwise.columns import Bools, Codes, Column, Ints, frozen, ints, offsets
from spanwise.corpus import Annotation, Corpus, Mentions, Parts, with_one_labelling, with_one_vocabulary
from spanwise.records import record


def mention_tokens(corpus: Corpus, mentions: Mentions) -> Runs:
    """The positions, in the whole corpus, of the tokens of each mention.

    In a text of characters a mention has the tokens it touches; a discontinuous
    mention has those of all its pieces; one that could not be placed has none.
    """
    if mentions.parts is not None:
        return _tokens_of_parts(corpus, mentions, mentions.parts)
    first, end = _borders(corpus, mentions.sentence, mentions.start, mentions.end)
    size = np.where(mentions.start >= 0, np.maximum(end - first, 0), 0)
    return Runs.spanning(first, size)


def _borders(corpus: Corpus, sentence: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """The positions in the corpus of the first token of each span and of the one behind its last."""
    base = corpus.sentences[sentence]
    if corpus.unit == "token":
        return base + start, base + end
    if corpus.token_start is None or corpus.token_end is None:
        raise ValueError("a corpus of characters needs token_start and token_end")
    # Tokens lie one behind another, so (sentence, character) is in order over the
    # whole corpus, and one search finds the tokens a span touches.
    stride = int(max(corpus.token_end.max(initial=0), end.max(initial=0))) + 1
    owner = np.repeat(np.arange(len(corpus)), corpus.lengths) * stride
    first = np.searchsorted(owner + corpus.token_end, sentence * stride + start, side="right")
    behind = np.searchsorted(owner + corpus.token_start, sentence * stride + end, side="left")
    return ints(first), ints(behind)


def _tokens_of_parts(corpus: Corpus, mentions: Mentions, parts: Parts) -> Runs:
    pieces = np.diff(parts.at)
    owner = np.repeat(np.arange(len(mentions)), pieces)
    first, end = _borders(corpus, mentions.sentence[owner], parts.start, parts.end)
    size = np.where(mentions.start[owner] >= 0, np.maximum(end - first, 0), 0)
    if len(size) and corpus.unit == "character":
        # Two pieces may touch one token; it is the mention's once.
        same = np.zeros(len(size), dtype=bool)
        same[1:] = (owner[1:] == owner[:-1]) & (first[1:] < end[:-1]) & (size[1:] > 0)
        first, size = first + same, size - same
    runs = Runs.spanning(first, size)
    per_mention = np.bincount(owner, weights=size, minlength=len(mentions)).astype(np.int64)
    return Runs(offsets(per_mention), runs.position)


def distinct_units(position: Ints, label: Column, labels: int) -> Ints | None:
    """Which of the (position, label) pairs to keep so that each is there once; None keeps all.

    The first of equal pairs is kept, and the order stays; a position of -1 is never equal to another.
    """
    if len(position) < 2 or bool((position[1:] > position[:-1]).all()):
        return None
    key = position * max(labels, 1) + label
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    fresh = np.ones(len(key), dtype=bool)
    fresh[1:] = (ordered[1:] != ordered[:-1]) | (position[order][1:] < 0)
    return ints(np.sort(order[fresh]))


@record(eq=False)
class FormCounts:
    """What a training text says of each token sequence of a tree of `Forms`; counts of parts add up."""

    occurrences: Ints  # in the text, as a mention or not
    exact: PairCounts  # occurrences that are exactly a mention, by label
    mentions: PairCounts  # training mentions, by label


@record(eq=False)
class Lexicon:
    """Training text and its mentions as integer columns, with their counts made when asked for.

    Lexicons of two parts add up to the lexicon of the whole.

    Examples:
        >>> corpus = Corpus.of([["Rome", "is", "Rome"]])
        >>> lexicon = Lexicon.of([Annotation(corpus, Mentions.of([(0, 0, 1, "LOC")]))])
        >>> (lexicon + lexicon).tokens, lexicon.frequency.tolist()
        (6, [2, 1])
    """

    corpus: Corpus
    mentions: Mentions

    @classmethod
    def of(cls, train: Sequence[Annotation]) -> Lexicon:
        """The lexicon of all training files together."""
        if len(train) == 1:
            return cls(train[0].corpus, train[0].mentions)
        corpora = with_one_vocabulary([annotation.corpus for annotation in train])
        sides = with_one_labelling([annotation.mentions for annotation in train])
        return cls(_joined_corpus(corpora), _joined_mentions(sides, [len(corpus) for corpus in corpora]))

    def __add__(self, other: Lexicon) -> Lexicon:
        return Lexicon.of([Annotation(self.corpus, self.mentions), Annotation(other.corpus, other.mentions)])

    @cached_property
    def lowered(self) -> Lexicon:
        """The same lexicon with every token in lower case."""
        return Lexicon(lowered(self.corpus), self.mentions)

    @property
    def tokens(self) -> int:
        """The number of training tokens."""
        return len(self.corpus.tokens)

    @cached_property
    def frequency(self) -> Ints:
        """How often each code of the vocabulary occurs in the training text."""
        return ints(np.bincount(self.corpus.tokens, minlength=len(self.corpus.vocabulary)))

    @cached_property
    def last(self) -> Bools:
        """Which tokens end their sentence."""
        last = np.zeros(self.tokens, dtype=bool)
        ends = self.corpus.sentences[1:][self.corpus.lengths > 0]
        last[ends - 1] = True
        return last

    @cached_property
    def runs(self) -> Runs:
        """The tokens of each training mention."""
        return mention_tokens(self.corpus, self.mentions)

    @cached_property
    def token_labels(self) -> PairCounts:
        """How often each code stands inside a training mention of each label, each (position, label) once."""
        label = self.mentions.label[self.runs.row]
        position = self.runs.position
        kept = distinct_units(position, label, len(self.mentions.labels))
        if kept is not None:
            position, label = position[kept], label[kept]
        return PairCounts.of(
            self.corpus.tokens[position].astype(np.int64),
            label,
            items=len(self.corpus.vocabulary),
            labels=len(self.mentions.labels),
        )

    @cached_property
    def mention_labels(self) -> Ints:
        """The number of training mentions of each label."""
        return ints(np.bincount(self.mentions.label, minlength=len(self.mentions.labels)))

    def count(self, forms: Forms) -> FormCounts:
        """How often the token sequences of `forms`, whose codes begin with ours, occur and are mentions.

        Asked for the first time, the training text is searched for them. Later, as when a test set comes in
        parts, it is searched for those only that nobody asked for before.
        """
        occurrences = self._asked.occurrences(forms)
        labels = len(self.mentions.labels)
        whole = self._one_occurrence
        if self._asked.times == 1:
            number = forms.find(self.corpus.tokens, self.runs)
            exact = PairCounts.of(number[whole], self.mentions.label[whole], items=len(forms), labels=labels)
            mentions = PairCounts.of(number, self.mentions.label, items=len(forms), labels=labels)
        else:
            own, *tables = self._own_forms
            place = own.places(forms)
            exact, mentions = (table.at(place) for table in tables)
        return FormCounts(occurrences, exact, mentions)

    @cached_property
    def _asked(self) -> Asked:
        return Asked(self.corpus.tokens, self.last, self.frequency)

    @cached_property
    def _own_forms(self) -> tuple[Forms, PairCounts, PairCounts]:
        """The token sequences of the training mentions, and what `FormCounts` says of each."""
        forms, number = Forms.of(self.corpus.tokens, self.runs, width=len(self.corpus.vocabulary))
        labels, whole = len(self.mentions.labels), self._one_occurrence
        return (
            forms,
            PairCounts.of(number[whole], self.mentions.label[whole], items=len(forms), labels=labels),
            PairCounts.of(number, self.mentions.label, items=len(forms), labels=labels),
        )

    @cached_property
    def codes(self) -> dict[str, int]:
        """The code of each word of the vocabulary."""
        return {word: code for code, word in enumerate(self.corpus.vocabulary)}

    @cached_property
    def _one_occurrence(self) -> Column:
        """Which mentions are an occurrence of their tokens in the text, each (occurrence, label) once.

        A discontinuous mention is none, as its tokens do not follow one another;
        of two mentions of characters that touch the same tokens one is counted.
        """
        if self.mentions.parts is None and self.corpus.unit == "token":
            return np.ones(len(self.mentions), dtype=bool)
        size, at = self.runs.size, self.runs.at
        some = np.flatnonzero(size > 0)
        first, final = self.runs.position[at[some]], self.runs.position[at[some + 1] - 1]
        whole = some[final - first + 1 == size[some]]
        columns = (self.mentions.label[whole], size[whole], self.runs.position[at[whole]])
        order = np.lexsort(columns)
        fresh = np.zeros(len(whole), dtype=bool)
        fresh[:1] = True
        for column in columns:
            fresh[1:] |= column[order][1:] != column[order][:-1]
        mask = np.zeros(len(self.mentions), dtype=bool)
        mask[whole[order[fresh]]] = True
        return mask


def lowered(corpus: Corpus) -> Corpus:
    """The same corpus with every token in lower case; only the vocabulary is looked at."""
    merged: dict[str, int] = {}
    table = np.fromiter(
        (merged.setdefault(word.lower(), len(merged)) for word in corpus.vocabulary),
        np.int32,
        len(corpus.vocabulary),
    )
    return replace(corpus, tokens=table[corpus.tokens], vocabulary=tuple(merged))


def _joined_corpus(corpora: Sequence[Corpus]) -> Corpus:
    """One corpus of several that share a vocabulary and a unit."""
    if len({corpus.unit for corpus in corpora}) > 1:
        raise ValueError("corpora of tokens and of characters cannot be joined")

    def joined(name: str) -> Column | None:
        columns = [getattr(corpus, name) for corpus in corpora]
        return None if columns[0] is None else frozen(np.concatenate(columns))

    return Corpus(
        tokens=_concatenated([corpus.tokens for corpus in corpora]),
        vocabulary=corpora[0].vocabulary,
        sentences=offsets(np.concatenate([corpus.lengths for corpus in corpora])),
        unit=corpora[0].unit,
        token_start=joined("token_start"),
        token_end=joined("token_end"),
    )


def _concatenated(columns: Sequence[Codes]) -> Codes:
    return np.concatenate(columns) if columns else np.empty(0, dtype=np.int32)


def _joined_mentions(sides: Sequence[Mentions], sentences: Sequence[int]) -> Mentions:
    shift = offsets(sentences)[:-1]
    parts = None
    if any(side.parts is not None for side in sides):
        pieces = [_parts_of(side) for side in sides]
        parts = Parts(
            offsets(np.concatenate([np.diff(piece.at) for piece in pieces])),
            ints(np.concatenate([piece.start for piece in pieces])),
            ints(np.concatenate([piece.end for piece in pieces])),
        )
    return Mentions(
        sentence=np.concatenate([side.sentence + by for side, by in zip(sides, shift, strict=True)]),
        start=np.concatenate([side.start for side in sides]),
        end=np.concatenate([side.end for side in sides]),
        label=np.concatenate([side.label for side in sides]),
        labels=sides[0].labels,
        parts=parts,
    )


def _parts_of(side: Mentions) -> Parts:
    if side.parts is not None:
        return side.parts
    return Parts(ints(np.arange(len(side) + 1)), side.start, side.end)
