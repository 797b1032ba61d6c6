"""Tuples in brat's standoff files: relations (R), events (E), attributes (A, M) and references (N)."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field

from spanwise.errors import InputError, at, many
from spanwise.formats import File, make_folder, write_atomically
from spanwise.formats.standoff import ann_files, mention_of_line, recognise_brat
from spanwise.formats.writing import check_free
from spanwise.relations.readers._records import Options, attribute, entity, link, mention
from spanwise.relations.records import (
    Filler,
    FillerRecord,
    MentionRecord,
    TupleFormat,
    TupleRecord,
    UnitRecord,
)

_ARGUMENT = re.compile(r"([^:\s]+):(\S+)")
_NUMBERED = re.compile(r"(.+?)[0-9]+")
_ROLES = {"Arg1": "head", "Arg2": "tail"}  # brat's usual roles of a relation
_NAMES = {role: brat for brat, role in _ROLES.items()}
_UNNAMED = "link:"  # in front of identifiers that name no database

_FORMS = {
    "R": "'R1<tab>Type Arg1:T1 Arg2:T2'",
    "E": "'E1<tab>Type:T1 Role:T2'",
    "A": "'A1<tab>Type T1' or 'A1<tab>Type T1 value'",
    "N": "'N1<tab>Reference T1 Database:identifier<tab>text'",
    "*": "'*<tab>Equiv T1 T2'",
}


class _Line(Struct, frozen=True):
    """A line below the mentions: its number, its mark such as R1, and its words."""

    number: int
    mark: str
    words: Sequence[str]


class _BratDocument(Struct):
    """The lines of one `.ann` file, by kind."""

    path: str
    mentions: list[MentionRecord] = field(default_factory=list)
    lines: dict[str, list[_Line]] = field(default_factory=lambda: {kind: [] for kind in _FORMS})
    fillers: dict[str, str] = field(default_factory=dict)  # the mention that stands for each T and E
    equal: dict[str, list[str]] = field(default_factory=dict)  # mentions of the same entity

    def wrong(self, line: _Line, what: str) -> InputError:
        """The error for a line."""
        kind = "A" if line.mark[0] == "M" else line.mark[0]
        return InputError(at(self.path, line.number, f"{what}.\nExpected {_FORMS[kind]}."))

    def mention(self, line: _Line, mark: str) -> str:
        """The mention to which a mark refers: a mention itself, or the trigger of an event."""
        if mark not in self.fillers:
            raise self.wrong(line, f"{line.mark} refers to {mark}, which is not a mention of the file")
        return self.fillers[mark]

    def filler(self, line: _Line, mark: str) -> str | FillerRecord:
        """The filler to which a mark refers: its mention, or any mention of the entity."""
        name = self.mention(line, mark)
        return entity(self.equal.get(name, [name]))

    def arguments(self, line: _Line, words: Sequence[str]) -> list[tuple[str, str]]:
        """The roles and marks of a line."""
        matches = [match for word in words if (match := _ARGUMENT.fullmatch(word)) is not None]
        if not matches or len(matches) < len(words):
            raise self.wrong(line, f"{' '.join(line.words)!r} does not name roles and mentions")
        return [(match[1], match[2]) for match in matches]


def read(file: File, options: Options) -> Iterator[UnitRecord]:
    """The tuples of an `.ann` file and its text, or of all such pairs in a folder, one record each."""
    if not file.is_folder:
        yield _record(file, Path(file.path).stem)
        return
    for path in ann_files(file):
        part = File(path, encoding=file.encoding)
        yield _record(part, str(path.relative_to(file.path).with_suffix("")))


def _record(file: File, name: str) -> UnitRecord:
    text_path = Path(file.path).with_suffix(".txt")
    if not text_path.exists():
        raise InputError(
            at(file.path, None, f"its text {text_path.name!r} is missing.\nKeep both in the same folder.")
        )
    text = File(text_path, encoding=file.encoding).text
    document = _BratDocument(file.path)
    for number, line in enumerate(file.text.split("\n"), start=1):
        line = line.rstrip("\r")
        kind = {"M": "A"}.get(line[:1], line[:1])
        if kind == "T":
            pieces, label = mention_of_line(line, text, file.path, number, [])
            mark = line.partition("\t")[0]
            document.mentions.append(mention(mark, pieces, label))
            document.fillers[mark] = mark
        elif kind in _FORMS:
            mark, _, rest = line.partition("\t")
            document.lines[kind].append(_Line(number, mark, rest.partition("\t")[0].split()))
    return UnitRecord(id=name, text=text, mentions=document.mentions, tuples=_tuples(document))


def _tuples(document: _BratDocument) -> list[TupleRecord]:
    for line in document.lines["*"]:
        names = [document.mention(line, mark) for mark in line.words[1:]]
        document.equal.update(dict.fromkeys(names, names))
    events = [(line, document.arguments(line, line.words)) for line in document.lines["E"]]
    for line, arguments in events:
        document.fillers[line.mark] = document.mention(line, arguments[0][1])
    return [
        *(_relation(document, line) for line in document.lines["R"]),
        *(_event(document, line, arguments) for line, arguments in events),
        *_attributes(document),
        *_links(document),
    ]


def _relation(document: _BratDocument, line: _Line) -> TupleRecord:
    arguments = document.arguments(line, line.words[1:])
    roles = {_ROLES.get(role, role): document.filler(line, mark) for role, mark in arguments}
    if len(roles) != 2 or len(arguments) != 2:
        raise document.wrong(line, f"{line.mark} does not have two arguments with different roles")
    return TupleRecord(type=line.words[0], roles={**roles})


def _event(document: _BratDocument, line: _Line, arguments: Sequence[tuple[str, str]]) -> TupleRecord:
    """An event; the roles Theme, Theme2, Theme3 are one role with several fillers."""
    (type, trigger), *given = arguments
    names = {role for role, _ in given}
    roles: dict[str, list[Filler]] = {}
    for role, mark in given:
        numbered = _NUMBERED.fullmatch(role)
        stem = numbered[1] if numbered is not None and numbered[1] in names else role
        roles.setdefault(stem, []).append(document.filler(line, mark))
    return TupleRecord(
        type=type,
        trigger=document.mention(line, trigger),
        roles={role: fillers[0] if len(fillers) == 1 else fillers for role, fillers in roles.items()},
    )


def _attributes(document: _BratDocument) -> Iterator[TupleRecord]:
    """The attributes of mentions and events; those of relations are left out."""
    relations = {line.mark for line in document.lines["R"]}
    for line in document.lines["A"]:
        if not 2 <= len(line.words) <= 3:
            raise document.wrong(line, f"{' '.join(line.words)!r} is not an attribute")
        type, mark, *value = line.words
        if mark not in relations:
            yield attribute(type, document.mention(line, mark), value[0] if value else "yes")


def _links(document: _BratDocument) -> Iterator[TupleRecord]:
    """One link per mention; several references of a mention are its acceptable identifiers."""
    identifiers: dict[str, list[str]] = {}
    for line in document.lines["N"]:
        if len(line.words) != 3:
            raise document.wrong(line, f"{' '.join(line.words)!r} is not a reference")
        _, mark, reference = line.words
        identifiers.setdefault(document.mention(line, mark), []).append(reference.removeprefix(_UNNAMED))
    for name, listed in identifiers.items():
        yield link(name, listed)


# ---- writing ----


def write(records: Iterable[UnitRecord], path: str | os.PathLike[str]) -> None:
    """Write a new or empty folder of `.txt` and `.ann` files, which is never there in part.

    Raises:
        InputError: brat has no place for a tuple, or the folder holds other files.
    """
    target = Path(path)
    if target.is_symlink():
        target = target.resolve()
    check_free(target, os.fspath(path))
    make_folder(target.absolute().parent)
    trial = Path(tempfile.mkdtemp(dir=target.absolute().parent, prefix=f".{target.name}."))
    try:
        for number, record in enumerate(records, start=1):
            _write_unit(record, number, trial, os.fspath(path))
        umask = os.umask(0)
        os.umask(umask)
        trial.chmod(0o777 & ~umask)
        check_free(target, os.fspath(path))
        trial.replace(target)
    except BaseException:
        shutil.rmtree(trial, ignore_errors=True)
        raise


def _write_unit(record: UnitRecord, number: int, folder: Path, shown: str) -> None:
    name = str(number if record.id is None else record.id)
    if record.document is not None:
        name = f"{record.document}/{name}"
    path = folder / f"{name}.ann"
    if not path.resolve().is_relative_to(folder.resolve()) or "\0" in name or path.exists() or not path.stem:
        raise InputError(
            at(shown, None, f"a unit is called {name!r}, which is not the name of a new file in the folder.\n"
               "Give each unit an id of its own, such as 'd1'.")
        )  # fmt: skip
    text, lines = _BratWriter(f"{shown}: {name}").unit(record)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path.with_name(f"{path.stem}.txt"), text)
    write_atomically(path, lines)


class _BratWriter(Struct):
    """Writes the lines of one document; mentions become T1, T2, …"""

    place: str
    marks: dict[str | int, str] = field(default_factory=dict)
    groups: dict[frozenset[str], None] = field(default_factory=dict)
    alone: set[str] = field(default_factory=set)  # mentions that are fillers by themselves
    lines: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def refused(self, what: str) -> InputError:
        """The error for what brat has no place for."""
        return InputError(at(self.place, None, f"brat has no place for {what}.\nWrite jsonl."))

    def add(self, kind: str, line: str) -> None:
        """Add a line with the next number of its kind."""
        number = self.numbers[kind] = self.numbers.get(kind, 0) + 1
        self.lines.append(f"{kind}{number}\t{line}\n")

    def word(self, text: object) -> str:
        """A type, label, value or identifier, which must be one word."""
        if not isinstance(text, str) or text.split() != [text]:
            raise self.refused(f"{text!r}, which is not one word")
        return text

    def role(self, text: str) -> str:
        """The name of a role or the type of an event, which a colon would end."""
        return self.word(None if ":" in text else text)

    def unit(self, record: UnitRecord) -> tuple[str, str]:
        """The contents of the `.txt` and the `.ann` file."""
        text, position = _text_of(record)
        for number, given in enumerate(record.mentions or (), start=1):
            self.marks[given.id] = f"T{number}"
            if given.head is not None:
                raise self.refused(f"the head of the mention {given.id!r}")
            pieces = [
                (position(start, False), position(end, True))
                for start, end in given.parts or [(given.start, given.end)]
            ]
            where = ";".join(f"{start} {end}" for start, end in pieces)
            quoted = " ".join(" ".join(text[start:end].split()) for start, end in pieces)
            self.add("T", f"{self.word(given.label)} {where}\t{quoted}")
        for one in record.tuples:
            self.tuple(one)
        for group in self.groups:
            if group & self.alone or sum(bool(group & other) for other in self.groups) > 1:
                raise self.refused("a mention that is one of several in one tuple and not in another")
            self.lines.append(f"*\tEquiv {' '.join(sorted(group, key=_number))}\n")
        return text, "".join(self.lines)

    def mark(self, filler: object) -> str:
        """The mark of a filler; any of several mentions becomes an equivalence."""
        names = filler.any if isinstance(filler, FillerRecord) else [filler]
        if not names or any(not isinstance(name, str | int) or name not in self.marks for name in names):
            raise self.refused("a value, a link or a list in the place of a mention")
        marks = [self.marks[name] for name in names if isinstance(name, str | int)]
        if len(marks) == 1:
            self.alone.add(marks[0])
        else:
            self.groups[frozenset(marks)] = None
        return min(marks, key=_number)

    def tuple(self, given: TupleRecord) -> None:
        """Write a tuple as a line of its kind, or several lines for alternative identifiers."""
        type, roles = self.word(given.type), given.roles
        of, value, identifier = roles.get("mention"), roles.get("value"), roles.get("link")
        if given.trigger is not None:
            self.event(given)
        elif set(roles) == {"mention", "link"} and isinstance(identifier, FillerRecord) and identifier.link:
            listed = [identifier.link] if isinstance(identifier.link, str) else identifier.link
            for name in listed:
                database = "" if ":" in name else _UNNAMED
                self.add("N", f"Reference {self.mark(of)} {database}{self.word(name)}\t{name}")
        elif set(roles) == {"mention", "value"} and isinstance(value, FillerRecord):
            shown = "" if value.value == "yes" else f" {self.word(value.value)}"
            self.add("A", f"{type} {self.mark(of)}{shown}")
        elif len(roles) == 2:
            fillers = [f"{self.role(_NAMES.get(role, role))}:{self.mark(roles[role])}" for role in roles]
            self.add("R", f"{type} {' '.join(fillers)}")
        else:
            raise self.refused(f"the tuple {type!r}, which has no trigger and {many(len(roles), 'role')}")

    def event(self, given: TupleRecord) -> None:
        """Write an event; the second filler of a role has the role's name with a 2."""
        words = [f"{self.role(given.type)}:{self.mark(given.trigger)}"]
        for role, filler in given.roles.items():
            numbered = _NUMBERED.fullmatch(role)
            if numbered is not None and numbered[1] in given.roles:
                raise self.refused(f"the roles {numbered[1]!r} and {role!r} of one event")
            fillers = filler if isinstance(filler, list) else [filler]
            for number, one in enumerate(fillers, start=1):
                words.append(f"{self.role(role)}{number if number > 1 else ''}:{self.mark(one)}")
        self.add("E", " ".join(words))


def _number(mark: str) -> int:
    return int(mark[1:])


def _text_of(record: UnitRecord) -> tuple[str, Callable[[int, bool], int]]:
    """The text of a unit, and the character at which a position begins or ends."""
    if record.tokens is None:
        return record.text or "", lambda position, end: position
    begins = [0]
    for token in record.tokens:
        begins.append(begins[-1] + len(token) + 1)
    return " ".join(record.tokens), lambda position, end: begins[position] - end


FORMAT = TupleFormat(
    name="brat",
    summary="brat standoff: relations, events, attributes and references of .ann files",
    read=read,
    recognise=recognise_brat,
    write_folder=write,
    source="https://brat.nlplab.org/standoff.html",
)
