"""The document of a described test set."""

from __future__ import annotations

from typing import Literal

from spanwise.document.dataset import DatasetFacts
from spanwise.document.head import Document
from spanwise.registry import reach


class Description(Document, frozen=True, kw_only=True):
    """A test set before any system is run."""

    kind: Literal["description"] = "description"
    dataset: DatasetFacts

    def __repr__(self) -> str:
        dataset = self.dataset
        sizes = f"{dataset.sentences:,} sentences, {dataset.mentions:,} mentions"
        return f"<spanwise.Description {dataset.name}: {sizes}, {len(dataset.labels)} labels>"

    def _repr_html_(self) -> str:
        return str(reach("reports.notebook:description")(self))
