"""Texts as bytes of a file: CoNLL columns, or JSONL with spans where mentions nest."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from spanwise.columns import Ints, Small
from spanwise.demo._inventory import LABELS, Inventory, SentencePiece
from spanwise.demo._systems import (
    BOTH,
    FIRST_LEFT_OUT,
    LABELED,
    LAST_LEFT_OUT,
    MISSED,
    TRAPPED,
    VARIANTS,
)
from spanwise.demo._text import DrawnText

Span = tuple[int, int, str]


def conll(inventory: Inventory, text: DrawnText, variants: Small | None = None) -> bytes:
    """The text with tags, one token a line; `variants` says what a system made of every piece.

    Every piece and variant in use is written out once and then joined by number, which keeps the cost of a
    token far below that of a Python statement.
    """
    end = len(inventory.pieces) * VARIANTS
    keys = text.pieces * VARIANTS + (0 if variants is None else variants)
    laid = _lay(text, keys, end_of_sentence=end, start_of_document=end + 1)
    rendered: list[bytes] = [b""] * (end + 2)
    used = np.zeros(end + 2, dtype=bool)
    used[laid] = True
    for key in np.flatnonzero(used[:end]).tolist():
        rendered[key] = _conll_piece(inventory.pieces[key // VARIANTS], key % VARIANTS)
    rendered[end], rendered[end + 1] = b"\n", b"-DOCSTART- O\n\n"
    return b"".join(map(rendered.__getitem__, laid.tolist()))


def _lay(text: DrawnText, keys: Ints, *, end_of_sentence: int, start_of_document: int) -> Ints:
    """The keys with a mark before every document and after every sentence."""
    sentence = np.repeat(np.arange(len(text)), np.diff(text.sentences))
    documents = len(text.documents) - 1
    document = np.repeat(np.arange(documents), np.diff(text.documents))
    laid = np.full(len(keys) + len(text) + documents, end_of_sentence, dtype=np.int64)
    laid[np.arange(len(keys)) + sentence + document[sentence] + 1] = keys
    first = text.documents[:-1]
    laid[text.sentences[first] + first + np.arange(documents)] = start_of_document
    return laid


def _conll_piece(piece: SentencePiece, variant: int) -> bytes:
    tags = ["O"] * len(piece.tokens)
    if runs_on(piece, variant):
        tags[0] = f"I-{LABELS[variant - LABELED]}"
    for start, end, label in spans_of(piece, variant):
        tags[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return "".join(f"{token} {tag}\n" for token, tag in zip(piece.tokens, tags, strict=True)).encode()


def runs_on(piece: SentencePiece, variant: int) -> bool:
    """Whether the mention before these words takes in the first of them."""
    return piece.label is None and variant >= LABELED


def spans_of(piece: SentencePiece, variant: int, *, nested: bool = False) -> list[Span]:
    """The mentions in a piece as a system has them; inner ones stay while their tokens stay."""
    if piece.label is None:
        if variant != TRAPPED or piece.trap is None or piece.trap_label is None:
            return []
        return [(piece.trap, piece.trap + 1, piece.trap_label)]
    start = 1 if variant == FIRST_LEFT_OUT or variant >= BOTH else 0
    end = len(piece.tokens) - (1 if variant == LAST_LEFT_OUT else 0)
    label = LABELS[(variant - LABELED) % len(LABELS)] if variant >= LABELED else piece.label
    outer = [] if variant == MISSED else [(start, end, label)]
    inner = [span for span in piece.inner if start <= span[0] and span[1] <= end] if nested else []
    return outer + inner


def jsonl(inventory: Inventory, text: DrawnText, variants: Small | None = None) -> bytes:
    """The text with all mentions, inner ones included, one sentence a line."""
    made = np.zeros(len(text.pieces), np.int8) if variants is None else variants
    return "".join(json.dumps(row) + "\n" for row in _rows(inventory, text, made)).encode()


def _rows(inventory: Inventory, text: DrawnText, variants: Small) -> Iterator[dict[str, object]]:
    document = np.repeat(np.arange(len(text.documents) - 1), np.diff(text.documents)).tolist()
    pieces, made, starts = text.pieces.tolist(), variants.tolist(), text.sentences.tolist()
    for sentence, number in enumerate(document):
        tokens: list[str] = []
        spans: list[Span] = []
        outer = 0
        for at in range(starts[sentence], starts[sentence + 1]):
            piece = inventory.pieces[pieces[at]]
            shift = len(tokens)
            if runs_on(piece, made[at]):
                spans[outer] = (spans[outer][0], shift + 1, spans[outer][2])
            outer = len(spans)  # of a mention with others inside, it comes first
            spans += [
                (shift + start, shift + end, label)
                for start, end, label in spans_of(piece, made[at], nested=True)
            ]
            tokens += piece.tokens
        yield {"document": f"d{number}", "tokens": tokens, "spans": spans}
