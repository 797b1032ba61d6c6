"""The scores of tuples are those of the scorers that papers quote, on cases worked out here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.relations.records import read_records


def dumped(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def scored(gold: object, predicted: object, **options: Any) -> Any:
    """The scores of one system."""
    return spanwise.tuples(gold, {"mine": predicted}, **options).systems["mine"]


def scores(cell: Any) -> tuple[int, int, int, float, float, float]:
    return cell.gold, cell.predicted, cell.correct, cell.precision, cell.recall, cell.f1


def test_rel_and_rel_plus_are_those_of_pure(tmp_path: Path) -> None:
    """PURE's `evaluate_sent` (github.com/princeton-nlp/PURE, shared/data_structures.py).

    A relation is right if the spans of both arguments and the type are ("Rel"), and strictly right if the
    labels of both spans are right, too ("Rel+"). Predicted: leads and in between the right spans, one of
    which has a wrong label; in the wrong way round; and left, with right labels. Rel: 3 of 4 predicted, 3
    of 3 gold. Rel+: only left, 1 of 4 and 1 of 3.
    """
    document = {
        "doc_key": "d1",
        "sentences": [["Ida", "runs", "Marrow", "in", "Denby", "."], ["Alma", "left", "Heron", "."]],
        "ner": [[[0, 0, "PER"], [2, 2, "ORG"], [4, 4, "LOC"]], [[6, 6, "PER"], [8, 8, "ORG"]]],
        "relations": [[[0, 0, 2, 2, "leads"], [2, 2, 4, 4, "in"]], [[6, 6, 8, 8, "left"]]],
        "predicted_ner": [[[0, 0, "PER"], [2, 2, "LOC"], [4, 4, "LOC"]], [[6, 6, "PER"], [8, 8, "ORG"]]],
        "predicted_relations": [
            [[0, 0, 2, 2, "leads"], [2, 2, 4, 4, "in"], [4, 4, 2, 2, "in"]],
            [[6, 6, 8, 8, "left"]],
        ],
    }
    path = dumped(tmp_path / "predictions.json", document)
    both = scored(path, path).criteria  # the file holds gold and predictions
    predicted = list(read_records(path, predicted=True))
    criteria = scored(list(read_records(path)), predicted).criteria
    assert both == criteria
    assert scores(criteria["boundaries"].overall) == (3, 4, 3, 3 / 4, 1, 6 / 7)
    assert scores(criteria["strict"].overall) == (3, 4, 1, 1 / 4, 1 / 3, 2 / 7)


def vertex(*mentions: tuple[str, int]) -> list[dict[str, Any]]:
    """An entity of mentions of one token, each with its name and position in the first sentence."""
    return [{"name": name, "pos": [at, at + 1], "sent_id": 0, "type": "X"} for name, at in mentions]


@pytest.mark.parametrize("submitted", [True, False])
def test_f1_and_ign_f1_are_those_of_docred(tmp_path: Path, submitted: bool) -> None:
    """DocRED's evaluation.py (github.com/thunlp/DocRED, code/evaluation.py).

    Gold has 4 relations, the system 3, of which 2 are right: P = 2/3, R = 2/4, F1 = 4/7. One of the two is
    a fact of the training data, by one of the names of an entity: P without it = (2 - 1) / (3 - 1), R as it
    is, so Ign-F1 = 2 · 1/2 · 1/2 / (1/2 + 1/2) = 1/2. The wrong prediction is seen as well, which is no
    matter.
    """
    tokens = [["Ida", "Fenwick", "Marrow", "firm", "Denby"]]
    entities = [vertex(("Ida", 0), ("Fenwick", 1)), vertex(("Marrow", 2), ("firm", 3)), vertex(("Denby", 4))]
    gold = {
        "title": "A",
        "sents": tokens,
        "vertexSet": entities,
        "labels": [
            {"h": 0, "t": 1, "r": "leads"},
            {"h": 1, "t": 2, "r": "in"},
            {"h": 0, "t": 2, "r": "lives"},
            {"h": 2, "t": 1, "r": "has"},
        ],
    }
    train = {
        "title": "T",
        "sents": [["Fenwick", "Marrow", "Denby"]],
        "vertexSet": [vertex(("Fenwick", 0)), vertex(("Marrow", 1)), vertex(("Denby", 2))],
        "labels": [{"h": 0, "t": 1, "r": "leads"}, {"h": 1, "t": 2, "r": "has"}],
    }
    answers = [(0, 1, "leads"), (1, 2, "in"), (1, 2, "has")]
    if submitted:
        rows: Any = [{"title": "A", "h_idx": h, "t_idx": t, "r": r, "evidence": []} for h, t, r in answers]
    else:
        rows = [{**gold, "labels": [{"h": h, "t": t, "r": r} for h, t, r in answers]}]
    system = scored(
        dumped(tmp_path / "gold.json", [gold]),
        dumped(tmp_path / "result.json", rows),
        train=dumped(tmp_path / "train.json", [train]),
    )
    assert scores(system.criteria["strict"].overall) == (4, 3, 2, 2 / 3, 1 / 2, 4 / 7)
    assert (system.seen.SEEN.tuples, system.seen.SEEN.correct) == (1, 1)
    assert (system.seen.UNSEEN.tuples, system.seen.UNSEEN.correct) == (3, 1)
    ign = system.seen.ign
    assert (ign.precision, ign.recall, ign.f1) == (1 / 2, 1 / 2, 1 / 2)


HIPE = "TOKEN\tNE-COARSE-LIT\tNEL-LIT\tMISC\n"


def test_strict_and_relaxed_links_are_those_of_hipe(tmp_path: Path) -> None:
    """HIPE's scorer reads a link as a label and scores exact spans ("strict") or overlapping ones ("fuzzy").

    Source: impresso-project.ch/CLEF-HIPE-2020/evaluation.html. Gold has three links. "Denby" for "Port
    Denby" has one of its two identifiers, but overlaps only; NIL for "Ida" is right, though its label is
    not, which the task of linking does not ask for; the link of "Marrow" is wrong. Strict: 1 of 3. Fuzzy: 2
    of 3.
    """
    gold, predicted = tmp_path / "gold.tsv", tmp_path / "predicted.tsv"
    gold.write_text(
        HIPE + "Port\tB-loc\tQ7|Q8\t_\nDenby\tI-loc\tQ7|Q8\t_\nIda\tB-pers\tNIL\t_\nMarrow\tB-org\tQ9\t_\n"
    )
    predicted.write_text(
        HIPE + "Port\tO\t_\t_\nDenby\tB-loc\tQ8\t_\nIda\tB-org\tNIL\t_\nMarrow\tB-org\tQ1\t_\n"
    )
    system = scored(gold, predicted)
    third = (3, 3, 1, 1 / 3, 1 / 3, 1 / 3)
    assert scores(system.criteria["boundaries"].overall) == third
    assert scores(system.criteria["overlap"].overall) == (3, 3, 2, 2 / 3, 2 / 3, 2 / 3)
    assert system.links.strict.correct == 0  # ours asks for the label as well
    found = system.links.found
    assert (found.mentions, found.right, found.accuracy) == (2, 1, 1 / 2)  # Ida and Marrow


def test_the_four_scores_of_events_are_those_of_ace(tmp_path: Path) -> None:
    """Li, Ji and Huang (2013), section 4.1: a trigger is right by its offsets, and its type; an argument by
    its offsets and the type of its event, and its role.

    Predicted: Attack at the right trigger with Attacker right and the Place as its Target; Die as Injure,
    with the right Victim. Triggers: 2 of 2 identified, 1 classified. Arguments (5 gold, 3 predicted):
    identified are the Attacker and the Place, as the Victim's event has the wrong type: F1 = 2·2/8;
    classified is the Attacker alone: 2·1/8.
    """
    tokens = ["Rebels", "bombed", "the", "base", "in", "Denby", "and", "killed", "Ida"]
    mentions = [
        {"id": name, "start": start, "end": start + 1, "label": label}
        for name, start, label in (
            ("rebels", 0, "ORG"), ("bombed", 1, ""), ("base", 3, "FAC"), ("denby", 5, "GPE"),
            ("killed", 7, ""), ("ida", 8, "PER"),
        )
    ]  # fmt: skip
    unit = {"id": "s", "tokens": tokens, "mentions": mentions}
    attack = {"Attacker": "rebels", "Target": "base", "Place": "denby"}
    gold = [
        {"type": "Attack", "trigger": "bombed", "roles": attack},
        {"type": "Die", "trigger": "killed", "roles": {"Agent": "rebels", "Victim": "ida"}},
    ]
    predicted = [
        {"type": "Attack", "trigger": "bombed", "roles": {"Attacker": "rebels", "Target": "denby"}},
        {"type": "Injure", "trigger": "killed", "roles": {"Victim": "ida"}},
    ]
    events = scored([{**unit, "tuples": gold}], [{**unit, "tuples": predicted}]).events
    assert scores(events["trigger_identified"]) == (2, 2, 2, 1, 1, 1)
    assert scores(events["trigger_classified"]) == (2, 2, 1, 1 / 2, 1 / 2, 1 / 2)
    assert scores(events["argument_identified"]) == (5, 3, 2, 2 / 3, 2 / 5, 1 / 2)
    assert scores(events["argument_classified"]) == (5, 3, 1, 1 / 3, 1 / 5, 1 / 4)


def test_answers_of_a_model_are_scored_where_they_are_placed(tmp_path: Path) -> None:
    """One answer is right, one names a text that does not occur: 1 of 2 predicted, 1 of 1 gold."""
    unit = {
        "id": "s",
        "tokens": ["Ida", "runs", "Marrow"],
        "mentions": [{"id": "a", "start": 0, "end": 1}, {"id": "b", "start": 2, "end": 3}],
        "tuples": [{"type": "leads", "roles": {"head": "a", "tail": "b"}}],
    }
    relations = [{"head": "ida", "type": "leads", "tail": name} for name in ("Marrow", "Zoe")]
    record = {"id": "s", "raw": f"Here: {json.dumps(relations)}"}
    (tmp_path / "answers.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    for source in ([record], tmp_path / "answers.jsonl"):
        result = spanwise.tuples([unit], {"model": source}, answers="first", response="raw")
        cell = result.systems["model"].criteria["strict"].overall
        assert scores(cell) == (1, 2, 1, 1 / 2, 1, 2 / 3)
        assert "answers:first" in result.signature
        assert result.notes[-1] == "Answers of model: 1 repaired; 1 of 3 texts without a place."
