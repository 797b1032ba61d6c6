"""Evaluate the confidence scores of predictions: ranking, thresholds and calibration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from math import nan
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from msgspec import UNSET, Struct
from msgspec.structs import replace

from spanwise import __version__
from spanwise.alignment import How
from spanwise.attributes import Attribute
from spanwise.buckets import Bucketing, Strategy
from spanwise.calibration._cells import (
    at_precision_of,
    cell_of,
    macro_of,
    pair_of,
    points_of,
    risk_of,
    threshold_of,
)
from spanwise.calibration._resampling import Draws
from spanwise.calibration.measures import Curve, Scored
from spanwise.columns import Bools, Column, Floats, floats, ints
from spanwise.corpus import Annotation, Mentions
from spanwise.document.confidence import Confidence, ConfidenceSettings, SystemConfidence
from spanwise.engines import Engine, engine_of
from spanwise.errors import ChoiceError, InputError, many
from spanwise.evaluation import tables
from spanwise.evaluation.choices import Block, Choices, Inputs
from spanwise.evaluation.dataset import (
    BlockContext,
    UnopenedSources,
    is_spark,
    open_sources,
    read_by_spark,
)
from spanwise.evaluation.hints import hints_of
from spanwise.evaluation.tables import TalliedBlock, Walked
from spanwise.formats import NO_SCORE, ReadKeywords, read, says_label_rules
from spanwise.mentions import MentionTable, MentionTables
from spanwise.options import CheckedOptions
from spanwise.settings import check_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["TOKEN_SCORES", "apply_threshold", "confidence", "read_scored"]

Missing = Literal["error", "lowest"]
TokenScores = Literal["product", "mean", "min"]
TOKEN_SCORES: tuple[TokenScores, ...] = ("product", "mean", "min")
FEW_TO_ORDER = 10  # right, wrong or equally scored predictions before the order of scores is remarked on
ORDERED = 0.7  # how often the wrong one of two predictions has the higher score when that is remarked on
FEW_UNITS = 60  # with fewer units, percentile intervals cover less than their nominal level


@says_label_rules
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
    engine: Engine | SparkSession | None = None,
    **reading: Any,
) -> Confidence:
    """Evaluate the confidence scores of one or more systems.

    Args:
        gold: as in `evaluate`.
        systems: predictions with scores: one or more files, or a mapping from names.
        dev: gold and predictions of a dev set, used to choose the threshold.
        train: training data, for attributes that need it.
        attributes: names or a preset; scores are also evaluated within each bucket.
        buckets: how to cut attributes, as in `evaluate`.
        precision: the precision at which the highest recall is reported and systems are compared.
        recall: the recall at which systems are compared; by default, the highest that both reach.
        missing: whether a mention without a score is an "error" or gets the "lowest" score of all.
        score_column: the column of token scores in a CoNLL file.
        token_scores: how to combine the scores of a mention's tokens: "mean", "product" or "min".
        resamples: bootstrap resamples for recall at a precision and for pairs; 0 for no interval and no test.
        unit: what intervals and tests are over: "document" if the data mark at least two, "sentence", or
            "block:20".
        memory: read files in parts that fit in about this much memory ("1GB"), as in `evaluate`.
        workers: the number of processes; it does not affect the result.
        engine: where mentions are matched, as in `evaluate`: a Spark session, or any `Engine`.
        reading: keywords of `spanwise.read`.

    Examples:
        >>> gold = [[(0, 1, "PER"), (2, 3, "LOC")]]
        >>> mine = [[{"start": 0, "end": 1, "label": "PER", "score": 0.9}]]
        >>> confidence(gold, {"mine": mine}, resamples=0).systems["mine"].overall.average_precision
        0.5
    """
    options = ConfidenceOptions.of(locals())
    columns = {} if score_column is None else {"columns": {"score": score_column}}
    runner = engine_of(engine)

    def walked(sources: Sources, name: str | None, choices: Choices) -> _Scored:
        if is_spark(sources[0]) or read_by_spark(*sources, runner):
            raise ChoiceError(
                "confidence scores are read from local files, not by Spark.\n"
                "Give local files; with the session as engine=, its executors match the mentions."
            )
        again, gold = tables.walk_again(sources[0], choices)
        if again is not None:
            assert isinstance(gold, Inputs)
            scored, notes = with_scores(gold, again.tables, token_scores)
            return _Scored(replace(again, tables=scored), notes)
        unopened = UnopenedSources(
            gold, *sources[1:], choices, name=name, engine=runner, predicted_reading=columns
        )
        opened = open_sources(unopened, memory=memory, workers=workers)
        parts, context = opened.walk(partial(tally, token_scores=token_scores), tough=False)
        notes = {
            system: ScoreNotes.concat([notes[system] for _, notes in parts])
            for system in context.source.systems
        }
        return _Scored(Walked.of([tallied for tallied, _ in parts], context), notes)

    dev_scored = None
    test = walked((gold, systems, train), name, options.choices(align=align, reading=reading))
    if dev is not None:
        dev_choices = Choices.of_mentions(attributes="none", buckets=None, align=align, reading=reading)
        dev_scored = walked((dev[0], dev[1], None), None, dev_choices)
    return _weighed(test, dev_scored, token_scores if test.from_tokens else None, options)


Sources = tuple[object, object, object]  # gold, predictions, training data


class ConfidenceOptions(CheckedOptions, frozen=True, kw_only=True):
    """The checked options of `confidence`."""

    verb = "confidence"

    precision: float
    recall: float | None
    missing: Missing
    token_scores: TokenScores
    resamples: int
    seed: int
    unit: str | None
    attributes: str | Attribute | Iterable[str | Attribute]
    buckets: Mapping[str, str | Strategy] | None
    command: str | None

    def choices(self, *, align: How = "strict", reading: ReadKeywords) -> Choices:
        """The options for evaluating blocks: attributes of mentions, with their buckets."""
        return Choices.of_mentions(
            **self.chosen("attributes", "buckets", "unit"), align=align, reading=reading
        )


class ScoreNotes(Struct, frozen=True):
    """How the scores of one system were read."""

    path: str
    without: str | None  # a description of the first mention without a score
    from_tokens: bool  # whether scores are combined from token scores

    @classmethod
    def concat(cls, parts: Sequence[ScoreNotes]) -> ScoreNotes:
        """The notes on consecutive blocks."""
        return cls(
            parts[0].path,
            next((part.without for part in parts if part.without is not None), None),
            any(part.from_tokens for part in parts),
        )


def tally(
    reference: object, context: BlockContext, *, token_scores: TokenScores
) -> tuple[TalliedBlock, dict[str, ScoreNotes]]:
    """The mentions of one block, with the scores of predictions."""
    block = context.source.open(reference)
    tallied = tables.tally(block, context)
    scored, notes = with_scores(block, tallied.tables, token_scores)
    return replace(tallied, tables=scored), notes


def with_scores(
    block: Block, mentions_of: MentionTables, token_scores: TokenScores
) -> tuple[MentionTables, dict[str, ScoreNotes]]:
    """The tables of a block with the scores of predictions."""
    systems, notes = {}, {}
    for system, table in mentions_of.systems.items():
        annotation = block.predicted[system]
        mentions = _with_scores(annotation, token_scores)
        # Alignment keeps mentions in the order in which they were read.
        score = np.full(len(table), np.nan) if mentions.score is None else mentions.score
        systems[system] = table.with_columns({"score": floats(score)})
        notes[system] = ScoreNotes(
            annotation.reading.path,
            _without_score(annotation, np.isnan(score)),
            annotation.mentions.score is None and "score" in annotation.corpus.columns,
        )
    return replace(mentions_of, systems=systems), notes


def _without_score(annotation: Annotation, absent: Bools) -> str | None:
    """Describe the first mention without a score, and where it is."""
    if not absent.any():
        return None
    sentence, start, end, label = annotation.mentions.rows()[int(np.argmax(absent))]
    return f"{annotation.corpus.place(sentence)}: the mention {label} [{start}, {end}) has no score"


class _Scored(Struct, frozen=True, eq=False):
    """The scored mentions of all blocks, and how their scores were read."""

    walked: Walked
    notes: Mapping[str, ScoreNotes]  # by system

    @property
    def units(self) -> int:
        """The number of units."""
        return self.walked.tables.gold.units

    @property
    def from_tokens(self) -> bool:
        """Whether the scores of any system are combined from token scores."""
        return any(notes.from_tokens for notes in self.notes.values())


def _weighed(
    test: _Scored, dev: _Scored | None, tokens: str | None, options: ConfidenceOptions
) -> Confidence:
    number = test.units
    draws = Draws.of(number, options.resamples, options.seed)
    partner = _partners(test.notes, dev)
    scored = {system: _scored(test, system, options.missing) for system in test.notes}
    systems = {
        name: _system(system, draws, partner.get(name), test.walked.bucketings, options)
        for name, system in scored.items()
    }
    pairs = tuple(
        pair_of(
            (first, second), scored[first].whole, scored[second].whole, draws,
            precision=options.precision, recall=options.recall,
        )
        for first, second in combinations(scored, 2)
    )  # fmt: skip
    inputs = [*test.walked.inputs]
    if dev is not None:
        inputs += [replace(entry, role=f"dev {entry.role}") for entry in dev.walked.inputs]
    return Confidence(
        spanwise=__version__,
        kind="confidence",
        signature=_signature(test, options, tokens, dev is not None),
        inputs=tuple(inputs),
        settings=ConfidenceSettings(
            **options.kept_by(ConfidenceSettings) | {"unit": test.walked.unit},
            number=number,
            block=test.walked.block,
            few_units=number < FEW_UNITS,
            groups=draws.groups,
            tokens=tokens,
        ),
        systems=systems,
        pairs=pairs,
        notes=(
            *hints_of(test.walked.inputs, test.walked.sides),
            *_dev_hint(test, dev),
            *_score_hints({name: system.whole.curve for name, system in scored.items()}),
            *_notes(test, draws, systems),
        ),
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
    """Read an annotation and keep only the mentions with a score of at least `threshold`.

    Examples:
        >>> records = [{"tokens": ["Ann", "left"], "spans": [[0, 1, "PER", 0.9], [1, 2, "LOC", 0.2]]}]
        >>> len(apply_threshold(records, 0.5).mentions.start)
        1
    """
    check_options("apply", {"missing": missing, "token_scores": token_scores})
    annotation = read_scored(source, score_column=score_column, token_scores=token_scores, **reading)
    mentions = annotation.mentions
    score = np.full(len(mentions), np.nan) if mentions.score is None else mentions.score
    without = _without_score(annotation, np.isnan(score))
    score, _ = _scores(floats(score), annotation.reading.path, without, missing)
    return replace(annotation, mentions=annotation.mentions.take(score >= threshold))


def read_scored(
    source: object,
    *,
    score_column: int | str | None = None,
    token_scores: TokenScores = "mean",
    **reading: Any,
) -> Annotation:
    """Read predictions with scores; with `score_column`, combine the scores of each mention's tokens."""
    columns = {} if score_column is None else {"columns": {"score": score_column}}
    annotation = read(source, **{**reading, **columns})
    return replace(annotation, mentions=_with_scores(annotation, token_scores))


def _with_scores(annotation: Annotation, how: TokenScores) -> Mentions:
    """The mentions with their own scores, or with scores combined from a column of token scores."""
    corpus, mentions = annotation.corpus, annotation.mentions
    if mentions.score is not None or "score" not in corpus.columns:
        return mentions
    token = _numbers(corpus.columns["score"], annotation)
    first = corpus.sentences[mentions.sentence]
    begin, end = first + mentions.start, first + mentions.end
    between = np.stack([begin, end], axis=1).reshape(-1)
    padded = np.append(
        token, np.nan
    )  # reduceat needs a valid index even if a mention ends with the last token
    least = np.minimum.reduceat(padded, between)[::2] if len(mentions) else np.zeros(0)
    if how == "min":
        score = least
    else:
        with np.errstate(divide="ignore"):
            values = np.log(token) if how == "product" else token
        sums = np.array([values[a:b].sum() for a, b in zip(begin.tolist(), end.tolist(), strict=True)])
        score = np.exp(sums) if how == "product" else sums / np.maximum(end - begin, 1)
        if how == "mean" and len(mentions):  # the mean of equal scores is that score, despite rounding
            score = np.clip(score, least, np.maximum.reduceat(padded, between)[::2])
    return replace(mentions, score=floats(score))


def _numbers(column: Column, annotation: Annotation) -> Floats:
    """Parse a column of token scores; NaN if a token has none."""
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


def _scores(score: Floats, path: str, without: str | None, missing: Missing) -> tuple[Floats, int]:
    """The score of every mention, and how many had none; `without` describes the first of them."""
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
    """The scored predictions of one system, with the mentions of both sides to split them by."""

    whole: Scored
    absent: int
    gold: MentionTable
    predicted: MentionTable

    def part(self, gold: Bools, predicted: Bools) -> Scored:
        """The selected predictions, against the selected gold mentions."""
        whole = self.whole
        return Scored(
            floats(whole.score[predicted]),
            whole.right[predicted],
            ints(whole.unit[predicted]),
            self.gold.by_unit(gold),
        )

    def labels(self) -> dict[str, Scored]:
        """The predictions of every label that has gold or predicted mentions."""
        names = sorted(self.gold.used_labels | self.predicted.used_labels)
        return {
            name: self.part(self.gold.where(label=name), self.predicted.where(label=name)) for name in names
        }

    def buckets(self, bucketings: Mapping[str, Bucketing]) -> dict[str, dict[str, Scored]]:
        """The predictions in every bucket of every attribute, against the gold mentions in it."""
        cells: dict[str, dict[str, Scored]] = {}
        for name, bucketing in bucketings.items():
            gold, predicted = self.gold[f"bucket.{name}"], self.predicted[f"bucket.{name}"]
            parts = {
                bucket.name: self.part(np.asarray(gold == code), np.asarray(predicted == code))
                for code, bucket in enumerate(bucketing.buckets)
            }
            cells[name] = {bucket: part for bucket, part in parts.items() if part.gold or len(part.score)}
        return cells


def _scored(scored: _Scored, system: str, missing: Missing) -> _System:
    tables, notes = scored.walked.tables, scored.notes[system]
    gold, predicted = tables.gold, tables.systems[system]
    score, absent = _scores(predicted["score"], notes.path, notes.without, missing)
    whole = Scored(score, predicted["right"], predicted["unit"], gold.by_unit())
    return _System(whole, absent, gold, predicted)


def _system(
    system: _System,
    draws: Draws,
    dev: tuple[_Scored, str] | None,
    bucketings: Mapping[str, Bucketing],
    options: ConfidenceOptions,
) -> SystemConfidence:
    cells = {label: cell_of(part, draws) for label, part in system.labels().items()}
    dev_curve = None if dev is None else _scored(*dev, options.missing).whole.curve
    curve = system.whole.curve
    points, thinned = points_of(curve)
    return SystemConfidence(
        overall=cell_of(system.whole, draws),
        labels=cells,
        buckets={
            attribute: {bucket: cell_of(part, draws) for bucket, part in parts.items()}
            for attribute, parts in system.buckets(bucketings).items()
        },
        macro=macro_of(cells),
        curve=points,
        risk=risk_of(curve),
        threshold=threshold_of(system.whole, dev_curve),
        at_precision=at_precision_of(system.whole, dev_curve, options.precision, draws),
        missing=system.absent,
        thinned=thinned,
    )


def _partners(systems: Iterable[str], dev: _Scored | None) -> dict[str, tuple[_Scored, str]]:
    """The dev predictions of each system, matched by name if possible, otherwise by order."""
    if dev is None:
        return {}
    names, others = list(systems), list(dev.notes)
    if set(others) >= set(names):
        return {system: (dev, system) for system in names}
    if len(others) != len(names):
        raise ChoiceError(
            f"there are {many(len(names), 'system')}, but the dev set has predictions of "
            f"{len(others)}.\nGive the dev predictions of every system, under the same names."
        )
    return {system: (dev, other) for system, other in zip(names, others, strict=True)}


def _signature(test: _Scored, options: ConfidenceOptions, tokens: str | None, dev: bool) -> str:
    parts = ["spanwise", f"v:{__version__}", "match:exact", "bins:balanced.10", f"missing:{options.missing}"]
    if tokens is not None:
        parts.append(f"tokens:{tokens}")
    parts += [
        f"ci:{'logit-t' if options.resamples else 'none'}.{test.walked.signed_unit}",
        *options.signed("resamples", "seed"),
        f"threshold:{'dev' if dev else 'none'}",
    ]
    digest = test.walked.inputs[0].sha256
    return "|".join([*parts, f"gold:{digest[:8]}"] if digest else parts).replace("\n", " ")


def _dev_hint(test: _Scored, dev: _Scored | None) -> Iterator[str]:
    digest = test.walked.inputs[0].sha256
    if dev is not None and digest is not None and digest == dev.walked.inputs[0].sha256:
        yield "The dev set is the test set, so that the threshold is chosen on the data that it is judged by."


def _score_hints(curves: Mapping[str, Curve]) -> Iterator[str]:
    """Signs that scores do not mean confidence."""
    for name, curve in curves.items():
        right = int(curve.correct[-1]) if len(curve.correct) else 0
        wrong = int(curve.predicted[-1]) - right if len(curve.correct) else 0
        if min(right, wrong) >= FEW_TO_ORDER and curve.separation < 1 - ORDERED:
            yield (
                f"{name}: of a right and a wrong prediction, the wrong one has the higher score in "
                f"{100 * (1 - curve.separation):.0f} % of cases: does a high score mean doubt?"
            )
        elif len(curve.threshold) == 1 and right + wrong >= FEW_TO_ORDER:
            yield f"{name}: all {right + wrong:,} predictions have the same score, so it cannot order them."


def _notes(test: _Scored, draws: Draws, systems: Mapping[str, SystemConfidence]) -> tuple[str, ...]:
    notes = []
    for name, system in systems.items():
        if system.missing:
            notes.append(f"{name}: {many(system.missing, 'mention')} without a score got the lowest one.")
        if system.overall.why is not UNSET and system.overall.predicted:
            notes.append(f"{name}: {system.overall.why}, so calibration is not computed.")
    if draws.groups is not None and len(draws.weights):
        notes.append(
            f"The {test.units:,} {test.walked.unit}s were joined at random into {draws.groups:,} groups, "
            "which are the units of intervals and tests."
        )
    return tuple(notes)
