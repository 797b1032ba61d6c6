"""Template values of pages without charts: description, split, agreement, suspects, slices, answers."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import asdict

from spanwise.document.analyses import (
    Leftover,
    PlacedAnswer,
    PlacementDocument,
    Score,
)
from spanwise.document.evaluation import Evaluation
from spanwise.views import answers

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
