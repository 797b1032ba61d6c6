"""Match the mentions of one system, and count the outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import product
from operator import add

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.attributes import Side as AttributeSide
from spanwise.columns import Bools, Column, frozen, plain, ratio
from spanwise.composition import MOST_COMPARED
from spanwise.corpus import with_one_labelling
from spanwise.counts import Counts, CrossTable
from spanwise.evaluation._hierarchy import depth_of, level_measures, with_levels
from spanwise.evaluation._measures import (
    BucketedSide,
    MatchedSystem,
    bucket_measure,
    confusion_table,
    crossed,
    exact_measures,
    fair_measures,
    joined_measures,
    outcome_tables,
    relaxed_measure,
    roles_table,
    sides_table,
    token_events,
    tough_measures,
    tough_outcomes,
)
from spanwise.evaluation._truncation import cut_counts
from spanwise.evaluation.choices import Choices
from spanwise.evaluation.dataset import DatasetBlock, Facts, mention_table, sides_of
from spanwise.matching import OUTCOMES, fair_and_overlap, match
from spanwise.mentions import MentionTable
from spanwise.patterns import Causes
from spanwise.scores import Measure, MeasureKey

CONFUSING = ("LE", "LBE")  # the errors with two labels


class Counted(Struct, frozen=True, eq=False):
    """One system's counts, before anything is divided; counts over parts of a corpus add up."""

    labels: tuple[str, ...]
    measures: Sequence[Measure]
    tables: Mapping[MeasureKey, CrossTable]
    sentences: Column | None = None  # sentences × (gold, predicted, correct); None: there are too many
    causes: Causes | None = None  # of errors; None: without text
    cuts: Counts | None = None  # gold mentions, and those found, after some tokens of documents and sentences

    @classmethod
    def joined(cls, parts: Sequence[Counted]) -> Counted:
        """Add up the counts of consecutive parts."""
        if len(parts) == 1:
            return parts[0]
        labels = tuple(sorted({label for part in parts for label in part.labels}))
        depth = max(depth_of(part.measures) for part in parts)
        by_key = [{measure.key: measure for measure in with_levels(part.measures, depth)} for part in parts]
        # The whole has the measures that all parts have: accuracy is missing where mentions overlap.
        shared = [key for key in by_key[0] if all(key in of_part for of_part in by_key)]
        measures = [joined_measures([of_part[key] for of_part in by_key], labels) for key in shared]
        tables = {key: reduce(add, [part.tables[key] for part in parts]) for key in parts[0].tables}
        by_sentence = [part.sentences for part in parts if part.sentences is not None]
        few = len(by_sentence) == len(parts) and sum(map(len, by_sentence)) <= MOST_COMPARED
        causes = [part.causes for part in parts if part.causes is not None]
        cuts = [part.cuts for part in parts if part.cuts is not None]
        return cls(
            labels,
            measures,
            tables,
            np.concatenate(by_sentence) if few else None,
            Causes.joined(causes) if len(causes) == len(parts) else None,
            Counts.joined(cuts) if len(cuts) == len(parts) else None,
        )

    def f1_without(self, copies: Bools) -> float | None:
        """F1 without these sentences."""
        if self.sentences is None:
            return None
        gold, predicted, correct = self.sentences[~copies].sum(axis=0, dtype=np.int64)
        return plain(ratio(2 * correct, gold + predicted))


class Evaluated(Struct, frozen=True, eq=False):
    """One system's counts, and the mentions and outcomes that were counted."""

    counted: Counted
    case: MatchedSystem
    predicted: MentionTable  # with `right` and the buckets of attributes of mentions


def evaluate_system(data: DatasetBlock, predicted: AttributeSide, choices: Choices) -> Evaluated:
    """Match one system's mentions in a block, and count them into every table."""
    gold, other = with_one_labelling([data.gold, predicted.mentions])
    fair, overlap = fair_and_overlap(gold, other)
    chosen = choices.matcher
    matching = fair if chosen.name == "fair" else match(gold, other, matcher=chosen)
    case = MatchedSystem(data.inputs.corpus, data.units, gold, other, matching, fair)
    events = matching.events()
    measures = [
        *exact_measures(case),
        *fair_measures(case, events, focus=choices.focus, credits=list(choices.credits)),
    ]
    measures.append(relaxed_measure(case, overlap))
    tables = {MeasureKey("confusion"): confusion_table(case, events)}
    tables[MeasureKey("sides")] = sides_table(case, events)
    tables[MeasureKey("roles")] = roles_table(case, events)
    tables |= {MeasureKey("confusion", kind): confusion_table(case, events, kind) for kind in CONFUSING}
    if data.toughness is not None:
        measures += tough_measures(case, data.toughness)
        tables[MeasureKey("tough")] = tough_outcomes(case, data.toughness)
    gold_sides, other_sides = data.gold_sides, sides_of(data.facts, predicted)
    # All attributes of tokens have the same units, so their events are computed only once.
    tokens = next(
        (name for name, attribute in data.facts.attributes.items() if attribute.unit == "token"), None
    )
    by_token = None if tokens is None else token_events(case, gold_sides[tokens], other_sides[tokens])
    for name, bucketing in data.facts.bucketings.items():
        names = [bucket.name for bucket in bucketing.buckets]
        sides = gold_sides[name], other_sides[name]
        of_tokens = data.facts.attributes[name].unit == "token"
        counted_events = by_token if of_tokens and by_token is not None else case.mention_events
        key = MeasureKey("attribute", name)
        measure = bucket_measure(case, key, counted_events, sides, names, ("attributes", name))
        measures.append(replace(measure, unplaced=bucketing.unplaced))
        if not of_tokens:
            tables |= outcome_tables(case, name, *sides, names)
    for left, right in choices.crosses:
        measures.append(_cross(case, data.facts, left, right, gold_sides, other_sides))
    measures += level_measures(case, choices)
    shown = not (choices.redact or case.corpus.without_text)
    causes = Causes.of(case.corpus, case.gold, case.predicted, events) if shown else None
    counted = Counted(
        tuple(case.labels), measures, tables, _by_sentence(case), causes, cut_counts(case, data.positions)
    )
    right = case.exact.predicted_outcome == OUTCOMES.index("TP")
    table = mention_table(case.predicted, data.units, other_sides).with_columns({"right": right})
    return Evaluated(counted, case, table)


def _by_sentence(case: MatchedSystem) -> Column | None:
    """The exact counts of each sentence, from which those of copies can be left out."""
    number = len(case.corpus)
    if number > MOST_COMPARED:
        return None
    sentences = case.gold.sentence, case.predicted.sentence, case.gold.sentence[case.found]
    counts = np.stack([np.bincount(column, minlength=number) for column in sentences], axis=1)
    return frozen(counts.astype(np.min_scalar_type(int(counts.max(initial=0)))))


def _cross(
    case: MatchedSystem,
    facts: Facts,
    left: str,
    right: str,
    gold_sides: Mapping[str, BucketedSide],
    predicted_sides: Mapping[str, BucketedSide],
) -> Measure:
    first, second = (facts.bucketings[name].buckets for name in (left, right))
    widths = len(first), len(second)
    gold = crossed((gold_sides[left], gold_sides[right]), widths)
    predicted = crossed((predicted_sides[left], predicted_sides[right]), widths)
    names = [f"{a.name} × {b.name}" for a, b in product(first, second)]
    pair = f"{left},{right}"
    key = MeasureKey("cross", pair)
    measure = bucket_measure(case, key, case.mention_events, (gold, predicted), names, ("cross", pair))
    # Crossed cells are shown with intervals, but not tested: that would weaken the tests of buckets.
    return Measure(measure.key, measure.counts, "exact", measure.paths)
