"""The rules that choose edges, and how they are written: `balanced:6`, `1,2,3`, `special:0,1+balanced:2`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from spanwise.attributes import ATTRIBUTES, Attribute
from spanwise.buckets._text import number_text
from spanwise.columns import Floats, Ints, ints
from spanwise.errors import ChoiceError
from spanwise.registry import Registry


@dataclass(frozen=True)
class Strategy:
    """A way to choose edges: `function(values, numbers)` gives the inner edges for the gold values.

    The values come sorted; `numbers` are those written behind the strategy's name, `default` when none are.
    """

    name: str
    summary: str
    function: Callable[[Floats, tuple[float, ...]], Sequence[float]]
    default: tuple[float, ...] | None = None  # None: it cannot do without
    many: bool = False  # takes any number of numbers, which are values and need not be whole
    source: str = ""


@dataclass(frozen=True)
class Rule:
    """A strategy with its numbers; `then` buckets what a special rule leaves."""

    strategy: str
    numbers: tuple[float, ...] = ()
    then: Rule | None = None

    def __str__(self) -> str:
        inside = ", ".join(number_text(number) for number in self.numbers)
        text = f"{self.strategy}({inside})" if inside else self.strategy
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


_FU20 = "Fu, Liu and Neubig (2020), appendix B"
_FU19 = "Fu, Liu and Neubig (2019)"
BUCKETINGS: Registry[Strategy] = Registry("bucketing", group="spanwise.bucketings")
for _strategy in (
    Strategy(
        name="balanced",
        summary="about equally many gold units in each of m buckets; ties never part",
        function=_balanced,
        default=(4,),
        source=_FU20,
    ),
    Strategy(
        name="special",
        summary="each value named is a bucket; another rule takes the rest",
        function=_none,
        many=True,
        source=_FU20,
    ),
    Strategy(
        name="even_range",
        summary="m equal widths from the lowest to the highest gold value",
        function=_even_range,
        default=(4,),
    ),
    Strategy(name="fixed", summary="the edges named: (−∞, e1], …, (ek, ∞)", function=_fixed, many=True),
    Strategy(
        name="discrete",
        summary="each gold value is a bucket; beyond so many the highest join the last",
        function=_discrete,
        default=(10,),
        source=f"{_FU19}, R-bucket",
    ),
    Strategy(
        name="familiarity",
        summary="m equal parts of 0 … 1; 0 joins the first",
        function=_familiarity,
        default=(5,),
        source=f"{_FU19}, F- and MF-bucket",
    ),
    Strategy(
        name="category",
        summary="each value of the gold units, the most frequent first, at most so many",
        function=_none,
        default=(),
    ),
):
    BUCKETINGS.add(_strategy)


def default_strategy(attribute: str | Attribute, *, kind: str | None = None) -> Rule:
    """How an attribute is bucketed unless told: as the papers do, else balanced(4) or by category.

    Examples:
        >>> str(default_strategy("entity_label_consistency"))
        'special(0, 1), balanced(2)'
    """
    found = ATTRIBUTES.find(attribute)
    return parse(found.buckets or ("category" if (kind or found.kind) == "category" else "balanced:4"))


def parse(text: str) -> Rule:
    """The rule of `balanced:6`, `1,2,3` (fixed edges), `special:0,1+balanced:2` and the like.

    Examples:
        >>> str(parse("1,2,3")), str(parse("special:0+balanced:3"))
        ('fixed(1, 2, 3)', 'special(0), balanced(3)')
    """
    first, plus, then = text.strip().partition("+")
    name, _, listed = first.partition(":")
    name = name.strip()
    if name and (name[0].isdigit() or name[0] in "+-.") and not listed:
        name, listed = "fixed", name
    strategy = BUCKETINGS.find(name)
    numbers = _parse_numbers(listed, text) or strategy.default
    if numbers is None:
        raise ChoiceError(f"{text!r}: {name} needs values, such as {name}:0,1.")
    _check_numbers(strategy, numbers, text)
    if name != "special":
        if plus:
            raise ChoiceError(f"{text!r}: only special values leave a rest for another rule, not {name}.")
        return Rule(name, numbers)
    rest = parse(then) if plus else Rule("balanced", (1,))
    if rest.strategy in ("special", "category"):
        raise ChoiceError(
            f"{text!r}: the rest cannot go to {rest.strategy}; choose balanced, fixed or another."
        )
    return Rule(name, tuple(sorted(numbers)), rest)


def parse_choice(text: str) -> tuple[str, Rule]:
    """The attribute and the rule of `entity_length=1,2,3`.

    Examples:
        >>> name, rule = parse_choice("eLen=balanced:6")
        >>> name, str(rule)
        ('entity_length', 'balanced(6)')
    """
    name, equals, rule = text.partition("=")
    if not equals or not rule.strip():
        raise ChoiceError(
            f"{text!r} does not say how to bucket an attribute.\n"
            "Write ATTRIBUTE=RULE, such as entity_length=1,2,3 or sentence_length=balanced:6."
        )
    name = name.strip()
    # An attribute that comes with the data has no entry of its own.
    return (ATTRIBUTES.find(name).name if name in ATTRIBUTES else name), parse(rule)


def _parse_numbers(listed: str, text: str) -> tuple[float, ...]:
    if not listed.strip():
        return ()
    try:
        numbers = tuple(float(part) for part in listed.split(","))
    except ValueError:
        raise ChoiceError(f"{text!r}: expected numbers parted by commas, not {listed!r}.") from None
    if not all(isfinite(number) for number in numbers):
        raise ChoiceError(
            f"{text!r}: edges must be finite numbers; the outer buckets are open by themselves."
        )
    return numbers


def _check_numbers(strategy: Strategy, numbers: tuple[float, ...], text: str) -> None:
    if strategy.many:
        if len(set(numbers)) != len(numbers):
            raise ChoiceError(f"{text!r}: a value stands twice.")
        return
    if numbers == strategy.default:
        return
    if len(numbers) != 1 or numbers[0] != int(numbers[0]) or numbers[0] < 1:
        raise ChoiceError(f"{text!r}: {strategy.name} takes one whole number of buckets, such as 4.")
