"""The mentions of an evaluation as columns of numbers, and the file to which `--columns` writes them."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import cast

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise import __version__
from spanwise.attributes import SUBSETS
from spanwise.buckets import Bucket
from spanwise.columns import Column, Ints, ints, offsets
from spanwise.corpus import Corpus, Mentions, Parts
from spanwise.document.evaluation import Evaluation
from spanwise.errors import ChoiceError, InputError
from spanwise.evaluation.counting import Whole
from spanwise.formats import write_atomically
from spanwise.matching import OUTCOMES
from spanwise.mentions import MentionTable
from spanwise.mentions.packing import coded, tough_columns

KIND = "spanwise columns"
SCHEMA = 1
_WRONG = (  # errors that reading a file of another kind may raise
    KeyError, ValueError, OSError, EOFError, IndexError, TypeError, AttributeError, zipfile.BadZipFile,
    NotImplementedError, RuntimeError, MemoryError, OverflowError, zlib.error, msgspec.MsgspecError,
)  # fmt: skip
MOST_UNPACKED = 1 << 28  # bytes to which a file may unpack if they are more than a hundred times its size


class ColumnsHead(Struct, frozen=True, kw_only=True):
    """The header of the columns: everything that is not a number per mention or token."""

    kind: str = KIND
    schema: int = SCHEMA
    spanwise: str = __version__
    signature: str
    dataset: str
    gold: str | None  # sha256 of the gold file, and of rules on its labels
    path: str | None  # of the gold file
    unit: str  # of intervals and tests
    units: int
    sentences: int
    positions: str  # "token" or "character": what spans count
    redacted: bool
    labels: tuple[str, ...]
    subsets: tuple[str, ...]
    buckets: Mapping[str, tuple[Bucket, ...]]
    systems: tuple[str, ...]
    tags: Mapping[str, str]


class MentionColumns(Struct, frozen=True, eq=False, dict=True):
    """The mentions of gold and of every system, and the text that they are in.

    `mentions("gold")` and `mentions(side(system))` are the mentions of a side;
    `column("gold", "bucket.entity_length")` is the bucket of each. The columns `outcome` and `partner` of a
    system hold the outcome of each gold mention, and the prediction that found it exactly.
    """

    head: ColumnsHead
    arrays: Mapping[str, Column]

    def side(self, system: str) -> str:
        """The prefix of the names of a system's columns; the prefix of gold is `gold`."""
        return f"system{self.head.systems.index(system)}"

    def column(self, side: str, name: str) -> Column:
        """One column of a side."""
        return self.arrays[f"{side}.{name}"]

    def table(self, side: str, unit_of_sentence: Column) -> MentionTable:
        """The mentions of a side as a table; `unit_of_sentence` is that of gold."""
        columns = {
            name: self.column(side, name)
            for name in (
                "sentence",
                "start",
                "end",
                "label",
                *(f"bucket.{name}" for name in self.head.buckets),
            )
        }
        columns["unit"] = unit_of_sentence[columns["sentence"]]
        if f"{side}.tough" in self.arrays:
            columns |= tough_columns(self.column(side, "tough"), self.head.subsets)
        return MentionTable(columns, self.head.labels, self.head.units)

    def mentions(self, side: str) -> Mentions:
        """The mentions of a side."""
        parts = None
        if f"{side}.parts.at" in self.arrays:
            parts = Parts(*(ints(self.column(side, f"parts.{name}")) for name in ("at", "start", "end")))
        return Mentions(
            sentence=ints(self.column(side, "sentence")),
            start=ints(self.column(side, "start")),
            end=ints(self.column(side, "end")),
            label=self.column(side, "label").astype(np.int32),
            labels=self.head.labels,
            parts=parts,
        )

    @cached_property
    def unit_of_sentence(self) -> Ints:
        """The unit of each sentence."""
        return ints(self.arrays["unit_of_sentence"])

    @cached_property
    def vocabulary(self) -> list[str]:
        """The words that the codes of tokens stand for; whole texts if spans count characters."""
        return _strings(self.arrays.get("vocabulary"), self.arrays.get("vocabulary.at"))

    def words(self, sentence: int) -> list[str]:
        """The tokens of a sentence, or the characters of a text; empty if the text was left out."""
        if self.head.positions == "character":
            return list(self.vocabulary[sentence]) if self.vocabulary else []
        begin, end = self.arrays["sentences"][sentence : sentence + 2].tolist()
        if "tokens" not in self.arrays:
            return []
        return [self.vocabulary[code] for code in self.arrays["tokens"][begin:end].tolist()]

    def location(self, sentence: int) -> str:
        """`file:line` of a sentence, or its number."""
        path = os.path.basename(self.head.path or self.head.dataset)  # noqa: PTH119
        lines = self.arrays.get("lines")
        return f"{path}, sentence {sentence + 1}" if lines is None else f"{path}:{int(lines[sentence])}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the columns to an `.npz` file without pickled objects; equal content gives equal bytes."""
        packed = io.BytesIO()
        head = np.frombuffer(msgspec.json.encode(self.head), dtype=np.uint8)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            for name, array in {"head": head, **self.arrays}.items():
                data = io.BytesIO()
                np.lib.format.write_array(data, np.ascontiguousarray(array), allow_pickle=False)
                entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, data.getvalue())
        write_atomically(path, packed.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MentionColumns:
        """Load the columns from a file that `--columns` wrote.

        Raises:
            InputError: the file is missing, or does not hold mention columns.
        """
        where, advice = os.fspath(path), "Make it with spanwise evaluate … --columns FILE."
        try:
            with zipfile.ZipFile(path) as archive:
                _refuse_bomb(archive, os.stat(path).st_size)  # noqa: PTH116
                arrays = {name.removesuffix(".npy"): _array(archive, name) for name in archive.namelist()}
        except FileNotFoundError:
            raise InputError(f"{where}: there is no such file.\n{advice}") from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(f"{where}: the file cannot be read ({reason}).\n{advice}") from None
        except zipfile.BadZipFile:
            raise _not_columns(where, "it is not an .npz archive, or is damaged", advice) from None
        except _WRONG as error:
            raise _not_columns(where, " ".join(str(error).split()) or type(error).__name__, advice) from None
        try:
            head = msgspec.json.decode(arrays.pop("head").tobytes(), type=ColumnsHead)
            columns = cls(head, arrays)
            fitting = head.kind == KIND and head.schema == SCHEMA and columns.fits()
        except _WRONG:  # columns are missing, or of another kind
            fitting = False
        if not fitting:
            raise _not_columns(where, "its columns do not fit together", advice)
        return columns

    @classmethod
    def read_head(cls, path: str | os.PathLike[str]) -> ColumnsHead | None:
        """The header alone, or None if the file is something else; nothing but the header is unpacked."""
        try:
            with zipfile.ZipFile(path) as archive:
                _refuse_bomb(archive, os.stat(path).st_size)  # noqa: PTH116
                return msgspec.json.decode(_array(archive, "head.npy").tobytes(), type=ColumnsHead)
        except _WRONG:
            return None

    def fits(self) -> bool:
        """Whether the lengths and values of all columns fit together."""
        head, arrays = self.head, self.arrays
        number = len(arrays["gold.sentence"])
        right = _below(arrays["unit_of_sentence"], head.sentences, max(head.units, 1))
        right &= _are_offsets(arrays["sentences"], head.sentences)
        right &= "lines" not in arrays or _below(arrays["lines"], head.sentences, None)
        right &= self._text_fits()
        if "gold.tough" in arrays:
            right &= _below(arrays["gold.tough"], number, 1 << len(head.subsets))
        for side in ("gold", *(f"system{index}" for index in range(len(head.systems)))):
            size = len(self.column(side, "sentence"))
            limits = {"sentence": head.sentences, "label": len(head.labels)}
            limits |= {f"bucket.{name}": len(cut) for name, cut in head.buckets.items()}
            right &= all(_below(self.column(side, name), size, limit) for name, limit in limits.items())
            right &= all(_below(self.column(side, name), size, None) for name in ("start", "end"))
            if f"{side}.parts.at" in arrays:
                bounds = self.column(side, "parts.at")
                right &= _are_offsets(bounds, size)
                right &= all(
                    _below(self.column(side, f"parts.{name}"), int(bounds[-1]), None)
                    for name in ("start", "end")
                )
            right = right and self._lie_inside(side)
            if side != "gold":
                partner = self.column(side, "partner")
                right &= _below(self.column(side, "found"), size, len(OUTCOMES))
                right &= _below(self.column(side, "outcome"), number, len(OUTCOMES))
                right &= _below(partner, number, None) and int(partner.max(initial=-1)) < size
        return right

    def _lie_inside(self, side: str) -> bool:
        """Whether mentions lie inside their sentences; one without a position starts and ends at -1."""
        start, end = self.column(side, "start"), self.column(side, "end")
        sizes = np.diff(self.arrays["sentences"])
        if self.head.positions == "character":
            if not self.vocabulary:
                return bool(((start >= -1) & (start <= end)).all())
            sizes = np.array([len(text) for text in self.vocabulary])
        return bool(((start >= -1) & (start <= end) & (end <= sizes[self.column(side, "sentence")])).all())

    def _text_fits(self) -> bool:
        """Whether every token is a word, and every word lies in the packed text."""
        data, bounds = self.arrays.get("vocabulary"), self.arrays.get("vocabulary.at")
        if data is None or bounds is None:
            return "tokens" not in self.arrays
        if (
            data.ndim != 1
            or data.dtype != np.uint8
            or not _are_offsets(bounds, len(bounds) - 1)
            or bounds[-1] != len(data)
        ):
            return False
        if self.head.positions == "character":
            return len(self.vocabulary) == self.head.sentences
        tokens = self.arrays.get("tokens")
        return tokens is None or _below(tokens, int(self.arrays["sentences"][-1]), len(self.vocabulary))


def _not_columns(where: str, why: str, advice: str) -> InputError:
    return InputError(f"{where}: this file does not hold mention columns: {why}.\n{advice}")


def _refuse_bomb(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse a small archive that would fill the memory when unpacked."""
    unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > MOST_UNPACKED and unpacked > 100 * size:
        raise ValueError("it unpacks to far more than its size")


def _array(archive: zipfile.ZipFile, name: str) -> Column:
    """Read one column of numbers from an archive; it cannot have more numbers than there are bytes for."""
    data = io.BytesIO(archive.read(name))
    version = np.lib.format.read_magic(data)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, kind = header(data)
    if len(shape) != 1 or kind.hasobject or kind.itemsize == 0:
        raise ValueError("this is not a column of numbers")
    return cast("Column", np.frombuffer(data.read(), dtype=kind).reshape(shape))


def _are_offsets(column: Column, number: int) -> bool:
    """Whether a column holds where each of `number` items begins, and where the last one ends."""
    return _below(column, number + 1, None) and int(column[0]) == 0 and bool((np.diff(column) >= 0).all())


def _below(column: Column, size: int, limit: int | None) -> bool:
    """Whether a column holds `size` integers, all from 0 to below `limit` if there is one."""
    if column.ndim != 1 or len(column) != size or column.dtype.kind not in "iu":
        return False
    return limit is None or not size or 0 <= int(column.min()) <= int(column.max()) < limit


def _strings(data: Column | None, at: Column | None) -> list[str]:
    if data is None or at is None:
        return []
    raw = data.tobytes()
    bounds = at.tolist()
    return [raw[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(bounds)]


def _packed_strings(strings: Sequence[str]) -> dict[str, Column]:
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return {"vocabulary": data, "vocabulary.at": offsets([len(word) for word in encoded])}


def _corpus_columns(corpus: Corpus, unit_of_sentence: Ints, *, shown: bool) -> dict[str, Column]:
    """Where sentences begin, the unit and document of each, and with `shown` the text."""
    columns: dict[str, Column] = {
        "sentences": corpus.sentences.astype(np.int32),
        "unit_of_sentence": unit_of_sentence.astype(np.int32),
    }
    if corpus.document_of_sentence is not None:
        columns["document_of_sentence"] = corpus.document_of_sentence.astype(np.int32)
    if corpus.source.lines is not None:
        columns["lines"] = corpus.source.lines.astype(np.int32)
    if shown and corpus.unit == "character":
        return columns | _packed_strings(corpus.texts or ())
    if shown:
        used, tokens = np.unique(corpus.tokens, return_inverse=True)
        columns["tokens"] = tokens.reshape(-1).astype(np.int32)
        return columns | _packed_strings([corpus.vocabulary[code] for code in used.tolist()])
    return columns


def mention_columns(result: Evaluation) -> MentionColumns:
    """The mentions of an evaluation as columns.

    Raises:
        ChoiceError: the result was loaded or evaluated in parts, so its mentions were not kept.
    """
    live = result.in_memory
    block = live.block if isinstance(live, Whole) else None
    if block is None:
        raise ChoiceError(
            "a loaded document and an evaluation in parts do not keep the place of every mention, which "
            "tables of mentions and slice floors need.\n"
            "Evaluate again, without memory= and with one worker."
        )
    data, facts = block.data, block.data.facts
    corpus, redacted = data.inputs.corpus, result.settings.redacted
    tables = block.tables()
    names = list(tables.gold.named("bucket"))
    lists = [data.table.labels, *(system.case.labels for system in block.systems.values())]
    labels = tuple(dict.fromkeys(label for listed in lists for label in listed))
    shown = not redacted and not corpus.without_text
    arrays = _corpus_columns(corpus, data.units.of_sentence, shown=shown)
    arrays |= _side("gold", data.gold, tables.gold.labelled(labels))
    if data.toughness is not None:
        arrays["gold.tough"] = coded(tables.gold)["tough"]
    for index, (name, system) in enumerate(block.systems.items()):
        side = f"system{index}"
        arrays |= _side(side, system.case.predicted, tables.systems[name].labelled(labels))
        matching = system.case.matching
        arrays |= {
            f"{side}.outcome": matching.gold_outcome.astype(np.uint8),
            f"{side}.partner": system.case.partner.astype(np.int32),
            f"{side}.found": matching.predicted_outcome.astype(np.uint8),
        }
    gold = result.inputs[0]
    head = ColumnsHead(
        signature=result.signature,
        dataset=result.dataset.name,
        gold=result.settings.gold_digest(gold.sha256),
        path=gold.path,
        unit=data.units.kind,
        units=data.units.number,
        sentences=len(corpus),
        positions=corpus.unit,
        redacted=not shown,
        labels=labels,
        subsets=() if data.toughness is None else data.toughness.subsets,
        buckets={name: tuple(map(_without_hidden, facts.bucketings[name].buckets)) for name in names},
        systems=tuple(block.systems),
        tags=dict(result.settings.tags),
    )
    assert len(SUBSETS) <= 8  # one bit each
    return MentionColumns(head, arrays)


def _without_hidden(bucket: Bucket) -> Bucket:
    """The bucket without its value or interval, if these are hidden."""
    if not bucket.hidden:
        return bucket
    return replace(bucket, low=None, high=None, value=None if bucket.value is None else bucket.name)


def _side(side: str, mentions: Mentions, table: MentionTable) -> dict[str, Column]:
    """The columns of the mentions of one side."""
    columns: dict[str, Column] = {
        f"{side}.{name}": getattr(mentions, name).astype(np.int32) for name in ("sentence", "start", "end")
    }
    columns[f"{side}.label"] = table["label"].astype(np.min_scalar_type(len(table.labels)))
    for name, column in table.named("bucket").items():
        columns[f"{side}.bucket.{name}"] = column.astype(np.min_scalar_type(int(column.max(initial=0))))
    if mentions.parts is not None:
        for name in ("at", "start", "end"):
            columns[f"{side}.parts.{name}"] = getattr(mentions.parts, name).astype(np.int32)
    return columns
