"""The primary question may be about another score; over datasets, all systems are tested at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import permutations, product
from pathlib import Path
from statistics import NormalDist
from typing import Protocol

import numpy as np
import pytest
from typed import present

import spanwise
from spanwise.columns import Ints
from spanwise.document import DocumentPart
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import PRIMARY
from spanwise.document.study import Study
from spanwise.errors import ChoiceError
from spanwise.reports.tables import table
from spanwise.settings import SETTINGS
from spanwise.statistics import friedman
from spanwise.uncertainty import Resampling

Tags = list[list[str]]
GOLD: Tags = [["B-A", "O", "B-B"], ["B-A", "O", "O"], ["B-B", "O", "B-B"], ["B-C", "O", "B-A"]] * 4
A = [["B-A", "O", "B-A"], *GOLD[1:6], ["O", "O", "B-B"], *GOLD[7:11], ["B-C", "B-A", "B-A"], *GOLD[12:]]
B = [["O", "O", "B-B"], ["B-B", "O", "O"], *GOLD[2:8], ["B-A", "B-C", "B-A"], *GOLD[9:]]
evaluate = partial(spanwise.evaluate, attributes="none", resamples=100)


def value(document: Evaluation, name: str, path: tuple[str, ...]) -> float:
    node: DocumentPart = document.systems[name]
    for part in path[:-1]:
        node = node[part]
    return float(node[path[-1]])


def test_the_choices_of_the_flag_are_the_available_scores() -> None:
    assert SETTINGS["primary"].choices == tuple(PRIMARY)


@pytest.mark.parametrize("choice", PRIMARY)
def test_p_of_every_primary_score_is_the_share_of_all_swaps(choice: str) -> None:
    path = PRIMARY[choice]
    result = evaluate(GOLD, {"a": A, "b": B}, primary=choice)
    (comparison,) = result.comparisons
    row = comparison.primary
    assert row is not None and row.path == path and row.role == "primary"
    assert [score.role for score in comparison.scores].count("primary") == 1
    differing = [at for at, (score, score_b) in enumerate(zip(A, B, strict=True)) if score != score_b]
    reached = []
    for swapped in product((False, True), repeat=len(differing)):
        first, second = list(A), list(B)
        for at, swap in zip(differing, swapped, strict=True):
            if swap:
                first[at], second[at] = second[at], first[at]
        bare = spanwise.evaluate(GOLD, {"a": first, "b": second}, attributes="none", resamples=0, pairs=[])
        reached.append(abs(value(bare, "a", path) - value(bare, "b", path)))
    seen = abs(value(result, "a", path) - value(result, "b", path))
    assert comparison.test == "exact randomisation"
    assert row.p == pytest.approx(np.mean([score >= seen - 1e-12 for score in reached]))


def test_another_primary_score_is_named_in_signature_and_sentence() -> None:
    result = evaluate(GOLD, {"a": A, "b": B}, primary="macro")
    assert "|primary:macro|" in result.signature and result.settings.primary == "macro"
    assert "macro F1" in str(table(result, "statements").rows[0][0])
    usual = evaluate(GOLD, {"a": A, "b": B})
    assert "primary" not in usual.signature and "primary" not in usual.to_dict()["settings"]


def test_letters_follow_the_primary_score() -> None:
    many = [["B-A", "O", "B-B"]] * 30
    precise = [["B-A", "O", "O"]] * 30  # misses half, but is never wrong
    greedy = [["B-A", "B-A", "B-B"]] * 30  # finds all, but a third is wrong
    systems = {"precise": precise, "greedy": greedy}
    by_precision = evaluate(many, systems, primary="precision")
    by_recall = evaluate(many, systems, primary="recall")
    assert [bool(by_precision.letters[name]) for name in systems] == [True, False]
    assert [bool(by_recall.letters[name]) for name in systems] == [False, True]


def test_an_unknown_primary_score_is_refused() -> None:
    with pytest.raises(ChoiceError, match="no primary score is called 'micro'"):
        evaluate(GOLD, {"a": A}, primary="micro")


def test_memory_for_shuffles_changes_no_byte() -> None:
    systems = {"a": A, "b": B, "c": GOLD}
    bound = Resampling(10, memory=1000)
    assert bound.scores == 50
    whole, parts = (
        spanwise.evaluate(GOLD * 20, {name: tags * 20 for name, tags in systems.items()}, memory=memory)
        for memory in (None, "1MB")
    )
    assert whole.to_dict()["comparisons"] == parts.to_dict()["comparisons"]


def test_one_system_is_described_in_words() -> None:
    result = evaluate(GOLD, {"a": A})
    ((words,),) = table(result, "statements").rows
    assert str(words).startswith("a scores ") and str(words).endswith(
        "95 % logit-t interval over 16 sentences."
    )


def test_every_significant_difference_is_described_in_words() -> None:
    many = [["B-A", "O", "B-B"]] * 30
    result = evaluate(many, {"a": many, "b": [["B-A", "O", "O"]] * 30})
    words = [str(row[0]) for row in table(result, "statements").rows]
    assert any("recall" in statement and "Westfall-Young over" in statement for statement in words)


# ---- studies --------------------------------------------------------------------------------


def written(path: Path, tags: Tags) -> None:
    rows = ["\n".join(f"t{at} {tag}" for at, tag in enumerate(sentence)) for sentence in tags]
    path.write_text("\n\n".join(rows) + "\n", encoding="utf-8")


class StudyOf(Protocol):
    def __call__(self, *, runs: int = 1, same: bool = False, primary: str = "f1") -> Study: ...


@pytest.fixture
def study_of(tmp_path: Path) -> StudyOf:
    """A function that makes a study of three systems, each better than the last, on three datasets."""

    def make(*, runs: int = 1, same: bool = False, primary: str = "f1") -> Study:
        draw = np.random.default_rng(1)
        systems = {"good": 0.1, "fair": 0.4, "poor": 0.8}
        for dataset in ("d1", "d2", "d3"):
            written(tmp_path / f"{dataset}.gold", GOLD)
            for system, share in systems.items():
                for run in range(runs):
                    tags = [[tag if draw.random() >= share else "O" for tag in sentence] for sentence in GOLD]
                    written(tmp_path / f"{dataset}.{system}.{run}", tags)
        if same:
            text = (tmp_path / "d2.good.0").read_text(encoding="utf-8")
            (tmp_path / "d2.fair.0").write_text(text, encoding="utf-8")
        manifest = {
            "name": "three",
            "predictions": "{dataset}.{system}.{run}",
            "attributes": "none",
            "datasets": {name: {"test": f"{name}.gold"} for name in ("d1", "d2", "d3")},
            "systems": {name: {} for name in systems},
            "primary": primary,
        }
        return spanwise.study(manifest, root=tmp_path, workers=1, cache=False)

    return make


def test_all_systems_are_tested_over_datasets_by_friedman(study_of: StudyOf) -> None:
    study = study_of()
    test = present(study.analyses.over_datasets)
    means = [
        [present(study.analyses.holistic[name][item].mean) for name in ("good", "fair", "poor")]
        for item in ("d1", "d2", "d3")
    ]
    ranks = np.array([np.argsort(np.argsort(row)) for row in means])

    def square(rows: Sequence[Ints] | Ints) -> float:
        return float((np.sum(rows, axis=0) ** 2).sum())

    orders = list(permutations(range(3)))
    every = [
        square([order[row] for order, row in zip(orders_, ranks, strict=True)])
        for orders_ in product([np.array(order) for order in orders], repeat=3)
    ]
    exact = np.mean([item >= square(ranks) - 1e-9 for item in every])
    assert test.datasets == 3 and test.method == "exact" and test.p == pytest.approx(exact)
    words = [str(row[0]) for row in table(study, "statements").rows]
    assert any(
        item.startswith("The 3 systems") and "Friedman's test over 3 datasets" in item for item in words
    )


def test_friedman_names_what_it_compares() -> None:
    assert friedman([[1.0, 2.0]], of="system").note == "needs three systems, not 2"


def test_the_signature_of_a_study_names_its_test(study_of: StudyOf) -> None:
    assert "|test:randomisation.1000.holm|" in study_of().signature
    several = study_of(runs=2, primary="recall")
    assert "|primary:recall|test:t-runs.holm|" in several.signature
    assert several.settings.primary == "recall"


def test_the_same_file_under_two_systems_is_reported(study_of: StudyOf) -> None:
    study = study_of(same=True)
    (row,) = present(study.plan).shared
    assert row["dataset"] == "d2" and sorted(name for name, _ in row["runs"]) == ["fair", "good"]
    assert "d2: fair (run 0) and good (run 0) have the same predictions" in " ".join(study.to_text().split())


def test_a_study_refuses_an_unknown_primary_score(study_of: StudyOf) -> None:
    with pytest.raises(ChoiceError, match="no primary score is called 'micro'"):
        study_of(primary="micro")


def test_screen_page_tables_and_letters_follow_the_primary_score() -> None:
    gold: Tags = [["B-A", "O", "B-B"]] * 40
    many = [["B-A", "B-A", "B-B"]] * 40  # finds everything, with some errors
    few = [["B-A", "O", "O"]] * 40  # finds half, without errors
    systems = {"few": few, "many": many}
    for primary, best, other in (("recall", "many", "few"), ("precision", "few", "many")):
        result = evaluate(gold, systems, primary=primary)
        assert result.letters == {best: "b", other: ""}
        answer = f"{best} is better than {other} by "
        assert f" points of {primary}, beyond chance" in result.to_text().splitlines()[0]
        assert answer in re.sub(r"<[^>]*>", "", result.to_html())
        assert any(line.split()[:3] == ["a", best, "100.0"] for line in result.to_text().splitlines())
        shown = table(result, "holistic")
        assert shown.header[:3] == ("letter", "system", primary)
        assert shown.rows[0][1] == best
        assert f"{best} scores 100.0 in {primary}" in " ".join(
            str(row[0]) for row in table(result, "statements").rows
        )
        lead = next(finding for finding in result.findings if finding.kind == "lead")
        assert (lead.system, lead.primary) == (best, primary)


def test_the_detectable_difference_uses_the_corrected_level() -> None:
    third = [["B-A", "O", "O"], *GOLD[1:9], ["B-A", "O", "B-A"], *GOLD[10:]]
    two = evaluate(GOLD * 4, {"a": A * 4, "b": B * 4}).comparisons[0]  # enough units that differ
    three = evaluate(GOLD * 4, {"a": A * 4, "b": B * 4, "c": third * 4}).comparisons[0]
    assert two.pairs == 1 and three.pairs == 3 and two.systems == three.systems
    normal = NormalDist()
    power = normal.inv_cdf(0.8)
    factors = [normal.inv_cdf(1 - 0.05 / pairs / 2) + power for pairs in (1, 3)]
    assert present(three.detectable) / present(two.detectable) == pytest.approx(factors[1] / factors[0])
