"""Running studies: reproducible bytes, cached cells, and checks before anything is computed."""

from __future__ import annotations

import json
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest
from study_files import MANIFEST, make, predicted, sentences, write
from typed import present

from spanwise import InputError, study
from spanwise.attributes import ATTRIBUTES, Mention, register
from spanwise.cli.main import main
from spanwise.document.scores import Comparison, ScoreTest
from spanwise.document.study import Study
from spanwise.table import PerformanceTable


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study")
    make(path)
    return path


@pytest.fixture(scope="module")
def document(folder: Path) -> Study:
    return study(folder / "study.toml", workers=1, cache=False)


def primary(comparison: Comparison) -> ScoreTest:
    """The test of overall F1."""
    return present(comparison.score(("exact", "overall", "f1")))


def test_the_number_of_processes_changes_no_byte(folder: Path, document: Study) -> None:
    assert study(folder / "study.toml", workers=3, cache=False).to_json() == document.to_json()


def test_the_order_and_the_name_of_the_manifest_change_no_byte(folder: Path, document: Study) -> None:
    head, *tables = MANIFEST.split("\n[")
    other = folder / "other.toml"
    other.write_text("\n[".join([head, *reversed(tables)]) + "\n")
    assert study(other, workers=1, cache=False).to_json() == document.to_json()


def test_cached_cells_change_no_byte_and_are_not_computed_again(
    folder: Path, document: Study, tmp_path: Path
) -> None:
    messages: list[str] = []
    assert study(folder / "study.toml", workers=2, cache=tmp_path).to_json() == document.to_json()
    assert (
        study(folder / "study.toml", cache=tmp_path, progress=messages.append).to_json() == document.to_json()
    )
    assert messages == ["6 of 6 cells are taken from the cache"]


def test_a_changed_file_recomputes_only_its_cell(tmp_path: Path) -> None:
    manifest = make(tmp_path, runs=("1",))
    study(manifest, workers=1, cache=tmp_path / "kept")
    write(tmp_path / "north" / "predictions" / "small.1.txt", predicted(sentences(60, 0), 0.2, 5))
    messages: list[str] = []
    study(manifest, workers=1, cache=tmp_path / "kept", progress=messages.append)
    assert messages[0] == "5 of 6 cells are taken from the cache"
    assert [text for text in messages if "1/1 north × small" in text]
    assert not [text for text in messages if "south: systems compared" in text]


def test_an_interrupted_study_resumes_where_it_stopped(tmp_path: Path) -> None:
    manifest = make(tmp_path, runs=("1",))

    class Interrupted(Exception):
        pass

    def interrupt(text: str) -> None:
        if text.startswith("3/6"):
            raise Interrupted

    with pytest.raises(Interrupted):
        study(manifest, workers=1, cache=tmp_path / "kept", progress=interrupt)
    messages: list[str] = []
    study(manifest, workers=1, cache=tmp_path / "kept", progress=messages.append)
    assert messages[0] == "3 of 6 cells are taken from the cache"


def test_moved_files_are_recognised(tmp_path: Path) -> None:
    first = make(tmp_path / "a", runs=("1",))
    study(first, workers=1, cache=tmp_path / "kept")
    second = make(tmp_path / "b", runs=("1",))
    messages: list[str] = []
    moved = study(second, workers=1, cache=tmp_path / "kept", progress=messages.append)
    assert messages == ["6 of 6 cells are taken from the cache"]
    assert moved.inputs[0].path == "north/test.txt"


def test_a_wrong_file_stops_the_study_before_anything_is_computed(tmp_path: Path) -> None:
    manifest = make(tmp_path)
    bad = tmp_path / "south" / "predictions" / "small.2.txt"
    lines = bad.read_text().splitlines(keepends=True)
    bad.write_text("".join([*lines[:4], *lines[6:]]))
    messages: list[str] = []
    with pytest.raises(InputError, match=r"small\.2\.txt:"):
        study(manifest, workers=2, cache=tmp_path / "kept", progress=messages.append)
    assert messages == []
    assert not (tmp_path / "kept").exists()


def test_several_wrong_files_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    manifest = make(tmp_path, runs=("1",))
    for dataset in ("south", "north"):
        (tmp_path / dataset / "predictions" / "rules.1.txt").write_text("a O\n")
    with pytest.raises(InputError) as error:
        study(manifest, workers=2, cache=False)
    assert "north/predictions/rules.1.txt" in str(error.value)
    assert "There are files that cannot be used in 1 more cell." in str(error.value)


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ('"fu20"', '["eLen", "entity_lenght"]', "study.toml:2: no attribute is called 'entity_lenght'."),
        ("resamples = 50", 'buckets = {sentence_length = "balancd:3"}', "no bucketing is called 'balancd'"),
        ("resamples = 50", 'buckets = {sentence_lenth = "1"}', "no attribute is called 'sentence_lenth'"),
    ],
)
def test_an_unknown_name_is_reported_with_its_position(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    manifest = make(tmp_path, runs=("1",))
    manifest.write_text(MANIFEST.replace(old, new))
    with pytest.raises(InputError) as error:
        study(manifest, cache=False)
    assert expected in str(error.value)


def test_missing_and_identical_runs_are_reported_and_shown(tmp_path: Path) -> None:
    manifest = make(tmp_path)
    folder = tmp_path / "north" / "predictions"
    (folder / "small.2.txt").unlink()
    (folder / "rules.3.txt").write_bytes((folder / "rules.1.txt").read_bytes())
    messages: list[str] = []
    document = study(manifest, workers=1, cache=False, progress=messages.append)
    assert messages[0] == "missing: north × small, run 2"
    assert messages[1] == "north × rules: run 3 is the same file as run 1 and is not counted again"
    cell = document.analyses.holistic["small"]["north"]
    assert cell.runs == 2 and cell.missing == ("2",)
    assert list(document.datasets["north"].runs["rules"]) == ["1", "2"]
    assert present(document.plan).identical[0]["same_as"] == "1"


def test_repeated_systems_are_never_independent_runs(tmp_path: Path) -> None:
    manifest = make(tmp_path)
    for dataset in ("north", "south"):
        for run in ("2", "3"):
            folder = tmp_path / dataset / "predictions"
            (folder / f"rules.{run}.txt").write_bytes((folder / "rules.1.txt").read_bytes())
    document = study(manifest, workers=1, cache=False)
    cell = document.analyses.holistic["rules"]["north"]
    assert cell.runs == 1 and cell.std is None
    comparative = document.analyses.bucket_wise.comparative
    tested = [present(row.overall) for row in comparative if "rules" in row.systems]
    assert all(test.blocks == ("north 1", "south 1") for test in tested)
    assert all("cannot reach p < 0.05: on 2 pairs" in present(test.note) for test in tested)


def test_every_cell_has_a_mean_a_spread_and_a_data_interval(document: Study) -> None:
    for row in document.analyses.holistic.values():
        for cell in row.values():
            low, high = map(present, present(cell.ends("mean")))
            assert low < present(cell.mean) < high
            assert present(cell.std) > 0 and cell.runs == 3


def test_letters_name_the_systems_that_are_beaten(document: Study) -> None:
    holistic = document.analyses.holistic
    assert [holistic[system]["north"].letter for system in ("large", "small", "rules")] == ["a", "b", "c"]
    # large against small: p = .026, the fourth of six tests; Holm makes it .078.
    assert document.analyses.letters["north"] == {"large": "c", "small": "c", "rules": ""}


def test_comparisons_use_means_over_runs_and_count_gold_mentions_once(document: Study) -> None:
    north = document.datasets["north"]
    assert [row.systems for row in north.comparisons] == [
        ("large", "rules"),
        ("large", "small"),
        ("rules", "small"),
    ]
    row = primary(north.comparisons[0])
    assert row.mentions == present(north.dataset).mentions
    runs = [present(run.exact.overall.f1) for run in north.runs["large"].values()]
    assert row.a == pytest.approx(sum(runs) / len(runs))


def test_the_test_over_runs_is_a_t_test_of_means_with_both_variances(document: Study) -> None:
    for row in document.datasets["north"].comparisons:
        assert row.test == "t-test over runs" and row.runs == (3, 3)
        test = primary(row)
        assert test.role == "primary" and test.significant == (present(test.p_corrected) < 0.05)
        values = [
            [present(run.exact.overall.f1) for run in document["north"].runs[name].values()]
            for name in row.systems
        ]
        of_runs = sum(float(np.var(scores, ddof=1)) / len(scores) for scores in values)
        low, high = map(present, present(test.interval))
        assert (high - low) / 2 > 1.96 * of_runs**0.5
        assert (low + high) / 2 == pytest.approx(test.difference)


@pytest.mark.parametrize("name", ["north", "south"])
def test_all_other_scores_over_runs_are_one_family_under_holm(document: Study, name: str) -> None:
    comparisons = document.datasets[name].comparisons
    rows = [
        (row.p, row)
        for comparison in comparisons
        for row in comparison.scores
        if row.role == "secondary" and row.p is not None
    ]
    assert {comparison.tests for comparison in comparisons} == {len(rows)}
    least = 0.0
    for rank, (p, row) in enumerate(sorted(rows, key=itemgetter(0))):
        least = max(least, min(p * (len(rows) - rank), 1.0))
        assert row.p_corrected == pytest.approx(least)
        assert row.significant == (least < 0.05)


def test_a_note_says_how_a_manifest_names_larger_units(document: Study) -> None:
    assert (
        'or use blocks of sentences (unit = "block:20", else --unit block:20).' in present(document.notes)[0]
    )


def test_without_resamples_there_are_no_intervals_and_no_tests_over_units(tmp_path: Path) -> None:
    manifest = make(tmp_path, runs=("1",))
    manifest.write_text(MANIFEST.replace("resamples = 50", "resamples = 0"))
    document = study(manifest, workers=1, cache=False)
    assert document.analyses.holistic["large"]["north"].interval == {}
    row = document.datasets["north"].comparisons[0]
    assert all(score.p is None and score.interval is None for score in row.scores)
    assert set(document.analyses.letters["north"].values()) == {""}


def test_systems_with_different_numbers_of_runs_have_equal_weight(tmp_path: Path) -> None:
    manifest = make(tmp_path)
    folder = tmp_path / "north" / "predictions"
    for run in ("2", "3"):
        (folder / f"rules.{run}.txt").unlink()
    (folder / "small.3.txt").unlink()
    north = study(manifest, workers=1, cache=False).datasets["north"]
    row = next(row for row in north.comparisons if row.systems == ("large", "rules"))
    overall = primary(row)
    assert overall.b == pytest.approx(north.runs["rules"]["1"].exact.overall.f1)
    assert overall.mentions == present(north.dataset).mentions and overall.significant
    assert row.runs == (3, 1) and "randomisation" in present(row.test)


def test_the_performance_table_of_a_study_is_tidy(document: Study) -> None:
    table = PerformanceTable.of_document(document)
    rows = table.rows()
    assert {row["model"] for row in rows} == {"large", "small", "rules"}
    for system in ("large", "small", "rules"):
        part = table.where(dataset="north", model=system, run="2", attribute="entity_length")
        whole = table.where(dataset="north", model=system, run="2", attribute="", label="")
        assert part.counts.sum(axis=0).tolist() == whole.counts[0].tolist()
    assert table.to_csv().splitlines()[0].startswith("dataset,model,run,attribute,bucket,label,unit,gold")


def test_the_command_shows_tables_and_writes_the_requested_files(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = ["--json", str(tmp_path / "s.json"), "--csv", str(tmp_path / "t"), "--parquet"]
    options = [*written, str(tmp_path / "p.parquet"), "--cache", str(tmp_path / "kept"), "--workers", "2"]
    status = main(["study", str(folder / "study.toml"), *options])
    shown = capsys.readouterr()
    assert status == 0
    assert "large" in shown.out and "all files of 6 cells can be read" in shown.err
    assert json.loads((tmp_path / "s.json").read_text())["kind"] == "study"
    assert (tmp_path / "t" / "performance.csv").exists() and (tmp_path / "t" / "holistic.csv").exists()
    assert (tmp_path / "t" / "labels-north.csv").exists()  # names from the data are not used as paths
    import pyarrow.parquet

    assert pyarrow.parquet.read_table(tmp_path / "p.parquet").num_rows > 100


def test_the_command_writes_the_document_to_standard_output(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["study", str(folder / "study.toml"), "--json", "-", "--quiet", "--cache", str(tmp_path)]
    assert main(command) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["schema"] == 2 and shown.err == ""


@pytest.mark.parametrize(
    "more, status, expected",
    [
        (["--workers", "0"], 2, "--workers is 0, but must be 1 or more."),
        (["--cache", "x", "--no-cache"], 2, "--cache and --no-cache exclude each other."),
        (["--root", "/nowhere"], 3, "does not exist"),
    ],
)
def test_a_wrong_call_of_study_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str], more: list[str], status: int, expected: str
) -> None:
    assert main(["study", str(folder / "study.toml"), *more]) == status
    assert expected in capsys.readouterr().err


def test_an_attribute_added_in_python_is_never_cached(tmp_path: Path) -> None:
    manifest = make(tmp_path, runs=("1",))

    def letters_of_mention(mention: Mention) -> int:
        return len(mention.text)

    register(letters_of_mention, summary="characters of a mention")
    try:
        manifest.write_text(MANIFEST.replace('"fu20"', '["letters_of_mention"]'))
        study(manifest, workers=1, cache=tmp_path / "kept")
    finally:
        ATTRIBUTES.remove("letters_of_mention")
    assert not (tmp_path / "kept").exists()


# ---- real data ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def masakhaner(data: Path) -> Study:
    example = Path(__file__).parents[2] / "examples" / "masakhaner.toml"
    return study(example, root=data / "masakhaner", workers=2, cache=False)


def tags(path: Path) -> list[list[str]]:
    result: list[list[str]] = []
    now: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            now.append(line.split()[-1])
        elif now:
            result.append(now)
            now = []
    return [*result, now] if now else result


def test_all_36_scores_agree_with_seqeval(masakhaner: Study, data: Path) -> None:
    from seqeval.metrics import f1_score

    seen = 0
    for dataset, part in masakhaner.datasets.items():
        gold = tags(data / "masakhaner" / dataset / "test.txt")
        for system, runs in part.runs.items():
            for run, scored in runs.items():
                file = data / "masakhaner" / dataset / "predictions" / f"{system}.{run}.txt"
                expected = f1_score(gold, tags(file))
                assert scored.exact.overall.f1 == pytest.approx(expected, abs=1e-12)
                seen += 1
    assert seen == 36


def test_the_example_has_every_analysis(masakhaner: Study) -> None:
    analyses = masakhaner.analyses
    assert set(analyses.holistic) == {"afroxlmr", "mbert", "mdeberta", "rembert"}
    assert [point.system for point in present(analyses.factors["parameters"].line)] == [
        "mbert",
        "mdeberta",
        "rembert",
    ]
    assert len(analyses.model_wise["mbert"]) == 8
    assert analyses.bucket_wise.rank_flips and analyses.tough["mbert"]["kin"]["SEEN"].runs == 3
    json.dumps(masakhaner.to_dict(), allow_nan=False)
