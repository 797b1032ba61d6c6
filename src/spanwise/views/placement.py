"""The view of placed answers: how they were read, their scores by every rule, and answers to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec.structs import asdict

from spanwise.document.analyses import AnswerCase, Leftover, PlacedAnswer, PlacementDocument, Score
from spanwise.views import PAGE, PAPER, SCREEN, SHOWN, Section, View, cells, scores, wording
from spanwise.views.cells import (
    Block,
    Cell,
    Column,
    Flow,
    Grid,
    Paragraphs,
    Phrase,
    PromptQuote,
    QuotePiece,
    ShareBar,
    count,
    points,
    words,
)

MOST_LEFT = 8  # on a screen
MOST_CASES = 100  # units with an error in a document
MOST_UNKNOWN = 6  # labels that are named
POLICIES = {
    "first": "the first candidate",
    "all": "every candidate",
    "next": "the next candidate that is free",
    "ordered": "most tokens in output order, then next",
    "worst": "bound: fewest on gold",
    "best": "bound: most on gold",
}
KINDS = ("failed", "repaired", "hallucinated", "ambiguous", "inexact", "repeat")


def placement_view(document: PlacementDocument) -> View:
    """The F1 of the chosen rule, and the sections of placed answers."""
    low, high = document.spread
    rule = "as" if document.settings.rule else "by policy"
    strings = " scores strings" if document.settings.rule else ""
    spread = (
        "" if low is None else f"; {wording.points(low)} to {wording.points(high)}, depending on the rule"
    )
    settings = document.settings
    fuzzy = f" ({settings.threshold})" if settings.level == "fuzzy" else ""
    about = (
        f"{wording.plural(document.answers.given, 'answer')} without positions, one list per "
        f"{settings.prompt_unit}, placed by policy {settings.policy} up to level {settings.level}{fuzzy}"
    )
    return View(
        title="answers",
        about=cells.literal(about),
        verdict=cells.literal(
            f"F1 {wording.points(document.score.f1)} {rule} {document.chosen}{strings}{spread}."
        ),
        sections=tuple(placement_sections(document)),
        inputs=document.inputs,
        tables=("policies", "costs"),
    )


def placement_sections(document: PlacementDocument) -> list[Section]:
    """All sections: units, answers, policies, strings and leftovers."""
    sections = [
        _answers(document),
        scores.costs(document),
        _policies(document),
        _strings(document),
        _not_found(document),
        _to_look_at(document),
        _cases(document),
    ]
    return [section for section in sections if section is not None]


def _answers(document: PlacementDocument) -> Section:
    units, answers, kind = asdict(document.units), document.answers, document.settings.prompt_unit
    given = {
        name: getattr(answers, name) for name in ("given", "placed", "hallucinated", "repeats", "ambiguous")
    }
    rows = [(f"{kind}s", units), ("answers", given), ("found at level", asdict(answers.levels))]
    if answers.positions:
        aligned = {name.replace("_", " "): number for name, number in answers.alignments.items()}
        rows.append(("by position", {"placed": answers.positions, **aligned}))
    blocks: list[Block] = [
        Flow(
            [
                [Phrase(f"{title}:")],
                *([Phrase(f"{name} ", "faint"), Phrase(f"{n:,}", "strong")] for name, n in numbers.items()),
            ],
            join="  ",
        )
        for title, numbers in rows
    ]
    unknown = list(document.labels.unknown.items())[:MOST_UNKNOWN]
    if unknown:
        listed = ", ".join(f"{{}} {number:,}" for _, number in unknown)
        named = words(f"Labels that gold does not have: {listed}.", *(name for name, _ in unknown))
        blocks.append(Paragraphs((named,)))
    blocks += [cells.note(trouble) for trouble in document.troubles]
    if document.readable.gold != document.score.gold:
        blocks.append(
            cells.note(f"Over units that could be read, F1 is {wording.points(document.readable.f1)}.")
        )
    return Section(
        "answers", words("Answers"), tuple(blocks), wording.plural(sum(units.values()), kind), on=SHOWN
    )


def _numbers(score: Score, style: str = "strong") -> list[Cell]:
    return [
        count(score.predicted), count(score.correct), points(score.precision), points(score.recall),
        points(score.f1, style),
    ]  # fmt: skip


def _score_columns() -> list[Column]:
    return [
        Column("predicted", right=True, rank=1), Column("correct", right=True, rank=1),
        Column("P", right=True), Column("R", right=True), Column("F1", right=True),
    ]  # fmt: skip


def _policies(document: PlacementDocument) -> Section:
    """The scores of the same answers under every policy; in papers, also under all other rules."""
    ceilings: dict[str, float | None] = asdict(document.ceilings)
    policies: dict[str, Score] = {name: getattr(document.policies, name) for name in POLICIES}
    rows: list[list[Cell]] = []
    for name, score in policies.items():
        chosen = name == document.chosen
        rows.append(
            [
                Phrase(name, "strong" if chosen else ""), Phrase(POLICIES[name], "faint"),
                *_numbers(score, "score" if chosen else "strong"),
                points(ceilings[name]) if name in ceilings else "", ShareBar(score.f1 or 0.0),
            ]
        )  # fmt: skip
    columns = [
        Column("policy", least=8), Column("each answer takes", least=12, rank=2), *_score_columns(),
        Column("ceiling", right=True, rank=1), Column(least=8, most=30, rank=3),
    ]  # fmt: skip
    blocks: list[Block] = [Grid(columns, rows, on=SHOWN), _all_rules(document, ceilings)]
    low, high = document.spread
    if low is not None and high is not None:
        said = (
            f"F1 lies between {wording.points(low)} and {wording.points(high)}, depending only on the rule."
        )
        blocks.append(cells.note(said))
    if document.settings.rule is not None:
        said = (
            f"{document.chosen} compares strings: its F1 is {wording.points(document.score.f1)}, below. "
            f"Answers are counted as placed, hallucinated or repeated by {document.settings.policy}."
        )
        blocks.append(cells.note(said))
    caption = "The same answers by every rule. Ceiling: F1 with the gold mentions themselves as answers."
    note = "ceiling: F1 with gold as answers"
    return Section("policies", words("Policies"), tuple(blocks), note, caption)


def _all_rules(document: PlacementDocument, ceilings: dict[str, float | None]) -> Grid:
    named: dict[str, Score] = {
        name: getattr(document.policies, name) for name in document.policies.__struct_fields__
    }
    named |= {"sets of strings": document.strings.set, "multisets of strings": document.strings.multiset}
    named |= {f"as {name}": score for name, score in document.presets.items()}
    rows = [[name, *_numbers(score, ""), points(ceilings.get(name))] for name, score in named.items()]
    return cells.table(("rule", "predicted", "right", "P", "R", "F1", "ceiling"), rows, PAPER)


def _strings(document: PlacementDocument) -> Section:
    rows: list[list[Cell]] = [
        [f"{name}, {how}s", *_numbers(getattr(strings, how))]
        for name, strings in {"as-written": document.strings, **document.normalised}.items()
        for how in ("set", "multiset")
    ]
    for name, score in document.presets.items():
        chosen = name == document.chosen
        title = Phrase(f"as {name} does", "strong" if chosen else "")
        rows.append([title, *_numbers(score, "score" if chosen else "strong")])
    columns = [Column("texts and labels", least=16), *_score_columns()]
    return Section("strings", words("Without positions, and as others do"), (Grid(columns, rows),), on=SHOWN)


# ---- answers to look at ----------------------------------------------------------------------------


def _not_found(document: PlacementDocument) -> Section | None:
    """The answers that are not in the text; a page lists them among all others to look at."""
    rows: list[list[Cell]] = [
        [one.kind, Phrase(one.text or one.why, "strong"), one.label, Phrase(one.source, "faint")]
        for one in document.unplaced
        if one.kind in ("hallucinated", "failed")
    ]
    columns = [Column(), Column("text", least=16), Column("label"), Column("where", least=12, rank=1)]
    title, note = words("Answers not found in the text"), "all of them: --report FILE"
    return Section("left", title, (Grid(columns, rows, MOST_LEFT),), note, on=SCREEN) if rows else None


def _to_look_at(document: PlacementDocument) -> Section | None:
    listed: list[tuple[str, Leftover | PlacedAnswer, str]] = [
        *((one.kind, one, one.why) for one in document.unplaced),
        *(("ambiguous", one, _candidates(one)) for one in document.ambiguous),
        *(("inexact", one, _spelling(one)) for one in document.inexact),
    ]
    listed.sort(key=lambda row: (KINDS.index(row[0]), row[1].unit))
    if not listed:
        return None
    rows: list[list[Cell]] = [
        [
            kind, Phrase(one.text, "strong"), one.label, why, one.sentence,
            Phrase(one.id or wording.base_name(one.source), "faint"),
        ]
        for kind, one, why in listed
    ]  # fmt: skip
    titles = ("kind", "text", "label", "what happened", "sentence", "where")
    answers = document.answers
    whole = document.units.failed + document.units.repaired + answers.hallucinated + answers.ambiguous
    whole += answers.repeats + sum(asdict(answers.levels).values()) - answers.levels.exact
    left = (
        f"{len(rows):,} of {whole:,} are listed; spanwise place --report writes all answers without a place"
    )
    table = Grid([Column(title) for title in titles], rows, on=PAGE, sifted=True)
    note = left if len(rows) < whole else ""
    return Section("listed", words("Answers to look at"), (table,), note, on=PAGE)


def _candidates(answer: PlacedAnswer) -> str:
    """How many candidates an ambiguous answer has, and where it was placed."""
    verdict = {True: ", right", False: ", not gold", None: ""}[answer.right]
    where = f"; placed at token {answer.start}{verdict}" if answer.start is not None else ""
    return f"{answer.candidates} candidates at level {answer.level}{where}"


def _spelling(answer: PlacedAnswer) -> str:
    """How the text spells an answer that does not match it exactly."""
    return f"{answer.level}: the text says “{answer.surface}”" if answer.surface else answer.level


def _cases(document: PlacementDocument) -> Section | None:
    """The first units with an error: what was asked, what came back, and where it was placed."""
    cases, kind = document.cases, document.settings.prompt_unit
    first = ", the first ones" if len(cases) == MOST_CASES else ""
    marked = "mentions in the text are right, wrong or missed"
    note = f"{wording.plural(len(cases), kind)} with an error{first}; {marked}"
    title = words("Prompt, answer and placement")
    quotes = tuple(_exchange(case, unfolded=case is cases[0]) for case in cases)
    return Section("cases", title, quotes, note, on=PAGE) if cases else None


def _exchange(case: AnswerCase, *, unfolded: bool) -> PromptQuote:
    return PromptQuote(
        source=case.id or wording.base_name(case.source),
        status=f"{case.status}: {case.why}" if case.why else _errors(case) or case.status,
        about="".join(piece.text for piece in case.pieces).strip(),
        unfolded=unfolded,
        asked=case.prompt or "not in the log",
        answered=case.response or "none",
        pieces=tuple(_piece(piece.text, piece.state, piece.label) for piece in case.pieces),
        outcomes=tuple((answer.text, answer.label, answer.outcome) for answer in case.answers),
    )


def _errors(case: AnswerCase) -> str:
    """How many mentions of a unit are missed or wrong, and how many answers are not in the text."""
    counts = Counter(piece.state for piece in case.pieces if piece.state in ("missed", "wrong"))
    counts.update(answer.outcome for answer in case.answers if answer.outcome in ("hallucinated", "repeat"))
    return ", ".join(f"{number} {kind}" for kind, number in counts.items())


def _piece(text: str, state: str, label: str) -> QuotePiece:
    """A piece of the text; a blank follows every mention."""
    return QuotePiece(text) if state == "plain" else QuotePiece(f"{text.strip()} ", state, label)


def of_systems(answers: Mapping[str, PlacementDocument]) -> Iterator[tuple[str, list[Section]]]:
    """The sections about the answers of each system, for the page of an evaluation."""
    for name, placed in answers.items():
        yield name, [section for section in placement_sections(placed) if section.name != "costs"]
