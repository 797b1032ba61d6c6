"""The settings behind the numbers of a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import UNSET, UnsetType, field

from spanwise.document.head import Count, Part


class Settings(Part, frozen=True, kw_only=True):
    """Every choice that shapes a number of an evaluation, or what the document holds."""

    matcher: str | UnsetType = UNSET  # where it is not the fair one
    focus: Literal["gold", "predicted", "both"]
    resamples: Count
    seed: Count
    confidence: float
    correction: str
    primary: str | UnsetType = UNSET  # where it is not F1
    align: str
    repair: str
    lowercase: bool
    credits: Mapping[str, str]
    vocabulary: Count | None
    examples: str
    examples_cap: Count
    redacted: bool
    preset: str | None
    switched_off: tuple[str, ...] | UnsetType = UNSET
    command: str | None
    unit: str
    units: Count
    few_units: bool
    block: Count | UnsetType = UNSET  # how many consecutive sentences are one unit
    attributes: tuple[str, ...]
    buckets: Mapping[str, str]
    tags: Mapping[str, str] = field(default_factory=dict)  # such as commit and epoch


class StudySettings(Part, frozen=True, kw_only=True):
    """The settings that all evaluations of a study share; those in which they differ are left out."""

    matcher: str | UnsetType = UNSET
    focus: Literal["gold", "predicted", "both"] | UnsetType = UNSET
    resamples: Count | UnsetType = UNSET
    seed: Count | UnsetType = UNSET
    confidence: float | UnsetType = UNSET
    correction: str | UnsetType = UNSET
    primary: str | UnsetType = UNSET
    align: str | UnsetType = UNSET
    repair: str | UnsetType = UNSET
    lowercase: bool | UnsetType = UNSET
    credits: Mapping[str, str] | UnsetType = UNSET
    vocabulary: Count | UnsetType | None = UNSET
    examples: str | UnsetType = UNSET
    examples_cap: Count | UnsetType = UNSET
    redacted: bool | UnsetType = UNSET
    preset: str | UnsetType | None = UNSET
    command: str | None
    unit: str | UnsetType = UNSET
    units: Count | UnsetType = UNSET
    few_units: bool | UnsetType = UNSET
    block: Count | UnsetType = UNSET
    attributes: tuple[str, ...] | UnsetType = UNSET
    buckets: Mapping[str, str] | UnsetType = UNSET
