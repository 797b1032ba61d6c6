"""Confidence scores of predictions: ranking, thresholds, calibration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from math import nan
from typing import Any, Literal

import numpy as np
from msgspec import UNSET, Struct
from msgspec.structs import replace

from spanwise import __version__
from spanwise.attributes import Attribute
from spanwise.buckets import Strategy
from spanwise.calibration.measures import (
    Draws,
    Scored,
    at_precision_of,
    cell_of,
    macro_of,
    pair_of,
    points_of,
    risk_of,
    threshold_of,
)
from spanwise.columns import Bools, Column, Floats, Ints, floats, ints
from spanwise.conditions import Sides, describe_sides
from spanwise.corpus import Annotation, Mentions, with_one_labelling
from spanwise.document.analyses import Confidence, ConfidenceSettings, SystemConfidence
from spanwise.errors import ChoiceError, InputError, many, unknown
from spanwise.evaluation._choices import Inputs, ResampledUnits, gather, named_sources
from spanwise.formats import NO_SCORE, read
from spanwise.formats._format import ReadKeywords
from spanwise.matching import MATCHERS
from spanwise.settings import MOST_DRAWS

__all__ = ["TOKEN_SCORES", "apply_threshold", "confidence", "confidence_of", "read_scored"]

Missing = Literal["error", "lowest"]
TokenScores = Literal["product", "mean", "min"]
MISSING: tuple[Missing, ...] = ("error", "lowest")
TOKEN_SCORES: tuple[TokenScores, ...] = ("product", "mean", "min")
FEW_UNITS = 60  # below which intervals have less than their nominal coverage


def confidence(
    gold: object,
    systems: object = None,
    *,
    dev: tuple[object, object] | None = None,
    train: object = None,
    attributes: str | Attribute | Iterable[str | Attribute] = "none",
    buckets: Mapping[str, str | Strategy] | None = None,
    precision: float = 0.95,
    recall: float | None = None,
    missing: Missing = "error",
    score_column: int | str | None = None,
    token_scores: TokenScores = "mean",
    resamples: int = 1000,
    seed: int = 0,
    unit: str | None = None,
    align: object = "strict",
    name: str | None = None,
    command: str | None = None,
    **reading: object,
) -> Confidence:
    """Evaluate the confidence scores of one or more systems.

    Args:
        gold: as in `evaluate`.
        systems: predictions with scores, by name, or one or several files.
        dev: gold and predictions of a dev set, on which the threshold is chosen.
        train: training data, for attributes that need it.
        attributes: names or a preset; the scores of predictions in each bucket are assessed as well.
        buckets: how to cut attributes, as in `evaluate`.
        precision: the precision to reach with the highest recall, and at which systems are compared.
        recall: the recall at which systems are compared; by default the highest that both reach.
        missing: a mention without a score is an "error", or gets the "lowest" score there is.
        score_column: the column of token scores in a CoNLL file.
        token_scores: how a mention's score is made from those of its tokens: "mean", "product" or "min".
        resamples: bootstrap resamples, and draws for the chance level; 0 for neither.
        reading: keywords of `spanwise.read`.

    Examples:
        >>> gold = [[(0, 1, "PER"), (2, 3, "LOC")]]
        >>> mine = [[{"start": 0, "end": 1, "label": "PER", "score": 0.9}]]
        >>> confidence(gold, {"mine": mine}, resamples=0).systems["mine"].overall.average_precision
        0.5
    """
    asked = Weighing(
        precision=precision, recall=recall, missing=missing, resamples=resamples, seed=seed, unit=unit,
        attributes=attributes, buckets=buckets, command=command,
    )  # fmt: skip
    if token_scores not in TOKEN_SCORES:
        raise unknown("way to join scores of tokens", token_scores, TOKEN_SCORES)
    how = _Reading(score_column, token_scores, align, reading)
    inputs = how.gather(gold, systems, train, name)
    held_out = None if dev is None else how.gather(dev[0], dev[1], None, None)
    return _weighed(inputs, held_out, token_scores if _made_from_tokens(inputs) else None, asked)


class Weighing(Struct, frozen=True, kw_only=True):
    """What to compute: keywords of `confidence`, checked."""

    precision: float = 0.95
    recall: float | None = None
    missing: Missing = "error"
    resamples: int = 1000
    seed: int = 0
    unit: str | None = None
    attributes: str | Attribute | Iterable[str | Attribute] = "none"
    buckets: Mapping[str, str | Strategy] | None = None
    command: str | None = None

    def __post_init__(self) -> None:
        for name, share in (("precision", self.precision), ("recall", self.recall)):
            if share is not None and not 0 < share <= 1:
                raise ChoiceError(f"{name} is {share!r}, but must be above 0 and at most 1.")
        _check_missing(self.missing)
        for name, number in (("resamples", self.resamples), ("seed", self.seed)):
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                raise ChoiceError(f"{name} is {number!r}, but must be a whole number of 0 or more.")
        if self.resamples > MOST_DRAWS:
            raise ChoiceError(f"resamples is {self.resamples}, but must be at most {MOST_DRAWS:,}.")


def confidence_of(inputs: Inputs, *, dev: Inputs | None = None, **options: Any) -> Confidence:
    """The same of data that were read already, under the keywords of `confidence`."""
    return _weighed(inputs, dev, None, Weighing(**options))


def _weighed(inputs: Inputs, dev: Inputs | None, tokens: str | None, asked: Weighing) -> Confidence:
    units = ResampledUnits.of(inputs.corpus, asked.unit)
    draws = Draws.of(units.number, asked.resamples, asked.seed)
    partner = _partners(inputs, dev)
    sides = None
    if asked.attributes != "none" or asked.buckets:
        sides = describe_sides(inputs, attributes=asked.attributes, buckets=asked.buckets)
    scored = {system: _scored(inputs, system, units, asked.missing) for system in inputs.systems}
    systems = {
        system: _system(system, one, draws, partner.get(system), sides, asked)
        for system, one in scored.items()
    }
    pairs = tuple(
        pair_of(
            (one, other), scored[one].whole, scored[other].whole, draws,
            precision=asked.precision, recall=asked.recall,
        )
        for one, other in combinations(scored, 2)
    )  # fmt: skip
    return Confidence(
        spanwise=__version__,
        kind="confidence",
        signature=_signature(inputs, units, asked, tokens, dev is not None),
        inputs=(*inputs.documented(), *(replace(one, role=f"dev {one.role}") for one in _listed(dev))),
        settings=ConfidenceSettings(
            resamples=asked.resamples,
            seed=asked.seed,
            unit=units.kind,
            number=units.number,
            few_units=units.number < FEW_UNITS,
            groups=draws.groups,
            missing=asked.missing,
            tokens=tokens,
            command=asked.command,
        ),
        systems=systems,
        pairs=pairs,
        notes=_notes(units, draws, systems),
    )


def apply_threshold(
    source: object,
    threshold: float,
    *,
    missing: Missing = "error",
    score_column: int | str | None = None,
    token_scores: TokenScores = "mean",
    **reading: object,
) -> Annotation:
    """The annotation with only the mentions whose score is at least `threshold`."""
    _check_missing(missing)
    annotation = read_scored(source, score_column=score_column, token_scores=token_scores, **reading)
    score, _ = _scores(annotation.mentions, annotation, missing)
    return replace(annotation, mentions=annotation.mentions.take(score >= threshold))


def read_scored(
    source: Any,
    *,
    score_column: int | str | None = None,
    token_scores: TokenScores = "mean",
    **reading: Any,
) -> Annotation:
    """Predictions with scores; with `score_column` those of mentions are made from those of tokens."""
    columns = {} if score_column is None else {"columns": {"score": score_column}}
    annotation = read(source, **{**reading, **columns})
    return replace(annotation, mentions=_with_scores(annotation, token_scores))


class _Reading(Struct, frozen=True, eq=False):
    """How predictions and their scores are read."""

    score_column: int | str | None
    token_scores: TokenScores
    align: Any
    reading: ReadKeywords

    def gather(self, gold: Any, systems: Any, train: Any, name: str | None) -> Inputs:
        """Gold and predictions, whose mentions have scores."""
        given = systems
        if self.score_column is not None and systems is not None:
            gold = read(gold, **self.reading)
            reading = {**self.reading, "columns": {"score": self.score_column}, "prefer": gold.reading.scheme}
            given = {key: read(source, **reading) for key, source in named_sources(systems).items()}
        inputs = gather(gold, given, train, align=self.align, reading=dict(self.reading), name=name)
        # Aligned mentions are in the order in which they were read.
        scores = {key: _with_scores(one, self.token_scores).score for key, one in inputs.predicted.items()}
        aligned = {key: replace(one, score=scores[key]) for key, one in inputs.systems.items()}
        return replace(inputs, systems=aligned)


def _made_from_tokens(inputs: Inputs) -> bool:
    return any(
        one.mentions.score is None and "score" in one.corpus.columns for one in inputs.predicted.values()
    )


def _with_scores(annotation: Annotation, how: TokenScores) -> Mentions:
    """The mentions with their own scores, or with scores made from a column of token scores."""
    corpus, mentions = annotation.corpus, annotation.mentions
    if mentions.score is not None or "score" not in corpus.columns:
        return mentions
    token = _numbers(corpus.columns["score"], annotation)
    first = corpus.sentences[mentions.sentence]
    begin, end = first + mentions.start, first + mentions.end
    between = np.stack([begin, end], axis=1).reshape(-1)
    padded = np.append(token, np.nan)  # a mention may end with the last token
    least = np.minimum.reduceat(padded, between)[::2] if len(mentions) else np.zeros(0)
    if how == "min":
        score = least
    else:
        with np.errstate(divide="ignore"):
            values = np.log(token) if how == "product" else token
        sums = np.array([values[a:b].sum() for a, b in zip(begin.tolist(), end.tolist(), strict=True)])
        score = np.exp(sums) if how == "product" else sums / np.maximum(end - begin, 1)
        if how == "mean" and len(mentions):  # of equal scores it is that score, whatever sums are rounded to
            score = np.clip(score, least, np.maximum.reduceat(padded, between)[::2])
    return replace(mentions, score=floats(score))


def _numbers(column: Column, annotation: Annotation) -> Floats:
    """A column of token scores as numbers; NaN where a token has none."""
    scores = []
    for value in column.tolist():
        try:
            scores.append(nan if value == NO_SCORE else float(value))
        except (TypeError, ValueError):
            raise InputError(
                f"{annotation.reading.path}: the score {value!r} is not a number.\n"
                "Name the column of scores with score_column=."
            ) from None
    return floats(scores)


def _check_missing(missing: str) -> None:
    if missing not in MISSING:
        raise unknown("way to treat missing scores", missing, MISSING)


def _scores(mentions: Mentions, annotation: Annotation, missing: Missing) -> tuple[Floats, int]:
    """The score of every mention, and how many had none."""
    score = mentions.score
    absent = np.ones(len(mentions), dtype=bool) if score is None else np.isnan(score)
    number = int(absent.sum())
    path = annotation.reading.path
    if number and missing == "error":
        row = int(np.argmax(absent))
        if number == len(mentions):
            raise InputError(
                f"{path}: the predictions have no scores.\nGive each span a score, or name the column of "
                "token scores with score_column=."
            )
        sentence, start, end, label = annotation.mentions.rows()[row]
        place = annotation.corpus.place(sentence)
        share = f"{number:,} of {len(mentions):,} mentions"
        raise InputError(
            f"{place}: the mention {label} [{start}, {end}) has no score ({share}).\n"
            'Give it one, or take the lowest with missing="lowest".'
        )
    if score is None:
        return floats(np.zeros(len(mentions))), number
    if np.isinf(score).any():
        raise InputError(f"{path}: a score is infinite.\nGive finite numbers.")
    lowest = float(np.nanmin(score)) if number < len(score) else 0.0
    return floats(np.where(absent, lowest, score)), number


class _System(Struct, frozen=True, eq=False):
    """The scored predictions of one system, and both sides' mentions to part them by."""

    whole: Scored
    absent: int
    gold: Mentions
    predicted: Mentions
    gold_unit: Ints

    def part(self, gold: Bools, predicted: Bools) -> Scored:
        """The predictions chosen, against the gold mentions chosen."""
        whole = self.whole
        held = np.bincount(self.gold_unit[gold], minlength=len(whole.gold_by_unit))
        return Scored(
            floats(whole.score[predicted]), whole.right[predicted], ints(whole.unit[predicted]), ints(held)
        )

    def labels(self) -> dict[str, Scored]:
        """The predictions of every label that has gold or predicted mentions."""
        codes = range(len(self.gold.labels))
        chosen = [(self.gold.label == code, self.predicted.label == code) for code in codes]
        return {
            label: self.part(gold, predicted)
            for label, (gold, predicted) in zip(self.gold.labels, chosen, strict=True)
            if gold.any() or predicted.any()
        }

    def buckets(self, system: str, sides: Sides) -> dict[str, dict[str, Scored]]:
        """The predictions in every bucket of every attribute, against the gold mentions in it."""
        cells: dict[str, dict[str, Scored]] = {}
        for name, told in sides.gold.attributes.items():
            there = sides.predicted[system].attributes[name].bucket
            parts = {
                bucket.name: self.part(np.asarray(told.bucket == code), np.asarray(there == code))
                for code, bucket in enumerate(told.bucketing.buckets)
            }
            cells[name] = {bucket: one for bucket, one in parts.items() if one.gold or len(one.score)}
        return cells


def _scored(inputs: Inputs, system: str, units: ResampledUnits, missing: Missing) -> _System:
    gold, predicted = with_one_labelling([inputs.gold.mentions, inputs.systems[system]])
    matching = MATCHERS.find("exact").function(gold, predicted)
    score, absent = _scores(predicted, inputs.predicted[system], missing)
    right = np.asarray(matching.predicted_partner >= 0)
    of_gold = ints(units.of_sentence[gold.sentence])
    whole = Scored(
        score,
        right,
        ints(units.of_sentence[predicted.sentence]),
        ints(np.bincount(of_gold, minlength=units.number)),
    )
    return _System(whole, absent, gold, predicted, of_gold)


def _system(
    name: str,
    one: _System,
    draws: Draws,
    dev: tuple[Inputs, str] | None,
    sides: Sides | None,
    asked: Weighing,
) -> SystemConfidence:
    cells = {label: cell_of(part, draws, asked.seed) for label, part in one.labels().items()}
    held_out = None
    if dev is not None:
        held_out = _scored(*dev, ResampledUnits.of(dev[0].corpus, None), asked.missing).whole.curve
    curve = one.whole.curve
    points, thinned = points_of(curve)
    parts = {} if sides is None else one.buckets(name, sides)
    return SystemConfidence(
        overall=cell_of(one.whole, draws, asked.seed),
        labels=cells,
        buckets={
            attribute: {bucket: cell_of(part, draws, asked.seed) for bucket, part in own.items()}
            for attribute, own in parts.items()
        },
        macro=macro_of(cells),
        curve=points,
        risk=risk_of(curve),
        threshold=threshold_of(one.whole, held_out),
        at_precision=at_precision_of(curve, held_out, asked.precision),
        missing=one.absent,
        thinned=thinned,
    )


def _partners(inputs: Inputs, dev: Inputs | None) -> dict[str, tuple[Inputs, str]]:
    """The dev predictions of each system: by name, else by order."""
    if dev is None:
        return {}
    if set(dev.systems) >= set(inputs.systems):
        return {system: (dev, system) for system in inputs.systems}
    if len(dev.systems) != len(inputs.systems):
        raise ChoiceError(
            f"there are {many(len(inputs.systems), 'system')}, but the dev set has predictions of "
            f"{len(dev.systems)}.\nGive the dev predictions of every system, under the same names."
        )
    return {system: (dev, other) for system, other in zip(inputs.systems, dev.systems, strict=True)}


def _listed(dev: Inputs | None) -> tuple[Any, ...]:
    return () if dev is None else dev.documented()


def _signature(inputs: Inputs, units: ResampledUnits, asked: Weighing, tokens: str | None, dev: bool) -> str:
    parts = ["spanwise", f"v:{__version__}", "match:exact", "bins:balanced.10", f"missing:{asked.missing}"]
    if tokens is not None:
        parts.append(f"tokens:{tokens}")
    parts += [
        f"ci:bootstrap.{units.kind}.{asked.resamples}",
        f"seed:{asked.seed}",
        f"threshold:{'dev' if dev else 'none'}",
    ]
    digest = inputs.gold.reading.sha256
    return "|".join([*parts, f"gold:{digest[:8]}"] if digest else parts).replace("\n", " ")


def _notes(units: ResampledUnits, draws: Draws, systems: Mapping[str, SystemConfidence]) -> tuple[str, ...]:
    notes = []
    for name, one in systems.items():
        if one.missing:
            notes.append(f"{name}: {many(one.missing, 'mention')} without a score got the lowest one.")
        if one.overall.why is not UNSET and one.overall.predicted:
            notes.append(f"{name}: {one.overall.why}, so calibration is not computed.")
    if draws.groups is not None and len(draws.weights):
        notes.append(
            f"The {units.number:,} {units.kind}s were joined at random into {draws.groups:,} groups that "
            "are resampled."
        )
    return tuple(notes)
