"""The document of a split: its parts, and the shares of tough mentions asked for and reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from spanwise.document.dataset import DatasetFacts
from spanwise.document.head import Count, Document, Fraction, Part
from spanwise.document.scores import Subset


class SplitSettings(Part, frozen=True, kw_only=True, omit_defaults=False):
    """What was asked for."""

    test: float
    dev: float
    seed: int
    unit: Literal["document", "sentence"]


class SplitShare(Part, frozen=True, kw_only=True, omit_defaults=False):
    """The share of the test mentions that one tough subset should have and has, and what chance would give.

    `random` are the mean, the lowest and the highest share over random splits of the same size.
    """

    asked: Fraction
    reached: Fraction
    random: tuple[Fraction, Fraction, Fraction]


class SplitRun(Part, frozen=True, kw_only=True):
    """Sentences of one file, from `first` up to, not including, `last`, counted from 0."""

    file: Count
    first: Count
    last: Count


class SplitPart(Part, frozen=True, kw_only=True):
    """One part: what it is like beside the training part, and which sentences it holds."""

    facts: DatasetFacts
    units: Count
    sentences: tuple[SplitRun, ...]
    path: str | None = None


class Split(Document, frozen=True, kw_only=True):
    """A corpus divided into training, test and perhaps development data by how tough the test is."""

    kind: Literal["split"] = "split"
    settings: SplitSettings
    shares: Mapping[Subset, SplitShare]
    size: SplitShare
    parts: Mapping[Literal["train", "dev", "test"], SplitPart]
    notes: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {part.facts.sentences:,}" for name, part in self.parts.items())
        return f"<spanwise.Split sentences: {sizes}>"
