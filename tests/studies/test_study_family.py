"""All pairs on all datasets of a study are one family of tests, and every claim has a direction."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import UNSET
from study_files import predicted, sentences, write

import spanwise
from spanwise.document import usual_settings
from spanwise.document.scores import PRIMARY, Comparison, ScoreTest
from spanwise.document.study import Study
from spanwise.errors import InputError
from spanwise.reports.tables import table
from spanwise.studies._family import corrected
from spanwise.studies._paired import PairedTests
from spanwise.uncertainty import MOST_SHUFFLES, is_close
from spanwise.views import standing
from spanwise.views.lookups import reversals
from spanwise.views.sentences import compared_sentence
from spanwise.views.statements import statements

RIGHT, WRONG = ["B-PER", "O"], ["O", "O"]


def conll(tags: list[list[str]]) -> list[list[tuple[str, str]]]:
    return [[(f"w{at}", tag) for at, tag in enumerate(row)] for row in tags]


def studied(folder: Path, datasets: Sequence[str], systems: Sequence[str], **options: Any) -> Study:
    manifest = {
        "predictions": "{dataset}/{system}.{run}.txt", "attributes": "none", "unit": "sentence",
        "datasets": {name: {"test": f"{name}/test.txt"} for name in datasets},
        "systems": {name: {} for name in systems}, "resamples": 200, **options,
    }  # fmt: skip
    return spanwise.study(manifest, root=folder, cache=False, workers=1)


@pytest.fixture(scope="module")
def opposed(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """On d0 `a` is better by far, on d1 `b`."""
    folder = tmp_path_factory.mktemp("opposed")
    for name, good in (("d0", "a"), ("d1", "b")):
        write(folder / name / "test.txt", conll([RIGHT] * 60))
        for system in "ab":
            found = 60 if system == good else 40
            write(folder / name / f"{system}.1.txt", conll([RIGHT] * found + [WRONG] * (60 - found)))
    return studied(folder, ("d0", "d1"), ("a", "b"))


def test_datasets_are_counted_by_direction(opposed: Study) -> None:
    test = opposed.analyses.bucket_wise.comparative[0].over_datasets
    assert test and test.better == {"a": 1, "b": 1} and test.holds is UNSET
    assert test.difference == pytest.approx(0)
    sentence = next(text for text in statements(opposed) if text.startswith("Over datasets"))
    assert sentence.endswith("a is better on 1 of 2 datasets, b on 1.")
    screen = opposed.to_text(width=100)
    assert "1 : 1 of 2" in screen and "n/a (2 datasets)" in screen
    assert opposed.analyses.letters == {"d0": {"a": "b", "b": ""}, "d1": {"a": "", "b": "a"}}


def test_one_run_each_is_about_these_models(opposed: Study) -> None:
    assert "Of these models; training seeds not considered." in table(opposed, "holistic").caption
    assert "of these models; training seeds not considered" in opposed.to_text(width=100)


def test_two_runs_each_are_said_to_be_too_few(tmp_path: Path) -> None:
    gold = sentences(40, 3)
    write(tmp_path / "d" / "test.txt", gold)
    for at, system in enumerate(("a", "b", "c")):
        for run in "12"[: 1 if system == "c" else 2]:
            write(tmp_path / "d" / f"{system}.{run}.txt", predicted(gold, 0.2 + 0.3 * at, 10 * at + int(run)))
    both = studied(tmp_path, ("d",), ("a", "b"))
    assert "Two runs each: run three." in table(both, "holistic").caption
    mixed = studied(tmp_path, ("d",), ("a", "b", "c"))
    caption = table(mixed, "holistic").caption
    assert "A single run of c: of these models; training seeds not considered" in caption
    assert "two runs of a, b: run three" in caption
    words = next(text for text in statements(mixed) if "than c by" in text or "a and c" in text)
    assert "of the single run of c, whose training seed is not considered, and the 2 runs of a" in words


def test_an_order_reverses_only_if_both_directions_are_significant(tmp_path: Path) -> None:
    gold = conll([["B-PER"]] * 150 + [["B-LOC"]] * 70)
    a = conll([["B-PER"]] * 150 + [["O"]] * 70)
    b = conll([["O"]] * 150 + [["B-LOC"]] * 70)
    c = conll([["B-PER"]] * 149 + [["O"]] * 1 + [["B-LOC"]] * 1 + [["O"]] * 69)
    for name, rows in (("test", gold), ("a.1", a), ("b.1", b), ("c.1", c)):
        write(tmp_path / "d" / f"{name}.txt", rows)
    apart = studied(tmp_path, ("d",), ("a", "b"))
    assert [(flip.name, flip.overall, flip.here) for flip in reversals(apart)] == [("LOC", "a", "b")]
    assert "The order reverses:" in apart.to_html()
    alike = studied(tmp_path, ("d",), ("a", "c"))
    assert reversals(alike) == [] and "The order reverses:" not in alike.to_html()


def test_an_unknown_family_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    write(tmp_path / "d" / "test.txt", conll([RIGHT]))
    with pytest.raises(InputError, match="no family of tests is called 'pair'"):
        studied(tmp_path, ("d",), ("a",), family="pair")


# ---- the correction over pairs and datasets ---------------------------------------------------------


def comparison(
    first: str, second: str, p: float | None, *, difference: float = 0.1, **given: Any
) -> Comparison:
    test = ScoreTest(
        path=PRIMARY["f1"], role="primary", difference=difference, interval=None, p=p, p_corrected=None,
        significant=False,
    )  # fmt: skip
    return Comparison(systems=(first, second), scores=(test,), **{"test": "t-test over runs", **given})


def paired(*rows: Comparison) -> PairedTests:
    return PairedTests(comparisons=rows, letters_about="", interval={})


def never(*_: object) -> Sequence[Comparison]:
    raise AssertionError("nothing is to be tested again")


def verdicts(tested: dict[str, PairedTests]) -> list[tuple[float, bool]]:
    rows = [row.primary for tests in tested.values() for row in tests.comparisons]
    return [(round(row.p_corrected or 0.0, 9), row.significant) for row in rows if row is not None]


def test_the_example_of_the_definition() -> None:
    tested = {
        "one": paired(comparison("a", "b", 0.01), comparison("c", "b", 0.03)),
        "two": paired(comparison("a", "b", 0.02), comparison("c", "b", 0.2)),
    }
    together = corrected(tested, correction="holm", family="study", again=never)
    assert verdicts(together) == [(0.04, True), (0.06, False), (0.06, False), (0.2, False)]
    assert {row.pairs for tests in together.values() for row in tests.comparisons} == {4}
    apart = corrected(tested, correction="holm", family="dataset", again=never)
    assert verdicts(apart) == [(0.02, True), (0.03, True), (0.04, True), (0.2, False)]


def test_systems_with_the_same_predictions_do_not_enlarge_the_family() -> None:
    tested = {"one": paired(comparison("a", "b", 0.03), comparison("a", "c", 1.0, identical=True))}
    (row, same) = corrected(tested, correction="holm", family="study", again=never)["one"].comparisons
    assert row.primary and row.primary.p_corrected == 0.03 and row.pairs == 1
    assert same.pairs is UNSET


def test_more_shuffles_are_drawn_while_the_level_of_the_family_cannot_be_reached() -> None:
    calls: list[tuple[str, int, list[float]]] = []

    def again(
        name: str, pairs: Sequence[tuple[str, str]], shuffles: int, others: Sequence[float]
    ) -> Sequence[Comparison]:
        calls.append((name, shuffles, list(others)))
        return [comparison(*pair, 1 / (1 + shuffles), shuffles=shuffles) for pair in pairs]

    drawn: Any = {"test": "randomisation", "shuffles": 200}
    tested = {
        "one": paired(comparison("a", "b", 1 / 201, **drawn), comparison("a", "c", 0.9, **drawn)),
        "two": paired(*(comparison("a", name, 0.8) for name in "bcdefgh")),
    }
    result = corrected(tested, correction="holm", family="study", again=again)
    (first, _) = result["one"].comparisons
    assert [shuffles for _, shuffles, _ in calls] == [400, 800]  # until 4 / shuffles < .05 / 9
    assert calls[0][0] == "one" and calls[0][2] == [0.9, *[0.8] * 7]
    assert first.primary and first.primary.p == 1 / 801 and first.primary.significant
    assert first.shuffles == 800 and not first.undecided


def test_what_stays_undecided_is_not_significant_and_neither_is_any_larger_p() -> None:
    most: Any = {"test": "randomisation", "shuffles": MOST_SHUFFLES}
    tested = {
        "one": paired(
            comparison("a", "b", 0.0249, **most), comparison("a", "c", 0.03), comparison("b", "c", 0.0001)
        )
    }
    rows = corrected(tested, correction="holm", family="study", again=never)["one"].comparisons
    assert [row.undecided for row in rows] == [True, False, False]
    assert [row.primary.significant for row in rows if row.primary] == [False, False, True]


def test_a_test_that_cannot_reach_its_level_says_so_and_makes_nothing_bold() -> None:
    few: Any = {"test": "exact randomisation", "differing": 6, "shuffles": 0}
    tested = {
        "one": paired(comparison("a", "b", 2 / 64, **few)),
        "two": paired(comparison("a", "b", 0.9)),
    }
    (row,) = corrected(tested, correction="holm", family="study", again=never)["one"].comparisons
    cannot = "the test cannot reach .05 after correction over 2 tests on these data"
    assert row.unreachable == f"only 6 units differ: {cannot}"
    tests = standing.Tested({"a": "a", "b": "b"}, [row])
    assert tests.bold({"a": 0.288, "b": 0.0}) == set() and tests.unreachable == [row.unreachable]
    assert row.unreachable in tests.captions("ab")[1]
    sentence = compared_sentence(row, usual_settings(unit="document"), "F1", "study")
    assert sentence.startswith("a and b cannot be told apart: a is ahead by 10.0 F1")
    assert row.unreachable in sentence
    (alone,) = corrected({"one": tested["one"]}, correction="holm", family="study", again=never)[
        "one"
    ].comparisons
    assert alone.unreachable is UNSET and alone.primary and alone.primary.significant


def test_what_cannot_reach_the_level_of_the_family_is_not_significant_beside_a_clear_difference(
    tmp_path: Path,
) -> None:
    for name, missed in (("d0", 30), ("d1", 6)):
        write(tmp_path / name / "test.txt", conll([RIGHT] * 60))
        write(tmp_path / name / "a.1.txt", conll([RIGHT] * 60))
        write(tmp_path / name / "b.1.txt", conll([WRONG] * missed + [RIGHT] * (60 - missed)))
    study = studied(tmp_path, ("d0", "d1"), ("a", "b"))
    (clear,), (few,) = (part.comparisons for part in study.datasets.values())
    assert clear.primary and clear.primary.significant and clear.unreachable is UNSET
    # Holm alone would multiply the larger of the two p-values, 2 / 2⁶, by 1.
    assert few.primary and (few.primary.p, few.primary.p_corrected) == (0.03125, 0.0625)
    assert not few.primary.significant and few.detectable is None
    cannot = "the test cannot reach .05 after correction over 2 tests on these data"
    assert few.unreachable == f"only 6 sentences differ: {cannot}"
    assert study.analyses.letters == {"d0": {"a": "b", "b": ""}, "d1": {"a": "", "b": ""}}
    assert any(text.startswith("d1: a and b cannot be told apart") for text in statements(study))


def test_single_and_several_runs_are_corrected_together(tmp_path: Path) -> None:
    """`one` has one run and is tested by swaps, the others have two and are tested over runs."""
    write(tmp_path / "d" / "test.txt", conll([RIGHT] * 60))
    for system, found in {"one": (60,), "same": (54, 54), "few": (54, 54), "none": (0, 1)}.items():
        for run, number in enumerate(found, start=1):
            write(tmp_path / "d" / f"{system}.{run}.txt", conll([RIGHT] * number + [WRONG] * (60 - number)))
    study = studied(tmp_path, ("d",), ("one", "same", "few", "none"))
    rows = {row.systems: row for row in study.datasets["d"].comparisons}
    assert rows["few", "same"].identical and {row.pairs for row in rows.values()} == {5, UNSET}
    few = rows["one", "same"] if ("one", "same") in rows else rows["same", "one"]
    assert few.differing == 6 and few.primary and few.primary.p == 0.03125 and not few.primary.significant
    cannot = "the test cannot reach .05 after correction over 5 pairs on these data"
    assert few.unreachable == f"only 6 sentences differ: {cannot}"


def test_a_p_is_close_to_its_level_while_shuffles_are_too_few() -> None:
    level = np.array([0.05 / 132])
    for shuffles, close in ((200, True), (5_000, True), (20_000, False)):
        assert is_close(np.array([1 / (1 + shuffles)]), level, shuffles).tolist() == [close]
