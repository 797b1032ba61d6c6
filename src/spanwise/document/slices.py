"""The document of a search for weak slices."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from spanwise.document.head import Document


class SliceCondition(Struct, frozen=True, kw_only=True):
    """One condition of a slice; `label` says what a bucket holds."""

    attribute: str
    value: str
    label: str | UnsetType = UNSET


class SearchedSlice(Struct, frozen=True, kw_only=True):
    """A slice with a higher loss than the rest of the items.

    `units` and `loss` are those of all its mentions. A slice that is listed after others has t of the
    items that those leave (`rest_units`, `rest_loss`), and no p.
    """

    conditions: tuple[SliceCondition, ...]
    where: str
    units: int
    loss: float | None
    t: float
    p: float | None
    after: int = 0
    rest_units: int
    rest_loss: float | None


class DifferentSlice(Struct, frozen=True, kw_only=True):
    """A slice in which two systems differ.

    Over recall, `difference` is the mean loss of the first system minus that of the second; over F1 it is
    the part of the first system's lead that the slice contributes.
    """

    conditions: tuple[SliceCondition, ...]
    where: str
    units: int
    difference: float | None
    t: float
    p: float | None
    better: str
    after: int = 0
    rest_units: int
    rest_difference: float | None


class ItemsOverall(Struct, frozen=True, kw_only=True):
    """All items: how many mentions, and their mean loss."""

    units: int
    loss: float | None


class Confirmation(Struct, frozen=True, kw_only=True):
    """How many units slices were found on, and how many others they were tested on."""

    found_on: int
    tested_on: int


class WeakConfirmation(Confirmation, frozen=True, kw_only=True):
    """Slices of one system, found on one half of the documents and tested on the other."""

    slices: tuple[SearchedSlice, ...]


class DifferentConfirmation(Confirmation, frozen=True, kw_only=True):
    """Slices of two systems, found and tested in the same way."""

    slices: tuple[DifferentSlice, ...]


class SystemSlices(Struct, frozen=True, kw_only=True):
    """Where one system is weak."""

    overall: ItemsOverall
    tested: int
    significant: int
    critical: float | None
    groups: int | None
    slices: tuple[SearchedSlice, ...]
    confirmed: WeakConfirmation | UnsetType = UNSET


class PairSlices(Struct, frozen=True, kw_only=True):
    """Where two systems differ."""

    systems: tuple[str, str]
    overall: dict[str, float | None]
    tested: int
    significant: int
    critical: float | None
    groups: int | None
    slices: tuple[DifferentSlice, ...]
    confirmed: DifferentConfirmation | UnsetType = UNSET


class SliceSettings(Struct, frozen=True, kw_only=True):
    """The choices that shape a search."""

    depth: int
    least: int
    level: float
    seed: int
    unit: str
    number: int
    few_units: bool
    attributes: tuple[str, ...]
    absent: dict[str, str]
    command: str | None = None


class Slices(Document, frozen=True, kw_only=True):
    """Weak slices of each system, and slices in which systems differ, with family-wise error control."""

    kind: Literal["slices"] = "slices"
    settings: SliceSettings
    over: str
    tested: int
    flips: int
    systems: dict[str, SystemSlices]
    comparison: tuple[PairSlices, ...] = ()
    notes: tuple[str, ...] = ()
