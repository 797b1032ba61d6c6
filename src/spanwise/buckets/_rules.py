"""The strategies that choose edges, and how they are written: `balanced:6`, `1,2,3`, `special:0,1`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.attributes import ATTRIBUTES, Attribute
from spanwise.buckets._text import number_text
from spanwise.citations import FU19, FU20
from spanwise.columns import Floats, Ints, ints
from spanwise.errors import ChoiceError
from spanwise.registry import Registry

MOST = 1000  # buckets that may be asked for: more cost time and tell nothing


class Strategy(Struct, frozen=True):
    """A way to choose edges: `function(values, numbers)` gives the inner edges for the gold values.

    The values come sorted. `numbers` are those written behind the name: how many buckets, or, where
    `many`, any values. `then` buckets what special values leave.
    """

    name: str
    summary: str
    function: Callable[[Floats, tuple[float, ...]], Sequence[float]]
    numbers: tuple[float, ...] = ()
    many: bool = False
    source: str = ""
    then: Strategy | None = None

    def __str__(self) -> str:
        inside = ", ".join(number_text(number) for number in self.numbers)
        text = f"{self.name}({inside})" if inside else self.name
        return text if self.then is None else f"{text}, {self.then}"


def _distinct(ordered: Floats) -> tuple[Floats, Ints]:
    """The distinct values of a sorted column, and how many values lie up to and with each."""
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if len(ordered) else np.empty(0, int)
    return ordered[ends], ints(ends + 1)


def _balanced(ordered: Floats, numbers: tuple[float, ...]) -> list[float]:
    distinct, upto = _distinct(ordered)
    if not len(distinct):
        return []
    many = int(numbers[0])
    nearest = [int(np.argmin(np.abs(upto * many - len(ordered) * j))) for j in range(1, many)]
    return sorted({float(distinct[place]) for place in nearest})


def _even_range(ordered: Floats, numbers: tuple[float, ...]) -> list[float]:
    many = int(numbers[0])
    if not len(ordered) or ordered[0] == ordered[-1]:
        return []
    low, high = float(ordered[0]), float(ordered[-1])
    return sorted({low + (high - low) * j / many for j in range(1, many)})


def _fixed(ordered: Floats, numbers: tuple[float, ...]) -> list[float]:
    return sorted(numbers)


def _discrete(ordered: Floats, numbers: tuple[float, ...]) -> list[float]:
    distinct, _ = _distinct(ordered)
    buckets = min(len(distinct), int(numbers[0]))
    return [float(value) for value in distinct[: max(buckets - 1, 0)]]


def _familiarity(ordered: Floats, numbers: tuple[float, ...]) -> list[float]:
    many = int(numbers[0])
    return [i / many for i in range(1, many)]


def _none(ordered: Floats, numbers: tuple[float, ...]) -> list[float]:
    return []


_APPENDIX = f"{FU20}, appendix B"
BUCKETINGS: Registry[Strategy] = Registry("bucketing", group="spanwise.bucketings")
for _strategy in (
    Strategy(
        name="balanced",
        summary="about equally many gold units in each of m buckets; ties never part",
        function=_balanced,
        numbers=(4,),
        source=_APPENDIX,
    ),
    Strategy(
        name="special",
        summary="each value named is a bucket; another rule takes the rest",
        function=_none,
        many=True,
        source=_APPENDIX,
    ),
    Strategy(
        name="even_range",
        summary="m equal widths from the lowest to the highest gold value",
        function=_even_range,
        numbers=(4,),
    ),
    Strategy(name="fixed", summary="the edges named: (−∞, e1], …, (ek, ∞)", function=_fixed, many=True),
    Strategy(
        name="discrete",
        summary="each gold value is a bucket; beyond so many the highest join the last",
        function=_discrete,
        numbers=(10,),
        source=f"{FU19}, R-bucket",
    ),
    Strategy(
        name="familiarity",
        summary="m equal parts of 0 … 1; 0 joins the first",
        function=_familiarity,
        numbers=(5,),
        source=f"{FU19}, F- and MF-bucket",
    ),
    Strategy(
        name="category",
        summary="each value of the gold units, the most frequent first, at most so many",
        function=_none,
    ),
    Strategy(
        name="automatic",
        summary="balanced(4) for numbers, category for names",
        function=_none,
    ),
):
    BUCKETINGS.add(_strategy)


def default_strategy(attribute: str | Attribute) -> Strategy:
    """How an attribute is bucketed unless told: as the papers do, else as its values ask.

    Examples:
        >>> str(default_strategy("entity_label_consistency"))
        'special(0, 1), balanced(2)'
    """
    return parse(ATTRIBUTES.find(attribute).buckets or "automatic")


def parse(text: str) -> Strategy:
    """The strategy of `balanced:6`, `1,2,3` (fixed edges), `special:0,1+balanced:2` and the like.

    Examples:
        >>> str(parse("1,2,3")), str(parse("special:0+balanced:3"))
        ('fixed(1, 2, 3)', 'special(0), balanced(3)')
    """
    first, plus, rest = text.strip().partition("+")
    name, _, listed = first.partition(":")
    name = name.strip()
    if name[:1].isdigit() or name[:1] in ("-", "."):
        name, listed = "fixed", first
    strategy = BUCKETINGS.find(name)
    strategy = replace(strategy, numbers=_parse_numbers(listed, text) or strategy.numbers)
    _check_numbers(strategy, text)
    if name != "special":
        if plus:
            raise ChoiceError(
                f"{text!r}: only special values leave a rest for another strategy, not {name}.\n"
                "Write it as in special:0,1+balanced:2."
            )
        return strategy
    then = parse(rest if plus else "balanced:1")
    if then.name in ("special", "category", "automatic"):
        raise ChoiceError(f"{text!r}: the rest cannot go to {then.name}; choose balanced, fixed or another.")
    return replace(strategy, numbers=tuple(sorted(strategy.numbers)), then=then)


def parse_choice(text: str) -> tuple[str, Strategy]:
    """The attribute and the strategy of `entity_length=1,2,3`.

    Examples:
        >>> name, strategy = parse_choice("eLen=balanced:6")
        >>> name, str(strategy)
        ('entity_length', 'balanced(6)')
    """
    name, equals, strategy = text.partition("=")
    if not equals or not strategy.strip():
        raise ChoiceError(
            f"{text!r} does not say how to bucket an attribute.\n"
            "Write ATTRIBUTE=STRATEGY, such as entity_length=1,2,3 or sentence_length=balanced:6."
        )
    name = name.strip()
    # An attribute that comes with the data has no entry of its own.
    return (ATTRIBUTES.find(name).name if name in ATTRIBUTES else name), parse(strategy)


def _parse_numbers(listed: str, text: str) -> tuple[float, ...]:
    if not listed.strip():
        return ()
    try:
        numbers = tuple(float(part) for part in listed.split(","))
    except ValueError:
        raise ChoiceError(
            f"{text!r}: expected numbers separated by commas, such as 1,2,3, not {listed!r}."
        ) from None
    if not all(isfinite(number) for number in numbers):
        raise ChoiceError(
            f"{text!r}: edges must be finite numbers; leave others out, the outer buckets are open."
        )
    return numbers


def _check_numbers(strategy: Strategy, text: str) -> None:
    name, numbers = strategy.name, strategy.numbers
    if strategy.many:
        if not numbers:
            raise ChoiceError(f"{text!r}: {name} needs values, such as {name}:0,1.")
        if len(set(numbers)) != len(numbers):
            raise ChoiceError(f"{text!r}: a value is given twice; leave one out.")
    elif numbers and (len(numbers) > 1 or numbers[0] != int(numbers[0]) or numbers[0] < 1):
        raise ChoiceError(f"{text!r}: {name} takes one whole number of buckets, such as {name}:4.")
    elif numbers and numbers[0] > MOST:
        raise ChoiceError(f"{text!r}: there can be at most {MOST:,} buckets.\nAsk for fewer.")
