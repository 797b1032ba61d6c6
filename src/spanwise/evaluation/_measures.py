"""Count one system's matching, unit by unit, into the tables from which all its scores are computed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.attributes import SUBSETS, Toughness
from spanwise.columns import Bools, Codes, Column, Ints, Small, frozen, ints
from spanwise.corpus import Corpus, Mentions
from spanwise.counts import Counts, CrossTable, EventGroup, EventUnits
from spanwise.evaluation.choices import ResampledUnits
from spanwise.matching import OUTCOMES, SCHEMES, Events, Matching
from spanwise.rates import RATES
from spanwise.scores import ACCURACY, EXACT, GAIN_ROLES, GAINS, RECALL, Measure, MeasureKey

OUTCOME = {name: number for number, name in enumerate(OUTCOMES)}
BOUNDARY = tuple(OUTCOME[name] for name in ("BEs", "BEl", "BEo"))
# Tough subsets that are the union of two others: they are not counted, but added up.
_SUMS = {"UNSEEN-ANY": ("UNSEEN-TYPE", "UNSEEN-TOKENS"), "TCM-ALL": ("TCM-SEEN", "TCM-UNSEEN")}
_PARTS = tuple(subset for subset in SUBSETS if subset not in _SUMS)
SIDES = ("left", "right", "both")
NOBODY = None  # stands for the missing mention of an event


class MatchedSystem(Struct, frozen=True, eq=False, dict=True):
    """One system on one dataset: gold and predicted mentions with one list of labels, and their matching."""

    corpus: Corpus
    units: ResampledUnits
    gold: Mentions
    predicted: Mentions
    matching: Matching  # what happened to each mention
    exact: Matching  # whose TP have the right span and label

    @property
    def labels(self) -> Sequence[str]:
        """The labels of gold and predictions."""
        return self.gold.labels

    @cached_property
    def gold_units(self) -> EventUnits:
        """The unit of each gold mention."""
        return EventUnits.of(ints(self.units.of_sentence[self.gold.sentence]))

    @cached_property
    def predicted_units(self) -> EventUnits:
        """The unit of each predicted mention."""
        return EventUnits.of(ints(self.units.of_sentence[self.predicted.sentence]))

    @cached_property
    def right(self) -> Bools:
        """Which gold mentions were found exactly."""
        return np.asarray(self.exact.gold_outcome == OUTCOME["TP"])

    @cached_property
    def found(self) -> Ints:
        """The rows of the gold mentions that were found exactly."""
        return ints(np.flatnonzero(self.right))

    @cached_property
    def partner(self) -> Ints:
        """The prediction that found each gold mention exactly, or -1."""
        return ints(np.where(self.right, self.exact.gold_partner, -1))

    @cached_property
    def found_pairs(self) -> tuple[Ints, Ints]:
        """The gold mentions that were found exactly, and their partners."""
        return self.found, ints(self.exact.gold_partner[self.found])

    @property
    def mention_events(self) -> PairedEvents:
        """The mentions of both sides as events."""
        return PairedEvents(self.gold_units, self.predicted_units, self.found_pairs)

    @cached_property
    def wrong(self) -> Ints:
        """The rows of the events that are errors."""
        return ints(np.flatnonzero(self.matching.events().outcome != OUTCOME["TP"]))

    @cached_property
    def event_labels(self) -> tuple[Codes, Codes]:
        """The gold and the predicted label of each event; -1 if it has no mention on that side."""
        events = self.matching.events()
        return _at(self.gold.label, events.gold), _at(self.predicted.label, events.predicted)

    @cached_property
    def event_units(self) -> EventUnits:
        """The unit of each event."""
        events = self.matching.events()
        gold, predicted = self.gold_units.unit, self.predicted_units.unit
        return EventUnits.of(_first_present(_at(gold, events.gold), _at(predicted, events.predicted)))


class PairedEvents(Struct, frozen=True, eq=False):
    """Mentions or tokens of both sides: the unit of each, and the pairs that are the same."""

    gold: EventUnits
    predicted: EventUnits
    pairs: tuple[Ints, Ints]


def _at(column: Column, rows: Ints) -> Column:
    """The values of a column at these rows; -1 where the row is -1."""
    return np.asarray(np.append(column, -1)[rows])


def _first_present(first: Column, second: Column) -> Column:
    """The values of the first column, or of the second where the first has none (-1)."""
    return np.where(first >= 0, first, second)


class BucketedSide(Struct, frozen=True, eq=False):
    """The units of an attribute on one side: the mention and the bucket of each."""

    mention: Ints | None  # None if units are mentions
    bucket: Column
    position: Ints | None  # of a token unit

    def of(self, mentions: Column) -> Column:
        """Expand a column with one value per mention to one value per unit."""
        return mentions if self.mention is None else np.asarray(mentions[self.mention])


def exact_counts(case: MatchedSystem) -> Counts:
    """Gold, predicted and correct mentions by label."""
    return _tally(
        case,
        case.labels,
        EXACT,
        _found_and_predicted(
            (case.gold_units, _with_right(case.gold.label, case.found, len(case.labels))),
            (case.predicted_units, case.predicted.label),
            len(case.labels),
        ),
    )


def exact_measures(case: MatchedSystem) -> list[Measure]:
    """Exact scores overall and per label, their averages, and token accuracy."""
    counts = exact_counts(case)
    measures = [
        Measure(
            MeasureKey("exact"),
            counts,
            "exact with overall",
            labeled_paths(("exact",), case.labels),
            "exact",
            tuple(RATES),
        ),
        Measure(MeasureKey("averages"), counts, "averages", (("exact", "macro"), ("exact", "weighted"))),
    ]
    tokens = _accuracy(case)
    if tokens is not None:
        measures.append(Measure(MeasureKey("accuracy"), tokens, "accuracy", (("exact", "overall"),)))
    return measures


def fair_measures(
    case: MatchedSystem, events: Events, *, focus: str, credits: Sequence[str]
) -> list[Measure]:
    """Fair scores and those under other credits, overall and per label, and the gains of fixing errors."""
    counts, share = outcome_counts(case, events, focus)
    measures = []
    for credit in ("fair", *credits):
        prefix = ("fair",) if credit == "fair" else ("credits", credit)
        measures.append(
            Measure(
                MeasureKey(*prefix),
                counts,
                "credited with overall",
                labeled_paths(prefix, case.labels),
                family="fair" if credit == "fair" else None,
                tested=("f1",) if credit == "fair" else (),
                credit=credit,
                share=share,
            )
        )
    kinds = tuple(("gains", kind) for kind in GAIN_ROLES)
    measures.append(Measure(MeasureKey("gains"), _gains(case, events), "gains", kinds, "errors", ("gain",)))
    return measures


def relaxed_measure(case: MatchedSystem, matching: Matching) -> Measure:
    """Scores under the schemes of MUC and SemEval-2013, from a one-to-one matching by overlap."""
    alone = np.flatnonzero(matching.predicted_outcome == OUTCOME["FP"])
    groups = [
        EventGroup(case.gold_units, matching.gold_outcome, (np.arange(len(OUTCOMES)),)),
        EventGroup(case.predicted_units.take(alone), None, (ints([OUTCOME["FP"]]),)),
    ]
    counts = _tally(case, ["overall"], OUTCOMES, groups)
    return Measure(MeasureKey("relaxed"), counts, "relaxed", tuple(("relaxed", scheme) for scheme in SCHEMES))


def tough_measures(case: MatchedSystem, toughness: Toughness) -> list[Measure]:
    """Recall of the tough subsets, overall and per label."""
    labels = len(case.labels)
    groups: list[EventGroup] = []
    kind = _with_right(case.gold.label, case.found, labels)
    for number, subset in enumerate(_PARTS):
        chosen = np.flatnonzero(toughness.of(subset))
        positions = _gold_positions(labels, RECALL, begin=number * labels)
        groups.append(EventGroup(case.gold_units.take(chosen), kind[chosen], positions))
    basic = [f"{subset}/{label}" for subset in _PARTS for label in case.labels]
    counts = _tally(case, basic, RECALL, groups)
    parts: list[list[int]] = []
    for subset in SUBSETS:
        first = [_PARTS.index(part) * labels for part in _SUMS.get(subset, (subset,))]
        parts.append([begin + label for begin in first for label in range(labels)])
        parts += [[begin + label for begin in first] for label in range(labels)]
    counts = counts.summed(_tough_cells(case.labels), parts)
    return [Measure(MeasureKey("tough"), counts, "recall", _tough_paths(case.labels), "tough", ("recall",))]


def _tough_cells(labels: Sequence[str]) -> tuple[str, ...]:
    return tuple(cell for name in SUBSETS for cell in (name, *(f"{name}/{label}" for label in labels)))


def _tough_paths(labels: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(path for name in SUBSETS for path in labeled_paths(("tough", name), labels))


def labeled_paths(prefix: tuple[str, ...], labels: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Where the scores of all mentions, and then those of every label, go in the document."""
    return ((*prefix, "overall"), *((*prefix, "labels", label) for label in labels))


def joined_measures(parts: Sequence[Measure], labels: Sequence[str]) -> Measure:
    """Join a measure over the units of all parts, whose labels may differ; `labels` are those of all."""
    first = parts[0]
    counts = Counts.joined([part.counts for part in parts])
    if first.key.kind == "tough":
        counts = counts.with_cells(_tough_cells(labels))
        return replace(first, counts=counts, paths=_tough_paths(labels))
    if first.key.kind == "averages":
        return replace(first, counts=counts.with_cells(labels))
    if first.family == "hierarchy":
        labels = sorted(counts.cells)  # those of the level
    if first.scorer in ("exact with overall", "credited with overall"):
        prefix = first.paths[0][:-1]
        return replace(first, counts=counts.with_cells(labels), paths=labeled_paths(prefix, labels))
    return replace(first, counts=counts)


def bucket_measure(
    case: MatchedSystem,
    key: MeasureKey,
    events: PairedEvents,
    sides: tuple[BucketedSide, BucketedSide],
    buckets: Sequence[str],
    path: tuple[str, ...],
) -> Measure:
    """Exact scores of the buckets of an attribute; a pair is correct if both sides are in the same bucket."""
    gold, predicted = sides
    pair_gold, pair_predicted = events.pairs
    agree = gold.bucket[pair_gold] == predicted.bucket[pair_predicted]
    groups = _found_and_predicted(
        (events.gold, _with_right(gold.bucket, pair_gold[agree], len(buckets))),
        (events.predicted, predicted.bucket),
        len(buckets),
    )
    paths = tuple((*path, bucket) for bucket in buckets)
    return Measure(key, _tally(case, buckets, EXACT, groups), "exact", paths, "buckets", ("f1",))


def outcome_tables(
    case: MatchedSystem, name: str, gold: BucketedSide, predicted: BucketedSide, buckets: Sequence[str]
) -> dict[MeasureKey, CrossTable]:
    """Outcomes × buckets of an attribute of mentions, counted over gold and over predicted mentions."""
    sides = {
        "gold": (case.matching.gold_outcome, gold.bucket),
        "predicted": (case.matching.predicted_outcome, predicted.bucket),
    }
    tables = {
        MeasureKey(f"{side} outcomes", name): CrossTable.of(
            OUTCOMES, buckets, row=outcome.astype(np.int64), column=bucket
        )
        for side, (outcome, bucket) in sides.items()
    }
    # An event whose mention already had a partner counts for both of its mentions.
    events = case.matching.events()
    again = {
        "gold": (3, events.gold, gold.bucket),
        "predicted": (2, events.predicted, predicted.bucket),
    }
    for side, (turn, mention, bucket) in again.items():
        rows = np.flatnonzero(events.turn == turn)
        tables[MeasureKey(f"{side} again", name)] = CrossTable.of(
            OUTCOMES, buckets, row=events.outcome[rows].astype(np.int64), column=bucket[mention[rows]]
        )
    return tables


def tough_outcomes(case: MatchedSystem, toughness: Toughness) -> CrossTable:
    """Outcomes × tough subsets of the gold mentions."""
    mention, subset = np.nonzero(toughness.member)
    outcome = case.matching.gold_outcome[mention].astype(np.int64)
    return CrossTable.of(OUTCOMES, toughness.subsets, row=outcome, column=ints(subset))


def crossed(sides: tuple[BucketedSide, BucketedSide], widths: tuple[int, int]) -> BucketedSide:
    """Mentions by two attributes at once: each is in the cell of its pair of buckets."""
    first, second = sides
    return BucketedSide(None, first.bucket.astype(np.int64) * widths[1] + second.bucket, None)


def confusion_table(case: MatchedSystem, events: Events, kind: str | None = None) -> CrossTable:
    """Errors, or those of one kind, by gold label (rows) and predicted label (columns).

    Spurious mentions are in the row NOBODY, missed ones in the column NOBODY.
    """
    gold, predicted = case.event_labels
    wrong = case.wrong
    if kind is not None:
        wrong = wrong[events.outcome[wrong] == OUTCOME[kind]]
    names = (*case.labels, NOBODY)
    # The code of an absent label is -1, which is the last name.
    row, column = (ints(labels[wrong] % len(names)) for labels in (gold, predicted))
    return CrossTable.of(names, names, row=row, column=column)


def sides_table(case: MatchedSystem, events: Events) -> CrossTable:
    """Boundary errors by label, and by the side on which the spans differ.

    References:
        Ortmann (2022), footnote 2.
    """
    rows = np.flatnonzero(np.isin(events.outcome, BOUNDARY))
    gold, predicted = events.gold[rows], events.predicted[rows]
    left = case.gold.start[gold] != case.predicted.start[predicted]
    right = case.gold.end[gold] != case.predicted.end[predicted]
    differ = left | right
    column = np.where(left & right, SIDES.index("both"), np.where(left, 0, SIDES.index("right")))
    label = case.gold.label[gold[differ]].astype(np.int64)
    return CrossTable.of(case.labels, SIDES, row=label, column=ints(column[differ]))


ROLES = ("a", "b", "c")


def roles_table(case: MatchedSystem, events: Events) -> CrossTable:
    """The errors of each gold label by their role in gains (see `scores.GAIN_ROLES`)."""
    rows = np.flatnonzero((events.outcome != OUTCOME["TP"]) & (events.gold >= 0))
    missed = events.outcome[rows] == OUTCOME["FN"]
    role = np.where(missed, 2, np.maximum(events.turn[rows], 1)) - 1
    label = case.gold.label[events.gold[rows]].astype(np.int64)
    return CrossTable.of(case.labels, ROLES, row=label, column=ints(role))


def _tally(
    case: MatchedSystem, cells: Sequence[str], columns: Sequence[str], groups: Sequence[EventGroup]
) -> Counts:
    """Count several groups of events."""
    return Counts.of_groups(cells, columns, groups, units=case.units.number)


def _with_right(cell: Column, right: Ints, cells: int) -> Ints:
    """The kind of each gold event: its cell, plus `cells` if it is right."""
    kind = cell.astype(np.int64)
    kind[right] += cells
    return kind


def _gold_positions(cells: int, columns: Sequence[str], begin: int = 0) -> tuple[Ints, Ints]:
    """Where the kinds of `_with_right` count: in the first column, and if right in the last as well."""
    first = np.arange(begin, begin + cells) * len(columns)
    return np.tile(first, 2), np.append(np.full(cells, -1), first + len(columns) - 1)


def _found_and_predicted(
    gold: tuple[EventUnits, Ints], predicted: tuple[EventUnits, Column], cells: int
) -> list[EventGroup]:
    """Events for the columns of `EXACT`: gold events, with kinds from `_with_right`, and predicted events."""
    second = np.arange(cells) * len(EXACT) + 1
    return [EventGroup(*gold, _gold_positions(cells, EXACT)), EventGroup(*predicted, (second,))]


def outcome_counts(case: MatchedSystem, events: Events, focus: str) -> tuple[Counts, float]:
    """Outcomes by label, and what one of them is worth: ½ if events count under both labels."""
    gold, predicted = case.event_labels
    # An event without a mention on one side counts under the label of the other.
    sides = {"gold": [(gold, predicted)], "predicted": [(predicted, gold)]}
    sides["both"] = [*sides["gold"], *sides["predicted"]]
    positions = np.arange(len(case.labels) * len(OUTCOMES))
    groups = [
        EventGroup(
            case.event_units, _first_present(*labels) * np.int64(len(OUTCOMES)) + events.outcome, (positions,)
        )
        for labels in sides[focus]
    ]
    return _tally(case, case.labels, OUTCOMES, groups), 1 / len(groups)


def _gains(case: MatchedSystem, events: Events) -> Counts:
    wrong = case.wrong
    kind = _GAIN_COLUMN[events.outcome[wrong], events.turn[wrong]]
    gold, predicted, correct = (GAINS.index(name) for name in EXACT)
    groups = [
        EventGroup(case.gold_units, case.right, (ints([gold, gold]), ints([-1, correct]))),
        EventGroup(case.predicted_units, None, (ints([predicted]),)),
        EventGroup(case.event_units.take(wrong), kind, (np.arange(len(GAINS)),)),
    ]
    return _tally(case, ["overall"], GAINS, groups)


def _gain_columns() -> Small:
    """Outcomes × turns: the column of `GAINS` in which an error counts; meaningless for TP."""
    columns = np.zeros((len(OUTCOMES), 4), dtype=np.int8)
    for outcome, name in enumerate(OUTCOMES[1:], start=1):
        kind = "BE" if outcome in BOUNDARY else name
        # LE, FN and FP have one role each; the role of other errors depends on their pass.
        roles = GAIN_ROLES[kind]
        for turn in range(4):
            columns[outcome, turn] = GAINS.index(f"{kind}.{roles[min(max(turn, 1), len(roles)) - 1]}")
    return frozen(columns)


_GAIN_COLUMN = _gain_columns()


def token_events(case: MatchedSystem, gold: BucketedSide, predicted: BucketedSide) -> PairedEvents:
    """The token units of both sides as events; a pair has the same position and the same label."""
    pairs = _same_tokens(case, gold, predicted)  # first, as it needs the most memory
    return PairedEvents(
        EventUnits.of(ints(gold.of(case.gold_units.unit))),
        EventUnits.of(ints(predicted.of(case.predicted_units.unit))),
        pairs,
    )


def _same_tokens(case: MatchedSystem, gold: BucketedSide, predicted: BucketedSide) -> tuple[Ints, Ints]:
    assert gold.position is not None and predicted.position is not None
    if _ascends(gold.position) and _ascends(predicted.position):
        gold_row, predicted_row = _joined(gold.position, predicted.position)
        same = gold.of(case.gold.label)[gold_row] == predicted.of(case.predicted.label)[predicted_row]
        return ints(gold_row[same]), ints(predicted_row[same])
    number = len(case.labels)
    return _joined(
        ints(gold.position * number + gold.of(case.gold.label)),
        ints(predicted.position * number + predicted.of(case.predicted.label)),
    )


def _ascends(column: Ints) -> bool:
    return bool((column[1:] > column[:-1]).all())


_DENSE = 16  # values per key up to which marking all of them is faster than searching


def _joined(mine: Ints, theirs: Ints) -> tuple[Ints, Ints]:
    """The rows at which two columns of distinct keys hold the same key."""
    if len(mine) == 0 or len(theirs) == 0:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty
    if _ascends(mine) and _ascends(theirs):
        low, high = int(min(mine[0], theirs[0])), int(max(mine[-1], theirs[-1]))
        if high - low < _DENSE * (len(mine) + len(theirs)):
            return _marked(mine, theirs, low), _marked(theirs, mine, low)
    order = np.argsort(theirs, kind="stable")
    position = np.searchsorted(theirs[order], mine)
    position[position == len(theirs)] = 0
    same = theirs[order][position] == mine
    return ints(np.flatnonzero(same)), ints(order[position[same]])


def _marked(keys: Ints, others: Ints, low: int) -> Ints:
    """The rows of the keys that also occur in `others`; both ascend, from `low` on, and are dense."""
    present = np.zeros(int(max(keys[-1], others[-1])) - low + 1, dtype=bool)
    present[others - low] = True
    return ints(np.flatnonzero(present[keys - low]))


def _accuracy(case: MatchedSystem) -> Counts | None:
    """Tokens with equal tags, by unit; None if there are no tokens, or mentions overlap.

    The IOB2 tag of a token follows from the mention it is in, so only tokens of mentions
    that are not found exactly can differ.
    """
    corpus = case.corpus
    if corpus.unit == "character" or not corpus.sentences[-1]:
        return None
    if _overlapping(case.gold) or _overlapping(case.predicted):
        return None
    tokens = np.bincount(case.units.of_sentence, weights=corpus.lengths, minlength=case.units.number)
    left_gold = case.gold.take(~case.right)
    wrong = case.exact.predicted_outcome != OUTCOME["TP"]
    left_predicted = case.predicted.take(wrong & case.predicted.placed)
    gold_at, gold_tag = _tags(corpus, left_gold)
    predicted_at, predicted_tag = _tags(corpus, left_predicted)
    gold_rows, predicted_rows = _joined(gold_at, predicted_at)
    same = gold_tag[gold_rows] == predicted_tag[predicted_rows]
    gold_unit, predicted_unit = (
        np.repeat(case.units.of_sentence[mentions.sentence], mentions.length)
        for mentions in (left_gold, left_predicted)
    )
    touched = np.concatenate([gold_unit, np.delete(predicted_unit, predicted_rows)])
    differing = np.bincount(touched, minlength=case.units.number)
    differing = differing - np.bincount(gold_unit[gold_rows[same]], minlength=case.units.number)
    matrix = np.stack([tokens.astype(np.int64), tokens.astype(np.int64) - differing], axis=1)
    return Counts.of_matrix(["overall"], ACCURACY, matrix)


def _tags(corpus: Corpus, mentions: Mentions) -> tuple[Ints, Ints]:
    """The position in the corpus and the IOB2 tag code of every token of the mentions."""
    size = mentions.length
    first = corpus.sentences[mentions.sentence] + mentions.start
    inner = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
    position = np.repeat(first, size) + inner
    tag = np.repeat(mentions.label.astype(np.int64) * 2, size) + (inner > 0)
    return ints(position), ints(tag)


def _overlapping(mentions: Mentions) -> bool:
    if mentions.parts is not None:
        return True
    placed = mentions if mentions.placed.all() else mentions.take(mentions.placed)
    sentence, start, end = placed.sentence, placed.start, placed.end
    if ((sentence[1:] == sentence[:-1]) & (start[1:] < start[:-1])).any():
        order = np.lexsort((start, sentence))
        sentence, start, end = sentence[order], start[order], end[order]
    return bool(((sentence[1:] == sentence[:-1]) & (start[1:] < end[:-1])).any())
