"""What a test set is like before any system is run: sizes, labels, ζ, tough mentions, drift, conflicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import fsum
from typing import Any, SupportsFloat

import numpy as np
from msgspec import convert

from spanwise import __version__
from spanwise.attributes import (
    Attribute,
    Context,
    Lexicon,
    Toughness,
    Values,
    choose,
    left_out,
    mention_views,
    toughness,
    values_of,
    why_absent,
)
from spanwise.buckets import Bucketing, default_strategy, fit
from spanwise.columns import Floats, Ints, floats, ints, plain, ratio
from spanwise.composition import dataset_document, input_entry
from spanwise.corpus import Annotation, Corpus, Mentions, with_one_vocabulary
from spanwise.document import Input
from spanwise.document.dataset import DatasetFacts, Description
from spanwise.formats import listed_sources, read, stem_of
from spanwise.suspicion import variation_places

__all__ = ["Description", "describe"]


def describe(
    test: Any,
    *,
    gold: str | None = None,
    train: Any = None,
    attributes: str | Attribute | Iterable[str | Attribute] = "all",
    vocabulary: Iterable[str] | None = None,
    lowercase: bool = False,
    name: str | None = None,
    examples: int = 20,
    redact: bool = False,
    engine: Any = None,
    **reading: Any,
) -> Description:
    """Describe a test set, beside its training data where they are given.

    Args:
        test: the gold file, an annotation that was read, or a Spark frame, as `evaluate` takes it.
        gold: the column of tags or spans of a frame.
        train: the training file, or several; beside a frame, also a frame with columns of the same names.
        attributes: those whose ζ (the mean over gold units) and buckets are wanted.
        vocabulary: known words, in place of the training vocabulary.
        lowercase: compare the strings of attributes in lower case; tough mentions stay as written.
        name: what to call the dataset; its file's stem without it.
        examples: how many conflicting annotations to show at most.
        redact: leave out all text.
        engine: a Spark session, or its engine: Spark reads the files, and executors count them in blocks.
        reading: how to read the files, as `spanwise.formats.read` takes it; beside a frame, also the columns
            `tokens`, `document` and `sentence`.
    """
    if engine is not None or gold is not None or type(test).__module__.startswith("pyspark."):
        from spanwise.description._elsewhere import described_elsewhere

        elsewhere = described_elsewhere(
            test, gold=gold, train=train, engine=engine, attributes=attributes,
            vocabulary=None if vocabulary is None else frozenset(vocabulary), lowercase=lowercase, name=name,
            examples=examples, redact=redact, reading=reading,
        )  # fmt: skip
        if elsewhere is not None:
            return elsewhere
    tested = read(test, **reading)
    training = [read(source, **reading) for source in listed_sources(train)]
    lexicon = Lexicon.of(training) if training else None
    context = Context(
        tested.corpus,
        tested.mentions,
        lexicon,
        known=None if vocabulary is None else frozenset(vocabulary),
        lowercase=lowercase,
    )
    chosen = choose(attributes)
    absent = {one.name: why for one in chosen if (why := why_absent(one, context)) is not None}
    there = {one.name: one for one in chosen if one.name not in absent}
    side = context.side(tested.mentions)
    gold_values = {key: values_of(one, side) for key, one in there.items()}
    tough = None
    if not tested.corpus.without_text:
        tough = toughness(tested.corpus, tested.mentions, lexicon, side=side)
    dataset = dataset_document(
        name or stem_of(tested.reading.path),
        tested,
        training,
        toughness=tough,
        zeta={key: one.zeta for key, one in gold_values.items() if one.kind == "numeric"},
        absent=absent,
    )
    dataset["attributes"] = {key: _attribute(there[key], one) for key, one in gold_values.items()}
    if tough is not None:
        most = 0 if redact else examples
        dataset["conflicts"] = conflicts(tested, training, tough, most=most)
        dataset["conflicts"]["variation"] = variation_places(tested, training, most=most)
    if lexicon is not None:
        dataset["drift"] = drift(tested, lexicon, tough)
    inputs = [input_entry("gold", tested), *(input_entry("train", one) for one in training)]
    return Description(
        spanwise=__version__,
        inputs=convert(inputs, tuple[Input, ...]),
        dataset=convert(dataset, DatasetFacts),
    )


def _attribute(attribute: Attribute, gold: Values) -> dict[str, Any]:
    """The buckets of the gold units of one attribute under its default strategy."""
    bucketing = fit(default_strategy(attribute), gold)
    counts = np.bincount(bucketing.assign(gold), minlength=len(bucketing))
    return attribute_entry(attribute, bucketing, gold.zeta, ints(counts), len(gold))


def attribute_entry(
    attribute: Attribute, bucketing: Bucketing, zeta: float, counts: Ints, units: int
) -> dict[str, Any]:
    """The description of one attribute, from how many of its gold units lie in each bucket."""
    return {
        "unit": attribute.unit,
        "kind": bucketing.kind,
        "strategy": bucketing.strategy,
        "zeta": plain(zeta),
        "buckets": [
            {**bucket.to_dict(), "gold": count, "share": plain(ratio(count, units))}
            for bucket, count in zip(bucketing.buckets, counts.tolist(), strict=True)
            if count or not bucket.rest
        ],
    }


# ---- drift: how far the test set lies from the training data ----


def drift(gold: Annotation, lexicon: Lexicon, tough: Toughness | None) -> dict[str, Any]:
    """How labels, lengths, unknown tokens and unseen mentions of a test set differ from the training data.

    Labels and lengths are compared with those of the training data. Unknown tokens and unseen mentions are
    compared with what each training document, or sentence where no documents are marked, would show if the
    rest were its training data.
    """
    seen: Counter[str] = Counter()
    for part in lexicon.parts:
        seen.update(part.mentions.names())
    sizes = Counter(gold.mentions.names())
    labels = {
        label: drift_pair(ratio(seen[label], seen.total()), ratio(number, len(gold.mentions)))
        for label, number in sorted(
            {**dict.fromkeys(seen, 0), **sizes}.items(), key=lambda item: (-item[1], item[0])
        )
    }
    found: dict[str, Any] = {"labels": labels, "label_distance": label_distance(labels)}
    parts = [(one.corpus, one.mentions) for one in lexicon.parts]
    if gold.corpus.without_text or any(corpus.without_text for corpus, _ in parts):
        return found
    test = [(gold.corpus, gold.mentions)]
    found["lengths"] = {
        name: _moved(np.concatenate([read(*one) for one in parts]), read(gold.corpus, gold.mentions))
        for name, read in LENGTHS.items()
        if all(len(read(*one)) for one in (*parts, *test))
    }
    rest = left_out(lexicon)
    found["left_out"] = rest.unit
    side = Context(gold.corpus, gold.mentions, lexicon)
    unknown = ratio(int(side.unknown.sum()), len(gold.corpus.tokens))
    found["unknown_tokens"] = drift_pair(ratio(rest.unknown, rest.tokens), unknown)
    if tough is not None:
        found["tough"] = {
            subset: drift_pair(
                ratio(number, rest.mentions), ratio(int(tough.of(subset).sum()), len(gold.mentions))
            )
            for subset, number in rest.subsets.items()
        }
    return found


def drift_pair(train: SupportsFloat, test: SupportsFloat) -> dict[str, float | None]:
    """The same share, or mean, in the training data and in the test set."""
    return {"train": plain(train), "test": plain(test)}


def label_distance(shares: Mapping[str, Mapping[str, float | None]]) -> float | None:
    """Half the sum of the differences: the share of mentions that would need another label."""
    differences = [
        abs(one["train"] - one["test"])
        for one in shares.values()
        if one["train"] is not None and one["test"] is not None
    ]
    return fsum(differences) / 2 if differences else None


def _sentence_lengths(corpus: Corpus, mentions: Mentions) -> Floats:
    return floats(corpus.lengths)


def _mention_lengths(corpus: Corpus, mentions: Mentions) -> Floats:
    values = values_of("entity_length", Context(corpus, mentions).side(mentions))
    return floats(values.value[values.defined])


def _mentions_per_sentence(corpus: Corpus, mentions: Mentions) -> Floats:
    return floats(np.bincount(mentions.sentence, minlength=len(corpus)))


LENGTHS = {
    "sentence_length": _sentence_lengths,
    "entity_length": _mention_lengths,
    "mentions_per_sentence": _mentions_per_sentence,
}


def _moved(train: Floats, test: Floats) -> dict[str, Any]:
    """Both means, and the largest difference of the two cumulative shares (Kolmogorov and Smirnov's D)."""
    values = np.union1d(train, test)
    shares = [np.searchsorted(np.sort(one), values, side="right") / len(one) for one in (train, test)]
    means = [fsum(one.tolist()) / len(one) for one in (train, test)]
    return {**drift_pair(*means), "distance": float(np.abs(shares[0] - shares[1]).max())}


# ---- conflicts: one name with two labels, one sentence annotated in two ways ----

Known = tuple[int, int]  # number of a corpus and of a sentence in it


def conflicts(
    gold: Annotation, train: Sequence[Annotation], tough: Toughness, *, most: int
) -> dict[str, Any]:
    """Token sequences with two or more labels, and equal sentences annotated differently."""
    return {
        "labels": _differing_labels(gold, tough, most),
        "sentences": _shown(_differing_sentences(gold, train), most),
    }


def _differing_labels(gold: Annotation, tough: Toughness, most: int) -> dict[str, object]:
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
    number, sentence = known
    return annotated(annotations[number], sentence)


def annotated(one: Annotation, sentence: int) -> str:
    """The mentions of one sentence, such as `PER [0, 2); LOC [4, 5)`."""
    mentions = one.mentions
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


def _shown(groups: Sequence[Sequence[tuple[str, str]]], most: int) -> dict[str, object]:
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
