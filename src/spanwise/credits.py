"""Credits: how much of a true positive, false positive and false negative each outcome is worth."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType

import numpy as np
from msgspec import Struct, field
from msgspec.structs import force_setattr

from spanwise.citations import ORTMANN
from spanwise.columns import Column, Floats, floats
from spanwise.errors import ChoiceError
from spanwise.matching import OUTCOMES
from spanwise.registry import Registry

Weights = tuple[float, float, float]  # of TP, FP and FN

_PARTS = ("TP", "FP", "FN")
_WHOLE: Mapping[str, Weights] = {"TP": (1.0, 0.0, 0.0), "FP": (0.0, 1.0, 0.0), "FN": (0.0, 0.0, 1.0)}
_HALVES: Weights = (0.0, 0.5, 0.5)
_GROUPS = {"BE": ("BEs", "BEl", "BEo")}
_NAMES = {name.casefold(): (name,) for name in OUTCOMES} | {
    name.casefold(): members for name, members in _GROUPS.items()
}
_EXAMPLE = "BE = 0.5 TP + 0.25 FP + 0.25 FN"
_TERM = re.compile(r"(?P<number>\d+(?:\.\d*)?|\.\d+)?\s*\*?\s*(?P<part>[A-Za-z]+)?")


class Credit(Struct, frozen=True, dict=True):
    """How much each outcome adds to the TP, FP and FN from which precision, recall and F1 are computed.

    Outcomes that `weights` does not name keep their fair credit: LE, BE and LBE are half
    a false positive and half a false negative each; TP, FP and FN count as themselves.

    Examples:
        >>> Credit("lenient", "label errors are forgiven", {"LE": (1, 0, 0)}).weights["LBE"]
        (0.0, 0.5, 0.5)
    """

    name: str
    summary: str
    weights: Mapping[str, Weights] = field(default_factory=dict)
    source: str = ""

    def __post_init__(self) -> None:
        custom = {name: _weights(name, value) for name, value in self.weights.items()}
        full = {name: custom.get(name, _WHOLE.get(name, _HALVES)) for name in OUTCOMES}
        force_setattr(self, "weights", MappingProxyType(full))

    @cached_property
    def matrix(self) -> Floats:
        """The weights as a matrix, outcomes × (TP, FP, FN)."""
        return floats([self.weights[name] for name in OUTCOMES])

    def apply(self, counts: Column) -> tuple[Floats, Floats, Floats]:
        """The credited TP, FP and FN for counts whose last axis is the outcomes.

        Examples:
            >>> counts = np.array([10, 2, 1, 1, 0, 0, 3, 4])
            >>> tuple(float(part) for part in CREDITS.find("fair").apply(counts))
            (10.0, 6.0, 5.0)
        """
        # Not `@`: BLAS sums in an order that depends on its threads.
        sums = np.einsum("...o,op->...p", np.asarray(counts, dtype=np.float64), self.matrix)
        return sums[..., 0], sums[..., 1], sums[..., 2]

    def formula(self) -> str:
        """The credit as a formula, with a statement for each outcome that differs from the fair credit.

        Examples:
            >>> parse("BE = .5TP + 0.5 FN").formula()
            'BE = 0.5 TP + 0.5 FN'
        """
        changed = {
            name: weights for name, weights in self.weights.items() if weights != _WHOLE.get(name, _HALVES)
        }
        for group, members in _GROUPS.items():
            shared = {changed.get(member) for member in members}
            if len(shared) == 1 and None not in shared:
                changed = {
                    group if name == members[0] else name: weights
                    for name, weights in changed.items()
                    if name not in members[1:]
                }
        return "; ".join(f"{name} = {_sum(weights)}" for name, weights in changed.items())


def _sum(weights: Weights) -> str:
    terms = [f"{weight:g} {part}" for weight, part in zip(weights, _PARTS, strict=True) if weight]
    return " + ".join(terms) or "0"


def _weights(name: str, value: Iterable[float]) -> Weights:
    if name not in OUTCOMES:
        raise ChoiceError(
            f"a credit gives weights to {', '.join(OUTCOMES)}, but not to {name!r}.\nUse one of these."
        )
    parts = tuple(float(part) for part in value)
    if len(parts) != 3 or not all(0 <= part < np.inf for part in parts):
        raise ChoiceError(
            f"the credit of {name} is {value!r}; expected three numbers from 0 up: "
            "its worth as TP, as FP and as FN."
        )
    return parts


def parse(formula: str) -> Credit:
    """Parse a credit formula such as `BE = 0.5 TP + 0.25 FP + 0.25 FN`.

    Several statements are separated by `;` or `,`. `BE` sets BEs, BEl and BEo, except
    those that have a statement of their own. Outcomes that are not named keep
    their fair credit. A term without a number counts as 1, and `0` alone as nothing.

    Raises:
        ChoiceError: a statement cannot be read, or names something that is not an outcome.

    Examples:
        >>> parse("BE = 0.5 TP + 0.5 FN; LE = FP").weights["BEl"]
        (0.5, 0.0, 0.5)
    """
    statements = [part.strip() for part in re.split(r"[;,\n]", formula) if part.strip()]
    if not statements:
        raise ChoiceError(f"the credit {formula!r} says nothing.\nWrite it as in {_EXAMPLE!r}.")
    general: dict[str, Weights] = {}
    special: dict[str, Weights] = {}
    seen: set[str] = set()
    for statement in statements:
        name, outcomes, weights = _statement(statement)
        if name in seen:
            raise ChoiceError(f"the credit {formula!r} sets {name} twice.\nKeep one of the two.")
        seen.add(name)
        (special if name in OUTCOMES else general).update(dict.fromkeys(outcomes, weights))
    return Credit(" ".join(formula.split()), "a user-defined credit", general | special)


def _statement(statement: str) -> tuple[str, tuple[str, ...], Weights]:
    left, equals, right = statement.partition("=")
    if not equals or "=" in right:
        raise ChoiceError(
            f"in the credit {statement!r} there must be one '=' between an outcome and its worth.\n"
            f"Write it as in {_EXAMPLE!r}."
        )
    outcomes = _NAMES.get(left.strip().casefold())
    if outcomes is None:
        raise ChoiceError(
            f"the credit {statement!r} begins with {left.strip()!r}, which is not an outcome.\n"
            f"There are: {', '.join((*OUTCOMES[:2], 'BE', *OUTCOMES[2:]))}."
        )
    name = outcomes[0] if len(outcomes) == 1 else left.strip().upper()
    return name, outcomes, _worth(statement, right)


def _worth(statement: str, text: str) -> Weights:
    worth = dict.fromkeys(_PARTS, 0.0)
    for term in text.split("+"):
        match = _TERM.fullmatch(term.strip())
        number, part = (match["number"], match["part"]) if match else (None, None)
        if part is None and number is not None and float(number) == 0:
            continue
        if part is None or part.upper() not in _PARTS:
            raise ChoiceError(
                f"in the credit {statement!r} the term {term.strip()!r} cannot be read; expected a number "
                f"and one of {', '.join(_PARTS)}, joined by '+'.\nWrite it as in {_EXAMPLE!r}."
            )
        worth[part.upper()] += 1.0 if number is None else float(number)
    total = sum(worth.values())
    # FP + FN is the traditional way to count an error.
    if total > 1 + 1e-9 and worth != {"TP": 0.0, "FP": 1.0, "FN": 1.0}:
        raise ChoiceError(
            f"in the credit {statement!r} the shares add up to {total:g}, but an outcome counts once.\n"
            "Lower them until they add up to 1 at most, or write FP + FN to count an error twice."
        )
    return worth["TP"], worth["FP"], worth["FN"]


CREDITS: Registry[Credit] = Registry("credit")
_BALANCED: Weights = (0.5, 0.25, 0.25)
CREDITS.add(Credit("fair", "each error is half a false positive and half a false negative", {}, ORTMANN))
CREDITS.add(
    Credit(
        "ortmann-eq6",
        "a boundary error is half right",
        dict.fromkeys(_GROUPS["BE"], _BALANCED),
        f"{ORTMANN}, equation 6",
    )
)
CREDITS.add(
    Credit(
        "ortmann-eq7",
        "a boundary error is half right; too short is half missed, too long half spurious",
        {"BEs": (0.5, 0.0, 0.5), "BEl": (0.5, 0.5, 0.0), "BEo": _BALANCED},
        f"{ORTMANN}, equation 7",
    )
)


def credit_of(credit: str | Credit) -> Credit:
    """The credit with this name or formula; a `Credit` is returned unchanged.

    Raises:
        ChoiceError: no credit has that name, or the formula cannot be read.

    Examples:
        >>> credit_of("ortmann-eq7").weights["BEs"], credit_of("LE = 0.5 TP + 0.5 FP").weights["LE"]
        ((0.5, 0.0, 0.5), (0.5, 0.5, 0.0))
    """
    if isinstance(credit, str) and "=" in credit:
        return parse(credit)
    return CREDITS.find(credit)
