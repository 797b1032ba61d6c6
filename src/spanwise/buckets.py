"""Buckets: an attribute's values divided into named parts, fitted on gold units and applied to any units."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import floor, inf, isfinite
from typing import Any, Required, SupportsFloat, TypedDict

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.attributes import ATTRIBUTES, Attribute, Values
from spanwise.citations import FU19, FU20
from spanwise.columns import Bools, Floats, Ints, ints
from spanwise.errors import ChoiceError, InputError
from spanwise.registry import Registry

__all__ = [
    "BUCKETINGS",
    "Bucket",
    "Bucketing",
    "Strategy",
    "default_strategy",
    "fit",
    "number_text",
    "parse",
    "parse_choice",
    "range_text",
]


def number_text(number: float) -> str:
    """A number for display: whole numbers in full, others with four significant digits.

    Examples:
        >>> number_text(4.0), number_text(1 / 3), number_text(0.00002501)
        ('4', '0.3333', '2.501e-05')
    """
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else f"{number:.4g}"


def range_text(
    low: float | None,
    high: float | None,
    special: bool = False,
    specials: Sequence[float] = (),
    *,
    whole: bool = False,
) -> str:
    """A bucket's values for display: an interval, or whole numbers if only those are possible.

    Examples:
        >>> range_text(0.0, 0.5), range_text(0.5, 1.0, False, [0.0, 1.0]), range_text(3, None, whole=True)
        ('(0, 0.5]', '(0.5, 1)', '≥ 4')
    """
    if special and low is not None:
        return number_text(low)
    if low is None and high is None:
        return "any other" if specials else "all"
    closed = high not in specials
    if whole:
        first = None if low is None else floor(low) + 1
        last = None if high is None else floor(high) if closed else floor(high) - (high == floor(high))
        if first is None or last is None:
            return f"≤ {last}" if first is None else f"≥ {first}"
        if first <= last:
            return str(first) if first == last else f"{first}–{last}"
    if high is None:
        return f"> {number_text(low or 0)}"
    if low is None:
        return f"{'≤' if closed else '<'} {number_text(high)}"
    return f"({number_text(low)}, {number_text(high)}{']' if closed else ')'}"


MOST = 1000  # the maximum number of buckets: more take time and show nothing useful


class Strategy(Struct, frozen=True):
    """A way to choose the edges of buckets: `function(values, numbers)` returns the inner edges.

    `values` are the gold values, sorted. `numbers` are those written after the name: the number of
    buckets, or, if `many`, any values. `then` is the strategy for values that are not special.

    Examples:
        >>> BUCKETINGS.find("balanced").numbers, str(parse("balanced:6"))
        ((4,), 'balanced(6)')
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
    """The distinct values of a sorted column, and how many values are less than or equal to each."""
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if len(ordered) else np.empty(0, int)
    return ordered[ends], ints(ends + 1)


def _balanced(ordered: Floats, numbers: tuple[float, ...]) -> list[float]:
    distinct, upto = _distinct(ordered)
    if not len(distinct):
        return []
    buckets = int(numbers[0])
    nearest = [int(np.argmin(np.abs(upto * buckets - len(ordered) * j))) for j in range(1, buckets)]
    return sorted({float(distinct[index]) for index in nearest})


def _even_range(ordered: Floats, numbers: tuple[float, ...]) -> list[float]:
    buckets = int(numbers[0])
    if not len(ordered) or ordered[0] == ordered[-1]:
        return []
    low, high = float(ordered[0]), float(ordered[-1])
    return sorted({low + (high - low) * j / buckets for j in range(1, buckets)})


def _fixed(ordered: Floats, numbers: tuple[float, ...]) -> list[float]:
    return sorted(numbers)


def _discrete(ordered: Floats, numbers: tuple[float, ...]) -> list[float]:
    distinct, _ = _distinct(ordered)
    buckets = min(len(distinct), int(numbers[0]))
    return [float(value) for value in distinct[: max(buckets - 1, 0)]]


def _familiarity(ordered: Floats, numbers: tuple[float, ...]) -> list[float]:
    buckets = int(numbers[0])
    return [i / buckets for i in range(1, buckets)]


def _none(ordered: Floats, numbers: tuple[float, ...]) -> list[float]:
    return []


_APPENDIX = f"{FU20}, appendix B"
BUCKETINGS: Registry[Strategy] = Registry("bucketing", group="spanwise.bucketings")
for _strategy in (
    Strategy(
        name="balanced",
        summary="about as many gold units in each of m buckets; ties stay together",
        function=_balanced,
        numbers=(4,),
        source=_APPENDIX,
    ),
    Strategy(
        name="special",
        summary="each value given is a bucket; another rule takes the rest",
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
    Strategy(name="fixed", summary="the edges given: (−∞, e1], …, (ek, ∞)", function=_fixed, many=True),
    Strategy(
        name="discrete",
        summary="each gold value is a bucket; beyond that number the highest join the last",
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
        summary="each value of the gold units, the most frequent first, at most that many",
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
    """The default strategy of an attribute: as in the papers, or else by the kind of its values.

    Examples:
        >>> str(default_strategy("entity_label_consistency"))
        'special(0, 1), balanced(2)'
    """
    return parse(ATTRIBUTES.find(attribute).buckets or "automatic")


def parse(text: str) -> Strategy:
    """Parse a strategy such as `balanced:6`, `1,2,3` (fixed edges) or `special:0,1+balanced:2`.

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
                f"{text!r}: only special values can be followed by another strategy, not {name}.\n"
                "Write it as in special:0,1+balanced:2."
            )
        return strategy
    then = parse(rest if plus else "balanced:1")
    if then.name in ("special", "category", "automatic"):
        raise ChoiceError(f"{text!r}: the rest cannot go to {then.name}; choose balanced, fixed or another.")
    return replace(strategy, numbers=tuple(sorted(strategy.numbers)), then=then)


def parse_choice(text: str) -> tuple[str, Strategy]:
    """Parse an attribute and its strategy, such as `entity_length=1,2,3`.

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
    # Attributes that come with the data are not registered.
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
            f"{text!r}: edges must be finite numbers; leave out the others, since the outer buckets are open."
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


FOUR = ("XS", "S", "L", "XL")


UNPLACED = "unplaced"  # the bucket for mentions that are not in the text, unless a category has this name


class BucketEntry(TypedDict, total=False):
    """A bucket as written in the result document."""

    name: Required[str]
    label: str
    special: bool
    rest: bool
    value: str
    low: float | None
    high: float | None


class Bucket(Struct, frozen=True):
    """A set of values: one special value, `low < value ≤ high` without special values, or a category.

    If `low` or `high` is None, that end is open; `label` is the interval for display; a bucket for the
    `rest` has neither an interval nor a category.

    Examples:
        >>> Bucket("S", low=1.0, high=2.0, label="2").high
        2.0
    """

    name: str
    low: float | None = None
    high: float | None = None
    value: str | None = None
    special: bool = False
    label: str = ""
    rest: bool = False
    hidden: bool = False  # the value or interval is not shown

    def to_dict(self) -> BucketEntry:
        """The bucket as written in the result document."""
        shown: BucketEntry = {"name": self.name, "label": self.label, "special": self.special}
        if self.rest:
            return {**shown, "rest": True}
        if self.hidden:
            return (
                {**shown, "value": self.name}
                if self.value is not None
                else {**shown, "low": None, "high": None}
            )
        if self.value is not None:
            return {**shown, "value": self.value}
        return {**shown, "low": self.low, "high": self.high}


class Bucketing(Struct, frozen=True, eq=False, dict=True):
    """The buckets of an attribute in order of value, followed by those for the rest.

    Buckets for the `rest` are shown only if they hold a unit: `other` for values that no gold unit has
    (categories, and predictions without a value in the data), `unplaced` for mentions not in the text.

    Examples:
        >>> lengths = Values(np.array([1.0, 2.0, 4.0]), np.ones(3, dtype=bool), "entity_length")
        >>> buckets = fit(parse("1,2"), lengths)
        >>> [bucket.label for bucket in buckets.buckets], buckets.assign(lengths).tolist()
        (['≤ 1', '(1, 2]', '> 2', 'no gold value', 'not on the text'], [0, 1, 2])
    """

    attribute: str
    kind: str
    buckets: tuple[Bucket, ...]
    strategy: str = ""

    def __len__(self) -> int:
        return len(self.buckets)

    @property
    def fitted(self) -> tuple[Bucket, ...]:
        """The buckets without those for the rest."""
        return tuple(bucket for bucket in self.buckets if not bucket.rest)

    @property
    def unplaced(self) -> str:
        """The name of the last bucket, for mentions that are not in the text."""
        return self.buckets[-1].name

    def redacted(self) -> Bucketing:
        """The same buckets under names that do not reveal their values."""
        shown = tuple(
            bucket if bucket.rest else replace(bucket, name=f"value {n}", label=f"value {n}", hidden=True)
            for n, bucket in enumerate(self.buckets, start=1)
        )
        return replace(self, buckets=shown)

    def assign(self, values: Values) -> Ints:
        """The bucket number of each unit.

        A value beyond a special value that bounds the outermost ordinary bucket joins that bucket.
        """
        if values.kind != self.kind:
            raise InputError(
                f"the values of {self.attribute!r} are {_KINDS[values.kind]}, but its buckets were made for"
                f" {_KINDS[self.kind]}.\nLeave the saved edges out, or use edges saved for these values."
            )
        number = self._of_names(values) if values.names is not None else self._of_numbers(values.value)
        return ints(np.where(values.defined, number, len(self.buckets) - 1))

    def _of_names(self, values: Values) -> Ints:
        code_of = {bucket.value: number for number, bucket in enumerate(self.buckets) if not bucket.rest}
        other = len(self.buckets) - 2
        table = np.array([*(code_of.get(name, other) for name in values.names or ()), other], dtype=np.int64)
        return table[values.value]

    def _of_numbers(self, value: Floats) -> Ints:
        specials, where, edges, ranges = self._cuts
        if len(edges) > _FEW:
            number = ranges[np.searchsorted(edges, value, side="left")]
        else:
            above = np.zeros(len(value), dtype=np.int8)
            for edge in edges.tolist():
                above += value > edge
            number = ranges[above]
        for special, bucket in zip(specials.tolist(), where.tolist(), strict=True):
            number[value == special] = bucket
        number[np.isnan(value)] = len(self.buckets) - 2
        return number

    @cached_property
    def _cuts(self) -> tuple[Floats, Ints, Floats, Ints]:
        """The special values and their buckets, then the inner edges between the other buckets and those."""
        special = [i for i, bucket in enumerate(self.buckets) if bucket.special]
        others = [i for i, bucket in enumerate(self.buckets) if not bucket.special and not bucket.rest]
        return (
            np.array([self.buckets[i].low for i in special], dtype=np.float64),
            np.array(special, dtype=np.int64),
            np.array([self.buckets[i].high for i in others[:-1]], dtype=np.float64),
            np.array(others, dtype=np.int64),
        )

    def to_dict(self) -> dict[str, object]:
        """The bucketing as plain data, to be saved and reused for another system or dataset."""
        return {
            "attribute": self.attribute,
            "kind": self.kind,
            "strategy": self.strategy,
            "buckets": [bucket.to_dict() for bucket in self.buckets],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Bucketing:
        """Restore a bucketing from the result of `to_dict`."""
        try:
            buckets = tuple(
                Bucket(
                    name=str(entry["name"]),
                    low=_end(entry.get("low")),
                    high=_end(entry.get("high")),
                    value=entry.get("value"),
                    special=bool(entry.get("special", False)),
                    label=str(entry.get("label", "")),
                )
                for entry in data["buckets"]
                if not entry.get("rest", False)
            )
            attribute, kind = str(data["attribute"]), str(data["kind"])
            strategy = str(data.get("strategy", ""))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(
                f"this is not a bucketing ({type(error).__name__}: {error}).\n"
                "Give saved edges, which have the keys 'attribute', 'kind' and 'buckets'."
            ) from error
        _check_order(attribute, kind, buckets)
        return cls(attribute, kind, _with_rest(buckets), strategy)


_FEW = 16  # with at most this many edges, comparing with each of them is faster than a search
_KINDS = {"numeric": "numbers", "category": "categories"}
_ANEW = "Fix them, or save them again."


def _end(value: SupportsFloat | str | None) -> float | None:
    return None if value is None else float(value)


def _check_order(attribute: str, kind: str, buckets: tuple[Bucket, ...]) -> None:
    """Refuse edges that are not ascending: a value would have two buckets or none."""
    where = f"the saved buckets of {attribute!r}"
    if kind not in _KINDS:
        raise InputError(f"{where} have the kind {kind!r}; expected 'numeric' or 'category'.\n{_ANEW}")
    if kind == "category":
        if any(bucket.value is None for bucket in buckets):
            raise InputError(f"{where} are categories, but one of them has no value.\n{_ANEW}")
        return
    others = [bucket for bucket in buckets if not bucket.special]
    if not others:
        raise InputError(
            f"{where} hold only special values; expected at least one bucket for other values.\n{_ANEW}"
        )
    inner = [bucket.high for bucket in others[:-1]]
    ascending = all(a is not None and b is not None and a < b for a, b in pairwise(inner))
    special = [bucket.low for bucket in buckets if bucket.special]
    ascending &= all(a is not None and b is not None and a < b for a, b in pairwise(special))
    if None in inner or None in special or not ascending:
        raise InputError(f"{where} are not in order of value, or one in the middle has an open end.\n{_ANEW}")


def _with_rest(buckets: tuple[Bucket, ...]) -> tuple[Bucket, ...]:
    """The buckets followed by `other` and `unplaced`, which are renamed if a category has that name."""
    taken = {bucket.name for bucket in buckets}
    other, unplaced = "other", UNPLACED
    while other in taken:
        other += " values"
    while unplaced in taken:
        unplaced += " mentions"
    return (
        *buckets,
        Bucket(other, label="no gold value", rest=True),
        Bucket(unplaced, label="not on the text", rest=True),
    )


def fit(strategy: str | Strategy, values: Values, *, attribute: str = "") -> Bucketing:
    """Fit the buckets of an attribute to the values of the gold units.

    Examples:
        >>> lengths = Values(np.array([1.0, 1, 2, 3, 7]), np.ones(5, bool), whole=True)
        >>> [(bucket.name, bucket.label) for bucket in fit("balanced:2", lengths).fitted]
        [('B1', '≤ 1'), ('B2', '≥ 2')]
    """
    chosen = parse(strategy) if isinstance(strategy, str) else strategy
    name = attribute or values.attribute
    if chosen.name == "automatic":
        chosen = parse("balanced:4" if values.kind == "numeric" else "category")
    if (chosen.name == "category") != (values.kind == "category"):
        other = "balanced:4, 1,2,3 or another" if values.kind == "numeric" else "category"
        raise ChoiceError(
            f"the values of {name!r} are {_KINDS[values.kind]}: {chosen} cannot bucket them.\nChoose {other}."
        )
    if values.names is not None:
        return Bucketing(name, "category", _with_rest(_categories(chosen, values)), str(chosen))
    distinct, times = values.distinct()
    if times.sum() != values.described or not np.isfinite(distinct).all():
        raise InputError(
            f"the attribute {name!r} has values that are not finite numbers.\nGive every gold unit one."
        )
    return Bucketing(name, "numeric", _with_rest(_numeric(chosen, values)), str(chosen))


def _numeric(strategy: Strategy, values: Values) -> tuple[Bucket, ...]:
    specials = strategy.numbers if strategy.name == "special" else ()
    distinct, times = values.distinct()
    ordinary = ~_among(distinct, specials)
    rest = np.repeat(distinct[ordinary], times[ordinary])  # sorted
    then = strategy.then or strategy
    ranges = _ranges(list(then.function(rest, then.numbers)), rest, specials, values.bounds)
    parts = sorted(
        [*((low, high, False) for low, high in ranges), *((value, value, True) for value in specials)],
        key=lambda part: (inf if part[1] is None else part[1], -inf if part[0] is None else part[0]),
    )
    names = FOUR if len(parts) == 4 else tuple(f"B{i}" for i in range(1, len(parts) + 1))
    return tuple(
        Bucket(name, low, high, None, special, range_text(low, high, special, specials, whole=values.whole))
        for name, (low, high, special) in zip(names, parts, strict=True)
    )


def _among(ordered: Floats, specials: tuple[float, ...]) -> Bools:
    among = np.zeros(len(ordered), dtype=bool)
    for special in specials:
        among |= ordered == special
    return among


def _categories(strategy: Strategy, values: Values) -> tuple[Bucket, ...]:
    """One bucket per value among gold units, the most frequent first, ties by name."""
    ranked = sorted((-count, name) for name, count in values.named().items())
    most = int(strategy.numbers[0]) if strategy.numbers else 0
    return tuple(Bucket(name, value=name, label=name) for _, name in (ranked[:most] if most else ranked))


def _ranges(
    edges: list[float], rest: Floats, specials: tuple[float, ...], bounds: tuple[float, float]
) -> list[tuple[float | None, float | None]]:
    """The intervals between the edges; the outer ones extend to the next special value, if any."""
    if not specials:
        low, high = None, None
    elif not edges and not len(rest):
        low, high = _widest_gap(specials, bounds)
    else:
        least = min([*edges[:1], *rest[:1].tolist()])
        most = max([*edges[-1:], *rest[-1:].tolist()])
        low = max((special for special in specials if special < least), default=None)
        high = min((special for special in specials if special > most), default=None)
    borders = [low, *edges, high]
    return list(pairwise(borders))


def _widest_gap(
    specials: tuple[float, ...], bounds: tuple[float, float]
) -> tuple[float | None, float | None]:
    """The interval of ordinary values if no gold unit has one: the widest gap between special values."""
    borders = sorted({*bounds, *specials})
    gaps = list(pairwise(borders))
    low, high = max(gaps, key=lambda gap: (gap[1] - gap[0], gap[0])) if gaps else (None, None)
    return (low if low in specials else None), (high if high in specials else None)
