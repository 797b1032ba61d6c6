"""Three simulated systems with about the same F1 for three different reasons, each stated."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Column, Floats, Ints, Small
from spanwise.demo._inventory import LABELS, Inventory
from spanwise.demo._text import DrawnText

# What a system makes of a mention: right, missed, without its first or its last token, with label k in
# place of its own (LABELED + k), or with label k and without its first token (BOTH + k). Of words: RIGHT
# leaves them alone, TRAPPED takes the marked word for a mention, LABELED + k lets a mention of label k
# run on into the first word.
RIGHT, MISSED, FIRST_LEFT_OUT, LAST_LEFT_OUT, LABELED = range(5)
TRAPPED = MISSED
BOTH = LABELED + len(LABELS)
VARIANTS = BOTH + len(LABELS)

LONG = 4  # tokens; the definitions' last bucket of entity_length
_CARELESS = 0.06  # share of mentions that every system gets wrong for no reason
_TRAPPED = 0.10  # share of the marked words that every system takes for a mention


class SimulatedSystem(Struct, frozen=True):
    """A simulated system: its name, the weakness that was planted and how often it shows."""

    name: str
    weakness: str
    rate: float


SYSTEMS = (
    SimulatedSystem("shortsighted", "cuts the ends off mentions of four or more tokens", 0.66),
    SimulatedSystem(
        "memoriser", "misses mentions that the training file does not hold with their label", 0.42
    ),
    SimulatedSystem("swapper", "writes LOC for ORG and ORG for LOC", 0.19),
)


class PieceFacts(Struct, frozen=True, eq=False):
    """What the simulation knows of a piece: tokens, label (-1: words), whether seen in training, a trap."""

    length: Ints
    label: Ints
    seen: Bools
    trap: Bools


def predict(system: SimulatedSystem, text: DrawnText, facts: PieceFacts, *, seed: int) -> Small:
    """What the system makes of every piece of the text, as numbers of the variants above."""
    number = [known.name for known in SYSTEMS].index(system.name)
    random = np.random.default_rng([seed, 3 + number])
    label, length = facts.label[text.pieces], facts.length[text.pieces]
    mention = label >= 0
    chance = random.random((4, len(text.pieces)))
    made = np.where(mention & (chance[0] < _CARELESS), _careless(chance[1], label), RIGHT)
    made = np.where(~mention & facts.trap[text.pieces] & (chance[0] < _TRAPPED), TRAPPED, made)
    struck = mention & (chance[2] < system.rate)
    if system.name == "shortsighted":
        cut = np.where(chance[3] < 0.5, FIRST_LEFT_OUT, LAST_LEFT_OUT)
        made = np.where(struck & (length >= LONG), cut, made)
    elif system.name == "memoriser":
        made = np.where(struck & ~facts.seen[text.pieces], MISSED, made)
    else:
        here, there = LABELS.index("LOC"), LABELS.index("ORG")
        made = np.where(struck & (label == here), LABELED + there, made)
        made = np.where(struck & (label == there), LABELED + here, made)
    cut = (made == FIRST_LEFT_OUT) | (made == LAST_LEFT_OUT) | (made >= BOTH)
    made = np.where(mention & cut & (length == 1), MISSED, made)  # nothing is left of one token
    return _run_on(made, chance[0] < _CARELESS / 2, text, label).astype(np.int8)


def _careless(chance: Floats, label: Ints) -> Column:
    """A mistake of any kind, equally often: missed, too short on either side, another label, or both."""
    kind = (chance * 5).astype(int)
    another = (label + 1 + (chance * 1e6).astype(int) % (len(LABELS) - 1)) % len(LABELS)
    shortened = np.where(kind == 3, LABELED + another, kind + MISSED)
    return np.where(kind == 4, BOTH + another, shortened)


def _run_on(made: Column, careless: Bools, text: DrawnText, label: Ints) -> Column:
    """Let some mentions run on into the words behind them, where nothing else is wrong with either."""
    after = np.arange(1, len(made))
    inside = np.ones(len(after), dtype=bool)
    inside[text.sentences[1:-1] - 1] = False  # the next piece begins another sentence
    chosen = after[inside & careless[1:] & (label[:-1] >= 0) & (label[1:] < 0) & (made[:-1] == RIGHT)]
    made = made.copy()
    made[chosen] = np.where(made[chosen] == RIGHT, LABELED + label[chosen - 1], made[chosen])
    return made


def facts_of(inventory: Inventory, seen: Bools) -> PieceFacts:
    """The columns of `PieceFacts` for all pieces of the inventory."""
    return PieceFacts(
        length=np.array([len(piece.tokens) for piece in inventory.pieces]),
        label=labels_of(inventory),
        seen=seen,
        trap=np.array([piece.trap is not None for piece in inventory.pieces]),
    )


def labels_of(inventory: Inventory) -> Ints:
    """The number of the label of each piece, -1 for words."""
    return np.array([-1 if piece.label is None else LABELS.index(piece.label) for piece in inventory.pieces])
