"""Annotations from lists: of tags, or of spans, with or without their tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from numbers import Integral
from typing import Any, Literal

import numpy as np

from spanwise.columns import codes, ints, offsets
from spanwise.corpus import Annotation, Corpus, Mentions, Reading, Source
from spanwise.errors import ChoiceError, InputError, many
from spanwise.formats._format import Options, annotated, whole
from spanwise.formats._sentences import score_of
from spanwise.schemes import Repair, Tags

Span = tuple[int, int, str] | tuple[int, int, str, float] | Mapping[str, Any]


def from_tags(
    tags: Sequence[Sequence[str]],
    *,
    tokens: Sequence[Sequence[str]] | None = None,
    scheme: str | None = None,
    prefer: str | None = None,
    repair: Repair = "conlleval",
    documents: Sequence[int] | None = None,
    name: str = "<tags>",
) -> Annotation:
    """The annotation that lists of tags stand for, one list a sentence.

    Without `tokens` the sentences have their lengths but no text.

    Examples:
        >>> from_tags([["B-PER", "I-PER", "O"]]).mentions.rows()
        [(0, 0, 2, 'PER')]
    """
    columns = Tags.of(tags)
    if tokens is not None:
        _check_lengths(tags, tokens, name)
        corpus = Corpus.of(tokens, documents=documents, source=Source(name))
    else:
        corpus = _textless(columns.sentences, documents, name)
    options = Options(scheme=scheme, prefer=prefer, repair=repair)
    return annotated(corpus, columns, options, Reading(path=name, format="tags"))


def from_spans(
    spans: Sequence[Iterable[Span]],
    *,
    tokens: Sequence[Sequence[str]] | None = None,
    duplicates: Literal["error", "drop"] = "error",
    documents: Sequence[int] | None = None,
    name: str = "<spans>",
) -> Annotation:
    """The annotation of lists of spans, one list a sentence: (start, end, label), half-open, or dicts.

    Without `tokens` the sentences have no text.

    Examples:
        >>> from_spans([[(0, 2, "PER"), (1, 2, "LOC")]]).mentions.rows()
        [(0, 0, 2, 'PER'), (0, 1, 2, 'LOC')]
    """
    listed = [list(sentence) for sentence in spans]
    rows = [
        (number, *_triple(span, f"{name}: sentence {number + 1}"))
        for number, sentence in enumerate(listed)
        for span in sentence
    ]
    scores = [score_of(span, f"{name}: sentence {at + 1}") for at, each in enumerate(listed) for span in each]
    if tokens is not None:
        _check_lengths(listed, tokens, name, sentences_only=True)
        corpus = Corpus.of(tokens, documents=documents, source=Source(name))
        for sentence, start, end, label in rows:
            if end > len(tokens[sentence]):
                raise InputError(
                    f"{name}: sentence {sentence + 1}: the mention {label} [{start}, {end}) ends after the "
                    f"sentence, which has {many(len(tokens[sentence]), 'token')}.\n"
                    "Positions are half-open and count tokens from 0."
                )
    else:
        corpus = _textless(offsets(np.zeros(len(listed), dtype=np.int64)), documents, name)
    known = not all(isnan(score) for score in scores)
    mentions = Mentions.of(rows, score=scores if known else None).sole(
        duplicates=duplicates, place=lambda _: name
    )
    return Annotation(corpus, mentions, Reading(path=name, format="spans in memory"))


def _textless(sentences: Any, documents: Sequence[int] | None, name: str) -> Corpus:
    """Sentences that have a length but no words."""
    return Corpus(
        tokens=codes(np.zeros(int(sentences[-1]), dtype=np.int32)),
        vocabulary=("",) if sentences[-1] else (),
        sentences=ints(sentences),
        documents=None if documents is None else offsets(documents),
        without_text=True,
        source=Source(name),
    )


def _triple(span: Span, place: str) -> tuple[int, int, str]:
    """Start, end and label of a span that is a triple or a mapping."""
    try:
        if isinstance(span, Mapping):
            label = span.get("label", span.get("type", span.get("entity_group")))
            start, end = span["start"], span["end"]
        else:
            start, end, label, *score = span
            if len(score) > 1:
                raise ValueError("too many values")
        start, end = whole(start), whole(end)
    except (KeyError, TypeError, ValueError):
        raise InputError(
            f"{place}: {span!r} is not a span.\n"
            "A span is (start, end, label), or a dict with the keys 'start', 'end' and 'label'."
        ) from None
    if not isinstance(label, str) or not label:
        raise InputError(f"{place}: the span {span!r} has no label.\nName it with the key 'label'.")
    if not 0 <= start < end:
        raise InputError(
            f"{place}: the span [{start}, {end}) of {label} is empty or begins before the sentence.\n"
            "Positions are half-open: 0 <= start < end."
        )
    return start, end, label


def _check_lengths(
    given: Sequence[Any], tokens: Sequence[Sequence[str]], name: str, *, sentences_only: bool = False
) -> None:
    if len(given) != len(tokens):
        raise InputError(
            f"{name}: the annotation has {many(len(given), 'sentence')}, but the tokens have {len(tokens)}.\n"
            "Give one list for each sentence."
        )
    if sentences_only:
        return
    for number, (marks, words) in enumerate(zip(given, tokens, strict=True)):
        if len(marks) != len(words):
            raise InputError(
                f"{name}: sentence {number + 1} has {many(len(marks), 'tag')}, but "
                f"{many(len(words), 'token')}.\nGive one tag for each token."
            )


def from_lists(source: object, options: Options, tokens: Any, name: str | None) -> Annotation:
    """The annotation of lists of tags, numbers of tags or spans."""
    if not isinstance(source, Iterable):
        raise ChoiceError(f"{source!r} cannot be read.\nGive a path, or a list for each sentence.")
    listed = list(source)
    if listed and isinstance(listed[0], str):
        raise InputError(
            f"{name or '<tags>'}: there is one list of strings, beginning with {listed[0]!r}.\n"
            "Give a list for each sentence, even for one alone: [[…]]."
        )
    first = next((item for sentence in listed for item in sentence), None)
    if isinstance(first, Integral):
        listed, first = _named_tags(listed, options, name or "<tags>"), ""
    if first is None and tokens is not None and any(map(len, tokens)):
        return from_spans(listed, tokens=tokens, name=name or "<spans>")
    if first is None or isinstance(first, str):
        return from_tags(
            listed, tokens=tokens, scheme=options.scheme, prefer=options.prefer, repair=options.repair,
            name=name or "<tags>",
        )  # fmt: skip
    return from_spans(listed, tokens=tokens, duplicates=options.duplicates, name=name or "<spans>")


def _named_tags(listed: Sequence[Sequence[int]], options: Options, name: str) -> list[list[str]]:
    """Lists of tags from lists of their numbers."""
    if options.labels is None:
        raise InputError(
            f"{name}: the tags are numbers.\n"
            "Say what they mean with labels=, the list of tags in their order."
        )
    known = len(options.labels)
    for number, sentence in enumerate(listed, start=1):
        for tag in sentence:
            if not 0 <= tag < known:
                raise InputError(
                    f"{name}: sentence {number}: the tag {tag!r} is outside the {known} labels that were "
                    "given.\nGive all of them, in their order."
                )
    return [[options.labels[tag] for tag in sentence] for sentence in listed]
