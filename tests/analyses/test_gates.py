"""Release gates: thresholds, floors, drops since an earlier result, and comparisons of documents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
import study_documents
from msgspec import UNSET
from msgspec.structs import replace
from study_files import predicted, sentences, write
from typed import changed, loaded, present

from spanwise.document.evaluation import Evaluation
from spanwise.errors import ChoiceError, InputError
from spanwise.evaluation import evaluate
from spanwise.gates import compare_documents, gate
from spanwise.reports.outlets import step_summary, to_junit
from spanwise.statistics import format_p
from spanwise.uncertainty import Resampling, sign_flips

Results: TypeAlias = dict[str, Evaluation]
F1 = ("systems", "mine", "exact", "overall", "f1")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gates")
    gold = sentences(200, 1)
    write(folder / "gold.txt", gold)
    write(folder / "train.txt", sentences(50, 2))
    for name, rate in (("good", 0.1), ("same", 0.11), ("bad", 0.3)):
        write(folder / f"{name}.txt", predicted(gold, rate, 9))
    return folder


@pytest.fixture(scope="module")
def results(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Results that were written to files and loaded again."""
    folder = tmp_path_factory.mktemp("results")
    for name in ("good", "same", "bad"):
        evaluate(
            files / "gold.txt", {"mine": files / f"{name}.txt"}, train=files / "train.txt", resamples=200
        ).to_json(folder / f"{name}.json")
    return {path.stem: loaded(path, Evaluation) for path in folder.iterdir()}


def test_a_score_below_the_threshold_fails(results: Results) -> None:
    score = 100 * present(results["bad"].systems["mine"].exact.overall.f1)
    assert gate(results["bad"], fail_under=score - 0.01).passed
    failed = gate(results["bad"], fail_under=score + 0.01)
    assert not failed.passed
    assert failed.lines == [f"mine: f1 is {score:.2f}, which is below {score + 0.01:g}."]


def test_a_threshold_of_an_f_beta_names_it(files: Path) -> None:
    result = evaluate(files / "gold.txt", {"mine": files / "bad.txt"}, primary="f2", resamples=0)
    outcome = gate(result, fail_under=99)
    assert not outcome.passed
    assert outcome.lines[0].startswith("mine: f2 is ")


def test_a_drop_of_an_f_beta_is_tested(files: Path, tmp_path: Path) -> None:
    bad, good = (
        evaluate(files / "gold.txt", {"mine": files / f"{name}.txt"}, primary="f2", resamples=200)
        for name in ("bad", "good")
    )
    outcome = gate(bad, against=good, fail_drop=1)
    assert not outcome.passed
    assert outcome.lines[0].startswith("mine: F2 ")
    difference = present(bad["mine"].primary("f2")) - present(good["mine"].primary("f2"))
    assert f"({100 * difference:+.2f}" in outcome.lines[0].replace("−", "-")


def test_a_score_that_reaches_the_threshold_exactly_passes(results: Results) -> None:
    assert gate(changed(results["bad"], F1, 0.9), fail_under=90).passed


def test_a_small_p_is_written_as_in_tables(results: Results) -> None:
    change = gate(results["bad"], against=results["good"], fail_drop=0)
    (row,) = change.changes
    assert row.p is not None and row.p < 0.01
    assert change.lines[0].startswith("mine: F1 ") and format_p(row.p) in change.lines[0]


def test_without_thresholds_nothing_fails(results: Results) -> None:
    for document in (results["bad"], results["bad"].to_dict()):
        assert gate(document).passed and gate(document).lines == []


@pytest.mark.parametrize(
    "path", ["PER", "f1", "recall", "tough/UNSEEN-ANY", "tough/SEEN/PER", "entity_length/XS", "eLen/XS",
              "fair/overall/f1", "exact/labels/LOC/recall", "gains/LE/gain"]
)  # fmt: skip
def test_floors_can_be_set_for_labels_slices_and_any_score(results: Results, path: str) -> None:
    assert gate(results["good"], floors=[f"{path}=0"]).passed
    assert not gate(results["good"], floors={path: 99.99}).passed


def test_an_undefined_score_reaches_no_floor(results: Results) -> None:
    document = changed(results["good"], ("systems", "mine", "exact", "labels", "PER", "f1"), None)
    outcome = gate(document, floors=["PER=0"])
    assert outcome.lines == ["mine: PER is n/a, which is below 0."] and not outcome.passed


@pytest.mark.parametrize(
    "floor, expected",
    [
        ("PER", "the floor 'PER' is not of the form NAME=POINTS."),
        ("PER=high", "the floor 'PER=high' is not of the form NAME=POINTS."),
        ("PRE=90", "no label is called 'PRE'. Did you mean 'PER'?"),
        ("tough/SEN=90", "no tough subset is called 'SEN'. Did you mean 'SEEN'?"),
        ("entity_length/XM=90", "no bucket is called 'XM'."),
        ("fair/overal/f1=90", "no score is called 'overal'. Did you mean 'overall'?"),
        ("entity_lenght/XS=90", "no score is called 'entity_lenght'. Did you mean 'entity_length'?"),
        ("fair/overall=90", "a floor must name one score."),
    ],
)
def test_a_floor_that_names_nothing_is_reported(results: Results, floor: str, expected: str) -> None:
    with pytest.raises(ChoiceError) as error:
        gate(results["good"], floors=[floor])
    assert expected in str(error.value)


def test_a_significant_drop_of_more_than_allowed_fails(results: Results) -> None:
    outcome = gate(results["bad"], against=results["good"], fail_drop=0.5)
    assert not outcome.passed
    assert "a significant drop of more than 0.5; training seeds are not considered." in outcome.lines[0]
    assert "would be detected four times in five on this test set" in outcome.lines[1]


def test_a_drop_that_is_allowed_or_not_significant_passes(results: Results) -> None:
    assert gate(results["bad"], against=results["good"], fail_drop=90).passed
    outcome = gate(results["same"], against=results["good"], fail_drop=0)
    assert (
        outcome.passed
        and "no significant drop of more than 0; training seeds are not considered." in outcome.lines[0]
    )


def test_a_rise_passes_and_a_result_against_itself_too(results: Results) -> None:
    assert gate(results["good"], against=results["bad"], fail_drop=0).passed
    assert gate(results["good"], against=results["good"], fail_drop=0).passed


def test_without_an_allowed_drop_the_change_is_reported_and_nothing_fails(
    results: Results, tmp_path: Path
) -> None:
    path = tmp_path / "base.json"
    results["good"].to_json(path)
    outcome = gate(results["bad"], against=path)
    assert outcome.passed and outcome.checks == () and "→" in outcome.lines[0]


def test_a_drop_needs_an_earlier_result(results: Results) -> None:
    with pytest.raises(ChoiceError, match="fail_drop needs an earlier result"):
        gate(results["good"], fail_drop=1)


def test_without_resamples_a_drop_is_refused_not_passed(files: Path) -> None:
    results = {
        name: evaluate(files / "gold.txt", {"mine": files / f"{name}.txt"}, resamples=0)
        for name in ("good", "bad")
    }
    with pytest.raises(ChoiceError, match="a paired test, which resamples=0 leaves out"):
        gate(results["bad"], against=results["good"], fail_drop=0)
    outcome = gate(results["bad"], against=results["good"])
    assert outcome.passed and "not tested without resamples" in outcome.lines[0]


@pytest.mark.parametrize(
    ("fail_under", "floors", "fail_drop", "expected"),
    [
        (0.8, (), None, "fail_under is 0.8, but thresholds are points from 0 to 100.\nWrite 80."),
        (800, (), None, "fail_under is 800, but must be between 0 and 100"),
        (-1, (), None, "fail_under is -1, but must be between 0 and 100"),
        (float("nan"), (), None, "fail_under is nan, but must be between 0 and 100"),
        (None, ["PER=0.9"], None, "the floor of PER is 0.9, but thresholds are points from 0 to 100."),
        (None, (), -1, "fail_drop is -1, but must be between 0 and 100"),
    ],
)
def test_thresholds_that_every_score_or_none_would_reach_are_refused(
    results: Results, fail_under: float | None, floors: Sequence[str], fail_drop: float | None, expected: str
) -> None:
    against = None if fail_drop is None else results["good"].to_dict()
    with pytest.raises(ChoiceError) as error:
        gate(results["good"], fail_under=fail_under, floors=floors, against=against, fail_drop=fail_drop)
    assert expected in str(error.value)


def test_a_document_without_systems_passes_no_gate(results: Results) -> None:
    for document in (replace(results["good"], systems={}), {**study_documents.study(), "datasets": {}}):
        with pytest.raises(InputError, match="the document holds no systems"):
            gate(document, fail_under=50)


def test_a_tough_floor_without_training_data_is_refused(files: Path) -> None:
    document = evaluate(files / "gold.txt", {"mine": files / "good.txt"}, resamples=0)
    with pytest.raises(ChoiceError, match="the floor of tough/SEEN needs training data"):
        gate(document, floors=["tough/SEEN=70"])


def test_a_system_without_an_earlier_one_is_reported(files: Path, results: Results) -> None:
    result = evaluate(
        files / "gold.txt", {"mine": files / "good.txt", "other": files / "bad.txt"}, resamples=50
    )
    outcome = gate(result, against=results["good"], fail_drop=1)
    assert "other: untested, because the earlier result has no system of this name." in (outcome.lines)


def test_a_system_that_is_new_is_untested_and_fails_when_strict(files: Path, results: Results) -> None:
    systems = {"mine": files / "bad.txt", "other": files / "good.txt"}
    result = evaluate(files / "gold.txt", systems, resamples=50)
    loose = gate(result, against=results["good"])
    assert loose.passed
    assert [(change.system, change.new) for change in loose.changes] == [("mine", False), ("other", True)]
    tight = gate(result, against=results["good"], strict=True)
    assert [check.name for check in tight.checks if not check.passed] == ["other untested"]
    mine = tight.changes[0]
    difference, (low, high) = present(mine.difference), present(mine.interval)
    assert difference == pytest.approx(present(mine.after) - present(mine.before))
    assert present(low) <= difference <= present(high) < 0
    with pytest.raises(ChoiceError, match="strict needs an earlier result"):
        gate(result, strict=True)


def test_a_summary_shows_what_changed_since_an_earlier_result(files: Path, results: Results) -> None:
    systems = {"mine": files / "bad.txt", "other": files / "good.txt"}
    outcome = gate(evaluate(files / "gold.txt", systems, resamples=50), against=results["good"])
    shown = step_summary(results["bad"], changes=outcome.changes, notes=outcome.notes)
    change = outcome.changes[0]
    before, after, difference = (
        100 * present(value) for value in (change.before, change.after, change.difference)
    )
    scores = f"{before:.2f} | {after:.2f} | **{difference:+.2f}**"
    assert f"| mine | {scores} |" in shown
    assert "| new, untested |" in shown


def test_an_earlier_result_of_another_gold_file_is_reported_by_name(
    files: Path, results: Results, tmp_path: Path
) -> None:
    path = tmp_path / "base.json"
    other = evaluate(files / "train.txt", {"mine": files / "train.txt"}, resamples=0)
    other.to_json(path)
    with pytest.raises(InputError, match=r"base\.json: the gold data differ .* so the new result cannot be"):
        gate(results["good"], against=path)


def test_results_without_a_common_system_cannot_be_compared(files: Path) -> None:
    def two(*names: str) -> Evaluation:
        return evaluate(files / "gold.txt", dict.fromkeys(names, files / "good.txt"), resamples=0)

    with pytest.raises(InputError, match="the two results share no system: a, b here, c, d there"):
        gate(two("a", "b"), against=two("c", "d"))


# ---- documents side by side ---------------------------------------------------------------------


def test_documents_give_the_same_test_as_files(files: Path, results: Results) -> None:
    merged = compare_documents(
        [results["good"], results["bad"].to_dict()], names=["good.json", "bad.json"], resamples=200, seed=0
    )
    together = evaluate(
        files / "gold.txt", {"good mine": files / "good.txt", "bad mine": files / "bad.txt"},
        train=files / "train.txt", resamples=200,
    )  # fmt: skip
    assert list(merged.systems) == ["good mine", "bad mine"]
    assert merged.comparisons == together.comparisons
    assert merged.letters == together.letters
    assert merged.notes == ()


def test_systems_with_different_names_keep_them(results: Results) -> None:
    bad = results["bad"]
    units = present(bad.units)
    other = replace(
        bad,
        systems={"theirs": bad.systems["mine"]},
        units=replace(units, systems={"theirs": units.systems["mine"]}),
        inputs=tuple(replace(row, system="theirs") if row.role == "predicted" else row for row in bad.inputs),
    )
    merged = compare_documents([results["good"], other], names=["a.json", "b.json"], resamples=50)
    assert list(merged.systems) == ["mine", "theirs"]
    assert [row.system for row in merged.inputs if row.role == "predicted"] == ["mine", "theirs"]


def test_slices_with_different_edges_are_left_out_and_named(files: Path, results: Results) -> None:
    other = evaluate(
        files / "gold.txt", {"other": files / "bad.txt"}, train=files / "train.txt",
        buckets={"sentence_length": "5,9"}, resamples=50,
    )  # fmt: skip
    merged = compare_documents([results["good"], other], names=["a.json", "b.json"], resamples=50)
    assert merged.notes == ("sentence_length was bucketed differently and is not compared.",)
    paths = {row.path[:2] for row in merged.comparisons[0].scores}
    assert ("attributes", "entity_length") in paths and ("attributes", "sentence_length") not in paths


def test_other_training_data_leaves_out_what_depends_on_it(files: Path, results: Results) -> None:
    other = evaluate(files / "gold.txt", {"other": files / "bad.txt"}, train=files / "bad.txt", resamples=50)
    merged = compare_documents([results["good"], other], names=["a.json", "b.json"], resamples=50)
    assert present(merged.notes)[0].startswith("the results used different training data")
    families = {row.family for row in merged.comparisons[0].scores}
    assert "tough" not in families and "labels" in families


def test_another_gold_file_is_reported(results: Results, tmp_path: Path) -> None:
    write(tmp_path / "gold.txt", sentences(200, 77))
    other = evaluate(tmp_path / "gold.txt", {"mine": tmp_path / "gold.txt"}, resamples=0)
    with pytest.raises(InputError) as error:
        compare_documents([results["good"], other], names=["a.json", "b.json"])
    assert str(error.value).startswith("b.json: the gold data differ")
    assert "A paired test needs two results over the same gold file." in str(error.value)


def test_gold_that_was_read_in_other_units_is_reported(results: Results) -> None:
    good = results["good"]
    other = replace(good, units=replace(present(good.units), kind="document", number=3))
    with pytest.raises(InputError, match=r"read differently \(3 documents here, 200 sentences there\)"):
        compare_documents([results["good"], other], names=["a.json", "b.json"])


def test_documents_without_systems_or_counts_are_refused(results: Results) -> None:
    with pytest.raises(InputError, match=r"b\.json: the document holds no systems"):
        compare_documents([results["good"], replace(results["good"], systems={})], names=["a.json", "b.json"])
    with pytest.raises(
        InputError, match=r"b\.json: only evaluations can be compared, but the document is of kind 'study'"
    ):
        compare_documents([results["good"], study_documents.study()], names=["a.json", "b.json"])
    without = replace(results["good"], units=UNSET)
    with pytest.raises(InputError, match=r"b\.json: the document lacks its counts per unit"):
        compare_documents([results["good"], without], names=["a.json", "b.json"])


def test_the_same_document_twice_is_refused(results: Results) -> None:
    with pytest.raises(ChoiceError, match="the same name and the same systems"):
        compare_documents([results["good"]] * 2, names=["x/a.json", "y/a.json"])


@pytest.mark.parametrize("score", ["precision", "recall", "macro", "fair"])
def test_gates_use_the_primary_score(files: Path, score: str) -> None:
    def of(name: str, primary: str = "f1") -> Evaluation:
        train = files / "train.txt"
        return evaluate(
            files / "gold.txt", {"mine": files / f"{name}.txt"}, train=train, resamples=200, primary=primary
        )

    chosen, earlier = of("bad", score), of("good")
    value = 100 * present(chosen.systems["mine"].primary(score))
    low = present(present(chosen.systems["mine"].primary_ends(score))[0])
    about = {"macro": "macro f1", "fair": "fair f1"}.get(score, score)
    assert gate(chosen, fail_under=value - 0.01).lines == [
        f"mine: {about} is {value:.2f}, which reaches {value - 0.01:g}."
    ]
    assert not gate(chosen, fail_under=value + 0.01).passed
    assert gate(chosen, fail_under=100 * low - 0.01, floor_bound=True).passed
    assert not gate(chosen, fail_under=100 * low + 0.01, floor_bound=True).passed
    against = gate(chosen, against=earlier, fail_drop=0, not_worse_than=1)
    before = 100 * present(earlier.systems["mine"].primary(score))
    for line in against.lines:
        assert about.replace("f1", "F1") in line
    assert f"{before:.2f} → {value:.2f}" in against.lines[0]
    assert gate(of("bad"), against=earlier, fail_drop=0, score=score).changes[0] == against.changes[0]


def test_a_file_of_thresholds_may_name_the_score_of_its_threshold(results: Results, tmp_path: Path) -> None:
    file = tmp_path / "gate.toml"
    file.write_text('fail_under = 50\nscore = "fair"\n')
    (line,) = gate(results["good"], file=file).lines
    assert line.startswith("mine: fair f1 is ")
    (bound,) = gate(results["good"], file=file, floor_bound=True).lines
    assert bound.startswith("mine: the lower bound of fair f1 is ")
    file.write_text('fail_under = 50\nscore = "fare"\n')
    with pytest.raises(InputError, match=r"gate.toml: \$.score: 'fare' is not a possible value"):
        gate(results["good"], file=file)
    with pytest.raises(ChoiceError, match="Did you mean 'fair'"):
        gate(results["good"], fail_under=50, score="fare")


# ---- drops, tested by hand -------------------------------------------------------------------------


LABELED = [("Rome", "B-LOC"), ("met", "O"), ("Ann", "B-PER"), ("and", "O"), ("Bo", "B-PER")]


def of_documents(path: Path, wrong: Sequence[int], sizes: Sequence[int] = ()) -> Path:
    """A file with one document per entry: so many of its sentences lack their first two mentions."""
    lines = []
    for number, missed in enumerate(wrong):
        lines.append("-DOCSTART- O\n")
        for sentence in range(sizes[number] if sizes else 8):
            tags = (
                LABELED if sentence >= missed else [("Rome", "O"), ("met", "O"), ("Ann", "O"), *LABELED[3:]]
            )
            lines.append("".join(f"{word}{number} {tag}\n" for word, tag in tags))
    path.write_text("\n".join(lines))
    return path


def two_results(
    folder: Path, before: Sequence[int], after: Sequence[int], sizes: Sequence[int] = ()
) -> tuple[Evaluation, Evaluation]:
    """An earlier and a new result whose errors per document are given."""
    gold = of_documents(folder / "gold.txt", [0] * len(before), sizes)
    old = of_documents(folder / "old.txt", before, sizes)
    new = of_documents(folder / "new.txt", after, sizes)
    return evaluate(gold, {"mine": old}, resamples=200), evaluate(gold, {"mine": new}, resamples=200)


def flipped_by_hand(
    before: Sequence[int], after: Sequence[int], sizes: Sequence[int], allowed: float
) -> tuple[float, float]:
    """The one-sided p-values of x_d = psi_d + w_d (drop - allowed), over all signs: higher, lower."""
    correct = [
        [3 * size - 2 * missed for size, missed in zip(sizes, side, strict=True)] for side in (before, after)
    ]
    number = [
        [3 * size + own for size, own in zip(sizes, side, strict=True)] for side in correct
    ]  # gold + predicted
    score = [2 * sum(own) / sum(of) for own, of in zip(correct, number, strict=True)]
    drop = score[0] - score[1]
    x = []
    for d in range(len(sizes)):
        psi = [(2 * correct[i][d] - score[i] * number[i][d]) / sum(number[i]) for i in (0, 1)]
        share = (number[0][d] + number[1][d]) / (sum(number[0]) + sum(number[1]))
        x.append(psi[0] - psi[1] + share * (drop - allowed))
    assert sum(x) == pytest.approx(drop - allowed)
    sums = [
        sum(s * value for s, value in zip(signs, x, strict=True)) for signs in product((1, -1), repeat=len(x))
    ]
    high = sum(total >= sum(x) - 1e-9 for total in sums) / len(sums)
    return high, sum(total <= sum(x) + 1e-9 for total in sums) / len(sums)


SIZES = [8, 8, 12, 6, 8, 20, 8]
CASES = [
    ([0, 1, 0, 0, 1, 2, 0], [3, 4, 5, 2, 4, 9, 3]),
    ([0, 1, 0, 0, 1, 2, 0], [1, 1, 1, 0, 2, 3, 1]),
    ([2, 1, 3, 1, 2, 4, 2], [1, 2, 3, 1, 2, 5, 1]),
    ([3, 4, 5, 2, 4, 9, 3], [0, 1, 0, 0, 1, 2, 0]),
]


@pytest.mark.parametrize("allowed", [0.0, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_drop_is_held_against_its_interval_and_all_sign_flips(
    case: int, allowed: float, tmp_path: Path
) -> None:
    before, after = CASES[case]
    old, new = two_results(tmp_path, before, after, SIZES)
    outcome = gate(new, against=old, fail_drop=allowed, not_worse_than=allowed)
    (change,) = outcome.changes
    drop, not_worse = outcome.checks
    high, low = flipped_by_hand(before, after, SIZES, allowed / 100)
    ends = present(change.interval)
    lowest, highest = -100 * present(ends[1]), -100 * present(ends[0])
    larger = lowest > allowed and high <= 0.025 and present(change.p) < 0.05
    differing = sum(a != b for a, b in zip(before, after, strict=True))
    if allowed == 0 and differing < 6:
        assert drop.state == not_worse.state == "too few units" and outcome.passed
        assert f"too few documents to decide: only {differing} documents differ" in drop.message
        return
    assert drop.state == ("failed" if larger else "passed") and drop.passed is not larger
    excluded = highest < allowed and low <= 0.025
    expected = "passed" if excluded else "failed" if larger else "cannot decide"
    assert not_worse.state == expected and not_worse.passed is excluded
    if expected == "cannot decide":
        assert f"cannot decide: a drop of {allowed:g} is not excluded" in not_worse.message
    for check in outcome.checks:
        assert "training seeds are not considered" in check.message
        assert check.state != "failed" or present(change.p) < 0.05


def test_four_documents_are_too_few_for_any_verdict(tmp_path: Path) -> None:
    old, new = two_results(tmp_path, [0, 0, 1, 0], [2, 2, 3, 2])
    outcome = gate(new, against=old, fail_drop=1, not_worse_than=2)
    assert outcome.passed and {check.state for check in outcome.checks} == {"too few units"}
    assert all("too few documents to decide: 4 of at least 6" in check.message for check in outcome.checks)
    assert not any("significant" in line for line in outcome.lines)
    assert not any("would be detected" in line for line in outcome.lines)
    assert "mine: only 4 documents differ: the test cannot reach .05 on these data." in outcome.lines
    ends = present(outcome.changes[0].interval)
    assert present(ends[1]) < 0 and present(outcome.changes[0].p) == 0.125  # the interval alone would fail it
    tight = gate(new, against=old, fail_drop=1, not_worse_than=2, strict=True)
    assert not tight.passed and [check.passed for check in tight.checks] == [False, False]
    xml = to_junit(outcome.checks)
    assert 'skipped="2"' in xml and 'failures="0"' in xml and "too few documents" in xml
    assert 'skipped="0"' in to_junit(tight.checks) and 'failures="2"' in to_junit(tight.checks)
    shown = step_summary(new, checks=outcome.checks, changes=outcome.changes)
    assert "⚠️" in shown and "too few documents" in shown and "**" not in shown.split("###")[1].split("##")[0]


def test_a_result_against_itself_has_a_drop_of_exactly_0(tmp_path: Path) -> None:
    old, new = two_results(tmp_path, [1, 0, 2, 1], [1, 0, 2, 1])
    outcome = gate(new, against=old, fail_drop=0, not_worse_than=0.01)
    assert [check.state for check in outcome.checks] == ["passed", "passed"] and outcome.passed
    zero = gate(new, against=old, not_worse_than=0)
    assert [check.state for check in zero.checks] == ["cannot decide"] and not zero.passed


def test_drops_of_several_systems_are_corrected_together(tmp_path: Path) -> None:
    before, after = [0, 1, 0, 0, 1, 2, 0], [2, 2, 3, 1, 2, 4, 1]
    gold = of_documents(tmp_path / "gold.txt", [0] * 7, SIZES)
    old = of_documents(tmp_path / "old.txt", before, SIZES)
    new = of_documents(tmp_path / "new.txt", after, SIZES)
    high, _ = flipped_by_hand(before, after, SIZES, 0)
    assert high == 1 / 128  # at most .025 alone and among three systems, not among four
    for number, failing in ((1, 1), (3, 1), (4, 0)):
        names = [f"s{index}" for index in range(number)]
        earlier = evaluate(gold, dict.fromkeys(names, old), resamples=200)
        now = evaluate(gold, {name: new if name == "s0" else old for name in names}, resamples=200)
        outcome = gate(now, against=earlier, fail_drop=0, not_worse_than=30)
        failed = [check.name for check in outcome.checks if check.state == "failed"]
        assert failed == ["s0 drop"] * failing
        corrected = f"after Holm's correction over {number} tests"
        assert (corrected in outcome.checks[0].message) is (number > 1)
        assert not any("Holm" in check.message for check in outcome.checks if "not worse" in check.name)


def test_sign_flips_are_enumerated_for_16_units_and_drawn_beyond() -> None:
    generator = np.random.default_rng(3)
    values = generator.normal(0.3, 1, 16)
    exact = sign_flips(values, Resampling(16), levels=[0.025])
    sums = np.array(list(product((1, -1), repeat=16))) @ values
    assert exact.flips == 0
    assert exact.high == np.mean(sums >= values.sum() - 1e-9)
    assert exact.low == np.mean(sums <= values.sum() + 1e-9)
    drawn = sign_flips(np.append(values, 0.0), Resampling(17), levels=[0.025])
    assert drawn.flips >= 1000
    error = 4 * (exact.high * (1 - exact.high) / drawn.flips) ** 0.5
    assert drawn.high == pytest.approx(exact.high, abs=error)
    assert drawn == sign_flips(np.append(values, 0.0), Resampling(17), levels=[0.025])
    # An open verdict is decided by more flips, or said to be open.
    close = np.append(values, 0.0)
    test = sign_flips(close, Resampling(17), levels=[exact.high])
    assert test.flips == 100_000 and test.is_open(test.high, exact.high)
