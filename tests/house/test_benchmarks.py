"""The benchmarks run on tiny corpora and write their results; timings are not checked here."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import calibration  # noqa: E402
from benchmarks.__main__ import SECTIONS, main  # noqa: E402
from benchmarks.beside import PAIRS  # noqa: E402
from benchmarks.calibration import SIZES  # noqa: E402
from benchmarks.calibration import judged as calibration_judged  # noqa: E402
from benchmarks.data import Described, make  # noqa: E402
from benchmarks.experiments import experiments  # noqa: E402
from benchmarks.goals import GOALS, Goal, judged  # noqa: E402
from benchmarks.measuring import Bench, Failed, Job  # noqa: E402
from benchmarks.tables import markdown, written  # noqa: E402
from benchmarks.work import WORK, timed  # noqa: E402

from spanwise import read  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which corpora and compiled modules are kept between runs."""
    return tmp_path_factory.mktemp("corpora")


@pytest.fixture(scope="module")
def corpus(folder: Path) -> Described:
    return make(folder, "1k")


def test_a_corpus_has_about_as_many_tokens_as_its_name_says_and_is_made_once(tmp_path: Path) -> None:
    first = make(tmp_path, "1k")
    assert first["tokens"] == pytest.approx(1000, rel=0.1)
    changed = Path(first["files"]["gold"])
    changed.write_text("kept\n", encoding="utf-8")
    assert make(tmp_path, "1k") == first and changed.read_text(encoding="utf-8") == "kept\n"


def test_natural_words_occur_outside_mentions_and_are_the_same_for_all_systems(tmp_path: Path) -> None:
    plain, natural = make(tmp_path, "1k"), make(tmp_path, "1k-natural")
    assert natural["words"] > plain["words"]
    gold, system = (read(natural["files"][name]) for name in ("gold", "memoriser"))
    assert [gold.corpus.words(i) for i in range(len(gold.corpus))] == [
        system.corpus.words(i) for i in range(len(system.corpus))
    ]
    assert gold.mentions.rows() == read(plain["files"]["gold"]).mentions.rows()


@pytest.mark.parametrize("peer", PAIRS)
def test_peers_and_their_counterparts_compute_the_same_f1(peer: str, corpus: Described) -> None:
    theirs, ours = PAIRS[peer]
    pytest.importorskip(theirs.split()[0])
    files = corpus["files"]["gold"], corpus["files"]["memoriser"]
    assert WORK[theirs](*files)() == pytest.approx(WORK[ours](*files)(), abs=6e-5)


def test_the_fast_and_the_plain_matching_find_as_many_events(corpus: Described) -> None:
    files = corpus["files"]["gold"], corpus["files"]["shortsighted"]
    assert WORK["match"](*files)() == WORK["plain match"](*files)()


def test_span_files_are_made_of_flat_chunks_or_of_nested_fields(tmp_path: Path) -> None:
    for name, nested in (("chunks-1k", False), ("fields-1k", True)):
        corpus = make(tmp_path, name)
        gold, predicted = (read(corpus["files"][side]).mentions for side in ("gold", "predicted"))
        assert len(gold) == corpus["mentions"] == pytest.approx(1000, abs=60)
        assert len(predicted) == pytest.approx(1000, abs=100)
        spans = {(sentence, start, end) for sentence, start, end, _ in gold.rows()}
        others = [
            (first, second)
            for first in spans
            for second in spans
            if first != second and first[0] == second[0]
        ]
        assert any(b[1] <= a[1] and a[2] <= b[2] for a, b in others) == nested


# A stand-in with the functions of the original program, based on the plain matching of the tests.
PROGRAM = """
from collections import Counter, defaultdict
from matching_oracle import events_of

def get_sentences(path):
    for text in open(path).read().split("\\n\\n")[:-1]:
        yield text.split("\\n")

def get_spans(lines, *, exclude, **config):
    rows = [line.split("\\t") for line in lines]
    return [[label, int(first), int(last), set()] for label, first, last, _ in rows if label not in exclude]

def compare_spans(target, system, focus):
    sides = [[(first - 1, last, label) for label, first, last, _ in side] for side in (target, system)]
    counts, pairs = Counter({name: 0 for name in NAMES}), defaultdict(Counter)
    for first, second, outcome, _ in events_of(*sides):
        counts[outcome.upper()] += 1
        if outcome != "TP":
            row = sides[0][first][2] if first >= 0 else "_"
            pairs[row][sides[1][second][2] if second >= 0 else "_"] += 1
    return {"overall": {"fair": counts}, "conf": pairs}

def add_dict(base, other):
    base.setdefault("overall", {}).setdefault("fair", Counter()).update(other["overall"]["fair"])

def annotation_stats(target, **config): pass
def calculate_results(found, **config): return found
NAMES = "TP LE BES BEL BEO LBE FN FP".split()
"""


def run_beside(program: str, folder: Path, tmp_path: Path) -> str:
    (tmp_path / "FairEval.py").write_text(program, encoding="utf-8")
    shutil.copy(ROOT / "tests" / "support" / "matching_oracle.py", tmp_path)
    out = tmp_path / "out"
    options = ["--fair", str(tmp_path), "--folder", str(folder), "--out", str(out)]
    assert main(["--quick", "--only", "fair", *options]) == 0
    return (out / "results.md").read_text(encoding="utf-8")


def test_the_program_of_the_paper_is_measured_if_its_folder_is_given(folder: Path, tmp_path: Path) -> None:
    text = run_beside(PROGRAM, folder, tmp_path)
    for name in ("chunks-1k", "fields-1k"):
        for work in ("matching", "span files to tables", "… the format recognised"):
            assert f"| {name} | {work} | " in text
    assert "beside that program | ≥ 25 × |  |" not in text


def test_a_program_that_counts_differently_is_an_error(folder: Path, tmp_path: Path) -> None:
    wrong = PROGRAM.replace("counts[outcome.upper()] += 1", 'counts["FN"] += 1')
    with pytest.raises(AssertionError, match=r"chunks-1k: \d+ sentences are counted differently"):
        run_beside(wrong, folder, tmp_path)


def test_a_folder_without_the_program_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--quick", "--only", "fair", "--fair", str(tmp_path)])
    assert f"--fair: there is no FairEval.py in {tmp_path}" in capsys.readouterr().err


def test_without_the_program_there_is_nothing_to_compare_with(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["--quick", "--only", "fair", "--folder", str(folder), "--out", str(out)]) == 0
    text = (out / "results.md").read_text(encoding="utf-8")
    assert "beside that program | ≥ 25 × |  | not measured in this run |" in text


def test_every_stage_is_timed(corpus: Described) -> None:
    names = ("gold", "shortsighted", "memoriser", "train")
    answer = timed(WORK["stages"](*(corpus["files"][name] for name in names)))
    assert set(answer["seconds"]) == {"read", "decode", "match", "attributes", "count", "resample"}
    assert answer["wall"] > 0 and answer["cpu"] >= 0


def test_a_process_is_measured_from_outside_and_one_that_fails_says_why(tmp_path: Path) -> None:
    bench = Bench(tmp_path, rounds=2)
    measured = bench.best({"small": Job((sys.executable, "-c", "print(1)"))})["small"]
    assert measured.wall > 0 and measured.peak > 1_000_000
    with pytest.raises(Failed, match="no such luck"):
        bench.run(Job((sys.executable, "-c", "raise SystemExit('no such luck')")))


def test_a_run_writes_json_markdown_and_a_chart(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sections = ("reading", "matching", "growth")
    chosen = [word for name in sections for word in ("--only", name)]
    assert main(["--quick", "--folder", str(folder), "--out", str(out), *chosen]) == 0
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert [section["name"] for section in results["sections"]] == list(sections)
    assert str(folder) not in results["command"] and str(tmp_path) not in results["command"]
    assert results["versions"]["spanwise"] != "not installed"
    text = (out / "results.md").read_text(encoding="utf-8")
    assert "## Goals" in text and "## Fair matching" in text
    assert (out / "growth.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_goal_is_met_missed_with_its_distance_and_reason_or_not_measured() -> None:
    goal = Goal("reading", "rate", 150, "MB/s", least=True, reason="the disk is slow")
    assert goal.row({"rate": 200})["verdict"] == "met"
    assert goal.row({"rate": 75})["verdict"] == "missed by a factor of 2.00: the disk is slow"
    assert goal.row({})["verdict"] == "not measured in this run"
    assert Goal("start", "wall", 0.04, "wall").row({"wall": 0.03}) == {
        "work": "start",
        "goal": "≤ 40 ms",
        "measured": "30 ms",
        "verdict": "met",
    }
    assert len(judged({})) == len(GOALS)


def test_values_are_written_by_their_columns() -> None:
    assert written("CPU", 0.0042) == "4.2 ms" and written("CPU", 2.5) == "2.50 s"
    assert written("peak", 98e6) == "98 MB" and written("times ours", 52.3) == "52 ×"
    assert written("work", "anything") == "anything" and written("CPU", None) == ""
    table = {"title": "T", "note": "", "columns": ["work", "CPU"], "rows": [{"work": "x", "CPU": 1.0}]}
    assert markdown(table).splitlines()[-1] == "| x | 1.00 s |"


def test_every_section_can_be_selected_by_name() -> None:
    assert {"startup", "large", "growth", "lists", "files", "study"} <= set(SECTIONS)


def test_no_two_experiments_of_the_calibration_have_the_same_name() -> None:
    """Results are kept by name: of two with the same name, one would never be run."""
    names = [experiment.key for experiment in experiments()]
    assert len(names) > 100 and len(set(names)) == len(names)


def test_every_experiment_of_the_calibration_has_so_many_trials_that_a_size_of_nine_percent_fails() -> None:
    for experiment in experiments():
        assert experiment.trials >= 300, experiment.key
        target = experiment.asked("a letter")
        if target in SIZES:
            letters = experiment.trials * experiment.options.get("datasets", 1)
            nine = round(0.09 * letters)
            assert calibration_judged(target, nine, letters, 0) == "missed", experiment.key


def test_a_share_fails_two_standard_errors_beyond_its_target() -> None:
    assert calibration_judged("size", 30, 400, 0) == ""  # 7.5 − 2.6 %
    assert calibration_judged("size", 32, 400, 0) == "missed"  # 8 − 2.7 %
    assert calibration_judged("size of runs", 34, 400, 0) == ""  # 8.5 − 2.8 %
    assert calibration_judged("size of runs", 36, 400, 0) == "missed"  # 9 − 2.9 %
    assert calibration_judged("coverage", 366, 400, 0) == ""  # 91.5 + 2.8 %
    assert calibration_judged("coverage", 359, 400, 0) == "missed"  # 89.75 + 3.03 %
    assert calibration_judged("never", 1, 400, 0) == "missed"
    assert calibration_judged("reported", 400, 400, 0) == ""


def test_what_misses_its_target_is_repeated_once_on_fresh_draws(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[tuple[list[str], int]] = []
    first, second = list(experiments())[-2:]

    def made(planned: dict[str, int], workers: int, offset: int) -> list[tuple[str, dict[str, object]]]:
        ran.append((list(planned), offset))
        wrong = {first.key: 100, second.key: 0}
        return [
            (
                key,
                {
                    "trials": trials,
                    "seed": 0,
                    "seconds": 0.0,
                    "shares": {"a letter": [wrong[key], trials, 0]},
                },
            )
            for key, trials in planned.items()
        ]

    both = [one._replace(asked=lambda what: "size") for one in (first, second)]
    monkeypatch.setattr(calibration, "experiments", lambda: both)
    monkeypatch.setattr(calibration, "_by_key", lambda: {one.key: one for one in both})
    monkeypatch.setattr(calibration, "_run", made)
    kept = calibration.run(1.0, 1, "", tmp_path / "out.json")
    assert ran == [([first.key, second.key], 0), ([first.key], calibration.AGAIN)]
    assert "again" in kept[first.key] and "again" not in kept[second.key]
