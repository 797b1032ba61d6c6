"""The documents of leaks and of tuples on several datasets, whose tests are corrected together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from msgspec import Struct

from spanwise.document import Count, Document, DocumentPart, Fraction
from spanwise.document.leaks import Leaks
from spanwise.document.study import PlanNotes
from spanwise.document.tuples import Tuples


class DatasetMeans(Struct, frozen=True, kw_only=True):
    """The mean of each score of a system over datasets, and over how many it is defined.

    Runs are averaged first, so that every dataset counts the same.
    """

    mean: dict[str, Fraction]
    datasets: dict[str, Count]


class VerbStudySettings(DocumentPart, frozen=True, kw_only=True):
    """What is corrected together, and how many tests that are."""

    manifest: str
    family: Literal["study", "dataset"]
    correction: str
    tests: Count
    command: str | None = None


class VerbStudy(Document, frozen=True, kw_only=True):
    """The documents of one verb on every dataset of a manifest, and means over datasets.

    The p-values of the primary score are corrected over all pairs on all datasets, or over those of each
    dataset; all others are those of the dataset.
    """

    INDENT: ClassVar[int] = 0

    name: str | None = None
    settings: VerbStudySettings
    systems: dict[str, DatasetMeans]
    plan: PlanNotes
    notes: tuple[str, ...] = ()

    @property
    def own(self) -> Mapping[str, Any]:
        """The document of each dataset."""
        raise NotImplementedError

    def inconsistent(self) -> tuple[str, str] | None:
        """An error if the document of a dataset contradicts itself; see `Document.inconsistent`."""
        if not self.own:
            return "$.datasets", "there is no dataset"
        for system, means in self.systems.items():
            if means.mean.keys() != means.datasets.keys():
                return f"$.systems.{system}", "the scores of 'mean' and of 'datasets' are not the same"
        for name, document in self.own.items():
            wrong = document.inconsistent()
            if wrong is not None:
                return f"$.datasets.{name}{wrong[0].removeprefix('$')}", wrong[1]
        return None


class LeakStudy(VerbStudy, frozen=True, kw_only=True):
    """What masking leaves readable on every dataset of a manifest."""

    kind: Literal["leaks-study"] = "leaks-study"
    datasets: dict[str, Leaks]

    @property
    def own(self) -> Mapping[str, Leaks]:
        """The document of each dataset."""
        return self.datasets

    def without_sentences(self) -> LeakStudy:
        """A copy without sentences."""
        from msgspec.structs import replace

        return replace(self, datasets={name: own.without_sentences() for name, own in self.datasets.items()})


class TupleStudy(VerbStudy, frozen=True, kw_only=True):
    """The scores of tuples on every dataset of a manifest."""

    kind: Literal["tuples-study"] = "tuples-study"
    datasets: dict[str, Tuples]

    @property
    def own(self) -> Mapping[str, Tuples]:
        """The document of each dataset."""
        return self.datasets

    def without_sentences(self) -> TupleStudy:
        """A copy without sentences."""
        from msgspec.structs import replace

        return replace(self, datasets={name: own.without_sentences() for name, own in self.datasets.items()})
