"""Evaluate systems against gold: read files or lists, and return one result document."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

from spanwise.alignment import How
from spanwise.attributes import Attribute
from spanwise.buckets import Strategy
from spanwise.credits import Credit
from spanwise.document.analyses import PlacementDocument
from spanwise.document.evaluation import Result
from spanwise.engines import Engine, engine_of, release_freed_memory
from spanwise.errors import ChoiceError
from spanwise.evaluation.blocks import OneBlock, Progress
from spanwise.evaluation.choices import (
    Choices,
    Inputs,
    check_keywords,
    has_runs,
    named_sources,
    parse_memory,
    parts_of,
    read_inputs,
    read_whole,
)
from spanwise.evaluation.counting import (
    Whole,
    count_blocks,
    count_one_block,
    fix_facts_of_one_block,
    match_systems,
    sentences_with_errors,
)
from spanwise.evaluation.dataset import (
    BlockContext,
    UnopenedSources,
    ignore_progress,
    open_locally,
    open_sources,
    open_with_spark,
    read_by_spark,
    resolve_frame,
)
from spanwise.formats import opened, refuse_merged, side_by_side
from spanwise.matching import Matcher
from spanwise.rates import Rate
from spanwise.registry import resolve
from spanwise.settings import CAP
from spanwise.streams import pipes_read_once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spanwise.evaluation.presets import FigurePreset

MOST_ANSWERS = 500  # the maximum number of answers of each kind that a result lists

__all__ = [
    "Inputs",
    "compare",
    "evaluate",
    "evaluate_blocks",
    "has_runs",
    "ignore_progress",
    "named_sources",
    "parse_memory",
    "parts_of",
    "read_inputs",
    "read_whole",
    "sentences_with_errors",
]


P = ParamSpec("P")


def _or_runs(function: Callable[P, Result]) -> Callable[P, Result]:
    """Wrap `evaluate`: a path with {run} in it stands for the runs of a system, and the result is a study."""

    @wraps(function)
    def with_runs(*sources: P.args, **options: P.kwargs) -> Result:
        given = dict(zip(("source", "systems"), sources, strict=False)) | options
        if not has_runs(given.get("systems")):
            return function(*sources, **options)
        study: Result = resolve("studies:of_runs")(
            **given
        )  # a Study, which shares its base class with Result
        return study

    return with_runs


def _or_judged(function: Callable[P, Result]) -> Callable[P, Result]:
    """Wrap `evaluate`: with `silver`, scores are also estimated over all units that a judge annotated."""

    @wraps(function)
    def with_judge(*sources: P.args, **options: P.kwargs) -> Result:
        given = dict(zip(("source", "systems"), sources, strict=False)) | options
        if given.get("silver") is not None:
            judged: Result = resolve("silver:with_judge")(evaluate=function, **given)
            return judged
        if given.get("random_sample"):
            raise ChoiceError(
                "random_sample is given, but no silver, which it is about.\nAdd the annotation of a judge."
            )
        return function(*sources, **options)

    return with_judge


def _like(function: Callable[P, Result]) -> Callable[[Callable[..., Result]], Callable[P, Result]]:
    """Give a function that passes its options on the signature of the one that takes them."""

    def with_signature(other: Callable[..., Result]) -> Callable[P, Result]:
        vars(other)["__wrapped__"] = function  # where `inspect.signature` and editors look
        return other

    return with_signature


@pipes_read_once()
@_or_judged
@_or_runs
def evaluate(
    source: object = None,
    systems: object = None,
    *,
    gold: Any = None,
    train: object = None,
    name: str | None = None,
    matcher: str | Matcher = "fair",
    focus: str = "gold",
    weights: str | Credit | Sequence[str | Credit] = (),
    attributes: str | Sequence[str | Attribute] | None = None,
    buckets: Mapping[str, str | Strategy] | None = None,
    edges: Mapping[str, Mapping[str, object]] | None = None,
    cross: Sequence[tuple[str, str]] = (),
    vocabulary: Sequence[str] | None = None,
    lowercase: bool = False,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    unit: str | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
    correction: str = "holm",
    primary: str = "f1",
    beta: float | Sequence[float] = (),
    scores: str | Rate | Sequence[str | Rate] = (),
    align: How = "strict",
    examples: str = "errors",
    examples_cap: int = CAP,
    redact: bool = False,
    memory: int | str | None = None,
    workers: int | None = 1,
    engine: Engine | SparkSession | None = None,
    progress: Progress | None = None,
    preset: str | None = None,
    switched_off: Sequence[str] = (),
    answers: str | Mapping[str, object] | None = None,
    silver: object = None,
    random_sample: bool = False,
    spacy: object = (),
    hf: object = (),
    trust: bool = False,
    command: str | None = None,
    tags: Mapping[str, str] | None = None,
    **reading: Any,
) -> Result:
    """Score one or more systems against gold, and find where and why they lose points.

    Args:
        source: gold, as a file, an `Annotation`, a data frame, records, lists of tags or lists of spans.
            Without `systems`, a file, data frame or records that hold both gold and predictions (or several
            such files with the same gold), or spaCy `Example` objects. For a data frame, name the columns:
            `evaluate(frame, gold="tags", systems={"mine": "predicted"})`; for a Spark data frame also pass
            `tokens="tokens"` and, optionally, `document=` and `sentence=`, the columns to order rows by.
        systems: predictions by system name, or one or more files, each named after its stem. A path with
            {run} in it, such as "bert.{run}.conll", stands for all runs of a system.
        gold: an alternative to `source`, or the column of gold annotations in a data frame or in records.
        train: one or more training files or data frames; without them, mentions cannot be classified as
            seen or unseen.
        name: the name of the dataset; by default, the stem of the gold file.
        matcher: how mentions are paired to name errors: "fair", or the name of another matcher, such as one
            from an installed package. Exact and relaxed scores do not depend on it.
        focus: the label under which errors count: "gold", "predicted", or "both" (half each).
        weights: further credits, by name ("ortmann-eq7") or formula ("BE = 0.5 TP + 0.25 FP + 0.25 FN").
        attributes: names, or a preset ("fu20", "fu19", "all", "none"); by default, the eight of Fu20.
        buckets: how to bucket attributes, such as `{"entity_length": "1,2,3", "sentence_length":
            "balanced:6"}`.
        edges: the buckets of an earlier result (`result.edges()`), to be used unchanged.
        cross: pairs of mention attributes whose buckets are crossed.
        vocabulary: the known words for out-of-vocabulary density, instead of the training words.
        lowercase: whether to lower-case strings when computing attributes.
        resamples: the least number of shuffles of a test; 0 for no intervals and no tests.
        seed: the random seed of the shuffles.
        confidence: the confidence level of the intervals.
        unit: what intervals and tests are over: "sentence", "document" or "block:N" (N consecutive
            sentences); by default, documents if the data mark them, otherwise sentences.
        pairs: the pairs of systems to test; by default, all of them.
        correction: how p-values are corrected: "holm" over pairs and maxT over all other scores, or "bh".
        primary: the score that the primary question is about: "f1", "precision", "recall", "macro" or "fair"
            F1, an F-beta such as "f2", or a score that another package adds. Choose it before looking at
            the scores.
        beta: the F-betas to report besides F1, such as 2 (recall counts twice as much) or [0.5, 2].
        scores: further scores to report: names of those that other packages add, or `spanwise.rates.Rate`.
        align: what to do if the tokens of predictions and gold differ: "strict" (an error), "position",
            "characters" or "diff".
        examples: which sentences to include in the document: "errors", "all" or "none".
        examples_cap: the maximum number of sentences to include.
        redact: whether to leave out all text.
        memory: evaluate files in parts that need about this much memory ("1GB"); by default, only if the
            files would not fit into memory.
        workers: the number of processes for the parts; it does not change the result. With None, large files
            are evaluated in parts by several processes.
        engine: where blocks are evaluated, instead of in processes on this machine: a Spark session, or any
            `Engine`.
        progress: called as `progress(step, done, total)` while files are read ("read"), gold is surveyed
            ("look") and systems are counted ("count"); totals are files and blocks.
        preset: "interpreteval" for the bucket figures of the program released with Fu, Liu and Neubig (2020).
        switched_off: quirks of the preset to switch off.
        answers: how to place the answers of systems that give no positions: a policy such as "ordered", or
            keywords of `spanwise.place`. Records with answers are placed even without it.
        silver: the annotation of a judge, such as another system, for all units, of which gold covers a
            random sample; predictions cover all of them. Scores are then estimated over all units.
        random_sample: whether the gold units were drawn at random from all units, which `silver` requires.
        spacy: the folder of a spaCy pipeline to run on gold's texts, or folders by name; needs the extra
            `spacy`. A model is a program: run those you trust.
        hf: the same for Transformers token classifiers, from local files in safetensors; needs the extra
            `hf`.
        trust: whether to run a spaCy pipeline that has code of its own.
        command: the command line to record in the document.
        tags: tags to find the result by, such as `{"commit": "8c1f2e", "epoch": "7"}`.
        reading: keywords of `spanwise.read`, such as `scheme`, `repair`, `tag_column`. With `hierarchy`,
            every level is scored, from one label for all mentions down to the labels themselves.

    Returns:
        The result. Its scores are fractions; undefined ones (0/0) are None. With several runs per system,
        the result is a study of one dataset, as returned by `spanwise.study`.

    Examples:
        >>> result = evaluate([["B-PER", "I-PER", "O"]], {"mine": [["B-PER", "O", "O"]]}, resamples=0)
        >>> result["mine"].exact.overall.f1, result["mine"].fair.overall.BEs
        (0.0, 1)
    """
    chosen_engine = engine_of(engine)
    report = progress or ignore_progress
    source, systems, columns = resolve_frame(source, gold, systems, reading)
    if columns is None and source is not None:
        keywords = {key: value for key, value in reading.items() if key not in ("format", "tokens", "name")}
        sides = side_by_side(source, gold, systems, **keywords)
        source, systems = (source, systems) if sides is None else sides
    gold = gold if source is None else source
    if gold is None:
        raise ChoiceError("there is no gold to evaluate against.\nGive a file or lists first.")
    check_keywords(reading)
    if spacy or hf:
        models = resolve("models:with_models")
        others = None if systems is None else named_sources(systems)
        gold, systems = models(gold, others, spacy or None, hf or None, reading, trust=trust, progress=report)
    placed: Mapping[str, PlacementDocument] = {}
    if columns is not None or not read_by_spark(gold, systems, train, chosen_engine):
        if isinstance(gold, str | os.PathLike):
            gold = opened(gold, encoding=reading.get("encoding"), limits=reading.get("limits"))
        if systems is not None:
            refuse_merged(gold, **reading)
        gold, systems, placed = _with_placed_answers(gold, systems, answers, reading)
    figures: FigurePreset | None = None
    if preset is not None:
        from spanwise.evaluation.presets import PRESETS  # lazy: few evaluations use a preset

        figures = PRESETS.find(preset)
        quirks = figures.check(switched_off, train)
        attributes = "none" if attributes is None else attributes
    elif switched_off:
        raise ChoiceError("only a preset has switches.\nAdd preset='interpreteval'.")
    choices = Choices.among(locals(), tags=tags or {})
    sources = UnopenedSources(gold, systems, train, choices, columns, name, chosen_engine)
    whole, bound = _counted(sources, memory, workers, streamable=figures is None, progress=report)
    if bound is not None:
        release_freed_memory()
    result = _result_of(choices, whole, bound)
    if figures is not None and whole.inputs is not None:
        result = figures.apply(result, whole.inputs, choices, quirks)
    return _with_answer_reports(result, placed, redact=redact)


def _result_of(choices: Choices, whole: Whole, memory: int | None) -> Result:
    """The result, with all scores, intervals and tests."""
    from spanwise.evaluation.result import result_of  # lazy: counting does not need the statistics

    return result_of(choices, whole, memory=memory)


def _counted(
    sources: UnopenedSources,
    memory: int | str | None,
    workers: int | None,
    *,
    streamable: bool,
    progress: Progress,
) -> tuple[Whole, int | None]:
    """Open the sources and count every block; also the size of a part in bytes if there are several.

    This is a separate function so that everything derived from the training text is freed before resampling.
    """
    engine, bound = sources.engine, None
    blocks = open_with_spark(sources, progress)
    if blocks is None:
        bound, workers = parts_of(
            memory, workers, sources.gold, sources.systems, streamable=streamable,
            reading=sources.choices.reading, elsewhere=engine is not None and engine.elsewhere,
        )  # fmt: skip
        blocks = open_locally(sources, progress, memory=bound, workers=workers)
    shared = blocks.shared
    if isinstance(shared.source, OneBlock) and engine is None:
        return _one_block(shared.source.inputs, shared, blocks.absent, progress), bound
    try:
        return count_blocks(blocks.fix_facts(progress), blocks.engine, progress), bound
    finally:
        blocks.free()


def evaluate_blocks(
    source: object,
    systems: object,
    *,
    engine: Engine | SparkSession | None,
    gold: object = None,
    train: object = None,
    name: str | None = None,
    attributes: str | Sequence[str | Attribute] | None = None,
    buckets: Mapping[str, str | Strategy] | None = None,
    edges: Mapping[str, Mapping[str, object]] | None = None,
    align: How = "strict",
    **reading: object,
) -> tuple[Result, BlockContext, Engine]:
    """Evaluate on behalf of a function that then makes another pass over the blocks.

    Returns:
        A result without sentences, the context that all blocks share, and the engine that holds the blocks.
    """
    source, systems, columns = resolve_frame(source, gold, systems, reading)
    choices = Choices.plain(attributes=attributes, buckets=buckets, edges=edges, align=align, reading=reading)
    given = gold if source is None else source
    blocks = open_sources(UnopenedSources(given, systems, train, choices, columns, name, engine_of(engine)))
    try:
        shared = blocks.fix_facts()
        whole = count_blocks(shared, blocks.engine, ignore_progress)
    except BaseException:
        blocks.free()
        raise
    return _result_of(choices, whole, None), shared, blocks.engine


def _one_block(block: Inputs, shared: BlockContext, absent: Mapping[str, str], progress: Progress) -> Whole:
    """Count a single block, reusing the columns that were computed when gold was surveyed."""
    gold_side, *system_sides = shared.sides(block)
    fixed, gold = fix_facts_of_one_block(block, gold_side, shared, absent, progress)
    progress("count", 0, 1)
    evaluated = match_systems(gold, block, system_sides, fixed)
    progress("count", 1, 1)
    return count_one_block(evaluated, fixed)


def _with_placed_answers(
    gold: object, systems: object, answers: str | Mapping[str, object] | None, reading: Mapping[str, object]
) -> tuple[object, object, Mapping[str, PlacementDocument]]:
    """Place answers without positions on the gold text.

    Returns:
        The gold and the systems to evaluate, and a report on the placement by system.
    """
    records = isinstance(systems, list | tuple) and bool(systems) and isinstance(systems[0], Mapping)
    named = {"predicted": systems} if records else systems
    in_memory = isinstance(named, Mapping) and not all(
        isinstance(source, str | os.PathLike) for source in named.values()
    )
    if answers is None and not in_memory:
        return gold, systems, {}
    if systems is None:
        raise ChoiceError(
            "answers is given, but no predictions.\n"
            "Give the file of answers as a system, as in {'llm': 'answers.jsonl'}."
        )
    placed = resolve("placement:place_systems")(gold, named_sources(named), answers, reading)
    return placed.gold, placed.systems, placed.documents


def _with_answer_reports(result: Result, placed: Mapping[str, PlacementDocument], *, redact: bool) -> Result:
    """Add the reports on placed answers to a result, shortened and, on request, without text."""
    if not placed:
        return result
    short = {name: report.shortened(MOST_ANSWERS) for name, report in placed.items()}
    return result.with_answers(
        {name: report.redacted() if redact else report for name, report in short.items()}
    )


@_like(evaluate)
def compare(source: object = None, systems: object = None, **options: Any) -> Result:
    """Test which of several systems is better, and where; like `evaluate`, but for at least two systems.

    Examples:
        >>> gold = [["B-PER", "O"]] * 8
        >>> result = compare(gold, {"all": gold, "none": [["O", "O"]] * 8}, resamples=100)
        >>> result.comparisons[0].systems, result.comparisons[0].primary.p
        (('all', 'none'), 0.0078125)

    Raises:
        ChoiceError: there are fewer than two systems.
    """
    of_runs = has_runs(systems)
    if of_runs and len(named_sources(systems)) < 2:
        raise too_few()
    result = evaluate(source, systems, **options)
    if of_runs:
        return result
    if len(result) < 2:
        raise too_few()
    return result.of_kind("comparison")


def too_few() -> ChoiceError:
    """The error for a comparison of fewer than two systems."""
    return ChoiceError("a comparison needs at least two systems.\nGive another file of predictions.")
