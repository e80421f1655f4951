"""Ratios of two noisy numbers: Fieller intervals with proven coverage, for Laplace and Gaussian noise on a grid.

Released are ``N^ = N + Z1`` and ``D^ = D + Z2``, two coordinates of one mechanism of scale ``w`` and grid ``g``,
divided by public scales ``s1, s2`` (:class:`emdp.estimators.plan.Plan`). ``Z1`` is ``1/s1`` times independent noise
of the mechanism and a rounding of at most ``g/2``, ``Z2`` likewise with ``s2``; ``Z`` is 0 where the noise is 0.

Theorem (coverage; Fieller 1954). Let ``q(theta)`` satisfy ``P(|Z1 - theta Z2| <= q(theta)) >= level`` for each real
``theta``. Then the set ``{theta: |N^ - theta D^| <= q(theta)}`` contains ``N/D``, ``D != 0``, with probability at least
``level``: at ``theta = N/D`` the left side is ``|Z1 - theta Z2|``. With the ``q`` below the probability is at most
``level + 6 g/w``, less than ``2^-37`` above, unless a large ``magnitude`` made the grid coarser. Where ``D^`` is at
most the quantile ``q_D`` of its own noise (or not positive) the set may be unbounded: the whole line is reported in
its place, which only adds coverage.

Lemma (Laplace). Let ``a = w/s1``, ``b = |theta| w/s2`` and ``L1, L2`` be independent Laplace of scale 1. Then
``S(t) = P(|a L1 - b L2| > t) = (a^2 e^{-t/a} - b^2 e^{-t/b})/(a^2 - b^2)``, for ``a = b`` its limit
``(1 + t/(2 a)) e^{-t/a}``; and ``q = S^{-1}(1 - level) + (3/2) (g/s1 + |theta| g/s2)`` will do.

Proof. The formula is a convolution. A discrete Laplace of scale ``w/g`` is ``floor(u E) - floor(u E')``, ``u = w/g``,
with ``E, E'`` independent exponentials, as ``P(floor(u E) >= j) = e^{-j/u}``; and ``u E - u E'`` is a continuous
Laplace. The difference of two fractional parts is in (-1, 1), so noise on the grid is within ``g`` of continuous
noise; rounding is within ``g/2``. The excess of coverage follows since ``|a L1 - b L2|`` has a density of at most
``1/max(a, b)``, and twice the added term is at most ``6 max(a, b) g/w``.

Lemma (Gaussian). ``q = z sigma sqrt(1/s1^2 + theta^2/s2^2) + g/s1 + |theta| g/s2`` will do, where ``sigma = w`` and
``P(|N(0, 1)| > z) = (1 - level) e^{-1/(12 u^2)}``, ``u = w/g``.

Proof. Step 1 in :mod:`emdp.mechanisms.central.gaussian`, for two coordinates: every event has under the noise on the
grid at most ``e^{2/(24 u^2)}`` times its probability under continuous noise rounded to the grid. That rounding and the
statistic's are within ``g/2`` each.

Lemma (shape). Both ``q`` are norms of ``(1, -theta)``, so ``q`` is convex with slopes in ``[-q_D, q_D]``. Hence, with
``D^ > q_D``, the set is an interval, whose lower end is the only root of the convex, increasing function
``F(theta) = q(theta) + theta D^ - N^``; the upper end is the lower end for ``-N^``, with its sign changed.

Proof. What is not the quantile is a norm, and so is a Gaussian quantile. (Quantiles of linear forms are a norm for
every symmetric log-concave law: Meyer and Reisner 1991, Bobkov 2010.) For Laplace, in ``x = a/t, y = b/t`` the unit
sphere ``S(t) = A = 1 - level`` is ``m(x) = m(y)``, ``m(x) = x^2 (e^{-1/x} - A)``. Now ``m(0) = m'(0) = 0``,
``m''(0) = -2 A`` and ``m'''(x) = e^{-1/x}/x^4 > 0``. So ``m'`` is convex with one root ``x* > 0``, ``m`` falls before
it and rises after it, and the sphere in the first quadrant pairs ``x < x*`` with ``y > x*`` of one level, in either
order. It is concave there if ``-dy/dx = -m'(x)/m'(y)`` falls with ``v = m(x) - m(x*)``. In ``v``, ``m'(y)^2`` has the
derivative ``2 m''(y)``, which rises, so it is convex from 0; ``m'(x)^2`` has ``2 m''(x)``, which falls, so it is
concave from 0; hence ``m'(y)^2/m'(x)^2`` rises with ``v``. On the diagonal the slope is -1, and on the axes the
sphere is perpendicular to them (``m'(0) = 0``), so its reflections continue it to one convex curve.

Computing. In units ``t = theta s1/s2``, ``n = N^ s1/w``, ``d = D^ s2/w`` only ``n, d, level, g/w`` matter. Quantiles
and ends are found by Newton's method and then moved outward by a proven amount: the hazard ``-S'/S`` at scales (1, r),
``r <= 1``, is at least 1/2 (it is ``1/(1 + r)`` at 0 and, ``S`` being log-concave, rises), so ``ln S`` bounds the way
to the quantile; ``F`` rises with a slope of at least ``d - q_D``, so ``F`` bounds the way to the end.

References
----------
E. C. Fieller, Some problems in interval estimation, J. R. Stat. Soc. B 16, 1954. M. Meyer and S. Reisner, A geometric
property of the boundary of symmetric convex bodies and convexity of flotation surfaces, Geom. Dedicata 37, 1991.
S. G. Bobkov, Convex bodies and norms associated to convex measures, Probab. Theory Relat. Fields 147, 2010.
"""

import math
from fractions import Fraction
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Floats
from emdp.base.checks import check_finite, check_positive, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from emdp.privacy.rounding import quotient_up

__all__ = ["PairLaw", "denominator_limit", "half_width", "ratio_intervals"]

_MARGIN = 2.0**-40
# Relative, outward, on quantiles: above the error of evaluating them (about 2^-48; for ndtri see noise/).

_ROUNDING = 2.0**-46
# Relative, outward, on F and on ends: above 8 roundings of 2^-53, of the data's conversion to floats included.

_TOO_NEAR = 2.0**-36
# Relative: a denominator this little above its noise's quantile counts as below it.

_LOG_MARGIN = 2.0**-45
# Times 1 + t, on ln S at t: above the error of about 10 operations.

_LEAST_RATIO, _LARGEST_RATIO = 1e-100, 1.0 - 2.0**-53
# Of the two Laplace scales: S at (1, r) is continuous and rises with r; the ends stand for 0 and 1.

_QUANTILE_STEPS, _END_STEPS = 4, 12
# Newton steps: 4 reach the last digits of a quantile, 4 or 5 of an end; the outward move covers what is left.

_RATIO_SHAPE = "numerators and denominators must have one shape, got {} and {}; pass one of each a ratio."


@dataclass(frozen=True)
class PairLaw:
    """The joint law of the noise of two released numbers, numerator and denominator of a ratio.

    >>> mechanism = LaplaceMechanism(sensitivity=1.0, alpha=1.0, dimension=2)
    >>> law = PairLaw.of(mechanism, 1.0, 1.0)
    >>> round(law.quantile(0.0, 0.95), 6), round(law.quantile(1.0, 0.95), 6)
    (2.995732, 4.113003)
    """

    law: Literal["none", "laplace", "gaussian"]  # Law of the noise; "none" for a constant statistic, released exactly
    # scale, grid: Of the mechanism.
    scale: float
    grid: float
    # scale_numerator, scale_denominator: The public scales that the two coordinates were multiplied by, above 0.
    scale_numerator: float
    scale_denominator: float

    def __post_init__(self) -> None:
        if self.law not in ("none", "laplace", "gaussian"):
            raise UsageError(f"law must be none, laplace or gaussian, got {self.law!r}; use PairLaw.of.")
        for name in ("scale_numerator", "scale_denominator"):
            object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        if self.law != "none":
            for name in ("scale", "grid"):
                object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        if self.law == "gaussian" and self.grid > self.scale:
            raise UsageError(f"grid must be at most the scale {self.scale}, got {self.grid}; use PairLaw.of.")

    @classmethod
    def of(cls, mechanism: AdditiveMechanism, scale_numerator: float, scale_denominator: float) -> Self:
        """Return the law for two coordinates of one mechanism.

        Raises
        ------
        UsageError
            If the mechanism's coordinates are not independent Laplace or Gaussian noise.
        """
        if mechanism.is_exact:
            return cls("none", 0.0, 0.0, scale_numerator, scale_denominator)
        if isinstance(mechanism, LaplaceMechanism):
            return cls("laplace", mechanism.scale, mechanism.grid, scale_numerator, scale_denominator)
        if isinstance(mechanism, GaussianMechanism):
            return cls("gaussian", mechanism.scale, mechanism.grid, scale_numerator, scale_denominator)
        raise UsageError(f"mechanism must be Laplace or Gaussian for a ratio, got {mechanism.name}; take one of them.")

    def quantile(self, theta: float, level: float) -> float:
        """Return ``q`` with ``P(|Z1 - theta Z2| <= q) >= level``, rounding included, rounded outward.

        Parameters
        ----------
        theta : float
            Any finite number; 0 is the numerator alone.
        level : float
            In (0, 1).
        """
        theta = check_finite("theta", theta)
        tail = self._tail(level)
        if self.law == "none":
            return 0.0
        # abs(theta)/s2 is b/w, 1/s1 is a/w: the larger is made 1, so that nothing overflows before the result does
        numerator, denominator = 1.0 / self.scale_numerator, abs(theta) / self.scale_denominator
        larger, smaller = max(numerator, denominator), min(numerator, denominator)
        value, _ = self._norm(np.array([smaller / larger]), tail)
        return float(value[0]) * larger * self.scale * (1.0 + _MARGIN)

    def expected_absolute(self, theta: float) -> float:
        """Return ``E|Z1 - theta Z2|`` of the continuous noise, which the grid moves by at most 2 steps.

        >>> law = PairLaw("laplace", 1.0, 2.0**-40, 1.0, 1.0)
        >>> law.expected_absolute(0.0), law.expected_absolute(1.0)
        (1.0, 1.5)
        """
        if self.law == "none":
            return 0.0
        a, b = self.scale / self.scale_numerator, abs(theta) * self.scale / self.scale_denominator
        if self.law == "gaussian":
            return math.sqrt(2.0 / math.pi) * math.hypot(a, b)
        return a + b * (b / (a + b))

    @property
    def _unit(self) -> float:
        # Of t, in theta: t = theta/unit.
        return self.scale_denominator / self.scale_numerator

    def _tail(self, level: float) -> float:
        """Return the tail of continuous noise that leaves at most ``1 - level``, rounded down."""
        covered = check_unit_interval("level", level)
        tail = 1.0 - covered
        if Fraction(tail) > 1 - Fraction(covered):
            tail = math.nextafter(tail, 0.0)
        if self.law != "gaussian":
            return tail
        return tail * math.exp(-((self.grid / self.scale) ** 2) / 12.0) * (1.0 - 2.0**-50)

    def _norm(self, ratio: Floats, tail: float) -> tuple[Floats, Floats]:
        """Return ``q`` in units of ``w`` at scales (1, ratio), and its derivative, for ratios in [0, 1]."""
        step = self.grid / self.scale
        if self.law == "gaussian":
            from scipy.special import ndtri

            normal = -float(ndtri(0.5 * tail)) * (1.0 + _MARGIN)
            length = np.hypot(1.0, ratio)
            return normal * length + step * (1.0 + ratio), normal * ratio / length + step
        value, slope = _laplace_quantile(ratio, tail)
        return value + 1.5 * step * (1.0 + ratio), slope + 1.5 * step

    def _width(self, t: Floats, tail: float) -> tuple[Floats, Floats]:
        """Return ``q s1/w`` at ``theta = t s2/s1``, and its derivative in ``t``."""
        size = np.abs(t)
        inside = size <= 1.0
        larger = np.maximum(size, 1.0)
        ratio = np.where(inside, size, 1.0 / larger)
        value, slope = self._norm(ratio, tail)
        return value * larger, np.copysign(np.where(inside, slope, value - ratio * slope), t)


def half_width(mechanism: AdditiveMechanism, scale: float, level: float) -> float:
    """Return ``h`` such that a coordinate divided by its public scale is within ``h`` with probability ``level``.

    >>> mechanism = LaplaceMechanism(sensitivity=1.0, alpha=1.0)
    >>> half_width(mechanism, 2.0, 0.95) == mechanism.interval_half_width(0.95)/2
    True
    """
    return quotient_up(mechanism.interval_half_width(level), check_positive("scale", scale))


def denominator_limit(law: PairLaw, level: float) -> float:
    """Return the largest released denominator for which the ratio's interval is unbounded: ``q_D``, rounded up.

    >>> mechanism = LaplaceMechanism(sensitivity=1.0, alpha=1.0, dimension=2)
    >>> round(denominator_limit(PairLaw.of(mechanism, 1.0, 100.0), 0.95), 6)
    0.029957
    """
    if law.law == "none":
        return 0.0
    return _least_denominator(law, law._tail(level)) * (law.scale / law.scale_denominator) * (1.0 + _MARGIN)


def ratio_intervals(
    numerators: npt.ArrayLike, denominators: npt.ArrayLike, law: PairLaw, level: float
) -> tuple[Floats, Floats]:
    """Return the Fieller intervals of many ratios, each alone with the given coverage.

    Parameters
    ----------
    numerators, denominators : array of float
        One of each a ratio, of one shape.
    level : float
        Coverage of each interval, in (0, 1).

    Returns
    -------
    tuple of numpy.ndarray
        Lower and upper ends in the shape of the input, rounded outward; NaN where the interval is the whole line.

    Raises
    ------
    UsageError
        If the shapes differ.
    """
    upper, lower = np.asarray(numerators, dtype=np.float64), np.asarray(denominators, dtype=np.float64)
    if upper.shape != lower.shape:
        raise UsageError(_RATIO_SHAPE.format(upper.shape, lower.shape))
    tail = law._tail(level)
    if law.law == "none":
        bounded = lower > 0
        ratios = np.divide(upper, lower, out=np.full(upper.shape, np.nan), where=bounded)
        spread = _ROUNDING * np.abs(ratios)
        return ratios - spread, ratios + spread
    top, bottom = upper * (law.scale_numerator / law.scale), lower * (law.scale_denominator / law.scale)
    bounded = lower > denominator_limit(law, level)
    limit = _least_denominator(law, tail)
    both = np.concatenate([top[bounded], -top[bounded]])
    ends = _lower_ends(both, np.tile(bottom[bounded], 2), law, tail, limit) * law._unit
    low, high = np.full(upper.shape, np.nan), np.full(upper.shape, np.nan)
    low[bounded], high[bounded] = np.split(np.nextafter(ends, -np.inf), 2) * np.array([[1.0], [-1.0]])
    return low, high


def _least_denominator(law: PairLaw, tail: float) -> float:
    """Return the quantile of the denominator's own noise in units of ``w/s2``, with room for the ends' roundings."""
    value, _ = law._norm(np.zeros(1), tail)
    return float(value[0]) * (1.0 + _TOO_NEAR)


def _lower_ends(n: Floats, d: Floats, law: PairLaw, tail: float, limit: float) -> Floats:
    """Return a point at most the root of ``F(t) = q(t) + t d - n`` for each pair, and within rounding of it."""
    t = n / d
    for steps in range(_END_STEPS + 1):
        width, slope = law._width(t, tail)
        excess, size = width + t * d - n, width + np.abs(t) * d + np.abs(n)
        if steps == _END_STEPS or bool(np.all(np.abs(excess) <= 4.0 * _ROUNDING * size)):
            break
        t = t - excess / (d + slope)
    outward = np.maximum(excess + _MARGIN * width, 0.0) + _ROUNDING * size
    return np.asarray(t - outward / (d - limit) * (1.0 + _ROUNDING) - _ROUNDING * np.abs(t), dtype=np.float64)


def _laplace_quantile(ratio: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return ``t`` with ``S(t) <= tail`` at scales (1, ratio), rounded outward, and its derivative in the ratio.

    ``S(t) = e^{-t} (1 - e^{-x})/(1 - r^2)`` with ``x = t (1 - r)/r - 2 ln r >= 0`` loses no digits for ``r`` near 1.
    """
    r = np.clip(ratio, _LEAST_RATIO, _LARGEST_RATIO)
    rate, logarithm, gap = (1.0 - r) / r, np.log(r), (1.0 - r) * (1.0 + r)
    wanted = math.log(tail)
    t = np.full(r.shape, -wanted)
    for _ in range(_QUANTILE_STEPS):
        x = t * rate - 2.0 * logarithm
        inner = np.expm1(-x)
        excess = np.log(-inner / gap) - t - wanted
        hazard = np.expm1(-x - logarithm) / inner
        t = t + excess / hazard
    x = t * rate - 2.0 * logarithm
    inner = np.expm1(-x)
    excess = np.log(-inner / gap) - t - wanted
    hazard = np.expm1(-x - logarithm) / inner
    # d ln S/dr over -d ln S/dt; near r = 1 its two terms cancel. It is at most the norm's slope p in the larger scale,
    # and t = p + r slope (Euler), so at most t/(1 + r), which it is at r = 1.
    falling = (t / r + 2.0) / r * np.exp(-x) / -inner
    slope = np.clip((2.0 * r / gap - falling) / hazard, 0.0, t / (1.0 + r))
    return t + 2.0 * (np.maximum(excess, 0.0) + _LOG_MARGIN * (1.0 + t)), slope
