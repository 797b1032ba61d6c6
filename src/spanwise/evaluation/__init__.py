"""Evaluate systems against gold: from files or lists to one result document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spanwise import __version__
from spanwise.attributes import Attribute, choose
from spanwise.buckets import Strategy
from spanwise.credits import Credit, credit_of
from spanwise.description import dataset_document
from spanwise.diagnosis import findings, letters, slices
from spanwise.errors import ChoiceError, unknown
from spanwise.evaluation._dataset import Dataset, dataset
from spanwise.evaluation._examples import CAP, check_policy
from spanwise.evaluation._inputs import Units, gather
from spanwise.evaluation._measures import FOCI
from spanwise.evaluation._system import count_system, system_document
from spanwise.evaluation._uncertain import compared, scored
from spanwise.evaluation.result import SCHEMA, Result, SystemResult, View, load, write_json
from spanwise.uncertainty import Resampling

__all__ = ["Result", "SystemResult", "View", "compare", "evaluate", "load", "write_json"]

FEW_UNITS = 60
CORRECTIONS = ("holm", "bh")


def evaluate(
    gold: Any,
    systems: Any = None,
    *,
    train: Any = None,
    name: str | None = None,
    focus: str = "gold",
    weights: str | Credit | Sequence[str | Credit] = (),
    attributes: str | Sequence[str | Attribute] | None = None,
    buckets: Mapping[str, str | Strategy] | None = None,
    edges: Mapping[str, Any] | None = None,
    cross: Sequence[tuple[str, str]] = (),
    vocabulary: Sequence[str] | None = None,
    lowercase: bool = False,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    unit: str | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
    correction: str = "holm",
    align: str = "strict",
    examples: str = "errors",
    examples_cap: int = CAP,
    redact: bool = False,
    command: str | None = None,
    **reading: Any,
) -> Result:
    """Score one or more systems against gold, and find where and why they lose.

    Args:
        gold: a file, an `Annotation`, lists of tags or lists of spans; without `systems` a file
            that holds gold and predicted tags (or several such files over the same gold).
        systems: predictions by name, or one or several files, which are named by their stem.
        train: one or more training files; without it nothing is said of seen and unseen mentions.
        focus: the label under which errors count: "gold", "predicted", or "both" (half each).
        weights: further credits, by name ("ortmann-eq7") or formula ("BE = 0.5 TP + 0.25 FP + 0.25 FN").
        attributes: names, or a preset ("fu20", "fu19", "all", "none"); by default the eight of Fu20.
        buckets: how to cut attributes, such as `{"entity_length": "1,2,3", "sentence_length": "balanced:6"}`.
        edges: buckets of an earlier result (`result.edges()`), used as they are.
        cross: pairs of attributes of mentions whose buckets are crossed.
        vocabulary: the known words for out-of-vocabulary density, in place of the training words.
        resamples: of the bootstrap; 0 for no intervals and no tests.
        unit: what is resampled: "document" where the data mark them, else "sentence".
        pairs: the pairs of systems to test; by default all.
        align: "strict", "position", "characters" or "diff", where tokens of predictions differ.
        examples: which sentences the document holds: "errors", "all" or "none".
        redact: leave out all text.
        reading: keywords of `spanwise.read`, such as `scheme`, `repair`, `tag_column`.

    Returns:
        A result whose scores are fractions; what is undefined (0/0) is None.

    Examples:
        >>> result = evaluate([["B-PER", "I-PER", "O"]], {"mine": [["B-PER", "O", "O"]]}, resamples=0)
        >>> result["mine"].exact.overall.f1, result["mine"].fair.overall.BEs
        (0.0, 1)
    """
    settings = _Settings(
        focus=focus, resamples=resamples, seed=seed, confidence=confidence,
        correction=correction, align=align, examples=examples,
    )  # fmt: skip
    credits = _credits(weights)
    inputs = gather(gold, systems, train, align=align, reading=reading, name=name)
    units = Units.of(inputs.corpus, unit)
    crosses = _crosses(cross)
    data = dataset(
        inputs,
        units,
        attributes=_with_crossed(attributes, crosses),
        buckets=buckets,
        edges=edges,
        vocabulary=None if vocabulary is None else frozenset(vocabulary),
        lowercase=lowercase,
    )
    crosses = _possible(crosses, data)
    counted = {
        system: count_system(data, mentions, focus=focus, credits=list(credits), crosses=crosses)
        for system, mentions in inputs.systems.items()
    }
    resampling = Resampling(units.number, resamples, seed)
    scores = scored(
        {system: one.measures for system, one in counted.items()}, resampling, confidence=confidence
    )
    tested = compared(
        scores, _pairs(pairs, list(counted)), resampling, confidence=confidence, correction=correction
    )
    described = _describe(data)
    documents = {system: system_document(data, one, scores[system]) for system, one in counted.items()}
    for document in documents.values():
        document["slices"] = slices(document, described)
    summary: dict[str, Any] = {
        "spanwise": __version__,
        "schema": SCHEMA,
        "kind": "evaluation",
        "signature": "",
        "inputs": list(inputs.entries),
        "settings": {
            **settings.to_dict(),
            "unit": units.kind,
            "units": units.number,
            "few_units": units.number < FEW_UNITS,
            "repair": reading.get("repair", "conlleval"),
            "lowercase": lowercase,
            "attributes": list(data.bucketings),
            "buckets": dict(data.strategies),
            "credits": {name: credit.formula() for name, credit in credits.items()},
            "vocabulary": None if vocabulary is None else len(set(vocabulary)),
            "examples_cap": examples_cap,
            "redacted": redact,
            "preset": None,
            "command": command,
        },
        "dataset": described,
        "systems": documents,
        "comparisons": tested,
        "letters": letters(documents, tested) if len(documents) > 1 else {},
        "findings": [],
    }
    summary["signature"] = signature(summary)
    summary["findings"] = findings(summary)
    return Result(summary, data, counted)


def compare(gold: Any, systems: Any = None, **options: Any) -> Result:
    """Test which of several systems is better, and where: `evaluate` for two systems or more.

    Raises:
        ChoiceError: there are fewer than two systems.
    """
    result = evaluate(gold, systems, **options)
    if len(result) < 2:
        raise ChoiceError("a comparison needs two systems or more.\nGive another file of predictions.")
    result.summary["kind"] = "comparison"
    return result


@dataclass(frozen=True)
class _Settings:
    """The choices that shape numbers; wrong ones are refused before any file is opened."""

    focus: str
    resamples: int
    seed: int
    confidence: float
    correction: str
    align: str
    examples: str

    def __post_init__(self) -> None:
        if self.focus not in FOCI:
            raise unknown("focus", self.focus, FOCI)
        if self.correction not in CORRECTIONS:
            raise unknown("correction", self.correction, CORRECTIONS)
        check_policy(self.examples)
        if not 0 <= self.resamples <= 1_000_000:
            raise ChoiceError(f"resamples is {self.resamples!r}, but must be between 0 and 1,000,000.")
        if self.seed < 0:
            raise ChoiceError(f"seed is {self.seed!r}, but must be 0 or more.")
        if not 0.5 <= self.confidence < 1:
            raise ChoiceError(f"confidence is {self.confidence!r}, but must be at least 0.5 and below 1.")

    def to_dict(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in self.__dataclass_fields__}


def _credits(weights: str | Credit | Sequence[str | Credit]) -> dict[str, Credit]:
    listed = [weights] if isinstance(weights, str | Credit) else list(weights)
    found = {}
    for one in listed:
        credit = credit_of(one)
        found[credit.name] = credit
    found.pop("fair", None)  # it is always there
    return found


def _crosses(cross: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    found = []
    for one, two in cross:
        first, second = choose([one])[0], choose([two])[0]
        if "token" in (first.unit, second.unit):
            named = first if first.unit == "token" else second
            raise ChoiceError(
                f"{named.name!r} is an attribute of tokens and cannot be crossed.\n"
                "Cross two attributes of mentions; spanwise list attributes shows their units."
            )
        found.append((first.name, second.name))
    return found


def _with_crossed(attributes: Any, crosses: Sequence[tuple[str, str]]) -> Any:
    """The attributes asked for and those that are crossed."""
    crossed = [name for pair in crosses for name in pair]
    if not crossed:
        return attributes
    if attributes is None:
        return ["fu20", *crossed]
    return [*(attributes.split(",") if isinstance(attributes, str) else attributes), *crossed]


def _possible(crosses: Sequence[tuple[str, str]], data: Dataset) -> list[tuple[str, str]]:
    for pair in crosses:
        for name in pair:
            if name in data.absent:
                raise ChoiceError(f"{name!r} cannot be crossed: {data.absent[name]}")
    return list(crosses)


def _pairs(pairs: Sequence[tuple[str, str]] | None, names: Sequence[str]) -> list[tuple[str, str]]:
    if pairs is None:
        return [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    for pair in pairs:
        for system in pair:
            if system not in names:
                raise unknown("system", system, names)
    return [(one, other) for one, other in pairs]


def _describe(data: Dataset) -> dict[str, Any]:
    return dataset_document(
        data.inputs.name,
        data.inputs.gold,
        data.inputs.train,
        toughness=data.toughness,
        zeta={name: one.zeta for name, one in data.gold_values.items()},
        absent=dict(data.absent),
    )


def signature(document: Mapping[str, Any]) -> str:
    """Every setting that shapes a number, in one line that can stand under a table."""
    settings, gold = document["settings"], document["inputs"][0]
    parts = [
        "spanwise",
        f"v:{document['spanwise']}",
        "match:exact+fair",
        f"focus:{settings['focus']}",
        f"scheme:{gold['scheme'] or gold['format']}",
        f"repair:{settings['repair']}",
        f"align:{settings['align']}",
        f"ci:bootstrap.{settings['unit']}.{settings['resamples']}",
        f"conf:{settings['confidence']}",
        f"seed:{settings['seed']}",
    ]
    if settings["resamples"] and len(document["systems"]) > 1:
        parts.append(f"test:randomisation.{settings['correction']}")
    if settings["attributes"]:
        parts.append(
            "attributes:"
            + "+".join(f"{name}[{settings['buckets'][name]}]" for name in settings["attributes"])
        )
    if settings["credits"]:
        parts.append("weights:" + "+".join(settings["credits"]))
    if settings["lowercase"]:
        parts.append("lowercase")
    if settings["vocabulary"] is not None:
        parts.append(f"vocabulary:{settings['vocabulary']}")
    if gold["sha256"]:
        parts.append(f"gold:{gold['sha256'][:8]}")
    return "|".join(parts).replace("\n", " ")
