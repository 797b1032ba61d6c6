"""Random annotators over random text, for laws and peers."""

from __future__ import annotations

import random
from collections.abc import Sequence

from spanwise.corpus import Annotation
from spanwise.formats import from_spans

LABELS = ("LOC", "ORG", "PER")
Span = tuple[int, int, str]


def random_spans(
    generator: random.Random, length: int, labels: Sequence[str] = LABELS, *, chance: float = 0.35
) -> list[Span]:
    """Disjoint mentions in a sentence of `length` tokens."""
    spans: list[Span] = []
    at = 0
    while at < length:
        if generator.random() < chance:
            end = min(at + generator.randint(1, 3), length)
            spans.append((at, end, generator.choice(labels)))
            at = end
        else:
            at += 1
    return spans


def changed(generator: random.Random, spans: Sequence[Span], length: int) -> list[Span]:
    """A copy of the mentions with some dropped, relabelled, shortened or added."""
    kept: list[Span] = []
    for start, end, label in spans:
        chance = generator.random()
        if chance < 0.15:
            continue
        if chance < 0.3:
            label = generator.choice(LABELS)
        if chance > 0.85 and end - start > 1:
            end -= 1
        kept.append((start, end, label))
    covered = {at for start, end, _ in kept for at in range(start, end)}
    free = [at for at in range(length) if at not in covered]
    if free and generator.random() < 0.3:
        at = generator.choice(free)
        kept.append((at, at + 1, generator.choice(LABELS)))
    return sorted(kept)


def texts(generator: random.Random, documents: int, sentences: int) -> list[list[list[str]]]:
    """The tokens of each sentence of each document; no two documents share a word."""
    return [
        [
            [f"d{document}w{generator.randrange(30)}" for _ in range(generator.randint(3, 12))]
            for _ in range(generator.randint(1, sentences))
        ]
        for document in range(documents)
    ]


def annotation(
    text: Sequence[Sequence[Sequence[str]]], spans: Sequence[Sequence[Sequence[Span]]]
) -> Annotation:
    """An annotation of these texts and mentions, with document boundaries."""
    from msgspec.structs import replace

    from spanwise.columns import offsets

    flat = from_spans(
        [list(sentence) for document in spans for sentence in document],
        tokens=[list(sentence) for document in text for sentence in document],
    )
    return replace(flat, corpus=replace(flat.corpus, documents=offsets([len(document) for document in text])))


Case = tuple[list[list[list[str]]], dict[str, list[list[list[Span]] | None]]]


def campaign(seed: int, *, annotators: int = 3, documents: int = 4, missing: float = 0.0) -> Case:
    """Text, and the mentions by annotator and document; None where the annotator did not get the document."""
    generator = random.Random(seed)
    text = texts(generator, documents, 4)
    base = [[random_spans(generator, len(sentence)) for sentence in document] for document in text]
    work: dict[str, list[list[list[Span]] | None]] = {}
    for number in range(annotators):
        own: list[list[list[Span]] | None] = []
        for document, spans in zip(text, base, strict=True):
            if generator.random() < missing:
                own.append(None)
            else:
                own.append(
                    [
                        changed(generator, row, len(sentence))
                        for row, sentence in zip(spans, document, strict=True)
                    ]
                )
        work[f"a{number}"] = own
    return text, work


def by_annotator(case: Case) -> dict[str, Annotation]:
    """The annotations of a campaign, except for annotators who got no document."""
    text, work = case
    result = {}
    for name, own in work.items():
        has = [number for number, spans in enumerate(own) if spans is not None]
        if has:
            result[name] = annotation([text[number] for number in has], [own[number] or [] for number in has])
    return result
