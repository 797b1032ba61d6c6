"""Evaluate files part by part in bounded memory: counts of parts add up to those of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.attributes import Attribute
from spanwise.buckets import Bucketing
from spanwise.corpus import Corpus
from spanwise.description import dataset_entry
from spanwise.engines.threads import at_once, together
from spanwise.evaluation._choices import Choices
from spanwise.evaluation._counting import Gathered
from spanwise.evaluation._dataset import Facts, Fitted, possible_attributes
from spanwise.evaluation._files import Files, Shared, SurveyedGold
from spanwise.evaluation._inputs import Units
from spanwise.evaluation._look import look
from spanwise.evaluation._summary import summary_of
from spanwise.evaluation._system import Counted
from spanwise.evaluation._training import renumbered, survey_training, training_at_once, training_in_parts
from spanwise.formats import Interner, stem_of
from spanwise.formats.parts import Survey


class Streamed(Struct, frozen=True, eq=False):
    """What remains of an evaluation whose parts are gone: counts and chosen sentences."""

    counted: Mapping[str, Counted]
    bucketings: Mapping[str, Bucketing]
    sentences: list[dict[str, Any]]
    about: dict[str, Any]

    def evaluated(self, name: str) -> None:
        """Mentions are not kept."""

    def examples(self, settings: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """The sentences that were chosen on the way."""
        return self.sentences, self.about


class Whole(Struct, frozen=True, eq=False):
    """What all parts together say, from which everything else is made."""

    facts: Facts
    gathered: Gathered
    described: dict[str, Any]
    inputs: list[Mapping[str, Any]]
    unit: str


def evaluate_streamed(
    gold: Any,
    systems: Any,
    train: Any,
    choices: Choices,
    *,
    name: str | None,
    memory: int,
    workers: int,
) -> tuple[dict[str, Any], Streamed]:
    """The summary of a result document, the same to the byte as without streaming."""
    # Files and training data are let go of before anything is resampled or written.
    whole = _whole(gold, systems, train, choices, name=name, memory=memory, workers=workers)
    counted = whole.gathered.counted()
    summary = summary_of(
        choices,
        whole.facts,
        counted,
        whole.described,
        inputs=whole.inputs,
        unit=whole.unit,
        units=sum(part.units for part in whole.gathered.parts),
    )
    return summary, Streamed(counted, whole.facts.bucketings, *whole.gathered.sentences())


def _whole(
    gold: Any, systems: Any, train: Any, choices: Choices, *, name: str | None, memory: int, workers: int
) -> Whole:
    """Read every file, fix the buckets, and count."""
    files, surveys = _surveyed(gold, systems, train, choices, memory)
    if surveys is None:
        training = training_at_once(train, choices.reading)
    else:
        training = training_in_parts(surveys, files.vocabulary)
    unit = _unit(files.gold, choices.unit)
    shared = Shared(files, choices, training.lexicon, training.known, {}, unit=unit)
    attributes, absent = _opening(shared)
    first = look(replace(shared, attributes=attributes), workers)
    fitted = {name: Fitted.of(one, first.values[name], choices) for name, one in first.attributes.items()}
    facts = Facts.of(first.attributes, fitted, absent)
    gathered = Gathered(choices, files.systems)
    gathered.count(
        replace(shared, attributes=first.attributes, facts=facts, confusable=first.confusable), workers
    )
    described = dataset_entry(
        name or stem_of(files.gold.path),
        [part.described for part in gathered.parts],
        documents=None if files.gold.documents is None else len(files.gold.documents) - 1,
        zeta=facts.zeta,
        absent=absent,
    )
    return Whole(facts, gathered, described, [*gathered.entries(files), *training.entries], unit)


def _surveyed(
    gold: Any, systems: Any, train: Any, choices: Choices, memory: int
) -> tuple[Files, list[Survey] | None]:
    """The files of the test set, and the training files where all of them can be read in parts.

    Two files are looked at a time; in the end all of them share one numbering of words.
    """
    words, learnt = Interner(), Interner()
    first, training = at_once(
        lambda: SurveyedGold.of(gold, systems, {**choices.reading, "words": words}, memory),
        lambda: survey_training(train, {**choices.reading, "words": learnt}),
    )
    choices.check_systems(list(first.named))
    surveys = _surveyed_systems(first, words)
    if training and not renumbered(training, learnt, words):
        training = survey_training(train, {**choices.reading, "words": words})
    return Files(first.survey, surveys, first.merged, tuple(words.strings)), training


def _surveyed_systems(gold: SurveyedGold, words: Interner) -> dict[str, Survey]:
    """The predictions of all systems, looked at with words that gold has taught.

    They should bring no new ones; those that do are looked at again, one after the other.
    """
    if gold.merged:
        return dict.fromkeys(gold.named, gold.survey)
    known = len(words.strings)
    copies = {name: words.copy() for name in gold.named}
    found = together([partial(gold.system, name, copy) for name, copy in copies.items()])
    return {
        name: one if len(copy.strings) == known else gold.system(name, words)
        for (name, copy), one in zip(copies.items(), found, strict=True)
    }


def _opening(shared: Shared) -> tuple[dict[str, Attribute], dict[str, str]]:
    """The attributes that can be computed, told by the first part, and why others cannot.

    The training text is searched for its mentions before processes part ways, so that all of them have
    what was found, and the index by which others are looked for.
    """
    gold = shared.files.read_gold(next(shared.files.gold_parts()))
    context = shared.context(gold)
    if context.training is not None:
        context.training.prepare(context.side(gold.mentions).tree)
    context.release()
    return possible_attributes(shared.choices, context)


def _unit(gold: Survey, asked: str | None) -> str:
    """What is resampled, by the same rule as for a corpus in memory."""
    documents = 0 if gold.documents is None else len(gold.documents) - 1
    corpus = Corpus(
        tokens=np.zeros(0, dtype=np.int32),
        vocabulary=(),
        sentences=np.zeros(gold.sentences + 1, dtype=np.int64),
        documents=gold.documents if documents else None,
    )
    return Units.of(corpus, asked).kind
