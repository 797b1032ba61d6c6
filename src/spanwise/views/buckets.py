"""Where systems are weak: the buckets of every attribute, and the slices that cost most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from spanwise.diagnosis import distinct, slice_path
from spanwise.document.scores import AttributeScores, BucketScores, SystemScores, WeakSlice
from spanwise.views import Section, cells, tabled, wording
from spanwise.views.cells import (
    EVERYWHERE,
    PAPER,
    SHOWN,
    Block,
    Cell,
    Column,
    Flow,
    Grid,
    NamedNumbers,
    Number,
    Paragraphs,
    Phrase,
    Phrases,
    Room,
)
from spanwise.views.description import left_out
from spanwise.views.lookups import buckets_of, union
from spanwise.views.systems import Of, ShownSystems, marked

MOST_SLICES = 9  # of all systems together; at least one of each
MOST_ALONE = 6
MOST_LISTED = 24  # attributes whose buckets are listed


# ---- slices ----------------------------------------------------------------------------------------


def slices(measured: ShownSystems) -> Section:
    """The costliest slices of every system that differ from one another; in papers all of them."""
    systems = measured.ranked
    several = len(systems) > 1
    most = max(1, MOST_SLICES // len(systems)) if several else MOST_ALONE
    shown: list[list[Cell]] = []
    under: list[Flow | None] = []
    for name, of in systems.items():
        costly = [row for row in of.part.slices if wording.defined(row.cost) and row.cost > 0]
        for row, *others in distinct(costly, of.part)[:most]:
            value, _ = _slice_numbers(of, row)
            shown.append(
                [
                    name, _slice_title(row), cells.count(row.gold), value,
                    Phrase(wording.slice_score(row, of.part), "faint"),
                    cells.interval(row.interval, style="faint"),
                    Phrases((Phrase("costs ", "faint"), Phrase(wording.points(row.cost), "strong"))),
                ]
            )  # fmt: skip
            under.append(_also(others))
    columns = [
        Column("system" if several else "", least=8, names=True, on=SHOWN if several else ()),
        Column("slice", least=28), Column("gold", right=True), Column(right=True), Column(),
        Column(rank=1), Column(right=True),
    ]  # fmt: skip
    table: list[list[Cell]] = []
    for name, of in measured.of.items():
        for row in of.part.slices:
            value, cost = _slice_numbers(of, row)
            score = wording.slice_score(row, of.part)
            gold = _slice(of, row).count("gold")
            table.append([name, _slice_title(row), gold, score, value, cells.interval(row.interval), cost])
    titles = ("system", "slice", "gold", "score", "value", "interval", "cost")
    blocks: tuple[Block, ...] = (cells.table(titles, table, PAPER),)
    if shown:
        blocks = (Grid(columns, shown, on=SHOWN, under=under), *blocks)
    return Section(
        "slices",
        cells.words("Costliest slices"),
        blocks,
        "by score lost · intervals for all at once · ≥ 50 mentions",
        "Slices by cost: share of gold units times how far the score lies below the overall one;"
        " slices under 50 gold units are left out. Intervals hold for all slices at once.",
    )


def _slice(of: Of, row: WeakSlice) -> Of:
    return of.at(
        lambda system: next((one for one in system.slices if slice_path(one) == slice_path(row)), None)
    )


def _slice_numbers(of: Of, row: WeakSlice) -> tuple[Number, Number]:
    """The score of a slice and its cost."""
    part = _slice(of, row)
    return part.points("value", "strong"), part.points("cost")


def _slice_title(row: WeakSlice) -> str:
    return wording.slice_title(row.kind, row.name, row.title)


def _also(others: Sequence[WeakSlice]) -> Flow | None:
    """The other costly slices that consist of nearly the same mentions."""
    if not others:
        return None
    names = [[Phrase(_slice_title(row), "faint")] for row in others]
    return Flow([[Phrase("also ", "faint"), *names[0]], *names[1:]], indent=4)


# ---- attributes ------------------------------------------------------------------------------------


def by_attribute(measured: ShownSystems) -> Section | None:
    """One row per system and attribute: worst and best bucket, their gap, and the trend over buckets."""
    alone = len(measured.of) == 1
    table = _worst_and_best(measured)
    blocks: list[Block] = [table] if alone else [_ends_side_by_side(measured), table]
    if not table.rows:
        return None
    if alone:
        tables = [table for of in measured.of.values() for table in of.part.attributes.values()]
        ends = [table.bucket(end) for table in tables for end in (table.worst, table.best)]
        if any(bucket is not None and bucket.small for bucket in ends):
            blocks.append(Flow([[Phrase("~ ", "warn"), Phrase("fewer than 30 gold units", "faint")]]))
        absent = tuple(map(cells.literal, left_out(measured.document.dataset)))
        blocks += [Paragraphs(absent, "faint")] if absent else []
    return Section(
        "attributes",
        cells.words("By attribute"),
        tuple(blocks),
        "worst and best bucket · ρ of F1 with value" if alone else "F1 of worst → best bucket",
        "Self-diagnosis by attribute: worst and best bucket, the F1 between them, Spearman's correlation of"
        " F1 with the bucket number and the standard deviation over buckets (Fu, Liu and Neubig 2020).",
    )


def _worst_and_best(measured: ShownSystems) -> Grid:
    rows: list[list[Cell]] = []
    for name, of in measured.of.items():
        for attribute, table in of.part.attributes.items():
            trend = Number(table.spearman, wording.correlation(table.spearman))
            numbers = (cells.points(table.gap, "strong"), trend, cells.points(table.std))
            ends = [cell for end in (table.worst, table.best) for cell in _end(of, attribute, end)]
            rows.append([name, wording.attribute(attribute), *ends, *numbers])
    gold = Column("gold", right=True, style="faint", rank=2, on=SHOWN)
    columns = [
        Column("system", on=PAPER), Column("attribute", least=24),
        Column("worst", least=10), Column("F1", right=True, bare=True), gold,
        Column("best", least=10), Column("F1", right=True, bare=True), gold,
        Column("gap", right=True), Column("ρ", right=True, rank=1, paper="Sρ"), Column("Sσ", on=PAPER),
    ]  # fmt: skip
    return Grid(columns, rows, on=EVERYWHERE if len(measured.of) == 1 else PAPER)


def _end(of: Of, attribute: str, name: str | None) -> list[Cell]:
    """The worst or best bucket: its name with what it holds, its F1 and its gold units."""
    bucket = of.at(lambda system: system.attributes[attribute].bucket(name))
    row: BucketScores | None = bucket.part
    if row is None:
        return [wording.UNDEFINED, cells.points(None), ""]
    words = wording.bucket(row)
    holds = (Phrase(f" {words}", "faint"),) if words != wording.visible(row.name) else ()
    # The mark comes first, because long text is cut at the end.
    title = Phrases((Phrase(row.name), *holds), "~" if row.small else "")
    return [title, bucket.points("f1"), cells.count(row.gold)]


def _ends_side_by_side(measured: ShownSystems) -> Grid:
    rows: list[list[Cell]] = [
        [wording.attribute(name), *(_ends(of.part.attributes.get(name)) for of in measured.of.values())]
        for name in union(of.part.attributes for of in measured.ranked.values())
    ]
    columns = [Column("attribute", least=14), *measured.columns()]
    return Grid(columns, rows, on=SHOWN, room=Room(24, 22, 20))


def _ends(table: AttributeScores | None) -> Phrases:
    worst = None if table is None else table.bucket(table.worst)
    best = None if table is None else table.bucket(table.best)
    if worst is None or best is None:
        return Phrases((Phrase(wording.UNDEFINED, "faint"),))
    low = (Phrase(f"{worst.name} ", "faint"), Phrase(wording.points(worst.f1), "strong"))
    high = (Phrase(f" → {best.name} ", "faint"), Phrase(wording.points(best.f1)))
    return Phrases(low if worst is best else (*low, *high))


def legend(measured: ShownSystems) -> Section | None:
    """What the buckets of several systems hold; they are the same for all."""
    tables = union(of.part.attributes for of in measured.ranked.values())
    contents = [([wording.attribute(name)], bucket_contents(table)) for name, table in tables.items()]
    table = bucket_legend(contents, ["attribute"]) if len(measured.of) > 1 else None
    return None if table is None else Section("legend", cells.words(""), (table,), on=SHOWN)


BucketContents: TypeAlias = Sequence[tuple[str, str]]  # bucket names, and what each bucket contains in words


def bucket_contents(table: AttributeScores) -> BucketContents:
    """The buckets of an attribute with what they contain."""
    return [(bucket.name, wording.bucket(bucket)) for bucket in table.buckets]


def bucket_legend(
    tables: Iterable[tuple[Sequence[str], BucketContents]], titles: Sequence[str]
) -> Grid | None:
    """One row per table of buckets: the names of the table, then each bucket with its contents.

    Buckets that are named after their contents, such as categories, need no row.
    """
    rows: list[list[Cell]] = []
    for names, buckets in tables:
        pairs = [
            (name, wording.upper_bound(words)) for name, words in buckets if words != wording.visible(name)
        ]
        if pairs:
            rows.append([*names, NamedNumbers(tuple(pairs))])
    columns = [Column(title, least=8) for title in titles]
    columns.append(Column("what its buckets hold", least=30, most=110))
    return Grid(columns, rows, MOST_LISTED, on=SHOWN) if rows else None


def buckets(measured: ShownSystems) -> Section:
    """One row per bucket: its gold units and the F1 of every system."""
    rows: list[list[Cell]] = []
    for attribute in union(of.part.attributes for of in measured.of.values()):
        tables = (of.part.attributes.get(attribute) for of in measured.of.values())
        for bucket in buckets_of(table for table in tables if table is not None):
            each = measured.each(_same_bucket, attribute, bucket.name)
            gold = next(of for of in each if of.part is not None).count("gold")
            scores = marked([of.points("f1") for of in each])
            rows.append([wording.attribute(attribute), bucket.name, wording.bucket(bucket), gold, *scores])
    names = ["F1"] if len(measured.of) == 1 else list(measured.of)
    header = ("attribute", "bucket", "values", "gold", *names)
    return tabled("buckets", "Buckets", header, rows, "F1 by bucket.")


def _same_bucket(system: SystemScores, attribute: str, name: str) -> BucketScores | None:
    return system.attributes[attribute].bucket(name) if attribute in system.attributes else None
