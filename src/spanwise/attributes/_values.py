"""What functions of attributes see, mentions and tokens as plain objects, and what they give, checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from spanwise.attributes._context import Attribute, Kind, Side, Values
from spanwise.attributes._lexicon import TrainingCounts
from spanwise.columns import Bools, Column, Floats, Ints, floats, frozen
from spanwise.errors import InputError, many

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
    """The value as a number, None where it is none."""
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
    """One mention as a function of one's own sees it.

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
    """One token of a mention as a function of one's own sees it."""

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
