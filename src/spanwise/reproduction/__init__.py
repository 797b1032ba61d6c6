"""Recompute published figures cell by cell: the paper's value, ours, and why they differ."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from msgspec import Struct

from spanwise.errors import InputError
from spanwise.reproduction import fu, ortmann, tables, tough
from spanwise.reproduction._cells import Cell, Missing, among_printed
from spanwise.reproduction.fu import Effect

__all__ = ["BASES", "Cell", "Effect", "Missing", "Reproduction", "departure_effects", "reproduce"]

_PARTS = {part.FOLDER: part for part in (ortmann, tough, fu, tables)}

BASES = {
    "mentions": "computed from mentions",
    "printed": "published figures against each other, each cell once",
}
STATUSES = ("equal", "explained", "guessed", "unexplained")

# Claims that could not be checked, listed so that their absence is not mistaken for agreement.
NOT_COMPUTED = (
    Missing(
        "Fu19",
        "Tables 4 and 8 to 11, and R-eDen, R-oov, F-tok, MF-et and MF-tt of Table 7, from the mentions",
        "outputs on these corpora are not in DATA, and the paper prints no edges for these columns",
    ),
    *(
        Missing(
            "Fu20",
            f"{claim}, p = {p}",
            f"the number of pairs is not in the text at hand; {pairs} pairs that all differ in the same "
            "direction would give this p in the normal approximation, which is a fit and not a check",
        )
        for claim, p, pairs in tables.FITTED
    ),
    Missing(
        "Fu20",
        "Flair against ELMo on long sentences, p = 1.4 × 10−3",
        "the number of pairs is not in the text at hand",
    ),
    Missing(
        "Tu21",
        "Tables 2, 4 to 10 and 12 to 17 from the mentions themselves",
        "ReCoNLL, OntoNotes, the Dutch data and the systems' outputs are not in DATA; "
        "the printed tables are checked against each other",
    ),
    Missing(
        "Ort22",
        "Tables 1 and 2 on chunking and parsing, from the mentions themselves",
        "the spans of these parts are not in DATA; their released results are checked against each other",
    ),
)


class Reproduction(Struct, frozen=True):
    """All cells that could be computed, and the claims that could not be checked."""

    cells: tuple[Cell, ...]
    missing: tuple[Missing, ...]

    def counts(self) -> dict[str, dict[str, int]]:
        """How many cells have each status, separately for each basis.

        "mentions" counts figures computed from annotated text, "printed" published figures that are only
        checked against each other.
        """
        found = Counter((str(cell.basis), cell.status) for cell in self.cells)
        return {basis: {status: found[basis, status] for status in STATUSES} for basis in BASES}


def reproduce(folder: str | Path) -> Reproduction:
    """Recompute the published figures from the data in `folder`.

    This includes published numbers that can only be checked against each other.
    The folder contains `ortmann-ner` (spans and expected.json), `conll2002-es` (train.txt, test.txt,
    expected.json), `wnut16` (train.txt, two systems' outputs, known_words.txt, released-figures.json)
    and `printed` (fu19.json, fu20.json, tu21.json: the papers' tables), or some of these.
    """
    root = Path(folder)
    folders = [name for name in _PARTS if (root / name).is_dir()]
    if not folders:
        raise InputError(
            f"{root}: there is no data to reproduce figures from.\n"
            f"Give the folder that holds {', '.join(_PARTS)}, or some of them."
        )
    cells = [cell for name in folders for cell in _PARTS[name].cells(root / name)]
    cells += among_printed(ortmann.released_cells())
    if {fu.FOLDER, tables.FOLDER} <= set(folders):
        cells += fu.fu19_cells(root / fu.FOLDER, root / tables.FOLDER)
    absent = [
        Missing(part.SOURCE, f"everything from {name}", f"there is no folder {root / name}")
        for name, part in _PARTS.items()
        if name not in folders
    ]
    return Reproduction(tuple(cells), (*NOT_COMPUTED, *absent))


def departure_effects(folder: str | Path, *, model: str = "Flair") -> list[Effect]:
    """The effect of each departure of the preset `interpreteval` on a system in `folder`/wnut16."""
    data = Path(folder) / fu.FOLDER
    if not data.is_dir():
        raise InputError(f"{data}: there is no such folder.\nGive the folder that holds {fu.FOLDER}.")
    return fu.effects(*fu.sides(data, model), fu.training(data), fu.known_words(data))
