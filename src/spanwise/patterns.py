"""Patterns of errors: the visible causes that several errors of one kind share."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.attributes.forms import Forms, Runs, mention_tokens
from spanwise.columns import Codes, Column, Ints, codes, ints, plain
from spanwise.corpus import Corpus, Mentions
from spanwise.document.scores import CauseName, ExactScores, Pattern, Patterns
from spanwise.matching import OUTCOMES, Events
from spanwise.scores import gain

Kind = Literal["BE", "LE", "FN", "FP"]
KINDS: tuple[Kind, ...] = ("BE", "LE", "FN", "FP")  # wrong boundary, wrong label, missed, spurious
_KIND_OF = {"BEs": "BE", "BEl": "BE", "BEo": "BE", "LE": "LE", "FN": "FN", "FP": "FP"}
_KIND = np.array([KINDS.index(_KIND_OF[name]) if name in _KIND_OF else -1 for name in OUTCOMES])
LEAST_ERRORS = 5
LEAST_SHARE = 10  # percent of the errors of the kind
MOST_ROWS = 250_000  # combinations of causes that are kept; errors rarely share all of theirs
# The causes of an error, in the order in which equally large groups are listed.
CAUSES: tuple[CauseName, ...] = (
    "starts after", "swallows before", "stops before", "swallows after",
    "labels", "text", "shape", "follows", "precedes",
)  # fmt: skip
_DIGITS = re.compile(r"(?=.*\d)[\d\s.,:/%+$€-]+")

NO_TEXT = "the mentions have no text"
REDACTED = "the text was left out (redact)"
TOO_MANY = "the errors are too different to be kept all at once"

Cause: TypeAlias = tuple[
    CauseName, str, str, str
]  # one of CAUSES, its text, the gold and the predicted label


class Causes(Struct, frozen=True, eq=False):
    """Errors of one system by kind and cause, each combination once with its number; parts add up.

    `cause[i]` are up to four indices into `names`, or -1. `role` is the part that an error plays in the
    gain of its kind: 0 if the gold and the predicted mention were both free, 1 if only the gold mention
    becomes right, 2 if only the predicted mention goes.
    """

    names: tuple[Cause, ...]
    kind: Column
    role: Column
    cause: Ints  # rows × 4
    number: Ints
    too_many: bool = False  # whether there were more combinations than can be kept; then there are no rows

    @classmethod
    def of(cls, corpus: Corpus, gold: Mentions, predicted: Mentions, events: Events) -> Causes:
        """The causes of all errors; `gold` and `predicted` have one list of labels.

        Examples:
            >>> from spanwise.matching import match
            >>> corpus = Corpus.of([["Port", "of", "Denby", "reopened"]])
            >>> gold = Mentions.of([(0, 0, 3, "LOC")])
            >>> predicted = Mentions.of([(0, 0, 1, "LOC")], labels=gold.labels)
            >>> Causes.of(corpus, gold, predicted, match(gold, predicted).events()).names[0]
            ('stops before', 'of', '', '')
        """
        names, _, kind, role, cause = causes_of_errors(corpus, gold, predicted, events)
        causes = cls(names, kind, role, cause, ints(np.ones(len(kind), dtype=np.int64)))
        return causes.bounded() if len(kind) > MOST_ROWS else causes

    def bounded(self) -> Causes:
        """The same errors with equal rows joined, or none of them if there are too many different ones."""
        rows = np.column_stack([self.kind, self.role, self.cause]).astype(np.int64)
        distinct, row = np.unique(rows, axis=0, return_inverse=True)
        if self.too_many or len(distinct) > MOST_ROWS:
            none = ints(np.zeros(0))
            return Causes((), none, none, none.reshape(0, 4), none, too_many=True)
        total = np.bincount(row.reshape(-1), weights=self.number, minlength=len(distinct))
        columns = distinct[:, 0], distinct[:, 1], ints(distinct[:, 2:]), ints(total)
        return Causes(self.names, *columns)

    @classmethod
    def joined(cls, parts: Sequence[Causes]) -> Causes:
        """Add up the errors of several parts of a corpus."""
        if len(parts) == 1:
            return parts[0]
        index: dict[Cause, int] = {}
        moved = []
        for part in parts:
            table = [index.setdefault(name, len(index)) for name in part.names]
            moved.append(np.array([*table, -1])[part.cause])
        columns = [
            np.concatenate([getattr(part, name) for part in parts]) for name in ("kind", "role", "number")
        ]
        whole = cls(tuple(index), columns[0], columns[1], ints(np.concatenate(moved)), columns[2])
        return replace(whole, too_many=any(part.too_many for part in parts)).bounded()


def causes_of_errors(
    corpus: Corpus, gold: Mentions, predicted: Mentions, events: Events
) -> tuple[tuple[Cause, ...], Ints, Column, Column, Ints]:
    """All causes, and per error: its row in `events`, its kind and role, and up to four of the causes."""
    kind = _KIND[events.outcome]
    rows = np.flatnonzero(kind >= 0)
    kind, role = kind[rows], np.zeros(len(rows), dtype=np.int64)
    turn = events.turn[rows]
    role[(turn == 2) | (kind == KINDS.index("FN"))] = 1
    role[(turn == 3) | (kind == KINDS.index("FP"))] = 2
    cause = np.full((len(rows), 4), -1, dtype=np.int64)
    names = _CauseNumbers()
    words = _Words(corpus)
    sides = [
        _SideOfErrors.of(corpus, mentions.take(np.maximum(events_rows[rows], 0)), events_rows[rows] >= 0)
        if len(mentions)
        else None
        for mentions, events_rows in ((gold, events.gold), (predicted, events.predicted))
    ]
    first, second = sides
    if first is not None and second is not None:
        _boundaries(cause, names, words, first, second, kind == KINDS.index("BE"))
        _labels(cause, names, words, first, second, kind == KINDS.index("LE"))
    if first is not None:
        _alone(cause, names, words, corpus, first, kind == KINDS.index("FN"))
    if second is not None:
        _alone(cause, names, words, corpus, second, kind == KINDS.index("FP"))
    return tuple(names.index), ints(rows), kind, role, ints(cause)


class _CauseNumbers:
    """Numbers causes in the order in which they are met."""

    def __init__(self) -> None:
        self.index: defaultdict[Cause, int] = defaultdict(itertools.count().__next__)

    def of(
        self,
        cause: CauseName,
        texts: Iterable[str],
        gold: Iterable[str] = itertools.repeat(""),
        predicted: Iterable[str] = itertools.repeat(""),
    ) -> Ints:
        """The numbers of causes, for columns of their texts and labels."""
        keys = zip(itertools.repeat(cause), texts, gold, predicted, strict=False)
        return ints(list(map(self.index.__getitem__, keys)))


class _Words:
    """The folded words of a corpus; only those that are asked for are folded."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def at(self, positions: Column) -> tuple[list[str], Ints]:
        """The distinct words at these positions, and which of them is at each."""
        code, which = np.unique(self._corpus.tokens[positions], return_inverse=True)
        folded = map(str.casefold, map(self._corpus.vocabulary.__getitem__, code.tolist()))
        return list(folded), ints(which.reshape(-1))

    def numbers(self, names: _CauseNumbers, cause: CauseName, positions: Column) -> Ints:
        """The number of the cause with the word at each position."""
        words, which = self.at(positions)
        return ints(names.of(cause, words)[which])


class _SideOfErrors(Struct, frozen=True, eq=False):
    """One side of the errors: the mention of each, or none, and its tokens."""

    mentions: Mentions
    runs: Runs
    first: Ints  # the position of the first token
    after: Ints  # the position after the last one
    present: Column  # whether there is a mention with tokens

    @classmethod
    def of(cls, corpus: Corpus, mentions: Mentions, present: Column) -> _SideOfErrors:
        """The tokens of mentions; those not `present` stand for the errors without a mention."""
        runs = mention_tokens(corpus, mentions)
        size = runs.size
        filled = np.append(runs.position, 0)
        first = filled[np.minimum(runs.at[:-1], len(runs.position))]
        after = filled[np.maximum(runs.at[1:] - 1, 0)] + 1
        return cls(mentions, runs, ints(first), ints(after), present & (size > 0))


def _boundaries(
    cause: Ints,
    names: _CauseNumbers,
    words: _Words,
    gold: _SideOfErrors,
    predicted: _SideOfErrors,
    chosen: Column,
) -> None:
    """Where boundaries are wrong: per side, the first token that only one of the two mentions has."""
    both = chosen & gold.present & predicted.present
    sides: tuple[tuple[int, CauseName, Column, Ints], ...] = (
        (0, "starts after", gold.first < predicted.first, gold.first),
        (0, "swallows before", predicted.first < gold.first, predicted.first),
        (1, "stops before", predicted.after < gold.after, predicted.after),
        (1, "swallows after", gold.after < predicted.after, gold.after),
    )
    for side, name, wrong, at in sides:
        rows = np.flatnonzero(both & wrong)
        cause[rows, side] = words.numbers(names, name, at[rows])


def _labels(
    cause: Ints,
    names: _CauseNumbers,
    words: _Words,
    gold: _SideOfErrors,
    predicted: _SideOfErrors,
    chosen: Column,
) -> None:
    """Where labels are wrong: the pair of labels, and the last token of the mention."""
    rows = np.flatnonzero(chosen & gold.present)
    heads, head = words.at(gold.after[rows] - 1)
    triples = np.column_stack([head, gold.mentions.label[rows], predicted.mentions.label[rows]])
    distinct, which = np.unique(triples.reshape(len(rows), 3), axis=0, return_inverse=True)
    labels = gold.mentions.labels.__getitem__
    texts, *pair = distinct.T.tolist()
    numbers = names.of("labels", map(heads.__getitem__, texts), *(map(labels, column) for column in pair))
    cause[rows, 0] = numbers[which.reshape(-1)]


def _alone(
    cause: Ints, names: _CauseNumbers, words: _Words, corpus: Corpus, side: _SideOfErrors, chosen: Column
) -> None:
    """Mentions without a counterpart: their text, its shape, and the tokens on both sides."""
    rows = np.flatnonzero(chosen & side.present)
    sizes = side.runs.size[rows]
    begins = side.runs.at[rows]
    position = np.repeat(begins - np.append(0, np.cumsum(sizes))[:-1], sizes) + np.arange(sizes.sum())
    tokens: Codes = codes(corpus.tokens[side.runs.position[position]])
    runs = Runs(ints(np.append(0, np.cumsum(sizes))), ints(np.arange(len(tokens))))
    _, form = Forms.of(tokens, runs, width=len(corpus.vocabulary))
    _, example, which = np.unique(form, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    vocabulary = list(map(corpus.vocabulary.__getitem__, tokens.tolist()))
    spans = map(slice, runs.at[:-1][example].tolist(), runs.at[1:][example].tolist())
    texts = list(map(" ".join, map(vocabulary.__getitem__, spans)))
    cause[rows, 0] = names.of("text", map(str.casefold, texts))[which]
    cause[rows, 1] = _shapes(names, texts, runs.size[example])[which]
    sentence = side.mentions.sentence[rows]
    before = np.flatnonzero(side.first[rows] > corpus.sentences[sentence])
    cause[rows[before], 2] = words.numbers(names, "follows", side.first[rows[before]] - 1)
    after = np.flatnonzero(side.after[rows] < corpus.sentences[sentence + 1])
    cause[rows[after], 3] = words.numbers(names, "precedes", side.after[rows[after]])


def _shapes(names: _CauseNumbers, texts: Sequence[str], sizes: Ints) -> Ints:
    """The number of the first shape that fits each text of so many tokens, or -1."""
    fits = {
        "digits": np.array(list(map(_DIGITS.fullmatch, texts)), dtype=bool),
        "all caps": np.array(list(map(str.isupper, texts)), dtype=bool),
        "lower case": np.array(list(map(str.islower, texts)), dtype=bool),
        "one token": sizes == 1,
    }
    numbers = names.of("shape", fits)
    return ints(np.select(list(fits.values()), list(numbers), -1))


def patterns(name: str, systems: Mapping[str, Causes], overall: ExactScores) -> Patterns:
    """The patterns in the errors of one system, by kind, each with the same count for every other system.

    Of the causes that the errors of a kind share, the one with most errors comes first; its errors leave,
    and the rest is looked at again, as long as a cause has at least five errors and a tenth of all errors
    of the kind. The count of another system is made in the same way: its errors of that kind with that
    cause, without those that have a cause listed earlier.
    """
    own = systems[name]
    if own.too_many:
        return Patterns(why=TOO_MANY)
    listed: list[Pattern] = []
    for kind in range(len(KINDS)):
        of_kind = own.kind == kind
        total = int(own.number[of_kind].sum())
        earlier: list[Cause] = []
        for chosen, rows in _groups(own, of_kind, total):
            count = int(own.number[rows].sum())
            played = np.bincount(own.role[rows], weights=own.number[rows], minlength=3)
            cause, text, gold, predicted = chosen
            others = {
                other: _count(errors, kind, chosen, earlier)
                for other, errors in systems.items()
                if other != name
            }
            listed.append(
                Pattern(
                    kind=KINDS[kind],
                    cause=cause,
                    text=text,
                    gold=gold or None,
                    predicted=predicted or None,
                    count=count,
                    of=total,
                    share=count / total,
                    gain=plain(gain(overall.gold, overall.predicted, overall.correct, *played)) or 0.0,
                    others=others,
                )
            )
            earlier.append(chosen)
    return Patterns(listed=tuple(listed))


def _groups(own: Causes, of_kind: Column, total: int) -> Iterator[tuple[Cause, Column]]:
    """The causes to list for one kind of error, the largest first, with the rows of their errors."""
    left = np.array(of_kind)
    while left.any():
        rows, column = np.nonzero((own.cause >= 0) & left[:, None])
        sizes = np.bincount(
            own.cause[rows, column], weights=own.number[rows], minlength=len(own.names)
        ).astype(np.int64)
        most = int(sizes.max(initial=0))
        if most < LEAST_ERRORS or 100 * most < LEAST_SHARE * total:
            return
        ties = [own.names[index] for index in np.flatnonzero(sizes == most).tolist()]
        chosen = min(ties, key=lambda cause: (CAUSES.index(cause[0]), cause[1:]))
        members = left & (own.cause == own.names.index(chosen)).any(axis=1)
        yield chosen, members
        left &= ~members


def _count(errors: Causes, kind: int, chosen: Cause, earlier: Sequence[Cause]) -> int:
    """How many errors of another system have a cause, and none of those that were listed before it."""
    if chosen not in errors.names:
        return 0
    member = (errors.kind == kind) & (errors.cause == errors.names.index(chosen)).any(axis=1)
    for cause in earlier:
        if cause in errors.names:
            member &= ~(errors.cause == errors.names.index(cause)).any(axis=1)
    return int(errors.number[member].sum())
