"""Counting a slice by bitmaps equals evaluating its mentions; addresses, conditions and TOML agree."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qsl

import numpy as np
import pytest
from conditions_oracle import DescribedSides, described_sides
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from typed import loaded

import spanwise
from spanwise.bitmaps import MentionRuns, packed
from spanwise.conditions import Condition, Criterion, Operator, parse
from spanwise.document.evaluation import Evaluation
from spanwise.errors import ChoiceError, InputError
from spanwise.evaluation import Inputs, read_inputs
from spanwise.evaluation.columns import MentionColumns, mention_columns
from spanwise.slices.index import NamedSlice, SliceIndex, read_gate, written_slices
from spanwise.workbench.drawing import ChosenView, Shown, view_of

VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=6)
Case: TypeAlias = tuple[SliceIndex, Inputs, DescribedSides]
OPERATORS: tuple[Operator, ...] = ("=", "!=", ">=", "<")
ATTRIBUTES = ("label", "entity_length", "entity_density", "sentence_length", "entity_frequency")


@pytest.fixture(scope="module")
def case(folder: Path) -> Case:
    files = {name: folder / f"{name}.conll" for name in ("memoriser", "swapper")}
    index = SliceIndex.of(MentionColumns.load(folder / "all.npz"))
    inputs = read_inputs(
        folder / "gold.conll", files, [folder / "train.conll"], align="strict", reading={}, name=None
    )
    return index, inputs, described_sides(inputs)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_the_counts_of_a_slice_equal_an_evaluation_of_its_mentions(case: Case, data: st.DataObject) -> None:
    index, inputs, sides = case
    clauses = []
    for attribute in data.draw(st.sets(st.sampled_from(ATTRIBUTES), min_size=1, max_size=3)):
        names = [b.name for b in index.gold.buckets[attribute] if not b.rest]
        chosen = tuple(sorted(data.draw(st.sets(st.sampled_from(names), min_size=1, max_size=2))))
        clauses.append([Criterion(attribute, data.draw(st.sampled_from(["=", "!="])), chosen)])
    condition = Condition.of(clauses)
    gold = replace(inputs.gold, mentions=inputs.gold.mentions.take(sides.gold.mask(condition)))
    for name, cell in index.counted(condition).items():
        mentions = inputs.systems[name].take(sides.predicted[name].mask(condition))
        overall = spanwise.evaluate(
            gold, {name: replace(inputs.gold, mentions=mentions)}, resamples=0, attributes="none"
        )[name].exact.overall
        assert (cell.gold, cell.predicted, cell.correct) == (overall.gold, overall.predicted, overall.correct)
        totals = index.measure(name, condition).counts.total
        assert totals.tolist() == [[cell.gold, cell.predicted, cell.correct]]


def test_buckets_and_tough_subsets_equal_those_of_the_document(folder: Path, case: Case) -> None:
    index, document = case[0], loaded(folder / "all.json", Evaluation)
    for name, system in document.systems.items():
        for attribute, table in system.attributes.items():
            for bucket in table.buckets:
                if table.unit != "mention" or bucket.rest:
                    continue
                cell = index.counted(Condition.equal({attribute: bucket.name}))[name]
                assert (cell.gold, cell.predicted, cell.correct) == (
                    bucket.gold,
                    bucket.predicted,
                    bucket.correct,
                )
        for subset, scores in system.tough.items():
            cell = index.counted(Condition.equal({"toughness": subset}))[name]
            assert cell.predicted is None and cell.score("f1") is None
            assert cell.score("recall") == pytest.approx(scores.overall.recall)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 90)), max_size=30), st.randoms(use_true_random=False)
)
def test_counting_bits_along_runs_equals_counting_one_by_one(
    runs: list[tuple[int, int]], chance: random.Random
) -> None:
    column = np.repeat(np.array([of for of, _ in runs], int), [size for _, size in runs])
    bits = np.array([chance.random() < 0.3 for _ in column], bool)
    counted_runs = MentionRuns.along(column)
    expected = np.bincount(column[bits], minlength=4)
    assert counted_runs.totals(packed(bits), 4).tolist() == expected.tolist()
    inside = [bits[a:b].sum() for a, b in itertools.pairwise(counted_runs.at.tolist())]
    assert counted_runs.counts(packed(bits)).tolist() == inside
    assert counted_runs.reached(packed(bits)) == sum(number > 0 for number in inside)


def test_facet_counts_add_up_to_the_slice(case: Case) -> None:
    index = case[0]
    condition = parse("label=ORG")
    number = index.counted(condition)["swapper"].gold
    for attribute, counts in index.facets(condition).items():
        if attribute not in ("label", "toughness"):
            assert sum(counts.values()) == number
    assert sum(index.facets(condition)["label"].values()) == index.gold.number


def test_words_phrases_and_prefixes_select_mentions(case: Case) -> None:
    index = case[0]
    whole = index.counted(None)["swapper"].gold
    of, prefix = (index.counted(parse(f"text={text}"))["swapper"].gold for text in ("of", "o*"))
    assert 0 < of <= prefix <= whole
    assert index.counted(parse("text!=of"))["swapper"].gold == whole - of


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("colour=red", "no attribute of these mentions is called 'colour'"),
        ("label=ANIMAL", "no value of label is called 'ANIMAL'"),
        ("toughness=HARD", "no tough subset is called 'HARD'"),
        ("sentence_length>=4.5", "cuts through a bucket of sentence_length"),
    ],
)
def test_conditions_that_cannot_be_counted_are_refused_with_a_sentence(
    case: Case, text: str, says: str
) -> None:
    with pytest.raises(ChoiceError, match=says):
        case[0].counted(parse(text))


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    clauses = []
    for _ in range(draw(st.integers(1, 4))):
        clause = []
        for _ in range(draw(st.integers(1, 2))):
            operator = draw(st.sampled_from(OPERATORS))
            values: tuple[str, ...] = (str(draw(st.integers(-5, 5))),)
            if operator in ("=", "!="):
                values = tuple(sorted(draw(st.sets(VALUES, min_size=1, max_size=3))))
            clause.append(
                Criterion(draw(st.sampled_from(["label", "text", "after", "domain"])), operator, values)
            )
        clauses.append(clause)
    return Condition.of(clauses)


def merged(condition: Condition) -> bool:
    """Whether two clauses test the same attribute for equality, which a form would read as or."""
    alone = [
        clause[0].attribute for clause in condition.clauses if len(clause) == 1 and clause[0].operator == "="
    ]
    return len(alone) != len(set(alone))


@given(conditions())
def test_an_address_is_parsed_back_to_the_same_conditions(condition: Condition) -> None:
    if merged(condition):
        return
    view = ChosenView(condition, (Shown("outcome", "a&b:wrong"),))
    again = view_of(parse_qsl(view.query(), keep_blank_values=True))
    assert again == view and again.query() == view.query()


@given(conditions(), st.text(st.characters(codec="utf-8"), min_size=1, max_size=8))
def test_a_slice_is_read_back_from_toml(
    tmp_path_factory: pytest.TempPathFactory, condition: Condition, name: str
) -> None:
    path = tmp_path_factory.mktemp("toml") / "slices.toml"
    path.write_text(
        written_slices({name: NamedSlice(where=str(condition), f1=80)}), encoding="utf-8", newline=""
    )
    floor = read_gate(path).slices[0]
    assert (floor.name, floor.condition, floor.least) == (name, condition, 80)


def test_a_form_with_several_boxes_means_or() -> None:
    assert str(view_of([("label", "ORG"), ("label", "PER")]).condition) == "label=ORG,PER"
    assert (
        str(view_of([("entity_length", ">=3"), ("label", "!PER,!LOC")]).condition)
        == "entity_length>=3 & label!=LOC,PER"
    )


def test_more_than_sixteen_conditions_are_refused() -> None:
    with pytest.raises(ChoiceError, match="more than 16"):
        view_of([(f"a{number}", "x") for number in range(17)])


def test_columns_are_reproducible_and_contain_no_pickle(folder: Path, tmp_path: Path) -> None:
    columns = MentionColumns.load(folder / "all.npz")
    columns.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (folder / "all.npz").read_bytes()
    assert all(array.dtype.kind in "iu" for array in columns.arrays.values())


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY", b"x" * 100])
def test_another_file_is_refused_as_columns(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other.npz").write_bytes(content)
    assert MentionColumns.read_head(tmp_path / "other.npz") is None
    with pytest.raises(InputError, match="does not hold mention columns"):
        MentionColumns.load(tmp_path / "other.npz")


def test_redacted_columns_contain_no_text() -> None:
    gold = spanwise.read([["B-PER", "O"]], tokens=[["Secret", "left"]])
    columns = mention_columns(spanwise.evaluate(gold, {"one": gold}, redact=True))
    assert columns.words(0) == [] and "tokens" not in columns.arrays
    with pytest.raises(ChoiceError, match="cannot be searched for"):
        SliceIndex.of(columns).counted(parse("text=Secret"))
