"""The view of a test set: labels, tough mentions, attributes, drift and contradictions."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from spanwise.document.dataset import (
    Conflicts,
    DatasetFacts,
    DescribedAttribute,
    DescribedBucket,
    Description,
    LabelConflict,
)
from spanwise.views import PAGE, SCREEN, SHOWN, Remark, Section, View, cells, wording
from spanwise.views.cells import (
    Block,
    Cell,
    Column,
    Flow,
    Grid,
    NamedNumbers,
    Paragraphs,
    Phrase,
    ShareBar,
)
from spanwise.views.dataset import composition, tough_section

MOST_LABELS, MOST_NAMES, MOST_GROUPS, MOST_SAME = 30, 12, 4, 2  # on a screen


def description_view(document: Description) -> View:
    """What there is to know of a test set before any system is run on it."""
    facts = document.dataset
    sizes = (
        (facts.sentences, "sentence"), (facts.mentions, "gold mention"), (len(facts.labels), "label"),
    )  # fmt: skip
    return View(
        title=wording.visible(facts.name),
        about=cells.literal(facts.name),
        verdict=cells.literal(f"{', '.join(wording.plural(*size) for size in sizes)}."),
        findings=tuple(_remarks(facts)),
        sections=(
            *_labels(facts),
            *_tuples(document),
            *(tough_section(facts, "Tough mentions") or [NO_TRAINING]),
            composition(facts),
            *_attributes(facts),
            *_drift(facts),
            *_conflicts(facts),
        ),
        inputs=document.inputs,
        dataset=facts,
    )


NO_TRAINING = Section(
    "tough",
    cells.words("Tough mentions"),
    (
        cells.note(
            "No training data was given, so seen and unseen mentions cannot be told apart. "
            "Add it with --train.",
            "faint",
        ),
    ),
    on=PAGE,
)


def _remarks(facts: DatasetFacts) -> Iterator[Remark]:
    """What to know about the data before running a system on it."""
    unseen = (facts.tough or {}).get("UNSEEN-ANY")
    if unseen is not None:
        rest = "they were not seen in training with their label"
        if facts.drift is not None and (pair := facts.drift.tough.get("UNSEEN-ANY")) is not None:
            rest += f"; within the training data it is {wording.percent(pair.train)}"
        yield Remark(
            f"{wording.percent(unseen.overall.share)} of the mentions are new:", f"{rest}.", link="tough"
        )
    if facts.duplicates_with_train:
        number = wording.plural(facts.duplicates_with_train, "test sentence")
        verb = "is" if facts.duplicates_with_train == 1 else "are"
        yield Remark(
            f"{number} {verb} also in training:", "scores there say little.", check=True, link="files"
        )
    conflicts = facts.conflicts
    if conflicts is not None and conflicts.sentences.groups:
        number = wording.plural(conflicts.sentences.groups, "group")
        rest = "they are annotated differently."
        yield Remark(f"{number} of equal sentences:", rest, check=True, link="same-sentences")
    if conflicts is not None and conflicts.labels.sequences:
        number = wording.plural(conflicts.labels.sequences, "token sequence")
        yield Remark(f"{number} with several labels:", "some may be mistakes.", link="several-labels")


def _labels(facts: DatasetFacts) -> Iterator[Section]:
    labels = facts.labels
    if not labels:
        return
    top, total = max(labels.values()) or 1, facts.mentions or 1
    rows: list[list[Cell]] = [
        [
            label,
            cells.count(labels[label]),
            cells.percent(labels[label] / total),
            ShareBar(labels[label] / top),
        ]
        for label in facts.labels_in_order
    ]
    columns = [
        Column("label", least=12), Column("mentions", right=True), Column("share", right=True),
        Column(least=16, most=50),
    ]  # fmt: skip
    sizes = ((facts.documents, "document"), (facts.sentences, "sentence"), (facts.mentions, "mention"))
    note = " · ".join(wording.plural(number, noun) for number, noun in sizes if number)
    table = Grid(columns, rows, MOST_LABELS, "labels")
    yield Section("labels", cells.words("Labels"), (table,), note, on=SHOWN)


def _tuples(document: Description) -> Iterator[Section]:
    """The types of tuples, and what fills their roles."""
    if not document.tuples:
        return
    total = sum(one.tuples for one in document.tuples.values())
    rows: list[list[Cell]] = []
    for name, one in document.tuples.items():
        filled = (
            f"{role}: "
            + ", ".join(f"{label} {wording.count(number)}" for label, number in [*labels.items()][:3])
            for role, labels in one.roles.items()
        )
        rows.append(
            [name, cells.count(one.tuples), cells.percent(one.tuples / total), Phrase("; ".join(filled))]
        )
    columns = [
        Column("type", least=12), Column("tuples", right=True), Column("share", right=True),
        Column("labels in each role", least=20),
    ]  # fmt: skip
    grid = Grid(columns, rows, MOST_LABELS, "types")
    yield Section("tuples", cells.words("Tuples"), (grid,), wording.plural(total, "tuple"))


# ---- attributes ------------------------------------------------------------------------------------


def left_out(facts: DatasetFacts) -> list[str]:
    """The attributes that could not be computed, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for name, why in (facts.absent or {}).items():
        reasons.setdefault(wording.visible(why), []).append(wording.attribute(name))
    return [f"left out: {', '.join(names)} ({why})" for why, names in reasons.items()]


def _attributes(facts: DatasetFacts) -> Iterator[Section]:
    """On a screen one row per attribute, on a page one card with all of its buckets."""
    zeta, tables = facts.zeta, facts.attributes
    named = [name for name in dict.fromkeys([*tables, *zeta]) if name != "label"]  # labels stand above
    absent = tuple(map(cells.literal, left_out(facts)))
    rows: list[list[Cell]] = [
        [
            wording.attribute(name), _zeta(zeta.get(name)),
            NamedNumbers(tuple(map(_share, tables[name].buckets)) if name in tables else ()),
        ]
        for name in named
    ]  # fmt: skip
    columns = [Column("attribute", least=16), Column("ζ", right=True), Column("buckets", least=20, most=110)]
    blocks: tuple[Block, ...] = (Paragraphs(absent, "faint"),)
    note = "ζ: mean over gold units · share of gold units in each bucket"
    if rows:
        table = Grid(columns, rows) if tables else Grid(columns[:2], [row[:2] for row in rows])
        on = SCREEN if tables else SHOWN
        yield Section("attributes", cells.words("Attributes"), (table, *blocks), note, on=on)
    elif absent:
        yield Section("attributes", cells.words(""), blocks, on=SCREEN)
    for at, (name, described) in enumerate(tables.items()):
        if name != "label":
            yield _buckets(f"attribute-{at}", name, described)
    if absent and (tables or not rows):
        yield Section("absent", cells.words("Not computed"), blocks, on=PAGE)


def _zeta(value: float | None) -> str:
    return "" if value is None else wording.plain(value)


def _share(bucket: DescribedBucket) -> tuple[str, str]:
    name = wording.bucket(bucket)
    return name.replace(" ", "") if bucket.value is UNSET else name, wording.percent(bucket.share)


def _buckets(place: str, name: str, described: DescribedAttribute) -> Section:
    rows: list[list[Cell]] = [
        [_named(bucket), cells.count(bucket.gold), cells.percent(bucket.share), ShareBar(bucket.share or 0.0)]
        for bucket in described.buckets
    ]
    units = f"{described.unit}s"
    mean = f"Mean ζ {wording.plain(described.zeta)}; gold" if wording.defined(described.zeta) else "Gold"
    columns = [Column("bucket"), Column(units, right=True), Column("share", right=True), Column()]
    title = cells.literal(wording.capital(wording.attribute(name)))
    note = f"{mean} {units} in each bucket."
    return Section(place, title, (Grid(columns, rows),), note, on=PAGE, group="Attributes")


def _named(bucket: DescribedBucket) -> str:
    """The name of a bucket and what it holds, unless that is its name."""
    text = wording.bucket(bucket)
    return bucket.name if text == bucket.name else f"{bucket.name} {text}"


# ---- drift and contradictions ----------------------------------------------------------------------


def _drift(facts: DatasetFacts) -> Iterator[Section]:
    """The test set compared with its training data: labels, lengths, unknown tokens, unseen mentions."""
    drift = facts.drift
    if drift is None:
        return
    columns = [
        Column("", least=24), Column("training", right=True), Column("test", right=True),
        Column("distance", right=True),
    ]  # fmt: skip
    units = f"training: each {drift.left_out} beside the others" if drift.left_out else ""
    table = Grid(columns, [list(row) for row in wording.drift_rows(drift)])
    yield Section("drift", cells.words("Drift"), (table,), units, on=SHOWN)
    alike = (
        f"For unknown tokens and seen or unseen mentions, each {drift.left_out} of the training data is "
        "compared with the others, so that both columns would be about the same if the test set were drawn "
        "from the same text. "
    )
    about = (
        f"{alike if drift.left_out else ''}Distance: half the sum of the differences of label shares, and "
        "for lengths the largest difference of the cumulative shares. None of this is a test."
    )
    yield Section("about-drift", cells.words(""), (cells.note(about, "faint"),), on=PAGE)


def _conflicts(facts: DatasetFacts) -> Iterator[Section]:
    """Names with several labels and sentences annotated in several ways, which may need fixing."""
    if facts.conflicts is None:
        return
    blocks = tuple(_few_conflicts(facts.conflicts))
    note = "worth a look before any system is run"
    if blocks:
        yield Section("conflicts", cells.words("Conflicts"), blocks, note, on=SCREEN)
    yield from _all_conflicts(facts.conflicts)


def _few_conflicts(conflicts: Conflicts) -> Iterator[Flow]:
    names, sentences, variation = conflicts.labels, conflicts.sentences, conflicts.variation
    if names.sequences:
        mentions = wording.plural(names.mentions, "mention")
        yield _size(f"{wording.plural(names.sequences, 'name')} with several labels, {mentions}")
        yield Flow([_name(row) for row in names.examples[:MOST_NAMES]], "  ", 4)
    if sentences.groups:
        yield _size(f"{wording.plural(sentences.groups, 'sentence')} annotated in more than one way")
        for group in sentences.examples[:MOST_GROUPS]:
            yield Flow([[Phrase(row.place, "faint")] for row in group[:MOST_SAME]], " ≠ ", 4, tails=True)
    if variation is not None and variation.places:
        places = wording.plural(variation.places, "place")
        yield _size(f"{places} read differently elsewhere between the same neighbours")
        parts = [
            [Phrase(row.text, "strong"), Phrase(f" {row.label}, elsewhere {row.elsewhere}", "faint")]
            for row in variation.examples[:MOST_NAMES]
        ]
        yield Flow(parts, "  ", 4)


def _size(text: str) -> Flow:
    return Flow([[Phrase(text)]])


def _name(row: LabelConflict) -> list[Phrase]:
    counts = " ".join(f"{label} {wording.count(number)}" for label, number in row.labels.items())
    return (
        [Phrase(row.text, "strong"), Phrase(f" {counts}", "faint")] if row.text else [Phrase(counts, "faint")]
    )


def _all_conflicts(conflicts: Conflicts) -> Iterator[Section]:
    names, sentences, variation = conflicts.labels, conflicts.sentences, conflicts.variation
    if names.sequences:
        rows: list[list[Cell]] = [
            [
                row.text,
                NamedNumbers(tuple((label, wording.count(number)) for label, number in row.labels.items())),
            ]
            for row in names.examples
        ]
        sequences, mentions = (
            wording.plural(names.sequences, "token sequence"),
            wording.plural(names.mentions, "mention"),
        )
        note = f"{sequences} with two or more labels, {mentions} in all{_some(len(rows), names.sequences)}."
        title, columns = cells.words("One text, several labels"), [Column(), Column()]
        yield Section("several-labels", title, (Grid(columns, rows),), note, on=PAGE)
    if sentences.groups:
        rows = [[Phrase(row.place, "faint"), row.mentions] for group in sentences.examples for row in group]
        some = _some(len(sentences.examples), sentences.groups)
        note = f"{wording.plural(sentences.groups, 'group')} of equal sentences{some}."
        title, columns = cells.words("Equal sentences, annotated differently"), [Column(), Column()]
        yield Section("same-sentences", title, (Grid(columns, rows),), note, on=PAGE)
    if variation is not None and variation.places:
        rows = [
            [row.text, row.label, row.elsewhere, Phrase(row.place, "faint")] for row in variation.examples
        ]
        note = (
            f"{wording.plural(variation.places, 'place')} whose reading is not the most frequent one of the "
            f"same words between the same neighbours{_some(len(rows), variation.places)}. None of them is "
            "necessarily an error."
        )
        columns = [Column("words"), Column("here"), Column("elsewhere"), Column("where")]
        title = cells.words("The same words, read differently elsewhere")
        yield Section("variation", title, (Grid(columns, rows),), note, on=PAGE)


def _some(shown: int, of: int) -> str:
    return f"; {shown} are shown" if shown < of else ""
