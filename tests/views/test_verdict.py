"""One answer per document: who is better, by how much, what it rests on, and what could change it."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from benches import client_of
from documents import result as made
from msgspec.structs import replace
from study_documents import study as made_study

import spanwise
from spanwise.demo import generate
from spanwise.document.evaluation import Evaluation
from spanwise.document.loading import document_of
from spanwise.document.scores import Comparison, LeadPart, ScoreTest
from spanwise.document.study import Study
from spanwise.reports import render
from spanwise.reports.notebook import notebook_table
from spanwise.reports.outlets import step_summary
from spanwise.views.points import shown_points
from spanwise.views.verdict import verdict
from spanwise.views.wording import SELECTED


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    files = generate(tmp_path_factory.mktemp("demo"), sentences=300)
    folder = Path(files.gold).parent
    systems = {name: folder / f"{name}.conll" for name in ("shortsighted", "memoriser", "swapper")}
    return spanwise.evaluate(folder / "gold.conll", systems, train=folder / "train.conll", attributes="fu20")


def pair(document: Evaluation, **changed: Any) -> Evaluation:
    """The document with its first pair of systems and another test of their primary score."""
    kept = tuple(document.systems)[:2]
    comparison = document.comparison(kept[0], kept[1])
    assert comparison is not None and comparison.primary is not None
    fields = {
        key: changed.pop(key)
        for key in ("difference", "interval", "p_corrected", "significant")
        if key in changed
    }
    test = replace(comparison.primary, **fields)
    return replace(
        document,
        systems={name: document.systems[name] for name in kept},
        comparisons=(replace(comparison, scores=(test,), lead={}, **{"pairs": 1, **changed}),),
    )


def test_a_better_system_is_named_with_its_lead_its_test_and_its_interval(demo: Evaluation) -> None:
    first, second = tuple(demo.systems)[:2]
    for sign, leader, other in ((1, first, second), (-1, second, first)):
        low, high = (0.035, 0.061) if sign > 0 else (-0.061, -0.035)
        found = verdict(
            pair(demo, difference=sign * 0.048, interval=(low, high), p_corrected=0.0004, significant=True)
        )
        assert str(found.answer) == f"{leader} is better than {other} by 4.8 F1, beyond chance (p < .001)."
        assert found.test.startswith("95 % interval 3.5 to 6.1 · paired randomisation over ")
        assert found.test.endswith("· of these models; training seeds not considered")


def test_what_is_not_significant_cannot_be_told_apart(demo: Evaluation) -> None:
    first, second = tuple(demo.systems)[:2]
    changed = {"difference": 0.004, "interval": (-0.011, 0.02), "p_corrected": 0.38, "significant": False}
    found = verdict(pair(demo, **changed))
    ahead = f"{first} is ahead by 0.4 F1 (p = .380)"
    assert str(found.answer) == f"{first} and {second} cannot be told apart: {ahead}."
    found = verdict(pair(demo, **changed, unreachable="only 4 documents differ: no test can reach .05"))
    assert "only 4 documents differ" in found.test
    zero = {"difference": 0.0, "interval": (-0.01, 0.01), "p_corrected": 1.0, "significant": False}
    assert str(verdict(pair(demo, **zero)).sentence).endswith("the difference is 0.0 F1 (p = 1.000).")
    same = verdict(pair(demo, **zero, identical=True))
    assert str(same.sentence) == f"{first} and {second} give the same predictions."


def test_a_pair_without_a_test_is_said_to_be_untested(demo: Evaluation) -> None:
    found = verdict(replace(demo, comparisons=()))
    assert str(found.sentence).endswith("; this was not tested.") and found.test == "" and not found.reason
    assert " is ahead of " in str(found.sentence) and ", the next of 3 systems, by " in str(found.sentence)


def test_the_answer_is_about_a_pair_that_was_tested_if_the_best_two_were_not(demo: Evaluation) -> None:
    order = sorted(demo.systems, key=lambda name: -(demo.systems[name].exact.overall.f1 or 0.0))
    asked = demo.comparison(order[0], order[2])
    assert asked is not None
    found = verdict(replace(demo, comparisons=(replace(asked, pairs=1),)))
    assert str(found.sentence).startswith(
        f"{order[0]} and {order[2]} cannot be told apart: {order[0]} is ahead"
    )
    assert "not tested" not in str(found.sentence) and found.test


def test_with_more_systems_all_that_cannot_be_told_apart_are_named(demo: Evaluation) -> None:
    found = verdict(demo)
    best = max(demo.systems, key=lambda name: demo.systems[name].exact.overall.f1 or 0.0)
    assert str(found.sentence).startswith(f"{best}, ") and f" cannot be told apart: {best} is" in str(
        found.sentence
    )
    assert "Holm over 3 pairs" in found.test and "not corrected" in found.test
    worse = [
        replace(row, scores=tuple(replace(test, significant=True, p_corrected=0.001) for test in row.scores))
        for row in demo.comparisons
    ]
    better = verdict(replace(demo, comparisons=tuple(worse)))
    assert ", the next of 3 systems, by " in str(better.sentence) and "beyond chance" in str(better.sentence)


def test_the_reason_names_where_two_systems_differ(demo: Evaluation) -> None:
    reason = str(verdict(demo).reason)
    assert reason.startswith("On parts of the data they differ: ") and reason.count(" on ") == 2


@pytest.mark.parametrize(("contribution", "word"), [(0.03, "Most"), (0.02, "Part"), (None, "Part")])
def test_most_of_a_lead_is_said_only_of_more_than_half(
    demo: Evaluation, contribution: float | None, word: str
) -> None:
    first = next(iter(demo.systems))
    path = ("tough", "UNSEEN-TOKENS", "overall", "recall")
    inside = ScoreTest(
        path=path, family="tough", difference=0.3, interval=None, p=0.001, p_corrected=0.001,
        significant=True, mentions=80,
    )  # fmt: skip
    document = pair(demo, difference=0.05, interval=(0.03, 0.07), p_corrected=0.001, significant=True)
    (comparison,) = document.comparisons
    lead = (
        {}
        if contribution is None
        else {"tough": (LeadPart(name="UNSEEN-TOKENS", contribution=contribution),)}
    )
    changed: Comparison = replace(comparison, scores=(*comparison.scores, inside), lead=lead)
    found = verdict(replace(document, comparisons=(changed,)))
    assert str(found.reason) == f"{word} of the lead is on mentions never seen (+30.0 recall)."
    assert str(found.answer).startswith(f"{first} is better than ")


def test_one_system_has_its_score_and_interval(demo: Evaluation) -> None:
    name, scores = next(iter(demo.systems.items()))
    found = verdict(replace(demo, systems={name: scores}, comparisons=()))
    assert str(found.sentence).startswith(f"{name} scores ") and " F1, between " in str(found.sentence)


def test_checks_name_what_could_change_the_answer() -> None:
    gold = [["B-PER", "O"], ["B-LOC", "O"]] * 4
    odd = [["B-LAWYER", "O"], ["B-LOC", "O"]] * 4
    checks = verdict(spanwise.evaluate(gold, {"crf": odd})).checks
    assert "4 predictions of crf have labels that gold lacks: LAWYER." in checks
    assert any(text.startswith("No documents are marked, so sentences count") for text in checks)
    assert "There are only 8 sentences: intervals and tests are unreliable." in checks
    alone = verdict(spanwise.evaluate(gold[:1], {"crf": gold[:1]})).checks
    assert "There is only 1 sentence: intervals and tests are unreliable." in alone


def test_names_are_not_read_as_places_for_other_names() -> None:
    gold = [["B-PER", "O"], ["B-LOC", "O"]] * 40
    found = verdict(spanwise.evaluate(gold, {"a{}b": gold, "{0}": [["O", "O"]] * 80}))
    assert str(found.sentence).startswith("a{}b is better than {0} by 100.0 F1")


def test_a_study_counts_the_datasets_on_which_each_system_is_better() -> None:
    document = document_of(made_study(names=("news", "tweets", "law")))
    assert isinstance(document, Study)
    found = verdict(document)
    assert str(found.sentence).startswith("bert is better than ")
    assert " of 3 datasets" in str(found.sentence)


def test_every_surface_says_the_same_sentence(tmp_path: Path) -> None:
    generate(tmp_path / "demo", sentences=300)
    gold = tmp_path / "demo" / "gold.conll"
    worse = tmp_path / "worse.conll"
    lines = gold.read_text(encoding="utf-8").splitlines()
    worse.write_text(
        "\n".join(re.sub("[BI]-(PER|LOC)$", "O", line) for line in lines) + "\n", encoding="utf-8"
    )
    results = tmp_path / "results"
    results.mkdir()
    saved = results / "pair.json"
    systems = {"shortsighted": tmp_path / "demo" / "shortsighted.conll", "silent": worse}
    result = spanwise.compare(gold, systems)
    result.to_json(saved)
    loaded = spanwise.load(saved)
    sentence = str(verdict(loaded).sentence)
    assert sentence.startswith("shortsighted is better than silent by ")
    assert sentence.endswith("beyond chance (p < .001).")
    assert " ".join(loaded.to_text().split()).startswith(sentence)
    assert sentence in repr(result) and sentence in repr(loaded)
    inside = {
        "page": result.to_html().partition('id="headline">')[2].partition("</h1>")[0],
        "notebook": notebook_table(loaded),
        "summary": str(render(loaded, "summary")),
    }
    for surface, text in inside.items():
        assert sentence in html.unescape(re.sub(r"<(?! )[^>]*>", "", text)).replace("\\", ""), surface
    with client_of(results) as client:
        (slug,) = (row["slug"] for row in client.get("/api/v1/golds").json())
        ids = {row["system"]: row["id"] for row in client.get(f"/api/v1/golds/{slug}/results").json()}
        address = f"/g/{slug}/compare/{ids['silent']}/{ids['shortsighted']}"
        assert client.get(f"{address}.json").json()["verdict"]["sentence"] == sentence
        assert html.escape(sentence) in client.get(address).text


def test_documents_are_not_changed_and_dicts_are_read(demo: Evaluation) -> None:
    plain = made("bert", "crf")
    assert verdict(plain) == verdict(document_of(plain))
    assert verdict(demo).to_dict()["answer"] == str(verdict(demo).answer)


def test_where_a_weak_slice_is_named_every_surface_says_once_that_it_was_chosen_for_its_score() -> None:
    gold = [["B-A", "O", "B-B"]] * 120
    weak = [["B-A", "O", "B-B" if at % 4 == 0 else "O"] for at in range(120)]
    result = spanwise.evaluate(gold, {"a": weak}, attributes="none")
    assert "slice" in [row.kind for row in result.findings]
    assert " ".join(shown_points(result).findings).count(SELECTED) == 1
    for text in (result.to_text(), result.to_html(), step_summary(result)):
        assert " ".join(text.split()).count(SELECTED) == 1
    right = spanwise.evaluate(gold, {"a": gold}, attributes="none")
    assert SELECTED not in " ".join(shown_points(right).findings)
