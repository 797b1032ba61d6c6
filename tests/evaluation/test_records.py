"""Data in memory, in the shapes people have it, gives the same numbers as the same data in files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import spanwise
from spanwise.columns import Column
from spanwise.errors import ChoiceError, InputError

if TYPE_CHECKING:
    from spacy.training import Example

Span: TypeAlias = tuple[int, int, str]
Record: TypeAlias = dict[str, object]
Columns: TypeAlias = Mapping[str, Sequence[object]]
Maker: TypeAlias = Callable[[Columns], object]  # makes a frame

TOKENS = [["Ann", "Lee", "saw", "Rome"], ["Bob", "left"]]
GOLD = [["B-PER", "I-PER", "O", "B-LOC"], ["B-PER", "O"]]
PREDICTED = [["B-PER", "I-PER", "O", "O"], ["B-PER", "B-LOC"]]
NAMES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
TEXTS = [" ".join(words) for words in TOKENS]
ENTITIES: list[list[Span]] = [[(0, 7, "PER"), (12, 16, "LOC")], [(0, 3, "PER")]]
SAID: list[list[Span]] = [[(0, 7, "PER")], [(0, 3, "PER"), (4, 8, "LOC")]]


def counts(*sources: object, **options: Any) -> dict[str, tuple[int, int, int]]:
    """The numbers of gold, predicted and correct mentions of each system."""
    result = spanwise.evaluate(*sources, resamples=0, attributes="none", **options)
    sums = {name: result[name].exact.overall for name in result.systems}
    return {name: (scores.gold, scores.predicted, scores.correct) for name, scores in sums.items()}


def tagged(tags: Sequence[Sequence[str] | Column]) -> list[Record]:
    """Records of tokens with tags."""
    return [{"tokens": words, "tags": marks} for words, marks in zip(TOKENS, tags, strict=True)]


def texts(spans: Sequence[Sequence[object] | Column], key: str = "entities") -> list[Record]:
    """Records of texts with spans of characters."""
    return [{"text": text, key: listed} for text, listed in zip(TEXTS, spans, strict=True)]


def grouped(spans: Sequence[Sequence[Span]]) -> list[list[Record]]:
    """The output of a token classification pipeline with aggregation; its scores are NumPy numbers."""
    return [
        [
            {"entity_group": label, "score": np.float32(0.5), "word": text[start:end],
             "start": start, "end": end}
            for start, end, label in listed
        ]
        for text, listed in zip(TEXTS, spans, strict=True)
    ]  # fmt: skip


def pieces(spans: Sequence[Sequence[Span]]) -> list[list[Record]]:
    """The output without aggregation: pieces of up to three characters, without words outside mentions."""
    result: list[list[Record]] = []
    for text, listed in zip(TEXTS, spans, strict=True):
        rows: list[Record] = []
        for start, end, label in listed:
            for at in range(start, end, 3):
                tag = ("B-" if at == start else "I-") + label
                last = min(at + 3, end)
                rows.append(
                    {"entity": tag, "score": np.float32(0.5), "index": 1 + at // 3 + start,
                     "word": text[at:last], "start": at, "end": last}
                )  # fmt: skip
        result.append(rows)
    return result


RIGHT = {"mine": (3, 3, 2)}


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [
        (tagged(GOLD), tagged(PREDICTED)),
        (tuple(tagged(GOLD)), tuple(tagged(PREDICTED))),
        (tagged(GOLD), PREDICTED),
        (texts(ENTITIES), texts(SAID)),
        (texts(ENTITIES, "spans"), texts(SAID, "ents")),
        (texts(ENTITIES), [(text, {"entities": one}) for text, one in zip(TEXTS, SAID, strict=True)]),
        (texts(ENTITIES), grouped(SAID)),
        (texts(ENTITIES), pieces(SAID)),
        (texts(ENTITIES), SAID),
        (
            texts(ENTITIES),
            [[{"start": a, "end": b, "label": label} for a, b, label in one] for one in SAID],
        ),
        (
            texts(
                [
                    [{"start_offset": a, "end_offset": b, "label": label} for a, b, label in one]
                    for one in SAID
                ]
            ),
            texts([np.array(one, dtype=object) for one in ENTITIES]),
        ),
    ],
    ids=str,
)
def test_records_are_accepted_as_they_are(gold: object, predicted: object) -> None:
    assert counts(gold, {"mine": predicted}) == RIGHT


def test_records_without_a_name_are_one_system() -> None:
    assert counts(tagged(GOLD), tagged(PREDICTED)) == {"predicted": RIGHT["mine"]}
    assert counts(texts(ENTITIES), grouped(SAID)) == {"predicted": RIGHT["mine"]}


def test_numbers_of_tags_are_named_by_labels() -> None:
    numbers = [np.array([NAMES.index(tag) for tag in tags]) for tags in PREDICTED]
    assert counts(tagged(GOLD), {"mine": tagged(numbers)}, labels=NAMES) == RIGHT


def test_the_output_of_a_pipeline_for_one_text_is_one_record() -> None:
    assert counts(texts(ENTITIES)[:1], grouped(SAID)[0]) == {"predicted": (2, 1, 1)}


def test_a_pipeline_that_finds_nothing_has_recall_zero() -> None:
    assert counts(texts(ENTITIES), {"mine": [[], []]}) == {"mine": (3, 0, 0)}


def test_words_that_a_pipeline_lists_outside_mentions_are_not_mentions() -> None:
    listed: list[list[Record]] = [
        [{"entity": "O", "score": 0.9, "index": 1, "word": "Ann", "start": 0, "end": 3}],
        [{"entity": "B-PER", "score": 0.9, "index": 1, "word": "Bob", "start": 0, "end": 3}],
    ]
    assert counts(texts(ENTITIES), listed) == {"predicted": (3, 1, 1)}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]), min_size=1, max_size=6),
        min_size=1,
        max_size=5,
    )
)
def test_records_give_the_annotation_of_a_file_of_them(
    tmp_path_factory: pytest.TempPathFactory, tags: list[list[str]]
) -> None:
    records = [{"tokens": [f"w{at}" for at in range(len(row))], "tags": row} for row in tags]
    path = tmp_path_factory.mktemp("records") / "x.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    from_file, from_records = spanwise.read(path), spanwise.read(records)
    assert from_records.mentions.rows() == from_file.mentions.rows()
    assert from_records.corpus.sentences.tolist() == from_file.corpus.sentences.tolist()
    assert from_records.reading.evidence == from_file.reading.evidence
    assert from_records.reading.notes == from_file.reading.notes


def side_by_side() -> Columns:
    """Columns of a table with a row for each sentence."""
    return {"tokens": TOKENS, "gold": GOLD, "predicted": PREDICTED}


def by_token() -> Columns:
    """Columns of a table with a row for each token."""
    return {
        "sentence": [number for number, words in enumerate(TOKENS) for _ in words],
        "token": [word for words in TOKENS for word in words],
        "tag": [tag for tags in GOLD for tag in tags],
        "pred": [tag for tags in PREDICTED for tag in tags],
    }


def made_by(library: str, maker: str) -> Maker:
    def make(columns: Columns) -> object:
        return attrgetter(maker)(pytest.importorskip(library))(dict(columns))

    return make


def rows_of(columns: Columns) -> list[Record]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


FRAMES: dict[str, Maker] = {
    "pandas": made_by("pandas", "DataFrame"),
    "polars": made_by("polars", "DataFrame"),
    "arrow": made_by("pyarrow", "table"),
    "datasets": made_by("datasets", "Dataset.from_dict"),
    "records": rows_of,
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_columns_of_gold_and_predictions_are_found_or_named(make: Maker) -> None:
    expected = {"predicted": RIGHT["mine"]}
    assert counts(make(side_by_side())) == expected
    renamed = {"tokens": TOKENS, "expert": GOLD, "bert": PREDICTED, "crf": GOLD}
    assert counts(make(renamed), {"mine": "bert"}, gold="expert") == RIGHT
    assert counts(make(renamed), ["bert", "crf"], gold="expert") == {"bert": (3, 3, 2), "crf": (3, 3, 3)}
    assert counts(make(renamed), "bert", gold="expert") == {"bert": (3, 3, 2)}
    several = {"tokens": TOKENS, "ner_tags": GOLD, "pred_bert": PREDICTED, "pred_crf": GOLD}
    assert counts(make(several)) == {"bert": (3, 3, 2), "crf": (3, 3, 3)}


@pytest.mark.parametrize("make", list(FRAMES.values())[:3], ids=list(FRAMES)[:3])
def test_a_row_may_be_a_token(make: Maker) -> None:
    assert counts(make(by_token())) == {"predicted": RIGHT["mine"]}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_columns_may_contain_spans(make: Maker) -> None:
    def objects(listed: Sequence[Sequence[Span]]) -> list[list[Record]]:
        return [[{"start": a, "end": b, "label": label} for a, b, label in spans] for spans in listed]

    table: Columns = {"text": TEXTS, "entities": objects(ENTITIES), "predicted_entities": objects(SAID)}
    assert counts(make(table)) == {"predicted": RIGHT["mine"]}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_a_frame_can_be_gold_for_predictions_from_elsewhere(make: Maker) -> None:
    gold, predicted = {"tokens": TOKENS, "tags": GOLD}, {"tokens": TOKENS, "tags": PREDICTED}
    assert counts(make(gold), {"mine": make(predicted)}) == RIGHT
    assert counts(make({"tokens": TOKENS, "expert": GOLD}), {"mine": make(predicted)}, gold="expert") == RIGHT


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_a_missing_column_of_gold_or_predictions_is_reported(make: Maker) -> None:
    with pytest.raises(ChoiceError, match=r"no column is called 'golden'\. Did you mean 'gold'\?"):
        counts(make(side_by_side()), {"mine": "predicted"}, gold="golden")
    with pytest.raises(ChoiceError, match="no predictions were given, and no column seems to hold any"):
        counts(make({"tokens": TOKENS, "tags": GOLD}))
    with pytest.raises(InputError, match="no column seems to hold gold"):
        counts(make({"tokens": TOKENS, "mine": GOLD}), {"mine": "mine"})


def test_class_labels_of_a_dataset_name_the_numbers_of_both_sides() -> None:
    datasets = pytest.importorskip("datasets")
    labels = datasets.Sequence(datasets.ClassLabel(names=NAMES))
    numbers = [[[NAMES.index(tag) for tag in tags] for tags in side] for side in (GOLD, PREDICTED)]
    dataset = datasets.Dataset.from_dict(
        {"tokens": TOKENS, "ner_tags": numbers[0], "predictions": numbers[1]},
        features=datasets.Features(
            tokens=datasets.Sequence(datasets.Value("string")),
            ner_tags=labels,
            predictions=datasets.Sequence(datasets.Value("int64")),
        ),
    )
    assert counts(dataset) == {"predicted": RIGHT["mine"]}
    assert counts(dataset.select([1])) == {"predicted": (1, 2, 1)}


def test_scores_of_a_frame_are_kept() -> None:
    pandas = pytest.importorskip("pandas")
    spans = [[{"start": 0, "end": 2, "label": "PER", "score": 0.25}], []]
    score = spanwise.read(pandas.DataFrame({"tokens": TOKENS, "spans": spans})).mentions.score
    assert score is not None and score.tolist() == [0.25]


def example(gold: Sequence[Span], predicted_spans: Sequence[Span], *, cut: bool) -> Example:
    """A spaCy `Example`; its predicted document marks sentences, its reference only if `cut`."""
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import Doc, Span
    from spacy.training import Example

    vocab = spacy.blank("en").vocab
    words = [word for sentence in TOKENS for word in sentence]
    starts: list[bool | int | None] = [True, False, False, False, True, False]
    reference = Doc(vocab, words, sent_starts=starts if cut else None)
    predicted = Doc(vocab, words, sent_starts=starts)
    reference.ents = [Span(reference, *span) for span in gold]
    predicted.ents = [Span(predicted, *span) for span in predicted_spans]
    return Example(predicted, reference)


@pytest.mark.parametrize(("cut", "sentences"), [(True, 2), (False, 1)])
def test_spacy_examples_contain_gold_and_predictions(cut: bool, sentences: int) -> None:
    gold, predicted_spans = (
        [(0, 2, "PER"), (3, 4, "LOC"), (4, 5, "PER")],
        [(0, 2, "PER"), (4, 5, "PER"), (5, 6, "LOC")],
    )
    pair = example(gold, predicted_spans, cut=cut)
    result = spanwise.evaluate([pair], resamples=0)
    overall = result["predicted"].exact.overall
    assert (overall.gold, overall.predicted, overall.correct) == (3, 3, 2)
    assert result.dataset.sentences == sentences
    assert counts(pair) == {"predicted": (3, 3, 2)}


def test_a_predicted_entity_over_a_sentence_end_joins_the_sentences_of_both_sides() -> None:
    pair = example([(0, 2, "PER")], [(3, 5, "LOC")], cut=True)
    assert spanwise.evaluate([pair], resamples=0).dataset.sentences == 1


def test_other_functions_accept_records_too() -> None:
    gold = tagged(GOLD)
    assert spanwise.describe(gold).dataset.mentions == 3
    assert spanwise.compare(gold, {"a": tagged(PREDICTED), "b": gold}, resamples=0).kind == "comparison"
    placed = spanwise.place(gold, [{"answers": [{"text": "Rome", "label": "LOC"}]}, {"answers": []}])
    assert placed.policies.ordered.correct == 1
    agreement = spanwise.agree({"a": gold, "b": tagged(PREDICTED)})
    assert agreement.pairs[0].overall.both == 2
    assert spanwise.evaluate(gold, gold, train=gold, resamples=0).dataset.tough is not None


def test_a_file_of_records_may_contain_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "both.jsonl"
    rows = [{**record, "predicted": tags} for record, tags in zip(tagged(GOLD), PREDICTED, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert list(counts(path).values()) == [RIGHT["mine"]]
    path.write_text("".join(json.dumps({**row, "pred_b": row["tags"]}) + "\n" for row in rows))
    with pytest.raises(InputError, match="predictions of several systems: predicted, b"):
        counts(path)


def test_a_wrong_record_is_named_by_its_number() -> None:
    wrong = [*tagged(GOLD)[:1], {"tokens": ["Bob"], "tags": ["B-PER", "O"]}]
    with pytest.raises(InputError, match=r"^<records>:2: the record has 2 tags, but 1 token\."):
        counts(tagged(GOLD), {"mine": wrong})


def test_inputs_are_left_as_they_are() -> None:
    gold, predicted = texts(ENTITIES), grouped(SAID)
    before = repr((gold, predicted))
    counts(gold, predicted)
    assert repr((gold, predicted)) == before
