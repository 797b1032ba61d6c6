"""Data that are opened once and asked many times: files are read, aligned and surveyed for all questions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from spanwise.alignment import How
from spanwise.attributes import Attribute
from spanwise.buckets import Strategy
from spanwise.calibration import confidence
from spanwise.description import describe
from spanwise.document.analyses import Slices
from spanwise.document.confidence import Confidence
from spanwise.document.dataset import Description
from spanwise.document.evaluation import Result
from spanwise.document.leaks import Leaks
from spanwise.document.tuples import Tuples
from spanwise.errors import ChoiceError, unknown
from spanwise.evaluation import evaluate, has_runs, named_sources
from spanwise.evaluation.blocks import OneBlock, ReadLabels
from spanwise.evaluation.choices import Choices, ResampledUnits, read_gold_inputs, read_inputs
from spanwise.evaluation.dataset import OpenedInputs, is_spark
from spanwise.formats import (
    File,
    looks_merged,
    opened,
    read,
    refuse_merged,
    side_by_side,
)
from spanwise.labels import RULES
from spanwise.leakage import leaks
from spanwise.relations import READING, tuples
from spanwise.relations.records import holds_tuples
from spanwise.slices import find_slices
from spanwise.streams import pipes_read_once

if TYPE_CHECKING:
    from spanwise.reports.notebook import ErrorList

__all__ = ["Data", "open_data"]

# Keywords of single functions that concern how sources are opened, and not what is asked about them.
_OF_OPENING = frozenset(
    {"source", "test", "gold", "systems", "train", "name", "align", "score_column", "identity"}
)
# Keywords of `evaluate` that read further sources, or read the same ones in another way.
_ELSEWHERE = (
    "memory", "workers", "engine", "answers", "silver", "random_sample", "preset", "switched_off", "spacy",
    "hf", "trust",
)  # fmt: skip
# Keywords of `evaluate` that leave mentions, buckets and sentences as they are.
_OF_TESTS = frozenset(
    {"resamples", "seed", "confidence", "correction", "primary", "pairs", "command", "tags"}
)


@pipes_read_once()
def open_data(
    gold: object,
    systems: object = None,
    *,
    train: object = None,
    name: str | None = None,
    align: How = "strict",
    score_column: int | str | None = None,
    identity: int | str | None = None,
    attributes: str | Attribute | Iterable[str | Attribute] | None = None,
    buckets: Mapping[str, str | Strategy] | None = None,
    vocabulary: Iterable[str] | None = None,
    lowercase: bool | None = None,
    unit: str | None = None,
    resamples: int | None = None,
    seed: int | None = None,
    redact: bool | None = None,
    **reading: Any,
) -> Data:
    """Open gold, systems and training data once, to ask several questions about them.

    Every answer is the document that the function of the same subject returns for the same sources. Options
    that are named here hold for all questions that take them; a question may name others for itself.

    Args:
        gold: gold, as in `evaluate`; without `systems`, a CoNLL file may hold predicted tags, too.
        systems: one system, or several; without them, data can only be described.
        train: training data, as in `evaluate`.
        name: the name of the dataset; by default, the stem of the gold file.
        align: what to do if the tokens of predictions and gold differ, as in `evaluate`.
        score_column: the column of token scores in a CoNLL file, as in `confidence`.
        identity: the key of gold mentions, or the column, that says whom or what they name, as in `leaks`.
        attributes, buckets, vocabulary, lowercase: which attributes there are, and how they are cut.
        unit, resamples, seed: how differences are tested.
        redact: leave out all text.
        reading: keywords of `spanwise.read`.

    Examples:
        >>> import spanwise
        >>> data = spanwise.open([["B-PER", "I-PER", "O"]], {"mine": [["B-LOC", "O", "O"]]}, resamples=0)
        >>> data.evaluate()["mine"].exact.overall.f1, data.leaks().systems["mine"].overall.partly
        (0.0, 1)
    """
    for key in reading:
        if key in _ELSEWHERE:
            raise ChoiceError(f"{key} is not for data that are opened.\nGive it to spanwise.evaluate.")
        if key not in (known := _parameters(read)):
            raise unknown("keyword", key, {*_parameters(open_data), *known})
    if is_spark(gold):
        raise ChoiceError("a Spark frame cannot be opened.\nGive it to spanwise.evaluate.")
    if has_runs(systems):
        raise ChoiceError(
            "a path with {run} in it stands for several files, but each system is opened from one.\n"
            "Give it to spanwise.evaluate, which returns a study of the runs."
        )
    if identity is not None:
        reading["columns"] = {**(reading.get("columns") or {}), str(identity): identity}
    shared: dict[str, Any] = {
        "attributes": _kept(attributes), "buckets": buckets, "vocabulary": _kept(vocabulary),
        "lowercase": lowercase, "unit": unit, "resamples": resamples, "seed": seed, "redact": redact,
    }  # fmt: skip
    shared = {key: value for key, value in shared.items() if value is not None}
    checked = Choices.of_mentions(
        **{"attributes": "none", "buckets": None, **shared}, align=align, reading=reading
    )
    reading = dict(checked.reading)
    scores = {} if score_column is None else {"columns": {"score": score_column}}
    if isinstance(gold, str | os.PathLike):
        gold = opened(gold, encoding=reading.get("encoding"), limits=reading.get("limits"))
    files = None
    if isinstance(gold, File) and holds_tuples(gold):
        files = TupleFiles.of(gold, systems, train, reading)
        gold, systems, train = files.gold, files.systems, files.train
    if systems is None and not looks_merged(gold, **reading):
        inputs = read_gold_inputs(gold, train, reading=reading, name=name)
    else:
        if systems is not None:
            keywords = {key: value for key, value in reading.items() if key not in ("format", "tokens")}
            gold, systems = side_by_side(gold, None, systems, **keywords) or (gold, systems)
            refuse_merged(gold, **reading)
        inputs = read_inputs(
            gold, systems, train, align=align, reading=reading, name=name, predicted_reading=scores
        )
    of_columns = {"identity": identity, "score_column": score_column}
    shared |= {key: value for key, value in of_columns.items() if value is not None}
    ResampledUnits.of(inputs.corpus, unit)  # an error if there are no such units
    data = OpenedInputs.of(inputs)
    (OneBlock(data).read_labels | ReadLabels(data.training.labels)).check(reading)
    return Data(data, shared, reading, files)


class TupleFiles(Struct, frozen=True, eq=False):
    """Files of tuples, whose bytes are kept: their mentions are opened, and their tuples read on request."""

    gold: object
    systems: object
    train: object

    @classmethod
    def of(cls, gold: object, systems: object, train: object, reading: Mapping[str, Any]) -> TupleFiles:
        """Read all bytes of the files."""

        def kept(source: object) -> object:
            if not isinstance(source, str | os.PathLike) or Path(source).is_dir():
                return source
            file = opened(source, encoding=reading.get("encoding"), limits=reading.get("limits"))
            stored = file.stored
            return File.of_bytes(file.path, stored, sha256=file.sha256, encoding=file.encoding)

        named = None if systems is None else {key: kept(one) for key, one in named_sources(systems).items()}
        return cls(kept(gold), named, kept(train))

    def again(self) -> TupleFiles:
        """The same files, from which nothing has been read."""

        def fresh(source: object) -> object:
            return source.again() if isinstance(source, File) else source

        named = {key: fresh(one) for key, one in named_sources(self.systems).items()}
        return TupleFiles(fresh(self.gold), named, fresh(self.train))


def _kept(given: object) -> object:
    """An option that may be an iterator, as it is kept for several questions."""
    return [*given] if isinstance(given, Iterable) and not isinstance(given, str) else given


class Data:
    """Sources that are read, aligned and surveyed; made by `spanwise.open`.

    Examples:
        >>> import spanwise
        >>> data = spanwise.open([["B-PER", "O"]], {"mine": [["B-PER", "B-LOC"]]})
        >>> data.evaluate(resamples=0)["mine"].exact.overall.precision
        0.5
    """

    def __init__(
        self,
        inputs: OpenedInputs,
        shared: Mapping[str, Any],
        reading: Mapping[str, Any],
        tuples: TupleFiles | None = None,
    ) -> None:
        self._inputs, self._shared, self._reading, self._tuples = inputs, dict(shared), dict(reading), tuples
        self._evaluation: Result | None = None  # with the options of all questions

    def __repr__(self) -> str:
        systems = ", ".join(self._inputs.systems) or "no systems"
        training = f", train: {len(self._inputs.train)}" if self._inputs.train else ""
        return f"<data {self._inputs.name!r}: {systems}{training}>"

    def evaluate(self, **options: Any) -> Result:
        """Score the systems; `options` are keywords of `spanwise.evaluate`."""
        keywords = self._keywords("evaluate", evaluate, options)
        result = evaluate(self._asked("evaluate"), **keywords, **self._reading)
        if options.keys() <= _OF_TESTS:
            self._evaluation = result
        return result

    def slices(self, **options: Any) -> Slices:
        """Find slices where systems are weak or differ; `options` are keywords of `spanwise.find_slices`.

        The matching and the buckets of an evaluation are used if there was one.
        """
        keywords = self._keywords("slices", find_slices, options)
        return find_slices(self._matched("slices"), **keywords, **self._reading)

    def confidence(self, **options: Any) -> Confidence:
        """Evaluate the confidence scores of the systems; `options` are keywords of `spanwise.confidence`.

        The matching and the buckets of an evaluation are used if there was one.
        """
        keywords = self._keywords("confidence", confidence, options)
        return confidence(self._matched("confidence"), **keywords, **self._reading)

    def leaks(self, **options: Any) -> Leaks:
        """Say what masking would leave readable; `options` are keywords of `spanwise.leaks`."""
        keywords = self._keywords("leaks", leaks, options)
        return leaks(self._asked("leaks"), **keywords, **self._reading)

    def describe(self, **options: Any) -> Description:
        """Describe gold and its training data; `options` are keywords of `spanwise.describe`."""
        return describe(self._inputs, **self._keywords("describe", describe, options), **self._reading)

    def errors(
        self,
        system: str | None = None,
        *,
        kind: str | Sequence[str] | None = None,
        gold: str | None = None,
        predicted: str | None = None,
        where: str | None = None,
        pattern: str | None = None,
        limit: int = 50,
    ) -> ErrorList:
        """The errors of one system or of all, as `Result.errors` lists them.

        They are those of an evaluation, which is made if there was none.
        """
        if self._evaluation is None:
            self._asked("errors")
            self.evaluate(resamples=0)
        assert self._evaluation is not None
        return self._evaluation.errors(
            system, kind=kind, gold=gold, predicted=predicted, where=where, pattern=pattern, limit=limit
        )

    def tuples(self, **options: Any) -> Tuples:
        """Score the tuples of files that hold some; `options` are keywords of `spanwise.tuples`."""
        keywords = self._keywords("tuples", tuples, options)
        self._asked("tuples")
        if self._tuples is None:
            raise ChoiceError(
                f"{self._inputs.gold.reading.path} is not a file of tuples.\nOpen one, or ask about mentions."
            )
        files = self._tuples.again()
        reading = {name: value for name, value in self._reading.items() if name in (*READING, *RULES)}
        return tuples(files.gold, files.systems, train=files.train, **keywords, **reading)

    def _asked(self, question: str) -> OpenedInputs:
        """The data for a question about systems."""
        if not self._inputs.systems:
            raise ChoiceError(
                f"{question} needs predictions, but only gold was opened.\nName systems in spanwise.open."
            )
        return self._inputs

    def _matched(self, question: str) -> object:
        """The evaluation of the data if there was one, and else the data."""
        inputs = self._asked(question)
        return inputs if self._evaluation is None else self._evaluation.in_memory

    def _keywords(
        self, question: str, function: Callable[..., object], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The options of a question and those of all questions, after refusing what it does not take."""
        named = _parameters(function)
        taken = [key for key in named if key not in (*_OF_OPENING, *_ELSEWHERE)]
        for key in options:
            if key in taken:
                continue
            if key in _ELSEWHERE:
                raise ChoiceError(
                    f"{key} is not for data that are opened.\nGive it to spanwise.{function.__name__}."
                )
            if key in _OF_OPENING or key in _parameters(read):
                raise ChoiceError(
                    f"{key} says how data are read, but they are open already.\nName it in spanwise.open."
                )
            raise unknown(f"keyword of {question}", key, taken)
        return {key: value for key, value in self._shared.items() if key in named} | {**options}


def _parameters(function: Callable[..., object]) -> list[str]:
    """The names of the keywords of a function."""
    parameters = signature(function).parameters.values()
    return [one.name for one in parameters if one.kind is Parameter.KEYWORD_ONLY]
