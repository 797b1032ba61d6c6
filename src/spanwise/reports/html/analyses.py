"""What the pages without charts show: description, split, agreement, suspects, slices, placed answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import UNSET, Struct

from spanwise.document.analyses import DifferentSlice, PlacementDocument, SearchedSlice, Slices
from spanwise.document.dataset import (
    Agreement,
    DatasetFacts,
    DescribedBucket,
    Description,
    DisagreementExample,
    Split,
    Suspect,
    Suspects,
)
from spanwise.reports import _wording as words

# ---- a sentence cut into plain and marked pieces ---------------------------------------------------


Piece: TypeAlias = tuple[str, str]  # text, and the label of the mention it is, "" outside


class LabeledSpan(Protocol):
    """A mention by its positions and its label."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def label(self) -> str: ...


def marked(text: Sequence[str], mentions: Sequence[LabeledSpan]) -> list[Piece]:
    """Pieces of tokens, or of one text by characters; of overlapping mentions the first and longest is shown.

    Examples:
        >>> from spanwise.document.dataset import SuspectMention
        >>> marked(["in", "New", "York"], [SuspectMention(start=1, end=3, label="LOC")])
        [('in', ''), ('New York', 'LOC')]
    """
    by_characters = len(text) == 1 and any(mention.end > 1 for mention in mentions)
    units: Sequence[str] = text[0] if by_characters else text
    join = "" if by_characters else " "
    pieces: list[Piece] = []
    at = 0
    for mention in sorted(mentions, key=lambda mention: (mention.start, -mention.end, mention.label)):
        if mention.start < at:
            continue
        if mention.start > at:
            pieces.append((join.join(units[at : mention.start]), ""))
        pieces.append((join.join(units[mention.start : mention.end]), mention.label))
        at = mention.end
    if at < len(units):
        pieces.append((join.join(units[at:]), ""))
    return pieces


# ---- description -----------------------------------------------------------------------------------


Remark = tuple[str, str, str, str]  # the sign, what stands out, the rest, and where it leads


def description_parts(document: Description) -> dict[str, object]:
    """Everything that the template of a description asks for."""
    return {
        "template": "description.html.jinja",
        "data": None,
        "title": words.visible(document.dataset.name),
        "facts": document.dataset,
        "remarks": remarks(document.dataset),
        "held": held,
    }


def remarks(facts: DatasetFacts) -> list[Remark]:
    """What a reader of the data should know before a system is run."""
    found: list[Remark] = []
    unseen = None if not facts.tough else facts.tough.get("UNSEEN-ANY")
    if unseen is not None:
        share = words.percent(unseen.overall.share)
        rest = "training did not show them with their label."
        found.append(("dot", f"{share} of the mentions are new:", rest, "#tough"))
    if facts.duplicates_with_train:
        number = words.plural(facts.duplicates_with_train, "test sentence")
        verb = "is" if facts.duplicates_with_train == 1 else "are"
        found.append(("check", f"{number} {verb} also in training:", "scores there say little.", "#method"))
    if facts.conflicts is not None and facts.conflicts.sentences.groups:
        number = words.plural(facts.conflicts.sentences.groups, "group")
        found.append(
            ("check", f"{number} of equal sentences:", "they are annotated differently.", "#conflicts")
        )
    if facts.conflicts is not None and facts.conflicts.labels.sequences:
        number = words.plural(facts.conflicts.labels.sequences, "token sequence")
        found.append(("dot", f"{number} with several labels:", "some may be mistakes.", "#conflicts"))
    return found


def held(bucket: DescribedBucket) -> str:
    """What a bucket holds, in words, where that is more than its name."""
    text = words.bucket(bucket)
    return "" if text == bucket.name else text


# ---- split -----------------------------------------------------------------------------------------


def split_parts(document: Split) -> dict[str, object]:
    """Everything that the template asks for."""
    return {"template": "split.html.jinja", "title": "split", "data": None, "split": document}


# ---- agreement -------------------------------------------------------------------------------------


DISAGREEMENTS = (
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


def agreement_parts(document: Agreement) -> dict[str, object]:
    """Everything that the template asks for."""
    counts = document.disagreement
    alone = counts.get("FN", 0) + counts.get("FP", 0)
    return {
        "template": "agreement.html.jinja",
        "title": "agreement",
        "data": None,
        "matrix": _matrix(document),
        "kinds": [
            (title, alone if kind == "alone" else counts.get(kind, 0)) for kind, title in DISAGREEMENTS
        ],
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


# ---- suspects --------------------------------------------------------------------------------------


def suspects_parts(document: Suspects) -> dict[str, object]:
    """Everything that the template asks for."""
    effects = {name: {effect.k: effect.f1 for effect in row} for name, row in document.effects.items()}
    steps = sorted({k for row in effects.values() for k in row})
    return {
        "template": "suspects.html.jinja",
        "title": "suspects",
        "data": None,
        "steps": steps,
        "effects": effects,
        "readings": [readings(suspect) for suspect in document.suspects],
    }


def readings(suspect: Suspect) -> dict[str, list[Piece]]:
    """The sentence as gold has it and as it is proposed; nothing where the text is left out."""
    if not suspect.tokens:
        return {"gold": [], "proposal": []}
    return {
        "gold": marked(suspect.tokens, [suspect.gold] if suspect.gold else []),
        "proposal": marked(suspect.tokens, [suspect.proposal] if suspect.proposal else []),
    }


# ---- slices ----------------------------------------------------------------------------------------


def slices_parts(document: Slices) -> dict[str, object]:
    """Everything that the template asks for."""
    return {
        "template": "slices.html.jinja",
        "title": "slices",
        "data": None,
        "score": "recall" if document.over == "recall" else "F1",
        "conditions": conditions,
    }


def conditions(row: SearchedSlice | DifferentSlice) -> str:
    """The conditions of a slice in words."""
    return " & ".join(
        f"{words.attribute(condition.attribute)} "
        + words.visible(condition.value if condition.label is UNSET else condition.label)
        for condition in row.conditions
    )


# ---- placed answers, also as a panel on the page of an evaluation ----------------------------------


POLICIES = {
    "first": "the first candidate",
    "all": "every candidate",
    "next": "the next candidate that is free",
    "ordered": "most tokens in output order, then next",
    "worst": "bound: fewest on gold",
    "best": "bound: most on gold",
}
LEFTOVERS = {
    "failed": "could not be read",
    "repaired": "repaired",
    "hallucinated": "hallucinated",
    "ambiguous": "ambiguous",
    "inexact": "not spelled alike",
    "repeat": "repeats",
}


def placement_parts(document: PlacementDocument) -> dict[str, object]:
    """Everything that the template asks for."""
    placed = document.to_dict()
    return {
        "document": placed,
        "template": "placement.html.jinja",
        "title": "answers",
        "data": None,
        "panel": panel(placed),
    }


def panel(document: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of one file of answers: scores by policy, and the answers to look at, by kind."""
    counts = document["answers"]
    whole = {
        "failed": document["units"]["failed"],
        "repaired": document["units"]["repaired"],
        "hallucinated": counts["hallucinated"],
        "ambiguous": counts["ambiguous"],
        "inexact": sum(number for level, number in counts["levels"].items() if level != "exact"),
        "repeat": counts["repeats"],
    }
    rows = [
        *({**one, "kind": one["kind"]} for one in document["unplaced"]),
        *({**one, "kind": "ambiguous"} for one in document["ambiguous"]),
        *({**one, "kind": "inexact"} for one in document["inexact"]),
    ]
    order = list(LEFTOVERS)
    rows.sort(key=lambda one: (order.index(one["kind"]), one["unit"]))
    return {
        "policies": [
            (name, what, document["policies"][name], document["ceilings"].get(name, ""))
            for name, what in POLICIES.items()
        ],
        "strings": [
            (f"{name}, {how}s", both[how])
            for name, both in {"as written": document["strings"], **document["normalised"]}.items()
            for how in ("set", "multiset")
        ],
        "kinds": [(kind, title, whole[kind]) for kind, title in LEFTOVERS.items() if whole[kind]],
        "rows": [{**one, "why": _why(one)} for one in rows],
        "shown": len(rows),
        "whole": sum(whole.values()),
    }


def _why(row: Mapping[str, Any]) -> str:
    """What there is to say of one answer beside its text."""
    if row["kind"] == "ambiguous":
        told = {True: ", right", False: ", not gold", None: ""}[row["right"]]
        where = f"; placed at token {row['start']}{told}" if row["start"] is not None else ""
        return f"{row['candidates']} candidates at level {row['level']}{where}"
    if row["kind"] == "inexact":
        return f"{row['level']}: the text says “{row['surface']}”" if row["surface"] else row["level"]
    return str(row["why"])
