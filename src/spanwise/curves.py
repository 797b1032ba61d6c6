"""Fit a learning curve to results with different amounts of training data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from spanwise import __version__
from spanwise.columns import Floats, floats
from spanwise.document import gold_input
from spanwise.document.evaluation import Evaluation
from spanwise.document.loading import load_summary
from spanwise.document.planning import CurveLine, CurveSettings, LearningCurve, SystemCurve, TrainingSize
from spanwise.errors import ChoiceError, InputError, many
from spanwise.settings import CONFIDENCE
from spanwise.student import t_quantile

__all__ = ["curve"]

LEAST_SIZES = 4
FARTHEST = 2  # times the largest size: beyond, nothing is extrapolated
AHEAD = (1.5, FARTHEST)
DRAWN = 33  # points of a line
FLATTEST, STEEPEST = 1e-3, 30.0  # exponents: a straight line, and a step after the smallest size
TRIED, ZOOMS, ZOOMED = 200, 10, 21  # exponents on the first grid, grids, and exponents on the others
NEGLIGIBLE = 1e-15  # of a sum of squares
PLACE = "{size}"
HOW = (
    f"Tag results with spanwise evaluate … --tag size=2000, or say where the names of files hold the size: "
    f"--size 'crf-{PLACE}.json'."
)

Source: TypeAlias = Evaluation | str | Path
Results: TypeAlias = Source | Iterable[Source] | Mapping[int, Source | Sequence[Source]]


def curve(results: Results, *, size: str = "size", at: Sequence[int] = ()) -> LearningCurve:
    """Fit how F1 grows with the training data, and say what up to twice as much would give.

    F(n) = a − b·n^(−c) with a ≤ 1, b ≥ 0 and c > 0 is fitted by least squares to the mean F1 per training
    size. The band is that of the jackknife over sizes: SE² = (k − 1)/k · Σ(F₋ᵢ − mean)², F₋ᵢ being the curve
    without the i-th of k sizes, and Student's t with k − 3 degrees of freedom.

    Args:
        results: a folder of results, results or their paths, or a mapping from training size to results.
            All are over the same gold data; several results of one size are averaged.
        size: the tag that holds the size, as in `evaluate(…, tags={"size": "2000"})`, or a pattern of file
            names with `{size}` in place of the number, such as "crf-{size}-*.json".
        at: further sizes to predict, from the smallest to twice the largest; 1.5 and 2 times the largest
            always are.

    Returns:
        The curve of each system, which needs at least four sizes.

    Examples:
        >>> import spanwise
        >>> gold = [["B-PER", "O"]] * 60
        >>> missing = {100: 30, 200: 20, 400: 13, 800: 9}
        >>> results = {
        ...     size: spanwise.evaluate(gold, [["O", "O"]] * number + gold[number:], resamples=0)
        ...     for size, number in missing.items()
        ... }
        >>> [round(100 * point.fitted, 1) for point in curve(results).systems["predicted"].points]
        [66.6, 80.1, 87.7, 92.0, 93.5, 94.4]
    """
    read = list(_read(results, size))
    _check_gold(read)
    systems = list(dict.fromkeys(name for one in read for name in one.document.systems))
    first = read[0].document
    return LearningCurve(
        spanwise=__version__,
        signature=first.signature,
        inputs=tuple(row for row in first.inputs if row.role == "gold"),
        settings=CurveSettings(size="given" if isinstance(results, Mapping) else size, confidence=CONFIDENCE),
        systems={system: _fitted(system, read, at) for system in systems},
    )


# ---- results and their sizes -----------------------------------------------------------------------


class Sized(Struct, frozen=True):
    """A result, its name for messages, and the size of its training data."""

    name: str
    size: int
    document: Evaluation


def _read(results: Results, size: str) -> Iterator[Sized]:
    if isinstance(results, Mapping):
        for number, several in results.items():
            for source in [several] if isinstance(several, Evaluation | str | Path) else several:
                name, document = _named(source, str(number))
                yield Sized(name, _whole(number, name), document)
    elif isinstance(results, str | Path) and Path(results).is_dir():
        yield from _of_folder(Path(results), size)
    else:
        several = [results] if isinstance(results, Evaluation | str | Path) else list(results)
        for place, source in enumerate(several):
            name, document = _named(source, str(place))
            found = _size(source, document, size)
            if found is None:
                missing = (
                    f"the name does not match {size!r}" if PLACE in size else f"there is no tag {size!r}"
                )
                raise InputError(f"{name}: {missing}, so the size of the training data is unknown.\n{HOW}")
            yield Sized(name, _whole(found, name), document)


def _of_folder(folder: Path, size: str) -> Iterator[Sized]:
    """The results in a folder that have a size; other files are left out."""
    found = False
    for path in sorted(folder.glob("*.json")):
        if PLACE in size and _in_name(path, size) is None:
            continue
        document = load_summary(path)
        if isinstance(document, Evaluation) and (number := _size(path, document, size)) is not None:
            found = True
            yield Sized(str(path), _whole(number, str(path)), document)
    if not found:
        what = f"named {size}" if PLACE in size else f"with a tag {size!r}"
        raise InputError(f"{folder}: there are no results {what}.\n{HOW}")


def _named(source: Source, place: str) -> tuple[str, Evaluation]:
    if isinstance(source, Evaluation):
        return f"result {place}", source
    document = load_summary(source)
    if not isinstance(document, Evaluation):
        raise InputError(
            f"{source}: a learning curve cannot be fitted to a document of kind {document.kind!r}.\n"
            "Use results of spanwise evaluate or compare."
        )
    return str(source), document


def _size(source: Source, document: Evaluation, size: str) -> str | None:
    if PLACE in size:
        return None if isinstance(source, Evaluation) else _in_name(Path(source), size)
    return document.settings.tags.get(size)


def _in_name(path: Path, pattern: str) -> str | None:
    """The size in the name of a file, from a pattern in which `*` stands for anything."""
    before, after = (".*".join(map(re.escape, part.split("*"))) for part in pattern.split(PLACE, 1))
    match = re.fullmatch(f"{before}(\\d+){after}", path.name)
    return None if match is None else match[1]


def _whole(number: object, name: str) -> int:
    text = str(number)
    if isinstance(number, bool) or not re.fullmatch(r"[0-9]{1,15}", text) or int(text) == 0:
        raise InputError(
            f"{name}: the size of the training data is {text!r}, "
            "but must be a whole number above 0, such as 2000."
        )
    return int(text)


def _check_gold(read: Sequence[Sized]) -> None:
    """Refuse results over different gold data."""
    if not read:
        raise InputError("there are no results.\nGive results of spanwise evaluate, or their folder.")

    def gold(one: Sized) -> tuple[object, ...]:
        digest = one.document.settings.gold_digest(gold_input(one.document.inputs, one.name).sha256)
        return digest, one.document.dataset.mentions

    for one in read:
        if gold(one) != gold(read[0]):
            raise InputError(
                f"{one.name}: the gold data differ from those of {read[0].name}.\n"
                "A learning curve needs results over the same gold data, read in the same way."
            )


# ---- the curve of a system -------------------------------------------------------------------------


def _fitted(system: str, read: Sequence[Sized], at: Sequence[int]) -> SystemCurve:
    scores: dict[int, list[float]] = {}
    for one in read:
        if system not in one.document.systems:
            continue
        f1 = one.document.systems[system].exact.overall.f1
        if f1 is None:
            raise InputError(f"{one.name}: F1 of {system!r} is undefined.\nLeave this result out.")
        scores.setdefault(one.size, []).append(f1)
    if len(scores) < LEAST_SIZES:
        raise InputError(
            f"there are results of {system!r} with {many(len(scores), 'training size')} "
            f"({', '.join(map(str, sorted(scores)))}), but a learning curve needs at least {LEAST_SIZES}.\n"
            "Add results, and give the system the same name in all of them: crf=crf-2000.conll."
        )
    sizes = sorted(scores)
    largest = sizes[-1]
    for number in at:
        if not sizes[0] <= number <= FARTHEST * largest:
            raise ChoiceError(
                f"at holds {number}, but F1 of {system!r} is only predicted from its smallest training size "
                f"to twice its largest, {sizes[0]} to {FARTHEST * largest}.\nTrain on these amounts first."
            )
    means = floats([sum(scores[number]) / len(scores[number]) for number in sizes])
    measured = floats(sizes)
    law = fit(measured, means)
    asked = sorted({*sizes, *at, *(round(times * largest) for times in AHEAD)})
    drawn = np.geomspace(sizes[0], FARTHEST * largest, DRAWN)
    bands = band(measured, means, floats([*asked, *drawn]))
    values = law.at(floats([*asked, *drawn])).tolist()
    rows = list(zip(values, bands, strict=True))
    return SystemCurve(
        a=law.limit,
        b=law.drop * law.smallest**law.exponent,
        c=law.exponent if law.drop else None,
        largest=largest,
        points=tuple(
            TrainingSize(
                size=number,
                results=len(scores.get(number, ())),
                f1=float(means[sizes.index(number)]) if number in scores else None,
                fitted=fitted,
                interval=ends,
            )
            for number, (fitted, ends) in zip(asked, rows, strict=False)
        ),
        line=tuple(
            CurveLine(size=float(number), fitted=fitted, interval=ends)
            for number, (fitted, ends) in zip(drawn, rows[len(asked) :], strict=True)
        ),
    )


class PowerLaw(Struct, frozen=True):
    """F(n) = limit − drop · (n / smallest)^(−exponent)."""

    limit: float
    drop: float
    exponent: float
    smallest: float

    def at(self, sizes: Floats) -> Floats:
        """The scores at some sizes."""
        return floats(np.maximum(self.limit - self.drop * (sizes / self.smallest) ** -self.exponent, 0))


def fit(sizes: Floats, scores: Floats) -> PowerLaw:
    """The least-squares fit of a power law with limit ≤ 1, drop ≥ 0 and exponent > 0.

    With a given exponent, the best limit and drop have a closed form; the exponent is searched on grids, each
    around the best of the one before.

    Examples:
        >>> law = fit(floats([100, 200, 400, 800]), floats([0.7, 0.8, 0.85, 0.875]))
        >>> round(law.limit, 3), round(law.drop, 3), round(law.exponent, 3)
        (0.9, 0.2, 1.0)
    """
    exponents = np.geomspace(FLATTEST, STEEPEST, TRIED)
    for _ in range(ZOOMS):
        losses, limits, drops = _linear(sizes, scores, floats(exponents))
        best = int(losses.argmin())
        found = PowerLaw(float(limits[best]), float(drops[best]), float(exponents[best]), float(sizes[0]))
        low, high = exponents[max(best - 1, 0)], exponents[min(best + 1, len(exponents) - 1)]
        exponents = np.geomspace(low, high, ZOOMED)
    mean = float(scores.mean())
    constant = float(((scores - mean) ** 2).sum()) <= losses.min() + NEGLIGIBLE
    return PowerLaw(mean, 0.0, 1.0, found.smallest) if constant else found


def _linear(sizes: Floats, scores: Floats, exponents: Floats) -> tuple[Floats, Floats, Floats]:
    """The sums of squares, limits and drops of the best fits with given exponents."""
    falling = (sizes / sizes[0]) ** -exponents[:, None]
    centred = falling - falling.mean(axis=1, keepdims=True)
    drops = -(centred @ scores) / (centred**2).sum(axis=1)
    limits = scores.mean() + drops * falling.mean(axis=1)
    # Where the limit would be above 1, the best is at 1; where the curve would fall, it is a constant.
    full = limits > 1
    limits = np.where(full, 1.0, limits)
    drops = np.where(full, falling @ (1 - scores) / (falling**2).sum(axis=1), drops)
    limits, drops = np.where(drops < 0, scores.mean(), limits), np.maximum(drops, 0)
    losses = ((scores - limits[:, None] + drops[:, None] * falling) ** 2).sum(axis=1)
    return floats(losses), floats(limits), floats(drops)


def band(sizes: Floats, scores: Floats, at: Floats) -> list[tuple[float, float]]:
    """The intervals of the curve by the jackknife over sizes, cut at 0 and 1."""
    number = len(sizes)
    others = np.stack(
        [fit(np.delete(sizes, left_out), np.delete(scores, left_out)).at(at) for left_out in range(number)]
    )
    error = np.sqrt((number - 1) / number * ((others - others.mean(axis=0)) ** 2).sum(axis=0))
    half = float(t_quantile(number - 3, CONFIDENCE)) * error
    values = fit(sizes, scores).at(at)
    low, high = np.clip(values - half, 0, 1), np.clip(values + half, 0, 1)
    return list(zip(low.tolist(), high.tolist(), strict=True))
