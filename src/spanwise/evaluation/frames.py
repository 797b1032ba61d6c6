"""Spark frames as a source of blocks: columns of tokens, gold and predictions, one row per sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.alignment import How
from spanwise.columns import Ints, ints
from spanwise.composition import reading_entry
from spanwise.corpus import Annotation, Corpus, Mentions, Reading, Source
from spanwise.document import Input
from spanwise.engines.spark import FrameEngine, Packed
from spanwise.errors import ChoiceError, InputError, at, many, unknown
from spanwise.evaluation.blocks import BlockSums, ReadLabels, block_of, units_of
from spanwise.evaluation.choices import Block, Choices
from spanwise.formats import Reader, ReadKeywords, label_notes
from spanwise.formats.parts import numbers
from spanwise.hashing import sha256
from spanwise.schemes import Recognised, Tags, recognise_situations, situations
from spanwise.settings import default_value

if TYPE_CHECKING:
    from pyarrow import Table
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

PATH = "<Spark frame>"
_EVIDENCE = "a Spark frame"


class FrameColumns(Struct, frozen=True):
    """The names of the columns of a frame, by what they hold."""

    gold: str
    systems: Mapping[str, str] = {}
    tokens: str = "tokens"
    document: str | None = None
    sentence: str | None = None
    annotators: tuple[str, ...] = ()  # those of the systems whose annotations are not predictions

    def is_predicted(self, layer: str) -> bool:
        """Whether a layer holds predictions; that of gold is called ""."""
        return layer != "" and layer not in self.annotators

    def of_training(self) -> FrameColumns:
        """The columns of training data: the same without predictions."""
        return replace(self, systems={})

    @property
    def layers(self) -> dict[str, str]:
        """The column of each layer in a packed block: of gold, under the key "", and of every system."""
        return {name: f"layer {number}" for number, name in enumerate(["", *self.systems])}


def is_frame(value: object) -> bool:
    """Whether this is a Spark frame; does not import Spark."""
    kind = type(value)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


class Sums(Struct, frozen=True, eq=False):
    """What a first look at blocks adds up: sizes, hashes of rows, and the situations of tags by layer."""

    sentences: int
    tokens: int
    documents: int
    digest: int
    situations: Mapping[str, Ints]
    labels: Mapping[str, frozenset[str]]  # of each layer, as read

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.sentences + other.sentences,
            self.tokens + other.tokens,
            self.documents + other.documents,
            (self.digest + other.digest) % (1 << 256),  # the same in any order
            {name: ints(situation + other.situations[name]) for name, situation in self.situations.items()},
            {name: labels | other.labels[name] for name, labels in self.labels.items()},
        )


class FramePiece(Struct, frozen=True, eq=False):
    """A block of a frame: its number, and its data once they are loaded."""

    number: int
    data: bytes | None = None

    def with_data(self, data: bytes) -> FramePiece:
        """The same block with its data."""
        return replace(self, data=data)


class FrameBlocks(Struct, frozen=True, eq=False):
    """A frame as a `BlockSource`, whose data stay with the executors, except for the first block."""

    name: str
    columns: FrameColumns
    reading: ReadKeywords
    how: How
    begins: Sequence[int]  # the first sentence of every block
    sums: Sums
    recognised: Mapping[str, Recognised]
    first: bytes

    @property
    def path(self) -> str:
        """The name of the frame in error messages."""
        return PATH

    @property
    def systems(self) -> Sequence[str]:
        """The names of the systems."""
        return list(self.columns.systems)

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return len(self.begins)

    @property
    def documents(self) -> int | None:
        """The number of documents, if a column names them."""
        return self.sums.documents if self.columns.document else None

    @property
    def read_labels(self) -> ReadLabels:
        """The labels as read."""
        labels, columns = self.sums.labels, self.columns
        predicted = [own for name, own in labels.items() if columns.is_predicted(name)]
        return ReadLabels.of(
            [own for name, own in labels.items() if not columns.is_predicted(name)], predicted
        )

    def references(self, *, gold_only: bool = False) -> Iterator[FramePiece]:
        """Yield the blocks by number, the first one with its data."""
        for number in range(self.blocks):
            yield FramePiece(number, self.first if number == 0 else None)

    def open(self, reference: FramePiece, *, gold_only: bool = False) -> Block:
        """Read the layers of a block, and align predictions to the gold text."""
        table = table_of(reference.data)
        wanted = [""] if gold_only else ["", *self.columns.systems]
        layers = {name: self._layer(table, name, self.begins[reference.number]) for name in wanted}
        return block_of(layers.pop(""), layers, self.how)

    def _layer(self, table: Table, name: str, begin: int) -> Annotation:
        scheme = {"scheme": self.recognised[name].scheme} if name in self.recognised else {}
        reading = {**self.reading, **scheme, "predicted": self.columns.is_predicted(name)}
        annotation = _read(table, self.columns.layers[name], reading)
        corpus = replace(annotation.corpus, source=Source(PATH))
        if corpus.ids is None:
            corpus = replace(corpus, ids=numbers(begin, len(corpus)))
        return replace(annotation, corpus=corpus)

    def entries(self, sums: Mapping[str, BlockSums]) -> list[Input]:
        """The entries of gold and predictions in `inputs` of the document."""
        rows = []
        for name, column in {"": self.columns.gold, **self.columns.systems}.items():
            role = "predicted" if name else "gold"
            entry = frame_entry(role, column, self, name, sums[name])
            rows.append(replace(sums[name].described(entry), system=name) if name else entry)
        return rows


def frame_entry(role: str, column: str, frame: FrameBlocks, layer: str, sums: BlockSums) -> Input:
    """The entry of a column of a frame in `inputs` of the document."""
    recognised = frame.recognised.get(layer)
    declared = frame.reading.get("scheme")
    words = recognised.evidence if recognised else "spans"
    reading = Reading(
        path=f"{PATH} {column}",
        sha256=f"{frame.sums.digest:064x}" if role == "gold" else None,
        format="arrow",
        scheme=recognised.scheme if recognised else None,
        evidence=f"{_EVIDENCE}; {f'{declared}, as declared' if declared else words}",
        repair=frame.reading.get("repair", default_value("repair")),
        repairs=sums.repairs,
        merged=sums.merged,
        dropped=sums.dropped,
        labels=tuple(sorted(sums.labels)) if sums.relabeled else None,
        notes=tuple(label_notes(Mentions.of([], labels=sorted(sums.labels)))),
    )
    size = frame.sums
    return reading_entry(role, reading, sentences=size.sentences, tokens=size.tokens, mentions=sums.mentions)


def open_frame(
    frame: DataFrame, columns: FrameColumns, choices: Choices, *, name: str, partitions: int | None
) -> tuple[FrameBlocks, FrameEngine]:
    """Pack a frame into blocks where its data are, and look at each once, which finds errors in rows."""
    reading = dict(choices.reading)
    packed = Packed.of(_prepared(frame, columns, partitions))
    try:
        parts = packed.each(_first_look, (columns, reading))
    except BaseException:
        packed.free()
        raise
    looks = [look for part in parts for look in part]
    if not looks:
        empty = InputError(at(PATH, None, "the frame has no rows.\nGive at least one sentence."))
        raise empty
    total = looks[0]
    for look in looks[1:]:
        total += look
    recognised: dict[str, Recognised] = {}
    for layer, counts in total.situations.items():
        prefer = recognised[""].scheme if layer and "" in recognised else None
        recognition = recognise_situations(counts, prefer=prefer)
        recognised[layer] = replace(recognition, scheme=reading.get("scheme") or recognition.scheme)
    begins = [0, *accumulate(look.sentences for look in looks)][:-1]
    source = FrameBlocks(name, columns, reading, choices.align, begins, total, recognised, packed.first())
    return source, FrameEngine(packed, [len(part) for part in parts])


class TrainingFrame(Struct, frozen=True, eq=False):
    """A training frame as a `TrainingSource`."""

    frame: FrameBlocks

    @property
    def sources(self) -> int:
        """The number of frames: one."""
        return 1

    @property
    def marked(self) -> bool:
        """Whether a column names at least two documents."""
        return (self.frame.documents or 0) > 1

    def references(self) -> Iterator[FramePiece]:
        """Yield the blocks by number."""
        return self.frame.references()

    def read(self, reference: FramePiece) -> tuple[int, Annotation]:
        """Read one block; return the number of its source, 0, and its annotation."""
        return 0, self.frame.open(reference, gold_only=True).gold

    def first(self, reference: FramePiece) -> int:
        """The number of a block's first sentence in the frame."""
        return self.frame.begins[reference.number]

    def units(self, reference: FramePiece, corpus: Corpus) -> Ints:
        """The unit of each sentence of a block; no document is in two blocks."""
        first = self.first(reference)
        documents = first + corpus.documents if self.marked and corpus.documents is not None else None
        return units_of(first, len(corpus), documents)

    def entries(self, sums: Mapping[int, BlockSums]) -> list[Input]:
        """The entry of the frame in `inputs` of the document."""
        return [frame_entry("train", self.frame.columns.gold, self.frame, "", sums[0])]


def _prepared(frame: DataFrame, columns: FrameColumns, partitions: int | None) -> DataFrame:
    """Select the columns under names of our own, and order the rows so that documents stay together."""
    import logging

    from pyspark.errors import AnalysisException
    from pyspark.sql import functions

    def of(name: str) -> SparkColumn:
        return functions.col(f"`{name}`")

    selected = [of(columns.tokens).alias("tokens"), functions.monotonically_increasing_id().alias("order")]
    selected += [
        of(column).alias(layer)
        for layer, column in zip(
            columns.layers.values(), [columns.gold, *columns.systems.values()], strict=True
        )
    ]
    if columns.document:
        selected.append(of(columns.document).cast("string").alias("document"))
    if columns.sentence:
        selected.append(of(columns.sentence).alias("sentence"))
    logger = logging.getLogger("DataFrameQueryContextLogger")
    disabled, logger.disabled = logger.disabled, True  # a frame that is not read from files is not an error
    try:
        metadata = [functions.col("_metadata.file_path"), functions.col("_metadata.row_index")]
        chosen = frame.select(*selected, metadata[0].alias("file"), metadata[1].alias("row"))
    except AnalysisException:  # the frame is not read from files
        chosen = frame.select(*selected)
    finally:
        logger.disabled = disabled
    keys = [key for key in ("document", "sentence") if getattr(columns, key)]
    if keys:
        arguments = [partitions, keys[0]] if partitions else [keys[0]]
        return chosen.repartitionByRange(*arguments).sortWithinPartitions(*keys, "order")
    return chosen if partitions is None else chosen.coalesce(partitions)


def _first_look(data: bytes, shared: tuple[FrameColumns, ReadKeywords]) -> Sums:
    """Take a first look at a block; the error for a row that cannot be read names the row."""
    columns, reading = shared
    table = table_of(data)
    counts: dict[str, Ints] = {}
    labels: dict[str, frozenset[str]] = {}
    for name, layer in columns.layers.items():
        try:
            labels[name] = frozenset(_read(table, layer, reading).labels_as_read)
        except InputError as error:
            wrong = _row_error(table, layer, reading, error)
            raise wrong from None
        if not _holds_spans(table, layer):
            counts[name] = situations(Tags.of(table.column(layer).to_pylist()))
    rows = table.select([name for name in table.column_names if name not in ("order", "file", "row")])
    digest = sum_of_rows(rows)
    documents = 0
    if columns.document:
        names = np.array(table.column("document").to_pylist(), dtype=object)
        documents = 1 + int((names[1:] != names[:-1]).sum())
    tokens = sum(map(len, table.column("tokens").to_pylist()))
    return Sums(len(table), tokens, documents, digest, counts, labels)


def sum_of_rows(table: Table) -> int:
    """The sum of the hashes of all rows, which does not depend on their order."""
    digests = (
        sha256(repr(list(row.values())).encode("utf-8", "surrogatepass")).digest()
        for row in table.to_pylist()
    )
    return sum(map(int.from_bytes, digests)) % (1 << 256)


def _row_error(table: Table, layer: str, reading: ReadKeywords, error: InputError) -> InputError:
    """The error of the first row that is wrong by itself, with its file and its number, counted from 1."""
    for row in range(len(table)):
        single = table.slice(row, 1)
        try:
            _read(single, layer, reading)
        except InputError as alone:
            text = str(alone).removeprefix("<Table>: ").removeprefix("sentence 1, ")
            if "file" not in table.column_names:
                prefix = (
                    f"sentence {single.column('sentence')[0].as_py()!r}, "
                    if "sentence" in single.column_names
                    else ""
                )
                return InputError(at(PATH, None, prefix + text))
            path = single.column("file")[0].as_py().removeprefix("file://").removeprefix("file:")
            return InputError(at(path, single.column("row")[0].as_py() + 1, text))
    return error


def table_of(data: bytes | None) -> Table:
    """The rows of a packed block."""
    import pyarrow

    assert data is not None
    with pyarrow.ipc.open_stream(pyarrow.BufferReader(data)) as stream:
        return stream.read_all()


def _holds_spans(table: Table, layer: str) -> bool:
    import pyarrow

    kind = table.schema.field(layer).type
    return bool(pyarrow.types.is_list(kind) and pyarrow.types.is_struct(kind.value_type))


def _read(table: Table, layer: str, reading: ReadKeywords) -> Annotation:
    """Read one layer of a block with the reader of tables."""
    import pyarrow

    name = "spans" if _holds_spans(table, layer) else "ner_tags"
    columns = {"tokens": table.column("tokens"), name: table.column(layer)}
    for extra, role in (("sentence", "id"), ("document", "document")):
        if extra in table.column_names:
            columns[role] = table.column(extra)
    return Reader(**reading).read(pyarrow.table(columns))


def columns_of(frame: DataFrame, gold: object, systems: object, named: Mapping[str, Any]) -> FrameColumns:
    """The columns that a call names, checked against those of the frame."""
    if not isinstance(gold, str) or not isinstance(systems, Mapping):
        raise ChoiceError(
            "a Spark frame needs the names of its columns.\n"
            'Write evaluate(frame, gold="tags", systems={"mine": "predicted"}, tokens="tokens").'
        )
    chosen = {key: value for key, value in named.items() if value is not None}
    columns = FrameColumns(gold, dict(systems), **chosen)
    names = [columns.gold, columns.tokens, columns.document, columns.sentence, *columns.systems.values()]
    for name in names:
        if name is not None and name not in frame.columns:
            raise unknown("column of the frame", name, frame.columns)
    return columns


def joined_frames(
    frame: DataFrame, gold: str | None, systems: object, sentence: str | None
) -> tuple[DataFrame, object]:
    """Join predictions that come in frames of their own to gold; return the frame and the systems' columns.

    Rows are joined by their `sentence`; predicted tags are in a column with the same name as that of gold.
    """
    if not isinstance(systems, Mapping) or not any(map(is_frame, systems.values())):
        return frame, systems
    if sentence is None:
        raise ChoiceError(
            "predictions in frames of their own need a column that names the sentences of all frames.\n"
            'Name it, as in sentence="id".'
        )
    columns = dict(systems)
    for number, (name, other) in enumerate(systems.items()):
        if not is_frame(other):
            continue
        for column in (gold, sentence):
            if column not in other.columns:
                raise unknown(f"column of the frame of {name!r}", column, other.columns)
        _check_rows(frame, other, name, sentence)
        columns[name] = f"predicted {number}"
        frame = frame.join(other.select(sentence, other[gold].alias(columns[name])), sentence)
    return frame, columns


def _check_rows(frame: DataFrame, other: DataFrame, name: str, sentence: str) -> None:
    """Refuse predictions that lack a gold sentence, have an additional one, or have one twice."""
    from pyspark.sql import functions

    sides = {"rows of gold": frame, "rows of predictions": other}
    gold_counts, predicted_counts = (
        side.groupBy(sentence).agg(functions.count("*").alias(name)) for name, side in sides.items()
    )
    gold, predicted = map(functions.col, sides)
    alone = {
        "gold has, but not these predictions": (predicted.isNull(), gold),
        "these predictions have, but not gold": (gold.isNull(), predicted),
        "these predictions have more than once": (predicted > 1, functions.lit(1)),
        "gold has more than once": (gold > 1, functions.lit(1)),
    }
    aggregates = [
        column
        for condition, rows in alone.values()
        for column in (
            functions.sum(functions.when(condition, rows)),
            functions.min(functions.when(condition, functions.col(sentence))),
        )
    ]
    counts = list(gold_counts.join(predicted_counts, sentence, "full_outer").agg(*aggregates).first())
    for trouble, number, first in zip(alone, counts[::2], counts[1::2], strict=True):
        if number:
            sentences = many(number, "sentence")
            wrong = InputError(
                f"the frame of {name!r}: there {'is' if number == 1 else 'are'} {sentences} that {trouble}; "
                f"the first is {first!r}.\nGive each sentence of gold one row of predictions."
            )
            raise wrong
