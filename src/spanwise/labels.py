"""Map, merge and leave out labels: applied once to every annotation, when its labels are numbered."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from spanwise.columns import Bools, codes
from spanwise.corpus import Mentions
from spanwise.document import hash_of
from spanwise.errors import ChoiceError
from spanwise.settings import HIERARCHY as HIERARCHY
from spanwise.settings import RULES as RULES

LabelMap = Mapping[str, str | None]  # None, or an empty string: the label is left out
GivenMap = str | os.PathLike[str] | Mapping[str, object] | None  # as a caller gives it: text, file or mapping
EVERY = "any label"  # what all mentions are labeled at level 0 of a hierarchy
MOST_LISTED = 20  # labels in a message


class LabelRules(Struct, frozen=True):
    """Which label each label as read stands for, and which are left out.

    `predicted_map` applies to predictions alone, before `map`; then come `only` and `without`, and what a
    label is called at a level of a hierarchy. Within a map all labels are replaced at once, as read: there
    are no chains, and A=B, B=A swaps two labels.
    """

    map: LabelMap = field(default_factory=dict)
    predicted_map: LabelMap = field(default_factory=dict)
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    hierarchy: Mapping[str, str] = field(default_factory=dict)  # with a level only
    hierarchy_separator: str | None = None
    hierarchy_level: int | None = None

    def __bool__(self) -> bool:
        return bool(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """The rules by keyword, without those that are not given."""
        given = {name: getattr(self, name) for name in RULES}
        return {name: value for name, value in given.items() if value or value == 0}

    def key(self, *, predicted: bool) -> str:
        """A hash of the rules that apply to gold, or to predictions.

        Examples:
            >>> rules, more = LabelRules({"A": "B"}), LabelRules({"A": "B"}, {"C": "D"})
            >>> rules.key(predicted=True) == more.key(predicted=False)
            True
        """
        rules = self if predicted else replace(self, predicted_map={})
        return hash_of(rules.to_dict())

    def target(self, label: str, *, predicted: bool) -> str | None:
        """What a label stands for; None if its mentions are left out.

        Examples:
            >>> labels = LabelRules({"GPE": "LOC", "JUNK": None}, {"L": "GPE"}, without=("MISC",))
            >>> [labels.target(name, predicted=True) for name in ("L", "PER", "JUNK", "MISC")]
            ['LOC', 'PER', None, None]
        """
        mapped = self.mapped(label, predicted=predicted)
        return self.at_level(mapped) if mapped is not None and self.keeps(mapped) else None

    def at_level(self, label: str) -> str:
        """What a label that is kept is called at the level of the hierarchy, if there is one."""
        if self.hierarchy_level is None:
            return label
        return Hierarchy(self.hierarchy, self.hierarchy_separator or "/").at(label, self.hierarchy_level)

    def keeps(self, label: str) -> bool:
        """Whether `only` and `without` keep a label."""
        return (not self.only or label in self.only) and label not in self.without

    def mapped(self, label: str, *, predicted: bool) -> str | None:
        """The label after the maps alone; None if a map leaves it out."""
        for mapping in (self.predicted_map, self.map) if predicted else (self.map,):
            if label in mapping:
                target = mapping[label]
                if not target:
                    return None
                label = target
        return label

    def targets(self) -> dict[str, str]:
        """The label that each mapped label of predictions becomes by the maps, without those left out."""
        named = {label: self.mapped(label, predicted=True) for label in (*self.map, *self.predicted_map)}
        return {label: target for label, target in named.items() if target is not None}

    def apply(self, mentions: Mentions, *, predicted: bool) -> Relabeled:
        """The mentions with their new labels, without those that are left out or that became equal."""
        targets = [self.target(name, predicted=predicted) for name in mentions.labels]
        if targets == list(mentions.labels):
            return Relabeled(mentions, 0, 0, tuple(mentions.labels))
        names = tuple(sorted({name for name in targets if name is not None}))
        code = {name: number for number, name in enumerate(names)}
        table = np.array([-1 if name is None else code[name] for name in targets], dtype=np.int32)
        new = table[mentions.label] if len(mentions) else mentions.label
        kept = mentions.take(new >= 0)
        renamed = replace(kept, label=codes(new[new >= 0]), labels=names)
        sole = renamed.take(_highest(renamed)) if renamed.repeated.any() else renamed
        return Relabeled(sole, len(mentions) - len(kept), len(renamed) - len(sole), tuple(mentions.labels))

    def check(self, seen: Iterable[str], predicted: Iterable[str] = ()) -> None:
        """Refuse names that no file of a call has; `seen` are the labels as read, `predicted` of predictions.

        Raises:
            ChoiceError: the message lists the labels there are.
        """
        found, gathered = self.missing(seen, predicted), _GATHERED.get()
        if gathered is not None:
            gathered.extend(found)
            return
        for missing in found:
            raise missing.error("which no file has")

    def missing(self, seen: Iterable[str], predicted: Iterable[str] = ()) -> list[MissingLabel]:
        """The names that no label as read stands behind; `predicted` are the labels of predictions."""
        others, own = set(seen), set(predicted)
        as_mapped = {self.mapped(label, predicted=False) for label in others}
        as_mapped |= {self.mapped(label, predicted=True) for label in own}
        before_map = others | {self.predicted_map.get(label, label) or "" for label in own}
        asked: tuple[tuple[str, Iterable[str], set[Any]], ...] = (
            ("predicted_map", self.predicted_map, own),
            ("map", self.map, before_map),
            ("only", self.only, as_mapped),
            ("without", self.without, as_mapped),
        )
        return [
            MissingLabel(option, name, tuple(sorted(filter(None, there))))
            for option, names, there in asked
            for name in names
            if name not in there
        ]


# Of several datasets under the same rules, a label may be missing in some: whoever asks them all decides.
_GATHERED: ContextVar[list[MissingLabel] | None] = ContextVar("gathered", default=None)


@contextmanager
def gathered_missing() -> Iterator[list[MissingLabel]]:
    """Within it, names that no file has are put in the list in place of being refused.

    Examples:
        >>> with gathered_missing() as missing:
        ...     LabelRules(only=("ORG",)).check(["PER"])
        >>> [one.name for one in missing]
        ['ORG']
    """
    gathered: list[MissingLabel] = []
    token = _GATHERED.set(gathered)
    try:
        yield gathered
    finally:
        _GATHERED.reset(token)


class Hierarchy(Struct, frozen=True):
    """Labels as paths: `person/artist` is a kind of `person`.

    Level 0 is one label for all mentions, level k the first k steps of each path, and the deepest level the
    labels themselves. A label that `paths` does not name is its own path.
    """

    paths: Mapping[str, str] = field(default_factory=dict)
    separator: str = "/"

    @classmethod
    def of(cls, given: Mapping[str, str | None], separator: str | None) -> Hierarchy | None:
        """The hierarchy with these paths; None if neither paths nor a separator are given.

        Raises:
            ChoiceError: the separator is empty, or a path is empty or has an empty step.

        Examples:
            >>> Hierarchy.of({"artist": "person/artist"}, None).at("artist", 1)
            'person'
        """
        if not given and separator is None:
            return None
        if separator is not None and (not isinstance(separator, str) or not separator.strip()):
            raise ChoiceError(
                f"hierarchy_separator is {separator!r}, but must be what separates the steps of a label.\n"
                "Give a character such as '/'."
            )
        between = separator or "/"
        for label, path in given.items():
            if not path or not all(step.strip() for step in path.split(between)):
                raise ChoiceError(
                    f"hierarchy gives the label {label!r} the path {path or ''!r}, which has an empty step.\n"
                    f"Write it like artist = 'person{between}artist'."
                )
        return cls({label: path for label, path in given.items() if path}, between)

    def check(self, labels: Iterable[str]) -> None:
        """Refuse two labels with one path: the deepest level would not be the labels themselves."""
        seen: dict[str, str] = {}
        for label in labels:
            other = seen.setdefault(self.path(label), label)
            if other != label:
                path = self.path(label)
                raise ChoiceError(
                    f"hierarchy gives the labels {other!r} and {label!r} the same path {path!r}.\n"
                    "Make them one label with map, or give them different paths."
                )

    def path(self, label: str) -> str:
        """The path of a label."""
        return self.paths.get(label, label)

    def depth(self, labels: Iterable[str]) -> int:
        """The number of the deepest level: the most steps that a label has."""
        return max((self.path(label).count(self.separator) + 1 for label in labels), default=0)

    def at(self, label: str, level: int) -> str:
        """What a label is called at a level; shorter paths stay whole."""
        if not level:
            return EVERY
        return self.separator.join(self.path(label).split(self.separator)[:level])

    def apply(self, mentions: Mentions, level: int) -> Mentions:
        """The mentions with their labels at a level; those that become equal are one."""
        targets: dict[str, str | None] = {label: self.at(label, level) for label in mentions.labels}
        return LabelRules(targets).apply(mentions, predicted=False).mentions


class MissingLabel(Struct, frozen=True):
    """A label that a rule names, but that no file has, and the labels there are."""

    option: str
    name: str
    there: tuple[str, ...]

    def error(self, where: str) -> ChoiceError:
        """The error for it; `where` says where it is missing."""
        if self.option == "predicted_map" and not self.there:
            return ChoiceError(
                f"predicted_map names the label {self.name!r}, but no prediction has a label.\n"
                "It is for predictions alone; map is for all files."
            )
        return ChoiceError(
            f"{self.option} names the label {self.name!r}, {where}.\nThere are: {_listed(self.there)}."
        )

    def note(self) -> str:
        """A note for a dataset of a study whose other datasets have it."""
        return f"{self.option} names the label {self.name!r}, which no file of this dataset has"


class Relabeled(Struct, frozen=True, eq=False):
    """Mentions after labels were mapped, how many were dropped or merged, and the labels as read."""

    mentions: Mentions
    dropped: int
    merged: int
    labels: tuple[str, ...]


def _highest(mentions: Mentions) -> Bools:
    """Of equal mentions, the one with the highest score, or the first of those."""
    if mentions.score is None:
        return np.asarray(~mentions.repeated)
    score = np.nan_to_num(mentions.score, nan=-np.inf)
    best: dict[tuple[object, ...], int] = {}
    rows = zip(mentions.sentence.tolist(), mentions.pieces(), mentions.label.tolist(), strict=True)
    for row, key in enumerate(rows):
        if key not in best or score[row] > score[best[key]]:
            best[key] = row
    keep = np.zeros(len(mentions), dtype=bool)
    keep[list(best.values())] = True
    return keep


def _listed(names: Iterable[str]) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - MOST_LISTED} more" if len(listed) > MOST_LISTED else ""
    return ", ".join(listed[:MOST_LISTED]) + more if listed else "none"


def label_map(given: str | Mapping[str, object] | None, *, option: str) -> dict[str, str | None]:
    """A map given as 'A=B,C=' or as a mapping from label to label; nothing after = leaves a label out.

    Raises:
        ChoiceError: it cannot be read, or a label has two targets.

    Examples:
        >>> label_map("NAME=PER,JUNK=", option="map")
        {'NAME': 'PER', 'JUNK': None}
    """
    if given is None:
        return {}
    pairs: list[tuple[object, object]] = []
    if isinstance(given, str):
        for part in filter(None, (text.strip() for text in given.split(","))):
            name, equals, other = part.partition("=")
            if not equals or not name.strip():
                raise ChoiceError(
                    f"{option} has {part!r}, but each part must be a label, =, and another label.\n"
                    "Write it like 'GPE=LOC,JUNK='; nothing after = leaves a label out."
                )
            pairs.append((name.strip(), other.strip()))
    elif isinstance(given, Mapping):
        pairs = list(given.items())
    else:
        raise ChoiceError(f"{option} is {given!r}, but must map labels to labels, such as {{'GPE': 'LOC'}}.")
    result: dict[str, str | None] = {}
    for label, target in pairs:
        if not isinstance(label, str) or not (target is None or isinstance(target, str)):
            raise ChoiceError(f"{option} maps {label!r} to {target!r}, but both must be labels.")
        if label in result and result[label] != (target or None):
            raise ChoiceError(f"{option} maps the label {label!r} to two labels.\nChoose one of them.")
        result[label] = target or None
    return result


def label_names(given: str | Sequence[str] | None, *, option: str) -> tuple[str, ...]:
    """LabelRules given as a list, or as text with commas.

    Examples:
        >>> label_names("PER, LOC", option="only")
        ('PER', 'LOC')
    """
    listed = given.split(",") if isinstance(given, str) else list(given or ())
    names = [name.strip() if isinstance(name, str) else name for name in listed]
    wrong = [name for name in names if not isinstance(name, str) or not name]
    if wrong:
        raise ChoiceError(f"{option} has {wrong[0]!r}, which is not a label.\nGive names such as PER,LOC.")
    return tuple(dict.fromkeys(names))
