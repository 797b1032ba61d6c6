"""Paired tests of the differences between systems: one primary question, and one family of all others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from msgspec import UNSET, Struct
from msgspec.structs import replace

from spanwise.columns import (
    MOST_IN_SINGLE,
    Bools,
    Column,
    Floats,
    Ints,
    are_quarters,
    plain,
    ratio,
)
from spanwise.counts import Counts, grouped
from spanwise.diagnosis import F1
from spanwise.document.scores import Comparison, ScoreTest
from spanwise.engines import release_freed_memory
from spanwise.families import Hypotheses, corrected_pairs, stepped_down, unreachable
from spanwise.intervals import Differences, differences
from spanwise.scores import Measure, MeasureKey, fraction
from spanwise.statistics import LEVEL, correct
from spanwise.uncertainty import (
    BLOCK_COUNTS,
    FEWEST_GROUPS,
    Pairs,
    Resampling,
    Swapping,
    randomised,
)

Path = tuple[str, ...]

EXACT = MeasureKey("exact")
AVERAGES = MeasureKey("averages")
MACRO: Path = ("exact", "macro")
STILL = "the difference between the two systems does not vary here"
UNDEFINED = "the score of one of the two systems is undefined"
OPEN = "not decided by {shuffles:,} shuffles, and so not called significant"

RANDOMISATION = "randomisation"
ENUMERATION = "exact randomisation"
T_TEST = "t-test over runs"


class Question(Struct, frozen=True):
    """One tested score: its measure, its cell there, and its path in the document."""

    measure: MeasureKey
    score: str
    cell: int
    path: Path
    family: str


class Answers(Struct, frozen=True, eq=False):
    """The p-values of all questions (pairs × questions), and how they were computed."""

    p: Floats
    p_corrected: Floats
    test: Sequence[str]  # of the primary question, for each pair
    shuffles: Ints  # of the primary question, for each pair
    undecided: Bools  # whether more shuffles would be needed, for each question about each pair
    differing: Ints | None  # the units in which the counts of the primary score differ, for each pair
    family: int  # the number of pairs over which the primary question is corrected
    secondary: int  # the number of secondary questions, which are corrected together
    shared: int = 0  # the number of shuffles that the secondary questions share


def compare_systems(
    systems: Mapping[str, Sequence[Sequence[Measure]]],
    pairs: Sequence[tuple[str, str]],
    resampling: Resampling,
    *,
    confidence: float,
    correction: str,
    primary: Path = F1,
    over_runs: bool = False,
    shared_seeds: bool = False,
    wanted: Callable[[Question], bool] | None = None,
    unit: str = "unit",
) -> tuple[Comparison, ...]:
    """For each pair, the differences of all tested scores, first minus second, with intervals and p-values.

    The primary question, overall F1 or another score, is corrected over pairs; all other scores of all pairs
    form one secondary family. With `over_runs`, training varies as well as data: tests are t-tests over runs
    and units, and `correction` applies to both families; otherwise differences are those of means over runs.

    Args:
        systems: the measures of each run of each system; with `over_runs`, systems that are in no pair take
            part in how much runs vary.
        wanted: which scores to test; by default all.
        unit: what a unit is called, such as "document".
    """
    compared = [name for name in systems if any(name in pair for pair in pairs)]
    if not compared:
        return ()
    names = [*compared, *(name for name in systems if over_runs and name not in compared)]
    aligned = _aligned([systems[name] for name in names])
    questions = [question for question in _questions(aligned) if wanted is None or wanted(question)]
    if len(names) > len(compared):
        known = {question.path for question in _questions(_aligned([systems[name] for name in compared]))}
        questions = [question for question in questions if question.path in known]
    first_equal = _identical(aligned, len(names))
    if over_runs:  # a system under two names counts once
        aligned = {
            key: {number: runs for number, runs in owners.items() if number in first_equal}
            for key, owners in aligned.items()
        }
    number = {name: first_equal[index] for index, name in enumerate(names)}
    numbered_pairs = [(number[first], number[second]) for first, second in pairs]
    unique = list(dict.fromkeys((min(pair), max(pair)) for pair in numbered_pairs))
    bounded = resampling.resamples > 0 and resampling.units > 0
    of_pairs = partial(differences, over_runs=over_runs, shared_seeds=shared_seeds) if bounded else None
    tested = _differences(aligned, questions, unique, of_pairs)
    if not bounded:
        answers = None
    elif over_runs:
        answers = _over_runs(questions, unique, tested, correction, primary)
    else:
        if resampling.memory is not None:
            release_freed_memory()
        answers = _shuffled(aligned, questions, unique, resampling, correction, primary)
    if answers is not None:
        answers = replace(answers, family=answers.family + len(resampling.others))
    shared = [
        _TestedMeasure.of(key, aligned[key], *of_measure, questions, answers, confidence, primary)
        for key, of_measure in tested.items()
    ]
    return tuple(
        _comparison(pair, numbers, unique, questions, shared, answers, correction, primary, unit)
        for pair, numbers in zip(pairs, numbered_pairs, strict=True)
    )


Aligned = Mapping[MeasureKey, Mapping[int, Sequence[Measure]]]  # by measure and system, its runs


def _aligned(systems: Sequence[Sequence[Sequence[Measure]]]) -> dict[MeasureKey, dict[int, list[Measure]]]:
    """The tested measures, scored cell by cell, with the same cells for all runs of all systems."""
    by_measure: dict[MeasureKey, dict[int, list[Measure]]] = {}
    for number, runs in enumerate(systems):
        by_key = [{measure.key: measure for measure in measures if measure.tested} for measures in runs]
        for key in by_key[0]:
            if all(key in run for run in by_key):
                by_measure.setdefault(key, {})[number] = [run[key] for run in by_key]
    result: dict[MeasureKey, dict[int, list[Measure]]] = {}
    for key, owners in by_measure.items():
        flat = same_cells([run for runs in owners.values() for run in runs])
        ends = np.cumsum([0, *(len(runs) for runs in owners.values())])
        parts = [flat[begin:end] for begin, end in pairwise(ends)]
        result[key] = dict(zip(owners, ([run.cell_by_cell for run in part] for part in parts), strict=True))
        if key == EXACT:
            result[AVERAGES] = dict(
                zip(owners, ([_macro(run) for run in part] for part in parts), strict=True)
            )
    return result


def same_cells(measures: Sequence[Measure]) -> list[Measure]:
    """Give the same measure of several systems or runs the cells of all of them, in one order."""
    if all(measure.counts.cells == measures[0].counts.cells for measure in measures):
        return list(measures)
    path_of: dict[str, Path] = {}
    for measure in measures:
        added = len(measure.paths) - len(measure.counts.cells)  # such as the sum over labels, which is first
        for cell, path in zip(measure.counts.cells, measure.paths[added:], strict=True):
            path_of.setdefault(cell, path)
    cells = tuple(path_of)
    return [
        replace(
            measure,
            counts=measure.counts.with_cells(cells),
            paths=(*measure.paths[: len(measure.paths) - len(measure.counts.cells)], *path_of.values()),
        )
        for measure in measures
    ]


def _macro(exact: Measure) -> Measure:
    return Measure(AVERAGES, exact.counts, "averages", (MACRO, ("exact", "weighted")), "exact", ("f1",))


def _questions(aligned: Aligned) -> list[Question]:
    return [
        Question(key, score, index, (*path, score), family)
        for key, owners in aligned.items()
        for measure in [next(iter(owners.values()))[0]]
        for score in measure.tested
        for index, path in enumerate(measure.paths)
        for family in [_family(measure, path, score)]
        if family is not None
    ]


def _family(measure: Measure, path: Path, score: str) -> str | None:
    """The kind of score that a question is about; None if it is shown, but not tested."""
    if path == MACRO:
        return "overall exact macro"
    if measure.family in ("exact", "fair"):
        if path[-1] == "overall":
            return (
                "overall"
                if (measure.family, score) == ("exact", "f1")
                else f"overall {measure.family} {score}"
            )
        of_label = measure.family == "exact" and score == "f1" and path[-2] == "labels"
        return "labels" if of_label else None
    if measure.family == "tough":
        return "tough" if path[-1] == "overall" else None
    if measure.family == "hierarchy":
        return "hierarchy" if path[-2] != "labels" else None
    if measure.family == "leaks":
        return path[0] if path == ("overall",) or score == "leak_rate" else None
    return measure.family


def _identical(aligned: Aligned, systems: int) -> list[int]:
    """For each system, the first one with the same counts in every unit: that is, the same predictions."""
    seen: dict[tuple[object, ...], int] = {}
    first = []
    for number in range(systems):
        key = tuple(
            (name, run.counts.rows.tobytes(), np.asarray(run.counts.row).tobytes())
            for name, owners in aligned.items()
            if number in owners
            for run in owners[number]
        )
        first.append(seen.setdefault(key, number))
    return first


def _differences(
    aligned: Aligned,
    questions: Sequence[Question],
    pairs: Pairs,
    of_pairs: Callable[..., dict[str, Differences]] | None,
) -> dict[MeasureKey, tuple[dict[int, int], dict[str, Differences]]]:
    """For every measure, the row of each pair that has it, and the differences if `of_pairs` is given."""
    by_measure = {}
    for key, owners in aligned.items():
        cells = _question_cells(next(iter(owners.values()))[0], key, questions)
        position = {system: index for index, system in enumerate(owners)}
        having = [
            index for index, (first, second) in enumerate(pairs) if first in position and second in position
        ]
        if having:
            local = [(position[pairs[index][0]], position[pairs[index][1]]) for index in having]
            result = {} if of_pairs is None else of_pairs(list(owners.values()), local, cells=cells)
            by_measure[key] = ({index: row for row, index in enumerate(having)}, result)
    return by_measure


def _question_cells(measure: Measure, key: MeasureKey, questions: Sequence[Question]) -> list[int] | None:
    """The cells of a measure that questions are about; None if they cannot be scored alone."""
    cells = {question.cell for question in questions if question.measure == key}
    if measure.scorer not in ("exact", "recall", "credited") or len(measure.paths) < 3:
        return None
    # At least two: NumPy would add up a single column in another order.
    spare = [cell for cell in range(len(measure.paths)) if cell not in cells]
    return sorted([*cells, *spare[: max(2 - len(cells), 0)]])


def _over_runs(
    questions: Sequence[Question],
    pairs: Pairs,
    differences: Mapping[MeasureKey, tuple[dict[int, int], dict[str, Differences]]],
    correction: str,
    chosen: Path,
) -> Answers:
    p = np.full((len(pairs), len(questions)), np.nan)
    for key, (rows, by_score) in differences.items():
        of_score = {score: difference.p() for score, difference in by_score.items()}
        for index, question in enumerate(questions):
            if question.measure == key:
                for pair, row in rows.items():
                    p[pair, index] = of_score[question.score][row, question.cell]
    p[[first == second for first, second in pairs]] = np.nan
    primary = np.array([question.path == chosen for question in questions], dtype=bool)
    corrected = np.full(p.shape, np.nan)
    corrected[:, primary] = correct(p[:, primary], correction)
    corrected[:, ~primary] = correct(p[:, ~primary], correction)
    none = np.zeros(len(pairs), dtype=np.int64)
    size = int((~np.isnan(p[:, primary])).sum()), int((~np.isnan(p[:, ~primary])).sum())
    undecided = np.zeros(p.shape, dtype=bool)
    return Answers(p, corrected, [T_TEST] * len(pairs), none, undecided, None, *size)


def _shuffled(
    aligned: Aligned,
    questions: Sequence[Question],
    pairs: Pairs,
    resampling: Resampling,
    correction: str,
    primary: Path,
) -> Answers:
    shape = len(pairs), len(questions)
    p, corrected = np.full(shape, np.nan), np.full(shape, np.nan)
    distinct = [index for index, (left, right) in enumerate(pairs) if left != right]
    shuffles, differing = np.zeros(len(pairs), dtype=np.int64), np.zeros(len(pairs), dtype=np.int64)
    undecided = np.zeros(shape, dtype=bool)
    first = [index for index, question in enumerate(questions) if question.path == primary]
    others = [index for index, question in enumerate(questions) if question.path != primary]
    secondary, shared = 0, 0
    aligned, runs = _run_by_run(aligned)
    if distinct and first:
        tables, score = _scored_counts(aligned, questions[first[0]])
        position = {run: index for index, run in enumerate(tables)}
        randomised_scores = randomised(
            list(tables.values()),
            [pairs[index] for index in distinct],
            score,
            resampling,
            correction=correction,
            runs=[[position[run] for run in own if run in position] for own in runs],
        )
        p[distinct, first[0]], shuffles[distinct] = randomised_scores.p, randomised_scores.shuffles
        undecided[distinct, first[0]] = randomised_scores.undecided
        differing[distinct] = randomised_scores.differing
        corrected[distinct, first[0]] = corrected_pairs(randomised_scores.p, differing[distinct], correction)
    if distinct and others:
        chosen = [questions[index] for index in others]
        swapping, totals, hypotheses, order, absent = _hypotheses(aligned, chosen, resampling)
        family = stepped_down(
            swapping,
            totals,
            [pairs[index] for index in distinct],
            hypotheses,
            resampling,
            absent=np.array(
                [absent[runs[pairs[index][0]][0]] | absent[runs[pairs[index][1]][0]] for index in distinct]
            ),
            correction="maxt" if correction == "holm" else correction,
            runs=runs,
        )
        tested = np.ix_(distinct, [others[index] for index in order])
        p[tested], corrected[tested], undecided[tested] = family.p, family.p_corrected, family.undecided
        secondary, shared = int((~np.isnan(family.p)).sum()), family.shuffles
    tests = [RANDOMISATION if number else ENUMERATION for number in shuffles]
    return Answers(
        p,
        corrected,
        tests,
        shuffles,
        undecided,
        differing if first else None,
        len(distinct),
        secondary,
        shared,
    )


def _run_by_run(aligned: Aligned) -> tuple[Aligned, list[list[int]]]:
    """Every run as a system of its own, and the numbers of each system's runs."""
    systems = 1 + max(number for owners in aligned.values() for number in owners)
    many = [max(len(owners.get(number, ())) for owners in aligned.values()) for number in range(systems)]
    ends = np.cumsum([0, *many]).tolist()
    separate = {
        key: {ends[number] + at: [run] for number, runs in owners.items() for at, run in enumerate(runs)}
        for key, owners in aligned.items()
    }
    return separate, [list(range(begin, end)) for begin, end in pairwise(ends)]


def _scored_counts(
    aligned: Aligned, question: Question
) -> tuple[dict[int, Counts], Callable[[Floats], Floats]]:
    """The counts per unit behind one score, by system, and the function that scores their totals."""
    measures = {system: runs[0] for system, runs in aligned[question.measure].items()}
    first = next(iter(measures.values()))
    if question.path[:-1] == MACRO:  # needs the counts of all labels
        shape = (len(first.counts.cells), len(first.counts.columns))
        tables = {system: measure.counts for system, measure in measures.items()}
        return tables, lambda totals: first.score(totals.reshape(*totals.shape[:-1], *shape))[question.score][
            ..., 0
        ]
    form = fraction(first, question.score)
    used = np.flatnonzero((form.above[:, 0] != 0) | (form.below[:, 0] != 0))
    tables = {
        system: measure.counts.select_cells([question.cell]).select_columns(used.tolist())
        for system, measure in measures.items()
    }
    return tables, lambda totals: ratio(
        *(_weighted(totals, weights[used, 0]) for weights in (form.above, form.below))
    )


class _Ratio(Struct, frozen=True, eq=False):
    """A ratio of two weighted sums of the counts in one cell."""

    measure: MeasureKey
    cell: int
    above: Floats
    below: Floats

    def is_exact_in_single(self, counts: Counts) -> bool:
        """Whether single precision is exact for sums over any units."""
        total = counts.total[self.cell]
        return all(
            are_quarters(weights) and np.abs(weights) @ total < MOST_IN_SINGLE
            for weights in (self.above, self.below)
        )


def _hypotheses(
    aligned: Aligned, questions: Sequence[Question], resampling: Resampling
) -> tuple[Swapping, list[Floats], Hypotheses, list[int], Bools]:
    """The questions as fractions of sums over units.

    Returns:
        The numerators and denominators of every system per unit (or group of units), ready to be swapped,
        their totals by system, the hypotheses, the question behind each of these, and which a system lacks
        (systems × hypotheses).
    """
    systems = 1 + max(number for owners in aligned.values() for number in owners)
    ratios: list[_Ratio] = []
    plain_: list[tuple[int, int]] = []
    less: list[tuple[int, tuple[int, int]]] = []
    means: list[tuple[int, Ints]] = []
    for index, question in enumerate(questions):
        measure = next(iter(aligned[question.measure].values()))[0]
        if question.path[:-1] == MACRO:
            labels = range(1, 1 + len(measure.counts.cells))  # cell 0 is the sum over labels
            form = fraction(next(iter(aligned[EXACT].values()))[0], "f1")
            means.append((index, len(ratios) + np.arange(len(labels))))
            ratios += [_Ratio(EXACT, cell, form.above[:, 0], form.below[:, 0]) for cell in labels]
            continue
        form = fraction(measure, question.score)
        kinds = form.above.shape[1]  # gains have several scores per counted cell
        cell, kind = (0, question.cell) if kinds > 1 else (question.cell, 0)
        if form.less is None:
            plain_.append((index, len(ratios)))
        else:
            less.append((index, (len(ratios), len(ratios) + 1)))
        ratios.append(_Ratio(question.measure, cell, form.above[:, kind], form.below[:, kind]))
        if form.less is not None:
            ratios.append(_Ratio(question.measure, cell, form.less[0][:, 0], form.less[1][:, 0]))
    hypotheses = Hypotheses(
        len(ratios),
        np.array([position for _, position in plain_], dtype=np.int64),
        np.array([pair for _, pair in less], dtype=np.int64).reshape(-1, 2),
        tuple(group for _, group in means),
    )
    order = [index for part in (plain_, less, means) for index, _ in part]
    absent = np.array(
        [[system not in aligned[questions[index].measure] for index in order] for system in range(systems)]
    )
    totals = np.zeros((systems, 2 * len(ratios)))
    exact = all(
        term.is_exact_in_single(runs[0].counts) for term in ratios for runs in aligned[term.measure].values()
    )
    precision = np.float32 if exact else np.float64

    def summed() -> Iterator[tuple[int, list[Column]]]:
        """The numerators and denominators, whose totals are added up on the way."""
        for position, columns in _columns(aligned, ratios, systems, resampling.units):
            # cumsum adds one unit after the other: exact for counts, reproducible for other weights.
            totals[:, position] = [np.cumsum(column)[-1] for column in columns]
            yield position, [column.astype(precision) for column in columns]

    return Swapping.of_columns(summed()), list(totals), hypotheses, order, absent


def _columns(
    aligned: Aligned, ratios: Sequence[_Ratio], systems: int, units: int
) -> Iterator[tuple[int, list[Floats]]]:
    """Each numerator and denominator, by its position, per unit or group of units, for every system."""
    groups = max(BLOCK_COUNTS // max(2 * len(ratios) * systems, 1), FEWEST_GROUPS)
    none = np.zeros(min(units, groups))
    for key in dict.fromkeys(term.measure for term in ratios):  # one measure at a time, as tables are large
        tables = {system: _table(runs[0].counts, groups) for system, runs in aligned[key].items()}
        for index, term in enumerate(ratios):
            if term.measure != key:
                continue
            for position, weights in ((index, term.above), (len(ratios) + index, term.below)):
                weighted = {
                    system: _weighted(table[:, term.cell], weights) for system, table in tables.items()
                }
                yield position, [weighted.get(system, none) for system in range(systems)]


def _table(counts: Counts, groups: int) -> Column:
    """The counts per unit, or per group if there are more units than groups: units × cells × columns."""
    rows = counts.matrix() if counts.units <= groups else grouped(counts, groups)
    return rows.reshape(len(rows), len(counts.cells), len(counts.columns))


def _weighted(columns: Column, weights: Floats) -> Floats:
    """Weighted sums over the last axis, column by column: the order in BLAS depends on its threads."""
    result = np.zeros(columns.shape[:-1])
    for index, weight in enumerate(weights.tolist()):
        if weight:
            result += weight * columns[..., index]
    return result


# ---- the rows of a comparison ---------------------------------------------------------------


class _TestedMeasure(Struct, frozen=True, eq=False):
    """One tested measure: what is the same for all pairs, or is computed for all of them at once."""

    questions: Sequence[int]
    rows: Mapping[int, int]  # the row of each pair
    values: Mapping[int, Mapping[str, Floats]]  # the scores of each system, averaged over its runs
    mentions: Sequence[int | None]
    differences: Mapping[str, Differences]
    intervals: Mapping[str, Floats]
    detectable: Floats | None  # of the primary score

    @classmethod
    def of(
        cls, key: MeasureKey, owners: Mapping[int, Sequence[Measure]], rows: Mapping[int, int],
        by_score: Mapping[str, Differences], questions: Sequence[Question], answers: Answers | None,
        confidence: float, primary: Path,
    ) -> _TestedMeasure:  # fmt: skip
        """The measure of all systems that have it."""
        own = [index for index, question in enumerate(questions) if question.measure == key]
        scores = {questions[index].score for index in own}
        values = {}
        for number, runs in owners.items():
            of_runs = [run.values() for run in runs]
            values[number] = {score: _mean([run[score] for run in of_runs]) for score in scores}
        chosen = next((questions[index].score for index in own if questions[index].path == primary), None)
        detectable = None
        if answers is not None and chosen is not None and chosen in by_score:
            detectable = by_score[chosen].detectable(LEVEL / max(answers.family, 1))
        return cls(
            own,
            rows,
            values,
            _mentions(next(iter(owners.values()))[0]),
            by_score,
            {score: difference.interval(confidence) for score, difference in by_score.items()},
            detectable,
        )


def _comparison(
    pair: tuple[str, str],
    numbers: tuple[int, int],
    unique: Pairs,
    questions: Sequence[Question],
    measures: Sequence[_TestedMeasure],
    answers: Answers | None,
    correction: str,
    primary: Path,
    unit: str,
) -> Comparison:
    pair_index = unique.index((min(numbers), max(numbers)))
    swapped = numbers[0] > numbers[1]
    scores = []
    detectable: float | None = None
    cannot = None
    if answers is not None and answers.differing is not None and numbers[0] != numbers[1]:
        cannot = unreachable(int(answers.differing[pair_index]), answers.family, unit)
    for measure in measures:
        if pair_index not in measure.rows:
            continue
        at = measure.rows[pair_index]
        for index in measure.questions:
            question = questions[index]
            means = [float(measure.values[number][question.score][question.cell]) for number in numbers]
            row = _untested(question, means[0], means[1], measure.mentions[question.cell], primary)
            tested = measure.differences.get(question.score)
            if tested is not None:
                row = replace(row, units=int(tested.units[at, question.cell]))
            if answers is not None and row.difference is None:
                row = replace(row, why=UNDEFINED)
            elif answers is not None:
                bounds = measure.intervals[question.score][at, question.cell]
                low, high = (plain(bound) for bound in (-bounds[::-1] if swapped else bounds))
                interval = None if low is None or high is None else (low, high)
                verdict = _verdict(answers, pair_index, index, same=numbers[0] == numbers[1])
                row = replace(row, interval=interval, **verdict)
                open_here = answers.undecided[:, index]
                if question.path == primary and open_here.any():
                    # An undecided question is not rejected, and Holm's method then rejects nothing after it.
                    open_p = float(answers.p[open_here, index].min())
                    row = replace(row, significant=row.significant and row.p is not None and row.p < open_p)
                if open_here[pair_index]:
                    number = answers.shared if question.path != primary else answers.shuffles[pair_index]
                    row = replace(row, significant=False, why=OPEN.format(shuffles=int(number)))
                if question.path == primary and measure.detectable is not None and cannot is None:
                    detectable = plain(measure.detectable[at, question.cell])
            scores.append(row)
    comparison = Comparison(
        systems=pair, correction=correction, scores=tuple(scores), detectable=detectable, shuffles=0
    )
    if answers is None:
        return comparison
    main = [index for index, question in enumerate(questions) if question.path == primary]
    return replace(
        comparison,
        shuffles=int(answers.shuffles[pair_index]),
        test=answers.test[pair_index],
        pairs=answers.family,
        tests=answers.secondary,
        undecided=bool(answers.undecided[pair_index, main].any()),
        identical=numbers[0] == numbers[1],
        differing=UNSET if answers.differing is None else int(answers.differing[pair_index]),
        unreachable=cannot or UNSET,
    )


def _untested(
    question: Question, first: float, second: float, mentions: int | None, primary: Path
) -> ScoreTest:
    """One question and the scores of both systems, before it is tested."""
    return ScoreTest(
        path=question.path,
        family=question.family,
        role="primary" if question.path == primary else "secondary",
        a=plain(first),
        b=plain(second),
        difference=plain(first - second),
        interval=None,
        p=None,
        p_corrected=None,
        significant=False,
        mentions=mentions,
    )


def _mean(values: Sequence[Floats]) -> Floats:
    return values[0] if len(values) == 1 else np.asarray(np.mean(np.stack(values, axis=-1), axis=-1))


def _verdict(answers: Answers, pair: int, question: int, *, same: bool) -> dict[str, object]:
    """The p-values of one question about one pair, and whether the difference is significant."""
    if same:
        return {"p": 1.0, "p_corrected": 1.0}
    p, corrected = float(answers.p[pair, question]), float(answers.p_corrected[pair, question])
    if np.isnan(p):
        return {"why": STILL}
    return {"p": p, "p_corrected": corrected, "significant": corrected < LEVEL}


def _mentions(measure: Measure) -> list[int | None]:
    """The number of gold mentions (or units) of each scored cell."""
    if measure.scorer in ("gains", "averages") or measure.family == "fair":
        return [None] * len(measure.paths)
    gold: list[int | None] = measure.counts.total[:, 0].tolist()
    return gold


# ---- systems with several runs ---------------------------------------------------------------------


Runs = Sequence[Sequence[Measure]]


def compare_runs(
    runs: Mapping[str, Runs],
    pairs: Sequence[tuple[str, str]],
    resampling: Resampling,
    *,
    confidence: float,
    correction: str,
    primary: Path,
    shared_seeds: bool = False,
    only_primary: bool = False,
    unit: str = "unit",
) -> tuple[Comparison, ...]:
    """Compare all pairs, each by the test that its runs allow; the primary score is corrected over all."""
    several = [pair for pair in pairs if all(len(runs[name]) > 1 for name in pair)]
    single = [pair for pair in pairs if pair not in several]
    test = partial(
        compare_systems,
        confidence=confidence,
        correction=correction,
        primary=primary,
        wanted=(lambda question: question.path == primary) if only_primary else None,
        unit=unit,
    )
    comparisons: dict[tuple[str, str], Comparison] = {}
    unknown = (1.0,) * len(single)
    beside = replace(resampling, others=(*resampling.others, *unknown))
    over = test(runs, several, beside, over_runs=True, shared_seeds=shared_seeds)
    comparisons |= dict(zip(several, over, strict=True))
    known = tuple(row.primary.p for row in over if row.primary is not None and row.primary.p is not None)
    beside = replace(resampling, others=(*resampling.others, *known))
    comparisons |= dict(zip(single, test(runs, single, beside), strict=True))
    ordered = tuple(
        replace(comparisons[pair], runs=tuple(len(runs[name]) for name in pair)) for pair in pairs
    )
    if not (several and single):
        return ordered
    undecided = [bool(row.undecided) for row in ordered]
    return corrected_together(ordered, undecided, correction, units=[unit] * len(ordered))


def corrected_together(
    comparisons: Sequence[Comparison],
    undecided: Sequence[bool],
    correction: str,
    *,
    units: Sequence[str],
    of: str = "pair",
) -> tuple[Comparison, ...]:
    """The comparisons with the primary question corrected over all of them, however each was tested.

    Pairs of systems with the same predictions, or whose difference never varies, do not enlarge the family.
    An undecided test is not significant, and as Holm's method then rejects nothing after it, neither is any
    with a larger p; nor is a test that cannot reach the level of the whole family.

    Args:
        undecided: whether the p of each comparison is too close to its level.
        units: what the units of each comparison are called.
        of: what each test is about, if not about a pair alone.
    """
    rows = [comparison.primary for comparison in comparisons]
    members = [
        at
        for at, (row, comparison) in enumerate(zip(rows, comparisons, strict=True))
        if row is not None and row.p is not None and not comparison.identical
    ]
    p = np.array([row.p for at in members if (row := rows[at]) is not None], dtype=np.float64)
    differing = [_differing(comparisons[at]) for at in members]
    corrected = corrected_pairs(p, np.array(differing, dtype=np.int64), correction)
    open_ = [p[index] for index, at in enumerate(members) if undecided[at]]
    bound = min(open_, default=np.inf)
    result = [replace(comparison, pairs=UNSET) for comparison in comparisons]
    for index, at in enumerate(members):
        verdict = {
            "p_corrected": float(corrected[index]),
            "significant": bool(corrected[index] < LEVEL and p[index] < bound),
        }
        cannot = unreachable(differing[index], len(members), units[at], of=of)
        result[at] = replace(
            result[at],
            pairs=len(members),
            undecided=bool(undecided[at]),
            unreachable=cannot or UNSET,
            detectable=None if cannot else result[at].detectable,
            scores=tuple(
                replace(row, **verdict) if row.role == "primary" else row for row in result[at].scores
            ),
        )
    return tuple(result)


ANY_NUMBER = 1 << 10  # units that differ, where the test can reach any level


def _differing(comparison: Comparison) -> int:
    """The units in which two systems differ; where no level is out of reach for the test, many."""
    if comparison.test == T_TEST or comparison.differing is UNSET:
        return ANY_NUMBER
    return comparison.differing
