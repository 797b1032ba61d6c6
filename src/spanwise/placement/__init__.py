"""Place answers without offsets on the gold text by a given policy, and score them under all policies."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

import numpy as np
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from spanwise import __version__
from spanwise.columns import Bools, Ints, ints, plain
from spanwise.corpus import Annotation, Mentions, Reading
from spanwise.document import Input
from spanwise.document.analyses import (
    AnswerCounts,
    Ceilings,
    Labels,
    Leftover,
    LevelCounts,
    PlacedAnswer,
    PlacementDocument,
    PlacementSettings,
    Policies,
    ResponseCounts,
    Score,
    StringScores,
    UnitStatuses,
    UsageTotals,
)
from spanwise.errors import ChoiceError
from spanwise.errors import unknown as unknown_choice
from spanwise.formats import Reader, ReadKeywords, opened, rules_of
from spanwise.labels import LabelRules
from spanwise.placement._candidates import LEVELS, Level, Searcher
from spanwise.placement._cases import answer_cases
from spanwise.placement._logs import FORMATS as ANSWERS_FORMATS
from spanwise.placement._logs import read_log
from spanwise.placement._policies import POLICIES, Policy, among
from spanwise.placement._sample import SampleCounts, count_sample
from spanwise.placement._scoring import Counted, Sheet, Texts, gold_sheet, sheet_of, string_counts
from spanwise.placement.answers import (
    NORMALISATIONS,
    ParsedAnswers,
    PromptUnit,
    Units,
    chosen_sample,
    gold_order,
    has_answers,
    label_key,
    mapped_labels,
    read_answers,
    records_digest,
    samples_of,
    surfaces,
)
from spanwise.placement.parsing import Answer
from spanwise.scores import exact

__all__ = [
    "ANSWERS_FORMATS",
    "LEVELS",
    "POLICIES",
    "PRESETS",
    "Answer",
    "PlacedSystems",
    "Placement",
    "PlacementChoices",
    "Preset",
    "PromptUnit",
    "SampleCounts",
    "checked",
    "chosen_sample",
    "count_sample",
    "has_answers",
    "name_of_system",
    "place",
    "place_keywords",
    "place_systems",
    "placed_on",
    "placement",
    "records_digest",
    "samples_of",
    "systems_of",
    "without_offsets",
]

MOST_LISTED = 500  # maximum number of answers listed with their place
MOST_WORDS, MOST_TEXT = 80, 400  # maximum number of words and characters shown of a unit's text


class Preset(Struct, frozen=True):
    """The rule by which another project scores answers: a policy and level, or a comparison of strings."""

    name: str
    summary: str
    policy: Policy | None = None
    level: Level = "exact"
    strings: Literal["set", "multiset"] = "set"
    normalisation: str = "as-written"


PRESETS = {
    preset.name: preset
    for preset in (
        Preset("uie", "each answer takes the next free occurrence of its exact text", "next"),
        Preset("spacy-llm", "each answer takes every occurrence of its exact text", "all"),
        Preset("langextract", "answers are placed in output order, case-folded", "ordered", "case"),
        Preset(
            "uniner", "sets of lower-cased texts without punctuation and articles", normalisation="uniner"
        ),
        Preset("gollie", "multisets of texts as written", strings="multiset"),
    )
}


class PlacementChoices(Struct, frozen=True):
    """The validated options of `place`."""

    policy: Policy
    level: Level
    threshold: float
    repeats: Literal["drop", "keep"]
    unknown: Literal["keep", "drop"]
    prompt_unit: PromptUnit
    response: str | None
    sample: str | None
    aliases: Mapping[str, str]
    answers_format: str = "auto"
    rule: str | None = None  # a preset that compares strings; answers are then placed by `policy`
    rules: LabelRules = LabelRules()  # which labels are mapped or left out, in gold and in answers

    def under(self, rules: LabelRules) -> PlacementChoices:
        """These choices for gold that was read under rules on labels, which hold for answers too.

        Raises:
            ChoiceError: `aliases`, another name of `predicted_map`, maps a label to another label than it.
        """
        for label, target in self.aliases.items():
            if rules.predicted_map.get(label, target or None) != (target or None):
                raise ChoiceError(
                    f"aliases and predicted_map map the label {label!r} to two labels.\nChoose one of them."
                )
        return replace(self, rules=rules)

    @property
    def all_rules(self) -> LabelRules:
        """The rules for the labels of answers, of which aliases are a part."""
        return replace(self.rules, predicted_map={**self.aliases, **self.rules.predicted_map})

    @property
    def keep(self) -> bool:
        return self.repeats == "keep"

    def with_places(self) -> PlacementChoices:
        """Return these choices if they produce mentions with positions.

        Raises:
            ChoiceError: the rule only compares strings.
        """
        if self.rule is None:
            return self
        raise ChoiceError(
            f"{self.rule!r} compares strings and has no places, so it cannot give mentions.\n"
            f"Use first, all, next or ordered; spanwise.place gives the score of {self.rule!r}."
        )


KEYWORDS = tuple(name for name in PlacementChoices.__struct_fields__ if name not in ("rule", "rules"))


def checked(
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
    answers_format: str = "auto",
) -> PlacementChoices:
    """Validate the keywords of `place`; the name of a preset is replaced by its policy and level."""
    preset = PRESETS.get(policy)
    rule = policy if preset is not None and preset.policy is None else None
    if preset is not None and rule is None:
        level = level or preset.level
    chosen = policy if preset is None else preset.policy or "ordered"
    if policy in ("best", "worst"):
        raise ChoiceError(
            f"policy is {policy!r}, but this is a bound that uses gold, not a score to quote.\n"
            "Both bounds are in the document in any case."
        )
    for name, value, allowed in (
        ("policy", chosen, (*POLICIES, *PRESETS)),
        ("level", level or "fuzzy", LEVELS),
        ("way to treat repeats", repeats, ("drop", "keep")),
        ("way to treat unknown labels", unknown, ("drop", "keep")),
        ("format of answers", answers_format, ANSWERS_FORMATS),
    ):
        if value not in allowed:
            raise unknown_choice(name, value, allowed)
    if not 0 < threshold <= 1:
        raise ChoiceError(f"threshold is {threshold}, but must be above 0 and at most 1.")
    return PlacementChoices(
        chosen, level or "fuzzy", threshold, repeats, unknown, prompt_unit, response,  # type: ignore[arg-type]
        None if sample is None else str(sample), dict(aliases or {}), answers_format, rule,
    )  # fmt: skip


def gold_labels(mentions: Mentions) -> list[str]:
    used = np.bincount(mentions.label, minlength=len(mentions.labels))
    return sorted(name for name, number in zip(mentions.labels, used.tolist(), strict=True) if number)


class LaidOut(Struct, frozen=True, eq=False):
    """All answers with their candidates, and how their labels were mapped to those of gold."""

    searcher: Searcher
    sheet: Sheet
    labels: Labels
    unknown: int
    dropped: int
    left_out: int  # how many of the dropped answers have labels that are left out
    as_given: tuple[str, ...]  # the labels of all answers


def lay_out_answers(
    gold: Annotation, units: Units, parsed: ParsedAnswers, choices: PlacementChoices
) -> LaidOut:
    unit = [number for number, response in enumerate(parsed.units) for _ in response.answers]
    answers = [answer for response in parsed.units for answer in response.answers]
    gold_names = set(gold_labels(gold.mentions))
    rules = choices.all_rules
    known = gold_names | {
        label for read in gold.labels_as_read if (label := rules.mapped(read, predicted=False)) is not None
    }
    unwanted = {
        label_key(label)
        for label in (*rules.map, *rules.predicted_map)
        if not rules.mapped(label, predicted=True)
    }
    chosen = [
        row
        for row, answer in enumerate(answers)
        if answer.label in known or label_key(answer.label) not in unwanted
    ]
    names = mapped_labels(
        [answers[row] for row in chosen], sorted(known if choices.rules else gold_names), rules.targets()
    )
    chosen = [row for row in chosen if rules.keeps(names.names[answers[row].label])]
    at_level = {label: rules.at_level(target) for label, target in names.names.items()}
    names = mapped_labels([answers[row] for row in chosen], sorted(gold_names), at_level)
    kept = [
        row for row in chosen if choices.unknown == "keep" or names.names[answers[row].label] in gold_names
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
    return LaidOut(
        searcher, sheet, labels, sum(names.unknown.values()), len(answers) - len(kept),
        len(answers) - len(chosen), tuple(sorted({answer.label for answer in answers})),
    )  # fmt: skip


def _renamed(answer: Answer, names: Mapping[str, str]) -> Answer:
    label = names[answer.label]
    if label == answer.label:
        return answer
    return replace(answer, label=label)


def predictions(
    gold: Annotation, answers: ParsedAnswers, laid: LaidOut, choices: PlacementChoices
) -> Annotation:
    mentions = laid.sheet.mentions(choices.policy, keep=choices.keep)
    reading = Reading(path=answers.path, sha256=answers.sha256, format="answers", evidence=_evidence(choices))
    if choices.rules:
        reading = replace(
            reading,
            labels=laid.as_given,
            dropped=laid.left_out,
            relabeled_by=choices.rules.key(predicted=True),
        )
    return Annotation(gold.corpus, mentions, reading)


def _evidence(choices: PlacementChoices) -> str:
    level = f"fuzzy {choices.threshold:g}" if choices.level == "fuzzy" else choices.level
    parts = [choices.policy, level, f"repeats {choices.repeats}", f"unknown {choices.unknown}"]
    return ", ".join([*parts, f"per {choices.prompt_unit}"])


def document(
    gold: Annotation, answers: ParsedAnswers, laid: LaidOut, choices: PlacementChoices
) -> PlacementDocument:
    sheet, keep = laid.sheet, choices.keep
    scores = {policy: _score(sheet.counted(policy, keep=keep)) for policy in POLICIES}
    worst, best = sheet.bounds(keep=keep)
    policies = Policies(**scores, worst=_score(worst), best=_score(best))
    texts = Texts.of(gold, sheet.answers)
    strings = {name: _strings(sheet, texts, name) for name in NORMALISATIONS}
    ceiling = gold_sheet(laid.searcher, gold, level=choices.level, threshold=choices.threshold)
    ceilings = {policy: _score(ceiling.counted(policy, keep=keep)).f1 for policy in POLICIES}
    in_spread = [*scores.values(), policies.worst, policies.best]
    in_spread += [strings["as-written"].set, strings["as-written"].multiset]
    values = [score.f1 for score in in_spread if score.f1 is not None]
    chosen = _chosen_score(scores, strings, choices)
    readable = _readable(answers, sheet, texts, scores[choices.policy], choices)
    return PlacementDocument(
        spanwise=__version__,
        kind="placement",
        signature=_signature(choices),
        inputs=(
            _input("gold", gold),
            Input(
                role="answers", path=answers.path, sha256=answers.sha256, format=answers.format,
                system=answers.system or UNSET, dropped=laid.left_out if choices.rules else UNSET,
            ),
        ),
        label_rules=choices.rules.to_dict() or UNSET,
        settings=PlacementSettings(
            policy=choices.policy, level=choices.level, threshold=choices.threshold, repeats=choices.repeats,
            unknown=choices.unknown, prompt_unit=choices.prompt_unit, response=choices.response,
            sample=choices.sample, aliases=dict(choices.aliases), rule=choices.rule,
            answers_format=answers.format,
        ),
        units=UnitStatuses(**answers.statuses),
        responses=_responses(answers, laid, chosen, readable, choices),
        usage=_usage(answers, chosen),
        answers=_answer_counts(answers, laid, choices),
        policies=policies,
        strings=strings["as-written"],
        normalised={name: string for name, string in strings.items() if name != "as-written"},
        presets=_presets(laid, strings, choices),
        ceilings=Ceilings(**ceilings),
        spread=(min(values), max(values)) if values else (None, None),
        readable=readable,
        labels=laid.labels,
        unplaced=_leftovers(answers, laid, choices),
        ambiguous=_looked_at(laid, ints(np.flatnonzero(sheet.table.number > 1)), choices),
        inexact=_looked_at(laid, ints(np.flatnonzero(sheet.level > 0)), choices),
        cases=answer_cases(gold, answers, sheet, choices.policy, keep=keep),
    )  # fmt: skip


def _input(role: str, annotation: Annotation) -> Input:
    reading = annotation.reading
    return Input(
        role=role, path=reading.path, sha256=reading.sha256, format=reading.format, scheme=reading.scheme,
        repairs=reading.repairs, merged=reading.counted(reading.merged),
        dropped=reading.counted(reading.dropped),
    )  # fmt: skip


def _signature(choices: PlacementChoices) -> str:
    parts = [f"policy:{choices.policy}", f"level:{choices.level}"]
    if choices.rule is not None:
        parts.insert(0, f"rule:{choices.rule}")
    if choices.level == "fuzzy":
        parts.append(f"threshold:{choices.threshold:g}")
    parts += [
        f"repeats:{choices.repeats}",
        f"unknown:{choices.unknown}",
        f"prompt-unit:{choices.prompt_unit}",
    ]
    if choices.rules:
        parts.append(f"labels:{choices.rules.key(predicted=True)}")
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


def _strings(sheet: Sheet, texts: Texts, normalisation: str) -> StringScores:
    counted = string_counts(sheet, texts, NORMALISATIONS[normalisation])
    return StringScores(set=_score(counted.sets), multiset=_score(counted.multisets))


def _presets(
    laid: LaidOut, strings: Mapping[str, StringScores], choices: PlacementChoices
) -> dict[str, Score]:
    """The score by each project's rule, whose level may be stricter than the chosen one."""
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


def _answer_counts(answers: ParsedAnswers, laid: LaidOut, choices: PlacementChoices) -> AnswerCounts:
    sheet = laid.sheet
    table = sheet.table
    placed, matched = sheet.placed(choices.policy), table.number > 0
    levels = np.bincount(sheet.level[matched], minlength=len(LEVELS)).tolist()
    markup = [parsed.markup for parsed in answers.units]
    return AnswerCounts(
        given=len(table),
        placed=int(placed.sum()),
        ambiguous=int((table.number > 1).sum()),
        hallucinated=int((~matched).sum()),
        repeats=int((matched & ~placed).sum()),
        levels=LevelCounts(**dict(zip(LEVELS, levels, strict=True))),
        unknown_labels=laid.unknown,
        dropped=laid.dropped,
        beyond=int(((table.occurrence != 0) & matched & ~table.fixed).sum()),
        markup_by_position=markup.count("positions"),
        markup_as_texts=markup.count("texts"),
        positions=sum(answer.span is not None and answer.place is not None for answer in sheet.answers),
        alignments=dict(
            sorted(Counter(answer.aligned for answer in sheet.answers if answer.aligned).items())
        ),
    )


def _responses(
    answers: ParsedAnswers, laid: LaidOut, score: Score, readable: Score, choices: PlacementChoices
) -> ResponseCounts:
    """What went wrong with responses, and what it costs.

    For g gold mentions that were not answered, that is 2(TP + g)/(n + m + g) − F1 at most; for w answers
    that are not in the text, 2·TP/(n + m − w) − F1. Where strings are compared, it is not known which
    mentions were found.
    """
    stopped = Counter(parsed.stopped for parsed in answers.units)
    sheet = laid.sheet
    unit = sheet.units.of_sentence[sheet.gold.sentence]

    def of_kind(kind: str) -> Bools:
        return np.array([parsed.stopped == kind for parsed in answers.units], dtype=bool)[unit]

    def gain(found: int = 0, withdrawn: int = 0) -> float | None:
        size = score.gold + score.predicted + found - withdrawn
        changed = (found or withdrawn) and size
        return 2 * (score.correct + found) / size - score.f1 if changed and score.f1 is not None else None

    unread = score.gold - readable.gold
    truncated = hallucinated = None
    if choices.rule is None:
        missed = of_kind("truncated") & ~sheet.found(choices.policy)
        truncated = gain(int(missed.sum()))
        wrong = sheet.unplaced_predictions(sheet.placed(choices.policy), keep=choices.keep)
        hallucinated = gain(withdrawn=int((wrong & (sheet.table.number == 0)).sum()))
    return ResponseCounts(
        refused=stopped["refused"],
        truncated=stopped["truncated"],
        errors=stopped["error"],
        unread_mentions=unread,
        unread_cost=gain(unread),
        refused_cost=gain(int(of_kind("refused").sum())),
        truncated_cost=truncated,
        hallucinated_cost=hallucinated,
    )


def _chosen_score(
    scores: Mapping[Policy, Score], strings: Mapping[str, StringScores], choices: PlacementChoices
) -> Score:
    if choices.rule is None:
        return scores[choices.policy]
    preset = PRESETS[choices.rule]
    both = strings[preset.normalisation]
    return both.set if preset.strings == "set" else both.multiset


def _usage(answers: ParsedAnswers, score: Score) -> UsageTotals | UnsetType:
    """The tokens and dollars of the log, and F1 in points per dollar and per 1,000 tokens."""
    if answers.usage is None:
        return UNSET
    usage = answers.usage
    tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    points = None if score.f1 is None else 100 * score.f1
    return UsageTotals(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=usage.cost,
        f1_per_dollar=None if points is None or not usage.cost else points / usage.cost,
        f1_per_1000_tokens=None if points is None or not tokens else points / (tokens / 1000),
    )


def _readable(
    answers: ParsedAnswers, sheet: Sheet, texts: Texts, score: Score, choices: PlacementChoices
) -> Score:
    """The score over readable units only; the others have gold mentions but no predictions."""
    readable = np.array(
        [parsed.status in ("read", "repaired", "empty") for parsed in answers.units], dtype=bool
    )
    inside = readable[sheet.units.of_sentence[sheet.gold.sentence]] if len(sheet.gold) else readable[:0]
    if choices.rule is not None:
        preset = PRESETS[choices.rule]
        counted = string_counts(sheet, texts, NORMALISATIONS[preset.normalisation], inside)
        return _score(counted.sets if preset.strings == "set" else counted.multisets)
    return _score((int(inside.sum()), score.predicted, score.correct))


class _UnitFacts(TypedDict):
    unit: int
    id: str | None
    source: str
    sentence: str


def _about(units: Units, unit: int) -> _UnitFacts:
    sentence = int(units.sentences[unit])
    text = " ".join(units.words(unit, MOST_WORDS))
    return {
        "unit": unit,
        "id": None if units.ids is None else units.ids[unit],
        "source": units.corpus.place(sentence) if sentence < len(units.corpus) else "",
        "sentence": text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…",
    }


def _leftovers(answers: ParsedAnswers, laid: LaidOut, choices: PlacementChoices) -> tuple[Leftover, ...]:
    """The answers that were not placed, and the units that needed repair or failed, in order."""
    sheet = laid.sheet
    listed: list[tuple[int, int, Leftover]] = []
    for unit, parsed in enumerate(answers.units):
        if parsed.status in ("failed", "repaired"):
            about = _about(sheet.units, unit)
            listed.append((unit, -1, Leftover(kind=parsed.status, why=parsed.why, **about)))
    for row in np.flatnonzero(~sheet.placed(choices.policy)).tolist():
        unit, answer = int(sheet.table.unit[row]), sheet.answers[row]
        kind = "repeat" if sheet.table.number[row] else "hallucinated"
        about = _about(sheet.units, unit)
        listed.append((unit, row, Leftover(kind=kind, text=answer.text, label=answer.label, **about)))
    return tuple(leftover for _, _, leftover in sorted(listed, key=lambda entry: entry[:2]))


def _looked_at(laid: LaidOut, rows: Ints, choices: PlacementChoices) -> tuple[PlacedAnswer, ...]:
    """Describe the first of the given answers, and where the policy placed them."""
    sheet = laid.sheet
    chosen, candidate = sheet.chosen(choices.policy)
    right = among(sheet.table.claim(candidate, sheet.table.label[chosen]), sheet.claims)
    order = np.argsort(chosen, kind="stable")
    listed = []
    for row in rows[:MOST_LISTED].tolist():
        low, high = np.searchsorted(chosen, (row, row + 1), sorter=order)
        answer, own = sheet.answers[row], order[low:high]
        placed = PlacedAnswer(
            **_about(sheet.units, int(sheet.table.unit[row])),
            text=answer.text,
            label=answer.label,
            level=LEVELS[int(sheet.level[row])],
            candidates=int(sheet.table.number[row]),
        )
        if len(own):
            at = int(candidate[own[0]])
            sentence, start, end = int(sheet.sentence[at]), int(sheet.start[at]), int(sheet.end[at])
            words = sheet.units.corpus.words(sentence)
            texts = sheet.units.corpus.texts
            surface = " ".join(words[start:end]) if texts is None else texts[sentence][start:end]
            placed = replace(placed, start=start, end=end, surface=surface, right=bool(right[own].any()))
        listed.append(placed)
    return tuple(listed)


class Placement(Struct, frozen=True, eq=False):
    """Answers placed on the gold text.

    `annotation` holds the predictions; those that could not be placed have start and end -1, and
    `mentions.fields["answer"]` keeps the text of every answer.
    """

    document: PlacementDocument
    annotation: Annotation
    choices: PlacementChoices

    @property
    def on_text(self) -> Annotation:
        """The predictions that were placed, which can be written to a file."""
        self.choices.with_places()
        return replace(
            self.annotation, mentions=self.annotation.mentions.take(self.annotation.mentions.placed)
        )

    def leftovers(self) -> list[list[object]]:
        """The answers that were not placed and the units that needed repair or failed, as rows of a table."""
        head: list[object] = ["kind", "unit", "id", "source", "label", "text", "why"]
        return [head, *([getattr(row, str(name)) for name in head] for row in self.document.unplaced)]

    def __repr__(self) -> str:
        answers = self.document.answers
        return f"<spanwise.Placement: {answers.placed:,} of {answers.given:,} answers placed>"


def place(
    gold: object,
    answers: object,
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
    answers_format: str = "auto",
    **reading: Any,
) -> PlacementDocument:
    """Place answers without offsets on the gold text, and score them under every policy.

    Args:
        gold: a file, an `Annotation`, or anything else that `spanwise.read` takes, with text.
        answers: a file with one JSON value per line, the log of a harness, or a list with one item per unit.
        policy: "first", "all", "next" or "ordered", or the rule of another project: "uie", "spacy-llm",
            "langextract"; "uniner" and "gollie" compare strings, and "ordered" is used for placing.
        level: the last level at which to look for candidates: "exact", "case", "bare", "article" or
            "fuzzy" (default).
        threshold: the minimum similarity at level "fuzzy".
        aliases: a mapping from the labels of answers to those of gold.
        repeats: whether to drop a repeated answer that cannot be placed, or keep it as a wrong prediction.
        unknown: whether to keep or drop answers with labels that gold does not have.
        prompt_unit: the unit of text of each record: "sentence" or "document".
        response: the field with the raw response of the model; dots lead to inner fields.
        sample: the sample to place, if units have several, or the system of a log that has several.
        answers_format: the format of the answers: "inspect", "lm-eval", "promptfoo", "langextract-jsonl",
            "openai-batch", "anthropic-batch", "langsmith", "phoenix", "csv", "records", or "auto" to
            recognise it (default).
        reading: keywords of `spanwise.read`, for the gold file.

    Returns:
        A document with the counts of units and answers, the scores under every policy and of strings, the
        two bounds, the ceilings, and the range from the lowest to the highest F1.

    Examples:
        >>> from spanwise.formats import from_tags
        >>> gold = from_tags([["B-PER", "O", "B-PER"]], tokens=[["Ann", "met", "Ann"]])
        >>> answers = [[{"text": "Ann", "label": "PER"}, {"text": "ann", "label": "person"}]]
        >>> document = place(gold, answers, aliases={"person": "PER"})
        >>> document.answers.placed, document.policies.first.f1, document.policies.ordered.f1
        (2, 0.6666666666666666, 1.0)
    """
    choices = checked(
        policy=policy, level=level, threshold=threshold, aliases=aliases, repeats=repeats, unknown=unknown,
        prompt_unit=prompt_unit, response=response, sample=sample, answers_format=answers_format,
    )  # fmt: skip
    return placed_on(gold, answers, choices, reading).document


def placed_on(gold: object, answers: object, choices: PlacementChoices, reading: ReadKeywords) -> Placement:
    """Like `placement`, with gold that has not been read yet; rules on labels hold for both."""
    rules = rules_of(reading)
    annotation = Reader(**reading).read(gold)
    placed = placement(annotation, answers, choices.under(rules))
    rules.check(annotation.labels_as_read, placed.annotation.labels_as_read)
    return placed


def placement(gold: Annotation, answers: object, choices: PlacementChoices) -> Placement:
    """Like `place`, but return the predictions along with the document."""
    units = Units.of(gold.corpus, choices.prompt_unit)
    choices = replace(
        choices, sample=chosen_sample(answers, choices.sample, choices.response, choices.answers_format)
    )
    given = read_answers(
        answers, units, labels=gold_labels(gold.mentions), aliases=choices.aliases,
        response=choices.response, sample=choices.sample, answers_format=choices.answers_format,
        gapped=gold.mentions.parts is not None,
    )  # fmt: skip
    laid = lay_out_answers(gold, units, given, choices)
    return Placement(document(gold, given, laid, choices), predictions(gold, given, laid, choices), choices)


class PlacedSystems(Struct, frozen=True, eq=False):
    """Gold and systems, with answers placed; `documents` describes how."""

    gold: Any
    systems: Mapping[str, object]
    documents: Mapping[str, PlacementDocument]


def place_systems(
    gold: object, systems: Mapping[str, object], how: str | Mapping[str, Any] | None, reading: ReadKeywords
) -> PlacedSystems:
    """Replace the systems that give answers by their placed predictions; leave the others unchanged.

    Args:
        how: a policy, or keywords of `place`; None places only records in memory that hold answers.

    Returns:
        The gold data (read if there are answers to place) and the systems.

    Raises:
        ChoiceError: the chosen rule only compares strings, or units have several samples, which are runs.
    """
    options = place_keywords(how)
    choices = checked(**options).with_places()
    giving = {
        name
        for name, source in systems.items()
        if has_answers(
            source, options.get("response"), files=how is not None, answers_format=choices.answers_format
        )
    }
    if how is not None and not giving:
        raise ChoiceError(
            "answers is given, but no system is a file of answers.\n"
            'Give one JSON record per unit, such as {"id": 0, "answers": [{"text": …, "label": …}]}.'
        )
    if not giving:
        return PlacedSystems(gold, dict(systems), {})
    annotation = Reader(**reading).read(gold)
    choices = choices.under(rules_of(reading))
    placed: dict[str, object] = {}
    documents: dict[str, PlacementDocument] = {}
    for name, source in systems.items():
        if name not in giving:
            placed[name] = source
            continue
        chosen = chosen_sample(source, choices.sample, choices.response, choices.answers_format) is not None
        several = () if chosen else systems_of(source, choices.answers_format, choices.response)
        for system in several or (None,):
            each = choices if system is None else replace(choices, sample=system)
            samples = {} if chosen else samples_of(source, each.response, each.answers_format, system)
            if len(samples) > 1:
                raise ChoiceError(
                    f"{system or name!r} has {len(samples)} samples per unit: they are runs of one system.\n"
                    "Choose one with sample=, or score all of them as runs of a study."
                )
            key = name if system is None else name_of_system(name, system, alone=len(systems) == 1)
            document = placement(annotation, source, each)
            placed[key], documents[key] = document.annotation, document.document
    return PlacedSystems(annotation, placed, documents)


def name_of_system(name: str, system: str, *, alone: bool) -> str:
    """What a system of a log is called: as in the log if no other file is evaluated."""
    return system if alone else f"{name} {system}"


def systems_of(source: object, answers_format: str = "auto", response: str | None = None) -> tuple[str, ...]:
    """The systems of a log that has several, in order of first occurrence; otherwise nothing."""
    if not isinstance(source, str | os.PathLike):
        return ()
    log = read_log(opened(source), answers_format, response)
    names = () if log is None else tuple(dict.fromkeys(entry.system for entry in log.responses))
    return tuple(name for name in names if name is not None) if len(names) > 1 else ()


def place_keywords(how: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """The keywords of `place` given as a policy or a mapping, checked for unknown names."""
    options = {"policy": how} if isinstance(how, str) else dict(how or {})
    for name in options:
        if name not in KEYWORDS:
            raise unknown_choice("keyword of answers", name, KEYWORDS)
    return options


def without_offsets(annotation: Annotation, prompt_unit: PromptUnit) -> list[list[dict[str, object]]]:
    """Convert mentions to answers without positions: one list per unit, in text order."""
    units = Units.of(annotation.corpus, prompt_unit)
    mentions = annotation.mentions
    texts, names = surfaces(annotation.corpus, mentions), mentions.names()
    answers: list[list[dict[str, object]]] = [[] for _ in range(len(units))]
    for row in gold_order(annotation).tolist():
        pieces = texts[row]
        text = list(pieces) if len(pieces) > 1 else pieces[0]
        answers[int(units.of_sentence[mentions.sentence[row]])].append({"text": text, "label": names[row]})
    return answers
