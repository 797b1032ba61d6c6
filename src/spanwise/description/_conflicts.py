"""Annotations that contradict each other: one name with two labels, one sentence annotated in two ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from spanwise.attributes import Context, Toughness, mention_views
from spanwise.corpus import Annotation, Corpus, with_one_vocabulary

Known = tuple[int, int]  # number of a corpus and of a sentence in it


def conflicts(
    gold: Annotation, train: Sequence[Annotation], tough: Toughness, *, most: int
) -> dict[str, Any]:
    """Token sequences with two or more labels, and equal sentences annotated differently."""
    return {
        "labels": _differing_labels(gold, tough, most),
        "sentences": _shown(_differing_sentences(gold, train), most),
    }


def _differing_labels(gold: Annotation, tough: Toughness, most: int) -> dict[str, Any]:
    """Token sequences that carry two or more labels among the gold mentions, those with most doubt first."""
    confusable = gold.mentions.take(tough.of("TCM-ALL"))
    carried: dict[str, Counter[str]] = {}
    views = mention_views(Context(gold.corpus, confusable).side(confusable))
    for view in filter(None, views):
        carried.setdefault(" ".join(view.tokens), Counter())[view.label] += 1
    ranked = sorted(carried.items(), key=lambda item: (max(item[1].values()) - item[1].total(), item[0]))
    return {
        "sequences": len(carried),
        "mentions": len(confusable),
        "examples": [{"text": text, "labels": dict(counts.most_common())} for text, counts in ranked[:most]],
    }


def _differing_sentences(test: Annotation, train: Sequence[Annotation]) -> list[list[tuple[str, str]]]:
    """Groups of equal sentences, a test sentence among them, that are annotated in two or more ways.

    A sentence is given by its place and by its mentions as text.
    """
    annotations = [test, *train]
    corpora = with_one_vocabulary([annotation.corpus for annotation in annotations])
    met: dict[bytes, list[Known]] = {}
    for number, corpus in enumerate(corpora):
        for sentence, key in enumerate(_sentences(corpus)):
            if key and (number == 0 or key in met):
                met.setdefault(key, []).append((number, sentence))
    groups = []
    for places in met.values():
        if len(places) > 1:
            written = [(_place(annotations, place), _written(annotations, place)) for place in places]
            if len({mentions for _, mentions in written}) > 1:
                groups.append(written)
    return groups


def _place(annotations: Sequence[Annotation], known: Known) -> str:
    number, sentence = known
    return annotations[number].corpus.place(sentence)


def _written(annotations: Sequence[Annotation], known: Known) -> str:
    """The mentions of one sentence, such as `PER [0, 2); LOC [4, 5)`."""
    number, sentence = known
    mentions = annotations[number].mentions
    first, last = np.searchsorted(mentions.sentence, [sentence, sentence + 1]).tolist()
    rows = sorted(
        (start, end, mentions.labels[label])
        for start, end, label in zip(
            mentions.start[first:last].tolist(),
            mentions.end[first:last].tolist(),
            mentions.label[first:last].tolist(),
            strict=True,
        )
    )
    return "; ".join(f"{label} [{start}, {end})" for start, end, label in rows) or "none"


def _shown(groups: Sequence[Sequence[tuple[str, str]]], most: int) -> dict[str, Any]:
    return {
        "groups": len(groups),
        "examples": [
            [{"place": place, "mentions": mentions} for place, mentions in group] for group in groups[:most]
        ],
    }


def _sentences(corpus: Corpus) -> list[bytes]:
    """Each sentence's codes as bytes: equal where all its tokens are."""
    whole, width = corpus.tokens.tobytes(), corpus.tokens.itemsize
    at = (corpus.sentences * width).tolist()
    return [whole[begin:end] for begin, end in pairwise(at)]
