"""Answers without offsets are placed on the gold text by a stated rule, and scored under every other one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise import __version__
from spanwise.columns import plain
from spanwise.corpus import Annotation, Mentions, Reading
from spanwise.document.head import Input
from spanwise.document.placement import (
    AnswerCounts,
    Ceilings,
    Labels,
    Leftover,
    LevelCounts,
    PlacementDocument,
    PlacementSettings,
    Policies,
    Score,
    StringScores,
    UnitStatuses,
)
from spanwise.errors import ChoiceError
from spanwise.errors import unknown as unknown_choice
from spanwise.formats import read
from spanwise.placement._answers import Given, mapped_labels, read_answers, samples_of
from spanwise.placement._candidates import LEVELS, Level, Searcher
from spanwise.placement._parsing import Answer
from spanwise.placement._policies import POLICIES, Policy
from spanwise.placement._scoring import Counted, Sheet, gold_sheet, sheet_of, string_counts
from spanwise.placement._strings import NORMALISATIONS
from spanwise.placement._units import PromptUnit, Units
from spanwise.scores import exact

__all__ = [
    "LEVELS",
    "POLICIES",
    "PRESETS",
    "Answer",
    "Placement",
    "Preset",
    "place",
    "placed_mentions",
    "placement",
    "samples_of",
]


class Preset(Struct, frozen=True):
    """The rule by which another project scores answers: a policy at a level, or a score of strings."""

    name: str
    summary: str
    policy: Policy | None = None
    level: Level = "exact"
    strings: Literal["set", "multiset"] = "set"
    normalisation: str = "as-written"


PRESETS = {
    one.name: one
    for one in (
        Preset("uie", "each answer takes the next free occurrence of its exact text", "next"),
        Preset("spacy-llm", "each answer takes every occurrence of its exact text", "all"),
        Preset("langextract", "answers are placed in output order, case-folded", "ordered", "case"),
        Preset(
            "uniner", "sets of lower-cased texts without punctuation and articles", normalisation="uniner"
        ),
        Preset("gollie", "multisets of texts as written", strings="multiset"),
    )
}


class Placement(Struct, frozen=True, eq=False):
    """Answers placed on the gold text.

    `annotation` has the predictions; those without a place have start and end -1, and
    `mentions.fields["answer"]` keeps the text of every one.
    """

    document: PlacementDocument
    annotation: Annotation

    @property
    def on_text(self) -> Annotation:
        """The predictions that have a place, as a file can hold them."""
        return replace(
            self.annotation, mentions=self.annotation.mentions.take(self.annotation.mentions.placed)
        )

    def leftovers(self) -> list[list[object]]:
        """The rows of a table of all answers without a place and of units that needed repair or failed."""
        head: list[object] = ["kind", "unit", "id", "source", "label", "text", "why"]
        return [head, *([getattr(one, str(name)) for name in head] for one in self.document.unplaced)]

    def __repr__(self) -> str:
        answers = self.document.answers
        return f"<spanwise.Placement: {answers.placed:,} of {answers.given:,} answers placed>"


class _Choices(Struct, frozen=True):
    policy: Policy
    level: Level
    threshold: float
    repeats: Literal["drop", "keep"]
    unknown: Literal["keep", "drop"]
    prompt_unit: PromptUnit
    response: str | None
    sample: str | None
    aliases: Mapping[str, str]

    @property
    def keep(self) -> bool:
        return self.repeats == "keep"


def place(
    gold: Any,
    answers: Any,
    *,
    policy: str = "ordered",
    level: str | None = None,
    threshold: float = 0.85,
    aliases: Mapping[str, str] | None = None,
    repeats: Literal["drop", "keep"] = "drop",
    unknown: Literal["keep", "drop"] = "keep",
    prompt_unit: PromptUnit = "sentence",
    response: str | None = None,
    sample: str | int | None = None,
    **reading: Any,
) -> PlacementDocument:
    """Place answers without offsets on the gold text, and score them under every policy.

    Args:
        gold: a file, an `Annotation`, or anything else that `spanwise.read` takes, with text.
        answers: a file with one JSON value per line, or a list with one item per unit.
        policy: "first", "all", "next" or "ordered", or the rule of another project: "uie", "spacy-llm",
            "langextract".
        level: the last level at which candidates are looked for: "exact", "case", "bare", "article" or
            "fuzzy" (default).
        threshold: the least similarity at level "fuzzy".
        aliases: labels of gold by what the answers call them.
        repeats: whether an answer without a place that was given before is dropped or kept as a wrong one.
        unknown: whether answers with a label that gold does not have are kept or dropped.
        prompt_unit: what one record is about: "sentence" or "document".
        response: the field with the raw response of the model.
        sample: the sample to place, where units have several.
        reading: how to read the gold file, as `spanwise.read` takes it.

    Returns:
        A document with the counts of units and answers, the scores of every policy and of strings, both
        bounds, the ceilings, and the spread from the lowest to the highest F1.

    Examples:
        >>> from spanwise.formats import from_tags
        >>> gold = from_tags([["B-PER", "O", "B-PER"]], tokens=[["Ann", "met", "Ann"]])
        >>> found = place(gold, [[{"text": "Ann", "label": "PER"}, {"text": "ann", "label": "person"}]],
        ...     aliases={"person": "PER"})
        >>> found.answers.placed, found.policies.first.f1, found.policies.ordered.f1
        (2, 0.6666666666666666, 1.0)
    """
    return placement(
        gold, answers, policy=policy, level=level, threshold=threshold, aliases=aliases, repeats=repeats,
        unknown=unknown, prompt_unit=prompt_unit, response=response, sample=sample, **reading,
    ).document  # fmt: skip


def placement(
    gold: Any,
    answers: Any,
    *,
    policy: str = "ordered",
    level: str | None = None,
    threshold: float = 0.85,
    aliases: Mapping[str, str] | None = None,
    repeats: str = "drop",
    unknown: str = "keep",
    prompt_unit: PromptUnit = "sentence",
    response: str | None = None,
    sample: str | int | None = None,
    **reading: Any,
) -> Placement:
    """The document of `place` together with the predictions."""
    choices = _choices(policy, level, threshold, aliases, repeats, unknown, prompt_unit, response, sample)
    annotation = read(gold, **reading)
    units = Units.of(annotation.corpus, choices.prompt_unit)
    given = read_answers(
        answers, units, labels=_gold_labels(annotation.mentions), response=response, sample=choices.sample
    )
    laid = _laid_out(annotation, units, given, choices)
    return Placement(
        _document(annotation, given, laid, choices), _predictions(annotation, given, laid, choices)
    )


def placed_mentions(gold: Annotation, answers: Any, **choices: Any) -> Annotation:
    """The predictions alone, without scores, by the keywords of `place`."""
    chosen = _choices(**{**_DEFAULTS, **choices})
    units = Units.of(gold.corpus, chosen.prompt_unit)
    given = read_answers(
        answers, units, labels=_gold_labels(gold.mentions), response=chosen.response, sample=chosen.sample
    )
    return _predictions(gold, given, _laid_out(gold, units, given, chosen), chosen)


_DEFAULTS: dict[str, Any] = {
    "policy": "ordered", "level": None, "threshold": 0.85, "aliases": None, "repeats": "drop",
    "unknown": "keep", "prompt_unit": "sentence", "response": None, "sample": None,
}  # fmt: skip


def _choices(
    policy: str,
    level: str | None,
    threshold: float,
    aliases: Mapping[str, str] | None,
    repeats: str,
    unknown: str,
    prompt_unit: PromptUnit,
    response: str | None,
    sample: str | int | None,
) -> _Choices:
    preset = PRESETS.get(policy)
    if preset is not None and preset.policy is None:
        raise ChoiceError(
            f"{policy!r} scores strings and places nothing.\n"
            "Its score is in the document in any case, under presets; choose another policy."
        )
    if preset is not None:
        level = level or preset.level
    chosen = policy if preset is None else preset.policy
    if policy in ("best", "worst"):
        raise ChoiceError(
            f"policy is {policy!r}, but this is a bound that uses gold, not a score to quote.\n"
            "Both bounds are in the document in any case."
        )
    places = [name for name, one in PRESETS.items() if one.policy is not None]
    for name, value, known in (
        ("policy", chosen, (*POLICIES, *places)),
        ("level", level or "fuzzy", LEVELS),
        ("way to treat repeats", repeats, ("drop", "keep")),
        ("way to treat unknown labels", unknown, ("drop", "keep")),
    ):
        if value not in known:
            raise unknown_choice(name, value, known)
    if not 0 < threshold <= 1:
        raise ChoiceError(f"threshold is {threshold}, but must be above 0 and at most 1.")
    return _Choices(
        chosen, level or "fuzzy", threshold, repeats, unknown, prompt_unit, response,  # type: ignore[arg-type]
        None if sample is None else str(sample), dict(aliases or {}),
    )  # fmt: skip


def _gold_labels(mentions: Mentions) -> list[str]:
    used = np.bincount(mentions.label, minlength=len(mentions.labels))
    return sorted(name for name, number in zip(mentions.labels, used.tolist(), strict=True) if number)


class _LaidOut(Struct, frozen=True, eq=False):
    """All answers with their candidates, and how their labels were read."""

    searcher: Searcher
    sheet: Sheet
    labels: Labels
    unknown: int
    dropped: int


def _laid_out(gold: Annotation, units: Units, given: Given, choices: _Choices) -> _LaidOut:
    unit = [number for number, parsed in enumerate(given.units) for _ in parsed.answers]
    answers = [answer for parsed in given.units for answer in parsed.answers]
    known = set(_gold_labels(gold.mentions))
    names = mapped_labels(answers, sorted(known), choices.aliases)
    kept = [
        row
        for row, answer in enumerate(answers)
        if choices.unknown == "keep" or names.names[answer.label] in known
    ]
    renamed = [_renamed(answers[row], names.names) for row in kept]
    searcher = Searcher(units)
    sheet = sheet_of(
        searcher, gold.mentions, [unit[row] for row in kept], renamed,
        level=choices.level, threshold=choices.threshold,
    )  # fmt: skip
    labels = Labels(
        renamed={old: new for old, new in sorted(names.names.items()) if old != new},
        unknown=dict(sorted(names.unknown.items())),
    )
    return _LaidOut(searcher, sheet, labels, sum(names.unknown.values()), len(answers) - len(kept))


def _renamed(answer: Answer, names: Mapping[str, str]) -> Answer:
    label = names[answer.label]
    if label == answer.label:
        return answer
    return Answer(answer.text, label, answer.score, answer.occurrence, answer.pieces, answer.place)


def _predictions(gold: Annotation, given: Given, laid: _LaidOut, choices: _Choices) -> Annotation:
    mentions = laid.sheet.mentions(choices.policy, keep=choices.keep)
    reading = Reading(path=given.path, sha256=given.sha256, format="answers", evidence=_evidence(choices))
    return Annotation(gold.corpus, mentions, reading)


def _evidence(choices: _Choices) -> str:
    return f"answers placed by {choices.policy}, level {choices.level}"


def _document(gold: Annotation, given: Given, laid: _LaidOut, choices: _Choices) -> PlacementDocument:
    sheet, keep = laid.sheet, choices.keep
    scores = {policy: _score(sheet.counted(policy, keep=keep)) for policy in POLICIES}
    worst, best = sheet.bounds(keep=keep)
    policies = Policies(**scores, worst=_score(worst), best=_score(best))
    strings = {name: _strings(sheet, gold, name) for name in NORMALISATIONS}
    ceiling = gold_sheet(laid.searcher, gold, level=choices.level, threshold=choices.threshold)
    ceilings = {policy: _score(ceiling.counted(policy, keep=keep)).f1 for policy in POLICIES}
    in_spread = [*scores.values(), policies.worst, policies.best]
    in_spread += [strings["as-written"].set, strings["as-written"].multiset]
    values = [score.f1 for score in in_spread if score.f1 is not None]
    return PlacementDocument(
        spanwise=__version__,
        kind="placement",
        signature=_signature(choices),
        inputs=(
            _input("gold", gold),
            Input(role="answers", path=given.path, sha256=given.sha256, format="jsonl"),
        ),
        settings=PlacementSettings(
            policy=choices.policy, level=choices.level, threshold=choices.threshold, repeats=choices.repeats,
            unknown=choices.unknown, prompt_unit=choices.prompt_unit, response=choices.response,
            sample=choices.sample, aliases=dict(choices.aliases),
        ),
        units=UnitStatuses(**given.statuses),
        answers=_answer_counts(given, laid, choices),
        policies=policies,
        strings=strings["as-written"],
        normalised={name: one for name, one in strings.items() if name != "as-written"},
        presets=_presets(laid, strings, choices),
        ceilings=Ceilings(**ceilings),
        spread=(min(values), max(values)) if values else (None, None),
        readable=_readable(given, sheet, scores[choices.policy]),
        labels=laid.labels,
        unplaced=_leftovers(given, laid, choices),
    )  # fmt: skip


def _input(role: str, annotation: Annotation) -> Input:
    reading = annotation.reading
    return Input(
        role=role, path=reading.path, sha256=reading.sha256, format=reading.format, scheme=reading.scheme,
        repairs=reading.repairs,
    )  # fmt: skip


def _signature(choices: _Choices) -> str:
    parts = [f"policy:{choices.policy}", f"level:{choices.level}"]
    if choices.level == "fuzzy":
        parts.append(f"threshold:{choices.threshold:g}")
    parts += [
        f"repeats:{choices.repeats}",
        f"unknown:{choices.unknown}",
        f"prompt-unit:{choices.prompt_unit}",
    ]
    return " | ".join([*parts, f"spanwise:{__version__}"])


def _score(counted: Counted) -> Score:
    values = exact(np.array(counted, dtype=np.float64))
    gold, predicted, correct = counted
    return Score(
        gold=gold,
        predicted=predicted,
        correct=correct,
        **{name: plain(value) for name, value in values.items()},
    )


def _strings(sheet: Sheet, gold: Annotation, normalisation: str) -> StringScores:
    counted = string_counts(sheet, gold, NORMALISATIONS[normalisation])
    return StringScores(set=_score(counted.sets), multiset=_score(counted.multisets))


def _presets(laid: _LaidOut, strings: Mapping[str, StringScores], choices: _Choices) -> dict[str, Score]:
    """The score by the rule of each project, whose level may be stricter than the one asked for."""
    sheets: dict[str, Sheet] = {choices.level: laid.sheet}
    scores: dict[str, Score] = {}
    for name, preset in PRESETS.items():
        if preset.policy is None:
            both = strings[preset.normalisation]
            scores[name] = both.set if preset.strings == "set" else both.multiset
            continue
        if preset.level not in sheets:
            sheets[preset.level] = laid.sheet.up_to(preset.level)
        scores[name] = _score(sheets[preset.level].counted(preset.policy, keep=choices.keep))
    return scores


def _answer_counts(given: Given, laid: _LaidOut, choices: _Choices) -> AnswerCounts:
    sheet = laid.sheet
    asked = sheet.asked
    placed, found = sheet.placed(choices.policy), asked.number > 0
    levels = np.bincount(sheet.level[found], minlength=len(LEVELS)).tolist()
    markup = [parsed.markup for parsed in given.units]
    return AnswerCounts(
        given=len(asked),
        placed=int(placed.sum()),
        ambiguous=int((asked.number > 1).sum()),
        hallucinated=int((~found).sum()),
        repeats=int((found & ~placed).sum()),
        levels=LevelCounts(**dict(zip(LEVELS, levels, strict=True))),
        unknown_labels=laid.unknown,
        dropped=laid.dropped,
        beyond=int(((asked.occurrence != 0) & found & ~asked.fixed).sum()),
        markup_by_position=markup.count("positions"),
        markup_as_texts=markup.count("texts"),
    )


def _readable(given: Given, sheet: Sheet, score: Score) -> Score:
    """The same score over units that could be read: the others have no predictions, only gold mentions."""
    readable = np.array(
        [parsed.status in ("read", "repaired", "empty") for parsed in given.units], dtype=bool
    )
    inside = readable[sheet.units.of_sentence[sheet.gold.sentence]] if len(sheet.gold) else readable[:0]
    return _score((int(inside.sum()), score.predicted, score.correct))


def _leftovers(given: Given, laid: _LaidOut, choices: _Choices) -> tuple[Leftover, ...]:
    """The answers without a place and the units that could not be read as they are, in order."""
    sheet = laid.sheet
    units = sheet.units
    listed: list[tuple[int, int, Leftover]] = []

    def about(unit: int) -> dict[str, Any]:
        sentence = int(units.sentences[unit])
        return {
            "unit": unit,
            "id": None if units.ids is None else units.ids[unit],
            "source": units.corpus.place(sentence) if sentence < len(units.corpus) else "",
        }

    for unit, parsed in enumerate(given.units):
        if parsed.status in ("failed", "repaired"):
            listed.append((unit, -1, Leftover(kind=parsed.status, why=parsed.why, **about(unit))))
    for row in np.flatnonzero(~sheet.placed(choices.policy)).tolist():
        unit, answer = int(sheet.asked.unit[row]), sheet.answers[row]
        kind = "repeat" if sheet.asked.number[row] else "hallucinated"
        listed.append((unit, row, Leftover(kind=kind, text=answer.text, label=answer.label, **about(unit))))
    return tuple(one for _, _, one in sorted(listed, key=lambda entry: entry[:2]))
