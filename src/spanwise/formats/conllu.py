"""CoNLL-U and CoNLL-U Plus: entity tags in a key of the MISC column or in a column of their own."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.corpus import Annotation, Reading
from spanwise.errors import InputError, at, many
from spanwise.formats._format import Format, Options, numbered_column
from spanwise.formats._opening import File
from spanwise.formats._sentences import TaggedSentence, sentences_of, tagged_annotation, tokens_for

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
# Keys of MISC and names of columns under which entity tags are found, in this order.
NAMES = ("NER", "NE", "Ner", "ner", "Entity", "NamedEntity", "BIO", "IOB")


def read(file: File, options: Options) -> Annotation:
    """The tags of a file; multiword ranges and empty nodes are no tokens of their own.

    `tag_column` names the column or the key of MISC; without it, the first of NER, NE, Entity …
    that occurs. A token without the key is O.
    """
    lines = [line.rstrip("\r") for line in file.text.split("\n")]
    columns = _columns(lines)
    form = columns.index("FORM") if "FORM" in columns else 1
    if form >= len(columns):
        raise InputError(
            at(file.path, None, "'# global.columns =' names no column FORM, which holds the tokens.\n"
               "Name the columns of the file, such as '# global.columns = ID FORM NER'.")
        )  # fmt: skip
    where = _where(file.path, lines, columns, options)
    sentences: list[TaggedSentence] = []
    rows: list[tuple[str, str, int]] = []
    name, document, anonymous = "", None, 0

    def close() -> None:
        if rows:
            tokens, tags, numbers = zip(*rows, strict=True)
            sentences.append(TaggedSentence(tokens, tags, name, document, numbers))
        rows.clear()

    for number, line in enumerate(lines, start=1):
        if not line.strip():
            close()
            name = ""
        elif line.startswith("#"):
            key, _, value = line[1:].partition("=")
            if key.strip() == "sent_id":
                name = value.strip()
            elif key.split()[:1] == ["newdoc"]:
                close()
                anonymous += 1
                document = value.strip() or f"document {anonymous}"
        else:
            fields = line.split("\t")
            if len(fields) != len(columns):
                raise InputError(
                    at(file.path, number, f"the line has {many(len(fields), 'column')}, but "
                       f"{len(columns)} are expected.\nCoNLL-U has ten columns separated by tabs; "
                       "CoNLL-U Plus names its own in '# global.columns ='.")
                )  # fmt: skip
            if fields[0].isdigit() or "ID" not in columns:
                rows.append((fields[form], _tag(fields, where), number))
    close()
    evidence = f"the {'key of MISC' if where[1] else 'column'} {where[1] or columns[where[0]]}"
    reading = Reading(file.path, file.sha256, "conllu", evidence=evidence)
    return tagged_annotation(sentences, reading, options)


def _columns(lines: Sequence[str]) -> tuple[str, ...]:
    for line in lines[:5]:
        key, _, value = line.partition("=")
        if key.replace(" ", "") == "#global.columns":
            return tuple(value.split())
    return COLUMNS


def _where(
    path: str, lines: Sequence[str], columns: Sequence[str], options: Options
) -> tuple[int, str | None]:
    """The column that holds the tags, and the key of MISC that does."""
    wanted = options.tag_column
    if isinstance(wanted, int):
        return numbered_column(wanted, len(columns), path), None
    names = NAMES if wanted is None else (wanted,)
    for name in names:
        short = name.rpartition(":")[2]
        for column, full in enumerate(columns):
            if full != "MISC" and name.lower() in (full.lower(), full.rpartition(":")[2].lower()):
                return column, None
        if "MISC" in columns:
            place = columns.index("MISC")
            for line in lines:
                fields = line.split("\t")
                if len(fields) == len(columns) and short in _keys(fields[place]):
                    return place, short
    looked = ", ".join(names)
    raise InputError(
        at(path, None, f"no column and no key of MISC holds entities; looked for {looked}.\n"
           "Name it, such as tag_column='NER'.")
    )  # fmt: skip


def _keys(misc: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in misc.split("|"))
    return {key: value for key, _, value in pairs}


def _tag(fields: Sequence[str], where: tuple[int, str | None]) -> str:
    column, key = where
    value = _keys(fields[column]).get(key, "O") if key else fields[column]
    return "O" if value in ("_", "*", "") else value


def write(annotation: Annotation, scheme: str | None) -> bytes:
    """CoNLL-U with `NER=` in MISC and nothing in the other columns."""
    annotation = tokens_for(annotation, "conllu", tokens="\t\n\r", labels="\t\n\r|", empty=False)
    out: list[str] = []
    document: str | None = None
    for number, sentence in enumerate(sentences_of(annotation, scheme), start=1):
        if sentence.document is not None and sentence.document != document:
            document = sentence.document
            out.append(f"# newdoc id = {document}\n")
        out.append(f"# sent_id = {sentence.id or number}\n")
        for place, (token, tag) in enumerate(zip(sentence.tokens, sentence.tags, strict=True), start=1):
            out.append("\t".join([str(place), token, *"_______", f"NER={tag}"]) + "\n")
        out.append("\n")
    return "".join(out).encode("utf-8")


def recognise(file: File) -> str | None:
    """The suffix, `# global.columns`, or lines of ten columns of which the first counts from 1."""
    if file.suffix in (".conllu", ".conllup"):
        return f"the suffix {file.suffix}"
    lines = file.head.split(b"\n")
    if any(line.replace(b" ", b"").startswith(b"#global.columns=") for line in lines[:5]):
        return "'# global.columns ='"
    first = next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
    fields = first.split(b"\t")
    return "ten columns, the first one numbers" if len(fields) == 10 and fields[0] in (b"1", b"1-2") else None


FORMAT = Format(
    name="conllu",
    summary="CoNLL-U and CoNLL-U Plus, entities in MISC or a column",
    read=read,
    write=write,
    recognise=recognise,
    suffixes=(".conllu", ".conllup"),
    source="https://universaldependencies.org/format.html",
)
