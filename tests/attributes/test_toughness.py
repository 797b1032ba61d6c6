"""Tough mentions: subsets computed by hand, the published table, and their laws."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from typed import present

from spanwise.attributes import SUBSETS, Context, Lexicon, toughness
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.description import describe
from spanwise.document.dataset import SubsetShares
from spanwise.errors import ChoiceError
from spanwise.formats import read

Rows: TypeAlias = list[list[tuple[str, str]]]  # sentences of (text, label); "O" marks text outside mentions


def annotation(rows: Rows) -> Annotation:
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


def subsets(train: Rows, test: Rows) -> list[set[str]]:
    gold = annotation(test)
    tough = toughness(gold.corpus, gold.mentions, Lexicon.of([annotation(train)]))
    return [set(tough.names(i)) for i in range(len(gold.mentions))]


TRAIN = [[("Rome", "LOC"), ("beats", "O"), ("New York", "ORG")], [("York", "O"), ("Ford", "PER")]]


def test_a_pair_from_the_training_data_is_seen() -> None:
    assert subsets(TRAIN, [[("Rome", "LOC")]]) == [{"SEEN"}]


def test_a_training_sequence_with_another_label_is_of_unseen_type() -> None:
    assert subsets(TRAIN, [[("New York", "LOC")]]) == [{"UNSEEN-TYPE", "UNSEEN-ANY"}]


def test_a_sequence_that_occurs_in_training_only_outside_mentions_is_unseen() -> None:
    assert subsets(TRAIN, [[("York", "LOC")]]) == [{"UNSEEN-TOKENS", "UNSEEN-ANY"}]


def test_case_matters() -> None:
    assert subsets(TRAIN, [[("rome", "LOC")]]) == [{"UNSEEN-TOKENS", "UNSEEN-ANY"}]


def test_confusable_means_two_labels_among_the_gold_mentions_not_in_training() -> None:
    assert subsets(TRAIN, [[("Ford", "PER"), ("Ford", "ORG")], [("Oslo", "LOC"), ("Oslo", "ORG")]]) == [
        {"SEEN", "TCM-ALL", "TCM-SEEN"},
        {"UNSEEN-TYPE", "UNSEEN-ANY", "TCM-ALL", "TCM-SEEN"},
        {"UNSEEN-TOKENS", "UNSEEN-ANY", "TCM-ALL", "TCM-UNSEEN"},
        {"UNSEEN-TOKENS", "UNSEEN-ANY", "TCM-ALL", "TCM-UNSEEN"},
    ]
    assert subsets([[("Ford", "PER"), ("Ford", "ORG")]], [[("Ford", "PER")]]) == [{"SEEN"}]


def test_without_training_data_only_confusable_mentions_are_known() -> None:
    gold = annotation([[("Ford", "PER"), ("Ford", "ORG"), ("Oslo", "LOC")]])
    tough = toughness(gold.corpus, gold.mentions, None)
    assert tough.subsets == ("TCM-ALL",)
    assert tough.of("TCM-ALL").tolist() == [True, True, False]


def test_lower_case_for_attributes_leaves_tough_mentions_as_written() -> None:
    gold = annotation([[("rome", "LOC")]])
    lexicon = Lexicon.of([annotation(TRAIN)])
    context = Context(gold.corpus, gold.mentions, lexicon, lowercase=True)
    tough = toughness(gold.corpus, gold.mentions, lexicon, side=context.side(gold.mentions))
    assert tough.names(0) == ["UNSEEN-TOKENS", "UNSEEN-ANY"]


def composition(gold: Annotation, train: Annotation) -> dict[str, SubsetShares]:
    tough = present(describe(gold, train=train, attributes="label").dataset.tough)
    return dict(tough.items())


def test_a_label_without_mentions_in_a_subset_has_share_zero_and_an_empty_dataset_none() -> None:
    gold = annotation([[("Rome", "LOC"), ("Oslo", "ORG")]])
    seen = composition(gold, annotation(TRAIN))["SEEN"]
    assert {label: (part.mentions, part.share) for label, part in seen.labels.items()} == {
        "LOC": (1, 1.0),
        "ORG": (0, 0.0),
    }
    empty = composition(annotation([[("a", "O")]]), annotation(TRAIN))["SEEN"].overall
    assert (empty.mentions, empty.share) == (0, None)


class Cell(Struct):
    computed: float


class Expected(Struct):
    """Cells by subset and label, "ALL" for all labels; "TOTAL" counts mentions."""

    cells: dict[str, dict[str, Cell]]


def test_spanish_conll_2002_gives_every_cell_of_table_3(data: Path) -> None:
    """Tu and Lignos (2021), Table 3: shares in percent, to the printed digit."""
    folder = data / "conll2002-es"
    expected = msgspec.json.decode((folder / "expected.json").read_bytes(), type=Expected).cells
    gold = read(folder / "test.txt")
    shares = composition(gold, read(folder / "train.txt"))
    total = expected.pop("TOTAL")
    assert {label: cell.computed for label, cell in total.items()} == {
        **Counter(gold.mentions.names()),
        "ALL": len(gold.mentions),
    }
    assert set(expected) <= set(shares)
    cells = 0
    for subset, labels in expected.items():
        for label, cell in labels.items():
            part = shares[subset].overall if label == "ALL" else shares[subset].labels[label]
            assert round(100 * present(part.share), 1) == cell.computed, (subset, label)
            cells += 1
    assert cells == 30


PIECES = st.lists(
    st.tuples(st.sampled_from(["a", "b", "a b", "A"]), st.sampled_from(["O", "X", "Y"])),
    min_size=1,
    max_size=5,
)


@settings(deadline=None, derandomize=True, max_examples=80)
@given(st.lists(PIECES, min_size=1, max_size=4), st.lists(PIECES, min_size=1, max_size=4))
def test_seen_unseen_type_and_unseen_tokens_partition_the_gold_mentions(train: Rows, test: Rows) -> None:
    gold = annotation(test)
    tough = toughness(gold.corpus, gold.mentions, Lexicon.of([annotation(train)]))
    assert tough.subsets == SUBSETS
    parts = [tough.of(name).astype(int) for name in ("SEEN", "UNSEEN-TYPE", "UNSEEN-TOKENS")]
    assert np.sum(parts, axis=0).tolist() == [1] * len(gold.mentions)
    assert (tough.of("UNSEEN-ANY") == ~tough.of("SEEN")).all()
    both = tough.of("TCM-SEEN").astype(int) + tough.of("TCM-UNSEEN")
    assert both.tolist() == tough.of("TCM-ALL").astype(int).tolist()
    assert not (tough.of("TCM-UNSEEN") & ~tough.of("UNSEEN-TOKENS")).any()


def test_an_unknown_subset_is_an_error() -> None:
    gold = annotation([[("Rome", "LOC")]])
    with pytest.raises(ChoiceError, match="no tough subset is called 'TOUGH'"):
        toughness(gold.corpus, gold.mentions, None).of("TOUGH")
