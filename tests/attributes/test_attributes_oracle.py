"""Every value and every bucket count agrees with the slow oracle, on real and random corpora."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from attribute_oracle import (
    MENTION_UNITS,
    TOKEN_UNITS,
    Mention,
    Oracle,
    Sentences,
    Text,
    Value,
    bucket_counts,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from spanwise.attributes import (
    PRESETS,
    Context,
    Lexicon,
    LexiconSums,
    SummedLexicon,
    Values,
    choose,
    collect_lexicon_queries,
    toughness,
    values_of,
)
from spanwise.buckets import fit
from spanwise.corpus import Annotation, Corpus, Mentions, Parts, joined_pieces
from spanwise.formats import read, read_layers

STRATEGIES: dict[str, tuple[tuple[float, ...], tuple[str, list[float]]]] = {
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
    """The text and mentions as an annotation."""
    mentions = Mentions.of([(s, p[0], p[-1] + 1, label) for s, p, label in text.mentions])
    pieces = [joined_pieces((i, i + 1) for i in p) for _, p, _ in text.mentions]
    if any(len(own) > 1 for own in pieces):
        mentions = replace(mentions, parts=Parts.of(pieces))
    return Annotation(Corpus.of(text.sentences), mentions)


def plain(read_annotation: Annotation, sentences: Sentences | None = None) -> Text:
    """The text and mentions of a file as the oracle represents them."""
    corpus = read_annotation.corpus
    words = sentences or [corpus.words(i) for i in range(len(corpus))]
    return Text(words, [(s, tuple(range(a, b)), label) for s, a, b, label in read_annotation.mentions.rows()])


def check(
    oracle: Oracle,
    context: Context,
    predicted: Mentions,
    predicted_plain: list[Mention],
    strategies: Sequence[str],
) -> None:
    """Compare every value, and the counts of every bucket on both sides."""
    gold_side, predicted_side = context.sides([context.gold, predicted])
    for attribute in (*MENTION_UNITS, *TOKEN_UNITS):
        ours: dict[str, Values] = {}
        theirs: dict[str, list[Value]] = {}
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


def compare_categories(ours: Mapping[str, Values], theirs: Mapping[str, list[Value]]) -> None:
    bucketing = fit("category", ours["gold"])
    ranked = sorted(Counter(theirs["gold"]).items(), key=lambda item: (-item[1], item[0]))
    assert [bucket.value for bucket in bucketing.fitted] == [name for name, _ in ranked]
    for side in ("gold", "predicted"):
        counts = np.bincount(bucketing.assign(ours[side]), minlength=len(bucketing)).tolist()
        expected = Counter(theirs[side])
        assert counts[:-2] == [expected[name] for name, _ in ranked]
        assert counts[-2] == sum(expected.values()) - sum(expected[name] for name, _ in ranked)
        assert counts[-1] == 0


def compare_buckets(text: str, ours: Mapping[str, Values], theirs: Mapping[str, list[Value]]) -> None:
    specials, then = STRATEGIES[text]
    bucketing = fit(text, ours["gold"])
    rest = iter(range(len(bucketing.fitted)))
    keys = [("is", b.low) if b.special else ("rest", next(rest)) for b in bucketing.fitted]
    for side in ("gold", "predicted"):
        counts = np.bincount(bucketing.assign(ours[side]), minlength=len(bucketing)).tolist()
        expected = bucket_counts(specials, then, theirs["gold"], theirs[side])
        assert dict(zip(keys, counts[:-2], strict=True)) == expected, (text, side)
        assert counts[-2:] == [0, 0]


def compare(
    case: Case,
    *,
    strategies: Sequence[str] = tuple(STRATEGIES),
    lowercase: bool = False,
    known: frozenset[str] | None = None,
) -> None:
    train, test, predicted = case
    gold = annotation(test)
    side = annotation(Text(test.sentences, predicted)).mentions
    lexicon = Lexicon.of([annotation(train)])
    context = Context(gold.corpus, gold.mentions, lexicon, lowercase=lowercase, known=known)
    check(Oracle(train, test, lowercase=lowercase, known=known), context, side, predicted, strategies)
    tough = toughness(gold.corpus, gold.mentions, lexicon, side=context.side(gold.mentions))
    assert [set(tough.names(i)) for i in range(len(gold.mentions))] == Oracle(train, test).tough()


# --- random corpora -----------------------------------------------------------------------------

WORDS = st.sampled_from(["a", "b", "A", "B1", "7", "c-d"])
LABELS = st.sampled_from(["X", "Y", "Z"])


Case: TypeAlias = tuple[Text, Text, list[Mention]]  # training text, test text, predictions


@st.composite
def texts(draw: st.DrawFn, *, least: int = 0, gaps: bool = False) -> Text:
    sentences = draw(st.lists(st.lists(WORDS, min_size=1, max_size=8), min_size=1, max_size=5))
    return Text(sentences, draw_mentions(draw, sentences, least=least, gaps=gaps))


def draw_mentions(
    draw: st.DrawFn, sentences: Sentences, *, least: int = 0, gaps: bool = False
) -> list[Mention]:
    """Distinct mentions, which may nest and cross, in the order of their sentences."""
    mentions: dict[Mention, None] = {}
    for _ in range(draw(st.integers(least, 8))):
        sentence = draw(st.integers(0, len(sentences) - 1))
        length = len(sentences[sentence])
        start = draw(st.integers(0, length - 1))
        end = draw(st.integers(start + 1, length))
        positions = tuple(range(start, end))
        if gaps and len(positions) > 2 and draw(st.booleans()):
            positions = positions[:1] + positions[2:]
        mentions[sentence, positions, draw(LABELS)] = None
    return sorted(mentions, key=lambda mention: mention[0])


@st.composite
def cases(draw: st.DrawFn, *, gaps: bool = False) -> Case:
    train, test = draw(texts(least=1, gaps=gaps)), draw(texts(gaps=gaps))
    return train, test, draw_mentions(draw, test.sentences, gaps=gaps)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(cases(), st.booleans())
def test_every_value_and_bucket_count_agrees_on_random_corpora(case: Case, lowercase: bool) -> None:
    compare(case, lowercase=lowercase)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(cases(gaps=True))
def test_discontinuous_mentions_agree_too(case: Case) -> None:
    compare(case, strategies=("balanced:4",))


@settings(deadline=None, derandomize=True, max_examples=30)
@given(cases(), st.sets(WORDS), st.booleans())
def test_a_word_list_takes_the_place_of_the_training_vocabulary(
    case: Case, known: set[str], lowercase: bool
) -> None:
    compare(case, strategies=(), known=frozenset(known), lowercase=lowercase)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(texts(least=1), texts(least=1), cases(), st.booleans())
def test_sums_over_training_blocks_equal_those_of_the_whole(
    first: Text, second: Text, case: Case, lowercase: bool
) -> None:
    _, test, predicted = case
    whole = Text(
        [*first.sentences, *second.sentences],
        first.mentions + [(s + len(first.sentences), p, label) for s, p, label in second.mentions],
    )
    gold, side = annotation(test), annotation(Text(test.sentences, predicted)).mentions
    needs = collect_lexicon_queries(gold.corpus, [gold.mentions, side], lowercase=lowercase)
    blocks = [LexiconSums.of(Lexicon.of([annotation(part)]), needs) for part in (first, second)]
    lexicon = SummedLexicon(needs, LexiconSums.joined(blocks))
    context = Context(gold.corpus, gold.mentions, lexicon, lowercase=lowercase)
    check(Oracle(whole, test, lowercase=lowercase), context, side, predicted, ("balanced:4",))


# --- real corpora -------------------------------------------------------------------------------


def test_wnut16_agrees_in_every_value_and_bucket_count(data: Path) -> None:
    train = read(data / "wnut16" / "train.txt")
    layers = read_layers(data / "wnut16" / "flair.txt")
    compare_real(train, layers["gold"], layers["predicted"])


@pytest.mark.parametrize("language", ["ewe", "pcm"])
def test_masakhaner_agrees_in_every_value_and_bucket_count(data: Path, language: str) -> None:
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


def test_the_oracle_covers_every_attribute() -> None:
    assert {*MENTION_UNITS, *TOKEN_UNITS} == set(PRESETS["all"])
    assert all((attribute.unit == "token") == (attribute.name in TOKEN_UNITS) for attribute in choose("all"))
