"""No line of spanwise runs once per token: four times as much text runs hardly more lines."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import pytest
from line_counts import lines_run

import spanwise
from spanwise import Result
from spanwise.corpus import Corpus
from spanwise.demo import generate

HOME = str(Path(spanwise.__file__).parent)
# Lines that run once per new word, ambiguous mention or chunk of a file run far less often than per token.
MOST = 1 / 10

Files: TypeAlias = tuple[Path, Path, Path, Path]  # gold, two systems, training data


@pytest.fixture(scope="module", params=["words of the demo", "words of their own"])
def corpora(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[Files, int]]:
    """The files of a corpus and of one four times as large, each with its number of tokens."""
    sizes = []
    for sentences in (500, 2000):
        folder = tmp_path_factory.mktemp("corpus")
        demo = generate(folder, sentences=sentences)
        if request.param == "words of their own":
            _vary([demo.gold, *demo.systems.values()])
            _vary([demo.train])
        files = (demo.gold, demo.systems["shortsighted"], demo.systems["memoriser"], demo.train)
        sizes.append((files, sum(_tokens(path) for path in files)))
    return sizes


def _vary(paths: list[Path]) -> None:
    """Replace every tenth word outside mentions of the first file by another one, in all files."""
    lines = paths[0].read_text(encoding="utf-8").split("\n")
    outside = [i for i, line in enumerate(lines) if line.endswith(" O") and not line.startswith("-")][::10]
    for path in paths:
        lines = path.read_text(encoding="utf-8").split("\n")
        for number in outside:
            lines[number] = f"{number // 20} {lines[number].split()[1]}"
        path.write_text("\n".join(lines), encoding="utf-8")


def _tokens(path: Path) -> int:
    lines = path.read_text(encoding="utf-8").split("\n")
    return sum(1 for line in lines if line and not line.startswith("-DOCSTART-"))


def read_and_evaluate(files: Files, unit: str) -> Result:
    gold, first, second, train = files
    return spanwise.evaluate(
        gold, {"first": first, "second": second}, train=train, resamples=20, examples="none", unit=unit
    )


@pytest.mark.parametrize("unit", ["document", "sentence"])
def test_reading_and_evaluating_runs_no_line_once_per_token(
    corpora: list[tuple[Files, int]], unit: str
) -> None:
    (small, few), (large, many) = corpora
    read_and_evaluate(small, unit)  # do not count imports and caching on the first call
    before = lines_run(lambda: read_and_evaluate(small, unit), within=HOME)
    after = lines_run(lambda: read_and_evaluate(large, unit), within=HOME)
    grown = {line: (after[line] - before[line]) / (many - few) for line in after}
    worst = max(grown, key=grown.__getitem__)
    assert grown[worst] < MOST, f"{worst} runs {grown[worst]:.3f} times for every token"
    # How often the tests shuffle depends on how close p-values are to their level, not on tokens.
    shuffling = ("families.py", "uncertainty.py")
    grown = {line: share for line, share in grown.items() if not any(room in line for room in shuffling)}
    listed = sorted(grown, key=grown.__getitem__)[-8:]
    assert sum(grown.values()) < 3 * MOST, [(line, round(grown[line], 3)) for line in listed]


def test_counting_lines_detects_loops_of_any_kind() -> None:
    words = ["a"] * 1000

    def plain() -> list[str]:
        return Corpus.of([words]).words(0)  # loops once per token, over lists, on purpose

    assert max(lines_run(plain, within=HOME).values()) >= 1000
