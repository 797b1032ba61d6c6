"""Search for slices: count conjunctions by packed codes, test them by sign flips, list them greedily."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Bools, Floats, Ints, floats, ints, ratio
from spanwise.counts import Counts
from spanwise.hashing import multipliers
from spanwise.intervals import jackknife
from spanwise.scores import RECALL, Measure, MeasureKey
from spanwise.settings import CONFIDENCE
from spanwise.uncertainty import Flips, halves, joined_units

GROUPS = 1000  # units are joined into this many if there are more and the work would be large
WORK = 5e10  # units x slices x flips above which units are joined
BLOCK = 4_000_000  # numbers in a block of rows
MOST = 20  # maximum number of slices to list

Key = tuple[tuple[int, int], ...]  # the conditions of a slice: (facet, value)


class Facet(Struct, frozen=True, eq=False):
    """One attribute of the items: the atom of each item, and which atoms each value covers.

    Buckets are disjoint, so each is one atom; tough subsets overlap, so each may cover several.
    """

    attribute: str
    values: tuple[str, ...]
    atom: Ints
    covers: Bools  # values x atoms

    @classmethod
    def of_codes(cls, attribute: str, values: Sequence[str], code: Ints) -> Facet:
        """The facet of an attribute whose values are mutually exclusive."""
        return cls(attribute, tuple(values), ints(code), np.eye(len(values), dtype=bool))

    @classmethod
    def of_members(cls, attribute: str, values: Sequence[str], member: Bools) -> Facet:
        """The facet of overlapping values: `member[i, j]` tells whether item `i` has value `j`."""
        packed = np.packbits(member, axis=1)
        rows, atom = np.unique(packed, axis=0, return_inverse=True)
        covers = np.unpackbits(rows, axis=1, count=len(values)).astype(bool).T
        return cls(attribute, tuple(values), ints(atom.reshape(-1)), covers)

    def mask(self, value: int) -> Bools:
        """Which items have a value."""
        return np.asarray(self.covers[value][self.atom])


class Items(Struct, frozen=True, eq=False):
    """The items to slice: the unit of each, its loss (or difference of losses), and its facets.

    Weights are whole numbers or lie on a grid, so that their sums do not depend on the order.
    """

    unit: Ints
    units: int
    weight: Floats
    facets: tuple[Facet, ...]
    paired: bool = False  # two systems: the weights are differences, tested against 0

    def __len__(self) -> int:
        return len(self.unit)

    def number_by(self, code: Ints, size: int) -> Ints:
        """The number of items with each code."""
        return np.bincount(code, minlength=size)

    def weight_by(self, code: Ints, size: int) -> Floats:
        """The total weight of the items with each code."""
        return floats(np.bincount(code, weights=self.weight, minlength=size))

    @property
    def total(self) -> float:
        """The total weight of all items."""
        return float(self.weight_by(ints(np.zeros(len(self.unit))), 1)[0])

    def take(self, rows: Bools | Ints) -> Items:
        """The items in the given rows."""
        return replace(
            self,
            unit=ints(self.unit[rows]),
            weight=floats(self.weight[rows]),
            facets=tuple(replace(facet, atom=ints(facet.atom[rows])) for facet in self.facets),
        )

    def mask(self, key: Key) -> Bools:
        """Which rows are in a slice."""
        result = np.ones(len(self.unit), dtype=bool)
        for facet, value in key:
            result &= self.facets[facet].mask(value)
        return result


class Sliced(Struct, frozen=True, eq=False):
    """The number and the weight of the items of each slice in each unit (slices x units)."""

    keys: list[Key]
    number: Floats
    weight: Floats

    @property
    def sizes(self) -> Ints:
        """The number of items of each slice."""
        return ints(np.rint(self.number.sum(axis=1)))

    def rows(self, whole: Sliced, *, paired: bool) -> Floats:
        """The contribution r of each unit to each slice's statistic; `whole` is the slice of all items.

        For one system r = (K_dS - p N_dS) - (n_S / n)(K_d - p N_d), p the mean loss of all n items.
        """
        if paired:
            rows = self.weight.copy()
            rows[np.abs(rows) < 1e-9 * np.abs(rows).max(initial=0)] = 0.0
            return rows
        p = float(ratio(whole.weight.sum(), whole.number.sum()))
        share = ratio(self.sizes, whole.sizes)[:, None]
        rows = (self.weight - p * self.number) - share * (whole.weight - p * whole.number)
        rows[np.abs(rows) < 1e-10] = 0.0  # remove rounding errors around 0
        return np.asarray(rows)


class ListedSlice(Struct, frozen=True, eq=False):
    """A slice in the result of a search."""

    key: Key
    units: int
    mean: float  # mean weight of its items
    t: float
    p: float | None
    rest_units: int  # items not covered by the slices listed before it
    rest_mean: float
    interval: tuple[float, float] | None = None  # of 1 - mean; holds for all tested slices simultaneously


class Search(Struct, frozen=True, eq=False):
    """The result of a search."""

    tested: int
    significant: int
    critical: float | None
    groups: int | None
    listed: list[ListedSlice]


def search(
    items: Items,
    *,
    depth: int = 2,
    least: int = 50,
    level: float = 0.05,
    flips: int = 2000,
    seed: int = 0,
    most: int = MOST,
) -> Search:
    """Test all conjunctions of up to `depth` conditions together, and list the significant ones greedily."""
    everything = items
    items, groups = _joined(items, depth, flips, seed)
    tester = Flips(items.units, flips, seed, two_sided=items.paired)
    whole = _whole(items)
    keys: list[Key] = []
    statistics: list[Floats] = []

    def blocks() -> Iterator[Floats]:
        for block in _slices(items, depth, least):
            rows = block.rows(whole, paired=items.paired)
            keys.extend(block.keys)
            statistics.append(tester.statistics(rows))
            yield rows

    maxima = tester.maxima(blocks())
    if not keys:
        return Search(0, 0, None, groups, [])
    t = np.concatenate(statistics)
    p = tester.p_values(t, maxima)
    chosen = np.flatnonzero((p <= level) & (t != 0))
    critical = tester.critical(maxima, level)
    listed = _listed(items, [keys[i] for i in chosen], t[chosen], p[chosen], critical, least, most)
    return Search(len(keys), len(chosen), critical, groups, _with_intervals(everything, listed, len(keys)))


def confirm(
    items: Items,
    *,
    depth: int = 2,
    least: int = 50,
    level: float = 0.05,
    flips: int = 2000,
    seed: int = 0,
    best: int = 5,
) -> tuple[int, int, list[ListedSlice]]:
    """Find the best slices on a random half of the units and test them on the other half.

    Returns:
        The number of units in each half, and the slices with t and p on the second half, corrected for
        the number of these slices.
    """
    first = halves(items.units, seed)
    inside = first[items.unit]
    best_slices = _best(items.take(inside), depth, least, best)
    other = items.take(~inside)
    number, rest = int(first.sum()), items.units - int(first.sum())
    if not best_slices or not len(other):
        return number, rest, []
    whole = _whole(other)
    sliced = _counted_keys(other, best_slices)
    rows = sliced.rows(whole, paired=items.paired)
    tester = Flips(items.units, flips, seed, two_sided=items.paired)
    t = tester.statistics(rows)
    p = tester.p_values(t, tester.maxima([rows]))
    slices = []
    for key, size, weight, statistic, chance in zip(
        best_slices,
        sliced.sizes.tolist(),
        sliced.weight.sum(axis=1).tolist(),
        t.tolist(),
        p.tolist(),
        strict=True,
    ):
        mean = float(ratio(weight, size))
        slices.append(ListedSlice(key, size, mean, statistic, chance, size, mean))
    return number, rest, _with_intervals(other, slices, len(slices))


def _with_intervals(items: Items, listed: Sequence[ListedSlice], tested: int) -> list[ListedSlice]:
    """Give the listed slices of one system the intervals of their scores; differences have none."""
    if items.paired or not listed:
        return list(listed)
    sliced = _counted_keys(items, [entry.key for entry in listed])
    return [
        replace(entry, interval=simultaneous(number, number - weight, tested))
        for entry, number, weight in zip(listed, sliced.number, sliced.weight, strict=True)
    ]


def simultaneous(number: Floats, right: Floats, tested: int) -> tuple[float, float]:
    """The interval of the share of right items in one of `tested` slices that holds for all of them at once.

    It is the jackknife's logit-t interval over the units that hold the slice, with Šidák's confidence
    .95^(1/tested) in place of .95; [0, 1] where fewer than two units hold the slice.

    Args:
        number: the items of the slice in each unit.
        right: those of them without a loss.

    Examples:
        >>> right = np.array([4.0, 3.0, 5.0, 4.0, 5.0, 3.0, 5.0, 3.0])
        >>> [[round(end, 2) for end in simultaneous(np.full(8, 5.0), right, tested)] for tested in (1, 10)]
        [[0.6, 0.91], [0.44, 0.95]]
    """
    matrix = np.stack([ints(np.rint(number)), ints(np.rint(right))], axis=1)
    counts = Counts.of_matrix(["slice"], RECALL, matrix)
    measure = Measure(MeasureKey("slice"), counts, "recall", (("slice",),), "exact", ("recall",))
    low, high = jackknife(measure)["recall"].interval(CONFIDENCE ** (1 / max(tested, 1)))[0].tolist()
    return (0.0, 1.0) if np.isnan(low) else (low, high)


def p_among_all(
    items: Items, inside: Bools, *, depth: int = 2, least: int = 50, flips: int = 2000, seed: int = 0
) -> float:
    """The p-value of one slice among all conjunctions and itself: it may have been chosen by its score."""
    items, _ = _joined(items, depth, flips, seed)
    tester, whole = Flips(items.units, flips, seed, two_sided=items.paired), _whole(items)
    chosen = _whole(items.take(inside))
    own = Sliced([()], chosen.number, chosen.weight).rows(whole, paired=items.paired)

    def blocks() -> Iterator[Floats]:
        yield own
        for block in _slices(items, depth, least):
            yield block.rows(whole, paired=items.paired)

    return float(tester.p_values(tester.statistics(own), tester.maxima(blocks()))[0])


def _best(items: Items, depth: int, least: int, best: int) -> list[Key]:
    """The slices with the highest t, each on the items left by the ones before, significant or not."""
    if not len(items):
        return []
    whole, keys, statistics = _whole(items), [], []
    tester = Flips(items.units, two_sided=items.paired)
    for block in _slices(items, depth, least):
        keys += block.keys
        statistics.append(tester.statistics(block.rows(whole, paired=items.paired)))
    if not keys:
        return []
    t = np.concatenate(statistics)
    height = np.abs(t) if items.paired else t
    order = np.argsort(-height, kind="stable")[:2000]  # more than enough to list a few
    listed = _listed(items, [keys[i] for i in order], t[order], np.ones(len(order)), 0.0, least, best)
    return [entry.key for entry in listed]


def possible(items: Items, depth: int) -> int:
    """The maximum number of conjunctions."""
    sizes = [len(facet.values) for facet in items.facets]
    # Elementary symmetric polynomials of the numbers of values.
    number = [1] + [0] * depth
    for size in sizes:
        for at in range(depth, 0, -1):
            number[at] += number[at - 1] * size
    return sum(number[1:])


def _joined(items: Items, depth: int, flips: int, seed: int) -> tuple[Items, int | None]:
    """Join units into random groups if there are too many; also return the number of groups, if any."""
    holding = int((np.bincount(items.unit, minlength=items.units) > 0).sum())
    if holding <= GROUPS or holding * possible(items, depth) * max(flips, 1) <= WORK:
        return items, None
    group = joined_units(items.units, GROUPS, seed)
    return replace(items, unit=ints(group[items.unit]), units=GROUPS), GROUPS


def _whole(items: Items) -> Sliced:
    number = items.number_by(items.unit, items.units).astype(np.float64)
    weight = items.weight_by(items.unit, items.units)
    return Sliced([()], number[None], weight[None])


def _slices(items: Items, depth: int, least: int) -> Iterator[Sliced]:
    """All distinct slices with enough items inside and outside, those with fewer conditions first."""
    marks = _marks(items)
    seen: set[tuple[int, ...]] = set()
    waiting: list[Sliced] = []
    size = 0
    for length in range(1, depth + 1):
        for combination in combinations(range(len(items.facets)), length):
            code, shape = _packed(items, combination)
            totals = _covered(items, combination, [_bins(code, shape, mark) for mark in marks])
            sizes = totals[0]
            enough = np.flatnonzero((sizes >= least) & (len(items) - sizes >= least))
            kept = []
            for cell in enough.tolist():
                sums = tuple(int(total[cell]) for total in totals)
                if sums not in seen:
                    seen.add(sums)
                    kept.append(cell)
            if not kept:
                continue
            block = _by_unit(items, combination, code, shape, kept)
            waiting.append(block)
            size += block.number.size
            if size >= BLOCK:
                yield _stacked(waiting)
                waiting, size = [], 0
    if waiting:
        yield _stacked(waiting)


def _marks(items: Items) -> list[Floats]:
    """For each item, 1 and two fixed random integers: slices with equal sums hold the same items."""
    number = len(items.unit)
    mixed = multipliers(2 * number)
    fingers = [(mixed[at::2] >> np.uint64(33)).astype(np.float64) for at in (0, 1)]
    return [np.ones(number), *fingers]


def _packed(items: Items, combination: Sequence[int]) -> tuple[Ints, tuple[int, ...]]:
    """The atoms of each item packed into one number, and the number of atoms of each facet."""
    code = np.zeros(len(items.unit), dtype=np.int64)
    shape = tuple(items.facets[facet].covers.shape[1] for facet in combination)
    for facet, atoms in zip(combination, shape, strict=True):
        code *= atoms
        code += items.facets[facet].atom
    return code, shape


def _bins(code: Ints, shape: tuple[int, ...], weight: Floats) -> Floats:
    whole = int(np.prod(shape))
    return floats(np.bincount(code, weights=weight, minlength=whole).reshape(1, *shape))


def _covered(items: Items, combination: Sequence[int], tables: Sequence[Floats]) -> list[Floats]:
    """Turn sums over atoms (units x atoms ...) into sums over values, with all facets in one axis."""
    result = []
    for table in tables:
        for axis, facet in enumerate(combination, start=1):
            covers = items.facets[facet].covers
            if not _is_identity(covers):
                table = np.moveaxis(np.tensordot(table, covers.astype(np.float64), axes=(axis, 1)), -1, axis)
        result.append(table.reshape(len(table), -1)[0] if len(table) == 1 else table.reshape(len(table), -1))
    return result


def _is_identity(covers: Bools) -> bool:
    return covers.shape[0] == covers.shape[1] and bool(covers.diagonal().all())


def _by_unit(
    items: Items, combination: Sequence[int], code: Ints, shape: tuple[int, ...], kept: Sequence[int]
) -> Sliced:
    whole = int(np.prod(shape))
    by_unit = items.unit * whole + code
    size = items.units * whole
    tables = [
        floats(table).reshape(items.units, *shape)
        for table in (items.number_by(by_unit, size), items.weight_by(by_unit, size))
    ]
    number, weight = (
        np.atleast_2d(table_by_value)[:, kept].T.astype(np.float64)
        for table_by_value in _covered(items, combination, tables)
    )
    ranges = [range(len(items.facets[facet].values)) for facet in combination]
    values = list(product(*ranges))
    return Sliced([tuple(zip(combination, values[cell], strict=True)) for cell in kept], number, weight)


def _stacked(parts: Sequence[Sliced]) -> Sliced:
    return Sliced(
        [key for part in parts for key in part.keys],
        np.concatenate([part.number for part in parts]),
        np.concatenate([part.weight for part in parts]),
    )


def _counted_keys(items: Items, keys: Sequence[Key]) -> Sliced:
    """Count the items of the given slices."""
    by_combination: dict[tuple[int, ...], list[int]] = {}
    for index, key in enumerate(keys):
        by_combination.setdefault(tuple(facet for facet, _ in key), []).append(index)
    number, weight = np.empty((len(keys), items.units)), np.empty((len(keys), items.units))
    for combination, listed in by_combination.items():
        code, shape = _packed(items, combination)
        widths = [len(items.facets[facet].values) for facet in combination]
        flat = [int(np.ravel_multi_index([value for _, value in keys[at]], widths)) for at in listed]
        block = _by_unit(items, combination, code, shape, flat)
        number[listed], weight[listed] = block.number, block.weight
    return Sliced(list(keys), number, weight)


def _listed(
    items: Items, keys: Sequence[Key], t: Floats, p: Floats, critical: float, least: int, most: int
) -> list[ListedSlice]:
    """List the best slice, then the best on the remaining items, and so on."""
    if not keys:
        return []
    whole, left = _whole(items), _counted_keys(items, keys)
    sizes, means = left.sizes, ratio(left.weight.sum(axis=1), left.number.sum(axis=1))
    conditions = np.array([len(key) for key in keys])
    tester = Flips(items.units, two_sided=items.paired)
    remaining = np.ones(len(items.unit), dtype=bool)
    open_ = np.ones(len(keys), dtype=bool)
    listed: list[ListedSlice] = []
    while len(listed) < most and open_.any():
        rest_sizes = left.sizes
        now = t if not listed else tester.statistics(left.rows(whole, paired=items.paired))
        height = np.where(open_ & (rest_sizes >= least), np.abs(now) if items.paired else now, -np.inf)
        if listed and not (height > critical).any():
            break
        # Summing the same counts in another order changes the last bits; treat such values as ties.
        best = np.lexsort((-rest_sizes, conditions, -np.round(height, 9)))[0]
        if not np.isfinite(height[best]) or height[best] <= 0:
            break
        listed.append(
            ListedSlice(
                keys[best],
                int(sizes[best]),
                float(means[best]),
                float(now[best]),
                None if listed else float(p[best]),
                int(rest_sizes[best]),
                float(ratio(left.weight[best].sum(), left.number[best].sum())),
            )
        )
        open_[best] = False
        leaving = remaining & items.mask(keys[best])
        remaining &= ~leaving
        gone = items.take(leaving)
        fewer, lost = _counted_keys(gone, keys), _whole(gone)
        left = Sliced(left.keys, left.number - fewer.number, left.weight - fewer.weight)
        whole = Sliced(whole.keys, whole.number - lost.number, whole.weight - lost.weight)
    return listed
