"""Laws of label rules: they do what rewriting the files by hand does, in whole files and in parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spanwise
from spanwise.corpus import Mentions
from spanwise.labels import LabelRules

NAMES = ("A", "B", "C", "D")
LENGTH = 6
labels = st.sampled_from(NAMES)
targets = st.one_of(st.none(), st.sampled_from((*NAMES, "E")))


@st.composite
def spans(draw: Any) -> Any:
    """The spans of a few sentences, each with a score, no two of them equal."""
    sentences = []
    for _ in range(draw(st.integers(1, 4))):
        found = {}
        for _ in range(draw(st.integers(0, 5))):
            start = draw(st.integers(0, LENGTH - 1))
            end = draw(st.integers(start + 1, LENGTH))
            found[start, end, draw(labels)] = draw(st.integers(0, 8)) / 8
        sentences.append([(*key, score) for key, score in found.items()])
    return sentences


@st.composite
def cases(draw: Any) -> Any:
    gold = draw(spans())
    predicted = [draw(spans())[0] for _ in gold]
    rules = {
        "map": draw(st.dictionaries(labels, targets, max_size=4)),
        "predicted_map": draw(st.dictionaries(labels, targets, max_size=2)),
        "only": draw(st.lists(labels, unique=True, max_size=3)),
        "without": draw(st.lists(labels, unique=True, max_size=2)),
    }
    return gold, predicted, rules


def rewritten(sentences: Any, rules: Any, *, predicted: bool) -> Any:
    """The spans after the rules, span by span, as one would rewrite a file by hand."""
    result, dropped, merged = [], 0, 0
    for sentence in sentences:
        renamed = []
        for start, end, label, score in sentence:
            new = label
            if predicted and new in rules["predicted_map"]:
                new = rules["predicted_map"][new]
            if new is not None and new in rules["map"]:
                new = rules["map"][new]
            if new is None or (rules["only"] and new not in rules["only"]) or new in rules["without"]:
                dropped += 1
            else:
                renamed.append((start, end, new, score))
        best: dict[tuple[int, int, str], int] = {}
        for row, (start, end, label, score) in enumerate(renamed):
            if (start, end, label) not in best or score > renamed[best[start, end, label]][3]:
                best[start, end, label] = row
        merged += len(renamed) - len(best)
        result.append([renamed[row] for row in sorted(best.values())])
    return result, merged, dropped


def without_traces(document: Any) -> dict[str, Any]:
    """A document without what rules on labels may change beside its numbers."""
    plain: dict[str, Any] = json.loads(document.to_json())
    del plain["inputs"], plain["signature"]
    for name in ("map", "predicted_map", "only", "without"):
        plain["settings"].pop(name, None)
    # Repairs are counted in findings and tasks, also those of mentions that are left out afterwards.
    plain["findings"] = [row for row in plain["findings"] if row["kind"] not in ("alias", "data")]
    plain["tasks"] = [row for row in plain["tasks"] if row["kind"] not in ("alias", "repairs")]
    return plain


def known(rules: Any, gold: Any, predicted: Any) -> Any:
    """The rules without the names that no source has, which are an error."""
    others = {span[2] for sentence in gold for span in sentence}
    own = {span[2] for sentence in predicted for span in sentence}
    names = LabelRules(**rules).missing(others, own)
    while names:
        missing = {(row.option, row.name) for row in names}
        rules = {
            option: {name: new for name, new in value.items() if (option, name) not in missing}
            if isinstance(value, dict)
            else [name for name in value if (option, name) not in missing]
            for option, value in rules.items()
        }
        names = LabelRules(**rules).missing(others, own)
    return rules


@settings(max_examples=60, deadline=None)
@given(cases())
def test_rules_do_what_rewriting_the_spans_does(case: Any) -> None:
    gold, predicted, rules = case
    rules = known(rules, gold, predicted)
    tokens = [[f"w{number % 3}" for number in range(LENGTH)] for _ in gold]
    keywords: dict[str, Any] = {"tokens": tokens, "resamples": 20, "name": "random"}
    new_gold, gold_merged, gold_dropped = rewritten(gold, rules, predicted=False)
    new_predicted, merged, dropped = rewritten(predicted, rules, predicted=True)
    by_rules = spanwise.evaluate(gold, {"a": predicted}, **keywords, **rules)
    by_hand = spanwise.evaluate(new_gold, {"a": new_predicted}, **keywords)
    assert without_traces(by_rules) == without_traces(by_hand)
    if any(rules.values()):
        counted = [(row.merged, row.dropped) for row in by_rules.inputs]
        assert counted == [(gold_merged, gold_dropped), (merged, dropped)]


@settings(max_examples=40, deadline=None)
@given(spans(), st.permutations(NAMES))
def test_a_permutation_of_labels_and_its_inverse_change_nothing(sentences: Any, order: Any) -> None:
    there, back = dict(zip(NAMES, order, strict=True)), dict(zip(order, NAMES, strict=True))
    rows = [(number, *span[:3]) for number, sentence in enumerate(sentences) for span in sentence]
    mentions = Mentions.of(rows)
    once = LabelRules(there).apply(mentions, predicted=False)
    twice = LabelRules(back).apply(once.mentions, predicted=False)
    assert (once.merged, once.dropped, twice.merged, twice.dropped) == (0, 0, 0, 0)
    assert twice.mentions.rows() == mentions.rows()


def by_hand(path: Path, output: Path, rules: dict[str, str | None]) -> Path:
    """Rewrite the tags of a CoNLL file line by line."""
    lines = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        head, mark, label = line.rpartition("-")
        if not mark or not head.endswith(("\tB", "\tI", " B", " I")):
            lines.append(line)
            continue
        label, text = label.strip(), head[:-1]
        target = rules.get(label, label)
        lines.append(f"{text}O" if target is None else f"{head}-{target}")
    output.parent.mkdir(exist_ok=True)
    output.write_text("\n".join(lines), encoding="utf-8")
    return output


@pytest.mark.parametrize(
    ("files", "rules"),
    [
        (("wnut17/test.conll", "wnut17/train.conll", "wnut17/predictions/arcada.conll"),
         {"corporation": "group", "product": None, "person": "location", "location": "person"}),
        (("masakhaner/pcm/test.txt", "masakhaner/pcm/train.txt", "masakhaner/pcm/predictions/mbert.1.txt"),
         {"DATE": None, "PER": "NAME"}),
    ],
)  # fmt: skip
def test_rules_do_what_rewriting_real_files_does(
    files: Any, rules: Any, data: Any, tmp_path: Any, monkeypatch: Any
) -> None:
    paths = [data / name for name in files]
    for folder in ("plain", "mapped"):
        (tmp_path / folder).mkdir()
    names = ["gold.conll", "train.conll", "system.conll"]
    for path, name in zip(paths, names, strict=True):
        by_hand(path, tmp_path / "plain" / name, {})
        by_hand(path, tmp_path / "mapped" / name, rules)
    results = {}
    for folder, chosen in (("plain", {"map": rules}), ("mapped", {})):
        monkeypatch.chdir(tmp_path / folder)
        keywords = {"train": "train.conll", "resamples": 50, **chosen}
        results[folder] = spanwise.evaluate("gold.conll", "system.conll", **keywords)
        in_parts = spanwise.evaluate("gold.conll", "system.conll", memory="1MB", workers=2, **keywords)
        assert in_parts.to_json() == results[folder].to_json()
    assert without_traces(results["plain"]) == without_traces(results["mapped"])
