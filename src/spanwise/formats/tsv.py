"""Tags in columns of other tools: flair's `test.tsv`, the TSV of the HIPE shared tasks, CoNLL-U (Plus)."""

from __future__ import annotations

import re
from collections.abc import Sequence
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


HIPE_COLUMNS = ("TOKEN", "NE-COARSE-LIT", "NE-COARSE-METO", "NE-FINE-LIT", "NE-FINE-METO", "NE-FINE-COMP",
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


def write_hipe(annotation: Annotation, scheme: str | None) -> bytes:
    """The tags as NE-COARSE-LIT; the other columns of tags are O, those of links empty."""
    annotation = tokens_for(annotation, "hipe", tokens="\t\n\r", labels="\t\n\r", empty=False)
    out = ["\t".join(HIPE_COLUMNS) + "\n"]
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
    write=write_hipe,
    recognise=recognise_hipe,
    source="https://github.com/hipe-eval",
)


# ---- CoNLL-U and CoNLL-U Plus: tags in a key of the column MISC, or in a column of their own ----


CONLLU_COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
# Keys of MISC and names of columns under which entity tags are found, in this order.
NAMES = ("NER", "NE", "Ner", "ner", "Entity", "NamedEntity", "BIO", "IOB")


def read_conllu(file: File, options: Options) -> Annotation:
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
    return CONLLU_COLUMNS


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


def write_conllu(annotation: Annotation, scheme: str | None) -> bytes:
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


def recognise_conllu(file: File) -> str | None:
    """The suffix, `# global.columns`, or lines of ten columns of which the first counts from 1."""
    if file.suffix in (".conllu", ".conllup"):
        return f"the suffix {file.suffix}"
    lines = file.head.split(b"\n")
    if any(line.replace(b" ", b"").startswith(b"#global.columns=") for line in lines[:5]):
        return "'# global.columns ='"
    first = next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
    fields = first.split(b"\t")
    return "ten columns, the first one numbers" if len(fields) == 10 and fields[0] in (b"1", b"1-2") else None


CONLLU = Format(
    name="conllu",
    summary="CoNLL-U and CoNLL-U Plus, entities in MISC or a column",
    read=read_conllu,
    write=write_conllu,
    recognise=recognise_conllu,
    suffixes=(".conllu", ".conllup"),
    source="https://universaldependencies.org/format.html",
)
