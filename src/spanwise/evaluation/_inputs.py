"""Read gold, predictions and training data whole: aligned, with one vocabulary."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from spanwise.alignment import How
from spanwise.alignment import align as align_to
from spanwise.columns import Ints, ints
from spanwise.corpus import Annotation, Corpus, Mentions, with_one_vocabulary
from spanwise.description import input_entry
from spanwise.document import Input
from spanwise.engines.machine import at_once, together
from spanwise.errors import ChoiceError, InputError, unknown
from spanwise.formats import Reader, is_source, listed_sources, read, stem_of

UNITS = ("sentence", "document")
LARGE = 32 << 20  # bytes of files from which on two readers are faster than one that knows all words
_NAMELESS = "predicted"  # the system of predictions that are no file


class Block(Struct, frozen=True, eq=False):
    """Some sentences of gold with the predictions of every system, on the gold text."""

    gold: Annotation
    systems: Mapping[str, Mentions]
    predicted: Mapping[str, Annotation]  # as they were read, before they were aligned
    alignment: Mapping[str, Mapping[str, Any]]  # how that went

    @property
    def corpus(self) -> Corpus:
        """The gold text."""
        return self.gold.corpus


class Inputs(Block, frozen=True, eq=False):
    """One dataset and the predictions of each system on it, as one block, with its training data."""

    name: str
    merged: bool  # whether gold and predictions stand in the same files
    train: tuple[Annotation, ...]
    entries: tuple[dict[str, Any], ...]  # `inputs` of the result document

    def documented(self) -> tuple[Input, ...]:
        """What was read and how, as the documents of other verbs name it."""
        return (
            _input("gold", self.gold),
            *(_input("predicted", one, system) for system, one in self.predicted.items()),
            *(_input("train", one) for one in self.train),
        )


def _input(role: str, one: Annotation, system: str | UnsetType = UNSET) -> Input:
    told = one.reading
    return Input(
        role=role, path=told.path, sha256=told.sha256, format=told.format, scheme=told.scheme,
        repairs=told.repairs, system=system,
    )  # fmt: skip


class Units(Struct, frozen=True, eq=False):
    """What is resampled: sentences, or documents where the data mark them."""

    kind: str
    number: int
    of_sentence: Ints

    @classmethod
    def of(cls, corpus: Corpus, kind: str | None) -> Units:
        """The units of a corpus: documents where it has more than one, unless told otherwise."""
        documents = None if corpus.documents is None else len(corpus.documents) - 1
        kind = unit_of(kind, documents, corpus.source.path)
        if kind == "document" and corpus.document_of_sentence is not None:
            return cls(kind, documents or 0, corpus.document_of_sentence)
        return cls(kind, len(corpus), ints(np.arange(len(corpus))))


def unit_of(asked: str | None, documents: int | None, path: str) -> str:
    """What is resampled: documents where there are more than one, unless told otherwise."""
    if asked is not None and asked not in UNITS:
        block_size(asked)  # refuses what is no unit at all
        return "sentence"  # consecutive ones are joined once all are counted
    if asked == "document" and documents is None:
        raise InputError(
            f"{path}: the file marks no documents, so they cannot be resampled.\n"
            'Use unit="sentence", or mark documents with -DOCSTART- lines.'
        )
    return asked or ("document" if (documents or 0) > 1 else "sentence")


def block_size(asked: str | None) -> int:
    """How many consecutive sentences are one unit: N of "block:N", else 1."""
    if asked is None or asked in UNITS:
        return 1
    kind, _, size = asked.partition(":")
    if kind != "block" or not size.isdecimal() or int(size) < 1:
        raise ChoiceError(
            f"unit is {asked!r}, but must be 'sentence', 'document' or 'block:N'.\n"
            "Write block:20 for blocks of 20 consecutive sentences."
        )
    return int(size)


@cache
def _keywords_of_reading() -> list[str]:
    return [name for name in signature(read).parameters if name not in ("source", "name")]


def check_keywords(reading: Mapping[str, Any]) -> None:
    """Refuse keywords that nothing takes."""
    for name in reading:
        if name not in (known := _keywords_of_reading()):
            others = signature(import_module("spanwise.evaluation").evaluate).parameters
            raise unknown("keyword", name, [*known, *(one for one in others if one != "reading")])


def gather(
    gold: Any,
    systems: Any,
    train: Any,
    *,
    align: How,
    reading: Mapping[str, Any],
    name: str | None,
) -> Inputs:
    """Read whatever is not read yet, align predictions to gold and give all of it one vocabulary."""
    # Words that one file has taught a reader cost it nothing in the next.
    large = _bytes([gold, *listed_sources(train), *_systems(systems).values()]) >= LARGE
    readers = [Reader(**reading) for _ in range(2 if large else 1)]
    (gold_annotation, predicted), training = at_once(
        lambda: _gold_or_merged(gold, systems, readers[0]),
        lambda: training_of(train, readers[-1]),
        threads=len(readers),
    )
    if systems is not None:
        predicted = _predicted(systems, readers, prefer=gold_annotation.reading.scheme)
    corpora = [gold_annotation.corpus, *(one.corpus for one in training)]
    corpora += [annotation.corpus for annotation in predicted.values()]
    recoded = iter(with_one_vocabulary(corpora))
    gold_annotation = replace(gold_annotation, corpus=next(recoded))
    training = tuple(replace(one, corpus=next(recoded)) for one in training)
    predicted = {key: replace(one, corpus=next(recoded)) for key, one in predicted.items()}
    aligned = {key: align_to(gold_annotation, one, how=align) for key, one in predicted.items()}
    entries = [input_entry("gold", gold_annotation)]
    for key, one in predicted.items():
        entries.append({**input_entry("predicted", one), "system": key, "alignment": aligned[key].report})
    entries += [input_entry("train", one) for one in training]
    return Inputs(
        name=name or stem_of(gold_annotation.reading.path),
        gold=gold_annotation,
        systems={key: one.mentions for key, one in aligned.items()},
        predicted={
            key: _on_gold_text(one, gold_annotation, aligned[key].report) for key, one in predicted.items()
        },
        alignment={key: one.report for key, one in aligned.items()},
        merged=systems is None,
        train=training,
        entries=tuple(entries),
    )


def _gold_or_merged(gold: Any, systems: Any, reader: Reader) -> tuple[Annotation, dict[str, Annotation]]:
    """The gold annotation, and the predictions where they stand in the same files."""
    return _merged(gold, reader) if systems is None else (reader.read(gold), {})


def _predicted(systems: Any, readers: Sequence[Reader], *, prefer: str | None) -> dict[str, Annotation]:
    named = list(_systems(systems).items())
    if not named:
        raise ChoiceError("there is no system to evaluate.\nGive at least one file or list of predictions.")
    found = together(
        [
            partial(_read_all, named[place :: len(readers)], reader, prefer)
            for place, reader in enumerate(readers)
        ]
    )
    every = {key: one for part in found for key, one in part.items()}
    return {key: every[key] for key, _ in named}


def _read_all(
    sources: Sequence[tuple[str, Any]], reader: Reader, prefer: str | None
) -> dict[str, Annotation]:
    return {key: reader.read(source, extras=False, prefer=prefer) for key, source in sources}


def _systems(systems: Any) -> dict[str, Any]:
    return {} if systems is None else named_sources(systems)


def _bytes(sources: Sequence[Any]) -> int:
    """The size of those sources that are files."""
    paths = [Path(source) for source in sources if isinstance(source, str | os.PathLike)]
    return sum(path.stat().st_size for path in paths if path.is_file())


def _on_gold_text(one: Annotation, gold: Annotation, report: Mapping[str, Any]) -> Annotation:
    """The same annotation with the columns of the gold text where they are equal: no need for both."""
    corpus = one.corpus
    by_tokens = corpus.unit == gold.corpus.unit == "token" and not corpus.without_text
    if report["changed_sentences"] or "crossing" in report or not by_tokens:
        return one
    return replace(one, corpus=replace(corpus, tokens=gold.corpus.tokens, sentences=gold.corpus.sentences))


def _merged(gold: Any, reader: Reader) -> tuple[Annotation, dict[str, Annotation]]:
    """Gold and predictions of one file, or of several files whose gold columns are the same."""
    files = named_sources(
        gold if isinstance(gold, Mapping) else [gold] if not isinstance(gold, list) else gold
    )
    if not files or not all(isinstance(source, str | os.PathLike) for source in files.values()):
        raise ChoiceError(
            "no predictions were given, and the gold data are not a file that holds predicted tags too.\n"
            "Give the predictions as systems."
        )
    found = {key: reader.read_layers(source) for key, source in files.items()}
    first, *others = (layers["gold"] for layers in found.values())
    for gold_annotation in others:
        if first.mentions.rows() != gold_annotation.mentions.rows():
            raise InputError(
                f"{gold_annotation.reading.path}: its gold mentions are not those of {first.reading.path}.\n"
                "Files that hold gold and predictions can be compared only over the same gold annotation."
            )
    return first, {key: layers["predicted"] for key, layers in found.items()}


def named_sources(systems: Any) -> dict[str, Any]:
    """Predictions by the names of their systems; a file that has none is named by its stem."""
    if isinstance(systems, Mapping):
        return dict(systems)
    if is_source(systems):
        return {_system_name(systems): systems}
    listed = list(systems)
    if not all(map(is_source, listed)):
        return {_NAMELESS: listed}  # the lists of tags or spans of one system
    named: dict[str, Any] = {}
    for one in listed:
        key = _system_name(one)
        if key in named and not isinstance(one, str | os.PathLike | Annotation):
            raise ChoiceError(
                'several systems are objects without a name.\nName them: {"first": …, "second": …}.'
            )
        if key in named:
            raise ChoiceError(f'two systems are called {key!r}.\nName them: {{"first": …, "second": …}}.')
        named[key] = one
    return named


def _system_name(source: Any) -> str:
    if isinstance(source, Annotation):
        return stem_of(source.reading.path)
    return stem_of(os.fspath(source)) if isinstance(source, str | os.PathLike) else _NAMELESS


def training_of(train: Any, reader: Reader) -> tuple[Annotation, ...]:
    """The training data, read; they must hold text."""
    training = tuple(reader.read(source, extras=False) for source in listed_sources(train))
    for one in training:
        if one.corpus.without_text:
            raise InputError(
                f"{one.reading.path}: training data without tokens cannot tell what was seen.\n"
                "Give a file that holds the text."
            )
    return training
