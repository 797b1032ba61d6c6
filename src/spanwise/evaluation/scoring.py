"""Intervals of scores and of the parts of a lead, weak slices, and counts per unit packed into documents."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Struct
from msgspec.structs import replace

from spanwise.buckets import UNPLACED
from spanwise.columns import Codes, Column, Floats, Ints, codes, ints, plain, ratio
from spanwise.counts import Counts, Matrix, distinct_rows, grouped
from spanwise.diagnosis import LEAST_GOLD, PREDICTED
from spanwise.document.evaluation import PackedMeasure
from spanwise.document.scores import PRIMARY, Comparison, GainLead, LeadPart
from spanwise.engines import MOST_THREADS, at_once, release_freed_memory
from spanwise.errors import InputError
from spanwise.evaluation.comparisons import compare_systems
from spanwise.hashing import column_digest
from spanwise.intervals import (
    FEW_UNITS,
    NO_SPREAD,
    Jackknife,
    contrast,
    jackknife,
    run_parts,
)
from spanwise.rates import FIELDS, RATES, is_rate, rate
from spanwise.scores import SCORERS, Measure, MeasureKey
from spanwise.statistics import ExpectedLosses
from spanwise.student import t_quantile
from spanwise.uncertainty import MOST_FLIPPED, Flips, Resampling, ratio_or_zero

Path = tuple[str, ...]
Cell = dict[str, Any]

MANY_UNITS = 20_000  # from this many units on, systems are scored and compared at the same time
ONE_UNIT = "fewer than two {unit}s contain it"


class ScoredSystem(Struct, frozen=True, eq=False):
    """Every score of one system by the path of its cell, and the tests for weak slices."""

    measures: Sequence[Measure]
    cells: Mapping[Path, Cell]
    slices: Mapping[Path, Mapping[str, object]]


def score_and_test(
    systems: Mapping[str, Sequence[Measure]],
    pairs: Sequence[tuple[str, str]],
    resampling: Resampling,
    *,
    confidence: float,
    correction: str,
    primary: Path = PRIMARY["f1"],
    unit: str = "unit",
) -> tuple[dict[str, ScoredSystem], tuple[Comparison, ...]]:
    """Score all systems, with intervals, and test these pairs of systems."""
    if not resampling.resamples:  # only totals are needed, so units can be merged
        systems = {
            name: [measure.of_one_unit() for measure in measures] for name, measures in systems.items()
        }

    def score() -> dict[str, ScoredSystem]:
        scored = {name: _scored(measures, resampling, confidence, unit) for name, measures in systems.items()}
        if resampling.memory is not None:
            release_freed_memory()
        return scored

    def compare() -> tuple[Comparison, ...]:
        runs = {name: [measures] for name, measures in systems.items()}
        return compare_systems(
            runs,
            pairs,
            resampling,
            confidence=confidence,
            correction=correction,
            primary=primary,
            unit=unit,
        )

    # Both at once need more memory; with few units, threads would mostly wait for the interpreter.
    large = resampling.units >= MANY_UNITS and resampling.memory is None
    threads = MOST_THREADS if large and pairs and resampling.resamples else 1
    scored, comparisons = at_once(score, compare, threads=threads)
    if resampling.memory is not None:
        release_freed_memory()
    return scored, comparisons


# ---- one system -----------------------------------------------------------------------------


def _scored(
    measures: Sequence[Measure], resampling: Resampling, confidence: float, unit: str
) -> ScoredSystem:
    cells: dict[Path, Cell] = {}
    bounded = resampling.resamples > 0 and resampling.units > 0
    errors_of: dict[MeasureKey, dict[str, Jackknife]] = {}
    for measure in measures:
        errors = errors_of[measure.key] = jackknife(measure) if bounded else {}
        values = {name: error.value for name, error in errors.items()} if bounded else measure.values()
        intervals = {name: error.interval(confidence) for name, error in errors.items()}
        for index, path in enumerate(measure.paths):
            cell = cells.setdefault(path, {"interval": {}})
            for name, array in values.items():
                cell[name] = plain(array[index])
                if name in intervals and cell[name] is not None:
                    _bound(cell, name, intervals[name][index], errors[name], index, unit)
    for cell in cells.values():
        if not cell["interval"]:
            del cell["interval"]
        more = {name: cell.pop(name) for name in [*cell] if name not in FIELDS and is_rate(name)}
        if more:
            cell["more"] = more
    if not bounded:
        return ScoredSystem(measures, cells, {})
    lead = gain_lead(measures, confidence)
    if lead is not None:
        cells[lead[0]]["lead"] = lead[1]
    return ScoredSystem(measures, cells, weak_slices(measures, errors_of, resampling, confidence))


def _bound(cell: Cell, name: str, bounds: Floats, error: Jackknife, index: int, unit: str) -> None:
    """Add the interval of a score, or why there is none, and marks if only few units contain or carry it."""
    units = int(error.units[index])
    if np.isnan(bounds).any():
        cell["interval"][name] = None
        cell["why"] = ONE_UNIT.format(unit=unit)
    else:
        cell["interval"][name] = float(bounds[0]), float(bounds[1])
    if units < FEW_UNITS:
        cell["few_units"] = min(units, cell.get("few_units", units))
    for mark, marked, number in (
        ("carried_by", error.few_carry, error.carrying),
        ("errors_carried_by", error.few_carry_errors, error.carrying_errors),
    ):
        if marked[index]:
            value = round(float(number[index]), 1)
            cell[mark] = min(value, cell.get(mark, value))


def gain_lead(measures: Sequence[Measure], confidence: float) -> tuple[Path, GainLead] | None:
    """The kind of error with the largest gain, its lead over the second, and the kinds it does not beat.

    Every other kind is compared with the first by a paired t-test over units. Since the first was chosen as
    the largest, the tests step down from the smallest p: with k kinds left besides the first, p is multiplied
    by the k (k + 1) / 2 pairs of kinds that could have been compared.
    """
    gains = next((measure for measure in measures if measure.scorer == "gains"), None)
    if gains is None:
        return None
    values = gains.values()["gain"]
    order = np.argsort(-values, kind="stable")
    if np.isnan(values).any() or not values[order[0]] > 0:
        return None
    tests = [contrast(gains, "gain", int(order[0]), int(other)) for other in order[1:]]
    corrected = _stepped(np.array([float(test.p()[0, 0]) for test in tests]))
    # Down to the first kind that costs less; a kind without errors costs nothing.
    level = 1 - confidence
    tied: list[str] = []
    for kind, p in zip(order[1:], corrected, strict=True):
        if p < level or not values[kind] > 0:
            break
        tied.append(gains.paths[kind][-1])
    low, high = tests[0].interval(confidence)[0, 0]
    lead = GainLead(
        over=gains.paths[order[1]][-1],
        difference=plain(tests[0].value[0, 0]),
        interval=None if np.isnan(low) else (float(low), float(high)),
        p=plain(corrected[0]),
        tied=tuple(tied),
    )
    return gains.paths[order[0]], lead


def _stepped(p: Floats) -> Floats:
    """The p-values of the first kind against the others, corrected for the choice of the first.

    Examples:
        >>> _stepped(np.array([0.04, 0.01, 0.002, 0.0001])).round(4).tolist()
        [0.04, 0.03, 0.012, 0.001]
    """
    defined = np.where(np.isnan(p), 1.0, p)
    order = np.argsort(defined, kind="stable")
    left = np.arange(len(p), 0, -1)
    stepped = np.maximum.accumulate(np.minimum(1.0, defined[order] * (left * (left + 1) // 2)))
    corrected = np.empty(len(p))
    corrected[order] = stepped
    return np.where(np.isnan(p), np.nan, corrected)


def weak_slices(
    measures: Sequence[Measure],
    errors: Mapping[MeasureKey, Mapping[str, Jackknife]],
    resampling: Resampling,
    confidence: float,
) -> dict[Path, dict[str, object]]:
    """Which labels, buckets of mentions and tough subsets score lower than the rest, all tested at once.

    Losses of a slice are compared with the overall share of losses: of gold and predicted mentions together
    (1 − F1), or of gold mentions for tough subsets (1 − recall). Slices need 50 gold mentions inside and
    outside. p is family-wise over all slices (maxT on sign flips of units, one-sided); the interval holds
    for all slices at once (Šidák's level), so that it still holds for the one that is chosen as the worst.

    Args:
        errors: the standard errors of the scores of every measure.
    """
    by_cell = [
        measure.cell_by_cell for measure in measures if measure.key.kind in ("exact", "tough", "attribute")
    ]
    exact = next((measure for measure in by_cell if measure.key.kind == "exact"), None)
    if exact is None:
        return {}
    whole = exact.counts.select_cells([0])
    gold, predicted, _ = (int(number) for number in whole.total[0])
    chosen = [(measure, cells) for measure in by_cell if (cells := _slice_cells(measure, gold, predicted))]
    if not chosen:
        return {}
    tested = tested_slices(chosen, whole, resampling)
    together = confidence ** (1 / tested.distinct)
    results: dict[Path, dict[str, object]] = {}
    tests = zip(tested.t.tolist(), tested.p.tolist(), strict=True)
    for measure, cells in chosen:
        score = "recall" if measure.scorer == "recall" else "f1"
        bounds = errors[measure.key][score].interval(together)[cells]
        for cell, bound, (t, p) in zip(cells, bounds, tests, strict=False):
            interval = [0.0, 1.0] if np.isnan(bound).any() else bound.tolist()
            results[measure.paths[cell]] = {"t": t, "p": p, "interval": interval, "of": tested.distinct}
    return results


class SliceTests(Struct, frozen=True, eq=False):
    """T and family-wise p of each slice, and how many different slices were tested."""

    t: Floats
    p: Floats
    distinct: int


def tested_slices(
    chosen: Sequence[tuple[Measure, Sequence[int]]], whole: Counts, resampling: Resampling
) -> SliceTests:
    """Test at once whether the losses in cells of measures exceed those of all mentions (maxT, one-sided).

    Args:
        chosen: measures that score each cell on its own, and the cells that are slices.
        whole: the exact counts of all mentions, as a single cell.
    """
    slices = _Losses.of(chosen, whole)
    rows = slices.excess(slices.counts.astype(np.float64))
    distinct = len({column_digest(row) for row in np.ascontiguousarray(rows.T).round(9) + 0.0})
    scale = np.sqrt((rows**2).sum(axis=0))
    statistics = ratio_or_zero(slices.excess(slices.counts.sum(axis=0, dtype=np.float64)), scale)
    flips = Flips(len(rows), resampling.resamples, resampling.seed)
    flipped = [ratio_or_zero(slices.excess(sums), scale) for sums in flips.sums(slices.counts)]
    p_values = flips.p_values(statistics, np.concatenate([sample.max(axis=1) for sample in flipped]))
    return SliceTests(statistics, p_values, distinct)


class _Losses(Struct, frozen=True, eq=False):
    """The losses and items of every unit, or group of units, in each slice and overall."""

    counts: Matrix  # units × (losses of each slice, its items, four columns of all mentions)
    expected: ExpectedLosses
    of_recall: Ints  # for each slice: 1 if its items are gold mentions only, else 0

    @classmethod
    def of(cls, chosen: Sequence[tuple[Measure, Sequence[int]]], whole: Counts) -> _Losses:
        """The losses in these cells of measures that score each cell on its own."""
        losses, items, of_recall = [], [], []
        for measure, cells in chosen:
            counted = _flipped_rows(measure.counts.select_cells(cells))
            recall = measure.scorer == "recall"
            size = counted[..., 0] if recall else counted[..., 0] + counted[..., 1]
            losses.append(size - (counted[..., 1] if recall else 2 * counted[..., 2]))
            items.append(size)
            of_recall += [int(recall)] * len(cells)
        gold, predicted, correct = _flipped_rows(whole)[:, 0].T
        overall = [gold + predicted - 2 * correct, gold - correct, gold + predicted, gold]
        counts = np.concatenate([*losses, *items, np.stack(overall, axis=1)], axis=1)
        kind = ints(of_recall)
        totals = _split(counts.sum(axis=0, dtype=np.float64), kind)
        return cls(counts, ExpectedLosses.of(*totals[1:]), kind)

    def excess(self, counts: Floats) -> Floats:
        """By how much the losses of each slice exceed those expected, given sums of the columns."""
        return self.expected.excess(*_split(counts, self.of_recall))


def _split(counts: Floats, of_recall: Ints) -> tuple[Floats, Floats, Floats, Floats]:
    """The losses and items of each slice, and of all mentions, with which it is compared (… × slices)."""
    slices = len(of_recall)
    overall = counts[..., 2 * slices :]
    return (
        counts[..., :slices],
        counts[..., slices : 2 * slices],
        overall[..., of_recall],
        overall[..., 2 + of_recall],
    )


def _flipped_rows(counts: Counts) -> Matrix:
    """Counts per unit, or per group of units if there are many, × cells × columns."""
    rows = counts.matrix() if counts.units <= MOST_FLIPPED else grouped(counts, MOST_FLIPPED)
    return rows.reshape(len(rows), len(counts.cells), len(counts.columns))


def _slice_cells(measure: Measure, gold: int, predicted: int) -> list[int]:
    """The cells of a measure that are slices with enough mentions inside and outside."""
    counts, paths = measure.counts, measure.paths
    if measure.key.kind == "attribute":
        totals = counts.total.sum(axis=0)
        if int(totals[0]) != gold or int(totals[1]) != predicted:  # its units are tokens
            return []
        named = [index for index, path in enumerate(paths) if path[-1] != measure.unplaced]
    else:
        inner = {"labels", "types"} if measure.key.kind == "exact" else {"overall"}
        named = [index for index, path in enumerate(paths) if not inner.isdisjoint(path[-2:])]
    return [index for index in named if LEAST_GOLD <= int(counts.total[index, 0]) <= gold - LEAST_GOLD]


def pack_measures(measures: Sequence[Measure]) -> tuple[PackedMeasure, ...]:
    """Pack the tested measures: the distinct rows of their counts, and the row of every unit, compressed."""
    return tuple(
        PackedMeasure(
            name=measure.name,
            scorer=measure.scorer,
            family=measure.family,
            tested=measure.tested,
            credit=measure.credit,
            share=measure.share,
            unplaced=UNSET if measure.unplaced == UNPLACED else measure.unplaced,
            scores=UNSET if measure.scores == tuple(RATES) else measure.scores,
            paths=measure.paths,
            cells=measure.counts.cells,
            columns=measure.counts.columns,
            rows=_pack(np.asarray(measure.counts.rows)),
            row=_pack(np.asarray(measure.counts.row)),
        )
        for measure in measures
        if measure.tested
    )


def unpack_measures(entries: Sequence[PackedMeasure], *, location: str) -> list[Measure]:
    """Unpack the measures of a result document; `location` names it in error messages."""
    try:
        return [_measure(entry) for entry in entries]
    except (ValueError, TypeError, LookupError, zlib.error) as error:
        raise InputError(
            f"{location}: its counts per unit cannot be read ({error}).\n"
            "Make the result document again with spanwise evaluate --json."
        ) from error


def _measure(entry: PackedMeasure) -> Measure:
    if entry.scorer not in SCORERS:
        raise ValueError(f"no scorer is called {entry.scorer!r}")
    for name in entry.scores or ():
        rate(name)  # must exist
    width = len(entry.cells) * len(entry.columns)
    rows = _unpack(entry.rows).reshape(-1, width)
    row = _unpack(entry.row)
    if len(row) and not 0 <= int(row.min()) <= int(row.max()) < len(rows):
        raise ValueError("a unit names a row that does not exist")
    measure = Measure(
        key=MeasureKey.of_name(entry.name),
        counts=Counts(entry.cells, entry.columns, rows, codes(row)),
        scorer=entry.scorer,
        paths=entry.paths,
        family=entry.family,
        tested=entry.tested,
        credit=entry.credit,
        share=entry.share,
        unplaced=entry.unplaced or UNPLACED,
        scores=entry.scores or tuple(RATES),
    )
    scores = measure.values()
    if set(entry.tested) - scores.keys() or any(len(cells) != len(entry.paths) for cells in scores.values()):
        raise ValueError(f"the scores of {entry.name!r} do not fit its paths")
    return measure


_PLANES = "planes:"  # columns without this prefix were packed number by number


def _pack(column: Column) -> str:
    """Integers as compressed text: the lowest bytes of all of them, then the next bytes, and so on.

    High bytes are nearly all 0, so this is both smaller and six times faster than number by number.
    """
    little = np.ascontiguousarray(column, dtype="<i4")
    planes = little.view(np.uint8).reshape(-1, 4).T.tobytes()
    return _PLANES + base64.b64encode(zlib.compress(planes, 2)).decode("ascii")


def _unpack(text: str) -> Codes:
    data = zlib.decompress(base64.b64decode(text.removeprefix(_PLANES)))
    if text.startswith(_PLANES):
        data = np.frombuffer(data, np.uint8).reshape(4, -1).T.tobytes()
    return np.frombuffer(data, dtype="<i4").astype(np.int32, copy=False)


MOST = 60_000_000  # values for all pairs of systems together; if there are more, leads have no intervals
BLOCK_LEADS = 1_000_000  # counts that are processed at a time


def with_lead_intervals(
    comparisons: Sequence[Comparison],
    systems: Mapping[str, Sequence[Sequence[Measure]]],
    units: int,
    confidence: float,
    *,
    shared_seeds: bool = False,
) -> tuple[Comparison, ...]:
    """Add intervals to the parts of the lead in each comparison: contribution ± t·SE.

    SE is the delete-one jackknife's over all units; t has one degree of freedom fewer than there are
    units. If both systems have several runs, training varies too: SE² then also includes, for each system,
    the variance over its runs of the contribution against all runs of the other, divided by the number of
    its runs; each part has a t of its own, as in `Differences`. With very many pairs, runs or units the
    intervals are left out.

    Args:
        systems: the measures of every run of each system.
        shared_seeds: runs at the same position share their seed, and vary together.
    """
    size = sum(
        units
        * sum(len(parts) for parts in row.lead.values())
        * max(len(systems[name]) for name in row.systems)
        for row in comparisons
    )
    if units < 2 or size > MOST:
        return tuple(comparisons)
    tables = {
        name: [{measure.key: measure for measure in run} for run in runs] for name, runs in systems.items()
    }
    kept: dict[
        tuple[str, str, tuple[str, ...]], _LeadSide
    ] = {}  # most pairs divide their lead in the same way

    def side(name: str, division: str, parts: tuple[str, ...]) -> _LeadSide:
        known = kept.get((name, division, parts))
        return known or kept.setdefault(
            (name, division, parts), _LeadSide.of(tables[name], _key(division), parts)
        )

    def bounded(pair: Sequence[str], division: str, parts: Sequence[LeadPart]) -> tuple[LeadPart, ...]:
        if not all(_key(division) in table for name in pair for table in tables[name]):
            return tuple(parts)  # the two results cut this attribute differently
        names = tuple(part.name for part in parts)
        first, second = (side(name, division, names) for name in pair)
        reach = _contribution_reach(first, second, shared_seeds, confidence)
        return tuple(
            replace(part, interval=_interval(part.contribution, float(reach[index])))
            for index, part in enumerate(parts)
        )

    return tuple(
        replace(
            row,
            lead={division: bounded(row.systems, division, parts) for division, parts in row.lead.items()},
        )
        for row in comparisons
    )


_Tables = Mapping[MeasureKey, Measure]  # of one run


def _interval(value: float, reach: float) -> tuple[float | None, float | None] | None:
    if reach < NO_SPREAD and abs(value) > NO_SPREAD:
        return None  # without variation, nothing is known of how certain the value is
    return plain(value - reach), plain(value + reach)


def _key(division: str) -> MeasureKey:
    keys = {"labels": MeasureKey("exact"), "tough": MeasureKey("tough")}
    return keys.get(division) or MeasureKey("attribute", division)


class _Division(Struct, frozen=True, eq=False):
    """One system's gold, predicted and correct mentions per unit, and the last two for each part as well."""

    exact: Floats  # units × 3
    predicted: Floats  # units × parts
    correct: Floats

    @classmethod
    def of(cls, exact: Counts, parts: Counts, names: Sequence[str], rows: Column) -> _Division:
        """The counts of units, given their row in `exact` and their row in `parts`."""
        whole = _by_cell(exact, rows[:, 0]).sum(axis=1)
        by_cell, cells = _by_cell(parts, rows[:, 1]), list(parts.cells)
        predicted, correct = (np.zeros((len(rows), len(names))) for _ in range(2))
        tough = len(parts.columns) == 2  # mentions and correct only: tough subsets have no predictions
        for index, name in enumerate(names):
            if name in cells:
                correct[:, index] = by_cell[:, cells.index(name), -1]
                if not tough:
                    predicted[:, index] = by_cell[:, cells.index(name), 1]
            elif tough and name == PREDICTED:
                predicted[:, index] = whole[:, 1]
        return cls(whole, predicted, correct)

    @classmethod
    def total(cls, exact: Counts, parts: Counts, names: Sequence[str]) -> _Division:
        """The counts of all units together, as a single unit."""
        return cls.of(exact.as_one_unit(), parts.as_one_unit(), names, np.zeros((1, 2), dtype=np.int64))

    def without(self, units: _Division) -> _Division:
        """What remains of these totals without each of the units."""
        return _Division(
            self.exact - units.exact, self.predicted - units.predicted, self.correct - units.correct
        )


def _by_cell(counts: Counts, rows: Column) -> Floats:
    matrix = np.asarray(counts.rows[rows], np.float64)
    return np.asarray(matrix.reshape(len(rows), len(counts.cells), len(counts.columns)))


class _LeadSide(Struct, frozen=True, eq=False):
    """One system of a pair: what its runs contribute to each part, and what is left without each unit."""

    runs: Sequence[tuple[Counts, Counts]]  # of each run: exactly, and by part
    names: tuple[str, ...]
    totals: Sequence[_Division]  # of each run
    terms: Sequence[_Terms]
    whole: _Terms
    columns: Matrix  # the rows of all runs in each unit
    rows: Matrix  # their distinct combinations
    number: Ints  # the combination of each unit
    remaining: _Terms | None  # without a unit of each combination, unless there are too many

    @classmethod
    def of(cls, tables: Sequence[_Tables], key: MeasureKey, names: tuple[str, ...]) -> _LeadSide:
        """The runs of a system, divided into the named parts."""
        runs = [(table[MeasureKey("exact")].counts, table[key].counts) for table in tables]
        totals = [_Division.total(*run, names) for run in runs]
        terms = [_Terms.of(total) for total in totals]
        of_runs = [np.asarray(counts.row, dtype=np.int32) for run in runs for counts in run]
        columns = np.stack(of_runs, axis=1)
        rows, number = distinct_rows(columns)
        side = cls(runs, names, totals, terms, _Terms.mean(terms), columns, rows, number, None)
        few = len(rows) * side.width <= BLOCK_LEADS
        return replace(side, remaining=side._without(rows)) if few else side

    @property
    def width(self) -> int:
        """The counts of one unit."""
        return sum(counts.rows.shape[1] for run in self.runs for counts in run)

    def without(self, combinations: Ints) -> _Terms:
        """The terms of what is left without a unit of each of the combinations."""
        if self.remaining is not None:
            return self.remaining.take(combinations)
        return self._without(self.rows[combinations])

    def _without(self, rows: Matrix) -> _Terms:
        own = np.split(rows, len(self.runs), axis=1)
        return _Terms.mean(
            [
                _Terms.of(total.without(_Division.of(*run, self.names, part)))
                for total, run, part in zip(self.totals, self.runs, own, strict=True)
            ]
        )


def _contribution_reach(first: _LeadSide, second: _LeadSide, shared_seeds: bool, confidence: float) -> Floats:
    """Half the width of the interval of every part's contribution.

    Units with equal counts have equal values, so each distinct combination of rows is left out only once.
    """
    whole = _contributions(first.whole, second.whole)
    distinct, number = distinct_rows(np.concatenate([first.columns, second.columns], axis=1))
    combinations = np.empty((2, len(distinct)), dtype=np.int64)
    combinations[:, number] = first.number, second.number
    times = np.bincount(number, minlength=len(distinct)).astype(np.float64)
    sums, squares = np.zeros(len(first.names)), np.zeros(len(first.names))
    step = max(1, BLOCK_LEADS // (first.width + second.width))
    for begin in range(0, len(distinct), step):
        one, other = combinations[:, begin : begin + step]
        deviation = _contributions(first.without(one), second.without(other)) - whole
        weights = times[begin : begin + step, None]
        sums += (weights * deviation).sum(axis=0)
        squares += (weights * deviation**2).sum(axis=0)
    units = len(number)
    variance = np.maximum(squares - sums**2 / units, 0) * (units - 1) / units
    variances: list[tuple[Floats, npt.ArrayLike]] = [(variance, units - 1)]
    if len(first.runs) > 1 and len(second.runs) > 1:
        of_first = np.concatenate([_contributions(run, second.whole) for run in first.terms])
        of_second = np.concatenate([_contributions(first.whole, run) for run in second.terms])
        variances += run_parts([of_first, -of_second], (0, 1), shared_seeds)
    reaches = [np.where(v > 0, t_quantile(f, confidence) ** 2 * v, 0.0) for v, f in variances]
    return np.asarray(np.sqrt(np.sum(reaches, axis=0)))


class _Terms(Struct, frozen=True, eq=False):
    """The terms of contributions, which are linear in those of each side, so that means over runs suffice."""

    weight: Floats  # 1 / (gold + predicted): units × 1
    f1: Floats
    correct: Floats  # units × parts
    weighed: Floats  # correct · weight
    priced: Floats  # predicted · weight
    paid: Floats  # predicted · F1

    @classmethod
    def of(cls, run: _Division) -> _Terms:
        """The terms of one run."""
        size = run.exact[:, :1] + run.exact[:, 1:2]
        weight, f1 = ratio(np.ones_like(size), size), ratio(2 * run.exact[:, 2:3], size)
        return cls(weight, f1, run.correct, run.correct * weight, run.predicted * weight, run.predicted * f1)

    @classmethod
    def mean(cls, runs: Sequence[_Terms]) -> _Terms:
        """The means over runs."""
        if len(runs) == 1:
            return runs[0]
        return cls(*(np.mean([getattr(run, name) for run in runs], axis=0) for name in cls.__struct_fields__))

    def take(self, rows: Ints) -> _Terms:
        """The terms in these rows."""
        return _Terms(*(getattr(self, name)[rows] for name in self.__struct_fields__))


def _contributions(first: _Terms, second: _Terms) -> Floats:
    """The contribution of each part to the difference in F1, over all pairs of runs; 0 where undefined."""
    right = first.weighed - first.weight * second.correct + first.correct * second.weight - second.weighed
    ours = second.f1 * first.priced - first.weight * second.paid
    theirs = first.paid * second.weight - first.f1 * second.priced
    return np.asarray(np.nan_to_num(right - (ours + theirs) / 2))
