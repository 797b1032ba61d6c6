"""What an attribute is, what it can use (text, mentions, training data), and its values, checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from math import fsum
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.attributes._lexicon import FormCounts, Lexicon, SummedLexicon, TrainingCounts, Wanted, lowering
from spanwise.attributes.forms import Forms, Runs, distinct_units, mention_tokens
from spanwise.columns import Bools, Codes, Column, Floats, Ints, codes, floats, frozen, ints, offsets, ratio
from spanwise.corpus import Corpus, Mentions
from spanwise.errors import ChoiceError, InputError, many
from spanwise.hashing import numbered

AttributeUnit = Literal["mention", "token"]
Kind = Literal["numeric", "category"]
UNPLACED = -1
Tally = tuple[Counter[Hashable], Counter[tuple[Hashable, Hashable]]]  # wholes, and parts of them


class Values(Struct, frozen=True, eq=False, dict=True):
    """The values of an attribute, one per unit: a mention, or a distinct (position, label) of a token in one.

    `unit_mention` names the mention of every token unit (the first, where several
    of one label hold the token) and `position` where the token is in the corpus;
    both are None where the units are the mentions themselves. A mention that could
    not be placed is one token unit, at -1. Numeric values are floats; categories are
    codes into `names`. `defined` is False for units whose text is not known.
    A defined unit without a value (NaN, or code -1) belongs to no ordinary bucket.
    Where only the distribution matters, a value may stand for several units, for `times` of them.
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
        """Whether the values are numbers or names."""
        return "numeric" if self.names is None else "category"

    @property
    def zeta(self) -> float:
        """ζ: the mean value over the units; NaN for categories and where there is no unit."""
        if self.names is not None:
            return float("nan")
        value, times = self.distinct()
        # fsum: the order and the grouping of the values must not move the last bit.
        return float(ratio(fsum((value * times).tolist()), times.sum()))

    def named(self) -> dict[str, int]:
        """How many units are in each category that has any."""
        used = self.defined & (self.value >= 0)
        weights = None if self.times is None else self.times[used]
        names = self.names or ()
        counts = np.bincount(self.value[used], weights=weights, minlength=len(names)).astype(np.int64)
        return {name: count for name, count in zip(names, counts.tolist(), strict=True) if count}

    def distinct(self) -> tuple[Floats, Ints]:
        """The distinct numbers among the values, ascending, and how many units have each."""
        return self._distinct

    @cached_property
    def _distinct(self) -> tuple[Floats, Ints]:
        chosen = self.defined & ~np.isnan(self.value)
        known = self.value[chosen] + 0.0  # -0 is 0
        first, number = numbered(known.view(np.uint64)[:, None])
        order = np.argsort(known[first])
        weights = None if self.times is None else self.times[chosen]
        times = np.bincount(number, weights=weights, minlength=len(first))
        return floats(known[first[order]]), ints(times[order])


class Attribute(Struct, frozen=True, eq=False):
    """A property of a mention or of a token in it.

    `function` takes a `Side` and returns one value per unit: numbers, or, for a
    category, strings or a pair (codes, names). `kind` None is found out from the
    values of the gold units: numeric where all of them are numbers. `needs` says
    what must be there: "text", "train", or "vocabulary" (training data or a word list).
    `bounds` are the smallest and the largest possible value.
    """

    name: str
    summary: str
    function: Callable[[Side], Any]
    alias: str = ""
    unit: AttributeUnit = "mention"
    kind: Kind | None = "numeric"
    needs: frozenset[str] = frozenset({"text"})
    source: str = ""
    buckets: str = ""  # how its values are bucketed by default; "" follows from the kind
    bounds: tuple[float, float] = (-np.inf, np.inf)
    whole: bool = False
    of_sentence: bool = False  # or of the label alone: a mention that could not be placed has it too


class Context(Struct, frozen=True, eq=False, dict=True):
    """The context of the mentions of any side: the gold text, the gold mentions, training data.

    `known` is a list of words that takes the place of the training vocabulary for
    words out of vocabulary; `lowercase` compares all strings in lower case.
    """

    corpus: Corpus
    gold: Mentions
    lexicon: Lexicon | SummedLexicon | None = None
    known: frozenset[str] | None = None
    lowercase: bool = False

    def side(self, mentions: Mentions) -> Side:
        """The mentions, gold or predicted, as attributes see them."""
        return self.sides([mentions])[0]

    def sides(self, several: Sequence[Mentions]) -> list[Side]:
        """Several lists of mentions as attributes see them; the training text is searched once for all."""
        group = SideGroup(self, tuple(several))
        return [Side(self, mentions, group, index) for index, mentions in enumerate(several)]

    @cached_property
    def training(self) -> Lexicon | SummedLexicon | None:
        """The lexicon whose strings are compared: as written, or in lower case."""
        if self.lexicon is None:
            return None
        return self.lexicon.lowered if self.lowercase else self.lexicon

    @cached_property
    def counted(self) -> TrainingCounts | None:
        """The counts that user-defined functions see; None without training data, or read in parts."""
        lexicon = self.training
        return TrainingCounts(lexicon, self.lowercase) if isinstance(lexicon, Lexicon) else None

    @cached_property
    def of_training(self) -> tuple[Context, ...]:
        """The training data as a context of their own, one for each file."""
        if not isinstance(self.lexicon, Lexicon):
            raise no_training()
        return tuple(replace(self, corpus=part.corpus, gold=part.mentions) for part in self.lexicon.parts)

    @cached_property
    def tallies(self) -> dict[object, Tally]:
        """What attributes counted over training mentions, once for all sides."""
        return {}

    @cached_property
    def _coded(self) -> tuple[Codes, Sequence[str]]:
        """The tokens of the text in codes, and the string of each code."""
        tokens, strings = self.corpus.tokens, self.corpus.vocabulary
        if not self.lowercase:
            return tokens, strings
        lexicon = self.lexicon
        alike = isinstance(lexicon, Lexicon) and lexicon.vocabulary is strings
        table, strings = lexicon.lowering if isinstance(lexicon, Lexicon) and alike else lowering(strings)
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
        """The code of each code in the training data, -1 where none; None where they are the same."""
        return None if self.training is None else self.training.codes_of(self.strings)

    @cached_property
    def runs(self) -> Runs:
        """The tokens of the gold mentions."""
        return mention_tokens(self.corpus, self.gold)

    @cached_property
    def unknown(self) -> Ints:
        """How many tokens of each sentence are not in the training vocabulary, or in a given word list."""
        if self.known is not None:
            known = {word.lower() for word in self.known} if self.lowercase else self.known
            strange = np.zeros(len(self.strings), dtype=bool)
            # Parts of a test set share the strings of the whole, of which each uses some.
            used = np.flatnonzero(np.bincount(self.tokens, minlength=len(strange)))
            strange[used] = [self.strings[code] not in known for code in used.tolist()]
        elif self.training is not None:
            frequency = self.training.frequency
            if self.train_code is not None:
                frequency = np.append(frequency, 0)[self.train_code]
            strange = frequency == 0
        else:
            raise ChoiceError(
                "there are neither training data nor known words.\n"
                "Pass train= or vocabulary=; an attribute that reads them declares needs=['vocabulary']."
            )
        return self.per_sentence(strange[self.tokens])

    def per_sentence(self, marked: Bools) -> Ints:
        """How many tokens of each sentence are marked."""
        # Mostly few are marked, and sentences are far fewer than tokens.
        return ints(np.diff(np.searchsorted(np.flatnonzero(marked), self.corpus.sentences)))


def wanted(corpus: Corpus, several: Sequence[Mentions], *, lowercase: bool = False) -> Wanted:
    """What lists of mentions, gold first, ask of training data, as written and, if needed, in lower case."""
    if corpus.without_text:
        return Wanted.nothing()
    lowered = None
    if lowercase:
        lower = Context(corpus, several[0], lowercase=True)
        lowered = Wanted.of(lower.strings, lower.sides(several)[0].tree)
    context = Context(corpus, several[0])
    return Wanted.of(context.strings, context.sides(several)[0].tree, lowered)


def no_training() -> ChoiceError:
    """The error for an attribute that reads training data where there are none."""
    return ChoiceError(
        "there are no training data.\nPass train=; an attribute that reads them declares needs=['train']."
    )


class SideGroup(Struct, frozen=True, eq=False, dict=True):
    """Lists of mentions whose token sequences are numbered in one tree."""

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
        """The tree, the number of each mention in it, and what the training text says of the tree."""
        context = self.context
        every = Runs(
            offsets(np.concatenate([run.size for run in self.runs])),
            ints(np.concatenate([run.position for run in self.runs])),
        )
        forms, number = Forms.of(context.tokens, every, width=len(context.strings))
        ends = np.cumsum([len(mentions) for mentions in self.mentions])
        parts = [ints(part) for part in np.split(number, ends[:-1])]
        training = context.training
        return forms, parts, None if training is None else training.count(forms, context.train_code)


class Side(Struct, frozen=True, eq=False, dict=True):
    """Mentions of one side, gold or predicted, in their context; every column is made once and shared."""

    context: Context
    mentions: Mentions
    group: SideGroup
    place: int  # in the group

    @property
    def runs(self) -> Runs:
        """The tokens of each mention, as positions in the corpus."""
        return self.group.runs[self.place]

    @cached_property
    def placed(self) -> Bools:
        """Which mentions are placed on the text."""
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
        """The bound of the numbers of token sequences."""
        return len(self.tree)

    @property
    def counts(self) -> FormCounts:
        """What the training text says of the token sequences."""
        counts = self.group.numbered[2]
        if counts is None:
            raise no_training()
        return counts

    @cached_property
    def train_label(self) -> Ints:
        """The code of each mention's label among the training labels, -1 where training has none."""
        if self.context.training is None:
            raise no_training()
        number = {name: code for code, name in enumerate(self.context.training.labels)}
        table = np.array([number.get(name, -1) for name in self.mentions.labels], dtype=np.int64)
        return ints(table[self.mentions.label])

    @cached_property
    def units(self) -> tuple[Ints, Ints]:
        """The token units: the mention of each, and its position; (position, label) is there once."""
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
        kept = distinct_units(position, label, len(self.mentions.labels))
        return (mention, position) if kept is None else (ints(mention[kept]), ints(position[kept]))

    @cached_property
    def unit_code(self) -> Ints:
        """The code of each token unit, -1 for one that is not placed."""
        position = self.units[1]
        if not len(self.context.tokens):
            return ints(np.full(len(position), -1))
        return ints(np.where(position >= 0, self.context.tokens[position], -1))

    @cached_property
    def unit_train_code(self) -> Ints:
        """The code that each has in the training data, -1 where none."""
        table = self.context.train_code
        return self.unit_code if table is None else ints(np.append(table, -1)[self.unit_code])

    def of_sentence(self, per_sentence: Column) -> Column:
        """The value of the sentence that each mention is in."""
        return np.asarray(per_sentence[self.mentions.sentence])


# ---- what functions see, and what they give ------------------------------------------------------
NO_VALUE = "n/a"  # the category of a unit that the data give no value


def compute(attribute: Attribute, side: Side) -> Values:
    """The values of `attribute` over the mentions of `side`."""
    unit_mention: Ints | None = None
    position: Ints | None = None
    if attribute.unit == "token":
        unit_mention, position = side.units
    defined = _defined(attribute, side, position)
    given = attribute.function(side)
    number = len(given[0] if isinstance(given, tuple) else given)
    if number != len(defined):
        raise InputError(
            f"the attribute {attribute.name!r} gave {many(number, 'value')} for "
            f"{many(len(defined), attribute.unit)}.\nIts function must give one value for each."
        )
    names: tuple[str, ...] | None = None
    if isinstance(given, tuple):
        value, names = given
    elif isinstance(given, np.ndarray) and given.dtype.kind in "iufb" and attribute.kind != "category":
        value = _finite(attribute, side, floats(given), defined, unit_mention)
    elif _kind(attribute, side, given, defined) == "numeric":
        value = _finite(attribute, side, _numbers(attribute, side, given, defined), defined, unit_mention)
    else:
        value, names = _categories(given, defined)
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
    """Which units have what the attribute looks at."""
    if position is not None:
        return np.asarray(position >= 0)
    if attribute.of_sentence:
        if "text" not in attribute.needs or attribute.name == "sentence_length":
            return np.ones(len(side.mentions), dtype=bool)
        # A text of blanks has no token to take a share of.
        return np.asarray(side.of_sentence(side.context.corpus.lengths) > 0)
    return side.placed


def _kind(attribute: Attribute, side: Side, given: Sequence[object], defined: Bools) -> Kind:
    """The kind an attribute declares, else the one that the values of the gold units show."""
    if attribute.kind is not None:
        return attribute.kind
    if side.mentions is not side.context.gold:
        return compute(attribute, side.context.side(side.context.gold)).kind
    listed = [value for value, has in zip(given, defined.tolist(), strict=True) if has]
    return "numeric" if listed and all(_number(value) is not None for value in listed) else "category"


def _number(value: Any) -> float | None:
    """The value as a number, None where it is not one."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _numbers(attribute: Attribute, side: Side, given: Sequence[object], defined: Bools) -> Floats:
    """The values as numbers; a predicted unit may lack one, a gold unit may not."""
    numbers = [_number(value) for value in given]
    if side.mentions is side.context.gold:
        for i, (number, has) in enumerate(zip(numbers, defined.tolist(), strict=True)):
            if has and number is None:
                raise _refused(attribute, side, i, given[i])
    return floats([np.nan if number is None else number for number in numbers])


def _finite(
    attribute: Attribute, side: Side, value: Floats, defined: Bools, unit_mention: Ints | None
) -> Floats:
    """The same numbers; NaN in a gold unit and anything infinite are refused."""
    bad = np.isinf(value) if side.mentions is not side.context.gold else ~np.isfinite(value)
    wrong = np.flatnonzero(bad & defined)
    if len(wrong):
        unit = int(wrong[0])
        mention = unit if unit_mention is None else int(unit_mention[unit])
        raise _refused(attribute, side, mention, float(value[unit]))
    return value


def _refused(attribute: Attribute, side: Side, mention: int, value: object) -> InputError:
    sentence, start, end, label = side.mentions.rows()[mention]
    place = side.context.corpus.place(sentence, max(start, 0) if side.context.corpus.unit == "token" else 0)
    return InputError(
        f"{place}: the attribute {attribute.name!r} is {value!r} for the mention {label} [{start}, {end})"
        f" of sentence {sentence + 1}.\nA number is expected; give one, or declare the attribute a category."
    )


def _categories(given: Sequence[object], defined: Bools) -> tuple[Column, tuple[str, ...]]:
    """Codes of the values as strings, in the order in which they are met."""
    number: dict[str, int] = {}
    value = np.full(len(defined), -1, dtype=np.int64)
    for i, (item, has) in enumerate(zip(given, defined.tolist(), strict=True)):
        if has:
            name = NO_VALUE if item is None or item != item else str(item)
            value[i] = number.setdefault(name, len(number))
    return value, tuple(number)


class Mention(Struct, frozen=True):
    """One mention as a user-defined function sees it.

    `tokens` are its words, `start` and `end` their positions among those of `sentence`
    (the borders, where it has gaps), `label` its own label, `text` the words joined by
    blanks, or the characters themselves where the data give the text. `fields` are the
    values that came with the mention or its sentence. `training` counts tokens, token sequences and
    mentions of the training data; it is None without them, so a function that reads it declares
    `needs=["train"]`.
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
    """One token of a mention as a user-defined function sees it."""

    text: str
    label: str
    sentence: tuple[str, ...]
    position: int  # in the sentence
    training: TrainingCounts | None = None


def mention_views(side: Side) -> Iterator[Mention | None]:
    """Each mention as a plain object, None where it could not be placed."""
    corpus, mentions, runs = side.context.corpus, side.mentions, side.runs
    words: tuple[str, ...] = ()
    read = -1
    for i, (sentence, start, end, label) in enumerate(mentions.rows()):
        if start < 0:
            yield None
            continue
        if sentence != read:
            words, read = tuple(corpus.words(sentence)), sentence
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
    """Each token unit as a plain object, None where its mention could not be placed."""
    corpus, mentions = side.context.corpus, side.mentions
    names = mentions.names()
    words: tuple[str, ...] = ()
    read = -1
    for mention, position in zip(*(column.tolist() for column in side.units), strict=True):
        if position < 0:
            yield None
            continue
        sentence = int(mentions.sentence[mention])
        if sentence != read:
            words, read = tuple(corpus.words(sentence)), sentence
        inside = position - int(corpus.sentences[sentence])
        yield Token(words[inside], names[mention], words, inside, side.context.counted)


def per_mention(function: Callable[[Mention], object]) -> Callable[[Side], list[object]]:
    """The function over a side that calls `function` with each mention; one not placed has None."""
    return lambda side: [None if view is None else function(view) for view in mention_views(side)]


def per_token(function: Callable[[Token], object]) -> Callable[[Side], list[object]]:
    """The function over a side that calls `function` with each token unit."""
    return lambda side: [None if view is None else function(view) for view in token_views(side)]
