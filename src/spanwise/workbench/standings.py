"""Tests between the systems of a leaderboard, of one pair, and of each step in the history of a system."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from spanwise.document.scores import Comparison, ScoreTest
from spanwise.views import wording as words
from spanwise.views.verdict import pair_sentence
from spanwise.workbench.bench import Bench
from spanwise.workbench.index import TESTED
from spanwise.workbench.looks import level_of, one_sided
from spanwise.workbench.store import Gold, PooledRuns, pooled


def is_tie(comparison: Comparison) -> bool:
    """Whether a paired test finds no significant difference between two systems."""
    return comparison.primary is None or not comparison.primary.significant


def standing(bench: Bench, gold: Gold, score: str) -> dict[tuple[int, int], Comparison]:
    """The tests between the best systems of a gold set: all pairs of at most twenty, over all their runs.

    They are corrected together, whichever rows of the leaderboard a filter shows.
    """
    best = sorted(newest_pools(bench, gold), key=lambda pool: -(pool.score(score) or 0))[:TESTED]
    return bench.shelf.ties(gold, sorted(best, key=lambda row: row.id), score)


def newest_pools(bench: Bench, gold: Gold) -> list[PooledRuns]:
    """The latest result of every system, or its runs."""
    current = pooled([result for result in bench.store.results(gold.slug) if not result.gone])
    return list({pool.result.system: pool for pool in current}.values())


class Step(Struct, frozen=True):
    """A result in the history of a system, tested against the previous one and against the reference.

    Tests are one-sided, against a fall; step k is held against the level of look k, half of it for each.
    """

    number: int = 0  # the first result is step 0 and is not tested
    change: float | None = None  # from the previous result
    p: float | None = None
    since: float | None = None  # the change from the reference
    p_since: float | None = None
    level: float | None = None  # what each of the two p-values is held against
    fell: bool = False
    fell_since: bool = False


def step_of(bench: Bench, gold: Gold, own: Sequence[PooledRuns], at: int, score: str) -> Step:
    """Test one result of a system; `own` is its whole history, oldest first."""
    if not at:
        return Step()
    whole = level_of(at)
    level = None if whole is None else whole / 2
    base = reference_of(bench, gold, own)
    change, p = _fall(bench, gold, own[at], own[at - 1], score)
    since, p_since = _fall(bench, gold, own[at], own[base], score) if base < at else (None, None)
    return Step(
        number=at,
        change=change,
        p=p,
        since=since,
        p_since=p_since,
        level=level,
        fell=p is not None and level is not None and p <= level,
        fell_since=p_since is not None and level is not None and p_since <= level,
    )


def _fall(
    bench: Bench, gold: Gold, now: PooledRuns, before: PooledRuns, score: str
) -> tuple[float | None, float | None]:
    """The difference between two results of a system, and its p-value against a fall."""
    comparison = bench.shelf.pair(gold, now, before, score)
    row = None if comparison is None else comparison.primary
    return (None, None) if row is None else (row.difference, one_sided(row.p, row.difference))


def reference_of(bench: Bench, gold: Gold, own: Sequence[PooledRuns]) -> int:
    """The position of the result that a history is compared with: the first, unless another was chosen."""
    chosen = bench.store.references(gold.slug).get(own[0].result.system)
    holding = [at for at, pool in enumerate(own) if any(run.id == chosen for run in pool.runs)]
    return holding[0] if holding else 0


class PairVerdict(Struct, frozen=True, kw_only=True):
    """Whether two systems differ: in the family of the leaderboard, or as a look of its own.

    The difference is that of the means over runs, first minus second. On the leaderboard p is corrected over
    all `pairs`; any other pair is question number `looks`, and p is held against `level`.
    """

    difference: float | None
    interval: tuple[float | None, float | None] | None
    p: float | None
    p_corrected: float | None
    significant: bool
    runs: tuple[int, int]
    test: str | None
    pairs: int | None
    level: float | None
    looks: int | None
    said: str
    sentence: str = ""  # which system is better and by how much, in the words of every other surface


def verdict_of(bench: Bench, gold: Gold, a: PooledRuns, b: PooledRuns, score: str) -> PairVerdict | None:
    """Test two systems over all their runs; None if their counts per unit are missing or differ."""
    tests = standing(bench, gold, score)
    pair, look = (a.id, b.id), None
    comparison = tests.get(pair) or tests.get(pair[::-1])
    on_board = comparison is not None and [a, b] == _pools(bench, gold, pair)
    if not on_board:
        comparison = bench.shelf.pair(gold, a, b, score)
    row = None if comparison is None else comparison.primary
    if comparison is None or row is None:
        return None
    swapped = comparison.systems[0] != str(a.id)
    significant, p_corrected, said = row.significant, row.p_corrected, ""
    if on_board:
        said = f"corrected over the {words.plural(len(tests), 'pair')} of the leaderboard (Holm)"
    else:
        sides = sorted(",".join(f"{run.sha256}:{run.system}" for run in pool.runs) for pool in (a, b))
        look = bench.look(gold, "pair", score, *sides)
        significant = row.p is not None and look.level is not None and row.p <= look.level
        p_corrected, said = None, look.words
    ends = row.interval
    if swapped and ends is not None:
        ends = (None if ends[1] is None else -ends[1], None if ends[0] is None else -ends[0])
    difference = row.difference
    if swapped and difference is not None:
        difference = -difference
    return PairVerdict(
        sentence=_sentence(
            a, b, difference, row.p if p_corrected is None else p_corrected, significant, score
        ),
        difference=difference,
        interval=ends,
        p=row.p,
        p_corrected=p_corrected,
        significant=significant,
        runs=(len(a.runs), len(b.runs)),
        test=comparison.test or None,
        pairs=len(tests) if on_board else None,
        level=None if look is None else look.level,
        looks=None if look is None else look.number,
        said=said,
    )


def _sentence(
    a: PooledRuns, b: PooledRuns, difference: float | None, p: float | None, significant: bool, score: str
) -> str:
    if difference is None:
        return ""
    names = [pool.result.system for pool in (a, b)]
    leader, other = names if difference >= 0 else names[::-1]
    return str(pair_sentence(leader, other, abs(difference), p, score, significant=significant))


def _pools(bench: Bench, gold: Gold, numbers: Sequence[int]) -> list[PooledRuns | None]:
    by_number = {pool.id: pool for pool in newest_pools(bench, gold)}
    return [by_number.get(number) for number in numbers]


def with_verdict(scores: Sequence[ScoreTest], verdict: PairVerdict | None) -> tuple[ScoreTest, ...]:
    """The tested scores of a comparison, with the verdict in place of the primary score's own test."""
    if verdict is None:
        return tuple(scores)
    return tuple(
        replace(
            row,
            difference=verdict.difference,
            interval=verdict.interval,
            p=verdict.p,
            p_corrected=verdict.p if verdict.p_corrected is None else verdict.p_corrected,
            significant=verdict.significant,
        )
        if row.role == "primary"
        else row
        for row in scores
    )
