"""Published figures recomputed cell by cell: what the paper has, what comes out here, and why they differ."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from msgspec import Struct

from spanwise.errors import InputError
from spanwise.reproduction import departures, fu, ortmann, printed, tough
from spanwise.reproduction._cells import Cell, Missing
from spanwise.reproduction.departures import Effect

__all__ = ["Cell", "Effect", "Missing", "Reproduction", "departure_effects", "reproduce"]

_PARTS = {part.FOLDER: part for part in (ortmann, tough, fu)}

# Claims that could not be checked: they are named so that nobody takes silence for agreement.
NOT_COMPUTED = (
    Missing(
        "Fu20",
        "Table 2 is said to be the positional mean of Fu19's Tables 4 and 7 to 11, whose columns for token "
        "consistency and entity frequency stand in different order",
        "needs these seven tables as they were printed, which are not at hand",
    ),
    Missing(
        "Tu21",
        "the text is said to exchange 6.3 % and 10.7 %, shares of type-confusable mentions",
        "10.7 % is the Spanish share (TCM-ALL ALL of Table 3); the text and the other data are not at hand",
    ),
    Missing(
        "Tu21",
        "the F1 given in the text for Dutch and Spanish are said to be precisions",
        "needs the text and the tables of scores as they were printed, which are not at hand",
    ),
    Missing(
        "Ort22",
        "Tables 1 and 2 on chunking and parsing, from the mentions themselves",
        "the data of these parts are not at hand; their released results are checked against each other",
    ),
)


class Reproduction(Struct, frozen=True):
    """All cells that could be computed, and what could not."""

    cells: tuple[Cell, ...]
    missing: tuple[Missing, ...]

    def counts(self) -> dict[str, int]:
        """How many cells are equal, explained and unexplained."""
        found = Counter(cell.status for cell in self.cells)
        return {status: found[status] for status in ("equal", "explained", "unexplained")}


def reproduce(folder: str | Path) -> Reproduction:
    """Recompute the published figures from the data in `folder`.

    Published numbers that can be checked against each other alone come with them.
    The folder holds `ortmann-ner` (spans and expected.json), `conll2002-es` (train.txt, test.txt,
    expected.json) and `wnut16` (train.txt, two systems' outputs, known_words.txt, released-figures.json),
    or some of them.
    """
    where = Path(folder)
    found = [name for name in _PARTS if (where / name).is_dir()]
    if not found:
        raise InputError(
            f"{where}: there is no data to reproduce figures from.\n"
            f"Give the folder that holds {', '.join(_PARTS)}, or some of them."
        )
    cells = [cell for name in found for cell in _PARTS[name].cells(where / name)]
    cells += printed.cells()
    absent = [
        Missing(part.SOURCE, f"everything from {name}", f"there is no folder {where / name}")
        for name, part in _PARTS.items()
        if name not in found
    ]
    return Reproduction(tuple(cells), (*NOT_COMPUTED, *absent))


def departure_effects(folder: str | Path, *, model: str = "Flair") -> list[Effect]:
    """What each departure of the preset `interpreteval` does to a system in `folder`/wnut16."""
    where = Path(folder) / fu.FOLDER
    if not where.is_dir():
        raise InputError(f"{where}: there is no such folder.\nGive the folder that holds {fu.FOLDER}.")
    return departures.effects(*fu.sides(where, model), fu.training(where), fu.known_words(where))
