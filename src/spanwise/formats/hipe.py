"""The TSV of the HIPE shared tasks: a header, comments with document ids, and columns of tags."""

from __future__ import annotations

from typing import Any

from spanwise.corpus import Annotation, Reading
from spanwise.errors import InputError, at
from spanwise.formats._format import Format, Options, numbered_column
from spanwise.formats._opening import File
from spanwise.formats._standoff import tokens_for
from spanwise.formats._tagged import Tagged, annotation, sentences_of

COLUMNS = ("TOKEN", "NE-COARSE-LIT", "NE-COARSE-METO", "NE-FINE-LIT", "NE-FINE-METO", "NE-FINE-COMP",
           "NE-NESTED", "NEL-LIT", "NEL-METO", "MISC")  # fmt: skip


def read(file: File, options: Options) -> Annotation:
    """The tags of NE-COARSE-LIT, or of the column that `tag_column` names.

    `# … document_id = …` begins a document. A sentence ends where MISC says EndOfSentence; a document
    without such marks is one sentence, as in the task's scorer.
    """
    lines = [line.rstrip("\r") for line in file.text.split("\n")]
    columns = lines[0].lstrip("\ufeff").split("\t")
    column = _column(file.path, columns, options)
    sentences: list[Tagged] = []
    rows: list[tuple[str, str, int]] = []
    document: str | None = None

    def close() -> None:
        if rows:
            tokens, tags, numbers = zip(*rows, strict=True)
            sentences.append(Tagged(tokens, tags, "", document, numbers))
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
                at(file.path, number, f"the line has {len(fields)} columns, but the header has "
                   f"{len(columns)}.\nEvery token needs all columns of the header, separated by tabs.")
            )  # fmt: skip
        rows.append((fields[0], "O" if fields[column] in ("_", "-", "") else fields[column], number))
        if "EndOfSentence" in fields[-1]:
            close()
    close()
    reading = Reading(file.path, file.sha256, "hipe", evidence=f"the column {columns[column]}")
    return annotation(sentences, reading, options)


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


def recognise(file: Any) -> str | None:
    """A header that begins with TOKEN and NE-COARSE-LIT."""
    return "the header TOKEN, NE-COARSE-LIT" if file.head.startswith(b"TOKEN\tNE-COARSE") else None


FORMAT = Format(
    name="hipe",
    summary="the TSV of the HIPE shared tasks",
    read=read,
    write=write,
    recognise=recognise,
    source="https://github.com/hipe-eval",
)
