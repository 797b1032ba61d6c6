"""What an evaluation of one gold set may claim: few units, open verdicts, the costliest errors, copies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import UNSET
from study_files import predicted, sentences, write
from typed import present

import spanwise
from spanwise.columns import ratio
from spanwise.counts import Counts
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import Comparison, Finding
from spanwise.evaluation import evaluate
from spanwise.evaluation.scoring import _stepped
from spanwise.families import Hypotheses, corrected_pairs, stepped_down, unreachable
from spanwise.reports.terminal import render
from spanwise.uncertainty import Resampling, Swapping, enough_shuffles, randomised
from spanwise.views.verdict import verdict
from spanwise.views.wording import finding_parts

PAIR = [(0, 1)]


def documents(path: Path, wrong: Sequence[int], *, size: int = 6, label: str = "LOC") -> Path:
    """A file with a document per entry, in which so many sentences lack their mention."""
    lines = []
    for number, missed in enumerate(wrong):
        lines.append("-DOCSTART- O\n")
        for at in range(size):
            tag = "O" if at < missed else f"B-{label}"
            lines.append(f"in{number} O\nRome{at} {tag}\n")
    path.write_text("\n".join(lines))
    return path


def two_systems(folder: Path, first: Sequence[int], second: Sequence[int], **options: Any) -> Evaluation:
    gold = documents(folder / "gold.txt", [0] * len(first))
    systems = {
        "a": documents(folder / "a.txt", first),
        "b": documents(folder / "b.txt", second),
    }
    return evaluate(gold, systems, resamples=200, **options)


# ---- few units ------------------------------------------------------------------------------


@pytest.mark.parametrize("differing", range(8))
def test_a_test_that_cannot_reach_its_level_says_so_and_calls_nothing_significant(
    differing: int, tmp_path: Path
) -> None:
    first, second = [1] * 9, [1] * (9 - differing) + [4] * differing
    (comparison,) = two_systems(tmp_path, first, second).comparisons
    primary = present(comparison.primary)
    if not differing:
        assert comparison.identical and comparison.differing == 0 and comparison.unreachable is UNSET
        return
    assert comparison.differing == differing
    assert primary.p == 2 / 2**differing
    if differing < 6:
        only = f"only {differing} document{'s differ' if differing > 1 else ' differs'}"
        assert comparison.unreachable == f"{only}: the test cannot reach .05 on these data"
        assert not primary.significant and comparison.detectable is None
    else:
        assert comparison.unreachable is UNSET and primary.significant
        assert comparison.detectable is not None


def test_the_screen_says_what_few_documents_cannot_show_and_that_intervals_are_not_corrected(
    tmp_path: Path,
) -> None:
    result = two_systems(tmp_path, [0, 0, 1, 0], [2, 2, 3, 2])
    shown = " ".join(render(result, width=100).split())
    assert "a − b: only 4 documents differ: the test cannot reach .05 on these data." in shown
    assert "The interval (jackknife) and p (randomisation) are computed separately; p decides." in shown
    assert "Intervals are not corrected for several tests; p is." not in shown  # there is a single test
    gold, third = tmp_path / "gold.txt", documents(tmp_path / "c.txt", [1, 1, 0, 2])
    systems = {"a": tmp_path / "a.txt", "b": tmp_path / "b.txt", "c": third}
    shown = " ".join(render(evaluate(gold, systems, resamples=200), width=100).split())
    assert "Intervals are not corrected for several tests; p is." in shown


def test_an_interval_that_excludes_0_beside_a_p_that_decides_nothing_is_explained(tmp_path: Path) -> None:
    said = "Intervals are not corrected for the number of scores; p and * are."
    apart = two_systems(tmp_path, [0, 0, 1, 0], [2, 2, 3, 2])
    assert said in " ".join(render(apart, width=100, detail="full").split())
    same = two_systems(tmp_path, [0, 0, 1, 0], [0, 1, 0, 0])
    assert said not in " ".join(render(same, width=100, detail="full").split())


def test_six_differing_units_suffice_for_one_pair_but_not_for_two() -> None:
    assert unreachable(6, 1, "document") is None
    assert unreachable(6, 2, "document") == (
        "only 6 documents differ: the test cannot reach .05 after correction over 2 pairs on these data"
    )
    # Holm alone would call the second significant, although it cannot reach .05 / 2.
    corrected = corrected_pairs(np.array([0.0001, 2 / 2**6]), np.array([40, 6]), "holm")
    assert corrected.tolist() == [0.0002, 2 * 2 / 2**6] and corrected[1] > 0.05


def test_only_counts_that_the_primary_score_uses_can_differ(tmp_path: Path) -> None:
    gold = documents(tmp_path / "gold.txt", [0] * 9)
    right = documents(tmp_path / "right.txt", [1] * 9)
    more = tmp_path / "more.txt"
    more.write_text(right.read_text().replace("in0 O", "in0 B-LOC"))  # spurious: recall stays the same
    systems = {"a": right, "b": more}
    (by_f1,) = evaluate(gold, systems, resamples=50).comparisons
    (by_recall,) = evaluate(gold, systems, resamples=50, primary="recall").comparisons
    assert (by_f1.differing, by_recall.differing) == (1, 0)
    assert by_recall.unreachable == "no document differs: the test cannot reach .05 on these data"


def test_a_document_that_holds_most_mentions_is_named(tmp_path: Path) -> None:
    gold = tmp_path / "gold.txt"
    parts = [(1, 3), (2, 3), (3, 9)]
    gold.write_text(
        "\n".join(
            "-DOCSTART- O\n\n" + "".join(f"x{number}.{at} B-A\ny O\n\n" for at in range(size))
            for number, size in parts
        )
    )
    note = "Document 3 of 3 holds 60 % of the gold mentions: every interval and test rests on it."
    result = evaluate(gold, {"a": gold}, resamples=20)
    assert note in (result.hints or ()) and note in verdict(result).checks
    assert note not in (evaluate(gold, {"a": gold}, resamples=0).hints or ())
    manifest = {"resamples": 20, "datasets": {"d": {"test": str(gold)}},
                "systems": {name: {"predictions": str(gold)} for name in "ab"}}  # fmt: skip
    assert verdict(spanwise.study(manifest, cache=False)).checks.count(note) == 1


# ---- shuffles -------------------------------------------------------------------------------


def counts_of(rows: Sequence[Sequence[int]], columns: Sequence[str]) -> Counts:
    return Counts.of_matrix(["all"], columns, np.array(rows))


def test_a_swap_without_a_score_counts_as_at_least_as_large() -> None:
    # Precision: in half of all swaps one of the systems predicts nothing at all.
    rows = [[[3, 2], [0, 0], [0, 0]], [[0, 0], [2, 1], [4, 1]]]
    tables = [counts_of(side, ["predicted", "correct"]) for side in rows]

    def precision(totals: np.ndarray) -> np.ndarray:
        return ratio(totals[..., 1], totals[..., 0])

    matrices = np.array(rows, dtype=float)
    seen = abs(precision(matrices[0].sum(0)) - precision(matrices[1].sum(0)))
    reached = 0
    for swap in product([0, 1], repeat=3):
        sides = [sum(matrices[side ^ s][unit] for unit, s in enumerate(swap)) for side in (0, 1)]
        difference = abs(precision(sides[0]) - precision(sides[1]))
        reached += bool(np.isnan(difference) or difference >= seen - 1e-12)
    test = randomised(tables, PAIR, precision, Resampling(3, 100))
    assert test.p.tolist() == [reached / 8] and test.differing.tolist() == [3]
    undefined = sum(
        any(sum(rows[side ^ s][unit][0] for unit, s in enumerate(swap)) == 0 for side in (0, 1))
        for swap in product([0, 1], repeat=3)
    )
    assert 0 < undefined <= reached < 8


def test_more_shuffles_are_drawn_first_if_the_corrected_level_could_not_be_reached(tmp_path: Path) -> None:
    assert enough_shuffles(0.05 / 66) == 6600 and enough_shuffles(1e-9) == 100_000
    gold = sentences(60, 1)
    write(tmp_path / "gold.txt", gold)
    systems = {}
    for number in range(12):
        systems[f"s{number}"] = tmp_path / f"{number}.txt"
        write(systems[f"s{number}"], predicted(gold, 0.02 if number else 0.95, number))
    result = evaluate(tmp_path / "gold.txt", systems, resamples=20, attributes="none")
    assert len(result.comparisons) == 66
    for row in result.comparisons:  # pairs with the same predictions are not tested
        assert row.identical or row.shuffles == 0 or present(row.shuffles) >= 100 * present(row.pairs) > 3000
    # One system is far worse than the others, and is said to be.
    assert all(result.letters[f"s{number}"] == "l" for number in range(1, 12)) and result.letters["s0"] == ""


def family(
    seed: int, resamples: int, memory: int | None = None
) -> tuple[Swapping, list[np.ndarray], Sequence[tuple[int, int]], Hypotheses, Resampling]:
    generator = np.random.default_rng(2)
    first = np.concatenate([generator.binomial(4, 0.6, (40, 6)), np.full((40, 6), 4)], axis=1).astype(float)
    second = np.concatenate([generator.binomial(4, 0.5, (40, 6)), np.full((40, 6), 4)], axis=1).astype(float)
    return (
        Swapping.of_matrices([first, second]),
        [first.sum(axis=0), second.sum(axis=0)],
        PAIR,
        Hypotheses(6, np.arange(6)),
        Resampling(40, resamples, seed, memory),
    )


def test_shared_shuffles_are_doubled_until_no_verdict_is_open() -> None:
    verdicts = set()
    for seed in range(12):
        test = stepped_down(*family(seed, 100))
        error = np.sqrt(test.p_corrected * (1 - test.p_corrected) / test.shuffles)
        assert test.undecided[np.abs(test.p_corrected - 0.05) <= 3 * error].all()
        assert not test.undecided.any() or test.shuffles == 100_000
        verdicts.add(tuple(((test.p_corrected < 0.05) & ~test.undecided)[0].tolist()))
    assert len(verdicts) == 1


@pytest.mark.parametrize("correction", ["maxt", "bh"])
def test_growing_shuffles_give_the_same_p_values_in_any_memory(correction: str) -> None:
    calls = family(5, 100), family(5, 100, memory=20 * 6 * 32)
    whole, parts = (stepped_down(*call, correction=correction) for call in calls)
    assert whole.shuffles == parts.shuffles
    assert np.array_equal(whole.p, parts.p) and np.array_equal(whole.p_corrected, parts.p_corrected)


def test_a_score_that_is_first_undefined_in_a_later_shuffle_leaves_the_family() -> None:
    _, _, pairs, hypotheses, resampling = family(0, 100)
    generator = np.random.default_rng(11)
    sides = [generator.binomial(4, chance, (40, 6)).astype(float) for chance in (0.62, 0.5)]
    # A seventh ratio, which the first system has in nine units and the second in a tenth: if exactly one of
    # these groups changes sides, one system has none of it. That is so in about one shuffle of 500.
    seventh = [np.zeros((40, 1)), np.zeros((40, 1))]
    seventh[0][:9] = 1
    seventh[1][9] = 1
    matrices = [
        np.concatenate([side, 0.5 * extra, np.full((40, 6), 4.0), extra], axis=1)
        for side, extra in zip(sides, seventh, strict=True)
    ]
    call = (
        Swapping.of_matrices(matrices),
        [matrix.sum(axis=0) for matrix in matrices],
        pairs,
        Hypotheses(7, np.arange(7)),
    )
    grown = stepped_down(*call, resampling)
    assert grown.shuffles > 1000 and np.isnan(grown.p[0, 6]) and np.isnan(grown.p_corrected[0, 6])
    without = [np.delete(matrix, [6, 13], axis=1) for matrix in matrices]
    alone = stepped_down(
        Swapping.of_matrices(without), [side.sum(axis=0) for side in without], pairs, hypotheses, resampling
    )
    assert np.allclose(grown.p_corrected[0, :6], alone.p_corrected[0], atol=0.02)


# ---- the kind of error that costs the most --------------------------------------------------


def test_p_values_step_down_over_the_pairs_of_kinds_that_could_be_the_first() -> None:
    assert _stepped(np.array([0.04, 0.03, 0.02, 0.001])).round(4).tolist() == [0.12, 0.12, 0.12, 0.01]
    assert np.isnan(_stepped(np.array([np.nan, 0.001, 0.001, 0.001]))[0])


def test_every_kind_that_may_cost_as_much_is_named() -> None:
    finding = Finding(
        kind="gain", system="crf", score="f1", value=0.028, count=148, path=("gains", "LE", "gain"), filter={}
    )
    several: dict[tuple[str, ...], str] = {(): "wrong labels cost crf the most"}
    several["BE",] = "wrong labels or wrong boundaries cost crf the most"
    several["BE", "FN"] = "wrong labels, wrong boundaries or missed mentions cost crf the most"
    for tied, expected in several.items():
        assert finding_parts(Finding(**{**_fields(finding), "tied": tied}))[0] == expected
    assert Finding(**{**_fields(finding), "tied": "BE"}).ties == ("BE",)  # as version 0.2 wrote it


def _fields(finding: Finding) -> dict[str, Any]:
    return {key: getattr(finding, key) for key in finding.__struct_fields__}


# ---- the data -------------------------------------------------------------------------------


def test_copies_within_the_test_set_are_noted_with_f1_without_them(tmp_path: Path) -> None:
    def written(name: str, tags: Sequence[str]) -> Path:
        words = ["Rome", "Oslo", "Rome", "Bonn", "Rome", "Oslo"]
        path = tmp_path / name
        path.write_text("\n\n".join(f"in O\n{word} {tag}" for word, tag in zip(words, tags, strict=True)))
        return path

    gold = written("gold.txt", ["B-LOC"] * 6)
    # Right in the first Rome and in Oslo, wrong in the copies: 2 of 3 distinct sentences, 2 of 6 in all.
    mine = written("mine.txt", ["B-LOC", "B-LOC", "O", "O", "O", "O"])
    each: tuple[dict[str, Any], ...] = ({}, {"memory": "1MB", "workers": 1})
    for options in each:
        result = evaluate(gold, {"mine": mine}, resamples=0, **options)
        assert result.dataset.duplicates == 3
        exact = result.systems["mine"].exact
        assert exact.overall.f1 == 2 * 2 / (6 + 2) and exact.f1_without_copies == 2 * 2 / (3 + 2)
        note = "3 test sentences repeat an earlier one; without the copies, F1 is 80.0 (mine)."
        assert note in (result.notes or ())
        said = "3 of 6 test sentences repeat earlier ones: intervals may be too narrow and p too small."
        assert said in verdict(result).checks
    alone = written("alone.txt", ["B-LOC"] * 6)
    alone.write_text("in O\nRome B-LOC\n\nat O\nOslo B-LOC\n")
    single = evaluate(alone, {"mine": alone}, resamples=0)
    assert single.dataset.duplicates == 0 and single.systems["mine"].exact.f1_without_copies is UNSET


def test_macro_averages_over_different_labels_are_noted(tmp_path: Path) -> None:
    gold = documents(tmp_path / "gold.txt", [0] * 6)
    a, b = documents(tmp_path / "a.txt", [1] * 6), documents(tmp_path / "b.txt", [1] * 6)
    b.write_text(b.read_text().replace("in0 O", "in0 B-MISC"))
    note = "Macro averages are over different labels: gold lacks MISC (b), which only some systems predict."
    assert note in (evaluate(gold, {"a": a, "b": b}, resamples=0).notes or ())
    both = a.read_text().replace("in0 O", "in0 B-MISC")
    a.write_text(both)
    assert note not in (evaluate(gold, {"a": a, "b": b}, resamples=0).notes or ())


def test_identical_predictions_under_two_names_are_one(tmp_path: Path) -> None:
    gold = documents(tmp_path / "gold.txt", [0] * 9)
    same, other = documents(tmp_path / "same.txt", [1] * 9), documents(tmp_path / "other.txt", [3] * 9)
    result = evaluate(gold, {"a": same, "b": same, "c": other}, resamples=50)
    by_pair: dict[tuple[str, str], Comparison] = {row.systems: row for row in result.comparisons}
    assert by_pair["a", "b"].identical and by_pair["a", "b"].differing == 0
    assert present(by_pair["a", "b"].primary).p_corrected == 1.0
    assert by_pair["a", "c"].pairs == by_pair["b", "c"].pairs == 1
