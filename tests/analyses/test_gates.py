"""Release gates: thresholds, floors, drops against an earlier result, and documents set side by side."""

from __future__ import annotations

import copy
import json

import pytest
import study_documents
from study_files import predicted, sentences, write

from spanwise.errors import ChoiceError, InputError
from spanwise.evaluation import evaluate
from spanwise.gates import compare_documents, gate
from spanwise.reports.outlets import step_summary


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gates")
    gold = sentences(200, 1)
    write(folder / "gold.txt", gold)
    write(folder / "train.txt", sentences(50, 2))
    for name, rate in (("good", 0.1), ("same", 0.11), ("bad", 0.3)):
        write(folder / f"{name}.txt", predicted(gold, rate, 9))
    return folder


@pytest.fixture(scope="module")
def results(files):
    def make(name):
        found = evaluate(
            files / "gold.txt", {"mine": files / f"{name}.txt"}, train=files / "train.txt", resamples=200
        )
        return json.loads(found.to_json())

    return {name: make(name) for name in ("good", "same", "bad")}


def test_a_score_below_the_threshold_fails(results):
    score = 100 * results["bad"]["systems"]["mine"]["exact"]["overall"]["f1"]
    assert gate(results["bad"], fail_under=score - 0.01).passed
    failed = gate(results["bad"], fail_under=score + 0.01)
    assert not failed.passed
    assert failed.lines == [f"mine: f1 is {score:.2f}, which is below {score + 0.01:g}."]


def test_a_score_that_reaches_the_threshold_exactly_passes(results):
    document = copy.deepcopy(results["bad"])
    document["systems"]["mine"]["exact"]["overall"]["f1"] = 0.9
    assert gate(document, fail_under=90).passed


def test_without_thresholds_nothing_fails(results):
    assert gate(results["bad"]).passed and gate(results["bad"]).lines == []


@pytest.mark.parametrize(
    "place", ["PER", "f1", "recall", "tough/UNSEEN-ANY", "tough/SEEN/PER", "entity_length/XS", "eLen/XS",
              "fair/overall/f1", "exact/labels/LOC/recall", "gains/LE/gain"]
)  # fmt: skip
def test_floors_reach_labels_slices_and_any_score(results, place):
    assert gate(results["good"], floors=[f"{place}=0"]).passed
    assert not gate(results["good"], floors={place: 99.99}).passed


def test_an_undefined_score_reaches_no_floor(results):
    document = json.loads(json.dumps(results["good"]))
    document["systems"]["mine"]["exact"]["labels"]["PER"]["f1"] = None
    outcome = gate(document, floors=["PER=0"])
    assert outcome.lines == ["mine: PER is n/a, which is below 0."] and not outcome.passed


@pytest.mark.parametrize(
    "floor, expected",
    [
        ("PER", "the floor 'PER' does not read as NAME=POINTS."),
        ("PER=high", "the floor 'PER=high' does not read as NAME=POINTS."),
        ("PRE=90", "no label is called 'PRE'. Did you mean 'PER'?"),
        ("tough/SEN=90", "no tough subset is called 'SEN'. Did you mean 'SEEN'?"),
        ("entity_length/XM=90", "no bucket is called 'XM'."),
        ("fair/overal/f1=90", "no score is called 'overal'. Did you mean 'overall'?"),
        ("entity_lenght/XS=90", "no score is called 'entity_lenght'. Did you mean 'entity_length'?"),
        ("fair/overall=90", "a floor must name one score."),
    ],
)
def test_a_floor_that_names_nothing_is_told(results, floor, expected):
    with pytest.raises(ChoiceError) as error:
        gate(results["good"], floors=[floor])
    assert expected in str(error.value)


def test_a_significant_drop_of_more_than_allowed_fails(results):
    outcome = gate(results["bad"], against=results["good"], fail_drop=0.5)
    assert not outcome.passed
    assert "a significant drop of more than 0.5." in outcome.lines[0]
    assert "would be found four times in five on this test set" in outcome.lines[1]


def test_a_drop_that_is_allowed_or_not_significant_passes(results):
    assert gate(results["bad"], against=results["good"], fail_drop=90).passed
    outcome = gate(results["same"], against=results["good"], fail_drop=0)
    assert outcome.passed and "no significant drop of more than 0." in outcome.lines[0]


def test_a_rise_passes_and_a_result_against_itself_too(results):
    assert gate(results["good"], against=results["bad"], fail_drop=0).passed
    assert gate(results["good"], against=results["good"], fail_drop=0).passed


def test_without_an_allowed_drop_the_change_is_told_and_nothing_fails(results, tmp_path):
    path = tmp_path / "base.json"
    path.write_text(json.dumps(results["good"]))
    outcome = gate(results["bad"], against=path)
    assert outcome.passed and outcome.checks == () and "→" in outcome.lines[0]


def test_a_drop_needs_an_earlier_result(results):
    with pytest.raises(ChoiceError, match="fail_drop needs an earlier result"):
        gate(results["good"], fail_drop=1)


def test_without_resamples_a_drop_is_refused_not_passed(files):
    made = {
        name: evaluate(files / "gold.txt", {"mine": files / f"{name}.txt"}, resamples=0).to_dict()
        for name in ("good", "bad")
    }
    with pytest.raises(ChoiceError, match="a paired test, which resamples=0 leaves out"):
        gate(made["bad"], against=made["good"], fail_drop=0)
    outcome = gate(made["bad"], against=made["good"])
    assert outcome.passed and "not tested, for want of resamples" in outcome.lines[0]


@pytest.mark.parametrize(
    ("thresholds", "expected"),
    [
        ({"fail_under": 0.8}, "fail_under is 0.8, but thresholds are points from 0 to 100.\nWrite 80."),
        ({"fail_under": 800}, "fail_under is 800, but must be between 0 and 100"),
        ({"fail_under": -1}, "fail_under is -1, but must be between 0 and 100"),
        ({"fail_under": float("nan")}, "fail_under is nan, but must be between 0 and 100"),
        ({"floors": ["PER=0.9"]}, "the floor of PER is 0.9, but thresholds are points from 0 to 100."),
        ({"against": {}, "fail_drop": -1}, "fail_drop is -1, but must be between 0 and 100"),
    ],
)
def test_thresholds_that_every_score_or_none_would_reach_are_refused(results, thresholds, expected):
    with pytest.raises(ChoiceError) as error:
        gate(results["good"], **thresholds)
    assert expected in str(error.value)


def test_a_document_without_systems_passes_no_gate(results):
    for document in ({**results["good"], "systems": {}}, study_documents.study()):
        with pytest.raises(InputError, match="thresholds are for systems, and the document holds none"):
            gate(document, fail_under=50)


def test_a_tough_floor_without_training_data_is_told(files):
    document = evaluate(files / "gold.txt", {"mine": files / "good.txt"}, resamples=0).to_dict()
    with pytest.raises(ChoiceError, match="the floor of tough/SEEN needs training data"):
        gate(document, floors=["tough/SEEN=70"])


def test_a_system_without_an_earlier_one_is_told(files, results):
    found = evaluate(
        files / "gold.txt", {"mine": files / "good.txt", "other": files / "bad.txt"}, resamples=50
    )
    outcome = gate(found.to_dict(), against=results["good"], fail_drop=1)
    assert "other: untested, because the earlier result has no system of this name." in (outcome.lines)


def test_a_system_that_is_new_is_untested_and_fails_when_strict(files, results):
    systems = {"mine": files / "bad.txt", "other": files / "good.txt"}
    found = evaluate(files / "gold.txt", systems, resamples=50)
    loose = gate(found, against=results["good"])
    assert loose.passed
    assert [(change.system, change.new) for change in loose.changes] == [("mine", False), ("other", True)]
    tight = gate(found, against=results["good"], strict=True)
    assert [check.name for check in tight.checks if not check.passed] == ["other untested"]
    changed = tight.changes[0]
    assert changed.difference == pytest.approx(changed.after - changed.before)
    assert changed.interval[0] <= changed.difference <= changed.interval[1] < 0
    with pytest.raises(ChoiceError, match="strict needs an earlier result"):
        gate(found, strict=True)


def test_a_summary_shows_what_changed_since_an_earlier_result(files, results):
    systems = {"mine": files / "bad.txt", "other": files / "good.txt"}
    outcome = gate(evaluate(files / "gold.txt", systems, resamples=50), against=results["good"])
    shown = step_summary(results["bad"], changes=outcome.changes, notes=outcome.notes)
    one = outcome.changes[0]
    scores = f"{100 * one.before:.2f} | {100 * one.after:.2f} | **{100 * one.difference:+.2f}**"
    assert f"| mine | {scores} |" in shown
    assert "| new, untested |" in shown


def test_an_earlier_result_of_another_gold_file_is_told_by_its_name(files, results, tmp_path):
    path = tmp_path / "base.json"
    found = evaluate(files / "train.txt", {"mine": files / "train.txt"}, resamples=0)
    found.to_json(path)
    with pytest.raises(InputError, match=r"base\.json: the gold data differ .* so the new result cannot be"):
        gate(results["good"], against=path)


def test_results_without_a_common_system_cannot_be_held_against_each_other(files):
    def two(*names):
        return evaluate(files / "gold.txt", dict.fromkeys(names, files / "good.txt"), resamples=0).to_dict()

    with pytest.raises(InputError, match="the two results share no system: a, b here, c, d there"):
        gate(two("a", "b"), against=two("c", "d"))


# ---- documents side by side ---------------------------------------------------------------------


def test_documents_give_the_same_test_as_files(files, results):
    merged = compare_documents(
        [results["good"], results["bad"]], names=["good.json", "bad.json"], resamples=200, seed=0
    ).to_dict()
    together = evaluate(
        files / "gold.txt", {"good mine": files / "good.txt", "bad mine": files / "bad.txt"},
        train=files / "train.txt", resamples=200,
    ).to_dict()  # fmt: skip
    assert list(merged["systems"]) == ["good mine", "bad mine"]
    assert merged["comparisons"] == together["comparisons"]
    assert merged["letters"] == together["letters"]
    assert merged["notes"] == []


def test_systems_of_different_names_keep_them(results):
    other = json.loads(json.dumps(results["bad"]))
    other["systems"]["theirs"] = other["systems"].pop("mine")
    other["units"]["systems"]["theirs"] = other["units"]["systems"].pop("mine")
    for row in other["inputs"]:
        if row["role"] == "predicted":
            row["system"] = "theirs"
    merged = compare_documents([results["good"], other], names=["a.json", "b.json"], resamples=50).to_dict()
    assert list(merged["systems"]) == ["mine", "theirs"]
    assert [row["system"] for row in merged["inputs"] if row["role"] == "predicted"] == ["mine", "theirs"]


def test_slices_that_were_not_cut_alike_are_left_out_and_named(files, results):
    other = evaluate(
        files / "gold.txt", {"other": files / "bad.txt"}, train=files / "train.txt",
        buckets={"sentence_length": "5,9"}, resamples=50,
    ).to_dict()  # fmt: skip
    merged = compare_documents([results["good"], other], names=["a.json", "b.json"], resamples=50).to_dict()
    assert merged["notes"] == ["sentence_length was cut into different buckets and is not compared."]
    paths = {tuple(row["path"][:2]) for row in merged["comparisons"][0]["scores"]}
    assert ("attributes", "entity_length") in paths and ("attributes", "sentence_length") not in paths


def test_other_training_data_leaves_out_what_depends_on_it(files, results):
    other = evaluate(
        files / "gold.txt", {"other": files / "bad.txt"}, train=files / "bad.txt", resamples=50
    ).to_dict()
    merged = compare_documents([results["good"], other], names=["a.json", "b.json"], resamples=50).to_dict()
    assert merged["notes"][0].startswith("the results saw different training data")
    families = {row["family"] for row in merged["comparisons"][0]["scores"]}
    assert "tough" not in families and "labels" in families


def test_another_gold_file_is_told(files, results, tmp_path):
    write(tmp_path / "gold.txt", sentences(200, 77))
    other = evaluate(tmp_path / "gold.txt", {"mine": tmp_path / "gold.txt"}, resamples=0).to_dict()
    with pytest.raises(InputError) as error:
        compare_documents([results["good"], other], names=["a.json", "b.json"])
    assert str(error.value).startswith("b.json: the gold data differ")
    assert "A paired test needs two results over the same gold file." in str(error.value)


def test_gold_that_was_read_in_other_units_is_told(results):
    other = json.loads(json.dumps(results["good"]))
    other["units"] |= {"kind": "document", "number": 3}
    with pytest.raises(InputError, match=r"read differently \(3 documents here, 200 sentences there\)"):
        compare_documents([results["good"], other], names=["a.json", "b.json"])


def test_documents_without_systems_or_counts_are_told(results):
    with pytest.raises(InputError, match=r"b\.json: the document holds no systems"):
        compare_documents([results["good"], {**results["good"], "systems": {}}], names=["a.json", "b.json"])
    without = {key: value for key, value in results["good"].items() if key != "units"}
    with pytest.raises(InputError, match=r"b\.json: the document lacks its counts per unit"):
        compare_documents([results["good"], without], names=["a.json", "b.json"])


def test_the_same_document_twice_is_refused(results):
    with pytest.raises(ChoiceError, match="the same name and the same systems"):
        compare_documents([results["good"]] * 2, names=["x/a.json", "y/a.json"])


@pytest.mark.parametrize("score", ["precision", "recall", "macro", "fair"])
def test_gates_are_about_the_primary_score(files, score):
    def of(name, **options):
        train = files / "train.txt"
        return evaluate(
            files / "gold.txt", {"mine": files / f"{name}.txt"}, train=train, resamples=200, **options
        )

    chosen, earlier = of("bad", primary=score), of("good")
    value = 100 * chosen.systems["mine"].primary(score)
    low, _ = chosen.systems["mine"].primary_ends(score)
    about = {"macro": "macro f1", "fair": "fair f1"}.get(score, score)
    assert gate(chosen, fail_under=value - 0.01).lines == [
        f"mine: {about} is {value:.2f}, which reaches {value - 0.01:g}."
    ]
    assert not gate(chosen, fail_under=value + 0.01).passed
    assert gate(chosen, fail_under=100 * low - 0.01, floor_bound=True).passed
    assert not gate(chosen, fail_under=100 * low + 0.01, floor_bound=True).passed
    against = gate(chosen, against=earlier, fail_drop=0, not_worse_than=1)
    before = 100 * earlier.systems["mine"].primary(score)
    for line in against.lines:
        assert about.replace("f1", "F1") in line
    assert f"{before:.2f} → {value:.2f}" in against.lines[0]
    assert gate(of("bad"), against=earlier, fail_drop=0, score=score).changes[0] == against.changes[0]


def test_a_file_of_thresholds_may_name_the_score_of_its_threshold(files, results, tmp_path):
    asked = tmp_path / "gate.toml"
    asked.write_text('fail_under = 50\nscore = "fair"\n')
    (line,) = gate(results["good"], file=asked).lines
    assert line.startswith("mine: fair f1 is ")
    (bound,) = gate(results["good"], file=asked, floor_bound=True).lines
    assert bound.startswith("mine: the lower bound of fair f1 is ")
    asked.write_text('fail_under = 50\nscore = "fare"\n')
    with pytest.raises(InputError, match=r"gate.toml: \$.score: 'fare' is not a possible value"):
        gate(results["good"], file=asked)
    with pytest.raises(ChoiceError, match="Did you mean 'fair'"):
        gate(results["good"], fail_under=50, score="fare")
