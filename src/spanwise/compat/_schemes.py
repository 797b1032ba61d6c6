"""Strict tag schemes with the classes of `seqeval.scheme`, found through integer columns."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np

from spanwise.columns import Bools, Column
from spanwise.compat._tags import PREFIXES, Spans, Tags, bits, strict, tabulate


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


class Token:
    """A tag of a scheme; a scheme says between which tags a mention starts, goes on and ends."""

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
        """True; a letter that the scheme does not have is a ValueError."""
        allowed: Any = self.allowed_prefix
        if self.prefix in allowed:
            return True
        letters = str(allowed).replace("Prefix.", "")
        raise ValueError(f"Invalid token is found: {self.token}. Allowed prefixes are: {letters}.")

    def is_start(self, prev: Token) -> bool:
        """Whether a mention starts here, after `prev`."""
        return self.check_patterns(prev, self.start_patterns)

    def is_inside(self, prev: Token) -> bool:
        """Whether the mention of `prev` goes on here."""
        return self.check_patterns(prev, self.inside_patterns)

    def is_end(self, prev: Token) -> bool:
        """Whether the mention of `prev` ended before this token."""
        return self.check_patterns(prev, self.end_patterns)

    def check_tag(self, prev: Token, cond: Tag) -> bool:
        """Whether the labels of both tags are as `cond` asks."""
        return cond == Tag.ANY or cond == (Tag.SAME if prev.tag == self.tag else Tag.DIFF)

    def check_patterns(self, prev: Token, patterns: Patterns | None) -> bool:
        """Whether `prev` and this tag fit one of the patterns."""
        fitting: Any = patterns
        return any(
            prev.prefix in before and self.prefix in now and self.check_tag(prev, cond)
            for before, now, cond in fitting
        )


def _patterns(text: str) -> Patterns:
    """Patterns as `BI=`: letter before, letter (`?` is any), label `=` the same, `!` another, `*` either."""
    conditions = {"=": Tag.SAME, "!": Tag.DIFF, "*": Tag.ANY}
    letters = {**Prefixes, "?": Prefix.ANY}
    return {(letters[word[0]], letters[word[1]], conditions[word[2]]) for word in text.split()}


class IOB1(Token):
    """I- inside; B- only between two neighbouring mentions of one label."""

    allowed_prefix = Prefix.I | Prefix.O | Prefix.B
    start_patterns = _patterns("OI* II! BI* IB= BB=")
    inside_patterns = _patterns("BI= II=")
    end_patterns = _patterns("II! IO* IB* BO* BI! BB=")


class IOE1(Token):
    """I- inside; E- only at the end of a mention before another of its label."""

    # seqeval misreads some IOE1 sequences (a mention behind an E- of another label); its numbers are kept.
    allowed_prefix = Prefix.I | Prefix.O | Prefix.E
    start_patterns = _patterns("OI* II! EI* EE=")
    inside_patterns = _patterns("II= IE=")
    end_patterns = _patterns("II! IO* IE! EI= EE=")


class IOB2(Token):
    """B- begins every mention."""

    allowed_prefix = Prefix.I | Prefix.O | Prefix.B
    start_patterns = _patterns("?B*")
    inside_patterns = _patterns("BI= II=")
    end_patterns = _patterns("IO* II! IB* BO* BI! BB*")


class IOE2(Token):
    """E- ends every mention."""

    allowed_prefix = Prefix.I | Prefix.O | Prefix.E
    start_patterns = _patterns("OI* OE* EI* EE* II! IE!")
    inside_patterns = _patterns("IE= II=")
    end_patterns = _patterns("E?*")


class IOBES(Token):
    """B- begins, E- ends, S- is a mention of one token."""

    allowed_prefix = Prefix.I | Prefix.O | Prefix.B | Prefix.E | Prefix.S
    start_patterns = _patterns("?B* ?S*")
    inside_patterns = _patterns("BI= BE= II= IE=")
    end_patterns = _patterns("S?* E?*")


class BILOU(Token):
    """B- begins, L- ends, U- is a mention of one token."""

    allowed_prefix = Prefix.B | Prefix.I | Prefix.L | Prefix.O | Prefix.U
    start_patterns = _patterns("?B* ?U*")
    inside_patterns = _patterns("BI= BL= II= IL=")
    end_patterns = _patterns("U?* L?*")


@lru_cache(maxsize=64)
def _rules(scheme: type[Token]) -> Column:
    """What the scheme's own methods say of every pair of letters, as a column."""
    tags = [(scheme(f"{letter}-x"), scheme(f"{letter}-y")) for letter in PREFIXES]

    def rule(before: int, now: int, same: bool) -> int:
        prev, token = tags[before][0], tags[now][0 if same else 1]
        return bits(
            starts=bool(token.is_start(prev)),
            inside=bool(token.is_inside(prev)),
            ends=bool(token.is_end(prev)),
        )

    return tabulate(rule)


def _find(tags: Tags, parsed: Sequence[Token], scheme: type[Token]) -> tuple[Spans, Callable[[], Bools]]:
    """The mentions of columns whose distinct tags are `parsed`, the O of the scheme last."""
    tokens = [*parsed, parsed[-1]]
    letters = [str(token.prefix.name) for token in tokens]
    rules: Column = _rules(scheme)  # type: ignore[arg-type]  # a class is hashable
    return strict(tags, letters, [token.tag for token in tokens], rules)


class Tokens:
    """The tags of one sentence in a scheme, and the mentions they make."""

    def __init__(
        self,
        tokens: Sequence[str],
        scheme: type[Token],
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
        """The mentions of the sentence; a letter that the scheme does not have is a ValueError."""
        numbered = Tags.of([range(len(self.tokens))])
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
        scheme: type[Token],
        suffix: bool = False,
        delimiter: str = "-",
    ) -> None:
        options: dict[str, Any] = {"suffix": suffix, "delimiter": delimiter}
        tags = Tags.of(sequences)
        try:
            parsed = [scheme(tag, **options) for tag in (*tags.distinct, "O")]
            for token in parsed:
                token.is_valid()
        except (LookupError, ValueError):
            # Reading by sentences finds the tag that comes first, and lets pass what the scheme never checks.
            for number, sequence in enumerate(sequences):
                _ = Tokens(sequence, scheme, sent_id=number, **options).entities
            parsed = [scheme(tag, **options) for tag in (*tags.distinct, "O")]
        self._sizes = tags.sizes
        self.spans, _ = _find(tags, parsed, scheme)

    @cached_property
    def entities(self) -> list[list[Entity]]:
        """The mentions of every sentence."""
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
) -> type[Token]:
    """The scheme that has exactly the letters of these tags: IOB2, IOE2, IOBES or BILOU.

    B and perhaps I and O is IOB2; E and perhaps I and O is IOE2; B and E (or S alone)
    is IOBES; B and L (or U alone) is BILOU. Anything else is a ValueError.
    """
    prefixes: set[Prefix] = set()
    for tag in Tags.of(sequences).distinct:
        try:
            prefixes.add(Token(tag, suffix=suffix, delimiter=delimiter).prefix)
        except KeyError:
            raise ValueError(f"This scheme is not supported: {tag}") from None
    letters = {str(prefix.name) for prefix in prefixes}
    for scheme, known, needed, alone in (
        (IOB2, "IOB", "B", "B"),
        (IOE2, "IOE", "E", "E"),
        (IOBES, "IOBES", "BE", "S"),
        (BILOU, "IOBLU", "BL", "U"),
    ):
        if set(needed) <= letters <= set(known) or letters == {alone}:
            return scheme
    raise ValueError(f"This scheme is not supported: {prefixes}")
