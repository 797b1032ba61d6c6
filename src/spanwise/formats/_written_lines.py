"""Annotations become lines of JSON, an object a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isnan, nan
from typing import Any

from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.errors import InputError, at
from spanwise.formats._format import in_tokens
from spanwise.schemes import encode


def write(annotation: Annotation, scheme: str | None) -> bytes:
    """The bytes of lines of objects: text or tokens with spans; with a scheme, tokens with tags."""
    corpus, mentions = annotation.corpus, annotation.mentions
    record_of = _with_tags(annotation, scheme) if scheme is not None else _with_spans(corpus, mentions)
    documents = corpus.document_of_sentence
    lines = []
    for number in range(len(corpus)):
        record: dict[str, Any] = {} if corpus.ids is None else {"id": corpus.ids[number]}
        if documents is not None:
            record["document"] = int(documents[number])
        record |= record_of(number)
        record |= {name: column[number] for name, column in corpus.fields.items()}
        lines.append(json.dumps(record, ensure_ascii=False, default=str))
    return ("\n".join(lines) + "\n").encode("utf-8")


def _with_tags(annotation: Annotation, scheme: str | None) -> Callable[[int], dict[str, Any]]:
    annotation = in_tokens(annotation)
    corpus = annotation.corpus
    if corpus.without_text:
        raise InputError(
            at(annotation.reading.path, None, "the annotation has no tokens to tag.\nLeave the scheme out.")
        )
    tags = encode(annotation.mentions, corpus.lengths, scheme or "IOB2").lists()
    return lambda number: {"tokens": corpus.words(number), "tags": tags[number]}


def _with_spans(corpus: Corpus, mentions: Mentions) -> Callable[[int], dict[str, Any]]:
    listed: list[list[dict[str, Any]]] = [[] for _ in range(len(corpus))]
    scores = [nan] * len(mentions) if mentions.score is None else mentions.score.tolist()
    for (sentence, start, end, label), pieces, score in zip(
        mentions.rows(), mentions.pieces(), scores, strict=True
    ):
        span: dict[str, Any] = {"start": start, "end": end, "label": label}
        if not isnan(score):
            span["score"] = score
        if len(pieces) > 1:
            span["parts"] = [list(piece) for piece in pieces]
        listed[sentence].append(span)
    if corpus.texts is not None:
        texts = corpus.texts
        return lambda number: {"text": texts[number], "spans": listed[number]}
    if corpus.without_text:
        return lambda number: {"spans": listed[number]}
    return lambda number: {"tokens": corpus.words(number), "spans": listed[number]}
