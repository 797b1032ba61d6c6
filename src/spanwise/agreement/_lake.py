"""Annotators' files that Spark reads: executors index the documents and bring matching ones together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.agreement._shared import (
    DocumentPlacement,
    Key,
    Presence,
    Shared,
    block_of,
    check_parties,
    counted_keys,
    on_one_text,
    placed,
)
from spanwise.agreement._sources import WHO, named_annotators
from spanwise.columns import Bools, Ints, Words, distinct, ints, offsets
from spanwise.corpus import Annotation, Corpus, Reading, Source, Unit, with_one_vocabulary
from spanwise.engines.spark import FrameEngine, Packed, Sent, SparkEngine, answer, answers, packed, unpacked
from spanwise.errors import InputError, many
from spanwise.evaluation.blocks import ReadLabels
from spanwise.evaluation.frames import FramePiece
from spanwise.evaluation.lake import (
    ExecutorRows,
    Lake,
    gather_blocks,
    joined_files,
    memory_and_disk_level,
    open_lake,
    partition_of,
    shown_path,
)
from spanwise.formats import ReadKeywords, is_source, rules_of
from spanwise.formats.parts import InMemorySource, PartBytes, read_piece
from spanwise.hashing import sequence_hashes, sha256, word_hashes
from spanwise.settings import default_value

if TYPE_CHECKING:
    from pyspark import RDD, Broadcast
    from pyspark.sql import Row

BLOCK_SENTENCES = 10_000  # target size of a block; a longer document is a block of its own
PRIME = (1 << 61) - 1  # modulus of the polynomial hash of a text, which can be computed part by part


class FileIndex(Struct, frozen=True, eq=False):
    """An index of the documents, or the sentences, of one file: their keys and lengths."""

    path: str
    unit: Unit
    without_text: bool
    marked: bool  # whether the file marks documents
    names: Sequence[str] | None  # of documents
    ids: Sequence[str] | None  # of sentences, if requested
    has_ids: bool
    sizes: Ints  # number of sentences of each document
    lengths: Ints  # number of tokens or characters of each
    texts: Sequence[int]  # polynomial hash of the text of each
    sentences: int
    repairs: int
    merged: int = 0
    dropped: int = 0


def lake_documents(
    engine: SparkEngine, annotators: object, systems: object, reading: ReadKeywords, *, whole: bool
) -> tuple[LakeDocuments, Sequence[Reading], FrameEngine] | None:
    """Gather the documents in blocks held by the executors; also return how each source was read.

    With `whole`, a single document is not split. Returns None if some annotators do not have their own
    paths; then this machine reads the files.
    """
    sides = [_paths(annotators, "annotator"), _paths(systems, "system")]
    if sides[0] is None or sides[1] is None or len(sides[0]) < 2:
        return None
    named = {**sides[0], **sides[1]}
    lakes = [
        open_lake(engine.session, path, {**reading, "predicted": name in sides[1]})
        for name, path in named.items()
    ]
    labels = dict(zip(named, (lake.labels for lake, _ in lakes), strict=True))
    ReadLabels.of(*([labels[name] for name in side or ()] for side in sides)).check(reading)
    indexed = [_indexed(engine, lake, contents, by_sentence=False) for lake, contents in lakes]
    units: list[Unit] = [files[0].unit for files in indexed]
    check_parties(list(sides[0]), units, [lake.source for lake, _ in lakes])
    kind = matching_key(indexed)
    if kind in ("ids", "sentences"):
        indexed = [_indexed(engine, lake, contents, by_sentence=True) for lake, contents in lakes]
    borders = [0, *accumulate(file.sentences for file in indexed[0])]
    documents = [
        _documents(files, lake, kind, borders) for files, (lake, _) in zip(indexed, lakes, strict=True)
    ]
    marked = kind in ("names", "contents") or (kind == "ids" and units[0] == "character")
    placement = placed(
        list(sides[0]), list(sides[1]), [own.keys for own in documents], [own.names for own in documents],
        marked=marked, unit=units[0],
    )  # fmt: skip
    shared = _cut_documents(
        placement, documents, borders, source=lakes[0][0].source, stretched=kind == "whole", whole=whole
    )
    routes = [
        Routes(offsets(own.sizes), numbers, own.begins)
        for own, numbers in zip(documents, placement.documents, strict=True)
    ]
    readings = [_reading(lake, files) for files, (lake, _) in zip(indexed, lakes, strict=True)]
    return shared, readings, _gathered(engine, shared, lakes, routes)


def _paths(given: Any, what: str) -> dict[str, str] | None:
    """The path of every name; None if anything but separate paths was given."""
    if given is None:
        return {}
    sources = given if isinstance(given, Mapping) else None
    if sources is None:
        listed = [given] if is_source(given) else list(given)
        if not all(isinstance(source, str | os.PathLike) for source in listed):
            return None
        sources = named_annotators(listed, what)
    named = [(name, path) for name, path in sources.items() if isinstance(path, str | os.PathLike)]
    if len(named) < len(sources):
        return None
    paths = {str(name): os.fspath(path) for name, path in named}
    combined = any(WHO in path or _of_several(path) for path in paths.values())
    return None if combined else paths


def _of_several(path: str) -> bool:
    """Whether a path is a folder of brat files or of folders, which Spark cannot tell apart."""
    folder = Path(path)
    return folder.is_dir() and any(entry.is_dir() or entry.suffix == ".ann" for entry in folder.iterdir())


def _indexed(engine: SparkEngine, lake: Lake, contents: RDD, *, by_sentence: bool) -> list[FileIndex]:
    """Have the executors index the documents of every file."""
    context = engine.session.sparkContext
    sent = context.broadcast(Sent.of((lake, by_sentence)))
    answers_by_file = answers(context, contents.mapPartitions(partial(_each, sent)).collect)
    indexed = sorted(answers_by_file, key=lambda file: file.path)
    sent.destroy()
    return indexed


def _each(sent: Broadcast, rows: Iterable[Row]) -> Iterator[bytes]:
    for row in rows:
        yield answer(_index, (shown_path(row["path"]), bytes(row["content"])), sent.value)


def _index(content: tuple[str, bytes], shared: tuple[Lake, bool]) -> FileIndex:
    path, data = content
    lake, by_sentence = shared
    annotation = lake.read(path, data)
    corpus = annotation.corpus
    hashes = sentence_hashes(corpus)
    starts = offsets(np.ones(len(corpus), dtype=np.int64)) if by_sentence else document_starts(corpus)
    lengths = ints([len(text) for text in corpus.texts]) if corpus.texts is not None else corpus.lengths
    return FileIndex(
        path=path,
        unit=corpus.unit,
        without_text=corpus.without_text,
        marked=corpus.documents is not None,
        names=None if corpus.document_ids is None else tuple(map(str, corpus.document_ids)),
        ids=tuple(map(str, corpus.ids)) if by_sentence and corpus.ids is not None else None,
        has_ids=corpus.ids is not None,
        sizes=ints(np.diff(starts)),
        lengths=ints(np.diff(offsets(lengths)[starts])),
        texts=[
            _polynomial(hashes[begin:end])
            for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        ],
        sentences=len(corpus),
        repairs=annotation.reading.repairs,
        merged=annotation.reading.merged,
        dropped=annotation.reading.dropped,
    )


_BASE = 0x5DEECE66D_1 % PRIME


def _polynomial(hashes: Words) -> int:
    """The polynomial hash of the text of some sentences."""
    text = 0
    for high, low in hashes.tolist():
        text = (text * _BASE + (high << 64 | low)) % PRIME
    return text


def _behind(text: int, more: int, sentences: int) -> int:
    """The hash of a text followed by another of this many sentences with the hash `more`."""
    return (text * pow(_BASE, sentences, PRIME) + more) % PRIME


def sentence_hashes(corpus: Corpus) -> Words:
    """A 128-bit hash of the content of each sentence, in two columns."""
    if corpus.texts is not None:
        return word_hashes(corpus.texts)
    words = word_hashes(corpus.vocabulary)
    return sequence_hashes(words[corpus.tokens], corpus.sentences)


def document_starts(corpus: Corpus) -> Ints:
    """The first sentence of each document, and the end; one document if none are marked."""
    return ints([0, len(corpus)]) if corpus.documents is None else corpus.documents


def matching_key(indexed: Sequence[Sequence[FileIndex]]) -> str:
    """How to match documents: by "names", "contents", sentence "ids", or the text of "sentences".

    The result is "whole" if no documents are marked and all files hold the same sentences.
    """
    all_files = [file for files in indexed for file in files]
    if all(file.names and all(file.names) for file in all_files):
        return "names"
    if all(any(file.marked for file in files) for files in indexed):
        return "contents"
    ids = all(file.has_ids for file in all_files)
    if ids and all(file.unit == "character" for file in all_files):
        return "ids"
    if len({_text(files) for files in indexed}) == 1:
        return "whole"
    if all(file.without_text for file in all_files):
        raise InputError(
            f"{indexed[-1][0].path}: the files hold no text and have different numbers of sentences.\n"
            "Give files with text, or with the same sentences."
        )
    return "ids" if ids else "sentences"


def _text(files: Sequence[FileIndex]) -> tuple[int, int]:
    """The number of sentences of all files, and the polynomial hash of their text."""
    sentences = text = 0
    for file in files:
        for size, own in zip(file.sizes.tolist(), file.texts, strict=True):
            text = _behind(text, own, size)
        sentences += file.sentences
    return sentences, text


class PartyDocuments(Struct, frozen=True, eq=False):
    """The documents of one party (an annotator or a system) over all its files."""

    keys: list[Key]
    names: list[str]
    sizes: Ints
    lengths: Ints
    begins: Mapping[str, int]  # by file: the number of its first sentence
    called: Sequence[str] | None = None  # their names in the data


def _documents(files: Sequence[FileIndex], lake: Lake, kind: str, borders: Sequence[int]) -> PartyDocuments:
    """The documents of a party or, for "whole", stretches of sentences that do not cross `borders`.

    A document may continue across consecutive groups of rows of one Parquet file.
    """
    begins = [0, *accumulate(file.sentences for file in files)]
    first_sentence = dict(zip([file.path for file in files], begins, strict=False))
    if kind == "whole":
        edges = [edge for begin, end in pairwise(borders) for edge in range(begin, end, BLOCK_SENTENCES)]
        size = np.diff([*edges, borders[-1]])
        keys: list[Key] = [("whole", number) for number in range(len(edges))]
        return PartyDocuments(
            keys, ["1"] * len(edges), ints(size), ints(np.zeros(len(edges))), first_sentence
        )
    goes_on: set[str] = set()
    if kind in ("names", "contents"):
        goes_on = {file.path for before, file in pairwise(lake.files) if file.continues_document(before)}
    names: list[str] = []
    total: list[tuple[int, int, int]] = []
    for file in files:
        columns = (file.sizes.tolist(), file.lengths.tolist(), file.texts)
        for index, (size, length, text) in enumerate(zip(*columns, strict=True)):
            if index == 0 and file.path in goes_on:
                begun = total[-1]
                total[-1] = (begun[0] + size, begun[1] + length, _behind(begun[2], text, size))
                continue
            total.append((size, length, text))
            names += file.names[index : index + 1] if file.names is not None else ()
    sizes, lengths = (ints([own[column] for own in total]) for column in (0, 1))
    called = names if kind in ("names", "contents") and len(names) == len(total) else None
    if kind == "names":
        return PartyDocuments(counted_keys(names), names, sizes, lengths, first_sentence, called)
    if kind == "ids":
        ids = [name for file in files for name in file.ids or ()]
        return PartyDocuments(counted_keys(ids), ids, sizes, lengths, first_sentence)
    numbers = [str(number) for number in range(1, len(total) + 1)]
    contents = counted_keys([(size, text) for size, _, text in total])
    return PartyDocuments(contents, numbers, sizes, lengths, first_sentence, called)


def _reading(lake: Lake, files: Sequence[FileIndex]) -> Reading:
    """How the files of a source were read."""
    digest = sha256("".join(file.sha256 for file in lake.files).encode()).hexdigest()
    return Reading(
        path=lake.source,
        sha256=lake.files[0].sha256 if Path(lake.source).is_file() else digest,
        format=lake.files[0].format,
        scheme=lake.reading.get("scheme"),
        evidence=f"{many(len(lake.files), 'file')} read by Spark; {lake.evidence}",
        repair=lake.reading.get("repair", default_value("repair")),
        repairs=sum(file.repairs for file in files),
        merged=sum(file.merged for file in files),
        dropped=sum(file.dropped for file in files),
        labels=tuple(sorted(lake.labels)) if rules_of(lake.reading) else None,
    )


class Routes(Struct, frozen=True, eq=False):
    """The destinations of the documents of one party."""

    starts: Ints  # the first sentence of each, and the end
    numbers: Ints  # index among all documents, -1 if not needed
    begins: Mapping[str, int]  # by file: the number of its first sentence


class LakeDocuments(Struct, frozen=True, eq=False):
    """A `SharedSource` whose documents are held by the executors.

    If no documents are marked and all parties hold the same sentences, stretches of sentences take the role
    of documents; all of them belong to the only document. Both are called pieces below.
    """

    source: str  # the path of the first party
    presence: Presence
    stretched: bool  # whether pieces are stretches of the only document
    present: Bools  # parties × pieces
    first: Ints  # the first sentence of each piece, and the end
    positions: Ints  # number of tokens or characters before each piece
    cuts: Ints  # the first piece of each block, and the end
    of_first: bool  # whether the first party has all documents
    called: Sequence[str] | None  # the first party's names of the documents

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return int(self.first[-1])

    @property
    def cut_document(self) -> bool:
        """Whether the only document is split between several blocks."""
        return self.stretched and len(self.cuts) > 2

    def references(self) -> Iterator[FramePiece]:
        """References to all blocks, by number."""
        return map(FramePiece, range(len(self.cuts) - 1))

    def open(self, reference: FramePiece) -> Shared:
        """Combine all parties' annotations of the documents of a block on one shared text."""
        begin, end = self.cuts[reference.number : reference.number + 2].tolist()
        parts: Mapping[str, Sequence[bytes]] = unpacked(reference.data or b"")
        received = [
            [unpacked(part) for part in parts.get(str(party), ())] for party in range(len(self.present))
        ]
        annotations, starts, documents = [], [], []
        for own, present in zip(received, self.present[:, begin:end], strict=True):
            sizes = np.zeros(end - begin, dtype=np.int64)
            for numbers, lengths, _ in own:
                np.add.at(sizes, numbers - begin, lengths)
            annotations.append(joined_files([part for _, _, part in own]) if own else None)
            documents.append(ints(np.flatnonzero(present)))
            starts.append(offsets(sizes[present]))
        some = next(annotation for annotation in annotations if annotation is not None)
        empty = Annotation(Corpus.of([]), some.mentions.take(slice(0, 0)))
        empty = replace(empty, corpus=replace(empty.corpus, unit=some.corpus.unit))
        whole = [empty if annotation is None else annotation for annotation in annotations]
        corpora = with_one_vocabulary([annotation.corpus for annotation in whole])
        n = len(self.presence.annotators)
        first_of = self.present[:n, begin:end].argmax(axis=0).tolist()
        holder = [
            (party, int(np.searchsorted(documents[party], number))) for number, party in enumerate(first_of)
        ]
        corpus, first, mentions = on_one_text(whole, corpora, starts, documents, holder)
        document = np.repeat(np.arange(end - begin), np.diff(first))
        numbers = ints(np.arange(begin, end))
        if not self.of_first:  # drop what is specific to one file
            corpus = replace(corpus, source=Source(), ids=None, document_ids=None, documents=first)
        elif self.called is not None:
            corpus = replace(corpus, documents=first, document_ids=tuple(self.called[begin:end]))
        if self.stretched:
            document, numbers = np.zeros(len(document)), ints([0])
            if len({part.corpus.source.path for _, _, part in received[0]}) > 1:  # drop line numbers
                corpus = replace(corpus, source=Source(self.source))
        return block_of(
            corpus, ints(document), mentions, self.presence, numbers,
            sentence=int(self.first[begin]), position=int(self.positions[begin]),
        )  # fmt: skip


def _cut_documents(
    placement: DocumentPlacement,
    documents: Sequence[PartyDocuments],
    borders: Sequence[int],
    *,
    source: str,
    stretched: bool,
    whole: bool,
) -> LakeDocuments:
    """Divide the documents into blocks, which also end where a file of the first party ends.

    This way the sentences of a block come from one file and keep their line numbers. With `whole`, a single
    document stays in one block.
    """
    sizes = [int(documents[party].sizes[index]) for party, index in placement.holder]
    lengths = [int(documents[party].lengths[index]) for party, index in placement.holder]
    first, file_ends = offsets(sizes), set(borders)
    of_first = all(party == 0 for party, _ in placement.holder)
    cuts = [0]
    for number in range(1, 1 if stretched and whole else len(sizes)):
        at = int(first[number])
        enough = at - first[cuts[-1]] >= BLOCK_SENTENCES or (of_first and at in file_ends)
        if enough and first[cuts[-1]] < at < first[-1]:
            cuts.append(number)
    presence = placement.presence
    present = np.concatenate([presence.present, presence.system_present])
    if stretched:
        presence = replace(
            presence,
            documents=presence.documents[:1],
            present=presence.present[:, :1],
            system_present=presence.system_present[:, :1],
        )
    edges = ints([*cuts, len(sizes)])
    return LakeDocuments(
        source, presence, stretched, present, first, offsets(lengths), edges, of_first,
        documents[0].called if of_first else None,
    )  # fmt: skip


def _gathered(
    engine: SparkEngine, shared: LakeDocuments, lakes: Sequence[tuple[Lake, RDD]], routes: Sequence[Routes]
) -> FrameEngine:
    """Gather the parts of each block on one executor."""
    context, blocks = engine.session.sparkContext, len(shared.cuts) - 1
    number = min(engine.partitions or max(context.defaultParallelism, 1), blocks)
    sent = context.broadcast(Sent.of((shared.cuts, [lake for lake, _ in lakes], list(routes))))
    pieces = context.union([
        rdd.mapPartitions(partial(_cut, party, sent)) for party, (_, rdd) in enumerate(lakes)
    ])  # fmt: skip
    together = pieces.partitionBy(number, partial(partition_of, number, blocks))
    rows = together.mapPartitions(gather_blocks, preservesPartitioning=True).persist(memory_and_disk_level())
    held = Packed(ExecutorRows(engine.session, rows), rows)
    sizes = [0] * number
    for block in range(blocks):
        sizes[partition_of(number, blocks, block)] += 1
    return FrameEngine(held, sizes)


def _cut(party: int, sent: Broadcast, rows: Iterable[Row]) -> Iterator[tuple[int, tuple[str, int, bytes]]]:
    """Split files into the parts of blocks: yield the block, and the party, sort key and data of each part.

    Documents that are consecutive both in a file and in a block stay together.
    """
    cuts, lakes, routes = sent.value
    lake, own = lakes[party], routes[party]
    for row in rows:
        path = shown_path(row["path"])
        whole = lake.read(path, bytes(row["content"]))
        begin = own.begins[path]
        end = begin + len(whole.corpus)
        inner = distinct(own.starts[(own.starts > begin) & (own.starts < end)])
        edges = np.concatenate([[begin], inner, [end]])
        edges = edges[: 1 if begin == end else None]
        document = np.searchsorted(own.starts, edges[:-1], side="right") - 1
        number = own.numbers[document]
        block = np.where(number < 0, -1, np.searchsorted(cuts, number, side="right") - 1)
        new = np.ones(len(number), dtype=bool)
        new[1:] = (block[1:] != block[:-1]) | (number[1:] != number[:-1] + 1)
        runs = np.append(np.flatnonzero(new), len(number)).tolist()
        held = InMemorySource.of({"only": whole}, sentences=[int(edges[run]) - begin for run in runs[1:-1]])
        for index, (low, high) in enumerate(pairwise(runs)):
            if block[low] < 0:
                continue
            part = read_piece(held, PartBytes(index))["only"]
            if whole.corpus.document_ids is None:
                part = replace(part, corpus=replace(part.corpus, document_ids=None))
            if whole.corpus.ids is None:
                part = replace(part, corpus=replace(part.corpus, ids=None))
            data = packed((number[low:high], np.diff(edges[low : high + 1]), part))
            order = (int(number[low]) << 40) + int(edges[low])
            yield int(block[low]), (str(party), order, data)
