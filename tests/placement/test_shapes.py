"""The shapes in which models commonly answer: each is read, or counted as failed with the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spanwise
from spanwise.formats import from_tags

GOLD = from_tags(
    [["B-PER", "O", "B-LOC", "I-LOC"], ["O", "B-ORG"]],
    tokens=[["Ann", "left", "New", "York"], ["the", "U.N."]],
)
LIST = '[{"text": "Ann", "label": "PER"}, {"text": "New York", "label": "LOC"}]'
CALL = {"name": "extract", "arguments": json.dumps({"entities": json.loads(LIST)})}

# Every response holds the two gold mentions of the first sentence.
SHAPES: dict[str, str] = {
    "list of text and label": LIST,
    "list of entity and label": '[{"entity": "Ann", "label": "PER"}, {"entity": "New York", "label": "LOC"}]',
    "list of text and type": '[{"text": "Ann", "type": "PER"}, {"text": "New York", "type": "LOC"}]',
    "list of span and class": '[{"span": "Ann", "class": "PER"}, {"span": "New York", "class": "LOC"}]',
    "list of name and category":
        '[{"name": "Ann", "category": "PER"}, {"name": "New York", "category": "LOC"}]',
    "list of value and entity_type":
        '[{"value": "Ann", "entity_type": "PER"}, {"value": "New York", "entity_type": "LOC"}]',
    "lists by label": '{"PER": ["Ann"], "LOC": ["New York"], "ORG": []}',
    "strings by label": '{"PER": "Ann", "LOC": "New York", "ORG": null}',
    "objects by label": '{"PER": [{"text": "Ann"}], "LOC": [{"text": "New York"}]}',
    "labels by text": '{"Ann": "PER", "New York": "LOC"}',
    "pairs": '[["Ann", "PER"], ["New York", "LOC"]]',
    "pairs, label first": '[["PER", "Ann"], ["LOC", "New York"]]',
    "list of objects by label": '[{"PER": "Ann"}, {"LOC": "New York"}]',
    "nested under entities": f'{{"entities": {LIST}}}',
    "nested under results": f'{{"results": {LIST}}}',
    "nested twice": f'{{"status": "ok", "data": {{"entities": {LIST}}}}}',
    "call of a tool": json.dumps(CALL),
    "list of calls of tools": json.dumps([{"id": "1", "type": "function", "function": CALL}]),
    "JSON within JSON": json.dumps(LIST),
    "fenced": f"```json\n{LIST}\n```",
    "with a preamble": f"Sure, here they are:\n\n{LIST}\n\nAnything else?",
    "after reasoning": f"<think>Ann is [a person].</think>\n{LIST}",
    "truncated": LIST[:-1] + ', {"text": "le',
    "one object per line": LIST[1:-1].replace("}, ", "}\n"),
    "trailing comma": LIST[:-1] + ",]",
    "Python dictionaries": LIST.replace('"', "'"),
    "tuples": "[('Ann', 'PER'), ('New York', 'LOC')]",
    "markup": "<PER>Ann</PER> left <LOC>New York</LOC>",
    "brackets": "[Ann | PER] left [New York | LOC]",
    "XML": '<entities>\n<entity type="PER">Ann</entity>\n<entity type="LOC">New York</entity>\n</entities>',
    "XML by label": "<entities>\n<PER>Ann</PER>\n<LOC>New York</LOC>\n</entities>",
    "Markdown table": "| Entity | Type |\n|---|---|\n| Ann | PER |\n| New York | LOC |",
    "table with a preamble":
        "Here:\n\n| Type | Text |\n| :-- | --: |\n| PER | **Ann** |\n| LOC | New York |\n\nDone.",
    "bullets with labels": "- Ann (PER)\n- New York (LOC)",
    "bullets by label": "- PER: Ann\n- LOC: New York",
    "numbered": "1. **Ann** - PER\n2. **New York** - LOC",
    "bold labels": "**PER**: Ann\n**LOC**: New York",
    "groups": "PER:\n- Ann\n\nLOC:\n- New York\n\nORG:\n- none",
    "headings": "### PER\n* Ann\n### LOC\n* New York",
    "lines with a colon": "Ann: PER\nNew York: LOC",
    "lines with a tab": "Ann\tPER\nNew York\tLOC",
    "arrows": "Ann -> PER\nNew York -> LOC",
    "comma-separated": "Ann,PER\nNew York,LOC",
    "YAML": "entities:\n  - text: Ann\n    label: PER\n  - text: New York\n    label: LOC",
    "pairs in one line": "Ann: PER, New York: LOC",
    "labels in brackets, in one line": "Ann (PER) and New York (LOC).",
    "numbered, in one line": "1. Ann (PER) 2. New York (LOC)",
    "texts after a label, in one line": "PER: Ann; LOC: New York",
    "lists after a label": 'PER: ["Ann"]\nLOC: ["New York"]\nORG: []',
    "bullets below bullets": "- PER\n  - Ann\n- LOC\n  - New York",
    "table without a header": "| Ann | PER |\n| New York | LOC |",
    "TOML": '[[entities]]\ntext = "Ann"\nlabel = "PER"\n[[entities]]\ntext = "New York"\nlabel = "LOC"',
    "links": "[Ann](PER) left [New York](LOC)",
    "labels in brackets": "[PER: Ann] left [LOC: New York]",
    "groups of texts": '[{"type": "PER", "values": ["Ann"]}, {"type": "LOC", "values": ["New York"]}]',
    "texts as keys": '[{"Ann": "PER"}, {"New York": "LOC"}]',
    "lists of labels": '{"Ann": ["PER"], "New York": ["LOC"]}',
    "labels without texts": '{"PER": ["Ann"], "LOC": "New York", "ORG": ["None"], "MISC": ""}',
    "quotes": '[{"quote": "Ann", "label": "PER"}, {"quote": "New York", "label": "LOC"}]',
    "capitals": '[{"Entity": "Ann", "Entity Type": "PER"}, {"Entity": "New York", "Entity Type": "LOC"}]',
    "lists by sentence": f'[{LIST}, []]',
    "a call with a type":
        json.dumps({"type": "tool_use", "name": "extract", "input": {"entities": json.loads(LIST)}}),
    "tags, one token per line": "Ann B-PER\nleft O\nNew B-LOC\nYork I-LOC",
    "tags as pairs": '[["Ann", "B-PER"], ["left", "O"], ["New", "B-LOC"], ["York", "I-LOC"]]',
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_every_common_shape_is_read(shape: str) -> None:
    document = spanwise.place(GOLD, [{"id": 0, "response": SHAPES[shape]}])
    assert document.units.read + document.units.repaired == 1, document.unplaced
    assert (document.answers.given, document.policies.ordered.correct) == (2, 2)


FAILED: dict[str, tuple[str, str]] = {
    "refusal": ("I'm sorry, but I can't help with that.", "the model refused"),
    "prose": ("Ann went to New York.", "the response holds no JSON, no list and no markup"),
    "list of strings without labels": ('["Ann", "New York"]', "'Ann' is not an answer"),
    "a number": ("42", "42 is not a list of answers"),
    "nothing": ("", "the response holds no JSON, no list and no markup"),
    "tags without tokens": ('["B-PER", "O", "B-LOC", "I-LOC"]', "'B-PER' is not an answer"),
    "objects in a list that are not answers": (
        '[{"a": ["Ann"]}, {"b": 1}]',
        "{'a': ['Ann']} has no text and label",
    ),
    "an error": ('{"error": "rate limit"}', "{'error': 'rate limit'} holds no lists of texts"),
}


@pytest.mark.parametrize("shape", FAILED)
def test_what_cannot_be_read_is_counted_as_failed_with_the_reason(shape: str) -> None:
    response, why = FAILED[shape]
    document = spanwise.place(GOLD, [{"id": 0, "response": response}])
    assert document.units.failed == 1
    assert [row.why for row in document.unplaced] == [why]


def test_a_tagged_name_is_placed_where_it_was_tagged() -> None:
    gold = from_tags([["O", "O", "B-PER"]], tokens=[["Ann", "met", "Ann"]])
    document = spanwise.place(gold, [{"id": 0, "response": "Ann O\nmet O\nAnn B-PER"}])
    assert document.policies.first.f1 == document.policies.ordered.f1 == 1


def test_of_several_code_fences_the_first_is_read_and_this_is_said() -> None:
    document = spanwise.place(GOLD, [{"id": 0, "response": f"```\n{LIST}\n```\nor\n```\n[]\n```"}])
    assert document.policies.ordered.correct == 2
    assert [row.why for row in document.unplaced] == ["first of 2 code fences read"]


@pytest.mark.parametrize(
    "response",
    [
        "The text does not contain any named entities.",
        "None",
        "PER: none\nLOC: none",
        "### PER\n- none\n### LOC\nNone",
        "Ann O\nleft O",
        "| Entity | Type |\n|---|---|",
        "No entities found.",
        "There are no named entities in this text.",
    ],
)
def test_words_for_nothing_are_an_empty_answer(response: str) -> None:
    assert spanwise.place(GOLD, [{"id": 0, "response": response}]).units.empty == 1


def test_a_list_of_strings_is_read_if_gold_has_one_label() -> None:
    gold = from_tags([["B-PER", "O", "B-PER"]], tokens=[["Ann", "met", "Bo"]])
    assert spanwise.place(gold, [{"id": 0, "response": '["Ann", "Bo"]'}]).policies.ordered.f1 == 1


@given(st.one_of(st.text(max_size=80), st.sampled_from(sorted(SHAPES.values())).flatmap(
    lambda text: st.tuples(st.integers(0, len(text)), st.text(max_size=3)).map(
        lambda cut: text[: cut[0]] + cut[1] + text[cut[0] + len(cut[1]) :]
    )
)))  # fmt: skip
def test_units_and_answers_add_up_whatever_is_answered(response: str) -> None:
    document: Any = spanwise.place(GOLD, [{"id": 0, "response": response}])
    units, answers = document.units, document.answers
    assert units.read + units.repaired + units.failed + units.empty + units.absent == 2
    assert answers.given == answers.placed + answers.hallucinated + answers.repeats
