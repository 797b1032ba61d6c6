"""Confidence scores of predictions: ranking, thresholds, calibration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from math import nan
from typing import Any, Literal

import numpy as np
from msgspec import UNSET, Struct
from msgspec.structs import replace

from spanwise import __version__
from spanwise.alignment import How
from spanwise.attributes import Attribute, Side
from spanwise.buckets import Bucketing, Strategy
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
from spanwise.corpus import Annotation, Mentions, with_one_labelling
from spanwise.document import Input
from spanwise.document.analyses import Confidence, ConfidenceSettings, SystemConfidence
from spanwise.engines import engine_of
from spanwise.errors import ChoiceError, InputError, many, unknown
from spanwise.evaluation._blocks import BlockSums
from spanwise.evaluation._choices import Choices, Inputs, ResampledUnits, documented
from spanwise.evaluation._dataset import (
    BlockContext,
    Opened,
    Unopened,
    buckets_of,
    of_spark,
    opened_elsewhere,
    opened_inputs,
    read_by_spark,
)
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
    align: How = "strict",
    name: str | None = None,
    command: str | None = None,
    memory: int | str | None = None,
    workers: int | None = 1,
    engine: Any = None,
    **reading: Any,
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
        memory: read files in parts that need about so much memory ("1GB"), as in `evaluate`.
        workers: processes for the parts; they change no byte.
        engine: where mentions are matched, as in `evaluate`: a Spark session, or any `Engine`.
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
    columns = {} if score_column is None else {"columns": {"score": score_column}}
    where = engine_of(engine)

    def joined(given: Sources, name: str | None, choices: Choices) -> _Joined:
        if of_spark(given[0]) or read_by_spark(*given, where):
            raise ChoiceError(
                "confidence scores are read from files of this machine, not by Spark.\n"
                "Give such files; with the session as engine=, its executors match their mentions."
            )
        own = Unopened(*given, choices, name=name, engine=where, predicted_reading=columns)
        return _joined(opened_elsewhere(own, memory=memory, workers=workers), token_scores)

    held_out = None
    test = joined((gold, systems, train), name, asked.choices(align=align, reading=reading))
    if dev is not None:
        alike = Choices.of_mentions(attributes="none", buckets=None, align=align, reading=reading)
        held_out = joined((dev[0], dev[1], None), None, alike)
    return _weighed(test, held_out, token_scores if test.from_tokens else None, asked)


Sources = tuple[object, object, object]  # gold, predictions, training data


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

    def choices(self, *, align: How = "strict", reading: ReadKeywords) -> Choices:
        """What blocks are asked for: attributes of mentions, with their buckets."""
        return Choices.of_mentions(
            attributes=self.attributes, buckets=self.buckets, unit=self.unit, align=align, reading=reading
        )


def confidence_of(inputs: Inputs, *, dev: Inputs | None = None, **options: Any) -> Confidence:
    """The same of data that were read already, under the keywords of `confidence`."""
    asked = Weighing(**options)
    test = _joined(opened_inputs(inputs, asked.choices(reading={})), None)
    alike = Choices.of_mentions(attributes="none", buckets=None, reading={})
    held_out = None if dev is None else _joined(opened_inputs(dev, alike), None)
    return _weighed(test, held_out, None, asked)


# ---- what blocks give: small columns, whatever the text ----


class ScoredSide(Struct, frozen=True, eq=False):
    """The mentions of gold or of one system with what is known of each: unit, label, buckets."""

    unit: Ints
    label: Ints
    labels: tuple[str, ...]
    bucket: Column  # mentions × attributes

    @classmethod
    def joined(cls, parts: Sequence[ScoredSide], units: Sequence[int]) -> ScoredSide:
        """The mentions of consecutive parts, which have these numbers of units."""
        begins = np.cumsum([0, *units])[:-1].tolist()
        labels = tuple(sorted({label for part in parts for label in part.labels}))
        return cls(
            ints(np.concatenate([part.unit + begin for part, begin in zip(parts, begins, strict=True)])),
            ints(np.concatenate([part.coded(labels) for part in parts])),
            labels,
            np.concatenate([part.bucket for part in parts]),
        )

    def coded(self, labels: Sequence[str]) -> Ints:
        """The label of each mention as its place among others."""
        place = {label: code for code, label in enumerate(labels)}
        return ints(ints([place.get(label, -1) for label in self.labels])[self.label])

    @property
    def used(self) -> set[str]:
        """The labels that mentions have."""
        return {self.labels[code] for code in np.unique(self.label).tolist()}


class ScoredMentions(Struct, frozen=True, eq=False):
    """The predictions of one system: their scores, NaN where there is none, and whether each is right."""

    side: ScoredSide
    score: Floats
    right: Bools
    path: str
    without: str | None  # the first mention without a score, and where it is
    from_tokens: bool  # whether scores are made from those of tokens

    @classmethod
    def joined(cls, parts: Sequence[ScoredMentions], units: Sequence[int]) -> ScoredMentions:
        """The predictions of consecutive parts."""
        return cls(
            ScoredSide.joined([part.side for part in parts], units),
            floats(np.concatenate([part.score for part in parts])),
            np.concatenate([part.right for part in parts]),
            parts[0].path,
            next((part.without for part in parts if part.without is not None), None),
            any(part.from_tokens for part in parts),
        )


class ScoredBlock(Struct, frozen=True, eq=False):
    """What a block gives."""

    units: int
    gold: ScoredSide
    systems: Mapping[str, ScoredMentions]
    sums: Mapping[str, BlockSums]

    @classmethod
    def joined(cls, parts: Sequence[ScoredBlock]) -> ScoredBlock:
        """What consecutive blocks give."""
        if len(parts) == 1:
            return parts[0]
        units = [part.units for part in parts]
        return cls(
            sum(units),
            ScoredSide.joined([part.gold for part in parts], units),
            {
                system: ScoredMentions.joined([part.systems[system] for part in parts], units)
                for system in parts[0].systems
            },
            BlockSums.added([part.sums for part in parts]),
        )


class _Asked(Struct, frozen=True, eq=False):
    """What `weigh` needs beside a block."""

    shared: BlockContext
    token_scores: TokenScores | None  # None where scores of tokens are not looked for


def weigh(reference: object, asked: _Asked) -> ScoredBlock:
    """The scores of the predictions of one block, and whether they are right."""
    known = asked.shared
    block = known.source.open(reference)
    units, facts = ResampledUnits.of(block.corpus, known.unit), known.facts
    gold, *others = known.sides(block) if facts is not None else [None] * (1 + len(block.systems))
    exact = MATCHERS.find("exact").function

    def side(mentions: Mentions, one: Side | None) -> ScoredSide:
        buckets = np.zeros((len(mentions), 0), np.uint8)
        if one is not None and facts is not None:
            buckets = buckets_of(facts, one)
        unit = ints(units.of_sentence[mentions.sentence])
        return ScoredSide(unit, ints(mentions.label), tuple(mentions.labels), buckets)

    systems = {}
    for (system, mentions), one in zip(block.systems.items(), others, strict=True):
        annotation = block.predicted[system]
        scored = annotation.mentions
        if asked.token_scores is not None:
            scored = _with_scores(annotation, asked.token_scores)
        # Aligned mentions are in the order in which they were read.
        score = np.full(len(mentions), np.nan) if scored.score is None else scored.score
        matching = exact(*with_one_labelling([block.gold.mentions, mentions]))
        systems[system] = ScoredMentions(
            side(mentions, one),
            floats(score),
            np.asarray(matching.predicted_partner >= 0),
            annotation.reading.path,
            _without_score(annotation, np.isnan(score)),
            annotation.mentions.score is None and "score" in annotation.corpus.columns,
        )
    return ScoredBlock(units.number, side(block.gold.mentions, gold), systems, BlockSums.of_block(block))


def _without_score(annotation: Annotation, absent: Bools) -> str | None:
    """The first mention without a score, and where it is."""
    if not absent.any():
        return None
    sentence, start, end, label = annotation.mentions.rows()[int(np.argmax(absent))]
    return f"{annotation.corpus.place(sentence)}: the mention {label} [{start}, {end}) has no score"


class _Joined(Struct, frozen=True, eq=False):
    """What all blocks give, and what was read."""

    whole: ScoredBlock
    unit: str
    inputs: tuple[Input, ...]
    bucketings: Mapping[str, Bucketing]

    @property
    def from_tokens(self) -> bool:
        """Whether the scores of any system are made from those of tokens."""
        return any(system.from_tokens for system in self.whole.systems.values())


def _joined(opened: Opened, token_scores: TokenScores | None) -> _Joined:
    try:
        known = opened.fixed() if opened.shared.attributes else opened.shared
        source = known.source
        asked = partial(_Asked, token_scores=token_scores)
        whole = ScoredBlock.joined(list(known.mapped(opened.engine, weigh, source.references(), send=asked)))
    finally:
        opened.free()
    entries: list[Mapping[str, Any]] = [*source.entries(whole.sums), *opened.training]
    cuts = {} if known.facts is None else known.facts.bucketings
    return _Joined(whole, known.unit, tuple(map(documented, entries)), cuts)


def _weighed(test: _Joined, dev: _Joined | None, tokens: str | None, asked: Weighing) -> Confidence:
    number = test.whole.units
    draws = Draws.of(number, asked.resamples, asked.seed)
    partner = _partners(test.whole.systems, dev)
    scored = {system: _scored(test.whole, system, asked.missing) for system in test.whole.systems}
    systems = {
        system: _system(one, draws, partner.get(system), test.bucketings, asked)
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
        signature=_signature(test, asked, tokens, dev is not None),
        inputs=(
            *test.inputs,
            *(() if dev is None else (replace(one, role=f"dev {one.role}") for one in dev.inputs)),
        ),
        settings=ConfidenceSettings(
            resamples=asked.resamples,
            seed=asked.seed,
            unit=test.unit,
            number=number,
            few_units=number < FEW_UNITS,
            groups=draws.groups,
            missing=asked.missing,
            tokens=tokens,
            command=asked.command,
        ),
        systems=systems,
        pairs=pairs,
        notes=_notes(test, draws, systems),
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
    mentions = annotation.mentions
    score = np.full(len(mentions), np.nan) if mentions.score is None else mentions.score
    without = _without_score(annotation, np.isnan(score))
    score, _ = _scores(floats(score), annotation.reading.path, without, missing)
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


def _scores(score: Floats, path: str, without: str | None, missing: Missing) -> tuple[Floats, int]:
    """The score of every mention, and how many had none; `without` is the first of these."""
    absent = np.isnan(score)
    number = int(absent.sum())
    if number and missing == "error":
        if number == len(score):
            raise InputError(
                f"{path}: the predictions have no scores.\nGive each span a score, or name the column of "
                "token scores with score_column=."
            )
        raise InputError(
            f"{without} ({number:,} of {len(score):,} mentions).\n"
            'Give it one, or take the lowest with missing="lowest".'
        )
    if np.isinf(score).any():
        raise InputError(f"{path}: a score is infinite.\nGive finite numbers.")
    lowest = float(np.nanmin(score)) if number < len(score) else 0.0
    return floats(np.where(absent, lowest, score)), number


class _System(Struct, frozen=True, eq=False):
    """The scored predictions of one system, and both sides' mentions to part them by."""

    whole: Scored
    absent: int
    gold: ScoredSide
    predicted: ScoredSide

    def part(self, gold: Bools, predicted: Bools) -> Scored:
        """The predictions chosen, against the gold mentions chosen."""
        whole = self.whole
        held = np.bincount(self.gold.unit[gold], minlength=len(whole.gold_by_unit))
        return Scored(
            floats(whole.score[predicted]), whole.right[predicted], ints(whole.unit[predicted]), ints(held)
        )

    def labels(self) -> dict[str, Scored]:
        """The predictions of every label that has gold or predicted mentions."""
        names = sorted(self.gold.used | self.predicted.used)
        gold, predicted = self.gold.coded(names), self.predicted.coded(names)
        return {
            name: self.part(np.asarray(gold == code), np.asarray(predicted == code))
            for code, name in enumerate(names)
        }

    def buckets(self, bucketings: Mapping[str, Bucketing]) -> dict[str, dict[str, Scored]]:
        """The predictions in every bucket of every attribute, against the gold mentions in it."""
        cells: dict[str, dict[str, Scored]] = {}
        for index, (name, bucketing) in enumerate(bucketings.items()):
            here, there = self.gold.bucket[:, index], self.predicted.bucket[:, index]
            parts = {
                bucket.name: self.part(np.asarray(here == code), np.asarray(there == code))
                for code, bucket in enumerate(bucketing.buckets)
            }
            cells[name] = {bucket: part for bucket, part in parts.items() if part.gold or len(part.score)}
        return cells


def _scored(block: ScoredBlock, system: str, missing: Missing) -> _System:
    one, gold = block.systems[system], block.gold
    score, absent = _scores(one.score, one.path, one.without, missing)
    held = ints(np.bincount(gold.unit, minlength=block.units))
    return _System(Scored(score, one.right, one.side.unit, held), absent, gold, one.side)


def _system(
    one: _System,
    draws: Draws,
    dev: tuple[ScoredBlock, str] | None,
    bucketings: Mapping[str, Bucketing],
    asked: Weighing,
) -> SystemConfidence:
    cells = {label: cell_of(part, draws, asked.seed) for label, part in one.labels().items()}
    held_out = None if dev is None else _scored(*dev, asked.missing).whole.curve
    curve = one.whole.curve
    points, thinned = points_of(curve)
    return SystemConfidence(
        overall=cell_of(one.whole, draws, asked.seed),
        labels=cells,
        buckets={
            attribute: {bucket: cell_of(part, draws, asked.seed) for bucket, part in own.items()}
            for attribute, own in one.buckets(bucketings).items()
        },
        macro=macro_of(cells),
        curve=points,
        risk=risk_of(curve),
        threshold=threshold_of(one.whole, held_out),
        at_precision=at_precision_of(curve, held_out, asked.precision),
        missing=one.absent,
        thinned=thinned,
    )


def _partners(systems: Iterable[str], dev: _Joined | None) -> dict[str, tuple[ScoredBlock, str]]:
    """The dev predictions of each system: by name, else by order."""
    if dev is None:
        return {}
    names, others = list(systems), list(dev.whole.systems)
    if set(others) >= set(names):
        return {system: (dev.whole, system) for system in names}
    if len(others) != len(names):
        raise ChoiceError(
            f"there are {many(len(names), 'system')}, but the dev set has predictions of "
            f"{len(others)}.\nGive the dev predictions of every system, under the same names."
        )
    return {system: (dev.whole, other) for system, other in zip(names, others, strict=True)}


def _signature(test: _Joined, asked: Weighing, tokens: str | None, dev: bool) -> str:
    parts = ["spanwise", f"v:{__version__}", "match:exact", "bins:balanced.10", f"missing:{asked.missing}"]
    if tokens is not None:
        parts.append(f"tokens:{tokens}")
    parts += [
        f"ci:bootstrap.{test.unit}.{asked.resamples}",
        f"seed:{asked.seed}",
        f"threshold:{'dev' if dev else 'none'}",
    ]
    digest = test.inputs[0].sha256
    return "|".join([*parts, f"gold:{digest[:8]}"] if digest else parts).replace("\n", " ")


def _notes(test: _Joined, draws: Draws, systems: Mapping[str, SystemConfidence]) -> tuple[str, ...]:
    notes = []
    for name, system in systems.items():
        if system.missing:
            notes.append(f"{name}: {many(system.missing, 'mention')} without a score got the lowest one.")
        if system.overall.why is not UNSET and system.overall.predicted:
            notes.append(f"{name}: {system.overall.why}, so calibration is not computed.")
    if draws.groups is not None and len(draws.weights):
        notes.append(
            f"The {test.whole.units:,} {test.unit}s were joined at random into {draws.groups:,} groups that "
            "are resampled."
        )
    return tuple(notes)
