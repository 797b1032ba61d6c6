"""Which sentences of a test set stand in the training data, found by 128-bit hashes of their content."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from spanwise.columns import Column, Ints, Words
from spanwise.corpus import Corpus
from spanwise.hashing import find_hashes, ordered_hashes, sequence_hashes, word_hashes

_BLOCK = 1 << 16  # tokens that are hashed at once, so that they stay in the processor's cache


class KnownSentences(Struct, frozen=True, eq=False):
    """The sentences of training data, to find those that a test set repeats; those of parts add up."""

    hashes: Words  # of each distinct sentence, in order

    @classmethod
    def of(cls, corpora: Iterable[Corpus]) -> KnownSentences:
        """The sentences of some corpora."""
        words: tuple[Sequence[str], Words] | None = None
        parts = [np.zeros((0, 2), dtype=np.uint64)]
        for one in corpora:
            if words is None or words[0] is not one.vocabulary:
                words = one.vocabulary, word_hashes(one.vocabulary)
            parts.append(_sentence_hashes(words[1], one.tokens, one.sentences))
        return cls(ordered_hashes(np.concatenate(parts)))

    @classmethod
    def joined(cls, parts: Sequence[KnownSentences]) -> KnownSentences:
        """The sentences of all parts."""
        return cls(ordered_hashes(np.concatenate([part.hashes for part in parts])))

    def count(self, test: Corpus) -> int:
        """How many sentences of a test set stand in the training data; empty ones are none."""
        used = np.zeros(len(test.vocabulary), dtype=bool)
        used[test.tokens] = True
        words = np.zeros((len(used), 2), dtype=np.uint64)
        words[used] = word_hashes([test.vocabulary[code] for code in np.flatnonzero(used).tolist()])
        hashes = _sentence_hashes(words, test.tokens, test.sentences)[test.lengths > 0]
        return int(np.count_nonzero(find_hashes(self.hashes, hashes) >= 0))


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
