"""Lists of tags as integer columns, and the entities that seqeval finds in them, lenient or strict."""

from __future__ import annotations

import enum
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Codes, Column, Ints, distinct, ints

T = TypeVar("T")

# The letters that seqeval's default mode distinguishes; all others are treated like the last.
_LETTERS = "O.BIES?"
_STARTS, _INSIDE, _ENDS = 1, 2, 4
_FEW = 500  # distinct tags up to which a table of all pairs is used
# The letters of strict tags, in the order of seqeval.scheme.Prefix.
PREFIXES = "IOBESUL"


class _Interned(dict[T, int]):
    """A number for every distinct tag, in the order of first occurrence."""

    def __missing__(self, tag: T) -> int:
        self[tag] = number = len(self)
        return number


class TagSequences(Struct, frozen=True, eq=False):
    """Concatenated sequences of tags, each followed by an O.

    There are two codes beyond those of `distinct`: one for the O after a sequence, and one for
    the position before the very first tag.
    """

    stream: Codes
    distinct: Sequence[Any]  # in the order of first occurrence
    sizes: Ints

    @classmethod
    def of(cls, sequences: Sequence[Sequence[object]]) -> TagSequences:
        """Convert nested lists of tags to columns.

        Scripts ask for precision, recall, F1 and a report of the same lists one after another: the last two
        lists are remembered with a copy of their tags, by which a changed list is noticed.
        """
        sizes = np.fromiter(map(len, sequences), np.int64, len(sequences))
        flat = list(chain.from_iterable(sequences))
        for known in _REMEMBERED:
            if np.array_equal(known.encoded.sizes, sizes) and known.flat == flat:
                return known.encoded
        encoded = cls._encoded(flat, sizes)
        if set(map(type, encoded.distinct)) <= {str}:  # equal tags of other types may differ in their text
            _REMEMBERED.append(_Remembered(flat, encoded))
        return encoded

    @classmethod
    def _encoded(cls, flat: Sequence[object], sizes: Ints) -> TagSequences:
        interned = _Interned[object]()
        column = np.fromiter(map(interned.__getitem__, flat), np.int32, len(flat))
        stream = np.full(len(column) + len(sizes) + 1, len(interned), np.int32)
        inner = np.ones(len(stream), dtype=bool)
        inner[np.cumsum(sizes + 1)] = inner[0] = False
        stream[inner] = column
        stream[0] += 1
        return cls(stream, list(interned), ints(sizes))


class _Remembered(Struct, frozen=True, eq=False):
    """All tags of a list of sequences, and what was made of them."""

    flat: list[object]
    encoded: TagSequences


_REMEMBERED: deque[_Remembered] = deque(maxlen=2)  # gold and predictions


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
        return {self.types[code] for code in distinct(self.type).tolist()}


def lenient(sequences: Sequence[Sequence[object]], *, suffix: bool) -> Spans:
    """The entities in seqeval's default mode, which accepts any tag and warns about malformed ones.

    Each malformed tag is reported once per call, not once per token.
    """
    tags = TagSequences.of(sequences)
    for tag in tags.distinct:
        _warn_if_odd(tag, suffix=suffix)
    letters = [_letter(tag[-1] if suffix else tag[0]) for tag in (*tags.distinct, "O", "O")]
    # The type before the first tag differs from all others, even O's: a bare "X" begins an entity there.
    type_names = [*(_type_of(tag, suffix=suffix) for tag in (*tags.distinct, "O")), ""]
    flags, kinds, types = flags_of(tags, letters, type_names, _LENIENT)
    starts = np.flatnonzero(flags & _STARTS)
    ends = np.flatnonzero(flags & _ENDS)
    # An entity begins at the last start before its end, however far back that is.
    begin = np.searchsorted(starts, ends, side="left") - 1
    start = starts[begin] if len(starts) else np.zeros(len(ends), np.int64)
    start = np.where(begin >= 0, start, 0)
    return Spans(ints(start), ints(ends), ints(kinds[tags.stream[ends]]), types, len(tags.stream))


def strict(
    tags: TagSequences, prefixes: Sequence[str], named: Sequence[str], rules: Column
) -> tuple[Spans, Callable[[], Bools]]:
    """The entities in a strict scheme, and a function that returns a mask of the tokens inside them.

    A run of tokens that each continue the previous one has at most one entity: it begins at the
    first start in the run, and it counts if the scheme ends an entity where the run ends.
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
    tags: TagSequences, letters: Sequence[int], named: Sequence[str], rules: Column
) -> tuple[Column, Codes, list[str]]:
    """For each token the flags for starts, insides and ends, the type code of each tag, and the types.

    Position `i` of the flags is position `i + 1` of the stream, which begins before the first token.
    """
    interned = _Interned[str]()
    kind = np.array([interned[name] for name in named], np.int32)
    letter = np.array(letters, np.int32)
    before, now, number = tags.stream[:-1], tags.stream[1:], len(kind)
    if number <= _FEW:
        # A lookup in a table of all pairs of tags is cheaper than the arithmetic for each token.
        same = kind[:, None] == kind[None, :]
        pairs = rules[(letter[:, None] * 7 + letter[None, :]) * 2 + same].ravel()
        flags = pairs[before * number + now]
    else:
        flags = rules[(letter[before] * 7 + letter[now]) * 2 + (kind[before] == kind[now])]
    return flags, kind, list(interned)


def tabulate(rule: Callable[[int, int, bool], int]) -> Column:
    """Tabulate a rule over (previous letter, letter, same type) as a lookup column for `flags_of`."""
    cells = [rule(before, now, same) for before in range(7) for now in range(7) for same in (False, True)]
    return np.array(cells, np.int8)


def bits(*, starts: bool, inside: bool, ends: bool) -> int:
    """Pack flags into one number."""
    return _STARTS * starts | _INSIDE * inside | _ENDS * ends


def chunk_ends(before: str, now: str, *, same: bool) -> bool:
    """Whether a lenient mention ends between two tags, given their letters and whether the types agree."""
    if before in ("E", "S") or (before in ("B", "I") and now in ("B", "S", "O")):
        return True
    return not same and before not in ("O", ".")


def chunk_starts(before: str, now: str, *, same: bool) -> bool:
    """Whether a lenient mention starts between two tags, given their letters and whether the types agree."""
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
    """The sorted types of both sides, and for each the numbers of predicted, correct and true entities."""
    names = sorted(true.used | predicted.used)
    code = {name: number for number, name in enumerate(names)}
    wide = len(names) + 1
    true_codes, predicted_codes = (
        np.array([code.get(name, -1) for name in side.types], np.int64)[side.type]
        for side in (true, predicted)
    )
    # No two entities of one side end at the same position, so the end can serve as a key.
    at = np.full(max(true.length, predicted.length) + 1, -1, np.int64)
    at[true.end] = true.start * wide + true_codes
    right = at[predicted.end] == predicted.start * wide + predicted_codes
    count = len(names)
    return (
        names,
        ints(np.bincount(predicted_codes, minlength=count)),
        ints(np.bincount(predicted_codes[right], minlength=count)),
        ints(np.bincount(true_codes, minlength=count)),
    )


class Entity:
    """A labeled span of a sentence, half-open."""

    def __init__(self, sent_id: int | None, start: int, end: int, tag: str) -> None:
        self.sent_id = sent_id
        self.start = start
        self.end = end
        self.tag = tag

    def __repr__(self) -> str:
        return f"({self.sent_id}, {self.tag}, {self.start}, {self.end})"

    def __eq__(self, other: Any) -> bool:
        return bool(self.to_tuple() == other.to_tuple())

    def __hash__(self) -> int:
        return hash(self.to_tuple())

    def to_tuple(self) -> tuple[int | None, str, int, int]:
        """(sentence, label, start, end)."""
        return self.sent_id, self.tag, self.start, self.end


class Prefix(enum.Flag):
    """The letters of tags."""

    I = enum.auto()  # noqa: E741
    O = enum.auto()  # noqa: E741
    B = enum.auto()
    E = enum.auto()
    S = enum.auto()
    U = enum.auto()
    L = enum.auto()
    ANY = I | O | B | E | S | U | L


Prefixes = dict(Prefix.__members__)


class Tag(enum.Flag):
    """Whether two neighbouring tags have the same label."""

    SAME = enum.auto()
    DIFF = enum.auto()
    ANY = SAME | DIFF


Patterns: TypeAlias = set[tuple[Prefix, Prefix, Tag]]


class SchemeToken:
    """A tag of a scheme; the patterns define between which tags a mention starts, continues and ends."""

    allowed_prefix: ClassVar[Prefix | None] = None
    start_patterns: ClassVar[Patterns | None] = None
    inside_patterns: ClassVar[Patterns | None] = None
    end_patterns: ClassVar[Patterns | None] = None

    def __init__(self, token: str, suffix: bool = False, delimiter: str = "-") -> None:
        letter, label = (token[-1], token[:-1]) if suffix else (token[0], token[1:])
        self.token = token
        self.prefix = Prefixes[letter]
        self.tag = label.strip(delimiter) or "_"

    def __repr__(self) -> str:
        return self.token

    def is_valid(self) -> bool:
        """Return True, or raise ValueError if the scheme does not have the letter."""
        allowed: Any = self.allowed_prefix
        if self.prefix in allowed:
            return True
        letters = str(allowed).replace("Prefix.", "")
        raise ValueError(f"Invalid token is found: {self.token}. Allowed prefixes are: {letters}.")

    def is_start(self, prev: SchemeToken) -> bool:
        """Whether a mention starts here, after `prev`."""
        return self.check_patterns(prev, self.start_patterns)

    def is_inside(self, prev: SchemeToken) -> bool:
        """Whether the mention of `prev` continues here."""
        return self.check_patterns(prev, self.inside_patterns)

    def is_end(self, prev: SchemeToken) -> bool:
        """Whether the mention of `prev` ended before this token."""
        return self.check_patterns(prev, self.end_patterns)

    def check_tag(self, prev: SchemeToken, cond: Tag) -> bool:
        """Whether the labels of both tags satisfy `cond`."""
        return cond == Tag.ANY or cond == (Tag.SAME if prev.tag == self.tag else Tag.DIFF)

    def check_patterns(self, prev: SchemeToken, patterns: Patterns | None) -> bool:
        """Whether `prev` and this tag match one of the patterns."""
        fitting: Any = patterns
        return any(
            prev.prefix in before and self.prefix in now and self.check_tag(prev, cond)
            for before, now, cond in fitting
        )


def _patterns(text: str) -> Patterns:
    """Parse patterns like `BI=`: previous letter, letter (`?`: any), label (`=` same, `!` other, `*` any)."""
    conditions = {"=": Tag.SAME, "!": Tag.DIFF, "*": Tag.ANY}
    letters = {**Prefixes, "?": Prefix.ANY}
    return {(letters[word[0]], letters[word[1]], conditions[word[2]]) for word in text.split()}


class IOB1(SchemeToken):
    """I- marks every token; B- only the start of a mention directly after another with the same label."""

    allowed_prefix = Prefix.I | Prefix.O | Prefix.B
    start_patterns = _patterns("OI* II! BI* IB= BB=")
    inside_patterns = _patterns("BI= II=")
    end_patterns = _patterns("II! IO* IB* BO* BI! BB=")


class IOE1(SchemeToken):
    """I- marks every token; E- only the end of a mention directly before another with the same label."""

    # seqeval misreads some IOE1 sequences (a mention after an E- of another label); we reproduce its numbers.
    allowed_prefix = Prefix.I | Prefix.O | Prefix.E
    start_patterns = _patterns("OI* II! EI* EE=")
    inside_patterns = _patterns("II= IE=")
    end_patterns = _patterns("II! IO* IE! EI= EE=")


class IOB2(SchemeToken):
    """B- begins every mention."""

    allowed_prefix = Prefix.I | Prefix.O | Prefix.B
    start_patterns = _patterns("?B*")
    inside_patterns = _patterns("BI= II=")
    end_patterns = _patterns("IO* II! IB* BO* BI! BB*")


class IOE2(SchemeToken):
    """E- ends every mention."""

    allowed_prefix = Prefix.I | Prefix.O | Prefix.E
    start_patterns = _patterns("OI* OE* EI* EE* II! IE!")
    inside_patterns = _patterns("IE= II=")
    end_patterns = _patterns("E?*")


class IOBES(SchemeToken):
    """B- begins, E- ends, S- is a mention of one token."""

    allowed_prefix = Prefix.I | Prefix.O | Prefix.B | Prefix.E | Prefix.S
    start_patterns = _patterns("?B* ?S*")
    inside_patterns = _patterns("BI= BE= II= IE=")
    end_patterns = _patterns("S?* E?*")


class BILOU(SchemeToken):
    """B- begins, L- ends, U- is a mention of one token."""

    allowed_prefix = Prefix.B | Prefix.I | Prefix.L | Prefix.O | Prefix.U
    start_patterns = _patterns("?B* ?U*")
    inside_patterns = _patterns("BI= BL= II= IL=")
    end_patterns = _patterns("U?* L?*")


@lru_cache(maxsize=64)
def _rules(scheme: type[SchemeToken]) -> Column:
    """Tabulate the scheme's own methods for every pair of letters."""
    tags = [(scheme(f"{letter}-x"), scheme(f"{letter}-y")) for letter in PREFIXES]

    def rule(before: int, now: int, same: bool) -> int:
        prev, token = tags[before][0], tags[now][0 if same else 1]
        return bits(
            starts=bool(token.is_start(prev)),
            inside=bool(token.is_inside(prev)),
            ends=bool(token.is_end(prev)),
        )

    return tabulate(rule)


def _find(
    tags: TagSequences, parsed: Sequence[SchemeToken], scheme: type[SchemeToken]
) -> tuple[Spans, Callable[[], Bools]]:
    """Find mentions; `parsed` has the distinct tags as tokens of the scheme, followed by its O."""
    tokens = [*parsed, parsed[-1]]
    letters = [str(token.prefix.name) for token in tokens]
    rules: Column = _rules(scheme)  # type: ignore[arg-type]  # a class is hashable
    return strict(tags, letters, [token.tag for token in tokens], rules)


class Tokens:
    """The tags of one sentence in a scheme, and the mentions they form."""

    def __init__(
        self,
        tokens: Sequence[str],
        scheme: type[SchemeToken],
        suffix: bool = False,
        delimiter: str = "-",
        sent_id: int | None = None,
    ) -> None:
        self.outside_token = scheme("O", suffix=suffix, delimiter=delimiter)
        self.tokens = [scheme(token, suffix=suffix, delimiter=delimiter) for token in tokens]
        self.extended_tokens = [*self.tokens, self.outside_token]
        self.sent_id = sent_id

    @property
    def entities(self) -> list[Entity]:
        """The mentions of the sentence; raises ValueError for a letter that the scheme does not have."""
        numbered = TagSequences.of([range(len(self.tokens))])
        spans, consumed = _find(numbered, self.extended_tokens, type(self.outside_token))
        for token, inner in zip(self.extended_tokens, consumed().tolist(), strict=True):
            if not inner:
                token.is_valid()
        return [
            Entity(self.sent_id, start, end, self.tokens[start].tag)
            for start, end in zip(spans.start.tolist(), spans.end.tolist(), strict=True)
        ]


class Entities:
    """The mentions of sentences of tags in a scheme."""

    def __init__(
        self,
        sequences: Sequence[Sequence[str]],
        scheme: type[SchemeToken],
        suffix: bool = False,
        delimiter: str = "-",
    ) -> None:
        tags = TagSequences.of(sequences)
        try:
            parsed = [scheme(tag, suffix, delimiter) for tag in (*tags.distinct, "O")]
            for token in parsed:
                token.is_valid()
        except (LookupError, ValueError):
            # Reading by sentence reports the first bad tag, and accepts tags that the scheme never checks.
            for number, sequence in enumerate(sequences):
                _ = Tokens(sequence, scheme, suffix, delimiter, sent_id=number).entities
            parsed = [scheme(tag, suffix, delimiter) for tag in (*tags.distinct, "O")]
        self._sizes = tags.sizes
        self.spans, _ = _find(tags, parsed, scheme)

    @cached_property
    def entities(self) -> list[list[Entity]]:
        """The mentions, by sentence."""
        heads = np.cumsum(self._sizes + 1) - (self._sizes + 1)
        sentence = np.searchsorted(heads, self.spans.start, side="right") - 1
        start, end = self.spans.start - heads[sentence], self.spans.end - heads[sentence]
        edges = np.searchsorted(sentence, np.arange(len(heads) + 1)).tolist()
        rows = [
            Entity(number, first, last, self.spans.types[code])
            for number, first, last, code in zip(
                sentence.tolist(), start.tolist(), end.tolist(), self.spans.type.tolist(), strict=True
            )
        ]
        return [rows[first:last] for first, last in pairwise(edges)]

    def filter(self, tag_name: str) -> set[Entity]:
        """The mentions with this label."""
        return {entity for entity in chain.from_iterable(self.entities) if entity.tag == tag_name}

    @property
    def unique_tags(self) -> set[str]:
        """The labels that occur."""
        return self.spans.used


def auto_detect(
    sequences: Sequence[Sequence[str]], suffix: bool = False, delimiter: str = "-"
) -> type[SchemeToken]:
    """Detect the scheme from the letters of the tags: IOB2, IOE2, IOBES or BILOU.

    B, optionally with I and O, is IOB2; E, optionally with I and O, is IOE2; B and E (or S alone)
    is IOBES; B and L (or U alone) is BILOU. Anything else raises ValueError.
    """
    prefixes: set[Prefix] = set()
    for tag in TagSequences.of(sequences).distinct:
        try:
            prefixes.add(SchemeToken(tag, suffix=suffix, delimiter=delimiter).prefix)
        except KeyError:
            raise ValueError(f"This scheme is not supported: {tag}") from None
    letters = {str(prefix.name) for prefix in prefixes}
    for scheme, allowed, required, alone in (
        (IOB2, "IOB", "B", "B"),
        (IOE2, "IOE", "E", "E"),
        (IOBES, "IOBES", "BE", "S"),
        (BILOU, "IOBLU", "BL", "U"),
    ):
        if set(required) <= letters <= set(allowed) or letters == {alone}:
            return scheme
    raise ValueError(f"This scheme is not supported: {prefixes}")
