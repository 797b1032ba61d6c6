"""Training data for an evaluation in parts: read once, with only what is asked of them kept."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from spanwise.attributes import Lexicon
from spanwise.corpus import Annotation
from spanwise.description import KnownSentences, input_entry
from spanwise.evaluation._entries import survey_entry
from spanwise.evaluation._inputs import training_of, without_extras
from spanwise.formats import Interner, listed_sources
from spanwise.formats.parts import Kept, Survey, can_be_streamed, pieces, read_piece, survey_layers

PART_TOKENS = 1 << 19  # training tokens whose mentions are counted together


class Training(Struct, frozen=True, eq=False):
    """What training data know, and how the result document names their files."""

    lexicon: Lexicon | None
    known: KnownSentences | None
    entries: Sequence[Mapping[str, Any]]


def survey_training(train: Any, reading: Mapping[str, Any]) -> list[Survey] | None:
    """The training files, parsed; None where one of them is none that can be read in parts."""
    sources, rest = listed_sources(train), without_extras(reading)
    if not all(can_be_streamed(source, rest) for source in sources):
        return None
    # Sentences of the training text are counted alone, so that it may be cut within a document.
    rest["documents"] = "none"
    # The text is kept in any case: it is searched for the mentions of the test set.
    return [
        survey_layers(source, rest, merged=False, tokens=PART_TOKENS, keep=Kept(sys.maxsize))
        for source in sources
    ]


def renumbered(surveys: Sequence[Survey], learnt: Interner, words: Interner) -> bool:
    """Give the tokens of training files, that `learnt` has numbered, the codes of `words`.

    False where some rows were not kept: they would be numbered as before when they are read again.
    """
    if not all(one.kept is not None for one in surveys):
        return False
    table = words.codes_of([word.encode("utf-8") for word in learnt.strings])
    for one in surveys:
        if one.kept is not None:
            one.kept.renumber(table, len(words.strings))
    return True


def training_in_parts(surveys: Sequence[Survey], vocabulary: Sequence[str]) -> Training:
    """Count the mentions of training files part by part; `vocabulary` holds the words of all files."""
    entries: list[Mapping[str, Any]] = []
    lexicon = Lexicon.gathered(
        vocabulary, (part for one in surveys for part in _parts(one, vocabulary, entries))
    )
    known = None if lexicon is None else KnownSentences.of_text(vocabulary, lexicon.text.blocks)
    return Training(lexicon, known, entries)


def _parts(one: Survey, vocabulary: Sequence[str], entries: list[Mapping[str, Any]]) -> Iterator[Annotation]:
    """The parts of a training file, and at its end its entry in the result document."""
    repairs, mentions, labels = 0, 0, set[str]()
    for piece in pieces(one):
        part = read_piece(one, piece, vocabulary)["only"]
        if one.kept is not None:
            one.kept.forget(one.cuts[piece.number + 1].token)
        repairs, mentions = repairs + part.reading.repairs, mentions + len(part.mentions)
        labels.update(part.mentions.labels)
        yield part
    entries.append(
        survey_entry("train", one, layer="only", repairs=repairs, mentions=mentions, labels=labels)
    )


def training_at_once(train: Any, reading: Mapping[str, Any]) -> Training:
    """Training data of which some cannot be read in parts."""
    training = training_of(train, reading)
    return Training(
        Lexicon.of(training),
        KnownSentences([one.corpus for one in training]),
        [input_entry("train", one) for one in training],
    )
