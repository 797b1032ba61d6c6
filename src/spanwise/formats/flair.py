"""flair's `test.tsv`: tokens with gold and predicted tags, separated by blanks."""

from __future__ import annotations

import re
from math import isnan, nan

from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import floats, ints
from spanwise.corpus import Annotation, Corpus, Source
from spanwise.errors import ChoiceError, InputError, at
from spanwise.formats._format import CutSource, Cutting, Format, Options
from spanwise.formats._opening import File
from spanwise.formats._sentences import Origin, Record, annotation
from spanwise.formats._surveying import Batch, Before, after_blank_line, survey_lines
from spanwise.schemes import Tags

_LAYERS = ("gold", "predicted")
_KINDS = {name: f"the column of {name} tags" for name in _LAYERS}


def read(file: File, options: Options) -> Annotation:
    """Read the predicted tags, or the gold tags with `tag_column="gold"`."""
    column = _column(options)
    return read_layers(file, options)[column]


def _column(options: Options) -> str:
    wanted = options.tag_column if options.tag_column is not None else "predicted"
    if wanted not in _LAYERS:
        raise ChoiceError(f"a flair file has no column {wanted!r}.\nThere are: gold, predicted.")
    return str(wanted)


def read_layers(file: File, options: Options) -> dict[str, Annotation]:
    """Read both tag columns."""
    sentences = _sentences(file)
    result: dict[str, Annotation] = {}
    for column, name in enumerate(_LAYERS, start=1):
        units = [
            Record(
                [row[0] for row in sentence],
                tags=[str(row[column]) for row in sentence],
                lines=[row[4] for row in sentence],
            )
            for sentence in sentences
        ]
        origin = Origin(file.path, "flair", _KINDS[name], file.sha256)
        result[name] = annotation(units, origin, options)
        if name == "predicted" and not any(isnan(row[3]) for sentence in sentences for row in sentence):
            score = floats([row[3] for sentence in sentences for row in sentence])
            corpus = replace(result[name].corpus, columns={"score": score})
            result[name] = replace(result[name], corpus=corpus)
        options = replace(options, prefer=options.prefer or result[name].reading.scheme)
    return result


def _sentences(file: File) -> list[list[tuple[str, str, str, float, int]]]:
    """For each sentence, the token, gold tag, predicted tag, confidence and line of each token."""
    rows: list[list[tuple[str, str, str, float, int]]] = [[]]
    for number, line in enumerate(file.text.split("\n"), start=file.first_line or 1):
        line = line.strip()
        if not line:
            rows.append([])
            continue
        rows[-1].append((*_fields(line, file.path, number), number))
    return [sentence for sentence in rows if sentence]


class FlairReader(Struct, frozen=True):
    """Reads both tag columns of some lines; if only one is wanted, its layer is called "only"."""

    layers: tuple[str, str]
    evidence: str = ""

    def border(self, data: bytes) -> int:
        """The end of the last complete sentence."""
        return after_blank_line(data)

    def read(self, file: File, options: Options, before: Before) -> Batch | None:
        """The sentences of a part, without confidences, which are not used when reading in parts."""
        sentences = _sentences(file)
        if not sentences:
            return None
        lines = [row[4] for sentence in sentences for row in sentence]
        source = Source(file.path, token_lines=ints(lines))
        corpus = Corpus.of([[row[0] for row in sentence] for sentence in sentences], source=source)
        tags = {
            name: Tags.of([[str(row[column]) for row in sentence] for sentence in sentences])
            for column, name in enumerate(self.layers, start=1)
        }
        return Batch(corpus, ints([sentence[0][4] for sentence in sentences]), tags=tags)


def survey(file: File, options: Options, cutting: Cutting) -> CutSource | None:
    """Scan a file and decide where to cut it, for the predicted tags, the given column or both."""
    layers = _LAYERS if cutting.merged else ("only", "predicted")
    if not cutting.merged and _column(options) == "predicted":
        layers = ("gold", "only")  # predictions are assumed to use the scheme of gold
    kinds = dict(zip(layers, _KINDS.values(), strict=True))
    reader = FlairReader(layers)
    return survey_lines("flair", lambda *_: reader, file, options, cutting, kinds=kinds)


def _fields(line: str, path: str, number: int) -> tuple[str, str, str, float]:
    fields, score = line.split(" "), nan
    if len(fields) > 3 and _is_number(fields[-1]):
        score = float(fields.pop())
    if len(fields) < 3:
        raise InputError(
            at(path, number, f"{line!r} has {len(fields)} columns.\nExpected 'token gold predicted', "
               "perhaps followed by a confidence.")
        )  # fmt: skip
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
    read=read,
    read_layers=read_layers,
    recognise=recognise,
    survey=survey,
    source="https://github.com/flairNLP/flair",
)
