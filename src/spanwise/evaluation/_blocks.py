"""Where blocks come from: sources of one block or many, and training data, which answer what these ask."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.alignment import How, align
from spanwise.attributes import Lexicon, LexiconSums, SummedLexicon, Wanted, wanted
from spanwise.columns import Ints, ints
from spanwise.composition import KnownSentences, content_of, input_entry, reading_entry
from spanwise.corpus import Annotation, Corpus, with_one_vocabulary
from spanwise.engines import Addable, Engine, Joining, joined, together
from spanwise.errors import ChoiceError, InputError, at, many
from spanwise.evaluation._choices import Block, Choices, Inputs, named_sources, needs, with_text
from spanwise.formats import Reader, listed_sources, stem_of
from spanwise.formats._format import Cutting, ReadKeywords

# Imported where files come in parts: small evaluations would feel it.
if TYPE_CHECKING:
    from spanwise.formats.parts import PartBytes, Parted

# Peak memory per token of a block during its evaluation, in bytes, for each file that holds it.
BYTES_PER_TOKEN = 400
LEAST_TOKENS = 10_000
KEPT_SHARE = 4  # a quarter of the memory may hold the rows of files, which are then parsed only once
NO_EXTRAS = ("columns", "fields")

Shared = TypeVar("Shared")
Of = TypeVar("Of")
Progress = Callable[[str, int, int], None]  # the step, how much of it is done, and of how much


def nothing() -> None:
    """There is nothing to let go."""


class BlockSums(Struct, frozen=True):
    """What is counted of a file block by block, for its entry in the result document."""

    repairs: int
    mentions: int
    labels: frozenset[str]
    alignment: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, annotation: Annotation, alignment: Mapping[str, object] | None = None) -> BlockSums:
        """The sums of one block."""
        mentions = annotation.mentions
        return cls(annotation.reading.repairs, len(mentions), frozenset(mentions.labels), alignment)

    @classmethod
    def of_block(cls, block: Block) -> dict[str, BlockSums]:
        """The sums of gold, "", and of each system."""
        predicted = {name: cls.of(one, block.alignment[name]) for name, one in block.predicted.items()}
        return {"": cls.of(block.gold), **predicted}

    @classmethod
    def added(cls, parts: Sequence[Mapping[Of, BlockSums]]) -> dict[Of, BlockSums]:
        """The sums of several blocks, by what they are of."""
        sums: dict[Of, BlockSums] = {}
        for part in parts:
            for layer, more in part.items():
                sums[layer] = sums[layer] + more if layer in sums else more
        return sums

    def __add__(self, other: BlockSums) -> BlockSums:
        both = self.alignment, other.alignment
        alignment = both[0] if both[0] is not None else both[1]
        if both[0] is not None and both[1] is not None:
            alignment = {key: one if key == "how" else one + both[1][key] for key, one in both[0].items()}
        return BlockSums(
            self.repairs + other.repairs,
            self.mentions + other.mentions,
            self.labels | other.labels,
            alignment,
        )


class BlockSource(Protocol):
    """Gold and the predictions of every system, in blocks; both it and what it yields can be pickled."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def systems(self) -> Sequence[str]: ...
    @property
    def blocks(self) -> int: ...
    @property
    def documents(self) -> int | None: ...
    def references(self, *, gold_only: bool = False) -> Iterator[Any]: ...
    def open(self, reference: Any, *, gold_only: bool = False) -> Block: ...
    def entries(self, sums: Mapping[str, BlockSums]) -> list[dict[str, object]]: ...


class OneBlock(Struct, frozen=True, eq=False):
    """Everything in memory: one block."""

    inputs: Inputs

    @property
    def name(self) -> str:
        """What the dataset is called."""
        return self.inputs.name

    @property
    def path(self) -> str:
        """The name of the gold source in errors."""
        return self.inputs.corpus.source.path

    @property
    def systems(self) -> Sequence[str]:
        """The names of the systems."""
        return list(self.inputs.systems)

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return 1

    @property
    def documents(self) -> int | None:
        """The number of documents, where they are marked."""
        documents = self.inputs.corpus.documents
        return None if documents is None else len(documents) - 1

    def references(self, *, gold_only: bool = False) -> Iterator[Block]:
        """The block itself."""
        yield self.inputs

    def open(self, reference: Block, *, gold_only: bool = False) -> Block:
        """The block, which is open."""
        return reference

    def entries(self, sums: Mapping[str, BlockSums]) -> list[dict[str, object]]:
        """The `inputs` of the document for gold and predictions."""
        return [entry for entry in self.inputs.entries if entry["role"] != "train"]


class FileLayer(Struct, frozen=True):
    """One annotation of one file: the number of the file, and the layer in it."""

    file: int
    layer: str = "only"


class ManyBlocks(Struct, frozen=True, eq=False):
    """Files cut before the same sentences; a file may hold gold and predictions."""

    name: str
    files: tuple[Parted, ...]
    gold: FileLayer
    layers: Mapping[str, FileLayer]  # of each system
    how: How

    @property
    def path(self) -> str:
        """The gold file."""
        return self.files[self.gold.file].path

    @property
    def systems(self) -> Sequence[str]:
        """The names of the systems."""
        return list(self.layers)

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return self.files[self.gold.file].parts

    @property
    def documents(self) -> int | None:
        """The number of documents, where they are marked."""
        documents = self.files[self.gold.file].documents
        return None if documents is None else len(documents) - 1

    def references(self, *, gold_only: bool = False) -> Iterator[dict[int, PartBytes]]:
        """The pieces of the files that belong together, by the number of the file."""
        from spanwise.formats.parts import pieces

        needed = (
            {self.gold.file}
            if gold_only
            else {self.gold.file, *(layer.file for layer in self.layers.values())}
        )
        numbers = sorted(needed)
        streams = [pieces(self.files[number]) for number in numbers]
        for together_ in zip(*streams, strict=True):
            yield dict(zip(numbers, together_, strict=True))

    def open(self, reference: Mapping[int, PartBytes], *, gold_only: bool = False) -> Block:
        """Read the pieces, and put the predictions on the gold text."""
        layers = self.layers_of(reference, gold_only=gold_only)
        return block_of(layers.pop(""), layers, self.how)

    def layers_of(
        self, reference: Mapping[int, PartBytes], *, gold_only: bool = False
    ) -> dict[str, Annotation]:
        """Read the pieces: gold, "", and the predictions of every system."""
        from spanwise.formats.parts import read_piece

        found = {number: read_piece(self.files[number], piece) for number, piece in reference.items()}
        layers = {"": self.gold} if gold_only else {"": self.gold, **self.layers}
        return {name: found[layer.file][layer.layer] for name, layer in layers.items()}

    def only(self, systems: Mapping[str, str]) -> ManyBlocks:
        """The same blocks with some of the systems, each by its new name; files of others stay closed."""
        return replace(self, layers={name: self.layers[before] for name, before in systems.items()})

    def entries(self, sums: Mapping[str, BlockSums]) -> list[dict[str, object]]:
        """The `inputs` of the document for gold and predictions, as they are for files read whole."""
        gold = entry_of("gold", self.files[self.gold.file], self.gold.layer, sums[""])
        return [
            gold,
            *(
                {**entry_of("predicted", self.files[layer.file], layer.layer, sums[name]), "system": name}
                for name, layer in self.layers.items()
            ),
        ]


def block_of(gold: Annotation, predicted: Mapping[str, Annotation], how: How) -> Block:
    """A block of gold and predictions that were read separately: on one text, with one vocabulary."""
    if not predicted:
        return Block(gold, {}, {}, {})
    corpora = with_one_vocabulary([gold.corpus, *(one.corpus for one in predicted.values())])
    gold = replace(gold, corpus=corpora[0])
    predicted = {
        name: replace(one, corpus=corpus)
        for (name, one), corpus in zip(predicted.items(), corpora[1:], strict=True)
    }
    aligned = {name: align(gold, one, how=how) for name, one in predicted.items()}
    return Block(
        gold,
        {name: one.mentions for name, one in aligned.items()},
        predicted,
        {name: one.report for name, one in aligned.items()},
    )


class LayerParts(Struct, frozen=True, eq=False):
    """The annotations of one layer in the parts of a source, read anew whenever they are gone through."""

    source: Parted
    layer: str

    def __iter__(self) -> Iterator[Annotation]:
        from spanwise.formats.parts import Held, pieces, read_piece

        if isinstance(self.source, Held):
            yield self.source.layers[self.layer]
            return
        for piece in pieces(self.source):
            yield read_piece(self.source, piece)[self.layer]


def entry_of(role: str, one: Parted, layer: str, sums: BlockSums) -> dict[str, object]:
    from spanwise.formats.parts import reading_of

    reading = reading_of(one, layer, repairs=sums.repairs, labels=sorted(sums.labels))
    if role == "gold" and reading.sha256 is None:
        reading = replace(reading, sha256=content_of(LayerParts(one, layer)))
    entry = reading_entry(role, reading, sentences=one.sentences, tokens=one.tokens, mentions=sums.mentions)
    return {**entry, "alignment": sums.alignment}


def many_blocks(
    gold: Any,
    systems: Any,
    choices: Choices,
    *,
    name: str | None,
    memory: int,
    keep: bool = True,
    progress: Progress,
    predicted_reading: ReadKeywords | None = None,
) -> ManyBlocks:
    """Look at all files, and cut them into blocks that need about this much memory.

    With `keep`, as many rows as fit stay in memory, so that they are parsed only once. Predictions are read
    without more columns than their tags, unless `predicted_reading` names some.
    """
    from spanwise.formats.parts import KeptRows, Survey, reading_of

    merged = systems is None
    if merged and not isinstance(gold, str | os.PathLike):
        raise ChoiceError(
            "only one file with gold and predicted tags can be evaluated in parts.\n"
            "Give one, or leave memory out."
        )
    named = {stem_of(os.fspath(gold)): gold} if merged else named_sources(systems)
    choices.check_systems(list(named))
    total = 1 if merged else 1 + len(named)
    progress("read", 0, total)
    tokens = max(LEAST_TOKENS, memory // (BYTES_PER_TOKEN * (1 + len(named))))
    rows = KeptRows(memory // KEPT_SHARE) if keep else None
    held = memory if keep else 0
    cutting = Cutting(tokens=tokens, merged=merged, keep=rows)
    first = _looked_at(gold, choices.reading, cutting, held=held)
    title = name or stem_of(first.path)
    if merged:
        layers = {system: FileLayer(0, "predicted") for system in named}
        return ManyBlocks(title, (first,), FileLayer(0, "gold"), layers, choices.align)
    progress("read", 1, total)
    kept = first.kept if isinstance(first, Survey) else None
    room = 0 if kept is None or rows is None else rows.left // max(len(named), 1)
    scheme = reading_of(first, "only", repairs=0, labels=()).scheme
    reading = {
        **{key: value for key, value in choices.reading.items() if key not in NO_EXTRAS},
        "prefer": scheme,
        **(predicted_reading or {}),
    }
    sentences = [cut.sentence for cut in first.cuts[1:-1]]
    others = together(
        [
            partial(
                _looked_at,
                one,
                reading,
                Cutting(sentences=sentences, keep=KeptRows(room, like=kept) if keep else None),
                held=held,
            )
            for one in named.values()
        ]
    )
    progress("read", total, total)
    for one in others:
        if one.sentences != first.sentences:
            raise InputError(
                at(
                    one.path,
                    None,
                    f"there {'is' if one.sentences == 1 else 'are'} {many(one.sentences, 'sentence')}, but "
                    f"{first.sentences:,} in the gold file ({first.path}).\n"
                    "Give predictions for the same sentences.",
                )
            )
    layers = {system: FileLayer(index) for index, system in enumerate(named, start=1)}
    return ManyBlocks(title, (first, *others), FileLayer(0), layers, choices.align)


def _looked_at(source: Any, reading: ReadKeywords, cutting: Cutting, *, held: int = 0) -> Parted:
    """A source cut into parts: surveyed where its format allows for that, else read whole and sliced."""
    from spanwise.formats.parts import Held

    found = _surveyed(source, reading, cutting, held=held)
    if found is not None:
        return found
    reader = Reader(**reading)
    layers = reader.read_layers(source) if cutting.merged else {"only": reader.read(source)}
    return Held.of(layers, tokens=cutting.tokens, sentences=cutting.sentences)


def _surveyed(source: Any, reading: ReadKeywords, cutting: Cutting, *, held: int) -> Parted | None:
    """A source looked at once; None where it is better held, or must be.

    What no survey keeps is read again for every step: it is held where it needs less memory than `held`.
    """
    from spanwise.formats.parts import streamed_format, surveyed

    known = streamed_format(source, reading)
    if known is None or not (known.keeps_rows or needs(source) > held):
        return None
    return surveyed(source, reading, cutting)


WORD, FORM = 30, 18  # bytes that a word and a token sequence take in a lexicon, about
TRAINING_TOKENS = 1 << 19  # of a training block


class TrainingFacts(Struct, frozen=True, eq=False):
    """The lexicon of training data, and how the result document names their files."""

    lexicon: Lexicon | SummedLexicon | None = None
    known: KnownSentences | None = None
    entries: Sequence[Mapping[str, Any]] = ()
    parts: tuple[LexiconPart, ...] = ()  # where the whole is too large to be sent to every block

    @classmethod
    def of(cls, train: Sequence[Annotation]) -> TrainingFacts:
        """The lexicon of training data in memory."""
        if not train:
            return cls()
        return cls(
            Lexicon.of(train),
            KnownSentences.of(one.corpus for one in train),
            [input_entry("train", one) for one in train],
        )


class TrainingSource(Protocol):
    """Training data in blocks; both it and what it yields can be pickled."""

    @property
    def sources(self) -> int:
        """How many files, folders, patterns or frames were given."""
        ...

    @property
    def marked(self) -> bool:
        """Whether all of them mark at least two documents."""
        ...

    def references(self) -> Iterator[Any]: ...
    def read(self, reference: Any) -> tuple[int, Annotation]: ...
    def first(self, reference: Any) -> int:
        """The number of a block's first sentence among those of all sources."""
        ...

    def units(self, reference: Any, corpus: Corpus) -> Ints:
        """The unit of each sentence of a block, where documents are `marked` its document, else itself.

        Units are known by the number of their first sentence among those of all sources.
        """
        ...

    def entries(self, sums: Mapping[int, BlockSums]) -> list[dict[str, object]]: ...


def units_of(first: int, sentences: int, documents: Ints | None) -> Ints:
    """The number of each sentence from `first` on, or of the first one of its document, where these begin.

    Examples:
        >>> units_of(5, 4, None).tolist(), units_of(5, 4, ints([0, 4, 7])).tolist()
        ([5, 6, 7, 8], [4, 4, 7, 7])
    """
    number = ints(first + np.arange(sentences))
    return number if documents is None else documents[np.searchsorted(documents, number, "right") - 1]


class TrainingPlace(Struct, frozen=True, eq=False):
    """Training data in blocks, and the engine that runs functions where they lie."""

    source: TrainingSource
    engine: Engine
    free: Callable[[], None] = nothing  # lets executors forget the blocks

    def asked(self, function: Callable[[Any, Shared], Addable], shared: Shared) -> Addable:
        """What a function answers to all blocks, joined."""
        return joined(self.engine.map(function, self.source.references(), shared))


class TrainingPiece(Struct, frozen=True, eq=False):
    """One block of a training file."""

    file: int
    piece: PartBytes


class TrainingFiles(Struct, frozen=True, eq=False):
    """Training files in parts; their sentences are counted alone, so that they may be cut anywhere."""

    files: tuple[Parted, ...]

    @classmethod
    def of(
        cls, train: Any, reading: ReadKeywords, *, keep: bool, held: int = 0, documents: bool = False
    ) -> TrainingFiles:
        """Look at all files; with `keep` their rows stay in memory, so that they are parsed only once.

        Files of records are held where they need less memory than `held`. Marks of documents are read only
        where `documents` are asked for.
        """
        from spanwise.formats.parts import Held, KeptRows

        rest = {key: value for key, value in reading.items() if key not in NO_EXTRAS}
        if not documents:
            rest["documents"] = "none"
        files: list[Parted] = []
        for source in listed_sources(train):
            cutting = Cutting(tokens=TRAINING_TOKENS, keep=KeptRows(sys.maxsize) if keep else None)
            found = _surveyed(source, rest, cutting, held=held)
            if found is not None and found.tokens:
                files.append(found)
            else:
                whole = Reader(**reading).read(source, extras=False)
                files.append(Held.of({"only": whole}, tokens=TRAINING_TOKENS))
        return cls(tuple(files))

    @classmethod
    def held(cls, train: Sequence[Annotation]) -> TrainingFiles:
        """Training data that are in memory."""
        from spanwise.formats.parts import Held

        return cls(tuple(Held.of({"only": one}) for one in train))

    @property
    def sources(self) -> int:
        """The number of files."""
        return len(self.files)

    @property
    def marked(self) -> bool:
        """Whether all files mark at least two documents."""
        return all(file.documents is not None and len(file.documents) > 2 for file in self.files)

    def references(self) -> Iterator[TrainingPiece]:
        """The parts of all files."""
        from spanwise.formats.parts import pieces

        for number, file in enumerate(self.files):
            for piece in pieces(file):
                yield TrainingPiece(number, piece)

    def read(self, reference: TrainingPiece) -> tuple[int, Annotation]:
        """The number of the file, and one of its parts."""
        from spanwise.formats.parts import read_piece

        return reference.file, read_piece(self.files[reference.file], reference.piece)["only"]

    def first(self, reference: TrainingPiece) -> int:
        """The number of a part's first sentence among those of all files."""
        own = self.files[reference.file].cuts[reference.piece.number].sentence
        return own + sum(file.sentences for file in self.files[: reference.file])

    def units(self, reference: TrainingPiece, corpus: Corpus) -> Ints:
        """The unit of each sentence of a part."""
        first, file = self.first(reference), self.files[reference.file]
        before = first - file.cuts[reference.piece.number].sentence
        documents = before + file.documents if self.marked and file.documents is not None else None
        return units_of(first, len(corpus), documents)

    def entries(self, sums: Mapping[int, BlockSums]) -> list[dict[str, object]]:
        """The `inputs` of the document."""
        return [entry_of("train", file, "only", sums[number]) for number, file in enumerate(self.files)]


class Asking(Struct, frozen=True, eq=False):
    """What `want` needs beside a block."""

    source: BlockSource
    lowercase: bool


class Questions(Struct, frozen=True, eq=False):
    """What blocks of the test set ask of training data: words and token sequences, and whole sentences."""

    wanted: Wanted
    sentences: KnownSentences

    @property
    def size(self) -> int:
        """About how many bytes the answers take that are sent to every block."""
        cases = [self.wanted, *([] if self.wanted.lowered is None else [self.wanted.lowered])]
        return sum(WORD * len(case.words) + FORM * len(case.forms) for case in cases) + 16 * len(
            self.sentences.hashes
        )

    @classmethod
    def joined(cls, parts: Sequence[Questions]) -> Questions:
        """What several blocks ask."""
        return cls(
            Wanted.joined([part.wanted for part in parts]),
            KnownSentences.joined([part.sentences for part in parts]),
        )


def want(reference: object, asking: Asking) -> Questions:
    """What the text and the gold and predicted mentions of a block of the test set ask of training data."""
    block = asking.source.open(reference)
    several = [block.gold.mentions, *block.systems.values()]
    asked = wanted(block.corpus, several, lowercase=asking.lowercase)
    return Questions(asked, KnownSentences.of([block.corpus]))


class TrainingAnswer(Struct, frozen=True, eq=False):
    """What training blocks answer; answers of several can be joined."""

    lexicon: LexiconSums
    known: KnownSentences
    sums: Mapping[int, BlockSums]  # of each file

    @classmethod
    def joined(cls, parts: Sequence[TrainingAnswer]) -> TrainingAnswer:
        """What several blocks answer."""
        lexicon = LexiconSums.joined([part.lexicon for part in parts])
        known = KnownSentences.joined([part.known for part in parts])
        return cls(lexicon, known, BlockSums.added([part.sums for part in parts]))


class Answering(Struct, frozen=True, eq=False):
    """What `learn` needs beside a training block."""

    source: TrainingSource
    asked: Questions


def learn(reference: object, answering: Answering) -> TrainingAnswer:
    """What one training block knows of what is wanted."""
    file, block = answering.source.read(reference)
    with_text(block)
    return TrainingAnswer(
        LexiconSums.of(Lexicon.of([block]), answering.asked.wanted),
        KnownSentences.of([block.corpus]).within(answering.asked.sentences),
        {file: BlockSums.of(block)},
    )


class LexiconPart(Struct, frozen=True, eq=False):
    """What training data know of what some consecutive blocks ask."""

    blocks: int
    lexicon: SummedLexicon
    known: KnownSentences


def learnt(
    source: BlockSource,
    train: TrainingPlace | None,
    *,
    lowercase: bool,
    engine: Engine,
    bound: int | None = None,
) -> TrainingFacts:
    """Ask all blocks of the test set what they want to know, and all training blocks for the answers.

    Answers that would take more than `bound` bytes are given in parts, each to as many blocks as share so
    many: training data are then read once for every part.
    """
    if train is None:
        return TrainingFacts()
    asking = engine.map(want, source.references(), Asking(source, lowercase))
    parts: list[LexiconPart] = []
    sums: Mapping[int, BlockSums] = {}
    for blocks, asked in _together(asking, bound):
        total = train.asked(learn, Answering(train.source, asked))
        parts.append(LexiconPart(blocks, SummedLexicon(asked.wanted, total.lexicon), total.known))
        sums = total.sums
    first, entries = parts[0], train.source.entries(sums)
    return TrainingFacts(first.lexicon, first.known, entries, tuple(parts) if len(parts) > 1 else ())


def _together(asking: Iterable[Questions], bound: int | None) -> Iterator[tuple[int, Questions]]:
    """What consecutive blocks ask together, as many blocks as keep the answers within `bound` bytes."""
    waiting: Joining[Questions] = Joining(Questions.joined)
    blocks = most = 0
    for one in asking:
        most += one.size
        if bound is not None and blocks and most > bound:
            before = waiting.total()
            both = Questions.joined([before, one])  # what blocks have in common counts once
            waiting = Joining(Questions.joined)
            if both.size > bound:
                yield blocks, before
                blocks = 0
            else:
                one = both
            most = one.size
        waiting.add(one)
        blocks += 1
    yield blocks, waiting.total()
