"""Gaussian noise for a statistic whose change is bounded in the 2-norm, calibrated by the exact profile.

Theorem (EMD 2, "Gaussian calibration"; Balle and Wang 2018). If ``||T(D) - T(D')||_2 <= l d_em``, then
adding independent ``N(0, sigma^2)`` to every coordinate is ``(alpha, delta)`` d_em-DP when, with ``mu =
l/sigma``, ``Phi(mu/2 - alpha/mu) - e^alpha Phi(-mu/2 - alpha/mu) <= delta``: at ``d_em < 1`` the left side,
with ``alpha d_em`` and ``mu d_em``, is smaller (EMD 2 and 7). ``scale`` is that sigma at ``(1 - a) (delta -
slack_delta)``, ``a`` at least that of step 1 below (:mod:`emdp.privacy.calibration`).

Theorem (grid). Here ``Z`` has independent discrete Gaussian coordinates of scale ``s = sigma/g >= sqrt(d)``,
and is added to the statistic rounded to the grid ``g``. With ``h = sqrt(d) (g + 2 e)`` of
:mod:`emdp.mechanisms.central.additive`, ``eta = h/sigma``, ``L = 12`` and ``K = L + mu + eta`` its slack next to the
continuous mechanism is

    ``slack_epsilon = L eta + eta^2/2 + d (1 + K^2)/(24 s^2)``,  ``slack_delta = (2 d + 1) e^{-72}``

(the first about ``1.1e-11 sqrt(d)`` where ``e`` does not matter, the second ``1.1e-31 d``), and the answer is
``(alpha d_em + slack_epsilon, delta)``.

Proof, in three steps.

1. Let ``R`` be the continuous noise in grid steps, rounded to integers, and ``f(x) = exp(-x^2/(2 s^2))``. With
   ``u`` uniform on [-1/2, 1/2], the integral of ``f`` over the cell of ``k`` is
   ``f(k) E exp(-(2 k u + u^2)/(2 s^2))``, by Jensen at least ``f(k) exp(-1/(24 s^2))``, and without the square
   ``f(k) sinh(y)/y <= f(k) exp(y^2/6)``, ``y = k/(2 s^2)``, hence at most ``f(k) exp(k^2/(24 s^4))``. Let
   ``c <= 1`` be the quotient of the two normalisers (:mod:`emdp.noise.discrete_gaussian`). Over all coordinates
   ``P(Z = k) <= c^d e^a P(R = k)``, ``a = d/(24 s^2)``, and ``P(Z = k) >= c^d e^{-b} P(R = k)``,
   ``b = d K^2/(24 s^2)``, where every ``|k_i| <= K s``.
2. Let ``v`` be the integer vector between the rounded statistics, so ``||v||_2/s <= mu d_em + eta``, and ``B``
   the points with every ``|k_i - v_i| <= L s``; there ``|k_i| <= K s``. ``Z + v`` leaves ``B`` with probability
   at most ``2 d e^{-72}``. So for every event ``E`` and ``t >= 0``, ``P(Z + v in E) - t e^{a+b} P(Z in E)`` is
   at most ``2 d e^{-72}`` plus ``c^d e^a`` times ``P(R + v in E and B) - t P(R in E and B)``, hence
   ``H_{t e^{a+b}}(Z + v || Z) <= e^a H_t(R + v || R) + 2 d e^{-72}``.
3. ``R + v`` is the continuous noise around ``v``, rounded, so ``H_t(R + v || R)`` is at most that of
   ``N(m, 1)`` and ``N(0, 1)`` with ``m = mu d_em + eta``. Between ``N(m, 1)`` and ``N(mu d_em, 1)`` the log
   ratio under the first is ``N(eta^2/2, eta^2)``, above ``L eta + eta^2/2`` with probability ``Phi(-L) <=
   e^{-72}/2``: next to the ideal pair this costs that epsilon and that delta, times ``e^a <= 2``.

Together ``H_{t exp(slack_epsilon)} <= e^a H_t + slack_delta``, ``H_t`` of the ideal pair. That is the slack, since
``a <= slack_epsilon``; and at ``t = exp(alpha d_em)``, where ``H_t <= (1 - a) (delta - slack_delta)``, it is at most
``delta``, since ``e^a (1 - a) <= 1``.

Stating rounding as an epsilon and not as a total variation (``g sqrt(d)/(2 sigma)`` in delta, EMD 8.5) keeps
a statistic's floating-point error, which may be 1e-7 of sigma, out of a delta of 1e-10.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Literal

from emdp.base.checks import check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.central.additive import AdditiveMechanism, independent_tail
from emdp.noise.discrete_gaussian import (
    discrete_gaussian_mean_absolute,
    discrete_gaussian_quantile,
    discrete_gaussian_standard_deviation,
    draw_discrete_gaussian,
)
from emdp.privacy.calibration import gaussian_sigma
from emdp.privacy.events.table import Event, GaussianEvent
from emdp.privacy.guarantees.kinds import Guarantee
from emdp.privacy.rounding import as_decimal, float_down, float_up

__all__ = ["GaussianMechanism", "least_gaussian_delta"]

_REACH = 12
# L of the module's theorem: how many sigmas of noise the comparison with the continuous law covers.

_BEYOND = Fraction(math.exp(-0.5 * _REACH**2)) * (1 + Fraction(1, 2**40))
# At least exp(-72), about 5.4e-32.

_LARGEST_CELLS = Fraction(1, 24)
# Of a in the module's theorem, on the coarsest grid that is accepted.


@dataclass(frozen=True, kw_only=True)
class GaussianMechanism(AdditiveMechanism):
    """Gaussian noise on a grid: ``(alpha, delta)`` with delta above 0, ``sensitivity`` in the 2-norm.

    The parameters, properties and methods are those of :class:`emdp.mechanisms.central.additive.AdditiveMechanism`.

    >>> mechanism = GaussianMechanism(sensitivity=1.0, alpha=5.0, delta=1e-6, dimension=3)
    >>> round(mechanism.scale, 6), mechanism.slack_epsilon < 3e-11, mechanism.slack_delta < 1e-30
    (0.980049, True, True)
    >>> len(mechanism.release([Fraction(0), Fraction(1), Fraction(2)]))
    3
    """

    name: ClassVar[str] = "Gaussian"
    norm: ClassVar[Literal[1, 2]] = 2

    @property
    def slack_delta(self) -> float:
        """The part of ``delta`` that covers the grid: noise beyond 12 sigmas."""
        return 0.0 if self.is_exact else least_gaussian_delta(self.dimension) / 2

    def _law_theorem(self) -> str:
        return "Gaussian noise by its exact profile, l in the 2-norm, is (alpha, delta) d_em-DP (EMD 2, EMD 8.5)"

    def _slack(self) -> Fraction:
        sigma = Fraction(self.scale)
        eta = self._rounding / sigma
        reach = _REACH + Fraction(self.sensitivity) / sigma + eta
        cells = self.dimension * (1 + reach**2) / (24 * (sigma / Fraction(self.grid)) ** 2)
        return _REACH * eta + eta**2 / 2 + cells

    def _event(self, kind: Guarantee) -> Event:
        return GaussianEvent(
            self.alpha,
            self.delta,
            self.dimension,
            sigma=self.scale,
            sensitivity=self.sensitivity,
            grid=self.grid,
            slack_epsilon=self.slack_epsilon,
            slack_delta=self.slack_delta,
            kind=kind,
        )

    def _check_law(self) -> None:
        check_unit_interval("delta", self.delta)
        least = least_gaussian_delta(self.dimension)
        if not self.is_exact and self.delta <= least:
            raise UsageError(
                f"delta must be above {least} for Gaussian noise of this dimension, got "
                f"{self.delta}; pass a larger delta, or use Laplace or K-norm noise."
            )

    def _scale(self) -> float:
        room = as_decimal(self.delta) - as_decimal(self.slack_delta)
        least = gaussian_sigma(self.alpha, float_down(room), self.sensitivity)
        # A larger sigma has sigma/g at least half as large (g is a power of two), so a is at most this one; and
        # never above 1/24, as sigma/g >= sqrt(d).
        cells = self.dimension * (Fraction(self._grid_for(least)) / Fraction(least)) ** 2 / 6
        return gaussian_sigma(self.alpha, float_down(room * (1 - min(cells, _LARGEST_CELLS))), self.sensitivity)

    def draw_many(self, releases: int) -> Sequence[int]:
        """Draw the noise of so many releases, in grid steps, one after another: what :meth:`release` adds to one."""
        return draw_discrete_gaussian(self.noise_units, releases * self.dimension)

    def _draw(self) -> Sequence[int]:
        return self.draw_many(1)

    def _coordinate_units(self, tail: float) -> int:
        return discrete_gaussian_quantile(tail, self.noise_units)

    def _simultaneous_units(self, tail: float) -> int:
        return discrete_gaussian_quantile(independent_tail(tail, self.dimension), self.noise_units)

    def _mean_absolute_units(self) -> float:
        return discrete_gaussian_mean_absolute(self.noise_units)

    def _standard_deviation_units(self) -> float:
        return discrete_gaussian_standard_deviation(self.noise_units)


def least_gaussian_delta(dimension: int) -> float:
    """Return the delta that Gaussian noise must be given more than: twice its ``slack_delta``.

    >>> least_gaussian_delta(1) < 1e-30
    True
    """
    return 2.0 * float_up((2 * dimension + 1) * _BEYOND)
