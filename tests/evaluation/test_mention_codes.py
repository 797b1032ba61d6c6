"""Counts of any filter from the mention codes of a document equal the counts of `evaluate`."""

from __future__ import annotations

import base64
import zlib
from itertools import cycle, product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from typed import present

import spanwise
from spanwise.attributes import ATTRIBUTES
from spanwise.columns import Bools
from spanwise.conditions import parse
from spanwise.demo import Demo, generate
from spanwise.document.evaluation import Evaluation, MentionCodes, PackedColumn
from spanwise.document.loading import document_of
from spanwise.errors import InputError
from spanwise.evaluation.columns import mention_columns
from spanwise.gates import compare_documents
from spanwise.mentions import MentionTable, MentionTables
from spanwise.mentions.packing import unpack_codes
from spanwise.slices.index import SliceIndex

Cells = tuple[int, int, int]


class Codes(NamedTuple):
    """The mentions of a document, and what their columns stand for."""

    about: MentionCodes
    tables: MentionTables


def coded(document: Evaluation) -> Codes:
    about = present(document.mentions)
    return Codes(about, present(unpack_codes(about, location="here")))


def counted(codes: Codes, system: str, where: dict[str, str]) -> Cells:
    """The numbers of gold, predicted and correct mentions with this label in these buckets."""

    def inside(table: MentionTable) -> Bools:
        mask = np.ones(len(table), dtype=bool)
        for name, value in where.items():
            if name == "label":
                mask &= table.where(label=value)
            else:
                mask &= table[f"bucket.{name}"] == codes.about.buckets[name].index(value)
        return mask

    gold, others = codes.tables.gold, codes.tables.systems[system]
    found, of_gold, of_others = gold[f"found.{system}"], inside(gold), inside(others)
    same = of_gold & (found == 1)
    correct = same.sum() + (of_gold[found == 2] & of_others[others["right"]]).sum()
    return int(of_gold.sum()), int(same.sum() + of_others.sum()), int(correct)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return generate(tmp_path_factory.mktemp("demo"), sentences=80)


def test_every_pair_of_filters_has_the_counts_of_the_index_of_all_mentions(demo: Demo) -> None:
    """A gold mention whose prediction is in another bucket is correct in neither bucket."""
    turn = cycle("xxyxy")

    def fickle(mention: object) -> str:
        return next(turn)

    spanwise.attribute(fickle, summary="another value at every call")
    chosen = ["entity_length", "sentence_length", "entity_frequency", "entity_label_consistency", "fickle"]
    try:
        result = spanwise.evaluate(demo.gold, demo.systems, train=demo.train, attributes=chosen, resamples=0)
    finally:
        ATTRIBUTES.remove("fickle")
    codes, index = coded(result), SliceIndex.of(mention_columns(result))
    values: dict[str, tuple[str, ...]] = {"label": codes.about.labels, **codes.about.buckets}
    for name_a, name_b in product(values, values):
        for first, second in product(values[name_a], values[name_b]):
            if name_a == name_b or {first, second} & {"other", "unplaced"}:
                continue
            expected = index.counted(parse(f'{name_a}="{first}" & {name_b}="{second}"'))
            for system, cell in expected.items():
                counts = counted(codes, system, {name_a: first, name_b: second})
                assert counts == (cell.gold, cell.predicted, cell.correct), (name_a, first, name_b, second)
    assert any((found == 2).any() for found in codes.tables.gold.named("found").values())


def test_tough_subsets_equal_those_of_the_scores(demo: Demo) -> None:
    result = spanwise.evaluate(demo.gold, demo.systems, train=demo.train, resamples=0)
    codes = coded(result)
    for name, scores in result.systems.items():
        for subset in codes.about.subsets:
            inside = codes.tables.gold[f"tough.{subset}"]
            cell = scores.tough[subset].overall
            assert cell.mentions == inside.sum()
            assert cell.correct == (inside & (codes.tables.gold[f"found.{name}"] > 0)).sum()


TAGS = st.lists(
    st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"]), min_size=1, max_size=7),
    min_size=1,
    max_size=6,
)


@given(gold=TAGS, data=st.data())
def test_a_filter_of_label_and_length_has_the_counts_of_evaluating_its_mentions(
    gold: list[list[str]], data: st.DataObject
) -> None:
    predicted = [
        data.draw(st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B"]), min_size=len(row), max_size=len(row)))
        for row in gold
    ]
    result = spanwise.evaluate(gold, {"one": predicted}, attributes=["entity_length"], resamples=0)
    again = document_of(result.to_dict())
    assert isinstance(again, Evaluation)
    codes = coded(again)
    spans = [set(mentions.rows()) for mentions in (result["one"].gold, result["one"].predicted)]
    for label, (bucket, length) in product(codes.about.labels, {"XS": 1, "S": 2, "L": 3}.items()):
        if bucket not in codes.about.buckets["entity_length"]:
            continue
        in_gold, in_predicted = (
            {row for row in rows if row[3] == label and row[2] - row[1] == length} for rows in spans
        )
        counts = counted(codes, "one", {"label": label, "entity_length": bucket})
        assert counts == (len(in_gold), len(in_predicted), len(in_gold & in_predicted))


def test_blocks_of_sentences_are_the_units_of_codes(demo: Demo) -> None:
    result = spanwise.evaluate(demo.gold, demo.systems, unit="block:7", resamples=0)
    codes = coded(result)
    sentences = result[next(iter(result))].gold.sentence
    assert codes.tables.gold["unit"].tolist() == (sentences // 7).tolist()


def test_documents_over_the_same_gold_file_are_compared_with_their_mentions(demo: Demo) -> None:
    names = list(demo.systems)
    alone = [
        spanwise.evaluate(demo.gold, {name: demo.systems[name]}, train=train, resamples=0)
        for name, train in zip(names, (demo.train, None), strict=False)
    ]
    merged = compare_documents(alone, names=["a.json", "b.json"], resamples=0)
    codes, together = coded(merged), spanwise.evaluate(demo.gold, demo.systems, resamples=0)
    assert (
        not codes.about.subsets and "entity_frequency" not in codes.about.buckets
    )  # only one has training data
    whole = coded(together)
    for name in names[:2]:
        for label, bucket in product(whole.about.labels, codes.about.buckets["entity_length"]):
            where = {"label": label, "entity_length": bucket}
            assert counted(codes, name, where) == counted(whole, name, where)


def test_too_many_mentions_are_reported_and_not_kept(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("mentions.packing", "evaluation.counting"):
        monkeypatch.setattr(f"spanwise.{module}.MOST_MENTIONS", 30)
    results = [
        spanwise.evaluate(demo.gold, demo.systems, resamples=0, memory=memory) for memory in (None, "1GB")
    ]
    first, second = (present(result.mentions) for result in results)
    assert first == second
    overall = [system.exact.overall for system in results[0].systems.values()]
    assert first.number == overall[0].gold + sum(scores.predicted for scores in overall)
    assert first.cap == 30 and not first.gold and unpack_codes(first, location="here") is None


def test_codes_contain_no_text_and_survive_redaction(demo: Demo) -> None:
    plain, redacted = (
        spanwise.evaluate(demo.gold, demo.systems, train=demo.train, resamples=0, redact=redact)
        for redact in (False, True)
    )
    assert plain.mentions == redacted.mentions


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"codes": "!"}, "here: its mentions cannot be read"),
        ({"codes": "eJwDAAAAAAE="}, "does not fit"),
        ({"name": "labels"}, "'label'"),
    ],
)
def test_damaged_columns_are_refused(demo: Demo, change: dict[str, str], message: str) -> None:
    mentions = present(spanwise.evaluate(demo.gold, demo.systems, resamples=0).mentions)
    gold = [replace(column, **change) if column.name == "label" else column for column in mentions.gold]
    with pytest.raises(InputError, match=message):
        unpack_codes(replace(mentions, gold=gold), location="here")


def test_a_system_that_does_not_fit_gold_is_refused(demo: Demo) -> None:
    mentions = present(spanwise.evaluate(demo.gold, demo.systems, resamples=0).mentions)
    column = PackedColumn(
        name="found", width=1, codes=base64.b64encode(zlib.compress(bytes([2] * 9))).decode()
    )
    name, columns = next(iter(mentions.systems.items()))
    wrong = {name: [column, *(other for other in columns if other.name != "found")]}
    with pytest.raises(InputError, match="does not fit the gold mentions"):
        unpack_codes(replace(mentions, systems=wrong), location="here")
