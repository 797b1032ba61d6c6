"""Which sentences of a test set stand in the training data, found by 128-bit hashes of their content."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from spanwise.columns import Column, Ints, Words, frozen
from spanwise.corpus import Corpus
from spanwise.hashing import sequence_hashes, word_hashes

_BLOCK = 1 << 16  # tokens that are hashed at once, so that they stay in the processor's cache


class KnownSentences(Struct, frozen=True, eq=False):
    """The sentences of training data, to find those that a test set repeats; those of parts add up."""

    hashes: Words  # of each distinct sentence, in order

    @classmethod
    def of(cls, corpora: Iterable[Corpus]) -> KnownSentences:
        """The sentences of some corpora."""
        return cls.of_text((one.vocabulary, one.tokens, one.sentences) for one in corpora)

    @classmethod
    def of_text(cls, blocks: Iterable[tuple[Sequence[str], Column, Ints]]) -> KnownSentences:
        """The sentences of blocks: a vocabulary, the codes of tokens in it, and the offsets of sentences."""
        words: tuple[Sequence[str], Words] | None = None
        parts = [np.zeros((0, 2), dtype=np.uint64)]
        for vocabulary, tokens, sentences in blocks:
            if words is None or words[0] is not vocabulary:
                words = vocabulary, word_hashes(vocabulary)
            parts.append(_sentence_hashes(words[1], tokens, sentences))
        return cls(_distinct(np.concatenate(parts)))

    def __add__(self, other: KnownSentences) -> KnownSentences:
        return KnownSentences(_distinct(np.concatenate([self.hashes, other.hashes])))

    def count(self, test: Corpus) -> int:
        """How many sentences of a test set stand in the training data; empty ones are none."""
        used = np.zeros(len(test.vocabulary), dtype=bool)
        used[test.tokens] = True
        words = np.zeros((len(used), 2), dtype=np.uint64)
        words[used] = word_hashes([test.vocabulary[code] for code in np.flatnonzero(used).tolist()])
        hashes = _sentence_hashes(words, test.tokens, test.sentences)[test.lengths > 0]
        first = np.searchsorted(self.hashes[:, 0], hashes[:, 0], side="left")
        last = np.searchsorted(self.hashes[:, 0], hashes[:, 0], side="right")
        found = np.append(self.hashes[:, 1], 0)[first] == hashes[:, 1]
        for row in np.flatnonzero((last - first > 1) & ~found).tolist():  # as good as never
            found[row] = hashes[row, 1] in self.hashes[first[row] : last[row], 1]
        return int(np.count_nonzero(found & (last > first)))


def _distinct(hashes: Words) -> Words:
    ordered = hashes[np.lexsort((hashes[:, 1], hashes[:, 0]))]
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return frozen(ordered[new])


def _sentence_hashes(words: Words, tokens: Column, sentences: Ints) -> Words:
    """The content of each sentence as 128 bits, in blocks of bounded memory."""
    result = np.zeros((len(sentences) - 1, 2), dtype=np.uint64)
    begin = 0
    while begin < len(result):
        end = max(begin + 1, int(np.searchsorted(sentences, sentences[begin] + _BLOCK, side="right")) - 1)
        starts = sentences[begin : end + 1]
        result[begin:end] = sequence_hashes(words[tokens[starts[0] : starts[-1]]], starts - starts[0])
        begin = end
    return result
