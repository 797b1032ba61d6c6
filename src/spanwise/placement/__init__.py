"""Answers without offsets are placed on the gold text by a stated rule, and scored under every other one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from spanwise.corpus import Annotation
from spanwise.document.analyses import PlacementDocument
from spanwise.errors import ChoiceError
from spanwise.errors import unknown as unknown_choice
from spanwise.formats import read
from spanwise.placement._answers import has_answers, read_answers, samples_of
from spanwise.placement._assembly import (
    KEYWORDS,
    PRESETS,
    Choices,
    Preset,
    checked,
    document,
    gold_labels,
    laid_out,
    predictions,
)
from spanwise.placement._candidates import LEVELS
from spanwise.placement._parsing import Answer
from spanwise.placement._policies import POLICIES
from spanwise.placement._units import PromptUnit, Units, gold_order, surfaces

__all__ = [
    "LEVELS",
    "POLICIES",
    "PRESETS",
    "Answer",
    "Choices",
    "PlacedSystems",
    "Placement",
    "Preset",
    "PromptUnit",
    "asked",
    "checked",
    "has_answers",
    "place",
    "place_systems",
    "placement",
    "samples_of",
    "without_offsets",
]


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
    choices = checked(
        policy=policy, level=level, threshold=threshold, aliases=aliases, repeats=repeats, unknown=unknown,
        prompt_unit=prompt_unit, response=response, sample=sample,
    )  # fmt: skip
    return placement(read(gold, **reading), answers, choices).document


def placement(gold: Annotation, answers: Any, choices: Choices) -> Placement:
    """The document of `place` together with the predictions."""
    units = Units.of(gold.corpus, choices.prompt_unit)
    given = read_answers(
        answers, units, labels=gold_labels(gold.mentions), response=choices.response, sample=choices.sample
    )
    laid = laid_out(gold, units, given, choices)
    return Placement(document(gold, given, laid, choices), predictions(gold, given, laid, choices))


class PlacedSystems(Struct, frozen=True, eq=False):
    """Gold and systems, those that give answers placed on it; `documents` says how."""

    gold: Any
    systems: Mapping[str, Any]
    documents: Mapping[str, PlacementDocument]


def place_systems(
    gold: Any, systems: Mapping[str, Any], how: str | Mapping[str, Any] | None, reading: Mapping[str, Any]
) -> PlacedSystems:
    """Gold and systems with the predictions of those that give answers, placed; others stay as they are.

    Args:
        how: a policy, or keywords of `place`; None places only records in memory that hold answers.

    Returns:
        The gold annotation, read where answers had to be placed on it, and the systems. Several samples
        of one system become systems of their own, `NAME.SAMPLE`.
    """
    options = asked(how)
    giving = {
        name
        for name, source in systems.items()
        if has_answers(source, options.get("response"), files=how is not None)
    }
    if how is not None and not giving:
        raise ChoiceError(
            "answers is given, but no system is a file of answers.\n"
            'Give one JSON record per unit, such as {"id": 0, "answers": [{"text": …, "label": …}]}.'
        )
    if not giving:
        return PlacedSystems(gold, dict(systems), {})
    annotation = read(gold, **reading)
    placed: dict[str, Any] = {}
    documents: dict[str, PlacementDocument] = {}
    for name, source in systems.items():
        if name not in giving:
            placed[name] = source
            continue
        samples = {} if options.get("sample") is not None else samples_of(source)
        several = {f"{name}.{sample}": {**options, "sample": sample} for sample in samples}
        for own, choices in (several if len(samples) > 1 else {name: options}).items():
            found = placement(annotation, source, checked(**choices))
            placed[own], documents[own] = found.annotation, found.document
    return PlacedSystems(annotation, placed, documents)


def asked(how: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """The keywords of `place` that a policy, or a mapping, stands for."""
    options = {"policy": how} if isinstance(how, str) else dict(how or {})
    for name in options:
        if name not in KEYWORDS:
            raise unknown_choice("keyword of answers", name, KEYWORDS)
    return options


def without_offsets(annotation: Annotation, prompt_unit: PromptUnit) -> list[list[dict[str, object]]]:
    """The answers that mentions would be if their positions were lost: one list per unit, in text order."""
    units = Units.of(annotation.corpus, prompt_unit)
    mentions = annotation.mentions
    texts, names = surfaces(annotation.corpus, mentions), mentions.names()
    answers: list[list[dict[str, object]]] = [[] for _ in range(len(units))]
    for row in gold_order(annotation).tolist():
        pieces = texts[row]
        text = list(pieces) if len(pieces) > 1 else pieces[0]
        answers[int(units.of_sentence[mentions.sentence[row]])].append({"text": text, "label": names[row]})
    return answers
