"""Sentences of two segmentations of one text are gathered in groups that begin and end together."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Bools, Ints, ints, offsets
from spanwise.corpus import Annotation, Corpus, Mentions, Parts


class Groups(Struct, frozen=True, eq=False):
    """Which sentences belong together: borders among those of gold, and among those of predictions."""

    gold: Ints
    predicted: Ints

    def of_sentences(self, mask: Bools) -> Bools:
        """What holds of groups, for every gold sentence in them."""
        return np.asarray(np.repeat(mask, np.diff(self.gold)))


def groups_of(gold: Corpus, predicted: Corpus, *, same_text: bool) -> Groups | None:
    """The smallest groups of sentences that hold the same text; None where the sentences themselves do.

    Args:
        same_text: whether both sides have the same characters, white space aside. Otherwise groups lie
            between sentences that occur once on both sides, in the same order.
    """
    one, two = ink_ends(gold), ink_ends(predicted)
    if np.array_equal(one, two):
        return None
    if same_text or (len(one) and len(two) and one[-1] == two[-1] and ink(gold) == ink(predicted)):
        common = np.intersect1d(one, two)
        borders = [np.searchsorted(ends, common, side="right") for ends in (one, two)]
        return _complete(borders[0], borders[1], len(gold), len(predicted))
    if len(gold) == len(predicted):
        return None  # the text differs, not where its sentences end
    return _between_equal(gold, predicted)


def _complete(one: Ints, two: Ints, sentences: int, others: int) -> Groups:
    """Groups with these borders, and those of the whole."""
    borders = np.stack([np.concatenate([[0], one, [sentences]]), np.concatenate([[0], two, [others]])])
    keep = np.concatenate([[True], np.any(np.diff(borders, axis=1) > 0, axis=0)])
    return Groups(ints(borders[0][keep]), ints(borders[1][keep]))


def ink_ends(corpus: Corpus) -> Ints:
    """How many characters other than white space there are up to the end of each sentence."""
    if corpus.unit == "character" and corpus.texts is not None:
        return ints(np.cumsum([len("".join(text.split())) for text in corpus.texts]))
    sizes = np.array([len("".join(word.split())) for word in corpus.vocabulary], dtype=np.int64)
    before = np.concatenate([[0], np.cumsum(sizes[corpus.tokens])])
    return ints(before[corpus.sentences[1:]])


def ink(corpus: Corpus) -> str:
    """All characters other than white space."""
    if corpus.unit == "character" and corpus.texts is not None:
        return "".join("".join(text.split()) for text in corpus.texts)
    words = ["".join(word.split()) for word in corpus.vocabulary]
    return "".join([words[code] for code in corpus.tokens.tolist()])


def _between_equal(gold: Corpus, predicted: Corpus) -> Groups:
    """Groups between sentences that occur once on both sides: the longest chain of them in order."""
    mine, other = (_once(corpus) for corpus in (gold, predicted))
    pairs = sorted((at, other[words]) for words, at in mine.items() if words in other)
    tops: list[int] = []  # the least end of a chain of each length
    chain: list[int] = []
    before = [-1] * len(pairs)
    for number, (_, there) in enumerate(pairs):
        size = bisect_left(tops, there)
        before[number] = chain[size - 1] if size else -1
        if size == len(tops):
            tops.append(there)
            chain.append(number)
        else:
            tops[size], chain[size] = there, number
    kept: list[tuple[int, int]] = []
    number = chain[-1] if chain else -1
    while number >= 0:
        kept.append(pairs[number])
        number = before[number]
    anchors = np.array(kept[::-1], dtype=np.int64).reshape(-1, 2)
    borders = np.stack([anchors, anchors + 1], axis=1).reshape(-1, 2)
    return _complete(ints(borders[:, 0]), ints(borders[:, 1]), len(gold), len(predicted))


def _once(corpus: Corpus) -> dict[tuple[str, ...], int]:
    """The sentences that occur once, by their words, with their numbers."""
    where: dict[tuple[str, ...], int] = {}
    for number in range(len(corpus)):
        words = tuple(corpus.words(number))
        where[words] = -1 if words in where else number
    return {words: number for words, number in where.items() if number >= 0 and words}


def joined(corpus: Corpus, borders: Ints) -> Corpus:
    """The same text in groups, each a sentence."""
    lines = corpus.source.lines
    first = np.minimum(borders[:-1], max(len(corpus) - 1, 0))
    source = replace(corpus.source, lines=None if lines is None else ints(lines[first]))
    texts = None
    if corpus.texts is not None:
        pairs = zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)
        texts = tuple("\n".join(corpus.texts[begin:end]) for begin, end in pairs)
    return Corpus(
        corpus.tokens, corpus.vocabulary, ints(corpus.sentences[borders]), unit=corpus.unit, texts=texts,
        source=source,
    )  # fmt: skip


def _begins(corpus: Corpus) -> Ints:
    """Where each sentence begins when all are written one after the other, and where the last ends."""
    if corpus.unit == "character" and corpus.texts is not None:
        return offsets([len(text) + 1 for text in corpus.texts])
    return corpus.sentences


def in_groups(annotation: Annotation, borders: Ints) -> Annotation:
    """The annotation of the joined text, with mentions in positions of the groups."""
    mentions, begins = annotation.mentions, _begins(annotation.corpus)
    group = ints(np.searchsorted(borders, mentions.sentence, side="right") - 1)
    shift = begins[mentions.sentence] - begins[borders[group]]
    moved = _shifted(mentions, group, shift)
    return replace(annotation, corpus=joined(annotation.corpus, borders), mentions=moved)


def in_sentences(mentions: Mentions, gold: Corpus, borders: Ints) -> tuple[Mentions, int]:
    """Mentions of groups in the sentences of gold, and how many have no place because they cross an end.

    What has no place stands in the first sentence of its group, what crosses in the one where it begins.
    """
    begins = _begins(gold)
    first = borders[mentions.sentence]
    start = begins[np.minimum(first, len(gold))] + mentions.start
    placed = mentions.placed
    sentence = np.where(placed, np.searchsorted(begins, start, side="right") - 1, first)
    sentence = np.minimum(sentence, max(len(gold) - 1, 0))
    # Between two texts stands a line end, which belongs to neither.
    gap = 1 if gold.unit == "character" else 0
    ends = begins[sentence + 1] - gap if len(gold) else np.zeros(0, dtype=np.int64)
    crossing = placed & (start + (mentions.end - mentions.start) > ends)
    shift = begins[np.minimum(first, len(gold))] - begins[sentence]
    moved = _shifted(mentions, ints(sentence), ints(shift))
    if crossing.any():
        nowhere = [ints(np.where(crossing, -1, column)) for column in (moved.start, moved.end)]
        moved = replace(moved, start=nowhere[0], end=nowhere[1])
    order = np.argsort(moved.sentence, kind="stable")
    return moved.take(order), int(np.count_nonzero(crossing))


def _shifted(mentions: Mentions, sentence: Ints, shift: Ints) -> Mentions:
    """The mentions in other sentences, their positions moved; what has no place keeps none."""
    placed = mentions.placed
    start = np.where(placed, mentions.start + shift, mentions.start)
    end = np.where(placed, mentions.end + shift, mentions.end)
    parts = mentions.parts
    if parts is not None:
        by_piece = np.repeat(np.where(placed, shift, 0), np.diff(parts.at))
        parts = Parts(parts.at, ints(parts.start + by_piece), ints(parts.end + by_piece))
    return replace(mentions, sentence=ints(sentence), start=ints(start), end=ints(end), parts=parts)
