"""Gold and predicted tuples in parts: the same units of every file, a few megabytes at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, TypeAlias

from msgspec import Struct

from spanwise.engines import Engine
from spanwise.errors import InputError, at
from spanwise.formats import File
from spanwise.relations._tally import Tallying, TrainingTuples, TuplePart, tally, training_of
from spanwise.relations.answers import looks_answered
from spanwise.relations.records import (
    TUPLE_FORMATS,
    UnitRecord,
    decoded_lines,
    read_records,
    records_of,
    tuple_format_of,
    whole_lines,
)

_GOLD_BYTES = 4 << 20  # of gold in a part
_UNITS = 2000  # in a part of other formats

Lines: TypeAlias = tuple[bytes, int]  # whole lines, and the number of lines before them
Block: TypeAlias = Mapping[str | None, Lines | list[UnitRecord]]  # gold (None) and the systems


class TupleSource:
    """One file, or records in memory, of gold (`system` is None), of training or of a system."""

    def __init__(
        self, source: object, system: str | None, reading: Mapping[str, Any], role: str = "gold"
    ) -> None:
        # Files that hold gold and predictions are read as predictions for a system.
        self.system, self.role = system, "predicted" if system is not None else role
        self.reading = {**reading, "predicted": system is not None}
        self.encoding = self.reading.pop("encoding", None)
        self.name = self.reading.pop("format", None)
        self.file: File | None = None
        self.records: list[UnitRecord] = []
        if isinstance(source, str | os.PathLike | File):
            self.file = source if isinstance(source, File) else File(source, encoding=self.encoding)
            self.path = self.file.path
            if self.name is None and system is not None and looks_answered(self.file):
                raise InputError(
                    f"{self.path}: these tuples are texts without positions, as language models give them.\n"
                    "Place them on the text of gold with answers='first'."
                )
            form = tuple_format_of(self.file) if self.name is None else TUPLE_FORMATS.find(self.name)
            self.name, self.format = form.name, form
        else:
            self.path = system or role
            if not isinstance(source, Iterable) or isinstance(source, Mapping):
                kind = type(source).__name__
                raise InputError(
                    f"{self.path}: {kind} is not a file of tuples.\nGive a file, or a list of records."
                )
            self.records = records_of(source, self.path)

    @property
    def in_lines(self) -> bool:
        """Whether the file can be cut between any two lines."""
        return self.file is not None and self.name == "jsonl"

    def read(self) -> Iterator[UnitRecord]:
        """All records, from the beginning."""
        if self.file is None:
            return iter(self.records)
        fresh = self.file.again() if self.file.sha256 is not None else self.file
        return read_records(fresh, format=self.format, **self.reading)

    def input(self) -> dict[str, Any]:
        """How the source is written down in documents."""
        return {
            "role": self.role,
            "path": self.path,
            "sha256": None if self.file is None else self.file.sha256,
            "format": self.name,
            **({} if self.system is None else {"system": self.system}),
        }


class TrainingBlock(Struct, frozen=True, eq=False):
    """A part of the training data."""

    units: Lines | list[UnitRecord]


class PartContext(Struct, frozen=True, eq=False):
    """What every part is counted with."""

    paths: Mapping[str | None, str]
    training: str  # the path of the training data
    tallying: Tallying


def count_parts(
    gold: TupleSource,
    systems: dict[str, TupleSource],
    train: TupleSource | None,
    tallying: Tallying,
    engine: Engine,
) -> tuple[list[TuplePart], TrainingTuples | None]:
    """Count all parts: those that hold the same units in every file, or everything as one part."""
    sources: dict[str | None, TupleSource] = {None: gold} | systems
    paths = {key: source.path for key, source in sources.items()}
    shared = PartContext(paths, "" if train is None else train.path, tallying)
    blocks: Iterator[Block | TrainingBlock] = _blocks(sources)
    if train is not None:
        blocks = chain((TrainingBlock(own[None]) for own in _blocks({None: train})), blocks)
    parts: list[TuplePart] = []
    learned: list[TrainingTuples] = []
    for part in engine.map(count_block, blocks, shared):
        if isinstance(part, TrainingTuples):
            learned.append(part)
        elif part is None:  # the units are in another order
            records = {key: list(source.read()) for key, source in sources.items()}
            predicted = {key: own for key, own in records.items() if key is not None}
            parts = [tally(records[None], predicted, paths, tallying)]
            break
        else:
            parts.append(part)
    if not parts or not sum(part.units for part in parts):
        raise InputError(at(gold.path, None, "there is no unit.\nGive a file with at least one record."))
    return parts, None if train is None else TrainingTuples.joined(learned)


def count_block(block: Block | TrainingBlock, shared: PartContext) -> TuplePart | TrainingTuples | None:
    """Count one part; None if its files do not hold the same units in the same order."""
    tallying = shared.tallying
    if isinstance(block, TrainingBlock):
        units = _decoded(block.units, shared.training)
        return training_of(units, shared.training, tallying.undirected, tallying.rules)
    records = {key: _decoded(own, shared.paths[key]) for key, own in block.items()}
    gold = records.pop(None)
    for own in records.values():
        if len(own) != len(gold) or any(
            one.id != other.id or one.document != other.document for one, other in zip(own, gold, strict=True)
        ):
            return None
    predicted = {key: own for key, own in records.items() if key is not None}
    return tally(gold, predicted, shared.paths, tallying)


def _decoded(units: Lines | list[UnitRecord], path: str) -> list[UnitRecord]:
    return units if isinstance(units, list) else list(decoded_lines(units[0], path, units[1]))


def _blocks(sources: Mapping[str | None, TupleSource]) -> Iterator[Block]:
    """The same units of every source, some at a time."""
    return _in_lines(sources) if all(one.in_lines for one in sources.values()) else _in_records(sources)


def _in_lines(sources: Mapping[str | None, TupleSource]) -> Iterator[Block]:
    """The same lines of every file, which are decoded where they are counted."""
    others = {key: _Lines(source) for key, source in sources.items()}
    gold = others.pop(None)
    while True:
        lines, number = gold.take(least=_GOLD_BYTES)
        block = {None: lines, **{key: other.take(number=number)[0] for key, other in others.items()}}
        if not number:
            # Lines that are left over: files of different lengths.
            rest = {key: other.take(least=1)[0] for key, other in others.items()}
            if any(own[0] for own in rest.values()):
                yield {None: lines, **rest}
            return
        yield block


class _Lines:
    """The lines of a file, taken some at a time; blank lines do not count."""

    def __init__(self, source: TupleSource) -> None:
        assert source.file is not None
        self._pieces = whole_lines(source.file)
        self._lines: list[bytes] = []
        self._at = 0  # in the lines at hand
        self._before = 0  # lines taken so far

    def take(self, *, least: int = 0, number: int | None = None) -> tuple[Lines, int]:
        """Lines of at least so many bytes, or this number of lines, and how many they are."""
        taken: list[bytes] = []
        size = count = 0
        before = self._before
        while (size < least) if number is None else (count < number):
            if self._at == len(self._lines):
                piece = next(self._pieces, None)
                if piece is None:
                    break
                self._lines, self._at = piece.splitlines(keepends=True), 0
            line = self._lines[self._at]
            self._at += 1
            taken.append(line)
            size += len(line)
            count += not line.isspace()
        self._before += len(taken)
        return (b"".join(taken), before), count


def _in_records(sources: Mapping[str | None, TupleSource]) -> Iterator[Block]:
    """The same number of records of every source."""
    reading = {key: source.read() for key, source in sources.items()}
    while True:
        block = {key: list(islice(records, _UNITS)) for key, records in reading.items()}
        if not any(block.values()):
            return
        yield block
