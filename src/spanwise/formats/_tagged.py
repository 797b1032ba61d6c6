"""Lists of sentences with one tag a token become annotations, and back."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import ints
from spanwise.corpus import Annotation, Corpus, Reading, Source
from spanwise.errors import InputError, at
from spanwise.formats._format import Options, annotated
from spanwise.schemes import Tags, encode


class Tagged(Struct, frozen=True):
    """A sentence with its tags, as a file gives it; `lines` are those of its tokens."""

    tokens: Sequence[str]
    tags: Sequence[str]
    id: str = ""
    document: str | None = None
    lines: Sequence[int] = ()


def annotation(sentences: Sequence[Tagged], reading: Reading, options: Options) -> Annotation:
    """The annotation of tagged sentences; neighbours with the same `document` make a document."""
    if not any(sentence.tokens for sentence in sentences):
        raise InputError(
            at(
                reading.path,
                None,
                "there is no token in it.\nGive a file with a token and a tag in each line.",
            )
        )
    lines = [line for sentence in sentences for line in sentence.lines]
    source = Source(reading.path, token_lines=ints(lines) if lines else None)
    corpus = Corpus.of([sentence.tokens for sentence in sentences], source=source)
    if any(sentence.id for sentence in sentences):
        corpus = replace(corpus, ids=tuple(sentence.id for sentence in sentences))
    names = [sentence.document for sentence in sentences]
    if options.documents != "none" and any(name is not None for name in names):
        begins = [i for i in range(len(names)) if i == 0 or names[i] != names[i - 1]]
        corpus = replace(
            corpus,
            documents=ints([*begins, len(names)]),
            document_ids=tuple(names[i] or "" for i in begins),
        )
    return annotated(corpus, Tags.of([sentence.tags for sentence in sentences]), options, reading)


def sentences_of(annotation: Annotation, scheme: str | None) -> list[Tagged]:
    """The sentences of an annotation with tags in `scheme`, IOB2 unless named."""
    corpus = annotation.corpus
    tags = encode(annotation.mentions, corpus.lengths, scheme or "IOB2").lists()
    owner = corpus.document_of_sentence
    names = corpus.document_ids
    result = []
    for number, marks in enumerate(tags):
        document = None
        if owner is not None:
            which = int(owner[number])
            document = names[which] if names else str(which + 1)
        name = corpus.ids[number] if corpus.ids else ""
        result.append(Tagged(corpus.words(number), marks, name, document))
    return result
