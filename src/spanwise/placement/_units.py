"""The units that answers belong to: sentences or documents of the gold text, and their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np
from msgspec import Struct

from spanwise.columns import Ints, ints
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.errors import InputError, unknown

PromptUnit = Literal["sentence", "document"]


class Units(Struct, frozen=True, eq=False, dict=True):
    """The sentences or documents that a model was asked about, one after the other.

    Unit `i` holds the sentences `sentences[i]` … `sentences[i + 1] - 1` of the corpus.
    """

    corpus: Corpus
    kind: PromptUnit
    sentences: Ints

    @classmethod
    def of(cls, corpus: Corpus, kind: PromptUnit) -> Units:
        """The units of a corpus that has text."""
        if kind not in ("sentence", "document"):
            raise unknown("prompt unit", kind, ("sentence", "document"))
        if corpus.without_text:
            raise InputError(
                f"{corpus.source.path}: answers can be placed only on text, but the gold file holds none.\n"
                "Give a gold file with tokens or text."
            )
        if kind == "sentence":
            return cls(corpus, kind, ints(np.arange(len(corpus) + 1)))
        if corpus.documents is None:
            raise InputError(
                f"{corpus.source.path}: the file marks no documents to place answers in.\n"
                'Use prompt_unit="sentence", or mark documents with -DOCSTART- lines or a field.'
            )
        return cls(corpus, kind, corpus.documents)

    def __len__(self) -> int:
        return len(self.sentences) - 1

    @cached_property
    def of_sentence(self) -> Ints:
        """The unit of each sentence."""
        return ints(np.repeat(np.arange(len(self)), np.diff(self.sentences)))

    @cached_property
    def tokens(self) -> Ints:
        """Where the tokens of each unit begin, and where the last one ends."""
        return ints(self.corpus.sentences[self.sentences])

    @cached_property
    def sentence_of_token(self) -> Ints:
        """The sentence of each token."""
        return ints(np.repeat(np.arange(len(self.corpus)), self.corpus.lengths))

    @property
    def ids(self) -> Sequence[str] | None:
        """The names that the data give the units, where they do."""
        return self.corpus.ids if self.kind == "sentence" else self.corpus.document_ids

    def words(self, unit: int, most: int | None = None) -> list[str]:
        """The tokens of one unit, or the first of them."""
        begin, end = int(self.tokens[unit]), int(self.tokens[unit + 1])
        end = end if most is None else min(end, begin + most)
        vocabulary = self.corpus.vocabulary
        return [vocabulary[code] for code in self.corpus.tokens[begin:end].tolist()]

    def ink(self, unit: int) -> str:
        """The characters of one unit without white space."""
        if self.corpus.texts is not None:
            texts = self.corpus.texts[int(self.sentences[unit]) : int(self.sentences[unit + 1])]
            return "".join("".join(text.split()) for text in texts)
        return "".join("".join(word.split()) for word in self.words(unit))

    def positions(self, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
        """Sentence, start and end, as mentions count them, of runs of tokens of the whole corpus."""
        sentence = self.sentence_of_token[start] if len(start) else ints([])
        if self.corpus.token_start is not None and self.corpus.token_end is not None:
            return sentence, ints(self.corpus.token_start[start]), ints(self.corpus.token_end[end - 1])
        first = self.corpus.sentences[sentence]
        return sentence, ints(start - first), ints(end - first)


def surfaces(corpus: Corpus, mentions: Mentions) -> list[tuple[str, ...]]:
    """The text of each piece of each mention: its tokens with blanks between them, or what the text says."""
    if corpus.texts is not None:
        texts = corpus.texts
        rows = zip(mentions.sentence.tolist(), mentions.pieces(), strict=True)
        return [tuple(texts[sentence][low:high] for low, high in pieces) for sentence, pieces in rows]
    vocabulary, tokens = corpus.vocabulary, corpus.tokens
    first = corpus.sentences[mentions.sentence].tolist()
    return [
        tuple(
            " ".join([vocabulary[code] for code in tokens[begin + low : begin + high].tolist()])
            for low, high in pieces
        )
        for begin, pieces in zip(first, mentions.pieces(), strict=True)
    ]


def gold_order(gold: Annotation) -> Ints:
    """The rows of the gold mentions in order of sentence, start, end and label."""
    mentions = gold.mentions
    rank = np.argsort(np.argsort(np.array(mentions.labels, dtype=object), kind="stable"), kind="stable")
    label = rank[mentions.label] if len(mentions.labels) else mentions.label
    return ints(np.lexsort((label, mentions.end, mentions.start, mentions.sentence)))
