"""Evaluate files part by part in bounded memory: counts of parts add up to those of the whole."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spanwise.alignment import align
from spanwise.attributes import Attribute, Context, Lexicon, Toughness, Values, toughness, values
from spanwise.buckets import Bucketing
from spanwise.columns import Bools, Floats, Ints, floats, ints
from spanwise.corpus import Annotation, Corpus, Mentions, with_one_vocabulary
from spanwise.description import DatasetPart, KnownSentences, dataset_entry, input_entry
from spanwise.engines import map_parts
from spanwise.errors import ChoiceError, InputError, at
from spanwise.evaluation._choices import Choices
from spanwise.evaluation._dataset import Dataset, Facts, fixed_facts, possible_attributes
from spanwise.evaluation._examples import examples
from spanwise.evaluation._inputs import Inputs, Units, named_sources, training_of, without_extras
from spanwise.evaluation._summary import summary_of
from spanwise.evaluation._system import Counted, evaluate_system
from spanwise.formats import stem_of
from spanwise.formats.parts import Piece, Survey, pieces, read_piece, reading_of_survey, survey_layers
from spanwise.records import record

# What one token of a part may cost at the height of its evaluation, in bytes, for each file that holds it.
BYTES_PER_TOKEN = 400
LEAST_TOKENS = 10_000


@record(eq=False)
class Streamed:
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


@record(eq=False)
class Files:
    """The surveyed files: gold, and the predictions of each system; one file may hold both."""

    gold: Survey
    systems: Mapping[str, Survey]
    merged: bool

    def parts(self) -> Iterator[dict[str, Piece]]:
        """The pieces of every file that belong together; "" is the gold file's."""
        streams = {"": pieces(self.gold)}
        if not self.merged:
            streams |= {name: pieces(one) for name, one in self.systems.items()}
        for together in zip(*streams.values(), strict=True):
            yield dict(zip(streams, together, strict=True))

    def gold_parts(self) -> Iterator[dict[str, Piece]]:
        """The pieces of the gold file alone."""
        yield from ({"": piece} for piece in pieces(self.gold))

    def read(self, part: Mapping[str, Piece]) -> tuple[Annotation, dict[str, Annotation]]:
        """Gold and predictions of one part."""
        if self.merged:
            layers = read_piece(self.gold, part[""])
            return layers["gold"], dict.fromkeys(self.systems, layers["predicted"])
        gold = read_piece(self.gold, part[""])["only"]
        return gold, {name: read_piece(self.systems[name], part[name])["only"] for name in part if name}

    def read_gold(self, part: Mapping[str, Piece]) -> Annotation:
        """Gold of one part."""
        return read_piece(self.gold, part[""])["gold" if self.merged else "only"]


@record(eq=False)
class Shared:
    """What every part needs."""

    files: Files
    choices: Choices
    lexicon: Lexicon | None
    known: KnownSentences | None
    attributes: Mapping[str, Attribute]
    facts: Facts | None = None
    confusable: frozenset[str] = frozenset()
    unit: str = "sentence"


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
    files = _survey(gold, systems, choices, memory)
    choices.check_systems(list(files.systems))
    training = training_of(train, choices.reading)
    shared = Shared(
        files=files,
        choices=choices,
        lexicon=_lexicon(training),
        known=KnownSentences([one.corpus for one in training]) if training else None,
        attributes={},
    )
    opening = files.read_gold(next(files.gold_parts()))
    attributes, absent = possible_attributes(choices, _context(opening, shared))
    shared = replace(shared, attributes=attributes, unit=_unit(files.gold, choices.unit))
    first = _look(shared, workers)
    facts = fixed_facts(first.attributes, first.values, absent, choices)
    shared = replace(shared, attributes=first.attributes, facts=facts, confusable=first.confusable)
    parts = _within_cap(map_parts(_count, files.parts(), shared, workers=workers), choices.examples_cap)
    counted = {system: Counted.joined([part.counted[system] for part in parts]) for system in files.systems}
    described = dataset_entry(
        name or stem_of(files.gold.path),
        [part.described for part in parts],
        documents=None if files.gold.documents is None else len(files.gold.documents) - 1,
        zeta=facts.zeta,
        absent=absent,
    )
    units = sum(part.units for part in parts)
    entries = [*_entries(files, parts), *(input_entry("train", one) for one in training)]
    summary = summary_of(choices, facts, counted, described, inputs=entries, unit=shared.unit, units=units)
    sentences, about = _sentences(parts, choices)
    return summary, Streamed(counted, facts.bucketings, sentences, about)


def _survey(gold: Any, systems: Any, choices: Choices, memory: int) -> Files:
    """Look at every file once, and cut all of them before the same sentences."""
    _check_paths(gold, systems)
    merged = systems is None
    named = {stem_of(os.fspath(gold)): gold} if merged else named_sources(systems)
    tokens = max(LEAST_TOKENS, memory // (BYTES_PER_TOKEN * (1 + len(named))))
    first = survey_layers(gold, choices.reading, merged=merged, tokens=tokens)
    if merged:
        return Files(first, dict.fromkeys(named, first), merged)
    cuts = [cut.sentence for cut in first.cuts[1:-1]]
    prefer = first.layers["only"].scheme if first.options.scheme is None else first.options.scheme
    surveys = {}
    for system, source in named.items():
        one = survey_layers(
            source, {**without_extras(choices.reading), "prefer": prefer}, merged=False, sentences=cuts
        )
        if one.sentences != first.sentences:
            raise InputError(
                at(
                    one.path,
                    None,
                    f"there are {one.sentences} sentences, but {first.sentences} in the gold file"
                    f" ({first.path}).\nGive predictions for the same sentences.",
                )
            )
        surveys[system] = one
    return Files(first, surveys, merged)


def _check_paths(gold: Any, systems: Any) -> None:
    if systems is None and not isinstance(gold, str | os.PathLike):
        raise ChoiceError(
            "only one file with gold and predicted tags can be streamed.\nGive one, or leave memory out."
        )
    sources = [gold, *(named_sources(systems).values() if systems is not None else ())]
    for source in sources:
        if not isinstance(source, str | os.PathLike):
            raise ChoiceError("only files can be streamed.\nGive paths, or leave memory out.")


def _lexicon(training: Sequence[Annotation]) -> Lexicon | None:
    return Lexicon.of(training) if training else None


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


def _context(gold: Annotation, shared: Shared, predicted: Sequence[Any] = ()) -> Context:
    return Context(
        corpus=gold.corpus,
        gold=gold.mentions,
        lexicon=shared.lexicon,
        known=shared.choices.vocabulary,
        lowercase=shared.choices.lowercase,
        predicted=tuple(predicted),
    )


# --- the first look: gold alone -----------------------------------------------------------------


@record(eq=False)
class Look:
    """What the gold mentions of one part say of the whole: distinct values, and labels of token sequences."""

    numbers: Mapping[str, tuple[Floats, Ints]]
    names: Mapping[str, Mapping[str, int]]
    labels: Mapping[str, frozenset[str]]


@record(eq=False)
class First:
    """The values of all gold units, and the token sequences that carry two labels or more."""

    attributes: Mapping[str, Attribute]
    values: Mapping[str, Values]
    confusable: frozenset[str]


def _look(shared: Shared, workers: int) -> First:
    looks: list[Look] = []
    carried: dict[str, frozenset[str]] = {}
    for look in map_parts(_look_at, shared.files.gold_parts(), shared, workers=workers):
        # Most sequences occur in many parts: they are kept once, and no part keeps its own.
        for text, labels in look.labels.items():
            known = carried.get(text)
            carried[text] = labels if known is None else known | labels
        looks.append(replace(look, labels={}))
    mixed = [
        name
        for name in shared.attributes
        if any(name in look.names for look in looks) and any(name in look.numbers for look in looks)
    ]
    if mixed:
        # Numbers in one part and names in another: the whole is of categories, as it would be in memory.
        fixed = {name: replace(shared.attributes[name], kind="category") for name in mixed}
        return _look(replace(shared, attributes={**shared.attributes, **fixed}), workers)
    attributes = {name: _of_kind(one, name, looks) for name, one in shared.attributes.items()}
    return First(
        attributes,
        {name: _values(one, name, looks) for name, one in attributes.items()},
        frozenset(text for text, labels in carried.items() if len(labels) > 1),
    )


def _of_kind(attribute: Attribute, name: str, looks: Sequence[Look]) -> Attribute:
    """The attribute with the kind that its gold values have in all parts."""
    category = any(name in look.names for look in looks)
    return replace(attribute, kind="category" if category else "numeric")


def _look_at(part: Mapping[str, Piece], shared: Shared) -> Look:
    gold = shared.files.read_gold(part)
    context = _context(gold, shared)
    numbers: dict[str, tuple[Floats, Ints]] = {}
    names: dict[str, dict[str, int]] = {}
    for name, attribute in shared.attributes.items():
        found = values(attribute, context, gold.mentions)
        if found.names is None:
            numbers[name] = found.distinct()
        else:
            names[name] = found.named()
    labels = _labels_of_surfaces(context, gold) if shared.lexicon else {}
    context.release()
    return Look(numbers, names, labels)


def _values(attribute: Attribute, name: str, looks: Sequence[Look]) -> Values:
    """The values of all gold units, each once: buckets and ζ depend on nothing else."""
    if attribute.kind == "category":
        counts: dict[str, int] = {}
        for look in looks:
            for key, number in look.names.get(name, {}).items():
                counts[key] = counts.get(key, 0) + number
        keys = tuple(sorted(counts))
        code, times = np.arange(len(keys)), ints([counts[key] for key in keys])
        return Values(code, np.ones(len(code), dtype=bool), attribute.name, keys, times=times)
    parts = [look.numbers[name] for look in looks]
    value = floats(np.concatenate([part[0] for part in parts]))
    return Values(
        value,
        np.ones(len(value), dtype=bool),
        attribute.name,
        bounds=attribute.bounds,
        whole=attribute.whole,
        times=ints(np.concatenate([part[1] for part in parts])),
    )


def _surfaces(context: Context, gold: Annotation) -> tuple[list[str], Ints]:
    """The distinct token sequences of the gold mentions, and the number of each mention's own."""
    side = context.side(gold.mentions)
    form = side.form
    first = np.full(side.forms + 1, -1, dtype=np.int64)  # the last place serves mentions without a token
    first[form[::-1]] = np.arange(len(form))[::-1]
    used = np.flatnonzero(first[:-1] >= 0)
    number = np.full(side.forms + 1, -1, dtype=np.int64)
    number[used] = np.arange(len(used))
    runs, corpus = side.runs, gold.corpus
    texts = []
    for mention in first[used].tolist():
        places = runs.position[runs.at[mention] : runs.at[mention + 1]]
        # No token holds a line end, so that it parts tokens without doubt.
        texts.append("\n".join(corpus.vocabulary[code] for code in corpus.tokens[places].tolist()))
    return texts, ints(number[form])


def _labels_of_surfaces(context: Context, gold: Annotation) -> dict[str, frozenset[str]]:
    if context.lowercase:  # tough mentions compare strings as they are written
        context = replace(context, lowercase=False)
    texts, number = _surfaces(context, gold)
    labels: list[set[str]] = [set() for _ in texts]
    pairs = number * len(gold.mentions.labels) + gold.mentions.label
    for pair in np.flatnonzero(np.bincount(pairs[number >= 0])).tolist():
        text, label = divmod(pair, len(gold.mentions.labels))
        labels[text].add(gold.mentions.labels[label])
    return {text: frozenset(found) for text, found in zip(texts, labels, strict=True)}


# --- the second look: everything ----------------------------------------------------------------


@record(eq=False)
class Part:
    """One part, counted."""

    counted: Mapping[str, Counted]
    described: DatasetPart
    units: int
    repairs: Mapping[str, int]
    labels: Mapping[str, Sequence[str]]
    mentions: Mapping[str, int]
    alignment: Mapping[str, Mapping[str, Any]]
    wrong: tuple[list[dict[str, Any]], int]
    clean: tuple[list[dict[str, Any]], int]


def _count(part: Mapping[str, Piece], shared: Shared) -> Part:
    assert shared.facts is not None
    gold, predicted = shared.files.read(part)
    corpora = with_one_vocabulary([gold.corpus, *(one.corpus for one in predicted.values())])
    gold = replace(gold, corpus=corpora[0])
    predicted = {
        name: replace(one, corpus=corpus)
        for (name, one), corpus in zip(predicted.items(), corpora[1:], strict=True)
    }
    aligned = {name: align(gold, one, how=shared.choices.align) for name, one in predicted.items()}
    mentions = {name: one.mentions for name, one in aligned.items()}
    context = _context(gold, shared, list(mentions.values()))
    inputs = Inputs("", gold, mentions, predicted, shared.files.merged, (), ())
    data = Dataset(
        inputs,
        Units.of(gold.corpus, shared.unit),
        context,
        _toughness(context, gold, shared),
        shared.facts,
        {name: values(one, context, gold.mentions) for name, one in shared.facts.attributes.items()},
    )
    evaluated = {name: evaluate_system(data, one, shared.choices) for name, one in mentions.items()}
    choices = shared.choices
    wanted = {"errors": ["errors"], "all": ["errors", "correct"], "none": []}[choices.examples]
    chosen = {
        policy: examples(data, evaluated, policy=policy, cap=choices.examples_cap, redact=choices.redact)
        for policy in wanted
    }
    context.release()
    sides = {"": gold, **predicted}
    return Part(
        counted={name: one.counted for name, one in evaluated.items()},
        described=DatasetPart.of(gold, shared.known, data.toughness),
        units=data.units.number,
        repairs={name: one.reading.repairs for name, one in sides.items()},
        labels={name: one.mentions.labels for name, one in sides.items()},
        mentions={name: len(one.mentions) for name, one in sides.items()},
        alignment={name: one.report for name, one in aligned.items()},
        wrong=_kept(chosen.get("errors")),
        clean=_kept(chosen.get("correct")),
    )


def _kept(found: tuple[list[dict[str, Any]], dict[str, Any]] | None) -> tuple[list[dict[str, Any]], int]:
    return ([], 0) if found is None else (found[0], int(found[1]["of"]))


def _toughness(context: Context, gold: Annotation, shared: Shared) -> Toughness | None:
    """The tough subsets of a part; which sequences are confusable is known from the whole."""
    if shared.lexicon is None:
        return None
    own = toughness(gold.corpus, gold.mentions, shared.lexicon, context=context)
    as_written = replace(context, lowercase=False) if context.lowercase else context
    texts, number = _surfaces(as_written, gold)
    known = np.array([text in shared.confusable for text in texts] + [False], dtype=bool)
    confusable: Bools = known[number]
    unseen = own.of("UNSEEN-TOKENS")
    member = np.array(own.member)
    member[:, own.subsets.index("TCM-ALL")] = confusable
    member[:, own.subsets.index("TCM-SEEN")] = confusable & ~unseen
    member[:, own.subsets.index("TCM-UNSEEN")] = confusable & unseen
    return Toughness(own.subsets, member)


def _entries(files: Files, parts: Sequence[Part]) -> list[dict[str, Any]]:
    """The `inputs` of the document, as they are for files that were read whole."""
    entries = [_entry("gold", files.gold, "", "gold" if files.merged else "only", parts)]
    for name, one in files.systems.items():
        entry = _entry("predicted", one, name, "predicted" if files.merged else "only", parts)
        reports = [part.alignment[name] for part in parts]
        summed = {key: sum(report[key] for report in reports) for key in reports[0] if key != "how"}
        entries.append({**entry, "system": name, "alignment": {"how": reports[0]["how"], **summed}})
    return entries


def _entry(role: str, one: Survey, name: str, layer: str, parts: Sequence[Part]) -> dict[str, Any]:
    labels = sorted({label for part in parts for label in part.labels[name]})
    repairs = sum(part.repairs[name] for part in parts)
    empty = Annotation(
        Corpus.of([]), Mentions.of([]), reading_of_survey(one, layer, repairs=repairs, labels=labels)
    )
    return {
        **input_entry(role, empty),
        "sentences": one.sentences,
        "tokens": one.tokens,
        "mentions": sum(part.mentions[name] for part in parts),
    }


def _within_cap(parts: Iterator[Part], cap: int) -> list[Part]:
    """The parts, each with no more sentences than can still be shown."""
    kept: list[Part] = []
    room = {"wrong": cap, "clean": cap}
    for part in parts:
        wrong, clean = part.wrong[0][: room["wrong"]], part.clean[0][: room["clean"]]
        room = {"wrong": room["wrong"] - len(wrong), "clean": room["clean"] - len(clean)}
        kept.append(replace(part, wrong=(wrong, part.wrong[1]), clean=(clean, part.clean[1])))
    return kept


def _sentences(parts: Sequence[Part], choices: Choices) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The chosen sentences, those with errors first, and how many there are in all."""
    total = sum(part.wrong[1] + part.clean[1] for part in parts)
    chosen = [row for part in parts for row in part.wrong[0]] + [
        row for part in parts for row in part.clean[0]
    ]
    shown = chosen[: choices.examples_cap]
    about = {"policy": choices.examples, "cap": choices.examples_cap, "shown": len(shown), "of": total}
    return shown, about
