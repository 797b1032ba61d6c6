"""Evaluate systems against gold: from files or lists to one result document."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec

from msgspec import Struct

from spanwise.alignment import How
from spanwise.attributes import Attribute
from spanwise.buckets import Strategy
from spanwise.credits import Credit
from spanwise.document.analyses import PlacementDocument
from spanwise.engines import Engine, engine_of, release_freed_memory
from spanwise.errors import ChoiceError
from spanwise.evaluation._blocks import OneBlock, Progress
from spanwise.evaluation._choices import (
    Choices,
    Inputs,
    check_keywords,
    gather,
    has_runs,
    named_sources,
    parse_memory,
    parts_of,
    read_whole,
)
from spanwise.evaluation._codes import CodedMentions, CodedSystem, packed_beside, unpacked_codes
from spanwise.evaluation._compared import T_TEST, compared, compared_runs, same_cells
from spanwise.evaluation._counting import (
    EvaluatedBlock,
    Whole,
    counted_block,
    counted_whole,
    fixed_alone,
    sentences_with_errors,
    with_systems,
)
from spanwise.evaluation._dataset import (
    BlockContext,
    Unopened,
    framed,
    opened_elsewhere,
    opened_here,
    read_by_spark,
    spark_opened,
    unheard,
)
from spanwise.evaluation._prepared import PartedDataset, PreparedDataset, ReadGold, ReadSystems
from spanwise.evaluation._uncertain import unpacked, with_lead_intervals
from spanwise.evaluation.result import (
    UNMARKED,
    Result,
    result_of,
)
from spanwise.formats import opened, refuse_merged, side_by_side
from spanwise.matching import Matcher
from spanwise.registry import reach
from spanwise.settings import CAP
from spanwise.streams import pipes_read_once

MOST_ANSWERS = 500  # answers of each kind that a result lists

__all__ = [
    "T_TEST",
    "UNMARKED",
    "CodedMentions",
    "CodedSystem",
    "Inputs",
    "PartedDataset",
    "PreparedDataset",
    "ReadGold",
    "ReadSystems",
    "Result",
    "compare",
    "compared",
    "compared_runs",
    "evaluate",
    "evaluated_elsewhere",
    "gather",
    "has_runs",
    "named_sources",
    "packed_beside",
    "parse_memory",
    "parts_of",
    "read_whole",
    "same_cells",
    "sentences_with_errors",
    "unheard",
    "unpacked",
    "unpacked_codes",
    "with_lead_intervals",
]


P = ParamSpec("P")


def _or_runs(function: Callable[P, Result]) -> Callable[P, Result]:
    """The same function, where a path with {run} in it stands for the runs of a system: a study of them."""

    @wraps(function)
    def with_runs(*sources: P.args, **options: P.kwargs) -> Result:
        given = dict(zip(("source", "systems"), sources, strict=False)) | options
        if not has_runs(given.get("systems")):
            return function(*sources, **options)
        study: Result = reach("studies:of_runs")(**given)  # of the same family
        return study

    return with_runs


@pipes_read_once()
@_or_runs
def evaluate(
    source: Any = None,
    systems: Any = None,
    *,
    gold: Any = None,
    train: Any = None,
    name: str | None = None,
    matcher: str | Matcher = "fair",
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
    primary: str = "f1",
    align: How = "strict",
    examples: str = "errors",
    examples_cap: int = CAP,
    redact: bool = False,
    memory: int | str | None = None,
    workers: int | None = 1,
    engine: Any = None,
    progress: Progress | None = None,
    preset: str | None = None,
    switched_off: Sequence[str] = (),
    answers: str | Mapping[str, Any] | None = None,
    command: str | None = None,
    tags: Mapping[str, str] | None = None,
    **reading: Any,
) -> Result:
    """Score one or more systems against gold, and find where and why they lose points.

    Args:
        source: gold as a file, an `Annotation`, a frame, records, lists of tags or lists of spans; without
            `systems` a file, frame or records that hold gold and predictions (or several such files over the
            same gold), or spaCy's Examples. Of a frame, name the columns: `evaluate(frame, gold="tags",
            systems={"mine": "predicted"})`; of a Spark frame also `tokens="tokens"`, and maybe `document=`
            and `sentence=`, by which rows are ordered.
        gold: the same by name, or the column of gold in a frame or in records.
        systems: predictions by name, or one or several files, which are named by their stem. A path with
            {run} in it, such as "bert.{run}.conll", stands for all runs of a system.
        train: one or more training files or frames; without it nothing is said of seen and unseen mentions.
        matcher: how mentions are paired where errors are named: "fair", or the name of another, such as one
            that an installed package adds. Exact and relaxed scores do not depend on it.
        focus: the label under which errors count: "gold", "predicted", or "both" (half each).
        weights: further credits, by name ("ortmann-eq7") or formula ("BE = 0.5 TP + 0.25 FP + 0.25 FN").
        attributes: names, or a preset ("fu20", "fu19", "all", "none"); by default the eight of Fu20.
        buckets: how to bucket attributes, such as `{"entity_length": "1,2,3", "sentence_length":
        "balanced:6"}`. edges: buckets of an earlier result (`result.edges()`), used as they are.
        cross: pairs of attributes of mentions whose buckets are crossed.
        vocabulary: the known words for out-of-vocabulary density, in place of the training words.
        resamples: the number of bootstrap resamples; 0 for no intervals and no tests.
        unit: what is resampled: "document" where the data mark them, else "sentence".
        pairs: the pairs of systems to test; by default all.
        correction: how p-values are corrected: "holm" over pairs and maxT over all other scores, or "bh".
        primary: the score that the primary question is about: "f1", "precision", "recall", "macro" or "fair"
            F1. Choose it before looking at the scores.
        align: "strict", "position", "characters" or "diff": what to do if predictions have other tokens than
        gold. examples: which sentences the document holds: "errors", "all" or "none".
        redact: leave out all text.
        memory: evaluate files in parts that need about this much memory ("1GB"); by default only if the files
            would not fit into memory.
        workers: the number of processes for the parts; it does not change the result. With None, large files
            are evaluated in parts by several processes.
        engine: where blocks run, in place of processes of this machine: a Spark session, or any `Engine`.
        progress: called as `progress(step, done, total)` while files are read ("read"), gold is surveyed
            ("look") and systems are counted ("count"); totals are files and blocks.
        preset: "interpreteval" for the bucket figures of the program released with Fu, Liu and Neubig (2020).
        switched_off: quirks of the preset to switch off.
        answers: the policy that places the answers of systems that give no positions, such as "ordered", or
            the keywords of `spanwise.place`; lists of records with answers are placed in any case.
        tags: a tag to find the result by, such as `{"commit": "8c1f2e", "epoch": "7"}`.
        reading: keywords of `spanwise.read`, such as `scheme`, `repair`, `tag_column`.

    Returns:
        A result whose scores are fractions; what is undefined (0/0) is None. Of runs, the document of a study
        of one dataset, as `spanwise.study` gives it.

    Examples:
        >>> result = evaluate([["B-PER", "I-PER", "O"]], {"mine": [["B-PER", "O", "O"]]}, resamples=0)
        >>> result["mine"].exact.overall.f1, result["mine"].fair.overall.BEs
        (0.0, 1)
    """
    place = engine_of(engine)
    report = progress or unheard
    source, systems, columns = framed(source, gold, systems, reading)
    if columns is None and source is not None:
        of_source = {key: value for key, value in reading.items() if key not in ("format", "tokens", "name")}
        beside = side_by_side(source, gold, systems, **of_source)
        source, systems = (source, systems) if beside is None else beside
    gold = gold if source is None else source
    if gold is None:
        raise ChoiceError("there is no gold to evaluate against.\nGive a file or lists first.")
    check_keywords(reading)
    placed: Mapping[str, PlacementDocument] = {}
    if columns is not None or not read_by_spark(gold, systems, train, place):
        if isinstance(gold, str | os.PathLike):
            gold = opened(gold, encoding=reading.get("encoding"), limits=reading.get("limits"))
        if systems is not None:
            refuse_merged(gold, **reading)
        gold, systems, placed = _with_places(gold, systems, answers, reading)
    quirks = None
    if preset is not None or switched_off:  # imported lazily: few evaluations use a preset
        quirks = reach("interpreteval:check_preset")(preset, switched_off, train)
    if quirks is not None and attributes is None:
        attributes = "none"
    choices = Choices.of(
        matcher=matcher, focus=focus, weights=weights, attributes=attributes, buckets=buckets, edges=edges,
        cross=cross, vocabulary=vocabulary, lowercase=lowercase, resamples=resamples, seed=seed,
        confidence=confidence, unit=unit, pairs=pairs, correction=correction, primary=primary, align=align,
        examples=examples, examples_cap=examples_cap, redact=redact, command=command, tags=tags or {},
        reading=reading,
    )  # fmt: skip
    sources = Unopened(gold, systems, train, choices, columns, name, place)
    counted = _counted(sources, memory, workers, streamable=quirks is None, progress=report)
    if counted.memory is not None:
        release_freed_memory()
    result = result_of(
        choices, counted.whole, counted.kept, training=counted.training, unit=counted.unit,
        memory=counted.memory,
    )  # fmt: skip
    if quirks is not None and counted.inputs is not None:
        result = reach("interpreteval:with_preset")(result, counted.inputs, choices, quirks)
    return _answered(result, placed, redact=redact)


class _Counts(Struct, frozen=True, eq=False):
    """What was counted, and what the document says about the sources."""

    whole: Whole
    kept: Whole | EvaluatedBlock
    training: Sequence[Mapping[str, object]]  # entries of the document
    unit: str
    inputs: Inputs | None  # what was read, if it is in memory
    memory: int | None  # of a part, in bytes; None if everything is one block


def _counted(
    sources: Unopened,
    memory: int | str | None,
    workers: int | None,
    *,
    streamable: bool,
    progress: Progress,
) -> _Counts:
    """Open the sources and count every block.

    A function of its own so that everything derived from the training text is freed before resampling.
    """
    engine, bound = sources.engine, None
    blocks = spark_opened(sources, progress)
    if blocks is None:
        bound, workers = parts_of(
            memory, workers, sources.gold, sources.systems, streamable=streamable,
            reading=sources.choices.reading, elsewhere=engine is not None and engine.elsewhere,
        )  # fmt: skip
        blocks = opened_here(sources, progress, memory=bound, workers=workers)
    shared = blocks.shared
    inputs = shared.source.inputs if isinstance(shared.source, OneBlock) else None
    kept: Whole | EvaluatedBlock
    if inputs is not None and engine is None:
        whole, kept = _one_block(inputs, shared, blocks.absent, progress)
    else:
        try:
            kept = whole = counted_whole(blocks.fixed(progress), blocks.engine, progress)
        finally:
            blocks.free()
    return _Counts(whole, kept, blocks.training, shared.unit, inputs, bound)


def evaluated_elsewhere(
    source: object,
    systems: object,
    *,
    engine: object,
    gold: object = None,
    train: object = None,
    name: str | None = None,
    attributes: str | Sequence[str | Attribute] | None = None,
    buckets: Mapping[str, str | Strategy] | None = None,
    edges: Mapping[str, object] | None = None,
    align: How = "strict",
    **reading: object,
) -> tuple[Result, BlockContext, Engine]:
    """Evaluate for a verb that goes through the blocks once more.

    Returns:
        A result without sentences, the context that all blocks share, and the engine that holds the blocks.
    """
    source, systems, columns = framed(source, gold, systems, reading)
    choices = Choices.plain(attributes=attributes, buckets=buckets, edges=edges, align=align, reading=reading)
    given = gold if source is None else source
    blocks = opened_elsewhere(Unopened(given, systems, train, choices, columns, name, engine_of(engine)))
    try:
        shared = blocks.fixed()
        whole = counted_whole(shared, blocks.engine, unheard)
    except BaseException:
        blocks.free()
        raise
    return (
        result_of(choices, whole, whole, training=blocks.training, unit=shared.unit),
        shared,
        blocks.engine,
    )


def _one_block(
    block: Inputs, shared: BlockContext, absent: Mapping[str, str], progress: Progress
) -> tuple[Whole, EvaluatedBlock]:
    """Count a single block; the columns computed for the look at gold are reused."""
    gold_side, *system_sides = shared.sides(block)
    fixed, gold = fixed_alone(block, gold_side, shared, absent, progress)
    progress("count", 0, 1)
    evaluated = with_systems(gold, block, system_sides, fixed)
    progress("count", 1, 1)
    return counted_block(evaluated, fixed), evaluated


def _with_places(
    gold: object, systems: object, answers: str | Mapping[str, object] | None, reading: Mapping[str, object]
) -> tuple[object, object, Mapping[str, PlacementDocument]]:
    """The same sources, with answers that have no positions placed on the gold text, and how they were."""
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
    placed = reach("placement:place_systems")(gold, named_sources(named), answers, reading)
    return placed.gold, placed.systems, placed.documents


def _answered(result: Result, placed: Mapping[str, PlacementDocument], *, redact: bool) -> Result:
    """The result with a report on the answers that were placed."""
    if not placed:
        return result
    listed = {name: one.shortened(MOST_ANSWERS) for name, one in placed.items()}
    return result.with_answers({name: one.redacted() if redact else one for name, one in listed.items()})


def compare(source: Any = None, systems: Any = None, **options: Any) -> Result:
    """Test which of several systems is better, and where: `evaluate` for at least two systems.

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
    """The error of a comparison without a second system."""
    return ChoiceError("a comparison needs at least two systems.\nGive another file of predictions.")
