"""The work of each peer, and the same work in spanwise; each returns the F1 it computes.

Everything but the work itself (imports, reading, the lists or objects that a peer needs) is prepared before.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

Lists = list[list[str]]
Prepared = Callable[[], Any]

warnings.simplefilter("ignore")


def read_tags(path: str, limit: str = "0") -> Lists:
    """The tags of a file with one token per line, read in the simplest way; `limit` makes one sentence."""
    sentences: Lists = [[]]
    with Path(path).open(encoding="utf-8") as lines:
        for line in lines:
            if line == "\n":
                if sentences[-1]:
                    sentences.append([])
            elif not line.startswith("-DOCSTART-"):
                # Equal tags are the same string object, as in the output of a tagger.
                sentences[-1].append(sys.intern(line.rsplit(None, 1)[-1]))
    if not sentences[-1]:
        sentences.pop()
    if number := int(limit):
        return [[tag for sentence in sentences for tag in sentence][:number]]
    return sentences


def _labels(tags: Lists) -> list[str]:
    return sorted({tag[2:] for sentence in tags for tag in sentence if tag != "O"})


def seqeval(gold: str, predicted: str, limit: str = "0") -> Prepared:
    """seqeval's report of all labels, in its default mode."""
    from seqeval.metrics import classification_report

    sides = read_tags(gold, limit), read_tags(predicted, limit)
    return lambda: _micro(classification_report(*sides, output_dict=True, zero_division=0))


def seqeval_strict(gold: str, predicted: str, limit: str = "0") -> Prepared:
    """seqeval's report in strict mode, with the scheme IOB2."""
    from seqeval.metrics import classification_report
    from seqeval.scheme import IOB2

    sides = read_tags(gold, limit), read_tags(predicted, limit)
    options = {"output_dict": True, "zero_division": 0, "mode": "strict", "scheme": IOB2}
    return lambda: _micro(classification_report(*sides, **options))


def evaluate(gold: str, predicted: str) -> Prepared:
    """The computation of evaluate's metric seqeval; its script would be downloaded, so its calls are here."""
    from seqeval.metrics import accuracy_score, classification_report

    sides = read_tags(gold), read_tags(predicted)

    def work() -> float:
        report = classification_report(*sides, output_dict=True, zero_division=0)
        accuracy_score(*sides)
        return _micro(report)

    return work


def nervaluate(gold: str, predicted: str, limit: str = "0") -> Prepared:
    """nervaluate's four schemes, overall and per label."""
    from nervaluate import Evaluator

    sides = read_tags(gold, limit), read_tags(predicted, limit)
    labels = _labels(sides[0] + sides[1])
    return lambda: Evaluator(*sides, tags=labels, loader="list").evaluate()["overall"]["strict"].f1


def seqscore(gold: str, predicted: str) -> Prepared:
    """seqscore's library, with conlleval's repair."""
    from seqscore.scoring import score_label_sequences

    sides = read_tags(predicted), read_tags(gold)
    return lambda: score_label_sequences(*sides, "BIO", repair="conlleval")[0].f1


def conlleval(gold: str, predicted: str) -> Prepared:
    """The Python port of conlleval, over lines of token, gold and predicted tag."""
    from conlleval import evaluate as port

    lines = _merged(read_tags(gold), read_tags(predicted))
    return lambda: port(lines)["overall"]["chunks"]["evals"]["f1"]


def _merged(gold: Lists, predicted: Lists) -> list[str]:
    lines = []
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        lines += [f"w {g} {p}" for g, p in zip(gold_tags, predicted_tags, strict=True)]
        lines.append("")
    return lines


def _examples(gold: Lists, predicted: Lists) -> list[Any]:
    """A spaCy example, with a predicted and a gold document, for every sentence."""
    from spacy.tokens import Doc
    from spacy.training import Example
    from spacy.vocab import Vocab

    vocabulary = Vocab()
    words = ["w"] * max(map(len, gold))
    return [
        Example(
            Doc(vocabulary, words[: len(gold_tags)], ents=predicted_tags),
            Doc(vocabulary, words[: len(gold_tags)], ents=gold_tags),
        )
        for gold_tags, predicted_tags in zip(gold, predicted, strict=True)
    ]


def spacy(gold: str, predicted: str) -> Prepared:
    """spaCy's entity scorer; the documents are prepared before."""
    from spacy.scorer import get_ner_prf

    examples = _examples(read_tags(gold), read_tags(predicted))
    return lambda: get_ner_prf(examples)["ents_f"]


def floor(gold: str, predicted: str) -> Prepared:
    """What Python needs to look at every tag: it counts the mentions that begin on both sides."""
    sides = read_tags(gold), read_tags(predicted)

    def beginnings(side: Lists) -> int:
        number = 0
        for tags in side:
            for tag in tags:
                if tag[0] == "B":
                    number += 1
        return number

    return lambda: beginnings(sides[1]) / beginnings(sides[0])


def unknown(path: str) -> Any:
    """The tags of a file in a tuple, which our layer for seqeval does not remember between calls."""
    return tuple(read_tags(path))


def ours_seqeval(gold: str, predicted: str) -> Prepared:
    """The report of our layer for seqeval, in its default mode."""
    from spanwise.compat.seqeval.metrics import classification_report

    sides = unknown(gold), unknown(predicted)
    return lambda: _micro(classification_report(*sides, output_dict=True, zero_division=0))


def ours_strict(gold: str, predicted: str) -> Prepared:
    """The report of our layer for seqeval, in strict mode."""
    from spanwise.compat.seqeval.metrics import classification_report
    from spanwise.compat.seqeval.scheme import IOB2

    sides = unknown(gold), unknown(predicted)
    options: dict[str, Any] = {"output_dict": True, "zero_division": 0, "mode": "strict", "scheme": IOB2}
    return lambda: _micro(classification_report(*sides, **options))


def ours_evaluate(gold: str, predicted: str) -> Prepared:
    """Our layer for evaluate's metric."""
    from spanwise.compat.evaluate import load

    sides = {"references": read_tags(gold), "predictions": read_tags(predicted)}
    return lambda: load("seqeval").compute(**sides, zero_division=0)["overall_f1"]


def ours_nervaluate(gold: str, predicted: str) -> Prepared:
    """The same four schemes from lists of tags."""
    from spanwise.compat.nervaluate import structure
    from spanwise.corpus import with_one_labelling
    from spanwise.formats import from_tags

    sides = read_tags(gold), read_tags(predicted)

    def work() -> float:
        both = with_one_labelling([from_tags(side).mentions for side in sides])
        return float(structure(*both)["overall"]["strict"].f1)

    return work


def ours_conlleval(gold: str, predicted: str) -> Prepared:
    """Our output of conlleval."""
    from spanwise.compat.conlleval import screen

    sides = read_tags(gold), read_tags(predicted)
    return lambda: float(screen(*sides).split("FB1:")[1].split()[0]) / 100


def ours_spacy(gold: str, predicted: str) -> Prepared:
    """Our scorer for spaCy's pipelines, over the same documents."""
    from spanwise.compat.spacy import ner_score

    examples = _examples(read_tags(gold), read_tags(predicted))
    return lambda: ner_score(examples)["ents_f"]


def ours_everything(gold: str, predicted: str, limit: str = "0") -> Prepared:
    """Everything that `evaluate` computes from lists of tags: exact, fair, relaxed scores, errors, gains."""
    from spanwise import evaluate as evaluation

    sides = read_tags(gold, limit), read_tags(predicted, limit)
    options: dict[str, Any] = {"resamples": 0, "attributes": "none"}
    return lambda: evaluation(sides[0], {"it": sides[1]}, **options)["it"].exact.overall.f1


def _micro(report: dict[str, Any]) -> float:
    return float(report["micro avg"]["f1-score"])


WORK: dict[str, Callable[..., Prepared]] = {
    "floor": floor,
    "seqeval": seqeval,
    "seqeval strict": seqeval_strict,
    "evaluate": evaluate,
    "nervaluate": nervaluate,
    "seqscore": seqscore,
    "conlleval": conlleval,
    "spacy": spacy,
    "ours seqeval": ours_seqeval,
    "ours strict": ours_strict,
    "ours evaluate": ours_evaluate,
    "ours nervaluate": ours_nervaluate,
    "ours conlleval": ours_conlleval,
    "ours spacy": ours_spacy,
    "ours everything": ours_everything,
}
