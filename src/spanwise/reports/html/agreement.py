"""What the page of agreement shows: the matrix of pairs, and sentences side by side."""

from __future__ import annotations

from msgspec import Struct

from spanwise.document.dataset import Agreement, DisagreementExample
from spanwise.reports.html._marking import Piece, marked

KINDS = (
    ("LE", "same span, other label"),
    ("BE", "same label, other boundary"),
    ("LBE", "overlapping, other label"),
    ("alone", "marked by one alone"),
)


class SentenceSides(Struct, frozen=True):
    """A sentence as each annotator marked it."""

    document: str
    source: str
    rows: list[tuple[str, list[Piece]]]


def parts(document: Agreement) -> dict[str, object]:
    """Everything that the template asks for."""
    counts = document.disagreement
    alone = counts.get("FN", 0) + counts.get("FP", 0)
    return {
        "template": "agreement.html.jinja",
        "title": "agreement",
        "data": None,
        "matrix": _matrix(document),
        "kinds": [(title, alone if kind == "alone" else counts.get(kind, 0)) for kind, title in KINDS],
        "sides": [_sides(example) for example in document.sentences],
        "decimal": _decimal,
    }


def _decimal(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def _matrix(document: Agreement) -> list[list[float | None]]:
    """F1 of every pair, annotators as rows and columns in their order; None on the diagonal."""
    names = document.annotators
    place = {name: number for number, name in enumerate(names)}
    table: list[list[float | None]] = [[None] * len(names) for _ in names]
    for pair in document.pairs:
        first, second = (place[name] for name in pair.annotators)
        table[first][second] = table[second][first] = pair.overall.f1
    return table


def _sides(example: DisagreementExample) -> SentenceSides:
    rows = [
        (who, marked(example.text, [mention for mention in example.mentions if who in mention.annotators]))
        for who in example.annotators
    ]
    return SentenceSides(example.document, example.source, rows)
