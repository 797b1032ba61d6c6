"""The linear-chain model with hand-made features, by CRFsuite: fast to train, and the paper's CRF++ row."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.errors import ChoiceError, InputError, MissingExtra
from spanwise.schemes import encode
from spanwise.taggers.encoding import key_of, mentions_of
from spanwise.taggers.settings import TaggerSettings

ALGORITHMS = ("ap", "lbfgs")
AFFIXES = (1, 2, 3, 4, 5)  # characters; a shorter form stands for itself
KINDS = 10  # characters whose kinds are kept one by one
AT_ONCE = 5000  # sentences that go to another process together


def _suite() -> Any:
    try:
        import pycrfsuite
    except ImportError:
        raise MissingExtra.of("python-crfsuite", "zoo", "the tagger 'crf'") from None
    return pycrfsuite


def shape(form: str) -> str:
    """The kinds of characters of a form, repetitions left out.

    Examples:
        >>> shape("McDonald's-24")
        "XxXx'x-0"
    """
    kinds = _kinds(form)
    return "".join(kind for place, kind in enumerate(kinds) if place == 0 or kind != kinds[place - 1])


def _kinds(form: str) -> list[str]:
    return ["0" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in form]


def _own(form: str) -> list[str]:
    """The features of a form wherever it stands."""
    lower = form.lower()
    made = ["w=" + key_of(form, lowercase=False), "l=" + key_of(form, lowercase=True), "s=" + shape(form)]
    made.append("k=" + "".join(_kinds(form[:KINDS])))
    made += [f"p{size}={form[:size]}" for size in AFFIXES]
    made += [f"e{size}={lower[-size:]}" for size in AFFIXES]
    return made


def features(corpus: Corpus) -> list[list[list[str]]]:
    """The features of every token: its own, word and shape of two neighbours on each side, and pairs."""
    own = [_own(form) for form in corpus.vocabulary]
    near = {
        distance: [[f"{distance}{feature}" for feature in made[1:3]] for made in own]
        for distance in (-2, -1, 1, 2)
    }
    pairs = [key_of(form, lowercase=True) for form in corpus.vocabulary]
    shapes = [shape(form) for form in corpus.vocabulary]
    edges = {distance: [f"{distance}="] for distance in near}
    result = []
    for number in range(len(corpus)):
        codes = corpus.tokens[corpus.sentences[number] : corpus.sentences[number + 1]].tolist()
        last = len(codes)
        rows = []
        for place, code in enumerate(codes):
            row = ["b", *own[code]]
            for distance, made in near.items():
                there = place + distance
                row += made[codes[there]] if 0 <= there < last else edges[distance]
            before = codes[place - 1] if place else None
            behind = codes[place + 1] if place + 1 < last else None
            if before is not None:
                row += [f"-1|0={pairs[before]}|{pairs[code]}", f"s-1|0={shapes[before]}|{shapes[code]}"]
            if behind is not None:
                row += [f"0|1={pairs[code]}|{pairs[behind]}", f"s0|1={shapes[code]}|{shapes[behind]}"]
            if before is not None and behind is not None:
                row.append(f"s-1|0|1={shapes[before]}|{shapes[code]}|{shapes[behind]}")
            rows.append(row)
        result.append(rows)
    return result


def train(annotation: Annotation, settings: TaggerSettings, seed: int) -> bytes:
    """The trained model as bytes.

    The averaged perceptron sees the sentences in an order drawn from the seed. L-BFGS gives the same
    model for every order: it is one run, whatever the seed.
    """
    if settings.algorithm not in ALGORITHMS:
        raise ChoiceError(
            f"the algorithm of crf is {settings.algorithm!r}, but must be one of {', '.join(ALGORITHMS)}."
        )
    if not len(annotation.mentions):
        raise InputError(
            f"{annotation.reading.path}: the training data hold no mention.\n"
            "A tagger needs some to learn from."
        )
    trainer = _suite().Trainer(verbose=False)
    tags = encode(annotation.mentions, annotation.corpus.lengths, "IOB2").lists()
    rows = features(annotation.corpus)
    order = (
        np.random.default_rng(seed).permutation(len(rows))
        if settings.algorithm == "ap"
        else np.arange(len(rows))
    )
    for number in order.tolist():
        if rows[number]:
            trainer.append(rows[number], tags[number])
    trainer.select("averaged-perceptron" if settings.algorithm == "ap" else "lbfgs")
    trainer.set_params({"max_iterations": settings.epochs if settings.algorithm == "ap" else 100})
    if settings.algorithm == "lbfgs":
        trainer.set_params({"c1": 0.1, "c2": 0.1})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        trainer.train(str(file))
        return file.read_bytes()


def predict(model: bytes, corpus: Corpus) -> Mentions:
    """The mentions that a model finds which was trained in this process."""
    tagger = _suite().Tagger()
    tagger.open_inmemory(model)
    tags = [tagger.tag(rows) if rows else [] for rows in features(corpus)]
    return _mentions(list(tagger.labels()), tags, corpus)


def predict_apart(model: bytes, corpus: Corpus, *, scores: bool = False) -> Mentions:
    """The mentions that a model from a file finds; with `scores` each has the lowest probability of its tags.

    CRFsuite believes what a model says about its own layout, so another process reads it.
    """
    _suite()
    names: list[str] = ["O"]
    tags: list[list[str]] = []
    sure: list[float] = []
    rows = features(corpus)
    for begin in range(0, len(rows), AT_ONCE):
        names, found = _from_child(model, rows[begin : begin + AT_ONCE], scores=scores)
        for own, probabilities in found:
            tags.append(own)
            sure.extend(probabilities)
    mentions = _mentions(names, tags, corpus)
    if not scores:
        return mentions
    from spanwise.taggers.scoring import with_scores

    return with_scores(mentions, corpus, np.array(sure))


def _from_child(
    model: bytes, rows: list[list[list[str]]], *, scores: bool
) -> tuple[list[str], list[tuple[list[str], list[float]]]]:
    """The labels of a model, and tags with their probabilities for every sentence."""
    lines = b"\n".join(map(msgspec.json.encode, rows))
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("_crf_child.py")), *["scores"] * scores],
        input=b"%d\n%b%b\n" % (len(model), model, lines),
        capture_output=True,
        check=False,
    )
    try:
        if done.returncode:
            raise ValueError
        names, *found = (msgspec.json.decode(line) for line in done.stdout.split(b"\n"))
        if any(tag not in names for own, _ in found for tag in own):
            raise ValueError
        if [len(own) for own, _ in found] != list(map(len, rows)):
            raise ValueError
    except ValueError:
        raise InputError(
            "the model of the tagger cannot be read by CRFsuite; its file is damaged.\nTrain it again."
        ) from None
    return names, found


def _mentions(names: list[str], tags: list[list[str]], corpus: Corpus) -> Mentions:
    listed = names if "O" in names else [*names, "O"]
    code = {name: number for number, name in enumerate(listed)}
    codes = np.array([code[tag] for own in tags for tag in own], np.int64)
    mentions, _ = mentions_of(codes, listed, corpus, "IOB2")
    return mentions
