"""Convert corpora to numbers: the words, characters and tags that a tagger knows, and its flat arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from spanwise.columns import Column, Ints, ints, offsets
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.errors import InputError
from spanwise.schemes import Tags, decode, encode
from spanwise_taggers.vectors import Matrix, spellings

if TYPE_CHECKING:
    from spanwise_taggers.bert import Splitter

MOST_CHARACTERS = 24  # per word; longer words are cut in the middle
PADDING, UNKNOWN = 0, 1


class Vocabulary(Struct, frozen=True):
    """The numbered tags, words and characters of a tagger; among the last two, 0 is padding, 1 is unknown."""

    tags: tuple[str, ...]  # O first
    scheme: str  # of the tags inside the network
    characters: str = ""
    words: tuple[str, ...] = ()
    singles: tuple[int, ...] = ()  # rows of words that occur once in training and have no vector
    lowercase: bool = False

    def rows(self) -> dict[str, int]:
        """The row of every word."""
        return {word: row for row, word in enumerate(self.words, start=2)}


def tag_names(labels: Sequence[str], scheme: str) -> tuple[str, ...]:
    """All tags of the labels under a scheme, O first."""
    letters = "BIES" if scheme == "BIOES" else "BI"
    return ("O", *(f"{letter}-{label}" for label in labels for letter in letters))


def tag_codes(annotation: Annotation, names: Sequence[str], scheme: str) -> Ints:
    """The tag number of every token; tags that the tagger does not know become O."""
    own = encode(annotation.mentions, annotation.corpus.lengths, scheme)
    code = {name: number for number, name in enumerate(names)}
    table = np.array([code.get(name, 0) for name in own.names], np.int64)
    return ints(table[own.codes])


def mentions_of(codes: Ints, names: Sequence[str], corpus: Corpus, scheme: str) -> tuple[Mentions, int]:
    """The mentions in predicted tags, sentence by sentence, and the number of repaired tags.

    A mention that crosses the end of a sentence is cut there; the rest of it begins a new mention.
    """
    name = "BIOES" if scheme == "BIOES" else "IOB2"
    decoded = decode(Tags(codes.astype(np.int32), tuple(names), corpus.sentences), name, repair="conlleval")
    return decoded.mentions, decoded.repairs


def case_of(form: str) -> int:
    """The capitalisation of a form, from 0 to 5: lower case, upper case, title case, mixed, digits, other."""
    if not any(character.isalnum() for character in form):
        return 5
    if not any(character.isalpha() for character in form):
        return 4
    if form.islower():
        return 0
    if form.isupper():
        return 1 if len(form) > 1 else 2
    return 2 if form[0].isupper() and form[1:].islower() else 3


def key_of(form: str, *, lowercase: bool) -> str:
    """The normalised spelling of a form without a vector, with digits replaced by 0."""
    text = form.lower() if lowercase else form
    if text.isalpha():
        return text
    return "".join("0" if character.isdigit() else character for character in text)


def build_words(
    train: Corpus, others: Sequence[Corpus], vectors: dict[str, Matrix] | None, *, lowercase: bool
) -> tuple[tuple[str, ...], tuple[int, ...], Matrix | None]:
    """The words of a tagger, the rows of words that occur once, and the vectors of words that have one.

    All training words are included, and other words only if they have a vector.
    """
    counted = np.bincount(train.tokens, minlength=len(train.vocabulary)).tolist()
    counts: Counter[str] = Counter()
    available = vectors or {}
    listed: dict[str, None] = {}
    for form, count in zip(train.vocabulary, counted, strict=True):
        if not count:
            continue
        own = next((spelling for spelling in spellings(form) if spelling in available), None)
        key = own if own is not None else key_of(form, lowercase=lowercase)
        listed.setdefault(key)
        if own is None:
            counts[key] += count
    if available:
        for corpus in others:
            for code in np.unique(corpus.tokens).tolist():
                form = corpus.vocabulary[code]
                own = next((spelling for spelling in spellings(form) if spelling in available), None)
                if own is not None:
                    listed.setdefault(own)
    words = tuple(listed)
    singles = tuple(row for row, word in enumerate(words, start=2) if counts.get(word) == 1)
    if not available:
        return words, singles, None
    size = len(next(iter(available.values())))
    table = np.zeros((len(words) + 2, size), np.float32)
    with_vector = np.array([word in available for word in words], bool)
    table[2:][with_vector] = np.stack([available[word] for word in words if word in available])
    return (
        words,
        singles,
        np.where(np.concatenate([[True, False], with_vector])[:, None], table, np.nan).astype(np.float32),
    )


def columns_of(corpus: Corpus, vocabulary: Vocabulary, splitter: Splitter | None = None) -> dict[str, Column]:
    """The arrays of a corpus for `DeviceStore`, without tags and features.

    The last form and the last token stand for padding.
    """
    forms = [*corpus.vocabulary, ""]
    columns: dict[str, Column] = {"form": np.append(corpus.tokens, len(forms) - 1).astype(np.int64)}
    if vocabulary.words:
        rows = vocabulary.rows()
        columns["word"] = np.array(
            [_row(form, rows, vocabulary.lowercase) for form in forms[:-1]] + [0], np.int64
        )
        single = np.zeros(len(vocabulary.words) + 2, bool)
        single[list(vocabulary.singles)] = True
        columns["single"] = single
    if vocabulary.characters:
        columns["chars"], columns["size"] = _characters(forms, vocabulary.characters)
    columns["case"] = np.array([case_of(form) for form in forms], np.int64)
    if splitter is not None:
        listed = splitter.pieces(forms[:-1])
        sizes = np.array([len(pieces) for pieces in listed], np.int64)
        flat = np.concatenate([*(np.array(pieces, np.int64) for pieces in listed), np.zeros(1, np.int64)])
        begins = offsets(sizes)
        token_sizes = sizes[corpus.tokens]
        where = np.repeat(begins[:-1][corpus.tokens] - offsets(token_sizes)[:-1], token_sizes)
        pieces = flat[where + np.arange(len(where))]
        columns["pieces"] = np.append(pieces, 0)
        columns["piece"] = np.asarray(offsets(token_sizes))
    return columns


def _row(form: str, rows: dict[str, int], lowercase: bool) -> int:
    for spelling in (*spellings(form), key_of(form, lowercase=lowercase)):
        if spelling in rows:
            return rows[spelling]
    return UNKNOWN


def _characters(forms: Sequence[str], alphabet: str) -> tuple[Column, Column]:
    code = {character: number for number, character in enumerate(alphabet, start=2)}
    half = MOST_CHARACTERS // 2
    cut = [form if len(form) <= MOST_CHARACTERS else form[:half] + form[-half:] for form in forms]
    sizes = np.array([len(form) for form in cut], np.int64)
    flat = np.fromiter(
        (code.get(character, UNKNOWN) for form in cut for character in form), np.int64, int(sizes.sum())
    )
    table = np.zeros((len(forms), max(int(sizes.max(initial=1)), 1)), np.int64)
    row = np.repeat(np.arange(len(forms)), sizes)
    table[row, np.arange(len(flat)) - np.repeat(offsets(sizes)[:-1], sizes)] = flat
    return table, sizes


def check_corpus(annotation: Annotation, role: str) -> None:
    """Raise InputError if a corpus cannot be trained on or tagged."""
    corpus = annotation.corpus
    path = annotation.reading.path
    if corpus.without_text or corpus.unit != "token":
        raise InputError(
            f"{path}: the {role} data have no tokens.\nTaggers need a file with one token per line."
        )
    if not len(corpus.tokens):
        raise InputError(f"{path}: the {role} data are empty.\nGive a file with at least one sentence.")
