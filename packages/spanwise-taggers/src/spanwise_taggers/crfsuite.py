"""The linear-chain model with hand-crafted features, using CRFsuite: fast to train; the paper's CRF++ row."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np

from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.errors import ChoiceError, InputError, MissingExtra
from spanwise.schemes import encode
from spanwise_taggers.encoding import key_of, mentions_of
from spanwise_taggers.settings import TaggerSettings

ALGORITHMS = ("ap", "lbfgs")
AFFIXES = (1, 2, 3, 4, 5)  # lengths in characters; a shorter form is used whole
KINDS = 10  # characters whose kinds are listed one by one
AT_ONCE = 5000  # sentences sent to the child process at a time
TOGETHER = 1000  # sentences whose features are computed at a time, since CRFsuite's tables fill the CPU cache


def _suite() -> Any:
    try:
        import pycrfsuite
    except ImportError:
        raise MissingExtra.of("python-crfsuite", "zoo", "the tagger 'crf'") from None
    return pycrfsuite


def shape(form: str) -> str:
    """The kinds of characters in a form, without repetitions.

    Examples:
        >>> shape("McDonald's-24")
        "XxXx'x-0"
    """
    return "".join(kind for kind, _ in groupby(map(_kind, form)))


@cache
def _kind(character: str) -> str:
    if character.isdigit():
        return "0"
    return "X" if character.isupper() else "x" if character.isalpha() else character


Feature: TypeAlias = Any  # text or bytes, as the `text` of a featurizer returns it


class Featurizer:
    """The features of the tokens of a corpus, one sentence at a time.

    The features of each form are computed once and converted with `text`: `str` for text, or `str.encode` for
    UTF-8, which CRFsuite uses.
    """

    def __init__(self, corpus: Corpus, text: Callable[[str], Feature]) -> None:
        self.corpus, self.text = corpus, text
        forms = corpus.vocabulary
        words = [key_of(form, lowercase=True) for form in forms]
        self.shapes = [shape(form) for form in forms]
        descriptions = list(zip(words, self.shapes, strict=True))
        self.own = [
            [text(feature) for feature in self._own(form, *more)]
            for form, more in zip(forms, descriptions, strict=True)
        ]
        self.outside = len(forms)  # stands for positions beyond either end of a sentence
        self.near = [
            [[text(f"{distance}l={word}"), text(f"{distance}s={kinds}")] for word, kinds in descriptions]
            + [[text(f"{distance}=")]]
            for distance in (-2, -1, 1, 2)
        ]
        self.first = [(text(f"-1|0={word}|"), text(f"0|1={word}|")) for word in words]
        self.second = [text(word) for word in words]
        # There are few shapes, so features of two or three of them are cached.
        self.two: dict[tuple[str, str], tuple[Feature, Feature]] = {}
        self.three: dict[tuple[str, str, str], Feature] = {}

    @staticmethod
    def _own(form: str, word: str, kinds: str) -> list[str]:
        """The features of a form, independent of its context."""
        lower = form.lower()
        features = ["b", f"w={key_of(form, lowercase=False)}", f"l={word}", f"s={kinds}"]
        features.append(f"k={''.join(map(_kind, form[:KINDS]))}")
        features += [f"p{size}={form[:size]}" for size in AFFIXES]
        features += [f"e{size}={lower[-size:]}" for size in AFFIXES]
        return features

    def sentence(self, number: int) -> list[list[Feature]]:
        """The features of every token: its own, word and shape of two neighbours on each side, and pairs."""
        begin, end = self.corpus.sentences[number], self.corpus.sentences[number + 1]
        codes = self.corpus.tokens[begin:end].tolist()
        around = [self.outside, self.outside, *codes, self.outside, self.outside]
        shapes = [self.shapes[code] for code in codes]
        far_left, left, right, far_right = self.near
        pairs = [self._pair(*two) for two in zip(pairwise(codes), pairwise(shapes), strict=True)]
        rows = []
        for index, code in enumerate(codes):
            row = [
                *self.own[code],
                *far_left[around[index]],
                *left[around[index + 1]],
                *right[around[index + 3]],
                *far_right[around[index + 4]],
            ]
            if index:
                row += pairs[index - 1][:2]
            if index < len(pairs):
                row += pairs[index][2:]
            if 0 < index < len(pairs):
                key = (shapes[index - 1], shapes[index], shapes[index + 1])
                if key not in self.three:
                    self.three[key] = self.text(f"s-1|0|1={'|'.join(key)}")
                row.append(self.three[key])
            rows.append(row)
        return rows

    def _pair(self, codes: tuple[int, int], shapes: tuple[str, str]) -> tuple[Feature, ...]:
        """Features of two adjacent tokens: two for the second token, then two for the first."""
        if shapes not in self.two:
            joined = "|".join(shapes)
            self.two[shapes] = (self.text(f"s-1|0={joined}"), self.text(f"s0|1={joined}"))
        before, after = self.first[codes[0]]
        word, (before_shape, after_shape) = self.second[codes[1]], self.two[shapes]
        return before + word, before_shape, after + word, after_shape


def train(annotation: Annotation, settings: TaggerSettings, seed: int) -> bytes:
    """Train a model and return it as bytes.

    The averaged perceptron sees the sentences in an order drawn from the seed. L-BFGS does not depend on the
    order, so it gives the same model for every seed.
    """
    if settings.algorithm not in ALGORITHMS:
        raise ChoiceError(
            f"the algorithm of crf is {settings.algorithm!r}, but must be one of {', '.join(ALGORITHMS)}."
        )
    if not len(annotation.mentions):
        raise InputError(
            f"{annotation.reading.path}: the training data contain no mentions.\n"
            "A tagger needs some to learn from."
        )
    trainer = _suite().Trainer(verbose=False)
    tags = encode(annotation.mentions, annotation.corpus.lengths, "IOB2").lists()
    featurizer = Featurizer(annotation.corpus, str.encode)
    order = np.arange(len(tags))
    if settings.algorithm == "ap":
        order = np.random.default_rng(seed).permutation(len(tags))
    listed = [number for number in order.tolist() if tags[number]]
    for begin in range(0, len(listed), TOGETHER):
        part = listed[begin : begin + TOGETHER]
        for number, rows in zip(part, [featurizer.sentence(number) for number in part], strict=True):
            trainer.append(rows, tags[number])
    trainer.select("averaged-perceptron" if settings.algorithm == "ap" else "lbfgs")
    trainer.set_params({"max_iterations": settings.epochs if settings.algorithm == "ap" else 100})
    if settings.algorithm == "lbfgs":
        trainer.set_params({"c1": 0.1, "c2": 0.1})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        trainer.train(str(file))
        return file.read_bytes()


def predict(model: bytes, corpus: Corpus) -> Mentions:
    """The mentions found by a model that was trained in this process."""
    tagger = _suite().Tagger()
    tagger.open_inmemory(model)
    featurizer = Featurizer(corpus, str.encode)
    tags = [tagger.tag(featurizer.sentence(number)) for number in range(len(corpus))]
    return _mentions(list(tagger.labels()), tags, corpus)


def predict_apart(model: bytes, corpus: Corpus, *, scores: bool = False) -> Mentions:
    """The mentions found by a model from a file; with `scores`, each has the lowest probability of its tags.

    CRFsuite trusts the layout that a model declares, so the model is read in another process.
    """
    _suite()
    names: list[str] = ["O"]
    tags: list[list[str]] = []
    confidence: list[float] = []
    featurizer = Featurizer(corpus, str)
    for begin in range(0, len(corpus), AT_ONCE):
        rows = [featurizer.sentence(number) for number in range(begin, min(begin + AT_ONCE, len(corpus)))]
        names, rows_of_tags = _from_child(model, rows, scores=scores)
        for own, probabilities in rows_of_tags:
            tags.append(own)
            confidence.extend(probabilities)
    mentions = _mentions(names, tags, corpus)
    if not scores:
        return mentions
    from spanwise_taggers.scoring import with_scores

    return with_scores(mentions, corpus, np.array(confidence))


def _from_child(
    model: bytes, rows: list[list[list[str]]], *, scores: bool
) -> tuple[list[str], list[tuple[list[str], list[float]]]]:
    """The labels of a model, and the tags of every sentence with their probabilities."""
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
        names, *tagged = (msgspec.json.decode(line) for line in done.stdout.split(b"\n"))
        if any(tag not in names for own, _ in tagged for tag in own):
            raise ValueError
        if [len(own) for own, _ in tagged] != list(map(len, rows)):
            raise ValueError
    except ValueError:
        raise InputError(
            "the model of the tagger cannot be read by CRFsuite; its file is damaged.\nTrain it again."
        ) from None
    return names, tagged


def _mentions(names: list[str], tags: list[list[str]], corpus: Corpus) -> Mentions:
    listed = names if "O" in names else [*names, "O"]
    code = {name: number for number, name in enumerate(listed)}
    codes = np.array([code[tag] for own in tags for tag in own], np.int64)
    mentions, _ = mentions_of(codes, listed, corpus, "IOB2")
    return mentions
