"""The view of changes: whether F1 changed, what broke and what was fixed, and sentences of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from spanwise.document import given
from spanwise.document.changes import WAYS, ChangeCounts, ChangedSentence, ChangedSpan, Changes, SystemChanges
from spanwise.document.scores import ScoreTest
from spanwise.views import EVERYWHERE, PAGE, SCREEN, SHOWN, Section, View, cells, wording
from spanwise.views.cells import Cell, Clause, Column, Grid, Paragraphs
from spanwise.views.sentences import corrected, sentence_p

ABOUT = (
    "Broken: a gold mention that was right and is not any more; fixed: the reverse. New and gone: wrong "
    "predictions. Counts describe the difference and are not tested; p of labels is corrected for all labels "
    "and scores, intervals are not."
)
TITLES = {
    "broken": "What broke",
    "fixed": "What was fixed",
    "new": "New errors",
    "gone": "Errors gone",
}
MOST = 12  # buckets on a screen
MOST_LABELS = 4  # in a sentence


def changes_view(document: Changes) -> View:
    """The verdict of each system, then its labels, kinds of error, buckets and sentences."""
    named = document.systems.items()
    verdict = cells.joined([cells.words(f"{{}} {_difference(document, own)}.", name) for name, own in named])
    several = len(document.systems) > 1
    counts = tuple(
        cells.words(f"{{}}: {said}", name) if several else cells.words(said)
        for name, own in named
        for said in (_by_label(own), _counts(own))
        if said
    )
    answer = Paragraphs((verdict, *counts))
    sections = [Section("answer", cells.words(""), (answer,), on=SCREEN)]
    for at, name in enumerate(document.systems):
        sections += _of_system(document, name, at)
    return View(
        title="changes",
        about=cells.words("what changed since the earlier result"),
        verdict=verdict,
        statements=counts,
        sections=tuple(sections),
        notes=document.notes,
        inputs=document.inputs,
        systems=tuple(document.systems),
    )


def _difference(document: Changes, own: SystemChanges) -> str:
    test = own.difference
    if not test or test.difference is None:
        return "has no F1 in one of the results"
    if _is_same(own):
        return "gives the same predictions as before"
    size = f"{wording.points(abs(test.difference))} F1"
    if test.p is None:
        way = "more" if test.difference >= 0 else "less"
        return f"has {size} {way} than before, which was not tested"
    units = wording.plural(test.units or document.settings.units, document.settings.unit)
    how = "t-test over runs and" if min(own.runs) > 1 else "paired randomisation over"
    number = sum(map(_is_tested, document.systems.values()))
    correction = corrected(document.settings.correction, number, of="tests")
    p = ", ".join(filter(None, [f"{how} {units}", correction, f"p {sentence_p(test.p_corrected)}"]))
    p += "; the interval is not corrected" if correction else ""
    within = f"[{wording.signed_interval(test.interval)}]"
    if not test.significant:
        return f"cannot be told apart from before: {wording.signed(test.difference)} F1 {within} ({p})"
    return f"is {'better' if test.difference > 0 else 'worse'} by {size} {within} ({p})"


def _by_label(own: SystemChanges) -> str:
    """The labels whose F1 changed significantly, the largest change first; empty if there is none."""
    if len(own.labels) < 2:
        return ""
    tests = {label: given(counts.difference) for label, counts in own.labels.items()}
    changed = {
        label: test.difference
        for label, test in tests.items()
        if test is not None and test.significant and test.difference
    }
    ranked = sorted(changed, key=lambda label: -abs(changed[label]))[:MOST_LABELS]
    named = {label: f"{wording.visible(label)} ({wording.signed(changed[label])})" for label in ranked}
    ways = {
        "worse": [named[label] for label in ranked if changed[label] < 0],
        "better": [named[label] for label in ranked if changed[label] > 0],
    }
    parts = [f"{way} on {wording.either(labels, 'and')}" for way, labels in ways.items() if labels]
    more = f"; {len(changed) - len(ranked)} more labels changed" if len(changed) > len(ranked) else ""
    sentence = f"By label, F1 is {', '.join(parts)}{more}." if parts else ""
    return sentence.replace("{", "{{").replace("}", "}}")


def _is_same(own: SystemChanges) -> bool:
    """Whether the predictions are the same as before."""
    return own.runs == (1, 1) and (own.broken, own.fixed, own.new, own.gone) == (0, 0, 0, 0)


def _is_tested(own: SystemChanges) -> bool:
    """Whether a system is in the family of tests, which those with the same predictions are not."""
    return own.difference is not UNSET and own.difference.p is not None and not _is_same(own)


def _counts(own: SystemChanges) -> str:
    """How many mentions broke and were fixed, and the label that most of the larger group have."""
    broken, fixed = own.broken or 0, own.fixed or 0
    if not broken and not fixed:
        return "No mention broke and none was fixed."
    way = "broken" if broken >= fixed else "fixed"
    most = ""
    if len(own.labels) > 1:
        numbers = {label: getattr(counts, way) or 0 for label, counts in own.labels.items()}
        label = max(numbers, key=numbers.__getitem__)
        most = f"; {wording.count(numbers[label])} of the {way} are {wording.visible(label)}"
    were = "was" if fixed == 1 else "were"
    sentence = f"{wording.plural(broken, 'mention')} broke, {wording.count(fixed)} {were} fixed{most}."
    return sentence.replace("{", "{{").replace("}", "}}")


def _of_system(document: Changes, name: str, at: int) -> Iterator[Section]:
    own = document.systems[name]
    labels = [_row("all labels", own, own.difference or None, sum(row.gold for row in own.labels.values()))]
    ranked = sorted(own.labels.items(), key=lambda row: -(row[1].broken or 0) - (row[1].fixed or 0))
    labels += [_row(label, row, row.difference or None, row.gold) for label, row in ranked]
    columns = [
        Column("", least=10), Column("gold", right=True, rank=3),
        Column("before", right=True, rank=2), Column("now", right=True, rank=2),
        Column("change", right=True), Column("interval", right=True, rank=1), Column("p", right=True),
        *(Column(way, right=True, rank=0 if way in ("broken", "fixed") else 4) for way in WAYS),
    ]  # fmt: skip
    yield Section(
        _named("labels", at),
        cells.words("{} by label", name),
        (Grid(columns, labels), cells.note(ABOUT, "faint")),
        "F1 and mentions",
        caption=f"What changed by label. {ABOUT}",
    )
    if own.kinds:
        rows = [[wording.OUTCOMES[kind], *_four(counts)] for kind, counts in own.kinds.items()]
        note = "what broken mentions are now, and what fixed ones were"
        yield _table(
            _named("kinds", at), cells.words("{} by kind of error", name), ["kind", *WAYS], rows, note
        )
    buckets: list[list[Cell]] = [
        [wording.attribute(attribute), f"{bucket} {counts.label}".rstrip(), *_four(counts)]
        for attribute, of in own.buckets.items()
        for bucket, counts in of.items()
        if any(getattr(counts, way) for way in WAYS)
    ]
    if buckets:
        title = cells.words("{} by bucket", name)
        yield _table(_named("buckets", at), title, ["attribute", "bucket", *WAYS], buckets, "")
    for way, heading in TITLES.items():
        chosen = [row for row in document.sentences if row.system == name and row.change == way]
        if chosen:
            number = getattr(own, way)
            yield _sentences(_named(way, at), cells.words(f"{heading}: {{}}", name), chosen, number)


def _named(table: str, at: int) -> str:
    return f"{table}-{at + 1}" if at else table


def _row(title: str, counts: ChangeCounts, test: ScoreTest | None, gold: int) -> list[Cell]:
    return [
        title,
        cells.count(gold),
        cells.points(given(test.b) if test else None),
        cells.points(given(test.a) if test else None),
        cells.signed(test.difference if test else None, "strong" if test and test.significant else ""),
        cells.interval(test.interval if test else None, differs=True),
        cells.p_value(test.p_corrected if test else None),
        *_four(counts),
    ]


def _four(counts: ChangeCounts) -> list[Cell]:
    return [cells.count(getattr(counts, way)) for way in WAYS]


def _table(
    name: str, title: Clause, titles: Sequence[str], rows: Sequence[Sequence[Cell]], note: str
) -> Section:
    texts = len(titles) - len(WAYS)
    columns = [Column(words, right=at >= texts) for at, words in enumerate(titles)]
    grid = Grid(columns, rows, most=MOST, noun="rows")
    return Section(name, title, (grid,), note, caption=f"{title}. {ABOUT}", on=EVERYWHERE)


def _sentences(name: str, title: Clause, rows: Sequence[ChangedSentence], number: int | None) -> Section:
    """Each sentence with the mention in brackets, and what gold and the system say of it."""
    texts = [_read(row) for row in rows]
    shown = wording.count(len(rows))
    note = f"{shown} of {wording.count(number)}, the label with most first"
    on = SHOWN if rows[0].change in ("broken", "fixed") else PAGE
    return Section(name, title, (Paragraphs(tuple(texts)),), note, on=on)


def _read(row: ChangedSentence) -> Clause:
    source = wording.base_name(row.source or row.id)
    gold = "nothing" if row.gold is None else _span(row.gold, row)
    predicted = "missed" if row.predicted is None else _span(row.predicted, row)
    quoted = f"{row.before}[{row.mention}]{row.after}"
    was = "then" if row.change in ("fixed", "gone") else "now"
    kind = wording.OUTCOMES[row.outcome]
    return cells.words(
        f"{{}}  {{}} · gold {{}}, {was} {{}}" + ("" if row.predicted is None else f" ({kind})"),
        source, quoted, gold, predicted,
    )  # fmt: skip


def _span(span: ChangedSpan, row: ChangedSentence) -> str:
    """The label, and the words if they are not those in brackets."""
    return span.label if span.text == row.mention else f"{span.label} “{span.text}”"
