"""The corpora that everything is measured on, made by the generator of `spanwise demo` at any size.

    python -m benchmarks.data FOLDER NAME

makes one of them, unless it is there already, and prints where its files are and how large they are.
Names are a number of test tokens (50k, 1M, 10M, 50M), `conll2003` (46 k test and 204 k training tokens)
and `large` (9 M and 10 M). With `-natural` behind it every word outside gold mentions is drawn from a
million words whose frequencies fall as in natural text, as the generator has few words of its own; with
`-columns` a part of speech and a chunk stand between token and tag, as in CoNLL-2003.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from spanwise.demo import generate

PER_SENTENCE = 12.82  # tokens of a sentence of the generator, on average
NAMED = {"conll2003": (46_000, 204_000), "large": (9_000_000, 10_000_000)}
SYSTEMS = ("shortsighted", "memoriser")
_UNITS = {"k": 1_000, "M": 1_000_000}
_SYLLABLES = [first + second for first in "bdfgklmnrs" for second in "ae"]
_KINDS = 1_000_000  # distinct words that natural text is drawn from


def size_of(name: str) -> tuple[int, int | None]:
    """The test and the training tokens of a corpus by its name; None: as many as the generator gives."""
    name = name.split("-")[0]
    if name in NAMED:
        return NAMED[name]
    return int(float(name[:-1]) * _UNITS[name[-1]]), None


def make(folder: Path, name: str) -> dict[str, object]:
    """Make a corpus unless it is there, and describe it."""
    described = folder / name / "corpus.json"
    if not described.exists():
        where = described.parent
        tokens, training = size_of(name)
        sentences = max(1, round(tokens / PER_SENTENCE))
        demo = generate(where, sentences=sentences)
        if training is not None:
            _retrain(demo.train, training)
        files = {"gold": demo.gold, "train": demo.train, **{one: demo.systems[one] for one in SYSTEMS}}
        for other in demo.systems.values():
            if other not in files.values():
                other.unlink()
        if "-natural" in name:
            _naturalise([demo.gold, *(files[one] for one in SYSTEMS)], seed=1)
            _naturalise([demo.train], seed=2)
        if "-columns" in name:
            for path in files.values():
                _widen(path)
        described.write_text(json.dumps(_described(files)), encoding="utf-8")
    found: dict[str, object] = json.loads(described.read_text(encoding="utf-8"))
    return found


def _retrain(path: Path, tokens: int) -> None:
    """Training data of another size: of more sentences, and where the generator has no more, repeated."""
    # The training sentences of a larger corpus of the same seed use the same known names.
    sentences = round(tokens / PER_SENTENCE / 2)
    beside = path.with_name("longer")
    source = generate(beside, sentences=min(sentences, 50_000)).train
    data = source.read_bytes()
    path.write_bytes(data * max(1, round(sentences / 50_000)))
    for left in beside.iterdir():
        left.unlink()
    beside.rmdir()


def _naturalise(paths: list[Path], *, seed: int) -> None:
    """Other words where the first file has the tag O; all files get the same ones."""
    lines = paths[0].read_bytes().split(b"\n")
    changed = [
        number
        for number, line in enumerate(lines)
        if line.endswith(b" O") and not line.startswith(b"-DOCSTART-")
    ]
    drawn = list(_words(len(changed), seed))
    for path in paths:
        lines = path.read_bytes().split(b"\n")
        for number, word in zip(changed, drawn, strict=True):
            line = lines[number]
            lines[number] = word + line[line.rfind(b" ") :]
        path.write_bytes(b"\n".join(lines))


def _widen(path: Path) -> None:
    """Two more columns; what they hold follows from the length of the word."""
    kinds = (b"NN I-NP", b"IN I-PP", b"NNP I-NP", b"VBD I-VP", b"DT I-NP", b"CD I-NP", b". O")
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines):
        word, blank, tag = line.partition(b" ")
        if blank:
            lines[number] = b"%b %b %b" % (word, kinds[len(word) % len(kinds)], tag)
    path.write_bytes(b"\n".join(lines))


def _words(number: int, seed: int) -> Iterator[bytes]:
    """Words by the law of Zipf and Mandelbrot; frequent ones are short."""
    weight = 1 / (np.arange(_KINDS) + 2.7) ** 1.2
    until = np.cumsum(weight)
    rank = np.searchsorted(until, np.random.default_rng(seed).random(number) * until[-1])
    kinds, place = np.unique(rank, return_inverse=True)
    spelled = [_spelled(kind) for kind in kinds.tolist()]
    return map(spelled.__getitem__, place.tolist())


def _spelled(rank: int) -> bytes:
    word = ""
    rank += 1
    while rank:
        rank, syllable = divmod(rank, len(_SYLLABLES))
        word += _SYLLABLES[syllable]
    return word.encode("ascii")


def _described(files: dict[str, Path]) -> dict[str, object]:
    from spanwise.formats import read

    gold, train = read(files["gold"]), read(files["train"])
    return {
        "files": {name: str(path) for name, path in files.items()},
        "bytes": {name: path.stat().st_size for name, path in files.items()},
        "tokens": len(gold.corpus.tokens),
        "sentences": len(gold.corpus),
        "mentions": len(gold.mentions),
        "words": len(gold.corpus.vocabulary),
        "training_tokens": len(train.corpus.tokens),
        "tokens_read": 3 * len(gold.corpus.tokens) + len(train.corpus.tokens),
    }


if __name__ == "__main__":
    print(json.dumps(make(Path(sys.argv[1]), sys.argv[2])))
