"""The corpora for all measurements, made by the generator of `spanwise demo` at any size.

    python -m benchmarks.data FOLDER NAME

makes one of them unless it already exists, and prints where its files are and how large they are.
Names are a number of test tokens (50k, 1M, 10M, 50M), `conll2003` (46 k test and 204 k training tokens)
and `large` (9 M and 10 M). A corpus with the suffix `-even` is made in pieces of a million test tokens, each
with 1.3 million training tokens, which are written one after the other. With `-natural`, every word outside
gold mentions is drawn from a million words with frequencies as in natural text, because the generator has
only few words; with `-columns`, part-of-speech and chunk columns are added between token and tag, as in
CoNLL-2003.
`chunks-101k` and `fields-64k` are span files with about that many gold mentions: flat chunks and nested
fields, as in the data of Ortmann (2022).
"""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NotRequired, TypedDict

import numpy as np

from spanwise.demo import generate

PER_SENTENCE = 12.82  # tokens per sentence of the generator, on average
NAMED = {"conll2003": (46_000, 204_000), "large": (9_000_000, 10_000_000)}
SYSTEMS = ("shortsighted", "memoriser")
_UNITS = {"k": 1_000, "M": 1_000_000}
_SYLLABLES = [first + second for first in "bdfgklmnrs" for second in "ae"]
_KINDS = 1_000_000  # distinct words from which natural text is drawn

Span = tuple[str, int, int]  # a label, the first and the last token, counted from 1
_CHUNKS = ["NX", "PX", "VX", "ADVX", "AX", "FX", "sNX", "sPX", "DM"]
_FIELDS = ["VF", "LK", "MF", "VC", "NF", "C", "KOORD", "LV", "FKOORD", "FKONJ"]
# The percentages of mentions that a system gets right, or wrong in various ways.
_PERCENT = {
    "right": 92, "missed": 1.5, "label": 1.5, "begin": 1, "end": 1, "both": 0.5, "shifted": 0.5, "split": 1,
    "new": 1,
}  # fmt: skip


class Described(TypedDict):
    """The files of a corpus, and its size; for span files, only the numbers of sentences and mentions."""

    files: dict[str, str]
    sentences: int
    bytes: NotRequired[dict[str, int]]
    tokens: NotRequired[int]
    mentions: NotRequired[int]
    words: NotRequired[int]
    training_tokens: NotRequired[int]
    tokens_read: NotRequired[int]


def size_of(name: str) -> tuple[int, int | None]:
    """The numbers of test and training tokens of a corpus by name; None for the generator's default."""
    name = name.split("-")[0]
    if name in NAMED:
        return NAMED[name]
    return _number(name), None


def _number(text: str) -> int:
    return int(float(text[:-1]) * _UNITS[text[-1]])


def make(folder: Path, name: str) -> Described:
    """Make a corpus unless it exists, and describe it."""
    described = folder / name / "corpus.json"
    kind, _, number = name.partition("-")
    if kind in SPANS and not described.exists():
        described.parent.mkdir(parents=True, exist_ok=True)
        facts = _make_spans(described.parent, kind, _number(number))
        described.write_text(json.dumps(facts), encoding="utf-8")
    if number == "even" and not described.exists():
        described.write_text(json.dumps(_make_even(described.parent, _number(kind))), encoding="utf-8")
    if not described.exists():
        where = described.parent
        tokens, training = size_of(name)
        sentences = max(1, round(tokens / PER_SENTENCE))
        demo = generate(where, sentences=sentences)
        if training is not None:
            _retrain(demo.train, training)
        files = {
            "gold": demo.gold,
            "train": demo.train,
            **{system: demo.systems[system] for system in SYSTEMS},
        }
        for other in demo.systems.values():
            if other not in files.values():
                other.unlink()
        if "-natural" in name:
            _naturalise([demo.gold, *(files[system] for system in SYSTEMS)], seed=1)
            _naturalise([demo.train], seed=2)
        if "-columns" in name:
            for path in files.values():
                _widen(path)
        described.write_text(json.dumps(_described(files)), encoding="utf-8")
    description: Described = json.loads(described.read_text(encoding="utf-8"))
    return description


def _make_even(folder: Path, tokens: int) -> Described:
    """A corpus in pieces of a million test tokens, each with its own seed and made one at a time."""
    names = ("gold", "train", *SYSTEMS)
    files = {name: folder / f"{name}.conll" for name in names}
    sums: dict[str, int] = {}
    folder.mkdir(parents=True, exist_ok=True)
    for path in files.values():
        path.unlink(missing_ok=True)
    for seed in range(max(1, round(tokens / 1_000_000))):
        piece = generate(folder / "piece", sentences=round(1_000_000 / PER_SENTENCE), seed=seed)
        sources = {"gold": piece.gold, "train": piece.train, **piece.systems}
        own = {name: sources[name] for name in names}
        for size, number in _sizes(own).items():
            sums[size] = sums.get(size, 0) + number
        for name, path in own.items():
            with path.open("rb") as source, files[name].open("ab") as target:
                shutil.copyfileobj(source, target)
    shutil.rmtree(folder / "piece")
    return {
        "files": {name: str(path) for name, path in files.items()},
        "bytes": {name: path.stat().st_size for name, path in files.items()},
        "tokens": sums["tokens"],
        "sentences": sums["sentences"],
        "training_tokens": sums["training_tokens"],
        "tokens_read": 3 * sums["tokens"] + sums["training_tokens"],
    }


def _sizes(files: Mapping[str, Path]) -> dict[str, int]:
    """The numbers of sentences and tokens; an empty line follows every sentence and document marker."""
    counts = []
    for name in ("gold", "train"):
        data = files[name].read_bytes()
        marks, empty = data.count(b"-DOCSTART-"), data.count(b"\n\n")
        counts.append((data.count(b"\n") - empty - marks, empty - marks))
    (tokens, sentences), (training, _) = counts
    return {"tokens": tokens, "sentences": sentences, "training_tokens": training}


def _retrain(path: Path, tokens: int) -> None:
    """Replace training data by data of another size, repeated if the generator cannot make enough."""
    # The training sentences of a larger corpus with the same seed use the same known names.
    sentences = round(tokens / PER_SENTENCE / 2)
    beside = path.with_name("longer")
    source = generate(beside, sentences=min(sentences, 50_000)).train
    data = source.read_bytes()
    path.write_bytes(data * max(1, round(sentences / 50_000)))
    for left in beside.iterdir():
        left.unlink()
    beside.rmdir()


def _naturalise(paths: list[Path], *, seed: int) -> None:
    """Replace the words that are tagged O in the first file, by the same words in all files."""
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
    """Add two columns whose values depend on the length of the word."""
    kinds = (b"NN I-NP", b"IN I-PP", b"NNP I-NP", b"VBD I-VP", b"DT I-NP", b"CD I-NP", b". O")
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines):
        word, blank, tag = line.partition(b" ")
        if blank:
            lines[number] = b"%b %b %b" % (word, kinds[len(word) % len(kinds)], tag)
    path.write_bytes(b"\n".join(lines))


def _words(number: int, seed: int) -> Iterator[bytes]:
    """Words drawn by the Zipf–Mandelbrot law; frequent words are short."""
    weight = 1 / (np.arange(_KINDS) + 2.7) ** 1.2
    until = np.cumsum(weight)
    rank = np.searchsorted(until, np.random.default_rng(seed).random(number) * until[-1])
    kinds, index = np.unique(rank, return_inverse=True)
    spelled = [_spelled(kind) for kind in kinds.tolist()]
    return map(spelled.__getitem__, index.tolist())


def _spelled(rank: int) -> bytes:
    word = ""
    rank += 1
    while rank:
        rank, syllable = divmod(rank, len(_SYLLABLES))
        word += _SYLLABLES[syllable]
    return word.encode("ascii")


def _make_spans(folder: Path, kind: str, mentions: int) -> Described:
    """Write span files with about so many gold mentions, and with predictions that have a few errors."""
    make, labels = SPANS[kind]
    chance = random.Random(f"{kind} {mentions}")
    gold: list[list[Span]] = []
    predicted: list[list[Span]] = []
    number = 0
    while number < mentions:
        length = chance.randint(5, 42)
        gold.append(make(chance, 1, length))
        predicted.append(_mistaken(chance, gold[-1], length, labels))
        number += len(gold[-1])
    files = {"gold": folder / "gold.spans", "predicted": folder / "predicted.spans"}
    for path, sentences in zip(files.values(), (gold, predicted), strict=True):
        path.write_text("".join(map(_span_rows, sentences)), encoding="utf-8")
    return {
        "files": {side: str(path) for side, path in files.items()},
        "sentences": len(gold),
        "mentions": number,
    }


def _chunks(chance: random.Random, first: int, last: int) -> list[Span]:
    """Adjacent chunks, nine tenths of them labelled."""
    spans = []
    while first <= last:
        end = min(first + chance.choice((0, 0, 0, 1, 1, 2, 3, 5)), last)
        if chance.random() < 0.9:
            spans.append((chance.choice(_CHUNKS), first, end))
        first = end + 1
    return spans


def _fields(chance: random.Random, first: int, last: int, depth: int = 0) -> list[Span]:
    """Adjacent fields, with nested fields in most of the long ones."""
    spans = []
    while first <= last:
        end = min(first + chance.choice((0, 0, 1, 2, 4, 7, 11)), last)
        if chance.random() < 0.8:
            spans.append((chance.choice(_FIELDS), first, end))
            if end - first > 1 and depth < 4 and chance.random() < 0.6:
                spans += _fields(chance, first + chance.randint(0, 1), end, depth + 1)
        first = end + 1
    return list(dict.fromkeys(spans))


def _mistaken(chance: random.Random, spans: list[Span], length: int, labels: list[str]) -> list[Span]:
    """The mentions with some missed, mislabelled, moved at one end or split, and a few new ones."""
    result: list[Span] = []
    for label, first, last in spans:
        other = chance.choice(labels)
        begin = min(max(1, first + chance.choice((-2, -1, 1, 2))), last)
        end = max(min(length, last + chance.choice((-2, -1, 1, 2))), first)
        middle = (first + last) // 2
        readings = {
            "right": [(label, first, last)],
            "missed": [],
            "label": [(other, first, last)],
            "begin": [(label, begin, last)],
            "end": [(label, first, end)],
            "both": [(other, first, end)],
            "shifted": [(label, min(first + 1, last), min(last + 1, length))],
            "split": [(label, first, middle), (label, min(middle + 1, last), last)],
            "new": [(label, first, last), (other, begin, last)],
        }
        result += readings[chance.choices(list(_PERCENT), list(_PERCENT.values()))[0]]
    return list(dict.fromkeys(result))


def _span_rows(spans: list[Span]) -> str:
    """The rows of a sentence, followed by a blank line."""
    rows = [
        f"{label}\t{first}\t{last}\t{', '.join(map(str, range(first, last + 1)))}\n"
        for label, first, last in spans
    ]
    return "".join(rows or ["NONE\t999\t999\t999\n"]) + "\n"


SPANS: dict[str, tuple[Callable[[random.Random, int, int], list[Span]], list[str]]] = {
    "chunks": (_chunks, _CHUNKS),
    "fields": (_fields, _FIELDS),
}


def _described(files: dict[str, Path]) -> Described:
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
