"""The mentions of a saved result as a search for slices reads them."""

from __future__ import annotations

import numpy as np
from msgspec import UNSET

from spanwise.buckets import Bucket, Bucketing
from spanwise.columns import ints
from spanwise.document import given
from spanwise.document.evaluation import Evaluation, files_command
from spanwise.errors import ChoiceError
from spanwise.evaluation.dataset import Facts
from spanwise.evaluation.tables import Walked
from spanwise.mentions import MentionTable, MentionTables
from spanwise.mentions.packing import NOT_FOUND, SAME, unpack_codes

_OTHER = Bucket(name="other", label="no gold value", rest=True)  # of predicted labels that gold lacks


def walked_of(document: Evaluation) -> Walked:
    """The mentions of a saved result, with the attributes, buckets and units that it was evaluated with.

    Raises:
        ChoiceError: the document keeps no mentions.
    """
    codes = given(document.mentions)
    tables = None if codes is None else unpack_codes(codes, location="the result")
    if codes is None or tables is None:
        raise ChoiceError(
            "the result does not keep its mentions, in which slices are found.\n"
            f"Give the files: {files_command(document, 'slices')}"
        )
    settings = document.settings
    names = {name: tuple(buckets) for name, buckets in codes.buckets.items() if name != "label"}
    labels = [label for label in codes.labels if label in document.dataset.labels]
    cuts = {name: _bucketing(document, name, buckets) for name, buckets in names.items()}
    cuts["label"] = Bucketing(
        "label", "category", (*(Bucket(name=name, label=name) for name in labels), _OTHER)
    )
    return Walked(
        _whole(tables, labels, int(settings.units)),
        Facts({}, cuts, {name: settings.buckets.get(name, "category") for name in cuts}, {}, {}),
        settings.unit,
        document.inputs,
        marked=document.dataset.documents is not None,
        block=settings.block or UNSET,
    )


def _bucketing(document: Evaluation, name: str, buckets: tuple[str, ...]) -> Bucketing:
    """The buckets of an attribute, with their intervals where a table of the document shows them."""
    shown = {
        bucket.name: given(bucket.label) or bucket.name
        for system in document.systems.values()
        if name in system.attributes
        for bucket in system.attributes[name].buckets
    }
    return Bucketing(
        name, "", tuple(Bucket(name=bucket, label=shown.get(bucket, bucket)) for bucket in buckets)
    )


def _whole(tables: MentionTables, labels: list[str], units: int) -> MentionTables:
    """The tables with the predictions that documents leave out, since gold has a row that is equal."""

    def prepared(table: MentionTable) -> MentionTable:
        code_of = {label: code for code, label in enumerate(labels)}
        codes = ints([code_of.get(label, len(labels)) for label in table.labels] or [0])
        own = MentionTable(table.columns, table.labels, units)
        return own.with_columns(
            {"bucket.label": codes[table["label"]], "unit": table["unit"].astype(np.int64)}
        )

    gold = prepared(tables.gold)
    found = tables.gold.named("found")
    shared = ["unit", "label", *(f"bucket.{name}" for name in gold.named("bucket"))]
    systems = {}
    for name, table in tables.systems.items():
        copies, others = gold.take(found[name] == SAME), prepared(table)
        both = {column: np.concatenate([copies[column], others[column]]) for column in shared}
        right = np.concatenate([np.ones(len(copies), dtype=bool), others["right"]])
        systems[name] = MentionTable.of(labels=gold.labels, units=units, **both, right=right)
    hits = {f"found.{name}": column != NOT_FOUND for name, column in found.items()}
    return MentionTables(gold.with_columns(hits), systems)
