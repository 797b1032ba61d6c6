"""flair's `test.tsv`: token, gold tag, predicted tag and perhaps the confidence, separated by blanks."""

from __future__ import annotations

import re
from math import isnan, nan
from typing import Any

from msgspec.structs import replace

from spanwise.columns import floats
from spanwise.corpus import Annotation, Reading
from spanwise.errors import ChoiceError, InputError, at
from spanwise.formats._format import Format, Options
from spanwise.formats._opening import File
from spanwise.formats._tagged import Tagged, annotation

_LAYERS = ("gold", "predicted")


def read(file: File, options: Options) -> Annotation:
    """The predicted tags, or with `tag_column="gold"` the gold ones."""
    wanted = options.tag_column if options.tag_column is not None else "predicted"
    if wanted not in _LAYERS:
        raise ChoiceError(f"a file of flair has no column {wanted!r}.\nThere are: gold, predicted.")
    return read_layers(file, options)[str(wanted)]


def read_layers(file: File, options: Options) -> dict[str, Annotation]:
    """Both columns of tags."""
    rows: list[list[tuple[str, str, str, float, int]]] = [[]]
    for number, line in enumerate(file.text.split("\n"), start=1):
        line = line.strip()
        if not line:
            rows.append([])
            continue
        rows[-1].append((*_fields(line, file.path, number), number))
    sentences = [sentence for sentence in rows if sentence]
    result: dict[str, Annotation] = {}
    for column, name in enumerate(_LAYERS, start=1):
        units = [
            Tagged(
                [row[0] for row in sentence],
                [str(row[column]) for row in sentence],
                lines=[row[4] for row in sentence],
            )
            for sentence in sentences
        ]
        reading = Reading(file.path, file.sha256, "flair", evidence=f"the column of {name} tags")
        result[name] = annotation(units, reading, options)
        if name == "predicted" and not any(isnan(row[3]) for sentence in sentences for row in sentence):
            score = floats([row[3] for sentence in sentences for row in sentence])
            corpus = replace(result[name].corpus, columns={"score": score})
            result[name] = replace(result[name], corpus=corpus)
        options = replace(options, prefer=options.prefer or result[name].reading.scheme)
    return result


def _fields(line: str, path: str, number: int) -> tuple[str, str, str, float]:
    fields, score = line.split(" "), nan
    if len(fields) > 3 and _is_number(fields[-1]):
        score = float(fields.pop())
    if len(fields) < 3:
        raise InputError(
            at(path, number, f"{line!r} has {len(fields)} columns.\nExpected 'token gold predicted', "
               "perhaps followed by a confidence.")
        )  # fmt: skip
    # A token may hold blanks; tags may not.
    return " ".join(fields[:-2]), fields[-2], fields[-1], score


_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:e-?\d+)?|\.\d+(?:e-?\d+)?", re.ASCII)


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def recognise(file: Any) -> str | None:
    """A `.tsv` without tabs: `test.tsv` or `dev.tsv` of three columns, or of four, the last a number."""
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
    read=read,
    read_layers=read_layers,
    recognise=recognise,
    source="https://github.com/flairNLP/flair",
)
