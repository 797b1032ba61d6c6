"""What changed between two results: counts against plain loops, laws, runs, and results that do not fit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study_files import hash_of, predicted, sentences, write
from typed import present

import spanwise
from spanwise.changing import changes
from spanwise.cli.main import main
from spanwise.document.changes import WAYS, ChangeCounts, SystemChanges
from spanwise.document.evaluation import Evaluation
from spanwise.document.loading import document_of
from spanwise.errors import ChoiceError, InputError

Spans = list[tuple[int, int, str]]
TOKENS = 6
WIDE = st.lists(st.tuples(st.integers(0, TOKENS - 1), st.integers(1, 2), st.sampled_from("AB")), max_size=3)
CORPUS = st.lists(WIDE, min_size=4, max_size=4)


def apart(rows: Sequence[tuple[int, int, str]]) -> Spans:
    """The spans that do not overlap an earlier one."""
    taken: set[int] = set()
    spans: Spans = []
    for start, size, label in rows:
        places = set(range(start, min(start + size, TOKENS)))
        if not places & taken:
            taken |= places
            spans.append((start, max(places) + 1, label))
    return spans


def corpora(*several: list[Spans]) -> list[list[Spans]]:
    """The sentences of each corpus, and one more that all have right."""
    return [[*map(apart, corpus), [(0, 1, "A"), (1, 2, "B")]] for corpus in several]


def result(gold: list[Spans], said: list[Spans], name: str = "mine", **options: object) -> Evaluation:
    words = [f"w{at}" for at in range(TOKENS)]

    def records(sentences: list[Spans]) -> list[dict[str, object]]:
        return [{"tokens": words, "spans": [list(span) for span in spans]} for spans in sentences]

    chosen: dict[str, object] = {"resamples": 0, "labels": ["A", "B"], **options}
    return spanwise.evaluate(records(gold), {name: records(said)}, **chosen)  # type: ignore[arg-type]


def four(counts: ChangeCounts) -> tuple[int | None, ...]:
    return tuple(getattr(counts, way) for way in WAYS)


@settings(max_examples=40, deadline=None)
@given(CORPUS, CORPUS, CORPUS)
def test_counts_are_those_of_plain_loops(
    gold_rows: list[Spans], old_rows: list[Spans], new_rows: list[Spans]
) -> None:
    gold, old, new = corpora(gold_rows, old_rows, new_rows)
    found = result(gold, old).changes(result(gold, new)).systems["mine"]
    expected: dict[str, Counter[str]] = {label: Counter() for label in "AB"}
    for right, first, last in zip(gold, old, new, strict=True):
        for span in right:
            expected[span[2]]["broken"] += span in first and span not in last
            expected[span[2]]["fixed"] += span in last and span not in first
        for span in {*first, *last} - {*right}:
            expected[span[2]]["new"] += span in last and span not in first
            expected[span[2]]["gone"] += span in first and span not in last
    for label, number in expected.items():
        own = found.labels.get(label)
        assert (four(own) if own else (0, 0, 0, 0)) == tuple(number[way] for way in WAYS)
    assert four(found) == tuple(sum(number[way] for number in expected.values()) for way in WAYS)
    assert totals(found) == four(found)


def totals(found: SystemChanges) -> tuple[int, ...]:
    rows = [four(counts) for counts in (found.kinds or {}).values()]
    return tuple(sum(row[at] or 0 for row in rows) for at in range(4))


@settings(max_examples=25, deadline=None)
@given(CORPUS, CORPUS, CORPUS)
def test_changes_back_are_the_reverse_and_none_to_itself(
    gold_rows: list[Spans], old_rows: list[Spans], new_rows: list[Spans]
) -> None:
    gold, old, new = corpora(gold_rows, old_rows, new_rows)
    before, after = result(gold, old), result(gold, new)
    there, back = (one.changes(other).systems["mine"] for one, other in ((before, after), (after, before)))
    assert (there.broken, there.fixed, there.new, there.gone) == (
        back.fixed, back.broken, back.gone, back.new,
    )  # fmt: skip
    same = before.changes(before)
    assert four(same.systems["mine"]) == (0, 0, 0, 0) and not same.sentences
    correct = [sum(span in said for span in right) for right, said in zip(gold, old, strict=True)]
    later = [sum(span in said for span in right) for right, said in zip(gold, new, strict=True)]
    assert (there.fixed or 0) - (there.broken or 0) == sum(later) - sum(correct)


@settings(max_examples=25, deadline=None)
@given(CORPUS, CORPUS, CORPUS)
def test_without_sentences_the_gold_mentions_are_counted_from_their_codes(
    gold_rows: list[Spans], old_rows: list[Spans], new_rows: list[Spans]
) -> None:
    gold, old, new = corpora(gold_rows, old_rows, new_rows)
    whole = result(gold, old).changes(result(gold, new))
    bare = result(gold, old, examples="none").changes(result(gold, new))
    own, known = bare.systems["mine"], whole.systems["mine"]
    assert four(own) == (known.broken, known.fixed, None, None) and not own.kinds
    for label, counts in known.labels.items():
        assert (own.labels[label].broken, own.labels[label].fixed) == (counts.broken, counts.fixed)
    assert not bare.sentences and "--examples errors" in bare.notes[0]


GOLD: list[Spans] = [[(0, 1, "A")], [(2, 4, "B")], [(1, 3, "A")]]
OLD: list[Spans] = [[(0, 1, "A")], [(2, 3, "B")], [(1, 3, "A")]]
NEW: list[Spans] = [[(0, 1, "B")], [(2, 4, "B")], [(1, 3, "A"), (5, 6, "A")]]


def test_an_example_by_hand() -> None:
    found = result(GOLD, OLD).changes(result(GOLD, NEW, name="other"))
    own = found.systems["other"]
    assert own.earlier == "mine" and four(own) == (1, 1, 2, 1)
    assert own.kinds
    assert {kind: four(counts) for kind, counts in own.kinds.items()} == {
        "LE": (1, 0, 1, 0), "BEs": (0, 1, 0, 1), "FP": (0, 0, 1, 0),
    }  # fmt: skip
    assert [(row.change, row.outcome, row.mention) for row in found.sentences] == [
        ("broken", "LE", "w0"), ("fixed", "BEs", "w2 w3"), ("new", "LE", "w0"), ("new", "FP", "w5"),
        ("gone", "BEs", "w2"),
    ]  # fmt: skip
    assert own.difference and own.difference.difference == pytest.approx(4 / 7 - 4 / 6)
    text = " ".join(found.to_text(width=80).split())
    assert "1 mention broke, 1 was fixed" in text and "[w2 w3] w4 w5 · gold B, then B “w2”" in text
    assert document_of(found.to_dict()) == found


def test_a_mention_is_right_if_it_is_in_more_than_half_of_the_runs(tmp_path: Path) -> None:
    def write(name: str, first: str, second: str) -> None:
        (tmp_path / f"{name}.conll").write_text(f"a {first}\n\nb {second}\n\nc B-A\n", encoding="utf-8")

    write("gold", "B-A", "B-A")
    for run, second in enumerate(["B-A", "O", "B-B", "B-C"]):  # the runs of a system must differ
        write(f"half.{run}", "B-A" if run < 2 else "O", second)
        write(f"most.{run}", "B-A" if run < 3 else "O", second)
    half, most = (
        spanwise.evaluate(
            tmp_path / "gold.conll", {"mine": str(tmp_path / f"{name}.{{run}}.conll")}, resamples=20
        )
        for name in ("half", "most")
    )
    found = changes(most, half).systems["mine"]
    assert (found.broken, found.fixed, found.runs) == (1, 0, (4, 4))
    assert found.labels["A"].gold == 3 and (found.new, found.gone) == (0, 0)


def test_a_redacted_result_gives_counts_without_text() -> None:
    found = result(GOLD, OLD, redact=True).changes(result(GOLD, NEW, redact=True))
    assert four(found.systems["mine"]) == (1, 1, 2, 1) and not found.sentences
    assert "w2" not in found.to_json()


def test_the_test_of_a_label_is_that_of_the_gate(tmp_path: Path) -> None:
    gold, old, new = GOLD * 20, OLD * 20, GOLD * 15 + NEW * 5
    first, second = (result(gold, said, resamples=200) for said in (old, new))
    own = first.changes(second).systems["mine"]
    both = spanwise.compare(  # the same test, with both systems in one result
        [{"tokens": list("abcdef"), "spans": [list(span) for span in spans]} for spans in gold],
        {
            name: [{"tokens": list("abcdef"), "spans": [list(span) for span in spans]} for spans in said]
            for name, said in (("new", new), ("old", old))
        },
        resamples=200,
    ).comparisons[0]
    for difference, path in (
        (own.difference, ("exact", "overall", "f1")),
        (own.labels["B"].difference, ("exact", "labels", "B", "f1")),
    ):
        row = both.score(path)
        assert difference and row
        assert (difference.difference, difference.interval) == (row.difference, row.interval)
    assert own.difference and own.difference.p == both.primary.p  # type: ignore[union-attr]


def test_the_changes_of_a_study_are_one_family_over_systems_and_datasets(tmp_path: Path) -> None:
    studies = []
    for version, better in (("old", 0.0), ("new", 0.1)):
        folder = tmp_path / version
        for at, dataset in enumerate("xy"):
            gold = sentences(60, at)
            write(folder / dataset / "test.txt", gold)
            for system, rate in {"a": 0.4, "b": 0.3}.items():
                seed = hash_of(version, dataset, system)
                write(folder / dataset / f"{system}.1.txt", predicted(gold, rate - better, seed))
        manifest = {
            "predictions": "{dataset}/{system}.{run}.txt", "attributes": "none", "unit": "sentence",
            "datasets": {name: {"test": f"{name}/test.txt"} for name in "xy"}, "systems": {"a": {}, "b": {}},
        }  # fmt: skip
        studies.append(spanwise.study(manifest, root=folder, cache=False, workers=1))
    found = changes(*studies)
    tests = sorted((present(row.difference) for row in found.systems.values()), key=lambda row: row.p or 0)
    least = 0.0
    assert len(tests) == 4
    for at, test in enumerate(tests):  # Holm, by hand
        least = max(least, min(1.0, present(test.p) * (4 - at)))
        assert test.p_corrected == pytest.approx(least, abs=1e-12)
        assert test.significant == (least < 0.05)
    said = " ".join(str(found.to_text()).split())
    assert said.count("Holm over 4 tests") == 4 and said.count("the interval is not corrected") == 4


def test_a_system_with_the_same_predictions_as_before_is_named_as_such_and_not_in_the_family() -> None:
    gold = [[(0, 1, "A"), (2, 3, "B")]] * 40
    some, fewer = gold, [[(0, 1, "A")]] * 20 + gold[:20]
    before = spanwise.evaluate(gold, {"a": fewer, "b": fewer}, resamples=100, attributes="none")
    after = spanwise.evaluate(gold, {"a": fewer, "b": some}, resamples=100, attributes="none")
    said = " ".join(changes(before, after).to_text().split())
    assert "a gives the same predictions as before." in said
    assert "b is better by" in said and "Holm" not in said


def test_results_that_do_not_fit_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = result(GOLD, OLD)
    with pytest.raises(InputError, match="the gold data differ"):
        first.changes(result(OLD, NEW))
    with pytest.raises(ChoiceError, match="no system is called 'nobody'"):
        first.changes(result(GOLD, NEW), system="nobody")
    with pytest.raises(InputError, match="has no system 'b'"):
        spanwise.changes(first, spanwise.evaluate(
            [{"tokens": [f"w{at}" for at in range(TOKENS)], "spans": [list(s) for s in spans]}
             for spans in GOLD],
            {name: [{"tokens": [f"w{at}" for at in range(TOKENS)], "spans": []} for _ in GOLD]
             for name in ("mine", "b")},
            labels=["A", "B"], resamples=0,
        ), system="b")  # fmt: skip
    bare = json.loads(result(GOLD, OLD, examples="none").to_json())
    del bare["mentions"]
    (tmp_path / "bare.json").write_text(json.dumps(bare), encoding="utf-8")
    first.to_json(tmp_path / "first.json")
    assert main(["changes", str(tmp_path / "first.json"), str(tmp_path / "bare.json")]) == 3
    assert "bare.json: the document holds no mentions" in capsys.readouterr().err
    described = spanwise.describe([["B-A", "O"]])
    with pytest.raises(InputError, match="of kind 'description'"):
        changes(described, first)


def test_a_summary_says_what_broke(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    result(GOLD, OLD).to_json(first)
    result(GOLD, NEW).to_json(second)
    assert main(["export", str(second), "summary", "--against", str(first)]) == 0
    text = capsys.readouterr().out
    assert "1 mention broke, 1 was fixed" in text
    assert "| broken | fixed |" in text and "**What broke: mine (1 of 1" in text
    assert "<details><summary>What was fixed: mine" in text
