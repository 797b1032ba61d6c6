"""Files of tuples as records: the form that every reader yields, the registry of readers, and JSON lines.

A record is one unit, a sentence or a document, with its mentions and its tuples; `UnitRecord` has exactly
the keys of a line of a JSONL file. A reader is a function that takes an open `File` and a mapping of options
and yields records in the order of the file, each with the `line` it begins on, if it has one. To plug one
in, write a module of this room with

    FORMAT = TupleFormat("name", "one line about it", read, recognise)

and add it to `_HOMES`; other packages use the entry point group `spanwise.tuple_formats`. Mentions that a
format writes inside its tuples get ids of the reader's choice. A record without `mentions` refers to the
mentions that gold has in the unit with the same id, as the submissions of some shared tasks do. Readers check
what their syntax demands; that ids exist, that positions fit and that nothing is contradictory is checked
in one place, `spanwise.relations.corpus`, with the file and line of the record.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from spanwise.errors import InputError, at
from spanwise.formats import File, RepeatedKey, parse_json, write_atomically
from spanwise.registry import Registry, resolve

# ---- the form of a record ------------------------------------------------------------------------


class MentionRecord(Struct, kw_only=True, omit_defaults=True, gc=False):
    """A mention: half-open positions in its unit, in tokens if the unit has tokens, else in characters."""

    id: str | int
    start: int
    end: int
    label: str = ""
    head: int | None = None  # the position of its head; by default its last token
    parts: list[tuple[int, int]] | None = None  # the pieces of a mention with gaps


class FillerRecord(Struct, kw_only=True, omit_defaults=True, gc=False):
    """A filler that is not the id of one mention; exactly one of its fields is given."""

    any: list[str | int] | None = None  # the mentions of one entity, any of which is right
    value: str | int | float | bool | None = None
    link: list[str] | str | None = None  # an identifier; in gold, several may be right


Filler = str | int | FillerRecord  # a string or number is the id of a mention


class TupleRecord(Struct, kw_only=True, omit_defaults=True, gc=False):
    """A typed tuple, with one filler or a list of fillers for each role, and a trigger if it is an event."""

    type: str
    trigger: str | int | FillerRecord | None = None
    roles: dict[str, str | int | FillerRecord | list[str | int | FillerRecord]] = {}


class UnitRecord(Struct, kw_only=True, omit_defaults=True, gc=False):
    """A sentence or document with its mentions and tuples."""

    id: str | int | None = None
    document: str | int | None = None  # of a sentence: the document that it belongs to
    tokens: list[str] | None = None
    text: str | None = None
    sentences: list[int] | None = None  # of a document: the position at which each sentence begins
    mentions: list[MentionRecord] | None = None  # None: those that gold has in this unit
    tuples: list[TupleRecord] = []
    line: int | None = None  # in its file; set by readers and never written


# ---- readers -------------------------------------------------------------------------------------


class TupleFormat(Struct, frozen=True):
    """A format of files with tuples.

    `read(file, options)` yields the records of a file; options are the keywords that the user gave for
    reading, such as `columns`. `recognise(file)` looks at the file's `head` and `suffix` and returns the
    evidence in words, or None. `write(records)` returns the bytes of a file; `write_folder(records, folder)`
    writes a format of several files.
    """

    name: str
    summary: str
    read: Callable[[File, Mapping[str, Any]], Iterator[UnitRecord]]
    recognise: Callable[[File], str | None]
    write: Callable[[Iterable[UnitRecord]], bytes] | None = None
    write_folder: Callable[[Iterable[UnitRecord], str | os.PathLike[str]], None] | None = None
    source: str = ""


# Where each format is defined, in the order in which they are tried.
_HOMES = (
    "readers.brat:FORMAT", "readers.webanno:FORMAT", "readers.columns:HIPE", "readers.pubtator:FORMAT",
    "readers.label_studio:FORMAT", "readers.json_lists:DOCRED", "readers.json_lists:SPERT",
    "readers.json_lists:DYGIE", "readers.columns:CONLLU", "records:JSONL",
)  # fmt: skip


class _TupleFormats(Registry[TupleFormat]):
    """The registry of formats of tuples, which imports them on first use."""

    _complete = False

    def _load(self) -> None:
        if not self._complete:
            formats: list[TupleFormat] = [resolve(f"relations.{home}") for home in _HOMES]
            self._complete = True
            for form in formats:
                self.add(form)
        super()._load()


TUPLE_FORMATS: Registry[TupleFormat] = _TupleFormats("format of tuples", group="spanwise.tuple_formats")


def tuple_format_of(file: File) -> TupleFormat:
    """The format of a file, recognised by its suffix and its beginning.

    Raises:
        InputError: no format recognises the file.
    """
    for form in TUPLE_FORMATS:
        if form.recognise(file) is not None:
            return form
    raise InputError(
        at(file.path, None, "no format of files with tuples fits.\n"
           f"Name it with format=, one of: {', '.join(TUPLE_FORMATS.names())}.")
    )  # fmt: skip


def holds_tuples(file: File) -> bool:
    """Whether a format of files with tuples recognises the file; all of these formats are text."""
    try:
        return any(form.recognise(file) is not None for form in TUPLE_FORMATS)
    except InputError:  # not text, such as Arrow
        return False


def read_records(
    source: str | os.PathLike[str] | File,
    *,
    format: str | TupleFormat | None = None,
    **options: Any,
) -> Iterator[UnitRecord]:
    """The records of a file in its order.

    Args:
        source: a file with tuples, or a folder if the format has folders.
        format: the name of its format; by default it is recognised.
        options: what the format needs in addition, such as `columns`.

    Raises:
        InputError: the file cannot be read; the message names the file and the line.
    """
    file = source if isinstance(source, File) else File(source)
    form = tuple_format_of(file) if format is None else TUPLE_FORMATS.find(format)
    return form.read(file, options)


def write_records(
    records: Iterable[UnitRecord], path: str | os.PathLike[str], *, format: str | TupleFormat = "jsonl"
) -> None:
    """Write records to a file.

    Raises:
        InputError: the format cannot be written.
    """
    form = TUPLE_FORMATS.find(format)
    if form.write_folder is not None:
        form.write_folder(records, path)
        return
    if form.write is None:
        able = ", ".join(one.name for one in TUPLE_FORMATS if one.write or one.write_folder)
        raise InputError(f"tuples cannot be written as {form.name!r}.\nThere are: {able}.")
    write_atomically(path, form.write(records))


def records_of(source: Iterable[UnitRecord | Mapping[str, Any]], name: str) -> list[UnitRecord]:
    """Records given in Python, as `UnitRecord`s or as mappings with their keys.

    Examples:
        >>> (one,) = records_of([{"mentions": [{"id": "m1", "start": 0, "end": 2}]}], "gold")
        >>> one.mentions[0].end
        2
    """
    records = []
    for number, record in enumerate(source, 1):
        try:
            records.append(msgspec.convert(record, UnitRecord))
        except msgspec.ValidationError as error:
            raise InputError(f"{name}: record {number}: {_in_words(error)}") from None
    return records


# ---- JSON lines ----------------------------------------------------------------------------------

_DECODER = msgspec.json.Decoder(UnitRecord)
_FORM = (
    "A record has 'tokens', 'mentions' with 'id', 'start' and 'end', and 'tuples' with 'type' and 'roles'."
)
_TYPES = {
    "int": "a whole number", "str": "a string", "array": "a list", "object": "an object", "null": "null",
    "bool": "true or false", "float": "a number",
}  # fmt: skip
_EXPECTED = re.compile(r"Expected `([^`]+)`, got `([^`]+)`(?: - at `\$\.?(.*)`)?")
_MISSING = re.compile(r"Object missing required field `([^`]+)`(?: - at `\$\.?(.*)`)?")


def _in_words(error: msgspec.ValidationError) -> str:
    """What is wrong with the form of a record, as a sentence, and the form that is expected.

    Examples:
        >>> print(_in_words(msgspec.ValidationError("Expected `int`, got `str` - at `$.mentions[0].start`")))
        'mentions[0].start' is a string, but must be a whole number.
        A record has 'tokens', 'mentions' with 'id', 'start' and 'end', and 'tuples' with 'type' and 'roles'.
    """
    text = str(error)
    if (match := _EXPECTED.fullmatch(text)) is not None:
        names = [_TYPES.get(name.strip(), name.strip()) for name in match[1].split("|")]
        wanted = " or ".join(name for name in names if name != "null")
        where = f"'{match[3]}'" if match[3] else "the record"
        text = f"{where} is {_TYPES.get(match[2], match[2])}, but must be {wanted}."
    elif (match := _MISSING.fullmatch(text)) is not None:
        text = f"'{match[2]}' has no '{match[1]}'." if match[2] else f"the record has no '{match[1]}'."
    return f"{text}\n{_FORM}"


def decoded_lines(data: bytes, path: str, first_line: int = 0) -> Iterator[UnitRecord]:
    """The records of whole lines of a file; `first_line` is the number of lines before them."""
    try:
        for number, line in enumerate(data.split(b"\n"), first_line + 1):
            if line and not line.isspace():
                record = _DECODER.decode(line)
                record.line = number
                yield record
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _explained(line, path, number) from None


def _explained(line: bytes, path: str, number: int) -> InputError:
    """Why a line cannot be read as a record."""
    try:
        msgspec.convert(parse_json(line.decode("utf-8")), UnitRecord)
    except msgspec.ValidationError as error:
        return InputError(at(path, number, _in_words(error)))
    except RepeatedKey as error:
        return error.at(path, number)
    except UnicodeDecodeError:
        return InputError(at(path, number, "the line is not UTF-8.\nConvert the file to UTF-8."))
    except (ValueError, RecursionError):
        pass
    return InputError(at(path, number, f"the line is not JSON.\n{_FORM}"))


def whole_lines(file: File) -> Iterator[bytes]:
    """The bytes of a file in pieces of whole lines; the file knows its hash afterwards."""
    rest = b""
    for piece in file.chunks(1 << 22):
        rest += piece
        end = rest.rfind(b"\n") + 1
        if end:
            yield rest[:end]
            rest = rest[end:]
    if rest:
        yield rest


def _read_jsonl(file: File, options: Mapping[str, Any]) -> Iterator[UnitRecord]:
    line = 0
    for piece in whole_lines(file):
        yield from decoded_lines(piece, file.path, line)
        line += piece.count(b"\n")


def _recognise_jsonl(file: File) -> str | None:
    first = next((line for line in file.head.split(b"\n") if line.strip()), b"")
    if not first.lstrip().startswith(b"{"):
        return None
    keys = [key for key in ("tuples", "mentions") if f'"{key}"'.encode() in first]
    return f"JSON lines with {' and '.join(keys)}" if keys else None


def _write_jsonl(records: Iterable[UnitRecord]) -> bytes:
    lines = []
    for record in records:
        if record.line is not None:
            record = msgspec.structs.replace(record, line=None)
        lines.append(msgspec.json.encode(record))
    return b"".join(line + b"\n" for line in lines)


JSONL = TupleFormat(
    "jsonl", "one unit per line: tokens or text, mentions, and tuples of mentions", _read_jsonl,
    _recognise_jsonl, _write_jsonl,
)  # fmt: skip
