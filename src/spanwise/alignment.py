"""Align predictions to the gold text, even if sentence boundaries differ; errors show what differs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from msgspec import UNSET, Struct
from msgspec.structs import replace

from spanwise.columns import Bools, Column, Ints, ints, offsets, run_positions
from spanwise.corpus import Annotation, Corpus, Mentions, Parts, with_one_vocabulary
from spanwise.document import Alignment
from spanwise.errors import InputError, at, differ_only_in, many, unknown
from spanwise.pairing import Paired, missing_names, pair


class Groups(Struct, frozen=True, eq=False):
    """Groups of sentences that correspond to each other, as offsets into the sentences of each side."""

    gold: Ints
    predicted: Ints

    def of_sentences(self, mask: Bools) -> Bools:
        """For each gold sentence, the value of `mask` for its group."""
        return np.asarray(np.repeat(mask, np.diff(self.gold)))


def groups_of(gold: Corpus, predicted: Corpus, *, same_text: bool) -> Groups | None:
    """The smallest groups of sentences with the same text, or None if sentences correspond one to one.

    `same_text` means that both sides are known to have the same characters apart from white space. If the
    text differs, groups lie between sentences that occur once on each side, in the same order.
    """
    gold_ends, predicted_ends = ink_ends(gold), ink_ends(predicted)
    if np.array_equal(gold_ends, predicted_ends):
        return None
    if same_text or (
        len(gold_ends)
        and len(predicted_ends)
        and gold_ends[-1] == predicted_ends[-1]
        and ink(gold) == ink(predicted)
    ):
        common = np.intersect1d(gold_ends, predicted_ends)
        borders = [np.searchsorted(ends, common, side="right") for ends in (gold_ends, predicted_ends)]
        return _complete(borders[0], borders[1], len(gold), len(predicted))
    if len(gold) == len(predicted):
        return None  # the text differs, not the sentence boundaries
    return _between_equal(gold, predicted)


def _complete(gold: Ints, predicted: Ints, gold_size: int, predicted_size: int) -> Groups:
    """Groups with the given inner borders and the outer borders of each side."""
    borders = np.stack(
        [np.concatenate([[0], gold, [gold_size]]), np.concatenate([[0], predicted, [predicted_size]])]
    )
    keep = np.concatenate([[True], np.any(np.diff(borders, axis=1) > 0, axis=0)])
    return Groups(ints(borders[0][keep]), ints(borders[1][keep]))


def ink_ends(corpus: Corpus) -> Ints:
    """The number of characters, not counting white space, up to the end of each sentence."""
    if corpus.unit == "character" and corpus.texts is not None:
        return ints(np.cumsum([len("".join(text.split())) for text in corpus.texts]))
    sizes = np.array([len("".join(word.split())) for word in corpus.vocabulary], dtype=np.int64)
    before = np.concatenate([[0], np.cumsum(sizes[corpus.tokens])])
    return ints(before[corpus.sentences[1:]])


def ink(corpus: Corpus) -> str:
    """All characters of a corpus except white space."""
    if corpus.unit == "character" and corpus.texts is not None:
        return "".join("".join(text.split()) for text in corpus.texts)
    words = ["".join(word.split()) for word in corpus.vocabulary]
    return "".join([words[code] for code in corpus.tokens.tolist()])


def _between_equal(gold: Corpus, predicted: Corpus) -> Groups:
    """Groups between sentences that are unique on both sides: the longest chain in the same order."""
    in_gold, in_predicted = (_once(corpus) for corpus in (gold, predicted))
    pairs = sorted((index, in_predicted[words]) for words, index in in_gold.items() if words in in_predicted)
    tops: list[int] = []  # for each length of a chain, the smallest predicted sentence it can end with
    chain: list[int] = []  # for each length, the last pair of that chain
    before = [-1] * len(pairs)
    for number, (_, last) in enumerate(pairs):
        size = bisect_left(tops, last)
        before[number] = chain[size - 1] if size else -1
        if size == len(tops):
            tops.append(last)
            chain.append(number)
        else:
            tops[size], chain[size] = last, number
    anchored: list[tuple[int, int]] = []
    number = chain[-1] if chain else -1
    while number >= 0:
        anchored.append(pairs[number])
        number = before[number]
    anchors = np.array(anchored[::-1], dtype=np.int64).reshape(-1, 2)
    borders = np.stack([anchors, anchors + 1], axis=1).reshape(-1, 2)
    return _complete(ints(borders[:, 0]), ints(borders[:, 1]), len(gold), len(predicted))


def _once(corpus: Corpus) -> dict[tuple[str, ...], int]:
    """The number of each sentence that occurs exactly once, by its words."""
    numbers: dict[tuple[str, ...], int] = {}
    for number in range(len(corpus)):
        words = tuple(corpus.words(number))
        numbers[words] = -1 if words in numbers else number
    return {words: number for words, number in numbers.items() if number >= 0 and words}


def joined(corpus: Corpus, borders: Ints) -> Corpus:
    """A copy of the corpus in which each group is joined into one sentence."""
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
    """Where each sentence begins when all are laid end to end, and where the last one ends."""
    if corpus.unit == "character" and corpus.texts is not None:
        return offsets([len(text) + 1 for text in corpus.texts])
    return corpus.sentences


def in_groups(annotation: Annotation, borders: Ints) -> Annotation:
    """A copy of the annotation with sentences joined into groups, and mentions moved accordingly."""
    mentions, begins = annotation.mentions, _begins(annotation.corpus)
    group = ints(np.searchsorted(borders, mentions.sentence, side="right") - 1)
    shift = begins[mentions.sentence] - begins[borders[group]]
    moved = _shifted(mentions, group, shift)
    return replace(annotation, corpus=joined(annotation.corpus, borders), mentions=moved)


def in_sentences(mentions: Mentions, gold: Corpus, borders: Ints) -> tuple[Mentions, int]:
    """Move mentions from groups back to gold sentences, and count those that cross a sentence end.

    Those become unplaced, in the sentence where they begin. Mentions that were unplaced before go to the
    first sentence of their group.
    """
    begins = _begins(gold)
    first = borders[mentions.sentence]
    start = begins[np.minimum(first, len(gold))] + mentions.start
    placed = mentions.placed
    sentence = np.where(placed, np.searchsorted(begins, start, side="right") - 1, first)
    sentence = np.minimum(sentence, max(len(gold) - 1, 0))
    # The newline that joins two texts belongs to neither.
    gap = 1 if gold.unit == "character" else 0
    ends = begins[sentence + 1] - gap if len(gold) else np.zeros(0, dtype=np.int64)
    crossing = placed & (start + (mentions.end - mentions.start) > ends)
    shift = begins[np.minimum(first, len(gold))] - begins[sentence]
    moved = _shifted(mentions, ints(sentence), ints(shift))
    if crossing.any():
        unplaced = [ints(np.where(crossing, -1, column)) for column in (moved.start, moved.end)]
        moved = replace(moved, start=unplaced[0], end=unplaced[1])
    order = np.argsort(moved.sentence, kind="stable")
    return moved.take(order), int(np.count_nonzero(crossing))


def _shifted(mentions: Mentions, sentence: Ints, shift: Ints) -> Mentions:
    """Move mentions to other sentences and shift their positions; unplaced ones stay unplaced."""
    placed = mentions.placed
    start = np.where(placed, mentions.start + shift, mentions.start)
    end = np.where(placed, mentions.end + shift, mentions.end)
    parts = mentions.parts
    if parts is not None:
        by_piece = np.repeat(np.where(placed, shift, 0), np.diff(parts.at))
        parts = Parts(parts.at, ints(parts.start + by_piece), ints(parts.end + by_piece))
    return replace(mentions, sentence=ints(sentence), start=ints(start), end=ints(end), parts=parts)


How = Literal["strict", "position", "characters", "diff"]
Placed = tuple[Mentions, Alignment]  # predicted mentions on the gold text, and the report


class Aligned(Struct, frozen=True, eq=False):
    """Predicted mentions with positions in the gold text (-1 if unplaced), and a report.

    The report counts the `sentences`, those whose tokens differ (`changed_sentences`), the predicted
    tokens that differ from gold (`changed_tokens`) and the mentions that could not be placed (`unplaced`);
    if sentence boundaries differ, also those of them that cross the end of a gold sentence (`crossing`).
    """

    mentions: Mentions
    report: Alignment
    predicted: Annotation  # as read, with its sentences in the order of gold


def align(gold: Annotation, predicted: Annotation, *, how: How = "strict", parts: bool = False) -> Aligned:
    """Align the predicted mentions to the gold text.

    Sentences are paired first: by their ids if both sides have them, else in order. With `parts`, both
    sides are parts of longer files that were cut at the same sentences.

    "strict" requires the same tokens; the error shows the first difference. "position" requires the
    same number of tokens, whatever they are. "characters" requires the same text apart from white
    space, in any tokenisation. "diff" anchors on equal tokens (the leftmost longest common
    subsequence). With the last two, sentence boundaries may differ as well. A mention is unplaced
    if one of its ends is inside a gold token or inside a block of tokens without counterpart,
    or if it crosses the end of a gold sentence or would repeat another mention.

    Examples:
        >>> from spanwise.formats import from_tags
        >>> gold = from_tags([["O", "O", "O"]], tokens=[["in", "U.S.", "today"]])
        >>> predicted = from_tags([["O", "B-LOC", "I-LOC", "O"]], tokens=[["in", "U.", "S.", "today"]])
        >>> align(gold, predicted, how="characters").mentions.rows()
        [(0, 1, 2, 'LOC')]
    """
    if how not in get_args(How):
        raise unknown("way to align", how, get_args(How))
    paired = pair(gold.corpus, predicted, align=how, parts=parts)
    read = paired.predicted
    mentions, report = _aligned(gold, paired, how)
    by = paired.how if report.crossing is UNSET else "by text"
    return Aligned(mentions, report, replace(read, reading=replace(read.reading, paired=by)))


def _aligned(gold: Annotation, paired: Paired, how: How) -> Placed:
    """Align predictions whose sentences are in the order of gold."""
    predicted = paired.predicted
    textless = gold.corpus.without_text or predicted.corpus.without_text
    if how in ("characters", "diff") and not textless:
        groups = groups_of(gold.corpus, predicted.corpus, same_text=how == "characters")
        if groups is not None:
            return _by_groups(gold.corpus, predicted, groups, how)
    _check_number(gold.corpus, predicted.corpus)
    if textless:
        return _by_lengths(gold.corpus, predicted, how)
    changed = _changed(gold.corpus, predicted.corpus)
    if not changed.any():
        return predicted.mentions, _report(how, changed, 0, predicted.mentions)
    by_tokens = gold.corpus.unit == predicted.corpus.unit == "token"
    if how == "strict" or (how == "position" and not by_tokens):
        if paired.unlike is not None:
            raise InputError(paired.unlike)
        raise _differing(gold.corpus, predicted.corpus, changed)
    if how == "position":
        return _by_position(gold.corpus, predicted, changed)
    return _by_anchors(gold.corpus, predicted, changed, how)


def _by_groups(gold: Corpus, predicted: Annotation, groups: Groups, how: How) -> Placed:
    """Align mentions within groups of sentences, then move them back to the gold sentences."""
    gold_groups, predicted_groups = joined(gold, groups.gold), in_groups(predicted, groups.predicted)
    changed = _changed(gold_groups, predicted_groups.corpus)
    moved, inner = _by_anchors(gold_groups, predicted_groups, changed, how)
    mentions, crossing = in_sentences(moved, gold, groups.gold)
    report = _report(how, groups.of_sentences(changed), inner.changed_tokens, mentions)
    return mentions, replace(report, crossing=crossing)


def _report(how: str, changed: Bools, tokens: int, mentions: Mentions) -> Alignment:
    return Alignment(
        how=how, sentences=len(changed), changed_sentences=int(np.count_nonzero(changed)),
        changed_tokens=tokens, unplaced=int(np.count_nonzero(~mentions.placed)),
    )  # fmt: skip


def _check_number(gold: Corpus, predicted: Corpus) -> None:
    if len(gold) == len(predicted):
        return
    common = min(len(gold), len(predicted))
    wordless = gold.without_text or predicted.without_text
    unlike = (i for i in range(common) if not wordless and gold.words(i) != predicted.words(i))
    first = next(unlike, None)
    advice = (
        'Give predictions for the same sentences; if only sentence boundaries differ, use align="characters".'
    )
    text = f"there {_sentences(len(predicted))}, but {len(gold):,} in the gold file ({gold.source.path})."
    if missing := missing_names(gold, predicted):
        detail = missing
    elif wordless:
        detail = "Without text or ids on both sides, sentences can only be paired in order."
        advice = "Give predictions for the same sentences, or under the ids of gold."
    elif first is None:
        longer, which = (predicted, "here") if len(predicted) > common else (gold, "there")
        detail = f"{_agree(common)}sentence {common + 1} exists only {which} ({longer.place(common)})."
    else:
        detail = (
            f"The first difference is sentence {first + 1} ({predicted.place(first)} here, "
            f"{gold.place(first)} there): {_words(predicted, first)} here, {_words(gold, first)} there."
        )
    raise InputError(at(predicted.source.path, None, f"{text}\n{detail}\n{advice}"))


def _sentences(number: int) -> str:
    return f"{'is' if number == 1 else 'are'} {many(number, 'sentence')}"


def _agree(number: int) -> str:
    if number == 0:
        return "Both differ from the start: "
    return "The first agrees; " if number == 1 else f"The first {number:,} agree; "


def _words(corpus: Corpus, sentence: int) -> str:
    words = corpus.words(sentence)
    return repr(" ".join(words[:6]) + (" …" if len(words) > 6 else ""))


def _by_lengths(gold: Corpus, predicted: Annotation, how: How) -> Placed:
    """Align without text on one side: only the numbers of tokens, if known, can be compared."""
    other = predicted.corpus
    if gold.unit != other.unit and len(predicted.mentions) and not _counts_as_gold(predicted):
        raise InputError(_units_differ(gold, other))
    unchanged = np.zeros(len(gold), dtype=bool)
    if len(gold.tokens) and len(other.tokens):
        differs = gold.lengths != other.lengths
        if differs.any():
            raise InputError(_lengths_differ(gold, other, int(differs.argmax())))
    if len(gold.tokens) and not len(other.tokens):
        _check_inside(gold, predicted)
    return predicted.mentions, _report(how, unchanged, 0, predicted.mentions)


def _counts_as_gold(predicted: Annotation) -> bool:
    """Whether predictions come without text and unit, so that their positions are in the unit of gold."""
    corpus = predicted.corpus
    unspecified = predicted.reading.format in ("spans in memory", "jsonl") and corpus.unit == "token"
    return unspecified and corpus.without_text and not len(corpus.tokens)


def _check_inside(gold: Corpus, predicted: Annotation) -> None:
    """Raise an error if a mention ends beyond its gold sentence."""
    mentions = predicted.mentions
    lengths = gold.lengths if gold.texts is None else ints([len(text) for text in gold.texts])
    beyond = mentions.end > lengths[mentions.sentence]
    if not beyond.any():
        return
    sentence, start, end, label = mentions.rows()[int(beyond.argmax())]
    raise InputError(
        f"{predicted.corpus.place(sentence)}: the mention {label} [{start}, {end}) ends after sentence "
        f"{sentence + 1}, which has {many(int(lengths[sentence]), gold.unit)} in the gold file "
        f"({gold.place(sentence)}).\nGive predictions for the same sentences."
    )


def _units_differ(gold: Corpus, predicted: Corpus) -> str:
    return at(
        predicted.source.path,
        None,
        f"the mentions count {predicted.unit}s, but {gold.unit}s in the gold file ({gold.source.path}).\n"
        'Where both hold the text, align="characters" compares them: give {"text": …, "entities": […]}.',
    )


def _lengths_differ(gold: Corpus, predicted: Corpus, sentence: int) -> str:
    return at(
        predicted.place(sentence),
        None,
        f"sentence {sentence + 1} has {_tokens(predicted, sentence)}, but {gold.lengths[sentence]} in the "
        f"gold file ({gold.place(sentence)}).\nGive predictions for the same tokens.",
    )


def _tokens(corpus: Corpus, sentence: int) -> str:
    return many(int(corpus.lengths[sentence]), "token")


def _changed(gold: Corpus, predicted: Corpus) -> Bools:
    """Which sentences differ in their tokens (or, with unit "character", in their text)."""
    if gold.unit != predicted.unit:
        return np.ones(len(gold), dtype=bool)
    if gold.unit == "character":
        mine, other = gold.texts or (), predicted.texts or ()
        return np.fromiter((a != b for a, b in zip(mine, other, strict=True)), bool, len(gold))
    left, right = with_one_vocabulary([gold, predicted])
    if np.array_equal(left.sentences, right.sentences):
        unequal = left.tokens != right.tokens
        return _any_in(unequal, left.sentences)
    changed = left.lengths != right.lengths
    same_size = np.flatnonzero(~changed)
    size = left.lengths[same_size]
    unequal = (
        left.tokens[run_positions(left.sentences[same_size], size)]
        != right.tokens[run_positions(right.sentences[same_size], size)]
    )
    changed[same_size] = _any_in(unequal, offsets(size))
    return np.asarray(changed)


def _any_in(mask: Bools, borders: Column) -> Bools:
    """For each run between adjacent borders, whether the mask is True anywhere in it."""
    if not mask.any():
        return np.zeros(len(borders) - 1, dtype=bool)
    before = np.concatenate([[0], np.cumsum(mask)])
    return np.asarray(before[borders[1:]] > before[borders[:-1]])


class TokenDifference(Struct, frozen=True, kw_only=True):
    """An excerpt of the first sentence whose tokens differ from gold, around the first difference."""

    gold_place: str
    predicted_place: str
    first: int  # position of the excerpt in the sentence, from 0
    gold: tuple[str, ...]
    predicted: tuple[str, ...]
    differing: int  # sentences whose tokens differ from gold
    sentences: int


class TokensDiffer(InputError):
    """The error for tokens that differ from gold; `difference` shows where they first differ."""

    difference: TokenDifference


BEFORE, AROUND = 3, 9  # tokens of the excerpt: before the first difference, and in total


def _differing(gold: Corpus, predicted: Corpus, changed: Bools) -> InputError:
    """The error for sentences that differ from gold, with an excerpt if both sides have tokens."""
    sentence = int(changed.argmax())
    text = _first_difference(gold, predicted, sentence)
    if gold.unit != "token" or predicted.unit != "token":
        return InputError(text)
    mine, other = gold.words(sentence), predicted.words(sentence)
    unequal = (index for index, (a, b) in enumerate(zip(mine, other, strict=False)) if a != b)
    token = next(unequal, min(len(mine), len(other)))
    first = max(token - BEFORE, 0)
    error = TokensDiffer(text)
    error.difference = TokenDifference(
        gold_place=gold.place(sentence, token),
        predicted_place=predicted.place(sentence, token),
        first=first,
        gold=tuple(mine[first : first + AROUND]),
        predicted=tuple(other[first : first + AROUND]),
        differing=int(changed.sum()),
        sentences=len(gold),
    )
    return error


def _first_difference(gold: Corpus, predicted: Corpus, sentence: int) -> str:
    """The error message for the first sentence that differs."""
    if gold.unit != predicted.unit:
        return _units_differ(gold, predicted)
    if gold.unit == "character":
        return _texts_differ(gold, predicted, sentence)
    mine, other = gold.words(sentence), predicted.words(sentence)
    token = next((i for i, (a, b) in enumerate(zip(mine, other, strict=False)) if a != b), None)
    predicted_place, gold_place = predicted.place(sentence, token or 0), gold.place(sentence, token or 0)
    if token is None:
        token = min(len(mine), len(other))
        longer, which = (other, "here") if len(other) > len(mine) else (mine, "there")
        shown = f"{_agree(token)}token {token + 1} exists only {which}: {longer[token]!r}."
    else:
        alike = differ_only_in(other[token], mine[token])
        words = [
            ascii(word) if alike == "Unicode form" else repr(word) for word in (other[token], mine[token])
        ]
        only = f", which differ only in {alike}" if alike else ""
        shown = f"The first difference is token {token + 1}: {words[0]} here, {words[1]} there{only}."
    if len(mine) == len(other):
        head = f"the tokens of the sentence differ from the gold file ({gold_place})."
        hint = 'If only the spelling differs, align="position" takes the tokens as they are.'
    else:
        head = (
            f"the sentence has {_tokens(predicted, sentence)}, "
            f"but {len(mine):,} in the gold file ({gold_place})."
        )
        hint = 'If the tokenizers differ, use align="characters"; if the text differs too, use align="diff".'
    return at(predicted_place, None, f"{head}\n{shown}\n{hint}")


def _texts_differ(gold: Corpus, predicted: Corpus, sentence: int) -> str:
    mine, other = (gold.texts or ())[sentence], (predicted.texts or ())[sentence]
    common = next((i for i, (a, b) in enumerate(zip(mine, other, strict=False)) if a != b), None)
    first = min(len(mine), len(other)) if common is None else common
    return at(
        predicted.place(sentence),
        None,
        f"the text differs from the gold file ({gold.place(sentence)}).\n"
        f"The first difference is character {first}: {other[first : first + 20]!r} here, "
        f"{mine[first : first + 20]!r} there.\n"
        'If only white space differs, use align="characters"; otherwise use align="diff".',
    )


def _by_position(gold: Corpus, predicted: Annotation, changed: Bools) -> Placed:
    differs = gold.lengths != predicted.corpus.lengths
    if differs.any():
        raise InputError(
            _first_difference(gold, predicted.corpus, int(differs.argmax()))
            + "\nEqual positions need equal numbers of tokens."
        )
    left, right = with_one_vocabulary([gold, predicted.corpus])
    tokens = int(np.count_nonzero(left.tokens != right.tokens))
    return predicted.mentions, _report("position", changed, tokens, predicted.mentions)


def _by_anchors(gold: Corpus, predicted: Annotation, changed: Bools, how: How) -> Placed:
    """Map both ends of each mention in a changed sentence; the other mentions stay as they are."""
    corpus, mentions = predicted.corpus, predicted.mentions
    sides = None
    if gold.unit == corpus.unit == "token":
        sides = with_one_vocabulary([gold, corpus])
    tokens = 0
    maps: dict[int, _Map] = {}
    for sentence in np.flatnonzero(changed).tolist():
        if how == "diff" and sides is not None:
            positions = _anchored(_codes(sides[0], sentence), _codes(sides[1], sentence))
        elif how == "diff":
            positions = _anchored_text(gold, corpus, sentence)
        else:
            positions = _same_characters(gold, corpus, sentence)
        maps[sentence] = positions
        tokens += positions.changed
    start, end = mentions.start.copy(), mentions.end.copy()
    for row in np.flatnonzero(changed[mentions.sentence] & mentions.placed).tolist():
        positions = maps[int(mentions.sentence[row])]
        start[row], end[row] = positions.span(int(start[row]), int(end[row]))
    moved = _moved(mentions, start, end, maps)
    return moved, _report(how, changed, tokens, moved)


def _moved(mentions: Mentions, start: Ints, end: Ints, maps: dict[int, _Map]) -> Mentions:
    """The mentions at their new positions; one that now repeats another becomes unplaced."""
    parts = mentions.parts
    if parts is not None:
        owner = np.repeat(np.arange(len(mentions)), np.diff(parts.at))
        starts, ends = parts.start.copy(), parts.end.copy()
        for piece in range(len(starts)):
            row = int(owner[piece])
            positions = maps.get(int(mentions.sentence[row]))
            if positions is not None:
                starts[piece], ends[piece] = positions.span(int(starts[piece]), int(ends[piece]))
                if starts[piece] < 0:
                    start[row] = end[row] = -1
        parts = Parts(parts.at, ints(starts), ints(ends))
    moved = replace(mentions, start=ints(start), end=ints(end), parts=parts)
    if moved.repeated.any():
        start[moved.repeated] = end[moved.repeated] = -1
        moved = replace(mentions, start=ints(start), end=ints(end), parts=parts)
    return moved


class _Map(Struct, frozen=True):
    """For each predicted token, the gold positions of a mention that starts or ends with it (-1: none)."""

    start: Sequence[int]
    end: Sequence[int]
    changed: int

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The gold span of a predicted span, or (-1, -1) if it has none."""
        first, last = self.start[start], self.end[end - 1]
        return (first, last) if 0 <= first < last else (-1, -1)


def _codes(corpus: Corpus, sentence: int) -> list[int]:
    listed: list[int] = corpus.tokens[corpus.sentences[sentence] : corpus.sentences[sentence + 1]].tolist()
    return listed


def _anchored(gold: Sequence[object], predicted: Sequence[object]) -> _Map:
    """The map between two sequences, anchored on their equal tokens.

    Between two anchors there may be a block of tokens without counterpart: a mention may
    start where the block starts and end where it ends, but not within it.
    """
    pairs = common_subsequence(gold, predicted)
    start = [-1] * len(predicted)
    end = [-1] * len(predicted)
    before = (-1, -1)
    for anchor in [*pairs, (len(gold), len(predicted))]:
        if anchor[1] > before[1] + 1:  # predicted tokens between the anchors
            start[before[1] + 1] = before[0] + 1
            end[anchor[1] - 1] = anchor[0]
        if anchor[1] < len(predicted):
            start[anchor[1]], end[anchor[1]] = anchor[0], anchor[0] + 1
        before = anchor
    return _Map(start, end, len(predicted) - len(pairs))


def common_subsequence(one: Sequence[object], two: Sequence[object]) -> list[tuple[int, int]]:
    """The longest common subsequence as pairs of positions, leftmost in `one`, then in `two`.

    The lengths for all pairs of suffixes are stored as bits, one integer per position of `one`, so that
    a long document costs its length squared divided by the width of a machine word.

    Examples:
        >>> common_subsequence("abcab", "bab")
        [(1, 0), (3, 1), (4, 2)]
    """
    head = 0
    while head < min(len(one), len(two)) and one[head] == two[head]:
        head += 1
    rest, other = one[head:], two[head:]
    rows = _ends(rest, other)
    size = len(other)
    positions: dict[object, list[int]] = {}
    for j in reversed(range(size)):
        positions.setdefault(other[j], []).append(j)
    pairs = [(i, i) for i in range(head)]
    j = 0
    for i, item in enumerate(rest):
        candidates = positions.get(item, [])
        while candidates and candidates[-1] < j:
            candidates.pop()
        if not candidates:
            continue
        k = candidates[-1]
        if 1 + _zeros(rows[i + 1], size - k - 1) == _zeros(rows[i], size - j):
            pairs.append((head + i, head + k))
            j = k + 1
    return pairs


def _ends(left: Sequence[object], right: Sequence[object]) -> list[int]:
    """In `rows[i]`, the zeros in the lowest m bits count the LCS of `left[i:]` and the last m of `right`."""
    size = len(right)
    masks: dict[object, int] = {}
    for bit, item in enumerate(reversed(right)):
        masks[item] = masks.get(item, 0) | 1 << bit
    full = (1 << size) - 1
    row = full
    rows = [row]
    for item in reversed(left):
        matching = row & masks.get(item, 0)
        row = ((row + matching) | (row - matching)) & full
        rows.append(row)
    rows.reverse()
    return rows


def _zeros(row: int, low: int) -> int:
    return low - (row & ((1 << low) - 1)).bit_count()


def _anchored_text(gold: Corpus, predicted: Corpus, sentence: int) -> _Map:
    """The map from predicted to gold positions, anchored on equal characters apart from white space."""
    mine, other = _Ink.of(gold, sentence), _Ink.of(predicted, sentence)
    between = _anchored(mine.characters, other.characters)
    return _through_ink(mine, other, between.start, between.end, between.changed)


def _same_characters(gold: Corpus, predicted: Corpus, sentence: int) -> _Map:
    """The map for a sentence with the same characters; an error shows the first difference if they differ."""
    mine, other = _Ink.of(gold, sentence), _Ink.of(predicted, sentence)
    if mine.characters != other.characters:
        pairs = zip(mine.characters, other.characters, strict=False)
        size = min(len(mine.characters), len(other.characters))
        first = next((i for i, (a, b) in enumerate(pairs) if a != b), size)
        raise InputError(
            at(
                predicted.place(sentence),
                None,
                f"the characters of the sentence differ from the gold file ({gold.place(sentence)}).\n"
                f"The first difference: {other.characters[first : first + 20]!r} here, "
                f"{mine.characters[first : first + 20]!r} there.\n"
                'If the text itself differs, use align="diff".',
            )
        )
    size = len(mine.characters)
    changed = len(
        set(zip(other.first, other.last, strict=True)) - set(zip(mine.first, mine.last, strict=True))
    )
    return _through_ink(mine, other, range(size), range(1, size + 1), changed)


class _Ink(Struct, frozen=True):
    """The characters of a sentence except white space, and where each position begins and ends in them."""

    characters: str
    first: list[int]  # for each token (or character), where it begins in `characters`
    last: list[int]  # and where it ends

    @classmethod
    def of(cls, corpus: Corpus, sentence: int) -> _Ink:
        units = list(corpus.texts[sentence]) if corpus.unit == "character" and corpus.texts else None
        stripped = ["".join(unit.split()) for unit in (corpus.words(sentence) if units is None else units)]
        last = np.cumsum([len(unit) for unit in stripped], dtype=np.int64).tolist()
        first = [end - len(unit) for end, unit in zip(last, stripped, strict=True)]
        return cls("".join(stripped), first, last)


def _through_ink(gold: _Ink, predicted: _Ink, start: Sequence[int], end: Sequence[int], changed: int) -> _Map:
    """Turn a map of characters into one of positions; blank positions begin at the next character."""
    size = len(gold.characters)
    begins, ends = [-1] * (size + 1), [-1] * (size + 1)
    for position in reversed(range(len(gold.first))):
        if gold.first[position] < gold.last[position]:
            begins[gold.first[position]] = position
    for position in range(len(gold.last)):
        if gold.first[position] < gold.last[position]:
            ends[gold.last[position]] = position + 1
    total = len(predicted.characters)
    starts = [begins[start[i]] if i < total and start[i] >= 0 else -1 for i in predicted.first]
    stops = [ends[end[i - 1]] if i > 0 and end[i - 1] >= 0 else -1 for i in predicted.last]
    return _Map(starts, stops, changed)
