"""The tables of an evaluation for each dataset of a study: means and deviations over runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

from msgspec import Struct
from msgspec.structs import replace

from spanwise.averages import deviations
from spanwise.document.evaluation import Evaluation
from spanwise.document.study import Study
from spanwise.reports.tables import _result
from spanwise.reports.tables._result import TableMaker
from spanwise.reports.tables._table import Table
from spanwise.views import wording as say
from spanwise.views.cells import Number
from spanwise.views.cells import PaperCell as Cell
from spanwise.views.shown import ShownDataset, study_shown

OWN = ("holistic", "tough", "statements")  # a study has tables of its own under these names
TESTED = ("comparisons", "composition")  # tables that have no deviation over runs


def makers(document: Study) -> dict[str, Callable[[], Table | None]]:
    """The tables of every dataset by name, such as `labels`, or `labels/DATASET` if there are several."""
    datasets = [_Averages(shown) for shown in study_shown(document.without_sentences())]
    several = len(document.datasets) > 1
    return {
        f"{name}/{dataset.shown.name}" if several else name: partial(_table, name, maker, dataset, several)
        for name, maker in _result.TABLES.items()
        if name not in OWN
        for dataset in datasets
    }


class _Averages(Struct, frozen=True, dict=True):
    """The means and deviations over the runs of one dataset, which all of its tables share."""

    shown: ShownDataset

    @cached_property
    def means(self) -> Evaluation:
        return self.shown.averaged

    @cached_property
    def spreads(self) -> Evaluation:
        runs = self.shown.runs
        systems = {name: deviations(list(runs[name].values())) for name in self.means.systems}
        return replace(self.means, systems=systems)


def _table(name: str, maker: TableMaker, dataset: _Averages, several: bool) -> Table | None:
    shown = dataset.shown
    table = maker(dataset.means)
    if table is None:
        return None
    if name not in TESTED and any(map(shown.several, shown.runs)):
        spread_table = maker(dataset.spreads)
        assert spread_table is not None
        rows = zip(table.rows, spread_table.rows, strict=True)
        table = replace(
            table,
            rows=tuple(tuple(map(_spread, row, spreads)) for row, spreads in rows),
            caption=f"{table.caption} Mean and sample standard deviation over runs.",
        )
    if not several:
        return table
    return replace(table, name=f"{name}/{shown.name}", caption=f"{say.visible(shown.name)}: {table.caption}")


def _spread(mean: Cell, deviation: Cell) -> Cell:
    """A number with its deviation, unless it is the same in all runs."""
    if not isinstance(mean, Number) or not isinstance(deviation, Number) or not deviation.value:
        return mean
    return replace(mean, text=f"{mean.text} ±{deviation.text.lstrip('+')}", std=deviation.value)
