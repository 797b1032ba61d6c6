"""What happened to each mention, and the events that outcomes are counted by."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr

from spanwise.columns import Ints, Small, frozen, ints

OUTCOMES = ("TP", "LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP")
TP, LE, BES, BEL, BEO, LBE, FN, FP = range(len(OUTCOMES))


def small(values: object) -> Small:
    """A read-only int8 column of `values`."""
    return frozen(np.asarray(values, dtype=np.int8))


class Events(Struct, frozen=True, eq=False):
    """One row for everything that is counted: a pair of mentions, or one that stands alone (-1).

    `turn` is the pass of Ortmann's algorithm that made the pair: 1 where both mentions
    were free (label errors too), 2 where the predicted mention belonged to an earlier
    event, 3 where the gold one did, and 0 for TP, FN and FP.
    Every gold and every predicted mention is consumed by exactly one event.
    """

    gold: Ints
    predicted: Ints
    outcome: Small
    turn: Small

    def __post_init__(self) -> None:
        force_setattr(self, "gold", ints(self.gold))
        force_setattr(self, "predicted", ints(self.predicted))
        force_setattr(self, "outcome", small(self.outcome))
        force_setattr(self, "turn", small(self.turn))

    def __len__(self) -> int:
        return len(self.gold)

    def names(self) -> list[str]:
        """The outcome of each event by name."""
        return [OUTCOMES[code] for code in self.outcome.tolist()]

    def rows(self) -> list[tuple[int, int, str, int]]:
        """The events as (gold row, predicted row, outcome, turn)."""
        columns = (self.gold.tolist(), self.predicted.tolist(), self.names(), self.turn.tolist())
        return list(zip(*columns, strict=True))


class Matching(Struct, frozen=True, eq=False, dict=True):
    """For each gold and each predicted mention its outcome and its partner (-1: none).

    A mention that was matched to one already taken has that one as its partner, while the
    partner's own partner is another mention: so every event is found exactly once.
    """

    gold_outcome: Small
    gold_partner: Ints
    predicted_outcome: Small
    predicted_partner: Ints

    def __post_init__(self) -> None:
        for side in ("gold", "predicted"):
            force_setattr(self, f"{side}_outcome", small(getattr(self, f"{side}_outcome")))
            force_setattr(self, f"{side}_partner", ints(getattr(self, f"{side}_partner")))

    def events(self) -> Events:
        """Events that consume a gold mention, in gold order, then those of predicted mentions alone."""
        return self._events

    @cached_property
    def _events(self) -> Events:
        gold_turn = _turns(self.gold_outcome, self.gold_partner, self.predicted_partner, taken=2)
        predicted_turn = _turns(self.predicted_outcome, self.predicted_partner, self.gold_partner, taken=3)
        alone = np.flatnonzero((predicted_turn == 3) | (self.predicted_outcome == FP))
        return Events(
            gold=np.concatenate([np.arange(len(self.gold_partner)), self.predicted_partner[alone]]),
            predicted=np.concatenate([self.gold_partner, alone]),
            outcome=np.concatenate([self.gold_outcome, self.predicted_outcome[alone]]),
            turn=np.concatenate([gold_turn, predicted_turn[alone]]),
        )


def _turns(outcome: Small, partner: Ints, back: Ints, *, taken: int) -> Small:
    """0 for TP and without a partner, 1 where the partner's partner is the mention itself, else `taken`."""
    turn = np.zeros(len(partner), dtype=np.int8)
    rows = np.flatnonzero(outcome != TP)
    rows = rows[partner[rows] >= 0]
    turn[rows] = np.where(back[partner[rows]] == rows, 1, taken)
    return turn


class Pairing(Struct, frozen=True, eq=False):
    """A matching in the making: writeable columns that start as all missed and all spurious."""

    gold_outcome: Small
    gold_partner: Ints
    predicted_outcome: Small
    predicted_partner: Ints

    @classmethod
    def none(cls, gold: int, predicted: int) -> Pairing:
        """No pair yet among so many mentions."""
        return cls(
            np.full(gold, FN, np.int8),
            np.full(gold, -1, np.int64),
            np.full(predicted, FP, np.int8),
            np.full(predicted, -1, np.int64),
        )

    def copy(self) -> Pairing:
        """The same pairs, to go on with."""
        return Pairing(
            self.gold_outcome.copy(),
            self.gold_partner.copy(),
            self.predicted_outcome.copy(),
            self.predicted_partner.copy(),
        )

    def both(self, gold: Ints, predicted: Ints, outcome: int | Small) -> None:
        """Pair rows that were free on both sides."""
        self.first(gold, predicted, outcome)
        self.second(predicted, gold, outcome)

    def first(self, gold: Ints, predicted: Ints, outcome: int | Small) -> None:
        """Give free gold rows a partner; the partner keeps its own."""
        self.gold_outcome[gold] = outcome
        self.gold_partner[gold] = predicted

    def second(self, predicted: Ints, gold: Ints, outcome: int | Small) -> None:
        """Give free predicted rows a partner; the partner keeps its own."""
        self.predicted_outcome[predicted] = outcome
        self.predicted_partner[predicted] = gold

    def matching(self) -> Matching:
        """The finished matching."""
        return Matching(self.gold_outcome, self.gold_partner, self.predicted_outcome, self.predicted_partner)
