"""Tags in columns with separators of their own: flair's `test.tsv`, and the TSV of the HIPE shared tasks."""

from __future__ import annotations

import re
from math import isnan, nan

from msgspec.structs import replace

from spanwise.columns import floats
from spanwise.corpus import Annotation, Reading
from spanwise.errors import ChoiceError, InputError, at, many
from spanwise.formats._format import Format, Options, numbered_column
from spanwise.formats._opening import File
from spanwise.formats._sentences import TaggedSentence, sentences_of, tagged_annotation, tokens_for

_LAYERS = ("gold", "predicted")


def read_flair(file: File, options: Options) -> Annotation:
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
            TaggedSentence(
                [row[0] for row in sentence],
                [str(row[column]) for row in sentence],
                lines=[row[4] for row in sentence],
            )
            for sentence in sentences
        ]
        reading = Reading(file.path, file.sha256, "flair", evidence=f"the column of {name} tags")
        result[name] = tagged_annotation(units, reading, options)
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


def recognise_flair(file: File) -> str | None:
    """A `.tsv` without tabs: `test.tsv` or `dev.tsv` of three columns, or of four, the last a number."""
    if file.suffix != ".tsv" or b"\t" in file.head:
        return None
    first = next((line for line in file.head.decode("utf-8", "replace").split("\n") if line.strip()), "")
    fields = first.split()
    named = len(fields) == 3 and file.name in ("test.tsv", "dev.tsv")
    scored = len(fields) == 4 and _is_number(fields[-1])
    return "a .tsv separated by blanks, as flair writes it" if named or scored else None


FLAIR = Format(
    name="flair",
    summary="flair's test.tsv: token, gold tag, predicted tag, perhaps a confidence",
    read=read_flair,
    read_layers=read_layers,
    recognise=recognise_flair,
    source="https://github.com/flairNLP/flair",
)


COLUMNS = ("TOKEN", "NE-COARSE-LIT", "NE-COARSE-METO", "NE-FINE-LIT", "NE-FINE-METO", "NE-FINE-COMP",
           "NE-NESTED", "NEL-LIT", "NEL-METO", "MISC")  # fmt: skip


def read_hipe(file: File, options: Options) -> Annotation:
    """The tags of NE-COARSE-LIT, or of the column that `tag_column` names.

    `# … document_id = …` begins a document. A sentence ends where MISC says EndOfSentence; a document
    without such marks is one sentence, as in the task's scorer.
    """
    lines = [line.rstrip("\r") for line in file.text.split("\n")]
    columns = lines[0].lstrip("\ufeff").split("\t")
    column = _column(file.path, columns, options)
    sentences: list[TaggedSentence] = []
    rows: list[tuple[str, str, int]] = []
    document: str | None = None

    def close() -> None:
        if rows:
            tokens, tags, numbers = zip(*rows, strict=True)
            sentences.append(TaggedSentence(tokens, tags, "", document, numbers))
        rows.clear()

    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        if line.startswith("#") and "\t" not in line:
            key, _, value = line[1:].partition("=")
            if key.strip().rpartition(":")[2] == "document_id":
                close()
                document = value.strip()
            continue
        fields = line.split("\t")
        if len(fields) != len(columns):
            raise InputError(
                at(file.path, number, f"the line has {many(len(fields), 'column')}, but the header has "
                   f"{len(columns)}.\nEvery token needs all columns of the header, separated by tabs.")
            )  # fmt: skip
        rows.append((fields[0], "O" if fields[column] in ("_", "-", "") else fields[column], number))
        if "EndOfSentence" in fields[-1]:
            close()
    close()
    reading = Reading(file.path, file.sha256, "hipe", evidence=f"the column {columns[column]}")
    return tagged_annotation(sentences, reading, options)


def _column(path: str, columns: list[str], options: Options) -> int:
    wanted = "NE-COARSE-LIT" if options.tag_column is None else options.tag_column
    if isinstance(wanted, int):
        return numbered_column(wanted, len(columns), path)
    if wanted not in columns:
        raise InputError(at(path, 1, f"the header has no column {wanted!r}.\nIt has: {', '.join(columns)}."))
    return columns.index(wanted)


def write(annotation: Annotation, scheme: str | None) -> bytes:
    """The tags as NE-COARSE-LIT; the other columns of tags are O, those of links empty."""
    annotation = tokens_for(annotation, "hipe", tokens="\t\n\r", labels="\t\n\r", empty=False)
    out = ["\t".join(COLUMNS) + "\n"]
    document: str | None = None
    for sentence in sentences_of(annotation, scheme):
        if sentence.document is not None and sentence.document != document:
            document = sentence.document
            out.append(f"# document_id = {document}\n")
        last = len(sentence.tokens) - 1
        for place, (token, tag) in enumerate(zip(sentence.tokens, sentence.tags, strict=True)):
            misc = "EndOfSentence" if place == last else "_"
            out.append("\t".join([token, tag, *"OOOOO", "_", "_", misc]) + "\n")
    return "".join(out).encode("utf-8")


def recognise_hipe(file: File) -> str | None:
    """A header that begins with TOKEN and NE-COARSE-LIT."""
    return "the header TOKEN, NE-COARSE-LIT" if file.head.startswith(b"TOKEN\tNE-COARSE") else None


HIPE = Format(
    name="hipe",
    summary="the TSV of the HIPE shared tasks",
    read=read_hipe,
    write=write,
    recognise=recognise_hipe,
    source="https://github.com/hipe-eval",
)
