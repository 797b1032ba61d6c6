"""Files that Spark reads as a source of blocks, cut and brought together on executors; training files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.alignment import How
from spanwise.attributes import SummedLexicon, Wanted
from spanwise.columns import ints
from spanwise.corpus import Annotation
from spanwise.engines.spark import FrameEngine, Packed, Sent, answer, answers, packed, unpacked
from spanwise.errors import ChoiceError, InputError, at
from spanwise.evaluation._blocks import (
    Answer,
    Answering,
    Asking,
    BlockSums,
    Joining,
    Training,
    block_of,
    learn,
    want,
)
from spanwise.evaluation._choices import Block, Choices, named_sources
from spanwise.evaluation._frames import FramePiece
from spanwise.evaluation._lake import Lake, joined_files, opened_lake, shown_path
from spanwise.formats import listed_sources, stem_of
from spanwise.formats.parts import Held, Piece, numbers, read_piece

SENTENCES = 10_000  # of a block, unless its documents are longer


class LakeBlocks(Struct, frozen=True, eq=False):
    """Files of gold and predictions, cut before the same sentences; the data stay with the executors."""

    name: str
    gold: Lake
    predicted: Mapping[str, Lake]
    how: How
    cuts: tuple[int, ...]  # the first sentence of every block, and the number of all
    first: bytes = b""

    @property
    def path(self) -> str:
        """The gold files as they were given."""
        return self.gold.given

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
        """The number of documents, where they are marked."""
        return None if self.gold.documents is None else len(self.gold.documents)

    def references(self, *, gold_only: bool = False) -> Iterator[FramePiece]:
        """The numbers of the blocks."""
        for number in range(self.blocks):
            yield FramePiece(number, self.first if number == 0 else None)

    def open(self, reference: FramePiece, *, gold_only: bool = False) -> Block:
        """The layers of a block, predictions on the gold text."""
        parts: Mapping[str, Sequence[Annotation]] = unpacked(reference.data or b"")
        (gold,) = parts[""]
        predicted = {} if gold_only else {name: joined_files(parts[name]) for name in self.predicted}
        return block_of(gold, predicted, self.how)

    def entries(self, sums: Mapping[str, BlockSums]) -> list[dict[str, Any]]:
        """The `inputs` of the document for gold and predictions."""
        return [
            self.gold.entry("gold", sums[""]),
            *(
                {**lake.entry("predicted", sums[name]), "system": name}
                for name, lake in self.predicted.items()
            ),
        ]


def lake_blocks(
    session: Any, gold: Any, systems: Any, choices: Choices, *, name: str | None, partitions: int | None
) -> tuple[LakeBlocks, FrameEngine]:
    """Look at all files, cut them before the same sentences, and bring what belongs together to one place."""
    if systems is None:
        raise ChoiceError(
            "Spark reads folders, patterns and addresses as gold or as predictions, not as both.\n"
            "Give gold and predictions apart."
        )
    context = session.sparkContext
    first, contents = opened_lake(session, gold, choices.reading)
    prefer = first.reading.get("scheme")
    others = {
        key: opened_lake(session, one, choices.reading, prefer) for key, one in named_sources(systems).items()
    }
    for lake, _ in others.values():
        if lake.sentences != first.sentences:
            wrong = InputError(
                at(lake.given, None, f"there are {lake.sentences:,} sentences, but {first.sentences:,} in "
                   f"the gold files ({first.given}).\nGive predictions for the same sentences.")
            )  # fmt: skip
            raise wrong
    cuts = _cuts(first)
    lakes = {key: lake for key, (lake, _) in others.items()}
    source = LakeBlocks(name or stem_of(first.given), first, lakes, choices.align, tuple(cuts))
    number = min(partitions or max(context.defaultParallelism, 1), source.blocks)
    sent = context.broadcast(Sent.of(source))
    rdds = [contents, *(rdd for _, rdd in others.values())]
    pieces = context.union([
        rdd.mapPartitions(partial(_cut, layer, sent)) for layer, rdd in zip(["", *lakes], rdds, strict=True)
    ])  # fmt: skip
    together = pieces.partitionBy(number, partial(_partition, number, source.blocks))
    rows = together.mapPartitions(_gathered, preservesPartitioning=True).persist(_on_disk_too())
    held = Packed(_Rows(session, rows), rows)
    sizes = [0] * number
    for block in range(source.blocks):
        sizes[_partition(number, source.blocks, block)] += 1
    return replace(source, first=held.first()), FrameEngine(held, sizes)


class _Rows(Struct, frozen=True, eq=False):
    """Rows that are kept by the executors, as a frame is."""

    sparkSession: Any  # noqa: N815 - the name that a frame has
    rows: Any

    def unpersist(self) -> None:
        """Let the executors forget the rows."""
        self.rows.unpersist()


def _on_disk_too() -> Any:
    from pyspark import StorageLevel

    return StorageLevel.MEMORY_AND_DISK


def _partition(partitions: int, blocks: int, block: int) -> int:
    """Blocks lie in partitions in their order."""
    return block * partitions // blocks


def _cuts(gold: Lake) -> list[int]:
    """Before which sentences to cut: at the borders of gold files, and between documents inside of them."""
    cuts = [0]
    documents = gold.documents
    for begin, end in zip(gold.begins, gold.begins[1:], strict=False):
        if begin > cuts[-1]:
            cuts.append(begin)
        allowed = (
            range(begin, end)
            if documents is None
            else documents[(documents >= begin) & (documents < end)].tolist()
        )
        for place in allowed:
            if place - cuts[-1] >= SENTENCES:
                cuts.append(place)
    return [*cuts, gold.sentences]


def _cut(layer: str, sent: Any, rows: Iterable[Any]) -> Iterator[tuple[int, tuple[str, int, bytes]]]:
    """The parts of files that belong to blocks: the block, the layer, the first sentence, and the data."""
    source: LakeBlocks = sent.value
    lake = source.predicted[layer] if layer else source.gold
    known = {file.path: (file, begin) for file, begin in zip(lake.files, lake.begins, strict=False)}
    cuts = np.array(source.cuts)
    for row in rows:
        file, begin = known[shown_path(row["path"])]
        whole = lake.read(file.path, bytes(row["content"]))
        inner = cuts[(cuts > begin) & (cuts < begin + file.sentences)]
        held = Held.of({"only": whole}, sentences=(inner - begin).tolist())
        firsts = [begin, *inner.tolist()]
        for place, at_sentence in enumerate(firsts):
            part = read_piece(held, Piece(place))["only"]
            corpus = part.corpus
            if whole.corpus.ids is None:
                corpus = replace(corpus, ids=numbers(at_sentence, len(corpus)))
            if corpus.documents is None and not layer and lake.documents is not None:
                corpus = replace(corpus, documents=ints([0, len(corpus)]))
            if not layer and lake.documents is not None and whole.corpus.document_ids is None:
                before = int(np.searchsorted(lake.documents, at_sentence))
                size = len(corpus.documents) - 1 if corpus.documents is not None else 0
                corpus = replace(corpus, document_ids=numbers(before, size))
            block = int(np.searchsorted(cuts, at_sentence, side="right")) - 1
            yield block, (layer, at_sentence, packed(replace(part, corpus=corpus)))


def _gathered(rows: Iterable[tuple[int, tuple[str, int, bytes]]]) -> Iterator[tuple[bytes]]:
    """The blocks of a partition in their order, each with the parts of all layers."""
    blocks: dict[int, list[tuple[str, int, bytes]]] = {}
    for block, part in rows:
        blocks.setdefault(block, []).append(part)
    for block in sorted(blocks):
        layers: dict[str, list[Any]] = {}
        for layer, _, data in sorted(blocks.pop(block), key=lambda part: part[:2]):
            layers.setdefault(layer, []).append(unpacked(data))
        yield (packed(layers),)


class LakeTraining(Struct, frozen=True, eq=False):
    """Training files as a `TrainingSource`: a reference is the path of a file with its content."""

    lakes: tuple[Lake, ...]

    def references(self) -> Iterator[Any]:
        """Files lie with the executors."""
        return iter(())

    def read(self, reference: tuple[int, str, bytes]) -> tuple[int, Annotation]:
        """The number of the source, and one of its files."""
        number, path, data = reference
        found = self.lakes[number].read(path, data)
        if found.corpus.without_text:
            wrong = InputError(
                f"{path}: training data without tokens cannot tell what was seen.\n"
                "Give a file that holds the text."
            )
            raise wrong
        return number, found

    def entries(self, sums: Mapping[int, BlockSums]) -> list[dict[str, Any]]:
        """The `inputs` of the document."""
        return [lake.entry("train", sums[number]) for number, lake in enumerate(self.lakes)]


def lake_training(
    session: Any, train: Any, choices: Choices, source: LakeBlocks, engine: FrameEngine
) -> Training:
    """What training files know of what the test set asks: executors read them, and add up what they find."""
    given = listed_sources(train)
    if not given:
        return Training()
    context = session.sparkContext
    reading = {**choices.reading, "documents": "none"}
    lakes = [opened_lake(session, one, reading) for one in given]
    asked = Joining(Wanted.joined)
    for one in engine.map(want, source.references(), Asking(source, choices.lowercase)):
        asked.add(one)
    wanted = asked.total()
    training = LakeTraining(tuple(lake for lake, _ in lakes))
    sent = context.broadcast(Sent.of(Answering(training, wanted)))
    learning = context.union([
        rdd.mapPartitions(partial(_learning, number, sent)) for number, (_, rdd) in enumerate(lakes)
    ])  # fmt: skip
    total = Answer.joined(list(answers(context, learning.collect)))
    sent.destroy()
    return Training(SummedLexicon(wanted, total.lexicon), total.known, training.entries(total.sums))


def _learning(number: int, sent: Any, rows: Iterable[Any]) -> Iterator[bytes]:
    """The answers of all files of a partition, joined; the first error in their place."""
    found: Joining[Answer] = Joining(Answer.joined)
    some = False
    for row in rows:
        reference = (number, shown_path(row["path"]), bytes(row["content"]))
        told = answer(learn, reference, sent.value)
        failed, outcome = unpacked(told)
        if failed:
            yield told
            return
        found.add(outcome)
        some = True
    if some:
        yield packed((False, found.total()))
