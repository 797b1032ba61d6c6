"""The differences between the systems of a study: on each dataset, over datasets, over data and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec import UnsetType

from spanwise.document.scores import ScoreTest
from spanwise.document.study import DatasetRuns, PairDiagnosis
from spanwise.reports import _wording as say
from spanwise.reports.terminal._layout import (
    Cell,
    Column,
    Line,
    and_more,
    flow,
    grid,
    heading,
    sentence,
    text,
)

MOST_PAIRS = 15


def differences(
    datasets: Mapping[str, DatasetRuns], pairs: Sequence[PairDiagnosis], score: str, width: int
) -> list[Line]:
    """Every pair: the difference on each dataset with its paired test, and over all of them."""
    several = len(datasets) > 1
    tests: dict[tuple[str, str], dict[str, ScoreTest]] = {}
    for dataset, part in datasets.items():
        for comparison in part.comparisons:
            test = comparison.primary
            if test is not None:
                tests.setdefault(comparison.systems, {})[dataset] = test
    diagnosed = {pair.systems: pair for pair in pairs}
    shown = list(datasets)[: max(1, (width - 40) // 9)]
    keys = list(dict.fromkeys([*diagnosed, *tests]))
    rows: list[list[Cell]] = []
    for key in keys[:MOST_PAIRS]:
        names = [*text(key[0]), (" − ", "faint"), *text(key[1])]
        each: list[Cell] = [_marked(tests.get(key, {}).get(name)) for name in shown]
        whole = _over_all(diagnosed.get(key))
        rows.append([names, *each, *(whole if several else whole[-1:])])
    if not rows:
        return []
    blocks = [pair.over_datasets for pair in pairs if pair.over_datasets]
    columns = [
        Column("pair", least=14),
        *(Column(say.visible(name), right=True, least=6) for name in shown),
        *(
            Column(title, right=True, rank=rank)
            for title, rank in (("mean", 0), ("p", 1), ("holds on", 2))
            if several
        ),
        Column("fu20-wilcoxon", right=True, rank=3),
    ]
    over = "datasets, all runs" if several else "all runs"
    notes = list(dict.fromkeys(test.note for test in blocks if test.note and several))
    return [
        *heading("Differences", f"{score} · mean over {over} · * significant", width),
        *grid(columns, rows, width),
        *and_more(len(keys) - MOST_PAIRS, width),
        *_cut(shown, datasets, width),
        *sentence(
            ("p: Wilcoxon over datasets, corrected · " if several else "")
            + "fu20-wilcoxon: uncorrected, over datasets × runs; runs on one test set are not independent",
            width,
            style="faint",
        ),
        *(
            line
            for note in notes
            for line in sentence(f"Wilcoxon over datasets: {note}", width, style="faint")
        ),
        *_over_both(datasets, shown, width),
    ]


def _over_all(pair: PairDiagnosis | None) -> list[Cell]:
    """The mean difference over datasets with its test, on how many it holds by itself, and Fu20's p."""
    if pair is None or not pair.overall:
        return ["", "", "", ""]
    test = pair.over_datasets
    # Of an older document the mean over the pairs of runs.
    whole = test or pair.overall
    p = known(test.p_corrected) if test and test.datasets > 1 else None
    return [
        [(say.signed(known(whole.difference)), "strong")],
        [(say.p_value(p), ""), ("*" if test and test.significant else " ", "good")] if p is not None else "",
        f"{say.count(known(test.holds))} of {say.count(test.datasets)}" if test else "",
        [(say.p_value(pair.overall.p), "faint")],
    ]


def _over_both(datasets: Mapping[str, DatasetRuns], shown: Sequence[str], width: int) -> list[Line]:
    """The differences when data and runs are both drawn anew, where systems have several runs."""
    rows: list[list[Cell]] = []
    for dataset in shown:
        for comparison in datasets[dataset].comparisons:
            test = comparison.primary
            if test is None or test.interval is None or min(comparison.runs or (0,)) < 2:
                continue
            rows.append(
                [
                    " − ".join(say.visible(name) for name in comparison.systems),
                    say.visible(dataset),
                    say.signed_interval(test.interval),
                    say.p_value(test.p_corrected),
                    [("*" if test.significant else " ", "good")],
                ]
            )
    if not rows:
        return []
    columns = [
        Column("pair", least=14),
        Column("dataset", least=6),
        Column("95% CI"),
        Column("p", right=True),
        Column(""),
    ]
    about = "t-test over runs and units · p corrected over pairs · * significant"
    return [
        *heading("Over data and runs at once", about, width),
        *grid(columns, rows[:MOST_PAIRS], width),
        *and_more(len(rows) - MOST_PAIRS, width),
    ]


def _cut(shown: Sequence[str], datasets: Mapping[str, DatasetRuns], width: int) -> list[Line]:
    if len(shown) == len(datasets):
        return []
    words = f"the first {len(shown)} of {len(datasets)} datasets; all are in the JSON"
    return flow([[(words, "faint")]], width, indent=2)


def _marked(test: ScoreTest | None) -> Line:
    if test is None:
        return []
    return [(say.signed(test.difference), "strong"), ("*" if test.significant else " ", "good")]


T = TypeVar("T")


def known(value: T | UnsetType) -> T | None:
    """A value of the document, None where it was not set."""
    return None if isinstance(value, UnsetType) else value
