"""No line of spanwise runs once per token: four times the text hardly runs more lines."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import pytest
from line_counts import lines_run

import spanwise
from spanwise.corpus import Corpus
from spanwise.demo import generate
from spanwise.evaluation import Result

HOME = str(Path(spanwise.__file__).parent)
# Lines that run once for a new word, an ambiguous mention or a chunk of a file are far fewer than tokens.
MOST = 1 / 10

Files: TypeAlias = tuple[Path, Path, Path, Path]  # gold, two systems, training data


@pytest.fixture(scope="module", params=["words of the demo", "words of their own"])
def corpora(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[Files, int]]:
    """A corpus and one four times as large, with files of both sizes, and their numbers of tokens."""
    made = []
    for sentences in (500, 2000):
        folder = tmp_path_factory.mktemp("corpus")
        demo = generate(folder, sentences=sentences)
        if request.param == "words of their own":
            _vary([demo.gold, *demo.systems.values()])
            _vary([demo.train])
        files = (demo.gold, demo.systems["shortsighted"], demo.systems["memoriser"], demo.train)
        made.append((files, sum(_tokens(path) for path in files)))
    return made


def _vary(paths: list[Path]) -> None:
    """Every tenth word that the first file has outside mentions becomes another one, in all files."""
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
    read_and_evaluate(small, unit)  # what is imported or kept at the first call is not counted
    before = lines_run(lambda: read_and_evaluate(small, unit), within=HOME)
    after = lines_run(lambda: read_and_evaluate(large, unit), within=HOME)
    grown = {line: (after[line] - before[line]) / (many - few) for line in after}
    worst = max(grown, key=grown.__getitem__)
    assert grown[worst] < MOST, f"{worst} runs {grown[worst]:.3f} times for every token"
    assert sum(grown.values()) < 3 * MOST


def test_the_count_of_lines_sees_a_loop_of_any_kind() -> None:
    words = ["a"] * 1000

    def plain() -> list[str]:
        return Corpus.of([words]).words(0)  # loops once per token, over lists, on purpose

    assert max(lines_run(plain, within=HOME).values()) >= 1000
