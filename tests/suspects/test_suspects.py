"""Suspects: votes, variation, ties, effects, and independence of the order of files."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from annotators import Span, changed, random_spans
from suspects_oracle import Found, Rows, majority
from suspects_oracle import suspects as slowly

import spanwise
from spanwise.corpus import Annotation
from spanwise.document.dataset import SuspectMention, Suspects
from spanwise.formats import from_spans

WORDS = ["Ada", "met", "Bo", "in", "Rome", "today"]


def given(rows: Rows, tokens: list[list[str]] | None = None) -> Annotation:
    return from_spans(rows, tokens=tokens or [WORDS for _ in rows])


def one_sentence(gold: list[Span], *systems: list[Span]) -> Suspects:
    named = {f"s{number}": given([own]) for number, own in enumerate(systems)}
    return spanwise.suspects(given([gold]), named)


def row(mention: SuspectMention | None) -> Span | None:
    return None if mention is None else (mention.start, mention.end, mention.label)


def found(document: Suspects) -> Found:
    return {
        (suspect.sentence, row(suspect.gold), row(suspect.proposal)): (
            suspect.score,
            suspect.votes.for_,
            suspect.votes.against,
        )
        for suspect in document.suspects
    }


def check(document: Suspects, expected: Found) -> None:
    """Check the suspects of a document, up to rounding of their scores."""
    listed = found(document)
    assert listed.keys() == expected.keys()
    for key, (score, *votes) in expected.items():
        assert listed[key] == (pytest.approx(score), *votes)


PER, LOC = (4, 5, "PER"), (4, 5, "LOC")


def test_another_label_scores_votes_for_minus_votes_against() -> None:
    document = one_sentence([PER], [LOC], [LOC], [PER])
    check(document, {(0, PER, LOC): (1 / 3, 2, 1)})
    assert document.suspects[0].kind == "label"


def test_a_single_system_proposes_nothing() -> None:
    assert found(one_sentence([], [LOC], [], [])) == {}
    assert found(one_sentence([PER], [LOC], [PER], [PER])) == {}


def test_another_span_is_a_boundary() -> None:
    longer = (3, 5, "PER")
    document = one_sentence([PER], [longer], [longer], [longer])
    assert found(document) == {(0, PER, longer): (1.0, 3, 0)}
    assert document.suspects[0].kind == "boundary"


def test_silence_proposes_to_delete() -> None:
    document = one_sentence([PER], [], [], [PER])
    check(document, {(0, PER, None): (1 / 3, 2, 1)})
    assert document.suspects[0].kind == "spurious"


def test_a_mention_missing_from_gold() -> None:
    document = one_sentence([], [LOC], [LOC], [])
    check(document, {(0, None, LOC): (2 / 3, 2, 0)})
    assert document.suspects[0].kind == "missing"


def test_of_overlapping_proposals_without_gold_only_the_highest_is_listed() -> None:
    longer = (3, 5, "LOC")
    document = one_sentence([], [LOC], [LOC], [LOC], [longer], [longer])
    assert list(found(document)) == [(0, None, LOC)]


def test_a_proposal_over_several_gold_mentions_is_listed_under_the_one_with_most_votes() -> None:
    first, second, both = (0, 1, "PER"), (2, 3, "PER"), (0, 3, "PER")
    document = one_sentence([first, second], [both], [both], [both], [second])
    assert found(document)[0, second, both] == (2 / 4, 3, 1)


def test_words_annotated_differently_in_training_are_suspect() -> None:
    gold = given([[PER]])
    train = given([[LOC], [LOC], [LOC]])
    document = spanwise.suspects(gold, train=train)
    check(document, {(0, PER, LOC): (3 / 4 * (1 - 1 / 4), 0, 0)})
    evidence = document.suspects[0].evidence
    assert evidence.readings == {"LOC": 3, "PER": 1}
    assert evidence.variation == pytest.approx(0.5625)
    assert evidence.votes is None


def test_different_neighbours_are_not_variation() -> None:
    train = from_spans([[(1, 2, "LOC")]] * 3, tokens=[["near", "Rome", "today"]] * 3)
    assert found(spanwise.suspects(given([[PER]]), train=train)) == {}


def test_words_that_gold_left_out_are_suspect_and_partly_covered_ones_are_not() -> None:
    train = given([[LOC]] * 4)
    check(spanwise.suspects(given([[]]), train=train), {(0, None, LOC): (4 / 5 * 4 / 5, 0, 0)})
    assert found(spanwise.suspects(given([[(3, 5, "LOC")]]), train=train)) == {}


def test_rarity_needs_five_occurrences() -> None:
    # Different neighbours, so that only the words themselves count.
    near = [["near", "Rome", "now"]]
    few = from_spans([[(1, 2, "LOC")]] * 3, tokens=near * 3)
    many = from_spans([[(1, 2, "LOC")]] * 4, tokens=near * 4)
    systems = {"a": given([[LOC]]), "b": given([[LOC]])}
    assert spanwise.suspects(given([[PER]]), systems, train=few).suspects[0].evidence.rarity is None
    rarity = spanwise.suspects(given([[PER]]), systems, train=many).suspects[0].evidence.rarity
    assert rarity == pytest.approx(4 / 5)


def test_ties_share_a_rank_and_are_counted() -> None:
    text = [WORDS, WORDS, ["Cy", "slept"]]
    gold = given([[PER], [PER], [(0, 1, "PER")]], text)
    predicted = given([[LOC], [LOC], []], text)
    half = given([[LOC], [LOC], [(0, 1, "PER")]], text)
    document = spanwise.suspects(gold, {"a": predicted, "b": predicted, "c": half})
    assert [(suspect.rank, suspect.tied) for suspect in document.suspects] == [(1, 2), (1, 2), (3, 1)]


def test_a_list_that_is_cut_within_a_tie_has_a_note() -> None:
    gold = given([[PER], [PER], [PER]])
    predicted = given([[LOC], [LOC], [LOC]])
    document = spanwise.suspects(gold, {"a": predicted, "b": predicted}, top=2)
    assert len(document.suspects) == 2
    assert "rank 1 is shared by 3 suspects, of which 2 are listed" in document.notes


def case(seed: int) -> tuple[list[list[str]], Rows, dict[str, list[Rows]], list[list[str]], Rows]:
    """Text, gold, runs of systems and training data, from few words so that they recur."""
    generator = random.Random(seed)

    def text(size: int) -> list[list[str]]:
        return [[generator.choice("abc") for _ in range(generator.randint(2, 6))] for _ in range(size)]

    tokens, more = text(8), text(8)
    gold = [random_spans(generator, len(words)) for words in tokens]
    train = [random_spans(generator, len(words)) for words in more]
    systems = {
        f"s{number}": [
            [changed(generator, own, len(words)) for own, words in zip(gold, tokens, strict=True)]
            for _ in range(1 + 2 * (number % 2))
        ]
        for number in range(seed % 5)
    }
    return tokens, gold, systems, more, train


@pytest.mark.parametrize("seed", range(60))
def test_suspects_equal_those_of_the_definitions_in_loops(seed: int) -> None:
    tokens, gold, systems, more, train = case(seed)
    document = spanwise.suspects(
        given(gold, tokens),
        {name: [given(run, tokens) for run in runs] for name, runs in systems.items()},
        train=given(train, more),
        top=None,
    )
    expected = slowly(tokens, gold, [majority(runs) for runs in systems.values()], [(more, train)])
    check(document, expected)


@pytest.mark.parametrize("seed", [4, 9, 13, 14, 29])
def test_effects_are_scores_against_the_changed_gold_without_the_systems_own_vote(seed: int) -> None:
    tokens, gold, systems, more, train = case(seed)
    if len(systems) < 3:
        return
    whole = {name: [given(run, tokens) for run in runs] for name, runs in systems.items()}
    document = spanwise.suspects(given(gold, tokens), whole, train=given(train, more), top=None)
    for name, effect in document.effects.items():
        others = {other: runs for other, runs in whole.items() if other != name}
        listed = spanwise.suspects(given(gold, tokens), others, train=given(train, more), top=None).suspects
        own = [set(spans) for spans in majority(systems[name])]
        for step in effect:
            changed_gold = [set(spans) for spans in gold]
            for suspect in listed[: step.k]:
                old, new = row(suspect.gold), row(suspect.proposal)
                changed_gold[suspect.sentence] -= {old} if old else set()
                changed_gold[suspect.sentence] |= {new} if new else set()
            correct = sum(len(a & b) for a, b in zip(changed_gold, own, strict=True))
            size = sum(map(len, changed_gold)) + sum(map(len, own))
            assert step.f1 == pytest.approx(2 * correct / size)


@pytest.mark.parametrize("seed", [3, 4, 8])
def test_the_order_of_sentences_and_systems_changes_no_suspect(seed: int) -> None:
    tokens, gold, systems, more, train = case(seed)
    order = list(range(len(tokens)))
    random.Random(seed).shuffle(order)
    first = spanwise.suspects(
        given(gold, tokens), {name: [given(run, tokens) for run in runs] for name, runs in systems.items()},
        train=given(train, more), top=None,
    )  # fmt: skip
    turned = {
        name: [given([run[at] for at in order], [tokens[at] for at in order]) for run in runs]
        for name, runs in reversed(systems.items())
    }
    second = spanwise.suspects(
        given([gold[at] for at in order], [tokens[at] for at in order]), turned,
        train=given(train[::-1], more[::-1]), top=None,
    )  # fmt: skip
    assert found(first) == {(order[key[0]], *key[1:]): value for key, value in found(second).items()}
    scores = [[suspect.score for suspect in document.suspects] for document in (first, second)]
    assert scores[0] == pytest.approx(scores[1])


def test_runs_found_by_a_pattern_are_one_voter(tmp_path: Path) -> None:
    gold = tmp_path / "gold.conll"
    gold.write_text("in O\nRome B-PER\n", encoding="utf-8")
    for run in (1, 2, 3):
        label = "LOC" if run < 3 else "PER"
        (tmp_path / f"a.{run}.conll").write_text(f"in O\nRome B-{label}\n", encoding="utf-8")
    (tmp_path / "b.conll").write_text("in O\nRome B-LOC\n", encoding="utf-8")
    document = spanwise.suspects(gold, {"a": str(tmp_path / "a.{run}.conll"), "b": tmp_path / "b.conll"})
    assert document.voters == ("a", "b")
    assert document.suspects[0].score == 1.0


def test_texts_are_compared_by_words_and_reported_in_characters(tmp_path: Path) -> None:
    def lines(name: str, *spans: list[list[object]]) -> Path:
        path = tmp_path / name
        records = [{"text": "we met in Rome, today", "spans": own} for own in spans]
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return path

    train = lines("train.jsonl", *([[[10, 14, "LOC"]]] * 3))
    wrong = spanwise.suspects(lines("gold.jsonl", [[10, 14, "PER"]]), train=train)
    check(wrong, {(0, (10, 14, "PER"), (10, 14, "LOC")): (0.5625, 0, 0)})
    assert "{[Rome]PER}LOC, today" in wrong.to_text(width=100)
    missing = spanwise.suspects(lines("gold.jsonl", []), train=train)
    check(missing, {(0, None, (10, 14, "LOC")): (0.5625, 0, 0)})


def test_a_suspect_in_a_document_is_on_the_line_where_it_begins(tmp_path: Path) -> None:
    text = "Ann left.\nNobody saw her.\nShe is in Rome now.\n"
    start = text.index("Rome")
    for name in ("gold", "a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.txt").write_text(text, encoding="utf-8")
        place = "" if name == "gold" else f"T2\tLOC {start} {start + 4}\tRome\n"
        (tmp_path / name / "one.ann").write_text(f"T1\tPER 0 3\tAnn\n{place}", encoding="utf-8")
    document = spanwise.suspects(tmp_path / "gold", {name: tmp_path / name for name in "ab"})
    assert [suspect.source for suspect in document.suspects] == [f"{tmp_path / 'gold'}: one:3"]
