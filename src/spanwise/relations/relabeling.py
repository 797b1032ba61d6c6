"""Labels of the mentions of a unit, mapped and left out, and the tuples that are left with the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from spanwise.labels import LabelRules
from spanwise.relations.records import Filler, FillerRecord, MentionRecord, TupleRecord

Renamed = Mapping[str | int, str | int | None]  # the id by which a mention is known now; None: left out


class LabelCounts(Struct):
    """What the rules on labels did to one file so far, and the labels as read."""

    labels: set[str]
    dropped: int = 0  # mentions whose label is left out
    merged: int = 0  # mentions that became equal to another one of their unit
    lost: int = 0  # tuples that named a mention that is left out

    @classmethod
    def none(cls) -> LabelCounts:
        """Nothing so far."""
        return cls(set())

    def add(self, other: LabelCounts) -> None:
        """Add what happened in another part of the file."""
        self.labels |= other.labels
        self.dropped += other.dropped
        self.merged += other.merged
        self.lost += other.lost


def relabeled(
    mentions: Sequence[MentionRecord],
    tuples: Sequence[TupleRecord],
    rules: LabelRules,
    counts: LabelCounts,
    *,
    predicted: bool,
) -> tuple[list[MentionRecord], list[TupleRecord]]:
    """The mentions of a unit with their new labels, and its tuples without those that have lost a filler.

    Mentions that become equal by a map are one, under the id of the first. A tuple needs its trigger or,
    without one, a filler in each of its roles; an argument of an event may be left out.

    Args:
        counts: to which what happened is added.

    Examples:
        >>> first = MentionRecord(id="a", start=0, end=1, label="X")
        >>> mentions = [first, MentionRecord(id="b", start=2, end=3)]
        >>> leads = TupleRecord(type="leads", roles={"head": "a", "tail": "b"})
        >>> counts = LabelCounts.none()
        >>> relabeled(mentions, [leads], LabelRules({"X": None}), counts, predicted=False)[1], counts.dropped
        ([], 1)
    """
    kept: list[MentionRecord] = []
    renamed: dict[str | int, str | int | None] = {}
    first: dict[object, tuple[str | int, str]] = {}
    for mention in mentions:
        counts.labels.add(mention.label)
        target = rules.target(mention.label, predicted=predicted)
        if target is None:
            renamed[mention.id] = None
            counts.dropped += 1
            continue
        key = mention.start, mention.end, tuple(map(tuple, mention.parts or ())), target
        known, label = first.setdefault(key, (mention.id, mention.label))
        if label != mention.label:
            renamed[mention.id] = known
            counts.merged += 1
            continue
        kept.append(mention if target == mention.label else replace(mention, label=target))
    if not renamed:
        return kept, list(tuples)
    left = [one for given in tuples if (one := _tuple(given, renamed)) is not None]
    counts.lost += len(tuples) - len(left)
    return kept, left


def _tuple(one: TupleRecord, renamed: Renamed) -> TupleRecord | None:
    """The tuple with the fillers that are left; None if it is left out with one of them."""
    trigger = one.trigger
    if trigger is not None and (trigger := _filler(trigger, renamed)) is None:
        return None
    roles: dict[str, Filler | list[Filler]] = {}
    for role, given in one.roles.items():
        found = [each for filler in _listed(given) if (each := _filler(filler, renamed)) is not None]
        if found:
            roles[role] = found if isinstance(given, list) else found[0]
        elif trigger is None and _listed(given):
            return None
    return replace(one, trigger=trigger, roles=roles)


def _listed(given: Filler | list[Filler]) -> list[Filler]:
    return given if isinstance(given, list) else [given]


def _filler(filler: Filler, renamed: Renamed) -> Filler | None:
    if not isinstance(filler, FillerRecord):
        return renamed.get(filler, filler)
    if filler.any is None:
        return filler
    found = [new for name in filler.any if (new := renamed.get(name, name)) is not None]
    return replace(filler, any=found) if found or not filler.any else None
