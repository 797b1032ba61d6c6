"""Attributes, the context they are computed in (text, mentions, training data), and their checked values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from math import fsum
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.attributes._lexicon import (
    FormCounts,
    Lexicon,
    LexiconQueries,
    SummedLexicon,
    TrainingCounts,
    lowering,
)
from spanwise.attributes.forms import Forms, Runs, distinct_units, mention_tokens
from spanwise.columns import Bools, Codes, Column, Floats, Ints, codes, floats, frozen, ints, offsets, ratio
from spanwise.corpus import Corpus, Mentions
from spanwise.errors import ChoiceError, InputError, many
from spanwise.hashing import numbered

AttributeUnit = Literal["mention", "token"]
Kind = Literal["numeric", "category"]
UNPLACED = -1
PartCounts = tuple[
    Counter[Hashable], Counter[tuple[Hashable, Hashable]]
]  # of wholes, and of (whole, part) pairs


class Values(Struct, frozen=True, eq=False, dict=True):
    """The values of an attribute, one per unit: a mention, or a token of a mention.

    A token unit is a distinct (position, label). `unit_mention` is the mention of each
    token unit (the first, if several with one label contain the token) and `position`
    its position in the corpus; both are None if the units are mentions. A mention that
    could not be placed is one token unit, at -1. Numeric values are floats; categories are
    codes into `names`. `defined` is False for units whose text is not known.
    A defined unit without a value (NaN, or code -1) belongs to no ordinary bucket.
    If only the distribution matters, a value may stand for several units: `times` is their number.

    Examples:
        >>> values = Values(floats([1, 3]), np.ones(2, dtype=bool), "entity_length")
        >>> len(values), values.kind, values.zeta
        (2, 'numeric', 2.0)
    """

    value: Column
    defined: Bools
    attribute: str = ""
    names: tuple[str, ...] | None = None
    unit_mention: Ints | None = None
    position: Ints | None = None
    bounds: tuple[float, float] = (-np.inf, np.inf)
    whole: bool = False
    times: Ints | None = None

    def __len__(self) -> int:
        return len(self.value) if self.times is None else int(self.times.sum())

    @property
    def described(self) -> int:
        """The number of units whose text is known."""
        return int(np.count_nonzero(self.defined) if self.times is None else self.times[self.defined].sum())

    @property
    def kind(self) -> Kind:
        """Whether the values are numbers or categories."""
        return "numeric" if self.names is None else "category"

    @property
    def zeta(self) -> float:
        """ζ: the mean value over the units; NaN for categories, or if there are no units."""
        if self.names is not None:
            return float("nan")
        value, times = self.distinct()
        # fsum: the order and grouping of the values must not affect even the last bit.
        return float(ratio(fsum((value * times).tolist()), times.sum()))

    def named(self) -> dict[str, int]:
        """The number of units in each category that has any."""
        used = self.defined & (self.value >= 0)
        weights = None if self.times is None else self.times[used]
        names = self.names or ()
        counts = np.bincount(self.value[used], weights=weights, minlength=len(names)).astype(np.int64)
        return {name: count for name, count in zip(names, counts.tolist(), strict=True) if count}

    def distinct(self) -> tuple[Floats, Ints]:
        """The distinct numeric values in ascending order, and the number of units with each."""
        return self._distinct

    @cached_property
    def _distinct(self) -> tuple[Floats, Ints]:
        valid = self.defined & ~np.isnan(self.value)
        numbers = self.value[valid] + 0.0  # -0 is 0
        first, number = numbered(numbers.view(np.uint64)[:, None])
        order = np.argsort(numbers[first])
        weights = None if self.times is None else self.times[valid]
        times = np.bincount(number, weights=weights, minlength=len(first))
        return floats(numbers[first[order]]), ints(times[order])


class Attribute(Struct, frozen=True, eq=False):
    """A property of a mention or of a token in it.

    `function` takes a `Side` and returns one value per unit: numbers, or, for a
    category, strings or a pair (codes, names). If `kind` is None, it is inferred from the
    values of the gold units: numeric if all of them are numbers. `needs` lists what must
    be available: "text", "train", "vocabulary" (training data or a word list), "train mentions"
    (training data not read in parts), or a column or field of the data, such as "column:3".
    `bounds` are the smallest and the largest possible value.

    Examples:
        >>> from spanwise.attributes import ATTRIBUTES
        >>> length = ATTRIBUTES.find("entity_length")
        >>> length.alias, length.unit, length.kind
        ('eLen', 'mention', 'numeric')
    """

    name: str
    summary: str
    function: Callable[[Side], Any]
    alias: str = ""
    unit: AttributeUnit = "mention"
    kind: Kind | None = "numeric"
    needs: frozenset[str] = frozenset({"text"})
    source: str = ""
    buckets: str = ""  # how values are bucketed by default; "" leaves it to the kind
    bounds: tuple[float, float] = (-np.inf, np.inf)
    whole: bool = False  # values are whole numbers
    of_sentence: bool = False  # depends on the sentence or label alone: unplaced mentions have it too


class Context(Struct, frozen=True, eq=False, dict=True):
    """The context that attributes are computed in: the gold text, the gold mentions, training data.

    `known` is a word list that replaces the training vocabulary in deciding which words are
    out of vocabulary; with `lowercase`, all strings are compared in lower case.

    Examples:
        >>> context = Context(Corpus.of([["Ann", "left"]]), Mentions.of([(0, 0, 1, "PER")]))
        >>> context.corpus.words(0), context.gold.names()
        (['Ann', 'left'], ['PER'])
    """

    corpus: Corpus
    gold: Mentions
    lexicon: Lexicon | SummedLexicon | None = None
    known: frozenset[str] | None = None
    lowercase: bool = False

    def side(self, mentions: Mentions) -> Side:
        """The side of the given mentions, gold or predicted."""
        return self.sides([mentions])[0]

    def sides(self, several: Sequence[Mentions]) -> list[Side]:
        """The sides of several lists of mentions; the training text is searched once for all of them."""
        group = SideGroup(self, tuple(several))
        return [Side(self, mentions, group, index) for index, mentions in enumerate(several)]

    @cached_property
    def training(self) -> Lexicon | SummedLexicon | None:
        """The lexicon to compare with: as written, or in lower case."""
        if self.lexicon is None:
            return None
        return self.lexicon.lowered if self.lowercase else self.lexicon

    @cached_property
    def counted(self) -> TrainingCounts | None:
        """The counts for user-defined functions; None without training data, or if they are read in parts."""
        lexicon = self.training
        return TrainingCounts(lexicon, self.lowercase) if isinstance(lexicon, Lexicon) else None

    @cached_property
    def of_training(self) -> tuple[Context, ...]:
        """The training data as contexts of their own, one per file."""
        if not isinstance(self.lexicon, Lexicon):
            raise no_training()
        return tuple(replace(self, corpus=part.corpus, gold=part.mentions) for part in self.lexicon.parts)

    @cached_property
    def tallies(self) -> dict[object, PartCounts]:
        """Counts over training mentions, cached by attribute and shared by all sides."""
        return {}

    @cached_property
    def _coded(self) -> tuple[Codes, Sequence[str]]:
        """The code of every token of the text, and the string of each code."""
        tokens, strings = self.corpus.tokens, self.corpus.vocabulary
        if not self.lowercase:
            return tokens, strings
        lexicon = self.lexicon
        shared = isinstance(lexicon, Lexicon) and lexicon.vocabulary is strings
        table, strings = lexicon.lowering if isinstance(lexicon, Lexicon) and shared else lowering(strings)
        return codes(table[tokens]), strings

    @property
    def tokens(self) -> Codes:
        """The code of every token of the text."""
        return self._coded[0]

    @property
    def strings(self) -> Sequence[str]:
        """The string of each code."""
        return self._coded[1]

    @cached_property
    def train_code(self) -> Codes | None:
        """The training code of each code of the text, -1 if it has none; None if the codes are the same."""
        return None if self.training is None else self.training.codes_of(self.strings)

    @cached_property
    def runs(self) -> Runs:
        """The tokens of the gold mentions."""
        return mention_tokens(self.corpus, self.gold)

    @cached_property
    def unknown(self) -> Ints:
        """The number of tokens in each sentence outside the word list, or else the training vocabulary."""
        if self.known is not None:
            words = {word.lower() for word in self.known} if self.lowercase else self.known
            unseen = np.zeros(len(self.strings), dtype=bool)
            # Parts of a test set share the strings of the whole but use only some of them.
            used = np.flatnonzero(np.bincount(self.tokens, minlength=len(unseen)))
            unseen[used] = [self.strings[code] not in words for code in used.tolist()]
        elif self.training is not None:
            frequency = self.training.frequency
            if self.train_code is not None:
                frequency = np.append(frequency, 0)[self.train_code]
            unseen = frequency == 0
        else:
            raise ChoiceError(
                "there are neither training data nor known words.\n"
                "Pass train= or vocabulary=; an attribute that reads them declares needs=['vocabulary']."
            )
        return self.per_sentence(unseen[self.tokens])

    def per_sentence(self, marked: Bools) -> Ints:
        """The number of marked tokens in each sentence."""
        # Usually few tokens are marked, and there are far fewer sentences than tokens.
        return ints(np.diff(np.searchsorted(np.flatnonzero(marked), self.corpus.sentences)))


def collect_lexicon_queries(
    corpus: Corpus, several: Sequence[Mentions], *, lowercase: bool = False
) -> LexiconQueries:
    """What to look up in training data for lists of mentions, gold first; also in lower case if requested."""
    if corpus.without_text:
        return LexiconQueries.nothing()
    lowered = None
    if lowercase:
        lower = Context(corpus, several[0], lowercase=True)
        lowered = LexiconQueries.of(lower.strings, lower.sides(several)[0].tree)
    context = Context(corpus, several[0])
    return LexiconQueries.of(context.strings, context.sides(several)[0].tree, lowered)


def no_training() -> ChoiceError:
    """The error for an attribute that needs training data when there are none."""
    return ChoiceError(
        "there are no training data.\nPass train=; an attribute that reads them declares needs=['train']."
    )


class SideGroup(Struct, frozen=True, eq=False, dict=True):
    """Lists of mentions whose token sequences are numbered in one shared tree."""

    context: Context
    mentions: tuple[Mentions, ...]

    @cached_property
    def runs(self) -> list[Runs]:
        """The tokens of each mention, list by list, as positions in the corpus."""
        return [
            self.context.runs
            if mentions is self.context.gold
            else mention_tokens(self.context.corpus, mentions)
            for mentions in self.mentions
        ]

    @cached_property
    def numbered(self) -> tuple[Forms, list[Ints], FormCounts | None]:
        """The tree, the number of each mention in it, and the training counts of its sequences, if any."""
        context = self.context
        runs = Runs(
            offsets(np.concatenate([run.size for run in self.runs])),
            ints(np.concatenate([run.position for run in self.runs])),
        )
        forms, number = Forms.of(context.tokens, runs, width=len(context.strings))
        ends = np.cumsum([len(mentions) for mentions in self.mentions])
        parts = [ints(part) for part in np.split(number, ends[:-1])]
        training = context.training
        return forms, parts, None if training is None else training.count(forms, context.train_code)


class Side(Struct, frozen=True, eq=False, dict=True):
    """The mentions of one side, gold or predicted, in their context; each column is computed once.

    Examples:
        >>> from spanwise.attributes import own, values
        >>> def starts(side):
        ...     return side.mentions.start
        >>> corpus, gold = Corpus.of([["Ann", "left"]]), Mentions.of([(0, 0, 1, "PER")])
        >>> values(own(starts, columns=True), Context(corpus, gold), gold).value.tolist()
        [0.0]
    """

    context: Context
    mentions: Mentions
    group: SideGroup
    place: int  # index in the group

    @property
    def runs(self) -> Runs:
        """The tokens of each mention, as positions in the corpus."""
        return self.group.runs[self.place]

    @cached_property
    def placed(self) -> Bools:
        """Which mentions could be placed on the text."""
        return self.mentions.placed

    @property
    def form(self) -> Ints:
        """The number of each mention's token sequence; equal sequences have equal numbers."""
        return self.group.numbered[1][self.place]

    @property
    def tree(self) -> Forms:
        """The token sequences of the mentions, and possibly of others."""
        return self.group.numbered[0]

    @property
    def forms(self) -> int:
        """The number of token sequences in the tree."""
        return len(self.tree)

    @property
    def counts(self) -> FormCounts:
        """The training counts of the token sequences."""
        counts = self.group.numbered[2]
        if counts is None:
            raise no_training()
        return counts

    @cached_property
    def train_label(self) -> Ints:
        """The code of each mention's label among the training labels, -1 if it is not one of them."""
        if self.context.training is None:
            raise no_training()
        number = {name: code for code, name in enumerate(self.context.training.labels)}
        table = np.array([number.get(name, -1) for name in self.mentions.labels], dtype=np.int64)
        return ints(table[self.mentions.label])

    @cached_property
    def units(self) -> tuple[Ints, Ints]:
        """The mention and the position of each token unit; each (position, label) occurs once."""
        size = self.runs.size
        if self.placed.all():
            mention, position = self.runs.row, self.runs.position
        else:
            lone = ~self.placed
            mention = ints(np.repeat(np.arange(len(size)), np.where(lone, 1, size)))
            spread = np.full(len(mention), UNPLACED, dtype=np.int64)
            spread[~lone[mention]] = self.runs.position
            position = ints(spread)
        label = self.mentions.label[mention]
        rows = distinct_units(position, label, len(self.mentions.labels))
        return (mention, position) if rows is None else (ints(mention[rows]), ints(position[rows]))

    @cached_property
    def unit_code(self) -> Ints:
        """The code of each token unit, -1 if it is not placed."""
        position = self.units[1]
        if not len(self.context.tokens):
            return ints(np.full(len(position), -1))
        return ints(np.where(position >= 0, self.context.tokens[position], -1))

    @cached_property
    def unit_train_code(self) -> Ints:
        """The training code of each token unit, -1 if it has none."""
        table = self.context.train_code
        return self.unit_code if table is None else ints(np.append(table, -1)[self.unit_code])

    def of_sentence(self, per_sentence: Column) -> Column:
        """For each mention, the value of its sentence."""
        return np.asarray(per_sentence[self.mentions.sentence])


# ---- inputs and results of attribute functions ---------------------------------------------------
NO_VALUE = "n/a"  # the category of units without a value in the data


def compute(attribute: Attribute, side: Side) -> Values:
    """The values of `attribute` over the mentions of `side`."""
    unit_mention: Ints | None = None
    position: Ints | None = None
    if attribute.unit == "token":
        unit_mention, position = side.units
    defined = _defined(attribute, side, position)
    result = attribute.function(side)
    number = len(result[0] if isinstance(result, tuple) else result)
    if number != len(defined):
        raise InputError(
            f"the attribute {attribute.name!r} gave {many(number, 'value')} for "
            f"{many(len(defined), attribute.unit)}.\nIts function must give one value for each."
        )
    names: tuple[str, ...] | None = None
    if isinstance(result, tuple):
        value, names = result
    elif isinstance(result, np.ndarray) and result.dtype.kind in "iufb" and attribute.kind != "category":
        value = _finite(attribute, side, floats(result), defined, unit_mention)
    elif _kind(attribute, side, result, defined) == "numeric":
        value = _finite(
            attribute, side, _numbers(attribute, side, result, defined, unit_mention), defined, unit_mention
        )
    else:
        value, names = _categories(result, defined)
    return Values(
        value=frozen(value),
        defined=frozen(defined),
        attribute=attribute.name,
        names=names,
        unit_mention=unit_mention,
        position=position,
        bounds=attribute.bounds,
        whole=attribute.whole,
    )


def _defined(attribute: Attribute, side: Side, position: Ints | None) -> Bools:
    """Which units have the text that the attribute is computed from."""
    if position is not None:
        return np.asarray(position >= 0)
    if attribute.of_sentence:
        if "text" not in attribute.needs or attribute.whole:
            return np.ones(len(side.mentions), dtype=bool)
        # A text of white space has no tokens: their number is 0, but a share of them is undefined.
        return np.asarray(side.of_sentence(side.context.corpus.lengths) > 0)
    return side.placed


def _kind(attribute: Attribute, side: Side, result: Sequence[object], defined: Bools) -> Kind:
    """The declared kind of an attribute, or else the kind inferred from the values of the gold units."""
    if attribute.kind is not None:
        return attribute.kind
    if side.mentions is not side.context.gold:
        return compute(attribute, side.context.side(side.context.gold)).kind
    listed = [value for value, has in zip(result, defined.tolist(), strict=True) if has]
    return "numeric" if listed and all(_number(value) is not None for value in listed) else "category"


def _number(value: Any) -> float | None:
    """The value as a number, or None if it is not one."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _numbers(
    attribute: Attribute, side: Side, result: Sequence[object], defined: Bools, unit_mention: Ints | None
) -> Floats:
    """The values as numbers; for a predicted unit a value may be missing, for a gold unit it may not."""
    numbers = [_number(value) for value in result]
    if side.mentions is side.context.gold:
        for unit, (number, has) in enumerate(zip(numbers, defined.tolist(), strict=True)):
            if has and number is None:
                raise _refused(attribute, side, unit, result[unit], unit_mention)
    return floats([np.nan if number is None else number for number in numbers])


def _finite(
    attribute: Attribute, side: Side, value: Floats, defined: Bools, unit_mention: Ints | None
) -> Floats:
    """Return the numbers unchanged; infinite values, and NaN for a gold unit, are errors."""
    bad = np.isinf(value) if side.mentions is not side.context.gold else ~np.isfinite(value)
    wrong = np.flatnonzero(bad & defined)
    if len(wrong):
        unit = int(wrong[0])
        raise _refused(attribute, side, unit, float(value[unit]), unit_mention)
    return value


def _refused(
    attribute: Attribute, side: Side, unit: int, value: object, unit_mention: Ints | None
) -> InputError:
    mention = unit if unit_mention is None else int(unit_mention[unit])
    sentence, start, end, label = side.mentions.rows()[mention]
    where = side.context.corpus.place(sentence, max(start, 0) if side.context.corpus.unit == "token" else 0)
    return InputError(
        f"{where}: the attribute {attribute.name!r} is {value!r} for the mention {label} [{start}, {end})"
        f" of sentence {sentence + 1}.\nA number is expected; give one, or declare the attribute a category."
    )


def _categories(result: Sequence[object], defined: Bools) -> tuple[Column, tuple[str, ...]]:
    """The values as codes, and the string of each code, in order of first occurrence."""
    number: dict[str, int] = {}
    value = np.full(len(defined), -1, dtype=np.int64)
    for i, (item, has) in enumerate(zip(result, defined.tolist(), strict=True)):
        if has:
            name = NO_VALUE if item is None or item != item else str(item)
            value[i] = number.setdefault(name, len(number))
    return value, tuple(number)


class Mention(Struct, frozen=True):
    """One mention, as passed to a user-defined function.

    `tokens` are its words, `start` and `end` its position among the words of `sentence`
    (the outer borders, if it has gaps). `text` is the words joined by spaces, or the original
    characters if the data contain the text. `fields` are the values that the data give for
    the mention or its sentence. `training` counts tokens, token sequences and mentions of the
    training data; it is None without them, so a function that uses it declares `needs=["train"]`.

    Examples:
        >>> mention = Mention(("New", "York"), "LOC", ("in", "New", "York"), 1, 3, "New York", {})
        >>> len(mention), mention.sentence[mention.start - 1]
        (2, 'in')
    """

    tokens: tuple[str, ...]
    label: str
    sentence: tuple[str, ...]
    start: int
    end: int
    text: str
    fields: Mapping[str, Any]
    training: TrainingCounts | None = None

    def __len__(self) -> int:
        return len(self.tokens)


class Token(Struct, frozen=True):
    """One token of a mention, as passed to a user-defined function.

    Examples:
        >>> token = Token("York", "LOC", ("in", "New", "York"), position=2)
        >>> token.sentence[token.position - 1]
        'New'
    """

    text: str
    label: str
    sentence: tuple[str, ...]
    position: int  # in the sentence
    training: TrainingCounts | None = None


def mention_views(side: Side) -> Iterator[Mention | None]:
    """Each mention as a plain object, or None if it could not be placed."""
    corpus, mentions, runs = side.context.corpus, side.mentions, side.runs
    words: tuple[str, ...] = ()
    current = -1
    for i, (sentence, start, end, label) in enumerate(mentions.rows()):
        if start < 0:
            yield None
            continue
        if sentence != current:
            words, current = tuple(corpus.words(sentence)), sentence
        begin = int(corpus.sentences[sentence])
        positions = (runs.position[runs.at[i] : runs.at[i + 1]] - begin).tolist()
        tokens = tuple(words[position] for position in positions)
        by_character = corpus.texts is not None and corpus.unit == "character"
        yield Mention(
            tokens=tokens,
            label=label,
            sentence=words,
            start=positions[0] if positions else start,
            end=positions[-1] + 1 if positions else end,
            text=corpus.texts[sentence][start:end] if by_character and corpus.texts else " ".join(tokens),
            fields={
                **{name: column[sentence] for name, column in corpus.fields.items()},
                **{name: column[i] for name, column in mentions.fields.items()},
            },
            training=side.context.counted,
        )


def token_views(side: Side) -> Iterator[Token | None]:
    """Each token unit as a plain object, or None if its mention could not be placed."""
    corpus, mentions = side.context.corpus, side.mentions
    names = mentions.names()
    words: tuple[str, ...] = ()
    current = -1
    for mention, position in zip(*(column.tolist() for column in side.units), strict=True):
        if position < 0:
            yield None
            continue
        sentence = int(mentions.sentence[mention])
        if sentence != current:
            words, current = tuple(corpus.words(sentence)), sentence
        index = position - int(corpus.sentences[sentence])
        yield Token(words[index], names[mention], words, index, side.context.counted)


def per_mention(function: Callable[[Mention], object]) -> Callable[[Side], list[object]]:
    """Turn a function of a mention into a function over a side; unplaced mentions get None."""
    return lambda side: [None if view is None else function(view) for view in mention_views(side)]


def per_token(function: Callable[[Token], object]) -> Callable[[Side], list[object]]:
    """Turn a function of a token into a function over a side; tokens of unplaced mentions get None."""
    return lambda side: [None if view is None else function(view) for view in token_views(side)]
