"""Tag schemes: convert tags to mentions and back, recognise the scheme, check and repair tags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Codes, Column, Ints, Small, codes, frozen, ints, offsets
from spanwise.corpus import Mentions
from spanwise.errors import InputError, at, many, unknown
from spanwise.registry import Registry

__all__ = [
    "SCHEMES", "SPELLINGS", "Decoded", "Recognised", "Repair", "Scheme", "Tags", "checked", "decode",
    "encode", "impossible", "malformed", "recognise", "spelled",
]  # fmt: skip


# The position of a token within its mention, which the letter before the hyphen gives in every scheme.
OUTSIDE, BEGIN, INSIDE, END, SINGLE = range(5)
KINDS = {"B": BEGIN, "I": INSIDE, "M": INSIDE, "E": END, "L": END, "S": SINGLE, "U": SINGLE, "W": SINGLE}
LETTERS = "O" + "".join(KINDS)
KIND_OF_LETTER = np.array([OUTSIDE, *KINDS.values()], dtype=np.int8)


class Scheme(Struct, frozen=True):
    """A way to write mentions as tags.

    `begin`, `inside`, `end` and `single` are the letters for the tokens of a
    mention; one letter may have several of these roles. `between` is the letter of
    schemes that only mark borders between adjacent mentions of one label (IOB1, IOE1).
    """

    name: str
    summary: str
    begin: str
    inside: str
    end: str
    single: str
    between: str | None = None

    @property
    def letters(self) -> frozenset[str]:
        """All letters the scheme uses."""
        return frozenset({self.begin, self.inside, self.end, self.single, self.between or self.begin})


SCHEMES: Registry[Scheme] = Registry("scheme")
# Name, aliases, letters (begin, inside, end, single), `between` and summary. When several schemes
# fit equally well, the first one listed is recognised.
_KNOWN = (
    ("IOB2", ("BIO",), "BIIB", None, "every mention begins with B- and continues with I-"),
    ("BIOES", ("IOBES",), "BIES", None, "B- begins, I- continues, E- ends, S- is a mention of one token"),
    ("BILOU", ("BILUO",), "BILU", None, "B- begins, I- continues, L- ends, U- is a mention of one token"),
    ("BMES", ("BMESO",), "BMES", None, "B- begins, M- continues, E- ends, S- is a mention of one token"),
    ("IOB1", ("IOB",), "IIII", "B", "I- throughout; B- begins only right after a mention of the same label"),
    ("IO", (), "IIII", None, "I- throughout; neighbours of one label cannot be told apart"),
    ("IOE1", (), "IIII", "E", "I- throughout; E- ends only right before a mention of the same label"),
    ("IOE2", ("IOE",), "IIEE", None, "every mention ends with E-, preceded by I-"),
    ("BMEWO", (), "BMEW", None, "B- begins, M- continues, E- ends, W- is a mention of one token"),
)
for _name, _others, _marks, _between, _summary in _KNOWN:
    _spellings = {name.lower(): None for name in (_name, *_others)}
    _begin, _inside, _end, _single = tuple(_marks)
    _scheme = Scheme(_name, _summary, _begin, _inside, _end, _single, between=_between)
    SCHEMES.add(_scheme, aliases=(*_others, *_spellings))

# Ways to read the tags of tasks without labeled mentions; they are given in place of a scheme.
SPELLINGS = {
    "bare": "letters without a label, as in word segmentation; all mentions have the label WORD",
    "token": "every tag but O is the label of a mention of one token, as in part-of-speech tagging",
}


def spelled(tag: str, spelling: str | None) -> str:
    """A tag of one of the SPELLINGS, rewritten as schemes write it.

    Examples:
        >>> spelled("B", "bare"), spelled("NN", "token"), spelled("B-PER", None), spelled("O", "token")
        ('B-WORD', 'S-NN', 'B-PER', 'O')
    """
    if spelling == "bare" and tag in KINDS:
        return f"{tag}-WORD"
    return f"S-{tag}" if spelling == "token" and tag not in ("", "O") else tag


def malformed(tag: str) -> str | None:
    """Why `tag` is not valid in any scheme, and what to do about it; None if it is valid.

    Examples:
        >>> malformed("B-LOC-geo") is None
        True
        >>> print(malformed("o"))
        'o' is not a tag; outside mentions the tag is 'O', with a capital letter.
    """
    if tag == "O":
        return None
    letter, hyphen, label = tag.partition("-")
    if hyphen and letter in KINDS and label:
        return None
    if tag == "o":
        return "'o' is not a tag; outside mentions the tag is 'O', with a capital letter."
    if tag == "0":
        return "'0' (the digit) is not a tag; outside mentions the tag is 'O', the letter."
    bare = "".join(tag.split())
    if bare != tag and malformed(bare) is None:
        return f"{tag!r} contains white space; write {bare!r}."
    if not tag:
        return "the tag is empty; outside mentions it is 'O'."
    if not hyphen:
        near = letter.upper()
        if near in KINDS:
            return (
                f"{tag!r} has no label; a tag is 'O' or a letter, a hyphen and a label, such as 'B-PER'. "
                'If the task has no labels, pass scheme="bare".'
            )
        return (
            f"{tag!r} is not a tag; a tag is 'O' or a letter, a hyphen and a label, such as 'B-PER'. "
            'Is this the tag column? If every token has a tag of its own, pass scheme="token".'
        )
    if not label:
        return f"{tag!r} has no label after the hyphen; write 'O', or name the label, such as 'B-PER'."
    if letter.upper() in KINDS:
        return f"{tag!r} begins with a lower-case letter; write {letter.upper() + '-' + label!r}."
    letters = ", ".join(KINDS)
    return f"{tag!r} begins with {letter!r}, which no scheme uses; the letters are {letters}, and 'O' alone."


Repair = Literal["conlleval", "discard", "none"]


class _Numbers(dict[str, int]):
    """Numbers for strings, assigned in the order in which the strings are first looked up."""

    def __missing__(self, name: str) -> int:
        if not isinstance(name, str):
            raise InputError(
                f"the tag {name!r} is not a string.\nGive tags such as 'B-PER', not their numbers."
            )
        self[name] = len(self)
        return self[name]


class Tags(Struct, frozen=True, eq=False, dict=True):
    """Tags as columns: `names[codes[i]]` is the tag of token `i`; `sentences` are offsets into the tokens.

    Examples:
        >>> tags = Tags.of([["B-PER", "O"], ["O"]])
        >>> tags.names, tags.lists()
        (('B-PER', 'O'), [['B-PER', 'O'], ['O']])
    """

    codes: Codes
    names: Sequence[str]
    sentences: Ints

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]]) -> Tags:
        """Build tags from lists of strings, one list per sentence.

        Examples:
            >>> Tags.of([["B-PER", "O"], ["O"]]).codes.tolist()
            [0, 1, 1]
        """
        table = _Numbers()
        sizes = list(map(len, sentences))
        try:  # numbers that fit into bytes are collected faster
            coded: Column = np.frombuffer(
                bytes(map(table.__getitem__, chain.from_iterable(sentences))), np.uint8
            )
        except ValueError:  # more than 256 different tags
            numbers = map(table.__getitem__, chain.from_iterable(sentences))
            coded = np.fromiter(numbers, np.int32, sum(sizes))
        return cls(codes(coded), tuple(table), offsets(sizes))

    def lists(self) -> list[list[str]]:
        """The tags as lists of strings, one list per sentence."""
        flat = [self.names[code] for code in self.codes.tolist()]
        borders = self.sentences.tolist()
        return [flat[begin:end] for begin, end in pairwise(borders)]

    @cached_property
    def _marked(self) -> _Marked:
        return _Marked.of(self)


class _Marked(Struct, frozen=True, eq=False):
    """The tokens that are not O, and how each relates to its neighbours.

    `starts` and `ends` follow conlleval: a mention starts at B and S, after O, E and
    S, and where the label changes; it ends at E and S, before O, B and S, and where
    the label changes.
    """

    position: Ints
    letter: Small  # index in LETTERS
    label: Codes
    labels: tuple[str, ...]
    starts: Bools
    ends: Bools
    same_before: Bools  # the previous token has the same label
    same_after: Bools

    @classmethod
    def of(cls, tags: Tags) -> _Marked:
        letters, labels, names = _parsed(tags.names)
        outside = np.flatnonzero(letters == 0)
        # Comparing codes is several times as fast as looking each of them up.
        marked = tags.codes != outside[0] if len(outside) == 1 else (letters != 0)[tags.codes]
        position = np.flatnonzero(marked)
        tag = tags.codes[position]
        letter, label = letters[tag], labels[tag]
        first = np.zeros(len(tags.codes) + 1, dtype=bool)
        first[tags.sentences] = True
        touches = np.zeros(len(position) + 1, dtype=bool)  # touches[i]: tokens i - 1 and i are adjacent
        touches[1:-1] = (position[1:] - position[:-1] == 1) & ~first[position[1:]]
        same = np.zeros(len(position) + 1, dtype=bool)
        same[1:-1] = touches[1:-1] & (label[1:] == label[:-1])
        kind = KIND_OF_LETTER[letter]
        closed = np.ones(len(position) + 1, dtype=bool)  # closed[i]: there is a border between i - 1 and i
        closed[1:-1] = ~same[1:-1] | (kind[:-1] >= END) | (kind[1:] == BEGIN) | (kind[1:] == SINGLE)
        return cls(ints(position), letter, label, names, closed[:-1], closed[1:], same[:-1], same[1:])


def _parsed(names: Sequence[str]) -> tuple[Small, Codes, tuple[str, ...]]:
    """The letter and label codes of each distinct tag, and the sorted labels; O has letter 0 and label -1."""
    letters = np.zeros(len(names), dtype=np.int8)
    codes: dict[str, int] = {}
    label_of = np.full(len(names), -1, dtype=np.int32)
    for i, name in enumerate(names):
        if name == "O":
            continue
        if malformed(name):
            continue  # `checked` has made sure that no token has this tag
        letter, label = name.split("-", 1)
        letters[i] = LETTERS.index(letter)
        label_of[i] = codes.setdefault(label, len(codes))
    names_sorted = tuple(sorted(codes))
    order = np.array([names_sorted.index(label) for label in codes], dtype=np.int32)
    labeled = label_of >= 0
    label_of[labeled] = order[label_of[labeled]]
    return letters, label_of, names_sorted


def labels_of(tags: Sequence[str]) -> tuple[str, ...]:
    """The labels in tags, sorted.

    Examples:
        >>> labels_of(["O", "B-PER", "I-PER", "B-LOC"])
        ('LOC', 'PER')
    """
    return _parsed(tags)[2]


def checked(tags: Tags, *, locate: Callable[[int, int], str] | None = None) -> Tags:
    """Return the tags unchanged, or raise an error for the first one that is valid in no scheme."""
    troubles = {code: trouble for code, name in enumerate(tags.names) if (trouble := malformed(name))}
    if not troubles:
        return tags
    bad = np.flatnonzero(np.isin(tags.codes, list(troubles)))
    if not len(bad):
        return tags
    sentence = int(np.searchsorted(tags.sentences, bad[0], side="right")) - 1
    token = int(bad[0] - tags.sentences[sentence])
    raise wrong_tags(_where(sentence, token, locate), troubles[int(tags.codes[bad[0]])], len(bad))


def wrong_tags(where: str, trouble: str, number: int) -> InputError:
    """The error for `number` tokens whose tags are valid in no scheme; `where` locates the first."""
    more = f" {many(number - 1, 'more token')} with such tags." if number > 1 else ""
    return InputError(at(where, None, trouble + more))


def _where(sentence: int, token: int, locate: Callable[[int, int], str] | None) -> str:
    return locate(sentence, token) if locate else f"sentence {sentence + 1}, token {token + 1}"


def _own_letters(scheme: Scheme) -> Bools:
    return np.array([name == "O" or name in scheme.letters for name in LETTERS])


def _forbidden(scheme: Scheme, marked: _Marked) -> dict[str, Bools]:
    """For each reason, which of the marked tokens have a tag that is impossible in `scheme`."""
    kind = KIND_OF_LETTER[marked.letter]
    foreign = ~_own_letters(scheme)[marked.letter]
    reasons = {f"{scheme.name} has no such letter": foreign}
    if scheme.between == "B":
        reasons["B- may only follow a mention of the same label"] = (kind == BEGIN) & ~marked.same_before
    elif scheme.between == "E":
        reasons["E- may only precede a mention of the same label"] = (kind == END) & ~marked.same_after
    elif scheme.begin != scheme.inside:
        going_on = (kind == INSIDE) | (kind == END)
        reasons["no mention of its label is open before it"] = going_on & marked.starts & ~foreign
    if scheme.end != scheme.inside:
        open_ended = (kind == BEGIN) | (kind == INSIDE)
        last = marked.ends & ~foreign
        reasons["its mention goes on, but the next tag does not belong to it"] = open_ended & last
    return reasons


def _impossible(scheme: Scheme, marked: _Marked) -> Bools:
    """Which of the marked tokens have an impossible tag."""
    result = np.zeros(len(marked.position), dtype=bool)
    for reason in _forbidden(scheme, marked).values():
        result |= reason
    return result


@lru_cache(maxsize=1)
def _situation_kinds() -> _Marked:
    """One token for each combination of letter and neighbours, in the order of `situations`."""
    combination = np.arange(len(LETTERS) << 4)
    flags = [((combination >> shift) & 1).astype(bool) for shift in range(4)]
    return _Marked(ints(combination), (combination >> 4).astype(np.int8), codes(combination), (), *flags)


@lru_cache(maxsize=64)
def _impossible_situations(scheme: Scheme) -> Bools:
    """Which of the combinations of letter and neighbours are impossible in a scheme."""
    return frozen(_impossible(scheme, _situation_kinds()))


def situation(tags: Tags, token: int, scheme: str | Scheme) -> tuple[bool, bool, bool]:
    """Whether a mention starts and ends at a token that is not O, and whether its tag is impossible.

    All three depend on the token and its two neighbours alone.

    Examples:
        >>> situation(Tags.of([["O", "I-PER", "I-PER"]]), 1, "IOB2")
        (True, False, True)
    """
    marked = checked(tags)._marked
    row = int(np.searchsorted(marked.position, token))
    wrong = _impossible(SCHEMES.find(scheme), marked)
    return bool(marked.starts[row]), bool(marked.ends[row]), bool(wrong[row])


class Recognised(Struct, frozen=True):
    """The most likely scheme of a file, the evidence, and the number of impossible tags in each scheme."""

    scheme: str
    evidence: str
    impossible: dict[str, int]

    @property
    def fitting(self) -> tuple[str, ...]:
        """The schemes in which no tag is impossible."""
        return tuple(name for name, number in self.impossible.items() if number == 0)


def recognise(tags: Tags, *, prefer: str | None = None) -> Recognised:
    """The scheme with the fewest impossible tags; ties go to the first in SCHEMES.

    `prefer` is the scheme of the gold file: predictions are assumed to use it,
    unless all their tags fit another scheme but not that one.

    Examples:
        >>> recognise(Tags.of([["I-PER", "I-PER", "O", "I-LOC"]])).evidence
        'IOB1, because 2 mentions start with I-'
    """
    return recognise_situations(situations(checked(tags)), prefer=prefer)


def situations(tags: Tags) -> Ints:
    """How often each combination of a tag's letter and neighbours occurs; the counts of parts add up."""
    marked = tags._marked
    packed = marked.letter.astype(np.int16) << 4
    for shift, flag in enumerate((marked.starts, marked.ends, marked.same_before, marked.same_after)):
        packed |= flag.astype(np.int16) << shift
    return ints(np.bincount(packed, minlength=len(LETTERS) << 4))


def recognise_situations(number: Ints, *, prefer: str | None = None) -> Recognised:
    """Like `recognise`, but from the counts of `situations` instead of the tags."""
    counts = {scheme.name: int(number[_impossible_situations(scheme)].sum()) for scheme in SCHEMES}
    best = min(counts, key=counts.__getitem__)  # the first if several tie
    if prefer is not None:
        preferred = SCHEMES.find(prefer).name
        if counts[preferred] == 0 or counts[best] > 0:
            return Recognised(preferred, f"{preferred}, the scheme of the gold file", counts)
    return Recognised(best, _evidence(best, counts, number), counts)


def _evidence(name: str, counts: dict[str, int], number: Ints) -> str:
    """Why `name` was recognised, in words."""
    scheme, kinds = SCHEMES.find(name), _situation_kinds()
    mentions = int(number[kinds.starts].sum())
    if not mentions:
        return f"{name}, because there are no mentions to go by"

    def having(letters: str, border: Bools) -> int:
        mask = np.array([letter in letters for letter in LETTERS])[kinds.letter]
        return int(number[mask & border].sum())

    if scheme.end != scheme.inside:
        marks = "".join(dict.fromkeys(scheme.end + scheme.single))
        words = f"{many(having(marks, kinds.ends), 'mention')} end with {' or '.join(f'{m}-' for m in marks)}"
    else:
        words = _phrase(having(scheme.begin, kinds.starts), "mention", "start") + f" with {scheme.begin}-"
    evidence = f"{name}, because {words}"
    if counts[name]:
        evidence += f"; {many(counts[name], 'tag')} impossible in it, no more than in any other scheme"
    return evidence


def _phrase(number: int, noun: str, verb: str) -> str:
    return f"{many(number, noun)} {verb}{'s' if number == 1 else ''}"


class Decoded(Struct, frozen=True, eq=False):
    """The mentions decoded from tags, and the number of impossible tags that were repaired."""

    mentions: Mentions
    repairs: int


def decode(
    tags: Tags,
    scheme: str | Scheme,
    *,
    repair: Repair = "conlleval",
    locate: Callable[[int, int], str] | None = None,
) -> Decoded:
    """Decode tags into mentions.

    A tag is impossible if the scheme would never write it next to its neighbours.
    With `repair="conlleval"`, mentions start and end at such tags as they do in conlleval.
    With `"discard"`, a tag that cannot belong to a properly started mention becomes O: a
    letter that the scheme does not have, an I- without a start, a B- in IOB1 that does not
    follow a mention of its label; a mention without its end is dropped altogether. With
    `"none"`, an impossible tag is an error, located by `locate(sentence, token)`.

    Examples:
        >>> tags = Tags.of([["I-PER", "O", "B-LOC", "I-LOC"]])
        >>> decode(tags, "IOB2").mentions.rows()
        [(0, 0, 1, 'PER'), (0, 2, 4, 'LOC')]
        >>> decode(tags, "IOB2", repair="discard").mentions.rows()
        [(0, 2, 4, 'LOC')]
    """
    if repair not in get_args(Repair):
        raise unknown("repair", repair, get_args(Repair))
    chosen = SCHEMES.find(scheme)
    marked = checked(tags, locate=locate)._marked
    wrong = _impossible(chosen, marked)
    repairs = int(np.count_nonzero(wrong))
    if repairs and repair == "none":
        raise InputError(_first_impossible(tags, chosen, wrong, locate))
    if repairs and repair == "discard":
        return Decoded(_discarding(tags, chosen), repairs)
    return Decoded(_mentions(tags, marked), repairs)


def _mentions(tags: Tags, marked: _Marked, *, dropped: Bools | None = None) -> Mentions:
    """The mentions between the borders, except those that contain a `dropped` token."""
    first, last = np.flatnonzero(marked.starts), np.flatnonzero(marked.ends)
    if dropped is not None:
        before = np.concatenate([[0], np.cumsum(dropped)])
        clean = before[last + 1] == before[first]
        first, last = first[clean], last[clean]
    begin = marked.position[first]
    # There are rarely many more sentences than mentions, so look up the sentences, not the mentions.
    sentence = np.repeat(np.arange(len(tags.sentences) - 1), np.diff(np.searchsorted(begin, tags.sentences)))
    offset = tags.sentences[sentence]
    return Mentions(
        sentence=ints(sentence),
        start=ints(begin - offset),
        end=ints(marked.position[last] + 1 - offset),
        label=marked.label[first],
        labels=marked.labels,
    )


def _discarding(tags: Tags, scheme: Scheme) -> Mentions:
    """The mentions that remain after discarding impossible tags."""
    marked = tags._marked
    foreign = ~_own_letters(scheme)[marked.letter]
    if foreign.any():
        tags = _with_outside(tags, marked.position[foreign])
        marked = tags._marked
    wrong = _impossible(scheme, marked)
    if scheme.between is None:
        return _mentions(tags, marked, dropped=wrong)
    tags = _with_outside(tags, marked.position[wrong])
    return _mentions(tags, tags._marked)


def _with_outside(tags: Tags, position: Ints) -> Tags:
    """A copy of the tags with O at the given positions."""
    names = tags.names if "O" in tags.names else (*tags.names, "O")
    coded = tags.codes.copy()
    coded[position] = list(names).index("O")
    return Tags(codes(coded), names, tags.sentences)


def _first_impossible(
    tags: Tags, scheme: Scheme, wrong: Bools, locate: Callable[[int, int], str] | None
) -> str:
    """The error message for the first impossible tag, with the number of others."""
    sentence, token, tag, reason = impossible(tags, scheme, most=1)[0]
    others = int(np.count_nonzero(wrong)) - 1
    more = f" {many(others, 'more tag')} like it." if others else ""
    return at(
        _where(sentence, token, locate),
        None,
        f"the tag {tag!r} is impossible in {scheme.name}: {reason}.{more}\n"
        'Fix the file, name its scheme, or repair with "conlleval" or "discard".',
    )


def impossible(
    tags: Tags, scheme: str | Scheme, *, most: int | None = None
) -> list[tuple[int, int, str, str]]:
    """The impossible tags (at most the first `most`) as (sentence, token, tag, reason).

    Examples:
        >>> impossible(Tags.of([["O", "I-PER"]]), "IOB2")
        [(0, 1, 'I-PER', 'no mention of its label is open before it')]
    """
    chosen = SCHEMES.find(scheme)
    marked = tags._marked
    reasons = _forbidden(chosen, marked)
    which = np.full(len(marked.position), -1, dtype=np.int64)
    for number, mask in reversed(list(enumerate(reasons.values()))):
        which[mask] = number
    rows = np.flatnonzero(which >= 0)[:most]
    position = marked.position[rows]
    sentence = np.searchsorted(tags.sentences, position, side="right") - 1
    token = position - tags.sentences[sentence]
    words = list(reasons)
    listed = zip(sentence.tolist(), token.tolist(), position.tolist(), which[rows].tolist(), strict=True)
    return [(s, t, tags.names[tags.codes[p]], words[reason]) for s, t, p, reason in listed]


def encode(mentions: Mentions, lengths: Ints, scheme: str | Scheme) -> Tags:
    """Encode mentions as tags of sentences of the given lengths; decoding gives the same mentions.

    Tags cannot express mentions that overlap, are discontinuous or have no position, nor, in the
    scheme IO, adjacent mentions of one label: each of these is an error.

    Examples:
        >>> encode(Mentions.of([(0, 0, 2, "PER")]), [3], "BIOES").lists()
        [['B-PER', 'E-PER', 'O']]
    """
    chosen = SCHEMES.find(scheme)
    sentences = offsets(lengths)
    order = np.lexsort((mentions.start, mentions.sentence))
    sorted_ = mentions.take(order)
    begin = sentences[sorted_.sentence] + sorted_.start
    end = sentences[sorted_.sentence] + sorted_.end
    _check_flat(sorted_, begin, end, sentences, chosen)
    size = end - begin
    letter = np.full(int(size.sum()), LETTERS.index(chosen.inside), dtype=np.int64)
    stop = np.cumsum(size)
    first = stop - size
    letter[first] = LETTERS.index(chosen.begin)
    letter[stop - 1] = LETTERS.index(chosen.end)
    letter[first[size == 1]] = LETTERS.index(chosen.single)
    if chosen.between is not None:
        touching = np.flatnonzero((end[:-1] == begin[1:]) & (sorted_.label[1:] == sorted_.label[:-1]))
        touching = touching[sorted_.sentence[touching] == sorted_.sentence[touching + 1]]
        at_border = first[touching + 1] if chosen.between == "B" else stop[touching] - 1
        letter[at_border] = LETTERS.index(chosen.between)
    names = ["O", *(f"{mark}-{label}" for label in mentions.labels for mark in LETTERS[1:])]
    coded = np.zeros(int(sentences[-1]), dtype=np.int32)
    where = np.repeat(begin - first, size) + np.arange(len(letter))
    coded[where] = np.repeat(sorted_.label, size) * (len(LETTERS) - 1) + letter
    return _trimmed(Tags(codes(coded), names, sentences))


def _trimmed(tags: Tags) -> Tags:
    """A copy of the tags without the names that no token has."""
    used = np.bincount(tags.codes, minlength=len(tags.names)) > 0
    used[0] = True
    table = (np.cumsum(used) - 1).astype(np.int32)
    names = tuple(name for name, keep in zip(tags.names, used.tolist(), strict=True) if keep)
    return Tags(codes(table[tags.codes]), names, tags.sentences)


def _check_flat(mentions: Mentions, begin: Ints, end: Ints, sentences: Ints, scheme: Scheme) -> None:
    """Raise an error if the sorted mentions cannot be written as tags."""
    keeps_spans = "Write a format that keeps spans, such as jsonl."
    beyond = end > sentences[mentions.sentence + 1]
    pieces = np.ones(len(mentions)) if mentions.parts is None else np.diff(mentions.parts.at)
    touching, overlapping, alike = (np.zeros(len(mentions), dtype=bool) for _ in range(3))
    overlapping[1:] = end[:-1] > begin[1:]
    touching[1:] = (end[:-1] == begin[1:]) & (mentions.sentence[1:] == mentions.sentence[:-1])
    alike[1:] = mentions.label[1:] == mentions.label[:-1]
    for refused, what, advice in (
        ((mentions.start < 0) | beyond, "has no position in the text of its sentence", "Align it first."),
        (pieces > 1, "is discontinuous, which tags cannot express", keeps_spans),
        (end <= begin, "is empty", "A mention has at least one token."),
        (overlapping, "overlaps the one before it, which tags cannot express", keeps_spans),
        (
            touching & alike & (scheme.name == "IO"),
            "touches one of the same label, which IO cannot tell apart",
            "Choose another scheme, such as IOB2.",
        ),
    ):
        if refused.any():
            sentence, start, stop, label = mentions.take([int(refused.argmax())]).rows()[0]
            raise InputError(
                f"sentence {sentence + 1}: the mention {label} [{start}, {stop}) {what}.\n{advice}"
            )
