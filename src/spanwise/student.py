"""Student's t distribution and sums of variances, without SciPy where a single evaluation needs them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import atan, cos, erfc, exp, fsum, lgamma, log, log1p, nan, pi, sin, sqrt, tan

import numpy as np
import numpy.typing as npt

from spanwise.columns import Floats, ratio
from spanwise.settings import CONFIDENCE

# Degrees of freedom up to which the distribution is summed term by term: quantiles, p-values.
SERIES, LONG_SERIES = 60, 5000
NEWTON = 6  # Newton steps from Cornish and Fisher's expansion to the quantile
FITTED = 14  # the degree of the polynomial for quantiles at fractions of degrees of freedom
TERMS, ROUNDING = 500, 1e-13  # of a continued fraction: the most terms, and when it is close enough


def t_quantile(freedom: npt.ArrayLike, confidence: float = CONFIDENCE) -> Floats:
    """The two-sided quantile of Student's t, which lies within ± this value with the given probability.

    NaN below one degree of freedom. Computed without SciPy, since every interval needs it and SciPy
    takes longer to load than most evaluations.

    Examples:
        >>> t_quantile([1, 2.5, 10, 100]).round(3).tolist()
        [12.706, 3.575, 2.228, 1.984]
    """
    requested = np.asarray(freedom, np.float64)
    flat = requested.reshape(-1)
    result = np.full(flat.shape, nan)
    many = flat > SERIES
    if many.any():
        result[many] = _t_expanded(flat[many], confidence)
    whole = (flat >= 1) & (flat <= SERIES) & (flat == np.rint(flat))
    if whole.any():
        different, at = np.unique(flat[whole], return_inverse=True)
        result[whole] = np.array([_t_quantile(value, confidence) for value in different.tolist()])[at]
    fitted = (flat > 1) & (flat < SERIES) & ~whole
    if fitted.any():
        result[fitted] = _t_fitted(flat[fitted], confidence)
    return result.reshape(requested.shape)


@lru_cache(maxsize=64)
def _expansion(confidence: float) -> tuple[float, ...]:
    """The coefficients of Cornish and Fisher's expansion in 1/freedom; Abramowitz and Stegun 26.7.5."""
    from statistics import NormalDist  # slow to import, and not needed for totals

    z = NormalDist().inv_cdf((1 + confidence) / 2)
    return (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )


def _t_expanded(freedom: Floats, confidence: float) -> Floats:
    """The quantile by the expansion, which is close from the degrees of freedom of a series upwards."""
    result = np.zeros_like(freedom)
    for term in reversed(_expansion(confidence)):
        result = result / freedom + term
    return result


@lru_cache(maxsize=4096)
def _t_quantile(freedom: float, confidence: float) -> float:
    """The quantile at a whole number of degrees of freedom, by Newton's method on the series."""
    if freedom == 1:
        return tan(pi * confidence / 2)
    if freedom == 2:
        return confidence * sqrt(2 / (1 - confidence * confidence))
    t = float(_t_expanded(np.array([freedom]), confidence)[0])
    scale = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(pi * freedom)
    for _ in range(NEWTON):  # the starting value is already close
        density = scale * (1 + t * t / freedom) ** (-(freedom + 1) / 2)
        t -= (_t_within(t, int(freedom)) - confidence) / (2 * density)
    return t


def _t_fitted(freedom: Floats, confidence: float) -> Floats:
    """Student's quantile at fractions: a polynomial of 1/freedom, by Clenshaw's recurrence."""
    x = (2 / freedom - 1 - 1 / SERIES) / (1 - 1 / SERIES)
    later, last = np.zeros_like(x), np.zeros_like(x)
    first, *others = t_polynomial(confidence)
    for coefficient in reversed(others):
        later, last = 2 * x * later - last + coefficient, later
    return np.asarray(np.exp(first / 2 + x * later - last))


@lru_cache(maxsize=64)
def t_polynomial(confidence: float) -> tuple[float, ...]:
    """Chebyshev's coefficients of log t in 1/freedom, from 1 degree of freedom to 60."""
    number = FITTED + 1
    angles = [pi * (k + 0.5) / number for k in range(number)]
    middle, half = (1 + 1 / SERIES) / 2, (1 - 1 / SERIES) / 2
    logs = [log(_t_of_fraction(1 / (middle + half * cos(angle)), confidence)) for angle in angles]
    return tuple(
        2 / number * fsum(value * cos(k * angle) for value, angle in zip(logs, angles, strict=True))
        for k in range(number)
    )


def _t_of_fraction(freedom: float, confidence: float) -> float:
    """The quantile by Newton's method on log t, from that of the next lower whole number."""
    scale = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(pi * freedom)
    t, beyond = _t_quantile(float(int(freedom)), confidence), 1 - confidence
    for _ in range(4 * NEWTON):
        density = scale * (1 + t * t / freedom) ** (-(freedom + 1) / 2)
        share = _incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)  # P(|T| > t)
        step = log(share / beyond) * share / (2 * density * t)  # log P is almost linear in log t
        t *= exp(step)
        if abs(step) < ROUNDING:
            break
    return t


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    # Lentz's method.
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1 / (1 + term * d), 1 + term / c
            fraction *= d * c
        if abs(d * c - 1) < ROUNDING:
            break
    return front * fraction


def _t_within(t: float, freedom: int) -> float:
    """P(|T| < t) of Student's T; Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = atan(t / sqrt(freedom))
    cosine, total = cos(angle), 0.0
    term = cosine if freedom % 2 else 1.0
    for k in range(3 if freedom % 2 else 2, freedom + 1, 2):
        total += term
        term *= cosine * cosine * (k - 1) / k
    return (2 / pi) * (angle + sin(angle) * total) if freedom % 2 else sin(angle) * total


def _t_beyond(t: float, freedom: int) -> float:
    """P(|T| > t) of Student's T with thousands of degrees of freedom: Hill's normal deviate of the same tail.

    Hill (1970), Algorithm 395; beyond 5,000 degrees of freedom the omitted terms are below rounding error.
    """
    a = freedom - 0.5
    b = 48 * a * a
    square = a * log1p(t * t / freedom)
    z = sqrt(square)
    less = ((4 * square + 33) * square + 240) * square + 855
    z += z * (square + 3 - less / (10 * (b + 0.8 * square * square + 100))) / b
    return erfc(z / sqrt(2))


def t_p(t: npt.ArrayLike, freedom: npt.ArrayLike) -> Floats:
    """The two-sided p-value of Student's t.

    Examples:
        >>> t_p(2.228, 10).round(3).tolist()
        0.05
    """
    t, freedom = np.asarray(t, np.float64), np.asarray(freedom, np.float64)
    if t.size == 1 and freedom.size == 1 and not float(freedom.reshape(-1)[0]) % 1:  # SciPy is not needed
        statistic, degrees = abs(float(t.reshape(-1)[0])), int(freedom.reshape(-1)[0])
        if degrees > 0:
            p = (
                max(0.0, 1 - _t_within(statistic, degrees))
                if degrees <= LONG_SERIES
                else _t_beyond(statistic, degrees)
            )
            return np.full(t.shape, p if statistic == statistic else np.nan)
    from scipy import special

    return np.asarray(2 * special.stdtr(freedom, -np.abs(t)))


def satterthwaite(parts: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]]) -> tuple[Floats, Floats]:
    """The sum of several variances, each with its degrees of freedom, and the degrees of freedom of the sum.

    `(Σv)² / Σ(v² / freedom)`; variances of 0 are ignored, and the result is NaN if all are 0.

    Examples:
        >>> variance, freedom = satterthwaite([(1.0, 9), (1.0, 4)])
        >>> float(variance), round(float(freedom), 2)
        (2.0, 11.08)
    """
    total = sum((np.asarray(v, np.float64) for v, _ in parts), np.zeros(()))
    below = sum((np.asarray(v, np.float64) ** 2 / np.asarray(f, np.float64) for v, f in parts), np.zeros(()))
    return np.asarray(total), ratio(total**2, below)
