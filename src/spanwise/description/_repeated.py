"""Which sentences of a test set stand in the training data, found by hashes and checked token by token."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from spanwise.columns import Bools, Codes, Column, Ints, codes, offsets, run_positions
from spanwise.corpus import Corpus, with_one_vocabulary

_BLOCK = 1 << 20  # tokens that are hashed at once
_ODD = np.uint64(0x9E3779B97F4A7C15)
_STEP_ODD = np.uint64(0xBF58476D1CE4E5B9)


class KnownSentences:
    """The sentences of training data, to find those that a test set repeats token by token."""

    def __init__(self, corpora: Sequence[Corpus]) -> None:
        parts = with_one_vocabulary(corpora)
        self._keep(parts[0].vocabulary, [(part.tokens, part.sentences) for part in parts])

    @classmethod
    def of_text(cls, vocabulary: Sequence[str], blocks: Sequence[tuple[Column, Ints]]) -> KnownSentences:
        """The sentences of blocks of tokens, codes into a vocabulary, with the offsets of their sentences."""
        known = cls.__new__(cls)
        known._keep(vocabulary, blocks)
        return known

    def _keep(self, vocabulary: Sequence[str], blocks: Sequence[tuple[Column, Ints]]) -> None:
        self._vocabulary = vocabulary
        self._blocks = blocks
        self._first = offsets([len(sentences) - 1 for _, sentences in blocks])  # sentence of each block
        hashes = np.concatenate([_sentence_hashes(*block) for block in blocks])
        self._order = codes(np.argsort(hashes, kind="stable"))
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

    def _equal(self, tokens: Codes, sentences: Ints, rows: Ints, known: Codes) -> Bools:
        """Whether each of the sentences `rows` has the tokens of the training sentence `known` beside it."""
        same = np.zeros(len(rows), dtype=bool)
        home = np.searchsorted(self._first, known, side="right") - 1
        for number, (text, borders) in enumerate(self._blocks):
            here = np.flatnonzero(home == number)
            begin, inner = sentences[rows[here]], known[here] - self._first[number]
            size = sentences[rows[here] + 1] - begin
            fits = np.flatnonzero(size == borders[inner + 1] - borders[inner])
            here, begin, size, inner = here[fits], begin[fits], size[fits], inner[fits]
            differs = tokens[run_positions(begin, size)] != text[run_positions(borders[inner], size)]
            same[here] = True
            same[here[np.repeat(np.arange(len(here)), size)[differs]]] = False
        return same

    def _stands(self, sentence: Codes, hashed: np.uint64) -> bool:
        """Whether any training sentence of this hash is the sentence."""
        first, last = (np.searchsorted(self._hashes, hashed, side=side) for side in ("left", "right"))
        return any(np.array_equal(self._sentence(i), sentence) for i in self._order[first:last].tolist())

    def _sentence(self, number: int) -> Column:
        home = int(np.searchsorted(self._first, number, side="right")) - 1
        text, borders = self._blocks[home]
        inner = number - int(self._first[home])
        return text[borders[inner] : borders[inner + 1]]


def _sentence_hashes(tokens: Column, sentences: Ints) -> npt.NDArray[np.uint64]:
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
