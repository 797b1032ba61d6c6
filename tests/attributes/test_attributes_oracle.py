"""Every value and every bucket count agrees with the slow oracle, on real and on random corpora."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from attribute_oracle import MENTION_UNITS, TOKEN_UNITS, Oracle, Text, bucket_counts
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.attributes import (
    PRESETS,
    Context,
    Lexicon,
    LexiconSums,
    SummedLexicon,
    choose,
    toughness,
    values_of,
    wanted,
)
from spanwise.buckets import fit
from spanwise.columns import ints, offsets
from spanwise.corpus import Annotation, Corpus, Mentions, Parts
from spanwise.formats import read, read_layers

STRATEGIES = {
    "balanced:4": ((), ("balanced", [4])),
    "balanced:1": ((), ("balanced", [1])),
    "balanced:7": ((), ("balanced", [7])),
    "special:0+balanced:3": ((0,), ("balanced", [3])),
    "special:0,1+balanced:2": ((0, 1), ("balanced", [2])),
    "special:1,2,3": ((1, 2, 3), ("balanced", [1])),
    "even_range:4": ((), ("even_range", [4])),
    "1,2,3": ((), ("fixed", [1, 2, 3])),
    "fixed:0.001,0.1,0.5": ((), ("fixed", [0.001, 0.1, 0.5])),
    "discrete:10": ((), ("discrete", [10])),
    "discrete:2": ((), ("discrete", [2])),
    "familiarity:5": ((), ("familiarity", [5])),
    "special:0.5,3+even_range:3": ((0.5, 3), ("even_range", [3])),
    "special:0,1+familiarity:4": ((0, 1), ("familiarity", [4])),
    "special:2+discrete:4": ((2,), ("discrete", [4])),
    "special:2+fixed:1,5": ((2,), ("fixed", [1, 5])),
}


def annotation(text: Text) -> Annotation:
    """The same text and mentions as spanwise holds them."""
    mentions = Mentions.of([(s, p[0], p[-1] + 1, label) for s, p, label in text.mentions])
    if any(list(p) != list(range(p[0], p[-1] + 1)) for _, p, _ in text.mentions):
        pieces = [_pieces(p) for _, p, _ in text.mentions]
        flat = [piece for own in pieces for piece in own]
        parts = Parts(
            offsets([len(own) for own in pieces]), ints([a for a, _ in flat]), ints([b for _, b in flat])
        )
        mentions = Mentions(
            mentions.sentence, mentions.start, mentions.end, mentions.label, mentions.labels, parts
        )
    return Annotation(Corpus.of(text.sentences), mentions)


def _pieces(positions):
    pieces = []
    for position in positions:
        if pieces and pieces[-1][1] == position:
            pieces[-1] = (pieces[-1][0], position + 1)
        else:
            pieces.append((position, position + 1))
    return pieces


def plain(read_annotation: Annotation, sentences=None) -> Text:
    """The text and mentions of a file as the oracle holds them."""
    corpus = read_annotation.corpus
    words = sentences or [corpus.words(i) for i in range(len(corpus))]
    return Text(words, [(s, tuple(range(a, b)), label) for s, a, b, label in read_annotation.mentions.rows()])


def check(oracle: Oracle, context: Context, predicted: Mentions, predicted_plain: list, strategies) -> None:
    """Compare every value, and the counts of every bucket on both sides."""
    gold_side, predicted_side = context.sides([context.gold, predicted])
    for attribute in (*MENTION_UNITS, *TOKEN_UNITS):
        ours, theirs = {}, {}
        for side, mentions, rows in (
            ("gold", gold_side, oracle.test.mentions),
            ("predicted", predicted_side, predicted_plain),
        ):
            ours[side] = values_of(attribute, mentions)
            theirs[side] = [value for _, value in oracle.units(attribute, rows)]
            assert ours[side].defined.all()
            names = ours[side].names
            got = ours[side].value.tolist() if names is None else [names[i] for i in ours[side].value]
            assert got == theirs[side], (attribute, side)
        if ours["gold"].names is not None:
            compare_categories(ours, theirs)
            continue
        if theirs["gold"]:
            assert ours["gold"].zeta == pytest.approx(sum(theirs["gold"]) / len(theirs["gold"]), rel=1e-12)
        for text in strategies:
            compare_buckets(text, ours, theirs)


def compare_categories(ours, theirs) -> None:
    bucketing = fit("category", ours["gold"])
    ranked = sorted(Counter(theirs["gold"]).items(), key=lambda item: (-item[1], item[0]))
    assert [bucket.value for bucket in bucketing.fitted] == [name for name, _ in ranked]
    for side in ("gold", "predicted"):
        counts = np.bincount(bucketing.assign(ours[side]), minlength=len(bucketing)).tolist()
        expected = Counter(theirs[side])
        assert counts[:-2] == [expected[name] for name, _ in ranked]
        assert counts[-2] == sum(expected.values()) - sum(expected[name] for name, _ in ranked)
        assert counts[-1] == 0


def compare_buckets(text: str, ours, theirs) -> None:
    specials, then = STRATEGIES[text]
    bucketing = fit(text, ours["gold"])
    rest = iter(range(len(bucketing.fitted)))
    keys = [("is", b.low) if b.special else ("rest", next(rest)) for b in bucketing.fitted]
    for side in ("gold", "predicted"):
        counts = np.bincount(bucketing.assign(ours[side]), minlength=len(bucketing)).tolist()
        expected = bucket_counts(specials, then, theirs["gold"], theirs[side])
        assert dict(zip(keys, counts[:-2], strict=True)) == expected, (text, side)
        assert counts[-2:] == [0, 0]


def compare(train: Text, test: Text, predicted: list, *, strategies=tuple(STRATEGIES), **options) -> None:
    gold = annotation(test)
    side = annotation(Text(test.sentences, predicted)).mentions
    lexicon = Lexicon.of([annotation(train)])
    context = Context(gold.corpus, gold.mentions, lexicon, **options)
    check(Oracle(train, test, **options), context, side, predicted, strategies)
    tough = toughness(gold.corpus, gold.mentions, lexicon, side=context.side(gold.mentions))
    assert [set(tough.names(i)) for i in range(len(gold.mentions))] == Oracle(train, test).tough()


# --- random corpora -----------------------------------------------------------------------------

WORDS = st.sampled_from(["a", "b", "A", "B1", "7", "c-d"])
LABELS = st.sampled_from(["X", "Y", "Z"])


@st.composite
def texts(draw, *, least=0, gaps=False):
    sentences = draw(st.lists(st.lists(WORDS, min_size=1, max_size=8), min_size=1, max_size=5))
    mentions = draw_mentions(draw, sentences, least=least, gaps=gaps)
    return Text(sentences, mentions)


def draw_mentions(draw, sentences, *, least=0, gaps=False):
    """Mentions that nest and cross as they like, each (span, label) once, in order of their sentences."""
    found = {}
    for _ in range(draw(st.integers(least, 8))):
        sentence = draw(st.integers(0, len(sentences) - 1))
        length = len(sentences[sentence])
        start = draw(st.integers(0, length - 1))
        end = draw(st.integers(start + 1, length))
        positions = tuple(range(start, end))
        if gaps and len(positions) > 2 and draw(st.booleans()):
            positions = positions[:1] + positions[2:]
        found[sentence, positions, draw(LABELS)] = None
    return sorted(found, key=lambda mention: mention[0])


@st.composite
def cases(draw, *, gaps=False):
    train, test = draw(texts(least=1, gaps=gaps)), draw(texts(gaps=gaps))
    return train, test, draw_mentions(draw, test.sentences, gaps=gaps)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(cases(), st.booleans())
def test_every_value_and_bucket_count_agrees_on_random_corpora(case, lowercase):
    compare(*case, lowercase=lowercase)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(cases(gaps=True))
def test_discontinuous_mentions_agree_too(case):
    compare(*case, strategies=("balanced:4",))


@settings(deadline=None, derandomize=True, max_examples=30)
@given(cases(), st.sets(WORDS), st.booleans())
def test_a_word_list_takes_the_place_of_the_training_vocabulary(case, known, lowercase):
    compare(*case, strategies=(), known=frozenset(known), lowercase=lowercase)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(texts(least=1), texts(least=1), cases(), st.booleans())
def test_sums_over_training_blocks_are_those_of_the_whole(first, second, case, lowercase):
    _, test, predicted = case
    whole = Text(
        first.sentences + second.sentences,
        first.mentions + [(s + len(first.sentences), p, label) for s, p, label in second.mentions],
    )
    gold, side = annotation(test), annotation(Text(test.sentences, predicted)).mentions
    asked = wanted(gold.corpus, [gold.mentions, side], lowercase=lowercase)
    blocks = [LexiconSums.of(Lexicon.of([annotation(part)]), asked) for part in (first, second)]
    lexicon = SummedLexicon(asked, LexiconSums.joined(blocks))
    context = Context(gold.corpus, gold.mentions, lexicon, lowercase=lowercase)
    check(Oracle(whole, test, lowercase=lowercase), context, side, predicted, ("balanced:4",))


# --- real corpora -------------------------------------------------------------------------------


def test_wnut16_agrees_in_every_value_and_bucket_count(data):
    train = read(data / "wnut16" / "train.txt")
    layers = read_layers(data / "wnut16" / "flair.txt")
    compare_real(train, layers["gold"], layers["predicted"])


@pytest.mark.parametrize("language", ["ewe", "pcm"])
def test_masakhaner_agrees_in_every_value_and_bucket_count(data, language):
    folder = data / "masakhaner" / language
    gold = read(folder / "test.txt")
    compare_real(
        read(folder / "train.txt"), gold, read(folder / "predictions" / "mbert.1.txt", prefer="IOB2")
    )


def compare_real(train: Annotation, gold: Annotation, predicted: Annotation) -> None:
    test = plain(gold)
    lexicon = Lexicon.of([train])
    context = Context(gold.corpus, gold.mentions, lexicon)
    oracle = Oracle(plain(train), test)
    rows = plain(predicted, test.sentences).mentions
    check(oracle, context, predicted.mentions, rows, tuple(STRATEGIES))
    tough = toughness(gold.corpus, gold.mentions, lexicon)
    assert [set(tough.names(i)) for i in range(len(gold.mentions))] == oracle.tough()


def test_the_oracle_knows_every_attribute():
    assert {*MENTION_UNITS, *TOKEN_UNITS} == set(PRESETS["all"])
    assert all((one.unit == "token") == (one.name in TOKEN_UNITS) for one in choose("all"))
