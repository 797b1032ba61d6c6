"""Lists of tags as integer columns, and the entities that seqeval finds in them, in bulk."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Codes, Column, Ints, ints

# The letters that seqeval's default mode tells apart; any other one is like the last.
_LETTERS = "O.BIES?"
_STARTS, _INSIDE, _ENDS = 1, 2, 4
_FEW = 500  # distinct tags
# The letters of strict tags, in the order of seqeval.scheme.Prefix.
PREFIXES = "IOBESUL"


class _Interned(dict[Any, int]):
    """A number for every distinct tag, in the order of first occurrence."""

    def __missing__(self, tag: Any) -> int:
        self[tag] = number = len(self)
        return number


class Tags(Struct, frozen=True, eq=False):
    """Sequences of tags laid one behind the other, an O after each.

    Two codes are added to those of `distinct`: the O after a sequence, and behind
    it what stands before the very first tag.
    """

    stream: Codes
    distinct: Sequence[Any]  # in the order of first occurrence
    sizes: Ints

    @classmethod
    def of(cls, sequences: Sequence[Sequence[Any]]) -> Tags:
        """The columns of nested lists of tags."""
        sizes = np.fromiter(map(len, sequences), np.int64, len(sequences))
        interned = _Interned()
        flat: Iterable[Any] = chain.from_iterable(sequences)
        column = np.fromiter(map(interned.__getitem__, flat), np.int32, int(sizes.sum()))
        stream = np.full(len(column) + len(sizes) + 1, len(interned), np.int32)
        inner = np.ones(len(stream), dtype=bool)
        inner[np.cumsum(sizes + 1)] = inner[0] = False
        stream[inner] = column
        stream[0] += 1
        return cls(stream, list(interned), ints(sizes))


class Spans(Struct, frozen=True, eq=False):
    """Entities as columns: `start` and `end` (half-open) count the O after every sentence as a token."""

    start: Ints
    end: Ints
    type: Ints
    types: Sequence[str]
    length: int

    @property
    def used(self) -> set[str]:
        """The types of the entities."""
        return {self.types[code] for code in np.unique(self.type).tolist()}


def lenient(sequences: Sequence[Sequence[Any]], *, suffix: bool) -> Spans:
    """The entities of seqeval's default mode, which repairs any tag and warns of tags that are none.

    A tag that is no entity tag is reported once a call, not once a token.
    """
    tags = Tags.of(sequences)
    for tag in tags.distinct:
        _warn_if_odd(tag, suffix=suffix)
    letters = [_letter(tag[-1] if suffix else tag[0]) for tag in (*tags.distinct, "O", "O")]
    # The type before the first tag equals no other, not even that of O: a bare "X" begins an entity there.
    named = [*(_type_of(tag, suffix=suffix) for tag in (*tags.distinct, "O")), ""]
    flags, kinds, types = flags_of(tags, letters, named, _LENIENT)
    starts = np.flatnonzero(flags & _STARTS)
    ends = np.flatnonzero(flags & _ENDS)
    # An entity begins at the last start before its end, however far back that is.
    begin = np.searchsorted(starts, ends, side="left") - 1
    start = starts[begin] if len(starts) else np.zeros(len(ends), np.int64)
    start = np.where(begin >= 0, start, 0)
    return Spans(ints(start), ints(ends), ints(kinds[tags.stream[ends]]), types, len(tags.stream))


def strict(
    tags: Tags, prefixes: Sequence[str], named: Sequence[str], rules: Column
) -> tuple[Spans, Callable[[], Bools]]:
    """The entities of a strict scheme, and what tells which positions continue one (the scheme skips those).

    A run of tokens that each continue the one before has one entity at most: it
    begins at the first start in the run and counts if the scheme ends it where the run ends.
    """
    letters = [PREFIXES.index(letter) for letter in prefixes]
    flags, kinds, types = flags_of(tags, letters, named, rules)
    size = len(flags)
    outside = np.ones(size + 1, dtype=bool)  # the last run ends after all tokens
    np.equal(flags & _INSIDE, 0, out=outside[:-1])
    outside[np.cumsum(tags.sizes + 1) - (tags.sizes + 1)] = True
    runs = np.flatnonzero(outside)
    starts = np.flatnonzero(flags & _STARTS)
    run = np.searchsorted(runs, starts, side="right")
    first = np.diff(run, prepend=-1) != 0
    starts, ends = starts[first], runs[run[first]]

    def consumed() -> Bools:
        steps = np.zeros(size + 1, dtype=np.int64)
        steps[starts + 1] += 1
        steps[ends] -= 1
        return np.cumsum(steps[:-1]) > 0

    closing = np.zeros(size + 1, dtype=bool)
    np.not_equal(flags & _ENDS, 0, out=closing[:-1])
    good = closing[ends]
    kind = kinds[tags.stream[starts[good] + 1]]
    return Spans(ints(starts[good]), ints(ends[good]), ints(kind), types, size + 1), consumed


def flags_of(
    tags: Tags, letters: Sequence[int], named: Sequence[str], rules: Column
) -> tuple[Column, Codes, list[str]]:
    """What happens between each token and the one before it, the type code of each tag, and the types.

    Position `i` of the flags is position `i + 1` of the stream: the stream begins before the first token.
    """
    interned = _Interned()
    kind = np.array([interned[name] for name in named], np.int32)
    letter = np.array(letters, np.int32)
    before, now, number = tags.stream[:-1], tags.stream[1:], len(kind)
    if number <= _FEW:
        # One look into a table of all pairs of tags is cheaper than the arithmetic for each token.
        same = kind[:, None] == kind[None, :]
        pairs = rules[(letter[:, None] * 7 + letter[None, :]) * 2 + same].ravel()
        flags = pairs[before * number + now]
    else:
        flags = rules[(letter[before] * 7 + letter[now]) * 2 + (kind[before] == kind[now])]
    return flags, kind, list(interned)


def tabulate(rule: Callable[[int, int, bool], int]) -> Column:
    """A rule over (letter before, letter, same type) as a column that `flags_of` looks up."""
    cells = [rule(before, now, same) for before in range(7) for now in range(7) for same in (False, True)]
    return np.array(cells, np.int8)


def bits(*, starts: bool, inside: bool, ends: bool) -> int:
    """What happens between two tokens as one number."""
    return _STARTS * starts | _INSIDE * inside | _ENDS * ends


def chunk_ends(before: str, now: str, *, same: bool) -> bool:
    """Whether a lenient mention ends between tags with these letters and the same or another type."""
    if before in ("E", "S") or (before in ("B", "I") and now in ("B", "S", "O")):
        return True
    return not same and before not in ("O", ".")


def chunk_starts(before: str, now: str, *, same: bool) -> bool:
    """Whether a lenient mention starts between tags with these letters and the same or another type."""
    if now in ("B", "S") or (before in ("E", "S", "O") and now in ("E", "I")):
        return True
    return not same and now not in ("O", ".")


def _letter(letter: str) -> int:
    return _LETTERS.index(letter) if letter in _LETTERS else len(_LETTERS) - 1


def _lenient_rule(before: int, now: int, same: bool) -> int:
    pair = _LETTERS[before], _LETTERS[now]
    return bits(starts=chunk_starts(*pair, same=same), inside=False, ends=chunk_ends(*pair, same=same))


_LENIENT = tabulate(_lenient_rule)


def _type_of(tag: str, *, suffix: bool) -> str:
    if suffix:
        return tag[:-1].rsplit("-", maxsplit=1)[0] or "_"
    return tag[1:].split("-", maxsplit=1)[-1] or "_"


def _warn_if_odd(tag: str, *, suffix: bool) -> None:
    if tag in ("O", "B", "I", "E", "S"):
        return
    fine = tag.endswith(("-B", "-I", "-E", "-S")) if suffix else tag.startswith(("B-", "I-", "E-", "S-"))
    if not fine:
        warnings.warn(f"{tag} seems not to be NE tag.", stacklevel=1)


def tally(true: Spans, predicted: Spans) -> tuple[list[str], Ints, Ints, Ints]:
    """The types of both sides in order, and of each how many were predicted, right and true."""
    names = sorted(true.used | predicted.used)
    code = {name: number for number, name in enumerate(names)}
    wide = len(names) + 1
    mine, theirs = (
        np.array([code.get(name, -1) for name in side.types], np.int64)[side.type]
        for side in (true, predicted)
    )
    # No two entities of one side end at the same position, so the end is a key.
    at = np.full(max(true.length, predicted.length) + 1, -1, np.int64)
    at[true.end] = true.start * wide + mine
    right = at[predicted.end] == predicted.start * wide + theirs
    count = len(names)
    return (
        names,
        ints(np.bincount(theirs, minlength=count)),
        ints(np.bincount(theirs[right], minlength=count)),
        ints(np.bincount(mine, minlength=count)),
    )
