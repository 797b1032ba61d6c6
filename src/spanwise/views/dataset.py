"""The views of data: a split."""

from __future__ import annotations

from spanwise.document.dataset import DatasetFacts, Split, SplitShare
from spanwise.views import PAPER, SHOWN, Remark, Section, View, cells, wording
from spanwise.views.cells import Cell, Column, Grid, Number, Phrase

TINY = 20  # a number over fewer mentions is marked
LEAST_SHARE = 0.01  # a smaller subset is marked: Tu and Lignos leave it out of their tables of recall
MARKS = (
    f"† fewer than {TINY} mentions."
    f" ‡ less than {100 * LEAST_SHARE:g} % of all mentions; the paper's tables of recall leave these out."
)


# ---- tough mentions --------------------------------------------------------------------------------


def tough_section(dataset: DatasetFacts, title: str) -> list[Section]:
    """The number of gold mentions in each tough subset, and their share overall and by label."""
    order = dataset.labels_in_order
    rows: list[list[Cell]] = []
    for subset, shares in (dataset.tough or {}).items():
        of_labels = [shares.labels.get(label) for label in order]
        rows.append(
            [
                wording.TOUGH[subset],
                cells.count(shares.overall.mentions),
                cells.percent(shares.overall.share, "strong"),
                *(cells.percent(None if cell is None else cell.share) for cell in of_labels),
            ]
        )
    columns = [Column("mentions", least=14), Column("gold", right=True), Column("share", right=True)]
    columns += [
        Column(label, right=True, least=6, rank=at + 1, wide=50 + 8 * (at + 1) if at else 0)
        for at, label in enumerate(order)
    ]
    if not rows:
        return []
    note = "share of all, and of each label"
    return [Section("tough", cells.words(title), (Grid(columns, rows),), note, on=SHOWN)]


def composition(dataset: DatasetFacts) -> Section:
    """How many of each label's gold mentions are in each tough subset, and their share."""
    order = list(dataset.labels_in_order)
    rows: list[tuple[Cell, ...]] = []
    if dataset.tough:
        row: list[Cell] = ["ALL"]
        for number in (dataset.mentions, *(dataset.labels[label] for label in order)):
            row += [mentions(number), cells.points(1.0 if number else None)]
        rows.append(tuple(row))
    for subset, shares in (dataset.tough or {}).items():
        all_mentions = mentions(shares.overall.mentions, dataset.mentions)
        row = [subset, all_mentions, cells.points(shares.overall.share)]
        for label in order:
            share = shares.labels.get(label)
            row += [mentions(share.mentions if share else None), cells.points(share.share if share else None)]
        rows.append(tuple(row))
    titles = ["subset", "all", "all %", *(title for label in order for title in (label, f"{label} %"))]
    caption = (
        "Gold mentions in each tough subset and their share in percent, overall and by label"
        f" (Tu and Lignos 2021). {MARKS}"
    )
    return Section(
        "composition", cells.words("Composition"), (cells.table(titles, rows),), caption=caption, on=PAPER
    )


def mentions(number: int | None, all_mentions: int | None = None) -> Number:
    """The number of mentions in a subset, with a dagger if there are few, and two if few of all.

    Examples:
        >>> mentions(12, 1_000).text, mentions(12, 1_300).text, mentions(22, 3_559).text, mentions(12).text
        ('12†', '12†‡', '22‡', '12†')
    """
    if number is None:
        return Number(None, wording.count(None))
    marks = "†" if number < TINY else ""
    marks += "‡" if all_mentions is not None and number < LEAST_SHARE * all_mentions else ""
    return Number(number, wording.count(number) + marks)


# ---- split -----------------------------------------------------------------------------------------


def split_view(document: Split) -> View:
    """The parts, the shares that were asked for and reached, and the test mentions."""
    test = document.parts["test"].facts
    reached = [
        f"{wording.percent(share.reached)} {wording.tough(subset)}"
        for subset, share in document.shares.items()
    ]
    mentions = wording.plural(test.mentions, "test mention")
    return View(
        title="split",
        about=cells.words(f"split by toughness, seed {document.settings.seed}. {_kept_whole(document)}"),
        verdict=cells.literal(f"{mentions}{', ' if reached else ''}{' and '.join(reached)}."),
        sections=(
            _parts(document), _shares(document), *tough_section(test, "The test mentions"), composition(test),
        ),
        findings=tuple(Remark("", note, check=True) for note in document.notes),
        notes=document.notes,
        inputs=document.inputs,
    )  # fmt: skip


def _kept_whole(document: Split) -> str:
    """Whether documents were divided."""
    if document.settings.unit == "document":
        return "Documents were kept whole."
    return "Documents are not marked: sentences were divided."


def _parts(document: Split) -> Section:
    by_documents = document.settings.unit == "document"
    rows: list[list[Cell]] = []
    for name, part in document.parts.items():
        facts = part.facts
        sizes = [facts.documents] if by_documents else []
        sizes += [facts.sentences, facts.tokens, facts.mentions]
        rows.append([Phrase(name, "strong"), *map(cells.count, sizes), Phrase(part.path or "", "faint")])
    names = [*(["documents"] if by_documents else []), "sentences", "tokens", "mentions"]
    columns = [Column("part"), *(Column(name, right=True) for name in names), Column(least=8)]
    seed = f"seed {document.settings.seed}"
    return Section("parts", cells.words("Parts"), (Grid(columns, rows),), seed, on=SHOWN)


def _shares(document: Split) -> Section:
    rows: list[list[Cell]] = []
    requested: list[tuple[str, SplitShare]] = [*document.shares.items(), ("sentences", document.size)]
    for subset, share in requested:
        mean, low, high = share.random
        chance = (
            ""
            if subset == "sentences"
            else f"{wording.percent(mean)} ({wording.percent(low)}–{wording.percent(high)})"
        )
        name = "sentences in the test" if subset == "sentences" else wording.tough(subset)
        rows.append([name, cells.percent(share.asked), cells.percent(share.reached), Phrase(chance, "faint")])
    columns = [
        Column("share"), Column("asked", right=True), Column("reached", right=True, style="strong"),
        Column("random splits", right=True, rank=1),
    ]  # fmt: skip
    note = "of the test mentions"
    return Section("shares", cells.words("Shares"), (Grid(columns, rows),), note, on=SHOWN)
