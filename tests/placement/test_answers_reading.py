"""Responses of models are read with a status and joined with the gold text; none is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.formats import from_tags

GOLD = from_tags(
    [["B-PER", "O", "B-LOC", "I-LOC"], ["O", "B-ORG"], ["B-PER"]],
    tokens=[["Ann", "left", "New", "York"], ["the", "U.N."], ["Bo"]],
)
WANTED = [("Ann", "PER"), ("New York", "LOC")]


def placed(first: Any, **choices: Any) -> Any:
    """The document of a unit with this response, and two units with empty ones."""
    return spanwise.place(GOLD, [{"id": 0, "answers": first}, {"id": 1, "answers": []}], **choices)


def statuses(document: Any) -> dict[str, int]:
    counts = {name: getattr(document.units, name) for name in document.units.__struct_fields__}
    return {name: number for name, number in counts.items() if number}


SHAPES: list[Any] = [
    [{"text": "Ann", "label": "PER"}, {"text": "New York", "label": "LOC"}],
    [{"entity": "Ann", "type": "PER"}, {"entity": "New York", "type": "LOC"}],
    [{"span": "Ann", "entity_type": "PER"}, {"mention": "New York", "category": "LOC"}],
    [{"name": "Ann", "label": "PER", "score": 0.9}, {"name": "New York", "label": "LOC"}],
    {"PER": ["Ann"], "LOC": ["New York"], "ORG": []},
    {"entities": {"PER": ["Ann"], "LOC": ["New York"]}},
    [["Ann", "PER"], ["New York", "LOC"]],
]


@pytest.mark.parametrize("shape", SHAPES, ids=range(len(SHAPES)))
def test_every_shape_is_read_as_a_value_and_as_text(shape: Any) -> None:
    for payload in (shape, json.dumps(shape)):
        document = placed(payload)
        assert statuses(document) == {"read": 1, "empty": 1, "absent": 1}
        assert document.answers.given == document.answers.placed == document.policies.ordered.correct == 2


LIST = json.dumps(SHAPES[0])
REPAIRED = [
    f"```json\n{LIST}\n```",
    f"```\n{LIST}",
    f"Sure! Here are the entities:\n{LIST}\nLet me know [if] you need more.",
    f"I see {{two}} of them. ```json\n{LIST}\n``` Done.",
    LIST[:-1],
    LIST[:-1] + ', {"text": "Bo", "lab',
    '[["Ann", "PER"], ["New York", "LOC"], ["B',
    '{"PER": ["Ann"], "LOC": ["New York", "Bo',
    '{"text": "Ann", "label": "PER"}\n{"text": "New York", "label": "LOC"}',
    '{"thought": "easy", "final": {"entities": ' + LIST + "}}",
]


@pytest.mark.parametrize("response", REPAIRED, ids=range(len(REPAIRED)))
def test_fences_prose_and_truncation_are_repaired(response: str) -> None:
    document = placed(response)
    assert statuses(document) == {"repaired": 1, "empty": 1, "absent": 1}
    assert document.answers.given == document.policies.ordered.correct == 2


@pytest.mark.parametrize(
    "response",
    ["I cannot help with that.", "", "[{", '[{"text": "An', "[1, 2]", "42", '"Ann"', None, [{"text": None}],
     [["a", "b", "c", "d"]], {"PER": {"x": {"y": 1}}}, {"error": "rate limit"}, "[" * 50_000],
)  # fmt: skip
def test_an_unreadable_response_has_failed_and_misses_its_gold_mentions(response: Any) -> None:
    document = placed(response)
    assert statuses(document) == {"failed": 1, "empty": 1, "absent": 1}
    assert document.policies.ordered.f1 == 0
    assert document.readable.gold == 1 and document.policies.ordered.gold == 4


@pytest.mark.parametrize("response", [[], {}, "[]", "{}", {"entities": []}, "Ann left New York"])
def test_no_answers_is_a_valid_response(response: Any) -> None:
    assert statuses(placed(response)) == {"empty": 2, "absent": 1}


def test_a_fenced_empty_list_was_repaired() -> None:
    assert statuses(placed("```json\n[]\n```")) == {"repaired": 1, "empty": 1, "absent": 1}


def test_a_long_response_is_read_quickly() -> None:
    long = json.dumps([{"text": "Ann", "label": "PER"}] * 50_000)
    document = placed(long[:-20])
    assert document.units.repaired == 1 and document.answers.given == 49_999
    assert document.policies.next.predicted == 1 and document.answers.repeats == 49_998
    assert placed("@@[{<a>" * 60_000).units.failed == 1


MARKUP = [
    "<PER>Ann</PER> left <LOC>New York</LOC>",
    "[Ann | PER] left [New York | LOC]",
    "<LOC><PER>Ann</PER> left</LOC> [New York|LOC]",
]


@pytest.mark.parametrize("response", MARKUP, ids=range(len(MARKUP)))
def test_markup_of_the_same_text_is_placed_by_position(response: str) -> None:
    document = placed(response)
    assert statuses(document)["read"] == 1 and document.answers.markup_by_position == 1
    assert document.policies.first.correct == 2


def test_markup_distinguishes_the_second_of_two_occurrences() -> None:
    gold = from_tags([["O", "O", "B-PER"]], tokens=[["Ann", "met", "Ann"]])
    document = spanwise.place(gold, ["Ann met @@Ann##"])
    assert document.policies.first.f1 == document.policies.all.f1 == 1
    assert document.answers.ambiguous == 0


def test_markup_of_another_text_becomes_answers_and_is_counted() -> None:
    document = placed("Yesterday <PER>Ann</PER> left <LOC>York</LOC>")
    assert document.answers.markup_as_texts == 1 and document.answers.given == 2
    assert document.policies.ordered.correct == 1


def test_labels_are_read_by_alias_then_as_written_then_folded() -> None:
    response = [
        {"text": "Ann", "label": "person"},
        {"text": "New York", "label": "loc"},
        {"text": "left", "label": "VERB"},
    ]
    document = placed(response, aliases={"person": "PER"})
    assert document.labels.renamed == {"loc": "LOC", "person": "PER"}
    assert document.labels.unknown == {"VERB": 1} and document.answers.unknown_labels == 1
    assert document.policies.ordered.predicted == 3
    dropped = placed(response, aliases={"person": "PER"}, unknown="drop")
    assert dropped.answers.given == 2 and dropped.answers.dropped == 1
    assert dropped.policies.ordered.predicted == 2


def test_folding_that_is_not_one_to_one_renames_nothing() -> None:
    gold = from_tags([["B-PER", "B-per"]], tokens=[["Ann", "Bo"]])
    document = spanwise.place(gold, [[["Ann", "Per"]]])
    assert document.labels.unknown == {"Per": 1}


def test_an_occurrence_number_overrides_the_policy_and_is_counted_if_out_of_range() -> None:
    gold = from_tags([["O", "B-PER", "O"]], tokens=[["Ann", "Ann", "Ann"]])
    for number, correct, beyond in ((2, 1, 0), (3, 0, 0), (4, 0, 1), (0, 0, 0)):
        response = [[{"text": "Ann", "label": "PER", "occurrence": number}]]
        document = spanwise.place(gold, response)
        assert document.policies.first.correct == document.policies.ordered.correct == correct
        assert document.policies.best.correct == (correct if number in (2, 3) else 1)
        assert document.answers.beyond == beyond


def test_a_discontinuous_mention_is_matched_by_several_texts() -> None:
    tokens = [["left", "and", "right", "arm"]]
    spans = [{"start": 0, "end": 4, "label": "X", "parts": [[0, 1], [3, 4]]}]
    path_free = json.dumps({"tokens": tokens[0], "spans": spans})
    gold = spanwise.read(_file(path_free))
    whole = spanwise.place(gold, [[{"text": "left arm", "label": "X"}]])
    assert whole.policies.ordered.correct == 0 and whole.strings.set.correct == 1
    parts = spanwise.place(gold, [[{"text": ["left", "arm"], "label": "X"}]])
    assert parts.policies.ordered.f1 == 1 and parts.ceilings.ordered == 1


def _file(text: str) -> Path:
    import tempfile

    folder = Path(tempfile.mkdtemp())
    (folder / "gold.jsonl").write_text(text + "\n", encoding="utf-8")
    return folder / "gold.jsonl"


def test_records_are_joined_by_id_then_text_then_order() -> None:
    answer = [{"text": "Bo", "label": "PER"}]
    by_id = spanwise.place(GOLD, [{"id": 2, "answers": answer}])
    by_tokens = spanwise.place(GOLD, [{"tokens": ["Bo"], "answers": answer}])
    by_text = spanwise.place(GOLD, [{"text": "Bo", "answers": answer}])
    by_order = spanwise.place(GOLD, [[], [], answer])
    for document in (by_id, by_tokens, by_text, by_order):
        assert document.policies.ordered.correct == 1
    assert by_id.units.absent == by_text.units.absent == 2 and by_order.units.empty == 2


def test_the_ids_of_the_gold_file_come_first(tmp_path: Path) -> None:
    rows = [
        {"id": "b", "tokens": ["Ann"], "spans": [[0, 1, "PER"]]},
        {"id": "a", "tokens": ["Bo"], "spans": []},
    ]
    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert spanwise.place(gold, [{"id": "b", "answers": [["Ann", "PER"]]}]).policies.ordered.f1 == 1
    assert spanwise.place(gold, [{"id": 0, "answers": [["Ann", "PER"]]}]).policies.ordered.f1 == 1


def test_samples_in_memory_are_chosen_or_are_runs_of_one_system() -> None:
    records = [{"id": 2, "sample": n, "answers": [["Bo", "PER"]] if n else []} for n in (0, 1)]
    assert spanwise.place(GOLD, records, sample=1).policies.ordered.correct == 1
    chosen = spanwise.evaluate(GOLD, {"gpt": records}, answers={"sample": 1}, resamples=0)
    assert chosen["gpt"].exact.overall.correct == 1
    with pytest.raises(
        spanwise.ChoiceError, match="'gpt' has 2 samples per unit: they are runs of one system"
    ):
        spanwise.evaluate(GOLD, {"gpt": records}, resamples=0)
    tree = {"datasets": {"d": {"test": GOLD}}, "systems": {"gpt": {"predictions": records}}, "resamples": 0}
    runs = spanwise.study(tree, cache=False, workers=1).datasets["d"].runs
    assert {run: scores.exact.overall.correct for run, scores in runs["gpt"].items()} == {"0": 0, "1": 1}


@pytest.mark.parametrize("rule", ["uniner", "gollie"])
def test_a_rule_on_strings_is_scored_under_its_name_and_gives_no_mentions(rule: str) -> None:
    response = [{"id": 0, "answers": [["the ann", "PER"], ["Ann", "PER"]]}, {"id": 1, "answers": "not JSON"}]
    document = spanwise.place(GOLD, response, policy=rule)
    assert (document.chosen, document.score) == (rule, document.presets[rule])
    assert document.score == spanwise.place(GOLD, response).presets[rule]
    assert document.readable.predicted == document.score.predicted
    assert document.readable.gold < document.score.gold
    assert f"rule:{rule}" in document.signature
    with pytest.raises(spanwise.ChoiceError, match=f"'{rule}' compares strings and has no places"):
        spanwise.evaluate(GOLD, {"gpt": response}, answers=rule, resamples=0)
    assert spanwise.explain(GOLD, response)[f"as {rule} scores"].f1 == document.score.f1


def test_evaluate_scores_records_like_place() -> None:
    response = [
        {"id": 0, "answers": [[text, label] for text, label in [*WANTED, ("Zed", "PER")]]},
        {"id": 2, "answers": [["bo", "PER"]]},
    ]
    document = spanwise.place(GOLD, response)
    for systems in (response, {"gpt": response}):
        result = spanwise.evaluate(GOLD, systems, answers="ordered", resamples=0)
        overall = next(iter(result.to_dict()["systems"].values()))["exact"]["overall"]
        for key in ("gold", "predicted", "correct", "f1"):
            assert overall[key] == getattr(document.policies.ordered, key)


def test_a_repeated_unplaced_answer_is_dropped_or_kept() -> None:
    response = [["Zed", "PER"], ["ZED", "PER"], ["Ann", "PER"], ["Ann", "PER"]]
    dropped, kept = placed(response), placed(response, repeats="keep")
    assert dropped.answers == kept.answers
    assert (dropped.answers.hallucinated, dropped.answers.repeats, dropped.answers.placed) == (2, 1, 1)
    assert (dropped.policies.ordered.predicted, kept.policies.ordered.predicted) == (2, 4)
    assert (dropped.policies.first.predicted, kept.policies.first.predicted) == (2, 3)


def test_text_is_searched_by_its_own_tokens_and_spaces(tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    row = {"text": "The U.S. met Ann-Marie  Smith.", "spans": [[4, 8, "LOC"], [13, 29, "PER"]]}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    document = spanwise.place(path, [[["U.S.", "LOC"], ["Ann-Marie Smith", "PER"]]])
    assert document.answers.levels.exact == 2 and document.policies.ordered.f1 == 1


def test_spaces_between_tokens_matter_at_the_exact_level_but_not_at_the_bare_one() -> None:
    gold = from_tags([["O", "B-LOC", "I-LOC", "I-LOC", "I-LOC"]], tokens=[["in", "U", ".", "S", "."]])
    spaced = spanwise.place(gold, [[["U . S .", "LOC"]]])
    assert spaced.answers.levels.exact == 1 and spaced.policies.ordered.f1 == 1
    joined = spanwise.place(gold, [[["U.S.", "LOC"]]])  # at the bare level, the last token has a letter
    assert joined.answers.levels.bare == 1 and joined.policies.ordered.f1 == 0


def test_answers_missing_from_the_text_are_listed_unless_redacted() -> None:
    response = [{"id": 0, "answers": [["Zed", "PER"], ["Ann", "PER"]]}]
    result = spanwise.evaluate(GOLD, {"gpt": response}, resamples=0)
    rows = json.loads(result.to_json())["sentences"][0]["systems"]["gpt"]
    assert [(row["start"], row.get("answer")) for row in rows] == [(-1, "Zed"), (0, None)]
    assert "answers[ordered, fuzzy 0.85, repeats drop, unknown keep, per sentence]" in result.to_json()
    assert "Zed" not in spanwise.evaluate(GOLD, {"gpt": response}, resamples=0, redact=True).to_json()


def test_explain_places_answers_by_every_policy() -> None:
    gold = from_tags([["O", "O", "B-PER"]], tokens=[["Ann", "met", "Ann"]])
    rows = spanwise.explain(gold, [{"id": 0, "answers": [["Ann", "PER"]]}], answers="first")
    assert rows["exact, micro"].f1 == rows["answers placed by first"].f1 == 0
    assert rows["answers placed by all"].f1 == pytest.approx(2 / 3)
    assert rows["answers, best placement"].f1 == rows["sets of strings"].f1 == 1


def test_answers_missing_from_the_text_do_not_hide_token_accuracy() -> None:
    gold = from_tags([["O", "O", "B-PER", "O"]], tokens=[["Ann", "met", "Bo", "."]])
    response = [{"id": 0, "answers": [["Zed", "PER"]]}]
    row = spanwise.explain(gold, response, answers="first")["token accuracy"]
    result = spanwise.evaluate(gold, {"gpt": response}, resamples=0)
    assert row.f1 == result["gpt"].exact.overall.accuracy == 0.75


def test_answers_without_a_policy_are_refused_with_the_option_that_places_them(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id": 0, "response": "[]"}\n', encoding="utf-8")
    with pytest.raises(spanwise.InputError, match="placed on the gold text with answers='ordered'"):
        spanwise.evaluate(GOLD, {"gpt": path})
