"""Evaluation of lists: numbers computed by hand, laws, and results that can be inspected."""

from __future__ import annotations

import base64
import copy
import json
import operator
import zlib
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace
from typed import Plain, loaded, present

import spanwise
from spanwise.corpus import Mentions
from spanwise.document.scores import ExactScores
from spanwise.errors import ChoiceError, InputError

LABELS = ("PER", "LOC", "ORG")
PREFIXES = ("O", *(f"{prefix}-{label}" for prefix in "BI" for label in LABELS))

tags = st.lists(st.sampled_from(PREFIXES), min_size=1, max_size=8)
pairs = st.lists(
    tags.flatmap(
        lambda gold: st.tuples(
            st.just(gold), st.lists(st.sampled_from(PREFIXES), min_size=len(gold), max_size=len(gold))
        )
    ),
    min_size=1,
    max_size=6,
)
law = settings(deadline=None, derandomize=True, max_examples=60)


Pairs: TypeAlias = list[tuple[list[str], list[str]]]  # gold and predicted tags of each sentence


def evaluated(gold: list[list[str]], predicted: list[list[str]], **options: Any) -> spanwise.Result:
    return spanwise.evaluate(gold, {"mine": predicted}, **{"resamples": 0, "scheme": "IOB2", **options})


def overall(gold: list[list[str]], predicted: list[list[str]]) -> ExactScores:
    return evaluated(gold, predicted)["mine"].exact.overall


def test_scores_by_hand() -> None:
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["B-ORG", "O"]]
    predicted = [["B-PER", "I-PER", "O", "B-ORG"], ["O", "B-LOC"]]
    scores = evaluated(gold, predicted)["mine"]
    assert scores.exact.overall.gold == 3
    assert scores.exact.overall.predicted == 3
    assert scores.exact.overall.correct == 1
    assert scores.exact.overall.f1 == pytest.approx(1 / 3)
    assert scores.exact.overall.accuracy == pytest.approx(3 / 6)
    assert scores.fair.overall.LE == 1
    assert scores.fair.overall.FN == 1
    assert scores.fair.overall.FP == 1
    assert scores.exact.macro.f1 == pytest.approx(1 / 3), "PER 1, LOC 0, ORG 0"


def test_empty_prediction_has_f1_zero_and_no_precision() -> None:
    scores = overall([["B-PER", "O"]], [["O", "O"]])
    assert scores.f1 == 0
    assert scores.precision is None


def test_nothing_on_either_side_is_undefined() -> None:
    scores = overall([["O", "O"]], [["O", "O"]])
    assert scores.f1 is None
    assert scores.precision is None
    assert scores.recall is None
    assert scores.accuracy == 1


def test_spans_and_tags_give_the_same_scores() -> None:
    gold_tags, predicted_tags = [["B-PER", "I-PER", "O"]], [["B-PER", "O", "B-LOC"]]
    gold_spans, predicted_spans = [[(0, 2, "PER")]], [[(0, 1, "PER"), (2, 3, "LOC")]]
    from_tags = evaluated(gold_tags, predicted_tags)["mine"]
    from_spans = spanwise.evaluate(gold_spans, {"mine": predicted_spans}, resamples=0)["mine"]
    assert dict(from_tags.fair.overall) == dict(from_spans.fair.overall)


@law
@given(pairs)
def test_fair_laws_hold(sentences: Pairs) -> None:
    scores = evaluated([g for g, _ in sentences], [p for _, p in sentences])["mine"]
    exact, fair = scores.exact.overall, scores.fair.overall
    events = sum(fair[name] for name in ("TP", "LE", "BE", "LBE", "FN", "FP"))
    assert max(exact.gold, exact.predicted) <= events <= exact.gold + exact.predicted
    assert exact.correct == fair.TP
    if exact.f1 is not None:
        assert present(fair.f1) >= exact.f1 - 1e-12
    confusion = scores.confusion
    by_gold = {label: scores.fair.labels[label] for label in confusion["labels"]}
    for row, label in enumerate(confusion["labels"]):
        cell = by_gold[label]
        errors = cell["LE"] + cell["BE"] + cell["LBE"] + cell["FN"]
        assert sum(confusion["counts"][row]) + confusion["missed"][row] == errors


@law
@given(pairs)
def test_both_foci_share_what_each_counts(sentences: Pairs) -> None:
    gold, predicted = [g for g, _ in sentences], [p for _, p in sentences]
    by = {
        focus: evaluated(gold, predicted, focus=focus)["mine"].fair for focus in ("gold", "predicted", "both")
    }
    for label in by["both"].labels:
        for name in ("TP", "FP", "FN", "LE", "BE", "LBE"):
            mean = (by["gold"].labels[label][name] + by["predicted"].labels[label][name]) / 2
            assert by["both"].labels[label][name] == mean
    assert by["both"].overall.f1 == by["gold"].overall.f1 == by["predicted"].overall.f1


@law
@given(pairs)
def test_gold_against_itself_has_no_error_and_no_gain(sentences: Pairs) -> None:
    gold = [g for g, _ in sentences]
    scores = evaluated(gold, gold)["mine"]
    assert scores.exact.overall.correct == scores.exact.overall.gold == scores.exact.overall.predicted
    assert all(cell["gain"] in (0, None) for cell in scores.gains.values())


@law
@given(pairs)
def test_every_listed_event_is_counted(sentences: Pairs) -> None:
    scores = evaluated([g for g, _ in sentences], [p for _, p in sentences])["mine"]
    events = scores.events()
    for name in ("TP", "LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP"):
        assert sum(event["outcome"] == name for event in events) == scores.fair.overall[name]


def test_accuracy_is_undefined_where_mentions_overlap() -> None:
    spans = [[(0, 2, "PER"), (1, 3, "LOC")]]
    result = spanwise.evaluate(spans, {"mine": spans}, tokens=[["a", "b", "c"]], resamples=0)
    assert result["mine"].exact.overall.accuracy is None


@law
@given(pairs)
def test_accuracy_counts_equal_tags_after_decoding_and_encoding(sentences: Pairs) -> None:
    gold, predicted = [g for g, _ in sentences], [p for _, p in sentences]
    result = evaluated(gold, predicted)

    def encoded(mentions: Mentions, number: int, length: int) -> list[str]:
        tags = ["O"] * length
        for sentence, start, end, label in mentions.rows():
            if sentence == number:
                tags[start:end] = [f"B-{label}", *([f"I-{label}"] * (end - start - 1))]
        return tags

    equal = total = 0
    for number, tokens in enumerate(gold):
        gold_tags = encoded(result["mine"].gold, number, len(tokens))
        predicted_tags = encoded(result["mine"].predicted, number, len(tokens))
        equal += sum(a == b for a, b in zip(gold_tags, predicted_tags, strict=True))
        total += len(tokens)
    assert result["mine"].exact.overall.accuracy == pytest.approx(equal / total)


def test_the_same_input_and_seed_give_the_same_bytes() -> None:
    gold = [["B-PER", "O"], ["O", "B-LOC"], ["B-ORG", "I-ORG"]] * 5
    predicted = [["B-PER", "O"], ["O", "B-ORG"], ["B-ORG", "O"]] * 5
    first, second = (spanwise.evaluate(gold, {"a": predicted, "b": gold}, resamples=100) for _ in range(2))
    assert first.to_json() == second.to_json()


def test_inputs_are_never_changed() -> None:
    gold, predicted = [["B-PER", "I-LOC"]], [["I-PER", "O"]]
    spanwise.evaluate(gold, {"a": predicted}, resamples=10)
    assert gold == [["B-PER", "I-LOC"]]
    assert predicted == [["I-PER", "O"]]


def test_every_score_has_an_interval_that_contains_it() -> None:
    gold = [["B-PER", "O", "B-LOC"]] * 40
    predicted = [["B-PER", "O", "O"]] * 20 + [["B-PER", "O", "B-LOC"]] * 20
    scores = spanwise.evaluate(gold, {"a": predicted}, resamples=200)["a"]
    for cell in (scores.exact.overall, scores.exact.macro, scores.exact.labels["LOC"], scores.fair.overall):
        low, high = present(cell.interval["f1"])
        assert present(low) <= present(cell.f1) <= present(high)
    gain = scores.gains["FN"]
    low, high = present(gain.interval["gain"])
    assert present(low) <= present(gain.gain) <= present(high)


def test_a_document_contains_only_json_numbers() -> None:
    document = json.loads(spanwise.evaluate([["O"]], {"a": [["O"]]}).to_json())
    assert document["systems"]["a"]["exact"]["overall"]["f1"] is None


def test_documents_are_resampled_if_they_are_marked() -> None:
    corpus = spanwise.Corpus.of([["a"], ["b"], ["c"]], documents=[2, 1])
    mentions = spanwise.Mentions.of([(0, 0, 1, "X"), (2, 0, 1, "X")])
    annotation = spanwise.Annotation(corpus, mentions)
    by_document = spanwise.evaluate(annotation, {"a": annotation}, resamples=20)
    assert by_document.settings.unit == "document"
    assert by_document.settings.units == 2
    assert by_document.settings.few_units
    by_sentence = spanwise.evaluate(annotation, {"a": annotation}, resamples=20, unit="sentence")
    assert by_sentence.settings.units == 3


def test_documents_cannot_be_resampled_if_there_are_none() -> None:
    with pytest.raises(InputError, match="marks no documents"):
        evaluated([["O"]], [["O"]], unit="document")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"focus": "golden"}, "no focus is called 'golden'. Did you mean 'gold'?"),
        ({"correction": "bonferroni"}, "no correction is called 'bonferroni'"),
        ({"examples": "some"}, "no policy for examples is called 'some'"),
        ({"resamples": -1}, "resamples is -1, but must be between 0 and 1,000,000"),
        ({"seed": -1}, "seed is -1"),
        ({"confidence": 1.5}, "confidence is 1.5"),
        ({"unit": "page"}, "unit is 'page'"),
        ({"cross": [("token_frequency", "label")]}, "'token_frequency' is an attribute of tokens"),
        ({"pairs": [("mine", "yours")]}, "no system is called 'yours'"),
        (
            {"cross": [("entity_frequency", "label")]},
            "'entity_frequency' cannot be crossed: the file holds only positions",
        ),
    ],
)
def test_wrong_choices_are_explained_in_a_sentence(options: Plain, message: str) -> None:
    with pytest.raises(ChoiceError) as caught:
        evaluated([["B-PER"]], [["B-PER"]], **options)
    assert message in str(caught.value)


def test_a_comparison_needs_two_systems() -> None:
    with pytest.raises(ChoiceError, match="needs at least two systems"):
        spanwise.compare([["O"]], {"a": [["O"]]})
    with pytest.raises(ChoiceError, match="no system to evaluate"):
        spanwise.evaluate([["O"]], {})


@pytest.mark.parametrize("alone", [[], {}, [["B-PER"]]])
def test_gold_without_predictions_must_be_a_file_with_both(alone: object) -> None:
    with pytest.raises(ChoiceError, match=r"no predictions were given.*\nGive the predictions as systems"):
        spanwise.evaluate(alone)


def test_two_files_with_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "pred.conll").write_text("a O\n")
    paths = [tmp_path / "one" / "pred.conll", tmp_path / "two" / "pred.conll"]
    with pytest.raises(ChoiceError, match="two systems are called 'pred'"):
        spanwise.evaluate(paths[0], paths)


def test_results_can_be_inspected() -> None:
    result = evaluated([["B-PER", "O"]], [["O", "B-PER"]])
    assert list(result) == ["mine"]
    assert repr(result) == "<spanwise.Result <tags>: mine scores 0.0 F1.>"
    assert repr(result["mine"]).startswith("<spanwise.SystemResult mine: F1 0.00; 0 right of ")
    assert not hasattr(result, "f1") and copy.copy(result).signature == result.signature
    assert result["mine"].matching.gold_partner.tolist() == [-1]
    with pytest.raises(KeyError, match="no system is called 'yours'"):
        result["yours"]
    with pytest.raises(AttributeError, match="there is no 'exactly' here"):
        operator.attrgetter("exactly")(result["mine"])
    assert "F1" in str(result)
    assert result.signature.startswith("spanwise|")


def test_planted_differences_are_found_and_named() -> None:
    generator = np.random.default_rng(0)
    gold = [["B-PER", "O", "B-LOC"] for _ in range(400)]
    worse = [[tag if generator.random() > 0.2 else "O" for tag in sentence] for sentence in gold]
    result = spanwise.compare(gold, {"good": gold, "worse": worse})
    row = result.comparisons[0].score(("exact", "overall", "f1"))
    assert row is not None and row.significant
    low, high = present(row.interval)
    assert present(row.difference) > 0.05
    assert present(low) <= present(row.difference) <= present(high)
    assert result.letters["good"] == "b"


def test_a_label_that_only_one_system_predicts_can_be_compared() -> None:
    gold = [["B-PER", "O"]] * 20
    odd = [["B-ODD", "O"]] * 20
    result = spanwise.compare(gold, {"a": gold, "b": odd}, resamples=50)
    assert result.comparisons[0].score(("exact", "labels", "ODD", "f1")) is not None


def test_counts_per_unit_survive_the_document(tmp_path: Path) -> None:
    from spanwise.evaluation.scoring import unpack_measures

    result = evaluated([["B-PER", "O", "B-LOC"]] * 5, [["B-PER", "O", "O"]] * 5)
    result.to_json(tmp_path / "run.json")
    again = loaded(tmp_path / "run.json", spanwise.Result)
    before, after = (
        unpack_measures(present(document.units).systems["mine"], location="run.json")
        for document in (result, again)
    )
    for first, second in zip(before, after, strict=True):
        assert first.name == second.name
        assert np.array_equal(first.counts.matrix(), second.counts.matrix())
    whole = present(result.units).systems["mine"][0]
    plain = np.asarray(before[0].counts.rows, dtype="<i4").tobytes()  # the encoding before version 0.2
    older = replace(whole, rows=base64.b64encode(zlib.compress(plain, 6)).decode("ascii"))
    assert np.array_equal(unpack_measures([older], location="run.json")[0].counts.rows, before[0].counts.rows)
    damaged = replace(whole, rows="…")
    with pytest.raises(InputError, match="counts per unit cannot be read"):
        unpack_measures([damaged], location="run.json")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"a": 1}', '{"spanwise": "9", "schema": 99}'])
def test_files_that_are_not_result_documents_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"run\.json"):
        spanwise.load(path)


def test_a_changed_result_keeps_its_mentions_and_a_loaded_one_has_none(tmp_path: Path) -> None:
    gold = [["B-PER", "O"], ["O", "B-LOC"]]
    result = spanwise.evaluate(gold, {"s": [["B-PER", "O"], ["O", "O"]]}, resamples=0)
    changed = replace(result, notes=("checked by hand",)).of_kind("comparison")
    assert changed.keeps_mentions and len(changed["s"].gold) == 2
    assert (changed.notes, changed.kind, result.notes) == (("checked by hand",), "comparison", UNSET)
    result.to_json(tmp_path / "run.json")
    read = loaded(tmp_path / "run.json", spanwise.Result)
    assert read == result and result.keeps_mentions and not read.keeps_mentions
    assert read.find_slices(flips=19).inputs == read.inputs  # found in the numbers that documents keep
    with pytest.raises(ChoiceError, match="keep"):
        read.confidence()


@pytest.mark.parametrize(
    "limit",
    ["scoring.MANY_UNITS", "comparisons.MOST_IN_SINGLE"],
    ids=["scored and compared at once", "compared in double precision"],
)
def test_how_systems_are_compared_changes_no_byte(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["B-ORG", "O"], ["O", "B-LOC"]] * 9
    systems = {"a": [["B-PER", "O", "O", "B-LOC"], ["B-ORG", "O"], ["O", "O"]] * 9, "b": gold}
    documents = []
    for value in (1, 1_000_000):
        monkeypatch.setattr(f"spanwise.evaluation.{limit}", value)
        documents.append(spanwise.evaluate(gold, systems, resamples=200).to_json())
    assert documents[0] == documents[1]
