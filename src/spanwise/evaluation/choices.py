"""The options and sources of `evaluate`: options are checked first, then sources are read and aligned."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from inspect import signature
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import UNSET, Struct
from msgspec.structs import force_setattr, replace

from spanwise.alignment import How
from spanwise.alignment import align as align_to
from spanwise.attributes import Attribute, choose
from spanwise.buckets import Strategy
from spanwise.columns import Ints, ints
from spanwise.composition import input_entry
from spanwise.corpus import Annotation, Corpus, Mentions, with_one_vocabulary
from spanwise.credits import Credit, credit_of
from spanwise.document import Alignment, Input, Settings
from spanwise.engines import at_once, cores, together
from spanwise.errors import ChoiceError, InputError, unknown
from spanwise.formats import (
    PACKED,
    Reader,
    ReadKeywords,
    is_source,
    levels_of,
    listed_sources,
    read,
    rules_of,
    stem_of,
    with_rules,
)
from spanwise.labels import Hierarchy
from spanwise.matching import MATCHERS, Matcher
from spanwise.rates import RATES, SCORES, Rate, f_beta, is_rate
from spanwise.registry import resolve
from spanwise.settings import SETTINGS, default_value

UNITS = ("sentence", "document")
TWO_READERS = 32 << 20  # bytes of files above which two readers are faster than one with a common vocabulary
_NAMELESS = "predicted"  # the name of a system whose predictions are not a file


class Block(Struct, frozen=True, eq=False):
    """Some sentences of gold with the predictions of every system, on the gold text."""

    gold: Annotation
    systems: Mapping[str, Mentions]
    predicted: Mapping[str, Annotation]  # as read, before alignment
    alignment: Mapping[str, Alignment]  # the report on each system

    @property
    def corpus(self) -> Corpus:
        """The gold text."""
        return self.gold.corpus


class Inputs(Block, frozen=True, eq=False):
    """A dataset in memory, as one block: gold, the predictions of each system, and training data."""

    name: str
    merged: bool  # whether gold and predictions are in the same files
    train: tuple[Annotation, ...]
    entries: tuple[Input, ...]  # `inputs` of the result document


class ResampledUnits(Struct, frozen=True, eq=False):
    """The units of intervals and tests: sentences, or documents if the data mark them."""

    kind: str
    number: int
    of_sentence: Ints

    @classmethod
    def of(cls, corpus: Corpus, kind: str | None) -> ResampledUnits:
        """The units of a corpus: documents if it has more than one, unless `kind` names another unit."""
        documents = None if corpus.documents is None else len(corpus.documents) - 1
        kind = unit_of(kind, documents, corpus.source.path)
        if kind == "document" and corpus.document_of_sentence is not None:
            return cls(kind, documents or 0, corpus.document_of_sentence)
        return cls(kind, len(corpus), ints(np.arange(len(corpus))))


def unit_of(requested: str | None, documents: int | None, path: str) -> str:
    """What intervals and tests are over: documents if there is more than one, unless another is asked for."""
    if requested is not None and requested not in UNITS:
        block_size(requested)  # raises an error if it is not a unit
        return "sentence"  # consecutive sentences are joined after counting
    if requested == "document" and documents is None:
        raise InputError(
            f"{path}: the file marks no documents, so they cannot be the units of intervals and tests.\n"
            'Use unit="sentence", or mark documents with -DOCSTART- lines.'
        )
    return requested or ("document" if (documents or 0) > 1 else "sentence")


def block_size(requested: str | None) -> int:
    """The number of consecutive sentences per unit: N for "block:N", else 1."""
    if requested is None or requested in UNITS:
        return 1
    kind, _, size = requested.partition(":")
    if kind != "block" or not size.isdecimal() or int(size) < 1:
        raise ChoiceError(
            f"unit is {requested!r}, but must be 'sentence', 'document' or 'block:N'.\n"
            "Write block:20 for blocks of 20 consecutive sentences."
        )
    return int(size)


@cache
def _keywords_of_reading() -> list[str]:
    return [name for name in signature(read).parameters if name not in ("source", "name")]


def check_keywords(reading: Mapping[str, object]) -> None:
    """Refuse unknown keywords."""
    for name in reading:
        if name not in (accepted := _keywords_of_reading()):
            others = signature(import_module("spanwise.evaluation").evaluate).parameters
            raise unknown("keyword", name, {*accepted, *others} - {"reading"})


def read_inputs(
    gold: object,
    systems: object,
    train: object,
    *,
    align: How,
    reading: ReadKeywords,
    name: str | None,
    predicted_reading: ReadKeywords | None = None,
) -> Inputs:
    """Read sources that have not been read yet, align predictions to gold, and give all texts one vocabulary.

    Only the tags of predictions are read, unless `predicted_reading` asks for more columns.
    """
    # A reader codes each word once for all its files, so a single reader is faster for small files.
    large = _bytes([gold, *listed_sources(train), *_systems(systems).values()]) >= TWO_READERS
    readers = [Reader(**reading) for _ in range(2 if large else 1)]
    (gold_annotation, predicted), training = at_once(
        lambda: _gold_or_merged(gold, systems, readers[0]),
        lambda: training_of(train, readers[-1]),
        threads=len(readers),
    )
    if systems is not None:
        if predicted_reading:
            readers = [Reader(**{**reading, **predicted_reading})]
        predicted = read_predicted(
            systems, readers, prefer=gold_annotation.reading.scheme, extras=bool(predicted_reading)
        )
    return combine_inputs(
        gold_annotation, predicted, training, align=align, name=name, merged=systems is None
    )


def combine_inputs(
    gold: Annotation,
    predicted: Mapping[str, Annotation],
    train: Sequence[Annotation] = (),
    *,
    align: How,
    name: str | None,
    merged: bool = False,
) -> Inputs:
    """Combine annotations into one block: align predictions to gold, and give all texts one vocabulary."""
    corpora = [annotation.corpus for annotation in (gold, *train, *predicted.values())]
    recoded = iter(with_one_vocabulary(corpora))
    gold = replace(gold, corpus=next(recoded))
    training = tuple(replace(annotation, corpus=next(recoded)) for annotation in train)
    predicted = {key: replace(annotation, corpus=next(recoded)) for key, annotation in predicted.items()}
    aligned = {key: align_to(gold, annotation, how=align) for key, annotation in predicted.items()}
    entries = [input_entry("gold", gold)]
    for key, alignment in aligned.items():
        entry = input_entry("predicted", alignment.predicted)
        entries.append(replace(entry, system=key, alignment=alignment.report))
    entries += [input_entry("train", annotation) for annotation in training]
    return Inputs(
        name=name or stem_of(gold.reading.path),
        gold=gold,
        systems={key: alignment.mentions for key, alignment in aligned.items()},
        predicted={
            key: _on_gold_text(alignment.predicted, gold, alignment.report)
            for key, alignment in aligned.items()
        },
        alignment={key: alignment.report for key, alignment in aligned.items()},
        merged=merged,
        train=training,
        entries=tuple(entries),
    )


def read_gold_inputs(gold: object, train: object, *, reading: ReadKeywords, name: str | None) -> Inputs:
    """Read gold and training data without predictions, and give them one vocabulary.

    Training data keep all their columns. If gold has text, training data without text are refused.
    """
    reader = Reader(**reading)
    gold_annotation = reader.read(gold)
    training = [reader.read(source) for source in listed_sources(train)]
    if not gold_annotation.corpus.without_text:
        training = list(map(with_text, training))
    corpora = with_one_vocabulary([gold_annotation.corpus, *(annotation.corpus for annotation in training)])
    gold_annotation = replace(gold_annotation, corpus=corpora[0])
    training = [
        replace(annotation, corpus=corpus) for annotation, corpus in zip(training, corpora[1:], strict=True)
    ]
    return Inputs(
        name=name or stem_of(gold_annotation.reading.path), gold=gold_annotation, systems={}, predicted={},
        alignment={}, merged=False, train=tuple(training), entries=(input_entry("gold", gold_annotation),),
    )  # fmt: skip


def _gold_or_merged(
    gold: object, systems: object, reader: Reader
) -> tuple[Annotation, dict[str, Annotation]]:
    """Read gold, and the predictions if they are in the same files."""
    return _merged(gold, reader) if systems is None else (reader.read(gold), {})


def read_predicted(
    systems: object, readers: Sequence[Reader], *, prefer: str | None, extras: bool = False
) -> dict[str, Annotation]:
    """Read the predictions of every system; the readers divide the files among themselves."""
    named = list(_systems(systems).items())
    check_any(systems)
    annotations = together(
        [
            partial(_read_all, named[index :: len(readers)], reader, prefer, extras)
            for index, reader in enumerate(readers)
        ]
    )
    merged = {key: annotation for part in annotations for key, annotation in part.items()}
    return {key: merged[key] for key, _ in named}


def check_any(systems: object) -> None:
    """Refuse an empty collection of systems."""
    if systems is not None and not named_sources(systems):
        raise ChoiceError("there is no system to evaluate.\nGive at least one file or list of predictions.")


def _read_all(
    sources: Sequence[tuple[str, object]], reader: Reader, prefer: str | None, extras: bool
) -> dict[str, Annotation]:
    return {key: reader.read_predictions(source, prefer=prefer, extras=extras) for key, source in sources}


def _systems(systems: object) -> dict[str, object]:
    return {} if systems is None else named_sources(systems)


def _bytes(sources: Sequence[object]) -> int:
    """The total size of the sources that are files."""
    paths = [Path(source) for source in sources if isinstance(source, str | os.PathLike)]
    return sum(path.stat().st_size for path in paths if path.is_file())


def _on_gold_text(annotation: Annotation, gold: Annotation, report: Alignment) -> Annotation:
    """Let an annotation share the columns of the gold text, if the two texts are equal."""
    corpus = annotation.corpus
    by_tokens = corpus.unit == gold.corpus.unit == "token" and not corpus.without_text
    if report.changed_sentences or report.crossing is not UNSET or not by_tokens:
        return annotation
    return replace(
        annotation, corpus=replace(corpus, tokens=gold.corpus.tokens, sentences=gold.corpus.sentences)
    )


def _merged(gold: object, reader: Reader) -> tuple[Annotation, dict[str, Annotation]]:
    """Read gold and predictions from one file, or from several files that hold the same gold annotation."""
    files = named_sources(
        gold if isinstance(gold, Mapping) else [gold] if not isinstance(gold, list) else gold
    )
    paths = {key: source for key, source in files.items() if isinstance(source, str | os.PathLike)}
    if not files or len(paths) < len(files):
        raise ChoiceError(
            "no predictions were given, and the gold data are not a file that holds predicted tags too.\n"
            "Give the predictions as systems."
        )
    annotations = {key: reader.read_layers(path) for key, path in paths.items()}
    first, *others = (layers["gold"] for layers in annotations.values())
    for gold_annotation in others:
        if first.mentions.rows() != gold_annotation.mentions.rows():
            raise InputError(
                f"{gold_annotation.reading.path}: its gold mentions are not those of {first.reading.path}.\n"
                "Files that hold gold and predictions can be compared only over the same gold annotation."
            )
    return first, {key: layers["predicted"] for key, layers in annotations.items()}


RUN = "{run}"  # the placeholder in a path for the name or number of a run


def has_runs(systems: object) -> bool:
    """Whether a system has several runs: a path with {run}, which stands for all of them, or files by run.

    Examples:
        >>> has_runs({"bert": "bert.{run}.conll"}), has_runs("bert.1.conll")
        (True, False)
        >>> has_runs({"bert": {"1": "a.conll", "2": "b.conll"}})
        True
    """
    listed: object = list(systems.values()) if isinstance(systems, Mapping) else systems
    if isinstance(listed, str | os.PathLike):
        return RUN in os.fspath(listed)
    if not isinstance(listed, list | tuple):
        return False
    if isinstance(systems, Mapping) and any(isinstance(source, Mapping) for source in listed):
        return True
    return any(isinstance(source, str | os.PathLike) and RUN in os.fspath(source) for source in listed)


def files_of_runs(systems: object) -> dict[str, dict[str, str]]:
    """The files of each system by run, if a system has several runs; otherwise nothing."""
    if not has_runs(systems):
        return {}
    files: dict[str, dict[str, str]] = {}
    for name, path in named_sources(systems).items():
        if isinstance(path, Mapping):
            files[name] = {str(run): os.fspath(file) for run, file in path.items()}
            continue
        if not isinstance(path, str | os.PathLike):
            raise ChoiceError(
                f"the predictions of {name!r} must be a file, because another system has several runs.\n"
                "Give its path."
            )
        files[name] = resolve("studies:runs_of_pattern")(os.fspath(path))
    return files


def named_sources(systems: Any) -> dict[str, object]:
    """The predictions by system; a file that is not given by name is named by its stem."""
    if isinstance(systems, Mapping):
        return dict(systems)
    if is_source(systems):
        return {_system_name(systems): systems}
    listed = list(systems)
    if not all(map(is_source, listed)):
        return {_NAMELESS: listed}  # the lists of tags or spans of one system
    named: dict[str, object] = {}
    for source in listed:
        key = _system_name(source)
        if key in named and not isinstance(source, str | os.PathLike | Annotation):
            raise ChoiceError(
                'several systems are objects without a name.\nName them: {"first": …, "second": …}.'
            )
        if key in named:
            raise ChoiceError(f'two systems are called {key!r}.\nName them: {{"first": …, "second": …}}.')
        named[key] = source
    return named


def _system_name(source: object) -> str:
    if isinstance(source, Annotation):
        return stem_of(source.reading.path)
    return stem_of(os.fspath(source)) if isinstance(source, str | os.PathLike) else _NAMELESS


def training_of(train: object, reader: Reader) -> tuple[Annotation, ...]:
    """Read the training data, which must hold text."""
    return tuple(with_text(reader.read(source, extras=False)) for source in listed_sources(train))


def with_text(train: Annotation) -> Annotation:
    """Return training data as they are; raise an error if they hold no text."""
    if not train.corpus.without_text:
        return train
    raise InputError(
        f"{train.reading.path}: training data without tokens cannot show what was seen.\n"
        "Give a file that holds the text."
    )


class Choices(Struct, frozen=True, eq=False):
    """The keywords of `evaluate` that affect its numbers or what is shown of them."""

    matcher: Matcher
    focus: str
    credits: Mapping[str, Credit]
    attributes: str | Attribute | Sequence[str | Attribute] | None
    buckets: Mapping[str | Attribute, str | Strategy]
    edges: Mapping[str | Attribute, Mapping[str, object]]
    crosses: Sequence[tuple[str, str]]
    vocabulary: frozenset[str] | None
    lowercase: bool
    resamples: int
    seed: int
    confidence: float
    unit: str | None
    pairs: Sequence[tuple[str, str]] | None
    correction: str
    primary: str
    beta: tuple[float, ...]
    scores: tuple[Rate, ...]
    levels: Hierarchy | None  # of labels, each of which is scored
    align: How
    examples: str
    examples_cap: int
    redact: bool
    command: str | None
    tags: Mapping[str, str]
    reading: ReadKeywords

    @classmethod
    def of(
        cls,
        *,
        matcher: str | Matcher,
        weights: str | Credit | Sequence[str | Credit],
        attributes: str | Sequence[str | Attribute] | None,
        buckets: Mapping[str, str | Strategy] | None,
        edges: Mapping[str, Mapping[str, object]] | None,
        cross: Sequence[tuple[str, str]],
        vocabulary: Sequence[str] | None,
        beta: float | Sequence[float],
        scores: str | Rate | Sequence[str | Rate],
        primary: str,
        reading: ReadKeywords,
        **others: Any,
    ) -> Choices:
        """Convert the keywords of `evaluate` to the form that later stages use."""
        if buckets is not None and not isinstance(buckets, Mapping):
            raise ChoiceError(
                f"buckets is {buckets!r}, but must say how to cut each attribute.\n"
                'Write it like {"entity_length": "1,2,3"}.'
            )
        custom = _unregistered(_listed(attributes))
        crosses = crosses_of(cross, custom)
        return cls(
            matcher=MATCHERS.find(matcher),
            credits=credits_of(weights),
            attributes=_with_crossed(
                attributes, [custom.get(name, name) for pair in crosses for name in pair]
            ),
            buckets={custom.get(name, name): how for name, how in (buckets or {}).items()},
            edges={custom.get(name, name): saved for name, saved in (edges or {}).items()},
            crosses=crosses,
            vocabulary=None if vocabulary is None else frozenset(vocabulary),
            primary=primary,
            beta=betas(beta, primary),
            scores=added_scores(scores, primary),
            levels=levels_of(reading),
            reading=reading,
            **others,
        )

    @classmethod
    def among(cls, given: Mapping[str, Any], **changed: Any) -> Choices:
        """The choices among the arguments of `evaluate`, which have the same names."""
        named = (
            each.name for each in signature(cls.of).parameters.values() if each.kind is not each.VAR_KEYWORD
        )
        names = {*cls.__struct_fields__, *named}
        return cls.of(**{name: value for name, value in given.items() if name in names} | changed)

    @classmethod
    def plain(
        cls,
        *,
        attributes: str | Attribute | Sequence[str | Attribute] | None,
        buckets: Mapping[str, str | Strategy] | None = None,
        edges: Mapping[str, Mapping[str, object]] | None = None,
        vocabulary: Sequence[str] | None = None,
        reading: ReadKeywords,
        **others: Any,
    ) -> Choices:
        """The choices of verbs with fewer options than `evaluate`: no resampling and no examples."""
        chosen = {"attributes": attributes, "buckets": buckets, "edges": edges, "vocabulary": vocabulary}
        defaults: dict[str, object] = {"resamples": 0, "examples": "none", "examples_cap": 0}
        return cls.usual(reading=reading, **{**defaults, **chosen, **others})

    @classmethod
    def of_mentions(
        cls,
        *,
        attributes: str | Attribute | Iterable[str | Attribute],
        buckets: Mapping[str, str | Strategy] | None,
        reading: ReadKeywords,
        **others: Any,
    ) -> Choices:
        """The choices of verbs that use only attributes of mentions: attributes of tokens are left out."""
        requested = _listed(attributes if isinstance(attributes, str | Attribute) else [*attributes])
        cuts = buckets or {}
        resolved = choose([*(attribute for attribute in requested if attribute != "none"), *cuts])
        chosen = {attribute.name: attribute for attribute in resolved if attribute.unit == "mention"}
        return cls.plain(
            attributes=list(chosen.values()) or "none",
            buckets={key: how for key, how in cuts.items() if choose([key])[0].name in chosen},
            reading=reading,
            **others,
        )

    @classmethod
    def usual(cls, *, reading: ReadKeywords, **given: Any) -> Choices:
        """The given choices, and the defaults of `evaluate` for all others."""
        defaults = {name: SETTINGS[name].default for name in cls.__struct_fields__ if name in SETTINGS}
        defaults |= {"weights": (), "buckets": None, "cross": (), "pairs": None, "command": None, "tags": {}}
        return cls.of(reading=reading, **{**defaults, **given})

    def __post_init__(self) -> None:
        force_setattr(self, "reading", with_rules(self.reading))
        for name in self.__struct_fields__:
            if name in SETTINGS:
                SETTINGS[name].check(getattr(self, name))

    def check_systems(self, names: Sequence[str]) -> None:
        """Refuse pairs that name unknown systems."""
        for pair in self.pairs or ():
            for system in pair:
                if system not in names:
                    raise unknown("system", system, names)

    def pairs_of(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """The pairs of systems to test: those that were chosen, or all."""
        if self.pairs is not None:
            return [(first, second) for first, second in self.pairs]
        return list(combinations(names, 2))

    def check_crosses(self, absent: Mapping[str, str]) -> None:
        """Refuse to cross attributes that cannot be computed."""
        for pair in self.crosses:
            for name in pair:
                if name in absent:
                    raise ChoiceError(
                        f"{name!r} cannot be crossed: {absent[name]}.\nGive what it needs, or cross another."
                    )

    def to_dict(self) -> dict[str, Any]:
        """The choices as the settings of a result document."""
        fields = {name: getattr(self, name) for name in Settings.__struct_fields__ if hasattr(self, name)}
        return {
            name: value for name, value in fields.items() if name not in ("attributes", "buckets", "unit")
        } | {
            "primary": UNSET if self.primary == "f1" else self.primary,
            "beta": self.beta or UNSET,
            "scores": self.scores or UNSET,
            "hierarchy": UNSET if self.levels is None else dict(self.levels.paths),
            "hierarchy_separator": UNSET if self.levels is None else self.levels.separator,
            "matcher": UNSET if self.matcher.name == "fair" else self.matcher.name,
            "repair": self.reading.get("repair", default_value("repair")),
            **rules_of(self.reading).to_dict(),
            "credits": {name: credit.formula() for name, credit in self.credits.items()},
            "vocabulary": None if self.vocabulary is None else len(self.vocabulary),
            "redacted": self.redact,
            "preset": None,
        }


def betas(beta: float | Sequence[float], primary: str) -> tuple[float, ...]:
    """The βs of the F-betas that are reported besides F1, in ascending order."""
    listed: list[Any] = [*beta] if isinstance(beta, list | tuple) else [beta]
    named = [primary] if isinstance(primary, str) and is_rate(primary) and primary not in SCORES else []
    chosen = {f_beta(value).name: float(value) for value in listed}
    chosen |= {name: float(name[1:]) for name in named if name not in RATES}
    return tuple(sorted(value for name, value in chosen.items() if name not in RATES))


def added_scores(scores: str | Rate | Sequence[str | Rate], primary: str) -> tuple[Rate, ...]:
    """The scores of other packages that are reported, by name or as they are."""
    given = [scores] if isinstance(scores, Rate) else scores
    listed = given.split(",") if isinstance(given, str) else given
    named = [*listed, *([primary] if isinstance(primary, str) and primary in SCORES else [])]
    found = [SCORES.declare(one) if isinstance(one, Rate) else SCORES.find(one) for one in named]
    return tuple({score.name: score for score in found}.values())


def credits_of(weights: str | Credit | Sequence[str | Credit]) -> dict[str, Credit]:
    """The chosen credits by name."""
    listed = [weights] if isinstance(weights, str | Credit) else list(weights)
    credits = {}
    for weight in listed:
        credit = credit_of(weight)
        credits[credit.name] = credit
    credits.pop("fair", None)  # always included
    return credits


def _listed(attributes: str | Attribute | Sequence[str | Attribute] | None) -> list[str | Attribute]:
    if attributes is None or isinstance(attributes, Attribute):
        return [] if attributes is None else [attributes]
    return [*(attributes.split(",") if isinstance(attributes, str) else attributes)]


def _unregistered(attributes: Sequence[str | Attribute]) -> dict[str, str | Attribute]:
    """The attributes that are in no registry, by name: `NAME=column:3` and `Attribute` objects."""
    unregistered = [
        attribute for attribute in attributes if isinstance(attribute, Attribute) or ":" in str(attribute)
    ]
    return {choose([attribute])[0].name: attribute for attribute in unregistered}


def crosses_of(
    cross: Sequence[tuple[str, str]], custom: Mapping[str, str | Attribute] = {}
) -> list[tuple[str, str]]:
    """The names of the attributes to cross; `custom` are those that are in no registry."""
    crosses = []
    for left, right in map(_pair, [cross] if isinstance(cross, str) else cross):
        first, second = (choose([custom.get(name, name)])[0] for name in (left, right))
        if "token" in (first.unit, second.unit):
            attribute = first if first.unit == "token" else second
            raise ChoiceError(
                f"{attribute.name!r} is an attribute of tokens and cannot be crossed.\n"
                "Cross two attributes of mentions; spanwise list attributes shows their units."
            )
        crosses.append((first.name, second.name))
    return crosses


def _pair(given: object) -> tuple[str, str]:
    """Two attributes to cross, as a pair or, as on the command line, as "entity_length,label"."""
    names = [name.strip() for name in given.split(",")] if isinstance(given, str) else given
    if isinstance(names, list | tuple) and len(names) == 2 and all(isinstance(n, str) and n for n in names):
        return names[0], names[1]
    raise ChoiceError(
        f"cross holds {given!r}, but must be a list of pairs of attributes.\n"
        "Write a pair like entity_length,label."
    )


def _with_crossed(
    attributes: str | Sequence[str | Attribute] | None, crossed: Sequence[str | Attribute]
) -> str | Sequence[str | Attribute] | None:
    """The chosen attributes, and those that are crossed."""
    if not crossed:
        return attributes
    if attributes is None:
        return [str(default_value("attributes")), *crossed]
    return [*_listed(attributes), *crossed]


# Bytes of memory per byte of a file that is held whole, and how much larger a file is once unpacked.
BYTES_PER_BYTE = 12
UNPACKED = 4
DECODED = 6  # the same for a Parquet file, whose columns become lists of words
DEFAULT_PART = 256 << 20  # memory for parts if only the number of workers was given
# Total size of gold and predictions from which two processes over parts are faster than one over all.
LARGE = 128 << 20
AMPLE = 1 << 30  # memory for parts if no limit was given
MOST_WORKERS = 4

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parts_of(
    memory: int | str | None,
    workers: int | None,
    gold: object,
    systems: object,
    *,
    streamable: bool,
    reading: Mapping[str, object],
    elsewhere: bool = False,
) -> tuple[int | None, int]:
    """The memory for parts in bytes, or None to hold all files at once, and the number of processes.

    Without `memory`, files are evaluated in parts if there are several workers or blocks run `elsewhere`;
    otherwise only if their formats can be read in parts and they would not fit into memory or, with
    `workers` None, are so large that several processes pay off.
    """
    if workers is not None:
        SETTINGS["workers"].check(workers)
    if memory is not None:
        if not streamable:
            raise ChoiceError("a preset needs all files at once.\nLeave memory out.")
        return parse_memory(memory), workers or 1
    paths = _paths(gold, systems)
    if paths is None or not streamable:
        return None, 1
    if elsewhere or (workers is not None and workers > 1):
        return DEFAULT_PART, workers or 1
    size, available = sum(map(_size, paths)), _physical()
    large = workers is None and size >= LARGE
    beyond = available is not None and BYTES_PER_BYTE * size > available
    if not (large or beyond) or not _can_be_streamed(paths, reading, records=beyond):
        return None, 1
    if large:
        return AMPLE if available is None else min(AMPLE, available // 2), min(cores(), MOST_WORKERS)
    return (available or AMPLE) // 2, 1


def _can_be_streamed(paths: Sequence[Path], reading: Mapping[str, object], *, records: bool) -> bool:
    """Whether all files can be read in parts.

    Files of records take longer in parts, so they are accepted only with `records`.
    """
    # Imported lazily: small files don't need it.
    from spanwise.formats.parts import streamed_format

    formats = [streamed_format(path, reading) for path in paths]
    return all(streamed is not None and (streamed.keeps_rows or records) for streamed in formats)


def read_whole(
    sources: Iterable[object], reading: ReadKeywords, memory: int | str
) -> dict[str, tuple[str, int]]:
    """The files that are read whole but may need more than `memory`: their formats and how many bytes."""
    from spanwise.formats import format_of, opened
    from spanwise.formats.parts import streamed_format

    formats = {}
    for source in sources:
        large = needs(source) > parse_memory(memory)
        if isinstance(source, str | os.PathLike) and large and streamed_format(source, reading) is None:
            file = opened(source, limits=reading.get("limits"))
            formats[file.path] = (format_of(file, reading.get("format")).name, needs(source))
    return formats


def needs(source: object) -> int:
    """About how many bytes a file needs when it is held in memory; 0 if it is not a file."""
    if not isinstance(source, str | os.PathLike) or str(source) == "-":
        return 0
    return BYTES_PER_BYTE * _size(Path(source))


def parse_memory(memory: int | str, name: str = "memory") -> int:
    """Parse a number of bytes, such as 536870912, "512MB" or "1.5 GB"; errors call it `name`.

    Examples:
        >>> parse_memory("1.5 GB") == 3 << 29
        True
    """
    if isinstance(memory, int):
        size = memory
    else:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", memory, re.IGNORECASE)
        if match is None:
            raise ChoiceError(f"{name} is {memory!r}, but must be a size such as '512MB' or '1GB'.")
        size = int(min(float(match[1]) * _UNITS[match[2].upper()], 1 << 62))
    if size < 1 << 20:
        raise ChoiceError(f"{name} is {memory!r}, but must be at least 1MB.")
    return size


def _paths(gold: object, systems: object) -> list[Path] | None:
    """The paths of all sources, or None if one of them is not a file."""
    sources = [gold, *(named_sources(systems).values() if systems is not None else ())]
    files = [source for source in sources if isinstance(source, str | os.PathLike) and str(source) != "-"]
    return list(map(Path, files)) if len(files) == len(sources) else None


def _size(path: Path) -> int:
    """The size of a file in bytes once it is unpacked, or of all files in a folder."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    if not path.is_file():
        return 0  # reading will report what is wrong with it
    growth = UNPACKED if path.suffix in PACKED else DECODED if path.suffix == ".parquet" else 1
    return growth * path.stat().st_size


def _physical() -> int | None:
    """The physical memory of this machine in bytes, if known."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
