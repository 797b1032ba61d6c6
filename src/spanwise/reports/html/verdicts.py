"""What a study says in sentences: who leads on each dataset and over all, and whether that is chance."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, Struct

from spanwise.diagnosis import mean_of, or_nan
from spanwise.document.scores import ScoreTest
from spanwise.document.study import DatasetTest, Study
from spanwise.reports import _wording as words
from spanwise.reports._document import score_path


class DatasetVerdict(Struct, frozen=True):
    """The leader on one dataset, the runner-up, and what the paired test says of the lead."""

    dataset: str
    leader: str
    score: float
    second: str | None = None
    lead: float | None = None
    p: float | None = None
    tested: bool = False
    significant: bool = False

    @property
    def said(self) -> str:
        """Whether the lead is beyond chance, in words."""
        if self.second is None:
            return ""
        if not self.tested:
            return "not tested"
        p = words.p_value(self.p)
        p = f"p {p}" if p.startswith("<") else f"p = {p}"
        return f"significant, {p}" if self.significant else f"can be chance, {p}"


class OverallVerdict(Struct, frozen=True):
    """The leader by the mean over datasets, and what is said of it."""

    leader: str
    said: str


def averages(study: Study) -> dict[str, float | None]:
    """The mean over datasets of each system's mean F1, for systems that have a score on all of them."""
    return {
        name: mean.mean if mean.used == len(study.datasets) else None
        for name, row in study.analyses.holistic.items()
        for mean in [mean_of(or_nan(cell.mean) for cell in row.values())]
    }


def verdicts(study: Study) -> list[DatasetVerdict]:
    """Who leads on each dataset that has scores."""
    found = [_verdict(study, dataset) for dataset in study.datasets]
    return [verdict for verdict in found if verdict is not None]


def _verdict(study: Study, dataset: str) -> DatasetVerdict | None:
    rows = study.analyses.holistic
    means = {name: row[dataset].mean for name, row in rows.items() if dataset in row}
    order = _ranked(means)
    if not order:
        return None
    (first, score), *rest = order
    if not rest:
        return DatasetVerdict(dataset, first, score)
    second, below = rest[0]
    test = _test(study, dataset, first, second)
    tested = test is not None and test.p_corrected is not None
    return DatasetVerdict(
        dataset, first, score, second, score - below,
        p=test.p_corrected if test is not None else None,
        tested=tested, significant=test is not None and test.significant,
    )  # fmt: skip


def _ranked(means: Mapping[str, float | None]) -> list[tuple[str, float]]:
    defined = [(name, mean) for name, mean in means.items() if mean is not None]
    return sorted(defined, key=lambda row: (-row[1], row[0]))


def _test(study: Study, dataset: str, one: str, other: str) -> ScoreTest | None:
    rows = study.datasets[dataset].comparisons
    return next(
        (row.score(score_path(study.analyses)) for row in rows if set(row.systems) == {one, other}), None
    )


def overall_verdict(study: Study) -> OverallVerdict | None:
    """Who has the highest mean over datasets, by how much, and on how many datasets that holds."""
    order = _ranked(averages(study))
    if not order:
        return None
    (first, score), *rest = order
    number = len(study.datasets)
    datasets = words.plural(number, "dataset")
    said = f" has the highest mean {words.study_score(study.analyses)} over {datasets}, {words.points(score)}"
    if number == 1:
        said = f" has the highest mean {words.study_score(study.analyses)}, {words.points(score)}"
    if rest:
        second, below = rest[0]
        said += f": {words.points(score - below)} above {words.visible(second)}"
        said += _over_datasets(study, first, second)
    leads = [row for row in verdicts(study) if row.leader == first]
    sure = sum(row.significant for row in leads)
    if number > 1:
        said += f". It leads on {len(leads)} of {number}"
    if number > 1 and any(row.tested for row in leads):
        said += f", on {sure or 'none'} of them beyond chance"
    return OverallVerdict(first, f"{said}.")


def _over_datasets(study: Study, one: str, other: str) -> str:
    """What the test over datasets says of the lead, where it was made."""
    pairs = study.analyses.bucket_wise.comparative
    tests = (row.over_datasets for row in pairs if set(row.systems) == {one, other})
    test = next((found for found in tests if isinstance(found, DatasetTest)), None)
    if test is None or test.p_corrected is UNSET or test.p_corrected is None:
        return ""
    p = words.p_value(test.p_corrected)
    p = f"p {p}" if p.startswith("<") else f"p = {p}"
    return (
        f", which is significant over datasets ({p})" if test.significant else f", which can be chance ({p})"
    )
