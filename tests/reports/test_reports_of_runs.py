"""Reports of several runs show for one dataset what those of an evaluation show, as means over runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browsing import Opened, until
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from study_files import make
from typed import present

import spanwise
from spanwise.averages import averaged, deviations, spread
from spanwise.cli.main import main
from spanwise.document.study import Study
from spanwise.errors import ChoiceError
from spanwise.reports import figures, render
from spanwise.reports.errors import listing, to_csv, to_jsonl, to_text
from spanwise.reports.html.opening import study_sentences
from spanwise.reports.html.standings import ranked_systems
from spanwise.reports.html.verdicts import findings, verdicts
from spanwise.reports.tables import Number
from spanwise.views import wording as words
from spanwise.views.shown import run_name, study_shown
from spanwise.views.verdict import verdict

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SYSTEMS = ("large", "small", "rules")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs")
    make(path, count=150)
    return path


def study(folder: Path, *datasets: str, systems: tuple[str, ...] = SYSTEMS, **options: Any) -> Study:
    """A study of some of the datasets, with three runs of each system."""
    manifest = {
        "predictions": "{dataset}/predictions/{system}.{run}.txt",
        "datasets": {name: {"test": f"{name}/test.txt", "train": f"{name}/train.txt"} for name in datasets},
        "systems": {name: {} for name in systems},
        "resamples": 200,
        "examples": "errors",
        **options,
    }
    return spanwise.study(manifest, root=folder, workers=1, cache=False)


@pytest.fixture(scope="module")
def one_dataset(folder: Path) -> Study:
    return study(folder, "north")


@pytest.fixture(scope="module")
def two_datasets(folder: Path) -> Study:
    return study(folder, "north", "south")


# ---- verdicts about a lead ---------------------------------------------------------------------------


def test_page_screen_and_statements_agree_on_the_lead_on_one_dataset(one_dataset: Study) -> None:
    (said,), found = verdicts(one_dataset, ["large"]).values(), verdict(one_dataset)
    assert said.striptags().replace("&lt;", "<") == str(found.sentence)
    assert str(found.sentence).startswith("large is better than small, the next of 3 systems, by ")
    assert str(found.sentence).endswith("beyond chance (p < .001).")
    assert "t-test over 3 runs and 150 sentences, Holm over 3 pairs" in found.test
    headline = one_dataset.to_html().partition("<h1>")[2].partition("</h1>")[0]
    assert re.sub("<[^>]+>", "", headline).replace("&lt;", "<") == str(found.sentence)
    screen = one_dataset.to_text(width=100)
    assert "cannot be told apart" not in screen
    statements = [str(line[0]) for line in one_dataset.table("statements").rows]
    assert any(line.startswith("north: large is better than small by") for line in statements)
    assert not any("Wilcoxon" in line or "Friedman" in line for line in statements)


def test_charts_of_one_run_name_it_in_their_titles(one_dataset: Study) -> None:
    page = one_dataset.to_html()
    named = re.findall(r"run (\d), the median of 3 by F1", page)
    assert named and set(named) <= {"1", "2", "3"}
    for title in ("F1 gained if all errors of a kind were fixed", "Share of each kind of error, in percent"):
        assert re.search(rf"{title}, run \d, the median of 3 by F1", page)
    for title in ("What fixing each kind of error would add", "Costliest slices", "Confusions"):
        assert re.search(rf">{title}<small data-view=\"0\"> run \d</small>", page)


def test_a_lead_on_one_dataset_that_may_be_chance_is_described_as_such(one_dataset: Study) -> None:
    part = one_dataset.datasets["north"]
    weak = [
        replace(pair, scores=tuple(replace(row, p_corrected=0.4, significant=False) for row in pair.scores))
        for pair in part.comparisons
    ]
    changed = replace(one_dataset, datasets={"north": replace(part, comparisons=tuple(weak))})
    found = verdict(changed)
    assert str(found.sentence).startswith("large, small and rules cannot be told apart: large is")
    assert str(found.sentence).endswith("(p = .400).") and "t-test over 3 runs" in found.test
    untested = replace(one_dataset, datasets={"north": replace(part, comparisons=())})
    assert str(verdict(untested).sentence).endswith("; this was not tested.")


def test_too_few_datasets_are_never_said_to_show_chance(two_datasets: Study) -> None:
    pair = two_datasets.analyses.bucket_wise.comparative[0].over_datasets
    assert pair and pair.note and pair.p == 0.5
    found = verdict(two_datasets)
    assert str(found.sentence) == "large is better than small, the next best, on 2 of 2 datasets."
    assert found.test.endswith("Wilcoxon over 2 datasets: too few to decide")
    statements = [str(line[0]) for line in two_datasets.table("statements").rows]
    assert "2 datasets are too few to tell the 3 systems apart by Friedman's test." in statements
    over = [line for line in statements if line.startswith("Over datasets")]
    assert over and not any("cannot be told apart" in line for line in over)
    assert any("large is better on 2 of 2 datasets, small on none." in line for line in over)


# ---- the scores of a system over its runs ------------------------------------------------------------


def test_means_and_deviations_equal_those_of_the_analyses(one_dataset: Study) -> None:
    for system, runs in one_dataset.datasets["north"].runs.items():
        means, stds = averaged(list(runs.values())), deviations(list(runs.values()))
        scores = one_dataset.analyses.scores[system]["north"]
        for name, mean, std in (
            ("f1", means.exact.overall.f1, stds.exact.overall.f1),
            ("precision", means.exact.overall.precision, stds.exact.overall.precision),
            ("fair_recall", means.fair.overall.recall, stds.fair.overall.recall),
            ("macro_f1", means.exact.macro.f1, stds.exact.macro.f1),
        ):
            assert (mean, std) == (scores[name].mean, scores[name].std)
        for attribute, diagnosis in one_dataset.analyses.bucket_wise.self_[system]["north"].items():
            table = means.attributes[attribute]
            assert (table.best, table.worst, table.gap) == (diagnosis.best, diagnosis.worst, diagnosis.gap)
        for subset, recall in one_dataset.analyses.tough[system]["north"].items():
            assert means.tough[subset].overall.recall == recall.mean
            assert stds.tough[subset].overall.recall == recall.std


def test_counts_are_means_over_all_runs(one_dataset: Study) -> None:
    runs = list(one_dataset.datasets["north"].runs["rules"].values())
    means = averaged(runs)
    assert means.exact.overall.gold == runs[0].exact.overall.gold
    for kind in ("LE", "FN", "FP"):
        numbers = [run.fair.overall.count(kind) for run in runs]
        assert means.fair.overall.count(kind) == pytest.approx(sum(numbers) / 3)
    for gold, label in enumerate(means.confusion.labels):
        missed = [dict(zip(run.confusion.labels, run.confusion.missed, strict=True)) for run in runs]
        assert means.confusion.missed[gold] == pytest.approx(sum(row.get(label, 0) for row in missed) / 3)
    pairs = {(a, b): number for a, b, number in means.confusion.pairs["LE"]}
    for pair, number in pairs.items():
        counted = [sum(n for a, b, n in run.confusion.pairs["LE"] if (a, b) == pair) for run in runs]
        assert number == pytest.approx(sum(counted) / 3)


def test_slices_are_ordered_by_their_mean_cost(one_dataset: Study) -> None:
    runs = list(one_dataset.datasets["north"].runs["rules"].values())
    means = averaged(runs)
    assert [row.cost for row in means.slices] == sorted((row.cost for row in means.slices), reverse=True)
    for row in means.slices:
        same = [other for run in runs for other in run.slices if other.title == row.title]
        assert row.gold == same[0].gold
        assert row.value == pytest.approx(sum(other.value or 0.0 for other in same) / len(same))
    assert [row.title for row in deviations(runs).slices] == [row.title for row in means.slices]


@given(st.permutations(["1", "2", "3"]))
def test_the_order_of_runs_changes_no_mean(one_dataset: Study, order: list[str]) -> None:
    runs = one_dataset.datasets["north"].runs["small"]
    shuffled = [runs[name] for name in order]
    assert averaged(shuffled).exact == averaged(list(runs.values())).exact
    assert averaged(shuffled).fair.overall == averaged(list(runs.values())).fair.overall
    assert deviations(shuffled).exact.overall == deviations(list(runs.values())).exact.overall


def test_equal_runs_have_their_own_scores_and_no_deviation(one_dataset: Study) -> None:
    run = one_dataset.datasets["north"].runs["small"]["1"]
    means, stds = averaged([run, run]), deviations([run, run])
    assert means.exact.overall.f1 == run.exact.overall.f1
    assert means.confusion == run.confusion
    assert [row.cost for row in means.slices] == [row.cost for row in run.slices]
    assert stds.exact.overall.f1 == 0 and stds.gains.FN.gain == 0
    assert averaged([run]) is run


def test_labels_missing_from_a_run_count_as_zero(one_dataset: Study) -> None:
    run = one_dataset.datasets["north"].runs["small"]["1"]
    label = next(iter(run.exact.labels))
    cell = replace(
        run.exact.labels[label], gold=0, correct=0, predicted=4, precision=0.0, recall=None, f1=0.0
    )
    odd = replace(run, exact=replace(run.exact, labels={**run.exact.labels, "NEW": cell}))
    means = averaged([run, odd]).exact.labels["NEW"]
    assert (means.predicted, means.gold, means.f1, means.recall) == (2, 0, 0.0, None)


# ---- what reports show -------------------------------------------------------------------------------


def test_the_screen_of_runs_has_the_parts_of_an_evaluation(one_dataset: Study) -> None:
    screen = one_dataset.to_text(width=100, detail="full")
    for title in ("Systems", "Differences", "Errors", "By label", "Tough mentions", "Costliest slices"):
        assert f"\n {title} " in screen, title
    result = one_dataset.analyses.scores["large"]["north"]
    row = next(line for line in screen.splitlines() if line.startswith("  a  large"))
    for name in ("f1", "precision", "recall", "fair_f1"):
        assert words.spread(result[name].mean, result[name].std) in row
    assert "mean ± std over runs" in screen
    for width in (40, 80, 120):
        assert max(map(len, one_dataset.to_text(width=width).splitlines())) <= width


def test_the_screen_of_several_datasets_shows_each_after_the_overview(two_datasets: Study) -> None:
    assert len(two_datasets.to_text(width=80).splitlines()) <= 60
    screen = two_datasets.to_text(width=100, detail="full")
    overview, north, south = (screen.index(part) for part in ("\n Systems", "── north ─", "── south ─"))
    assert overview < north < south
    assert screen.count("\n By label") == screen.count("\n Errors") == 2


def test_the_screen_of_one_system_with_runs_has_its_spread(folder: Path) -> None:
    document = study(folder, "north", systems=("rules",))
    result = document.analyses.holistic["rules"]["north"]
    screen = document.to_text(width=100)
    assert f"F1 {words.spread(result.mean, result.std)}" in screen
    assert "\n Errors" in screen and len(screen.splitlines()) <= 60
    assert "\n Costliest slices" in document.to_text(width=100, detail="full")
    first = next(row for row in document.datasets["north"].findings if row.runs)
    assert first.runs == (3, 3)
    note = f"(in 3 of 3 runs; these are the numbers of run {first.run})"
    assert note in " ".join(screen.split())
    assert note in findings(study_shown(document)[0].document, [first])[0]
    assert note in str(render(document, "summary"))


def test_one_run_each_is_shown_like_an_evaluation(folder: Path) -> None:
    path = folder / "north"
    files = {name: path / "predictions" / f"{name}.1.txt" for name in sorted(SYSTEMS)}
    result = spanwise.evaluate(path / "test.txt", files, train=path / "train.txt", resamples=200)
    document = study(folder, "north", predictions="{dataset}/predictions/{system}.1.txt")
    for name in ("labels", "errors", "fair", "slices", "buckets", "confusion", "comparisons"):
        assert document.table(name).rows == result.table(name).rows, name
    first, second = (
        text[text.index("\n Systems") : text.index("\n By attribute")]
        for text in (document.to_text(width=100, detail="full"), result.to_text(width=100, detail="full"))
    )
    assert first == second


def test_tables_of_runs_equal_those_of_an_evaluation_with_deviations(
    one_dataset: Study, two_datasets: Study
) -> None:
    by_name = one_dataset.tables()
    expected = {
        "attributes", "boundaries", "buckets", "comparisons", "composition", "confusion", "errors", "fair",
        "fair_labels", "labels", "relaxed", "slices",
    }  # fmt: skip
    assert expected <= set(by_name)
    shown = study_shown(one_dataset)[0]
    row = by_name["labels"].rows[0]
    label, _, *cells = row
    for system, cell in zip(by_name["labels"].header[2:], cells, strict=True):
        values = [run.exact.labels[str(label)].f1 for run in shown.runs[system].values()]
        over = spread(values)
        assert isinstance(cell, Number)
        assert (cell.value, cell.std) == (over.mean, over.std)
        assert cell.text == words.spread(over.mean, over.std)
    assert "std" in by_name["labels"].to_csv().splitlines()[0]
    assert {f"{name}/{dataset}" for name in expected for dataset in ("north", "south")} <= set(
        two_datasets.tables()
    )
    assert two_datasets.table("labels/south").caption.startswith("south: ")
    assert "labels" not in two_datasets.tables()


def test_figures_of_runs_have_the_names_of_an_evaluation(one_dataset: Study, two_datasets: Study) -> None:
    names = figures.names(one_dataset)
    assert {"score", "labels", "gains-large", "confusion-rules", "slices-small", "holistic"} <= set(names)
    assert {"labels/north", "labels/south", "gains-large/north"} <= set(figures.names(two_datasets))
    assert len(names) == len(set(names))


def test_flat_has_every_scalar_of_an_evaluation_as_mean_and_deviation(one_dataset: Study) -> None:
    run = one_dataset.datasets["north"].runs["large"]["1"]
    flat = one_dataset.flat()
    for name in ("precision", "fair/f1", "macro/f1", "gain/FN", "label/PER/recall", "tough/SEEN/recall"):
        assert {f"north/large/{name}/mean", f"north/large/{name}/std"} <= set(flat)
    assert flat["north/large/f1/mean"] == one_dataset.analyses.holistic["large"]["north"].mean
    assert flat["north/large/f1/std"] == one_dataset.analyses.holistic["large"]["north"].std
    assert run.exact.overall.f1 is not None


def test_a_model_card_of_runs_has_the_means(one_dataset: Study, two_datasets: Study) -> None:
    text = str(render(one_dataset, "model-index"))
    assert f"value: {one_dataset.analyses.holistic['large']['north'].mean!r}" in text
    assert text.count('- name: "large"') == 1
    assert str(render(two_datasets, "model-index")).count("  - task:") == 2 * len(SYSTEMS)


def test_a_summary_of_runs_has_errors_labels_and_findings(one_dataset: Study, two_datasets: Study) -> None:
    text = str(render(one_dataset, "summary"))
    assert "### Errors" in text and "<summary>labels</summary>" in text
    assert f"**{verdict(one_dataset).answer}**" in text
    assert "<summary>labels/south</summary>" in str(render(two_datasets, "summary"))


# ---- sentences: how many runs agree ------------------------------------------------------------------


def test_errors_of_runs_say_how_many_runs_make_them(one_dataset: Study) -> None:
    listed = listing(one_dataset, system="rules")
    assert listed and {error.total_runs for error in listed} == {3}
    counted = sum(len(error.runs) for error in listed)
    scored = one_dataset.datasets["north"].runs["rules"].values()
    kinds = ("LE", "BE", "LBE", "FN", "FP")
    assert counted == sum(run.fair.overall.count(kind) for run in scored for kind in kinds)
    everywhere, somewhere = (listing(one_dataset, system="rules", runs=which) for which in ("all", "some"))
    assert len(everywhere) + len(somewhere) == len(listed)
    assert everywhere and all(len(error.runs) == 3 for error in everywhere)
    text = to_text(listed)
    assert "(all 3 runs)" in text and "of 3 runs: " in text
    row = json.loads(to_jsonl(somewhere).splitlines()[0])
    assert row["of_runs"] == 3 and row["runs"] == list(somewhere[0].runs)
    assert to_csv(listed).startswith("runs,of_runs,system,outcome,")


def test_sentences_of_the_page_say_in_how_many_runs_a_mention_is_wrong(
    browser: Any, one_dataset: Study, tmp_path: Path
) -> None:
    path = tmp_path / "runs.html"
    one_dataset.to_html(path)
    (shown,) = study_shown(one_dataset)
    runs = [run_name("rules", run, shown.runs["rules"]) for run in shown.runs["rules"]]
    wrong = [sum(mention.outcome[run] != "TP" for run in runs)
             for sentence in shown.sentences for mention in sentence.gold]  # fmt: skip
    opened = Opened(browser, path)
    for which, numbers in (("all", {3}), ("some", {1, 2})):
        filters = {"system": "rules", "unit": "gold", "outcome": "wrong", "runs": which}
        opened.page.evaluate("(asked) => window.spanwisePage.go(asked)", filters)
        until(opened.page, f"document.getElementById('by-runs').value === '{which}'")
        # The page lists errors of the run that represents the system.
        middle = shown.middle("rules")
        listed = [mention for sentence in shown.sentences for mention in sentence.gold]
        expected = sum(
            number in numbers and mention.outcome[middle] != "TP"
            for number, mention in zip(wrong, listed, strict=True)
        )
        until(opened.page, f"document.getElementById('summary').dataset.count === '{expected}'")
        parts = opened.page.evaluate(
            "[...document.querySelectorAll('.example .runs')].map((part) => part.textContent)"
        )
        assert parts and all(part.endswith("of 3 runs") for part in parts)
        assert all(("in 3 of 3" in part) == (which == "all") for part in parts)
    assert not opened.said


def test_a_study_opens_with_sentences_that_the_best_system_alone_gets_right(
    browser: Browser, two_datasets: Study, tmp_path: Path
) -> None:
    told = present(study_sentences(two_datasets))
    first, second = ranked_systems(two_datasets)[:2]
    assert told.title == f"{first} right, {second} wrong"
    assert {one.dataset for one in told.shown} == {"north", "south"} and len(told.shown) == 3
    for one in told.shown:
        said = {who: kind for who, _, kind in one.readings}
        assert said["gold"] == "gold" and said[first] == "right" and said[second] in ("wrong", "missed")
    path = tmp_path / "study.html"
    two_datasets.to_html(path)
    opened = Opened(browser, path, folded=True)
    assert opened.page.locator("#telling .told").count() == 3
    opened.page.locator("#telling .head a").click()
    opened.follows()
    assert opened.count() == told.number > 0
    assert opened.said == []
    opened.context.close()


def test_a_page_of_one_run_each_has_no_filter_of_runs(folder: Path) -> None:
    document = study(folder, "north", predictions="{dataset}/predictions/{system}.1.txt")
    assert 'id="by-runs"' not in document.to_html()


def test_errors_of_several_datasets_name_their_dataset(two_datasets: Study) -> None:
    listed = listing(two_datasets)
    assert {error.dataset for error in listed} == {"north", "south"}
    south = listing(two_datasets, dataset="south", system="large")
    assert south and {error.system for error in south} == {"large"}
    assert to_csv(listed).startswith("dataset,runs,of_runs,")
    assert "north: large: " in to_text(listed)
    with pytest.raises(ChoiceError, match="no dataset is called 'nort'"):
        listing(two_datasets, dataset="nort")
    with pytest.raises(ChoiceError, match="no choice of runs is called 'most'"):
        listing(two_datasets, runs="most")  # type: ignore[arg-type]


def test_runs_are_not_distinguished_if_there_is_one_of_each() -> None:
    gold, missed = [["B-PER", "O"]], [["O", "O"]]
    result = spanwise.evaluate(gold, {"mine": missed}, resamples=0)
    with pytest.raises(ChoiceError, match="runs is 'some', but every system has a single run here"):
        listing(result, runs="some")
    with pytest.raises(ChoiceError, match="the system 'mine' has a single run here"):
        listing(result, runs="all", system="mine")


def test_errors_of_runs_are_listed_by_the_command(
    one_dataset: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.json"
    one_dataset.to_json(path)
    assert main(["errors", str(path), "--system", "rules", "--runs", "all"]) == 0
    captured = capsys.readouterr()
    assert "(all 3 runs)" in captured.out and "of 3 runs:" not in captured.out
    assert "errors" in captured.err
