"""Sentences of several annotations as one annotation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from msgspec.structs import replace

from spanwise.columns import Column, Ints, ints, offsets, run_positions
from spanwise.corpus import Annotation, Corpus, Mentions, Parts, with_one_labelling, with_one_vocabulary
from spanwise.errors import InputError


def pooled(annotations: Sequence[Annotation]) -> Annotation:
    """All sentences of all annotations, one after the other; documents where all of them mark some."""
    corpora = with_one_vocabulary([one.corpus for one in annotations])
    sides = with_one_labelling([one.mentions for one in annotations])
    first = corpora[0]
    if any((one.unit, one.without_text) != (first.unit, first.without_text) for one in corpora):
        raise InputError(
            "some files hold tokens and others text or positions, and cannot be divided together.\n"
            "Convert them to one format first."
        )
    begins = offsets([len(one) for one in corpora])

    def all_of(pick: Callable[[Corpus], Any]) -> Column | None:
        columns = [pick(one) for one in corpora]
        return None if any(column is None for column in columns) else np.concatenate(columns)

    def names_of(pick: Callable[[Corpus], Any]) -> tuple[str, ...] | None:
        lists = [pick(one) for one in corpora]
        return None if any(names is None for names in lists) else tuple(chain.from_iterable(lists))

    corpus = Corpus(
        tokens=np.concatenate([one.tokens for one in corpora]),
        vocabulary=first.vocabulary,
        sentences=offsets(np.concatenate([one.lengths for one in corpora])),
        documents=None
        if any(one.documents is None for one in corpora)
        else offsets(
            np.concatenate([np.diff(one.documents) for one in corpora if one.documents is not None])
        ),
        unit=first.unit,
        without_text=first.without_text,
        texts=names_of(lambda one: one.texts),
        token_start=all_of(lambda one: one.token_start),
        token_end=all_of(lambda one: one.token_end),
        ids=names_of(lambda one: one.ids),
        document_ids=names_of(lambda one: one.document_ids),
    )
    return Annotation(corpus, _joined(sides, begins), annotations[0].reading)


def _joined(sides: Sequence[Mentions], begins: Ints) -> Mentions:
    """The mentions of all corpora, their sentences numbered through."""
    parts = None
    if any(side.parts is not None for side in sides):
        parts = Parts.of([pieces for side in sides for pieces in side.pieces()])
    return Mentions(
        sentence=np.concatenate([side.sentence + begin for side, begin in zip(sides, begins, strict=False)]),
        start=np.concatenate([side.start for side in sides]),
        end=np.concatenate([side.end for side in sides]),
        label=np.concatenate([side.label for side in sides]),
        labels=sides[0].labels,
        parts=parts,
    )


def taken(whole: Annotation, sentences: Ints) -> Annotation:
    """Some sentences of an annotation, in their order; documents must be among them whole."""
    corpus, mentions = whole.corpus, whole.mentions
    tokens = run_positions(corpus.sentences[:-1][sentences], corpus.lengths[sentences])
    new = np.full(len(corpus), -1, dtype=np.int64)
    new[sentences] = np.arange(len(sentences))
    documents = corpus.document_of_sentence
    kept = None if documents is None else np.unique(documents[sentences], return_counts=True)
    part = Corpus(
        tokens=corpus.tokens[tokens],
        vocabulary=corpus.vocabulary,
        sentences=offsets(corpus.lengths[sentences]),
        documents=None if kept is None else offsets(kept[1]),
        unit=corpus.unit,
        without_text=corpus.without_text,
        texts=_chosen(corpus.texts, sentences),
        token_start=None if corpus.token_start is None else ints(corpus.token_start[tokens]),
        token_end=None if corpus.token_end is None else ints(corpus.token_end[tokens]),
        ids=_chosen(corpus.ids, sentences),
        document_ids=None if kept is None else _chosen(corpus.document_ids, ints(kept[0])),
    )
    inside = mentions.take(new[mentions.sentence] >= 0)
    return replace(whole, corpus=part, mentions=replace(inside, sentence=ints(new[inside.sentence])))


def _chosen(names: Sequence[str] | None, rows: Ints) -> tuple[str, ...] | None:
    return None if names is None else tuple(names[row] for row in rows.tolist())
