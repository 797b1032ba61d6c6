"""Who differs how: each annotator beside the majority, as findings and tables."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from spanwise.corpus import line_of
from spanwise.document import given
from spanwise.document.agreement import (
    Agreement,
    AnnotatorDifferences,
    DisagreementExample,
    DisagreementMention,
)
from spanwise.views import Section, cells
from spanwise.views.cells import Cell, Clause, Paragraphs, count, words

TITLES = {
    "longer": "longer", "shorter": "shorter", "crossing": "crossing", "label": "other label",
    "label and boundary": "both", "missed": "missed", "extra": "extra",
}  # fmt: skip
AROUND = 60  # characters of context on each side of a mention
_LEAST = 5  # differences that make a finding
_MOST = 5  # findings that are shown


def sections(document: Agreement) -> list[Section]:
    """What each annotator does differently, and the differences that repeat; none if nobody differs."""
    rows = given(document.differences) or {}
    if not any(sum(row.kinds.values()) for row in rows.values()):
        return []
    found = tuple(findings(document))
    table = cells.table(
        ("annotator", *TITLES.values()),
        [(name, *(count(row.kinds.get(kind, 0)) for kind in TITLES)) for name, row in rows.items()],
    )
    note = "mentions that differ from the majority, or between two from the other"
    opening = (Paragraphs(found),) if found else ()
    shown = [Section("differences", words("Who differs how"), (*opening, table), note)]
    repeated: list[tuple[Cell, ...]] = [
        (name, TITLES.get(one.kind, one.kind), one.own or "–", one.majority or "–", count(one.count))
        for name, row in rows.items()
        for one in row.repeated
    ]
    if repeated:
        table = cells.table(("annotator", "kind", "own mention", "the majority's", "times"), repeated)
        note = "the same words more than once"
        shown.append(Section("repeated", words("Differences that repeat"), (table,), note))
    return shown


def findings(document: Agreement) -> list[Clause]:
    """The most frequent habits of annotators, one sentence each."""
    rows = given(document.differences) or {}
    habits = [habit for name, row in rows.items() for habit in _habits(name, row)]
    return [words for _, words in sorted(habits, key=lambda habit: -habit[0])[:_MOST]]


def _habits(name: str, row: AnnotatorDifferences) -> Iterator[tuple[int, Clause]]:
    """What an annotator does at least five times, and twice as often as the opposite, with its number."""
    kinds = row.kinds
    for kind, opposite, text in (
        ("longer", "shorter", "{} marks more: {} boundaries longer than the majority's."),
        ("shorter", "longer", "{} marks less: {} boundaries shorter than the majority's."),
        ("missed", "extra", "{} misses {} mentions that the majority marks."),
        ("extra", "missed", "{} marks {} mentions that the majority does not."),
    ):
        number = kinds.get(kind, 0)
        if number < _LEAST or number < 2 * kinds.get(opposite, 0):
            continue
        if kind == "longer" and 2 * row.joins >= number:
            text = "{} joins lists: {} boundaries longer than the majority's."
        yield number, words(text, name, f"{number:,}")
    for one in row.labels:
        if one.count >= _LEAST:
            text = "{} says {} where the majority says {}: {} mentions."
            yield one.count, words(text, name, one.own, one.majority, f"{one.count:,}")


def lines_of(example: DisagreementExample) -> list[DisagreementExample]:
    """The lines of a sentence on which annotators differ; a document may be one long sentence of many lines.

    A mention over several lines keeps them together. In long lines, the text is cut to 60 characters on
    either side of the mentions.
    """
    if len(example.text) != 1:
        return [example]  # a sentence of tokens
    text, every = example.text[0], len(example.annotators)
    disputed = [mention for mention in example.mentions if len(mention.annotators) < every]
    spans: list[tuple[int, int]] = []
    for mention in sorted(disputed, key=lambda mention: mention.start):
        begin = text.rfind("\n", 0, mention.start) + 1
        end = text.find("\n", max(mention.end - 1, 0))
        begin, end = (
            max(begin, mention.start - AROUND),
            min(len(text) if end < 0 else end, mention.end + AROUND),
        )
        if spans and begin <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((begin, end))
    return [_part(example, *span) for span in spans]


def _part(example: DisagreementExample, begin: int, end: int) -> DisagreementExample:
    """Some of the text of a sentence, with the mentions inside it; cuts within a line are marked by …."""
    text = example.text[0]
    before = "…" if begin and text[begin - 1] != "\n" else ""
    after = "…" if end < len(text) and text[end] != "\n" else ""
    shift = begin - len(before)
    inside = [mention for mention in example.mentions if begin <= mention.start and mention.end <= end]
    moved = [
        structs.replace(mention, start=mention.start - shift, end=mention.end - shift) for mention in inside
    ]
    return structs.replace(
        example,
        source=line_of(example.source, example.document, text, begin) or "",
        text=(before + text[begin:end] + after,),
        mentions=tuple(moved),
    )


def words_of(example: DisagreementExample, mention: DisagreementMention) -> str:
    """The words of a mention."""
    if len(example.text) == 1 and mention.end > 1:
        return example.text[0][mention.start : mention.end]
    return " ".join(example.text[mention.start : mention.end])
