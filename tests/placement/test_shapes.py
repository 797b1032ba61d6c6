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
    "labels by text, in another case": '{"Ann": "per", "New York": "loc"}',
    "pairs, label first, in another case": '[["per", "Ann"], ["loc", "New York"]]',
    "one pair per line": '["Ann", "PER"]\n["New York", "LOC"]',
    "texts of a label": '[{"label": "PER", "text": ["Ann"]}, {"label": "LOC", "text": ["New York"]}]',
    "entity as the label of a word":
        '[{"entity": "PER", "word": "Ann"}, {"entity": "LOC", "word": "New York"}]',
    "name as the label of a value": '[{"name": "PER", "value": "Ann"}, {"name": "LOC", "value": "New York"}]',
    "extractions with attributes":
        '{"extractions": [{"PER": "Ann", "PER_attributes": {}}, {"LOC": "New York", "LOC_attributes": {}}]}',
    "an answer without a label": LIST[:-1] + ', {"text": "left", "label": null}]',
    "an answer with the label O": LIST[:-1] + ', {"text": "left", "label": "O"}]',
    "an answer with the text None": LIST[:-1] + ', {"text": "None", "label": "ORG"}]',
    "comments": LIST.replace("}, {", '}, // a person\n{').replace("}]", "} # a place\n]"),
    "comments among lists": '{\n"PER": ["Ann"], // persons\n"LOC": ["New York"] // places\n}',
    "trailing commas among lists": '{"PER": ["Ann",], "LOC": ["New York",],}',
    "keys without quotation marks": LIST.replace('"text"', "text").replace('"label"', "label"),
    "curly quotation marks": '[{“text”: “Ann”, “label”: “PER”}, {“text”: “New York”, “label”: “LOC”}]',
    "escaped quotation marks": LIST.replace('"', '\\"'),
    "JSON within a field": json.dumps({"result": LIST}),
    "after thinking": f'<thinking>[{{"text": "left", "label": "LOC"}}]</thinking>{LIST}',
    "reasoning and an answer":
        f'<reasoning>[{{"text": "left", "label": "LOC"}}]</reasoning>\n<answer>{LIST}</answer>',
    "template of a chat": f'<|channel|>analysis<|message|>["left"]<|end|><|message|>{LIST}<|return|>',
    "end of a message": "- Ann (PER)\n- New York (LOC)<|im_end|>",
    "an example first": f'As in [{{"text": "...", "label": "..."}}]: {LIST}',
    "an element per field":
        "<entities><entity><text>Ann</text><label>PER</label></entity>"
        "<entity><label>LOC</label><text>New York</text></entity></entities>",
    "empty elements":
        '<entities><entity text="Ann" type="PER"/><entity text="New York" type="LOC"/></entities>',
    "marks with attributes": "<span class='PER'>Ann</span> left <span class='LOC'>New York</span>",
    "list in HTML": "<ul><li>Ann (PER)</li><li>New York (LOC)</li></ul>",
    "table in HTML":
        "<table><tr><th>Text</th><th>Label</th></tr><tr><td>Ann</td><td>PER</td></tr>"
        "<tr><td>New York</td><td>LOC</td></tr></table>",
    "table with a column per label": "| PER | LOC |\n|---|---|\n| Ann | New York |",
    "table with texts of a label":
        "| Label | Entities |\n|---|---|\n| PER | Ann |\n| LOC | New York |\n| ORG | None |",
    "table of tags": "| Token | Tag |\n|---|---|\n| Ann | B-PER |\n| New | B-LOC |\n| York | I-LOC |",
    "numbered, explained": "1. Ann (PER) - a person\n2. New York (LOC) - a city",
    "semicolons": "Ann;PER\nNew York;LOC",
    "sentences after a label": "PER: Ann. LOC: New York.",
    "pairs in brackets": "(Ann, PER), (New York, LOC)",
    "nested brackets": "((PER: Ann) (LOC: New York))",
    "YAML, label first": "- label: PER\n  text: Ann\n- label: LOC\n  text: New York",
    "YAML, lists by label": "PER: [Ann]\nLOC: [New York]\nORG: []",
    "YAML, objects in a line": "- {text: Ann, label: PER}\n- {text: New York, label: LOC}",
    "set of tuples": "{('Ann', 'PER'), ('New York', 'LOC')}",
    "objects in Python": "[Entity(text='Ann', label='PER'), Entity(text='New York', label='LOC')]",
    "classes in Python": 'result = [PER(span="Ann"), LOC(span="New York")]',
    "labels after brackets": "[Ann]_PER left [New York]_LOC",
    "labels first in brackets": "[PER Ann] left [LOC New York]",
    "bold names": "**Ann** (PER) left **New York** (LOC)",
    "list of tags": '["B-PER", "O", "B-LOC", "I-LOC"]',
    "list of tags in an object": '{"tags": ["B-PER", "O", "B-LOC", "I-LOC"]}',
    "tags in a line": "B-PER O B-LOC I-LOC",
    "tags after slashes": "Ann/B-PER left/O New/B-LOC York/I-LOC",
    "tags by token": '{"Ann": "B-PER", "left": "O", "New": "B-LOC", "York": "I-LOC"}',
    "labels by token":
        json.dumps([{"token": token, "tag": tag} for token, tag in
                    (("Ann", "PER"), ("left", "O"), ("New", "LOC"), ("York", "LOC"))]),
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
    "nothing": ("", "the response is empty"),
    "too few tags": ('["B-PER", "O", "B-LOC"]', "there are 3 tags for 4 tokens"),
    "reasoning that was cut": (
        '<think>Perhaps [{"text": "left", "label": "LOC"}]?',
        "the reasoning was not finished",
    ),
    "a page of HTML": ("<html><body><h1>502 Bad Gateway</h1></body></html>", "the response is an HTML page"),
    "marks without a label": ("@@Ann## left New York", "the marks @@…## name no label"),
    "a refusal with an apology": ("I apologize, but I cannot identify people.", "the model refused"),
    "broken JSON in a text": ('{"entities": "[{]"}', "'[{]' is not JSON"),
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
        "There are no named entities in the given text.",
        "I found no named entities.",
        "Entities: none",
        "NA",
        '"None"',
        "[null]",
        '["None"]',
        '[{"text": "None", "label": "None"}]',
        '{"PER": null, "LOC": ["N/A"]}',
        '["O", "O", "O", "O"]',
    ],
)
def test_words_for_nothing_are_an_empty_answer(response: str) -> None:
    assert spanwise.place(GOLD, [{"id": 0, "response": response}]).units.empty == 1


def test_several_texts_are_one_answer_only_where_gold_has_discontinuous_mentions() -> None:
    answers = [{"id": 0, "answers": [{"label": "PER", "text": ["Ann", "Bo"]}]}]
    gold = from_tags([["B-PER", "O", "B-PER"]], tokens=[["Ann", "met", "Bo"]])
    assert spanwise.place(gold, answers).policies.ordered.correct == 2


def test_of_several_lists_the_first_is_read_and_this_is_said() -> None:
    document = spanwise.place(
        GOLD, [{"id": 0, "response": f'{LIST}\nOr: [{{"text": "U.N.", "label": "ORG"}}]'}]
    )
    assert document.policies.ordered.correct == 2
    assert [row.why for row in document.unplaced] == ["first of several JSON values read"]


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
