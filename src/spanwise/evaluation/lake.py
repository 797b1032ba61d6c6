"""Folders, patterns and addresses that Spark reads (hdfs://, s3a://, files), cut into blocks.

Executors read every file twice: once for a first look, and once to cut it into blocks, which they keep.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.alignment import How
from spanwise.columns import Ints, distinct, ints, offsets
from spanwise.composition import reading_entry
from spanwise.corpus import (
    Annotation,
    Mentions,
    Reading,
    Source,
    joined_corpora,
    joined_mentions,
)
from spanwise.document import Input
from spanwise.engines.spark import (
    FrameEngine,
    Packed,
    Sent,
    answer,
    answers,
    packed,
    table_bytes,
    unpacked,
)
from spanwise.errors import ChoiceError, InputError, SpanwiseError, at, many
from spanwise.evaluation.blocks import NO_EXTRAS, BlockSums, ReadLabels, block_of
from spanwise.evaluation.choices import Block, Choices, named_sources
from spanwise.evaluation.frames import FramePiece, sum_of_rows, table_of
from spanwise.formats import (
    File,
    Reader,
    ReadKeywords,
    format_of,
    label_notes,
    listed_sources,
    opened,
    stem_of,
)
from spanwise.formats.parts import InMemorySource, PartBytes, numbers, read_piece, survey_layers
from spanwise.formats.tables import TABLE_SPANS, TABLE_TAGS
from spanwise.hashing import sha256
from spanwise.schemes import Tags, recognise_situations, situations
from spanwise.settings import default_value

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Table
    from pyspark import RDD, Broadcast
    from pyspark.sql import DataFrame, Row, SparkSession

_MAGIC = "*?[{"
ROWS_FROM = "\0"  # separates the path of a Parquet file from the number of the first of some rows
SENTENCES = 10_000  # per block, unless a document is longer


def in_lake(source: object) -> bool:
    """Whether a source is a folder, a pattern, an address or Parquet, which Spark reads better than we do."""
    if not isinstance(source, str | os.PathLike):
        return False
    path = os.fspath(source)
    if "://" in path or any(mark in path for mark in _MAGIC):
        return True
    if not Path(path).is_dir():
        return path.endswith(".parquet")
    try:
        format_of(opened(path), None)  # a format that reads folders itself, such as brat
    except SpanwiseError:
        return True
    return False


def any_in_lake(gold: object, systems: object, train: object) -> bool:
    """Whether Spark should read any of the sources; if so, it reads all of them."""
    sources = [
        gold,
        *(named_sources(systems).values() if systems is not None else ()),
        *listed_sources(train),
    ]
    paths = all(isinstance(source, str | os.PathLike) for source in sources)
    return paths and any(map(in_lake, sources))


class LakeFile(Struct, frozen=True, eq=False):
    """What a first look at one file, or at some rows of a Parquet file, shows."""

    path: str  # for rows of a file, followed by ROWS_FROM and the number of the first row
    format: str
    sha256: str
    evidence: str
    sentences: int
    tokens: int
    documents: Ints | None  # the first sentence of each document
    situations: Ints | None  # the situations of its tags, if they are in columns
    scheme: str | None
    borders: tuple[str, str] | None = None  # the names of its first and last documents
    labels: tuple[str, ...] = ()  # as read

    @property
    def whole(self) -> str:
        """The path of the file, without the number of a row."""
        return self.path.partition(ROWS_FROM)[0]

    def follows(self, other: LakeFile) -> bool:
        """Whether these rows follow those of `other`, the entry before in the order of paths, in one file.

        Paths end with the number of the first row at a fixed width, so that entries of one file are
        neighbours in the order of their rows, and comparing the files is enough.
        """
        return self.whole == other.whole

    def continues_document(self, other: LakeFile) -> bool:
        """Whether the first document of these rows began in `other`, the entry before."""
        if self.borders is None or other.borders is None:
            return False
        return self.follows(other) and self.borders[0] == other.borders[1]


class Lake(Struct, frozen=True, eq=False):
    """The files of one source in the order of their paths, and how they are read."""

    source: str
    files: tuple[LakeFile, ...]
    reading: ReadKeywords
    evidence: str

    @property
    def begins(self) -> list[int]:
        """The number of the first sentence of each file, followed by the number of all sentences."""
        return [0, *accumulate(file.sentences for file in self.files)]

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return self.begins[-1]

    @property
    def labels(self) -> frozenset[str]:
        """The labels as read."""
        return frozenset(label for file in self.files for label in file.labels)

    @property
    def documents(self) -> Ints | None:
        """The first sentence of each document; if only some files mark documents, each other file is one."""
        if all(file.documents is None for file in self.files):
            return None
        starts = [
            begin + (ints([0]) if file.documents is None else file.documents)
            for begin, file in zip(self.begins, self.files, strict=False)
        ]
        for index, (before, file) in enumerate(pairwise(self.files), start=1):
            if file.continues_document(before):
                starts[index] = starts[index][1:]
        return ints(distinct(np.concatenate(starts)))

    def read(self, path: str, data: bytes) -> Annotation:
        """Read one of the files."""
        if ROWS_FROM in path:
            return _read_rows(Reader(**self.reading), path, table_of(data))
        return _read_named(Reader(**self.reading), File.of_bytes(path, data))

    def entry(self, role: str, sums: BlockSums) -> Input:
        """The entry of the source in `inputs` of the document."""
        files = len({file.whole for file in self.files})
        evidence = f"{many(files, 'file')} read by Spark; {self.evidence}"
        if any(ROWS_FROM in file.path for file in self.files):  # does not depend on how rows are split
            digest = f"{sum(int(file.sha256, 16) for file in self.files) % (1 << 256):064x}"
        elif Path(self.source).is_file():  # as this machine would have read it
            digest, evidence = self.files[0].sha256, self.evidence
        else:
            digest = sha256("".join(file.sha256 for file in self.files).encode()).hexdigest()
        reading = Reading(
            path=self.source, sha256=digest, format=self.files[0].format, scheme=self.reading.get("scheme"),
            evidence=evidence,
            repair=self.reading.get("repair", default_value("repair")), repairs=sums.repairs,
            notes=tuple(label_notes(Mentions.of([], labels=sorted(sums.labels)))),
        )  # fmt: skip
        tokens = sum(file.tokens for file in self.files)
        entry = reading_entry(role, reading, sentences=self.sentences, tokens=tokens, mentions=sums.mentions)
        return sums.described(entry)


def _read_named(reader: Reader, file: File) -> Annotation:
    """Read a file; for Parquet files, errors name the row of the file rather than the sentence."""
    path = file.path
    try:
        return reader.read(file)
    except InputError as error:
        message = str(error)
        match = re.match(re.escape(path) + r": (?:sentence|row) (\d+)(?:, | has )", message)
        if match is None or not path.endswith(".parquet"):
            raise
        separator = ": " if message[match.end() - 2] == "," else ": the row has "
        located = InputError(f"{path}:{match[1]}{separator}{message[match.end() :]}")
    raise located


def _read_rows(reader: Reader, key: str, table: object) -> Annotation:
    """Read some rows of a Parquet file; errors name the row of the file, counted from 1."""
    path, _, first = key.partition(ROWS_FROM)
    try:
        annotation = reader.read(table)
    except InputError as error:
        message = str(error)
        match = re.match(r"<Table>: (?:sentence|row) (\d+)(?:, | has )", message)
        if match is None:
            wrong = InputError(message.replace("<Table>", path, 1))
        else:
            separator = ": " if message[match.end() - 2] == "," else ": the row has "
            wrong = InputError(f"{path}:{int(first) + int(match[1])}{separator}{message[match.end() :]}")
        raise wrong from None
    return replace(
        annotation,
        corpus=replace(annotation.corpus, source=Source(path)),
        reading=replace(annotation.reading, path=path),
    )


def _paths(path: str) -> list[str]:
    """The path as Spark takes it: local files and folders by their full address."""
    if "://" not in path and (Path(path).exists() or any(mark in path for mark in _MAGIC)):
        full = os.path.abspath(path)  # noqa: PTH100 - a pattern is not a path
        return [f"file://{full}"]
    return [path]


def _contents(session: SparkSession, path: str) -> RDD:
    """The files of a source, as rows of path and content."""
    from pyspark.errors import PySparkException

    reader = session.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        frame = reader.load(_paths(path)).select("path", "content")
        empty = not frame.select("path").head(1)
    except PySparkException as error:
        reason = str(error).partition("\n")[0][:200]
        wrong = InputError(at(path, None, f"Spark cannot read this ({reason}).\nCheck the path."))
        raise wrong from None
    if empty:
        wrong = InputError(at(path, None, "there is no file.\nCheck the path."))
        raise wrong
    rows = _parquet_rows(session, path, frame)
    return (frame if rows is None else rows).rdd


def _parquet_rows(session: SparkSession, path: str, files: DataFrame) -> DataFrame | None:
    """The rows of Parquet files as tables of a few thousand rows; None if files must be read whole.

    Each row must be a sentence: a list of tokens with a list of tags, or with spans. Spark splits large files
    at their row groups, so that no worker holds a whole file.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import functions

    if not files.select("path").head(1)[0][0].endswith(".parquet"):
        return None
    if files.where(~functions.col("path").endswith(".parquet")).select("path").head(1):
        return None
    try:
        frame = session.read.option("recursiveFileLookup", "true").parquet(*_paths(path))
    except (PySparkException, Py4JError):  # a damaged footer raises an error of Java
        return None  # reading the files will report what is wrong with them
    kinds = {name.lower(): kind for name, kind in frame.dtypes}
    tokens = kinds.get("tokens") == "array<string>"
    tags = any(kinds.get(name) == "array<string>" for name in TABLE_TAGS)
    spans = any(kinds.get(name, "").startswith("array<struct<") for name in TABLE_SPANS)
    if not (tokens and (tags or spans)):
        return None
    about = [functions.col(f"_metadata.{name}").alias(f"_{name}") for name in ("file_path", "row_index")]
    return frame.select("*", *about).mapInArrow(_tables, "path string, content binary")


def _tables(batches: Iterable[RecordBatch]) -> Iterator[Table]:
    """Cut a split into tables of consecutive rows, named by their file and their first row."""
    import pyarrow

    for batch in batches:
        paths, rows = (batch.column(f"_{name}").to_pylist() for name in ("file_path", "row_index"))
        table = pyarrow.Table.from_batches([batch]).drop_columns(["_file_path", "_row_index"])
        borders = [i for i in range(1, len(rows)) if (paths[i], rows[i]) != (paths[i - 1], rows[i - 1] + 1)]
        for begin, end in pairwise([0, *borders, len(rows)]):
            if end > begin:
                key = f"{paths[begin]}{ROWS_FROM}{rows[begin]:015}"
                data = table_bytes(table.slice(begin, end - begin))
                yield pyarrow.RecordBatch.from_pydict({"path": [key], "content": [data]})


def shown_path(path: str) -> str:
    """A path as error messages show it: local files without their scheme."""
    return re.sub(r"^file:/+", "/", path)


def open_lake(
    session: SparkSession, source: Any, reading: ReadKeywords, prefer: str | None = None
) -> tuple[Lake, RDD]:
    """Take a first look at all files of a source, which finds errors in them."""
    context, contents = session.sparkContext, _contents(session, os.fspath(source))
    plain = {key: value for key, value in reading.items() if key not in NO_EXTRAS}
    sent = context.broadcast(Sent.of(plain))
    job = contents.mapPartitions(partial(_each, _first_look, sent))
    files = sorted(answers(context, job.collect), key=lambda file: file.path)
    sent.destroy()
    counts = [file.situations for file in files if file.situations is not None]
    declared, words = plain.get("scheme"), files[0].evidence
    scheme = declared
    if counts:
        recognised = recognise_situations(ints(np.sum(counts, axis=0)), prefer=prefer)
        scheme = declared or recognised.scheme
        words = f"{words}; {f'{declared}, as declared' if declared else recognised.evidence}"
    elif declared is None:
        schemes = [file.scheme for file in files if file.scheme is not None]
        scheme = max(schemes, key=schemes.count) if schemes else None
    chosen = {**plain, "scheme": scheme} if scheme else plain
    return Lake(os.fspath(source), tuple(files), chosen, words), contents


def _each(function: Callable[..., object], sent: Broadcast, rows: Iterable[Row]) -> Iterator[bytes]:
    for row in rows:
        yield answer(function, (shown_path(row["path"]), bytes(row["content"])), sent.value)


def _first_look(content: tuple[str, bytes], reading: ReadKeywords) -> LakeFile:
    path, data = content
    if ROWS_FROM in path:
        return _first_look_at_rows(path, table_of(data), reading)
    file = File.of_bytes(path, data)
    format_name = format_of(file, reading.get("format")).name
    digest = sha256(data).hexdigest()
    if format_name == "conll":
        survey = survey_layers(file, reading, merged=False)
        documents = None if survey.documents is None else ints(survey.documents[:-1])
        return LakeFile(
            path, format_name, digest, survey.evidence, survey.sentences, survey.tokens, documents,
            survey.situations["only"], survey.layers["only"].scheme, labels=survey.labels["only"],
        )  # fmt: skip
    annotation = _read_named(Reader(**reading), file)
    corpus, file_reading = annotation.corpus, annotation.reading
    documents = None if corpus.documents is None else ints(corpus.documents[:-1])
    return LakeFile(
        path, format_name, digest, file_reading.evidence or format_name, len(corpus),
        int(corpus.sentences[-1]), documents, None, file_reading.scheme,
        labels=tuple(annotation.labels_as_read),
    )  # fmt: skip


def _first_look_at_rows(path: str, table: Table, reading: ReadKeywords) -> LakeFile:
    annotation = _read_rows(Reader(**reading), path, table)
    corpus, table_reading = annotation.corpus, annotation.reading
    tags = next((name for name in table.column_names if name.lower() in TABLE_TAGS), None)
    counts = None
    if tags is not None and table_reading.scheme is not None:
        counts = situations(Tags.of(table.column(tags).to_pylist()))
    names = corpus.document_ids
    return LakeFile(
        path, table_reading.format, f"{sum_of_rows(table):064x}", "a table", len(corpus),
        int(corpus.sentences[-1]), None if corpus.documents is None else ints(corpus.documents[:-1]), counts,
        table_reading.scheme, None if names is None else (names[0], names[-1]),
        labels=tuple(annotation.labels_as_read),
    )  # fmt: skip


def joined_files(parts: Sequence[Annotation]) -> Annotation:
    """Concatenate the annotations of several files, or of several parts of one file."""
    if len(parts) == 1:
        return parts[0]
    corpora = [part.corpus for part in parts]
    begins = offsets([len(corpus) for corpus in corpora])
    named = [corpus.document_ids for corpus in corpora]
    corpus = replace(
        joined_corpora(corpora),
        documents=_documents([corpus.documents for corpus in corpora], begins.tolist()),
        document_ids=tuple(name for names in named for name in names or ())
        if all(isinstance(names, tuple) for names in named)
        else None,
    )
    mentions = joined_mentions([part.mentions for part in parts], begins[:-1])
    return Annotation(corpus, mentions, parts[0].reading.joined(part.reading for part in parts[1:]))


def _documents(parts: Sequence[Ints | None], begins: Sequence[int]) -> Ints | None:
    """The offsets of documents over several files; if only some mark documents, each other file is one."""
    if all(part is None for part in parts):
        return None
    starts = [
        [begin] if part is None else (part[:-1] + begin).tolist()
        for part, begin in zip(parts, begins, strict=False)
    ]
    return ints([*(start for of_file in starts for start in of_file), begins[-1]])


class LakeBlocks(Struct, frozen=True, eq=False):
    """Files of gold and predictions, cut at the same sentences; the data stay with the executors."""

    name: str
    gold: Lake
    predicted: Mapping[str, Lake]
    how: How
    cuts: tuple[int, ...]  # the first sentence of every block, followed by the number of all sentences
    first: bytes = b""

    @property
    def path(self) -> str:
        """The source of gold, as it was given."""
        return self.gold.source

    @property
    def systems(self) -> Sequence[str]:
        """The names of the systems."""
        return list(self.predicted)

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return len(self.cuts) - 1

    @property
    def documents(self) -> int | None:
        """The number of documents, if they are marked."""
        return None if self.gold.documents is None else len(self.gold.documents)

    @property
    def read_labels(self) -> ReadLabels:
        """The labels as read."""
        return ReadLabels.of([self.gold.labels], [lake.labels for lake in self.predicted.values()])

    def references(self, *, gold_only: bool = False) -> Iterator[FramePiece]:
        """Yield the blocks by number, the first one with its data."""
        for number in range(self.blocks):
            yield FramePiece(number, self.first if number == 0 else None)

    def open(self, reference: FramePiece, *, gold_only: bool = False) -> Block:
        """Unpack the layers of a block, and align predictions to the gold text."""
        parts: Mapping[str, Sequence[bytes]] = unpacked(reference.data or b"")
        layers = [""] if gold_only else ["", *self.predicted]
        pieces = {layer: [unpacked(part) for part in parts[layer]] for layer in layers}
        annotations = {layer: joined_files(layer_parts) for layer, layer_parts in pieces.items()}
        gold = self._with_documents(reference.number, pieces[""], annotations.pop(""))
        return block_of(gold, annotations, self.how)

    def _with_documents(self, number: int, parts: Sequence[Annotation], gold: Annotation) -> Annotation:
        """Give gold that was joined from parts the documents of the whole, as parts may cut documents."""
        all_starts = self.gold.documents
        if len(parts) == 1 or all_starts is None:
            return gold
        begin, end = self.cuts[number], self.cuts[number + 1]
        starts = all_starts[(all_starts >= begin) & (all_starts < end)] - begin
        first_sentences, names, offset = set(starts.tolist()), [], 0
        for part in parts:
            corpus = part.corpus
            part_starts = [0] if corpus.documents is None else corpus.documents[:-1].tolist()
            part_names = corpus.document_ids or [""] * len(part_starts)
            names += [
                name
                for sentence, name in zip(part_starts, part_names, strict=True)
                if offset + sentence in first_sentences
            ]
            offset += len(corpus)
        documents = ints([*starts.tolist(), end - begin])
        return replace(gold, corpus=replace(gold.corpus, documents=documents, document_ids=tuple(names)))

    def entries(self, sums: Mapping[str, BlockSums]) -> list[Input]:
        """The entries of gold and predictions in `inputs` of the document."""
        return [
            self.gold.entry("gold", sums[""]),
            *(
                replace(lake.entry("predicted", sums[name]), system=name)
                for name, lake in self.predicted.items()
            ),
        ]


def lake_blocks(
    session: SparkSession,
    gold: object,
    systems: object,
    choices: Choices,
    *,
    name: str | None,
    partitions: int | None,
) -> tuple[LakeBlocks, FrameEngine]:
    """Look at all files, cut them at the same sentences, and bring the parts of each block together."""
    if systems is None:
        raise ChoiceError(
            "Spark reads folders, patterns and addresses as gold or as predictions, not as both.\n"
            "Give gold and predictions separately."
        )
    context = session.sparkContext
    first, contents = open_lake(session, gold, choices.reading)
    prefer = first.reading.get("scheme")
    others = {
        key: open_lake(session, named_source, {**choices.reading, "predicted": True}, prefer)
        for key, named_source in named_sources(systems).items()
    }
    for lake, _ in others.values():
        if lake.sentences != first.sentences:
            wrong = InputError(
                at(lake.source, None, f"there are {lake.sentences:,} sentences, but {first.sentences:,} in "
                   f"the gold files ({first.source}).\nGive predictions for the same sentences.")
            )  # fmt: skip
            raise wrong
    cuts = _cuts(first)
    lakes = {key: lake for key, (lake, _) in others.items()}
    source = LakeBlocks(name or stem_of(first.source), first, lakes, choices.align, tuple(cuts))
    number = min(partitions or max(context.defaultParallelism, 1), source.blocks)
    sent = context.broadcast(Sent.of(source))
    rdds = [contents, *(rdd for _, rdd in others.values())]
    pieces = context.union([
        rdd.mapPartitions(partial(_cut, layer, sent)) for layer, rdd in zip(["", *lakes], rdds, strict=True)
    ])  # fmt: skip
    partitioned = pieces.partitionBy(number, partial(partition_of, number, source.blocks))
    rows = partitioned.mapPartitions(gather_blocks, preservesPartitioning=True).persist(
        memory_and_disk_level()
    )
    packed_blocks = Packed(ExecutorRows(session, rows), rows)
    sizes = [0] * number
    for block in range(source.blocks):
        sizes[partition_of(number, source.blocks, block)] += 1
    return replace(source, first=packed_blocks.first()), FrameEngine(packed_blocks, sizes)


class ExecutorRows(Struct, frozen=True, eq=False):
    """Rows that the executors keep, with the attributes of a frame that are needed."""

    sparkSession: SparkSession  # noqa: N815 - the name that a frame has
    rows: RDD

    def unpersist(self) -> None:
        """Let the executors drop the rows."""
        self.rows.unpersist()


def memory_and_disk_level() -> object:
    """The storage level that keeps rows on disk where memory does not suffice."""
    from pyspark import StorageLevel

    return StorageLevel.MEMORY_AND_DISK


def partition_of(partitions: int, blocks: int, block: int) -> int:
    """The partition of a block: blocks fill the partitions in order."""
    return block * partitions // blocks


def _cuts(gold: Lake) -> list[int]:
    """The sentences at which to cut: where gold files begin, and between documents inside them."""
    cuts = [0]
    documents = gold.documents
    for index, (begin, end) in enumerate(pairwise(gold.begins)):
        continues = index > 0 and gold.files[index].follows(gold.files[index - 1])
        if begin > cuts[-1] and not continues:
            cuts.append(begin)
        allowed = (
            range(begin, end)
            if documents is None
            else documents[(documents >= begin) & (documents < end)].tolist()
        )
        for sentence in allowed:
            if sentence - cuts[-1] >= SENTENCES:
                cuts.append(sentence)
    return [*cuts, gold.sentences]


def _cut(layer: str, sent: Broadcast, rows: Iterable[Row]) -> Iterator[tuple[int, tuple[str, int, bytes]]]:
    """Cut files where blocks begin; yield the block, layer, first sentence and data of each part."""
    source: LakeBlocks = sent.value
    lake = source.predicted[layer] if layer else source.gold
    files = {file.path: (file, begin) for file, begin in zip(lake.files, lake.begins, strict=False)}
    cuts = np.array(source.cuts)
    for row in rows:
        file, begin = files[shown_path(row["path"])]
        annotation = lake.read(file.path, bytes(row["content"]))
        inner = cuts[(cuts > begin) & (cuts < begin + file.sentences)]
        parts = InMemorySource.of({"only": annotation}, sentences=(inner - begin).tolist())
        firsts = [begin, *inner.tolist()]
        for index, first in enumerate(firsts):
            part = read_piece(parts, PartBytes(index))["only"]
            corpus = part.corpus
            if annotation.corpus.ids is None:
                corpus = replace(corpus, ids=numbers(first, len(corpus)))
            if corpus.documents is None and not layer and lake.documents is not None:
                corpus = replace(corpus, documents=ints([0, len(corpus)]))
            if not layer and lake.documents is not None and annotation.corpus.document_ids is None:
                before = int(np.searchsorted(lake.documents, first))
                size = len(corpus.documents) - 1 if corpus.documents is not None else 0
                corpus = replace(corpus, document_ids=numbers(before, size))
            block = int(np.searchsorted(cuts, first, side="right")) - 1
            yield block, (layer, first, packed(replace(part, corpus=corpus)))


def gather_blocks(rows: Iterable[tuple[int, tuple[str, int, bytes]]]) -> Iterator[tuple[bytes]]:
    """Yield the blocks of a partition in order, each with the parts of all layers."""
    blocks: dict[int, list[tuple[str, int, bytes]]] = {}
    for block, part in rows:
        blocks.setdefault(block, []).append(part)
    for block in sorted(blocks):
        layers: dict[str, list[bytes]] = {}
        for layer, _, data in sorted(blocks.pop(block), key=lambda part: part[:2]):
            layers.setdefault(layer, []).append(data)
        yield (packed(layers),)
