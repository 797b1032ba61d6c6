"""The plugin for pytest: a missed threshold fails a test and shows what was broken."""

from __future__ import annotations

import json
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import spanwise
from spanwise.demo import generate

pytest_plugins = ["pytester"]

NAMED = any(entry.value == "spanwise.compat.pytest" for entry in entry_points(group="pytest11"))
# Where the package was installed before the plugin existed, it is loaded by its module.
LOADED = [] if NAMED else ["-p", "spanwise.compat.pytest"]
TESTS = """
    def test_good_enough(spanwise_gate):
        result = spanwise_gate("gold.conll", {"mine": "swapper.conll"}, fail_under=70, resamples=0)
        assert result["mine"].exact.overall.f1 > 0.7


    def test_not_good_enough(spanwise_gate):
        spanwise_gate("gold.conll", {"mine": "memoriser.conll"}, floors={"PER": 99}, resamples=0)


    def test_worse_than_before(spanwise_gate):
        spanwise_gate(
            "gold.conll", {"mine": "empty.conll"}, train="train.conll", against="last.json", fail_drop=1
        )
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small demo corpus with the result of an earlier release, and a system that predicts nothing."""
    folder = tmp_path_factory.mktemp("demo")
    demo = generate(folder, sentences=120)
    lines = demo.gold.read_text(encoding="utf-8").splitlines()
    rows = [f"{line.split()[0]} O" if line and not line.startswith("-DOCSTART-") else line for line in lines]
    (folder / "empty.conll").write_text("\n".join(rows) + "\n", encoding="utf-8")
    result = spanwise.evaluate(demo.gold, {"mine": demo.systems["swapper"]}, train=demo.train)
    result.to_json(folder / "last.json")
    return folder


def test_a_missed_threshold_fails_a_test_with_verdict_and_mentions_and_leaves_a_report(
    pytester: pytest.Pytester, corpus: Path
) -> None:
    for path in corpus.iterdir():
        (pytester.path / path.name).write_bytes(path.read_bytes())
    pytester.makepyfile(test_scores=TESTS)
    run = pytester.runpytest_subprocess(*LOADED, "--spanwise-report", "report")
    run.assert_outcomes(passed=1, failed=2)
    text = run.stdout.str()
    assert "mine: PER is " in text and "which is below 99." in text
    run.stdout.fnmatch_lines(["*the first 5 of * mentions that were not wrong in the earlier result"])
    last = text.partition("not wrong in the earlier result")[2].partition("short test summary")[0]
    assert last.count("^ gold ") == 5
    assert "compat/pytest.py" not in last  # the plugin's own lines tell a user nothing
    names = sorted(path.name for path in (pytester.path / "report").iterdir())
    tests = ("good_enough", "not_good_enough", "worse_than_before")
    assert names == sorted(f"test_scores.py-test_{test}.{end}" for test in tests for end in ("html", "json"))
    document = json.loads((pytester.path / "report" / "test_scores.py-test_good_enough.json").read_text())
    assert list(document["systems"]) == ["mine"]


def test_the_plugin_imports_nothing_of_spanwise_until_a_gate_is_used(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing(request):
            assert {n for n in sys.modules if n.startswith("spanwise.")} <= {
                "spanwise.compat", "spanwise.compat.pytest"
            }
            assert "numpy" not in sys.modules
        """
    )
    pytester.runpytest_subprocess(*LOADED).assert_outcomes(passed=1)
