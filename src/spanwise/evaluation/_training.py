"""Training data: what the test set asks of them, and their answers, summed over blocks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from spanwise.attributes import Lexicon, LexiconSums, SummedLexicon, Wanted, wanted
from spanwise.corpus import Annotation
from spanwise.description import KnownSentences, input_entry
from spanwise.engines import Engine
from spanwise.evaluation._blocks import NO_EXTRAS, BlockSums, Joining, Source, entry_of
from spanwise.evaluation._inputs import training_of
from spanwise.formats import Reader, listed_sources
from spanwise.formats.parts import (
    Held,
    Kept,
    Parted,
    Piece,
    can_be_streamed,
    pieces,
    read_piece,
    survey_layers,
    survey_of_lines,
)

TRAINING_TOKENS = 1 << 19  # of a training block


class Training(Struct, frozen=True, eq=False):
    """What training data know, and how the result document names their files."""

    lexicon: Lexicon | SummedLexicon | None = None
    known: KnownSentences | None = None
    entries: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def of(cls, train: Sequence[Annotation]) -> Training:
        """What training data know that are in memory."""
        if not train:
            return cls()
        return cls(
            Lexicon.of(train),
            KnownSentences.of(one.corpus for one in train),
            [input_entry("train", one) for one in train],
        )


class TrainingSource(Protocol):
    """Training data in blocks; what it yields and itself can be pickled."""

    def references(self) -> Iterator[Any]: ...
    def read(self, reference: Any) -> tuple[int, Annotation]: ...
    def entries(self, sums: Mapping[int, BlockSums]) -> list[dict[str, Any]]: ...


class TrainingPiece(Struct, frozen=True, eq=False):
    """One block of a training file."""

    file: int
    piece: Piece


class TrainingFiles(Struct, frozen=True, eq=False):
    """Training files in parts; their sentences are counted alone, so that they may be cut anywhere."""

    files: tuple[Parted, ...]

    @classmethod
    def of(cls, train: Any, reading: Mapping[str, Any], *, keep: bool) -> TrainingFiles:
        """Look at all files; with `keep` their rows stay in memory, so that they are parsed only once."""
        rest = {key: value for key, value in reading.items() if key not in NO_EXTRAS} | {"documents": "none"}
        files: list[Parted] = []
        for source in listed_sources(train):
            if can_be_streamed(source, rest):
                rows = Kept(sys.maxsize) if keep else None
                files.append(survey_layers(source, rest, merged=False, tokens=TRAINING_TOKENS, keep=rows))
            elif not keep and (lines := survey_of_lines(source, rest, tokens=TRAINING_TOKENS)) is not None:
                files.append(lines)
            else:
                (whole,) = training_of([source], Reader(**reading))
                files.append(Held.of({"only": whole}, tokens=TRAINING_TOKENS))
        return cls(tuple(files))

    def references(self) -> Iterator[TrainingPiece]:
        """The parts of all files."""
        for number, file in enumerate(self.files):
            for piece in pieces(file):
                yield TrainingPiece(number, piece)

    def read(self, reference: TrainingPiece) -> tuple[int, Annotation]:
        """The number of the file, and one of its parts."""
        return reference.file, read_piece(self.files[reference.file], reference.piece)["only"]

    def entries(self, sums: Mapping[int, BlockSums]) -> list[dict[str, Any]]:
        """The `inputs` of the document."""
        return [entry_of("train", file, "only", sums[number]) for number, file in enumerate(self.files)]


class Asking(Struct, frozen=True, eq=False):
    """What `want` needs beside a block."""

    source: Source
    lowercase: bool


def want(reference: Any, asking: Asking) -> Wanted:
    """What the gold and predicted mentions of a block of the test set ask of training data."""
    block = asking.source.open(reference)
    several = [block.gold.mentions, *block.systems.values()]
    return wanted(block.corpus, several, lowercase=asking.lowercase)


class Answer(Struct, frozen=True, eq=False):
    """What training blocks answer; answers of several can be joined."""

    lexicon: LexiconSums
    known: KnownSentences
    sums: Mapping[int, BlockSums]  # of each file

    @classmethod
    def joined(cls, parts: Sequence[Answer]) -> Answer:
        """What several blocks answer."""
        sums: dict[int, BlockSums] = {}
        for part in parts:
            for file, more in part.sums.items():
                sums[file] = sums[file] + more if file in sums else more
        lexicon = LexiconSums.joined([part.lexicon for part in parts])
        return cls(lexicon, KnownSentences.joined([part.known for part in parts]), sums)


class Answering(Struct, frozen=True, eq=False):
    """What `learn` needs beside a training block."""

    source: TrainingSource
    wanted: Wanted


def learn(reference: Any, answering: Answering) -> Answer:
    """What one training block knows of what is wanted."""
    file, block = answering.source.read(reference)
    return Answer(
        LexiconSums.of(Lexicon.of([block]), answering.wanted),
        KnownSentences.of([block.corpus]),
        {file: BlockSums.of(block)},
    )


def learnt(
    source: Source, train: TrainingSource, *, lowercase: bool, engine: Engine, training_engine: Engine
) -> Training:
    """Ask all blocks of the test set what they want to know, and all training blocks for the answers."""
    asked = Joining(Wanted.joined)
    for one in engine.map(want, source.references(), Asking(source, lowercase)):
        asked.add(one)
    everything = asked.total()
    answers = Joining(Answer.joined)
    for answer in training_engine.map(learn, train.references(), Answering(train, everything)):
        answers.add(answer)
    total = answers.total()
    return Training(SummedLexicon(everything, total.lexicon), total.known, train.entries(total.sums))
