"""Which sentences of a test set stand in the training data, found by hashes and checked token by token."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from spanwise.columns import Bools, Codes, Ints, codes, offsets, run_positions
from spanwise.corpus import Corpus, with_one_vocabulary

_BLOCK = 1 << 20  # tokens that are hashed at once
_ODD = np.uint64(0x9E3779B97F4A7C15)
_STEP_ODD = np.uint64(0xBF58476D1CE4E5B9)


class KnownSentences:
    """The sentences of training data, to find those that a test set repeats token by token."""

    def __init__(self, corpora: Sequence[Corpus]) -> None:
        parts = with_one_vocabulary(corpora)
        self._vocabulary = parts[0].vocabulary
        one = len(parts) == 1
        self._tokens = parts[0].tokens if one else codes(np.concatenate([part.tokens for part in parts]))
        self._sentences = offsets(np.concatenate([part.lengths for part in parts]))
        hashes = _sentence_hashes(self._tokens, self._sentences)
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]

    def count(self, test: Corpus) -> int:
        """How many sentences of a test set stand in the training data; empty ones are none."""
        tokens = self._recoded(test)
        hashes = _sentence_hashes(tokens, test.sentences)
        first = np.searchsorted(self._hashes, hashes)
        found = np.append(self._hashes, 0)[first] == hashes
        rows = np.flatnonzero(found & (first < len(self._hashes)) & (test.lengths > 0))
        # Equal hashes are looked at token by token, so that the count is exact.
        same = self._equal(tokens, test.sentences, rows, self._order[first[rows]])
        return int(same.sum()) + sum(
            self._stands(tokens[test.sentences[i] : test.sentences[i + 1]], hashes[i])
            for i in rows[~same].tolist()  # as good as never
        )

    def _recoded(self, test: Corpus) -> Codes:
        """The tokens in codes of the training vocabulary, -1 for words that it lacks."""
        if test.vocabulary is self._vocabulary:
            return test.tokens
        table = np.array([self._codes.get(word, -1) for word in test.vocabulary], dtype=np.int32)
        return codes(table[test.tokens])

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {word: code for code, word in enumerate(self._vocabulary)}

    def _equal(self, tokens: Codes, sentences: Ints, rows: Ints, known: Ints) -> Bools:
        """Whether each of the sentences `rows` has the tokens of the training sentence `known` beside it."""
        size = sentences[rows + 1] - sentences[rows]
        same: Bools = np.asarray(size == self._sentences[known + 1] - self._sentences[known])
        rows, known, size = rows[same], known[same], size[same]
        mine = tokens[run_positions(sentences[rows], size)]
        theirs = self._tokens[run_positions(self._sentences[known], size)]
        differs = np.repeat(np.arange(len(rows)), size)[mine != theirs]
        same[np.flatnonzero(same)[differs]] = False
        return same

    def _stands(self, sentence: Codes, hashed: np.uint64) -> bool:
        """Whether any training sentence of this hash is the sentence."""
        first, last = (np.searchsorted(self._hashes, hashed, side=side) for side in ("left", "right"))
        return any(
            np.array_equal(self._tokens[self._sentences[i] : self._sentences[i + 1]], sentence)
            for i in self._order[first:last].tolist()
        )


def _sentence_hashes(tokens: Codes, sentences: Ints) -> npt.NDArray[np.uint64]:
    """A number for each sentence that is equal where all its tokens are, in blocks of bounded memory."""
    result = np.zeros(len(sentences) - 1, dtype=np.uint64)
    begin = 0
    while begin < len(result):
        end = max(begin + 1, int(np.searchsorted(sentences, sentences[begin] + _BLOCK, side="right")) - 1)
        starts = sentences[begin : end + 1]
        block = tokens[starts[0] : starts[-1]].astype(np.uint64) + np.uint64(1)
        place = np.arange(len(block)) - np.repeat(starts[:-1] - starts[0], np.diff(starts))
        with np.errstate(over="ignore"):
            mixed = (block * _ODD) ^ (block * _ODD >> np.uint64(29))
            mixed *= (place.astype(np.uint64) + np.uint64(1)) * _STEP_ODD | np.uint64(1)
            running = np.concatenate([[np.uint64(0)], np.cumsum(mixed, dtype=np.uint64)])
            result[begin:end] = running[starts[1:] - starts[0]] - running[starts[:-1] - starts[0]]
        begin = end
    return result
