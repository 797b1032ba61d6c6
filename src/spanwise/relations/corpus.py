"""The units, mentions and tuples of one side as columns, made and checked from records.

How a reader of a further format plugs in is said in `spanwise.relations.records`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import lt
from typing import Any

import numpy as np
from msgspec import Struct, field

from spanwise.columns import Bools, Codes, Ints, codes, frozen, offsets
from spanwise.errors import InputError
from spanwise.formats.text_tokens import words
from spanwise.labels import LabelRules
from spanwise.relations.records import FillerRecord, MentionRecord, TupleRecord, UnitRecord, records_of
from spanwise.relations.relabeling import LabelCounts, relabeled

TRIGGER = "trigger"  # the role of the trigger of an event
MENTION, VALUE, LINK = 0, 1, 2  # the kinds of fillers


class Names(Struct, eq=False):
    """The numbers of strings, shared by the sides that are compared; a new string gets the next number."""

    types: dict[str, int] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    roles: dict[str, int] = field(default_factory=lambda: {"\0trigger": 0})
    values: dict[str, int] = field(default_factory=dict)  # values and identifiers of links


class TupleSide(Struct, frozen=True, eq=False):
    """The mentions and tuples of gold, or of one system, over the units of gold, one row each.

    Fillers stand tuple after tuple, the trigger of an event first; a filler has one alternative, unless it
    is an entity with several mentions or a link with several identifiers that are right.
    """

    names: Names
    records: Sequence[UnitRecord]  # one per unit of gold; without mentions and tuples where there is none
    path: str
    mention_unit: Codes
    start: Codes
    end: Codes
    head: Codes  # the position of the head
    label: Codes
    pieces: Mapping[int, tuple[tuple[int, int], ...]]  # of the mentions with gaps
    unit: Codes  # of each tuple
    type: Codes
    event: Bools  # whether it has a trigger
    at: Ints  # the first filler of each tuple, and the number of all fillers
    role: Codes  # of each filler
    kind: Codes
    alternatives: Ints  # the first alternative of each filler, and the number of all alternatives
    alternative: Codes  # the row of a mention, or the number of a value
    missing: int = 0  # units without a record
    labeled: LabelCounts = field(default_factory=LabelCounts.none)  # with rules on labels only

    def __len__(self) -> int:
        return len(self.unit)

    @property
    def units(self) -> int:
        """The number of units."""
        return len(self.records)

    def place(self, unit: int) -> str:
        """Where a unit stands: the file and line, or the name of the data and the number of the record."""
        return place(self.records[unit], self.path, unit)

    def string(self, mention: int) -> str:
        """The text of a mention; empty without text."""
        record = self.records[int(self.mention_unit[mention])]
        pieces = self.pieces.get(mention, ((int(self.start[mention]), int(self.end[mention])),))
        if record.tokens is not None:
            return " ".join(" ".join(record.tokens[start:end]) for start, end in pieces)
        return " ".join((record.text or "")[start:end] for start, end in pieces)


def place(record: UnitRecord, path: str, number: int) -> str:
    """Where a record stands, for messages."""
    return f"{path}:{record.line}" if record.line is not None else f"{path}: record {number + 1}"


def side_of(
    records: Iterable[UnitRecord | Mapping[str, Any]],
    path: str = "gold",
    *,
    names: Names | None = None,
    gold: TupleSide | None = None,
    rules: LabelRules | None = None,
) -> TupleSide:
    """The columns of one side.

    Args:
        records: of the form of `UnitRecord`.
        path: the file, or the name of the data, for messages.
        names: the numbers of strings; those of gold by default.
        gold: of predictions, the gold side, with whose units they are aligned: by id if the predictions
            have ids, else by order. A unit of gold without a record has no predictions, and is counted.
        rules: which labels of mentions are mapped, and which are left out.

    Raises:
        InputError: an id is unknown or occurs twice, positions do not fit, or fields are contradictory.

    Examples:
        >>> mentions = [{"id": "a", "start": 0, "end": 2}, {"id": "b", "start": 3, "end": 4}]
        >>> tuples = [{"type": "leads", "roles": {"head": "a", "tail": "b"}}]
        >>> tokens = ["Ida", "Fenwick", "runs", "Petrel"]
        >>> side = side_of([{"tokens": tokens, "mentions": mentions, "tuples": tuples}])
        >>> side.string(0), side.head.tolist(), side.role.tolist()
        ('Ida Fenwick', [1, 3], [1, 2])
    """
    given = records_of(records, path)
    building = _Building(path, names or (gold.names if gold is not None else Names()), rules or LabelRules())
    if gold is None:
        for number, record in enumerate(given):
            building.add(number, record, record.mentions or [])
        return building.side(given)
    aligned, missing = _aligned(given, gold, path)
    for number, (predicted, own) in enumerate(zip(aligned, gold.records, strict=True)):
        if predicted is None:
            continue
        _check_same_text(predicted, own, place(predicted, path, number), gold.place(number))
        mentions = predicted.mentions if predicted.mentions is not None else own.mentions or []
        building.add(number, predicted, mentions, own)
    return building.side(
        [record or UnitRecord(id=own.id) for record, own in zip(aligned, gold.records, strict=True)], missing
    )


def unit_id(record: UnitRecord) -> str | None:
    """The id of a unit as a string, with its document, in which sentences may be numbered."""
    if record.id is None:
        return None
    return str(record.id) if record.document is None else f"{record.document}\0{record.id}"


def _aligned(
    records: Sequence[UnitRecord], gold: TupleSide, path: str
) -> tuple[Sequence[UnitRecord | None], int]:
    """The record of each unit of gold, or None, and how many units have none."""
    own = gold.records
    if len(records) == len(own) and all(
        one.id == other.id and one.document == other.document for one, other in zip(records, own, strict=True)
    ):
        return records, 0
    if any(record.id is None for record in (*records, *own)):
        if len(records) != len(own):
            raise InputError(
                f"{path}: there are {len(records):,} units, but {len(own):,} in gold ({gold.path}), and not "
                "all have ids.\nGive every unit an id, or the same units in the same order."
            )
        return records, 0
    keyed = unit_id
    if not all((one.document is None) == (own[0].document is None) for one in (*records, *own)):
        keyed = lambda record: str(record.id)  # noqa: E731 - documents are marked on one side only
    numbers: dict[str | None, int] = {}
    for number, record in enumerate(own):
        if numbers.setdefault(keyed(record), number) != number:
            raise InputError(
                f"{gold.place(number)}: the id {record.id!r} occurs twice in gold.\n"
                "Give every unit an id of its own."
            )
    found: list[UnitRecord | None] = [None] * len(own)
    for number, record in enumerate(records):
        at = numbers.get(keyed(record))
        where = place(record, path, number)
        if at is None:
            raise InputError(
                f"{where}: gold ({gold.path}) has no unit with the id {record.id!r}.\n"
                "Give predictions for the units of gold, with the same ids."
            )
        if found[at] is not None:
            raise InputError(
                f"{where}: the id {record.id!r} occurs twice.\nKeep one record for each unit of gold."
            )
        found[at] = record
    return found, sum(record is None for record in found)


def _check_same_text(record: UnitRecord, own: UnitRecord, where: str, gold_where: str) -> None:
    if record.tokens is not None and own.tokens is not None and record.tokens != own.tokens:
        if len(record.tokens) != len(own.tokens):
            what = (
                f"the unit has {len(record.tokens):,} tokens, but {len(own.tokens):,} in gold ({gold_where})."
            )
        else:
            one, other = next(
                pair for pair in zip(record.tokens, own.tokens, strict=True) if pair[0] != pair[1]
            )
            what = f"the token {one!r} is {other!r} in gold ({gold_where})."
        raise InputError(f"{where}: {what}\nGive predictions for the tokens of gold.")
    if record.text is not None and own.text is not None and record.text != own.text:
        raise InputError(
            f"{where}: the text differs from that of gold ({gold_where}).\n"
            "Give predictions for the text of gold."
        )
    if (record.tokens is not None and own.tokens is None and own.text is not None) or (
        record.text is not None and own.text is None and own.tokens is not None
    ):
        raise InputError(
            f"{where}: positions are in {'tokens' if record.tokens is not None else 'characters'} here, but "
            f"not in gold ({gold_where}).\nGive both as tokens, or both as text."
        )


class _Building:
    """Columns that grow record by record."""

    def __init__(self, path: str, names: Names, rules: LabelRules) -> None:
        self.path, self.names, self.rules = path, names, rules
        self.labeled = LabelCounts.none()
        self.mention_unit: list[int] = []
        self.start: list[int] = []
        self.end: list[int] = []
        self.head: list[int] = []
        self.label: list[int] = []
        self.pieces: dict[int, tuple[tuple[int, int], ...]] = {}
        self.unit: list[int] = []
        self.type: list[int] = []
        self.event: list[bool] = []
        self.fillers: list[int] = []  # how many each tuple has
        self.role: list[int] = []
        self.kind: list[int] = []
        self.alternatives: list[int] = []  # how many each filler has
        self.alternative: list[int] = []

    def add(
        self,
        number: int,
        record: UnitRecord,
        mentions: Sequence[MentionRecord],
        own: UnitRecord | None = None,
    ) -> None:
        """Add the mentions and tuples of a unit; `own` is the record of gold, which may know the text."""
        text = record if own is None or record.tokens is not None or record.text is not None else own
        if text.tokens is not None and text.text is not None:
            raise InputError(
                f"{place(record, self.path, number)}: the unit has both tokens and text, so that it is "
                "unclear what positions count.\nKeep one of them."
            )
        tuples: Sequence[TupleRecord] = record.tuples
        if self.rules:
            # Mentions that predictions take over from gold have gold's labels.
            predicted = own is not None and record.mentions is not None
            mentions, tuples = relabeled(mentions, tuples, self.rules, self.labeled, predicted=predicted)
        ids = self._mentions(number, record, mentions, text)
        try:
            for one in tuples:
                self._tuple(number, one, ids)
        except _WrongTuple as wrong:
            raise InputError(f"{place(record, self.path, number)}: {wrong}") from None

    def _mentions(
        self, number: int, record: UnitRecord, mentions: Sequence[MentionRecord], text: UnitRecord
    ) -> dict[str | int, int]:
        """Add the mentions of a unit, and return their rows by id."""
        size = None
        if text.tokens is not None:
            size = len(text.tokens)
        elif text.text is not None:
            size = len(text.text)
        first = len(self.start)
        labels = self.names.labels
        self.mention_unit += [number] * len(mentions)
        ids = {mention.id: row for row, mention in enumerate(mentions, first)}
        starts, ends = [mention.start for mention in mentions], [mention.end for mention in mentions]
        plain = text.text is None and all(
            mention.head is None and mention.parts is None for mention in mentions
        )
        fit = not mentions or (min(starts) >= 0 and (size is None or max(ends) <= size))
        if plain and fit and len(ids) == len(mentions) and all(map(lt, starts, ends)):
            self.start += starts
            self.end += ends
            self.head += [end - 1 for end in ends]
            self.label += [labels.setdefault(mention.label, len(labels)) for mention in mentions]
            return ids
        ids = {}
        for row, mention in enumerate(mentions, first):
            start, end, head = mention.start, mention.end, mention.head
            if ids.setdefault(mention.id, row) != row:
                raise InputError(
                    f"{place(record, self.path, number)}: two mentions have the id {mention.id!r}.\n"
                    "Give every mention of a unit an id of its own."
                )
            if not 0 <= start < end or (size is not None and end > size):
                what = (
                    ""
                    if size is None
                    else f", which has {size:,} {'characters' if text.tokens is None else 'tokens'}"
                )
                raise InputError(
                    f"{place(record, self.path, number)}: the mention {mention.id!r} at [{start}, {end}) is "
                    f"empty or outside its unit{what}.\nPositions are half-open: 0 <= start < end."
                )
            if mention.parts is not None and len(mention.parts) > 1:
                self.pieces[row] = _checked_pieces(mention, place(record, self.path, number))
            if head is None:
                head = end - 1 if text.text is None else _last_word(text.text, start, end)
            elif not start <= head < end:
                raise InputError(
                    f"{place(record, self.path, number)}: the head {head} of the mention {mention.id!r} is "
                    f"outside of [{start}, {end}).\nA head is a position of its mention."
                )
            self.start.append(start)
            self.end.append(end)
            self.head.append(head)
            self.label.append(labels.setdefault(mention.label, len(labels)))
        return ids

    def _tuple(self, number: int, one: TupleRecord, ids: Mapping[str | int, int]) -> None:
        names, roles = self.names, self.names.roles
        if not one.type:
            raise _WrongTuple("a tuple has an empty type.\nName its type.")
        fillers = len(self.role)
        if one.trigger is not None:
            self._filler(0, one.trigger, ids, one)
            if self.kind[-1] != MENTION:
                raise _WrongTuple(f"the trigger of {one.type!r} is not a mention.\nGive the id of a mention.")
        for name, filler in one.roles.items():
            role = roles.get(name)
            if role is None:
                role = roles[name] = len(roles)
            row = ids.get(filler) if type(filler) is str else None
            if row is not None:  # by far the most common filler
                self.alternative.append(row)
                self.role.append(role)
                self.kind.append(MENTION)
                self.alternatives.append(1)
            elif isinstance(filler, list):
                for each in filler:
                    self._filler(role, each, ids, one)
            else:
                self._filler(role, filler, ids, one)
        if len(self.role) == fillers:
            raise _WrongTuple(f"the tuple {one.type!r} has no fillers.\nGive it roles, or a trigger.")
        self.unit.append(number)
        self.type.append(names.types.setdefault(one.type, len(names.types)))
        self.event.append(one.trigger is not None)
        self.fillers.append(len(self.role) - fillers)

    def _filler(
        self, role: int, filler: str | int | FillerRecord, ids: Mapping[str | int, int], one: TupleRecord
    ) -> None:
        kind, number = MENTION, 1
        if not isinstance(filler, FillerRecord):
            row = ids.get(filler)
            if row is None:
                raise _unknown(filler, one)
            self.alternative.append(row)
        else:
            if (filler.any is not None) + (filler.value is not None) + (filler.link is not None) != 1:
                raise _WrongTuple(
                    f"a filler of {one.type!r} must have exactly one of 'any', 'value' and 'link'.\n"
                    "Keep one of them, or give the id of a mention."
                )
            values = self.names.values
            if filler.any is not None:
                rows = sorted({ids.get(name, -1) for name in filler.any})
                if rows[:1] == [-1]:
                    raise _unknown(next(name for name in filler.any if name not in ids), one)
                found = rows
            elif filler.value is not None:
                kind, found = VALUE, [values.setdefault(_plain(filler.value), len(values))]
            else:
                links = [filler.link] if isinstance(filler.link, str) else filler.link or []
                kind = LINK
                found = sorted({values.setdefault(name, len(values)) for name in links})
            if not found:
                raise _WrongTuple(
                    f"a filler of {one.type!r} is an empty list.\nName at least one mention or identifier."
                )
            number = len(found)
            self.alternative.extend(found)
        self.role.append(role)
        self.kind.append(kind)
        self.alternatives.append(number)

    def side(self, records: Sequence[UnitRecord], missing: int = 0) -> TupleSide:
        """The finished columns."""
        return TupleSide(
            names=self.names,
            records=records,
            path=self.path,
            mention_unit=codes(self.mention_unit),
            start=codes(self.start),
            end=codes(self.end),
            head=codes(self.head),
            label=codes(self.label),
            pieces=self.pieces,
            unit=codes(self.unit),
            type=codes(self.type),
            event=frozen(np.array(self.event, dtype=bool)),
            at=offsets(self.fillers),
            role=codes(self.role),
            kind=codes(self.kind),
            alternatives=offsets(self.alternatives),
            alternative=codes(self.alternative),
            missing=missing,
            labeled=self.labeled,
        )


class _WrongTuple(Exception):
    """What is wrong with a tuple, without its place."""


def _unknown(name: str | int, one: TupleRecord) -> _WrongTuple:
    return _WrongTuple(
        f"the tuple {one.type!r} names the mention {name!r}, which the unit does not have.\n"
        "Give the id of one of its mentions."
    )


def _plain(value: str | int | float | bool) -> str:
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _checked_pieces(mention: MentionRecord, where: str) -> tuple[tuple[int, int], ...]:
    pieces = tuple(sorted(mention.parts or ()))
    ends = [end for _, end in pieces]
    if (
        any(start >= end for start, end in pieces)
        or any(end > start for end, (start, _) in zip(ends, pieces[1:], strict=False))
        or (pieces[0][0], ends[-1]) != (mention.start, mention.end)
    ):
        raise InputError(
            f"{where}: the parts of the mention {mention.id!r} overlap, are empty, or do not reach from its "
            "start to its end.\nGive parts that are apart and whose outer positions are start and end."
        )
    return pieces


def _last_word(text: str, start: int, end: int) -> int:
    """The position at which the last token of a piece of text begins."""
    found = words(text[start:end])
    return start + found[-1][0] if found else end - 1
