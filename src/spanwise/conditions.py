"""Conditions on mentions, such as `label=MISC & entity_length>=3`: parsed, written and evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Generic, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from msgspec import Struct, field

from spanwise.attributes import ATTRIBUTES
from spanwise.buckets import Bucket, range_text
from spanwise.columns import Bools, Column, Ints, ints, offsets
from spanwise.document.scores import OUTCOME_WORDS, SUBSET_WORDS, code_of
from spanwise.errors import ChoiceError

__all__ = [
    "DEFAULT",
    "OUTCOME",
    "SEARCHABLE",
    "SENTENCE",
    "TEXT",
    "TOUGHNESS",
    "Condition",
    "Criterion",
    "WordSearch",
    "bucket_meets",
    "parse",
    "prints",
    "unsearchable_error",
    "words_of",
]

Operator: TypeAlias = Literal["=", "!=", ">=", "<=", ">", "<"]
Search: TypeAlias = Callable[[str], Bools]  # which mentions contain a word, phrase or prefix*
OPERATORS: tuple[Operator, ...] = get_args(Operator)
DEFAULT = ("fu20", "label")  # attributes that readers understand; tough subsets are always included
TOUGHNESS = "toughness"  # the attribute whose values are the tough subsets of gold mentions
TEXT, SENTENCE = "text", "sentence"  # the attributes for words in a mention, or in its sentence
BEFORE, AFTER = "before", "after"  # the attributes for the token before a mention, or after it
SEARCHABLE = (TEXT, SENTENCE, BEFORE, AFTER)
OUTCOME = "outcome"  # the attribute for what happened to a mention
_HAS = re.compile(r"(!?\s*)(text|sentence)\s+has\s+(.+)|(!?\s*)(before|after)\s+(.+)", re.DOTALL)
_ALIASES = {"tough": TOUGHNESS}
_OPERATOR = re.compile("!=|>=|<=|=|>|<")
_SPECIAL = re.compile(r'[&,=<>!"]|^\s|\s$|^$')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_RANGE = re.compile(r"[(\[]\s*-?[\d.]+(?:e-?\d+)?\s*,\s*-?[\d.]+(?:e-?\d+)?\s*[)\]]")  # a bucket, as printed
_IN_WORDS = re.compile(r"(.+?)\s+(?:is|in)\s+(.+)", re.DOTALL)
_PRINTED = {"≥": ">=", "≤": "<="}
_WORD = re.compile(r"\w+|[^\w\s]")  # in texts without tokens
_EXAMPLE = "Write it like label=MISC & entity_length>=3; a comma means or, ! means not."


class Criterion(Struct, frozen=True, order=True):
    """A comparison of one attribute with one or more values: `label=PER,ORG`, `entity_length>=3`.

    Several values mean any of them, or, with `!=`, none of them.
    """

    attribute: str
    operator: Operator
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"{_quoted(self.attribute)}{self.operator}{','.join(map(_quoted, self.values))}"

    def opposite(self) -> Criterion:
        """The comparison that holds exactly when this one does not."""
        opposites: dict[Operator, Operator] = {
            "=": "!=", "!=": "=", ">=": "<", "<": ">=", "<=": ">", ">": "<=",
        }  # fmt: skip
        return Criterion(self.attribute, opposites[self.operator], self.values)


class Condition(Struct, frozen=True):
    """Clauses that must all hold; a clause holds if at least one of its comparisons does.

    `str(condition)` is its canonical form: equal conditions have equal texts.

    Examples:
        >>> condition = parse("eLen >= 3 & label = ORG, PER")
        >>> str(condition)
        'entity_length>=3 & label=ORG,PER'
        >>> parse(str(condition)) == condition
        True
    """

    clauses: tuple[tuple[Criterion, ...], ...]

    @classmethod
    def of(cls, clauses: Sequence[Sequence[Criterion]]) -> Condition:
        """The condition with these clauses in canonical form: sorted, each once."""
        return cls(tuple(sorted({tuple(sorted(set(clause))) for clause in clauses})))

    @classmethod
    def equal(cls, pairs: Mapping[str, str]) -> Condition:
        """The condition that each attribute has the given value."""
        return cls.of([[Criterion(name, "=", (value,))] for name, value in pairs.items()])

    def __str__(self) -> str:
        return " & ".join(", ".join(map(str, clause)) for clause in self.clauses)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes in the condition, each once."""
        return tuple(dict.fromkeys(criterion.attribute for clause in self.clauses for criterion in clause))

    def comparisons(self, attribute: str) -> tuple[Criterion, ...]:
        """The comparisons that involve one attribute."""
        return tuple(
            criterion for clause in self.clauses for criterion in clause if criterion.attribute == attribute
        )


def parse(text: str) -> Condition:
    """Parse a condition such as `label=MISC & toughness=UNSEEN-TOKENS & entity_length>=3`.

    `&` joins clauses that must all hold. A comma means or: between values of one attribute, or between
    comparisons. `!` before a comparison means not. Values with any of these characters are quoted: `"a,b"`.

    Examples:
        >>> str(parse("!label=PER,LOC & sLen<10"))
        'label!=LOC,PER & sentence_length<10'

    Raises:
        ChoiceError: the text is not a condition.
    """
    # Quoted values are set aside first, so that their content cannot be taken for syntax.
    quoted: list[str] = []

    def put_aside(match: re.Match[str]) -> str:
        return put_aside_whole(re.sub(r"\\(.)", r"\1", match[0][1:-1]))

    def put_aside_whole(value: str) -> str:
        quoted.append(value)
        return f"\x00{len(quoted) - 1}\x00"

    plain = _QUOTED.sub(put_aside, text.replace("\x00", ""))
    plain = _RANGE.sub(lambda match: put_aside_whole(match[0]), plain)
    if '"' in plain:
        raise ChoiceError(f'{text!r} has a " that is never closed.\n{_EXAMPLE}')
    return Condition.of([_clause(part, quoted, text) for part in plain.split("&")])


def _clause(plain: str, quoted: Sequence[str], text: str) -> list[Criterion]:
    criteria: list[Criterion] = []
    for part in plain.split(","):
        part = part if criteria else _in_signs(part.strip())
        operator = _OPERATOR.search(part)
        if operator is None:
            if not criteria:
                raise ChoiceError(f"{text!r} is not a condition.{_near(part)}\n{_EXAMPLE}")
            last = criteria[-1]
            criteria[-1] = Criterion(
                last.attribute, last.operator, (*last.values, _value(part, quoted, text))
            )
            continue
        attribute = part[: operator.start()].strip()
        negated = attribute.startswith("!")
        bare = attribute.removeprefix("!").strip()
        name = _restored(bare, quoted)
        value = _value(part[operator.end() :], quoted, text)
        if not name or "!" in bare:
            raise ChoiceError(f"{text!r} is not a condition.\n{_EXAMPLE}")
        criterion = Criterion(_long_name(name), _operator(operator[0]), (value,))
        criteria.append(criterion.opposite() if negated else criterion)
    for criterion in criteria:
        is_order = criterion.operator not in ("=", "!=")
        if is_order and (len(criterion.values) > 1 or _number(criterion.values[0]) is None):
            raise ChoiceError(f"{str(criterion)!r} compares with something that is not a number.\n{_EXAMPLE}")
    return [
        Criterion(criterion.attribute, criterion.operator, tuple(sorted(set(_codes(criterion)))))
        for criterion in criteria
    ]


def _codes(criterion: Criterion) -> Iterable[str]:
    """The values of a comparison; tough subsets and outcomes in words become their codes."""
    if criterion.attribute not in (TOUGHNESS, OUTCOME):
        return criterion.values
    return map(code_of, criterion.values)


def _in_signs(part: str) -> str:
    """A comparison in words as one in signs: `text has of` as `text=of`, `never seen` as `toughness=…`.

    Examples:
        >>> _in_signs("text has of"), _in_signs("!never seen"), _in_signs("missed")
        ('text=of', '!toughness=UNSEEN-TOKENS', 'outcome=FN')
        >>> _in_signs("label is WORK"), _in_signs("entity length ≥ 4")
        ('label=WORK', 'entity length >= 4')
    """
    match = _HAS.fullmatch(part)
    if match is not None:
        negated, name, value = match.group(1, 2, 3) if match[2] else match.group(4, 5, 6)
        return f"{negated.strip()}{name}={value}"
    bare = part.removeprefix("!").strip()
    code = code_of(bare)
    sign = "!" if part.startswith("!") else ""
    if code == bare:
        return part if _OPERATOR.search(part) else _printed(part)
    return f"{sign}{TOUGHNESS if code in SUBSET_WORDS else OUTCOME}={code}"


def _printed(part: str) -> str:
    """A comparison as screens print it, in signs: `label is WORK`, `entity length ≥ 4`."""
    match = _IN_WORDS.fullmatch(part)
    if match is not None:
        return f"{match[1]}={match[2]}"
    for sign, operator in _PRINTED.items():
        part = part.replace(sign, operator)
    return part


def _near(part: str) -> str:
    """The words of a tough subset or an outcome that are nearest to a text, with their code."""
    import difflib  # only needed for a wrong text

    words = {name: code for code, name in (*SUBSET_WORDS.items(), *OUTCOME_WORDS.items())}
    near = difflib.get_close_matches(part.strip().casefold(), words, n=1, cutoff=0.7)
    return f" Did you mean {near[0]!r} ({words[near[0]]})?" if near else ""


def _operator(text: str) -> Operator:
    return next(operator for operator in OPERATORS if operator == text)


def _value(text: str, quoted: Sequence[str], whole: str) -> str:
    value = text.strip()
    if not value:
        raise ChoiceError(f"{whole!r} is not a condition: a value is missing.\n{_EXAMPLE}")
    if _OPERATOR.search(value) or "!" in value:
        raise ChoiceError(f"{whole!r} is not a condition.\n{_EXAMPLE}")
    return _restored(value, quoted)


def _restored(text: str, quoted: Sequence[str]) -> str:
    return re.sub("\x00(\\d+)\x00", lambda match: quoted[int(match[1])], text)


def _quoted(value: str) -> str:
    if not _SPECIAL.search(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _long_name(name: str) -> str:
    """The long name of an attribute; an unregistered name may be a column of the data."""
    words = "_".join(name.split())
    found = next((known for known in (name, words) if known in ATTRIBUTES), None)
    return _ALIASES.get(name, name) if found is None else ATTRIBUTES.find(found).name


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number == number else None


BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
BELOW = np.array([(1 << bit) - 1 for bit in range(8)], dtype=np.uint8)  # the bits before each bit of a byte
BLOCK = 1 << 16  # mentions searched at a time, so that intermediate arrays stay small


class TokenBits(Struct, frozen=True, eq=False):
    """A set of tokens, stored as bits, that can be counted up to any token.

    Examples:
        >>> TokenBits.of(np.array([True, False, True])).before(np.array([0, 1, 3])).tolist()
        [0, 1, 2]
    """

    bits: Column
    counted: Column  # the number of bits set before each byte

    @classmethod
    def of(cls, chosen: Bools) -> TokenBits:
        """The tokens for which `chosen` is true."""
        bits = np.packbits(
            np.append(chosen, False), bitorder="little"
        )  # one extra position after the last token
        counted = np.zeros(len(bits), dtype=np.int32)
        np.cumsum(BITS_OF_BYTE[bits[:-1]], out=counted[1:])
        return cls(bits, counted)

    def before(self, token: Ints) -> Column:
        """How many tokens of the set come before each given token."""
        byte = token >> 3
        return np.asarray(self.counted[byte] + BITS_OF_BYTE[self.bits[byte] & BELOW[token & 7]])


K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A cache of at most `most` values, which is cleared when it is full.

    Examples:
        >>> cache = Recent(2)
        >>> [cache.get(word, lambda: len(word)) for word in ("new", "york", "new", "city")]
        [3, 4, 3, 4]
        >>> len(cache)
        1
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[K, V] = {}

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of a key, computed by `make` if it is not cached."""
        value = self._values.get(key)
        if value is None:
            value = make()
            if len(self._values) >= self._most:
                self._values.clear()
            self._values[key] = value
        return value

    def __len__(self) -> int:
        return len(self._values)


def _latest() -> Recent[tuple[tuple[str, ...], bool], TokenBits]:
    """A cache for one phrase, as words and as one token: gold and every system search for it in turn."""
    return Recent(2)


class WordSearch(Struct, frozen=True, eq=False, dict=True):
    """Case-insensitive search for a word, phrase or prefix* in the words of a text.

    Examples:
        >>> words = WordSearch.of_tokens(np.array([0, 1, 2]), ["New", "York", "City"], np.array([0, 3]))
        >>> windows = words.mentions(np.array([0, 0]), np.array([0, 2]), np.array([2, 3]))
        >>> words.containing("new york", *windows).tolist(), words.containing("c*", *windows).tolist()
        ([True, False], [False, True])
    """

    tokens: Column
    vocabulary: Sequence[str]
    sentences: Ints
    characters: tuple[Ints, Ints, Ints] | None = None  # where texts begin, and where tokens begin and end
    latest: Recent[tuple[tuple[str, ...], bool], TokenBits] = field(default_factory=_latest)

    @classmethod
    def of_tokens(cls, tokens: Column, vocabulary: Sequence[str], sentences: Column) -> WordSearch:
        """Search in sentences of tokens, which are codes into `vocabulary`."""
        return cls(tokens, vocabulary, ints(sentences))

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> WordSearch:
        """Search in texts whose positions count characters."""
        numbers: dict[str, int] = {}
        code: list[int] = []
        begin: list[int] = []
        end: list[int] = []
        sizes: list[int] = []
        base = offsets(ints([len(text) for text in texts]))
        for first, text in zip(base.tolist(), texts, strict=False):
            words = list(_WORD.finditer(text))
            code += [numbers.setdefault(word[0], len(numbers)) for word in words]
            begin += [first + word.start() for word in words]
            end += [first + word.end() for word in words]
            sizes.append(len(words))
        return cls(ints(code), list(numbers), offsets(ints(sizes)), (base, ints(begin), ints(end)))

    @cached_property
    def _folded(self) -> tuple[list[str], dict[str, list[int]]]:
        folded = [word.casefold() for word in self.vocabulary]
        codes: dict[str, list[int]] = {}
        for code, word in enumerate(folded):
            codes.setdefault(word, []).append(code)
        return folded, codes

    def mentions(self, sentence: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
        """The first token of each mention and the one after its last; an empty range if it is unplaced."""
        placed = np.asarray(start) >= 0
        if self.characters is None:
            base = self.sentences[sentence]
            return ints(np.where(placed, base + start, 0)), ints(np.where(placed, base + end, 0))
        base, begins, ends = self.characters
        low = np.searchsorted(begins, base[sentence] + start)
        high = np.searchsorted(ends, base[sentence] + end, "right")
        return ints(np.where(placed, low, 0)), ints(np.where(placed, high, 0))

    def around(self, sentence: Ints) -> tuple[Ints, Ints]:
        """The first token of each sentence and the one after its last."""
        return ints(self.sentences[sentence]), ints(self.sentences[np.asarray(sentence) + 1])

    def neighbours(self, sentence: Ints, start: Ints, end: Ints, *, side: str) -> tuple[Ints, Ints]:
        """The token before or after each mention; an empty range at the edge of a sentence."""
        low, high = self.mentions(sentence, start, end)
        first, last = self.around(sentence)
        placed = np.asarray(start) >= 0
        begin, stop = (low - 1, low) if side == BEFORE else (high, high + 1)
        inside = placed & (begin >= first) & (stop <= last)
        return ints(np.where(inside, begin, 0)), ints(np.where(inside, stop, 0))

    def containing(self, query: str, low: Ints, high: Ints) -> Bools:
        """Which ranges of tokens contain a word or phrase; one that ends in * matches longer words too."""
        text = " ".join(query.casefold().split())
        more = text.endswith("*")
        text = text.removesuffix("*").rstrip() if more else text
        words = text.split() if self.characters is None else _WORD.findall(text)
        if not words:
            return np.full(len(low), more)
        starts = self._runs(words, low, high, more=more)
        # A token may itself contain spaces.
        return starts | self._runs([text], low, high, more=more) if len(words) > 1 else starts

    def _runs(self, words: Sequence[str], low: Ints, high: Ints, *, more: bool) -> Bools:
        phrase = tuple(words)
        begins = self.latest.get((phrase, more), lambda: self._begins(phrase, more=more))
        return np.asarray(begins.before(np.maximum(high - len(words) + 1, low)) > begins.before(low))

    def _begins(self, words: tuple[str, ...], *, more: bool) -> TokenBits:
        """The tokens at which this sequence of words begins."""
        begins = self._is(words[0], more=more and len(words) == 1)[self.tokens]
        for index, word in enumerate(words[1:], start=1):
            matching = self._is(word, more=more and index == len(words) - 1)[self.tokens[index:]]
            begins[: len(matching)] &= matching
            begins[len(matching) :] = False
        return TokenBits.of(begins)

    def _is(self, word: str, *, more: bool) -> Bools:
        """Which words of the vocabulary equal this one, or, with `more`, begin with it."""
        folded, codes = self._folded
        if more:
            return np.array([candidate.startswith(word) for candidate in folded], dtype=bool)
        matching = np.zeros(len(folded), dtype=bool)
        matching[codes.get(word, [])] = True
        return matching


def unsearchable_error(criterion: Criterion) -> ChoiceError:
    """The error for a comparison that cannot be made by searching text."""
    return ChoiceError(
        f"{str(criterion)!r} cannot be searched for.\n"
        "Use text=WORD, sentence=WORD, before=WORD or after=WORD, or != with them, on data that have text."
    )


def words_of(search: WordSearch | None, column: Callable[[str], Column]) -> dict[str, Search]:
    """The searches in the text of mentions and of their sentences, by attribute; none without text.

    `column` returns the sentence, start or end of every mention.
    """
    if search is None:
        return {}

    def in_blocks(names: Sequence[str], query: str, window: Callable[..., tuple[Ints, Ints]]) -> Bools:
        columns = [column(name) for name in names]
        mask = np.zeros(len(columns[0]), dtype=bool)
        for first in range(0, len(mask), BLOCK):
            block = slice(first, first + BLOCK)
            mask[block] = search.containing(query, *window(*(ints(column[block]) for column in columns)))
        return mask

    def inside(query: str) -> Bools:
        return in_blocks(("sentence", "start", "end"), query, search.mentions)

    def around(query: str) -> Bools:
        return in_blocks(("sentence",), query, search.around)

    def beside(query: str, side: str) -> Bools:
        return in_blocks(
            ("sentence", "start", "end"), query, lambda *span: search.neighbours(*span, side=side)
        )

    return {
        TEXT: inside,
        SENTENCE: around,
        BEFORE: lambda query: beside(query, BEFORE),
        AFTER: lambda query: beside(query, AFTER),
    }


def _ordered(value: float, operator: Operator, bound: float) -> bool:
    if operator == ">=":
        return value >= bound
    if operator == "<=":
        return value <= bound
    return value > bound if operator == ">" else value < bound


def _unspaced(text: str) -> str:
    return "".join(text.split())


def prints(bucket: Bucket, criterion: Criterion) -> bool:
    """Whether a bucket without an end on one side is printed as a comparison says, as in `≥ 4`.

    Examples:
        >>> prints(Bucket("XS", low=None, high=0.15003, label="≤ 0.15"), Criterion("d", "<=", ("0.15",)))
        True
    """
    signs: dict[str, str] = {operator: sign for sign, operator in _PRINTED.items()}
    return _unspaced(bucket.label) == f"{signs.get(criterion.operator)}{criterion.values[0]}"


def bucket_meets(bucket: Bucket, criterion: Criterion) -> bool | None:
    """Whether all mentions of a bucket meet a comparison, or none do; None if it may be only some of them.

    A document stores the bucket of a mention, not its value.

    Examples:
        >>> bucket = Bucket("XL", low=3, high=None)
        >>> bucket_meets(bucket, Criterion("entity_length", ">=", ("3",)))
        True
        >>> bucket_meets(bucket, Criterion("entity_length", ">", ("5",))) is None
        True
        >>> whole = Bucket("XL", low=3, high=None, label="≥ 4")
        >>> bucket_meets(whole, Criterion("entity_length", ">=", ("4",)))
        True
    """
    if criterion.operator == "!=":
        opposite = bucket_meets(bucket, criterion.opposite())
        return None if opposite is None else not opposite
    if criterion.operator == "=":
        answers = [_bucket_is(bucket, value) for value in criterion.values]
        return True if any(answers) else None if None in answers else False
    if bucket.rest:
        return False
    if bucket.value is not None:
        return None
    bound = float(criterion.values[0])
    low = -np.inf if bucket.low is None else bucket.low
    high = np.inf if bucket.high is None else bucket.high
    if bucket.special:
        return _ordered(low, criterion.operator, bound)
    if _is_whole(bucket):
        least, most = (
            bool(_ordered(end, criterion.operator, bound)) for end in (np.floor(low) + 1, np.floor(high))
        )
        return least if least == most else None
    # The bucket holds low < value <= high.
    upward = criterion.operator in (">=", ">")
    if low >= bound:
        return upward
    below = high <= bound if criterion.operator in (">", "<=") else high < bound
    return not upward if below else None


def _is_whole(bucket: Bucket) -> bool:
    """Whether a bucket holds only whole numbers, as its label says: "≥ 4" and not "> 3"."""
    label = range_text(bucket.low, bucket.high, whole=True)
    return bucket.label == label != range_text(bucket.low, bucket.high)


def _names_contents(bucket: Bucket, value: str) -> bool:
    """Whether a text is what a bucket holds, with or without its name: `≥ 4`, `XL ≥ 4` or `XL (≥ 4)`."""
    contents = _unspaced(bucket.label)
    return _unspaced(value) in (contents, f"{bucket.name}{contents}", f"{bucket.name}({contents})")


def _bucket_is(bucket: Bucket, value: str) -> bool | None:
    if value in (bucket.name, bucket.value) or (bucket.label and _names_contents(bucket, value)):
        return True
    number = _number(value)
    if number is None or bucket.value is not None or bucket.rest:
        return False
    if bucket.special:
        return bucket.low == number
    low = -np.inf if bucket.low is None else bucket.low
    high = np.inf if bucket.high is None else bucket.high
    return None if low < number <= high else False
