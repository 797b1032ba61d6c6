"""Conditions in addresses: `label=ORG,MISC&entity_length=>=3` is `label=MISC,ORG & entity_length>=3`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import quote

from msgspec import Struct

from spanwise.conditions import Comparison, Condition, parse
from spanwise.errors import ChoiceError
from spanwise.workbench.limits import MOST_CONDITIONS

WHERE = "where"  # the parameter of clauses that compare several attributes
SHOW = "show."
OWN = ("after", "limit", "intervals", "a", "b", "sort", "q", "tag", "runs", "systems", "by", "result", "name")
WRONG, RIGHT, SPLIT = "wrong", "right", "split"
OUTCOME, TAGGED = "outcome", "tag"


class Shown(Struct, frozen=True, order=True):
    """What chooses sentences and never scores: `outcome=NAME:wrong`, `outcome=split`, `tag=gold is wrong`."""

    kind: str
    value: str


class View(Struct, frozen=True):
    """What a page shows: conditions that are scored on, and those that choose sentences below."""

    condition: Condition | None = None
    shown: tuple[Shown, ...] = ()

    def query(self) -> str:
        """The canonical query of an address: equal views have equal addresses."""
        pairs = parameters(self.condition)
        pairs += [(f"{SHOW}{one.kind}", one.value) for one in self.shown]
        return "&".join(f"{quote(name, safe='')}={quote(value, safe=',=<>!:*')}" for name, value in pairs)

    def without(self, clause: Sequence[Comparison]) -> View:
        """The view less one clause."""
        clauses = [one for one in self.condition.clauses if one != tuple(clause)] if self.condition else []
        return View(Condition.of(clauses) if clauses else None, self.shown)

    def showing(self, *shown: Shown) -> View:
        """The same conditions with other sentences below."""
        return View(self.condition, tuple(sorted(set(shown))))

    @property
    def words(self) -> str:
        """The conditions as text; "all mentions" where there are none."""
        return str(self.condition) if self.condition else "all mentions"


def parameters(condition: Condition | None) -> list[tuple[str, str]]:
    """A condition as the parameters of an address."""
    pairs = []
    for clause in condition.clauses if condition else ():
        one = clause[0]
        if (
            len(clause) > 1
            or one.attribute == WHERE
            or one.attribute in OWN
            or one.attribute.startswith(SHOW)
        ):
            pairs.append((WHERE, str(Condition.of([clause]))))
            continue
        listed = str(one).removeprefix(one.attribute).removeprefix(one.operator)
        sign = {"=": "", "!=": "!"}.get(one.operator, one.operator)
        pairs.append((one.attribute, f"{sign}{listed}"))
    return pairs


def view_of(pairs: Iterable[tuple[str, str]]) -> View:
    """The view that the parameters of an address ask for.

    A comma is or, a parameter is and, ! before the first value is not. The same parameter without signs
    given twice is or as well: that is how forms send several checked boxes.

    Raises:
        ChoiceError: a parameter does not read as a condition, or there are too many.
    """
    plain: dict[str, list[str]] = {}
    texts: list[str] = []
    shown: set[Shown] = set()
    for name, value in pairs:
        if name in OWN or not value.strip():
            continue
        if name.startswith(SHOW):
            shown.add(_shown(name.removeprefix(SHOW), value))
        elif name == WHERE:
            texts.append(value)
        elif value.startswith(("!", "<", ">")):
            sign = "!=" if value.startswith("!") else ""
            texts.append(f"{name}{sign}{value.removeprefix('!').replace(',!', ',')}")
        else:
            plain.setdefault(name, []).append(value)
    texts += [f"{name}={','.join(values)}" for name, values in plain.items()]
    clauses = [clause for text in texts for clause in parse(text).clauses]
    if len(clauses) + len(shown) > MOST_CONDITIONS:
        raise ChoiceError(f"there are more than {MOST_CONDITIONS} conditions.\nLeave some out.")
    return View(Condition.of(clauses) if clauses else None, tuple(sorted(shown)))


def _shown(kind: str, value: str) -> Shown:
    if kind not in (OUTCOME, TAGGED):
        raise ChoiceError(f"{SHOW}{kind} does not choose sentences.\nUse {SHOW}{OUTCOME} or {SHOW}{TAGGED}.")
    return Shown(kind, value)
