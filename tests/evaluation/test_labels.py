"""Labels that are mapped, merged or left out: what is counted, what is refused, and what is proposed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.cli.main import main
from spanwise.errors import ChoiceError, InputError
from spanwise.formats import read, rules_of
from spanwise.gates.merging import check_same_gold
from spanwise.labels import LabelRules, label_map, label_names

TOKENS = [["Ann", "met", "Bo", "in", "Oslo"], ["Oslo", "fell"]]
GOLD = [["B-PER", "O", "B-PER", "O", "B-GPE"], ["B-GPE", "O"]]
NOWHERE = "which no file has."
SYSTEM = [["B-NAME", "O", "B-NAME", "O", "B-LOC"], ["B-MISC", "O"]]


def evaluated(**keywords: Any) -> Any:
    return spanwise.evaluate(GOLD, {"a": SYSTEM}, tokens=TOKENS, resamples=0, **keywords)


def conll(path: Any, sentences: Any, tags: Any) -> Any:
    lines = []
    for words, marks in zip(sentences, tags, strict=True):
        lines += [f"{word}\t{mark}" for word, mark in zip(words, marks, strict=True)] + [""]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_map_joins_the_labels_of_gold_and_predictions() -> None:
    result = evaluated(map={"NAME": "PER", "GPE": "LOC"}, without=["MISC"])
    scores = result.systems["a"].exact
    assert (scores.overall.gold, scores.overall.predicted, scores.overall.correct) == (4, 3, 3)
    assert result.dataset.labels == {"LOC": 2, "PER": 2}
    assert [(row.merged, row.dropped) for row in result.inputs] == [(0, 0), (0, 1)]


def test_text_a_mapping_and_a_file_give_the_same_result(tmp_path: Any) -> None:
    path = tmp_path / "labels.toml"
    path.write_text('NAME = "PER"\nMISC = ""\n')
    expected = evaluated(map={"NAME": "PER", "MISC": None}).to_json()
    assert evaluated(map="NAME=PER, MISC=").to_json() == expected
    assert evaluated(map=str(path)).to_json() == expected
    assert evaluated(map=path).to_json() == expected


def test_the_rules_are_in_the_settings_and_the_signature() -> None:
    plain, mapped = evaluated(), evaluated(map={"NAME": "PER"}, only=["PER"])
    assert mapped.settings.map == {"NAME": "PER"}
    assert mapped.settings.only == ("PER",)
    part = next(part for part in mapped.signature.split("|") if part.startswith("labels:"))
    assert part == f"labels:{LabelRules({'NAME': 'PER'}, only=('PER',)).key(predicted=True)}"
    assert "labels:" not in plain.signature
    assert "merged" not in json.loads(plain.to_json())["inputs"][0]


def test_a_map_of_predictions_leaves_gold_alone_and_comes_before_the_map_of_all() -> None:
    result = evaluated(predicted_map={"NAME": "PER", "LOC": "GPE"}, map={"GPE": "PLACE"})
    assert result.dataset.labels == {"PER": 2, "PLACE": 2}
    assert result.systems["a"].exact.overall.correct == 3


def test_labels_are_swapped_all_at_once() -> None:
    swapped = read(GOLD, tokens=TOKENS, map={"PER": "GPE", "GPE": "PER"})
    assert [row[3] for row in swapped.mentions.rows()] == ["GPE", "GPE", "PER", "PER"]


def test_an_annotation_that_was_read_under_the_same_rules_is_not_mapped_again() -> None:
    rules: dict[str, Any] = {"map": {"PER": "GPE", "GPE": "PER"}}
    gold = read(GOLD, tokens=TOKENS, **rules)
    system = read(SYSTEM, tokens=TOKENS)
    from_read = spanwise.evaluate(gold, {"a": system}, resamples=0, **rules)
    assert from_read.dataset.labels == {"GPE": 2, "PER": 2}
    assert gold.mentions.names()[0] == "GPE"
    assert from_read.systems["a"].exact.labels["GPE"].gold == 2


def test_of_mentions_that_become_equal_the_highest_score_is_kept() -> None:
    spans = [[(0, 1, "A", 0.2), (0, 1, "B", 0.9), (2, 3, "A", 0.5)]]
    merged = read(spans, tokens=TOKENS[:1], map={"B": "A"})
    assert merged.mentions.rows() == [(0, 0, 1, "A"), (0, 2, 3, "A")]
    assert merged.mentions.score is not None and merged.mentions.score.tolist() == [0.9, 0.5]
    assert (merged.reading.merged, merged.reading.dropped) == (1, 0)


def test_a_mention_that_occurs_twice_before_the_map_is_still_a_duplicate() -> None:
    spans = [[(0, 1, "A"), (0, 1, "A")]]
    with pytest.raises(InputError, match="occurs twice"):
        read(spans, tokens=TOKENS[:1], map={"A": "B"})


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"map": {"GEP": "LOC"}},
         f"map names the label 'GEP', {NOWHERE}\nThere are: GPE, LOC, MISC, NAME, PER."),
        ({"only": ["PERSON"]}, "only names the label 'PERSON', which no file has."),
        ({"without": "NAMES"}, "without names the label 'NAMES', which no file has."),
        ({"predicted_map": {"GPE": "LOC"}},
         f"predicted_map names the label 'GPE', {NOWHERE}\nThere are: LOC, MISC, NAME."),
        ({"map": "GPE=LOC,GPE=PLACE"}, "map maps the label 'GPE' to two labels."),
        ({"map": "GPE"}, "map is 'GPE', neither a file nor a map"),
        ({"map": "=A,GPE=B"}, "map has '=A'"),
        ({"map": 3}, "map is 3, but must map labels to labels"),
        ({"map": {"GPE": 3}}, "map maps 'GPE' to 3, but both must be labels."),
        ({"only": [""]}, "only has '', which is not a label."),
    ],
)  # fmt: skip
def test_bad_rules_get_one_sentence(rules: Any, message: Any, tmp_path: Any) -> None:
    with pytest.raises(ChoiceError) as error:
        evaluated(**rules)
    assert str(error.value).startswith(message)
    files = [
        conll(tmp_path / name, TOKENS, tags) for name, tags in (("gold.conll", GOLD), ("a.conll", SYSTEM))
    ]
    with pytest.raises(ChoiceError) as in_parts:
        spanwise.evaluate(*files, memory="1MB", **rules)
    assert str(in_parts.value) == str(error.value)


def test_a_name_that_only_training_data_have_is_known() -> None:
    train = read([["B-WORK", "O"]], tokens=[["Hamlet", "fell"]])
    result = evaluated(train=train, map={"WORK": "MISC"})
    assert result.inputs[-1].merged == 0


def test_every_verb_that_reads_annotations_takes_the_rules(tmp_path: Any) -> None:
    gold, system = conll(tmp_path / "gold.conll", TOKENS, GOLD), conll(tmp_path / "a.conll", TOKENS, SYSTEM)
    rules: dict[str, Any] = {"map": {"NAME": "PER", "GPE": "LOC"}, "without": ["MISC"]}
    assert spanwise.describe(gold, map={"GPE": "LOC"}).dataset.labels == {"LOC": 2, "PER": 2}
    agreed = spanwise.agree({"one": gold, "two": system}, **rules)
    assert [row.dropped for row in agreed.inputs] == [0, 1]
    explained = spanwise.explain(gold, system, **rules)
    assert explained.rows[0].precision == 1.0
    assert spanwise.suspects(gold, {"a": [system]}, **rules).inputs[1].dropped == 1
    with pytest.raises(ChoiceError, match="map names the label 'X'"):
        spanwise.agree({"one": gold, "two": system}, map={"X": "Y"})
    with pytest.raises(ChoiceError, match="map names the label 'X'"):
        spanwise.explain(gold, system, map={"X": "Y"})
    with pytest.raises(ChoiceError, match="map names the label 'X'"):
        spanwise.describe(gold, map={"X": "Y"})


VERBS: dict[str, Any] = {
    "describe": lambda gold, system, **rules: spanwise.describe(gold, **rules),
    "agree": lambda gold, system, **rules: spanwise.agree({"one": gold, "two": system}, **rules),
    "suspects": lambda gold, system, **rules: spanwise.suspects(gold, {"a": [system]}, **rules),
    "slices": lambda gold, system, **rules: spanwise.find_slices(gold, {"a": system}, flips=20, **rules),
    "explain": spanwise.explain,
    "leaks": lambda gold, system, **rules: spanwise.leaks(gold, {"a": system}, resamples=0, **rules),
    "split": lambda gold, system, **rules: spanwise.split(gold, test=0.5, **rules),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_document_says_by_which_rules_labels_were_mapped(verb: str, tmp_path: Any) -> None:
    gold, system = (
        conll(tmp_path / "gold.conll", TOKENS * 3, GOLD * 3),
        conll(tmp_path / "a.conll", TOKENS * 3, SYSTEM * 3),
    )
    plain, mapped = (VERBS[verb](gold, system, **rules) for rules in ({}, {"map": "GPE=LOC"}))
    assert not plain.label_rules
    assert mapped.label_rules == {"map": {"GPE": "LOC"}}
    assert mapped.to_dict()["label_rules"] == {"map": {"GPE": "LOC"}}
    assert mapped.signature.startswith(f"{plain.signature.partition('|gold:')[0]}")
    assert any(part.startswith("labels:") for part in mapped.signature.split("|"))


def test_units_are_not_drawn_by_labels_that_no_file_has(tmp_path: Any) -> None:
    gold = conll(tmp_path / "gold.conll", TOKENS, GOLD)
    with pytest.raises(ChoiceError, match="only names the label 'X'"):
        spanwise.sample(gold, 1, only=["X"])


def test_parts_that_are_written_by_a_split_have_the_mapped_labels(tmp_path: Any) -> None:
    corpus = conll(tmp_path / "all.conll", TOKENS * 4, GOLD * 4)
    spanwise.split(corpus, test=0.5, output=tmp_path / "parts", map={"GPE": "LOC"})
    written = {*read(tmp_path / "parts" / "test.conll").mentions.names()}
    assert written <= {"LOC", "PER"}
    assert "LOC" in written


def test_answers_go_by_the_rules_and_aliases_are_a_map_of_predictions() -> None:
    answers = [
        [
            {"text": "Ann", "label": "human"},
            {"text": "Bo", "label": "per"},
            {"text": "Oslo", "label": "city"},
        ],
        [{"text": "Oslo", "label": "junk"}],
    ]
    gold = read(GOLD, tokens=TOKENS)
    keywords: dict[str, Any] = {"map": {"GPE": "LOC", "city": "LOC"}, "without": ["junk"]}
    by_alias = spanwise.place(gold, answers, aliases={"human": "PER"}, **keywords)
    by_map = spanwise.place(gold, answers, predicted_map={"human": "PER"}, **keywords)
    assert by_alias.policies == by_map.policies
    assert by_alias.policies.ordered.precision == 1.0
    assert by_alias.policies.ordered.recall == 0.75
    scored = spanwise.evaluate(gold, {"llm": answers}, answers="ordered", resamples=0,
                               predicted_map={"human": "PER"}, **keywords)  # fmt: skip
    assert scored.systems["llm"].exact.overall.correct == 3
    assert scored.inputs[1].dropped == 1
    with pytest.raises(ChoiceError, match="aliases and predicted_map map the label 'human' to two labels"):
        spanwise.place(gold, answers, aliases={"human": "PER"}, predicted_map={"human": "LOC"})


# ---- labels that gold does not have ----


def aliased(right: int, wrong: int) -> Any:
    """Predictions of which `right` are gold mentions under another label, and `wrong` are not in gold."""
    number = right + wrong
    tokens = [["Oslo", "fell"]] * number
    gold = [["B-location", "O"]] * right + [["O", "O"]] * wrong
    return gold, {"a": [["B-LOC", "O"]] * number}, tokens


def test_a_label_that_stands_for_a_gold_label_is_the_first_finding() -> None:
    gold, systems, tokens = aliased(52, 5)
    result = spanwise.evaluate(gold, systems, tokens=tokens, resamples=50)
    first = result.findings[0]
    assert (first.kind, first.value, first.count, first.title) == ("alias", 52, 57, "LOC=location")
    sentence = (
        "1 Map LOC to location. up to +95.4 F1 57 predictions of a are labeled LOC, "
        "which gold does not have; 52 of them are exactly a gold location. --map LOC=location"
    )
    assert sentence in " ".join(result.to_text(width=300).split())
    assert "which gold does not have" in result.to_html()
    mapped = spanwise.evaluate(gold, systems, tokens=tokens, resamples=50, map="LOC=location")
    assert mapped.systems["a"].exact.overall.correct == 52
    assert all(row.kind != "alias" for row in mapped.findings)


@pytest.mark.parametrize(
    ("right", "wrong", "proposed"),
    [(5, 0, True), (4, 0, False), (8, 2, True), (8, 3, False), (79, 21, False)],
)
def test_an_alias_needs_five_mentions_and_four_fifths_of_its_predictions(
    right: Any, wrong: Any, proposed: Any
) -> None:
    gold, systems, tokens = aliased(right, wrong)
    found = spanwise.evaluate(gold, systems, tokens=tokens, resamples=0).findings
    assert [row.kind == "alias" for row in found[:1]] == ([True] if proposed else [False] * len(found[:1]))


def test_a_label_that_gold_has_is_not_an_alias() -> None:
    gold, systems, tokens = aliased(20, 0)
    gold = [*gold, ["B-LOC", "O"]]
    systems["a"] = [*systems["a"], ["O", "O"]]
    found = spanwise.evaluate(gold, systems, tokens=[*tokens, ["Bern", "fell"]], resamples=0).findings
    assert all(row.kind != "alias" for row in found)


def test_with_several_systems_the_finding_names_the_one() -> None:
    gold, systems, tokens = aliased(20, 0)
    both = {**systems, "b": gold}
    result = spanwise.evaluate(gold, both, tokens=tokens, resamples=50)
    assert (result.findings[0].kind, result.findings[0].system) == ("alias", "a")


# ---- studies and saved results ----


def study_of(tmp_path: Any, **keys: Any) -> Any:
    """A study of one system on two datasets, of which only the first has the label GPE."""
    conll(tmp_path / "one.conll", TOKENS, GOLD)
    conll(tmp_path / "two.conll", TOKENS, [["B-PER", "O", "B-PER", "O", "O"], ["O", "O"]])
    for name in ("one", "two"):
        conll(tmp_path / f"{name}.a.conll", TOKENS, SYSTEM)
    return {
        "predictions": "{dataset}.{system}.conll",
        "resamples": 0,
        "datasets": {"one": {"test": "one.conll"}, "two": {"test": "two.conll"}},
        "systems": {"a": {}},
        **keys,
    }


def test_in_a_study_a_name_missing_in_one_dataset_is_noted_and_in_all_refused(tmp_path: Any) -> None:
    tree = study_of(tmp_path, map={"GPE": "LOC", "NAME": "PER"})
    study = spanwise.study(tree, root=tmp_path, cache=False)
    notes = {row.dataset: row.notes for row in study.inputs if row.role == "gold"}
    assert notes["one"] == ()
    assert notes["two"] == ("map names the label 'GPE', which no file of this dataset has",)
    with pytest.raises(ChoiceError, match="map names the label 'GEP', which no file of the study has"):
        spanwise.study({**tree, "map": {"GEP": "LOC"}}, root=tmp_path, cache=False)


def test_the_rules_of_a_dataset_win_over_those_of_the_study(tmp_path: Any) -> None:
    tree = study_of(tmp_path, map={"NAME": "PER"})
    (tmp_path / "labels.toml").write_text('NAME = "PERSON"\nPER = "PERSON"\n')
    tree["datasets"]["two"]["map"] = "labels.toml"
    for memory in (None, "1MB"):
        study = spanwise.study(tree, root=tmp_path, cache=False, memory=memory)
        one, two = (study.datasets[name].dataset for name in ("one", "two"))
        assert one is not None and "PER" in one.labels
        assert two is not None and two.labels == {"PERSON": 2}


def test_results_under_other_rules_are_not_compared(tmp_path: Any) -> None:
    files = [
        conll(tmp_path / name, TOKENS, tags) for name, tags in (("gold.conll", GOLD), ("a.conll", SYSTEM))
    ]
    results = [spanwise.evaluate(*files, resamples=0, map=rules) for rules in (None, {"GPE": "LOC"})]
    with pytest.raises(InputError, match="labels were mapped or left out by other rules"):
        check_same_gold(results, ["plain", "mapped"])
    check_same_gold([results[1], results[1]], ["first", "second"])


# ---- the rules themselves ----


def test_maps_and_names_are_read_from_text() -> None:
    assert label_map(" A = B , C=", option="map") == {"A": "B", "C": None}
    assert label_map("A=B,A=B", option="map") == {"A": "B"}
    assert label_names(["A", "A", "B"], option="only") == ("A", "B")
    assert not rules_of({})
    assert rules_of({"only": "A,B"}).only == ("A", "B")


def test_commands_to_run_next_read_labels_as_the_result_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.conll").write_text("Oslo B-LOC\n\nAnn B-PER\n\n" * 9, encoding="utf-8")
    Path("mine.conll").write_text("Oslo B-ORG\n\nAnn B-PER\n\n" * 9, encoding="utf-8")
    rules = ["--map", "LOC=PLACE", "--predicted-map", "ORG=GROUP", "--limit", "labels=500"]
    assert main(["evaluate", "gold.conll", "mine.conll", *rules, "--color", "never"]) == 0
    screen = re.sub(r"\\\n *", "", capsys.readouterr().out)
    lines = [re.split("  +", line.strip())[0] for line in screen.splitlines()]  # without notes beside them
    commands = [shlex.split(line) for line in lines if line.startswith("spanwise errors")]
    assert commands and all(" ".join(rules) in " ".join(words) for words in commands)
    for words in commands:
        assert main(words[1:]) == 0
    assert "PLACE" in capsys.readouterr().out
