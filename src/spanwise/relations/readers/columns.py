"""Links in column formats: the NEL columns of HIPE, and columns or keys of MISC in CoNLL-U."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from spanwise.corpus import Annotation
from spanwise.errors import InputError, at
from spanwise.formats import File
from spanwise.formats import read as read_mentions
from spanwise.formats.tsv import (
    conllu_columns,
    misc_keys,
    recognise_conllu,
    recognise_hipe,
)
from spanwise.relations.readers._records import Options, link, mention
from spanwise.relations.records import MentionRecord, TupleFormat, TupleRecord, UnitRecord

LINK_KEYS = ("NEL", "Link", "LinkTo", "Wikidata", "Wikipedia", "Wikification", "QID")
NOT_LINKED = ("", "_", "-")


def read_hipe_links(file: File, options: Options) -> Iterator[UnitRecord]:
    """The mentions of NE-COARSE-LIT with the links of NEL-LIT, sentence by sentence.

    With the column NEL-METO, those of NE-COARSE-METO. A mention has the link of its first token;
    identifiers separated by `|` are alternatives.
    """
    header = file.first_lines(1)[0].lstrip("\ufeff").split("\t")
    wanted = str(options.get("column") or "NEL-LIT")
    if wanted not in header:
        raise InputError(
            at(file.path, 1, f"the header has no column {wanted!r}.\nIt has: {', '.join(header)}.")
        )
    column = header.index(wanted)
    tags = "NE-COARSE-METO" if wanted == "NEL-METO" else "NE-COARSE-LIT"
    annotation = read_mentions(file, format="hipe", tag_column=options.get("tag_column") or tags)
    yield from _linked(file, annotation, lambda fields: fields[column].split("|"))


def read_conllu_links(file: File, options: Options) -> Iterator[UnitRecord]:
    """The mentions of a CoNLL-U file with their links, from a column or a key of MISC, sentence by sentence.

    By default the first column or key of NEL, Link, Wikidata … In a column, alternatives are separated by
    `|`; under a key of MISC, by commas.
    """
    annotation = read_mentions(file, format="conllu", tag_column=options.get("tag_column"))
    columns = conllu_columns(file)
    names = (str(options["column"]),) if options.get("column") else LINK_KEYS
    named = [name for name in names if name in columns]
    if named:
        column = columns.index(named[0])
        yield from _linked(file, annotation, lambda fields: fields[column].split("|"))
        return
    misc = columns.index("MISC") if "MISC" in columns else -1

    def identifiers(fields: Sequence[str]) -> list[str]:
        keys = misc_keys(fields[misc]) if misc >= 0 else {}
        return next((keys[name].split(",") for name in names if name in keys), [])

    yield from _linked(file, annotation, identifiers)


def _linked(
    file: File, annotation: Annotation, identifiers: Callable[[Sequence[str]], Sequence[str]]
) -> Iterator[UnitRecord]:
    """A record per sentence; the link of a mention stands in the line of its first token."""
    lines = file.text.split("\n")
    corpus = annotation.corpus
    at_token = corpus.source.token_lines if corpus.source is not None else None
    assert at_token is not None
    mentions: list[list[MentionRecord]] = [[] for _ in range(len(corpus))]
    links: list[list[TupleRecord]] = [[] for _ in range(len(corpus))]
    for sentence, start, end, label in annotation.mentions.rows():
        name = f"m{len(mentions[sentence]) + 1}"
        mentions[sentence].append(mention(name, ((start, end),), label))
        line = lines[int(at_token[corpus.sentences[sentence] + start]) - 1]
        given = [it for it in identifiers(line.rstrip("\r").split("\t")) if it not in NOT_LINKED]
        if given:
            links[sentence].append(link(name, given))
    document_of, documents = corpus.document_of_sentence, corpus.document_ids
    for number in range(len(corpus)):
        first = int(at_token[corpus.sentences[number]])
        name = corpus.ids[number] if corpus.ids is not None else ""
        yield UnitRecord(
            id=name or str(number + 1),
            document=documents[document_of[number]] if document_of is not None and documents else None,
            tokens=corpus.words(number),
            mentions=mentions[number],
            tuples=links[number],
            line=first,
        )


HIPE = TupleFormat(
    name="hipe",
    summary="the TSV of the HIPE shared tasks: links of the columns NEL-LIT and NEL-METO",
    read=read_hipe_links,
    recognise=recognise_hipe,
    source="https://github.com/hipe-eval",
)
CONLLU = TupleFormat(
    name="conllu",
    summary="CoNLL-U: links in a column or under a key of MISC, beside entity tags",
    read=read_conllu_links,
    recognise=recognise_conllu,
    source="https://universaldependencies.org/format.html",
)
