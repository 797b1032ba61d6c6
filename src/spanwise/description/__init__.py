"""Describe a test set without predictions: sizes, labels, ζ, tough mentions, drift and conflicts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np
from msgspec import UNSET, UnsetType, convert
from msgspec.structs import replace

from spanwise import __version__
from spanwise.attributes import Attribute
from spanwise.columns import ints, plain, ratio
from spanwise.composition import dataset_entry
from spanwise.description._conflicts import conflicts
from spanwise.description._counting import (
    LENGTHS,
    NOTHING,
    CachedGoldBlock,
    Histogram,
    TestPart,
    TrainingContext,
    TrainPart,
    added,
    count,
    count_training,
    look,
)
from spanwise.document.dataset import DatasetFacts, Description
from spanwise.engines import Engine, InProcess, engine_of
from spanwise.errors import ChoiceError, InputError
from spanwise.evaluation.blocks import OneBlock, TrainingSource
from spanwise.evaluation.choices import Choices
from spanwise.evaluation.dataset import (
    Facts,
    OpenedSources,
    UnopenedSources,
    fix_facts,
    ignore_progress,
    is_spark,
    open_sources,
    resolve_frame,
)
from spanwise.formats import File, rules_of, says_label_rules
from spanwise.hashing import ordered_hashes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Description", "describe"]


@says_label_rules
def describe(
    test: object,
    *,
    gold: str | None = None,
    train: object = None,
    attributes: str | Attribute | Iterable[str | Attribute] = "all",
    vocabulary: Iterable[str] | None = None,
    lowercase: bool = False,
    name: str | None = None,
    examples: int = 20,
    redact: bool = False,
    memory: int | str | None = None,
    workers: int | None = 1,
    engine: Engine | SparkSession | None = None,
    **reading: Any,
) -> Description:
    """Describe a test set and, if given, how it relates to its training data.

    Examples:
        >>> test = [{"tokens": ["Ann", "met", "Bob"], "spans": [[0, 1, "PER"], [2, 3, "PER"]]}]
        >>> train = [{"tokens": ["Ann", "left"], "spans": [[0, 1, "PER"]]}]
        >>> dataset = describe(test, train=train).dataset
        >>> dataset.mentions, dataset.tough["SEEN"].overall.share
        (2, 0.5)

    Args:
        test: the gold file, an annotation already read, or a Spark frame, as in `evaluate`.
        gold: with a frame, its column of tags or spans.
        train: one or more training files; with a frame, also a frame with the same column names.
        attributes: the attributes to report ζ (the mean over gold units) and buckets for.
        vocabulary: known words, instead of the training vocabulary.
        lowercase: compare strings in lower case for attributes, but not for tough mentions.
        name: the name of the dataset; by default, the stem of its file.
        examples: the maximum number of conflicting annotations to show.
        redact: leave out all text, and the values of attributes that are not built in.
        memory: read files in parts that fit in about this much memory ("1GB"); by default, only if the files
            would not fit in the memory of this machine.
        workers: the number of processes; it does not affect the result. With None, large files are read in
            parts by several processes.
        engine: where blocks run instead of in local processes: a Spark session, or any `Engine`.
        reading: keywords of `spanwise.read`; with a frame, also the columns `tokens`, `document` and
            `sentence`.
    """
    if is_spark(test) and gold is None:
        raise ChoiceError(
            "a Spark frame needs the name of its column of tags or spans.\n"
            'Write describe(frame, gold="tags", tokens="tokens").'
        )
    test, _, columns = resolve_frame(test, gold, {}, reading)
    if columns is None and gold is not None:
        raise ChoiceError(
            "gold names a column of a Spark frame, but the test set is not a frame.\n"
            "Leave gold out, or give a frame."
        )
    choices = Choices.plain(
        attributes=attributes if isinstance(attributes, str | Attribute) else list(attributes),
        vocabulary=None if vocabulary is None else list(vocabulary), lowercase=lowercase, redact=redact,
        reading=reading,
    )  # fmt: skip
    unopened = UnopenedSources(test, {}, train, choices, columns, name, engine_of(engine), alone=True)
    opened = open_sources(unopened, always_tough=True, memory=memory, workers=workers)
    try:
        description = _described(opened, 0 if redact else examples)
    finally:
        opened.free()
    if isinstance(test, str | os.PathLike) and Path(test).exists():
        return replace(description, tuples=_tuples_of(test, reading))
    return description


def _tuples_of(path: str | os.PathLike[str], reading: Mapping[str, Any]) -> dict[str, Any] | UnsetType:
    """The tuples of a file by type, if its format has any and it holds some."""
    from spanwise.relations.files import tuple_facts
    from spanwise.relations.records import holds_tuples

    file = File(path, encoding=reading.get("encoding"))
    if not holds_tuples(file):
        return UNSET
    try:
        return tuple_facts(file, rules_of(dict(reading))) or UNSET
    except InputError:  # of mentions alone, in a form that is not that of tuples
        return UNSET


def _described(opened: OpenedSources, most: int) -> Description:
    """Build the description from sums over the blocks of the test set and the training data."""
    shared, engine, train = opened.shared, opened.engine, opened.train
    if isinstance(shared.source, OneBlock) and isinstance(engine, InProcess):
        shared = replace(shared, source=CachedGoldBlock.of(shared.source))
    source = shared.source
    context = fix_facts(
        shared,
        lambda current: current.mapped(engine, look, source.references(gold_only=True)),
        opened.absent,
        ignore_progress,
    )
    facts, confusable = context.facts, context.confusable
    assert facts is not None and confusable is not None
    tested = list(context.mapped(engine, count, source.references(gold_only=True)))
    trained: TrainPart | None = None
    if train is not None:
        sentences = ordered_hashes(np.concatenate([part.sentences[:, :2] for part in tested]))
        trained = train.map_and_join(count_training, TrainingContext(train.source, sentences))
    dataset = dataset_entry(
        source.name,
        [part.part for part in tested],
        documents=source.documents,
        zeta={
            key: facts.zeta[key] for key, attribute in facts.attributes.items() if attribute.kind == "numeric"
        },
        absent=opened.absent,
    )
    dataset["attributes"] = {key: _attribute(key, facts, tested) for key in facts.attributes}
    if all(part.text for part in tested):
        dataset["conflicts"] = conflicts(source, engine, train, tested, trained, confusable, most)
    if train is not None and trained is not None:
        dataset["drift"] = _drift(tested, trained, train.source)
    sums = tested[0].sums
    for part in tested[1:]:
        sums += part.sums
    return Description(
        spanwise=__version__,
        inputs=context.entries({"": sums}),
        dataset=convert(dataset, DatasetFacts),
    )


def _attribute(name: str, facts: Facts, tested: Sequence[TestPart]) -> dict[str, object]:
    """The description of one attribute, with the number of gold units in each bucket."""
    bucketing = facts.bucketings[name]
    units = sum(part.buckets[name][1] for part in tested)
    counts = ints(sum(part.buckets[name][0] for part in tested)).tolist()
    return {
        "unit": facts.attributes[name].unit,
        "kind": bucketing.kind,
        "strategy": facts.strategies[name],
        "zeta": plain(facts.zeta[name]),
        "buckets": [
            {**bucket.to_dict(), "gold": number, "share": plain(ratio(number, units))}
            for bucket, number in zip(bucketing.buckets, counts, strict=True)
            if number or not bucket.rest
        ],
    }


# ---- drift: how far the test set differs from the training data ----


def _drift(tested: Sequence[TestPart], trained: TrainPart, train: TrainingSource) -> dict[str, object]:
    """How labels, lengths, unknown tokens and unseen mentions of a test set differ from the training data.

    Labels and lengths are compared with those of the training data. Unknown tokens and unseen mentions are
    compared with a leave-one-out estimate: those of each training document (or sentence, if no documents
    are marked) with the rest as its training data.
    """
    sizes = sum((part.used for part in tested), Counter[str]())
    seen, mentions = trained.seen, sizes.total()
    ranking = sorted({**dict.fromkeys(seen, 0), **sizes}.items(), key=lambda item: (-item[1], item[0]))
    labels = {
        label: _pair(ratio(seen[label], seen.total()), ratio(number, mentions)) for label, number in ranking
    }
    drift: dict[str, object] = {"labels": labels, "label_distance": _label_distance(labels)}
    if not trained.text or not all(part.text for part in tested):
        return drift
    lengths = {}
    for name in LENGTHS:
        test = added([part.lengths[name] for part in tested])
        parts = [trained.lengths.get((number, name), NOTHING) for number in range(train.sources)]
        if len(test[0]) and all(len(part[0]) for part in parts):
            lengths[name] = _moved(added(parts), test)
    unknown = ratio(sum(part.unknown for part in tested), sum(part.part.tokens for part in tested))
    new_form, new_pair = trained.forms.alone, trained.pairs.alone
    counts = {
        "SEEN": trained.mentions - new_pair,
        "UNSEEN-TYPE": new_pair - new_form,
        "UNSEEN-TOKENS": new_form,
        "UNSEEN-ANY": new_pair,
    }
    return drift | {
        "lengths": lengths,
        "left_out": "document" if train.marked else "sentence",
        "unknown_tokens": _pair(ratio(trained.words.alone, trained.tokens), unknown),
        "tough": {
            subset: _pair(
                ratio(number, trained.mentions),
                ratio(sum(part.part.inside(subset) for part in tested), mentions),
            )
            for subset, number in counts.items()
        },
    }


def _pair(train: SupportsFloat, test: SupportsFloat) -> dict[str, float | None]:
    """A share or mean in the training data and in the test set."""
    return {"train": plain(train), "test": plain(test)}


def _label_distance(shares: Mapping[str, Mapping[str, float | None]]) -> float | None:
    """Half the sum of absolute differences: the share of mentions whose label would have to change."""
    differences = [
        abs(share["train"] - share["test"])
        for share in shares.values()
        if share["train"] is not None and share["test"] is not None
    ]
    return fsum(differences) / 2 if differences else None


def _moved(train: Histogram, test: Histogram) -> dict[str, float | None]:
    """Both means, and the largest difference between the cumulative shares (the Kolmogorov-Smirnov D)."""
    values = np.union1d(train[0], test[0])
    shares, means = [], []
    for value, times in (train, test):
        until = np.append(0, np.cumsum(times))
        shares.append(until[np.searchsorted(value, values, side="right")] / until[-1])
        means.append(fsum((value * times).tolist()) / int(until[-1]))
    return {**_pair(*means), "distance": float(np.abs(shares[0] - shares[1]).max())}
