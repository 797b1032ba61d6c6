"""flair's `test.tsv`: tokens with gold and predicted tags, separated by blanks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import nan

from msgspec import Struct

from spanwise.errors import ChoiceError
from spanwise.formats._format import NO_TOKENS, Format, Options, Problem
from spanwise.formats._opening import File
from spanwise.formats._sentences import Part, Record

LAYERS = ("gold", "predicted")


class ChosenColumn(Struct, frozen=True):
    """The column of tags to read: the predicted ones, or the gold ones with `tag_column="gold"`."""

    layer: str

    @classmethod
    def of(cls, file: File, options: Options) -> ChosenColumn:
        """The column that the options choose."""
        wanted = options.tag_column if options.tag_column is not None else "predicted"
        if wanted not in LAYERS:
            raise ChoiceError(f"a flair file has no column {wanted!r}.\nThere are: gold, predicted.")
        return cls(str(wanted))


def records(part: Part, options: Options) -> Iterator[Record | Problem]:
    """The sentences with both columns of tags."""
    rows: list[tuple[str, str, str, float, int]] = []
    for number, line in part.lines():
        if fields := line.strip():
            row = _fields(fields)
            if row is None:
                columns = len(fields.split(" "))
                yield Problem(
                    number,
                    f"{fields!r} has {columns} columns.\n"
                    "Expected 'token gold predicted', perhaps followed by a confidence.",
                )
            else:
                rows.append((*row, number))
        elif rows:
            yield _record(rows)
            rows = []
    if rows:
        yield _record(rows)


def _record(rows: list[tuple[str, str, str, float, int]]) -> Record:
    words, gold, predicted, scores, lines = zip(*rows, strict=True)
    return Record(
        words,
        tags=gold,
        line=lines[0],
        lines=lines,
        predicted=Record(words, tags=predicted, scores=scores),
    )


def _fields(line: str) -> tuple[str, str, str, float] | None:
    """The token, both tags and the confidence of a line; None if it has too few columns."""
    fields, score = line.split(" "), nan
    if len(fields) > 3 and _is_number(fields[-1]):
        score = float(fields.pop())
    if len(fields) < 3:
        return None
    # A token may contain blanks; tags may not.
    return " ".join(fields[:-2]), fields[-2], fields[-1], score


_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:e-?\d+)?|\.\d+(?:e-?\d+)?", re.ASCII)


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def recognise(file: File) -> str | None:
    """Recognise a `.tsv` without tabs: `test.tsv` or `dev.tsv` of three columns, or four with a number."""
    if file.suffix != ".tsv" or b"\t" in file.head:
        return None
    first = next((line for line in file.head.decode("utf-8", "replace").split("\n") if line.strip()), "")
    fields = first.split()
    named = len(fields) == 3 and file.name in ("test.tsv", "dev.tsv")
    scored = len(fields) == 4 and _is_number(fields[-1])
    return "a .tsv separated by blanks, as flair writes it" if named or scored else None


FORMAT = Format(
    name="flair",
    summary="flair's test.tsv: token, gold tag, predicted tag, perhaps a confidence",
    recognise=recognise,
    records=records,
    empty=NO_TOKENS,
    layers={name: f"the column of {name} tags" for name in LAYERS},
    opened=ChosenColumn.of,
    source="https://github.com/flairNLP/flair",
)
