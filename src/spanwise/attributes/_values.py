"""From what an attribute's function gives to a column of values, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spanwise.attributes._context import Attribute, Kind, Side, Values
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


def _kind(attribute: Attribute, side: Side, given: Sequence[Any], defined: Bools) -> Kind:
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


def _numbers(attribute: Attribute, side: Side, given: Sequence[Any], defined: Bools) -> Floats:
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


def _categories(given: Sequence[Any], defined: Bools) -> tuple[Column, tuple[str, ...]]:
    """Codes of the values as strings, in the order in which they are met."""
    number: dict[str, int] = {}
    value = np.full(len(defined), -1, dtype=np.int64)
    for i, (item, has) in enumerate(zip(given, defined.tolist(), strict=True)):
        if has:
            name = NO_VALUE if item is None or item != item else str(item)
            value[i] = number.setdefault(name, len(number))
    return value, tuple(number)
