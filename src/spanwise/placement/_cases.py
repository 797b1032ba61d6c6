"""What a model was asked, what it wrote, and what became of it, for the first units with an error."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from spanwise.columns import Bools, Ints, distinct, ints
from spanwise.corpus import Annotation, Mentions
from spanwise.document.analyses import AnswerCase, CaseAnswer, CasePiece
from spanwise.placement._policies import Policy, among
from spanwise.placement._scoring import Sheet
from spanwise.placement.answers import ParsedAnswers

MOST_CASES = 100  # units
MOST_SHOWN = 4000  # characters of a prompt or a response
State = str  # of a piece of text


def answer_cases(
    gold: Annotation, answers: ParsedAnswers, sheet: Sheet, policy: Policy, *, keep: bool
) -> tuple[AnswerCase, ...]:
    """The first units in which a mention was missed, or an answer is wrong, with prompt and response."""
    rows, candidate = sheet.chosen(policy)
    right_place = among(sheet.table.claim(candidate, sheet.table.label[rows]), sheet.claims)
    predicted = sheet.mentions(policy, keep=keep)
    predicted = predicted.take(predicted.placed)
    found = sheet.found(policy)
    correct = _equal(predicted, gold.mentions)
    of_sentence = sheet.units.of_sentence
    unplaced = sheet.unplaced_predictions(sheet.placed(policy), keep=keep)
    wrong = np.concatenate(
        [
            of_sentence[gold.mentions.sentence[~found]],
            of_sentence[predicted.sentence[~correct]],
            sheet.table.unit[unplaced],
            np.flatnonzero([parsed.status == "failed" for parsed in answers.units]),
        ]
    )
    outcomes = _outcomes(sheet, rows, right_place)
    return tuple(
        _case(gold, answers, sheet, int(unit), outcomes, predicted, correct, found)
        for unit in distinct(wrong)[:MOST_CASES]
    )


def _equal(mentions: Mentions, others: Mentions) -> Bools:
    """Which mentions are among the others, with the same place and label."""
    known = set(zip(others.sentence.tolist(), others.pieces(), others.names(), strict=True))
    keys = zip(mentions.sentence.tolist(), mentions.pieces(), mentions.names(), strict=True)
    return np.fromiter((key in known for key in keys), dtype=bool, count=len(mentions))


def _outcomes(sheet: Sheet, rows: Ints, right: Bools) -> list[str]:
    """What became of each answer."""
    outcomes = ["repeat" if number else "hallucinated" for number in sheet.table.number.tolist()]
    for row, is_right in zip(rows.tolist(), right.tolist(), strict=True):
        if is_right or outcomes[row] != "right":
            outcomes[row] = "right" if is_right else "wrong"
    return outcomes


def _case(
    gold: Annotation, answers: ParsedAnswers, sheet: Sheet, unit: int, outcomes: Sequence[str],
    predicted: Mentions, correct: Bools, found: Bools,
) -> AnswerCase:  # fmt: skip
    units = sheet.units
    parsed, exchange = answers.units[unit], answers.exchanges[unit]
    first, last = int(units.sentences[unit]), int(units.sentences[unit + 1])
    low, high = np.searchsorted(sheet.table.unit, (unit, unit + 1)).tolist()
    pieces: list[CasePiece] = []
    for sentence in range(first, last):
        pieces += _pieces(gold, sentence, predicted, correct, found)
    return AnswerCase(
        unit=unit,
        id=None if units.ids is None else units.ids[unit],
        source=units.corpus.place(first) if first < last else "",
        status=parsed.status,
        why=parsed.why,
        prompt=_cut(exchange.prompt),
        response=_cut(_written(exchange.response)),
        answers=tuple(
            CaseAnswer(text=answer.text, label=answer.label, outcome=outcome)
            for answer, outcome in zip(sheet.answers[low:high], outcomes[low:high], strict=True)
        ),
        pieces=tuple(pieces),
    )


def _written(response: object) -> str:
    if response is None or isinstance(response, str):
        return response or ""
    try:
        return json.dumps(response, ensure_ascii=False, default=str)
    except RecursionError:  # nested too deeply to be written, as it was to be read
        return ""


def _cut(text: str) -> str:
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"


def _pieces(
    gold: Annotation, sentence: int, predicted: Mentions, correct: Bools, found: Bools
) -> list[CasePiece]:
    """A sentence cut into what was placed rightly, placed wrongly, missed, and neither."""
    corpus = gold.corpus
    body: Sequence[str] = corpus.words(sentence) if corpus.texts is None else corpus.texts[sentence]
    marks: list[tuple[State, str]] = [("plain", "")] * len(body)
    for mentions, chosen in (
        (gold.mentions, {"missed": ~found}), (predicted, {"wrong": ~correct, "right": correct}),
    ):  # fmt: skip
        for state, which in chosen.items():
            for row in np.flatnonzero(which & (mentions.sentence == sentence)).tolist():
                own = mentions.take(ints([row]))
                for start, end in own.pieces()[0]:
                    marks[start:end] = [(state, own.names()[0])] * (end - start)
    join = " " if corpus.texts is None else ""
    pieces: list[CasePiece] = []
    begin = 0
    for at in range(1, len(body) + 1):
        if at == len(body) or marks[at] != marks[begin]:
            state, label = marks[begin]
            pieces.append(CasePiece(text=join.join(body[begin:at]) + join, state=state, label=label))
            begin = at
    return pieces
