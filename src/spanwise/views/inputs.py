"""The files that a document was made from, and how predictions were paired with gold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import UNSET, json
from msgspec.structs import asdict

from spanwise.document import Input
from spanwise.document.evaluation import Evaluation
from spanwise.document.study import Study
from spanwise.views import PAGE, Section, cells, wording
from spanwise.views.cells import Cell, Column, Grid

SHOWN_OF_HASH = 16  # characters
COLUMNS = (
    Column("role"), Column("file"), Column("format, scheme"), Column("sentences", right=True),
    Column("mentions", right=True), Column("repairs", right=True), Column("alignment, notes"),
    Column("sha256"),
)  # fmt: skip


def files(inputs: Sequence[Input]) -> Section:
    """One row per file: what it is, how it was read, and the beginning of its hash."""
    return Section("files", cells.words("Files"), (Grid(COLUMNS, [_row(one) for one in inputs]),), on=PAGE)


def _row(one: Input) -> list[Cell]:
    read = " ".join(part for part in (one.format, one.scheme) if part)
    counts = (cells.count(number) for number in (one.sentences, one.mentions, one.repairs))
    return [
        f"{one.role} · {one.system}" if one.system else one.role,
        wording.base_name(one.path or ""),
        f"{read}: {one.evidence}" if one.evidence else read,
        *counts,
        " ".join([_aligned(one), *one.notes]).strip(),
        f"{one.sha256[:SHOWN_OF_HASH]}…" if one.sha256 else "",
    ]


def _aligned(one: Input) -> str:
    fields = asdict(one.alignment) if one.alignment else {}
    given = {key: value for key, value in fields.items() if value is not None and value is not UNSET}
    return ", ".join(f"{wording.attribute(key)} {value}" for key, value in given.items())


def pairing(inputs: Sequence[Input], *, unplaced: str = "counted as wrong") -> Iterator[str]:
    """How predictions were aligned or paired with gold, where that was a guess or changed something.

    Args:
        unplaced: what becomes of mentions that could not be placed.
    """
    gold = next((row for row in inputs if row.role == "gold"), None)
    for row in inputs:
        if row.role != "predicted":
            continue
        name = wording.visible(row.system or row.path or "the predictions")
        done = row.alignment
        if done is not None and done.how != "strict" and (done.changed_tokens or done.unplaced):
            parts = []
            if done.changed_tokens:
                parts.append(f"{wording.plural(done.changed_tokens, 'token')} unlike gold")
            if done.unplaced:
                parts.append(f"{wording.plural(done.unplaced, 'mention')} without a place, {unplaced}")
            yield f"{name} was aligned by {done.how}: {', '.join(parts)}."
        elif row.paired == "in order" and gold is not None and None in (gold.tokens, row.tokens):
            yield f"The sentences of {name} were paired with gold in order; neither text nor ids confirm it."


# ---- settings --------------------------------------------------------------------------------------

ELSEWHERE = ("command", "buckets", "attributes")  # settings that pages show in other places


def made_with(document: Evaluation | Study) -> Section:
    """The settings of a result, as written in the JSON, and the version that made it."""
    plain: dict[str, object] = json.decode(json.encode(document.settings))
    rows = [
        [wording.attribute(key), _setting(value)]
        for key, value in plain.items()
        if key not in ELSEWHERE and value not in (None, [], {})
    ]
    rows.append(["version", f"spanwise {document.spanwise}, schema {document.schema}"])
    return Section("settings", cells.words("Settings"), (Grid((Column(), Column()), rows),), on=PAGE)


def _setting(value: object) -> str:
    """A setting in words; the items of a list or a table are joined with commas."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_setting(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_setting, value))
    return str(value)
