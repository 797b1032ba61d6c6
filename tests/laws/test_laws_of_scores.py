"""The laws of scores, checked for everything in the document that has precision, recall and F1.

Scores are taken from the document of an evaluation that computes everything, so a new score, credit, matcher
or attribute is included once it is declared. One that breaks a law by design is listed below with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import to_builtins

import spanwise
from spanwise.attributes import ATTRIBUTES
from spanwise.credits import CREDITS
from spanwise.document.scores import BucketScores, ExactScores, SystemScores

LABELS = ("PER", "LOC", "ORG")
TAGS = ("O", *(f"{prefix}-{label}" for prefix in "BI" for label in LABELS))
WORDS = ("Ann", "in", "Rome", "7", "of")

Path: TypeAlias = tuple[str, ...]
Row: TypeAlias = list[tuple[str, str, str]]  # of a sentence: word, gold tag, predicted tag
Cells: TypeAlias = dict[Path, dict[str, float | None]]

sentence = st.lists(
    st.tuples(st.sampled_from(WORDS), st.sampled_from(TAGS), st.sampled_from(TAGS)), min_size=1, max_size=8
)
corpora = st.lists(sentence, min_size=1, max_size=6)
law = settings(max_examples=60)
law_of_buckets = settings(max_examples=25)  # fewer, because buckets take longer
EVERY = ATTRIBUTES.names()

SCORES = ("precision", "recall", "f1")
# These differ when the sides are swapped: Ortmann's algorithm lets gold mentions choose first, weighted means
# use the number of gold mentions, and bucket edges are fitted on gold.
NOT_SYMMETRIC: set[Path] = {("exact", "weighted"), ("fair",), ("credits",), ("attributes",)}
# Means contain the number of labels they average over, which does not add up.
NOT_ADDITIVE: set[Path] = {("exact", "macro"), ("exact", "weighted")}
NAMED_BY_LABELS = {"labels", "attributes"}  # scores under these keys move when labels are renamed


def evaluated(rows: Sequence[Row], *, systems: Sequence[str] = ("mine",), **options: Any) -> SystemScores:
    """All scores of one system, including those of buckets if `attributes` are given."""
    words, gold, predicted = ([[cell[column] for cell in row] for row in rows] for column in range(3))
    chosen: dict[str, Any] = {"resamples": 0, "weights": CREDITS.names(), "attributes": "none", **options}
    predictions = {name: predicted if name == "mine" else gold for name in systems}
    result = spanwise.evaluate(
        gold, predictions, tokens=words, train=None, vocabulary=["Ann", "in"], scheme="IOB2", **chosen
    )
    return result.systems["mine"]


def cells_of(scores: SystemScores) -> Cells:
    """The numbers of every object in the document that has precision, recall and F1, by path."""

    def walk(value: object, path: Path) -> Iterator[tuple[Path, dict[str, float | None]]]:
        if isinstance(value, Mapping):
            if set(SCORES) <= set(value):
                yield path, {key: child for key, child in value.items() if _is_number(child)}
            for key, child in value.items():
                yield from walk(child, (*path, str(key)))
        elif isinstance(value, list | tuple):
            for number, child in enumerate(value):
                yield from walk(child, (*path, str(number)))

    return dict(walk(to_builtins(scores), ()))


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def without(cells: Cells, prefixes: set[Path]) -> Cells:
    """The cells that do not lie under any of the prefixes."""
    return {
        path: cell
        for path, cell in cells.items()
        if not any(path[: len(prefix)] == prefix for prefix in prefixes)
    }


def turned(row: Row) -> Row:
    """A sentence with its sides swapped."""
    return [(word, predicted, gold) for word, gold, predicted in row]


def test_the_document_has_the_scores_that_the_laws_are_about() -> None:
    cells = cells_of(evaluated([[("Ann", "B-PER", "B-PER"), ("in", "O", "B-LOC")]], attributes=EVERY))
    assert {path[0] for path in cells} == {"exact", "fair", "credits", "relaxed", "attributes"}
    assert {path[1] for path in cells if path[0] == "credits"} == {*CREDITS.names()} - {"fair"}


@law_of_buckets
@given(corpora)
def test_scores_lie_between_0_and_1_and_f1_between_precision_and_recall(rows: list[Row]) -> None:
    for path, cell in cells_of(evaluated(rows, attributes=EVERY)).items():
        scores = [cell[name] for name in SCORES]
        assert all(score is None or 0 <= score <= 1 for score in scores), path
        precision, recall, f1 = scores
        if (
            precision is not None
            and recall is not None
            and f1 is not None
            and path[1] not in ("macro", "weighted")
        ):
            assert min(precision, recall) - 1e-12 <= f1 <= max(precision, recall) + 1e-12, path


@law_of_buckets
@given(corpora)
def test_gold_against_itself_scores_1_wherever_a_score_is_defined(rows: list[Row]) -> None:
    perfect = [[(word, gold, gold) for word, gold, _ in row] for row in rows]
    for path, cell in cells_of(evaluated(perfect, attributes=EVERY)).items():
        assert all(cell[name] in (1, None) for name in SCORES), path


@law
@given(corpora)
def test_nothing_predicted_scores_0_and_has_no_precision(rows: list[Row]) -> None:
    silent = [[(word, gold, "O") for word, gold, _ in row] for row in rows]
    for path, cell in cells_of(evaluated(silent)).items():
        assert cell["f1"] in (0, None) and cell["recall"] in (0, None), path
        assert cell["precision"] is None, path


@law
@given(corpora)
def test_swapping_sides_swaps_precision_and_recall(rows: list[Row]) -> None:
    forwards = without(cells_of(evaluated(rows)), NOT_SYMMETRIC)
    backwards = cells_of(evaluated([turned(row) for row in rows]))
    for path, cell in forwards.items():
        other = backwards[path]
        assert (cell["precision"], cell["recall"], cell["f1"]) == (
            other["recall"],
            other["precision"],
            other["f1"],
        ), path


@law_of_buckets
@given(corpora, st.randoms(use_true_random=False))
def test_the_order_of_sentences_does_not_matter(rows: list[Row], chance: Random) -> None:
    shuffled = chance.sample(rows, len(rows))
    first, second = (evaluated(corpus, attributes=EVERY) for corpus in (rows, shuffled))
    assert cells_of(first) == cells_of(second)
    for part in ("exact", "fair", "gains", "relaxed"):
        assert first[part] == second[part], part


@law
@given(corpora)
def test_renaming_labels_changes_no_overall_score(rows: list[Row]) -> None:
    names = {"PER": "zz", "LOC": "a", "ORG": "m-x"}

    def renamed(tag: str) -> str:
        return tag if tag == "O" else f"{tag[:2]}{names[tag[2:]]}"

    other = [[(word, renamed(gold), renamed(predicted)) for word, gold, predicted in row] for row in rows]
    after = cells_of(evaluated(other))
    for path, cell in cells_of(evaluated(rows)).items():
        if not NAMED_BY_LABELS & {*path}:
            # A mean of the same numbers in another order may differ in the last bit.
            assert cell == pytest.approx(after[path]), path


@law
@given(corpora, corpora)
def test_counts_of_two_halves_add_up_to_those_of_the_whole(first: list[Row], second: list[Row]) -> None:
    parts = [without(cells_of(evaluated(rows)), NOT_ADDITIVE) for rows in (first, second)]
    for path, cell in without(cells_of(evaluated(first + second)), NOT_ADDITIVE).items():
        for name, value in cell.items():
            if isinstance(value, int):
                assert value == sum(part[path][name] or 0 for part in parts if path in part), (path, name)


@law_of_buckets
@given(corpora)
def test_the_counts_of_labels_and_of_buckets_add_up_to_those_of_all_mentions(rows: list[Row]) -> None:
    scores = evaluated(rows, attributes=EVERY)
    whole = scores.exact.overall
    groups: list[list[ExactScores | BucketScores]] = [list(scores.exact.labels.values())]
    groups += [
        list(diagnosis.buckets) for diagnosis in scores.attributes.values() if diagnosis.unit == "mention"
    ]
    for cells in groups:
        for name in ("gold", "predicted", "correct"):
            assert sum(getattr(cell, name) for cell in cells) == getattr(whole, name), cells


@law
@given(corpora)
def test_adding_a_system_changes_no_number_of_another(rows: list[Row]) -> None:
    alone = evaluated(rows, resamples=50)
    assert alone == evaluated(rows, systems=("other", "mine"), resamples=50)
