"""Tough mentions: the subsets by hand, on the published table, and the laws they keep."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.attributes import SUBSETS, Context, Lexicon, toughness
from spanwise.composition import composition
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.errors import ChoiceError
from spanwise.formats import read


def annotation(rows: list[list[tuple[str, str]]]) -> Annotation:
    """Sentences of (mention text, label); "O" is text outside mentions."""
    words, mentions = [], []
    for sentence, pieces in enumerate(rows):
        tokens: list[str] = []
        for text, label in pieces:
            start = len(tokens)
            tokens += text.split()
            if label != "O":
                mentions.append((sentence, start, len(tokens), label))
        words.append(tokens)
    return Annotation(Corpus.of(words), Mentions.of(mentions))


def subsets(train, test) -> list[set[str]]:
    gold = annotation(test)
    tough = toughness(gold.corpus, gold.mentions, Lexicon.of([annotation(train)]))
    return [set(tough.names(i)) for i in range(len(gold.mentions))]


TRAIN = [[("Rome", "LOC"), ("beats", "O"), ("New York", "ORG")], [("York", "O"), ("Ford", "PER")]]


def test_a_pair_of_training_is_seen():
    assert subsets(TRAIN, [[("Rome", "LOC")]]) == [{"SEEN"}]


def test_a_training_sequence_with_another_label_is_of_unseen_type():
    assert subsets(TRAIN, [[("New York", "LOC")]]) == [{"UNSEEN-TYPE", "UNSEEN-ANY"}]


def test_a_sequence_that_training_has_only_outside_mentions_is_unseen():
    assert subsets(TRAIN, [[("York", "LOC")]]) == [{"UNSEEN-TOKENS", "UNSEEN-ANY"}]


def test_case_matters():
    assert subsets(TRAIN, [[("rome", "LOC")]]) == [{"UNSEEN-TOKENS", "UNSEEN-ANY"}]


def test_confusable_means_two_labels_among_the_gold_mentions_not_in_training():
    assert subsets(TRAIN, [[("Ford", "PER"), ("Ford", "ORG")], [("Oslo", "LOC"), ("Oslo", "ORG")]]) == [
        {"SEEN", "TCM-ALL", "TCM-SEEN"},
        {"UNSEEN-TYPE", "UNSEEN-ANY", "TCM-ALL", "TCM-SEEN"},
        {"UNSEEN-TOKENS", "UNSEEN-ANY", "TCM-ALL", "TCM-UNSEEN"},
        {"UNSEEN-TOKENS", "UNSEEN-ANY", "TCM-ALL", "TCM-UNSEEN"},
    ]
    assert subsets([[("Ford", "PER"), ("Ford", "ORG")]], [[("Ford", "PER")]]) == [{"SEEN"}]


def test_without_training_data_only_confusable_mentions_are_known():
    gold = annotation([[("Ford", "PER"), ("Ford", "ORG"), ("Oslo", "LOC")]])
    tough = toughness(gold.corpus, gold.mentions, None)
    assert tough.subsets == ("TCM-ALL",)
    assert tough.of("TCM-ALL").tolist() == [True, True, False]


def test_lower_case_for_attributes_leaves_tough_mentions_as_written():
    gold = annotation([[("rome", "LOC")]])
    lexicon = Lexicon.of([annotation(TRAIN)])
    context = Context(gold.corpus, gold.mentions, lexicon, lowercase=True)
    tough = toughness(gold.corpus, gold.mentions, lexicon, side=context.side(gold.mentions))
    assert tough.names(0) == ["UNSEEN-TOKENS", "UNSEEN-ANY"]


def test_a_label_without_mentions_in_a_subset_has_share_zero_and_an_empty_set_none():
    gold = annotation([[("Rome", "LOC"), ("Oslo", "ORG")]])
    tough = toughness(gold.corpus, gold.mentions, Lexicon.of([annotation(TRAIN)]))
    seen = composition(gold.mentions, tough)["SEEN"]
    assert seen["labels"] == {"LOC": {"mentions": 1, "share": 1.0}, "ORG": {"mentions": 0, "share": 0.0}}
    nothing = annotation([[("a", "O")]])
    empty = toughness(nothing.corpus, nothing.mentions, Lexicon.of([annotation(TRAIN)]))
    assert composition(nothing.mentions, empty)["SEEN"]["overall"] == {"mentions": 0, "share": None}


def test_spanish_conll_2002_gives_every_cell_of_table_3(data):
    """Tu and Lignos (2021), Table 3: shares in percent, to the printed digit."""
    expected = json.loads((data / "conll2002-es" / "expected.json").read_text())["cells"]
    train, gold = (read(data / "conll2002-es" / f"{part}.txt") for part in ("train", "test"))
    tough = toughness(gold.corpus, gold.mentions, Lexicon.of([train]))
    found = composition(gold.mentions, tough)
    total = expected.pop("TOTAL")
    assert {label: cell["computed"] for label, cell in total.items()} == {
        **Counter(gold.mentions.names()),
        "ALL": len(gold.mentions),
    }
    assert set(expected) <= set(found)
    cells = 0
    for subset, labels in expected.items():
        for label, cell in labels.items():
            part = found[subset]["overall"] if label == "ALL" else found[subset]["labels"][label]
            assert round(100 * part["share"], 1) == cell["computed"], (subset, label)
            cells += 1
    assert cells == 30


PIECES = st.lists(
    st.tuples(st.sampled_from(["a", "b", "a b", "A"]), st.sampled_from(["O", "X", "Y"])),
    min_size=1,
    max_size=5,
)


@settings(deadline=None, derandomize=True, max_examples=80)
@given(st.lists(PIECES, min_size=1, max_size=4), st.lists(PIECES, min_size=1, max_size=4))
def test_seen_unseen_type_and_unseen_tokens_partition_the_gold_mentions(train, test):
    gold = annotation(test)
    tough = toughness(gold.corpus, gold.mentions, Lexicon.of([annotation(train)]))
    assert tough.subsets == SUBSETS
    parts = [tough.of(name).astype(int) for name in ("SEEN", "UNSEEN-TYPE", "UNSEEN-TOKENS")]
    assert np.sum(parts, axis=0).tolist() == [1] * len(gold.mentions)
    assert (tough.of("UNSEEN-ANY") == ~tough.of("SEEN")).all()
    both = tough.of("TCM-SEEN").astype(int) + tough.of("TCM-UNSEEN")
    assert both.tolist() == tough.of("TCM-ALL").astype(int).tolist()
    assert not (tough.of("TCM-UNSEEN") & ~tough.of("UNSEEN-TOKENS")).any()


def test_an_unknown_subset_is_an_error():
    gold = annotation([[("Rome", "LOC")]])
    with pytest.raises(ChoiceError, match="no tough subset is called 'TOUGH'"):
        toughness(gold.corpus, gold.mentions, None).of("TOUGH")
