"""Sources of blocks: test data in one block or many, and training data, in which test words are looked up."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np
from msgspec import UNSET, Struct
from msgspec.structs import replace

from spanwise.alignment import How, align
from spanwise.attributes import Lexicon, LexiconQueries, LexiconSums, SummedLexicon, collect_lexicon_queries
from spanwise.columns import Ints, ints
from spanwise.composition import SentenceHashes, content_of, input_entry, reading_entry
from spanwise.corpus import Annotation, Corpus, with_one_vocabulary
from spanwise.document import Alignment, Input, given
from spanwise.engines import Addable, Engine, Joining, joined, together
from spanwise.errors import ChoiceError, InputError, at, many
from spanwise.evaluation.choices import Block, Choices, Inputs, named_sources, needs, with_text
from spanwise.formats import Cutting, Reader, ReadKeywords, listed_sources, rules_of, stem_of

# Imported lazily: small evaluations don't need it.
if TYPE_CHECKING:
    from spanwise.formats.parts import PartBytes, Parted

# Peak memory of an evaluation, in bytes, per token of a block and per file.
BYTES_PER_TOKEN = 400
LEAST_TOKENS = 10_000
KEPT_SHARE = 4  # a quarter of the memory may hold the rows of files, which are then parsed only once
NO_EXTRAS = ("columns", "fields")  # keywords that ask for extra columns

Shared = TypeVar("Shared")
Of = TypeVar("Of")
Reference: TypeAlias = Any  # a block of a source: whatever `references` yields and `open` or `read` takes
Progress = Callable[[str, int, int], None]  # the step, how much of it is done, and of how much


def do_nothing() -> None:
    """Do nothing: there are no resources to free."""


class BlockSums(Struct, frozen=True):
    """Sums over the blocks of a file, for its entry in the result document."""

    repairs: int
    mentions: int
    labels: frozenset[str]  # as read
    alignment: Alignment | None = None
    paired: str | None = None
    merged: int = 0
    dropped: int = 0
    relabeled: bool = False

    @classmethod
    def of(cls, annotation: Annotation, alignment: Alignment | None = None) -> BlockSums:
        """The sums of one block."""
        mentions, reading = annotation.mentions, annotation.reading
        labels = frozenset(annotation.labels_as_read)
        return cls(
            reading.repairs, len(mentions), labels, alignment, reading.paired, reading.merged,
            reading.dropped, reading.labels is not None,
        )  # fmt: skip

    @classmethod
    def of_block(cls, block: Block) -> dict[str, BlockSums]:
        """The sums of gold, under the key "", and of each system."""
        predicted = {
            name: cls.of(annotation, block.alignment[name]) for name, annotation in block.predicted.items()
        }
        return {"": cls.of(block.gold), **predicted}

    @classmethod
    def added(cls, parts: Sequence[Mapping[Of, BlockSums]]) -> dict[Of, BlockSums]:
        """Add the sums of several blocks, key by key."""
        sums: dict[Of, BlockSums] = {}
        for part in parts:
            for layer, more in part.items():
                sums[layer] = sums[layer] + more if layer in sums else more
        return sums

    def __add__(self, other: BlockSums) -> BlockSums:
        alignments = [report for report in (self.alignment, other.alignment) if report is not None]
        return BlockSums(
            self.repairs + other.repairs,
            self.mentions + other.mentions,
            self.labels | other.labels,
            _added(alignments) if alignments else None,
            self.paired if self.paired == other.paired else "in order",
            self.merged + other.merged,
            self.dropped + other.dropped,
            self.relabeled or other.relabeled,
        )

    def described(self, entry: Input) -> Input:
        """The entry of a file in `inputs`, with what was added up over its blocks."""
        return replace(
            entry,
            alignment=self.alignment,
            paired=self.paired or UNSET,
            merged=self.merged if self.relabeled else UNSET,
            dropped=self.dropped if self.relabeled else UNSET,
        )


def _added(reports: Sequence[Alignment]) -> Alignment:
    """Add the reports of several blocks."""
    crossing = [number for report in reports if (number := given(report.crossing)) is not None]
    return Alignment(
        how=reports[0].how,
        sentences=sum(report.sentences for report in reports),
        changed_sentences=sum(report.changed_sentences for report in reports),
        changed_tokens=sum(report.changed_tokens for report in reports),
        unplaced=sum(report.unplaced for report in reports),
        crossing=sum(crossing) if crossing else UNSET,
    )


class ReadLabels(Struct, frozen=True):
    """The labels of gold and training data, and those of predictions, before any are mapped or left out."""

    others: frozenset[str] = frozenset()
    predicted: frozenset[str] = frozenset()

    @classmethod
    def of(cls, others: Iterable[Iterable[str]], predicted: Iterable[Iterable[str]] = ()) -> ReadLabels:
        """The labels of several sources."""
        return cls(frozenset().union(*others), frozenset().union(*predicted))

    def __or__(self, other: ReadLabels) -> ReadLabels:
        return ReadLabels(self.others | other.others, self.predicted | other.predicted)

    def check(self, reading: ReadKeywords) -> None:
        """Refuse rules on labels that name a label which no source has."""
        rules_of(reading).check(self.others, self.predicted)


class BlockSource(Protocol):
    """Gold and the predictions of every system, in blocks; the source and its references can be pickled."""

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
    @property
    def read_labels(self) -> ReadLabels: ...
    def references(self, *, gold_only: bool = False) -> Iterator[Reference]: ...
    def open(self, reference: Reference, *, gold_only: bool = False) -> Block: ...
    def entries(self, sums: Mapping[str, BlockSums]) -> list[Input]: ...


class OneBlock(Struct, frozen=True, eq=False):
    """A source of a single block, which is in memory."""

    inputs: Inputs

    @property
    def name(self) -> str:
        """The name of the dataset."""
        return self.inputs.name

    @property
    def path(self) -> str:
        """The name of the gold source in error messages."""
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
        """The number of documents, if they are marked."""
        documents = self.inputs.corpus.documents
        return None if documents is None else len(documents) - 1

    @property
    def read_labels(self) -> ReadLabels:
        """The labels as read."""
        predicted = self.inputs.predicted.values()
        return ReadLabels.of(
            [self.inputs.gold.labels_as_read], [annotation.labels_as_read for annotation in predicted]
        )

    def references(self, *, gold_only: bool = False) -> Iterator[Block]:
        """Yield the block itself."""
        yield self.inputs

    def open(self, reference: Block, *, gold_only: bool = False) -> Block:
        """Return the block, which is already open."""
        return reference

    def entries(self, sums: Mapping[str, BlockSums]) -> list[Input]:
        """The entries of gold and predictions in `inputs` of the document."""
        return [entry for entry in self.inputs.entries if entry.role != "train"]


class FileLayer(Struct, frozen=True):
    """One annotation layer of one file: the number of the file, and the name of the layer."""

    file: int
    layer: str = "only"


class ManyBlocks(Struct, frozen=True, eq=False):
    """A source of many blocks: files cut at the same sentences. A file may hold both gold and predictions."""

    name: str
    files: tuple[Parted, ...]
    gold: FileLayer
    layers: Mapping[str, FileLayer]  # of each system
    how: How

    @property
    def path(self) -> str:
        """The path of the gold file."""
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
        """The number of documents, if they are marked."""
        documents = self.files[self.gold.file].documents
        return None if documents is None else len(documents) - 1

    @property
    def read_labels(self) -> ReadLabels:
        """The labels as read."""
        return ReadLabels.of(
            [self.files[self.gold.file].labels[self.gold.layer]],
            [self.files[layer.file].labels[layer.layer] for layer in self.layers.values()],
        )

    def references(self, *, gold_only: bool = False) -> Iterator[dict[int, PartBytes]]:
        """Yield the pieces of files that make up each block, by the number of the file."""
        from spanwise.formats.parts import pieces

        needed = (
            {self.gold.file}
            if gold_only
            else {self.gold.file, *(layer.file for layer in self.layers.values())}
        )
        numbers = sorted(needed)
        streams = [pieces(self.files[number]) for number in numbers]
        for block in zip(*streams, strict=True):
            yield dict(zip(numbers, block, strict=True))

    def open(self, reference: Mapping[int, PartBytes], *, gold_only: bool = False) -> Block:
        """Read the pieces of a block, and align the predictions to the gold text."""
        layers = self.layers_of(reference, gold_only=gold_only)
        return block_of(layers.pop(""), layers, self.how)

    def layers_of(
        self, reference: Mapping[int, PartBytes], *, gold_only: bool = False
    ) -> dict[str, Annotation]:
        """Read the pieces of a block: gold, under the key "", and the predictions of every system."""
        from spanwise.formats.parts import read_piece

        annotations = {number: read_piece(self.files[number], piece) for number, piece in reference.items()}
        layers = {"": self.gold} if gold_only else {"": self.gold, **self.layers}
        return {name: annotations[layer.file][layer.layer] for name, layer in layers.items()}

    def only(self, systems: Mapping[str, str]) -> ManyBlocks:
        """Keep only some systems, given as old names by new ones; the files of the others stay closed."""
        return replace(self, layers={name: self.layers[old] for name, old in systems.items()})

    def entries(self, sums: Mapping[str, BlockSums]) -> list[Input]:
        """The entries of gold and predictions in `inputs` of the document, as for files read whole."""
        gold = entry_of("gold", self.files[self.gold.file], self.gold.layer, sums[""])
        return [
            gold,
            *(
                replace(entry_of("predicted", self.files[layer.file], layer.layer, sums[name]), system=name)
                for name, layer in self.layers.items()
            ),
        ]


def block_of(gold: Annotation, predicted: Mapping[str, Annotation], how: How) -> Block:
    """Combine gold and predictions that were read separately: align them, and give them one vocabulary."""
    if not predicted:
        return Block(gold, {}, {}, {})
    corpora = with_one_vocabulary([gold.corpus, *(annotation.corpus for annotation in predicted.values())])
    gold = replace(gold, corpus=corpora[0])
    predicted = {
        name: replace(annotation, corpus=corpus)
        for (name, annotation), corpus in zip(predicted.items(), corpora[1:], strict=True)
    }
    aligned = {name: align(gold, annotation, how=how, parts=True) for name, annotation in predicted.items()}
    return Block(
        gold,
        {name: alignment.mentions for name, alignment in aligned.items()},
        {name: alignment.predicted for name, alignment in aligned.items()},
        {name: alignment.report for name, alignment in aligned.items()},
    )


class LayerParts(Struct, frozen=True, eq=False):
    """The annotations of one layer, part by part; every iteration reads them again."""

    source: Parted
    layer: str

    def __iter__(self) -> Iterator[Annotation]:
        from spanwise.formats.parts import InMemorySource, pieces, read_piece

        if isinstance(self.source, InMemorySource):
            yield self.source.layers[self.layer]
            return
        for piece in pieces(self.source):
            yield read_piece(self.source, piece)[self.layer]


def entry_of(role: str, source: Parted, layer: str, sums: BlockSums) -> Input:
    """The entry of a layer of a file in `inputs` of the document."""
    from spanwise.formats.parts import reading_of

    reading = reading_of(source, layer, repairs=sums.repairs, labels=sorted(sums.labels))
    if role == "gold" and reading.sha256 is None:
        reading = replace(reading, sha256=content_of(LayerParts(source, layer)))
    entry = reading_entry(
        role, reading, sentences=source.sentences, tokens=source.tokens, mentions=sums.mentions
    )
    return sums.described(entry)


def many_blocks(
    gold: object,
    systems: object,
    choices: Choices,
    *,
    name: str | None,
    memory: int,
    keep: bool = True,
    progress: Progress,
    predicted_reading: ReadKeywords | None = None,
) -> ManyBlocks:
    """Survey all files, and cut them into blocks whose evaluation needs about `memory` bytes.

    With `keep`, as many rows as fit stay in memory, so that they are parsed only once. Only the tags
    of predictions are read, unless `predicted_reading` asks for more columns.
    """
    from spanwise.formats.parts import KeptRows, Survey, paired_whole, reading_of

    merged = systems is None
    if not merged:
        named = named_sources(systems)
    elif isinstance(gold, str | os.PathLike):
        named = {stem_of(gold): gold}
    else:
        raise ChoiceError(
            "only one file with gold and predicted tags can be evaluated in parts.\n"
            "Give one, or leave memory out."
        )
    choices.check_systems(list(named))
    total = 1 if merged else 1 + len(named)
    progress("read", 0, total)
    tokens = max(LEAST_TOKENS, memory // (BYTES_PER_TOKEN * (1 + len(named))))
    rows = KeptRows(memory // KEPT_SHARE) if keep else None
    held = memory if keep else 0
    cutting = Cutting(tokens=tokens, merged=merged, keep=rows)
    first = _cut_into_parts(gold, choices.reading, cutting, hold_up_to=held)
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
        "predicted": True,
        **(predicted_reading or {}),
    }
    sentences = [cut.sentence for cut in first.cuts[1:-1]]
    others = together(
        [
            partial(
                _cut_into_parts,
                source,
                reading,
                Cutting(sentences=sentences, keep=KeptRows(room, like=kept) if keep else None),
                hold_up_to=held,
            )
            for source in named.values()
        ]
    )
    progress("read", total, total)
    for file in others:
        if file.sentences != first.sentences:
            raise InputError(
                at(
                    file.path,
                    None,
                    f"there {'is' if file.sentences == 1 else 'are'} {many(file.sentences, 'sentence')}, but "
                    f"{first.sentences:,} in the gold file ({first.path}).\n"
                    "Give predictions for the same sentences.",
                )
            )
    others = [paired_whole(first, file, choices.align) for file in others]
    layers = {system: FileLayer(index) for index, system in enumerate(named, start=1)}
    return ManyBlocks(title, (first, *others), FileLayer(0), layers, choices.align)


def _cut_into_parts(source: Any, reading: ReadKeywords, cutting: Cutting, *, hold_up_to: int = 0) -> Parted:
    """Cut a source into parts: survey it if its format allows that, else read it whole and slice it."""
    from spanwise.formats.parts import InMemorySource

    survey = _surveyed(source, reading, cutting, hold_up_to=hold_up_to)
    if survey is not None:
        return survey
    reader = Reader(**reading)
    layers = reader.read_layers(source) if cutting.merged else {"only": reader.read(source)}
    return InMemorySource.of(layers, tokens=cutting.tokens, sentences=cutting.sentences)


def _surveyed(source: Any, reading: ReadKeywords, cutting: Cutting, *, hold_up_to: int) -> Parted | None:
    """Survey a source in one pass; None if it is better held in memory, or has to be.

    Formats whose rows a survey cannot keep are read again for every step, so a source in such a format is
    held if it needs at most `hold_up_to` bytes.
    """
    from spanwise.formats.parts import streamed_format, surveyed

    streamed = streamed_format(source, reading)
    if streamed is None or not (streamed.keeps_rows or needs(source) > hold_up_to):
        return None
    return surveyed(source, reading, cutting)


WORD, FORM = 30, 18  # about how many bytes a word and a token sequence take in a lexicon
TRAINING_TOKENS = 1 << 19  # per training block


class TrainingFacts(Struct, frozen=True, eq=False):
    """What is known from training data: their lexicon, their sentences, and the entries of their files."""

    lexicon: Lexicon | SummedLexicon | None = None
    training_sentences: SentenceHashes | None = None
    entries: Sequence[Input] = ()
    parts: tuple[LexiconPart, ...] = ()  # if the whole is too large to be sent to every block
    labels: frozenset[str] = frozenset()  # as read

    @classmethod
    def of(cls, train: Sequence[Annotation]) -> TrainingFacts:
        """The facts of training data in memory."""
        if not train:
            return cls()
        return cls(
            Lexicon.of(train),
            SentenceHashes.of(annotation.corpus for annotation in train),
            [input_entry("train", annotation) for annotation in train],
            labels=frozenset().union(*(annotation.labels_as_read for annotation in train)),
        )


class TrainingSource(Protocol):
    """Training data in blocks; the source and its references can be pickled."""

    @property
    def sources(self) -> int:
        """The number of files, folders, patterns or frames that were given."""
        ...

    @property
    def marked(self) -> bool:
        """Whether each of them marks at least two documents."""
        ...

    def references(self) -> Iterator[Reference]: ...
    def read(self, reference: Reference) -> tuple[int, Annotation]: ...
    def first(self, reference: Reference) -> int:
        """The number of a block's first sentence, counted over all sources."""
        ...

    def units(self, reference: Reference, corpus: Corpus) -> Ints:
        """The unit of each sentence of a block: its document if documents are `marked`, else itself.

        A unit is identified by the number of its first sentence, counted over all sources.
        """
        ...

    def entries(self, sums: Mapping[int, BlockSums]) -> list[Input]: ...


def units_of(first: int, sentences: int, documents: Ints | None) -> Ints:
    """The number of each sentence from `first` on, or of the first sentence of its document.

    `documents` holds the numbers of the sentences at which documents begin.

    Examples:
        >>> units_of(5, 4, None).tolist(), units_of(5, 4, ints([0, 4, 7])).tolist()
        ([5, 6, 7, 8], [4, 4, 7, 7])
    """
    number = ints(first + np.arange(sentences))
    return number if documents is None else documents[np.searchsorted(documents, number, "right") - 1]


class TrainingData(Struct, frozen=True, eq=False):
    """Training data in blocks, and the engine that runs functions where the data are."""

    source: TrainingSource
    engine: Engine
    free: Callable[[], None] = do_nothing  # lets executors drop the blocks

    def map_and_join(self, function: Callable[[Reference, Shared], Addable], shared: Shared) -> Addable:
        """Run a function over all blocks and join the results."""
        return joined(self.engine.map(function, self.source.references(), shared))


class TrainingPiece(Struct, frozen=True, eq=False):
    """One block of a training file."""

    file: int
    piece: PartBytes


class TrainingFiles(Struct, frozen=True, eq=False):
    """Training files in parts, which may be cut anywhere, as each sentence is counted independently."""

    files: tuple[Parted, ...]

    @classmethod
    def of(
        cls, train: object, reading: ReadKeywords, *, keep: bool, hold_up_to: int = 0, documents: bool = False
    ) -> TrainingFiles:
        """Survey all files; with `keep` their rows stay in memory, so that they are parsed only once.

        Files of records are held in memory if they need at most `hold_up_to` bytes. Document boundaries are
        read only with `documents`.
        """
        from spanwise.formats.parts import InMemorySource, KeptRows

        rest = {key: value for key, value in reading.items() if key not in NO_EXTRAS}
        if not documents:
            rest["documents"] = "none"
        files: list[Parted] = []
        for source in listed_sources(train):
            cutting = Cutting(tokens=TRAINING_TOKENS, keep=KeptRows(sys.maxsize) if keep else None)
            survey = _surveyed(source, rest, cutting, hold_up_to=hold_up_to)
            if survey is not None and survey.tokens:
                files.append(survey)
            else:
                whole = Reader(**reading).read(source, extras=False)
                files.append(InMemorySource.of({"only": whole}, tokens=TRAINING_TOKENS))
        return cls(tuple(files))

    @classmethod
    def in_memory(cls, train: Sequence[Annotation]) -> TrainingFiles:
        """Training data that are already in memory."""
        from spanwise.formats.parts import InMemorySource

        return cls(tuple(InMemorySource.of({"only": annotation}) for annotation in train))

    @property
    def sources(self) -> int:
        """The number of files."""
        return len(self.files)

    @property
    def marked(self) -> bool:
        """Whether every file marks at least two documents."""
        return all(file.documents is not None and len(file.documents) > 2 for file in self.files)

    def references(self) -> Iterator[TrainingPiece]:
        """Yield the parts of all files."""
        from spanwise.formats.parts import pieces

        for number, file in enumerate(self.files):
            for piece in pieces(file):
                yield TrainingPiece(number, piece)

    def read(self, reference: TrainingPiece) -> tuple[int, Annotation]:
        """Read a part; return the number of its file, and its annotation."""
        from spanwise.formats.parts import read_piece

        return reference.file, read_piece(self.files[reference.file], reference.piece)["only"]

    def first(self, reference: TrainingPiece) -> int:
        """The number of a part's first sentence, counted over all files."""
        own = self.files[reference.file].cuts[reference.piece.number].sentence
        return own + sum(file.sentences for file in self.files[: reference.file])

    def units(self, reference: TrainingPiece, corpus: Corpus) -> Ints:
        """The unit of each sentence of a part, by the number of its first sentence."""
        first, file = self.first(reference), self.files[reference.file]
        before = first - file.cuts[reference.piece.number].sentence
        documents = before + file.documents if self.marked and file.documents is not None else None
        return units_of(first, len(corpus), documents)

    def entries(self, sums: Mapping[int, BlockSums]) -> list[Input]:
        """The entries of the files in `inputs` of the document."""
        return [entry_of("train", file, "only", sums[number]) for number, file in enumerate(self.files)]


class QueryContext(Struct, frozen=True, eq=False):
    """What `collect_queries` needs besides a block."""

    source: BlockSource
    lowercase: bool


class TrainingQueries(Struct, frozen=True, eq=False):
    """What test blocks look up in training data: words, token sequences and whole sentences."""

    lexicon: LexiconQueries
    sentences: SentenceHashes

    @property
    def size(self) -> int:
        """About how many bytes the answers to these questions take."""
        cases = [self.lexicon, *([] if self.lexicon.lowered is None else [self.lexicon.lowered])]
        return sum(WORD * len(case.words) + FORM * len(case.forms) for case in cases) + 16 * len(
            self.sentences.hashes
        )

    @classmethod
    def joined(cls, parts: Sequence[TrainingQueries]) -> TrainingQueries:
        """Join the questions of several blocks."""
        return cls(
            LexiconQueries.joined([part.lexicon for part in parts]),
            SentenceHashes.joined([part.sentences for part in parts]),
        )


def collect_queries(reference: object, shared: QueryContext) -> TrainingQueries:
    """Collect the words, token sequences and sentences of a test block to look up in training data."""
    block = shared.source.open(reference)
    layers = [block.gold.mentions, *block.systems.values()]
    lookups = collect_lexicon_queries(block.corpus, layers, lowercase=shared.lowercase)
    return TrainingQueries(lookups, SentenceHashes.of([block.corpus]))


class TrainingAnswer(Struct, frozen=True, eq=False):
    """The answers of training blocks to `TrainingQueries`; those of several blocks can be joined."""

    lexicon: LexiconSums
    sentences: SentenceHashes
    sums: Mapping[int, BlockSums]  # by file

    @classmethod
    def joined(cls, parts: Sequence[TrainingAnswer]) -> TrainingAnswer:
        """Join the answers of several blocks."""
        lexicon = LexiconSums.joined([part.lexicon for part in parts])
        sentences = SentenceHashes.joined([part.sentences for part in parts])
        return cls(lexicon, sentences, BlockSums.added([part.sums for part in parts]))


class LearnContext(Struct, frozen=True, eq=False):
    """What `learn` needs besides a training block."""

    source: TrainingSource
    queries: TrainingQueries


def learn(reference: object, shared: LearnContext) -> TrainingAnswer:
    """Answer the questions of the test set from one training block."""
    file, block = shared.source.read(reference)
    with_text(block)
    return TrainingAnswer(
        LexiconSums.of(Lexicon.of([block]), shared.queries.lexicon),
        SentenceHashes.of([block.corpus]).within(shared.queries.sentences),
        {file: BlockSums.of(block)},
    )


class LexiconPart(Struct, frozen=True, eq=False):
    """The answers of training data to some consecutive test blocks."""

    blocks: int
    lexicon: SummedLexicon
    training_sentences: SentenceHashes


def learn_facts(
    source: BlockSource,
    train: TrainingData | None,
    *,
    lowercase: bool,
    engine: Engine,
    bound: int | None = None,
) -> TrainingFacts:
    """Collect the questions of all test blocks, and answer them from all training blocks.

    Answers that would take more than `bound` bytes are split into parts, each for as many consecutive test
    blocks as fit; training data are then read once per part.
    """
    if train is None:
        return TrainingFacts()
    asking = engine.map(collect_queries, source.references(), QueryContext(source, lowercase))
    parts: list[LexiconPart] = []
    sums: Mapping[int, BlockSums] = {}
    for blocks, questions in _together(asking, bound):
        total = train.map_and_join(learn, LearnContext(train.source, questions))
        parts.append(LexiconPart(blocks, SummedLexicon(questions.lexicon, total.lexicon), total.sentences))
        sums = total.sums
    first, entries = parts[0], train.source.entries(sums)
    return TrainingFacts(
        first.lexicon, first.training_sentences, entries, tuple(parts) if len(parts) > 1 else (),
        frozenset().union(*(own.labels for own in sums.values())),
    )  # fmt: skip


def _together(asking: Iterable[TrainingQueries], bound: int | None) -> Iterator[tuple[int, TrainingQueries]]:
    """Join the questions of consecutive blocks, as many as keep the answers within `bound` bytes."""
    waiting: Joining[TrainingQueries] = Joining(TrainingQueries.joined)
    blocks = most = 0
    for questions in asking:
        most += questions.size
        if bound is not None and blocks and most > bound:
            before = waiting.total()
            combined = TrainingQueries.joined([before, questions])  # what blocks have in common counts once
            waiting = Joining(TrainingQueries.joined)
            if combined.size > bound:
                yield blocks, before
                blocks = 0
            else:
                questions = combined
            most = questions.size
        waiting.add(questions)
        blocks += 1
    yield blocks, waiting.total()
