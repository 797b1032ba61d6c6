"""Paired tests of the differences between systems: one primary question, and one family of all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from itertools import pairwise
from math import lcm
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Bools, Column, Floats, Ints, compact, frozen, is_exact_in_single, plain, ratio
from spanwise.counts import Counts, grouped
from spanwise.diagnosis import F1
from spanwise.document.scores import Comparison, ScoreTest
from spanwise.engines import release_freed_memory
from spanwise.intervals import Differences, differences
from spanwise.scores import Measure, MeasureKey, fraction
from spanwise.statistics import LEVEL, correct
from spanwise.uncertainty import (
    BLOCK_COUNTS,
    FEWEST_GROUPS,
    Hypotheses,
    Pairs,
    Resampling,
    randomised,
    stepped_down,
)

Path = tuple[str, ...]

EXACT = MeasureKey("exact")
AVERAGES = MeasureKey("averages")
MACRO: Path = ("exact", "macro")
STILL = "the difference between the two systems does not vary here"
UNDEFINED = "the score of one of the two systems is undefined"
POWER = 0.8  # of finding a difference of the smallest detectable size

RANDOMISATION = "randomisation"
ENUMERATION = "exact randomisation"
T_TEST = "t-test over runs"


class Question(Struct, frozen=True):
    """One tested score: the measure it belongs to, its place there, and where the document has it."""

    measure: MeasureKey
    score: str
    cell: int
    path: Path
    family: str


class Answers(Struct, frozen=True, eq=False):
    """p-values of all questions over pairs (pairs × questions), and how they were made."""

    p: Floats
    p_corrected: Floats
    test: Sequence[str]  # of the primary question, for each pair
    shuffles: Ints  # of the primary question, for each pair
    undecided: Bools  # whether more shuffles would be needed, for each pair
    family: int  # the pairs over which the primary question is corrected
    secondary: int  # the questions that are corrected together


def compared(
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
) -> tuple[Comparison, ...]:
    """For each pair the differences of all tested scores, first minus second, with intervals and p-values.

    The primary question, overall F1 or another score, is corrected over pairs; all other scores of all pairs
    are one secondary family. With `over_runs` training varies as well as data: tests are t-tests over runs
    and units, and both families are corrected by Holm's method.

    Args:
        systems: the measures of each run of each system.
        wanted: which scores to test; by default all.
    """
    names = [name for name in systems if any(name in pair for pair in pairs)]
    if not names:
        return ()
    aligned = _aligned([systems[name] for name in names])
    questions = [question for question in _questions(aligned) if wanted is None or wanted(question)]
    same = _identical(aligned, len(names))
    number = {name: same[at] for at, name in enumerate(names)}
    wholes = [(number[one], number[other]) for one, other in pairs]
    unique = list(dict.fromkeys((min(pair), max(pair)) for pair in wholes))
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
    return tuple(
        _comparison(pair, whole, unique, questions, aligned, tested, answers, confidence, correction, primary)
        for pair, whole in zip(pairs, wholes, strict=True)
    )


Aligned = Mapping[MeasureKey, Mapping[int, Sequence[Measure]]]  # the runs of each system that has the measure


def _aligned(systems: Sequence[Sequence[Sequence[Measure]]]) -> dict[MeasureKey, dict[int, list[Measure]]]:
    """The tested measures with the same cells for all runs of all systems that have them, a cell each."""
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
        result[key] = dict(zip(owners, ([one.cell_by_cell for one in part] for part in parts), strict=True))
        if key == EXACT:
            result[AVERAGES] = dict(
                zip(owners, ([_macro(one) for one in part] for part in parts), strict=True)
            )
    return result


def same_cells(measures: Sequence[Measure]) -> list[Measure]:
    """The same measure of several systems or runs, with the cells of all of them in one order."""
    if all(measure.counts.cells == measures[0].counts.cells for measure in measures):
        return list(measures)
    path_of: dict[str, Path] = {}
    for measure in measures:
        added = len(measure.paths) - len(measure.counts.cells)  # such as the sum over labels, in front
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
        for one in [next(iter(owners.values()))[0]]
        for score in one.tested
        for index, path in enumerate(one.paths)
        for family in [_family(one, path, score)]
        if family is not None
    ]


def _family(measure: Measure, path: Path, score: str) -> str | None:
    """The kind of score that a question is about; None: it is shown, but not tested."""
    if path == MACRO:
        return "overall exact macro"
    if measure.family in ("exact", "fair"):
        if path[-1] == "overall":
            return (
                "overall"
                if (measure.family, score) == ("exact", "f1")
                else f"overall {measure.family} {score}"
            )
        named = measure.family == "exact" and score == "f1" and path[-2] == "labels"
        return "labels" if named else None
    if measure.family == "tough":
        return "tough" if path[-1] == "overall" else None
    return measure.family


def _identical(aligned: Aligned, systems: int) -> list[int]:
    """For each system the first one with the same counts in every unit: the same predictions, twice."""
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
    """Of every measure the rows that pairs have, by the number of the pair, and the differences, if asked."""
    found = {}
    for key, owners in aligned.items():
        cells = _asked_cells(next(iter(owners.values()))[0], key, questions)
        place = {system: at for at, system in enumerate(owners)}
        having = [at for at, (one, other) in enumerate(pairs) if one in place and other in place]
        if having:
            local = [(place[pairs[at][0]], place[pairs[at][1]]) for at in having]
            result = {} if of_pairs is None else of_pairs(list(owners.values()), local, cells=cells)
            found[key] = ({at: row for row, at in enumerate(having)}, result)
    return found


def _asked_cells(measure: Measure, key: MeasureKey, questions: Sequence[Question]) -> list[int] | None:
    """The cells of a measure that questions are about; None where they cannot be looked at alone."""
    asked = {question.cell for question in questions if question.measure == key}
    if measure.scorer not in ("exact", "recall", "credited") or len(measure.paths) < 3:
        return None
    # Two at least: the sums of a single column would be added up in another order.
    spare = [cell for cell in range(len(measure.paths)) if cell not in asked]
    return sorted([*asked, *spare[: max(2 - len(asked), 0)]])


def _over_runs(
    questions: Sequence[Question],
    pairs: Pairs,
    differences: Mapping[MeasureKey, tuple[dict[int, int], dict[str, Differences]]],
    correction: str,
    chosen: Path,
) -> Answers:
    p = np.full((len(pairs), len(questions)), np.nan)
    for key, (rows, by_score) in differences.items():
        of_score = {score: one.p() for score, one in by_score.items()}
        for index, question in enumerate(questions):
            if question.measure == key:
                for at, row in rows.items():
                    p[at, index] = of_score[question.score][row, question.cell]
    p[[one == other for one, other in pairs]] = np.nan
    primary = np.array([question.path == chosen for question in questions], dtype=bool)
    corrected = np.full(p.shape, np.nan)
    corrected[:, primary] = correct(p[:, primary], correction)
    corrected[:, ~primary] = correct(p[:, ~primary], correction)
    none = np.zeros(len(pairs), dtype=np.int64)
    size = int((~np.isnan(p[:, primary])).sum()), int((~np.isnan(p[:, ~primary])).sum())
    return Answers(p, corrected, [T_TEST] * len(pairs), none, none > 0, *size)


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
    distinct = [at for at, (one, other) in enumerate(pairs) if one != other]
    shuffles, undecided = np.zeros(len(pairs), dtype=np.int64), np.zeros(len(pairs), dtype=bool)
    first = [index for index, question in enumerate(questions) if question.path == primary]
    others = [index for index, question in enumerate(questions) if question.path != primary]
    secondary = 0
    if distinct and first:
        tables, score = _scored_counts(aligned, questions[first[0]])
        place = {system: at for at, system in enumerate(tables)}
        randomised_scores = randomised(
            list(tables.values()),
            [(place[pairs[at][0]], place[pairs[at][1]]) for at in distinct],
            score,
            resampling,
            correction=correction,
        )
        p[distinct, first[0]], shuffles[distinct] = randomised_scores.p, randomised_scores.shuffles
        undecided[distinct] = randomised_scores.undecided
        corrected[distinct, first[0]] = correct(randomised_scores.p, correction)
    if distinct and others:
        chosen = [questions[place] for place in others]
        matrices, totals, hypotheses, order, absent = _hypotheses(aligned, chosen, resampling)
        family = stepped_down(
            matrices,
            totals,
            [pairs[at] for at in distinct],
            hypotheses,
            resampling,
            absent=np.array([absent[pairs[at][0]] | absent[pairs[at][1]] for at in distinct]),
            correction="maxt" if correction == "holm" else correction,
        )
        here = np.ix_(distinct, [others[at] for at in order])
        p[here], corrected[here] = family.p, family.p_corrected
        secondary = int((~np.isnan(family.p)).sum())
    tests = [RANDOMISATION if number else ENUMERATION for number in shuffles]
    return Answers(p, corrected, tests, shuffles, undecided, len(distinct), secondary)


def _scored_counts(
    aligned: Aligned, question: Question
) -> tuple[dict[int, Counts], Callable[[Floats], Floats]]:
    """The counts per unit that one score divides, by system, and how totals of them are scored."""
    measures = {system: runs[0] for system, runs in aligned[question.measure].items()}
    first = next(iter(measures.values()))
    if question.path[:-1] == MACRO:  # needs the counts of all labels
        shape = (len(first.counts.cells), len(first.counts.columns))
        tables = {system: measure.counts for system, measure in measures.items()}
        return tables, lambda totals: first.score(totals.reshape(*totals.shape[:-1], *shape))[question.score][
            ..., 0
        ]
    form = fraction(first, question.score)
    tables = {system: measure.counts.of_cells([question.cell]) for system, measure in measures.items()}
    return tables, lambda totals: ratio(*(_weighted(totals, one[:, 0]) for one in (form.above, form.below)))


def _hypotheses(
    aligned: Aligned, questions: Sequence[Question], resampling: Resampling
) -> tuple[list[Floats], list[Floats], Hypotheses, list[int], Bools]:
    """The questions as fractions of sums over units.

    Returns:
        Numerators and denominators of every system per unit (or group of units), their totals, the
        hypotheses, which question each of these is, and which a system lacks (systems × hypotheses).
    """
    systems = 1 + max(number for owners in aligned.values() for number in owners)
    places: list[tuple[MeasureKey, str, int, Floats, Floats]] = []
    plain_: list[tuple[int, int]] = []
    less: list[tuple[int, tuple[int, int]]] = []
    mean: list[tuple[int, Ints]] = []
    for at, question in enumerate(questions):
        one = next(iter(aligned[question.measure].values()))[0]
        if question.path[:-1] == MACRO:
            labels = range(1, 1 + len(one.counts.cells))  # of the table of labels; the sum comes first
            form = fraction(next(iter(aligned[EXACT].values()))[0], "f1")
            mean.append((at, len(places) + np.arange(len(labels))))
            places += [(EXACT, "f1", cell, form.above[:, 0], form.below[:, 0]) for cell in labels]
            continue
        form = fraction(one, question.score)
        kinds = form.above.shape[1]  # gains: several scores of one counted cell
        cell, kind = (0, question.cell) if kinds > 1 else (question.cell, 0)
        if form.less is None:
            plain_.append((at, len(places)))
        else:
            less.append((at, (len(places), len(places) + 1)))
        places.append((question.measure, question.score, cell, form.above[:, kind], form.below[:, kind]))
        if form.less is not None:
            places.append((question.measure, "", cell, form.less[0][:, 0], form.less[1][:, 0]))
    hypotheses = Hypotheses(
        len(places),
        np.array([place for _, place in plain_], dtype=np.int64),
        np.array([both for _, both in less], dtype=np.int64).reshape(-1, 2),
        tuple(group for _, group in mean),
    )
    order = [at for part in (plain_, less, mean) for at, _ in part]
    groups = max(BLOCK_COUNTS // max(2 * len(places) * systems, 1), FEWEST_GROUPS)
    matrices, totals = [], []
    for system in range(systems):
        matrix, total = _fractions(aligned, places, system, groups, resampling.units)
        matrices.append(matrix)
        totals.append(total)
    absent = np.array(
        [[system not in aligned[questions[at].measure] for at in order] for system in range(systems)]
    )
    return matrices, totals, hypotheses, order, absent


def _fractions(
    aligned: Aligned,
    places: Sequence[tuple[MeasureKey, str, int, Floats, Floats]],
    system: int,
    groups: int,
    units: int,
) -> tuple[Floats, Floats]:
    """Numerators, then denominators of one system, per unit or group of units, and their totals."""
    number = min(units, groups)
    matrix: Column = np.zeros((2 * len(places), number), dtype=np.float32)
    totals = np.zeros(2 * len(places))
    for key in dict.fromkeys(place[0] for place in places):  # one table at a time: all of them are large
        if system not in aligned[key]:
            continue
        counts = aligned[key][system][0].counts
        rows = counts.matrix() if units <= groups else grouped(counts, groups)
        table = rows.reshape(number, len(counts.cells), len(counts.columns))
        for at, (owner, _, cell, above, below) in enumerate(places):
            for index, weights in ((at, above), (len(places) + at, below)) if owner == key else ():
                weighted = _weighted(table[:, cell], weights)
                # Added up one unit after the other: exact for counts, the same bits for other weights.
                totals[index] = np.cumsum(weighted)[-1]
                if matrix.dtype == np.float32 and not is_exact_in_single(weighted):
                    matrix = matrix.astype(np.float64)
                matrix[index] = weighted
    return compact(matrix.T), totals


def _weighted(columns: Column, weights: Floats) -> Floats:
    """Weighted sums over the last axis, column by column: the order of BLAS depends on its threads."""
    result = np.zeros(columns.shape[:-1])
    for at in np.flatnonzero(weights).tolist():
        result += weights[at] * columns[..., at]
    return result


# ---- the rows of a comparison ---------------------------------------------------------------


def _comparison(
    pair: tuple[str, str],
    whole: tuple[int, int],
    unique: Pairs,
    questions: Sequence[Question],
    aligned: Aligned,
    differences: Mapping[MeasureKey, tuple[dict[int, int], dict[str, Differences]]],
    answers: Answers | None,
    confidence: float,
    correction: str,
    primary: Path,
) -> Comparison:
    at = unique.index((min(whole), max(whole)))
    turned = whole[0] > whole[1]
    scores = []
    detectable: float | None = None
    for key, (rows, by_score) in differences.items():
        if at not in rows:
            continue
        sides = [aligned[key][number] for number in whole]
        mentions = _mentions(sides[0][0])
        values = [[run.values() for run in runs] for runs in sides]
        intervals = {score: one.interval(confidence)[rows[at]] for score, one in by_score.items()}
        for index, question in enumerate(questions):
            if question.measure != key:
                continue
            both = [_mean([float(run[question.score][question.cell]) for run in side]) for side in values]
            row = _untested(question, both[0], both[1], primary) | {"mentions": mentions[question.cell]}
            one = by_score.get(question.score)
            if one is not None:
                row["units"] = int(one.units[rows[at], question.cell])
            if answers is not None and row["difference"] is None:
                row["why"] = UNDEFINED
            elif answers is not None:
                bounds = intervals[question.score][question.cell]
                low, high = (plain(bound) for bound in (-bounds[::-1] if turned else bounds))
                row["interval"] = None if low is None or high is None else (low, high)
                row |= _verdict(answers, at, index, same=whole[0] == whole[1])
                if question.path == primary and answers.undecided.any():
                    # What is undecided is not rejected, and Holm's method then rejects nothing after it.
                    open_p = float(answers.p[answers.undecided, index].min())
                    row["significant"] &= row["p"] is not None and row["p"] < open_p
                if question.path == primary and one is not None:
                    error = float(one.error[rows[at], question.cell])
                    detectable = plain(_detectable(error, answers.family))
            scores.append(ScoreTest(**row))
    comparison: dict[str, Any] = {"systems": pair, "correction": correction, "scores": tuple(scores)}
    comparison["detectable"] = detectable
    comparison["shuffles"] = int(answers.shuffles[at]) if answers is not None else 0
    if answers is not None:
        comparison |= {
            "test": answers.test[at],
            "pairs": answers.family,
            "tests": answers.secondary,
            "undecided": bool(answers.undecided[at]),
            "identical": whole[0] == whole[1],
        }
    return Comparison(**comparison)


def _untested(question: Question, first: float, second: float, primary: Path) -> dict[str, Any]:
    """What is asked of two systems and what they score, before any test of it."""
    return {
        "path": question.path,
        "family": question.family,
        "role": "primary" if question.path == primary else "secondary",
        "a": plain(first),
        "b": plain(second),
        "difference": plain(first - second),
        "interval": None,
        "p": None,
        "p_corrected": None,
        "significant": False,
    }


def _mean(values: Sequence[float]) -> float:
    return values[0] if len(values) == 1 else float(np.mean(values))


def _verdict(answers: Answers, at: int, place: int, *, same: bool) -> dict[str, object]:
    """p, corrected p and what they allow to say of one question about one pair."""
    if same:
        return {"p": 1.0, "p_corrected": 1.0}
    p, corrected = float(answers.p[at, place]), float(answers.p_corrected[at, place])
    if np.isnan(p):
        return {"why": STILL}
    return {"p": p, "p_corrected": corrected, "significant": corrected < LEVEL}


def _detectable(error: float, tests: int) -> float:
    """(z₁₋α′⁄₂ + z₀.₈) standard errors: what would be found four times in five at the corrected level α′."""
    if not error > 0:
        return float("nan")
    from statistics import NormalDist

    normal = NormalDist()
    return (normal.inv_cdf(1 - LEVEL / max(tests, 1) / 2) + normal.inv_cdf(POWER)) * error


def _mentions(measure: Measure) -> list[int | None]:
    """The gold mentions (or units) of each scored cell."""
    if measure.scorer in ("gains", "averages") or measure.family == "fair":
        return [None] * len(measure.paths)
    gold: list[int | None] = measure.counts.total[:, 0].tolist()
    return gold


# ---- systems with several runs ---------------------------------------------------------------------


Runs = Sequence[Sequence[Measure]]


def compared_runs(
    runs: Mapping[str, Runs],
    pairs: Sequence[tuple[str, str]],
    resampling: Resampling,
    *,
    confidence: float,
    correction: str,
    primary: Path,
    shared_seeds: bool = False,
    only_primary: bool = False,
) -> tuple[Comparison, ...]:
    """The comparisons of all pairs, each by the test that its runs allow; the primary score over all."""
    several = [pair for pair in pairs if all(len(runs[name]) > 1 for name in pair)]
    single = [pair for pair in pairs if pair not in several]
    test = partial(
        compared,
        resampling=resampling,
        confidence=confidence,
        correction=correction,
        primary=primary,
        wanted=(lambda question: question.path == primary) if only_primary else None,
    )
    comparisons: dict[tuple[str, str], Comparison] = {}
    over = test(runs, several, over_runs=True, shared_seeds=shared_seeds)
    comparisons |= dict(zip(several, over, strict=True))
    most = lcm(*(len(named) for named in runs.values())) if runs else 1
    pooled = {name: [_pooled(named, most)] for name, named in runs.items()}
    of_models = test(pooled, single)
    comparisons |= dict(zip(single, (_once(of_model, most) for of_model in of_models), strict=True))
    ordered = tuple(
        replace(comparisons[pair], runs=tuple(len(runs[name]) for name in pair)) for pair in pairs
    )
    return _corrected_together(ordered, correction) if several and single else ordered


def _corrected_together(comparisons: Sequence[Comparison], correction: str) -> tuple[Comparison, ...]:
    """The primary question corrected over all pairs, though they were tested in two ways."""
    rows = [comparison.primary for comparison in comparisons]
    p = {at: row.p for at, row in enumerate(rows) if row is not None and row.p is not None}
    corrected = dict(zip(p, correct(list(p.values()), correction).tolist(), strict=True))
    return tuple(
        replace(
            comparison,
            pairs=len(p),
            scores=tuple(
                replace(
                    row,
                    p_corrected=corrected[at],
                    significant=corrected[at] < LEVEL and not comparison.undecided,
                )
                if row.role == "primary" and at in corrected
                else row
                for row in comparison.scores
            ),
        )
        for at, comparison in enumerate(comparisons)
    )


def _pooled(runs: Runs, most: int) -> list[Measure]:
    """The measures of several runs as one: counts added up unit by unit.

    Every system is weighed as if it had the same number of runs, since units change sides in the test.
    """
    by_name = [{measure.name: measure for measure in run} for run in runs]
    shared = [name for name in by_name[0] if all(name in measures for measures in by_name)]
    return [_added([measures[name] for measures in by_name], most // len(runs)) for name in shared]


def _added(measures: Sequence[Measure], times: int) -> Measure:
    same = same_cells(measures)
    total = reduce(np.add, [one.counts.matrix() for one in same]) * np.int32(times)
    counts = Counts.of_matrix(same[0].counts.cells, same[0].counts.columns, frozen(total))
    return replace(same[0], counts=counts)


def _once(comparison: Comparison, most: int) -> Comparison:
    """Gold mentions were added up over runs; say how many there are."""
    scores = tuple(
        replace(row, mentions=row.mentions // most) if row.mentions else row for row in comparison.scores
    )
    return replace(comparison, scores=scores)
