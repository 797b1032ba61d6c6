"""The screen of a split: its parts, the shares asked for and reached, and what the test is made of."""

from __future__ import annotations

from spanwise.document.dataset import Split, SplitShare
from spanwise.reports import _wording as say
from spanwise.reports.terminal._dataset import tough_lines
from spanwise.reports.terminal._frame import banner, files
from spanwise.reports.terminal._layout import Cell, Column, Line, grid, heading, text


def lines(document: Split, width: int) -> list[Line]:
    """All sections, the parts first."""
    return [
        *banner(document, None),
        *files(document.inputs, width),
        *_parts(document, width),
        *_shares(document, width),
        *tough_lines(document.parts["test"].facts, width, title="The test mentions"),
    ]


def _parts(document: Split, width: int) -> list[Line]:
    by_documents = document.settings.unit == "document"
    rows: list[list[Cell]] = []
    for name, part in document.parts.items():
        facts = part.facts
        sizes = [facts.documents] if by_documents else []
        sizes += [facts.sentences, facts.tokens, facts.mentions]
        rows.append([text(name, "strong"), *map(say.count, sizes), text(part.path or "", "faint")])
    names = [*(["documents"] if by_documents else []), "sentences", "tokens", "mentions"]
    columns = [Column("part"), *(Column(name, right=True) for name in names), Column(least=8)]
    return [*heading("Parts", f"seed {document.settings.seed}", width), *grid(columns, rows, width)]


def _shares(document: Split, width: int) -> list[Line]:
    rows: list[list[Cell]] = []
    asked: list[tuple[str, SplitShare]] = [*document.shares.items(), ("sentences", document.size)]
    for subset, share in asked:
        mean, low, high = share.random
        chance = (
            "" if subset == "sentences" else f"{say.percent(mean)} ({say.percent(low)}–{say.percent(high)})"
        )
        name = "sentences in the test" if subset == "sentences" else say.tough(subset)
        rows.append([text(name), say.percent(share.asked), say.percent(share.reached), text(chance, "faint")])
    columns = [
        Column("share"), Column("asked", right=True), Column("reached", right=True, style="strong"),
        Column("random splits", right=True, rank=1),
    ]  # fmt: skip
    return [*heading("Shares", "of the test mentions", width), *grid(columns, rows, width)]
