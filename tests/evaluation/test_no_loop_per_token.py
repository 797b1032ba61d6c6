"""No line of spanwise runs once per token: four times the text hardly runs more lines."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import spanwise
from spanwise.demo import generate

HOME = str(Path(spanwise.__file__).parent)
# Lines that run once for a new word, an ambiguous mention or a chunk of a file are far fewer than tokens.
MOST = 1 / 10


def lines_run(work: Callable[[], Any]) -> Counter[str]:
    """How often each line of spanwise runs, loops in comprehensions and generators included."""
    counted: Counter[str] = Counter()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(HOME):
            return None
        counted[f"{frame.f_code.co_filename}:{frame.f_lineno}"] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return counted


@pytest.fixture(scope="module", params=["words of the demo", "words of their own"])
def corpora(request, tmp_path_factory):
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


def read_and_evaluate(files: tuple[Path, ...], **options: Any) -> Any:
    gold, first, second, train = files
    return spanwise.evaluate(
        gold, {"first": first, "second": second}, train=train, resamples=20, examples="none", **options
    )


@pytest.mark.parametrize("unit", ["document", "sentence"])
def test_reading_and_evaluating_runs_no_line_once_per_token(corpora, unit):
    (small, few), (large, many) = corpora
    read_and_evaluate(small, unit=unit)  # what is imported or kept at the first call is not counted
    before = lines_run(lambda: read_and_evaluate(small, unit=unit))
    after = lines_run(lambda: read_and_evaluate(large, unit=unit))
    grown = {line: (after[line] - before[line]) / (many - few) for line in after}
    worst = max(grown, key=grown.__getitem__)
    assert grown[worst] < MOST, f"{worst} runs {grown[worst]:.3f} times for every token"
    assert sum(grown.values()) < 3 * MOST


def test_the_count_of_lines_sees_a_loop_of_any_kind():
    words = ["a"] * 1000

    def plain() -> list[str]:
        return spanwise.corpus.Corpus.of([words]).words(0)  # loops once per token, over lists, on purpose

    assert max(lines_run(plain).values()) >= 1000
