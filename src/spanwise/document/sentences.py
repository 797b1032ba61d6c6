"""The sentences of a document, and its counts per unit: what lies behind the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar, overload

from msgspec import UNSET, Struct, UnsetType

from spanwise.document.head import Count, Part
from spanwise.document.scores import Outcome, Subset


class GoldMention(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A gold mention, and what every system made of it."""

    start: int
    end: int
    label: str
    outcome: Mapping[str, Outcome]
    partner: Mapping[str, int | None]
    parts: Sequence[tuple[int, int]] = ()
    tough: Sequence[Subset] | UnsetType = UNSET
    buckets: Mapping[str, str | None] | UnsetType = UNSET


class PredictedMention(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A predicted mention, and what became of it."""

    start: int
    end: int
    label: str
    outcome: Outcome
    partner: int | None
    parts: Sequence[tuple[int, int]] = ()
    buckets: Mapping[str, str | None] | UnsetType = UNSET
    answer: str | UnsetType = UNSET  # what a system said that the text does not hold


class Sentence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A sentence with its gold mentions and those of every system."""

    id: str | int
    source: str | None
    document: str | UnsetType | None = UNSET
    length: Count | UnsetType | None = UNSET  # in place of text that is not shown
    text: str | UnsetType = UNSET
    tokens: Sequence[str] | UnsetType = UNSET
    gold: Sequence[GoldMention]
    systems: Mapping[str, Sequence[PredictedMention]]


class ExampleCounts(Part, frozen=True, kw_only=True):
    """Which sentences a document holds, and how many of how many."""

    policy: str
    cap: Count
    shown: Count
    of: Count


class AgreedMentions(Struct, frozen=True):
    """The gold mentions of sentences without an error, which every system got right: counted, without text.

    Each row has a unit (the number of a document or sentence), a label, a mask of `subsets`, one bucket per
    attribute, and how many mentions are alike in all of these.
    """

    labels: Sequence[str]
    subsets: Sequence[str]
    attributes: Mapping[str, Sequence[str]]  # the names of their buckets
    documents: Mapping[int, str]  # the names of the units, where those are documents
    rows: Sequence[Sequence[int]]


class PackedMeasure(Struct, frozen=True, kw_only=True):
    """The counts per unit of one measure: distinct rows, and the row of every unit, compressed."""

    name: str
    scorer: str
    family: str | None
    tested: tuple[str, ...]
    credit: str | None
    share: float
    paths: tuple[tuple[str, ...], ...]
    cells: tuple[str, ...]
    columns: tuple[str, ...]
    rows: str
    row: str


class UnitCounts(Part, frozen=True, kw_only=True):
    """The counts of every system per document or sentence, so that two documents can be compared."""

    kind: str
    number: Count
    systems: Mapping[str, Sequence[PackedMeasure]]


T = TypeVar("T")


class Later(Sequence[T]):
    """Items that are made when the first of them is asked for: many results are never written."""

    def __init__(self, make: Callable[[], Sequence[T]]) -> None:
        self._make = make

    @cached_property
    def _items(self) -> Sequence[T]:
        return self._make()

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        return self._items[place]

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._items)
