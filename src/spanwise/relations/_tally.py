"""What one part of the data says of tuples: a row for each tuple, counts per unit, and units to show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from msgspec import UNSET, Struct

from spanwise.columns import (
    Bools,
    Codes,
    Column,
    Floats,
    Ints,
    Words,
    codes,
    distinct,
    floats,
    ints,
    offsets,
    run_positions,
)
from spanwise.document.tuples import (
    CRITERIA,
    ERRORS,
    EVENT_SCORES,
    OUTCOMES,
    PREDICTED_OUTCOMES,
    Criterion,
    ShownFiller,
    ShownMention,
    ShownTuple,
    ShownTuples,
    TupleSentence,
)
from spanwise.errors import InputError
from spanwise.formats.text_tokens import words
from spanwise.hashing import find_hashes, mixed_words, ordered_hashes, word_hashes
from spanwise.labels import LabelRules
from spanwise.relations.corpus import LINK, MENTION, TRIGGER, VALUE, Names, TupleSide, side_of
from spanwise.relations.matching import MatchedTuples, largest, match
from spanwise.relations.records import UnitRecord
from spanwise.relations.relabeling import LabelCounts

NUMBERS = ("distance", "sentence_distance", "arguments")
NAMES = ("direction", "labels")
_MOST_FACTS = 1024  # strings of one tuple whose entities have several mentions


class StatedFacts(Struct, frozen=True, eq=False):
    """What tuples state: hashes of a type with the roles and strings of its fillers.

    A tuple states one fact, unless its entities have mentions with several strings.
    """

    hashes: Words  # of 128 bits, in two columns
    at: Ints  # the first fact of each tuple, and the number of all facts


class TrainingTuples(Struct, frozen=True, eq=False):
    """The facts of training data, or of a part of them, and how often each type occurs."""

    facts: Words  # distinct hashes, in order
    types: Mapping[str, int]
    labeled: LabelCounts

    @classmethod
    def joined(cls, parts: Sequence[TrainingTuples]) -> TrainingTuples:
        """Put parts together."""
        types: Counter[str] = Counter()
        labeled = LabelCounts.none()
        for part in parts:
            types.update(part.types)
            labeled.add(part.labeled)
        return cls(ordered_hashes(np.concatenate([part.facts for part in parts])), types, labeled)

    def seen(self, facts: StatedFacts) -> Bools:
        """Whether the training data state one of the facts of each tuple."""
        known = find_hashes(self.facts, facts.hashes) >= 0
        owner = np.repeat(np.arange(len(facts.at) - 1), np.diff(facts.at))
        return np.asarray(np.bincount(owner[known], minlength=len(facts.at) - 1) > 0)


class Tallying(Struct, frozen=True, eq=False):
    """What `tally` needs beside the records."""

    criterion: Criterion
    undirected: tuple[str, ...]
    with_trigger: bool
    facts: bool  # whether there are training data
    kind: str | None  # of the errors of units to show
    examples: int
    rules: LabelRules


class TupleRows(Struct, frozen=True, eq=False):
    """The tuples of one side of a part, repeated ones left out, one row each."""

    unit: Ints
    type: Codes
    types: tuple[str, ...]
    right: Mapping[Criterion, Bools]
    outcome: Ints
    partner: Ints  # the row of the other side; -1: none
    numbers: Mapping[str, Floats]  # NaN: undefined
    names: Mapping[str, Ints]  # codes into `words`; -1: undefined
    words: Mapping[str, tuple[str, ...]]
    value: Ints  # a code into `words["value"]`; -1 where a tuple has no value
    link: Bools

    @classmethod
    def joined(cls, parts: Sequence[TupleRows], units: Sequence[int], rows: Sequence[int]) -> TupleRows:
        """Concatenate parts; `units` and `rows` say how many of each, of the other side, the parts have."""
        first_unit = np.cumsum([0, *units]).tolist()
        first_row = np.cumsum([0, *rows]).tolist()

        def recoded(column: str) -> tuple[tuple[str, ...], list[Column]]:
            table: dict[str, int] = {}
            found = []
            for part in parts:
                names = part.types if column == "type" else part.words[column]
                new = np.array([table.setdefault(name, len(table)) for name in names] + [-1])
                old = (
                    part.type if column == "type" else part.value if column == "value" else part.names[column]
                )
                found.append(new[old])
            return tuple(table), found

        def together(columns: Iterable[Column]) -> Any:
            return np.concatenate(list(columns))

        types, type_codes = recoded("type")
        named = {name: recoded(name) for name in (*NAMES, "value")}
        return cls(
            unit=ints(together(part.unit + at for part, at in zip(parts, first_unit, strict=False))),
            type=codes(together(type_codes)),
            types=types,
            right={name: together(part.right[name] for part in parts) for name in CRITERIA},
            outcome=ints(together(part.outcome for part in parts)),
            partner=ints(
                together(
                    np.where(part.partner < 0, -1, part.partner + at)
                    for part, at in zip(parts, first_row, strict=False)
                )
            ),
            numbers={name: floats(together(part.numbers[name] for part in parts)) for name in NUMBERS},
            names={name: ints(together(named[name][1])) for name in NAMES},
            words={name: table for name, (table, _) in named.items()},
            value=ints(together(named["value"][1])),
            link=together(part.link for part in parts),
        )


class SystemPart(Struct, frozen=True, eq=False):
    """What one system did in a part."""

    gold: TupleRows
    predicted: TupleRows
    events: Ints | None  # units × (four scores × gold, predicted, correct)
    found: Ints  # units × (gold links with a predicted mention, right ones)
    mentions: Ints  # units × (gold, predicted, correct) mentions
    wrong: Mapping[str, int]
    duplicates: int
    missing: int
    sentences: tuple[TupleSentence, ...]


class TuplePart(Struct, frozen=True, eq=False):
    """What one part of the data says."""

    units: int
    documents: tuple[str | int | None, ...]  # of each unit
    sentences: int  # units that are divided into sentences
    duplicates: int
    roles: tuple[str, ...]
    systems: Mapping[str, SystemPart]
    labeled: Mapping[str | None, LabelCounts]  # of gold (None) and of the systems
    facts: StatedFacts | None  # of the gold tuples, if there are training data


def tally(
    gold: Sequence[UnitRecord],
    predicted: Mapping[str, Sequence[UnitRecord]],
    paths: Mapping[str | None, str],
    tallying: Tallying,
) -> TuplePart:
    """Count the tuples of one part; `paths` are those of gold (None) and of the systems."""
    names = Names()
    side = side_of(gold, paths[None], names=names, rules=tallying.rules)
    systems = {}
    labeled: dict[str | None, LabelCounts] = {None: side.labeled}
    kept: Ints = ints([])
    for name, records in predicted.items():
        other = side_of(records, paths[name], gold=side, rules=tallying.rules)
        labeled[name] = other.labeled
        matched = match(side, other, criterion=tallying.criterion, undirected=tallying.undirected)
        kept = np.flatnonzero(matched.gold_kept)
        systems[name] = _system(side, other, matched, tallying)
    return TuplePart(
        units=side.units,
        documents=tuple(record.document for record in side.records),
        sentences=sum(record.sentences is not None for record in side.records),
        duplicates=len(side) - len(kept),
        roles=tuple(names.roles),
        systems=systems,
        labeled=labeled,
        facts=facts_of(side, kept, tallying.undirected) if tallying.facts else None,
    )


def _system(gold: TupleSide, predicted: TupleSide, matched: MatchedTuples, tallying: Tallying) -> SystemPart:
    kept = np.flatnonzero(matched.gold_kept), np.flatnonzero(matched.predicted_kept)
    renumbered = []
    for rows, side in zip(kept, (gold, predicted), strict=True):
        table = np.full(len(side) + 1, -1, dtype=np.int64)
        table[rows] = np.arange(len(rows))
        renumbered.append(table)
    roles = [TRIGGER if role == 0 else name for role, name in enumerate(gold.names.roles)]
    times = np.bincount(matched.wrong_role, minlength=len(roles)).tolist()
    return SystemPart(
        gold=_rows(
            gold, kept[0], matched.gold_right, matched.gold_outcome,
            renumbered[1][matched.gold_partner], tallying,
        ),
        predicted=_rows(
            predicted, kept[1], matched.predicted_right, matched.predicted_outcome,
            renumbered[0][matched.predicted_partner], tallying,
        ),
        events=_events(gold, predicted, tallying.with_trigger),
        found=_found_links(gold, predicted),
        mentions=_mentions(gold, predicted, matched),
        wrong={role: number for role, number in zip(roles, times, strict=True) if number},
        duplicates=int((~matched.predicted_kept).sum()),
        missing=predicted.missing,
        sentences=_sentences(gold, predicted, matched, tallying),
    )  # fmt: skip


# ---- columns of tuples -------------------------------------------------------------------------------


def _rows(
    side: TupleSide,
    rows: Ints,
    right: Mapping[Criterion, Bools],
    outcome: Ints,
    partner: Ints,
    tallying: Tallying,
) -> TupleRows:
    owner = np.repeat(np.arange(len(side)), np.diff(side.at))
    is_value, is_link = side.kind == VALUE, side.kind == LINK
    first = side.alternative[side.alternatives[:-1]].astype(np.int64)
    value = np.full(len(side), -1, dtype=np.int64)
    value[owner[is_value]] = first[is_value]
    link = np.zeros(len(side), dtype=bool)
    link[owner[is_link]] = True
    types = tuple(side.names.types)
    loose = np.isin(side.type, [number for number, name in enumerate(types) if name in tallying.undirected])
    numbers = {**_distances(side, owner), "arguments": np.diff(side.at) - side.event}
    pair, words_of = _pairs(side, loose)
    return TupleRows(
        unit=ints(side.unit[rows]),
        type=codes(side.type[rows]),
        types=types,
        right={name: mask[rows] for name, mask in right.items()},
        outcome=ints(outcome[rows]),
        partner=ints(partner[rows]),
        numbers={name: floats(column[rows]) for name, column in numbers.items()},
        names={name: ints(column[rows]) for name, column in pair.items()},
        words={**words_of, "value": tuple(side.names.values)},
        value=ints(value[rows]),
        link=link[rows],
    )


def _distances(side: TupleSide, owner: Ints) -> dict[str, Floats]:
    """The tokens, and the sentences, between the outermost mentions; NaN with fewer than two mentions."""
    filler = np.flatnonzero(side.kind == MENTION)
    mention = side.alternative[side.alternatives[:-1][filler]]
    start, end = _in_tokens(side)
    sentence = _sentence_of(side)
    tuples = owner[filler]
    several = np.bincount(tuples, minlength=len(side)) > 1
    found = {}
    for name, low, high in (("distance", start, end), ("sentence_distance", sentence, sentence)):
        if low is None or high is None:
            found[name] = np.full(len(side), np.nan)
            continue
        last_start = np.full(len(side), -1, dtype=np.int64)
        first_end = np.full(len(side), np.iinfo(np.int64).max)
        np.maximum.at(last_start, tuples, low[mention])
        np.minimum.at(first_end, tuples, high[mention])
        between = np.where(several, np.maximum(last_start - np.where(several, first_end, 0), 0), 0)
        found[name] = np.where(several, between.astype(np.float64), np.nan)
    return found


def _in_tokens(side: TupleSide) -> tuple[Ints, Ints]:
    """The start and end of all mentions in tokens."""
    start, end = side.start.astype(np.int64), side.end.astype(np.int64)
    texts = [
        unit for unit, record in enumerate(side.records) if record.tokens is None and record.text is not None
    ]
    if not texts:
        return start, end
    edges = np.searchsorted(side.mention_unit, np.arange(side.units + 1))
    for unit in texts:
        begin, stop = edges[unit : unit + 2].tolist()
        if begin < stop:
            spans = np.array(words(side.records[unit].text or "") or [(0, 0)])
            start[begin:stop] = np.searchsorted(spans[:, 1], start[begin:stop], side="right")
            end[begin:stop] = np.searchsorted(spans[:, 0], end[begin:stop], side="left")
    return start, end


def _sentence_of(side: TupleSide) -> Ints | None:
    """The sentence of all mentions within their unit; None if no unit is divided into sentences."""
    begins = [
        (unit, begin) for unit, record in enumerate(side.records) for begin in sorted(record.sentences or ())
    ]
    if not begins:
        return None
    stride = 1 + max(int(side.end.max(initial=0)), max(begin for _, begin in begins))
    table = np.array(begins, dtype=np.int64) @ np.array([stride, 1])
    return ints(
        np.searchsorted(table, side.mention_unit.astype(np.int64) * stride + side.start, side="right")
    )


def _pairs(side: TupleSide, loose: Bools) -> tuple[dict[str, Ints], dict[str, tuple[str, ...]]]:
    """The direction and the labels of tuples that are two mentions without a trigger; -1 for all others."""
    sizes = np.diff(side.at)
    rows = np.flatnonzero((sizes == 2) & ~side.event)
    first = side.at[rows]
    rows = rows[(side.kind[first] == MENTION) & (side.kind[first + 1] == MENTION)]
    first = side.at[rows]
    mentions = [side.alternative[side.alternatives[first + step]] for step in (0, 1)]
    roles = [side.role[first + step].astype(np.int64) for step in (0, 1)]
    # The first role is the first one by name, whatever the order in the record.
    names, labels = list(side.names.roles), list(side.names.labels)
    by_name, by_label = (_ranks(each) for each in (names, labels))
    swapped = by_name[roles[0]] > by_name[roles[1]]
    one, other = (np.where(swapped, mentions[1 - k], mentions[k]) for k in (0, 1))
    begin = np.where(swapped, roles[1], roles[0]), np.where(swapped, roles[0], roles[1])
    start = side.start
    size = len(names)
    lead = np.where(start[one] < start[other], begin[0], np.where(start[one] > start[other], begin[1], size))
    direction = np.full(len(side), -1, dtype=np.int64)
    direction[rows] = np.where(loose[rows], size + 1, lead)
    left, right = side.label[one].astype(np.int64), side.label[other].astype(np.int64)
    flipped = loose[rows] & (by_label[left] > by_label[right])
    left, right = np.where(flipped, right, left), np.where(flipped, left, right)
    pair, number = np.unique(left * max(len(labels), 1) + right, return_inverse=True)
    pairs = np.full(len(side), -1, dtype=np.int64)
    pairs[rows] = number.reshape(-1)
    return {"direction": ints(direction), "labels": ints(pairs)}, {
        "direction": (*(f"{name} first" for name in names), "same start", "undirected"),
        "labels": tuple(
            f"{labels[code // len(labels)]} – {labels[code % len(labels)]}" for code in pair.tolist()
        ),
    }


def _ranks(names: Sequence[str]) -> Ints:
    """The place of each name in alphabetical order; the numbers of names depend on the part."""
    return ints(np.argsort(np.argsort(np.array(names, dtype=object)))) if names else ints([])


# ---- facts -------------------------------------------------------------------------------------------


def facts_of(side: TupleSide, rows: Ints, undirected: Sequence[str]) -> StatedFacts:
    """The facts that tuples state.

    Raises:
        InputError: a unit has no text.
    """
    names = side.names
    sizes = np.diff(side.at)[rows]
    filler = run_positions(side.at[rows], sizes)
    several = np.diff(side.alternatives)[filler]
    place = run_positions(side.alternatives[filler], several)
    word = side.alternative[place].astype(np.int64)
    is_mention = np.repeat(side.kind[filler] == MENTION, several)
    used, number = np.unique(word[is_mention], return_inverse=True)
    word[is_mention] = len(names.values) + number.reshape(-1)
    words_ = word_hashes([*names.values, *_strings(side, used)])[word]
    # The order of fillers never counts; their roles do, unless the type is undirected.
    types, roles = word_hashes(list(names.types)), word_hashes([*names.roles, "\0\0"])
    loose = np.isin(side.type[rows], [names.types.get(name, -1) for name in undirected])
    role = np.where(np.repeat(loose, sizes) & (side.role[filler] > 0), len(names.roles), side.role[filler])
    of_role = roles[np.repeat(role, several)]
    mixed = np.stack([mixed_words(words_[:, k] ^ mixed_words(of_role[:, k])) for k in (0, 1)], axis=1)
    kind, starts, edges = types[side.type[rows]], offsets(sizes)[:-1], offsets(several)
    if not len(rows) or several.max() == 1:
        return StatedFacts(kind + np.add.reduceat(mixed, starts) if len(rows) else kind, offsets(sizes > 0))
    hashes = []
    for row, begin in enumerate(starts.tolist()):
        ways = kind[row : row + 1]
        for at in range(begin, begin + int(sizes[row])):
            option = np.unique(mixed[edges[at] : edges[at + 1]], axis=0)
            ways = (ways[:, None] + option).reshape(-1, 2)[:_MOST_FACTS]
        hashes.append(ways)
    return StatedFacts(np.concatenate(hashes), offsets([len(ways) for ways in hashes]))


def _strings(side: TupleSide, mentions: Ints) -> Iterator[str]:
    rows = (column[mentions].tolist() for column in (side.mention_unit, side.start, side.end))
    for mention, unit, start, end in zip(mentions.tolist(), *rows, strict=True):
        record = side.records[unit]
        if record.tokens is not None and mention not in side.pieces:  # by far the most common
            yield " ".join(record.tokens[start:end])
            continue
        if record.tokens is None and record.text is None:
            raise InputError(
                f"{side.place(unit)}: the unit has neither tokens nor text, so that nothing tells whether "
                "training has its facts.\nGive the text, or leave out the training data."
            )
        yield side.string(mention)


def training_of(
    records: Sequence[UnitRecord], path: str, undirected: Sequence[str], rules: LabelRules
) -> TrainingTuples:
    """What a part of the training data states."""
    side = side_of(records, path, rules=rules)
    facts = facts_of(side, ints(np.arange(len(side))), undirected)
    times = np.bincount(side.type, minlength=len(side.names.types)).tolist()
    return TrainingTuples(
        ordered_hashes(facts.hashes), dict(zip(side.names.types, times, strict=True)), side.labeled
    )


# ---- counts per unit -----------------------------------------------------------------------------------


def _events(gold: TupleSide, predicted: TupleSide, with_trigger: bool) -> Ints | None:
    """The counts of the four scores of events; None if neither side has events."""
    if not (gold.event.any() or predicted.event.any()):
        return None
    events = [_event_items(side, with_trigger) for side in (gold, predicted)]
    matrix = np.zeros((gold.units, 3 * len(EVENT_SCORES)), dtype=np.int64)
    for number, (own, other) in enumerate(zip(*events, strict=True)):
        for step, found in enumerate((own, other, _equal_items(own, other))):
            np.add.at(matrix, ([unit for unit, *_ in found], 3 * number + step), 1)
    return ints(matrix)


# What an event score counts: a unit, the places of which any is right, and whatever else must be equal.
EventItem: TypeAlias = tuple[Any, ...]


def _event_items(side: TupleSide, with_trigger: bool) -> list[dict[EventItem, None]]:
    """The distinct triggers and arguments of each score, in order."""
    items: list[dict[EventItem, None]] = [{} for _ in EVENT_SCORES]
    for row in np.flatnonzero(side.event).tolist():
        begin, end = side.at[row : row + 2].tolist()
        unit, kind = int(side.unit[row]), int(side.type[row])
        places = []
        for at in range(begin, end):
            own = side.alternative[side.alternatives[at] : side.alternatives[at + 1]].tolist()
            mention = side.kind[at] == MENTION
            places.append(
                frozenset(_span(side, one) if mention else (int(side.kind[at]), one) for one in own)
            )
        trigger = (places[0],) if with_trigger else ()
        items[0][unit, (places[0],)] = None
        items[1][unit, (places[0],), kind] = None
        for at, place in zip(range(begin + 1, end), places[1:], strict=True):
            items[2][unit, (place, *trigger), kind] = None
            items[3][unit, (place, *trigger), kind, int(side.role[at])] = None
    return items


def _equal_items(own: Iterable[EventItem], other: Iterable[EventItem]) -> list[EventItem]:
    """The items of gold that are equal to one of the other side, one-to-one and as many as possible."""
    golds, others = list(own), list(other)
    alike: dict[EventItem, list[int]] = {}
    for number, (unit, places, *rest) in enumerate(others):
        for way in product(*places):
            alike.setdefault((unit, way, *rest), []).append(number)
    edges = {}
    for number, (unit, places, *rest) in enumerate(golds):
        equal = {one for way in product(*places) for one in alike.get((unit, way, *rest), ())}
        if equal:
            edges[number] = sorted(equal)
    return [golds[number] for number in largest(edges)[0].tolist()]


def _span(side: TupleSide, row: int) -> tuple[object, ...]:
    return int(side.mention_unit[row]), int(side.start[row]), int(side.end[row]), side.pieces.get(row)


def _found_links(gold: TupleSide, predicted: TupleSide) -> Ints:
    """Per unit, the gold links whose mention is a predicted span, and those with a right identifier."""
    matrix = np.zeros((gold.units, 2), dtype=np.int64)
    if not (gold.kind == LINK).any():
        return ints(matrix)
    predicted_spans = {_span(predicted, row) for row in range(len(predicted.start))}
    given: dict[object, set[int]] = {}
    for rows, links in _links(predicted):
        for row in rows:
            given.setdefault(_span(predicted, row), set()).update(links)
    seen = set()
    for rows, links in _links(gold):
        spans = {_span(gold, row) for row in rows}
        key = (frozenset((_span(gold, row), int(gold.label[row])) for row in rows), links)
        if key not in seen and not spans.isdisjoint(predicted_spans):
            seen.add(key)
            right = any(not links.isdisjoint(given.get(span, ())) for span in spans)
            matrix[int(gold.mention_unit[rows[0]])] += 1, int(right)
    return ints(matrix)


def _links(side: TupleSide) -> Iterator[tuple[list[int], frozenset[int]]]:
    """The mentions, any of which is right, and the identifiers of every link."""
    owner = np.repeat(np.arange(len(side)), np.diff(side.at))
    for at in np.flatnonzero(side.kind == LINK).tolist():
        row = int(owner[at])
        links = frozenset(side.alternative[side.alternatives[at] : side.alternatives[at + 1]].tolist())
        for other in range(int(side.at[row]), int(side.at[row + 1])):
            if side.kind[other] == MENTION:
                begin, end = side.alternatives[other : other + 2].tolist()
                yield side.alternative[begin:end].tolist(), links


def _mentions(gold: TupleSide, predicted: TupleSide, matched: MatchedTuples) -> Ints:
    """Per unit, the distinct mentions of both sides, and those with the same span and label."""
    own, first = np.unique(matched.gold_mention, return_index=True)
    other, begin = np.unique(matched.predicted_mention, return_index=True)
    units = [gold.mention_unit[first], predicted.mention_unit[begin]]
    units.append(units[0][np.isin(own, other)])
    return ints(np.stack([np.bincount(unit, minlength=gold.units) for unit in units], axis=1))


# ---- units to show ---------------------------------------------------------------------------------------


def _sentences(
    gold: TupleSide, predicted: TupleSide, matched: MatchedTuples, tallying: Tallying
) -> tuple[TupleSentence, ...]:
    """The first units with an error, or with one of the chosen kind, of those that have text."""
    if not tallying.examples:
        return ()
    kinds = ERRORS if tallying.kind is None else (tallying.kind,)
    wrong = np.concatenate(
        [
            side.unit[np.isin(outcome, [names.index(kind) for kind in kinds if kind in names])]
            for side, outcome, names in (
                (gold, matched.gold_outcome, OUTCOMES),
                (predicted, matched.predicted_outcome, PREDICTED_OUTCOMES),
            )
        ]
    )
    sentences: list[TupleSentence] = []
    for unit in distinct(wrong).tolist():
        record = gold.records[unit]
        if record.tokens is None and record.text is None:
            continue
        sentences.append(_sentence(gold, predicted, matched, unit))
        if len(sentences) == tallying.examples:
            break
    return tuple(sentences)


def _sentence(gold: TupleSide, predicted: TupleSide, matched: MatchedTuples, unit: int) -> TupleSentence:
    record = gold.records[unit]
    spans = [(at, at + 1) for at in range(len(record.tokens or ()))]
    if record.tokens is None:
        spans = words(record.text or "")
    begins, ends = np.array([a for a, _ in spans] or [0]), np.array([b for _, b in spans] or [0])
    tokens = record.tokens or [(record.text or "")[start:end] for start, end in spans]

    def tokened(start: int, end: int) -> tuple[int, int]:
        return int(np.searchsorted(ends, start, side="right")), int(np.searchsorted(begins, end, side="left"))

    sides = (gold, predicted)
    rows = [np.flatnonzero(side.mention_unit == unit).tolist() for side in sides]
    keys = [
        {(*_span(side, row), int(side.label[row])) for row in own}
        for side, own in zip(sides, rows, strict=True)
    ]
    columns = (
        (matched.gold_outcome, matched.gold_partner, matched.gold_right, OUTCOMES),
        (matched.predicted_outcome, matched.predicted_partner, matched.predicted_right, PREDICTED_OUTCOMES),
    )
    tuples = [
        np.flatnonzero((side.unit == unit) & (outcome >= 0)).tolist()
        for side, (outcome, *_) in zip(sides, columns, strict=True)
    ]
    number = [{row: at for at, row in enumerate(own)} for own in tuples]
    shown = []
    for k, (side, (outcome, partner, right, words_of)) in enumerate(zip(sides, columns, strict=True)):
        place = {row: at for at, row in enumerate(rows[k])}
        mentions = []
        for row in rows[k]:
            start, end = tokened(int(side.start[row]), int(side.end[row]))
            mentions.append(
                ShownMention(
                    start=start, end=max(end, start + 1), label=list(side.names.labels)[side.label[row]],
                    found=(*_span(side, row), int(side.label[row])) in keys[1 - k],
                )
            )  # fmt: skip
        listed = []
        for row in tuples[k]:
            other = number[1 - k].get(int(partner[row]))
            listed.append(
                ShownTuple(
                    type=list(side.names.types)[side.type[row]],
                    fillers=tuple(_shown_fillers(side, row, place)),
                    outcome=words_of[outcome[row]],
                    right=tuple(name for name in CRITERIA if right[name][row]),
                    partner=UNSET if other is None else other,
                    trigger=bool(side.event[row]),
                )
            )
        shown.append(ShownTuples(mentions=tuple(mentions), tuples=tuple(listed)))
    return TupleSentence(
        unit=unit, source=gold.place(unit), id=UNSET if record.id is None else str(record.id),
        tokens=tuple(tokens), gold=shown[0], predicted=shown[1],
    )  # fmt: skip


def _shown_fillers(side: TupleSide, row: int, place: Mapping[int, int]) -> Iterator[ShownFiller]:
    roles, values = list(side.names.roles), list(side.names.values)
    for at in range(int(side.at[row]), int(side.at[row + 1])):
        role = TRIGGER if side.role[at] == 0 else roles[side.role[at]]
        own = side.alternative[side.alternatives[at] : side.alternatives[at + 1]].tolist()
        if side.kind[at] == MENTION:
            yield ShownFiller(role=role, mention=place[own[0]], text=side.string(own[0]))
        else:
            yield ShownFiller(role=role, text=" or ".join(values[one] for one in own))
