"""Template values of pages without charts: description, split, agreement, suspects, slices, answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import asdict

from spanwise.document import Interval
from spanwise.document.agreement import Agreement, DisagreementExample
from spanwise.document.analyses import (
    Leftover,
    PlacedAnswer,
    PlacementDocument,
    Score,
)
from spanwise.document.dataset import DatasetFacts, DescribedBucket, Description, Suspect, Suspects
from spanwise.document.evaluation import Evaluation
from spanwise.reports.html.views import cards_of
from spanwise.views import answers, differing, judging
from spanwise.views import wording as words

# ---- a sentence cut into plain and marked pieces ---------------------------------------------------


MarkedPiece: TypeAlias = tuple[str, str]  # a text and the label of its mention, "" outside mentions


class LabeledSpan(Protocol):
    """Anything with positions and a label."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def label(self) -> str: ...


def marked(text: Sequence[str], mentions: Sequence[LabeledSpan]) -> list[MarkedPiece]:
    """Cut tokens, or the characters of a single text, into pieces with and without a label.

    Of overlapping mentions, the first and longest is shown.

    Examples:
        >>> from spanwise.document.dataset import SuspectMention
        >>> marked(["in", "New", "York"], [SuspectMention(start=1, end=3, label="LOC")])
        [('in', ''), ('New York', 'LOC')]
    """
    by_characters = len(text) == 1 and any(mention.end > 1 for mention in mentions)
    units: Sequence[str] = text[0] if by_characters else text
    join = "" if by_characters else " "
    pieces: list[MarkedPiece] = []
    position = 0
    for mention in sorted(mentions, key=lambda mention: (mention.start, -mention.end, mention.label)):
        if mention.start < position:
            continue
        if mention.start > position:
            pieces.append((join.join(units[position : mention.start]), ""))
        pieces.append((join.join(units[mention.start : mention.end]), mention.label))
        position = mention.end
    if position < len(units):
        pieces.append((join.join(units[position:]), ""))
    return pieces


# ---- description -----------------------------------------------------------------------------------


Remark = tuple[str, str, str, str]  # sign, emphasised text, the rest, and link target


def description_parts(document: Description) -> dict[str, object]:
    """The values that the template of a description needs."""
    return {
        "template": "description.html.jinja",
        "data": None,
        "title": words.visible(document.dataset.name),
        "facts": document.dataset,
        "remarks": remarks(document.dataset),
        "contents_of": contents_of,
    }


def remarks(facts: DatasetFacts) -> list[Remark]:
    """What to know about the data before running a system on it."""
    remarks: list[Remark] = []
    unseen = None if not facts.tough else facts.tough.get("UNSEEN-ANY")
    if unseen is not None:
        share = words.percent(unseen.overall.share)
        rest = "they were not seen in training with their label."
        if facts.drift is not None and (pair := facts.drift.tough.get("UNSEEN-ANY")) is not None:
            within = words.percent(pair.train)
            rest = (
                f"they were not seen in training with their label; within the training data it is {within}."
            )
        remarks.append(("dot", f"{share} of the mentions are new:", rest, "#tough"))
    if facts.duplicates_with_train:
        number = words.plural(facts.duplicates_with_train, "test sentence")
        verb = "is" if facts.duplicates_with_train == 1 else "are"
        remarks.append(("check", f"{number} {verb} also in training:", "scores there say little.", "#method"))
    if facts.conflicts is not None and facts.conflicts.sentences.groups:
        number = words.plural(facts.conflicts.sentences.groups, "group")
        remarks.append(
            ("check", f"{number} of equal sentences:", "they are annotated differently.", "#conflicts")
        )
    if facts.conflicts is not None and facts.conflicts.labels.sequences:
        number = words.plural(facts.conflicts.labels.sequences, "token sequence")
        remarks.append(("dot", f"{number} with several labels:", "some may be mistakes.", "#conflicts"))
    return remarks


def contents_of(bucket: DescribedBucket) -> str:
    """What a bucket holds, in words; empty if that is just its name."""
    text = words.bucket(bucket)
    return "" if text == bucket.name else text


# ---- agreement -------------------------------------------------------------------------------------


DISAGREEMENTS = (
    ("LE", "same span, other label"),
    ("BE", "same label, other boundary"),
    ("LBE", "overlapping, other label"),
    ("alone", "marked by only one"),
)


_MOST_LINES = 10  # of one long sentence


class SentenceSides(Struct, frozen=True):
    """A sentence as each annotator marked it."""

    document: str
    source: str
    rows: list[tuple[str, list[MarkedPiece]]]


def agreement_parts(document: Agreement) -> dict[str, object]:
    """The values that the template of an agreement needs."""
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
        "cards": cards_of(differing.sections(document), {}, ()),
        "sides": [
            _sides(line)
            for example in document.sentences
            for line in differing.lines_of(example)[:_MOST_LINES]
        ],
        "decimal": _decimal,
        "decimals": _decimals,
        "bound": judging.bound,
        "level_sentences": judging.level_sentences(document),
        "these_annotators": judging.THESE_ANNOTATORS,
    }


def _decimal(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def _decimals(ends: Interval | None) -> str:
    return "" if ends is None else f" ({_decimal(ends[0])} to {_decimal(ends[1])})"


def _matrix(document: Agreement) -> list[list[tuple[float | None, Interval | None]]]:
    """F1 of every pair of annotators and its interval, as rows and columns; nothing on the diagonal."""
    names = document.annotators
    position = {name: index for index, name in enumerate(names)}
    table: list[list[tuple[float | None, Interval | None]]] = [[(None, None)] * len(names) for _ in names]
    for pair in document.pairs:
        first, second = (position[name] for name in pair.annotators)
        table[first][second] = table[second][first] = pair.overall.f1, judging.bound(pair.interval, "f1")
    return table


def _sides(example: DisagreementExample) -> SentenceSides:
    rows = [
        (who, marked(example.text, [mention for mention in example.mentions if who in mention.annotators]))
        for who in example.annotators
    ]
    return SentenceSides(example.document, example.source, rows)


# ---- suspects --------------------------------------------------------------------------------------


def suspects_parts(document: Suspects) -> dict[str, object]:
    """The values that the template of suspects needs."""
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


def readings(suspect: Suspect) -> dict[str, list[MarkedPiece]]:
    """The sentence with its gold and its proposed mention; empty if the text was left out."""
    if not suspect.tokens:
        return {"gold": [], "proposal": []}
    return {
        "gold": marked(suspect.tokens, [suspect.gold] if suspect.gold else []),
        "proposal": marked(suspect.tokens, [suspect.proposal] if suspect.proposal else []),
    }


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


class ListedAnswer(Struct, frozen=True):
    """An answer to look at: its kind, its text, where it is from, and why it is listed."""

    kind: str
    unit: int
    text: str
    label: str
    why: str
    sentence: str
    id: str | None
    source: str


class AnswersPanel(Struct, frozen=True):
    """The tables of one file of answers: scores by policy, and the answers to look at, by kind."""

    policies: list[tuple[str, str, Score, float | None, bool]]  # name, summary, score, ceiling, has a ceiling
    strings: list[tuple[str, Score]]
    kinds: list[tuple[str, str, int]]
    rows: list[ListedAnswer]
    whole: int


def placement_parts(document: PlacementDocument) -> dict[str, object]:
    """The values that the template of placed answers needs."""
    return {
        "template": "placement.html.jinja",
        "title": "answers",
        "data": None,
        "panel": panel(document),
        "costs": cost_parts(document),
    }


class CostParts(Struct, frozen=True):
    """What the answers cost: its title, what it says, a row per system, and the charts."""

    title: str
    about: str
    rows: Sequence[answers.CostRow]
    charts: Sequence[Markup]


def cost_parts(document: Evaluation | PlacementDocument) -> CostParts | None:
    """What the template of the cost of answers needs; None if no log says it."""
    rows = answers.costs(document)
    if not rows:
        return None
    from spanwise.reports._charts import PAGE, Style
    from spanwise.reports._charts.evaluation import cost_drawings
    from spanwise.reports._charts.svg import svg

    drawn = svg(cost_drawings(document, Style(PAGE))) if len(rows) > 1 else {}
    return CostParts(answers.TITLE, answers.ABOUT, rows, [Markup(text) for text in drawn.values()])


def panel(document: PlacementDocument) -> AnswersPanel:
    """The tables that the page shows for one file of answers."""
    counts = document.answers
    whole = {
        "failed": document.units.failed,
        "repaired": document.units.repaired,
        "hallucinated": counts.hallucinated,
        "ambiguous": counts.ambiguous,
        "inexact": sum(number for level, number in asdict(counts.levels).items() if level != "exact"),
        "repeat": counts.repeats,
    }
    rows = [
        *(_listed(answer, answer.kind, answer.why) for answer in document.unplaced),
        *(_listed(answer, "ambiguous", _candidates(answer)) for answer in document.ambiguous),
        *(_listed(answer, "inexact", _spelling(answer)) for answer in document.inexact),
    ]
    order = list(LEFTOVERS)
    rows.sort(key=lambda row: (order.index(row.kind), row.unit))
    policies: dict[str, Score] = asdict(document.policies)
    ceilings: dict[str, float | None] = asdict(document.ceilings)
    strings = {"as written": document.strings, **document.normalised}
    return AnswersPanel(
        policies=[
            (name, what, policies[name], ceilings.get(name), name in ceilings)
            for name, what in POLICIES.items()
        ],
        strings=[
            (f"{name}, {how}s", score)
            for name, scored in strings.items()
            for how, score in (("set", scored.set), ("multiset", scored.multiset))
        ],
        kinds=[(kind, title, whole[kind]) for kind, title in LEFTOVERS.items() if whole[kind]],
        rows=rows,
        whole=sum(whole.values()),
    )


def _listed(answer: Leftover | PlacedAnswer, kind: str, why: str) -> ListedAnswer:
    return ListedAnswer(
        kind, answer.unit, answer.text, answer.label, why, answer.sentence, answer.id, answer.source
    )


def _candidates(answer: PlacedAnswer) -> str:
    """How many candidates an ambiguous answer has, and where it was placed."""
    verdict = {True: ", right", False: ", not gold", None: ""}[answer.right]
    where = f"; placed at token {answer.start}{verdict}" if answer.start is not None else ""
    return f"{answer.candidates} candidates at level {answer.level}{where}"


def _spelling(answer: PlacedAnswer) -> str:
    """How the text spells an answer that does not match it exactly."""
    return f"{answer.level}: the text says “{answer.surface}”" if answer.surface else answer.level
