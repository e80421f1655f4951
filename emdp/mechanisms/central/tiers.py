"""One release for several readers: each gets the answer of the one before with more noise added.

Setting. A statistic is rounded to the grid of the strongest level. Tier 1 is that plus the noise of level 1; tier
``j`` is tier ``j - 1`` plus a step ``Z_j``, drawn independently of everything before:

- Laplace: ``Z_j`` is that of :mod:`emdp.noise.laplace_steps`, one a coordinate;
- Gaussian: ``Z_j`` is discrete Gaussian of scale ``r_j``, ``r_j^2`` at least ``(1 + 2^-40) (s_j^2 - s_{j-1}^2)``, where
  ``s_j`` is the scale of level ``j`` in grid steps.

Theorem (tiers; gradual release, after Koufogiannis, Han and Pappas 2017). (a) With Laplace noise the law of tier ``j``
alone is exactly that of the mechanism of level ``j`` on this grid; with Gaussian noise it is within a factor of ``1 +-
2^-900`` at every point of discrete Gaussian noise of a scale ``s >= s_j``, ``s = s_j`` up to a relative ``2^-40``. So
who knows tier ``j`` alone has the guarantee of level ``j``, slack included. (b) Whoever knows the tiers of a set ``S``
has the guarantee of the strongest of them, level ``min S``: not the sum. (c) All tiers together cost level 1.

Proof. (b) Given tier ``i = min S`` the others are sums of it and of steps that are independent of the data and of it:
post-processing. (c) is (b) for all of them. (a) for Laplace is the theorem of :mod:`emdp.noise.laplace_steps`, one step
after another. (a) for Gaussian: let ``f_a(k) = exp(-k^2/(2 a^2))`` and ``S_a(c)`` the sum of ``f_a(k - c)`` over the
integers, by Poisson summation ``a sqrt(2 pi) (1 + e)`` with ``|e| <= 3 exp(-2 pi^2 a^2)``, whatever ``c``. For ``s^2 =
a^2 + b^2`` and ``u = a b/s`` completing the square gives ``sum_k f_a(k) f_b(n - k) = f_s(n) S_u(c_n)``, so the law of
the sum of two discrete Gaussians of scales ``a`` and ``b`` is that of scale ``s`` times ``S_u(c_n) S_s(0)/(S_a(0)
S_b(0))``: a factor within ``1 +- 13 exp(-2 pi^2 u^2)``. Here ``u`` is at least ``2^10`` (checked), so 16 steps over
``2^20`` coordinates stay within ``1 +- 2^-900``. The scale exceeds ``s_j`` by a relative ``2^-41 (1 - s_{j-1}^2/s_j^2)
>= 2^-51``, so the leading slack of the mechanism of level ``j``, ``12 h/sigma`` with ``h`` at least a grid step, is
smaller by far more than that factor costs, and so is its delta (:mod:`emdp.mechanisms.central.gaussian` keeps four
times the room for cells that step 1 needs). ∎

A reader who holds several tiers gains nothing by averaging them: the best estimate from all is the strongest. K-norm
noise is refused: no step of this kind is known for it.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.central.additive import AdditiveMechanism
from emdp.mechanisms.central.gaussian import GaussianMechanism
from emdp.mechanisms.central.laplace import LaplaceMechanism
from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.noise.laplace_steps import draw_laplace_steps
from emdp.privacy.rounding import root_up

__all__ = ["TieredNoise"]

_SPREAD = 1 + Fraction(1, 2**40)
"""Factor of the variance of a Gaussian step: see the theorem."""

_LEAST_WIDTH = Fraction(2**20)
"""Least ``u^2`` of the theorem."""


@dataclass(frozen=True)
class TieredNoise:
    """The noise of all tiers of one release.

    Parameters
    ----------
    tiers : tuple of AdditiveMechanism
        One a level, the strongest first, all on its grid; made by :meth:`of`.

    >>> noise = TieredNoise.of(LaplaceMechanism(sensitivity=0.01, alpha=8.0), (8.0, 4.0, 1.0))
    >>> [tier.scale for tier in noise.tiers], noise.theorem
    ([0.00125, 0.0025, 0.01], 'each tier is the one before plus independent noise: a coalition pays its strongest')
    """

    theorem: ClassVar[str] = "each tier is the one before plus independent noise: a coalition pays its strongest"

    tiers: tuple[AdditiveMechanism, ...]

    @classmethod
    def of(cls, first: AdditiveMechanism, levels: Sequence[float]) -> "TieredNoise":
        """Return the tiers of a mechanism.

        Parameters
        ----------
        first : AdditiveMechanism
            That of the strongest level: Laplace or Gaussian.
        levels : sequence of float
            All levels, falling, the first that of ``first``.

        Raises
        ------
        UsageError
            If the noise is of another kind, the levels are not those, or too near or too far for its grid.
        """
        if not isinstance(first, LaplaceMechanism | GaussianMechanism):
            raise UsageError(
                f"noise must be Laplace or Gaussian for tiers, not {first.name}; pass noise='laplace', or a delta and "
                "noise='gaussian'."
            )
        if not levels or levels[0] != first.alpha:
            raise UsageError(f"levels must begin with that of the strongest, {first.alpha:g}; pass it first.")
        if any(not weaker < stronger for stronger, weaker in pairwise(levels)):
            raise UsageError("levels must fall from tier to tier; put the strongest first.")
        weaker = (replace(first, alpha=level, step=first.grid) for level in levels[1:])
        made = cls((first, *weaker))
        if isinstance(first, GaussianMechanism) and not first.is_exact:
            for place in range(1, len(levels)):
                made._check_width(place)
        return made

    def lowered(self, values: Sequence[Fraction]) -> tuple[tuple[Fraction, ...], ...]:
        """Return the weaker tiers of a released answer: post-processing, which spends nothing.

        Parameters
        ----------
        values : sequence of fractions.Fraction
            What ``tiers[0]`` released, multiples of the grid.

        Returns
        -------
        tuple of tuple of fractions.Fraction
            One for each tier but the first. Draw it once for an answer and keep it: two draws of one tier together tell
            more than one.

        Raises
        ------
        UsageError
            If the number of values is another one.
        """
        first = self.tiers[0]
        if len(values) != first.dimension:
            raise UsageError(f"values must be {first.dimension} numbers, got {len(values)}; pass what was released.")
        found = []
        now, grid = tuple(values), Fraction(first.grid)
        for place in range(1, len(self.tiers)):
            now = tuple(value + step * grid for value, step in zip(now, self.draw_step(place), strict=True))
            found.append(now)
        return tuple(found)

    def draw_step(self, place: int) -> Sequence[int]:
        """Draw what is added to tier ``place`` (counted from 1) to have the next, in grid steps."""
        stronger, weaker = self.tiers[place - 1], self.tiers[place]
        if stronger.is_exact:
            return [0] * stronger.dimension
        if isinstance(stronger, GaussianMechanism):
            return draw_discrete_gaussian(self._step_scale(place), stronger.dimension)
        return draw_laplace_steps(stronger.noise_units, weaker.noise_units, stronger.dimension)

    def _step_scale(self, place: int) -> float:
        stronger, weaker = (Fraction(tier.noise_units) for tier in self.tiers[place - 1 : place + 1])
        return root_up((weaker**2 - stronger**2) * _SPREAD)

    def _check_width(self, place: int) -> None:
        stronger, weaker = (Fraction(tier.noise_units) ** 2 for tier in self.tiers[place - 1 : place + 1])
        if not weaker > stronger * (1 + Fraction(1, 2**10)) or stronger * (weaker - stronger) < _LEAST_WIDTH * weaker:
            raise UsageError(
                f"levels {self.tiers[place - 1].alpha:g} and {self.tiers[place].alpha:g} need nearly the same Gaussian "
                "noise, or the grid is coarse beside it; take levels further apart, or a narrower range."
            )
