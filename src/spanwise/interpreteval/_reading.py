"""The departures of the program, and what it reads: tagged sentences and training data."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct, field

from spanwise.corpus import Annotation
from spanwise.errors import InputError
from spanwise.schemes import encode

Mention = tuple[int, int, str]  # start, end in the file, label
Unit = Mention | tuple[int, str]  # a mention, or the position and label of one of its tokens

_DELETED = str.maketrans("", "", "()*+")


# What each departure changes, in the program's own order.
WHAT = {
    "lower_case": "strings are lower-cased, except for the density of unknown words",
    "last_hyphen": "a label is what follows the last hyphen of a tag, lower-cased",
    "one_sentence": "mentions are read over the whole file as if it were one sentence",
    "training_mentions": "eCon is 0 for a string that is no training mention",
    "token_share": "eCon counts tokens of occurrences that carry the label, not mentions",
    "regular_expression": "occurrences: found by an unescaped regular expression in joined text",
    "fifth_highest": "eFre and tFre are divided by the fifth highest count, not by the tokens",
    "gold_strings": "eFre knows gold strings up to the fifth only; any other string gets 0",
    "three_decimals": "eCon, tCon, eFre and tFre are rounded to three decimals",
    "inherited": "tCon of an unseen token is that of the token before it in the mention",
    "token_density": "eDen counts the tokens of mentions, not mentions",
    "word_list": "oDen counts words outside a given list, not outside the training text",
    "fixed_edges": "eCon and tCon have the buckets {0}, (0, .5], (.5, .999], {1}",
    "greedy": "a bucket is filled until it holds more than its share, in ascending order",
    "dropped": "predicted units outside every bucket are dropped",
    "six_labels": "only the six most frequent labels are buckets",
    "clamped": "leads and lags of a comparison end at 0",
}


class Departures(Struct, frozen=True):
    """Where the program leaves the paper; each holds unless it is switched off."""

    lower_case: bool = True
    last_hyphen: bool = True
    one_sentence: bool = True
    training_mentions: bool = True
    token_share: bool = True
    regular_expression: bool = True
    fifth_highest: bool = True
    gold_strings: bool = True
    three_decimals: bool = True
    inherited: bool = True
    token_density: bool = True
    word_list: bool = True
    fixed_edges: bool = True
    greedy: bool = True
    dropped: bool = True
    six_labels: bool = True
    clamped: bool = True


class Tagged(Struct, frozen=True, eq=False, dict=True):
    """Sentences of tokens and one tag a token, as the program reads them."""

    tokens: Sequence[Sequence[str]]
    tags: Sequence[Sequence[str]]

    def __post_init__(self) -> None:
        if [len(row) for row in self.tokens] != [len(row) for row in self.tags]:
            raise InputError(
                "the preset interpreteval needs one tag for every token.\nPass as many tags as tokens."
            )

    @classmethod
    def of(cls, annotation: Annotation, *, column: str | None = None) -> Tagged:
        """The sentences of an annotation, with the tags of a column that was kept, else as IOB2."""
        corpus = annotation.corpus
        tokens = [corpus.words(number) for number in range(len(corpus))]
        if column is None:
            return cls(tokens, encode(annotation.mentions, corpus.lengths, "IOB2").lists())
        return cls(
            tokens, [part.tolist() for part in np.split(corpus.columns[column], corpus.sentences[1:-1])]
        )

    @cached_property
    def words(self) -> list[str]:
        """All tokens of the file in a row."""
        return [token for sentence in self.tokens for token in sentence]

    @cached_property
    def sentence_of(self) -> list[int]:
        """The number of the sentence of every token."""
        return [number for number, sentence in enumerate(self.tokens) for _ in sentence]

    def labels(self, departures: Departures) -> list[str | None]:
        """The label of every token, None outside mentions."""
        return [_label(tag, departures) for sentence in self.tags for tag in sentence]

    def mentions(self, departures: Departures) -> list[Mention]:
        """The mentions with positions in the file; a stray I- opens one."""
        whole = [[tag for sentence in self.tags for tag in sentence]]
        found: list[Mention] = []
        start = 0
        for sentence in whole if departures.one_sentence else self.tags:
            found.extend(_chunks(sentence, start, departures))
            start += len(sentence)
        return found


def _label(tag: str, departures: Departures) -> str | None:
    if tag == "O":
        return None
    return tag.rpartition("-")[2].lower() if departures.last_hyphen else tag.partition("-")[2]


def _chunks(tags: Sequence[str], first: int, departures: Departures) -> Iterator[Mention]:
    begun, current = 0, None
    for position, tag in enumerate([*tags, "O"]):
        label = _label(tag, departures)
        if current is not None and (label != current or tag.startswith("B-")):
            yield first + begun, first + position, current
            current = None
        if current is None and label is not None:
            begun, current = position, label


class Training(Struct, frozen=True, eq=False, dict=True):
    """What the program knows of the training file, looked up as the departures say."""

    tagged: Tagged
    departures: Departures
    found: dict[tuple[bool, bool, str], list[int]] = field(default_factory=dict)

    @cached_property
    def words(self) -> list[str]:
        """All tokens, folded."""
        return [self.fold(word) for word in self.tagged.words]

    @cached_property
    def labels(self) -> list[str | None]:
        """The label of every token, None outside mentions."""
        return self.tagged.labels(self.departures)

    @cached_property
    def mentions(self) -> set[Mention]:
        """The mentions with positions in the file."""
        return set(self.tagged.mentions(self.departures))

    @cached_property
    def strings(self) -> set[str]:
        """The strings of the mentions."""
        return {" ".join(self.words[start:end]) for start, end, _ in self.mentions}

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each token occurs."""
        return Counter(self.words)

    @cached_property
    def labeled(self) -> Counter[tuple[str, str | None]]:
        """How often each token carries each label."""
        return Counter(zip(self.words, self.labels, strict=True))

    @cached_property
    def text(self) -> tuple[str, list[int]]:
        """The words joined by blanks, and where the blanks are."""
        joined = " ".join(self.words)
        return joined, [at for at, character in enumerate(joined) if character == " "]

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Where each token occurs."""
        found: dict[str, list[int]] = defaultdict(list)
        for at, word in enumerate(self.words):
            found[word].append(at)
        return found

    def fold(self, word: str) -> str:
        """A word as it is compared: in lower case, unless that is switched off."""
        return word.lower() if self.departures.lower_case else word

    def occurrences(self, string: str) -> list[int]:
        """The positions of the first token of every occurrence of a string of tokens."""
        searched = self.departures.regular_expression
        key = (self.departures.lower_case, searched, string)
        if key not in self.found:
            self.found[key] = list(self._matches(string) if searched else self._equal(string))
        return self.found[key]

    def _matches(self, string: str) -> Iterator[int]:
        try:
            pattern = re.compile(f" {string.translate(_DELETED)} ")
        except re.error:  # such as a lone bracket: the program finds nothing
            return
        text, blanks = self.text
        for match in pattern.finditer(text):
            yield bisect_left(blanks, match.start()) + 1

    def _equal(self, string: str) -> Iterator[int]:
        wanted = string.split(" ")
        sentence = self.tagged.sentence_of
        for at in self.places.get(wanted[0], ()):
            end = at + len(wanted)
            if self.words[at:end] == wanted and sentence[at] == sentence[end - 1]:
                yield at
