"""Annotators whose tags or spans are columns of a Spark frame; every annotator has all rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.agreement._shared import Presence, Shared, block_of, check_parties
from spanwise.columns import Ints, ints, offsets
from spanwise.corpus import Reading, Unit
from spanwise.engines import Engine
from spanwise.engines.spark import FrameEngine, SparkEngine
from spanwise.errors import ChoiceError
from spanwise.evaluation.choices import Choices, check_keywords
from spanwise.evaluation.dataset import resolve_frame
from spanwise.evaluation.frames import PATH, FrameBlocks, FrameColumns, FramePiece, open_frame
from spanwise.settings import default_value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ONLY = "the only document"  # name of an added column that keeps all rows in one block


class FrameDocuments(Struct, frozen=True, eq=False):
    """A `SharedSource` whose documents are rows of a frame, in blocks of whole documents.

    Without a column of documents, all rows form a single document, which may span several blocks.
    """

    blocks: FrameBlocks
    presence: Presence
    stretched: bool  # whether all rows are one document
    documents: Ints  # the first document of each block, and the end
    positions: Ints  # tokens before each block

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return self.blocks.sums.sentences

    @property
    def cut_document(self) -> bool:
        """Whether the only document is split between several blocks."""
        return self.stretched and self.blocks.blocks > 1

    def references(self) -> Iterator[FramePiece]:
        """References to all blocks, by number."""
        return map(FramePiece, range(self.blocks.blocks))

    def open(self, reference: FramePiece) -> Shared:
        """Open a block."""
        block, at = self.blocks.open(reference), reference.number
        corpus = block.gold.corpus
        document, numbers = corpus.document_of_sentence, ints(np.arange(*self.documents[at : at + 2]))
        if self.blocks.columns.sentence is None:
            corpus = replace(corpus, ids=None)
        if self.stretched or document is None:
            document, numbers = ints(np.zeros(len(corpus))), ints([0])
            corpus = replace(corpus, documents=None, document_ids=None)
        return block_of(
            corpus, document, [block.gold.mentions, *block.systems.values()], self.presence, numbers,
            sentence=int(self.blocks.begins[at]), position=int(self.positions[at]),
        )  # fmt: skip


class ColumnsLook(Struct, frozen=True, eq=False):
    """Facts about the documents of a block, and about how its columns were read."""

    names: tuple[str, ...]  # of documents
    tokens: int
    unit: Unit
    readings: tuple[Reading, ...]  # of each column


def frame_documents(
    frame: DataFrame,
    annotators: object,
    systems: object,
    named: Mapping[str, object],
    engine: Engine | None,
    *,
    whole: bool,
) -> tuple[FrameDocuments, Sequence[Reading], FrameEngine]:
    """Divide a frame into blocks held by the executors; also return how each column was read, and the engine.

    Args:
        frame: one row per sentence.
        annotators: the column of each annotator.
        systems: the column of each system.
        named: the columns of tokens, documents and sentences, and keywords of `spanwise.read`.
        engine: the engine given by the caller, if any.
        whole: whether a single document must stay in one block.
    """
    first, columns = _columns(annotators, systems)
    check_parties(first, [], [])
    reading = dict(named)
    gold, others = columns[first[0]], {name: columns[name] for name in columns if name != first[0]}
    frame, _, named_columns = resolve_frame(frame, gold, others, reading)
    assert named_columns is not None
    named_columns = replace(named_columns, annotators=tuple(first[1:]))
    check_keywords(reading)
    stretched = named_columns.document is None
    if stretched and whole:
        frame, named_columns = _one_document(frame, named_columns)
    partitions = engine.partitions if isinstance(engine, SparkEngine) else None
    choices = Choices.plain(attributes="none", reading=reading)
    blocks, runner = open_frame(frame, named_columns, choices, name="frame", partitions=partitions)
    try:
        blocks.read_labels.check(choices.reading)
        looks = list(runner.map(_look, map(FramePiece, range(blocks.blocks)), blocks))
    except BaseException:
        runner.packed.free()
        raise
    shown = [f"{PATH} {column}" for column in (named_columns.gold, *named_columns.systems.values())]
    names = ("1",) if stretched else tuple(name for look in looks for name in look.names)
    presence = Presence(
        annotators=tuple(first),
        systems=tuple(name for name in columns if name not in first),
        documents=names,
        present=np.ones((len(first), len(names)), dtype=bool),
        system_present=np.ones((len(columns) - len(first), len(names)), dtype=bool),
        marked=not stretched,
        unit=looks[0].unit,
    )
    shared = FrameDocuments(
        blocks, presence, stretched, offsets([len(look.names) for look in looks]),
        offsets([look.tokens for look in looks]),
    )  # fmt: skip
    readings = [
        _reading(blocks, layer, path, own[0].joined(own[1:]))
        for layer, path, own in zip(
            ["", *named_columns.systems],
            shown,
            zip(*(look.readings for look in looks), strict=True),
            strict=True,
        )
    ]
    return shared, readings, runner


def _columns(annotators: object, systems: object) -> tuple[list[str], dict[str, object]]:
    """The names of the annotators, and the columns of all annotators and systems."""
    predicted = {} if systems is None else systems
    if not isinstance(annotators, Mapping) or not isinstance(predicted, Mapping) or not annotators:
        raise ChoiceError(
            "a Spark frame needs the column of every annotator.\n"
            'Write agree(frame, annotators={"first": "tags_1", "second": "tags_2"}, tokens="tokens").'
        )
    first, column = next(iter(annotators.items()))
    if not isinstance(column, str):
        raise ChoiceError(
            f"the first annotator, {first!r}, is not a column of the frame.\n"
            "Name the column; others may be frames of their own, with a column of the same name."
        )
    duplicates = [name for name in predicted if name in annotators]
    if duplicates:
        raise ChoiceError(
            f"an annotator and a system are both called {duplicates[0]!r}.\nGive one of them another name."
        )
    return list(map(str, annotators)), {
        str(name): column for name, column in {**annotators, **predicted}.items()
    }


def _one_document(frame: DataFrame, columns: FrameColumns) -> tuple[DataFrame, FrameColumns]:
    """Mark all rows as one document."""
    from pyspark.sql import functions

    return frame.withColumn(ONLY, functions.lit("1")), replace(columns, document=ONLY)


def _look(reference: FramePiece, blocks: FrameBlocks) -> ColumnsLook:
    block = blocks.open(reference)
    corpus = block.gold.corpus
    return ColumnsLook(
        names=tuple(map(str, corpus.document_ids or ())),
        tokens=int(corpus.sentences[-1]),
        unit=corpus.unit,
        readings=(
            block.gold.reading,
            *(annotation.reading for annotation in block.predicted.values()),
        ),
    )


def _reading(blocks: FrameBlocks, layer: str, path: str, read: Reading) -> Reading:
    """How a column was read."""
    recognised = blocks.recognised.get(layer)
    return Reading(
        path=path,
        sha256=f"{blocks.sums.digest:064x}",
        format="arrow",
        scheme=None if recognised is None else recognised.scheme,
        repair=blocks.reading.get("repair", default_value("repair")),
        repairs=read.repairs,
        merged=read.merged,
        dropped=read.dropped,
        labels=read.labels,
    )
