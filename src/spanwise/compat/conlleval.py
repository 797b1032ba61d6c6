"""The output of conlleval, character for character, computed from the tags as written."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from operator import eq
from typing import Any

import numpy as np

from spanwise.columns import Ints, distinct
from spanwise.compat._tags import TagSequences, flags_of, tabulate
from spanwise.corpus import Annotation
from spanwise.errors import InputError
from spanwise.formats import ReadKeywords, read, read_layers
from spanwise.schemes import encode

_LETTERS = "O.BIE[?"
_ENDS, _STARTS = 1, 2


def conlleval(gold: Any, predicted: object = None, **reading: Any) -> str:
    """Return what conlleval prints for gold and predicted tags.

    Both are files, annotations or lists of tags; a single file has gold and predicted tags in its last two
    columns. The tags of a file are used as written; those of an annotation are encoded as IOB2.

    Examples:
        >>> print(conlleval([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "B-LOC"]]), end="")
        processed 3 tokens with 1 phrases; found: 2 phrases; correct: 1.
        accuracy:  66.67%; precision:  50.00%; recall: 100.00%; FB1:  66.67
                      LOC: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
                      PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
    """
    if predicted is None:
        layers = read_layers(gold, **reading)
        columns = _raw(gold, (-2, -1), reading)
        sides = [
            tags if tags is not None else _encoded(layers[name])
            for name, tags in zip(("gold", "predicted"), columns, strict=True)
        ]
        return screen(*sides)
    return screen(*(_tags(source, reading) for source in (gold, predicted)))


def _tags(source: object, reading: ReadKeywords) -> list[list[str]]:
    if isinstance(source, (list, tuple)) and all(isinstance(tag, str) for row in source for tag in row):
        return [list(row) for row in source]
    if isinstance(source, Annotation):
        return _encoded(source)
    raw = _raw(source, (reading.get("tag_column", -1),), reading)[0]
    return raw if raw is not None else _encoded(read(source, **reading))


def _raw(source: object, columns: Sequence[int | str], reading: ReadKeywords) -> list[list[list[str]] | None]:
    """The tags in some columns of a CoNLL file, as written; None for columns that the file does not have."""
    selected = {f"column {index}": column for index, column in enumerate(columns)}
    annotation = read(source, **{**reading, "columns": selected})
    corpus = annotation.corpus
    borders = corpus.sentences.tolist()
    tag_columns: list[list[list[str]] | None] = []
    for name in selected:
        column = corpus.columns.get(name)
        if column is None:
            tag_columns.append(None)
            continue
        flat = [str(tag) for tag in column]
        tag_columns.append([flat[begin:end] for begin, end in pairwise(borders)])
    return tag_columns


def _encoded(annotation: Annotation) -> list[list[str]]:
    if annotation.corpus.unit == "character":
        raise InputError(
            f"{annotation.reading.path}: the mentions are on characters, but conlleval counts tokens.\n"
            "Give files with a token and a tag in each line."
        )
    return encode(annotation.mentions, annotation.corpus.lengths, "IOB2").lists()


def screen(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> str:
    """Return conlleval's output for two lists of tagged sentences, which must have the same lengths."""
    if list(map(len, gold)) != list(map(len, predicted)):
        raise InputError(
            "gold and predicted tags have different numbers of tokens.\nGive both for the same sentences."
        )
    true, guessed = _Side(gold), _Side(predicted)
    types = sorted(set(true.types) | set(guessed.types))
    code = {name: number for number, name in enumerate(types)}
    gold_codes, predicted_codes = true.coded(code), guessed.coded(code)
    ends, starts = (true.flags & guessed.flags & bit != 0 for bit in (_ENDS, _STARTS))
    same = gold_codes[1:] == predicted_codes[1:]
    stops = np.flatnonzero(((true.flags | guessed.flags) & _ENDS != 0) | ~same)
    begun = np.flatnonzero(starts & same)
    after = np.searchsorted(stops, begun, side="right")
    stop = distinct(stops[after[after < len(stops)]])
    stop = stop[ends[stop]]
    right = np.bincount(gold_codes[stop], minlength=len(types))
    # conlleval counts a chunk still open at the end of the file as correct, under the empty type of the
    # last blank line.
    right[code[""]] += (after == len(stops)).any()
    in_gold, in_predicted = true.begun(gold_codes, len(types)), guessed.begun(predicted_codes, len(types))
    tokens = sum(map(len, gold))
    equal = sum(map(eq, chain.from_iterable(gold), chain.from_iterable(predicted)))
    total = int(in_gold.sum()), int(in_predicted.sum()), int(right.sum())
    lines = [
        f"processed {tokens} tokens with {total[0]} phrases; "
        f"found: {total[1]} phrases; correct: {total[2]}.\n"
    ]
    if tokens:
        lines.append(f"accuracy: {_percent(equal, tokens):6.2f}%; {_scores(*total)}\n")
    for number, name in enumerate(types):
        counts = int(in_gold[number]), int(in_predicted[number]), int(right[number])
        if counts[0] or counts[1]:
            row = f"{name:>17s}: {_scores(*counts)}  {counts[1]}\n"
            # conlleval prints the row of an empty type twice if both sides have it.
            lines.append(row * 2 if not name and counts[0] and counts[1] else row)
    return "".join(lines)


class _Side:
    """The tags of one side: where chunks start and end, and the type at every position."""

    def __init__(self, sentences: Sequence[Sequence[str]]) -> None:
        tags = TagSequences.of(sentences)
        parts = [tag.partition("-") for tag in (*tags.distinct, "O", "O")]
        letters = [_LETTERS.index(mark) if mark in _LETTERS and mark else 6 for mark, _, _ in parts]
        letters = [5 if mark == "]" else letter for letter, (mark, _, _) in zip(letters, parts, strict=True)]
        names = [name for _, _, name in parts]
        self.flags, kinds, self.types = flags_of(tags, letters, names, _RULES)
        self._kind = kinds[tags.stream]

    def coded(self, code: dict[str, int]) -> Ints:
        """The types as codes shared by both sides; the first position precedes the first token."""
        return np.array([code[name] for name in self.types], np.int64)[self._kind]

    def begun(self, kind: Ints, number: int) -> Ints:
        """The number of chunks of each type."""
        return np.bincount(kind[1:][self.flags & _STARTS != 0], minlength=number)


def _rule(before: int, now: int, same: bool) -> int:
    pair = _LETTERS[before] + _LETTERS[now]
    ends = pair in ("BB", "BO", "IB", "IO", "EE", "EI", "EO") or pair[0] == "["
    starts = pair in ("BB", "IB", "OB", "OI", "EE", "EI", "OE") or pair[1] == "["
    if not same:
        ends = ends or pair[0] not in "O."
        starts = starts or pair[1] not in "O."
    return _ENDS * ends | _STARTS * starts


_RULES = tabulate(_rule)


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _scores(gold: int, predicted: int, right: int) -> str:
    precision, recall = _percent(right, predicted), _percent(right, gold)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return f"precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}"
