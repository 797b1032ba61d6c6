"""The files of an evaluation in parts: looked at once, cut before the same sentences, read part by part."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from spanwise.attributes import Attribute, Confusable, Context, Lexicon
from spanwise.corpus import Annotation, Mentions
from spanwise.description import KnownSentences
from spanwise.errors import ChoiceError, InputError, at
from spanwise.evaluation._choices import Choices
from spanwise.evaluation._dataset import Facts
from spanwise.evaluation._inputs import named_sources, without_extras
from spanwise.formats import Interner, stem_of
from spanwise.formats.parts import Kept, Piece, Survey, pieces, read_piece, survey_layers

# What one token of a part may cost at the height of its evaluation, in bytes, for each file that holds it.
BYTES_PER_TOKEN = 400
LEAST_TOKENS = 10_000
KEPT_SHARE = 4  # of the memory a quarter may hold the rows of files, which are then parsed only once


class Files(Struct, frozen=True, eq=False):
    """The surveyed files: gold, and the predictions of each system; one file may hold both."""

    gold: Survey
    systems: Mapping[str, Survey]
    merged: bool
    vocabulary: Sequence[str] = ()  # the words of all files

    def parts(self) -> Iterator[dict[str, Piece]]:
        """The pieces of every file that belong together; "" is the gold file's."""
        streams = {"": pieces(self.gold)}
        if not self.merged:
            streams |= {name: pieces(one) for name, one in self.systems.items()}
        for together in zip(*streams.values(), strict=True):
            yield dict(zip(streams, together, strict=True))

    def gold_parts(self) -> Iterator[dict[str, Piece]]:
        """The pieces of the gold file alone."""
        yield from ({"": piece} for piece in pieces(self.gold))

    def read(self, part: Mapping[str, Piece]) -> tuple[Annotation, dict[str, Annotation]]:
        """Gold and predictions of one part."""
        if self.merged:
            layers = read_piece(self.gold, part[""], self.vocabulary)
            return layers["gold"], dict.fromkeys(self.systems, layers["predicted"])
        systems = {name: self._only(self.systems[name], piece) for name, piece in part.items() if name}
        return self._only(self.gold, part[""]), systems

    def read_gold(self, part: Mapping[str, Piece]) -> Annotation:
        """Gold of one part."""
        return self.read(part)[0]

    def _only(self, one: Survey, piece: Piece) -> Annotation:
        return read_piece(one, piece, self.vocabulary)["only"]


class Shared(Struct, frozen=True, eq=False):
    """What every part needs."""

    files: Files
    choices: Choices
    lexicon: Lexicon | None
    known: KnownSentences | None
    attributes: Mapping[str, Attribute]
    facts: Facts | None = None
    confusable: Confusable | None = None
    unit: str = "sentence"

    def context(self, gold: Annotation, predicted: Sequence[Mentions] = ()) -> Context:
        """What the mentions of one part are seen in."""
        return Context(
            corpus=gold.corpus,
            gold=gold.mentions,
            lexicon=self.lexicon,
            known=self.choices.vocabulary,
            lowercase=self.choices.lowercase,
            predicted=tuple(predicted),
        )


class SurveyedGold(Struct, frozen=True, eq=False):
    """The gold file, looked at once and cut, and the predictions that shall be cut like it."""

    survey: Survey
    named: Mapping[str, Any]  # the predictions of each system
    merged: bool  # whether they stand in the gold file
    reading: Mapping[str, Any]
    room: int  # bytes that the rows of one system may take

    @classmethod
    def of(cls, gold: Any, systems: Any, reading: Mapping[str, Any], memory: int) -> SurveyedGold:
        """Look at the gold file."""
        _check_paths(gold, systems)
        merged = systems is None
        named = {stem_of(os.fspath(gold)): gold} if merged else named_sources(systems)
        tokens = max(LEAST_TOKENS, memory // (BYTES_PER_TOKEN * (1 + len(named))))
        keep = Kept(memory // KEPT_SHARE)
        survey = survey_layers(gold, reading, merged=merged, tokens=tokens, keep=keep)
        room = 0 if survey.kept is None else keep.left // max(len(named), 1)
        return cls(survey, named, merged, reading, room)

    def system(self, name: str, words: Interner) -> Survey:
        """Look at the predictions of a system, whose words these are to number."""
        gold = self.survey
        prefer = gold.layers["only"].scheme if gold.options.scheme is None else gold.options.scheme
        one = survey_layers(
            self.named[name],
            {**without_extras(self.reading), "words": words, "prefer": prefer},
            merged=False,
            sentences=[cut.sentence for cut in gold.cuts[1:-1]],
            keep=Kept(self.room, like=gold.kept),
        )
        if one.sentences != gold.sentences:
            raise InputError(
                at(
                    one.path,
                    None,
                    f"there are {one.sentences:,} sentences, but {gold.sentences:,} in the gold file"
                    f" ({gold.path}).\nGive predictions for the same sentences.",
                )
            )
        return one


def _check_paths(gold: Any, systems: Any) -> None:
    if systems is None and not isinstance(gold, str | os.PathLike):
        raise ChoiceError(
            "only one file with gold and predicted tags can be streamed.\nGive one, or leave memory out."
        )
    sources = [gold, *(named_sources(systems).values() if systems is not None else ())]
    for source in sources:
        if not isinstance(source, str | os.PathLike):
            raise ChoiceError("only files can be streamed.\nGive paths, or leave memory out.")
