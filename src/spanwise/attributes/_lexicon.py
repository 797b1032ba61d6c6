"""What training data know: how often tokens, token sequences and their labels occur."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from spanwise.attributes._asked import Asked
from spanwise.attributes._forms import Forms
from spanwise.attributes._pairs import PairCounts
from spanwise.attributes._seen import Seen
from spanwise.attributes._text import Text
from spanwise.columns import Codes, Column, Ints, frozen
from spanwise.corpus import Annotation, with_one_vocabulary


class FormCounts(Struct, frozen=True, eq=False, dict=True):
    """What training data say of each token sequence of a tree of `Forms`."""

    forms: Forms
    asked: Asked
    exact: PairCounts  # occurrences in the text that are exactly a mention, by label
    mentions: PairCounts  # training mentions, by label

    @cached_property
    def occurrences(self) -> Ints:
        """How often each sequence occurs in the training text, as a mention or not."""
        return self.asked.occurrences(self.forms)


class Lexicon(Struct, frozen=True, eq=False, dict=True):
    """The training text as integer columns, and the counts of its mentions.

    Lexicons of two parts add up to the lexicon of the whole.

    Examples:
        >>> from spanwise.corpus import Corpus, Mentions
        >>> corpus = Corpus.of([["Rome", "is", "Rome"]])
        >>> lexicon = Lexicon.of([Annotation(corpus, Mentions.of([(0, 0, 1, "LOC")]))])
        >>> (lexicon + lexicon).tokens, lexicon.frequency.tolist()
        (6, [2, 1])
    """

    vocabulary: Sequence[str]
    text: Text
    seen: Seen

    @classmethod
    def of(cls, train: Sequence[Annotation]) -> Lexicon:
        """The lexicon of all training files together."""
        corpora = with_one_vocabulary([annotation.corpus for annotation in train])
        vocabulary = corpora[0].vocabulary
        parts = [Seen.of(corpus, one.mentions) for corpus, one in zip(corpora, train, strict=True)]
        blocks = tuple((corpus.tokens, corpus.sentences) for corpus in corpora)
        return cls(vocabulary, Text(blocks, len(vocabulary)), _joined(parts))

    @classmethod
    def gathered(cls, vocabulary: Sequence[str], parts: Iterable[Annotation]) -> Lexicon:
        """The lexicon of parts that share a vocabulary; of each only its text is kept, in a narrow column."""
        narrow = np.min_scalar_type(max(len(vocabulary) - 1, 0))
        blocks: list[tuple[Column, Ints]] = []
        seen: list[Seen] = []
        for part in parts:
            seen = [_joined([*seen, Seen.of(part.corpus, part.mentions)])]
            blocks.append((frozen(part.corpus.tokens.astype(narrow)), part.corpus.sentences))
        return cls(vocabulary, Text(tuple(blocks), len(vocabulary)), seen[0])

    def __add__(self, other: Lexicon) -> Lexicon:
        number = {
            word: code for code, word in enumerate(dict.fromkeys((*self.vocabulary, *other.vocabulary)))
        }
        sides = [
            one.recoded(_table([number[word] for word in one.vocabulary]), tuple(number))
            for one in (self, other)
        ]
        text = Text(tuple(block for side in sides for block in side.text.blocks), len(number))
        return Lexicon(tuple(number), text, _joined([side.seen for side in sides]))

    def recoded(self, table: Column, vocabulary: Sequence[str]) -> Lexicon:
        """The same lexicon with the codes `table[code]` into another vocabulary."""
        width = len(vocabulary)
        return Lexicon(vocabulary, self.text.recoded(table, width), self.seen.recoded(table, width))

    @cached_property
    def lowering(self) -> tuple[Codes, Sequence[str]]:
        """The code of each word in lower case, and the strings of those codes."""
        return lowering(self.vocabulary)

    @cached_property
    def lowered(self) -> Lexicon:
        """The same lexicon with every token in lower case."""
        return self.recoded(*self.lowering)

    @property
    def tokens(self) -> int:
        """The number of training tokens."""
        return len(self.text)

    @property
    def frequency(self) -> Ints:
        """How often each code of the vocabulary occurs in the training text."""
        return self.text.frequency

    @property
    def labels(self) -> Sequence[str]:
        """The labels of training mentions."""
        return self.seen.labels

    @cached_property
    def mentions(self) -> int:
        """The number of training mentions."""
        return int(self.seen.per_label.sum())

    @property
    def token_labels(self) -> PairCounts:
        """How often each code stands inside a training mention of each label, each (position, label) once."""
        return self.seen.tokens

    def count(self, forms: Forms) -> FormCounts:
        """How often the token sequences of `forms`, whose codes begin with ours, occur and are mentions.

        The training text is searched for them when somebody asks how often they occur, and later, as
        when a test set comes in parts, only for those that nobody asked for before.
        """
        place = self.seen.forms.places(forms)
        return FormCounts(forms, self._asked, self.seen.exact.at(place), self.seen.mentions.at(place))

    def prepare(self, forms: Forms) -> None:
        """Search the text for these sequences now, and make ready to look for others later."""
        self._asked.occurrences(forms)
        _ = self.text.pairs

    @cached_property
    def _asked(self) -> Asked:
        return Asked(self.text)

    @cached_property
    def codes(self) -> dict[str, int]:
        """The code of each word of the vocabulary."""
        return {word: code for code, word in enumerate(self.vocabulary)}


def lowering(vocabulary: Sequence[str]) -> tuple[Codes, Sequence[str]]:
    """The code of each word in lower case, and the strings of those codes."""
    merged: dict[str, int] = {}
    table = _table([merged.setdefault(word.lower(), len(merged)) for word in vocabulary])
    return table, tuple(merged)


def _joined(parts: Sequence[Seen]) -> Seen:
    return parts[0] if len(parts) == 1 else Seen.joined(parts)


def _table(numbers: Sequence[int]) -> Codes:
    return np.array(numbers, dtype=np.int32)
